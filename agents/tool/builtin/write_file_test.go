package builtin_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/agents/tool/tooltest"
)

// TestREL79ReadOnlyFilesAreRefusedBeforeAPersonIsAsked: the bit says what the
// person wants, whoever the daemon runs as. A buffer is the editor's to save.
func TestREL79ReadOnlyFilesAreRefusedBeforeAPersonIsAsked(t *testing.T) {
	w := tooltest.New(t, map[string]string{"a.txt": "one\n"})
	if err := os.Chmod(w.Path("a.txt"), 0o444); err != nil {
		t.Fatal(err)
	}
	env := w.Env()
	call(t, env, "read_file", "file_path", "a.txt")
	for name, pairs := range map[string][]any{
		"edit_file":  {"file_path", "a.txt", "old_string", "one", "new_string", "two"},
		"write_file": {"file_path", "a.txt", "content", "two\n"},
	} {
		if _, err := named(t, name).Plan(t.Context(), env, json.RawMessage(args(t, pairs...))); tooltest.Code(err) != tool.CodeDenied || !strings.Contains(err.Error(), "read-only") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if w.Text("a.txt") != "one\n" {
		t.Errorf("it holds %q", w.Text("a.txt"))
	}
	w.Edit("a.txt", "in the editor\n")
	call(t, env, "read_file", "file_path", "a.txt")
	call(t, env, "edit_file", "file_path", "a.txt", "old_string", "in", "new_string", "of")
}
