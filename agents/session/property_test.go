package session

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/compression"
	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/model"
)

// A loaded session is the session that was live, whatever happened in it, and
// every call has exactly one result before the model speaks again (REL-61).
func TestREL61LiveEqualsReloaded(t *testing.T) {
	dir := t.TempDir()
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		now := clock()
		cfg := Config{Dir: fmt.Sprintf("%s/%d", dir, n), Folder: "/w", Now: func() time.Time { now = now.Add(time.Second); return now }}
		if rapid.Bool().Draw(t, "masks") {
			cfg.Mask = func(data []byte) []byte { return bytes.ReplaceAll(data, []byte("é"), []byte("[masked:E]")) }
		}
		store := New(cfg)
		live, err := store.Open("x")
		if err != nil {
			t.Fatal(err)
		}
		play(t, live)
		// As the next daemon will find it.
		live.interrupt()
		was := tells(t, live)
		info := live.Info()
		if err := store.Close(); err != nil {
			t.Fatal(err)
		}
		cfg.Now = clock
		var loaded *Session
		for _, when := range []string{"loaded", "loaded again, without what was purged"} {
			store = New(cfg)
			if loaded, err = store.Get("x"); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(was, tells(t, loaded), cmpopts.EquateEmpty(), cmpopts.IgnoreUnexported(Run{}, FileHistory{})); diff != "" {
				t.Fatalf("%s, it is not what it was:\n%s", when, diff)
			}
			if diff := cmp.Diff(info, loaded.Info()); diff != "" {
				t.Fatalf("%s: %s", when, diff)
			}
			if when == "loaded" {
				if err := store.Close(); err != nil {
					t.Fatal(err)
				}
			}
		}
		// What went back, goes back again.
		if last := loaded.Log.Last(); last > 0 {
			for _, r := range loaded.Runs() {
				loaded.Abandon(r.Run)
			}
			was := tells(t, loaded)
			seq, err := loaded.Rewind(rapid.Uint64Range(1, last).Draw(t, "to"), nil, nil, nil)
			if err != nil || seq != loaded.Log.Last() {
				t.Fatal(seq, err)
			}
			if _, err := loaded.Rewind(seq-1, nil, nil, nil); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(was, tells(t, loaded), cmpopts.EquateEmpty(), cmpopts.IgnoreUnexported(Run{}, FileHistory{})); diff != "" {
				t.Fatalf("a rewind that was undone changed it:\n%s", diff)
			}
		}
		// The next run of each agent finds a context that can be sent.
		for _, agent := range players {
			loaded.CloseCalls(agent)
			if loaded.CloseCalls(agent) != 0 {
				t.Fatal("mended twice")
			}
			loaded.Log.Append(activity.Origin{Run: "next-" + agent, Agent: agent}, activity.RunStarted{Input: text("on")}, 0)
			if err := Check(loaded.Context(agent)); err != nil {
				t.Fatalf("%v in\n%s", err, says(loaded.Context(agent)))
			}
		}
		if err := store.Close(); err != nil {
			t.Fatal(err)
		}
		if err := os.RemoveAll(cfg.Dir); err != nil {
			t.Fatal(err)
		}
	})
}

// players are the agents of play.
var players = []string{"a", "b"}

// telling is all that a session tells of its log.
type telling struct {
	Contexts map[string][]model.Message
	Sizes    map[string]string
	Active   map[string][]time.Time
	Runs     []Run
	Progress map[string]any
	Files    []FileHistory
	Approval string
	State    activity.SessionState
}

