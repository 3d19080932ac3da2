package tool

// Protected places, by name (SEC-17, SEC-18, SEC-20, spec 4.2).

import (
	"path/filepath"
	"strings"
	"unicode"
)

// protectedFolders are the folders in which each file is protected.
var protectedFolders = map[string]string{
	".git": "git's own files", ".gemini": "the configuration of agents", ".vscode": "the editor's configuration",
	".idea": "the editor's configuration", ".cursor": "the editor's configuration", ".claude": "the configuration of agents",
	".codex": "the configuration of agents", ".husky": "hooks that run on commit", ".devcontainer": "the configuration of containers",
	".circleci": "the configuration of CI", ".buildkite": "the configuration of CI", ".woodpecker": "the configuration of CI",
	".githooks": "hooks that run on commit", ".direnv": "an environment that loads by itself",
	".hg": "the files of version control", ".svn": "the files of version control",
}

// protectedFiles are the protected files, in any folder.
var protectedFiles = map[string]string{
	".mcp.json": "the configuration of MCP servers", "mcp.json": "the configuration of MCP servers",
	".envrc": "an environment that loads by itself", "gemini.md": "instructions that every agent loads",
	".gitmodules": "git's own files", ".gitconfig": "git's own files", ".gitattributes": "git's own files",
	"lefthook.yml": "hooks that run on commit", "lefthook.yaml": "hooks that run on commit", "lefthook.toml": "hooks that run on commit",
	"lefthook.json": "hooks that run on commit", ".lefthook.yml": "hooks that run on commit", ".lefthook.yaml": "hooks that run on commit",
	".lefthook.toml": "hooks that run on commit", ".lefthook.json": "hooks that run on commit",
	"lefthook-local.yml": "hooks that run on commit", ".lefthook-local.yml": "hooks that run on commit",
	".pre-commit-config.yaml": "hooks that run on commit", ".pre-commit-config.yml": "hooks that run on commit",
	".huskyrc": "hooks that run on commit", ".huskyrc.json": "hooks that run on commit", ".huskyrc.js": "hooks that run on commit",
	".gitlab-ci.yml": "the configuration of CI", ".gitlab-ci.yaml": "the configuration of CI", ".travis.yml": "the configuration of CI",
	"azure-pipelines.yml": "the configuration of CI", "azure-pipelines.yaml": "the configuration of CI", "jenkinsfile": "the configuration of CI",
	"appveyor.yml": "the configuration of CI", ".appveyor.yml": "the configuration of CI", ".drone.yml": "the configuration of CI",
	".cirrus.yml": "the configuration of CI", "bitbucket-pipelines.yml": "the configuration of CI", "cloudbuild.yaml": "the configuration of CI",
	"cloudbuild.yml": "the configuration of CI", ".woodpecker.yml": "the configuration of CI",
	".npmrc": "the configuration of a package manager", ".yarnrc": "the configuration of a package manager",
	".yarnrc.yml": "the configuration of a package manager", ".pnpmfile.cjs": "the configuration of a package manager",
	".tool-versions": "the choice of programs that run", "mise.toml": "the choice of programs that run", ".mise.toml": "the choice of programs that run",
	".bazelrc": "the configuration of builds",
}

// ProtectedBy returns why a write to path is protected, for people, or "" if it
// is not. It goes by names alone, in any folder, whether the file is there or
// not; spellings that some file system takes for the same name count as it.
func ProtectedBy(path string) string { return protectedBy(folded(path)) }

// protectedBy is ProtectedBy of folded names.
func protectedBy(parts []string) string {
	last := len(parts) - 1
	for i, name := range parts {
		if why, ok := protectedFolders[name]; ok {
			return why + " (" + name + ")"
		}
		if name == ".github" && i < last && (parts[i+1] == "workflows" || parts[i+1] == "actions") {
			return "the configuration of CI (.github/" + parts[i+1] + ")"
		}
		if why, ok := protectedFiles[name]; ok {
			return why + " (" + name + ")"
		}
		if strings.HasSuffix(name, ".code-workspace") {
			return "the editor's configuration (" + name + ")"
		}
	}
	return ""
}

// folded returns the elements of a path as names are compared. A backslash
// separates them too, since it does where the file may come to lie.
func folded(path string) []string {
	parts := strings.FieldsFunc(path, func(r rune) bool { return r == '/' || r == '\\' })
	n := 0
	for _, part := range parts {
		if part != "." {
			parts[n] = fold(part)
			n++
		}
	}
	return parts[:n]
}

// isPlain reports whether a name is the same for each file system: small ASCII
// letters, digits and a few marks.
func isPlain(name string) bool {
	for i := range len(name) {
		switch c := name[i]; {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9', c == '-', c == '_', c == '.':
		default:
			return false
		}
	}
	return name != "" && name[len(name)-1] != '.'
}

