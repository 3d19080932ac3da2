package language

// Where the answer to an inline command goes (spec 2.10).

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/internal/fault"
)

// What an answer below its line has at most.
const (
	maxBelow = 200 // lines
	belowFit = 96  // characters of a line of text, which is wrapped; code is not
)

// Below returns the edit that puts an answer below a command of a text, as a comment in
// which each line begins with >. The edit inserts whole lines and nothing else.
//
// The answer stays in its comment whatever it has, since a model wrote it and the document
// may be a program: what ends or begins a comment or runs in a string of several lines is
// taken apart by a space, quotes that could end such a string become typographic ones, and
// what is not seen is left out.
//
// The error is fault.Invalid, with why, where a comment could not hold it for certain.
// text must be the one that the command was found in. The edit has no URI. At most
// maxBelow lines are put there.
func (c Command) Below(languageID, text, answer string) (Edit, error) {
	if err := c.beside(); err != nil {
		return Edit{}, err
	}
	languageID = strings.ToLower(languageID)
	if why := c.uncertain(languageID, text); why != "" {
		return Edit{}, refusal(why)
	}
	index := definition.NewIndex(text)
	start := index.Offset(definition.Position{Line: c.Range.Start.Line})
	end := start + len(c.Before) + len(c.Typed) + len(c.After)
	if strings.TrimSpace(visible(answer)) == "" {
		return Edit{}, refusal("the answer is empty")
	}
	marks := c.marks
	// In Markdown the answer is a comment of HTML.
	if c.prose {
		marks = angles.block[0]
	}
	lines := quotedAnswer(answer, marks, quotesIn(languageID))
	if len(lines) > maxBelow {
		return Edit{}, refusal("the answer is too long for a comment")
	}
	indent := c.Before[:len(c.Before)-len(strings.TrimLeft(c.Before, " \t"))]
	// The comment goes on below, or ends with each line: the answer's lines begin like
	// the command's.
	if c.goes || (!c.prose && c.marks[0] == "") {
		before := c.Before
		if c.goes && !c.begun { // the line has the mark itself
			before = indent + strings.Repeat(" ", utf8.RuneCountInString(c.Before[len(indent):]))
		}
		if c.doc && (c.mark == "//" || c.mark == "#") { // an answer documents nothing, and examples are run as tests
			before = indent + c.mark
		}
		if before != "" && !strings.HasSuffix(before, " ") && !strings.HasSuffix(before, "\t") {
			before += " "
		}
		for i := range lines {
			lines[i] = before + lines[i]
		}
	} else {
		if len(lines) == 1 {
			lines[0] = indent + marks[0] + " " + lines[0] + " " + marks[1]
		} else {
			for i := range lines {
				lines[i] = indent + lines[i]
			}
			lines = slices.Concat([]string{indent + marks[0]}, lines, []string{indent + marks[1]})
		}
	}
	eol := eolAt(text, end)
	at := index.Position(end)
	return Edit{Range: definition.Range{Start: at, End: at}, Text: eol + strings.Join(lines, eol)}, nil
}

// uncertain says why a comment at the place of a command may be none, or be run; ""
// where it is certain.
// It refuses rather too much: an answer that is not put there is shown as a document.
func (c Command) uncertain(languageID, text string) string {
	line := !c.prose && c.marks[0] == ""
	switch languageID {
	case "vue", "svelte", "astro", "javascript", "javascriptreact", "typescriptreact":
		// Between the tags of an element, // is text.
		if line && (strings.Contains(text, "</") || strings.Contains(text, "/>") || strings.Contains(text, "<>")) {
			return "the line may be the text of an element"
		}
	case "python", "starlark":
		if within(text, c.Range, `"""`) || within(text, c.Range, "'''") {
			return inString
		}
	case "csharp", "fsharp", "vb": // an expression in their strings is between plain braces
		if within(text, c.Range, `"`) {
			return inString
		}
	case "rust":
		if c.goes && c.doc {
			return "what is in this comment may be run as a test"
		}
	}
	if _, known := styles[languageID]; !known || slices.Contains(noAnswers, languageID) {
		return "a comment cannot hold any text in this language"
	}
	return ""
}

// inString says that a line may be in a string, so that a comment there would be a
// part of it.
const inString = "the line may be in a string"

// within reports whether a place may be in a string between two of these marks: an odd
// number of them stands before or behind it. It may be wrong about marks in comments, and
// then refuses more than it must.
func within(text string, r definition.Range, mark string) bool {
	at := definition.NewIndex(text).Offset(r.Start)
	return strings.Count(text[:at], mark)%2 == 1 || strings.Count(text[at:], mark)%2 == 1
}

