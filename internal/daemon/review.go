package daemon

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/registry"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/handlers"
	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/workspace"
)

// reviews is what is known of folders and of what they bring (spec 4.4).
// Its methods may be called at any time. Trust for this process (Config.Trust) means that
// nothing is reviewed.
//
// What is approved lies in the record of a trusted folder as names with digests
// ([basis]); names are seen from that folder, which may be one above the workspace
// folder. An agent file is approved by its own name, or by that of a file which is gone
// ([basis.holds]); servers and hooks are by approvesItem. A save approves a file only
// where the text before it was approved (ApproveSave).
type reviews struct{ b *daemon }

var _ handlers.Reviews = reviews{}

// Decided implements [handlers.Reviews]. Where the records cannot be read nobody
// is asked: an answer could not be recorded.
func (r reviews) Decided(folder string) bool {
	if r.b.Trust || folder == "" {
		return true
	}
	_, record, err := r.b.trust.Lookup(folder)
	return err != nil || (record.Folder != "" && !record.Replaced)
}

// Record implements [handlers.Reviews].
func (r reviews) Record(folder string) (workspace.TrustRecord, error) {
	_, record, err := r.b.trust.Lookup(folder)
	return record, err
}

// Forget implements [handlers.Reviews].
func (r reviews) Forget(ctx context.Context, folder string) error {
	return r.b.decide(folder, func() error {
		found, err := r.b.trust.Forget(ctx, folder)
		if err == nil && !found {
			err = fault.New(fault.NotFound, "daemon.forget",
				"nothing was decided about %s; agentls doctor tells which folder it belongs to", folder)
		}
		return err
	})
}

// Brings implements [handlers.Reviews].
func (r reviews) Brings(ctx context.Context, folder string) (workspace.Active, error) {
	return workspace.ReadActive(ctx, folder)
}

// Pending implements [handlers.Reviews]. It is nil where the folder is not trusted, since
// then nothing of it runs anyway.
func (r reviews) Pending(ctx context.Context, folder string) ([]handlers.Pending, error) {
	basis := r.b.basis(folder)
	if !basis.reviewed {
		return nil, nil
	}
	active, err := workspace.ReadActive(ctx, folder)
	if err != nil {
		return nil, err
	}
	var list []handlers.Pending
	for _, item := range active.Items {
		item = item.Under(basis.rel)
		digest, known := basis.items[item.Name]
		// An agent file that was only renamed stays approved.
		if digest == item.Digest || (item.Kind == workspace.AgentItem && basis.holds(item.Name, item.Digest)) {
			continue
		}
		p := handlers.Pending{TrustItem: item, Known: known}
		p.Before, p.Kept = r.b.trust.Text(digest)
		list = append(list, p)
	}
	return list, nil
}

// Trust implements [handlers.Reviews].
func (r reviews) Trust(ctx context.Context, folder string, items []workspace.TrustItem) error {
	return r.b.decide(folder, func() error { return r.b.trust.Set(ctx, folder, true, items...) })
}

// Approve implements [handlers.Reviews]. The files are read again before it returns: what
// runs next is what was approved, or needs another review.
func (r reviews) Approve(ctx context.Context, folder string, items []workspace.TrustItem) error {
	basis := r.b.basis(folder)
	if basis.root == "" {
		if r.b.trusted(folder) {
			return nil // for this process, in which nothing is reviewed
		}
		return fault.New(fault.Denied, "daemon.approve",
			"%s is not trusted, so nothing of it can be approved; trust it first", folder).
			Because(fault.Untrusted, "folder", tool.URI(folder))
	}
	err := r.b.decide(basis.root, func() error { return r.b.trust.Approve(ctx, basis.root, items...) })
	if err == nil {
		r.b.readAgain(ctx, basis.root, items)
	}
	return err
}

// ApproveFile implements [handlers.Reviews]. digest "" approves the file as it is read
// now.
func (r reviews) ApproveFile(ctx context.Context, folder, rel string, digest workspace.Digest) error {
	item, ok := workspace.ReadAgent(ctx, folder, rel)
	switch {
	case !ok:
		return fault.New(fault.NotFound, "daemon.approve", "%s cannot be read", filepath.Join(folder, rel))
	case digest != "" && digest != item.Digest:
		return fault.New(fault.Stale, "daemon.approve", "%s was changed since you looked at it; look at it again",
			filepath.Join(folder, rel)).Because(fault.OutOfDate)
	}
	return r.Approve(ctx, folder, []workspace.TrustItem{item.Under(r.b.basis(folder).rel)})
}

// ApprovedText implements [handlers.Reviews].
func (r reviews) ApprovedText(folder, rel string) ([]byte, bool) {
	of := r.b.basis(folder)
	return r.b.trust.Text(of.items[workspace.TrustItem{Name: filepath.ToSlash(rel)}.Under(of.rel).Name])
}

