package tool

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// The limits of what is named.
const (
	maxLookalikes = 10  // words; more are counted
	maxShown      = 200 // bytes of a longer word on each side of what is told of it
	maxLetters    = 20  // letters of other scripts in a word; more are counted
	maxHost       = 253 // bytes of a name in the DNS
)

// Lookalikes returns what in texts looks like something else, a line for a
// person each (SEC-75): words of mixed scripts, words of another script whose
// letters all look Latin, signs that look like others, and what hosts with other
// letters than ASCII's are called on the wire. Words are what stands between
// blanks, quotes and the signs of paths and addresses; nothing of it is folded.
// All is looked at, in a time that grows as the texts do; of long words what
// stands around is shown, and of hosts that are too long to be any it is said so.
func Lookalikes(texts ...string) []string {
	f := findings{words: map[string]int{}, told: map[told]bool{}}
	for _, text := range texts {
		if isASCII(text) && !strings.Contains(strings.ToLower(text), "xn--") {
			continue
		}
		for word := range strings.FieldsFuncSeq(text, func(r rune) bool {
			return unicode.IsSpace(r) ||
				strings.ContainsRune("\"'`()<>[]{},;|&=", r)
		}) {
			f.look(word)
		}
	}
	if f.more > 0 {
		f.lines = append(f.lines, fmt.Sprintf("and %d more such words", f.more))
	}
	return f.lines
}

// findings are what was looked at, and what there is to tell of it.
//
// Words are numbered so that the memory for what was told does not grow with their
// length: a text of a megabyte can be one word.
type findings struct {
	words map[string]int // their numbers
	told  map[told]bool
	lines []string // at most maxLookalikes
	more  int      // things to tell that are not in lines
}

// told is one thing that was told: what, and the number of the word in which it is.
type told struct {
	what string
	word int
}

// tell tells something once. line makes the text that a person reads.
func (f *findings) tell(what string, word int, line func() string) {
	switch one := (told{what, word}); {
	case f.told[one]:
	case len(f.lines) < maxLookalikes:
		f.told[one] = true
		f.lines = append(f.lines, line())
	default:
		f.told[one] = true
		f.more++
	}
}

// look looks at one word.
// A word in ASCII can look like nothing else, unless it is the name of a host in
// Punycode. Each word is looked at once, and each finding told once, with the number
// of the word that it was first found in.
func (f *findings) look(word string) {
	if _, known := f.words[word]; known || (isASCII(word) && !strings.Contains(strings.ToLower(word), "xn--")) {
		return
	}
	number := len(f.words)
	f.words[word] = number
	var alike []rune
	for at, r := range word {
		is, ok := signs[r]
		if !ok && r >= 0xff01 && r <= 0xff5e {
			is.like, is.name, ok = string(r-0xff01+'!'), "fullwidth", true
		}
		if ok && !slices.Contains(alike, r) {
			alike = append(alike, r)
			f.tell(string(r), number, func() string {
				return fmt.Sprintf("looks like %s and is U+%04X (%s) in %s", is.like, r, is.name, around(word, at))
			})
		}
	}
	for at, end := 0, 0; at < len(word); at = end + 1 {
		label := word[at:]
		if n := strings.IndexAny(label, `/.:@-_\#?!+~*%$^`); n >= 0 {
			label = label[:n]
		}
		end = at + len(label)
		if text := mixedScript(label); text != "" {
			f.tell("mixed "+text, number, func() string { return "mixed scripts: " + text + " in " + around(word, at) })
		} else if script := disguiseScript(label); script != "" {
			f.tell(label, number, func() string {
				return fmt.Sprintf("looks Latin and is %s: %s in %s", script, around(label, 0), around(word, at))
			})
		}
	}
	f.host(hostIn(word))
}

// host tells what a host is called on the wire, or what is read in its name.
//
// Only names that are not ASCII or have an xn-- part say something.
func (f *findings) host(host string) {
	say := func(form string, args ...any) {
		f.tell("host "+host, -1, func() string { return "host " + around(host, 0) + fmt.Sprintf(form, args...) })
	}
	name := host
	if isASCII(host) {
		if name = strings.ToLower(host); !strings.Contains(name, "xn--") {
			return
		}
	}
	if len(host) > maxHost { // the time that it takes to convert one grows with its square
		say(" is too long to be one (%d bytes)", len(host))
		return
	}
	wire, err := idna.Punycode.ToASCII(name)
	if err == nil && wire != name {
		say(" is %s", Escape(wire))
		return
	}
	wide, errWide := idna.Punycode.ToUnicode(name)
	switch {
	case errWide == nil && wide != name:
		say(" reads %s", Escape(wide))
		f.look(wide)
	case err != nil, errWide != nil:
		say(" cannot be converted to what is looked up")
	}
}

