package modelserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

// maxBody is the largest request that is read, in bytes.
const maxBody = 64 << 20

// Config is what a [Server] is made of. The zero Config is a server that answers
// questions with failures and takes any key.
type Config struct {
	Script *Script // what is played; nil answers every question with a failure
	// Key is the API key that a client must send; "" takes any but none.
	Key string
	// Refusal is what signing in is answered with, an error of OAuth such as
	// invalid_grant; "" gives a token.
	Refusal string
	// Models are the ids that the list of models has; nil = "demo".
	Models []string
	// Now is the clock of Request.Received and Answered; nil leaves them 0.
	Now func() time.Time
	// Sleep waits for pauses and heartbeats; nil uses a timer. It returns early,
	// with an error, when ctx is done.
	Sleep func(ctx context.Context, d time.Duration) error
}

// A Server plays a script. It is an [http.Handler] and safe for concurrent use.
type Server struct {
	config Config
	start  time.Time

	mu       sync.Mutex
	next     []int // by section: the step that comes next
	requests []*Request
	failures []string
	signed   map[string]string // by call id, what a client must send back
	grants   []url.Values      // requests for a token
	revoked  int               // so many of the tokens given are not good any more
	gates    map[string]*doors
}

// doors are a gate; the flags, guarded by the server's mutex, keep its channels from being closed
// twice.
type doors struct {
	open, reached     chan struct{}
	opened, isReached bool
}

// New returns a server at the beginning of its script. It starts nothing, and nothing
// needs to be closed. The clock begins now.
func New(config Config) *Server {
	if config.Script == nil {
		config.Script = &Script{sections: make([]section, 1)}
	}
	if config.Models == nil {
		config.Models = []string{"demo"}
	}
	s := &Server{
		config: config,
		next:   make([]int, len(config.Script.sections)),
		signed: make(map[string]string),
		gates:  make(map[string]*doors),
	}
	if config.Now != nil {
		s.start = config.Now()
	}
	return s
}

// Requests returns what was received so far, in order of arrival. The values
// are copies; what they refer to must not be changed. Of one whose answer goes on
// Answered and Written are 0.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]Request, len(s.requests))
	for i, r := range s.requests {
		all[i] = *r
	}
	return all
}

// Failures returns what clients did against the script or the API, each with
// the line of the script. Each was answered with 400 as well.
func (s *Server) Failures() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.failures)
}

// Done returns an error that lists the failures and the steps that were not
// played; nil if the script is played out and nothing failed. It does not wait: ask it
// when the client has ended.
func (s *Server) Done() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []error
	for _, f := range s.failures {
		all = append(all, errors.New(f))
	}
	for i, sec := range s.config.Script.sections {
		if left := len(sec.steps) - s.next[i]; left > 0 {
			all = append(all, fmt.Errorf("script: line %d: not played, nor what follows it in its section (%d steps)",
				sec.steps[s.next[i]].line, left))
		}
	}
	return errors.Join(all...)
}

// Open opens a gate of the script, for all that wait and will wait at it. It may be
// opened before anybody comes to it, and twice.
func (s *Server) Open(gate string) {
	d := s.doors(gate)
	s.mu.Lock()
	defer s.mu.Unlock()
	if !d.opened {
		d.opened = true
		close(d.open)
	}
}

// GateReached returns a channel that is closed when an answer has come to a gate. The
// script need not have the gate: then it is never closed.
func (s *Server) GateReached(gate string) <-chan struct{} { return s.doors(gate).reached }

// doors returns a gate, which exists from when anybody first asks for it.
func (s *Server) doors(gate string) *doors {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.gates[gate]
	if d == nil {
		d = &doors{open: make(chan struct{}), reached: make(chan struct{})}
		s.gates[gate] = d
	}
	return d
}

// ServeHTTP answers one request. It returns when the answer is written, has been broken
// off on purpose (a panic with http.ErrAbortHandler), or the client has given up.
func (s *Server) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	r := &Request{Section: -1}
	path := strings.TrimPrefix(q.URL.Path, "/")
	if path == "token" {
		s.grant(w, q)
		return
	}
	_, rest, ok := strings.Cut(path, "/")
	rest = r.vertex(rest)
	model, action, asks := strings.Cut(strings.TrimPrefix(rest, "models/"), ":")
	r.Model, r.Action = model, action
	if !ok || (rest != "models" && !strings.HasPrefix(rest, "models/")) {
		writeError(w, 404, "there is nothing at "+q.URL.Path, nil)
		return
	}
	if !s.admit(w, q, r) {
		return
	}
	if !asks {
		r.Action = "models"
		s.note(r)
		s.models(w, rest)
		s.recordAnswer(r)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, q.Body, maxBody))
	if err != nil {
		writeError(w, 400, "the request cannot be read", nil)
		return
	}
	defer s.recordAnswer(r)
	if err := r.decode(body); err != nil {
		s.note(r)
		writeError(w, 400, err.Error(), nil)
		return
	}
	switch action {
	case "countTokens":
		s.note(r)
		writeJSON(w, 200, map[string]int{"totalTokens": (len(r.System+r.history()) + 3) / 4})
	case "generateContent", "streamGenerateContent":
		st, err := s.take(r)
		if err != nil {
			writeError(w, 400, err.Error(), nil)
			return
		}
		p := &player{server: s, request: r, step: st, w: w, ctx: q.Context(), format: array}
		switch {
		case action == "generateContent":
			p.format = whole
		case q.URL.Query().Get("alt") == "sse":
			p.format = events
		}
		defer s.recordWritten(r, p)
		p.play()
	case "batchEmbedContents", "predict":
		s.embed(w, r)
	default:
		s.note(r)
		writeError(w, 404, "there is no method "+action, nil)
	}
}

