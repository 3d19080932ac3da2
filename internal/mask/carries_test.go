package mask

import (
	"encoding/base64"
	"encoding/hex"
	"net/url"
	"testing"

	"pgregory.net/rapid"
)

// TestSEC102SecretsThatLeave finds a secret in a URL, in each coding and within
// anything.
func TestSEC102SecretsThatLeave(t *testing.T) {
	const secret = "AIzaSy/Dx+0123456789-abcdefghijklmn_op"
	m := New(map[string]string{"KEY": secret})
	rapid.Check(t, func(t *rapid.T) {
		around := rapid.StringMatching(`[A-Za-z0-9/=&?.]{0,20}`)
		text := around.Draw(t, "before") + secret + around.Draw(t, "after")
		for range rapid.IntRange(0, 2).Draw(t, "codings") {
			switch rapid.IntRange(0, 5).Draw(t, "coding") {
			case 0:
				text = base64.StdEncoding.EncodeToString([]byte(text))
			case 1:
				text = base64.RawURLEncoding.EncodeToString([]byte(text))
			case 2:
				text = hex.EncodeToString([]byte(text))
			case 3:
				text = url.QueryEscape(text)
			case 4:
				text = url.PathEscape(text)
			}
			text = rapid.StringMatching(`[a-z]{0,5}`).Draw(t, "prefix") + "=" + text
		}
		if text = "https://example.com/?q=" + text; !Carries(m.MaskKnown, text) {
			t.Fatalf("the secret leaves in %s", text)
		}
	})
	for _, text := range []string{"", "https://example.com/a?b=" + base64.StdEncoding.EncodeToString([]byte("nothing of it")), secret[:20]} {
		if Carries(m.MaskKnown, text) || Carries((*Masker)(nil).MaskKnown, text) {
			t.Errorf("%q is said to hold it", text)
		}
	}
}
