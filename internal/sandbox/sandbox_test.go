package sandbox_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/agentls/agentls/internal/process"
	"github.com/agentls/agentls/internal/sandbox"
)

// world is a home with secrets and a workspace in which commands run.
type world struct {
	home, folder string
	box          *sandbox.Sandbox
}

// eachWall runs a test behind each wall that stands on this machine.
func eachWall(t *testing.T, test func(t *testing.T, w *world)) {
	for _, wall := range []sandbox.Wall{sandbox.Bubblewrap, sandbox.Landlock} {
		t.Run(string(wall), func(t *testing.T) { test(t, newWorld(t, wall)) })
	}
}

// newWorld makes a world, and skips the test where the wall does not stand.
func newWorld(t testing.TB, wall sandbox.Wall) *world {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{home: filepath.Join(base, "home"), folder: filepath.Join(base, "home", "src", "pro ject\n")}
	for path, text := range map[string]string{
		"home/.ssh/id_rsa": "planted-key", "home/.bashrc": "", "home/.gitconfig": "[user]\n\tname = Ada\n\temail = ada@example.org\n[credential]\n\thelper = store\n",
		"home/.npmrc":      "registry=https://mirror.example/\n//mirror.example/:_authToken=planted-token\n",
		"home/go/bin/tool": "a tool", "home/src/other/x": "planted-other",
		"home/src/pro ject\n/a.txt": "one\n", "home/src/pro ject\n/.env": "planted-env", "home/src/pro ject\n/.vscode/tasks.json": "{}",
	} {
		put(t, filepath.Join(base, path), text)
	}
	w.box = sandbox.New(sandbox.Config{
		Home: w.home, State: filepath.Join(w.home, ".gemini", "agentls"), Environ: append(os.Environ(), "HOME="+w.home), Walls: []sandbox.Wall{wall},
	})
	if got, why := w.box.Wall(); got != wall {
		if runtime.GOOS == "linux" && os.Getenv("CI") != "" {
			t.Fatalf("%s does not work here: %s", wall, why)
		}
		t.Skipf("%s does not work here: %s", wall, why)
	}
	return w
}

