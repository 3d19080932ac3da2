package daemon

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/workspace"
)

// TestREL54OneBudgetForAKey: whoever asks with one key shares what may be tried
// again, whatever the model and however often the key changes meanwhile.
func TestREL54OneBudgetForAKey(t *testing.T) {
	b := newBed(t)
	h := &daemon{Config: b.config, ctx: t.Context(), trust: workspace.NewTrust(b.config.trustFile(), time.Now), table: b.build().Agents.Table}
	defer h.closeClient()
	of := make(map[string]*model.Retries)
	login := filepath.Join(t.TempDir(), "login.json")
	write(t, login, "{}")
	vertex := `"GOOGLE_GENAI_USE_VERTEXAI": "true", "GOOGLE_APPLICATION_CREDENTIALS": "` + login + `", `
	for _, c := range []struct{ who, env, id string }{
		{"one", `"GEMINI_API_KEY": "one"`, "gemini-2.5-flash"},
		{"one", `"GEMINI_API_KEY": "one"`, "gemini-2.5-pro"},
		{"two", `"GEMINI_API_KEY": "two"`, "gemini-2.5-flash"},
		{"one", `"GEMINI_API_KEY": "one"`, "gemini-2.5-flash"},
		{"one, elsewhere", `"GEMINI_API_KEY": "one", "GOOGLE_GEMINI_BASE_URL": "http://127.0.0.1:1"`, "gemini-2.5-flash"},
		{"a project", vertex + `"GOOGLE_CLOUD_PROJECT": "p-1"`, "gemini-2.5-flash"},
		{"a project", vertex + `"GOOGLE_CLOUD_PROJECT": "p-1", "GOOGLE_CLOUD_LOCATION": "us-east1"`, "gemini-2.5-flash"},
		{"another project", vertex + `"GOOGLE_CLOUD_PROJECT": "p-2"`, "gemini-2.5-flash"},
	} {
		write(t, filepath.Join(b.config.Home, "settings.json"), `{"env": {`+c.env+`}}`)
		h.settings.forget()
		_, retries, err := h.provider(c.id)
		if err != nil {
			t.Fatalf("%s: %v", c.who, err)
		}
		if of[c.who] == nil {
			for who, others := range of {
				if others == retries {
					t.Errorf("%s has what %s has", c.who, who)
				}
			}
			of[c.who] = retries
		}
		if of[c.who] != retries {
			t.Errorf("%s has two budgets", c.who)
		}
	}
}
