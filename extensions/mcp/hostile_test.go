package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/agentls/agentls/internal/dial"
)

// TestSEC90OtherOrigins: what a server over SSE names as its address gets nothing unless
// it is where the description has the server, in the same scheme: headers hold tokens.
func TestSEC90OtherOrigins(t *testing.T) {
	w, r := newWorld(t, nil), newRemote(t, "")
	w.add("far", fmt.Sprintf(`"url": %q, "headers": {"Authorization": "Bearer ${TOKEN}"}`, strings.Replace(r.URL, "http:", "https:", 1)))
	at, err := dial.ParseURL(w.described[0].URL)
	if err != nil {
		t.Fatal(err)
	}
	next := (&dial.Dialer{Hosts: w.described[0].hosts(at)}).Transport(0)
	defer next.CloseIdleConnections()
	g := &guard{connection: &connection{entry: &entry{all: w.Servers}, life: t.Context()}, at: at.URL, next: next, headers: w.described[0].Headers}
	through := &http.Client{Transport: g}
	resp, err := through.Post(r.URL+"/messages", "application/json", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
	if err == nil {
		resp.Body.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "not where its settings have it") || r.has("ping") {
		t.Errorf("a message went in clear text: %v, %q", err, r.seen)
	}
	w.described = nil
	r.fault = "sse elsewhere"
	w.add("near", fmt.Sprintf(`"url": %q`, r.URL))
	if tools, o := w.offer("near"); len(tools) != 0 || !strings.Contains(strings.Join(o.Problems, ""), "not where its settings have it") {
		t.Errorf("offered by what names another address: %v, %q", tools, o.Problems)
	}
}

// TestSEC84ErasedApprovals: what was approved of a server is not lost through how much
// it lists, and where it is lost nothing is taken for approved.
func TestSEC84ErasedApprovals(t *testing.T) {
	w := newWorld(t, nil, "works")
	w.offer("works")
	e, err := w.find(w.folder, "works")
	if err != nil {
		t.Fatal(err)
	}
	for _, large := range []struct {
		prompts []Prompt
		tools   []listed
		kept    int
	}{
		{[]Prompt{{Name: "a", Description: strings.Repeat("x", maxKept)}}, e.listed, 3},
		{nil, []listed{{Name: "a", Description: strings.Repeat("x", maxKept)}}, 0},
	} {
		e.mu.Lock()
		e.prompts, e.listed = large.prompts, large.tools
		err = e.save()
		e.mu.Unlock()
		again := &entry{all: e.all, folder: e.folder, name: e.name}
		if again.load(); err != nil || len(again.accepted) != 3 || len(again.listed) != large.kept {
			t.Errorf("kept: %d approved, %d listed, %v", len(again.accepted), len(again.listed), err)
		}
	}
	w.Close()
	if err := os.WriteFile(filepath.Join(w.dir, fileName(w.folder, "works")), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.open(nil)
	w.offer("works")
	until(t, "all waits for the person", func() bool { s := w.state("works"); return len(s.Tools) == 0 && len(s.Pending) == 3 })
}

// TestREL86Prompts: a list of prompts is read as far as there is room, however long it,
// its pages and the arguments of each are.
func TestREL86Prompts(t *testing.T) {
	w := newWorld(t, nil, "has prompts")
	w.offer("has-prompts")
	var all []Prompt
	until(t, "its prompts are listed", func() bool { all = w.Prompts(w.folder); return len(all) > 0 })
	if len(all) != maxPrompts || len(all[0].Args) != maxArguments || len(all[0].Args[0].Description) > maxArgument {
		t.Errorf("%d prompts", len(all))
	}
	text, err := w.Prompt(t.Context(), w.folder, all[0], "x")
	if err != nil || len(text) < maxFetched/2 || len(text) > maxFetched+200 {
		t.Errorf("%d bytes of a prompt ride along: %v", len(text), err)
	}
}

// promptsPage is a page of a list without an end.
func promptsPage(cursor string) string {
	var arguments []mcp.PromptArgument
	for i := range maxArguments + 1 {
		arguments = append(arguments, mcp.PromptArgument{Name: fmt.Sprint("a", i), Description: strings.Repeat("x", maxArgument+1)})
	}
	var prompts []mcp.Prompt
	for i := range 10 {
		prompts = append(prompts, mcp.Prompt{Name: fmt.Sprint("p", cursor, i), Arguments: arguments})
	}
	page, _ := json.Marshal(map[string]any{"prompts": prompts, "nextCursor": cursor + "n"})
	return string(page)
}

// TestREL86RequestsOverHTTP: a server over HTTP that asks and does not take the answers
// is ended.
func TestREL86RequestsOverHTTP(t *testing.T) {
	w, _, _, _ := reach(t, "asks", nil)
	until(t, "it is ended", func() bool { return strings.Contains(w.state("far").Why, "read no answer") })
}

// TestREL86Events: what a server writes into one event is not gathered, and a stream that
// floods waits for the next second.
func TestREL86Events(t *testing.T) {
	now := time.Unix(0, 0)
	var waited []time.Duration
	e := &events{filter: &filter{notify: func(string, []byte) {}, open: new(atomic.Int64), now: func() time.Time { return now }, wait: func(d time.Duration) {
		waited = append(waited, d)
		now = now.Add(d)
	}}}
	e.next = e.event
	ids := 2*perSecond + 1
	e.in = bufio.NewReader(strings.NewReader(strings.Repeat("id: 1\nretry: 5\n", ids/2) + "id: 2\n\n"))
	if out, err := io.ReadAll(e); err != nil || string(out) != "id: 2\nretry: 5\n\n" {
		t.Errorf("%d bytes went on: %v", len(out), err)
	}
	if !slices.Equal(waited, []time.Duration{time.Second, time.Second}) {
		t.Errorf("%d lines waited %v", ids, waited)
	}
}

// TestREL86ListeningIsRefused: whatever a server answers to who wants to listen, it is not
// asked each second again.
func TestREL86ListeningIsRefused(t *testing.T) {
	w := newWorld(t, nil)
	for _, status := range []int{200, 401, 403, 500, 503} {
		r := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(status)
		}))
		at, err := dial.ParseURL(r.URL)
		if err != nil {
			t.Fatal(err)
		}
		next := (&dial.Dialer{Hosts: dial.Hosts{{Name: at.Hostname, Port: at.Port}}}).Transport(0)
		g := &guard{connection: &connection{entry: &entry{all: w.Servers}, life: t.Context()}, at: at.URL, next: next}
		resp, err := (&http.Client{Transport: g}).Get(r.URL)
		if err != nil {
			t.Fatal(err)
		}
		if resp.Body.Close(); resp.StatusCode != http.StatusMethodNotAllowed {
			t.Errorf("%d was passed on as %d", status, resp.StatusCode)
		}
		next.CloseIdleConnections()
		r.Close()
	}
}

// TestSEC88QuestionsOfNobody: a question is put to the run whose call goes on, and to none
// where it may be another's.
func TestSEC88QuestionsOfNobody(t *testing.T) {
	one, two := new(asking), new(asking)
	c := &connection{asking: []*asking{one}, calls: 1}
	if c.asker(t.Context()) != one {
		t.Error("the only call is not asked")
	}
	if a := c.asker(withoutPerson(t.Context())); a != nil {
		t.Error("a request that is no call is asked as a call")
	}
	c.calls = 2
	if a := c.asker(t.Context()); a != nil {
		t.Error("a question beside a prompt that is fetched is put to a call")
	}
	c.asking = []*asking{one, two}
	if a := c.asker(t.Context()); a != nil {
		t.Error("a question during two calls is put to one of them")
	}
	if c.asker(context.WithValue(t.Context(), askingKey{}, one)) != one {
		t.Error("the call that is named is not asked")
	}
}
