package canary_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sourcegraph/conc"

	"github.com/agentls/agentls/internal/canary"
	"github.com/agentls/agentls/internal/editortest"
	"github.com/agentls/agentls/internal/modelserver"
	"github.com/agentls/agentls/internal/wire"
)

// stranger is a daemon of a user that is not root: the kernel lets root look
// into every process.
type stranger struct {
	*editortest.Editor
	t         *testing.T
	cmd       *exec.Cmd
	model     *modelserver.Server
	errors    bytes.Buffer // its standard error; read it once it has ended
	dir, home string
	attr      *syscall.SysProcAttr // of the user, nil where the test is one's own
	approval  string               // the mode of runs; "" = the session's
	session   string               // of runs; "" = main
}

// nobody is the user that has no rights of its own.
const nobody = 65534

// setting is what such a daemon finds.
type setting struct {
	script    string            // of the model; each of its calls is allowed once
	files     map[string]string // below the base: work/… and home/…; $BASE is the base
	environ   []string          // beside its own, and instead of it; with $BASE as well
	umask     int
	open      *os.File // that it inherits
	untrusted bool
	refuse    bool // every question is answered with no
	always    bool // each is answered with always
	approval  string
	cache     string // a folder that becomes the caches of commands; "" = none
	caches    string // where they lie, below the base
}

// strange starts the program serve as another user.
func strange(t *testing.T, c setting) *stranger {
	t.Helper()
	parsed, err := modelserver.Parse(c.script)
	if err != nil {
		t.Fatal(err)
	}
	model := modelserver.New(modelserver.Config{Script: parsed})
	listener := httptest.NewServer(model)
	t.Cleanup(func() {
		listener.CloseClientConnections()
		listener.Close()
		if failures := model.Failures(); len(failures) > 0 {
			t.Errorf("the model was not asked what its script says: %s", strings.Join(failures, "\n"))
		}
	})
	base, err := os.MkdirTemp("", "agentls") // t.TempDir is the test's user's alone
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(base) })
	if base, err = filepath.EvalSymlinks(base); err != nil {
		t.Fatal(err)
	}
	own := strings.NewReplacer("$BASE", base)
	s := &stranger{t: t, model: model, dir: filepath.Join(base, "work"), home: filepath.Join(base, "home"), approval: c.approval}
	program := filepath.Join(base, "agentls")
	if built := canary.Binary(t); os.Link(built, program) != nil { // on another disk
		data, err := os.ReadFile(built)
		if err == nil {
			err = os.WriteFile(program, data, 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, given := c.files["home/.gemini/settings.json"]; !given { // what a process of the daemon gets is looked at, not what a wall adds
		files := maps.Clone(c.files)
		if files == nil {
			files = make(map[string]string)
		}
		files["home/.gemini/settings.json"] = `{"tools": {"sandbox": {"mode": "off"}}}`
		c.files = files
	}
	for _, dir := range []string{s.home, s.dir} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(base, 0o755); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 {
		s.attr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		for _, dir := range []string{s.home, s.dir} {
			if err := os.Chown(dir, nobody, nobody); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, text := range c.files {
		s.put(filepath.Join(base, filepath.FromSlash(name)), own.Replace(text))
	}
	if c.cache != "" {
		s.adopt(c.cache, filepath.Join(base, c.caches))
	}
	s.cmd = exec.Command(program, "serve")
	if !c.untrusted {
		s.cmd.Args = append(s.cmd.Args, "--trust")
	}
	if c.open != nil {
		s.cmd.ExtraFiles = []*os.File{c.open}
	}
	s.cmd.SysProcAttr, s.cmd.Dir, s.cmd.Stderr = s.attr, s.dir, &s.errors
	s.cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + base, "GEMINI_HOME=" + filepath.Join(s.home, ".gemini"), "TMPDIR=" + s.home,
		"GEMINI_API_KEY=canary-gemini-00", "GOOGLE_GEMINI_BASE_URL=" + listener.URL,
	}
	for _, e := range c.environ {
		s.cmd.Env = append(s.cmd.Env, own.Replace(e))
	}
	in, err := s.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	ours := syscall.Umask(c.umask)
	err = s.cmd.Start()
	syscall.Umask(ours)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = s.cmd.Process.Kill() // where it has not ended by now
		_ = s.cmd.Wait()         // the same
	})
	if s.Editor, err = editortest.Connect(t.Context(), streams{out, in}, editortest.Config{Dir: s.dir, Agents: editortest.Native()}); err != nil {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
		t.Fatalf("%v\n%s", err, &s.errors)
	}
	choice := "once"
	if c.refuse {
		choice = "reject"
	}
	if c.always {
		choice = "always"
	}
	for range strings.Count(c.script, "<call ") {
		s.Answer(editortest.Reply{Choice: choice})
	}
	return s
}

// streams are the standard ones of a process.
type streams struct {
	io.ReadCloser
	io.WriteCloser
}

func (s streams) Close() error { return errors.Join(s.ReadCloser.Close(), s.WriteCloser.Close()) }

// leave ends both as they should.
func (s *stranger) leave() {
	s.t.Helper()
	if err := s.Shutdown(context.Background()); err != nil {
		s.t.Error(err)
	}
	if err := s.cmd.Wait(); err != nil {
		s.t.Errorf("%v\n%s", err, &s.errors)
	}
	if err := s.Close(); err != nil {
		s.t.Error(err)
	}
}

// runs has a run end well.
func (s *stranger) runs(input string) {
	s.t.Helper()
	if err := s.ends(input); err != nil {
		s.t.Fatalf("%v\n%s", err, &s.errors)
	}
}

// ends returns why a run did not end well.
func (s *stranger) ends(input string) error {
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	var result wire.RunResult
	p := &wire.RunParams{Input: wire.InputBlocks{{Type: "text", Text: input}}, Approval: s.approval, Session: s.session}
	if err := s.Call(ctx, wire.MethodRun, p, &result); err != nil {
		return err
	}
	if result.Reason != "GOAL" {
		return fmt.Errorf("the run ended %+v", result)
	}
	return nil
}

// patience is how long a run may take: one that compiles Go's library takes a
// minute on a slow machine.
const patience = 3 * time.Minute

// adopt moves a folder to a place that is the daemon's user's.
func (s *stranger) adopt(folder, to string) {
	s.t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(to), 0o700), os.Rename(folder, to)); err != nil {
		s.t.Fatal(err)
	}
	for dir := filepath.Dir(to); s.attr != nil && dir != s.home; dir = filepath.Dir(dir) {
		if err := os.Chown(dir, nobody, nobody); err != nil {
			s.t.Fatal(err)
		}
	}
}

