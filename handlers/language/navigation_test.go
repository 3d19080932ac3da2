package language

import (
	"context"
	"path/filepath"
	"slices"
	"testing"
	"unicode/utf16"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/registry"
	"github.com/agentls/agentls/workspace"
)

// at is the place of a character of a document's first line.
func at(name uri.URI, character int) protocol.TextDocumentPositionParams {
	return protocol.TextDocumentPositionParams{TextDocument: protocol.TextDocumentIdentifier{URI: name}, Position: protocol.Position{Character: uint32(character)}}
}

// TestFoldersOfAnyName: an agent that is called with its folder's name is found from
// there, whatever the folder is called, and what is told of it is told of the name
// alone.
func TestFoldersOfAnyName(t *testing.T) {
	for _, name := range []string{"app", "my.app", "项目", "café", "🎉"} {
		h, named := authored(t, map[string]string{name + "/.gemini/agents/fix.md": fixAgent})
		folder := workspace.CanonicalPath(named(name).FsPath())
		h.now(t, workspace.FoldersSet{Folders: []workspace.Folder{{URI: named(name), Path: named(name).FsPath(), Canonical: folder, Name: name}}})
		catalog, err := registry.New(registry.Config{Places: []registry.Place{{Scope: definition.Project, Dir: filepath.Join(folder, ".gemini", "agents"), Folder: folder, Name: name}}}).Load(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		h.Catalog = func(context.Context) (*registry.Snapshot, error) { return catalog, nil }
		code := named(name + "/main.go")
		s := h.now(t, workspace.Opened{URI: code, LanguageID: "go", Version: 1, Text: "// @" + name + ":fix mend this\n"})
		end := len(utf16.Encode([]rune("// @" + name + ":fix")))
		if found, err := h.goToDefinition(t.Context(), s, &protocol.DefinitionParams{TextDocumentPositionParams: at(code, end)}); found == nil || err != nil {
			t.Errorf("%s: definition: %v, %v", name, found, err)
		}
		if edit, err := h.rename(t.Context(), s, &protocol.RenameParams{TextDocumentPositionParams: at(code, end), NewName: "mend"}); edit == nil || err != nil {
			t.Errorf("%s: rename: %v, %v", name, edit, err)
		}
		for character := range end + 3 {
			shown, err := h.hover(t.Context(), s, &protocol.HoverParams{TextDocumentPositionParams: at(code, character)})
			if err != nil || (shown != nil) != (3 <= character && character <= end) {
				t.Errorf("%s: hover at %d of %d: %+v, %v", name, character, end, shown, err)
			} else if shown != nil && int(shown.Range.End.Character) != end {
				t.Errorf("%s: hover has %+v, want the end %d", name, *shown.Range, end)
			}
		}
	}
}

// TestRenameEditsWhatPeopleEdit: a rename changes the documents that a person can
// change and is to, though all that name the agent are found.
func TestRenameEditsWhatPeopleEdit(t *testing.T) {
	h, named := authored(t, map[string]string{".gemini/agents/fix.md": fixAgent})
	h.daemon.Shown = named("shown").FsPath()
	want := []uri.URI{named(".gemini/agents/fix.md"), named("real.md"), "untitled:1", "vscode-notebook-cell:/x.ipynb#1"}
	other := []uri.URI{named("shown/answer.md"), "git:/x/main.go?ref=HEAD", "output:x"}
	for _, name := range slices.Concat(want[1:], other) {
		h.now(t, workspace.Opened{URI: name, LanguageID: "markdown", Version: 1, Text: "@fix mend this\n"})
	}
	edited := func() (names []uri.URI) {
		t.Helper()
		edit, err := h.rename(t.Context(), h.Workspace.Snapshot(), &protocol.RenameParams{TextDocumentPositionParams: at("untitled:1", 2), NewName: "mend"})
		if err != nil {
			t.Fatal(err)
		}
		for _, change := range edit.DocumentChanges {
			if change, ok := change.(*protocol.TextDocumentEdit); ok {
				names = append(names, change.TextDocument.URI)
			}
		}
		slices.Sort(names)
		return names
	}
	if got := edited(); !slices.Equal(got, want) {
		t.Errorf("edited: %v, want %v", got, want)
	}
	places, err := h.findReferences(t.Context(), h.Workspace.Snapshot(), &protocol.ReferenceParams{TextDocumentPositionParams: at(other[0], 2)})
	if err != nil || len(places) != len(want)-1+len(other) {
		t.Errorf("found: %v, %v", places, err)
	}
	marked, err := h.highlight(t.Context(), h.Workspace.Snapshot(), &protocol.DocumentHighlightParams{TextDocumentPositionParams: at(want[1], 2)})
	if err != nil || len(marked) != 1 {
		t.Errorf("marked: %v, %v", marked, err)
	}
	for _, name := range other {
		h.lose(t, name) // what is not edited is in nothing's way
	}
	if got := edited(); !slices.Equal(got, want) {
		t.Errorf("edited: %v, want %v", got, want)
	}
}
