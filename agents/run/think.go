package run

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/agents/session"
)

// The limits of trying again (spec 3.3, 12.2).
const (
	maxBusy   = 5                // attempts before the first byte of an answer, within model.RetryWithin
	maxCut    = 2                // further attempts after a cut, malformed or empty answer
	firstWait = time.Second      // before the second attempt; doubles
	longWait  = 30 * time.Second // at most, unless the provider asks for more
	slowAfter = 20 * time.Second // without a byte: a person is told (REL-56)
)

// think asks the models in order for the next answer and writes it to the log.
// Text and thoughts are told as they come; what a failed try has shown is
// withdrawn when it is tried again, also with another model. shown reports
// whether a part of the answer was told.
//
// The error is that of the model that was asked last, but for refused credentials,
// where it is the first one's: a *model.Error, an *errBudget, an *errRunaway, an
// *errHook, or the context's. Nothing of a failed answer is in the context that
// the next request is made from.
func (r *runner) think(ctx context.Context) (answer *model.Answer, shown bool, err error) {
	if answer, err := r.askModelHooks(ctx); answer != nil || err != nil {
		return answer, answer != nil, err
	}
	var first error
	for i, choice := range r.order() {
		if i > 0 {
			r.say(activity.Retry{Of: "model", Attempt: 1, Cause: fmt.Sprintf("%v; trying %s", err,
				choice.ID), Discard: shown})
		}
		answer, shown, err = r.ask(ctx, choice)
		if err == nil && i > 0 && !slices.Contains(r.fallbacks, choice.ID) {
			r.fallbacks = append(r.fallbacks, choice.ID)
		}
		if err == nil || ctx.Err() != nil {
			break
		}
		// A refusal is told as it is (REL-53): another model would not help.
		if first == nil {
			first = err // who the person chose says why
		}
		if !provided(err) {
			break
		}
	}
	if err != nil && ctx.Err() == nil && unauthorized(err) {
		err = first
	}
	return answer, shown, err
}

// order returns the models as they are tried: a hook may want another first.
func (r *runner) order() []Choice {
	i := slices.IndexFunc(r.Models, func(c Choice) bool { return r.prefer != "" && c.ID == r.prefer })
	if i <= 0 {
		return r.Models
	}
	return slices.Concat(r.Models[i:i+1], r.Models[:i], r.Models[i+1:])
}

// ask asks one model until it answers or trying again does not help. shown is
// about the last attempt.
func (r *runner) ask(ctx context.Context, choice Choice) (answer *model.Answer, shown bool, err error) {
	try := func(attempt int) (bool, error) {
		var err error
		answer, shown, err = r.attempt(ctx, choice, attempt)
		return shown, err
	}
	shown, err = r.again(ctx, choice, try)
	if e, ok := errors.AsType[*model.Error](err); ok && e.TooLong {
		// Its window is another than we know: what can go without loss of what was
		// said goes, once (REL-62).
		// A window of 0 has drop try whatever the table of models says of the window.
		if before, _ := r.Session.Tokens(r.context()); r.drop(before, before/2, 0) {
			r.say(activity.Retry{Of: "model", Attempt: 1, Cause: e.Error() +
				"; trying without the oldest results of tools", Discard: shown})
			shown, err = r.again(ctx, choice, try)
		}
	}
	if err != nil {
		answer = nil
	}
	return answer, shown, err
}

