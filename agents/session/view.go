package session

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/compression"
	"github.com/agentls/agentls/agents/model"
)

// What stands in a context for what is missing.
const (
	// interrupted is the result of a call that the daemon's end cut off.
	interrupted = "interrupted: the daemon ended before this call finished"
	// lostStart comes before a reply whose request is lost.
	lostStart = "[the beginning of this conversation is lost]"
	// GoOn stands between two replies: where an answer was cut off by the limit of
	// tokens, and goes on. It is a rule of the view, not an event: nobody said it.
	GoOn = "Your answer was cut off. Go on exactly where it ended."
)

// view is one context: an agent's own, or that of a delegated run (its Origin has
// the id): what a model is sent (spec 3.6). It is
// folded from events only.
//
// Its invariant is that of [Check], up to the batch of calls that is open: messages
// alternate, and the results of a reply follow it in one message. close restores it,
// whatever the events were. s.mu guards it. The messages are shared with marks and
// with who got them from Context: they are appended to, and a message that others
// may hold is copied before it is changed.
type view struct {
	messages []model.Message
	run      string                  // the newest, or the one that goes on
	turn     uint64                  // the event with which its newest turn began
	epoch    int                     // how often the messages were replaced
	marked   bool                    // its newest mark is of what it is now
	batch    []openCall              // of the last reply, until all have results
	pending  map[string]int          // where in batch the first call of an id without a result is; nil = not known
	twins    bool                    // an id of pending stands for several calls
	queued   []model.Part            // input that the run's next turn takes
	asked    int                     // parts at the end of the messages that the run began with, until its first turn
	apart    bool                    // something of a result lies in a blob
	started  time.Time               // of the first event
	active   time.Time               // of the newest one
	editor   *activity.EditorContext // as the model was last told; nil = the next message tells it whole
	failed   bool                    // no snapshot could be had since the last one

	size    int         // tokens, when somebody last counted or estimated the whole
	counted bool        // it was the provider
	since   int         // tokens of what came then, estimated
	usage   model.Usage // of the newest answer of a model, which may be nobody's here
}

// openCall is a call of the last reply.
type openCall struct {
	about  activity.Origin // of the reply
	call   model.Call
	risk   string // as the last tool.state said
	state  activity.CallState
	result *model.Result
	apart  int // tokens of what its result has in a blob, estimated
}

// apply folds one event of the context.
//
// An event of a type that it does not know changes nothing. What a person said waits
// in queued until the next turn begins, since a message of the user's must not come
// between a reply's calls and their results.
func (v *view) apply(e activity.Event) {
	if v.started.IsZero() {
		v.started = e.Time
	}
	v.active, v.marked = e.Time, false
	switch b := e.Body.(type) {
	case activity.RunStarted:
		v.run = e.Run
		v.take()
		v.user(v.editing(b.Context))
		asked := Render(b.Input)
		v.asked = len(asked)
		v.user(asked)
	case activity.Input:
		v.queued = append(v.queued, Render(b.Input)...)
	case activity.Note:
		if text := valid(b.Message); b.ToModel && text != "" {
			v.queued = append(v.queued, model.Part{Text: text})
		}
	case activity.Retry:
		if b.Repair != nil {
			v.queued = append(v.queued, model.Part{Text: valid(b.Repair.Ask)})
		}
	case activity.GuardrailChecked:
		if b.Outcome == "failed" && e.Run == v.run {
			v.unask() // of an input: no model is told it
		}
	case activity.HookRan:
		refused := b.Decision == "deny" || b.Decision == "stop"
		if b.Event == "BeforeAgent" && refused && e.Run == v.run {
			v.unask()
		}
	case activity.TurnStarted:
		v.asked = 0
		v.run, v.turn = e.Run, e.Seq
		v.take()
	case activity.RunState:
		if b.To == activity.Running && (b.From == activity.Interrupted || b.From == activity.Paused ||
			b.From == activity.Finished) {
			v.editor = nil // time has passed: it is told whole again (spec 3.6)
		}
	case activity.ModelFinished:
		if b.Purpose == "" { // else its content does not follow
			v.usage = b.Usage
		}
	case activity.ModelContent:
		// An invalid answer stays in the log, and the model is not shown it again (spec 3.3).
		if !b.Invalid {
			v.reply(e.Origin, b)
		}
		v.usage = model.Usage{}
	case activity.ToolState:
		v.move(b)
	case activity.RunFinished:
		if e.Run == v.run { // not one that was left behind, and ended by hand
			v.take()
		}
	case activity.ContextCompressed:
		v.applyCompression(b)
	case activity.ContextCleared:
		// The epoch goes on, so that marks of before are known to be of another list.
		*v = view{epoch: v.epoch + 1}
	}
}

