package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/internal/folder"
	"github.com/agentls/agentls/internal/settings"
)

// Settings are the settings of one folder, merged from the person's file and, where
// it is trusted, the folder's (spec, Settings). They are read-only. Keys that are not
// here are found by [Settings.Lookup].
type Settings struct {
	settings.Values

	// MCPServers are the configured servers by name, each as it is written in
	// the last scope that has it.
	MCPServers map[string]settings.Raw

	// Problems are the findings about the files, in their order. A key that has
	// one keeps the value of the scope before.
	Problems []SettingsProblem

	// Unclear says why it is not known what the files deny: the person's cannot be
	// read, or a list that denies cannot; "" where it is known (SEC-140).
	Unclear string

	// Of the files that count, the weakest first.
	layers []*layer
}

// SettingsProblem is something in a settings file that does not count.
type SettingsProblem struct {
	File    string
	Line    int    // from 1; 0 for a variable, which File names then
	Column  int    // in bytes, from 1
	Key     string // with dots; "" when it is about the whole file
	Message string // one sentence for a person
}

// String returns the place and the message.
func (p SettingsProblem) String() string {
	if p.Line == 0 {
		return p.File + ": " + p.Message
	}
	return fmt.Sprintf("%s:%d:%d: %s", p.File, p.Line, p.Column, p.Message)
}

// SettingsFiles says where settings are read from.
type SettingsFiles struct {
	User    string // path of the person's file; "" = none
	Folder  string // workspace folder of the project's; "" = none
	Trusted bool   // whether the folder's file counts (spec 4.4); it is not even read otherwise
	// Env returns a variable of the person's environment, "" for none. What it says
	// wins over the files; nil = nothing.
	Env func(name string) string
}

// ProjectSettings is the name of a project's settings file in its folder.
const ProjectSettings = ".gemini/settings.json"

// maxSettings is how large a settings file may be, in bytes.
const maxSettings = 1 << 20

// LoadSettings returns the settings of files. It always returns settings: a
// file that is missing counts as empty, and one that cannot be read as empty
// with a problem. See [Settings.Unclear] for what follows of that.
func LoadSettings(ctx context.Context, files SettingsFiles) *Settings {
	return new(LastSettings).Load(ctx, files)
}

// LastSettings remembers the last content of each file of settings that could be
// read, so that a slip of the pen does not take the rules away that hold
// (SEC-140). The zero value knows none. It is not safe for concurrent use.
// The contents are kept by path.
type LastSettings struct{ good map[string]exposable }

// Load is [LoadSettings], but that a file that cannot be read any more counts as
// it was when it could, with a problem.
func (last *LastSettings) Load(ctx context.Context, files SettingsFiles) *Settings {
	if last.good == nil {
		last.good = make(map[string]exposable)
	}
	var sources []exposable
	var found []SettingsProblem
	unclear := ""
	add := func(source exposable, err error) {
		var why []SettingsProblem
		switch {
		case err == nil:
			l, problems := parseLayer(source)
			// A file whose deny lists cannot be read counts as unreadable: the rest of it
			// alone would allow more than the person meant.
			if lost := l.denials(); l != nil && len(lost) == 0 {
				last.good[source.File] = source
				sources = append(sources, source)
				return
			} else if l != nil {
				problems = lost
			}
			why = problems
		case errors.Is(err, fs.ErrNotExist) || fault.KindOf(err) == fault.NotFound:
			// The file was deleted, so its last content no longer counts.
			delete(last.good, source.File)
			return
		default:
			why = []SettingsProblem{{File: source.File, Line: 1, Column: 1,
				Message: "the file is ignored: " + fault.Message(err)}}
		}
		if good, ok := last.good[source.File]; ok {
			found = append(found, why...)
			found = append(found, SettingsProblem{File: source.File, Line: 1, Column: 1,
				Message: "until it can be read again, the file counts as it was before"})
			sources = append(sources, good)
			return
		}
		// No earlier content is known: mergeSettings uses the readable parts and reports
		// the problems.
		if err == nil {
			sources = append(sources, source)
			return
		}
		found = append(found, why...)
		if source.Scope == settings.UserScope {
			unclear = why[0].String()
		}
	}
	if files.User != "" {
		content, info, err := folder.ReadRegular(files.User, maxSettings)
		source := exposable{SettingsSource: SettingsSource{Scope: settings.UserScope, File: files.User, Content: content}}
		if err == nil {
			// info is of the opened file, so the file that is judged is the one that was read.
			if why := Private(info); why != nil {
				source.exposed = why.Error()
			}
		}
		add(source, err)
	}
	if files.Folder != "" && files.Trusted {
		// Through the folder's handle: a link that leads out must not show what
		// lies there in a problem's text.
		content, err := projectFile(ctx, files.Folder)
		add(exposable{SettingsSource: SettingsSource{Scope: settings.ProjectScope,
			File: filepath.Join(files.Folder, ProjectSettings), Content: content}}, err)
	}
	s := mergeSettings(sources)
	s.Problems = append(found, s.Problems...)
	s.Unclear = cmp.Or(unclear, s.Unclear)
	if files.Env != nil {
		s.readEnvironment(files.Env)
	}
	return s
}

