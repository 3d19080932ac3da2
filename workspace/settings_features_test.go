package workspace

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/agentls/agentls/internal/settings"
)

// marked takes a cursor ‸ out of a text.
func marked(text string) ([]byte, int) {
	i := strings.Index(text, "‸")
	return []byte(strings.Replace(text, "‸", "", 1)), i
}

// found writes findings as CODE SEVERITY [TEXT] MESSAGE.
func found(content []byte, findings []SettingsFinding) []string {
	var list []string
	for _, f := range findings {
		list = append(list, fmt.Sprintf("%s %s [%s] %s", f.Code, f.Severity, content[f.Start:f.End], f.Message))
	}
	return list
}

// diagnosed is DiagnoseSettings, which nobody interrupts.
func diagnosed(source SettingsSource, names SettingsNames, under ...SettingsSource) []SettingsFinding {
	findings, err := DiagnoseSettings(context.Background(), source, names, under...)
	if err != nil {
		panic(err)
	}
	return findings
}

func TestDiagnoseSettings(t *testing.T) {
	names := SettingsNames{Agents: []string{"main", "code-fixer"}}
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"empty", "", nil},
		{"fine", `{"agents": {"limits": {"depth": 1}, "overrides": {"main": {"enabled": false}}}, "ui": {"theme": 1}, "model": {"maxSessionTurns": 3}}`, nil},
		{"syntax", "{\n  \"agents\": {]\n}", []string{"settings/json error []]"}},
		{"type", `{"agents": {"limits": {"depth": "1"}}}`, []string{`settings/value error ["1"] agents.limits.depth must be a whole number, not a string; it is ignored.`}},
		{"twice", `{"model": {"name": "a", "name": "b"}}`, []string{`settings/value warning ["name"] model.name is given twice; the last one counts.`}},
		{"no other models", `{"providers": {"local": {"type": "openai"}}}`, []string{`settings/value warning [{"local": {"type": "openai"}}] This version has only Gemini's models: providers has no effect.`}},
		{"unknown", `{"agents": {"limts": {}, "whatever": 1}}`, []string{
			`settings/unknown-key hint ["limts"] The key agents.limts is not known and has no effect; did you mean limits?`,
			`settings/unknown-key hint ["whatever"] The key agents.whatever is not known and has no effect; correct or remove it.`}},
		{"section", `{"agent": {}}`, []string{`settings/unknown-key hint ["agent"] The key agent is not known and has no effect; did you mean agents?`}},
		{"an agent", `{"agents": {"overrides": {"code-fixr": {"modle": "pro", "run": {"mode": "chatty"}, "tools": {"deny": [1]}}}}}`, []string{
			`settings/agent-unknown warning ["code-fixr"] There is no agent code-fixr; did you mean code-fixer?`,
			`settings/unknown-key hint ["modle"] The key agents.overrides.code-fixr.modle is not known and has no effect; did you mean model?`,
			`settings/value error ["chatty"] agents.overrides.code-fixr.run.mode must be chat or task, not "chatty".`,
			`settings/value error [1] agents.overrides.code-fixr.tools.deny must be a list of strings; element 1 is a number.`}},
		{"a server", `{"mcpServers": {"db": {"comand": "x"}, "web": {"httpUrl": 3}, "no": 1}}`, []string{
			`settings/unknown-key hint ["comand"] The key mcpServers.db.comand is not known and has no effect; did you mean command?`,
			`settings/value error ["comand"] A server needs a command, a url or an httpUrl.`,
			`settings/value error [3] mcpServers.web.httpUrl must be a string, not a number.`,
			`settings/value error [1] mcpServers.no must be an object, not a number; it is ignored.`}},
		{"hooks", `{"hooks": {"BeforTool": [], "AfterTool": [{"matcher": "(", "hooks": [{"type": "http", "command": "x", "timeout": "1"}]}], "ToolNotification": [{"matcher": "*"}], "enabled": true, "disabled": ["x"]}}`, []string{
			`settings/unknown-key hint ["BeforTool"] The key hooks.BeforTool is not known and has no effect; did you mean BeforeTool?`,
			"settings/value error [\"(\"] hooks.AfterTool.[].matcher does not compile: error parsing regexp: missing closing ): `(`; correct the pattern.",
			`settings/value error ["http"] hooks.AfterTool.[].hooks.[].type must be command, not "http".`,
			`settings/value error ["1"] hooks.AfterTool.[].hooks.[].timeout must be a number, not a string.`}},
	} {
		got := found([]byte(c.text), diagnosed(SettingsSource{settings.UserScope, "f", []byte(c.text)}, names))
		if c.name == "syntax" {
			if len(got) != 1 || !strings.HasPrefix(got[0], c.want[0][:len("settings/json error")]) {
				t.Errorf("%s: %v", c.name, got)
			}
			continue
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
	}
}

