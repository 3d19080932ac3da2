package tool

// Names as file systems compare them (SEC-18).

import (
	"strings"
	"unicode"
)

// foldPath returns the elements of a path as names are compared. A backslash
// separates them too, since it does where the file may come to lie.
func foldPath(path string) []string {
	n := 1
	for i := range len(path) {
		if path[i] == '/' || path[i] == '\\' {
			n++
		}
	}
	parts := make([]string, 0, n)
	for start, i := 0, 0; i <= len(path); i++ {
		if i < len(path) && path[i] != '/' && path[i] != '\\' {
			continue
		}
		if part := path[start:i]; part != "" && part != "." {
			parts = append(parts, fold(part))
		}
		start = i + 1
	}
	return parts
}

// isPlain reports whether a name is the same for each file system: small ASCII
// letters, digits and a few marks.
func isPlain(name string) bool {
	for i := range len(name) {
		switch c := name[i]; {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9', c == '-', c == '_', c == '.':
		default:
			return false
		}
	}
	return name != "" && name[len(name)-1] != '.'
}

// expansions are the letters that become several ones of ASCII where case is
// folded in full (Unicode's CaseFolding.txt, status F), combining marks aside.
var expansions = map[rune]string{
	0x00df: "ss", 0x1e9e: "ss", 0x01f0: "j", 0x1e96: "h", 0x1e97: "t", 0x1e98: "w", 0x1e99: "y",
	0x1e9a: "a", 0x0149: "n",
	0xfb00: "ff", 0xfb01: "fi", 0xfb02: "fl", 0xfb03: "ffi", 0xfb04: "ffl", 0xfb05: "st", 0xfb06: "st",
}

// fold returns the name that some file system takes name for: without case,
// without trailing dots and blanks and streams (Windows), without invisible
// characters and combining marks (HFS+), with the ASCII that full-width and
// compatibility forms stand for, and short names of Windows as the long one.
func fold(name string) string {
	if isPlain(name) {
		return name
	}
	if lower := strings.ToLower(name); isPlain(lower) && isASCII(name) {
		return lower
	}
	if i := strings.IndexByte(name, ':'); i > 0 {
		name = name[:i] // a stream of NTFS, as .git::$DATA
	}
	var b strings.Builder
	for _, r := range name {
		switch {
		case isHidden(r) || isControl(r) || unicode.Is(unicode.Mn, r):
			continue
		case r >= 0xff01 && r <= 0xff5e:
			r -= 0xff01 - '!'
		case r == 0x2024 || r == 0xfe52 || r == 0x3002 || r == 0xff61:
			r = '.'
		case r == 0x3000 || r == 0x00a0:
			r = ' '
		case r == 0x017f:
			r = 's'
		case r == 0x212a:
			r = 'k'
		case r == 0x0130 || r == 0x0131:
			r = 'i'
		case expansions[r] != "":
			b.WriteString(expansions[r])
			continue
		}
		b.WriteRune(unicode.ToLower(r))
	}
	s := strings.TrimRight(b.String(), ". ")
	if short, n, ok := strings.Cut(s, "~"); ok && len(n) == 1 && n[0] >= '1' && n[0] <= '9' {
		for _, long := range []string{".git", ".gemini", ".vscode", ".idea", ".cursor", ".claude", ".codex", ".husky"} {
			if short != "" && strings.HasPrefix(long[1:], short) {
				return long
			}
		}
	}
	return s
}
