package language

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sourcegraph/conc"
	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"github.com/agentls/agentls/agents"
	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/language"
	"github.com/agentls/agentls/agents/registry"
	"github.com/agentls/agentls/internal/settings"
	"github.com/agentls/agentls/workspace"
)

var errAsked = errors.New("the agents were asked for")

// reader returns handlers whose catalog of agents is never there: asking for it is
// errAsked. The documents are open, by their names below the folder.
func reader(t *testing.T, documents map[string]string) (*Handlers, func(name string) uri.URI) {
	t.Helper()
	dir := t.TempDir()
	h := connect(t.Context(), t)
	h.Catalog = func(context.Context) (*registry.Snapshot, error) { return nil, errAsked }
	h.daemon = &Daemon{
		Knowledge: Knowledge{Home: filepath.Join(dir, "home"), Settings: filepath.Join(dir, "home", "settings.json")},
	}
	named := func(name string) uri.URI { return uri.File(filepath.Join(dir, name)) }
	for name, text := range documents {
		if _, err := h.Workspace.Apply(workspace.Opened{URI: named(name), LanguageID: "go", Version: 1, Text: text}); err != nil {
			t.Fatal(err)
		}
	}
	return h, named
}

// TestReadingWaitsForNothing: of a document that calls no agent all is answered
// with nothing, and of an agent file what it says itself, without the agents being
// known. The control: completion in an agent file does ask for them.
func TestReadingWaitsForNothing(t *testing.T) {
	h, named := reader(t, map[string]string{
		"main.go":               "package main // joe@example.org @x\n\nfunc main() { f(1, 2) }\n",
		".gemini/agents/x.md":   "---\nname: x\ncolor: \"#336699\"\n---\n# Title\n\nhttps://example.com\n",
		".gemini/settings.json": `{"agents": {"defaultScope": "global"}, "mcpServers": {"![a](https://example.com/a.png)": {}}}`,
	})
	ctx, s := t.Context(), h.Workspace.Snapshot()
	one := func(name string) protocol.TextDocumentIdentifier {
		return protocol.TextDocumentIdentifier{URI: named(name)}
	}
	at := func(name string, line, character uint32) protocol.TextDocumentPositionParams {
		return protocol.TextDocumentPositionParams{TextDocument: one(name), Position: protocol.Position{Line: line, Character: character}}
	}
	const code, agent, settings = "main.go", ".gemini/agents/x.md", ".gemini/settings.json"
	for line := range uint32(5) {
		for character := range uint32(30) {
			if line > 0 || character < 16 { // not in the comment's words
				if got, err := h.completion(ctx, s, &protocol.CompletionParams{TextDocumentPositionParams: at(code, line, character)}); got != nil || err != nil {
					t.Fatalf("completion at %d:%d: %v, %v", line, character, got, err)
				}
			}
			if line == 0 {
				continue
			}
			if got, err := h.hover(ctx, s, &protocol.HoverParams{TextDocumentPositionParams: at(code, line, character)}); got != nil || err != nil {
				t.Fatalf("hover at %d:%d: %v, %v", line, character, got, err)
			}
		}
	}
	for name, ask := range map[string]func(protocol.TextDocumentIdentifier) (int, error){
		"inlayHint": func(d protocol.TextDocumentIdentifier) (int, error) {
			got, err := h.inlayHint(ctx, s, &protocol.InlayHintParams{TextDocument: d})
			return len(got), err
		},
		"semanticTokens": func(d protocol.TextDocumentIdentifier) (int, error) {
			got, err := h.semanticTokens(ctx, s, &protocol.SemanticTokensParams{TextDocument: d})
			if got == nil {
				return 0, err
			}
			return len(got.Data), err
		},
	} {
		if n, err := ask(one(code)); n != 0 || err != nil {
			t.Errorf("%s: %d, %v", name, n, err)
		}
		if _, err := ask(one(agent)); !errors.Is(err, errAsked) {
			t.Errorf("%s of an agent file: %v", name, err)
		}
	}
	if got, err := h.documentSymbol(ctx, s, &protocol.DocumentSymbolParams{TextDocument: one(agent)}); err != nil || len(got.(protocol.SymbolInformationSlice)) < 4 {
		t.Errorf("documentSymbol: %v, %v", got, err)
	}
	if got, err := h.foldingRange(ctx, s, &protocol.FoldingRangeParams{TextDocument: one(agent)}); err != nil || len(got) == 0 {
		t.Errorf("foldingRange: %v, %v", got, err)
	}
	if got, err := h.documentLink(ctx, s, &protocol.DocumentLinkParams{TextDocument: one(agent)}); err != nil || len(got) != 1 {
		t.Errorf("documentLink: %v, %v", got, err)
	}
	if got, err := h.documentColor(ctx, s, &protocol.DocumentColorParams{TextDocument: one(agent)}); err != nil || len(got) != 1 {
		t.Errorf("documentColor: %v, %v", got, err)
	}
	if got, err := h.hover(ctx, s, &protocol.HoverParams{TextDocumentPositionParams: at(settings, 0, 15)}); err != nil || got == nil {
		t.Errorf("hover in settings: %v, %v", got, err)
	}
	h.client.TextDocument = &protocol.TextDocumentClientCapabilities{Hover: &protocol.HoverClientCapabilities{ContentFormat: []protocol.MarkupKind{protocol.MarkupKindMarkdown}}}
	got, err := h.hover(ctx, s, &protocol.HoverParams{TextDocumentPositionParams: at(settings, 0, 60)})
	if err != nil || got == nil {
		t.Fatalf("hover of a server: %v, %v", got, err)
	}
	if text := got.Contents.(*protocol.MarkupContent).Value; !strings.HasPrefix(text, "**`mcpServers.![a](https://example.com/a.png)`** · ") {
		t.Errorf("hover of a server whose name is Markdown: %s", text)
	}
	if _, err := h.completion(ctx, s, &protocol.CompletionParams{TextDocumentPositionParams: at(agent, 1, 1)}); !errors.Is(err, errAsked) {
		t.Errorf("completion in an agent file: %v", err)
	}
}

