package tool_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/agents/tool/tooltest"
)

func TestSEC74InvisibleCharactersAreShown(t *testing.T) {
	for _, r := range []rune{0x202e, 0x2066, 0x200b, 0x200d, 0x2060, 0xfeff, 0xe0001, 0xe007f, 0xfe00, 0xfe0f, 0xe0100, 0xe01ef, 0x3164, 0x115f, 0xffa0, 0x2800, 0x034f, 0x00ad, 0x2028, 0x061c} {
		s := "a" + string(r) + "b"
		if got, want := tool.Escape(s), fmt.Sprintf("aU+%04Xb", r); got != want || !tool.Suspicious(s) {
			t.Errorf("%U: %q, suspicious %v", r, got, tool.Suspicious(s))
		}
	}
	for s, want := range map[string]string{
		"a\x1b[2Jb": `a\x1b[2Jb`, "\u009b": `\x9b`, "a\nb": `a\nb`, "a\tb": `a\tb`, "a\rb": `a\rb`, "\b\a": `\x08\x07`, "\x7f": `\x7f`, "a\xffb": `a\xffb`,
		"日本 é ok": "日本 é ok", "\ufffd": "\ufffd", "": "",
	} {
		if got := tool.Escape(s); got != want {
			t.Errorf("%q: %q, want %q", s, got, want)
		}
	}
	for s, want := range map[string]bool{"a\nb\tc": false, "é": false, "a\rb": true, "\x1b": true, "\xff": true} {
		if tool.Suspicious(s) != want {
			t.Errorf("%q: %v", s, !want)
		}
	}
}

func FuzzSEC73Escape(f *testing.F) {
	for _, s := range []string{"a", "\x1b]8;;x\x07", "\u202e", "\xff", "\\n", "é\u0301"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		e := tool.Escape(s)
		if tool.Suspicious(e) || strings.ContainsAny(e, "\n\t") || !utf8.ValidString(e) || tool.Escape(e) != e {
			t.Errorf("%q is shown as %q", s, e)
		}
		if !tool.Suspicious(s) && !strings.ContainsAny(s, "\n\t") && e != s {
			t.Errorf("%q was changed to %q", s, e)
		}
	})
}

func TestCutSaysWhatIsMissing(t *testing.T) {
	if s, cut := tool.Cut(strings.Repeat("é", tool.MaxResult)); cut || len(s) != 2*tool.MaxResult {
		t.Error("a result that fits was cut")
	}
	long := strings.Repeat("日", 30_000) + strings.Repeat("é", 30_000)
	s, cut := tool.Cut(long)
	if n := utf8.RuneCountInString(s); !cut || n > tool.MaxResult || n < tool.MaxResult-10 || !utf8.ValidString(s) {
		t.Errorf("cut %v to %d characters", cut, n)
	}
	if !strings.HasPrefix(s, "日日") || !strings.HasSuffix(s, "éé") {
		t.Error("not cut in the middle")
	}
	var missing, total int
	if _, err := fmt.Sscanf(s[strings.IndexByte(s, '['):], "[… %d of %d", &missing, &total); err != nil {
		t.Fatal(err)
	}
	if kept := strings.Count(s, "日") + strings.Count(s, "é"); total != 60_000 || missing != 60_000-kept {
		t.Errorf("says %d of %d are missing, kept %d", missing, total, kept)
	}
}

func TestURI(t *testing.T) {
	for path, want := range map[string]string{"/a/b c.go": "file:///a/b%20c.go", "/ä#?": "file:///%C3%A4%23%3F"} {
		if got := tool.URI(path); got != want {
			t.Errorf("%q: %s, want %s", path, got, want)
		}
	}
}

const parameters = `{"type":"object","properties":{"file_path":{"type":"string"},"n":{"type":"integer"},"list":{"type":"array","items":{"type":"string"}}},"required":["file_path"],"additionalProperties":false}`

