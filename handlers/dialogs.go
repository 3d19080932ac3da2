package handlers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"github.com/agentls/agentls/agents"
	"github.com/agentls/agentls/agents/guard"
	"github.com/agentls/agentls/agents/tool"
)

// The size of a plain dialog (spec 2.6).
const (
	summaryLines = 6
	summaryWidth = 160  // characters of a line; the first and the last may have twice as many
	summaryWhole = 1000 // UTF-16 code units of all of it: VS Code shows no more
)

// lineEnd marks where a line of a diff ends: VS Code shows a message as one line.
const lineEnd = "⏎"

// summary is a question in six lines. cut reports whether it leaves something
// out that a person has to see before they can agree; it then shows how what is
// run begins and how it ends, and how long it is (SEC-71). One that is whole
// says what an answer for the session covers.
// The whole is tried first; only when it does not fit is anything cut. The title is the
// first line, and cut in its middle.
func summary(q agents.Question) (text string, cut bool) {
	head := []string{fmt.Sprintf("%s (%s: %s)", confirmationTitle(q), q.Risk, tool.Escape(q.Why))}
	notes := previewNotes(q)
	var body, foot []string
	what, whole := "arguments", string(q.Plan.Args)
	switch v := q.Plan.Preview; v.Kind {
	case "command":
		what, whole = "command", v.Command
		body = commandLines(v.Command)
		head = append(head, "in "+tool.Visible(v.Cwd, commandBlanks, false)+size(v.Command))
	case "diff", "patch":
		what, whole = "diff", v.Patch
		body = changedLines(v.Patch)
	default:
		body = []string{tool.Visible(whole, commandBlanks, false)}
	}
	if rememberable(q) {
		foot = []string{labels[guard.Session] + " covers: " + tool.Escape(q.Covers)}
	}
	wide := func(line string) bool {
		return utf8.RuneCountInString(strings.TrimSuffix(line, lineEnd)) > summaryWidth
	}
	wider := func(line string) bool { return utf8.RuneCountInString(line) > 2*summaryWidth }
	if len(head)+len(notes)+len(body)+len(foot) <= summaryLines && !wider(head[0]) &&
		!slices.ContainsFunc(head[1:], wide) &&
		!slices.ContainsFunc(slices.Concat(notes, foot), wider) && !slices.ContainsFunc(body, wide) {
		if text := strings.Join(slices.Concat(head, notes, body, foot), "\n"); messageLength(text) <= summaryWhole {
			return text, false
		}
	}
	if len(notes) > 0 { // on one line, so that there is room for how it begins and ends
		head = append(head, strings.Join(notes, "; "))
	}
	marker := fmt.Sprintf("… the %s is %d characters long: Show has all of it", what, utf8.RuneCountInString(whole))
	for _, width := range []int{summaryWidth, 80, 60} { // an editor would cut off the end
		if text = cutSummary(head, body, marker, width); messageLength(text) <= summaryWhole {
			break
		}
	}
	return text, true
}

// cutSummary shows the first lines and the last one, with the marker between them, none of them
// longer than a width.
func cutSummary(head, body []string, marker string, width int) string {
	room := summaryLines - len(head) - 1 // without the marker
	lines := []string{middle(head[0], 2*width)}
	for _, line := range head[1:] {
		lines = append(lines, middle(line, width))
	}
	for i, line := range body {
		switch {
		case len(body) <= room || i < room-1 || i == len(body)-1:
			lines = append(lines, middle(line, width))
		case i == room-1:
			lines = append(lines, marker)
		}
	}
	if len(body) <= room {
		lines = append(lines, marker)
	}
	return strings.Join(lines, "\n")
}

// messageLength returns how many UTF-16 code units a message is when it is sent, with
// each link in it broken ([server.Peer.ShowMessageRequest]).
func messageLength(text string) int {
	return len(utf16.Encode([]rune(text))) + len(`\x28`)*strings.Count(text, "](")
}

// changedLines returns the lines that a patch of one file takes out and puts in, each
// with the mark of its end.
// Context is not what changes, and the title names the file.
func changedLines(patch string) []string {
	var lines []string
	hunks := false
	for _, line := range strings.Split(escapeDiff(patch), "\n") {
		// Only before the first hunk are --- and +++ headers: in one, they are
		// lines of the file that begin with -- or ++.
		hunks = hunks || strings.HasPrefix(line, "@@")
		if hunks && line != "" && (line[0] == '+' || line[0] == '-') {
			lines = append(lines, line+lineEnd)
		}
	}
	return lines
}

// rememberable reports whether a plain dialog may offer an answer for the
// session: a person has to be shown what it covers (spec 4.3).
func rememberable(q agents.Question) bool {
	return q.Covers != "" && slices.Contains(q.Outcomes, guard.Session)
}

// middle leaves out the middle of what is longer than n characters.
// n must be more than 40, which is how much of the end stays.
func middle(s string, n int) string {
	const end = 40
	if r := []rune(s); len(r) > n {
		return string(r[:n-1-end]) + "…" + string(r[len(r)-end:])
	}
	return s
}

// showTitle is the action that shows all that a dialog has no room for.
const showTitle = "Show"

