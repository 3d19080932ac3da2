package handlers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.lsp.dev/protocol"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/definition"
	agentfile "github.com/agentls/agentls/agents/language"
	"github.com/agentls/agentls/agents/mention"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/handlers/language"
	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/internal/wire"
	"github.com/agentls/agentls/server"
	"github.com/agentls/agentls/workspace"
)

// inlineRun is what agentls.runInline takes as one object.
type inlineRun struct {
	// The document; "" = ask, or the one with a command.
	URI string `json:"uri,omitempty"`
	// From 0: where the command was seen.
	Line uint32 `json:"line,omitempty"`
	// The command as it was seen, word for word; "" = ask.
	Typed string `json:"typed,omitempty"`
	language.InlineOptions
}

// commandRunInline takes [uri?, line?, typed?, options?], or one object. What runs
// is the command that the document has now: the one that was typed so, nearest to
// the line. Without a document or a command it asks which one; the person may
// choose none, and then nothing runs.
func (h *Handlers) commandRunInline(ctx context.Context, s *workspace.Snapshot,
	p *protocol.ExecuteCommandParams) (any, error) {
	r, err := inlineArguments(p)
	if err != nil {
		return nil, invalidArguments(err)
	}
	a, err := h.language.Query(ctx, s)
	if err != nil {
		return nil, err
	}
	call, err := h.chooseInline(ctx, a, r)
	if err != nil || call == nil {
		return nil, h.showError(err)
	}
	folder := a.FolderOf(call.doc.URI)
	want, why := h.language.AnswerPlace(cmp.Or(r.Answer, h.language.UsualAnswer(folder)))
	// Some documents have no comments, so it is tried with any text.
	if want == language.AnswerBelow {
		if _, err := call.command.Below(call.doc.LanguageID, call.doc.Text, "x"); err != nil {
			want, why = language.AnswerBeside, fault.Message(err)
		}
	}
	run, err := h.inlineParams(ctx, a, call, r.InlineOptions, want)
	if err != nil {
		return nil, h.showError(server.BadParams(protocol.MethodWorkspaceExecuteCommand, "arguments",
			"have a selection that is not in the document: %v", err))
	}
	result, err := h.runToEnd(ctx, s, run, p)
	if err != nil {
		return nil, err
	}
	switch {
	// Only a run that reached its goal has an answer to insert.
	case result.Reason != activity.Goal || strings.TrimSpace(result.Text) == "":
	case want == language.AnswerBeside && why != "":
		h.tell(infoMessage, fmt.Sprintf("The answer of %s is not put into the document: %s", result.Agent, why))
	case want != language.AnswerBeside:
		if h.answered(ctx, call, want, result) {
			if why != "" {
				h.tell(infoMessage, fmt.Sprintf("The answer of %s is a comment below the line: %s", result.Agent, why))
			}
			return result, nil
		}
	}
	h.showResult(ctx, result, true)
	return result, nil
}

// showError has a person hear of an error whose editor takes no answers of commands.
// It returns err as it is; nil is told nobody, and neither is what they cancelled themselves.
func (h *Handlers) showError(err error) error {
	if err != nil && h.plain && fault.KindOf(err) != fault.Canceled {
		h.tell(errorMessage, fault.Message(err))
	}
	return err
}

// inlineArguments reads the arguments of agentls.runInline in either form.
// They are one object, or the URI, the line, the command as it was typed and the options,
// in this order; those at the end may be left out.
func inlineArguments(p *protocol.ExecuteCommandParams) (*inlineRun, error) {
	r := &inlineRun{}
	if len(p.Arguments) == 1 && len(p.Arguments[0]) > 0 && p.Arguments[0][0] == '{' {
		if err := readArgument(p, 0, r); err != nil {
			return nil, err
		}
	} else {
		for i, into := range []any{&r.URI, &r.Line, &r.Typed, &r.InlineOptions} {
			if i < len(p.Arguments) {
				if err := readArgument(p, i, into); err != nil {
					return nil, err
				}
			}
		}
	}
	if r.Answer != "" && !language.IsAnswerPlace(r.Answer) {
		return nil, fmt.Errorf("answer is %q, want document, comment or edit", r.Answer)
	}
	return r, nil
}

// inlineCall is an inline command of a document.
type inlineCall struct {
	doc *workspace.Document
	// As it stands in doc.
	command agentfile.Command
}

