package workspace

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"go.lsp.dev/uri"
	"pgregory.net/rapid"

	"github.com/agentls/agentls/internal/fault"
)

const doc = uri.URI("file:///a.md")

func apply(t testing.TB, w *Workspace, c Change) *Snapshot {
	t.Helper()
	s, err := w.Apply(c)
	if err != nil {
		t.Fatalf("%s: %v", c, err)
	}
	return s
}

func at(startLine, start, endLine, end uint32) *Range {
	return &Range{Position{startLine, start}, Position{endLine, end}}
}

func document(t testing.TB, s *Snapshot, u uri.URI) *Document {
	t.Helper()
	d, ok := s.Document(u)
	if !ok {
		t.Fatalf("%s is not open", u)
	}
	return d
}

func TestSnapshotsDoNotChange(t *testing.T) {
	var w Workspace
	before := apply(t, &w, Opened{URI: doc, Version: 1, Text: "one"})
	after := apply(t, &w, Edited{URI: doc, Version: 2, Edits: []Edit{{Text: "two"}}})
	if d := document(t, before, doc); d.Text != "one" || before.Seq() != 1 {
		t.Errorf("the old snapshot became %+v", d)
	}
	if d := document(t, after, doc); d.Text != "two" || after.Seq() != 2 || w.Snapshot() != after {
		t.Errorf("the new snapshot is %+v", d)
	}
	closed := apply(t, &w, Closed{URI: doc})
	if _, ok := closed.Document(doc); ok || len(slices.Collect(after.Documents())) != 1 {
		t.Error("closing reached the snapshot before")
	}
}

func TestEditsAreOneChangeOrNone(t *testing.T) {
	for _, c := range []struct {
		name  string
		edits []Edit
		want  string
		kind  fault.Kind
	}{
		{"in order", []Edit{{at(0, 0, 0, 3), "1\n2"}, {at(1, 0, 1, 1), "zwei"}}, "1\nzwei\ntwo", 0},
		{"range, then all, then range", []Edit{{at(0, 0, 0, 1), ""}, {nil, "new"}, {at(0, 3, 0, 3), "er"}}, "newer", 0},
		{"none", nil, "one\ntwo", 0},
		{"delete the last line", []Edit{{at(1, 0, 2, 0), ""}}, "one\n", 0},
		{"past the end of a line", []Edit{{at(0, 2, 0, 99), "LY"}}, "onLY\ntwo", 0},
		{"bad in the middle", []Edit{{at(0, 0, 0, 3), "1"}, {at(9, 0, 9, 0), "x"}, {nil, "all"}}, "", fault.Stale},
		{"backwards", []Edit{{at(0, 0, 0, 1), "1"}, {at(1, 1, 0, 0), "x"}}, "", fault.Invalid},
		{"backwards beyond a line's end", []Edit{{at(0, 9, 0, 1), "x"}}, "", fault.Invalid},
	} {
		t.Run(c.name, func(t *testing.T) {
			var w Workspace
			apply(t, &w, Opened{URI: doc, Version: 1, LanguageID: "markdown", Text: "one\ntwo"})
			_, err := w.Apply(Edited{URI: doc, Version: 2, Edits: c.edits})
			d := document(t, w.Snapshot(), doc)
			if c.kind == 0 {
				if err != nil || d.Text != c.want || d.Version != 2 || d.LanguageID != "markdown" || d.Lost {
					t.Errorf("%v, %+v", err, d)
				}
				return
			}
			if fault.KindOf(err) != c.kind || d.Text != "one\ntwo" || d.Version != 1 || !d.Lost {
				t.Errorf("%v, %+v, want %s and the old text", err, d, c.kind)
			}
		})
	}
}

// After a refused edit we are behind the editor: what it says about ranges is
// about another text.
func TestLostDocumentIsMendedByItsWholeText(t *testing.T) {
	var w Workspace
	apply(t, &w, Opened{URI: doc, Version: 5, Text: "one"})
	if _, err := w.Apply(Edited{URI: doc, Version: 5, Edits: []Edit{{nil, "x"}}}); fault.KindOf(err) != fault.Stale {
		t.Fatalf("a version that did not grow: %v", err)
	}
	if _, err := w.Apply(Edited{URI: doc, Version: 6, Edits: []Edit{{at(0, 0, 0, 1), "x"}}}); fault.KindOf(err) != fault.Stale {
		t.Fatalf("a range in a lost document: %v", err)
	}
	if d := document(t, apply(t, &w, Edited{URI: doc, Version: 7, Edits: []Edit{{nil, "two"}, {at(0, 0, 0, 1), "T"}}}), doc); d.Text != "Two" || d.Lost {
		t.Errorf("%+v", d)
	}
}

