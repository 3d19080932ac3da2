package daemon

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentls/agentls/internal/fault"
)

// TestCheckFindsWhatARunFinds: the same settings and accounts are good and bad,
// and nothing is made in the person's folder.
func TestCheckFindsWhatARunFinds(t *testing.T) {
	credentials := filepath.Join(t.TempDir(), "c.json")
	write(t, credentials, `{"type": "authorized_user", "client_id": "id", "client_secret": "s", "refresh_token": "r"}`)
	vertex := []string{"GOOGLE_GENAI_USE_VERTEXAI=1", "GOOGLE_APPLICATION_CREDENTIALS=" + credentials}
	for _, c := range []struct {
		name, settings string
		environ        []string
		account, err   string
		baseURL        string // what is wrong with it
		problems       int
	}{
		{"a key", "", []string{"GEMINI_API_KEY=k\n"}, "key in GEMINI_API_KEY", "", "", 0},
		{"two keys", `{"env": {"GOOGLE_API_KEY": "g"}}`, []string{"GEMINI_API_KEY=k"}, "key in GOOGLE_API_KEY", "", "", 0},
		{"none", "", nil, "", "no key for the Gemini API", "", 0},
		{"only a space", "", []string{"GEMINI_API_KEY= "}, "", "no API key", "", 0},
		{"a base URL that is none", "", []string{"GEMINI_API_KEY=k", "GOOGLE_GEMINI_BASE_URL=x"}, "key in GEMINI_API_KEY", "", "GOOGLE_GEMINI_BASE_URL", 0},
		{"Vertex AI", "", append(vertex, "GOOGLE_CLOUD_PROJECT=p", "GOOGLE_CLOUD_REGION=r"), "Vertex AI, project p, r, credentials of " + credentials, "", "", 0},
		{"a bad project", "", append(vertex, "GOOGLE_CLOUD_PROJECT=P P"), "", "not the id of a Google Cloud project", "", 0},
		{"a bad place", "", append(vertex, "GOOGLE_CLOUD_PROJECT=p", "GOOGLE_CLOUD_LOCATION=/"), "", "not a location", "", 0},
		{"bad rows", `{"model": {"routes": [{"x": 1}, 7], "table": [{}]}, "env": {"GEMINI_API_KEY": 1}}`, []string{"GEMINI_API_KEY=k"}, "key in GEMINI_API_KEY", "", "", 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBed(t, c.environ...)
			if c.settings != "" {
				write(t, filepath.Join(b.config.Home, "settings.json"), c.settings)
			}
			a := b.config.Check(t.Context(), folder(t, "").Canonical)
			if a.Account != c.account || (a.Err == nil) != (c.err == "") || (a.Err != nil && !strings.Contains(fault.Message(a.Err), c.err)) {
				t.Errorf("account %q, error %v", a.Account, a.Err)
			}
			if (a.BaseURLErr == nil) != (c.baseURL == "") || (a.BaseURLErr != nil && !strings.Contains(fault.Message(a.BaseURLErr), c.baseURL)) {
				t.Errorf("the base URL %q: %v", a.BaseURL, a.BaseURLErr)
			}
			if len(a.Problems) != c.problems {
				t.Errorf("problems: %q", a.Problems)
			}
			if left, err := filepath.Glob(filepath.Join(b.config.Home, "agentls*")); err != nil || len(left) > 0 {
				t.Errorf("left: %q, %v", left, err)
			}
		})
	}
}
