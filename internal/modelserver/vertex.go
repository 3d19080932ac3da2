package modelserver

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// vertex takes what is Vertex AI's out of a path without its version, and
// returns the rest as the Developer API has it.
func (r *Request) vertex(path string) string {
	rest := path
	if parts := strings.SplitN(path, "/", 5); len(parts) == 5 && parts[0] == "projects" && parts[2] == "locations" {
		r.Project, r.Location, rest = parts[1], parts[3], parts[4]
	}
	models, ok := strings.CutPrefix(rest, "publishers/google/")
	if !ok {
		r.Project, r.Location = "", ""
		return path
	}
	r.Vertex = true
	return models
}

// grant gives a token, as Google's servers do for a service account or for a
// person who signed in with gcloud.
func (s *Server) grant(w http.ResponseWriter, q *http.Request) {
	if err := q.ParseForm(); err != nil || q.Method != http.MethodPost {
		writeJSON(w, 400, map[string]string{"error": "invalid_request"})
		return
	}
	s.mu.Lock()
	s.grants = append(s.grants, q.PostForm)
	given := tokenName(len(s.grants))
	s.mu.Unlock()
	if s.config.Refusal != "" {
		writeJSON(w, 400, map[string]string{"error": s.config.Refusal,
			"error_description": "Token has been expired or revoked."})
		return
	}
	writeJSON(w, 200, map[string]any{"access_token": given, "token_type": "Bearer", "expires_in": 3600})
}

// tokenName is the nth token that was given, from 1.
func tokenName(n int) string { return fmt.Sprintf("token-%d-of-the-script", n) }

// Grants returns the requests for a token that were received so far: the fields
// of each form. Refused ones are among them.
func (s *Server) Grants() []url.Values {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.grants)
}

// Revoke has the tokens that were given so far refused. A client that asks for another
// one gets one that is good.
func (s *Server) Revoke() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.revoked = len(s.grants)
}

// admitToken checks the token of a request: it was given and is not revoked.
func (s *Server) admitToken(w http.ResponseWriter, q *http.Request) bool {
	sent, _ := strings.CutPrefix(q.Header.Get("Authorization"), "Bearer ")
	s.mu.Lock()
	defer s.mu.Unlock()
	for n := s.revoked + 1; n <= len(s.grants); n++ {
		if sent == tokenName(n) {
			return true
		}
	}
	writeError(w, 401, "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid authentication credential.", []any{map[string]any{
		"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "ACCESS_TOKEN_TYPE_UNSUPPORTED",
		"domain": "googleapis.com",
	}})
	return false
}
