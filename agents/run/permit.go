package run

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/guard"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/internal/sandbox"
)

// permit gets the token of a call: from the gate, or by asking the person.
// Questions of one batch are asked one at a time in call order. The error is
// for the model.
//
// Before a question is shown the gate is asked once more, since an answer for longer to
// the question before it may cover this call too. The loop ends: a call that was
// modified is planned anew and asked about again only while it is riskier than what was
// shown.
func (b *batch) permit(t *task, i int) (*tool.Token, error) {
	myTurn := false
	for {
		req := b.gateRequest(t)
		d := b.Gate.Authorize(req)
		if d.Verdict == guard.Refuse {
			return nil, tool.Errorf(tool.CodeDenied, "%s was not run: %s", t.name, d.Why)
		}
		if d.Verdict == guard.Auto {
			return b.Gate.Permit(t.ctx, req, d, guard.Reject)
		}
		if !myTurn {
			if !b.awaitTurn(i) {
				return nil, t.ctx.Err()
			}
			myTurn = true
			continue // what was answered meanwhile may stand for this question
		}
		if why := b.whyFlooded(); why != "" {
			return nil, tool.Errorf(tool.CodeDenied, "%s was not run, and was not asked about: %s", t.name, why)
		}
		a := b.question(t, d)
		if err := t.ctx.Err(); err != nil {
			return nil, err
		}
		// Counted before anything is done with it: three refusals of one shape stop the questions
		// of this batch, too.
		b.recordAnswer(t.plan, a)
		switch {
		case a.Outcome.Yes():
			if a.Prefix {
				d = d.Widen()
			}
			// A refusal of the gate is Denied and says why itself. Any other error is of the
			// store: an answer for always that could not be written down is no yes.
			token, err := b.Gate.Permit(t.ctx, req, d, a.Outcome)
			if err != nil && fault.KindOf(err) != fault.Denied {
				b.say(activity.Note{Level: "warning",
					Message: "The answer could not be kept, so the call was not run: " + fault.Message(err)})
				err = tool.Errorf(tool.CodeDenied,
					"%s was not run: the person's answer could not be kept. They can answer it again with another one.",
					t.name)
			}
			return token, err
		case a.Outcome == guard.Modify:
			token, again, err := b.modify(t, a)
			if !again {
				return token, err
			}
		// Cancel is about the whole run. The other calls of the batch are dropped here, and the
		// loop sees stop before it asks a model again.
		case a.Outcome == guard.Cancel:
			b.mu.Lock()
			b.stop = true
			b.mu.Unlock()
			b.cancel(ErrCancelled)
			return nil, ErrCancelled
		default:
			t.answered = a.By != "client"
			return nil, b.refusal(t, a)
		}
	}
}

// awaitTurn waits until no call before the i-th will ask the person anything more,
// and reports false where the call ends first.
func (b *batch) awaitTurn(i int) bool {
	if i == 0 {
		return true
	}
	select {
	case <-b.tasks[i-1].asked:
		return true
	case <-b.tasks[i].ctx.Done():
		return false
	}
}

// gateRequest is what the gate is asked about a call, as things are now: rules, trust,
// mode and wall are read anew each time.
// t.plan must be set.
func (b *batch) gateRequest(t *task) guard.Request {
	var deny, allow []tool.Rule
	if b.Rules != nil {
		deny, allow = b.Rules()
	}
	env := b.env(t)
	trusted, place := env.Trusts(t.plan)
	return guard.Request{
		ID:   tool.Identity{Session: b.Env.Session, Run: b.ID, Call: t.call.ID, Agent: b.Definition.Name},
		Plan: t.plan, Approval: b.Approval(), Trusted: trusted, Place: place, TrustError: env.TrustError,
		CanAsk:  b.Person.CanConfirm(),
		Require: append(slices.Clip(b.Definition.Confirmation.Require), b.Require...), Critical: b.Critical,
		Deny: deny, Allow: allow, Folder: b.Env.Folder, Project: b.project(), Writable: writable(env),
		Sandbox: confinement(t, env), NoUndo: b.noUndo(t), HookAsks: t.hookAsks,
	}
}