// TestSettingsFiles: what a settings file is, and of whom.
func TestSettingsFiles(t *testing.T) {
	h, named := reader(t, map[string]string{
		"home/settings.json": "{}", ".gemini/settings.json": "{}", "a/.gemini/settings.json": "{}",
		"settings.json": "{}", ".vscode/settings.json": "{}", ".gemini/settings.json.md": "{}",
	})
	a := h.QueryFiles(h.Workspace.Snapshot())
	for name, want := range map[string]settings.Scope{
		"home/settings.json": settings.UserScope, ".gemini/settings.json": settings.ProjectScope, "a/.gemini/settings.json": settings.ProjectScope,
		"settings.json": 0, ".vscode/settings.json": 0, ".gemini/settings.json.md": 0, "b/.gemini/settings.json": 0,
	} {
		if _, scope, _, ok := a.settingsFile(named(name)); ok != (want != 0) || (ok && scope != want) {
			t.Errorf("%s: %s, %t", name, scope, ok)
		}
	}
	for _, name := range []uri.URI{"untitled:1", "", "%", "vscode-vfs://github/.gemini/settings.json"} {
		if _, _, _, ok := a.settingsFile(name); ok {
			t.Errorf("%s is a settings file", name)
		}
	}
}

// TestUnmarked: what Markdown a client is shown that takes none.
func TestUnmarked(t *testing.T) {
	for markdown, want := range map[string]string{
		"**read\\_file** · safe\n\nReads a \\[file\\].": "read_file · safe\n\nReads a [file].",
		"`a_b` and `` ` `` and ``x`y``":                 "a_b and ` and x`y",
		"- model: `pro → x` (fixer\\.md\\:6)":           "- model: pro → x (fixer.md:6)",
		"`open":                                         "`open",
		"``open` x":                                     "``open` x",
		"a\\":                                           "a\\",
		"a\\é **":                                       "a\\é ",
		"2 * 3 * 4":                                     "2 * 3 * 4",
		"":                                              "",
	} {
		if got := plainText(markdown); got != want {
			t.Errorf("%q becomes %q, want %q", markdown, got, want)
		}
	}
}

