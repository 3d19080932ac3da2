package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/sourcegraph/conc"
	"go.lsp.dev/jsonrpc2"
	"go.lsp.dev/protocol"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/agents/trace"
	"github.com/agentls/agentls/internal/chat"
	"github.com/agentls/agentls/internal/client"
	"github.com/agentls/agentls/internal/wire"
)

// timeline shows runs as they go on: the agent's title and text on standard output, what
// it does on standard error. With past it shows a session that is over, what the person
// said with it. It is used by several goroutines: the client's, which brings events, those
// that answer questions, and the one that waits for the run. turn comes before mu where
// both are held.
//
// An event comes on the client's goroutine. inTurn keeps it while a question is on the
// screen, and show hands it by its type to showRun, showContext or showDelegated. Text of
// an answer that may be withdrawn is kept in tried, and settle shows it before the next
// event is shown. But for the status only the functions of lines.go write.
type timeline struct {
	out, err io.Writer
	terminal *terminal
	past     bool
	// final has out get the final text alone, when the run has ended, as for a pipe; the
	// rest goes to err.
	final bool
	// screen says that the text goes to the terminal at which somebody types: Enter has
	// moved the cursor to a new line then.
	screen bool
	// raw takes each event as it came, before anything is shown of it; nil where nobody
	// does.
	raw    func(event []byte)
	status *status // nil where it is not shown
	// trace has each span told as it ends (run --trace); nil is none.
	trace *trace.Builder

	// turn has what is shown come one after the other.
	turn sync.Mutex
	// questions counts those on the screen; guarded by turn.
	questions int
	// waiting is what is to be shown when none is on the screen any more; guarded by turn.
	waiting []func()

	// mu guards what follows, and is held while something is written, so that lines of
	// several goroutines do not mix.
	mu     sync.Mutex
	titles map[string]string // of agents, by name
	paths  map[string]string // of the delegated runs that go on, as [timeline.path] has it
	// goesOn is told when the next run begins in its session.
	goesOn  continuation
	speaks  string // the run whose text was shown last
	midLine bool   // text was written that does not end in a line end
	// tried is text that may be withdrawn still, with past and final.
	tried strings.Builder
	// running is the context of the run that is shown: it ends when the person interrupts
	// it. nil before the first run.
	running context.Context
	shown   bool // this answer of the model's has shown text
	// asked has a channel for each question, by its id, which is closed when its event was
	// shown.
	asked  map[string]chan struct{}
	failed string // the error that was shown last
	// place is, with past, the number of the event that ended the last turn, to which
	// rewind can go; 0 is none.
	place uint64
	// prompt stands on the screen, and somebody may be typing behind it; "" is none.
	prompt string
}

// continuation is the old context that a run goes on in: its session, and the line that
// says so. The zero value is none.
type continuation struct{ session, line string }

// newTimeline returns a timeline that shows on the streams of std and asks at t. t may be
// nil where nothing is asked, as for a session that is over.
func newTimeline(std streams, t *terminal) *timeline {
	return &timeline{out: std.out, err: std.err, terminal: t, titles: make(map[string]string),
		asked: make(map[string]chan struct{})}
}

// introduce gives the title of an agent, and in what context its next run goes on.
func (t *timeline) introduce(name, title string, goesOn continuation) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.titles[name], t.goesOn = cmp.Or(title, name), goesOn
}

// watch shows the status of a run until the function that it returns is called, which
// waits for its goroutine. Without a status it does nothing.
func (t *timeline) watch(agent string) (end func()) {
	if t.status == nil {
		return func() {}
	}
	t.mu.Lock()
	t.status.begin(agent, time.Now())
	t.mu.Unlock()
	var work conc.WaitGroup
	over := make(chan struct{})
	work.Go(func() {
		tick := time.NewTicker(statusEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				t.mu.Lock()
				t.status.tick(time.Now(), t.midLine)
				t.mu.Unlock()
			case <-over:
				return
			}
		}
	})
	return func() {
		// The goroutine has to end before the status is cleared, or it would draw it
		// again.
		close(over)
		work.Wait()
		t.mu.Lock()
		defer t.mu.Unlock()
		t.status.clear(time.Now())
		t.status.runs = false
	}
}

