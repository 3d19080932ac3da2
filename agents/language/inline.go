package language

// Inline commands (spec 2.10): lines of any document that call an agent.

import (
	"iter"
	"strings"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/mention"
	"github.com/agentls/agentls/internal/fault"
)

// Command is a line of a document that calls an agent.
// It belongs to the text that it was found in: Below and Instead want that text.
type Command struct {
	Agent    string // "name", or "folder:name"; mention.Auto where it is to be routed
	Strategy string // of routing: rule, llm, hybrid, or ""
	Text     string // what the agent is to do; never empty
	Typed    string // the command as it is written: @name text
	Range    definition.Range
	// Before and After are what stands around the command on its line, so that a
	// line with an answer is a comment as well where it stands.
	Before, After string

	remark
}

// remark is what kind of comment a line is in.
type remark struct {
	// marks are what the comment is between; empty for one up to the line's end, and for
	// prose.
	marks [2]string
	// begun says that the comment began on a line before this one.
	begun bool
	// goes says that it goes on to a line below.
	goes bool
	// prose says that it is no comment but a line of text, as in Markdown.
	prose bool
	// doc says that it documents the code, as after /// or /**.
	doc bool
	// mark is what a comment up to the line's end begins with.
	mark string
}

// Lens returns the lens Run of the command in the document of that URI.
// The line and what was typed go with it, so that who runs it can tell whether
// the text has changed.
func (c Command) Lens(uri string) Lens {
	return Lens{Range: c.Range, Title: "Run @" + c.Agent, Command: CommandRunInline,
		Args: []any{uri, c.Range.Start.Line, c.Typed}}
}

// style is how a language writes comments. The zero style has no comments. Only comments
// that are alone on their line count, so strings and the rest of the language need not be
// known.
type style struct {
	line  []string    // what a comment up to the line's end begins with
	block [][2]string // what a comment of several lines is between
	prose bool        // lines of text are read too, outside of code
}

var (
	slashes = style{line: []string{"//"}, block: [][2]string{{"/*", "*/"}}}
	hashes  = style{line: []string{"#"}}
	dashes  = style{line: []string{"--"}, block: [][2]string{{"/*", "*/"}}}
	semis   = style{line: []string{";"}}
	percent = style{line: []string{"%"}}
	angles  = style{block: [][2]string{{"<!--", "-->"}}}
	stars   = style{block: [][2]string{{"/*", "*/"}}}
	texts   = style{block: [][2]string{{"<!--", "-->"}}, prose: true}
	mixed   = style{line: []string{"//", "#"}, block: [][2]string{{"/*", "*/"}, {"<!--", "-->"}}}
	// unknown is for a language that is not in the table: what means a comment in
	// many languages and little else in others.
	unknown = style{line: []string{"//", "#", "--", ";"}, block: [][2]string{{"/*", "*/"}, {"<!--", "-->"}}}
)

// styles are the languages by LSP's ids, lower case.
var styles = languageStyles()

// languageStyles makes the table of languages. It runs once, before main.
func languageStyles() map[string]style {
	all := make(map[string]style)
	add := func(s style, ids string) {
		for id := range strings.FieldsSeq(ids) {
			all[id] = s
		}
	}
	add(slashes, `c cpp cuda-cpp csharp d dart fsharp go groovy java javascript javascriptreact jsonc json5 kotlin objective-c
		objective-cpp proto rust sass scala scss less solidity stylus swift systemverilog typescript typescriptreact v verilog zig
		glsl hlsl wgsl bicep cue jsonnet odin`)
	add(hashes, `awk cmake coffeescript crystal dockercompose dockerfile elixir fish gdscript git-commit git-rebase gitcommit
		gitignore graphql ignore make makefile nim nix perl powershell properties python r ruby shellscript sh bash zsh starlark
		tcl toml yaml just conf`)
	add(dashes, "ada elm haskell lua purescript sql plsql pgsql mysql vhdl applescript")
	add(semis, "asm clojure commonlisp emacs-lisp ini lisp racket scheme autohotkey llvm")
	add(percent, "erlang latex matlab octave prolog tex bibtex postscript")
	add(angles, "html xml xsl svg handlebars")
	add(stars, "css")
	add(texts, "markdown mdx quarto rmd plaintext")
	add(mixed, "php vue svelte astro terraform hcl")
	all["vim"] = style{line: []string{`"`, "#"}}
	all["viml"] = all["vim"]
	all["vb"] = style{line: []string{"'"}}
	all["vba"], all["vbscript"] = all["vb"], all["vb"]
	all["ocaml"] = style{block: [][2]string{{"(*", "*)"}}}
	all["pascal"] = style{line: []string{"//"}, block: [][2]string{{"(*", "*)"}, {"{", "}"}}}
	all["fortran-modern"] = style{line: []string{"!"}}
	all["bat"] = style{line: []string{"::", "rem ", "REM "}}
	return all
}

