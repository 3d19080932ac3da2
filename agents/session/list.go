package session

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/sourcegraph/conc/iter"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/internal/fault"
)

// How much of logs a list reads. What it finds out about one it keeps beside it,
// so that the next list need not.
const (
	listWorkers = 4
	maxSkim     = 1 << 20  // bytes of one log that is read whole
	maxSkims    = 64 << 20 // of all of them
	maxKept     = 500      // files written by one list
)

// infoSuffix ends the name of the file in which a session's Info is kept. It
// only informs: where it is missing or does not match the log, the log counts.
const infoSuffix = ".info.json"

// keptInfo is the content of that file.
type keptInfo struct {
	Format   int   `json:"format"` // 1
	Size     int64 `json:"size"`   // of the log's newest segment
	Modified int64 `json:"modified"`
	Segments int   `json:"segments"`
	Info     Info  `json:"info"`
}

// keptFormat is the format of what is kept that this program writes and reads.
const keptFormat = 1

// foundFiles are a session's files, as a list finds them.
type foundFiles struct {
	id       string
	segments int
	size     int64 // of the newest segment
	modified int64
	locked   bool // its lock's file says that somebody has it
	kept     bool // there is a file of what was kept
}

// List returns the open sessions and those that were kept, newest first. Of one
// that is not open it reads what is kept beside its log, or the log when that is
// missing or old, a long one at its ends only: then what it used and how many
// runs it had are those of the ends, or as they were last kept. One that cannot
// be read has a Problem, one that another daemon has is Locked. It opens none
// and keeps nobody else from opening one. The error is fault.Unavailable, when
// the folder cannot be read.
//
// It takes no lock. Four logs are read at a time, at most 64 MiB of them in all,
// and what was found is kept beside up to 500 of them, so a first list of very
// many sessions is rougher than the next.
func (s *Store) List() ([]Info, error) {
	out := []Info{}
	// Open sessions first: their totals are at hand and exact.
	seen := map[string]bool{}
	for _, session := range s.Live() {
		seen[session.ID] = true
		out = append(out, session.Info())
	}
	if s.cfg.Dir != "" {
		files, err := s.findFiles(seen)
		if err != nil {
			return nil, fault.New(fault.Unavailable, "session.list", "The sessions cannot be listed: %w.", err)
		}
		var reads, writes atomic.Int64
		reads.Store(maxSkims)
		writes.Store(maxKept)
		type result struct {
			info Info
			gone bool
		}
		skimmers := sync.Pool{New: func() any { return &activity.Skimmer{Types: totalled, Files: s.cfg.Files} }}
		mapper := iter.Mapper[foundFiles, result]{MaxGoroutines: listWorkers}
		for _, r := range mapper.Map(files, func(f *foundFiles) result {
			k := skimmers.Get().(*activity.Skimmer)
			defer skimmers.Put(k)
			info, ok := s.look(f, k, &reads, &writes)
			return result{info, !ok}
		}) {
			if !r.gone {
				out = append(out, r.info)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b Info) int {
		if c := b.UpdatedAt.Compare(a.UpdatedAt); c != 0 {
			return c
		}
		return strings.Compare(a.Session, b.Session)
	})
	return out, nil
}

// findFiles returns the files of the sessions that are not open.
// It reads the folder once and opens no file. An empty lock file counts as none.
func (s *Store) findFiles(open map[string]bool) ([]foundFiles, error) {
	entries, err := os.ReadDir(s.cfg.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var out []foundFiles
	at := map[string]int{}
	locks, kept := map[string]bool{}, map[string]bool{}
	segments := map[string]int{} // beyond the first
	for _, e := range entries {
		name := e.Name()
		if id, ok := strings.CutSuffix(name, ".lock"); ok {
			if info, err := e.Info(); err == nil && info.Size() > 0 {
				locks[id] = true
			}
			continue
		}
		if id, ok := strings.CutSuffix(name, infoSuffix); ok {
			kept[id] = true
			continue
		}
		id, ok := strings.CutSuffix(name, ".jsonl")
		if !ok || !e.Type().IsRegular() {
			continue
		}
		if base, number, ok := cutSegment(id); ok {
			segments[base] = max(segments[base], number)
			continue
		}
		if !open[id] && CheckID(id) == nil {
			at[id] = len(out)
			out = append(out, foundFiles{id: id, segments: 1})
		}
	}
	for id, n := range segments {
		if i, ok := at[id]; ok {
			out[i].segments = n
		}
	}
	for i := range out {
		out[i].locked, out[i].kept = locks[out[i].id], kept[out[i].id]
	}
	return out, nil
}

// look returns what can be told of a session that is not open; false when it is
// gone meanwhile.
// What the session's info file says counts as long as the log has the size, the
// time and the number of segments that it was written for. Else the log is read:
// whole while reads, the bytes that all sessions together may take, allows it,
// and otherwise only its beginning and its end. A session that was read whole
// and is not locked gets a new info file, as far as writes allows it.
func (s *Store) look(f *foundFiles, k *activity.Skimmer, reads, writes *atomic.Int64) (Info, bool) {
	path := filepath.Join(s.cfg.Dir, f.id+".jsonl")
	info := Info{Session: f.id, Folder: s.cfg.Folder, Agents: []string{}, AgentChain: []string{}, State: Idle}
	if f.locked {
		info.Locked = held(filepath.Join(s.cfg.Dir, f.id+".lock"))
	}
	if err := f.stat(s.cfg.Dir); errors.Is(err, fs.ErrNotExist) {
		return Info{}, false
	}
	kept, ok := keptInfo{}, false
	if f.kept {
		kept, ok = s.readInfo(f.id)
	}
	if ok && kept.Size == f.size && kept.Modified == f.modified && kept.Segments == f.segments {
		kept.Info.Locked = info.Locked
		return kept.Info, true
	}
	k.Max, k.Segments = 0, f.segments
	if f.size <= maxSkim && reads.Add(-f.size) >= 0 {
		k.Max = maxSkim
	}
	var t totals
	sum, err := k.Skim(path, t.apply)
	if fault.KindOf(err) == fault.NotFound {
		return Info{}, false
	}
	if err != nil {
		info.Problem = fault.Message(err)
		return info, true
	}
	t.title, t.info.Agent = oneLine(sum.Title), sum.Agent
	if sum.Session == "" && sum.Whole && sum.Last == 0 && sum.Bad == 0 {
		// Its header was never written whole, so nobody was told of it.
		if start, err := readFile(s.cfg.Files, path); err == nil && (len(start) == 0 || start[0] == '{') {
			return Info{}, false
		}
	}
	locked := info.Locked
	info = t.toInfo(f.id, s.cfg.Folder)
	if !sum.Whole && ok && kept.Info.CreatedAt.Equal(sum.Created) {
		// As it was last kept is nearer to the truth than its ends.
		kept.Info.State = info.State
		info = kept.Info
	}
	info.Locked, info.UpdatedAt = locked, sum.Updated
	if !sum.Created.IsZero() {
		info.CreatedAt = sum.Created
	}
	if !locked {
		info.State = info.State.afterClose()
	}
	switch {
	case sum.Format > activity.Format:
		info.Problem = newer(sum)
	case sum.Session == "":
		info.Problem = "the header of its log cannot be read"
	case sum.Bad > 0:
		info.Problem = "a part of its log cannot be read; it is set aside when the session is opened"
	// What another daemon has open changes with each event, so nothing is kept of it.
	case !locked && sum.Whole && writes.Add(-1) >= 0:
		s.writeInfo(f, info)
	}
	return info, true
}

// newer says why the log of a newer version is only listed.
func newer(sum activity.Skimmed) string {
	return fmt.Sprintf("it was written by agentls %s in a newer form (%d); update agentls to open it",
		sum.Agentls, sum.Format)
}

// stat takes the size and the time of the session's newest segment.
func (f *foundFiles) stat(dir string) error {
	info, err := os.Stat(filepath.Join(dir, segmentName(f.id, f.segments)))
	if err != nil {
		return err
	}
	f.size, f.modified = info.Size(), info.ModTime().UnixNano()
	return nil
}

// readInfo reads what is kept of a session beside its log; false where there is
// nothing that can be used. The folder is the store's own: the file may have
// come from another machine.
func (s *Store) readInfo(id string) (keptInfo, bool) {
	var kept keptInfo
	data, err := readFile(s.cfg.Files, filepath.Join(s.cfg.Dir, id+infoSuffix))
	if err != nil || json.Unmarshal(data, &kept) != nil || kept.Format != keptFormat || kept.Info.Session != id {
		return keptInfo{}, false
	}
	kept.Info.Folder = s.cfg.Folder
	return kept, true
}

// writeInfo keeps what a list tells of a session. A failure costs the next list
// a little time.
func (s *Store) writeInfo(f *foundFiles, info Info) {
	info.Locked = false
	data, err := json.Marshal(keptInfo{Format: keptFormat, Size: f.size, Modified: f.modified,
		Segments: f.segments, Info: info})
	if err != nil {
		return
	}
	_ = writeFile(s.cfg.Files, filepath.Join(s.cfg.Dir, f.id+infoSuffix), append(data, '\n'))
}

// keepInfo keeps what a list tells of the session, for when it is closed.
func (s *Session) keepInfo() {
	if s.store.cfg.Dir == "" {
		return
	}
	info := s.Info()
	info.State = info.State.afterClose()
	f := &foundFiles{id: s.ID, segments: max(1, len(s.store.segmentsOf(s.ID)))}
	if f.stat(s.store.cfg.Dir) == nil {
		s.store.writeInfo(f, info)
	}
}
