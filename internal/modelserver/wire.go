package modelserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// manner is how the body of an answer comes, whatever it says.
type manner struct {
	gzip  bool
	wire  []string // styles of the events; see styles
	limit *limit   // nil = the body comes whole
}

// limit is where a body ends before its time.
type limit struct {
	at    int  // bytes that come
	stall bool // then nothing comes; else the connection breaks
}

// styles are the ways of writing events that a client meets, beside the usual one.
var styles = []string{"lf", "nospace", "bom", "comments", "fields", "lines", "comma", "done"}

// Cut returns the script with the connection breaking after n bytes of the body
// of each answer, or at its end if it is shorter. s itself does not change; a limit of
// its steps is replaced.
func (s *Script) Cut(n int) *Script { return s.limitTo(limit{at: n}) }

// Stall returns the script with nothing more coming after n bytes of the body of
// each answer, or after its end if it is shorter, until the client gives up. s itself
// does not change.
func (s *Script) Stall(n int) *Script { return s.limitTo(limit{at: n, stall: true}) }

// limitTo returns a copy in which each step has this limit.
func (s *Script) limitTo(l limit) *Script {
	all := &Script{sections: slices.Clone(s.sections)}
	for i := range all.sections {
		steps := slices.Clone(all.sections[i].steps)
		for j := range steps {
			steps[j].manner.limit = &l
		}
		all.sections[i].steps = steps
	}
	return all
}

// how reads the lines that are about the whole body: gzip, wire, cut at and
// stall at. ours is false for any other line.
func (m *manner) how(word, rest string) (ours bool, err error) {
	where, at := strings.CutPrefix(rest, "at ")
	switch {
	case word == "gzip":
		m.gzip = true
	case word == "wire":
		m.wire = strings.Fields(rest)
		for _, style := range m.wire {
			if !slices.Contains(styles, style) {
				return true, fmt.Errorf("unknown style %q of <wire; there are %s", style, strings.Join(styles, ", "))
			}
		}
	case at && (word == "cut" || word == "stall"):
		n, err := strconv.Atoi(where)
		if err != nil || n < 0 {
			return true, fmt.Errorf("want <%s at BYTES", word)
		}
		m.limit = &limit{at: n, stall: word == "stall"}
	case word == "stall":
		return true, fmt.Errorf("want <stall at BYTES")
	default:
		return false, nil
	}
	return true, nil
}

// empty reports whether nothing is said of the body.
func (m *manner) empty() bool { return !m.gzip && m.wire == nil && m.limit == nil }

// event writes a chunk as an event.
func (m *manner) event(data []byte) []byte {
	field, end := "data: ", "\r\n"
	if slices.Contains(m.wire, "nospace") {
		field = "data:"
	}
	if slices.Contains(m.wire, "lf") {
		end = "\n"
	}
	b := make([]byte, 0, len(data)+10)
	if slices.Contains(m.wire, "comments") {
		b = append(b, ": ping"+end+end+":"+end...)
	}
	if slices.Contains(m.wire, "fields") {
		b = append(b, "event: message"+end+"id: 7"+end+"retry:3"+end...)
	}
	if slices.Contains(m.wire, "comma") {
		data = append(bytes.Clone(data), ',')
	}
	if slices.Contains(m.wire, "lines") {
		data = spread(data)
	}
	for line := range bytes.SplitSeq(data, []byte("\n")) {
		b = append(append(append(b, field...), line...), end...)
	}
	return append(b, end...)
}

// spread writes JSON on several lines.
func spread(data []byte) []byte {
	var b bytes.Buffer
	data, comma := bytes.CutSuffix(data, []byte(","))
	if json.Indent(&b, data, "", "\t") != nil {
		return data
	}
	if comma {
		b.WriteByte(',')
	}
	return b.Bytes()
}

// first and last are what comes before and after the events.
func (m *manner) first() string {
	if slices.Contains(m.wire, "bom") {
		return "\xef\xbb\xbf"
	}
	return ""
}

// last is what stands behind the last event.
func (m *manner) last() string {
	if slices.Contains(m.wire, "done") {
		return string(m.event([]byte("[DONE]")))
	}
	return ""
}

// counted passes the bytes of a body on, up to the limit. With gzip it counts
// compressed bytes, since the limit is one of what the client gets.
type counted struct {
	p  *player
	to io.Writer
	n  int // that were passed on
}

func (c *counted) Write(b []byte) (int, error) {
	l := c.p.step.limit
	if l == nil || c.n+len(b) < l.at {
		n, err := c.to.Write(b)
		c.n += n
		return n, err
	}
	n, err := c.to.Write(b[:max(l.at-c.n, 0)])
	c.n += n
	if err != nil {
		return n, err
	}
	return n, c.stop()
}

// stop ends a body before its time; it may not return.
func (c *counted) stop() error {
	// A writer that cannot flush writes at the end.
	_ = http.NewResponseController(c.p.w).Flush()
	if !c.p.step.limit.stall {
		panic(http.ErrAbortHandler)
	}
	<-c.p.ctx.Done()
	return c.p.ctx.Err()
}