// projectFile returns the content of a project's settings file. The errors are those of
// [OpenDisk] and [Disk.Read].
func projectFile(ctx context.Context, folder string) ([]byte, error) {
	disk, err := OpenDisk(folder)
	if err != nil {
		return nil, err
	}
	defer disk.Close()
	f, err := disk.Read(ctx, ProjectSettings, maxSettings)
	if err != nil {
		return nil, err
	}
	return f.Bytes, nil
}

// SettingsSource is the content of one settings file.
type SettingsSource struct {
	Scope   settings.Scope // settings.UserScope or settings.ProjectScope
	File    string
	Content []byte
}

// exposable is a source with why others can change it: a file of the person's
// that they can gives no power. "" = they cannot.
type exposable struct {
	SettingsSource
	exposed string

	parsed  *hujson.Value // of Content, where it was parsed already; it stays as it is
	checked bool          // only what is wrong with it is wanted
}

// MergeSettings returns the defaults with each source over the one before.
func MergeSettings(sources ...SettingsSource) *Settings {
	all := make([]exposable, len(sources))
	for i, source := range sources {
		all[i].SettingsSource = source
	}
	return mergeSettings(all)
}

// mergeSettings returns what the files say together, the weakest first. A file that cannot
// be read leaves the others as they are; if it is the person's own it makes Unclear, since
// what it denied is not known.
func mergeSettings(sources []exposable) *Settings {
	s := &Settings{Values: settings.Defaults(), MCPServers: make(map[string]settings.Raw)}
	for _, source := range sources {
		l, problems := parseLayer(source)
		s.Problems = append(s.Problems, problems...)
		lost := l.denials()
		if l == nil && source.Scope == settings.UserScope {
			lost = problems
		}
		for _, p := range lost {
			s.Unclear = cmp.Or(s.Unclear, p.String())
		}
		if l == nil {
			continue
		}
		s.layers = append(s.layers, l)
		if v := l.find([]string{"providers"}); v != nil {
			s.Problems = append(s.Problems, l.problem(v.StartOffset, "providers",
				"this version has only Gemini's models: providers "+noEffect))
		}
		for _, k := range settingKeys(&s.Values) {
			s.read(l, &k)
		}
		s.readMaps(l)
		s.readLists(l)
	}
	// gemini-cli's key counts only where no file has ours, whichever file it is in.
	if origin, given := s.Origins["model.compressionThreshold"]; given {
		if _, given := s.Origins["agents.compression.threshold"]; !given {
			s.Compression.Threshold, s.Origins["agents.compression.threshold"] = s.Model.CompressionThreshold, origin
		}
	}
	return s
}

// Lookup returns the values at a path of keys, the person's before the
// project's, without those that a project may not set. It is how sections are
// read that have no field in [Settings].
func (s *Settings) Lookup(path ...string) []settings.Raw {
	var found []settings.Raw
	for _, l := range s.layers {
		if v := l.find(path); v != nil {
			found = append(found, l.raw(v))
		}
	}
	return found
}

