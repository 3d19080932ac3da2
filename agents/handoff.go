package agents

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/authority"
	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/handoff"
	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/agents/run"
	"github.com/agentls/agentls/agents/session"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/fault"
)

// projectOf returns the folder that an agent comes with, "" for one that comes with
// none.
func projectOf(def *definition.Definition) string {
	if !def.FromProject() {
		return ""
	}
	return cmp.Or(def.Folder, ".")
}

// handover is how control passed to a run. nil is a run that was asked for. All methods
// may be called on nil.
type handover struct {
	activity.HandoffStarted
	history string          // the conversation so far, quoted; "" = it is not told
	links   []activity.Link // of the runs before
	spent   run.Spent       // by them
	by      *Live           // that passed control on, in this daemon; nil for one of an earlier daemon
}

// tell returns what the run's system instruction says of it.
func (h *handover) tell() string {
	if h == nil {
		return ""
	}
	return "\n" + handoff.Tell(handoff.Story{
		From: h.From, Chain: h.Chain, History: h.history,
		Message: handoff.Message{Reason: h.Reason, Summary: h.Summary, Context: h.Context, Payload: h.Payload},
	})
}

// link is what the run's own link in its chain says of it.
func (h *handover) link() activity.Link {
	if h == nil {
		return activity.Link{}
	}
	return activity.Link{From: h.From, Reason: h.Reason}
}

// earlierSpent is what the runs before it used of the tree's limits.
func (h *handover) earlierSpent() run.Spent {
	if h == nil {
		return run.Spent{}
	}
	return h.spent
}

// before is the links of the runs before it, in order.
func (h *handover) before() []activity.Link {
	if h == nil {
		return nil
	}
	return h.links
}

// handoffs returns what control may pass to in a run. An agent that control
// cannot pass to when the run begins is not offered, and nothing of its file is told.
// Resolve and Quote are called when the model asks for a transfer, and look then.
func (s *Service) handoffs(r *planned) run.Handoffs {
	h := run.Handoffs{
		Max:    r.settings.MaxHandoffDepth,
		NewRun: func() string { return uuid.Must(uuid.NewV7()).String() },
		Resolve: func(to string) (string, error) {
			agent, _, err := s.target(to, r.folder)
			if err != nil {
				return "", err
			}
			return agent.Definition.Name, nil
		},
		Quote: func(to string, messages []model.Message) string {
			return handoff.Quote(r.def.Name, messages, s.windowOf(to, r)/4)
		},
	}
	for _, entry := range r.def.Handoffs {
		// Without the tool, control cannot pass there at all.
		if !authority.Transfers(r.def, r.settings.Exclude.Names(), entry.To) {
			continue
		}
		var target handoff.Target
		if entry.To != handoff.User {
			agent, _, err := s.target(entry.To, r.folder)
			if err == nil {
				target = handoff.Target{Title: agent.Title, Description: agent.Description}
			}
			// The entry stays in the list, so that a model which calls it all the same is told why
			// control does not pass.
			h.Unknown = append(h.Unknown, err != nil)
		} else {
			h.Unknown = append(h.Unknown, false)
		}
		h.List = append(h.List, handoff.New(entry, target))
	}
	return h
}

// target finds an agent that control may pass to now: one that is there, usable,
// trusted and reviewed.
func (s *Service) target(to, folder string) (*effective, string, error) {
	return s.find(Start{Agent: to, Folder: folder, from: origin{chain: []string{to}}})
}

// defaultWindow is what a model is trusted to take of which nothing is known.
const defaultWindow = 128_000

// windowOf returns how many tokens the model of a successor takes. The conversation
// that is passed over takes a quarter of it.
func (s *Service) windowOf(to string, from *planned) int {
	agent, folder, err := s.target(to, from.folder)
	if err != nil {
		return defaultWindow
	}
	settings := s.Settings(folder)
	_, entry, _ := s.Table.Resolve(s.ModelOf(agent.Definition, "", settings), defaultModel)
	window := cmp.Or(entry.Window, defaultWindow)
	if settings.MaxContextTokens > 0 {
		window = min(window, settings.MaxContextTokens)
	}
	return window
}

