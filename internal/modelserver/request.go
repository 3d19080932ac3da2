package modelserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Request is one request as it was received. It is filled in by the server, and a copy
// is given out by [Server.Requests].
type Request struct {
	Action   string // generateContent, streamGenerateContent, countTokens, batchEmbedContents, predict, models
	Model    string // the id, without "models/"
	Vertex   bool   // by a path of Vertex AI
	Project  string // of Google Cloud, as the path has it; "" in express mode
	Location string
	Section  int    // of the script that it was for: 0 before the first "# when", -1 none
	Step     int    // in that section, from 1; 0 none
	System   string // the system prompt
	Messages []Message
	Tools    []string        // the names that are offered
	Body     json.RawMessage // as received

	// Received is when the request was read, Answered when the last byte of its
	// answer was written: since the server was made, by its clock. Answered is 0
	// while the answer goes on.
	Received, Answered time.Duration
	// Written is how many bytes the body of the answer had, of one that has ended
	// and is no error.
	Written int
}

// Message is one of Request.Messages.
type Message struct {
	Role  string // user, model or what was sent
	Parts []Part
}

// Part is one part of a message. One of Text, Call, Result and MimeType says what it
// is; Thought and Signature are besides.
type Part struct {
	Text      string
	Thought   bool
	Signature string
	Call      *Call
	Result    *Result
	MimeType  string // of data
	Data      string // base64, as sent
}

// Call is a functionCall.
type Call struct {
	ID, Name string
	Args     json.RawMessage
}

// Result is a functionResponse.
type Result struct {
	ID, Name string
	Text     string // its output or error, or the whole response as JSON
	Error    bool
}

// Input returns the first text of the user.
func (r *Request) Input() string {
	for _, m := range r.Messages {
		if text := m.text(); m.Role != "model" && text != "" {
			return text
		}
	}
	return ""
}

// LastInput returns the texts of the last message of the user that has any.
func (r *Request) LastInput() string {
	for i := len(r.Messages) - 1; i >= 0; i-- {
		if text := r.Messages[i].text(); r.Messages[i].Role != "model" && text != "" {
			return text
		}
	}
	return ""
}

