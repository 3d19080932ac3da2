package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/tool"
)

// objects reads lines of JSON, each a whole object.
func objects(t *testing.T, out string) (all []map[string]any) {
	t.Helper()
	for line := range strings.Lines(out) {
		var o map[string]any
		if err := json.Unmarshal([]byte(line), &o); err != nil {
			t.Fatalf("%q is no JSON: %v", line, err)
		}
		all = append(all, o)
	}
	return all
}

// TestRunAsJSON: standard output is the result and nothing else.
func TestRunAsJSON(t *testing.T) {
	play(t, "> look\n< I look.\n<call ls {\"dir_path\": \".\"}\n\n>result ls\n< There is nothing.\n")
	code, out, errs := command(t, writer(t), "run", "writer", "look around", "--trust", "--format", "json")
	if code != 0 || strings.Count(out, "\n") != 1 {
		t.Fatalf("exit %d, stdout %q\n%s", code, out, errs)
	}
	r := objects(t, out)[0]
	if r["reason"] != "GOAL" || r["agent"] != "writer" || r["text"] != "There is nothing." || r["session"] != "main" || r["type"] != nil || r["error"] != nil {
		t.Errorf("the result: %s", out)
	}
	if !strings.Contains(errs, "✓ ls .") {
		t.Errorf("standard error does not tell the call:\n%s", errs)
	}
}

// TestRunAsStreamOfJSON: each event as it comes, gap-free and in order, then the
// result.
func TestRunAsStreamOfJSON(t *testing.T) {
	play(t, "> look\n< I look.\n<call ls {\"dir_path\": \".\"}\n\n>result ls\n< There is nothing.\n")
	code, out, errs := command(t, writer(t), "run", "writer", "look around", "--trust", "--format", "stream-json")
	if code != 0 {
		t.Fatalf("exit %d\n%s", code, errs)
	}
	all := objects(t, out)
	last := all[len(all)-1]
	if last["type"] != "result" || last["reason"] != "GOAL" || last["text"] != "There is nothing." {
		t.Errorf("the last line: %v", last)
	}
	var types []string
	next := 1.0
	for _, e := range all[:len(all)-1] {
		types = append(types, e["type"].(string))
		from := e["seq"]
		if e["fromSeq"] != nil {
			from = e["fromSeq"]
		}
		if from != next {
			t.Errorf("%v begins at %v, want %v", e["type"], from, next)
		}
		next = e["seq"].(float64) + 1
	}
	for _, want := range []string{"run.started", "content.delta", "tool.state", "run.finished"} {
		if !slices.Contains(types, want) {
			t.Errorf("there is no %s in %q", want, types)
		}
	}
}

// TestRunFailsAsJSON: what fails is an object too, and exits 1.
func TestRunFailsAsJSON(t *testing.T) {
	t.Setenv("GEMINI_HOME", filepath.Join(t.TempDir(), "home"))
	t.Setenv("GEMINI_API_KEY", "")
	t.Setenv("GOOGLE_API_KEY", "")
	for _, c := range []struct {
		format string
		args   []string
		kind   string
	}{
		{"json", []string{"run", "nobody", "do it"}, "unknownAgent"},
		{"stream-json", []string{"run", "nobody", "do it"}, "unknownAgent"},
		{"json", []string{"run", "say hello"}, "authRequired"},
		{"json", []string{"run", "say hello", "--session", "a/b"}, "invalid"},
	} {
		code, out, errs := command(t, t.TempDir(), append(c.args, "--format", c.format)...)
		all := objects(t, out)
		if code != 1 || len(all) != 1 {
			t.Errorf("%q: exit %d, stdout %q", c.args, code, out)
			continue
		}
		failure, _ := all[0]["error"].(map[string]any)
		if failure["kind"] != c.kind || failure["message"] == "" || (all[0]["type"] == "result") != (c.format == "stream-json") {
			t.Errorf("%q: %s, want the kind %s", c.args, out, c.kind)
		}
		if !strings.HasPrefix(errs, "agentls: ") {
			t.Errorf("%q: stderr %q", c.args, errs)
		}
	}
}

