package run_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/internal/mask"
)

// TestSEC115ModelsDeltasAreMasked: wherever the chunks of an answer, or of a
// thought before it, are cut, no two of the deltas that are told hold a secret
// between them, and nothing else of the text is lost or moved; also where the
// answer breaks off.
func TestSEC115ModelsDeltasAreMasked(t *testing.T) {
	const secret = "hold-this-1234567"
	masker := mask.New(map[string]string{"KEY": secret})
	cut := func(t *rapid.T, text, label string) []string {
		var parts []string
		for len(text) > 0 {
			n := rapid.IntRange(1, len(text)).Draw(t, label)
			parts, text = append(parts, text[:n]), text[n:]
		}
		return parts
	}
	piece := rapid.SampledFrom([]string{secret, secret[:9], secret[3:], "hold", "h", "a word ", "\n", secret + secret})
	rapid.Check(t, func(rt *rapid.T) {
		thought := strings.Join(rapid.SliceOfN(piece, 0, 5).Draw(rt, "thought"), "")
		text := strings.Join(rapid.SliceOfN(piece, 1, 8).Draw(rt, "text"), "")
		breaks := rapid.Bool().Draw(rt, "breaks off")
		in(t, func(w *world) {
			w.config.Mask = masker
			var parts []model.Part
			for i, s := range cut(rt, thought, "thought at") {
				parts = append(parts, model.Part{Thought: s, Subject: strings.Repeat("s", i%2)})
			}
			for _, s := range cut(rt, text, "text at") {
				parts = append(parts, model.Part{Text: s})
			}
			w.says(reply(model.Stop, parts...))
			if breaks {
				w.model.steps = []step{fails(&model.Error{Class: model.Fatal, Message: "no"}, cut(rt, text, "broken at")...)}
				thought = ""
			}
			w.do()
			gotText, gotThought := "", ""
			for _, e := range w.log.all() {
				switch b := e.Body.(type) {
				case activity.ContentDelta:
					gotText += b.Text
				case activity.ThoughtDelta:
					if gotText != "" {
						rt.Errorf("a thought after the text that follows it")
					}
					gotThought += b.Text
				}
			}
			if want := string(masker.MaskKnown([]byte(text))); gotText != want {
				rt.Errorf("told %q, not %q", gotText, want)
			}
			if want := string(masker.MaskKnown([]byte(thought))); gotThought != want {
				rt.Errorf("thought %q, not %q", gotThought, want)
			}
		})
	})
}
