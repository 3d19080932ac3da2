package mask

import (
	"bytes"
	"slices"
	"strings"
)

// maxAuthority is how long, in bytes, the part of a URL before its path can be. A
// stream keeps no more of it back.
const maxAuthority = 4 << 10

var urlStart = []byte("://")

// userinfos returns where data has a user and a password before the host of a URL,
// or a token in their place, apart and in order. It finds those of any scheme.
func userinfos(data []byte) []place {
	var places []place
	for at := bytes.Index(data, urlStart); at >= 0; {
		from := at + len(urlStart)
		authority := data[from : from+run(data[from:min(len(data), from+maxAuthority)], isAuthority)]
		if end := bytes.LastIndexByte(authority, '@'); end > 0 && isSecretUserinfo(string(authority[:end])) {
			places = append(places, place{from, from + end, credential})
		}
		next := bytes.Index(data[from:], urlStart)
		if next < 0 {
			break
		}
		at = from + next
	}
	return places
}

// isAuthority is what stands before the path of a URL, as programs print it.
func isAuthority(c byte) bool { return c > ' ' && c != 0x7f && strings.IndexByte("/?#\"'`\\<>", c) < 0 }

// isSecretUserinfo reports whether what stands before the @ of a URL is secret. A
// user alone is, where it can only be a token; a password is none where it is a
// word or a name for one.
func isSecretUserinfo(info string) bool {
	user, password, has := strings.Cut(info, ":")
	if (strings.HasPrefix(info, "[masked:") || strings.HasPrefix(password, "[masked:")) &&
		strings.HasSuffix(info, "]") {
		return false // it was masked before
	}
	if run([]byte(user), isCredential) == len(user) && Telling(user) && !isWords(user) {
		return true
	}
	placeholder := password != "" && strings.IndexByte("<{*[(", password[0]) >= 0
	return has && !placeholder && !isGuessable(password)
}

// openURLLength returns the length of the end of data that may be a URL whose user
// and password are not complete. It is 0 where data ends with none; then nothing is
// kept back for one.
func openURLLength(data []byte) int {
	if at := bytes.LastIndex(data, urlStart); at >= 0 {
		from := at + len(urlStart)
		if rest := data[from:]; len(rest) < maxAuthority && run(rest, isAuthority) == len(rest) {
			return len(data) - at
		}
	}
	for n := len(urlStart) - 1; n > 0; n-- {
		if bytes.HasSuffix(data, urlStart[:n]) {
			return n
		}
	}
	return 0
}

// merge joins two lists of places, each apart and in order, to one. It may reuse the
// memory of a.
func merge(a, b []place) []place {
	if len(a) == 0 || len(b) == 0 {
		return append(a, b...)
	}
	all := slices.Concat(a, b)
	slices.SortStableFunc(all, func(a, b place) int { return a.from - b.from })
	apart := all[:0]
	for _, p := range all {
		apart = join(apart, p)
	}
	return apart
}
