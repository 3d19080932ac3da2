package tool

import (
	"context"
	"encoding/json"
	"io/fs"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/agentls/agentls/agents/memory"
	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/internal/dial"
	"github.com/agentls/agentls/internal/mask"
	"github.com/agentls/agentls/internal/sandbox"
)

// Env is what a tool can reach for one call. The run makes it.
//
// It is valid for the call, and for the tasks of Background until their context ends; a
// tool keeps no Env. Its fields are not changed while a call has it. Most of what may be
// nil is nil in tests, in a daemon that replays a session, or because the client cannot
// do it: a tool that needs one that is nil says so to the model (CodeNoPerson,
// CodeFailed) and does not fail otherwise.
type Env struct {
	// Whose call it is; together they are the [Identity] that a token is for.
	Session, Run, Call, Agent string

	Folder     string                 // the run's workspace folder, absolute and canonical; relative paths start here
	Folders    []string               // all workspace folders and the user's additional ones, canonical
	Trusted    bool                   // the folder is
	Strange    []string               // those of Folders that are not trusted: there agents only read, which taints, and start no process
	TrustError error                  // why it cannot be told what is trusted; nil = it can be
	Blobs      string                 // folder of the session's blobs, which read_file may read; "" for none
	Home       string                 // the person's home folder, canonical; "" = HOME of Environ
	State      string                 // the daemon's own folder, never written by a tool; "" = .gemini in Home
	Denied     func(path string) bool // a rule keeps the tool from the file: searches leave it out; nil where none limits it
	Reveal     []string               // credential files that the user's own rules let agents read, absolute and canonical (SEC-20)

	Hosts dial.Hosts                            // that the person's settings let agents reach (tools.sandbox.allowedHosts)
	Proxy func(*http.Request) (*url.URL, error) // the person's, as in [dial.Dialer]; nil = none
	// Reach asks about a host that a running command wants to connect to and Hosts
	// do not allow; it waits for the answer. The error says why not, for the model.
	// nil where nobody can be asked.
	Reach func(ctx context.Context, host string, port int) error

	Secret func(text string) bool // a text holds what the daemon keeps secret, as it is or encoded (SEC-102); nil = none does

	// Output masks what commands print: the values of the workspace's credential files,
	// and the users and passwords of URLs (SEC-38). nil masks nothing.
	Output *mask.Masker

	// Correct asks a model for snippets that occur in the text, once for each; what
	// of its answer may count the caller decides. nil where no model is asked.
	Correct func(ctx context.Context, text string, s Snippets) (Snippets, error)

	// Search has the provider of the run's model search the web; nil where it
	// cannot. The error is for the model.
	Search func(ctx context.Context, query string) (*model.Answer, error)

	// Consult has the run's model, which is Model, answer a request of somebody else's,
	// within the run's limits. about says for the person and the log what it is. nil
	// where no model may be asked. The error is for the model.
	Consult func(ctx context.Context, about string, req *model.Request) (*model.Answer, error)
	Model   string

	Variables Variables // nil where there is no state
	Memory    Memory    // nil where the agent has no long-term memory
	Taint     Taint     // what the run has read that others may have written

	Files     Files
	Edits     Edits
	Languages Languages // nil where the editor answers no questions about languages
	Ask       Ask       // nil when there is nobody to ask
	Seen      *Seen
	Now       func() time.Time

	Sandbox  *sandbox.Sandbox  // what confines commands; nil = nothing does
	Environ  []string          // what child processes get, as KEY=value
	Slots    chan struct{}     // one for each process that may run at once (REL-77); buffered
	Progress func(text string) // output as it comes; never nil; may be called from any goroutine

	// Survey returns the places of a workspace folder that commands must not read
	// or change; nil where nobody knows.
	Survey func(ctx context.Context, folder string) (Places, error)

	// Background runs a task that outlives the call: the run (or whoever made
	// the Env) waits for it, and ends its context when the run ends. The person is
	// told the notes. nil where nothing may outlive a call.
	Background func(task func(ctx context.Context) (notes []string))

	places *places // see [Together]
}

// HomeFolder returns the person's home folder: Home, else HOME of Environ; "" if
// neither is known, and then no path counts as in it.
func (e *Env) HomeFolder() string {
	if e.Home != "" {
		return e.Home
	}
	for _, entry := range e.Environ {
		if home, ok := strings.CutPrefix(entry, "HOME="); ok && filepath.IsAbs(home) {
			return filepath.Clean(home)
		}
	}
	return ""
}

// Variables are the values of the session's state that an agent may see and set (spec
// 6.2). Errors are for the model.
//
// Its implementation holds an agent to the keys that its file names, so a tool need not.
// Safe for concurrent use.
type Variables interface {
	// Get returns the value of a key, nil for none, and what its writers had read of
	// others; with "" all that the agent may see, as one object.
	Get(key string) (value json.RawMessage, taint Taint, err error)
	// Check returns why the agent cannot give the key this value. lasts is whether later
	// sessions would see it.
	Check(key string, value json.RawMessage) (lasts bool, err error)
	// Set gives a key a value; null removes it.
	// It returns when the change is in the session's log, and for user: and app: keys in
	// their file; ctx bounds the wait for that.
	Set(ctx context.Context, key string, value json.RawMessage) error
}

