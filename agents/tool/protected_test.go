package tool_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/agentls/agentls/agents/tool"
)

// TestSEC17WhatRunsByItselfIsProtected: what editors, toolchains and other agents
// load without being asked.
func TestSEC17WhatRunsByItselfIsProtected(t *testing.T) {
	for _, path := range []string{
		".zed/tasks.json", ".helix/languages.toml", ".nvim.lua", "sub/.exrc", ".nvimrc", ".lazy.lua", ".dir-locals.el", "x.sublime-project",
		".cargo/config.toml", "crate/.cargo/config", ".mvn/extensions.xml", ".yarn/releases/yarn-4.cjs", ".yarn/plugins/x.cjs", ".pnpmfile.mjs",
		"bunfig.toml", "rust-toolchain", "rust-toolchain.toml", ".gitea/workflows/x.yml", ".forgejo/workflows/x.yml", "AGENTS.md", "docs/CLAUDE.md",
		".cursorrules", ".windsurf/rules/x.md", ".windsurfrules", ".clinerules", ".clinerules/x.md", ".opencode/x.json", "opencode.json", "opencode.jsonc",
		".github/copilot-instructions.md", ".github/agents/x.md", ".aider.conf.yml", ".continue/config.json", ".Zed/settings.json",
	} {
		if tool.WhyProtected(path) == "" {
			t.Errorf("%q is an ordinary file", path)
		}
	}
	// What people change all day asks nothing.
	for _, path := range []string{
		".github/ISSUE_TEMPLATE.md", ".github/dependabot.yml", ".cargo/audit.toml", ".yarn/cache/x.zip", ".yarn/install-state.gz", "Cargo.toml", "Makefile",
		"agents/x.go", "agent.md", "docs/agents.md.txt", "zed/x", "pom.xml", "package.json", ".prettierrc", "config.toml", "README.md", ".editorconfig",
	} {
		if why := tool.WhyProtected(path); why != "" {
			t.Errorf("%q asks each time: %s", path, why)
		}
	}
}

// TestSEC18LettersThatFoldToSeveral: case folded in full.
func TestSEC18LettersThatFoldToSeveral(t *testing.T) {
	for path, name := range map[string]string{".gitcon\ufb01g": ".gitconfig", ".pre-commit-con\ufb01g.yaml": ".pre-commit-config.yaml", ".pnpm\ufb01le.cjs": ".pnpmfile.cjs", "le\ufb00hook.yml": "", "le\ufb05hook.yml": "", "\ufb06": ""} {
		if got := tool.WhyProtected(path); got != tool.WhyProtected(name) {
			t.Errorf("%q: %q, as %q: %q", path, got, name, tool.WhyProtected(name))
		}
	}
	for _, path := range []string{".\u00dfh/x", ".\u1e9eH/id", ".aw\u017f/credentials", "oauth_creds.j\u017fon"} {
		if !tool.IsCredential(path) {
			t.Errorf("%q holds no credentials", path)
		}
	}
}

func TestSEC20CredentialsByEveryName(t *testing.T) {
	for _, path := range []string{
		".env~", ".env.bak", "#.env#", ".env.swp", ".env-prod", ".env_local", ".env.local.old", "prod.env", "config/staging.env", ".netrc~", "id_rsa.bak", ".id_rsa.swp",
		"id_ed25519_work", "server.key", "key.pem", "tls/privkey.pem", "x.p12", "x.pfx", "x.ppk", "release.keystore", "passwords.kdbx", "terraform.tfstate", "terraform.tfstate.backup",
		"service-account.json", "service-account-prod.json", "serviceAccountKey.json", "credentials.json", "client_secret_1.json", ".git-credentials~", ".npmrc.orig", "PROD.ENV",
	} {
		if !tool.IsCredential(path) {
			t.Errorf("%q is read", path)
		}
	}
	for _, path := range []string{
		".env.example", ".env-sample", ".env_template", "example.env", "prod.env.example", ".env.local.example", ".env.example~", "template.env", ".envoy.yaml", ".environment",
		"env", "cert.pem", "ca-bundle.pem", "fullchain.pem", "jwt.pub.pem", "public.key", "server.crt", "id_rsa.pub", "id_rsa_parser.go", "id_ed25519_test.py", "credentials.go",
		"service-account.yaml", "keys.go", "key", ".key/x", "main.tf", "src/environment.ts", "a.json", ".yarnrc.yml", ".mcp.json", ".git/config", ".envrc", "old", "~", "x.bak",
	} {
		if tool.IsCredential(path) {
			t.Errorf("%q of an ordinary repository is not read", path)
		}
	}
}

