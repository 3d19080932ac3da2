package workspace

import (
	"bytes"
	"slices"

	"github.com/tailscale/hujson"
)

// SettingsAgent is a place of a settings file that names an agent: the bytes from
// Start up to End, without quotes.
type SettingsAgent struct {
	Name       string
	Start, End int
	// Value is what a key of agents.overrides has, as it is written, and Behind what
	// would stand behind a comma between the key and one before it; "" elsewhere.
	Value, Behind string
}

// SettingsAgents returns the places of a settings file that name agents, in the
// order of its text: the keys of agents.overrides, and
// agents.routing.default_agent. A name that is not written as it is read, with an
// escape, is left out; so is all of a file that cannot be parsed.
func SettingsAgents(content []byte) []SettingsAgent {
	content = withoutBOM(content)
	root, err := parseJSON(content)
	if err != nil {
		return nil
	}
	var found []SettingsAgent
	note := func(v *hujson.Value, value, behind string) {
		name, err := text(v)
		if start, end := v.StartOffset+1, v.EndOffset-1; err == nil && start < end &&
			string(content[start:end]) == name {
			found = append(found, SettingsAgent{name, start, end, value, behind})
		}
	}
	l := &layer{root: root}
	if overrides := l.find([]string{"agents", "overrides"}); overrides != nil {
		if object, ok := overrides.Value.(*hujson.Object); ok {
			for _, m := range object.Members {
				note(&m.Name, string(content[m.Value.StartOffset:m.Value.EndOffset]),
					lineBefore(content, m.Name.StartOffset))
			}
		}
	}
	if name := l.find([]string{"agents", "routing", "default_agent"}); name != nil {
		note(name, "", "")
	}
	slices.SortFunc(found, func(a, b SettingsAgent) int { return a.Start - b.Start })
	return found
}

// lineBefore returns the line's end and the indentation that stand before an offset;
// a blank where something else does.
func lineBefore(content []byte, offset int) string {
	start := bytes.LastIndexByte(content[:offset], '\n')
	if start < 0 || len(bytes.Trim(content[start:offset], " \t\n")) > 0 {
		return " "
	}
	if start > 0 && content[start-1] == '\r' {
		start--
	}
	return string(content[start:offset])
}

// HasSetting reports whether a settings file has a value at a path of keys, other
// than null. A file that cannot be parsed has none.
func HasSetting(content []byte, path []string) bool {
	content = withoutBOM(content)
	root, err := parseJSON(content)
	if err != nil {
		return false
	}
	v := (&layer{root: root}).find(path)
	return v != nil && v.Value.Kind() != 'n'
}
