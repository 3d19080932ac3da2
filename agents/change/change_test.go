package change

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentls/agentls/agents/activity"
)

// file is a text that is there.
func file(text string) *string { return &text }

// shown is a text for messages.
func shown(text *string) string {
	if text == nil {
		return "no file"
	}
	return fmt.Sprintf("%q", *text)
}

// ids are the names of a change's hunks.
func ids(c activity.Change) []string {
	list := []string{}
	for _, h := range c.Hunks {
		list = append(list, h.ID)
	}
	return list
}

func list(old, text *string) []string { return ids(Of("file:///w/a", "a", old, text)) }

func TestOfSaysWhatWasDone(t *testing.T) {
	numbers := "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n"
	for _, tt := range []struct {
		name      string
		old, text *string
		kind      string
		ranges    string // first and last line of each hunk
		patch     string
	}{
		{name: "nothing", old: file("a\n"), text: file("a\n"), kind: "edit"},
		{name: "no file", kind: "edit"},
		{name: "a file", text: file("a\nb\n"), kind: "create", ranges: "0-2", patch: "--- /dev/null\n+++ b/a\n@@ -0,0 +1,2 @@\n+a\n+b\n"},
		{name: "an empty file", text: file(""), kind: "create", ranges: "0-0", patch: "--- /dev/null\n+++ b/a\n"},
		{name: "a file goes", old: file("a"), kind: "delete", ranges: "0-0", patch: "--- a/a\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n\\ No newline at end of file\n"},
		{name: "an empty file goes", old: file(""), kind: "delete", ranges: "0-0", patch: "--- a/a\n+++ /dev/null\n"},
		{name: "becomes empty", old: file("a\n"), text: file(""), kind: "edit", ranges: "0-0", patch: "--- a/a\n+++ b/a\n@@ -1 +0,0 @@\n-a\n"},
		{name: "was empty", old: file(""), text: file("a"), kind: "edit", ranges: "0-1", patch: "--- a/a\n+++ b/a\n@@ -0,0 +1 @@\n+a\n\\ No newline at end of file\n"},
		{name: "a final newline", old: file("a"), text: file("a\n"), kind: "edit", ranges: "0-1", patch: "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n"},
		{name: "two hunks, one section", old: file(numbers), text: file(strings.NewReplacer("3\n", "3\nx\n", "7\n", "").Replace(numbers)), kind: "edit", ranges: "3-4 7-7",
			patch: "--- a/a\n+++ b/a\n@@ -1,10 +1,10 @@\n 1\n 2\n 3\n+x\n 4\n 5\n 6\n-7\n 8\n 9\n 10\n"},
		{name: "two sections", old: file(numbers), text: file("0\n" + strings.Replace(numbers, "12\n", "xii\n", 1)), kind: "edit", ranges: "0-1 12-13",
			patch: "--- a/a\n+++ b/a\n@@ -1,3 +1,4 @@\n+0\n 1\n 2\n 3\n@@ -9,4 +10,4 @@\n 9\n 10\n 11\n-12\n+xii\n"},
		{name: "other line ends", old: file("a\nb\n"), text: file("a\r\nb\n"), kind: "edit", ranges: "0-1", patch: "--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n-a\n+a\r\n b\n"},
		{name: "carriage returns end lines in an editor", old: file("a\rb\n1\n"), text: file("a\rb\n2\rx\r\n"), kind: "edit", ranges: "2-4", patch: "--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n a\rb\n-1\n+2\rx\r\n"},
		{name: "no text", old: file("a\x00b"), text: file("a\x00c"), kind: "edit", ranges: "0-0", patch: "Binary files a/a and b/a differ\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := Of("file:///w/a", "a", tt.old, tt.text)
			var ranges []string
			for _, h := range c.Hunks {
				if h.Status != Pending || h.Range.Start.Character != 0 || h.Range.End.Character != 0 || h.ID == "" {
					t.Errorf("%+v", h)
				}
				ranges = append(ranges, fmt.Sprintf("%d-%d", h.Range.Start.Line, h.Range.End.Line))
			}
			if got := strings.Join(ranges, " "); c.Kind != tt.kind || got != tt.ranges || c.URI != "file:///w/a" {
				t.Errorf("%s %s %s, want %s %s", c.URI, c.Kind, got, tt.kind, tt.ranges)
			}
			if d := cmp.Diff(tt.patch, c.Patch); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestHunksOfTheSameLinesAreToldApart(t *testing.T) {
	old := file("{\na\n}\n{\na\n}\n{\na\n}\n")
	text := file("{\nb\n}\n{\nb\n}\n{\nb\n}\n")
	all := list(old, text)
	if len(all) != 3 || all[0] == all[1] || all[1] == all[2] {
		t.Fatalf("%v", all)
	}
	// Whichever of them is undone or kept, the others keep their names.
	for i, id := range all {
		rest := slices.Delete(slices.Clone(all), i, i+1)
		now, undone, conflicts := Undo(old, text, text, []string{id})
		if len(conflicts) > 0 || !slices.Equal(undone, []string{id}) || !slices.Equal(list(old, now), rest) {
			t.Errorf("undone %s of %v: %v, %v", id, all, list(old, now), conflicts)
		}
		base, conflicts := Keep(old, text, []string{id})
		if len(conflicts) > 0 || !slices.Equal(list(base, text), rest) {
			t.Errorf("kept %s of %v: %v, %v", id, all, list(base, text), conflicts)
		}
	}
}

func TestUndoLeavesWhatThePersonDid(t *testing.T) {
	base := "one\ntwo\nthree\nfour\nfive\nsix\n"
	agent := "one\nTWO\nthree\nfour\nand a half\nfive\n" // two changed, a line more, six away
	for _, tt := range []struct {
		name      string
		base      string
		agent     string
		now, want string
		left      int // conflicts
	}{
		{name: "nothing", now: agent, want: base},
		{name: "edits elsewhere", now: "zero\none\nTWO\nthree!\nfour\nand a half\nfive\n", want: "zero\none\ntwo\nthree!\nfour\nfive\nsix\n"},
		{name: "right before and behind a hunk", now: "one\na\nTWO\nb\nthree\nfour\nand a half\nfive\n", want: "one\na\ntwo\nb\nthree\nfour\nfive\nsix\n"},
		{name: "in a hunk", now: "one\nTWO!\nthree\nfour\nand a half\nfive\n", want: "one\nTWO!\nthree\nfour\nfive\nsix\n", left: 1},
		{name: "where a line was taken away", now: agent + "seven\n", want: "one\ntwo\nthree\nfour\nfive\nseven\n", left: 1},
		{name: "a hunk and more", now: "one\nx\nfour\nand a half\nfive\n", want: "one\nx\nfour\nfive\nsix\n", left: 1},
		{name: "undone by hand", now: "one\ntwo\nthree\nfour\nand a half\nfive\n", want: base},
		{name: "all by hand", now: base, want: base},
		{name: "everything else", now: "x\n", want: "x\n", left: 3},
		{name: "empty now", now: "", want: "", left: 3},
		{name: "lines do not grow together", base: "a", agent: "a\nb\n", now: "a\nb\nc\n", want: "a\nb\nc\n", left: 1},
		{name: "nor with what the person left open", base: "a\nb\n", agent: "a\n", now: "a", want: "a", left: 1},
		{name: "line ends", base: "a\r\nb\r\n", agent: "A\r\nb\r\n", now: "A\r\nb\r\nc\r\n", want: "a\r\nb\r\nc\r\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			base, agent := base, agent
			if tt.base != "" {
				base, agent = tt.base, tt.agent
			}
			got, undone, conflicts := Undo(&base, &agent, &tt.now, nil)
			if got == nil || *got != tt.want || len(conflicts) != tt.left || len(undone)+len(conflicts) != len(list(&base, &agent)) {
				t.Errorf("%s, want %q\nundone %v\nconflicts %v", shown(got), tt.want, undone, conflicts)
			}
		})
	}
}

func TestUndoOfWholeFiles(t *testing.T) {
	for _, tt := range []struct {
		name             string
		base, agent, now *string
		want             *string
		left             string
	}{
		{name: "created", agent: file("a\n"), now: file("a\n")},
		{name: "created and edited", agent: file("a\n"), now: file("a\nb\n"), want: file("a\nb\n"), left: whyWhole},
		{name: "created and removed", agent: file("a\n")},
		{name: "created empty", agent: file(""), now: file("")},
		{name: "deleted", base: file("a"), want: file("a")},
		{name: "deleted and made again", base: file("a"), now: file("b"), want: file("b"), left: whyBack},
		{name: "edited and removed", base: file("a"), agent: file("b"), left: whyGone},
		{name: "no text", base: file("\x00a"), agent: file("\x00b"), now: file("\x00b"), want: file("\x00a")},
		{name: "no text, edited", base: file("\x00a"), agent: file("\x00b"), now: file("\x00c"), want: file("\x00c"), left: whyWhole},
		{name: "no text, removed", base: file("\x00a"), agent: file("\x00b"), left: whyGone},
		{name: "no text any more", base: file("a"), agent: file("b"), now: file("\x00c"), want: file("\x00c"), left: whyWhole},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, undone, conflicts := Undo(tt.base, tt.agent, tt.now, nil)
			why := ""
			if len(conflicts) == 1 && len(undone) == 0 {
				why = conflicts[0].Why
			}
			if !same(got, tt.want) || why != tt.left || (why == "" && len(undone) != 1) {
				t.Errorf("%s, want %s: %v %v", shown(got), shown(tt.want), undone, conflicts)
			}
		})
	}
}

