package session

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/model"
)

// What is told of an editor, at most.
const (
	maxSelection = 20_000 // characters
	maxSelected  = 2_000  // of one line
	maxOpen      = 50     // documents
	maxFound     = 50     // diagnostics
)

// editing returns what the model is told of the editor before the request that c
// came with: all of it the first time, later what changed since it was last
// told, nothing where nothing did (spec 3.6). Each line is quoted, since it is
// what the person has before them and not what they say.
func (v *view) editing(c *activity.EditorContext) []model.Part {
	if c == nil {
		return nil
	}
	now, was := normalEditor(c), v.editor
	v.editor = now
	var lines []string
	head := "In the person's editor now:"
	if was == nil {
		was = &activity.EditorContext{}
	} else {
		head = "In the person's editor, changed since you were last told:"
	}
	// With another file, what was said of the one before is out of date anyway: nothing of it
	// is told as gone.
	moved := now.URI != was.URI
	switch {
	case moved && now.URI != "":
		lines = append(lines, "file: "+fileName(now.URI))
	case moved:
		lines = append(lines, "no file is shown")
	}
	switch had, has := selected(was), selected(now); {
	case has && (moved || !sameRange(was, now) || was.Text != now.Text):
		lines = append(lines, selection(now)...)
	case had && !has && !moved:
		lines = append(lines, "nothing is selected any more")
	}
	if now.Cursor != nil && (moved || was.Cursor == nil || *was.Cursor != *now.Cursor) {
		lines = append(lines, fmt.Sprintf("cursor: line %d, column %d", now.Cursor.Line+1, now.Cursor.Character+1))
	}
	if moved || string(was.Diagnostics) != string(now.Diagnostics) {
		has := items(now.Diagnostics)
		switch {
		case len(has) > 0:
			first, _ := json.Marshal(has[:min(len(has), maxFound)]) // was JSON already
			lines = append(lines, strings.Split(diagnostics(now.URI, first), "\n")...)
			if n := len(has) - maxFound; n > 0 {
				lines = append(lines, fmt.Sprintf("- and %d more", n))
			}
		case len(items(was.Diagnostics)) > 0 && !moved:
			lines = append(lines, "no diagnostics there any more")
		}
	}
	if !slices.Equal(was.Open, now.Open) {
		if len(now.Open) == 0 {
			lines = append(lines, "no other documents are open")
		} else {
			lines = append(lines, "open documents:")
		}
		for i, uri := range now.Open {
			if i == maxOpen {
				lines = append(lines, fmt.Sprintf("- and %d more", len(now.Open)-i))
				break
			}
			lines = append(lines, "- "+fileName(uri))
		}
	}
	if len(lines) == 0 {
		return nil
	}
	var b strings.Builder
	b.WriteString(head + "\n")
	for _, line := range lines {
		b.WriteString("> " + strings.Map(oneLineOnly, line) + "\n")
	}
	return []model.Part{{Text: b.String()}}
}

// oneLineOnly keeps a line of a quotation from ending before its end.
func oneLineOnly(r rune) rune {
	switch r {
	case '\n', '\r', '\v', '\f', '\u0085', '\u2028', '\u2029':
		return ' '
	}
	return r
}

// normalEditor returns a copy of c as the log gives it back.
func normalEditor(c *activity.EditorContext) *activity.EditorContext {
	out := &activity.EditorContext{URI: valid(c.URI), Text: valid(c.Text), Diagnostics: compact(c.Diagnostics)}
	if c.Selection != nil {
		out.Selection = new(*c.Selection)
	}
	if c.Cursor != nil {
		out.Cursor = new(*c.Cursor)
	}
	for _, uri := range c.Open {
		out.Open = append(out.Open, valid(uri))
	}
	return out
}

// selected reports whether something is selected: a range that is more than the
// place of a cursor, or text.
func selected(c *activity.EditorContext) bool {
	return c.Text != "" || (c.Selection != nil && c.Selection.Start != c.Selection.End)
}

// sameRange reports whether the same range is selected in both, or none in
// either.
func sameRange(a, b *activity.EditorContext) bool {
	return (a.Selection == nil && b.Selection == nil) || (a.Selection != nil && b.Selection != nil &&
		*a.Selection == *b.Selection)
}

// selection returns the selected lines, each with its number in the file.
// Beyond maxSelection characters the rest is only counted, and a line is cut at
// maxSelected.
func selection(c *activity.EditorContext) []string {
	out := []string{"selection" + lineRange(", ", c.Selection) + ":"}
	if c.Text == "" {
		out[0] = strings.TrimSuffix(out[0], ":")
		return out
	}
	first := 1
	if c.Selection != nil {
		first = int(c.Selection.Start.Line) + 1
	}
	text := strings.TrimSuffix(strings.ReplaceAll(c.Text, "\r\n", "\n"), "\n")
	lines := strings.Split(text, "\n")
	width := len(fmt.Sprint(first + len(lines) - 1))
	size := 0
	for i, line := range lines {
		if size += utf8.RuneCountInString(line); size > maxSelection && i > 0 {
			return append(out, fmt.Sprintf("[%d more lines are selected; read the file for them]", len(lines)-i))
		}
		if utf8.RuneCountInString(line) > maxSelected {
			line = string([]rune(line)[:maxSelected]) + "…"
		}
		out = append(out, fmt.Sprintf("%*d | %s", width, first+i, line))
	}
	return out
}

// items returns the diagnostics of a list; nil for anything else.
func items(raw json.RawMessage) []json.RawMessage {
	var list []json.RawMessage
	_ = json.Unmarshal(raw, &list) // not a list: none
	return list
}
