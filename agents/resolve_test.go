package agents

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/internal/faults"
)

// TestNobodyTakesASessionFromUnderAnUndo: it is neither closed, deleted nor brought
// back; a run may begin, and goes on.
func TestNobodyTakesASessionFromUnderAnUndo(t *testing.T) {
	h := begins(t)
	h.has(t, "a", "0\n")
	h.works("r1", h.writes("a", "1\n"))
	asked := 0
	h.before = func(context.Context, string) error {
		asked++
		refused := func(what string, err error) bool {
			if !isBusy(err) || !strings.Contains(err.Error(), "kept or undone") {
				t.Errorf("%s: %v", what, err)
				return false
			}
			return true
		}
		if !refused("close", h.s.CloseSession(h.conv.ID, nil)) || !refused("delete", h.s.DeleteSession(h.conv.ID, nil)) {
			return nil
		}
		_, err := h.s.Rewind(t.Context(), Rewind{Session: h.conv.ID, ToSeq: 1, Frontend: h.site})
		refused("rewind", err)
		live := &Live{
			ID: "r2", Session: h.conv.ID, Agent: "main", log: h.conv.Log, cancel: func(error) {},
			begun: make(chan func()), done: make(chan struct{}), ended: make(chan struct{}),
		}
		if _, err := h.s.enlist(live, false); err != nil {
			t.Errorf("a run: %v", err)
			return nil
		}
		close(live.begun) // it does nothing
		<-live.done
		return nil
	}
	h.resolves("undo", "", "a")
	h.holds(t, map[string]string{"a": "0\n"})
	if _, events := bodies[activity.ChangeResolved](h); asked != 1 || len(events) != 1 {
		t.Errorf("asked %d times; the log has %+v", asked, events)
	}
	if err := h.s.CloseSession(h.conv.ID, nil); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

// TestUndoIsKeptBeforeItWrites: whenever the daemon dies, the log names what was
// in the file; where it fails half way, it says how far it came.
func TestUndoIsKeptBeforeItWrites(t *testing.T) {
	h := begins(t)
	disk := faults.Folder(t)
	h.s = h.service(h.dir, disk)
	h.load("s")
	for _, name := range []string{"a", "b", "c"} {
		h.has(t, name, "0\n")
	}
	h.works("r1", h.writes("a", "1\n"), h.writes("b", "1\n"), h.writes("c", "1\n"))
	h.has(t, "a", "by hand\n1\n")
	sha := digestOf("by hand\n1\n")
	h.before = func(_ context.Context, name string) error {
		switch name {
		case "a":
			log, _ := disk.Safe(filepath.Join(h.dir, "s.jsonl"))
			lines := strings.Split(strings.TrimSpace(string(log)), "\n")
			if last := lines[len(lines)-1]; !strings.Contains(last, `"checkpoint"`) || !strings.Contains(last, sha) {
				t.Errorf("it is written when the log ends with %s", last)
			}
			if data, err := h.conv.GetBlob(sha); err != nil || string(data) != "by hand\n1\n" {
				t.Errorf("kept: %q, %v", data, err)
			}
		case "b":
			return h.conv.Log.Close()
		}
		return nil
	}
	_, _, err := h.s.ResolveChanges(t.Context(), Resolve{Session: "s", Action: "undo", Frontend: h.site})
	if fault.KindOf(err) != fault.Unavailable || !strings.HasSuffix(fault.Message(err), "changes were undone in a, b") {
		t.Errorf("half way: %v", err)
	}
	h.holds(t, map[string]string{"a": "by hand\n0\n", "b": "0\n", "c": "1\n"})
}

// TestUndoThatIsGivenUp ends with a file, and says which were changed.
func TestUndoThatIsGivenUp(t *testing.T) {
	h := begins(t)
	h.works("r1", h.writes("a", "1\n"), h.writes("b", "1\n"))
	ctx, giveUp := context.WithCancel(t.Context())
	h.before = func(context.Context, string) error { giveUp(); return nil }
	_, _, err := h.s.ResolveChanges(ctx, Resolve{Session: h.conv.ID, Action: "undo", Frontend: h.site})
	if fault.KindOf(err) != fault.Canceled || !strings.HasSuffix(fault.Message(err), "changes were undone in a") {
		t.Errorf("given up: %v", err)
	}
	h.holds(t, map[string]string{"a": "-", "b": "1\n"})
	if _, events := bodies[activity.ChangeResolved](h); len(events) != 1 {
		t.Errorf("the log has %+v", events)
	}
}

// TestResolveTakesAnySpellingOfAURI: clients escape more, or less, than the log.
func TestResolveTakesAnySpellingOfAURI(t *testing.T) {
	const name = "a+b=c@(d),e;f:g&h$.txt"
	for what, spell := range map[string]func(string) string{
		"all escaped": func(u string) string {
			return strings.NewReplacer("+", "%2B", "=", "%3D", "@", "%40", "(", "%28", ")", "%29", ",", "%2C", ";", "%3B", ":", "%3A", "&", "%26", "$", "%24").Replace(u)
		},
		"in small letters": func(u string) string { return strings.ReplaceAll(u, "+", "%2b") },
		"as it is":         func(u string) string { return u },
	} {
		h := begins(t)
		h.works("r1", h.writes(name, "1\n"), h.writes("other", "1\n"))
		u := "file://" + spell(strings.TrimPrefix(h.uri(name), "file://"))
		files, conflicts, err := h.s.ResolveChanges(t.Context(), Resolve{Session: h.conv.ID, URI: u, Action: "undo", Frontend: h.site})
		if err != nil || len(conflicts) > 0 || len(files) != 1 || files[0].URI != h.uri(name) {
			t.Errorf("%s: %v, %v, %v", what, files, conflicts, err)
		}
		h.holds(t, map[string]string{name: "-", "other": "1\n"})
	}
}

// TestSEC17UndoWritesNoProtectedPlaceThatNoCallWrote: as a rewind, it takes the
// log's word for no such place.
func TestSEC17UndoWritesNoProtectedPlaceThatNoCallWrote(t *testing.T) {
	h := begins(t)
	h.has(t, ".git/hooks/asked", "0\n")
	h.has(t, ".git/hooks/forged", "1\n")
	h.starts("r1")
	h.writes(".git/hooks/asked", "1\n")()
	evil, err := h.conv.PutBlob([]byte("evil\n"))
	if err != nil {
		t.Fatal(err)
	}
	sha := h.blob(must(h.Read(t.Context(), h.path(".git/hooks/forged"))))
	h.say(activity.FileChanged{Change: activity.Change{URI: h.uri(".git/hooks/forged"), Kind: "edit"}, Before: evil, After: sha})
	h.ends()
	_, conflicts := h.resolves("undo", "", "")
	h.is("conflicts", conflicts, ".git/hooks/forged: It lies in a protected place, and no call that somebody allowed wrote it.")
	h.holds(t, map[string]string{".git/hooks/asked": "0\n", ".git/hooks/forged": "1\n"})
}

// TestChangesAfterAForcedRewindAndBack: what was pending is pending again, and
// the person's lines are still theirs.
func TestChangesAfterAForcedRewindAndBack(t *testing.T) {
	h := begins(t)
	h.has(t, "a", eight)
	start := h.last() + 1
	h.works("r1", h.writes("a", swap(eight, "2=b")))
	h.has(t, "a", "by hand\n"+swap(eight, "2=b"))
	h.back(start, true)
	h.is("gone back", h.changes(""), "")
	seqs, _ := bodies[activity.Rewound](h)
	h.back(seqs[0]-1, false)
	h.holds(t, map[string]string{"a": "by hand\n" + swap(eight, "2=b")})
	h.is("and back", h.changes(""), "a edit 2:pending")
	h.resolves("undo", "", "")
	h.holds(t, map[string]string{"a": "by hand\n" + eight})
}

// TestWhatWasKeptStaysKept when a session goes back, and back again.
func TestWhatWasKeptStaysKept(t *testing.T) {
	h := begins(t)
	h.has(t, "a", eight)
	start := h.last() + 1
	h.works("r1", h.writes("a", swap(eight, "2=b 5=e")))
	h.resolves("keep", "", "a", h.hunk("a", 1))
	h.is("kept", h.changes(""), "a edit 1:kept 4:pending")
	h.back(start, false)
	seqs, _ := bodies[activity.Rewound](h)
	h.back(seqs[0]-1, false)
	h.holds(t, map[string]string{"a": swap(eight, "2=b 5=e")})
	h.is("and back", h.changes(""), "a edit 1:kept 4:pending")
}
