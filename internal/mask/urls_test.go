package mask

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestSEC38UserinfoOfURLs: a user and a password of a URL are masked in what a
// command prints, and nothing that is no secret is.
func TestSEC38UserinfoOfURLs(t *testing.T) {
	m := NewOutput(map[string]string{"API_KEY in .env": "a-known-5ecret"})
	const token = "ghp_" + "abcdefghijklmnopqrstuvwxyz0123456789"
	for text, want := range map[string]string{
		"origin\thttps://ann:s3cret@example.com/x.git (fetch)": "origin\thttps://[masked:credential]@example.com/x.git (fetch)",
		"https://" + token + "@github.com/x":                   "https://[masked:credential]@github.com/x",
		"https://" + token + ":x-oauth-basic@github.com/x":     "https://[masked:credential]@github.com/x",
		"postgres://app:hunter2@db:5432/app?x=a@b":             "postgres://[masked:credential]@db:5432/app?x=a@b",
		`{"url":"redis://:pa55-word@cache"}`:                   `{"url":"redis://[masked:credential]@cache"}`,
		"https://ann:p@ss:w0rd@example.com":                    "https://[masked:credential]@example.com",
		"https://a:b1c2d3@x https://a:b1c2d3@y":                "https://[masked:credential]@x https://[masked:credential]@y",
		"https://u:a-known-5ecret@x and a-known-5ecret":        "https://[masked:credential]@x and [masked:API_KEY in .env]",
	} {
		if got := string(m.MaskKnown([]byte(text))); got != want {
			t.Errorf("%q becomes %q, not %q", text, got, want)
		}
	}
	for _, text := range []string{
		"ssh://git@github.com/x", "git@github.com:x/y.git", "https://ann@example.com", "https://example.com/@scope/pkg", "http://localhost:8080/a@b",
		"https://user:password@example.com", "https://user:${PASSWORD}@host", "https://user:<token>@host", "https://user:***@host", "postgres://postgres:postgres@localhost/x",
		"https://registry.npmjs.org@1.2", "https://x/?m=a:b1c2d3@y", "http://a.example,me@example.com", "://", "https://@", "https://[masked:KEY]@x", "https://u:[masked:KEY]@x",
	} {
		if got := string(m.MaskKnown([]byte(text))); got != text {
			t.Errorf("%q becomes %q", text, got)
		}
	}
	if got, text := string(New(nil).MaskKnown([]byte("https://a:b1c2d3@x"))), "https://a:b1c2d3@x"; got != text {
		t.Errorf("what is no command's output becomes %q", got)
	}
}

// TestSEC38URLsInPieces: however an output is cut, it is masked as the whole is.
func TestSEC38URLsInPieces(t *testing.T) {
	m := NewOutput(map[string]string{"A": "a-known-5ecret", "B": "https://known-5ecret"})
	piece := rapid.SampledFrom([]string{
		"https://ann:s3cret@example.com", "a-known-5ecret", "https", ":", "//", "/", "@", "u:p4ss", " ", "\n", "x", "https://known-5ecret", "s3cret@",
		"https://" + strings.Repeat("a", maxAuthority/2) + ":",
	})
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(piece, 1, 12).Draw(t, "text"), "")
		got := inPieces(m, text, func(rest int) int { return min(rest, rapid.SampledFrom([]int{1, 2, 3, 5, 9, 100}).Draw(t, "cut")) })
		if want := string(m.MaskKnown([]byte(text))); string(got) != want {
			t.Fatalf("%q becomes %q in pieces, not %q", text, got, want)
		}
	})
}
