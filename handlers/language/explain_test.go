package language

import (
	"os"
	"testing"
	"time"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/workspace"
)

// TestExplainedText: lines are told of the text that an agent was read from, and of
// no other.
func TestExplainedText(t *testing.T) {
	const file, typed, saved = ".gemini/agents/fix.md", "\n" + fixAgent, "\n\n" + fixAgent
	h, named := authored(t, map[string]string{file: fixAgent})
	catalog, err := h.Catalog(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	entry, err := catalog.Lookup("", "fix")
	if err != nil {
		t.Fatal(err)
	}
	check := func(what string, s *workspace.Snapshot, wantOpen, wantListed string) {
		t.Helper()
		a := &Query{h: h, Snapshot: s, Catalog: catalog, encoding: s.Encoding()}
		f, ok := a.file(named(file))
		if !ok {
			t.Fatal("no file")
		}
		for _, c := range []struct {
			d    *definition.Definition
			want string
		}{{f.Definition, wantOpen}, {entry.Definition, wantListed}} {
			if got := a.textOf(c.d); got != c.want {
				t.Errorf("%s: of %s %q, want %q", what, c.d.Digest[:4], got, c.want)
			}
		}
	}
	check("closed", h.Workspace.Snapshot(), fixAgent, fixAgent)
	s := h.now(t, workspace.Opened{URI: named(file), LanguageID: "markdown", Version: 1, Text: fixAgent})
	check("open", s, fixAgent, fixAgent)
	s = h.now(t, workspace.Edited{URI: named(file), Version: 2, Edits: []workspace.Edit{{Range: new(workspace.Range), Text: "\n"}}})
	check("changed", s, typed, fixAgent)
	if err := os.WriteFile(named(file).FsPath(), []byte(saved), 0o600); err != nil {
		t.Fatal(err)
	}
	check("another on the disk, and not read yet", s, typed, "")
	a := &Query{h: h, Snapshot: s}
	if got := a.textOf(&definition.Definition{Name: "main"}); got != "" {
		t.Errorf("of what is built in: %q", got)
	}
}

// TestTook: a time in a few characters.
func TestTook(t *testing.T) {
	for d, want := range map[time.Duration]string{3100 * time.Millisecond: "3.1 s", 2 * time.Minute: "2m", 130 * time.Second: "2m10s", time.Hour: "1h0m", 80*time.Second + 100*time.Millisecond: "1m20s"} {
		if got := took(d); got != want {
			t.Errorf("%v is %s, want %s", d, got, want)
		}
	}
}
