package handlers

import (
	"context"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/workspace"
)

// TestFolders: all folders of the client count, each once, in its order; one
// that is not on this machine's disk is left out, and the person is told once.
func TestFolders(t *testing.T) {
	h := connect(t, nil).h
	at := func(dirs ...string) (list []protocol.WorkspaceFolder) {
		for _, dir := range dirs {
			list = append(list, protocol.WorkspaceFolder{URI: uri.URI(dir)})
		}
		return list
	}
	opened := func(root *uri.URI, folders []protocol.WorkspaceFolder) (p protocol.InitializeParams) {
		//lint:ignore SA1019 older clients send nothing newer
		p.RootURI = root
		p.WorkspaceFolders = protocol.NewNullable(folders)
		return p
	}
	root := uri.URI("file:///root")
	for name, c := range map[string]struct {
		p    protocol.InitializeParams
		want string // "" = refused
		told int
	}{
		"none":          {protocol.InitializeParams{}, "", 0},
		"an old root":   {protocol.InitializeParams{RootURI: &root}, "/root", 0},
		"several":       {opened(&root, at("file:///a", "file:///b", "file:///a/")), "/a /b", 0},
		"one elsewhere": {opened(nil, at("vscode-vfs://github/x", "file:///b", "vscode-vfs://github/x")), "/b", 1},
	} {
		h.notices = nil
		folders, err := h.foldersOf(&c.p)
		var got []string
		for _, f := range folders {
			got = append(got, f.Canonical)
		}
		if err != nil || strings.Join(got, " ") != c.want || len(h.notices) != c.told {
			t.Errorf("%s: %v, %v, told %q", name, got, err, h.notices)
		}
	}
	only := opened(nil, at("vscode-vfs://github/x"))
	if folders, err := h.foldersOf(&only); err == nil || len(folders) > 0 {
		t.Errorf("a workspace that is only elsewhere: %v", folders)
	}

	h.notices = nil
	var set [][]workspace.Folder
	h.daemon.SetFolders = func(_ context.Context, folders []workspace.Folder) error {
		set = append(set, folders)
		return nil
	}
	for _, c := range []struct {
		added, removed []string
		want           string
		left           int // folders that were left out, and still are
	}{
		{[]string{"file:///a", "file:///b"}, nil, "/a /b", 0},
		{[]string{"file:///c", "vscode-vfs://github/x", "vscode-vfs://github/y"}, []string{"file:///a/"}, "/b /c", 2},
		{[]string{"file:///b"}, []string{"file:///nowhere", "vscode-vfs://github/x"}, "/b /c", 1},
		{nil, []string{"file:///b", "file:///c"}, "", 1},
	} {
		p := &protocol.DidChangeWorkspaceFoldersParams{Event: protocol.WorkspaceFoldersChangeEvent{Added: at(c.added...), Removed: at(c.removed...)}}
		if err := h.didChangeFolders(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range h.Workspace.Snapshot().Folders() {
			got = append(got, f.Canonical)
		}
		last := set[len(set)-1]
		if strings.Join(got, " ") != c.want || len(last) != len(got) || len(h.notices) != c.left {
			t.Errorf("+%v -%v: %v, and the daemon has %v; told %q", c.added, c.removed, got, last, h.notices)
		}
	}
}

// TestNotice: the person is told something once, whoever says it how often, and
// the status keeps it.
func TestNotice(t *testing.T) {
	h := connect(t, nil).h
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() { h.notice("the clock is wrong") })
	}
	wg.Wait()
	h.notice("the disk is slow")
	if !slices.Equal(h.notices, []string{"the clock is wrong", "the disk is slow"}) {
		t.Errorf("told %q", h.notices)
	}
	h.clearNotice("the disk is slow")
	h.clearNotice("the moon is full")
	if !slices.Equal(h.notices, []string{"the clock is wrong"}) {
		t.Errorf("still holds: %q", h.notices)
	}
}

