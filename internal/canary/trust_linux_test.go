package canary_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"github.com/agentls/agentls/internal/canary"
	"github.com/agentls/agentls/internal/editortest"
	"github.com/agentls/agentls/internal/modelserver"
	"github.com/agentls/agentls/internal/wire"
)

// frontend is the real binary with an editor on its standard streams.
type frontend struct {
	*editortest.Editor
	t     *testing.T
	ctx   context.Context
	world *canary.World
	model *modelserver.Server
	cmd   *exec.Cmd
}

// standard are the streams of a process.
type standard struct {
	io.WriteCloser
	out io.ReadCloser
}

func (s standard) Read(p []byte) (int, error) { return s.out.Read(p) }
func (s standard) Close() error               { return errors.Join(s.WriteCloser.Close(), s.out.Close()) }

// sit starts the program serve in the workspace of a world.
func sit(t *testing.T, w *canary.World, script string, config editortest.Config) *frontend {
	t.Helper()
	return sitAt(t, canary.Binary(t), w, script, config)
}

// sitAt starts another build of it.
func sitAt(t *testing.T, binary string, w *canary.World, script string, config editortest.Config) *frontend {
	t.Helper()
	parsed, err := modelserver.Parse(w.Own(script))
	if err != nil {
		t.Fatal(err)
	}
	d := &frontend{t: t, world: w, model: modelserver.New(modelserver.Config{Script: parsed})}
	listener := httptest.NewServer(d.model)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	d.ctx = ctx
	d.cmd = exec.Command(binary, "serve", "--approve", "auto")
	d.cmd.Dir = w.Base // not the workspace: nothing is to depend on it
	d.cmd.Env = append(w.Environ(), "GEMINI_API_KEY=test-key", "GOOGLE_GEMINI_BASE_URL="+listener.URL)
	d.cmd.Stderr = new(bytes.Buffer)
	in, err := d.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := d.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if d.Editor != nil {
			if err := errors.Join(d.Shutdown(ctx), d.Close()); err != nil {
				t.Error(err)
			}
		}
		// It ends by itself: one that is killed is looked into at the next start.
		stuck := time.AfterFunc(time.Minute, func() { _ = d.cmd.Process.Kill() })
		if err := d.cmd.Wait(); err != nil {
			t.Errorf("the daemon ended: %v", err)
		}
		stuck.Stop()
		cancel()
		listener.CloseClientConnections()
		listener.Close()
		if failures := d.model.Failures(); len(failures) > 0 {
			t.Errorf("the model was not asked what its script says: %s", strings.Join(failures, "\n"))
		} else if err := d.model.Done(); err != nil {
			t.Error(err)
		}
	})
	config.Dir = w.Path("work")
	if d.Editor, err = editortest.Connect(ctx, standard{in, out}, config); err != nil {
		t.Fatalf("%v\n%s", err, d.cmd.Stderr)
	}
	return d
}

// children says whether the process has, or ever had, a child that it has waited
// for: page faults of those are counted by the kernel.
func (d *frontend) children() string {
	d.t.Helper()
	pid := d.cmd.Process.Pid
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		d.t.Fatal(err)
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if faults, err := strconv.Atoi(fields[8]); err != nil || faults != 0 { // cminflt
		return fmt.Sprintf("children that ended had %s page faults (%v)", fields[8], err)
	}
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		d.t.Fatal(err)
	}
	for _, task := range tasks {
		if list, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", pid, task.Name())); err == nil && len(list) > 0 {
			return "children " + string(list)
		}
	}
	return ""
}

// states returns the state of each agent of the folder.
func (d *frontend) states() map[string]string {
	d.t.Helper()
	var list wire.ListResult
	if err := d.Call(d.ctx, wire.MethodList, &wire.ListParams{Scope: "project"}, &list); err != nil {
		d.t.Fatal(err)
	}
	all := make(map[string]string)
	for _, a := range list.Agents {
		all[a.Name] = a.State
	}
	return all
}

// until waits until all agents of the folder have a state.
func (d *frontend) until(state string, names ...string) {
	d.t.Helper()
	for {
		before := d.Seen().Revision
		states, missing := d.states(), ""
		for _, name := range names {
			if states[name] != state {
				missing = name
			}
		}
		if missing == "" {
			return
		}
		if err := d.Await(d.ctx, func(v editortest.Seen) bool { return v.Revision > before }); err != nil {
			d.t.Fatalf("%s is %s, want %s: %v", missing, states[missing], state, err)
		}
	}
}

