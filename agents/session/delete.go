package session

import (
	"errors"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/internal/fault"
)

// gonePrefix begins the names of the files of a log that was deleted, until the
// blobs that only it named are gone.
const gonePrefix = ".gone-"

// Delete erases a session: its log, what lies beside it, and the blobs that no
// other log names. An open one is closed first. A crash leaves a shorter session
// or none.
//
// A bad id gives fault.Invalid; one that no session has fault.NotFound with the
// reason unknownSession. fault.Unavailable is one with a run that goes on or
// waits for a person, or that another daemon has, both with the reason busy; one
// that a newer version wrote, with the reason config; and one that could not be
// removed.
//
// It waits for a session that is being opened or closed, and for the disk. Nobody
// can open the session meanwhile; afterwards the id may be used for a new one.
func (s *Store) Delete(id string) error {
	if err := CheckID(id); err != nil {
		return err
	}
	_, err := s.delete(id, true, false)
	return err
}

// delete is Delete. asked is whether a person wants it; else only one that is not
// open and that nobody waits for goes, and one that must stay is no error. dry is
// whether it only would.
// gone says that the files were removed, or would have been.
func (s *Store) delete(id string, asked, dry bool) (gone bool, err error) {
	t, session, err := s.take(id, asked)
	if t == nil {
		return false, err
	}
	defer s.leave(id, t)
	if s.cfg.Dir == "" {
		if session == nil {
			return false, unknown(id)
		}
		return true, s.forgetMemory(session)
	}
	if session == nil && !exists(s.cfg.Files, filepath.Join(s.cfg.Dir, segmentName(id, 1))) {
		return false, unknown(id)
	}
	var held *lock
	if session == nil {
		held, err = acquire(filepath.Join(s.cfg.Dir, id+".lock"), id, s.cfg.Owner, s.cfg.Now())
		if err != nil {
			if !asked && busy(err) {
				return false, nil
			}
			return false, err
		}
	} else {
		// It is kept until the files are gone, so that no other daemon opens what is left of them.
		held = session.lock
		// What it could not write goes as well.
		if err := session.Log.Close(); err != nil && s.cfg.Log != nil {
			s.cfg.Log.Debug("deleted log not closed", "session", id, "err", err)
		}
	}
	defer func() {
		if failed := s.unlock(id, held); failed != nil && err == nil {
			err = fault.New(fault.Unavailable, "session.delete", "The session %s is still locked: %w.", id, failed)
		}
	}()
	if may, err := s.mayGo(id, asked); err != nil || !may {
		return false, err
	}
	if dry {
		return true, nil
	}
	if err := s.erase(id); err != nil {
		return false, fault.New(fault.Unavailable, "session.delete",
			"Not all of the session %s could be removed: %w. Fix the disk and try again.", id, err)
	}
	return true, nil
}

// take keeps others from opening a session and returns what is to be left
// afterwards, with the session where it is open. Where there is nothing to leave,
// it must stay as it is.
func (s *Store) take(id string, asked bool) (*slot, *Session, error) {
	for {
		s.mu.Lock()
		t := s.slots[id]
		if t == nil {
			t = &slot{ready: make(chan struct{}), closing: true, gone: make(chan struct{})}
			// It will never be open: who finds it waits for gone.
			close(t.ready)
			s.slots[id] = t
			s.mu.Unlock()
			return t, nil, nil
		}
		if !asked {
			s.mu.Unlock()
			return nil, nil, nil
		}
		if t.closing {
			s.mu.Unlock()
			<-t.gone
			continue
		}
		s.mu.Unlock()
		<-t.ready
		if t.err != nil {
			continue
		}
		for _, r := range t.session.Runs() {
			if r.live() {
				return nil, nil, fault.New(fault.Unavailable, "session.delete",
					"A run goes on in the session %s (%s, of %s): wait for it or cancel it.", id, r.Run, r.Agent).
					Because(fault.Busy, "run", r.Run)
			}
		}
		s.mu.Lock()
		// Somebody else may have closed it since it was looked up.
		if s.slots[id] == t && !t.closing {
			t.closing = true
			s.mu.Unlock()
			return t, t.session, nil
		}
		s.mu.Unlock()
	}
}

// mayGo reports whether a session's files may be removed. Its lock is held.
func (s *Store) mayGo(id string, asked bool) (bool, error) {
	path := filepath.Join(s.cfg.Dir, segmentName(id, 1))
	if asked {
		sum, err := (&activity.Skimmer{Files: s.cfg.Files}).Skim(path, nil)
		if err == nil && sum.Format > activity.Format {
			return false, fault.New(fault.Unavailable, "session.delete", "The session %s is left as it is: %s.", id,
				newer(sum)).Because(fault.Config)
		}
		return true, nil // a damaged one can be deleted
	}
	// What is kept beside the log may be old, and its ends do not tell of all runs.
	info, runs, err := s.skim(id)
	if err != nil || info.Problem != "" {
		return false, nil
	}
	return !slices.ContainsFunc(runs, func(r Run) bool { return !r.over }), nil
}

