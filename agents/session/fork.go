package session

import (
	"context"
	"errors"
	"path/filepath"
	"unicode/utf8"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/internal/fault"
)

// forkMark ends the title of a session that goes on from another.
const forkMark = " (fork)"

// forkPrefix begins the names of the files of a log that is not whole yet. They
// name no session ([CheckID]).
const forkPrefix = ".fork-"

// fork is what a session goes on from.
type fork struct {
	session string
	of      activity.Copy
}

// Fork begins a session with the events 1..atSeq of another one that is open,
// under their numbers and times, and with what lies in blobs (spec 3.7). A run
// may go on there meanwhile; those that had not finished at atSeq end ABORTED in
// the new session, so each can be taken up in one session only. What is used
// counts from 0 there. Both sessions have an event that says so
// ([activity.Forked]). A crash leaves no part of a session.
//
// The error is fault.Invalid for an event that there is not; fault.Unavailable
// when the log cannot be read or written, or ctx is done before the event was
// written.
//
// The new session is open, and the caller's to close. The title is the old one's
// with " (fork)". The event in the old session is appended and not waited for.
func (s *Store) Fork(ctx context.Context, from *Session, atSeq uint64) (*Session, error) {
	const op = "session.fork"
	if last := from.Log.Last(); atSeq == 0 || atSeq > last {
		return nil, fault.New(fault.Invalid, op, "there is no event %d in the session %s, which has events 1 to %d",
			atSeq, from.ID, last)
	}
	// Nobody goes on from what is not sure to be there.
	if err := from.Log.Commit(ctx, atSeq); err != nil {
		return nil, err
	}
	s.tidy()
	next, err := s.open(s.NewID(), opening{begin: true, title: forkTitle(from.Info().Title), agent: from.Log.Agent(),
		fork: &fork{from.ID, activity.Copy{Of: from.Log, Until: atSeq}}})
	if err != nil {
		return nil, err
	}
	from.Log.Append(activity.Origin{}, activity.Forked{Session: next.ID, AtSeq: atSeq}, 0)
	return next, nil
}

// forkTitle returns the title of a session that goes on from one with the given.
func forkTitle(title string) string {
	if title == "" {
		return ""
	}
	if room := maxTitle - len(forkMark); utf8.RuneCountInString(title) > room {
		title = string([]rune(title)[:room-1]) + "…"
	}
	return title + forkMark
}

// build makes the file of a session that goes on from another: under a name that
// names no session, until it is whole and on stable storage.
func (s *Store) build(id string, how opening) error {
	const op = "session.fork"
	made := s.blank(id)
	cfg := s.config(made, how)
	cfg.Path, cfg.Copy, cfg.Health = filepath.Join(s.cfg.Dir, forkPrefix+id+".jsonl"), &how.fork.of, nil
	log, _, err := activity.Open(cfg)
	if err == nil {
		made.Log = log
		made.recordFork(how.fork)
		err = log.Close()
	}
	second := filepath.Join(s.cfg.Dir, segmentName(forkPrefix+id, 2))
	// A log whose disk failed meanwhile goes on in a second segment, which renaming the first
	// would leave behind.
	if err == nil && exists(s.cfg.Files, second) {
		err = fault.New(fault.Unavailable, op,
			"The session %s could not be written in one go: the disk failed meanwhile. Try again.", id)
	}
	if err == nil {
		err = s.cfg.Files.Rename(cfg.Path, filepath.Join(s.cfg.Dir, segmentName(id, 1)))
	}
	if err == nil {
		err = s.cfg.Files.SyncDir(s.cfg.Dir)
	}
	if err == nil {
		return nil
	}
	_ = remove(s.cfg.Files, cfg.Path) // the next tidy would
	_ = remove(s.cfg.Files, second)
	if known, ok := errors.AsType[*fault.Error](err); ok {
		return known
	}
	return fault.New(fault.Unavailable, op, "The session %s could not be written: %w. Make room or repair the disk.",
		id, err)
}

// recordFork records, in the new session, where it comes from, and ends what goes on
// in the other one only.
func (s *Session) recordFork(f *fork) {
	s.Log.Append(activity.Origin{}, activity.Forked{Session: f.session, AtSeq: f.of.Until, From: true}, 0)
	for _, r := range s.Runs() {
		s.abort(r.Run)
	}
	for _, input := range s.waitingRuns() {
		// Its request is asked there.
		s.Log.Append(input.Origin, activity.RunState{To: activity.Finished, Why: string(activity.Aborted)}, 0)
	}
}