// tooLong says why there is only no for an answer: editors cut a dialog, and what
// is cut off cannot have been seen (SEC-71).
const tooLong = "This is longer than a dialog, and your editor did not show it as a document, so it cannot be agreed to here.\n"

// confirmPlain asks by the dialog that every LSP client may have. The refusing
// action comes first; what was cut can be allowed only after it was shown, and
// only once (SEC-71).
// A client that has no dialogs is errUnserved.
// It goes round at most twice: Show is offered once.
func (d *frontend) confirmPlain(ctx context.Context, q agents.Question) (agents.Answer, error) {
	message, cut := summary(q)
	outcomes := q.Outcomes
	for shown := false; ; {
		actions := []protocol.MessageActionItem{{Title: labels[guard.Reject]}}
		offers := map[string]agents.Outcome{}
		offer := func(o agents.Outcome) {
			actions = append(actions, protocol.MessageActionItem{Title: labels[o]})
			offers[labels[o]] = o
		}
		if !shown {
			actions = append(actions, protocol.MessageActionItem{Title: showTitle})
		}
		if (!cut || shown) && slices.Contains(outcomes, guard.Once) {
			offer(guard.Once)
		}
		if !cut && rememberable(q) {
			offer(guard.Session)
		}
		chosen, err := d.showQuestion(ctx, &protocol.ShowMessageRequestParams{
			Type: protocol.MessageTypeWarning, Message: message, Actions: actions,
		}, func(why string) string { return closedNotice(q, why) })
		if err != nil {
			return agents.Answer{}, d.clientError(ctx, err)
		}
		switch {
		case chosen == nil: // dismissed, which is the person's no
			return agents.Answer{Outcome: guard.Reject, By: "user"}, nil
		case chosen.Title == showTitle && !shown:
			shown = true
			if !d.h.showNew(ctx, q.Plan.Title+".txt", confirmationText(q)) {
				// Nowhere else to show it: the dialog itself has to hold it all.
				// A summary that was whole is seen already.
				if message = confirmationText(q); cut && messageLength(message) > summaryWhole {
					message, outcomes = tooLong+message, nil
				}
			}
		case offers[chosen.Title] != "":
			return agents.Answer{Outcome: offers[chosen.Title], By: "user"}, nil
		default:
			return agents.Answer{Outcome: guard.Reject, By: "user"}, nil
		}
	}
}

// showQuestion asks by the dialog that every LSP client may have. Editors leave
// it on the screen when it is withdrawn: then, and if somebody answers it after
// that, the person is told that it is over, in the words that says makes of why.
func (d *frontend) showQuestion(ctx context.Context, p *protocol.ShowMessageRequestParams,
	says func(why string) string) (*protocol.MessageActionItem, error) {
	tell := func(why string) { d.h.tell(protocol.MessageTypeWarning, says(why)) }
	chosen, err := d.h.Peer.AskMessage(ctx, p, func() {
		if !d.h.leaving() {
			tell("was over when you answered it")
		}
	})
	if err == nil || ctx.Err() == nil || d.h.leaving() {
		return chosen, err
	}
	if limit, ok := errors.AsType[*expiry](context.Cause(ctx)); ok {
		tell("expired after " + minutes(limit.after))
	} else {
		tell("was withdrawn")
	}
	return nil, err
}

// closedNotice says that a question about a call is, and what came of it.
func closedNotice(q agents.Question, why string) string {
	did := "run"
	if v := q.Plan.Preview; v.Kind == "diff" || v.Kind == "patch" {
		did = "changed"
	}
	return fmt.Sprintf("%s's question about %s %s; nothing was %s", tool.Escape(q.Agent),
		middle(tool.Visible(q.Plan.Title, commandBlanks, false), summaryWidth), why, did)
}

// minutes says how long something took: "5 min", "1m30s".
func minutes(d time.Duration) string {
	if d >= time.Minute && d%time.Minute == 0 {
		return fmt.Sprintf("%d min", d/time.Minute)
	}
	return d.String()
}

// askPlain asks a question with choices by the dialog that every LSP client may
// have. There is none for free text, which is written into a file.
// A dismissed dialog is "decline".
func (d *frontend) askPlain(ctx context.Context, agent string, q tool.Question) (tool.Answer, error) {
	if len(q.Choices) == 0 {
		return d.askByFile(ctx, agent, q)
	}
	actions := []protocol.MessageActionItem{{Title: "Decline"}}
	titles := map[string]string{}
	for _, c := range q.Choices {
		title := tool.Escape(c)
		if title == "Decline" || titles[title] != "" {
			continue // titles must be unique: the answer is one of them
		}
		titles[title] = c
		actions = append(actions, protocol.MessageActionItem{Title: title})
	}
	chosen, err := d.showQuestion(ctx, &protocol.ShowMessageRequestParams{
		Type: protocol.MessageTypeInfo, Message: tool.Escape(agent+" asks: ") +
			tool.EscapeLines(q.Message), Actions: actions,
	}, func(why string) string {
		return fmt.Sprintf("%s's question %s; no answer was taken: %s", tool.Escape(agent), why,
			tool.Clip(tool.Escape(q.Message), summaryWidth))
	})
	if err != nil {
		return tool.Answer{}, d.clientError(ctx, err)
	}
	if chosen == nil || titles[chosen.Title] == "" {
		return tool.Answer{Action: "decline"}, nil
	}
	return tool.Answer{Action: "accept", Text: titles[chosen.Title]}, nil
}

