package gemini

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"google.golang.org/genai"

	"github.com/agentls/agentls/agents/model"
)

// answer is an answer as it grows. It belongs to the goroutine that runs the loop. What
// was received is in it twice: as parts for us, and as raw bytes for the next request.
type answer struct {
	// All parts so far. The last one may still grow: its text is in text or thought until
	// seal.
	parts    []model.Part
	text     *strings.Builder // of the last part, if it is text; nil otherwise
	thought  *strings.Builder // of the last part, if it is a thought
	thoughts thoughts
	raw      rawParts

	finish   genai.FinishReason // "" = the answer has not said yet how it ended
	message  string             // the provider's words about that
	category string             // of a safety rule that blocked
	refused  string             // the reason why the prompt was, if it was
	// The largest of each count so far.
	usage    model.Usage
	counted  bool   // usage was told
	badUsage bool   // and was none that can be
	version  string // of the model that answered
	id       string // of the answer, at the provider

	search    bool                     // was asked for; else the text stays as it is
	grounding *genai.GroundingMetadata // what the provider's search found; nil = it did not search
}

// whole reports whether the answer has ended as one. Only such an answer counts: a
// stream that ends without a reason was cut.
func (a *answer) whole() bool { return a.finish != "" || a.refused != "" }

// wireEvent is what is read of a chunk beside what genai reads: what must stay
// as it was written. It is read of the same bytes.
type wireEvent struct {
	Candidates []struct {
		Content struct {
			Parts []json.RawMessage `json:"parts"`
		} `json:"content"`
		FinishMessage string `json:"finishMessage"` // genai drops it
	} `json:"candidates"`
	UsageMetadata json.RawMessage `json:"usageMetadata"`
}

// add takes a chunk: as genai read it and as it was. emit is called with each piece
// that is ready; its error ends the reading. Of several candidates the first is read:
// one is asked for.
func (a *answer) add(resp *genai.GenerateContentResponse, data []byte, emit func(model.Chunk) error) error {
	var event wireEvent
	if err := json.Unmarshal(data, &event); err != nil {
		return fmt.Errorf("%w: %w", errUnreadable, err)
	}
	a.count(event.UsageMetadata)
	if resp.ModelVersion != "" {
		a.version = resp.ModelVersion
	}
	if resp.ResponseID != "" {
		a.id = resp.ResponseID
	}
	// A refused prompt has no candidate, so its reason is read before these.
	if f := resp.PromptFeedback; f != nil && f.BlockReason != "" {
		a.refused, a.message = string(f.BlockReason), f.BlockReasonMessage
		a.rate(f.SafetyRatings)
	}
	if len(resp.Candidates) == 0 || resp.Candidates[0] == nil {
		return nil
	}
	c := resp.Candidates[0]
	if len(event.Candidates) > 0 {
		if err := a.content(c.Content, event.Candidates[0].Content.Parts, emit); err != nil {
			return err
		}
	}
	if c.GroundingMetadata != nil {
		a.grounding = c.GroundingMetadata
	}
	if c.FinishReason != "" {
		a.finish = c.FinishReason
		if len(event.Candidates) > 0 && event.Candidates[0].FinishMessage != "" {
			a.message = event.Candidates[0].FinishMessage
		}
		a.rate(c.SafetyRatings)
	}
	return nil
}

// content takes the parts of a chunk: all as they were, and as genai read them those that
// are no calls ([withoutCalls]). Both lists have the other parts in the same order, which
// is how they are matched.
func (a *answer) content(c *genai.Content, raw []json.RawMessage, emit func(model.Chunk) error) error {
	var parts []*genai.Part
	if c != nil {
		parts = c.Parts
	}
	for _, r := range raw {
		if isCall(r) {
			a.raw.put(r)
			if err := a.call(r, emit); err != nil {
				return err
			}
			continue
		}
		// genai yielded fewer parts than there are: nothing tells which are missing.
		if len(parts) == 0 {
			return nil
		}
		p := parts[0]
		if parts = parts[1:]; p == nil {
			continue
		}
		a.raw.add(r)
		if err := a.part(p, emit); err != nil {
			return err
		}
	}
	return nil
}

