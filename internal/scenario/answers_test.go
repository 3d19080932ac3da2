package scenario_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/agentls/agentls/internal/editortest"
	"github.com/agentls/agentls/internal/modelserver"
	"github.com/agentls/agentls/internal/wire"
)

// place is a workspace whose agent asks to write x.txt, the canary.
type place struct {
	t      *testing.T
	dir    string
	model  *modelserver.Server
	editor *editortest.Editor
	leave  func()
}

// placed opens one. The script is what the model says.
func placed(ctx context.Context, t *testing.T, script string, respond bool) *place {
	t.Helper()
	parsed, err := modelserver.Parse(script)
	if err != nil {
		t.Fatal(err)
	}
	p := &place{t: t, dir: t.TempDir(), model: modelserver.New(modelserver.Config{Script: parsed})}
	bare(t, p.dir)
	p.open(ctx, respond)
	return p
}

// bare takes the sandbox away: each command asks, on every machine.
func bare(t testing.TB, dir string) {
	t.Helper()
	home := filepath.Join(dir, "home")
	if err := os.MkdirAll(home, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, "settings.json"), []byte(`{"tools":{"sandbox":{"mode":"off"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (p *place) open(ctx context.Context, respond bool) {
	p.t.Helper()
	config := editortest.Config{Agents: editortest.Native()}
	config.Agents.Confirm.Respond = respond
	p.editor, p.leave = editAs(ctx, p.t, p.dir, p.model, "", config)
}

// put writes a file of the workspace.
func (p *place) put(name, text string) {
	p.t.Helper()
	path := filepath.Join(p.dir, "work", name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

// there reports whether a file of the workspace exists.
func (p *place) there(name string) bool {
	_, err := os.Stat(filepath.Join(p.dir, "work", name))
	return err == nil
}

// rules returns what is kept for always.
func (p *place) rules() string {
	text, err := os.ReadFile(filepath.Join(p.dir, "home", "agentls", "permissions.json"))
	if err != nil {
		return ""
	}
	return string(text)
}

// kept reports whether an answer for always is kept on disk.
func (p *place) kept() bool { return strings.Contains(p.rules(), "write_file") }

// run starts the run r of an agent and returns how to wait for its end.
func (p *place) run(ctx context.Context, agent, prompt string) (end func() *wire.RunResult) {
	done := make(chan result, 1)
	editor := p.editor
	go func() { // ends with the run
		r, err := editor.Run(ctx, &wire.RunParams{Run: "r", Agent: agent, Input: wire.InputBlocks{{Type: "text", Text: prompt}}})
		done <- result{r, err}
	}()
	return func() *wire.RunResult {
		p.t.Helper()
		r := <-done
		if r.err != nil {
			p.t.Fatal(r.err)
		}
		return r.result
	}
}

// question waits for the n-th question, from 1.
func (p *place) question(ctx context.Context, n int) wire.ConfirmParams {
	p.t.Helper()
	if err := p.editor.Await(ctx, func(v editortest.Seen) bool { return len(v.Questions) >= n }); err != nil {
		p.t.Fatal(err)
	}
	return p.editor.Seen().Questions[n-1]
}

// respond answers a question by agents/respond.
func (p *place) respond(ctx context.Context, id, nonce, answer string) error {
	return p.editor.Call(ctx, wire.MethodRespond, &wire.RespondParams{ID: id, Nonce: nonce, Answer: json.RawMessage(answer)}, nil)
}

// over hangs up and holds the model to its script.
func (p *place) over() {
	p.t.Helper()
	p.leave()
	if failures := p.model.Failures(); len(failures) > 0 {
		p.t.Errorf("the model was not asked what its script says: %s", strings.Join(failures, "\n"))
	}
}

const resolvedAlready = "is not open any more: it was answered"

// TestSEC69LateAnswersGrantNothing: an answer after the time-out, after a
// cancellation, after the run's end, with another id or nonce, or from another
// connection changes nothing and is told so. The control: the same answer in
// time writes the file, and is kept.
func TestSEC69LateAnswersGrantNothing(t *testing.T) {
	const always = `{"outcome":"always"}`
	const brief = "---\nkind: agent\nname: fixer\ntitle: Fixer\nmodel: flash\ntools:\n  confirmation: {timeout: 1}\n---\nYou write.\n"
	for name, do := range map[string]func(context.Context, *place, wire.ConfirmParams) (written bool){
		"in time (the control)": func(ctx context.Context, p *place, q wire.ConfirmParams) bool {
			if err := p.respond(ctx, q.ID, q.Nonce, always); err != nil {
				p.t.Error(err)
			}
			return true
		},
		"after a no": func(ctx context.Context, p *place, q wire.ConfirmParams) bool {
			if err := p.respond(ctx, q.ID, q.Nonce, `{"outcome":"reject"}`); err != nil {
				p.t.Error(err)
			}
			p.late(ctx, q.ID, q.Nonce, always)
			return false
		},
		"after a cancellation": func(ctx context.Context, p *place, q wire.ConfirmParams) bool {
			if err := p.editor.Call(ctx, wire.MethodCancel, &wire.CancelParams{Run: "r"}, nil); err != nil {
				p.t.Error(err)
			}
			p.resolved(ctx, q.ID, "cancelled")
			p.late(ctx, q.ID, q.Nonce, always)
			return false
		},
		"another id or nonce, then a no": func(ctx context.Context, p *place, q wire.ConfirmParams) bool {
			p.late(ctx, strings.Repeat("0", 32), q.Nonce, always)
			p.late(ctx, q.ID, strings.Repeat("0", 32), always)
			p.late(ctx, q.Nonce, q.ID, always)
			if err := p.respond(ctx, q.ID, q.Nonce, `null`); err != nil {
				p.t.Error(err)
			}
			return false
		},
		"from another connection": func(ctx context.Context, p *place, q wire.ConfirmParams) bool {
			mine, leave := p.editor, p.leave
			p.open(ctx, true)
			p.late(ctx, q.ID, q.Nonce, always)
			p.leave()
			p.editor, p.leave = mine, leave
			if err := p.respond(ctx, q.ID, q.Nonce, `{"outcome":"reject"}`); err != nil {
				p.t.Error(err)
			}
			return false
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			p := placed(ctx, t, asks+">history write_file\n< Over.\n", true)
			p.editor.Answer(editortest.Reply{Choice: "later"})
			end := p.run(ctx, "main", "write")
			q := p.question(ctx, 1)
			written := do(ctx, p, q)
			end()
			p.late(ctx, q.ID, q.Nonce, always) // after the run's end
			if p.there("x.txt") != written || p.kept() != written {
				t.Errorf("the file is there: %v, the rule: %q, want %v", p.there("x.txt"), p.rules(), written)
			}
			t.Logf("the canary fires: %v", written)
			p.leave()
		})
	}
	t.Run("after the time-out", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		p := placed(ctx, t, asks+">result-error write_file contains nobody answered in time\n< Over.\n", true)
		p.put(".gemini/agents/fixer.md", brief)
		p.leave()
		p.open(ctx, true)
		p.editor.Answer(editortest.Reply{Choice: "later"})
		end := p.run(ctx, "fixer", "write")
		q := p.question(ctx, 1)
		p.resolved(ctx, q.ID, "expired")
		p.late(ctx, q.ID, q.Nonce, always)
		end()
		if p.there("x.txt") || p.kept() {
			t.Errorf("the file is there: %v, the rule: %q", p.there("x.txt"), p.rules())
		}
		p.over()
	})
}

// late gives an answer that is to be told that it is too late.
func (p *place) late(ctx context.Context, id, nonce, answer string) {
	p.t.Helper()
	if err := p.respond(ctx, id, nonce, answer); err == nil || !strings.Contains(err.Error(), resolvedAlready) {
		p.t.Errorf("an answer that is too late: %v", err)
	}
}

// resolved waits until a question was taken away.
func (p *place) resolved(ctx context.Context, id, why string) {
	p.t.Helper()
	if err := p.editor.Await(ctx, func(v editortest.Seen) bool {
		return slices.Contains(v.Resolved, wire.ConfirmResolvedParams{ID: id, Reason: why})
	}); err != nil {
		p.t.Errorf("it was not taken away as %s: %v", why, p.editor.Seen().Resolved)
	}
}

// TestSEC70AlwaysThatLosesLeavesNoRule: where a yes for always and a no race,
// there is the file and the rule, or neither; one for always that cannot be
// written down is no yes, and says why.
func TestSEC70AlwaysThatLosesLeavesNoRule(t *testing.T) {
	outcomes := map[bool]int{}
	for round := range 20 {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		p := placed(ctx, t, asks+">history write_file\n< Over.\n", true)
		p.editor.Answer(editortest.Reply{Choice: "later"})
		end := p.run(ctx, "main", "write")
		q := p.question(ctx, 1)
		var won [2]bool
		var work sync.WaitGroup
		start := make(chan struct{})
		for i, answer := range []string{`{"outcome":"always"}`, `{"outcome":"reject"}`} {
			work.Go(func() {
				<-start
				if round%2 == i { // either may come first
					p.moment(ctx)
				}
				won[i] = p.respond(ctx, q.ID, q.Nonce, answer) == nil
			})
		}
		close(start)
		work.Wait()
		end()
		if won[0] == won[1] {
			t.Errorf("of two answers counted: %v", won)
		}
		if p.there("x.txt") != won[0] || p.kept() != won[0] {
			t.Errorf("always won: %v; the file is there: %v, the rule: %q", won[0], p.there("x.txt"), p.rules())
		}
		outcomes[won[0]]++
		p.leave()
		cancel()
	}
	t.Logf("the canary fired in %d rounds, where always won", outcomes[true])

	t.Run("a store that cannot be written", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		p := placed(ctx, t, asks+">history write_file\n< Over.\n", false)
		if err := os.MkdirAll(filepath.Join(p.dir, "home", "agentls", "permissions.json", "taken"), 0o700); err != nil {
			t.Fatal(err)
		}
		p.editor.Answer(editortest.Reply{Choice: "always"})
		p.run(ctx, "main", "write")()
		if p.there("x.txt") {
			t.Error("it ran with an answer that could not be kept")
		}
		if !slices.ContainsFunc(p.editor.Seen().Events, func(e wire.ActivityParams) bool {
			return e.Type == "note" && strings.Contains(string(e.Data), "could not be kept") && strings.Contains(string(e.Data), "permissions.json")
		}) {
			t.Error("the person is not told why")
		}
		p.leave()
	})
}

// moment lets a round trip pass.
func (p *place) moment(ctx context.Context) {
	if err := p.editor.Call(ctx, wire.MethodPermissionsList, &wire.PermissionsListParams{}, nil); err != nil {
		p.t.Error(err)
	}
}

// TestSEC139NothingApprovesButTheAnswer: no command, no notification and no
// agents/respond without the nonce, or from a client that did not say that it
// responds, approves what is asked about. The control is the answer.
func TestSEC139NothingApprovesButTheAnswer(t *testing.T) {
	for _, respond := range []bool{false, true} {
		t.Run(fmt.Sprintf("respond %v", respond), func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			p := placed(ctx, t, asks+">result write_file\n< Over.\n", respond)
			if respond {
				p.editor.Answer(editortest.Reply{Choice: "later"})
			}
			end := p.run(ctx, "main", "write")
			q := p.question(ctx, 1)
			if commands := p.editor.Caps.ExecuteCommandProvider.Commands; slices.ContainsFunc(commands, func(c string) bool {
				return strings.Contains(c, "approve") || strings.Contains(c, "confirm") || strings.Contains(c, "respond") || strings.Contains(c, "allow")
			}) {
				t.Errorf("there are commands %q", commands)
			}
			yes := map[string]any{"id": q.ID, "nonce": q.Nonce, "call": q.Call, "run": q.Run, "outcome": "once", "answer": map[string]any{"outcome": "once"}}
			for _, command := range []string{"agentls.approve", "agentls.confirm", "agentls.respond", "agentls.allow", "approve", "agents/respond", "agents/confirm"} {
				for _, args := range [][]any{{yes}, {q.ID, q.Nonce, "once"}, {q.Call}, nil} {
					if err := p.editor.Call(ctx, "workspace/executeCommand", map[string]any{"command": command, "arguments": args}, nil); err == nil {
						t.Errorf("%s %v was executed", command, args)
					}
				}
			}
			for _, method := range []string{"agents/confirm", "agents/approve", "agents/confirm/respond", "agents/permissions/add", "agents/permissions/allow"} {
				if err := p.editor.Call(ctx, method, yes, nil); err == nil {
					t.Errorf("%s was served", method)
				}
			}
			if err := p.editor.Notify(ctx, "agents/respond", yes); err != nil {
				t.Error(err)
			}
			if err := p.editor.Notify(ctx, "agents/confirm/resolved", map[string]any{"id": q.ID, "reason": "answered", "outcome": "once"}); err != nil {
				t.Error(err)
			}
			for _, without := range []string{
				fmt.Sprintf(`{"id":%q,"answer":{"outcome":"once"}}`, q.ID),
				fmt.Sprintf(`{"id":%q,"nonce":"","answer":{"outcome":"once"}}`, q.ID),
				fmt.Sprintf(`{"id":%q,"nonce":%q,"answer":{"outcome":"once"}}`, q.ID, q.ID),
				fmt.Sprintf(`{"id":%q,"nonce":%q,"answer":{"outcome":"once"}}`, q.Call, q.Nonce),
			} {
				if err := p.editor.Call(ctx, wire.MethodRespond, rawParams([]byte(without)), nil); err == nil {
					t.Errorf("%s was taken", without)
				}
			}
			if !respond {
				if err := p.respond(ctx, q.ID, q.Nonce, `{"outcome":"once"}`); err == nil || !strings.Contains(err.Error(), "did not announce") {
					t.Errorf("a client that did not say that it responds: %v", err)
				}
			}
			if p.there("x.txt") {
				t.Fatal("it was approved by what is no answer")
			}
			if respond {
				if err := p.respond(ctx, q.ID, q.Nonce, `{"outcome":"once"}`); err != nil {
					t.Error(err)
				}
			} else {
				p.editor.Answer(editortest.Reply{Choice: "once"})
			}
			end()
			if !p.there("x.txt") {
				t.Error("the answer approved nothing")
			}
			t.Log("the control: the answer wrote the canary")
			p.over()
		})
	}
}
