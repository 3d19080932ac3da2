package agents

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sourcegraph/conc"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/internal/fault"
)

// TestRewindBringsFilesBack: byte for byte, whatever their line ends and
// charsets, and the rewind itself is undone in the same way, also after a
// restart.
func TestRewindBringsFilesBack(t *testing.T) {
	h := begins(t)
	before := map[string]string{"a.txt": "one\r\ntwo", "sub/b.txt": mark + "bom\n", "data": "\x00\xff\n", "made.txt": "-", "deep/er/new": "-", "gone.txt": "still here\n", "other.txt": "o\n"}
	for name, data := range before {
		if data != "-" {
			h.has(t, name, data)
		}
	}
	start := h.last()
	h.works("r1", h.writes("a.txt", "ONE\ntwo\n"), h.writes("sub/b.txt", mark+"BOM\n"), h.writes("made.txt", ""), h.writes("a.txt", "ONE\nTWO\n"))
	h.works("r2", h.writes("data", "\x00\x01"), h.writes("deep/er/new", "new"), h.writes("gone.txt", "-"), h.writes("made.txt", "more\n"))
	after := map[string]string{"a.txt": "ONE\nTWO\n", "sub/b.txt": mark + "BOM\n", "data": "\x00\x01", "made.txt": "more\n", "deep/er/new": "new", "gone.txt": "-", "other.txt": "o\n"}
	h.holds(t, after)

	done := h.back(start+1, false)
	h.leaves(done, nil)
	if got := h.names(done.Files); got != "a.txt data deep/er/new gone.txt made.txt sub/b.txt" {
		t.Errorf("brought back: %s", got)
	}
	h.holds(t, before)
	if m := h.conv.Context("main"); len(m) != 0 {
		t.Errorf("the context has %d messages", len(m))
	}
	seqs, events := bodies[activity.Rewound](h)
	if len(events) != 1 || events[0].ToSeq != start+1 || len(events[0].Kept) != 6 || !slices.Equal(events[0].Files, done.Files) {
		t.Fatalf("%+v", events)
	}

	h.restarts()
	h.leaves(h.back(seqs[0]-1, false), nil)
	h.holds(t, after)
	if m := h.conv.Context("main"); len(m) == 0 {
		t.Error("the context did not come back")
	}
	// And once more to and fro: to the place where that went back to, then to
	// before it.
	h.back(start+1, false)
	h.holds(t, before)
	seqs, _ = bodies[activity.Rewound](h)
	h.back(seqs[2]-1, false)
	h.holds(t, after)
}

// TestRewindGoesToBoundaries: with a turn that an agent's context loses go the
// files that it wrote in it, and only these.
func TestRewindGoesToBoundaries(t *testing.T) {
	h := begins(t)
	h.has(t, "a", "0")
	h.starts("r1")
	h.writes("a", "1")()
	first := h.say(activity.TurnFinished{Turn: 1})
	h.turn = 2
	h.say(activity.TurnStarted{Turn: 2})
	h.writes("a", "2")()
	within := h.say(activity.Note{Level: "info", Message: "in the second turn"})
	h.writes("b", "2")()
	last := h.ends()
	for _, c := range []struct {
		to   uint64
		want map[string]string
	}{
		{first, map[string]string{"a": "1", "b": "-"}},
		{within, map[string]string{"a": "1", "b": "-"}},
		{last, map[string]string{"a": "2", "b": "2"}},
		{1, map[string]string{"a": "0", "b": "-"}},
	} {
		done, err := h.s.Rewind(t.Context(), Rewind{Session: h.conv.ID, ToSeq: c.to, Files: true, Frontend: h.site})
		if err != nil {
			t.Fatal(err)
		}
		h.leaves(done, nil)
		h.holds(t, c.want)
		seqs, _ := bodies[activity.Rewound](h)
		h.back(seqs[len(seqs)-1]-1, false)
		h.holds(t, map[string]string{"a": "2", "b": "2"})
	}
	// Without files none is touched.
	if _, err := h.s.Rewind(t.Context(), Rewind{Session: h.conv.ID, ToSeq: 1, Frontend: h.site}); err != nil {
		t.Fatal(err)
	}
	h.holds(t, map[string]string{"a": "2", "b": "2"})
}