// noAnswers are languages in which comments are run, or cannot hold any text, or in
// which strings of several lines are between marks of the author's choice.
var noAnswers = strings.Fields(`bat tcl mdx rmd quarto ocaml pascal perl ruby crystal elixir fish`)

// quotesIn returns what makes quotes typographic that may end a string of several lines in
// a language. A language that is in no list gets all of them.
func quotesIn(languageID string) *strings.Replacer {
	switch {
	case slices.Contains(lineStrings, languageID):
		return strings.NewReplacer("```", "~~~", "`", "'")
	case slices.Contains(wideStrings, languageID):
		return strings.NewReplacer(`"`, "”")
	case slices.Contains(dollarStrings, languageID):
		return strings.NewReplacer("'", "’", `"`, "”", "$", "$ ")
	}
	return strings.NewReplacer("```", "~~~", "`", "’", "'", "’", `"`, "”")
}

// lineStrings are languages whose plain strings end where their line does; in
// wideStrings, those in double quotes may have several lines; in dollarStrings, any
// quotes and $$ or $word$.
var (
	lineStrings = strings.Fields(`ada awk bicep css cue dart elm fortran-modern git-commit git-rebase
		gitcommit gitignore glsl go graphql groovy haskell hlsl html ignore ini java javascript javascriptreact json5 jsonc kotlin
		less lua markdown nim odin plaintext properties proto purescript python
		sass scala scss solidity starlark stylus swift systemverilog toml typescript typescriptreact vba vbscript verilog vhdl
		vim viml wgsl xml zig`)
	wideStrings = strings.Fields(`c clojure commonlisp cpp csharp cuda-cpp d emacs-lisp fsharp lisp objective-c objective-cpp
		racket rust scheme vb`)
	dollarStrings = strings.Fields("sql pgsql plsql mysql")
)

// Instead returns the edit that puts the code of an answer in the place of a
// command's line: its only block of code, or all of it where it has none. Code
// that is not indented is indented as the line is. The error is fault.Invalid
// where it is not certain what goes where, with why.
// text must be the one that the command was found in. The edit has no URI. What the
// code does is not judged.
func (c Command) Instead(text, answer string) (Edit, error) {
	if err := c.beside(); err != nil {
		return Edit{}, err
	}
	if c.begun || c.goes {
		return Edit{}, refusal("the command is one line of a longer comment")
	}
	blocks := codeBlocks(answer)
	code := strings.TrimSpace(answer)
	switch {
	case len(blocks) > 1:
		return Edit{}, refusal("the answer has several blocks of code")
	case len(blocks) == 1:
		code = blocks[0]
	}
	if strings.TrimSpace(code) == "" {
		return Edit{}, refusal("the answer is empty")
	}
	index := definition.NewIndex(text)
	start := index.Offset(definition.Position{Line: c.Range.Start.Line})
	end := start + len(c.Before) + len(c.Typed) + len(c.After)
	eol := eolAt(text, end)
	lines := strings.Split(strings.TrimRight(endings.Replace(code), "\n"), "\n")
	indent := c.Before[:len(c.Before)-len(strings.TrimLeft(c.Before, " \t"))]
	if !indented(lines) {
		for i, line := range lines {
			if strings.TrimSpace(line) != "" {
				lines[i] = indent + line
			}
		}
	}
	return Edit{Range: index.Range(definition.Span{Start: start, End: end}), Text: strings.Join(lines, eol)}, nil
}

// indented reports whether every line that has something is.
func indented(lines []string) bool {
	return !slices.ContainsFunc(lines, func(l string) bool {
		return strings.TrimSpace(l) != "" && !strings.HasPrefix(l, " ") && !strings.HasPrefix(l, "\t")
	})
}

// beside says why nothing can be put below a command or in its place: its line
// has something else, or goes on.
// nil where the line is the command's own. The error is for the person.
func (c Command) beside() error {
	rest := strings.TrimSpace(c.After)
	if !c.goes && c.marks[1] != "" {
		rest = strings.TrimSpace(strings.TrimPrefix(rest, c.marks[1]))
	}
	if rest != "" {
		return refusal("something else stands behind the command")
	}
	if line := strings.TrimRight(c.Typed+c.After, " \t"); splices(line) {
		return refusal("the command's line goes on in the next one")
	}
	return nil
}

// refusal is the error of an answer that is not put anywhere; why is the end of a
// sentence.
func refusal(why string) error { return fault.New(fault.Invalid, "language.answer", "%s", why) }

// endings makes all that ends a line in some language a newline.
var endings = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\v", "\n", "\f", "\n", "\u0085", "\n",
	"\u2028", "\n", "\u2029", "\n")

