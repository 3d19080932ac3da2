package mcp

import (
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/agents/tool/builtin"
)

// The limits of what a result gives to a model.
const (
	maxText  = 4 << 20  // bytes of text; the run cuts it further
	maxMedia = 12 << 20 // bytes of images and documents
	maxParts = 100
)

// answer is the result of a call as a server wrote it.
// Members are those of CallToolResult in the protocol; what is not named here is ignored.
type answer struct {
	Content []struct {
		Type        string `json:"type"`
		Text        string `json:"text"`
		Data        string `json:"data"`
		MimeType    string `json:"mimeType"`
		URI         string `json:"uri"`
		Name        string `json:"name"`
		Description string `json:"description"`
		Resource    struct {
			URI      string `json:"uri"`
			MimeType string `json:"mimeType"`
			Text     string `json:"text"`
			Blob     string `json:"blob"`
		} `json:"resource"`
	} `json:"content"`
	Structured jsontext.Value `json:"structuredContent"`
	IsError    bool           `json:"isError"`
	InputAsked jsontext.Value `json:"inputRequests"`
}

// readResult turns what a server answered into the result of a tool. Others wrote
// it: it taints the session.
// A result that says that it is an error is a result all the same, with Failed. The type of an
// image or document is found out from its data, since what the server says of it may be wrong. The
// error follows "answered, but ".
func readResult(raw []byte) (*tool.Result, error) {
	var a answer
	if err := json.Unmarshal(raw, &a); err != nil {
		return nil, fmt.Errorf("its result cannot be read: %w", err)
	}
	// A result may be a question in place of an answer; nobody is asked by it here.
	if !isNone(a.InputAsked) && string(a.InputAsked) != "{}" {
		return nil, fmt.Errorf("it asks for input that it does not get here")
	}
	r := &tool.Result{Taint: tool.Foreign, Failed: a.IsError}
	var b strings.Builder
	room := maxMedia
	add := func(text string) {
		if b.Len() > 0 && text != "" {
			b.WriteString("\n")
		}
		b.WriteString(text)
	}
	attach := func(what, mime, encoded string) {
		switch data, err := base64.StdEncoding.DecodeString(encoded); {
		case len(encoded) > base64.StdEncoding.EncodedLen(room):
			add(fmt.Sprintf("[%s of type %s is left out: it is too large]", what, tool.Escape(mime)))
		case err != nil:
			add(fmt.Sprintf("[%s of type %s is left out: its data cannot be read]", what, tool.Escape(mime)))
		default:
			kind, err := builtin.MediaType(data)
			if err != nil {
				add(fmt.Sprintf("[%s of type %s is left out: %v]", what, tool.Escape(mime), err))
				return
			}
			room -= len(data)
			r.Media = append(r.Media, model.Media{MimeType: kind, Data: data})
		}
	}
	for i, part := range a.Content {
		if i == maxParts {
			add("[" + tool.Count(len(a.Content)-i, "more part is", "more parts are") + " left out]")
			break
		}
		switch part.Type {
		case "text":
			add(part.Text)
		case "image":
			attach("an image", part.MimeType, part.Data)
		case "audio":
			attach("a recording", part.MimeType, part.Data)
		case "resource":
			add("[resource " + tool.Escape(part.Resource.URI) + "]")
			if part.Resource.Blob != "" {
				attach("its content", part.Resource.MimeType, part.Resource.Blob)
			}
			add(part.Resource.Text)
		case "resource_link":
			add(strings.TrimSpace(fmt.Sprintf("[link to %s: %s] %s", tool.Escape(part.Name),
				tool.Escape(part.URI), part.Description)))
		default:
			add(fmt.Sprintf("[a part of type %q is left out: it is not known here]", part.Type))
		}
	}
	// Servers give structured content besides the same as text; it counts where there is no
	// text.
	if b.Len() == 0 && len(r.Media) == 0 && !isNone(a.Structured) {
		add(string(a.Structured))
	}
	if b.Len() == 0 && len(r.Media) == 0 {
		add("(no output)")
	}
	r.Content = strings.ToValidUTF8(b.String(), "\uFFFD")
	if len(r.Content) > maxText {
		r.Content, _ = tool.CutTo(r.Content, maxText)
	}
	return r, nil
}

// isNone reports whether a member is absent or null.
func isNone(v jsontext.Value) bool { return len(v) == 0 || v.Kind() == 'n' }

// leftOut returns parts with a note of those that are not among them, of which there are more.
func leftOut(parts []string, all int) []string {
	if more := all - len(parts); more > 0 {
		parts = append(parts, "["+tool.Count(more, "more part is", "more parts are")+" left out]")
	}
	return parts
}