func TestUnknownHunksAreConflicts(t *testing.T) {
	old, text := file("a\nb\nc\n"), file("A\nb\nC\n")
	some := []string{list(old, text)[1], "ffff"}
	now, undone, conflicts := Undo(old, text, text, some)
	if *now != "A\nb\nc\n" || !slices.Equal(undone, some[:1]) || len(conflicts) != 1 || conflicts[0] != (Conflict{"ffff", whyUnknown}) {
		t.Errorf("%s %v %v", shown(now), undone, conflicts)
	}
	base, conflicts := Keep(old, text, some)
	if *base != "a\nb\nC\n" || len(conflicts) != 1 {
		t.Errorf("%s %v", shown(base), conflicts)
	}
	if base, conflicts := Keep(old, old, some); base != old || len(conflicts) != 2 {
		t.Errorf("%s %v", shown(base), conflicts)
	}
}

func TestAcceptedHunksLieWhereTheyAreNow(t *testing.T) {
	original := file("1\n2\n3\n4\n5\n6\n")
	agent := file("1\nII\n3\n4\nV\n6\n")
	all := list(original, agent)
	base, _ := Keep(original, agent, all[1:])
	later := file("0\n1\nII\n3\n4\nV\n6\n")
	got := AcceptedHunks(original, base, later)
	if len(got) != 1 || got[0].ID != all[1] || got[0].Status != Kept || got[0].Range.Start.Line != 5 || got[0].Range.End.Line != 6 {
		t.Errorf("%+v", got)
	}
	if got := AcceptedHunks(original, base, file("1\nII\n3\n4\nfive\n6\n")); len(got) != 0 {
		t.Errorf("lines that changed again: %+v", got)
	}
	if got := AcceptedHunks(nil, agent, later); len(got) != 0 {
		t.Errorf("a file that was made: %+v", got)
	}
}

