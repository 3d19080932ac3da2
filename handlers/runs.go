package handlers

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/agentls/agentls/agents"
	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/mention"
	"github.com/agentls/agentls/agents/session"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/internal/wire"
	"github.com/agentls/agentls/server"
	"github.com/agentls/agentls/workspace"
)

// request is what is captured of agents/run when it is read: the workspace, and
// the run's id, so that whatever cancels it later finds it.
// release and started are each called once, whatever becomes of the request.
type request struct {
	snapshot *workspace.Snapshot
	// Ends the reservation of the run's id.
	release func()
	// Requests to one agent in one session are started in the order in which they
	// came (REL-128).
	before  <-chan struct{} // closed when the request before this one is started; nil for none
	started func()          // this one is, or will not be
}

// reserve takes the place of a request in the order of its agent and session. It
// runs in the goroutine that reads messages, so it must not wait.
// The run can be cancelled from now on. Requests without a session or an agent are those
// to the default session and to main.
func (h *Handlers) reserve(p *wire.RunParams) request {
	key := [2]string{strings.Clone(cmp.Or(p.Session, session.Default)), strings.Clone(cmp.Or(p.Agent, "main"))}
	mine := make(chan struct{})
	h.mu.Lock()
	before := h.starting[key]
	h.starting[key] = mine
	h.mu.Unlock()
	return request{h.Workspace.Snapshot(), h.daemon.Agents.Reserve(strings.Clone(p.Run)), before, func() {
		h.mu.Lock()
		if h.starting[key] == mine {
			delete(h.starting, key)
		}
		h.mu.Unlock()
		close(mine)
	}}
}

// run serves agents/run. A run that is cancelled answers with its result; a
// request that is cancelled cancels its run.
// It blocks until the run has ended, unless the client wants to know only that it
// began.
// started is called when the run has begun or cannot begin, so that the next request to
// the same agent goes on; who gives up while it waits keeps its place until the one before
// has started.
func (h *Handlers) run(ctx context.Context, r request, p *wire.RunParams) (any, error) {
	if r.before != nil {
		select {
		case <-r.before: // which waits for the disk, and for who is to take an input that names nobody
		case <-ctx.Done():
			r.release()
			h.work.Go(func() { <-r.before; r.started() }) // the requests behind it keep their order
			return nil, ctx.Err()
		}
	}
	live, err := func() (*agents.Live, error) {
		defer r.release()
		defer r.started() // whatever happens, who waits behind it goes on
		return h.start(ctx, r.snapshot, p)
	}()
	if err != nil {
		return nil, err
	}
	return h.answer(ctx, live, p.Wait, p.WorkDoneToken)
}

// answer answers a request that has a run: at once, or with its result.
// A run that was answered at once is still followed, and ends with the connection
// at the latest as far as it is shown.
func (h *Handlers) answer(ctx context.Context, live *agents.Live, wait string, token []byte) (any, error) {
	if wait != "accept" {
		return h.await(ctx, live, token)
	}
	_, shown, err := h.attend(ctx, live, token)
	if err != nil {
		return nil, err
	}
	h.work.Go(func() {
		select {
		case <-live.Done():
			shown.end(live.Result())
		case <-h.ctx.Done():
		}
	})
	return &wire.RunAccepted{Session: live.Session, Run: live.ID}, nil
}

// steering is what became of words when they were read: those of a person are
// told in the order in which they came (REL-128).
type steering struct {
	said *agents.Said
	err  error
}

// say hands words to a run, in the goroutine that reads messages.
// It does not wait; that they are on stable storage is what steer waits for.
func (h *Handlers) say(p *wire.SteerParams) steering {
	said, err := h.daemon.Agents.Steer(strings.Clone(p.Run), p.Input)
	return steering{said, err}
}

// steer serves agents/steer. The words are on stable storage when it answers.
// A run that another agentls has is fault.Unavailable with the reason Busy; for one
// that nobody knows it is the error of say.
func (h *Handlers) steer(ctx context.Context, s steering, p *wire.SteerParams) (*wire.SteerResult, error) {
	if reason, _ := fault.ReasonOf(s.err); reason == fault.UnknownRun {
		return nil, cmp.Or(h.daemon.Agents.Elsewhere("", p.Run), s.err)
	}
	if s.err != nil {
		return nil, s.err
	}
	if err := s.said.Commit(ctx); err != nil {
		return nil, err
	}
	return &wire.SteerResult{Accepted: true, Position: s.said.Position}, nil
}

