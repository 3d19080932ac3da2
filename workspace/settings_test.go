//go:build unix

package workspace

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/internal/settings"
)

func merge(user, project string) *Settings {
	var sources []SettingsSource
	if user != "" {
		sources = append(sources, SettingsSource{settings.UserScope, "user.json", []byte(user)})
	}
	if project != "" {
		sources = append(sources, SettingsSource{settings.ProjectScope, "project.json", []byte(project)})
	}
	return MergeSettings(sources...)
}

// effective returns the keys that are not at their default, as JSON.
func effective(s *Settings) map[string]string {
	found := map[string]string{}
	for _, e := range s.Effective() {
		if e.Origin.Scope != settings.DefaultScope {
			value, _ := json.Marshal(e.Value)
			found[e.Key] = fmt.Sprintf("%s %s:%d:%d", value, e.Origin.Scope, e.Origin.Line, e.Origin.Column)
		}
	}
	return found
}

func problems(s *Settings) []string {
	var list []string
	for _, p := range s.Problems {
		list = append(list, fmt.Sprintf("%s:%d:%d %s", p.File, p.Line, p.Column, p.Key))
	}
	return list
}

func TestSettingsDefaults(t *testing.T) {
	want := map[string]any{
		"agents.compression.enabled": true, "agents.compression.model": "flash", "agents.compression.preserve": 0.3, "agents.compression.threshold": 0.5,
		"model.compressionThreshold": 0.5,
		"agents.confirmationTimeout": 300, "agents.contextPersistence": true, "agents.defaultScope": "project",
		"agents.fallbackModels": []string(nil), "agents.inline.answer": "document", "agents.limits.depth": 2, "agents.limits.inputTokens": 1_000_000,
		"agents.routing.enabled": true, "agents.routing.strategy": "hybrid", "agents.routing.rule.confidence_threshold": 80,
		"agents.routing.llm.model": "flash-lite", "agents.routing.llm.timeout": 5000, "agents.routing.fallback": "prompt_user", "agents.routing.default_agent": "main", "agents.autoRoute": false,
		"agents.limits.live": 8, "agents.limits.modelCalls": 200, "agents.limits.runs": 32, "agents.maxContextTokens": 0, "agents.maxHandoffDepth": 5,
		"agents.retention.days": 0, "agents.retention.maxSessions": 0, "agents.retention.pinned": []string(nil),
		"agents.tracing.backend": "file", "agents.tracing.captureContent": false, "agents.tracing.enabled": false, "agents.tracing.sample_rate": 1.0,
		"agents.tracing.events": []string{"llm", "tool", "handoff", "guardrail", "route"},
		"agents.memory.redis":   "", "agents.prompt.shellOutputEfficiency": false, "model.disableLoopDetection": false, "model.name": "", "security.additionalFolders": []string(nil),
		"security.critical": "refuse",
		"tools.allowed":     []string(nil), "tools.core": []string(nil), "tools.exclude": []string(nil),
		"tools.sandbox.allowedHosts": []string(nil), "tools.sandbox.mode": "auto", "tools.sandbox.read": []string(nil), "tools.sandbox.write": []string(nil),
	}
	for _, s := range []*Settings{merge("", ""), merge("{}", ""), merge("", " // nothing\n"), merge("\ufeff", "/* */")} {
		got := map[string]any{}
		var keys []string
		for _, e := range s.Effective() {
			got[e.Key] = e.Value
			keys = append(keys, e.Key)
			if e.Origin != (settings.Origin{}) || e.Doc == "" {
				t.Errorf("%+v", e)
			}
		}
		if d := cmp.Diff(want, got); d != "" || len(s.Problems) > 0 || !slices.IsSorted(keys) {
			t.Error(d, s.Problems)
		}
	}
}

