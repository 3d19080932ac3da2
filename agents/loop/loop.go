// Package loop notices that a run goes round in circles (spec 8.4): the same
// call again and again, a cycle of calls, the same text.
//
// It judges what was asked and what came of it, never what a file holds now:
// small different edits to one file are different calls, and so is polling
// whose result changes. Arguments that grow or count up ("page 1", "page 2")
// are no repetition either; what bounds those are the limits of a run on turns,
// time, tokens and money (spec 3.3).
//
// # Use
//
// A run has one [Detector]. After each batch of calls it is given these
// ([Detector.Calls]), after each answer its text ([Detector.Text]); while an answer
// comes, a [Stream] says whether it need be read any longer. What is done about a
// [Finding] (the model is told, the person asked, the run ended LOOP) is the run's
// business. The package keeps nothing but what a Detector holds, and imports nothing of
// this module.
//
// TestREL121AgreesWithItsDefinition compares it with a slow form of the rules,
// TestREL121NoFalseAlarm and TestREL121NoFalseAlarmInProse hold what must not be found.
package loop

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// The kinds of findings.
const (
	KindCall  = "call"  // one call, the same each time
	KindCycle = "cycle" // several calls, in the same order each time
	KindText  = "text"  // a piece of text
)

// The counts of spec 8.4.
const (
	toldCalls = 3 // same calls with the same result in a row, of which the model is told
	endCalls  = 5 // the same, that end it
	minCycle  = 2 // calls in a cycle
	maxCycle  = 7
	endRounds = 3 // rounds of a cycle that end it
)

// remembered is how many calls a detector looks back: the rounds of the longest
// cycle and some more, so that a finding can say how many rounds it were.
const remembered = 64

// maxArgs is how large arguments are at most that any tool takes, in bytes. Larger ones
// are compared as bytes.
const maxArgs = 1 << 20

// Finding is one thing that a run repeats.
type Finding struct {
	Kind  string // call, cycle, text
	Count int    // times in a row; rounds of a cycle
	// What is repeated, in words, for a person and the model: one line, without control characters,
	// some hundred characters at most.
	What string
	End  bool // the run is to stop, or the person asked; false: the model is told
}

// Call is one call that ended.
type Call struct {
	Name string          // of the tool
	Args json.RawMessage // compared by meaning: neither order of keys, blanks nor the spelling of a number count
	// What the model got, whole or as it was cut; kept as a digest only.
	Result string
	Failed bool // Result is an error; a failure is a result like others
}

// Detector watches one run. The zero Detector is ready. It is not safe for
// concurrent use. What it holds is bounded, however long the run is.
type Detector struct {
	// Digests, so that a long run with large results costs no memory.
	calls []step // the last ones, oldest first, at most remembered
	row   int    // how many of the last calls are the same

	spoken []byte // what text is compared with, normalized, at most maxSpoken bytes
	warned bool   // the model was told that it repeats text
}

// step is a call as it is compared.
type step struct {
	asked  [sha256.Size]byte // of tool and arguments
	got    [sha256.Size]byte // of the result
	called string            // the tool, for people
}

// same reports whether two calls asked for the same and got the same.
func (s step) same(t step) bool { return s.asked == t.asked && s.got == t.got }

// Calls takes the calls of one batch, in call order, after all have ended, and
// returns what they repeat: at most one finding for each of "call" and "cycle",
// the gravest.
//
// The same call with the same result is told when it is the third in a row, and
// ends the run from the fifth on; a cycle of two to seven calls with the same
// results ends it from its third round on. What goes on after an end is found
// again with each call, until [Detector.Reset].
func (d *Detector) Calls(calls []Call) []Finding {
	var call, cycle *Finding
	for _, c := range calls {
		f := d.call(c)
		if f != nil && (call == nil || f.End || !call.End) {
			call = f
		}
		if f := d.cycle(); f != nil {
			cycle = f
		}
	}
	var out []Finding
	for _, f := range []*Finding{call, cycle} {
		if f != nil {
			out = append(out, *f)
		}
	}
	return out
}

// Reset forgets everything: a person said that it is to go on, or spoke. Nothing that
// was said or done before counts afterwards.
func (d *Detector) Reset() { *d = Detector{} }