// writable returns the folders that a command behind a wall may change with access
// write, the run's first.
func writable(env *tool.Env) []string {
	all := []string{env.Folder}
	for _, folder := range env.Folders {
		if !slices.Contains(all, folder) && !slices.Contains(env.Strange, folder) {
			all = append(all, folder)
		}
	}
	if env.Sandbox != nil {
		for _, folder := range env.Sandbox.Write {
			if !slices.Contains(all, folder) {
				all = append(all, folder)
			}
		}
	}
	return all
}

// confinement returns what confines the command of a call. Where the wall cannot
// hide single files, or nobody knows all of them, it matters whether the
// workspace has credential files, or some that a rule denies.
func confinement(t *task, env *tool.Env) guard.Sandbox {
	// Without a wall the command reads everything anyway, and the gate knows that.
	s := guard.SandboxOf(env.Sandbox)
	if t.plan.Access == "" || s.Wall == "" || s.Wall == sandbox.None || env.Survey == nil {
		return s
	}
	for _, folder := range env.Folders {
		places, err := env.Survey(t.ctx, folder)
		hides := env.Sandbox.CanMask(t.plan.Access) || len(places.Credentials)+len(places.Denied) == 0
		if err != nil || !places.Complete || !hides {
			s.Exposed = true
			return s
		}
	}
	return s
}

// project returns the folder that the run's agent comes with, or one before it: who
// is asked by an agent of a project may do no more than that one.
func (r *runner) project() string {
	if !r.Definition.FromProject() {
		return r.Project
	}
	return cmp.Or(r.Definition.Folder, r.Env.Folder)
}

// question puts a call before the person and writes what was answered.
// It blocks until the person answers, the question expires, or the call is cancelled.
// That it is asked goes to the log right before the person is asked, that it was
// answered right after.
func (b *batch) question(t *task, d guard.Decision) Answer {
	// A command that runs asks about a host: it stays executing.
	if t.state != activity.AwaitingApproval && t.state != activity.Executing {
		b.enter(t, activity.AwaitingApproval, nil, nil)
	}
	answered := b.asking(fmt.Sprintf("%s asks for permission", t.name))
	defer answered()
	q := Question{
		ID: newQuestionID(), Session: b.Env.Session, Run: b.ID, Call: t.call.ID, Agent: b.Definition.Name,
		AgentPath: b.Chain, Plan: t.plan, Risk: d.Risk, Why: d.Why, Covers: d.Covers, Prefix: d.Prefix,
		Outcomes: d.Outcomes, Timeout: b.Timeout,
	}
	if text := b.Definition.Confirmation.Prompt; text != "" {
		q.Prompt = template(text, t, b.Definition.Name)
	}
	if b.Definition.Confirmation.Given {
		q.Timeout = b.Definition.Confirmation.Timeout
	}
	q.Asked = func(expires time.Time) {
		asked := activity.ConfirmationAsked{ID: q.ID, Call: t.call.ID, Tool: t.name, Risk: d.Risk.String(),
			Why: d.Why, Digest: d.Digest}
		if len(b.Chain) > 1 {
			asked.AgentPath = b.Chain
		}
		if !expires.IsZero() {
			asked.ExpiresAt = expires.UTC().Format("2006-01-02T15:04:05.000Z07:00")
		}
		b.say(asked)
		b.notifyAsked(t, d)
	}
	a := b.Person.Confirm(t.ctx, q)
	switch {
	case t.ctx.Err() == nil:
		b.say(activity.ConfirmationAnswered{ID: q.ID, Outcome: string(a.Outcome), By: a.By, Feedback: a.Feedback})
	case !errors.Is(context.Cause(t.ctx), ErrInterrupted):
		// The question dies with its run; one that was interrupted is asked anew.
		b.say(activity.ConfirmationAnswered{ID: q.ID, Outcome: string(guard.Cancel), By: "policy"})
	}
	return a
}