// TestNothingChanges: Neovim 0.7 tells a change that comes to nothing as none, under
// the version before it.
func TestNothingChanges(t *testing.T) {
	var w Workspace
	before := apply(t, &w, Opened{URI: doc, Version: 5, Text: "one"})
	if after := apply(t, &w, Edited{URI: doc, Version: 5}); after != before {
		t.Errorf("%+v", document(t, after, doc))
	}
	if d := document(t, apply(t, &w, Edited{URI: doc, Version: 6, Edits: []Edit{{at(0, 0, 0, 1), "O"}}}), doc); d.Text != "One" || d.Lost {
		t.Errorf("%+v", d)
	}
	if _, err := w.Apply(Edited{URI: doc, Version: 5}); fault.KindOf(err) != fault.Stale {
		t.Error(err)
	}
}

func TestChangesOfWhatIsNotOpen(t *testing.T) {
	var w Workspace
	for _, c := range []Change{Edited{URI: doc, Version: 1}, Saved{URI: doc}, Closed{URI: doc}} {
		if _, err := w.Apply(c); fault.KindOf(err) != fault.NotFound {
			t.Errorf("%s: %v", c, err)
		}
	}
	if _, err := w.Apply(Opened{}); fault.KindOf(err) != fault.Invalid {
		t.Error(err)
	}
	if s := w.Snapshot(); s.Seq() != 0 {
		t.Errorf("seq %d", s.Seq())
	}
}

func TestDirtyAndDigest(t *testing.T) {
	var w Workspace
	name := filepath.Join(t.TempDir(), "a.txt")
	if err := os.WriteFile(name, []byte("one"), 0o600); err != nil {
		t.Fatal(err)
	}
	doc := uri.File(name)
	d := document(t, apply(t, &w, Opened{URI: doc, Version: 1, Text: "one"}), doc)
	if d.Dirty() || d.Digest() != DigestOf([]byte("one")) {
		t.Errorf("%+v", d)
	}
	s := apply(t, &w, Edited{URI: doc, Version: 2, Edits: []Edit{{at(0, 0, 0, 0), "x"}}})
	if d := document(t, s, doc); !d.Dirty() || len(s.Dirty()) != 1 || d.SavedText() != "one" || d.Digest() != DigestOf("xone") || d.Lines().Line(0) != "xone" {
		t.Errorf("%+v", d)
	}
	if s := apply(t, &w, Edited{URI: doc, Version: 3, Edits: []Edit{{at(0, 0, 0, 1), ""}}}); len(s.Dirty()) != 0 {
		t.Error("an edit that was taken back is still dirty")
	}
	apply(t, &w, Edited{URI: doc, Version: 4, Edits: []Edit{{nil, "four"}}})
	if s := apply(t, &w, Saved{URI: doc}); len(s.Dirty()) != 0 {
		t.Error("dirty after it was saved")
	}
	other := "what the editor really wrote"
	if s := apply(t, &w, Saved{URI: doc, Text: &other}); len(s.Dirty()) != 1 {
		t.Error("a save of another text counts as ours")
	}
}

