package agents

import (
	"context"
	"errors"
	"testing"

	"github.com/agentls/agentls/agents/tool"
)

// TestAskAboutServers: who could not be asked is asked again, and an answer is one.
func TestAskAboutServers(t *testing.T) {
	answers := func(answer tool.Answer, err error) tool.Ask {
		return func(context.Context, tool.Question) (tool.Answer, error) { return answer, err }
	}
	for name, c := range map[string]struct {
		ask  tool.Ask
		want string
	}{
		"nobody is there":       {nil, "again"},
		"the run ended":         {answers(tool.Answer{}, errors.New("cancelled")), "again"},
		"they do not want them": {answers(tool.Answer{Action: "accept", Text: "Leave them out"}, nil), ""},
		"they approve":          {answers(tool.Answer{Action: "accept", Text: "Approve"}, nil), "approved"},
	} {
		var s Service
		got := ""
		s.askAboutServers(t.Context(), c.ask, []ServerChange{{
			Approve: func() error { got += "approved"; return nil },
			Again:   func() { got += "again" },
		}})
		if s.work.Wait(); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
