package agents

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/internal/faults"
)

// TestRewindSurvivesADeathHalfWay: the daemon dies when some files are back. What
// is on disk then is enough for the next one to go all the way, and nothing that
// was in a file is lost, the person's own lines that were forced away included.
func TestRewindSurvivesADeathHalfWay(t *testing.T) {
	for _, force := range []bool{false, true} {
		h := begins(t)
		names := []string{"a", "b", "c", "d"}
		for _, name := range names {
			h.has(t, name, "0 "+name)
		}
		start := h.last() + 1
		h.works("r1", h.writes("a", "1"), h.writes("b", "1"), h.writes("c", "1"), h.writes("d", "1"), h.writes("new", "1"))
		if force {
			h.has(t, "a", "by hand")
		}
		var dead string
		h.before = func(_ context.Context, name string) error {
			if name == "c" {
				dead = copied(t, h.dir) // as it lies on disk in this moment
				return errors.New("died")
			}
			return nil
		}
		h.back(start, force)
		h.before = nil
		h.holds(t, map[string]string{"a": "0 a", "b": "0 b", "c": "1"})
		for name, text := range map[string]string{"d": "1", "new": "1"} { // it had not come there
			h.has(t, name, text)
		}

		h.dir, h.s = dead, h.service(dead, nil)
		h.load(h.conv.ID)
		if m := h.conv.Context("main"); len(m) == 0 {
			t.Error("the contexts are back although the rewind was not over")
		}
		_, kept := bodies[activity.Checkpoint](h)
		last := kept[len(kept)-1]
		for _, k := range last.Kept {
			want := "1"
			if force && k.URI == h.uri("a") {
				want = "by hand"
			}
			if data, err := h.conv.GetBlob(k.Before); err != nil || string(data) != want {
				t.Errorf("force %v: of %s is kept %q, %v", force, k.URI, data, err)
			}
		}
		if len(last.Kept) != 5 {
			t.Errorf("kept %+v", last)
		}
		h.leaves(h.back(start, false), nil)
		h.holds(t, map[string]string{"a": "0 a", "b": "0 b", "c": "0 c", "d": "0 d", "new": "-"})
		if m := h.conv.Context("main"); len(m) != 0 {
			t.Error("the contexts stayed")
		}
	}
}

// TestRewindOfAWriteThatNobodySawEnd: a daemon died between a write and its
// event.
func TestRewindOfAWriteThatNobodySawEnd(t *testing.T) {
	h := begins(t)
	for _, name := range []string{"never", "written", "redone"} {
		h.has(t, name, "0")
	}
	start := h.last() + 1
	h.starts("r1")
	for _, name := range []string{"never", "written", "redone"} {
		h.checkpoint(name)
	}
	h.has(t, "written", "1") // and dies
	h.ends()
	h.run = "r2"
	h.writes("redone", "2")()
	h.ends()
	h.leaves(h.back(start, false), map[string]string{"written": "is not known"})
	h.holds(t, map[string]string{"never": "0", "written": "1", "redone": "0"})
	h.leaves(h.back(start, true), nil)
	h.holds(t, map[string]string{"written": "0"})
}

// TestRewindIsWholeOrNot: what was answered survives a cut of the power; where the
// contexts cannot follow the files, the files do not go either.
func TestRewindIsWholeOrNot(t *testing.T) {
	h := begins(t)
	disk := faults.Folder(t)
	h.s = h.service(h.dir, disk)
	h.load("s")
	h.has(t, "a", "0")
	h.has(t, "b", "0")
	h.works("r1", h.writes("a", "1"), h.writes("b", "1"), h.writes("new", "1"))
	h.back(1, false)
	if data, _ := disk.Safe(filepath.Join(h.dir, "s.jsonl")); !strings.Contains(string(data), `"rewound"`) {
		t.Error("the rewind is answered, and not safe")
	}
	h.has(t, "a", "0")
	h.works("r2", h.writes("a", "2"), h.writes("b", "2"), h.writes("new", "2"))
	h.before = func(_ context.Context, name string) error {
		if name != "b" {
			return nil
		}
		return h.conv.Log.Close()
	}
	if _, err := h.s.Rewind(t.Context(), Rewind{Session: "s", ToSeq: 1, Files: true, Frontend: h.site}); fault.KindOf(err) != fault.Unavailable {
		t.Errorf("without a log: %v", err)
	}
	h.holds(t, map[string]string{"a": "2", "b": "2", "new": "2"})
}

// TestRewindThereAndBack: after any history, a rewind touches no file that a
// person wrote last, and a rewind to before it brings all back.
func TestRewindThereAndBack(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for round := range 40 {
		h := begins(t)
		hand := make(map[string]bool) // written by a person since an agent was there
		name := func() string { return string(rune('a' + rng.IntN(4))) }
		content := func() string {
			return []string{"", "x\n", mark + "y\r\n", "\x00", "z"}[rng.IntN(5)] + fmt.Sprint(rng.IntN(3))
		}
		ends := []uint64{h.say(activity.Note{Level: "info", Message: "begins"})}
		for i := range 3 + rng.IntN(6) {
			switch n := name(); rng.IntN(5) {
			case 0:
				text := content()
				if f, err := h.Read(t.Context(), h.path(n)); err != nil || string(f.Data) != text {
					h.has(t, n, text)
					hand[n] = true
				}
			default:
				ends = append(ends, h.works(fmt.Sprint("r", i), h.writes(n, content())))
				hand[n] = false
			}
		}
		before, to := h.all(), ends[rng.IntN(len(ends))]
		done := h.back(to, false)
		after := h.all()
		for n, changed := range hand {
			if changed && before[n] != after[n] {
				t.Errorf("round %d: %s was %q by hand, and is %q", round, n, before[n], after[n])
			}
		}
		for _, l := range done.Left {
			if n := h.names([]string{l.URI}); before[n] != after[n] {
				t.Errorf("round %d: %s is left, and another", round, n)
			}
		}
		seqs, _ := bodies[activity.Rewound](h)
		h.leaves(h.back(seqs[0]-1, false), nil)
		if now := h.all(); !maps.Equal(now, before) {
			t.Errorf("round %d: back to %d and again, %q is %q", round, to, before, now)
		}
		if t.Failed() {
			return
		}
	}
}

// all is what the four files of a site hold; "-" for no file.
func (d *site) all() map[string]string {
	all := make(map[string]string)
	for _, n := range []string{"a", "b", "c", "d"} {
		all[n] = "-"
		if data, err := os.ReadFile(d.path(n)); err == nil {
			all[n] = string(data)
		}
	}
	return all
}
