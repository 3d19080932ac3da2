package registry

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/internal/fault"
)

// world is a folder with two workspace folders, a global place and an extension.
type world struct {
	t    testing.TB
	root string
	r    *Registry
}

func newWorld(t testing.TB) *world {
	w := &world{t: t, root: t.TempDir()}
	place := func(scope definition.Scope, folder, dir string) Place {
		if folder != "" {
			folder = filepath.Join(w.root, folder)
		}
		return Place{Scope: scope, Folder: folder, Dir: filepath.Join(w.root, dir)}
	}
	w.r = New(Config{Places: []Place{
		place(definition.Project, "one", "one/.gemini/agents"),
		place(definition.Project, "two", "two/.gemini/agents"),
		place(definition.Global, "", "home/agents"),
		place(definition.Extension, "", "ext/agents"),
	}})
	return w
}

// dirs leads from the short names of the places to their folders.
var dirs = map[string]string{"one": "one/.gemini/agents", "two": "two/.gemini/agents", "home": "home/agents", "ext": "ext/agents"}

func (w *world) path(place, file string) string { return filepath.Join(w.root, dirs[place], file) }

func (w *world) write(place, file, text string) string {
	w.t.Helper()
	path := w.path(place, file)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		w.t.Fatal(err)
	}
	return path
}

// agent writes a fine file of ours.
func (w *world) agent(place, name string) string { return w.write(place, name+".md", text(name)) }

func text(name string) string {
	return "---\nkind: agent\nname: " + name + "\ntitle: T\n---\nYou are " + name + ".\n"
}

