package trace

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"time"
)

// The messages of opentelemetry-proto, as JSON writes them: ids are hex, 64-bit
// integers strings, enumerations numbers.
type (
	otlpRequest struct {
		ResourceSpans []otlpResource `json:"resourceSpans"`
	}
	otlpResource struct {
		Resource   otlpAttributes `json:"resource"`
		ScopeSpans []otlpScope    `json:"scopeSpans"`
	}
	otlpAttributes struct {
		Attributes []otlpAttribute `json:"attributes"`
	}
	otlpScope struct {
		Scope struct {
			Name    string `json:"name"`
			Version string `json:"version,omitempty"`
		} `json:"scope"`
		Spans     []otlpSpan `json:"spans"`
		SchemaURL string     `json:"schemaUrl"`
	}
	otlpSpan struct {
		TraceID      string          `json:"traceId"`
		SpanID       string          `json:"spanId"`
		ParentSpanID string          `json:"parentSpanId,omitempty"`
		Name         string          `json:"name"`
		Kind         int             `json:"kind"`
		Start        string          `json:"startTimeUnixNano"`
		End          string          `json:"endTimeUnixNano"`
		Attributes   []otlpAttribute `json:"attributes"`
		Status       *otlpStatus     `json:"status,omitempty"`
	}
	otlpStatus struct {
		Message string `json:"message,omitempty"`
		Code    int    `json:"code"`
	}
	otlpAttribute struct {
		Key   string    `json:"key"`
		Value otlpValue `json:"value"`
	}
	otlpValue struct {
		String *string    `json:"stringValue,omitempty"`
		Int    *string    `json:"intValue,omitempty"`
		Double *float64   `json:"doubleValue,omitempty"`
		Bool   *bool      `json:"boolValue,omitempty"`
		Array  *otlpArray `json:"arrayValue,omitempty"`
	}
	otlpArray struct {
		Values []otlpValue `json:"values"`
	}
)

// The kinds and the status of spans in opentelemetry-proto.
const (
	otlpInternal = 1
	otlpClient   = 3
	otlpError    = 2
)

// semconv is the version of the semantic conventions whose gen_ai attributes are used.
const semconv = "https://opentelemetry.io/schemas/1.41.0"

// OTLP returns spans as the body of a request to an OpenTelemetry collector
// (ExportTraceServiceRequest, as JSON). Open ones end at their newest event. Without
// content it has no texts, arguments and results. version is that of agentls.
// A trace is a chain of handoffs, so a session has several. Ids are digests of the
// session's and the span's numbers: what is sent twice is the same span. Nothing is
// sent here. The error is that of encoding/json.
func OTLP(session, version string, spans []*Span, content bool) ([]byte, error) {
	scope := otlpScope{SchemaURL: semconv, Spans: []otlpSpan{}}
	scope.Scope.Name, scope.Scope.Version = "github.com/agentls/agentls", version
	for _, s := range spans {
		scope.Spans = append(scope.Spans, s.otlp(session, content))
	}
	resource := otlpAttributes{[]otlpAttribute{attribute("service.name", "agentls"),
		attribute("service.version", version)}}
	return json.Marshal(otlpRequest{[]otlpResource{{resource, []otlpScope{scope}}}})
}

