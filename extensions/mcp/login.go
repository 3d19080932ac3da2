package mcp

import (
	"bytes"
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"html"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/sourcegraph/conc"

	"github.com/agentls/agentls/internal/dial"
	"github.com/agentls/agentls/internal/fault"
)

// errLogin is in the chain of what says that a server wants a login.
var errLogin = errors.New("it asks for a login")

// wantsLogin returns why a server over HTTP that answers 401 cannot be used, and what
// to do.
// The error has [errLogin] in its chain where a login would help, and not where the
// headers of the settings are what was refused.
func (s *Server) wantsLogin() error {
	if why := s.logsIn(); why != nil {
		return fmt.Errorf("it does not accept what its headers in the settings say (401)")
	}
	return fmt.Errorf("%w (401); run `agentls mcp-servers login %s`, or give it its token by headers, as {\"Authorization\": \"Bearer ${TOKEN}\"}", errLogin, s.Name)
}

// logsIn returns why the person cannot log in at a server; nil = they can.
// The error is for them, and says what to do instead.
func (s *Server) logsIn() error {
	switch {
	case s.Via == "":
		return errors.New("it is started by a command, and gets its token by env in the settings")
	case s.Headers.Get("Authorization") != "":
		return errors.New("its headers in the settings have its Authorization; take that out to log in")
	case s.oauth.Enabled != nil && !*s.oauth.Enabled:
		return errors.New("its settings have oauth.enabled: false")
	}
	return nil
}

// LoginPage is what the person opens in a browser to log in.
type LoginPage struct {
	// The name of the server in the settings.
	Server string
	// The whole address: at most 4000 characters of printable ASCII.
	Address string
	Token   string // the host that gives the token: what the page answers goes there
}

// The limits of a login, and of pages.
const (
	loginWait  = 5 * time.Minute // for the person
	maxAddress = 4000            // characters of a page that they open
)

// Login logs the person in at a server, and starts it. show puts a page before them,
// and returns when that is done; its error ends the login. The answer is waited for at
// an address of this machine alone, until then or ctx ends.
// It waits for the person for five minutes. show is called once, on a goroutine of its
// own, with a context that ends when the login is over, and must return soon after
// that; it may return before the person is done. The returned state is that of the
// restarted server, and says so where it did not start.
//
// The error is of kind fault.NotFound for a name that the folder's settings do not
// have, fault.Denied where there is no login at such a server, with why, and
// fault.Unavailable where the login failed; it is ctx's own where that ended. Nothing
// is kept of a login that failed.
func (a *Servers) Login(ctx context.Context, folder, name string,
	show func(context.Context, LoginPage) error) (State, error) {
	e, s, u, err := a.loginAt(folder, name)
	if err == nil && s.Problem != "" {
		err = fault.New(fault.Denied, "mcp.login", "there is no login at the MCP server %s: %s", name, s.Problem)
	}
	if err != nil {
		return State{}, err
	}
	limited, cancel := context.WithTimeoutCause(ctx, loginWait, fmt.Errorf("nobody logged in within %v", loginWait))
	defer cancel()
	// The end of the daemon ends the login.
	defer context.AfterFunc(a.starts, cancel)()
	err = e.login(limited, s, u, show)
	switch {
	case ctx.Err() != nil:
		return State{}, ctx.Err()
	case limited.Err() != nil && err != nil:
		err = context.Cause(limited)
	}
	if err != nil {
		return State{}, fault.New(fault.Unavailable, "mcp.login",
			"the login at the MCP server %s failed: %s", name, errorText(err))
	}
	return a.Restart(ctx, folder, name, false)
}

// Logout forgets the person's login at a server, and ends the connection.
// It returns when the server has ended. The tokens are not revoked at the server.
// Errors are as of [Servers.Login]; fault.Unavailable says that the login is still
// kept, and the connection still there.
func (a *Servers) Logout(ctx context.Context, folder, name string) (State, error) {
	e, _, u, err := a.loginAt(folder, name)
	if err != nil {
		return State{}, err
	}
	// A token that is being renewed would be kept after it was forgotten.
	unlock, err := a.lockLogin(ctx, key(u))
	if err == nil {
		err = a.Logins.Put(ctx, key(u), nil)
		unlock()
	}
	if err != nil {
		return State{}, fault.New(fault.Unavailable, "mcp.logout", "the login is not forgotten: %w", err)
	}
	e.shut()
	return e.report(), nil
}