// TestInsertions: the lines of a text are indented once, by the client where it
// can be told to.
func TestInsertions(t *testing.T) {
	item := language.Item{Insert: "a:\n  b: ${1:x}$0", Snippet: true}
	for name, c := range map[string]struct {
		taker taker
		text  string
		mode  protocol.InsertTextMode
	}{
		"nothing":             {taker{}, "a:\n>>  b: x", 0},
		"snippets":            {taker{snippets: true}, "a:\n  b: ${1:x}$0", 0},
		"snippets, adjusted":  {taker{snippets: true, adjust: true, asIs: true}, "a:\n  b: ${1:x}$0", protocol.InsertTextModeAdjustIndentation},
		"snippets, as is":     {taker{snippets: true, asIs: true}, "a:\n>>  b: ${1:x}$0", protocol.InsertTextModeAsIs},
		"plain text, as is":   {taker{asIs: true}, "a:\n>>  b: x", protocol.InsertTextModeAsIs},
		"plain text adjusted": {taker{adjust: true}, "a:\n  b: x", protocol.InsertTextModeAdjustIndentation},
	} {
		to := protocol.CompletionItem{TextEdit: new(protocol.TextEdit)}
		c.taker.insertion(&to, item, ">>")
		if got := to.TextEdit.(*protocol.TextEdit).NewText; got != c.text || to.InsertTextMode != c.mode || (to.InsertTextFormat == protocol.InsertTextFormatSnippet) != c.taker.snippets {
			t.Errorf("%s: %q, mode %d, format %d", name, got, to.InsertTextMode, to.InsertTextFormat)
		}
	}
}

// TestOneLine: who takes a text of one line only, and what that is.
func TestOneLine(t *testing.T) {
	to := protocol.CompletionItem{TextEdit: new(protocol.TextEdit)}
	taker{snippets: true, oneLine: true}.insertion(&to, language.Item{Insert: "a:\n  b: ${1:x}$0", Snippet: true}, "")
	if got := to.TextEdit.(*protocol.TextEdit).NewText; got != "a:" || to.InsertTextFormat == protocol.InsertTextFormatSnippet {
		t.Errorf("%q, format %d", got, to.InsertTextFormat)
	}
	for client, want := range map[[2]string]bool{
		{"Neovim", "0.7.2"}: true, {"Neovim", "0.10.4+v0.10.4"}: true, {"Neovim", "0.11.0"}: false, {"Neovim", "1.2.3"}: false, {"Neovim", ""}: false, {"helix", "0.9"}: false,
	} {
		if got := oldNeovim(protocol.ClientInfo{Name: client[0], Version: protocol.NewOptional(client[1])}); got != want {
			t.Errorf("%v: %v", client, got)
		}
	}
}

// TestKinds: a client that says which kinds it knows gets no other, and one that
// does not gets those of old.
func TestKinds(t *testing.T) {
	all := taker{kinds: []protocol.CompletionItemKind{protocol.CompletionItemKindEnumMember, protocol.CompletionItemKindText}}
	if old, some, none := (taker{}).kind(language.ModelItem), all.kind(language.ValueItem), all.kind(language.ToolItem); old != protocol.CompletionItemKindValue || some != protocol.CompletionItemKindEnumMember || none != 0 {
		t.Errorf("%d, %d, %d", old, some, none)
	}
}

