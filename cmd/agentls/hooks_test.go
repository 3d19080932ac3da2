package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentls/agentls/internal/settings"
)

// TestHooksHeadless: without an editor the same hooks are run, each once where it should,
// for the agent and for one that it delegates to. Where one asks nobody can be asked, and
// the call is refused.
func TestHooksHeadless(t *testing.T) {
	play(t, `# when system contains You lead

> begin
<call delegate_to_agent {"agent_name": "scout", "query": "look"}

>result delegate_to_agent
<call read_file {"file_path": "secret.txt"}

>result-error read_file contains Tool execution denied
< Done.

# when system contains You scout

> look
<call ls {"path": "."}

>result ls
<call complete_task {"result": "seen"}
`)
	dir, home := t.TempDir(), os.Getenv("GEMINI_HOME")
	script := filepath.Join(home, "note.sh")
	hooks := map[string]any{}
	for _, event := range settings.HookEvents() {
		hooks[event] = []any{map[string]any{"hooks": []any{map[string]any{"type": "command", "command": "bash " + script}}}}
	}
	raw, err := json.Marshal(map[string]any{"hooks": hooks})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"settings.json": string(raw),
		"note.sh": `read -r i
case $i in *'"notification_type":"ToolPermission"'*) exit 0 ;; esac # nobody waits for it
field() { [[ $i =~ \"$1\":\"([^\"]*)\" ]] && echo "${BASH_REMATCH[1]}"; }
echo "$(field hook_event_name) $(field agent) $(field tool)" >> "${0%/*}/seen.log"
case $i in *'"file_path":"secret.txt"'*) echo '{"decision": "ask", "reason": "is it yours"}' ;; esac
`,
		"agents/lead.md":  "---\nkind: agent\nname: lead\ntitle: Lead\nmodel: flash\nsubagents: [scout]\n---\nYou lead.\n",
		"agents/scout.md": "---\nkind: agent\nname: scout\ntitle: Scout\ndescription: Looks.\nmodel: flash\ntools: {allow: [ls]}\n---\nYou scout.\n",
	} {
		path := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	code, out, errs := command(t, dir, "run", "lead", "begin", "--trust")
	if code != exitRefused || out != "Done.\n" || !strings.Contains(errs, "asks you: is it yours") {
		t.Errorf("exit %d, stdout %q\n%s", code, out, errs)
	}
	seen, err := os.ReadFile(filepath.Join(home, "seen.log"))
	if err != nil {
		t.Fatal(err)
	}
	const want = `SessionStart lead
BeforeAgent lead
BeforeModel lead
BeforeToolSelection lead
AfterModel lead
BeforeTool lead delegate_to_agent
BeforeAgent scout
BeforeModel scout
BeforeToolSelection scout
AfterModel scout
BeforeTool scout ls
AfterTool scout ls
BeforeModel scout
BeforeToolSelection scout
AfterModel scout
BeforeTool scout complete_task
AfterTool scout complete_task
AfterAgent scout
Notification scout
AfterTool lead delegate_to_agent
BeforeModel lead
BeforeToolSelection lead
AfterModel lead
BeforeTool lead read_file
BeforeModel lead
BeforeToolSelection lead
AfterModel lead
AfterAgent lead
Notification lead
SessionEnd
`
	var got strings.Builder
	for line := range strings.Lines(string(seen)) {
		got.WriteString(strings.TrimSpace(line) + "\n")
	}
	if got.String() != want {
		t.Errorf("hooks were run so:\n%s\nwant\n%s", got.String(), want)
	}
}
