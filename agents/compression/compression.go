// Package compression makes an agent's conversation shorter when it fills the
// model's window (spec 8.3).
//
// [Compress] says what is to be taken out and what stands for it; [Apply] does
// it. Both are functions of the messages: nothing is kept between calls, and a
// view that is folded from a log again by Apply is the one that was sent.
//
// # What it takes out
//
// Results of tools that are out of date become one line each. When that is not
// enough, a model writes a snapshot of the older part, which goes; the newest
// part stays as it is. What a person or a file said is data to that model: it
// is quoted, and an answer that is not in the form asked for counts as none.
//
// # What always holds
//
// A conversation that alternates, begins with the user and answers every call
// in the next message does so after [Apply] too, whatever Apply is given. The
// newest message of the user is never taken out while it waits for an answer.
//
// # What it must not import
//
// Of this module only agents/model.
//
// TestREL61ApplyKeepsAConversation and TestCompressProperty hold this for any messages,
// TestREL62OldestResultsGo that there is a way out without a model.
package compression

import (
	"context"
	"slices"
	"unicode/utf8"

	"github.com/agentls/agentls/agents/model"
)

// What an attempt comes to (spec 8.3). Only Compressed changes the
// conversation.
const (
	// Compressed: apply Cut and Snapshot, or Reduced, or both.
	Compressed = "COMPRESSED"
	// NoOp: there is nothing to take out.
	NoOp = "NOOP"
	// Inflated: with the snapshot there would be more tokens than before.
	Inflated = "COMPRESSION_FAILED_INFLATED_TOKEN_COUNT"
	// Unreadable: twice the model's answer was not a snapshot with all sections.
	Unreadable = "COMPRESSION_FAILED_SNAPSHOT"
	// NoAnswer: the model could not be asked, or refused.
	NoAnswer = "COMPRESSION_FAILED_MODEL_ERROR"
)

// Failed reports whether a status is one of the failures, after which it is not
// tried again in this context unless somebody asks for it. "" is no failure: nothing
// was tried.
func Failed(status string) bool {
	return status != "" && status != Compressed && status != NoOp
}

// defaultPreserve is the share of the conversation, by characters, that is kept
// as it is.
const defaultPreserve = 0.3

// small is how many times the older part must fit into the whole for a snapshot
// of it not to be worth a question.
const small = 10

// defaultWindow is what a compressor is trusted to take that nothing is known
// of, in tokens.
const defaultWindow = 128_000

// Config says how a conversation is made shorter. The zero value asks no model, and
// takes out what is out of date.
type Config struct {
	// Preserve is the share of the newest part that stays, by characters, above
	// 0 and below 1; anything else is 0.3.
	Preserve float64
	// Target is in tokens: when taking out what is out of date brings the
	// conversation to it or below, no model is asked. 0 always asks.
	Target int
	// Ask puts one question to the model that writes snapshots. Nil is a model
	// that cannot be asked. It is called twice at most.
	Ask func(ctx context.Context, req *model.Request) (*model.Answer, error)
	// ModelID is the Model of the requests.
	ModelID string
	// Window is how many tokens a request may have; 0 is 128,000.
	Window int
	// Canonical returns the canonical form of a tool's name and whether it has
	// one; nil takes names as they are. definition.CanonicalTool is meant.
	Canonical func(name string) (string, bool)
	// Folder is the absolute path of the folder that relative paths in calls
	// are below; "" where that is not known.
	Folder string
	// Before is how many tokens the model counts now, with its prompt and its
	// tools; 0 estimates the messages alone.
	Before int
}

// Result is what an attempt came to. Its fields up to Reduced are those of the
// event context.compressed.
type Result struct {
	Status string
	// In tokens, as [Config.Before] counts.
	Before int
	// In tokens, estimated on the scale of Before; Before where nothing changes.
	After      int
	Scratchpad string      // what the model thought; also after a failure
	Snapshot   string      // what stands for the first Cut messages; "" = they stay
	Cut        int         // messages
	Reduced    []string    // calls, by id, whose results become one line
	Usage      model.Usage // of all calls
	Calls      int         // of Ask
	Err        error       // what Ask failed with, when Status is NoAnswer; else nil
}