// put writes a file that is the daemon's user's.
func (s *stranger) put(file, text string) {
	s.t.Helper()
	mode := fs.FileMode(0o755)
	if strings.HasPrefix(file, filepath.Join(s.home, ".gemini")) { // as the daemon makes it
		mode = 0o700
	}
	err := errors.Join(os.MkdirAll(filepath.Dir(file), mode), os.WriteFile(file, []byte(text), 0o600))
	if err == nil && s.attr != nil {
		err = errors.Join(os.Chown(filepath.Dir(file), nobody, nobody), os.Chown(file, nobody, nobody))
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// file returns what a tool wrote into the workspace.
func (s *stranger) file(name string) string {
	s.t.Helper()
	data, err := os.ReadFile(filepath.Join(s.dir, name))
	if err != nil {
		logs, _ := filepath.Glob(filepath.Join(s.home, ".gemini", "agentls", "sessions", "*", "*.jsonl"))
		var results []byte
		for _, log := range logs {
			more, _ := os.ReadFile(log) // it is only told
			results = append(results, more...)
		}
		s.t.Fatalf("%v; the tools said %s", err, results)
	}
	return string(data)
}

// as runs a command as the daemon's user, and returns what it prints.
func (s *stranger) as(name string, args ...string) (string, error) {
	c := exec.Command(name, args...)
	c.SysProcAttr = s.attr
	out, err := c.CombinedOutput()
	return string(out), err
}

// bashOf is the script of a model that has commands run, one after the other.
func bashOf(commands ...string) string {
	script := ""
	for _, c := range commands {
		script += "<call bash {\"command\": " + strconv.Quote(c) + "}\n\n>result bash\n"
	}
	return script + "< Done.\n"
}

// keyring is an environment that holds secrets, with a canary in each.
func keyring() []string {
	return []string{
		"GOOGLE_API_KEY=canary-google-11", "GITHUB_TOKEN=canary-github-22", "AWS_ACCESS_KEY_ID=canary-aws-33", "AWS_SECRET_ACCESS_KEY=canary-aws-44",
		"AWS_PROFILE=canary-aws-55", "SSH_AUTH_SOCK=/tmp/canary-agent-66", "HTTPS_PROXY=http://me:canary-proxy-77@127.0.0.1:9", "NO_PROXY=127.0.0.1",
		"MY_PASSWORD=canary-8", "SOMETHING=canary-else-99",
	}
}

// TestSEC113NoToolSeesTheKeys: of the keys of the daemon's environment nothing is
// in what commands get, nor in what the system shows of the daemon and of the
// process between the two.
func TestSEC113NoToolSeesTheKeys(t *testing.T) {
	look := "{ env; cat /proc/self/environ /proc/$PPID/environ; cat /proc/$(cat pid)/environ; grep -a canary /proc/$(cat pid)/mem; ls -l /proc/$(cat pid)/fd; " +
		"ps axeww; for f in /proc/[0-9]*/environ; do cat $f; done; } 2>&1 | tr '\\0' '\\n' > seen; echo looked"
	for _, c := range []struct {
		name    string
		environ []string
		opaque  bool
	}{
		{"a daemon as it is", nil, true},
		{"one whose memory is measured", []string{"AGENTLS_DUMPABLE=1"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := strange(t, setting{script: bashOf(look), environ: append(keyring(), c.environ...)})
			pid := s.cmd.Process.Pid
			if err := os.WriteFile(filepath.Join(s.dir, "pid"), fmt.Append(nil, pid), 0o644); err != nil {
				t.Fatal(err)
			}
			s.runs("look")
			seen := s.file("seen")
			if !strings.Contains(seen, "AGENTLS=1") || !strings.Contains(seen, "PATH=") {
				t.Fatalf("the command saw nothing at all: %s", seen)
			}
			if i := strings.Index(seen, "canary-"); i >= 0 {
				t.Errorf("a command saw %s", seen[max(0, i-40):min(len(seen), i+20)])
			}
			environ := fmt.Sprintf("/proc/%d/environ", pid)
			shown, err := s.as("cat", environ)
			if opaque := err != nil; opaque != c.opaque || strings.Contains(shown, "canary-") {
				t.Errorf("%s: %v %q", environ, err, shown)
			}
			if of, err := os.ReadFile(environ); err != nil || strings.Contains(string(of), "canary-") { // root sees it
				if os.Geteuid() == 0 {
					t.Errorf("%s has a key: %v", environ, err)
				}
			}
			if _, err := s.as("ls", fmt.Sprintf("/proc/%d/fd", pid)); (err != nil) != c.opaque {
				t.Errorf("its descriptors: %v", err)
			}
			s.leave()

			// Without the policy: a program with the same environment.
			other := exec.Command("sleep", "60")
			other.Env, other.SysProcAttr = keyring(), s.attr
			if err := other.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() {
				_ = other.Process.Kill()
				_ = other.Wait()
			}()
			shown, err = "", nil
			for err == nil && shown == "" { // the kernel tells that it began before it has its environment
				shown, err = s.as("cat", fmt.Sprintf("/proc/%d/environ", other.Process.Pid))
			}
			if err != nil || strings.Count(shown, "canary-") != 9 {
				t.Fatalf("the control does not fire: %v %q", err, shown)
			}
			t.Log("positive control: the environment of a program that does not hide it shows all 9 keys to the same user")
		})
	}
}

// descriptors returns what a process has open, by number.
func descriptors(t *testing.T, pid int) map[string]string {
	t.Helper()
	dir := fmt.Sprintf("/proc/%d/fd", pid)
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	open := make(map[string]string)
	for _, e := range entries {
		if open[e.Name()], err = os.Readlink(filepath.Join(dir, e.Name())); err != nil {
			t.Fatal(err)
		}
	}
	return open
}

// TestSEC117ChildrenHaveThreeDescriptors: a command has /dev/null and two pipes,
// and nothing of the connection to the editor or of what the editor left open in
// the daemon; its reaper has nothing of them either.
func TestSEC117ChildrenHaveThreeDescriptors(t *testing.T) {
	left, err := os.CreateTemp(t.TempDir(), "left-open")
	if err != nil {
		t.Fatal(err)
	}
	defer left.Close()
	s := strange(t, setting{script: bashOf("echo $$ $PPID > child; cat > read; cat gate; true"), open: left, environ: []string{"AGENTLS_DUMPABLE=1"}})
	gate := filepath.Join(s.dir, "gate")
	if err := syscall.Mkfifo(gate, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(gate, 0o666); err != nil {
		t.Fatal(err)
	}
	var run conc.WaitGroup
	var ended error
	run.Go(func() { ended = s.ends("look") })
	opened, err := os.OpenFile(gate, os.O_WRONLY, 0) // waits for the command
	if err != nil {
		t.Fatal(err)
	}
	var child, reaper int
	if _, err := fmt.Sscan(s.file("child"), &child, &reaper); err != nil {
		t.Fatal(err)
	}
	has := descriptors(t, child)
	t.Logf("the command has %v", has)
	delete(has, "255") // bash's own, of a script
	if len(has) != 3 || has["0"] != "/dev/null" || !strings.HasPrefix(has["1"], "pipe:") || !strings.HasPrefix(has["2"], "pipe:") {
		t.Errorf("the command has %v", has)
	}
	daemon := descriptors(t, s.cmd.Process.Pid)
	theirs := descriptors(t, reaper)
	for _, fd := range []string{"0", "1", "3"} {
		for of, all := range map[string]map[string]string{"the command": has, "its reaper": theirs} {
			for n, what := range all {
				if what == daemon[fd] && what != "/dev/null" {
					t.Errorf("%s has %s at %s, which is the daemon's %s", of, what, n, fd)
				}
			}
		}
	}
	if daemon["3"] != left.Name() {
		t.Fatalf("the control does not fire: the daemon has %v", daemon)
	}
	t.Log("positive control: the daemon itself has what the editor left open")
	if err := opened.Close(); err != nil {
		t.Fatal(err)
	}
	if run.Wait(); ended != nil {
		t.Fatal(ended)
	}
	if got := s.file("read"); got != "" {
		t.Errorf("it read %q", got)
	}
	s.leave()
}

// TestSEC40EnvironmentSmugglesNothing: whatever the daemon's environment says, a
// shell is what it is, and so are ls and git.
func TestSEC40EnvironmentSmugglesNothing(t *testing.T) {
	base := t.TempDir()
	script := filepath.Join(base, "canary.sh")
	if err := os.WriteFile(script, []byte("echo canary\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	smuggled := []string{
		"BASH_ENV=" + script, "ENV=" + script, "BASH_FUNC_ls%%=() { echo canary; }", "BASH_FUNC_cat%%=() { echo canary; }", "PS4=$(echo canary)",
		"PROMPT_COMMAND=echo canary", "SHELLOPTS=xtrace", "BASHOPTS=extdebug", "IFS=canary", "CDPATH=/canary", "GIT_SSH_COMMAND=canary",
		"GIT_EXTERNAL_DIFF=canary", "NODE_OPTIONS=--require=canary", "PYTHONSTARTUP=canary", "PERL5OPT=-Mcanary", "RUBYOPT=-rcanary",
	}
	const look = "{ type ls; type -t cat; env; set -o; shopt extdebug; ls; } 2>&1"
	control := exec.Command("bash", "--noprofile", "--norc", "-c", look)
	control.Env = append(smuggled, "PATH="+os.Getenv("PATH"))
	out, _ := control.CombinedOutput() // however it ends
	if !strings.Contains(string(out), "ls is a function") || !strings.Contains(string(out), "canary\n") {
		t.Fatalf("the control does not fire: %s", out)
	}
	t.Log("positive control: with this environment, ls in bash is a function that fires the canary")
	s := strange(t, setting{script: bashOf("{ " + look + "; } > kind; echo seen"), environ: smuggled})
	s.runs("look")
	s.leave()
	kind := s.file("kind")
	if strings.Contains(kind, "canary") || !strings.HasPrefix(kind, "ls is /") || !strings.Contains(kind, "\nfile\n") {
		t.Errorf("the shell is another: %s", kind)
	}
	for _, off := range []string{"xtrace         \toff", "extdebug       \toff"} {
		if !strings.Contains(kind, off) {
			t.Errorf("no %q in %s", off, kind)
		}
	}
}

// TestSEC118WhatACrashLeaves: no image of the memory, and a text without what was
// said and without the environment.
func TestSEC118WhatACrashLeaves(t *testing.T) {
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_CORE, &before); err != nil {
		t.Fatal(err)
	}
	if before.Max == 0 {
		t.Skip("no process may leave an image here, so there is nothing to keep it from")
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{Cur: before.Max, Max: before.Max}); err != nil {
		t.Fatal(err)
	}
	s := strange(t, setting{
		script:  "> the canary-prompt\n< Well, a canary-answer.\n",
		environ: append(keyring(), "AGENTLS_DUMPABLE=1", "GOTRACEBACK=crash", "OTHER=canary-other"),
	})
	if err := syscall.Setrlimit(syscall.RLIMIT_CORE, &before); err != nil {
		t.Fatal(err)
	}
	limits, err := os.ReadFile(fmt.Sprintf("/proc/%d/limits", s.cmd.Process.Pid))
	if err != nil || !regexp.MustCompile(`(?m)^Max core file size +0 `).Match(limits) {
		t.Errorf("%v, %s", err, limits)
	}
	s.runs("the canary-prompt")
	if err := s.cmd.Process.Signal(syscall.SIGQUIT); err != nil {
		t.Fatal(err)
	}
	_ = s.cmd.Wait() // it was told to crash
	if status := s.cmd.ProcessState.Sys().(syscall.WaitStatus); status.CoreDump() {
		t.Error("it left an image of its memory")
	}
	if text := s.errors.String(); !strings.Contains(text, "goroutine ") || strings.Contains(text, "canary-") {
		t.Errorf("the text of the crash:\n%s", text)
	}
}