func TestSettingsOfBothFiles(t *testing.T) {
	s := merge(`// mine
{
  "agents": {
    "defaultScope": "global", /* why not */
    "limits": {"depth": 3, "runs": 10},
    "overrides": {"main": {"temperature": 0.5}},
  },
  "security": {"critical": "ask", "additionalFolders": ["~/notes"]},
  "tools": {"exclude": ["bash"]},
  "mcpServers": {"a": {"command": "x", "trust": true}, "b": {}},
  "somebodyElses": [1, 2, /* three */],
}`, `{"agents": {"defaultScope": "project", "limits": {"depth": 1, "live": 4}, "overrides": {"main": {"model": "flash"}},
 "fallbackModels": ["flash"], "confirmationTimeout": 0},
 "tools": {"exclude": ["web_fetch", "bash"]}, "model": {"name": "pro", "disableLoopDetection": false},
 "mcpServers": {"b": {"command": "y"}, "c": {}}, "agents.dotted": 1}`)
	if d := cmp.Diff(map[string]string{
		"agents.defaultScope": `"project" project:1:29`, "agents.limits.depth": "1 project:1:60", "agents.limits.runs": "10 user:5:36",
		"agents.limits.live": "4 project:1:71", "agents.fallbackModels": `["flash"] project:2:20`, "agents.confirmationTimeout": "0 project:2:54",
		"security.critical": `"ask" user:8:28`, "security.additionalFolders": `["~/notes"] user:8:56`,
		"tools.exclude": `["bash","web_fetch"] project:3:23`, "model.name": `"pro" project:3:65`, "model.disableLoopDetection": "false project:3:96",
	}, effective(s)); d != "" {
		t.Error(d)
	}
	if len(s.Problems) != 0 {
		t.Error(s.Problems)
	}
	if names := slices.Sorted(maps.Keys(s.MCPServers)); strings.Join(names, "") != "abc" || string(s.MCPServers["b"].JSON) != `{"command":"y"}` ||
		string(s.MCPServers["a"].JSON) != `{"command":"x","trust":true}` || s.MCPServers["b"].Origin.Scope != settings.ProjectScope {
		t.Errorf("%v", s.MCPServers)
	}
	if o := s.Overrides["main"]; len(o) != 2 || string(o[0].JSON) != `{"temperature":0.5}` || string(o[1].JSON) != `{"model":"flash"}` {
		t.Errorf("%v", o)
	}
	// What has no field is kept.
	if found := s.Lookup("somebodyElses"); len(found) != 1 || string(found[0].JSON) != "[1,2]" || found[0].Origin != (settings.Origin{Scope: settings.UserScope, File: "user.json", Line: 11, Column: 20}) {
		t.Errorf("%+v", found)
	}
	if len(s.Lookup("agents", "limits")) != 2 || len(s.Lookup("none", "there")) != 0 || len(s.Lookup("somebodyElses", "x")) != 0 {
		t.Error("Lookup")
	}
}

func TestOnlyTheWrongKeyFallsBack(t *testing.T) {
	for value, bad := range map[string]bool{
		"300": false, "0": false, "3e2": false, "1.0": false, "null": false,
		"-1": true, "1.5": true, `"300"`: true, "true": true, "[]": true, "{}": true, "1e999": true, "86401": true,
	} {
		s := merge("{\n\"agents\": {\"defaultScope\": \"global\",\n  \"confirmationTimeout\": "+value+"}}", "")
		if s.DefaultScope != "global" || bad != (len(s.Problems) == 1) {
			t.Errorf("%s: %+v", value, s.Problems)
		}
		if bad && (s.ConfirmationTimeout != 300*time.Second || problems(s)[0] != "user.json:3:26 agents.confirmationTimeout") {
			t.Errorf("%s: %d, %v", value, s.ConfirmationTimeout, s.Problems)
		}
	}
	s := merge(`{"agents": {"defaultScope": "mine", "contextPersistence": 1, "fallbackModels": "x", "limits": 3, "overrides": [], "maxContextTokens": 5},
 "security": null, "model": {"name": 4}, "tools": {"exclude": ["a", 1]}, "mcpServers": {"a": 1, "b": {}, "c": null}, "model": "pro"}`, "")
	if d := cmp.Diff([]string{
		"user.json:2:118 model", // twice
		"user.json:1:59 agents.contextPersistence", "user.json:1:29 agents.defaultScope", "user.json:1:80 agents.fallbackModels",
		"user.json:1:95 agents.limits", "user.json:2:127 model", "user.json:2:63 tools.exclude",
		"user.json:2:94 mcpServers.a", "user.json:1:111 agents.overrides",
	}, problems(s)); d != "" {
		t.Error(d)
	}
	if s.MaxContextTokens != 5 || len(s.MCPServers) != 1 || len(effective(s)) != 2 || !slices.Equal(s.Tools.Exclude, []string{"a"}) {
		t.Errorf("%v", effective(s))
	}
	for _, p := range s.Problems {
		if p.Message == "" || !strings.Contains(p.Message, p.Key) {
			t.Errorf("%+v", p)
		}
	}
	// Each is told once, without being looked for among the others: that took minutes.
	const many = 100_000
	if s := merge(`{"mcpServers": {"a": {}`+strings.Repeat(`,"b":1`, many)+`}}`, ""); len(s.Problems) != 2*many-1 || len(s.MCPServers) != 1 {
		t.Errorf("%d problems, %d servers", len(s.Problems), len(s.MCPServers))
	}
}

