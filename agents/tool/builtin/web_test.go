package builtin_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/agents/tool/builtin"
	"github.com/agentls/agentls/agents/tool/tooltest"
	"github.com/agentls/agentls/internal/dial"
	"github.com/agentls/agentls/internal/mask"
)

// web is a server of this machine that the person's settings name.
func web(t *testing.T, handle http.HandlerFunc) (server *httptest.Server, env *tool.Env) {
	t.Helper()
	s := httptest.NewServer(handle)
	t.Cleanup(s.Close)
	env = tooltest.New(t, nil).Env()
	env.Hosts = hostRules(t, strings.TrimPrefix(s.URL, "http://"))
	return s, env
}

func hostRules(t *testing.T, entries ...string) dial.Hosts {
	t.Helper()
	var all dial.Hosts
	for _, entry := range entries {
		h, err := dial.ParseHostRule(entry)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, h)
	}
	return all
}

// fetch runs web_fetch with an own count of fetches.
func fetch(t *testing.T, env *tool.Env, c builtin.Web, url string) (*tool.Result, error) {
	t.Helper()
	return tooltest.Run(t.Context(), namedOf(t, builtin.Config{Web: c}, "web_fetch"), env, args(t, "url", url))
}

// TestWebFetchMakesPagesReadable compares pages with what the model gets of them.
func TestWebFetchMakesPagesReadable(t *testing.T) {
	for _, name := range []string{"page.html", "latin1.html", "data.json", "plain.txt"} {
		page, err := os.ReadFile(filepath.Join("testdata", "web", name))
		if err != nil {
			t.Fatal(err)
		}
		kind := map[string]string{".html": "text/html", ".json": "application/json", ".txt": ""}[filepath.Ext(name)]
		if name == "latin1.html" {
			kind += "; charset=ISO-8859-1"
		}
		s, env := web(t, func(w http.ResponseWriter, q *http.Request) {
			if kind != "" {
				w.Header().Set("Content-Type", kind)
			}
			_, _ = w.Write(page)
		})
		r, err := fetch(t, env, builtin.Web{}, s.URL+"/docs/start")
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := strings.ReplaceAll(r.Content, s.URL, "http://host")
		golden := filepath.Join("testdata", "web", name+".md")
		if os.Getenv("UPDATE") != "" {
			if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if want, err := os.ReadFile(golden); err != nil || string(want) != got {
			t.Errorf("%s: got\n%s", name, got)
		}
		if r.Taint != tool.Web || r.Failed {
			t.Errorf("%s: taint %v, failed %v", name, r.Taint, r.Failed)
		}
	}
}

// TestAPageThatSaysNoCharset is read as UTF-8 where all of it is, however late the first
// letter comes that is not ASCII, and else as windows-1252.
func TestAPageThatSaysNoCharset(t *testing.T) {
	late := strings.Repeat("x", 2000)
	for _, c := range []struct{ kind, body, want string }{
		{"application/json", `{"a":"` + late + `ü"}`, `xü"}`},
		{"text/html", "<p>" + late + "ü", "xü"},
		{"text/plain", late + "\xfc", "xü"},
		{"text/html", "<meta charset=iso-8859-1><p>" + late + "\xfc", "xü"},
		{"text/html; charset=iso-8859-1", late + "\xc3\xbc", "xÃ¼"},
		{"text/html", "<meta charset=iso-2022-jp><p>\x1b$B$\"\x1b(B", "あ"},
	} {
		s, env := web(t, func(w http.ResponseWriter, q *http.Request) {
			w.Header().Set("Content-Type", c.kind)
			_, _ = io.WriteString(w, c.body)
		})
		if r, err := fetch(t, env, builtin.Web{}, s.URL); err != nil || !strings.HasSuffix(strings.TrimSpace(r.Content), c.want) {
			t.Errorf("%s, %.50q: %v, %v", c.kind, c.body, r, err)
		}
	}
}

// TestSEC100FetchReachesNothingInside fetches what stands for this machine, by
// every spelling, with a canary that listens there.
func TestSEC100FetchReachesNothingInside(t *testing.T) {
	var reached atomic.Int32
	s, env := web(t, func(http.ResponseWriter, *http.Request) { reached.Add(1) })
	number := s.URL[strings.LastIndex(s.URL, ":"):]
	env.Hosts = hostRules(t, "*"+number)
	for _, host := range []string{
		"127.0.0.1", "localhost", "a.localhost", "localhost.", "0.0.0.0", "127.1", "2130706433", "0x7f.1", "0x7f000001", "0177.0.0.1", "①②⑦.0.0.1",
		"[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]", "10.0.0.1", "192.168.0.1", "169.254.169.254",
		"user@127.0.0.1", "example.com@127.0.0.1", "example.com%00.127.0.0.1", "example.com\\@127.0.0.1",
	} {
		for _, scheme := range []string{"http", "https"} {
			if r, err := fetch(t, env, builtin.Web{}, scheme+"://"+host+number+"/"); tooltest.Code(err) != tool.CodeDenied && tooltest.Code(err) != tool.CodeArgs {
				t.Errorf("%s://%s: %v, %v", scheme, host, r, err)
			}
		}
	}
	for _, address := range []string{"file:///etc/passwd", "ftp://127.0.0.1/", "gopher://127.0.0.1/", "data:text/plain,x", "//127.0.0.1/"} {
		refused(t, env, tool.CodeArgs, "web_fetch", "url", address)
	}
	if reached.Load() > 0 {
		t.Error("the canary was reached")
	}
}

// TestSEC100RedirectsAreJudged has a server send its client on.
func TestSEC100RedirectsAreJudged(t *testing.T) {
	var reached atomic.Int32
	canary := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { reached.Add(1) }))
	defer canary.Close()
	s, env := web(t, func(w http.ResponseWriter, q *http.Request) {
		switch q.URL.Path {
		case "/end":
			_, _ = io.WriteString(w, "the end")
		case "/on":
			n := len(q.URL.RawQuery)
			if n == 0 {
				http.Redirect(w, q, "/end", http.StatusFound)
				return
			}
			http.Redirect(w, q, "/on?"+q.URL.RawQuery[1:], http.StatusMovedPermanently)
		case "/away":
			http.Redirect(w, q, canary.URL+"/secret", http.StatusTemporaryRedirect)
		case "/inside":
			http.Redirect(w, q, "http://169.254.169.254/latest", http.StatusSeeOther)
		case "/strange":
			w.Header().Set("Location", "file:///etc/passwd")
			w.WriteHeader(http.StatusFound)
		}
	})
	if r, err := fetch(t, env, builtin.Web{}, s.URL+"/on?xxxx"); err != nil || !strings.Contains(r.Content, "the end") {
		t.Errorf("5 redirects: %v, %v", r, err)
	}
	if r, err := fetch(t, env, builtin.Web{}, s.URL+"/on?xxxxx"); tooltest.Code(err) != tool.CodeFailed {
		t.Errorf("6 redirects: %v, %v", r, err)
	}
	for path, told := range map[string]string{"/away": canary.URL + "/secret", "/inside": "http://169.254.169.254/latest"} {
		r, err := fetch(t, env, builtin.Web{}, s.URL+path)
		if err != nil || !strings.Contains(r.Content, told) || r.Taint != tool.Web {
			t.Errorf("%s: %v, %v", path, r, err)
		}
	}
	if r, err := fetch(t, env, builtin.Web{}, s.URL+"/strange"); tooltest.Code(err) != tool.CodeFailed {
		t.Errorf("%v, %v", r, err)
	}
	if reached.Load() > 0 {
		t.Error("a host that nobody allowed was reached")
	}
	env.Hosts = append(env.Hosts, hostRules(t, strings.TrimPrefix(canary.URL, "http://"))...)
	if _, err := fetch(t, env, builtin.Web{}, s.URL+"/away"); err != nil || reached.Load() != 1 {
		t.Errorf("a host that the person allowed was not reached: %v", err)
	}
	env.Denied = func(host string) bool { return true } // a rule of tools.exclude
	if r, err := fetch(t, env, builtin.Web{}, s.URL+"/away"); err != nil || reached.Load() != 1 {
		t.Errorf("a host that a rule denies: %v, %v", r, err)
	}
}