// eolAt is how the line that ends at an offset does, or else the one before.
func eolAt(text string, end int) string {
	switch {
	case strings.HasPrefix(text[end:], "\r\n"):
		return "\r\n"
	case strings.HasPrefix(text[end:], "\r"):
		return "\r"
	case end == len(text) && strings.Contains(text, "\r\n"):
		return "\r\n"
	}
	return "\n"
}

// quotedAnswer returns the lines of an answer as they may stand in a comment between
// marks, or up to the line's end. Lines of text are wrapped, those of code are not.
// Each line begins with >, has nothing that is not seen, and cannot end the comment that
// it is put in.
func quotedAnswer(answer string, marks [2]string, quotes *strings.Replacer) []string {
	var lines []string
	var code fence
	for line := range strings.SplitSeq(strings.TrimSpace(endings.Replace(answer)), "\n") {
		line = strings.TrimRight(visible(line), " \t")
		parts := []string{line}
		if code.next(line) == outside {
			parts = wrapLine(line)
		}
		for _, part := range parts {
			lines = append(lines, tame(strings.TrimRight(quotes.Replace("> "+part), " \t"), marks))
		}
	}
	return lines
}

// visible returns a line without what nobody sees, and with U+FFFD for what is no
// UTF-8.
// Tabs stay.
func visible(line string) string {
	return strings.Map(func(r rune) rune {
		if r != '\t' && (unicode.Is(unicode.Cc, r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Co, r)) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(line, "\uFFFD"))
}

// wrapLine cuts a line of text at spaces, so that a part has belowFit characters at most;
// a word that is longer stays whole.
func wrapLine(line string) []string {
	var parts []string
	for rest := line; ; {
		cut, n, begun := -1, 0, false
		for i, c := range rest {
			if n > belowFit && cut > 0 {
				break
			}
			if c == ' ' && begun {
				cut = i
			}
			begun = begun || !unicode.IsSpace(c)
			n++
		}
		if n <= belowFit || cut < 0 {
			return append(parts, rest)
		}
		parts, rest = append(parts, rest[:cut]), strings.TrimLeft(rest[cut:], " ")
	}
}

// apart is what ends or begins a comment, a string, a template, an escape of a
// character or a setting of an interpreter in some language, or what has an
// expression in a text of several lines. Which of them counts where a command
// stands is not asked: a space in each changes little of what a person reads.
var apart = strings.Fields(`*/ /* --> <!-- *) (* -} {- |# #| #> <# ]] [[ =# #= ]# #[ ?> <? %> <% }} {{ %} {% #} {# </ """ ''' \u
	${ $( #{ \( @{ @( {$ {! %{ -*- coding: coding= /+ +/ |] ]= $$ /$ \#`)

// modeline is what an editor may take settings from.
var modeline = regexp.MustCompile(`(\b(?i:variables)|\s(?:[vV]im?[<=>]*[0-9]*|ex)):`)

// tame returns a line of an answer, without spaces at its end, that does not get out of
// its comment. It repeats until nothing changes, since taking one mark apart can leave
// another.
func tame(line string, marks [2]string) string {
	for before := ""; before != line; {
		before = line
		for _, s := range apart {
			// coding: and the like are recognised by their last sign, so the space goes
			// before that one.
			at := 1
			if last := s[len(s)-1]; last == ':' || (last == '=' && len(s) > 2) {
				at = len(s) - 1
			}
			line = strings.ReplaceAll(line, s, s[:at]+" "+s[at:])
		}
		if marks[0] == "<!--" { // XML has no two dashes in a comment
			line = strings.ReplaceAll(line, "--", "- -")
		}
	}
	line = modeline.ReplaceAllString(line, "$1 :")
	if splices(line) {
		line += " ."
	}
	return line
}

// splices reports whether a line goes on in the next one in some language. Spaces at
// its end do not count in some, so it is to have none.
func splices(line string) bool {
	return strings.HasSuffix(line, `\`) || strings.HasSuffix(line, "??/") || strings.HasSuffix(line, " _")
}

// codeBlocks returns the fenced blocks of code of a Markdown text, without their fences.
// One that is not closed goes to the end.
// Lines end with \n, and have lost the indentation of their block.
func codeBlocks(text string) []string {
	var blocks []string
	var lines []string
	var code fence
	for line := range strings.SplitSeq(strings.ReplaceAll(text, "\r\n", "\n"), "\n") {
		switch code.next(line) {
		case opens:
			lines = nil
		case closes:
			blocks = append(blocks, strings.Join(lines, "\n"))
		case inside:
			lines = append(lines, code.content(line))
		}
	}
	if code.mark != "" {
		blocks = append(blocks, strings.Join(lines, "\n"))
	}
	return blocks
}
