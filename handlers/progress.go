package handlers

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"go.lsp.dev/protocol"

	"github.com/agentls/agentls/agents"
	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/server"
)

const (
	infoMessage  = protocol.MessageTypeInfo
	errorMessage = protocol.MessageTypeError
)

// progress is how a run is shown in LSP's own words: under the token that the
// request brought, else under one of ours where the client knows only LSP, else
// in its log. One that shows nothing takes everything as well.
// All but over and line is set by beginProgress. mu guards line too, while events are
// shown.
type progress struct {
	h    *Handlers
	line progressLine
	on   *server.Progress // nil without a token
	key  string           // of the token
	logs bool             // lines go to the client's log

	mu   sync.Mutex
	over bool // guarded by mu: nothing is shown any more
}

// beginProgress begins to show a run.
// It never fails: what cannot be shown is logged, and the run goes on. raw is the
// token as the client wrote it, empty for none. The caller calls end once the run is
// over.
func (h *Handlers) beginProgress(ctx context.Context, live *agents.Live, raw []byte) *progress {
	p := &progress{h: h, line: progressLine{agent: live.Agent, turns: live.MaxTurns}}
	token := tokenOf(raw)
	// A client that receives the events needs no progress; an LSP client without progress
	// gets log lines.
	if token == nil && (!h.plain || !h.edits.progress) {
		p.logs = h.plain
		return p
	}
	on, err := h.Peer.BeginProgress(ctx, server.ProgressStart{Token: token, Title: live.Agent,
		Message: live.Routed, Cancellable: true})
	if err != nil {
		h.Log.Warn("the progress of a run is not shown", "run", live.ID, "err", err)
		return p
	}
	p.on, p.key = on, tokenKey(on.Token())
	h.mu.Lock()
	h.progress[p.key] = live.ID
	h.mu.Unlock()
	return p
}

// watch returns who is told the run's events; nil where nothing is shown, since
// to be told costs a decoding of each.
func (p *progress) watch() func(activity.Event) {
	if p.on == nil && !p.logs {
		return nil
	}
	return p.take
}

// take shows what an event makes of the line.
// It is called by the follower of the session, one event at a time.
func (p *progress) take(e activity.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	take := p.line.take
	if e.ParentRun != "" {
		take = p.line.takeDelegated
	}
	if p.over || !take(e) {
		return
	}
	if p.on != nil {
		p.on.Report(p.line.below(), -1)
		return
	}
	// A client that is gone reads no log.
	_ = p.h.Peer.LogMessage(p.h.ctx, &protocol.LogMessageParams{Type: infoMessage, Message: p.line.String()})
}

// end shows how the run ended.
// It may be called more than once; only the first one shows something.
func (p *progress) end(r activity.RunFinished) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over {
		return
	}
	p.over = true
	if p.on != nil {
		p.on.End(ending(r))
		p.h.mu.Lock()
		delete(p.h.progress, p.key)
		p.h.mu.Unlock()
	}
}

// cancelProgress serves window/workDoneProgress/cancel.
// A token that nobody knows, as of a run that has ended, is ignored.
func (h *Handlers) cancelProgress(_ context.Context, p *protocol.WorkDoneProgressCancelParams) error {
	h.mu.Lock()
	run, cancel := h.progress[tokenKey(p.Token)], h.testing[tokenKey(p.Token)]
	h.mu.Unlock()
	if cancel != nil {
		cancel()
	}
	if run != "" {
		h.daemon.Agents.Cancel(run, "")
	}
	return nil
}

// tokenOf reads a token, nil for none or one that is neither a string nor a whole
// number of 32 bits.
func tokenOf(raw []byte) protocol.ProgressToken {
	var s string
	var n int32
	switch {
	case len(raw) == 0 || string(raw) == "null":
	case protocol.Unmarshal(raw, &s) == nil:
		return protocol.String(s)
	case protocol.Unmarshal(raw, &n) == nil:
		return protocol.Integer(n)
	}
	return nil
}

// tokenKey tells 1 from "1".
// A client may use both at once, so the maps of the connection are keyed by this text.
func tokenKey(t protocol.ProgressToken) string { return fmt.Sprintf("%T %v", t, t) }

// progressLine is what a run does, in one line:
// "debugger · read_file app.ts · 3/30 turns · 12k tok".
type progressLine struct {
	agent string
	turns int // at most; 0 = no limit
	// From 1, of the agent that is shown.
	turn int
	// Of all runs below as well.
	tokens int
	// What goes on, in a few words.
	doing  string
	handed string // the newest handoff; "" = there was none
}

