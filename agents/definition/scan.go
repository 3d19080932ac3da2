package definition

// What is looked for in the whole text of a file: credentials and characters
// that a reader does not see.

import (
	"encoding/binary"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"
)

// secretBytes marks what credentials are made of.
var secretBytes = byteSet("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.")

// byteSet returns a table of the bytes of a text.
func byteSet(members string) (set [256]bool) {
	for i := range len(members) {
		set[members[i]] = true
	}
	return set
}

// secretShapes are the beginnings of well-known credentials, with how many
// characters follow at least.
var secretShapes = []struct {
	prefix string
	least  int
	what   string
}{
	{"AKIA", 16, "an AWS access key"},
	{"ASIA", 16, "an AWS access key"},
	{"AIza", 30, "a Google API key"},
	{"GOCSPX-", 20, "a Google client secret"},
	{"ya29.", 30, "a Google access token"},
	{"ghp_", 30, "a GitHub token"},
	{"gho_", 30, "a GitHub token"},
	{"ghu_", 30, "a GitHub token"},
	{"ghs_", 30, "a GitHub token"},
	{"ghr_", 30, "a GitHub token"},
	{"github_pat_", 30, "a GitHub token"},
	{"glpat-", 16, "a GitLab token"},
	{"sk-ant-", 20, "an Anthropic key"},
	{"sk-proj-", 20, "an OpenAI key"},
	{"sk-", 32, "an API key"},
	{"sk_live_", 16, "a Stripe key"},
	{"rk_live_", 16, "a Stripe key"},
	{"xoxb-", 16, "a Slack token"},
	{"xoxp-", 16, "a Slack token"},
	{"xoxa-", 16, "a Slack token"},
	{"xapp-", 16, "a Slack token"},
	{"hf_", 30, "a Hugging Face token"},
	{"npm_", 30, "an npm token"},
	{"pypi-", 40, "a PyPI token"},
	{"SG.", 40, "a SendGrid key"},
	{"dop_v1_", 40, "a DigitalOcean token"},
	{"eyJ", 60, "a JSON web token"},
}

// secrets reports what looks like a credential (agent/secret).
// Only words of at least 20 such characters are compared with the shapes, and maxRepeats
// findings are made at most.
func (r *reader) secrets() {
	const shortest = 20
	s, told := r.text.src, 0
	for i := 0; i+shortest <= len(s) && told < maxRepeats; {
		// Looked at from its end, most of a text need not be looked at.
		last := i + shortest - 1
		for last >= i && secretBytes[s[last]] {
			last--
		}
		if last >= i {
			i = last + 1
			continue
		}
		start := i
		for i += shortest; i < len(s) && secretBytes[s[i]]; i++ {
		}
		if what := secretShape(s[start:i]); what != "" {
			told++
			r.report("agent/secret", Warning, start, i,
				fmt.Sprintf("This looks like %s; keep credentials in the environment or a keyring, and revoke this one if it was shared.", what))
		}
	}
	if !strings.Contains(s, "PRIVATE KEY-----") {
		return
	}
	if at := privateKeyIn(s); at != nil {
		r.report("agent/secret", Warning, at[0], lineEnd(s, at[0]),
			"This looks like a private key; keep it out of agent files, and replace it if it was shared.")
	}
}