// text returns the texts of a message, one a line, without thoughts.
func (m Message) text() string {
	var texts []string
	for _, p := range m.Parts {
		if p.Text != "" && !p.Thought {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// wireRequest is what is read of a request's JSON; other keys are for [Request.Body] only.
type wireRequest struct {
	Contents          []wireContent `json:"contents"`
	SystemInstruction *wireContent  `json:"systemInstruction"`
	Tools             []struct {
		FunctionDeclarations []struct {
			Name string `json:"name"`
		} `json:"functionDeclarations"`
	} `json:"tools"`
	GenerateContentRequest *wireRequest `json:"generateContentRequest"` // of countTokens
}

// wireContent is a message as the API has it.
type wireContent struct {
	Role  string `json:"role"`
	Parts []struct {
		Text             string `json:"text"`
		Thought          bool   `json:"thought"`
		ThoughtSignature string `json:"thoughtSignature"`
		FunctionCall     *struct {
			ID   string          `json:"id"`
			Name string          `json:"name"`
			Args json.RawMessage `json:"args"`
		} `json:"functionCall"`
		FunctionResponse *struct {
			ID       string          `json:"id"`
			Name     string          `json:"name"`
			Response json.RawMessage `json:"response"`
		} `json:"functionResponse"`
		InlineData *struct {
			MimeType string `json:"mimeType"`
			Data     string `json:"data"`
		} `json:"inlineData"`
	} `json:"parts"`
}

// decode reads a body. Its errors are answers, in the real API's words where it has some.
func (r *Request) decode(body []byte) error {
	r.Body = body
	if len(bytes.TrimSpace(body)) == 0 {
		return fmt.Errorf("the request has no body")
	}
	var w wireRequest
	if err := json.Unmarshal(body, &w); err != nil {
		return fmt.Errorf("invalid JSON payload received: %w", err)
	}
	if w.GenerateContentRequest != nil {
		w = *w.GenerateContentRequest
	}
	if w.SystemInstruction != nil {
		r.System = w.SystemInstruction.message().text()
	}
	for _, c := range w.Contents {
		r.Messages = append(r.Messages, c.message())
	}
	for _, t := range w.Tools {
		for _, d := range t.FunctionDeclarations {
			r.Tools = append(r.Tools, d.Name)
		}
	}
	return nil
}

func (c wireContent) message() Message {
	m := Message{Role: c.Role}
	for _, p := range c.Parts {
		part := Part{Text: p.Text, Thought: p.Thought, Signature: p.ThoughtSignature}
		if f := p.FunctionCall; f != nil {
			part.Call = &Call{ID: f.ID, Name: f.Name, Args: f.Args}
		}
		if f := p.FunctionResponse; f != nil {
			part.Result = result(f.ID, f.Name, f.Response)
		}
		if p.InlineData != nil {
			part.MimeType, part.Data = p.InlineData.MimeType, p.InlineData.Data
		}
		m.Parts = append(m.Parts, part)
	}
	return m
}

// result reads the response of a tool: the API lets it be any object, and by convention it has
// output or error.
func result(id, name string, response json.RawMessage) *Result {
	r := &Result{ID: id, Name: name, Text: string(response)}
	var fields map[string]json.RawMessage
	if json.Unmarshal(response, &fields) != nil {
		return r
	}
	for _, key := range []string{"output", "error"} {
		v, ok := fields[key]
		if !ok {
			continue
		}
		r.Error = key == "error"
		if json.Unmarshal(v, &r.Text) != nil {
			r.Text = string(v)
		}
		break
	}
	return r
}

// check reports what the real API refuses in a conversation. Signed holds the
// signatures that this server gave to calls, by their ids.
func (r *Request) check(signed map[string]string) error {
	if len(r.Messages) == 0 {
		return fmt.Errorf("contents is not specified")
	}
	for i, m := range r.Messages {
		if len(m.Parts) == 0 {
			return fmt.Errorf("contents[%d].parts: contents.parts must not be empty", i)
		}
		var calls []*Call
		for _, p := range m.Parts {
			if p.Call == nil {
				continue
			}
			if m.Role != "model" {
				return fmt.Errorf("contents[%d]: a function call is not the user's", i)
			}
			calls = append(calls, p.Call)
			if want, ok := signed[p.Call.ID]; ok && p.Call.ID != "" && p.Signature != want {
				return fmt.Errorf("function call %q in contents[%d] is missing a thought_signature", p.Call.Name, i)
			}
		}
		if len(calls) > 0 {
			if err := r.checkAnswers(i, calls); err != nil {
				return err
			}
		}
	}
	for i, m := range r.Messages {
		if i > 0 && len(r.Messages[i-1].calls()) > 0 {
			continue
		}
		for _, p := range m.Parts {
			if p.Result != nil {
				return fmt.Errorf("contents[%d]: function response for %q comes not immediately after its function call", i, p.Result.Name)
			}
		}
	}
	return nil
}

// checkAnswers reports whether message i+1 answers each call of message i once. The
// order counts too: our client answers in that of the calls.
func (r *Request) checkAnswers(i int, calls []*Call) error {
	if i+1 == len(r.Messages) {
		return fmt.Errorf("contents[%d]: function calls without function responses", i)
	}
	var results []*Result
	for _, p := range r.Messages[i+1].Parts {
		if p.Result != nil {
			results = append(results, p.Result)
		}
	}
	if len(results) != len(calls) {
		return fmt.Errorf("the number of function response parts (%d) is not equal to the number of function call parts (%d) of contents[%d]",
			len(results), len(calls), i)
	}
	for n, c := range calls {
		if results[n].ID != c.ID || results[n].Name != c.Name {
			return fmt.Errorf("contents[%d]: function response %d is for %s %q, and the call was %s %q",
				i+1, n, results[n].Name, results[n].ID, c.Name, c.ID)
		}
	}
	return nil
}

// calls returns the calls of a message, in their order.
func (m Message) calls() []*Call {
	var calls []*Call
	for _, p := range m.Parts {
		if p.Call != nil {
			calls = append(calls, p.Call)
		}
	}
	return calls
}
