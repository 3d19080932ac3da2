package language

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"go.lsp.dev/protocol"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/workspace"
)

// TestNobodyWaitsForReportsInVain: who does not want to know any more what is wrong
// on the disk has an answer at once, whoever finds it out meanwhile.
func TestNobodyWaitsForReportsInVain(t *testing.T) {
	h, named := authored(t, map[string]string{".gemini/agents/boss.md": bossAgent})
	ask := func(ctx context.Context) error {
		_, err := h.diagnostic(ctx, h.Workspace.Snapshot(), &protocol.DocumentDiagnosticParams{TextDocument: protocol.TextDocumentIdentifier{URI: named(".gemini/agents/boss.md")}})
		return err
	}
	h.checks.making <- struct{}{}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if err := ask(gone); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	<-h.checks.making
	for range 2 {
		if err := ask(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// TestTextsOfFilesAreLegible: nothing that a file has reaches a list or a picker as
// it is that does something to a terminal, or turns what stands beside it around;
// ordinary text does.
func TestTextsOfFilesAreLegible(t *testing.T) {
	for text, want := range map[string]string{
		"": "",
		"Über 项目 👨\u200d👩\u200d👧 ⚠\ufe0f می\u200cخواهم":                 "Über 项目 👨\u200d👩\u200d👧 ⚠\ufe0f می\u200cخواهم",
		"1\ufe0f\u20e3 Setup #\u20e3":                                   "1\ufe0f\u20e3 Setup #\u20e3",
		"a\u20e3 \ufe0f\u20e3":                                          "aU+20E3 \ufe0fU+20E3",
		"🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f": "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
		"🏴\U000e0067 \U000e0067\U000e007f":                              "🏴U+E0067 U+E0067U+E007F", // no flag
		"🏴" + strings.Repeat("\U000e0061", 7) + "\U000e007f":            "🏴" + strings.Repeat("U+E0061", 7) + "U+E007F",
		"שלום!\u200f C++\u200e مرحبا\u061c":                             "שלום!\u200f C++\u200e مرحبا\u061c",
		"a\u200fb שלום\u202e":                                           "a\u200fb שלוםU+202E",
		"a\u200eb\u200f\u061c":                                          "aU+200EbU+200FU+061C",
		"a\x1b[31mb":                                                    `a\x1b[31mb`,
		"⚠\ufe0f a\u202eb\nc":                                           "⚠\ufe0f aU+202Eb\\nc",
		"\u200d\x00":                                                    "\u200d" + `\x00`,
		"\xff\u200c":                                                    `\xff` + "\u200c",
	} {
		if got := legible(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
		if got := legible(want); got != want {
			t.Errorf("%q becomes %q", want, got)
		}
	}
	const fix, code = ".gemini/agents/fix.md", "main.go"
	text := "---\nkind: agent\nname: fix\ntitle: \"a\\e]0;evil\\a b\"\ntools: {allow: [\"gr\\e[31mep\"]}\n---\n# Head \x1b[31mred \u202ex\n"
	h, named := authored(t, map[string]string{fix: text})
	h.daemon.Trusted = func(string) bool { return false }
	h.now(t, workspace.Opened{URI: named(fix), Version: 1, Text: text})
	s := h.now(t, workspace.Opened{URI: named(code), LanguageID: "go", Version: 1, Text: "// @fix do\n"})
	doc, ctx := protocol.TextDocumentIdentifier{URI: named(fix)}, t.Context()
	var shown []string
	for _, hierarchical := range []bool{false, true} {
		h.client.TextDocument.DocumentSymbol = &protocol.DocumentSymbolClientCapabilities{HierarchicalDocumentSymbolSupport: &hierarchical}
		outline, err := h.documentSymbol(ctx, s, &protocol.DocumentSymbolParams{TextDocument: doc})
		data, err2 := protocol.Marshal(outline)
		if err := errors.Join(err, err2); err != nil {
			t.Fatal(err)
		}
		shown = append(shown, string(data))
	}
	found, err := h.findSymbols(ctx, s, &protocol.WorkspaceSymbolParams{})
	if err != nil || len(found) != 1 || found[0].ContainerName == nil {
		t.Fatal(found, err)
	}
	shown = append(shown, *found[0].ContainerName)
	list, err := h.completion(ctx, s, &protocol.CompletionParams{TextDocumentPositionParams: at(named(code), 5)})
	if err != nil || len(list.Items) == 0 {
		t.Fatal(list, err)
	}
	detail, _ := list.Items[0].Detail.Get()
	shown = append(shown, detail)
	told, err := h.diagnostic(ctx, s, &protocol.DocumentDiagnosticParams{TextDocument: doc})
	if err != nil {
		t.Fatal(err)
	}
	findings := told.(*protocol.RelatedFullDocumentDiagnosticReport).Items
	for _, d := range findings {
		shown = append(shown, string(d.Message.(protocol.String)))
	}
	actions, err := h.codeAction(ctx, s, &protocol.CodeActionParams{TextDocument: doc, Range: protocol.Range{End: protocol.Position{Line: 9}}, Context: protocol.CodeActionContext{Diagnostics: findings}})
	if err != nil {
		t.Fatal(err)
	}
	mended := slices.ContainsFunc(actions, func(action protocol.CommandOrCodeAction) bool {
		fix := action.(*protocol.CodeAction)
		shown = append(shown, fix.Title)
		return slices.ContainsFunc(fix.Diagnostics, func(d protocol.Diagnostic) bool {
			return strings.Contains(string(d.Message.(protocol.String)), `gr\x1b`)
		})
	})
	if !mended {
		t.Errorf("of %+v no action says that it mends the tool", findings)
	}
	escaped := 0
	for _, text := range shown {
		if strings.ContainsAny(text, "\x1b\a\u202e") || strings.Contains(text, `\u001b`) || strings.Contains(text, `\u202e`) {
			t.Errorf("shown as it is: %q", text)
		}
		if strings.Contains(text, `x1b`) {
			escaped++
		}
	}
	if escaped < 5 {
		t.Errorf("the texts are not there: %q", shown)
	}
}

// TestMarkOfClosedFiles: of a file that is not open, and that begins with the mark
// that some editors do not show, the places are those of its text, and nothing is
// offered that an editor might do to other characters.
func TestMarkOfClosedFiles(t *testing.T) {
	const fix = ".gemini/agents/fix.md"
	h, named := authored(t, map[string]string{fix: byteOrderMark + fixAgent})
	h.daemon.Trusted = func(string) bool { return false }
	s := h.now(t, workspace.Negotiated{Encoding: workspace.UTF8})
	actions := func() int {
		t.Helper()
		list, err := h.codeAction(t.Context(), s, &protocol.CodeActionParams{TextDocument: protocol.TextDocumentIdentifier{URI: named(fix)}, Range: protocol.Range{End: protocol.Position{Line: 9}}})
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	a := &Query{h: h, Snapshot: s, Catalog: nil, encoding: s.Encoding()}
	if end := a.texts().of(string(named(fix))).positionOut(definition.Position{Character: 1}); end.Character != 3 {
		t.Errorf("the mark ends at %d", end.Character)
	}
	if n := actions(); n != 0 {
		t.Errorf("%d actions", n)
	}
	s = h.now(t, workspace.Opened{URI: named(fix), Version: 1, Text: byteOrderMark + fixAgent})
	if n := actions(); n == 0 {
		t.Error("no actions where the editor has the mark itself")
	}
}
