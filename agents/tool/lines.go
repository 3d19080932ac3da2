package tool

import "strings"

// LineFeeds returns a text with each of its line ends as \n. An editor has one line
// end for a whole document, and writes all that it is given with that.
func LineFeeds(text string) string {
	if strings.IndexByte(text, '\r') < 0 {
		return text
	}
	return strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
}

// SameLines reports whether two texts differ in nothing but their line ends.
func SameLines(a, b string) bool { return a == b || LineFeeds(a) == LineFeeds(b) }
