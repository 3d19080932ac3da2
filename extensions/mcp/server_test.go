package mcp

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/sandbox"
)

// TestParse: what a description says, and what is refused with its reason.
func TestParse(t *testing.T) {
	lookup := func(name string) (string, bool) {
		value, ok := map[string]string{"TOKEN": "t", "EMPTY": ""}[name]
		return value, ok
	}
	for _, c := range []struct{ raw, problem string }{
		{`{"command": "x", "args": ["${TOKEN}", "${NONE:-d}"], "env": {"A": "${TOKEN}", "B": 1, "C": true}}`, ""},
		{`{"command": "x", "env": {"A": "${NONE} ${OTHER}"}}`, "the variable NONE, OTHER is not set"},
		{`{"command": "x", "env": {"A": {}}}`, "env.A must be a text"},
		{`{"command": "x", "env": {"A=": "1"}}`, "no variable can have"},
		{`{}`, "no command"},
		{`{"command": "x", "oauth": {}}`, "oauth is for servers over HTTP"},
		{`{"command": "x", "timeout": 5}`, "timeout"},
		{`{"command": "x", "sandbox": "network"}`, "not supported"},
		{`{"command": "x", "sandbox": "any_host"}`, "not supported"},
		{`{"command": "x", "sandbox": "some"}`, "use read, write or full"},
		{`{"command": ["x"]}`, "cannot be read"},
		{`{"command": "x", "command": "y"}`, "cannot be read"},
	} {
		if s := Parse("s", false, []byte(c.raw), "", lookup); (c.problem == "") != (s.Problem == "") || !strings.Contains(s.Problem, c.problem) {
			t.Errorf("%s: %q, want %q", c.raw, s.Problem, c.problem)
		}
	}
	s := Parse("s", false, []byte(`{"command": "x", "args": ["${TOKEN}", "${NONE:-d}", "${EMPTY:-e}"], "env": {"B": 1, "A": "${TOKEN}"}, "trust": true, "safeTools": ["a"]}`), "", lookup)
	if !slices.Equal(s.Args, []string{"t", "d", "e"}) || !slices.Equal(s.Env, []string{"A=t", "B=1"}) || s.Sandbox != "" {
		t.Errorf("%+v", s)
	}
	if riskOf(s, "a") != tool.Safe || riskOf(s, "b") != tool.Low {
		t.Error("trust and safeTools of the person's own settings do not count")
	}
	p := Parse("s", true, []byte(`{"command": "x", "trust": true, "safeTools": ["a"], "sandbox": ""}`), "", lookup)
	if riskOf(p, "a") != tool.Medium || riskOf(p, "b") != tool.Medium || p.Sandbox != sandbox.Write {
		t.Errorf("a project's: %+v", p)
	}
	if q := Parse("s", true, []byte(`{"command": "x"}`), "another script", lookup); q.Digest == Parse("s", true, []byte(`{"command": "x"}`), "", lookup).Digest {
		t.Error("what was approved does not count for the digest")
	}
}

// TestSEC104Schemas: schemas come without references and without what providers
// refuse, within limits.
func TestSEC104Schemas(t *testing.T) {
	deep := strings.Repeat(`{"properties":{"a":`, 40) + `{}` + strings.Repeat(`}}`, 40)
	wide := `{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"anyOf":[` + strings.Repeat(`{"$ref":"#/$defs/b"},`, 100) + `{}]},"b":{"anyOf":[` + strings.Repeat(`{"type":"string"},`, 100) + `{}]}}}`
	for _, c := range []struct{ in, want string }{
		{`{}`, `{"properties":{},"type":"object"}`},
		{`{"type":"object","$schema":"x","properties":{"a":{"type":"string","pattern":"(?=x)","default":1,"const":"k"}},"additionalProperties":false}`,
			`{"additionalProperties":false,"properties":{"a":{"enum":["k"],"type":"string"}},"type":"object"}`},
		{`{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"type":"array","items":{"$ref":"#/$defs/a"}}}}`,
			`{"properties":{"a":{"items":{},"type":"array"}},"type":"object"}`},
		{`{"type":"object","properties":{"a":{"$ref":"file:///etc/passwd"},"b":{"type":["string","null","x"]},"c":{"oneOf":[{"type":"string"},true]}}}`,
			`{"properties":{"a":{},"b":{"type":["string","null"]},"c":{"anyOf":[{"type":"string"},{}]}},"type":"object"}`},
		{`{"allOf":[{"properties":{"a":{"type":"string"}}},{"required":["a"]}]}`, `{"properties":{"a":{"type":"string"}},"required":["a"],"type":"object"}`},
		{`{"properties":{"x":{"$ref":"#/$defs/a"},"y":{"$ref":"#/$defs/a"},"z":{"$ref":"#/$defs/a"}},"$defs":{"a":{"enum":["` + strings.Repeat("x", maxSchema/2) + `"]}}}`, ""},
		{`{"properties":{"a":{"const":"k","enum":["l"]},"b":{"const":"k","enum":["l"]},"c":{"const":"k","enum":["l"]},"d":{"const":"k","enum":["l"]},"e":{"const":"k","enum":["l"]},"f":{"const":"k","enum":["l"]},"g":{"const":"k","enum":["l"]},"h":{"const":"k","enum":["l"]}}}`, // each time the same: a provider caches what begins with it
			`{"properties":{"a":{"enum":["l"]},"b":{"enum":["l"]},"c":{"enum":["l"]},"d":{"enum":["l"]},"e":{"enum":["l"]},"f":{"enum":["l"]},"g":{"enum":["l"]},"h":{"enum":["l"]}},"type":"object"}`},
		{deep, ""}, {wide, ""}, {`{"type":"array"}`, ""}, {`[]`, ""}, {`{"a":1,"a":2}`, ""}, {`{"x":"` + strings.Repeat("x", maxSchema) + `"}`, ""},
	} {
		got, err := cleanSchema([]byte(c.in))
		if (err == nil) != (c.want != "") || (string(got) != c.want && err == nil) {
			t.Errorf("%.80s: %s, %v\nwant %s", c.in, got, err, c.want)
		}
	}
}

