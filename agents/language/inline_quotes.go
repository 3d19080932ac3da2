package language

// In which string of a language an answer may stand, and what keeps it there.

import (
	"regexp"
	"slices"
	"strings"
)

// unquoting returns what keeps a line of an answer in a string of several lines, and
// from being run there, if the place between these parts of a text may be in one. It
// is in none only where neither part has an open one: what is read wrongly in the one
// seldom hides it in the other.
func unquoting(languageID, above, below string) func(string) string {
	odd := func(quote string) bool {
		return strings.Count(above, quote)%2 == 1 || strings.Count(below, quote)%2 == 1
	}
	languageID = strings.ToLower(languageID)
	_, known := styles[languageID]
	language := styleOf(languageID)
	if !known || languageID == "vue" || languageID == "svelte" || languageID == "astro" {
		language.line = nil // what begins a comment in their code does not in their markup
	}
	var pairs []string
	tick := "'"
	quotes := spanningQuotes(languageID)
	jsx := slices.Contains(jsxLanguages, languageID) && (hasElements(above) || hasElements(below))
	if jsx {
		quotes = `'"`
		pairs = append(pairs, "{", "(", "}", ")", "<", "‹")
	}
	open := leavesOpen(above, quotes, language) || leavesOpen(below, quotes, language) || languageID == "nix"
	if open {
		for q := range strings.SplitSeq(quotes, "") {
			pairs = append(pairs, q, map[string]string{"'": "’", `"`: "”"}[q])
		}
		if strings.Contains(quotes, "'") {
			tick = "’"
		}
		switch languageID {
		case "csharp", "fsharp", "vb":
			pairs = append(pairs, "{", "(", "}", ")")
		}
	}
	if (!known || slices.Contains(dollarStrings, languageID)) && dollarQuote.MatchString(above) {
		pairs = append(pairs, "$", "$ ")
	}
	for _, d := range openDelimiters(languageID, above) {
		pairs = append(pairs, wideDelimiters[d]...)
	}
	switch languageID {
	case "shellscript", "sh", "bash", "zsh", "make", "makefile", "just", "dockerfile": // most of their strings run what is between backticks
		pairs = append(pairs, "```", "~~~", "`", tick)
	default:
		carries := !known || slices.Contains(carriers, languageID)
		if odd("`") || (carries && (open || heredoc.MatchString(above))) {
			pairs = append(pairs, "```", "~~~", "`", tick)
		}
		if odd(`"""`) || odd("'''") {
			pairs = append(pairs, "{", "(", "}", ")")
		}
	}
	replacer := strings.NewReplacer(pairs...)
	if languageID != "perl" && languageID != "fish" {
		return replacer.Replace
	}
	return func(line string) string {
		// What is in brackets behind a variable is run, in Perl behind a space as well.
		// Where their patterns and texts of several lines are is not asked.
		if line = replacer.Replace(line); strings.ContainsAny(line, "$@") {
			line = wideBrackets.Replace(line)
		}
		return line
	}
}

// carriers are languages whose texts of several lines may be scripts, or may run what
// is between backticks.
var carriers = strings.Fields("yaml dockercompose ruby crystal perl")

// heredoc is in a line that begins a text up to a line of its own.
var heredoc = regexp.MustCompile(`<<[-~\\]?["'\w]`)

// jsxLanguages are languages that may have elements, whose attributes and texts may
// have several lines and expressions in braces; jsxMark is in a line that has one.
var (
	jsxLanguages = strings.Fields("javascript javascriptreact typescriptreact")
	jsxMark      = regexp.MustCompile(`</[\pL>]|/>|<>`)
)

// hasElements reports whether a line of a text, but for those of comments alone, seems
// to have an element.
func hasElements(text string) bool {
	for line := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == '\n' || r == '\r' }) {
		start := strings.TrimLeft(line, " \t")
		comment := strings.HasPrefix(start, "//") || strings.HasPrefix(start, "/*") || strings.HasPrefix(start, "*")
		if !comment && jsxMark.MatchString(line) {
			return true
		}
	}
	return false
}

// wideDelimiters are what is put for the delimiters of a text, by the one that opens
// it; wideBrackets is for brackets alone.
var (
	wideDelimiters = map[string][]string{"(": {"(", "（", ")", "）"}, "[": {"[", "［", "]", "］"}, "{": {"{", "｛", "}", "｝"}, "|": {"|", "¦"}, "/": {"/", "∕"}, "!": {"!", "！"}}
	wideBrackets   = strings.NewReplacer("[", "［", "]", "］", "{", "｛", "}", "｝")
)

// delimited matches what begins a text between delimiters of its own choice, or a
// pattern, up to the delimiter, in the languages that have such.
var delimited = map[string]*regexp.Regexp{
	"perl":    regexp.MustCompile(`(?:^|[^$@%&\w>'])(?:(?:s|y|tr)\s*\{[^{}]*\}\s*\{|q[qrwx]?<|(?:q[qrwx]?|m|s|y|tr)\s*[\[{(]|(?:q[qrwx]?|m)\s*[|/!])|[=~(,]\s*/`),
	"ruby":    regexp.MustCompile(`%[qQwWiIrxs]?[\[{(<]|%[qQwWiIrxs][|/!]|[=~(,]\s*/`),
	"crystal": regexp.MustCompile(`%[qQwWiIrx]?[\[{(<]|%[qQwWiIrx]?\||[=~(,]\s*/`),
	"elixir":  regexp.MustCompile(`~\pL+[\[{(<|/]`),
}

