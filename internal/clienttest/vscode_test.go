package clienttest

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// vscode is a VS Code whose window is a page of a browser.
type vscode struct {
	t        *testing.T
	root     string // what testdata/vscode/install.sh has installed
	chromium string
	env      []string
	dir      string // of this instance: profile, extensions, notes of the extension
	url      string
}

// TestVSCode drives a real VS Code where one is installed.
func TestVSCode(t *testing.T) {
	if os.Getenv("AGENTLS_VSCODE") == "" {
		if os.Getenv("CI") != "" && !testing.Short() {
			t.Fatal("AGENTLS_VSCODE is not set: .ci/run -long installs VS Code")
		}
		t.Skip("AGENTLS_VSCODE does not name the folder in which internal/clienttest/testdata/vscode/install.sh has installed VS Code")
	}
	if _, err := exec.LookPath("chromium"); err != nil {
		t.Skip("chromium is not installed")
	}
	t.Run("Answers", answersInVSCode)
	t.Run("Trust", trustInVSCode)
	t.Run("Author", authorInVSCode)
	t.Run("Extension", extensionInVSCode)
	t.Run("First", firstInVSCode)
	t.Run("Trouble", troubleInVSCode)
	t.Run("Restricted", restrictedInVSCode)
	t.Run("Packed", packedInVSCode)
}

// startVSCode starts a VS Code on a workspace with the generic client of
// testdata/vscode/extension, which runs the built binary in the environment.
func startVSCode(t *testing.T, env []string, work string) *vscode {
	t.Helper()
	return startVSCodeWith(t, env, work, `"chat.disableAIFeatures": true,
		"editor.quickSuggestions": {"other": "off"}, "editor.suggestOnTriggerCharacters": false`, func(v *vscode) {
		extension := filepath.Join(v.dir, "extensions", "local.any-lsp-client-0.0.1")
		if err := os.CopyFS(extension, os.DirFS("testdata/vscode/extension")); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(filepath.Join(v.root, "client", "node_modules"), filepath.Join(extension, "node_modules")); err != nil {
			t.Fatal(err)
		}
	})
}

// startVSCodeWith starts a VS Code with settings besides those that keep it
// quiet, and with what install puts into its folder of extensions.
func startVSCodeWith(t *testing.T, env []string, work, settings string, install func(*vscode)) *vscode {
	t.Helper()
	root := os.Getenv("AGENTLS_VSCODE")
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		t.Fatal(err)
	}
	v := &vscode{t: t, root: root, chromium: chromium, dir: unfoldIn(t, outliving(t), map[string]string{
		"config.yaml": "auth: none\n",
		"user/User/settings.json": `{
			"workbench.startupEditor": "none", "security.workspace.trust.enabled": false, "files.autoSave": "off",
			"telemetry.telemetryLevel": "off", "update.mode": "none", "extensions.autoUpdate": false,
			"extensions.autoCheckUpdates": false, "workbench.enableExperiments": false,
			"git.openRepositoryInParentFolders": "never", "workbench.tips.enabled": false, "workbench.reduceMotion": "on",
			"workbench.secondarySideBar.defaultVisibility": "hidden",
			` + settings + `
		}`,
	})}
	install(v)
	port := freePort(t)
	v.env = append(env, "AGENTLS="+build(t), "SEEN="+filepath.Join(v.dir, "seen.jsonl"), `EXTENSIONS_GALLERY={"serviceUrl":""}`,
		"XDG_CONFIG_HOME="+filepath.Join(v.dir, "xdg"), "XDG_DATA_HOME="+filepath.Join(v.dir, "xdg"))
	args := append(v.program(), "--auth", "none", "--bind-addr", "127.0.0.1:"+port, "--disable-telemetry", "--disable-update-check", "--disable-getting-started-override")
	if !strings.Contains(settings, "workspace.trust") {
		args = append(args, "--disable-workspace-trust")
	}
	c := exec.Command(v.node(), append(args, work)...)
	var said bytes.Buffer
	c.Env, c.Stdout, c.Stderr = v.env, &said, &said
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Signal(os.Interrupt)
		_ = c.Wait()
		if t.Failed() {
			t.Logf("code-server said:\n%s", &said)
		}
	})
	v.url = fmt.Sprintf("http://127.0.0.1:%s/?folder=%s", port, work)
	deadline := time.Now().Add(patient)
	for {
		r, err := http.Get("http://127.0.0.1:" + port + "/healthz")
		if err == nil {
			r.Body.Close()
			return v
		}
		if time.Now().After(deadline) {
			t.Fatalf("code-server does not start: %v", err)
		}
		<-time.After(50 * time.Millisecond) // it tells nobody that it has started
	}
}

