package modelserver

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// maxRepeat bounds the chunks of one <repeat line.
const maxRepeat = 1_000_000

// maxLong bounds the text of a <long line, in bytes.
const maxLong = 64 << 20

// Parse reads a script. An error names the line. Lines end with \n or \r\n. A text
// without steps is a script that answers nothing.
func Parse(text string) (*Script, error) {
	p := &parser{script: &Script{sections: make([]section, 1)}}
	for i, line := range strings.Split(text, "\n") {
		p.line = i + 1
		if err := p.take(strings.TrimSuffix(line, "\r")); err != nil {
			return nil, fmt.Errorf("script line %d: %w", p.line, err)
		}
	}
	if err := p.endStep(); err != nil {
		return nil, fmt.Errorf("script line %d: %w", p.line, err)
	}
	for _, sec := range p.script.sections[1:] {
		if len(sec.steps) == 0 {
			return nil, fmt.Errorf("script line %d: the section has no steps", sec.line)
		}
	}
	return p.script, nil
}

// parser reads a script line by line. What is below step is of the step that is read and is cleared
// at its end; p.script.sections[len-1] is the section that steps go into.
type parser struct {
	script *Script
	line   int
	calls  int  // made-up ids so far
	opened bool // the last line was a "# when"

	step      *step // being read; nil between steps
	signature string
	signed    bool // the step has a call with a signature, or a line that says none
	calling   bool // the last line was a call
	raw       bool // the step has a <raw
	finish    *action
	usage     json.RawMessage
	usageSaid bool
	ended     bool // nothing may follow: cut, hang, heartbeat
}

// take reads one line.
//
// An empty line ends a step, and so does an expectation behind an answer. Comments that
// are no conditions are passed over and end nothing.
func (p *parser) take(line string) error {
	switch {
	case strings.TrimSpace(line) == "":
		p.opened = false
		return p.endStep()
	case strings.HasPrefix(line, "# when "):
		if err := p.endStep(); err != nil {
			return err
		}
		return p.when(strings.TrimSpace(line[len("# when "):]))
	case line[0] == '#':
		return nil
	case line[0] == '>':
		if p.step != nil && (len(p.step.actions) > 0 || p.step.status != nil || !p.step.empty() ||
			p.finish != nil || p.usageSaid) {
			if err := p.endStep(); err != nil {
				return err
			}
		}
		p.begin()
		return p.expect(line[1:])
	case line[0] == '<':
		p.begin()
		return p.answer(line[1:])
	default:
		return fmt.Errorf("a line begins with >, < or #; this one is %q", line)
	}
}

// when reads a condition. Several in a row belong to one section, so the first opens it.
//
// A condition ends the step before it. Text has the escapes of a script.
func (p *parser) when(text string) error {
	c := condition{}
	text, c.not = strings.CutPrefix(text, "no ")
	field, rest, _ := strings.Cut(text, " ")
	switch field {
	case "tool":
		c.text = strings.TrimSpace(rest)
	case "system", "model", "input", "history":
		var ok bool
		if c.text, ok = strings.CutPrefix(rest, "contains "); !ok {
			return fmt.Errorf("want # when %s contains TEXT", field)
		}
	default:
		return fmt.Errorf("unknown condition %q; there are system, model, input, history and tool", field)
	}
	c.field = field
	var err error
	if c.text, err = unescape(c.text); err != nil {
		return err
	}
	if c.text == "" {
		return fmt.Errorf("the condition has no text")
	}
	if !p.opened {
		p.script.sections = append(p.script.sections, section{line: p.line})
	}
	p.opened = true
	sec := &p.script.sections[len(p.script.sections)-1]
	sec.when = append(sec.when, c)
	return nil
}

// begin opens a step, unless one is open.
func (p *parser) begin() {
	p.opened = false
	if p.step == nil {
		p.step = &step{line: p.line}
	}
}