// fold returns the name that some file system takes name for: without case,
// without trailing dots and blanks and streams (Windows), without invisible
// characters and combining marks (HFS+), with the ASCII that full-width and
// compatibility forms stand for, and short names of Windows as the long one.
func fold(name string) string {
	if isPlain(name) {
		return name
	}
	if i := strings.IndexByte(name, ':'); i > 0 {
		name = name[:i] // a stream of NTFS, as .git::$DATA
	}
	var b strings.Builder
	for _, r := range name {
		switch {
		case isHidden(r) || isControl(r) || unicode.Is(unicode.Mn, r):
			continue
		case r >= 0xff01 && r <= 0xff5e:
			r -= 0xff01 - '!'
		case r == 0x2024 || r == 0xfe52 || r == 0x3002 || r == 0xff61:
			r = '.'
		case r == 0x3000 || r == 0x00a0:
			r = ' '
		case r == 0x017f:
			r = 's'
		case r == 0x212a:
			r = 'k'
		case r == 0x0130 || r == 0x0131:
			r = 'i'
		}
		b.WriteRune(unicode.ToLower(r))
	}
	s := strings.TrimRight(b.String(), ". ")
	if short, n, ok := strings.Cut(s, "~"); ok && len(n) == 1 && n[0] >= '1' && n[0] <= '9' {
		for _, long := range []string{".git", ".gemini", ".vscode", ".idea", ".cursor", ".claude", ".codex", ".husky"} {
			if short != "" && strings.HasPrefix(long[1:], short) {
				return long
			}
		}
	}
	return s
}

// credentialFolders are the folders in which each file holds secrets, as
// sequences of names.
var credentialFolders = [][]string{
	{".ssh"}, {".aws"}, {".gnupg"}, {".azure"}, {".password-store"}, {".config", "gcloud"}, {".config", "gh"}, {".kube"},
	{".docker", "config.json"}, {".local", "share", "keyrings"}, {".gemini", "agentls"}, {".config", "git", "credentials"},
	{".config", "hub"}, {".config", "op"}, {".config", "rclone"}, {".config", "sops"}, {".cargo", "credentials"}, {".cargo", "credentials.toml"},
	{".gem", "credentials"}, {".m2", "settings.xml"}, {".gradle", "gradle.properties"}, {".composer", "auth.json"},
}

// credentialFiles are the files that hold secrets, in any folder.
var credentialFiles = map[string]bool{
	".env": true, ".netrc": true, "_netrc": true, ".npmrc": true, ".pypirc": true, ".git-credentials": true, ".pgpass": true,
	".my.cnf": true, ".vault-token": true, ".htpasswd": true, "id_rsa": true, "id_dsa": true, "id_ecdsa": true, "id_ed25519": true,
	"id_ecdsa_sk": true, "id_ed25519_sk": true, "oauth_creds.json": true, ".terraformrc": true, ".dockercfg": true,
	".s3cfg": true, ".boto": true,
}

// IsCredential reports whether a file of that name, or one in a folder of
// secrets, is taken to hold credentials. path may be relative.
func IsCredential(path string) bool { return isCredential(folded(path)) }

// isCredential is IsCredential of folded names.
func isCredential(parts []string) bool {
	for i := range parts {
		if parts[i] == "" || parts[i][0] != '.' {
			continue // each of the folders begins so
		}
		for _, folder := range credentialFolders {
			if hasPrefix(parts[i:], folder) {
				return true
			}
		}
	}
	if len(parts) == 0 {
		return false
	}
	name := parts[len(parts)-1]
	if credentialFiles[name] {
		return true
	}
	if rest, ok := strings.CutPrefix(name, ".env."); ok {
		switch rest {
		case "example", "sample", "template", "dist", "defaults", "schema":
			return false
		}
		return true
	}
	return false
}

func hasPrefix(parts, prefix []string) bool {
	if len(parts) < len(prefix) {
		return false
	}
	for i := range prefix {
		if parts[i] != prefix[i] {
			return false
		}
	}
	return true
}

// SealedBy returns why the absolute path is never written by a tool, "" if it
// may be: home's own dot-files and configuration, and the daemon's state
// (SEC-20). It goes by names; [Place] has the answer for where links lead.
func SealedBy(env *Env, path string) string {
	home := env.HomeFolder()
	state := env.State
	if state == "" && home != "" {
		state = filepath.Join(home, ".gemini")
	}
	if state != "" && Within(state, path) {
		return "the daemon's own state"
	}
	if home == "" || !Within(home, path) {
		return ""
	}
	rel, err := filepath.Rel(home, path)
	if err != nil || rel == "." {
		return ""
	}
	first := fold(elements(rel)[0]) // not "": path lies below home
	if !strings.HasPrefix(first, ".") {
		return ""
	}
	// A workspace folder may lie in a dot-folder of home (a cache, a checkout of
	// configuration): what lies below it is the workspace's.
	for _, folder := range append([]string{env.Folder}, env.Folders...) {
		if Within(folder, path) && folder != home && Within(home, folder) && configFolder(home, folder) == "" {
			return ""
		}
	}
	return "a configuration file of the home folder"
}

var configFolders = []string{".config/git", ".config/systemd", ".config/autostart", ".config/fish", ".ssh", ".gnupg", ".aws", ".config/gcloud"}

// configFolder returns the folder of home's configuration that folder lies in,
// of those that programs execute or trust; "" if in none.
func configFolder(home, folder string) string {
	for _, name := range configFolders {
		if Within(filepath.Join(home, filepath.FromSlash(name)), folder) {
			return name
		}
	}
	return ""
}
