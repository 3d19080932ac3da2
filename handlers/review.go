package handlers

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"
	"go.lsp.dev/uri"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/workspace"
)

// Reviews is what is known of folders and of what they bring (spec 4.4). Folders
// are canonical; it is safe for concurrent use.
type Reviews interface {
	// Decided reports whether a person has said if a folder is trusted, or cannot
	// be asked since the answer could not be recorded.
	Decided(folder string) bool
	// Record returns what the person decided about a folder, or one above; zero where
	// that is nothing.
	Record(folder string) (workspace.TrustRecord, error)
	// Brings returns what would take effect if a folder were trusted.
	Brings(ctx context.Context, folder string) (workspace.Active, error)
	// Pending returns what a trusted folder brings that is other than what was
	// approved, or new.
	Pending(ctx context.Context, folder string) ([]Pending, error)
	// Trust records that a folder is trusted with these items of it and no others.
	Trust(ctx context.Context, folder string, items []workspace.TrustItem) error
	// Approve records that items of a trusted folder, as Pending returned them, are
	// approved. The error has reason untrusted for another folder.
	Approve(ctx context.Context, folder string, items []workspace.TrustItem) error
	// ApproveFile approves an agent file, by its path in its folder, as it is now, which
	// is of a digest if one is given.
	ApproveFile(ctx context.Context, folder, rel string, digest workspace.Digest) error
	// Forget drops what was decided about a folder.
	Forget(ctx context.Context, folder string) error
	// ApprovedText returns the text of an agent file, by its path in its folder, that
	// was approved; false where none was, or it was not kept.
	ApprovedText(folder, rel string) ([]byte, bool)
	// ApproveSave approves the text that the person saved an agent file with, if the text
	// was approved, or empty, on top of which they typed it.
	ApproveSave(ctx context.Context, folder, rel, text, base string) error
	// NeedsReview returns who says whether an agent's file waits for a review, and
	// looks each folder up once.
	NeedsReview() func(*definition.Definition) bool
}

// Pending is something that waits for a review.
type Pending struct {
	workspace.TrustItem
	Known  bool   // another version of it was approved
	Before []byte // which had this text,
	Kept   bool   // if that was kept
}

// consents are the dialogs about folders that this connection has asked.
type consents struct {
	mu   sync.Mutex
	open map[string]*trustDialog // by folder
	// dismissed are folders about which the person was asked and said neither yes
	// nor no: they stay untrusted, and the next connection asks again (SEC-13).
	dismissed map[string]bool
}

// trustDialog is one open dialog.
type trustDialog struct {
	by       asker
	done     chan struct{}
	yes      bool // set before done is closed
	unserved bool // nobody could be asked; set before done is closed
	needless bool // nobody was asked, for who asks had no need of it; set before done is closed
}

// asker is what a dialog about a folder is opened for.
type asker int

const (
	anyRun   asker = iota // an agent runs in the folder, which need not be its own
	aRun                  // an agent of the folder is wanted
	aCommand              // the person wants to be asked, also about what they have decided
)

// The titles of the dialogs. The first action refuses, and is what no answer is.
const (
	refuseTrust, showTrust, giveTrust    = "Do not trust", "Show what it brings", "Trust this folder"
	refuseReview, showReview, giveReview = "Not now", "Show changes", "Approve"
)

// askBeforeRun has the person decide about a folder in which an agent is about to run,
// if it is not trusted and nobody has: what it brings takes no effect until then. The
// run does not depend on the answer.
// It blocks until the person has answered or the settings' time for it is over. The
// error is ctx's.
func (h *Handlers) askBeforeRun(ctx context.Context, folder string) error {
	if folder == "" {
		if all := h.Workspace.Snapshot().Folders(); len(all) > 0 {
			folder = all[0].Canonical
		}
	}
	if h.daemon.Reviews == nil || folder == "" || h.daemon.Trusted(folder) {
		return nil
	}
	_, err := h.askAboutFolder(ctx, folder, anyRun)
	return err
}

// settled asks the person about the folder that keeps a run from starting, and
// reports whether it is worth another try. One dialog serves all who ask at once.
// err is why it did not start; whatever has not the reason Untrusted cannot be settled
// here.
// It is asked after a try has failed, and not before, so that a folder in which nothing is
// to be decided costs no question.
func (h *Handlers) settled(ctx context.Context, err error) bool {
	reason, data := fault.ReasonOf(err)
	name, _ := data["folder"].(string)
	u, bad := uri.Parse(name)
	if reason != fault.Untrusted || name == "" || bad != nil || h.daemon.Reviews == nil {
		return false
	}
	c, err := h.askAboutFolder(ctx, u.FsPath(), aRun)
	return err == nil && c != nil && c.yes
}

