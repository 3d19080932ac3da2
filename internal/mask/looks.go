package mask

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
)

// The markers of what looks like a credential.
const (
	credential = "[masked:credential]"
	privateKey = "[masked:private key]"
)

// detector is a trigger, in lower case, and what sees whether a credential is there.
// at is where the trigger begins. see is called with the text behind the last place
// that was found, and returns a place in that.
type detector struct {
	trigger string
	see     func(text []byte, at int, trigger string) (place, bool)
	values  bool // what it finds may have triggers of its own kind in it
}

// looksLike is all that is looked for. To add a form, add a row.
var looksLike = slices.Concat(
	// A name that ends so, and a value.
	values(namedValue, "api_key", "apikey", "api-key", "_access_key", "_secret_key", "_private_key",
		"_token", "_secret", "_password", "_passwd", "_pwd", "token", "secret", "password", "passwd"),
	values(header, "authorization", "bearer "),
	rows(pem, "-----begin "),
	keyLook("AIza", 35, false), // Google
	keyLook("ya29.", 20, false),
	keyLook("ghp_", 30, false), keyLook("gho_", 30, false), keyLook("ghu_", 30, false), keyLook("ghs_", 30, false),
	keyLook("ghr_", 30, false),
	keyLook("github_pat_", 22, false), keyLook("glpat-", 20, false),
	keyLook("xoxb-", 10, true), keyLook("xoxp-", 10, true), keyLook("xoxa-", 10, true), keyLook("xoxr-", 10, true),
	keyLook("xoxs-", 10, true),
	keyLook("npm_", 36, false),
	rows(webToken, "eyja", "eyjh", "eyj0", "eyjr", "eyjj", "eyjl", "eyj4"), // {"al, {"ty, {"ki and so on
)

// short are the forms whose trigger is short: a finder is the faster the longer
// all of its patterns are.
var short = slices.Concat(
	keyLook("sk-", 20, true), // OpenAI, Anthropic and others
	keyLook("hf_", 30, false),
)

// rows makes a detector of each trigger.
func rows(see func([]byte, int, string) (place, bool), triggers ...string) []detector {
	var all []detector
	for _, t := range triggers {
		all = append(all, detector{trigger: t, see: see})
	}
	return all
}

// values is rows for what may find a value with triggers in it.
func values(see func([]byte, int, string) (place, bool), triggers ...string) []detector {
	all := rows(see, triggers...)
	for i := range all {
		all[i].values = true
	}
	return all
}

// triggers finds those of looksLike, by their index.
var triggers = func() *finder {
	var all []pattern
	window := len(looksLike[0].trigger)
	for _, l := range looksLike {
		window = min(window, len(l.trigger))
	}
	for i, l := range looksLike {
		all = append(all, pattern{text: l.trigger, id: i, skip: rarest(l.trigger, window)})
	}
	return newFinder(all, true)
}()

// rarest returns where in a trigger a window begins that ends as few others do. It may
// lie anywhere in the trigger: the finder looks for the window, and compares the rest
// then.
func rarest(trigger string, window int) (skip int) {
	const common = "etaoinsrhldcumfpgwybvkxjqz" // letters of English, the most frequent one first
	best := -1
	for i := 0; i+window <= len(trigger); i++ {
		sum := 0
		for _, c := range []byte(trigger[i+window-2 : i+window]) {
			if n := strings.IndexByte(common, c); n >= 0 {
				sum += n
			} else {
				sum += len(common)
			}
		}
		if sum > best {
			best, skip = sum, i
		}
	}
	return skip
}

