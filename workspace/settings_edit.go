package workspace

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/tailscale/hujson"

	"github.com/agentls/agentls/internal/fault"
)

// SetKey sets the value at a path of keys in a settings file and keeps the rest
// of it, comments included. A nil value takes the key away. The file and its
// folder are made when they are missing (0600, 0700). It is replaced at once and
// whole, under a lock that other daemons respect (REL-102), and a link stays one.
//
// The errors are [fault.Invalid] for a file that is no JSON object or has
// something else where an object is needed, and for a value that JSON does not
// have; [fault.Stale] when another program kept changing the file;
// [fault.Unavailable] when the disk fails. The file is as it was then.
func SetKey(ctx context.Context, file string, path []string, value any) error {
	const op = "workspace.setKey"
	resolved, err := Canonical(file)
	if err != nil {
		return err
	}
	folder := filepath.Dir(resolved)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return fault.New(fault.Unavailable, op, "the folder of %q cannot be made: %w", file, err)
	}
	unlock, err := lockFolder(ctx, folder)
	if err != nil {
		return fault.New(fault.Unavailable, op, "%q cannot be changed now: %w", file, err)
	}
	defer unlock()
	disk, err := OpenDisk(folder)
	if err != nil {
		return err
	}
	defer disk.Close()
	return disk.setKey(ctx, op, filepath.Base(resolved), keyChange{path, value, 0o600})
}

// SetKey is [SetKey] for a file beneath the folder, which no link leads out of:
// a project's settings. A new file is 0644.
func (d *Disk) SetKey(ctx context.Context, name string, path []string, value any) error {
	const op = "workspace.setKey"
	rel, err := d.Resolve(name)
	if err != nil {
		return err
	}
	unlock, err := lockFolder(ctx, d.path)
	if err != nil {
		return fault.New(fault.Unavailable, op, "%q cannot be changed now: %w", name, err)
	}
	defer unlock()
	return d.setKey(ctx, op, rel, keyChange{path, value, 0o644})
}

// keyChange is one key and its new value.
type keyChange struct {
	path  []string
	value any
	mode  fs.FileMode // of a new file
}

// setKey changes a file under the lock. A program that knows no lock may still
// change it in between: then it is done anew with what is there now.
func (d *Disk) setKey(ctx context.Context, op, name string, change keyChange) error {
	for try := 1; ; try++ {
		content, seen := []byte(nil), Digest("")
		f, err := d.Read(ctx, name, maxSettings)
		switch {
		case err == nil:
			content, seen = f.Bytes, f.Digest
		case fault.KindOf(err) != fault.NotFound:
			return err
		case change.value == nil:
			return nil
		}
		edited, err := EditSettings(content, change.path, change.value)
		if err != nil {
			return fault.New(fault.KindOf(err), op, "%q: %w", name, err)
		}
		if bytes.Equal(edited, content) {
			return nil
		}
		_, err = d.Write(ctx, Write{Name: name, Text: string(edited), Seen: seen, Exact: true, Mode: change.mode})
		if fault.KindOf(err) == fault.Stale && try < attempts {
			continue
		}
		return err
	}
}

