package bundle

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/agentls/agentls/extensions/hook"
	"github.com/agentls/agentls/internal/folder"
	"github.com/agentls/agentls/internal/sandbox"
)

// serverDetail says what starts a server: all words, the program that the first one is
// by now, its folder, its wall, the names of its variables and headers, and which
// variables of the person these get (SEC-08, SEC-87). It is what the person approves,
// so it must name all that decides what runs.
// Values of variables and headers are not in it, since they may be secrets; their names
// are.
func (b *Bundle) serverDetail(d map[string]any) string {
	said := func(key string) string { text, _ := d[key].(string); return text }
	command := cmp.Or(said("command"), said("httpUrl"), said("url"))
	text := command
	args, _ := d["args"].([]any)
	for _, arg := range args {
		text += fmt.Sprintf(" %v", arg)
	}
	if program, err := exec.LookPath(command); err == nil && program != command {
		text += "  (" + program + ")"
	}
	if cwd := said("cwd"); cwd != "" {
		text += "  in " + cwd
	}
	// A server over HTTP starts nothing, so there is no wall around it.
	if said("command") != "" {
		access := sandbox.Full
		if b.Project != "" {
			access = sandbox.Write
		}
		text += fmt.Sprintf("  (sandbox: %s)", cmp.Or(said("sandbox"), string(access)))
	}
	env, _ := d["env"].(map[string]any)
	if len(env) > 0 {
		text += "  with " + strings.Join(slices.Sorted(maps.Keys(env)), ", ")
	}
	headers, _ := d["headers"].(map[string]any)
	if len(headers) > 0 {
		text += "  with headers " + strings.Join(slices.Sorted(maps.Keys(headers)), ", ")
	}
	return text + reads(d)
}

// variable is $NAME, or the beginning of ${NAME} and ${NAME:-default}.
var variable = regexp.MustCompile(`\$\{?([A-Za-z_][A-Za-z0-9_]*)`)

// reads says which of the person's variables a description is given. It is "" where
// there are none besides the bundles' own variables.
func reads(description any) string {
	names := map[string]bool{}
	each(description, func(text string) string {
		for _, m := range variable.FindAllStringSubmatch(text, -1) {
			names[m[1]] = true
		}
		return text
	})
	for name := range (&Bundle{}).variables("") {
		delete(names, name)
	}
	if len(names) == 0 {
		return ""
	}
	return "  reads " + strings.Join(slices.Sorted(maps.Keys(names)), ", ")
}

// addHooks adds the hooks of hooks/hooks.json, each event with the files of the folder.
// A folder without hooks.json has none.
// Each event is one item, as approvals are given by event. All files of the folder hooks
// are in each of their digests.
func (b *Bundle) addHooks(ctx context.Context, root *os.Root, add func(kind, name, detail string,
	content ...[]byte)) error {
	data, err := folder.ReadFile(root, "hooks/hooks.json", maxManifest)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var file struct {
		Hooks jsontext.Value `json:"hooks"`
	}
	var events map[string]jsontext.Value
	if err == nil {
		err = json.Unmarshal(data, &file)
	}
	if err == nil {
		err = json.Unmarshal(file.Hooks, &events)
	}
	if err != nil {
		return fmt.Errorf("hooks/hooks.json cannot be read: %w", err)
	}
	// Hooks returns these bytes, and the digests below are of the same.
	b.hooks = []byte(file.Hooks)
	files, err := hashTree(ctx, root, "hooks")
	if err != nil {
		return err
	}
	for event, raw := range events {
		named, err := b.hashNamed(ctx, raw)
		if err != nil {
			return err
		}
		add(HookItem, event, b.hookDetail(event, raw), raw, files, named)
	}
	return nil
}

// hookDetail says what the hooks of an event run, as they are read when they are run.
//
// Variables are empty here: what is shown must not depend on the environment.
func (b *Bundle) hookDetail(event string, raw []byte) string {
	section, err := json.Marshal(map[string]jsontext.Value{event: raw})
	if err != nil {
		return err.Error()
	}
	var all []string
	list, _ := hook.Parse(section, b.Project != "", func(string) (string, bool) { return "", true })
	for _, h := range list {
		h.Sandbox = cmp.Or(h.Sandbox, sandbox.Full)
		text := strings.TrimPrefix(strings.TrimPrefix(h.Summary(), h.Event), ": ")
		if h.Problem != "" {
			text += "  cannot be run: " + h.Problem
		}
		all = append(all, strings.TrimSpace(text))
	}
	var value any
	if json.Unmarshal(raw, &value) != nil {
		return strings.Join(all, "; ")
	}
	return strings.Join(all, "; ") + reads(value)
}

// hashNamed returns a digest of the files that a description names, in its own words or
// in those of a shell: the bundle's and, of a project's bundle, the project's, where its
// hooks and servers are started. Any word may name a file, so a change of such a file
// changes the digest.
// Variables of bundles are taken out of the words first, so that a file is found whichever
// way it is written. Which words name files package workspace says (Store.Named).
func (b *Bundle) hashNamed(ctx context.Context, raw []byte) ([]byte, error) {
	var value any
	if err := json.Unmarshal(raw, &value); err != nil {
		return nil, err
	}
	sum := sha256.New()
	places := []struct{ dir, variable string }{{b.Dir, "extensionPath"}}
	if b.Project != "" {
		places = append(places, struct{ dir, variable string }{b.Project, "workspacePath"})
	}
	for _, at := range places {
		// In a line for the shell the variable may stand in quotes, with the rest of the
		// path behind.
		relative := strings.NewReplacer(
			"${/}", "/", `"${`+at.variable+`}"/`, "", `"$`+at.variable+`"/`, "", "${"+at.variable+"}/", "",
			"$"+at.variable+"/", "",
			"${"+at.variable+"}", ".", "$"+at.variable, ".",
		)
		slash := strings.NewReplacer("${/}", "/", "${pathSeparator}", "/", "$pathSeparator", "/")
		var said []string
		each(value, func(text string) string {
			said = append(said, relative.Replace(slash.Replace(text)))
			return text
		})
		named, err := b.named(ctx, at.dir, said)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(sum, "%d:", len(named))
		sum.Write(named)
	}
	return sum.Sum(nil), nil
}

// hashTree returns a digest of all files below a folder. Names and sizes are in it, so
// that no bytes move from one file to the next.
// A link that leads out of the folder is an error of os.Root, and so of the bundle.
func hashTree(ctx context.Context, root *os.Root, dir string) ([]byte, error) {
	sum := sha256.New()
	n := 0
	err := fs.WalkDir(root.FS(), filepath.ToSlash(dir), func(name string, d fs.DirEntry, err error) error {
		if err := cmp.Or(err, ctx.Err()); err != nil || d.IsDir() {
			return err
		}
		if n++; n > maxItems {
			return fmt.Errorf("%s has more than %d files", dir, maxItems)
		}
		return hashFile(root, name, sum)
	})
	return sum.Sum(nil), err
}

// hashFile adds one file to a digest.
//
// More than maxHashed bytes are an error.
func hashFile(root *os.Root, name string, into io.Writer) error {
	f, size, err := folder.OpenFile(root, name)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	defer f.Close()
	if size > maxHashed {
		return fmt.Errorf("%s is larger than %d MiB", name, maxHashed>>20)
	}
	fmt.Fprintf(into, "%s\x00%d\x00", filepath.ToSlash(name), size)
	_, err = io.Copy(into, io.LimitReader(f, maxHashed))
	return err
}