// looking returns where text has what looks like a credential, apart and in
// order. In JSON each place lies within a string. It reads a text about once, whatever
// is in it: names and values are walked once each, which is what valued and ended are
// for.
func looking(text []byte) []place {
	var places []place
	valued := 0    // where the last value of a name ends: each is read once, but for a name at its end
	ended := 0     // where the last place ends: behind a marker a name or key begins anew
	var keys []int // where private keys end, in order
	for at := triggers.next(text, 0); at >= 0; at = triggers.next(text, at+1) {
		p := triggers.longest(text, at, most)
		l := looksLike[p.id]
		start, after := at-p.skip, 0
		if l.values && start+len(l.trigger) < valued {
			continue
		}
		if ended <= start {
			after = ended
		}
		if found, ok := l.see(text[after:], start-after, l.trigger); ok {
			found.from, found.to = found.from+after, found.to+after
			places = append(places, found)
			ended = max(ended, found.to)
			if found.mark == privateKey {
				keys = append(keys, found.to)
			}
			if l.values {
				valued = found.from + len(bytes.TrimRight(text[found.from:found.to], ":=> \t"))
			}
		}
	}
	for _, l := range short {
		trigger := []byte(l.trigger)
		for at := bytes.Index(text, trigger); at >= 0; {
			after := 0
			// Behind a private key a word begins anew, since a marker takes the key's
			// place.
			if _, ok := slices.BinarySearch(keys, at); ok {
				after = at
			}
			if found, ok := l.see(text[after:], at-after, l.trigger); ok {
				found.from, found.to = found.from+after, found.to+after
				places = append(places, found)
			}
			next := bytes.Index(text[at+1:], trigger)
			if next < 0 {
				break
			}
			at += 1 + next
		}
	}
	if len(places) == 0 {
		return nil
	}
	if all := literalsOf(text); all != nil {
		// A quote behind a name may be the end of a string, and a number its value.
		places = slices.DeleteFunc(places, func(p place) bool { return !all.allows(p, &pattern{}) })
	}
	slices.SortStableFunc(places, func(a, b place) int { return cmp.Compare(a.from, b.from) })
	apart := places[:0]
	for _, p := range places {
		apart = join(apart, p)
	}
	return apart
}

// keyLook is the form of keys that begin with a prefix and go on with at least
// some characters, a digit among them where that is asked for.
func keyLook(prefix string, least int, digit bool) []detector {
	return rows(func(text []byte, at int, _ string) (place, bool) {
		if !bytes.HasPrefix(text[at:], []byte(prefix)) || !begins(text, at) {
			return place{}, false
		}
		from := at + len(prefix)
		to := from + run(text[from:], isToken)
		if to-from < least || (digit && !bytes.ContainsFunc(text[from:to],
			func(r rune) bool { return isDigit(byte(r)) })) {
			return place{}, false
		}
		return place{at, to, credential}, true
	}, strings.ToLower(prefix))
}

// webToken is a JSON Web Token: three parts in base64, the first two of which
// begin with a brace.
func webToken(text []byte, at int, _ string) (place, bool) {
	if !bytes.HasPrefix(text[at:], []byte("eyJ")) || !begins(text, at) {
		return place{}, false
	}
	to := at + run(text[at:], isToken)
	if !bytes.HasPrefix(text[to:], []byte(".eyJ")) {
		return place{}, false
	}
	to += 1 + run(text[to+1:], isToken)
	if to+1 >= len(text) || text[to] != '.' || !isToken(text[to+1]) {
		return place{}, false
	}
	return place{at, to + 1 + run(text[to+1:], isToken), credential}, true
}

// begins reports whether a word can begin at a place, which an escape of JSON may
// end before. A key in the middle of a longer word is part of something else.
func begins(text []byte, at int) bool {
	if _, _, cut := escapeAcross(text, at); cut {
		return false
	}
	return at == 0 || !isToken(text[at-1]) || escapeBefore(text, at)
}

// isToken is what keys are made of.
func isToken(c byte) bool { return isLetter(c) || isDigit(c) || c == '_' || c == '-' }

// run returns how many bytes at the beginning of text are of a kind.
func run(text []byte, is func(byte) bool) int {
	for i, c := range text {
		if !is(c) {
			return i
		}
	}
	return len(text)
}

// namedValue is a value after a name: NAME=value, name: "value", "name":"value". The
// name of an API key may be written in any way, others as variables of the
// environment are: "token: next" is code.
func namedValue(text []byte, at int, trigger string) (place, bool) {
	start, end := at, at+len(trigger)
	if end < len(text) && isToken(text[end]) {
		return place{}, false // the name goes on; looked at first, since a name has one end and is walked once
	}
	for start > 0 && isToken(text[start-1]) && !escapeBefore(text, start) {
		start--
	}
	name := text[start:end]
	if !strings.HasPrefix(trigger, "api") && bytes.ContainsFunc(name,
		func(r rune) bool { return ('a' <= r && r <= 'z') || r == '-' }) {
		return place{}, false
	}
	inQuotes := quote(text, end)
	i := end + inQuotes
	i += run(text[i:], isBlank)
	if i == len(text) || (text[i] != '=' && text[i] != ':') {
		return place{}, false
	}
	for i < len(text) && (text[i] == '=' || text[i] == ':' || text[i] == '>') {
		i++
	}
	i += run(text[i:], isBlank)
	opening := quote(text, i)
	if inQuotes > 0 && opening == 0 {
		return place{}, false // a member that is no string
	}
	from := i + opening
	if from < len(text) && strings.IndexByte("$<{%*[(", text[from]) >= 0 {
		return place{}, false // a place to fill in
	}
	is := func(c byte) bool { return c >= ' ' && c != '"' && c != '\\' && c != '\'' }
	if opening == 0 {
		is = isBare // what follows a value without quotes is not read with each
	}
	to := from + run(text[from:], is)
	if opening == 0 {
		if to-from <= mostCode && ((to < len(text) && (text[to] == '(' || text[to] == '[')) || isPath(text[from:to])) {
			return place{}, false // code that says where the value is
		}
	}
	return place{from, to, credential}, to-from >= leastNamed
}