func tells(t *rapid.T, s *Session) telling {
	out := telling{Contexts: map[string][]model.Message{}, Sizes: map[string]string{}, Active: map[string][]time.Time{}, Progress: map[string]any{},
		Files: s.Files(), Approval: s.Approval()}
	var err error
	if out.State, err = s.State(); err != nil {
		t.Fatal(err)
	}
	for _, agent := range players {
		out.Contexts[agent] = s.Context(agent)
		checkPrefix(t, out.Contexts[agent])
		n, estimated := s.Tokens(agent)
		out.Sizes[agent] = fmt.Sprint(n, estimated, s.CompressionFailed(agent))
		started, last := s.ActiveAt(agent)
		out.Active[agent] = []time.Time{started, last}
	}
	for _, r := range s.Runs() {
		if p, ok := s.Progress(r.Run); ok == r.over {
			t.Fatalf("the run %s is %s, and its progress is known: %v", r.Run, r.State, ok)
		} else if ok {
			p.Run = Run{}
			told, err := json.Marshal(p) // as the log has it
			if err != nil {
				t.Fatal(err)
			}
			var plain any
			if err := json.Unmarshal([]byte(strings.ReplaceAll(string(told), "null", "[]")), &plain); err != nil {
				t.Fatal(err)
			}
			out.Progress[r.Run] = plain
		}
		out.Runs = append(out.Runs, r)
	}
	return out
}

// checkPrefix checks a context at any time: it could be sent, or would be if its
// last reply were answered.
func checkPrefix(t *rapid.T, messages []model.Message) {
	if n := len(messages); n > 0 && messages[n-1].Role == model.Reply {
		messages = messages[:n-1]
	}
	if len(messages) > 0 {
		if err := Check(messages); err != nil {
			t.Fatalf("%v in\n%s", err, says(messages))
		}
	}
}

