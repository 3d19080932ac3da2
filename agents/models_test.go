package agents

import (
	"context"
	"errors"
	"iter"
	"testing"

	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/internal/settings"
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

// TestListedAsItRuns: an agent of the person's own is listed with the model and the tools
// that its runs have: by the settings of the workspace.
func TestListedAsItRuns(t *testing.T) {
	tm := newCrew(t, map[string]string{"one": ""})
	s := tm.service()
	s.Settings = func(folder string) *Settings {
		set := &Settings{}
		if folder == tm.site.folder {
			set.Model.Name = "workspace-model"
			set.Overrides = map[string][]settings.Raw{"one": {theirs(`{"tools": {"allow": ["ls"]}}`)}}
		}
		return set
	}
	entry, err := s.Agents().Lookup("", "one")
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Resolve(entry.Definition); got != "workspace-model" {
		t.Errorf("the model is %s", got)
	}
	if tools := s.ToolsOf(entry.Definition); len(tools) != 1 {
		t.Errorf("%d tools", len(tools))
	}
}
