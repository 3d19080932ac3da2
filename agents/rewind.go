package agents

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/session"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/fault"
)

type (
	// Rewind asks a session to go back.
	Rewind struct {
		Session string // "" = main
		ToSeq   uint64 // an event of the session, from 1
		Files   bool   // files go back, too
		Force   bool   // also those that were changed by hand
		// Reads and writes the files; must not be nil.
		Frontend Frontend
	}

	// Rewound says what became of files.
	Rewound struct {
		Files []string // URIs of those that are what they were then
		Left  []Left   // those that are as they are
	}

	// Left is a file that did not go back.
	Left struct {
		URI string
		Why string // a sentence for people
	}
)

// Rewind makes the contexts of a session what they were at the last boundary of
// a turn up to an event ([session.Session.Rewind]) and, if asked, each file that
// a call wrote since then what it was before that (spec 3.7): byte for byte, or
// through the editor where it is open there. A file that is not as the agents
// left it is left, unless Force; so is one that cannot be written, or that lies
// where no agent may write. Both is told, and neither ends the rewind. What
// commands did to files goes back in the same way, as far as it was seen
// ([snapshot.Store]).
//
// To go back to before the event that says so brings contexts and files back. It
// does not bring back the runs that began since and had not finished: they have
// ended ABORTED.
//
// The error has the reason unknownSession, or busy while a run goes on or waits
// in the session or changes are being kept or undone there; it is fault.Invalid
// for an event that there is not. Who gives up while nothing is written gets the
// context's error, and nothing has changed; later the rewind goes on to its end.
//
// # Order
//
// What each file holds is kept in a blob, then an event of the type checkpoint
// names the blobs, as before any write of a call; only when that is on stable
// storage are files written, and then one event, rewound, moves the contexts. So
// whenever the daemon dies, the log names all that was in any file. It dies
// between two files: some are back, the contexts are not, and the same rewind
// again finds these as they should be and goes on with the others.
func (s *Service) Rewind(ctx context.Context, r Rewind) (*Rewound, error) {
	conv, err := s.openKept(r.Session)
	if err != nil {
		return nil, err
	}
	release, err := s.excludeAll(conv)
	if err != nil {
		return nil, err
	}
	defer release()
	if last := conv.Log.Last(); r.ToSeq == 0 || r.ToSeq > last {
		return nil, fault.New(fault.Invalid, "agents.rewind",
			"there is no event %d in the session %s, which has events 1 to %d", r.ToSeq, conv.ID, last)
	}
	conv.changes.Lock()
	defer conv.changes.Unlock()
	b := s.fileHistory(conv, r.Frontend)
	done := &Rewound{}
	var kept []activity.Kept
	if r.Files {
		if kept, err = b.bringAll(ctx, r, done); err != nil {
			return nil, err
		}
	}
	leftURIs := make([]string, len(done.Left))
	for i, l := range done.Left {
		leftURIs[i] = l.URI
	}
	seq, err := conv.Rewind(r.ToSeq, done.Files, leftURIs, kept)
	if err != nil {
		// The log could not take the event: files that are back would not fit the contexts.
		b.takeBack(context.WithoutCancel(ctx), kept)
		return nil, err
	}
	conv.mu.Lock()
	clear(conv.seen) // what an agent read since, its context does not have
	conv.mu.Unlock()
	if err := conv.Commit(context.WithoutCancel(ctx), seq); err != nil {
		return nil, fault.New(fault.Unavailable, "agents.rewind", "the session's log cannot be written: %w", err)
	}
	return done, nil
}

