package exchange

// What an imported file keeps of the original, and how it returns.

import (
	"slices"
	"strings"
	"unicode"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/internal/fault"
)

// original is the key imported of a file of ours. Anybody may have edited it: what it
// says is checked when it is used.
type original struct {
	from   definition.Dialect
	file   string   // what the original was called
	models []string // what its model and its fallbacks were read as; nil = inherit
	front  string   // its front-matter, byte for byte, without the lines ---
}

// originalOf returns what a file keeps, or nil. Without a dialect or a front-matter it
// is nil; a file name that no agent may have is left out, and the export chooses one.
func originalOf(t *definition.Tree) *original {
	v := t.Root.Get("imported")
	from, front := v.Get("from"), v.Get("front")
	if from == nil || front == nil || Folder(definition.Dialect(from.Text)) == "" || front.Kind != definition.String {
		return nil
	}
	k := &original{from: definition.Dialect(from.Text), front: front.Text}
	if file := v.Get("file"); file != nil && fileName(base(file.Text)) {
		k.file = base(file.Text)
	}
	for _, m := range v.Get("models").Strings() {
		k.models = append(k.models, m.Text)
	}
	if strings.HasPrefix(t.Text[t.Open.End:], "\r\n") && !strings.Contains(k.front, "\r") {
		// YAML reads \n of either; such a file keeps its original's endings.
		k.front = strings.ReplaceAll(k.front, "\n", "\r\n")
	}
	return k
}

// fileName reports whether a file may return under a name: who edited the kept one
// has no say over files that are no agents.
func fileName(name string) bool {
	return strings.HasSuffix(name, ".md") && !strings.HasPrefix(name, ".") &&
		!strings.ContainsFunc(name, unicode.IsControl)
}

// lines are the key's value. With block the front-matter is written in lines of its own, which a
// person can read; where that would lose a byte, or without block, in one quoted line.
func (k *original) lines(block bool) []string {
	lines := []string{"  from: " + string(k.from), "  file: " + definition.YAMLText(k.file)}
	if len(k.models) > 0 {
		lines = append(lines, "  models: "+list(k.models))
	}
	front := strings.ReplaceAll(k.front, "\r\n", "\n")
	if text, ok := literal(front, "    "); ok && block {
		return append(lines, "  front: "+text)
	}
	return append(lines, "  front: "+definition.YAMLText(k.front))
}

// original returns the file that was imported, with another body. With the body of the
// import it is byte for byte what was imported, but for what the package's limits say.
func (k *original) original(body string) string {
	newline := "\n"
	if strings.HasSuffix(k.front, "\r\n") {
		newline = "\r\n"
	}
	return "---" + newline + k.front + "---" + newline + body
}

// keyAt returns the index of the top-level key that an offset belongs to, -1
// before the first.
//
// A key goes on until the next one begins.
func keyAt(t *definition.Tree, offset int) int {
	at := -1
	for i := range t.Root.Keys {
		if t.Root.Keys[i].Start <= offset {
			at = i
		}
	}
	return at
}

// keyOf returns the top-level key that a problem is in, or "". A problem of the body is
// in none.
func keyOf(t *definition.Tree, index *definition.Index, p definition.Problem) string {
	if i := keyAt(t, index.Offset(p.Range.Start)); i >= 0 && index.Offset(p.Range.Start) < t.Front.End {
		return t.Root.Keys[i].Name
	}
	return ""
}

// likes are the spellings of keys that say the same in some dialect. Tools are
// allowed and denied together.
var likes = [...][]string{
	{"name"},
	{"title", "displayName", "display_name"},
	{"tools", "disallowedTools", "disallowed-tools", "disallowed_tools"},
	{"model", "fallback_models", "fallbackModels"},
	{"max_turns", "maxTurns", "steps", "maxSteps"},
	{"timeout_mins", "max_time", "max_time_minutes"},
	{"temperature", "temp"},
	{"top_p", "topP"},
	{"effort", "reasoningEffort", "reasoning_effort", "thinking_level", "thinkingLevel"},
	{"permission", "permissions"},
	{"agents", "subagents"},
	{"user-invocable", "user_invocable", "userInvocable", "user-invokable"},
	{"disable-model-invocation", "disableModelInvocation", "infer"},
}

