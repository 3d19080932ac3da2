package builtin

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/dial"
)

// The limits of a fetch (spec 4.1).
const (
	maxPage      = 10 << 20 // bytes, decoded
	maxRedirects = 5
	maxFetches   = 10 // from one host within fetchWindow (SEC-106)
	fetchWindow  = time.Minute
)

// Web has the limits of web_fetch.
type Web struct {
	// Header is how long a server may take to the headers of its answer, and Total
	// for all of it; 0 = 10 s and 60 s.
	Header, Total time.Duration
}

// webFetchArgs are the arguments of web_fetch.
type webFetchArgs struct {
	URL string `json:"url"`
}

// fetcher is the tool: what it counts holds for all runs.
//
// mu guards fetched. Times are in ascending order; a host without any within the window
// has no entry.
type fetcher struct {
	Web
	mu      sync.Mutex
	fetched map[string][]time.Time // by host, within the last fetchWindow
}

// webFetch returns the tool that fetches a page.
// What web leaves out gets its default: 10 s until the answer begins, a minute for
// all of it.
func webFetch(web Web) tool.Tool {
	if web.Header <= 0 {
		web.Header = 10 * time.Second
	}
	if web.Total <= 0 {
		web.Total = time.Minute
	}
	f := &fetcher{Web: web, fetched: make(map[string][]time.Time)}
	return define("web_fetch", tool.Medium, `{
	"type": "object",
	"properties": {
		"url": {"type": "string", "minLength": 1, "maxLength": 4096, "description": "The whole address, with http:// or https://."}
	},
	"required": ["url"],
	"additionalProperties": false
}`, map[string]string{"uri": "url", "address": "url"}, f.plan)
}

// plan plans a fetch: medium for a host that the person's settings allow, high for
// any other. An address that holds one of the daemon's secrets is refused, encoded
// or not.
func (f *fetcher) plan(_ context.Context, env *tool.Env, args webFetchArgs) (*tool.Plan, error) {
	u, err := dial.ParseURL(args.URL)
	if err != nil {
		return nil, tool.Errorf(tool.CodeArgs, "/url: %s.", err)
	}
	if env.Secret != nil && env.Secret(args.URL) {
		return nil, errSecret("url")
	}
	p := &tool.Plan{
		Risk: tool.Medium, Why: "fetches a page from " + u.Host + ", which you allowed",
		Title:  "web_fetch " + title(u.String()),
		Leaves: true, Host: u.Host, Shape: "host:" + u.Host, Covers: "pages of " + u.Host,
		Do: func(ctx context.Context, env *tool.Env) (*tool.Result, error) { return f.do(ctx, env, u) },
	}
	if !env.Hosts.Allow(u.Hostname, u.Port) {
		p.Risk, p.Why = tool.High,
			"fetches a page from "+u.Host+", which your settings do not allow (tools.sandbox.allowedHosts)"
		p.Shape, p.Covers = "", "" // what is high is not remembered
	}
	// The person is shown the address as a server gets it: a host in other letters, or an
	// encoded path, may read like another one.
	if wire := u.String(); wire != args.URL {
		p.Preview.Notes = append(p.Preview.Notes, "the address as it is sent: "+wire)
	}
	if tool.Suspicious(args.URL) {
		p.Risk = p.Risk.Raise()
	}
	return p, nil
}

// do fetches the page. Every address that it connects to, redirects included, is
// judged by package dial at the moment of connecting. The result is tainted as
// Web.
func (f *fetcher) do(ctx context.Context, env *tool.Env, u *dial.URL) (*tool.Result, error) {
	limited, cancel := context.WithTimeout(ctx, f.Total)
	defer cancel()
	// A transport for each fetch: no connection that was judged for one call serves another.
	transport := (&dial.Dialer{Hosts: env.Hosts, Proxy: env.Proxy}).Transport(f.Header)
	defer transport.CloseIdleConnections()
	r, err := f.follow(limited, env, transport, u)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		return nil, tool.Errorf(tool.CodeTimeout, "%s: the whole page did not come within %v.", u, f.Total)
	}
	return r, err
}

// follow fetches a page, on the way that redirects lead.
// Every hop is counted against its host. A redirect to a host that nobody has
// agreed to is told and not followed (see mayFollow).
// Refused are a redirect to what is no address (CodeFailed) and the sixth redirect.
// Redirects are followed here and not by net/http, since each has to be judged before
// anything is sent.
func (f *fetcher) follow(ctx context.Context, env *tool.Env, transport http.RoundTripper,
	u *dial.URL) (*tool.Result, error) {
	for hop := 0; ; hop++ {
		// A redirect is a request to its host like any other, or hosts could send the agent to one
		// another without end.
		if err := f.count(env.Now(), u.Hostname); err != nil {
			return nil, err
		}
		resp, err := get(ctx, transport, u)
		if err != nil {
			return nil, err
		}
		next, err := location(resp, u)
		if next == nil && err == nil {
			defer resp.Body.Close()
			return result(resp, u)
		}
		_ = resp.Body.Close()
		switch {
		case err != nil:
			return nil, tool.Errorf(tool.CodeFailed, "%s redirects to what cannot be fetched: %s.", u, err)
		case hop == maxRedirects:
			return nil, tool.Errorf(tool.CodeFailed, "%s: more than %d redirects.", u, maxRedirects)
		case !f.mayFollow(env, u, next):
			return &tool.Result{
				Content: fmt.Sprintf("%s redirects to another host, which was not fetched: %s\nFetch that address if it is what you need.", u, next),
				Display: "Redirected to " + tool.MarkdownCode(next.String()) +
					", which was not fetched", Taint: tool.Web,
			}, nil
		}
		u = next
	}
}

