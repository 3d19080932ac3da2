package scenario_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/internal/editortest"
	"github.com/agentls/agentls/internal/modelserver"
	"github.com/agentls/agentls/internal/wire"
)

// stopping is a state in which a run is stopped.
type stopping struct {
	model   string // what the model says until then
	before  string // a request that is made before, "" for none
	settle  string // settings of the person
	replies []editortest.Reply
	reached func(context.Context, *editortest.Editor, *modelserver.Server) error
	after   string // what the next request must find in the conversation, as the model's script has it
	process bool   // the file pid has a process that must be gone
	front   string // of the agent's file
	rest    string // that the model is asked to the end of the story
}

// seen waits for an event of the run that has a text.
func seen(kind, text string) func(context.Context, *editortest.Editor, *modelserver.Server) error {
	return func(ctx context.Context, e *editortest.Editor, _ *modelserver.Server) error {
		return e.Await(ctx, func(v editortest.Seen) bool {
			for _, a := range v.Events {
				if a.Run == "stopped" && a.Type == kind && strings.Contains(string(a.Data), text) {
					return true
				}
			}
			return false
		})
	}
}

// below waits for an event of a run that the run started.
func below(kind, text string) func(context.Context, *editortest.Editor, *modelserver.Server) error {
	return func(ctx context.Context, e *editortest.Editor, _ *modelserver.Server) error {
		return e.Await(ctx, func(v editortest.Seen) bool {
			for _, a := range v.Events {
				if a.ParentRun == "stopped" && a.Type == kind && strings.Contains(string(a.Data), text) {
					return true
				}
			}
			return false
		})
	}
}

// delegates is what the model says to have another agent wait.
const delegates = "> stop here\n<call delegate_to_agent {\"agent_name\": \"another\", \"query\": \"wait here\"}\n\n> wait here\n"

