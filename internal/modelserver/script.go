package modelserver

import (
	"encoding/json"
	"time"
)

// A Script is what a [Server] plays. It does not change and may be shared.
type Script struct {
	sections []section // the first has no conditions: the steps before any "# when"
}

// section is a conversation of its own: its steps are played in their order, whatever becomes of
// the others.
type section struct {
	line  int // where it begins; 0 for the first
	when  []condition
	steps []step
}

// condition is a line "# when".
type condition struct {
	field string // system, model, input, history, tool
	text  string
	not   bool
}

// step is one request and its answer.
type step struct {
	line    int
	expects []expect
	actions []action
	status  *status // an error in place of the answer
	manner
}

// expect is a line that begins with >; field says which others count.
type expect struct {
	line  int
	not   bool
	field string // text, system, history, tool, result, result-error, call, media, model, body, messages
	name  string // of a tool
	text  string
	n     int
}

// status is an answer that is an error: body is the JSON of the real API's error.
type status struct {
	code       int
	body       json.RawMessage
	retryAfter string
}

// action is one thing that an answer does; kind says which fields count.
type action struct {
	kind     kind
	parts    []json.RawMessage // chunk
	finish   string            // chunk: "" = none
	message  string
	usage    json.RawMessage
	feedback string
	raw      json.RawMessage // rawChunk
	bytes    []byte          // rawBytes
	text     string          // repeat, gate, cut
	n        int             // repeat, long
	d        time.Duration   // pause, heartbeat
}

// kind is what an action does.
type kind uint8

const (
	chunk kind = iota
	repeat
	long
	rawChunk
	rawBytes
	cut
	hang
	heartbeat
	headers
	pause
	gate
)

// Steps returns how many steps the script has, in all sections.
func (s *Script) Steps() int {
	n := 0
	for _, sec := range s.sections {
		n += len(sec.steps)
	}
	return n
}

// Join returns the scripts as one: the steps before their sections after each
// other, then all sections in order. Steps of sections stay with their sections, also
// where two have the same conditions: then those of the first alone are played.
func Join(scripts ...*Script) *Script {
	all := &Script{sections: make([]section, 1)}
	for _, s := range scripts {
		all.sections[0].steps = append(all.sections[0].steps, s.sections[0].steps...)
		all.sections = append(all.sections, s.sections[1:]...)
	}
	return all
}
