package workspace

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/agentls/agentls/internal/settings"
)

// maxSettingsDepth is how deep objects and lists may lie in each other.
const maxSettingsDepth = 64

// layer is one settings file, parsed, without what it may not set.
type layer struct {
	exposable
	lines *Lines
	root  hujson.Value
}

// parseLayer parses one file. The layer is nil when nothing in it counts.
//
// Keys are brought to our spelling first, then what is there twice is told, and only then
// is a project's file restricted: so no other spelling gets past that.
func parseLayer(source exposable) (*layer, []SettingsProblem) {
	l := &layer{exposable: source}
	l.Content = withoutBOM(source.Content)
	l.lines = NewLines(string(l.Content))
	if source.parsed != nil {
		// respell and restrict change the tree, which is the caller's.
		l.root = source.parsed.Clone()
	} else {
		root, err := parseJSON(l.Content)
		if err != nil {
			line, column, message := syntaxError(err)
			return nil, []SettingsProblem{{File: l.File, Line: line, Column: column,
				Message: fmt.Sprintf("the file is ignored: %s", message)}}
		}
		l.root = root
	}
	root := &l.root
	object, ok := root.Value.(*hujson.Object)
	if !ok {
		return nil, []SettingsProblem{l.problem(root.StartOffset, "",
			"the file is ignored: settings are an object, not %s", kindName(root))}
	}
	problems := l.respell(object)
	problems = append(problems, l.findRepeated(object, "")...)
	if l.exposed != "" {
		problems = append(problems, l.problem(root.StartOffset, "", "the file gives agents no power: %s", l.exposed))
	}
	if l.Scope == settings.ProjectScope || l.exposed != "" {
		problems = append(problems, l.restrict(object, nil)...)
	}
	return l, problems
}

// withoutBOM returns content with a byte order mark replaced by blanks, so that
// offsets stay true. The caller keeps its own bytes.
func withoutBOM(content []byte) []byte {
	content = bytes.Clone(content)
	if bytes.HasPrefix(content, []byte("\uFEFF")) {
		copy(content, "   ")
	}
	return content
}

// parseJSON parses JSON with comments; a file without a value is an empty object.
func parseJSON(content []byte) (hujson.Value, error) {
	if line, column, deep := tooDeep(content); deep {
		return hujson.Value{}, fmt.Errorf("hujson: line %d, column %d: more than %d objects and lists in each other",
			line, column, maxSettingsDepth)
	}
	if rest := bytes.TrimLeft(content, " \t\r\n"); len(rest) > 0 && rest[0] != '/' {
		return hujson.Parse(content) // it has a value: most files are not read twice
	}
	// Comments alone have no value; with an object behind them they parse.
	if blank, err := hujson.Parse(append(bytes.Clone(content), "\n{}"...)); err == nil {
		if object, ok := blank.Value.(*hujson.Object); ok && len(object.Members) == 0 &&
			blank.StartOffset >= len(content) {
			return blank, nil
		}
	}
	return hujson.Parse(content)
}

// tooDeep looks for nesting that would make the parser recurse without end.
//
// It knows texts and comments of JSON, and need not know more.
func tooDeep(content []byte) (line, column int, deep bool) {
	depth := 0
	for i := 0; i < len(content); i++ {
		switch content[i] {
		case '"':
			for i++; i < len(content) && content[i] != '"'; i++ {
				if content[i] == '\\' {
					i++
				}
			}
		case '/':
			i = afterComment(content, i)
		case '{', '[':
			if depth++; depth > maxSettingsDepth {
				line, column = lineColumn(content, i)
				return line, column, true
			}
		case '}', ']':
			depth--
		}
	}
	return 0, 0, false
}

// afterComment returns the last byte of the comment that may begin at i.
func afterComment(content []byte, i int) int {
	rest := content[i:]
	end := 0
	switch {
	case bytes.HasPrefix(rest, []byte("//")):
		end = bytes.IndexByte(rest, '\n')
	case bytes.HasPrefix(rest, []byte("/*")):
		if end = bytes.Index(rest[2:], []byte("*/")); end >= 0 {
			end += 3
		}
	}
	if end < 0 {
		return len(content)
	}
	return i + end
}