// TestRewindLeavesWhatIsChangedByHand: and says so; forced, it does not, and is
// undone with what the person had written.
func TestRewindLeavesWhatIsChangedByHand(t *testing.T) {
	h := begins(t)
	for _, name := range []string{"kept", "hand", "between", "removed", "same"} {
		h.has(t, name, "0\n")
	}
	start := h.last() + 1
	h.works("r1", h.writes("kept", "1\n"), h.writes("hand", "1\n"), h.writes("between", "1\n"), h.writes("removed", "1\n"), h.writes("same", "1\n"), h.writes("made", "1\n"))
	h.has(t, "between", "mine\n")
	h.works("r2", h.writes("between", "2\n"))
	h.has(t, "hand", "mine\n")
	h.has(t, "made", "mine\n")
	h.has(t, "same", "0\n") // the person was faster
	if err := os.Remove(h.path("removed")); err != nil {
		t.Fatal(err)
	}
	now := map[string]string{"kept": "1\n", "hand": "mine\n", "between": "2\n", "removed": "-", "same": "0\n", "made": "mine\n"}

	done := h.back(start, false)
	by := "changed by hand"
	h.leaves(done, map[string]string{"hand": by, "between": by, "removed": by, "made": by})
	if got := h.names(done.Files); got != "kept same" {
		t.Errorf("brought back: %s", got)
	}
	h.holds(t, map[string]string{"kept": "0\n", "hand": "mine\n", "between": "2\n", "removed": "-", "same": "0\n", "made": "mine\n"})
	seqs, events := bodies[activity.Rewound](h)
	if got := h.names(events[0].Left); got != "between hand made removed" {
		t.Errorf("the event left %s", got)
	}
	if m := h.conv.Context("main"); len(m) != 0 {
		t.Error("the contexts stayed")
	}
	h.back(seqs[0]-1, false)
	h.holds(t, now)

	done = h.back(start, true)
	h.leaves(done, nil)
	h.holds(t, map[string]string{"kept": "0\n", "hand": "0\n", "between": "0\n", "removed": "0\n", "same": "0\n", "made": "-"})
	seqs, _ = bodies[activity.Rewound](h)
	h.leaves(h.back(seqs[2]-1, false), nil)
	h.holds(t, now)
}

// TestRewindPastAForcedOne: to a place before what a person had made of a file, which a
// forced rewind took, it is what it was there; what the person made comes back only when
// the forced rewind itself is undone, and is not taken again without force.
func TestRewindPastAForcedOne(t *testing.T) {
	h := begins(t)
	h.has(t, "a", "0\n")
	start := h.last() + 1
	end := h.works("r1", h.writes("a", "1\n"))
	h.has(t, "a", "mine\n")
	h.leaves(h.back(start, true), nil)
	h.holds(t, map[string]string{"a": "0\n"})
	seqs, _ := bodies[activity.Rewound](h)
	forced := seqs[0]

	h.leaves(h.back(end, false), nil)
	h.holds(t, map[string]string{"a": "1\n"})
	h.leaves(h.back(start, false), map[string]string{"a": "changed by hand"}) // in between it was
	h.leaves(h.back(forced-1, false), nil)
	h.holds(t, map[string]string{"a": "mine\n"})
	for _, to := range []uint64{end, start} {
		h.leaves(h.back(to, false), map[string]string{"a": "changed by hand"})
		h.holds(t, map[string]string{"a": "mine\n"})
	}
	h.leaves(h.back(end, true), nil)
	h.holds(t, map[string]string{"a": "1\n"})
}