// ApproveSave implements [handlers.Reviews]. Where the disk has another text by now, the one
// that was saved is approved nevertheless: the next save may be on top of it.
func (r reviews) ApproveSave(ctx context.Context, folder, rel, text, base string) error {
	basis := r.b.basis(folder)
	if !basis.reviewed || !r.b.wasApproved(basis, base) {
		return nil
	}
	saved := workspace.TrustItem{Kind: workspace.AgentItem, Name: filepath.ToSlash(rel),
		Digest: workspace.DigestOf(text), Text: []byte(text)}
	if item, ok := workspace.ReadAgent(ctx, folder, rel); ok {
		disk, err := workspace.DecodeText(item.Text)
		if err == nil && tool.SameLines(disk.Text, text) {
			saved = item // in its own charset
		}
	}
	if saved = saved.Under(basis.rel); basis.items[saved.Name] != saved.Digest {
		ctx, cancel := context.WithTimeout(ctx, recordIn) // what is approved late is not approved: the person is asked
		defer cancel()
		if err := r.b.trust.Approve(ctx, basis.root, saved); err != nil {
			return err
		}
		r.b.relyOn(basis.root)
	}
	r.b.readAgain(ctx, basis.root, []workspace.TrustItem{saved})
	r.b.site.Trusted(r.b.registry.Renumber())
	return nil
}

// wasApproved reports whether the person approved a text of an agent file, by whatever
// name, or there is none. An editor shows a file without its mark, in another charset, or
// with other line ends.
//
// Texts are compared without their byte order mark, and by lines where the approved text
// was kept.
func (b *daemon) wasApproved(of basis, text string) bool {
	if strings.TrimSpace(text) == "" {
		return true
	}
	text = strings.TrimPrefix(text, "\uFEFF")
	for _, digest := range of.items {
		if digest == workspace.DigestOf(text) {
			return true
		}
		kept, ok := b.trust.Text(digest)
		approved, err := workspace.DecodeText(kept)
		if ok && err == nil && tool.SameLines(approved.Text, text) {
			return true
		}
	}
	return false
}

// NeedsReview implements [handlers.Reviews]. The function that it returns remembers what
// it has read of each folder, and is for one pass over the agents.
func (r reviews) NeedsReview() func(*definition.Definition) bool {
	known := map[string]basis{}
	return func(d *definition.Definition) bool {
		if d.Scope != definition.Project || d.Folder == "" {
			return false
		}
		of, ok := known[d.Folder]
		if !ok {
			of = r.b.basis(d.Folder)
			known[d.Folder] = of
		}
		return !of.approves(d)
	}
}

// basis is what was approved for a workspace folder.
// It is a copy of the record, which does not follow later changes.
// The zero items approve nothing, which counts only where reviewed is set.
type basis struct {
	// The folder that was asked about; root may be one above it.
	folder   string
	reviewed bool                        // it is trusted by a record, so that what it brings is reviewed
	root     string                      // the record's folder; "" without one
	rel      string                      // the folder, seen from there
	items    map[string]workspace.Digest // approved, by name
}

// basis returns what was approved for a folder, nothing where this process trusts all.
func (b *daemon) basis(folder string) basis {
	if b.Trust {
		return basis{folder: folder, rel: "."}
	}
	return b.recordedBasis(folder)
}

// recordedBasis is the basis by the records, also where this process trusts all.
// A record may be that of a folder above: rel leads from there, and names of items are
// made with it (TrustItem.Under). Where trust cannot be read nothing is approved and
// nothing reviewed, since the folder is not trusted then.
func (b *daemon) recordedBasis(folder string) basis {
	none := basis{folder: folder, rel: "."}
	if folder == "" {
		return none
	}
	trusted, record, err := b.trust.Lookup(folder)
	if err != nil || !trusted {
		return none
	}
	rel, ok := workspace.Below(record.Folder, workspace.CanonicalPath(folder))
	if !ok {
		return none
	}
	of := basis{folder: folder, reviewed: true, root: record.Folder, rel: rel,
		items: make(map[string]workspace.Digest, len(record.Items))}
	for _, item := range record.Items {
		of.items[item.Name] = item.Digest
	}
	return of
}

// approves reports whether the person has approved an agent file as it was read.
// Where nothing is reviewed there is nothing to approve.
func (f basis) approves(d *definition.Definition) bool {
	if !f.reviewed {
		return true
	}
	rel, ok := workspace.Below(f.folder, d.Path)
	name := workspace.TrustItem{Name: filepath.ToSlash(rel)}.Under(f.rel).Name
	return ok && d.Digest != "" && f.holds(name, workspace.Digest(d.Digest))
}

// holds reports whether an agent file with this content is approved: under its name, or
// under that of a file which is gone, since it was renamed.
// A name that has an approval is judged by that alone, so that another file's text cannot
// be put in its place.
func (f basis) holds(name string, digest workspace.Digest) bool {
	if approved, known := f.items[name]; known {
		return approved == digest
	}
	for old, approved := range f.items {
		if approved != digest {
			continue
		}
		if _, err := os.Lstat(filepath.Join(f.root, filepath.FromSlash(old))); errors.Is(err, fs.ErrNotExist) {
			return true
		}
	}
	return false
}

