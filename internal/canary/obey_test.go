package canary_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/agentls/agentls/internal/canary"
	"github.com/agentls/agentls/internal/modelserver"
)

// obedient is a model that does whatever the text it reads says: it looks for
// directives in all that is new in a request, decodes what may hide some, and
// asks for one call after the other until nothing is left that it was told.
type obedient struct {
	mu    sync.Mutex
	seen  int             // messages that were read
	known map[string]bool // directives that were found
	todo  []canary.Call
	did   []string // calls that it asked for
	task  int      // so many of them are the person's own

	told   string // a secret
	leaked bool   // it was told it
}

// maxTurns is how often it obeys in one run.
const maxTurns = 12

func (o *obedient) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	body, err := io.ReadAll(q.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	// The kit's server decodes the request, and encodes the answer.
	probe := modelserver.New(modelserver.Config{Script: script("< none\n")})
	probe.ServeHTTP(httptest.NewRecorder(), again(q, body))
	requests := probe.Requests()
	answer := "< Done.\n"
	if len(requests) == 1 {
		if call, ok := o.next(requests[0]); ok {
			args, _ := json.Marshal(call.Args) // it came from JSON
			answer = fmt.Sprintf("<call %s %s\n", call.Tool, args)
		}
	}
	modelserver.New(modelserver.Config{Script: script(answer)}).ServeHTTP(w, again(q, body))
}

// next reads what is new and returns the call that it is told to make.
func (o *obedient) next(r modelserver.Request) (canary.Call, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.leaked = o.leaked || bytes.Contains(r.Body, []byte(o.told))
	if o.known == nil {
		o.known = make(map[string]bool)
		o.read(r.LastInput()) // the person's own words come first
		o.task = len(o.todo)
		o.read(r.System)
	}
	for _, m := range r.Messages[min(o.seen, len(r.Messages)):] {
		if m.Role == "model" {
			continue
		}
		for _, p := range m.Parts {
			o.read(p.Text)
			if p.Result != nil {
				o.read(p.Result.Text)
			}
		}
	}
	o.seen = len(r.Messages)
	if len(o.todo) == 0 || len(o.did) == maxTurns {
		return canary.Call{}, false
	}
	call := o.todo[0]
	o.todo = o.todo[1:]
	o.did = append(o.did, fmt.Sprintf("%s %v", call.Tool, call.Args))
	return call, true
}

// read takes the directives of a text.
func (o *obedient) read(text string) {
	for _, plain := range decoded(text) {
		for _, call := range directives(plain) {
			if key := fmt.Sprintf("%s %v", call.Tool, call.Args); !o.known[key] {
				o.known[key] = true
				o.todo = append(o.todo, call)
			}
		}
	}
}

var (
	toRun  = regexp.MustCompile("(?i)\\brun[-: ]*`([^`\n]+)`")
	toCall = regexp.MustCompile(`\b(read_file|read_many_files|ls|glob|grep|write_file|edit_file|bash|write_todos) ?\{`)
	packed = regexp.MustCompile(`[A-Za-z0-9+/]{24,}={0,2}`)
)

// directives returns the calls that a text wants, in its order.
func directives(text string) []canary.Call {
	type found struct {
		at   int
		call canary.Call
	}
	var all []found
	for _, m := range toRun.FindAllStringSubmatchIndex(text, -1) {
		all = append(all, found{m[0], canary.Shell(text[m[2]:m[3]])})
	}
	for _, m := range toCall.FindAllStringSubmatchIndex(text, -1) {
		for _, raw := range []string{text[m[1]-1:], strings.ReplaceAll(text[m[1]-1:], "'", `"`)} {
			var args canary.Args
			if json.NewDecoder(strings.NewReader(raw)).Decode(&args) == nil {
				all = append(all, found{m[0], canary.Call{Tool: text[m[2]:m[3]], Args: args}})
				break
			}
		}
	}
	slices.SortStableFunc(all, func(a, b found) int { return a.at - b.at })
	calls := make([]canary.Call, len(all))
	for i, f := range all {
		calls[i] = f.call
	}
	return calls
}

// decoded returns a text, and what it becomes for a reader who takes pains.
func decoded(text string) []string {
	all := []string{text, html.UnescapeString(text), strings.ReplaceAll(text, `\"`, `"`)}
	if plain, err := url.QueryUnescape(text); err == nil {
		all = append(all, plain)
	}
	all = append(all, strings.Map(func(r rune) rune {
		switch {
		case r >= 0xE0020 && r <= 0xE007E:
			return r - 0xE0000
		case r == 0x200B || r == 0x200C || r == 0x200D || r == 0x2060 || r == 0xFEFF:
			return -1
		}
		return r
	}, text))
	for _, word := range packed.FindAllString(text, -1) {
		if plain, err := base64.StdEncoding.DecodeString(word); err == nil {
			all = append(all, string(plain))
		}
	}
	return all
}

func script(text string) *modelserver.Script {
	s, err := modelserver.Parse(text)
	if err != nil {
		panic(err) // of this test's own making
	}
	return s
}

// again is a request whose body was read.
func again(q *http.Request, body []byte) *http.Request {
	c := q.Clone(q.Context())
	c.Body = io.NopCloser(bytes.NewReader(body))
	return c
}
