package run_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/compression"
	"github.com/agentls/agentls/agents/guard"
	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/agents/run"
	"github.com/agentls/agentls/agents/tool"
)

// journal is a session's log in memory. What it makes of the events is strict:
// a run that asks the model again must have given every call its result.
type journal struct {
	broken  error         // what Err returns; guarded by mu
	mended  chan struct{} // closed when it is mended; guarded by mu
	unsaved bool          // the person agreed to that; guarded by mu
	t       tb
	commit  func(ctx context.Context, seq uint64) error // nil = at once
	noBlob  error
	offset  uint64     // of the numbers of a session that it is written to as well
	both    sync.Mutex // holds its order and that session's together

	mu     sync.Mutex
	tokens int // what Tokens returns
	failed bool
	// failedAfter makes CompressionFailed true once a compression was told.
	failedAfter bool
	before      []model.Message // what Context begins with
	events      []activity.Event
	committed   uint64
	commits     int
	blobs       map[string][]byte
}

func (j *journal) Append(o activity.Origin, b activity.Body, d time.Duration) uint64 {
	// What is written must be readable again.
	data, err := json.Marshal(b)
	if err == nil {
		_, err = activity.Decode(b.Type(), data)
	}
	if err != nil {
		j.t.Errorf("%s cannot be kept: %v", b.Type(), err)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	seq := uint64(len(j.events)) + 1
	j.events = append(j.events, activity.Event{Seq: seq, Time: time.Now(), Session: sessionID, Origin: o, Body: b, DurationMs: d.Milliseconds()})
	return seq
}

func (j *journal) Commit(ctx context.Context, seq uint64) error {
	if j.commit != nil {
		if err := j.commit(ctx, seq); err != nil {
			return err
		}
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.commits++
	j.committed = max(j.committed, seq)
	return nil
}

func (j *journal) Err() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.unsaved {
		return nil
	}
	return j.broken
}

// breaks makes the log one that cannot be written; nil mends it.
func (j *journal) breaks(err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.broken = err
	if err == nil && j.mended != nil {
		close(j.mended)
		j.mended = nil
	}
}

func (j *journal) WaitWritable(ctx context.Context) error {
	j.mu.Lock()
	if j.broken == nil {
		j.mu.Unlock()
		return nil
	}
	if j.mended == nil {
		j.mended = make(chan struct{})
	}
	mended := j.mended
	j.mu.Unlock()
	select {
	case <-mended:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (j *journal) GoUnsaved() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.unsaved = true
}

func (j *journal) Tokens(string) (int, bool) { return j.tokens, false }

func (j *journal) Spill(*activity.ToolResult) error { return nil }

func (j *journal) CompressionFailed(string) bool {
	return j.failed || (j.failedAfter && slices.ContainsFunc(j.all(), func(e activity.Event) bool {
		_, ok := e.Body.(activity.ContextCompressed)
		return ok
	}))
}

func (j *journal) PutBlobFrom(r io.Reader) (string, int, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return "", 0, err
	}
	name, err := j.PutBlob(data)
	return name, len(data), err
}

func (j *journal) PutBlob(data []byte) (string, error) {
	if j.noBlob != nil {
		return "", j.noBlob
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	name := fmt.Sprintf("blob%d", len(j.blobs))
	j.blobs[name] = slices.Clone(data)
	return name, nil
}

func (j *journal) last() uint64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return uint64(len(j.events))
}

func (j *journal) all() []activity.Event {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.events)
}

// Context makes the conversation of the events (spec 3.6).
func (j *journal) Context(agent string) []model.Message {
	out := slices.Clone(j.before)
	var open []model.Call
	var queued []model.Part
	results := make(map[string]*model.Result)
	user := func(parts ...model.Part) {
		if n := len(out); n > 0 && out[n-1].Role == model.User {
			out[n-1].Parts = append(out[n-1].Parts, parts...)
			return
		}
		out = append(out, model.Message{Role: model.User, Parts: parts})
	}
	flush := func() {
		for _, c := range open {
			r := results[c.ID]
			if r == nil {
				j.t.Errorf("the call %s has no result when the model is asked again", c.ID)
				r = &model.Result{ID: c.ID, Name: c.Name, Content: "none"}
			}
			user(model.Part{Result: r})
		}
		open = nil
	}
	for _, e := range j.all() {
		if e.Agent != agent {
			continue
		}
		switch b := e.Body.(type) {
		case activity.RunStarted:
			for _, block := range b.Input {
				user(model.Part{Text: block.Text})
			}
		case activity.Input:
			for _, block := range b.Input {
				queued = append(queued, model.Part{Text: block.Text})
			}
		case activity.Note:
			if b.ToModel {
				queued = append(queued, model.Part{Text: b.Message})
			}
		case activity.TurnStarted:
			flush()
			if len(queued) > 0 {
				user(queued...)
				queued = nil
			}
		case activity.ContextCompressed:
			out = compression.Apply(out, b.Cut, b.Snapshot, b.Reduced)
		case activity.ModelContent:
			if b.Invalid || len(b.Content) == 0 {
				continue
			}
			out = append(out, model.Message{Role: model.Reply, Parts: b.Content, Raw: b.Raw})
			for _, p := range b.Content {
				if p.Call != nil {
					open = append(open, *p.Call)
				}
			}
		case activity.ToolState:
			if !b.State.Terminal() {
				continue
			}
			r := &model.Result{ID: b.Call, Name: b.Name}
			if b.Result != nil {
				r.Content = b.Result.Content
			} else if b.Error != nil {
				r.Content, r.Error = b.Error.Message, true
			}
			results[b.Call] = r
		}
	}
	flush()
	return out
}