// checkReviewed is what runs ask about an agent before they use it. One that is typed
// in an editor, on top of a file that is approved, is the person's own.
// The error is of kind fault.Denied with the reason fault.Untrusted, and says how to approve
// it; nil = it may run.
func (b *daemon) checkReviewed(d *definition.Definition) error {
	if d.Scope == definition.Extension {
		return b.approvesExtension(d)
	}
	if d.Scope != definition.Project {
		return nil
	}
	basis := b.basis(d.Folder)
	if basis.approves(d) || b.typed(basis, d) {
		return nil
	}
	what := "is new in the folder"
	if rel, ok := workspace.Below(basis.root, d.Path); ok && basis.items[filepath.ToSlash(rel)] != "" {
		what = "was changed since you approved it in the folder"
	}
	return fault.New(fault.Denied, "daemon.review",
		"%s %s %s; look at what is new in it and approve it (to save it does not) with the command agentls.trustWorkspace of your editor (agents/trust) or `agentls trust %s`",
		d.Name, what, d.Folder, strings.TrimSuffix(filepath.Base(d.Path), ".md")).Because(fault.Untrusted,
		"folder", tool.URI(d.Folder))
}

// typed reports whether a definition is the unsaved text of a document, and what
// lies below it is approved: on disk, and as it was opened or last saved.
// Both the text that was saved and the one on disk count: either may be somebody else's.
func (b *daemon) typed(of basis, d *definition.Definition) bool {
	doc, open := b.site.Workspace.Snapshot().DocumentAt(d.Path)
	if !open || !doc.Dirty() || string(workspace.DigestOf(doc.Text)) != d.Digest {
		return false
	}
	rel, ok := workspace.Below(of.folder, d.Path)
	if !ok || !b.wasApproved(of, doc.SavedText()) {
		return false
	}
	item, ok := workspace.ReadAgent(b.ctx, of.folder, rel)
	item = item.Under(of.rel)
	return ok && of.holds(item.Name, item.Digest)
}

// setTrust records trust in a folder with all that it brings now, or that it is
// taken back. What the folders of the workspace that it covers bring nobody has
// named: it is reviewed.
func (b *daemon) setTrust(folder string, trusted bool) error {
	var items []workspace.TrustItem
	if trusted {
		active, err := workspace.ReadActive(b.ctx, folder)
		if err != nil {
			return err
		}
		items = active.Items
	}
	return b.decide(folder, func() error { return b.trust.Set(b.ctx, folder, trusted, items...) })
}

// decide changes what is recorded of a folder.
// change writes the record. Everything that depends on trust is brought up to date also
// where it fails, as a part of it may have been written.
// Settings are forgotten and problems told before agents are checked again, since those go
// by the new settings.
func (b *daemon) decide(folder string, change func() error) error {
	err := change()
	b.settings.forget() // after: who reads meanwhile may see what was
	b.mcp.Refresh()
	b.tellProblems()
	if err == nil {
		b.relyOn(folder) // so that the change of the file is no news
		b.registry.Renumber()
		if b.serversMoved() {
			_, _ = b.renew(func() (*registry.Snapshot,
				error) {
				return b.registry.Reparse(b.ctx)
			}) // the error is ctx's
		}
	}
	return err
}

// readAgain reads agent files at once, so that what was approved is what runs.
func (b *daemon) readAgain(ctx context.Context, root string, items []workspace.TrustItem) {
	var paths []string
	for _, item := range items {
		if item.Kind == workspace.AgentItem {
			paths = append(paths, filepath.Join(root, filepath.FromSlash(item.Name)))
		}
	}
	b.reread(ctx, paths...)
}

// standing says in one word how far a folder is trusted: another word is a change. The
// word is "" for a folder that is not trusted, and else has what the record approves, so
// that another approval is a change, too.
func (b *daemon) standing(folder string) string {
	if !b.trusted(folder) {
		return ""
	}
	var all strings.Builder
	all.WriteString("trusted")
	if b.Trust {
		return all.String()
	}
	if _, record, err := b.trust.Lookup(folder); err == nil {
		for _, item := range record.Items {
			all.WriteString(" " + item.Name + " " + string(item.Digest))
		}
	}
	return all.String()
}

// unreviewed reports whether a project's agent runs though the person has not
// looked at it: its folder is trusted for this process only, and no record
// approves the file as it is.
//
// Such a run gets the limits of package authority for files that nobody has reviewed.
func (b *daemon) unreviewed(d *definition.Definition) bool {
	if d.Scope != definition.Project || !b.trusted(d.Folder) {
		return false
	}
	of := b.recordedBasis(d.Folder)
	if of.reviewed && !b.Trust {
		return false // what no record approves does not run there
	}
	return !of.reviewed || !of.approves(d)
}