// TestSEC105Bodies has servers send too much, too slowly, and what is no page.
func TestSEC105Bodies(t *testing.T) {
	zeros := func(n int) []byte { // gzip of n MiB
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		for range n {
			_, _ = z.Write(make([]byte, 1<<20))
		}
		_ = z.Close()
		return b.Bytes()
	}
	empty := func() []byte { // members that hold nothing
		var b bytes.Buffer
		_ = gzip.NewWriter(&b).Close()
		return b.Bytes()
	}()
	send := func(w http.ResponseWriter, kind, encoding string, body []byte) {
		w.Header().Set("Content-Type", kind)
		if encoding != "" {
			w.Header().Set("Content-Encoding", encoding)
		}
		_, _ = w.Write(body)
	}
	bomb := zeros(20)
	s, env := web(t, func(w http.ResponseWriter, q *http.Request) {
		switch q.URL.Path {
		case "/bomb":
			send(w, "text/plain", "gzip", bomb)
		case "/endless":
			for q.Context().Err() == nil {
				send(w, "text/plain", "", make([]byte, 1<<20))
			}
		case "/nothing":
			for q.Context().Err() == nil {
				send(w, "text/plain", "gzip", bytes.Repeat(empty, 1000))
			}
		case "/headers":
			<-q.Context().Done()
		case "/slow":
			for q.Context().Err() == nil {
				send(w, "text/plain", "", []byte("x"))
				_ = http.NewResponseController(w).Flush()
				<-time.After(time.Millisecond)
			}
		case "/zip":
			send(w, "application/zip", "", []byte("PK"))
		case "/lie":
			send(w, "text/plain", "", []byte("MZ\x00\x00"))
		case "/brotli":
			send(w, "text/html", "br", []byte("x"))
		case "/gone": // as servers answer that compress all
			w.Header().Set("Content-Encoding", "gzip")
			w.WriteHeader(http.StatusNotFound)
		case "/broken":
			send(w, "text/html", "gzip", bomb[:100])
		case "/deep":
			send(w, "text/html", "", bytes.Repeat([]byte("<div>"), 100_000))
		case "/markup": // what a parser takes the square of the time for
			send(w, "text/html", "", bytes.Repeat([]byte("x</b>"), 2<<20))
		case "/large":
			send(w, "text/plain", "", bytes.Repeat([]byte("x"), 10<<20))
		}
	})
	for path, code := range map[string]string{
		"/bomb": tool.CodeTooLarge, "/endless": tool.CodeTooLarge, "/nothing": "", "/headers": tool.CodeFailed, "/slow": tool.CodeTimeout,
		"/zip": tool.CodeBinary, "/lie": tool.CodeBinary, "/brotli": tool.CodeFailed, "/broken": tool.CodeFailed, "/deep": tool.CodeFailed, "/large": "", "/markup": "", "/gone": "",
	} {
		var limits builtin.Web
		switch path {
		case "/headers":
			limits.Header = 200 * time.Millisecond
		case "/slow":
			limits.Total = 200 * time.Millisecond
		}
		r, err := fetch(t, env, limits, s.URL+path)
		switch {
		case code == "" && path == "/nothing": // it is bounded, whichever bound it is
			if err == nil {
				t.Errorf("%s: %v", path, r)
			}
		case tooltest.Code(err) != code:
			t.Errorf("%s: %v, want %s", path, err, code)
		case path == "/gone" && (!r.Failed || !strings.Contains(r.Content, "Status: 404 Not Found") || !strings.HasSuffix(r.Content, "(empty)")):
			t.Errorf("%s: %+v", path, r)
		case path == "/markup" && !strings.Contains(r.Content, "the rest of the page is left out"):
			t.Errorf("%s: %d bytes", path, len(r.Content))
		}
	}
}

