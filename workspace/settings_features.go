package workspace

// What an editor shows of a settings file as its author types (spec 2.9):
// findings, completions, and what a key means.

import (
	"context"
	"fmt"
	"math"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/agentls/agentls/internal/settings"
)

// SettingsFinding is one finding about the text of a settings file. Start and
// End are bytes of it.
type SettingsFinding struct {
	Start, End int
	Code       string // settings/json, settings/value, settings/unknown-key, settings/agent-unknown or settings/mcp-unpinned; never renamed
	Severity   string // error, warning, info or hint
	Message    string // one sentence: what, and what to do
	Fixes      []SettingsFix
}

// SettingsFix is a change of the text that removes a finding: the bytes from
// Start up to End become Text.
type SettingsFix struct {
	Title      string
	Start, End int
	Text       string
}

// SettingsNames is what a settings file may name. The zero value knows nothing:
// no name is found fault with then.
type SettingsNames struct {
	Agents []string // of agents.overrides; nil = not known
	Models []string
	Tools  []string
	// Version returns the version of a package that is on this machine already,
	// by what fetches it (npx, uvx); nil = none is known.
	Version func(fetcher, name string) (string, bool)
}

// rowOf returns the row of a path, nil where there is none.
func rowOf(path []string) *SettingsRow { return settingRowsByKey()[genericPath(path)] }

// genericPath returns a path with * for the names in it.
func genericPath(path []string) string {
	name := -1
	switch {
	case len(path) > 2 && path[0] == "agents" && path[1] == "overrides":
		name = 2
	case len(path) > 1 && (path[0] == "mcpServers" || path[0] == "hooks"):
		name = 1
	}
	var b strings.Builder
	for i, key := range path {
		if i > 0 {
			b.WriteByte('.')
		}
		if i == name {
			key = "*"
		}
		b.WriteString(key)
	}
	return b.String()
}

// keysBelow returns the rows of the keys that the object at path may have; nil
// where they are names.
func keysBelow(path []string) []SettingsRow {
	generic := genericPath(path)
	prefix := generic + "."
	if len(path) == 0 {
		prefix = ""
	}
	if generic == "hooks" {
		var events []SettingsRow
		row := rowOf([]string{"hooks", "*"})
		for _, name := range settings.HookEvents() {
			events = append(events, SettingsRow{Key: "hooks." + name, Kind: row.Kind, Doc: row.Doc})
		}
		return events
	}
	var keys []SettingsRow
	for _, s := range settingRows() {
		if rest, ok := strings.CutPrefix(s.Key, prefix); ok && rest != "" && rest != "*" && rest != "[]" &&
			!strings.Contains(rest, ".") {
			keys = append(keys, s)
		}
	}
	return keys
}

// name returns the last part of the row's path.
func (s *SettingsRow) name() string { return s.Key[strings.LastIndexByte(s.Key, '.')+1:] }

