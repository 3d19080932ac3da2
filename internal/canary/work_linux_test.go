package canary_test

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/agentls/agentls/internal/canary"
)

// Each test here is work that an agent must be able to do by itself in the mode
// edits: with a wall nobody is asked, without one once and never again.

// job is a run and the commands that the person is asked about in it, with a wall
// and without one.
type job struct {
	input, script   string
	walled, without []string
}

// work has the same jobs done behind each wall. The person answers always.
func work(t *testing.T, files map[string]string, settings string, jobs []job, check func(t *testing.T, s *stranger)) {
	t.Helper()
	var script strings.Builder
	for _, j := range jobs {
		fmt.Fprintf(&script, "# when input contains %s\n\n%s\n", j.input, j.script)
	}
	cache := "" // of the daemon before: what is slow is so once
	for _, wall := range canary.Walls() {
		t.Run(string(wall), func(t *testing.T) {
			files := maps.Clone(files)
			// Settings of nothing are settings too: without them a stranger has no wall.
			files["home/.gemini/settings.json"] = wall.Settings(t, cmp.Or(settings, "{}"))
			caches := "home/.gemini/agentls/cache"
			if wall == canary.NoWall {
				caches = "home/.cache"
			}
			s := strange(t, setting{
				script: script.String(), files: files, environ: append(wall.Environ(t), "HOME=$BASE/home"), always: true, approval: "edits",
				cache: cache, caches: caches,
			})
			for i, j := range jobs {
				before := len(s.Seen().Questions)
				s.session = fmt.Sprint("job", i)
				s.runs(j.input)
				var asked []string
				for _, q := range s.Seen().Questions[before:] {
					what := q.Tool
					if q.Preview != nil {
						what = q.Preview.Access + ": " + q.Preview.Command
					}
					asked = append(asked, what)
				}
				want := j.walled
				if wall == canary.NoWall {
					want = j.without
				}
				if !slices.Equal(asked, want) {
					t.Errorf("%s: the person was asked about %q, want %q", j.input, asked, want)
				}
				t.Logf("%s, %s: %d questions", wall, j.input, len(asked))
			}
			check(t, s)
			s.leave()
			cache = ""
			if own := filepath.Join(filepath.Dir(s.dir), caches); fired(&canary.World{Base: own}, "go-build") {
				cache = filepath.Join(os.TempDir(), fmt.Sprintf("agentls-cache-%d", os.Getpid()))
				if err := os.Rename(own, cache); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
	if cache != "" {
		_ = exec.Command("chmod", "-R", "u+w", cache).Run() // modules are read-only
		_ = os.RemoveAll(cache)                             // a temporary folder
	}
}

// call is a step of a script: the calls that it makes, and what their results
// have.
func call(tool, args, result string) string {
	return fmt.Sprintf("<call %s %s\n\n>result %s contains %s\n", tool, args, tool, result)
}

// TestSEC47AnAgentFixesAGoModule: it reads, edits and tests, twice.
func TestSEC47AnAgentFixesAGoModule(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("there is no go")
	}
	files := map[string]string{
		"work/go.mod":      "module example.com/sum\n\ngo 1.22\n",
		"work/sum.go":      "package sum\n\nfunc Sum(a ...int) (n int) {\n\tfor _, v := range a {\n\t\tn -= v\n\t}\n\treturn n\n}\n\nfunc Max(a, b int) int { return a }\n",
		"work/sum_test.go": "package sum\n\nimport \"testing\"\n\nfunc TestSum(t *testing.T) {\n\tif Sum(1, 2) != 3 {\n\t\tt.Error(\"sum\")\n\t}\n}\n\nfunc TestMax(t *testing.T) {\n\tif Max(1, 2) != 2 {\n\t\tt.Error(\"max\")\n\t}\n}\n",
	}
	test := func(result string) string {
		return call("bash", `{"command": "go test ./...", "access": "write"}`, result)
	}
	fix := call("read_file", `{"file_path": "sum.go"}`, "n -= v") + test("TestMax") +
		call("edit_file", `{"file_path": "sum.go", "old_string": "n -= v", "new_string": "n += v"}`, "sum.go") + test("max") +
		call("edit_file", `{"file_path": "sum.go", "old_string": "int { return a }", "new_string": "int { return max(a, b) }"}`, "sum.go") +
		test("Exit code: 0") + "< It passes.\n"
	again := test("Exit code: 0") + "< It passes still.\n"
	work(t, files, "", []job{
		{input: "fix it", script: fix, without: []string{"write: go test ./..."}},
		{input: "test it", script: again},
	}, func(t *testing.T, s *stranger) {
		if text := s.file("sum.go"); !strings.Contains(text, "n += v") || !strings.Contains(text, "max(a, b)") {
			t.Errorf("the file is\n%s", text)
		}
	})
}

// TestSEC44AnAgentInstallsAndTestsANodeProject: npm ci reaches the host that the
// person's settings name, and no other; npm test needs no network.
func TestSEC44AnAgentInstallsAndTestsANodeProject(t *testing.T) {
	if _, err := exec.LookPath("npm"); err != nil {
		t.Skip("there is no npm")
	}
	tarball := pack(t, map[string]string{
		"package/package.json": `{"name": "tiny", "version": "1.0.0", "main": "index.js"}`,
		"package/index.js":     "module.exports = (a, b) => a + b\n",
	})
	var served atomic.Int64
	// 127.0.0.1 is the command's own: for others it goes through the proxy.
	listener, err := net.Listen("tcp", "127.0.0.2:0")
	if err != nil {
		t.Fatal(err)
	}
	registry := &httptest.Server{Listener: listener, Config: &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/tiny/-/tiny-1.0.0.tgz" {
			http.NotFound(w, r)
			return
		}
		served.Add(1)
		_, _ = w.Write(tarball) // a client that has gone misses it
	})}}
	registry.Start()
	defer registry.Close()
	digest := sha512.Sum512(tarball)
	lock := fmt.Sprintf(`{"name": "app", "version": "1.0.0", "lockfileVersion": 3, "requires": true, "packages": {
  "": {"name": "app", "version": "1.0.0", "dependencies": {"tiny": "1.0.0"}},
  "node_modules/tiny": {"version": "1.0.0", "resolved": "%s/tiny/-/tiny-1.0.0.tgz", "integrity": "sha512-%s"}
}}`, registry.URL, base64.StdEncoding.EncodeToString(digest[:]))
	files := map[string]string{
		"work/package.json":      `{"name": "app", "version": "1.0.0", "scripts": {"test": "node test.js"}, "dependencies": {"tiny": "1.0.0"}}`,
		"work/package-lock.json": lock,
		"work/test.js":           "const add = require('tiny'); if (add(1, 2) !== 3) throw new Error('wrong'); console.log('passed')\n",
	}
	install := "npm ci --no-audit --no-fund --registry " + registry.URL
	step := func(access, command, result string) string {
		return call("bash", fmt.Sprintf("{\"command\": %q, \"access\": %q}", command, access), result)
	}
	settings := fmt.Sprintf(`{"tools": {"sandbox": {"allowedHosts": ["%s"]}}}`, registry.Listener.Addr())
	run := step("network", install, "added 1 package") + step("write", "npm test", "passed") + "< It works.\n"
	work(t, files, settings, []job{
		{input: "install it", script: run, walled: []string{"network: " + install}, without: []string{"network: " + install, "write: npm test"}},
		{input: "once more", script: run},
	}, func(t *testing.T, s *stranger) {
		if served.Load() == 0 { // later ones have it in the cache
			t.Error("the package was not fetched")
		}
	})
}

// pack returns a package as npm publishes it.
func pack(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	w := tar.NewWriter(zipped)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		text := files[name]
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(text))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zipped.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
