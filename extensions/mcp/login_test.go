package mcp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/agentls/agentls/internal/dial"
)

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
	t.Run("headers", func(t *testing.T) { // also where the person lets agents reach the other place
		o := newOffice(t)
		o.sendsOn = inside.URL + "/gets-the-headers"
		w := o.world(t, `, "headers": {"X-Api-Key": "the-key"}`)
		u, err := dial.ParseURL(inside.URL)
		if err != nil {
			t.Fatal(err)
		}
		w.Hosts = func(string) dial.Hosts { return dial.Hosts{{Name: u.Hostname, Port: u.Port}} }
		_, err = w.Login(t.Context(), w.folder, "far", func(context.Context, LoginPage) error { return errors.New("a page was shown") })
		if err == nil || !strings.Contains(err.Error(), "it redirects to "+o.sendsOn) || inside.has("/gets-the-headers") {
			t.Errorf("%v; asked inside: %q", err, inside.seen)
		}
	})
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