// chooseInline returns the command that is meant, nil where the person chose none.
// With what was typed the command must still stand in the document, though it may
// have moved; without it the person is asked, unless there is one alone.
func (h *Handlers) chooseInline(ctx context.Context, a *language.Query, r *inlineRun) (*inlineCall, error) {
	var open []*workspace.Document
	if r.URI != "" {
		d, err := h.chooseDocument(ctx, a.Snapshot, r.URI)
		if err != nil {
			return nil, err
		}
		if r.Typed != "" {
			if c, ok := a.Nearest(d, r.Typed, r.Line); ok {
				return &inlineCall{d, c}, nil
			}
			if _, err := mention.Parse(r.Typed, h.addresseesIn(a.Catalog)); err != nil &&
				strings.Contains(d.Text, r.Typed) {
				return nil, err // the line is there, and the agent is not
			}
			return nil, fault.New(fault.Stale, "handlers.runInline",
				"%q is no command of %s any more; run it from the line where it stands now",
				tool.Clip(tool.Escape(r.Typed), summaryWidth), tool.FileName(string(d.URI))).Because(fault.OutOfDate)
		}
		open = []*workspace.Document{d}
	} else {
		open = slices.SortedFunc(a.Snapshot.Documents(), func(a,
			b *workspace.Document) int {
			return strings.Compare(string(a.URI), string(b.URI))
		})
	}
	q := tool.Question{Message: "Which command?"}
	calls := map[string]*inlineCall{}
	var first *inlineCall
	for _, d := range open {
		for _, c := range a.InlineCommands(d) {
			title := fmt.Sprintf("%s:%d %s", tool.FileName(string(d.URI)), c.Range.Start.Line+1,
				tool.Clip(tool.Escape(c.Typed), language.MaxTitle))
			if calls[title] != nil { // files of one name
				title = string(d.URI) + title[strings.IndexByte(title, ':'):]
			}
			if len(calls) == maxOffered || calls[title] != nil {
				continue
			}
			calls[title] = &inlineCall{d, c}
			first = cmp.Or(first, calls[title])
			q.Choices = append(q.Choices, title)
		}
	}
	switch len(calls) {
	case 0:
		return nil, fault.New(fault.NotFound, "handlers.runInline",
			`no open document has an inline command; write a comment or a line of Markdown like "@main what does this do?"`)
	case 1:
		return first, nil
	}
	title, err := h.askPerson(ctx, q)
	if errors.Is(err, errUnserved) {
		return nil, server.BadParams(protocol.MethodWorkspaceExecuteCommand, "arguments",
			"have to name a document, a line and a command: this editor cannot be asked which one. There are: %s",
			examples(q.Choices))
	}
	return calls[title], err
}

// maxAround bounds the text around a command that a run gets with it; of more it
// is told where that is.
const maxAround = 20_000

// inlineParams returns the run of a command: its words, the file and what is
// around the line in it, what is selected, and what was found there.
// Of a document whose text agents are not given by a name, only the name and the
// reason go along.
func (h *Handlers) inlineParams(ctx context.Context, a *language.Query, call *inlineCall, o language.InlineOptions,
	want string) (*wire.RunParams, error) {
	d, c := call.doc, call.command
	editor, err := about(d, o.Selection, a.Snapshot.Encoding())
	if err != nil {
		return nil, err
	}
	h.withhold(ctx, a.Snapshot, editor)
	at := a.Columns(d.Text).Out(c.Range).Start
	editor.Cursor, editor.Diagnostics = &definition.Position{Line: at.Line, Character: at.Character}, o.Diagnostics
	name := tool.FileName(string(d.URI))
	said := fmt.Sprintf("This was written on line %d of %s, and is about what is around it.", at.Line+1, name)
	switch want {
	case language.AnswerBelow:
		said += " The answer is put below that line as a comment: plain text, no longer than it has to be."
	case language.AnswerInstead:
		said += " The answer takes the place of that line: give the new text in one fenced block of code, and no more than belongs there."
	}
	link := activity.ContentBlock{Type: "resource_link", URI: string(d.URI), Name: name}
	run := &wire.RunParams{Agent: c.Agent, Strategy: c.Strategy, Context: editor,
		Input: wire.InputBlocks{{Type: "text", Text: c.Text}, {Type: "text", Text: said}}}
	if path, ok := workspace.FilePath(d.URI); ok {
		if _, _, why := h.nameable(ctx, h.lookingFrom(a.FolderOf(d.URI)), h.person(a.Snapshot), path); why != "" {
			link.Name += ", whose text is not given to agents: " + why
			run.Input = append(run.Input, link)
			return run, nil
		}
	}
	first, last := agentfile.Around(d.LanguageID, d.Text, int(c.Range.Start.Line))
	lines := make([]string, 0, last-first+1)
	for n := first; n <= last; n++ {
		lines = append(lines, d.Lines().Line(n))
	}
	text := strings.Join(lines, "\n")
	r := &definition.Range{Start: definition.Position{Line: uint32(first)},
		End: definition.Position{Line: uint32(last) + 1}}
	run.Input = append(run.Input, link)
	if len(text) > maxAround {
		run.Input[len(run.Input)-1].Range = r
		return run, nil
	}
	run.Input = append(run.Input, activity.ContentBlock{
		Type: "resource", Resource: &activity.Resource{URI: string(d.URI), Range: r,
			MimeType: "text/plain", Text: text},
	})
	return run, nil
}