// otlp puts a span into the words of the GenAI semantic conventions. Fields that the
// conventions have no name for are agentls.<kind>.<field>. The parent of a run that a
// handoff led to is the handoff.
func (s *Span) otlp(session string, content bool) otlpSpan {
	// The id of a trace has 16 bytes, that of a span 8.
	trace := sha256.Sum256([]byte(session + "\x00" + s.CorrelationID))
	id := func(span uint64) string {
		sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%d", session, s.CorrelationID, span))
		return hex.EncodeToString(sum[:8])
	}
	out := otlpSpan{
		TraceID: hex.EncodeToString(trace[:16]), SpanID: id(s.ID),
		Name: string(s.Kind) + " " + s.Name, Kind: otlpInternal,
		Start: nanos(s.Start), End: nanos(s.End),
	}
	if parent := max(s.Parent, s.After); parent != 0 {
		out.ParentSpanID = id(parent)
	}
	add := func(key string, value any) { out.Attributes = append(out.Attributes, attribute(key, value)) }
	add("gen_ai.conversation.id", session)
	add("gen_ai.agent.name", s.Agent)
	details := s.Details.Without()
	switch s.Kind {
	case Run:
		out.Name = "invoke_agent " + s.Agent
		add("gen_ai.operation.name", "invoke_agent")
		add("gen_ai.provider.name", provider)
		if model := s.Details.Get("model"); model != nil {
			add("gen_ai.request.model", model)
		}
		s.usage(add)
	case Model:
		out.Kind = otlpClient
		operation := "chat"
		if purpose := s.Details.Get("purpose"); purpose != nil {
			add("agentls.llm.purpose", purpose)
			if purpose == "embedding" {
				operation = "embeddings"
			}
		}
		out.Name = operation + " " + s.Name
		add("gen_ai.operation.name", operation)
		add("gen_ai.provider.name", provider)
		add("gen_ai.request.model", s.Name)
		if s.Finish != "" {
			add("gen_ai.response.finish_reasons", []string{s.Finish})
		}
		if s.FirstToken > 0 {
			add("gen_ai.response.time_to_first_chunk", s.FirstToken.Seconds())
		}
		s.usage(add)
		// The details of a model are told above, by the names that the conventions have.
		details = nil
	case Tool:
		out.Name = "execute_tool " + s.Name
		add("gen_ai.operation.name", "execute_tool")
		add("gen_ai.tool.name", s.Name)
		add("gen_ai.tool.type", "function")
		add("gen_ai.tool.call.id", s.Call)
		details = nil
	}
	if content {
		s.content(add)
	}
	for _, f := range details {
		if f.Name != "model" && f.Name != "tokens" {
			add("agentls."+string(s.Kind)+"."+f.Name, f.Value)
		}
	}
	if s.Error != "" {
		message := s.failure(content)
		// error.type has few values: the code where a tool failed, and else the kind of
		// the span, whose error is a sentence.
		kind := message
		if s.Kind != Tool {
			kind = string(s.Kind)
		}
		add("error.type", kind)
		out.Status = &otlpStatus{message, otlpError}
	}
	return out
}

// provider is who answers, as the conventions name it: the log does not say whether it
// was the Gemini API or Vertex AI.
const provider = "gcp.gen_ai"

// usage adds what was used.
// What is 0 is left out.
func (s *Span) usage(add func(string, any)) {
	for _, n := range []struct {
		key   string
		value int
	}{
		{"gen_ai.usage.input_tokens", s.Usage.InputTokens}, {"gen_ai.usage.output_tokens", s.Usage.OutputTokens},
		{"gen_ai.usage.cache_read.input_tokens", s.Usage.CachedTokens},
		{"gen_ai.usage.reasoning.output_tokens", s.Usage.ThoughtTokens},
	} {
		if n.value > 0 {
			add(n.key, n.value)
		}
	}
}

// content adds what was said. Messages are JSON texts, as the conventions have them
// where attributes cannot be structured.
func (s *Span) content(add func(string, any)) {
	message := func(role string, text any) string {
		data, err := json.Marshal([]any{map[string]any{"role": role,
			"parts": []any{map[string]any{"type": "text", "content": text}}}})
		if err != nil {
			return ""
		}
		return string(data)
	}
	for _, f := range s.Details {
		if !f.Content {
			continue
		}
		switch {
		case (s.Kind == Model && f.Name == "prompt") || (s.Kind == Run && f.Name == "input"):
			add("gen_ai.input.messages", message("user", f.Value))
		case (s.Kind == Model && f.Name == "response") || (s.Kind == Run && f.Name == "text"):
			add("gen_ai.output.messages", message("assistant", f.Value))
		case f.Name == "tool_args":
			add("gen_ai.tool.call.arguments", f.Text())
		case f.Name == "tool_result" || f.Name == "tool_error":
			add("gen_ai.tool.call.result", f.Text())
		default:
			add("agentls."+string(s.Kind)+"."+f.Name, f.Text())
		}
	}
}

// nanos is a time as OTLP writes it: a string of nanoseconds since 1970.
func nanos(t time.Time) string { return strconv.FormatInt(t.UnixNano(), 10) }

// attribute encodes a value.
// What is neither a bool, a number, a list of texts nor a text is JSON in a text,
// since not every receiver takes objects.
func attribute(key string, value any) otlpAttribute {
	a := otlpAttribute{Key: key}
	switch v := value.(type) {
	case bool:
		a.Value.Bool = &v
	case int:
		a.Value.Int = new(strconv.Itoa(v))
	case float64:
		a.Value.Double = &v
	case []string:
		list := otlpArray{[]otlpValue{}}
		for _, s := range v {
			list.Values = append(list.Values, otlpValue{String: new(s)})
		}
		a.Value.Array = &list
	default:
		a.Value.String = new(text(v))
	}
	return a
}

// text is a value that is none of the simple ones: a string of any type, else JSON.
func text(value any) string {
	data, err := json.Marshal(value)
	if err != nil {
		return ""
	}
	var s string
	if json.Unmarshal(data, &s) == nil {
		return s
	}
	return string(data)
}
