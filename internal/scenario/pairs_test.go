package scenario_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestREL108ReplayOfPairs: sessions with any two of what makes it hard come out the same when they
// are run again, one after the other in the same session: trees, handoffs, compression,
// guards, graphs, hooks, tools of MCP servers, questions, and words to runs.
func TestREL108ReplayOfPairs(t *testing.T) {
	var script strings.Builder
	script.WriteString("editor\n")
	sections := make(map[string]*strings.Builder)
	n := 0
	for i, one := range requests {
		for _, other := range requests[i:] {
			n++
			session := fmt.Sprintf("s%d", n)
			for part, r := range []request{one, other} {
				fill := strings.NewReplacer("SESSION", session, "№", fmt.Sprintf("%d-%d", n, part))
				script.WriteString(fill.Replace(r.steps))
				for who, says := range r.models {
					if sections[who] == nil {
						sections[who] = new(strings.Builder)
					}
					sections[who].WriteString(fill.Replace(says))
				}
			}
		}
	}
	script.WriteString("shutdown\n\n" + world + "-- model --\n")
	for who, says := range sections {
		fmt.Fprintf(&script, "# when system contains %s\n\n%s", who, says)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "pairs.txtar"), []byte(script.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		verified.Lock()
		defer verified.Unlock()
		if got := verified.of["pairs"]; got != n && !t.Failed() {
			t.Errorf("%d of %d sessions come out the same when they are run again", got, n)
		}
	})
	testscript.Run(t, stories(t, dir))
}

// request is something that a session has: the steps of the story, and what models answer, by
// who is asked.
type request struct {
	steps  string
	models map[string]string
}

var requests = []request{
	{"run -session SESSION lead 'Ask one №'\nstdout 'One №'\n", map[string]string{
		"You lead":  "> Ask one №\n<call delegate_to_agent {\"agent_name\": \"scout\", \"query\": \"part of №\"}\n\n>result delegate_to_agent\n< One №.\n\n",
		"You scout": "> part of №\n<call complete_task {\"result\": \"found №\"}\n\n",
	}},
	{"run -session SESSION lead 'Ask two №'\nstdout 'Two №'\n", map[string]string{
		"You lead": "> Ask two №\n<call delegate_to_agent {\"agent_name\": \"fixer\", \"query\": \"left of №\"}\n" +
			"<call delegate_to_agent {\"agent_name\": \"reviewer\", \"query\": \"right of №\"}\n\n>result delegate_to_agent\n< Two №.\n\n",
		"You fix":    "> left of №\n<call complete_task {\"result\": \"left №\"}\n\n",
		"You review": "> right of №\n<call complete_task {\"result\": \"right №\"}\n\n",
	}},
	{"run -session SESSION debugger 'Find №'\nstdout 'Fixed №'\n", map[string]string{
		"You debug": "> Find №\n<call transfer_to_fixer {\"reason\": \"it is №\"}\n\n",
		"You fix":   "> Find №\n< Fixed №.\n\n",
	}},
	{"run -session SESSION judged 'Be short №'\nstdout 'ok №'\n", map[string]string{
		"You are judged": "> Be short №\n< It is a long story, that of №.\n\n> are allowed\n< ok №\n\n",
	}},
	{"run -session SESSION strict 'Be good №'\nstdout 'GUARDRAIL'\n", map[string]string{
		"You are strict": "> Be good №\n< This is much too long for №.\n\n",
	}},
	{"run -session SESSION flow 'Break №'\nstdout 'Reviewed №'\n", map[string]string{
		"You analyse": "> Break №\n<call complete_task {\"result\": {\"analysis\": {\"ok\": true, \"what\": \"№\"}}}\n\n",
		"You fix":     "> Fix №.\n<call complete_task {\"result\": \"fixed №\"}\n\n> Write №.\n<call complete_task {\"result\": \"written №\"}\n\n",
		"You review":  "> Review fixed №\n<call complete_task {\"result\": \"Reviewed №\"}\n\n",
	}},
	{"reply 'do it'\nrun -session SESSION flow 'Ask about №'\nstdout 'Reviewed №'\n", map[string]string{
		"You analyse": "> Ask about №\n<call complete_task {\"result\": {\"analysis\": {\"ok\": false, \"what\": \"№\"}}}\n\n",
		"You fix":     "> Fix №.\n<call complete_task {\"result\": \"fixed №\"}\n\n> Write №.\n<call complete_task {\"result\": \"written №\"}\n\n",
		"You review":  "> Review fixed №\n<call complete_task {\"result\": \"Reviewed №\"}\n\n",
	}},
	{"run -session SESSION chat 'Tell №'\nrun -session SESSION chat 'Go on №'\nrequest agents/session/compress '{\"session\": \"SESSION\", \"agent\": \"chat\", \"force\": true}'\nstdout COMPRESSED\n", map[string]string{
		"You talk": "> Tell №\n< Once №.\n<repeat 300 word {},\\s\n\n> Go on №\n< And №.\n<repeat 300 word {},\\s\n\n",
		"You write the memory": ">body Tell №\n< <state_snapshot><overall_goal>Tell №</overall_goal><key_knowledge>№</key_knowledge><file_system_state>none</file_system_state>" +
			"<recent_actions>told</recent_actions><current_plan>1. go on</current_plan></state_snapshot>\n\n",
	}},
	{"reply once\nrun -session SESSION chat 'Write №'\nstdout 'Wrote №'\nreply reject\nrun -session SESSION chat 'Spoil №'\nstdout 'Left №'\n", map[string]string{
		"You talk": "> Write №\n<call write_file {\"file_path\": \"№.txt\", \"content\": \"№\"}\n\n>result write_file\n< Wrote №.\n\n" +
			"> Spoil №\n<call write_file {\"file_path\": \"№-2.txt\", \"content\": \"№\"}\n\n>result-error write_file\n< Left №.\n\n",
	}},
	{"run -session SESSION chat 'List №'\nstdout 'No list №'\n", map[string]string{
		"You talk": "> List №\n<call glob {\"pattern\": \"№*\"}\n\n>result-error glob contains not today\n< No list №.\n\n",
	}},
	{"reply once\nrun -session SESSION asker 'Pull №'\nstdout 'Pulled №'\n", map[string]string{
		"You ask": "> Pull №\n<call mcp_github_get_pull_request {\"number\": 1}\n\n>result mcp_github_get_pull_request\n< Pulled №.\n\n",
	}},
	{"start -session SESSION -run w№ chat 'Think №'\nawait gate g№\nsteer w№ 'be quick №'\ngate g№\nawait run w№\nstdout 'Quick №'\n", map[string]string{
		"You talk": "> Think №\n< Slow.\n<gate g№\n\n> be quick №\n< Quick №.\n\n",
	}},
}