// again asks a model for something until it succeeds or trying again does not
// help (spec 3.3), as far as all who ask with the same key may try together.
// What a failed attempt has shown is withdrawn before the next.
//
// Two kinds of failure are tried again and counted apart: busy ones with a growing
// random wait, five attempts and three minutes at most, and cut answers at once,
// twice. Everything else is returned at once. Retries, which all runs with the key
// share, may end it sooner.
func (r *runner) again(ctx context.Context, choice Choice, try func(attempt int) (shown bool,
	err error)) (shown bool, err error) {
	began, busy, cut := r.Now(), 0, 0
	for attempt := 1; ; attempt++ {
		if err := r.turnOf(ctx, choice, attempt, began); err != nil {
			return false, err // what was shown is withdrawn already
		}
		shown, err = try(attempt)
		if err == nil {
			choice.Retries.RecordAnswer()
			return shown, nil
		}
		var e *model.Error
		if ctx.Err() != nil || !errors.As(err, &e) {
			return shown, err
		}
		choice.Retries.RecordRefusal(choice.ID, e)
		wait := time.Duration(0)
		switch e.Class {
		case model.Busy:
			if busy++; busy == maxBusy {
				return shown, err
			}
			// Where the provider names no time the whole wait is random, up to a bound that
			// doubles: runs that were refused together do not come back together.
			wait = max(e.RetryAfter, choice.Retries.Turn(choice.ID), rand.N(min(firstWait<<(busy-1), longWait))+1)
			if r.Now().Sub(began)+wait > model.RetryWithin {
				return shown, err
			}
		case model.Cut:
			if cut++; cut > maxCut {
				return shown, err
			}
		default:
			return shown, err
		}
		// The error keeps its class, so what follows is what follows the last attempt.
		if !choice.Retries.Take() {
			spent := *e
			spent.Message += "; it is not asked again at once, since all runs with this key together have tried too often"
			return shown, &spent
		}
		r.say(activity.Retry{Of: "model", Attempt: attempt + 1, WaitMs: wait.Milliseconds(),
			Cause: e.Error(), Discard: shown})
		if err := wake(ctx, wait); err != nil {
			return shown, err
		}
	}
}

// turnOf waits while the provider wants to hear nobody with this key, as another
// run was told: whoever asks then does not ask at once with all the others
// (REL-54).
// A wait that would end after [model.RetryWithin], counted from began, is not begun: the
// error is a *model.Error of class Busy, which says how long it would have been.
func (r *runner) turnOf(ctx context.Context, choice Choice, attempt int, began time.Time) error {
	for {
		wait := choice.Retries.Turn(choice.ID)
		if wait == 0 {
			return nil
		}
		const why = "the provider has asked everybody with this key to wait"
		if r.Now().Sub(began)+wait > model.RetryWithin {
			return &model.Error{Class: model.Busy, Message: why, RetryAfter: wait}
		}
		r.say(activity.Retry{Of: "model", Attempt: attempt, WaitMs: wait.Milliseconds(), Cause: why})
		if err := wake(ctx, wait); err != nil {
			return err
		}
	}
}

