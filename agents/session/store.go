package session

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/internal/fault"
)

// Default is the session of requests that name none (spec 3.1).
const Default = "main"

// maxDefaults bounds how many daemons share one workspace without naming
// sessions.
const maxDefaults = 100

// Config says where a workspace's sessions lie.
//
// The functions are called from any goroutine and must not call back into the store
// or the session; Mask runs while the log's lock is held or an append waits.
type Config struct {
	// Dir is the folder of the sessions' files: Root joined with [Key]. It is
	// made, for its owner only, when the first session is opened. "" keeps
	// sessions in memory only.
	Dir string
	// Folder is the workspace's first folder, as [Info] tells it.
	Folder string
	// Owner says who holds a session, to whom else asks for it: "agentls 1.2,
	// process 4711 on host".
	Owner string
	// Version is the program's, for the logs' headers.
	Version string
	// Now gives the time of events. Required.
	Now func() time.Time
	// NewID makes ids of sessions; nil is [NewID].
	NewID func() string
	// Log hears of damage and failures; nil hears nothing.
	Log *slog.Logger
	// Health is told when a session's log can no longer be written, and with
	// nil when it can again; see [activity.Config]. May be nil.
	Health func(session string, err error)
	// Mask replaces what must not be recorded, in data that is JSON or text; see
	// [activity.Config]. Long results that lie in blobs pass it too; what
	// [Session.PutBlob] is given does not. Nil changes nothing.
	Mask func([]byte) []byte
	// UserState and WorkspaceState are the files of those values of the state that
	// outlive a session ([activity.SessionState]); "" keeps them in memory.
	UserState, WorkspaceState string
	// Forget removes what is kept of a session elsewhere, as in files of traces,
	// when the session is deleted or a context of it purged: of the runs with these
	// correlation ids, what began before an event; of all agents where agent is "".
	// Nil: nothing is.
	Forget func(session, agent string, before uint64, chains map[string]bool) error
	// Files is the file system; nil is the machine's.
	Files activity.Files
}

// Store holds the sessions of one workspace. Its methods may be called from any
// goroutine.
//
// Whoever opens an id that is being opened waits for the same session, and whoever
// opens one that is being closed waits until it is closed. Several stores, of
// several daemons, may lie on one folder: the locks of the sessions keep them
// apart.
type Store struct {
	// Never changed after New.
	cfg   Config
	blobs *blobs

	user, workspace values // that outlive a session

	mu       sync.Mutex
	slots    map[string]*slot
	standard string // what stands for Default while it is open; "" = not decided
}

// slot is a session that is being opened, open, or being closed.
//
// It is in the table as long as anybody may wait for it. ready is closed exactly
// once, by fill; gone once, by leave. closing is set under the store's lock by
// whoever closes the session or deletes it, and from then on nobody else gets it.
type slot struct {
	session *Session
	err     error
	ready   chan struct{} // closed when session or err is set
	closing bool
	gone    chan struct{} // closed when the session is closed
}

// live returns the session unless it is being opened or closed. The store's lock is held.
func (t *slot) live() *Session {
	select {
	case <-t.ready:
		if !t.closing {
			return t.session
		}
	default:
	}
	return nil
}

// New returns a store. It touches no file.
// NewID and Files get defaults. The caller closes the store when no session of it
// is used any more.
func New(cfg Config) *Store {
	if cfg.NewID == nil {
		cfg.NewID = NewID
	}
	if cfg.Files == nil {
		cfg.Files = activity.Disk()
	}
	s := &Store{
		cfg: cfg, blobs: &blobs{files: cfg.Files}, slots: make(map[string]*slot),
		user:      values{file: cfg.UserState, whose: "the person"},
		workspace: values{file: cfg.WorkspaceState, whose: "the workspace"},
	}
	if cfg.Dir != "" {
		s.blobs.dir = filepath.Join(cfg.Dir, "blobs")
	}
	return s
}

// New begins a session with a new id. The title, of which the first line
// counts, is what [Info] tells instead of the first request; "" for none. agent is
// who answers in it where a request names nobody; "" for main. The errors are those
// of [Store.Open].
func (s *Store) New(title, agent string) (*Session, error) {
	title = oneLine(title)
	if s.cfg.Mask != nil {
		title = valid(string(s.cfg.Mask([]byte(title))))
	}
	return s.open(s.NewID(), opening{begin: true, title: title, agent: agent})
}

