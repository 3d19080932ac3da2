package daemon

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentls/agentls/workspace"
)

// TestSecretsOfTheEnvironment: which variables hold a secret, by their names.
func TestSecretsOfTheEnvironment(t *testing.T) {
	file := filepath.Join(t.TempDir(), "key.pem")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ variable, text, want string }{
		{"GEMINI_API_KEY=abcdefgh1", "abcdefgh1", "[masked:GEMINI_API_KEY]"},
		{"GEMINI_API_KEY= abcdefgh1\n", "=abcdefgh1.", "=[masked:GEMINI_API_KEY]."},
		{"AWS_SECRET_ACCESS_KEY=/bPx+abcdefg", "/bPx+abcdefg", "[masked:AWS_SECRET_ACCESS_KEY]"},
		{"GITHUB_TOKEN=changeme", "is changeme", "is [masked:GITHUB_TOKEN]"},
		{"PGPASSWORD=correct horse", "correct horse", "[masked:PGPASSWORD]"},
		{"API_KEY_2=abcdefgh1", "abcdefgh1", "[masked:API_KEY_2]"},
		{"OPENAI_KEY=abcdefgh12345678", "abcdefgh12345678", "[masked:OPENAI_KEY]"},
		{"SORT_KEY=createdAt", "createdAt", "createdAt"},
		{"SHORT_TOKEN=abcdefg", "abcdefg", "abcdefg"},
		{"PWD=/home/somebody", "/home/somebody", "/home/somebody"},
		{"GOOGLE_APPLICATION_CREDENTIALS=" + file, file, file},
		{"TLS_PRIVATE_KEY=" + file, file, file},
		{"HTTPS_PROXY=http://me:pass%20word@proxy:80", "pass word pass%20word proxy", "[masked:HTTPS_PROXY] [masked:HTTPS_PROXY-2] proxy"},
		{"GOOGLE_GEMINI_BASE_URL=https://x/?key=abcdefgh", "key=abcdefgh", "key=[masked:GOOGLE_GEMINI_BASE_URL]"},
		{"MAX_TOKENS=100000000", "100000000", "100000000"},
	} {
		if got := string(NewSecrets([]string{"no variable", c.variable}).Known([]byte(c.text))); got != c.want {
			t.Errorf("%s: %q became %q, want %q", c.variable, c.text, got, c.want)
		}
	}
}

// TestSecretsOfTheSettings: the person's keys and what their servers are given;
// one that was replaced is still a secret.
func TestSecretsOfTheSettings(t *testing.T) {
	s := NewSecrets([]string{"GEMINI_API_KEY=the first key"})
	for _, text := range []string{
		`{"env": {"GEMINI_API_KEY": "the second key", "EDITOR": "some editor"}, "providers": {"x": {"apiKey": "provider1", "url": "https://x"}},
		  "mcpServers": {"a": {"env": {"A_TOKEN": "server-token", "B_TOKEN": "$TOKEN-of-env"}, "headers": {"Authorization": "Bearer header-token", "Accept": "application/json"}, "args": ["--port", "argument"]}}}`,
		`{"env": {"GEMINI_API_KEY": "the third key"}}`, `{"env": 7}`,
	} {
		s.read(workspace.MergeSettings(workspace.SettingsSource{Scope: workspace.UserScope, File: "u", Content: []byte(text)}))
	}
	in := "the first key, the second key, the third key, some editor, provider1, server-token, $TOKEN-of-env, header-token, application/json, argument"
	got := string(s.Known([]byte(in)))
	for _, left := range []string{"key", "provider1", "server-token", "header-token"} {
		if strings.Contains(strings.ReplaceAll(got, "mcpServers.a.headers", ""), left) {
			t.Errorf("%q is left in %s", left, got)
		}
	}
	for _, kept := range []string{"some editor", "$TOKEN-of-env", "application/json", "argument", "[masked:GEMINI_API_KEY]", "[masked:env.GEMINI_API_KEY-2]", "[masked:mcpServers.a.env.A_TOKEN]"} {
		if !strings.Contains(got, kept) {
			t.Errorf("%q is not in %s", kept, got)
		}
	}
}