// node is the Node that code-server is made for.
func (v *vscode) node() string { return filepath.Join(v.root, "node/node_modules/.bin/node") }

// program is the command of this VS Code with its folders, for node.
func (v *vscode) program() []string {
	return []string{filepath.Join(v.root, "server/node_modules/code-server/out/node/entry.js"),
		"--config", filepath.Join(v.dir, "config.yaml"), "--user-data-dir", filepath.Join(v.dir, "user"),
		"--extensions-dir", filepath.Join(v.dir, "extensions")}
}

// drive plays stories in the window and returns a line for each.
func (v *vscode) drive(stories any) (lines [][]byte) {
	v.t.Helper()
	return v.driveWith("testdata/vscode/drive.mjs", stories)
}

// driveWith plays stories that a script knows.
func (v *vscode) driveWith(script string, stories any) (lines [][]byte) {
	v.t.Helper()
	text, err := json.Marshal(stories)
	if err != nil {
		v.t.Fatal(err)
	}
	c := exec.CommandContext(v.t.Context(), v.node(), script)
	c.Env = append(v.env, "STORIES="+string(text), "URL="+v.url, "CHROMIUM="+v.chromium,
		"CLIENT_MODULES="+filepath.Join(v.root, "client"), "SHOTS="+screenshots(v.t), "DIR="+v.dir)
	var out, said bytes.Buffer
	c.Stdout, c.Stderr = &out, &said
	if err := c.Run(); err != nil {
		v.t.Errorf("the driver: %v\n%s", err, &said)
	}
	for s := bufio.NewScanner(&out); s.Scan(); {
		lines = append(lines, bytes.Clone(s.Bytes()))
	}
	return lines
}