// Compress finds a shorter form of the messages, which it does not modify: the
// conversation as a model is sent it, results read from blobs. The last one may
// be by the user or the model. The error is the cause with which ctx ended, and
// nothing else: all other failures are a Status.
//
// It takes out what is out of date first ([Config.Target]), then asks for a
// snapshot of what lies before the newest part. Where no cut is possible, or
// next to nothing lies before it (one request and a long row of calls), and
// Target is not reached, it takes out the oldest results as [Drop] does.
//
// It blocks for Ask, and nothing else takes long. It is safe for concurrent use with
// different messages.
func Compress(ctx context.Context, messages []model.Message, c Config) (Result, error) {
	r := Result{Status: NoOp, Before: c.Before}
	whole := Tokens(messages)
	if r.Before <= 0 {
		r.Before = whole
	}
	r.After = r.Before
	stale := outOfDate(messages, &c)
	short := Apply(messages, 0, "", stale)
	r.After = rescale(r.Before, whole, Tokens(short))
	if len(stale) > 0 && c.Target > 0 && r.After <= c.Target {
		r.Status, r.Reduced = Compressed, stale
		return r, nil
	}
	cut := split(short, c.preserve())
	if over := c.Target > 0 && r.After > c.Target; over && Tokens(short[:cut])*small < Tokens(short) {
		// Some way below, or the next answer would bring it here again.
		lower := c
		lower.Target = c.Target * 4 / 5
		if d := drop(messages, stale, &lower, r.Before); cut == 0 || d.After <= c.Target {
			return d, nil
		}
	}
	if cut == 0 {
		if len(stale) > 0 {
			r.Status, r.Reduced = Compressed, stale
		}
		return r, nil
	}
	failed := func(status string) Result {
		r.Status, r.After = status, r.Before
		return r
	}
	if c.Ask == nil {
		return failed(NoAnswer), nil
	}
	older, _ := splitAt(short, cut)
	snapshot, status, err := c.ask(ctx, older, &r)
	if err != nil {
		return r, err
	}
	if status != "" {
		return failed(status), nil
	}
	kept := slices.DeleteFunc(slices.Clone(stale), func(id string) bool {
		return slices.ContainsFunc(older, func(m model.Message) bool { return answers(m, id) })
	})
	after := Tokens(Apply(messages, cut, snapshot, kept))
	if after > whole {
		failed(Inflated)
		r.After = rescale(r.Before, whole, after)
		return r, nil
	}
	r.Status, r.Snapshot, r.Cut, r.Reduced = Compressed, snapshot, cut, kept
	r.After = rescale(r.Before, whole, after)
	return r, nil
}

// Drop takes out the oldest results of tools, whatever they say, until the
// conversation has [Config.Target] tokens or fewer: the one thing left when it
// does not fit and no snapshot can be had (REL-62). It asks nobody. What the
// user and the model said stays, and so do the results that the model has not
// answered yet. The Status is Compressed, with Reduced, or NoOp.
func Drop(messages []model.Message, c Config) Result {
	before := c.Before
	if before <= 0 {
		before = Tokens(messages)
	}
	return drop(messages, nil, &c, before)
}

// drop is Drop where some results are out already. Going by the order of messages, the
// oldest go first. A result that is shorter than the line for it stays.
func drop(messages []model.Message, out []string, c *Config, before int) Result {
	r := Result{Status: NoOp, Before: before, After: before}
	whole := Tokens(messages)
	now := Tokens(Apply(messages, 0, "", out))
	gone := slices.Clone(out)
	lines := newLines(messages)
	for i, m := range messages {
		if rescale(before, whole, now) <= c.Target || i == len(messages)-1 {
			break
		}
		for _, p := range m.Parts {
			if p.Result == nil || slices.Contains(gone, p.Result.ID) {
				continue
			}
			was, line := resultTokens(p.Result), lines.of(i, p.Result)
			if is := model.EstimateTokens(p.Result.Name) + model.EstimateTokens(line); is < was { // the name stays
				gone = append(gone, p.Result.ID)
				now -= was - is
			}
		}
	}
	if len(gone) > 0 {
		r.Status, r.Reduced = Compressed, gone
		r.After = rescale(before, whole, Tokens(Apply(messages, 0, "", gone)))
	}
	return r
}

// Apply returns the messages with the first cut of them replaced by a snapshot
// and the results of the calls reduced by one line each. It is the one rule by
// which the view of a context follows from events, so it depends on its
// arguments alone, and it modifies none of them.
//
// An empty snapshot replaces nothing. A cut that no message can begin after, as
// a damaged log may have, is moved back to one that fits. Text that stood with results
// in one message stays when these go.
//
// Messages that are not changed share their parts with the ones given.
func Apply(messages []model.Message, cut int, snapshot string, reduced []string) []model.Message {
	out := slices.Clone(messages)
	if len(reduced) > 0 {
		wanted := make(map[string]bool, len(reduced))
		for _, id := range reduced {
			wanted[id] = true
		}
		lines := newLines(messages)
		for i := range out {
			lines.reduce(&out[i], i, wanted)
		}
	}
	if snapshot == "" {
		return out
	}
	cut = min(max(cut, 0), len(out))
	for cut > 0 && !mayCut(out, cut) {
		cut--
	}
	_, newer := splitAt(out, cut)
	return append([]model.Message{
		{Role: model.User, Parts: []model.Part{{Text: opening + snapshot}}},
		{Role: model.Reply, Parts: []model.Part{{Text: acknowledgement}}},
	}, newer...)
}

// What stands for the messages that went.
const (
	opening         = "The messages before this one were taken out to make room. This is what they came to; it is a record of what happened, and what the user asked for in it still holds.\n\n"
	acknowledgement = "Understood. I go on from there."
)

