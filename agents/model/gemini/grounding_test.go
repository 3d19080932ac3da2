package gemini_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentls/agentls/agents/model"
)

// TestSearch asks for a search, and reads its sources, also those that cannot be
// right.
func TestSearch(t *testing.T) {
	const answer = `< ` + `Ünten is down. So it is.` + "\n" + `<raw {"candidates":[{"finishReason":"STOP","groundingMetadata":{"groundingChunks":[null,{"web":{"uri":"https://a.example/","title":"A"}},{},{"web":{"domain":"b.example","uri":"https://b.example/"}},{"web":{}}],` +
		`"groundingSupports":[{"segment":{"endIndex":15},"groundingChunkIndices":[1,3,1]},{"segment":{"endIndex":1},"groundingChunkIndices":[1]},{"segment":{"endIndex":25},"groundingChunkIndices":[0,2,9,-1]},{"segment":{"endIndex":1000},"groundingChunkIndices":[1]},{"segment":{"endIndex":-4},"groundingChunkIndices":[1]},{},null]}}],"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":1,"totalTokenCount":2}}` + "\n"
	c, server := play(t, "> Hello\n>body \"tools\":[{\"googleSearch\":{}}]\n"+answer+"\n> Hello\n>!body googleSearch\n< Hi.\n")
	req := hello()
	req.Options.Search = true
	_, _, got, err := listen(t, c, req)
	if err != nil {
		t.Fatal(err)
	}
	want := []model.Source{{Title: "A", URL: "https://a.example/"}, {Title: "b.example", URL: "https://b.example/"}}
	if d := cmp.Diff(want, got.Sources); d != "" {
		t.Error(d)
	}
	if text := got.Message.Parts[0].Text; text != "Ünten is down. [1][2] So it is." {
		t.Errorf("%q", text)
	}
	if _, _, got, err := listen(t, c, hello()); err != nil || got.Sources != nil { // nothing of the other request is kept
		t.Errorf("%v, %v", got, err)
	}
	if err := server.Done(); err != nil {
		t.Error(err)
	}
	for id, can := range map[string]bool{"gemini-3.5-flash": true, "gemini-2.0-flash": true, "gemini-1.5-pro": false} {
		if c.Searches(id) != can {
			t.Errorf("%s: %v", id, !can)
		}
	}
}
