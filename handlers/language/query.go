package language

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"github.com/agentls/agentls/agents/authority"
	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/language"
	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/agents/registry"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/folder"
	"github.com/agentls/agentls/workspace"
)

// Knowledge is what the settings and the table of models tell of agent files, for
// the language features of spec 2.9. All of it may be called from any goroutine; a
// func that is nil knows nothing.
type Knowledge struct {
	// Model and Installed are those of [definition.Source], as the catalog of
	// agents is read with.
	Model     func(name string) (string, bool)
	Installed definition.Installed
	// Generation grows when any of it may answer differently than before.
	Generation func() uint64
	// The models that there are; nil = not known.
	Table    *model.Table
	Servers  func(folder string) []language.Server // of the setting mcpServers
	Home     string                                // the person's folder; their agents are in its agents
	Settings string                                // the person's own settings file
}

// Query is one request's view of documents and the catalog of agents: all documents as they
// were when the request came, and the catalog as it was when it was asked for.
// It is made for one request, may be used from several goroutines, and needs no
// closing.
type Query struct {
	Snapshot *workspace.Snapshot
	Catalog  *registry.Snapshot // nil in a query of QueryFiles
	h        *Handlers
	encoding workspace.Encoding
}

// Query waits for the catalog of agents.
// The error is ctx's.
func (h *Handlers) Query(ctx context.Context, s *workspace.Snapshot) (*Query, error) {
	catalog, err := h.Catalog(ctx)
	if err != nil {
		return nil, err
	}
	q := h.QueryFiles(s)
	q.Catalog = catalog
	return q, nil
}

// QueryFiles returns a query that does not know the agents, and waits for nothing.
// Its Catalog is nil: what needs agents has to be asked of a query of Query.
func (h *Handlers) QueryFiles(s *workspace.Snapshot) *Query {
	return &Query{h: h, Snapshot: s, encoding: s.Encoding()}
}

// readingBasis is what an open agent file is read from.
type readingBasis struct {
	text       string
	place      registry.Place
	generation uint64
}

// place returns what kind of agent file lies at a path: its scope, and the workspace
// folder of a project's. It is false for what is no agent file. The folders of agents are
// those of the catalog, and .gemini/agents anywhere, so that an agent's file is helped
// with wherever it is opened. resolved is the path without symbolic links, once the name
// alone could be an agent file's.
func (a *Query) place(path string) (resolved string, p registry.Place, ok bool) {
	if !workspace.IsAgentFile(filepath.Join(".gemini", "agents", filepath.Base(path))) {
		return path, p, false // without a look at the disk: most documents are none
	}
	path = workspace.CanonicalPath(path)
	name, dir := filepath.Base(path), filepath.Dir(path)
	// A link that is called like an agent file may lead to a file that is not.
	if !workspace.IsAgentFile(filepath.Join(".gemini", "agents", name)) {
		return path, p, false
	}
	if dir == workspace.CanonicalPath(filepath.Join(a.h.daemon.Knowledge.Home, "agents")) {
		return path, registry.Place{Scope: definition.Global, Dir: dir}, true
	}
	for _, f := range a.Snapshot.Folders() {
		if dir == filepath.Join(f.Canonical, ".gemini", "agents") {
			return path, registry.Place{Scope: definition.Project, Dir: dir, Folder: f.Canonical, Name: f.Name}, true
		}
	}
	if filepath.Base(dir) == "agents" && filepath.Base(filepath.Dir(dir)) == ".gemini" {
		return path, registry.Place{Scope: definition.Project, Dir: dir, Folder: filepath.Dir(filepath.Dir(dir))}, true
	}
	return path, p, false
}

// maxAgentFile is how much of a file is read: one byte more than an agent file
// may have.
const maxAgentFile = definition.MaxFile + 1

// file returns the agent file that a URI names: the open document, else what is on
// the disk. It is false for what is no agent file, for one that is not there, and
// for one of which the editor has another text than we know: whatever is said of
// that would be about the wrong places.
func (a *Query) file(name uri.URI) (*language.File, bool) {
	path, ok := workspace.FilePath(name)
	if !ok {
		return nil, false
	}
	path, place, ok := a.place(path)
	if !ok {
		return nil, false
	}
	if d, open := a.Snapshot.Document(name); open {
		if d.Lost {
			return nil, false
		}
		return a.read(d, path, place), true
	}
	text, ok := DiskText(path)
	if !ok {
		return nil, false
	}
	return a.open(name, path, place, text), true
}