// erase removes a session's files. The log goes from its end on, so that what is
// left at any time is a session; it is not forgotten before the blobs that it
// names are gone.
//
// The order is: the log's segments from the last to the first are renamed to names
// that are no log, then what lies beside it goes, then the blobs, then the renamed
// files. A crash at any point leaves either a shorter session or files that tidy
// finishes with.
func (s *Store) erase(id string) error {
	// Where a crash ended this before, its rests would be replaced.
	if err := s.finish(id, s.rests()[id]); err != nil {
		return err
	}
	var gone []string
	for _, path := range slices.Backward(s.segmentsOf(id)) {
		to := filepath.Join(s.cfg.Dir, gonePrefix+filepath.Base(path))
		if err := s.cfg.Files.Rename(path, to); err != nil {
			return err
		}
		if err := s.cfg.Files.SyncDir(s.cfg.Dir); err != nil {
			return err
		}
		gone = append(gone, to)
		if err := remove(s.cfg.Files, path+tempMark); err != nil { // what a purge left
			return err
		}
	}
	s.tidyInfo()
	if err := s.eraseBeside(id); err != nil {
		return err
	}
	return s.finish(id, gone)
}

// eraseBeside removes what lies beside a log that is no more.
func (s *Store) eraseBeside(id string) error {
	for _, rest := range []string{".bad", infoSuffix} {
		if err := remove(s.cfg.Files, filepath.Join(s.cfg.Dir, id+rest)); err != nil {
			return err
		}
	}
	return nil
}

// finish removes files of the log of a session that is no more, with the blobs that
// only they name and what is kept of the session elsewhere.
func (s *Store) finish(id string, files []string) error {
	if len(files) == 0 {
		return nil
	}
	if err := s.forget(id, "", math.MaxUint64, files); err != nil {
		return err
	}
	// The files of the log go last: as long as they are there, tidy finds what a crash left.
	named := make(map[string]bool)
	for _, path := range files {
		if err := s.digests(path, func(sha string) { named[sha] = true }); err != nil {
			return err
		}
	}
	if err := s.sweep(slices.Collect(maps.Keys(named))); err != nil {
		return err
	}
	for _, path := range files {
		if err := remove(s.cfg.Files, path); err != nil {
			return err
		}
	}
	return s.cfg.Files.SyncDir(s.cfg.Dir)
}

// tidy goes on with what a crash left of sessions that were being deleted or
// forked. A failure leaves it to the next time.
func (s *Store) tidy() {
	s.tidyInfo()
	var err error
	for id, files := range s.rests() {
		if CheckID(id) != nil {
			continue
		}
		held, busy := acquire(filepath.Join(s.cfg.Dir, id+".lock"), id, s.cfg.Owner, s.cfg.Now())
		if busy != nil {
			continue // somebody is at it
		}
		// A fork that is not whole comes to nothing, as one that was deleted.
		for i, path := range files {
			if name, fork := strings.CutPrefix(filepath.Base(path), forkPrefix); fork && err == nil {
				files[i] = filepath.Join(s.cfg.Dir, gonePrefix+name)
				if err = s.cfg.Files.Rename(path, files[i]); errors.Is(err, fs.ErrNotExist) {
					err = nil // is whole by now
				}
			}
		}
		if err == nil && !exists(s.cfg.Files, filepath.Join(s.cfg.Dir, segmentName(id, 1))) {
			err = s.eraseBeside(id)
		}
		if err == nil {
			err = s.finish(id, files)
		}
		if failed := s.unlock(id, held); err == nil {
			err = failed
		}
	}
	if err != nil && s.cfg.Log != nil {
		s.cfg.Log.Warn("rests of sessions not removed", "err", err)
	}
}

// rests returns the files of sessions that are no logs any more, or not yet, by
// session.
func (s *Store) rests() map[string][]string {
	entries, _ := os.ReadDir(s.cfg.Dir) // whoever needs the folder hears of it
	out := make(map[string][]string)
	for _, e := range entries {
		name := e.Name()
		rest, found := strings.CutPrefix(name, forkPrefix)
		if !found {
			if rest, found = strings.CutPrefix(name, gonePrefix); !found {
				continue
			}
		}
		if base, log := strings.CutSuffix(rest, ".jsonl"); log {
			id, _, _ := cutSegment(base)
			out[id] = append(out[id], filepath.Join(s.cfg.Dir, name))
		}
	}
	return out
}

// tidyInfo removes what a crash left of files with what lists tell. Who writes one
// now does so again the next time.
func (s *Store) tidyInfo() {
	entries, err := os.ReadDir(s.cfg.Dir)
	for _, e := range entries {
		if err == nil && strings.Contains(e.Name(), infoSuffix+tempMark) {
			err = remove(s.cfg.Files, filepath.Join(s.cfg.Dir, e.Name()))
		}
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) && s.cfg.Log != nil {
		s.cfg.Log.Warn("rests of lists not removed", "err", err)
	}
}

// unlock lets go of the lock of a session that may be gone.
func (s *Store) unlock(id string, l *lock) error {
	if exists(s.cfg.Files, filepath.Join(s.cfg.Dir, segmentName(id, 1))) {
		return l.release()
	}
	return l.remove()
}

// forgetMemory closes a session that is in memory, and lets go of the data that
// no other one names.
func (s *Store) forgetMemory(session *Session) error {
	err := session.Log.Close()
	named := make(map[string]bool)
	if err == nil {
		err = session.forget("", math.MaxUint64)
	}
	if err == nil {
		err = session.Log.Names(func(sha string) { named[sha] = true })
	}
	for _, other := range s.Live() {
		if err == nil {
			err = other.Log.Names(func(sha string) { delete(named, sha) })
		}
	}
	if err == nil {
		s.blobs.forget(slices.Collect(maps.Keys(named)))
	}
	return err
}