// TestAnswerIn: what a person wrote into a file that asked them.
func TestAnswerIn(t *testing.T) {
	asked := "fixer asks:\n\nWhich port?\n\nSave this file.\n" + scratchEnd + "\n"
	for text, want := range map[string]string{
		asked:                         "",
		asked + "8080\n":              "8080",
		asked + "\n\n  a\n  b \n\n":   "a\n  b",
		"":                            "",
		"8080":                        "8080",
		"Which port?\n8080\n":         "8080",
		scratchEnd + "\n" + "x\n":     "x",
		"x\n" + scratchEnd + "\n":     "",
		asked + scratchEnd + "\nlast": scratchEnd + "\nlast",
		strings.ReplaceAll(asked, "\n", "\r\n") + "8080\r\n": "8080",
	} {
		if got := answerIn(text, asked); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// TestTranscriptLines: what happens to a context, a plan or a run is one line of
// the transcript each, whatever its texts hold.
func TestTranscriptLines(t *testing.T) {
	for _, c := range []struct {
		body activity.Body
		want string
	}{
		{activity.ContextCompressed{Agent: "fixer", Before: 120_000, After: 40_000, Status: "COMPRESSED"}, "- the context of fixer: compressed 120k → 40k tok"},
		{activity.ContextCleared{Agent: "fixer"}, "- the context of fixer was cleared"},
		{activity.ContextCleared{Agent: "fixer", Purged: true}, "- the context of fixer was cleared, and what it held was erased"},
		{activity.TodosChanged{Todos: []activity.Todo{{Description: "read\n# x", Status: "in_progress"}, {Status: "pending"}}}, `- plan: 1/2 read\n# x`},
		{activity.LoopDetected{Kind: "call", Count: 5, What: "ls, 5 times", Action: "ended"}, "- repeats itself: ls, 5 times (ended)"},
		{activity.RunState{From: activity.Running, To: activity.Paused, Why: "no key\nat all"}, `- paused: no key\nat all`},
		{activity.RunState{From: activity.Paused, To: activity.Running}, "- running"},
		{activity.RunState{From: activity.Running, To: activity.Waiting}, ""},
		{activity.Note{Level: "info", Message: "told\nmore"}, "- note: told"},
		{activity.TodosChanged{}, ""},
		{activity.Checkpoint{Files: []string{"file:///a"}}, ""},
		{activity.ChangeResolved{URI: "file:///w/a.go", Action: "undo"}, "- changes to a.go were undone"},
		{activity.ChangeResolved{URI: "file:///w/a.go", Action: "keep"}, "- changes to a.go were kept"},
		{activity.ChangeResolved{URI: "file:///w/M%C3%BCller%20a.go", Action: "keep"}, "- changes to Müller a.go were kept"},
		{activity.FileChanged{Change: activity.Change{URI: "file:///w/M%C3%BCller%0Aa.go", Kind: "created"}}, `- created: Müller\na.go`},
		{activity.FileChanged{Change: activity.Change{URI: "file:///w/a.md", Patch: "@@ -1 +1,2 @@\n ```\n+b\n"}}, "````diff\n@@ -1 +1,2 @@\n ```\n+b\n````"},
		{activity.ChangeResolved{Action: "keep"}, "- changes to a file were kept"}, // of a session that was purged, as the next ones
		{activity.HandoffStarted{From: "a", To: "b"}, "- a → b"},
		{activity.HandoffRejected{From: "a", To: "b"}, "- the handoff from a to b was refused"},
		{activity.MCPState{Server: "a", State: "failed"}, "- the MCP server a failed"},
		{activity.ApprovalChanged{From: "ask", To: "auto"}, "- the mode was set from ask to auto"},
		{activity.Rewound{ToSeq: 7}, "- went back to 7"},
		{activity.Rewound{ToSeq: 7, Files: []string{"a"}, Left: []string{"b", "c"}}, "- went back to 7, with 1 file; 2 files left as somebody changed them"},
		{activity.Forked{Session: "b", AtSeq: 7}, "- session b began with the first 7 events of this one"},
		{activity.Forked{Session: "a", AtSeq: 7, From: true}, "- this session began with the first 7 events of a"},
	} {
		var b strings.Builder
		describe(&b, activity.Event{Body: c.body})
		if got := strings.TrimSpace(b.String()); got != c.want {
			t.Errorf("%+v: %q, want %q", c.body, got, c.want)
		}
	}
}

// TestAskByFileOnDisk: an editor that does not tell the daemon of the file is
// heard all the same, once what it wrote stays as it is.
func TestAskByFileOnDisk(t *testing.T) {
	c := connect(t, nil)
	c.h.caps.Ask = false
	c.shown = func(path string) {
		asked, err := os.ReadFile(path)
		if err == nil {
			err = os.WriteFile(path, append(asked, "8080\n"...), 0o600)
		}
		if err != nil {
			t.Error(err)
		}
	}
	answer, err := c.h.frontend.Ask("main", "r", "fixer")(t.Context(), tool.Question{Message: "Which port?"})
	if err != nil || answer != (tool.Answer{Action: "accept", Text: "8080"}) {
		t.Errorf("got %+v, %v", answer, err)
	}
	if left, _ := os.ReadDir(c.h.daemon.Shown); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	c.shown = func(path string) {
		if err := os.Remove(path); err != nil {
			t.Error(err)
		}
	}
	if answer, err := c.h.frontend.Ask("main", "r", "fixer")(t.Context(), tool.Question{Message: "Sure?"}); err != nil || answer.Action != "decline" {
		t.Errorf("removed: %+v, %v", answer, err)
	}
}