// TestRecount: tokens are as long and where they are in any encoding, as the
// workspace counts.
func TestRecount(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	alphabet := []rune("ab é😀\u200b漢")
	for range 200 {
		var text strings.Builder
		var tokens []language.Token
		for line := range uint32(1 + random.IntN(5)) {
			at := uint32(0)
			for range random.IntN(5) {
				var word [2]string
				var length [2]uint32
				for i := range word {
					for range 1 + random.IntN(4) {
						c := alphabet[random.IntN(len(alphabet))]
						word[i] += string(c)
						length[i]++
						if c > 0xFFFF {
							length[i]++
						}
					}
				}
				text.WriteString(word[0] + word[1])
				tokens = append(tokens, language.Token{Start: definition.Position{Line: line, Character: at + length[0]}, Length: length[1]})
				at += length[0] + length[1]
			}
			text.WriteString([]string{"\n", "\r\n"}[random.IntN(2)])
		}
		for _, encoding := range []workspace.Encoding{workspace.UTF8, workspace.UTF32} {
			got := slices.Clone(tokens)
			recount(got, text.String(), encoding)
			c := Columns{lines: workspace.NewLines(text.String()), encoding: encoding}
			for i, token := range tokens {
				end := token.Start
				end.Character += token.Length
				want := c.Out(definition.Range{Start: token.Start, End: end})
				if g := got[i]; g.Start.Character != want.Start.Character || g.Length != want.End.Character-want.Start.Character || g.Start.Line != token.Start.Line {
					t.Fatalf("%q, %s: %+v becomes %+v, want %+v", text.String(), encoding, token, g, want)
				}
			}
		}
	}
}

// TestRefresh: what happens while the client is being told is told once more, and
// one that never answers keeps nobody waiting.
func TestRefresh(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	h := connect(ctx, t)
	told, answer := make(chan string, 10), make(chan struct{})
	slow := func(context.Context) error { told <- "slow"; <-answer; return errors.New("no") }
	silent := func(ctx context.Context) error { told <- "silent"; <-ctx.Done(); return ctx.Err() }
	for _, tell := range []func(context.Context) error{slow, silent} {
		h.refreshers = append(h.refreshers, refresher{tell: tell, due: make(chan struct{}, 1)})
	}
	h.Refresh() // before the client is ready
	h.startRefreshing()
	if first := []string{<-told, <-told}; !slices.Contains(first, "slow") || !slices.Contains(first, "silent") {
		t.Fatal(first)
	}
	for range 100 {
		h.refreshers[0].demand() // slow alone: silent would be told again after refreshPatience
	}
	answer <- struct{}{}
	if next := <-told; next != "slow" {
		t.Errorf("%s was told next", next)
	}
	answer <- struct{}{}
	end()
	h.Work.Wait()
	if len(told) > 0 {
		t.Errorf("%s was told too often", <-told)
	}
}

// TestRunsAreComparedInTheirOrder: whoever is told of runs at the same time, what is
// kept of them is not older than what was, so that the end of each is seen.
func TestRunsAreComparedInTheirOrder(t *testing.T) {
	var l liveRuns
	var others conc.WaitGroup
	q, r := &agents.Live{ID: "q"}, &agents.Live{ID: "r"}
	l.ended(func() []*agents.Live {
		if l.mu.TryLock() {
			l.mu.Unlock()
			t.Error("another may read the runs, and be done first")
		}
		others.Go(func() { l.ended(func() []*agents.Live { return []*agents.Live{q, r} }) })
		return []*agents.Live{q}
	})
	others.Wait()
	if !l.ended(func() []*agents.Live { return []*agents.Live{q} }) {
		t.Error("the end of r is not seen")
	}
	if l.ended(func() []*agents.Live { return []*agents.Live{q} }) {
		t.Error("none has ended")
	}
}

// TestLinksLookNowhereElse: what an agent file names is looked for in its folder, and
// not where a link leads out of it.
func TestLinksLookNowhereElse(t *testing.T) {
	const agent = ".gemini/agents/x.md"
	h, named := authored(t, map[string]string{"docs/a.md": "x", agent: "---\nname: x\n---\n@docs/a.md @out/a.md @in/a.md @docs/b.md @../a.md\n"})
	dir, far := filepath.Dir(named("x").FsPath()), t.TempDir()
	if err := os.WriteFile(filepath.Join(far, "a.md"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Symlink(far, filepath.Join(dir, "out")), os.Symlink("docs", filepath.Join(dir, "in"))); err != nil {
		t.Fatal(err)
	}
	got, err := h.documentLink(t.Context(), h.Workspace.Snapshot(), &protocol.DocumentLinkParams{TextDocument: protocol.TextDocumentIdentifier{URI: named(agent)}})
	if err != nil || len(got) != 2 || *got[0].Target != named("docs/a.md") || *got[1].Target != named("in/a.md") {
		t.Errorf("%+v, %v", got, err)
	}
}
