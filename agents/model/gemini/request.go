package gemini

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"

	"google.golang.org/genai"

	"github.com/agentls/agentls/agents/model"
)

// unsigned stands for the signature of a call that another model made: models
// that demand one take it (ai.google.dev/gemini-api/docs/thought-signatures).
const unsigned = "skip_thought_signature_validator"

// The wire form of what has no raw form. genai's own types would read
// arguments into floats.
type (
	wireContent struct {
		Role  string     `json:"role"`
		Parts []wirePart `json:"parts"`
	}
	wirePart struct {
		// One of the first four is set.
		Text             string        `json:"text,omitempty"`
		InlineData       *wireData     `json:"inlineData,omitempty"`
		FunctionCall     *wireCall     `json:"functionCall,omitempty"`
		FunctionResponse *wireResponse `json:"functionResponse,omitempty"`
		ThoughtSignature string        `json:"thoughtSignature,omitempty"`
	}
	wireData struct {
		MimeType string `json:"mimeType"`
		Data     []byte `json:"data"`
	}
	wireCall struct {
		ID   string          `json:"id,omitempty"`
		Name string          `json:"name"`
		Args json.RawMessage `json:"args,omitempty"`
	}
	wireResponse struct {
		ID   string `json:"id,omitempty"`
		Name string `json:"name"`
		// Has one member, output or error.
		Response map[string]string `json:"response"`
	}
)

// encode adds messages to the contents of a request, as JSON without the last
// bracket. Raw forms are in it byte for byte. After an error h has the messages
// before the one that is at fault. said and calls grow with wire, so that a history can
// be cut at each message. A message without content is in said nonetheless, so that
// positions in it are those of the request's messages.
func (h *history) encode(messages []model.Message) error {
	if len(h.wire) == 0 {
		h.wire = append(h.wire, '[')
	}
	for _, m := range messages {
		content, err := h.encodeMessage(m)
		if err != nil {
			return fmt.Errorf("message %d of the conversation: %w", len(h.said)+1, err)
		}
		if content != nil {
			if len(h.wire) > 1 {
				h.wire = append(h.wire, ',')
			}
			h.wire = append(h.wire, content...)
		}
		h.said = append(h.said, said{keep(m), len(h.wire), len(h.calls)})
	}
	return nil
}

// encodeMessage returns nil for a message without anything that can be sent:
// the API refuses a content without parts. A reply with a raw form is that form. Other
// models' replies are written anew from their parts, with the stand-in of a signature
// where the model demands one. Data of results stands after the last of them: the API
// wants all results together.
func (h *history) encodeMessage(m model.Message) ([]byte, error) {
	if m.Role == model.Reply && len(m.Raw) > 0 {
		theirs, ok := callsOf(m.Raw)
		if ok {
			n := 0
			for _, p := range m.Parts {
				if p.Call != nil && n < len(theirs) {
					h.calls = append(h.calls, known{p.Call.ID, theirs[n].ID, theirs[n].Name})
					n++
				}
			}
			return m.Raw, nil
		}
	}
	content := wireContent{Role: string(m.Role)}
	var media []model.Media // of the results
	last := 0               // after the last result
	for i, p := range m.Parts {
		if p.Result != nil {
			media, last = append(media, p.Result.Media...), i+1
		}
	}
	// Of calls that were made together the API signs the first alone, and wants no more.
	signed := !h.signs
	// A message that cannot be encoded must leave no calls behind: h is kept without it.
	calls := len(h.calls)
	fail := func(err error) ([]byte, error) {
		h.calls = h.calls[:calls]
		return nil, err
	}
	for i, p := range m.Parts {
		switch {
		case p.Call != nil:
			c := wireCall{ID: p.Call.ID, Name: p.Call.Name, Args: p.Call.Args}
			if len(c.Args) == 0 {
				c.Args = json.RawMessage("{}")
			}
			if !json.Valid(c.Args) {
				return fail(fmt.Errorf("the arguments of the call of %s are not JSON", c.Name))
			}
			h.calls = append(h.calls, known{c.ID, c.ID, c.Name})
			part := wirePart{FunctionCall: &c}
			if !signed {
				part.ThoughtSignature, signed = unsigned, true
			}
			content.Parts = append(content.Parts, part)
		case p.Result != nil:
			content.Parts = append(content.Parts, wirePart{FunctionResponse: h.respond(p.Result)})
		case p.Media != nil:
			part, err := inline(*p.Media)
			if err != nil {
				return fail(err)
			}
			content.Parts = append(content.Parts, part)
		case p.Text != "":
			content.Parts = append(content.Parts, wirePart{Text: p.Text})
		}
		// A thought without its raw form is another model's: it stays out.
		if i+1 == last {
			for _, m := range media {
				part, err := inline(m)
				if err != nil {
					return fail(err)
				}
				content.Parts = append(content.Parts, part)
			}
		}
	}
	if len(content.Parts) == 0 {
		return nil, nil
	}
	encoded, err := marshal(content)
	if err != nil {
		return fail(err)
	}
	return encoded, nil
}