// DiagnoseSettings returns the findings about a settings file in the order of
// its text. under are the files that it stands over, as the person's own under a
// project's: some of a project's values count only where they are stricter. The
// cost is linear in the text. The error is ctx's.
func DiagnoseSettings(ctx context.Context, source SettingsSource, names SettingsNames,
	under ...SettingsSource) ([]SettingsFinding, error) {
	d := settingsReader{ctx: ctx, content: withoutBOM(source.Content), scope: source.Scope, names: names,
		told: make(map[int]bool)}
	lines := NewLines(string(d.content))
	// The parser's places lie in the text, and a column behind the line's end means the end.
	offset := func(line, column int) int { // of bytes, both from 1
		at, _ := lines.Offset(Position{uint32(line - 1), uint32(column - 1)}, UTF8)
		return at
	}
	root, err := parseJSON(d.content)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		line, column, message := syntaxError(err)
		d.find(offset(line, column), offset(line, math.MaxInt32), "settings/json", "error",
			"The file is ignored: %s; fix it here.", message)
		return d.findings, nil
	}
	// A problem says only where it begins. Of a name or a value this tells where it ends.
	d.ends = make(map[int]int)
	d.places(&root)
	var all []exposable
	for _, other := range under {
		all = append(all, exposable{SettingsSource: other, checked: true})
	}
	// The tree is passed along, so that a large file is parsed once.
	merged := mergeSettings(append(all, exposable{SettingsSource: source, parsed: &root, checked: true}))
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	for _, p := range merged.Problems {
		if p.File == source.File && len(d.findings) < maxSettingsFindings {
			// SettingsProblem has no severity: the end of its message says that it is a warning.
			start := offset(p.Line, p.Column)
			severity := "error"
			if strings.HasSuffix(p.Message, lastCounts) || strings.HasSuffix(p.Message, noEffect) {
				severity = "warning"
			}
			d.find(start, max(start, d.ends[start]), "settings/value", severity, "%s.", upperFirst(p.Message))
		}
	}
	if object, ok := root.Value.(*hujson.Object); ok {
		d.object(object, nil)
	}
	slices.SortStableFunc(d.findings, func(a, b SettingsFinding) int { return a.Start - b.Start })
	return d.findings, ctx.Err()
}

// settingsReader is one run of DiagnoseSettings.
type settingsReader struct {
	ctx      context.Context
	content  []byte
	scope    settings.Scope
	names    SettingsNames
	ends     map[int]int  // of names and values, by where they start
	told     map[int]bool // where a value is said to be wrong
	findings []SettingsFinding
}

// maxSettingsFindings is how many findings of one file are told: more help nobody.
const maxSettingsFindings = 500

// settingsAtOnce is after how many members it is looked whether anybody still wants
// to know.
const settingsAtOnce = 64

// find adds a finding and returns it, so that the caller can add fixes: until the next call, since
// the list may move. Beyond maxSettingsFindings it returns one that nobody sees.
func (d *settingsReader) find(start, end int, code, severity, format string, args ...any) *SettingsFinding {
	if len(d.findings) == maxSettingsFindings {
		return new(SettingsFinding)
	}
	if code == "settings/value" {
		d.told[start] = true
	}
	d.findings = append(d.findings, SettingsFinding{Start: start, End: end, Code: code, Severity: severity,
		Message: fmt.Sprintf(format, args...)})
	return &d.findings[len(d.findings)-1]
}

// places notes where names and values end.
func (d *settingsReader) places(v *hujson.Value) {
	d.ends[v.StartOffset] = v.EndOffset
	switch value := v.Value.(type) {
	case *hujson.Object:
		for i := range value.Members {
			m := &value.Members[i]
			d.ends[m.Name.StartOffset] = m.Name.EndOffset
			d.places(&m.Value)
		}
	case *hujson.Array:
		for i := range value.Elements {
			d.places(&value.Elements[i])
		}
	}
}

// object checks the members of an object that has a row.
func (d *settingsReader) object(object *hujson.Object, path []string) {
	keys := keysBelow(path)
	for i := range object.Members {
		if len(d.findings) == maxSettingsFindings || (i%settingsAtOnce == 0 && d.ctx.Err() != nil) {
			return
		}
		m := &object.Members[i]
		name := memberName(m)
		inner := append(slices.Clone(path), name)
		// mergeSettings has already reported it.
		if d.scope == settings.ProjectScope && whyNotProject(inner) != "" {
			continue
		}
		row := rowOf(inner)
		if len(path) == 1 && path[0] == "hooks" && (name == "enabled" || name == "disabled") {
			continue // gemini-cli's switches
		}
		if len(path) == 1 && path[0] == "hooks" && !slices.Contains(settings.HookEvents(), name) && name != "ToolNotification" {
			row = nil
		}
		if row == nil {
			d.unknown(m, path, keys)
			continue
		}
		if genericPath(inner) == "agents.overrides.*" && d.names.Agents != nil &&
			!slices.Contains(d.names.Agents, name) {
			d.reportName(m, "settings/agent-unknown", "warning",
				fmt.Sprintf("There is no agent %s", name), d.names.Agents)
		}
		if m.Value.Value.Kind() != 'n' {
			d.value(&m.Value, inner, row)
		}
	}
	if genericPath(path) == "mcpServers.*" {
		d.server(object)
	}
}

