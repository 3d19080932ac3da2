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
	drive := npm(t, "testdata/client.cjs")
	dir := unfold(t, map[string]string{"note.txt": "milk\n", ".gemini/agents/fixer.md": fixer})
	script, err := os.ReadFile("testdata/npm.model")
	if err != nil {
		t.Fatal(err)
	}
	_, env := perform(t, string(script), `{"tools": {"sandbox": {"mode": "off"}}}`) // the command asks on each machine
	var got bytes.Buffer
	for _, s := range drive(t, env, dir, nil) {
		got.WriteString(s.What + " " + string(s.Value) + "\n")
	}
	golden(t, "testdata/npm.want", got.String())
}

// sight is one thing that a client from npm saw.
type sight struct {
	What  string          `json:"what"`
	Value json.RawMessage `json:"value"`
}

// needPackages returns where node is. Without it, or without the package of a
// folder, the test is left out, and fails in CI, which installs both.
func needPackages(t *testing.T, folder, name string) (node string) {
	t.Helper()
	leave := t.Skipf
	if os.Getenv("CI") != "" {
		leave = t.Fatalf
	}
	node, err := exec.LookPath("node")
	if err != nil {
		leave("node is not installed")
	}
	if _, err := os.Stat(filepath.Join(folder, "node_modules", name)); err != nil {
		leave("the packages of %s are not installed: run npm ci there", folder)
	}
	return node
}

// npm returns what has a script of node drive the binary in a folder, and leaves
// the test out where node or the packages are not there.
func npm(t *testing.T, script string) func(t *testing.T, env []string, dir string, input any) []sight {
	t.Helper()
	node := needPackages(t, ".", "vscode-languageserver-protocol")
	modules, err := filepath.Abs("node_modules")
	if err != nil {
		t.Fatal(err)
	}
	program := build(t)
	return func(t *testing.T, env []string, dir string, input any) []sight {
		t.Helper()
		in, err := json.Marshal(input)
		if err != nil {
			t.Fatal(err)
		}
		c := exec.Command(node, script, program, dir)
		c.Env = append(env, "CLIENT_MODULES="+modules)
		var out, errs bytes.Buffer
		c.Stdin, c.Stdout, c.Stderr = bytes.NewReader(in), &out, &errs
		if err := c.Run(); err != nil {
			t.Fatalf("%v\n%s\n%s", err, &out, &errs)
		}
		var seen []sight
		for s := bufio.NewScanner(&out); s.Scan(); {
			var line sight
			if err := json.Unmarshal(s.Bytes(), &line); err != nil {
				t.Fatalf("%v: %s", err, s.Bytes())
			}
			seen = append(seen, line)
		}
		return seen
	}
}

// golden compares what was seen with a file, or makes the file of it.
func golden(t *testing.T, name, got string) {
	t.Helper()
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("what the client saw (-want +got):\n%s", diff)
	}
}