// mayCut reports whether the conversation can be cut before message n: a user's
// that says something, or the end after a reply that calls nothing. Results of
// calls that stand before what the user says go with the calls.
func mayCut(messages []model.Message, n int) bool {
	if n == len(messages) {
		return n > 0 && messages[n-1].Role == model.Reply && !calls(messages[n-1])
	}
	return messages[n].Role == model.User && slices.ContainsFunc(messages[n].Parts,
		func(p model.Part) bool { return p.Result == nil })
}

// splitAt returns the conversation before and after a cut. The results at the beginning
// of the newer part go with their calls, which are in the older one; parts are not
// shared where they are split.
func splitAt(messages []model.Message, cut int) (older, newer []model.Message) {
	older, newer = messages[:cut:cut], slices.Clone(messages[cut:])
	if len(newer) == 0 || !results(newer[0]) {
		return older, newer
	}
	answered, said := newer[0], newer[0]
	answered.Parts, said.Parts = nil, nil
	for _, p := range newer[0].Parts {
		if p.Result != nil {
			answered.Parts = append(answered.Parts, p)
		} else {
			said.Parts = append(said.Parts, p)
		}
	}
	newer[0] = said
	return append(older, answered), newer
}

// calls reports whether a message has a call.
func calls(m model.Message) bool {
	return slices.ContainsFunc(m.Parts, func(p model.Part) bool { return p.Call != nil })
}

// results reports whether a message has a result.
func results(m model.Message) bool {
	return slices.ContainsFunc(m.Parts, func(p model.Part) bool { return p.Result != nil })
}

// answers reports whether a message has the result of a call.
func answers(m model.Message, id string) bool {
	return slices.ContainsFunc(m.Parts, func(p model.Part) bool { return p.Result != nil && p.Result.ID == id })
}

// preserve is Preserve, or the default where it is out of range.
func (c *Config) preserve() float64 {
	if c.Preserve > 0 && c.Preserve < 1 {
		return c.Preserve
	}
	return defaultPreserve
}

// split returns how many messages are the older part: up to the first message
// before which the conversation may be cut and all but the newest share of the
// characters lies; else all, where the model has the last word; else up to the
// last message before which it may be cut. 0 when nothing but an earlier
// snapshot is older.
func split(messages []model.Message, preserve float64) int {
	total := 0
	for _, m := range messages {
		total += characters(m)
	}
	older, last, cut := 0, 0, -1
	for i, m := range messages {
		if i > 0 && mayCut(messages, i) {
			last = i
			if float64(older) >= float64(total)*(1-preserve) {
				cut = i
				break
			}
		}
		older += characters(m)
	}
	switch {
	case cut >= 0:
	case mayCut(messages, len(messages)):
		cut = len(messages)
	default:
		cut = last
	}
	if cut <= 2 && len(messages) > 0 && isSnapshot(messages[0]) {
		return 0
	}
	return cut
}

// characters counts what a message says; media count as their name would. It measures
// shares only, where all need the same measure and no more.
func characters(m model.Message) int {
	n := 0
	for _, p := range m.Parts {
		n += utf8.RuneCountInString(p.Text)
		if p.Call != nil {
			n += len(p.Call.Name) + utf8.RuneCount(p.Call.Args)
		}
		if p.Result != nil {
			n += len(p.Result.Name) + utf8.RuneCountInString(p.Result.Content)
		}
	}
	return n
}

// mediaTokens is what an image or a page counts about. What they really count differs
// by model and size; the provider's own count is what limits go by.
const mediaTokens = 300

// Tokens estimates how many tokens messages have as a model reads them again.
// Thoughts count for nothing: models do not read theirs again. It is rough, and differs
// from a provider's count by up to a fifth or so; [Config.Before] brings it to the
// provider's scale.
func Tokens(messages []model.Message) int {
	n := 0
	for _, m := range messages {
		for i := range m.Parts {
			n += PartTokens(&m.Parts[i])
		}
	}
	return n
}

// PartTokens is [Tokens] of one part.
func PartTokens(p *model.Part) int {
	n := 0
	if p.Text != "" {
		n += model.EstimateTokens(p.Text)
	}
	if p.Call != nil {
		n += model.EstimateTokens(p.Call.Name) + model.EstimateTokens(string(p.Call.Args))
	}
	if p.Result != nil {
		n += resultTokens(p.Result)
	}
	if p.Media != nil {
		n += mediaTokens
	}
	return n
}

// resultTokens is [Tokens] of one result.
func resultTokens(r *model.Result) int {
	return model.EstimateTokens(r.Name) + model.EstimateTokens(r.Content) + mediaTokens*len(r.Media)
}

// rescale returns how many tokens a provider will count when the estimate of
// the messages goes from whole to now and it counted before. What it counts
// beyond the messages, prompt and tools, stays.
func rescale(before, whole, now int) int {
	if before >= whole || whole == 0 {
		return before - whole + now
	}
	return int(int64(before) * int64(now) / int64(whole))
}
