package language

import (
	"cmp"
	"slices"
	"strings"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/agents/registry"
	"github.com/agentls/agentls/agents/template"
)

// World is what is known when a question is asked. It is not changed while a
// question is answered. The zero World knows nothing, and every answer is then
// what the file alone tells.
// It may be shared between questions. Its functions are called on the goroutine of
// the question, must be fast and must not wait.
type World struct {
	// Agents are those that there are. nil = none.
	Agents *registry.Snapshot
	// Tools are all that can be offered to an agent: the built-in ones, and those
	// of the servers that are connected, as mcp.<server>.<tool>.
	Tools []Tool
	// Models is the table of models; nil = none is known. Model is what an agent
	// runs with that inherits its model: an id or an alias; "" = not known.
	Models *model.Table
	Model  string
	// Servers are those of the setting mcpServers, in its order.
	Servers []Server
	// Exists reports whether something lies at an absolute path, for links; nil =
	// it is not known, and only what looks like a path is linked.
	Exists func(path string) bool
	// Templates are what a new file can begin as; see template.List.
	Templates []template.Template

	// Explain tells in Markdown what an agent really gets (spec 1.8), for hover.
	Explain func(*definition.Definition) string
	// Offered returns the canonical names of the tools that a model is offered for
	// an agent, after every filter of spec 4.2; Worst, what a run of it costs at
	// most, as "≤ 240 model calls, ≤ $1.90". Last tells of the agent's last run, as
	// "12k tok, 3.1 s". A func that is nil, or an answer that is empty, is none.
	Offered func(*definition.Definition) []string
	Worst   func(*definition.Definition) string
	Last    func(*definition.Definition) string
	// Configure returns the edit of the settings that describes an MCP server for
	// agents of a folder; false where the settings cannot be edited.
	Configure func(folder, server string) (WorkspaceEdit, bool)
}

// ByCommand is the Risk of a tool whose calls have the tier of the command that
// they run.
const ByCommand = "by command"

// Tool is what can be offered to a model.
type Tool struct {
	Name    string // canonical (spec 4.1)
	Aliases []string
	Risk    string // the least tier of a call (spec 4.2): safe, low, medium, high …, or ByCommand
	Summary string // what it does, one sentence
	Tokens  int    // of its description and schema, about; 0 = not known
}

// Server is an MCP server of the settings.
type Server struct {
	Name    string
	Summary string // what it is, for people: its command or URL; "" = not known
	State   string // connected, starting, … in words for people; "" = not known
}

// File is one agent file as its author sees it: the open buffer, or the disk. It
// is immutable.
// What it has is worked out when it is opened, but for what Tree and Index find
// late.
type File struct {
	URI        string
	Path       string // absolute
	Folder     string // the workspace folder of a project agent, absolute; else ""
	Scope      definition.Scope
	Text       string
	Tree       *definition.Tree // never nil; without a Root where the YAML cannot be read
	Definition *definition.Definition
	Index      *definition.Index

	source definition.Source // that it was opened from, without Data
}

// Edit replaces the text of a range.
// Edits of one answer are about the same text: none sees what another makes of it.
type Edit struct {
	URI   string
	Range definition.Range
	Text  string
}

// Rename gives a file another URI. Both are in the same folder.
type Rename struct{ Old, New string }

// WorkspaceEdit is a change of several files that is made as one: first the
// edits, none of which overlap in one file and whose URIs are those before a
// rename, then the renames.
// Where one part cannot be made, none of it is to be.
type WorkspaceEdit struct {
	Edits   []Edit
	Renames []Rename
	Creates []Create // files that are not there yet
}

// Create is a file that is made with a text; one that is there already stays.
type Create struct{ URI, Text string }

// Location is a place in a file.
type Location struct {
	// As the client spells it, or as Sources.URI makes it of a path.
	URI   string
	Range definition.Range
}

// Open reads a file for the questions of this package. src.URI is what its
// answers carry; "" = definition.FileURI(src.Path). It takes as long as
// definition.Parse, about twice, and keeps a copy of src.Data.
// It never fails: a file that cannot be read has a Definition that says so.
func Open(src definition.Source) *File {
	if src.URI == "" {
		src.URI = definition.FileURI(src.Path)
	}
	f := &File{URI: src.URI, Path: src.Path, Folder: src.Folder, Scope: src.Scope, Text: string(src.Data)}
	f.Definition = definition.Parse(src)
	f.Tree, _ = definition.ReadTree(src.Path, f.Text)
	f.Index = definition.NewIndex(f.Text)
	f.source, f.source.Data, f.source.Scratch = src, nil, nil
	return f
}

// agent returns the usable agent that a name means for a file of a folder, or nil. It
// takes a few comparisons, also for a name that means nothing: a snapshot is sorted by
// scope and name, and each scope is searched by halves.
func (w *World) agent(folder, name string) *registry.Entry {
	if w.Agents == nil || name == "" {
		return nil
	}
	if strings.Contains(name, ":") {
		if e := w.Agents.Find(folder, name); e != nil && e.State == registry.OK {
			return e
		}
		return nil
	}
	entries := w.Agents.Entries()
	var best *registry.Entry
	// In any order: a nearer scope replaces what was found in another.
	for scope, rank := range scopes {
		at, _ := slices.BinarySearchFunc(entries, name, func(e *registry.Entry, name string) int {
			return cmp.Or(cmp.Compare(scopes[e.Definition.Scope], rank), strings.Compare(e.Definition.Name, name))
		})
		for ; at < len(entries) && entries[at].Definition.Name == name && entries[at].Definition.Scope == scope; at++ {
			e := entries[at]
			switch {
			// Within the project scope the folder's own agent comes first.
			case e.State != registry.OK:
			case best == nil, scopes[best.Definition.Scope] > rank, e.Definition.Folder == folder &&
				scope == definition.Project:
				best = e
			}
		}
	}
	return best
}

// scopes are the ranks of the scopes, by which a snapshot is sorted.
var scopes = map[definition.Scope]int{definition.Project: 0, definition.Global: 1,
	definition.Extension: 2, definition.System: 3}

// server returns the server of a name.
// false also stands for settings that are not known.
func (w *World) server(name string) (Server, bool) {
	for _, s := range w.Servers {
		if s.Name == name {
			return s, true
		}
	}
	return Server{}, false
}

// tool returns the tool of a name in any of its spellings.
func (w *World) tool(name string) (Tool, bool) {
	canonical, _ := definition.CanonicalTool(name)
	for _, t := range w.Tools {
		if t.Name == canonical || t.Name == name {
			return t, true
		}
	}
	return Tool{}, false
}