// trust trusts the workspace, or approves a file of it.
func (d *frontend) trust(name string) {
	d.t.Helper()
	if err := d.Call(d.ctx, wire.MethodTrust, &wire.TrustParams{URI: "file://" + d.world.Path(name), Trusted: new(true)}, nil); err != nil {
		d.t.Fatal(err)
	}
}

// run runs an agent in a session of its own.
func (d *frontend) run(agent, session string) error {
	_, err := d.Run(d.ctx, &wire.RunParams{Agent: agent, Session: session, Input: wire.InputBlocks{{Type: "text", Text: "go"}}})
	return err
}

// reviews returns the dialogs about what changed.
func reviews(d *frontend) []string {
	return slices.DeleteFunc(d.Seen().Dialogs, func(text string) bool { return !strings.HasPrefix(text, "Changed since you approved it") })
}

// fired reports whether a file has come to be.
func fired(w *canary.World, name string) bool {
	_, err := os.Lstat(w.Path(name))
	return err == nil
}

func put(t *testing.T, w *canary.World, name, text string) {
	t.Helper()
	if err := os.WriteFile(w.Path(name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// agentFile is an agent that may do what the model asks for.
func agentFile(name, prompt string) string {
	return "---\nkind: agent\nname: " + name + "\ntitle: T\nmodel: flash\ntools:\n  allow: [write_file, bash]\n---\n" + prompt + "\n"
}

// neverSeen is a folder with a canary in each file that other programs run
// something from.
func neverSeen(t *testing.T) *canary.World {
	script := "#!/bin/sh\ntouch $BASE/canary\n"
	w := canary.Furnish(t, map[string]string{
		"work/.gemini/agents/a.md": agentFile("a", "You do as you are told."),
		"work/.gemini/agents/hooked.md": strings.Replace(agentFile("hooked", "You do as you are told."), "tools:",
			"hooks:\n  BeforeTool:\n    - matcher: '*'\n      hooks: [{type: command, command: 'touch $BASE/canary'}]\nmcp_servers:\n  evil: {command: $BASE/work/run.sh}\ntools:", 1),
		"work/.gemini/settings.json":     `{"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "touch $BASE/canary"}]}]}, "mcpServers": {"evil": {"command": "$BASE/work/run.sh"}}}`,
		"work/.env":                      "GEMINI_API_KEY=$(touch $BASE/canary)\nBASH_ENV=$BASE/work/run.sh\n",
		"work/.mcp.json":                 `{"mcpServers": {"evil": {"command": "$BASE/work/run.sh"}}}`,
		"work/package.json":              `{"scripts": {"prepare": "touch $BASE/canary", "postinstall": "touch $BASE/canary"}}`,
		"work/.git/HEAD":                 "ref: refs/heads/main\n",
		"work/.git/config":               "[core]\n\trepositoryformatversion = 0\n\tfsmonitor = $BASE/work/run.sh\n[diff]\n\texternal = $BASE/work/run.sh\n",
		"work/.git/hooks/post-checkout":  script,
		"work/.envrc":                    "touch $BASE/canary\n",
		"work/run.sh":                    script,
		"work/node_modules/.bin/git":     script,
		"work/.vscode/settings.json":     `{"git.path": "$BASE/work/run.sh"}`,
		"work/a.txt":                     "alpha\n",
		"work/.gemini/agents/invalid.md": "---\nkind: agent\nname: invalid\n",
	})
	return w
}

// TestSEC01ANeverSeenFolderStartsNothing: to open it, with an editor that
// dismisses the question, runs no program.
func TestSEC01ANeverSeenFolderStartsNothing(t *testing.T) {
	w := neverSeen(t)
	d := sit(t, w, "> go\n<call bash {\"command\": \"touch $BASE/canary\", \"access\": \"full\"}\n\n>result bash\n< Done.\n", editortest.Config{Agents: editortest.Native()})
	if err := d.Open(d.ctx, "a.txt"); err != nil {
		t.Fatal(err)
	}
	if err := d.Open(d.ctx, ".gemini/agents/a.md"); err != nil {
		t.Fatal(err)
	}
	if got := d.states()["a"]; got != "untrusted" {
		t.Errorf("the agent is %s", got)
	}
	if err := d.run("a", "one"); err == nil || !strings.Contains(err.Error(), "not trusted") {
		t.Errorf("the agent runs: %v", err)
	}
	if found := d.children(); found != "" || fired(w, "canary") {
		t.Errorf("something was run: %s, canary %v", found, fired(w, "canary"))
	}
	// The control: trusted and allowed, the same agent fires the canary.
	if err := d.CloseFile(d.ctx, ".gemini/agents/a.md"); err != nil {
		t.Fatal(err)
	}
	d.trust("work")
	d.Answer(editortest.Reply{Choice: "once"})
	if err := d.run("a", "two"); err != nil {
		t.Fatal(err)
	}
	if !fired(w, "canary") || d.children() == "" {
		t.Errorf("control: the canary fired: %v, children: %q", fired(w, "canary"), d.children())
	}
	t.Log("control: in the trusted folder, allowed by the person, the agent's command wrote the canary, and the child was seen")
}

// TestSEC02HeadlessNeverTrusts: nobody to ask is no trust, whatever the folder's
// files say; only the person's own environment or argument gives it.
func TestSEC02HeadlessNeverTrusts(t *testing.T) {
	w := neverSeen(t)
	put(t, w, "work/.env", "AGENTLS_TRUST=1\n")
	run := func(env string, args ...string) (string, error) {
		script, err := modelserver.Parse("> go\n<call write_file {\"file_path\": \"canary\", \"content\": \"x\"}\n\n>result write_file\n< Done.\n")
		if err != nil {
			t.Fatal(err)
		}
		listener := httptest.NewServer(modelserver.New(modelserver.Config{Script: script}))
		defer listener.Close()
		defer listener.CloseClientConnections()
		cmd := exec.CommandContext(t.Context(), canary.Binary(t), append([]string{"run", "a", "go", "--approve", "edits"}, args...)...)
		cmd.Dir = w.Path("work")
		cmd.Env = append(w.Environ(), "GEMINI_API_KEY=test-key", "GOOGLE_GEMINI_BASE_URL="+listener.URL, "CI=1", env)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := run("X=1"); err == nil || !strings.Contains(out, "not trusted") || !strings.Contains(out, "agentls trust") {
		t.Errorf("%v: %s", err, out)
	}
	if fired(w, "canary") || fired(w, "work/canary") || fired(w, "home/.gemini/agentls/trust.json") {
		t.Error("a canary fired, or trust was recorded")
	}
	for _, how := range [][]string{{"AGENTLS_TRUST=1"}, {"X=1", "--trust"}} {
		_ = os.Remove(w.Path("work/canary"))
		if out, err := run(how[0], how[1:]...); err != nil || !fired(w, "work/canary") {
			t.Errorf("control: %v: %v: %s", how, err, out)
		}
		if fired(w, "home/.gemini/agentls/trust.json") {
			t.Errorf("%v is recorded", how)
		}
	}
	t.Log("control: with AGENTLS_TRUST=1 or --trust from outside the folder the agent wrote its canary")
}

// TestSEC09AChangedAgentIsReviewed: one byte of the body or of the front matter
// changed by another program, and it does not run; saved by the person, it does.
func TestSEC09AChangedAgentIsReviewed(t *testing.T) {
	const file = "work/.gemini/agents/a.md"
	w := canary.Furnish(t, map[string]string{file: agentFile("a", "You are good.")})
	one := func(name string) string {
		return "> go\n<call write_file {\"file_path\": \"" + name + "\", \"content\": \"x\"}\n\n>result write_file\n< Done.\n\n"
	}
	d := sit(t, w, "# when system contains You are good.\n\n> go\n< I wait.\n<gate slow\n<call write_file {\"file_path\": \"old\", \"content\": \"x\"}\n\n>result write_file\n< Done.\n\n"+
		"# when system contains You are gooe.\n\n"+one("approved")+"# when system contains I saved this.\n\n"+one("saved"),
		editortest.Config{Agents: editortest.Native()})
	d.trust("work")
	done := make(chan error, 1)
	go func() { done <- d.run("a", "under-way") }()
	<-d.model.GateReached("slow")
	for i, text := range []string{agentFile("a", "You are gooe."), strings.Replace(agentFile("a", "You are gooe."), "title: T", "title: U", 1)} {
		put(t, w, file, text)
		d.until("review", "a")
		if err := d.run("a", fmt.Sprint("changed", i)); err == nil || !strings.Contains(err.Error(), "was changed since you approved it") {
			t.Errorf("it runs: %v", err)
		}
		dialogs := reviews(d)
		if len(dialogs) != i+1 || !strings.Contains(dialogs[i], "[Not now] [Show changes] [Approve]") {
			t.Errorf("%d dialogs: %q", len(dialogs), dialogs)
		}
		if i == 0 {
			d.trust(file)
			d.until("ok", "a")
		}
	}
	if fired(w, "work/approved") || fired(w, "work/saved") {
		t.Error("a canary fired")
	}
	d.model.Open("slow")
	if err := <-done; err != nil || !fired(w, "work/old") {
		t.Errorf("the run under way did not go on as the agent that it began as: %v", err)
	}
	d.trust(file)
	if err := d.run("a", "approved"); err != nil || !fired(w, "work/approved") {
		t.Errorf("control: approved, it does not run: %v", err)
	}
	t.Log("control: the same file, approved, wrote its canary")
	if err := errors.Join(d.Open(d.ctx, ".gemini/agents/a.md"), d.Type(d.ctx, ".gemini/agents/a.md", agentFile("a", "I saved this."))); err != nil {
		t.Fatal(err)
	}
	d.until("ok", "a") // who types is heard before they save
	if err := errors.Join(d.Save(d.ctx, ".gemini/agents/a.md"), d.run("a", "saved")); err != nil {
		t.Fatal(err)
	}
	if dialogs := reviews(d); !fired(w, "work/saved") || len(dialogs) != 2 {
		t.Errorf("what the person saved does not run, or was asked about: %q", dialogs)
	}
}

// TestSEC09ARenameDoesNotApproveTheRest: an agent that another program changed, in
// which a rename of the person's changes a word, runs no more than before.
func TestSEC09ARenameDoesNotApproveTheRest(t *testing.T) {
	const file = "work/.gemini/agents/a.md"
	naming := func(to, prompt string) string {
		return strings.Replace(agentFile("a", prompt), "title: T", "title: T\nhandoffs: [{to: "+to+"}]", 1)
	}
	w := canary.Furnish(t, map[string]string{file: naming("b", "You are good."), "work/.gemini/agents/b.md": agentFile("b", "B.")})
	d := sit(t, w, "# when system contains You are evil.\n\n> go\n<call write_file {\"file_path\": \"fired\", \"content\": \"x\"}\n\n>result write_file\n< Done.\n\n",
		editortest.Config{Agents: editortest.Native()})
	d.trust("work")
	d.until("ok", "a", "b")
	put(t, w, file, naming("b", "You are evil."))
	d.until("review", "a")
	if err := d.Open(d.ctx, ".gemini/agents/a.md"); err != nil {
		t.Fatal(err)
	}
	var edit protocol.WorkspaceEdit
	p := &protocol.RenameParams{NewName: "c"}
	p.TextDocument.URI, p.Position = uri.File(w.Path(file)), protocol.Position{Line: 4, Character: uint32(len("handoffs: [{to: "))}
	if err := errors.Join(d.Call(d.ctx, protocol.MethodTextDocumentRename, p, &edit), d.Apply(d.ctx, &edit), d.Save(d.ctx, ".gemini/agents/a.md")); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(w.Path(file)); err != nil || string(text) != naming("c", "You are evil.") {
		t.Fatalf("the rename is not saved: %v\n%s", err, text)
	}
	if err := d.run("a", "renamed"); err == nil || !strings.Contains(err.Error(), "to save it does not") || fired(w, "work/fired") {
		t.Errorf("it runs: %v", err)
	}
	d.trust(file)
	if err := d.run("a", "approved"); err != nil || !fired(w, "work/fired") {
		t.Errorf("control: approved, it does not run: %v", err)
	}
	t.Log("control: the same file, approved, wrote its canary")
}

// TestSEC12ABranchIsReviewedAtOnce: another branch with other agents and hooks is
// one question, and until it is answered nothing of it runs.
func TestSEC12ABranchIsReviewedAtOnce(t *testing.T) {
	w := canary.Furnish(t, map[string]string{
		"work/.gemini/agents/a.md": agentFile("a", "A."), "work/.gemini/agents/b.md": agentFile("b", "B."), "work/.gemini/agents/c.md": agentFile("c", "C."),
		"work/.gemini/settings.json": `{"hooks": {"BeforeTool": [{"hooks": [{"type": "command", "command": "sh ./h.sh"}]}]}, "mcpServers": {"db": {"command": "./db"}}}`,
		"work/h.sh":                  "#!/bin/sh\n", "work/db": "#!/bin/sh\n",
	})
	git := func(args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.invalid", "-C", w.Path("work")}, args...)...)
		cmd.Env = w.Environ()
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
	git("init", "-q", "-b", "main")
	git("add", ".")
	git("commit", "-q", "-m", "good")
	git("checkout", "-q", "-b", "evil")
	for _, name := range []string{"a", "b", "c"} {
		put(t, w, "work/.gemini/agents/"+name+".md", agentFile(name, "Evil."))
	}
	put(t, w, "work/.gemini/agents/d.md", agentFile("d", "Evil."))
	put(t, w, "work/h.sh", "#!/bin/sh\ntouch hooked\n")     // the command stays the same (SEC-10)
	put(t, w, "work/db", "#!/bin/sh\ntouch $BASE/canary\n") // SEC-11
	git("add", ".")
	git("commit", "-q", "-m", "evil")
	git("checkout", "-q", "main")
	d := sit(t, w, "> go\n<call write_file {\"file_path\": \"canary\", \"content\": \"x\"}\n\n>result write_file\n< Done.\n", editortest.Config{Agents: editortest.Native(), Decides: true})
	d.Answer(editortest.Reply{Choice: "Trust this folder"})
	if err := d.Call(d.ctx, protocol.MethodWorkspaceExecuteCommand, map[string]any{"command": wire.CommandTrustWorkspace}, nil); err != nil {
		t.Fatal(err)
	}
	d.until("ok", "a", "b", "c")
	git("checkout", "-q", "evil")
	d.until("review", "a", "b", "c", "d")
	d.Answer(editortest.Reply{Choice: ""})
	if err := d.run("a", "one"); err == nil {
		t.Error("it runs")
	}
	dialogs := d.Seen().Dialogs
	if len(dialogs) != 2 {
		t.Fatalf("%d dialogs: %q", len(dialogs), dialogs)
	}
	for _, want := range []string{
		"changed: 3 agents: a, b, c\n", "changed: 1 hook: BeforeTool: sh ./h.sh (sandbox: write)\n", "changed: 1 MCP server: db: ./db (sandbox: write)\n", "new: 1 agent: d\n", w.Path("work"),
		"[Not now] [Show changes] [Approve]",
	} {
		if !strings.Contains(dialogs[1], want) {
			t.Errorf("the dialog does not say %q: %s", want, dialogs[1])
		}
	}
	if fired(w, "work/canary") || fired(w, "work/hooked") {
		t.Error("the canary fired")
	}
	d.Answer(editortest.Reply{Choice: "Approve"})
	if err := d.run("d", "two"); err != nil || !fired(w, "work/canary") || !fired(w, "work/hooked") {
		t.Errorf("control: approved, nothing runs: %v", err)
	}
	if n := len(d.Seen().Dialogs); n != 3 {
		t.Errorf("%d dialogs for two questions", n)
	}
	d.until("ok", "a", "b", "c", "d")
	t.Log("control: approved in one answer, an agent and the hook of the branch wrote their canaries")
}

// TestSEC13TheTrustDialog: it names the exact root, and counts and items; no
// answer, an unknown one and an error are no trust, for this connection only.
func TestSEC13TheTrustDialog(t *testing.T) {
	w := neverSeen(t)
	const script = "> go\n<call write_file {\"file_path\": \"canary\", \"content\": \"x\"}\n\n>result write_file\n< Done.\n"
	mute := editortest.Native() // else it is asked by agents/ask
	mute.Ask = false
	for name, config := range map[string]editortest.Config{
		"dismissed": {Agents: editortest.Native()},
		"refuses":   {Agents: mute, NoDialog: true},
	} {
		t.Run(name, func(t *testing.T) {
			d := sit(t, w, "", config)
			for i := range 2 {
				if err := d.run("a", fmt.Sprint("s", i)); err == nil || !strings.Contains(err.Error(), "not trusted") {
					t.Errorf("it runs: %v", err)
				}
			}
			dialogs := d.Seen().Dialogs
			if config.NoDialog {
				return
			}
			if len(dialogs) != 1 {
				t.Fatalf("%d dialogs", len(dialogs))
			}
			for _, want := range []string{
				"Trust the folder " + w.Path("work") + "?", "3 agents: a, hooked, invalid", "1 hook: SessionStart: touch " + w.Path("canary"), "1 MCP server: evil: " + w.Path("work/run.sh"),
				"\n[Do not trust] [Show what it brings] [Trust this folder]",
			} {
				if !strings.Contains(dialogs[0], want) {
					t.Errorf("the dialog does not say %q: %s", want, dialogs[0])
				}
			}
		})
	}
	if fired(w, "home/.gemini/agentls/trust.json") || fired(w, "canary") || fired(w, "work/canary") {
		t.Error("something was recorded or run")
	}
	d := sit(t, w, script, editortest.Config{Agents: editortest.Native(), Decides: true})
	d.Answer(editortest.Reply{Choice: "Trust this folder"})
	if err := d.run("a", "yes"); err != nil || !fired(w, "work/canary") {
		t.Errorf("control: trusted by the dialog, it does not run: %v", err)
	}
	t.Log("control: answered with Trust this folder, the agent wrote its canary")
}
