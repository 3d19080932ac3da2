package registry

// Small changes of large catalogues: what is decided anew must be what all would
// have been decided to.

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/agentls/agentls/agents/definition"
)

// picture is all that a snapshot says.
func picture(s *Snapshot) []string {
	var list []string
	for _, e := range s.Entries() {
		list = append(list, fmt.Sprintf("%s %s %s %s %s %v %v", e.Definition.Scope, e.Definition.Name, e.Definition.Path, e.State, e.ShadowedBy, e.Stale, e.Problems))
	}
	for _, folder := range []string{"", "one", "two", "one:", "two:"} {
		for _, name := range []string{"a", "b", "c", "main"} {
			at := ""
			if prefix, ok := strings.CutSuffix(folder, ":"); ok {
				name = prefix + ":" + name
			} else if folder != "" {
				for _, p := range s.places {
					if filepath.Base(p.Folder) == folder {
						at = p.Folder
					}
				}
			}
			e, err := s.Lookup(at, name)
			list = append(list, fmt.Sprintf("%s in %s: %v", name, folder, err))
			if e != nil {
				list = append(list, e.Definition.Path)
			}
		}
	}
	for _, p := range s.Problems() {
		list = append(list, p.Message)
	}
	return append(list, s.Stale()...)
}

// byHand compares two snapshots name by name.
func byHand(s, old *Snapshot) (changed, removed []string) {
	groups := func(s *Snapshot) map[string][]*Entry {
		m := make(map[string][]*Entry)
		for _, e := range s.entries {
			m[e.Definition.Name] = append(m[e.Definition.Name], e)
		}
		return m
	}
	before, after := groups(old), groups(s)
	for name, entries := range after {
		if !slices.EqualFunc(before[name], entries, equal) {
			changed = append(changed, name)
		}
	}
	for name := range before {
		if after[name] == nil {
			removed = append(removed, name)
		}
	}
	slices.Sort(changed)
	slices.Sort(removed)
	return changed, removed
}

// TestApplyIsLoad: whatever becomes of files, reading those that changed gives
// what reading everything gives, and the names that changed are those.
func TestApplyIsLoad(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t)
		root, err := os.MkdirTemp(w.root, "")
		if err != nil {
			rt.Fatal(err)
		}
		w.root = root
		var places []Place
		for _, p := range []string{"one", "two"} {
			places = append(places, Place{Scope: definition.Project, Folder: filepath.Join(root, p), Dir: filepath.Join(root, dirs[p])})
		}
		places = append(places, Place{Scope: definition.Global, Dir: filepath.Join(root, dirs["home"])}, Place{Scope: definition.Extension, Dir: filepath.Join(root, dirs["ext"])})
		w.r = New(Config{Places: places})
		s := w.load()
		all := []*Snapshot{s}
		for range rapid.IntRange(1, 12).Draw(rt, "steps") {
			var touched []string
			for range rapid.IntRange(1, 4).Draw(rt, "files") {
				place := rapid.SampledFrom([]string{"one", "two", "home", "ext"}).Draw(rt, "place")
				file := rapid.SampledFrom([]string{"a.md", "b.md", "c.md", "x y.md"}).Draw(rt, "file")
				name := rapid.SampledFrom([]string{"a", "b", "c", "main"}).Draw(rt, "name")
				body := rapid.SampledFrom([]string{text(name), text(name) + "More.\n", "---\nname: " + name, "---\nkind: agent\nname: A " + name + "\n---\nx\n", ""}).Draw(rt, "text")
				touched = append(touched, w.path(place, file))
				if rapid.IntRange(0, 3).Draw(rt, "remove") == 0 {
					_ = os.Remove(w.path(place, file))
				} else {
					w.write(place, file, body)
				}
			}
			next := w.apply(touched...)
			all = append(all, next)
		}
		// Half-written files are settled; then nothing depends on what was before.
		for len(w.r.Snapshot().Stale()) > 0 {
			all = append(all, w.apply(w.r.Snapshot().Stale()...))
		}
		fresh, err := New(Config{Places: places}).Load(t.Context())
		if err != nil {
			rt.Fatal(err)
		}
		if got, want := picture(w.r.Snapshot()), picture(fresh); !reflect.DeepEqual(got, want) {
			rt.Fatalf("applied\n%s\n\nloaded\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		if w.load() != all[len(all)-1] {
			rt.Fatal("a load finds what Apply did not")
		}
		for i, s := range all {
			old := all[rapid.IntRange(0, i).Draw(rt, "old")]
			changed, removed := s.Diff(old)
			wantChanged, wantRemoved := byHand(s, old)
			if !slices.Equal(changed, wantChanged) || !slices.Equal(removed, wantRemoved) {
				rt.Fatalf("changed %q %q, by hand %q %q", changed, removed, wantChanged, wantRemoved)
			}
		}
	})
}

