package definition

// Parse: from a file's bytes to a definition.

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// The caps of spec 1.5, in bytes.
const (
	MaxFile        = 256 << 10
	MaxFrontMatter = 64 << 10
)

// maxRepeats is how many findings of one code about a file's text (hidden text,
// secrets, placeholders) are told.
const maxRepeats = 20

// Source is one agent file as its reader found it.
type Source struct {
	Path   string // absolute; "" for a system agent
	Folder string // the workspace folder of a project agent, absolute; else ""
	Scope  Scope
	URI    string // that problems carry; "" = FileURI(Path)
	// The whole file, or its first MaxFile+1 bytes or more; not kept, and not
	// changed meanwhile.
	Data    []byte
	Updated time.Time
	Created time.Time // zero = Updated
	Scratch *Scratch  // nil = Parse takes what memory it needs
	Dialect Dialect   // the caller's word for it; "" = by place, else by keys

	// Model resolves a model's name, in any dialect's spelling, to one that this
	// installation can run, and reports false for one that it cannot. It is called
	// on the goroutine of Parse. nil: the entries auto, flash, flash-lite and pro
	// and the ids gemini-… resolve to themselves, and nothing is said of another
	// name in a file of ours.
	Model func(name string) (string, bool)

	// Installed answers what no file says. The zero value knows nothing.
	Installed Installed
}

// Scratch is memory that [Parse] uses while it reads, and leaves for its next
// call. The zero value is ready. One call at a time may have it.
type Scratch struct {
	reader reader
	quick  quick
}

// reader is one run of Parse.
// It is used again for the next file of a [Scratch]: what a definition keeps must
// not be part of it.
type reader struct {
	*Definition
	// As Parse was given it.
	source Source
	quick  *quick
	text   text
	uri    string // "" until the first problem

	problems []Problem // found so far

	open [2]int // the opening line
	shut [2]int // the closing line
	body int    // where the body starts
	// The tree, from the moment that fields are read.
	root *node
	// The value of name, without a text where it is no string; nil where there is no
	// value.
	nameNode *node
	nameKey  bool // a key name is there, with a value or without
	// A title is there, in any spelling.
	titled bool
	// A kind is there that is not empty.
	kinded bool
	prompt *node // systemPrompt
	// The names of the inputs; nil = the file has no field inputs.
	inputs   map[string]bool
	readOnly bool           // only safe tools (permissionMode)
	spawn    bool           // an allowed tool of another dialect starts subagents
	limited  bool           // the file lists its subagents
	servers  []string       // MCP servers named by allowed tools of another dialect
	declared []string       // MCP servers that the file itself describes
	allowed  []listed       // for agent/tool-conflict
	denied   []listed       // the same
	queries  []*node        // query and initial_messages, for placeholders
	guards   map[string]int // names of guards so far, with how many want each
	late     []func()       // what must wait for other keys
	seen     []seenLike     // canonical fields given so far
	guesses  int            // names for which another was looked for
	spent    int            // how large the patterns, conditions and schemas so far are, as pattern.Size has it
	broke    bool           // that was too much, and said of a pattern
	crowded  bool           // and of a condition
}

// listed is a tool's name with its place.
type listed struct {
	name       string
	start, end int
}

// seenLike is a field that was given, and by which key.
type seenLike struct{ field, key string }

// Parse reads an agent file. It never fails and never panics: what is wrong is
// in the definition's Problems, each with the range of the YAML node concerned;
// for something missing, of the opening line, the name or the closing line. It
// reads nothing but src, keeps none of src.Data, and may be called from several
// goroutines, if each has its own Scratch. Spec 1.1–1.5 and 1.7.
// The order is that of what can be trusted: size, bytes, the lines ---, YAML, fields.
// Where one fails the definition is named after its file and has nothing else. FuzzParse looks for panics.
func Parse(src Source) *Definition {
	// Before anything can fail: the registry tells versions of a file apart by it, also
	// of one that cannot be read.
	sum := sha256.Sum256(src.Data)
	var digest [2 * sha256.Size]byte
	hex.Encode(digest[:], sum[:])
	r := begin(src)
	r.Digest = string(digest[:])
	if len(src.Data) > MaxFile {
		r.report("agent/too-large", Error, 0, 0,
			fmt.Sprintf("The file is larger than %d KiB; make it shorter, or move parts of it to files that the agent reads.", MaxFile>>10))
		return r.guess()
	}
	r.text.src = string(src.Data)
	if !r.checkBytes() {
		return r.guess()
	}
	from, to, ok := r.split()
	if !ok {
		return r.guess()
	}
	if to-from > MaxFrontMatter {
		r.report("agent/too-large", Error, r.open[0], r.open[1],
			fmt.Sprintf("The front-matter is larger than %d KiB; move text to the body.", MaxFrontMatter>>10))
		return r.guess()
	}
	root, ok := r.readYAML(from, to)
	if !ok {
		return r.guess()
	}
	r.front = r.text.src[from:to]
	r.Dialect = cmp.Or(src.Dialect, dialectOf(src.Path, &root))
	r.fields(&root)
	r.finish()
	r.sort()
	return r.Definition
}

