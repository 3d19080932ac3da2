package layering

import (
	"go/ast"
	"regexp"
	"slices"
	"testing"
)

// atTheEdge are the folders that meet the world: the environment, flags and
// exit codes. Everything below them is told what it needs.
var atTheEdge = []string{"cmd", "internal/cmd"}

// worldly are the names that only the edge may use.
var worldly = map[string][]string{
	"os":  {"Getenv", "LookupEnv", "Environ", "ExpandEnv", "Setenv", "Unsetenv", "Clearenv", "Exit", "Args"},
	"log": {"Fatal", "Fatalf", "Fatalln"},
	// A context comes from the request, the connection or the service. Without
	// a parent it would outlive all three.
	"context": {"Background", "TODO"},
}

// TestOnlyTheEdgeMeetsTheWorld holds that environment, exit codes, flags and
// contexts without a parent are under cmd and internal/cmd alone.
func TestOnlyTheEdgeMeetsTheWorld(t *testing.T) {
	ok := excuse("only the edge meets the world", exceptions{
		"internal/process/helper/helper.go":     "a helper runs before main, and is a process of its own: see its package's comment",
		"internal/process/helper/reap_linux.go": "it ends itself when what is below it cannot be killed",
	})
	h := source(t)
	for _, f := range h.files {
		if forTests(f) || withinAny(f.pkg, atTheEdge) {
			continue
		}
		h.names(f, func(pkg, name string, n ast.Node) {
			if slices.Contains(worldly[pkg], name) && !ok.allows(f) {
				t.Errorf("%s: %s.%s is for %v: have it passed as a parameter or in a Config", h.at(n), pkg, name, atTheEdge)
			}
		})
		if slices.Contains(h.imported(f), "flag") {
			t.Errorf("%s imports flag, which is for %v", f.name, atTheEdge)
		}
	}
	ok.finish(t)
}

// minters are who may say that a tool call is permitted.
var minters = []string{"agents/guard", "agents/tool/tooltest"}

// TestOnlyTheGuardPermits holds that a tool's permission is minted where it is
// decided: no other path runs a tool (spec 4.3).
func TestOnlyTheGuardPermits(t *testing.T) {
	h := source(t)
	found := false
	for _, f := range h.files {
		if f.test {
			continue
		}
		h.names(f, func(pkg, name string, n ast.Node) {
			if pkg == "agents/tool" && name == "Mint" {
				found = true
				if !withinAny(f.pkg, minters) {
					t.Errorf("%s: tool.Mint is for %v: ask the guard", h.at(n), minters)
				}
			}
		})
		if f.pkg != "agents/tool" {
			continue
		}
		ast.Inspect(f.File, func(n ast.Node) bool {
			if decl, ok := n.(*ast.FuncDecl); ok && decl.Recv == nil && decl.Name.Name == "Mint" {
				return false
			}
			if id, ok := n.(*ast.Ident); ok && id.Name == "Mint" {
				t.Errorf("%s: a tool does not permit itself: Mint is for %v", h.at(n), minters)
			}
			return true
		})
	}
	if !found {
		t.Error("nobody calls tool.Mint: this test no longer knows what it guards")
	}
}

// TestNoDotImports holds that a call can be told from its text, on which the
// tests of this package rely.
func TestNoDotImports(t *testing.T) {
	for _, f := range source(t).files {
		for _, spec := range f.Imports {
			if spec.Name != nil && spec.Name.Name == "." {
				t.Errorf("%s imports %s with a dot", f.name, spec.Path.Value)
			}
		}
	}
}

// TestEventsTakeTheirTimeFromTheClock holds that agents are told the time: what
// an event says must come from the clock that their Config has.
func TestEventsTakeTheirTimeFromTheClock(t *testing.T) {
	ok := excuse("no time.Now in agents", exceptions{
		"agents/run/clock.go": "how much is left on a timer of the time package; nothing of it is told",
	})
	h := source(t)
	for _, f := range h.files {
		if forTests(f) || !within(f.pkg, "agents") {
			continue
		}
		h.names(f, func(pkg, name string, n ast.Node) {
			if pkg == "time" && slices.Contains([]string{"Now", "Since", "Until"}, name) && !ok.allows(f) {
				t.Errorf("%s: time.%s: take the time from the clock in the Config", h.at(n), name)
			}
		})
	}
	ok.finish(t)
}

// TestREL31EveryGoroutineHasAnOwner holds that goroutines start in a conc.WaitGroup
// that somebody waits for. A go statement says below who waits instead.
func TestREL31EveryGoroutineHasAnOwner(t *testing.T) {
	ok := excuse("no go statements", exceptions{
		"internal/process/helper/relay_linux.go": "connections of a process that is nothing but a relay: they end with it",
		"internal/process/helper/reap_linux.go":  "what kills all when nobody reads the reports: it ends with its process",
		"server/conn.go":                         "the outbox: Serve waits for it by its channel, for a bounded time, since a write to a pipe cannot be interrupted",
		"server/servertest/servertest.go":        "writers of a test's client: the function that starts one receives its result before it returns",
		"cmd/agentls/terminal.go":                "the reader of a terminal: nothing ends such a read but the end of the process",
		"internal/daemon/logins.go":              "a question to a keyring, which cannot be interrupted: who asks waits a bounded time",
		"cmd/agentls/connect.go":                 "the daemon in this process: Close receives its end",
	})
	h := source(t)
	for _, f := range h.files {
		if f.test {
			continue
		}
		ast.Inspect(f.File, func(n ast.Node) bool {
			if _, is := n.(*ast.GoStmt); is && !ok.allows(f) {
				t.Errorf("%s: a go statement: use a conc.WaitGroup that its owner waits for, which recovers panics", h.at(n))
			}
			return true
		})
	}
	ok.finish(t)
}

// TestNoInit holds that nothing happens because a package was imported.
func TestNoInit(t *testing.T) {
	ok := excuse("no init", exceptions{
		"internal/process/helper/helper.go": "a helper must start before other packages are initialised: see its package's comment",
	})
	h := source(t)
	for _, f := range h.files {
		for _, d := range f.Decls {
			fn, is := d.(*ast.FuncDecl)
			if is && !f.test && fn.Recv == nil && fn.Name.Name == "init" && !ok.allows(f) {
				t.Errorf("%s: func init: write what there is as a list that can be read", h.at(fn))
			}
		}
	}
	ok.finish(t)
}

// unfinished is what a person writes who means to come back.
var unfinished = regexp.MustCompile(`\b(TODO|FIXME|XXX)\b`)

// TestNothingIsLeftForLater holds that product code is finished.
func TestNothingIsLeftForLater(t *testing.T) {
	ok := excuse("nothing is left for later", exceptions{
		"internal/modelserver/doc.go": "a script of the example has an agent search for the word",
	})
	h := source(t)
	for _, f := range h.files {
		if f.test {
			continue
		}
		for _, at := range unfinished.FindAllStringIndex(f.text, -1) {
			if !ok.allows(f) {
				t.Errorf("%s: %s", h.at(placed(int(f.FileStart)+at[0])), f.text[at[0]:at[1]])
			}
		}
	}
	ok.finish(t)
}
