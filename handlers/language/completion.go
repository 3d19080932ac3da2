package language

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.lsp.dev/protocol"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/language"
	"github.com/agentls/agentls/internal/settings"
	"github.com/agentls/agentls/internal/wire"
	"github.com/agentls/agentls/workspace"
)

// completes says what calls for completion, and that agents are described later.
func completes(c *protocol.ServerCapabilities) {
	resolves := true
	c.CompletionProvider = &protocol.CompletionOptions{
		TriggerCharacters: []string{":", "[", ",", "-", "@", "$", "{", `"`, "#", " "}, ResolveProvider: &resolves,
	}
}

// completion serves textDocument/completion: of agent files, of files of tests, of
// settings, and of agents behind the @ of a line of any document that calls one. It is
// null in any other place, at once: the agents are waited for only where they may be
// offered, since editors ask with each key in every file.
func (h *Handlers) completion(ctx context.Context, s *workspace.Snapshot,
	p *protocol.CompletionParams) (*protocol.CompletionList, error) {
	bare, name := h.QueryFiles(s), p.TextDocument.URI
	if f, ok := bare.file(name); ok {
		a, err := h.Query(ctx, s)
		if err != nil {
			return nil, err
		}
		c := a.Columns(f.Text)
		w := a.World(f.Folder)
		return h.completions(c, f.Text, w, f.Folder, language.Complete(w, f, c.positionIn(p.Position))), nil
	}
	if f, ok := bare.testFile(name); ok {
		a, err := h.Query(ctx, s)
		if err != nil {
			return nil, err
		}
		return a.completeTests(f, p.Position), nil
	}
	if text, scope, path, ok := bare.settingsFile(name); ok {
		a, err := h.Query(ctx, s)
		if err != nil {
			return nil, err
		}
		return a.completeSettings(text, scope, path, p.Position), nil
	}
	d, open := s.Document(name)
	if !open || d.Lost || !namesAgent(d, p.Position, s.Encoding()) {
		return nil, nil
	}
	a, err := h.Query(ctx, s)
	if err != nil {
		return nil, err
	}
	c, folder := a.Columns(d.Text), a.FolderOf(d.URI)
	return h.completions(c, d.Text, a.World(folder), folder, a.inlineItems(d, c.positionIn(p.Position))), nil
}

// namesAgent reports whether what stands before a position of a document may be
// the beginning of an agent's name: most words are not.
// at counts in encoding, the client's.
func namesAgent(d *workspace.Document, at protocol.Position, encoding workspace.Encoding) bool {
	line := d.Lines().Line(int(at.Line))
	offset, err := workspace.Offset(line, workspace.Position{Character: at.Character}, encoding)
	if err != nil {
		return false
	}
	i := strings.LastIndexByte(line[:offset], '@')
	return i >= 0 && !strings.ContainsAny(line[i:offset], " \t")
}

// callsNear reports whether the line of a position may call an agent.
// Like namesAgent it looks at one line only, before anything is waited for.
func callsNear(d *workspace.Document, at protocol.Position) bool {
	return strings.Contains(d.Lines().Line(int(at.Line)), "@")
}

// itemKinds are what items are shown as: what fits best, and what a client
// understands that names no kinds.
var itemKinds = map[language.ItemKind][2]protocol.CompletionItemKind{
	language.FieldItem:    {protocol.CompletionItemKindProperty},
	language.ValueItem:    {protocol.CompletionItemKindEnumMember, protocol.CompletionItemKindValue},
	language.ModelItem:    {protocol.CompletionItemKindConstant, protocol.CompletionItemKindValue},
	language.ToolItem:     {protocol.CompletionItemKindFunction},
	language.ServerItem:   {protocol.CompletionItemKindModule},
	language.AgentItem:    {protocol.CompletionItemKindClass},
	language.VariableItem: {protocol.CompletionItemKindVariable},
	language.ColorItem:    {protocol.CompletionItemKindColor},
	language.FileItem:     {protocol.CompletionItemKindSnippet},
}

// taker is what a client takes of completions, as it said at the start.
type taker struct {
	// tags and deprecated are the newer and the older way to strike an item through.
	snippets, tags, deprecated bool
	// adjust and asIs are the modes of insertion that the client can be told: whether it
	// indents the lines of a text itself.
	adjust, asIs bool
	// oneLine says that what it inserts may not have lines.
	oneLine bool
	// lazy says that it asks for documentation when an item is looked at.
	lazy    bool
	formats []protocol.MarkupKind
	// kinds are those that it knows; nil is those that LSP began with.
	kinds []protocol.CompletionItemKind
}