// Unreadable returns the definition of a file that could not be read: it has
// the file's stem as its name, one problem with the message (a sentence) on its
// first line, and is not usable. src.Data is not looked at.
// It is what a catalogue shows in place of the agent.
func Unreadable(src Source, message string) *Definition {
	src.Data = nil
	r := begin(src)
	r.report("agent/yaml", Error, 0, 0, message)
	return r.guess()
}

// FrontMatter returns what was read, with the file's own keys: string, bool,
// float64, nil, []any and map[string]any, as encoding/json has them. It is nil
// for a file whose front-matter is empty or could not be read. The caller owns
// the map; each call reads the front-matter again.
func (d *Definition) FrontMatter() map[string]any {
	if d.front == "" {
		return nil
	}
	r := begin(Source{})
	r.text.src = d.front
	root, ok := r.readYAML(0, len(d.front))
	if !ok {
		return nil
	}
	return root.object()
}

// begin returns a reader with the defaults of spec 1.2.
// Slices of the reader before are taken over empty, so that a catalogue of thousands of
// files does not allocate them anew.
func begin(src Source) *reader {
	scratch := src.Scratch
	if scratch == nil {
		scratch = new(Scratch)
	}
	r := &scratch.reader
	*r = reader{
		text: text{lines: r.text.lines[:0]}, problems: r.problems[:0], late: r.late[:0], seen: r.seen[:0],
		queries: r.queries[:0],
		allowed: r.allowed[:0], denied: r.denied[:0], declared: r.declared[:0],
	}
	r.quick = &scratch.quick
	r.source, r.uri, r.Definition = src, src.URI, &Definition{
		Path: src.Path, Folder: src.Folder, Scope: src.Scope, Dialect: Agentls,
		Updated: src.Updated, Created: src.Created,
		Model: "inherit", Mode: Chat, Priority: DefaultPriority,
		UserInvocable: true, Routable: true, Delegable: true, MemoryFiles: true,
	}
	if r.Created.IsZero() {
		r.Created = r.Updated
	}
	return r
}

// guess names a definition whose own name could not be read after its file.
func (r *reader) guess() *Definition {
	r.Guessed = true
	r.Name = slug(stem(r.Path))
	if r.Name == "" {
		r.Name = stem(r.Path)
	}
	if r.Title == "" {
		r.Title = titleOf(r.Name)
	}
	r.NameRange = r.text.span(r.open[0], r.open[1])
	r.sort()
	return r.Definition
}

// sort gives the definition its problems, in the order of the file.
func (r *reader) sort() {
	slices.SortStableFunc(r.problems, func(a, b Problem) int {
		if a.Range.Start.Line != b.Range.Start.Line {
			return int(a.Range.Start.Line) - int(b.Range.Start.Line)
		}
		return int(a.Range.Start.Character) - int(b.Range.Start.Character)
	})
	if len(r.problems) > 0 {
		// r.problems belongs to the Scratch.
		r.Problems = slices.Clone(r.problems)
	}
}

// report adds a problem; start and end are offsets of the file.
// The problems are sorted at the end, by sort.
func (r *reader) report(code string, severity Severity, start, end int, message string) {
	if code == "agent/yaml-repaired" {
		message = strings.TrimSuffix(message, ".") + "; the agent loads all the same."
	}
	if r.uri == "" {
		r.uri = FileURI(r.Path)
	}
	r.problems = append(r.problems, Problem{URI: r.uri, Range: r.text.span(start, end), Code: code,
		Severity: severity, Message: message})
}

// suggest adds a problem of which it is known what was meant, or "".
//
// meant is what a fix writes in the place of the range.
func (r *reader) suggest(code string, severity Severity, start, end int, meant, message string) {
	r.report(code, severity, start, end, message)
	r.problems[len(r.problems)-1].Meant = meant
}

// at reports a problem at a node.
// format is that of fmt, so a text of the file must be an argument.
func (r *reader) at(n *node, code string, severity Severity, format string, args ...any) {
	r.report(code, severity, n.start, n.end, fmt.Sprintf(format, args...))
}

// checkBytes reports what is no text: NUL and invalid UTF-8 (SEC-120).
//
// Only the first wrong byte is reported.
func (r *reader) checkBytes() bool {
	s := r.text.src
	if i := strings.IndexByte(s, 0); i >= 0 {
		r.report("agent/yaml", Error, i, i+1,
			"The file holds a NUL byte, so it is no text (UTF-16 is not read); save it as UTF-8.")
		return false
	}
	if utf8.ValidString(s) {
		return true
	}
	for i := 0; i < len(s); {
		c, size := utf8.DecodeRuneInString(s[i:])
		if c == utf8.RuneError && size == 1 {
			r.report("agent/yaml", Error, i, i+1, "The file is not valid UTF-8 here; save it as UTF-8.")
			break
		}
		i += size
	}
	return false
}

