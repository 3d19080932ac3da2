package language

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"go.lsp.dev/uri"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/language"
	"github.com/agentls/agentls/agents/registry"
	"github.com/agentls/agentls/agents/template"
	"github.com/agentls/agentls/workspace"
)

// latest is what was made last of each open document: of no other version than the newest,
// and of none that was closed, in whichever order a request and the editor come. Its lock
// is held for a look only, so that a request which computes holds up no other.
type latest[V any] struct {
	mu sync.Mutex
	of map[uri.URI]V
}

// get returns what is kept, the zero value for nothing. It may be of an older version: who
// asks compares.
func (k *latest[V]) get(d *workspace.Document) V {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.of[d.URI]
}

// put keeps what was made of a document, unless that is not the newest any more.
func (k *latest[V]) put(w *workspace.Workspace, d *workspace.Document, v V) {
	k.turn(w, d, func(V) V { return v })
}

// turn keeps what next makes of what was kept, and returns it; false where the
// document is not the newest any more, and nothing is kept. forget comes after a
// document was closed: whatever was put before is gone then.
func (k *latest[V]) turn(w *workspace.Workspace, d *workspace.Document, next func(last V) V) (v V, newest bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	// Documents are compared by identity: one that was closed and opened anew may have
	// the same version and text. The lock is held, so that a forget for a change
	// after this one comes after the put.
	if now, open := w.Snapshot().Document(d.URI); !open || now != d {
		return v, false
	}
	if k.of == nil {
		k.of = make(map[uri.URI]V)
	}
	v = next(k.of[d.URI])
	k.of[d.URI] = v
	return v, true
}

// forget drops what is kept of a document.
func (k *latest[V]) forget(name uri.URI) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.of, name)
}

// memoEntry is what was made of something in one state of what it depends on.
type memoEntry[B comparable, V any] struct {
	basis B
	value V
}

// remember returns what k keeps of a document on this basis, else what build makes.
// build runs without a lock, so two requests may both call it; an error is not kept.
func remember[B comparable, V any](k *latest[*memoEntry[B, V]], w *workspace.Workspace, d *workspace.Document,
	basis B, build func() (V, error)) (V, error) {
	if known := k.get(d); known != nil && known.basis == basis {
		return known.value, nil
	}
	value, err := build()
	if err == nil {
		k.put(w, d, &memoEntry[B, V]{basis, value})
	}
	return value, err
}

// memo keeps what was made of things, by name: the last of each.
type memo[B comparable, V any] struct {
	mu sync.Mutex
	of map[string]memoEntry[B, V]
}

// maxRemembered is how many things a memo keeps.
const maxRemembered = 64

// get returns what is kept of a thing on this basis, else what build makes. Like remember
// it builds without a lock, so two may build at once; the first that is done is kept. When
// it is full it begins anew: that costs a reading, and needs no order of use.
func (m *memo[B, V]) get(name string, basis B, build func() V) V {
	m.mu.Lock()
	known, ok := m.of[name]
	m.mu.Unlock()
	if ok && known.basis == basis {
		return known.value
	}
	value := build()
	m.mu.Lock()
	defer m.mu.Unlock()
	if known, ok := m.of[name]; ok && known.basis == basis {
		return known.value // somebody else made it meanwhile
	}
	if m.of == nil || len(m.of) >= maxRemembered {
		m.of = make(map[string]memoEntry[B, V])
	}
	m.of[name] = memoEntry[B, V]{basis, value}
	return value
}

// used reports whether anybody has asked.
func (m *memo[B, V]) used() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.of != nil
}

// written keeps agent files, and the places that name agents. commands and index have
// funcs, not results, so that all requests for one version share one search. template is
// kept by the looks of its folder, see templatesIn. tools are made once, by toolsKnown.
type written struct {
	open     latest[*memoEntry[readingBasis, *language.File]]
	commands latest[*memoEntry[callsBasis, func() []language.Command]]
	index    memo[*registry.Snapshot, func() *language.Names] // who names whom
	settings namings
	template memo[string, []template.Template]

	once  sync.Once
	tools []language.Tool // that can be offered to agents
}

// Release forgets what was made of a document that was closed, or that is open anew.
// before is the workspace before that.
// It has to come after the change of the workspace.
func (h *Handlers) Release(before *workspace.Snapshot, name uri.URI) {
	if d, open := before.Document(name); open {
		name = d.URI // as it was spelled when it was opened
	}
	h.written.open.forget(name)
	h.written.commands.forget(name)
	h.checks.open.forget(name)
	h.checks.settings.forget(name)
}

// indexOf returns who names whom in a catalog.
// The first who asks makes it, and all others wait for that one.
func (w *written) indexOf(catalog *registry.Snapshot) *language.Names {
	return w.index.get("", catalog, func() func() *language.Names {
		return sync.OnceValue(func() *language.Names { return language.IndexNames(catalog) })
	})()
}

// Reindex makes the index of a new catalog beside what else goes on, so that the
// next question need not wait for it. Where nobody ever asked, nobody is waiting.
// It does not wait.
func (h *Handlers) Reindex(catalog *registry.Snapshot) {
	if h.written.index.used() {
		h.Work.Go(func() { h.written.indexOf(catalog) })
	}
}

// callsBasis is what the lines of a document that call agents depend on.
type callsBasis struct {
	of      *workspace.Document
	catalog *registry.Snapshot
	folder  string
}