// maxDelimited is how far the end of such a text is looked for on its line, and
// maxBegun how many are looked at there.
const (
	maxDelimited = 4 << 10
	maxBegun     = 100
)

// openDelimiters returns the delimiters, each once, with which a line of a text begins
// a text that it does not end. Whether a later line does is not asked.
func openDelimiters(languageID, text string) []string {
	begins := delimited[strings.ToLower(languageID)]
	if begins == nil {
		return nil
	}
	var open []string
	for line := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == '\n' || r == '\r' }) {
		for n := 0; ; n++ {
			at := begins.FindStringIndex(line)
			if at == nil {
				break
			}
			first, rest := line[at[1]-1:at[1]], line[at[1]:]
			end := shuts(first, rest[:min(len(rest), maxDelimited)])
			if (end < 0 || n > maxBegun) && !slices.Contains(open, first) {
				open = append(open, first)
			}
			if n > maxBegun {
				break
			}
			line = rest[max(end, 0):]
		}
	}
	return open
}

// shuts returns where a line goes on behind the text that a delimiter before it
// begins, or -1 where it does not end that.
func shuts(first, rest string) int {
	last := map[string]string{"(": ")", "[": "]", "{": "}", "<": ">"}[first]
	if last == "" {
		if i := strings.Index(rest, first); i >= 0 {
			return i + 1
		}
		return -1
	}
	depth := 1
	for i := range len(rest) {
		switch rest[i] {
		case first[0]:
			depth++
		case last[0]:
			depth--
		}
		if depth == 0 {
			return i + 1
		}
	}
	return -1
}

// dollarStrings are languages of strings between $$, or between $word$ twice.
var (
	dollarStrings = strings.Fields("sql pgsql plsql mysql")
	dollarQuote   = regexp.MustCompile(`\$[\pL\pN_]*\$`)
)

// lineStrings are languages whose plain strings end where their line does, so that
// no command stands in one; those with elements (jsxLanguages) only without them.
var lineStrings = strings.Fields(`ada awk bat bicep css cue dart elm fortran-modern git-commit git-rebase
	gitcommit gitignore glsl go graphql groovy haskell hlsl ignore ini java javascript javascriptreact json5 jsonc kotlin less
	lua markdown mdx nim ocaml odin pascal plaintext properties proto purescript python quarto rmd
	sass scala scss solidity starlark stylus swift systemverilog toml typescript typescriptreact vba vbscript verilog vhdl
	vim viml wgsl zig`)

// wideStrings are languages of whose plain strings only those in double quotes may
// have several lines; an apostrophe means something else there.
var wideStrings = strings.Fields(`c clojure commonlisp cpp crystal csharp cuda-cpp d emacs-lisp fsharp lisp objective-c objective-cpp
	racket rust scheme vb`)

// spanningQuotes returns the quotes between which a text of several lines may be in
// a language: all where that is not known.
func spanningQuotes(languageID string) string {
	switch {
	case slices.Contains(lineStrings, languageID):
		return ""
	case slices.Contains(wideStrings, languageID):
		return `"`
	}
	return `'"`
}

// quoteCharacters leaves out the characters that are quotes of wideStrings.
var quoteCharacters = strings.NewReplacer(`'"'`, "", `'\"'`, "")

// apostrophe is in words like it's, where a quote may be none.
var apostrophe = regexp.MustCompile(`\b'(?:[dmst]|ll|re|ve)\b`)

// leavesOpen reports whether a line of a text may leave one of these quotes open. All
// that begins a comment up to the line's end in language does so for certain.
func leavesOpen(text, quotes string, language style) bool {
	if quotes == "" {
		return false
	}
	for line := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == '\n' || r == '\r' }) {
		if quotes == `"` {
			line = quoteCharacters.Replace(line)
		}
		if !strings.ContainsAny(line, quotes) {
			continue
		}
		readings := []string{line, apostrophe.ReplaceAllLiteralString(line, "")}
		for _, marks := range language.block {
			if i := strings.LastIndex(line, marks[1]); i >= 0 {
				readings = append(readings, line[i+len(marks[1]):])
			}
		}
		for _, line := range readings {
			// Whether a backslash means something there is another language's matter.
			if endsIn(line, quotes, language.line, true) || endsIn(line, quotes, language.line, false) {
				return true
			}
		}
	}
	return false
}

// endsIn reports whether a line that begins outside of a string ends in one.
func endsIn(line, quotes string, marks []string, escapes bool) bool {
	open := byte(0)
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case escapes && c == '\\':
			i++
		case open != 0 && c == open:
			open = 0
		case open != 0:
		case strings.IndexByte(quotes, c) >= 0:
			open = c
		case i == 0 || line[i-1] == ' ' || line[i-1] == '\t':
			if slices.ContainsFunc(marks, func(m string) bool { return strings.HasPrefix(line[i:], m) }) {
				return false
			}
		}
	}
	return open != 0
}