func (w *world) load() *Snapshot {
	w.t.Helper()
	s, err := w.r.Load(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

func (w *world) apply(changed ...string) *Snapshot {
	w.t.Helper()
	s, err := w.r.Apply(w.t.Context(), changed, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

// states lists a snapshot as "scope name state", without the built-in agents beside main.
func states(s *Snapshot) []string {
	var list []string
	for _, e := range s.Entries() {
		if e.Definition.Scope == definition.System && e.Definition.Name != mainName {
			continue
		}
		list = append(list, fmt.Sprintf("%s %s %s", e.Definition.Scope, e.Definition.Name, e.State))
	}
	return list
}

func codes(e *Entry) string {
	var list []string
	for _, p := range e.Problems {
		list = append(list, p.Code)
	}
	return strings.Join(list, " ")
}

// find returns the entry of a path.
func find(t testing.TB, s *Snapshot, path string) *Entry {
	t.Helper()
	for _, e := range s.Entries() {
		if e.Definition.Path == path {
			return e
		}
	}
	t.Fatalf("no entry of %s in %v", path, states(s))
	return nil
}

// TestPrecedence: the winner is used, the loser stays visible (spec 1.1).
func TestPrecedence(t *testing.T) {
	w := newWorld(t)
	if got := states(w.r.Snapshot()); !reflect.DeepEqual(got, []string{"system main ok"}) {
		t.Fatalf("before the first load: %v", got)
	}
	winner := w.agent("one", "fixer")
	w.agent("two", "fixer")
	w.agent("home", "fixer")
	w.agent("ext", "fixer")
	w.agent("ext", "only-ext")
	w.agent("home", "zed")
	s := w.load()
	want := []string{"project fixer ok", "project fixer ok", "global fixer shadowed", "global zed ok", "extension fixer shadowed", "extension only-ext ok", "system main ok"}
	if got := states(s); !reflect.DeepEqual(got, want) {
		t.Fatalf("%v", got)
	}
	for _, e := range s.Entries() {
		if e.State == Shadowed && e.ShadowedBy != winner {
			t.Errorf("%s is shadowed by %q", e.Definition.Path, e.ShadowedBy)
		}
		if e.State != Shadowed && e.ShadowedBy != "" {
			t.Errorf("%s: %q", e.Definition.Path, e.ShadowedBy)
		}
	}
	one, two := filepath.Join(w.root, "one"), filepath.Join(w.root, "two")
	for _, test := range []struct{ folder, name, path string }{
		{"", "fixer", winner}, {one, "fixer", winner}, {two, "fixer", w.path("two", "fixer.md")}, {"/elsewhere", "fixer", winner},
		{one, "two:fixer", w.path("two", "fixer.md")}, {two, one + ":fixer", winner}, {two, "zed", w.path("home", "zed.md")}, {one, "main", ""},
	} {
		e, err := s.Lookup(test.folder, test.name)
		if err != nil || e.Definition.Path != test.path {
			t.Errorf("%s in %s: %v %v", test.name, test.folder, e, err)
		}
	}
	for _, name := range []string{"one:zed", "three:fixer", "nope", "", ":", "one:"} {
		if _, err := s.Lookup(one, name); fault.KindOf(err) != fault.NotFound {
			t.Errorf("%q: %v", name, err)
		}
	}
	if len(s.Problems()) > 0 {
		t.Error(s.Problems())
	}
}

// TestUnknownAgent: the error carries suggestions.
func TestUnknownAgent(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"code-fixer", "code-reviewer", "debugger", "documenter", "tester", "a-debugger-of-go"} {
		w.agent("home", name)
	}
	w.write("home", "broken.md", "---\nname: debuger2\n---\n")
	s := w.load()
	for name, want := range map[string][]string{
		"debuger": {"debugger", "a-debugger-of-go"}, "code": {"code-fixer", "code-reviewer", "codebase_investigator"}, "Tester": {"tester"}, "xyzzy": {}, "debug": {"debugger", "a-debugger-of-go"},
	} {
		_, err := s.Lookup("", name)
		reason, data := fault.ReasonOf(err)
		got, _ := data["suggestions"].([]string)
		if reason != fault.UnknownAgent || got == nil {
			t.Fatalf("%v %v", reason, data)
		}
		if name == "debuger" || name == "debug" {
			// The substring comes after the near name.
			if len(got) == 0 || got[0] != want[0] {
				t.Errorf("%s: %v", name, got)
			}
			continue
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v", name, got)
		}
	}
	for i := range 9 {
		w.agent("home", fmt.Sprintf("many-%d", i))
	}
	_, err := w.load().Lookup("", "many")
	if _, data := fault.ReasonOf(err); len(data["suggestions"].([]string)) != 5 {
		t.Error(data)
	}
}

// TestDuplicates: the same name twice in one scope: both are diagnosed, neither
// is used, and no other scope's agent takes the place.
func TestDuplicates(t *testing.T) {
	w := newWorld(t)
	a := w.write("one", "a.md", text("same"))
	b := w.write("one", "b.md", text("same"))
	w.agent("home", "same")
	w.write("one", "fine.md", text("fine"))
	s := w.load()
	for _, path := range []string{a, b} {
		e := find(t, s, path)
		if e.State != Duplicate || (codes(e) != "agent/file-name agent/duplicate-name" && codes(e) != "agent/duplicate-name agent/file-name") {
			t.Errorf("%s: %s %s", path, e.State, codes(e))
		}
		p := e.Problems[slices.IndexFunc(e.Problems, func(p definition.Problem) bool { return p.Code == "agent/duplicate-name" })]
		if p.Range.Start.Line != 2 || p.Range.Start.Character != 6 || p.URI != definition.FileURI(path) || p.Severity != definition.Error {
			t.Errorf("%+v", p)
		}
		if strings.Contains(codes(&Entry{Problems: e.Definition.Problems}), "duplicate") {
			t.Error("the definition was changed")
		}
	}
	_, err := s.Lookup("", "same")
	reason, data := fault.ReasonOf(err)
	if problems, _ := data["problems"].([]definition.Problem); reason != fault.InvalidAgent || fault.KindOf(err) != fault.Invalid || len(problems) != 1 || problems[0].Code != "agent/duplicate-name" {
		t.Errorf("%v %v", err, data)
	}
	if e := find(t, s, w.path("home", "same.md")); e.State != Shadowed {
		t.Errorf("%s", e.State)
	}
	if err := os.Remove(b); err != nil {
		t.Fatal(err)
	}
	next := w.apply(b)
	if e, err := next.Lookup("", "same"); err != nil || e.Definition.Path != a {
		t.Errorf("after a removal: %v %v", e, err)
	}
	changed, removed := next.Diff(s)
	if !slices.Equal(changed, []string{"same"}) || len(removed) != 0 {
		t.Errorf("%v %v", changed, removed)
	}
}

// TestMainIsNotReplaced: a file of that name is an error and hides nothing.
func TestMainIsNotReplaced(t *testing.T) {
	w := newWorld(t)
	path := w.agent("one", "main")
	s := w.load()
	if e, err := s.Lookup(filepath.Join(w.root, "one"), "main"); err != nil || e.Definition.Scope != definition.System {
		t.Errorf("%v %v", e, err)
	}
	if e := find(t, s, path); e.State != Invalid || codes(e) != "agent/name" {
		t.Errorf("%s %s", e.State, codes(e))
	}
	m, err := s.Lookup("", "main")
	if err != nil || len(m.Problems) != 0 || m.Definition.Title != "Main" || !slices.Equal(m.Definition.MCPServers, []string{"*"}) || !slices.Equal(m.Definition.Subagents, []string{"*"}) || m.Definition.Tools.Given || len(m.Definition.Prompt) < 1000 {
		t.Errorf("%+v %v", m, err)
	}
}

// TestInvalid: a broken file is listed and refused, with its place; an agent of
// another scope does not take its place.
func TestInvalid(t *testing.T) {
	w := newWorld(t)
	w.write("one", "bad.md", "---\nname: [x\n---\n")
	w.agent("home", "bad")
	w.agent("one", "good")
	s := w.load()
	_, err := s.Lookup("", "bad")
	if reason, _ := fault.ReasonOf(err); reason != fault.InvalidAgent || !strings.Contains(fault.Message(err), "bad.md:2:") {
		t.Errorf("%v", err)
	}
	if _, err := s.Lookup("", "good"); err != nil {
		t.Error(err)
	}
}

// TestIgnoredNames: hidden files, editors' files and other kinds (spec 1.1).
func TestIgnoredNames(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{".a.md", "_a.md", "a.md~", ".a.md.swp", "#a.md#", "a.txt", ".md", "a.md.swp"} {
		w.write("home", name, text("x"))
	}
	w.write("home", "templates/t.md", text("t"))
	if got := states(w.load()); len(got) != 1 {
		t.Error(got)
	}
}

// TestSEC120StrangeFiles: what is no readable file is a problem of its own, and
// hurts nobody.
func TestSEC120StrangeFiles(t *testing.T) {
	w := newWorld(t)
	good := w.agent("one", "good")
	link := func(target, name string) {
		if err := os.Symlink(target, w.path("one", name)); err != nil {
			t.Skip(err)
		}
	}
	if err := os.Mkdir(w.path("one", "folder.md"), 0o755); err != nil {
		t.Fatal(err)
	}
	w.write("one", "large.md", text("large")+strings.Repeat("x", 1<<20))
	w.write("one", "nul.md", "---\nname: \x00\n---\n")
	w.write("one", "empty.md", "")
	outside := w.write("home", "target.md", text("out"))
	link(outside, "out.md")
	link("nowhere", "dangling.md")
	link("loop.md", "loop.md")
	inside := filepath.Join(w.root, "one", "shared.txt")
	if err := os.WriteFile(inside, []byte(text("in")), 0o644); err != nil {
		t.Fatal(err)
	}
	link(inside, "in.md")
	secret := w.write("one", "secret.md", text("secret"))
	if err := os.Chmod(secret, 0); err != nil {
		t.Fatal(err)
	}
	s := w.load()
	want := map[string]string{"folder": "agent/yaml", "large": "agent/too-large", "nul": "agent/yaml", "empty": "agent/yaml", "out": "agent/yaml", "dangling": "agent/yaml", "loop": "agent/yaml", "secret": "agent/yaml"}
	if os.Geteuid() == 0 {
		// The superuser reads everything.
		delete(want, "secret")
	}
	for name, code := range want {
		e := find(t, s, w.path("one", name+".md"))
		if e.State != Invalid || codes(e) != code {
			t.Errorf("%s: %s %s", name, e.State, codes(e))
		}
	}
	for _, name := range []string{"good", "in"} {
		if _, err := s.Lookup("", name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if again := w.load(); again != s {
		changed, removed := again.Diff(s)
		t.Errorf("a second load found changes: %v %v", changed, removed)
	}
	_ = good
}

// TestFolders: a folder that cannot be read is a problem of the catalogue; one
// that is not there is none; one that leads out of its workspace is not read.
func TestFolders(t *testing.T) {
	w := newWorld(t)
	w.agent("home", "fine")
	if err := os.MkdirAll(filepath.Join(w.root, "one", ".gemini"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(w.root, "one", ".gemini", "agents"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(w.root, "two", ".gemini"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(w.root, "home", "agents"), filepath.Join(w.root, "two", ".gemini", "agents")); err != nil {
		t.Skip(err)
	}
	s := w.load()
	if got := states(s); !slices.Equal(got, []string{"global fine ok", "system main ok"}) {
		t.Error(got)
	}
	if len(s.Problems()) != 2 {
		t.Fatal(s.Problems())
	}
	if again := w.load(); again != s {
		t.Error("a second load found changes")
	}
}

// TestREL114HalfWritten: a file that breaks off keeps its last good version and
// shows the problem; the same bytes again are meant.
func TestREL114HalfWritten(t *testing.T) {
	w := newWorld(t)
	path := w.agent("one", "fixer")
	s := w.load()
	before, _ := s.Lookup("", "fixer")
	for _, half := range []string{"", "---\nkind: agent\nna", "---\nkind: agent\nname: fixer\n---\n"} {
		w.write("one", "fixer.md", half)
		s = w.apply(path)
		e, err := s.Lookup("", "fixer")
		if err != nil || !e.Stale || e.Definition != before.Definition || !slices.ContainsFunc(e.Problems, definition.Problem.Fatal) {
			t.Fatalf("%q: %+v %v", half, e, err)
		}
		if !slices.Equal(s.Stale(), []string{path}) {
			t.Errorf("%v", s.Stale())
		}
	}
	// Read again with nothing new, it is broken.
	s = w.apply(s.Stale()...)
	if _, err := s.Lookup("", "fixer"); err == nil || len(s.Stale()) != 0 {
		t.Error("a broken file stays good for ever")
	}
	w.agent("one", "fixer")
	s = w.apply(path)
	if e, err := s.Lookup("", "fixer"); err != nil || e.Stale {
		t.Errorf("%v", err)
	}
	// An error that no half of a file has is at once the state.
	w.write("one", "fixer.md", strings.Replace(text("fixer"), "title: T", "title: T\ntemperature: 9", 1))
	if _, err := w.apply(path).Lookup("", "fixer"); err == nil {
		t.Error("a type error is not told")
	}
}

// TestApply: only what is named is read again; paths of no place are nothing.
func TestApply(t *testing.T) {
	w := newWorld(t)
	a, b := w.agent("one", "a"), w.agent("one", "b")
	s := w.load()
	if got := w.apply(filepath.Join(w.root, "one", "x.md"), w.path("one", ".a.md"), w.path("one", "nope.md"), a); got != s {
		t.Error("nothing changed, but the snapshot did")
	}
	keepB := find(t, s, b)
	w.write("one", "a.md", text("a")+"More.\n")
	c := w.agent("two", "c")
	next := w.apply(a, c)
	if next.Revision != s.Revision+1 || find(t, next, b) != keepB || !strings.Contains(find(t, next, a).Definition.Prompt, "More.") {
		t.Errorf("%d %v", next.Revision, states(next))
	}
	if changed, removed := next.Diff(s); !slices.Equal(changed, []string{"a", "c"}) || len(removed) != 0 {
		t.Errorf("%v %v", changed, removed)
	}
	if changed, removed := next.Diff(nil); !slices.Equal(changed, []string{"a", "b", "c", "codebase_investigator", "main"}) || removed != nil {
		t.Errorf("%v %v", changed, removed)
	}
	if find(t, s, a).Definition.Prompt != "You are a." {
		t.Error("an old snapshot changed")
	}
	// A folder that goes takes its agents with it.
	if err := os.RemoveAll(filepath.Join(w.root, "one")); err != nil {
		t.Fatal(err)
	}
	gone, err := w.r.Apply(t.Context(), nil, []string{filepath.Join(w.root, "one")})
	if err != nil {
		t.Fatal(err)
	}
	if changed, removed := gone.Diff(next); len(changed) != 0 || !slices.Equal(removed, []string{"a", "b"}) {
		t.Errorf("%v %v", changed, removed)
	}
}

// TestLoadNoticesChanges: without a watcher, a load finds what stat shows.
func TestLoadNoticesChanges(t *testing.T) {
	w := newWorld(t)
	w.agent("one", "a")
	s := w.load()
	if w.load() != s {
		t.Error("nothing changed")
	}
	w.write("one", "a.md", text("a")+"Longer.\n")
	next := w.load()
	if next == s || next.Revision <= s.Revision {
		t.Error("the change is not seen")
	}
	if err := os.Rename(w.path("one", "a.md"), w.path("one", "b.md")); err != nil {
		t.Fatal(err)
	}
	if e := find(t, w.load(), w.path("one", "b.md")); codes(e) != "agent/file-name" {
		t.Error(codes(e))
	}
}

// TestPlacesAndModels: places come and go; a change of settings parses again.
func TestPlacesAndModels(t *testing.T) {
	w := newWorld(t)
	w.write("one", "a.md", strings.Replace(text("a"), "title: T", "title: T\nmodel: zed", 1))
	w.agent("two", "b")
	known := false
	w.r.config.Model = func(name string) (string, bool) { return "real-" + name, known }
	s := w.load()
	if e, _ := s.Lookup("", "a"); codes(e) != "agent/model-unknown" {
		t.Error(codes(e))
	}
	known = true
	s, err := w.r.Reparse(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if e, _ := s.Lookup("", "a"); codes(e) != "" || e.Definition.Model != "real-zed" {
		t.Error(codes(e))
	}
	s, err = w.r.SetPlaces(t.Context(), w.r.places[1:])
	if err != nil || !slices.Equal(states(s), []string{"project b ok", "system main ok"}) {
		t.Errorf("%v %v", states(s), err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got, err := w.r.Load(ctx); !errors.Is(err, context.Canceled) || got != s {
		t.Errorf("%v", err)
	}
}

// TestPublicCollections: the public files load together: no folder has two of a
// name, and every one is usable.
func TestPublicCollections(t *testing.T) {
	found, _ := filepath.Glob(filepath.Join("..", "..", "..", "shared", "data", "agents", "*"))
	if len(found) == 0 {
		t.Skip("the public agent files are not there")
	}
	var places []Place
	for _, dir := range found {
		places = append(places, Place{Scope: definition.Extension, Dir: dir})
	}
	s, err := New(Config{Places: places}).Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	count := make(map[State]int)
	for _, e := range s.Entries() {
		count[e.State]++
		if e.State != OK && e.State != Shadowed {
			t.Errorf("%s: %s %s", e.Definition.Path, e.State, codes(e))
		}
	}
	t.Logf("%v", count)
}

// TestParallel: readers and writers at once.
func TestParallel(t *testing.T) {
	w := newWorld(t)
	path := w.agent("one", "a")
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for range 50 {
				w.r.Load(context.WithoutCancel(t.Context()))
				w.r.Apply(context.WithoutCancel(t.Context()), []string{path}, nil)
				if _, err := w.r.Snapshot().Lookup("", "main"); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
}

// TestRenumber: the same agents under the next revision, and no change of files
// is one against it.
func TestRenumber(t *testing.T) {
	w := newWorld(t)
	w.agent("one", "a")
	before := w.load()
	s := w.r.Renumber()
	if s.Revision != before.Revision+1 || w.r.Snapshot() != s || !slices.Equal(s.Entries(), before.Entries()) {
		t.Errorf("revision %d after %d", s.Revision, before.Revision)
	}
	if changed, removed := s.Diff(before); len(changed)+len(removed) > 0 {
		t.Errorf("changed %v, removed %v", changed, removed)
	}
	if w.load() != s {
		t.Error("nothing changed since")
	}
}