func TestSEC125ArgumentsAreChecked(t *testing.T) {
	s := tool.NewSchema(json.RawMessage(parameters), map[string]string{"path": "file_path", "filePath": "file_path"})
	for in, want := range map[string]string{
		`{"file_path":"a"}`: `{"file_path":"a"}`, `{"path":"<a>&","n":1}`: `{"file_path":"<a>&","n":1}`, ` {"n":10.0,"filePath":"a"} `: `{"file_path":"a","n":10}`, `{"n":1e2,"file_path":""}`: `{"file_path":"","n":100}`,
	} {
		got, err := s.Check(json.RawMessage(in))
		if err != nil || string(got) != want {
			t.Errorf("%s: %s, %v; want %s", in, got, err, want)
		}
	}
	for in, mention := range map[string]string{
		`{}`: "file_path", ``: "file_path", `null`: "file_path", `{"file_path":1}`: "/file_path", `{"file_path":"a","n":"1"}`: "/n", `{"file_path":"a","n":1.5}`: "/n", `{"file_path":"a","list":["x",2,3]}`: "/list/2",
		`{"file_path":"a","trust":true}`: "trust", `{"file_path":"a","path":"b"}`: "twice", `{"file_path":"a","file_path":"b"}`: "twice", `[]`: "object", `{"file_path":"a"}{}`: "follows", `{"file_path":`: "JSON", `{'a':1}`: "JSON",
		`{"file_path":"` + strings.Repeat("x", 2<<20) + `"}`: "bytes", `{"file_path":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}`: "nested", "{\"file_path\":\"\xff\"}": "UTF-8",
		`{"FILE_PATH":"a"}`: "FILE_PATH",
	} {
		got, err := s.Check(json.RawMessage(in))
		if code(err) != tool.CodeArgs || !strings.Contains(err.Error(), mention) {
			t.Errorf("%.60s: %s, %v; want a mention of %s", in, got, err, mention)
		}
	}
}

// TestSEC125NumbersStayWhatTheyAre: whole numbers are integers, exactly, and no
// other number is changed; those that a program cannot hold are refused before
// anything reckons with them.
func TestSEC125NumbersStayWhatTheyAre(t *testing.T) {
	s := tool.NewSchema(json.RawMessage(`{"properties":{"n":{"type":"number","minimum":-1e300,"multipleOf":1e-300},"i":{"type":"integer"},"all":{"type":"array","uniqueItems":true},"tiny":{"exclusiveMinimum":0}}}`), nil)
	for in, want := range map[string]string{
		"9007199254740993.0": "9007199254740993", "3.00000000000000000001": "3.00000000000000000001", "1e-300": "1e-300", "0.1": "0.1", "1e18": "1000000000000000000", "-12.50e1": "-125", "120e-1": "12", "1E+2": "100",
		"0.0e5": "0", "-0.0": "0", "0e-7": "0", "0.002e3": "2", "9223372036854775807.0": "9223372036854775807", "9223372036854775808.0": "9223372036854775808.0", "-9223372036854775808.0": "-9223372036854775808",
		"1e30": "1e30", "12e-1": "12e-1", "-1e300": "-1e300", "7": "7",
	} {
		got, err := s.Check(json.RawMessage(`{"n":` + in + `}`))
		if err != nil || string(got) != `{"n":`+want+`}` {
			t.Errorf("%s: %s, %v; want %s", in, got, err, want)
		}
	}
	if got, err := s.Check(json.RawMessage(`{"tiny":1e-400}`)); err != nil || string(got) != `{"tiny":1e-400}` {
		t.Errorf("more than nothing: %s, %v", got, err)
	}
	many := "[" + strings.Repeat("1e999999,", 99) + "1]"
	for _, in := range []string{
		`{"n":1e1000001}`, `{"n":-1e1000001}`, `{"n":1e-1000001}`, `{"n":0e1000001}`, `{"i":1e1000001}`, `{"n":1e309}`, `{"n":1e` + strings.Repeat("9", 100) + `}`, `{"i":` + strings.Repeat("9", 900_000) + `}`,
		`{"all":` + many + `}`, `{"all":[` + strings.Repeat("0,", 21) + `1e1000001]}`,
	} {
		began := tooltest.Spent()
		got, err := s.Check(json.RawMessage(in))
		if code(err) != tool.CodeArgs || !strings.Contains(err.Error(), "the number") || len(err.Error()) > 300 {
			t.Errorf("%.60s: %.60s, %v", in, got, err)
		}
		if took := tooltest.Spent() - began; took > time.Second {
			t.Errorf("%.60s takes %v", in, took)
		}
	}
}