// inline returns the part of data. Data that is not there (a blob that was removed) is an error,
// since leaving it out would change what was said.
func inline(m model.Media) (wirePart, error) {
	if len(m.Data) == 0 {
		return wirePart{}, fmt.Errorf("the data of type %s is not at hand", m.MimeType)
	}
	return wirePart{InlineData: &wireData{m.MimeType, m.Data}}, nil
}

// respond returns the wire form of a result, under the name and the id that the API knows its call
// by.
func (h *history) respond(r *model.Result) *wireResponse {
	w := &wireResponse{Name: r.Name, Response: map[string]string{"output": r.Content}}
	if r.Error {
		w.Response = map[string]string{"error": r.Content}
	}
	// The call is nearly always of the message before.
	for _, c := range slices.Backward(h.calls) {
		if c.ours == r.ID {
			w.ID, w.Name = c.theirs, c.name
			break
		}
	}
	return w
}

// callsOf returns the calls of a raw form in order, and false if it is not a
// raw form of this package.
func callsOf(raw json.RawMessage) ([]wireCall, bool) {
	var content struct {
		Parts []struct {
			FunctionCall *wireCall `json:"functionCall"`
		} `json:"parts"`
	}
	if json.Unmarshal(raw, &content) != nil || len(content.Parts) == 0 {
		return nil, false
	}
	var calls []wireCall
	for _, p := range content.Parts {
		if p.FunctionCall != nil {
			calls = append(calls, *p.FunctionCall)
		}
	}
	return calls, true
}

// configure returns a fresh config of genai: it writes into what it is given. What the
// model's entry does not have (sampling, thinking) is left out: the API refuses it.
func configure(req *model.Request, e model.Entry) (*genai.GenerateContentConfig, error) {
	o := req.Options
	config := &genai.GenerateContentConfig{AutomaticContinuation: new(false)}
	if req.System != "" {
		config.SystemInstruction = &genai.Content{Parts: []*genai.Part{{Text: req.System}}}
	}
	if e.Sampling && o.Temperature != nil {
		config.Temperature = new(float32(*o.Temperature))
	}
	if e.Sampling && o.TopP != nil {
		config.TopP = new(float32(*o.TopP))
	}
	if o.MaxOutput > 0 {
		config.MaxOutputTokens = int32(min(o.MaxOutput, math.MaxInt32))
	}
	if e.Thinking != "" {
		budget, level := e.Think(o)
		config.ThinkingConfig = &genai.ThinkingConfig{IncludeThoughts: true,
			ThinkingLevel: genai.ThinkingLevel(levelName(level))}
		if budget != nil {
			config.ThinkingConfig.ThinkingBudget = new(int32(*budget))
			// Thoughts of a model that is told not to think are refused.
			config.ThinkingConfig.IncludeThoughts = *budget != 0
		}
	}
	if o.Search {
		config.Tools = []*genai.Tool{{GoogleSearch: &genai.GoogleSearch{}}}
	}
	if len(req.Tools) > 0 {
		tool := &genai.Tool{}
		for _, d := range req.Tools {
			f := &genai.FunctionDeclaration{Name: d.Name, Description: d.Description}
			if len(d.Parameters) > 0 {
				// genai would send no body at all, and not say so.
				if !json.Valid(d.Parameters) {
					return nil, fmt.Errorf("the parameters of the tool %s are not JSON", d.Name)
				}
				f.ParametersJsonSchema = d.Parameters
			}
			tool.FunctionDeclarations = append(tool.FunctionDeclarations, f)
		}
		config.Tools = append(config.Tools, tool)
	}
	return config, nil
}

// levelName is a level of thinking as genai writes it; "" for one that there is not.
// genai's names are in capitals.
func levelName(level string) string {
	switch level {
	case "minimal":
		return string(genai.ThinkingLevelMinimal)
	case "low":
		return string(genai.ThinkingLevelLow)
	case "medium":
		return string(genai.ThinkingLevelMedium)
	case "high":
		return string(genai.ThinkingLevelHigh)
	default:
		return ""
	}
}

// tailOf returns what follows the contents in the body of a request, with the
// last brace: what genai made of the rest.
func tailOf(rest map[string]any) ([]byte, error) {
	tail, err := marshal(rest)
	if err != nil {
		return nil, fmt.Errorf("the request cannot be encoded: %w", err)
	}
	if len(rest) == 0 {
		return tail[1:], nil
	}
	// The opening brace becomes the comma behind the contents.
	tail[0] = ','
	return tail, nil
}

// body is a request in pieces, which are not modified. A long conversation is sent from
// where it lies, without being copied together.
type body [][]byte

// compose returns the body of a request of contents, as a history has them, and
// a tail.
func compose(contents, tail []byte) body {
	return body{[]byte(`{"contents":`), contents, []byte("]"), tail}
}

// size is how many bytes the body has.
func (b body) size() int64 {
	n := 0
	for _, piece := range b {
		n += len(piece)
	}
	return int64(n)
}

// reader returns a reader of the whole; there may be several, for requests that are sent again.
func (b body) reader() io.Reader {
	readers := make([]io.Reader, len(b))
	for i, piece := range b {
		readers[i] = bytes.NewReader(piece)
	}
	return io.MultiReader(readers...)
}

// marshal encodes without the escapes that are for HTML. Those would cost tokens, and
// change what is sent.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
