// Package editortest provides a fake editor: the client half of a session, in
// memory, for tests that say what a person does and what they then see.
//
// The editor keeps to the Language Server Protocol: it opens before it changes,
// counts versions up, checks the version of an edit that it applies, sends what
// changed before it says that it applied it, and answers a request once. It
// holds the daemon to it as well: what the daemon does wrong is kept as a
// violation, which [Editor.Close] returns.
package editortest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"go.lsp.dev/jsonrpc2"
	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"github.com/agentls/agentls/internal/client"
	"github.com/agentls/agentls/internal/wire"
)

// Config says what an editor is like.
type Config struct {
	Dir     string   // its first workspace folder, and where its files are
	Folders []string // further workspace folders; nil is an editor that knows one root

	// Agents is what it says of agents; nil is an editor that knows only LSP.
	Agents *wire.ClientCapabilities

	// Can has further capabilities in the protocol's words, a JSON object that is
	// merged into those that follow from the rest; "" = none.
	Can string

	NoApplyEdit    bool // it cannot apply edits
	NoShowDocument bool // it cannot show documents
	Decides        bool // the person answers the dialogs about folders as well; else they dismiss them
	NoDialog       bool // it refuses window/showMessageRequest, as some do
	NoVersions     bool // it takes no versions in edits
	NoProgress     bool // it has no work-done progress

	NoAnswer       bool // it never answers agents/editorQuery
	LiesAboutEdits bool // it says that it applied an edit, and did not
	CRLF           bool // it ends the lines of what it edits with \r\n, whatever it was given
}

// Native returns what an editor with all of agentls' own capabilities says.
func Native() *wire.ClientCapabilities {
	return &wire.ClientCapabilities{
		Version: wire.Version, Activity: &wire.ActivityCapability{},
		Confirm: &wire.ConfirmCapability{Feedback: true, Modify: true},
		Ask:     true, Status: true, SaveDocuments: true, FilesWritten: true, EditorQueries: true,
	}
}

// Reply is what the person does with one question.
type Reply struct {
	Choice   string                // an outcome of agents/confirm, the title of a dialog's action, an answer to agents/ask; "" = dismissed
	Feedback string                // with a refusal
	Modified *wire.Modified        // with outcome modify
	Before   func(context.Context) // runs before the reply, while the question is open; may be nil
	Fail     *jsonrpc2.Error       // answered with an error instead

	Fault Fault  // what is wrong with the answer; "" = nothing
	Then  string // the second answer of a question that is answered Twice
	Late  bool   // it is answered although it was withdrawn
}

// Editor is a fake editor. Its methods may be called from any goroutine.
type Editor struct {
	config Config
	line   *line
	conn   *client.Client
	Caps   protocol.ServerCapabilities // of the daemon

	mu         sync.Mutex
	changed    chan struct{} // closed and replaced whenever something below changes
	buffers    map[string]*buffer
	replies    []Reply
	ready      bool // initialize was answered
	events     []wire.ActivityParams
	questions  []wire.ConfirmParams
	dialogs    []string // messages of showMessageRequest, with their actions
	messages   []string // of showMessage
	shown      []string // paths of showDocument
	resolved   []wire.ConfirmResolvedParams
	written    []string
	progress   []string              // "begin fixer", "report …", "end …"
	refreshed  []string              // what it was told to ask for again, as "codeLens"
	catalog    int                   // agents/didChange
	revision   int                   // the last one of it
	status     wire.StatusParams     // the last agents/status
	seen       map[string]uint64     // the last event of each session that it was told
	paging     map[string]bool       // sessions whose page of past events is on its way
	early      []wire.ActivityParams // events of them, which count after the page
	paged      map[string]bool       // runs whose end was on a page
	began      map[string]uint64     // the event with which the stream of a session began
	left       map[string]bool       // sessions that it unsubscribed from: a gap before a run's start is none
	scratch    []string              // what the person writes into files that ask
	tokens     map[string]string     // of progress: created, begun, ended
	violations []string

	operations []protocol.ResourceOperationKind // that it makes as a part of an edit
	registered []string                         // what it was told to ask for, with its options
	annotates  bool                             // it shows edits for review that ask for it

	pulls    bool                 // it asks for findings
	findings map[uri.URI]Findings // that it shows
	reopened map[uri.URI]bool     // files that were opened since their findings came
}

// buffer is an open document.
type buffer struct {
	uri     uri.URI
	version int32
	text    string
	undo    []string
}