// styleOf returns how a language writes comments.
// A language that is not known has the marks that many share.
func styleOf(languageID string) style {
	if s, ok := styles[strings.ToLower(languageID)]; ok {
		return s
	}
	return unknown
}

// candidate is a line that may be a command: what is between the marks of a
// comment, or a line of prose.
type candidate struct {
	line definition.Span // without its ending
	text definition.Span // without the marks and the spaces around it
	remark
}

// candidates yields the lines of a document that begin with @ behind their mark, if any.
// Whether such a line names an agent is not looked at here. Code in Markdown and the
// front-matter of a document have none. It goes through the text once, and keeps no more
// than the comment and the block of code that are open.
func (s style) candidates(text string) iter.Seq[candidate] {
	return func(yield func(candidate) bool) {
		f := &File{Text: text}
		in := remark{} // that goes on
		var code fence
		front := 0
		if s.prose {
			front = frontMatter(f)
		}
		for line := range f.lines(definition.Span{Start: 0, End: len(text)}) {
			raw := text[line.Start:line.End]
			trimmed := strings.TrimLeft(raw, " \t")
			at := line.Start + len(raw) - len(trimmed)
			if line.Start < front || (s.prose && !in.goes && code.next(raw) != outside) {
				continue
			}
			start, end := at, line.End
			found := false
			switch {
			case in.goes:
				found, in.begun = true, true
				if i := strings.Index(trimmed, in.marks[1]); i >= 0 {
					end, in.goes = at+i, false
				}
				// Each line of such a comment may begin with a star.
				if rest := strings.TrimLeft(text[start:end], "*"); len(rest) < end-start {
					start = end - len(rest)
				}
			default:
				start, end, in, found = s.comment(text, at, line.End)
				// Four spaces make code of a line of Markdown.
				if !found && s.prose && line.Start+3 >= at && strings.HasPrefix(trimmed, "@") {
					found, in.prose = true, true
				}
			}
			for start < end && (text[start] == ' ' || text[start] == '\t') {
				start++
			}
			for end > start && (text[end-1] == ' ' || text[end-1] == '\t') {
				end--
			}
			if found && start < end && text[start] == '@' && !yield(candidate{line,
				definition.Span{Start: start, End: end}, in}) {
				return
			}
		}
	}
}

// frontMatter returns where the front-matter of a text ends; 0 where it has none:
// a line --- that no other follows is a rule.
// It looks at the dashes alone, so that a document of any tool will do.
func frontMatter(f *File) int {
	for line := range f.lines(definition.Span{Start: 0, End: len(f.Text)}) {
		switch dashes := strings.TrimRight(f.Text[line.Start:line.End], " \t") == "---"; {
		case line.Start == 0 && !dashes:
			return 0
		case line.Start > 0 && dashes:
			return line.End
		}
	}
	return 0
}

