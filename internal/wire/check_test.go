package wire_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/agentls/agentls/internal/wire"
)

// TestREL19Parameters: those that make no sense are refused with the path of the
// member and what is wrong with it (spec 2.2).
func TestREL19Parameters(t *testing.T) {
	run := func(block string) string { return `{"input":[{"type":"text","text":"x"},` + block + `]}` }
	for _, c := range []struct {
		params        interface{ Check() (string, error) }
		json          string
		path, problem string // "" = fine
	}{
		{new(wire.RunParams), `{"input":"x"}`, "", ""},
		{new(wire.RunParams), `{}`, "", ""}, // the agent may have a query
		{new(wire.RunParams), `{"input":""}`, "input[0].text", "is required in a block of type text"},
		{new(wire.RunParams), run(`{"type":"text"}`), "input[1].text", "is required in a block of type text"},
		{new(wire.RunParams), run(`{}`), "input[1].type", "is required: text, image, resource_link, resource or diagnostics"},
		{new(wire.RunParams), run(`{"type":"tekst"}`), "input[1].type", `is "tekst", want text, image, resource_link, resource or diagnostics`},
		{new(wire.RunParams), run(`{"type":"image","mimeType":"image/png"}`), "input[1].data", "is required in a block of type image"},
		{new(wire.RunParams), run(`{"type":"image","data":"AAAA"}`), "input[1].mimeType", "is required in a block of type image"},
		{new(wire.RunParams), run(`{"type":"image","data":"AAAA","mimeType":"image/png"}`), "", ""},
		{new(wire.RunParams), run(`{"type":"image","data":"AAA","mimeType":"image/png"}`), "input[1].data", "is no base64"},
		{new(wire.RunParams), run(`{"type":"image","data":"a picture","mimeType":"image/png"}`), "input[1].data", "is no base64"},
		{new(wire.RunParams), run(`{"type":"image","data":"AA==AAAA","mimeType":"image/png"}`), "input[1].data", "is no base64"},
		{new(wire.RunParams), run(`{"type":"image","data":"` + strings.Repeat("AAAA", 5000) + `A","mimeType":"image/png"}`), "input[1].data", "is no base64"},
		{new(wire.RunParams), run(`{"type":"image","data":"` + strings.Repeat("AAAA", 5000) + `AA==","mimeType":"image/svg+xml"}`), "", ""},
		{new(wire.RunParams), run(`{"type":"image","data":"AAAA","mimeType":"text/html"}`), "input[1].mimeType", `is "text/html", which is no type of images`},
		{new(wire.RunParams), run(`{"type":"image","data":"AAAA","mimeType":"image/"}`), "input[1].mimeType", "is "},
		{new(wire.RunParams), run(`{"type":"image","data":"AAAA","mimeType":"png"}`), "input[1].mimeType", "is "},
		{new(wire.RunParams), run(`{"type":"resource_link","name":"a"}`), "input[1].uri", "is required in a block of type resource_link"},
		{new(wire.RunParams), run(`{"type":"resource_link","uri":"file:///a"}`), "", ""},
		{new(wire.RunParams), run(`{"type":"resource"}`), "input[1].resource", "is required in a block of type resource"},
		{new(wire.RunParams), run(`{"type":"resource","resource":{"text":"x"}}`), "input[1].resource.uri", "is required in a block of type resource"},
		{new(wire.RunParams), run(`{"type":"resource","resource":{"uri":"file:///empty"}}`), "", ""},
		{new(wire.RunParams), run(`{"type":"diagnostics","items":[]}`), "input[1].uri", "is required in a block of type diagnostics"},
		{new(wire.RunParams), run(`{"type":"diagnostics","uri":"file:///a"}`), "input[1].items", "is required in a block of type diagnostics"},
		{new(wire.RunParams), run(`{"type":"diagnostics","uri":"file:///a","items":[]}`), "", ""},
		{new(wire.RunParams), `{"input":"x","mode":"talk"}`, "mode", `is "talk", want chat or task`},
		{new(wire.RunParams), `{"input":"x","mode":"task"}`, "", ""},
		{new(wire.RunParams), `{"input":"x","mode":"chat"}`, "", ""},
		{new(wire.RunParams), `{"input":"x","approval":"yolo"}`, "approval", `is "yolo", want plan, ask, edits or auto`},
		{new(wire.RunParams), `{"input":"x","wait":"no"}`, "wait", `is "no", want end or accept`},
		{new(wire.RunParams), `{"input":"x","session":"a.b-c_1","run":"cli:1.2"}`, "", ""},
		{new(wire.RunParams), `{"input":"x","session":"../x"}`, "session", `is "../x", which cannot name a session; use 1 to 64 letters, digits, dots, dashes and underscores, no dot at the start and no .NUMBER at the end`},
		{new(wire.RunParams), `{"input":"x","session":".a"}`, "session", "is "},
		{new(wire.RunParams), `{"input":"x","session":"a.12"}`, "session", "is "},
		{new(wire.RunParams), `{"input":"x","session":"` + strings.Repeat("a", 65) + `"}`, "session", "is "},
		{new(wire.RunParams), `{"input":"x","run":"a b"}`, "run", `is "a b", which cannot name a run; use 1 to 128 letters, digits, dots, dashes, underscores and colons`},
		{new(wire.RunParams), `{"input":"x","run":"` + strings.Repeat("a", 128) + `"}`, "", ""},
		{new(wire.RunParams), `{"input":"x","run":"` + strings.Repeat("a", 129) + `"}`, "run", "is "},
		{new(wire.SteerParams), `{"input":"x"}`, "run", "is required"},
		{new(wire.SteerParams), `{"run":"a"}`, "input", "is required: a string or content blocks"},
		{new(wire.SteerParams), `{"run":"a","input":[{"type":"image"}]}`, "input[0].data", "is required in a block of type image"},
		{new(wire.SteerParams), `{"run":"a","input":"x"}`, "", ""},
		{new(wire.ResumeParams), `{}`, "run", "is required"},
		{new(wire.ResumeParams), `{"run":"a","wait":"no"}`, "wait", `is "no", want end or accept`},
		{new(wire.ResumeParams), `{"run":"a","extend":{"turns":-1}}`, "extend.turns", "is negative"},
		{new(wire.ResumeParams), `{"run":"a","extend":{"seconds":-1}}`, "extend.seconds", "is negative"},
		{new(wire.ResumeParams), `{"run":"a","extend":{"seconds":10000000000}}`, "extend.seconds", "is more than 1000000000"},
		{new(wire.ResumeParams), `{"run":"a","extend":{"tokens":-1}}`, "extend.tokens", "is negative"},
		{new(wire.ResumeParams), `{"run":"a","extend":{"usd":-0.5}}`, "extend.usd", "is negative"},
		{new(wire.ResumeParams), `{"run":"a","extend":{"usd":0.5}}`, "", ""},
		{new(wire.ResumeParams), `{"run":"a","session":"../x"}`, "session", "is "},
		{new(wire.ResumeParams), `{"run":"a","session":"main","workDoneToken":7}`, "", ""},
		{new(wire.SubscribeParams), `{"fromSeq":1}`, "", ""},
		{new(wire.SubscribeParams), `{"session":"../x"}`, "session", "is "},
		{new(wire.SubscribeParams), `{"session":"main"}`, "", ""},
		{new(wire.UnsubscribeParams), `{}`, "", ""},
		{new(wire.UnsubscribeParams), `{"session":"a.1"}`, "session", "is "},
		{new(wire.ParseParams), `{}`, "text", "is required"},
		{new(wire.ParseParams), `{"text":null}`, "text", "is required"},
		{new(wire.ParseParams), `{"text":""}`, "", ""},
		{new(wire.SessionListParams), `{}`, "", ""},
		{new(wire.SessionListParams), `{"limit":-1}`, "limit", "is -1, want 1 to 1000"},
		{new(wire.SessionListParams), `{"limit":1001}`, "limit", "is 1001, want 1 to 1000"},
		{new(wire.SessionParams), `{}`, "", ""},
		{new(wire.SessionParams), `{"session":".x"}`, "session", "is "},
		{new(wire.SessionDeleteParams), `{}`, "session", "is required"},
		{new(wire.SessionDeleteParams), `{"session":".x"}`, "session", "is "},
		{new(wire.SessionDeleteParams), `{"session":"main"}`, "", ""},
		{new(wire.SessionForkParams), `{"session":"a b","atSeq":1}`, "session", "is "},
		{new(wire.SessionForkParams), `{"session":"a"}`, "atSeq", "is required: the number of an event, from 1"},
		{new(wire.SessionForkParams), `{"atSeq":0}`, "atSeq", "is required"},
		{new(wire.SessionForkParams), `{"atSeq":1}`, "", ""},
		{new(wire.SessionRewindParams), `{"session":"a b","toSeq":1}`, "session", "is "},
		{new(wire.SessionRewindParams), `{"files":true}`, "toSeq", "is required: the number of an event, from 1"},
		{new(wire.SessionRewindParams), `{"toSeq":3,"force":true,"files":true}`, "", ""},
		{new(wire.SessionRewindParams), `{"toSeq":3}`, "", ""},
		{new(wire.SessionApprovalParams), `{}`, "approval", "is required: plan, ask, edits or auto"},
		{new(wire.SessionApprovalParams), `{"approval":"yolo"}`, "approval", `is "yolo", want plan, ask, edits or auto`},
		{new(wire.SessionApprovalParams), `{"session":"a b","approval":"ask"}`, "session", "is "},
		{new(wire.SessionApprovalParams), `{"approval":"ask"}`, "", ""},
		{new(wire.ChangesParams), `{}`, "", ""},
		{new(wire.ChangesParams), `{"session":"a b"}`, "session", "is "},
		{new(wire.ChangesParams), `{"session":"a","run":"r"}`, "", ""},
		{new(wire.ChangesResolveParams), `{}`, "action", "is required: keep or undo"},
		{new(wire.ChangesResolveParams), `{"action":"drop"}`, "action", `is "drop", want keep or undo`},
		{new(wire.ChangesResolveParams), `{"session":"a b","action":"keep"}`, "session", "is "},
		{new(wire.ChangesResolveParams), `{"action":"keep"}`, "", ""},
		{new(wire.ChangesResolveParams), `{"action":"keep","hunks":["a"]}`, "uri", "is required with hunks"},
		{new(wire.ChangesResolveParams), `{"action":"keep","uri":"file:///a","hunks":[]}`, "hunks", "is empty; leave it out to mean all"},
		{new(wire.ChangesResolveParams), `{"action":"keep","uri":"file:///a","hunks":["a",""]}`, "hunks[1]", "is empty"},
		{new(wire.ChangesResolveParams), `{"action":"undo","uri":"file:///a","hunks":["a"]}`, "", ""},
		{new(wire.ChangesResolveParams), `{"action":"undo","uri":"a.txt"}`, "uri", "is \"a.txt\", which is no URI of a file"},
		{new(wire.SessionNewParams), `{}`, "", ""},
		{new(wire.SessionNewParams), `{"title":"a\nb"}`, "title", "has control characters; use one line of text"},
		{new(wire.SessionNewParams), `{"title":"` + strings.Repeat("é", 201) + `"}`, "title", "is longer than 200 characters"},
		{new(wire.SessionNewParams), `{"title":"` + strings.Repeat("é", 200) + `"}`, "", ""},
		{new(wire.SessionCompressParams), `{}`, "", ""},
		{new(wire.SessionCompressParams), `{"session":"a b"}`, "session", "is "},
		{new(wire.ContextParams), `{}`, "agent", "is required"},
		{new(wire.ContextParams), `{"agent":"main","session":"a b"}`, "session", "is "},
		{new(wire.ContextParams), `{"agent":"main"}`, "", ""},
		{new(wire.ContextClearParams), `{"purge":true}`, "agent", "is required"},
		{new(wire.ContextClearParams), `{"agent":"main","session":"a b"}`, "session", "is "},
		{new(wire.PermissionsListParams), `{}`, "", ""},
		{new(wire.PendingParams), `{}`, "", ""}, {new(wire.PendingParams), `{"session":"a b"}`, "session", "is "},
		{new(wire.PermissionsListParams), `{"session":"a b"}`, "session", "is "},
		{new(wire.PermissionsForgetParams), `{}`, "id", "is required: one of agents/permissions/list"},
		{new(wire.PermissionsForgetParams), `{"id":"0a"}`, "", ""},
		{new(wire.TrustParams), `{"trusted":true}`, "uri", "is required"},
		{new(wire.TrustParams), `{"uri":"file:///w"}`, "trusted", "is required: true or false"},
		{new(wire.TrustParams), `{"uri":"file:///w","trusted":null}`, "trusted", "is required: true or false"},
		{new(wire.TrustParams), `{"uri":"file:///w","trusted":false}`, "", ""},
		{new(wire.TrustParams), `{"uri":"file:///w","forget":true}`, "", ""},
		{new(wire.TrustParams), `{"uri":"file:///w","trusted":true,"forget":true}`, "forget", "and trusted are given both"},
		{new(wire.TrustGetParams), `{}`, "uri", "is required"},
		{new(wire.ImportParams), `{"from":"cursor"}`, "from", `is "cursor", want claude, copilot, opencode or gemini-cli`},
		{new(wire.ImportParams), `{"scope":"system"}`, "scope", `is "system", want project or global`},
		{new(wire.ExportParams), `{"to":"claude"}`, "names", "or all is required, one of both"},
		{new(wire.ExportParams), `{"to":"claude","all":true,"names":["x"]}`, "names", "or all is required, one of both"},
		{new(wire.ExportParams), `{"all":true}`, "to", "is required: claude, copilot, opencode or gemini-cli"},
		{new(wire.ExportParams), `{"all":true,"to":"gemini-cli"}`, "folder", "is required"},
		{new(wire.ExportParams), `{"names":["x"],"to":"gemini-cli","text":true}`, "", ""},
		{new(wire.CreateParams), `{}`, "name", "is required"},
		{new(wire.CreateParams), `{"name":""}`, "name", "is required"},
		{new(wire.CreateParams), `{"Name":"x"}`, "name", "is required"},
		{new(wire.CreateParams), `{"name":"x","scope":"system"}`, "scope", `is "system", want project or global`},
		{new(wire.CreateParams), `{"name":"x","scope":"global","title":"X","tools":{"allow":["ls"]},"model":null}`, "", ""},
		{new(wire.DeleteParams), `{"scope":"global"}`, "name", "is required"},
		{new(wire.DeleteParams), `{"name":"x","scope":"mine"}`, "scope", `is "mine", want project or global`},
		{new(wire.DeleteParams), `{"name":"x","keepContext":true}`, "", ""},
		{new(wire.ValidateParams), `{"name":"x","uri":"file:///x.md"}`, "name", "and uri are given both"},
		{new(wire.ValidateParams), `{"uri":"file:///x.md"}`, "", ""},
		{new(wire.ValidateParams), `{}`, "", ""},
		{new(wire.ListParams), `{}`, "", ""},
		{new(wire.ListParams), `{"scope":"mine"}`, "scope", `is "mine", want project, global, extension or system`},
	} {
		if err := (wire.Codec{}).Unmarshal([]byte(c.json), c.params); err != nil {
			t.Fatalf("%s: %v", c.json, err)
		}
		path, err := c.params.Check()
		problem := ""
		if err != nil {
			problem = err.Error()
		}
		if (err != nil) != (c.problem != "") || path != c.path || !strings.HasPrefix(problem, c.problem) {
			t.Errorf("%s: %q %q, want %q %q", c.json, path, problem, c.path, c.problem)
		}
	}
}