// Connect starts an editor over rwc and shakes hands with the daemon.
func Connect(ctx context.Context, rwc io.ReadWriteCloser, config Config) (*Editor, error) {
	e := &Editor{
		config: config, changed: make(chan struct{}), buffers: make(map[string]*buffer),
		seen: make(map[string]uint64), paging: make(map[string]bool), left: make(map[string]bool),
		began: make(map[string]uint64), paged: make(map[string]bool), tokens: make(map[string]string),
		findings: make(map[uri.URI]Findings), reopened: make(map[uri.URI]bool),
	}
	e.line = newLine(rwc)
	e.conn = client.New(ctx, e.line, client.Config{Notified: e.notified, Asked: e.asked})
	yes := true
	root := uri.File(config.Dir)
	p := &protocol.InitializeParams{RootURI: &root}
	p.Capabilities.Window = &protocol.WindowClientCapabilities{}
	p.Capabilities.Workspace = &protocol.WorkspaceClientCapabilities{WorkspaceEdit: &protocol.WorkspaceEditClientCapabilities{}}
	if len(config.Folders) > 0 {
		p.Capabilities.Workspace.WorkspaceFolders = &yes
		folders := []protocol.WorkspaceFolder{folder(config.Dir)}
		for _, dir := range config.Folders {
			folders = append(folders, folder(dir))
		}
		p.WorkspaceFolders = protocol.NewNullable(folders)
	}
	if !config.NoProgress {
		p.Capabilities.Window.WorkDoneProgress = &yes
	}
	if !config.NoShowDocument {
		p.Capabilities.Window.ShowDocument = &protocol.ShowDocumentClientCapabilities{Support: true}
	}
	if !config.NoApplyEdit {
		p.Capabilities.Workspace.ApplyEdit = &yes
	}
	if !config.NoVersions {
		p.Capabilities.Workspace.WorkspaceEdit.DocumentChanges = &yes
	}
	if config.Agents != nil {
		ours, err := json.Marshal(map[string]any{"agents": config.Agents})
		if err != nil {
			return nil, err
		}
		p.Capabilities.Experimental = ours
	}
	if config.Can != "" {
		if err := further(&p.Capabilities, config.Can); err != nil {
			return nil, errors.Join(err, e.conn.Close())
		}
	}
	if w := p.Capabilities.Workspace; w.WorkspaceEdit != nil {
		e.operations = w.WorkspaceEdit.ResourceOperations
		e.annotates = w.WorkspaceEdit.ChangeAnnotationSupport != nil
	}
	result := new(protocol.InitializeResult)
	if err := e.conn.Call(ctx, protocol.MethodInitialize, p, result); err != nil {
		return nil, errors.Join(err, e.conn.Close())
	}
	e.Caps = result.Capabilities
	e.update(func() { e.ready, e.pulls = true, e.Caps.DiagnosticProvider != nil })
	return e, e.conn.Notify(ctx, protocol.MethodInitialized, &protocol.InitializedParams{})
}

// Call sends a request of any method.
func (e *Editor) Call(ctx context.Context, method string, params, result any) error {
	return e.conn.Call(ctx, method, params, result)
}

// Notify sends a notification of any method.
func (e *Editor) Notify(ctx context.Context, method string, params any) error {
	return e.conn.Notify(ctx, method, params)
}

// Run runs an agent and waits for its end.
func (e *Editor) Run(ctx context.Context, p *wire.RunParams) (*wire.RunResult, error) {
	return e.end(ctx, wire.MethodRun, p)
}

// Resume takes a run up again and waits for its end.
func (e *Editor) Resume(ctx context.Context, p *wire.ResumeParams) (*wire.RunResult, error) {
	return e.end(ctx, wire.MethodResume, p)
}

// end sends a request that is answered with the end of a run.
func (e *Editor) end(ctx context.Context, method string, params any) (*wire.RunResult, error) {
	result := new(wire.RunResult)
	if err := e.conn.Call(ctx, method, params, result); err != nil {
		return nil, err
	}
	// The end of the run may be on a page that somebody else of the editor reads.
	if err := e.Await(ctx, func(Seen) bool { return !e.paging[result.Session] }); err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.config.Agents != nil && e.config.Agents.Activity != nil && !e.paged[result.Run] &&
		!slices.ContainsFunc(slices.Concat(e.events, e.early),
			func(a wire.ActivityParams) bool { return a.Run == result.Run && a.Type == "run.finished" }) {
		e.violate("the answer to run %s came before its last event", result.Run)
	}
	return result, nil
}

// folder is how the editor names a workspace folder.
func folder(dir string) protocol.WorkspaceFolder {
	return protocol.WorkspaceFolder{URI: uri.File(dir), Name: filepath.Base(dir)}
}

// SetFolders takes workspace folders away and adds others.
func (e *Editor) SetFolders(ctx context.Context, added, removed []string) error {
	var p protocol.DidChangeWorkspaceFoldersParams
	for _, dir := range added {
		p.Event.Added = append(p.Event.Added, folder(dir))
	}
	for _, dir := range removed {
		p.Event.Removed = append(p.Event.Removed, folder(dir))
	}
	return e.conn.Notify(ctx, protocol.MethodWorkspaceDidChangeWorkspaceFolders, &p)
}