// askAboutFolder has the person asked about a folder and waits for what they say; nil
// where there is nothing to ask.
//
// Nobody waits longer than for an answer about a call: what the person says later
// holds from then on.
// The error is ctx's. The dialog does not end with ctx, since others may wait for it.
// One dialog is open for a folder at a time. Whoever finds one that was opened for
// something else waits for it, and asks again only where nobody could be asked or there was nothing to ask.
func (h *Handlers) askAboutFolder(ctx context.Context, folder string, by asker) (*trustDialog, error) {
	var late <-chan time.Time // nil: never
	if limit := h.answerIn(folder); limit > 0 {
		timer := time.NewTimer(limit)
		defer timer.Stop()
		late = timer.C
	}
	for {
		c := h.consider(folder, by)
		if c == nil {
			return nil, nil
		}
		select {
		case <-c.done:
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-late:
			return nil, nil
		}
		if c.by == by || c.yes || (!c.unserved && !c.needless) { // else there may be a way or a reason to ask now
			return c, nil
		}
	}
}

// answerIn is how long who wants to know waits for an answer; 0 is for ever.
func (h *Handlers) answerIn(folder string) time.Duration {
	return h.daemon.SettingsOf(folder).ConfirmationTimeout
}

// consider opens the dialog that a folder needs, or returns the one that is
// open; nil where there is nothing to ask.
// The dialog belongs to the connection. It forgets itself before done is closed, so that
// who is told may open another one.
func (h *Handlers) consider(folder string, by asker) *trustDialog {
	h.consents.mu.Lock()
	defer h.consents.mu.Unlock()
	if c := h.consents.open[folder]; c != nil {
		return c
	}
	ask := h.askReview
	if !h.daemon.Trusted(folder) {
		// A run does not ask about a folder again once the person decided or dismissed
		// the dialog; a command does.
		if by != aCommand && (h.consents.dismissed[folder] || h.daemon.Reviews.Decided(folder)) {
			return nil
		}
		ask = h.askTrust
	}
	if h.consents.open == nil {
		h.consents.open, h.consents.dismissed = make(map[string]*trustDialog), make(map[string]bool)
	}
	c := &trustDialog{by: by, done: make(chan struct{})}
	h.consents.open[folder] = c
	h.work.Go(func() {
		defer func() {
			h.consents.mu.Lock()
			defer h.consents.mu.Unlock()
			delete(h.consents.open, folder)
			close(c.done)
		}()
		ctx := h.ctx
		if limit := h.answerIn(folder); limit > 0 { // somebody waits, and other questions may
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeoutCause(ctx, limit, &expiry{limit})
			defer cancel()
		}
		var err error
		c.yes, err = ask(ctx, folder, by)
		c.unserved, c.needless = errors.Is(err, errUnserved), errors.Is(err, errNeedless)
	})
	return c
}

// errNeedless is that a folder has nothing about which a run needs a
// decision; a command asks nevertheless.
var errNeedless = errors.New("there is nothing to decide about")

// askTrust asks whether a folder is trusted that nobody has decided about, if it
// brings something (SEC-13) or the person wants to be asked.
// It reports whether the folder is trusted now. The errors are errUnserved and
// errNeedless alone; what cannot be recorded is told to the person.
// A dialog that was dismissed is neither yes nor no: nothing is recorded, and this
// connection does not ask again by itself.
func (h *Handlers) askTrust(ctx context.Context, folder string, by asker) (bool, error) {
	brings, err := h.daemon.Reviews.Brings(ctx, folder)
	if by == aCommand && err != nil {
		brings = workspace.Active{} // what cannot be read does not take effect
	} else if by != aCommand && (err != nil || brings.Empty()) {
		return false, errNeedless
	}
	lines, named := trustLines(folder, brings)
	all, part := whole(folder, brings)
	if record, err := h.daemon.Reviews.Record(folder); err == nil && record.Replaced {
		lines = append([]string{"Another folder has taken the place of the one that you trusted here, so you are asked again."}, lines...)
	}
	chosen, err := h.choose(ctx, choice{
		lines: lines, cut: !named, name: "trust " + filepath.Base(folder) + ".txt", whole: all, part: part,
		about:  "The question whether to trust the folder " + tool.Visible(folder, commandBlanks, false),
		titles: [3]string{refuseTrust, showTrust, giveTrust},
	}, by)
	if errors.Is(err, errUnserved) {
		return false, err
	}
	switch chosen {
	case giveTrust:
		// What was shown is what is trusted: what came since is reviewed.
		if err := h.daemon.Reviews.Trust(ctx, folder, brings.Items); err != nil {
			h.tell(errorMessage, fault.Message(err))
			return false, nil
		}
		h.tellTrust(ctx, folder)
		return true, nil
	case refuseTrust:
		if err := h.setTrust(ctx, folder, false); err != nil {
			h.tell(errorMessage, fault.Message(err))
		}
	default:
		h.consents.mu.Lock()
		h.consents.dismissed[folder] = true
		h.consents.mu.Unlock()
	}
	return false, nil
}