func put(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// spec is what a command in the world's workspace gets.
func (w *world) spec(a sandbox.Access) sandbox.Spec {
	s := sandbox.Spec{
		Access: a, Folders: []string{w.folder}, Masked: []string{filepath.Join(w.folder, ".env")},
		Protected: []string{filepath.Join(w.folder, ".vscode")},
	}
	if _, err := os.Lstat(filepath.Join(w.folder, ".git")); err == nil {
		s.Protected = append(s.Protected, filepath.Join(w.folder, ".git"))
	}
	return s
}

// result is what a command did.
type result struct {
	code        int
	out         string
	quarantined []sandbox.Quarantined
}

// run runs a command in the world's workspace.
func (w *world) run(t testing.TB, spec sandbox.Spec, text string) result {
	t.Helper()
	return w.runThen(t, spec, text, nil)
}

// runThen is run; after says which protected places there are then.
func (w *world) runThen(t testing.TB, spec sandbox.Spec, text string, after func() []string) result {
	t.Helper()
	j := process.NewJob(process.Options{Dir: w.folder, Environ: w.box.Environ, Scratch: t.TempDir(), Now: time.Now})
	defer j.Output.Close()
	cmd := j.Command("/bin/bash", []string{"bash", "--noprofile", "--norc", "-c", text}, nil)
	cmd.Stdout, cmd.Stderr = j.Output.Stdout, j.Output.Stdout
	box, err := w.box.Confine(cmd, spec)
	if err != nil {
		t.Fatal(err)
	}
	var end process.Status
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err = j.Run(ctx, func(string) {}, func() error {
		child, err := box.Start(j)
		if err != nil {
			return err
		}
		end, err = j.Wait(child)
		return err
	})
	j.Kill()
	j.Release()
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	var places []string
	if after != nil {
		places = after()
	}
	report, err := box.Release(places)
	if err != nil {
		t.Errorf("%s: %v", text, err)
	}
	return result{end.Code, j.Output.Stdout.Text(), report.Quarantined}
}

// read returns what a file holds, "" for nothing.
func read(path string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return string(data)
}

// TestAccess holds each access to what it is let do, by what is there afterwards.
func TestAccess(t *testing.T) {
	eachWall(t, func(t *testing.T, w *world) {
		for _, c := range []struct {
			access sandbox.Access
			text   string
			works  bool
			says   string // part of the output
			leaves string // a file that is there afterwards if it works, and else not
		}{
			{"read", "cat a.txt", true, "one", ""},
			{"read", "echo x > b.txt", false, "", "b.txt"},
			{"read", "echo x > $TMPDIR/x && cat $TMPDIR/x", true, "x", ""},
			{"read", "chmod 777 a.txt || touch -d 2001-01-01 a.txt || touch -d 2001-01-01 .", false, "", ""},
			{"read", "chmod 777 ~/go/bin/tool || touch ~/go/bin/tool", false, "", ""},
			{"write", "chmod 755 a.txt && touch -d 2001-01-01 a.txt", true, "", ""},
			{"read", "cat ~/go/bin/tool", true, "a tool", ""},
			{"read", "cat ~/.ssh/id_rsa || ls -la ~/.ssh", false, "", ""},
			{"read", "cat .env", false, "", ""},
			{"read", "cat ../other/x", false, "", ""},
			{"read", "ln -s ../other/x y && cat y", false, "", "y"},
			{"read", "cat ~/.gemini/agentls/cache/x", false, "", ""},
			{"read", "touch $GOCACHE/x", false, "", "../../.gemini/agentls/cache/go-build/x"},
			{"write", "echo x > b.txt && cat b.txt", true, "x", "b.txt"},
			{"write", "mkdir -p d/e && echo x > d/e/f", true, "", "d/e/f"},
			{"write", "touch $GOCACHE/x", true, "", "../../.gemini/agentls/cache/go-build/x"},
			{"write", "touch ../outside; cat ../outside; false", false, "", "../outside"},
			{"write", "echo evil >> ~/go/bin/tool", false, "", ""},
			{"write", "ln -s ~/.ssh l && cat l/id_rsa", false, "", ""},
			{"write", "touch ~/.gemini/agentls/permissions.json; cat ~/.gemini/agentls/command-config/npmrc >/dev/null && echo read", true, "read", ""},
			{"write", "git config --global user.name; git config --global user.email", true, "Ada\nada@example.org", ""},
			{"read", "npm_config_registry= cat $npm_config_userconfig", true, "registry=https://mirror.example/", ""},
			{"network", "echo x > n.txt", true, "", "n.txt"},
			{"read", "exit 7", false, "", ""},
		} {
			r := w.run(t, w.spec(c.access), c.text)
			if (r.code == 0) != c.works || !strings.Contains(r.out, c.says) || strings.Contains(r.out, "planted") {
				t.Errorf("%s: %s: %d\n%s", c.access, c.text, r.code, r.out)
			}
			if c.leaves == "" {
				continue
			}
			if _, err := os.Lstat(filepath.Join(w.folder, c.leaves)); (err == nil) != c.works {
				t.Errorf("%s: %s: %s: %v", c.access, c.text, c.leaves, err)
			}
		}
		if read(filepath.Join(w.home, "go/bin/tool")) != "a tool" || read(filepath.Join(w.home, ".gemini/agentls/permissions.json")) != "" {
			t.Error("something outside was changed")
		}
		if got := w.run(t, w.spec("full"), "cat ../other/x .env"); !strings.Contains(got.out, "planted-other") {
			t.Errorf("control: without a wall: %+v", got)
		}
	})
}

// BenchmarkCommand is what a command costs that does nothing, behind each wall
// and without one (spec 4.5: own cost at most 15 ms with bubblewrap, 6 with
// Landlock).
func BenchmarkCommand(b *testing.B) {
	for _, wall := range []sandbox.Wall{sandbox.None, sandbox.Landlock, sandbox.Bubblewrap} {
		b.Run(string(wall), func(b *testing.B) {
			access := sandbox.Write
			if wall == sandbox.None {
				access, wall = sandbox.Full, sandbox.Bubblewrap
			}
			w := newWorld(b, wall)
			for b.Loop() {
				j := process.NewJob(process.Options{Dir: w.folder, Environ: w.box.Environ, Now: time.Now})
				cmd := j.Command("/bin/bash", []string{"bash", "--noprofile", "--norc", "-c", ":"}, nil)
				cmd.Stdout, cmd.Stderr = j.Output.Stdout, j.Output.Stderr
				box, err := w.box.Confine(cmd, w.spec(access))
				if err != nil {
					b.Fatal(err)
				}
				child, err := box.Start(j)
				if err != nil {
					b.Fatal(err)
				}
				if end, err := j.Wait(child); err != nil || end.Code != 0 {
					b.Fatal(end, err)
				}
				j.Release()
				if _, err := box.Release(nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("exec", func(b *testing.B) {
		for b.Loop() {
			if err := exec.Command("/bin/bash", "--noprofile", "--norc", "-c", ":").Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
}