func TestRebaseGivesThePersonWhatIsTheirs(t *testing.T) {
	base := "1\n2\n3\n4\n5\n6\n7\n8\n"
	agent := "1\nII\n3\n4\n5\nVI\n7\n8\n"
	for _, tt := range []struct {
		name, now, want string
	}{
		{"nothing", agent, base},
		{"elsewhere", "0\n1\nII\n3\n4!\n5\nVI\n7\n8", "0\n1\n2\n3\n4!\n5\n6\n7\n8"},
		{"in a hunk", "1\ntwo\n3\n4\n5\nVI\n7\n8\n", "1\ntwo\n3\n4\n5\n6\n7\n8\n"},
		{"over both", "1\nx\n8\n", "1\nx\n8\n"},
		{"from a hunk on", "1\nII\n3\n4\n5\nsix\nseven\n8\n", "1\n2\n3\n4\n5\nsix\nseven\n8\n"},
		{"right behind a hunk", "1\nII\nii\n3\n4\n5\nVI\n7\n8\n", "1\n2\nii\n3\n4\n5\n6\n7\n8\n"},
		{"all back", base, base},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := Rebase(&base, &agent, &tt.now); *got != tt.want {
				t.Errorf("%s, want %q", shown(got), tt.want)
			}
		})
	}
	if got := Rebase(nil, file("a\n"), file("a\nb\n")); *got != "a\nb\n" {
		t.Errorf("a file that was made: %s", shown(got))
	}
	if got := Rebase(file("a\n"), file("b\n"), nil); got != nil {
		t.Errorf("a file that was removed: %s", shown(got))
	}
}