// world is what the sessions of pairs are made with.
const world = `-- home/settings.json --
{
  "hooks": {"BeforeTool": [{"matcher": "^glob$", "hooks": [{"type": "command", "name": "no", "command": "cat > /dev/null; echo '{\"decision\": \"deny\", \"reason\": \"not today\"}'"}]}]},
  "mcpServers": {"github": {"command": "bash", "args": ["../server.sh"]}},
}
-- server.sh --
while read -r line; do
  [[ $line =~ \"id\":([0-9]+) ]] || continue
  id=${BASH_REMATCH[1]}
  case $line in
  *'"method":"initialize"'*) result='{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"GitHub","version":"1.0"}}' ;;
  *'"method":"tools/list"'*) result='{"tools":[{"name":"get_pull_request","description":"Gets a pull request.","inputSchema":{"type":"object","properties":{"number":{"type":"integer"}}}}]}' ;;
  *'"method":"tools/call"'*) result='{"content":[{"type":"text","text":"PR 1: Renames a file."}]}' ;;
  *) echo '{"jsonrpc":"2.0","id":'$id',"error":{"code":-32601,"message":"unknown"}}'; continue ;;
  esac
  echo '{"jsonrpc":"2.0","id":'$id',"result":'$result'}'
done
-- work/notes.txt --
Notes.
-- work/.gemini/agents/lead.md --
---
kind: agent
name: lead
title: Lead
model: flash
subagents: [scout, fixer, reviewer]
---
You lead.
-- work/.gemini/agents/scout.md --
---
kind: agent
name: scout
title: Scout
description: Scouts.
model: flash
---
You scout.
-- work/.gemini/agents/debugger.md --
---
kind: agent
name: debugger
title: Debugger
description: Debugs.
model: flash
handoffs: [{to: fixer}]
---
You debug.
-- work/.gemini/agents/fixer.md --
---
kind: agent
name: fixer
title: Fixer
description: Fixes.
model: flash
---
You fix.
-- work/.gemini/agents/reviewer.md --
---
kind: agent
name: reviewer
title: Reviewer
description: Reviews.
model: flash
---
You review.
-- work/.gemini/agents/judged.md --
---
kind: agent
name: judged
title: Judged
model: flash
guardrails: {on_failure: repair, custom_validator: "builtin:max-length(10)"}
---
You are judged.
-- work/.gemini/agents/strict.md --
---
kind: agent
name: strict
title: Strict
model: flash
guardrails: [{name: short, validator: "expr:len(output) < 3"}]
---
You are strict.
-- work/.gemini/agents/chat.md --
---
kind: agent
name: chat
title: Chat
model: flash
---
You talk.
-- work/.gemini/agents/asker.md --
---
kind: agent
name: asker
title: Asker
model: flash
mcp:
  servers: [github]
---
You ask.
-- work/.gemini/agents/analyzer.md --
---
kind: agent
name: analyzer
title: Analyzer
model: flash
output: {schema: {type: object, properties: {analysis: {type: object}}, required: [analysis]}}
---
You analyse.
-- work/.gemini/agents/flow.md --
---
kind: agent
name: flow
title: Flow
model: flash
graph:
  entry: analyzer
  nodes:
    - {name: analyzer, agent: analyzer}
    - {name: ask, human: "It is ${analysis.what}. What now?"}
    - {name: fixer, agent: fixer, input: "Fix ${analysis.what}."}
    - {name: notes, tool: read_file, input: {file_path: notes.txt}}
    - {name: docs, agent: fixer, input: "Write ${analysis.what}."}
    - {name: reviewer, agent: reviewer, input: "Review ${fixer}"}
  edges:
    - {from: analyzer, to: fixer, condition: analysis.ok}
    - {from: analyzer, to: ask, else: true}
    - {from: ask, to: fixer}
    - {from: fixer, to: notes}
    - {from: fixer, to: docs}
    - {from: notes, to: reviewer}
    - {from: docs, to: reviewer}
    - {from: reviewer, to: END}
  state: {analysis: {reducer: last}}
---
`