// TestSEC125CanonicalArgumentsAreArguments: what grows beyond the limit as it is
// made canonical is refused, since it would be where it is checked again.
func TestSEC125CanonicalArgumentsAreArguments(t *testing.T) {
	s := tool.NewSchema(json.RawMessage(parameters), nil)
	for n, want := range map[int]string{170_000: "", 345_000: tool.CodeArgs} {
		got, err := s.Check(json.RawMessage(`{"file_path":"` + strings.Repeat("\u2028", n) + `"}`))
		if code(err) != want {
			t.Errorf("%d of them: %d bytes, %v", n, len(got), err)
		}
		if err == nil {
			if _, err = s.Check(got); err != nil {
				t.Errorf("%d of them, again: %v", n, err)
			}
		}
	}
}

func TestSEC104SchemasReferToNothingOutside(t *testing.T) {
	for _, schema := range []string{
		`{"$ref":"https://example.com/x.json"}`, `{"$ref":"file:///etc/passwd"}`, `{"properties":{"a":{"$ref":"other.json"}}}`, strings.Repeat(`{"not":`, 10_000) + `{}` + strings.Repeat(`}`, 10_000), `{"type":`,
	} {
		_, err := tool.NewSchema(json.RawMessage(schema), nil).Check(json.RawMessage(`{}`))
		if err == nil || code(err) != "" {
			t.Errorf("%.50s: %v", schema, err)
		}
	}
}

func FuzzSEC125Arguments(f *testing.F) {
	s := tool.NewSchema(json.RawMessage(parameters), map[string]string{"path": "file_path"})
	for _, in := range []string{`{"path":"a"}`, `{"n":1e400}`, `{"a":{"b":[1,2,{}]}}`, `{"file_path":"\ud800"}`, `{,}`, `{"a":1,}`,
		`{"path":"","n":1e1000001}`, `{"path":"","n":-9007199254740993.0e0}`, `{"path":"","n":1e30}`, `{"path":"\u2028"}`} {
		f.Add(in)
	}
	f.Fuzz(func(t *testing.T, in string) {
		got, err := s.Check(json.RawMessage(in))
		if err != nil {
			if code(err) == "" {
				t.Errorf("%q: %v", in, err)
			}
			return
		}
		again, err := s.Check(got)
		if err != nil || string(again) != string(got) {
			t.Errorf("%q: %s is not canonical: %s, %v", in, got, again, err)
		}
		var args struct {
			FilePath string `json:"file_path"`
			N        int64  `json:"n"`
		}
		if err := json.Unmarshal(got, &args); err != nil && !strings.Contains(err.Error(), "int64") {
			t.Errorf("%q: %v", in, err)
		}
	})
}

// tagged is a tool that is nothing but its name.
type tagged string

func (n tagged) Spec() tool.Spec { return tool.Spec{Name: string(n), Risk: tool.Safe} }
func (n tagged) Plan(context.Context, *tool.Env, json.RawMessage) (*tool.Plan, error) {
	return nil, nil
}

func TestSetResolvesAs42Says(t *testing.T) {
	var all []tool.Tool
	for _, n := range []string{"read_file", "ls", "edit_file", "bash", "grep", "mcp.github.list", "mcp.github.delete", "mcp.x.y"} {
		all = append(all, tagged(n))
	}
	for what, c := range map[string]struct {
		config tool.SetConfig
		want   string
	}{
		"all":                      {tool.SetConfig{}, "bash edit_file grep ls mcp.github.delete mcp.github.list mcp.x.y read_file"},
		"denied by an alias":       {tool.SetConfig{Deny: []string{"shell", "mcp.*"}}, "edit_file grep ls read_file"},
		"allowed":                  {tool.SetConfig{Restricted: true, Allow: []string{"read-file", "list_directory", "mcp.github.*"}}, "ls mcp.github.delete mcp.github.list read_file"},
		"deny beats allow":         {tool.SetConfig{Restricted: true, Allow: []string{"*"}, Deny: []string{"mcp.github.d*", "bash"}}, "edit_file grep ls mcp.github.list mcp.x.y read_file"},
		"an empty list":            {tool.SetConfig{Restricted: true}, ""},
		"a list that is not one":   {tool.SetConfig{Allow: []string{"ls"}}, "bash edit_file grep ls mcp.github.delete mcp.github.list mcp.x.y read_file"},
		"excluded":                 {tool.SetConfig{Exclude: []string{"run_shell_command", "mcp.*"}, Restricted: true, Allow: []string{"*"}}, "edit_file grep ls read_file"},
		"a subagent":               {tool.SetConfig{Subagent: true}, "grep ls read_file"},
		"a subagent that says":     {tool.SetConfig{Subagent: true, Restricted: true, Allow: []string{"edit"}}, "edit_file"},
		"below its parent":         {tool.SetConfig{Restricted: true, Allow: []string{"*"}, Within: []string{"ls", "bash"}}, "bash ls"},
		"below a parent with none": {tool.SetConfig{Within: []string{}}, ""},
		"a broken deny":            {tool.SetConfig{Deny: []string{"[x"}}, ""},
		"a broken allow":           {tool.SetConfig{Restricted: true, Allow: []string{"[x", "ls"}}, "ls"},
	} {
		c.config.Tools, c.config.Canonical = all, definition.CanonicalTool
		if got := strings.Join(tool.NewSet(c.config).Names(), " "); got != c.want {
			t.Errorf("%s: %s, want %s", what, got, c.want)
		}
	}
}