// last returns the run that has control of the chain that l is in. The service's mu
// is held. It is the one that is steered and cancelled.
func (l *Live) last() *Live {
	for l.next != nil {
		l = l.next
	}
	return l
}

// holder is last. It takes mu.
func (s *Service) holder(live *Live) *Live {
	s.mu.Lock()
	defer s.mu.Unlock()
	return live.last()
}

// followOn begins the run that control has passed to, and waits for its end, which is
// the end of live too. Where that run cannot begin, the run that passed control on has
// the failure as its result; where the daemon is ending the handoff stays in the log
// and is begun by agents/resume.
func (s *Service) followOn(ctx context.Context, conv *conversation, r *planned, live *Live) {
	h, ok := live.run.Successor()
	if !ok || h.Run == "" {
		return
	}
	// What asked for the first run holds for the whole chain, but for what passOn takes out.
	start := live.start
	start.Folder, start.Input, start.Session = live.folder, live.asks, conv.ID
	start.from.within, start.from.correlationID = ctx, live.about.CorrelationID
	start.from.tree, start.from.past = live.tree, nil
	start.from.project = cmp.Or(start.from.project, projectOf(r.def))
	start.from.handed = s.newHanded(conv, h, live.result.Chain)
	start.from.handed.by, start.from.handed.spent, start.from.tree = live, live.run.SpentSoFar(), live.tree
	next, err := s.passOn(conv, r.def, start)
	if err != nil {
		// enlist may have made the successor known before it failed: control is here again.
		s.mu.Lock()
		live.next = nil
		s.mu.Unlock()
		if s.ctx.Err() != nil {
			return // agents/resume begins it
		}
		message := fmt.Sprintf("%s could not take over from %s: %s", h.To, h.From, fault.Message(err))
		conv.GiveUpHandoff(live.ID, message)
		live.result.Error = &activity.Failure{Kind: "handoff", Message: message}
		return
	}
	<-next.done
	// The result is the last run's, with what all of the chain did to files.
	changes := append(slices.Clip(live.result.Changes), next.result.Changes...)
	live.result, live.by, live.unwritten = next.result, next.by, next.unwritten
	live.result.Changes = changes
}

// passOn begins the run of a handoff. start says how it came about, what led to the run
// before it, and in whose folder the target is looked for. It is a run like any other,
// but for what it does not get: inputs, model and mode that the first was asked with.
func (s *Service) passOn(conv *conversation, from *definition.Definition, start Start) (*Live, error) {
	h := start.from.handed.HandoffStarted
	start.Agent, start.Run = h.To, h.Run
	if i := slices.IndexFunc(from.Handoffs,
		func(e definition.Handoff) bool { return handoff.ToolName(e.To) == handoff.ToolName(h.To) }); i >= 0 {
		start.Agent = from.Handoffs[i].To // may say in which folder
	}
	start.Inputs, start.Mode, start.Model, start.Definition, start.Queue = nil, "", "", nil, false
	start.Taint = start.Taint.Max(tool.TaintOf(h.Taint))
	start.from.chain, start.from.contextID = slices.Clone(h.Chain[:len(h.Chain)-1]), h.Run
	start.from.project = cmp.Or(start.from.project, h.Project)
	agent, _, err := s.find(start)
	if err != nil {
		return nil, err
	}
	// The payload was checked as a transfer's; as inputs it has to fit the target's schema,
	// which plan looks at.
	if agent.Definition.Inputs != nil {
		start.Inputs = h.Payload
	}
	plan, err := s.plan(start)
	if err != nil {
		return nil, err
	}
	return s.begin(s.ctx, conv, plan, start, func(live *Live) (uint64,
		error) {
		return live.run.Begin(plan.task.input), nil
	})
}

