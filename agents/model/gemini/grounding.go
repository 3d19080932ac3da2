package gemini

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/genai"

	"github.com/agentls/agentls/agents/model"
)

// cite gives an answer the pages that the provider's search found, and its text
// their numbers where the provider says which sentence is from which. The sources are
// numbered from 1 in the provider's order. Raw stays without the numbers, so the
// provider gets its own text back.
func (a *answer) cite(out *model.Answer) {
	if a.grounding == nil || !a.search {
		return
	}
	number := make(map[int32]int) // of each page, as the provider counts them
	for i, c := range a.grounding.GroundingChunks {
		if c == nil || c.Web == nil || c.Web.URI == "" {
			continue
		}
		out.Sources = append(out.Sources, model.Source{Title: cmp.Or(c.Web.Title, c.Web.Domain), URL: c.Web.URI})
		// Pages without a URL get no number, so numbers and indices differ.
		number[int32(i)] = len(out.Sources)
	}
	texts := 0 // places are told within the one text of an answer
	at := 0
	for i, p := range out.Message.Parts {
		if p.Text != "" {
			texts, at = texts+1, i
		}
	}
	if texts == 1 {
		// With several texts an offset could be meant for any of them.
		out.Message.Parts[at].Text = addNumbers(out.Message.Parts[at].Text, a.grounding.GroundingSupports, number)
	}
}

// addNumbers returns a text with the numbers of its sources. Ends of segments are
// counted in bytes; one that is in the middle of a character is left out. number has
// the number of each page by its index; pages without a URL have none.
func addNumbers(text string, supports []*genai.GroundingSupport, number map[int32]int) string {
	marks := make(map[int]string)
	for _, s := range supports {
		if s == nil || s.Segment == nil {
			continue
		}
		end := int(s.Segment.EndIndex)
		if end <= 0 || end > len(text) || strings.ToValidUTF8(text[:end], "") != text[:end] {
			continue
		}
		for _, i := range s.GroundingChunkIndices {
			mark := fmt.Sprintf("[%d]", number[i])
			if number[i] > 0 && !strings.Contains(marks[end], mark) {
				marks[end] += mark
			}
		}
	}
	ends := make([]int, 0, len(marks))
	for end := range marks {
		ends = append(ends, end)
	}
	slices.Sort(ends)
	var b strings.Builder
	from := 0
	for _, end := range ends {
		b.WriteString(text[from:end] + " " + marks[end])
		from = end
	}
	return b.String() + text[from:]
}