// Memory is what an agent remembers across sessions (spec 6.2).
//
// Errors are for the model. Both calls may wait for a store and for the vector of the
// text; they heed ctx. Safe for concurrent use.
type Memory interface {
	// Place says which store it is.
	Place() memory.Place
	// Remember keeps a record; one of the same key is replaced.
	Remember(ctx context.Context, r memory.Record) (id string, err error)
	// Recall returns up to limit records that fit a query; 0 = as many as the agent's file
	// says.
	// The best come first. None that fits is no error.
	Recall(ctx context.Context, query string, limit int) (memory.Recalled, error)
}

// Snippets are what an edit looks for in a file, and what it puts there.
type Snippets struct {
	Old string `json:"old_string"`
	New string `json:"new_string"`
}

// File is a file as the person sees it: the editor's buffer where it is open,
// else the disk.
//
// It is a moment's: the Digest is what a later Write has to name, so that a change in
// between is noticed.
type File struct {
	Path string // absolute
	// What was typed or chosen; "" unless Action is accept.
	Text    string // decoded, line ends as they are; "" if Binary
	Data    []byte // the bytes on disk; nil for an open document
	Binary  bool   // not text in an encoding that we write
	Type    string // MIME type, as far as the first bytes tell
	Open    bool   // in the editor
	Dirty   bool   // open, and not saved since it changed
	Version int32  // of an open document
	Digest  string // of what Text is: equal digests, equal content

	Info fs.FileInfo // of the file on disk as it was read; nil for an open document
	Link bool        // a symbolic link itself, which no tool is given: Data is where it leads
}

// Files is how tools see files. Paths are absolute and already resolved (see
// [Resolve]).
//
// Safe for concurrent use.
type Files interface {
	// Read returns the file at path. The error is fault.NotFound if there is
	// none, fault.Denied if it is no regular file or leaves the workspace, and
	// fault.Invalid if it is too large.
	// The File is the caller's. A document that the editor has open is read from memory,
	// however large; nothing is said about whether it was saved.
	Read(ctx context.Context, path string) (*File, error)
	// Open returns the documents that are open in the editor, whatever folder
	// they are in, in the order of their paths.
	Open() []*File
}

// Edits is how tools change files: through the editor where a file is open
// there, else on disk.
//
// Each change is kept before it is made, so that it can be undone, and told
// (file.changed); a change that cannot be kept is refused with fault.Unavailable. label
// names the change for the person, as in an editor's undo. Calls for one path must not
// overlap: the run holds to that by [Plan.Writes].
type Edits interface {
	// Write makes the file's text new. base is the Digest of the File that the
	// change was made for, "" for a file that must not exist yet. It returns
	// fault.Stale, and changes nothing, if the file is not that any more.
	Write(ctx context.Context, path, base, text, label string) error
	// Delete removes the file, if it still is what base says, as in Write.
	Delete(ctx context.Context, path, base, label string) error
	// Move gives the file another path, at which there must be nothing, if it
	// still is what base says. It keeps its content and its permissions.
	Move(ctx context.Context, from, to, base, label string) error
	// Save asks the editor to save its documents before a process reads them,
	// and returns the paths of those that stay unsaved.
	// It waits for the editor. Nobody is asked: a document that the editor does not save
	// is read by the process as it lies on disk.
	Save(ctx context.Context, reason string) (unsaved []string)
	// Wrote says that a command wrote or removed files on disk.
	// The client is told, so that it reads them again. It does not wait.
	Wrote(paths []string)
}

// Question is what ask_user asks.
type Question struct {
	// In a few words, as a dialog's title.
	Title string
	// What is asked; Markdown is not interpreted.
	Message string
	Choices []string // empty = free text
	// Aside: it may stand open while others are asked, for as long as it takes.
	Aside bool
}

// Answer is what a person answered.
type Answer struct {
	Action string // accept, decline, cancel
	Text   string
}

// Ask puts a question before a person and waits for the answer or ctx.
// An answer that is not accept is no error. The error says that nobody could be asked,
// or is ctx's. The run's clock stands still meanwhile.
type Ask func(ctx context.Context, q Question) (Answer, error)

// Seen is what a context has read: the digest of each file as it was shown to
// the model (tool.stale, spec 4.1). It is safe for concurrent use; make one
// with [NewSeen].
//
// It belongs to a context, not to a run: what an agent read in an earlier run it may
// still edit, as long as the file is the same.
type Seen struct {
	mu    sync.Mutex
	files map[string]string
}

// NewSeen returns a Seen that has seen nothing.
func NewSeen() *Seen { return &Seen{files: make(map[string]string)} }

// Note records that the file at path was shown as digest.
func (s *Seen) Note(path, digest string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.files[path] = digest
}

// Digest returns what path was last shown as, "" if it was not.
func (s *Seen) Digest(path string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.files[path]
}
