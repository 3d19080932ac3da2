package modelserver_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/agentls/agentls/internal/modelserver"
)

// TestVertex asks by the paths of Vertex AI, with and without what it wants.
func TestVertex(t *testing.T) {
	const (
		project = "/v1beta1/projects/p/locations/l/publishers/google/models/m:streamGenerateContent?alt=sse"
		express = "/v1beta1/publishers/google/models/m:generateContent"
		body    = `{"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}`
	)
	script, err := modelserver.Parse(strings.Repeat("< hello\n\n", 9))
	if err != nil {
		t.Fatal(err)
	}
	server := modelserver.New(modelserver.Config{Script: script, Key: "k"})
	ask := func(path, header, value string) (int, string) {
		q := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
		if header != "" {
			q.Header.Set(header, value)
		}
		w := httptest.NewRecorder()
		server.ServeHTTP(w, q)
		text, _ := io.ReadAll(w.Body)
		return w.Code, string(text)
	}
	signIn := func() int {
		q := httptest.NewRequest(http.MethodPost, "/token", strings.NewReader(url.Values{"grant_type": {"refresh_token"}}.Encode()))
		q.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		w := httptest.NewRecorder()
		server.ServeHTTP(w, q)
		return w.Code
	}
	for _, step := range []struct {
		what, path, header, value string
		signsIn, revokes          bool
		code                      int
		says                      string
	}{
		{what: "no token", path: project, code: 401, says: "UNAUTHENTICATED"},
		{what: "a key for a token", path: project, header: "X-Goog-Api-Key", value: "k", code: 401},
		{what: "a token that was not given", path: project, header: "Authorization", value: "Bearer token-1-of-the-script", code: 401},
		{what: "a token", signsIn: true, path: project, header: "Authorization", value: "Bearer token-1-of-the-script", code: 200, says: "hello"},
		{what: "express mode", path: express, header: "X-Goog-Api-Key", value: "k", code: 200, says: "hello"},
		{what: "express mode with another key", path: express, header: "X-Goog-Api-Key", value: "x", code: 400, says: "API_KEY_INVALID"},
		{what: "a revoked token", revokes: true, path: project, header: "Authorization", value: "Bearer token-1-of-the-script", code: 401},
		{what: "the next token", signsIn: true, path: project, header: "Authorization", value: "Bearer token-2-of-the-script", code: 200},
		{what: "another publisher", path: "/v1beta1/projects/p/locations/l/publishers/x/models/m:generateContent", header: "X-Goog-Api-Key", value: "k", code: 404},
		{what: "the other API", path: "/v1beta/models/m:generateContent", header: "X-Goog-Api-Key", value: "k", code: 200},
	} {
		if step.revokes {
			server.Revoke()
		}
		if step.signsIn && signIn() != 200 {
			t.Errorf("%s: signing in failed", step.what)
		}
		if code, text := ask(step.path, step.header, step.value); code != step.code || !strings.Contains(text, step.says) {
			t.Errorf("%s: %d %s; want %d %s", step.what, code, text, step.code, step.says)
		}
	}
	requests := server.Requests()
	if len(requests) != 4 {
		t.Fatalf("%d requests", len(requests))
	}
	for i, want := range []modelserver.Request{
		{Vertex: true, Project: "p", Location: "l"}, {Vertex: true}, {Vertex: true, Project: "p", Location: "l"}, {},
	} {
		if r := requests[i]; r.Vertex != want.Vertex || r.Project != want.Project || r.Location != want.Location || r.Model != "m" {
			t.Errorf("%d: %+v", i, r)
		}
	}
	if g := server.Grants(); len(g) != 2 || g[0].Get("grant_type") != "refresh_token" {
		t.Errorf("%v", g)
	}
	refusing := modelserver.New(modelserver.Config{Refusal: "invalid_grant"})
	w := httptest.NewRecorder()
	refusing.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/token", nil))
	if w.Code != 400 || !strings.Contains(w.Body.String(), "invalid_grant") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