// Open returns the session with the given id, which it loads or begins; an open
// one is returned as it is. "" is the default session: main or, when another
// daemon has it, main-2, main-3 and so on, which Note and a note in the log say.
//
// Loading fixes the log ([activity.Open]), and runs that went on when the last
// daemon ended become interrupted.
//
// A bad id gives fault.Invalid; a session that another daemon has,
// fault.Unavailable with the reason busy and who has it; files that cannot be
// read or written, fault.Unavailable.
//
// It reads the log, which takes time in proportion to its size, and has no context:
// a caller that must not wait opens on a goroutine. The session is shared with
// others who opened it; closing it closes it for all.
func (s *Store) Open(id string) (*Session, error) {
	if id != "" {
		return s.open(id, opening{begin: true})
	}
	s.mu.Lock()
	first := s.standard
	s.mu.Unlock()
	if first != "" {
		return s.open(first, opening{begin: true})
	}
	var held error
	for n := 1; n <= maxDefaults; n++ {
		name := Default
		if n > 1 {
			name = fmt.Sprintf("%s-%d", Default, n)
		}
		session, err := s.open(name, opening{begin: true})
		if err != nil && busy(err) {
			if held == nil {
				held = err
			}
			continue
		}
		if err != nil {
			return nil, err
		}
		s.adopt(session, held)
		return session, nil
	}
	return nil, held
}

// adopt makes a session the default one. held is why it is not main.
func (s *Store) adopt(session *Session, held error) {
	s.mu.Lock()
	first := s.standard == ""
	if first {
		s.standard = session.ID
	}
	if first && held != nil {
		_, data := fault.ReasonOf(held)
		session.Note = fmt.Sprintf("The session %s is in use by %v, so this is %s.", Default,
			data["holder"], session.ID)
	}
	note := session.Note
	s.mu.Unlock()
	if first && held != nil {
		session.Log.Append(activity.Origin{}, activity.Note{Level: "info", Message: note}, 0)
	}
}

// Get returns a session that is open or was kept. One that is neither gives
// fault.NotFound with the reason unknownSession; the other errors are those of
// Open.
func (s *Store) Get(id string) (*Session, error) { return s.open(id, opening{}) }

// opening says how a session is opened.
type opening struct {
	begin bool   // it may be one that there is not yet
	title string // of one that is begun
	agent string // of one that is begun
	fork  *fork  // what one that is begun goes on from; nil for nothing
}

// open returns a session.
func (s *Store) open(id string, how opening) (*Session, error) {
	if err := CheckID(id); err != nil {
		return nil, err
	}
	for {
		s.mu.Lock()
		t := s.slots[id]
		if t == nil {
			t = &slot{ready: make(chan struct{}), gone: make(chan struct{})}
			s.slots[id] = t
			s.mu.Unlock()
			return s.fill(t, id, how)
		}
		closing := t.closing
		s.mu.Unlock()
		if closing {
			<-t.gone
			continue
		}
		<-t.ready
		if t.err != nil && how.begin && fault.KindOf(t.err) == fault.NotFound {
			continue // somebody looked for it only
		}
		return t.session, t.err
	}
}

// fill loads the session of a slot and tells those who wait for it. Where load
// panics they get fault.Internal: a slot that is never ready would make them wait
// for ever.
func (s *Store) fill(t *slot, id string, how opening) (session *Session, err error) {
	err = fault.New(fault.Internal, "session.open", "the session %s could not be opened", id) // if load panics
	defer func() {
		s.mu.Lock() // who closes one that had this id before looks at it, too
		t.session, t.err = session, err
		if err != nil {
			delete(s.slots, id)
		}
		s.mu.Unlock()
		close(t.ready)
	}()
	return s.load(id, how)
}

