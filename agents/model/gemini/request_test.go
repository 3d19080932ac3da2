package gemini_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/agents/model/gemini"
	"github.com/agentls/agentls/internal/modelserver"
)

// sentBody returns what a request is on the wire.
func sentBody(t *testing.T, req *model.Request) string {
	t.Helper()
	c, server := play(t, "< ok\n")
	if _, _, _, err := listen(t, c, req); err != nil {
		t.Fatal(err)
	}
	return string(server.Requests()[0].Body)
}

func TestRequest(t *testing.T) {
	temperature, topP, budget := 0.7, 0.95, 500
	declaration := model.Declaration{Name: "f", Description: "Does <it>.", Parameters: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"additionalProperties":false}`)}
	question := []model.Message{{Role: model.User, Parts: []model.Part{{Text: "a <b> & c"}, {Media: &model.Media{MimeType: "image/png", Data: []byte("png")}}}}}
	for name, tt := range map[string]struct {
		req  model.Request
		want string
	}{
		"level": {
			model.Request{Model: "gemini-3.8-flash", System: "<s>", Messages: question, Tools: []model.Declaration{declaration},
				Options: model.Options{Temperature: &temperature, TopP: &topP, ThinkingBudget: &budget, MaxOutput: 100}},
			`{"contents":[{"role":"user","parts":[{"text":"a <b> & c"},{"inlineData":{"mimeType":"image/png","data":"cG5n"}}]}],` +
				`"generationConfig":{"maxOutputTokens":100,"thinkingConfig":{"includeThoughts":true,"thinkingLevel":"LOW"}},` +
				`"systemInstruction":{"parts":[{"text":"<s>"}],"role":"user"},` +
				`"tools":[{"functionDeclarations":[{"description":"Does <it>.","name":"f","parametersJsonSchema":{"additionalProperties":false,"properties":{"n":{"type":"integer"}},"type":"object"}}]}]}`,
		},
		"budget": {
			model.Request{Model: "gemini-2.5-pro", Messages: question[:1], Options: model.Options{Temperature: &temperature, TopP: &topP, ThinkingLevel: "high"}},
			`{"contents":[{"role":"user","parts":[{"text":"a <b> & c"},{"inlineData":{"mimeType":"image/png","data":"cG5n"}}]}],` +
				`"generationConfig":{"temperature":0.7,"thinkingConfig":{"includeThoughts":true,"thinkingBudget":32768},"topP":0.95}}`,
		},
		"told not to think": {
			model.Request{Model: "gemini-2.5-flash", Messages: question[:0], Options: model.Options{ThinkingLevel: "minimal"}},
			`{"contents":[],"generationConfig":{"thinkingConfig":{"thinkingBudget":0}}}`,
		},
		"does not think": {
			model.Request{Model: "gemini-2.0-flash", Messages: question[:0], Options: model.Options{ThinkingLevel: "high"}},
			`{"contents":[]}`,
		},
	} {
		var got string
		c := client(t, gemini.Config{Transport: modelserver.Transport(recorder(func(body string) { got = body }))})
		_, _, _, _ = listen(t, c, &tt.req)
		var w, g any
		if json.Unmarshal([]byte(tt.want), &w) != nil || json.Unmarshal([]byte(got), &g) != nil {
			t.Fatalf("%s: %q", name, got)
		}
		if sys, ok := g.(map[string]any)["systemInstruction"].(map[string]any); ok {
			// genai may write the role or not.
			sys["role"] = "user"
		}
		if gc, ok := g.(map[string]any)["generationConfig"].(map[string]any); ok && len(gc) == 0 {
			delete(g.(map[string]any), "generationConfig")
		}
		if diff := cmp.Diff(w, g); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if strings.Contains(got, `\u003c`) {
			t.Errorf("%s: escaped for HTML: %s", name, got)
		}
	}
}

// TestATableThatChanged: a request is written by what the settings say of the model now.
func TestATableThatChanged(t *testing.T) {
	script, err := modelserver.Parse("< ok\n\n< ok\n")
	if err != nil {
		t.Fatal(err)
	}
	server := modelserver.New(modelserver.Config{Script: script})
	table := model.NewTable(nil, model.Entry{ID: "mine", Thinking: model.Budget})
	c := client(t, gemini.Config{Transport: modelserver.Transport(server), Table: table})
	for i, want := range []string{`"thinkingBudget":1024`, `"thinkingLevel":"LOW"`} {
		if _, _, _, err := listen(t, c, &model.Request{Model: "mine", Messages: hello().Messages, Options: model.Options{ThinkingLevel: "low"}}); err != nil {
			t.Fatal(err)
		}
		if body := string(server.Requests()[i].Body); !strings.Contains(body, want) {
			t.Errorf("%s: %s", want, body)
		}
		table.Set(model.Entry{ID: "mine", Thinking: model.Level})
	}
}

func TestSpec36Conversation(t *testing.T) {
	raw := json.RawMessage(`{"role":"model","parts":[{"thought":true,"text":"hm","x":1},{"functionCall":{"name":"f","args":{"b":1,"a":2.50}},"thoughtSignature":"a+b/"},{"functionCall":{"id":"p2","name":"g","args":{}}}]}`)
	result := func(id, name, content string, failed bool) model.Part {
		return model.Part{Result: &model.Result{ID: id, Name: name, Content: content, Error: failed}}
	}
	call := func(id, name string, args string) model.Part {
		return model.Part{Call: &model.Call{ID: id, Name: name, Args: json.RawMessage(args)}}
	}
	req := &model.Request{Model: "gemini-3.8-flash", Messages: []model.Message{
		{Role: model.User, Parts: []model.Part{{Text: "q"}, {Text: ""}}},
		{Role: model.Reply, Raw: raw, Parts: []model.Part{{Thought: "hm"}, call("r#1-0", "f", `{}`), call("r#1-1", "g", `{}`)}},
		{Role: model.User, Parts: []model.Part{result("r#1-0", "f", "A", false), result("r#1-1", "g", "B", true), {Text: "and"}}},
		// Of another provider, and of none.
		{Role: model.Reply, Raw: json.RawMessage(`[{"type":"tool_use"}]`), Parts: []model.Part{{Thought: "their thought"}, {Text: "t"}, call("r#2-0", "f", `{"n":9007199254740993}`), call("r#2-1", "f", ``)}},
		{Role: model.User, Parts: []model.Part{result("r#2-0", "f", "C", false), result("r#2-1", "f", "", false)}},
		{Role: model.Reply},
	}}
	body := sentBody(t, req)
	for _, want := range []string{
		`{"role":"user","parts":[{"text":"q"}]},` + string(raw) + `,{"role":"user","parts":[` +
			`{"functionResponse":{"name":"f","response":{"output":"A"}}},{"functionResponse":{"id":"p2","name":"g","response":{"error":"B"}}},{"text":"and"}]}`,
		`{"role":"model","parts":[{"text":"t"},{"functionCall":{"id":"r#2-0","name":"f","args":{"n":9007199254740993}},"thoughtSignature":"skip_thought_signature_validator"},` +
			`{"functionCall":{"id":"r#2-1","name":"f","args":{}}}]},{"role":"user","parts":[{"functionResponse":{"id":"r#2-0","name":"f","response":{"output":"C"}}},` +
			`{"functionResponse":{"id":"r#2-1","name":"f","response":{"output":""}}}]}]`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("%s\nlacks\n%s", body, want)
		}
	}
	req.Model = "gemini-2.5-pro"
	if body := sentBody(t, req); strings.Contains(body, "skip_thought") {
		t.Error(body)
	}
}

func TestRequestsThatCannotBe(t *testing.T) {
	with := func(change func(*model.Request)) *model.Request {
		r := hello()
		change(r)
		return r
	}
	for name, req := range map[string]*model.Request{
		"schema": with(func(r *model.Request) { r.Tools = []model.Declaration{{Name: "f", Parameters: json.RawMessage(`{`)}} }),
		"args": with(func(r *model.Request) {
			r.Messages = append(r.Messages, model.Message{Role: model.Reply, Parts: []model.Part{{Call: &model.Call{Name: "f", Args: json.RawMessage(`{`)}}}})
		}),
		"media": with(func(r *model.Request) {
			r.Messages[0].Parts = []model.Part{{Media: &model.Media{MimeType: "image/png", Blob: "00"}}}
		}),
		"model":  with(func(r *model.Request) { r.Model = "../x" }),
		"model2": with(func(r *model.Request) { r.Model = "x?key=1" }),
		"model3": with(func(r *model.Request) { r.Model = "" }),
	} {
		c, server := play(t, "< ok\n")
		_, _, _, err := listen(t, c, req)
		var e *model.Error
		if !errors.As(err, &e) || e.Class != model.Fatal || len(server.Requests()) != 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestArgumentsAreAsWritten(t *testing.T) {
	c, _ := play(t, "<signature none\n<call f {\"b\": 9007199254740993, \"a\": \"<&\\u0041\"} id=none\n<call g\n")
	_, _, answer, err := listen(t, c, hello())
	if err != nil {
		t.Fatal(err)
	}
	want := []model.Part{{Call: &model.Call{Name: "f", Args: json.RawMessage(`{"b":9007199254740993,"a":"<&\u0041"}`)}},
		{Call: &model.Call{ID: "call-2", Name: "g", Args: json.RawMessage(`{}`)}}}
	if diff := cmp.Diff(want, answer.Message.Parts); diff != "" {
		t.Error(diff)
	}
}

func TestAnswerMedia(t *testing.T) {
	c, _ := play(t, "<media image/png cG5n\n<finish IMAGE_SAFETY\n\n<media image/png cG5n\n")
	_, _, answer, err := listen(t, c, hello())
	if err != nil || answer.Finish != model.Blocked || answer.Blocked != "IMAGE_SAFETY" {
		t.Errorf("%+v, %v", answer, err)
	}
	_, _, answer, err = listen(t, c, hello())
	if err != nil || answer.Finish != model.Stop || string(answer.Message.Parts[0].Media.Data) != "png" {
		t.Errorf("%+v, %v", answer, err)
	}
}

func TestREL59Category(t *testing.T) {
	c, _ := play(t, `<raw {"candidates":[{"finishReason":"SAFETY","finishMessage":"no","safetyRatings":[{"category":"HARM_CATEGORY_HARASSMENT","probability":"HIGH","blocked":true},{"category":"HARM_CATEGORY_HATE_SPEECH","probability":"LOW"}]}]}

<raw {"promptFeedback":{"blockReason":"OTHER","safetyRatings":[]}}

<finish SPII

<finish BLOCKLIST

<finish RECITATION

<finish UNEXPECTED_TOOL_CALL

<finish FINISH_REASON_UNSPECIFIED
`)
	for _, want := range []model.Answer{
		{Finish: model.Blocked, Blocked: "HARM_CATEGORY_HARASSMENT", Detail: "no"}, {Finish: model.Blocked, Blocked: "OTHER", Detail: "OTHER"},
		{Finish: model.Blocked, Blocked: "SPII", Detail: "SPII"}, {Finish: model.Blocked, Blocked: "BLOCKLIST", Detail: "BLOCKLIST"},
		{Finish: model.Blocked, Blocked: "RECITATION", Detail: "RECITATION"}, {Finish: model.Malformed, Detail: "UNEXPECTED_TOOL_CALL"},
		{Finish: model.Other, Detail: "FINISH_REASON_UNSPECIFIED"},
	} {
		_, _, a, err := listen(t, c, hello())
		if err != nil || a.Finish != want.Finish || a.Blocked != want.Blocked || a.Detail != want.Detail {
			t.Errorf("%+v, %v; want %+v", a, err, want)
		}
	}
}

func TestBaseURLPathIsKept(t *testing.T) {
	var path string
	c := client(t, gemini.Config{BaseURL: "http://proxy.test/gemini/", Transport: modelserver.Transport(paths(func(p string) { path = p }))})
	_, _, _, _ = listen(t, c, hello())
	if path != "/gemini/v1beta/models/gemini-3.8-flash:streamGenerateContent" {
		t.Error(path)
	}
}

func TestMediaOfResultsFollowThem(t *testing.T) {
	c, server := play(t, "<call shot\n<call scan\n\n>result shot\n>result scan\n>media image/png\n>media application/pdf\n>!media audio/wav\n< seen\n")
	req := hello()
	_, _, answer, err := listen(t, c, req)
	if err != nil {
		t.Fatal(err)
	}
	result := func(i int, media ...model.Media) model.Part {
		call := answer.Message.Parts[i].Call
		return model.Part{Result: &model.Result{ID: call.ID, Name: call.Name, Content: "ok", Media: media}}
	}
	results := []model.Part{
		result(0, model.Media{MimeType: "image/png", Data: []byte("png")}, model.Media{MimeType: "image/jpeg", Data: []byte("jpg")}),
		result(1, model.Media{MimeType: "application/pdf", Data: []byte("pdf")}), {Text: "Look."},
	}
	req.Messages = append(req.Messages, answer.Message, model.Message{Role: model.User, Parts: results})
	if text, _, _, err := listen(t, c, req); err != nil || text != "seen" {
		t.Fatalf("%q, %v, %v", text, err, server.Failures())
	}
	want := `"response":{"output":"ok"}}},{"inlineData":{"mimeType":"image/png","data":"cG5n"}},{"inlineData":{"mimeType":"image/jpeg","data":"anBn"}},` +
		`{"inlineData":{"mimeType":"application/pdf","data":"cGRm"}},{"text":"Look."}]}]`
	if body := string(server.Requests()[1].Body); !strings.Contains(body, want) {
		t.Errorf("%s lacks %s", body, want)
	}
	results[0].Result.Media[0].Data = nil
	var e *model.Error
	if _, _, _, err := listen(t, c, req); !errors.As(err, &e) || e.Class != model.Fatal || !strings.Contains(e.Message, "image/png") {
		t.Error(err)
	}
}

func TestWhatIsSentAgainIsTheSame(t *testing.T) {
	temperature := 0.25
	ask := func(c *gemini.Client, turns int) {
		req := hello()
		req.System = "You are <careful> & brief."
		req.Options.Temperature = &temperature
		for _, name := range []string{"read_file", "grep"} {
			req.Tools = append(req.Tools, model.Declaration{Name: name, Description: "Does <it>.",
				Parameters: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"},"all":{"type":"boolean"}}}`)})
		}
		for i := range turns {
			id := fmt.Sprint("r#", i)
			req.Messages = append(req.Messages,
				model.Message{Role: model.Reply, Parts: []model.Part{{Call: &model.Call{ID: id, Name: "grep", Args: json.RawMessage(`{"path":"<a>"}`)}}}},
				model.Message{Role: model.User, Parts: []model.Part{{Result: &model.Result{ID: id, Name: "grep", Content: "line\n"}}}})
		}
		_, _, _, _ = listen(t, c, req)
	}
	var last string
	record := func() *gemini.Client {
		return client(t, gemini.Config{Transport: modelserver.Transport(recorder(func(body string) { last = body }))})
	}
	c := record()
	for turns := range 4 {
		ask(c, turns)
		got := last
		ask(record(), turns)
		if got != last || !json.Valid([]byte(got)) || !strings.Contains(got, `"name":"grep"`) {
			t.Errorf("%d turns:\n%s\nand by a client that asks for the first time:\n%s", turns, got, last)
		}
	}
}