// TestResults: texts, images, resources and what models do not take.
func TestResults(t *testing.T) {
	const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
	r, err := readResult([]byte(`{"content": [{"type": "text", "text": "one"}, {"type": "image", "mimeType": "image/png", "data": "` + png + `"},
		{"type": "image", "mimeType": "image/png", "data": "bm8="}, {"type": "audio", "mimeType": "audio/wav", "data": "x"},
		{"type": "resource", "resource": {"uri": "test://a", "text": "two"}}, {"type": "resource_link", "uri": "test://b", "name": "b"}, {"type": "new"}], "isError": true}`))
	if err != nil || len(r.Media) != 1 || r.Media[0].MimeType != "image/png" || !r.Failed || r.Taint != tool.Foreign {
		t.Fatalf("%+v, %v", r, err)
	}
	for _, want := range []string{"one\n", "no image or document", "cannot be read]", "[resource test://a]\ntwo", "[link to b: test://b]", `"new" is left out`} {
		if !strings.Contains(r.Content, want) {
			t.Errorf("%q is missing in\n%s", want, r.Content)
		}
	}
	if r, err := readResult([]byte(`{"content": [], "structuredContent": {"a": 1}}`)); err != nil || r.Content != `{"a": 1}` {
		t.Errorf("structured: %+v, %v", r, err)
	}
	if r, err := readResult([]byte(`{"content": [], "structuredContent": null, "inputRequests": null}`)); err != nil || r.Content != "(no output)" {
		t.Errorf("nulls: %+v, %v", r, err)
	}
	if _, err := readResult([]byte(`{"inputRequests": {"a": {}}}`)); err == nil {
		t.Error("a question to the person is taken for a result")
	}
}

// TestResourcesAndPrompts: what is no text is told, and what is not read.
func TestResourcesAndPrompts(t *testing.T) {
	part, many := `{"uri": "test://a", "text": "one"}`, `{"role": "user", "content": {"type": "text", "text": "one"}}`
	for _, c := range []struct {
		read      func([]byte) (string, error)
		raw, want string
	}{
		{readResource, `{"contents": [` + part + `, {"text": ""}]}`, "one\n\n"},
		{readResource, `{"contents": [{"mimeType": "image/png", "blob": "eA=="}]}`, "[content of type image/png is left out]"},
		{readResource, `{"contents": [{"mimeType": "text/csv", "blob": "eA=="}]}`, "[content of type text/csv is left out]"},
		{readResource, `{"contents": [{"blob": "eA=="}]}`, "[content of an unknown type is left out]"},
		{readResource, `{"contents": [` + strings.Repeat(part+",", 101) + part + `]}`, strings.Repeat("one\n\n", 100) + "[2 more parts are left out]"},
		{readPrompt, `{"messages": [` + strings.Repeat(many+",", 100) + many + `]}`, strings.Repeat("one\n\n", 100) + "[1 more part is left out]"},
	} {
		if got, err := c.read([]byte(c.raw)); err != nil || got != c.want {
			t.Errorf("%.80s: %.80q, %v", c.raw, got, err)
		}
	}
}

// TestTimesAreOfTheNewestCalls: calls that failed take no place among those that had an answer.
func TestTimesAreOfTheNewestCalls(t *testing.T) {
	e := &entry{stderr: new(ring)}
	for i := range 3 * maxTook {
		took := time.Second
		if i >= maxTook {
			took = time.Minute
		}
		e.record(took, nil)
		e.record(time.Hour, errEnded)
	}
	if s := e.report(); s.P50 != time.Minute || s.P95 != time.Minute || slices.Min(e.took) != time.Minute || s.Calls != 6*maxTook || s.Errors != 3*maxTook {
		t.Errorf("%+v", s)
	}
}

// TestPlacesOfArguments: a path outside of the workspace raises a call, and so does
// one of credentials.
func TestPlacesOfArguments(t *testing.T) {
	folder := t.TempDir()
	env := &tool.Env{Folder: folder, Folders: []string{folder}, Home: "/home/p"}
	for args, want := range map[string]tool.Risk{
		`{"path": "a/b.txt"}`: tool.Medium, `{"path": "/etc/passwd"}`: tool.High, `{"deep": [{"p": "../../x"}]}`: tool.High, `{"uri": "file:///etc/hosts"}`: tool.High,
		`{"path": "~/.ssh/id_rsa"}`: tool.High, `{"path": "x/.env"}`: tool.Protected, `{"path": ".git/config"}`: tool.Protected, `{"url": "https://example.com/a"}`: tool.Medium,
		`{"name": "GEMINI.md"}`: tool.Protected, `{"name": ".env"}`: tool.Protected, `{"text": "GEMINI.md is a file"}`: tool.Medium,
		`{"text": "a/b is\nnot a path"}`: tool.Medium, `{"text": "hidden \u202e"}`: tool.High,
	} {
		one := newTool(&entry{all: &Servers{}}, Server{Name: "s"}, listed{Name: "t"})
		plan, err := one.Plan(t.Context(), env, json.RawMessage(args))
		if err != nil || plan.Risk != want || !plan.Leaves || !plan.Spawns {
			t.Errorf("%s: %+v, %v, want %v", args, plan, err, want)
		}
	}
}
