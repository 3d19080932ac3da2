package chat

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// languages are what highlighting knows of languages: how comments begin, and
// which words are keywords. It is a sketch that fits most code; text of a language
// that is not here is shown as it is. Adding a language is adding a row.
var languages = []struct {
	names    string
	comments string // a pattern
	keywords string
}{
	{"go golang", `//[^\n]*|/\*(?s:.*?)\*/`,
		"break case chan const continue default defer else fallthrough for func go goto if import " +
			"interface map package range return select struct switch type var nil true false"},
	{"js javascript jsx ts typescript tsx", `//[^\n]*|/\*(?s:.*?)\*/`,
		"async await break case catch class const continue default delete do else enum export extends " +
			"false finally for from function if implements import in instanceof interface let new null of " +
			"private public readonly return static super switch this throw true try type typeof undefined " +
			"var void while yield"},
	{"java kotlin kt scala c h cpp c++ cc cs csharp swift rust rs php dart zig", `//[^\n]*|/\*(?s:.*?)\*/`,
		"abstract as async await bool boolean break case catch char class const continue crate data def " +
			"default do double else enum extends extern false final float fn for foreach func fun if impl " +
			"implements import in int interface internal is let long loop match mod move mut namespace new " +
			"nil null object override package private protected pub public readonly ref return self short " +
			"static struct super switch template this throw trait true try type typedef union unsafe " +
			"unsigned use using val var virtual void when where while"},
	{"py python", `#[^\n]*|"""(?s:.*?)"""`,
		"and as assert async await break class continue def del elif else except False finally for from " +
			"global if import in is lambda match None nonlocal not or pass raise return True try while with " +
			"yield self"},
	{"rb ruby", `#[^\n]*`,
		"alias and begin break case class def do else elsif end ensure false for if in module next nil " +
			"not or redo rescue retry return self super then true undef unless until when while yield"},
	{"sh bash shell zsh console dockerfile makefile make", `#[^\n]*`,
		"case do done elif else esac export fi for function if in local return select then until while " +
			"FROM RUN COPY CMD ENV WORKDIR ENTRYPOINT"},
	{"json yaml yml toml ini", `#[^\n]*|//[^\n]*`, "true false null yes no"},
	{"sql", `--[^\n]*|/\*(?s:.*?)\*/`,
		"SELECT FROM WHERE INSERT INTO UPDATE DELETE SET VALUES CREATE TABLE INDEX VIEW DROP ALTER JOIN " +
			"LEFT RIGHT INNER OUTER ON AS AND OR NOT NULL ORDER BY GROUP HAVING LIMIT DISTINCT UNION PRIMARY " +
			"KEY select from where insert into update delete set values create table index drop alter join " +
			"left on as and or not null order by group having limit"},
	{"lua", `--[^\n]*`,
		"and break do else elseif end false for function if in local nil not or repeat return then true " +
			"until while"},
}

// grammar is what is looked for in the code of a language: comments, strings,
// numbers and words, in this order.
type grammar struct {
	// tokens has a group for each of comments, strings, numbers and words; highlight
	// knows them by their order.
	tokens   *regexp.Regexp
	keywords []string
}

// grammars are compiled when they are first needed, by name. The key is the name as it
// was written, in lower case; several names of one language are compiled each.
var grammars sync.Map

// grammarOf returns the grammar of a language; nil for one that is not known.
// Two goroutines may compile the same one; either result is good.
func grammarOf(language string) *grammar {
	language = strings.ToLower(language)
	if known, ok := grammars.Load(language); ok {
		return known.(*grammar)
	}
	for _, l := range languages {
		if slices.Contains(strings.Fields(l.names), language) {
			g := &grammar{
				regexp.MustCompile("(" + l.comments + ")" +
					"|(\"(?:[^\"\\\\\n]|\\\\.)*\"|'(?:[^'\\\\\n]|\\\\.)*'|`[^`]*`)|(\\b\\d[\\w.]*\\b)|(\\b[A-Za-z_]\\w*\\b)"),
				strings.Fields(l.keywords),
			}
			grammars.Store(language, g)
			return g
		}
	}
	return nil
}

