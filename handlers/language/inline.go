package language

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/language"
	"github.com/agentls/agentls/agents/mention"
	"github.com/agentls/agentls/agents/registry"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/wire"
	"github.com/agentls/agentls/workspace"
)

// The kinds of actions that ask agents something. They are below none of LSP's: an
// editor shows them among all actions, and in no menu of refactorings or fixes.
const (
	runKind protocol.CodeActionKind = "agentls.run"
	askKind protocol.CodeActionKind = "agentls.ask"
)

// How many actions of a sort there are for one place.
const (
	maxRuns  = 3 // commands
	maxAsked = 5 // agents
	maxFixed = 3 // findings
)

// InlineCommands returns the lines of a document that call an agent (spec 2.10).
// Agent files have none, since their @name tells the agent of another one, nor has
// what the daemon shows, which a model wrote.
// They are kept for the version of the document: the caller changes nothing in the
// list.
func (a *Query) InlineCommands(d *workspace.Document) []language.Command {
	if d.Lost || !strings.Contains(d.Text, "@") {
		return nil
	}
	if path, ok := workspace.FilePath(d.URI); ok {
		if _, _, is := a.place(path); is || a.h.daemon.IsShown(path) {
			return nil
		}
	}
	return a.calls(d)
}

// inlineLenses returns what stands above the inline commands of a document (spec
// 2.10).
func (a *Query) inlineLenses(d *workspace.Document) []language.Lens {
	var lenses []language.Lens
	for _, c := range a.InlineCommands(d) {
		lenses = append(lenses, c.Lens(string(d.URI)))
	}
	return lenses
}

// inlineItems returns the agents that may stand at a position of a document.
func (a *Query) inlineItems(d *workspace.Document, at definition.Position) language.Completion {
	return language.CompleteInline(&language.World{Agents: a.Catalog}, a.FolderOf(d.URI), d.LanguageID, d.Text, at)
}

// inlineActions returns what agents can be asked to do about a place of any
// document: the inline commands there, the selection, and what others found. When
// the editor asks by itself there is nothing about the selection, which would have
// it offer something wherever the person selects a word.
func (a *Query) inlineActions(d *workspace.Document, p *protocol.CodeActionParams) []protocol.CodeAction {
	var list []protocol.CodeAction
	automatic := p.Context.TriggerKind == protocol.CodeActionTriggerKindAutomatic
	if wantedKind(p.Context, string(protocol.CodeActionKindQuickFix)) {
		list = append(list, a.fixActions(d, p)...)
	}
	if wantedKind(p.Context, string(runKind)) {
		list = append(list, a.runActions(d, p)...)
	}
	if !automatic && p.Range.Start != p.Range.End && wantedKind(p.Context, string(askKind)) {
		for _, e := range a.askable(a.FolderOf(d.URI), maxAsked) {
			name := e.Definition.Name
			list = append(list, action("Ask "+name+" about the selection", askKind, wire.CommandRunOnSelection,
				d.URI, p.Range, name))
		}
	}
	return list
}

// action returns an action that is a command. Arguments are values that can be
// written as JSON.
func action(title string, kind protocol.CodeActionKind, command string, args ...any) protocol.CodeAction {
	c := protocol.Command{Title: title, Command: command}
	for _, arg := range args {
		raw, _ := json.Marshal(arg) // texts, numbers, ranges and what came as JSON
		c.Arguments = append(c.Arguments, raw)
	}
	return protocol.CodeAction{Title: title, Kind: &kind, Command: c}
}

// runActions returns Run for the commands on the lines of a range: as the setting
// has it, and with the answer in each other place that the client can take it.
func (a *Query) runActions(d *workspace.Document, p *protocol.CodeActionParams) []protocol.CodeAction {
	var list []protocol.CodeAction
	r := a.Columns(d.Text).in(p.Range)
	about := InlineOptions{Diagnostics: foreign(p.Context.Diagnostics)}
	if r.Start != r.End {
		// The selection stays in the client's columns: it comes back with the command,
		// and is converted then.
		about.Selection = &definition.Range{Start: definition.Position(p.Range.Start),
			End: definition.Position(p.Range.End)}
	}
	commands := a.commandsIn(d, r)
	for _, c := range commands[:min(len(commands), maxRuns)] {
		line := c.Range.Start.Line
		title, words := "Run @"+c.Agent, ""
		if c.Text != "" {
			words = ": " + tool.Clip(tool.Escape(c.Text), MaxTitle)
		}
		list = append(list, action(title+words, runKind, wire.CommandRunInline, d.URI, line, c.Typed, about))
		usual := a.h.UsualAnswer(a.FolderOf(d.URI))
		for _, place := range answerPlaces {
			if can, _ := a.h.AnswerPlace(place.name); place.name != usual && can == place.name {
				other := about
				other.Answer = place.name
				list = append(list, action(title+place.title+words, runKind, wire.CommandRunInline, d.URI,
					line, c.Typed, other))
			}
		}
	}
	return list
}

