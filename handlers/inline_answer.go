package handlers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.lsp.dev/protocol"

	agentfile "github.com/agentls/agentls/agents/language"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/handlers/language"
	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/internal/wire"
	"github.com/agentls/agentls/workspace"
)

// maxTries is how often an answer is put into a document that changes meanwhile.
const maxTries = 3

// answered puts an answer into the document where its command stands now, as one
// edit that the person can undo. It reports whether that is all there is to show:
// an answer that is not there is told of, and to be shown as a document.
// It tries again where the document changed while the editor was asked, since then the
// edit names a version that is gone.
// False asks the caller to show the answer as a document.
func (h *Handlers) answered(ctx context.Context, call *inlineCall, want string, r *wire.RunResult) bool {
	for try := 1; ; try++ {
		d, err := h.putAnswer(ctx, call, want, r)
		if err == nil {
			return true
		}
		refused := errors.Is(err, errNotTaken)
		now, open := h.Workspace.Snapshot().Document(call.doc.URI)
		moved := open && d != nil && now.Version != d.Version
		if refused && moved && try < maxTries {
			continue
		}
		if refused && !moved && want == language.AnswerInstead {
			h.tell(infoMessage, fmt.Sprintf("The edit of %s was not made. The answer is in the transcript (%s).",
				r.Agent, wire.CommandShowTranscript))
			return true // reviewed, and not wanted
		}
		h.tell(infoMessage, fmt.Sprintf("The answer of %s is not put into the document: %s",
			r.Agent, fault.Message(err)))
		return false
	}
}

// putAnswer makes the edit in the document as it is now, which it returns.
// The document is nil where it is not open, or the command is not there any more.
// Refused are an answer with characters that nobody sees (in place of text,
// fault.Invalid), one that would make other commands of the lines around, and a document
// whose text is not known. errNotTaken is an edit that the editor refused.
func (h *Handlers) putAnswer(ctx context.Context, call *inlineCall, want string,
	r *wire.RunResult) (*workspace.Document, error) {
	a, err := h.language.Query(ctx, h.Workspace.Snapshot())
	if err != nil {
		return nil, err
	}
	d, open := a.Snapshot.Document(call.doc.URI)
	if !open || d.Lost {
		return nil, fault.New(fault.Stale, "handlers.answer", "it is not open any more")
	}
	c, ok := a.Nearest(d, call.command.Typed, call.command.Range.Start.Line)
	if !ok {
		return nil, fault.New(fault.Stale, "handlers.answer", "the command is not there any more")
	}
	edit, label := agentfile.Edit{}, "Answer of "+r.Agent
	if want == language.AnswerInstead {
		edit, err = c.Instead(d.Text, r.Text)
		if err == nil && tool.Suspicious(strings.ReplaceAll(edit.Text, "\r", "")) {
			err = fault.New(fault.Invalid, "handlers.answer", "it has characters that nobody sees")
		}
	} else {
		edit, err = c.Below(d.LanguageID, d.Text, r.Text)
	}
	if err != nil {
		return d, err
	}
	text, err := withEdit(d, edit)
	if err != nil {
		return d, err
	}
	if want == language.AnswerBelow && !slices.Equal(a.CommandsTypedIn(d, text), a.CommandsTypedIn(d, d.Text)) {
		return d, fault.New(fault.Invalid, "handlers.answer", "the lines around it would be read in another way")
	}
	changes := []protocol.TextEdit{{Range: a.Columns(d.Text).Out(edit.Range), NewText: edit.Text}}
	err = h.applyChanges(ctx, d, changes, text, label, want == language.AnswerInstead)
	if fault.KindOf(err) == fault.Stale && !errors.Is(err, errNotTaken) {
		// The editor made it, and the person may have typed on since.
		if now, open := h.Workspace.Snapshot().Document(d.URI); open &&
			landed(a, d, now, text, edit.Text, c.Typed, want) {
			return d, nil
		}
	}
	return d, err
}

// landed reports whether a document has an answer among what was typed since d, of
// which made is the text with the answer: as often as that has it, and where it was to
// stand instead of a command, with no more of those. Lines end as the editor has them.
// It is for a person who typed on before the text with the edit had arrived here.
func landed(a *language.Query, d, now *workspace.Document, made, answer, typed, want string) bool {
	has := func(text string) int { return strings.Count(tool.LineFeeds(text), tool.LineFeeds(answer)) }
	calls := func(text string) (n int) {
		for _, c := range a.CommandsTypedIn(d, text) {
			if c == typed {
				n++
			}
		}
		return n
	}
	if has(now.Text) < has(made) {
		return false
	}
	return want == language.AnswerBelow || calls(now.Text) <= calls(made)
}

// withEdit returns the text of a document with an edit.
// The edit counts in UTF-16. The error is that of a place outside of the text.
func withEdit(d *workspace.Document, e agentfile.Edit) (string, error) {
	start, err1 := d.Lines().Offset(workspace.Position(e.Range.Start), workspace.UTF16)
	end, err2 := d.Lines().Offset(workspace.Position(e.Range.End), workspace.UTF16)
	if err := cmp.Or(err1, err2); err != nil {
		return "", err
	}
	return d.Text[:start] + e.Text + d.Text[end:], nil
}