// TestDirtyWhenOpened: an editor that restored a text that was never saved opens the
// document with it.
func TestDirtyWhenOpened(t *testing.T) {
	name := filepath.Join(t.TempDir(), "a.txt")
	doc := uri.File(name)
	for _, test := range []struct {
		name, disk, text string
		dirty            bool
	}{
		{"as on disk", "one\ntwo\n", "one\ntwo\n", false},
		{"restored", "one\ntwo\n", "one\nthree\n", true},
		{"line ends of the editor's own", "one\r\ntwo\r\n", "one\ntwo", false},
		{"with a mark", "\uFEFFone", "one", false},
		{"UTF-16", "\xFF\xFEo\x00n\x00e\x00", "one", false},
		{"in a charset that is not known", "\xE9t\xE9", "été", false},
		{"a new file", "", "one\n", true},
		{"a new file without text", "", "\n", false},
	} {
		var w Workspace
		_ = os.Remove(name)
		if test.disk != "" {
			if err := os.WriteFile(name, []byte(test.disk), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if d := document(t, apply(t, &w, Opened{URI: doc, Version: 1, Text: test.text}), doc); d.Dirty() != test.dirty {
			t.Errorf("%s: dirty = %v", test.name, d.Dirty())
		}
		s := apply(t, &w, Edited{URI: doc, Version: 2, Edits: []Edit{{nil, "typed"}}})
		if d := document(t, s, doc); !d.Dirty() {
			t.Errorf("%s: what is typed is not dirty", test.name)
		}
		s = apply(t, &w, Edited{URI: doc, Version: 3, Edits: []Edit{{nil, test.text}}})
		if d := document(t, s, doc); d.Dirty() != test.dirty {
			t.Errorf("%s: after undo dirty = %v", test.name, d.Dirty())
		}
		if d := document(t, apply(t, &w, Saved{URI: doc}), doc); d.Dirty() {
			t.Errorf("%s: dirty after it was saved", test.name)
		}
	}
}

// TestReadAgainIsClean: an editor that reads a file again which a program has changed
// tells only that the text changed.
func TestReadAgainIsClean(t *testing.T) {
	var w Workspace
	name := filepath.Join(t.TempDir(), "a.txt")
	doc := uri.File(name)
	for i, text := range []string{"one", "two"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			apply(t, &w, Opened{URI: doc, Version: 1, Text: text})
			continue
		}
		if s := apply(t, &w, Edited{URI: doc, Version: 2, Edits: []Edit{{nil, text}}}); len(s.Dirty()) != 0 {
			t.Error("what the editor read again is dirty")
		}
	}
}

func TestOneDocumentUnderSeveralSpellings(t *testing.T) {
	var w Workspace
	apply(t, &w, FoldersSet{[]Folder{{URI: "file:///link", Path: "/link", Canonical: "/real"}}})
	s := apply(t, &w, Opened{URI: "file:///link/a@b (1).md", Version: 1, Text: "x"})
	for _, u := range []uri.URI{"file:///link/a@b (1).md", "file:///link/a%40b%20(1).md", uri.File("/link/a@b (1).md")} {
		if d, ok := s.Document(u); !ok || d.URI != "file:///link/a@b (1).md" {
			t.Errorf("%s: %v %v", u, d, ok)
		}
	}
	for _, path := range []string{"/link/a@b (1).md", "/real/a@b (1).md"} {
		if _, ok := s.DocumentAt(path); !ok {
			t.Errorf("%s was not found", path)
		}
	}
	if _, ok := s.DocumentAt("/real2/a@b (1).md"); ok {
		t.Error("another folder's file was found")
	}
	if s.Folders()[0].Canonical != "/real" {
		t.Error("no folder")
	}
}

// TestDocumentAtOfLinks: a file that is open through several links is found by its
// own path, the one that was typed in before the others.
func TestDocumentAtOfLinks(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "real", "x.md")
	if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	var w Workspace
	var names []uri.URI
	for _, link := range []string{"one", "two", "z"} {
		if err := os.Symlink(filepath.Dir(path), filepath.Join(dir, link)); err != nil {
			t.Skip(err)
		}
		names = append(names, uri.File(filepath.Join(dir, link, "x.md")))
		apply(t, &w, Opened{URI: names[len(names)-1], Version: 1, Text: "x"})
	}
	if d, ok := w.Snapshot().DocumentAt(path); !ok || d.URI != names[0] {
		t.Errorf("%v %v", d, ok)
	}
	s := apply(t, &w, Edited{URI: names[1], Version: 2, Edits: []Edit{{Text: "y"}}})
	if d, ok := s.DocumentAt(path); !ok || d.URI != names[1] {
		t.Errorf("%v %v", d, ok)
	}
	for _, name := range names {
		s = apply(t, &w, Closed{URI: name})
	}
	if d, ok := s.DocumentAt(path); ok {
		t.Error(d)
	}
}

func TestNegotiatedEncodingCountsInEdits(t *testing.T) {
	var w Workspace
	apply(t, &w, Negotiated{UTF8})
	apply(t, &w, Opened{URI: doc, Version: 1, Text: "é!"})
	if d := document(t, apply(t, &w, Edited{URI: doc, Version: 2, Edits: []Edit{{at(0, 2, 0, 3), "?"}}}), doc); d.Text != "é?" {
		t.Errorf("%q", d.Text)
	}
	if _, err := w.Apply(Negotiated{UTF16}); fault.KindOf(err) != fault.Misplaced || w.Snapshot().Encoding() != UTF8 {
		t.Error(err)
	}
}

// libraries.md, pitfall 14: strings of a decoded message pin all of it.
func TestKeptStringsAreOurOwn(t *testing.T) {
	message := strings.Repeat("x", 1000) + "file:///a.md" + "text" + "go"
	u, text, lang := uri.URI(message[1000:1012]), message[1012:1016], message[1016:]
	within := func(s string) bool {
		p, base := uintptr(unsafe.Pointer(unsafe.StringData(s))), uintptr(unsafe.Pointer(unsafe.StringData(message)))
		return p >= base && p < base+uintptr(len(message))
	}
	var w Workspace
	d := document(t, apply(t, &w, Opened{URI: u, Version: 1, Text: text, LanguageID: lang}), u)
	if within(string(d.URI)) || within(d.Text) || within(d.LanguageID) {
		t.Error("an opened document keeps the message")
	}
	for i, edit := range []Edit{{nil, text}, {at(0, 0, 0, 4), text}} {
		d := document(t, apply(t, &w, Edited{URI: u, Version: int32(2 + i), Edits: []Edit{edit}}), u)
		if within(d.Text) || within(string(d.URI)) {
			t.Errorf("edit %d keeps the message", i)
		}
	}
	other := message[:4]
	apply(t, &w, Saved{URI: u, Text: &other})
	if within(document(t, w.Snapshot(), u).SavedText()) {
		t.Error("a save keeps the message")
	}
	runtime.KeepAlive(message)
}

