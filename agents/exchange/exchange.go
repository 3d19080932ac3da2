// Package exchange brings agent files of other tools into our format, and ours
// into theirs (spec 1.7): Claude Code, GitHub Copilot and VS Code, opencode,
// gemini-cli.
//
// # One table
//
// What a name or key of another tool means is agents/definition's alone: a
// foreign file is read by [definition.Parse], and what that read is written down
// in our format. Export goes the other way through the same table: an entry of
// the other tool's format is used if, read back, it means no more than what the
// agent has here.
//
// # What is kept
//
// An imported file holds the original's front-matter whole, byte for byte, as
// the text imported.front, with imported.from (whose format), imported.file (what
// the file was called) and imported.models (what its model was read as). It has
// no effect on a run. [Export] to the tool that the agent came from begins with
// that text and changes the keys whose meaning was changed here since; all others
// return as they were, with their comments.
//
// # Power
//
// Nothing gains power. What restricts and has no counterpart here stays in the
// file as a key of its own, as hooks or isolation, which [definition.Parse] reads
// as a reason to refuse a run (agent/authority) until a person removes it. A list
// of tools that maps to nothing is no tools. Both ways the result is read again
// before it is returned; where it may do more than what it was made of, import
// refuses, and export refuses unless [Options.Force] says that the person wants
// it so. A tool that an export adds is not more where the agent can make each of
// its calls by other tools, and its file is not about that tool. Patterns mean
// what they mean in a run (path.Match), and of a list that takes away one that
// does not compile is about everything.
//
// What a file says to its own tool and means nothing here (permissionMode, hooks,
// MCP servers with their commands, tools that we have not) cannot be compared. It
// returns with the original, which somebody may have made up: each such key is a
// loss that is a warning.
//
// # Limits
//
// An agent without a list of tools is exported with one, since other tools give
// the tools of all MCP servers to an agent that has none; one that was imported
// without a list returns without one. permissionMode of a file of Claude Code's is
// never loosened: it returns as it was. What stands
// before the front-matter (a byte order mark, empty lines), and spaces after its
// lines ---, are not kept. A file whose front-matter is half of what spec 1.5
// allows or more is refused, since the original is kept beside its translation.
//
// It reads and writes no file, and keeps no state: its functions may be called from
// several goroutines.
package exchange

import (
	"path/filepath"
	"strings"

	"github.com/agentls/agentls/agents/definition"
)

// Options are the choices of an import or export. The zero value is right.
type Options struct {
	From  definition.Dialect               // whose format the file is in that is read; "" = by its place, else by its keys
	Name  string                           // Import: what the agent is to be called; "" = as the file says
	Model func(name string) (string, bool) // Import: as definition.Source.Model; nil as there
	Force bool                             // Export: leave out restrictions that the other tool cannot express
}

// Loss is one thing that did not translate. Its severity is Error for a
// restriction that was left out by force, Warning for what changes what the
// agent may do or does, Hint for comfort. Nobody acts on it: it is shown to the person
// who imports or exports.
type Loss struct {
	Key      string              `json:"key"` // the top-level key of the file that was read; "" = none
	Message  string              `json:"message"`
	Severity definition.Severity `json:"severity"`
}

// Imported is another tool's agent in our format.
type Imported struct {
	Name     string             // a valid name of ours; the file is to be called Name + ".md"
	Text     []byte             // the file
	From     definition.Dialect // whose format it was in
	Loss     []Loss             // in the order of the file
	Repaired []string           // what was repaired in its YAML, a sentence each
}

// Exported is an agent in another tool's format.
type Exported struct {
	File string // what the file is to be called, without folders: code-review.agent.md
	Data []byte
	Loss []Loss
}

// Folder returns where a tool looks for agent files, relative to the workspace
// folder, with slashes: .claude/agents. It is "" for what is no dialect.
func Folder(d definition.Dialect) string {
	switch d {
	case definition.Agentls, definition.GeminiCLI:
		return ".gemini/agents"
	case definition.Claude:
		return ".claude/agents"
	case definition.Copilot:
		return ".github/agents"
	case definition.OpenCode:
		return ".opencode/agent"
	}
	return ""
}

// Title returns what people call a tool: Claude Code. Ours is agentls. So is what is no
// dialect.
func Title(d definition.Dialect) string {
	switch d {
	case definition.GeminiCLI:
		return "gemini-cli"
	case definition.Claude:
		return "Claude Code"
	case definition.Copilot:
		return "GitHub Copilot"
	case definition.OpenCode:
		return "opencode"
	}
	return "agentls"
}

// fileOf returns what a tool calls the file of an agent.
func fileOf(name string, d definition.Dialect) string {
	if d == definition.Copilot {
		return name + ".agent.md"
	}
	return name + ".md"
}

// source is what definition.Parse is given for a file of a known dialect. The path
// decides nothing, since the dialect is given.
func source(file, text string, d definition.Dialect) definition.Source {
	return definition.Source{Path: "/" + Folder(d) + "/" + file, Scope: definition.Project,
		Data: []byte(text), Dialect: d}
}

// base returns a path's last part; both kinds of slash count.
func base(path string) string { return filepath.Base(strings.ReplaceAll(path, `\`, "/")) }

// A Place is a folder where another tool looks for agents.
type Place struct {
	Dir string // relative to a project, or to the person's home, with slashes
	Of  definition.Dialect
	Own bool // of the person, not of a project
}

// Places are the folders in which agents of other tools are found.
var Places = []Place{
	{Folder(definition.Claude), definition.Claude, false},
	{Folder(definition.Copilot), definition.Copilot, false},
	{Folder(definition.OpenCode), definition.OpenCode, false},
	{".opencode/agents", definition.OpenCode, false},
	{".claude/agents", definition.Claude, true},
	{".copilot/agents", definition.Copilot, true},
	{".config/opencode/agent", definition.OpenCode, true},
	{".config/opencode/agents", definition.OpenCode, true},
}
