package clienttest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestNPMClient has vscode-languageserver-protocol drive the binary: initialize,
// list, a run with a confirmation refused and one accepted, activity whose
// ranges join without a gap, cancel while a tool runs, shutdown, exit code.
func TestNPMClient(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not installed")
	}
	modules, err := filepath.Abs("node_modules")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(modules, "vscode-languageserver-protocol")); err != nil {
		t.Skip("the packages of internal/clienttest/package.json are not installed: run npm ci there")
	}
	dir := unfold(t, map[string]string{"note.txt": "milk\n", ".gemini/agents/fixer.md": fixer})
	c := exec.Command(node, "testdata/client.cjs", build(t), dir)
	c.Env = append(play(t, "testdata/npm.model"), "CLIENT_MODULES="+modules)
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	if err := c.Run(); err != nil {
		t.Fatalf("%v\n%s\n%s", err, &out, &errs)
	}
	var got bytes.Buffer
	for s := bufio.NewScanner(&out); s.Scan(); {
		var line struct {
			What  string          `json:"what"`
			Value json.RawMessage `json:"value"`
		}
		if err := json.Unmarshal(s.Bytes(), &line); err != nil {
			t.Fatalf("%v: %s", err, s.Bytes())
		}
		got.WriteString(line.What + " " + string(line.Value) + "\n")
	}
	want, err := os.ReadFile("testdata/npm.want")
	if err != nil && os.Getenv("UPDATE") == "" {
		t.Fatal(err)
	}
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile("testdata/npm.want", got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("what the client saw (-want +got):\n%s\n%s", diff, &errs)
	}
}
