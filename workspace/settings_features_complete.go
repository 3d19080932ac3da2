package workspace

// Completion and hover in a settings file, which is seldom valid while it is
// being written.

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/agentls/agentls/internal/settings"
)

// SettingsItem is one thing that may stand at a place of a settings file: the
// bytes from Start up to End become Text.
type SettingsItem struct {
	Label      string // the key or the value, without quotes
	Key        bool   // a key, not a value
	Detail     string // what kind of value a key takes
	Doc        string
	Start, End int
	Text       string
}

// SettingsHover is what the key at bytes Start up to End means.
type SettingsHover struct {
	Start, End int
	SettingsRow
}

// Markdown returns the hover as an editor shows it.
func (h SettingsHover) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "**%s** · %s", h.Key, h.Kind)
	if len(h.Values) > 0 {
		b.WriteString(" (" + strings.Join(h.Values, ", ") + ")")
	}
	b.WriteString("\n\n" + h.Doc)
	if h.Default != nil {
		value, _ := json.Marshal(h.Default) // a string, a number, a bool or strings
		fmt.Fprintf(&b, "\n\nDefault: `%s`", value)
	}
	if h.Own {
		b.WriteString("\n\nOnly your own settings can set it, not a project's.")
	}
	return b.String()
}

// CompleteSettings returns what may stand at an offset of a settings file, which
// need not be valid: keys in the order of their table, or values. It reads the
// text once.
func CompleteSettings(content []byte, scope settings.Scope, offset int, names SettingsNames) []SettingsItem {
	at := settingsAt(content, offset)
	if at.comment {
		return nil
	}
	var items []SettingsItem
	add := func(label string, key bool, detail, doc, text string) {
		items = append(items, SettingsItem{Label: label, Key: key, Detail: detail, Doc: doc, Start: at.start,
			End: at.end, Text: text})
	}
	if !at.key {
		row := rowOf(at.path)
		if n := len(at.path); row == nil && n > 0 && at.path[n-1] == "[]" {
			// An element of a list of strings.
			if row = rowOf(at.path[:n-1]); row != nil && row.Kind != textsKind {
				row = nil
			}
		}
		if row == nil {
			return nil
		}
		var values []string
		switch {
		case row.Values != nil:
			values = row.Values
		case row.Kind == boolKind:
			for _, v := range []string{"true", "false"} {
				add(v, false, row.Kind, row.Doc, v)
			}
		case row.Kind == textKind && row.name() == "model", row.Key == "model.name",
			row.Key == "agents.fallbackModels":
			values = names.Models
		case row.Kind == textsKind && (strings.HasSuffix(row.Key, ".tools.allow") ||
			strings.HasSuffix(row.Key, ".tools.deny") ||
			strings.HasSuffix(row.Key, ".when.tools") || strings.HasPrefix(row.Key, "tools.")):
			values = names.Tools
		}
		for _, v := range values {
			add(v, false, row.Kind, row.Doc, string(hujson.String(v)))
		}
		return items
	}
	key := func(name, kind, doc string) {
		if slices.Contains(at.taken, name) || (scope == settings.ProjectScope && ownOnly(append(slices.Clone(at.path), name))) {
			return
		}
		text := string(hujson.String(name))
		if !at.colon {
			text += ": "
			switch kind {
			case objectKind:
				text += "{}"
			case textsKind, objectsKind:
				text += "[]"
			}
		}
		add(name, true, kind, doc, text)
	}
	for _, s := range keysBelow(at.path) {
		key(s.name(), s.Kind, s.Doc)
	}
	if strings.Join(at.path, ".") == "agents.overrides" {
		for _, name := range names.Agents {
			key(name, objectKind, "What is changed of the agent "+name+".")
		}
	}
	return items
}

// HoverSettings says what the key at an offset means, or the key whose value
// stands there; false where nothing is known.
func HoverSettings(content []byte, offset int) (SettingsHover, bool) {
	at := settingsAt(content, offset)
	if at.start == at.end || at.comment {
		return SettingsHover{}, false
	}
	path := at.path
	if at.key {
		path = append(slices.Clone(path), at.name)
	}
	// An element of a list has no row of its own.
	for len(path) > 0 && path[len(path)-1] == "[]" {
		path = path[:len(path)-1]
	}
	row := rowOf(path)
	if row == nil || (len(path) == 2 && path[0] == "hooks" && !slices.Contains(settings.HookEvents(), path[1])) {
		return SettingsHover{}, false
	}
	h := SettingsHover{at.start, at.end, *row}
	h.Key = strings.Join(path, ".")
	return h, true
}

// ownOnly reports whether a project cannot set a key, or what it is in.
func ownOnly(path []string) bool {
	for n := range path {
		if whyNotProject(path[:n+1]) != "" {
			return true
		}
	}
	return false
}

