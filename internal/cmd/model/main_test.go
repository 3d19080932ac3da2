package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sourcegraph/conc"
)

// TestAScriptIsServed: what the printed address answers is what the script says, and a
// question that the script does not have is told.
func TestAScriptIsServed(t *testing.T) {
	script := filepath.Join(t.TempDir(), "script.txt")
	if err := os.WriteFile(script, []byte("> hello\n< Hello to you.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	read, write := io.Pipe()
	var told bytes.Buffer // read when the server has ended
	var served conc.WaitGroup
	served.Go(func() {
		if err := run(ctx, "127.0.0.1:0", []string{script}, write, &told); err != nil {
			t.Error(err)
		}
		_ = write.Close() // a pipe in memory
	})
	line := make([]byte, 200)
	n, err := read.Read(line)
	if err != nil {
		t.Fatal(err)
	}
	url := regexp.MustCompile(`http://\S+`).FindString(string(line[:n]))
	ask := func(text string) string {
		q, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/v1beta/models/demo:generateContent",
			strings.NewReader(`{"contents":[{"role":"user","parts":[{"text":"`+text+`"}]}]}`))
		if err != nil {
			t.Fatal(err)
		}
		q.Header.Set("X-Goog-Api-Key", "any")
		r, err := http.DefaultClient.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(body)
	}
	if got := ask("hello"); !strings.Contains(got, "Hello to you.") {
		t.Errorf("the answer is %s", got)
	}
	_ = ask("and now?") // there is no answer
	stop()
	served.Wait()
	if !strings.Contains(told.String(), "and now?") {
		t.Errorf("told was %q", told.String())
	}
}

func TestAScriptThatCannotBePlayed(t *testing.T) {
	script := filepath.Join(t.TempDir(), "script.txt")
	if err := os.WriteFile(script, []byte("hello\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{nil, {script}, {script + "-2"}, {script, script}} {
		if err := run(t.Context(), "127.0.0.1:0", args, io.Discard, io.Discard); err == nil {
			t.Errorf("%q is played", args)
		}
	}
}
