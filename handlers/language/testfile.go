package language

// Files of tests of agents, *.agent-test.yaml, as their author sees them (docs/tests.md).

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"github.com/agentls/agentls/agents/agenttest"
	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/language"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/wire"
	"github.com/agentls/agentls/workspace"
)

// isTestFile reports whether a path is that of a file of tests.
func isTestFile(path string) bool { return strings.HasSuffix(path, agenttest.Suffix) }

// maxTestFile is how much of a file of tests is read: more than one may have.
const maxTestFile = 4<<20 + 1

// testText returns the text of a file of tests on the disk.
func testText(path string) (string, bool) { return readDisk(path, maxTestFile) }

// TestFile is a file of tests, read.
// It is shared by all who ask about the same text, and not changed.
type TestFile struct {
	*agenttest.Document
	// As the client spells it.
	URI    uri.URI
	Path   string // canonical
	Folder string // whose agents it is about, canonical; "" = there is none
}

// testFile returns the file of tests that a URI names: the open document, else what is on
// the disk. It is false for any other, for one that is not there, and for one of which
// the editor has another text than we know.
func (a *Query) testFile(name uri.URI) (*TestFile, bool) {
	path, ok := workspace.FilePath(name)
	if !ok || !isTestFile(path) {
		return nil, false
	}
	f := &TestFile{URI: name, Path: workspace.CanonicalPath(path)}
	f.Folder, _ = agenttest.Project(f.Path)
	text := ""
	if d, open := a.Snapshot.Document(name); open {
		if text = d.Text; d.Lost {
			return nil, false
		}
	} else if text, ok = testText(f.Path); !ok {
		return nil, false
	}
	f.Document = a.h.tests.read(f.Path, text)
	return f, true
}