// settingsPlace is what stands at an offset of a settings file.
type settingsPlace struct {
	path       []string // of the object that a key is in, or of the value; [] for an element
	key        bool     // a key stands or may stand here
	name       string   // the key here
	start, end int      // of what stands here; empty at the offset where nothing does
	taken      []string // the other keys of the object
	colon      bool     // a colon follows the key
	comment    bool     // inside a comment
}

// settingsFrame is an object or a list that is open.
type settingsFrame struct {
	list  bool
	key   string   // the last key
	value bool     // after the colon
	keys  []string // so far
}

// settingsScan reads a text token by token.
type settingsScan struct {
	content []byte
	offset  int
	stack   []settingsFrame
	found   *settingsPlace
	depth   int // of stack where the place was found; keys of that object are still collected
}

// settingsAt finds what stands at an offset. It needs no valid text: a token that
// makes no sense is passed over.
func settingsAt(content []byte, offset int) settingsPlace {
	s := &settingsScan{content: content, offset: max(0, min(offset, len(content)))}
	for i := 0; i < len(content) && !s.done(); {
		i = s.token(i)
	}
	if s.found == nil {
		s.place(s.offset, s.offset)
	}
	return *s.found
}

// done reports whether the place and all keys beside it are known.
func (s *settingsScan) done() bool {
	return s.found != nil && (!s.found.key || len(s.stack) < s.depth)
}

// place notes that the token from start to end is at the offset.
func (s *settingsScan) place(start, end int) {
	at := settingsPlace{start: start, end: end}
	top := len(s.stack) - 1
	for i, f := range s.stack {
		switch {
		case f.list:
			at.path = append(at.path, "[]")
		case i < top || f.value:
			at.path = append(at.path, f.key)
		default:
			at.key = true
			at.taken = slices.Clone(f.keys)
		}
	}
	s.found, s.depth = &at, len(s.stack)
}

// token reads what begins at i and returns where it ends.
func (s *settingsScan) token(i int) int {
	content := s.content
	if s.found == nil && s.offset < i {
		s.place(s.offset, s.offset)
	}
	top := len(s.stack) - 1
	switch c := content[i]; c {
	case ' ', '\t', '\r', '\n':
		return i + 1
	case '/':
		end := min(afterComment(content, i)+1, len(content))
		if end > i+1 && s.found == nil && s.offset > i && s.offset < end {
			s.found = &settingsPlace{start: s.offset, end: s.offset, comment: true}
		}
		return max(end, i+1)
	case '{', '[':
		s.before(i + 1)
		// Deeper objects are not tracked, so the place found in such a text may be wrong,
		// and the memory stays small.
		if len(s.stack) < maxSettingsDepth {
			s.stack = append(s.stack, settingsFrame{list: c == '['})
		}
		return i + 1
	case '}', ']':
		s.before(i + 1)
		if top >= 0 {
			s.stack = s.stack[:top]
		}
		return i + 1
	case ',':
		s.before(i + 1)
		if top >= 0 {
			s.stack[top].value = false
		}
		return i + 1
	case ':':
		s.before(i + 1)
		if top >= 0 && !s.stack[top].list {
			s.stack[top].value = true
		}
		return i + 1
	case '"':
		end, closed := stringEnd(content, i)
		s.word(i, end, closed)
		return end
	}
	end := i + 1
	for end < len(content) && !bytes.ContainsRune([]byte(" \t\r\n,:{}[]\"/"), rune(content[end])) {
		end++
	}
	s.word(i, end, true)
	return end
}

// before notes the place where the offset lies before i and nothing stands there.
func (s *settingsScan) before(i int) {
	if s.found == nil && s.offset < i {
		s.place(s.offset, s.offset)
	}
}

// word reads a string or another scalar.
func (s *settingsScan) word(start, end int, closed bool) {
	top := len(s.stack) - 1
	isKey := top >= 0 && !s.stack[top].list && !s.stack[top].value
	name := string(s.content[start:end])
	if name[0] == '"' {
		name = strings.TrimPrefix(name, `"`)
		if closed {
			name = strings.TrimSuffix(name, `"`)
		}
	}
	if s.found == nil && s.offset >= start && s.offset <= end {
		s.place(start, end)
		s.found.name = name
		rest := bytes.TrimLeft(s.content[end:], " \t\r\n")
		s.found.colon = len(rest) > 0 && rest[0] == ':'
	} else if isKey && s.found != nil && len(s.stack) == s.depth {
		s.found.taken = append(s.found.taken, name)
	}
	if isKey {
		s.stack[top].key = name
		s.stack[top].keys = append(s.stack[top].keys, name)
	}
}

// stringEnd returns where the string ends that begins at i; one that is not
// closed ends with its line.
func stringEnd(content []byte, i int) (end int, closed bool) {
	for end = i + 1; end < len(content); end++ {
		switch content[end] {
		case '\\':
			end++
		case '"':
			return end + 1, true
		case '\n', '\r':
			return end, false
		}
	}
	return min(end, len(content)), false
}