// world is random texts of few lines, so that many are alike.
type world struct{ *rand.Rand }

func (w world) line() string {
	return []string{"a", "b", "c", "", "}", "x y"}[w.IntN(6)] + []string{"\n", "\n", "\n", "\r\n"}[w.IntN(4)]
}

func (w world) text() *string {
	if w.IntN(12) == 0 {
		return nil
	}
	var b strings.Builder
	for range w.IntN(14) {
		b.WriteString(w.line())
	}
	s := b.String()
	if w.IntN(4) == 0 {
		s = strings.TrimSuffix(s, "\n")
	}
	return &s
}

// edit returns a text that differs in some places.
func (w world) edit(text *string) *string {
	if text == nil || w.IntN(15) == 0 {
		return w.text()
	}
	all := lines(*text)
	for range w.IntN(4) {
		at := 0
		if len(all) > 0 {
			at = w.IntN(len(all) + 1)
		}
		switch {
		case w.IntN(2) == 0 || at == len(all):
			all = slices.Insert(all, at, w.line())
		case w.IntN(2) == 0:
			all = slices.Delete(all, at, min(len(all), at+1+w.IntN(2)))
		default:
			all[at] = w.line()
		}
	}
	s := strings.Join(all, "")
	return &s
}

// some returns part of a list, and the rest.
func (w world) some(all []string) (a, b []string) {
	for _, id := range all {
		if w.IntN(2) == 0 {
			a = append(a, id)
		} else {
			b = append(b, id)
		}
	}
	return a, b
}

// bare are the names without the numbers that tell hunks of the same lines apart.
func bare(ids []string) []string {
	list := []string{}
	for _, id := range ids {
		id, _, _ = strings.Cut(id, "-")
		list = append(list, id)
	}
	return list
}

// distinct reports whether no two of a list are the same.
func distinct(list []string) bool {
	return len(slices.Compact(slices.Sorted(slices.Values(list)))) == len(list)
}