// wake returns after a while, or with ctx's error at its end.
func wake(ctx context.Context, after time.Duration) error {
	timer := time.NewTimer(after)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// attempt asks once. shown reports whether a part of the answer was told. An
// answer that is empty or malformed is written to the log, and is an error of
// class Cut.
//
// The order of its events is what a reader of the log relies on: model.started,
// deltas, model.finished, model.content; an attempt that fails on the way has no
// model.finished. Text is told as it comes, so what is shown may have to be
// withdrawn.
func (r *runner) attempt(ctx context.Context, choice Choice, attempt int) (answer *model.Answer,
	shown bool, err error) {
	req := r.request(choice)
	r.edit.apply(req)
	if err := session.Check(req.Messages); err != nil {
		// Better no request than one that a provider refuses for ever (REL-61).
		return nil, false, fmt.Errorf("the conversation cannot be sent: %w", err)
	}
	tokens := estimate(req)
	if err := r.account.begin(choice, tokens); err != nil {
		return nil, false, err
	}
	// The tokens that begin reserved are counted once there is an answer, and given back on
	// every other way out.
	counted := false
	defer func() {
		if !counted {
			r.account.release(tokens)
		}
	}()
	r.say(activity.ModelStarted{Model: choice.ID, Attempt: attempt, Tokens: tokens})
	began := r.Now()
	var first time.Duration
	slow := r.watchSilence(choice.ID)
	defer slow.stop()
	told, came := r.deltas(), r.stream()
	held := r.hooked("AfterModel") // what a hook may take out is not shown before
	for chunk, err := range choice.Model.Generate(ctx, req) {
		if err != nil {
			told.flush()
			return nil, shown, err
		}
		slow.reset()
		if first == 0 {
			// At least 1: 0 stands for an answer of which nothing has come.
			first = max(r.Now().Sub(began), 1)
		}
		if !held {
			shown = told.take(chunk.Subject, chunk.Thought, chunk.Text) || shown
		}
		if chunk.Answer != nil {
			answer = chunk.Answer
		} else if came.runsAway(chunk.Text) {
			told.flush()
			counted = true
			return nil, shown, r.recordStopped(choice, came.text.String(), tokens, began, first)
		}
	}
	told.flush()
	if answer == nil {
		return nil, shown, &model.Error{Class: model.Cut, Message: "the answer ended before it was complete"}
	}
	n := r.numberCalls(answer)
	counted = true
	r.count(choice, answer, tokens)
	r.sayFor(activity.ModelFinished{Model: choice.ID, Finish: answer.Finish, Usage: answer.Usage,
		FirstTokenMs: first.Milliseconds()}, r.Now().Sub(began))
	// An answer that is invalid stays in the log and is left out of what the model is sent
	// (spec 3.3). One that was cut in its text is valid: the model goes on with it.
	silent := textOf(answer) == ""
	unknown := answer.Finish == model.Other && n == 0 && silent
	invalid := answer.Finish == model.Malformed || answer.Finish == model.Empty || answer.Finish == model.Blocked ||
		(answer.Finish == model.Length && (n > 0 || silent)) || unknown
	// Hooks see only answers that are used. Those that they change are written as changed.
	if held && !invalid {
		if err := r.review(ctx, req, answer); err != nil {
			r.say(activity.ModelContent{Content: list(answer.Message.Parts), Raw: answer.Message.Raw, Invalid: true})
			return nil, false, err
		}
		for _, p := range answer.Message.Parts {
			shown = told.take(p.Subject, p.Thought, p.Text) || shown
		}
		told.flush()
	}
	r.say(activity.ModelContent{Content: list(answer.Message.Parts), Raw: answer.Message.Raw, Invalid: invalid})
	if why := unusable(answer, unknown); why != "" {
		return nil, shown, &model.Error{Class: model.Cut, Message: why + detail(answer)}
	}
	return answer, shown, nil
}

// unusable returns why an answer is asked for once more, "" for one that is used.
// Answers that were cut or blocked are not asked for again: what becomes of them is for
// [runner.turns].
func unusable(answer *model.Answer, unknown bool) string {
	switch {
	case answer.Finish == model.Malformed:
		return "the model wrote a tool call that cannot be read"
	case answer.Finish == model.Empty:
		return "the model's answer is empty"
	case unknown:
		return "the model stopped for an unknown reason"
	}
	return ""
}

// numberCalls gives the calls of an answer their ids, and returns how many there are.
// The ids are ours and unique in the session; the provider's stay in the answer's raw part
// (spec 3.4). They differ from those of commands of a prompt ([runner.runShell]) and of
// nodes ([CallOf]).
func (r *runner) numberCalls(answer *model.Answer) (n int) {
	for i, p := range answer.Message.Parts {
		if p.Call != nil {
			call := *p.Call
			call.ID = fmt.Sprintf("%s#%d-%d", r.ID, r.turn.Load(), n)
			answer.Message.Parts[i].Call = &call
			n++
		}
	}
	return n
}

// silence tells a person when a model sends nothing for a while (REL-56).
type silence struct {
	mu    sync.Mutex
	over  bool // guarded by mu: nothing is told after stop
	timer *time.Timer
}

// watchSilence begins to watch an answer; stop ends it, after which nothing is
// told.
func (r *runner) watchSilence(model string) *silence {
	s := new(silence)
	s.timer = time.AfterFunc(slowAfter, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if !s.over {
			r.say(activity.Note{Level: "info", Message: fmt.Sprintf("%s has sent nothing for %v; still waiting", model,
				slowAfter)})
		}
	})
	return s
}

// reset begins the time anew: something has come. A person is told once for each time
// that nothing came, since the timer rings once.
func (s *silence) reset() { s.timer.Reset(slowAfter) }

// stop waits for a note that is being written, so that none comes after the answer's end.
func (s *silence) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	s.timer.Stop()
}

// detail returns what the provider says besides about how an answer ended, in
// parentheses; "" for nothing.
func detail(a *model.Answer) string {
	if a.Detail == "" {
		return ""
	}
	return " (" + a.Detail + ")"
}