// TestRewindOfBuffers: what is open in the editor goes back there, and texts are
// compared where bytes cannot be.
func TestRewindOfBuffers(t *testing.T) {
	h := begins(t)
	for _, name := range []string{"open", "opened", "closed", "typed"} {
		h.has(t, name, mark+"0\n")
	}
	h.has(t, "binary", "\x00")
	h.opens("open", "0, not saved\n")
	h.opens("closed", "0\n")
	start := h.last() + 1
	h.works("r1", h.writes("open", "1\n"), h.writes("opened", mark+"1\n"), h.writes("closed", "1\n"), h.writes("made", "1\n"), h.writes("typed", mark+"1\n"), h.writes("binary", "text\n"))
	h.opens("opened", "1\n") // as it is on disk, but for the mark
	h.has(t, "closed", mark+"1\n")
	h.closes("closed") // saved
	h.opens("made", "1\n")
	h.opens("typed", "1, and more\n")
	h.opens("binary", "text\n")

	done := h.back(start, false)
	h.leaves(done, map[string]string{"made": "open in the editor", "typed": "changed by hand", "binary": "no text"})
	h.holds(t, map[string]string{"open": "0, not saved\n", "opened": "0\n", "closed": mark + "0\n", "made": "1\n", "typed": "1, and more\n", "binary": "text\n"})
	if data, err := os.ReadFile(h.path("open")); err != nil || string(data) != mark+"0\n" {
		t.Errorf("on disk is %q, %v", data, err)
	}
	_, events := bodies[activity.Rewound](h)
	for _, k := range events[0].Kept {
		if name := h.names([]string{k.URI}); k.Buffer != (name != "closed") {
			t.Errorf("%s: %+v", name, k)
		}
	}
	h.closes("made")
	h.leaves(h.back(start, false), map[string]string{"typed": "changed by hand", "binary": "no text"})
	h.holds(t, map[string]string{"made": "-"})
}

// TestRewindGoesOnWhereAFileCannotBeWritten: it is left, with the reason.
func TestRewindGoesOnWhereAFileCannotBeWritten(t *testing.T) {
	h := begins(t)
	for _, name := range []string{"a", "denied", "folder", "lost", "raced", "z"} {
		h.has(t, name, "0")
	}
	start := h.last() + 1
	h.works("r1", h.writes("a", "1"), h.writes("denied", "1"), h.writes("folder", "1"), h.writes("lost", "1"), h.writes("raced", "1"), h.writes("z", "1"))
	if err := os.Remove(h.path("folder")); err != nil {
		t.Fatal(err)
	}
	h.has(t, "folder/in it", "x")
	h.has(t, "lost", "only here")
	first := h.last()
	h.works("r2", h.writes("lost", "2"))
	if err := os.Remove(filepath.Join(h.conv.Blobs(), digestOf("only here"))); err != nil {
		t.Fatal(err)
	}
	h.before = func(_ context.Context, name string) error {
		switch name {
		case "denied":
			return fault.New(fault.Denied, "site", "it is read-only")
		case "raced":
			h.has(t, "raced", "by hand")
		}
		return nil
	}
	done := h.back(start, false)
	h.leaves(done, map[string]string{"denied": "read-only", "folder": "folder", "lost": "changed by hand", "raced": "changed by hand"})
	h.holds(t, map[string]string{"a": "0", "denied": "1", "lost": "2", "raced": "by hand", "z": "0"})
	if m := h.conv.Context("main"); len(m) != 0 {
		t.Error("the contexts stayed")
	}
	// What is lost is left, too.
	h.before = nil
	h.leaves(h.back(first, true), map[string]string{"lost": "is lost"})
}