// loginAt returns a server of a folder at which there may be a login, and its address.
func (a *Servers) loginAt(folder, name string) (*entry, Server, *dial.URL, error) {
	e, err := a.find(folder, name)
	if err != nil {
		return nil, Server{}, nil, err
	}
	e.mu.Lock()
	s := e.server
	e.mu.Unlock()
	err = s.logsIn()
	var u *dial.URL
	if err == nil {
		u, err = dial.ParseURL(s.URL)
	}
	if err != nil {
		return nil, s, nil, fault.New(fault.Denied, "mcp.login",
			"there is no login at the MCP server %s: %w", name, err)
	}
	return e, s, u, nil
}

// login has the person log in, and keeps what that gives.
// It listens on 127.0.0.1 only while it waits, and returns when nothing of that is
// left. The lock of the login is held from the answer until the token is kept.
func (e *entry) login(ctx context.Context, s Server, u *dial.URL, show func(context.Context, LoginPage) error) error {
	port, redirect, err := s.oauth.redirect()
	if err != nil {
		return err
	}
	// Before the page is made, since its address has the port.
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", port))
	if err != nil {
		return fmt.Errorf("the answer cannot be waited for: %w", err)
	}
	_, port, _ = net.SplitHostPort(listener.Addr().String()) // it is host and port
	redirect.Host = net.JoinHostPort(redirect.Hostname(), port)
	a := e.newAccount(ctx, s, u)
	defer a.close()
	begins := login{ClientID: s.oauth.ClientID, ClientSecret: s.oauth.ClientSecret}
	a.use(begins, redirect.String())
	state, err := transport.GenerateState()
	answers := &answers{server: s.Name, redirect: redirect, state: state, came: make(chan url.Values, 1)}
	server := &http.Server{Handler: answers, ReadHeaderTimeout: 5 * time.Second, WriteTimeout: 5 * time.Second,
		MaxHeaderBytes: 64 << 10}
	var serving conc.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) }) // it ends when it is closed
	defer serving.Wait()
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second) // the browser gets its page
		defer cancel()
		_ = server.Shutdown(ctx)
		_ = server.Close()
	}()
	if err != nil {
		return err
	}
	verifier, err := transport.GenerateCodeVerifier()
	if err != nil {
		return err
	}
	page, issuer, err := a.begin(ctx, begins, redirect.String(), state, verifier)
	if err != nil {
		return err
	}
	shown := make(chan error, 1)
	ctx, cancel := context.WithCancelCause(ctx)
	serving.Go(func() { shown <- show(ctx, page) })
	defer cancel(nil) // a question that is still there is withdrawn
	for {
		select {
		case err := <-shown:
			if err != nil {
				return err
			}
			shown = nil
		case answer := <-answers.came:
			if why := answer.Get("error"); why != "" {
				return fmt.Errorf("it was refused: %s", strings.TrimSpace(why+" "+answer.Get("error_description")))
			}
			// Another server may have sent the person's browser here with its own code.
			if iss := answer.Get("iss"); iss != "" && issuer != "" && iss != issuer {
				return fmt.Errorf("the answer is from %s, and not from %s (RFC 9207)", iss, issuer)
			}
			unlock, err := e.all.lockLogin(ctx, a.at)
			if err != nil {
				return fmt.Errorf("the login cannot be kept: %w", err)
			}
			defer unlock()
			return a.handler.ProcessAuthorizationResponse(ctx, answer.Get("code"), answer.Get("state"), verifier)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// begin finds out where the person logs in, and returns the page for that.
// A client that the settings do not name is registered at the server first. issuer is
// "" where the metadata has none.
func (a *account) begin(ctx context.Context, as login, redirect, state, verifier string) (page LoginPage,
	issuer string, err error) {
	if a.server.oauth.TokenURL == "" {
		if err := a.challenge(ctx, as, redirect); err != nil {
			return page, "", err
		}
	}
	metadata, err := a.handler.GetServerMetadata(ctx)
	if err != nil {
		return page, "", err
	}
	if a.handler.GetClientID() == "" {
		if err := a.handler.RegisterClient(ctx, "agentls"); err != nil {
			return page, "", fmt.Errorf("agentls cannot be registered there (%w); register it by hand and give its clientId in oauth in the settings", err)
		}
	}
	at, err := a.handler.GetAuthorizationURL(ctx, state, transport.GenerateCodeChallenge(verifier))
	if err != nil {
		return page, "", err
	}
	// The library puts a second ? behind an address that has one.
	if begin := metadata.AuthorizationEndpoint; strings.Contains(begin, "?") {
		at = begin + "&" + strings.TrimPrefix(at, begin+"?")
	}
	to, err := dial.ParseURL(at)
	if err == nil && len(at) > maxAddress {
		err = fmt.Errorf("its address has more than %d characters", maxAddress)
	}
	if err == nil && strings.ContainsFunc(at, func(r rune) bool { return r > '~' }) {
		err = errors.New("its address has characters that no address has")
	}
	var token *url.URL
	if err == nil {
		token, err = url.Parse(metadata.TokenEndpoint)
	}
	// The browser and the token's request go to addresses that the server named: they are held
	// to the rules of SEC-90 before the person sees the page.
	door := a.client.Transport.(*door)
	if err == nil {
		err = errors.Join(door.check(to.URL), door.check(token))
	}
	if err != nil {
		return page, "", fmt.Errorf("the page for the login cannot be used: %w", err)
	}
	a.mu.Lock()
	a.resource = to.Query().Get("resource") // the library tells it nowhere else
	a.mu.Unlock()
	return LoginPage{a.server.Name, to.String(), token.Host}, metadata.Issuer, nil
}

// challenge asks the server itself where logins are.
// The answer to a request without a token names them (RFC 9728), and often the scopes.
// A server that answers otherwise is no error: the library then looks in the usual
// places.
func (a *account) challenge(ctx context.Context, as login, redirect string) error {
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, a.server.URL,
		bytes.NewReader([]byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)))
	if err != nil {
		return err
	}
	q.Header = a.server.Headers.Clone()
	if q.Header == nil {
		q.Header = make(http.Header)
	}
	q.Header.Set("Content-Type", "application/json")
	q.Header.Set("Accept", "application/json, text/event-stream")
	client := *a.client
	client.CheckRedirect = checkRedirect // the headers are for the server alone (SEC-90)
	resp, err := client.Do(q)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusUnauthorized {
		// The library does not read which scopes the server asks for.
		if m := scope.FindStringSubmatch(strings.Join(resp.Header.Values("WWW-Authenticate"), ", ")); m != nil &&
			len(a.server.oauth.Scopes) == 0 {
			a.server.oauth.Scopes = strings.Fields(m[1])
			a.use(as, redirect)
		}
		a.handler.HandleUnauthorizedResponse(resp)
	}
	return nil
}

