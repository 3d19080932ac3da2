package modeltest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/agentls/agentls/agents/model"
)

// leaks fails the test if it leaves a goroutine, after its other clean-ups.
func leaks(t *testing.T) {
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, before) })
}

// heard is all that came of one call.
type heard struct {
	text, thought string
	subjects      []string
	answer        *model.Answer
	err           error
}

// listen runs a call to its end and checks the contract of the stream itself.
func listen(t testing.TB, ctx context.Context, m model.Model, req *model.Request) heard {
	t.Helper()
	var h heard
	var text, thought strings.Builder
	over := false
	for chunk, err := range m.Generate(ctx, req) {
		if over {
			t.Errorf("something came after the end: %+v, %v", chunk, err)
		}
		if err != nil {
			h.err, over = err, true
			continue
		}
		if chunk.Answer != nil {
			h.answer, over = chunk.Answer, true
		}
		text.WriteString(chunk.Text)
		thought.WriteString(chunk.Thought)
		if chunk.Subject != "" {
			h.subjects = append(h.subjects, chunk.Subject)
		}
	}
	if !over {
		t.Error("the stream ended with neither an answer nor an error")
	}
	h.text, h.thought = text.String(), thought.String()
	return h
}

// ask listens to an answer that must be one.
func ask(t testing.TB, s Subject, req *model.Request) heard {
	t.Helper()
	h := listen(t, t.Context(), s.Model, req)
	if h.err != nil {
		t.Fatal(h.err)
	}
	if h.answer.Message.Role != model.Reply {
		t.Errorf("the role of an answer is %q", h.answer.Message.Role)
	}
	return h
}