// laws holds two texts of a file to what the functions promise of them.
func laws(t *testing.T, w world, base, agent *string) {
	t.Helper()
	fail := func(format string, args ...any) {
		t.Helper()
		t.Errorf("%s → %s: "+format, append([]any{shown(base), shown(agent)}, args...)...)
	}
	all := list(base, agent)
	if !distinct(all) {
		fail("two hunks have a name: %v", all)
	}
	if got, undone, c := Undo(base, agent, agent, nil); !same(got, base) || len(c) > 0 || len(undone) != len(all) {
		fail("all undone gives %s, %v", shown(got), c)
	}
	if got, c := Keep(base, agent, nil); !same(got, agent) || len(c) > 0 {
		fail("all kept gives %s, %v", shown(got), c)
	}
	a, b := w.some(all)
	if len(a) == 0 || len(b) == 0 {
		return
	}
	withoutA, _, _ := Undo(base, agent, agent, a)
	withoutB, _, _ := Undo(base, agent, agent, b)
	withA, _ := Keep(base, agent, a)
	if !same(withA, withoutB) {
		fail("what is left when %v are undone is %s, not %s", b, shown(withoutB), shown(withA))
	}
	if both, _, _ := Undo(base, agent, agent, append(slices.Clone(a), b...)); !same(both, base) {
		fail("undone %v and %v at once gives %s", a, b, shown(both))
	}
	if !distinct(bare(all)) {
		return // their numbers may be others then
	}
	// One after the other, as a person does it, in any order.
	for _, step := range []struct {
		what       string
		base, text *string
		left       []string
	}{{"undone", base, withoutA, b}, {"undone", base, withoutB, a}, {"kept", withA, agent, b}} {
		if got := list(step.base, step.text); !slices.Equal(bare(got), bare(step.left)) {
			fail("when %d are %s, %v of %v are left", len(all)-len(step.left), step.what, got, all)
		} else if back, _, c := Undo(step.base, step.text, step.text, got); !same(back, step.base) || len(c) > 0 {
			fail("and then all undone gives %s, %v", shown(back), c)
		}
	}
}

// hands holds edits by hand to what the functions promise: nothing of the
// person's is lost, and what they did is not the agent's.
func hands(t *testing.T, base, agent, now *string) {
	t.Helper()
	all := list(base, agent)
	got, undone, conflicts := Undo(base, agent, now, nil)
	if len(undone)+len(conflicts) != len(all) {
		t.Errorf("%s → %s → %s: %v are undone and %v left, of %v", shown(base), shown(agent), shown(now), undone, conflicts, all)
	}
	if base == nil || agent == nil || now == nil || same(base, agent) {
		return
	}
	// Each line that the person wrote is still there, in order.
	hand, at, back := differ(agent, now), 0, linesOf(got)
	for _, s := range hand.spans {
		for _, l := range hand.b[s.b0:s.b1] {
			i := slices.Index(back[at:], l)
			if i < 0 {
				t.Fatalf("%s → %s → %s: undone it is %s, without the person's %q", shown(base), shown(agent), shown(now), shown(got), l)
			}
			at += i + 1
		}
	}
	// What is left of the agent's after the person's part is theirs can be undone.
	mine := Rebase(base, agent, now)
	if got, _, c := Undo(mine, now, now, nil); !same(got, mine) || len(c) > 0 {
		t.Errorf("%s → %s → %s: rebased to %s, undone it is %s", shown(base), shown(agent), shown(now), shown(mine), shown(got))
	}
	if (same(agent, now) && !same(mine, base)) || (same(base, agent) && !same(mine, now)) {
		t.Errorf("%s → %s → %s: rebased to %s", shown(base), shown(agent), shown(now), shown(mine))
	}
}

// agreed holds [Agreed] to its promise: what is left of the one baseline's hunks
// is a part of the other's, and all of it where the other has all.
func agreed(t *testing.T, base, other, text *string) {
	t.Helper()
	if got := Merge(base, base, text); !same(base, text) && !same(got, base) {
		t.Errorf("%s, nothing accepted of %s: %s", shown(base), shown(text), shown(got))
	}
	if got := Merge(base, text, text); !same(got, text) {
		t.Errorf("%s, all accepted of %s: %s", shown(base), shown(text), shown(got))
	}
	if base != nil && other != nil && text != nil && len(list(Merge(base, other, text), text)) > 0 && len(list(other, text)) == 0 {
		t.Errorf("%s, %s, %s: something is left", shown(base), shown(other), shown(text))
	}
}

func TestLaws(t *testing.T) {
	w := world{rand.New(rand.NewPCG(1, 2))}
	for range 20_000 {
		base := w.text()
		agent := w.edit(base)
		laws(t, w, base, agent)
		hands(t, base, agent, w.edit(agent))
		agreed(t, base, w.edit(agent), agent)
		if t.Failed() {
			return
		}
	}
}

