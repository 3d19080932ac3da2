package session

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/compression"
	"github.com/agentls/agentls/agents/model"
)

func clock() time.Time { return time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC) }

func text(s string) []activity.ContentBlock {
	return []activity.ContentBlock{{Type: "text", Text: s}}
}

// calls returns an answer that calls a tool once for each id.
func calls(ids ...string) activity.ModelContent {
	b := activity.ModelContent{Raw: json.RawMessage(`{"p": [1]}`)}
	for _, id := range ids {
		b.Content = append(b.Content, model.Part{Call: &model.Call{ID: id, Name: "ls", Args: json.RawMessage(`{ "a": 1 }`)}})
	}
	return b
}

func ended(id, content string) activity.ToolState {
	return activity.ToolState{Call: id, Name: "ls", State: activity.Success, Risk: "safe", Result: &activity.ToolResult{Content: content}}
}

// says renders a conversation in one line for each message.
func says(messages []model.Message) []string {
	out := []string{}
	for _, m := range messages {
		s := string(m.Role) + ":"
		for _, p := range m.Parts {
			switch {
			case p.Call != nil:
				s += " call " + p.Call.ID
			case p.Result != nil:
				s += " " + p.Result.ID + "=" + p.Result.Content
			default:
				s += " " + p.Text
			}
		}
		out = append(out, s)
	}
	return out
}

// What Apply puts in the place of what went.
var (
	applied = compression.Apply(nil, 0, "|", nil)
	ack     = applied[1].Parts[0].Text
)

func snapshotText(s string) string {
	return strings.TrimSuffix(applied[0].Parts[0].Text, "|") + s
}

