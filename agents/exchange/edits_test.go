package exchange

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/internal/fault"
)

// TestReturns: any form of front-matter and of line endings returns as it was,
// to the byte, from the imported file alone.
func TestReturns(t *testing.T) {
	for name, text := range map[string]string{
		"comments":           "---\n# one\nname: a # two\n\n\ndescription: x\n# three\nx-own:   [1,  2]\n\n---\nx",
		"crlf":               "---\r\nname: a\r\ndescription: x\r\nother: 1\r\n---\r\n\r\nbody\r\n",
		"mixed endings":      "---\nname: a\r\ndescription: x\nother: 1\n---\nbody\n",
		"trailing lines":     "---\nname: a\ndescription: x\n\n\n---\nbody\n",
		"leading space":      "---\n  name: a\n  description: x\n---\nbody\n",
		"leading line":       "---\n\nname: a\ndescription: x\n---\nbody\n",
		"trailing spaces":    "---\nname: a  \ndescription: x\t\n   \nother: y\n---\nbody\n",
		"flow":               "---\n{name: a, description: x, zzz: {b: 1}}\n---\nbody\n",
		"block":              "---\nname: a\ndescription: |\n  one: two\n\n   three\n---\nbody\n",
		"broken":             "---\nname: a\ndescription: one: two\nother: “x”\ntools: Read\n---\nbody\n",
		"no end":             "---\nname: a\ndescription: x\n---\nbody",
		"quotes":             "---\n\"name\": 'a'\ndescription: 'it''s \"it\" \\ '\n---\nbody\n",
		"other lines' ends":  "---\nname: a\ndescription: \"\u2028 \u0085 x\"\n---\nbody\n",
		"body in front":      "---\nname: a\ndescription: x\nsystemPrompt: |\n  You: help.\n---\n",
		"rule in the prompt": "---\nname: a\ndescription: x\n---\none\n---\ntwo\n",
		"restricting":        "---\nname: a\ndescription: x\nhooks:\n  PreToolUse:\n    - matcher: \"Bash\"\n      hooks: [{type: command, command: \"a: b\"}]\n---\nbody\n",
		"ours in it":         "---\nname: a\ndescription: x\ntriggers: {keywords: [a, 'b: c']}\ninputs: {goal: {type: string}}\ndisallowedTools: Bash\n---\nbody ${goal}\n",
	} {
		t.Run(name, func(t *testing.T) {
			im, err := Import("a.md", []byte(text), Options{From: definition.Claude})
			if err != nil {
				t.Fatal(err)
			}
			checkImported(t, "a.md", []byte(text), im)
			checkReturns(t, "a.md", []byte(text), im)
		})
	}
}

// TestEditsReturn: what was changed here is changed there, and nothing else is.
func TestEditsReturn(t *testing.T) {
	const text = "---\n# of the team\nname: Some Agent\ndescription: x\n\"tools\": Read, Grep\ndisallowedTools: [WebFetch]\n# steps\nmaxTurns: 5 # few\nemoji: 🦊\nmodel: opus\n---\nbody\n"
	for _, test := range []struct {
		name, old, new string
		want           [2]string // of text: what is replaced by what
	}{
		{"nothing", "", "", [2]string{"", ""}},
		{"name", "name: some-agent", "name: other", [2]string{"name: Some Agent\n", "name: other\n"}},
		{"description", "description: x", "description: 'y: z'", [2]string{"description: x\n", "description: \"y: z\"\n"}},
		{"tools", "allow: [read_file, read_many_files, grep]", "allow: [grep]", [2]string{"\"tools\": Read, Grep\ndisallowedTools: [WebFetch]\n# steps\n", "tools: Grep\n"}},
		{"limit", "max_turns: 5", "max_turns: 3", [2]string{"maxTurns: 5 # few\n", "maxTurns: 3\n"}},
		{"limit gone", "run:\n  max_turns: 5\n", "", [2]string{"maxTurns: 5 # few\n", ""}},
		{"model", "model: inherit", "model: claude-next", [2]string{"model: opus\n", "model: claude-next\n"}},
		{"effort", "model: inherit", "model: inherit\nthinking_level: low", [2]string{"model: opus\n", "model: opus\neffort: low\n"}},
		{"body", "\nbody\n", "\nanother\n", [2]string{"\nbody\n", "\nanother\n"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			im, err := Import("some.md", []byte(text), Options{From: definition.Claude})
			if err != nil {
				t.Fatal(err)
			}
			edited := strings.Replace(string(im.Text), test.old, test.new, 1)
			if test.old != "" && edited == string(im.Text) {
				t.Fatalf("nothing is edited:\n%s", edited)
			}
			out, err := Export("x.md", []byte(edited), definition.Claude, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if want := strings.Replace(text, test.want[0], test.want[1], 1); string(out.Data) != want {
				t.Errorf("got\n%swant\n%s", out.Data, want)
			}
			if wantFile := map[bool]string{true: "other.md", false: "some.md"}[test.name == "name"]; out.File != wantFile {
				t.Errorf("file %s", out.File)
			}
		})
	}
}

// TestEditsTold: what is added here and has no place there is told on the way
// back, and what came from there is not.
func TestEditsTold(t *testing.T) {
	im, err := Import("a.md", []byte("---\nname: a\ndescription: x\nmodel: opus\ntriggers: {keywords: [k]}\nversion: 1.0.0\nguardrails: {on_failure: warn}\n---\nx\n"), Options{From: definition.Claude})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ old, new, lost string }{
		{"", "", ""},
		{"model: inherit", "model: flash", "model"},
		{"\ndescription:", "\ntemperature: 1\ndescription:", "temperature"},
		{"\ndescription:", "\nmemory: {enabled: true}\ndescription:", "memory"},
		{"\ndescription:", "\nhandoffs: [{to: b}]\ndescription:", "handoffs"},
		{"\ndescription:", "\nthinking_budget: 5\ndescription:", "thinking_budget"},
		{"keywords: [k]", "keywords: [other]", "triggers"},
		{"version: \"1.0.0\"", "version: 2.0.0", "version"},
		{"title: A", "title: B", "title"},
	} {
		out, err := Export("a.md", []byte(strings.Replace(string(im.Text), test.old, test.new, 1)), definition.Claude, Options{})
		if err != nil {
			t.Error(err)
			continue
		}
		if lost := len(out.Loss); (test.lost == "" && lost > 0) || (test.lost != "" && (lost != 1 || out.Loss[0].Key != test.lost)) {
			t.Errorf("%s: %v", test.new, out.Loss)
		}
	}
	out, err := Export("a.md", im.Text, definition.Copilot, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"triggers", "version", "guardrails", "imported"} {
		if !slices.ContainsFunc(out.Loss, func(l Loss) bool { return l.Key == key }) {
			t.Errorf("%s is not told: %v", key, out.Loss)
		}
	}
}

