package mcp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/sourcegraph/conc"

	"github.com/agentls/agentls/internal/dial"
)

// Logins keeps what logins at servers left, by the addresses of the servers. It is
// safe for concurrent use, also by several processes.
// The address is without its query and fragment, which may be secret. What is kept is
// JSON with tokens in it, so it belongs in the keyring or in a file that only the
// person can read. Errors are told to the person as they are.
type Logins interface {
	Get(ctx context.Context, at string) ([]byte, error)     // nil = there is none
	Put(ctx context.Context, at string, login []byte) error // nil forgets it
	// Lock waits until ctx ends for the lock of a login, under which it is changed. It
	// holds against other processes as well. unlock is called exactly once, on any
	// goroutine; it is nil where there is an error. Get and Put do not take it.
	Lock(ctx context.Context, at string) (unlock func(), err error)
}

// oauth is how the person logs in at a server, as the settings have it: the keys of
// gemini-cli.
// Texts may hold ${NAME}. Addresses and the client are optional: what is missing is
// asked of the server, or registered there.
type oauth struct {
	Enabled          *bool    `json:"enabled"`
	ClientID         string   `json:"clientId"`
	ClientSecret     string   `json:"clientSecret"`
	Scopes           []string `json:"scopes"`
	Issuer           string   `json:"issuer"`
	AuthorizationURL string   `json:"authorizationUrl"`
	TokenURL         string   `json:"tokenUrl"`
	RegistrationURL  string   `json:"registrationUrl"`
	RedirectURI      string   `json:"redirectUri"`
	Audiences        []string `json:"audiences"`
	TokenParamName   string   `json:"tokenParamName"`
}

// parseOAuth reads the oauth of a description.
// put puts variables in. The error says what to write instead.
func (s *Server) parseOAuth(raw []byte, put func(string) string) error {
	if len(raw) == 0 {
		return nil
	}
	if s.Via == "" {
		return errors.New("oauth is for servers over HTTP; give this one its token by env")
	}
	o := &s.oauth
	if err := json.Unmarshal(raw, o); err != nil {
		return fmt.Errorf("its oauth cannot be read: %w", err)
	}
	for _, text := range []*string{&o.ClientID, &o.ClientSecret, &o.AuthorizationURL, &o.TokenURL,
		&o.RegistrationURL, &o.RedirectURI} {
		*text = put(*text)
	}
	given := o.AuthorizationURL + o.TokenURL + o.RegistrationURL
	switch {
	// Refused and not passed over: whoever writes them relies on them.
	case len(o.Audiences) > 0, o.TokenParamName != "":
		return errors.New("oauth.audiences and oauth.tokenParamName are not supported; leave them out")
	case s.Project && given != "":
		// Else a project could have the code of a login at one place sent to another.
		return errors.New("only your own settings may say where a login goes (oauth.authorizationUrl, tokenUrl, registrationUrl); describe the server there")
	case given != "" && (o.AuthorizationURL == "" || o.TokenURL == ""):
		return errors.New("oauth needs both authorizationUrl and tokenUrl, or none of them")
	case o.ClientSecret != "" && o.ClientID == "":
		return errors.New("oauth has a clientSecret and no clientId; add it")
	}
	_, _, err := o.redirect()
	return err
}

// redirect returns where the answer to a login is waited for: the port (0 = any) and
// the URI, in which a port of 0 is to be replaced.
func (o *oauth) redirect() (port string, uri *url.URL, err error) {
	if o.RedirectURI == "" {
		return "0", &url.URL{Scheme: "http", Host: "127.0.0.1:0", Path: "/oauth/callback"}, nil
	}
	u, err := url.Parse(o.RedirectURI)
	switch {
	case err != nil:
	case u.Scheme != "http", !slices.Contains([]string{"localhost", "127.0.0.1"}, u.Hostname()), u.Port() == "",
		u.RawQuery != "", u.Fragment != "", u.User != nil:
		err = errors.New("not of this machine")
	}
	if err != nil {
		return "", nil, errors.New("oauth.redirectUri has to be like http://localhost:7777/oauth/callback")
	}
	return u.Port(), u, nil
}

