package scenario_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
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

// TestRecordedAnswers serves each answer that a real model gave as the first
// one of a run: the run ends by spec 3.5 with the reason that fits, malformed
// and empty ones after two more tries, and no error is ours.
func TestRecordedAnswers(t *testing.T) {
	files, err := filepath.Glob("../../../shared/data/gemini-recorded/*.responses")
	if err != nil || len(files) == 0 {
		t.Skip("the recorded answers are not beside this checkout")
	}
	played := 0
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(bytes.NewReader(data))
		lines.Buffer(nil, 16<<20)
		for n := 1; lines.Scan(); n++ {
			if line := bytes.TrimSpace(lines.Bytes()); len(line) > 0 {
				line = bytes.Clone(line)
				played++
				t.Run(fmt.Sprintf("%s/%d", strings.TrimSuffix(filepath.Base(file), ".responses"), n), func(t *testing.T) { playRecorded(t, line) })
			}
		}
	}
	if played < 17 {
		t.Errorf("%d answers were played, want 17", played)
	}
}

// recorded is what a test has to know of an answer.
type recorded struct {
	text   string
	calls  []string
	finish string
}

func readRecorded(t *testing.T, line []byte) (r recorded) {
	t.Helper()
	type chunk struct {
		Candidates []struct {
			FinishReason string `json:"finishReason"`
			Content      struct {
				Parts []struct {
					Text         string `json:"text"`
					Thought      bool   `json:"thought"`
					FunctionCall *struct {
						Name string `json:"name"`
					} `json:"functionCall"`
				} `json:"parts"`
			} `json:"content"`
		} `json:"candidates"`
	}
	var answer struct {
		Response json.RawMessage `json:"response"`
	}
	if err := json.Unmarshal(line, &answer); err != nil {
		t.Fatal(err)
	}
	var chunks []chunk
	if json.Unmarshal(answer.Response, &chunks) != nil {
		chunks = make([]chunk, 1)
		if err := json.Unmarshal(answer.Response, &chunks[0]); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range chunks {
		for _, candidate := range c.Candidates {
			if candidate.FinishReason != "" {
				r.finish = candidate.FinishReason
			}
			for _, p := range candidate.Content.Parts {
				if p.FunctionCall != nil {
					r.calls = append(r.calls, p.FunctionCall.Name)
				} else if !p.Thought {
					r.text += p.Text
				}
			}
		}
	}
	return r
}

func playRecorded(t *testing.T, line []byte) {
	answer := readRecorded(t, line)
	first, err := modelserver.FromRecording(line)
	if err != nil {
		t.Fatal(err)
	}
	bad := answer.finish != "STOP" || (answer.text == "" && len(answer.calls) == 0)
	script := []*modelserver.Script{first}
	switch {
	case bad:
		script = append(script, first, first)
	case len(answer.calls) > 0:
		done, err := modelserver.Parse("< Done.\n")
		if err != nil {
			t.Fatal(err)
		}
		script = append(script, done)
	}
	model := modelserver.New(modelserver.Config{Script: modelserver.Join(script...)})
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	editor, leave := edit(ctx, t, t.TempDir(), model, "edits")
	editor.Answer(editortest.Reply{Choice: "End the run"}) // of a run that an answer like this has stopped
	result, err := editor.Run(ctx, &wire.RunParams{Input: wire.InputBlocks{{Type: "text", Text: "go"}}})
	if err != nil {
		t.Fatal(err)
	}
	switch {
	case bad:
		if result.Reason != activity.Errored || result.Error == nil || result.Error.Kind != "provider" || len(model.Requests()) != 3 {
			t.Errorf("a bad answer (%s): %s %+v after %d requests", answer.finish, result.Reason, result.Error, len(model.Requests()))
		}
	case len(answer.calls) > 0:
		if result.Reason != activity.Goal || result.Text != "Done." || result.ToolCalls != len(answer.calls) {
			t.Errorf("an answer with calls %v: %s %q, %d calls, %+v", answer.calls, result.Reason, result.Text, result.ToolCalls, result.Error)
		}
	default:
		if result.Reason != activity.Goal || result.Text != answer.text {
			t.Errorf("an answer of text: %s %q, want %q", result.Reason, result.Text, answer.text)
		}
	}
	for _, e := range editor.Seen().Events {
		if e.Type == "error" && strings.Contains(string(e.Data), `"internal"`) {
			t.Errorf("an error is ours: %s", e.Data)
		}
		if e.Type == "tool.state" && strings.Contains(string(e.Data), "google_web_search") && strings.Contains(string(e.Data), `"state":"error"`) &&
			!strings.Contains(string(e.Data), "Tool not allowed for this agent: google_web_search") {
			t.Errorf("the unknown tool's result: %s", e.Data)
		}
	}
	leave()
	if failures := model.Failures(); len(failures) > 0 {
		t.Error(failures)
	}
	if err := model.Done(); err != nil {
		t.Error(err)
	}
}
