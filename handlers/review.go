package handlers

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/aymanbagabas/go-udiff"
	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"github.com/agentls/agentls/agents"
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
	// ApproveFile approves an agent file, by its path in its folder, as it is now.
	ApproveFile(ctx context.Context, folder, rel string) error
	// Saved is told that the person saved an agent file with a text: what they wrote
	// themselves they have seen.
	Saved(ctx context.Context, folder, rel, text string) error
	// Unreviewed returns who says whether an agent's file waits for a review, and
	// looks each folder up once.
	Unreviewed() func(*definition.Definition) bool
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
	open map[string]*consent // by folder
	// dismissed are folders about which the person was asked and said neither yes
	// nor no: they stay untrusted, and the next connection asks again (SEC-13).
	dismissed map[string]bool
}

// consent is one open dialog.
type consent struct {
	done chan struct{}
	yes  bool // set before done is closed
}

// The titles of the dialogs. The first action refuses, and is what no answer is.
const (
	refuseTrust, showTrust, giveTrust    = "Do not trust", "Show what it brings", "Trust this folder"
	refuseReview, showReview, giveReview = "Not now", "Show changes", "Approve"
)

// look asks, once for each folder of the workspace, what a person has to decide
// about it. It does not wait.
func (h *Handlers) look() {
	if h.house.Reviews == nil {
		return
	}
	h.work.Go(func() {
		if _, err := h.house.Catalog(h.ctx); err != nil {
			return // the connection has ended
		}
		for _, f := range h.Workspace.Snapshot().Folders() {
			h.consider(f.Canonical)
		}
	})
}

// settled asks the person about the folder that keeps a run from starting, and
// reports whether it is worth another try. One dialog serves all who ask at once.
func (h *Handlers) settled(ctx context.Context, err error) bool {
	reason, data := fault.ReasonOf(err)
	name, _ := data["folder"].(string)
	u, bad := uri.Parse(name)
	if reason != fault.Untrusted || name == "" || bad != nil || h.house.Reviews == nil {
		return false
	}
	c := h.consider(u.FsPath())
	if c == nil {
		return false
	}
	select {
	case <-c.done:
		return c.yes
	case <-ctx.Done():
		return false
	}
}

// consider opens the dialog that a folder needs, or returns the one that is
// open; nil where there is nothing to ask.
func (h *Handlers) consider(folder string) *consent {
	h.consents.mu.Lock()
	defer h.consents.mu.Unlock()
	if c := h.consents.open[folder]; c != nil {
		return c
	}
	ask := h.askReview
	if !h.house.Trusted(folder) {
		if h.consents.dismissed[folder] || h.house.Reviews.Decided(folder) {
			return nil
		}
		ask = h.askTrust
	}
	if h.consents.open == nil {
		h.consents.open, h.consents.dismissed = make(map[string]*consent), make(map[string]bool)
	}
	c := &consent{done: make(chan struct{})}
	h.consents.open[folder] = c
	h.work.Go(func() {
		defer func() {
			h.consents.mu.Lock()
			defer h.consents.mu.Unlock()
			delete(h.consents.open, folder)
			close(c.done)
		}()
		c.yes = ask(h.ctx, folder)
	})
	return c
}

// askTrust asks whether a folder is trusted that nobody has decided about, if it
// brings something (SEC-13).
func (h *Handlers) askTrust(ctx context.Context, folder string) bool {
	brings, err := h.house.Reviews.Brings(ctx, folder)
	if err != nil || brings.Empty() {
		return false
	}
	switch h.choose(ctx, choice{
		message: trustMessage(folder, brings), name: "trust.txt", whole: whole(folder, brings), titles: [3]string{refuseTrust, showTrust, giveTrust},
	}) {
	case giveTrust:
		// What was shown is what is trusted: what came since is reviewed.
		if err := h.house.Reviews.Trust(ctx, folder, brings.Items); err != nil {
			h.tell(errorMessage, fault.Message(err))
			return false
		}
		h.tellTrust(ctx, folder)
		return true
	case refuseTrust:
		if err := h.setTrust(ctx, folder, false); err != nil {
			h.tell(errorMessage, fault.Message(err))
		}
	default:
		h.consents.mu.Lock()
		h.consents.dismissed[folder] = true
		h.consents.mu.Unlock()
	}
	return false
}

// askReview asks in one dialog about all of a trusted folder that is not as it
// was approved (SEC-12).
func (h *Handlers) askReview(ctx context.Context, folder string) bool {
	pending, err := h.house.Reviews.Pending(ctx, folder)
	if err != nil || len(pending) == 0 {
		return err == nil // what kept the run from starting is mended
	}
	if h.choose(ctx, choice{
		message: reviewMessage(folder, pending), name: "changes.diff", whole: differences(folder, pending), titles: [3]string{refuseReview, showReview, giveReview},
	}) != giveReview {
		return false
	}
	items := make([]workspace.TrustItem, 0, len(pending))
	for _, p := range pending {
		items = append(items, p.TrustItem)
	}
	if err := h.house.Reviews.Approve(ctx, folder, items); err != nil {
		h.tell(errorMessage, fault.Message(err))
		return false
	}
	h.tellTrust(ctx, folder)
	return true
}

// tellTrust tells whose agents a decision about a folder concerns.
func (h *Handlers) tellTrust(ctx context.Context, folder string) {
	if catalog, err := h.house.Catalog(ctx); err == nil {
		h.trustChanged(catalog, folder)
	}
}

// choice is a dialog with three actions: no, show the whole, yes.
type choice struct {
	message, name, whole string
	titles               [3]string
}