// login is what a login left.
// It has all that is needed to renew the token without asking the server where: a
// server that turns hostile cannot have the refresh token sent elsewhere.
type login struct {
	Token        transport.Token `json:"token"`
	TokenURL     string          `json:"tokenUrl"`          // the only place that the token is renewed at
	Resource     string          `json:"resource,omitzero"` // what the token is for (RFC 8707); "" = it was not said
	ClientID     string          `json:"clientId"`
	ClientSecret string          `json:"clientSecret,omitzero"`
	AuthMethod   string          `json:"authMethod,omitzero"`
	AuthMethods  []string        `json:"authMethods,omitzero"` // that the server takes, as its metadata has them
}

// account is the person's login at a server, for one connection or one login. It is
// what the library keeps tokens in.
// The library calls it through [transport.TokenStore] while no lock is held here. It
// is safe for concurrent use.
type account struct {
	all    *Servers
	server Server
	at     string // the key of [Logins]
	client *http.Client
	idle   func()          // closes connections that are kept
	life   context.Context // of the connection; ends what is renewed
	work   conc.WaitGroup  // what is renewed

	mu       sync.Mutex // held while what is kept is read; guards the rest
	handler  *transport.OAuthHandler
	resource string // what tokens are asked for
	login    login  // as it was read last
	none     bool   // there is no login, or it cannot be read
	rejected string // the access token that the server did not accept
	closed   bool   // nothing is renewed any more
}

// key returns what a login at an address is kept under: without what may be a secret.
func key(u *dial.URL) string { return u.Scheme + "://" + u.Host + u.EscapedPath() }

// newAccount returns what the person has at a server, which is read when it is needed.
// What goes on after close ends with life.
// The caller closes it.
func (e *entry) newAccount(life context.Context, s Server, u *dial.URL) *account {
	a := &account{all: e.all, server: s, at: key(u), life: life}
	dialer := &dial.Dialer{Proxy: e.all.Proxy}
	if s.Project {
		dialer.Hosts = s.hosts(u)
	} else { // what the person's own settings name may be anywhere (SEC-90)
		for _, text := range []string{s.URL, s.oauth.AuthorizationURL, s.oauth.TokenURL, s.oauth.RegistrationURL} {
			if u, err := dial.ParseURL(text); err == nil {
				dialer.Hosts = append(dialer.Hosts, dial.Host{Name: u.Hostname, Port: u.Port})
			}
		}
	}
	if e.all.Hosts != nil {
		dialer.Hosts = append(dialer.Hosts, e.all.Hosts(e.folder)...)
	}
	next := dialer.Transport(0)
	a.idle = next.CloseIdleConnections
	a.client = &http.Client{Timeout: loginStep, Transport: &door{a, dialer, next},
		CheckRedirect: func(q *http.Request, via []*http.Request) error {
			if q.Method != http.MethodGet || len(via) > maxHops {
				return errors.New("a login is not sent on to another address")
			}
			return nil
		}}
	return a
}

// loginStep is how long one request of a login may take.
const loginStep = 30 * time.Second

// use makes the library's part: for a login that is kept, of which everything is known
// already, or for one that begins, as the client that it has.
// redirect is "" where a token is only renewed. The lock is held, or nobody else has
// the account yet.
func (a *account) use(l login, redirect string) {
	config := transport.OAuthConfig{
		ClientID: l.ClientID, ClientSecret: l.ClientSecret, TokenEndpointAuthMethod: l.AuthMethod,
		RedirectURI: redirect,
		Scopes:      a.server.oauth.Scopes, TokenStore: a, PKCEEnabled: true, HTTPClient: a.client,
	}
	base := l.Resource
	switch {
	case base != "": // the library takes the resource from the metadata of one alone
		config.ProtectedResourceMetadataURL = known + "/resource"
	case l.TokenURL != "" || a.server.oauth.TokenURL != "":
		config.AuthServerMetadataURL = known
	}
	if u, err := url.Parse(a.server.URL); err == nil && base == "" {
		u.RawQuery, u.Fragment = "", ""
		base = u.String()
	}
	a.resource, a.handler = l.Resource, transport.NewOAuthHandler(config)
	a.handler.SetBaseURL(base)
}

// known is the address of metadata that is not asked for: the settings or the login
// have it.
const known = "https://known.invalid"

