package mcp

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/agentls/agentls/internal/dial"
)

// keptLogins keeps logins in memory.
type keptLogins struct {
	mu  sync.Mutex
	all map[string][]byte
	err error // of each use
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
	lasts    int    // seconds, of a token
	hidden   bool   // its metadata is only where its 401 says, and tokens are at a place of its own

	mu      sync.Mutex
	count   int
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
			good = good && q.Form.Get("refresh_token") == o.refresh
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

// TestLogin: a server that wants a login says how; after it its tools are there, also
// for the next daemon, and what the login holds is taken out of what is shown. After
// the logout nothing is sent any more.
func TestLogin(t *testing.T) {
	o := newOffice(t)
	w := o.world(t, "")
	_, offer := w.offer("far")
	if len(offer.Problems) != 1 || !strings.Contains(offer.Problems[0], "agentls mcp-servers login far") {
		t.Fatalf("%q", offer.Problems)
	}
	o.logIn(t, w)
	tools, offer := w.offer("far")
	if len(tools) != 3 || len(offer.Problems) != 0 {
		t.Fatalf("%v, %q", tools, offer.Problems)
	}
	if got, err := w.call(t.Context(), tools["mcp.far.env"], `{}`); got != "Bearer access-token-1" {
		t.Errorf("%q, %v", got, err)
	}
	w.mu.Lock()
	for _, secret := range []string{"access-token-1", "refresh-token-1", "s3cret-of-client"} {
		if !slices.Contains(w.hidden, secret) {
			t.Errorf("%s is not masked", secret)
		}
	}
	w.mu.Unlock()
	w.Close()
	w.open(nil)
	if tools, offer = w.offer("far"); len(tools) != 3 || len(offer.Problems) != 0 {
		t.Errorf("the next daemon: %v, %q", tools, offer.Problems)
	}
	if got, err := w.call(t.Context(), tools["mcp.far.echo"], `{"text": "hello"}`); got != "hello" {
		t.Errorf("%q, %v", got, err)
	}
	if s, err := w.Logout(t.Context(), w.folder, "far"); err != nil || s.State != Idle {
		t.Errorf("%+v, %v", s, err)
	}
	if s, err := w.Restart(t.Context(), w.folder, "far", false); err != nil || s.State != Failed || !strings.Contains(s.Why, "mcp-servers login far") {
		t.Errorf("after the logout: %+v, %v", s, err)
	}
}

// TestLoginOverSSE: a server of the older kind takes a login as well.
func TestLoginOverSSE(t *testing.T) {
	o := newOffice(t)
	o.behind.fault = "sse"
	w := newWorld(t, nil)
	w.add("far", fmt.Sprintf(`"url": %q`, o.URL+"/mcp"))
	t.Cleanup(w.Close)
	if _, offer := w.offer("far"); len(offer.Problems) != 1 || !strings.Contains(offer.Problems[0], "agentls mcp-servers login far") {
		t.Fatalf("%q", offer.Problems)
	}
	o.logIn(t, w)
	tools, _ := w.offer("far")
	if got, err := w.call(t.Context(), tools["mcp.far.env"], `{}`); got != "Bearer access-token-1" {
		t.Errorf("%q, %v", got, err)
	}
}

// TestLoginElsewhere: a server that waits for a login is not given up, and works in the
// next run after the person has logged in with another daemon.
func TestLoginElsewhere(t *testing.T) {
	o := newOffice(t)
	other := newWorld(t, nil)
	w := o.world(t, "")
	until(t, "it has failed often", func() bool {
		w.offer("far")
		w.mu.Lock()
		defer w.mu.Unlock()
		failures := slices.DeleteFunc(slices.Clone(w.states), func(s string) bool { return s != "far failed" })
		return len(failures) > maxFailures+1
	})
	other.described = w.described
	o.logIn(t, other)
	at := o.URL + "/mcp"
	if err := w.logins.Put(t.Context(), at, other.logins.all[at]); err != nil {
		t.Fatal(err)
	}
	other.Close()
	until(t, "its tools are offered", func() bool {
		tools, _ := w.offer("far")
		return len(tools) == 3
	})
}

// TestLoginIsRenewed: a token that is over, by its time or by the server's word, is
// renewed where it came from, and what another daemon renewed is used.
func TestLoginIsRenewed(t *testing.T) {
	t.Run("its time is over", func(t *testing.T) {
		o := newOffice(t)
		w := o.world(t, "")
		o.lasts = -1
		o.logIn(t, w)
		at := o.URL + "/mcp"
		var l login
		if err := json.Unmarshal(w.logins.all[at], &l); err != nil {
			t.Fatal(err)
		}
		l.Token.ExpiresAt = l.Token.ExpiresAt.Add(1) // in the year 1
		raw, _ := json.Marshal(l)
		w.Close()
		w.logins.all[at] = raw
		w.open(nil)
		tools, _ := w.offer("far")
		if got, err := w.call(t.Context(), tools["mcp.far.env"], `{}`); got != "Bearer access-token-2" || !o.has("refresh_token") {
			t.Errorf("%q, %v", got, err)
		}
	})
	t.Run("the server takes it no more", func(t *testing.T) {
		o := newOffice(t)
		w := o.world(t, "")
		o.logIn(t, w)
		tools, _ := w.offer("far")
		o.revoke()
		if got, err := w.call(t.Context(), tools["mcp.far.env"], `{}`); got != "Bearer access-token-2" {
			t.Errorf("%q, %v", got, err)
		}
	})
	t.Run("another daemon has renewed it", func(t *testing.T) {
		o := newOffice(t)
		w := o.world(t, "")
		o.logIn(t, w)
		tools, _ := w.offer("far")
		var l login
		if err := json.Unmarshal(w.logins.all[o.URL+"/mcp"], &l); err != nil {
			t.Fatal(err)
		}
		l.Token.AccessToken, l.Token.RefreshToken = "access-token-9", "refresh-token-9"
		raw, _ := json.Marshal(l)
		_ = w.logins.Put(t.Context(), o.URL+"/mcp", raw)
		o.mu.Lock()
		o.access, o.refresh = "access-token-9", "refresh-token-9"
		o.mu.Unlock()
		if got, err := w.call(t.Context(), tools["mcp.far.env"], `{}`); got != "Bearer access-token-9" || o.has("refresh_token") {
			t.Errorf("%q, %v", got, err)
		}
	})
	for name, move := range map[string]func(o *office){
		"the metadata is where its 401 says": func(*office) {},
		"the metadata names another place":   func(o *office) { o.token = o.URL + "/elsewhere" },
	} {
		t.Run(name, func(t *testing.T) {
			o := newOffice(t)
			o.hidden = true
			w := o.world(t, "")
			o.logIn(t, w)
			w.Close()
			move(o)
			o.revoke()
			w.open(nil)
			tools, _ := w.offer("far")
			if got, err := w.call(t.Context(), tools["mcp.far.env"], `{}`); got != "Bearer access-token-2" || o.has("/elsewhere") {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
}

// TestLoginFails: what is no answer to the login is not taken, a refusal and the
// person's no end it, and a second answer is too late. Nothing is kept then.
func TestLoginFails(t *testing.T) {
	for name, c := range map[string]struct {
		show func(t *testing.T, o *office, page LoginPage) error
		want string
	}{
		"wrong state, then denied": {func(t *testing.T, o *office, page LoginPage) error {
			next := o.allow(t, page)
			q := next.Query()
			state := q.Get("state")
			q.Set("state", "of another")
			next.RawQuery = q.Encode()
			if status, text := browse(t, next.String()); status != http.StatusBadRequest {
				t.Errorf("a wrong state: %d %s", status, text)
			}
			next.RawQuery = url.Values{"error": {"access_denied"}, "error_description": {"no <b>way</b>"}, "state": {state}}.Encode()
			if status, text := browse(t, next.String()); status != http.StatusOK || !strings.Contains(text, "refused") {
				t.Errorf("%d %s", status, text)
			}
			return nil
		}, "it was refused: access_denied no <b>way</b>"},
		"another issuer": {func(t *testing.T, o *office, page LoginPage) error {
			next := o.allow(t, page)
			q := next.Query()
			q.Set("iss", "https://evil.example")
			next.RawQuery = q.Encode()
			browse(t, next.String())
			return nil
		}, "the answer is from https://evil.example"},
		"another code": {func(t *testing.T, o *office, page LoginPage) error {
			next := o.allow(t, page)
			q := next.Query()
			q.Set("code", "of another")
			next.RawQuery = q.Encode()
			browse(t, next.String())
			return nil
		}, "invalid_grant"},
		"another host": {func(t *testing.T, o *office, page LoginPage) error {
			next := o.allow(t, page)
			q, _ := http.NewRequest(http.MethodGet, next.String(), nil)
			q.Host = "evil.example"
			resp, err := http.DefaultClient.Do(q)
			if err != nil || resp.StatusCode != http.StatusNotFound {
				t.Errorf("%v, %v", resp, err)
			}
			resp.Body.Close()
			return errors.New("you cancelled it")
		}, "you cancelled it"},
	} {
		t.Run(name, func(t *testing.T) {
			o := newOffice(t)
			w := o.world(t, "")
			_, err := w.Login(t.Context(), w.folder, "far", func(_ context.Context, page LoginPage) error { return c.show(t, o, page) })
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v; want %q", err, c.want)
			}
			if len(w.logins.all) != 0 {
				t.Errorf("kept: %s", w.logins.all)
			}
		})
	}
	t.Run("cancelled", func(t *testing.T) {
		o := newOffice(t)
		w := o.world(t, "")
		ctx, cancel := context.WithCancel(t.Context())
		var page LoginPage
		_, err := w.Login(ctx, w.folder, "far", func(ctx context.Context, p LoginPage) error {
			page = p
			cancel()
			<-ctx.Done()
			return ctx.Err()
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
		if resp, err := http.Get(o.allow(t, page).String()); err == nil {
			resp.Body.Close()
			t.Error("it still listens")
		}
	})
}

// TestSEC90LoginIsNotSentInside: what a server says of its logins leads to no place of
// this machine or a private network, and no token of another server is asked for; the
// settings of the person may name such a place.
func TestSEC90LoginIsNotSentInside(t *testing.T) {
	inside := newOffice(t) // of which the server's settings say nothing
	for name, c := range map[string]struct {
		tune func(o *office)
		want string
	}{
		"issuer":   {func(o *office) { o.issuer = inside.URL }, "may not go to"},
		"page":     {func(o *office) { o.login = inside.URL + "/login" }, "may not go to"},
		"token":    {func(o *office) { o.token = inside.URL + "/token" }, "may not go to"},
		"metadata": {func(o *office) { o.token = "http://169.254.169.254/token" }, "may not go to"},
		"plain":    {func(o *office) { o.login = "http://login.example.com/" }, "is not encrypted"},
		"resource": {func(o *office) { o.resource = "https://bank.example/mcp" }, "does not match"},
		"script":   {func(o *office) { o.login = "javascript:alert(1)" }, "a page was shown at http:"}, // the usual one
		"long":     {func(o *office) { o.login = o.URL + "/login?" + strings.Repeat("a", 5000) }, "4000"},
	} {
		t.Run(name, func(t *testing.T) {
			o := newOffice(t)
			c.tune(o)
			w := o.world(t, "")
			_, err := w.Login(t.Context(), w.folder, "far", func(_ context.Context, page LoginPage) error {
				scheme, _, _ := strings.Cut(page.Address, "//")
				return errors.New("a page was shown at " + scheme)
			})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v; want %q", err, c.want)
			}
			inside.mu.Lock()
			defer inside.mu.Unlock()
			if len(inside.seen) != 0 {
				t.Errorf("asked inside: %q", inside.seen)
			}
		})
	}
	t.Run("named", func(t *testing.T) {
		o := newOffice(t)
		o.issuer = inside.URL
		w := o.world(t, "")
		u, err := dial.ParseURL(inside.URL)
		if err != nil {
			t.Fatal(err)
		}
		w.Hosts = func(string) dial.Hosts { return dial.Hosts{{Name: u.Hostname, Port: u.Port}} }
		_, err = w.Login(t.Context(), w.folder, "far", func(_ context.Context, page LoginPage) error {
			if !strings.HasPrefix(page.Address, inside.URL) {
				t.Errorf("%s", page.Address)
			}
			return errors.New("seen")
		})
		if err == nil || !strings.Contains(err.Error(), "seen") {
			t.Error(err)
		}
	})
}

// TestLoginBySettings: what gemini-cli's settings say of a login is used, and nothing is
// looked for then.
func TestLoginBySettings(t *testing.T) {
	o := newOffice(t)
	w := newWorld(t, nil)
	w.add("far", fmt.Sprintf(`"httpUrl": %q, "oauth": {"enabled": true, "clientId": "mine", "clientSecret": "${TOKEN}", "scopes": ["read", "write"],
		"authorizationUrl": %q, "tokenUrl": %q, "redirectUri": "http://localhost:0/back"}`, o.URL+"/mcp", o.URL+"/login", o.URL+"/token"))
	_, err := w.Login(t.Context(), w.folder, "far", func(_ context.Context, page LoginPage) error {
		u, _ := url.Parse(page.Address)
		q := u.Query()
		back, _ := url.Parse(q.Get("redirect_uri"))
		if u.Path != "/login" || q.Get("client_id") != "mine" || q.Get("scope") != "read write" || back.Hostname() != "localhost" || back.Path != "/back" {
			t.Errorf("%s", page.Address)
		}
		return errors.New("seen")
	})
	if err == nil || !strings.Contains(err.Error(), "seen") {
		t.Error(err)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.seen) != 0 {
		t.Errorf("asked: %q", o.seen)
	}
}

// TestLoginCannotBe: servers at which nobody can log in say why.
func TestLoginCannotBe(t *testing.T) {
	for description, want := range map[string]string{
		`"command": "x", "args": [], "oauth": {"enabled": true}`: "started by a command",
		`"command": "x"`: "started by a command",
		`"httpUrl": "https://a.example", "headers": {"Authorization": "Bearer x"}`:            "take that out",
		`"httpUrl": "https://a.example", "oauth": {"enabled": false}`:                         "oauth.enabled",
		`"httpUrl": "https://a.example", "oauth": {"audiences": ["x"]}`:                       "not supported",
		`"httpUrl": "https://a.example", "oauth": {"redirectUri": "http://evil.example:80/"}`: "redirectUri",
		`"httpUrl": "https://a.example", "oauth": {"tokenUrl": "https://a.example/token"}`:    "needs both",
		`"httpUrl": "https://a.example", "oauth": {"clientSecret": "x"}`:                      "clientId",
		`"httpUrl": "https://a.example", "oauth": []`:                                         "cannot be read",
	} {
		w := newWorld(t, nil)
		w.add("far", description)
		_, err := w.Login(t.Context(), w.folder, "far", nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q", description, err, want)
		}
	}
	s := Parse("far", true, []byte(`{"httpUrl": "https://a.example", "oauth": {"authorizationUrl": "https://b.example", "tokenUrl": "https://evil.example"}}`), "", func(string) (string, bool) { return "", false })
	command := Parse("far", false, []byte(`{"command": "x", "oauth": {}}`), "", nil)
	if !strings.Contains(command.Problem, "oauth is for servers over HTTP") {
		t.Errorf("a command's: %q", command.Problem)
	}
	if !strings.Contains(s.Problem, "only your own settings may say where a login goes") {
		t.Errorf("a project's: %q", s.Problem)
	}
}