// TestREL118HundredFolders: folders come and go while the rest stays as it is;
// the same name in two is no duplicate, and a name means the folder's own agent,
// then the first other's.
func TestREL118HundredFolders(t *testing.T) {
	root := t.TempDir()
	var places []Place
	for i := range 100 {
		folder := filepath.Join(root, fmt.Sprint(i))
		places = append(places, Place{Scope: definition.Project, Folder: folder, Dir: filepath.Join(folder, ".gemini", "agents")})
		write(t, filepath.Join(places[i].Dir, "same.md"), text("same"))
		write(t, filepath.Join(places[i].Dir, fmt.Sprintf("only-%d.md", i)), text(fmt.Sprintf("only-%d", i)))
		// Deep beneath, and beside: not for us.
		write(t, filepath.Join(places[i].Dir, "deep", "no.md"), text("no"))
		write(t, filepath.Join(folder, "src", ".gemini", "agents", "no.md"), text("no"))
	}
	r := New(Config{Places: places[:60]})
	s, err := r.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	kept, _ := s.Lookup("", "only-59")
	// The first go, others come, and the order turns.
	moved := slices.Clone(places[40:])
	slices.Reverse(moved)
	s, err = r.SetPlaces(t.Context(), moved)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Entries()) != 2*60+len(systemAgents()) {
		t.Errorf("%d entries", len(s.Entries()))
	}
	for _, e := range s.Entries() {
		if e.State != OK {
			t.Errorf("%s: %s", e.Definition.Path, e.State)
		}
	}
	if e, err := s.Lookup("", "only-59"); err != nil || e.Definition != kept.Definition {
		t.Errorf("a file of a folder that stays was read again (%v)", err)
	}
	if e, err := s.Lookup(places[50].Folder, "same"); err != nil || e.Definition.Folder != places[50].Folder {
		t.Errorf("%+v %v", e, err)
	}
	if e, err := s.Lookup(places[50].Folder, "only-70"); err != nil || e.Definition.Folder != places[70].Folder {
		t.Errorf("%+v %v", e, err)
	}
	if e, err := s.Lookup("/elsewhere", "same"); err != nil || e.Definition.Folder != places[99].Folder {
		t.Errorf("%+v %v", e, err)
	}
	if e, err := s.Lookup(places[50].Folder, "41:same"); err != nil || e.Definition.Folder != places[41].Folder {
		t.Errorf("%+v %v", e, err)
	}
	if e, err := s.Lookup("", "only-3"); err == nil {
		t.Errorf("%+v is of a folder that went", e)
	}
	// A change in a folder that came is seen, in one that went it is nothing.
	write(t, filepath.Join(places[99].Dir, "new.md"), text("new"))
	write(t, filepath.Join(places[3].Dir, "new.md"), text("new"))
	s, err = r.Apply(t.Context(), []string{filepath.Join(places[99].Dir, "new.md"), filepath.Join(places[3].Dir, "new.md")}, nil)
	if e, found := s.Lookup("", "new"); err != nil || found != nil || e.Definition.Folder != places[99].Folder {
		t.Errorf("%v %v", err, found)
	}
	// A load that is cut short leaves the places as they were.
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.SetPlaces(ctx, nil); err == nil {
		t.Error("cancelled, and done")
	}
	if again, err := r.Load(t.Context()); err != nil || again != s {
		t.Errorf("the places changed (%v)", err)
	}
}