func TestDiagnoseProjectSettings(t *testing.T) {
	text := []byte(`{"security": {"critical": "ask"}, "agents": {"limits": {"depth": 9}}, "mcpServers": {"a": {"command": "x", "trust": true}}}`)
	own := SettingsSource{settings.UserScope, "own", []byte(`{"agents": {"limits": {"depth": 4}}, "model": {"name": 1}}`)}
	got := found(text, diagnosed(SettingsSource{settings.ProjectScope, "project", text}, SettingsNames{}, own))
	if len(got) != 3 || !strings.Contains(got[0], `["security"] A project cannot set security`) || !strings.Contains(got[1], `[9] agents.limits.depth is raised by a project`) ||
		!strings.Contains(got[2], `["trust"] A project cannot set mcpServers.a.trust`) {
		t.Error(strings.Join(got, "\n"))
	}
}

func TestUnpinnedServers(t *testing.T) {
	names := SettingsNames{Version: func(fetcher, name string) (string, bool) {
		return "1.2.3", strings.HasSuffix(name, "known")
	}}
	for _, c := range []struct {
		server string
		text   string   // what is marked; "" = nothing
		fixed  []string // the server after each fix
	}{
		{`"command": "npx", "args": ["-y", "pkg"]`, `"pkg"`, []string{`"command": "npx", "args": ["--no-install", "pkg"]`}},
		{`"command": "npx", "args": ["pkg"]`, `"pkg"`, []string{`"command": "npx", "args": ["--no-install", "pkg"]`}},
		{`"command": "/usr/bin/npx", "args": ["-y", "@scope/known", "--port", "1"]`, `"@scope/known"`, []string{
			`"command": "/usr/bin/npx", "args": ["-y", "@scope/known@1.2.3", "--port", "1"]`, `"command": "/usr/bin/npx", "args": ["--no-install", "@scope/known", "--port", "1"]`}},
		{`"command": "npx", "args": ["-y", "known@latest"]`, `"known@latest"`, []string{`"command": "npx", "args": ["-y", "known@1.2.3"]`}},
		{`"command": "npx", "args": ["-y", "@scope/pkg@1.0.0"]`, "", nil},
		{`"command": "npx", "args": ["-y", "pkg@next"]`, `"pkg@next"`, []string{`"command": "npx", "args": ["--no-install", "pkg@next"]`}},
		{`"command": "npx", "args": ["--no-install", "pkg"]`, "", nil},
		{`"command": "npx", "args": ["--package=pkg", "bin"]`, `"--package=pkg"`, []string{`"command": "npx", "args": ["--no-install", "--package=pkg", "bin"]`}},
		{`"command": "npx", "args": ["-p", "pkg@2", "bin"]`, "", nil},
		{`"command": "cmd", "args": ["/c", "npx.cmd", "-y", "pkg"]`, `"pkg"`, []string{`"command": "cmd", "args": ["/c", "npx.cmd", "--no-install", "pkg"]`}},
		{`"command": "npm", "args": ["exec", "pkg"]`, `"pkg"`, []string{`"command": "npm", "args": ["exec", "--offline", "pkg"]`}},
		{`"command": "npm", "args": ["run", "server"]`, "", nil},
		{`"command": "pnpm", "args": ["dlx", "pkg"]`, `"pkg"`, nil},
		{`"command": "uvx", "args": ["pkg", "--flag"]`, `"pkg"`, []string{`"command": "uvx", "args": ["--offline", "pkg", "--flag"]`}},
		{`"command": "uvx", "args": ["pkg==1.0"]`, "", nil},
		{`"command": "uvx", "args": ["pkg@1.0"]`, "", nil},
		{`"command": "uvx", "args": ["--from", "git+https://x/y@0123abcdef", "z"]`, "", nil},
		{`"command": "pipx", "args": ["run", "known"]`, `"known"`, []string{`"command": "pipx", "args": ["run", "known==1.2.3"]`}},
		{`"command": "docker", "args": ["run", "-i", "mcp/db:latest"]`, `"mcp/db:latest"`, nil},
		{`"command": "docker", "args": ["run", "-i", "mcp/db:1.0"]`, "", nil},
		{`"command": "go", "args": ["run", "x.org/y@latest"]`, `"x.org/y@latest"`, nil},
		{`"command": "node", "args": ["server.js"]`, "", nil},
		{`"command": "npx"`, "", nil},
		{`"command": "npx", "args": ["-y", "./local"]`, "", nil},
	} {
		content := []byte(`{"mcpServers": {"s": {` + c.server + `}}}`)
		findings := diagnosed(SettingsSource{settings.UserScope, "f", content}, names)
		if c.text == "" {
			if len(findings) > 0 {
				t.Errorf("%s: %v", c.server, found(content, findings))
			}
			continue
		}
		if len(findings) != 1 || findings[0].Code != "settings/mcp-unpinned" || string(content[findings[0].Start:findings[0].End]) != c.text {
			t.Errorf("%s: %v", c.server, found(content, findings))
			continue
		}
		var fixed []string
		for _, f := range findings[0].Fixes {
			after := string(content[:f.Start]) + f.Text + string(content[f.End:])
			if left := diagnosed(SettingsSource{settings.UserScope, "f", []byte(after)}, names); len(left) > 0 {
				t.Errorf("%s: %s leaves %v", c.server, f.Title, found([]byte(after), left))
			}
			fixed = append(fixed, strings.TrimSuffix(strings.TrimPrefix(after, `{"mcpServers": {"s": {`), "}}}"))
		}
		if !slices.Equal(fixed, c.fixed) {
			t.Errorf("%s: fixed as\n%s\nwant\n%s", c.server, strings.Join(fixed, "\n"), strings.Join(c.fixed, "\n"))
		}
	}
}

