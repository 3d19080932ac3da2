// Package mention takes apart what a person typed: whom it is for, how it is to
// be routed, and what they are to do (spec 5.1, input syntax).
//
//	@name text                                runs that agent
//	@auto [--strategy=rule|llm|hybrid] text   is routed
//	text with a @name in it                   mentions that agent
//
// Quotes around the text of the first two are optional. \@ is an @ that names
// nobody. What looks like a name and is not one of an agent stays text, but for
// the first word, which is an error: who writes @debuger means somebody.
//
// Most text that people paste is code, so a mention is read narrowly: an
// address (a@b.org), a decorator (@main(…), @app.route), a package (@types/node)
// and whatever stands between backticks mention nobody, and a backslash is taken
// away only where it kept an @ from naming somebody.
//
// The package knows no agents: who calls says which names there are. It imports
// internal/fault only.
package mention

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/agentls/agentls/internal/fault"
)

// Auto is the name that stands for routing; no agent has it (spec 1.2).
const Auto = "auto"

// Parsed is what a text means. It holds no part of what the daemon knows: whether Agent
// may run here is asked later.
type Parsed struct {
	Agent    string // whom it is for, as "name" or "folder:name"; "" = nobody is named
	Auto     bool   // it is to be routed
	Strategy string // with Auto: rule, llm, hybrid, or "" for the settings' own
	Prompt   string // what they are to do, trimmed; "" where nothing was said
	Mentions []Mention
}

// Mention is an agent's name inside the prompt, in the order of the text. Start
// and End are byte offsets in the text that was parsed, of the @ and after the
// name.
type Mention struct {
	Name       string
	Start, End int
}

// Agents says which agents there are.
type Agents interface {
	// Has reports whether there is an agent of a name, as "name" or
	// "folder:name", whatever is wrong with it. It is asked of each word that
	// looks like one, so it must be quick.
	Has(name string) bool
	// Unknown returns the error for a name that is no agent's, with suggestions.
	Unknown(name string) error
}

// Parse takes a text apart. Its cost is linear in the text.
//
// Errors: what agents says of an unknown name at the start; fault.Invalid for a
// strategy that there is not.
func Parse(text string, agents Agents) (Parsed, error) {
	r := reader{text: text, agents: agents, escaped: -1}
	r.skipSpace()
	var p Parsed
	quoted := false
	switch {
	case strings.HasPrefix(r.rest(), "@"):
		name, end, err := r.name(r.at + 1)
		if err != nil {
			return Parsed{}, err
		}
		if name == "" { // an @ by itself
			break
		}
		r.at, quoted = end, true
		// As in "@name, do this".
		r.at = len(r.text) - len(strings.TrimLeft(r.rest(), punctuation))
		if p.Auto = name == Auto; !p.Auto {
			p.Agent = name
		} else if p.Strategy, err = r.strategy(); err != nil {
			return Parsed{}, err
		}
	case strings.HasPrefix(r.rest(), `\@`) && looksLikeName(r.text[r.at+2:]):
		r.escaped = r.at // keeps the first word from being a name, whatever it is
	}
	end := len(strings.TrimRightFunc(text, unicode.IsSpace))
	r.skipSpace()
	r.at = min(r.at, end)
	if quoted {
		if from, to, ok := r.trimQuotes(r.at, end); ok {
			r.quote = text[r.at] == '"'
			r.at, end = from, to
		}
	}
	p.Prompt, p.Mentions = r.prompt(end)
	return p, nil
}

// reader is one run of Parse.
type reader struct {
	text    string
	agents  Agents
	at      int  // what was read
	escaped int  // where a \@ stands at the start; -1 = nowhere
	quote   bool // the prompt stood in ", in which \" is one
}

// rest is what was not read yet.
func (r *reader) rest() string { return r.text[r.at:] }

// skipSpace reads spaces, of any script.
func (r *reader) skipSpace() {
	r.at = len(r.text) - len(strings.TrimLeftFunc(r.rest(), unicode.IsSpace))
}