// at waits until the model is asked what is behind a gate of its script.
func at(gate string) func(context.Context, *editortest.Editor, *modelserver.Server) error {
	return func(ctx context.Context, _ *editortest.Editor, m *modelserver.Server) error {
		select {
		case <-m.GateReached(gate):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

var stops = map[string]stopping{
	"thinking":  {model: "> stop here\n<gate g\n< Never.\n", reached: at("g"), after: ">history stop here\n"},
	"streaming": {model: "> stop here\n< I begin\n<gate g\n< and never end.\n", reached: seen("content.delta", "I begin"), after: ">history stop here\n"},
	"asking": {
		model: "> stop here\n<call write_file {\"file_path\": \"x.txt\", \"content\": \"x\"}\n", reached: seen("confirmation.asked", ""),
		after: ">history cancelled by user\n",
	},
	"asked by the agent": {
		model: "> stop here\n<call ask_user {\"question\": \"Which?\"}\n", reached: seen("run.state", `"to":"waiting"`), after: ">history cancelled by user\n",
	},
	"a tool": {
		model:   "> stop here\n<call bash {\"command\": \"(trap '' TERM; echo $BASHPID > pid; while :; do sleep 1; done) & while [ ! -s pid ]; do :; done; echo started; wait\"}\n",
		replies: []editortest.Reply{{Choice: "once"}}, reached: seen("tool.delta", "started"), after: ">history cancelled by user\n", process: true,
	},
	"tools, one of which asks": {
		model:   "> stop here\n<call bash {\"command\": \"echo started; sleep 1000\"}\n<call write_file {\"file_path\": \"x.txt\", \"content\": \"x\"}\n",
		replies: []editortest.Reply{{Choice: "once"}}, reached: seen("tool.delta", "started"), after: ">history cancelled by user\n",
	},
	"a wait before a retry": {
		model: "> stop here\n<status 429 retry-after=45 slow down\n", reached: seen("retry", ""), after: ">history stop here\n",
	},
	"compaction": {
		before: "fill", settle: `{"agents": {"maxContextTokens": 1000}}`,
		model: "> fill\n<repeat 300 word {},\\s\n<usage in=900 out=10\n\n>system You write the memory of an agent\n<gate g\n< Never.\n",
		rest:  "\n>system You write the memory of an agent\n< <state_snapshot><overall_goal>stop here</overall_goal><key_knowledge>k</key_knowledge><file_system_state>none</file_system_state><recent_actions>a</recent_actions><current_plan>[TODO] go on</current_plan></state_snapshot>\n<usage in=100 out=10\n",
		after: ">history stop here\n", reached: at("g"),
	},
	"a child that thinks": {
		front: "subagents: [another]\n", model: delegates + "<gate g\n< Never.\n", reached: at("g"), after: ">history cancelled by user\n",
	},
	"a child that streams": {
		front: "subagents: [another]\n", model: delegates + "< I begin\n<gate g\n< and never end.\n", reached: below("content.delta", "I begin"), after: ">history cancelled by user\n",
	},
	"a child that asks": {
		front: "subagents: [another]\n", model: delegates + "<call write_file {\"file_path\": \"x.txt\", \"content\": \"x\"}\n",
		reached: below("confirmation.asked", `"agentPath":["worker","another"]`), after: ">history cancelled by user\n",
	},
	"a child's tool": {
		front:   "subagents: [another]\n",
		model:   delegates + "<call bash {\"command\": \"(trap '' TERM; echo $BASHPID > pid; while :; do sleep 1; done) & while [ ! -s pid ]; do :; done; echo started; wait\"}\n",
		replies: []editortest.Reply{{Choice: "once"}}, reached: below("tool.delta", "started"), after: ">history cancelled by user\n", process: true,
	},
	"paused": {
		model: "> stop here\n<call ls {\"dir_path\": \".\"}\n<usage in=200 out=20\n", reached: seen("run.state", `"to":"paused"`), after: ">history stop here\n",
	},
}

// TestREL127StopInEveryState: a run that is stopped ends ABORTED wherever it
// stands; what was said meanwhile is kept; nothing that it started lives on; the
// conversation is one that a model takes, and the next run goes on in it.
func TestREL127StopInEveryState(t *testing.T) {
	for name, c := range stops {
		t.Run(name, func(t *testing.T) {
			script, err := modelserver.Parse(c.model + c.rest + "\n> go on\n" + c.after + ">history and mind this\n< Went on.\n")
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			limit := c.front
			if name == "paused" {
				limit = "run: {max_tokens: 100}\n"
			}
			files := map[string]string{
				"work/.gemini/agents/worker.md":  "---\nkind: agent\nname: worker\ntitle: W\nmodel: flash\n" + limit + "---\nYou work.\n",
				"home/settings.json":             cmp.Or(c.settle, `{"tools": {"sandbox": {"mode": "off"}}}`),
				"work/.gemini/agents/another.md": "---\nkind: agent\nname: another\ntitle: A\nmodel: flash\ntools: {allow: [write_file, bash]}\n---\nYou wait.\n",
			}
			for file, text := range files {
				write(t, filepath.Join(dir, file), text)
			}
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			model := modelserver.New(modelserver.Config{Script: script})
			editor, leave := edit(ctx, t, dir, model, "")
			for _, r := range c.replies {
				editor.Answer(r)
			}
			say := func(id, text string) (*wire.RunResult, error) {
				return editor.Run(ctx, &wire.RunParams{Agent: "worker", Run: id, Input: wire.InputBlocks{{Type: "text", Text: text}}})
			}
			if c.before != "" {
				if _, err := say("before", c.before); err != nil {
					t.Fatal(err)
				}
			}
			ended := make(chan error, 1)
			result := new(wire.RunResult)
			go func() {
				r, err := say("stopped", "stop here")
				if err == nil {
					*result = *r
				}
				ended <- err
			}()
			if err := c.reached(ctx, editor, model); err != nil {
				t.Fatal(err)
			}
			p := &wire.SteerParams{Run: "stopped", Input: wire.InputBlocks{{Type: "text", Text: "and mind this"}}}
			if err := editor.Call(ctx, wire.MethodSteer, p, new(wire.SteerResult)); err != nil {
				t.Fatal(err)
			}
			var cancelled wire.CancelResult
			for range 2 { // it is idempotent
				if err := editor.Call(ctx, wire.MethodCancel, &wire.CancelParams{Run: "stopped"}, &cancelled); err != nil {
					t.Fatal(err)
				}
			}
			if err := <-ended; err != nil || result.Reason != activity.Aborted {
				t.Fatalf("the run ended %+v, %v", result, err)
			}
			if name == "paused" { // with a limit that its context does not meet at once
				write(t, filepath.Join(dir, "work/.gemini/agents/worker.md"), strings.Replace(files["work/.gemini/agents/worker.md"], limit, "", 1))
				if err := editor.Await(ctx, func(v editortest.Seen) bool { return v.Catalog > 0 }); err != nil {
					t.Fatal(err)
				}
			}
			model.Open("g") // what waits behind it has gone
			if next, err := say("next", "go on"); err != nil || next.Reason != activity.Goal || next.Text != "Went on." {
				t.Errorf("the next run ended %+v, %v", next, err)
			}
			if _, err := os.Stat(filepath.Join(dir, "work", "x.txt")); err == nil {
				t.Error("what was not allowed was done")
			}
			leave() // waits until no tool is left
			if c.process {
				gone(t, filepath.Join(dir, "work", "pid"))
			}
			if failures := model.Failures(); len(failures) > 0 {
				t.Errorf("the model was not asked what its script says: %s", strings.Join(failures, "\n"))
			}
			if err := model.Done(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestREL127StopInTheQueue: a run that waits for its turn ends without having
// begun, and the one before it goes on.
func TestREL127StopInTheQueue(t *testing.T) {
	script, err := modelserver.Parse("> first\n<gate g\n< First.\n\n> third\n>!history second\n< Third.\n")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	model := modelserver.New(modelserver.Config{Script: script})
	editor, leave := edit(ctx, t, t.TempDir(), model, "")
	type end struct {
		result *wire.RunResult
		err    error
	}
	ends := make(map[string]chan end)
	for _, id := range []string{"first", "second", "third"} {
		done := make(chan end, 1)
		ends[id] = done
		go func() {
			r, err := editor.Run(ctx, &wire.RunParams{Run: id, Queue: true, Input: wire.InputBlocks{{Type: "text", Text: id}}})
			done <- end{r, err}
		}()
		if id == "first" {
			err = at("g")(ctx, editor, model)
		} else {
			err = editor.Await(ctx, func(v editortest.Seen) bool {
				for _, a := range v.Events {
					if a.Run == id && a.Type == "input" {
						return true
					}
				}
				return false
			})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := editor.Call(ctx, wire.MethodCancel, &wire.CancelParams{Run: "second"}, new(wire.CancelResult)); err != nil {
		t.Fatal(err)
	}
	if e := <-ends["second"]; e.err != nil || e.result.Reason != activity.Aborted || e.result.Turns != 0 {
		t.Errorf("the one that waits: %+v, %v", e.result, e.err)
	}
	model.Open("g")
	for _, id := range []string{"first", "third"} {
		if e := <-ends[id]; e.err != nil || e.result.Reason != activity.Goal {
			t.Errorf("%s: %+v, %v", id, e.result, e.err)
		}
	}
	leave()
	if err := model.Done(); err != nil {
		t.Error(err)
	}
}

// TestREL126StoppingWorksBehindManyRequests: a client with as many requests
// under way as are served at once still answers a run's question, says something
// to it and stops it.
func TestREL126StoppingWorksBehindManyRequests(t *testing.T) {
	script, err := modelserver.Parse(asks + ">result write_file\n>history and mind this\n<gate g\n< Never.\n")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	model := modelserver.New(modelserver.Config{Script: script})
	config := editortest.Config{Agents: editortest.Native()}
	config.Agents.Confirm.Respond = true
	editor, leave := editAs(ctx, t, t.TempDir(), model, "", config)
	editor.Answer(editortest.Reply{Choice: "once", Fault: editortest.Lost})
	ended := make(chan *wire.RunResult, 256)
	run := func(id string) {
		r, err := editor.Run(ctx, &wire.RunParams{Run: id, Queue: true, Input: wire.InputBlocks{{Type: "text", Text: "write"}}})
		if err != nil {
			t.Errorf("%s: %v", id, err)
		}
		ended <- r
	}
	go run("r")
	if err := editor.Await(ctx, func(v editortest.Seen) bool { return len(v.Questions) > 0 }); err != nil {
		t.Fatal(err)
	}
	for i := range 255 {
		go run(fmt.Sprintf("queued%d", i))
	}
	overloaded := func() bool {
		err := editor.Call(ctx, wire.MethodList, &wire.ListParams{}, nil)
		return strings.Contains(dataOf(err), `"kind":"overloaded"`)
	}
	// All are being served before one more asks: it would take the place of one of them.
	if err := editor.Await(ctx, func(v editortest.Seen) bool {
		inputs := 0
		for _, a := range v.Events {
			if a.Type == "input" {
				inputs++
			}
		}
		return inputs == 255
	}); err != nil {
		t.Fatal(err)
	}
	if !overloaded() {
		t.Fatal("256 requests are not too many")
	}
	steer := &wire.SteerParams{Run: "r", Input: wire.InputBlocks{{Type: "text", Text: "and mind this"}}}
	if err := editor.Call(ctx, wire.MethodSteer, steer, nil); err != nil {
		t.Errorf("agents/steer: %v", err)
	}
	q := editor.Seen().Questions[0]
	yes := &wire.RespondParams{ID: q.ID, Nonce: q.Nonce, Answer: json.RawMessage(`{"outcome":"once"}`)}
	if err := editor.Call(ctx, wire.MethodRespond, yes, nil); err != nil {
		t.Errorf("agents/respond: %v", err)
	}
	if !t.Failed() {
		if err := at("g")(ctx, editor, model); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 255 {
		if err := editor.Call(ctx, wire.MethodCancel, &wire.CancelParams{Run: fmt.Sprintf("queued%d", i)}, nil); err != nil {
			t.Fatalf("agents/cancel: %v", err)
		}
	}
	if err := editor.Call(ctx, wire.MethodCancel, &wire.CancelParams{Run: "r"}, nil); err != nil {
		t.Fatalf("agents/cancel: %v", err)
	}
	for range 256 {
		if r := <-ended; r == nil || r.Reason != activity.Aborted {
			t.Errorf("a run ended %+v", r)
		}
	}
	leave()
}

// write writes a file of a test, with its folders; none for an empty text.
func write(t *testing.T, path, text string) {
	t.Helper()
	if text == "" {
		return
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	beside := filepath.Join(t.TempDir(), "written") // a watcher never sees half of it
	if err := errors.Join(os.WriteFile(beside, []byte(text), 0o600), os.Rename(beside, path)); err != nil {
		t.Fatal(err)
	}
}

// gone holds the process whose id is in a file to be no more. One that has ended
// and that nobody waits for is none.
func gone(t *testing.T, file string) {
	t.Helper()
	pid, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	stat, err := os.ReadFile(filepath.Join("/proc", strings.TrimSpace(string(pid)), "stat"))
	_, state, _ := strings.Cut(string(stat), ") ")
	if err == nil && !strings.HasPrefix(state, "Z") {
		t.Errorf("the process lives on: %s", stat)
	}
}
