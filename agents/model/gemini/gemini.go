// Package gemini is a model over the Gemini API, by google.golang.org/genai: that
// of Google's AI Studio (the Developer API) or, with [Config.Vertex], that of
// Vertex AI.
//
// # What of it is ours
//
// genai knows the API: its URLs, its requests and what is in an answer. This
// package stands around it where it is not enough (measured with v1.77.0):
//
//   - A round tripper reads the event stream before genai does. It keeps what
//     genai drops (Retry-After, the exact bytes of an answer), drops what genai
//     takes for errors (comments, event: lines, [DONE], a byte order mark),
//     bounds a line, and joins chunks of text that are already there.
//   - The conversation is written to the wire by this package, not by genai,
//     since signatures and arguments go back byte for byte (spec 3.6).
//   - What was encoded for the request before is not encoded again: a request
//     of a long conversation costs what is new in it.
//   - A watchdog ends a call whose stream stalls.
//   - An answer is one only if it says why it ended.
//
// Nothing is taken from the environment, nothing is retried, and neither the API
// key nor a token is in an error's text. The one exception to the second: a
// request that Vertex AI refuses with 401 is sent once more if signing in again
// gives another token (spec 3.3), since no model has seen it.
//
// # What was tried
//
// Everything here is tried against a scripted server that answers as the two
// APIs are documented to, signing in included. The real APIs have never been
// called by these tests.
//
// # Raw form
//
// [model.Message.Raw] is a Content of the API: {"role":"model","parts":[…]}
// with all parts of all chunks in order, each as it was received, except that
// text with no signature or other field which came in several chunks is one
// part, and is left out if it is empty.
//
// # One call
//
// Generate encodes what is new of the conversation (cache.go, request.go), has genai
// send a request without a body, and the round tripper (transport.go) put the body in.
// What comes back is read line by line (stream.go), joined (join.go), given to genai
// and read once more for what genai drops (answer.go, raw.go, thoughts.go). It ends as
// an answer (result) or as a *[model.Error] (errors.go). A call is on the caller's
// goroutine but for what net/http and timers do; nothing of it goes on after the loop
// has ended.
//
// TestREL63EveryWire and TestREL55EveryByte cut streams everywhere,
// TestREL56StallsAtEveryByte stalls them, TestJoiningChangesNothing holds that joining
// changes no answer, and TestSpec36Conversation what goes back byte for byte.
package gemini

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"

	"google.golang.org/genai"

	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/internal/fault"
)

// The limits of spec 12.2, for what a Config leaves 0.
const (
	IdleTimeout   = 120 * time.Second
	HeaderTimeout = 60 * time.Second
	DialTimeout   = 10 * time.Second
	MaxCall       = 30 * time.Minute
)

// afterFinish is how long the end of a stream may take once the answer is
// whole: some servers keep the connection. The answer counts whether it comes or not.
const afterFinish = 5 * time.Second

// maxIdle is how many connections are kept for later calls.
const maxIdle = 100

const defaultURL = "https://generativelanguage.googleapis.com/"

// Config is what a [Client] is made of.
type Config struct {
	// APIKey is required, but for Vertex AI with a project.
	APIKey string
	// BaseURL is where the API is; "" = Google's.
	BaseURL string
	// Vertex has the models of Vertex AI asked; nil = the Developer API.
	Vertex *Vertex
	// Table tells what a model takes. Required.
	Table *model.Table
	// Now is the clock against which a Retry-After date is read. Required.
	Now func() time.Time
	// Transport carries the requests; nil = a pool of connections of the
	// client's own, that Close closes.
	Transport http.RoundTripper
	// Dial connects the client's own transport; nil = a [net.Dialer].
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Proxy says which proxy a request takes, for the client's own transport;
	// nil = none.
	Proxy func(*http.Request) (*url.URL, error)
	// IdleTimeout is how long a stream may bring nothing of an answer (comments
	// do not count), HeaderTimeout how long a request may wait for the answer's
	// headers, DialTimeout for a connection and for its TLS handshake, and MaxCall,
	// the cap of each call of a model, for all of the answer. 0 = the constants of
	// these names.
	IdleTimeout, HeaderTimeout, DialTimeout, MaxCall time.Duration
}