// resume serves agents/resume, of a run that this daemon or an earlier one has
// left paused or interrupted.
// Where a folder's trust or a review keeps it from starting, the person is asked,
// and it is tried once more.
// The error has the reason unknownRun, or busy where its agent has another run in the
// session or another daemon has the session; else it is that of a start, since the
// agent's file may have changed.
func (h *Handlers) resume(ctx context.Context, s *workspace.Snapshot, p *wire.ResumeParams) (any, error) {
	if _, err := h.catalog(ctx); err != nil {
		return nil, err
	}
	r := agents.Resume{Run: strings.Clone(p.Run), Session: strings.Clone(p.Session),
		Frontend: h.person(s), Client: h.ctx}
	if e := p.Extend; e != nil {
		r.More = agents.Extension{Turns: e.Turns, Seconds: e.Seconds, Tokens: e.Tokens, USD: e.USD}
	}
	live, err := withReview(ctx, h, func() (*agents.Live, error) { return h.daemon.Agents.Resume(ctx, r) })
	if err != nil {
		return nil, h.language.EncodeError(err)
	}
	return h.answer(ctx, live, p.Wait, p.WorkDoneToken)
}

// start sets a run going.
// It waits for the agents, for resources of servers that the request names, and for
// the person where a folder has to be decided about. Errors in the params are bad
// params with their path.
// The parts of the params that go on living are cloned: they may share the memory of the
// message.
func (h *Handlers) start(ctx context.Context, s *workspace.Snapshot, p *wire.RunParams) (*agents.Live, error) {
	catalog, err := h.catalog(ctx)
	if err != nil {
		return nil, err
	}
	st := agents.Start{
		Agent: strings.Clone(p.Agent), Input: p.Input, Session: strings.Clone(p.Session), Run: strings.Clone(p.Run),
		Inputs: slices.Clone(p.Inputs), Context: p.Context, Mode: definition.Mode(p.Mode), Queue: p.Queue,
		Approval: agents.Approval(p.Approval), Model: p.Model, Strategy: p.Strategy, Frontend: h.person(s),
		Client: h.ctx, Trace: p.Trace,
	}
	// A session goes on with the agent that it was begun for.
	if st.Agent == "" && st.Session != "" {
		st.Agent = h.daemon.Agents.AgentOf(st.Session)
	}
	st.Folder = folderOf(s, p)
	if p.Command != nil {
		if err := h.expandCommand(ctx, p.Command, &st); err != nil {
			return nil, err
		}
	} else if len(p.Input) == 0 {
		entry, err := catalog.Lookup(st.Folder, cmp.Or(st.Agent, "main"))
		if err == nil && entry.Definition.Query == "" && entry.Definition.Output == nil &&
			entry.Definition.Mode != definition.Task && st.Mode != definition.Task {
			return nil, server.BadParams(wire.MethodRun, "input", "is required: a string or content blocks")
		}
	}
	if texts := textsOf(p); len(p.References)+len(texts) > 0 {
		env := h.lookingFrom(st.Folder)
		for _, name := range texts {
			st.Taint = st.Taint.Max(taintOf(env, name))
		}
		resources, err := h.resourcesOf(ctx, st.Folder, p.References)
		if err != nil {
			return nil, err
		}
		for _, ref := range p.References {
			block, ok := resources[ref]
			taint := tool.Foreign
			if !ok {
				block, taint = h.reference(ctx, env, st.Frontend, ref)
			}
			st.Input, st.Taint = append(st.Input, block), st.Taint.Max(taint)
		}
	}
	if p.UseBuffers {
		name := st.Agent
		if entry, err := catalog.Lookup(st.Folder, name); err == nil && entry.Definition.Path != "" {
			saved := entry.Definition
			if d, ok := s.DocumentAt(saved.Path); ok && !d.Lost {
				k := h.daemon.Knowledge
				st.Definition = definition.Parse(definition.Source{
					Path: saved.Path, Folder: saved.Folder, Scope: saved.Scope, URI: string(d.URI),
					Data: []byte(d.Text), Updated: h.Now(),
					Model: k.Model, Installed: k.Installed,
				})
			}
		}
	}
	// Do not ask about a folder if the agent does not exist.
	if _, err := catalog.Lookup(st.Folder, cmp.Or(st.Agent, "main")); err == nil || st.Agent == mention.Auto {
		if err := h.askBeforeRun(ctx, st.Folder); err != nil {
			return nil, err
		}
	}
	live, err := withReview(ctx, h, func() (*agents.Live, error) { return h.daemon.Agents.Start(ctx, st) })
	if bad, ok := errors.AsType[*agents.BadParam](err); ok {
		return nil, server.BadParams(wire.MethodRun, bad.Path, "%s", bad.Err)
	}
	return live, h.language.EncodeError(err)
}

