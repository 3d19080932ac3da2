package tool

// Secrets in files that hold none as a rule (SEC-20): what is read of them goes by
// their content, so that those of an ordinary repository stay readable.

import (
	"encoding/json"
	"regexp"
	"strings"
)

// secretFiles are the files that are looked into, by folded name, and what in
// them is a secret.
var secretFiles = map[string]struct {
	in   string // the folder that it has to lie in; "" for any
	find func(text string) string
}{
	"config":              {".git", gitSecret},
	"config.worktree":     {".git", gitSecret},
	".gitconfig":          {"", gitSecret},
	".envrc":              {"", shellSecret},
	".yarnrc.yml":         {"", yarnSecret},
	".yarnrc":             {"", yarnSecret},
	".mcp.json":           {"", serverSecret},
	"mcp.json":            {"", serverSecret},
	"settings.json":       {"", serverSecret},
	"settings.local.json": {"", serverSecret},
	"opencode.json":       {"", serverSecret},
	"opencode.jsonc":      {"", serverSecret},
}

// MayHoldSecret reports whether a file of that name is one of those that
// [SecretIn] looks into.
func MayHoldSecret(path string) bool {
	i := strings.LastIndexAny(path, `/\`)
	_, ok := secretFiles[fold(path[i+1:])]
	return ok
}

// SecretIn returns what kind of secret the text of a file holds, for people, ""
// for none that is known: a password or a token in the address of a git remote,
// an MCP server's env and headers, what .envrc exports. Only the files that hold
// settings of this kind are looked into; path says which this is. References to
// the environment are no secrets.
//
// It goes by forms and names, so it finds what is written the usual way and is no
// proof of the contrary; it never says the secret itself.
func SecretIn(path, text string) string {
	names := foldPath(path)
	if len(names) == 0 {
		return ""
	}
	kind, ok := secretFiles[names[len(names)-1]]
	if !ok {
		return ""
	}
	if kind.in != "" {
		within := false
		for _, name := range names[:len(names)-1] {
			within = within || name == kind.in
		}
		if !within {
			return ""
		}
	}
	return kind.find(text)
}

var (
	gitURL    = regexp.MustCompile(`(?i)[a-z][a-z0-9+.-]*://([^/\s"'@:]*)(:[^/\s"'@]+)?@`)
	gitKey    = regexp.MustCompile(`(?im)^\s*(?:extraheader\s*=\s*"?\s*(?:proxy-)?authorization:|(?:token|password|oauthtoken|apikey)\s*=\s*"?[^\s"])`)
	tokenLike = regexp.MustCompile(`^(?:gh[opsur]_|github_pat_|glpat-|x-token)|^[A-Za-z0-9_-]{30,}$`)
	exported  = regexp.MustCompile(`(?m)^\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)=(?:"([^"\n]*)"|'([^'\n]*)'|([^\s#;]*))`)
	yarnToken = regexp.MustCompile(`(?im)^\s*"?(?:npmAuthToken|npmAuthIdent|_authToken|_auth|_password)"?\s*[:=\s]\s*"?([^\s"]+)`)
	secretKey = regexp.MustCompile(`(?i)(?:token|secret|passw(?:or)?d|passphrase|api_?key|access_?key|private_?key|credential|auth(?:orization)?$|_pat$|_key$)`)
	comment   = regexp.MustCompile(`(?m)^\s*//.*$`)
)

// gitSecret looks for a password or a token in the addresses and keys of git's
// settings.
func gitSecret(text string) string {
	for _, m := range gitURL.FindAllStringSubmatch(text, -1) {
		if m[2] != "" || tokenLike.MatchString(m[1]) {
			return "an address with a password or a token"
		}
	}
	if gitKey.MatchString(text) {
		return "a token"
	}
	return ""
}

// shellSecret looks for what a shell exports whose name says that it is a secret.
func shellSecret(text string) string {
	for _, m := range exported.FindAllStringSubmatch(text, -1) {
		if secretKey.MatchString(m[1]) && isLiteral(m[2]+m[3]+m[4]) {
			return "a secret that it exports (" + m[1] + ")"
		}
	}
	return ""
}

// yarnSecret looks for the tokens of registries.
func yarnSecret(text string) string {
	for _, m := range yarnToken.FindAllStringSubmatch(text, -1) {
		if isLiteral(m[1]) {
			return "a token"
		}
	}
	return ""
}

// serverSecret looks for the env and the headers of MCP servers. What is no JSON
// is looked at line by line, as one half written is.
func serverSecret(text string) string {
	var all any
	if json.Unmarshal([]byte(comment.ReplaceAllString(text, "")), &all) == nil {
		return inServers(all)
	}
	for line := range strings.Lines(text) {
		name, value, ok := strings.Cut(line, ":")
		if ok && secretKey.MatchString(strings.Trim(name, " \t\"'{")) &&
			strings.HasPrefix(strings.TrimSpace(value), `"`) && isLiteral(strings.Trim(value, " \t\r\n\",}")) {
			return "a secret of a server"
		}
	}
	return ""
}

// inServers looks for them in any depth of a JSON value: editors put servers at
// different places.
func inServers(v any) string {
	switch v := v.(type) {
	case map[string]any:
		for key, inner := range v {
			values, ok := inner.(map[string]any)
			if ok && (key == "env" || key == "environment" || key == "headers") {
				for name, value := range values {
					if s, ok := value.(string); ok && secretKey.MatchString(name) && isLiteral(s) {
						return "a secret of a server"
					}
				}
			}
			if why := inServers(inner); why != "" {
				return why
			}
		}
	case []any:
		for _, inner := range v {
			if why := inServers(inner); why != "" {
				return why
			}
		}
	}
	return ""
}

// isLiteral reports whether a value is the secret itself: not empty, none that
// only says what to put there, and not one that stands elsewhere.
func isLiteral(value string) bool {
	value = strings.TrimSpace(value)
	for _, scheme := range [...]string{"Bearer ", "bearer ", "Basic ", "token "} {
		value = strings.TrimPrefix(value, scheme)
	}
	return value != "" && !strings.ContainsAny(value, "$`<") && !strings.HasPrefix(value, "op://")
}
