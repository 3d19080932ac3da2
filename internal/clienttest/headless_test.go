package clienttest

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// answered is how a person meets a question, and what comes of it.
type answered struct {
	name   string
	answer string // the title of the action that they choose; "" dismisses the question
	late   bool   // after the question has expired
	// unserved is a client that has no such dialog, which is nobody's yes.
	unserved bool
	told     string // the model's next request, as its script has it
}

const (
	patience  = `{"agents": {"confirmationTimeout": 120}}`
	impatient = `{"agents": {"confirmationTimeout": 1}}`
	denied    = ">result-error %TOOL contains Tool execution denied by user: %TOOL"
)

// answers are the ways to meet a question. Only one of them is a yes.
var answers = []answered{
	{name: "Refused", answer: "Reject", told: denied},
	{name: "Dismissed", told: denied},
	{name: "Late", answer: "Allow once", late: true, told: ">result-error %TOOL contains nobody answered in time"},
	{name: "Unserved", unserved: true, told: ">result-error %TOOL contains the question could not be shown"},
	{name: "Allowed", answer: "Allow once", told: ">!result-error %TOOL"},
}

// changes are the calls that change note.txt, whose unsaved first line is
// "oats" and on disk is "milk".
var changes = map[string]string{
	"edit_file":  `{"file_path": "note.txt", "old_string": "oats", "new_string": "oat milk"}`,
	"write_file": `{"file_path": "note.txt", "content": "oat milk\neggs\n"}`,
}

// script is a model that reads the note, which must be as the person sees it,
// and then changes it.
func (a answered) script(tool string) string {
	return strings.NewReplacer("%TOOL", tool, "%ARGS", changes[tool]).Replace(`> buy
<call read_file {"file_path": "note.txt"}

>result read_file contains oats
>!result read_file contains milk
<call %TOOL %ARGS

` + a.told + `
< So be it.
`)
}

// settings are the person's: a question expires only where it is to.
func (a answered) settings() string {
	if a.late {
		return impatient
	}
	return patience
}

// outcome is what a client saw and holds in the end.
type outcome struct {
	Dialogs  []string `json:"dialogs"`
	Ended    string   `json:"ended"`
	Buffer   string   `json:"buffer"`   // after the run
	Undone   string   `json:"undone"`   // after one undo
	Messages string   `json:"messages"` // what the editor complained of, if anything
}

// yes reports whether this answer is one.
func (a answered) yes() bool { return a.answer == "Allow once" && !a.late }

// texts are what the note, which is typed into, has to be after the answer, and
// after one undo.
func (a answered) texts() (buffer, undone string) {
	const disk, unsaved, changed = "milk\neggs", "oats\neggs", "oat milk\neggs"
	if a.yes() {
		return changed, unsaved
	}
	return unsaved, disk
}

// judge holds an outcome to the rule: only a yes in time changes the buffer, one
// undo takes that back, and the file on disk is never written behind the buffer.
func (a answered) judge(t *testing.T, tool, dir string, got outcome) {
	t.Helper()
	if asked := !a.unserved; asked != (len(got.Dialogs) == 1) {
		t.Errorf("there were %d dialogs: %q", len(got.Dialogs), got.Dialogs)
	}
	if got.Ended != "GOAL: So be it." {
		t.Errorf("the run ended with %q", got.Ended)
	}
	want, undone := a.texts()
	if a.yes() {
		t.Logf("control: allowed in time, the same call of %s changes the buffer to %q", tool, got.Buffer)
	}
	if got.Buffer != want {
		t.Errorf("the buffer is %q, not %q", got.Buffer, want)
	}
	if got.Undone != undone {
		t.Errorf("after one undo the buffer is %q, not %q", got.Undone, undone)
	}
	if disk, err := os.ReadFile(filepath.Join(dir, "note.txt")); err != nil || string(disk) != "milk\neggs\n" {
		t.Errorf("the file on disk was written behind the buffer: %q, %v", disk, err)
	}
}

// TestNeovimAnswers: the ways to answer, for each tool that writes, with
// Neovim's own handlers and an unsaved buffer.
func TestNeovimAnswers(t *testing.T) {
	if _, err := exec.LookPath("nvim"); err != nil {
		t.Skip("nvim is not installed")
	}
	for tool := range changes {
		for _, a := range answers {
			t.Run(tool+a.name, func(t *testing.T) {
				_, env := perform(t, a.script(tool), a.settings())
				dir := unfold(t, map[string]string{"note.txt": "milk\neggs\n", ".gemini/agents/fixer.md": fixer})
				got := headless(t, env, dir, map[string]any{"prompt": "buy", "answer": a.answer, "late": a.late, "unserved": a.unserved})
				a.judge(t, tool, dir, got)
				for _, want := range []string{"fixer wants to run " + tool + " note.txt", "-oats⏎\n+oat milk⏎", "1. Reject\n2. Show\n3. Allow once\n4. Allow for this session"} {
					if len(got.Dialogs) > 0 && !strings.Contains(got.Dialogs[0], want) {
						t.Errorf("the dialog lacks %q:\n%s", want, got.Dialogs[0])
					}
				}
				if strings.Contains(got.Messages, "Error") || strings.Contains(got.Messages, "E5108") {
					t.Errorf("the editor complains: %s", got.Messages)
				}
			})
		}
	}
}

// headless plays a story in a Neovim without a screen.
func headless(t *testing.T, env []string, dir string, story map[string]any) (got outcome) {
	t.Helper()
	script, err := filepath.Abs("testdata/headless.lua")
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(story)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "seen.json")
	c := exec.CommandContext(t.Context(), "nvim", "--headless", "-u", "NONE", "-i", "NONE", "-n", "-S", script, "-c", "cq")
	c.Env, c.Dir = append(env, "AGENTLS="+build(t), "STORY="+string(text), "SEEN="+file), dir
	var said bytes.Buffer
	c.Stdout, c.Stderr = &said, &said
	if err := c.Run(); err != nil {
		t.Fatalf("nvim: %v\n%s", err, &said)
	}
	seen, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v\n%s", err, &said)
	}
	if err := json.Unmarshal(seen, &got); err != nil {
		t.Fatalf("%v\n%s", err, seen)
	}
	return got
}