// like returns the number of a key's row in likes; a key without one is alone.
func like(key string) (int, bool) {
	i := slices.IndexFunc(likes[:], func(row []string) bool { return slices.Contains(row, key) })
	return i, i >= 0
}

// alike reports whether two keys say the same in some dialect.
func alike(a, b string) bool {
	i, known := like(a)
	j, _ := like(b)
	return a == b || (known && i == j)
}

// changedKeys returns the keys whose values differ, those of a first.
func changedKeys(a, b entries) []string {
	var keys []string
	for _, pair := range [][2]entries{{a, b}, {b, a}} {
		for _, e := range pair[0] {
			if value, there := pair[1].get(e.key); (!there || value != e.value) && !slices.Contains(keys, e.key) {
				keys = append(keys, e.key)
			}
		}
	}
	return keys
}

// splice returns front-matter in which the keys that differ between what was
// and what is are as they are now, and every other byte as it was. It is
// fault.Invalid where the keys do not stand in lines of their own. file is the
// original's name, for messages.
// Keys that are alike are exchanged together, so that a file never says one thing in two
// spellings. New ones go to the end. The result is read again before it is returned.
func splice(file, front string, was, is entries) (string, error) {
	keys := changedKeys(was, is)
	if len(keys) == 0 {
		return front, nil
	}
	newline := "\n"
	if strings.Contains(front, "\r\n") {
		newline = "\r\n"
	}
	text := "---" + newline + front + "---" + newline
	t, ok := definition.ReadTree("", text)
	if !ok {
		return "", fault.New(fault.Invalid, "exchange.export",
			"the front-matter that %s came with cannot be read, so it cannot be changed; undo the change of imported.front", file)
	}
	goes := func(name string) bool {
		return slices.ContainsFunc(keys, func(key string) bool { return alike(key, name) })
	}
	written := make(map[int]bool) // entries of is that are written
	var b strings.Builder
	write := func(match func(e entry) bool) {
		for i, e := range is {
			if !written[i] && goes(e.key) && match(e) {
				written[i] = true
				b.WriteString(strings.ReplaceAll(e.key+":"+e.value+"\n", "\n", newline))
			}
		}
	}
	at := t.Front.Start
	for i, k := range t.Root.Keys {
		// Whole lines are exchanged. What stands between two keys, such as a comment, belongs to
		// the one above.
		start := strings.LastIndexAny(text[:k.Start], "\r\n") + 1
		end := t.Front.End
		if i+1 < len(t.Root.Keys) {
			end = strings.LastIndexAny(text[:t.Root.Keys[i+1].Start], "\r\n") + 1
		}
		if start < at || end <= start || strings.Trim(text[start:k.Start], `"'`) != "" {
			return "", fault.New(fault.Invalid, "exchange.export",
				"the front-matter that %s came with has not one key a line, so %s cannot be changed in it; write it so in imported.front", file, k.Name)
		}
		b.WriteString(text[at:start])
		if at = start; !goes(k.Name) {
			continue
		}
		write(func(e entry) bool { return alike(e.key, k.Name) })
		at = end
	}
	b.WriteString(text[at:t.Front.End])
	// Keys that the original did not have, in the order in which they were made.
	write(func(entry) bool { return true })
	spliced := b.String()

	// A last look: what was not to change did not.
	again, ok := definition.ReadTree("", "---"+newline+spliced+"---"+newline)
	for i, k := range t.Root.Keys {
		if goes(k.Name) {
			continue
		}
		if !ok || asWritten(again, k.Name) != text[k.Start:max(k.Start, t.Root.Items[i].End)] {
			return "", fault.New(fault.Invalid, "exchange.export",
				"the front-matter that %s came with cannot be changed without a change of %s too; write it one key a line in imported.front", file, k.Name)
		}
	}
	return spliced, nil
}

// asWritten returns a top-level key with its value as they stand in a file.
func asWritten(t *definition.Tree, key string) string {
	for i, k := range t.Root.Keys {
		if k.Name == key {
			return t.Text[k.Start:max(k.Start, t.Root.Items[i].End)]
		}
	}
	return ""
}