// oldNeovim reports whether a client is Neovim before 0.11.
func oldNeovim(client protocol.ClientInfo) bool {
	version, _ := client.Version.Get()
	major, rest, _ := strings.Cut(strings.TrimPrefix(version, "v"), ".")
	minor, _, _ := strings.Cut(rest, ".")
	n, err := strconv.Atoi(minor)
	return client.Name == "Neovim" && major == "0" && err == nil && n < 11
}

// taker returns what the client takes, as it said at the start. What it did not say it
// does not take.
func (h *Handlers) taker() taker {
	// A client that says nothing of completion can do least: it takes one line, and it
	// asks for documentation as all clients did before LSP 3.16.
	t := taker{lazy: true, oneLine: true}
	c := h.textCaps().Completion
	if c == nil {
		return t
	}
	if c.CompletionItemKind != nil {
		t.kinds = c.CompletionItemKind.ValueSet
	}
	if i := c.CompletionItem; i != nil {
		modes := i.InsertTextModeSupport.ValueSet
		t.snippets, t.deprecated, t.formats = on(i.SnippetSupport), on(i.DeprecatedSupport), i.DocumentationFormat
		t.tags = slices.Contains(i.TagSupport.ValueSet, protocol.CompletionItemTagDeprecated)
		t.adjust = slices.Contains(modes, protocol.InsertTextModeAdjustIndentation)
		t.asIs = slices.Contains(modes, protocol.InsertTextModeAsIs)
		// Without snippets, many editors take the text for one word: Neovim before 0.11
		// writes NUL where a line ends, and with a snippet's text too.
		t.oneLine = !t.snippets || h.oldNeovim
		// A client that names no properties asks for documentation: until LSP 3.16 there
		// was no way to name any.
		t.lazy = i.ResolveSupport.Properties == nil || slices.Contains(i.ResolveSupport.Properties, "documentation")
	}
	return t
}

// kind is a kind that the client knows, or none.
// 0 stands for none, and is not sent.
func (t taker) kind(k language.ItemKind) protocol.CompletionItemKind {
	for _, kind := range itemKinds[k] {
		// The kinds as far as Reference are those of the first LSP, which a client has to
		// know that names none.
		if (t.kinds == nil && kind <= protocol.CompletionItemKindReference) || slices.Contains(t.kinds, kind) {
			return kind
		}
	}
	return 0
}

// insertion puts the text of an item into the client's words. indent is what the line
// begins with. The lines of a text are indented as its first one is: by the client where
// it can be told so, by its engine where the text is a snippet, and else here. to.TextEdit
// is set already, with its range.
func (t taker) insertion(to *protocol.CompletionItem, i language.Item, indent string) {
	text := i.Plain()
	snippet := i.Snippet && t.snippets
	if t.oneLine && strings.Contains(text, "\n") {
		text, _ = i.OneLine()
		snippet = false
	}
	if snippet {
		text, to.InsertTextFormat = i.Insert, protocol.InsertTextFormatSnippet
	}
	if strings.Contains(text, "\n") {
		switch {
		case t.adjust:
			to.InsertTextMode = protocol.InsertTextModeAdjustIndentation
		case t.asIs:
			to.InsertTextMode = protocol.InsertTextModeAsIs
			text = strings.ReplaceAll(text, "\n", "\n"+indent)
		case !snippet:
			text = strings.ReplaceAll(text, "\n", "\n"+indent)
		}
	}
	to.TextEdit.(*protocol.TextEdit).NewText = text
}

// toDescribe is what an item that is described later carries: where its agent is
// looked up.
type toDescribe struct {
	Folder string `json:"folder"`
}

