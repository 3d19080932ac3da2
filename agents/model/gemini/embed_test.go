package gemini_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/agents/model/gemini"
	"github.com/agentls/agentls/internal/modelserver"
)

// TestEmbed: a text gets the same vector each time, of the dimension that was asked for, by
// the method that each API has for it, and a question says that it is one.
func TestEmbed(t *testing.T) {
	server := modelserver.New(modelserver.Config{Key: key})
	h := httptest.NewServer(server)
	defer h.Close()
	overHTTP := client(t, gemini.Config{BaseURL: h.URL})
	defer overHTTP.Close()
	embed(t, "key", overHTTP, server, "batchEmbedContents")
	vertexServer := modelserver.New(modelserver.Config{})
	embed(t, "vertex", vertex(t, credentials(t, person), modelserver.Transport(vertexServer)), vertexServer, "predict")
}

func embed(t *testing.T, name string, c *gemini.Client, server *modelserver.Server, action string) {
	t.Helper()
	one, err := c.Embed(t.Context(), &model.Embedding{Model: "gemini-embedding-001", Text: "green green blue"})
	if err != nil || len(one) != 3072 {
		t.Fatalf("%s: %d, %v", name, len(one), err)
	}
	two, err := c.Embed(t.Context(), &model.Embedding{Model: "gemini-embedding-001", Text: "What is green?", Dimension: 256, Query: true})
	if err != nil || len(two) != 256 {
		t.Fatalf("%s: %d, %v", name, len(two), err)
	}
	requests := server.Requests()
	if len(requests) != 2 || requests[0].Action != action || requests[0].Model != "gemini-embedding-001" {
		t.Fatalf("%s: %+v", name, requests)
	}
	if !strings.Contains(string(requests[0].Body), "RETRIEVAL_DOCUMENT") || !strings.Contains(string(requests[1].Body), "RETRIEVAL_QUERY") || !strings.Contains(string(requests[1].Body), "256") {
		t.Errorf("%s: %s\n%s", name, requests[0].Body, requests[1].Body)
	}
}

// TestEmbedFails: each failure is an error of the kind that retries and people go by.
func TestEmbedFails(t *testing.T) {
	answers := func(status int, body string) http.RoundTripper {
		return roundTripper(func(q *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)), Request: q}, nil
		})
	}
	for name, c := range map[string]struct {
		transport http.RoundTripper
		class     model.Class
		text      string
	}{
		"key":         {answers(400, `{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID"}]}}`), model.Unauthorized, "API key not valid"},
		"busy":        {answers(503, `{"error":{"code":503,"message":"overloaded","status":"UNAVAILABLE"}}`), model.Busy, "overloaded"},
		"unknown":     {answers(404, `{"error":{"code":404,"message":"no such model","status":"NOT_FOUND"}}`), model.Fatal, "no such model"},
		"nothing":     {answers(200, `{"embeddings":[]}`), model.Fatal, "gave no vector"},
		"another":     {answers(200, `{"embeddings":[{"values":[1,2]}]}`), model.Fatal, "a vector of the dimension 2, and not 3"},
		"no JSON":     {answers(200, `<html>`), model.Busy, ""},
		"other types": {answers(200, `{"embeddings":[{"values":"many"}]}`), "", ""},
		"unreachable": {roundTripper(func(*http.Request) (*http.Response, error) { return nil, errors.New("refused " + key) }), model.Busy, "cannot be reached"},
	} {
		cl := client(t, gemini.Config{Transport: c.transport})
		vector, err := cl.Embed(t.Context(), &model.Embedding{Model: "m", Text: "x", Dimension: 3})
		e, ok := errors.AsType[*model.Error](err)
		if !ok || vector != nil || (c.class != "" && e.Class != c.class) || !strings.Contains(err.Error(), c.text) || strings.Contains(err.Error(), key) {
			t.Errorf("%s: %v, %+v", name, vector, err)
		}
	}
	if _, err := client(t, gemini.Config{Transport: answers(200, `{}`)}).Embed(t.Context(), &model.Embedding{Model: "m/../n", Text: "x"}); err == nil || !strings.Contains(err.Error(), "is not the id of a model") {
		t.Error("an id that leads elsewhere:", err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	cl := client(t, gemini.Config{Transport: answers(200, `{}`)})
	if _, err := cl.Embed(gone, &model.Embedding{Model: "m", Text: "x"}); !errors.Is(err, context.Canceled) {
		t.Error("cancelled:", err)
	}
}