// commandsIn returns the inline commands on the lines of a range.
func (a *Query) commandsIn(d *workspace.Document, r definition.Range) []language.Command {
	// The list is shared by all who ask about this version, so a copy is narrowed.
	return slices.DeleteFunc(slices.Clone(a.InlineCommands(d)), func(c language.Command) bool {
		line := c.Range.Start.Line
		// A selection of whole lines ends at the start of the next line, which is not meant.
		behindIt := line == r.End.Line && r.End.Character == 0 && r.Start.Line < line
		return line < r.Start.Line || line > r.End.Line || behindIt
	})
}

// exampleActions returns what keeps the words of an @auto command as an example of an
// agent, so that the next sentence like it is routed there: of the likeliest agents, since
// the one that it went to may be wrong. An editor that asks by itself gets none.
func (a *Query) exampleActions(ctx context.Context, d *workspace.Document,
	p *protocol.CodeActionParams) ([]language.Action, error) {
	if p.Context.TriggerKind == protocol.CodeActionTriggerKindAutomatic {
		return nil, nil
	}
	folder := a.FolderOf(d.URI)
	for _, c := range a.commandsIn(d, a.Columns(d.Text).in(p.Range)) {
		if c.Agent != mention.Auto || c.Text == "" {
			continue
		}
		names, err := a.h.daemon.Agents.LikelyAgents(ctx, folder, c.Text)
		if err != nil {
			return nil, err
		}
		var list []language.Action
		for _, name := range names[:min(len(names), maxAsked)] {
			e := a.Catalog.Find(folder, name)
			// A built-in agent has no file that an example could be written to.
			if e == nil || e.Definition.Path == "" {
				continue
			}
			f, ok := a.file(uri.URI(a.URI(e.Definition.Path)))
			if !ok {
				continue
			}
			if edit, ok := language.AddExample(f, c.Text); ok {
				list = append(list, language.Action{
					Title: "Add this sentence to " + name + "'s examples", Kind: language.Write,
					Edit: language.WorkspaceEdit{Edits: []language.Edit{edit}},
				})
			}
		}
		return list, nil
	}
	return nil, nil
}

// foreign returns the findings that are not the daemon's own, as a run is told of
// them; nil for none.
// They keep the client's positions, and lose the data that only their server understands.
func foreign(all []protocol.Diagnostic) json.RawMessage {
	var list []json.RawMessage
	for _, d := range all {
		if source, _ := d.Source.Get(); source == findingSource {
			continue
		}
		d.Data, d.RelatedInformation = nil, nil
		if raw, err := protocol.Marshal(&d); err == nil {
			list = append(list, raw)
		}
	}
	if list == nil {
		return nil
	}
	raw, _ := json.Marshal(list) // JSON already
	return raw
}

// fixActions returns Fix for what others found: an agent is asked to fix it.
// Findings of agents' files have fixes of their own.
// Its range is whole lines, since a fix is rarely within a word. There are maxFixed
// at most.
func (a *Query) fixActions(d *workspace.Document, p *protocol.CodeActionParams) []protocol.CodeAction {
	var list []protocol.CodeAction
	agent := ""
	for _, found := range p.Context.Diagnostics {
		items := foreign([]protocol.Diagnostic{found})
		if items == nil || len(list) == maxFixed {
			continue
		}
		if agent == "" {
			agent = a.fixer(a.FolderOf(d.URI))
		}
		title := "Fix with " + agent
		if len(p.Context.Diagnostics) > 1 {
			title += ": " + tool.Clip(tool.Escape(messageOf(found)), MaxTitle)
		}
		// The fix reaches to the start of the next line. The last line has none, so there it
		// ends where the finding does.
		end := protocol.Position{Line: found.Range.End.Line + 1}
		if int(end.Line) >= d.Lines().Count() {
			end = found.Range.End
		}
		fix := action(title, protocol.CodeActionKindQuickFix, wire.CommandRunOnSelection, map[string]any{
			"uri": d.URI, "agent": agent,
			"range": protocol.Range{Start: protocol.Position{Line: found.Range.Start.Line}, End: end},
			"input": []any{
				map[string]any{"type": "text", "text": "Fix this."},
				map[string]any{"type": "diagnostics", "uri": d.URI, "items": items},
			},
		})
		fix.Diagnostics = []protocol.Diagnostic{found}
		list = append(list, fix)
	}
	return list
}

// MaxTitle is how long a finding is in the title of an action, in characters.
const MaxTitle = 60

// messageOf returns what a finding says, or its code where it says nothing that can
// be read.
func messageOf(d protocol.Diagnostic) string {
	switch m := d.Message.(type) {
	case protocol.String:
		return string(m)
	case *protocol.MarkupContent:
		return m.Value
	}
	return fmt.Sprint(d.Code)
}