// play makes a random history, orderly or not.
func play(t *rapid.T, s *Session) {
	words := rapid.OneOf(rapid.SampledFrom([]string{"", "a", "<b>&", "\xff\xfe\u2028", "é\n"}), rapid.String())
	raw := rapid.SampledFrom([]string{"", "null", "{ \"a\" : [1,\n2] }", `{"s":"\u00e9\/"}`, "\"\xff\""})
	var open []string
	next := 0
	for range rapid.IntRange(0, 60).Draw(t, "events") {
		run := rapid.SampledFrom([]string{"1", "2", "3"}).Draw(t, "run")
		o := activity.Origin{Run: run, Agent: map[string]string{"1": "a", "2": "b", "3": "a"}[run], Turn: 1}
		if run == "3" {
			o.ParentRun = "2"
		}
		var b activity.Body
		switch rapid.IntRange(0, 28).Draw(t, "event") {
		case 0:
			b = activity.RunStarted{Input: text(words.Draw(t, "text")), Chain: []string{"user", o.Agent}, Context: editor(words).Draw(t, "editor")}
		case 1:
			b = activity.Input{Input: text(words.Draw(t, "text"))}
		case 2:
			b = activity.TurnStarted{Turn: 1}
		case 3, 4, 5:
			c := activity.ModelContent{Invalid: rapid.IntRange(0, 5).Draw(t, "invalid") == 0}
			if r := raw.Draw(t, "raw"); r != "" {
				c.Raw = json.RawMessage(r)
			}
			if rapid.Bool().Draw(t, "talks") {
				c.Content = append(c.Content, model.Part{Text: words.Draw(t, "text")}, model.Part{Thought: words.Draw(t, "thought"), Subject: "s"})
			}
			for range rapid.IntRange(0, 3).Draw(t, "calls") {
				next++
				id := fmt.Sprintf("%s#%d", run, next)
				open = append(open, id)
				call := &model.Call{ID: id, Name: words.Draw(t, "name")}
				if r := rapid.SampledFrom([]string{"", "{ }", `{"a": "\u003c"}`}).Draw(t, "args"); r != "" {
					call.Args = json.RawMessage(r)
				}
				c.Content = append(c.Content, model.Part{Call: call})
			}
			b = c
		case 6, 7, 8, 9:
			if len(open) == 0 {
				continue
			}
			state := activity.ToolState{Call: rapid.SampledFrom(open).Draw(t, "call"), Name: "ls", Risk: rapid.SampledFrom([]string{"safe", "high"}).Draw(t, "risk"),
				State: rapid.SampledFrom([]activity.CallState{activity.Executing, activity.Success, activity.Failed, activity.Cancelled}).Draw(t, "state")}
			if rapid.Bool().Draw(t, "result") {
				state.Result = &activity.ToolResult{Content: words.Draw(t, "content")}
				if rapid.IntRange(0, 3).Draw(t, "long") == 0 {
					state.Result.Content = strings.Repeat("long "+state.Result.Content, maxInline/4)
					state.Result.Bytes = len(state.Result.Content)
				}
				if err := s.Spill(state.Result); err != nil {
					t.Fatal(err)
				}
				if rapid.IntRange(0, 3).Draw(t, "media") == 0 {
					sha, err := s.PutBlob([]byte(words.Draw(t, "data")))
					if err != nil {
						t.Fatal(err)
					}
					state.Result.Media = []model.Media{{MimeType: "image/png", Blob: sha, Data: []byte("at hand")}, {MimeType: words.Draw(t, "mime"), Blob: words.Draw(t, "blob")}}
				}
			} else if rapid.Bool().Draw(t, "failed") {
				state.Error = &activity.ToolError{Code: "c", Message: words.Draw(t, "message")}
			}
			b = state
		case 10:
			b = activity.RunFinished{Reason: rapid.SampledFrom([]activity.Reason{activity.Goal, activity.HandedOff}).Draw(t, "reason"),
				Cost: rapid.SampledFrom([]*activity.Cost{nil, {Amount: 0.5, Currency: "USD"}}).Draw(t, "cost")}
		case 11:
			b = activity.RunState{From: activity.Running, To: rapid.SampledFrom([]activity.State{activity.Waiting, activity.Paused, activity.Running, activity.Interrupted}).Draw(t, "to")}
		case 12:
			b = activity.Note{Message: words.Draw(t, "note"), ToModel: true}
		case 13, 14:
			b = compressed(t, s, o.Agent, words)
		case 15:
			b = activity.ContextCleared{Agent: o.Agent, Purged: rapid.Bool().Draw(t, "purged")}
		case 16, 17:
			b = activity.TurnFinished{Turn: 1}
		case 18, 19, 20:
			rewind(t, s)
			continue
		case 21, 22:
			b = written(t)
		case 23, 24, 25:
			b = activity.StateChanged{Key: rapid.SampledFrom([]string{"x", "y", "temp:x", currentTask}).Draw(t, "key"), Run: rapid.SampledFrom([]string{"", "1", "2"}).Draw(t, "of"),
				Value: rapid.SampledFrom([]json.RawMessage{nil, json.RawMessage(`"a\xff"`), json.RawMessage(`{"n": [1, null]}`), json.RawMessage(`"é"`)}).Draw(t, "value")}
		case 26:
			b = activity.HandoffStarted{To: "b"}
		default:
			b = rapid.SampledFrom([]activity.Body{activity.ContentDelta{Text: "x"}, activity.Note{Message: "n"},
				activity.ModelStarted{Tokens: 7}, activity.ApprovalChanged{To: "edits"}, activity.ApprovalChanged{To: "plan\xff"},
				activity.ModelFinished{Usage: model.Usage{InputTokens: 2, TotalTokens: 3}},
				activity.ModelFinished{Usage: model.Usage{InputTokens: -2}}, activity.Unknown{Name: "later", Data: json.RawMessage(`{"a":1}`)}}).Draw(t, "other")
		}
		s.Log.Append(o, b, 0)
		checkPrefix(t, s.Context(o.Agent))
	}
}

// rewind stops what goes on and goes back to anywhere.
func rewind(t *rapid.T, s *Session) {
	for _, r := range s.Runs() {
		if r.live() {
			s.Log.Append(r.about, activity.RunState{From: r.State, To: activity.Interrupted}, 0)
		}
	}
	if s.Log.Last() == 0 {
		return
	}
	to := rapid.Uint64Range(1, s.Log.Last()).Draw(t, "toSeq")
	kept := []activity.Kept{{URI: "file:///w/a", Before: "1", After: "2"}}[:rapid.IntRange(0, 1).Draw(t, "kept")]
	if _, err := s.Rewind(to, []string{"file:///w/a"}, nil, kept); err != nil {
		t.Fatal(err)
	}
	for _, agent := range players {
		checkPrefix(t, s.Context(agent))
	}
}

