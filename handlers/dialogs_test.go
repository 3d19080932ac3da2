package handlers

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentls/agentls/agents"
	"github.com/agentls/agentls/agents/guard"
	"github.com/agentls/agentls/agents/tool"
)

// asking is a question about a call with a preview.
func asking(preview tool.Preview, outcomes ...agents.Outcome) agents.Question {
	return agents.Question{
		ID: "q", Agent: "fixer", Why: "changes a file", Risk: tool.Low, Covers: "changes of ordinary files in /w",
		Plan:     &tool.Plan{Tool: "write_file", Title: "write_file a.c", Args: json.RawMessage(`{"a":1}`), Preview: preview},
		Outcomes: append([]agents.Outcome{guard.Once}, outcomes...),
	}
}

// TestSummary: a plain dialog has at most six lines, and says that it is cut
// whenever it leaves something out.
func TestSummary(t *testing.T) {
	diff := func(lines string) tool.Preview {
		return tool.Preview{Kind: "diff", Patch: "--- /dev/null\n+++ b/a.c\n@@ -0,0 +1,3 @@\n" + lines}
	}
	const first = "fixer wants to run write_file a.c (low: changes a file)"
	const covers = "Allow for this session covers: changes of ordinary files in /w"
	wide := strings.Repeat("x", summaryWidth-1)
	spaces := strings.Repeat(" ", 2000)
	for name, c := range map[string]struct {
		q    agents.Question
		want []string
		cut  bool
	}{
		"lines that look like headers": {
			asking(diff("+++evil();\n+--x;\n+ok\n")), []string{first, "+++evil();⏎", "+--x;⏎", "+ok⏎"}, false,
		},
		"removed lines that look like headers": {
			asking(diff("--- x\n-++ y\n context\n---z;\n")), []string{first, "--- x⏎", "-++ y⏎", "---z;⏎"}, false,
		},
		"a second hunk": {
			asking(diff("+a\n@@ -9 +9 @@\n---b\n+++b\n")), []string{first, "+a⏎", "---b⏎", "+++b⏎"}, false,
		},
		"lines that are shown as one": {
			asking(diff("-oats\n+oat milk\n")), []string{first, "-oats⏎", "+oat milk⏎"}, false,
		},
		"what longer covers is shown": {
			asking(diff("+a\n+b\n+c\n+d\n"), guard.Session), []string{first, "+a⏎", "+b⏎", "+c⏎", "+d⏎", covers}, false,
		},
		"no room for what longer covers": {
			asking(diff("+a\n+b\n+c\n+d\n+e\n"), guard.Session), []string{first, "+a⏎", "+b⏎", "+c⏎", "… the diff is 55 characters long: Show has all of it", "+e⏎"}, true,
		},
		"five lines for once only": {
			asking(diff("+a\n+b\n+c\n+d\n+e\n")), []string{first, "+a⏎", "+b⏎", "+c⏎", "+d⏎", "+e⏎"}, false,
		},
		"one line too many": {
			asking(diff("+a\n+b\n+c\n+d\n+e\n+f\n")), []string{first, "+a⏎", "+b⏎", "+c⏎", "… the diff is 58 characters long: Show has all of it", "+f⏎"}, true,
		},
		"as wide as can be": {asking(diff("+" + wide + "\n")), []string{first, "+" + wide + "⏎"}, false},
		"too wide": {
			asking(diff("+" + wide + "xend\n")),
			[]string{first, "+" + wide[:summaryWidth-42] + "…" + strings.Repeat("x", 36) + "end⏎", "… the diff is 205 characters long: Show has all of it"}, true,
		},
		"SEC-71 spaces before the end": {
			asking(tool.Preview{Kind: "command", Command: "ls" + spaces + "; P", Cwd: "/w"}),
			[]string{first, "in /w (2005 characters)", "ls␠×2000; P"}, false,
		},
		"SEC-71 tabs before the end": {
			asking(tool.Preview{Kind: "command", Command: "ls" + strings.Repeat("\t", 2000) + "; P", Cwd: "/w"}),
			[]string{first, "in /w (2005 characters)", `ls\t×2000; P`}, false,
		},
		"SEC-71 many blank lines": {
			asking(tool.Preview{Kind: "command", Command: "ls" + strings.Repeat("\n", 300) + "P", Cwd: "/w"}),
			[]string{first, "in /w (303 characters, 301 lines)", "ls⏎", "⏎×299 (blank lines)", "P"}, false,
		},
		"SEC-71 many lines": {
			asking(tool.Preview{Kind: "command", Command: "ls\n" + strings.Repeat("true\n", 300) + "P", Cwd: "/w"}),
			[]string{first, "in /w (1504 characters, 302 lines)", "ls⏎", "true⏎", "… the command is 1504 characters long: Show has all of it", "P"}, true,
		},
		"SEC-71 a megabyte": {
			asking(tool.Preview{Kind: "command", Command: "echo " + strings.Repeat("x", 1<<20) + "; P", Cwd: "/w"}),
			[]string{first, "in /w (1048584 characters)", "echo " + strings.Repeat("x", summaryWidth-46) + "…" + strings.Repeat("x", 37) + "; P", "… the command is 1048584 characters long: Show has all of it"}, true,
		},
		"SEC-67 where a link leads": {
			asking(tool.Preview{Kind: "command", Command: "cp a docs/", Cwd: "/w", Notes: []string{"docs/a leads to /w/.gemini/settings.json"}}),
			[]string{first, "in /w", "Note: docs/a leads to /w/.gemini/settings.json", "cp a docs/"}, false,
		},
		"SEC-75 a host": {
			asking(tool.Preview{Kind: "command", Command: "curl https://аpple.com/x", Cwd: "/w"}),
			[]string{first, "in /w", "Careful: mixed scripts: а (Cyrillic) in https://аpple.com/x", "Careful: host аpple.com is xn--pple-43d.com", "curl https://аpple.com/x"}, false,
		},
		"arguments": {asking(tool.Preview{}), []string{first, `{"a":1}`}, false},
	} {
		t.Run(name, func(t *testing.T) {
			text, cut := summary(c.q)
			if want := strings.Join(c.want, "\n"); text != want || cut != c.cut {
				t.Errorf("cut %v:\n%s\nwant %v:\n%s", cut, text, c.cut, want)
			}
		})
	}
	q := asking(diff("+a\n"), guard.Session)
	q.Covers = "changes in " + strings.Repeat("/w", 200)
	if text, cut := summary(q); !cut || strings.Contains(text, "covers") {
		t.Errorf("what cannot be shown before it is kept: cut %v:\n%s", cut, text)
	}
	q.Plan.Title = strings.Repeat("t", 1000)
	if text, cut := summary(q); !cut || !strings.Contains(text, "(low: changes a file)") {
		t.Errorf("a long title hides the risk: cut %v:\n%s", cut, text)
	}
}