// call takes a part that is a call, which ends the thoughts before it. A call is told with
// the whole answer only.
func (a *answer) call(raw json.RawMessage, emit func(model.Chunk) error) error {
	if err := a.flush(emit); err != nil {
		return err
	}
	call, err := callOf(raw)
	if err != nil {
		return err
	}
	a.begin(model.Part{Call: call})
	return nil
}

// part takes a part that is a thought, text or data. Parts with none of these have nothing that is
// shown; raw keeps them.
func (a *answer) part(p *genai.Part, emit func(model.Chunk) error) error {
	if p.Thought {
		return a.thoughts.add(p.Text, func(subject, text string) error { return a.think(subject, text, emit) })
	}
	if p.Text == "" && p.InlineData == nil {
		return nil
	}
	if err := a.flush(emit); err != nil {
		return err
	}
	switch {
	case p.InlineData != nil:
		a.begin(model.Part{Media: &model.Media{MimeType: p.InlineData.MIMEType, Data: p.InlineData.Data}})
	default:
		if a.text == nil {
			a.begin(model.Part{})
			a.text = new(strings.Builder)
		}
		a.text.WriteString(p.Text)
		return emit(model.Chunk{Text: p.Text})
	}
	return nil
}

// callOf reads a call, its arguments as they were written. No arguments are {}.
func callOf(raw json.RawMessage) (*model.Call, error) {
	var part struct {
		FunctionCall wireCall `json:"functionCall"`
	}
	if err := json.Unmarshal(raw, &part); err != nil {
		return nil, fmt.Errorf("%w: %w", errUnreadable, err)
	}
	c := part.FunctionCall
	args := bytes.TrimSpace(c.Args)
	if len(args) == 0 || string(args) == "null" {
		args = []byte("{}")
	}
	return &model.Call{ID: c.ID, Name: c.Name, Args: wellFormed(args)}, nil
}

// think takes a piece of thoughts; a subject begins a part. It is told as it comes.
func (a *answer) think(subject, text string, emit func(model.Chunk) error) error {
	if subject != "" || a.thought == nil {
		a.begin(model.Part{Subject: subject})
		a.thought = new(strings.Builder)
	}
	a.thought.WriteString(text)
	return emit(model.Chunk{Thought: text, Subject: subject})
}

// flush lets out what the thoughts hold back; then they are over. A call or another kind
// of part shows that no more of a heading comes.
func (a *answer) flush(emit func(model.Chunk) error) error {
	return a.thoughts.end(func(subject, text string) error { return a.think(subject, text, emit) })
}

// begin ends the last part and begins one. Text that follows text goes into the same
// part, so begin is called where the kind changes.
func (a *answer) begin(p model.Part) {
	a.seal()
	a.parts = append(a.parts, p)
}

// seal writes what was gathered into the last part. Afterwards nothing grows.
func (a *answer) seal() {
	if len(a.parts) == 0 {
		return
	}
	last := &a.parts[len(a.parts)-1]
	if a.text != nil {
		last.Text, a.text = a.text.String(), nil
	}
	if a.thought != nil {
		last.Thought, a.thought = a.thought.String(), nil
		if last.Thought == "" {
			// Of a part one thing is set: a heading alone is the thought.
			last.Thought = last.Subject
		}
	}
}

// rate notes the rule of safety that blocked, if one did.
func (a *answer) rate(ratings []*genai.SafetyRating) {
	for _, r := range ratings {
		if r != nil && r.Blocked {
			a.category = string(r.Category)
		}
	}
}

// result returns the answer. It is called once, when the answer is whole. Counts that
// cannot be ones are left out, so that nobody pays by them.
func (a *answer) result() *model.Answer {
	a.seal()
	out := &model.Answer{
		Message:  model.Message{Role: model.Reply, Parts: a.parts, Raw: a.raw.content()},
		Detail:   a.message,
		Version:  a.version,
		Provider: a.id,
	}
	if a.counted && !a.badUsage {
		out.Usage, out.Counted = a.usage, true
	}
	a.classify(out)
	a.cite(out)
	return out
}

