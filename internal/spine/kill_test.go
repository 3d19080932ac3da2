//go:build linux

package spine_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/agentls/agentls/internal/editortest"
	"github.com/agentls/agentls/internal/faults"
	"github.com/agentls/agentls/internal/wire"
)

// rounds says how often TestREL30Kill kills.
func rounds(t *testing.T) int {
	if n := os.Getenv("AGENTLS_KILLS"); n != "" {
		v, err := strconv.Atoi(n)
		if err != nil {
			t.Fatalf("AGENTLS_KILLS: %v", err)
		}
		return v
	}
	if testing.Short() {
		return 4
	}
	return 8
}

// TestREL30Kill kills the daemon with SIGKILL at random moments of a run: while
// the model streams, while a process runs, while a person is asked, and anywhere.
// Every event that the client has had is in the log, once and in order; no
// process is left (REL-76); and the next daemon opens the session, whose lock is
// free (REL-100), shows the run as interrupted, goes on, and has that run come to
// its end when it is resumed. internal/cmd/crashloop does it more often, and
// counts where the kills fall.
func TestREL30Kill(t *testing.T) {
	var text strings.Builder
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "moment\tlast event in the log\tevents\tthe client had\ttorn bytes")
	phases := []string{"streaming", "executing", "asking", "anywhere"}
	for i := range rounds(t) {
		phase := phases[i%len(phases)]
		if !t.Run(fmt.Sprintf("%d %s", i, phase), func(t *testing.T) {
			last, events, had, torn := kill(t, i, phase)
			fmt.Fprintf(table, "%s\t%s\t%d\t%d\t%d\n", phase, last, events, had, torn)
		}) {
			break
		}
	}
	_ = table.Flush() // into memory
	t.Log("where the kills fell\n" + text.String())
}

func kill(t *testing.T, round int, phase string) (last string, events, had, torn int) {
	seconds := mark(3000 + round)
	rng := rand.New(rand.NewPCG(30, uint64(round)))
	w := newWorld(t, words(40, "<repeat 100 w%d.{} and more\\n\n<pause 1ms\n")+ // who repeats itself is stopped
		"<call bash {\"command\":\"sleep "+seconds+"\"}\n\n# when history contains once more\n< Here again.\n\n< And to the end.\n")
	p := w.spawn()
	e := p.connect(w)
	if phase == "executing" || phase == "anywhere" {
		e.Answer(editortest.Reply{Choice: "once"})
	}
	end := e.start("main", "go")
	late := time.Duration(0)
	switch phase {
	case "streaming":
		n := 1 + rng.IntN(30)
		e.await("the stream", func(s editortest.Seen) bool { return len(s.Events) > n })
	case "executing":
		e.await("the process", saw("tool.state", `"state":"executing"`))
		if err := whenStarted(t, seconds); err != nil {
			t.Fatal(err)
		}
		late = time.Duration(rng.Int64N(int64(5 * time.Millisecond)))
	case "asking":
		e.await("the question", func(s editortest.Seen) bool { return len(s.Questions) > 0 })
	case "anywhere":
		late = time.Duration(rng.Int64N(int64(150 * time.Millisecond)))
	}
	<-time.After(late)
	p.kill()
	if r := <-end; r.err == nil {
		t.Error("the run has a result")
	}
	told := e.Seen().Events
	_ = e.Close() // the connection is broken: that is the test

	log, torn, err := faults.ReadLog(w.log("main"))
	if err != nil {
		t.Fatal(err)
	}
	if err := check(told, log); err != nil {
		t.Error(err)
	}
	if left := children(t, seconds); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	last = "(none)"
	if len(log) > 0 {
		last = log[len(log)-1].Type
	}

	next := w.spawn()
	again := next.connect(w)
	if r := again.finish(again.start("main", "once more")); r.Session != "main" || r.Text != "Here again." {
		t.Errorf("the next run was in %s and says %q", r.Session, r.Text)
	}
	old := ""
	if len(log) > 0 && log[len(log)-1].Type != "run.finished" {
		old = log[0].Run
		var r wire.RunResult
		if err := again.Call(context.Background(), wire.MethodResume, &wire.ResumeParams{Session: "main", Run: old}, &r); err != nil || r.Text != "And to the end." {
			t.Errorf("the run that was killed says %q when it is resumed: %v", r.Text, err)
		}
	}
	if err := again.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
	if code := next.exits(); code != 0 {
		t.Errorf("the next daemon exits with %d\n%s", code, next.said.String())
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
	after := mustLog(t, w.log("main"))
	if len(after) < len(log) || (len(log) > 0 && !reflect.DeepEqual(after[:len(log)], log)) {
		t.Error("what was in the log is not there any more")
	}
	if err := check(again.Seen().Events, after); err != nil {
		t.Error(err)
	}
	if old != "" {
		var of []string
		for _, s := range states(after) {
			if state, ok := strings.CutPrefix(s, old+":"); ok {
				of = append(of, state)
			}
		}
		if n := len(of); n < 3 || !slices.Equal(of[n-3:], []string{"interrupted", "running", "finished"}) {
			t.Errorf("the run that was killed went %v", of)
		}
	}
	return last, len(log), len(told), torn
}