const (
	leastNamed = 4   // of a value whose name says that it is secret
	mostCode   = 256 // what is longer is no name of a program's
)

// quote returns the length of a quote at a place, with the backslashes before
// it; 0 for none.
func quote(text []byte, at int) int {
	n := run(text[at:], func(c byte) bool { return c == '\\' })
	if at+n < len(text) && (text[at+n] == '"' || text[at+n] == '\'') {
		return n + 1
	}
	return 0
}

// isBlank reports a blank or a tab.
func isBlank(c byte) bool { return c == ' ' || c == '\t' }

// isBare is what a value without quotes is made of.
func isBare(c byte) bool {
	return c > ' ' && c < 0x7f && strings.IndexByte("\"'\\,;()[]{}<>&|`", c) < 0
}

// isPath reports whether a value is a name of a program's: process.env.KEY.
func isPath(value []byte) bool {
	dots := 0
	for _, c := range value {
		if c == '.' {
			dots++
		} else if !isLetter(c) && c != '_' {
			return false
		}
	}
	return dots > 0
}

// header is what follows Bearer, or the name of the header and a scheme. What is shorter
// than a credential, or could be a word, is none.
func header(text []byte, at int, trigger string) (place, bool) {
	i := at + len(trigger)
	if trigger == "authorization" {
		i += quote(text, i)
		i += run(text[i:], isBlank)
		if i == len(text) || (text[i] != ':' && text[i] != '=') {
			return place{}, false
		}
		i++
		i += run(text[i:], isBlank)
		i += quote(text, i)
		if scheme := run(text[i:], isLetter); scheme > 0 && i+scheme < len(text) && text[i+scheme] == ' ' {
			i += scheme
		}
	}
	i += run(text[i:], isBlank)
	to := i + run(text[i:], isCredential)
	digit := bytes.ContainsFunc(text[i:to], func(r rune) bool { return isDigit(byte(r)) })
	if to-i < Least || (!digit && to-i < 20) {
		return place{}, false // "bearer authentication" is English
	}
	return place{i, to, credential}, true
}

// isCredential is what RFC 6750 and RFC 7617 let a header have.
func isCredential(c byte) bool { return isToken(c) || strings.IndexByte(".~+/=", c) >= 0 }

// pem is a private key. A text that only speaks of one has none. The end of the key
// belongs to it where it is there; a key that is cut off is one all the same.
func pem(text []byte, at int, trigger string) (place, bool) {
	i := at + len(trigger)
	i += run(text[i:], func(c byte) bool { return ('A' <= c && c <= 'Z') || c == ' ' })
	if !bytes.HasSuffix(text[at:i], []byte("PRIVATE KEY")) || !bytes.HasPrefix(text[i:], []byte("-----")) {
		return place{}, false
	}
	i += len("-----")
	to, key := i, 0
	for to < len(text) {
		c := text[to]
		if isLetter(c) || isDigit(c) || c == '+' || c == '/' || c == '=' {
			key++
		} else if c != ' ' && c != '\t' && c != '\r' && c != '\n' && c != '\\' {
			break
		}
		to++
	}
	if key < 32 {
		return place{}, false
	}
	if rest := text[to:min(len(text), to+128)]; bytes.HasPrefix(rest, []byte("-----END ")) {
		if end := bytes.Index(rest[9:], []byte("-----")); end >= 0 && bytes.IndexByte(rest[:9+end], '"') < 0 {
			to += 9 + end + len("-----")
		}
	} else {
		for to > i && text[to-1] == '\\' { // of the quote that follows
			to--
		}
	}
	return place{at, to, privateKey}, true
}