// attend has a run's events sent, and its progress shown where that is how this
// client follows it.
// If the events cannot be sent, the run is cancelled: nobody would see what it
// does.
func (h *Handlers) attend(ctx context.Context, live *agents.Live, token []byte) (*follower, *progress, error) {
	shown := h.beginProgress(ctx, live, token)
	f, err := h.follow(live, shown.watch())
	if err != nil {
		h.daemon.Agents.Cancel(live.ID, "")
		return nil, nil, err
	}
	if live.Note != "" {
		h.tell(infoMessage, live.Note)
	}
	return f, shown, nil
}

// await waits for a run's end, and until all its events are on their way.
// The end of ctx cancels the run, and the answer is then the result of that; a
// client that has gone leaves the run interrupted, for a later resume.
func (h *Handlers) await(ctx context.Context, live *agents.Live, token []byte) (*wire.RunResult, error) {
	f, shown, err := h.attend(ctx, live, token)
	if err != nil {
		return nil, err
	}
	select {
	case <-live.Done():
	case <-ctx.Done():
		if h.ctx.Err() == nil { // a client that has gone leaves the run interrupted
			h.daemon.Agents.Cancel(live.ID, "")
		}
		select {
		case <-live.Done():
		case <-h.ctx.Done():
			return nil, ctx.Err()
		}
	}
	shown.end(live.Result())
	if live.Written() { // else the events are not told, and the result says why
		f.reach(h.ctx, live.Last())
	}
	h.relief() // the result has the whole text once more
	result := live.Result()
	run, agent := live.By()
	result.Problems = slices.Clone(result.Problems) // the log has the same
	h.language.Encode(result.Problems)
	if h.daemon.Known != nil {
		result.Text, result.Output = string(h.daemon.Known([]byte(result.Text))), h.daemon.Known(result.Output)
	}
	return &wire.RunResult{Session: live.Session, Run: run, Agent: agent, RunFinished: result}, nil
}

// folderOf returns the workspace folder of the first document that the request
// names: the one that the person has before them, then those of the input, then
// those that ride along; "" for none.
func folderOf(s *workspace.Snapshot, p *wire.RunParams) string {
	var names []string
	if p.Context != nil {
		names = append(names, p.Context.URI)
	}
	for _, b := range p.Input {
		if b.Resource != nil {
			names = append(names, b.Resource.URI)
		} else {
			names = append(names, b.URI)
		}
	}
	for _, name := range append(names, p.References...) {
		if path, ok := workspace.FilePath(name); ok {
			if f, _, ok := workspace.Within(s.Folders(), path); ok {
				return f.Canonical
			}
		}
	}
	return ""
}

// textsOf returns the documents of which the request has the text, and the one that
// it is about: what is asked of a document has its words, what was found in it, or
// what somebody calls it.
func textsOf(p *wire.RunParams) []string {
	var names []string
	if p.Context != nil && p.Context.URI != "" {
		names = append(names, p.Context.URI)
	}
	for _, b := range p.Input {
		if b.Resource != nil && b.Resource.Text+b.Resource.Blob != "" {
			names = append(names, b.Resource.URI)
		}
	}
	return names
}

// maxReference bounds the text of a file that rides along; a longer one is named
// only, and the agent reads what it needs.
const maxReference = 64 << 10

// lookingFrom returns what says where a path leads for a run in a folder, "" for
// the first, and what is to be read there.
// The result is for one request.
func (h *Handlers) lookingFrom(folder string) *tool.Env {
	env := &tool.Env{Folders: h.daemon.Reach()}
	if len(env.Folders) > 0 {
		env.Folder = cmp.Or(folder, env.Folders[0])
	}
	env.Reveal = h.daemon.SettingsOf(folder).Reveal
	env.Trusted = h.daemon.Trusted != nil && h.daemon.Trusted(env.Folder)
	// Text from folders that are not trusted taints a run.
	for _, f := range h.Workspace.Snapshot().Folders() {
		if h.daemon.Trusted == nil || !h.daemon.Trusted(f.Canonical) {
			env.Strange = append(env.Strange, f.Canonical)
		}
	}
	return env
}

// taintOf returns the taint of a text that the editor sends of a file.
//
// A text of a file outside of the workspace is the person's own choice; where it cannot be
// told whose a file is, it counts as somebody else's.
func taintOf(env *tool.Env, name string) tool.Taint {
	path, ok := workspace.FilePath(name)
	if !ok {
		return tool.Clean
	}
	place, err := tool.Resolve(env, path)
	switch {
	case isOutside(err):
		return tool.Clean // of no folder of the workspace: what the person chose to send
	case err != nil:
		return tool.Foreign // nobody knows whose it is
	}
	return env.TaintOf(place.Real)
}

