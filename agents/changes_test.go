package agents

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/agents/tool/builtin"
	"github.com/agentls/agentls/agents/tool/tooltest"
	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/internal/faults"
)

// changes are what a session's changes are, a file a line: its name, kind, and
// its hunks with the first line and the status of each.
func (h *history) changes(run string) string {
	h.t.Helper()
	list, err := h.s.Changes(h.t.Context(), h.conv.ID, run, h.site)
	if err != nil {
		h.t.Fatal(err)
	}
	return h.shown(list)
}

func (h *history) shown(list []activity.Change) string {
	var lines []string
	for _, c := range list {
		line := h.names([]string{c.URI}) + " " + c.Kind
		for _, k := range c.Hunks {
			line += fmt.Sprintf(" %d:%s", k.Range.Start.Line, k.Status)
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// hunk is the id of a file's hunk that begins in a line.
func (h *history) hunk(name string, line uint32) string {
	h.t.Helper()
	list, err := h.s.Changes(h.t.Context(), h.conv.ID, "", h.site)
	if err != nil {
		h.t.Fatal(err)
	}
	for _, c := range list {
		for _, k := range c.Hunks {
			if c.URI == h.uri(name) && k.Range.Start.Line == line {
				return k.ID
			}
		}
	}
	h.t.Fatalf("%s has no hunk at %d: %s", name, line, h.shown(list))
	return ""
}

// resolves keeps or undoes, and returns what became of it and the conflicts.
func (h *history) resolves(action, run, name string, hunks ...string) (string, string) {
	h.t.Helper()
	r := Resolve{Session: h.conv.ID, Run: run, Hunks: hunks, Action: action, Frontend: h.site}
	if name != "" {
		r.URI = h.uri(name)
	}
	files, conflicts, err := h.s.ResolveChanges(h.t.Context(), r)
	if err != nil {
		h.t.Fatal(err)
	}
	var lines []string
	for _, c := range conflicts {
		if !strings.HasSuffix(c.Why, ".") {
			h.t.Errorf("not a sentence: %q", c.Why)
		}
		lines = append(lines, h.names([]string{c.URI})+": "+c.Why)
	}
	return h.shown(files), strings.Join(lines, "\n")
}

func (h *history) is(what, got, want string) {
	h.t.Helper()
	if got != want {
		h.t.Errorf("%s:\n%s\nwant\n%s", what, got, want)
	}
}

const eight = "1\n2\n3\n4\n5\n6\n7\n8\n"

// swap replaces lines of eight, as "2=b 5=e".
func swap(text string, changes string) string {
	for _, c := range strings.Fields(changes) {
		old, fresh, _ := strings.Cut(c, "=")
		text = strings.Replace(text, old+"\n", fresh+"\n", 1)
	}
	return text
}

// TestChanges: what agents changed is listed until it is kept or undone, hunk by
// hunk, also after a restart; what the person did is not among it.
func TestChanges(t *testing.T) {
	h := begins(t)
	h.has(t, "a", eight)
	h.has(t, "b", "0\n")
	h.works("r1", h.writes("a", swap(eight, "2=b 5=e")), h.writes("b", "1\n"), h.writes("new", "x\ny\n"))
	h.is("at first", h.changes(""), "a edit 1:pending 4:pending\nb edit 0:pending\nnew create 0:pending")

	files, conflicts := h.resolves("keep", "", "a", h.hunk("a", 1))
	h.is("kept", files, "a edit 1:kept 4:pending")
	h.is("conflicts", conflicts, "")
	h.is("then", h.changes(""), "a edit 1:kept 4:pending\nb edit 0:pending\nnew create 0:pending")

	// The person writes a line, the agent goes on.
	h.has(t, "a", "0\n"+swap(eight, "2=b 5=e"))
	h.works("r2", h.writes("a", "0\n"+swap(eight, "2=b 5=e 8=h")))
	h.restarts()
	h.is("of all", h.changes(""), "a edit 2:kept 5:pending 8:pending\nb edit 0:pending\nnew create 0:pending")
	h.is("of the first run", h.changes("r1"), "a edit 2:kept 5:pending\nb edit 0:pending\nnew create 0:pending")
	h.is("of the second run", h.changes("r2"), "a edit 8:pending")
	h.is("of no run", h.changes("r3"), "")

	files, conflicts = h.resolves("undo", "", "a")
	h.is("undone", files, "a edit 5:undone 8:undone")
	h.is("conflicts", conflicts, "")
	h.holds(t, map[string]string{"a": "0\n" + swap(eight, "2=b")})
	h.is("left", h.changes(""), "b edit 0:pending\nnew create 0:pending")

	files, conflicts = h.resolves("keep", "", "")
	h.is("all kept", files, "b edit 0:kept\nnew create 0:kept")
	h.is("conflicts", conflicts, "")
	h.is("nothing left", h.changes(""), "")
	files, conflicts = h.resolves("undo", "", "a")
	h.is("again", files, "")
	h.is("again", conflicts, "a: "+whySettled)

	// What was kept is what an undo goes back to.
	h.works("r4", h.writes("b", "2\n"), h.writes("new", "x\nz\n"))
	h.resolves("undo", "", "")
	h.holds(t, map[string]string{"b": "1\n", "new": "x\ny\n"})
}

// TestChangesOfOneRun are kept and undone without those of another.
func TestChangesOfOneRun(t *testing.T) {
	h := begins(t)
	h.has(t, "a", eight)
	h.works("r1", h.writes("a", swap(eight, "2=b")), h.writes("new", "x\n"))
	h.works("r2", h.writes("a", swap(eight, "2=b 5=e")))
	h.works("r3", h.writes("a", swap(eight, "2=b 5=e 8=h")))
	files, conflicts := h.resolves("undo", "r2", "")
	h.is("undone", files, "a edit 4:undone")
	h.is("conflicts", conflicts, "")
	h.holds(t, map[string]string{"a": swap(eight, "2=b 8=h"), "new": "x\n"})
	h.is("the run", h.changes("r2"), "")
	h.is("of the first", h.changes("r1"), "a edit 1:pending\nnew create 0:pending")
	h.is("of all", h.changes(""), "a edit 1:pending 7:pending\nnew create 0:pending")
	h.resolves("keep", "r1", "")
	h.is("kept", h.changes(""), "a edit 1:kept 7:pending")
	h.is("of the first", h.changes("r1"), "")
	h.is("of the last", h.changes("r3"), "a edit 7:pending")
	h.resolves("undo", "", "")
	h.holds(t, map[string]string{"a": swap(eight, "2=b"), "new": "x\n"})
}

// TestUndoLeavesWhatIsChangedByHand: hunk by hunk, and files as a whole.
func TestUndoLeavesWhatIsChangedByHand(t *testing.T) {
	h := begins(t)
	h.has(t, "a", eight)
	h.has(t, "gone", "0\n")
	h.works("r1", h.writes("a", swap(eight, "2=b 5=e")), h.writes("made", "x\n"), h.writes("edited", "x\n"), h.writes("open", "x\n"), h.writes("gone", "1\n"), h.writes("back", "x\n"))
	h.has(t, "a", "0\n"+swap(eight, "2=b 5=five"))
	h.has(t, "edited", "x\nmine\n")
	h.opens("open", "x\n")
	for _, name := range []string{"gone", "back"} {
		if err := os.Remove(h.path(name)); err != nil {
			t.Fatal(err)
		}
	}
	files, conflicts := h.resolves("undo", "", "")
	h.is("undone", files, "a edit 1:undone 4:pending\nback create 0:undone\nedited create 0:pending\ngone edit 0:pending\nmade create 0:undone\nopen create 0:pending")
	h.is("conflicts", conflicts, "a: The lines were changed by hand since.\nedited: The file was changed by hand since.\ngone: The file was removed since.\n"+
		"open: It cannot be written: it is open.")
	h.holds(t, map[string]string{"a": "0\n" + swap(eight, "5=five"), "made": "-", "edited": "x\nmine\n", "open": "x\n", "gone": "-", "back": "-"})
	// It is the person's from then on, as far as the agents are not asked again.
	h.is("left", h.changes(""), "edited create 0:pending\ngone edit 0:pending\nopen create 0:pending")

	files, conflicts = h.resolves("undo", "", "open", "ffff")
	h.is("unknown", files, "open create 0:pending")
	h.is("unknown", conflicts, "open: There is no such hunk any more: list the changes again.")
	_, conflicts = h.resolves("keep", "", "nowhere")
	h.is("no file", conflicts, "nowhere: "+whySettled)
}

// TestUndoIsExact: what an undo brings back is byte for byte what was there, in
// the charset that it had, and in the editor where it is open.
func TestUndoIsExact(t *testing.T) {
	h := begins(t)
	h.has(t, "mark", mark+"1\r\n2\r\n3")
	h.has(t, "data", "\x00\xff")
	h.has(t, "open", "0\n")
	h.has(t, "part", mark+eight)
	h.has(t, "other", mark+"0\n")
	h.opens("open", "not saved\n")
	h.works("r1", h.writes("mark", mark+"1\r\nii\r\n3\r\n"), h.writes("data", "\x00\x01"), h.writes("open", "1\n"), h.writes("part", mark+swap(eight, "2=b 5=e")), h.writes("other", "1\n"))
	h.is("listed", h.changes(""), "data edit 0:pending\nmark edit 1:pending\nopen edit 0:pending\nother edit 0:pending\npart edit 1:pending 4:pending")
	h.resolves("undo", "", "part", h.hunk("part", 1))
	h.holds(t, map[string]string{"part": mark + swap(eight, "5=e")})
	_, conflicts := h.resolves("undo", "", "")
	h.is("conflicts", conflicts, "")
	h.holds(t, map[string]string{"mark": mark + "1\r\n2\r\n3", "data": "\x00\xff", "open": "not saved\n", "part": mark + eight, "other": mark + "0\n"})
	if data, err := os.ReadFile(h.path("open")); err != nil || string(data) != "0\n" {
		t.Errorf("on disk is %q, %v", data, err)
	}
	h.is("nothing left", h.changes(""), "")

	// Each is in the log with what it was and is.
	_, events := bodies[activity.ChangeResolved](h)
	for _, e := range events {
		if e.Action != "undo" || len(e.Hunks) == 0 || e.Kept == nil || e.Kept.Buffer != (h.names([]string{e.URI}) == "open") {
			t.Errorf("%+v", e)
			continue
		}
		for _, sha := range []string{e.Kept.Before, e.Kept.After} {
			if _, err := h.conv.GetBlob(sha); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestUndoWhileARunGoesOn: what the run writes in the same moment stays, and an
// undo that is too late is tried again with what the file is then.
func TestUndoWhileARunGoesOn(t *testing.T) {
	h := begins(t)
	h.has(t, "a", eight)
	h.starts("r1")
	h.writes("a", swap(eight, "2=b"))()
	late := 1
	h.before = func(context.Context, string) error {
		if late--; late == 0 {
			h.writes("a", swap(eight, "2=b 8=h"))()
		}
		return nil
	}
	files, conflicts := h.resolves("undo", "", "a", h.hunk("a", 1))
	h.is("undone", files, "a edit 1:undone 7:pending")
	h.is("conflicts", conflicts, "")
	h.holds(t, map[string]string{"a": swap(eight, "8=h")})
	h.is("pending", h.changes(""), "a edit 7:pending")
	h.before = nil
	h.ends()

	n := 0
	h.before = func(context.Context, string) error {
		n++
		h.has(t, "a", fmt.Sprint(swap(eight, "8=h"), n, "\n"))
		return nil
	}
	files, conflicts = h.resolves("undo", "", "a")
	h.is("never at rest", files, "a edit 7:pending")
	h.is("never at rest", conflicts, "a: "+whyMoving)
	if n != tries {
		t.Errorf("%d tries", n)
	}
}

// TestUndoneIsNotWhatTheAgentSaw: it must read the file again before it changes
// it.
func TestUndoneIsNotWhatTheAgentSaw(t *testing.T) {
	h := begins(t)
	h.has(t, "a", eight)
	h.works("r1", h.writes("a", swap(eight, "2=b 5=e")))
	env := &tool.Env{Folder: h.folder, Folders: []string{h.folder}, Files: h.site, Edits: h.Edits("r2"), Seen: h.conv.lookupSeen("main"), Call: "c"}
	env.Seen.Note(h.path("a"), digestOf(swap(eight, "2=b 5=e")))
	edit := func() error {
		i := slices.IndexFunc(builtin.Tools(), func(t tool.Tool) bool { return t.Spec().Name == "edit_file" })
		_, err := tooltest.Run(t.Context(), builtin.Tools()[i], env, `{"file_path": "a", "old_string": "8", "new_string": "h"}`)
		return err
	}
	h.resolves("undo", "", "a", h.hunk("a", 1))
	if err := edit(); tooltest.Code(err) != tool.CodeStale {
		t.Errorf("without reading it again: %v", err)
	}
	env.Seen.Note(h.path("a"), digestOf(swap(eight, "5=e")))
	if err := edit(); err != nil {
		t.Error(err)
	}
}

// TestChangesAfterARewind: nothing is pending that is not there any more, and
// what a rewind of the rewind brings back is pending again.
func TestChangesAfterARewind(t *testing.T) {
	h := begins(t)
	h.has(t, "a", eight)
	first := h.works("r1", h.writes("a", swap(eight, "2=b")))
	h.works("r2", h.writes("a", swap(eight, "2=b 5=e")), h.writes("new", "x\n"))
	h.back(first, false)
	h.is("after", h.changes(""), "a edit 1:pending")
	seqs, _ := bodies[activity.Rewound](h)
	h.back(seqs[0]-1, false)
	h.is("undone", h.changes(""), "a edit 1:pending 4:pending\nnew create 0:pending")
	h.back(1, false)
	h.is("all", h.changes(""), "")
	// Undone hunks come back with a rewind, too.
	h.works("r3", h.writes("a", swap(eight, "8=h")))
	h.resolves("undo", "", "a")
	h.holds(t, map[string]string{"a": eight})
	seqs, _ = bodies[activity.ChangeResolved](h)
	h.leaves(h.back(seqs[0]-1, false), nil)
	h.holds(t, map[string]string{"a": swap(eight, "8=h")})
	h.is("again", h.changes(""), "a edit 7:pending")
	// What the person did, and was forced away, is nothing that an agent did.
	h.has(t, "a", "by hand\n"+swap(eight, "8=h"))
	h.leaves(h.back(seqs[0]-1, true), nil)
	h.holds(t, map[string]string{"a": swap(eight, "8=h")})
	h.is("forced", h.changes(""), "a edit 7:pending")
}

// TestResolvedIsOnDiskBeforeTheAnswer: what was answered survives a cut of the
// power, and what is not safe is not answered.
func TestResolvedIsOnDiskBeforeTheAnswer(t *testing.T) {
	h := begins(t)
	disk := faults.Folder(t)
	h.s = h.service(h.dir, disk)
	h.load("s")
	h.has(t, "a", eight)
	h.works("r1", h.writes("a", swap(eight, "2=b 5=e 8=h")))
	log := filepath.Join(h.dir, "s.jsonl")
	for n, action := range []string{"keep", "undo"} {
		h.resolves(action, "", "a", h.hunk("a", uint32(1+3*n)))
		if data, _ := disk.Safe(log); strings.Count(string(data), `"change.resolved"`) != n+1 {
			t.Errorf("%s is answered, and not safe", action)
		}
	}
	disk.Fail(func(c faults.Call) error {
		if c.Op == faults.Sync && strings.HasSuffix(c.Name, ".jsonl") {
			return faults.ErrIO
		}
		return nil
	})
	_, _, err := h.s.ResolveChanges(t.Context(), Resolve{Session: "s", Action: "keep", Frontend: h.site})
	if fault.KindOf(err) != fault.Unavailable {
		t.Errorf("without a disk: %v", err)
	}
	disk.Fail(nil)
}

func TestChangesRefusals(t *testing.T) {
	h := begins(t)
	h.has(t, "a", "0\n")
	h.has(t, "lost", "0, and lost\n")
	h.works("r1", h.writes("a", "1\n"), h.writes("lost", "1\n"))
	for what, r := range map[string]Resolve{
		"no action":       {Session: h.conv.ID, Action: "forget", Frontend: h.site},
		"hunks of no one": {Session: h.conv.ID, Action: "keep", Hunks: []string{"x"}, Frontend: h.site},
	} {
		if _, _, err := h.s.ResolveChanges(t.Context(), r); fault.KindOf(err) != fault.Invalid {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, _, err := h.s.ResolveChanges(t.Context(), Resolve{Session: "nobody", Action: "keep", Frontend: h.site}); !isReason(err, fault.UnknownSession) {
		t.Errorf("no session: %v", err)
	}
	if _, err := h.s.Changes(t.Context(), "nobody", "", h.site); !isReason(err, fault.UnknownSession) {
		t.Errorf("no session: %v", err)
	}
	// A blob that is gone hides the file, and is a conflict.
	if err := os.Remove(h.conv.Blobs() + "/" + digestOf("0, and lost\n")); err != nil {
		t.Fatal(err)
	}
	h.is("listed", h.changes(""), "a edit 0:pending")
	_, conflicts := h.resolves("undo", "", "lost")
	if !strings.HasPrefix(conflicts, "lost: What an agent made of it is lost: ") {
		t.Errorf("conflicts: %s", conflicts)
	}
	// So is what cannot be written, or lies where nobody writes.
	h.before = func(context.Context, string) error { return fault.New(fault.Denied, "site", "it is read-only") }
	_, conflicts = h.resolves("undo", "", "a")
	h.is("read-only", conflicts, "a: It cannot be written: it is read-only.")
	h.before = nil
	if err := os.Rename(h.path("a"), h.path("b")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("b", h.path("a")); err != nil {
		t.Skip(err)
	}
	_, conflicts = h.resolves("undo", "", "a")
	if !strings.Contains(conflicts, "link leads elsewhere") {
		t.Errorf("conflicts: %s", conflicts)
	}
	h.holds(t, map[string]string{"b": "1\n"})
}