// applyCompression takes the outcome of a compression. Only one that succeeded
// changes what a model is sent.
func (v *view) applyCompression(b activity.ContextCompressed) {
	v.usage = model.Usage{} // was the compressor's
	switch {
	case b.Status == compression.NoAnswer: // may be otherwise the next time
	case compression.Failed(b.Status):
		v.failed = true
	case b.Status == compression.Compressed && b.Snapshot != "":
		v.failed = false
	}
	if b.Status != compression.Compressed {
		return
	}
	reduced := make([]string, len(b.Reduced))
	for i, id := range b.Reduced {
		reduced[i] = valid(id)
	}
	v.messages = compression.Apply(v.messages, b.Cut, valid(b.Snapshot), reduced)
	v.epoch++
	v.apart = slices.ContainsFunc(v.messages, func(m model.Message) bool { return slices.ContainsFunc(m.Parts, apart) })
	if told := v.editor; told != nil && b.Snapshot != "" {
		// What told it whole may have gone: it is told again, at once where the
		// model is about to be asked.
		v.editor = nil
		if n := len(v.messages); n > 0 && v.messages[n-1].Role == model.User {
			last := &v.messages[n-1]
			last.Parts = append(slices.Clip(last.Parts), v.editing(told)...)
		}
	}
	v.size, v.counted, v.since = b.After, false, 0
	if b.After <= 0 {
		v.size = compression.Tokens(v.messages)
	}
}

// apart reports whether something of a part lies in a blob.
func apart(p model.Part) bool {
	return p.Result != nil && ((p.Result.Content == "" && p.Result.Blob != "") || len(p.Result.Media) > 0)
}

// tokens returns how many tokens the view has, and whether that is not what a
// provider counted.
func (v *view) tokens() (n int, estimated bool) {
	return v.size + v.since, !v.counted || v.since > 0
}

// maxTokens bounds what is believed of a provider's count (REL-69).
const maxTokens = 100_000_000

// count takes the provider's count of all that the context has now; false where
// it gave none that can be believed.
func (v *view) count() bool {
	n := v.usage.InputTokens + v.usage.OutputTokens + v.usage.ThoughtTokens
	if v.usage.InputTokens <= 0 || v.usage.OutputTokens < 0 || v.usage.ThoughtTokens < 0 || n > maxTokens {
		return false
	}
	v.size, v.counted, v.since = n, true, 0
	return true
}

// empty reports whether there is nothing that clearing would change.
func (v *view) empty() bool {
	return len(v.messages) == 0 && len(v.batch) == 0 && len(v.queued) == 0 && v.editor == nil && !v.failed
}

// take closes what is open and lets in the input that waited.
func (v *view) take() {
	v.close()
	if len(v.queued) > 0 {
		v.user(v.queued)
		v.queued = nil
	}
}

// user adds what the user says. Two messages of the user in a row are one.
func (v *view) user(parts []model.Part) {
	if len(parts) == 0 {
		return
	}
	for i := range parts {
		v.since += compression.PartTokens(&parts[i])
	}
	if n := len(v.messages); n > 0 && v.messages[n-1].Role == model.User {
		// Who holds the message sees its old length only.
		last := &v.messages[n-1]
		last.Parts = append(last.Parts, parts...)
		return
	}
	v.messages = append(v.messages, model.Message{Role: model.User, Parts: parts})
}

// unask takes back what the newest run was asked, which a hook has refused: no model
// is told it.
func (v *view) unask() {
	n := len(v.messages)
	if v.asked == 0 || n == 0 || len(v.messages[n-1].Parts) < v.asked {
		return
	}
	parts := v.messages[n-1].Parts
	left := len(parts) - v.asked
	for i := range parts[left:] {
		v.since -= compression.PartTokens(&parts[left+i])
	}
	v.messages = slices.Clone(v.messages[:n-1]) // who holds the old list sees it as it was
	if left > 0 {
		v.messages = append(v.messages, model.Message{Role: model.User, Parts: slices.Clone(parts[:left])})
	}
	v.asked = 0
	v.epoch++
}

// reply adds what the model said.
// Two answers in a row, and one without a question, get a message of the user
// between or before them, so that the two take turns.
func (v *view) reply(about activity.Origin, b activity.ModelContent) {
	m := model.Message{Role: model.Reply, Raw: compact(b.Raw)}
	for _, p := range b.Content {
		m.Parts = append(m.Parts, normal(p))
	}
	if len(m.Parts) == 0 && m.Raw == nil {
		return
	}
	v.close()
	switch n := len(v.messages); {
	case n == 0:
		v.user([]model.Part{{Text: lostStart}})
	case v.messages[n-1].Role == model.Reply:
		v.user([]model.Part{{Text: GoOn}})
	}
	v.messages = append(v.messages, m)
	if !v.count() {
		v.since += compression.Tokens([]model.Message{m})
	}
	for _, p := range m.Parts {
		if p.Call != nil {
			v.batch, v.pending = append(v.batch, openCall{about: about, call: *p.Call, risk: "safe"}), nil
		}
	}
}

