// Package model is what the daemon asks of a language model, and nothing that
// is peculiar to one vendor's.
//
// A provider is a sub-package that implements [Model]: gemini, over
// google.golang.org/genai. modeltest holds what every one of them must do.
//
// # Parts and raw form
//
// A conversation is a list of [Message] values. What a model said is kept
// twice: as [Part] values, which everybody reads, and as Raw, the provider's
// own form, which is opaque and goes back to that provider byte for byte
// (signatures of thoughts: spec 3.6).
//
// # Errors
//
// A provider reports failures as *[Error]. It does not retry: the run does,
// since a person is told of each attempt (spec 3.3). How often they may, all
// runs that ask with one key share: [Retries].
//
// The package imports nothing of this module.
package model

import (
	"context"
	"encoding/json"
	"iter"
)

// A Model turns a conversation into the next message of it.
//
// Safe for concurrent use: one value answers all runs with a key.
type Model interface {
	// Generate streams one answer. It yields chunks as they arrive; the last
	// chunk of a complete answer, and no other, has Answer set. An error is
	// yielded at most once, last, and is an *Error or the context's error. An
	// answer that was cut is an error, never an Answer.
	//
	// The stream stops within a second of ctx being done and when the loop
	// stops, and leaves no goroutine or connection behind. The request is not
	// modified and may be shared.
	Generate(ctx context.Context, req *Request) iter.Seq2[Chunk, error]
}

// A Searcher is a Model that can search the web while it answers
// ([Options.Search]).
type Searcher interface {
	Model
	// Searches reports whether the model of that id can.
	// It answers from what is known, without asking the provider.
	Searches(id string) bool
}

// An Embedder is a Model that can also make vectors of texts.
type Embedder interface {
	Model
	// Embed returns the vector of a text, which is the caller's. It waits for the
	// network and heeds ctx. The error is an *Error or the context's.
	Embed(ctx context.Context, req *Embedding) ([]float32, error)
}

// Embedding asks for the vector of a text.
type Embedding struct {
	Model     string // an id, resolved
	Text      string
	Dimension int  // how long the vector is to be; 0 = the model's own
	Query     bool // it is compared with vectors of texts that are kept
}

// Request is one question to a model.
//
// Whoever makes one must not change it while a stream of it goes on, nor what it
// points to.
type Request struct {
	Model    string    // an id, resolved: neither an alias nor "inherit"
	System   string    // the system prompt
	Messages []Message // alternating, the first and the last by the user
	// What the model may call; in a fixed order, so that a provider's cache of the
	// prompt holds. None with Options.Search.
	Tools   []Declaration
	Options Options
	Asker   Asker // who asks; providers send nothing of it
}

// Asker says who asks a model, and what for.
type Asker struct {
	// The run that asks; "" outside of runs.
	Run string
	// The agent that asks.
	Agent   string
	Purpose string // "" = a turn of the agent's; route, summary, correction, search, aside
	Call    string // the tool's call that asks; "" = none
}

// Options are what an agent says about how the model answers. The zero value
// leaves all to the model.
type Options struct {
	// Nil leaves it to the model.
	Temperature *float64
	// 0 to 1; nil leaves it to the model.
	TopP           *float64
	ThinkingBudget *int   // tokens; -1 = unlimited
	ThinkingLevel  string // minimal, low, medium, high; "" = the model's
	MaxOutput      int    // tokens; 0 = the model's
	Search         bool   // the model may search the web before it answers; only of a [Searcher], and without Tools
}

// Declaration is a tool as a model is offered it.
type Declaration struct {
	Name        string          // as the model calls it
	Description string          // what it does, for the model
	Parameters  json.RawMessage // JSON Schema of the arguments: an object
}

// Role says who speaks.
type Role string

// The roles. Results of tools are the user's.
const (
	// What the person says, and what tools give.
	User Role = "user"
	// What the model says.
	Reply Role = "model"
)

// Message is one message of a conversation.
//
// Where Raw is set, the i-th part of Parts with a Call is the i-th call in Raw,
// so the ids in Parts may be changed (the run puts its own there) and nothing
// else of Parts may: a provider sends Raw as it is, and a [Result] whose ID is
// that of a Call in Parts goes back under the id and name that this call has in
// Raw. Without Raw, or with one that another provider wrote, a provider builds
// its form from Parts and uses their ids.
type Message struct {
	Role  Role            `json:"role"`
	Parts []Part          `json:"parts"`
	Raw   json.RawMessage `json:"raw,omitempty"` // the provider's own form of what a model said
}