// call remembers one call and judges the streak that it belongs to. A call that is new
// also ends what text is compared with.
func (d *Detector) call(c Call) *Finding {
	s := step{asked: digest(c.Name, meaning(c.Args)), got: digest(strconv.FormatBool(c.Failed), []byte(c.Result)),
		called: plain(c.Name)}
	if !slices.ContainsFunc(d.calls, s.same) {
		d.spoken = nil // it got on: saying the same before each of many different calls is a habit, not a loop
	}
	if n := len(d.calls); n == 0 || !d.calls[n-1].same(s) {
		d.row = 0
	}
	d.row++
	if len(d.calls) == remembered {
		d.calls = d.calls[:copy(d.calls, d.calls[1:])]
	}
	d.calls = append(d.calls, s)
	if d.row != toldCalls && d.row < endCalls {
		return nil
	}
	return &Finding{
		Kind: KindCall, Count: d.row, End: d.row >= endCalls,
		What: fmt.Sprintf("%s with the same arguments and the same result, %d times in a row", plain(c.Name), d.row),
	}
}

// cycle returns the cycle that the last call closes a round of, if any. The shortest
// cycle is looked for first.
func (d *Detector) cycle() *Finding {
	for p := minCycle; p <= maxCycle; p++ {
		rounds := d.rounds(p)
		if rounds < endRounds {
			continue
		}
		last := d.calls[len(d.calls)-p:]
		if folds(last) {
			continue // one call, or a smaller cycle, whose results change: polling
		}
		names := make([]string, p)
		for i, s := range last {
			names[i] = s.called
		}
		return &Finding{
			Kind: KindCycle, Count: rounds, End: true,
			What: fmt.Sprintf("a cycle of %d calls (%s) with the same arguments and the same results, %d times round",
				p, strings.Join(names, ", "), rounds),
		}
	}
	return nil
}

// rounds returns how many times the last p calls were made one after the other. A round
// that has begun and not ended is not counted.
func (d *Detector) rounds(p int) int {
	i := len(d.calls) - 1
	for i >= p && d.calls[i].same(d.calls[i-p]) {
		i--
	}
	return (len(d.calls) - 1 - i + p) / p
}

// folds reports whether what was asked for in a round is itself a smaller round
// several times. By what was asked alone: with other results each time it is polling,
// and with the same ones the smaller round was found before.
func folds(round []step) bool {
	for q := 1; q <= len(round)/2; q++ {
		if len(round)%q != 0 {
			continue
		}
		again := true
		for i := q; i < len(round) && again; i++ {
			again = round[i].asked == round[i-q].asked
		}
		if again {
			return true
		}
	}
	return false
}

// digest returns the SHA-256 of two things; where one ends counts.
func digest(a string, b []byte) [sha256.Size]byte {
	h := sha256.New()
	_, _ = fmt.Fprintf(h, "%d:%s", len(a), a) // a hash takes everything
	_, _ = h.Write(b)
	return [sha256.Size]byte(h.Sum(nil))
}

// meaning returns arguments in the one form that all spellings of them have.
// What is no JSON stands for itself, and so do arguments that no tool takes.
func meaning(args json.RawMessage) []byte {
	args = bytes.TrimSpace(args)
	if len(args) == 0 {
		return []byte("{}")
	}
	if len(args) > maxArgs {
		return args
	}
	dec := json.NewDecoder(bytes.NewReader(args))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return args
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return args
	}
	if v == nil {
		return []byte("{}")
	}
	out, err := json.Marshal(numbers(v))
	if err != nil {
		return args
	}
	return out
}

// numbers returns a decoded value with one spelling for each number. It changes v in
// place. 1, 1.0 and 1e0 become one.
func numbers(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			v[k] = numbers(e)
		}
	case []any:
		for i, e := range v {
			v[i] = numbers(e)
		}
	case json.Number:
		// Rounded to nothing, or to more than this, a short text is a number
		// that fills the memory; it stands for itself.
		if f, err := v.Float64(); err == nil && len(v) < 64 &&
			((math.Abs(f) > 1e-30 && math.Abs(f) < 1e30) || !strings.ContainsAny(string(v), "eE")) {
			if r, ok := new(big.Rat).SetString(string(v)); ok {
				return json.Number(r.FloatString(100))
			}
		}
	}
	return v
}

// maxPlain is how many characters of a name or of a text a finding shows.
const maxPlain = 120

// plain returns foreign text as it can stand in a line: short, without control
// characters.
func plain(s string) string {
	if len(s) > 4*maxPlain {
		s = s[:4*maxPlain]
	}
	runes := []rune(strings.ToValidUTF8(s, "\uFFFD"))
	if len(runes) > maxPlain {
		runes = append(runes[:maxPlain], '…')
	}
	quoted := strconv.QuoteToGraphic(string(runes))
	return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
}