// punctuation may follow a name.
const punctuation = ",:;.!?，：；。！？"

// name reads the first word, whose @ stands before at. The error is for one that
// names nobody.
func (r *reader) name(at int) (name string, end int, err error) {
	if name, end, ok := r.agent(at); ok {
		return name, end, nil
	}
	word := r.text[at:]
	if i := strings.IndexFunc(word, func(c rune) bool {
		return unicode.IsSpace(c) ||
			strings.ContainsRune(quotes, c)
	}); i >= 0 {
		word = word[:i]
	}
	if word = strings.TrimRight(word, punctuation); word == "" {
		return "", 0, nil
	}
	return "", 0, r.agents.Unknown(clip(word))
}

// agent reads the name of an agent that there is, whose @ stands before at. It
// prefers the longer reading: folder:name before a name with a colon after it.
func (r *reader) agent(at int) (name string, end int, ok bool) {
	plain := at + len(nameOf(r.text[at:]))
	for _, end := range []int{r.qualifiedEnd(at), plain} {
		if end == at || end < 0 || !ends(r.text[end:]) {
			continue
		}
		if name := r.text[at:end]; name == Auto || r.agents.Has(name) {
			return name, end, true
		}
	}
	return "", 0, false
}

// maxWord bounds folder:name, in bytes, so that a long word with many @ costs no
// more than its length.
const maxWord = 256

// qualifiedEnd returns where folder:name ends, -1 where there is none: a folder may
// be called almost anything, so it is all up to the last colon of the word.
func (r *reader) qualifiedEnd(at int) int {
	word := r.text[at:min(at+maxWord, len(r.text))]
	if i := strings.IndexFunc(word, unicode.IsSpace); i >= 0 {
		word = word[:i]
	}
	for colon := strings.LastIndexByte(word, ':'); colon > 0; colon = strings.LastIndexByte(word[:colon], ':') {
		if name := nameOf(word[colon+1:]); name != "" {
			return at + colon + 1 + len(name)
		}
	}
	return -1
}

// nameOf returns the agent's name that a text begins with (spec 1.2), "" for
// none.
func nameOf(s string) string {
	i := 0
	for i < len(s) && ((s[i] >= 'a' && s[i] <= 'z') || (i > 0 &&
		((s[i] >= '0' && s[i] <= '9') || s[i] == '-' || s[i] == '_'))) {
		i++
	}
	return strings.TrimRight(s[:i], "-_")
}

// looksLikeName reports whether a text begins with what could name somebody.
func looksLikeName(s string) bool {
	c, _ := utf8.DecodeRuneInString(s)
	return unicode.IsLetter(c) || unicode.IsDigit(c)
}

// ends reports whether a name may end before rest: what follows is not more of
// an address, a path, a call or another name.
func ends(rest string) bool {
	c, n := utf8.DecodeRuneInString(rest)
	switch {
	case rest == "" || unicode.IsSpace(c) || strings.ContainsRune(quotes+")]}>`*|", c):
		return true
	case strings.ContainsRune(punctuation, c):
		next, _ := utf8.DecodeRuneInString(rest[n:])
		return rest[n:] == "" || (!letter(next) && !unicode.IsDigit(next) && !strings.ContainsRune("/@_", next))
	}
	return c >= utf8.RuneSelf && c != utf8.RuneError && !letter(c)
}

// begins reports whether a mention may begin after before: an @ in a word is an
// address.
func begins(before string) bool {
	c, _ := utf8.DecodeLastRuneInString(before)
	return before == "" || (!letter(c) && !unicode.IsDigit(c) && !strings.ContainsRune(`._%+-/\@=&#$`, c))
}

// letter reports whether c is of a script that separates words, in which a name
// that touches a letter is part of a longer word. Chinese, Japanese and Thai put
// no space there.
func letter(c rune) bool {
	return unicode.IsLetter(c) && !unicode.In(c, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai,
		unicode.Lao, unicode.Khmer)
}

