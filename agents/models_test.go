package agents

import (
	"context"
	"errors"
	"iter"
	"testing"

	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/internal/fault"
)

// named is a model that tells its name.
type named string

func (n named) Generate(context.Context, *model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) { yield(model.Chunk{Text: string(n)}, nil) }
}

// TestREL70MendedCredentials: a run asks with the credentials that there are when
// it asks, not with those of its beginning.
func TestREL70MendedCredentials(t *testing.T) {
	var now model.Model = named("one")
	var missing error
	s := &Service{Config: Config{
		Table: model.NewTable(nil),
		Provider: func(string) (model.Model, *model.Retries, error) {
			return now, nil, missing
		},
	}}
	choice, err := s.choice("flash")
	if err != nil {
		t.Fatal(err)
	}
	ask := func() (string, error) {
		for chunk, err := range choice.Model.Generate(t.Context(), &model.Request{Model: choice.ID}) {
			return chunk.Text, err
		}
		return "", nil
	}
	for _, c := range []struct {
		who   string
		err   error
		class model.Class
		says  string
	}{
		{"one", nil, "", ""},
		{"", fault.New(fault.Denied, "daemon.provider", "no key: set one").Because(fault.AuthRequired), model.Unauthorized, "no key: set one"},
		{"two", nil, "", ""},
		{"", fault.New(fault.Invalid, "gemini.new", "no such URL").Because(fault.Config), model.Fatal, "no such URL"},
		{"three", nil, "", ""},
	} {
		now, missing = named(c.who), c.err
		who, err := ask()
		var e *model.Error
		if errors.As(err, &e); who != c.who || (err == nil) != (c.err == nil) || (err != nil && (e == nil || e.Class != c.class || e.Message != c.says)) {
			t.Errorf("%q answers, %v", who, err)
		}
	}
}