// choose asks, and returns the title of what the person chose, "" for nothing: a
// client that cannot ask has chosen nothing either. It waits for no other
// question, and no other waits for it.
func (h *Handlers) choose(ctx context.Context, c choice) string {
	for shown := false; ; {
		var actions []protocol.MessageActionItem
		for _, title := range c.titles {
			if title != c.titles[1] || !shown {
				actions = append(actions, protocol.MessageActionItem{Title: title})
			}
		}
		chosen, err := h.Peer.ShowMessageRequest(ctx, &protocol.ShowMessageRequestParams{
			Type: protocol.MessageTypeWarning, Message: c.message, Actions: actions,
		})
		if err != nil || chosen == nil || !slices.Contains(c.titles[:], chosen.Title) {
			return ""
		}
		if chosen.Title != c.titles[1] {
			return chosen.Title
		}
		if shown {
			return ""
		}
		if shown = true; !h.showText(ctx, c.name, c.whole) {
			c.message = c.whole // nowhere else to show it: the dialog itself holds it all
		}
	}
}

// kinds are what items are called.
var kinds = []struct{ kind, one, many string }{
	{workspace.AgentItem, "agent", "agents"},
	{workspace.HookItem, "hook", "hooks"},
	{workspace.MCPItem, "MCP server", "MCP servers"},
}

// counts says in lines how many items there are of each kind, and which.
func counts(items []workspace.TrustItem, settings []string) []string {
	var lines []string
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
			labels = append(labels[:maxNamed:maxNamed], fmt.Sprintf("%d more", n-maxNamed))
		}
		lines = append(lines, fmt.Sprintf("%d %s: %s", n, word, strings.Join(labels, ", ")))
	}
	for _, k := range kinds {
		var labels []string
		for _, item := range items {
			if item.Kind == k.kind {
				labels = append(labels, middle(tool.Escape(item.Label), summaryWidth))
			}
		}
		add(k.one, k.many, labels)
	}
	escaped := make([]string, len(settings))
	for i, key := range settings {
		escaped[i] = tool.Escape(key)
	}
	add("setting", "settings", escaped)
	return lines
}

// trustMessage is the question about a folder: its exact root, and what it
// brings, as counts and items.
func trustMessage(folder string, a workspace.Active) string {
	lines := append([]string{fmt.Sprintf("Trust the folder %s? What it brings then takes effect:", tool.Escape(folder))}, counts(a.Items, a.Settings)...)
	return strings.Join(append(lines, "Its agents can read files, and ask to change them and to start programs."), "\n")
}

// maxShownItems is how much of items is shown, in bytes; of the rest only the names.
const maxShownItems = 1 << 20

// whole is all that a folder brings.
func whole(folder string, a workspace.Active) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", trustMessage(folder, a))
	for _, item := range a.Items {
		fmt.Fprintf(&b, "\n==== %s (%s)\n", tool.Escape(item.Name), tool.Escape(item.Label))
		if b.Len() > maxShownItems {
			b.WriteString("(look at it in the folder)\n")
			continue
		}
		fmt.Fprintf(&b, "%s\n", escapeLines(string(item.Text)))
	}
	if len(a.Settings) > 0 {
		b.WriteString("\n==== settings\n")
		for _, key := range a.Settings {
			fmt.Fprintf(&b, "%s\n", tool.Escape(key))
		}
	}
	return b.String()
}

// reviewMessage is the question about what changed in a folder.
func reviewMessage(folder string, pending []Pending) string {
	var changed, fresh []workspace.TrustItem
	for _, p := range pending {
		if p.Known {
			changed = append(changed, p.TrustItem)
		} else {
			fresh = append(fresh, p.TrustItem)
		}
	}
	lines := []string{fmt.Sprintf("In the trusted folder %s something is not as you approved it, and does not take effect until you do:", tool.Escape(folder))}
	for _, line := range counts(changed, nil) {
		lines = append(lines, "changed: "+line)
	}
	for _, line := range counts(fresh, nil) {
		lines = append(lines, "new: "+line)
	}
	return strings.Join(lines, "\n")
}

// differences is what changed, item by item.
func differences(folder string, pending []Pending) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", reviewMessage(folder, pending))
	for _, p := range pending {
		fmt.Fprintf(&b, "\n==== %s (%s)", tool.Escape(p.Name), tool.Escape(p.Label))
		if p.Known && !p.Kept {
			b.WriteString(": the approved text was not kept, this is the whole")
		}
		if b.Len() > maxShownItems {
			b.WriteString(": look at it in the folder\n")
			continue
		}
		before, now := string(p.Before), string(p.Text)
		fmt.Fprintf(&b, "\n%s\n", escapeDiff(udiff.Unified("approved", "now", before, now)))
	}
	return b.String()
}

// saved is told that the client saved a document. Where that is an agent file of
// the workspace, with the text that is now on disk, the person has approved it.
func (h *Handlers) saved(name uri.URI) {
	u, err := uri.Parse(string(name))
	if err != nil || !u.IsFile() || h.house.Reviews == nil {
		return
	}
	s := h.Workspace.Snapshot()
	d, open := s.DocumentAt(u.FsPath())
	f, rel, inside := workspace.Within(s.Folders(), u.FsPath())
	if !open || !inside || !workspace.IsAgentFile(rel) {
		return
	}
	if err := h.house.Reviews.Saved(h.ctx, f.Canonical, rel, d.Text); err != nil {
		h.Log.Warn("an agent that was saved has to be reviewed", "path", u.FsPath(), "err", err)
	}
}

// startReviewed starts a run, and once more when the person has settled what
// kept it from starting.
func (h *Handlers) startReviewed(ctx context.Context, start func() (*agents.Live, error)) (*agents.Live, error) {
	live, err := start()
	if err != nil && h.settled(ctx, err) {
		return start()
	}
	return live, err
}