// scope matches what a server says that a login is to ask for.
var scope = regexp.MustCompile(`(?i)\bscope="([^"\\]*)"`)

// answers takes the answer to one login.
// Only the first answer with the right state counts; of anything else the browser is
// told what is wrong, and the login goes on waiting.
type answers struct {
	server   string
	redirect *url.URL
	state    string
	came     chan url.Values // capacity 1
}

// ServeHTTP implements [http.Handler].
// Only the address that the login was begun with is answered, with the right state
// (compared in constant time), and once. The pages load nothing and name no address.
func (a *answers) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	header := w.Header()
	header.Set("Content-Type", "text/html; charset=utf-8")
	header.Set("Content-Security-Policy", "default-src 'none'")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cache-Control", "no-store")
	header.Set("Connection", "close")
	say := func(status int, text string) {
		w.WriteHeader(status)
		fmt.Fprintf(w, "<!doctype html><title>agentls</title><p>%s", html.EscapeString(text))
	}
	answer := q.URL.Query()
	switch {
	// The host counts as well: a page may have a name of its own lead to this machine.
	case q.Method != http.MethodGet || q.Host != a.redirect.Host || q.URL.Path != a.redirect.Path:
		say(http.StatusNotFound, "There is nothing here.")
		return
	case subtle.ConstantTimeCompare([]byte(answer.Get("state")), []byte(a.state)) != 1:
		say(http.StatusBadRequest, "This is not the answer to the login that agentls began. Begin it again.")
		return
	}
	select {
	case a.came <- answer:
	default:
		say(http.StatusConflict, "The answer to this login was there already.")
		return
	}
	if answer.Get("error") != "" {
		say(http.StatusOK, "The login at "+a.server+" was refused. You can close this page.")
		return
	}
	say(http.StatusOK, "agentls has the answer of "+a.server+", and finishes the login. You can close this page.")
}
