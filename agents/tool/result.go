package tool

import (
	"cmp"
	"fmt"
	"net/url"
	"path"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// MaxResult is how many characters of a result a model gets (spec 3.4).
const MaxResult = 40_000

// Cut returns s as a model gets it, and whether that is not all of it: what is
// longer than [MaxResult] characters is cut in the middle, on the boundaries of
// characters, and says how much is missing.
//
// The result has at most MaxResult characters, the note included.
func Cut(s string) (string, bool) { return CutTo(s, MaxResult) }

// CutTo is [Cut] with another limit, in characters.
func CutTo(s string, limit int) (string, bool) {
	if len(s) <= limit {
		return s, false // a character has at least one byte
	}
	total := utf8.RuneCountInString(s)
	if total <= limit {
		return s, false
	}
	note := func(missing int) string {
		return fmt.Sprintf("\n[… %d of %d characters are left out here …]\n", missing, total)
	}
	keep := max(0, limit-utf8.RuneCountInString(note(total)))
	head := keep / 2
	tail := keep - head
	return s[:offset(s, head)] + note(total-keep) + s[len(s)-offsetEnd(s, tail):], true
}

// offset returns how many bytes the first n characters of s have.
func offset(s string, n int) int {
	i := 0
	for ; n > 0 && i < len(s); n-- {
		_, size := utf8.DecodeRuneInString(s[i:])
		i += size
	}
	return i
}

// offsetEnd returns how many bytes the last n characters of s have.
func offsetEnd(s string, n int) int {
	i := len(s)
	for ; n > 0 && i > 0; n-- {
		_, size := utf8.DecodeLastRuneInString(s[:i])
		i -= size
	}
	return len(s) - i
}

// Count returns a number with what it counts: "1 line", "2 lines".
func Count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// URI returns the file URI of an absolute path.
// It is encoded as a URI has to be; a client may spell the same path otherwise,
// so URIs are compared as paths.
func URI(path string) string {
	p := filepath.ToSlash(path)
	if !strings.HasPrefix(p, "/") {
		p = "/" + p // a volume's letter
	}
	return (&url.URL{Scheme: "file", Path: p}).String()
}

// FileName returns the name of a file as people know it, by its URI, safe to be shown: "a b.go",
// not "a%20b.go". Of another URI it is the last part.
func FileName(uri string) string {
	return Escape(path.Base(cmp.Or(filepath.ToSlash(PathOf(uri)), uri)))
}

// PathOf returns the absolute path of a file URI; "" for what is none.
func PathOf(uri string) string {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" || u.Host != "" || !strings.HasPrefix(u.Path, "/") {
		return ""
	}
	if len(u.Path) > 2 && u.Path[2] == ':' && filepath.Separator == '\\' {
		return filepath.FromSlash(u.Path[1:])
	}
	return filepath.FromSlash(u.Path)
}

// CutLine returns the first limit characters of s, and whether that is all.
func CutLine(s string, limit int) (string, bool) {
	if len(s) <= limit {
		return s, true
	}
	n := offset(s, limit)
	return s[:n], n == len(s)
}