func TestSEC20SecretsInTheText(t *testing.T) {
	for _, c := range []struct{ path, secret, ordinary string }{
		{".git/config", "[remote \"origin\"]\n\turl = https://me:hunter2@example.com/x.git\n", "[remote \"origin\"]\n\turl = git@example.com:x/y.git\n[remote \"b\"]\n\turl = ssh://git@example.com:22/x\n[user]\n\temail = a@b.c\n"},
		{"sub/.git/config", "\turl = https://ghp_0123456789abcdef@github.com/x\n", "\turl = https://github.com/x\n"},
		{".git/config", "[http]\n\textraheader = AUTHORIZATION: basic eDp5\n", "[http]\n\textraheader = X-Trace: 1\n"},
		{".git/modules/a/config", "\turl = https://x:y@h/\n", ""},
		{".mcp.json", `{"mcpServers":{"a":{"command":"x","env":{"API_TOKEN":"abc"}}}}`, `{"mcpServers":{"a":{"command":"x","env":{"API_TOKEN":"${API_TOKEN}","LOG":"debug"}}}}`},
		{".gemini/settings.json", `{"mcpServers":{"a":{"headers":{"Authorization":"Bearer abc"}}}}`, `{"mcpServers":{"a":{"headers":{"Authorization":"Bearer $TOKEN","Accept":"x"}}},"token":"x"}`},
		{".vscode/mcp.json", "{\n// of a server\n\"env\": {\"API_KEY\": \"abc\"}}", "{\n// of a server\n\"env\": {\"API_KEY\": \"<your key>\"}}"},
		{".mcp.json", "{\n \"API_TOKEN\": \"abc\",\n", "{\n \"API_TOKEN\": \"\",\n"},
		{".envrc", "export AWS_SECRET_ACCESS_KEY=abc\n", "use flake\nexport PATH=$PWD/bin:$PATH\nexport API_TOKEN=$(pass x)\nexport KEYMAP=us\n"},
		{".yarnrc.yml", "npmAuthToken: abc\n", "npmAuthToken: \"${NPM_TOKEN}\"\nnodeLinker: pnp\n"},
	} {
		if tool.SecretIn(c.path, c.secret) == "" || !tool.MayHoldSecret(c.path) {
			t.Errorf("%s: nothing in %q", c.path, c.secret)
		}
		if why := tool.SecretIn(c.path, c.ordinary); why != "" {
			t.Errorf("%s: %s in %q", c.path, why, c.ordinary)
		}
		if why := tool.SecretIn("src/other.txt", c.secret); why != "" {
			t.Errorf("another file holds %s", why)
		}
	}
	if why := tool.SecretIn("src/config", "url = https://me:x@example.com\n"); why != "" {
		t.Errorf("a config that is not git's: %s", why)
	}
}