// TestSEC54And64And135RewindWritesNoPlaceThatTheLogOnlyNames: a session's log is
// a file like others; what it says of places is checked as if a model had said
// it.
func TestSEC54And64And135RewindWritesNoPlaceThatTheLogOnlyNames(t *testing.T) {
	h := begins(t)
	outside := t.TempDir()
	victim := filepath.Join(outside, "victim")
	if err := os.WriteFile(victim, []byte("1"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"dir/through", "file", ".git/hooks/forged", ".git/hooks/asked", "home/.bashrc", ".env"} {
		h.has(t, name, "0")
	}
	start := h.last() + 1
	h.starts("r1")
	for _, name := range []string{"dir/through", "file", ".git/hooks/asked", "home/.bashrc", ".env"} {
		h.writes(name, "1")()
	}
	sha := h.blob(must(h.Read(t.Context(), h.path("file"))))
	evil, err := h.conv.PutBlob([]byte("evil"))
	if err != nil {
		t.Fatal(err)
	}
	forge := func(uri string) {
		h.say(activity.FileChanged{Change: activity.Change{URI: uri, Kind: "edit"}, Before: evil, After: sha})
	}
	h.has(t, ".git/hooks/forged", "1")
	forge(h.uri(".git/hooks/forged"))
	forge("file://" + victim)
	forge(h.uri("../" + filepath.Base(outside) + "/victim"))
	forge("untitled:1")
	h.ends()
	// Links that came since lead out, and elsewhere inside.
	if err := os.RemoveAll(h.path("dir")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, h.path("dir")); err != nil {
		t.Skip(err)
	}
	if err := os.Rename(h.path("file"), h.path("moved")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("moved", h.path("file")); err != nil {
		t.Fatal(err)
	}
	done := h.back(start, true)
	why := map[string]string{}
	for _, l := range done.Left {
		why[l.URI] = l.Why
	}
	for uri, want := range map[string]string{
		h.uri("dir/through"): "cannot be reached", h.uri("file"): "link leads elsewhere", h.uri(".git/hooks/forged"): "protected",
		h.uri("home/.bashrc"): "never written", h.uri(".env"): "never written", "file://" + victim: "outside of the workspace", "untitled:1": "no file",
	} {
		if !strings.Contains(why[uri], want) {
			t.Errorf("%s: %q, want %q", uri, why[uri], want)
		}
	}
	if got := h.names(done.Files); got != ".git/hooks/asked" {
		t.Errorf("brought back: %s", got)
	}
	h.holds(t, map[string]string{".git/hooks/asked": "0", ".git/hooks/forged": "1", "moved": "1", "home/.bashrc": "1", ".env": "1"})
	if data, err := os.ReadFile(victim); err != nil || string(data) != "1" {
		t.Errorf("outside is %q, %v", data, err)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// TestRewindNotUnderARun: nor does a run, or another change of contexts, begin
// under a rewind.
func TestRewindNotUnderARun(t *testing.T) {
	h := begins(t)
	h.has(t, "a", "0")
	h.works("r1", h.writes("a", "1"))
	live := &Live{ID: "r2", Session: h.conv.ID, Agent: "main", log: h.conv.Log, cancel: func(error) {}}
	h.s.mu.Lock()
	h.s.runs["r2"] = live
	h.s.mu.Unlock()
	rewind := func(to uint64) error {
		_, err := h.s.Rewind(t.Context(), Rewind{Session: h.conv.ID, ToSeq: to, Files: true, Frontend: h.site})
		return err
	}
	if reason, _ := fault.ReasonOf(rewind(1)); reason != fault.Busy {
		t.Errorf("while a run goes on: %v", reason)
	}
	h.s.mu.Lock()
	delete(h.s.runs, "r2")
	h.s.mu.Unlock()
	h.holds(t, map[string]string{"a": "1"})

	at, goOn := make(chan struct{}), make(chan struct{})
	h.before = func(context.Context, string) error {
		close(at)
		<-goOn
		return nil
	}
	var work conc.WaitGroup
	work.Go(func() {
		if err := rewind(1); err != nil {
			t.Error(err)
		}
	})
	<-at
	if _, err := h.s.enlist(&Live{ID: "r3", Session: h.conv.ID, Agent: "other", log: h.conv.Log, cancel: func(error) {}}, false); !isBusy(err) {
		t.Errorf("a run began: %v", err)
	}
	if _, err := h.s.exclude(h.conv.ID, "main"); !isBusy(err) {
		t.Errorf("a context was changed: %v", err)
	}
	if err := rewind(1); !isBusy(err) {
		t.Errorf("another rewind: %v", err)
	}
	close(goOn)
	work.Wait()
	h.holds(t, map[string]string{"a": "0"})

	for _, to := range []uint64{0, h.last() + 1} {
		h.before = nil
		if err := rewind(to); fault.KindOf(err) != fault.Invalid {
			t.Errorf("to %d: %v", to, err)
		}
	}
	if _, err := h.s.Rewind(t.Context(), Rewind{Session: "nobody", ToSeq: 1, Frontend: h.site}); !isReason(err, fault.UnknownSession) {
		t.Errorf("no session: %v", err)
	}
}

func isBusy(err error) bool { return isReason(err, fault.Busy) }

func isReason(err error, want fault.Reason) bool {
	reason, _ := fault.ReasonOf(err)
	return reason == want
}

// TestRewindForgetsWhatWasRead: an agent reads again what it writes, since its
// context does not have what it read.
func TestRewindForgetsWhatWasRead(t *testing.T) {
	h := begins(t)
	h.has(t, "a", "0")
	end := h.works("r1")
	h.works("r2", h.writes("b", "1"))
	h.conv.lookupSeen("main").Note(h.path("a"), digestOf("0"))
	h.back(end, false)
	if got := h.conv.lookupSeen("main").Digest(h.path("a")); got != "" {
		t.Errorf("it has seen %s", got)
	}
}

// TestRewindThatIsGivenUp: before anything is written it does nothing; later it
// goes to its end.
func TestRewindThatIsGivenUp(t *testing.T) {
	h := begins(t)
	h.has(t, "a", "0")
	h.has(t, "b", "0")
	h.works("r1", h.writes("a", "1"), h.writes("b", "1"))
	ctx, giveUp := context.WithCancel(t.Context())
	h.before = func(context.Context, string) error { giveUp(); return nil }
	back := func() (*Rewound, error) {
		return h.s.Rewind(ctx, Rewind{Session: h.conv.ID, ToSeq: 1, Files: true, Frontend: h.site})
	}
	done, err := back()
	if err != nil || h.names(done.Files) != "a b" || len(done.Left) > 0 {
		t.Errorf("in the middle: %+v, %v", done, err)
	}
	h.holds(t, map[string]string{"a": "0", "b": "0"})

	h.works("r2", h.writes("a", "2"), h.writes("b", "2"))
	if _, err := back(); fault.KindOf(err) != fault.Canceled {
		t.Errorf("at the beginning: %v", err)
	}
	h.holds(t, map[string]string{"a": "2", "b": "2"})
	if m := h.conv.Context("main"); len(m) == 0 {
		t.Error("the contexts went back")
	}
}

// TestRewindSaysNothingOfWhatNobodyChanged: a write that was to be and failed
// leaves a checkpoint, and the file as it was.
func TestRewindSaysNothingOfWhatNobodyChanged(t *testing.T) {
	h := begins(t)
	h.has(t, "never", "0")
	h.has(t, "a", "0")
	start := h.last() + 1
	h.works("r1", func() { h.checkpoint("never") }, func() { h.checkpoint("nor this") }, h.writes("a", "1"))
	done := h.back(start, false)
	h.leaves(done, nil)
	if got := h.names(done.Files); got != "a" {
		t.Errorf("brought back: %s", got)
	}
}

// TestRewindAsksForForceOnlyWhereItHelps: what is open counts before what was
// changed by hand.
func TestRewindAsksForForceOnlyWhereItHelps(t *testing.T) {
	h := begins(t)
	h.has(t, "hand", "0")
	start := h.last() + 1
	h.works("r1", h.writes("hand", "1"), h.writes("made", "1"))
	h.has(t, "hand", "mine")
	h.opens("made", "mine")
	done := h.back(start, false)
	h.leaves(done, map[string]string{"hand": "changed by hand", "made": "open in the editor"})
	for _, l := range done.Left {
		if Forcible(l.Why) != (l.URI == h.uri("hand")) {
			t.Errorf("%s: %s", l.URI, l.Why)
		}
	}
}
