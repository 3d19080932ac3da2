package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/agentls/agentls/agents/tool"
)

// TestSEC88Questions: what a server wants to know is asked of the person, property by
// property and with the server's name, until the answers fit; secrets and addresses are
// never asked for, and without a person all is declined.
func TestSEC88Questions(t *testing.T) {
	const accepted, declined, cancelled = `{"action":"accept","content":%s}`, `{"action":"decline"}`, `{"action":"cancel"}`
	w := newWorld(t, nil, "asks")
	tools, _ := w.offer("asks")
	form := func(required, properties string) string {
		return `{"message":"Who are you?","requestedSchema":{"type":"object","required":[` + required + `],"properties":{` + properties + `}}}`
	}
	for _, c := range []struct {
		params  string
		answers []string // "-" = declined, "" = empty, "!" = dismissed
		want    string
		told    string // in the last question, or of the progress
	}{
		{form(`"name"`, `"name":{"type":"string","title":"Your name","description":"as others write it"}`), []string{"Ada"}, fmt.Sprintf(accepted, `{"name":"Ada"}`), "Who are you?\n\nYour name: as others write it"},
		{form(`"name","age"`, `"age":{"type":"integer","minimum":18},"name":{"type":"string"}`), []string{"Ada", "twelve", "12", "36"}, fmt.Sprintf(accepted, `{"age":36,"name":"Ada"}`), "does not fit"},
		{form(``, `"ok":{"type":"boolean"},"colour":{"type":"string","enum":["red","green"]},"x":{"type":"number"}`), []string{"green", "true", ""}, fmt.Sprintf(accepted, `{"colour":"green","ok":true}`), "optional"},
		{form(``, `"colour":{"type":"string","oneOf":[{"const":"red","title":"Red"}]},"many":{"type":"array"}`), []string{skip}, fmt.Sprintf(accepted, `{}`), ""},
		{form(``, `"a":{"type":"string","oneOf":[{"const":"red","title":"Red"}]},"b":{"type":"string","enum":["x","y"],"enumNames":["X","Y"]}`), []string{"Red", "Y"}, fmt.Sprintf(accepted, `{"a":"red","b":"y"}`), ""},
		{form(``, ``), []string{"OK"}, fmt.Sprintf(accepted, `{}`), "Who are you?"},
		{form(`"name"`, `"name":{"type":"string"}`), []string{"-"}, declined, ""},
		{form(`"name"`, `"name":{"type":"string"}`), []string{"!"}, cancelled, ""},
		{form(`"n"`, `"n":{"type":"integer"}`), []string{"a", "b", "c"}, declined, "no answer fits n"},
		{form(`"n"`, `"n":{"type":"integer"}`), []string{"a", "1"}, fmt.Sprintf(accepted, `{"n":1}`), `That answer does not fit: "a" is no whole number`},
		{form(`"n"`, `"n":{"type":"number","minimum":3}`), []string{"x1", "1", "3"}, fmt.Sprintf(accepted, `{"n":3}`), "That answer does not fit: /n: minimum: got 1, want 3"},
		{form(`"n"`, `"n":{"type":"string","format":"password"}`), nil, declined, "asks for a secret (n)"},
		{form(`"n"`, `"n":{"type":"string","description":"Your API key"}`), nil, declined, "asks for a secret (n)"},
		{form(`"pin"`, `"pin":{"type":"string"}`), nil, declined, "asks for a secret (pin)"},
		{form(`"user_pin"`, `"user_pin":{"type":"string"}`), nil, declined, "asks for a secret (user_pin)"},
		{form(`"userPin"`, `"userPin":{"type":"integer"}`), nil, declined, "asks for a secret (userPin)"},
		{`{"message":"Type your API token","requestedSchema":{"required":["v"],"properties":{"v":{"type":"string"}}}}`, nil, declined, "asks for a secret (v)"},
		{`{"message":"The PIN of your card?","requestedSchema":{"required":["v"],"properties":{"v":{"type":"integer"}}}}`, nil, declined, "asks for a secret (v)"},
		{`{"message":"Revoke the token?","requestedSchema":{"required":["v"],"properties":{"v":{"type":"boolean"}}}}`, []string{"true"}, fmt.Sprintf(accepted, `{"v":true}`), "Revoke"},
		{form(`"n"`, `"n":{"type":"object"}`), nil, declined, "is not a text, a number or a choice"},
		{form(``, `"n":{"type":"object"}`), []string{"-"}, declined, ""},
		{form(`"n"`, `"n":{"type":"string"}`), []string{"key of the daemon"}, declined, "holds a key of yours"},
		{form(`"c"`, `"c":{"type":"array","minItems":1,"maxItems":2,"items":{"type":"string","enum":["red","green","blue"]}}`), []string{"pink", "1,2,3", "1, blue"}, fmt.Sprintf(accepted, `{"c":["red","blue"]}`), "maxItems"},
		{form(``, `"c":{"type":"array","items":{"anyOf":[{"const":"r","title":"Red"},{"const":"g","title":"Green, light"}]}}`), []string{"2"}, fmt.Sprintf(accepted, `{"c":["g"]}`), "1. Red\n2. Green, light"},
		{form(``, `"c":{"type":"array","items":{"type":"string","enum":["red"]}}`), []string{""}, fmt.Sprintf(accepted, `{}`), "optional"},
		{`{"mode":"url","message":"x","elicitationId":"1","url":"https://example.com/pay?a=1"}`, []string{opened}, `{"action":"accept"}`, "page of example.com in your browser, if you trust it:\nhttps://example.com/pay?a=1"},
		{`{"mode":"url","message":"x","elicitationId":"1","url":"https://example.com/"}`, []string{"-"}, declined, ""},
		{`{"mode":"url","message":"x","elicitationId":"1","url":"https://example.com/"}`, []string{"yes"}, declined, ""},
		{`{"mode":"url","message":"x","elicitationId":"1","url":"https://EXAMPLE.com:443@evil.example/"}`, nil, declined, "user name"},
		{`{"mode":"url","message":"x","elicitationId":"1","url":"javascript:alert(1)"}`, nil, declined, "use http or https"},
		{`{"mode":"url","message":"x","elicitationId":"1","url":"file:///etc/passwd"}`, nil, declined, "use http or https"},
		{`{"mode":"url","message":"x","elicitationId":"1","url":"https://example.com/` + strings.Repeat("a", 5000) + `"}`, nil, declined, "4000"},
		{`{"mode":"url","message":"x","elicitationId":"1","url":"https://example.com/?\u202egnp"}`, nil, declined, "such as no address has"},
	} {
		var questions []tool.Question
		w.ask = func(_ context.Context, q tool.Question) (tool.Answer, error) {
			if questions = append(questions, q); len(questions) > len(c.answers) {
				return tool.Answer{}, errors.New("one question too many")
			}
			switch answer := c.answers[len(questions)-1]; answer {
			case "-":
				return tool.Answer{Action: "decline"}, nil
			case "!":
				return tool.Answer{Action: "cancel"}, nil
			default:
				return tool.Answer{Action: "accept", Text: answer}, nil
			}
		}
		args, _ := json.Marshal(map[string]string{"text": c.params})
		got, err := w.call(t.Context(), tools["mcp.asks.echo"], string(args))
		said := got
		if len(questions) > 0 {
			said += questions[len(questions)-1].Message
		}
		if err != nil || !strings.HasSuffix(got, c.want) || len(questions) != len(c.answers) || !strings.Contains(said, c.told) {
			t.Errorf("%s: %q, %v after %d questions\n%q\nwant %s", c.params, got, err, len(questions), said, c.want)
		}
		for _, q := range questions {
			if q.Title != "The MCP server asks asks" || strings.Contains(q.Message, "\u202e") {
				t.Errorf("a question: %+v", q)
			}
		}
	}
	w.ask = nil
	args, _ := json.Marshal(map[string]string{"text": form(`"name"`, `"name":{"type":"string"}`)})
	if got, err := w.call(t.Context(), tools["mcp.asks.echo"], string(args)); err != nil || got != declined {
		t.Errorf("without a person: %q, %v", got, err)
	}
}