// TestNestedFolders: a folder of the workspace may lie in another, be named
// twice, or be the person's own; no file is there twice.
func TestNestedFolders(t *testing.T) {
	root := t.TempDir()
	outer, inner := filepath.Join(root, "w"), filepath.Join(root, "w", "sub")
	project := func(folder, name string) Place {
		return Place{Scope: definition.Project, Folder: folder, Dir: filepath.Join(folder, ".gemini", "agents"), Name: name}
	}
	write(t, filepath.Join(outer, ".gemini", "agents", "a.md"), text("a"))
	write(t, filepath.Join(outer, ".gemini", "agents", "b.md"), text("b"))
	write(t, filepath.Join(inner, ".gemini", "agents", "a.md"), text("a"))
	r := New(Config{Places: []Place{project(outer, "out"), project(inner, "in"), project(outer, "again"), project(inner+"/", "")}})
	load := func() *Snapshot {
		s, err := r.Load(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := load()
	if got := states(s); !slices.Equal(got, []string{"project a ok", "project a ok", "project b ok", "system main ok"}) {
		t.Error(got)
	}
	for name, folder := range map[string]string{"out:a": outer, "in:a": inner, "again:a": outer, "again:b": outer} {
		if e, err := s.Lookup("", name); err != nil || e.Definition.Folder != folder {
			t.Errorf("%s: %+v %v", name, e, err)
		}
	}
	if e, err := s.Lookup(inner, "a"); err != nil || e.Definition.Folder != inner {
		t.Errorf("%+v %v", e, err)
	}
	if e, err := s.Lookup(inner, "b"); err != nil || e.Definition.Folder != outer {
		t.Errorf("%+v %v", e, err)
	}
	// One file under two names, by a link within the outer folder: each folder has it.
	if err := os.RemoveAll(filepath.Join(inner, ".gemini")); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(outer, ".gemini"), filepath.Join(inner, ".gemini")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(inner, ".gemini"), filepath.Join(outer, ".gemini")); err != nil {
		t.Skip(err)
	}
	if got := states(load()); !slices.Equal(got, []string{"project a ok", "project a ok", "project b ok", "project b ok", "system main ok"}) {
		t.Error(got)
	}
	// The workspace is the person's home: its agents are the person's, and need no trust.
	home := Place{Scope: definition.Global, Dir: filepath.Join(inner, ".gemini", "agents")}
	s, err := r.SetPlaces(t.Context(), []Place{project(inner, ""), home})
	if got := states(s); err != nil || !slices.Equal(got, []string{"global a ok", "global b ok", "system main ok"}) {
		t.Error(got, err)
	}
	write(t, filepath.Join(home.Dir, "c.md"), text("c"))
	s, err = r.Apply(t.Context(), []string{filepath.Join(home.Dir, "c.md")}, nil)
	if got := states(s); err != nil || !slices.Equal(got, []string{"global a ok", "global b ok", "global c ok", "system main ok"}) {
		t.Error(got, err)
	}
}

// TestSEC53ChangesBehindALinkAreNotRead: a folder that is a link out of its
// workspace is not read by its files' names either.
func TestSEC53ChangesBehindALinkAreNotRead(t *testing.T) {
	w := newWorld(t)
	outside := filepath.Join(w.root, "outside")
	write(t, filepath.Join(outside, "a.md"), text("a"))
	if err := os.MkdirAll(filepath.Join(w.root, "one", ".gemini"), 0o755); err != nil {
		t.Fatal(err)
	}
	w.load()
	if err := os.Symlink(outside, filepath.Join(w.root, dirs["one"])); err != nil {
		t.Skip(err)
	}
	for range 2 {
		s := w.apply(w.path("one", "a.md"))
		if got := states(s); !slices.Equal(got, []string{"system main ok"}) || len(s.Problems()) != 1 {
			t.Errorf("%v %v", got, s.Problems())
		}
	}
	if err := os.Remove(filepath.Join(w.root, dirs["one"])); err != nil {
		t.Fatal(err)
	}
	w.agent("one", "a")
	if s := w.apply(w.path("one", "a.md")); len(s.Problems()) != 0 || len(states(s)) != 2 {
		t.Errorf("%v %v", states(s), s.Problems())
	}
}

// write writes a file and the folders above it.
func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
