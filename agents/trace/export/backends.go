package export

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/agents/trace"
)

// moment is a span's beginning or end, and whether what was said goes with it.
type moment struct {
	trace.Moment
	content bool
}

// batch is what goes to one backend at once.
type batch struct {
	backend string
	moments []moment
}

// remote reports whether the backend is another machine's, or may be. Only these rest
// after a failure, and never get content unless it is asked for by name.
func (b *batch) remote() bool { return b.backend == "otlp" || b.backend == "langsmith" }

// pass gives a batch to its backend. What fails is told once, and lost. It blocks the
// follower of this session, and nobody else, for as long as the backend takes: patience
// for a request, lockPatience for a file.
func (t *Tracer) pass(backend string, s *session, b *batch) {
	var err error
	switch {
	case b.remote() && t.resting(backend):
		return
	case b.remote():
		err = t.send(s, b)
	case backend == "console":
		for _, m := range b.moments {
			if text := Line(m.Moment, m.content); text != "" {
				_, err = io.WriteString(t.Console, text+"\n")
			}
		}
	default:
		err = t.write(s, b)
	}
	if err == nil {
		t.mu.Lock()
		delete(t.failed, backend) // the next failure is told again
		t.mu.Unlock()
	}
	// What fails because the daemon ends is told to nobody.
	if err == nil || t.ctx.Err() != nil {
		return
	}
	t.mu.Lock()
	_, told := t.failed[backend]
	t.failed[backend] = t.Now()
	t.mu.Unlock()
	if !told {
		t.Log.Warn("traces are lost; the sessions have everything: agentls trace export",
			"backend", backend, "err", err)
	}
}

// resting reports whether a backend failed a moment ago. What comes meanwhile is lost
// without another request, so that a collector which is down costs no run its time.
func (t *Tracer) resting(backend string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	at, failed := t.failed[backend]
	return failed && t.Now().Sub(at) < rest
}

// Line is how a person reads the end of a span: a line, and one for each of its details.
// "" for a turn, and for what begins. It is what run --trace and the backend console
// print. All of it is on lines of its own, without characters that a terminal acts on.
func Line(m trace.Moment, content bool) string {
	if m.Begins || m.Kind == trace.Turn {
		return ""
	}
	details := m.Details
	if !content {
		details = details.Without()
	}
	text := fmt.Sprintf("[Trace] %s (%s) %s", m.Kind, InLine(m.Agent), ShortTime(m.Duration()))
	if m.Error != "" {
		text += " ✗ " + cut(InLine(m.Error))
	}
	for _, f := range details {
		if value := InLine(f.Text()); value != "" && value != "null" {
			text += "\n  " + f.Name + ": " + cut(value)
		}
	}
	return text
}

// cut shortens a text to 200 characters, which is what is worth a line.
func cut(text string) string {
	const most = 200
	if letters := []rune(text); len(letters) > most {
		return string(letters[:most]) + "…"
	}
	return text
}

// InLine is a text on one line that a terminal may show. It has no control characters
// (tool.Escape).
func InLine(text string) string { return tool.Escape(strings.Join(strings.Fields(text), " ")) }

// ShortTime is a duration as people read it: 350ms, 1.2s, 2m05s.
func ShortTime(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%dms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1fs", d.Seconds())
	}
	d = d.Round(time.Second)
	return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
}

// send posts a batch to a collector. Spans that may have content and those that may not
// are two requests. Only ends are sent: OTLP has no span that goes on.
func (t *Tracer) send(s *session, b *batch) error {
	spans := map[bool][]*trace.Span{}
	for _, m := range t.keep(s, b.moments) {
		if !m.Begins {
			spans[m.content] = append(spans[m.content], m.Span)
		}
	}
	for content, list := range spans {
		body, err := trace.OTLP(s.id, t.Version, list, content)
		if err != nil {
			return err
		}
		if err := t.post(b.backend, body); err != nil {
			return err
		}
	}
	return nil
}

// post sends one request. What a collector does not want is an error. The body must
// have been masked. It ends with the tracer, or after patience.
func (t *Tracer) post(backend string, body []byte) error {
	at, header, err := t.endpoint(backend)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(t.ctx, http.MethodPost, at, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header = header
	req.Header.Set("Content-Type", "application/json")
	resp, err := t.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10)) // so that the connection can be used again
	// A redirect is an error as well: keys go to no other host.
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("%s answered %s", req.URL.Host, resp.Status)
	}
	return nil
}

// endpoint is where spans are posted, as the variables of OpenTelemetry and of LangSmith
// say. They are read for each request. Without any, otlp is the collector of this
// machine at its usual port; langsmith without a key is an error that names the
// variable.
func (t *Tracer) endpoint(backend string) (at string, header http.Header, err error) {
	header = make(http.Header)
	if backend == "langsmith" {
		key := cmp.Or(t.Env("LANGSMITH_API_KEY"), t.Env("LANGCHAIN_API_KEY"))
		if key == "" {
			return "", nil, errors.New("no key for LangSmith: set LANGSMITH_API_KEY in the environment of agentls")
		}
		header.Set("X-Api-Key", key)
		if project := t.Env("LANGSMITH_PROJECT"); project != "" {
			header.Set("Langsmith-Project", project)
		}
		return strings.TrimSuffix(cmp.Or(t.Env("LANGSMITH_ENDPOINT"), "https://api.smith.langchain.com"), "/") +
			"/otel/v1/traces", header, nil
	}
	for _, name := range []string{"OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS"} {
		for pair := range strings.SplitSeq(t.Env(name), ",") {
			key, value, ok := strings.Cut(pair, "=")
			if plain, err := url.PathUnescape(strings.TrimSpace(value)); ok && err == nil {
				header.Set(strings.TrimSpace(key), plain)
			}
		}
	}
	if at := t.Env("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"); at != "" {
		return at, header, nil
	}
	return strings.TrimSuffix(cmp.Or(t.Env("OTEL_EXPORTER_OTLP_ENDPOINT"), "http://localhost:4318"), "/") +
		"/v1/traces", header, nil
}
