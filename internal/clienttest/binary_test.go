package clienttest

import (
	"cmp"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/agentls/agentls/internal/modelserver"
)

// binary is where the built binary is, made once for all tests.
var binary = sync.OnceValues(func() (string, error) {
	name := filepath.Join(scratch, "agentls")
	out, err := exec.Command("go", "build", "-ldflags=-w", "-o", name, "../../cmd/agentls").CombinedOutput()
	if err != nil {
		err = fmt.Errorf("go build: %w\n%s", err, out)
	}
	return name, err
})

// scratch is a folder for what tests share.
var scratch string

func TestMain(m *testing.M) {
	if kind := os.Getenv(beOld); kind != "" {
		if err := serveOld(os.Stdin, os.Stdout, kind); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(func() int {
		var err error
		if scratch, err = os.MkdirTemp("", "clienttest"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(scratch)
		return m.Run()
	}())
}

// build makes the binary and returns its path.
func build(t *testing.T) string {
	t.Helper()
	name, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// play serves a script on loopback and returns the environment in which a
// daemon asks it. The test fails when the script is not played to its end.
func play(t *testing.T, name string) (env []string) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	_, env = perform(t, string(text), "")
	return env
}

// perform is play for a script that is given, a person who has settings of
// their own (or ""), and a test that wants to know what the model was asked.
func perform(t *testing.T, text, settings string) (model *modelserver.Server, env []string) {
	t.Helper()
	script, err := modelserver.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	model = modelserver.New(modelserver.Config{Script: script})
	listener := httptest.NewServer(model)
	t.Cleanup(func() {
		listener.CloseClientConnections()
		listener.Close()
		if failures := model.Failures(); len(failures) > 0 {
			t.Errorf("the model was not asked what its script says: %s", strings.Join(failures, "\n"))
		}
		if err := model.Done(); err != nil {
			t.Error(err)
		}
	})
	home := unfoldIn(t, outliving(t), map[string]string{"settings.json": cmp.Or(settings, "{}")})
	return model, append(os.Environ(), "GEMINI_API_KEY=test", "GOOGLE_GEMINI_BASE_URL="+listener.URL, "GEMINI_HOME="+home)
}

// unfold writes the files of a workspace and returns its folder.
func unfold(t *testing.T, files map[string]string) string {
	t.Helper()
	return unfoldIn(t, t.TempDir(), files)
}

// outliving returns a folder for programs that may still write into it when the
// test has ended.
func outliving(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp(scratch, "")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// unfoldIn writes files into a folder and returns its canonical path.
func unfoldIn(t *testing.T, dir string, files map[string]string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const fixer = `---
kind: agent
name: fixer
title: Fixer
model: flash
tools:
  allow: [read_file, write_file, edit_file, bash]
---
You edit notes.
`