// askable returns agents that a person can ask something in a folder: the folder's
// own first, then the person's and extensions', and main as the last of n.
// Agents of other folders are left out, unless folder is "", and so are those that need
// inputs beside words.
func (a *Query) askable(folder string, n int) []*registry.Entry {
	var list []*registry.Entry
	var general *registry.Entry
	for _, e := range a.Catalog.Entries() {
		d := e.Definition
		if e.State != registry.OK || !d.UserInvocable || needsInputs(d) ||
			(d.Scope == definition.Project && folder != "" && d.Folder != folder) {
			continue
		}
		switch {
		case d.Name == "main":
			general = e
		case d.Scope != definition.System && len(list) < n-1:
			list = append(list, e)
		}
	}
	if general != nil {
		list = append(list, general)
	}
	return list
}

// needsInputs reports whether an agent cannot run on words alone.
func needsInputs(d *definition.Definition) bool {
	var schema struct {
		Required []string `json:"required"`
	}
	return d.Inputs != nil && json.Unmarshal(d.Inputs, &schema) == nil && len(schema.Required) > 0
}

// fixer returns the agent that is asked to fix something: one that says so in its
// name or title, else in its description; main where none does.
func (a *Query) fixer(folder string) string {
	best, rank := "main", 3
	// The limit is above the number of agents, so that none is left out.
	for _, e := range a.askable(folder, len(a.Catalog.Entries())+1) {
		d := e.Definition
		for i, text := range []string{d.Name + " " + d.Title, d.Description} {
			if i+1 < rank && isFixer(text) {
				best, rank = d.Name, i+1
			}
		}
	}
	return best
}

// isFixer reports whether a text says of somebody that they fix or debug.
func isFixer(text string) bool {
	for _, word := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) }) {
		switch word {
		case "fix", "fixes", "fixer", "fixing", "debug", "debugs", "debugger", "debugging":
			return true
		}
	}
	return false
}

// Where the answer to an inline command goes: the values of agents.inline.answer.
const (
	// A document of its own, which needs nothing of the editor.
	AnswerBeside = "document"
	// A comment below the line; needs an editor that applies edits.
	AnswerBelow = "comment"
	// In the place of the line, after a review; needs annotations of edits.
	AnswerInstead = "edit"
)

// placing is one place, and what it adds to the title of Run.
type placing struct{ name, title string }

// answerPlaces are all places, in the order in which they are offered.
var answerPlaces = []placing{
	{AnswerBeside, ", answer as a document"}, {AnswerBelow, ", answer below the line"},
	{AnswerInstead, ", answer as an edit"},
}

// UsualAnswer is where answers go in a folder that say no place.
func (h *Handlers) UsualAnswer(folder string) string {
	return cmp.Or(h.daemon.SettingsOf(folder).InlineAnswer, AnswerBeside)
}

// AnswerPlace returns where an answer goes that is to go somewhere, in an editor
// that may not have it, and why not there. An edit is made only where the editor
// shows it for review first.
// why is "" where it goes where it was to.
func (h *Handlers) AnswerPlace(want string) (place, why string) {
	if want == AnswerInstead {
		w := h.client.Workspace
		if h.AppliesEdits() && h.VersionsEdits() && w.WorkspaceEdit.ChangeAnnotationSupport != nil {
			return want, ""
		}
		want, why = AnswerBelow, "your editor cannot show an edit for review first"
	}
	if want == AnswerBelow && !h.AppliesEdits() {
		return AnswerBeside, "your editor takes no edits"
	}
	return want, why
}

// CommandsTypedIn returns the commands that a document would have with a text.
// They are as they were typed, in the order of the text, with which an edit can be
// tried before it is made.
func (a *Query) CommandsTypedIn(d *workspace.Document, text string) []string {
	next := *d
	next.Text = text
	var list []string
	for _, c := range a.InlineCommands(&next) {
		list = append(list, c.Typed)
	}
	return list
}

// InlineOptions is what an action adds to a command.
type InlineOptions struct {
	Answer    string            `json:"answer,omitempty"`    // where it goes; absent = as the setting says
	Selection *definition.Range `json:"selection,omitempty"` // of the person's
	// Findings of others about the line, as LSP has them.
	Diagnostics json.RawMessage `json:"diagnostics,omitempty"`
}

// Nearest returns the command of a document that was typed so, of several the one
// nearest to a line.
// typed is the command as it was seen, with its @; line is counted from 0.
func (a *Query) Nearest(d *workspace.Document, typed string, line uint32) (best language.Command, ok bool) {
	away := func(c language.Command) uint32 {
		return max(c.Range.Start.Line, line) - min(c.Range.Start.Line, line)
	}
	for _, c := range a.InlineCommands(d) {
		if c.Typed == typed && (!ok || away(c) < away(best)) {
			best, ok = c, true
		}
	}
	return best, ok
}

// IsAnswerPlace reports whether an answer can go to a place of that name.
func IsAnswerPlace(name string) bool {
	return slices.ContainsFunc(answerPlaces, func(p placing) bool { return p.name == name })
}
