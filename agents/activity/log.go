package activity

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/sourcegraph/conc/panics"

	"github.com/agentls/agentls/internal/fault"
)

// Format is the version of the log's format that this program writes. A log of
// a newer one is refused and left as it is.
const Format = 1

// Times of a log's housekeeping.
const (
	// restAfter bounds how long an event that nobody waits for is unsynced
	// (spec 12.2: a second of streamed text), and after as much again without
	// an append the tail is let go.
	restAfter = time.Second
	// retryAfter is how long a log that cannot be written waits before it tries
	// again.
	retryAfter = time.Second
)

// Config says where a log is kept and who hears of it.
//
// The functions in it are called for as long as the log is open, and must be
// safe for concurrent use where nothing else is said.
type Config struct {
	// Path is the file of the first segment, "<session>.jsonl" in a folder that
	// exists. "" keeps the log in memory only: at least the newest 16 MiB.
	Path string
	// Session is the session's id. Required.
	Session string
	// Workspace, Version and, of a log that is begun, Title and Agent are written
	// in the header.
	// Title and Agent of a log that exists are those of its header.
	Workspace, Version, Title, Agent string
	// Now gives the time of each event. Required.
	Now func() time.Time
	// Log hears of damage and failures. Nil hears nothing.
	Log *slog.Logger
	// Fold is told every event but deltas, in order: by Open, those that the
	// log has, and then each one by the Append that makes it, before Append
	// returns. It runs under the log's lock: it must be quick and must not call
	// the log. May be nil.
	Fold func(Event)
	// Blob returns data that lies beside the log, by its name. Readers are told
	// a result that lies there whole (spec 3.1); one that is lost stays out. Nil
	// leaves all of them out. It may take its time.
	Blob func(sha string) ([]byte, error)
	// Health is told when the log can no longer be written, with the fault that
	// [Log.Err] returns, and with nil when it can again: once each. It runs on
	// the log's goroutine and must not wait for the log. May be nil.
	Health func(error)
	// Mask replaces what must not be recorded in the data of an event, JSON
	// before and after, before anybody hears of it or it is written; it returns
	// its argument where it finds nothing. What a model said is left as it is
	// ([ModelContent], spec 7.2). It runs in Append and must be quick. Nil
	// changes nothing.
	Mask func([]byte) []byte
	// Files is the file system; nil is the machine's.
	Files Files
	// Copy makes a log that is begun have the first events of another: those up
	// to Until, under their numbers and as their lines have them. They are on
	// stable storage when Open returns. Nil for a log that begins with nothing.
	Copy *Copy

	// start runs the writer; nil starts a goroutine. Tests and the benchmark
	// that compares the two run it in place.
	start func(func())
}

// Copy names the beginning of a log.
//
// Of stays the caller's and must stay open until Open returns. Events after
// Until are not looked at. For an Of in memory that has let go of its beginning,
// Open fails.
type Copy struct {
	Of    *Log
	Until uint64
}

// Log is one session's timeline: append-only, with one writer, any number of
// readers, and a file (spec 3.1). Its methods may be called from any goroutine.
//
// # Order
//
// Append numbers events from 1 without gaps. An event is announced, that is
// shown to readers, when it is written; one that is [Synced] when it is on
// stable storage; and never before the event before it. So whoever has seen an
// event can rely on it, and on all before it.
//
// # Goroutines
//
// A log at rest has none. Append starts the writer where none runs; it writes
// and syncs until nothing is left, and what was appended meanwhile goes in one
// write and one sync (group commit). A timer syncs a second after a write that
// nobody waits for. Close waits for all of them.
//
// # Failures
//
// After a failed write or sync, the log goes on in a new segment, which begins
// with all that is not known to be on disk. The failed file is not synced or
// written again. While no segment can be written, nothing is announced, Err and
// Commit return the fault, what is appended is kept in memory, and the log
// tries again every second.
type Log struct {
	cfg     Config
	files   Files     // nil in memory
	watched *watcher  // of a log that another process writes; nil for our own
	created time.Time // set by Open
	title   string    // set by Open
	agent   string    // set by Open

	syncing sync.Mutex // held during a sync and while segments change; taken before mu
	wg      sync.WaitGroup

	mu        sync.Mutex
	enc       encoder
	scratch   []byte
	tail      tail
	last      uint64   // appended
	written   uint64   // handed to the file
	synced    uint64   // on stable storage
	announced uint64   // shown to readers
	owed      []uint64 // the Synced events after synced, in order
	unsafe    int      // bytes written since the last sync
	seg       *segment // the one that is written; nil in memory
	index     []point  // where lines lie in the segments, in order
	grown     chan struct{}
	timer     *time.Timer
	restLast  uint64 // last when the timer ran
	resting   bool   // a sync in the background is under way
	drainer   bool   // the writer runs, or a purge does
	purgers   int    // wait for the writer to end
	broken    error  // why seg must not be used any more; nil = it may
	err       error  // why nothing can be written; the fault of Err
	unsaved   bool   // a person agreed to go on without the disk
	closing   bool
	done      bool
}

