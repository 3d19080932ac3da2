package testrun

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"

	"github.com/agentls/agentls/agents/agenttest"
	"github.com/agentls/agentls/internal/daemon"
	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/internal/wire"
)

// RunAndJudge is [Run], and then has the agent that the test names judge what came of it, if it
// names one. That agent has the project's agents beside it, none of the test's files, and
// the model of the person's settings, which is asked over the network. It is asked with the
// person's key, so it may cost money. Where the run did not begin nobody judges. What the judge
// says no to, or an answer without pass and reason, is a failure like the others.
func RunAndJudge(ctx context.Context, config daemon.Config, agents map[string]string,
	c *agenttest.Case) []agenttest.Failure {
	wrong, result := run(ctx, config, agents, c)
	if c.Expect.Judge == nil || result == nil {
		return wrong
	}
	if why := judge(ctx, config, agents, c, result); why != "" {
		wrong = append(wrong, agenttest.Failure{
			Path: []string{"expect", "judge"}, Text: fmt.Sprintf("judge: expected %s to pass it, came: %s",
				c.Expect.Judge.Agent, why),
		})
	}
	return wrong
}

// judge returns why an agent does not pass a result; "" where it does. It runs in mode
// plan, so it changes nothing.
func judge(ctx context.Context, config daemon.Config, agents map[string]string, c *agenttest.Case,
	result *wire.RunResult) string {
	root, remove, err := temporary()
	if err != nil {
		return err.Error()
	}
	defer remove()
	work := filepath.Join(root, "work")
	if err := layOut(work, agents, nil); err != nil {
		return err.Error()
	}
	config.Log, config.Trust, config.Brief, config.Apart = slog.New(slog.DiscardHandler), true, true, true
	answer, err := new(person).run(ctx, config, work, &agenttest.Case{
		Agent: c.Expect.Judge.Agent, Approval: "plan", Input: question(c, result),
	})
	if err != nil {
		return fault.Message(err)
	}
	var said struct {
		Pass   *bool  `json:"pass"`
		Reason string `json:"reason"`
	}
	text := cmp.Or(string(answer.Output), strings.TrimSpace(answer.Text))
	switch err := json.Unmarshal([]byte(text), &said); {
	case answer.Error != nil:
		return answer.Error.Message
	case err != nil || said.Pass == nil:
		return fmt.Sprintf("an answer without pass and reason (%q); give the agent an output with schema {pass: boolean, reason: string}", text)
	case !*said.Pass:
		return cmp.Or(said.Reason, "no, without a reason")
	}
	return ""
}

// question is what the judging agent is told. What the tested agent said is in it as it
// is: a judge must not take orders from it, but nothing here keeps it from that.
func question(c *agenttest.Case, result *wire.RunResult) string {
	return fmt.Sprintf("Judge an answer of the agent %s.\n\nWhat must hold: %s\n\nThe agent was asked:\n%s\n\nIt answered:\n%s",
		c.Agent, c.Expect.Judge.Asks, c.Input, cmp.Or(strings.TrimSpace(result.Text), string(result.Output)))
}
