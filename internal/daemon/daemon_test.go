package daemon

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentls/agentls/agents/registry"
	"github.com/agentls/agentls/handlers"
	"github.com/agentls/agentls/internal/settings"
	"github.com/agentls/agentls/workspace"
)

// bed is a daemon's parts without a connection.
type bed struct {
	t        *testing.T
	config   Config
	daemon   *handlers.Daemon
	answered chan struct{}
	changed  chan *registry.Snapshot // the catalog after each change
	problems chan []string           // of settings and trust, whenever they were told
	trusted  chan *registry.Snapshot // the catalog after each change of trust; may be nil
}

func newBed(t *testing.T, environ ...string) *bed {
	home := t.TempDir()
	return &bed{
		t: t, answered: make(chan struct{}), changed: make(chan *registry.Snapshot, 64), problems: make(chan []string, 64),
		config: Config{
			Home: home, Trust: true, Version: "test", Now: time.Now, Log: slog.New(slog.DiscardHandler),
			Environ: append(environ, "HOME="+filepath.Join(home, "nobody")),
		},
	}
}

// folder makes a workspace folder with agents and settings.
func folder(t *testing.T, settings string, agents ...string) workspace.Folder {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if settings != "" {
		write(t, filepath.Join(dir, ".gemini", "settings.json"), settings)
	}
	for _, name := range agents {
		agent(t, dir, name)
	}
	return workspace.Folder{Name: filepath.Base(dir), Path: dir, Canonical: dir}
}

func agent(t *testing.T, dir, name string) {
	t.Helper()
	write(t, filepath.Join(dir, ".gemini", "agents", name+".md"), "---\nkind: agent\nname: "+name+"\ntitle: T\nmodel: mine\n---\nHello.\n")
}

func write(t *testing.T, file, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (b *bed) build(folders ...workspace.Folder) *handlers.Daemon {
	b.t.Helper()
	var err error
	b.daemon, err = b.config.build(b.t.Context(), handlers.Site{
		Folders:   folders,
		Workspace: new(workspace.Workspace),
		Changed:   func(_, after *registry.Snapshot) { b.changed <- after },
		Trusted: func(s *registry.Snapshot) {
			if b.trusted != nil {
				b.trusted <- s
			}
		},
		Health:   func(string, error) {},
		Problems: func(all []string) { b.problems <- all },
	}, b.answered, new(parts))
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() {
		if err := b.daemon.Close(); err != nil {
			b.t.Error(err)
		}
	})
	return b.daemon
}

// answer says that initialize has been answered.
func (b *bed) answer() { close(b.answered) }

// projects returns the names of the catalog's project agents.
func (b *bed) projects() []string {
	b.t.Helper()
	s, err := b.daemon.Catalog(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	return projects(s)
}

func projects(s *registry.Snapshot) []string {
	var names []string
	for _, e := range s.Entries() {
		if e.Definition.Folder != "" {
			names = append(names, e.Definition.Name)
		}
	}
	slices.Sort(names)
	return names
}

// until waits for a catalog that is as wanted.
func (b *bed) until(want func(*registry.Snapshot) bool) {
	b.t.Helper()
	for {
		select {
		case s := <-b.changed:
			if want(s) {
				return
			}
		case <-b.t.Context().Done():
			b.t.Fatal("the catalog did not become what it should")
		}
	}
}

// told waits until what is wrong with settings and trust is one thing with these
// words, or nothing where none are given.
func (b *bed) told(words ...string) {
	b.t.Helper()
	for {
		select {
		case all := <-b.problems:
			if len(words) == 0 && len(all) == 0 {
				return
			}
			if len(words) > 0 && len(all) == 1 && !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(all[0], w) }) {
				return
			}
		case <-b.t.Context().Done():
			b.t.Fatalf("was not told %q", words)
		}
	}
}

