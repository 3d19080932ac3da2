package workspace

import (
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// denies says that a path of keys is of a list that takes something away. Such a
// list is never lost in silence (SEC-140): each one counts that a file has.
func denies(path []string) bool {
	return len(path) == 2 && path[0] == "tools" && (path[1] == "exclude" || path[1] == "core")
}

// startsSomething says that a path of keys is of what starts programs or says
// what agents may use.
func startsSomething(path []string) bool {
	key := strings.Join(path, ".")
	return key == "mcpServers" || key == "hooks" || key == "agents.overrides"
}

// valuesAt returns the values at a path of keys that count, in their order: all of
// a list that takes something away, else the last.
func (l *layer) valuesAt(path []string) []*hujson.Value {
	if !denies(path) {
		if v := l.find(path); v != nil {
			return []*hujson.Value{v}
		}
		return nil
	}
	// If tools is given twice, the lists of both count.
	at := []*hujson.Value{&l.root}
	for _, key := range path {
		var next []*hujson.Value
		for _, v := range at {
			object, ok := v.Value.(*hujson.Object)
			if !ok {
				continue
			}
			for i := range object.Members {
				if m := &object.Members[i]; memberName(m) == key && m.Value.Value.Kind() != 'n' {
					next = append(next, &m.Value)
				}
			}
		}
		at = next
	}
	return at
}

// denials returns why it is not known what a file denies; nothing for no file.
//
// These are parts that are given and of a wrong type.
func (l *layer) denials() []SettingsProblem {
	if l == nil {
		return nil
	}
	object, ok := l.root.Value.(*hujson.Object)
	if !ok {
		return nil
	}
	var lost []SettingsProblem
	for i := range object.Members {
		m := &object.Members[i]
		if memberName(m) != "tools" || m.Value.Value.Kind() == 'n' {
			continue
		}
		if _, ok := m.Value.Value.(*hujson.Object); !ok {
			lost = append(lost, l.problem(m.Value.StartOffset, "tools",
				"tools must be an object, not %s", kindName(&m.Value)))
		}
	}
	for _, key := range []string{"exclude", "core"} {
		for _, v := range l.valuesAt([]string{"tools", key}) {
			if kind := v.Value.Kind(); kind != '[' && kind != '"' {
				lost = append(lost, l.problem(v.StartOffset, "tools."+key,
					"tools.%s must be a list of strings, not %s", key, kindName(v)))
			}
		}
	}
	return lost
}

// respell gives the section tools, and what takes something away in it, the name
// that counts: who wrote Tools or Exclude meant to deny something.
func (l *layer) respell(object *hujson.Object) []SettingsProblem {
	var problems []SettingsProblem
	name := func(m *hujson.ObjectMember, prefix string, known ...string) {
		is := memberName(m)
		i := slices.Index(known, plainKey(is))
		if i < 0 || is == known[i] {
			return
		}
		problems = append(problems, l.problem(m.Name.StartOffset, prefix+is, "%s%s is read as %s%s; write it so",
			prefix, is, prefix, known[i]))
		m.Name.Value = hujson.String(known[i])
	}
	for i := range object.Members {
		m := &object.Members[i]
		if plainKey(memberName(m)) == "excludetools" { // what gemini-cli called it
			problems = append(problems, l.problem(m.Name.StartOffset, memberName(m),
				"%s is read as tools.exclude; write it so", memberName(m)))
			// The member becomes a section tools of its own with the old offsets, so that
			// problems point at what the person wrote.
			exclude := hujson.ObjectMember{Name: m.Name, Value: m.Value}
			exclude.Name.Value = hujson.String("exclude")
			m.Name.Value = hujson.String("tools")
			m.Value = hujson.Value{StartOffset: m.Value.StartOffset, EndOffset: m.Value.EndOffset,
				Value: &hujson.Object{Members: []hujson.ObjectMember{exclude}}}
			continue
		}
		name(m, "", "tools")
		if inner, ok := m.Value.Value.(*hujson.Object); ok && memberName(m) == "tools" {
			for j := range inner.Members {
				name(&inner.Members[j], "tools.", "exclude", "core")
			}
		}
	}
	return problems
}