// strategy reads --strategy=… after @auto.
func (r *reader) strategy() (string, error) {
	r.skipSpace()
	rest, ok := strings.CutPrefix(r.rest(), "--strategy")
	if !ok || (rest != "" && rest[0] != '=' && !unicode.IsSpace(rune(rest[0]))) {
		return "", nil
	}
	value := strings.TrimPrefix(rest, "=")
	if i := strings.IndexFunc(value, unicode.IsSpace); i >= 0 {
		value = value[:i]
	}
	if (value != "rule" && value != "llm" && value != "hybrid") || rest[0] != '=' {
		return "", fault.New(fault.Invalid, "mention.parse", "--strategy is %q; write --strategy=rule, =llm or =hybrid",
			clip(value))
	}
	r.at += len("--strategy=") + len(value)
	return value, nil
}

// quotes are what may stand around a text; pairs has each with its partner.
const quotes = `"'“”‘’«»「」『』`

var pairs = map[rune]rune{'"': '"', '\'': '\'', '“': '”', '‘': '’', '«': '»', '「': '」', '『': '』'}

// trimQuotes returns what is inside the quotes that stand around text[from:to],
// false where none do: with another such quote inside, they stand around a part. In
// double quotes \" is no quote; prompt takes the backslash away.
func (r *reader) trimQuotes(from, to int) (int, int, bool) {
	open, n := utf8.DecodeRuneInString(r.text[from:to])
	shut, ok := pairs[open]
	if !ok || from+n > to || !strings.HasSuffix(r.text[from+n:to], string(shut)) {
		return 0, 0, false
	}
	inner := r.text[from+n : to-utf8.RuneLen(shut)]
	if open == '"' {
		if inner = strings.ReplaceAll(inner, `\"`, ""); strings.HasSuffix(inner, `\`) {
			return 0, 0, false // the last one is part of the text
		}
	}
	if strings.ContainsRune(inner, open) || strings.ContainsRune(inner, shut) {
		return 0, 0, false
	}
	return from + n, to - utf8.RuneLen(shut), true
}

// prompt returns the text up to end without the backslashes that kept an @ from
// naming somebody, and whom it mentions. What is between backticks is copied as it is.
func (r *reader) prompt(end int) (string, []Mention) {
	var b strings.Builder
	var found []Mention
	for i := r.at; i < end; {
		switch {
		case r.text[i] == '`':
			to := min(code(r.text[:end], i), end)
			b.WriteString(r.text[i:to])
			i = to
		case strings.HasPrefix(r.text[i:end], `\@`) && (i == r.escaped || r.names(i+1, i)):
			b.WriteByte('@')
			i += 2
		case r.quote && strings.HasPrefix(r.text[i:end], `\"`):
			b.WriteByte('"')
			i += 2
		case r.text[i] == '@' && r.names(i, i):
			_, to, _ := r.agent(i + 1)
			found = append(found, Mention{r.text[i+1 : to], i, to})
			b.WriteString(r.text[i:to])
			i = to
		default:
			b.WriteByte(r.text[i])
			i++
		}
	}
	return strings.TrimFunc(b.String(), unicode.IsSpace), found
}

// names reports whether the @ at at, with what is before it ending at before,
// would name an agent. @auto names none in a text.
func (r *reader) names(at, before int) bool {
	if !begins(r.text[:before]) {
		return false
	}
	name, _, ok := r.agent(at + 1)
	return ok && name != Auto
}

// code returns where the backticks that begin at i end: after their partner, or
// after themselves where they have none.
func code(text string, i int) int {
	n := len(text[i:]) - len(strings.TrimLeft(text[i:], "`"))
	for j := i + n; ; {
		next := strings.IndexByte(text[j:], '`')
		if next < 0 {
			return i + n
		}
		j += next
		m := len(text[j:]) - len(strings.TrimLeft(text[j:], "`"))
		if j += m; m == n {
			return j
		}
	}
}

// clip bounds what is quoted of a person's text.
func clip(s string) string {
	if r := []rune(s); len(r) > 64 {
		return string(r[:63]) + "…"
	}
	return s
}