// TestSEC106FetchesOfOneHost counts fetches of all runs together.
func TestSEC106FetchesOfOneHost(t *testing.T) {
	var reached atomic.Int32
	s, env := web(t, func(w http.ResponseWriter, _ *http.Request) { reached.Add(1) })
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	env.Now = func() time.Time { return now }
	f := namedOf(t, builtin.Config{}, "web_fetch")
	for i := range 100 {
		if i > 0 && i%20 == 0 {
			now = now.Add(20 * time.Second)
		}
		_, err := tooltest.Run(t.Context(), f, env, args(t, "url", fmt.Sprintf("%s/%d", s.URL, i)))
		if err != nil && !strings.Contains(err.Error(), "Try again in") {
			t.Fatal(err)
		}
	}
	if n := reached.Load(); n != 20 { // at 0 s and at 60 s
		t.Errorf("the host was asked %d times in 80 s", n)
	}
}

// TestSEC102And75WhatAFetchTellsAndShows holds what leaves with a URL, and what a
// person sees of it.
func TestSEC102And75WhatAFetchTellsAndShows(t *testing.T) {
	const secret = "AIzaSyDx0123456789abcdefghijklmnop"
	env := tooltest.New(t, nil).Env()
	env.Hosts = hostRules(t, "docs.example", "*.good.example")
	known := mask.New(map[string]string{"KEY": secret})
	env.Secret = func(text string) bool { return mask.Carries(known.MaskKnown, text) }
	for _, u := range []string{
		"https://docs.example/?k=" + secret, "https://docs.example/" + base64.StdEncoding.EncodeToString([]byte("x"+secret)),
		"https://" + strings.ToLower("x") + ".example/?u=" + url.QueryEscape("https://evil.example/?"+secret),
	} {
		refused(t, env, tool.CodeDenied, "web_fetch", "url", u)
	}
	refused(t, env, tool.CodeDenied, "web_search", "query", "what is "+secret)
	f := named(t, "web_fetch")
	for u, want := range map[string]struct {
		risk  tool.Risk
		shape string
		note  string
	}{
		"https://docs.example/a?u=https://evil.example": {tool.Medium, "host:docs.example", ""},
		"https://Docs.Example:443/a":                    {tool.Medium, "host:docs.example", "https://docs.example/a"},
		"https://a.good.example/":                       {tool.Medium, "host:a.good.example", ""},
		"https://docs.example:8443/":                    {tool.High, "", ""},
		"https://evil.example/":                         {tool.High, "", ""},
		"https://docs.example.evil.example/":            {tool.High, "", ""},
		"https://dоcs.example/":                         {tool.High, "", "https://xn--dcs-sed.example/"}, // Cyrillic о
		"https://evil.example/\u202egpj.exe":            {tool.Protected, "", "%E2%80%AE"},
	} {
		p, err := f.Plan(t.Context(), env, []byte(args(t, "url", u)))
		if err != nil {
			t.Errorf("%s: %v", u, err)
			continue
		}
		notes := strings.Join(p.Preview.Notes, "\n")
		if p.Risk != want.risk || p.Shape != want.shape || !p.Leaves || (notes == "") != (want.note == "") || !strings.Contains(notes, want.note) {
			t.Errorf("%s: %v %q %q", u, p.Risk, p.Shape, notes)
		}
	}
}

// TestWebSearchTellsItsSources runs a search of a provider's.
func TestWebSearchTellsItsSources(t *testing.T) {
	env := tooltest.New(t, nil).Env()
	refused(t, env, tool.CodeFailed, "web_search", "query", "what?")
	env.Search = func(_ context.Context, query string) (*model.Answer, error) {
		return &model.Answer{
			Message: model.Message{Parts: []model.Part{{Thought: "hm"}, {Text: query + " That. [1]"}}},
			Sources: []model.Source{{Title: "A page\x1b[2J", URL: "https://a.example/"}},
		}, nil
	}
	r := call(t, env, "web_search", "query", "what?")
	if want := "what? That. [1]\n\nSources:\n[1] A page\\x1b[2J: https://a.example/\n"; r.Content != want || r.Taint != tool.Web {
		t.Errorf("%q, %v", r.Content, r.Taint)
	}
}