// TestRunEndsWithItsReader: when standard output is closed the run is cancelled,
// not left to work for nobody, and its log is whole.
func TestRunEndsWithItsReader(t *testing.T) {
	for _, format := range []string{"stream-json"} { // text comes at the end, when nothing is left to save
		t.Run(format, func(t *testing.T) {
			// The first event fails already: the model is not asked, or
			// not to its end.
			home := filepath.Join(t.TempDir(), "home")
			t.Setenv("GEMINI_HOME", home)
			t.Setenv("GEMINI_API_KEY", "test")
			t.Setenv("GOOGLE_GEMINI_BASE_URL", "http://127.0.0.1:1")
			t.Chdir(t.TempDir())
			in, err := os.Open(os.DevNull)
			if err != nil {
				t.Fatal(err)
			}
			defer in.Close()
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			r.Close()
			var errs bytes.Buffer
			code := execute([]string{"run", "go on and on", "--format", format}, streams{in, w, &errs})
			w.Close()
			if code != 1 || !strings.Contains(errs.String(), "standard output is closed") {
				t.Errorf("exit %d\n%s", code, errs.String())
			}
			logs, err := filepath.Glob(filepath.Join(home, "agentls", "sessions", "*", "main.jsonl"))
			if err != nil || len(logs) != 1 {
				t.Fatalf("logs: %q, %v", logs, err)
			}
			data, err := os.ReadFile(logs[0])
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(data), `"reason":"ABORTED"`) {
				t.Errorf("the run did not end:\n%s", data)
			}
		})
	}
}

// TestInputs: values are typed by the agent's schema, and what does not fit it
// stays a string, for the run to refuse.
func TestInputs(t *testing.T) {
	schema := `{"type": "object", "properties": {
		"path": {"type": "string"}, "n": {"type": "integer"}, "x": {"type": "number"}, "on": {"type": "boolean"},
		"tags": {"type": "array"}, "any": {"type": ["null", "integer", "string"]}}}`
	for _, c := range []struct {
		whole string
		given []string
		want  string // "" = refused
	}{
		{"", nil, "null"},
		{"", []string{"path=a=b.ts"}, `{"path":"a=b.ts"}`},
		{"", []string{"path=12", "n=12"}, `{"n":12,"path":"12"}`},
		{"", []string{"n=1.5"}, `{"n":"1.5"}`}, {"", []string{"n=twelve"}, `{"n":"twelve"}`},
		{"", []string{"x=1.5", "on=true"}, `{"on":true,"x":1.5}`},
		{"", []string{"on=yes"}, `{"on":"yes"}`},
		{"", []string{`tags=["a"]`}, `{"tags":["a"]}`}, {"", []string{"tags=a"}, `{"tags":"a"}`},
		{"", []string{"any=null"}, `{"any":null}`}, {"", []string{"any=7"}, `{"any":7}`}, {"", []string{"any=7up"}, `{"any":"7up"}`},
		{"", []string{"unknown=7"}, `{"unknown":"7"}`}, {"", []string{"path="}, `{"path":""}`},
		{`{"n": 1, "path": "x"}`, []string{"n=2"}, `{"n":2,"path":"x"}`},
		{`[1]`, nil, ""}, {`null`, nil, ""}, {`{`, nil, ""}, {"", []string{"path"}, ""}, {"", []string{"=x"}, ""},
	} {
		got, err := inputsOf(c.whole, c.given, json.RawMessage(schema))
		if got == nil {
			got = json.RawMessage("null")
		}
		if (err == nil) != (c.want != "") || (err == nil && string(got) != c.want) {
			t.Errorf("%q %q: %s, %v, want %s", c.whole, c.given, got, err, c.want)
		}
	}
}

// TestAgoAndCount are read by people.
func TestAgoAndCount(t *testing.T) {
	for d, want := range map[string]string{"0s": "just now", "59s": "just now", "61s": "1 minute ago", "3h": "3 hours ago", "73h": "3 days ago", "800h": "1 month ago", "20000h": "2 years ago", "-5s": "just now"} {
		if got := ago(duration(t, d)); got != want {
			t.Errorf("%s: %q, want %q", d, got, want)
		}
	}
	for n, want := range map[int]string{0: "0", 950: "950", 1000: "1k", 3400: "3.4k", 9949: "9.9k", 9950: "10k", 120_400: "120k", 999_499: "999k", 999_500: "1M", 1_048_576: "1M"} {
		if got := tool.Tokens(n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}

// TestUnknownEventsAreNotShown, and do not stop what is shown.
func TestUnknownEventsAreNotShown(t *testing.T) {
	var out strings.Builder
	line := newTimeline(streams{out: &out, err: &out}, nil)
	line.show(event(1, "r", "main", activity.Unknown{Name: "new.kind", Data: json.RawMessage(`{"a": 1}`)}))
	if out.String() != "" {
		t.Errorf("shown: %q", out.String())
	}
}