// metadata returns what is at an address of known.
// The library can be told metadata only by fetching it, so [door] answers for these
// addresses.
func (a *account) metadata(at *url.URL) any {
	a.mu.Lock()
	defer a.mu.Unlock()
	o, l := a.server.oauth, a.login
	switch {
	case at.Path == "/resource":
		return transport.OAuthProtectedResource{Resource: l.Resource, AuthorizationServers: []string{known}}
	case l.TokenURL != "":
		return transport.AuthServerMetadata{Issuer: known, TokenEndpoint: l.TokenURL,
			TokenEndpointAuthMethodsSupported: l.AuthMethods}
	}
	return transport.AuthServerMetadata{
		Issuer: o.Issuer, AuthorizationEndpoint: o.AuthorizationURL, TokenEndpoint: o.TokenURL,
		RegistrationEndpoint: o.RegistrationURL,
	}
}

// GetToken implements [transport.TokenStore].
// The token may be over: whoever asks renews it.
func (a *account) GetToken(ctx context.Context) (*transport.Token, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.none && (a.login.Token.AccessToken == "" ||
		a.login.Token.IsExpired()) { // another process may have renewed it
		if err := a.read(ctx); err != nil {
			return nil, err
		}
	}
	if a.none {
		return nil, transport.ErrNoToken
	}
	// A copy: the library may change what it gets.
	token := a.login.Token
	return &token, nil
}

// read reads what is kept; the lock is held. Without a login it is not looked for again.
func (a *account) read(ctx context.Context) error {
	raw, err := a.all.Logins.Get(ctx, a.at)
	var l login
	if err == nil && raw != nil {
		err = json.Unmarshal(raw, &l)
	}
	if err != nil {
		a.none = ctx.Err() == nil
		return fmt.Errorf("the login at %s cannot be read: %w", a.at, err)
	}
	// Before anything can be logged about it.
	a.hide(l)
	// A token that the server refused is over, whatever it says of itself: then it is renewed.
	if a.none = l.Token.AccessToken == ""; a.rejected == l.Token.AccessToken {
		l.Token.ExpiresAt = time.Unix(1, 0)
	}
	a.login = l
	return nil
}

// hide has what a login holds taken out of all that is shown.
func (a *account) hide(l login) {
	a.all.Hide("MCP login "+a.server.Name, l.Token.AccessToken, l.Token.RefreshToken, l.ClientSecret)
}

// SaveToken implements [transport.TokenStore].
// The library calls it when a token was given or renewed. The lock of the login is
// held by who began that. Values are hidden before they are written, so that no log
// has them.
func (a *account) SaveToken(ctx context.Context, token *transport.Token) error {
	a.mu.Lock()
	handler, resource := a.handler, a.resource
	a.mu.Unlock()
	metadata, err := handler.GetServerMetadata(ctx)
	if err != nil {
		return err
	}
	unprintable := func(r rune) bool { return r <= ' ' || r > '~' }
	// It goes into a header as it is.
	if token.AccessToken == "" || strings.ContainsFunc(token.AccessToken+token.TokenType, unprintable) {
		return errors.New("its token is none")
	}
	l := login{
		Token: *token, TokenURL: metadata.TokenEndpoint, Resource: resource, ClientID: handler.GetClientID(),
		ClientSecret: handler.GetClientSecret(),
		AuthMethod:   handler.GetTokenEndpointAuthMethod(), AuthMethods: metadata.TokenEndpointAuthMethodsSupported,
	}
	a.hide(l)
	raw, err := json.Marshal(l)
	if err == nil {
		err = a.all.Logins.Put(ctx, a.at, raw)
	}
	if err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.login, a.none = l, false
	return nil
}

// close waits for what is renewed: the token that this takes may be good for once.
func (a *account) close() {
	a.mu.Lock()
	a.closed = true
	a.mu.Unlock()
	a.work.Wait()
	a.idle()
}

// authorization returns what a request carries, "" where the person has no login. A
// token that is over is renewed.
// An error is logged, and the request is sent without a login: then the server says
// 401, and that is what the person is told.
func (a *account) authorization(ctx context.Context) string {
	token, err := a.GetToken(ctx)
	if err == nil && token.IsExpired() {
		token, err = a.renew(ctx)
	}
	if err != nil {
		if !errors.Is(err, transport.ErrNoToken) && ctx.Err() == nil {
			a.all.Log.Warn("the login at an MCP server cannot be used", "server", a.server.Name, "err", errorText(err))
		}
		return ""
	}
	return bearer + token.AccessToken
}

