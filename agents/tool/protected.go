package tool

// Protected places, by name (SEC-17, SEC-18, SEC-20, spec 4.2).

import (
	"path/filepath"
	"strings"
)

// protectedFolders are the folders in which each file is protected.
var protectedFolders = map[string]string{
	".git": "git's own files", ".gemini": "the configuration of agents", ".vscode": "the editor's configuration",
	".idea": "the editor's configuration", ".cursor": "the editor's configuration",
	".claude": "the configuration of agents",
	".codex":  "the configuration of agents", ".husky": "hooks that run on commit",
	".devcontainer": "the configuration of containers",
	".circleci":     "the configuration of CI", ".buildkite": "the configuration of CI",
	".woodpecker": "the configuration of CI",
	".githooks":   "hooks that run on commit", ".direnv": "an environment that loads by itself",
	".hg": "the files of version control", ".svn": "the files of version control",
	".zed": "the editor's configuration", ".helix": "the editor's configuration",
	".mvn":      "what builds load by themselves",
	".windsurf": "the configuration of agents", ".opencode": "the configuration of agents",
	".continue": "the configuration of agents",
	".roo":      "the configuration of agents", ".kiro": "the configuration of agents",
	".junie":      "the configuration of agents",
	".clinerules": "instructions that agents load",
}

// protectedPaths are the protected places whose folder alone is an ordinary one,
// as sequences of names. What lies below them is protected too.
var protectedPaths = map[string][]protectedPath{
	".github": {
		{"workflows", "the configuration of CI"}, {"actions", "the configuration of CI"},
		{"agents", "the configuration of agents"},
		{"copilot-instructions.md", "instructions that agents load"}, {"instructions", "instructions that agents load"},
		{"prompts", "instructions that agents load"}, {"chatmodes", "the configuration of agents"},
	},
	".gitea":   {{"workflows", "the configuration of CI"}, {"actions", "the configuration of CI"}},
	".forgejo": {{"workflows", "the configuration of CI"}, {"actions", "the configuration of CI"}},
	".cargo":   {{"config", "what builds load by themselves"}, {"config.toml", "what builds load by themselves"}},
	".yarn":    {{"releases", "the package manager itself"}, {"plugins", "the package manager itself"}},
}

type protectedPath struct{ name, why string }

// protectedFiles are the protected files, in any folder.
var protectedFiles = map[string]string{
	".mcp.json": "the configuration of MCP servers", "mcp.json": "the configuration of MCP servers",
	".envrc": "an environment that loads by itself", "gemini.md": "instructions that every agent loads",
	".gitmodules": "git's own files", ".gitconfig": "git's own files", ".gitattributes": "git's own files",
	"lefthook.yml": "hooks that run on commit", "lefthook.yaml": "hooks that run on commit",
	"lefthook.toml": "hooks that run on commit",
	"lefthook.json": "hooks that run on commit", ".lefthook.yml": "hooks that run on commit",
	".lefthook.yaml": "hooks that run on commit",
	".lefthook.toml": "hooks that run on commit", ".lefthook.json": "hooks that run on commit",
	"lefthook-local.yml": "hooks that run on commit", ".lefthook-local.yml": "hooks that run on commit",
	".pre-commit-config.yaml": "hooks that run on commit", ".pre-commit-config.yml": "hooks that run on commit",
	".huskyrc": "hooks that run on commit", ".huskyrc.json": "hooks that run on commit",
	".huskyrc.js":    "hooks that run on commit",
	".gitlab-ci.yml": "the configuration of CI", ".gitlab-ci.yaml": "the configuration of CI",
	".travis.yml":         "the configuration of CI",
	"azure-pipelines.yml": "the configuration of CI", "azure-pipelines.yaml": "the configuration of CI",
	"jenkinsfile":  "the configuration of CI",
	"appveyor.yml": "the configuration of CI", ".appveyor.yml": "the configuration of CI",
	".drone.yml":  "the configuration of CI",
	".cirrus.yml": "the configuration of CI", "bitbucket-pipelines.yml": "the configuration of CI",
	"cloudbuild.yaml": "the configuration of CI",
	"cloudbuild.yml":  "the configuration of CI", ".woodpecker.yml": "the configuration of CI",
	".npmrc": "the configuration of a package manager", ".yarnrc": "the configuration of a package manager",
	".yarnrc.yml": "the configuration of a package manager", ".pnpmfile.cjs": "the configuration of a package manager",
	".pnpmfile.mjs": "the configuration of a package manager", ".pnpmfile.js": "the configuration of a package manager",
	"bunfig.toml":    "the configuration of a package manager",
	"rust-toolchain": "the choice of programs that run", "rust-toolchain.toml": "the choice of programs that run",
	".tool-versions": "the choice of programs that run", "mise.toml": "the choice of programs that run",
	".mise.toml": "the choice of programs that run",
	".bazelrc":   "the configuration of builds",
	".nvim.lua":  "the editor's configuration", ".nvimrc": "the editor's configuration",
	".exrc":  "the editor's configuration",
	".vimrc": "the editor's configuration", ".lazy.lua": "the editor's configuration",
	".dir-locals.el": "the editor's configuration", ".dir-locals-2.el": "the editor's configuration",
	"agents.md": "instructions that agents load", "claude.md": "instructions that agents load",
	"claude.local.md": "instructions that agents load",
	".cursorrules":    "instructions that agents load", ".windsurfrules": "instructions that agents load",
	".roorules":     "instructions that agents load",
	"opencode.json": "the configuration of agents", "opencode.jsonc": "the configuration of agents",
	".aider.conf.yml": "the configuration of agents",
}