// isOutside reports whether a path was refused since it leaves the workspace.
func isOutside(err error) bool {
	e, ok := errors.AsType[*tool.Error](err)
	return ok && e.Code == tool.CodeOutside
}

// reference returns a file that rides along with a run's input, and the taint of
// its text. What agents may not read by themselves they are not given by a name
// either: a file outside of the workspace, and one that holds credentials, unless
// the person's own settings reveal it, are named only (SEC-20).
func (h *Handlers) reference(ctx context.Context, env *tool.Env, frontend agents.Frontend,
	ref string) (activity.ContentBlock, tool.Taint) {
	link := activity.ContentBlock{Type: "resource_link", URI: ref, Name: tool.FileName(ref)}
	path, ok := workspace.FilePath(ref)
	if !ok {
		return link, tool.Clean
	}
	named := func(why string) (activity.ContentBlock, tool.Taint) {
		link.Name += ", whose text is not given to agents: " + why
		return link, tool.Clean
	}
	place, file, why := h.nameable(ctx, env, frontend, path)
	switch {
	case why != "":
		return named(why)
	case file == nil || file.Binary || len(file.Text) > maxReference:
		return link, tool.Clean
	}
	return activity.ContentBlock{Type: "resource", Resource: &activity.Resource{URI: ref, MimeType: file.Type,
		Text: file.Text}}, env.TaintOf(place.Real)
}

// nameable returns a file that is named to an agent, nil for one that cannot be
// read, and why its text is not given to agents, "" where it may be.
// why is a reason in words for the agent.
// Credentials, rules and the workspace's borders are looked at as for read_file, by the
// path and by the file that was read.
func (h *Handlers) nameable(ctx context.Context, env *tool.Env, frontend agents.Frontend,
	path string) (place tool.Place, file *tool.File, why string) {
	place, err := tool.Resolve(env, path)
	if isOutside(err) {
		return place, nil, "it is outside of the workspace"
	}
	if err != nil {
		return place, nil, "nobody can say where it lies"
	}
	// A file that cannot be read is judged by its path alone.
	if file, err = frontend.Read(ctx, place.Real); err == nil {
		place = place.ReadAs(env, file.Info)
	}
	if place.Credential && !place.Revealed {
		return place, nil, "it holds credentials"
	}
	denied := func(r tool.Rule) bool { return r.Covers("read_file", place.Real, env.Folder) }
	if slices.ContainsFunc(h.daemon.SettingsOf(env.Folder).Deny, denied) {
		return place, nil, "a rule keeps agents from it"
	}
	return place, file, ""
}

// withhold leaves the text of a document that holds credentials out of what a run
// is told, and reports whether it did: what is selected in one is not given to
// agents either. Of a file outside of the workspace the person chose what they send.
func (h *Handlers) withhold(ctx context.Context, s *workspace.Snapshot, c *activity.EditorContext) bool {
	path, ok := workspace.FilePath(c.URI)
	if !ok || c.Text == "" {
		return false
	}
	_, err := tool.Resolve(h.lookingFrom(""), path)
	// Outside of the workspace only credential files are withheld: the person chose what they send.
	if isOutside(err) && !tool.IsCredential(path) {
		return false
	}
	f, _, _ := workspace.Within(s.Folders(), path)
	if _, _, why := h.nameable(ctx, h.lookingFrom(f.Canonical), h.person(s), path); why == "" {
		return false
	}
	c.Text = ""
	return true
}

// chain serves agents/chain.
// Another daemon's session is read as well. The error has the reason unknownRun.
func (h *Handlers) chain(_ context.Context, _ struct{}, p *wire.ChainParams) (wire.Chain, error) {
	links, err := h.daemon.Agents.Chain(p.Run)
	return wire.Chain(links), err
}

// cancel serves agents/cancel.
// It does not wait for the end of what it cancels. A run or a session that another agentls has is an
// error with the reason busy; that there is nothing to cancel is an answer.
func (h *Handlers) cancel(_ context.Context, _ struct{}, p *wire.CancelParams) (*wire.CancelResult, error) {
	cancelled := false
	if p.Run != "" {
		cancelled = h.daemon.Agents.Cancel(p.Run, p.Call)
	} else {
		cancelled = h.daemon.Agents.CancelSession(p.Session)
	}
	if !cancelled {
		if err := h.daemon.Agents.Elsewhere(p.Session, p.Run); err != nil {
			return nil, err // to say that there was nothing to cancel would be wrong
		}
	}
	return &wire.CancelResult{Cancelled: cancelled}, nil
}