// endStep checks the step that was read, completes its answer and adds it; nothing where none is
// open.
func (p *parser) endStep() error {
	s := p.step
	if s == nil {
		return nil
	}
	if p.signature != "" && p.signature != "none" {
		return fmt.Errorf("the signature has no part after it")
	}
	if len(s.actions) == 0 && s.status == nil && p.finish == nil && !p.usageSaid {
		return fmt.Errorf("the step has no answer")
	}
	if s.status != nil && (len(s.actions) > 0 || !s.empty() || p.finish != nil || p.usageSaid) {
		return fmt.Errorf("the step has a status and an answer")
	}
	if s.status == nil {
		p.close(s)
	}
	sec := &p.script.sections[len(p.script.sections)-1]
	sec.steps = append(sec.steps, *s)
	*p = parser{script: p.script, line: p.line, calls: p.calls, opened: p.opened}
	return nil
}

// close puts finish and usage on the last chunk of an answer that ends. A raw answer
// and one that breaks off get only what a line says; any other gets STOP and the usual
// counts, as the real API sends them. Where an action that is no chunk is the last, a
// chunk of its own carries them.
func (p *parser) close(s *step) {
	finish, usage := p.finish, p.usage
	if p.ended || p.raw {
		if finish == nil && !p.usageSaid {
			return
		}
	} else {
		if finish == nil {
			finish = &action{finish: "STOP"}
		}
		if !p.usageSaid {
			usage = json.RawMessage(`{"promptTokenCount":100,"candidatesTokenCount":10,"totalTokenCount":110}`)
		}
	}
	at := -1
	if n := len(s.actions); n > 0 && s.actions[n-1].kind == chunk {
		at = n - 1
	} else if p.ended {
		// They come before what breaks the stream.
		at = n - 2
		if at < 0 || s.actions[at].kind != chunk {
			last := s.actions[n-1]
			s.actions = append(s.actions[:n-1], action{kind: chunk}, last)
			at = n - 1
		}
	} else {
		s.actions = append(s.actions, action{kind: chunk})
		at = len(s.actions) - 1
	}
	a := &s.actions[at]
	a.usage = usage
	if finish != nil && finish.finish != "none" && a.feedback == "" {
		a.finish, a.message = finish.finish, finish.message
	}
}

// expect reads what stands behind > as a condition on the request.
//
// Conditions of one step add up; each is checked by itself when the request comes.
func (p *parser) expect(text string) error {
	e := expect{line: p.line}
	text, e.not = strings.CutPrefix(text, "!")
	word, rest, _ := strings.Cut(text, " ")
	e.field = word
	switch word {
	case "":
		e.field = "text"
		e.text = rest
	case "system", "history", "model", "body", "media":
		e.text = rest
	case "tool", "call":
		e.name = strings.TrimSpace(rest)
		if e.name == "" {
			return fmt.Errorf("want >%s NAME", word)
		}
	case "result", "result-error":
		name, more, some := strings.Cut(strings.TrimSpace(rest), " ")
		e.name = name
		if name == "" {
			return fmt.Errorf("want >%s NAME contains TEXT", word)
		}
		if some {
			var ok bool
			if e.text, ok = strings.CutPrefix(more, "contains "); !ok {
				return fmt.Errorf("want >%s NAME contains TEXT", word)
			}
		}
	case "messages":
		n, err := strconv.Atoi(strings.TrimSpace(rest))
		if err != nil {
			return fmt.Errorf("want >messages N")
		}
		e.n = n
	default:
		return fmt.Errorf("unknown expectation >%s", word)
	}
	var err error
	e.text, err = unescape(e.text)
	if err != nil {
		return err
	}
	p.step.expects = append(p.step.expects, e)
	return nil
}