// classify sorts how the answer ended (spec 3.3). Reasons that are new to this version
// are Other, with the provider's name as the detail.
func (a *answer) classify(out *model.Answer) {
	reason := string(a.finish)
	blocked := func(why string) {
		out.Finish, out.Blocked = model.Blocked, why
		if a.category != "" {
			out.Blocked = a.category
		}
		if out.Detail == "" {
			out.Detail = why
		}
	}
	if a.refused != "" {
		blocked(a.refused)
		return
	}
	switch a.finish {
	case genai.FinishReasonStop:
		out.Finish = model.Stop
		if !a.says() {
			out.Finish = model.Empty
		}
		return
	case genai.FinishReasonMaxTokens:
		out.Finish = model.Length
	case genai.FinishReasonSafety, genai.FinishReasonRecitation, genai.FinishReasonBlocklist,
		genai.FinishReasonProhibitedContent, genai.FinishReasonSPII:
		blocked(reason)
	case genai.FinishReasonMalformedFunctionCall, genai.FinishReasonUnexpectedToolCall:
		out.Finish = model.Malformed
	default:
		out.Finish = model.Other
		// All reasons about images are refusals, also those that genai has no name for.
		if strings.HasPrefix(reason, "IMAGE_") {
			blocked(reason)
		}
	}
	if out.Detail == "" {
		out.Detail = reason
	}
}

// says reports whether there is a text, a call or data. Thoughts alone say nothing to the
// person.
func (a *answer) says() bool {
	for _, p := range a.parts {
		if p.Call != nil || p.Media != nil || strings.TrimSpace(p.Text) != "" {
			return true
		}
	}
	return false
}

// count takes the counts of a chunk. They grow along a stream, and the last
// chunk may lack some that an earlier one had. The largest of each counts. Chunks without
// counts change nothing.
func (a *answer) count(data json.RawMessage) {
	if data == nil {
		return
	}
	u, ok := countsOf(data)
	if !ok {
		a.badUsage = true
		return
	}
	a.counted = true
	a.usage.InputTokens = max(a.usage.InputTokens, u.InputTokens)
	a.usage.OutputTokens = max(a.usage.OutputTokens, u.OutputTokens)
	a.usage.CachedTokens = max(a.usage.CachedTokens, u.CachedTokens)
	a.usage.ThoughtTokens = max(a.usage.ThoughtTokens, u.ThoughtTokens)
	// A chunk may leave the total out, or tell less than its parts come to.
	a.usage.TotalTokens = max(a.usage.TotalTokens, u.TotalTokens,
		a.usage.InputTokens+a.usage.OutputTokens+a.usage.ThoughtTokens)
}

// maxCount is more tokens than any answer has.
const maxCount = 1 << 30

// countsOf reads usageMetadata, and reports whether its counts can be ones: not
// negative, not absurd, and the prompt is counted (REL-69).
func countsOf(data json.RawMessage) (model.Usage, bool) {
	var w struct {
		Prompt   *float64 `json:"promptTokenCount"`
		Output   float64  `json:"candidatesTokenCount"`
		Cached   float64  `json:"cachedContentTokenCount"`
		Thoughts float64  `json:"thoughtsTokenCount"`
		Total    float64  `json:"totalTokenCount"`
	}
	if json.Unmarshal(data, &w) != nil || w.Prompt == nil {
		return model.Usage{}, false
	}
	for _, n := range []float64{*w.Prompt, w.Output, w.Cached, w.Thoughts, w.Total} {
		if n < 0 || n > maxCount || n != float64(int(n)) {
			return model.Usage{}, false
		}
	}
	return model.Usage{InputTokens: int(*w.Prompt), OutputTokens: int(w.Output), CachedTokens: int(w.Cached),
		ThoughtTokens: int(w.Thoughts), TotalTokens: int(w.Total)}, true
}