// Part is a piece of a message: exactly one of Text, Thought, Call, Result and
// Media is set.
type Part struct {
	Text    string  `json:"text,omitempty"`
	Thought string  `json:"thought,omitempty"`
	Subject string  `json:"subject,omitempty"` // of a thought
	Call    *Call   `json:"call,omitempty"`
	Result  *Result `json:"result,omitempty"`
	Media   *Media  `json:"media,omitempty"`
}

// Call asks for a tool.
type Call struct {
	ID   string          `json:"id"`   // ours, "<run>#<turn>-<index>", once the run has numbered it; the provider's stays in Raw
	Name string          `json:"name"` // as the model wrote it
	Args json.RawMessage `json:"args"` // a JSON object
}

// Result is what came of a call, as a model is told.
type Result struct {
	ID string `json:"id"` // of the call
	// The tool that was called, as in the call.
	Name string `json:"name"`
	// What the model reads, also of a failure.
	Content string `json:"content"`
	// Content tells a failure.
	Error bool   `json:"error,omitempty"`
	Blob  string `json:"blob,omitempty"` // SHA-256 of the whole, where Content is cut or kept apart
	// Media are images and documents that came of the call besides. A provider
	// sends them with the result, or after the results of the message.
	Media []Media `json:"media,omitempty"`
}

// Media is data that is not text.
type Media struct {
	// As image/png or application/pdf.
	MimeType string `json:"mimeType"`
	Blob     string `json:"blob,omitempty"` // SHA-256 of the data in the session's blobs
	Data     []byte `json:"-"`              // the data itself, where it is at hand
}

// Chunk is a piece of an answer as it comes.
type Chunk struct {
	Text    string  // for the user; concatenate
	Thought string  // a summary of what the model thinks; concatenate
	Subject string  // of Thought, where the provider tells one
	Answer  *Answer // the whole, in the last chunk
}

// Answer is a complete answer.
//
// It belongs to whoever got it from the stream, who may change it: the run puts
// its own ids into the calls.
type Answer struct {
	Message Message // Role Reply; the calls' ids are the provider's or ""
	// Why it ended; never "".
	Finish  Finish
	Blocked string // the category, when Finish is Blocked
	Detail  string // the provider's own words on how it finished; may be ""
	// What it used; zero, with Counted false, where the provider does not tell.
	Usage    Usage
	Counted  bool   // Usage came from the provider
	Version  string // of the model, as the provider names it; may be ""
	Provider string // the id of the answer at the provider; may be ""

	// Sources are the pages that an answer with [Options.Search] is made of. The
	// text of such an answer names them as [1], [2], where the provider says which
	// sentence is from which page.
	Sources []Source
}

// Source is a page of the web.
type Source struct{ Title, URL string }

// Finish says why an answer ended.
type Finish string

// The ways an answer ends.
const (
	Stop      Finish = "stop"      // the model had finished
	Length    Finish = "length"    // the limit of output tokens: the text is cut, calls are not complete
	Blocked   Finish = "blocked"   // a safety rule of the provider; see Answer.Blocked
	Malformed Finish = "malformed" // the model wrote a call that its provider could not read
	Empty     Finish = "empty"     // neither text nor a call
	Other     Finish = "other"     // a reason that we do not know; see Answer.Detail
)

// Usage counts the tokens of an answer, or of several. Thought tokens are not
// part of OutputTokens; cached ones are part of InputTokens.
//
// All are counts of tokens and never negative in an answer that is believed;
// whoever reads a provider's numbers checks that.
type Usage struct {
	// What was sent: prompt, tools and conversation; cached ones too.
	InputTokens int `json:"inputTokens"`
	// What came as text and calls.
	OutputTokens int `json:"outputTokens"`
	// Those of the input that the provider had cached.
	CachedTokens int `json:"cachedTokens"`
	// What the model thought; priced as output.
	ThoughtTokens int `json:"thoughtTokens"`
	// The provider's own sum.
	TotalTokens int `json:"totalTokens"`
}

// Add returns the sum of u and v.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		InputTokens:   u.InputTokens + v.InputTokens,
		OutputTokens:  u.OutputTokens + v.OutputTokens,
		CachedTokens:  u.CachedTokens + v.CachedTokens,
		ThoughtTokens: u.ThoughtTokens + v.ThoughtTokens,
		TotalTokens:   u.TotalTokens + v.TotalTokens,
	}
}
