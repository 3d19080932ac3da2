package agenttest

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/agentls/agentls/agents/model"
)

// Model answers as a case says. It is safe for concurrent use. It serves one run of one
// case; answers are used up. Its methods are those of a model that can search, so
// nothing is asked of a provider.
type Model struct {
	mu      sync.Mutex
	answers []Answer
	// As long as answers.
	used []bool
	// What did not come as expected, in the order in which it happened.
	wrong []Failure
}

// NewModel returns the model of a case.
func NewModel(c *Case) *Model { return &Model{answers: c.Model, used: make([]bool, len(c.Model))} }

// Failures returns where the model was asked what the case does not say, and what of the
// case nobody asked for. It is asked when the run has ended.
func (m *Model) Failures() []Failure {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := slices.Clone(m.wrong)
	for i, used := range m.used {
		if !used {
			all = append(all, ofAnswer(i, "expected to be asked for answer %d (%s), came no request", i+1,
				m.answers[i].short()))
		}
	}
	return all
}

// ofAnswer is a failure about an answer, or about all for -1.
func ofAnswer(i int, format string, args ...any) Failure {
	path := []string{"model"}
	if i >= 0 {
		path = append(path, strconv.Itoa(i))
	}
	return Failure{path, "model: " + fmt.Sprintf(format, args...)}
}

// short names an answer.
func (a Answer) short() string {
	text := a.Text
	for _, c := range a.calls() {
		text = cmp.Or(text, "a call of "+c.name)
	}
	text = cmp.Or(text, a.Error)
	if r := []rune(text); len(r) > 40 {
		text = string(r[:40]) + "…"
	}
	return text
}

// Searches implements [model.Searcher].
func (m *Model) Searches(string) bool { return true }

// Generate implements [model.Model].
//
// The text comes in one piece before the answer, as a stream would bring it. An error of
// the case is fatal, so that the run does not try again.
func (m *Model) Generate(ctx context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		if err := ctx.Err(); err != nil {
			yield(model.Chunk{}, err)
			return
		}
		a, err := m.next(req)
		if err != nil {
			yield(model.Chunk{}, err)
			return
		}
		answer, err := a.answer()
		if err != nil {
			yield(model.Chunk{}, &model.Error{Class: model.Fatal, Message: err.Error()})
			return
		}
		if a.Text != "" && !yield(model.Chunk{Text: a.Text}, nil) {
			return
		}
		yield(model.Chunk{Answer: answer}, nil)
	}
}

// next takes the first answer that is for who asks. Answers for a named agent go to
// that one only, so that agents that work side by side get theirs in any order.
// An answer that is taken counts as used, also where what it should see is missing: the
// run then goes on, and the test fails.
func (m *Model) next(req *model.Request) (Answer, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	newest := newestText(req)
	for i, a := range m.answers {
		if m.used[i] || a.For != req.Asker.Purpose || (a.Agent != "" && a.Agent != req.Asker.Agent) {
			continue
		}
		m.used[i] = true
		if a.Sees != "" && !strings.Contains(newest, a.Sees) {
			m.wrong = append(m.wrong, ofAnswer(i, "answer %d: expected the request to contain %q, came %q", i+1,
				a.Sees, clip(newest)))
		}
		if a.Error != "" {
			return a, &model.Error{Class: model.Fatal, Message: a.Error}
		}
		return a, nil
	}
	who := cmp.Or(req.Asker.Purpose, req.Asker.Agent)
	m.wrong = append(m.wrong, ofAnswer(-1, "expected no more requests, came one of %s: %q", who, clip(newest)))
	return Answer{}, &model.Error{Class: model.Fatal, Message: fmt.Sprintf("the test has no answer of the model for %s",
		who)}
}

// newestText is the last message of a request: texts and results.
func newestText(req *model.Request) string {
	if len(req.Messages) == 0 {
		return ""
	}
	var b strings.Builder
	for _, p := range req.Messages[len(req.Messages)-1].Parts {
		b.WriteString(p.Text)
		if p.Result != nil {
			b.WriteString(p.Result.Content)
		}
		b.WriteByte('\n')
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// answer is what a provider would give. The tokens are the same for each.
// The error is about arguments that cannot be written as JSON.
func (a Answer) answer() (*model.Answer, error) {
	out := &model.Answer{Finish: model.Stop, Message: model.Message{Role: model.Reply}, Counted: true,
		Usage: model.Usage{InputTokens: 100, OutputTokens: 10, TotalTokens: 110}}
	if a.Text != "" {
		out.Message.Parts = append(out.Message.Parts, model.Part{Text: a.Text})
	}
	for _, c := range a.calls() {
		args := c.args
		if args == nil {
			args = map[string]any{}
		}
		data, err := json.Marshal(args)
		if err != nil {
			return nil, fmt.Errorf("the arguments of %s are no JSON: %w", c.name, err)
		}
		out.Message.Parts = append(out.Message.Parts, model.Part{Call: &model.Call{Name: c.name, Args: data}})
	}
	return out, nil
}

// clip shortens a text for a message.
func clip(text string) string {
	const most = 300
	if r := []rune(text); len(r) > most {
		return string(r[:most]) + "…"
	}
	return text
}
