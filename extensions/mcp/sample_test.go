package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/agents/tool"
)

// TestSEC88Sampling: what a server asks the model goes through the person, who sees all
// of it, and then to the run's model; what they do not let through, and what cannot be
// shown, is refused.
func TestSEC88Sampling(t *testing.T) {
	w := newWorld(t, nil)
	w.described = []Server{w.faulty("samples", "samples", `"sampling": true`)}
	tools, _ := w.offer("samples")
	const ask = `{"systemPrompt":"Be brief.","maxTokens":50,"temperature":0.5,"messages":[{"role":"user","content":{"type":"text","text":"What is\u202e 1+1?"}}]}`
	for name, c := range map[string]struct {
		params, choice string
		fails          error // of the model
		says           string
		asked          bool
		want           string
	}{
		"answered":   {ask, letAnswer, nil, "2", true, `"text":"2"`},
		"blocks":     {`{"maxTokens":9,"messages":[{"role":"user","content":[{"type":"text","text":"1+1?"}]}]}`, letAnswer, nil, "2", true, `"text":"2"`},
		"declined":   {ask, "-", nil, "2", true, "the person declined it"},
		"another":    {ask, "something else", nil, "2", true, "the person declined it"},
		"no money":   {ask, letAnswer, errors.New("the limit of 3 model calls is reached"), "", true, "the limit of 3 model calls is reached"},
		"no answer":  {ask, letAnswer, nil, "", true, "gave no answer"},
		"a key":      {ask, letAnswer, nil, "key of the daemon", true, "holds a key of yours"},
		"long":       {strings.Replace(ask, "What", strings.Repeat("x", maxSampled), 1), letAnswer, nil, "2", false, "more than 8000 characters"},
		"an image":   {`{"maxTokens":9,"messages":[{"role":"user","content":{"type":"image","data":"eA==","mimeType":"image/png"}}]}`, letAnswer, nil, "2", false, "only text"},
		"nothing":    {`{"maxTokens":9,"messages":[]}`, letAnswer, nil, "2", false, "it asks nothing"},
		"with tools": {strings.Replace(ask, `"maxTokens":50`, `"maxTokens":50,"tools":[{"name":"x","inputSchema":{"type":"object"}}]`, 1), letAnswer, nil, "2", false, "call tools"},
	} {
		t.Run(name, func(t *testing.T) {
			var question tool.Question
			var sent *model.Request
			w.ask = func(_ context.Context, q tool.Question) (tool.Answer, error) {
				if question = q; c.choice == "-" {
					return tool.Answer{Action: "decline"}, nil
				}
				return tool.Answer{Action: "accept", Text: c.choice}, nil
			}
			w.consult = func(_ context.Context, about string, req *model.Request) (*model.Answer, error) {
				if sent = req; !strings.Contains(about, "the MCP server samples") {
					t.Errorf("about %q", about)
				}
				return &model.Answer{Message: model.Message{Parts: []model.Part{{Text: c.says}}}}, c.fails
			}
			args, _ := json.Marshal(map[string]string{"text": c.params})
			got, err := w.call(t.Context(), tools["mcp.samples.echo"], string(args))
			if err != nil || !strings.Contains(got, c.want) {
				t.Errorf("%q, %v; want %q", got, err, c.want)
			}
			if c.asked != (question.Title != "") || (sent != nil) != (c.asked && c.choice == letAnswer) {
				t.Errorf("asked %+v, sent %+v", question, sent)
			}
			if name == "answered" {
				if !strings.Contains(question.Message, "(flash)") || !strings.Contains(question.Message, "Be brief.") || !strings.Contains(question.Message, "What isU+202E 1+1?") {
					t.Errorf("the person sees %q", question.Message)
				}
				if sent.System != "Be brief." || sent.Options.MaxOutput != 50 || *sent.Options.Temperature != 0.5 || len(sent.Messages) != 1 || len(sent.Tools) != 0 {
					t.Errorf("sent %+v", sent)
				}
			}
		})
	}
	args, _ := json.Marshal(map[string]string{"text": ask})
	w.consult = func(context.Context, string, *model.Request) (*model.Answer, error) { panic("asked") }
	w.ask = nil
	if got, err := w.call(t.Context(), tools["mcp.samples.echo"], string(args)); err != nil || !strings.Contains(got, "nobody who could be asked") {
		t.Errorf("without a person: %q, %v", got, err)
	}
}

// TestSEC88SamplingIsOff: a server is told of sampling only where the person's own
// settings allow it.
func TestSEC88SamplingIsOff(t *testing.T) {
	w := newWorld(t, nil)
	own := w.faulty("on", "samples", `"sampling": true`)
	raw := fmt.Sprintf(`{"command": %q, "sandbox": "full", "env": {%q: "samples"}, "sampling": true}`, own.Command, faultyServer)
	project := Parse("project", true, []byte(raw), "", func(string) (string, bool) { return "", false })
	if project.Sampling || !own.Sampling {
		t.Errorf("%+v\n%+v", project, own)
	}
	w.described = []Server{own, project, w.faulty("off", "samples", "")}
	tools, _ := w.offer("on", "off", "project")
	for server, want := range map[string]bool{"on": true, "off": false, "project": false} {
		got, err := w.call(t.Context(), tools["mcp."+server+".env"], `{}`)
		if err != nil || strings.Contains(got, `"sampling"`) != want || !strings.Contains(got, `"elicitation"`) {
			t.Errorf("%s is told %s, %v", server, got, err)
		}
	}
}
