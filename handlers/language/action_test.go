package language

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"go.lsp.dev/protocol"
	"pgregory.net/rapid"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/language"
	"github.com/agentls/agentls/agents/registry"
	"github.com/agentls/agentls/workspace"
)

// made makes an edit of a text.
func made(t interface{ Fatal(...any) }, text string, e language.Edit) string {
	offset := func(p definition.Position) int {
		o, err := workspace.Offset(text, workspace.Position{Line: p.Line, Character: p.Character}, workspace.UTF16)
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	return text[:offset(e.Range.Start)] + e.Text + text[offset(e.Range.End):]
}

// TestDifference: the edit makes one text the other, in whole lines.
func TestDifference(t *testing.T) {
	text := rapid.StringMatching("([a😀é{},]{0,3}(\n|\r\n|\r)?){0,6}")
	rapid.Check(t, func(t *rapid.T) {
		before, after := text.Draw(t, "before"), text.Draw(t, "after")
		e := difference("file:///x", before, after)
		if got := made(t, before, e); got != after {
			t.Fatalf("%q became %q, not %q, by %+v", before, got, after, e)
		}
		if e.Range.Start.Character != 0 {
			t.Fatalf("%+v begins inside of a line", e)
		}
	})
}

// TestConfigure: the settings are changed where the editor has them, else on the
// disk, and nothing that they say of the server already.
func TestConfigure(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"comments", "{\n  // é😀\n  \"mcpServers\": {\"a\": {}}, // b\n}\n", "{\n  // é😀\n  \"mcpServers\": {\"a\": {}, \"db\": {\n    \"command\": \"\",\n    \"args\": []\n  }}, // b\n}\n"},
		{"lines of Windows", "{\r\n  \"mcpServers\": {}\r\n}\r\n", "{\r\n  \"mcpServers\": {\r\n    \"db\": {\r\n      \"command\": \"\",\r\n      \"args\": []\r\n    }\r\n  }\r\n}\r\n"},
		{"empty", "", "{\n  \"mcpServers\": {\n    \"db\": {\n      \"command\": \"\",\n      \"args\": []\n    }\n  }\n}\n"},
		{"null", `{"mcpServers": {"db": null}}`, "{\"mcpServers\": {\"db\": {\n    \"command\": \"\",\n    \"args\": []\n  }}}"},
		{"there", `{"mcpServers": {"db": {"url": "http://x"}}}`, ""},
		{"broken", `{"mcpServers": {`, ""},
		{"no object", `{"mcpServers": []}`, ""},
	} {
		h, named := reader(t, map[string]string{".gemini/settings.json": c.text})
		folder := filepath.Dir(filepath.Dir(named(".gemini/settings.json").FsPath()))
		edit, ok := h.QueryFiles(h.Workspace.Snapshot()).configure(folder, "db")
		if ok != (c.want != "") {
			t.Errorf("%s: %v %+v", c.name, ok, edit)
			continue
		}
		if !ok {
			continue
		}
		if len(edit.Edits) != 1 || edit.Edits[0].URI != string(named(".gemini/settings.json")) {
			t.Errorf("%s: %+v", c.name, edit)
		} else if got := made(t, c.text, edit.Edits[0]); strings.Join(strings.Fields(got), " ") != strings.Join(strings.Fields(c.want), " ") || strings.Count(got, "\r") != strings.Count(c.want, "\r") {
			t.Errorf("%s:\n%q\nwant\n%q", c.name, got, c.want)
		}
		// The person's own, which is not there.
		edit, ok = h.QueryFiles(h.Workspace.Snapshot()).configure("", "db")
		if !ok || len(edit.Creates) != 1 || !strings.HasSuffix(edit.Creates[0].URI, "/home/settings.json") {
			t.Errorf("%s: %+v", c.name, edit)
		}
	}
}

// TestActionsOfOldClients: a client that knows commands alone is sent no action that
// is an edit, and one that does not know isPreferred is not told of it.
func TestActionsOfOldClients(t *testing.T) {
	h, named := reader(t, map[string]string{".gemini/settings.json": `{"agents": {"limts": {}}}`})
	r := registry.New(registry.Config{})
	catalog, err := r.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	h.Catalog = func(context.Context) (*registry.Snapshot, error) { return catalog, nil }
	p := &protocol.CodeActionParams{TextDocument: protocol.TextDocumentIdentifier{URI: named(".gemini/settings.json")}}
	p.Range.Start.Character, p.Range.End.Character = 15, 15
	ask := func() []protocol.CommandOrCodeAction {
		list, err := h.codeAction(t.Context(), h.Workspace.Snapshot(), p)
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	for _, any := range ask() {
		if _, ok := any.(*protocol.Command); !ok {
			t.Errorf("%T was sent to a client of commands", any)
		}
	}
	var c protocol.ServerCapabilities
	h.acts(&c)
	if c.CodeActionProvider != protocol.Boolean(true) {
		t.Errorf("kinds are told to who knows none: %v", c.CodeActionProvider)
	}
	yes := true
	actions := &protocol.CodeActionClientCapabilities{}
	actions.CodeActionLiteralSupport.CodeActionKind.ValueSet = []protocol.CodeActionKind{protocol.CodeActionKindQuickFix}
	h.client.TextDocument = &protocol.TextDocumentClientCapabilities{CodeAction: actions}
	for _, preferred := range []*bool{nil, &yes} {
		actions.IsPreferredSupport = preferred
		list := ask()
		if len(list) == 0 {
			t.Fatal("there is no fix")
		}
		fix, ok := list[0].(*protocol.CodeAction)
		if !ok || fix.Title != "Change to limits" || len(fix.Edit.Changes) != 1 || (fix.IsPreferred != nil) != (preferred != nil) {
			t.Errorf("%+v", list[0])
		}
	}
}

// TestNamingWaitsForNothing: where no agent can be named, nobody waits for the agents.
func TestNamingWaitsForNothing(t *testing.T) {
	h, named := reader(t, map[string]string{"main.go": "package main\n\n// mail joe@example.org\n", ".gemini/settings.json": "{}", ".gemini/agents/x.md": "---\nname:   x\n---\nx\n"})
	s := h.Workspace.Snapshot()
	at := func(name string, line uint32) protocol.TextDocumentPositionParams {
		return protocol.TextDocumentPositionParams{TextDocument: protocol.TextDocumentIdentifier{URI: named(name)}, Position: protocol.Position{Line: line}}
	}
	for _, c := range []struct {
		name  string
		line  uint32
		waits bool
	}{{"main.go", 0, false}, {"main.go", 1, false}, {"main.go", 99, false}, {"main.go", 2, true}, {"gone.go", 0, false}, {".gemini/settings.json", 0, true}, {".gemini/agents/x.md", 0, true}} {
		got, err := h.highlight(t.Context(), s, &protocol.DocumentHighlightParams{TextDocumentPositionParams: at(c.name, c.line)})
		if errors.Is(err, errAsked) != c.waits || len(got) > 0 {
			t.Errorf("%s:%d: %v, %v", c.name, c.line, got, err)
		}
	}
	edits, err := h.format(t.Context(), s, &protocol.DocumentFormattingParams{TextDocument: protocol.TextDocumentIdentifier{URI: named(".gemini/agents/x.md")}})
	if err != nil || len(edits) != 1 {
		t.Errorf("formatting: %v, %v", edits, err)
	}
}
