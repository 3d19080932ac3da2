package trace

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"html"
	"strings"
)

// The parts of the page. What a session holds comes into it as JSON only, from which
// the script makes texts and never markup; the policy of the page lets nothing run or
// load but these two, by their digests.
var (
	//go:embed page.html
	page string
	//go:embed page.css
	style string
	//go:embed page.js
	script string
)

// shownSpan is a span as the script of the page reads it.
type shownSpan struct {
	ID     uint64 `json:"id"`
	Parent uint64 `json:"parent"`
	Kind   Kind   `json:"kind"`
	Name   string `json:"name"`
	Agent  string `json:"agent"`
	// in ms since 1970
	Start int64 `json:"start"`
	// how long it took, up to the newest event where it is open
	Ms      int64       `json:"ms"`
	Open    bool        `json:"open"`
	Error   string      `json:"error"`
	Details [][2]string `json:"details"`
}

// HTML returns a page that shows spans as a timeline, with the conversation beside it.
// It is one file, and loads nothing. session is its title.
// All content is in it: whoever shows it to others leaves the texts out before. The
// error is that of encoding/json, for a detail that has no JSON.
func HTML(session string, spans []*Span) ([]byte, error) {
	shown := []shownSpan{}
	for _, s := range spans {
		one := shownSpan{
			ID: s.ID, Parent: s.Parent, Kind: s.Kind, Name: s.Name, Agent: s.Agent, Start: s.Start.UnixMilli(),
			Ms:   s.Duration().Milliseconds(),
			Open: s.Open, Error: s.Error, Details: [][2]string{},
		}
		for _, f := range s.Details {
			one.Details = append(one.Details, [2]string{f.Name, f.Text()})
		}
		shown = append(shown, one)
	}
	data, err := json.Marshal(shown) // < > and & are escaped, so nothing ends the element that holds it
	if err != nil {
		return nil, err
	}
	return []byte(strings.NewReplacer(
		"{{session}}", html.EscapeString(session), "{{style}}", style, "{{script}}", script, "{{data}}", string(data),
		"{{styleDigest}}", digest(style), "{{scriptDigest}}", digest(script),
	).Replace(page)), nil
}

// digest is how a content security policy names an inline script or style. It is
// computed from the text as it is in the page, so a changed script needs no other
// change.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}
