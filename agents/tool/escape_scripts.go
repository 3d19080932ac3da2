package tool

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// maxLookalikes is how many words are named; more are counted.
const maxLookalikes = 10

// Lookalikes returns what in texts looks like something else, a line for a
// person each (SEC-75): words of mixed scripts, words of another script whose
// letters all look Latin, signs that look like others, and what hosts with other
// letters than ASCII's are called on the wire. Words are what stands between
// blanks, quotes and the signs of paths and addresses; nothing of it is folded.
func Lookalikes(texts ...string) []string {
	var found []string
	add := func(line string) {
		if !slices.Contains(found, line) {
			found = append(found, line)
		}
	}
	for _, text := range texts {
		if isASCII(text) && !strings.Contains(strings.ToLower(text), "xn--") {
			continue
		}
		for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune("\"'`()<>[]{},;|&=", r) }) {
			lookalikes(word, add)
		}
	}
	if more := len(found) - maxLookalikes; more > 0 {
		found = append(found[:maxLookalikes], fmt.Sprintf("and %d more such words", more))
	}
	return found
}

func lookalikes(word string, add func(string)) {
	shown := Escape(word)
	for _, r := range word {
		is, ok := signs[r]
		if !ok && r >= 0xff01 && r <= 0xff5e {
			is.like, is.name, ok = string(r-0xff01+'!'), "fullwidth", true
		}
		if ok {
			add(fmt.Sprintf("looks like %s and is U+%04X (%s) in %s", is.like, r, is.name, shown))
		}
	}
	for _, label := range strings.FieldsFunc(word, func(r rune) bool { return strings.ContainsRune("/.:@-_\\#?!+~*%$^", r) }) {
		if text := mixed(label); text != "" {
			add("mixed scripts: " + text + " in " + shown)
		} else if script := disguised(label); script != "" {
			add(fmt.Sprintf("looks Latin and is %s: %s in %s", script, Escape(label), shown))
		}
	}
	if host := hostIn(word); host != "" {
		// Neither form is refused here: what cannot be converted is shown as it is.
		if wire, err := idna.Punycode.ToASCII(host); err == nil && wire != host {
			add(fmt.Sprintf("host %s is %s", Escape(host), Escape(wire)))
		} else if wide, err := idna.Punycode.ToUnicode(host); err == nil && wide != host {
			add(fmt.Sprintf("host %s reads %s", Escape(host), Escape(wide)))
			lookalikes(wide, add)
		}
	}
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

// mixed returns which letters of a word are of another script than its others;
// "" where all are of one, or of those that Japanese and Korean are written in.
func mixed(label string) string {
	by := map[string][]rune{}
	for _, r := range label {
		if s := scriptOf(r); s != "" && !slices.Contains(by[s], r) {
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
	for _, s := range scripts {
		if s == "Latin" && len(by) > 1 {
			continue
		}
		for _, r := range by[s] {
			foreign = append(foreign, fmt.Sprintf("%s (%s)", Escape(string(r)), s))
		}
	}
	return strings.Join(foreign, ", ")
}

// disguised returns the script of a word that is not Latin and whose letters all
// look so; "" for others.
func disguised(label string) string {
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
	0x212a: {"K", "kelvin sign"}, 0x212b: {"Å", "angstrom sign"}, 0x2044: {"/", "fraction slash"}, 0x2215: {"/", "division slash"}, 0x29f8: {"/", "big solidus"}, 0x2216: {`\`, "set minus"}, 0x3002: {".", "ideographic full stop"}, 0xff61: {".", "halfwidth full stop"}, 0x2024: {".", "one dot leader"}, 0xa789: {":", "modifier colon"}, 0x2236: {":", "ratio"}, 0x2010: {"-", "hyphen"}, 0x2011: {"-", "non-breaking hyphen"},
	0x2012: {"-", "figure dash"}, 0x2212: {"-", "minus sign"},
	0x017f: {"s", "long s"}, 0x0131: {"i", "dotless i"}, 0x037e: {";", "greek question mark"}, 0x01c0: {"|", "dental click"},
}

// scripts are those that letters are told apart by, the commonest first.
var scripts = []string{"Latin", "Cyrillic", "Greek", "Armenian", "Cherokee", "Coptic", "Georgian", "Hebrew", "Arabic", "Devanagari", "Thai", "Han", "Hiragana", "Katakana", "Hangul", "Bopomofo", "Lisu", "Deseret", "Glagolitic", "Runic"}

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

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}
