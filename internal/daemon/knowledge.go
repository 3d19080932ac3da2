package daemon

import (
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/agentls/agentls/agents/condition"
	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/language"
	"github.com/agentls/agentls/workspace"
)

// newInstalled answers what no agent file says, for the catalog and for what is
// typed.
// It is asked from several goroutines while files are parsed, so its functions read
// what is in memory.
func (b *daemon) newInstalled() definition.Installed {
	return definition.Installed{
		Models: func() []string {
			names := make(map[string]bool)
			for _, e := range b.table.Entries() {
				for _, name := range append([]string{e.ID}, e.Aliases...) {
					names[name] = true
				}
			}
			return slices.Sorted(maps.Keys(names))
		},
		Retired: func(name string) (string, bool) {
			successor, retired := b.table.Successor(name)
			// Who wrote an alias is told an alias.
			if len(successor.Aliases) > 0 && !strings.HasPrefix(name, "gemini-") {
				return successor.Aliases[0], retired
			}
			return successor.ID, retired
		},
		Sampling: func(name string) bool {
			// Nothing is wrong with a model of which nothing is known.
			e, known := b.table.Lookup(name)
			return !known || e.Sampling
		},
		Servers: b.serverNames,
		ServerTools: func(folder, server string) ([]string, bool) {
			if b.mcp == nil {
				return nil, false
			}
			return b.mcp.ToolNames(folder, server)
		},
		Validator:  b.validator,
		Expression: condition.Check,
	}
}

// validator reports whether a guard's validator is there (spec 6.1): of command:
// the executable, relative to the agent's folder; of a bare name the executable of
// that name in the folder's .gemini/validators, or in the person's own. A person's
// agents run in every folder of the workspace. Nothing is run or read.
//
// The file may be anybody's, and a mere look at a path can sign in to another machine:
// nothing is looked at outside of the agent's folder and the person's home, wherever
// links lead. What is not looked at passes for there.
func (b *daemon) validator(folder, name string) bool {
	folders := []string{folder}
	if folder == "" {
		folders = b.folders.paths()
	}
	command, ok := strings.CutPrefix(name, "command:")
	if !ok {
		if name != filepath.Base(name) || name == ".." {
			return false
		}
		command = filepath.Join(filepath.FromSlash(".gemini/validators"), name)
		if b.Validators[name] != nil || executable(b.Home, filepath.Join("validators", name)) {
			return true
		}
	} else if command = program(command); command == "" {
		return false
	} else if filepath.IsAbs(command) || filepath.VolumeName(command) != "" {
		for _, near := range append(slices.Clone(folders), b.Home, b.env("HOME")) {
			if rel, ok := workspace.Below(near, command); ok && filepath.Dir(near) != near {
				return executable(near, rel)
			}
		}
		return true
	}
	return slices.ContainsFunc(folders, func(folder string) bool { return executable(folder, command) })
}

// program returns the first word of a command, which may be in quotes.
//
// It is no shell: escapes are not known, and what is behind the word does not count.
func program(command string) string {
	command = strings.TrimSpace(command)
	if command != "" && (command[0] == '"' || command[0] == '\'') {
		word, _, _ := strings.Cut(command[1:], command[:1])
		return word
	}
	word, _, _ := strings.Cut(command, " ")
	return word
}

// executable reports whether a file is there that can be run, by its path in a folder.
// One that leads out of the folder is not looked at, and passes for one.
func executable(folder, path string) bool {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return false
	}
	defer root.Close()
	info, err := root.Stat(path)
	if err != nil {
		return strings.HasSuffix(err.Error(), "path escapes from parent") // os exports no error for it
	}
	return info.Mode().IsRegular() && (runtime.GOOS == "windows" || info.Mode().Perm()&0o111 != 0)
}

// servers returns the MCP servers that agents of a folder can name. The person's
// own agents, of folder "", run in every folder of the workspace.
// described are those of a folder that is not trusted: they may be named, and do not
// start. The list is the caller's.
func (b *daemon) servers(folder string) []language.Server {
	list := b.settingsOf(folder).servers
	if folder != "" {
		return slices.Concat(list, b.settingsOf(folder).described)
	}
	list = slices.Clone(list)
	for _, path := range b.folders.paths() {
		for _, s := range b.settingsOf(path).servers {
			if !slices.ContainsFunc(list, func(other language.Server) bool { return other.Name == s.Name }) {
				list = append(list, s)
			}
		}
	}
	return list
}

// serverNames are the names of servers.
func (b *daemon) serverNames(folder string) []string {
	var names []string
	for _, s := range b.servers(folder) {
		names = append(names, s.Name)
	}
	return names
}

// serversMoved reports whether there are other folders, or MCP servers of theirs, than
// when it was asked last: agents' files are then to be checked again.
// It keeps what it found. mu guards it.
func (b *daemon) serversMoved() bool {
	var all strings.Builder
	for _, folder := range append(b.folders.paths(), "") {
		all.WriteString(folder + "\x00" + strings.Join(b.serverNames(folder), "\x00") + "\n")
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	before := b.named
	b.named = all.String()
	return before != b.named
}