// privateKey is a key with its head. The head alone, or an expression for one, is
// what agents are told to look for. It is compiled when a text has such a head: that
// takes memory and time which a start need not spend.
var privateKey = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY-----(?:[\s>]|\\[nr])*(?:[A-Za-z-]{1,30}: [^\n]{0,200}\n[\s>]*)*[A-Za-z0-9+/=]{32}`)
})

// privateKeyIn returns where a text holds a private key; nil where it holds none.
func privateKeyIn(text string) []int {
	if !strings.Contains(text, "PRIVATE KEY-----") {
		return nil
	}
	return privateKey().FindStringIndex(text)
}

// SecretIn says what credential a text seems to hold, as "a GitHub token"; "" for none.
func SecretIn(text string) string {
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return r >= 0x80 || !secretBytes[r] }) {
		if what := secretShape(word); what != "" {
			return what
		}
	}
	if privateKeyIn(text) != nil {
		return "a private key"
	}
	return ""
}

// secretShape says what a word looks like, or "". Words without a digit are
// prose or placeholders.
// A word is judged by its prefix, its length and how many different characters it has.
func secretShape(word string) string {
	for _, shape := range secretShapes {
		rest, ok := strings.CutPrefix(word, shape.prefix)
		if !ok || len(rest) < shape.least {
			continue
		}
		if shape.prefix == "eyJ" && strings.Count(word, ".") != 2 {
			continue
		}
		if strings.HasSuffix(rest, "EXAMPLE") && shape.what == "an AWS access key" {
			continue // AKIAIOSFODNN7EXAMPLE, as AWS documents it
		}
		if strings.ContainsAny(rest, "0123456789") && varied(rest) {
			return shape.what
		}
	}
	return ""
}

// varied reports whether a word has more than a few different characters, which
// placeholders such as xxxx have not.
func varied(word string) bool {
	var seen [256]bool
	n := 0
	for i := range len(word) {
		if !seen[word[i]] {
			seen[word[i]] = true
			n++
		}
	}
	return n >= 8
}

// checkHiddenText reports runs of characters that are not seen (agent/hidden-text).
// ASCII is passed over eight bytes at a time, since that is nearly all of a file.
// Joiners in scripts and emoji that need them, a byte order mark at the start and the
// flags made of tags are no finding.
func (r *reader) checkHiddenText() {
	s, data, told := r.text.src, r.source.Data, 0
	for i := 0; i < len(s) && told < maxRepeats; {
		if s[i] < 0x80 {
			i++
			// data has the bytes of s, of which eight can be read at once.
			for i+8 <= len(data) && binary.LittleEndian.Uint64(data[i:])&0x8080808080808080 == 0 {
				i += 8
			}
			continue
		}
		c, size := utf8.DecodeRuneInString(s[i:])
		what := hiddenKind(c)
		if what == "" || i == 0 || (c == '\u200d' && joins(s[:i], s[i+size:])) ||
			(c == '\u200c' && joins(s[:i], s[i+size:])) {
			i += size
			continue
		}
		if c >= 0xE0020 && c <= 0xE007F {
			// The flags of England, Scotland and Wales are a black flag and tags.
			if n := flagTags(s, i); n > 0 {
				i += n
				continue
			}
		}
		start := i
		for i < len(s) {
			next, n := utf8.DecodeRuneInString(s[i:])
			if hiddenKind(next) == "" {
				break
			}
			i += n
		}
		told++
		r.report("agent/hidden-text", Warning, start, i,
			fmt.Sprintf("There is %s here (U+%04X), which a reader does not see; remove it.", what, c))
	}
}

// hiddenKind says what kind of unseen character c is, or "".
func hiddenKind(c rune) string {
	switch {
	case c >= 0x202A && c <= 0x202E, c >= 0x2066 && c <= 0x2069, c == 0x200E, c == 0x200F, c == 0x061C:
		return "a bidirectional control"
	case c >= 0x200B && c <= 0x200D, c >= 0x2060 && c <= 0x2064, c == 0xFEFF, c == 0x180E, c == 0x034F,
		c == 0x3164, c == 0xFFA0:
		return "a zero-width character"
	case c >= 0xE0000 && c <= 0xE007F:
		return "a tag character"
	case c >= 0xE0100 && c <= 0xE01EF:
		return "a variation selector without a letter"
	}
	return ""
}

// joins reports whether a joiner stands where scripts and emoji need one: between
// two characters beyond ASCII that are seen.
//
// What is below U+0300 needs no joiner, so one there is a finding.
func joins(before, after string) bool {
	a, _ := utf8.DecodeLastRuneInString(before)
	b, _ := utf8.DecodeRuneInString(after)
	return a >= 0x300 && b >= 0x300 && hiddenKind(a) == "" && hiddenKind(b) == "" && a != utf8.RuneError &&
		b != utf8.RuneError && (a < 0x2000 || a > 0x206F) && (b < 0x2000 || b > 0x206F)
}

// flagTags returns the length of the tags at i that end a flag, or 0.
func flagTags(s string, i int) int {
	if !strings.HasSuffix(s[:i], "\U0001F3F4") {
		return 0
	}
	// Up to six tags and the one that ends them, each of four bytes.
	for n := 0; n < 7*4; n += 4 {
		c, _ := utf8.DecodeRuneInString(s[i+n:])
		switch {
		case c == 0xE007F:
			return n + 4
		case c < 0xE0030 || c > 0xE007A:
			return 0
		}
	}
	return 0
}