// comment returns what is inside the comment that a line begins with, between from and to,
// and which kind it is. Marks that are doubled, as in /// and /**, are not a part of it.
// at is behind the line's indentation. ok is false for a line that begins with no comment.
func (s style) comment(text string, at, end int) (from, to int, in remark, ok bool) {
	rest := text[at:end]
	for _, marks := range s.block {
		if inside, ok := strings.CutPrefix(rest, marks[0]); ok {
			from, to = end-len(inside), end
			in = remark{marks: marks, goes: true}
			if i := strings.Index(inside, marks[1]); i >= 0 {
				to, in.goes = from+i, false
			}
			more := to - from - len(strings.TrimLeft(text[from:to], "*!"))
			in.doc = more > 0
			return from + more, to, in, true
		}
	}
	for _, mark := range s.line {
		if inside, ok := strings.CutPrefix(rest, mark); ok {
			// As in /// and ##.
			to := strings.TrimLeft(inside, mark[len(mark)-1:]+"!")
			return end - len(to), end, remark{mark: mark, doc: len(to) < len(inside)}, true
		}
	}
	return at, end, remark{}, false
}

// InlineCommands returns the lines of a document that call an agent: a comment that is
// alone on its line, or in Markdown a line of text outside of code, that begins with @name
// of an agent there is, or with @auto, and says what to do. Any other @word is none.
// languageID is LSP's; a language that is not known has the usual marks of comments. Names
// are looked up in folder first; "" is the first folder. Its cost is linear in the text.
// They are in the order of the text; nil = there are none.
func InlineCommands(w *World, folder, languageID, text string) []Command {
	if strings.IndexByte(text, '@') < 0 {
		return nil
	}
	var found []Command
	f := &File{Text: text}
	at := locator{f: f}
	agents := callable{w, folder, make(map[string]bool)}
	for c := range styleOf(languageID).candidates(text) {
		typed := text[c.text.Start:c.text.End]
		p, ok := agents.command(typed)
		if !ok {
			continue
		}
		command := Command{
			Agent: p.Agent, Strategy: p.Strategy, Text: p.Prompt, Typed: typed, Range: at.span(c.text),
			Before: text[c.line.Start:c.text.Start], After: text[c.text.End:c.line.End],
			remark: c.remark,
		}
		if p.Auto {
			command.Agent = mention.Auto
		}
		found = append(found, command)
	}
	return found
}

// callable are the agents that a person may call by name.
// It is used for one document.
type callable struct {
	w      *World
	folder string
	known  map[string]bool // what was asked before: folder:name takes a search
}

// command reads a line without its marks; false for one that is no command.
// A name with nothing to do behind it is none.
func (c callable) command(typed string) (mention.Parsed, bool) {
	p, err := mention.Parse(typed, c)
	return p, err == nil && p.Prompt != "" && (p.Agent != "" || p.Auto)
}

// Has reports whether a name is one.
func (c callable) Has(name string) bool {
	if !strings.Contains(name, ":") || c.w.Agents == nil {
		e := c.w.agent(c.folder, name)
		return e != nil && e.Definition.UserInvocable
	}
	has, asked := c.known[name]
	if !asked && len(c.known) < maxQualified {
		e, err := c.w.Agents.Lookup(c.folder, name)
		has = err == nil && e.Definition.UserInvocable
		c.known[name] = has
	}
	return has
}

// maxQualified is how many different names with a folder are looked up in one document:
// each takes a search, and a document may have any number of @words. What comes behind
// them names no agent.
const maxQualified = 20

// Unknown is the error for any other word, which is not a command.
func (c callable) Unknown(name string) error {
	return fault.New(fault.NotFound, "language.inline", "there is no agent %s; correct the name", name)
}

// CompleteInline returns the agents, and auto, that may stand at a position of a
// document behind the @ that begins a comment or, in Markdown, a line. It is empty
// anywhere else.
func CompleteInline(w *World, folder, languageID, text string, at definition.Position) Completion {
	f := &File{Text: text, Index: definition.NewIndex(text), Folder: folder}
	offset := f.Index.Offset(at)
	span, ok := f.openMark(offset, "@")
	if !ok {
		return Completion{}
	}
	for c := range styleOf(languageID).candidates(text) {
		// Candidates come in the order of the text, so the mark begins none of them.
		if c.text.Start > span.Start {
			return Completion{}
		}
		if c.text.Start == span.Start-1 {
			p := &completion{f: f, w: w, offset: offset, span: span}
			p.addAgents(folder, true)
			p.add(Item{Label: mention.Auto, Kind: AgentItem, Detail: "picks an agent", Insert: mention.Auto})
			return p.answer()
		}
	}
	return Completion{}
}