// written draws what happened to a file.
func written(t *rapid.T) activity.Body {
	content := rapid.SampledFrom([]string{"", "1", "2", "\xff"})
	kept := activity.Kept{URI: rapid.SampledFrom([]string{"file:///w/a", "file:///w/b"}).Draw(t, "uri"), Before: content.Draw(t, "before"), Buffer: rapid.Bool().Draw(t, "buffer")}
	switch rapid.IntRange(0, 3).Draw(t, "what") {
	case 0:
		return activity.Checkpoint{Files: []string{kept.URI}, Kept: []activity.Kept{kept}}
	case 1:
		b := activity.FileChanged{Call: "c", Before: kept.Before, After: content.Draw(t, "after")}
		b.URI, b.Kind = kept.URI, rapid.SampledFrom([]string{"edit", "delete"}).Draw(t, "kind")
		return b
	case 2:
		return activity.ChangeResolved{URI: kept.URI, Action: "keep", Baseline: kept.Before}
	default:
		return activity.ChangeResolved{URI: kept.URI, Action: "undo", Kept: &kept}
	}
}

// editor draws what a person has in the editor.
func editor(words *rapid.Generator[string]) *rapid.Generator[*activity.EditorContext] {
	return rapid.Custom(func(t *rapid.T) *activity.EditorContext {
		if rapid.Bool().Draw(t, "none") {
			return nil
		}
		c := &activity.EditorContext{URI: rapid.SampledFrom([]string{"", "file:///w/a.go", "\xff"}).Draw(t, "uri"), Text: words.Draw(t, "selected")}
		if rapid.Bool().Draw(t, "selects") {
			c.Selection = &definition.Range{Start: definition.Position{Line: 3}, End: definition.Position{Line: rapid.Uint32Range(3, 5).Draw(t, "end")}}
		}
		if rapid.Bool().Draw(t, "points") {
			c.Cursor = &definition.Position{Line: rapid.Uint32Range(0, 2).Draw(t, "line")}
		}
		if raw := rapid.SampledFrom([]string{"", "[]", "null", `[ {"message":"m"} ]`, "{}", `"\u0041"`}).Draw(t, "diagnostics"); raw != "" {
			c.Diagnostics = json.RawMessage(raw)
		}
		c.Open = rapid.SliceOfN(words, 0, 2).Draw(t, "open")
		return c
	})
}

// compressed draws the outcome of a compression: one that fits the context, or
// anything that a damaged log could hold.
func compressed(t *rapid.T, s *Session, agent string, words *rapid.Generator[string]) activity.ContextCompressed {
	b := activity.ContextCompressed{Agent: rapid.SampledFrom([]string{agent, ""}).Draw(t, "agent"), Status: compression.Compressed}
	if rapid.IntRange(0, 3).Draw(t, "fails") == 0 {
		b.Status = rapid.SampledFrom([]string{compression.NoOp, compression.Inflated, compression.Unreadable, "later"}).Draw(t, "status")
	}
	if rapid.Bool().Draw(t, "wild") {
		b.Cut, b.Snapshot, b.After = rapid.IntRange(-1, 20).Draw(t, "cut"), words.Draw(t, "snapshot"), rapid.IntRange(-1, 9).Draw(t, "after")
		for range rapid.IntRange(0, 3).Draw(t, "reduced") {
			b.Reduced = append(b.Reduced, fmt.Sprintf("%d#%d", rapid.IntRange(1, 3).Draw(t, "run"), rapid.IntRange(1, 20).Draw(t, "call")))
		}
		return b
	}
	r, err := compression.Compress(context.WithoutCancel(t.Context()), s.Context(agent), compression.Config{
		Target: rapid.IntRange(0, 50).Draw(t, "target"),
		Ask: func(context.Context, *model.Request) (*model.Answer, error) {
			return &model.Answer{Message: model.Message{Parts: []model.Part{{Text: "<state_snapshot><overall_goal>g</overall_goal><key_knowledge></key_knowledge>" +
				"<file_system_state></file_system_state><recent_actions></recent_actions><current_plan></current_plan></state_snapshot>"}}}}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	b.Status, b.Before, b.After, b.Cut, b.Snapshot, b.Reduced = r.Status, r.Before, r.After, r.Cut, r.Snapshot, r.Reduced
	return b
}