// move takes the state of a call. The first end of a call counts; one of a call
// that is not open is none.
func (v *view) move(b activity.ToolState) {
	id := valid(b.Call)
	v.seek()
	i, ok := v.pending[id]
	if !ok {
		return
	}
	c := &v.batch[i]
	c.risk, c.state = b.Risk, b.State
	if !b.State.Terminal() {
		return
	}
	c.result = &model.Result{ID: id, Name: c.call.Name}
	switch {
	case b.Error != nil:
		c.result.Content, c.result.Error = valid(b.Error.Message), true
	case b.Result != nil:
		c.result.Content, c.result.Blob = valid(b.Result.Content), valid(b.Result.Blob)
		for _, m := range b.Result.Media {
			// Data at hand is not in the log; the blob is.
			c.result.Media = append(c.result.Media, model.Media{MimeType: valid(m.MimeType), Blob: valid(m.Blob)})
		}
		if b.Result.Content == "" && b.Result.Blob != "" {
			c.apart = (max(b.Result.Bytes, 0) + 3) / 4
		}
		v.apart = v.apart || apart(model.Part{Result: c.result})
	default:
		c.result.Content, c.result.Error = string(b.State), b.State != activity.Success
	}
	// Another call of the same id may wait, and takes its place.
	if delete(v.pending, id); v.twins {
		v.pending = nil
		v.seek()
	}
	if len(v.pending) == 0 {
		v.close()
	}
}

// seek makes pending where it is not known: an answer may have thousands of calls, each
// of which moves several times.
func (v *view) seek() {
	if v.pending != nil {
		return
	}
	open := 0
	v.pending = make(map[string]int)
	for i, c := range slices.Backward(v.batch) {
		if c.result == nil {
			v.pending[c.call.ID] = i
			open++
		}
	}
	v.twins = open > len(v.pending)
}

// close adds the results of the batch, in call order; calls without one were
// interrupted.
func (v *view) close() {
	if len(v.batch) == 0 {
		return
	}
	parts := make([]model.Part, len(v.batch))
	for i, c := range v.batch {
		if c.result == nil {
			c.result = &model.Result{ID: c.call.ID, Name: c.call.Name, Content: interrupted, Error: true}
		}
		v.since += c.apart
		parts[i].Result = c.result
	}
	v.batch, v.pending = nil, nil
	v.user(parts)
}

// open returns the calls that have no result yet.
func (v *view) open() []openCall {
	var out []openCall
	for _, c := range v.batch {
		if c.result == nil {
			out = append(out, c)
		}
	}
	return out
}

// normal returns a part as the log gives it back.
func normal(p model.Part) model.Part {
	p.Text, p.Thought, p.Subject = valid(p.Text), valid(p.Thought), valid(p.Subject)
	if p.Call != nil {
		p.Call = &model.Call{ID: valid(p.Call.ID), Name: valid(p.Call.Name), Args: compact(p.Call.Args)}
	}
	if p.Result != nil {
		r := *p.Result
		r.ID, r.Name, r.Content, r.Blob = valid(r.ID), valid(r.Name), valid(r.Content), valid(r.Blob)
		p.Result = &r
	}
	if p.Media != nil {
		// Data at hand is not in the log; the blob is.
		p.Media = &model.Media{MimeType: valid(p.Media.MimeType), Blob: valid(p.Media.Blob)}
	}
	return p
}

// valid returns s as it is after JSON: each byte that is not UTF-8 replaced.
func valid(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return string([]rune(s))
}

// compact returns raw as the log gives it back; nil for null.
func compact(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return nil
	}
	var buf bytes.Buffer
	if err := json.Compact(&buf, raw); err != nil || buf.String() == "null" {
		return nil
	}
	return bytes.ToValidUTF8(buf.Bytes(), []byte("\uFFFD"))
}

// Check reports what is wrong with a conversation that is about to be sent
// (REL-61): it must begin and end with the user, alternate, and have exactly
// one result for every call, in the message that follows it, in call order.
//
// A provider refuses a conversation that breaks any of it, in words that nobody
// understands; a run checks before it asks. The error is for a log and a bug report.
func Check(messages []model.Message) error {
	var calls []string
	for i, m := range messages {
		want := model.User
		if i%2 == 1 {
			want = model.Reply
		}
		if m.Role != want {
			return fmt.Errorf("message %d is by %s and must be by %s", i, m.Role, want)
		}
		n := 0
		var next []string
		for _, p := range m.Parts {
			switch {
			case p.Call != nil && m.Role == model.Reply:
				next = append(next, p.Call.ID)
			case p.Call != nil:
				return fmt.Errorf("message %d has a call by the user", i)
			case p.Result != nil:
				if n >= len(calls) || p.Result.ID != calls[n] {
					return fmt.Errorf("message %d has a result of %q, which is not the call that waits", i, p.Result.ID)
				}
				n++
			}
		}
		if n < len(calls) {
			return fmt.Errorf("message %d has no result of the call %q", i, calls[n])
		}
		calls = next
	}
	if len(messages) == 0 || messages[len(messages)-1].Role != model.User {
		return fmt.Errorf("the last message is not by the user")
	}
	return nil
}