func TestCompleteSettings(t *testing.T) {
	names := SettingsNames{Agents: []string{"main", "code-fixer"}, Models: []string{"flash", "pro"}, Tools: []string{"ls"}}
	for _, c := range []struct{ text, want, after string }{
		{`{‸}`, "agents model security tools env mcpServers hooks", `{"agents": {}}`},
		{`{"agents": {"limits": {}, ‸`, "agents.compression agents.inline agents.prompt agents.routing agents.retention agents.tracing agents.memory agents.overrides agents.autoRoute agents.confirmationTimeout agents.contextPersistence agents.defaultScope agents.fallbackModels agents.maxContextTokens agents.maxHandoffDepth", `{"agents": {"limits": {}, "compression": {}`},
		{`{"agents": {"lim‸": 1}}`, "", `{"agents": {"compression": 1}}`},
		{`{"agents": {"defaultScope": ‸}}`, "project global", `{"agents": {"defaultScope": "project"}}`},
		{`{"agents": {"inline": {"answer": ‸}}}`, "document comment edit", `{"agents": {"inline": {"answer": "document"}}}`},
		{`{"agents": {"defaultScope": "pro‸"}}`, "project global", `{"agents": {"defaultScope": "project"}}`},
		{`{"agents": {"contextPersistence": ‸`, "true false", `{"agents": {"contextPersistence": true`},
		{`{"agents": {"overrides": {"‸"`, "main code-fixer", `{"agents": {"overrides": {"main": {}`},
		{`{"agents": {"overrides": {"x": {"model": "‸", "tools": {}}}}}`, "flash pro", `{"agents": {"overrides": {"x": {"model": "flash", "tools": {}}}}}`},
		{`{"agents": {"overrides": {"x": {"tools": {"deny": ["ls", ‸]}}}}}`, "ls", `{"agents": {"overrides": {"x": {"tools": {"deny": ["ls", "ls"]}}}}}`},
		{"{\n  // a comment ‸\n}", "", ""},
		{`{"hooks": {‸}}`, strings.Join(settings.HookEvents(), " "), `{"hooks": {"SessionStart": []}}`},
		{`{"hooks": {"BeforeTool": [{"hooks": [{"type": ‸}]}]}}`, "command", `{"hooks": {"BeforeTool": [{"hooks": [{"type": "command"}]}]}}`},
		{`{"mcpServers": {"db": {"command": "x", "‸`, "", `{"mcpServers": {"db": {"command": "x", "args": []`},
		{`{"mcpServers": {"‸"}}`, "", ""},
		{`{"ui": {‸}}`, "", ""},
		{`{"ui": ‸}`, "", ""},
	} {
		content, at := marked(c.text)
		items := CompleteSettings(content, settings.UserScope, at, names)
		var labels []string
		for _, i := range items {
			labels = append(labels, i.Label)
		}
		want := strings.ReplaceAll(c.want, "agents.", "")
		if got := strings.Join(labels, " "); c.want != "" && got != want && !strings.HasPrefix(c.text, `{‸`) {
			t.Errorf("%s: %s\nwant %s", c.text, got, want)
		}
		if c.want == "" && c.after == "" && len(items) > 0 {
			t.Errorf("%s: %v", c.text, labels)
		}
		if c.after != "" {
			if len(items) == 0 {
				t.Errorf("%s: nothing", c.text)
				continue
			}
			if got := string(content[:items[0].Start]) + items[0].Text + string(content[items[0].End:]); got != c.after {
				t.Errorf("%s becomes %s, want %s", c.text, got, c.after)
			}
		}
	}
	content, at := marked(`{‸}`)
	for _, i := range CompleteSettings(content, settings.ProjectScope, at, names) {
		if i.Label == "security" || i.Label == "env" {
			t.Errorf("a project is offered %s", i.Label)
		}
	}
}