// bringAll brings files back and says which in done. What was made since goes
// first, and what could not be planned before is looked at again then: a file may
// have taken a folder's place, a folder a file's, or a link that leads elsewhere.
// conv.changes is held, and no run of the session goes on. An error means that nothing
// is other than it was, as far as that could be.
func (b *fileHistory) bringAll(ctx context.Context, r Rewind, done *Rewound) (kept []activity.Kept, err error) {
	plans, left := b.plan(ctx, r)
	if kept, err = b.bringPlanned(ctx, plans, r.Force, done); err != nil {
		return nil, err
	}
	// Only a file that went can have made room for one that could not be brought back.
	if removed := slices.ContainsFunc(kept, func(k activity.Kept) bool { return k.After == "" }); removed &&
		len(left) > 0 {
		plans, now := b.plan(ctx, r)
		// Only those that were left the first time: the others are done.
		blocked := func(uri string) bool { return slices.ContainsFunc(left, func(l Left) bool { return l.URI == uri }) }
		plans = slices.DeleteFunc(plans, func(p plannedFile) bool { return !blocked(p.uri) })
		more, err := b.bringPlanned(ctx, plans, r.Force, done)
		if err != nil {
			b.takeBack(context.WithoutCancel(ctx), kept)
			return nil, err
		}
		kept, left = append(kept, more...), slices.DeleteFunc(now, func(l Left) bool { return !blocked(l.URI) })
	}
	done.Left = append(left, done.Left...)
	slices.Sort(done.Files)
	slices.SortFunc(kept, func(x, y activity.Kept) int { return strings.Compare(x.URI, y.URI) })
	return kept, nil
}

// bringPlanned brings planned files back, those that are to go first. ctx counts until
// the first file is written.
func (b *fileHistory) bringPlanned(ctx context.Context, plans []plannedFile, force bool,
	done *Rewound) (kept []activity.Kept, err error) {
	plans, unread, err := b.keepNow(ctx, plans)
	if err != nil {
		return nil, err
	}
	done.Left = append(done.Left, unread...)
	// What goes, goes first: it may lie where something else is to come.
	slices.SortStableFunc(plans, func(x, y plannedFile) int { return presence(x) - presence(y) })
	whole := context.WithoutCancel(ctx) // half of it is nothing that anybody asked for
	for _, p := range plans {
		k, why := b.bring(whole, p, force)
		if why != "" {
			done.Left = append(done.Left, Left{p.uri, why})
			continue
		}
		done.Files, kept = append(done.Files, p.uri), append(kept, k)
	}
	return kept, nil
}

// presence is 1 for a file that is to be there, 0 for one that is to go.
func presence(p plannedFile) int {
	if p.to == nil {
		return 0
	}
	return 1
}

// excludeAll keeps every run from beginning in a session until release is called.
// The error has the reason busy. It waits for nothing.
func (s *Service) excludeAll(conv *conversation) (release func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.inUse(conv.ID); err != nil {
		return nil, err
	}
	if err := s.present(conv.ID, conv.Log); err != nil {
		return nil, err
	}
	return s.keepOut([2]string{conv.ID, ""}), nil
}

// plannedFile is a file that is to be brought back.
type plannedFile struct {
	uri, path string
	steps     []session.FileStep // since then, the first one first
	to        *Content           // nil for no file
	target    activity.Kept      // Before is what to is
	byHand    *side              // what a person had made of it, which a forced rewind took; nil for nothing
}

// plan returns the files that were written since an event, with what they were
// then, and those that are left. It writes nothing. Of each file it looks at what lies
// there now.
func (b *fileHistory) plan(ctx context.Context, r Rewind) (plans []plannedFile, left []Left) {
	for _, h := range b.conv.Files() {
		steps, mixed := b.since(h.Steps, r.ToSeq)
		if len(steps) == 0 {
			continue
		}
		// Files that do not go back are in left with the first reason that is found; one that is
		// already as it was is in plans, so that it is told as back.
		path, why := b.writable(h)
		p := plannedFile{uri: h.URI, path: path, steps: steps, target: steps[0].Kept}
		if i := len(h.Steps) - len(steps); i > 0 && steps[0].Rewinds() && !steps[0].Complete && h.Steps[i-1].Complete {
			// A rewind that was forced since took what a person had made of it later: then
			// it was what the step before that left.
			was, last := before(p.target), h.Steps[i-1]
			p.byHand = &was
			p.target.Before, p.target.Buffer = last.After, last.Buffer
			p.target.Modes = activity.Modes{Mode: last.AfterMode, WasLink: last.IsLink}
		}
		if why == "" {
			var err error
			if p.to, err = b.content(before(p.target)); err != nil {
				why = because("What it was is lost", err)
			}
		}
		if why == "" {
			var back bool
			if _, back, why = b.look(ctx, p, r.Force || mixed); back && !slices.ContainsFunc(steps, isComplete) {
				continue // it was to be written, and never was
			}
		}
		if why == "" && mixed && !r.Force {
			why = "Another agent, which stays where it is, wrote it since: " + forceIt
		}
		if why != "" {
			left = append(left, Left{h.URI, why})
			continue
		}
		plans = append(plans, p)
	}
	return plans, left
}

