package handlers

import (
	"strings"
	"testing"

	"github.com/agentls/agentls/agents/session"
	"github.com/agentls/agentls/internal/wire"
)

// TestFolderPath: what is trusted is what the URI names, or nothing (spec 4.4).
func TestFolderPath(t *testing.T) {
	for name, want := range map[string]string{
		"file:///w":               "/w",
		"file:/w":                 "/w",
		"file:///w%20%C3%A9/a%23": "/w é/a#",
		"x":                       "",
		"/w":                      "",
		"file:":                   "",
		"file:w":                  "",
		"file://":                 "",
		"file://w":                "",
		"file://host/w":           "",
		"file:///w#a":             "",
		"file:///w?a":             "",
		"file:///w%00":            "",
		"https://example.com/w":   "",
		"untitled:/w":             "",
	} {
		if got, ok := folderPath(name); got != want || ok != (want != "") {
			t.Errorf("%q: %q, %v", name, got, ok)
		}
	}
}

// TestSessionFormIsTheStores holds the check of agents/run, which names the
// member, to the ids that the store of sessions takes.
func TestSessionFormIsTheStores(t *testing.T) {
	for _, id := range []string{
		"main", "a.b", "a.1b", "-", "_", strings.Repeat("a", 64), "run-20260102-030405.000",
		".a", "a.1", "..", "a/b", "a b", "é", "a\n", strings.Repeat("a", 65),
	} {
		p := &wire.RunParams{Session: id, Input: wire.InputBlocks{{Type: "text", Text: "x"}}}
		if _, err := p.Check(); (err == nil) != (session.CheckID(id) == nil) {
			t.Errorf("%q: the parameters say %v, the store %v", id, err, session.CheckID(id))
		}
	}
}
