package language

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"go.lsp.dev/protocol"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/language"
	"github.com/agentls/agentls/workspace"
)

// codeAction serves textDocument/codeAction: the fixes of findings in agent files
// and settings, what makes all fixes of an agent file that are certain, and what
// agents can be asked to do about a place of any document.
//
// only narrows it to kinds and those below them. When the editor asks by itself,
// because the cursor moved, it gets no action about the whole file. A client that
// knows commands alone, as before LSP 3.8, gets the actions that are one.
//
// The list is empty, never null, where there is nothing. The errors are those of
// [Query.fixes], of routing, and ctx's.
func (h *Handlers) codeAction(ctx context.Context, s *workspace.Snapshot,
	p *protocol.CodeActionParams) ([]protocol.CommandOrCodeAction, error) {
	a, err := h.Query(ctx, s)
	if err != nil {
		return nil, err
	}
	var list []protocol.CodeAction
	// An edit can only stand in a code action, so other clients need none of it computed.
	if t := a.texts(); h.takesActions() {
		fixes, err := a.fixes(ctx, p)
		if err != nil {
			return nil, err
		}
		// The kind is looked at first: which agents are likely takes a look at all of them.
		if d, open := s.Document(p.TextDocument.URI); open && !d.Lost && wantedKind(p.Context, language.Write) {
			examples, err := a.exampleActions(ctx, d, p)
			if err != nil {
				return nil, err
			}
			fixes = append(fixes, examples...)
		}
		for _, fix := range fixes {
			if wantedKind(p.Context, fix.Kind) {
				if action, ok := a.codeActionOf(t, fix, p.Context.Diagnostics); ok {
					list = append(list, action)
				}
			}
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if d, open := s.Document(p.TextDocument.URI); open && !d.Lost {
		for _, action := range a.inlineActions(d, p) {
			if action.Kind == nil || wantedKind(p.Context, string(*action.Kind)) {
				list = append(list, action)
			}
		}
	}
	answers := []protocol.CommandOrCodeAction{}
	for i := range list {
		switch {
		case h.takesActions():
			answers = append(answers, &list[i])
		case list[i].Command.Command != "" && list[i].Edit == nil:
			command := list[i].Command
			answers = append(answers, &command)
		}
	}
	return answers, nil
}

// wantedKind reports whether actions of a kind are asked for. Where no kinds are named,
// all are; but an editor that asks by itself gets none about the whole file, since it
// would show a light bulb at every place.
func wantedKind(c protocol.CodeActionContext, kind string) bool {
	if len(c.Only) == 0 {
		return c.TriggerKind != protocol.CodeActionTriggerKindAutomatic || !strings.HasPrefix(kind, "source.")
	}
	return slices.ContainsFunc(c.Only, func(only protocol.CodeActionKind) bool {
		return only == "" || kind == string(only) || strings.HasPrefix(kind, string(only)+".")
	})
}

// fixes returns what fixes the findings in the range of a request: those of an agent file,
// or of settings. Other files that an edit changes are read only where a fix needs them.
// The error is that of settingsFindings, or ctx's.
func (a *Query) fixes(ctx context.Context, p *protocol.CodeActionParams) ([]language.Action, error) {
	if f, ok := a.file(p.TextDocument.URI); ok {
		if _, open := a.Snapshot.Document(p.TextDocument.URI); !open && strings.HasPrefix(f.Text, byteOrderMark) {
			return nil, nil // an editor may open it without the mark: an edit would be of other characters
		}
		var only []string
		for _, kind := range p.Context.Only {
			if kind != "" {
				only = append(only, string(kind))
			}
		}
		sources := a.disk()
		sources.All = func() language.Sources { return a.editable(a.sources()) } // a fix of the name changes other files as well
		return language.Actions(a.World(f.Folder), sources, f, a.Columns(f.Text).in(p.Range), only), ctx.Err()
	}
	return a.settingsActions(ctx, p)
}

// settingsActions returns the fixes of a settings file's findings.
// Only findings that touch the asked range have theirs offered; the only fix of a
// finding is the preferred one.
func (a *Query) settingsActions(ctx context.Context, p *protocol.CodeActionParams) ([]language.Action, error) {
	text, scope, path, ok := a.settingsFile(p.TextDocument.URI)
	if !ok {
		return nil, nil
	}
	findings, err := a.settingsFindings(ctx, p.TextDocument.URI, text, scope, path)
	if err != nil {
		return nil, err
	}
	lines := workspace.NewLines(text)
	span := func(start, end int) definition.Range {
		return definition.Range{Start: place16(lines, start), End: place16(lines, end)}
	}
	asked := a.Columns(text).in(p.Range)
	var actions []language.Action
	for _, finding := range findings {
		at := span(finding.Start, finding.End)
		if behind(at.Start, asked.End) || behind(asked.Start, at.End) {
			continue
		}
		for i, fix := range finding.Fixes {
			actions = append(actions, language.Action{
				Title: fix.Title, Kind: language.QuickFix, Preferred: i == 0 && len(finding.Fixes) == 1,
				Problems: []definition.Problem{{URI: string(p.TextDocument.URI), Range: at, Code: finding.Code}},
				Edit: language.WorkspaceEdit{Edits: []language.Edit{{URI: string(p.TextDocument.URI),
					Range: span(fix.Start, fix.End), Text: fix.Text}}},
			})
		}
	}
	return actions, nil
}

// behind reports whether a position comes after another.
func behind(p, other definition.Position) bool {
	return p.Line > other.Line || (p.Line == other.Line && p.Character > other.Character)
}

// codeActionOf returns an action as the client takes it, with those of given, the client's
// findings, that it fixes; false where the client cannot make its edit as a whole. A
// finding is known by its code, place and text, since the client's have no ids.
func (a *Query) codeActionOf(t *texts, fix language.Action, given []protocol.Diagnostic) (protocol.CodeAction, bool) {
	edit, _, whole := a.workspaceEdit(t, fix.Edit)
	if !whole {
		return protocol.CodeAction{}, false
	}
	kind := protocol.CodeActionKind(fix.Kind)
	action := protocol.CodeAction{Title: legible(fix.Title), Kind: &kind, Edit: edit}
	for _, problem := range fix.Problems {
		at := t.of(problem.URI).Out(problem.Range)
		for _, d := range given {
			message, _ := d.Message.(protocol.String)
			// Settings have their findings without the text, see settingsActions: their
			// code and place have to do.
			if problem.Message != "" && string(message) != legible(problem.Message) {
				continue // a place can have two findings of one code
			}
			if code, ok := d.Code.(protocol.String); ok && string(code) == problem.Code && d.Range == at {
				action.Diagnostics = append(action.Diagnostics, d)
			}
		}
	}
	if c := a.h.client.TextDocument.CodeAction; fix.Preferred && c.IsPreferredSupport != nil && *c.IsPreferredSupport {
		action.IsPreferred = &fix.Preferred
	}
	return action, true
}

// takesActions reports whether the client takes actions that are edits.
func (h *Handlers) takesActions() bool {
	d := h.client.TextDocument
	return d != nil && d.CodeAction != nil && d.CodeAction.CodeActionLiteralSupport.CodeActionKind.ValueSet != nil
}

// acts says which kinds there are to the clients that know kinds: others may not be
// told of them. Nothing is left to be resolved: edits are made for 200 findings of a
// file at most.
func (h *Handlers) acts(c *protocol.ServerCapabilities) {
	c.CodeActionProvider = protocol.Boolean(true)
	if h.takesActions() {
		c.CodeActionProvider = &protocol.CodeActionOptions{CodeActionKinds: []protocol.CodeActionKind{protocol.CodeActionKindQuickFix, language.FixAll, language.Write, runKind, askKind}}
	}
}

// configure returns the edit of a folder's settings, "" for the person's own, that
// describes an MCP server: its command is left to be written. The rest of the file
// stays as it is, comments too; a file that is not there is made. It is false where
// the settings cannot be edited, or describe the server already.
func (a *Query) configure(folder, server string) (language.WorkspaceEdit, bool) {
	path := a.h.daemon.Knowledge.Settings
	if folder != "" {
		path = filepath.Join(folder, workspace.ProjectSettings)
	}
	text, found := "", false
	d, open := a.Snapshot.DocumentAt(path)
	switch {
	// The edit would be of a text that the client does not have.
	case open && d.Lost:
		return language.WorkspaceEdit{}, false
	case open:
		text, found = d.Text, true
	default:
		text, found = settingsText(path)
	}
	keys := []string{"mcpServers", server}
	if workspace.HasSetting([]byte(text), keys) {
		return language.WorkspaceEdit{}, false
	}
	edited, err := workspace.EditSettings([]byte(text), keys, struct {
		Command string   `json:"command"`
		Args    []string `json:"args"`
	}{Args: []string{}})
	if err != nil {
		return language.WorkspaceEdit{}, false
	}
	if !found {
		return language.WorkspaceEdit{Creates: []language.Create{{URI: a.URI(path), Text: string(edited)}}}, true
	}
	return language.WorkspaceEdit{Edits: []language.Edit{difference(a.URI(path), text, string(edited))}}, true
}

// difference returns the one edit that makes a text another: what lies between the lines
// that both begin and end with. name is the URI. The rest of the file is not in the edit,
// so that an editor keeps cursors and folds there.
func difference(name, before, after string) language.Edit {
	start, end := 0, 0
	for start < min(len(before), len(after)) && before[start] == after[start] {
		start++
	}
	start = strings.LastIndexByte(before[:start], '\n') + 1
	for end < min(len(before), len(after))-start && before[len(before)-1-end] == after[len(after)-1-end] {
		end++
	}
	// From the start of a line: no character, and no line's ending, is cut in two.
	if i := strings.IndexByte(before[len(before)-end:], '\n'); i >= 0 {
		end -= i + 1
	} else {
		end = 0
	}
	lines := workspace.NewLines(before)
	at := definition.Range{Start: place16(lines, start), End: place16(lines, len(before)-end)}
	return language.Edit{URI: name, Range: at, Text: after[start : len(after)-end]}
}