// handlers returns what a client does with what the daemon sends: it shows events and
// messages in turn, and asks questions at the terminal. A question leaves the screen to
// itself while it is open, and ends when the daemon withdraws it or the run is
// interrupted.
func (t *timeline) handlers() client.Config {
	return client.Config{
		Notified: func(method string, params []byte) {
			switch method {
			case wire.MethodActivity:
				if t.raw != nil {
					t.raw(params)
				}
				var e wire.ActivityParams
				if (wire.Codec{}).Unmarshal(params, &e) == nil {
					t.inTurn(func() { t.show(e) })
				}
			case protocol.MethodWindowShowMessage:
				var p protocol.ShowMessageParams
				if (wire.Codec{}).Unmarshal(params, &p) == nil {
					t.inTurn(func() { t.say("%s", p.Message) })
				}
			}
		},
		Asked: func(ctx context.Context, method string, params []byte) (any, error) {
			switch method {
			case wire.MethodConfirm:
				p := new(wire.ConfirmParams)
				if err := (wire.Codec{}).Unmarshal(params, p); err != nil {
					return nil, err
				}
				// awaitEvent comes before hold: while a question is held, the event that
				// it waits for would not be shown.
				t.awaitEvent(ctx, p.ID)
				defer t.hold()()
				ctx, release := t.untilInterrupted(ctx)
				defer release()
				return t.terminal.confirm(ctx, p)
			case wire.MethodAsk:
				p := new(wire.AskParams)
				if err := (wire.Codec{}).Unmarshal(params, p); err != nil {
					return nil, err
				}
				defer t.hold()()
				ctx, release := t.untilInterrupted(ctx)
				defer release()
				return t.terminal.ask(ctx, p)
			}
			return nil, jsonrpc2.ErrMethodNotFound
		},
	}
}

// untilInterrupted returns a context for a question, which ends too when the person
// interrupts the run that it is for: that withdraws the question, also one that
// comes before the run has begun.
func (t *timeline) untilInterrupted(ctx context.Context) (context.Context, context.CancelFunc) {
	t.mu.Lock()
	running := t.running
	t.mu.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	if running == nil {
		return ctx, cancel
	}
	stop := context.AfterFunc(running, cancel)
	return ctx, func() { stop(); cancel() }
}

// show shows one event: that of a delegated run in short, that of the person's own run
// whole. An event of a type that this version does not know is skipped.
func (t *timeline) show(e wire.ActivityParams) {
	body, err := activity.Decode(e.Type, e.Data)
	if err != nil {
		return
	}
	if t.status != nil {
		t.mu.Lock()
		who := ""
		if e.ParentRun != "" {
			who = tool.Escape(e.Agent)
		}
		t.status.take(who, body)
		t.mu.Unlock()
	}
	// Deferred: a span that ends with the event stands below what the event shows.
	if t.trace != nil {
		defer t.tellSpans(e, body)
	}
	if e.ParentRun != "" {
		t.showDelegated(e, body)
		return
	}
	t.settle(e, body)
	t.showRun(e, body)
	t.showContext(body)
}

// begin shows that a run began: what was asked, who answers, in which context and by which
// model.
func (t *timeline) begin(e wire.ActivityParams, b activity.RunStarted) {
	t.showInput(b.Input)
	t.speak(e)
	t.mu.Lock()
	goesOn := t.goesOn
	t.goesOn = continuation{}
	t.mu.Unlock()
	if goesOn.line != "" && goesOn.session == e.Session {
		t.say("%s", goesOn.line)
	}
	t.say("model %s", tool.Escape(b.Model))
}

// showRun shows an event about the run itself. ContentDelta is the agent's text;
// everything else becomes a line or two. An event without a case here is left to
// showContext, which shows it where tool.EventLine has a line for it.
func (t *timeline) showRun(e wire.ActivityParams, body activity.Body) {
	switch b := body.(type) {
	case activity.RunStarted:
		t.begin(e, b)
	case activity.RouteDecided:
		t.say("%s", tool.EventLine(b))
	case activity.Input:
		t.showInput(b.Input)
	case activity.TurnStarted:
		t.mu.Lock()
		t.newLineLocked() // what is said in two turns is not one sentence
		place := t.place
		t.place = 0
		t.mu.Unlock()
		if place > 0 {
			t.say("[%d]", place)
		}
	case activity.TurnFinished:
		if t.past {
			t.mu.Lock()
			t.place = e.Seq
			t.mu.Unlock()
		}
	// A new answer has shown nothing yet that a retry could withdraw.
	case activity.ModelStarted:
		t.mu.Lock()
		t.shown = false
		t.mu.Unlock()
	case activity.ContentDelta:
		t.delta(e, b.Text)
	case activity.ToolState:
		t.call("", b)
	case activity.ConfirmationAsked:
		t.mu.Lock()
		// What came before the question is shown, so it may be asked now (awaitEvent).
		close(t.question(b.ID))
		t.mu.Unlock()
	case activity.ConfirmationAnswered:
		switch {
		case b.By == "timeout":
			t.say("nobody answered in time: refused")
		case t.past:
			t.say("  ? answered: %s, by %s", tool.Escape(b.Outcome), tool.Escape(b.By))
		}
	case activity.Retry:
		t.again(b)
	case activity.RunState:
		if b.To == activity.Paused || b.To == activity.Interrupted {
			t.say("%s: %s", b.To, tool.Escape(cmp.Or(b.Why, "no reason is given")))
		}
	case activity.Note:
		t.say("%s", tool.Escape(b.Message))
	case activity.ErrorSeen:
		if b.Where == "model" {
			return // the run's end says it
		}
		t.mu.Lock()
		t.failed = b.Message
		t.mu.Unlock()
		t.say("error: %s", joinLines(b.Message))
	// The end of a run that goes on comes as the answer to its request (toItsEnd).
	case activity.RunFinished:
		if t.past {
			if b.Reason != activity.HandedOff { // the handoff is told
				t.end(&b)
			}
			t.say("[%d]", e.Seq)
			t.place = 0
		}
	}
}