func TestSettingsOfCompression(t *testing.T) {
	for _, c := range []struct {
		user, project string
		want          string
		problems      []string
	}{
		{"", "", "true 0.5 0.3 flash default", nil},
		{`{"model": {"compressionThreshold": 0.7}}`, "", "true 0.7 0.3 flash user", nil},
		{`{"model": {"compressionThreshold": 0.7}, "agents": {"compression": {"threshold": 0.4, "preserve": 0, "model": "pro"}}}`, "", "true 0.4 0 pro user", nil},
		{`{"agents": {"compression": {"threshold": 1, "enabled": false}}}`, `{"model": {"compressionThreshold": 0.2}}`, "false 1 0.3 flash user", nil},
		{"", `{"model": {"compressionThreshold": 0.2}}`, "true 0.2 0.3 flash project", nil},
		{`{"agents": {"compression": {"threshold": 0.4, "model": "pro"}}}`, `{"agents": {"compression": {"threshold": 0.6, "enabled": false, "preserve": 0.1,
"model": "flash"}}}`, "false 0.6 0.1 pro project", []string{"project.json:2:1 agents.compression.model"}},
		{`{"agents": {"compression": {"threshold": 0, "preserve": 1,
 "enabled": "no", "model": 3}}}`, "", "true 0.5 0.3 flash default", []string{
			"user.json:2:13 agents.compression.enabled", "user.json:2:28 agents.compression.model",
			"user.json:1:57 agents.compression.preserve", "user.json:1:42 agents.compression.threshold",
		}},
		{`{"agents": {"compression": {"threshold": "0.5", "preserve": -0.1}}}`, `{"agents": {"compression": true}}`, "true 0.5 0.3 flash default", []string{
			"user.json:1:61 agents.compression.preserve", "user.json:1:42 agents.compression.threshold", "project.json:1:28 agents.compression",
		}},
	} {
		s := merge(c.user, c.project)
		g := s.Compression
		if got := fmt.Sprint(g.Enabled, g.Threshold, g.Preserve, " ", g.Model, " ", s.Origins["agents.compression.threshold"].Scope); got != c.want {
			t.Errorf("%s %s: %s, want %s", c.user, c.project, got, c.want)
		}
		if d := cmp.Diff(c.problems, problems(s)); d != "" {
			t.Errorf("%s %s: %s", c.user, c.project, d)
		}
	}
}

func TestModelListsAreThePersons(t *testing.T) {
	s := merge(`{"model": {"routes": [{"model": "flash"},
  /* the rest */ {"model": "pro", "when": {"mode": "task",}}], "table": [{"id": "x"}]}}`, "")
	if len(s.Problems) != 0 || len(s.Model.Routes) != 2 || len(s.Model.Table) != 1 {
		t.Fatalf("%+v %v", s.Model, s.Problems)
	}
	if r := s.Model.Routes[1]; string(r.JSON) != `{"model":"pro","when":{"mode":"task"}}` || r.Origin != (settings.Origin{Scope: settings.UserScope, File: "user.json", Line: 2, Column: 18}) {
		t.Errorf("%s %+v", r.JSON, r.Origin)
	}
	s = merge(`{"model": {"routes": [{"model": "flash"}]}}`, `{"model": {
"routes": [{"model": "pro"}],
"table": [{"id": "x"}]}}`)
	if d := cmp.Diff([]string{"project.json:2:1 model.routes", "project.json:3:1 model.table"}, problems(s)); d != "" {
		t.Error(d)
	}
	if len(s.Model.Routes) != 1 || len(s.Model.Table) != 0 || !strings.Contains(s.Problems[0].Message, "your key") || len(s.Lookup("model", "table")) != 0 {
		t.Errorf("%+v %v", s.Model, s.Problems)
	}
	s = merge(`{"model": {"routes": {"model": "flash"}, "table": 1}}`, "")
	if d := cmp.Diff([]string{"user.json:1:22 model.routes", "user.json:1:51 model.table"}, problems(s)); d != "" || s.Model.Routes != nil {
		t.Error(d)
	}
}

