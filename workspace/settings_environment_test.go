//go:build unix

package workspace

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/internal/settings"
)

// TestRoutingSettings: environment over project over user over defaults, key by key
// (spec 5.1). A bad value is a problem where it stands, and the next source counts.
func TestRoutingSettings(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct{ user, project, env, want, problems string }{
		{"", "", "", "true hybrid 80 flash-lite 5000 prompt_user main false", ""},
		{`{"agents": {"autoRoute": true, "routing": {"strategy": "rule", "llm": {"model": "pro", "timeout": 100}, "fallback": "none"}}}`,
			`{"agents": {"routing": {"strategy": "llm", "rule": {"confidence_threshold": 70}, "default_agent": "helper"}}}`, "",
			"true llm@project 70@project pro@user 100@user none@user helper@project true@user", ""},
		{`{"agents": {"routing": {"strategy": "rule"}}}`, `{"agents": {"routing": {"strategy": "both", "enabled": "no", "rule": {"confidence_threshold": 101}}}}`, "",
			"true rule@user 80 flash-lite 5000 prompt_user main false",
			"project.json:1 agents.routing.enabled, project.json:1 agents.routing.rule.confidence_threshold, project.json:1 agents.routing.strategy"},
		{"", `{"agents": {"autoRoute": true, "routing": {"llm": {"model": "pro"}}}}`, "", "true hybrid 80 flash-lite 5000 prompt_user main false",
			"project.json:1 agents.autoRoute, project.json:1 agents.routing.llm.model"},
		{"", `{"agents": {"routing": {"strategy": "llm"}}}`, "ENABLED=0 STRATEGY=rule THRESHOLD=55",
			"false@environment rule@environment 55@environment flash-lite 5000 prompt_user main false", ""},
		{"", `{"agents": {"routing": {"strategy": "llm"}}}`, "ENABLED=yes STRATEGY=Rule THRESHOLD=5.5", "true llm@project 80 flash-lite 5000 prompt_user main false",
			"GEMINI_ROUTING_ENABLED:0 agents.routing.enabled, GEMINI_ROUTING_STRATEGY:0 agents.routing.strategy, GEMINI_ROUTING_THRESHOLD:0 agents.routing.rule.confidence_threshold"},
	} {
		files := SettingsFiles{User: filepath.Join(dir, "user.json"), Folder: dir, Trusted: true, Env: func(name string) string {
			for _, pair := range strings.Fields(c.env) {
				if rest, ok := strings.CutPrefix("GEMINI_ROUTING_"+pair, name+"="); ok {
					return rest
				}
			}
			return ""
		}}
		_ = os.Mkdir(filepath.Join(dir, ".gemini"), 0o700)
		for name, text := range map[string]string{files.User: c.user, filepath.Join(dir, ProjectSettings): c.project} {
			if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		s := LoadSettings(t.Context(), files)
		var got, found []string
		for _, key := range []string{"enabled", "strategy", "rule.confidence_threshold", "llm.model", "llm.timeout", "fallback", "default_agent", "autoRoute"} {
			for _, e := range s.Effective() {
				if e.Key != "agents.routing."+key && e.Key != "agents."+key {
					continue
				}
				text := fmt.Sprint(e.Value)
				if e.Origin.Scope != settings.DefaultScope {
					text += "@" + e.Origin.Scope.String()
				}
				got = append(got, text)
			}
		}
		for _, p := range s.Problems {
			found = append(found, fmt.Sprintf("%s:%d %s", strings.Replace(filepath.Base(p.File), "settings", "project", 1), p.Line, p.Key))
			if p.Line == 0 && !strings.HasPrefix(p.String(), p.File+": \"") {
				t.Error(p.String())
			}
		}
		if d := cmp.Diff(c.want, strings.Join(got, " ")); d != "" {
			t.Errorf("%s: %s", c.env, d)
		}
		if d := cmp.Diff(c.problems, strings.Join(found, ", ")); d != "" {
			t.Errorf("%s: %s", c.env, d)
		}
	}
}

// TestCheckSetting: what may be written for a key, and what a person's words for it mean.
func TestCheckSetting(t *testing.T) {
	s := merge(`{"agents": {"limits": {"live": 4}}}`, "")
	for _, c := range []struct {
		key, raw string
		scope    settings.Scope
		want     string
		kind     fault.Kind
	}{
		{"agents.routing.strategy", `"llm"`, settings.ProjectScope, `"llm"`, 0},
		{"agents.routing.enabled", `"1"`, settings.ProjectScope, `true`, 0},
		{"agents.routing.enabled", `false`, settings.ProjectScope, `false`, 0},
		{"agents.routing.rule.confidence_threshold", `"70"`, settings.ProjectScope, `70`, 0},
		{"agents.routing.default_agent", `"7"`, settings.ProjectScope, `"7"`, 0},
		{"agents.fallbackModels", `"[\"pro\", // x\n]"`, settings.UserScope, `["pro"]`, 0},
		{"agents.routing.strategy", `null`, settings.ProjectScope, `null`, 0},
		{"agents.routing.strategy", `"both"`, settings.ProjectScope, "must be one of", fault.Invalid},
		{"agents.routing.llm.model", `"pro"`, settings.ProjectScope, "which only your own settings can", fault.Denied},
		{"agents.autoRoute", `true`, settings.ProjectScope, "which only your own settings can", fault.Denied},
		{"agents.limits.live", `5`, settings.ProjectScope, "lower this limit only", fault.Invalid},
		{"agents.routing.strategie", `"llm"`, settings.ProjectScope, "did you mean agents.routing.strategy", fault.NotFound},
		{"mcpServers", `{}`, settings.UserScope, "there is no setting", fault.NotFound},
	} {
		value, err := s.Check(c.key, []byte(c.raw), c.scope)
		text, _ := json.Marshal(value)
		if err != nil {
			text = []byte(err.Error())
		}
		if (err != nil && fault.KindOf(err) != c.kind) || (err == nil) != (c.kind == 0) || !strings.Contains(string(text), c.want) {
			t.Errorf("%s %s: %s", c.key, c.raw, text)
		}
	}
}
