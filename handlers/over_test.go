package handlers

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.lsp.dev/protocol"

	"github.com/agentls/agentls/agents"
	"github.com/agentls/agentls/agents/guard"
	"github.com/agentls/agentls/agents/tool"
)

// TestPlainQuestionThatIsOver: editors leave a dialog on the screen that was
// withdrawn, so the person is told, and told again when they answer it.
func TestPlainQuestionThatIsOver(t *testing.T) {
	diff := tool.Preview{Kind: "diff", Patch: "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n"}
	for name, c := range map[string]struct {
		q       agents.Question
		ends    error // why nobody waits any more; nil where the run ends
		reply   any   // the late answer
		want    agents.Answer
		first   string
		another string // after the late answer
	}{
		"expired": {
			asking(diff), &expiry{time.Millisecond}, &protocol.MessageActionItem{Title: "Allow once"}, agents.Answer{Outcome: guard.Reject, By: "timeout"},
			"fixer's question about write_file a.c expired after 1ms; nothing was changed",
			"fixer's question about write_file a.c was over when you answered it; nothing was changed",
		},
		"expired, and dismissed": {
			asking(diff), &expiry{time.Millisecond}, nil, agents.Answer{Outcome: guard.Reject, By: "timeout"},
			"fixer's question about write_file a.c expired after 1ms; nothing was changed", "",
		},
		"cancelled": {
			asking(tool.Preview{Kind: "command", Command: "ls", Cwd: "/w"}), nil, &protocol.MessageActionItem{Title: "Reject"}, agents.Answer{Outcome: guard.Reject, By: "client"},
			"fixer's question about write_file a.c was withdrawn; nothing was run",
			"fixer's question about write_file a.c was over when you answered it; nothing was run",
		},
	} {
		t.Run(name, func(t *testing.T) {
			asked, late := make(chan struct{}), make(chan struct{})
			conn := connect(t, func(_ context.Context, method string, _ []byte) (any, error) {
				if method != protocol.MethodWindowShowMessageRequest {
					t.Errorf("asked %s", method)
				}
				close(asked)
				<-late // whatever is withdrawn meanwhile
				return c.reply, nil
			})
			conn.h.caps.Confirm = nil
			ctx, end := context.WithCancelCause(t.Context())
			defer end(nil)
			c.q.Asked = func(time.Time) {}
			answered := make(chan agents.Answer, 1)
			go func() { answered <- conn.h.frontend.Confirm(ctx, c.q) }()
			<-asked // what is over before is not asked, and has no late answer
			end(c.ends)
			if got := <-answered; got.Outcome != c.want.Outcome || got.By != c.want.By {
				t.Errorf("answered %+v", got)
			}
			if got := <-conn.told; got != c.first {
				t.Errorf("told %q", got)
			}
			close(late)
			if c.another == "" {
				conn.h.tell(infoMessage, "nothing before this")
				c.another = "nothing before this"
			}
			if got := <-conn.told; got != c.another {
				t.Errorf("after the late answer told %q", got)
			}
		})
	}
}

// TestNothingIsOverForAClientThatLeaves: a run that shutdown interrupts asks anew
// when it is resumed.
func TestNothingIsOverForAClientThatLeaves(t *testing.T) {
	asked, late := make(chan struct{}), make(chan struct{})
	conn := connect(t, func(context.Context, string, []byte) (any, error) {
		close(asked)
		<-late
		return &protocol.MessageActionItem{Title: "Allow once"}, nil
	})
	conn.h.caps.Confirm = nil
	ctx, cancel := context.WithCancel(t.Context())
	q := plain()
	answered := make(chan agents.Answer, 1)
	go func() { answered <- conn.h.frontend.Confirm(ctx, q) }()
	<-asked
	conn.h.left.Store(true)
	cancel()
	<-answered
	close(late)
	conn.h.tell(infoMessage, "end")
	if got := <-conn.told; got != "end" {
		t.Errorf("told %q", got)
	}
}

// TestMinutes is how long a person reads that a question was open.
func TestMinutes(t *testing.T) {
	for d, want := range map[time.Duration]string{5 * time.Minute: "5 min", time.Hour: "60 min", 90 * time.Second: "1m30s", time.Second: "1s"} {
		if got := minutes(d); got != want {
			t.Errorf("%s: %q, want %q", d, got, want)
		}
	}
}

// TestShownNames: a file that is shown has the name of its call, is the person's
// own (SEC-116), and takes no other's place.
func TestShownNames(t *testing.T) {
	c := connect(t, nil)
	var got []string
	c.shown = func(path string) {
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", path, info, err)
		}
		got = append(got, filepath.Base(path))
	}
	for _, about := range []string{
		"bash npm test.txt", "bash npm test.txt", "bash rm -rf ../../etc/*.txt", "edit_file ../../.ssh/config.txt",
		"bash \x1b[2J\u202eevil\n\u00e9.txt", "\u6f22\u5b57.txt", "bash " + strings.Repeat("x", 300) + ".txt", "changes in w.diff",
	} {
		if !c.h.showNew(t.Context(), about, "text") {
			t.Errorf("%q is not shown", about)
		}
	}
	want := []string{
		"bash npm test.txt", "bash npm test (2).txt", "bash rm rf etc.txt", "edit_file ssh config.txt",
		"bash 2J evil.txt", "question.txt", "bash " + strings.Repeat("x", shownName-5) + ".txt", "changes in w.diff",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("named\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	c.h.forgetShown()
	if left, err := os.ReadDir(c.h.daemon.Shown); err != nil || len(left) != 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}