// TestEditedForms: edits of files with other line endings, and of the place of
// the prompt.
func TestEditedForms(t *testing.T) {
	im, err := Import("a.md", []byte("---\r\nname: a\r\ndescription: x\r\nvibe: y\r\n---\r\nbody\r\n"), Options{From: definition.Claude})
	if err != nil {
		t.Fatal(err)
	}
	out, err := Export("a.md", []byte(strings.Replace(string(im.Text), "description: x", "description: new", 1)), definition.Claude, Options{})
	if err != nil || string(out.Data) != "---\r\nname: a\r\ndescription: new\r\nvibe: y\r\n---\r\nbody\r\n" {
		t.Errorf("%v %q", err, out)
	}
	im, err = Import("a.md", []byte("---\nname: a\ndescription: x\n---\nbody\n"), Options{From: definition.Claude})
	if err != nil {
		t.Fatal(err)
	}
	moved := strings.Replace(strings.Replace(string(im.Text), "---\nbody\n", "---\n", 1), "\nimported:", "\nsystemPrompt: Help.\nimported:", 1)
	out, err = Export("a.md", []byte(moved), definition.Claude, Options{})
	if err != nil || string(out.Data) != "---\nname: a\ndescription: x\n---\nHelp.\n" {
		t.Errorf("%v %+v\n%s", err, out, moved)
	}
}

// TestEditsInBrokenFiles: where the original was read by a repair, an edit keeps
// what stands beside it, or is refused if the rest would mean something else.
func TestEditsInBrokenFiles(t *testing.T) {
	edit := func(text string) (*Exported, error) {
		im, err := Import("a.md", []byte(text), Options{From: definition.Claude})
		if err != nil {
			t.Fatal(err)
		}
		return Export("a.md", []byte(strings.Replace(string(im.Text), "one: two", "three", 1)), definition.Claude, Options{})
	}
	out, err := edit("---\nname: a\ndescription: one: two\nvibe: “calm”\n---\nx\n")
	if err != nil || string(out.Data) != "---\nname: a\ndescription: three\nvibe: “calm”\n---\nx\n" {
		t.Errorf("%v %+v", err, out)
	}
	out, err = edit("---\nname: a\ndescription: one: two\nvibe: calm\n<b>more: of it\n---\nx\n")
	if fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), "without a change of vibe") {
		t.Errorf("%v %+v", err, out)
	}
}

// TestReturnsAsAnAgent: what a file keeps may have been edited by anybody, and
// names no file that is not an agent's.
func TestReturnsAsAnAgent(t *testing.T) {
	im, err := Import("some.agent.md", []byte("---\nname: a\ndescription: x\n---\nx\n"), Options{From: definition.Claude})
	if err != nil {
		t.Fatal(err)
	}
	for kept, want := range map[string]string{
		"some.agent.md": "some.agent.md", "other.md": "other.md", "../../x/other.md": "other.md",
		".bashrc": "a.md", ".hidden.md": "a.md", "settings.json": "a.md", `".."`: "a.md", `"x\u0007.md"`: "a.md",
	} {
		text := strings.Replace(string(im.Text), "file: some.agent.md", "file: "+kept, 1)
		out, err := Export("a.md", []byte(text), definition.Claude, Options{})
		if err != nil || out.File != want {
			t.Errorf("%s: %v %+v, want %s", kept, err, out, want)
		}
	}
}

// TestManyKeysReturn: an original of many keys is read once, and not for each of them (27 s for 11 KB).
func TestManyKeysReturn(t *testing.T) {
	var front strings.Builder
	for i := range 1400 {
		fmt.Fprintf(&front, "k%d: v\n", i)
	}
	text := "---\nname: one\ndescription: d\n" + front.String() + "---\nx\n"
	im, err := Import("one.md", []byte(text), Options{From: definition.Claude})
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	out, err := Export("one.md", im.Text, definition.Claude, Options{From: definition.Agentls})
	runtime.ReadMemStats(&after)
	if err != nil || string(out.Data) != text {
		t.Errorf("it does not return as it was: %v", err)
	}
	if mib := (after.TotalAlloc - before.TotalAlloc) >> 20; mib > 512 {
		t.Errorf("it takes %d MiB", mib)
	}
}