// A Client is a [model.Model] over the Gemini API. It is safe for concurrent
// use. One client is made for each key or login, and used by all runs.
type Client struct {
	// What New was given, with the defaults in place of zeros.
	config Config
	// Sends through the round tripper of this package (transport).
	http   *http.Client
	own    *http.Transport   // nil if Config.Transport is given
	secret *strings.Replacer // takes the key out of texts
	tokens *tokens           // nil: the API key says who asks
	cache  cache

	once   sync.Once // for what follows: genai's half, made by the first call
	models *genai.Models
	err    error
}

var (
	_ model.Searcher = (*Client)(nil)

	// A key goes into a header, and an id into the path of a URL.
	keyChars   = regexp.MustCompile(`^[!-~]+$`)
	modelChars = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._@:/-]*$`)
)

// New returns a client. It connects to nothing. The error is a fault of kind
// Invalid, and has no key in its text. It keeps config's functions, which must be safe
// for concurrent use. Close it when no call is made any more.
func New(config Config) (*Client, error) {
	if config.Table == nil || config.Now == nil {
		return nil, fault.New(fault.Internal, "gemini.new", "a client needs a table of models and a clock")
	}
	config.APIKey = strings.TrimSpace(config.APIKey)
	if config.Vertex != nil {
		// A copy, since check fills in the location.
		vertex := *config.Vertex
		if err := vertex.check(config.APIKey); err != nil {
			return nil, err
		}
		if vertex.Project != "" {
			config.APIKey = ""
		}
		config.Vertex = &vertex
	} else if config.APIKey == "" {
		return nil, fault.New(fault.Invalid, "gemini.new", "there is no API key; set GEMINI_API_KEY").
			Because(fault.AuthRequired)
	}
	if config.APIKey != "" && !keyChars.MatchString(config.APIKey) {
		return nil, fault.New(fault.Invalid, "gemini.new", "the API key has characters that no key has; copy it again").
			Because(fault.AuthRequired)
	}
	// The setting that the error below tells the person to correct.
	variable := "GOOGLE_GEMINI_BASE_URL"
	if config.Vertex != nil {
		variable = "GOOGLE_VERTEX_BASE_URL"
	}
	if config.BaseURL == "" {
		config.BaseURL = defaultURL
		if config.Vertex != nil {
			config.BaseURL = config.Vertex.url()
		}
	}
	u, err := url.Parse(config.BaseURL)
	if err != nil || (u.Scheme != "https" && u.Scheme != "http") || u.Host == "" {
		return nil, fault.New(fault.Invalid, "gemini.new",
			"the base URL of the Gemini API is not an http URL; correct %s", variable).
			Because(fault.Config)
	}
	def := func(d *time.Duration, value time.Duration) {
		if *d <= 0 {
			*d = value
		}
	}
	def(&config.IdleTimeout, IdleTimeout)
	def(&config.HeaderTimeout, HeaderTimeout)
	def(&config.DialTimeout, DialTimeout)
	def(&config.MaxCall, MaxCall)
	if config.Dial == nil {
		config.Dial = (&net.Dialer{KeepAlive: 30 * time.Second}).DialContext
	}
	c := &Client{config: config, secret: secrets(config.APIKey, u)}
	base := config.Transport
	if base == nil {
		c.own = newTransport(config)
		base = c.own
	}
	// A redirect would take the key to another host.
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	if config.Vertex != nil && config.Vertex.Project != "" {
		c.tokens = &tokens{
			file: config.Vertex.Credentials, now: config.Now, turn: make(chan struct{}, 1),
			http: &http.Client{Transport: base, CheckRedirect: stay, Timeout: signIn},
		}
	}
	c.http = &http.Client{Transport: &transport{base: base, headerTimeout: config.HeaderTimeout,
		tokens: c.tokens}, CheckRedirect: stay}
	return c, nil
}

// newTransport is the transport of a client that is given none. It is owned by the
// client.
func newTransport(config Config) *http.Transport {
	return &http.Transport{
		Proxy:               config.Proxy,
		DialContext:         config.dial,
		TLSHandshakeTimeout: config.DialTimeout,
		ForceAttemptHTTP2:   true,
		// Without HTTP/2 each stream has a connection: as many are kept as
		// streams go on at once (spec 13), so that turns do not dial.
		MaxIdleConns:        maxIdle,
		MaxIdleConnsPerHost: maxIdle,
		IdleConnTimeout:     90 * time.Second,
		// A connection that died in silence must not take every later call's
		// time for headers.
		HTTP2:                 &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second},
		ExpectContinueTimeout: time.Second,
		// A compressed stream comes later than a plain one.
		DisableCompression: true,
		WriteBufferSize:    writeBuffer + 4<<10, // and the head
	}
}

// maxDials is how often one call connects. Go's transport itself goes on without
// end where a server ends each HTTP/2 connection with GOAWAY.
const maxDials = 4

// dial connects within the time for it, if the call has not done so too often. What ctx
// has of the call is the round tripper's: connections that are made ahead have none,
// and are not counted.
func (c *Config) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if k, ok := ctx.Value(callKey{}).(*call); ok && k.dials.Add(1) > maxDials {
		return nil, fmt.Errorf("the server ended %d connections before it answered", maxDials)
	}
	ctx, cancel := context.WithTimeout(ctx, c.DialTimeout)
	defer cancel()
	conn, err := c.Dial(ctx, network, address)
	if err != nil && ctx.Err() == context.DeadlineExceeded {
		err = fmt.Errorf("no connection to %s within %s", address, c.DialTimeout)
	}
	return conn, err
}

// Close closes the connections that the client keeps for later calls. Calls
// that go on are not touched. The client may be used after it. Its error is always nil.
func (c *Client) Close() error {
	if c.own != nil {
		c.own.CloseIdleConnections()
	}
	return nil
}

// api returns genai's half. It is made by the first call, since making it costs
// time and a context that no constructor has. An error stays: it comes of the
// configuration, which does not change.
func (c *Client) api(ctx context.Context) (*genai.Models, error) {
	c.once.Do(func() {
		config := &genai.ClientConfig{
			Backend:     genai.BackendGeminiAPI,
			APIKey:      c.config.APIKey,
			HTTPClient:  c.http,
			HTTPOptions: genai.HTTPOptions{BaseURL: c.config.BaseURL, APIVersion: "v1beta"},
		}
		if v := c.config.Vertex; v != nil {
			config.Backend, config.HTTPOptions.APIVersion = genai.BackendVertexAI, "v1beta1"
			if v.Project != "" {
				config.Project, config.Location = v.Project, v.Location
			}
		}
		// The client outlives the call that makes it.
		client, err := genai.NewClient(context.WithoutCancel(ctx), config)
		if err != nil {
			// genai prints its whole config, the key included.
			c.err = &model.Error{Class: model.Fatal, Message: "the client of the Gemini API cannot be made: " +
				c.clean(err.Error())}
			return
		}
		c.models = client.Models
	})
	return c.models, c.err
}

// Searches implements [model.Searcher]: Gemini has Google Search as a tool since 2.0.
func (c *Client) Searches(id string) bool {
	return !strings.Contains(id, "gemini-1") && !strings.Contains(id, "gemma")
}

// Generate implements [model.Model]. Bytes that req refers to (Raw, Args,
// Parameters, Data) must not be modified later: the requests after it are
// compared with it.
//
// Each range over the result sends a request. It yields pieces as they come, and at the
// end either one chunk with the whole answer or one error: ctx's own, or a
// *[model.Error] whose Class says whether to retry (spec 3.3). It blocks as long as the
// answer takes, MaxCall at most, and heeds ctx at once. When the loop stops early
// nothing more is yielded, and the connection is given up.
func (c *Client) Generate(ctx context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		if err := ctx.Err(); err != nil {
			yield(model.Chunk{}, err)
			return
		}
		g := &generation{client: c, yield: yield}
		answer, err := g.run(ctx, req)
		switch {
		case g.stopped:
		case err != nil:
			yield(model.Chunk{}, err)
		default:
			yield(model.Chunk{Answer: answer}, nil)
		}
	}
}

// checkID refuses what is no id of a model: it becomes a piece of the URL's path, which
// dots must not lead out of. The error is Fatal.
func checkID(id string) error {
	if modelChars.MatchString(id) && !strings.Contains(id, "..") {
		return nil
	}
	return &model.Error{Class: model.Fatal, Message: fmt.Sprintf("%q is not the id of a model", id)}
}

// generation is one call of Generate. It is on one goroutine. answer and call are made
// anew for each, and shared with nobody.
type generation struct {
	client   *Client
	yield    func(model.Chunk, error) bool
	yielding bool // the loop's body runs
	stopped  bool // the loop ended: nothing may be yielded any more
	call     *call
	answer   answer
}

// run makes the request and reads its answer. nil and nil: the loop has stopped.
//
// Two clocks watch it: IdleTimeout between pieces and MaxCall over all. An answer that is
// whole counts even if the stream broke off behind it.
func (g *generation) run(ctx context.Context, req *model.Request) (*model.Answer, error) {
	c := g.client
	g.answer.search = req.Options.Search
	if err := checkID(req.Model); err != nil {
		return nil, err
	}
	entry := c.config.Table.Describe(req.Model)
	contents, err := c.cache.contents(req.Messages, entry)
	if err != nil {
		return nil, &model.Error{Class: model.Fatal, Message: c.clean(err.Error()), Err: err}
	}
	tail, cached := c.cache.tail(req, entry)
	// genai would go on asking by itself, and no run would count those requests.
	config := &genai.GenerateContentConfig{AutomaticContinuation: new(false)}
	if !cached {
		if config, err = configure(req, entry); err != nil {
			return nil, &model.Error{Class: model.Fatal, Message: c.clean(err.Error()), Err: err}
		}
	}
	models, err := c.api(ctx)
	if err != nil {
		return nil, err
	}
	within, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	g.call = &call{watch: newWatchdog(cancel, c.config.IdleTimeout)}
	defer g.call.watch.stop()
	// The watchdog is reset by all that comes; this clock by nothing.
	limit := time.AfterFunc(c.config.MaxCall, func() { cancel(errTooLong) })
	defer limit.Stop()
	// genai encodes the rest of the request, unless it did so before; the
	// conversation is put before it as it is, and the round tripper sends both.
	config.HTTPOptions = &genai.HTTPOptions{ExtrasRequestProvider: func(rest map[string]any) map[string]any {
		if !cached {
			if tail, g.call.bodyErr = tailOf(rest); g.call.bodyErr == nil {
				c.cache.keepTail(req, entry, tail)
			}
		}
		g.call.body = compose(contents, tail)
		return nil
	}}
	err = g.stream(withCall(within, g.call), models, req.Model, config)
	g.call.watch.stop()
	if g.stopped {
		return nil, nil
	}
	// The answer counts if it is whole, however the stream went on.
	if g.answer.whole() {
		if g.answer.flush(g.emit) != nil {
			return nil, nil
		}
		return g.answer.result(), nil
	}
	// Whoever cancelled gets the context's own error, whatever the reader made of it.
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return nil, c.failure(g.call, err, context.Cause(within))
}

// stream reads the answer. What it returns is genai's error, or what the
// answer's form is guilty of. The events of a call and what genai yields are matched in
// their order (nextEvent).
func (g *generation) stream(ctx context.Context, models *genai.Models, id string,
	config *genai.GenerateContentConfig) (err error) {
	defer func() {
		// genai asserts types of what a server sends. A panic of the loop's body
		// is not looked at: it goes on.
		if g.yielding {
			return
		}
		if v := recover(); v != nil {
			err = fmt.Errorf("%w: %v", errUnreadable, v)
		}
	}()
	for resp, err := range models.GenerateContentStream(ctx, id, nil, config) {
		if err != nil {
			return err
		}
		if err := g.answer.add(resp, g.call.nextEvent(), g.emit); err != nil {
			return err
		}
		if g.stopped {
			return nil
		}
		if g.answer.whole() {
			g.call.watch.hurry(afterFinish)
		}
	}
	return g.call.readErr()
}

// emit yields a chunk. The time that the loop's body takes is not the stream's.
func (g *generation) emit(chunk model.Chunk) error {
	if g.stopped {
		return errStopped
	}
	g.call.watch.pause()
	g.yielding = true
	goesOn := g.yield(chunk, nil)
	g.yielding = false
	g.call.watch.resume()
	if !goesOn {
		g.stopped = true
		return errStopped
	}
	return nil
}

// errStopped unwinds the reading when the loop has ended, and is never yielded.
// errUnreadable is wrapped by errors about the form of an answer. The other three are the
// causes that the call's context is cancelled with; failure tells them apart.
var (
	errStopped    = errors.New("the loop stopped")
	errUnreadable = errors.New("the answer cannot be read")
	errTooLong    = errors.New("the call took longer than a model call may")
	errIdle       = errors.New("the stream brought nothing")
	errNoHeaders  = errors.New("no answer began")
)
