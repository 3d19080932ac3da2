package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/sourcegraph/conc"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/internal/editortest"
	"github.com/agentls/agentls/internal/modelserver"
	"github.com/agentls/agentls/internal/wire"
	"github.com/agentls/agentls/workspace"
)

// logged is a log that is read while it is written.
type logged struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// frontend is an editor at a whole daemon in this process, with a scripted model.
type frontend struct {
	*editortest.Editor
	t    *testing.T
	work workspace.Folder
	log  *logged
	end  func() // ends both, and checks both
}

// serve starts a daemon of a bed for a folder. script is what the model says.
func (b *bed) serve(work workspace.Folder, script string) *frontend {
	t := b.t
	t.Helper()
	parsed, err := modelserver.Parse(script)
	if err != nil {
		t.Fatal(err)
	}
	model := modelserver.New(modelserver.Config{Script: parsed})
	d := &frontend{t: t, work: work, log: new(logged)}
	config := b.config
	config.Transport = modelserver.Transport(model)
	config.Environ = append([]string{"GEMINI_API_KEY=key-for-the-script"}, config.Environ...)
	config.Log = slog.New(slog.NewTextHandler(d.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	near, far := net.Pipe()
	var daemon conc.WaitGroup
	daemon.Go(func() {
		if _, err := Serve(context.WithoutCancel(t.Context()), far, config); err != nil {
			t.Error(err)
		}
	})
	d.Editor, err = editortest.Connect(t.Context(), near, editortest.Config{Dir: work.Path, Agents: editortest.Native()})
	if err != nil {
		t.Fatal(err)
	}
	d.end = sync.OnceFunc(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
		daemon.Wait()
		if err := model.Done(); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(d.end)
	return d
}

// ask starts a run of the agent one and returns how it ended.
func (d *frontend) ask(text string) (*wire.RunResult, error) {
	d.t.Helper()
	return d.Run(d.t.Context(), &wire.RunParams{Agent: "one", Model: "flash", Input: []activity.ContentBlock{{Type: "text", Text: text}}})
}

// says runs the agent and expects an answer.
func (d *frontend) says(text, want string) {
	d.t.Helper()
	if result, err := d.ask(text); err != nil || result.Text != want {
		d.t.Errorf("%s: %+v, %v", text, result, err)
	}
}

// answer is an error as the daemon answered it.
type answer struct {
	Code    int
	Message string
	Data    struct{ Kind, Bug string }
}

// answered returns what the daemon answered instead of a result.
func answered(t *testing.T, err error) (a answer) {
	t.Helper()
	for err != nil {
		var e struct {
			Code    int
			Message string
			Data    []byte // in base64, as encoding/json writes it
		}
		if text, bad := json.Marshal(err); bad == nil && json.Unmarshal(text, &e) == nil && e.Code != 0 {
			a.Code, a.Message = e.Code, e.Message
			if err := json.Unmarshal(e.Data, &a.Data); err != nil {
				t.Error(err)
			}
			return a
		}
		err = errors.Unwrap(err)
	}
	t.Error("it answered no error")
	return a
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// sessionLogs returns the logs of all sessions, by name.
func (b *bed) sessionLogs() map[string]string {
	b.t.Helper()
	all := make(map[string]string)
	files, err := filepath.Glob(filepath.Join(b.config.Home, "agentls", "sessions", "*", "*.jsonl"))
	if err != nil {
		b.t.Fatal(err)
	}
	for _, file := range files {
		all[strings.TrimSuffix(filepath.Base(file), ".jsonl")] = read(b.t, file)
	}
	return all
}
