package mask

import (
	"encoding/base64"
	"encoding/hex"
	"net/url"
	"strings"
)

// maxCarried is how much of a text [Carries] looks at in its decoded forms. A longer
// one is looked at as it is only: decoding every word of it would take too long.
const maxCarried = 64 << 10

// Carries reports whether a text that is about to leave the machine holds what
// known takes out ([Masker.MaskKnown]): as it is, percent-encoded, in base64 or hex,
// or in one of these within another. It finds what a model does by itself or is
// told to do; a secret that is encrypted or taken apart is not found. It allocates for
// each word that may be a coding, and takes time with the length times the codings; it
// is for what is about to be sent, one text at a time. known must be safe to call again
// and must not change what it is given.
func Carries(known func([]byte) []byte, text string) bool {
	return carries(known, text, 3)
}

// carries looks at a text, and at what it decodes to, depth codings deep.
func carries(known func([]byte) []byte, text string, depth int) bool {
	if string(known([]byte(text))) != text {
		return true
	}
	if depth == 0 || len(text) > maxCarried {
		return false
	}
	// QueryUnescape and PathUnescape differ in what a plus stands for.
	if plain, err := url.QueryUnescape(text); err == nil && plain != text && carries(known, plain, depth-1) {
		return true
	}
	if plain, err := url.PathUnescape(text); err == nil && plain != text && carries(known, plain, depth-1) {
		return true
	}
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return !isBase64(r) }) {
		if len(word) < Least {
			continue
		}
		for _, plain := range decodings(word) {
			if carries(known, plain, depth-1) {
				return true
			}
		}
	}
	return false
}

// isBase64 reports the characters of base64 in both alphabets, which hex is made of too.
func isBase64(r rune) bool {
	letter := ('a' <= r && r <= 'z') || ('A' <= r && r <= 'Z')
	return letter || ('0' <= r && r <= '9') || strings.ContainsRune("+/-_", r)
}

// decodings returns what a word of letters, digits and a few signs may stand for:
// it can begin anywhere in it, since what stands before may be of the same signs. Four
// beginnings cover base64, two cover hex.
func decodings(word string) []string {
	var all []string
	standard := strings.NewReplacer("-", "+", "_", "/").Replace(word)
	for from := range min(4, len(standard)) {
		part := standard[from:]
		if plain, err := base64.RawStdEncoding.DecodeString(part[:len(part)-len(part)%4]); err == nil {
			rest := ""
			// Two or three characters at the end stand for a byte or two; one stands for
			// none.
			if n := len(part) % 4; n > 1 {
				end, _ := base64.RawStdEncoding.DecodeString(part[len(part)-n:])
				rest = string(end)
			}
			all = append(all, string(plain)+rest)
		}
	}
	for _, digits := range strings.FieldsFunc(strings.ToLower(word),
		func(r rune) bool { return !strings.ContainsRune("0123456789abcdef", r) }) {
		for from := range min(2, len(digits)) {
			part := digits[from:]
			if plain, err := hex.DecodeString(part[:len(part)-len(part)%2]); err == nil && len(plain) >= Least {
				all = append(all, string(plain))
			}
		}
	}
	return all
}
