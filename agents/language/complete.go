package language

// Completion: what may stand at the cursor.

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/agentls/agentls/agents/definition"
)

// ItemKind is what an [Item] stands for.
type ItemKind string

// The kinds. Those of LSP that fit best: Property, EnumMember, Constant,
// Function, Module, Class, Variable, Color, Snippet.
const (
	// A key of the front-matter.
	FieldItem ItemKind = "field"
	// One of the values that a field may have, or one that means something by itself.
	ValueItem    ItemKind = "value"
	ModelItem    ItemKind = "model"
	ToolItem     ItemKind = "tool"
	ServerItem   ItemKind = "server"
	AgentItem    ItemKind = "agent"
	VariableItem ItemKind = "variable"
	ColorItem    ItemKind = "color"
	// A whole file, from a template.
	FileItem ItemKind = "file"
)

// Item is one completion. Insert takes the place of Range, which is on the
// cursor's line, holds the cursor, and may be empty. What an editor filters by is
// Label.
// It belongs to the text that was asked about: its range is good for no other.
type Item struct {
	Label  string
	Kind   ItemKind
	Detail string // beside the label, one line; plain text
	Doc    string // Markdown; "" for an agent: see [Describe]
	Insert string // lines after the first are indented as the first one is
	Range  definition.Range
	Sort   string // the order of the list, by bytes
	// Snippet says that Insert has the tab stops of LSP's snippets; see [Item.Plain].
	Snippet bool
	Retired bool   // still known, but not to be chosen: struck through
	Line    string // what Insert is on one line; "" = its first, see [Item.OneLine]
}

// Completion is what may stand at a position, in order.
// The caller owns it.
type Completion struct {
	Items []Item
	// Partial says that there is more which fits what was typed, or would with less
	// of it: as the word changes, it is to be asked for again.
	Partial bool
}

// Plain returns Insert as it is for an editor without snippets: a tab stop is its
// default, its first choice, or nothing.
// It knows the snippets that this package writes, and no others of LSP's.
func (i Item) Plain() string {
	if !i.Snippet {
		return i.Insert
	}
	var b strings.Builder
	for s := i.Insert; s != ""; {
		switch {
		case s[0] == '\\' && len(s) > 1:
			b.WriteByte(s[1])
			s = s[2:]
		case strings.HasPrefix(s, "${"):
			end := 2
			for end < len(s) && s[end] != '}' {
				if s[end] == '\\' {
					end++
				}
				end++
			}
			stop := s[2:min(end, len(s))]
			s = s[min(end+1, len(s)):]
			if _, value, ok := strings.Cut(stop, ":"); ok {
				b.WriteString(Item{Insert: value, Snippet: true}.Plain())
			} else if _, choices, ok := strings.Cut(stop, "|"); ok {
				first, _, _ := strings.Cut(choices, ",")
				b.WriteString(strings.TrimSuffix(first, "|"))
			}
		case s[0] == '$' && len(s) > 1 && s[1] >= '0' && s[1] <= '9':
			s = strings.TrimLeft(s[1:], "0123456789")
		default:
			b.WriteByte(s[0])
			s = s[1:]
		}
	}
	return b.String()
}

// OneLine returns what stands for Plain in an editor that takes one line only; false
// for a whole file, which has no such thing.
func (i Item) OneLine() (string, bool) {
	if i.Line != "" || i.Kind == FileItem {
		return i.Line, i.Line != ""
	}
	first, _, _ := strings.Cut(i.Plain(), "\n")
	return first, true
}

// Describe returns what an item is, in Markdown; "" where there is no more to
// tell. Of an agent it is made when the item is looked at
// (completionItem/resolve), since there may be thousands. folder is the file's.
// folder must be that of the question, and w may be newer.
func Describe(w *World, folder string, i Item) string {
	if e := w.agent(folder, i.Label); i.Kind == AgentItem && e != nil {
		return describeAgent(w, e.Definition)
	}
	return i.Doc
}