// highlight returns the lines of code with comments, strings, numbers and
// keywords in colour. A difference is coloured as one. Styles end at each line end, so
// that a line may be cut out.
// The result has as many lines as the code; without their styles they are the same.
func highlight(code, language string) []string {
	if language == "diff" || language == "patch" {
		var lines []string
		for line := range strings.SplitSeq(code, "\n") {
			lines = append(lines, paint(styleOfDiff(line), line))
		}
		return lines
	}
	g := grammarOf(language)
	if g == nil {
		return strings.Split(code, "\n")
	}
	var b strings.Builder
	at := 0
	for _, m := range g.tokens.FindAllStringSubmatchIndex(code, -1) {
		b.WriteString(code[at:m[0]])
		token := code[m[0]:m[1]]
		at = m[1]
		s := style("")
		switch {
		case m[2] >= 0:
			s = comment
		case m[4] >= 0:
			s = literal
		case m[6] >= 0:
			s = number
		case slices.Contains(g.keywords, token):
			s = keyword
		}
		// A comment or a string may go over several lines, each of which ends its own
		// style.
		for i, line := range strings.Split(token, "\n") {
			if i > 0 {
				b.WriteByte('\n')
			}
			b.WriteString(paint(s, line))
		}
	}
	b.WriteString(code[at:])
	return strings.Split(b.String(), "\n")
}

// styleOfDiff returns the style of a line of a unified difference.
func styleOfDiff(line string) style {
	switch {
	case strings.HasPrefix(line, "+++"), strings.HasPrefix(line, "---"):
		return bold
	case strings.HasPrefix(line, "+"):
		return good
	case strings.HasPrefix(line, "-"):
		return bad
	case strings.HasPrefix(line, "@@"):
		return accent
	}
	return ""
}

// Counts returns how many lines a unified difference adds and takes away. The names of
// the file are not counted.
func Counts(patch string) (added, removed int) {
	lines := strings.Split(patch, "\n")
	for n := 0; n < len(lines); n++ {
		switch {
		// These two stand together. A line of code may begin like one of them.
		case strings.HasPrefix(lines[n], "--- ") && n+1 < len(lines) && strings.HasPrefix(lines[n+1], "+++ "):
			n++
		case strings.HasPrefix(lines[n], "+"):
			added++
		case strings.HasPrefix(lines[n], "-"):
			removed++
		}
	}
	return added, removed
}

// stableEnd returns how much of a text that is still being written is whole blocks
// of Markdown: what comes cannot change how these look. It ends behind a blank line
// outside of code, before a line that is not indented. The rest is shown as what goes
// on. TestFinishedStaysFinished holds that what was let go would come out the same in
// the whole.
func stableEnd(text string) int {
	end, fence, blank := 0, "", false
	for at := 0; at < len(text); {
		next := strings.IndexByte(text[at:], '\n')
		if next < 0 {
			next = len(text)
		} else {
			next += at + 1
		}
		line := text[at:next]
		trimmed := strings.TrimSpace(line)
		switch {
		case fence != "":
			if strings.HasPrefix(trimmed, fence) && strings.Trim(trimmed, fence[:1]) == "" {
				fence = ""
			}
		default:
			// An indented line may belong to a list that stands above the blank one.
			if blank && trimmed != "" && line[0] != ' ' && line[0] != '\t' {
				end = at
			}
			if mark := fenceOf(trimmed); mark != "" {
				fence = mark
			}
		}
		blank = trimmed == "" && fence == ""
		at = next
	}
	return end
}

// fenceOf returns the fence that a line opens a block of code with; "" for none. An info
// string may follow it, without a character of the fence.
func fenceOf(line string) string {
	for _, c := range []string{"`", "~"} {
		n := len(line) - len(strings.TrimLeft(line, c))
		if n >= 3 && !strings.Contains(line[n:], c) {
			return line[:n]
		}
	}
	return ""
}