func TestWatchersHearEveryChangeInOrder(t *testing.T) {
	var w Workspace
	var heard []uint64
	stop := w.Watch(func(s *Snapshot, c Change) {
		heard = append(heard, s.Seq())
		if _, ok := c.(Opened); ok && s.Seq() < 4 {
			// A watcher may apply changes; they are heard afterwards.
			apply(t, &w, Edited{URI: doc, Version: int32(s.Seq() + 1), Edits: []Edit{{nil, "x"}}})
		}
	})
	apply(t, &w, Opened{URI: doc, Version: 1})
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 50 {
				u := uri.URI(fmt.Sprintf("file:///%d/%d", i, j))
				if _, err := w.Apply(Opened{URI: u}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	want := w.Snapshot().Seq()
	if uint64(len(heard)) != want || !slices.IsSorted(heard) {
		t.Fatalf("heard %d of %d changes, in order: %v", len(heard), want, slices.IsSorted(heard))
	}
	stop()
	apply(t, &w, Closed{URI: doc})
	if uint64(len(heard)) != want {
		t.Error("heard after stop")
	}
}

func TestWatcherThatPanicsDoesNotStopTheNews(t *testing.T) {
	var w Workspace
	heard := 0
	w.Watch(func(*Snapshot, Change) {
		if heard++; heard == 1 {
			panic("watcher")
		}
	})
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		apply(t, &w, Opened{URI: doc})
	}()
	apply(t, &w, Closed{URI: doc})
	if heard != 2 {
		t.Errorf("heard %d", heard)
	}
}

func TestApplyEditsLikeANaiveEditor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := texts.Draw(t, "text")
		e := rapid.SampledFrom(encodings).Draw(t, "encoding")
		edits := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Edit {
			edit := Edit{Text: texts.Draw(t, "new")}
			if rapid.IntRange(0, 9).Draw(t, "all") > 0 {
				n := rapid.SliceOfN(rapid.Uint32Range(0, 6), 4, 4).Draw(t, "range")
				edit.Range = at(n[0], n[1], n[2], n[3])
			}
			return edit
		}), 0, 6).Draw(t, "edits")
		checkEdits(t, text, edits, e)
	})
}

func checkEdits(t interface{ Fatalf(string, ...any) }, text string, edits []Edit, e Encoding) {
	want, ok := text, true
	for _, edit := range edits {
		if edit.Range == nil {
			want = edit.Text
			continue
		}
		start, okStart := naiveOffset(want, edit.Range.Start, e)
		end, okEnd := naiveOffset(want, edit.Range.End, e)
		if !okStart || !okEnd || end < start || edit.Range.End.Line < edit.Range.Start.Line {
			ok = false
			break
		}
		want = want[:start] + edit.Text + want[end:]
	}
	got, err := ApplyEdits(text, edits, e)
	if ok != (err == nil) || (ok && got != want) {
		t.Fatalf("%q after %+v = %q, %v, want %q, %v", text, edits, got, err, want, ok)
	}
}

func FuzzApplyEdits(f *testing.F) {
	f.Add("one\r\ntwo", "x\n", uint32(0), uint32(1), uint32(1), uint32(1), byte(0))
	f.Add("😀😀\n", "", uint32(0), uint32(1), uint32(9), uint32(0), byte(1))
	f.Fuzz(func(t *testing.T, text, insert string, a, b, c, d uint32, e byte) {
		enc := encodings[int(e)%len(encodings)]
		one := Edit{at(a%32, b%256, c%32, d%256), insert}
		checkEdits(t, text, []Edit{one}, enc)
		checkEdits(t, text, []Edit{one, {at(b%32, a%256, b%32, c%256), text}, one}, enc)
	})
}

func BenchmarkEdit1MB(b *testing.B) {
	for _, n := range []int{1, 100, 5000} {
		b.Run(fmt.Sprintf("edits=%d", n), func(b *testing.B) {
			var w Workspace
			apply(b, &w, Opened{URI: doc, Version: 1, Text: megabyte()})
			edits := make([]Edit, n)
			for i := range edits {
				edits[i] = Edit{at(uint32(1<<13+i), 4, uint32(1<<13+i), 5), "x"}
			}
			version := int32(1)
			b.ReportAllocs()
			for b.Loop() {
				version++
				apply(b, &w, Edited{URI: doc, Version: version, Edits: edits})
			}
		})
	}
}