func (s *suite) request() *model.Request {
	return &model.Request{Model: s.ID, System: "Be brief.",
		Messages: []model.Message{user(model.Part{Text: "Hello <you> & me."})},
		Tools: []model.Declaration{{Name: "read_file", Description: "Reads a file.",
			Parameters: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}}}`)}}}
}

func user(parts ...model.Part) model.Message { return model.Message{Role: model.User, Parts: parts} }

func text(t *testing.T, s *suite) {
	u := s.New(t, Answer{Pieces: []Piece{{Text: "Good "}, {Text: "day,\n"}, {Text: "世界 🌍 \"q\" \\ </b>"}}})
	h := ask(t, u, s.request())
	const want = "Good day,\n世界 🌍 \"q\" \\ </b>"
	if h.text != want || h.thought != "" || h.answer.Finish != model.Stop {
		t.Errorf("%q, %q, %s", h.text, h.thought, h.answer.Finish)
	}
	if diff := cmp.Diff([]model.Part{{Text: want}}, h.answer.Message.Parts); diff != "" {
		t.Error(diff)
	}
	// What it said goes back, and is what it said.
	u = s.New(t, Answer{Pieces: []Piece{{Text: "Yes."}}})
	req := s.request()
	req.Messages = append(req.Messages, h.answer.Message, user(model.Part{Text: "Really?"}))
	ask(t, u, req)
	if body := u.Sent()[0].Body; !bytes.Contains(body, []byte("Really?")) || !bytes.Contains(body, []byte("世界")) {
		t.Errorf("%s", body)
	}
}

func thoughts(t *testing.T, s *suite) {
	u := s.New(t, Answer{Pieces: []Piece{{Subject: "First", Thought: "I look."}, {Thought: " Further."},
		{Text: "Said."}, {Subject: "Second", Thought: "I see."}, {Text: "Done."}}})
	h := ask(t, u, s.request())
	if h.text != "Said.Done." || h.thought != "I look. Further.I see." {
		t.Errorf("%q, %q", h.text, h.thought)
	}
	if diff := cmp.Diff([]string{"First", "Second"}, h.subjects); diff != "" {
		t.Error(diff)
	}
	want := []model.Part{{Subject: "First", Thought: "I look. Further."}, {Text: "Said."},
		{Subject: "Second", Thought: "I see."}, {Text: "Done."}}
	if diff := cmp.Diff(want, h.answer.Message.Parts); diff != "" {
		t.Error(diff)
	}
}

func calls(t *testing.T, s *suite) {
	args := json.RawMessage(`{"path":"a/b.go","n":12345678901234567890,"html":"<b>&amp;"}`)
	u := s.New(t,
		Answer{Pieces: []Piece{{Text: "Let me see."},
			{Call: &model.Call{ID: "p-1", Name: "read_file", Args: args}, Signature: "c2ln+3ovPQ/+8A=="},
			{Call: &model.Call{ID: "p-2", Name: "read_file", Args: json.RawMessage(`{}`)}},
			{Text: "", Signature: "bGFzdA=="}}},
		Answer{Pieces: []Piece{{Text: "Fine."}}},
		Answer{Pieces: []Piece{{Text: "Fine."}}})
	req := s.request()
	h := ask(t, u, req)
	var got []model.Call
	for i, p := range h.answer.Message.Parts {
		if p.Call != nil {
			got = append(got, *p.Call)
			// The run puts ids of its own.
			h.answer.Message.Parts[i].Call = &model.Call{ID: "r1#1-" + p.Call.ID, Name: p.Call.Name, Args: p.Call.Args}
		}
	}
	want := []model.Call{{ID: "p-1", Name: "read_file", Args: args},
		{ID: "p-2", Name: "read_file", Args: json.RawMessage(`{}`)}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatal(diff)
	}
	// A log writes the message down and reads it again before it goes back.
	data, err := json.Marshal(h.answer.Message)
	if err != nil {
		t.Fatal(err)
	}
	var reply model.Message
	if err := json.Unmarshal(data, &reply); err != nil {
		t.Fatal(err)
	}
	for _, m := range []model.Message{h.answer.Message, reply} {
		again := *req
		again.Messages = append(append([]model.Message(nil), req.Messages...), m, user(
			model.Part{Result: &model.Result{ID: "r1#1-p-1", Name: "read_file", Content: "package b"}},
			model.Part{Result: &model.Result{ID: "r1#1-p-2", Name: "read_file", Content: "no path", Error: true}},
			model.Part{Text: "Go on."}))
		ask(t, u, &again)
	}
	sent := u.Sent()
	if len(sent) != 3 {
		t.Fatalf("%d requests", len(sent))
	}
	for _, q := range sent[1:] {
		if diff := cmp.Diff([]string{"c2ln+3ovPQ/+8A==", "bGFzdA=="}, q.Signatures); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]Result{{"p-1", "read_file", "package b", false}, {"p-2", "read_file", "no path", true}},
			q.Results); diff != "" {
			t.Error(diff)
		}
		if !bytes.Contains(q.Body, []byte("12345678901234567890")) {
			t.Errorf("the arguments changed: %s", q.Body)
		}
	}
	if !bytes.Contains(sent[1].Body, h.answer.Message.Raw) {
		t.Errorf("%s\nis not byte for byte in\n%s", h.answer.Message.Raw, sent[1].Body)
	}
}

func media(t *testing.T, s *suite) {
	u := s.New(t, Answer{Pieces: []Piece{{Text: "A cat."}}})
	req := s.request()
	req.Messages[0].Parts = append(req.Messages[0].Parts, model.Part{Media: &model.Media{MimeType: "image/png",
		Data: []byte{1, 2, 3}}})
	ask(t, u, req)
	q := u.Sent()[0]
	if q.System != "Be brief." || len(q.Tools) != 1 || q.Tools[0] != "read_file" || len(q.Media) != 1 ||
		q.Media[0] != "image/png" {
		t.Errorf("%+v", q)
	}
}

// class asserts that a call fails, and as what.
func class(t testing.TB, h heard, want model.Class) *model.Error {
	t.Helper()
	var e *model.Error
	if !errors.As(h.err, &e) {
		t.Fatalf("got %+v, want an error of class %s", h, want)
	}
	if e.Class != want || e.Message == "" {
		t.Errorf("got %s %q, want %s", e.Class, e.Message, want)
	}
	return e
}

func cut(t *testing.T, s *suite) {
	call := Piece{Call: &model.Call{ID: "1", Name: "read_file", Args: json.RawMessage(`{}`)}}
	for _, then := range []Then{Cut, CutRune} {
		u := s.New(t, Answer{Pieces: []Piece{{Text: "One."}, call}, Then: then})
		h := listen(t, t.Context(), u.Model, s.request())
		class(t, h, model.Cut)
		if h.text != "One." || h.answer != nil {
			t.Errorf("%s: %q, %v", then, h.text, h.answer)
		}
	}
	u := s.New(t, Answer{Pieces: []Piece{{Text: "One."}, call}, Silent: true})
	class(t, listen(t, t.Context(), u.Model, s.request()), model.Cut)
	u = s.New(t, Answer{Then: Drop})
	class(t, listen(t, t.Context(), u.Model, s.request()), model.Busy)
}

func ends(t *testing.T, s *suite) {
	u := s.New(t, Answer{Silent: true})
	class(t, listen(t, t.Context(), u.Model, s.request()), model.Cut)
	for _, pieces := range [][]Piece{nil, {{Text: ""}}, {{Thought: "Hm.", Subject: "Only"}},
		{{Text: "", Signature: "YQ=="}}} {
		u := s.New(t, Answer{Pieces: pieces})
		if h := ask(t, u, s.request()); h.answer.Finish != model.Empty {
			t.Errorf("%+v: %s", pieces, h.answer.Finish)
		}
	}
}

func finish(t *testing.T, s *suite) {
	one := []Piece{{Text: "One."}}
	for _, f := range []model.Finish{model.Stop, model.Length, model.Malformed, model.Other} {
		u := s.New(t, Answer{Pieces: one, Finish: f})
		if h := ask(t, u, s.request()); h.answer.Finish != f || h.text != "One." || h.answer.Blocked != "" {
			t.Errorf("%s: %+v", f, h.answer)
		}
	}
	for _, pieces := range [][]Piece{one, nil} {
		u := s.New(t, Answer{Pieces: pieces, Finish: model.Blocked, Category: "PROHIBITED_CONTENT"})
		h := ask(t, u, s.request())
		if h.answer.Finish != model.Blocked || h.answer.Blocked != "PROHIBITED_CONTENT" {
			t.Errorf("%+v", h.answer)
		}
	}
}

func usage(t *testing.T, s *suite) {
	want := model.Usage{InputTokens: 1200, OutputTokens: 30, CachedTokens: 1000, ThoughtTokens: 12, TotalTokens: 1242}
	u := s.New(t, Answer{Pieces: []Piece{{Text: "x"}}, Usage: &want}, Answer{Pieces: []Piece{{Text: "x"}}},
		Answer{Pieces: []Piece{{Text: "x"}}, Usage: &model.Usage{InputTokens: -5, TotalTokens: 3}},
		Answer{Pieces: []Piece{{Text: "x"}}, Usage: &model.Usage{InputTokens: 1 << 40, TotalTokens: 1 << 40}})
	if h := ask(t, u, s.request()); !h.answer.Counted || h.answer.Usage != want {
		t.Errorf("%+v", h.answer)
	}
	for _, what := range []string{"missing", "negative", "absurd"} {
		if h := ask(t, u, s.request()); h.answer.Counted || h.answer.Usage != (model.Usage{}) || h.text != "x" {
			t.Errorf("%s: %+v", what, h.answer)
		}
	}
}

func classes(t *testing.T, s *suite) {
	for fault, want := range map[Fault]model.Class{
		RateLimit: model.Busy, Overloaded: model.Busy, ServerError: model.Busy, DailyQuota: model.Fatal,
		BadKey:       model.Unauthorized,
		NotPermitted: model.Fatal, BadRequest: model.Fatal, NotFound: model.Fatal, TooLarge: model.Fatal,
		ClientClosed: model.Fatal,
		Unreachable:  model.Busy,
	} {
		u := s.New(t, Answer{Fault: fault})
		e := class(t, listen(t, t.Context(), u.Model, s.request()), want)
		if t.Failed() {
			t.Fatalf("%s: %+v", fault, e)
		}
		if n := len(u.Sent()); n > 1 {
			t.Errorf("%s: %d requests: retrying is not the model's", fault, n)
		}
		if (e.Status == 0) != (fault == Unreachable) {
			t.Errorf("%s: status %d", fault, e.Status)
		}
	}
	u := s.New(t, Answer{Fault: RateLimit, RetryAfter: 7 * time.Second})
	if e := class(t, listen(t, t.Context(), u.Model, s.request()), model.Busy); e.RetryAfter != 7*time.Second {
		t.Errorf("retry after %s", e.RetryAfter)
	}
	u = s.New(t, Answer{Pieces: []Piece{{Text: "One."}}, Fault: Midway})
	if h := listen(t, t.Context(), u.Model, s.request()); h.text != "One." {
		t.Error(h.text)
	} else {
		class(t, h, model.Cut)
	}
}

func stalls(t *testing.T, s *suite) {
	for _, then := range []Then{Hang, Heartbeat} {
		u := s.New(t, Answer{Pieces: []Piece{{Text: "One."}}, Then: then})
		start := time.Now()
		h := listen(t, t.Context(), u.Model, s.request())
		class(t, h, model.Cut)
		if took := time.Since(start); took != s.IdleTimeout || h.text != "One." {
			t.Errorf("%s: ended after %s, want %s", then, took, s.IdleTimeout)
		}
		u.Idle()
	}
	// The time that a reader takes is not the stream's.
	u := s.New(t, Answer{Pieces: []Piece{{Text: "One."}, {Text: "Two."}}})
	for _, err := range u.Model.Generate(t.Context(), s.request()) {
		if err != nil {
			t.Error(err)
		}
		time.Sleep(2 * s.IdleTimeout)
	}
}

func noHeaders(t *testing.T, s *suite) {
	u := s.New(t, Answer{Then: Silence})
	start := time.Now()
	class(t, listen(t, t.Context(), u.Model, s.request()), model.Busy)
	if took := time.Since(start); took != s.HeaderTimeout {
		t.Errorf("ended after %s, want %s", took, s.HeaderTimeout)
	}
	u.Idle()
}

func cancel(t *testing.T, s *suite) {
	for _, then := range []Then{Hang, Silence, Heartbeat} {
		u := s.New(t, Answer{Pieces: []Piece{{Text: "One."}}, Then: then})
		ctx, stop := context.WithCancel(t.Context())
		var cancelled time.Time
		timer := time.AfterFunc(20*time.Millisecond, func() { cancelled = time.Now(); stop() })
		h := listen(t, ctx, u.Model, s.request())
		if took := time.Since(cancelled); took > time.Second || !errors.Is(h.err, context.Canceled) {
			t.Errorf("%s: %v after %s", then, h.err, took)
		}
		timer.Stop()
		u.Idle()
	}
	u := s.New(t, Answer{Pieces: []Piece{{Text: "One."}}, Then: Hang})
	ctx, stop := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer stop()
	if h := listen(t, ctx, u.Model, s.request()); !errors.Is(h.err, context.DeadlineExceeded) {
		t.Error(h.err)
	}
	u.Idle()
}

func cancelledBefore(t *testing.T, s *suite) {
	u := s.New(t, Answer{})
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if h := listen(t, ctx, u.Model, s.request()); !errors.Is(h.err, context.Canceled) {
		t.Error(h.err)
	}
	if n := len(u.Sent()); n != 0 {
		t.Errorf("%d requests", n)
	}
}

func leave(t *testing.T, s *suite) {
	u := s.New(t, Answer{Pieces: []Piece{{Text: "One."}, {Text: "Two."}}, Then: Hang})
	for chunk, err := range u.Model.Generate(t.Context(), s.request()) {
		if err != nil || chunk.Text == "" {
			t.Errorf("%+v, %v", chunk, err)
		}
		break
	}
	u.Idle()
	// Nothing is asked before the loop begins.
	u = s.New(t, Answer{})
	u.Model.Generate(t.Context(), s.request())
	if n := len(u.Sent()); n != 0 {
		t.Errorf("%d requests", n)
	}
}

func panics(t *testing.T, s *suite) {
	u := s.New(t, Answer{Pieces: []Piece{{Text: "One."}}, Then: Hang})
	func() {
		defer func() {
			if v := recover(); v != "mine" {
				t.Errorf("recovered %v", v)
			}
		}()
		for range u.Model.Generate(t.Context(), s.request()) {
			panic("mine")
		}
	}()
	u.Idle()
}

func shared(t *testing.T, s *suite) {
	const n = 8
	answers := make([]Answer, n)
	for i := range answers {
		answers[i] = Answer{Pieces: []Piece{{Text: "Same."}}}
	}
	u := s.New(t, answers...)
	temperature, budget := 0.5, 2000
	req := s.request()
	req.Options = model.Options{Temperature: &temperature, ThinkingBudget: &budget, MaxOutput: 100}
	before, err := json.Marshal(req)
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			if h := listen(t, t.Context(), u.Model, req); h.err != nil || h.text != "Same." {
				t.Errorf("%v, %q", h.err, h.text)
			}
		})
	}
	all.Wait()
	after, err := json.Marshal(req)
	if err != nil || !bytes.Equal(before, after) {
		t.Errorf("the request was %s and is %s", before, after)
	}
	sent := u.Sent()
	for _, q := range sent[1:] {
		if !bytes.Equal(q.Body, sent[0].Body) {
			t.Errorf("%s\n%s", q.Body, sent[0].Body)
		}
	}
}