// answer reads what stands behind <.
//
// Text begins with a space behind <, so its first word is empty. A call directly behind
// another one belongs to the same chunk.
func (p *parser) answer(text string) error {
	word, rest, _ := strings.Cut(text, " ")
	if p.ended {
		return fmt.Errorf("nothing can follow what ends the stream")
	}
	calling := p.calling
	p.calling = false
	s := p.step
	switch word {
	case "":
		return p.text(rest, false)
	case "thought":
		subject, thought, ok := strings.Cut(rest, ": ")
		if !ok {
			return p.text(rest, true)
		}
		return p.text("**"+subject+"**\\n\\n"+thought, true)
	case "call":
		return p.call(rest, calling)
	case "signature":
		return p.sign(rest, calling)
	case "media":
		mime, data, _ := strings.Cut(strings.TrimSpace(rest), " ")
		if _, err := base64.StdEncoding.DecodeString(data); err != nil || mime == "" {
			return fmt.Errorf("want <media MIME BASE64")
		}
		p.part(map[string]any{"inlineData": map[string]any{"mimeType": mime, "data": data}})
	case "repeat":
		return p.repeat(rest)
	case "finish":
		reason, message, _ := strings.Cut(strings.TrimSpace(rest), " ")
		if reason == "" {
			return fmt.Errorf("want <finish REASON")
		}
		p.finish = &action{finish: reason, message: message}
	case "usage":
		return p.counts(strings.TrimSpace(rest))
	case "long":
		n, err := strconv.Atoi(strings.TrimSpace(rest))
		if err != nil || n < 1 || n > maxLong {
			return fmt.Errorf("want <long BYTES with BYTES from 1 to %d", maxLong)
		}
		s.actions = append(s.actions, action{kind: long, n: n})
	case "block":
		reason := strings.TrimSpace(rest)
		if reason == "" {
			return fmt.Errorf("want <block REASON")
		}
		s.actions = append(s.actions, action{kind: chunk, feedback: reason})
	case "raw":
		if !json.Valid([]byte(rest)) {
			return fmt.Errorf("want <raw {JSON}; this is not JSON")
		}
		p.raw = true
		s.actions = append(s.actions, action{kind: rawChunk, raw: json.RawMessage(strings.TrimSpace(rest))})
	case "bytes":
		b, err := strconv.Unquote(strings.TrimSpace(rest))
		if err != nil {
			return fmt.Errorf("want <bytes and a Go string in quotes")
		}
		s.actions = append(s.actions, action{kind: rawBytes, bytes: []byte(b)})
	default:
		return p.behave(word, strings.TrimSpace(rest))
	}
	return nil
}

// sign reads the signature of what follows.
func (p *parser) sign(rest string, calling bool) error {
	p.signature = strings.TrimSpace(rest)
	// A signature between two calls does not part them.
	p.calling = calling
	if p.signature == "none" {
		p.signature, p.signed = "", true
		return nil
	}
	if _, err := base64.StdEncoding.DecodeString(p.signature); err != nil || p.signature == "" {
		return fmt.Errorf("want <signature BASE64")
	}
	return nil
}

// repeat reads a text that comes many times.
func (p *parser) repeat(rest string) error {
	count, unit, _ := strings.Cut(rest, " ")
	n, err := strconv.Atoi(count)
	if err != nil || n < 1 || n > maxRepeat {
		return fmt.Errorf("want <repeat N TEXT with N from 1 to %d", maxRepeat)
	}
	unit, err = unescape(unit)
	if err != nil {
		return err
	}
	p.step.actions = append(p.step.actions, action{kind: repeat, n: n, text: unit})
	return nil
}

// behave reads the lines that say how the answer comes, not what it is.
//
// Lines about the whole answer (how) must come before its first part. cut, hang and
// heartbeat end it, and nothing may follow them.
func (p *parser) behave(word, rest string) error {
	s := p.step
	if ours, err := s.how(word, rest); ours || err != nil {
		if err == nil && len(s.actions) > 0 {
			err = fmt.Errorf("<%s is a first line of an answer", word)
		}
		return err
	}
	switch word {
	case "status":
		if s.status != nil {
			return fmt.Errorf("the step has a status already")
		}
		st, err := parseStatus(rest)
		s.status = st
		return err
	case "cut":
		if rest != "" && rest != "rune" && rest != "clean" {
			return fmt.Errorf("want <cut, <cut rune or <cut clean")
		}
		s.actions = append(s.actions, action{kind: cut, text: rest})
		p.ended = true
	case "hang":
		s.actions = append(s.actions, action{kind: hang})
		p.ended = true
	case "headers":
		s.actions = append(s.actions, action{kind: headers})
	case "pause", "heartbeat":
		d, err := time.ParseDuration(rest)
		if err != nil || d <= 0 {
			return fmt.Errorf("want <%s DURATION, such as 50ms", word)
		}
		k := pause
		if word == "heartbeat" {
			k, p.ended = heartbeat, true
		}
		s.actions = append(s.actions, action{kind: k, d: d})
	case "gate":
		if rest == "" {
			return fmt.Errorf("want <gate NAME")
		}
		s.actions = append(s.actions, action{kind: gate, text: rest})
	default:
		return fmt.Errorf("unknown answer <%s; text begins with a space", word)
	}
	return nil
}