// completions puts items into the client's words. text is that of the file, for the
// indentation of lines. An item that cannot be written in the one line that a client takes
// is left out. Documentation of agents comes later where the client asks for it, since
// there may be thousands of them.
func (h *Handlers) completions(c Columns, text string, w *language.World, folder string,
	found language.Completion) *protocol.CompletionList {
	t := h.taker()
	list := &protocol.CompletionList{Items: make([]protocol.CompletionItem, 0, len(found.Items)),
		IsIncomplete: found.Partial}
	later, _ := json.Marshal(toDescribe{folder}) // a text is JSON
	index := workspace.NewLines(text)
	var last definition.Range // of all items it is mostly the same
	var at protocol.Range
	indent := ""
	for n, i := range found.Items {
		if _, line := i.OneLine(); t.oneLine && !line {
			continue
		}
		if n == 0 || i.Range != last {
			last, at = i.Range, c.Out(i.Range)
			line := index.Line(int(last.Start.Line))
			indent = line[:len(line)-len(strings.TrimLeft(line, " \t"))]
		}
		item := protocol.CompletionItem{
			Label: legible(i.Label), Kind: t.kind(i.Kind), SortText: protocol.NewOptional(i.Sort),
			TextEdit: &protocol.TextEdit{Range: at},
		}
		if i.Detail != "" {
			item.Detail = protocol.NewOptional(legible(i.Detail))
		}
		switch {
		case i.Kind == language.AgentItem && t.lazy:
			item.Data = later
		default:
			if doc := language.Describe(w, folder, i); doc != "" {
				item.Documentation = markup(t.formats, doc)
			}
		}
		if i.Retired {
			switch {
			case t.tags:
				item.Tags = []protocol.CompletionItemTag{protocol.CompletionItemTagDeprecated}
			case t.deprecated:
				//lint:ignore SA1019 older clients know nothing newer
				item.Deprecated = protocol.NewOptional(true)
			}
		}
		t.insertion(&item, i, indent)
		list.Items = append(list.Items, item)
	}
	return list
}

// resolveCompletion serves completionItem/resolve: what an agent is for.
// An item that carries nothing to look up is answered as it came.
func (h *Handlers) resolveCompletion(ctx context.Context, s *workspace.Snapshot,
	i *protocol.CompletionItem) (*protocol.CompletionItem, error) {
	var of toDescribe
	if len(i.Data) == 0 || (wire.Codec{}).Unmarshal(i.Data, &of) != nil {
		return i, nil // all is said of it
	}
	a, err := h.Query(ctx, s)
	if err != nil {
		return nil, err
	}
	if doc := language.Describe(a.World(of.Folder), of.Folder,
		language.Item{Label: i.Label, Kind: language.AgentItem}); doc != "" {
		i.Documentation = markup(h.taker().formats, doc)
	}
	return i, nil
}

// snippetText makes a text one that a snippet says as it is.
var snippetText = strings.NewReplacer(`\`, `\\`, `$`, `\$`, `}`, `\}`)

// completeSettings returns what may stand at a position of a settings file. A key that
// brings brackets puts the cursor between them. A position behind the end of the text has
// nothing.
func (a *Query) completeSettings(text string, scope settings.Scope, path string,
	at protocol.Position) *protocol.CompletionList {
	t := a.h.taker()
	lines := workspace.NewLines(text)
	offset, err := lines.Offset(workspace.Position(at), a.encoding)
	if err != nil {
		return nil // it is behind the end of what is there
	}
	list := &protocol.CompletionList{Items: []protocol.CompletionItem{}}
	for n, i := range workspace.CompleteSettings([]byte(text), scope, offset,
		a.settingsNames(settingsFolder(path, scope))) {
		start, errStart := lines.Position(i.Start, a.encoding)
		end, errEnd := lines.Position(i.End, a.encoding)
		if errStart != nil || errEnd != nil {
			continue // offsets of the text itself: cannot be
		}
		// Editors sort by the label unless SortText says otherwise: it keeps the order of
		// CompleteSettings.
		item := protocol.CompletionItem{
			Label: i.Label, Kind: t.kind(language.ValueItem), SortText: protocol.NewOptional(fmt.Sprintf("%05d", n)),
			Detail:        protocol.NewOptional(legible(i.Detail)),
			Documentation: markup([]protocol.MarkupKind{protocol.MarkupKindPlainText}, i.Doc),
		}
		shown := language.Item{Insert: i.Text}
		if i.Key {
			item.Kind = t.kind(language.FieldItem)
			if open := strings.TrimSuffix(strings.TrimSuffix(i.Text, "}"), "]"); open != i.Text {
				shown.Insert, shown.Snippet = snippetText.Replace(open)+"$0"+i.Text[len(open):], true
			}
		}
		if i.Start < len(text) && i.Start < i.End && text[i.Start] == '"' {
			item.FilterText = protocol.NewOptional(`"` + i.Label + `"`) // editors compare it with what is replaced
		}
		item.TextEdit = &protocol.TextEdit{Range: protocol.Range{Start: protocol.Position(start),
			End: protocol.Position(end)}}
		t.insertion(&item, shown, "")
		list.Items = append(list.Items, item)
	}
	return list
}