// Subscribe subscribes to a session from an event on, and returns what is past,
// page by page.
func (e *Editor) Subscribe(ctx context.Context, session string, from uint64) ([]wire.ActivityParams, error) {
	var past []wire.ActivityParams
	for {
		e.update(func() { e.paging[session] = true })
		var page wire.SubscribeResult
		err := e.conn.Call(ctx, wire.MethodSubscribe, &wire.SubscribeParams{Session: session, FromSeq: from}, &page)
		e.update(func() { e.takePage(session, from, &page, err) })
		if err != nil {
			return nil, err
		}
		past = append(past, page.Events...)
		if from = page.NextSeq; !page.More {
			return past, nil
		}
	}
}

// Unsubscribe ends a subscription.
func (e *Editor) Unsubscribe(ctx context.Context, session string) error {
	err := e.conn.Call(ctx, wire.MethodUnsubscribe, &wire.UnsubscribeParams{Session: session}, new(wire.Empty))
	if err == nil {
		e.update(func() {
			e.left[session] = true
			delete(e.began, session)
		})
	}
	return err
}

// CloseSession lets go of a session: nothing of it comes after the answer, until
// the editor subscribes again or runs something there.
func (e *Editor) CloseSession(ctx context.Context, session string) error {
	err := e.conn.Call(ctx, wire.MethodSessionClose, &wire.SessionParams{Session: session}, new(wire.Empty))
	if err == nil {
		e.update(func() {
			e.left[session] = true
			delete(e.began, session)
		})
	}
	return err
}

// DeleteSession erases a session: what comes of one that has its name later
// begins anew.
func (e *Editor) DeleteSession(ctx context.Context, session string) error {
	err := e.conn.Call(ctx, wire.MethodSessionDelete, &wire.SessionDeleteParams{Session: session}, new(wire.Empty))
	if err == nil {
		e.update(func() {
			delete(e.seen, session)
			delete(e.left, session)
			delete(e.began, session)
		})
	}
	return err
}

// Write queues what the person writes into the next file that asks them; "" saves
// it as it is.
func (e *Editor) Write(text string) {
	e.update(func() { e.scratch = append(e.scratch, text) })
}

// Answer queues what the person does with the next question.
func (e *Editor) Answer(r Reply) {
	e.update(func() { e.replies = append(e.replies, r) }) // a question may wait for it
}

// Await waits until done says so; it is asked again whenever the editor has
// seen something. done runs under the editor's lock: it may look at what Seen
// passes it and nothing else.
func (e *Editor) Await(ctx context.Context, done func(Seen) bool) error {
	for {
		e.mu.Lock()
		over, changed := done(e.view()), e.changed
		e.mu.Unlock()
		if over {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("waited in vain: %w", ctx.Err())
		}
	}
}

// Seen is what an editor has seen so far. The slices are the editor's own.
type Seen struct {
	Events    []wire.ActivityParams
	Questions []wire.ConfirmParams
	Dialogs   []string
	Messages  []string
	Shown     []string
	Resolved  []wire.ConfirmResolvedParams
	Written   []string
	Progress  []string
	Refreshed []string // what it was told to ask for again, as "codeLens"
	Catalog   int      // how often agents/didChange came
	Revision  int      // of the last one
	Status    wire.StatusParams
}

// Seen returns what the editor has seen so far.
func (e *Editor) Seen() Seen {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.view()
	s.Events, s.Questions, s.Dialogs = slices.Clone(s.Events), slices.Clone(s.Questions), slices.Clone(s.Dialogs)
	s.Messages, s.Shown, s.Resolved = slices.Clone(s.Messages), slices.Clone(s.Shown), slices.Clone(s.Resolved)
	s.Written, s.Progress, s.Refreshed = slices.Clone(s.Written), slices.Clone(s.Progress), slices.Clone(s.Refreshed)
	return s
}

func (e *Editor) view() Seen {
	return Seen{e.events, e.questions, e.dialogs, e.messages, e.shown, e.resolved, e.written, e.progress, e.refreshed,
		e.catalog, e.revision, e.status}
}

// Registered waits until the daemon has registered something, and returns it.
func (e *Editor) Registered(ctx context.Context) ([]string, error) {
	var list []string
	err := e.Await(ctx, func(Seen) bool {
		list = slices.Clone(e.registered)
		return len(list) > 0
	})
	return list, err
}

// Shutdown ends the session as an editor does that is closed.
func (e *Editor) Shutdown(ctx context.Context) error { return e.conn.Shutdown(ctx) }

// Close hangs up, and returns what the daemon did against the protocol.
func (e *Editor) Close() error {
	_ = e.conn.Close() // the daemon may have hung up first
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.violations) > 0 {
		return fmt.Errorf("the daemon broke the protocol: %s", strings.Join(e.violations, "; "))
	}
	return nil
}

// update changes something and wakes who awaits it.
func (e *Editor) update(change func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	change()
	close(e.changed)
	e.changed = make(chan struct{})
}

// violate is called under the lock.
func (e *Editor) violate(format string, args ...any) {
	e.violations = append(e.violations, fmt.Sprintf(format, args...))
}

func (e *Editor) path(name string) string {
	return filepath.Join(e.config.Dir, filepath.FromSlash(name))
}