// since returns a file's steps from the first one on that a rewind to an event
// takes back. mixed is whether some of these stay: another agent's, whose context
// has them.
func (b *fileHistory) since(steps []session.FileStep, toSeq uint64) (since []session.FileStep, mixed bool) {
	for i, st := range steps {
		boundary := toSeq
		if id := cmp.Or(st.Caller, st.Agent); id != "" { // it is taken back with what that one knows of it
			boundary = min(toSeq, b.conv.Boundary(id, toSeq))
		}
		if taken := st.Seq > boundary; taken && since == nil {
			since = steps[i:]
		} else if since != nil && !taken {
			mixed = true
		}
	}
	return since, mixed
}

// isComplete reports a step of which it is known how it ended.
func isComplete(st session.FileStep) bool { return st.Complete }

// forceIt ends the reasons for which a file is left only without Force.
const forceIt = "to go back without regard to that, force it."

// Forcible reports whether [Rewind.Force] is what a file lacks that was left for
// a reason.
func Forcible(why string) bool { return strings.HasSuffix(why, forceIt) }

// look reads a file and says why it is not brought back, "" where it is. back is
// whether it is already what it was. What force cannot help with counts first. The file
// that it returns is what put compares with.
func (b *fileHistory) look(ctx context.Context, p plannedFile, force bool) (now *tool.File, back bool, why string) {
	now, err := b.read(ctx, p.path)
	if err != nil {
		return nil, false, because("It cannot be read", err)
	}
	back, err = b.holds(now, before(p.target))
	switch {
	case err != nil || back:
		return now, back, lostText(err)
	case p.to == nil && now.Open:
		return now, false, "It was made since, and is open in the editor: close it, then delete it or go back again."
	case p.to != nil && p.to.binary && now != nil && now.Open:
		return now, false, "What it was is no text, and it is open in the editor: close it, then go back again."
	case force:
		return now, false, ""
	}
	if p.byHand != nil { // a rewind to before that one has brought it back
		if is, err := b.holds(now, *p.byHand); err != nil || is {
			return now, false, cmp.Or(lostText(err), changedByHand)
		}
	}
	if why, err = b.whyTouched(now, p.steps); err != nil {
		why = lostText(err)
	}
	return now, false, why
}

// lostText is the sentence for a content that is lost; "" for no error.
func lostText(err error) string {
	if err == nil {
		return ""
	}
	return because("What was made of it is lost", err)
}

// whyTouched says why a file counts as changed by hand, "" where it does not: it is
// not what the last step left, or what a step found is not what the one before
// it left.
func (b *fileHistory) whyTouched(now *tool.File, steps []session.FileStep) (why string, err error) {
	for i, st := range steps[1:] {
		if is, err := b.alike(sideAfter(steps[i]), before(st.Kept)); err != nil || !is {
			return changedByHand, err
		}
	}
	last := steps[len(steps)-1]
	is, err := b.holds(now, sideAfter(last))
	switch {
	case err != nil || is:
		return "", err
	case !last.Complete:
		return "It was to be written, and whether it was is not known; it is not what it was before: " + forceIt, nil
	}
	return changedByHand, nil
}

// changedByHand is why a file is left that a person wrote.
const changedByHand = "It was changed by hand since: " + forceIt

