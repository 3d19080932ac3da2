package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"go/format"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// checks are the steps with what they share.
type checks struct {
	*machine
	long     bool // explore
	fuzztime time.Duration
	passed   bool // the tests did that run without poisoned requests

	mu      sync.Mutex
	closing []string // the closing lines of the tests; guarded by mu
}

// closes adds the closing lines of what go test said.
func (c *checks) closes(output string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closing = append(c.closing, closingLines(output)...)
}

// clients is the folder of the tests that need clients which others wrote.
const clients = "internal/clienttest"

// steps returns what is to be done, in order: what is quick and often wrong
// first. The steps of a group are done at once: they wait for editors and processes
// in turn.
func (c *checks) steps() [][]step {
	list := [][]step{
		{{"gofmt", c.gofmt}},
		{{"go vet", func() outcome { return passed(c.run("go", "vet", "./...")) }}},
		{{"go mod tidy -diff", c.tidy}},
		{{"staticcheck", c.staticcheck}},
		{{"generated documents", c.documents}},
		{{"binary", c.binary}},
		{{"go test", c.test}, {"real clients", c.clients}},
		{{"poisoned requests, UPDATE=1", c.poison}, {"mutants", c.mutants}, {"programs and loads", c.loads}},
	}
	if c.long {
		list = append(list, []step{{"go vet, macOS and Windows", c.elsewhere}}, []step{{"crash loop", c.crashes}},
			[]step{{"the wall", c.wall}}, []step{{"fuzzing", c.fuzz}})
	}
	return list
}

// gofmt compares in this process, so that a Go without the gofmt binary will do.
func (c *checks) gofmt() outcome {
	var wrong []string
	err := fs.WalkDir(os.DirFS(c.root), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if base := d.Name(); name != "." && (base[0] == '.' || base == "node_modules") {
				return fs.SkipDir
			}
			return nil
		}
		if path.Ext(name) != ".go" {
			return nil
		}
		text, err := os.ReadFile(filepath.Join(c.root, filepath.FromSlash(name)))
		if err != nil {
			return err
		}
		formatted, err := format.Source(text)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if !bytes.Equal(text, formatted) {
			wrong = append(wrong, name)
		}
		return nil
	})
	if err == nil && wrong != nil {
		err = errors.New("run gofmt -w on these files")
	}
	return passed(strings.Join(wrong, "\n"), err)
}

// elsewhere vets what is compiled for the other systems, tests included. A machine that
// has compiled nothing for them yet takes seven minutes for both.
func (c *checks) elsewhere() outcome {
	var o outcome
	for _, system := range []string{"darwin", "windows"} {
		if out, err := c.runWith([]string{"GOOS=" + system, "CGO_ENABLED=0"}, "go", "vet", "./..."); err != nil {
			o.output += "GOOS=" + system + " go vet ./...\n" + out
			o.err = err
		}
	}
	return o
}

// unreachable is how the go command says that there is no network.
var unreachable = regexp.MustCompile(`dial tcp|no such host|connection refused|i/o timeout|TLS handshake timeout|network is unreachable|module lookup disabled`)

func (c *checks) tidy() outcome {
	cmd := c.command(nil, "go", "mod", "tidy", "-diff")
	var diff, messages bytes.Buffer
	cmd.Stdout, cmd.Stderr = &diff, &messages
	err := cmd.Run()
	if err != nil && diff.Len() == 0 && unreachable.Match(messages.Bytes()) {
		return skip("go mod tidy -diff", "modules that only the tests of others need cannot be downloaded",
			"run it with a network once")
	}
	return passed(messages.String()+diff.String(), err)
}

// staticcheckTool is the path of staticcheck in a tool line of go.mod.
const staticcheckTool = "honnef.co/go/tools/cmd/staticcheck"

func (c *checks) staticcheck() outcome {
	out, err := c.run("go", "mod", "edit", "-json")
	if err != nil {
		return passed(out, err)
	}
	var mod struct{ Tool []struct{ Path string } }
	if err := json.Unmarshal([]byte(out), &mod); err != nil {
		return passed(out, err)
	}
	if slices.ContainsFunc(mod.Tool, func(t struct{ Path string }) bool { return t.Path == staticcheckTool }) {
		out, err := c.run("go", "tool", "staticcheck", "./...")
		if err != nil && unreachable.MatchString(out) {
			return skip("staticcheck", "its modules cannot be downloaded", "run it with a network once")
		}
		return passed(out, err)
	}
	if _, err := exec.LookPath("staticcheck"); err != nil {
		return skip("staticcheck", "it is not installed", "go install "+staticcheckTool+"@latest")
	}
	return passed(c.run("staticcheck", "./..."))
}

// racer reports whether tests can run under the race detector here, which needs
// a C compiler that can link; why says what is missing.
func (c *checks) racer() (ok bool, why string) {
	out, err := c.run("go", "env", "CC")
	if err != nil {
		return false, strings.TrimSpace(out)
	}
	compiler, _, _ := strings.Cut(strings.TrimSpace(out), " ")
	if _, err := exec.LookPath(compiler); err != nil {
		return false, "there is no C compiler"
	}
	// A package of Go itself: that our own do not compile is another step's news.
	if _, err := c.runWith([]string{"CGO_ENABLED=1"}, "go", "test", "-race", "-vet=off", "-run=^$",
		"errors"); err != nil {
		return false, "the C compiler cannot link a program with the race detector"
	}
	return true, ""
}

