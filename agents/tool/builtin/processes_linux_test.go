package builtin_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/sourcegraph/conc"
	"golang.org/x/sys/unix"

	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/agents/tool/builtin"
	"github.com/agentls/agentls/agents/tool/tooltest"
)

// twice runs a test with bash as the binary has it, which starts commands under
// a reaper, and as a program has it that cannot be one.
func twice(t *testing.T, test func(t *testing.T, bash tool.Tool)) {
	shell(t)
	t.Run("with a reaper", func(t *testing.T) { test(t, namedOf(t, builtin.Config{Reaper: true}, "bash")) })
	t.Run("alone", func(t *testing.T) { test(t, namedOf(t, builtin.Config{}, "bash")) })
}

// bashed runs a call of one of them, which must work.
func bashed(t *testing.T, bash tool.Tool, env *tool.Env, pairs ...any) *tool.Result {
	t.Helper()
	r, err := tooltest.Run(t.Context(), bash, env, args(t, pairs...))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestREL40ToolFloods: of an output without an end the model sees the beginning
// and the end, and 64 MiB are kept.
func TestREL40ToolFloods(t *testing.T) {
	shell(t)
	w := tooltest.New(t, nil)
	env := w.Env()
	env.Blobs = filepath.Join(t.TempDir(), "made", "when it is needed")
	binary := 80_000_000
	if testing.Short() {
		binary /= 10 // what is kept of more than 64 MiB is the case before it
	}
	for _, c := range []struct {
		name, text string
		seconds    int
		whole      int // bytes, or lines of text; 0 is as much as comes in the time
		has        []string
	}{
		{"numbers", "seq 1 1000000; echo last >&2", 60, 1_000_001, []string{"\n1\n2\n", "\n1000000\n", "last", "bytes are left out here"}},
		{"yes", "yes", 1, 0, []string{"ended after 1s", "\ny\ny\n", "bytes are left out here"}},
		{"a line that has no end", "head -c 80000000 /dev/zero | tr '\\0' x", 120, 64 << 20, []string{"Exit code: 0", "xxxx", "bytes are left out here"}},
		{"binary", fmt.Sprintf("head -c %d /dev/urandom", binary), 60, min(binary, 64<<20), []string{"Exit code: 0", "bytes are left out here"}},
	} {
		var told atomic.Int64
		env.Progress = func(s string) { told.Add(int64(len(s))) }
		r := call(t, env, "bash", "command", c.text, "timeout", c.seconds)
		if len(r.Content) > 1<<20 || !utf8.ValidString(r.Content) {
			t.Errorf("%s: %d bytes of content", c.name, len(r.Content))
		}
		for _, part := range c.has {
			if !strings.Contains(r.Content, part) {
				t.Errorf("%s: the content has no %q", c.name, part)
			}
		}
		whole, err := io.ReadAll(r.Whole)
		if err := errors.Join(err, r.Whole.Close()); err != nil {
			t.Error(err)
		}
		if _, cut := tool.Cut(r.Content); cut {
			t.Errorf("%s: the content of %d bytes is cut once more", c.name, len(r.Content))
		}
		if n := len(whole); n != c.whole && bytes.Count(whole, []byte("\n")) != c.whole && (c.whole > 0 || n < 1<<20 || n > 64<<20) {
			t.Errorf("%s: the whole has %d bytes", c.name, n)
		}
		if n := told.Load(); n == 0 || n > 2<<20 {
			t.Errorf("%s: %d bytes were told", c.name, n)
		}
	}
	if r := call(t, env, "bash", "command", "echo small"); r.Whole != nil {
		t.Error("a small output has a whole")
	}
	if left, err := os.ReadDir(env.Blobs); err != nil || len(left) > 0 {
		t.Errorf("left behind: %q, %v", left, err)
	}
}

// TestREL44NoMoreProcesses: where the system starts no process any more, that is
// the call's error, and a later call works. The test's program runs again as a
// daemon: the limit is of a whole process, and does not hold for root.
func TestREL44NoMoreProcesses(t *testing.T) {
	shell(t)
	folder := os.Getenv("REL44_FOLDER")
	if folder == "" {
		base, err := os.MkdirTemp("", "rel44") // t.TempDir is root's alone
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(base)
		if base, err = filepath.EvalSymlinks(base); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(base, 0o777); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(os.Args[0], "-test.run=^TestREL44")
		cmd.Env = append(os.Environ(), "REL44_FOLDER="+base)
		if out, err := cmd.CombinedOutput(); err != nil || !bytes.Contains(out, []byte("PASS")) {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	const nobody = 65534
	if os.Geteuid() == 0 {
		if err := errors.Join(syscall.Setgid(nobody), syscall.Setuid(nobody)); err != nil {
			t.Fatal(err)
		}
	}
	spare(64) // a thread that the runtime cannot have ends the program: that is Go's, not ours
	for name, c := range map[string]builtin.Config{"with a reaper": {Reaper: true}, "alone": {}} {
		bash := namedOf(t, c, "bash")
		env := &tool.Env{
			Session: "s", Run: "r", Call: "c", Agent: "a", Folder: folder, Folders: []string{folder}, Trusted: true,
			Now: time.Now, Environ: os.Environ(), Progress: func(string) {},
		}
		var before unix.Rlimit
		if err := unix.Prlimit(0, unix.RLIMIT_NPROC, nil, &before); err != nil {
			t.Fatal(err)
		}
		if err := unix.Prlimit(0, unix.RLIMIT_NPROC, &unix.Rlimit{Max: before.Max}, nil); err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{"echo one; true", "ls"} { // by a shell, and without one
			_, err := tooltest.Run(t.Context(), bash, env, args(t, "command", text))
			if tooltest.Code(err) != tool.CodeFailed || !strings.Contains(fmt.Sprint(err), "resource temporarily unavailable") {
				t.Errorf("%s, %s: %v", name, text, err)
			}
		}
		if err := unix.Prlimit(0, unix.RLIMIT_NPROC, &before, nil); err != nil {
			t.Fatal(err)
		}
		if r := bashed(t, bash, env, "command", "echo one; true"); r.Failed {
			t.Errorf("%s: later: %s", name, r.Content)
		}
	}
}

// spare makes n threads that wait for work. It returns when all of them may: one
// whose goroutine has yet to let go of it is none that the runtime can take.
func spare(n int) {
	var held, idle sync.WaitGroup
	free := make(chan struct{})
	held.Add(n)
	for range n {
		idle.Go(func() {
			runtime.LockOSThread()
			held.Done()
			<-free
			runtime.UnlockOSThread() // the thread stays
		})
	}
	held.Wait()
	close(free)
	idle.Wait()
}

func TestREL71AGrandchildThatHoldsTheOutput(t *testing.T) {
	twice(t, func(t *testing.T, bash tool.Tool) {
		w := tooltest.New(t, nil)
		began := time.Now()
		r := bashed(t, bash, w.Env(), "command", "sleep "+nap(71)+" & echo started")
		if took := time.Since(began); took > 15*time.Second { // one second, the nap takes 71
			t.Errorf("it took %v", took)
		}
		if !strings.Contains(r.Content, "started") || !strings.Contains(r.Content, "what it left behind was ended: sleep") || r.Failed {
			t.Errorf("got %s", r.Content)
		}
		if left := alive(t, nap(71)); len(left) > 0 {
			t.Errorf("still there: %q", left)
		}
		// With a run to end it, it goes on until then.
		run, end := context.WithCancel(t.Context())
		var tasks conc.WaitGroup
		env := w.Env()
		env.Background = func(task func(context.Context) []string) { tasks.Go(func() { task(run) }) }
		r = bashed(t, bash, env, "command", "sleep "+nap(70)+" & echo started")
		if !strings.Contains(r.Content, "goes on until this run ends: sleep") || len(alive(t, nap(70))) == 0 {
			t.Errorf("got %s", r.Content)
		}
		end()
		tasks.Wait()
		if left := alive(t, nap(70)); len(left) > 0 {
			t.Errorf("still there: %q", left)
		}
	})
}

// cancelled cancels a command when it says that it is ready, and holds that all
// of it is gone in time. The text's 72.5 is replaced by a nap of its own.
func cancelled(t *testing.T, bash tool.Tool, text string) {
	t.Helper()
	w := tooltest.New(t, nil)
	env := w.Env()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var at atomic.Int64
	var once sync.Once
	env.Progress = func(s string) {
		if strings.Contains(s, "ready") {
			once.Do(func() { at.Store(time.Now().UnixNano()); cancel() })
		}
	}
	r, err := tooltest.Run(ctx, bash, env, args(t, "command", strings.ReplaceAll(text, "72.5", nap(72))))
	took := time.Since(time.Unix(0, at.Load()))
	if err != nil || r.Code != tool.CodeCancelled || !r.Failed {
		t.Errorf("%s: %+v, %v", text, r, err)
	}
	// Two seconds of grace and half of one to sweep; the rest is the machine's.
	if took > 20*time.Second {
		t.Errorf("%s: it took %v", text, took)
	}
	if left := alive(t, nap(72)); len(left) > 0 {
		t.Errorf("%s: still there: %q", text, left)
	}
}

func TestREL72CancelEndsTheWholeTree(t *testing.T) {
	twice(t, func(t *testing.T, bash tool.Tool) {
		cancelled(t, bash, "(sleep 72.5 & sleep 72.5 & echo ready; wait)")
		cancelled(t, bash, "bash -c 'bash -c \"sleep 72.5; true\"; true' & echo ready; sleep 72.5")
	})
}

func TestREL73CancelEndsWhatLeftTheSession(t *testing.T) {
	twice(t, func(t *testing.T, bash tool.Tool) {
		for _, text := range []string{
			"setsid sleep 72.5 & setsid setsid bash -c 'sleep 72.5; true' & sleep 0.1; echo ready; sleep 72.5",
			"(setsid bash -c 'sleep 72.5 & sleep 72.5; true' & ) ; sleep 0.1; echo ready; sleep 72.5",
			"setsid env -i /bin/sleep 72.5 & sleep 0.1; echo ready; sleep 72.5",
		} {
			cancelled(t, bash, text)
		}
	})
	t.Run("without parents and an environment", func(t *testing.T) {
		cancelled(t, named(t, "bash"), "(setsid env -i /bin/bash -c '/bin/sleep 72.5 & /bin/true' & ) ; (setsid setsid env -i /bin/sleep 72.5 &) ; sleep 0.2; echo ready; sleep 72.5")
	})
}

func TestREL74CancelEndsWhatDoesNotListen(t *testing.T) {
	twice(t, func(t *testing.T, bash tool.Tool) {
		for _, text := range []string{
			"trap '' TERM; (trap '' TERM; while true; do sleep 72.5; done) & echo ready; while true; do sleep 72.5; done",
			"(kill -STOP $BASHPID; sleep 72.5) & sleep 0.1; echo ready; sleep 72.5",
			"f() { sleep 72.5 & sleep 0.01; f; }; echo ready; for i in 1 2 3 4 5 6; do (sleep 72.5 &) ; done; sleep 72.5",
		} {
			cancelled(t, bash, text)
		}
	})
}

func TestREL75NoInput(t *testing.T) {
	twice(t, func(t *testing.T, bash tool.Tool) {
		w := tooltest.New(t, nil)
		r := bashed(t, bash, w.Env(), "command", "read x; echo \"got ($x) $?\"; tty; exec 3</dev/tty", "timeout", 20)
		if !strings.Contains(r.Content, "got () 1") || !strings.Contains(r.Content, "not a tty") || !strings.Contains(r.Content, "No such device") {
			t.Errorf("got %s", r.Content)
		}
	})
}

// TestREL76TheKernelEndsCommandsOfADeadDaemon runs this test's program again as
// a daemon that is killed while a command runs.
func TestREL76TheKernelEndsCommandsOfADeadDaemon(t *testing.T) {
	if folder := os.Getenv("REL76_FOLDER"); folder != "" {
		run, end := context.WithCancel(t.Context())
		defer end()
		var tasks conc.WaitGroup
		env := &tool.Env{
			Session: "s", Run: "r", Call: "c", Agent: "a", Folder: folder, Folders: []string{folder}, Trusted: true,
			Now: time.Now, Environ: os.Environ(), Progress: func(s string) { fmt.Print(s) },
			Background: func(task func(context.Context) []string) { tasks.Go(func() { task(run) }) },
		}
		bash := namedOf(t, builtin.Config{Reaper: os.Getenv("REL76_REAPER") != ""}, "bash")
		for _, c := range strings.Split(os.Getenv("REL76_COMMANDS"), "\n") {
			tooltest.Run(t.Context(), bash, env, c)
		}
		return
	}
	all := "setsid sleep 76.5 & (setsid bash -c 'sleep 76.5 & true' &) ; (setsid env -i /bin/bash -c '/bin/sleep 76.5 & /bin/true' &) ; sleep 76.5 & sleep 0.2; echo ready"
	twice(t, func(t *testing.T, bash tool.Tool) {
		reaped := strings.HasSuffix(t.Name(), "reaper")
		for what, commands := range map[string][]string{
			"a command":                 {args(t, "command", "echo ready; exec sleep 76.5")},
			"all that it started":       {args(t, "command", all+"; sleep 76.5; true")},
			"what it left behind":       {args(t, "command", all), args(t, "command", "echo ready; exec sleep 76.5")},
			"a command in the backyard": {args(t, "command", all+"; sleep 76.5; true", "background", true), args(t, "command", "sleep 0.4; echo ready; exec sleep 76.5")},
		} {
			if !reaped && what != "a command" {
				continue // only a reaper can
			}
			reaper := ""
			if reaped {
				reaper = "1"
			}
			w := tooltest.New(t, nil)
			cmd := exec.Command(os.Args[0], "-test.run=^TestREL76", "-test.v=false")
			cmd.Env = append(os.Environ(), "REL76_FOLDER="+w.Folder, "REL76_REAPER="+reaper, "REL76_COMMANDS="+strings.ReplaceAll(strings.Join(commands, "\n"), "76.5", nap(76)))
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			buf := make([]byte, 64)
			said := ""
			for strings.Count(said, "ready") < strings.Count(strings.Join(commands, ""), "echo ready")-strings.Count(strings.Join(commands, ""), `"background":true`) {
				n, err := out.Read(buf)
				if said += string(buf[:n]); err != nil {
					t.Fatalf("%s: the daemon said %q", what, said)
				}
			}
			if len(alive(t, nap(76))) == 0 {
				t.Errorf("%s: it does not run", what)
			}
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait()
			for deadline := time.Now().Add(20 * time.Second); len(alive(t, nap(76))) > 0; runtime.Gosched() {
				if time.Now().After(deadline) {
					left := alive(t, nap(76))
					for _, p := range left {
						var pid int
						fmt.Sscan(p, &pid)
						_ = syscall.Kill(pid, syscall.SIGKILL)
					}
					t.Fatalf("%s: still there: %q", what, left)
				}
			}
		}
	})
}

// TestREL77SlotsLimitCommands: fifty at once, of which four run.
func TestREL77SlotsLimitCommands(t *testing.T) {
	twice(t, func(t *testing.T, bash tool.Tool) {
		w := tooltest.New(t, nil)
		env := w.Env()
		env.Slots = make(chan struct{}, 4)
		var calls conc.WaitGroup
		for i := range 50 {
			calls.Go(func() {
				one := *env
				one.Call = fmt.Sprintf("c%d", i)
				r, err := tooltest.Run(t.Context(), bash, &one, `{"command":"mkdir -p run && mkdir run/$$ && n=$(ls run | wc -l) && sleep 0.05 && rmdir run/$$ && test $n -le 4"}`)
				if err != nil || r.Failed {
					t.Errorf("%+v, %v", r, err)
				}
			})
		}
		calls.Wait()
	})
}

func TestREL77OneThatWaitsCanBeCancelled(t *testing.T) {
	shell(t)
	w := tooltest.New(t, nil)
	env := w.Env()
	env.Slots = make(chan struct{}, 1)
	env.Slots <- struct{}{}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if r, err := tooltest.Run(ctx, named(t, "bash"), env, `{"command":"touch made"}`); err == nil || fileExists(w.Path("made")) {
		t.Errorf("a call that waits for a place goes on after its run: %+v", r)
	}
}

// TestREL76AReaperIsNotSeen: a command under a reaper is as one without.
func TestREL76AReaperIsNotSeen(t *testing.T) {
	shell(t)
	w := tooltest.New(t, nil)
	for text, want := range map[string]string{
		"kill -SEGV $$":                      "Ended by signal: segmentation fault",
		"kill -TERM $$":                      "Ended by signal: terminated",
		"exit 143":                           "Exit code: 143",
		"sleep 0.1; kill -9 $PPID; sleep 10": "Ended by signal: killed",
		"sleep 0.1; kill $PPID; kill -INT $PPID; echo on": "Stdout:\non\n",
		"yes | head -1": "Stdout:\ny\nStderr: (empty)",
		"ps -o ignored= -p $$ | tr -d 0 | tr 5 4": "Stdout:\n4\n", // bash itself ignores SIGQUIT, and who began these tests perhaps SIGHUP
	} {
		if r := call(t, w.Env(), "bash", "command", text, "timeout", 20); !strings.Contains(r.Content, want) {
			t.Errorf("%s: %s, want %s", text, r.Content, want)
		}
	}
}

// BenchmarkBashStart is what a command costs that does nothing (spec 12.2: at
// most 20 ms).
func BenchmarkBashStart(b *testing.B) {
	shell(b)
	w := tooltest.New(b, nil)
	for name, c := range map[string]builtin.Config{"reaper": {Reaper: true}, "alone": {}} {
		b.Run(name, func(b *testing.B) {
			bash := namedOf(b, c, "bash")
			env := w.Env()
			for b.Loop() {
				if _, err := tooltest.Run(b.Context(), bash, env, `{"command":"exec true > x"}`); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
