package workspace

import (
	"strings"

	"github.com/agentls/agentls/internal/spelling"
)

// upperFirst makes a message the beginning of a sentence. A key with dots that it begins
// with stays as the person has to write it.
func upperFirst(s string) string {
	if s == "" || s[0] < 'a' || s[0] > 'z' || strings.Contains(strings.SplitN(s, " ", 2)[0], ".") {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// nearestKey returns the one of known that a misspelt name meant, or "": at most
// two characters were left out, added, changed or swapped, and fewer than half.
func nearestKey(name string, known []string) string {
	best, least := "", min(3, (len(name)+1)/2)
	for _, k := range known {
		if d := spelling.Distance(strings.ToLower(name), strings.ToLower(k)); d < least && (d > 0 || name != k) {
			best, least = k, d
		}
	}
	return best
}