// EditSettings returns the content of a settings file with the value at a path
// of keys set, or taken away when it is nil, and everything else byte for byte
// as it was. New keys come last in their object, indented like the file. The
// error is [fault.Invalid].
func EditSettings(content []byte, path []string, value any) ([]byte, error) {
	const op = "workspace.editSettings"
	if len(path) == 0 {
		return nil, fault.New(fault.Invalid, op, "no key is named")
	}
	for _, key := range path {
		if !utf8.ValidString(key) {
			return nil, fault.New(fault.Invalid, op, "the key %q is not text", key)
		}
	}
	bom := bytes.HasPrefix(content, []byte("\uFEFF"))
	plain := bytes.TrimPrefix(bytes.Clone(content), []byte("\uFEFF"))
	root, err := parseJSON(plain)
	if err != nil {
		line, column, message := syntaxError(err)
		return nil, fault.New(fault.Invalid, op, "line %d, column %d: %s; fix the file first", line, column, message)
	}
	encoded, err := json.Marshal(value)
	if err != nil {
		return nil, fault.New(fault.Invalid, op, "the value of %s cannot be written: %w", strings.Join(path, "."), err)
	}
	// A file with nothing but the key tells whether the value would lie too deep to be
	// read again.
	nested := strings.Repeat(`{"":`, len(path)) + string(encoded) + strings.Repeat("}", len(path))
	if _, err := parseJSON([]byte(nested)); err != nil && value != nil {
		return nil, fault.New(fault.Invalid, op,
			"the key would be too deep: there may be at most %d objects and lists in each other", maxSettingsDepth)
	}
	e := &keyEditor{newline: "\n", indent: indentOf(&root)}
	if bytes.Contains(plain, []byte("\r\n")) {
		e.newline = "\r\n"
	}
	if value == nil {
		before := root.Pack()
		// Nothing was removed: return the file byte for byte, with its byte order mark.
		if err = e.remove(&root, path); err == nil && bytes.Equal(before, root.Pack()) {
			return content, nil
		}
	} else {
		err = e.set(&root, path, encoded, 0)
	}
	if err != nil {
		return nil, fault.New(fault.Invalid, op, "%s cannot be set: %w", strings.Join(path, "."), err)
	}
	edited := root.Pack()
	if len(bytes.TrimSpace(plain)) == 0 && value != nil {
		edited = append(bytes.TrimSpace(edited), '\n')
	}
	if err := verify(edited, path, encoded); err != nil {
		return nil, fault.New(fault.Internal, op, "%s was not written as it should be: %w",
			strings.Join(path, "."), err)
	}
	if bom {
		edited = append([]byte("\uFEFF"), edited...)
	}
	return edited, nil
}

// keyEditor changes a tree and writes new parts like the rest of the file.
type keyEditor struct {
	newline string
	indent  string // one step
}

// indentOf returns the indentation of the outermost keys.
func indentOf(root *hujson.Value) string {
	if object, ok := root.Value.(*hujson.Object); ok && len(object.Members) > 0 {
		if indent, ok := lineIndent(object.Members[0].Name.BeforeExtra); ok && indent != "" {
			return indent
		}
	}
	return "  "
}

// lineIndent returns the blanks between the last line end of extra and its end;
// ok is false when there is no line end.
func lineIndent(extra []byte) (indent string, ok bool) {
	i := bytes.LastIndexByte(extra, '\n')
	if i < 0 || len(bytes.TrimLeft(extra[i+1:], " \t")) > 0 {
		return "", i >= 0
	}
	return string(extra[i+1:]), true
}

// set walks to the object that holds the last key, making objects on the way.
//
// depth is how deep the object lies, for the indentation of what is new. A null on the way
// becomes an object.
func (e *keyEditor) set(v *hujson.Value, path []string, encoded []byte, depth int) error {
	object, ok := v.Value.(*hujson.Object)
	if !ok {
		return errNotObject
	}
	i := lastMember(object, path[0])
	if i < 0 {
		// The objects that are missing on the way are written around the value.
		for n := len(path) - 1; n > 0; n-- {
			name, _ := json.Marshal(path[n])
			encoded = fmt.Appendf(nil, "{%s:%s}", name, encoded)
		}
		return e.insert(object, path[0], encoded, depth)
	}
	m := &object.Members[i]
	if len(path) > 1 {
		if m.Value.Value.Kind() == 'n' {
			m.Value.Value = &hujson.Object{}
		}
		if err := e.set(&m.Value, path[1:], encoded, depth+1); err != nil {
			return fmt.Errorf("%s %w", path[0], err)
		}
		return nil
	}
	value, err := e.value(encoded, e.memberIndent(m, depth))
	if err != nil {
		return err
	}
	// Only the value: the blanks and comments around it stay the person's.
	m.Value.Value = value.Value
	return nil
}

