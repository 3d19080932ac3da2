package language

// Where agents are named: in front-matter, in prompts, in documents.

import (
	"iter"
	"slices"
	"strings"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/registry"
)

// Sources are the files that may name an agent, as their authors see them. The
// zero value has none beside the file of the question.
// They belong to one question: what they read is not remembered. Reading may take as
// long as the disk.
type Sources struct {
	// Read returns the text of an agent file of the catalogue that is not in Open;
	// false for one that is gone, which is no error. nil = none can be read.
	Read func(path string) (text string, ok bool)
	// URI makes the URI of a path; nil = definition.FileURI.
	URI func(path string) string
	// ReadOnly reports whether a file cannot be changed; nil = all can be.
	ReadOnly func(path string) bool
	// Exists reports whether something lies at a path; nil = only what the
	// catalogue has.
	Exists func(path string) bool
	// Open are the agent files that are open in the editor, whose text counts in
	// place of the disk's.
	Open []*File
	// Documents are other open documents, whose lines may call agents (spec 2.10).
	Documents []Document
	// Named are the places where settings and tests name agents.
	Named []Named
	// Names is the index of the catalogue; nil = it is made for the question.
	Names *Names
	// All returns the sources with all that may name an agent, for an answer that
	// has to have it where others can do without; nil = these are all.
	All func() Sources
}

// Document is a document that is no agent file.
type Document struct {
	URI        string
	Folder     string // the workspace folder that it lies in; "" = the first
	LanguageID string // LSP's
	Text       string
}

// Named is one place where a file that is neither an agent file nor a Document
// names an agent, as a key below agents.overrides of the settings.
type Named struct {
	Location        // of the name alone, without quotes
	Name     string // "name", or "folder:name"
	Folder   string // in which it is looked up; "" = the first
	// Override is set where it is the key of what a settings file says of all agents
	// of the name: those of Folder and of no folder, and, where Folder is "", of all.
	Override *Override
}

// Override is how the key of a [Named] is copied for another name. Copies are not
// alike: compare their places.
type Override struct {
	At     definition.Position // where a member may be put in before it
	Value  string              // what the key has, as it is written
	Behind string              // what stands between the members: a line's end, or a blank
}

// copyEdit returns the edit that gives another name the same, before the key.
// The old key stays where it is: it may hold for other agents of that name.
func (o *Override) copyEdit(uri, name string) Edit {
	return Edit{uri, definition.Range{Start: o.At, End: o.At}, `"` + name + `": ` + o.Value + "," + o.Behind}
}

// Names says which agent files name which agents. It is made of one snapshot
// and immutable.
type Names struct {
	// who has for each agent's name the entries whose files may name it, each once.
	who    map[string][]*registry.Entry
	unsure []*registry.Entry // those that could be read in part only
}

// IndexNames returns the index of a snapshot, which may be nil. It reads each definition
// once, and no file; keep it as long as the snapshot. It notes rather too many names than
// too few: who asks looks at the text of the files that it has.
func IndexNames(s *registry.Snapshot) *Names {
	n := &Names{who: make(map[string][]*registry.Entry)}
	if s == nil {
		return n
	}
	known := make(map[string]bool, len(s.Entries()))
	for _, e := range s.Entries() {
		known[e.Definition.Name] = true
	}
	for _, e := range s.Entries() {
		d := e.Definition
		if d.Path == "" {
			continue
		}
		front := d.FrontMatter()
		if front == nil {
			n.unsure = append(n.unsure, e)
			continue
		}
		// Files are noted one after another, so only the last one noted can be this one.
		note := func(name string) {
			if list := n.who[name]; known[name] && (len(list) == 0 || list[len(list)-1] != e) {
				n.who[name] = append(list, e)
			}
		}
		for key, value := range front {
			if namingKey(key) {
				wordsOf(value, note)
			}
		}
		namesIn(d.Prompt, note)
	}
	return n
}

// Who returns the entries whose files may name an agent, in the order of the
// snapshot, those that could not be read last.
// A file may be among them and not name it: who wants to know looks at its text. The
// caller owns the slice.
func (n *Names) Who(name string) []*registry.Entry {
	who := slices.Clone(n.who[name])
	for _, e := range n.unsure {
		if !slices.Contains(who, e) {
			who = append(who, e)
		}
	}
	return who
}

// namingKey reports whether a key of the front-matter may hold agents' names.
func namingKey(key string) bool {
	switch key {
	case "handoffs", "subagents", "agents", "tools", "tool_confirmation", "disallowedTools",
		"disallowed-tools", "disallowed_tools",
		"graph", "guardrails", "query", "initial_messages", "systemPrompt", "system_prompt", "prompt":
		return true
	}
	return false
}

// wordsOf notes each word of the strings of a value that may be a name, and what other
// tools' display names become.
// It may note words that name nobody; it must not miss one that does.
func wordsOf(value any, note func(string)) {
	switch v := value.(type) {
	case string:
		if len(v) <= maxNameText && !strings.ContainsAny(v, " \n") {
			note(strings.ToLower(v))
		}
		for at, word := range words(v) {
			note(v[at : at+len(word)])
			if name, ok := transferTarget(word); ok {
				note(name)
			}
		}
		if strings.ContainsAny(v, " ") && len(v) <= maxNameText {
			note(makeSlug(v))
		}
	case []any:
		for _, item := range v {
			wordsOf(item, note)
		}
	case map[string]any:
		for _, item := range v {
			wordsOf(item, note)
		}
	}
}

