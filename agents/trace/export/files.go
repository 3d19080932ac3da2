package export

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agentls/agentls/agents/trace"
	"github.com/agentls/agentls/internal/filelock"
)

// lockPatience is how long another process may take to write to a file of traces.
const lockPatience = 2 * time.Second

// closing ends a file of traces, which is a JSON array with an event a line. A file is
// whole JSON after each write: the next one begins over the closing.
const closing = "\n]\n"

// lock keeps other processes from the files of traces: sessions of several folders may
// have one name, and so one file. The lock is for the folder, held for one write, and
// waited for as long as lockPatience.
func (t *Tracer) lock(ctx context.Context) (unlock func() error, err error) {
	lock := filelock.New(filepath.Join(t.Dir, ".lock"))
	ctx, cancel := context.WithTimeout(ctx, lockPatience)
	defer cancel()
	if _, err := lock.TryLockContext(ctx, lockPatience/100); err != nil {
		return nil, fmt.Errorf("%s is locked: %w", t.Dir, err)
	}
	return lock.Unlock, nil
}

// write appends to the file of a session and day, which is a JSON array before and after.
// The day is that of the write. A crash between may leave a file without its closing; the
// log has everything.
func (t *Tracer) write(s *session, b *batch) (err error) {
	path := filepath.Join(t.Dir, t.Now().Format(time.DateOnly), fileName(s.id))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	unlock, err := t.lock(t.ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	var text bytes.Buffer
	for _, m := range t.keep(s, b.moments) {
		e, ok := m.File(s.id, m.content)
		if !ok {
			continue
		}
		line, err := json.Marshal(e)
		if err != nil {
			return err
		}
		text.WriteString(",\n")
		text.Write(line)
	}
	if text.Len() == 0 {
		return nil
	}
	if err := closeEvents(path); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	end, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	data := append(text.Bytes(), closing...)
	// A new file, or one with nothing in it.
	if end < int64(len("[")+len(closing)) {
		data[0] = '[' // in place of the comma
		_, err = f.WriteAt(data, 0)
		return err
	}
	_, err = f.WriteAt(data, end-int64(len(closing)))
	return err
}

// closeEvents ends a file that a full disk or a crash left without its end: what is no
// whole event is dropped. Else the next events would overwrite a part of the last one.
func closeEvents(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return nil // it is not there yet, or the write says why not
	}
	defer f.Close()
	end := make([]byte, len(closing))
	size, err := f.Seek(-int64(len(end)), io.SeekEnd)
	if err != nil {
		return nil // too short for an event: it is written anew
	}
	if _, err := f.ReadAt(end, size); err != nil || string(end) == closing {
		return err
	}
	return rewrite(path, func(trace.FileEvent) bool { return true })
}

// fileName is the name of a session's file, below the folder of a day.
func fileName(session string) string { return "session-" + session + ".json" }

// keep returns the moments that are still to be passed on. It drops those that Forget
// has erased since they were read.
func (t *Tracer) keep(s *session, moments []moment) []moment {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(s.erased) == 0 {
		return moments
	}
	return slices.DeleteFunc(slices.Clone(moments), func(m moment) bool {
		return m.Seq < s.erased[m.Agent] || m.Seq < s.erased[""]
	})
}

// Forget removes from the files what a session has said that is deleted, or an agent in it
// whose context is purged: of the runs with these correlation ids, what began before an
// event. agent is "" for all. Sessions of other folders may have the same name: theirs stays.
//
// What is still on its way to a file is dropped first, and then the files are rewritten under
// their lock, each whole or not at all. What was sent to a collector is not taken back.
// Errors of all files are joined; those after one that failed are still done.
func (t *Tracer) Forget(id, agent string, before uint64, chains map[string]bool) (err error) {
	t.mu.Lock()
	for _, s := range t.sessions {
		if s.id == id {
			if s.erased == nil {
				s.erased = make(map[string]uint64)
			}
			s.erased[agent] = max(s.erased[agent], before)
		}
	}
	t.mu.Unlock()
	files, err := filepath.Glob(filepath.Join(globEscape(t.Dir), "*", fileName(id)))
	if err != nil || len(files) == 0 {
		return err
	}
	unlock, err := t.lock(context.WithoutCancel(t.ctx))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	for _, path := range files {
		err = errors.Join(err, rewrite(path, func(e trace.FileEvent) bool {
			return !chains[e.CorrelationID] || (agent != "" && e.AgentName != agent) || seqOf(e) >= before
		}))
	}
	return err
}

// globEscape takes the meaning from what patterns of file names mean something by.
func globEscape(path string) string {
	if os.PathSeparator == '\\' {
		return path // there a pattern has no escapes
	}
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}

// seqOf is the number of the event with which a span began. The id of a span is twice that
// number, or one more. What is no such id is 0, and so before every event.
func seqOf(e trace.FileEvent) uint64 {
	id := strings.TrimSuffix(strings.TrimPrefix(e.EventID, e.SessionID+"-"), "-start")
	n, err := strconv.ParseUint(id, 10, 64)
	if err != nil {
		return 0
	}
	return n / 2
}

// rewrite leaves of a file what is to stay, and removes one that nothing stays of. A line
// that cannot be read goes: nobody knows whose it is. It knows the form that write gives
// a file, an event a line.
func rewrite(path string, stays func(trace.FileEvent) bool) error {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var left []byte
	for line := range bytes.Lines(data) {
		line = bytes.TrimSuffix(bytes.TrimSpace(bytes.TrimPrefix(line, []byte("["))), []byte(","))
		var e trace.FileEvent
		if len(line) > 0 && json.Unmarshal(line, &e) == nil && stays(e) {
			left = append(append(left, ",\n"...), line...)
		}
	}
	if len(left) == 0 {
		err := os.Remove(path)
		_ = os.Remove(filepath.Dir(path)) // the day's folder stays while it holds others
		return err
	}
	left[0] = '['
	return replace(path, append(left, closing...))
}

// replace writes a file anew, whole or not at all.
func replace(path string, data []byte) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*") // 0600
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}
