package language

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/agentls/agentls/internal/fault"
)

// nodesFile has each way in which a file names a node. {} is where check stands in one, with
// the number of the place.
const nodesFile = `---
kind: agent
name: flow
title: Flow
description: A flow.
graph:
  entry: {1}check-it
  nodes:
    - {name: {0}check-it, agent: check-it}
    - name: fixer
      human: "Is ${{2}check_it.summary} right? $${check_it} ${check-it-not}"
      input:
        message: |
          It is ${{3}check-it} and ${{4}check-it.more}.
    - {name: 'done', tool: ls}
  edges:
    - {from: {5}check-it, to: fixer, condition: "{6}check_it.ok && input.check_it != 'check_it' || len({7}check_it.list) > 0"}
    - {from: "{8}check-it", to: END, else: true}
    - {from: fixer, to: {9}check-it}
    - {from: fixer, to: done, condition: not {10}check_it.done}
    - {from: done, to: END}
  state:
    {11}check-it: {reducer: merge}
---
See check-it and @check-it.
`

// placesOf takes the marks out of a text, and returns where they were, by their numbers.
func placesOf(text string) (plain string, offsets []int) {
	for n := 0; ; n++ {
		mark := fmt.Sprintf("{%d}", n)
		if !strings.Contains(text, mark) {
			break
		}
		before := text[:strings.Index(text, mark)]
		for m := range 100 {
			before = strings.ReplaceAll(before, fmt.Sprintf("{%d}", m), "")
		}
		offsets = append(offsets, len(before))
	}
	for m := range offsets {
		text = strings.ReplaceAll(text, fmt.Sprintf("{%d}", m), "")
	}
	return text, offsets
}

// TestNodeNames: from each place that names a node one comes to its name, finds all other
// places, and renames it in all of them; what only looks like it stays.
func TestNodeNames(t *testing.T) {
	plain, offsets := placesOf(nodesFile)
	w := team(t)
	f, _ := marked(t, "/a/.gemini/agents/flow.md", plain+cursor)
	want := strings.NewReplacer("check-it", "look-at", "check_it", "look_at")
	renamed := []byte(nodesFile)
	for n := range offsets {
		mark := fmt.Sprintf("{%d}", n)
		i := strings.Index(string(renamed), mark)
		rest := string(renamed[i+len(mark):])
		renamed = []byte(string(renamed[:i]) + want.Replace(rest[:len("check-it")]) + rest[len("check-it"):])
	}
	for n, offset := range offsets {
		at := f.Index.Position(offset + 2)
		to, ok := Definition(w, Sources{}, f, at)
		if !ok || f.Index.Offset(to.Range.Start) != offsets[0] {
			t.Errorf("place %d leads to %v %v", n, to, ok)
		}
		var found []int
		for _, l := range References(w, Sources{}, f, at, true) {
			found = append(found, f.Index.Offset(l.Range.Start))
		}
		sorted := slices.Sorted(slices.Values(offsets))
		if !slices.Equal(found, sorted) {
			t.Errorf("from place %d: %v, want %v", n, found, sorted)
		}
		if r, name, err := PrepareRename(w, Sources{}, f, at); err != nil || name != "check-it" || f.Index.Offset(r.Start) != offset {
			t.Errorf("place %d: %v %q %v", n, r, name, err)
		}
		edit, err := RenameAt(w, Sources{}, f, at, "look-at")
		if err != nil {
			t.Fatal(err)
		}
		text := plain
		for _, e := range slices.Backward(edit.Edits) {
			text = text[:f.Index.Offset(e.Range.Start)] + e.Text + text[f.Index.Offset(e.Range.End):]
		}
		if text != string(renamed) {
			t.Errorf("from place %d:\n%s", n, text)
		}
	}
	if got := References(w, Sources{}, f, f.Index.Position(offsets[0]+2), false); len(got) != len(offsets)-1 {
		t.Errorf("without its own name: %d", len(got))
	}
	if _, ok := Definition(w, Sources{}, f, f.Index.Position(strings.Index(plain, "agent: check-it")+8)); ok {
		t.Error("the name of an agent is taken for that of a node")
	}
}

// TestNodeIsNotRenamed: a name that a node cannot have is refused, and so is a rename that
// would leave a place out.
func TestNodeIsNotRenamed(t *testing.T) {
	w := team(t)
	file := func(condition string) string {
		return "---\nkind: agent\nname: flow\ngraph:\n  entry: che‸ck\n  nodes: [{name: check, tool: ls}, {name: the-end, tool: ls}]\n" +
			"  edges:\n    - {from: check, to: the-end, condition: " + condition + "}\n    - {from: check, to: END, else: true}\n    - {from: the-end, to: END}\n  state: {notes: {reducer: append}}\n---\nx\n"
	}
	for name, want := range map[string]string{
		"a b": "cannot be a node's name", "END": "means something else", "the_end": "is a node or a key", "notes": "is a node or a key", "null": "YAML takes null",
	} {
		f, at := marked(t, "/a/.gemini/agents/flow.md", file("check.ok"))
		if edit, err := RenameAt(w, Sources{}, f, at, name); fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v %v", name, edit, err)
		}
	}
	f, at := marked(t, "/a/.gemini/agents/flow.md", file(`"check.text == '\u0061'"`))
	if edit, err := RenameAt(w, Sources{}, f, at, "other"); err == nil || !strings.Contains(err.Error(), "written with escapes") {
		t.Errorf("%v %v", edit, err)
	}
	f, at = marked(t, "/a/.gemini/agents/flow.md", file("check.ok"))
	if _, err := RenameAt(w, Sources{ReadOnly: func(string) bool { return true }}, f, at, "other"); fault.KindOf(err) != fault.Denied {
		t.Error(err)
	}
	if edit, err := RenameAt(w, Sources{}, f, at, "other"); err != nil || len(edit.Edits) != 5 {
		t.Errorf("%v %v", edit, err)
	}
}
