package scenario_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
)

// web is a server of pages.
type web struct {
	host string // with its port; "" = there is none

	mu    *sync.Mutex
	paths []string // that were asked for
}

// cmdWeb serves the files of a folder on loopback: web DIR. $WEB in the settings of
// the person and in what the model says becomes its host and port. A file whose
// name ends in .redirect is a redirect to what it holds. With editor -proxy the server
// is the person's proxy, too, and has the pages of every host.
func cmdWeb(ts *testscript.TestScript, _ bool, args []string) {
	s := of(ts)
	if len(args) != 1 || s.web.host != "" {
		ts.Fatalf("takes a folder, once and before the editor")
	}
	s.web.mu = new(sync.Mutex)
	dir := ts.MkAbs(args[0])
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		s.web.mu.Lock()
		s.web.paths = append(s.web.paths, q.RequestURI) // of a request to a proxy it has the host
		s.web.mu.Unlock()
		name := filepath.Join(dir, filepath.FromSlash(q.URL.Path))
		if to, err := os.ReadFile(name + ".redirect"); err == nil {
			http.Redirect(w, q, strings.TrimSpace(strings.ReplaceAll(string(to), "$WEB", s.web.host)), http.StatusFound)
			return
		}
		http.ServeFile(w, q, name)
	}))
	ts.Defer(server.Close)
	s.web.host = strings.TrimPrefix(server.URL, "http://")
	settings := filepath.Join(s.dir, "home", "settings.json")
	if text, err := os.ReadFile(settings); err == nil {
		ts.Check(os.WriteFile(settings, []byte(strings.ReplaceAll(string(text), "$WEB", s.web.host)), 0o600))
	}
}

// visited returns what was asked for, a line each.
func (s *story) visited() string {
	if s.web.mu == nil {
		return ""
	}
	s.web.mu.Lock()
	defer s.web.mu.Unlock()
	return lines(s.web.paths)
}