// Append records that b happened to o, now, and returns its number. d is the
// duration of what ended, zero where nothing did. It never waits for the disk.
// After Close nothing is recorded and the number is 0.
//
// A body that cannot be encoded, which is a bug of its maker, or is nested too
// deep to be read back, is recorded as an [ErrorSeen] that says so.
//
// b must not be changed afterwards, nor what it points to: Fold and readers get
// it. The time of the event is the config's Now, cut to milliseconds.
func (l *Log) Append(o Origin, b Body, d time.Duration) uint64 {
	var data []byte
	delta := isDelta(b)
	if !delta || l.cfg.Mask != nil {
		b, data = l.encode(b)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closing {
		return 0
	}
	// As the line has it, so that the live event is the one that is read again.
	seq, now, ms := l.last+1, l.cfg.Now().UTC().Truncate(time.Millisecond), d.Milliseconds()
	l.scratch = l.enc.line(l.scratch[:0], seq, now, o, b, data, ms)
	l.tail.add(seq, l.scratch)
	if cap(l.scratch) > blockMax {
		l.scratch = nil
	}
	l.last = seq
	if !delta && l.cfg.Fold != nil {
		l.cfg.Fold(Event{Seq: seq, Time: now, Session: l.cfg.Session, Origin: o, Body: b, DurationMs: ms})
	}
	if l.files == nil {
		l.written, l.synced = seq, seq
		l.announce()
		l.tail.drop(memoryMax, seq)
		return seq
	}
	if Synced(b) {
		l.owed = append(l.owed, seq)
	}
	if l.unsaved {
		l.announce()
	}
	l.wake()
	return seq
}

// Commit waits until everything up to seq is announced: written, and synced
// where it must be. The error is the context's cause, the fault of [Log.Err] as
// soon as the log cannot be written, or fault.Unavailable when it was closed
// before.
//
// It is for whoever is about to do what the event says: a call is executed after
// its executing was committed. Commits that wait together share a sync. After
// GoUnsaved it returns as soon as the event is in memory.
func (l *Log) Commit(ctx context.Context, seq uint64) error {
	for {
		l.mu.Lock()
		switch {
		case l.announced >= seq:
			l.mu.Unlock()
			return nil
		case l.err != nil:
			defer l.mu.Unlock()
			return l.err
		case l.done || seq > l.last:
			l.mu.Unlock()
			return fault.New(fault.Unavailable, "activity.commit",
				"Event %d of the session %s was not recorded: its log is closed.", seq, l.cfg.Session)
		}
		grown := l.wait()
		l.mu.Unlock()
		select {
		case <-grown:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Last returns the number of the newest event; 0 when there is none.
// It may not be announced yet; see LastAnnounced.
func (l *Log) Last() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last
}

// CreationTime returns when the log was begun, as its header says; zero where the
// header was lost.
func (l *Log) CreationTime() time.Time { return l.created }

// Title returns the title that the log was begun with; "" for none.
func (l *Log) Title() string { return l.title }

// Agent returns the agent that the log was begun for; "" for none.
func (l *Log) Agent() string { return l.agent }

// LastAnnounced returns the number of the newest event that readers may see.
func (l *Log) LastAnnounced() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.announced
}

// Err returns why the log cannot be written, fault.Unavailable; nil while it
// can.
func (l *Log) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// WaitWritable waits until the log can be written. The error is the context's
// cause, or the fault when the log was closed before.
//
// It says nothing of how long the log stays so; Commit tells each time.
func (l *Log) WaitWritable(ctx context.Context) error {
	for {
		l.mu.Lock()
		err, done, grown := l.err, l.done, l.wait()
		l.mu.Unlock()
		if err == nil || done {
			return err
		}
		select {
		case <-grown:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// GoUnsaved makes a log that cannot be written announce events from memory
// until it can: what a person agreed to (REL-96). It changes nothing while the
// log can be written.
func (l *Log) GoUnsaved() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		l.unsaved = true
		l.announce()
		l.broadcast()
	}
}

// Close writes and syncs all, waits for the log's goroutines, and ends its
// readers once they have had what was announced. The error is the fault when
// something could not be saved. Closing twice does nothing.
//
// It waits for the disk and has no bound of its own: whoever must not wait calls
// it on a goroutine. Followers end with false from Next once they have had all;
// Commit of what was not saved fails.
func (l *Log) Close() error {
	l.mu.Lock()
	if l.watched != nil && !l.done {
		l.done = true
		close(l.watched.stop)
		l.broadcast()
	}
	if l.closing {
		l.mu.Unlock()
		l.wg.Wait()
		return nil
	}
	l.closing = true
	if l.timer != nil {
		l.timer.Stop()
	}
	if l.files != nil {
		if l.broken != nil || l.written < l.last {
			l.wake()
		}
	}
	l.mu.Unlock()
	l.wg.Wait()

	l.mu.Lock()
	defer l.mu.Unlock()
	if l.files != nil {
		if l.broken == nil && l.synced < l.written {
			l.sync()
		}
		if l.broken != nil && l.err == nil {
			l.drain() // one more segment
		}
		if l.seg.file != nil {
			if err := l.seg.file.Close(); err != nil && l.synced < l.last {
				l.logger().Warn("log not closed", "session", l.cfg.Session, "err", err)
			}
		}
	}
	l.done = true
	l.broadcast()
	return l.err
}

// announce moves announced as far as the rule of order allows. l.mu is held.
// The rule: up to what is written, but not past the oldest Synced event that is
// not on stable storage.
func (l *Log) announce() {
	to := l.written
	if len(l.owed) > 0 {
		to = min(to, l.owed[0]-1)
	}
	if l.unsaved {
		to = l.last
	}
	if to > l.announced {
		l.announced = to
		l.broadcast()
	}
}

// wait returns a channel that is closed when something changes. l.mu is held.
// All who wait share it, and each looks again at what it waits for.
func (l *Log) wait() chan struct{} {
	if l.grown == nil {
		l.grown = make(chan struct{})
	}
	return l.grown
}

// broadcast wakes all who wait. l.mu is held.
func (l *Log) broadcast() {
	if l.grown != nil {
		close(l.grown)
		l.grown = nil
	}
}

// wake starts the writer where none runs. While the log cannot be written, only
// its timer and Close do. l.mu is held.
func (l *Log) wake() {
	if l.drainer || (l.err != nil && !l.closing) {
		return
	}
	l.drainer = true
	if l.cfg.start != nil {
		l.withoutLock(func() { l.cfg.start(l.write) })
		return
	}
	l.spawn(l.write)
}

// spawn runs f on a goroutine that Close waits for. A panic makes the log one
// that cannot be written. l.mu is held, and l.closing false or Close the
// caller.
func (l *Log) spawn(f func()) {
	l.wg.Go(func() {
		var c panics.Catcher
		c.Try(f)
		if r := c.Recovered(); r != nil {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.logger().Error("log writer", "session", l.cfg.Session, "panic", fault.PanicText(r.Value, r.Stack))
			l.broken = r.AsError()
			l.drainer, l.resting = false, false
			l.fail(r.AsError())
		}
	})
}

func (l *Log) logger() *slog.Logger {
	if l.cfg.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return l.cfg.Log
}

// header is the first line of a segment.
type header struct {
	Format    int    `json:"format"`
	Session   string `json:"session"`
	Workspace string `json:"workspace"`
	Created   string `json:"created"` // RFC 3339 with ms
	Agentls   string `json:"agentls"` // the version that wrote it
	Title     string `json:"title,omitempty"`
	Agent     string `json:"agent,omitempty"` // who answers where a request names nobody
}

// creationTime returns when the log was begun; zero where that cannot be read.
func (h header) creationTime() time.Time {
	t, _ := time.Parse(time.RFC3339, h.Created) // not a time: unknown
	return t
}

// headerLine returns the first line of a segment, with its line feed.
func (l *Log) headerLine() []byte {
	line, err := json.Marshal(header{Format: Format, Session: l.cfg.Session, Workspace: l.cfg.Workspace,
		Created: l.cfg.Now().UTC().Format(timeLayout), Agentls: l.cfg.Version, Title: l.title, Agent: l.agent})
	if err != nil {
		panic(err) // strings and a number
	}
	return append(line, '\n')
}

// parseHeader reads a segment's first line.
func parseHeader(line []byte) (header, error) {
	var h header
	if err := json.Unmarshal(line, &h); err != nil {
		return h, fmt.Errorf("the header: %w", err)
	}
	if h.Format < 1 || h.Session == "" {
		return h, errors.New("the header names no format or no session")
	}
	return h, nil
}