func TestSetFindsWhatModelsMean(t *testing.T) {
	s := tool.NewSet(tool.SetConfig{Tools: []tool.Tool{tagged("read_file"), tagged("bash"), tagged("my_tool"), tagged("bash")}, Deny: []string{"grep"}, Canonical: definition.CanonicalTool})
	for name, want := range map[string]string{"read_file": "read_file", "read-file": "read_file", "shell": "bash", "run_shell_command": "bash", "my-tool": "my_tool"} {
		got, err := s.Find(name)
		if err != nil || got.Spec().Name != want {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	_, err := s.Find("grep")
	if code(err) != tool.CodeNotAllowed || err.Error() != "Tool not allowed for this agent: grep\nTools of this agent: bash, my_tool, read_file" {
		t.Errorf("got %v", err)
	}
	if _, err := s.Find(strings.Repeat("x\x1b", 1000)); len(err.Error()) > 500 || tool.Suspicious(err.Error()) {
		t.Errorf("a strange name: %q", err)
	}
	if !slices.Contains(tool.Reading(), "ls") {
		t.Error("a subagent cannot list")
	}
	many := make([]tool.Tool, 100)
	for i := range many {
		many[i] = tagged(fmt.Sprintf("t%d", i))
	}
	if n := len(tool.NewSet(tool.SetConfig{Tools: many}).List()); n != 100 {
		t.Errorf("%d offered", n)
	}
}

func TestRaise(t *testing.T) {
	for r, want := range map[tool.Risk]tool.Risk{tool.Safe: tool.Low, tool.Low: tool.Medium, tool.Medium: tool.High, tool.High: tool.Protected, tool.Protected: tool.Protected, tool.Catastrophic: tool.Catastrophic, tool.Unclassified: tool.Unclassified} {
		if r.Raise() != want {
			t.Errorf("%v is raised to %v", r, r.Raise())
		}
	}
}

func BenchmarkFilter100Tools(b *testing.B) {
	many := make([]tool.Tool, 100)
	for i := range many {
		many[i] = tagged(fmt.Sprintf("mcp.server%d.tool%d", i%7, i))
	}
	for b.Loop() {
		tool.NewSet(tool.SetConfig{Tools: many, Deny: []string{"mcp.server1.*", "bash"}, Restricted: true, Allow: []string{"mcp.*", "read_file"}, Canonical: definition.CanonicalTool})
	}
}

func BenchmarkCheckArguments(b *testing.B) {
	s := tool.NewSchema(json.RawMessage(parameters), map[string]string{"path": "file_path"})
	for b.Loop() {
		if _, err := s.Check(json.RawMessage(`{"path":"src/main.go","n":3}`)); err != nil {
			b.Fatal(err)
		}
	}
}

// TestSchemaOfPatternsIsSharedByCalls: values that are patterns themselves are
// checked by many calls at once, and none of them is kept.
func TestSchemaOfPatternsIsSharedByCalls(t *testing.T) {
	s := tool.NewSchema(json.RawMessage(`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"pattern":{"type":"string","format":"regex"}}}`), nil)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 100 {
				if _, err := s.Check(fmt.Appendf(nil, `{"pattern":"a%d-%d"}`, i, j)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if _, err := s.Check(json.RawMessage(`{"pattern":"("}`)); err == nil {
		t.Error("what is no pattern passes for one")
	}
}
