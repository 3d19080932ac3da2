package agents

import (
	"context"
	"slices"
	"strings"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/change"
	"github.com/agentls/agentls/agents/session"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/fault"
)

type (
	// Resolve asks to keep or to undo what agents did to files.
	Resolve struct {
		Session string   // "" = main
		URI     string   // of the file; "" = all
		Run     string   // only what this run did; "" = all
		Hunks   []string // ids of [Service.Changes], with URI; none = all
		Action  string   // keep, undo
		// Reads and writes the files; must not be nil.
		Frontend Frontend
	}

	// Conflict is a change that was left as it is.
	Conflict struct {
		URI  string
		Hunk string // "" for the whole file
		Why  string // a sentence for people
	}
)

// The actions of [Resolve].
const (
	keepAction = "keep"
	undoAction = "undo"
)

// Changes returns what agents changed in a session's files and nobody has wholly
// kept or undone, by URI; run is the run whose changes are meant, "" for all.
// Each change goes from what the person had or has accepted to what the agents
// left. Its hunks are the pending ones and those that were kept before, with
// ranges in what the agents left. What the person changed by hand between two
// steps of the agents is not among them. The error has the reason
// unknownSession. A file of which contents are lost is left out and logged.
func (s *Service) Changes(ctx context.Context, id, run string, frontend Frontend) ([]activity.Change, error) {
	conv, err := s.openKept(id)
	if err != nil {
		return nil, err
	}
	b := s.fileHistory(conv, frontend)
	files := []activity.Change{}
	for _, h := range conv.Files() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		v, err := b.fold(h, run)
		if err != nil {
			s.Log.Warn("what an agent changed cannot be told", "session", conv.ID, "file", h.URI, "err", err)
			continue
		}
		if c := change.Of(h.URI, b.name(h.URI), v.baseline, v.newest); len(c.Hunks) > 0 {
			c.Hunks = append(c.Hunks, change.AcceptedHunks(v.original, v.baseline, v.newest)...)
			slices.SortStableFunc(c.Hunks,
				func(a, b activity.Hunk) int { return int(a.Range.Start.Line) - int(b.Range.Start.Line) })
			files = append(files, c)
		}
	}
	return files, nil
}

// ResolveChanges keeps changes, which then count as the person's, or undoes them.
// It works while a run goes on; the session is neither closed nor deleted nor
// brought back meanwhile. A hunk that the person changed by hand since is
// not undone, nor is a file that an agent made and the person changed taken away:
// these are conflicts. An agent has to read a file again in which something was
// undone, since it is not what the agent saw.
//
// It returns the files that were asked about, each as [Service.Changes] had it,
// with what became of its hunks; what was kept before is not among them. All is
// on stable storage then. The error has the reason unknownSession, or busy while
// the session is being closed or deleted; it is fault.Invalid for an action that
// is none and for hunks without a URI, and fault.Unavailable where the log cannot
// be written. It names the files that were changed before it came up. What a file
// held is on stable storage, and named by an event of the type checkpoint, before
// the file is written.
func (s *Service) ResolveChanges(ctx context.Context, r Resolve) (files []activity.Change,
	conflicts []Conflict, err error) {
	switch {
	case r.Action != keepAction && r.Action != undoAction:
		return nil, nil, badParam("action", "is %q; it is keep or undo", r.Action)
	case r.URI == "" && len(r.Hunks) > 0:
		return nil, nil, badParam("uri", "is required with hunks")
	}
	conv, err := s.openKept(r.Session)
	if err != nil {
		return nil, nil, err
	}
	release, err := s.resolving(conv)
	if err != nil {
		return nil, nil, err
	}
	defer release()
	conv.changes.Lock()
	defer conv.changes.Unlock()
	b := s.fileHistory(conv, r.Frontend)
	all, err := b.resolveAll(ctx, r)
	files, conflicts = []activity.Change{}, []Conflict{}
	var written []string // names of files
	for _, o := range all {
		if o.written {
			written = append(written, tool.Escape(b.name(o.change.URI)))
		}
		for _, c := range o.conflicts {
			conflicts = append(conflicts, Conflict{o.uri, c.Hunk, c.Why})
		}
		if len(o.change.Hunks) > 0 {
			files = append(files, o.change)
		}
	}
	if err != nil {
		return files, conflicts, afterWrites(written, err)
	}
	// Asked about one file by name, silence would look like success.
	if r.URI != "" && len(files)+len(conflicts) == 0 {
		conflicts = append(conflicts, Conflict{URI: r.URI, Why: whySettled})
	}
	if err := conv.Commit(ctx, conv.Log.Last()); err != nil {
		return files, conflicts, afterWrites(written, fault.New(fault.Unavailable, "agents.changes",
			"the session's log cannot be written: %w", err))
	}
	return files, conflicts, nil
}