// Spec 3.6 and REL-61, case by case.
func TestREL61ContextIsTheViewOfTheLog(t *testing.T) {
	reply := func(s string) activity.ModelContent {
		return activity.ModelContent{Content: []model.Part{{Text: s}}, Raw: json.RawMessage(`{}`)}
	}
	for _, c := range []struct {
		name   string
		events []activity.Body
		want   []string
		sent   bool // a model could be sent it as it is
	}{
		{"a question and its answer", []activity.Body{activity.RunStarted{Input: text("hi")}, activity.TurnStarted{Turn: 1}, reply("ho"), activity.RunFinished{}},
			[]string{"user: hi", "model: ho"}, false},
		{"results in call order", []activity.Body{activity.RunStarted{Input: text("hi")}, calls("1", "2", "3"), ended("3", "c"), ended("1", "a"), ended("2", "b")},
			[]string{"user: hi", "model: call 1 call 2 call 3", "user: 1=a 2=b 3=c"}, true},
		{"results are not sent before all are there", []activity.Body{activity.RunStarted{Input: text("hi")}, calls("1", "2"), ended("2", "b")},
			[]string{"user: hi", "model: call 1 call 2"}, false},
		{"the first end of a call counts", []activity.Body{activity.RunStarted{Input: text("hi")}, calls("1", "2"), ended("1", "a"), ended("1", "again"), ended("9", "none"), ended("2", "b"), ended("2", "late")},
			[]string{"user: hi", "model: call 1 call 2", "user: 1=a 2=b"}, true},
		{"a move is no end", []activity.Body{activity.RunStarted{Input: text("hi")}, calls("1"), activity.ToolState{Call: "1", State: activity.Executing}},
			[]string{"user: hi", "model: call 1"}, false},
		{"an invalid answer is left out", []activity.Body{activity.RunStarted{Input: text("hi")}, activity.ModelContent{Content: []model.Part{{Text: "x"}}, Invalid: true}, reply("ho")},
			[]string{"user: hi", "model: ho"}, false},
		{"input that comes during an answer follows it", []activity.Body{activity.RunStarted{Input: text("hi")}, activity.TurnStarted{Turn: 1}, activity.Input{Input: text("also")}, calls("1"), ended("1", "a"), activity.TurnStarted{Turn: 2}},
			[]string{"user: hi", "model: call 1", "user: 1=a also"}, true},
		{"input at the end is kept", []activity.Body{activity.RunStarted{Input: text("hi")}, activity.TurnStarted{Turn: 1}, activity.Input{Input: text("also")}, reply("ho"), activity.RunFinished{}},
			[]string{"user: hi", "model: ho", "user: also"}, true},
		{"a run that failed leaves its question", []activity.Body{activity.RunStarted{Input: text("hi")}, activity.RunFinished{Reason: activity.Errored}, activity.RunStarted{Input: text("again")}},
			[]string{"user: hi again"}, true},
		{"a run that ended closes its calls", []activity.Body{activity.RunStarted{Input: text("hi")}, calls("1", "2"), ended("2", "b"), activity.RunFinished{Reason: activity.Aborted}},
			[]string{"user: hi", "model: call 1 call 2", "user: 1=" + interrupted + " 2=b"}, true},
		{"an answer that was continued", []activity.Body{activity.RunStarted{Input: text("hi")}, reply("one"), reply("two")},
			[]string{"user: hi", "model: one", "user: " + GoOn, "model: two"}, false},
		{"an answer without its question", []activity.Body{reply("one")},
			[]string{"user: " + lostStart, "model: one"}, false},
		{"an empty answer", []activity.Body{activity.RunStarted{Input: text("hi")}, activity.ModelContent{Raw: json.RawMessage("null")}},
			[]string{"user: hi"}, true},
		{"a note to the model comes with the next turn", []activity.Body{activity.RunStarted{Input: text("hi")}, calls("1"), activity.Note{Message: "stop that", ToModel: true}, activity.Note{Message: "for people"}, ended("1", "a"), activity.TurnStarted{Turn: 2}},
			[]string{"user: hi", "model: call 1", "user: 1=a stop that"}, true},
		{"a snapshot stands for what went", []activity.Body{activity.RunStarted{Input: text("hi")}, reply("ho"), activity.RunFinished{}, activity.RunStarted{Input: text("on")}, activity.ContextCompressed{Status: compression.Compressed, Cut: 2, Snapshot: "S"}},
			[]string{"user: " + snapshotText("S"), "model: " + ack, "user: on"}, true},
		{"all may go", []activity.Body{activity.RunStarted{Input: text("hi")}, reply("ho"), activity.RunFinished{}, activity.ContextCompressed{Status: compression.Compressed, Cut: 2, Snapshot: "S"}, activity.RunStarted{Input: text("on")}},
			[]string{"user: " + snapshotText("S"), "model: " + ack, "user: on"}, true},
		{"an answer that goes on after all went", []activity.Body{activity.RunStarted{Input: text("hi")}, reply("ho"), activity.ContextCompressed{Status: compression.Compressed, Cut: 2, Snapshot: "S"}, reply("on")},
			[]string{"user: " + snapshotText("S"), "model: " + ack, "user: " + GoOn, "model: on"}, false},
		{"results that are out of date become a line", []activity.Body{activity.RunStarted{Input: text("hi")}, calls("1", "2"), ended("1", "a long result"), ended("2", "b"), activity.ContextCompressed{Status: compression.Compressed, Reduced: []string{"1"}}},
			[]string{"user: hi", "model: call 1 call 2", "user: 1=[ls: left out to make room; call it again if you need it] 2=b"}, true},
		{"a compression that failed changes nothing", []activity.Body{activity.RunStarted{Input: text("hi")}, reply("ho"), activity.ContextCompressed{Status: compression.Inflated, Cut: 2, Snapshot: "S"}},
			[]string{"user: hi", "model: ho"}, false},
		{"open calls are not cut off", []activity.Body{activity.RunStarted{Input: text("hi")}, calls("1"), activity.ContextCompressed{Status: compression.Compressed, Cut: 2, Snapshot: "S"}, ended("1", "a")},
			[]string{"user: " + snapshotText("S"), "model: " + ack, "user: hi", "model: call 1", "user: 1=a"}, true},
		{"what is cleared is gone", []activity.Body{activity.RunStarted{Input: text("hi")}, reply("ho"), calls("1"), activity.Input{Input: text("wait")}, activity.ContextCleared{Agent: "a"}, ended("1", "late"), activity.RunStarted{Input: text("new")}},
			[]string{"user: new"}, true},
		{"a tool that failed", []activity.Body{activity.RunStarted{Input: text("hi")}, calls("1"), activity.ToolState{Call: "1", State: activity.Failed, Error: &activity.ToolError{Message: "no"}}},
			[]string{"user: hi", "model: call 1", "user: 1=no"}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			store := New(Config{Now: clock})
			s, err := store.Open("x")
			if err != nil {
				t.Fatal(err)
			}
			defer store.Close()
			for _, b := range c.events {
				s.Log.Append(activity.Origin{Run: "r", Agent: "a"}, b, 0)
			}
			got := s.Context("a")
			if diff := cmp.Diff(c.want, says(got)); diff != "" {
				t.Error(diff)
			}
			if err := Check(got); (err == nil) != c.sent {
				t.Errorf("check says %v", err)
			}
			if len(s.Context("b")) != 0 {
				t.Error("another agent saw it")
			}
		})
	}
}