// around returns a word as [Escape] does, or what of a long one stands around a
// place.
func around(word string, at int) string {
	if len(word) <= 2*maxShown {
		return Escape(word)
	}
	from, to := max(0, at-maxShown), min(len(word), at+maxShown)
	for from > 0 && !utf8.RuneStart(word[from]) {
		from--
	}
	for to < len(word) && !utf8.RuneStart(word[to]) {
		to++
	}
	shown := Escape(word[from:to])
	if from > 0 {
		shown = "…" + shown
	}
	if to < len(word) {
		shown += "…"
	}
	return shown
}

// hostIn returns the host in an address, or a word that could be one.
func hostIn(word string) string {
	if _, rest, ok := strings.Cut(word, "://"); ok {
		word = rest
	}
	word, _, _ = strings.Cut(word, "/")
	if n := strings.LastIndexByte(word, '@'); n >= 0 {
		word = word[n+1:]
	}
	word, _, _ = strings.Cut(word, ":")
	if !strings.Contains(strings.Trim(word, "."), ".") {
		return ""
	}
	return word
}

// mixedScript returns which letters of a word are of another script than its others;
// "" where all are of one, or of those that Japanese and Korean are written in.
func mixedScript(label string) string {
	if isASCII(label) {
		return ""
	}
	by, known := map[string][]rune{}, map[rune]bool{}
	for _, r := range label {
		if known[r] {
			continue
		}
		known[r] = true
		if s := scriptOf(r); s != "" {
			by[s] = append(by[s], r)
		}
	}
	together := 0
	for _, s := range []string{"Han", "Hiragana", "Katakana", "Hangul", "Bopomofo"} {
		if len(by[s]) > 0 {
			together++
		}
	}
	if len(by)-max(0, together-1) < 2 {
		return ""
	}
	var foreign []string
	more := 0
	for _, s := range scripts {
		if s == "Latin" && len(by) > 1 {
			continue
		}
		for _, r := range by[s] {
			if len(foreign) == maxLetters {
				more++
				continue
			}
			foreign = append(foreign, fmt.Sprintf("%s (%s)", Escape(string(r)), s))
		}
	}
	if more > 0 {
		foreign = append(foreign, fmt.Sprintf("%d more", more))
	}
	return strings.Join(foreign, ", ")
}

// disguiseScript returns the script of a word that is not Latin and whose letters all
// look so; "" for others.
func disguiseScript(label string) string {
	script := ""
	if utf8.RuneCountInString(label) < 3 { // short words of a language are not meant for others
		return ""
	}
	for _, r := range label {
		if unicode.IsLetter(r) && !strings.ContainsRune(latinLooks, r) {
			return ""
		}
		if s := scriptOf(r); s != "" {
			script = s
		}
	}
	return script
}

// latinLooks are letters of other scripts that look like Latin ones.
const latinLooks = "асеорхуіјѕһԁԛԝӏАВЕКМНОРСТХУЅІЈԌ" + "ονικυρχγαΑΒΕΖΗΙΚΜΝΟΡΤΥΧ" + "օսոհցքԵՕՍ"

// signs are characters that look like an ASCII one. They are of no script, or of
// Latin.
var signs = map[rune]struct{ like, name string }{
	0x212a: {"K", "kelvin sign"}, 0x212b: {"Å", "angstrom sign"}, 0x2044: {"/", "fraction slash"},
	0x2215: {"/", "division slash"}, 0x29f8: {"/", "big solidus"}, 0x2216: {`\`, "set minus"},
	0x3002: {".", "ideographic full stop"}, 0xff61: {".", "halfwidth full stop"}, 0x2024: {".", "one dot leader"},
	0xa789: {":", "modifier colon"}, 0x2236: {":", "ratio"}, 0x2010: {"-", "hyphen"},
	0x2011: {"-", "non-breaking hyphen"},
	0x2012: {"-", "figure dash"}, 0x2212: {"-", "minus sign"},
	0x017f: {"s", "long s"}, 0x0131: {"i", "dotless i"}, 0x037e: {";", "greek question mark"},
	0x01c0: {"|", "dental click"},
}

// scripts are those that letters are told apart by, the commonest first.
var scripts = []string{"Latin", "Cyrillic", "Greek", "Armenian", "Cherokee", "Coptic", "Georgian", "Hebrew", "Arabic",
	"Devanagari", "Thai", "Han", "Hiragana", "Katakana", "Hangul", "Bopomofo", "Lisu", "Deseret", "Glagolitic", "Runic"}

// scriptOf returns the script of a letter; "" for other characters, and for
// letters of no script of the table but ASCII's.
func scriptOf(r rune) string {
	switch {
	case r < 0x80 && unicode.IsLetter(r):
		return "Latin"
	case r < 0x80 || !unicode.IsLetter(r) || isHidden(r):
		return ""
	}
	for _, s := range scripts {
		if unicode.Is(unicode.Scripts[s], r) {
			return s
		}
	}
	return ""
}

// isASCII reports whether s has ASCII characters only.
func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}
