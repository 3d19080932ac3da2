package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/sourcegraph/conc"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/internal/editortest"
	"github.com/agentls/agentls/internal/faults"
	"github.com/agentls/agentls/internal/wire"
)

// kill makes a world, kills its daemon once and looks at what is left.
func kill(ctx context.Context, o options, base string, n int, aim phase) (k killed, err error) {
	p := aimed(aim, rand.New(rand.NewPCG(o.seed, uint64(n))))
	w, err := newWorld(base, o.binary)
	if err != nil {
		return k, err
	}
	defer func() { _ = os.RemoveAll(base) }() // a temporary folder
	told, ended, err := w.live(ctx, p, &k)
	if err != nil {
		return k, err
	}
	logs := make(map[string][]faults.Line)
	for _, s := range p.sessions {
		log, torn, err := faults.ReadLog(w.log(s))
		if err != nil {
			k.fails(&k.lost, "the log of %s: %v", s, err)
		}
		logs[s] = log
		k.torn, k.told, k.logged = k.torn+torn, k.told+len(told[s]), k.logged+len(log)
		if err := faults.Missing(told[s], log); err != nil {
			k.fails(&k.lost, "%s: %v", s, err)
		}
		if ended[s] && !slices.ContainsFunc(log, isEnd) {
			k.fails(&k.lost, "%s: the client has the result of a run whose end is not in the log", s)
		}
		if len(log) > 0 {
			k.last = log[len(log)-1].Type
		}
	}
	k.fell = fell(p.sessions, told, logs, w.halfway())
	return k, w.afterwards(ctx, p, logs, &k)
}

// runOf is the id of the run in a session.
func runOf(session string) string { return "run-" + session }

func isEnd(l faults.Line) bool { return l.Type == "run.finished" }

// live starts a daemon and the runs of a plan, and kills it at the plan's moment.
// It returns what the client had been told, and which runs had been answered.
func (w *world) live(ctx context.Context, p plan, k *killed) (told map[string][]faults.Line,
	ended map[string]bool, err error) {
	m, err := startModel(p.script)
	if err != nil {
		return nil, nil, err
	}
	defer m.stop()
	daemon, err := w.spawn(ctx, m)
	if err != nil {
		return nil, nil, err
	}
	defer daemon.free()
	e, err := w.connect(ctx, daemon)
	if err != nil {
		return nil, nil, err
	}
	for range p.replies {
		e.Answer(editortest.Reply{Choice: "once"})
	}
	var mu sync.Mutex
	ended = make(map[string]bool)
	var runs conc.WaitGroup
	for _, s := range p.sessions {
		runs.Go(func() {
			_, err := e.Run(context.WithoutCancel(ctx), request(s))
			mu.Lock()
			defer mu.Unlock()
			ended[s] = err == nil
		})
	}
	err = p.moment(ctx, w, e)
	if err == nil && p.contend {
		err = w.contend(ctx, p.sessions[0], k)
	}
	daemon.kill()
	// First: who is left may hold the connection open.
	for _, line := range w.orphans(ctx) {
		k.fails(&k.orphans, "left by the daemon that was killed: %s", line)
	}
	// The client reads what had been sent until the connection's end.
	runs.Wait()
	told = tellings(e)
	_ = e.Close() // broken: that is the test
	if err != nil {
		err = fmt.Errorf("%w\n%s", err, daemon.said.String())
	}
	return told, ended, err
}

func request(session string) *wire.RunParams {
	return &wire.RunParams{
		Agent: "worker", Session: session, Run: runOf(session), Approval: "edits",
		Input: wire.InputBlocks{{Type: "text", Text: "go on in " + session}},
	}
}

// tellings returns what an editor was told, by session.
func tellings(e *editortest.Editor) map[string][]faults.Line {
	told := make(map[string][]faults.Line)
	for _, a := range e.Seen().Events {
		told[a.Session] = append(told[a.Session], faults.Line{Seq: a.Seq, FromSeq: a.FromSeq, Type: a.Type,
			Run: a.Run, Data: a.Data})
	}
	return told
}

