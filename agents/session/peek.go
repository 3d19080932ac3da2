package session

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/internal/fault"
)

// Peek returns what a session adds up to, and its runs in the order of their
// start. One that is not open stays so: its log is read whole, without its lock,
// also while another daemon writes it (then it is Locked). Where nobody has it,
// runs that its end cut off are interrupted.
//
// A bad id gives fault.Invalid; one that no session has fault.NotFound with the
// reason unknownSession; a log that cannot be read fault.Unavailable.
//
// Its cost grows with the log: nothing is kept of it. What an open session tells is of
// this moment.
func (s *Store) Peek(id string) (Info, []Run, error) {
	if err := CheckID(id); err != nil {
		return Info{}, nil, err
	}
	for _, open := range s.Live() {
		if open.ID == id {
			return open.Info(), open.Runs(), nil
		}
	}
	if s.cfg.Dir == "" {
		return Info{}, nil, unknown(id)
	}
	locked := s.Elsewhere(id) != nil // before the log: a daemon that begins meanwhile has it longer than this
	told, runs, err := s.skim(id)
	if err != nil {
		return Info{}, nil, err
	}
	told.Locked = locked
	if !locked {
		told.State = told.State.afterClose()
		for i, r := range runs {
			if r.live() {
				runs[i].State = activity.Interrupted
			}
		}
	}
	return told, runs, nil
}

// Elsewhere returns why a session that another daemon has cannot be written here, as
// [Store.Open] would; nil for any other one. It opens and locks nothing.
func (s *Store) Elsewhere(id string) error {
	if s.cfg.Dir == "" || CheckID(id) != nil {
		return nil
	}
	for _, open := range s.Live() {
		if open.ID == id {
			return nil
		}
	}
	lock := filepath.Join(s.cfg.Dir, id+".lock")
	if info, err := os.Lstat(lock); err != nil || info.Size() == 0 || !held(lock) {
		return nil // trying a lock that is not there would make its file
	}
	return inUse(lock, id)
}

// RunElsewhere is Elsewhere for the session that has a run which goes on there. Only the
// logs of sessions that other daemons have are read.
// nil where no other daemon has such a run. It reads each of those logs whole, so it is
// for a request that has failed already.
func (s *Store) RunElsewhere(run string) error {
	entries, _ := os.ReadDir(s.cfg.Dir) // none in memory
	for _, e := range entries {
		id, is := strings.CutSuffix(e.Name(), ".lock")
		busy := s.Elsewhere(id)
		if !is || busy == nil {
			continue
		}
		if _, runs, err := s.skim(id); err == nil && slices.ContainsFunc(runs, func(r Run) bool {
			return r.Run == run && r.live()
		}) {
			return busy
		}
	}
	return nil
}

// AgentOf returns who answers in a session where a request names nobody; "" for main,
// and for a session that is not there or cannot be read. Its log is not read whole.
func (s *Store) AgentOf(id string) string {
	for _, open := range s.Live() {
		if open.ID == id {
			return open.Log.Agent()
		}
	}
	if s.cfg.Dir == "" || CheckID(id) != nil {
		return ""
	}
	sum, err := (&activity.Skimmer{Files: s.cfg.Files, Segments: 1}).Skim(filepath.Join(s.cfg.Dir,
		segmentName(id, 1)), nil)
	if err != nil {
		return "" // who opens it is told
	}
	return sum.Agent
}

// skim reads the log of a session that is not open whole.
// An id that there is not is the error of unknown; damage is told in Info.Problem.
func (s *Store) skim(id string) (Info, []Run, error) {
	var t totals
	sum, err := (&activity.Skimmer{Types: totalled, Files: s.cfg.Files,
		Max: math.MaxInt64}).Skim(filepath.Join(s.cfg.Dir, segmentName(id, 1)), t.apply)
	if fault.KindOf(err) == fault.NotFound {
		return Info{}, nil, unknown(id)
	}
	if err != nil {
		return Info{}, nil, err
	}
	t.title, t.info.Agent = oneLine(sum.Title), sum.Agent
	told := t.toInfo(id, s.cfg.Folder)
	told.UpdatedAt = sum.Updated
	if !sum.Created.IsZero() {
		told.CreatedAt = sum.Created
	}
	switch {
	case sum.Format > activity.Format:
		told.Problem = newer(sum)
	case sum.Session == "":
		told.Problem = "the header of its log cannot be read"
	case sum.Bad > 0:
		told.Problem = "a part of its log cannot be read; it is set aside when the session is opened"
	}
	return told, append([]Run{}, t.runs...), nil
}