// memberIndent returns the indentation of the line that a member is on.
func (e *keyEditor) memberIndent(m *hujson.ObjectMember, depth int) string {
	if indent, ok := lineIndent(m.Name.BeforeExtra); ok {
		return indent
	}
	return strings.Repeat(e.indent, depth+1)
}

// value returns encoded as it is written on a line of that indentation.
func (e *keyEditor) value(encoded []byte, indent string) (hujson.Value, error) {
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, encoded, indent, e.indent); err != nil {
		return hujson.Value{}, err
	}
	return hujson.Parse(bytes.ReplaceAll(pretty.Bytes(), []byte("\n"), []byte(e.newline)))
}

// insert puts a new member last. Comments that stand behind the last member stay
// with it.
func (e *keyEditor) insert(object *hujson.Object, key string, encoded []byte, depth int) error {
	indent := strings.Repeat(e.indent, depth+1)
	closing := strings.Repeat(e.indent, depth)
	oneLine := false
	trailing := false
	if n := len(object.Members); n > 0 {
		first := object.Members[0].Name.BeforeExtra
		if found, ok := lineIndent(first); ok {
			indent = found
			closing = strings.TrimSuffix(found, e.indent)
		} else {
			oneLine = !bytes.Contains(object.AfterExtra, []byte("\n"))
		}
		// hujson marks a comma behind the last member by an AfterExtra that is not nil.
		trailing = object.Members[n-1].Value.AfterExtra != nil
	}
	value, err := e.value(encoded, indent)
	if err != nil {
		return err
	}
	value.BeforeExtra = hujson.Extra(" ")
	name := hujson.Value{Value: hujson.String(key)}
	if oneLine {
		// { "a": 1 } stays on its line; what comes before the brace stays there.
		name.BeforeExtra = hujson.Extra(" ")
	} else {
		behind := bytes.TrimRight(object.AfterExtra, " \t\r\n")
		name.BeforeExtra = append(bytes.Clone(behind), e.newline+indent...)
		object.AfterExtra = hujson.Extra(e.newline + closing)
	}
	if trailing {
		value.AfterExtra = hujson.Extra{}
	}
	object.Members = append(object.Members, hujson.ObjectMember{Name: name, Value: value})
	return nil
}

// remove takes a key away, each time it is given; one that is not there is no
// error.
func (e *keyEditor) remove(v *hujson.Value, path []string) error {
	object, ok := v.Value.(*hujson.Object)
	if !ok {
		return nil
	}
	i := lastMember(object, path[0])
	if i < 0 {
		return nil
	}
	if len(path) > 1 {
		return e.remove(&object.Members[i].Value, path[1:])
	}
	// Of a key that is given more than once a patch takes another than the last,
	// so it is never asked for a path.
	pointer := "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(path[0])
	patch, err := json.Marshal([]map[string]string{{"op": "remove", "path": pointer}})
	if err != nil {
		return err
	}
	if err := v.Patch(patch); err != nil {
		return err
	}
	return e.remove(v, path)
}

// verify reads the key back.
//
// It is the last look before a file is written: an editor of text that is wrong must not
// damage settings.
func verify(content []byte, path []string, encoded []byte) error {
	root, err := parseJSON(content)
	if err != nil {
		return err
	}
	v := (&layer{root: root}).find(path)
	if v == nil {
		if string(encoded) == "null" {
			return nil
		}
		return errors.New("it is not there")
	}
	var got, want any
	if err := errors.Join(json.Unmarshal(standardJSON(v), &got), json.Unmarshal(encoded, &want)); err != nil {
		return err
	}
	if !reflect.DeepEqual(got, want) {
		return fmt.Errorf("it reads as %s", standardJSON(v))
	}
	return nil
}