// take takes an event in and reports whether the line is another now.
// What changes nothing that is shown is false, so that no report is sent for it.
// A handoff keeps the line and exchanges the agent, whose turns are counted anew.
func (l *progressLine) take(e activity.Event) bool {
	switch b := e.Body.(type) {
	case activity.RouteDecided:
		l.doing = tool.Escape(b.Text)
	case activity.TurnStarted:
		l.turn, l.doing = b.Turn, "thinking"
		if b.Turn == 1 && l.handed != "" {
			l.doing = l.handed // reports are few: the line stays for the whole turn
		}
	case activity.ModelFinished:
		l.tokens += b.Usage.TotalTokens
	case activity.ToolState:
		switch b.State {
		case activity.Executing:
			l.doing = callTitle(b)
		case activity.AwaitingApproval:
			l.doing = callTitle(b) + " waits for you"
		default:
			return false
		}
	case activity.Retry:
		l.doing = "trying again: " + tool.Escape(b.Cause)
	case activity.RunState:
		switch {
		case b.To == activity.Paused && b.Why != "":
			l.doing = "paused: " + tool.Escape(b.Why)
		case b.To == activity.Paused:
			l.doing = "paused"
		case b.To == activity.Running && b.From == activity.Paused:
			l.doing = "goes on"
		default:
			return false
		}
	case activity.ContextCompressed:
		l.doing = tool.Escape(tool.CompressionText(b))
	case activity.LoopDetected:
		l.doing = tool.Escape(tool.RepetitionText(b))
	case activity.RunStarted:
		if e.Agent == l.agent {
			return false
		}
		l.agent, l.turn, l.turns = e.Agent, 0, 0 // who took over; its limit is its own
		return false
	case activity.HandoffStarted:
		l.handed = tool.EventLine(b)
		l.doing = l.handed
	case activity.HandoffRejected:
		l.doing = "may not hand over to " + tool.Escape(b.To) + " (" + tool.Escape(b.Code) + ")"
	case activity.TodosChanged:
		step, ok := todo(b.Todos)
		if !ok {
			return false
		}
		l.doing = step
	default:
		return false
	}
	return true
}

// takeDelegated is take for an event of a run that the shown one delegates to, or that
// such a run does.
func (l *progressLine) takeDelegated(e activity.Event) bool {
	agent := tool.Escape(e.Agent)
	switch b := e.Body.(type) {
	case activity.ModelFinished:
		l.tokens += b.Usage.TotalTokens
		return false
	case activity.ToolState:
		switch b.State {
		case activity.Executing:
			l.doing = agent + ": " + callTitle(b)
		case activity.AwaitingApproval:
			l.doing = agent + ": " + callTitle(b) + " waits for you"
		default:
			return false
		}
	case activity.RunState:
		if b.To != activity.Paused {
			return false
		}
		l.doing = agent + " is paused: " + tool.Escape(b.Why)
	default:
		return false
	}
	return true
}

// String returns the line.
func (l *progressLine) String() string { return l.agent + " · " + l.below() }

// below returns the line as it stands under a title that names the agent.
// Turns and tokens are left out as long as they are not known.
func (l *progressLine) below() string {
	parts := []string{l.doing}
	if l.turns > 0 {
		parts = append(parts, fmt.Sprintf("%d/%d turns", l.turn, l.turns))
	}
	if l.tokens > 0 {
		parts = append(parts, tool.Tokens(l.tokens)+" tok")
	}
	return strings.Join(parts, " · ")
}

// todo returns the step that a plan is at, "2/5 write the test"; false for an
// empty one.
func todo(list []activity.Todo) (string, bool) {
	done, at := 0, ""
	for _, t := range list {
		switch t.Status {
		case "completed", "cancelled":
			done++
		case "in_progress":
			if at == "" {
				at = " " + tool.Escape(t.Description)
			}
		}
	}
	if at != "" {
		done++ // the one that is being done
	}
	return fmt.Sprintf("%d/%d%s", done, len(list), at), len(list) > 0
}

// callTitle names a call with the file that it is about.
func callTitle(b activity.ToolState) string {
	if b.Path == "" {
		return b.Name
	}
	return b.Name + " " + tool.Escape(b.Path[strings.LastIndexByte(b.Path, '/')+1:])
}

// ending is how a run ended, in one line.
// It is safe to be shown.
func ending(r activity.RunFinished) string {
	switch {
	case r.Error != nil:
		return fmt.Sprintf("%s: %s", r.Reason, tool.Escape(r.Error.Message))
	case r.Reason == activity.Goal:
		line := fmt.Sprintf("done in %s, %s tok", tool.Count(r.Turns, "turn", "turns"), tool.Tokens(r.Usage.TotalTokens))
		if len(r.Fallbacks) > 0 {
			line += ", answered by " + tool.Escape(strings.Join(r.Fallbacks, " and "))
		}
		return line
	}
	if r.Reason == activity.HandedOff && r.Text != "" {
		return "a person is needed: " + tool.Escape(firstLine(r.Text))
	}
	return string(r.Reason)
}
