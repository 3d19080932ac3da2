package run

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/guard"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/fault"
)

// reach decides whether the command of a call may connect to a host, and asks the
// person about one that nobody allowed (spec 4.5). ctx is the command's. The error
// says why not, for the model. Commands of one batch ask one after the other, so
// that an answer for longer stands for the next.
//
// The command waits in its connect meanwhile. A yes permits the host for what the answer covers and
// not the call: the token that comes with it is not used.
func (b *batch) reach(ctx context.Context, t *task, env *tool.Env, host string, port int) error {
	if env.Hosts.Allow(host, port) {
		return nil
	}
	// The question lives as long as both the call and the command: a command in the
	// background outlives its call, and nobody is asked for it then.
	asking, stop := context.WithCancelCause(t.ctx)
	defer stop(nil)
	defer context.AfterFunc(ctx, func() { stop(context.Cause(ctx)) })()
	select {
	case b.reaching <- struct{}{}:
		defer func() { <-b.reaching }()
	case <-asking.Done():
	}
	if asking.Err() != nil {
		return errors.New("the call is over, so nobody is asked; tools.sandbox.allowedHosts of the person's settings can name the host")
	}
	name := host
	if port != 80 && port != 443 {
		name = net.JoinHostPort(host, strconv.Itoa(port))
	}
	preview := t.plan.Preview
	preview.Notes = append(slices.Clip(preview.Notes),
		fmt.Sprintf("the command runs, and wants to connect to %s, port %d", host, port))
	// A task of its own, since the call's own plan and state stay as they are. The gate
	// decides about it as about a call that leaves the machine.
	question := &task{call: t.call, name: t.name, tool: t.tool, state: activity.Executing,
		ctx: asking, plan: &tool.Plan{
			Tool: t.plan.Tool, Args: t.plan.Args, Risk: tool.High,
			Why:   "reaches " + name + ", which your settings do not allow (tools.sandbox.allowedHosts)",
			Title: t.name + ": connect to " + name, Reads: t.plan.Reads, Preview: preview,
			Host: name, Shape: "host:" + name, Covers: "connections of commands to " + name, Leaves: true,
		}}
	req := b.gateRequest(question)
	d := b.Gate.Authorize(req)
	switch d.Verdict {
	case guard.Auto:
		return nil
	case guard.Refuse:
		return errors.New(d.Why)
	}
	if why := b.whyFlooded(); why != "" {
		return fmt.Errorf("nobody was asked about it: %s", why)
	}
	// There are no arguments that the person could change.
	d.Outcomes = slices.DeleteFunc(d.Outcomes, func(o guard.Outcome) bool { return o == guard.Modify })
	a := b.question(question, d)
	if asking.Err() != nil {
		return errors.New("the call ended before the person answered")
	}
	b.recordAnswer(question.plan, a)
	switch {
	case a.Outcome.Yes():
		_, err := b.Gate.Permit(asking, req, d, a.Outcome)
		if err != nil && fault.KindOf(err) != fault.Denied {
			b.say(activity.Note{Level: "warning", Message: "The answer could not be kept, so " + name +
				" was not reached: " + fault.Message(err)})
		}
		return err
	case a.Outcome == guard.Cancel:
		b.mu.Lock()
		b.stop = true
		b.mu.Unlock()
		b.cancel(ErrCancelled)
		return ErrCancelled
	case a.By == "timeout":
		return errors.New("the person was asked and did not answer in time")
	case a.Feedback != "":
		return fmt.Errorf("the person refused: %s", a.Feedback)
	}
	return errors.New("the person refused")
}
