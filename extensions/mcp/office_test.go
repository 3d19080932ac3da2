package mcp

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
)

// keptLogins keeps logins in memory.
type keptLogins struct {
	mu  sync.Mutex
	all map[string][]byte
	err error // of each use

	locks chan struct{} // the lock, of capacity 1; made when it is wanted first
	wants chan struct{} // told of each who wants the lock; may be nil
}

func (k *keptLogins) Lock(ctx context.Context, _ string) (func(), error) {
	k.mu.Lock()
	if k.locks == nil {
		k.locks = make(chan struct{}, 1)
	}
	locks, wants := k.locks, k.wants
	k.mu.Unlock()
	if wants != nil {
		wants <- struct{}{}
	}
	select {
	case locks <- struct{}{}:
		return func() { <-locks }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (k *keptLogins) Get(_ context.Context, at string) ([]byte, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.all[at], k.err
}

func (k *keptLogins) Put(_ context.Context, at string, login []byte) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.all == nil {
		k.all = make(map[string][]byte)
	}
	if k.all[at] = login; login == nil {
		delete(k.all, at)
	}
	return k.err
}

func (w *world) hide(_ string, values ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hidden = append(w.hidden, values...)
}

// office gives tokens out: an authorization server with the MCP server behind it. Its
// fields are what is wrong with it, and are set before it is used.
type office struct {
	*httptest.Server
	behind *remote

	issuer   string // that the metadata has; "" = its own
	login    string // the page that the metadata has; "" = its own
	token    string // where tokens are, that the metadata has; "" = its own
	resource string // that the protected resource says it is; "" = its own
	sendsOn  string // where it sends on who is not logged in; "" = nowhere
	lasts    int    // seconds, of a token
	hidden   bool   // its metadata is only where its 401 says, and tokens are at a place of its own

	mu      sync.Mutex
	count   int
	spends  func()            // called before a refresh token is looked at, if it is set
	access  string            // the token that is good
	refresh string            // that is good, once
	codes   map[string]string // the challenges of codes that were given
	seen    []string
}

func newOffice(t *testing.T) *office {
	o := &office{behind: newRemote(t, ""), lasts: 3600, codes: make(map[string]string)}
	o.Server = httptest.NewServer(http.HandlerFunc(o.serve))
	t.Cleanup(func() {
		o.CloseClientConnections()
		o.Close()
	})
	return o
}

func (o *office) has(what string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Contains(o.seen, what)
}

// revoke has the server take no token that there was.
func (o *office) revoke() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.access = ""
}

