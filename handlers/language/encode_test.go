package language

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/workspace"
)

// findings returns handlers of a client that counts in an encoding, and a
// finding about the last two characters of a file whose path is escaped in its
// URI.
func findings(t *testing.T, encoding workspace.Encoding) (*Handlers, definition.Problem) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "an agënt #1.md")
	if err := os.WriteFile(path, []byte("---\nname: é😀xy\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	h := &Handlers{Config: Config{Workspace: new(workspace.Workspace)}}
	if _, err := h.Workspace.Apply(workspace.Negotiated{Encoding: encoding}); err != nil {
		t.Fatal(err)
	}
	return h, definition.Problem{URI: tool.URI(path), Range: definition.Range{
		Start: definition.Position{Line: 1, Character: 9}, End: definition.Position{Line: 1, Character: 11},
	}}
}

// TestColumnsOfFindings: they count what the client agreed to (spec 2.1), also
// in a file whose path is escaped.
func TestColumnsOfFindings(t *testing.T) {
	for encoding, want := range map[workspace.Encoding]uint32{workspace.UTF8: 12, workspace.UTF16: 9, workspace.UTF32: 8} {
		h, p := findings(t, encoding)
		list := []definition.Problem{p}
		h.Encode(list)
		if r := list[0].Range; r.Start.Character != want || r.End.Character != want+2 || r.Start.Line != 1 {
			t.Errorf("%s: %+v, want from column %d", encoding, r, want)
		}
	}
}

// TestColumnsInErrors: so do those in data.problems of an error, and the agent's
// own stay as they are.
func TestColumnsInErrors(t *testing.T) {
	h, p := findings(t, workspace.UTF8)
	own := []definition.Problem{p}
	first := fault.New(fault.Invalid, "a.b", "no").Because(fault.InvalidAgent, "problems", own)
	reason, data := fault.ReasonOf(h.EncodeError(first))
	if got, _ := data["problems"].([]definition.Problem); reason != fault.InvalidAgent || len(got) != 1 || got[0].Range.Start.Character != 12 {
		t.Errorf("the error has %s %+v", reason, data)
	}
	if !reflect.DeepEqual(own[0], p) || &first.Data["problems"].([]definition.Problem)[0] != &own[0] {
		t.Errorf("the agent's own became %+v", own)
	}
	if other := fault.New(fault.Denied, "a.b", "no"); h.EncodeError(other) != error(other) {
		t.Error("another error did not stay as it is")
	}
	if h.EncodeError(nil) != nil {
		t.Error("no error became one")
	}
}