// newHanded puts together what a successor is told and has left of the limits, from the log.
func (s *Service) newHanded(conv *conversation, h activity.HandoffStarted, links []activity.Link) *handover {
	passed := &handover{HandoffStarted: h, links: links}
	for _, link := range links {
		// What persons have added for a predecessor was for that one: it takes nothing from its
		// successor.
		calls, added := conv.ModelCalls(link.Run)
		passed.spent.Calls += max(0, calls-added.ModelCalls)
		passed.spent.InputTokens += max(0, link.Usage.InputTokens-added.InputTokens)
	}
	if h.History != "" {
		text, err := conv.GetBlob(h.History)
		if err != nil {
			s.Log.Warn("a successor is not told the conversation before it", "run", h.Run, "err", err)
		}
		passed.history = string(text)
	}
	return passed
}

// predecessor returns the run that passed control to another one.
// false for a run that was asked for, and for "".
func predecessor(runs []session.Run, id string) (session.Run, bool) {
	i := slices.IndexFunc(runs, func(r session.Run) bool { return r.Passed != nil && r.Passed.Run == id })
	if id == "" || i < 0 {
		return session.Run{}, false
	}
	return runs[i], true
}

// holds returns the run that has control of the chain of a run, or had it last. pending
// is set where that run has passed it on to one that did not begin.
func holds(runs []session.Run, r session.Run) (last session.Run, pending bool) {
	for range runs { // a log that somebody wrote may have a circle
		if r.State != activity.Finished || r.Reason != activity.HandedOff || r.Passed == nil || r.Passed.Run == "" {
			return r, false
		}
		next, ok := runIn(runs, r.Passed.Run)
		if !ok {
			return r, true
		}
		r = next
	}
	return r, false
}

// Chain returns the runs of the chain of handoffs that a run is in, in order, each with
// its reason, time and tokens. It takes no lock, also where another daemon has the
// session. The error has the reason unknownRun. It looks through the sessions on disk
// where none in use has the run.
func (s *Service) Chain(id string) ([]activity.Link, error) {
	_, runs, err := s.runsWith(id)
	if err != nil {
		return nil, err
	}
	r, _ := runIn(runs, id)
	for range runs {
		before, ok := predecessor(runs, r.Run)
		if !ok {
			break
		}
		r = before
	}
	links := []activity.Link{}
	for from := (activity.HandoffStarted{}); ; {
		link := activity.Link{Run: r.Run, Agent: r.Agent, From: from.From, Reason: from.Reason,
			DurationMs: r.Ended.Sub(r.Began).Milliseconds(), Usage: r.Used}
		if n := len(r.Chain); n > 0 && r.Chain[n-1].Run == r.Run { // it has finished
			link.DurationMs, link.Usage = r.Chain[n-1].DurationMs, r.Chain[n-1].Usage
		}
		links = append(links, link)
		// A log that somebody wrote may have a circle.
		if r.Passed == nil || r.State != activity.Finished || len(links) > len(runs) {
			return links, nil
		}
		from = *r.Passed
		next, ok := runIn(runs, from.Run)
		if !ok {
			return links, nil
		}
		r = next
	}
}

// runsWith returns the session that has a run, and its runs. Sessions that are in use
// are looked at first; those on disk are read without their locks, which takes a while
// with many.
func (s *Service) runsWith(id string) (name string, runs []session.Run, err error) {
	for _, open := range s.Sessions.Live() {
		if runs := open.Runs(); hasRun(runs, id) {
			return open.ID, runs, nil
		}
	}
	all, err := s.Sessions.List()
	if err != nil {
		return "", nil, err
	}
	for _, info := range all {
		if info.Problem != "" {
			continue
		}
		if _, runs, err := s.Sessions.Peek(info.Session); err == nil && hasRun(runs, id) {
			return info.Session, runs, nil
		}
	}
	return "", nil, fault.New(fault.NotFound, "agents.chain", "no session has a run %s",
		id).Because(fault.UnknownRun, "run", id)
}

// hasRun reports whether a run is among those of a session.
func hasRun(runs []session.Run, id string) bool {
	_, ok := runIn(runs, id)
	return ok
}
