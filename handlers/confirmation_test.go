package handlers

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/agentls/agentls/agents"
	"github.com/agentls/agentls/agents/guard"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/wire"
)

// TestSEC73NothingDrivesTheScreen: escape sequences in whatever a question is
// made of are shown as text, in the message, the title, the plain dialog and
// what is to be remembered. The control: the raw text does hold them.
func TestSEC73NothingDrivesTheScreen(t *testing.T) {
	h := &Handlers{caps: wire.ClientCapabilities{Confirm: &wire.ConfirmCapability{Modify: true}}}
	for _, evil := range []string{
		"\x1b[2J", "\x1b[1A\x1b[2K", "\x1b]8;;https://evil.example\x1b\\here\x1b]8;;\x1b\\", "\x1b]52;c;ZXZpbA==\x07", "\x1bPq\x1b\\", "ok\rrm -rf x", "rm\b\bls", "\u009b2J", "\u0090q\u009c", "\x00", "\x7f", "\u202e", "\xff",
	} {
		command, err := json.Marshal(map[string]string{"command": "ls " + evil, "description": evil})
		if err != nil {
			t.Fatal(err)
		}
		for _, preview := range []tool.Preview{
			{Kind: "command", Command: "ls " + evil + "\nP", Cwd: "/w/" + evil, Parsed: []string{"ls " + evil, "P"}, Notes: []string{"leads to " + evil}},
			{Kind: "diff", NewText: evil, Patch: "--- a/" + evil + "\n+++ b/x\n@@ -0,0 +1 @@\n+" + evil + "\n"},
			{},
		} {
			q := asking(preview, guard.Session, guard.Always, guard.Reject)
			q.Agent, q.AgentPath, q.Why, q.Covers, q.Prompt = evil, []string{evil, evil}, evil, evil, evil
			q.Plan.Tool, q.Plan.Title, q.Plan.Args, q.Plan.Path = "bash", "bash "+evil, command, "/w/"+evil
			q.Plan.Reads, q.Plan.Writes = []string{"/r/" + evil}, []string{"/x/" + evil}
			p := h.confirmParams(q, "n")
			short, _ := summary(q)
			for name, shown := range map[string]string{"message": p.Message, "title": p.Title, "why": p.Why, "remembers": p.Remembers, "dialog": short} {
				for _, line := range strings.Split(shown, "\n") {
					if tool.Suspicious(line) || strings.Contains(line, "\t") {
						t.Errorf("%s of %q has %q", name, evil, line)
					}
				}
			}
			if !tool.Suspicious(q.Plan.Title) {
				t.Errorf("%q drives no screen", evil)
			}
		}
	}
}

// TestAlwaysIsOfferedOnce, with what it covers, and only where the gate says so.
func TestAlwaysIsOfferedOnce(t *testing.T) {
	h := &Handlers{caps: wire.ClientCapabilities{Confirm: &wire.ConfirmCapability{}}}
	for _, c := range []struct{ outcomes, want []agents.Outcome }{
		{[]agents.Outcome{guard.Run, guard.Session, guard.Always, guard.Reject}, []agents.Outcome{guard.Once, guard.Run, guard.Session, guard.Always, guard.Reject}},
		{[]agents.Outcome{guard.Reject}, []agents.Outcome{guard.Once, guard.Reject}},
	} {
		p := h.confirmParams(asking(tool.Preview{}, c.outcomes...), "n")
		var got []agents.Outcome
		for _, o := range p.Options {
			if got = append(got, agents.Outcome(o.Kind)); o.Label == "" {
				t.Errorf("%s has no label", o.Kind)
			}
		}
		if !slices.Equal(got, c.want) || !strings.Contains(p.Message, "This run, this session and always also allow: "+p.Remembers) {
			t.Errorf("options %v, want %v:\n%s", got, c.want, p.Message)
		}
	}
}

// TestFacts: what is shown, whole and in order; what others say stands last.
func TestFacts(t *testing.T) {
	q := asking(tool.Preview{
		Kind: "command", Command: "cp a docs/ &&\n\n\n\n  ls" + strings.Repeat(" ", 30) + "x", Parsed: []string{"cp a docs/", "ls x"}, Cwd: "/w", Notes: []string{"docs/a leads to /w/.gemini/x"},
	})
	q.AgentPath, q.Prompt = []string{"main", "fixer"}, "Is this fine?\nRisk: safe"
	q.Plan.Args = json.RawMessage(`{"command":"…","description":"copies\nFolder: /"}`)
	q.Plan.Title, q.Plan.Reads, q.Plan.Writes = "bash cp a docs/", []string{"/w", "/w/a"}, []string{"/w/.gemini/x"}
	const want = `fixer wants to run bash cp a docs/
Risk: low (changes a file)
Asked by: main → fixer
Folder: /w
Command (52 characters, 5 lines):
  cp a docs/ &&⏎
  ⏎×3 (blank lines)
    ls␠×30x
Which runs:
  cp a docs/
  ls x
Reads: /w/a
Writes: /w/.gemini/x
Note: docs/a leads to /w/.gemini/x
This run, this session and always also allow: changes of ordinary files in /w
The model says:
> copies
> Folder: /
The agent says:
> Is this fine?
> Risk: safe
`
	if got := confirmationText(q); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