// TestSEC20HomesConfigurationAsTheWorkspace: what programs of the person's execute
// stays sealed where the workspace is the folder above it.
func TestSEC20HomesConfigurationAsTheWorkspace(t *testing.T) {
	env := place(t)
	folder := filepath.Join(env.Home, ".config")
	if err := os.MkdirAll(filepath.Join(folder, "nvim"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, e := range []*tool.Env{{Folder: folder, Folders: []string{folder}, Home: env.Home}, {Folder: env.Folder, Folders: []string{env.Folder, folder}, Home: env.Home}} {
		for _, name := range []string{"systemd/user/evil.service", "autostart/x.desktop", "git/config", "git/hooks/post-checkout", "fish/config.fish", "environment.d/x.conf", "Systemd/user/x.service"} {
			if p, err := tool.Resolve(e, filepath.Join(folder, name)); err != nil || p.Sealed == "" {
				t.Errorf("~/.config/%s may be written: %+v, %v", name, p, err)
			}
		}
		if p, err := tool.Resolve(e, filepath.Join(folder, "nvim/init.lua")); err != nil || p.Sealed != "" {
			t.Errorf("~/.config/nvim/init.lua: %+v, %v", p, err)
		}
	}
}

// TestSEC17ManyProtectedFilesMakeNothingElseProtected: a store of hard links stays
// ordinary however many files there are to compare it with, and another name of
// a protected file is still found.
func TestSEC17ManyProtectedFilesMakeNothingElseProtected(t *testing.T) {
	env := place(t)
	state := filepath.Join(env.Home, ".gemini/agentls")
	many(t, filepath.Join(state, "sessions"), 300)
	many(t, filepath.Join(env.Folder, ".git/rr-cache"), 300)
	many(t, filepath.Join(env.Folder, ".git/objects"), 300)
	many(t, filepath.Join(env.Folder, ".vscode"), 8_500)
	link := func(from, to string) {
		if err := os.Link(from, filepath.Join(env.Folder, to)); err != nil {
			t.Skip("no hard links here: ", err)
		}
	}
	hook := filepath.Join(env.Folder, ".git/hooks/pre-commit")
	trust := filepath.Join(state, "trust.json")
	for _, path := range []string{hook, trust, filepath.Join(env.Folder, "index.js")} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	link(filepath.Join(env.Folder, "index.js"), "store.js")
	link(hook, "h")
	link(trust, "t")
	if p, err := tool.Resolve(env, "index.js"); err != nil || p.Protected || p.Sealed != "" {
		t.Errorf("an ordinary file of two names: %+v, %v", p, err)
	}
	if p, err := tool.Resolve(env, "h"); err != nil || !p.Protected {
		t.Errorf("another name of a hook: %+v, %v", p, err)
	}
	if p, err := tool.Resolve(env, "t"); err != nil || !p.Credential || p.Sealed == "" {
		t.Errorf("another name of the daemon's state: %+v, %v", p, err)
	}
}

func many(t testing.TB, dir string, n int) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint("f", i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSEC107TaintOfAPath: an untrusted folder in a trusted one, and a repository in
// it, taint; what is trusted does not.
func TestSEC107TaintOfAPath(t *testing.T) {
	env := place(t)
	env.Trusted = true
	strange := filepath.Join(env.Folder, "strange")
	inner := filepath.Join(strange, "inner")
	env.Folders, env.Strange = append(env.Folders, strange, inner), []string{strange}
	for _, e := range []*tool.Env{env, tool.Together(env)} {
		for path, want := range map[string]tool.Taint{
			"a": tool.Clean, ".": tool.Clean, "new/b": tool.Clean, "strange": tool.Foreign, "strange/x/y": tool.Foreign, "strange/inner/x": tool.Clean,
			"sub": tool.Foreign, "sub/deep/x": tool.Foreign, ".git/config": tool.Clean,
		} {
			for range 2 {
				if got := e.TaintOf(filepath.Join(env.Folder, path)); got != want {
					t.Errorf("%s: %q, want %q", path, got, want)
				}
			}
		}
	}
	if err := os.Mkdir(filepath.Join(env.Folder, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	if got := env.TaintOf(filepath.Join(env.Folder, "a")); got != tool.Clean {
		t.Errorf("the folder's own repository taints: %q", got)
	}
}

func BenchmarkHardLinkAmongMany(b *testing.B) {
	env := place(b)
	many(b, filepath.Join(env.Home, ".gemini/agentls"), 9000)
	many(b, filepath.Join(env.Folder, ".git/info"), 8000)
	if err := os.Link(filepath.Join(env.Folder, "a"), filepath.Join(env.Folder, "b")); err != nil {
		b.Skip(err)
	}
	for b.Loop() {
		if _, err := tool.Resolve(env, "a"); err != nil {
			b.Fatal(err)
		}
	}
}
