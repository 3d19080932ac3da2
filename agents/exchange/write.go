package exchange

// YAML as this package writes it: one line a key where that is possible, and
// nothing that needs a repair.

import (
	"strconv"
	"strings"
	"time"

	"github.com/agentls/agentls/agents/definition"
)

// entry is one top-level key with its value: what follows the colon, with its
// further lines, without the last line's ending. The key is written as it stands: who
// adds one from a file quotes it first.
type entry struct{ key, value string }

// entries are front-matter in its order.
type entries []entry

// put adds a key with a value that is written already.
func (e *entries) put(key, value string) { *e = append(*e, entry{key, " " + value}) }

// nest adds a key whose value are lines of its own, indented already.
func (e *entries) nest(key string, lines ...string) {
	if len(lines) > 0 {
		*e = append(*e, entry{key, "\n" + strings.Join(lines, "\n")})
	}
}

// text adds a string, unless it is empty.
func (e *entries) text(key, s string) {
	if s != "" {
		e.put(key, scalar(s, "  "))
	}
}

// get returns a key's value, and whether it is there.
func (e entries) get(key string) (string, bool) {
	for _, x := range e {
		if x.key == key {
			return x.value, true
		}
	}
	return "", false
}

// file joins front-matter and body. newline ends the lines of the front-matter; the
// body keeps its own ends.
func (e entries) file(body, newline string) string {
	var b strings.Builder
	b.WriteString("---\n")
	for _, x := range e {
		b.WriteString(x.key + ":" + x.value + "\n")
	}
	b.WriteString("---\n")
	front := b.String()
	if newline != "\n" {
		front = strings.ReplaceAll(front, "\n", newline)
	}
	return front + body
}

// scalar writes a string as the value of a key: a text of several lines in
// lines that are indented by indent, another in one.
func scalar(s, indent string) string {
	if block, ok := literal(s, indent); ok && strings.Contains(strings.TrimRight(s, "\n"), "\n") {
		return block
	}
	return definition.YAMLText(s)
}

// literal writes a text after |, if YAML keeps every byte of it there.
//
// It refuses a text that begins with a blank or an empty line, has lines of blanks alone,
// or characters that end a line for some readers. How many line ends the text ends with decides between |-, | and |+.
func literal(s, indent string) (string, bool) {
	lines := strings.TrimRight(s, "\n")
	if lines == "" || lines[0] == ' ' || lines[0] == '\n' || lines[0] == '\t' || strings.ContainsFunc(s, special) {
		return "", false
	}
	var b strings.Builder
	switch len(s) - len(lines) {
	case 0:
		b.WriteString("|-")
	case 1:
		b.WriteString("|")
	default:
		b.WriteString("|+")
	}
	for line := range strings.SplitSeq(lines, "\n") {
		if line != "" && strings.Trim(line, " \t") == "" {
			return "", false
		}
		b.WriteByte('\n')
		if line != "" {
			b.WriteString(indent + line)
		}
	}
	for range len(s) - len(lines) - 1 {
		b.WriteByte('\n')
	}
	return b.String(), true
}

// special reports whether a character ends a line for some readers of YAML, or
// may not stand in it as it is.
func special(c rune) bool {
	switch {
	case c == '\n' || c == '\t':
		return false
	case c < ' ', c >= 0x7f && c <= 0x9f, c == '\u2028', c == '\u2029', c == '\ufeff', c == '\ufffd':
		return true
	}
	return false
}

// list writes strings in brackets.
func list(names []string) string {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = definition.YAMLText(name)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// words writes names in one text, with commas, as Claude Code has them.
//
// Where YAML would read more into the text than that, all of it is put in quotes.
func words(names []string) string {
	text := strings.Join(names, ", ")
	// A comma or bracket inside of a plain text is text, too.
	if rest := strings.NewReplacer(",", "", "(", "", ")", "").Replace(text); definition.YAMLText(rest) == rest {
		return text
	}
	return definition.YAMLText(text)
}

// seconds writes a duration as it is read: 90s, 5m0s.
func seconds(d time.Duration) string { return `"` + d.String() + `"` }

// flow writes a value of another file in one line. Comments and anchors are gone;
// values keep their meaning.
func flow(v *definition.Value) string {
	switch v.Kind {
	case definition.String:
		return definition.YAMLText(v.Text)
	case definition.List:
		parts := make([]string, len(v.Items))
		for i := range v.Items {
			parts[i] = flow(&v.Items[i])
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case definition.Mapping:
		parts := make([]string, len(v.Items))
		for i := range v.Items {
			parts[i] = definition.YAMLText(v.Keys[i].Name) + ": " + flow(&v.Items[i])
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case definition.Null:
		return "null"
	}
	// Numbers and booleans as they are written: made anew they might read otherwise.
	return v.Text
}

// number writes a number without an exponent.
func number(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }
