package layering

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// floors is the plan of the module. A package may import those on floors below
// its own, and nothing else of this module; two on one floor do not know each
// other. A package that has no floor fails the test, and so does a row without
// a package. A name that ends in /* stands for each folder below it.
var floors = [][]string{
	{"internal/proxy/relay"},
	{"internal/process/helper", "internal/folder", "internal/settings", "internal/spelling"},
	{"internal/fault", "internal/mask", "internal/watchdog", "internal/modelserver", "internal/pattern", "internal/process", "internal/dial", "internal/filelock", "internal/collector", "internal/cmd/documents"},
	{"internal/proxy", "internal/git", "agents/condition"},
	{"internal/sandbox", "agents/graph"},
	{"agents/model", "agents/definition", "agents/loop", "agents/mention", "agents/prompt", "agents/memory", "workspace"},
	{"agents/activity", "agents/registry", "agents/route", "agents/model/gemini", "agents/model/modeltest", "agents/compression", "agents/template", "agents/explanation", "agents/memory/memorytest"},
	{"agents/trace", "agents/memory/local", "agents/memory/redis"},
	{"internal/wire", "internal/faults", "agents/change", "agents/tool", "agents/session", "agents/snapshot"},
	{"server", "server/servertest", "internal/client", "internal/chat", "agents/trace/export", "agents/tool/command", "agents/credential", "agents/guard", "agents/handoff", "agents/guardrail", "agents/tool/tooltest", "agents/exchange", "extensions/command", "extensions/skill"},
	{"agents/tool/builtin", "agents/run", "agents/authority", "agents/language", "agents/agenttest", "agents/replay"},
	{"agents", "extensions/mcp", "extensions/hook"},
	{"handlers/language", "extensions/bundle"},
	{"handlers", "internal/editortest"},
	{"internal/daemon"},
	{"internal/verify", "internal/testrun"},
	{"cmd/agentls", "internal/scenario", "internal/spine", "internal/clienttest", "internal/canary", "internal/layering", "internal/cmd/*"},
}

// promised are rows of the plan whose package need not be there.
var promised = []string{"agents/explanation", "agents/tool/tooltest", "internal/clienttest", "internal/mask", "internal/faults", "agents/change", "internal/watchdog"}

// whole are the packages that try the whole module from outside, and its tools.
var whole = []string{"internal/scenario", "internal/spine", "internal/clienttest", "internal/canary", "internal/cmd"}

// kits are packages that are there for tests. A test imports them from any
// floor; product code does not import them at all, but for who is named.
var kits = map[string][]string{
	"internal/modelserver":     and("cmd/agentls"), // the demo plays a script
	"internal/canary":          {},
	"internal/editortest":      and(),
	"internal/faults":          and(),
	"server/servertest":        and(),
	"agents/model/modeltest":   {},
	"agents/memory/memorytest": {},
	"agents/tool/tooltest":     {},
}

// forTests reports whether a file is a test's, or of a kit that only tests have.
func forTests(f *file) bool {
	_, kit := kits[f.pkg]
	return f.test || (kit && f.pkg != "internal/modelserver") // the demo has it
}

// doors says who alone may import a package: from outside in tests too, so that
// a test cannot know what its package does not; one of ours in product code.
var doors = map[string][]string{
	"google.golang.org/genai":       {"agents/model/gemini", "internal/spine"}, // the spine is measured against it
	"github.com/fsnotify/fsnotify":  {"workspace"},
	"code.dny.dev/ssrf":             {"internal/dial"},
	"github.com/mark3labs/mcp-go":   {"extensions/mcp"},
	"github.com/BurntSushi/toml":    {"extensions/command"},
	"github.com/zalando/go-keyring": {"internal/daemon"},

	"github.com/JohannesKaufmann/html-to-markdown": {"agents/tool/builtin"},
	"github.com/tailscale/hujson":                  {"workspace"},
	"mvdan.cc/sh":                                  {"agents/tool/command"},
	"github.com/expr-lang/expr":                    {"agents/condition"},
	"modernc.org/sqlite":                           {"agents/memory/local"},
	"github.com/gomodule/redigo":                   {"agents/memory/redis"},
	"charm.land/bubbletea":                         {"cmd/agentls", "internal/chat"},
	"github.com/yuin/goldmark":                     {"internal/chat"},
	"github.com/spf13/cobra":                       {"cmd/agentls"},
	"go.lsp.dev/jsonrpc2":                          and("server", "handlers", "internal/wire", "internal/client", "internal/editortest", "cmd/agentls", "internal/verify", "internal/testrun"),
	"go.lsp.dev/protocol":                          and("server", "handlers", "internal/wire", "internal/client", "internal/editortest", "cmd/agentls", "internal/verify", "internal/testrun"),
	"go.lsp.dev/uri":                               and("workspace", "handlers", "internal/editortest", "cmd/agentls", "internal/verify", "internal/testrun"),

	"internal/client": and("cmd/agentls", "internal/verify", "internal/testrun", "internal/editortest"),
	"internal/daemon": and("cmd/agentls", "internal/verify", "internal/testrun"),
}

// and returns the given packages and those that try the whole module.
func and(more ...string) []string { return append(more, whole...) }

// wall is what does not see what, whatever their floors, in tests as well.
type wall struct{ from, to, why string }

var walls = []wall{
	{"agents", "workspace", "an agent reads files through interfaces that it declares"},
	{"agents", "server", "an agent does not know that there is a wire"},
	{"agents", "internal/wire", "an agent does not know that there is a wire"},
	{"agents", "internal/client", "an agent does not know that there is a wire"},
	{"agents", "go.lsp.dev", "an agent does not know that there is an editor"},
	{"agents", "extensions", "extensions are added to agents, not asked for by them"},
	{"workspace", "agents", "the workspace is there without agents"},
	{"workspace", "go.lsp.dev/protocol", "the workspace is files, not messages"},
	{"workspace", "go.lsp.dev/jsonrpc2", "the workspace is files, not messages"},
	{"server", "agents", "a connection knows no feature"},
	{"server", "workspace", "a connection knows no feature"},
	{"server", "handlers", "a connection knows no feature: its rows are given to it"},
	{"server", "extensions", "a connection knows no feature"},
	{"extensions", "server", "an extension contributes tools, not methods"},
	{"extensions", "workspace", "an extension is not a client"},
}

// TestFloors holds every package to its floor.
func TestFloors(t *testing.T) {
	h := source(t)
	rows := make(map[string]bool)     // rows of the plan that a package has
	homeless := make(map[string]bool) // packages that were told of
	for _, f := range h.files {
		here, row := floorOf(f.pkg)
		rows[row] = true
		if here < 0 {
			if !homeless[f.pkg] {
				homeless[f.pkg] = true
				t.Errorf("%s has no floor: give it one in floors", f.pkg)
			}
			continue
		}
		for _, imp := range h.imported(f) {
			if f.test && (imp == f.pkg || kits[imp] != nil) {
				continue
			}
			if there, row := floorOf(imp); row != "" && there >= here {
				t.Errorf("%s: %s (floor %d) imports %s (floor %d), which is not below it", f.name, f.pkg, here, imp, there)
			}
		}
	}
	for _, floor := range floors {
		for _, row := range floor {
			if !rows[row] && !strings.HasSuffix(row, "/*") && !slices.Contains(promised, row) {
				t.Errorf("the plan has a row for %s, which does not exist", row)
			}
		}
	}
}

// floorOf returns a package's floor and its row of the plan; -1 and "" for one
// that has none.
func floorOf(pkg string) (int, string) {
	for n, names := range floors {
		for _, row := range names {
			folder, any := strings.CutSuffix(row, "/*")
			if pkg == row || (any && pkg != folder && within(pkg, folder)) {
				return n, row
			}
		}
	}
	return -1, ""
}

// TestDoors holds libraries, and what is there for tests, to those who may
// import them.
func TestDoors(t *testing.T) {
	h := source(t)
	opened := make(map[string]bool)
	for _, f := range h.files {
		for _, imp := range h.imported(f) {
			for door, who := range doors {
				if !within(imp, door) || f.pkg == door {
					continue
				}
				opened[door] = true
				_, row := floorOf(door)
				if ours := row != ""; ours && f.test {
					continue
				}
				if !withinAny(f.pkg, who) {
					t.Errorf("%s imports %s, which is for %v only", f.name, imp, who)
				}
			}
			if who, kit := kits[imp]; kit && !f.test && !withinAny(f.pkg, who) {
				t.Errorf("%s imports %s, which is for tests and %v", f.name, imp, who)
			}
		}
	}
	for _, door := range slices.Sorted(maps.Keys(doors)) {
		if !opened[door] {
			t.Errorf("nobody imports %s: take it from doors", door)
		}
	}
}