// script is a model that answers with steps.
type script struct {
	t        tb
	mu       sync.Mutex
	steps    []step
	rest     step // for all requests after the steps; nil = there are to be none
	requests []*model.Request
	times    []time.Time
}

// step is one answer of a model.
type step func(ctx context.Context, yield func(model.Chunk, error) bool)

func (s *script) Generate(ctx context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		s.mu.Lock()
		i := len(s.requests)
		s.requests = append(s.requests, req)
		s.times = append(s.times, time.Now())
		next := s.rest
		if i < len(s.steps) {
			next = s.steps[i]
		}
		s.mu.Unlock()
		if err := checkRequest(req); err != nil {
			s.t.Errorf("request %d: %v", i, err)
		}
		if next == nil {
			s.t.Errorf("the model is asked %d times, more than the script has", i+1)
			next = fails(&model.Error{Class: model.Fatal, Message: "the script is over"})
		}
		next(ctx, yield)
	}
}

// checkRequest checks that a request is one that a provider takes (REL-61):
// alternating, with exactly one result for each call, in call order, in the
// message after it.
func checkRequest(req *model.Request) error {
	var open []string
	n := len(req.Messages)
	for i, m := range req.Messages {
		if want := []model.Role{model.User, model.Reply}[i%2]; m.Role != want {
			return fmt.Errorf("message %d of %d is by %s, not %s", i, n, m.Role, want)
		}
		if len(m.Parts) == 0 {
			return fmt.Errorf("message %d is empty", i)
		}
		var results, calls []string
		for _, p := range m.Parts {
			if p.Result != nil {
				results = append(results, p.Result.ID)
			}
			if p.Call != nil {
				calls = append(calls, p.Call.ID)
			}
		}
		if !slices.Equal(results, open) {
			return fmt.Errorf("message %d has the results %q of the calls %q", i, results, open)
		}
		open = calls
	}
	if n%2 == 0 {
		return fmt.Errorf("the last of %d messages is not by the user", n)
	}
	return nil
}

var oneAnswer = model.Usage{InputTokens: 10, OutputTokens: 5, TotalTokens: 15}

// reply is a whole answer with its parts, of which texts and thoughts stream.
func reply(finish model.Finish, parts ...model.Part) step {
	return func(ctx context.Context, yield func(model.Chunk, error) bool) {
		for _, p := range parts {
			if p.Text+p.Thought != "" && !yield(model.Chunk{Text: p.Text, Thought: p.Thought, Subject: p.Subject}, nil) {
				return
			}
		}
		a := &model.Answer{Message: model.Message{Role: model.Reply, Parts: slices.Clone(parts), Raw: json.RawMessage(`{"as":"received"}`)},
			Finish: finish, Usage: oneAnswer, Counted: true}
		if finish == model.Blocked {
			a.Blocked = "SAFETY"
		}
		yield(model.Chunk{Answer: a}, nil)
	}
}

func text(s string) model.Part { return model.Part{Text: s} }

// calls is a part that calls a tool.
func calls(name, args string) model.Part {
	return model.Part{Call: &model.Call{ID: "provider's", Name: name, Args: json.RawMessage(args)}}
}

func says(s string) step { return reply(model.Stop, text(s)) }

func asks(parts ...model.Part) step { return reply(model.Stop, parts...) }

// fails shows the texts and then is an error.
func fails(err error, shown ...string) step {
	return func(ctx context.Context, yield func(model.Chunk, error) bool) {
		for _, s := range shown {
			if !yield(model.Chunk{Text: s}, nil) {
				return
			}
		}
		yield(model.Chunk{}, err)
	}
}

