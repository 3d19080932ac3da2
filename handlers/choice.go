package handlers

import (
	"context"
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"go.lsp.dev/protocol"

	"github.com/agentls/agentls/agents/session"
	"github.com/agentls/agentls/internal/wire"
)

// choice is a dialog with three actions: no, show the whole, yes.
type choice struct {
	lines []string // the question
	cut   bool     // they leave something out that whole has
	name  string   // of the file that shows the whole, with its ending
	whole string
	part  string // why it cannot be agreed to here: whole does not hold all of it; "" for what can
	about string // what it is about, and what it stays if nobody answers
	// In the order no, show the whole, yes.
	titles [3]string
}

// choose asks, and returns the title of what the person chose, "" for nothing.
// The error is errUnserved for a client that cannot be asked; by says whether one
// that has only a dialog for questions of agents is asked by that. What does not
// fit into a dialog can be agreed to only after it was shown (SEC-13, SEC-71).
// It blocks until the person has answered, a look at the whole included, or ctx ends.
func (h *Handlers) choose(ctx context.Context, c choice, by asker) (string, error) {
	message, cut := fit(c.lines)
	cut, message = cut || c.cut, c.part+message
	agreeable := c.part == ""
	for shown := false; ; {
		titles := []string{c.titles[0]}
		if !shown {
			titles = append(titles, c.titles[1])
		}
		if agreeable && (!cut || shown) {
			titles = append(titles, c.titles[2])
		}
		chosen, dialog, err := h.offer(ctx, c.about, message, titles, by)
		if err != nil || !slices.Contains(titles, chosen) {
			return "", err
		}
		if chosen != c.titles[1] {
			return chosen, nil
		}
		if shown = true; !h.showNew(ctx, c.name, c.whole) {
			// Nowhere else to show it: the dialog itself has to hold it all.
			// What was whole before is seen already.
			if message = c.whole; cut && dialog && messageLength(message) > summaryWhole {
				message, agreeable = tooLong+message, false
			}
		}
	}
}

// fit is a question in a plain dialog's size. cut reports whether it leaves
// something out.
// lines must not be empty. The first and the last line may be twice as long as the others.
func fit(lines []string) (text string, cut bool) {
	text = strings.Join(lines, "\n")
	last := len(lines) - 1
	for i, line := range lines {
		n := utf8.RuneCountInString(line)
		cut = cut || n > 2*summaryWidth || (n > summaryWidth && i > 0 && i < last)
	}
	if !cut && len(lines) <= summaryLines && messageLength(text) <= summaryWhole {
		return text, false
	}
	short := []string{middle(lines[0], 2*summaryWidth)}
	for _, line := range lines[1:min(len(lines), summaryLines-1)] {
		short = append(short, middle(line, summaryWidth/2))
	}
	return strings.Join(append(short, "… this is not all of it: have it shown first"), "\n"), true
}

// offer shows a question with actions once; dialog reports whether as a message of
// the editor, which may be cut. about is what it is about. It waits for no other question where
// the client has messages with actions, and no other waits for it.
// The error is errUnserved for a client that cannot be asked at all, and chosen is ""
// where the person dismissed it.
func (h *Handlers) offer(ctx context.Context, about, message string, titles []string, by asker) (chosen string,
	dialog bool, err error) {
	p := &protocol.ShowMessageRequestParams{Type: protocol.MessageTypeWarning, Message: message}
	for _, title := range titles {
		p.Actions = append(p.Actions, protocol.MessageActionItem{Title: title})
	}
	action, err := h.frontend.showQuestion(ctx, p, func(why string) string {
		return about + " " + why +
			"; nothing was changed"
	})
	err = h.frontend.clientError(ctx, err)
	switch {
	case errors.Is(err, errUnserved) && h.caps.Ask && by != anyRun:
		chosen, err = h.offerAsking(ctx, message, titles)
		return chosen, false, err
	case err != nil || action == nil:
		return "", true, err
	}
	return action.Title, true, nil
}

// offerAsking is offer by the dialog for questions of agents. Only a title is an
// answer.
func (h *Handlers) offerAsking(ctx context.Context, message string, titles []string) (string, error) {
	leave, err := h.frontend.enter(ctx) // a terminal has room for one question
	if err != nil {
		return "", err
	}
	defer leave()
	answer, err := h.frontend.ask(ctx, wire.AskParams{
		ID: newNonce(), Nonce: newNonce(), Session: session.Default, Agent: "agentls",
		Message: message, Choices: titles,
	})
	if err != nil || answer.Action != "accept" {
		return "", err
	}
	return answer.Text, nil
}