// load opens a session's log under its lock.
//
// The lock is taken before the log is looked at, so that what is fixed in it is
// nobody else's. Whether the log exists is looked at twice: before the lock, so
// that looking for a session makes no file, and after it, since it may have been
// deleted in between.
func (s *Store) load(id string, how opening) (_ *Session, err error) {
	session := s.blank(id)
	cfg := s.config(session, how)
	if s.cfg.Dir == "" {
		if !how.begin {
			return nil, unknown(id)
		}
		if how.fork != nil {
			cfg.Copy = &how.fork.of
		}
	} else {
		cfg.Path = filepath.Join(s.cfg.Dir, id+".jsonl")
		if !how.begin && !exists(s.cfg.Files, cfg.Path) {
			return nil, unknown(id)
		}
		if err := makeDir(s.cfg.Dir); err != nil {
			return nil, fault.New(fault.Unavailable, "session.open",
				"The folder of the sessions cannot be made: %w. Fix it, or turn agents.contextPersistence off.", err)
		}
		if session.lock, err = acquire(filepath.Join(s.cfg.Dir, id+".lock"), id, s.cfg.Owner, s.cfg.Now()); err != nil {
			return nil, err
		}
		defer func() {
			if err != nil {
				_ = session.lock.release() // the first error counts
			}
		}()
		if !how.begin && !exists(s.cfg.Files, cfg.Path) {
			return nil, unknown(id) // was deleted meanwhile
		}
		if how.fork != nil {
			if err := s.build(id, how); err != nil {
				return nil, err
			}
		}
	}
	log, found, err := activity.Open(cfg)
	if err != nil {
		return nil, err
	}
	session.Log = log
	if how.fork != nil && s.cfg.Dir == "" {
		session.recordFork(how.fork)
	}
	session.coolMarks()
	session.readHeader()
	if found.Cut > 0 {
		log.Append(activity.Origin{}, activity.Note{Level: "warning", Message: fmt.Sprintf(
			"The last %d bytes of this session had not been wholly written and were cut.", found.Cut)}, 0)
	}
	// Runs that went on were another daemon's, and that one has ended: it would hold the lock.
	session.interrupt()
	session.resumePurge()
	return session, nil
}

// config returns how a session's log is opened, but for its path.
func (s *Store) config(session *Session, how opening) activity.Config {
	cfg := activity.Config{
		Session: session.ID, Version: s.cfg.Version, Title: how.title, Agent: how.agent, Now: s.cfg.Now, Log: s.cfg.Log,
		Fold: session.fold, Blob: s.blobs.get,
		Mask: s.cfg.Mask, Files: s.cfg.Files,
	}
	if s.cfg.Dir != "" {
		cfg.Workspace = filepath.Base(s.cfg.Dir)
	}
	if s.cfg.Health != nil {
		cfg.Health = func(err error) { s.cfg.Health(session.ID, err) }
	}
	return cfg
}

// unknown is the error for an id that no session has: fault.NotFound with the
// reason unknownSession.
func unknown(id string) error {
	return fault.New(fault.NotFound, "session.get",
		"There is no session %s; agents/session/list names those there are.", id).
		Because(fault.UnknownSession, "session", id)
}

// close closes a session and forgets it.
func (s *Store) close(session *Session) error {
	s.mu.Lock()
	t := s.slots[session.ID]
	if t == nil || t.session != session {
		s.mu.Unlock()
		return nil
	}
	if t.closing {
		s.mu.Unlock()
		<-t.gone
		return nil
	}
	t.closing = true
	s.mu.Unlock()
	defer s.leave(session.ID, t)
	err := session.Log.Close()
	session.keepInfo()
	// The lock goes last: nobody else may write while we do.
	if released := session.lock.release(); err == nil && released != nil {
		err = fault.New(fault.Unavailable, "session.close", "The session %s is still locked: %w.", session.ID, released)
	}
	return err
}

// leave forgets a session that is closing.
func (s *Store) leave(id string, t *slot) {
	s.mu.Lock()
	delete(s.slots, id)
	if s.standard == id {
		s.standard = ""
	}
	s.mu.Unlock()
	close(t.gone)
}

// Holds reports whether a session is open still.
// It is false for one that is being closed.
func (s *Store) Holds(session *Session) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.slots[session.ID]
	return t != nil && t.live() == session
}

// Live returns the open sessions, by id.
// Those that are being opened or closed are not among them.
func (s *Store) Live() []*Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []*Session
	for _, t := range s.slots {
		if session := t.live(); session != nil {
			out = append(out, session)
		}
	}
	slices.SortFunc(out, func(a, b *Session) int { return strings.Compare(a.ID, b.ID) })
	return out
}

// Close closes all sessions. The error joins theirs.
// The store can be used again afterwards: a session that is opened then is open.
func (s *Store) Close() error {
	var errs []error
	for _, session := range s.Live() {
		errs = append(errs, session.Close())
	}
	return errors.Join(errs...)
}

// makeDir makes a folder for its owner only, with the folders above it, and puts
// their names on stable storage.
func makeDir(dir string) error {
	if info, err := os.Stat(dir); err == nil {
		if !info.IsDir() {
			return &fs.PathError{Op: "mkdir", Path: dir, Err: fs.ErrExist}
		}
		return nil
	}
	parent := filepath.Dir(dir)
	if parent != dir {
		if err := makeDir(parent); err != nil {
			return err
		}
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return activity.SyncDir(parent)
}
