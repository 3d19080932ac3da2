package modelserver

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// format is how an answer is written.
type format uint8

const (
	whole  format = iota // one JSON object
	array                // a JSON array of chunks
	events               // server-sent events
)

// player writes one answer. It lives as long as its request.
type player struct {
	server  *Server
	request *Request
	step    step
	w       http.ResponseWriter
	ctx     context.Context
	format  format

	body   *counted  // of what is written to w
	out    io.Writer // body, or what compresses into it
	zip    *gzip.Writer
	began  bool              // the headers are written
	chunks int               // written so far
	kept   []json.RawMessage // of a whole answer
	buf    bytes.Buffer
}

// play writes the whole answer. It returns at its end, when the client gives up, or by a panic with
// http.ErrAbortHandler, which breaks the connection.
func (p *player) play() {
	if st := p.step.status; st != nil {
		if st.retryAfter != "" {
			p.w.Header().Set("Retry-After", st.retryAfter)
		}
		writeJSON(p.w, st.code, st.body)
		return
	}
	for _, a := range p.step.actions {
		if !p.act(a) {
			return
		}
	}
	p.end()
}

// act does one action and reports whether the answer goes on.
//
// A pause, a gate and a heartbeat end with the request's context.
func (p *player) act(a action) bool {
	switch a.kind {
	case chunk:
		return p.chunk(p.encode(a))
	case rawChunk:
		return p.chunk(a.raw)
	case repeat:
		for i := range a.n {
			text := strings.ReplaceAll(a.text, "{}", strconv.Itoa(i))
			part := marshal(map[string]string{"text": text})
			if !p.chunk(p.encode(action{parts: []json.RawMessage{part}})) {
				return false
			}
		}
		return true
	case long:
		return p.chunk(p.encode(action{parts: []json.RawMessage{marshal(map[string]string{"text": strings.Repeat("x",
			a.n)})}}))
	case rawBytes:
		p.begin()
		return p.write(a.bytes)
	case headers:
		p.begin()
		p.flush()
		return true
	case pause:
		return p.sleep(a.d) == nil
	case gate:
		return p.wait(a.text)
	case hang:
		p.flush()
		<-p.ctx.Done()
		return false
	case heartbeat:
		p.begin()
		for p.write([]byte(": still there\n\n")) && p.sleep(a.d) == nil {
		}
		return false
	default:
		p.cut(a.text)
		return false
	}
}

// encode returns a chunk as the API writes it. The bytes are good until the next call.
//
// The keys come in one order, so that chunks of text differ in their text alone.
func (p *player) encode(a action) []byte {
	b := &p.buf
	b.Reset()
	b.WriteByte('{')
	if a.feedback != "" {
		b.WriteString(`"promptFeedback":{"blockReason":`)
		b.Write(marshal(a.feedback))
		b.WriteString(`},`)
	} else {
		b.WriteString(`"candidates":[{"content":{`)
		if len(a.parts) > 0 {
			b.WriteString(`"parts":[`)
			for i, part := range a.parts {
				if i > 0 {
					b.WriteByte(',')
				}
				b.Write(part)
			}
			b.WriteString(`],`)
		}
		b.WriteString(`"role":"model"}`)
		if a.finish != "" {
			b.WriteString(`,"finishReason":`)
			b.Write(marshal(a.finish))
		}
		if a.message != "" {
			b.WriteString(`,"finishMessage":`)
			b.Write(marshal(a.message))
		}
		b.WriteString(`,"index":0}],`)
	}
	if a.usage != nil {
		b.WriteString(`"usageMetadata":`)
		b.Write(a.usage)
		b.WriteByte(',')
	}
	b.WriteString(`"modelVersion":`)
	b.Write(marshal(p.request.Model))
	b.WriteString(`,"responseId":"r` + strconv.Itoa(p.request.Section) + `-` + strconv.Itoa(p.request.Step) + `"}`)
	return b.Bytes()
}

// chunk writes one, and reports whether the answer goes on. A whole answer is only kept: it is
// written at its end.
func (p *player) chunk(data []byte) bool {
	p.chunks++
	switch p.format {
	case whole:
		p.kept = append(p.kept, bytes.Clone(data))
		return p.ctx.Err() == nil
	case array:
		p.begin()
		lead := ",\r\n"
		if p.chunks == 1 {
			lead = "["
		}
		return p.write(append([]byte(lead), data...))
	default:
		p.begin()
		return p.write(p.step.event(data))
	}
}