// lockLogin takes the lock of a login.
// It waits for [loginStep] at most.
func (a *Servers) lockLogin(ctx context.Context, at string) (unlock func(), err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, loginStep,
		fmt.Errorf("somebody else has been changing it for %v; try again", loginStep))
	defer cancel()
	if unlock, err = a.Logins.Lock(ctx, at); err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return unlock, err
}

// renew renews a token that is over, unless another connection or daemon does so
// meanwhile: where a refresh token is good for once, a server may take the second use
// for a theft, and revoke all that came of it.
// It may return when ctx ends, while the renewing goes on: its result is kept for the
// next request.
func (a *account) renew(ctx context.Context) (*transport.Token, error) {
	unlock, err := a.all.lockLogin(ctx, a.at)
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	if a.closed {
		a.mu.Unlock()
		unlock()
		return nil, errEnded
	}
	done := make(chan error, 1)
	a.work.Go(func() {
		defer unlock()
		// A request that nobody waits for any more leaves no spent token behind.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*loginStep)
		defer cancel()
		defer context.AfterFunc(a.life, cancel)()
		done <- a.refresh(ctx)
	})
	a.mu.Unlock()
	select {
	case err := <-done:
		if err != nil {
			return nil, err
		}
		return a.GetToken(ctx)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// refresh reads the login again, and has its token renewed if it is still over. The
// lock of the login is held.
func (a *account) refresh(ctx context.Context) error {
	a.mu.Lock()
	// Read again under the lock of the login: another process may have renewed it while this
	// one waited.
	err := a.read(ctx)
	token := a.login.Token
	over := err == nil && !a.none && token.IsExpired()
	if over {
		a.use(a.login, "")
	}
	handler := a.handler
	a.mu.Unlock()
	if !over {
		return err
	}
	if token.RefreshToken == "" {
		return transport.ErrNoToken
	}
	_, err = handler.RefreshToken(ctx, token.RefreshToken)
	return err
}

// bearer is what stands before a token in an Authorization header.
const bearer = "Bearer "

// reject takes over that a server did not accept what a request carried, and reports
// whether it is worth another try: the token may be renewed, or be another by now.
func (a *account) reject(ctx context.Context, header string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	used, ok := strings.CutPrefix(header, bearer)
	if !ok {
		return false
	}
	a.rejected = used
	// Another token is kept by now, or this one can be renewed.
	return a.read(ctx) == nil && !a.none && (a.login.Token.AccessToken != used || a.login.Token.RefreshToken != "")
}

// door is what a login's requests go through. It sends them only where they may go,
// and reads no more of an answer than there may be.
type door struct {
	*account
	dialer *dial.Dialer
	next   http.RoundTripper
}

// maxLoginAnswer is how much is read of an answer, in bytes.
const maxLoginAnswer = 1 << 20

// RoundTrip implements [http.RoundTripper].
func (d *door) RoundTrip(q *http.Request) (*http.Response, error) {
	// Answered here and sent nowhere.
	if q.URL.Scheme+"://"+q.URL.Host == known {
		text, err := json.Marshal(d.metadata(q.URL))
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{},
			Body: io.NopCloser(bytes.NewReader(text)), Request: q}, err
	}
	if err := d.check(q.URL); err != nil {
		return nil, err
	}
	resp, err := d.next.RoundTrip(q)
	if err == nil {
		resp.Body = limited{io.LimitReader(resp.Body, maxLoginAnswer), resp.Body}
	}
	return resp, err
}

// check refuses addresses that a server may not send a login to (SEC-90): of this
// machine and of private networks, unless the person's settings name them, and those
// that are not encrypted.
func (d *door) check(u *url.URL) error {
	to, err := dial.FromURL(u)
	if err != nil {
		return err
	}
	if err := d.dialer.Check(to.Hostname, to.Port); err != nil {
		return fmt.Errorf("the login may not go to %s: %w", to.Host, err)
	}
	if to.Scheme != "https" && !d.dialer.Hosts.Name(to.Hostname, to.Port) {
		return fmt.Errorf("the login may not go to %s, which is not encrypted", to.Host)
	}
	return nil
}