// whyProtected returns why a write to a path is protected, for people, or "" if it is
// not. It goes by names alone, which are folded, in any folder, whether the file is there
// or not; spellings that some file system takes for the same name count as it.
func whyProtected(parts []string) string {
	last := len(parts) - 1
	for i, name := range parts {
		if why, ok := protectedFolders[name]; ok {
			return why + " (" + name + ")"
		}
		if i < last {
			for _, p := range protectedPaths[name] {
				if p.name == parts[i+1] {
					return p.why + " (" + name + "/" + p.name + ")"
				}
			}
		}
		if why, ok := protectedFiles[name]; ok {
			return why + " (" + name + ")"
		}
		if strings.HasSuffix(name, ".code-workspace") || strings.HasSuffix(name, ".sublime-project") {
			return "the editor's configuration (" + name + ")"
		}
	}
	return ""
}

// IsCredential reports whether a file of that name, or one in a folder of
// secrets, is taken to hold credentials. path may be relative.
// It says nothing of the content: [SecretIn] does, for settings that hold secrets now and
// then.
func IsCredential(path string) bool { return isCredential(foldPath(path)) }

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
	original := withoutCopy(name) // vim hides its own behind another dot
	return credentialName(original) || (original != name && strings.HasPrefix(original, ".") &&
		credentialName(original[1:]))
}

// WhySealed returns why the absolute path is never written by a tool, "" if it
// may be: home's own dot-files and configuration, and the daemon's state
// (SEC-20). It goes by names; [Place] has the answer for where links lead.
func WhySealed(env *Env, path string) string {
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
	// configuration): what lies below it is the workspace's, but for what programs
	// execute or trust.
	for _, folder := range append([]string{env.Folder}, env.Folders...) {
		if folder != home && Within(home, folder) && Within(folder, path) && !inConfig(elements(rel)) {
			return ""
		}
	}
	return "a configuration file of the home folder"
}

// configFolders are those of home's configuration that programs execute or
// trust by themselves.
var configFolders = [][]string{
	{".config", "git"}, {".config", "systemd"}, {".config", "autostart"}, {".config", "autostart-scripts"},
	{".config", "environment.d"},
	{".config", "plasma-workspace"}, {".config", "fish"}, {".config", "zsh"}, {".config", "nushell"},
	{".config", "direnv"},
	{".ssh"}, {".gnupg"}, {".aws"}, {".config", "gcloud"},
}

// inConfig reports whether a path relative to home is one of configFolders, or
// lies in one.
func inConfig(names []string) bool {
	parts := make([]string, len(names))
	for i, name := range names {
		parts[i] = fold(name)
	}
	for _, folder := range configFolders {
		if hasPrefix(parts, folder) {
			return true
		}
	}
	return false
}
