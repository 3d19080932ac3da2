package daemon

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentls/agentls/internal/settings"
	"github.com/agentls/agentls/workspace"
)

// TestSEC115SecretsOfTheEnvironment: which variables hold a secret, by their names.
func TestSEC115SecretsOfTheEnvironment(t *testing.T) {
	file := filepath.Join(t.TempDir(), "key.pem")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ variable, text, want string }{
		{"GEMINI_API_KEY=abcdefgh1", "abcdefgh1", "[masked:GEMINI_API_KEY]"},
		{"GEMINI_API_KEY= abcdefgh1\n", "=abcdefgh1.", "=[masked:GEMINI_API_KEY]."},
		{"AWS_SECRET_ACCESS_KEY=/bPx+abcdefg", "/bPx+abcdefg", "[masked:AWS_SECRET_ACCESS_KEY]"},
		{"GITHUB_TOKEN=changeme1", "is changeme1", "is [masked:GITHUB_TOKEN]"},
		{"PGPASSWORD=correct horse battery", "correct horse battery", "[masked:PGPASSWORD]"},
		{"API_KEY_2=abcdefgh1", "abcdefgh1", "[masked:API_KEY_2]"},
		{"OPENAI_KEY=abcdefgh12345678", "abcdefgh12345678", "[masked:OPENAI_KEY]"},
		{"SORT_KEY=createdAt", "createdAt", "createdAt"},
		{"SHORT_TOKEN=abcdefg", "abcdefg", "abcdefg"},
		{"PWD=/home/somebody", "/home/somebody", "/home/somebody"},
		{"GOOGLE_APPLICATION_CREDENTIALS=" + file, file, file},
		{"TLS_PRIVATE_KEY=" + file, file, file},
		{"HTTPS_PROXY=http://me:pass%20word1@proxy:80", "pass word1 pass%20word1 proxy", "[masked:HTTPS_PROXY] [masked:HTTPS_PROXY-2] proxy"},
		{"GOOGLE_GEMINI_BASE_URL=https://x/?key=abcdefgh1", "key=abcdefgh1", "key=[masked:GOOGLE_GEMINI_BASE_URL]"},
		{"DB_PASSWORD=postgres", "image: postgres:16", "image: postgres:16"},
		{"DB_PASSWORD=postgres1", "postgres1:16", "[masked:DB_PASSWORD]:16"},
		{"SMTP_PASS=hunter2hunter2", "hunter2hunter2", "[masked:SMTP_PASS]"},
		{"MYSQL_PWD=hunter2hunter2", "hunter2hunter2", "[masked:MYSQL_PWD]"},
		{"PWD=hunter2hunter2", "hunter2hunter2", "hunter2hunter2"},
		{"OLDPWD=hunter2hunter2", "hunter2hunter2", "hunter2hunter2"},
		{"JWT=abcdefghij0123456789", "abcdefghij0123456789", "[masked:JWT]"},
		{"GH_AUTH=abcdefghij0123456789", "abcdefghij0123456789", "[masked:GH_AUTH]"},
		{"BASIC_AUTH=user:hunter2hunter2", "user:hunter2hunter2", "[masked:BASIC_AUTH]"},
		{`AZURE_CREDENTIALS={"clientId":"public-one-1","clientSecret":"zzzyzzzzz9"}`, "zzzyzzzzz9 public-one-1", "[masked:AZURE_CREDENTIALS-2] public-one-1"},
		{"SLACK_WEBHOOK_URL=https://hooks.slack.com/services/T00/B00/abcdef0123", "https://hooks.slack.com/services/T00/B00/abcdef0123", "[masked:SLACK_WEBHOOK_URL]"},
		{"SENTRY_DSN=https://abcdef0123456789@o1.ingest.sentry.io/1", "abcdef0123456789", "[masked:SENTRY_DSN]"},
		{"ORIGIN=https://mytokenvalue123@github.com/x", "mytokenvalue123", "[masked:ORIGIN]"},
		{"ORIGIN=https://mytokenvalue123:x-oauth-basic@github.com/x", "mytokenvalue123 x-oauth-basic", "[masked:ORIGIN] x-oauth-basic"},
		{"ORIGIN=ssh://deployer@github.com/x", "deployer", "deployer"},
		{"MAX_TOKENS=100000000", "100000000", "100000000"},
	} {
		if got := string(NewSecrets([]string{"no variable", c.variable}).MaskKnown([]byte(c.text))); got != c.want {
			t.Errorf("%s: %q became %q, want %q", c.variable, c.text, got, c.want)
		}
	}
}

// TestSEC115WordsAreKeptFromChildren: what is no secret to mask may be one all
// the same.
func TestSEC115WordsAreKeptFromChildren(t *testing.T) {
	environ := []string{"DB_PASSWORD=postgres", "A_PWD=x", "PWD=/somewhere", "OLDPWD=/somewhere", "B_TOKEN=changeme", "C_PASS=1", "EDITOR=vi", "SSH_AUTH_SOCK=/tmp/agent.1", "D_AUTH=basic",
		"GOOGLE_APPLICATION_CREDENTIALS=keys/mine.json", "E_URL=https://mytokenvalue123@github.com/x", "F_WEBHOOK_URL=https://x"}
	if got := strings.Join(SecretVariables(environ), " "); got != "DB_PASSWORD A_PWD B_TOKEN C_PASS E_URL F_WEBHOOK_URL" {
		t.Error(got)
	}
}

// TestSecretsOfTheSettings: the person's keys and what their servers are given;
// one that was replaced is still a secret.
func TestSecretsOfTheSettings(t *testing.T) {
	s := NewSecrets([]string{"GEMINI_API_KEY=the first key1"})
	for _, text := range []string{
		`{"env": {"GEMINI_API_KEY": "the second key2", "EDITOR": "some editor"}, "providers": {"x": {"apiKey": "provider1", "url": "https://x"}},
		  "mcpServers": {"a": {"env": {"A_TOKEN": "server-token1", "B_TOKEN": "$TOKEN-of-env"}, "headers": {"Authorization": "Bearer header-token1", "Accept": "application/json"}, "args": ["--port", "argument"]}},
		  "hooks": {"BeforeTool": [{"hooks": [{"command": "x", "env": {"C_TOKEN": "hook-token1"}}]}]}}`,
		`{"env": {"GEMINI_API_KEY": "the third key3"}}`, `{"env": 7}`,
	} {
		s.read(workspace.MergeSettings(workspace.SettingsSource{Scope: settings.UserScope, File: "u", Content: []byte(text)}))
	}
	in := "the first key1, the second key2, the third key3, some editor, provider1, server-token1, $TOKEN-of-env, header-token1, application/json, argument, hook-token1"
	got := string(s.MaskKnown([]byte(in)))
	for _, left := range []string{"key", "provider1", "server-token1", "header-token"} {
		if strings.Contains(strings.ReplaceAll(got, "mcpServers.a.headers", ""), left) {
			t.Errorf("%q is left in %s", left, got)
		}
	}
	for _, kept := range []string{"some editor", "$TOKEN-of-env", "application/json", "argument", "[masked:GEMINI_API_KEY]", "[masked:env.GEMINI_API_KEY-2]", "[masked:mcpServers.a.env.A_TOKEN]", "[masked:hooks.BeforeTool.hooks.env.C_TOKEN]"} {
		if !strings.Contains(got, kept) {
			t.Errorf("%q is not in %s", kept, got)
		}
	}
}