// reading are the packages that know what lies on the disk and what is made of it. The
// command line asks the daemon for that, but for what ownReading says.
var reading = []string{"workspace", "agents/definition", "agents/exchange", "agents/registry", "agents/authority"}

// ownReading has the files of the command line that import what is in reading, with why.
var ownReading = map[string]string{
	"cmd/agentls/complete.go":   "the names of the built-in tools, for a shell",
	"cmd/agentls/edit.go":       "it is an editor: it reads and writes the file itself, without following a link",
	"cmd/agentls/export.go":     "the names of other tools",
	"cmd/agentls/import.go":     "the names of other tools and their folders, for help and reports",
	"cmd/agentls/explain.go":    "prints and compares the daemon's explanations",
	"cmd/agentls/logfile.go":    "the log is there before the daemon, and is written to a file of the person's only",
	"cmd/agentls/test_watch.go": "watches files of tests, which each get a daemon of their own",
}

// TestCommandLineAsks holds the command line to being a client: what lies on the disk it
// asks the daemon for.
func TestCommandLineAsks(t *testing.T) {
	h := source(t)
	needed := make(map[string]bool)
	for _, f := range h.packages()["cmd/agentls"] {
		for _, imp := range h.imported(f) {
			if f.test || !slices.Contains(reading, imp) {
				continue
			}
			needed[f.name] = true
			if ownReading[f.name] == "" {
				t.Errorf("%s imports %s: ask the daemon, or say why not in ownReading", f.name, imp)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(ownReading)) {
		if !needed[name] {
			t.Errorf("%s reads nothing itself: take it from ownReading", name)
		}
	}
}

// TestWalls holds apart what must not see each other.
func TestWalls(t *testing.T) {
	h := source(t)
	for _, f := range h.files {
		for _, imp := range h.imported(f) {
			for _, w := range walls {
				putIn := f.test && w.from == "extensions" && w.to == "workspace" // as the daemon does
				if within(f.pkg, w.from) && within(imp, w.to) && !putIn {
					t.Errorf("%s imports %s: %s", f.name, imp, w.why)
				}
			}
			if imp == "agents" && f.pkg != "agents" && within(f.pkg, "agents") {
				t.Errorf("%s imports %s: a part does not know the whole that it is put into", f.name, imp)
			}
		}
	}
}

// TestNoCircle holds that the rooms of the module (server, handlers, workspace,
// agents with all that is below it, each package of internal) can be put in an
// order in which each sees only those before it.
func TestNoCircle(t *testing.T) {
	h := source(t)
	sees := make(map[string]map[string]bool)
	for _, f := range h.files {
		if f.test {
			continue
		}
		from := room(f.pkg)
		if sees[from] == nil {
			sees[from] = make(map[string]bool)
		}
		for _, imp := range h.imported(f) {
			if to := room(imp); to != from && imp != "" {
				if _, row := floorOf(imp); row != "" {
					sees[from][to] = true
				}
			}
		}
	}
	const (
		open = iota + 1
		done
	)
	state := make(map[string]int)
	var visit func(at string, way []string)
	visit = func(at string, way []string) {
		way = append(way, at)
		if state[at] == open {
			t.Errorf("a circle: %s", strings.Join(way[slices.Index(way, at):], " → "))
			return
		}
		if state[at] == done {
			return
		}
		state[at] = open
		for _, next := range slices.Sorted(maps.Keys(sees[at])) {
			visit(next, way)
		}
		state[at] = done
	}
	for _, at := range slices.Sorted(maps.Keys(sees)) {
		visit(at, nil)
	}
}

// room returns the room that a package is in: its first folder, two for what is
// below internal.
func room(pkg string) string {
	first, rest, _ := strings.Cut(pkg, "/")
	if first == "internal" {
		second, _, _ := strings.Cut(rest, "/")
		return first + "/" + second
	}
	return first
}
