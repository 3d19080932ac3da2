package mask

import (
	"regexp"
	"slices"
	"strings"
)

// wordy is how long, in bytes, words may be that are no secret, though a
// variable of that name holds them.
const wordy = 16

var (
	// words are of letters or of digits, as in localhost:5432, change-me, myPassword.
	words = regexp.MustCompile(`^(?:[a-z]+|[A-Z]+|[A-Z]?[a-z]+(?:[A-Z][a-z]+)*|[0-9]+)(?:[-_.,:@/ ]+(?:[a-z]+|[A-Z]+|[A-Z]?[a-z]+(?:[A-Z][a-z]+)*|[0-9]+))*$`)
	// humps are the capitals of random letters, which no words have.
	humps = regexp.MustCompile(`[A-Z][a-z][A-Z]|^[a-z][A-Z]`)
	// stands is what stands for a value that is yet to be given.
	stands = regexp.MustCompile(`^(?:<.*>|\$\{.*\}|\$[A-Za-z_]+|\{\{.*\}\}|(?i:your|example|placeholder)[-_ A-Za-z]*)$`)
	// route is a path: absolute, or from ~ or a dot on.
	route = regexp.MustCompile(`^(?:~|\.\.?|[A-Za-z]:)?[/\\][-\w.@ /\\]*$`)
)

// Telling reports whether a value can be told from what a text has by chance, so
// that a marker may take its place wherever it stands. It has at least [Least]
// bytes, and is none of these: words and numbers of less than 16 bytes in all,
// with signs between them (postgres, changeMe, localhost:5432, 2024-01-01); a
// path; a name for a value (<token>, ${TOKEN}, your-api-key); two characters over
// and over. What has the form that an issuer gives its keys is always told. It is for
// values of which nobody says that they are secret: masking a common word wherever it
// stands would spoil every text.
func Telling(value string) bool {
	if len(value) < Least {
		return false
	}
	if len(looking([]byte(value))) > 0 {
		return true
	}
	return !isGuessable(value) && !isRoute(value)
}

// isGuessable reports whether a value is a name for one, two characters over and
// over, or short and of words.
func isGuessable(value string) bool {
	kinds := make(map[rune]bool)
	for _, r := range value {
		kinds[r] = true
	}
	return len(kinds) <= 2 || stands.MatchString(value) || (len(value) < wordy && isWords(value))
}

// isWords reports whether a value is of words and numbers.
func isWords(value string) bool { return words.MatchString(value) && !humps.MatchString(value) }

// isRoute reports whether a value is a path: a secret may begin as one, and then
// has a piece that nobody names a folder.
func isRoute(value string) bool {
	if !route.MatchString(value) {
		return false
	}
	return !slices.ContainsFunc(strings.FieldsFunc(value, func(r rune) bool { return r == '/' || r == '\\' }),
		func(piece string) bool {
			return len(piece) >= wordy && strings.ContainsAny(piece, "0123456789") &&
				strings.ToLower(piece) != piece && strings.ToUpper(piece) != piece
		})
}