// TestTheCatalogIsReadAfterTheAnswer: initialize does not wait for it, and it
// does not take the processor from the answer.
func TestTheCatalogIsReadAfterTheAnswer(t *testing.T) {
	b := newBed(t)
	b.build(folder(t, "", "one"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if s, err := b.daemon.Catalog(ctx); err == nil {
		t.Errorf("there is a catalog before the answer: %v", projects(s))
	}
	b.answer()
	if got := b.projects(); !slices.Equal(got, []string{"one"}) {
		t.Errorf("got %v", got)
	}
}

func TestAHouseThatWasNeverAnsweredCloses(t *testing.T) {
	b := newBed(t)
	b.build(folder(t, "", "one")) // the cleanup closes it
}

func TestFoldersChangeWhileTheDaemonRuns(t *testing.T) {
	b := newBed(t)
	first, second, third := folder(t, "", "one"), folder(t, "", "two"), folder(t, `{"agents": {"defaultScope": 5}}`, "three")
	h := b.build(first, second)
	b.answer()
	if got := b.projects(); !slices.Equal(got, []string{"one", "two"}) {
		t.Fatalf("at the start: %v", got)
	}
	if err := h.SetFolders(t.Context(), []workspace.Folder{second, third}); err != nil {
		t.Fatal(err)
	}
	// Who asks right after the change sees it.
	if got := b.projects(); !slices.Equal(got, []string{"three", "two"}) {
		t.Errorf("after the change: %v", got)
	}
	if got := h.Reach(); !slices.Equal(got, []string{second.Canonical, third.Canonical}) {
		t.Errorf("runs reach %v", got)
	}
	b.told(filepath.Join(third.Canonical, ".gemini", "settings.json")+":1:", "agents.defaultScope")
	// The new folder is watched.
	agent(t, third.Canonical, "four")
	b.until(func(s *registry.Snapshot) bool { return slices.Equal(projects(s), []string{"four", "three", "two"}) })
	if err := h.SetFolders(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if got := b.projects(); len(got) != 0 {
		t.Errorf("without folders: %v", got)
	}
	if err := h.SetFolders(t.Context(), []workspace.Folder{first}); err != nil {
		t.Fatal(err)
	}
	if got := b.projects(); !slices.Equal(got, []string{"one"}) {
		t.Errorf("with the first again: %v", got)
	}
}

// TestTheAgentsOfThePersonFollowTheFolders: what is found in an agent of theirs, which
// runs in all folders, is what the folders that there are now have.
func TestTheAgentsOfThePersonFollowTheFolders(t *testing.T) {
	b := newBed(t)
	write(t, filepath.Join(b.config.Home, "agents", "mine.md"), "---\nkind: agent\nname: mine\ntitle: T\nmcp: {servers: [github]}\nguardrails: {custom_validator: 'command:bin/check'}\n---\nHello.\n")
	without, with := folder(t, ""), folder(t, `{"mcpServers": {"github": {"command": "x"}}}`)
	check := filepath.Join(with.Canonical, "bin", "check")
	write(t, check, "#!/bin/sh\n")
	if err := os.Chmod(check, 0o700); err != nil {
		t.Fatal(err)
	}
	h := b.build(without)
	b.answer()
	found := func() string {
		s, err := b.daemon.Catalog(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var codes []string
		for _, e := range s.Entries() {
			if e.Definition.Name == "mine" {
				for _, p := range e.Definition.Problems {
					codes = append(codes, p.Code)
				}
			}
		}
		slices.Sort(codes)
		return strings.Join(codes, " ")
	}
	const missing = "agent/mcp-unknown agent/validator"
	for _, c := range []struct {
		folders []workspace.Folder
		want    string
	}{{nil, missing}, {[]workspace.Folder{without, with}, ""}, {[]workspace.Folder{without}, missing}, {[]workspace.Folder{with}, ""}, {[]workspace.Folder{}, missing}} {
		if c.folders != nil {
			if err := h.SetFolders(t.Context(), c.folders); err != nil {
				t.Fatal(err)
			}
		}
		if got := found(); got != c.want {
			t.Errorf("with %v: %q, want %q", c.folders, got, c.want)
		}
	}
}

// TestFoldersChangeBeforeTheCatalogIsRead has a client that changes its mind at
// once.
func TestFoldersChangeBeforeTheCatalogIsRead(t *testing.T) {
	b := newBed(t)
	h := b.build(folder(t, "", "one"))
	second := folder(t, "", "two")
	for range 3 {
		if err := h.SetFolders(t.Context(), []workspace.Folder{second}); err != nil {
			t.Fatal(err)
		}
	}
	b.answer()
	if got := b.projects(); !slices.Equal(got, []string{"two"}) {
		t.Errorf("got %v", got)
	}
}

// TestEachFolderHasItsOwnTrustAndSettings: what a folder's file says holds in
// that folder, and only where it is trusted.
func TestEachFolderHasItsOwnTrustAndSettings(t *testing.T) {
	b := newBed(t)
	b.config.Trust = false
	write(t, filepath.Join(b.config.Home, "settings.json"), `{"agents": {"limits": {"runs": 20}, "maxContextTokens": 9000}}`)
	first, second := folder(t, `{"agents": {"limits": {"runs": 10}, "maxContextTokens": 1}}`), folder(t, `{"agents": {"limits": {"runs": 5}}}`)
	h := b.build(first, second)
	if err := h.SetTrust(second.Canonical, true); err != nil {
		t.Fatal(err)
	}
	if h.Trusted(first.Canonical) || !h.Trusted(second.Canonical) {
		t.Error("trust of one folder is that of another")
	}
	for path, want := range map[string]int{first.Canonical: 20, second.Canonical: 5, "": 20} {
		if got := h.Agents.Settings(path).Limits.Runs; got != want {
			t.Errorf("%s: %d runs, want %d", path, got, want)
		}
	}
	if err := h.SetTrust(first.Canonical, true); err != nil {
		t.Fatal(err)
	}
	if s := h.Agents.Settings(first.Canonical); s.Limits.Runs != 10 || s.MaxContextTokens != 1 {
		t.Errorf("trusted: %+v", s)
	}
}

func TestSettingsReachTheRuns(t *testing.T) {
	b := newBed(t)
	user := filepath.Join(b.config.Home, "settings.json")
	write(t, user, `{
"agents": {"compression": {"threshold": 0.4, "preserve": 0.2, "model": "pro"}, "overrides": {"one": {"model": "pro"}},
  "maxContextTokens": 7, "contextPersistence": false, "limits": {"modelCalls": 3}},
"model": {"disableLoopDetection": true, "routes": [{"model": "pro", "when": {"mode": "task"}},
  {"model": "flash", "when": {"images": "yes"}},
  {"model": "flash"}],
 "table": [{"id": "my-own", "aliases": ["mine"], "window": 5},
  {"id": "bad", "window": -1}]},
}`)
	project := folder(t, `{"agents": {"overrides": {"one": {"enabled": false}}},
"model": {"routes": [{"model": "gold"}]}}`, "one")
	h := b.build(project)
	s := h.Agents.Settings(project.Canonical)
	if c := s.Compression; !c.Enabled || c.Threshold != 0.4 || c.Preserve != 0.2 || c.Model != "pro" {
		t.Errorf("%+v", c)
	}
	if s.MaxContextTokens != 7 || s.ContextPersistence || !s.Model.DisableLoopDetection || s.Limits.ModelCalls != 3 || s.Limits.Live != 8 {
		t.Errorf("%+v", s)
	}
	if len(s.Routes) != 2 || s.Routes[0].Model != "pro" || s.Routes[0].When.Mode != "task" || s.Routes[1].Model != "flash" {
		t.Errorf("%+v", s.Routes)
	}
	if o := s.Overrides["one"]; len(o) != 2 || o[0].Origin.String() != user+":2" || o[0].Origin.Scope != settings.UserScope || o[1].Origin.Scope != settings.ProjectScope || string(o[1].JSON) != `{"enabled":false}` {
		t.Errorf("%+v", o)
	}
	for _, want := range []string{
		user + `:5:3: model.routes: a rule cannot be read: when.images is a string; it is ignored`,
		user + `:8:3: model.table: the model bad has a negative number of tokens; it is ignored`,
		filepath.Join(project.Canonical, ".gemini", "settings.json") + `:2:11: a project cannot set model.routes`,
	} {
		if !slices.ContainsFunc(h.Notes, func(n string) bool { return strings.HasPrefix(n, want) }) {
			t.Errorf("no note %q in %q", want, h.Notes)
		}
	}
	if e, ok := h.Agents.Table.Lookup("mine"); !ok || e.Window != 5 {
		t.Errorf("%+v %v", e, ok)
	}
}

// TestSettingsChangeWhileTheDaemonRuns: rows of models come and go, and agents
// that name them are judged anew.
func TestSettingsChangeWhileTheDaemonRuns(t *testing.T) {
	b := newBed(t)
	unknown := func(s *registry.Snapshot) bool {
		for _, e := range s.Entries() {
			for _, p := range e.Definition.Problems {
				if p.Code == "agent/model-unknown" && e.Definition.Folder != "" {
					return true
				}
			}
		}
		return false
	}
	h := b.build(folder(t, "", "one"))
	b.answer()
	if s, err := h.Catalog(t.Context()); err != nil || !unknown(s) {
		t.Fatalf("the model mine is known: %v", err)
	}
	user := filepath.Join(b.config.Home, "settings.json")
	write(t, user, `{"model": {"table": [{"id": "my-own", "aliases": ["mine"]}], "name": 3}}`)
	b.until(func(s *registry.Snapshot) bool { return !unknown(s) })
	b.told(user+":1:", "model.name")
	if err := os.Remove(user); err != nil {
		t.Fatal(err)
	}
	b.until(unknown)
	b.told() // nothing is wrong any more
	write(t, user, `{"model": {"name": 3}}`)
	b.told(user+":1:", "model.name")
}

// TestSettingsChangeBeforeTheyAreWatched: what is written after the settings were
// read for the start, and before their files are watched, counts all the same.
func TestSettingsChangeBeforeTheyAreWatched(t *testing.T) {
	b := newBed(t)
	b.build(folder(t, "", "one"))
	user := filepath.Join(b.config.Home, "settings.json")
	write(t, user, `{"model": {"name": 3}}`)
	b.answer()
	b.told(user+":1:", "model.name")
}

// TestTrustIsAProblemOfItsOwn: records of trust that cannot be read are told as
// what is wrong with settings is, until they are mended.
func TestTrustIsAProblemOfItsOwn(t *testing.T) {
	b := newBed(t)
	b.config.Trust = false
	b.build(folder(t, "", "one"))
	b.answer()
	b.projects()
	b.told()
	write(t, b.config.trustFile(), "{")
	b.told(b.config.trustFile(), "no folder is trusted")
	write(t, b.config.trustFile(), `{"version": 1, "folders": {}}`)
	b.told()
}

// TestAFolderInAnothersPlaceIsToldOnce: the first folder of the workspace is among those of
// the start and those of now.
func TestAFolderInAnothersPlaceIsToldOnce(t *testing.T) {
	work := folder(t, "", "one")
	h, _ := reviewing(t, false, work)
	if err := h.setTrust(work.Canonical, true); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Rename(work.Path, work.Path+"-old"), os.Mkdir(work.Path, 0o700)); err != nil {
		t.Fatal(err)
	}
	all := h.problems(append(h.folders.paths(), h.first)...)
	if len(all) != 1 || !strings.Contains(all[0], "another folder has taken its place") {
		t.Errorf("%q", all)
	}
}

// TestTrustHasARevision: the catalog that is told of after a change of trust is
// another one than before, whoever made the change; what concerns no folder of
// the workspace is not told (spec 2.2, 4.4).
func TestTrustHasARevision(t *testing.T) {
	b := newBed(t)
	b.config.Trust = false
	b.trusted = make(chan *registry.Snapshot, 64)
	f := folder(t, "", "one")
	h := b.build(f)
	b.answer()
	before, err := h.Catalog(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := h.SetTrust(f.Canonical, true); err != nil {
		t.Fatal(err)
	}
	own, err := h.Catalog(t.Context())
	if err != nil || own.Revision <= before.Revision || !h.Trusted(f.Canonical) {
		t.Errorf("revision %d after %d, %v", own.Revision, before.Revision, err)
	}
	records := workspace.NewTrust(b.config.trustFile(), time.Now)
	if err := records.Set(t.Context(), t.TempDir(), true); err != nil {
		t.Fatal(err)
	}
	if err := records.Set(t.Context(), f.Canonical, false); err != nil {
		t.Fatal(err)
	}
	last := own.Revision
	for told := false; !told; {
		select {
		case s := <-b.trusted:
			if s.Revision <= last {
				t.Errorf("revision %d after %d", s.Revision, last)
			}
			last, told = s.Revision, true
		case <-t.Context().Done():
			t.Fatal("not told")
		}
	}
	now, err := h.Catalog(t.Context())
	if err != nil || now.Revision != last {
		t.Errorf("the catalog has revision %d, told was %d, %v", now.Revision, last, err)
	}
}