// syntaxError takes the parser's error apart.
// hujson has no type for its errors, so the message is taken apart; one without a place
// is at 1, 1.
func syntaxError(err error) (line, column int, message string) {
	text := err.Error()
	if _, scanned := fmt.Sscanf(text, "hujson: line %d, column %d:", &line, &column); scanned != nil {
		return 1, 1, text
	}
	parts := strings.SplitN(text, ": ", 3)
	return line, column, parts[len(parts)-1]
}

// lineColumn returns where an offset is, both from 1, the column in bytes.
func lineColumn(content []byte, offset int) (line, column int) {
	before := content[:min(offset, len(content))]
	return 1 + bytes.Count(before, []byte("\n")), len(before) - bytes.LastIndexByte(before, '\n')
}

// lineColumn is the function lineColumn for the layer's content, whose lines were found once.
func (l *layer) lineColumn(offset int) (line, column int) {
	p, _ := l.lines.Position(min(offset, len(l.Content)), UTF8) // it is in the text
	return int(p.Line) + 1, int(p.Character) + 1
}

// problem returns what is wrong at an offset of the file. key is "" where it is about the
// whole file.
func (l *layer) problem(offset int, key, format string, args ...any) SettingsProblem {
	line, column := l.lineColumn(offset)
	return SettingsProblem{File: l.File, Line: line, Column: column, Key: key, Message: fmt.Sprintf(format, args...)}
}

// origin returns where a value stands.
func (l *layer) origin(v *hujson.Value) settings.Origin {
	line, column := l.lineColumn(v.StartOffset)
	return settings.Origin{Scope: l.Scope, File: l.File, Line: line, Column: column}
}

// raw returns v as standard JSON; its place alone where only problems are wanted.
func (l *layer) raw(v *hujson.Value) settings.Raw {
	if l.checked {
		return settings.Raw{Origin: l.origin(v)}
	}
	return settings.Raw{JSON: standardJSON(v), Origin: l.origin(v)}
}

// standardJSON returns a value without comments and blanks, as bytes of the caller's own.
func standardJSON(v *hujson.Value) []byte {
	plain := v.Clone()
	plain.BeforeExtra, plain.AfterExtra = nil, nil
	plain.Minimize()
	return plain.Pack()
}

// find returns the value at a path of keys; nil when it is not there or null.
func (l *layer) find(path []string) *hujson.Value {
	v := &l.root
	for _, key := range path {
		object, ok := v.Value.(*hujson.Object)
		if !ok {
			return nil
		}
		i := lastMember(object, key)
		if i < 0 {
			return nil
		}
		v = &object.Members[i].Value
	}
	if v.Value.Kind() == 'n' {
		return nil
	}
	return v
}

// lastMember returns the index of the member that counts: the last of its name.
func lastMember(object *hujson.Object, key string) int {
	for i := len(object.Members) - 1; i >= 0; i-- {
		if memberName(&object.Members[i]) == key {
			return i
		}
	}
	return -1
}

// memberName returns a member's name with its escapes resolved.
func memberName(m *hujson.ObjectMember) string {
	name := m.Name.Value.(hujson.Literal)
	for _, c := range name {
		if c == '\\' || c < ' ' || c >= 0x80 {
			return name.String()
		}
	}
	return string(name[1 : len(name)-1]) // written as it is read, as nearly all are
}

// How the messages end whose finding in an editor is a warning, and no error.
const (
	lastCounts = "the last one counts"
	noEffect   = "has no effect"
)

// findRepeated reports members that occur twice in one object.
// prefix is the path of the object, with dots; "" for the outermost.
func (l *layer) findRepeated(object *hujson.Object, prefix string) []SettingsProblem {
	var problems []SettingsProblem
	seen := make(map[string]bool, len(object.Members))
	for i := range object.Members {
		m := &object.Members[i]
		name := memberName(m)
		key := strings.TrimPrefix(prefix+"."+name, ".")
		if seen[name] {
			counts := lastCounts
			if denies(strings.Split(key, ".")) {
				counts = "both count"
			} else if key == "tools" {
				counts = lastCounts + ", and each for what it takes away"
			}
			problems = append(problems, l.problem(m.Name.StartOffset, key, "%s is given twice; %s", key, counts))
		}
		seen[name] = true
		if inner, ok := m.Value.Value.(*hujson.Object); ok {
			problems = append(problems, l.findRepeated(inner, key)...)
		}
	}
	return problems
}