// stuck shows the texts and then nothing until it is cancelled.
func stuck(shown ...string) step {
	return func(ctx context.Context, yield func(model.Chunk, error) bool) {
		for _, s := range shown {
			if !yield(model.Chunk{Text: s}, nil) {
				return
			}
		}
		<-ctx.Done()
		yield(model.Chunk{}, ctx.Err())
	}
}

// after waits before the next step.
func after(d time.Duration, next step) step {
	return func(ctx context.Context, yield func(model.Chunk, error) bool) {
		if err := sleep(ctx, d); err != nil {
			yield(model.Chunk{}, err)
			return
		}
		next(ctx, yield)
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

var (
	errBusy  = &model.Error{Class: model.Busy, Status: 429, Message: "too many requests"}
	errCut   = &model.Error{Class: model.Cut, Message: "the connection broke"}
	errFatal = &model.Error{Class: model.Fatal, Status: 400, Message: "no such thing"}
	errKey   = &model.Error{Class: model.Unauthorized, Status: 401, Message: "the key is refused"}
)

// fake is a tool. Its arguments are an object; "path" is a file that it writes.
type fake struct {
	w    *world
	name string
	risk tool.Risk
	plan func(ctx context.Context, env *tool.Env, args map[string]any) (*tool.Plan, error) // nil = as it is
	do   func(ctx context.Context, env *tool.Env, args map[string]any) (*tool.Result, error)
}

func (f *fake) Spec() tool.Spec {
	return tool.Spec{Name: f.name, Risk: f.risk, Description: "does " + f.name, Parameters: json.RawMessage(`{"type":"object"}`)}
}

func (f *fake) Plan(ctx context.Context, env *tool.Env, raw json.RawMessage) (*tool.Plan, error) {
	f.w.mu.Lock()
	f.w.plans[f.name]++
	f.w.mu.Unlock()
	args := map[string]any{}
	if err := json.Unmarshal(raw, &args); err != nil {
		return nil, tool.Errorf(tool.CodeArgs, "The arguments cannot be read.")
	}
	if bad, ok := args["bad"]; ok {
		return nil, tool.Errorf(tool.CodeArgs, "The argument bad is not known: %v.", bad)
	}
	p := &tool.Plan{Tool: f.name, Args: raw, Risk: f.risk, Why: "it does " + f.name, Title: f.name + " it", Shape: f.name, Covers: "all of " + f.name}
	if path, ok := args["path"].(string); ok {
		p.Path = path
		if f.risk != tool.Safe {
			p.Writes = []string{path}
		}
	}
	if f.plan != nil {
		q, err := f.plan(ctx, env, args)
		if err != nil || q == nil {
			return q, err
		}
		p.Risk, p.Preview, p.Access = q.Risk, q.Preview, q.Access
		if q.Do != nil {
			p.Do = f.run(p.Risk, func(ctx context.Context, env *tool.Env, _ map[string]any) (*tool.Result, error) {
				return q.Do(ctx, env)
			}, args)
			return p, nil
		}
	}
	p.Do = f.run(p.Risk, f.do, args)
	return p, nil
}

// run wraps what a plan does with the checks of every execution: once for each
// call, and written down before (spec 3.1).
func (f *fake) run(risk tool.Risk, do func(context.Context, *tool.Env, map[string]any) (*tool.Result, error), args map[string]any) func(context.Context, *tool.Env) (*tool.Result, error) {
	w := f.w
	return func(ctx context.Context, env *tool.Env) (*tool.Result, error) {
		if env.Session != sessionID || env.Run != runID || env.Agent != agentName || env.Progress == nil {
			w.t.Errorf("%s executes in the environment %+v", env.Call, env)
		}
		seq := w.entered(env.Call, activity.Executing)
		w.log.mu.Lock()
		committed := w.log.committed
		w.log.mu.Unlock()
		if seq == 0 || (risk != tool.Safe && committed < seq) {
			w.t.Errorf("%s executes, and that is event %d of %d on the disk", env.Call, seq, committed)
		}
		w.mu.Lock()
		if slices.Contains(w.ran, env.Call) {
			w.t.Errorf("%s executes again (REL-66)", env.Call)
		}
		w.ran = append(w.ran, env.Call)
		w.active++
		w.most = max(w.most, w.active)
		w.mu.Unlock()
		defer func() { w.mu.Lock(); w.active--; w.mu.Unlock() }()
		if do == nil {
			return &tool.Result{Content: "done " + f.name}, nil
		}
		return do(ctx, env, args)
	}
}

// tool registers a tool; do nil is done at once.
func (w *world) tool(name string, risk tool.Risk, do func(ctx context.Context, env *tool.Env, args map[string]any) (*tool.Result, error)) *fake {
	f := &fake{w: w, name: name, risk: risk, do: do}
	w.tools = append(w.tools, f)
	return f
}

// takes is a tool's work that takes as long as its argument "ms" says.
func takes(ctx context.Context, env *tool.Env, args map[string]any) (*tool.Result, error) {
	ms, _ := args["ms"].(float64)
	if err := sleep(ctx, time.Duration(ms)*time.Millisecond); err != nil {
		return nil, err
	}
	return &tool.Result{Content: fmt.Sprintf("took %v ms", ms)}, nil
}

func (w *world) executed() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.ran)
}