// TestFieldsOfCreate: what is no member of its own is a field of the front-matter,
// as it is written and as null; it survives the way to the wire and back.
func TestFieldsOfCreate(t *testing.T) {
	const text = `{"name":"x","title":"A","dryRun":true,"run":{"max_turns":3},"Scope":"kept","tools":null,"prompt":"p"}`
	var p wire.CreateParams
	if err := (wire.Codec{}).Unmarshal([]byte(text), &p); err != nil {
		t.Fatal(err)
	}
	want := wire.CreateParams{Name: "x", DryRun: true, Prompt: "p", Fields: map[string]any{
		"title": "A", "run": map[string]any{"max_turns": 3.0}, "Scope": "kept", "tools": nil,
	}}
	if !reflect.DeepEqual(p, want) {
		t.Errorf("%+v", p)
	}
	written, err := wire.Codec{}.Marshal(&p)
	var again wire.CreateParams
	if err != nil || (wire.Codec{}).Unmarshal(written, &again) != nil || !reflect.DeepEqual(again, want) {
		t.Errorf("%v\n%s\n%+v", err, written, again)
	}
	// A field never takes the place of a member.
	written, err = wire.Codec{}.Marshal(wire.CreateParams{Name: "x", Fields: map[string]any{"name": "other"}})
	if err != nil || !strings.Contains(string(written), `"name":"x"`) || strings.Contains(string(written), "other") {
		t.Errorf("%v %s", err, written)
	}
}
