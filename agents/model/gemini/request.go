package gemini

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"

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
		ID       string            `json:"id,omitempty"`
		Name     string            `json:"name"`
		Response map[string]string `json:"response"`
	}
)

// encode returns the contents of a request, as JSON. Raw forms are in it byte
// for byte.
func encode(messages []model.Message, e model.Entry) ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('[')
	calls := make(map[string]wireCall) // by our ids, what the API knows them by
	for i, m := range messages {
		content, err := encodeMessage(m, e, calls)
		if err != nil {
			return nil, fmt.Errorf("message %d of the conversation: %w", i+1, err)
		}
		if content == nil {
			continue
		}
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		b.Write(content)
	}
	b.WriteByte(']')
	return b.Bytes(), nil
}

// encodeMessage returns nil for a message without anything that can be sent:
// the API refuses a content without parts.
func encodeMessage(m model.Message, e model.Entry, calls map[string]wireCall) ([]byte, error) {
	if m.Role == model.Reply && len(m.Raw) > 0 {
		theirs, ok := callsOf(m.Raw)
		if ok {
			n := 0
			for _, p := range m.Parts {
				if p.Call != nil && n < len(theirs) {
					calls[p.Call.ID] = theirs[n]
					n++
				}
			}
			return m.Raw, nil
		}
	}
	content := wireContent{Role: string(m.Role)}
	signed := e.Thinking != model.Level
	for _, p := range m.Parts {
		switch {
		case p.Call != nil:
			c := wireCall{ID: p.Call.ID, Name: p.Call.Name, Args: p.Call.Args}
			if len(c.Args) == 0 {
				c.Args = json.RawMessage("{}")
			}
			if !json.Valid(c.Args) {
				return nil, fmt.Errorf("the arguments of the call of %s are not JSON", c.Name)
			}
			calls[c.ID] = c
			part := wirePart{FunctionCall: &c}
			if !signed {
				part.ThoughtSignature, signed = unsigned, true
			}
			content.Parts = append(content.Parts, part)
		case p.Result != nil:
			content.Parts = append(content.Parts, wirePart{FunctionResponse: respond(p.Result, calls)})
		case p.Media != nil:
			if len(p.Media.Data) == 0 {
				return nil, fmt.Errorf("the data of type %s is not at hand", p.Media.MimeType)
			}
			content.Parts = append(content.Parts, wirePart{InlineData: &wireData{p.Media.MimeType, p.Media.Data}})
		case p.Text != "":
			content.Parts = append(content.Parts, wirePart{Text: p.Text})
		}
		// A thought without its raw form is another model's: it stays out.
	}
	if len(content.Parts) == 0 {
		return nil, nil
	}
	return marshal(content)
}

func respond(r *model.Result, calls map[string]wireCall) *wireResponse {
	w := &wireResponse{Name: r.Name, Response: map[string]string{"output": r.Content}}
	if r.Error {
		w.Response = map[string]string{"error": r.Content}
	}
	if c, ok := calls[r.ID]; ok {
		w.ID, w.Name = c.ID, c.Name
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

// configure returns a fresh config of genai: it writes into what it is given.
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
		config.ThinkingConfig = &genai.ThinkingConfig{IncludeThoughts: true, ThinkingLevel: genai.ThinkingLevel(levelName(level))}
		if budget != nil {
			config.ThinkingConfig.ThinkingBudget = new(int32(*budget))
			// Thoughts of a model that is told not to think are refused.
			config.ThinkingConfig.IncludeThoughts = *budget != 0
		}
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
		config.Tools = []*genai.Tool{tool}
	}
	return config, nil
}

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

// splice returns the body of a request: the contents as they are, and what
// genai made of the rest.
func splice(contents []byte, rest map[string]any) ([]byte, error) {
	tail, err := marshal(rest)
	if err != nil {
		return nil, fmt.Errorf("the request cannot be encoded: %w", err)
	}
	body := make([]byte, 0, len(contents)+len(tail)+16)
	body = append(body, `{"contents":`...)
	body = append(body, contents...)
	if len(rest) > 0 {
		body = append(body, ',')
	}
	return append(body, tail[1:]...), nil
}

// marshal encodes without the escapes that are for HTML.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