// TestSEC71SummaryHidesNothing: whatever changes, a summary that is not cut has
// all of it, and none has more than six lines.
func TestSEC71SummaryHidesNothing(t *testing.T) {
	pieces := []string{"+++x", "---x", "+", "-", "++", "--", "+@@", "-@@ -1 +1 @@", "+a", " b"}
	for n := range 7 {
		for seed := range 500 {
			var lines []string
			changes := 0
			for i, s := 0, seed*2654435761; i < n; i, s = i+1, s/7+seed*(i+3) {
				line := pieces[s%len(pieces)]
				if lines = append(lines, line); line[0] != ' ' {
					changes++
				}
			}
			text, cut := summary(asking(tool.Preview{Kind: "diff", Patch: "--- a/f\n+++ b/f\n@@ -1 +1 @@\n" + strings.Join(lines, "\n") + "\n"}))
			got := strings.Split(text, "\n")
			if len(got) > summaryLines || cut != (changes > summaryLines-1) || (!cut && len(got)-1 != changes) {
				t.Fatalf("%q: cut %v:\n%s", lines, cut, text)
			}
		}
	}
}

// TestSEC71SummaryFitsADialog: also where all is long, and of signs that count twice, the end is
// not what an editor cuts off.
func TestSEC71SummaryFitsADialog(t *testing.T) {
	for _, sign := range []string{"x", "📏"} {
		long := strings.Repeat(sign, 300)
		q := asking(tool.Preview{Kind: "command", Cwd: "/w/" + long, Command: strings.Repeat("echo "+long+"\n", 9) + long + " the end"})
		q.Plan.Title = long
		text, cut := summary(q)
		if n := messageLength(text); !cut || n > summaryWhole || !strings.HasSuffix(text, " the end") {
			t.Errorf("cut %v, %d long:\n%s", cut, n, text)
		}
	}
}

// TestForgetShown: what was shown lasts as long as the connection (SEC-116).
func TestForgetShown(t *testing.T) {
	c := connect(t, nil)
	var paths []string
	for i := range 3 {
		path, err := c.h.keepShown(fmt.Sprintf("t%d.txt", i), "text")
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	if _, shown := c.h.showText(t.Context(), "agents.txt", "list"); !shown {
		t.Fatal("not shown")
	}
	paths = append(paths, filepath.Join(c.h.daemon.Shown, "agents.txt"))
	other := filepath.Join(c.h.daemon.Shown, "of-another-daemon.txt")
	if err := os.WriteFile(other, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range paths[1:] { // the person may remove one themselves
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
	if err := os.Remove(paths[0]); err != nil {
		t.Fatal(err)
	}
	c.h.forgetShown()
	left, err := os.ReadDir(c.h.daemon.Shown)
	if err != nil || len(left) != 1 || left[0].Name() != filepath.Base(other) {
		t.Errorf("left: %v, %v", left, err)
	}
}