// askReview asks in one dialog about all of a trusted folder that is not as it
// was approved (SEC-12).
// It reports whether nothing waits for a review any more.
//
// What is approved are the items that were shown; one that changed meanwhile waits for
// another review.
func (h *Handlers) askReview(ctx context.Context, folder string, by asker) (bool, error) {
	pending, err := h.daemon.Reviews.Pending(ctx, folder)
	if err != nil || len(pending) == 0 {
		return err == nil, nil // what kept the run from starting is fixed
	}
	lines, named := reviewLines(folder, pending)
	all, part := differences(folder, pending)
	chosen, err := h.choose(ctx, choice{
		lines: lines, cut: !named, name: "changes in " + filepath.Base(folder) + ".diff", whole: all, part: part,
		about:  "The question about what changed in the folder " + tool.Visible(folder, commandBlanks, false),
		titles: [3]string{refuseReview, showReview, giveReview},
	}, by)
	if chosen != giveReview {
		return false, err
	}
	items := make([]workspace.TrustItem, 0, len(pending))
	for _, p := range pending {
		items = append(items, p.TrustItem)
	}
	if err := h.daemon.Reviews.Approve(ctx, folder, items); err != nil {
		h.tell(errorMessage, fault.Message(err))
		return false, nil
	}
	h.tellTrust(ctx, folder)
	return true, nil
}

// tellTrust tells whose agents a decision about a folder concerns.
// It waits for the agents to be read.
func (h *Handlers) tellTrust(ctx context.Context, folder string) {
	if catalog, err := h.catalog(ctx); err == nil {
		h.trustChanged(catalog, folder)
	}
}

// kinds are what items are called.
var kinds = []struct{ kind, one, many string }{
	{workspace.AgentItem, "agent", "agents"},
	{workspace.HookItem, "hook", "hooks"},
	{workspace.MCPItem, "MCP server", "MCP servers"},
	{workspace.MemoryItem, "file of instructions that agents are told", "files of instructions that agents are told"},
}

// counts says in lines how many items there are of each kind, and which; all
// reports whether each is named, and whole.
// Names of other people's choice are shown with what is unseen in them made visible, and
// cut in the middle.
// settings are keys, which are named last.
func counts(items []workspace.TrustItem, settings []string) (lines []string, all bool) {
	all = true
	add := func(one, many string, labels []string) {
		if len(labels) == 0 {
			return
		}
		word := many
		if len(labels) == 1 {
			word = one
		}
		n := len(labels)
		if n > maxNamed {
			all = false
			labels = append(labels[:maxNamed:maxNamed], fmt.Sprintf("%d more", n-maxNamed))
		}
		lines = append(lines, fmt.Sprintf("%d %s: %s", n, word, strings.Join(labels, ", ")))
	}
	for _, k := range kinds {
		var labels []string
		for _, item := range items {
			if item.Kind == k.kind {
				label := tool.Visible(item.Label, commandBlanks, false)
				all = all && utf8.RuneCountInString(label) <= summaryWidth
				labels = append(labels, middle(label, summaryWidth))
			}
		}
		add(k.one, k.many, labels)
	}
	escaped := make([]string, len(settings))
	for i, key := range settings {
		escaped[i] = tool.Escape(key)
	}
	add("setting", "settings", escaped)
	return lines, all
}