// TestQuestionsTakeTime: while the person thinks nobody waits for progress, and a call
// that is cancelled withdraws its question.
func TestQuestionsTakeTime(t *testing.T) {
	w := newWorld(t, func(t *times) { t.silence = 2 * time.Second }, "asks")
	tools, _ := w.offer("asks")
	args, _ := json.Marshal(map[string]string{"text": `{"message":"x","requestedSchema":{"type":"object","properties":{}}}`})
	w.ask = func(ctx context.Context, _ tool.Question) (tool.Answer, error) {
		select {
		case <-ctx.Done():
			return tool.Answer{}, ctx.Err()
		case <-time.After(2500 * time.Millisecond): // longer than a call may be silent
			return tool.Answer{Action: "accept", Text: "OK"}, nil
		}
	}
	if got, err := w.call(t.Context(), tools["mcp.asks.echo"], string(args)); err != nil || !strings.Contains(got, "accept") {
		t.Errorf("a slow person: %q, %v", got, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	withdrawn := make(chan struct{})
	w.ask = func(ctx context.Context, _ tool.Question) (tool.Answer, error) {
		cancel()
		<-ctx.Done()
		close(withdrawn)
		return tool.Answer{}, ctx.Err()
	}
	if _, err := w.call(ctx, tools["mcp.asks.echo"], string(args)); err == nil {
		t.Error("a cancelled call has a result")
	}
	<-withdrawn
	if s := w.state("asks"); s.State != Ready || s.Errors != 1 {
		t.Errorf("state: %+v", s)
	}
}