// Lists returns the strings of the lists at a path of keys, one list for each
// file that has one, in the order of [Settings.Lookup]. A string that stands
// where a list should is a list of it alone. Of a key that is given twice in one
// file the last one counts; of one that takes something away each does.
func (s *Settings) Lists(path ...string) [][]settings.Entry {
	var found [][]settings.Entry
	for _, l := range s.layers {
		for _, v := range l.valuesAt(path) {
			elements := []hujson.Value{*v}
			if array, ok := v.Value.(*hujson.Array); ok {
				elements = array.Elements
			} else if v.Value.Kind() != '"' {
				continue
			}
			list := []settings.Entry{}
			for _, e := range elements {
				if text, err := text(&e); err == nil {
					list = append(list, settings.Entry{Text: text, Origin: l.origin(&e)})
				}
			}
			found = append(found, list)
		}
	}
	return found
}

// read takes one key from a layer.
//
// A section that is no object is a problem of the section.
func (s *Settings) read(l *layer, k *settingKey) {
	path := strings.Split(k.key, ".")
	for n := 1; n < len(path); n++ {
		v := l.find(path[:n])
		if v == nil {
			break
		}
		if _, ok := v.Value.(*hujson.Object); !ok {
			s.section(l, strings.Join(path[:n], "."), v)
			break
		}
	}
	for _, v := range l.valuesAt(path) {
		if err := k.set(v, l.origin(v), s.Origins); err != nil {
			then := "it is ignored"
			if k.insteadOfBad != "" {
				then = "until that is corrected it is " + k.insteadOfBad
			}
			s.Problems = append(s.Problems, l.problem(v.StartOffset, k.key, "%s %s; %s", k.key, err, then))
		}
	}
}

// notObject is told of a key with what it has.
const notObject = "%s must be an object, not %s; it is ignored"

// section reports, once, a section that is no object.
func (s *Settings) section(l *layer, key string, v *hujson.Value) {
	p := l.problem(v.StartOffset, key, notObject, key, kindName(v))
	// read comes here for each key below the section.
	if !slices.Contains(s.Problems, p) {
		s.Problems = append(s.Problems, p)
	}
}

// readMaps takes what is named by the person: servers and overrides.
func (s *Settings) readMaps(l *layer) {
	for name, v := range s.objects(l, "mcpServers") {
		s.MCPServers[name] = l.raw(v)
	}
	for name, v := range s.objects(l, "agents", "overrides") {
		s.Overrides[name] = append(s.Overrides[name], l.raw(v))
	}
}

// readLists takes the lists of rules and rows, which projects do not have.
func (s *Settings) readLists(l *layer) {
	s.readList(l, "routes", &s.Model.Routes)
	s.readList(l, "table", &s.Model.Table)
}

// readList takes a list below model, which replaces that of an earlier file. A project's
// was taken out when its file was parsed.
func (s *Settings) readList(l *layer, key string, list *[]settings.Raw) {
	v := l.find([]string{"model", key})
	if v == nil {
		return
	}
	array, ok := v.Value.(*hujson.Array)
	if !ok {
		s.Problems = append(s.Problems, l.problem(v.StartOffset, "model."+key,
			"model.%s must be a list, not %s; it is ignored", key, kindName(v)))
		return
	}
	*list = make([]settings.Raw, 0, len(array.Elements))
	for i := range array.Elements {
		*list = append(*list, l.raw(&array.Elements[i]))
	}
}

// objects returns the members of the object at path that are objects.
//
// A null takes a member away that was given before it.
func (s *Settings) objects(l *layer, path ...string) map[string]*hujson.Value {
	v := l.find(path)
	if v == nil {
		return nil
	}
	key := strings.Join(path, ".")
	object, ok := v.Value.(*hujson.Object)
	if !ok {
		s.section(l, key, v)
		return nil
	}
	found := make(map[string]*hujson.Value, len(object.Members))
	for i := range object.Members {
		name := memberName(&object.Members[i])
		value := &object.Members[i].Value
		switch value.Value.(type) {
		case *hujson.Object:
			found[name] = value
		default:
			if value.Value.Kind() != 'n' { // told once: no other member has its place
				s.Problems = append(s.Problems, l.problem(value.StartOffset, key+"."+name,
					notObject, key+"."+name, kindName(value)))
			}
			delete(found, name)
		}
	}
	return found
}
