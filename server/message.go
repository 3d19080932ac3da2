package server

import (
	"context"
	"fmt"
	"regexp"

	"go.lsp.dev/protocol"
)

// link is what makes a link of the words in brackets before it, in an editor
// that shows messages as VS Code does.
var link = regexp.MustCompile(`\]\(([A-Za-z][A-Za-z0-9+.-]*:)`)

// removeLinks returns a message in which nothing is a link. A message of LSP is
// plain text, but VS Code shows [words](command:id?args) as words, which run a
// command of the editor when they are clicked: what a model wrote would be shown
// as something else than it is (SEC-73), and act without a question.
func removeLinks(message string) string { return link.ReplaceAllString(message, `]\x28$1`) }

// ShowMessage shows a person a message. No part of it becomes a link: the
// parenthesis of what could be one is shown as \x28.
// It is a notification: it does not wait, and params stay the caller's.
func (p Peer) ShowMessage(ctx context.Context, params *protocol.ShowMessageParams) error {
	shown := *params
	shown.Message = removeLinks(params.Message)
	return p.Client.ShowMessage(ctx, &shown)
}

// ShowMessageRequest asks a person by a message with actions; nil is a question
// that was dismissed. No part of the message becomes a link, as in ShowMessage.
//
// It waits for the person, without a bound of its own, and must therefore not be
// called on the read loop. When ctx ends first the client is asked to withdraw
// the question, and the error is ctx's.
func (p Peer) ShowMessageRequest(ctx context.Context,
	params *protocol.ShowMessageRequestParams) (*protocol.MessageActionItem, error) {
	shown := *params
	shown.Message = removeLinks(params.Message)
	return p.Client.ShowMessageRequest(ctx, &shown)
}

// AskMessage is ShowMessageRequest, and tells late that the person chose an
// action after ctx had ended: editors leave a message on the screen that was
// withdrawn. late is called once at most; it must be quick and not call back.
func (p Peer) AskMessage(ctx context.Context, params *protocol.ShowMessageRequestParams,
	late func()) (*protocol.MessageActionItem, error) {
	shown := *params
	shown.Message = removeLinks(params.Message)
	var chosen *protocol.MessageActionItem
	_, err := p.c.callLate(ctx, protocol.MethodWindowShowMessageRequest, &shown, &chosen, func(r reply) {
		var chosen *protocol.MessageActionItem
		if r.err == nil && p.c.result(r.result, &chosen) == nil && chosen != nil {
			late()
		}
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", protocol.MethodWindowShowMessageRequest, err)
	}
	return chosen, nil
}