// request is what the model is sent: the agent's first examples, then the
// context as the log has it.
// It is made anew for each attempt: which transfers are offered may have changed, and so
// may the conversation, where old results were dropped for it.
func (r *runner) request(choice Choice) *model.Request {
	req := &model.Request{Model: choice.ID, System: r.System, Options: r.options(choice),
		Asker: model.Asker{Run: r.ID, Agent: r.Definition.Name}}
	for _, t := range r.Tools.List() {
		s := t.Spec()
		req.Tools = append(req.Tools, model.Declaration{Name: s.ModelName(), Description: s.Description,
			Parameters: s.Parameters})
	}
	req.Messages = alternate(slices.Concat(r.examples(), r.Session.Context(r.context())))
	return req
}

// alternate returns messages so that user and model speak in turn, the user last.
// The session's messages are not changed: one to which parts are added is a copy.
func alternate(messages []model.Message) []model.Message {
	var all []model.Message
	for _, m := range messages {
		n := len(all)
		switch {
		case n == 0 || all[n-1].Role != m.Role:
		case m.Role == model.Reply:
			all = append(all, goOn)
		default: // as the last example, and the first message after it
			all[n-1].Parts = slices.Concat(all[n-1].Parts, m.Parts)
			continue
		}
		all = append(all, m)
	}
	if n := len(all); n > 0 && all[n-1].Role == model.Reply {
		all = append(all, goOn)
	}
	return all
}

// options are what the agent says about answers, as far as the model takes it; a
// person is told once of what it does not (spec 1.2).
func (r *runner) options(choice Choice) model.Options {
	d := r.Definition
	o := model.Options{Temperature: d.Temperature, TopP: d.TopP, ThinkingBudget: d.ThinkingBudget,
		ThinkingLevel: d.ThinkingLevel}
	if choice.Entry.ID == "" {
		return o
	}
	o, notes := choice.Entry.Adjust(o)
	if !r.adjusted[choice.ID] {
		if r.adjusted == nil {
			r.adjusted = make(map[string]bool)
		}
		r.adjusted[choice.ID] = true
		for _, note := range notes {
			r.say(activity.Note{Level: "info", Message: note})
		}
	}
	return o
}

// examples are the agent's initial messages as the conversation begins with
// them; always the same values, so that a provider can tell.
// They are not in the session's log, so that a compression does not touch them. The
// caller must not change what it gets.
func (r *runner) examples() []model.Message {
	r.exampled.Do(func() {
		for _, m := range r.Examples {
			role := model.User
			if m.Role == string(model.Reply) {
				role = model.Reply
			}
			n := len(r.begins)
			if n == 0 && role == model.Reply {
				r.begins, n = append(r.begins, opening), 1
			}
			part := model.Part{Text: m.Text}
			if n > 0 && r.begins[n-1].Role == role {
				r.begins[n-1].Parts = append(r.begins[n-1].Parts, part)
				continue
			}
			r.begins = append(r.begins, model.Message{Role: role, Parts: []model.Part{part}})
		}
	})
	return r.begins
}

// goOn asks for the rest of an answer that was cut off.
var goOn = model.Message{Role: model.User, Parts: []model.Part{{Text: session.GoOn}}}

// opening comes before an agent's first example where that is a reply.
var opening = model.Message{Role: model.User, Parts: []model.Part{{Text: "[The conversation begins.]"}}}

// estimate counts the tokens of a request roughly, at four characters each.
// Declarations of tools, images and documents are left out.
func estimate(req *model.Request) int {
	n := len(req.System)
	for _, m := range req.Messages {
		for _, p := range m.Parts {
			n += len(p.Text)
			if p.Call != nil {
				n += len(p.Call.Args)
			}
			if p.Result != nil {
				n += len(p.Result.Content)
			}
		}
	}
	return n / 4
}

// callsOf returns the calls of an answer, in their order.
func callsOf(a *model.Answer) (calls []model.Call) {
	for _, p := range a.Message.Parts {
		if p.Call != nil {
			calls = append(calls, *p.Call)
		}
	}
	return calls
}

// textOf returns the text of an answer without thoughts.
func textOf(a *model.Answer) string {
	var b strings.Builder
	for _, p := range a.Message.Parts {
		b.WriteString(p.Text)
	}
	return b.String()
}
