package command

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"

	"github.com/agentls/agentls/agents/tool"
)

// The limits of a command's text. One longer than maxText bytes is not run, and
// one longer than maxShown cannot be shown so that a person understands it
// (SEC-71). Where rules deny commands, one longer than maxRuled bytes or with
// more than maxStatements statements is refused: nobody writes it by hand, and
// whoever hides a program in it wants it long.
const (
	maxText       = 64 << 10
	maxShown      = 16 << 10
	maxRuled      = 10_000
	maxStatements = 200
)

// Config says where a command would run. Paths are absolute.
type Config struct {
	Dir     string   // the folder that it runs in
	Home    string   // the person's home; "" = unknown
	Folders []string // of the workspace
}

// Analysis is what is known of a command before it runs.
type Analysis struct {
	Parsed   []string     // each simple command, quoted and escaped, in the order of the text
	Commands [][]string   // the words of each command, also behind wrappers; [Unknown] stands for what is known only when it runs
	Names    []string     // the base names of all programs that it may run, sorted
	Unclear  string       // why Names may lack one; "" = it is complete
	Disaster string       // why it is on the short list of what is refused with any access; "" = it is not
	Keep     []tool.Words // each simple command, where the text is nothing but such, joined, and every word is known; else nil
	Prefix   []string     // the words that an answer for all commands that begin so would be for; nil = none is offered
	Long     bool         // it cannot be shown whole
	Hidden   bool         // it holds characters that are not seen
}

// Analyze takes a text apart. A text that no shell should see (empty, too long,
// control characters) is a *tool.Error CodeArgs. There is no other error: a text that
// cannot be parsed has an Analysis whose Unclear says so. It takes some milliseconds
// for the largest text, and looks at links of the file system.
func Analyze(text string, c Config) (Analysis, error) {
	if err := check(text); err != nil {
		return Analysis{}, err
	}
	r := &reader{Config: c, names: make(map[string]bool), left: 4 * maxText}
	r.Long, r.Hidden = len(text) > maxShown, tool.Suspicious(text)
	if len(text) > maxRuled {
		r.unclear("it is longer than 10,000 bytes")
	}
	file := r.script(text)
	if file != nil && !r.Long && !r.Hidden && !blurred(text) {
		r.keep(text, file)
	}
	for name := range r.names {
		r.Names = append(r.Names, name)
	}
	slices.Sort(r.Names)
	return r.Analysis, nil
}

// check returns an error for a text with characters that a person cannot be
// shown as what a shell makes of them (SEC-26).
// The error is CodeArgs and names the character. Line separators of Unicode are among
// them: an editor may show one as a new line where bash sees none.
// TestSEC26ControlCharactersAreRefused holds it.
func check(text string) error {
	if strings.TrimSpace(text) == "" {
		return tool.Errorf(tool.CodeArgs, "The command is empty.")
	}
	if len(text) > maxText {
		return tool.Errorf(tool.CodeArgs,
			"The command has %d bytes; at most %d are taken. Write a script to a file and run that.", len(text),
			maxText)
	}
	for _, r := range text {
		if (unicode.IsControl(r) && r != '\n' && r != '\t') || r == 0x2028 || r == 0x2029 {
			return tool.Errorf(tool.CodeArgs, "The command holds the control character U+%04X. Write it without: "+
				"lines end with a newline, and other characters are written as escapes of the program that takes them.", r)
		}
	}
	return nil
}

// blurred reports whether bash and this parser may see the bounds of words or
// lines differently: then no answer holds for longer than this call.
//
// A line that ends with a backslash goes on with the next one, and bash takes no blank but
// space, tab and newline for the end of a word.
func blurred(text string) bool {
	oddBlank := func(r rune) bool { return r > unicode.MaxASCII && unicode.IsSpace(r) }
	return strings.Contains(text, "\\\n") || strings.ContainsFunc(text, oddBlank)
}

// reader collects what is found in a text. It is made for one call of Analyze. text,
// depth and scripts follow the script that is read just now.
// left begins at four times the longest text and shrinks with each script that is read, so
// that scripts within scripts cannot make the work grow without end
// (TestREL80AnalysisIsBounded).
type reader struct {
	Config
	Analysis
	text string // that is read
	// Base names of programs, those that links lead to as well.
	names   map[string]bool
	scripts map[string]bool // within the text, that were read
	depth   int             // of scripts within scripts
	left    int             // bytes that may still be read
	// Of all scripts so far.
	statements int
}

// unclear records why Names may lack a program; the first reason is told.
// A rule that denies commands refuses a call which is unclear, so nothing is
// missed by an incomplete list.
func (r *reader) unclear(why string) {
	if r.Unclear == "" {
		r.Unclear = why
	}
}

// script reads a text and returns its tree; nil if it has none.
// The checks before the parser are in the order of their cost, and each falls back to raw:
// no text is left without an analysis. The text of the outer script is put back when an
// inner one has been read.
func (r *reader) script(text string) *syntax.File {
	r.left -= len(text)
	switch {
	case r.left < 0:
		return r.raw(text, "it holds scripts within scripts")
	case !utf8.ValidString(text):
		return r.raw(text, "it is not UTF-8")
	case tangled(text):
		return r.raw(text, "it is nested too deep")
	}
	parser := syntax.NewParser(syntax.Variant(syntax.LangBash), syntax.KeepComments(true))
	file, err := parser.Parse(strings.NewReader(text), "")
	if err != nil {
		return r.raw(text, err.Error())
	}
	outer := r.text
	r.text = text
	syntax.Walk(file, r.visit)
	r.text = outer
	return file
}

// maxNesting is how deep brackets may stand in each other, and maxClauses how
// many words there may be that can begin a nested command: the parser recurses
// and, on some input, tries again and again.
const (
	maxNesting = 50
	maxClauses = 400
)

// tangled reports whether a text is nested deeper than anybody writes. It does
// not know quotes; what it counts too much is not taken apart.
func tangled(text string) bool {
	depth := 0
	for i := range len(text) {
		switch text[i] {
		case '(', '{':
			if depth++; depth > maxNesting {
				return true
			}
		case ')', '}':
			depth = max(0, depth-1)
		}
	}
	clauses := strings.Count(text, "`") + strings.Count(text, "<<")
	for w := range strings.FieldsSeq(text) {
		switch w {
		case "if", "while", "until", "for", "case", "select", "!", "time", "function", "coproc", "-":
			clauses++
		}
	}
	return clauses > maxClauses
}

// raw reads a text that cannot be parsed, by its words alone: what is on the
// short list is still found, and rules that deny commands refuse it (SEC-35).
//
// It always returns nil, as script does without a tree.
func (r *reader) raw(text, why string) *syntax.File {
	r.unclear("it cannot be taken apart (" + tool.Escape(why) + ")")
	if r.depth == 0 {
		r.Parsed = append(r.Parsed, tool.Escape(text))
	}
	separates := func(c rune) bool { return strings.ContainsRune(";|&\n(){}<>`", c) }
	parts := func(c rune) bool { return unicode.IsSpace(c) || strings.ContainsRune("\"'\\", c) }
	for segment := range strings.FieldsFuncSeq(text, separates) {
		var words []word
		for token := range strings.FieldsFuncSeq(segment, parts) {
			words = append(words, r.token(token))
			r.name(token)
		}
		r.disasters(words, true)
	}
	return nil
}