// contend has another daemon ask for a session that is in use: it must be
// refused, and must not touch the log.
func (w *world) contend(ctx context.Context, session string, k *killed) error {
	m, err := startModel("< I am another.\n\n")
	if err != nil {
		return err
	}
	defer m.stop()
	daemon, err := w.spawn(ctx, m)
	if err != nil {
		return err
	}
	defer daemon.free()
	e, err := w.connect(ctx, daemon)
	if err != nil {
		return err
	}
	defer func() { _ = e.Close() }() // what counts is the answer
	waited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	p := request(session)
	p.Run = "another-run" // a word that the log does not have
	_, err = e.Run(waited, p)
	log, readErr := os.ReadFile(w.log(session))
	switch {
	case readErr != nil:
		return readErr
	case err == nil:
		k.fails(&k.shared, "a second daemon ran in the session %s, which was in use", session)
	case !strings.Contains(err.Error(), "in use"):
		k.fails(&k.shared, "a second daemon was refused the session %s with %v, which does not say that it is in use",
			session, err)
	case strings.Contains(string(log), p.Run):
		k.fails(&k.shared, "a second daemon was refused the session %s and has written into its log", session)
	}
	return nil
}

// fell says into which phase a kill fell, by what was told and what is on disk.
func fell(sessions []string, told, logs map[string][]faults.Line, halfway bool) phase {
	var open, asked, runs bool
	for _, s := range sessions {
		had := 0
		if t := told[s]; len(t) > 0 {
			had = int(t[len(t)-1].Seq)
		}
		log := logs[s]
		for _, l := range log[min(had, len(log)):] {
			if isSynced(l) {
				return committing
			}
		}
		calls, questions := make(map[string]bool), make(map[string]bool)
		for _, l := range log {
			var d struct{ Call, State, ID string }
			_ = json.Unmarshal(l.Data, &d) // no such members: ""
			switch l.Type {
			case "model.started":
				open = true
			case "model.finished":
				open = false
			case "tool.state":
				calls[d.Call] = d.State == string(activity.Executing) && isSynced(l) // what only reads is none
			case "confirmation.asked":
				questions[d.ID] = true
			case "confirmation.answered":
				delete(questions, d.ID)
			}
		}
		asked = asked || len(questions) > 0
		for _, on := range calls {
			runs = runs || on
		}
	}
	switch {
	case halfway:
		return committing
	case asked:
		return waiting
	case runs:
		return executing
	case open:
		return streaming
	}
	return between
}

// isSynced reports whether an event must be on stable storage before anybody is
// told.
func isSynced(l faults.Line) bool {
	b, err := activity.Decode(l.Type, l.Data)
	return err == nil && activity.Synced(b)
}

