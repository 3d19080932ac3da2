package replay

import (
	"context"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/agents/tool"
)

// Point is where hooks are run.
// Run is today's id, "" for a point of the session, and then all others but Event are empty.
type Point struct {
	// "" for points of no run.
	Run, Agent string
	// From 1; 0 outside of turns.
	Turn  int
	Event string // as in the settings: BeforeTool
	// The id of the call that it is about; "" for none.
	Call string
}

// Hooked is what hooks decided at a point.
// The decision is that of all of them together; Ran is for the log.
type Hooked struct {
	activity.HookDecision
	// Those that were run there, in the order of the log.
	Ran []RanHook
}

// RanHook is one hook that was run.
// It is told again as it was.
type RanHook struct {
	activity.HookRan
	// How long it took, in ms.
	Ms int64
}

// hookKey names a point of a run, by its recorded ids.
type hookKey struct {
	run, event, call string
	turn             int
}

// HasHooks reports whether hooks of an event were run.
// It does not change while the recording is used.
func (r *Recording) HasHooks(event string) bool { return r.hooked[event] }

// Hook returns what hooks decided at a point; false where none was run. What they changed of
// an answer or a result is in what was recorded of these.
// Each decision is given once, in order. The caller owns the result.
func (r *Recording) Hook(p Point) (Hooked, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := hookKey{event: p.Event, turn: p.Turn}
	if p.Run != "" {
		run := r.meet(model.Asker{Run: p.Run, Agent: p.Agent}, nil)
		if run == nil {
			return Hooked{}, false
		}
		key.run = run.id
		if p.Call != "" {
			key.call = run.id + "#" + place(p.Call)
		}
	}
	list := r.hooks[key]
	if len(list) == 0 {
		return Hooked{}, false
	}
	r.hooks[key] = list[1:]
	was := list[0]
	switch p.Event {
	case "BeforeTool":
		was.Context = nil
	case "AfterTool":
		was.HookDecision = activity.HookDecision{Decision: "allow", Reason: was.Reason, Stop: was.Stop}
	case "AfterModel":
		was.Edited = nil
	}
	return was, true
}

// ServerTools returns the tools of MCP servers that the next run got, and why others were
// left out. They do what was recorded, and ask as they asked then.
// The next run is the first of the current request that has not asked its model yet. servers
// are names, "*" for all; left are the notes of the log. Both are nil where there is no such
// run.
func (r *Recording) ServerTools(servers []string) (tools []tool.Tool, left []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, run := range r.runs {
		if run.now != "" || run.request != r.request || (run.id != r.request && len(run.tools)+len(run.left) == 0) {
			continue
		}
		for _, name := range run.tools {
			server, _, _ := strings.Cut(strings.TrimPrefix(name, "mcp."), ".")
			if slices.Contains(servers, server) || slices.Contains(servers, "*") {
				tools = append(tools, recordedTool{serverTool{name, r.names[name]}, r})
			}
		}
		return tools, run.left
	}
	return nil, nil
}

// serverTool is a tool of an MCP server.
// Its schema and description are not in the log, and no model of a replay reads them.
type serverTool struct{ name, model string }

// notInNames matches a character that names for models do not have.
var notInNames = regexp.MustCompile(`[^A-Za-z0-9_-]`)

// Spec implements [tool.Tool].
func (t serverTool) Spec() tool.Spec {
	name := t.model
	if name == "" { // nobody called it
		name = notInNames.ReplaceAllString(t.name, "_")
	}
	return tool.Spec{Name: t.name, Model: name, Risk: tool.Medium, Description: "A tool of an MCP server.",
		Parameters: json.RawMessage(`{"type": "object"}`)}
}

// Plan implements [tool.Tool]. What the server's settings say of its tools is not in the log,
// so the recorded plan counts.
func (t serverTool) Plan(context.Context, *tool.Env, json.RawMessage) (*tool.Plan, error) {
	return nil, tool.Errorf(tool.CodeInternal, "%s has no plan of its own", t.name)
}