// calls returns the lines of a document that call agents (spec 2.10). They are
// found once for each version of it, however many ask at the same time.
// The list is shared and must not be changed. The caller has looked whether d is lost.
func (a *Query) calls(d *workspace.Document) []language.Command {
	basis := callsBasis{d, a.Catalog, a.FolderOf(d.URI)}
	find, _ := remember(&a.h.written.commands, a.h.Workspace, d, basis, func() (func() []language.Command, error) {
		return sync.OnceValue(func() []language.Command {
			return language.InlineCommands(&language.World{Agents: a.Catalog}, basis.folder, d.LanguageID, d.Text)
		}), nil
	})
	return find()
}

// callsAgent reports whether a line may call an agent that there is: most @ of code
// stand before something else. Its cost is linear in the line, which may be anything.
func (a *Query) callsAgent(line string) bool {
	asked := make(map[string]bool)
	// A folder may be called almost anything: folder:name is up to a blank.
	for word := range strings.FieldsSeq(line) {
		_, called, _ := strings.Cut(word, "@")
		for name := range strings.FieldsFuncSeq(called, func(c rune) bool { return c == '@' || c == ':' }) {
			if end := strings.IndexFunc(name, inNoName); end >= 0 {
				name = name[:end]
			}
			if name == "" || asked[name] {
				continue
			}
			if a.Catalog.Find("", name) != nil {
				return true
			}
			asked[name] = true
		}
	}
	return false
}

// inNoName reports whether a character is in no agent's name.
func inNoName(c rune) bool {
	return c != '-' && c != '_' && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z')
}

// namings are where settings files name agents, by their paths.
type namings struct {
	mu    sync.Mutex
	files map[string]namedIn
}

// namedIn is where one settings file names agents, in one state of it.
type namedIn struct {
	of   *workspace.Document // nil where the file is not open
	info os.FileInfo         // nil where it is
	uri  string
	list []language.Named
}

// asNew is for how long a file that was written may be written again and look the
// same.
const asNew = 2 * time.Second

// namesOfAgents returns where settings and tests name agents: settings of the person and of each
// folder, as open in the editor or on the disk. A file is read again when it looks other than
// before.
func (a *Query) namesOfAgents() []language.Named {
	type settings struct{ path, folder string }
	files := []settings{{a.h.daemon.Knowledge.Settings, ""}}
	for _, f := range a.Snapshot.Folders() {
		files = append(files, settings{filepath.Join(f.Canonical, workspace.ProjectSettings), f.Canonical})
	}
	// The map is never changed, only replaced as a whole, so it can be read without the
	// lock. Where two requests read the files at once, either result is right.
	known := &a.h.written.settings
	known.mu.Lock()
	before := known.files
	known.mu.Unlock()
	now := make(map[string]namedIn, len(files))
	var list []language.Named
	for _, file := range files {
		in := namedIn{uri: a.URI(file.path)}
		d, open := a.Snapshot.DocumentAt(file.path)
		if open {
			in.of = d
		} else if in.info, _ = os.Stat(file.path); in.info == nil {
			continue
		}
		last, again := before[file.path]
		switch {
		case again && last.same(in):
			in = last
		// A lost document has no names that could be told; allKnown refuses a rename that
		// it may be part of.
		case open && !d.Lost:
			in.list = namesIn(d.Text, in.uri, file.folder)
		case !open:
			text, _ := settingsText(file.path)
			in.list = namesIn(text, in.uri, file.folder)
		}
		if open || a.h.Now().Sub(in.info.ModTime()) > asNew {
			now[file.path] = in
		}
		list = append(list, in.list...)
	}
	known.mu.Lock()
	known.files = now
	known.mu.Unlock()
	return append(list, a.testsNaming()...)
}

// same reports whether a settings file is in the state that it was in.
func (n namedIn) same(now namedIn) bool {
	if n.uri != now.uri || n.of != now.of || (n.info == nil) != (now.info == nil) {
		return false
	}
	return n.info == nil || (os.SameFile(n.info, now.info) && n.info.Size() == now.info.Size() &&
		n.info.ModTime().Equal(now.info.ModTime()))
}

// namesIn returns where the text of a settings file names agents.
func namesIn(text, name, folder string) []language.Named {
	lines := workspace.NewLines(text)
	var list []language.Named
	for _, n := range workspace.SettingsAgents([]byte(text)) {
		r := definition.Range{Start: place16(lines, n.Start), End: place16(lines, n.End)}
		place := language.Named{Location: language.Location{URI: name, Range: r}, Name: n.Name, Folder: folder}
		if n.Value != "" {
			place.Override = &language.Override{At: place16(lines, n.Start-len(`"`)), Value: n.Value, Behind: n.Behind}
		}
		list = append(list, place)
	}
	return list
}

// templatesIn returns the templates, the person's own among them, which are in dir. They
// are read again when the folder looks other than before. locale is the person's.
// The list is shared by all requests, and not changed.
func (w *written) templatesIn(dir, locale string) []template.Template {
	looks := strings.Builder{}
	entries, _ := os.ReadDir(dir) // what cannot be read is told by agents/templates
	for _, e := range entries {
		if info, err := os.Stat(filepath.Join(dir, e.Name())); err == nil {
			fmt.Fprintln(&looks, e.Name(), info.Size(), info.ModTime().UnixNano())
		}
	}
	return w.template.get("", looks.String(), func() []template.Template {
		list, _ := template.List(dir) // as above
		for i, t := range list {
			list[i] = t.In(locale)
		}
		return list
	})
}