// admit checks the API key, or the token where there is a project, as the real
// API does.
func (s *Server) admit(w http.ResponseWriter, q *http.Request, r *Request) bool {
	if r.Project != "" {
		return s.admitToken(w, q)
	}
	key := q.Header.Get("x-goog-api-key")
	if key == "" {
		key = q.URL.Query().Get("key")
	}
	switch {
	case key == "":
		writeError(w, 403, "Method doesn't allow unregistered callers (callers without established identity). Please use API Key or other form of API consumer identity to call this API.", nil)
	case s.config.Key != "" && key != s.config.Key:
		writeError(w, 400, "API key not valid. Please pass a valid API key.", []any{map[string]any{
			"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID",
			"domain": "googleapis.com",
		}})
	default:
		return true
	}
	return false
}

// models answers the list of models, or one of them.
func (s *Server) models(w http.ResponseWriter, path string) {
	describe := func(id string) map[string]any {
		return map[string]any{"name": "models/" + id, "version": "001", "displayName": id,
			"inputTokenLimit": 1 << 20, "outputTokenLimit": 1 << 16,
			"supportedGenerationMethods": []string{"generateContent", "countTokens"}}
	}
	if path == "models" {
		list := []any{}
		for _, id := range s.config.Models {
			list = append(list, describe(id))
		}
		writeJSON(w, 200, map[string]any{"models": list})
		return
	}
	id := strings.TrimPrefix(path, "models/")
	if !slices.Contains(s.config.Models, id) {
		writeError(w, 404, "models/"+id+" is not found", nil)
		return
	}
	writeJSON(w, 200, describe(id))
}

// since is the time since the server was made; 0 without a clock.
func (s *Server) since() time.Duration {
	if s.config.Now == nil {
		return 0
	}
	return s.config.Now().Sub(s.start)
}

// note adds a request to those that were received. Whoever changes it afterwards holds the mutex.
func (s *Server) note(r *Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.Received = s.since()
	s.requests = append(s.requests, r)
}

// recordAnswer notes when an answer ended.
func (s *Server) recordAnswer(r *Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.Answered = s.since()
}

// recordWritten notes how long an answer's body was.
func (s *Server) recordWritten(r *Request, p *player) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.body != nil {
		r.Written = p.body.n
	}
}

// take notes a request and returns the step that answers it. A step is used up by a
// request that does not hold, too. What the real API refuses is looked for first, so
// that a wrong conversation is told as such.
func (s *Server) take(r *Request) (step, error) {
	s.note(r)
	s.mu.Lock()
	defer s.mu.Unlock()
	fail := func(format string, args ...any) (step, error) {
		err := fmt.Errorf("script: "+format, args...)
		s.failures = append(s.failures, err.Error())
		return step{}, err
	}
	at := 0
	for i, sec := range s.config.Script.sections[1:] {
		if !slices.ContainsFunc(sec.when, func(c condition) bool { return !c.holds(r) }) {
			at = i + 1
			break
		}
	}
	sec := s.config.Script.sections[at]
	r.Section = at
	if s.next[at] >= len(sec.steps) {
		where := "the steps before the first section"
		if at > 0 {
			where = fmt.Sprintf("the section of line %d", sec.line)
		}
		return fail("%s ended after %d steps, and one more was asked for; the last text of the user is %q",
			where, len(sec.steps), clip(r.LastInput()))
	}
	st := sec.steps[s.next[at]]
	s.next[at]++
	r.Step = s.next[at]
	if err := r.check(s.signed); err != nil {
		return fail("line %d: the real API refuses this: %w", st.line, err)
	}
	var wrong []string
	for _, e := range st.expects {
		if err := e.check(r); err != nil {
			wrong = append(wrong, fmt.Sprintf("line %d: %v", e.line, err))
		}
	}
	if len(wrong) > 0 {
		return fail("%s", strings.Join(wrong, "; "))
	}
	s.sign(st)
	return st, nil
}

// sign remembers the signatures that a step gives to its calls. An id that is
// given twice is not looked at any more: nothing says which of them comes back.
func (s *Server) sign(st step) {
	for _, a := range st.actions {
		for _, raw := range a.parts {
			var p struct {
				ThoughtSignature string `json:"thoughtSignature"`
				FunctionCall     *struct {
					ID string `json:"id"`
				} `json:"functionCall"`
			}
			if json.Unmarshal(raw, &p) != nil || p.FunctionCall == nil || p.FunctionCall.ID == "" {
				continue
			}
			id := p.FunctionCall.ID
			if old, ok := s.signed[id]; ok && old != p.ThoughtSignature {
				delete(s.signed, id)
			} else {
				s.signed[id] = p.ThoughtSignature
			}
		}
	}
}

// writeJSON answers with a value.
func writeJSON(w http.ResponseWriter, code int, v any) {
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	w.WriteHeader(code)
	// A client that is gone does not get its answer.
	_, _ = w.Write(marshal(v))
}

// writeError answers with an error in the shape of the real API's.
func writeError(w http.ResponseWriter, code int, message string, details []any) {
	e := map[string]any{"code": code, "message": message, "status": statusName(code)}
	if details != nil {
		e["details"] = details
	}
	writeJSON(w, code, map[string]any{"error": e})
}