// read returns an open document as an agent file. What was read of the same text
// last is not read again.
// The file is shared by the requests about this version, and not changed. d is not lost.
func (a *Query) read(d *workspace.Document, path string, place registry.Place) *language.File {
	file, _ := remember(&a.h.written.open, a.h.Workspace, d, readingBasis{d.Text, place, a.generation()},
		func() (*language.File, error) { return a.open(d.URI, path, place, d.Text), nil })
	return file
}

// open reads a text as an agent file, and keeps nothing of it.
func (a *Query) open(name uri.URI, path string, place registry.Place, text string) *language.File {
	k := a.h.daemon.Knowledge
	return language.Open(definition.Source{
		Path: path, Folder: place.Folder, Scope: place.Scope, URI: string(name), Data: []byte(text), Model: k.Model,
		Installed: k.Installed,
	})
}

// DiskText returns the text of a file on the disk, as the catalog reads it.
// It is cut one byte beyond what an agent file may have, which is then found to be
// too large. It is false for what is no regular file or is not there; no pipe is
// waited for.
func DiskText(path string) (string, bool) { return readDisk(path, maxAgentFile) }

// maxSettingsFile is how much of a settings file is read: one byte more than one
// may have.
const maxSettingsFile = 1<<20 + 1

// readDisk returns the text of a regular file on the disk, as far as a limit. It
// is false for one that is not there.
func readDisk(path string, limit int64) (string, bool) {
	data, err := folder.ReadStart(path, limit)
	return string(data), err == nil
}

// agentFiles returns the open documents that are agent files, by URI.
// Lost ones are left out, since their texts are not known.
func (a *Query) agentFiles() []*language.File {
	var list []*language.File
	for d := range a.Snapshot.Documents() {
		if path, ok := workspace.FilePath(d.URI); ok && !d.Lost {
			if path, place, ok := a.place(path); ok {
				list = append(list, a.read(d, path, place))
			}
		}
	}
	slices.SortFunc(list, func(x, y *language.File) int { return strings.Compare(x.URI, y.URI) })
	return list
}

// FolderOf returns the canonical workspace folder that a document lies in, ""
// for the first.
func (a *Query) FolderOf(name uri.URI) string {
	path, ok := workspace.FilePath(name)
	if !ok {
		return ""
	}
	if f, _, ok := workspace.Within(a.Snapshot.Folders(), path); ok {
		return f.Canonical
	}
	return ""
}

// World returns what is known for a file of a workspace folder, "" for none. It is for
// this request: what it has is as it is now. Its fields may be set anew, its lists are
// shared and must not be changed.
func (a *Query) World(folder string) *language.World {
	h, k := a.h, a.h.daemon.Knowledge
	w := &language.World{
		Agents: a.Catalog, Tools: h.toolsKnown(), Models: k.Table,
		Templates: h.written.templatesIn(h.daemon.Templates, h.daemon.Locale),
		Exists:    there,
	}
	w.Model = h.daemon.SettingsOf(folder).Model.Name
	if w.Model == "" && h.daemon.Agents != nil {
		w.Model = h.daemon.Agents.Resolve(&definition.Definition{Folder: folder}) // the table's default
	}
	if k.Servers != nil {
		// Copied, since the states are filled in below.
		w.Servers = slices.Clone(k.Servers(folder))
	}
	if h.daemon.MCP != nil {
		tools, states := h.daemon.MCP.Overview(cmp.Or(folder, h.Workspace.Snapshot().FirstFolder()))
		w.Tools = slices.Clone(w.Tools)
		for _, t := range tools {
			w.Tools = append(w.Tools, toolOffered(t, nil))
		}
		for i, s := range w.Servers {
			w.Servers[i].State = cmp.Or(s.State, states[s.Name])
		}
	}
	w.Configure = a.configure
	a.explaining(w)
	return w
}