func TestSEC129ProjectLowersLimitsOnly(t *testing.T) {
	for _, c := range []struct {
		user, project string
		holds         string // of the project's or the person's
	}{
		{`{}`, `{"agents": {"maxContextTokens": 1000}}`, "project"},
		{`{"agents": {"maxContextTokens": 1000}}`, `{"agents": {"maxContextTokens": 999}}`, "project"},
		{`{"agents": {"maxContextTokens": 1000}}`, `{"agents": {"maxContextTokens": 1001}}`, "user"},
		{`{"agents": {"maxContextTokens": 1000}}`, `{"agents": {"maxContextTokens": 0}}`, "user"},
		{`{"agents": {"limits": {"depth": 1}}}`, `{"agents": {"limits": {"depth": 0}}}`, "project"},
		{`{"agents": {"limits": {"depth": 1}}}`, `{"agents": {"limits": {"depth": 2}}}`, "user"},
		{`{"model": {"disableLoopDetection": false}}`, `{"model": {"disableLoopDetection": true}}`, "user"},
		{`{"model": {"disableLoopDetection": true}}`, `{"model": {"disableLoopDetection": false}}`, "project"},
	} {
		s := merge(c.user, c.project)
		want := effective(merge("", c.project))
		if c.holds == "user" {
			want = effective(merge(c.user, ""))
		}
		if (len(s.Problems) == 1) != (c.holds == "user") {
			t.Errorf("%s %s: %v", c.user, c.project, s.Problems)
		}
		if d := cmp.Diff(want, effective(s)); d != "" {
			t.Errorf("%s %s: %s", c.user, c.project, d)
		}
	}
}

func TestSyntaxErrorsIgnoreTheFileOnly(t *testing.T) {
	deep := strings.Repeat("[", 100_000)
	for content, at := range map[string]string{
		"{\n  \"agents\": {\n": "project.json:3:1 ", "[]": "project.json:1:1 ", "{} {}": "project.json:1:4 ",
		"{\n\"a\": tru}": "project.json:2:6 ", `{"a": ` + deep: fmt.Sprintf("project.json:1:%d ", 6+maxSettingsDepth),
		`"x`: "project.json:1:3 ", "{/*": "project.json:1:2 ",
	} {
		s := merge(`{"model": {"name": "pro"}}`, content)
		if got := problems(s); len(got) != 1 || got[0] != at || s.Model.Name != "pro" {
			t.Errorf("%.40q: %q, want %q (%v)", content, got, at, s.Problems)
		}
	}
	if _, _, deep := tooDeep([]byte(strings.Repeat(`"[\"[" // {{{`+"\n/* [[[ */ [] {} ", 100))); deep {
		t.Error("brackets in strings and comments count")
	}
}

func TestLoadSettings(t *testing.T) {
	dir := t.TempDir()
	user, folder := filepath.Join(dir, "user.json"), filepath.Join(dir, "proj")
	must(t, os.MkdirAll(filepath.Join(folder, ".gemini"), 0o755))
	project := filepath.Join(folder, ".gemini", "settings.json")
	must(t, os.WriteFile(project, []byte(`{"model": {"name": "flash"}, "trust": true}`), 0o644))
	files := SettingsFiles{User: user, Folder: folder}
	if s := LoadSettings(t.Context(), files); len(s.Problems) != 0 || s.Model.Name != "" {
		t.Errorf("an untrusted folder's file counts: %+v", s.Problems)
	}
	files.Trusted = true
	s := LoadSettings(t.Context(), files)
	if s.Model.Name != "flash" || s.Origins["model.name"].File != project || len(s.Problems) != 1 {
		t.Errorf("%+v", s)
	}
	// A link that leads out, and pipes.
	secret := filepath.Join(dir, "secret")
	must(t, os.WriteFile(secret, []byte("TOP secret"), 0o600))
	must(t, os.Remove(project))
	must(t, os.Symlink(secret, project))
	must(t, syscall.Mkfifo(user, 0o600))
	s = LoadSettings(t.Context(), files)
	if len(s.Problems) != 2 || !strings.Contains(s.Problems[0].Message, "not a regular file") || !strings.Contains(s.Problems[1].Message, "leaves the workspace") ||
		strings.Contains(fmt.Sprint(s.Problems), "TOP") {
		t.Errorf("%+v", s.Problems)
	}
	must(t, os.Remove(user))
	must(t, os.WriteFile(user, []byte(strings.Repeat(" ", maxSettings+1)), 0o600))
	if s = LoadSettings(t.Context(), SettingsFiles{User: user}); len(s.Problems) != 1 {
		t.Errorf("%+v", s.Problems)
	}
}