// trustLines is the question about a folder: its exact root, and what it brings,
// as counts and items; all reports whether each is named.
func trustLines(folder string, a workspace.Active) (lines []string, all bool) {
	brings, all := counts(slices.Concat(a.Items, a.Memory), a.Settings)
	if len(brings) == 0 {
		brings = []string{"nothing now"}
	}
	lines = []string{fmt.Sprintf("Trust the folder %s? What it brings then takes effect:",
		tool.Visible(folder, commandBlanks, false))}
	for _, line := range brings {
		lines = append(lines, line+".") // editors show the lines as one
	}
	return append(lines, "Its agents can read files, and ask to change them and to start programs."), all
}

// maxShownItems is how much of items is shown, in bytes; of the rest only the names.
const maxShownItems = 1 << 20

// whole is all that a folder brings; part is why it cannot be agreed
// to where something is only named, and "" where nothing is.
// The texts are those that were read for the question, so what is agreed to is what was
// shown.
func whole(folder string, a workspace.Active) (text, part string) {
	var b strings.Builder
	cut := false
	lines, _ := trustLines(folder, a)
	fmt.Fprintf(&b, "%s\n", strings.Join(lines, "\n"))
	for _, item := range slices.Concat(a.Items, a.Memory) {
		fmt.Fprintf(&b, "\n==== %s (%s)\n", tool.Escape(item.Name), tool.Escape(item.Label))
		if b.Len() > maxShownItems {
			b.WriteString("(look at it in the folder)\n")
			cut = true
			continue
		}
		fmt.Fprintf(&b, "%s\n", tool.EscapeLines(string(item.Text)))
	}
	if len(a.Settings) > 0 {
		b.WriteString("\n==== settings\n")
		for _, key := range a.Settings {
			fmt.Fprintf(&b, "%s\n", tool.Escape(key))
		}
	}
	return addHeading(b.String(), folder, cut)
}

// addHeading heads a text that does not show everything with what to do.
// part says that something is left out. The second result is why it cannot be agreed to,
// "" where it can.
func addHeading(text, folder string, part bool) (string, string) {
	if !part {
		return text, ""
	}
	why := fmt.Sprintf("This is too long to be shown whole, so it cannot be agreed to here. Look at the folder itself, then run `agentls trust %s`.\n", tool.Visible(folder, commandBlanks, false))
	return why + text, why
}

// reviewLines is the question about what changed in a folder; all reports whether
// each item is named.
func reviewLines(folder string, pending []Pending) (lines []string, all bool) {
	var changed, fresh []workspace.TrustItem
	for _, p := range pending {
		if p.Known {
			changed = append(changed, p.TrustItem)
		} else {
			fresh = append(fresh, p.TrustItem)
		}
	}
	lines = []string{fmt.Sprintf("Changed since you approved it in the folder %s; review it before it takes effect:",
		tool.Visible(folder, commandBlanks, false))}
	others, named := counts(changed, nil)
	for _, line := range others {
		lines = append(lines, "changed: "+line)
	}
	added, all := counts(fresh, nil)
	for _, line := range added {
		lines = append(lines, "new: "+line)
	}
	return lines, all && named
}

// differences is what changed, item by item; part is as whole has it.
//
// An item without an approved text is shown as one that adds everything.
func differences(folder string, pending []Pending) (text, part string) {
	var b strings.Builder
	cut := false
	lines, _ := reviewLines(folder, pending)
	fmt.Fprintf(&b, "%s\n", strings.Join(lines, "\n"))
	for _, p := range pending {
		fmt.Fprintf(&b, "\n==== %s (%s)", tool.Escape(p.Name), tool.Escape(p.Label))
		if p.Known && !p.Kept {
			b.WriteString(": the approved text was not kept, this is the whole")
		}
		if b.Len() > maxShownItems {
			b.WriteString(": look at it in the folder\n")
			cut = true
			continue
		}
		before, now := string(p.Before), string(p.Text)
		fmt.Fprintf(&b, "\n%s\n", escapeDiff(udiff.Unified("approved", "now", before, now)))
	}
	return addHeading(b.String(), folder, cut)
}

// withReview does what may need a folder's trust or a review, and once more when
// the person has settled what kept it from being done.
func withReview[T any](ctx context.Context, h *Handlers, do func() (T, error)) (T, error) {
	done, err := do()
	if err != nil && h.settled(ctx, err) {
		return do()
	}
	return done, err
}