// screenshots is the folder for pictures of each step: AGENTLS_SHOTS, else one of the
// build folder.
func screenshots(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs(cmp.Or(os.Getenv("AGENTLS_SHOTS"), "../../build/screenshots"))
	if err == nil {
		err = os.MkdirAll(dir, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// freePort returns a port of loopback that nobody listens on.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := strings.Cut(l.Addr().String(), ":")
	return port
}

// hasty is an agent whose questions expire after a second.
var hasty = strings.NewReplacer("name: fixer", "name: hasty", "title: Fixer", "title: Hasty",
	"tools:\n", "tools:\n  confirmation: {timeout: 1}\n").Replace(fixer)

// answersInVSCode: the ways to answer, for the tools that write, with a client of
// VS Code that knows nothing of agents, and an unsaved buffer; and what a
// question must not become there.
func answersInVSCode(t *testing.T) {
	type story struct {
		Name   string `json:"name"`
		Agent  string `json:"agent"`
		Tool   string `json:"tool"`
		Prompt string `json:"prompt"`
		Answer string `json:"answer"`
		Late   bool   `json:"late"`
		Buffer string `json:"buffer"` // how it will be, so that the driver need not wait for long
		Undone string `json:"undone"`
		by     answered
	}
	var stories []story
	var script strings.Builder
	for tool := range changes {
		for _, a := range answers {
			if a.unserved || (tool == "write_file" && a.answer != "Allow once") {
				continue // what no does is the gate's, and the same for each tool
			}
			agent := "fixer"
			if a.late {
				agent = "hasty"
			}
			s := story{Name: tool + a.name, Agent: agent, Tool: tool, Prompt: "buy " + tool + " " + a.name, Answer: a.answer, Late: a.late, by: a}
			s.Buffer, s.Undone = a.texts()
			stories = append(stories, s)
			fmt.Fprintf(&script, "# when input contains %s\n\n%s\n", s.Prompt, a.script(tool))
		}
	}
	// What VS Code would cut off, or show as the words of a link, is what a person
	// agrees to.
	long := "echo " + strings.Repeat("a", 150)
	odd := map[string]string{
		"links": "touch '[notes](command:workbench.action.togglePanel)' '[docs](https://a.example/b)'",
		"long":  strings.Repeat(long+"\n", 3) + "touch last",
	}
	for name, command := range odd {
		a := answered{name: name, answer: "Reject", told: denied}
		s := story{Name: name, Agent: "fixer", Tool: "bash", Prompt: "run " + name, Answer: a.answer, by: a}
		s.Buffer, s.Undone = a.texts()
		stories = append(stories, s)
		args, err := json.Marshal(map[string]string{"command": command, "access": "write"})
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&script, "# when input contains %s\n\n> run\n<call bash %s\n\n>result-error bash contains denied by user\n< So be it, as [they](command:workbench.action.togglePanel) say.\n\n", s.Prompt, args)
	}
	work := unfold(t, map[string]string{"note.txt": "milk\neggs\n", ".gemini/agents/fixer.md": fixer, ".gemini/agents/hasty.md": hasty})
	_, env := perform(t, script.String(), patience)
	v := startVSCode(t, append(env, "SERVE_ARGS=--trust"), work)
	lines := v.drive(stories)
	if len(lines) != len(stories) {
		t.Fatalf("%d of %d stories were played", len(lines), len(stories))
	}
	for i, s := range stories {
		t.Run(s.Name, func(t *testing.T) {
			var got struct {
				outcome
				Shown int  `json:"shown"` // ms from the key to the question
				Dirty bool `json:"dirty"`
				Links int  `json:"links"` // in the question and in what the run is said to have come to
			}
			if err := json.Unmarshal(lines[i], &got); err != nil {
				t.Fatal(err)
			}
			t.Logf("the question, %d ms after the key:\n%s", got.Shown, got.Dialogs[0])
			if got.Links > 0 {
				t.Errorf("the messages have %d links", got.Links)
			}
			switch s.Name {
			case "links":
				if want := `touch '[notes]\x28command:workbench.action.togglePanel)' '[docs]\x28https://a.example/b)'`; !strings.Contains(got.Dialogs[0], want) {
					t.Errorf("the question does not show %q", want)
				}
				return
			case "long":
				if offered := strings.Contains(got.Dialogs[0], "\nAllow"); offered && !strings.Contains(got.Dialogs[0], "touch last") {
					t.Error("what is not shown can be allowed")
				}
				return
			}
			s.by.judge(t, s.Tool, work, got.outcome)
			if !got.Dirty {
				t.Error("the buffer was saved")
			}
			for _, want := range []string{s.Agent + " wants to run " + s.Tool + " note.txt", "-oats", "+oat milk", "Reject\nShow\nAllow once\nAllow for this session"} {
				if !strings.Contains(got.Dialogs[0], want) {
					t.Errorf("the question lacks %q", want)
				}
			}
		})
	}
}

// trustInVSCode: the question about a folder that brings an agent. Nothing of
// the folder runs before the yes.
func trustInVSCode(t *testing.T) {
	work := unfold(t, map[string]string{"note.txt": "milk\neggs\n", ".gemini/agents/fixer.md": fixer})
	_, env := perform(t, "> after\n< Here I am.\n", "")
	v := startVSCode(t, env, work)
	lines := v.drive([]map[string]string{{"name": "trust"}})
	if len(lines) != 1 {
		t.Fatal("the story was not played")
	}
	var got struct{ Asked, Ended []string }
	if err := json.Unmarshal(lines[0], &got); err != nil {
		t.Fatal(err)
	}
	t.Logf("asked:\n%s\nended:\n%s", strings.Join(got.Asked, "\n\n"), strings.Join(got.Ended, "\n"))
	if len(got.Asked) != 3 || len(got.Ended) != 3 {
		t.Fatal("not all of it was seen")
	}
	for i, want := range []string{"Do not trust\nShow what it brings\nTrust this folder", "Do not trust\nTrust this folder", "Trust this folder"} {
		if !strings.Contains(got.Asked[i], work) || !strings.HasSuffix(got.Asked[i], want) {
			t.Errorf("question %d is:\n%s", i, got.Asked[i])
		}
	}
	if !strings.HasPrefix(got.Ended[0], "failed: ") {
		t.Errorf("an agent of a folder that is not trusted runs: %s", got.Ended[0])
	}
	if got.Ended[2] != "GOAL: Here I am." {
		t.Errorf("after the yes: %s", got.Ended[2])
	}
}