// snippet is a text without anything that a snippet would take for its own.
// The comma and the bar, which mean something inside a choice, are left as they are.
func snippet(s string) string {
	return strings.NewReplacer(`\`, `\\`, `$`, `\$`, `}`, `\}`).Replace(s)
}

// completion is one answer in the making.
// It is used for one question.
type completion struct {
	f      *File
	w      *World
	offset int
	place  place
	// span is what an item takes the place of; on the cursor's line.
	span definition.Span
	// quote opens the scalar that the cursor is in; 0 is none. Items are written for it.
	quote byte
	// block says that the scalar is a text of lines below | or >, where nothing needs
	// quotes.
	block bool
	// wrap says that a list is expected and none is open yet: an item brings its brackets.
	wrap bool
	// flow says that the cursor is inside brackets, where more characters need quotes.
	flow  bool
	items []Item
	// ranged and at are the last span and its range in lines and columns, for items that
	// have the same span.
	ranged definition.Span
	at     definition.Range // of ranged
	// space is what must stand before a value: a space right behind a colon, else "".
	space string
	// behind is what must stand after it: a space right before a comment, else "".
	behind string
	// part says that there are more items than are offered.
	part bool
}

// Complete returns what may stand at a position, in order. Broken YAML is completed as
// well. What was typed before the cursor does not narrow the list, so an editor may filter
// it while the same word grows, but where there are too many agents (Partial).
//
// The place decides: in an empty file there are templates, in the prompt what texts can
// name, on a key the fields that the mapping does not have yet, and on a value what its
// field may be. It takes time linear in the text, and in the number of agents where these
// are offered.
func Complete(w *World, f *File, at definition.Position) Completion {
	c := &completion{f: f, w: w, offset: f.Index.Offset(at)}
	p, ok := f.placeAt(c.offset)
	switch {
	case c.emptyFile():
		c.templates()
	case !ok && f.inBody(c.offset):
		c.text("")
	case !ok:
		if span, ok := f.bareColor(c.offset); ok {
			c.span = span
			c.colors()
		}
	case p.key:
		c.place = p
		var ok bool
		if c.span, c.quote, ok = f.word(p.last().Span, c.offset); ok {
			c.keys(p.parent())
		}
	default:
		c.place = p
		c.value()
	}
	return c.answer()
}

// answer returns the answer. Editors sort by Sort, so it is the place of an item in the
// list.
func (c *completion) answer() Completion {
	for i := range c.items {
		c.items[i].Sort = fmt.Sprintf("%05d", i)
	}
	return Completion{c.items, c.part}
}

// add adds an item whose text is not a YAML scalar.
// It takes the place of the span at hand, and its detail becomes one line.
func (c *completion) add(i Item) {
	if len(c.items) == 0 || c.span != c.ranged {
		// Once for all of them: a line can be long.
		c.ranged, c.at = c.span, c.f.Index.Range(c.span)
	}
	i.Range, i.Detail = c.at, strings.Join(strings.Fields(i.Detail), " ")
	c.items = append(c.items, i)
}

// scalar adds an item whose text is label, written as YAML needs it here.
func (c *completion) scalar(i Item) { c.scalarAs(i, i.Label) }

// scalarAs adds an item whose text is another than its label. The text is escaped for the
// quotes that are open, or gets some where YAML would read it as something else.
// In a text below | or > it is written as it is. Where a list is expected and none is
// open, its brackets come with it.
func (c *completion) scalarAs(i Item, text string) {
	switch {
	case c.block:
	case c.quote == '\'':
		text = strings.ReplaceAll(text, "'", "''")
	case c.quote == '"':
		text = strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text)
	default:
		text = c.yaml(text)
	}
	if c.wrap {
		text = "[" + text + "]"
	}
	i.Insert = c.space + text + c.behind
	c.add(i)
}

// yaml writes a text as a plain scalar where it can be one, else in quotes. Globs, and
// string[] outside of brackets, need none, where the package definition, which does not
// know the place, would add them to be sure.
func (c *completion) yaml(s string) string {
	stem := strings.TrimSuffix(s, "*")
	if strings.HasPrefix(s, "mcp.") && strings.Trim(stem, ".") == strings.TrimRight(stem, ".") {
		stem = strings.TrimRight(stem, ".")
	} else if stem = strings.TrimSuffix(s, "[]"); stem != s && c.flow {
		stem = s
	}
	if stem != "" && definition.YAMLText(stem) == stem {
		return s
	}
	return definition.YAMLText(s)
}

// empty reports whether there is nothing in the file but what may begin one: blanks, a
// byte order mark, and up to three dashes.
// Templates are offered for such a file.
func (f *File) empty() bool {
	text := strings.TrimSpace(strings.TrimPrefix(f.Text, "\ufeff"))
	return strings.Trim(text, "-") == "" && len(text) <= 3
}

// emptyFile reports whether there is nothing in the file but what may begin its
// first line.
// It sets the span to the cursor's line, whose place a template takes.
func (c *completion) emptyFile() bool {
	if !c.f.empty() {
		return false
	}
	text := strings.TrimSpace(strings.TrimPrefix(c.f.Text, "\ufeff"))
	line := definition.Span{Start: c.f.lineStart(c.offset), End: c.f.lineEnd(c.offset)}
	if text != "" && strings.TrimSpace(strings.TrimPrefix(c.f.Text[line.Start:line.End], "\ufeff")) != text {
		// Below the opening line, keys are wanted.
		return false
	}
	c.span = line
	if strings.HasPrefix(c.f.Text[line.Start:line.End], "\ufeff") && c.offset >= line.Start+len("\ufeff") {
		c.span.Start += len("\ufeff")
	}
	return true
}

// templates offers whole files.
// A template that cannot be used is left out here: the list of templates says why.
func (c *completion) templates() {
	name := nameOfFile(c.f.Path)
	for _, t := range c.w.Templates {
		if t.Problem != "" || len(t.Text) == 0 {
			continue
		}
		c.add(Item{
			Label: t.Name, Kind: FileItem, Detail: t.Title, Doc: escape(t.Description),
			Insert: fileSnippet(string(t.Text), name), Snippet: true,
		})
	}
}

// nameOfFile returns a name for the agent of a file: its stem, as a slug; "" where that
// begins with no letter, which no name may.
func nameOfFile(path string) string {
	base := path[strings.LastIndexAny(path, `/\`)+1:]
	name := makeSlug(strings.TrimSuffix(strings.TrimSuffix(base, ".md"), ".agent"))
	if name < "a" { // a digit comes before each letter
		return ""
	}
	return name
}

// fileSnippet makes a snippet of a template: its name and title are the first tab stops.
// name takes the place of the template's, and a title is made from it; "" leaves both. A
// template whose front-matter cannot be read has no stops.
func fileSnippet(text, name string) string {
	tree, ok := definition.ReadTree("", text)
	if !ok {
		return snippet(text)
	}
	var b strings.Builder
	at := 0
	for i, key := range []string{"name", "title"} {
		v := tree.Root.Get(key)
		// Stops are numbered in the order of the text, so a title above the name stays as it is.
		if v == nil || v.Kind != definition.String || v.Start < at {
			continue
		}
		stop := v.Text
		if name != "" {
			if stop = name; key == "title" {
				stop = titleOf(name)
			}
		}
		b.WriteString(snippet(text[at:v.Start]))
		fmt.Fprintf(&b, "${%d:%s}", i+1, snippet(stop))
		at = v.End
	}
	return b.String() + snippet(text[at:]) + "$0"
}

// titleOf makes a title of a name: code-fixer is Code Fixer.
// Unlike that of package definition it returns "" for a name without letters or digits.
func titleOf(name string) string {
	var title []string
	for word := range strings.FieldsFuncSeq(name, func(c rune) bool { return c == '-' || c == '_' }) {
		_, first := utf8.DecodeRuneInString(word)
		title = append(title, strings.ToUpper(word[:first])+word[first:])
	}
	return strings.Join(title, " ")
}

// keys offers the keys that may stand under a path and do not yet. Where a colon follows
// already, only the key is written; else a place for the value comes with it.
// parent is the path of the mapping, "" at the top.
func (c *completion) keys(parent string) {
	f := c.f
	start := c.span.Start
	c.flow = f.bracketed(start)
	there := f.siblings(c.place, c.offset)
	// A closing quote may stand between the key and its colon.
	rest := strings.TrimLeft(f.Text[c.span.End:f.lineEnd(c.span.End)], " \t\"'")
	colon := strings.HasPrefix(rest, ":")
	for _, field := range c.fieldsUnder(parent, there) {
		i := Item{Label: field.Name, Kind: FieldItem, Detail: typeOf(field), Doc: escape(field.Doc)}
		switch {
		case colon:
			i.Insert = field.Name
		default:
			i.Insert, i.Snippet = c.stub(field), true
		}
		c.add(i)
	}
}

// fieldsUnder returns the fields of the file's dialect that may stand under a path: the
// dialect's own first, and required ones before others. there are the keys that the
// mapping has, by whichever spelling; their fields are left out.
func (c *completion) fieldsUnder(parent string, there map[string]bool) []definition.Field {
	prefix := ""
	if parent != "" {
		prefix = parent + "."
	}
	dialect := c.f.Tree.Dialect
	var first, then []definition.Field
	taken := make(map[string]bool)
	for name := range there {
		taken[canonical(prefix+name)] = true
	}
	table := tablePath(parent)
	if table != "" {
		table += "."
	}
	for _, name := range definition.KeysUnder(tablePath(parent)) {
		field, ok := definition.FieldAt(table + name)
		// Only canonical spellings are offered.
		if !ok || taken[field.Path] || field.Path != table+name {
			continue
		}
		own := false
		for _, d := range field.Dialects {
			own = own || d == dialect
		}
		switch {
		case own || field.Required:
			first = append(first, field)
		case field.Dialects == nil:
			then = append(then, field)
		}
	}
	return append(first, then...)
}

// tablePath writes the key of a map in a path as the table of fields does: the name of an
// input is the file's own, and the table has it as *.
// A path that no field has stays as it is.
func tablePath(path string) string {
	if rest, ok := strings.CutPrefix(path, "inputs."); ok && !strings.Contains(rest, ".") {
		return "inputs.*"
	}
	return canonical(path)
}

// typeOf is a field's type in words.
// A few values say more than the type; of many the type is shown.
func typeOf(f definition.Field) string {
	if len(f.Values) > 0 && len(f.Values) <= 4 {
		return strings.Join(f.Values, " | ")
	}
	return strings.Join(f.Type, " | ")
}

// stub is a key with the place for its value, as a snippet: values that can be chosen,
// brackets for a list, an indented line for an object. In a file of another tool only that
// tool's own fields have the stubs of ours.
func (c *completion) stub(f definition.Field) string {
	// These stubs are several lines, which have no place in braces.
	if c.f.Tree.Dialect == definition.Agentls || f.Dialects != nil {
		if s, ok := stubs[f.Path]; ok && !c.flow {
			return s
		}
	}
	value := "$0"
	switch {
	case len(f.Values) == 1:
		value = f.Values[0]
	case len(f.Type) == 0:
	case len(f.Values) > 1 && f.Type[0] == "string":
		value = choice(f.Values)
	case f.Type[0] == "boolean":
		// Whoever writes the field wants another value than its default.
		if value = "${1|true,false|}"; f.Default == "true" {
			value = "${1|false,true|}"
		}
	case f.Type[0] == "string[]" || (f.Type[0] == "list" && (c.flow || f.Path == "inputs.*.enum")):
		value = "[$0]"
	case f.Type[0] == "object" && c.flow:
		value = "{$0}"
	case f.Type[0] == "object" && (c.f.Tree.Dialect == definition.Agentls || f.Path != "tools"):
		return f.Name + ":\n  $0"
	case f.Type[0] == "list":
		return f.Name + ":\n  - $0"
	}
	return f.Name + ": " + value
}

// choice is a tab stop that offers values.
// The values must have no comma, bar or backslash, which would need a backslash here.
func choice(values []string) string {
	return "${1|" + strings.Join(values, ",") + "|}"
}

// stubs are the fields whose place says more than their type.
var stubs = map[string]string{
	"tools":      "tools:\n  allow: [$0]",
	"mcp":        "mcp:\n  servers: [$0]",
	"color":      "color: \"#${1:3B82F6}\"",
	"version":    "version: ${1:1.0.0}",
	"handoffs":   "handoffs:\n  - to: $1\n    when: ${2|manual,auto,conditional|}",
	"triggers":   "triggers:\n  keywords: [$1]\n  examples:\n    - $0",
	"guardrails": "guardrails:\n  output_schema:\n    type: object\n    properties:\n      $0\n  on_failure: ${1|reject,repair,warn|}",
	"inputs":     "inputs:\n  ${1:name}:\n    type: ${2|string,number,integer,boolean,string[],number[]|}\n    description: $0",
	"output":     "output:\n  name: ${1:result}\n  schema:\n    type: object\n    properties:\n      $0",

	"initial_messages": "initial_messages:\n  - role: user\n    text: $1\n  - role: model\n    text: $0",
}