// Raw is what the model sent, compact, and results keep what they refer to.
func TestReplyKeepsItsRawForm(t *testing.T) {
	store := New(Config{Now: clock})
	s, _ := store.Open("x")
	defer store.Close()
	o := activity.Origin{Run: "r", Agent: "a"}
	sha, err := s.PutBlob([]byte("the whole"))
	if err != nil {
		t.Fatal(err)
	}
	s.Log.Append(o, activity.RunStarted{Input: text("hi")}, 0)
	s.Log.Append(o, calls("1", "2", "3"), 0)
	s.Log.Append(o, activity.ToolState{Call: "1", State: activity.Success, Result: &activity.ToolResult{Blob: sha, Bytes: 9}}, 0)
	s.Log.Append(o, activity.ToolState{Call: "2", State: activity.Success, Result: &activity.ToolResult{Content: "cut", Blob: sha, Bytes: 9}}, 0)
	s.Log.Append(o, activity.ToolState{Call: "3", State: activity.Success, Result: &activity.ToolResult{Blob: "gone", Bytes: 9}}, 0)
	got := s.Context("a")
	want := []model.Message{
		{Role: model.User, Parts: []model.Part{{Text: "hi"}}},
		{Role: model.Reply, Raw: json.RawMessage(`{"p":[1]}`)},
		{Role: model.User, Parts: []model.Part{
			{Result: &model.Result{ID: "1", Name: "ls", Content: "the whole", Blob: sha}},
			{Result: &model.Result{ID: "2", Name: "ls", Content: "cut", Blob: sha}},
			{Result: &model.Result{ID: "3", Name: "ls", Content: "[this result was lost: gone]", Blob: "gone", Error: true}},
		}},
	}
	for _, id := range []string{"1", "2", "3"} {
		want[1].Parts = append(want[1].Parts, model.Part{Call: &model.Call{ID: id, Name: "ls", Args: json.RawMessage(`{"a":1}`)}})
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// What a model reads of what a person gave.
func TestRender(t *testing.T) {
	for _, c := range []struct{ block, want string }{
		{`{"type":"text","text":"as it is\n"}`, "as it is\n"},
		{`{"type":"resource","resource":{"uri":"file:///w/a%20b.go","range":{"start":{"line":4,"character":2},"end":{"line":7,"character":0}},"text":"x := 1\n"}}`, "/w/a b.go, lines 5-7:\n```go\nx := 1\n```"},
		{`{"type":"resource","resource":{"uri":"file:///w/r.md","range":{"start":{"line":4,"character":2},"end":{"line":4,"character":5}},"text":"` + "a\\n```\\nb" + `"}}`, "/w/r.md, line 5:\n````md\na\n```\nb\n````"},
		{`{"type":"resource","resource":{"uri":"file:///w/a%0A%23%20Orders.%60%60%60","text":"x"}}`, "/w/a # Orders.```:\n```\nx\n```"},
		{`{"type":"resource","resource":{"uri":"file:///w/x.bin","mimeType":"application/zip","blob":"AAAA"}}`, "[the binary file /w/x.bin, application/zip]"},
		{`{"type":"resource_link","uri":"file:///w/a.go","name":"the file"}`, "the file (file:///w/a.go)"},
		{`{"type":"resource_link","uri":"https://example.com/a.go","range":{"start":{"line":0,"character":0},"end":{"line":2,"character":1}}}`, "a.go (https://example.com/a.go, lines 1-3)"},
		{`{"type":"diagnostics","uri":"file:///w/a.go","items":[{"range":{"start":{"line":1,"character":2},"end":{"line":1,"character":3}},"severity":2,"code":"S1","source":"lint","message":"unused"},{"range":{"start":{"line":0,"character":0},"end":{"line":0,"character":0}},"message":"bad"}]}`,
			"Diagnostics of /w/a.go:\n- line 2, column 3: warning: unused (lint S1)\n- line 1, column 1: error: bad"},
		{`{"type":"diagnostics","uri":"file:///w/a.go","items":[]}`, "Diagnostics of /w/a.go: none"},
		{`{"type":"image","mimeType":"image/png","data":"%%"}`, "[an image that could not be read]"},
		{`{"type":"later"}`, "[content of the kind later, which cannot be shown]"},
	} {
		var b activity.ContentBlock
		if err := json.Unmarshal([]byte(c.block), &b); err != nil {
			t.Fatal(err)
		}
		got := Render([]activity.ContentBlock{b})
		if len(got) != 1 || got[0].Text != c.want {
			t.Errorf("%s gives %+v, want %q", c.block, got, c.want)
		}
	}
	ticks := strings.Repeat("`", 4<<20) // took hours where the fence grew by one at a time
	long := Render([]activity.ContentBlock{{Type: "resource", Resource: &activity.Resource{URI: "file:///w/a.md", Text: ticks}}})
	if want := "/w/a.md:\n" + ticks + "`md\n" + ticks + "\n" + ticks + "`"; len(long) != 1 || long[0].Text != want {
		t.Error("a long row of backticks is in a fence that it can end")
	}
	got := Render([]activity.ContentBlock{{Type: "image", MimeType: "image/png", Data: "aGk="}})
	if len(got) != 1 || got[0].Media == nil || string(got[0].Media.Data) != "hi" || got[0].Media.MimeType != "image/png" {
		t.Errorf("got %+v", got)
	}
	if got := Render(nil); len(got) != 0 {
		t.Errorf("got %+v", got)
	}
}