// mayFollow reports whether a redirect needs no question of its own: it stays
// with the host, and does not give up TLS, or goes to one that the person allowed.
// Another scheme with the same host is the same host only from http to https. A rule that
// denies the host wins over all.
func (f *fetcher) mayFollow(env *tool.Env, from, to *dial.URL) bool {
	if env.Denied != nil && env.Denied(to.Host) {
		return false
	}
	secure := from.Scheme == "http" || to.Scheme == "https"
	usual := func(port int) bool { return port == 80 || port == 443 }
	samePort := from.Port == to.Port || (usual(from.Port) && usual(to.Port))
	if from.Hostname == to.Hostname && samePort && secure {
		return true
	}
	return secure && env.Hosts.Allow(to.Hostname, to.Port)
}

// count notes a fetch from a host, or refuses it (SEC-106).
// A refused fetch does not count. The error is CodeFailed and says in how many seconds the
// next one is taken.
func (f *fetcher) count(now time.Time, host string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	// Old entries of all hosts go here, so that the map does not grow with each host.
	for name, times := range f.fetched {
		for len(times) > 0 && now.Sub(times[0]) >= fetchWindow {
			times = times[1:]
		}
		if f.fetched[name] = times; len(times) == 0 {
			delete(f.fetched, name)
		}
	}
	times := f.fetched[host]
	if len(times) >= maxFetches {
		wait := fetchWindow - now.Sub(times[0])
		return tool.Errorf(tool.CodeFailed, "%s was fetched from %d times within a minute. Try again in %d s.", host,
			maxFetches, int(wait.Seconds())+1)
	}
	f.fetched[host] = append(times, now)
	return nil
}

// get asks for a page. The error is for the model.
//
// It follows no redirect and reads no body. What package dial refuses is CodeDenied.
func get(ctx context.Context, transport http.RoundTripper, u *dial.URL) (*http.Response, error) {
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, tool.Errorf(tool.CodeArgs, "/url: %s.", err)
	}
	q.Header.Set("User-Agent", "agentls (web_fetch)")
	q.Header.Set("Accept", "text/markdown, text/html;q=0.9, application/json;q=0.9, text/*;q=0.8, */*;q=0.1")
	// Asked for by ourselves, so that net/http does not decode the answer: decodeBody bounds
	// the bytes before and after.
	q.Header.Set("Accept-Encoding", "gzip")
	resp, err := transport.RoundTrip(q)
	switch {
	case err == nil:
		return resp, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, dial.ErrRefused):
		return nil, tool.Errorf(tool.CodeDenied, "%s was not fetched: %s.", u, err)
	}
	return nil, tool.Errorf(tool.CodeFailed, "%s could not be fetched: %s.", u, err)
}

// location returns where an answer redirects to, nil for one that does not.
// The error is for people and says only what is wrong; the caller adds the address.
func location(resp *http.Response, u *dial.URL) (*dial.URL, error) {
	switch resp.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect,
		http.StatusPermanentRedirect:
	default:
		return nil, nil
	}
	ref, err := url.Parse(resp.Header.Get("Location"))
	if err != nil || resp.Header.Get("Location") == "" {
		return nil, errors.New("no address")
	}
	return dial.FromURL(u.ResolveReference(ref))
}

// result reads an answer.
// An answer with an error status is a result that failed, with its text: it may
// say what to do. A page is the web's word and taints the run.
// Errors: CodeTooLarge over maxPage, CodeBinary for what is no text, CodeFailed for a body
// that breaks off.
func result(resp *http.Response, u *dial.URL) (*tool.Result, error) {
	body, err := decodeBody(resp)
	if err != nil {
		return nil, tool.Errorf(tool.CodeFailed, "%s: %s.", u, err)
	}
	data, err := io.ReadAll(io.LimitReader(body, maxPage+1))
	// The length is looked at before the error: a page that is too large has been read up to
	// the bound without one.
	switch {
	case len(data) > maxPage:
		return nil, tool.Errorf(tool.CodeTooLarge, "%s is larger than %d MiB.", u, maxPage>>20)
	case err != nil:
		return nil, tool.Errorf(tool.CodeFailed, "%s: the answer broke off: %s.", u, err)
	}
	kind, text, err := pageText(data, resp.Header.Get("Content-Type"), u)
	if err != nil {
		return nil, err
	}
	r := &tool.Result{Taint: tool.Web, Failed: resp.StatusCode >= http.StatusBadRequest}
	var b strings.Builder
	if resp.StatusCode != http.StatusOK {
		fmt.Fprintf(&b, "Status: %d %s\n", resp.StatusCode, http.StatusText(resp.StatusCode))
	}
	fmt.Fprintf(&b, "URL: %s\nType: %s\n\n%s", u, kind, text)
	r.Content = b.String()
	r.Display = fmt.Sprintf("Fetched %s (%s, %s)", tool.MarkdownCode(u.String()), tool.MarkdownCode(kind),
		tool.Count(len(data), "byte", "bytes"))
	return r, nil
}

// decodeBody returns a body without its compression.
func decodeBody(resp *http.Response) (io.Reader, error) {
	// A compressed body is bounded as well: one can be made that goes on for ever
	// and decodes to nothing.
	body := io.LimitReader(resp.Body, maxPage+1)
	switch encoding := strings.ToLower(strings.TrimSpace(resp.Header.Get("Content-Encoding"))); encoding {
	case "", "identity":
		return body, nil
	case "gzip", "x-gzip":
		plain, err := gzip.NewReader(body)
		if errors.Is(err, io.EOF) {
			return body, nil // an answer without a body
		}
		return plain, err
	default:
		return nil, fmt.Errorf("it is compressed as %q, which was not asked for", tool.Escape(encoding))
	}
}