// unknown reports a key that nothing reads. Sections that gemini-cli has keys in
// are silent about what is like none of ours.
func (d *settingsReader) unknown(m *hujson.ObjectMember, path []string, keys []SettingsRow) {
	if keys == nil {
		return
	}
	known := make([]string, len(keys))
	for i := range keys {
		known[i] = keys[i].name()
	}
	name := memberName(m)
	if foreign := len(path) == 0 || (path[0] != "agents" && len(path) == 1 && path[0] != "hooks"); foreign &&
		nearestKey(name, known) == "" {
		return
	}
	d.reportName(m, "settings/unknown-key", "hint", fmt.Sprintf("The key %s is not known and has no effect",
		strings.Join(append(slices.Clone(path), name), ".")), known)
}

// reportName reports a name, with the one that was meant if there is one.
func (d *settingsReader) reportName(m *hujson.ObjectMember, code, severity, what string, known []string) {
	start, end := m.Name.StartOffset, m.Name.EndOffset
	meant := nearestKey(memberName(m), known)
	if meant == "" {
		d.find(start, end, code, severity, "%s; correct or remove it.", what)
		return
	}
	f := d.find(start, end, code, severity, "%s; did you mean %s?", what, meant)
	f.Fixes = []SettingsFix{{Title: "Change to " + meant, Start: start, End: end, Text: string(hujson.String(meant))}}
}

// value checks a value against its row.
func (d *settingsReader) value(v *hujson.Value, path []string, row *SettingsRow) {
	key := strings.Join(path, ".")
	wrong := func(at *hujson.Value, format string, args ...any) {
		// A typed key's value was judged when the files were merged, and no place has two
		// such findings.
		if !row.typed && !d.told[at.StartOffset] {
			d.find(at.StartOffset, at.EndOffset, "settings/value", "error", "%s %s.", key, fmt.Sprintf(format, args...))
		}
	}
	switch value := v.Value.(type) {
	case *hujson.Object:
		if row.Kind == objectKind {
			d.object(value, path)
			return
		}
	case *hujson.Array:
		if row.Kind == textsKind || row.Kind == objectsKind {
			for i := range value.Elements {
				e := &value.Elements[i]
				switch inner, ok := e.Value.(*hujson.Object); {
				case row.Kind == textsKind && e.Value.Kind() != '"':
					wrong(e, "must be a list of strings; element %d is %s", i+1, kindName(e))
				case row.Kind == objectsKind && !ok:
					wrong(e, "must be a list of objects; element %d is %s", i+1, kindName(e))
				case ok:
					d.object(inner, append(slices.Clone(path), "[]"))
				}
			}
			return
		}
	case hujson.Literal:
		switch {
		case row.Kind == anyKind, row.Kind == boolKind && (v.Value.Kind() == 't' || v.Value.Kind() == 'f'),
			row.Kind == numberKind && v.Value.Kind() == '0',
			row.Kind == wholeKind && v.Value.Kind() == '0' && !strings.ContainsAny(string(value), ".eE"):
			return
		case row.Kind == textKind && v.Value.Kind() == '"':
			text := value.String()
			if row.Values != nil && !slices.Contains(row.Values, text) {
				wrong(v, "must be %s, not %q", strings.Join(row.Values, " or "), text)
			} else if row.name() == "matcher" && text != "*" {
				if _, err := syntax.Parse(text, syntax.Perl); err != nil {
					wrong(v, "does not compile: %v; correct the pattern", err)
				}
			}
			return
		}
	}
	article := "a "
	if row.Kind == objectKind {
		article = "an "
	}
	wrong(v, "must be %s, not %s", article+row.Kind, kindName(v))
}