func TestEditSettingsKeepsTheRest(t *testing.T) {
	const file = `// my settings
{
    "agents": { // of mine
        "defaultScope": "global", // not project
        "limits": {"depth": 2}
        /* more to come */
    },
    // the last one
    "x": [1, 2,], // trailing
}
`
	for _, c := range []struct {
		name, content string
		path          string
		value         any
		want          string
	}{
		{"replace", file, "agents.defaultScope", "project", strings.Replace(file, `"global"`, `"project"`, 1)},
		{"insert with trailing comma", file, "model", map[string]any{"name": "pro"},
			strings.Replace(file, "// trailing\n", "// trailing\n    \"model\": {\n        \"name\": \"pro\"\n    },\n", 1)},
		{"insert behind a comment", file, "agents.autoRoute", true,
			strings.Replace(file, "{\"depth\": 2}\n        /* more to come */\n", "{\"depth\": 2},\n        /* more to come */\n        \"autoRoute\": true\n", 1)},
		{"insert on a line", file, "agents.limits.runs", 5, strings.Replace(file, `{"depth": 2}`, `{"depth": 2, "runs": 5}`, 1)},
		{"remove", file, "agents.limits", nil, ""},
		{"remove what is not there", file, "no.such", nil, file},
		{"replace by a list", file, "x", []int{3}, strings.Replace(file, "[1, 2,]", "[\n        3\n    ]", 1)},
		{"empty file", "", "a.b", 1, "{\n  \"a\": {\n    \"b\": 1\n  }\n}\n"},
		{"only a comment", "// mine", "a", 1, "// mine\n{\n  \"a\": 1\n}"},
		{"empty object", "{}\n", "a", "x", "{\n  \"a\": \"x\"\n}\n"},
		{"one line", `{"a": 1}`, "b", 2, `{"a": 1, "b": 2}`},
		{"crlf", "{\r\n\t\"a\": 1\r\n}\r\n", "b.c", 2, "{\r\n\t\"a\": 1,\r\n\t\"b\": {\r\n\t\t\"c\": 2\r\n\t}\r\n}\r\n"},
		{"bom", "\ufeff{\"a\": 1}", "a", 2, "\ufeff{\"a\": 2}"},
		{"null on the way", `{"a": null}`, "a.b", 1, "{\"a\": {\n    \"b\": 1\n  }}"},
		{"twice", `{"a": 1, "a": 2}`, "a", 3, `{"a": 1, "a": 3}`},
		{"remove twice", `{"a": 1, "a": 2}`, "a", nil, `{}`},
		{"remove below what is given twice", `{"a": {"b": 1}, "a": {"b/~": 2, "c": 3}}`, "a.b/~", nil, `{"a": {"b": 1}, "a": { "c": 3}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := EditSettings([]byte(c.content), strings.Split(c.path, "."), c.value)
			if err != nil {
				t.Fatal(err)
			}
			if c.want == "" {
				if strings.Contains(string(got), "limits") || !strings.Contains(string(got), "// not project") || !strings.Contains(string(got), "/* more to come */") {
					t.Errorf("%s", got)
				}
				return
			}
			if d := cmp.Diff(c.want, string(got)); d != "" {
				t.Error(d)
			}
		})
	}
	for _, c := range []struct {
		content string
		path    []string
		value   any
	}{
		{"[]", []string{"a"}, 1}, {`{"a": 1}`, []string{"a", "b"}, 1}, {"{", []string{"a"}, 1}, {"{}", nil, 1},
		{"{}", []string{"a"}, func() {}}, {"{}", []string{"\xff"}, 1}, {"{}", strings.Split(strings.Repeat(".", maxSettingsDepth), "."), 1},
	} {
		if got, err := EditSettings([]byte(c.content), c.path, c.value); fault.KindOf(err) != fault.Invalid {
			t.Errorf("%q %q: %q, %v", c.content, c.path, got, err)
		}
	}
}

func TestSetKey(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "new", "settings.json")
	must(t, SetKey(t.Context(), file, []string{"model", "name"}, "pro"))
	must(t, SetKey(t.Context(), file, []string{"model", "name"}, "pro"))
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	onlyFiles(t, filepath.Dir(file), "settings.json")
	link := filepath.Join(dir, "link.json")
	must(t, os.Symlink(file, link))
	must(t, os.Chmod(file, 0o640))
	must(t, SetKey(t.Context(), link, []string{"agents", "autoRoute"}, true))
	content, err := os.ReadFile(file)
	if want := "{\n  \"model\": {\n    \"name\": \"pro\"\n  },\n  \"agents\": {\n    \"autoRoute\": true\n  }\n}\n"; err != nil || string(content) != want {
		t.Errorf("%s, %v", content, err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Error("the link was replaced")
	}
	if info, _ := os.Stat(file); info.Mode().Perm() != 0o640 {
		t.Error(info.Mode())
	}
	must(t, os.WriteFile(file, []byte("{ broken"), 0o600))
	if err := SetKey(t.Context(), file, []string{"a"}, 1); fault.KindOf(err) != fault.Invalid {
		t.Error(err)
	}
	if content, _ := os.ReadFile(file); string(content) != "{ broken" {
		t.Errorf("%s", content)
	}
	if err := SetKey(t.Context(), filepath.Join(dir, "none.json"), []string{"a"}, nil); err != nil {
		t.Error(err)
	}
	onlyFiles(t, dir, "link.json", "new")
}

func TestSEC54ProjectSettingsStayInTheFolder(t *testing.T) {
	d, dir := openDisk(t)
	must(t, d.SetKey(t.Context(), ProjectSettings, []string{"model", "name"}, "pro"))
	if got := get(t, d, ProjectSettings); !strings.Contains(got, `"pro"`) {
		t.Error(got)
	}
	must(t, os.Remove(filepath.Join(d.Path(), ProjectSettings)))
	must(t, os.Symlink(filepath.Join(dir, "secret"), filepath.Join(d.Path(), ProjectSettings)))
	if err := d.SetKey(t.Context(), ProjectSettings, []string{"a"}, 1); fault.KindOf(err) != fault.Denied {
		t.Error(err)
	}
}

func FuzzSettings(f *testing.F) {
	for _, s := range []string{
		"", "{}", `{"agents": {"limits": {"depth": 1}}, "mcpServers": {"a": {"trust": true}}}`, "// x\n{,}", `{"a": [1,2,],}`,
		`{"agents": 1, "agents": {"overrides": {"a": {}}}}`, "{/* */\"\\u0000\": \"\\ud800\"}", "\ufeff{\"x\": 1e999}", "[[[[",
	} {
		f.Add([]byte(s), "agents.limits.depth")
	}
	f.Add([]byte("{}"), strings.Repeat(".", 80))
	f.Add([]byte(`{"a": {}, "a": {"b": 1}}`), "a.b")
	f.Fuzz(func(t *testing.T, content []byte, path string) {
		before := string(content)
		s := MergeSettings(SettingsSource{settings.UserScope, "u", content}, SettingsSource{settings.ProjectScope, "p", content})
		for _, p := range s.Problems {
			if p.Line < 1 || p.Column < 1 || p.Message == "" {
				t.Fatalf("%q: %+v", content, p)
			}
		}
		for _, raw := range slices.Concat(s.Lookup("agents"), slices.Collect(maps.Values(s.MCPServers))) {
			if !json.Valid(raw.JSON) {
				t.Fatalf("%q gives %q", content, raw.JSON)
			}
		}
		if s.Origins["security.critical"].Scope == settings.ProjectScope {
			t.Fatalf("%q: a project set security", content)
		}
		keys := strings.Split(path, ".")
		for _, value := range []any{nil, "x", map[string]any{"a": []int{1}}} {
			edited, err := EditSettings(content, keys, value)
			if fault.KindOf(err) == fault.Internal && err != nil {
				t.Fatalf("%q, %q = %v: %v", content, keys, value, err)
			}
			if err == nil && value == "x" && len(keys) == 1 {
				if got := MergeSettings(SettingsSource{settings.UserScope, "u", edited}).Lookup(keys...); len(got) != 1 || string(got[0].JSON) != `"x"` {
					t.Fatalf("%q became %q", content, edited)
				}
			}
		}
		if string(content) != before {
			t.Fatal("the caller's bytes changed")
		}
	})
}

func BenchmarkLoadSettings(b *testing.B) {
	source := SettingsSource{settings.UserScope, "u", []byte(`{"agents": {"defaultScope": "global", "limits": {"depth": 3}}, "model": {"name": "pro"}}`)}
	for b.Loop() {
		if s := MergeSettings(source); len(s.Problems) > 0 {
			b.Fatal(s.Problems)
		}
	}
}
