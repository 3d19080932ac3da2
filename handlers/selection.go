package handlers

import (
	"context"
	"errors"
	"slices"
	"strings"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/session"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/wire"
	"github.com/agentls/agentls/server"
	"github.com/agentls/agentls/workspace"
)

// selected is what agentls.runOnSelection takes as one object.
type selected struct {
	wire.RunParams
	// The document; "" = the one that the person looks at, else ask.
	URI string `json:"uri,omitempty"`
	// What is selected, in the encoding that was negotiated; nil = all of the
	// document.
	Range *definition.Range `json:"range,omitempty"`
}

// commandRunOnSelection takes [uri?, range?, agent?, prompt?], or one object.
// What is left open it asks; the person may choose nothing, and then nothing
// runs.
// The person is asked for the agent first, then for what it is to do; where
// they cannot be asked for that, the agent's own query has to do.
func (h *Handlers) commandRunOnSelection(ctx context.Context, s *workspace.Snapshot,
	p *protocol.ExecuteCommandParams) (any, error) {
	run, err := selectionArguments(p)
	if err != nil {
		return nil, invalidArguments(err)
	}
	h.fillFromFocus(run, s)
	d, err := h.chooseDocument(ctx, s, run.URI)
	if err != nil || d == nil {
		return nil, err
	}
	if run.Context, err = about(d, run.Range, s.Encoding()); err != nil {
		return nil, server.BadParams(protocol.MethodWorkspaceExecuteCommand, "arguments",
			"have a range that is not in the document: %v", err)
	}
	if h.withhold(ctx, s, run.Context) || run.Context.Selection == nil {
		run.References = append(run.References, string(d.URI)) // it is about all of the file, or says why not
	}
	catalog, err := h.catalog(ctx)
	if err != nil {
		return nil, err
	}
	if run.Agent == "" {
		if run.Agent, err = h.chooseAgent(ctx, catalog); err != nil || run.Agent == "" {
			return nil, err
		}
	}
	if len(run.Input) == 0 {
		said, err := h.askText(ctx, "What is "+run.Agent+" to do with it?")
		switch {
		case errors.Is(err, errUnserved): // the agent's own query has to do
		case err != nil || said == "":
			return nil, err
		default:
			run.Input = wire.InputBlocks{{Type: "text", Text: said}}
		}
	}
	return h.runCommand(ctx, s, catalog, &run.RunParams, p)
}

// selectionArguments reads the arguments of agentls.runOnSelection in either
// form.
//
// Arguments that are null are left out.
func selectionArguments(p *protocol.ExecuteCommandParams) (*selected, error) {
	run := &selected{}
	if len(p.Arguments) == 1 && len(p.Arguments[0]) > 0 && p.Arguments[0][0] == '{' {
		return run, readArgument(p, 0, run)
	}
	var prompt string
	for i, into := range map[int]*string{0: &run.URI, 2: &run.Agent, 3: &prompt} {
		text, err := textArgument(p, i)
		if err != nil {
			return nil, err
		}
		*into = text
	}
	if prompt != "" {
		run.Input = wire.InputBlocks{{Type: "text", Text: prompt}}
	}
	if len(p.Arguments) > 1 && string(p.Arguments[1]) != "null" {
		if err := (wire.Codec{}).Unmarshal(p.Arguments[1], &run.Range); err != nil {
			return nil, errors.New("arguments[1] is no range")
		}
	}
	return run, nil
}

// about is what a run is told of a document and what is selected in it. Nothing
// selected is the place of the cursor.
// The error says that the range is not in the document.
// A selection of more than maxReference bytes has its range and no text.
func about(d *workspace.Document, r *definition.Range, e workspace.Encoding) (*activity.EditorContext, error) {
	c := &activity.EditorContext{URI: string(d.URI)}
	if r == nil {
		return c, nil
	}
	var at [2]int
	for i, p := range []definition.Position{r.Start, r.End} {
		offset, err := workspace.Offset(d.Text, workspace.Position{Line: p.Line, Character: p.Character}, e)
		if err != nil {
			return nil, err
		}
		at[i] = offset
	}
	switch {
	case at[0] > at[1]:
		return nil, errors.New("it ends before it begins")
	case at[0] == at[1]:
		c.Cursor = &r.Start
	default:
		c.Selection = r
		if at[1]-at[0] <= maxReference { // the agent reads a longer one
			c.Text = d.Text[at[0]:at[1]]
		}
	}
	return c, nil
}

// chooseDocument returns the open document of a URI; without one, the only one
// that is open, or the one that the person chooses. nil means that they chose
// none.
//
// At most maxOffered documents are offered, by their URIs.
func (h *Handlers) chooseDocument(ctx context.Context, s *workspace.Snapshot,
	name string) (*workspace.Document, error) {
	if name != "" {
		if d, ok := s.Document(uri.URI(name)); ok {
			return d, nil
		}
		if path, ok := workspace.FilePath(name); ok {
			if d, ok := s.DocumentAt(path); ok {
				return d, nil
			}
		}
		return nil, server.BadParams(protocol.MethodWorkspaceExecuteCommand, "arguments",
			"name %q, which is not open in this editor", name)
	}
	open := slices.SortedFunc(s.Documents(), func(a, b *workspace.Document) int {
		return strings.Compare(string(a.URI),
			string(b.URI))
	})
	switch len(open) {
	case 0:
		return nil, server.BadParams(protocol.MethodWorkspaceExecuteCommand, "arguments",
			"have to name a document: none is open")
	case 1:
		return open[0], nil
	}
	q := tool.Question{Message: "Which document?"}
	for _, d := range open[:min(len(open), maxOffered)] {
		q.Choices = append(q.Choices, string(d.URI))
	}
	answer, err := h.askPerson(ctx, q)
	if errors.Is(err, errUnserved) {
		return nil, server.BadParams(protocol.MethodWorkspaceExecuteCommand, "arguments",
			"have to name a document: this editor cannot be asked which one. Open are: %s", examples(q.Choices))
	}
	if err != nil || answer == "" {
		return nil, err
	}
	d, _ := s.Document(uri.URI(answer)) // one of those that were offered
	return d, nil
}

// askText asks the person for some words; "" means that they gave none.
func (h *Handlers) askText(ctx context.Context, message string) (string, error) {
	return h.askPerson(ctx, tool.Question{Message: message})
}

// askPerson asks a question of the daemon's own. "" means that the person
// declined; the error is errUnserved where nobody can be asked.
// It takes its turn among the questions of runs.
func (h *Handlers) askPerson(ctx context.Context, q tool.Question) (string, error) {
	ask := h.frontend.Ask(session.Default, "", "agentls")
	if ask == nil || (len(q.Choices) == 0 && !h.caps.Ask && !h.shows) {
		return "", errUnserved
	}
	answer, err := ask(ctx, q)
	if err != nil || answer.Action != "accept" {
		return "", err
	}
	return answer.Text, nil
}