// poisoned are the folders whose tests run with poisoned requests.
var poisoned = []string{"server", "handlers", "internal/client", "internal/scenario"}

// test runs the tests of all packages but the clients' and those of [checks.poison]
// and [checks.loads], which have steps of their own.
func (c *checks) test() outcome {
	out, err := c.run("go", "list", "./...")
	if err != nil {
		return passed(out, err)
	}
	elsewhere := append([]string{clients}, poisoned...)
	if !c.long {
		elsewhere = append(elsewhere, programs...)
	}
	packages := slices.DeleteFunc(strings.Fields(out), func(p string) bool {
		return slices.ContainsFunc(elsewhere, func(folder string) bool {
			return strings.HasSuffix(p, "/"+folder) || strings.Contains(p, "/"+folder+"/")
		})
	})
	var o outcome
	args, env := c.testing()
	if !c.long {
		args = append(args, "-skip="+loadTests())
	}
	args, env, o.note, o.left = c.racing(args, env)
	o.output, o.err = c.runWith(env, "go", append(args, packages...)...)
	c.passed = o.err == nil
	c.closes(o.output)
	o.note = strings.TrimPrefix(o.note+longest(o.output), ", ")
	o.output = withoutPassed(o.output)
	return o
}

// programs are the folders whose tests start programs that are built without the
// race detector: it sees nothing of what they test.
var programs = []string{"internal/canary", "internal/cmd"}

// loads are tests that take many megabytes through code which other tests have
// under the race detector already. There they take ten times as long, so
// only -long runs them with it.
var loads = map[string][]string{
	"agents/tool/builtin": {"TestREL40ToolFloods", "TestGrepEnginesAgree", "TestGrepEnginesAgreeOnRandomTexts",
		"TestSEC105Bodies", "TestREL80ManyFilesPipesAndHoles"},
	"internal/spine": {"TestREL37StoppedReader", "TestREL37LargeAnswer", "TestREL39QuestionOvertakes",
		"TestREL17And21TenThousandRequests"},
}

// loadTests is a pattern of the names of all loads.
func loadTests() string {
	names := slices.Sorted(maps.Keys(loads))
	for i, folder := range names {
		names[i] = strings.Join(loads[folder], "|")
	}
	return "^(" + strings.Join(names, "|") + ")$"
}

// loads runs what [checks.test] leaves out, without the race detector. With -long
// nothing is left out.
func (c *checks) loads() outcome {
	if c.long {
		return outcome{note: "done with the others"}
	}
	var o outcome
	with := func(args ...string) {
		call, env := c.testing()
		out, err := c.runWith(env, "go", append(call, args...)...)
		c.closes(out)
		o.note += longest(out)
		o.output += withoutPassed(out)
		o.err = errors.Join(o.err, err)
	}
	for _, folder := range slices.Sorted(maps.Keys(loads)) {
		if c.has(folder) {
			with("-run="+loadTests(), "./"+folder)
		}
	}
	for _, folder := range programs {
		if c.has(folder) {
			with("./" + folder + "/...")
		}
	}
	o.note = strings.TrimPrefix(o.note, ", ")
	return o
}

// racing adds the race detector to a call of go test; note and left say whether.
func (c *checks) racing(args, env []string) (with, environ []string, note string, left []leftOut) {
	ok, why := c.racer()
	if !ok {
		return args, env, "", []leftOut{{"the race detector", why,
			"install gcc and the C library's headers (Debian: gcc libc6-dev)"}}
	}
	// A program with the race detector sleeps for a second before it ends, unless
	// it is told not to. Tests start themselves as daemons and commands many times.
	return append(args, "-race"), append(env, "CGO_ENABLED=1", "GORACE=atexit_sleep_ms=0"), "-race", nil
}

// testing returns the call of go test and its environment: with the same order
// and the same seeds each time and fewer samples where a test takes many, or with
// chance and for longer. Vet is a step of its own.
func (c *checks) testing() (args, env []string) {
	// Most tests wait for processes and files more than they compute, so twice as
	// many packages as there are processors go on at once, and as many parallel
	// tests of each. A machine may be busy.
	atOnce := 2 * runtime.NumCPU()
	args = []string{"test", "-count=1", "-vet=off", "-timeout=1h", fmt.Sprintf("-p=%d", atOnce),
		fmt.Sprintf("-parallel=%d", atOnce)}
	if c.long {
		return append(args, "-shuffle=on"),
			[]string{"AGENTLS_SOAK=60s", "AGENTLS_KILLS=60", "AGENTLS_RACE=10s"}
	}
	return append(args, "-short"), []string{"RAPID_SEED=1"}
}

// noNews are lines of go test on packages in which nothing failed, and the
// names that -list finds.
var noNews = regexp.MustCompile(`(?m)^((ok  |\?   )\t.*|Fuzz\w+)\n`)