// text adds a chunk of text, or of a thought.
func (p *parser) text(text string, thought bool) error {
	text, err := unescape(text)
	if err != nil {
		return err
	}
	part := map[string]any{"text": text}
	if thought {
		part["thought"] = true
	}
	p.part(part)
	return nil
}

// part adds a chunk of one part, with the signature that waits for it.
func (p *parser) part(part map[string]any) {
	if p.signature != "" {
		part["thoughtSignature"] = p.signature
		p.signature = ""
	}
	p.step.actions = append(p.step.actions, action{kind: chunk, parts: []json.RawMessage{marshal(part)}})
}

// call adds a call. Where the last line was one too, follows, both are in one chunk, as the real
// API sends parallel calls.
func (p *parser) call(rest string, follows bool) error {
	name, rest, _ := strings.Cut(strings.TrimSpace(rest), " ")
	if name == "" {
		return fmt.Errorf("want <call NAME {JSON}")
	}
	args := json.RawMessage("{}")
	if rest = strings.TrimSpace(rest); strings.HasPrefix(rest, "{") {
		d := json.NewDecoder(strings.NewReader(rest))
		if err := d.Decode(&args); err != nil {
			return fmt.Errorf("the arguments are not a JSON object: %w", err)
		}
		rest = strings.TrimSpace(rest[d.InputOffset():])
	}
	id, said := strings.CutPrefix(rest, "id=")
	if !said && rest != "" {
		return fmt.Errorf("want <call NAME {JSON} id=ID; what is %q?", rest)
	}
	p.calls++
	if !said {
		id = fmt.Sprintf("call-%d", p.calls)
	}
	call := map[string]any{"name": name, "args": args}
	if id != "none" && id != "" {
		call["id"] = id
	}
	// As the real API does, the first call of an answer is signed.
	if p.signature == "" && !p.signed {
		p.signature = base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "signature+of/call %d", p.calls))
	}
	p.signed = true
	p.part(map[string]any{"functionCall": call})
	if n := len(p.step.actions); follows && n > 1 {
		last := &p.step.actions[n-2]
		last.parts = append(last.parts, p.step.actions[n-1].parts...)
		p.step.actions = p.step.actions[:n-1]
	}
	p.calling = true
	return nil
}

// counts reads the numbers of tokens. Without total it is the sum of in, out and thoughts.
//
// "none" leaves the counts out, as a provider may.
func (p *parser) counts(rest string) error {
	p.usageSaid = true
	if rest == "none" {
		return nil
	}
	names := map[string]string{"in": "promptTokenCount", "out": "candidatesTokenCount",
		"cached": "cachedContentTokenCount", "thoughts": "thoughtsTokenCount", "total": "totalTokenCount"}
	usage := make(map[string]int64)
	for _, f := range strings.Fields(rest) {
		name, value, _ := strings.Cut(f, "=")
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil || names[name] == "" {
			return fmt.Errorf("want <usage in=N out=N cached=N thoughts=N total=N; what is %q?", f)
		}
		usage[names[name]] = n
	}
	if len(usage) == 0 {
		return fmt.Errorf("want <usage in=N out=N cached=N thoughts=N total=N")
	}
	if _, ok := usage["totalTokenCount"]; !ok {
		usage["totalTokenCount"] = usage["promptTokenCount"] + usage["candidatesTokenCount"] +
			usage["thoughtsTokenCount"]
	}
	p.usage = marshal(usage)
	return nil
}