func TestHoverSettings(t *testing.T) {
	for _, c := range []struct{ text, key, over, says string }{
		{`{"agents": {"limits": {"de‸pth": 1}}}`, "agents.limits.depth", `"depth"`, "Default: `2`"},
		{`{"agents": {"defaultScope": "pro‸ject"}}`, "agents.defaultScope", `"project"`, "(project, global)"},
		{`{"security": {"critical‸": "ask"}}`, "security.critical", `"critical"`, "Only your own settings"},
		{`{"mcpServers": {"db": {"args": ["a‸"]}}}`, "mcpServers.db.args", `"a"`, "arguments"},
		{`{"hooks": {"BeforeTool‸": []}}`, "hooks.BeforeTool", `"BeforeTool"`, "list of objects"},
		{`{"hooks": {"Nothing‸": []}}`, "", "", ""},
		{`{"ui‸": 1}`, "", "", ""},
		{`{ ‸ }`, "", "", ""},
	} {
		content, at := marked(c.text)
		h, ok := HoverSettings(content, at)
		if ok != (c.key != "") || h.Key != c.key || (ok && (string(content[h.Start:h.End]) != c.over || !strings.Contains(h.Markdown(), c.says))) {
			t.Errorf("%s: %v %+v", c.text, ok, h)
		}
	}
}