func (o *office) serve(w http.ResponseWriter, q *http.Request) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if q.URL.Path != "/mcp" && q.URL.Path != "/messages" {
		o.seen = append(o.seen, q.URL.Path)
	}
	or := func(text, usual string) string {
		if text != "" {
			return text
		}
		return o.URL + usual
	}
	tell := func(value map[string]any) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(value)
	}
	refuse := func(why string) {
		w.WriteHeader(http.StatusBadRequest)
		tell(map[string]any{"error": why})
	}
	about, tokens, methods := "/.well-known/oauth-protected-resource/mcp", "/token", []string{"client_secret_post"}
	if o.hidden {
		about, tokens, methods = "/.well-known/oauth-protected-resource", "/oauth/token", []string{"client_secret_basic"}
	}
	switch q.URL.Path {
	case about:
		tell(map[string]any{"resource": or(o.resource, "/mcp"), "authorization_servers": []string{or(o.issuer, "")}})
	case "/.well-known/oauth-authorization-server":
		tell(map[string]any{
			"issuer": or(o.issuer, ""), "authorization_endpoint": or(o.login, "/login?tenant=1"), "token_endpoint": or(o.token, tokens),
			"registration_endpoint": o.URL + "/register", "response_types_supported": []string{"code"},
			"token_endpoint_auth_methods_supported": methods,
		})
	case "/register":
		w.WriteHeader(http.StatusCreated)
		tell(map[string]any{"client_id": "client-1", "client_secret": "s3cret-of-client"})
	case tokens:
		_ = q.ParseForm()
		o.seen = append(o.seen, q.Form.Get("grant_type"))
		if spends := o.spends; spends != nil && q.Form.Get("grant_type") == "refresh_token" {
			o.mu.Unlock()
			spends()
			o.mu.Lock()
		}
		sum := sha256.Sum256([]byte(q.Form.Get("code_verifier")))
		client, _, basic := q.BasicAuth()
		if !basic {
			client = q.Form.Get("client_id")
		}
		good := client == "client-1" && basic == o.hidden && q.Form.Get("resource") == o.URL+"/mcp"
		switch q.Form.Get("grant_type") {
		case "authorization_code":
			good = good && o.codes[q.Form.Get("code")] == base64.RawURLEncoding.EncodeToString(sum[:])
		case "refresh_token":
			if good = good && q.Form.Get("refresh_token") == o.refresh; !good {
				o.access, o.refresh = "", "" // a token was used twice: it may be stolen
			}
		}
		if !good {
			refuse("invalid_grant")
			return
		}
		o.count++
		o.access, o.refresh = fmt.Sprintf("access-token-%d", o.count), fmt.Sprintf("refresh-token-%d", o.count)
		tell(map[string]any{"access_token": o.access, "refresh_token": o.refresh, "token_type": "bearer", "expires_in": o.lasts})
	case "/mcp", "/messages":
		if o.access == "" || q.Header.Get("Authorization") != "Bearer "+o.access {
			if o.sendsOn != "" {
				http.Redirect(w, q, o.sendsOn, http.StatusFound)
				return
			}
			w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+o.URL+about+`", scope="notes tasks"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		o.mu.Unlock()
		defer o.mu.Lock()
		o.behind.serve(w, q)
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

// allow is what a person does on the page: it returns where the browser goes next.
func (o *office) allow(t *testing.T, page LoginPage) *url.URL {
	t.Helper()
	u, err := url.Parse(page.Address)
	if err != nil {
		t.Fatal(err)
	}
	p := u.Query()
	if p.Get("tenant") != "1" || p.Get("code_challenge_method") != "S256" || p.Get("client_id") != "client-1" || p.Get("scope") != "notes tasks" {
		t.Errorf("the page is %s", page.Address)
	}
	o.mu.Lock()
	o.codes["code-1"] = p.Get("code_challenge")
	o.mu.Unlock()
	next, err := url.Parse(p.Get("redirect_uri"))
	if err != nil || next.Hostname() != "127.0.0.1" {
		t.Fatalf("%s: %v", next, err)
	}
	next.RawQuery = url.Values{"code": {"code-1"}, "state": {p.Get("state")}, "iss": {o.URL}}.Encode()
	return next
}

// browse opens an address as a browser does.
func browse(t *testing.T, at string) (status int, text string) {
	t.Helper()
	resp, err := http.Get(at)
	if err != nil {
		t.Error(err)
		return 0, ""
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(body)
}

// remote describes the office's server.
func (o *office) world(t *testing.T, more string) *world {
	w := newWorld(t, nil)
	w.add("far", fmt.Sprintf(`"httpUrl": %q`, o.URL+"/mcp")+more)
	t.Cleanup(w.Close) // before the server
	return w
}

// logIn logs a person in who allows it.
func (o *office) logIn(t *testing.T, w *world) {
	t.Helper()
	s, err := w.Login(t.Context(), w.folder, "far", func(_ context.Context, page LoginPage) error {
		status, text := browse(t, o.allow(t, page).String())
		if status != http.StatusOK || !strings.Contains(text, "finishes the login") || page.Token != strings.TrimPrefix(o.URL, "http://") {
			t.Errorf("%d %s; the token is from %s", status, text, page.Token)
		}
		return nil
	})
	if err != nil || s.State != Ready {
		t.Fatalf("%+v, %v", s, err)
	}
}