// split finds the front-matter, src[from:to] between the two lines.
// False is reported already. A byte order mark and empty lines before it are taken
// with a warning.
func (r *reader) split() (from, to int, ok bool) {
	s := r.text.src
	start := 0
	if strings.HasPrefix(s, "\ufeff") {
		start = len("\ufeff")
		r.report("agent/yaml-repaired", Warning, 0, start,
			"The file begins with a byte order mark, which YAML tools stumble over; save it as UTF-8 without one.")
	}
	first := start
	for first < len(s) && strings.TrimSpace(s[first:lineEnd(s, first)]) == "" {
		first = nextLine(s, lineEnd(s, first))
	}
	end := lineEnd(s, min(first, len(s)))
	if first >= len(s) || strings.TrimRight(s[first:end], " \t") != "---" {
		r.report("agent/yaml", Error, start, lineEnd(s, start),
			"The front-matter is missing; begin the file with a line ---, then name: and description:, then a line ---.")
		return 0, 0, false
	}
	if first > start {
		r.report("agent/yaml-repaired", Warning, start, first,
			"There are empty lines before the front-matter; remove them.")
	}
	r.open = [2]int{first, end}
	from = nextLine(s, end)
	for at := from; at < len(s); {
		stop := lineEnd(s, at)
		if strings.HasPrefix(s[at:stop], "---") && strings.TrimRight(s[at:stop], " \t") == "---" {
			r.shut = [2]int{at, stop}
			r.body = nextLine(s, stop)
			return from, at, true
		}
		at = nextLine(s, stop)
	}
	r.report("agent/yaml", Error, first, end, "The front-matter is not closed; write a line --- after it.")
	return 0, 0, false
}

// readYAML gives the tree of the front-matter, read as it is, or repaired where
// its meaning is plain.
// The quick reader takes nearly all files; what it does not take is parsed, and if
// that fails, repaired and parsed again. False is reported already.
// A repair is believed only where what comes of it can be read; else the finding is that
// of the text as it stands.
func (r *reader) readYAML(from, to int) (node, bool) {
	if root, ok := r.quick.read(r.text.src, from, to); ok {
		return root, true
	}
	// The parser sees \n alone; plain leads its places back to the file.
	plain := plainSource(r.text.src, from, to)
	root, findings := plain.read()
	// Only a text that could not be parsed is repaired.
	if len(findings) > 0 && findings[0].code == "agent/yaml" {
		if fixed, changes := repair(r.text.src, from, to); fixed != nil {
			again, others := r.readRepaired(fixed)
			if len(others) == 0 || others[0].code != "agent/yaml" {
				root, findings = again, append(others, changes...)
			}
		}
	}
	repairs := 0
	for _, f := range findings {
		severity := Error
		// Each line may be repaired, and a few findings say it.
		if f.code == "agent/yaml-repaired" {
			if repairs++; repairs > maxFeatures {
				continue
			}
			severity = Warning
		}
		r.report(f.code, severity, f.start, f.end, f.message)
		if f.code == "agent/yaml" {
			return node{}, false
		}
	}
	switch root.kind {
	case mapping:
		return root, true
	case null:
		// The value was a feature that is not allowed, which is reported.
		if len(findings) > 0 {
			return node{}, false
		}
		return node{kind: mapping, start: from, end: from}, true
	}
	r.report("agent/yaml", Error, root.start, root.end,
		fmt.Sprintf("The front-matter is %s, not an object; write key: value lines.", kindNames[root.kind]))
	return node{}, false
}

// readRepaired reads a repaired text, by the quick reader where that can.
func (r *reader) readRepaired(fixed *source) (node, []finding) {
	root, ok := r.quick.read(fixed.text, 0, len(fixed.text))
	if !ok {
		return fixed.read()
	}
	fixed.toFile(&root)
	return root, nil
}

// stem returns a file's name without .md, and without the .agent before it.
// Copilot's files are called NAME.agent.md.
func stem(path string) string {
	return strings.TrimSuffix(strings.TrimSuffix(filepath.Base(path), ".md"), ".agent")
}

// FromProject reports whether the definition comes with a project: with its folder, or
// with an extension that lies in it.
func (d *Definition) FromProject() bool {
	return d.Scope == Project || (d.Scope == Extension && d.Folder != "")
}

// Usable reports whether a run may use the definition, and if not, the first
// error of the list that ends spec 1.5. [Definition.Authority] is looked at when
// a run starts, not here.
func (d *Definition) Usable() (bool, Problem) {
	for _, p := range d.Problems {
		if p.Fatal() {
			return false, p
		}
	}
	return true, Problem{}
}

// Fatal reports whether the problem makes its agent unusable, by the list that
// ends spec 1.5.
func (p Problem) Fatal() bool {
	if p.Severity != Error {
		return false
	}
	switch p.Code {
	case "agent/yaml", "agent/yaml-feature", "agent/missing-field", "agent/name", "agent/type", "agent/duplicate-name",
		"agent/prompt-empty", "agent/placeholder", "agent/schema", "agent/graph", "agent/too-large",
		"agent/unknown-field":
		return true
	}
	return false
}