// withoutPassed returns what go test said of what failed.
func withoutPassed(output string) string { return noNews.ReplaceAllString(output, "") }

// timed is what go test says of a package that passed.
var timed = regexp.MustCompile(`(?m)^ok  \t\S+?/(?:agentls/)?([^/\s]+)\t([\d.]+)s`)

// longest returns which packages took the longest.
func longest(output string) string {
	type took struct {
		name    string
		seconds float64
	}
	var all []took
	for _, m := range timed.FindAllStringSubmatch(output, -1) {
		if seconds, err := strconv.ParseFloat(m[2], 64); err == nil {
			all = append(all, took{m[1], seconds})
		}
	}
	slices.SortStableFunc(all, func(a, b took) int { return cmp.Compare(b.seconds, a.seconds) })
	var out string
	for _, t := range all[:min(len(all), 4)] {
		out += fmt.Sprintf(", %s %.0f s", t.name, t.seconds)
	}
	return out
}

// closing is what go test says last of a package, or of all.
var closing = regexp.MustCompile(`(?m)^(ok|FAIL|--- FAIL:|panic:)([ \t].*)?$`)

// closingLines returns the closing lines of what go test said.
func closingLines(output string) []string { return closing.FindAllString(output, -1) }

// poison runs the tests of what handles requests, under the race detector too, with the
// transport's recycled requests scribbled over, so that one that is kept too long is found. In the same
// run the expected timelines of the scenarios are rewritten and put back: what is
// written must be what was there.
func (c *checks) poison() outcome {
	args, env := c.testing()
	args, env, note, _ := c.racing(args, env)
	args = append(args, "-tags", "jsonrpc2poison")
	for _, folder := range poisoned {
		if c.has(folder) {
			args = append(args, "./"+folder+"/...")
		}
	}
	dir := filepath.Join(c.root, "internal", "scenario", "testdata")
	before, err := readAll(dir)
	if err != nil {
		return passed("", err)
	}
	out, testErr := c.runWith(append(env, "UPDATE=1"), "go", args...)
	c.closes(out)
	out = withoutPassed(out)
	after, err := readAll(dir)
	if err != nil {
		return passed(out, err)
	}
	changed, err := restore(dir, before, after)
	switch {
	case err != nil:
		return passed(out, err)
	case testErr != nil:
		return passed(out, testErr)
	case len(changed) > 0:
		return failed(strings.Join(changed, "\n"),
			"these files would change: run UPDATE=1 go test ./internal/scenario and look at the difference")
	}
	return outcome{note: strings.TrimPrefix(fmt.Sprintf("%s, %d stories", note, len(before)), ", ")}
}

// documents runs every generator of documents: each folder internal/cmd/…doc,
// which takes -check.
func (c *checks) documents() outcome {
	folders, err := filepath.Glob(filepath.Join(c.root, "internal", "cmd", "*doc"))
	if err != nil {
		return passed("", err)
	}
	var o outcome
	for _, folder := range folders {
		out, err := c.run("go", "run", "./internal/cmd/"+filepath.Base(folder), "-check")
		if err != nil {
			o.output += out
			o.err = err
		}
	}
	return o
}

// readAll returns the files below dir by their path; none where dir is not
// there.
func readAll(dir string) (map[string][]byte, error) {
	all := make(map[string][]byte)
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		all[name], err = os.ReadFile(name)
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return all, err
}

// restore puts the files below dir back and returns which of them had changed.
func restore(dir string, before, after map[string][]byte) (changed []string, err error) {
	short := func(name string) string {
		if rel, err := filepath.Rel(dir, name); err == nil {
			return filepath.ToSlash(rel)
		}
		return name
	}
	for name, text := range before {
		if now, ok := after[name]; !ok || !bytes.Equal(now, text) {
			changed = append(changed, short(name))
			err = errors.Join(err, os.WriteFile(name, text, 0o644))
		}
	}
	for name := range after {
		if _, ok := before[name]; !ok {
			changed = append(changed, short(name))
			err = errors.Join(err, os.Remove(name))
		}
	}
	slices.Sort(changed)
	return changed, err
}

// maxBinary is how large the binary may be, in bytes.
const maxBinary = 50_000_000

// binary builds what is shipped, but for the paths in it, and weighs it.
func (c *checks) binary() outcome {
	dir, err := os.MkdirTemp("", "check")
	if err != nil {
		return passed("", err)
	}
	defer os.RemoveAll(dir)
	name := filepath.Join(dir, "agentls")
	// -trimpath, which a release has, would compile all of it a second time, for half a megabyte.
	if out, err := c.run("go", "build", "-ldflags", "-s -w", "-o", name, "./cmd/agentls"); err != nil {
		return passed(out, err)
	}
	info, err := os.Stat(name)
	if err != nil {
		return passed("", err)
	}
	size := fmt.Sprintf("%.1f MB", float64(info.Size())/1e6)
	if info.Size() > maxBinary {
		return failed("", "the stripped binary has %s, more than %d MB: look at what was imported last",
			size, maxBinary/1_000_000)
	}
	return outcome{note: size}
}