// refusal is what the model is told after a no.
// Who refused matters to the model: a person who said no, nobody who answered in time, or
// a client that could not show the question. Only the first is told to the person again.
func (b *batch) refusal(t *task, a Answer) error {
	message := "Tool execution denied by user: " + t.name
	switch a.By {
	case "timeout":
		message = fmt.Sprintf("Tool execution denied: %s (nobody answered in time)", t.name)
	case "client":
		message = fmt.Sprintf("Tool execution denied: %s (the question could not be shown; the approval mode says what runs without asking)", t.name)
	default:
		note := "Operation cancelled by user."
		if a.Feedback != "" {
			note += " The agent is told: " + a.Feedback
		}
		b.say(activity.Note{Level: "info", Message: note})
	}
	if a.Feedback != "" {
		message += "\nThe person says: " + a.Feedback
	}
	return tool.Errorf(tool.CodeDenied, "%s", message)
}

// modify plans a call again as the person changed it, and applies the whole
// policy to it. The person wrote what now runs, so they are asked again only
// when it is riskier than what they saw, or is about other places.
func (b *batch) modify(t *task, a Answer) (token *tool.Token, again bool, err error) {
	args, err := modifiedArguments(t.plan, a)
	if err != nil {
		return nil, false, err
	}
	shown := t.plan
	t.call.Args, t.modified = args, "The person"
	if b.makePlan(t); t.bad != nil {
		return nil, false, t.bad
	}
	req := b.gateRequest(t)
	d := b.Gate.Authorize(req)
	if d.Verdict == guard.Ask && t.plan.Risk.Max(shown.Risk) == shown.Risk && sameTargets(t.plan, shown) {
		token, err = b.Gate.Permit(t.ctx, req, d, guard.Once)
		return token, false, err
	}
	return nil, true, nil
}

// sameTargets reports whether a changed call is about the places that the person
// saw, with the same access: a link may lead elsewhere since.
func sameTargets(p, shown *tool.Plan) bool {
	return p.Path == shown.Path && p.Preview.Cwd == shown.Preview.Cwd && p.Access == shown.Access &&
		slices.Equal(p.Reads, shown.Reads) && slices.Equal(p.Writes, shown.Writes)
}

// modifiedArguments returns the arguments of a call as the person changed them. Another
// text for a file becomes the argument that holds the text.
// It fails with a *tool.Error for the model where nothing usable was changed. A diff's new
// text replaces the whole old text, whatever the call replaced, so a count of expected
// replacements is taken out.
func modifiedArguments(p *tool.Plan, a Answer) (json.RawMessage, error) {
	if a.NewText == nil {
		if len(a.Args) == 0 {
			return nil, tool.Errorf(tool.CodeDenied, "Tool execution denied: %s (the person's change was empty)",
				p.Tool)
		}
		if !json.Valid(a.Args) {
			return nil, tool.Errorf(tool.CodeDenied, "Tool execution denied: %s (the person's change cannot be read)",
				p.Tool)
		}
		return a.Args, nil
	}
	args := map[string]any{}
	if err := json.Unmarshal(p.Args, &args); err != nil {
		return nil, fault.New(fault.Internal, "run.modified", "the arguments of %s: %w", p.Tool, err)
	}
	_, whole := args["content"]
	_, part := args["new_string"]
	switch {
	case whole:
		args["content"] = *a.NewText
	case part && p.Preview.Kind == "diff" && p.Preview.OldText != "":
		args["old_string"], args["new_string"] = p.Preview.OldText, *a.NewText
		delete(args, "expected_replacements")
	default:
		return nil, errors.Join(tool.Errorf(tool.CodeDenied,
			"Tool execution denied: %s (it writes no text that can be changed)", p.Tool))
	}
	return json.Marshal(args)
}

// template fills in an agent's own words for a confirmation (spec 1.3).
// The arguments are the model's, or the person's where they changed them, and stand there
// unescaped: handlers quotes the whole as the words of a stranger.
func template(text string, t *task, agent string) string {
	return strings.NewReplacer(
		"{tool_name}", t.name, "{tool_args}", string(t.call.Args), "{risk}", t.plan.Risk.String(), "{agent}", agent,
	).Replace(text)
}