// resolveAll keeps or undoes what is asked for, file by file, and returns what
// became of each by URI, also with an error. A file that could not be undone is
// tried again when the others are: a file may have taken a folder's place, or a
// folder a file's.
func (b *fileHistory) resolveAll(ctx context.Context, r Resolve) ([]*outcome, error) {
	var all []*outcome
	for _, h := range b.conv.Files() {
		if r.URI != "" && !sameFile(h.URI, r.URI) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return all, err
		}
		o, err := b.resolve(ctx, r, h)
		if o != nil {
			o.uri = h.URI
			all = append(all, o)
		}
		if err != nil {
			return all, err
		}
	}
	// Only files that are written can be in each other's way.
	if r.Action != undoAction || len(all) == 1 {
		return all, nil
	}
	// Files are in the order of their URIs. Backward, those in a folder come before the file
	// whose place the folder may have taken.
	for i, before := range slices.Backward(all) {
		if before.written || len(before.conflicts) == 0 {
			continue
		}
		h, ok := b.conv.FileHistory(before.uri)
		if !ok {
			continue
		}
		o, err := b.resolve(ctx, r, h)
		if o != nil {
			o.uri, all[i] = h.URI, o
		}
		if err != nil {
			return all, err
		}
	}
	return all, nil
}

// resolving keeps a session from being closed, deleted or brought back until
// release is called. The error has the reason busy. Several may go on at once; changes
// of files are made under conv.changes.
func (s *Service) resolving(conv *conversation) (release func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.present(conv.ID, conv.Log); err != nil {
		return nil, err
	}
	if s.resolves == nil {
		s.resolves = make(map[string]int)
	}
	s.resolves[conv.ID]++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.resolves[conv.ID]--; s.resolves[conv.ID] == 0 {
			delete(s.resolves, conv.ID)
		}
	}, nil
}

// sameFile reports whether two URIs name one file: clients escape otherwise than
// the log does. It does not look at the disk.
func sameFile(a, b string) bool {
	path := tool.PathOf(a)
	return a == b || (path != "" && path == tool.PathOf(b))
}

// afterWrites is an error that came up when files were undone already.
func afterWrites(written []string, err error) error {
	if len(written) == 0 {
		return err
	}
	return fault.New(fault.KindOf(err), "agents.changes", "%s; before that, changes were undone in %s",
		fault.Message(err), strings.Join(written, ", "))
}

// The reasons of conflicts, beside those of package change.
const (
	whySettled = "No agent changed it, or all was kept or undone."
	whyMoving  = "It changes while it is to be undone: try again."
)

// outcome is what became of the changes of one file. Its hunks have the status that
// they have now.
type outcome struct {
	uri       string
	change    activity.Change
	conflicts []change.Conflict
	written   bool // the file is another now
}

// conflict makes a conflict of all that was asked about.
func (o *outcome) conflict(why string) *outcome {
	o.conflicts = append(o.conflicts, change.Conflict{Why: why})
	return o
}

// mark says what became of hunks.
func (o *outcome) mark(ids []string, status string) {
	for i, h := range o.change.Hunks {
		if slices.Contains(ids, h.ID) {
			o.change.Hunks[i].Status = status
		}
	}
}

// resolve keeps or undoes hunks of one file. A file that a run, or the person,
// writes at the same moment is looked at again. The error is that of the log, or of the
// context; what a person can do something about is a conflict in the outcome.
// fault.Stale from undo means that somebody wrote meanwhile; it is tried again, tries
// times.
func (b *fileHistory) resolve(ctx context.Context, r Resolve, h session.FileHistory) (*outcome, error) {
	for try := 1; ; try++ {
		v, err := b.fold(h, r.Run)
		if err != nil {
			return (&outcome{}).conflict(because("What an agent made of it is lost", err)), nil
		}
		o := &outcome{change: change.Of(h.URI, b.name(h.URI), v.baseline, v.newest)}
		switch {
		case len(o.change.Hunks) == 0:
			return o, nil
		case r.Action == keepAction:
			return o, b.accept(h, v, r, o)
		}
		if err = b.undo(ctx, h, v, r, o); fault.KindOf(err) != fault.Stale {
			return o, err
		}
		if try == tries {
			// Those of single hunks are of a file that has changed since.
			o.conflicts = nil
			return o.conflict(whyMoving), nil
		}
		// A run that wrote the file has added a step to its history.
		if now, ok := b.conv.FileHistory(h.URI); ok {
			h = now
		}
	}
}