// afterwards starts the next daemon and holds it to what the dead one left.
func (w *world) afterwards(ctx context.Context, p plan, logs map[string][]faults.Line, k *killed) error {
	m, err := startModel(strings.Repeat("< Here again.\n\n", 4*len(p.sessions)))
	if err != nil {
		return err
	}
	defer m.stop()
	daemon, err := w.spawn(ctx, m)
	if err != nil {
		return err
	}
	defer daemon.free()
	e, err := w.connect(ctx, daemon)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(w.dir, over), nil, 0o600); err != nil {
		return err
	}
	for range 10 * len(p.sessions) { // more than there are calls
		e.Answer(editortest.Reply{Choice: "once"}) // what is asked anew
	}
	for _, s := range p.sessions {
		w.again(ctx, e, s, logs[s], k)
	}
	waited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := e.Shutdown(waited); err != nil {
		k.fails(&k.stuck, "the next daemon does not shut down: %v", err)
	}
	select {
	case <-daemon.ended:
	case <-waited.Done():
		k.fails(&k.stuck, "the next daemon does not end\n%s", daemon.said.String())
	}
	told := tellings(e)
	if err := e.Close(); err != nil {
		k.fails(&k.lost, "%v", err)
	}
	daemon.free()
	for _, f := range m.Failures() {
		k.fails(&k.lost, "the model was sent what it refuses: %s", f)
	}
	for _, s := range p.sessions {
		log, torn, err := faults.ReadLog(w.log(s))
		switch {
		case err != nil || torn > 0:
			k.fails(&k.lost, "the log of %s in the end, with %d torn bytes: %v", s, torn, err)
			continue
		case len(log) < len(logs[s]) || (len(logs[s]) > 0 && !reflect.DeepEqual(log[:len(logs[s])], logs[s])):
			k.fails(&k.lost, "%s: what was in the log is not there any more", s)
		}
		if err := faults.Missing(told[s], log); err != nil {
			k.fails(&k.lost, "%s, the next daemon: %v", s, err)
		}
	}
	if data, err := os.ReadFile(filepath.Join(w.dir, effects)); err == nil && strings.Count(string(data), "\n") > 1 {
		k.fails(&k.lost, "a command ran %d times for one call", strings.Count(string(data), "\n"))
	} else if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	for _, line := range w.orphans(ctx) {
		k.fails(&k.orphans, "left by the daemon that ended: %s", line)
	}
	return nil
}

// again opens a session, whose lock must be free, and has the run that was under
// way in it come to its end; where none was, another.
func (w *world) again(ctx context.Context, e *editortest.Editor, session string, log []faults.Line, k *killed) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if len(log) > 0 {
		if _, err := e.Subscribe(ctx, session, 1); err != nil {
			k.fails(&k.lost, "the session %s cannot be opened again: %v", session, err)
			return
		}
	}
	began := slices.ContainsFunc(log, func(l faults.Line) bool { return l.Type == "run.started" })
	if !began || slices.ContainsFunc(log, isEnd) {
		p := request(session)
		p.Run = "next-" + session
		if r, err := e.Run(ctx, p); err != nil || r.Reason != activity.Goal {
			k.fails(&k.stuck, "the next run in %s: %s", session, outcome(r, err))
		}
		return
	}
	k.runs++
	var r wire.RunResult
	if err := e.Call(ctx, wire.MethodResume, &wire.ResumeParams{Run: runOf(session), Session: session},
		&r); err != nil || r.Reason != activity.Goal {
		k.fails(&k.stuck, "the run in %s was resumed: %s; %d questions came, and the log ends with %s",
			session, outcome(&r, err), len(e.Seen().Questions), ending(w.log(session)))
		return
	}
	if !interrupted(w.log(session), runOf(session), len(log)) {
		k.fails(&k.stuck, "the run in %s was resumed and never shown as interrupted", session)
	}
	k.resumed++
}

func outcome(r *wire.RunResult, err error) string {
	switch {
	case err != nil:
		return err.Error()
	case r.Error != nil:
		return fmt.Sprintf("it ended %s: %s", r.Reason, r.Error.Message)
	}
	return fmt.Sprintf("it ended %s", r.Reason)
}

// ending is what the last events of a log are.
func ending(path string) string {
	log, _, _ := faults.ReadLog(path) // what is wrong with it is found later
	var b strings.Builder
	for _, l := range log[max(0, len(log)-8):] {
		fmt.Fprintf(&b, "\n\t%d %s %.200s", l.Seq, l.Type, l.Data)
	}
	return b.String()
}

// interrupted reports whether a log says so of a run, behind its first events.
func interrupted(path, run string, from int) bool {
	log, _, _ := faults.ReadLog(path) // what is wrong with it is found later
	return slices.ContainsFunc(log[min(from, len(log)):], func(l faults.Line) bool {
		var d struct{ To string }
		return l.Type == "run.state" && l.Run == run && json.Unmarshal(l.Data, &d) == nil &&
			d.To == string(activity.Interrupted)
	})
}