func TestSettingsAgents(t *testing.T) {
	content := []byte("\ufeff{ // c\n \"agents\": {\"overrides\": {\"a-b\": {}, \"c\": 1, \"\\u0064\": {}, \"\": {}}, \"routing\": {\"default_agent\": \"main\", \"fallback\": \"none\"}}, \"overrides\": {\"x\": {}}}")
	var got []string
	for _, a := range SettingsAgents(content) {
		if string(content[a.Start:a.End]) != a.Name {
			t.Errorf("%+v is %q", a, content[a.Start:a.End])
		}
		got = append(got, a.Name)
	}
	if strings.Join(got, " ") != "a-b c main" {
		t.Error(got)
	}
	const lines = "{\"agents\": {\"overrides\": {\r\n\t\"a\": {\"enabled\": false /* é */}, // c\r\n\t\"b\": 1, \"c\": 2}}}"
	list := SettingsAgents([]byte(lines))
	for i, want := range []SettingsAgent{{Name: "a", Value: `{"enabled": false /* é */}`, Behind: "\r\n\t"}, {Name: "b", Value: "1", Behind: "\r\n\t"}, {Name: "c", Value: "2", Behind: " "}} {
		if got := list[i]; got.Name != want.Name || got.Value != want.Value || got.Behind != want.Behind {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
	for _, text := range []string{"", "{", "[]", `{"agents": {"overrides": [1], "routing": 1}}`} {
		if got := SettingsAgents([]byte(text)); len(got) > 0 {
			t.Errorf("%s: %v", text, got)
		}
	}
}

// TestSettingsRows holds that each typed key has a row whose values the key
// takes, and no others.
func TestSettingsRows(t *testing.T) {
	defaults := settings.Defaults()
	seen := map[string]bool{}
	for _, s := range SettingsReference() {
		if seen[s.Key] || s.Doc == "" || s.Kind == "" {
			t.Errorf("%+v", s)
		}
		seen[s.Key] = true
	}
	for _, k := range settingKeys(&defaults) {
		s := rowOf(strings.Split(k.key, "."))
		if s == nil || !s.typed || s.Doc != k.doc {
			t.Errorf("%s: %+v", k.key, s)
			continue
		}
		section, name, _ := strings.Cut(k.key, ".")
		if parent := rowOf(strings.Split(k.key[:strings.LastIndexByte(k.key, '.')], ".")); parent == nil || parent.Kind != objectKind {
			t.Errorf("%s has no section: %s %s", k.key, section, name)
		}
		for _, v := range append(slices.Clone(s.Values), "none of them") {
			text := `"` + v + `"`
			if s.Kind == textsKind {
				text = "[" + text + "]"
			}
			for _, part := range slices.Backward(strings.Split(k.key, ".")) {
				text = `{"` + part + `": ` + text + `}`
			}
			good := len(diagnosed(SettingsSource{settings.UserScope, "f", []byte(text)}, SettingsNames{})) == 0
			if s.Values != nil && good != slices.Contains(s.Values, v) {
				t.Errorf("%s: %v", text, good)
			}
		}
	}
}

// FuzzSettingsFeatures asks everything of any bytes: no panic, and every range
// inside the text.
func FuzzSettingsFeatures(f *testing.F) {
	for _, s := range []string{
		"", "{}", `{"agents": {"limits": {"depth": 1}}, "mcpServers": {"a": {"command": "npx", "args": ["-y", "x"]}}}`, "// x\n{,}", `{"a": [1,2,],}`,
		`{"agents": 1, "agents": {"overrides": {"a": {"model": "`, "{/* */\"\\u0000\": \"\\ud800\"}", "\ufeff{\"x\": 1e999}", "[[[[", `{"hooks": {"BeforeTool": [{"matcher": "("}]}}`, "}]:,\"\\",
	} {
		f.Add([]byte(s), 3)
	}
	f.Fuzz(func(t *testing.T, content []byte, at int) {
		inside := func(start, end int) {
			if start < 0 || end < start || end > len(content) {
				t.Fatalf("%q: %d to %d", content, start, end)
			}
		}
		names := SettingsNames{Agents: []string{"a"}, Models: []string{"m"}, Version: func(string, string) (string, bool) { return "1.0.0", true }}
		for _, scope := range []settings.Scope{settings.UserScope, settings.ProjectScope} {
			for _, finding := range diagnosed(SettingsSource{scope, "f", content}, names) {
				inside(finding.Start, finding.End)
				for _, fix := range finding.Fixes {
					inside(fix.Start, fix.End)
				}
				if finding.Message == "" || !utf8.ValidString(finding.Code) {
					t.Fatalf("%q: %+v", content, finding)
				}
			}
			for _, item := range CompleteSettings(content, scope, at, names) {
				inside(item.Start, item.End)
			}
		}
		for _, a := range SettingsAgents(content) {
			inside(a.Start, a.End)
		}
		if h, ok := HoverSettings(content, at); ok {
			inside(h.Start, h.End)
		}
	})
}

func BenchmarkDiagnoseSettings(b *testing.B) {
	text := []byte(`{"agents": {"limits": {"depth": 1}, "overrides": {"main": {"model": "pro"}}}, "mcpServers": {` +
		strings.TrimSuffix(strings.Repeat(`"s": {"command": "npx", "args": ["-y", "pkg"]},`, 20), ",") + `}}`)
	for b.Loop() {
		if len(diagnosed(SettingsSource{settings.UserScope, "f", text}, SettingsNames{})) == 0 {
			b.Fatal("nothing was found")
		}
	}
}

func TestHasSetting(t *testing.T) {
	const content = "\ufeff{ // c\n \"a\": {\"b\": 1, \"n\": null, \"l\": []}, \"d\": 1, \"d\": null}"
	for path, want := range map[string]bool{"a": true, "a.b": true, "a.n": false, "a.l": true, "a.x": false, "a.b.c": false, "d": false, "b": false} {
		if got := HasSetting([]byte(content), strings.Split(path, ".")); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
	if HasSetting([]byte("{"), []string{"a"}) || HasSetting(nil, []string{"a"}) {
		t.Error("a file that cannot be parsed has settings")
	}
}

// TestDiagnoseSettingsIsInterrupted: whoever does not want to know any more is not
// made to wait; and what is found far down in a long file is found where it is.
func TestDiagnoseSettingsIsInterrupted(t *testing.T) {
	content := []byte("{\"mcpServers\": {\r\n" + strings.Repeat("\"s\": {\"command\": \"x\"},\r\n", 300) + "\"é\": {\"args\": 1, \"command\": \"x\"}\r\n}}")
	source := SettingsSource{settings.UserScope, "f", content}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if findings, err := DiagnoseSettings(ctx, source, SettingsNames{}); !errors.Is(err, context.Canceled) || findings != nil {
		t.Errorf("%d findings, %v", len(findings), err)
	}
	findings := diagnosed(source, SettingsNames{})
	if len(findings) != 300 { // 299 names that are given twice, and the list
		t.Fatalf("%d findings", len(findings))
	}
	for _, f := range findings[:299] {
		if string(content[f.Start:f.End]) != `"s"` {
			t.Fatalf("%+v is about %q", f, content[f.Start:f.End])
		}
	}
	if last := findings[299]; string(content[last.Start:last.End]) != "1" {
		t.Errorf("%+v is about %q", last, content[last.Start:last.End])
	}
}
