package mask

import (
	"bytes"
	"encoding/json"
	"net/url"
	"regexp"
	"strings"
)

// SecretsOfFile returns the secrets of a credential file by the names that they have in it, "" for
// none: of assignments (.env, INI, YAML), JSON, the words of .netrc, the lines of keys, and the
// parts of URLs and connection strings in these. What is of words and numbers is secret only where
// its name says so, and no value is one that [Telling] does not tell. A file with a byte 0 is no
// text and has none.
//
// It never fails: a file of an unknown form is read by its lines. A value may be there twice, and
// under several names. It needs memory for several copies of the file, whose size the caller
// bounds.
func SecretsOfFile(data []byte) map[string][]string {
	found := make(map[string][]string)
	if bytes.IndexByte(data, 0) >= 0 {
		return found
	}
	data = bytes.ToValidUTF8(data, []byte("\uFFFD")) // as what commands print is
	var document any
	if json.Unmarshal(data, &document) == nil {
		stringsOf("", document, func(name, value string) { addSecrets(found, name, value) })
		return found
	}
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		if isHeading := strings.HasPrefix(line, "-----") || (strings.HasPrefix(line, "[") &&
			strings.HasSuffix(line, "]")); isHeading {
			continue
		}
		line = strings.TrimPrefix(strings.TrimLeft(line, "#;- "), "export ")
		if name, value, ok := assignment(line); ok {
			addSecrets(found, name, value)
			continue
		}
		if isBareName(line) {
			continue
		}
		name := ""
		// As in .netrc, where the word before a value names it.
		for _, word := range strings.Fields(line) {
			addSecrets(found, name, trimQuotes(word))
			name = word
		}
	}
	return found
}

// stringsOf calls do for each string of a JSON value with the name of its member.
// Elements of a list have the name of the list.
func stringsOf(name string, value any, do func(name, value string)) {
	switch value := value.(type) {
	case map[string]any:
		for member, v := range value {
			stringsOf(member, v, do)
		}
	case []any:
		for _, v := range value {
			stringsOf(name, v, do)
		}
	case string:
		do(name, value)
	}
}

// addSecrets adds what is secret in a value of a credential file. A value is taken
// whole and in its parts, since a program may print either.
func addSecrets(found map[string][]string, name, value string) {
	values := append(SecretsIn(name, value), piecesIn(value)...)
	if !strings.Contains(value, "://") && !isWords(value) {
		values = append(values, value)
	}
	if lines := strings.ReplaceAll(value, `\n`, "\n"); strings.Contains(lines, "\n") { // a program prints it in lines
		values = append(values, strings.Split(lines, "\n")...)
	}
	for _, v := range values {
		if v = strings.TrimSpace(v); Telling(v) && !strings.HasPrefix(v, "-----") {
			found[name] = append(found[name], v)
		}
	}
}

// piecesIn returns the secrets in a URL's path and query, as those of webhooks and
// signed addresses, and in name=value pairs, as those of connection strings. They are
// returned as written and, where that differs, decoded.
func piecesIn(value string) []string {
	var pieces []string
	add := func(name, piece string) {
		decoded, err := url.PathUnescape(piece)
		if err != nil {
			decoded = piece
		}
		if isSlug(decoded) && !SaysSecret(name, "") {
			return
		}
		pieces = append(pieces, piece)
		if decoded != piece {
			pieces = append(pieces, decoded)
		}
	}
	for _, field := range strings.FieldsFunc(value, func(r rune) bool { return r == ';' || r == ' ' }) {
		_, address, isURL := strings.Cut(field, "://")
		if !isURL {
			if name, v, ok := strings.Cut(field, "="); ok {
				add(name, v)
			}
			continue
		}
		address, query, _ := strings.Cut(address, "?")
		host, path, _ := strings.Cut(address, "/")
		for segment := range strings.SplitSeq(path, "/") {
			if host != "" { // else it is the path of a file
				add("", segment)
			}
		}
		for parameter := range strings.SplitSeq(query, "&") {
			name, v, _ := strings.Cut(parameter, "=")
			add(name, v)
		}
	}
	return pieces
}

// version is a number at the end of a word, as in graphql-v2 and k8s.
var version = regexp.MustCompile(`([A-Za-z])[0-9]{1,4}s?(_|\b)`)

// isSlug reports whether a part of an address is of words, which may have numbers. Such
// a part names something and is secret only where its parameter's name says so.
func isSlug(part string) bool { return isWords(version.ReplaceAllString(part, "$1$2")) }

// variable is a name at the end of what stands before = or :, as in
// //registry.npmjs.org/:_authToken=.
var variable = regexp.MustCompile(`^(?://\S*[/:])?["']?([A-Za-z_][\w.-]*)["']?[ \t]*$`)

// assignment takes a line apart that gives a name a value. = is tried before :, so that
// a value may have the other.
func assignment(line string) (name, value string, ok bool) {
	for _, sign := range []string{"=", ":"} {
		before, after, found := strings.Cut(line, sign)
		m := variable.FindStringSubmatch(before)
		isURL := sign == ":" && strings.HasPrefix(after, "//")
		if found && m != nil && !isURL && strings.Trim(after, "= \t") != "" {
			return m[1], trimQuotes(after), true
		}
	}
	return "", "", false
}

// isBareName reports whether a line is a name that is given no value, as NAME= or
// name:, and not the end of a key in base64.
func isBareName(line string) bool {
	name := strings.TrimRight(line, "=: \t")
	if name == line || !variable.MatchString(name) {
		return false
	}
	return len(line) < wordy || strings.ContainsAny(name, "_-") || strings.HasSuffix(line, ":") || isWords(name)
}

// trimQuotes returns a value without its quotes, or without the comment behind it.
func trimQuotes(value string) string {
	value = strings.TrimSpace(value)
	if value == "" {
		return ""
	}
	if q := value[:1]; q == `"` || q == "'" {
		inner, _, _ := strings.Cut(value[1:], q)
		return inner
	}
	value, _, _ = strings.Cut(value, " #")
	return strings.TrimRight(strings.TrimSpace(value), ",;")
}