// begin writes the headers, once. They are late on purpose: an error in place of an answer, and a
// connection that breaks before it, need none.
func (p *player) begin() {
	if p.began {
		return
	}
	p.began = true
	kind := "application/json; charset=UTF-8"
	if p.format == events {
		kind = "text/event-stream"
	}
	p.w.Header().Set("Content-Type", kind)
	p.body = &counted{p: p, to: p.w}
	p.out = p.body
	if p.step.gzip {
		p.w.Header().Set("Content-Encoding", "gzip")
		p.zip = gzip.NewWriter(p.body)
		p.out = p.zip
	}
	p.w.WriteHeader(http.StatusOK)
	if p.format == events {
		p.write([]byte(p.step.first()))
	}
}

// write sends bytes at once and reports whether the client is there.
func (p *player) write(b []byte) bool {
	if p.ctx.Err() != nil {
		return false
	}
	if len(b) == 0 {
		return true
	}
	if _, err := p.out.Write(b); err != nil {
		return false
	}
	p.flush()
	return true
}

// flush has what was written read by the client now; nothing before the headers.
func (p *player) flush() {
	if !p.began {
		return
	}
	if p.zip != nil {
		_ = p.zip.Flush()
	}
	// A writer that cannot flush writes at the end.
	_ = http.NewResponseController(p.w).Flush()
}

// end completes an answer that did not break off. A limit beyond its end acts here.
func (p *player) end() {
	switch {
	case p.format == whole && p.chunks > 0:
		p.begin()
		p.write(merge(p.kept))
	case p.format == array && p.chunks > 0:
		p.write([]byte("]\n"))
	default:
		p.begin()
		if p.format == events {
			p.write([]byte(p.step.last()))
		}
	}
	if p.zip != nil {
		_ = p.zip.Close()
	}
	if p.step.limit != nil {
		_ = p.body.stop() // the client is gone then
	}
}

// cut ends an answer as a broken connection does.
func (p *player) cut(how string) {
	if how == "clean" {
		p.begin()
		return
	}
	if p.format == events && (p.began || how == "rune") {
		p.begin()
		half := `data: {"candidates":[{"content":{"parts":[{"text":"half a sent`
		if how == "rune" {
			half += "\xe6\x80" // two bytes of three
		}
		p.write([]byte(half))
	}
	panic(http.ErrAbortHandler)
}

// sleep waits as the config says; the error is that the client gave up.
func (p *player) sleep(d time.Duration) error {
	if p.server.config.Sleep != nil {
		return p.server.config.Sleep(p.ctx, d)
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-p.ctx.Done():
		return p.ctx.Err()
	}
}

// wait tells that the gate is reached and waits until it is open; false where the client gave up.
// What was written so far is with the client by then, so a test knows what it has seen.
func (p *player) wait(name string) bool {
	p.flush()
	d := p.server.doors(name)
	p.server.mu.Lock()
	if !d.isReached {
		d.isReached = true
		close(d.reached)
	}
	p.server.mu.Unlock()
	select {
	case <-d.open:
		return true
	case <-p.ctx.Done():
		return false
	}
}

// merge returns the chunks of an answer as one: the parts of the first
// candidates after each other, and the last of everything else. Chunks that are no
// objects are left out.
func merge(chunks []json.RawMessage) []byte {
	if len(chunks) == 1 {
		return chunks[0]
	}
	all := make(map[string]json.RawMessage)
	candidate := make(map[string]json.RawMessage)
	parts := []json.RawMessage{}
	for _, c := range chunks {
		var one map[string]json.RawMessage
		if json.Unmarshal(c, &one) != nil {
			continue
		}
		var candidates []map[string]json.RawMessage
		_ = json.Unmarshal(one["candidates"], &candidates)
		for k, v := range one {
			all[k] = v
		}
		if len(candidates) == 0 {
			continue
		}
		for k, v := range candidates[0] {
			candidate[k] = v
		}
		var content struct {
			Parts []json.RawMessage `json:"parts"`
		}
		_ = json.Unmarshal(candidates[0]["content"], &content)
		parts = append(parts, content.Parts...)
	}
	if len(candidate) > 0 {
		candidate["content"] = marshal(map[string]any{"role": "model", "parts": parts})
		all["candidates"] = marshal([]any{candidate})
	}
	return marshal(all)
}