// there reports whether something lies at a path.
func there(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// toolsKnown returns what can be offered to agents.
func (h *Handlers) toolsKnown() []language.Tool {
	h.written.once.Do(func() { h.written.tools = h.toolsOffered() })
	return h.written.tools
}

// toolsOffered makes what toolsKnown keeps: the daemon's own tools, which do not
// change while it runs.
func (h *Handlers) toolsOffered() []language.Tool {
	aliases := map[string][]string{}
	for _, n := range definition.ToolNames() {
		aliases[n.Name] = n.Aliases
	}
	var list []language.Tool
	for _, t := range h.daemon.Agents.Tools {
		list = append(list, toolOffered(t, aliases[t.Spec().Name]))
	}
	return list
}

// toolOffered puts a tool into words for the author of an agent.
func toolOffered(t tool.Tool, aliases []string) language.Tool {
	s := t.Spec()
	summary, _, _ := strings.Cut(strings.ReplaceAll(s.Description, "`", ""), "\n")
	risk := s.Risk.String()
	if authority.ByCommand(s.Name) {
		risk = language.ByCommand
	}
	return language.Tool{
		Name: s.Name, Aliases: aliases, Risk: risk, Summary: summary,
		Tokens: model.EstimateTokens(s.Name) + model.EstimateTokens(s.Description) +
			model.EstimateTokens(string(s.Parameters)),
	}
}

// URI returns the URI of a path as the client would spell it: below a workspace
// folder that is a link, by the link; as it is open, where it is.
// Clients compare URIs as texts, so a file that is open must be called as they call
// it.
func (a *Query) URI(path string) string {
	if d, ok := a.Snapshot.DocumentAt(path); ok {
		return string(d.URI)
	}
	for _, f := range a.Snapshot.Folders() {
		if rel, ok := workspace.Below(f.Canonical, path); ok && f.Canonical != f.Path {
			return string(uri.File(filepath.Join(f.Path, rel)))
		}
	}
	return string(uri.File(path))
}

// disk is what there is of sources without a look at any file.
func (a *Query) disk() language.Sources {
	return language.Sources{Read: DiskText, URI: a.URI, Exists: there, ReadOnly: readOnly}
}

// sources returns the files that may name agents: agent files, the lines of other
// open documents, and settings.
// The lists that it makes are the caller's; files and the index of names are shared. It
// needs the catalog, which a query of QueryFiles does not have.
func (a *Query) sources() language.Sources {
	s := a.disk()
	s.Open, s.Names = a.agentFiles(), a.h.written.indexOf(a.Catalog)
	agentFile := make(map[string]bool, len(s.Open))
	for _, f := range s.Open {
		agentFile[f.URI] = true
	}
	for d := range a.Snapshot.Documents() {
		if !agentFile[string(d.URI)] && !d.Lost {
			s.Documents = append(s.Documents, language.Document{URI: string(d.URI), Folder: a.FolderOf(d.URI),
				LanguageID: d.LanguageID, Text: d.Text})
		}
	}
	slices.SortFunc(s.Documents, func(x, y language.Document) int { return cmp.Compare(x.URI, y.URI) })
	s.Named = a.namesOfAgents()
	return s
}

// editable returns sources without the documents that nobody can edit, or is to.
// It changes the list of s, which must be the caller's own.
func (a *Query) editable(s language.Sources) language.Sources {
	s.Documents = slices.DeleteFunc(s.Documents, func(d language.Document) bool { return !a.edited(uri.URI(d.URI)) })
	return s
}

// edited reports whether a document is one that people edit: a file, but for what the
// daemon shows, or what may become one. Others, as an older version of a file, are there
// to be read, and a rename must not change them.
func (a *Query) edited(name uri.URI) bool {
	scheme, _, _ := strings.Cut(string(name), ":")
	switch scheme {
	case "untitled", "vscode-notebook-cell":
		return true
	case "file":
		path, ok := workspace.FilePath(name)
		return ok && !a.h.daemon.IsShown(path)
	}
	return false
}

// readOnly reports whether a file says that nobody may write to it.
func readOnly(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().Perm()&0o222 == 0
}

// byteOrderMark is what some editors begin a file with, and none shows.
const byteOrderMark = "\uFEFF"

// settingsText returns the text of a settings file on the disk as an editor counts
// in it.
func settingsText(path string) (string, bool) {
	text, ok := readDisk(path, maxSettingsFile)
	return strings.TrimPrefix(text, byteOrderMark), ok
}

// place16 returns the position of a byte, in UTF-16 units.
func place16(lines *workspace.Lines, offset int) definition.Position {
	p, err := lines.Position(offset, workspace.UTF16)
	if err != nil {
		return definition.Position{} // an offset of the text itself: cannot be
	}
	return definition.Position{Line: p.Line, Character: p.Character}
}

// Columns turns positions of a text, which are in UTF-16 units, into the client's
// and back.
type Columns struct {
	lines    *workspace.Lines
	encoding workspace.Encoding
}

// Columns returns what converts positions in a text. A client that counts in UTF-16
// needs no conversion, and then the text is not looked at.
func (a *Query) Columns(text string) Columns {
	c := Columns{encoding: a.encoding}
	if a.encoding != workspace.UTF16 {
		c.lines = workspace.NewLines(text)
	}
	return c
}

// Out is a range of ours as the client counts.
func (c Columns) Out(r definition.Range) protocol.Range {
	return protocol.Range{Start: c.positionOut(r.Start), End: c.positionOut(r.End)}
}

// Encode is Out for ranges of the daemon's own methods.
func (c Columns) Encode(r definition.Range) definition.Range {
	to := c.Out(r)
	return definition.Range{Start: definition.Position(to.Start), End: definition.Position(to.End)}
}

// positionOut is Out of one position.
func (c Columns) positionOut(p definition.Position) protocol.Position {
	to := c.convert(workspace.Position{Line: p.Line, Character: p.Character}, workspace.UTF16, c.encoding)
	return protocol.Position{Line: to.Line, Character: to.Character}
}

// in is a range of the client's as ours. What lies behind the end of a line or of
// the text is its end where it is used.
func (c Columns) in(r protocol.Range) definition.Range {
	return definition.Range{Start: c.positionIn(r.Start), End: c.positionIn(r.End)}
}

// positionIn is in of one position.
func (c Columns) positionIn(p protocol.Position) definition.Position {
	to := c.convert(workspace.Position{Line: p.Line, Character: p.Character}, c.encoding, workspace.UTF16)
	return definition.Position{Line: to.Line, Character: to.Character}
}

// convert turns a position from one encoding into another; one of a line that there
// is not stays as it is.
func (c Columns) convert(p workspace.Position, from, to workspace.Encoding) workspace.Position {
	if from == to {
		return p
	}
	offset, err := c.lines.Offset(p, from)
	if err != nil {
		return p // no such line: it has no columns to convert
	}
	converted, err := c.lines.Position(offset, to)
	if err != nil {
		return p
	}
	return converted
}

// texts turns places of many files into the client's; each file is read once.
type texts struct {
	a     *Query
	known map[string]Columns
}

// texts returns what converts the places of one answer. It is for one goroutine.
func (a *Query) texts() *texts { return &texts{a, map[string]Columns{}} }

// of returns the columns of the file that a URI names.
// A document whose text is known is taken as the snapshot has it, any other file as it is
// on the disk now.
func (t *texts) of(name string) Columns {
	if t.a.encoding == workspace.UTF16 {
		return Columns{encoding: workspace.UTF16}
	}
	c, ok := t.known[name]
	if !ok {
		text := ""
		if d, open := t.a.Snapshot.Document(uri.URI(name)); open && !d.Lost {
			text = d.Text
		} else if path, ok := workspace.FilePath(name); ok {
			read := DiskText // what is gone has no columns
			if isTestFile(path) {
				read = testText
			} else if filepath.Base(path) == filepath.Base(workspace.ProjectSettings) {
				read = settingsText
			}
			text, _ = read(path)
		}
		c = t.a.Columns(text)
		t.known[name] = c
	}
	return c
}

// location is a place of ours as the client counts.
func (t *texts) location(l language.Location) protocol.Location {
	return protocol.Location{URI: uri.URI(l.URI), Range: t.of(l.URI).Out(l.Range)}
}
