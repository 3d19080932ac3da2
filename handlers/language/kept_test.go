package language

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"github.com/agentls/agentls/agents"
	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/language"
	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/agents/registry"
	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/workspace"
)

// authored returns handlers with files on the disk, by their names below a folder
// that is the workspace's; the agents among them are in the catalog.
func authored(t *testing.T, files map[string]string) (*Handlers, func(name string) uri.URI) {
	t.Helper()
	h, named := reader(t, nil)
	for name, text := range files {
		path := named(name).FsPath()
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	folder := workspace.CanonicalPath(named("").FsPath())
	if _, err := h.Workspace.Apply(workspace.FoldersSet{Folders: []workspace.Folder{{URI: named(""), Path: named("").FsPath(), Canonical: folder}}}); err != nil {
		t.Fatal(err)
	}
	catalog, err := registry.New(registry.Config{Places: []registry.Place{{Scope: definition.Project, Dir: filepath.Join(folder, ".gemini", "agents"), Folder: folder}}}).Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	h.Catalog = func(context.Context) (*registry.Snapshot, error) { return catalog, nil }
	h.daemon.Agents = &agents.Service{Config: agents.Config{Folders: func() []string { return nil }, Settings: func(string) *agents.Settings { return &agents.Settings{} }, Table: model.NewTable(time.Now)}}
	yes := true
	h.client.Workspace = &protocol.WorkspaceClientCapabilities{WorkspaceEdit: &protocol.WorkspaceEditClientCapabilities{DocumentChanges: &yes}}
	h.client.TextDocument = &protocol.TextDocumentClientCapabilities{CodeAction: &protocol.CodeActionClientCapabilities{}}
	h.client.TextDocument.CodeAction.CodeActionLiteralSupport.CodeActionKind.ValueSet = []protocol.CodeActionKind{"quickfix"}
	return h, named
}

func (h *Handlers) now(t *testing.T, c workspace.Change) *workspace.Snapshot {
	t.Helper()
	s, err := h.Workspace.Apply(c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// open and closed are what the client tells of a document.
func (h *Handlers) open(t *testing.T, name uri.URI, text string) {
	t.Helper()
	before := h.Workspace.Snapshot()
	h.now(t, workspace.Opened{URI: name, Version: 1, Text: text})
	h.Release(before, name)
}

func (h *Handlers) closed(t *testing.T, name uri.URI) {
	t.Helper()
	before := h.Workspace.Snapshot()
	h.now(t, workspace.Closed{URI: name})
	h.Release(before, name)
}

// lose has the client change a document in a way that cannot be followed.
func (h *Handlers) lose(t *testing.T, name uri.URI) *workspace.Snapshot {
	t.Helper()
	far := workspace.Position{Line: 500}
	edit := workspace.Edit{Range: &workspace.Range{Start: far, End: far}, Text: "x"}
	if _, err := h.Workspace.Apply(workspace.Edited{URI: name, Version: 99, Edits: []workspace.Edit{edit}}); err == nil {
		t.Fatal("the change was followed")
	}
	return h.Workspace.Snapshot()
}

const fixAgent, bossAgent = "---\nkind: agent\nname: fix\ntitle: T\n---\nx\n", "---\ntitle: B  \nkind: agent\nname: boss\ncolor: \"#336699\"\nhandoffs: [{to: fix}]\ntemprature: 1\n---\nx\n"

// TestLostTextsAreNotEdited: of a document of which the client has a newer text than
// we know, nothing is answered that changes it, and no rename goes past it. The
// control: the same questions before a change was lost.
func TestLostTextsAreNotEdited(t *testing.T) {
	const boss, code, fix = ".gemini/agents/boss.md", "main.go", ".gemini/agents/fix.md"
	h, named := authored(t, map[string]string{fix: fixAgent, boss: bossAgent})
	for name, text := range map[string]string{boss: bossAgent, code: "// @fix mend this\n"} {
		h.now(t, workspace.Opened{URI: named(name), LanguageID: "go", Version: 1, Text: text})
	}
	ctx := t.Context()
	doc := protocol.TextDocumentIdentifier{URI: named(boss)}
	all := protocol.Range{End: protocol.Position{Line: 9}}
	name := func(file string, line uint32) protocol.TextDocumentPositionParams {
		return protocol.TextDocumentPositionParams{TextDocument: protocol.TextDocumentIdentifier{URI: named(file)}, Position: protocol.Position{Line: line, Character: 7}}
	}
	var painted protocol.Range
	edits := func(s *workspace.Snapshot) map[string]int {
		n := map[string]int{}
		formatted, err := h.format(ctx, s, &protocol.DocumentFormattingParams{TextDocument: doc})
		n["formatting"] = len(formatted)
		colors, err2 := h.documentColor(ctx, s, &protocol.DocumentColorParams{TextDocument: doc})
		n["color"] = len(colors)
		if len(colors) > 0 {
			painted = colors[0].Range
		}
		presented, err3 := h.colorPresentation(ctx, s, &protocol.ColorPresentationParams{TextDocument: doc, Range: painted})
		n["presentation"] = len(presented)
		actions, err4 := h.codeAction(ctx, s, &protocol.CodeActionParams{TextDocument: doc, Range: all})
		n["codeAction"] = len(actions)
		list, err5 := h.completion(ctx, s, &protocol.CompletionParams{TextDocumentPositionParams: name(boss, 6)})
		if list != nil {
			n["completion"] = len(list.Items)
		}
		if err := errors.Join(err, err2, err3, err4, err5); err != nil {
			t.Fatal(err)
		}
		return n
	}
	s := h.Workspace.Snapshot()
	for what, n := range edits(s) {
		if n == 0 && what != "completion" {
			t.Errorf("%s: nothing, though the text is known", what)
		}
	}
	rename := func(s *workspace.Snapshot, file string) (*protocol.WorkspaceEdit, error) {
		return h.rename(ctx, s, &protocol.RenameParams{TextDocumentPositionParams: name(file, 2), NewName: "mend"})
	}
	if edit, err := rename(s, fix); err != nil || len(edit.DocumentChanges) != 3 {
		t.Fatalf("%+v, %v", edit, err)
	}
	s = h.lose(t, named(code))
	if edit, err := rename(s, fix); edit != nil || fault.KindOf(err) != fault.Stale || !strings.Contains(fault.Message(err), "main.go") {
		t.Errorf("past a lost document that calls the agent: %+v, %v", edit, err)
	}
	h.now(t, workspace.Closed{URI: named(code)})
	s = h.lose(t, named(boss))
	for what, n := range edits(s) {
		if n != 0 {
			t.Errorf("%s: %d for a text that is not known", what, n)
		}
	}
	for _, file := range []string{fix, boss} {
		if edit, err := rename(s, file); edit != nil || fault.KindOf(err) != fault.Stale || !strings.Contains(fault.Message(err), "boss.md") {
			t.Errorf("rename at %s past a lost agent file: %+v, %v", file, edit, err)
		}
	}
	if _, err := h.prepareRename(ctx, s, &protocol.PrepareRenameParams{TextDocumentPositionParams: name(boss, 2)}); fault.KindOf(err) != fault.Stale {
		t.Error(err)
	}
	a := &Query{h: h, Snapshot: s, Catalog: nil, encoding: s.Encoding()}
	if edit, _, whole := a.workspaceEdit(a.texts(), language.WorkspaceEdit{Edits: []language.Edit{{URI: string(named(boss)), Text: "x"}}}); whole || len(edit.DocumentChanges) != 0 {
		t.Errorf("%+v", edit)
	}
}

// TestClosedDocumentsAreForgotten: whatever is asked of a document, before or after
// it was closed, nothing of it is kept; nor does what was made of an old text take
// the place of what was made of a newer one.
func TestClosedDocumentsAreForgotten(t *testing.T) {
	h, named := authored(t, map[string]string{".gemini/agents/fix.md": fixAgent})
	catalog, _ := h.Catalog(t.Context())
	ask := func(s *workspace.Snapshot) {
		for d := range s.Documents() {
			a := &Query{h: h, Snapshot: s, Catalog: catalog, encoding: s.Encoding()}
			if _, err := a.reportOpen(t.Context(), d); err != nil && !errors.Is(err, errSuperseded) {
				t.Fatal(err)
			}
			a.calls(d)
			a.file(d.URI)
		}
	}
	count := func() string {
		return fmt.Sprint(len(h.written.open.of), len(h.written.commands.of), len(h.checks.open.of), len(h.checks.settings.of))
	}
	open := func(i int) (all []uri.URI) {
		for _, name := range []string{"%d/a b@c/.gemini/agents/x.md", "%d/.gemini/settings.json", "%d/a.go"} {
			name := named(fmt.Sprintf(name, i))
			h.open(t, name, "// @fix it\n")
			all = append(all, name)
		}
		return all
	}
	for i := range 20 {
		names := open(i)
		s := h.Workspace.Snapshot()
		if i%2 == 0 {
			ask(s)
			if got := count(); got != "1 3 3 1" {
				t.Fatalf("of three open documents are kept %s", got)
			}
		}
		for _, name := range names {
			if spelled := strings.ReplaceAll(string(name), "%40", "@"); spelled != string(name) {
				name = uri.URI(spelled) // another spelling
			} else {
				name = uri.URI(strings.ReplaceAll(string(name), "@", "%40"))
			}
			h.closed(t, name)
		}
		if i%3 == 0 {
			ask(s) // an answer that is late
		}
		if got := count(); got != "0 0 0 0" {
			t.Fatalf("round %d: of closed documents are kept %s", i, got)
		}
	}
	names := open(99)
	old := h.Workspace.Snapshot()
	now := h.now(t, workspace.Edited{URI: names[0], Version: 2, Edits: []workspace.Edit{{Text: "newer"}}})
	ask(now)
	ask(old)
	if r := h.written.open.of[names[0]]; r == nil || r.basis.text != "newer" {
		t.Errorf("%+v", r)
	}
	if d, _ := now.Document(names[0]); h.checks.open.of[names[0]].basis.of != d || h.written.commands.of[names[0]].basis.of != d {
		t.Error("what is kept is of the older text")
	}
}

// TestSettingsAreLookedAtOnce: one look for each version of a settings file, none
// for one that is not the newest, and an end at once where nobody wants to know.
func TestSettingsAreLookedAtOnce(t *testing.T) {
	h, named := authored(t, nil)
	catalog, _ := h.Catalog(t.Context())
	name := named(".gemini/settings.json")
	const text = `{"agents": {"defaultScop": "project"}}`
	old := h.now(t, workspace.Opened{URI: name, Version: 1, Text: text})
	find := func(ctx context.Context, s *workspace.Snapshot) ([]workspace.SettingsFinding, error) {
		a := &Query{h: h, Snapshot: s, Catalog: catalog, encoding: s.Encoding()}
		text, scope, path, _ := a.settingsFile(name)
		return a.settingsFindings(ctx, name, text, scope, path)
	}
	first, err := find(t.Context(), old)
	again, err2 := find(t.Context(), old)
	if err != nil || err2 != nil || len(first) != 1 || &first[0] != &again[0] {
		t.Fatalf("%v %v, %v %v", first, err, again, err2)
	}
	now := h.now(t, workspace.Edited{URI: name, Version: 2, Edits: []workspace.Edit{{Text: text + " "}}})
	if got, err := find(t.Context(), old); !errors.Is(err, errSuperseded) {
		t.Errorf("of an older text: %v, %v", got, err)
	}
	previous := "before"
	got, err := h.diagnostic(t.Context(), old, &protocol.DocumentDiagnosticParams{TextDocument: protocol.TextDocumentIdentifier{URI: name}, PreviousResultID: &previous})
	if same, ok := got.(*protocol.RelatedUnchangedDocumentDiagnosticReport); err != nil || !ok || same.ResultID != previous {
		t.Errorf("%+v, %v", got, err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := find(gone, now); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	// Somebody looks, and does not come to an end: another does not wait for longer
	// than they want to know, and a newer text ends the look.
	d, _ := now.Document(name)
	run, stopped := context.WithCancel(t.Context())
	mine := &settingsCheck{of: d, catalog: catalog, cancel: stopped, done: make(chan struct{})}
	h.checks.settings.put(h.Workspace, d, mine)
	if _, err := find(gone, now); !errors.Is(err, context.Canceled) || run.Err() != nil {
		t.Error(err, run.Err())
	}
	// A question that knows something else beside the same text ends no look at it.
	h.daemon.Knowledge.Generation = func() uint64 { return 1 }
	if got, err := find(t.Context(), now); err != nil || len(got) != 1 || run.Err() != nil {
		t.Errorf("%v, %v, %v", got, err, run.Err())
	}
	last := h.now(t, workspace.Edited{URI: name, Version: 3, Edits: []workspace.Edit{{Text: text}}})
	if got, err := find(t.Context(), last); err != nil || len(got) != 1 || run.Err() == nil {
		t.Errorf("%v, %v, %v", got, err, run.Err())
	}
	mine.look(t.Context(), func() ([]workspace.SettingsFinding, error) { return nil, run.Err() })
	if !errors.Is(mine.err, errSuperseded) {
		t.Error(mine.err)
	}
}

// TestOtherDocumentsAreNotChecked: a key in code has no findings told anew.
func TestOtherDocumentsAreNotChecked(t *testing.T) {
	h, named := authored(t, nil)
	for name, want := range map[string]int{"main.go": 0, ".gemini/agents/x.md": 1, ".gemini/settings.json": 1, "untitled:1": 0} {
		u := named(name)
		if strings.HasPrefix(name, "untitled:") {
			u = uri.URI(name)
		}
		h.ScheduleCheck(u)
		if got := len(h.publisher.due); got != want {
			t.Errorf("%s: %d, want %d", name, got, want)
		}
		select {
		case <-h.publisher.due:
		default:
		}
	}
}

// TestIndexIsMadeBesideTheReading: while who names whom is found out, the reading of
// messages goes on, whatever they say.
func TestIndexIsMadeBesideTheReading(t *testing.T) {
	h, named := authored(t, map[string]string{".gemini/agents/fix.md": fixAgent})
	catalog, _ := h.Catalog(t.Context())
	h.Reindex(catalog)
	h.Work.Wait()
	if h.written.index.of != nil {
		t.Error("an index is made that nobody asked for")
	}
	begun, made := make(chan struct{}), make(chan struct{})
	h.written.index.get("", catalog, func() func() *language.Names {
		return func() *language.Names { close(begun); <-made; return language.IndexNames(catalog) }
	})
	asked := make(chan []protocol.Location)
	go func() {
		places, err := h.findReferences(t.Context(), h.Workspace.Snapshot(), &protocol.ReferenceParams{TextDocumentPositionParams: protocol.TextDocumentPositionParams{
			TextDocument: protocol.TextDocumentIdentifier{URI: named(".gemini/agents/fix.md")}, Position: protocol.Position{Line: 2, Character: 7}}})
		if err != nil {
			t.Error(err)
		}
		asked <- places
	}()
	<-begun
	if !h.written.index.used() {
		t.Error("it is wanted")
	}
	name := named(".gemini/agents/other.md")
	h.open(t, name, "x")
	a := &Query{h: h, Snapshot: h.Workspace.Snapshot(), Catalog: catalog, encoding: workspace.UTF16}
	a.file(name)
	h.closed(t, name)
	close(made)
	<-asked
	after, err := registry.New(registry.Config{}).Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	h.Reindex(after)
	h.Work.Wait()
	if h.written.index.of[""].basis != after {
		t.Error("the index of the new catalog is not made")
	}
}

// TestNamedOnceForEachState: settings are read again when they are other than they
// were, and only then.
func TestNamedOnceForEachState(t *testing.T) {
	const settings = ".gemini/settings.json"
	text := func(name string) string { return `{"agents": {"overrides": {"` + name + `": {"enabled": false}}}}` }
	h, named := authored(t, map[string]string{settings: text("one")})
	path := named(settings).FsPath()
	names := func() (all []language.Named) {
		s := h.Workspace.Snapshot()
		return (&Query{h: h, Snapshot: s, Catalog: nil, encoding: s.Encoding()}).namesOfAgents()
	}
	same := func(x, y []language.Named) bool {
		return len(x) == 1 && len(y) == 1 && x[0].Override == y[0].Override
	}
	written := func(away time.Duration) { // from whenever this is run
		t.Helper()
		if err := os.Chtimes(path, time.Time{}, time.Now().Add(away)); err != nil {
			t.Fatal(err)
		}
	}
	written(time.Hour)
	if x, y := names(), names(); same(x, y) || x[0].Name != "one" || x[0].Override.Value != `{"enabled": false}` {
		t.Errorf("a file that was just written is taken for the same: %+v", x)
	}
	written(-time.Hour)
	if x, y := names(), names(); !same(x, y) {
		t.Errorf("%+v is read again", x)
	}
	if err := os.WriteFile(path, []byte(text("two")), 0o600); err != nil {
		t.Fatal(err)
	}
	if x := names(); len(x) != 1 || x[0].Name != "two" {
		t.Errorf("%+v", x)
	}
	h.now(t, workspace.Opened{URI: named(settings), Version: 1, Text: text("six")})
	if x, y := names(), names(); !same(x, y) || x[0].Name != "six" {
		t.Errorf("%+v", x)
	}
	h.now(t, workspace.Edited{URI: named(settings), Version: 2, Edits: []workspace.Edit{{Text: text("ten")}}})
	if x := names(); len(x) != 1 || x[0].Name != "ten" {
		t.Errorf("%+v", x)
	}
	h.lose(t, named(settings))
	if x := names(); len(x) != 0 {
		t.Errorf("%+v of a text that is not known", x)
	}
	if files := slices.Sorted(maps.Keys(h.written.settings.files)); len(files) != 1 {
		t.Error(files)
	}
}

// TestCallsAgent: which lines have to be looked at closer.
func TestCallsAgent(t *testing.T) {
	h, _ := authored(t, map[string]string{".gemini/agents/fix.md": fixAgent})
	catalog, _ := h.Catalog(t.Context())
	a := &Query{h: h, Snapshot: h.Workspace.Snapshot(), Catalog: catalog, encoding: workspace.UTF16}
	for line, want := range map[string]bool{
		"// @fix it": true, "@fix": true, "# @w:fix it": true, "x @param @fix: it": true, "é@fix, now": true,
		"// @my.app:fix it": true, "// @café:fix it": true, "# @项目:fix，": true, "@a:b:fix": true, "@" + strings.Repeat("x", 250) + ":fix it": true,
		"// @fix.app:x it":   true, // it is looked at closer
		"// @my.app :fix it": false, "@café:fixer": false, "@a:": false,
		"": false, "@": false, "@Input() foo": false, "// @fixer": false, "a@b @": false, "fix": false, "@ fix": false, "fix:a@b": false, "@a@fix": true, "@::fix:": true,
	} {
		if got := a.callsAgent(line); got != want {
			t.Errorf("%q: %v", line, got)
		}
	}
}

// TestCallsAgentOnAnyLine: of a long line each name is looked up once, as fast as in
// an index. With a walk for each it would go on for minutes.
func TestCallsAgentOnAnyLine(t *testing.T) {
	files := make(map[string]string)
	for i := range 2000 {
		files[fmt.Sprintf(".gemini/agents/b%d.md", i)] = fmt.Sprintf("---\nname: b%d\n---\n", i)
	}
	h, _ := authored(t, files)
	catalog, _ := h.Catalog(t.Context())
	a := &Query{Catalog: catalog}
	if !a.callsAgent("@b1999:x") {
		t.Fatal("there are no agents")
	}
	for _, part := range []string{"@a:", "@:", "@", "@b", "b@x:"} {
		if a.callsAgent(strings.Repeat(part, 1<<20/len(part))) {
			t.Errorf("%s calls one", part)
		}
	}
}

// TestWillRenameFilesTogether: of two files that get one name in a request one agent
// does, and one that is called after its file goes with it.
func TestWillRenameFilesTogether(t *testing.T) {
	h, named := authored(t, map[string]string{
		".gemini/agents/fix.md":  fixAgent,
		".gemini/agents/cl.md":   "---\ndescription: d\ntools: Read\n---\nx\n",
		".gemini/agents/boss.md": strings.Replace(bossAgent, "\nx\n", "\nAsk @cl.\n", 1),
	})
	renamed := func(pairs ...string) string {
		p := &protocol.RenameFilesParams{}
		for i := 0; i < len(pairs); i += 2 {
			p.Files = append(p.Files, protocol.FileRename{OldURI: string(named(".gemini/agents/" + pairs[i])), NewURI: string(named(".gemini/agents/" + pairs[i+1]))})
		}
		edit, err := h.willRenameFiles(t.Context(), h.Workspace.Snapshot(), p)
		if err != nil {
			t.Fatal(err)
		}
		var list []string
		if edit != nil {
			for _, change := range edit.DocumentChanges {
				change := change.(*protocol.TextDocumentEdit)
				for _, e := range change.Edits {
					list = append(list, filepath.Base(change.TextDocument.URI.FsPath())+"="+e.(*protocol.TextEdit).NewText)
				}
			}
		}
		slices.Sort(list)
		return strings.Join(list, " ")
	}
	if got := renamed("cl.md", "cx.md"); got != "boss.md=cx" {
		t.Error(got)
	}
	if got := renamed("fix.md", "mend.md"); got != "boss.md=mend fix.md=mend" {
		t.Error(got)
	}
	if got := renamed("fix.md", "mend.md", "boss.md", "mend.agent.md"); got != "boss.md=mend fix.md=mend" {
		t.Error(got)
	}
	h.now(t, workspace.Opened{URI: named(".gemini/agents/boss.md"), Version: 1, Text: bossAgent})
	h.lose(t, named(".gemini/agents/boss.md"))
	if got := renamed("fix.md", "mend.md"); got != "" {
		t.Error(got)
	}
}