// testFiles returns files of tests: those in the agents' folders of projects, by path, and
// those that are open.
// projects are canonical. One that cannot be read has no tests, and an open file counts only where
// it is about one of them. Folders below those of the agents are not looked at.
func (a *Query) testFiles(projects ...string) (files []*TestFile) {
	var names []uri.URI
	for _, p := range projects {
		entries, _ := os.ReadDir(agenttest.AgentsOf(p)) // where there is none there are no tests
		for _, e := range entries {
			if isTestFile(e.Name()) {
				names = append(names, uri.URI(a.URI(filepath.Join(agenttest.AgentsOf(p), e.Name()))))
			}
		}
	}
	for d := range a.Snapshot.Documents() {
		if path, ok := workspace.FilePath(d.URI); ok && isTestFile(path) && !slices.Contains(names, d.URI) {
			names = append(names, d.URI)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		if f, ok := a.testFile(name); ok && slices.Contains(projects, f.Folder) {
			files = append(files, f)
		}
	}
	return files
}

// folders returns the canonical workspace folders.
func (a *Query) folders() (list []string) {
	for _, f := range a.Snapshot.Folders() {
		list = append(list, f.Canonical)
	}
	return list
}

// testable returns the agents that tests of a folder may name, nil where they are not
// known: a test has the agents of its project, and none of the person's own.
func (a *Query) testable(folder string) (names []string) {
	if a.Catalog == nil || folder == "" || !a.isRoot(folder) {
		return nil
	}
	names = []string{}
	for _, e := range a.Catalog.Entries() {
		d := e.Definition
		if d.Name != "" && (d.Scope == definition.System || (d.Scope == definition.Project && d.Folder == folder)) {
			names = append(names, d.Name)
		}
	}
	return names
}

// testProblems returns what is wrong with a file of tests, and what its last run found.
func (a *Query) testProblems(f *TestFile) []definition.Problem {
	var known func(string) bool
	if names := a.testable(f.Folder); names != nil {
		known = func(name string) bool { return slices.Contains(names, name) }
	}
	problems := slices.Concat(f.Problems(known), a.h.tests.failuresOf(f.Path, f.Text))
	for i := range problems {
		problems[i].Message = string(a.h.daemon.MaskText([]byte(problems[i].Message))) // it quotes what is written there
	}
	return problems
}

// testsNaming returns where files of tests name agents.
// Only those beside the agents are read, and open ones: it is asked for each place that
// names an agent.
func (a *Query) testsNaming() (list []language.Named) {
	for _, f := range a.testFiles(a.folders()...) {
		for _, n := range f.Agents() {
			at := language.Location{URI: string(f.URI), Range: n.Range}
			list = append(list, language.Named{Location: at, Name: n.Name, Folder: f.Folder})
		}
	}
	return list
}

// completeTests returns what may stand at a position of a file of tests.
// The list may be empty, and is never nil.
func (a *Query) completeTests(f *TestFile, at protocol.Position) *protocol.CompletionList {
	kinds := map[agenttest.Kind]language.ItemKind{
		agenttest.KeyItem: language.FieldItem, agenttest.ValueItem: language.ValueItem,
		agenttest.AgentItem: language.AgentItem, agenttest.ToolItem: language.ToolItem,
	}
	known := agenttest.Known{Agents: a.testable(f.Folder)}
	slices.Sort(known.Agents)
	for _, t := range a.h.toolsKnown() {
		known.Tools = append(known.Tools, t.Name)
	}
	t, c := a.h.taker(), a.Columns(f.Text)
	list := &protocol.CompletionList{Items: []protocol.CompletionItem{}}
	for n, i := range f.Complete(c.positionIn(at), known) {
		item := protocol.CompletionItem{
			Label: legible(i.Label), Kind: t.kind(kinds[i.Kind]),
			SortText: protocol.NewOptional(fmt.Sprintf("%05d", n)),
		}
		if i.Detail != "" {
			item.Detail = protocol.NewOptional(i.Detail)
		}
		if i.Doc != "" {
			item.Documentation = markup([]protocol.MarkupKind{protocol.MarkupKindPlainText}, i.Doc)
		}
		item.TextEdit = &protocol.TextEdit{Range: c.Out(i.Range)}
		t.insertion(&item, language.Item{Insert: i.Insert}, "")
		list.Items = append(list.Items, item)
	}
	return list
}

// testLenses returns what runs the tests of a file.
func (a *Query) testLenses(f *TestFile) []language.Lens {
	tests := f.Tests()
	if len(tests) == 0 {
		return nil
	}
	var lenses []language.Lens
	add := func(r definition.Range, title string, args ...any) {
		lenses = append(lenses, language.Lens{Range: r, Title: title, Command: wire.CommandRunTests, Args: args})
	}
	if len(tests) > 1 {
		add(definition.Range{}, "Run all tests", string(f.URI))
	}
	for _, t := range tests {
		add(t.Range, "Run test", string(f.URI), t.Name)
	}
	return lenses
}

// agentTests returns the lens of an agent's file that runs the agent's tests; none where
// there are none.
func (a *Query) agentTests(f *language.File) []language.Lens {
	n := 0
	for _, tests := range a.testFiles(f.Folder) {
		for _, t := range tests.Tests() {
			if f.Folder != "" && t.Agent == f.Definition.Name {
				n++
			}
		}
	}
	if n == 0 {
		return nil
	}
	return []language.Lens{{
		Range: f.Index.Range(f.Tree.Open), Title: "Run " + tool.Count(n, "test", "tests"),
		Command: wire.CommandRunTests, Args: []any{f.URI},
	}}
}

// lensesOut puts lenses into the client's words.
func lensesOut(c Columns, lenses []language.Lens) ([]protocol.CodeLens, error) {
	list := make([]protocol.CodeLens, 0, len(lenses))
	for _, l := range lenses {
		command := protocol.Command{Title: l.Title, Command: l.Command}
		for _, arg := range l.Args {
			raw, err := json.Marshal(arg)
			if err != nil {
				return nil, err // they are texts: cannot be
			}
			command.Arguments = append(command.Arguments, raw)
		}
		list = append(list, protocol.CodeLens{Range: c.Out(l.Range), Command: command})
	}
	return list, nil
}

// testsKept is what is kept of files of tests: as they were read last, and what their last
// run found, by path. Files are read without the lock.
type testsKept struct {
	mu       sync.Mutex
	open     map[string]*agenttest.Document
	outcomes map[string]*testOutcome
	// Grows with each outcome, so that findings are made anew.
	generation uint64
}

// testOutcome is what failed of a file's text when its tests were run last, by test.
type testOutcome struct {
	text   string
	failed map[string][]definition.Problem
}

// maxTestsKept is how many files are kept as they were read.
const maxTestsKept = 64

// read returns a file of tests, which is read once for each text.
// path only says which text it is compared with; the document may be shared.
func (k *testsKept) read(path, text string) *agenttest.Document {
	k.mu.Lock()
	d := k.open[path]
	k.mu.Unlock()
	if d != nil && d.Text == text {
		return d
	}
	// Two requests may both read it; whose document is kept does not matter.
	d = agenttest.Open(filepath.Base(path), text)
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.open == nil || len(k.open) >= maxTestsKept {
		k.open = make(map[string]*agenttest.Document)
	}
	k.open[path] = d
	return d
}

// failuresOf returns what the last run of a file found, if its text is still the same.
// They are sorted by line.
func (k *testsKept) failuresOf(path, text string) (problems []definition.Problem) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if o := k.outcomes[path]; o != nil && o.text == text {
		for _, list := range o.failed {
			problems = append(problems, list...)
		}
	}
	slices.SortFunc(problems, func(a, b definition.Problem) int {
		return int(a.Range.Start.Line) - int(b.Range.Start.Line)
	})
	return problems
}

// NoteTest keeps what a test of a file failed at, to be told as findings; nothing for one
// that passed. The client is told at the next [Handlers.Refresh]. What was kept of another
// text of the file is dropped: its places do not hold any more.
func (h *Handlers) NoteTest(f *TestFile, test string, problems []definition.Problem) {
	h.tests.note(f.Path, f.Text, test, problems)
}

// note keeps what a test of a file with the text failed at; nothing for one that passed.
func (k *testsKept) note(path, text, test string, problems []definition.Problem) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.outcomes == nil {
		k.outcomes = make(map[string]*testOutcome)
	}
	o := k.outcomes[path]
	if o == nil || o.text != text {
		o = &testOutcome{text, make(map[string][]definition.Problem)}
		k.outcomes[path] = o
	}
	delete(o.failed, test)
	if len(problems) > 0 {
		o.failed[test] = problems
	}
	k.generation++
}

// failedFiles returns the files whose last run found something, by path.
func (k *testsKept) failedFiles() (paths []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for path, o := range k.outcomes {
		if len(o.failed) > 0 {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return paths
}

// at grows with each outcome.
func (k *testsKept) at() uint64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.generation
}