// person answers what a run asks.
type person struct {
	t       tb
	can     bool
	answer  func(ctx context.Context, q run.Question) run.Answer // nil = once, at once
	expires time.Time

	mu    sync.Mutex
	asked []run.Question
	open  int
}

func (p *person) CanConfirm() bool { return p.can }

func (p *person) Confirm(ctx context.Context, q run.Question) run.Answer {
	p.mu.Lock()
	p.asked = append(p.asked, q)
	if p.open++; p.open > 1 {
		p.t.Errorf("%d questions are open at once", p.open)
	}
	p.mu.Unlock()
	defer func() { p.mu.Lock(); p.open--; p.mu.Unlock() }()
	q.Asked(p.expires)
	if p.answer == nil {
		return answer(guard.Once)
	}
	return p.answer(ctx, q)
}

func (p *person) questions() []run.Question {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.asked)
}

func answer(o guard.Outcome) run.Answer { return run.Answer{Outcome: o, By: "user"} }

// slowly answers after d, or not at all.
func slowly(d time.Duration, a run.Answer) func(context.Context, run.Question) run.Answer {
	return func(ctx context.Context, _ run.Question) run.Answer {
		if sleep(ctx, d) != nil {
			return run.Answer{Outcome: guard.Reject, By: "client"}
		}
		return a
	}
}

// files is a folder in memory with the tools that change it. Plans are made of
// what a file is when they are made, as real edits are.
type files map[string]string

func (w *world) files() files {
	f := make(files)
	get := func(path string) (string, bool) { w.mu.Lock(); defer w.mu.Unlock(); s, ok := f[path]; return s, ok }
	put := func(path, s string) { w.mu.Lock(); defer w.mu.Unlock(); f[path] = s }
	w.tool("write_file", tool.Low, nil).plan = func(_ context.Context, _ *tool.Env, args map[string]any) (*tool.Plan, error) {
		path, content := args["path"].(string), args["content"].(string)
		old, _ := get(path)
		return &tool.Plan{Risk: tool.Low, Preview: tool.Preview{Kind: "diff", OldText: old, NewText: content}, Do: func(ctx context.Context, env *tool.Env) (*tool.Result, error) {
			if _, err := takes(ctx, env, args); err != nil {
				return nil, err
			}
			put(path, content)
			return &tool.Result{Content: "wrote " + content, Changes: []activity.Change{{URI: tool.URI(path), Kind: "edit", Hunks: []activity.Hunk{}}}}, nil
		}}, nil
	}
	w.tool("edit_file", tool.Low, nil).plan = func(_ context.Context, _ *tool.Env, args map[string]any) (*tool.Plan, error) {
		path, from, to := args["path"].(string), args["old_string"].(string), args["new_string"].(string)
		old, ok := get(path)
		if !ok {
			return nil, tool.Errorf(tool.CodeNotFound, "%s does not exist.", path)
		}
		if !strings.Contains(old, from) {
			return nil, tool.Errorf(tool.CodeFailed, "%q is not in %s.", from, path)
		}
		text := strings.Replace(old, from, to, 1)
		return &tool.Plan{Risk: tool.Low, Preview: tool.Preview{Kind: "diff", OldText: old, NewText: text}, Do: func(ctx context.Context, env *tool.Env) (*tool.Result, error) {
			if now, _ := get(path); now != old {
				return nil, tool.Errorf(tool.CodeStale, "%s has changed.", path)
			}
			put(path, text)
			return &tool.Result{Content: "now " + text}, nil
		}}, nil
	}
	w.tool("read_file", tool.Safe, nil).plan = func(_ context.Context, _ *tool.Env, args map[string]any) (*tool.Plan, error) {
		path := args["path"].(string)
		if _, ok := get(path); !ok {
			return nil, tool.Errorf(tool.CodeNotFound, "%s does not exist.", path)
		}
		return &tool.Plan{Risk: tool.Safe, Do: func(context.Context, *tool.Env) (*tool.Result, error) {
			s, _ := get(path)
			return &tool.Result{Content: s}, nil
		}}, nil
	}
	return f
}