func FuzzChange(f *testing.F) {
	for _, s := range [][3]string{
		{"a\nb\nc\n", "a\nB\nc\n", "a\nB\nc\nd\n"}, {"", "a", "a\n"}, {"a\r\n\r\nb", "\r\nb\r", "b"}, {"a\n", "", "\x00"},
		{"a\na\na\n", "a\n", "a\na\n"}, {"\xff\n", "a\n", "a\n"},
	} {
		f.Add(s[0], s[1], s[2], uint64(1))
	}
	f.Fuzz(func(t *testing.T, base, agent, now string, seed uint64) {
		w := world{rand.New(rand.NewPCG(seed, 0))}
		laws(t, w, &base, &agent)
		hands(t, &base, &agent, &now)
		AcceptedHunks(&base, &agent, &now)
		agreed(t, &base, &agent, &now)
	})
}

func TestLargeChangesAreStillExact(t *testing.T) {
	var a, b strings.Builder
	for i := range 4 * maxEdits {
		fmt.Fprintf(&a, "line %d\n", i)
		if i%2 == 0 {
			fmt.Fprintf(&b, "line %d\n", i)
		} else {
			fmt.Fprintf(&b, "other line %d\n", i)
		}
	}
	old, text := file(a.String()), file(b.String())
	if got, _, c := Undo(old, text, text, nil); !same(got, old) || len(c) > 0 {
		t.Error("undone, it is not what it was")
	}
	if got, c := Keep(old, text, nil); !same(got, text) || len(c) > 0 {
		t.Error("kept, it is not what it became")
	}
	if d := diff(lines(*old), lines(*text)); len(d) == 0 {
		t.Error("no difference")
	}
}

// thousand is a file of 64 KiB with a thousand hunks.
func thousand() (old, text *string) {
	var a, b strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&a, "\tcall(argument%d, another%d)\n", i, i)
		if i%2 == 0 {
			fmt.Fprintf(&b, "\tcall(argument%d, another%d)\n", i, i)
		} else {
			fmt.Fprintf(&b, "\tchanged(%d, to something of its length)\n", i)
		}
	}
	return file(a.String()), file(b.String())
}

func TestAThousandHunks(t *testing.T) {
	old, text := thousand()
	if all := list(old, text); len(all) != 1000 {
		t.Errorf("%d hunks", len(all))
	}
}

func BenchmarkOf(b *testing.B) {
	old, text := thousand()
	for b.Loop() {
		Of("file:///w/a", "a", old, text)
	}
}

func BenchmarkUndo(b *testing.B) {
	old, text := thousand()
	some := list(old, text)[:500]
	now := file("// by hand\n" + *text)
	for b.Loop() {
		Undo(old, text, now, some)
	}
}

// TestSEC61NamesInTheHeadOfAPatch stay on its line, and are what git reads.
func TestSEC61NamesInTheHeadOfAPatch(t *testing.T) {
	old, text := "a\n", "b\n"
	for name, want := range map[string]string{
		"plain.txt": "a/plain.txt", "sub/é ü.txt": "a/sub/é ü.txt", "new\nline": `"a/new\nline"`, "tab\t": `"a/tab\t"`, "esc\x1b[2J": `"a/esc\033[2J"`,
		"bidi\u202e": `"a/bidi\342\200\256"`, "quote\"\\": `"a/quote\"\\"`, "bad\xff": `"a/bad\377"`, "fill\u3164": `"a/fill\343\205\244"`, "-rf": "a/-rf", "c1\u009b": `"a/c1\302\233"`,
	} {
		got := Of("file:///x", name, &old, &text).Patch
		if !strings.HasPrefix(got, "--- "+want+"\n+++ ") || strings.Count(got, "\n") != 5 {
			t.Errorf("%q: %q", name, got)
		}
	}
}