// sideAfter is what a file was after a step. Of one that did not come to its end it
// is not known, so what it was before counts.
func sideAfter(st session.FileStep) side {
	if !st.Complete {
		return before(st.Kept)
	}
	return after(st.Kept)
}

// alike reports whether two kept contents are the same, as holds does. Contents of
// blobs are read only where one of the two was a buffer.
func (b *fileHistory) alike(x, y side) (bool, error) {
	if x.sha == "" || y.sha == "" {
		return x.sha == y.sha, nil
	}
	if x.link != y.link || !sameMode(x.mode, y.mode) {
		return false, nil
	}
	if x.sha == y.sha || x.buffer == y.buffer {
		return x.sha == y.sha, nil
	}
	one, err := b.content(x)
	if err != nil {
		return false, err
	}
	other, err := b.content(y)
	if err != nil {
		return false, err
	}
	return !one.binary && !other.binary && one.Text == other.Text, nil
}

// keepNow keeps what files hold before they are brought back, and says so in the
// log. It returns those of which that is known, and the others. It returns when the
// checkpoint is on stable storage.
func (b *fileHistory) keepNow(ctx context.Context, plans []plannedFile) (sure []plannedFile, unread []Left, err error) {
	var kept []activity.Kept
	for _, p := range plans {
		now, err := b.read(ctx, p.path)
		if err != nil {
			unread = append(unread, Left{p.uri, because("It cannot be read", err)})
			continue
		}
		k := activity.Kept{URI: p.uri, Buffer: now != nil && now.Open, Modes: modes(now, nil)}
		if k.Before, err = b.keep(now); err != nil {
			return nil, nil, unkept("nothing was changed", err)
		}
		sure, kept = append(sure, p), append(kept, k)
	}
	if err := ctx.Err(); err != nil || len(kept) == 0 {
		return nil, unread, err // what could not be read in time is not left for that
	}
	if err := b.checkpoint(ctx, kept); err != nil {
		return nil, nil, unkept("nothing was changed", err)
	}
	return sure, unread, nil
}

// unkept is the error of a write that was not begun.
func unkept(so string, err error) error {
	kind := fault.Unavailable
	if fault.KindOf(err) == fault.Canceled {
		kind = fault.Canceled
	}
	return fault.New(kind, "agents.checkpoint", "%s, since what is there could not be kept first: %w", so, err)
}

// bring makes a file what it was, and says why not where it does not. One that
// is what it was already stays. It looks again where somebody writes at the same
// moment, tries times.
func (b *fileHistory) bring(ctx context.Context, p plannedFile, force bool) (kept activity.Kept, why string) {
	for range tries {
		// Looked at anew in each try: what was planned may be old by now.
		now, back, why := b.look(ctx, p, force)
		if why != "" {
			return kept, why
		}
		if back {
			sha, err := b.keep(now)
			return activity.Kept{URI: p.uri, Before: sha, After: sha, Buffer: now != nil &&
				now.Open, Modes: modes(now, now)}, lostText(err)
		}
		kept, written, err := b.put(ctx, p.path, now, p.to, "rewind "+tool.Escape(b.name(p.uri)))
		switch {
		case err == nil:
			return kept, ""
		case written:
			return kept, because("It was written, and what it is now cannot be kept", err)
		case fault.KindOf(err) != fault.Stale:
			return kept, because("It cannot be written", err)
		}
	}
	return kept, "It changed while it was to be brought back: try again."
}

// takeBack undoes what was brought back, as far as it goes: the contexts could
// not follow.
func (b *fileHistory) takeBack(ctx context.Context, kept []activity.Kept) {
	for _, k := range kept {
		path := tool.PathOf(k.URI)
		now, err := b.read(ctx, path)
		if err != nil {
			continue
		}
		if is, err := b.holds(now, after(k)); err != nil || !is {
			continue
		}
		if to, err := b.content(before(k)); err == nil {
			_, _, _ = b.put(ctx, path, now, to, "undo rewind "+tool.Escape(b.name(k.URI))) // the checkpoint has it
		}
	}
}