// maxNameText is the longest text that is looked at as a name by itself.
const maxNameText = 128

// namesIn notes what a prompt names: @name and transfer_to_name.
// As wordsOf it may note too much.
func namesIn(text string, note func(string)) {
	marks := "@"
	if strings.Contains(text, "@") {
		marks = "@:" // folder:name, whatever the folder is called
	}
	for rest := text; ; {
		i := strings.IndexAny(rest, marks)
		if i < 0 {
			break
		}
		rest = rest[i+1:]
		note(strings.TrimRight(rest[:wordEnd(rest, 0)], "-_"))
	}
	for _, mark := range [...]string{"transfer", "handoff"} {
		for rest := text; ; {
			i := strings.Index(rest, mark)
			if i < 0 {
				break
			}
			rest = rest[i:]
			word := rest[:wordEnd(rest, 0)]
			if name, ok := transferTarget(word); ok {
				note(name)
			}
			rest = rest[len(mark):]
		}
	}
}

// words yields the words of a text that could be names, with their offsets.
// A word is a run of letters, digits, - and _.
func words(text string) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		for i := 0; i < len(text); {
			end := wordEnd(text, i)
			if end == i {
				i++
				continue
			}
			if !yield(i, text[i:end]) {
				return
			}
			i = end
		}
	}
}

// wordEnd returns where the letters, digits, - and _ that begin at from end.
// It is from where none begins there.
func wordEnd(text string, from int) int {
	for from < len(text) && nameByte(text[from]) {
		from++
	}
	return from
}

// nameByte reports whether a name may have a byte.
// Capitals are among them, which no agent's name has: other tools' names do, and what is
// being typed may.
func nameByte(c byte) bool {
	return c == '-' || c == '_' || (c >= '0' && c <= '9') || (c|0x20 >= 'a' && c|0x20 <= 'z')
}

// transferTarget returns the agent that a tool's name transfers to.
// It knows all spellings of transfer_to_. Whether there is such an agent is not looked at.
func transferTarget(word string) (string, bool) {
	for _, prefix := range [...]string{"transfer_to_", "handoff_to_", "transfer-to-", "handoff-to-"} {
		if name, ok := strings.CutPrefix(word, prefix); ok && name != "" {
			return name, true
		}
	}
	return "", false
}

// makeSlug is a display name as other tools' files name agents: "Code Reviewer" is
// code-reviewer (spec 1.7).
// It is "" where nothing is left. One that begins with a digit is no agent's name.
func makeSlug(name string) string {
	return strings.Join(strings.FieldsFunc(strings.ToLower(name), func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < '0' || c > '9')
	}), "-")
}

// lookup returns the entry that a name means in a file, whatever its state, or
// nil. A file that lies in no workspace folder means agents of its own scope
// before those of the folders that it happens to be used in.
func (w *World) lookup(folder string, scope definition.Scope, name string) *registry.Entry {
	if w.Agents == nil || name == "" {
		return nil
	}
	if strings.Contains(name, ":") {
		return w.Agents.Find(folder, name)
	}
	var best *registry.Entry
	for _, e := range w.Agents.Entries() {
		d := e.Definition
		switch {
		case d.Name != name:
		case d.Scope == definition.Project && folder != "" && d.Folder == folder, d.Scope == scope &&
			scope != definition.Project:
			return e
		case best == nil:
			best = e
		}
	}
	return best
}

// files yields the files that may name an agent: those that are open, then those of the
// catalogue that the index has. Those of the disk are read one at a time, as they are
// asked for.
func (s Sources) files(w *World, name string) iter.Seq[*File] {
	return func(yield func(*File) bool) {
		open := make(map[string]bool, len(s.Open))
		for _, f := range s.Open {
			open[f.Path] = true
			// A file of another tool may name the agent by its title, in other letters.
			if strings.Contains(f.Text, name) || f.Tree.Dialect != definition.Agentls {
				if !yield(f) {
					return
				}
			}
		}
		names := s.Names
		if names == nil {
			names = IndexNames(w.Agents)
		}
		if s.Read == nil {
			return
		}
		for _, e := range names.Who(name) {
			d := e.Definition
			if open[d.Path] {
				continue
			}
			if f := s.open(d); f != nil && !yield(f) {
				return
			}
		}
	}
}

// open reads a file of the catalogue, without its Definition anew; nil where it is gone.
// The text may be newer than the definition, so places come from the tree of the text.
func (s Sources) open(d *definition.Definition) *File {
	for _, f := range s.Open {
		if f.Path == d.Path {
			return f
		}
	}
	if s.Read == nil || d.Path == "" {
		return nil
	}
	text, ok := s.Read(d.Path)
	if !ok {
		return nil
	}
	// What it says was found out when the catalogue was read.
	f := &File{URI: s.uri(d.Path), Path: d.Path, Folder: d.Folder, Scope: d.Scope, Text: text, Definition: d}
	f.Tree, _ = definition.ReadTree(d.Path, text)
	f.Index = definition.NewIndex(text)
	return f
}

// uri returns the URI of a path.
func (s Sources) uri(path string) string {
	if s.URI != nil {
		return s.URI(path)
	}
	return definition.FileURI(path)
}