// accept makes hunks part of what the person has accepted. Nothing is written to the
// file. conv.changes is held.
func (b *fileHistory) accept(h session.FileHistory, v *folded, r Resolve, o *outcome) error {
	_, o.conflicts = change.Keep(v.baseline, v.newest, r.Hunks)
	ids := b.chooseHunks(o, r)
	if len(ids) == 0 {
		return nil
	}
	// Only what there is counts: hunks that are gone were told as conflicts above.
	baseline, _ := change.Keep(v.baseline, v.newest, ids)
	if r.Run != "" {
		// The run's hunks are added to what was accepted of all.
		all, err := b.fold(h, "")
		if err != nil {
			return err
		}
		without, _, _ := change.Undo(v.baseline, v.newest, v.newest, ids)
		baseline = change.Rebase(all.baseline, without, v.newest)
	}
	event := activity.ChangeResolved{URI: h.URI, Hunks: ids, Action: keepAction}
	if baseline != nil {
		sha, err := b.conv.PutBlob([]byte(*baseline))
		if err != nil {
			return err
		}
		event.Baseline = sha
	}
	o.mark(ids, change.Kept)
	return b.say(event)
}

// undo takes hunks out of a file as it is now. What it holds now is kept first, and the
// event says what was done: so an undo can be undone by a rewind.
func (b *fileHistory) undo(ctx context.Context, h session.FileHistory, v *folded, r Resolve, o *outcome) error {
	uri := o.change.URI
	path, why := b.writable(h)
	if why != "" {
		o.conflict(why)
		return nil
	}
	now, err := b.read(ctx, path)
	if err != nil {
		o.conflict(because("It cannot be read", err))
		return nil
	}
	is := textOf(now)
	result, undone, conflicts := change.Undo(v.baseline, v.newest, is, r.Hunks)
	o.conflicts = conflicts
	if len(undone) == 0 {
		return nil
	}
	event := activity.ChangeResolved{URI: uri, Hunks: undone, Action: undoAction}
	kept := activity.Kept{URI: uri, Buffer: now != nil && now.Open, Modes: modes(now, nil)}
	if kept.Before, err = b.keep(now); err != nil {
		return err
	}
	// The person has undone it themselves: nothing is written, but the event is needed, or
	// the hunks would stay pending.
	if result == is || (result != nil && is != nil && *result == *is) { // by hand, before
		kept.After, kept.Modes = kept.Before, modes(now, now)
		event.Kept = &kept
	} else {
		// The last step that ctx can stop.
		if err := b.checkpoint(ctx, []activity.Kept{kept}); err != nil {
			return unkept(tool.Escape(b.name(uri))+" was not changed", err)
		}
		// From here on it goes to its end: the log has to say what the file is.
		kept, written, err := b.put(context.WithoutCancel(ctx), path, now, b.exact(v, result),
			"undo in "+tool.Escape(b.name(uri)))
		switch o.written = written; {
		case written && err != nil:
			return fault.New(fault.Unavailable, "agents.changes", "what %s is now cannot be kept: %w",
				tool.Escape(b.name(uri)), err)
		case fault.KindOf(err) == fault.Stale:
			return err
		case err != nil:
			o.conflict(because("It cannot be written", err))
			return nil
		}
		event.Kept = &kept
	}
	o.mark(undone, change.Undone)
	return b.say(event)
}

// exact is a text as the content of a file: the very bytes that were there, where
// it is what was there. Bytes that are no UTF-8 would be lost in a text.
func (b *fileHistory) exact(v *folded, text *string) *Content {
	switch {
	case text == nil:
		return nil
	case v.before != nil && *v.before.text() == *text:
		return v.before
	}
	return &Content{Text: *text}
}

// chooseHunks returns the hunks that are meant and that there are.
// They have the ids of o.change; a request without ids means all of them.
func (b *fileHistory) chooseHunks(o *outcome, r Resolve) []string {
	var ids []string
	for _, h := range o.change.Hunks {
		if len(r.Hunks) == 0 || slices.Contains(r.Hunks, h.ID) {
			ids = append(ids, h.ID)
		}
	}
	return ids
}

// say writes what a person decided to the log. It does not wait for the disk; whoever
// decided commits at the end.
func (b *fileHistory) say(event activity.ChangeResolved) error {
	if b.conv.Append(activity.Origin{}, event, 0) == 0 {
		return fault.New(fault.Unavailable, "agents.changes", "the session's log is closed")
	}
	return nil
}
