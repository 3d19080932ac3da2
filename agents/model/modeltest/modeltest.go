// Package modeltest is what every [model.Model] must do, as a test suite: run
// it in the tests of a provider.
//
// The suite does not know a provider's wire. It says in its own words what the
// provider answers ([Answer]); a [Harness] makes a server of that, a model that
// talks to it, and tells what the model sent. So the suite holds for the real
// client code, down to its connections.
package modeltest

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentls/agentls/agents/model"
)

// Harness is how the suite gets a provider.
type Harness struct {
	// New returns a model whose provider gives the answers, one for each
	// request. It cleans up with t.Cleanup.
	New func(t testing.TB, answers ...Answer) Subject
	// ID is the id of a model that thinks, for the requests.
	ID string
	// IdleTimeout is how long the model waits for a stream that stalls,
	// HeaderTimeout for an answer to begin. They are tried only in a bubble.
	IdleTimeout, HeaderTimeout time.Duration
	// Bubble runs each test in a bubble of testing/synctest: for a harness
	// without sockets.
	Bubble bool
}

// Subject is a model under test.
type Subject struct {
	Model model.Model
	// Sent returns the requests that the provider has received.
	Sent func() []Sent
	// Idle returns when no request is being answered and the model holds no
	// connection.
	Idle func()
}

// Sent is a request as the provider received it.
type Sent struct {
	Body       []byte
	Signatures []string // of the parts that have one, in order
	Results    []Result // of calls, in order, with the provider's ids
	Tools      []string
	System     string
	Media      []string // the types of data that is not text
}

// Result is the result of a call as a provider gets it.
type Result struct {
	ID, Name, Content string
	Error             bool
}

// Answer is what a provider answers.
type Answer struct {
	Pieces []Piece // chunks of the stream; calls that follow each other may be one
	// Finish is why the answer ends; "" is model.Stop. With Silent it ends in
	// an orderly way without saying why.
	Finish model.Finish
	Silent bool
	// Category is the safety rule of model.Blocked.
	Category string
	// Usage is what the provider counts; nil = it does not.
	Usage *model.Usage
	// Then is what happens after the pieces, instead of an end.
	Then Then
	// Fault is the error that is answered instead of all that.
	Fault Fault
	// RetryAfter goes with a Fault.
	RetryAfter time.Duration
}

// Piece is a chunk: a text, a thought with or without a subject, or a call.
type Piece struct {
	Text      string
	Thought   string
	Subject   string
	Call      *model.Call
	Signature string // base64
}

// Then is what happens to a stream that does not end.
type Then string

// The ways for a stream not to end.
const (
	Cut       Then = "cut"       // the connection breaks within a chunk
	CutRune   Then = "cut rune"  // … within a rune
	Drop      Then = "drop"      // the connection breaks before any answer
	Hang      Then = "hang"      // nothing more comes
	Silence   Then = "silence"   // not even headers come
	Heartbeat Then = "heartbeat" // only what keeps a connection alive comes
)

// Fault is an error of a provider.
type Fault string

// The errors of a provider, and their classes.
const (
	RateLimit    Fault = "rate limit"     // Busy: 429
	Overloaded   Fault = "overloaded"     // Busy: 503
	ServerError  Fault = "server error"   // Busy: 500
	DailyQuota   Fault = "daily quota"    // Fatal: 429
	BadKey       Fault = "bad key"        // Unauthorized
	NotPermitted Fault = "not permitted"  // Fatal: 403, for another reason than the key
	BadRequest   Fault = "bad request"    // Fatal: 400
	NotFound     Fault = "not found"      // Fatal: 404
	TooLarge     Fault = "too large"      // Fatal: 413
	ClientClosed Fault = "client closed"  // Fatal: 499
	Midway       Fault = "error midway"   // Cut: an error in the stream, after Pieces
	Unreachable  Fault = "no such server" // Busy: no connection
)

// Run runs the suite.
func Run(t *testing.T, h Harness) {
	for _, test := range tests() {
		t.Run(test.name, func(t *testing.T) {
			if test.bubble && !h.Bubble {
				t.Skip("waits for minutes: only in a bubble")
			}
			s := &suite{Harness: h}
			if h.Bubble {
				synctest.Test(t, func(t *testing.T) { test.run(t, s) })
				return
			}
			leaks(t)
			test.run(t, s)
		})
	}
}

type suite struct{ Harness }

type test struct {
	name   string
	bubble bool // it waits for long
	run    func(*testing.T, *suite)
}

func tests() []test {
	return []test{
		{"Text", false, text},
		{"Thoughts", false, thoughts},
		{"CallsAndSignaturesComeBack", false, calls},
		{"MediaAndSystemAreSent", false, media},
		{"REL55CutIsAnErrorNotAnAnswer", false, cut},
		{"REL57EndsThatAreNone", false, ends},
		{"REL59REL60Finish", false, finish},
		{"REL69Usage", false, usage},
		{"REL51REL52REL53Classes", false, classes},
		{"REL56Stalls", true, stalls},
		{"REL65NoHeaders", true, noHeaders},
		{"REL127CancelWithinASecond", false, cancel},
		{"CancelledBefore", false, cancelledBefore},
		{"BreakLeavesNothing", false, leave},
		{"PanicOfTheLoopGoesOn", false, panics},
		{"RequestIsShared", false, shared},
	}
}
