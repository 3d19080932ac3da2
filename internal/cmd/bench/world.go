package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// agentName is the agent that runs. It is the person's own: no limit for agents
// of a project applies to it.
const agentName = "bench"

// world is a workspace with its person's folder.
type world struct {
	dir, home string
	agents    int // of the workspace
}

// newWorld makes a workspace with agents, the agent that runs, and the files
// that the scripted model has read.
func newWorld(base string, agents int) (*world, error) {
	w := &world{dir: filepath.Join(base, "ws"), home: filepath.Join(base, "home"), agents: agents}
	ours, theirs := filepath.Join(w.dir, ".gemini", "agents"), filepath.Join(w.home, "agents")
	for _, dir := range []string{ours, theirs} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
	}
	files := map[string]string{
		filepath.Join(theirs, agentName+".md"): "---\nkind: agent\nname: " + agentName +
			"\ntitle: Bench\ndescription: Does what the scripted model says.\nrun:\n  max_turns: 1000\n---\nYou work.\n",
	}
	for i := range agents {
		name := fmt.Sprintf("agent-%05d", i)
		files[filepath.Join(ours, name+".md")] = fmt.Sprintf("---\nkind: agent\nname: %s\ntitle: Agent %d\ndescription: Reviews part %d of the code and says what is wrong with it.\nmodel: flash\ntools:\n  allow: [read_file, grep]\n---\nYou review part %d.\n\n%s", name, i, i, i,
			strings.Repeat("Be careful, say what you found with file and line, and do not change anything.\n", 8))
	}
	for i := range 100 {
		files[filepath.Join(w.dir, fmt.Sprintf("f%d.txt", i))] = strings.Repeat(fmt.Sprintf("file %d has this line\n",
			i), 20)
	}
	for name, text := range files {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// environ is the person's environment.
func (w *world) environ(model string) []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Dir(w.home), "GEMINI_HOME=" + w.home, "AGENTLS_TRUST=1",
		"GEMINI_API_KEY=x", "GOOGLE_GEMINI_BASE_URL=" + model,
		"AGENTLS_DUMPABLE=1", // memory that is seen by root only cannot be measured by others
	}
}

// fake is the scripted model, a process.
type fake struct {
	cmd *exec.Cmd
	url string
	log string
}

// patience bounds what takes a moment.
const patience = 20 * time.Second

// startFake starts the scripted model, whose log is in tmp; more are flags of its
// own.
func startFake(ctx context.Context, binary, tmp, workspace string, more ...string) (*fake, error) {
	f := &fake{log: filepath.Join(tmp, "model.jsonl")}
	port := filepath.Join(tmp, "model.port")
	f.cmd = exec.CommandContext(ctx, binary, append([]string{"-portfile", port, "-log", f.log, "-ws",
		workspace}, more...)...)
	if err := f.cmd.Start(); err != nil {
		return nil, err
	}
	err := poll(ctx, func() bool {
		n, err := os.ReadFile(port)
		f.url = "http://127.0.0.1:" + string(n)
		return err == nil && len(n) > 0
	})
	if err != nil {
		f.stop()
		return nil, fmt.Errorf("the scripted model does not start: %w", err)
	}
	return f, nil
}

func (f *fake) stop() {
	_ = f.cmd.Process.Kill() // it may have ended
	_ = f.cmd.Wait()         // killed
}

// request is what the scripted model notes of one. Times are of the monotonic
// clock, in nanoseconds.
type request struct {
	SID    string `json:"sid"`
	Turn   int    `json:"turn"`
	Kind   string `json:"kind"`
	Arrive int64  `json:"t_arrive"`
	First  int64  `json:"t_first"`
	End    int64  `json:"t_end"`
}

// requests returns the n requests whose prompt has sid=SID, in order, once they
// have been answered.
func (f *fake) requests(ctx context.Context, sid string, n int) ([]request, error) {
	var found []request
	err := poll(ctx, func() bool {
		found = found[:0]
		file, err := os.Open(f.log)
		if err != nil {
			return false
		}
		defer file.Close()
		for s := bufio.NewScanner(file); s.Scan(); {
			var r request
			if json.Unmarshal(s.Bytes(), &r) == nil && r.SID == sid {
				found = append(found, r)
			}
		}
		return len(found) >= n
	})
	if err != nil {
		return nil, fmt.Errorf("the model was asked %d times in %s, not %d: %w", len(found), sid, n, err)
	}
	if len(found) > n {
		return nil, fmt.Errorf("the model was asked %d times in %s, not %d", len(found), sid, n)
	}
	return found, nil
}

// poll waits until something is so.
func poll(ctx context.Context, done func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for !done() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(2 * time.Millisecond):
		}
	}
	return nil
}