// showText opens a text in the editor as a file of the daemon's own, and reports
// whether the client says that it did. Where it did not, path is that of the file,
// "" if there is none.
// A file of the same name is written over.
func (h *Handlers) showText(ctx context.Context, name, text string) (path string, shown bool) {
	path, err := h.keepShown(name, text)
	if err != nil {
		h.Log.Warn("a text could not be written to be shown", "err", err)
		return "", false
	}
	return path, h.open(ctx, path)
}

// showNew is showText in a file that shows nothing else. It is named after what it
// is about, words and the ending of a file.
// It reports whether the client shows it. The file is removed when the connection ends.
func (h *Handlers) showNew(ctx context.Context, about, text string) bool {
	if !h.shows {
		return false
	}
	path, err := h.newShown(about)
	if err == nil {
		err = writePrivate(path, text)
	}
	if err != nil {
		h.Log.Warn("a text could not be written to be shown", "err", err)
		return false
	}
	return h.open(ctx, path)
}

// showPatience is how long an editor may take to show a document.
const showPatience = 10 * time.Second

// open opens a file of the daemon's own beside what the person looks at: an editor
// that gave it the focus might put it in the place of that.
// A client without window/showDocument, an error and a refusal are all false: the caller
// has another way.
func (h *Handlers) open(ctx context.Context, path string) bool {
	if !h.shows {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, showPatience)
	defer cancel()
	focus := false
	result, err := h.Peer.ShowDocument(ctx, &protocol.ShowDocumentParams{URI: uri.File(path), TakeFocus: &focus})
	return err == nil && result != nil && result.Success
}

// keepShown writes a text into a file of the daemon's own, for as long as the
// connection lasts, and returns its path.
// Only the last part of name counts, so that a name that came from a client cannot lead
// out of the folder.
func (h *Handlers) keepShown(name, text string) (path string, err error) {
	path = filepath.Join(h.daemon.Shown, filepath.Base(name))
	if err := h.makeShown(); err != nil {
		return "", err
	}
	h.frontend.mu.Lock()
	h.frontend.written[path] = true
	h.frontend.mu.Unlock()
	return path, writePrivate(path, text)
}

// makeShown makes the folder for what is shown.
func (h *Handlers) makeShown() error {
	if h.daemon.MakeShown == nil {
		return nil
	}
	return h.daemon.MakeShown()
}

// shownName is how long the name of a file is that is named after a call, in
// characters, without its number and its ending.
const shownName = 48

// newShown makes an empty file that is named after what it will show.
// It fails only where the file cannot be made; a name that is taken gets a number.
func (h *Handlers) newShown(about string) (path string, err error) {
	if err := h.makeShown(); err != nil {
		return "", err
	}
	end := filepath.Ext(about)
	name := fileName(strings.TrimSuffix(about, end))
	for i := 1; ; i++ {
		numbered := name
		if i > 1 {
			numbered = fmt.Sprintf("%s (%d)", name, i)
		}
		path = filepath.Join(h.daemon.Shown, numbered+end)
		// Made at once, so that two questions of one name never share a file.
		f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return "", err
		}
		h.frontend.mu.Lock()
		h.frontend.written[path] = true
		h.frontend.mu.Unlock()
		return path, f.Close()
	}
}

// fileName returns a name for a file on every system: words of plain letters,
// digits, dots and dashes, none of which begins with a dot or a dash.
// It is at most shownName bytes long, and never empty.
func fileName(about string) string {
	var words []string
	for _, word := range strings.FieldsFunc(about, func(c rune) bool {
		return !((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
			strings.ContainsRune("._-", c))
	}) {
		if word = strings.Trim(word, ".-"); word != "" {
			words = append(words, word)
		}
	}
	name := strings.Join(words, " ")
	if len(name) > shownName {
		name = strings.TrimRight(name[:shownName], " .-")
	}
	return cmp.Or(name, "question")
}

// forgetShown removes the files in which this connection showed something: they
// hold whole arguments and results. Nothing may be shown any more.
func (h *Handlers) forgetShown() {
	h.frontend.mu.Lock()
	defer h.frontend.mu.Unlock()
	for path := range h.frontend.written {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			h.Log.Warn("a text that was shown could not be removed", "path", path, "err", err)
		}
	}
	clear(h.frontend.written)
	if h.daemon != nil && h.daemon.MakeShown != nil {
		_ = os.Remove(h.daemon.Shown) // if nothing is left in it
	}
}

// tell shows a person one line.
// It does not wait for them, and an error is only logged.
func (h *Handlers) tell(level protocol.MessageType, text string) {
	if err := h.Peer.ShowMessage(h.ctx, &protocol.ShowMessageParams{Type: level, Message: text}); err != nil {
		h.Log.Debug("a message was not sent", "err", err)
	}
}