// restrict takes out of a project's file what only the person's own may set
// (SEC-04, SEC-05, SEC-111, SEC-112), and of one of the person's that others can
// change what gives power (SEC-140), with a problem for each.
// It changes the object, so nothing that reads the layer sees what was taken out.
func (l *layer) restrict(object *hujson.Object, path []string) []SettingsProblem {
	var problems []SettingsProblem
	kept := object.Members[:0]
	for _, m := range object.Members {
		inner := append(slices.Clone(path), memberName(&m))
		if l.exposed != "" && (whyNotProject(inner) != "" || startsSomething(inner)) {
			key := strings.Join(inner, ".")
			problems = append(problems, l.problem(m.Name.StartOffset, key,
				"%s is ignored, because others may have written it", key))
			continue
		}
		if why := whyNotProject(inner); why != "" && l.Scope == settings.ProjectScope {
			key := strings.Join(inner, ".")
			problems = append(problems, l.problem(m.Name.StartOffset, key,
				"a project cannot set %s: %s; it is ignored", key, why))
			continue
		}
		kept = append(kept, m)
		problems = append(problems, l.restrictIn(&m.Value, inner)...)
	}
	object.Members = kept
	return problems
}

// restrictIn is restrict for what a value has inside. An element of a list is "[]" in the path.
func (l *layer) restrictIn(v *hujson.Value, path []string) []SettingsProblem {
	switch value := v.Value.(type) {
	case *hujson.Object:
		return l.restrict(value, path)
	case *hujson.Array:
		var problems []SettingsProblem
		for i := range value.Elements {
			problems = append(problems, l.restrictIn(&value.Elements[i], append(slices.Clone(path), "[]"))...)
		}
		return problems
	}
	return nil
}

// whyNotProject says why a project may not set a key; "" when it may.
//
// Most words count wherever they stand, so that none gets through below another section.
func whyNotProject(path []string) string {
	const (
		power   = "it would give agents more power, which only your own settings can"
		reach   = "it decides which servers and keys are used, which only your own settings can"
		reports = "it sends data elsewhere, which only your own settings can"
		money   = "it chooses which models are paid for with your key, which only your own settings can"
		asks    = "it may cost a model call and changes who answers, which only your own settings can decide"
		erases  = "it decides which of your sessions are erased, which only your own settings can"
	)
	name := plainKey(path[len(path)-1])
	if len(path) == 1 {
		switch name {
		case "security", "privacy":
			return power
		case "providers", "env", "environment":
			return reach
		case "telemetry":
			return reports
		}
	}
	// A name that the person chose may be one of these words.
	if named(path) {
		return ""
	}
	switch strings.Join(path, ".") {
	case "model.routes", "model.table", "agents.compression.model", "agents.routing.llm.model":
		return money
	case "agents.autoRoute":
		return asks
	case "agents.memory":
		return reports
	case "agents.retention":
		return erases
	case "agents.tracing":
		return reports
	}
	switch name {
	case "trust", "trusted", "istrusted", "foldertrust", "trustedfolders", "safetools",
		"autoapprove", "autoapproval", "autoaccept", "approvalmode", "defaultapprovalmode",
		"permissionmode", "permissions", "yolo", "yolomode", "bypass", "bypasspermissions",
		"skippermissions", "dangerouslyskippermissions", "sandbox", "sandboxmode",
		"disablesandbox", "allowedtools", "alwaysallow":
		return power
	case "apikey", "apikeyenv", "apikeys", "authtoken", "baseurl", "endpoint", "proxy", "httpproxy",
		"httpsproxy", "selectedauthtype", "googlegeminibaseurl", "geminiapikey", "googleapikey", "cafile":
		return reach
	case "otlpendpoint":
		return reports
	case "allowed":
		if len(path) == 2 && plainKey(path[0]) == "tools" {
			return power
		}
	}
	return ""
}

// named says that the last key of path is a name that a person gave (a server,
// an agent, a variable of a child), not a word of ours.
func named(path []string) bool {
	switch {
	case len(path) == 2 && path[0] == "mcpServers",
		len(path) == 3 && path[0] == "agents" && path[1] == "overrides",
		len(path) >= 4 && path[0] == "mcpServers" && (path[2] == "env" || path[2] == "headers"):
		return true
	}
	return false
}

// plainKey returns a key without what spellings differ in.
func plainKey(key string) string {
	return strings.ToLower(unspelled.Replace(key))
}

var unspelled = strings.NewReplacer("-", "", "_", "")

var errNotObject = errors.New("is not an object")