// showContext shows an event about the session and its contexts, or about what watches and
// joins runs.
func (t *timeline) showContext(body activity.Body) {
	switch b := body.(type) {
	case activity.TodosChanged:
		t.plan(b)
		return
	case activity.ContextCompressed:
		if b.Status != "COMPRESSED" {
			return
		}
	case activity.ContextCleared:
		if !t.past {
			return // who is here has asked for it, and was answered
		}
	}
	if line := tool.EventLine(body); line != "" {
		t.say("%s", line)
	}
}

// showInput shows what the person said, where a session is shown that is over. Resources
// are shown by their URIs.
func (t *timeline) showInput(input []activity.ContentBlock) {
	if !t.past {
		return // they know
	}
	for _, b := range input {
		text := cmp.Or(b.Text, b.URI)
		if b.Resource != nil {
			text = b.Resource.URI
		}
		if text != "" {
			t.mu.Lock()
			t.newLineLocked()
			t.mu.Unlock()
			t.text("> " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n> ") + "\n")
		}
	}
}

// speak shows who speaks. With final that goes to err, since out has the text alone. From
// then on text of this run is shown without a title, until another speaks.
func (t *timeline) speak(e wire.ActivityParams) {
	t.mu.Lock()
	t.speaks = e.Run
	title := cmp.Or(t.titles[e.Agent], e.Agent)
	t.newLineLocked()
	t.mu.Unlock()
	if t.final {
		t.say("%s", tool.Escape(title))
		return
	}
	t.text(tool.Escape(title) + "\n")
}

// delta shows text as it comes. With past and final it is kept until it is clear
// that it stays.
func (t *timeline) delta(e wire.ActivityParams, text string) {
	t.mu.Lock()
	other := t.speaks != e.Run
	t.shown = true
	if (t.past || t.final) && !other {
		t.tried.WriteString(text)
		t.mu.Unlock()
		return
	}
	t.mu.Unlock()
	// speak makes this run the one that speaks, so the second call does not come here.
	if other {
		t.speak(e)
		t.delta(e, text)
		return
	}
	t.text(text)
}

// settle shows the text that was kept, unless the event withdraws it: text of an answer
// that is tried again does not count. It is called with each event, before the event is
// shown.
//
// With past all text is kept until an event comes that is no piece of it, and only a
// retry that discards it takes it back. With final it is kept until something shows that
// it was not the last text of the run (endsText); then it goes to err, and the last one
// stays for finish.
func (t *timeline) settle(e wire.ActivityParams, body activity.Body) {
	t.mu.Lock()
	text := t.tried.String()
	retry, ok := body.(activity.Retry)
	_, more := body.(activity.ContentDelta)
	_, thinks := body.(activity.ThoughtDelta)
	// More text of the same answer may come, so nothing is shown yet.
	if text == "" || ((more || thinks) && e.Run == t.speaks) {
		t.mu.Unlock()
		return
	}
	if t.final && !endsText(body) {
		t.mu.Unlock()
		return
	}
	t.tried.Reset()
	t.mu.Unlock()
	switch {
	case ok && retry.Discard:
	case t.final:
		t.say("%s", strings.TrimRight(chat.PlainText(text), "\n"))
	default:
		t.text(text)
	}
}

// close ends what is shown with a whole line.
func (t *timeline) close() {
	t.settle(wire.ActivityParams{}, nil)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.newLineLocked()
}

// endLine says that a person ended a line: what they see of the text goes on at the
// beginning of the next.
func (t *timeline) endLine() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.screen {
		t.midLine = false
	}
}

// again shows that something is tried again, and when. What a terminal has shown stays: so
// it is said that it does not count.
func (t *timeline) again(b activity.Retry) {
	t.mu.Lock()
	withdrawn := b.Discard && t.shown && !t.past
	t.shown = false
	t.mu.Unlock()
	line := fmt.Sprintf("retrying now, attempt %d", b.Attempt)
	if b.WaitMs > 0 {
		// A shorter wait would be shown as 0s.
		wait := max(time.Duration(b.WaitMs)*time.Millisecond, time.Second)
		line = fmt.Sprintf("retrying in %v, attempt %d", wait.Round(time.Second), b.Attempt)
	}
	if b.Repair != nil {
		line = "repairing the result"
	}
	if withdrawn {
		line += "; ignore the text above of this answer"
	}
	t.say("%s: %s", line, tool.Escape(first(b.Cause)))
}

// plan shows an agent's plan in one line. Of several steps in progress the last one is
// told.
func (t *timeline) plan(b activity.TodosChanged) {
	done, doing := 0, ""
	for _, todo := range b.Todos {
		switch todo.Status {
		case "completed":
			done++
		case "in_progress":
			doing = ", now: " + tool.Escape(first(todo.Description))
		}
	}
	t.say("  plan: %d of %d done%s", done, len(b.Todos), doing)
}
