package session

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"path"
	"strings"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/model"
)

// Render returns a person's input as a model reads it: text as it is; a
// resource as its file's name, its lines and its text in a fence; a link as its
// name and URI; diagnostics as a list; an image as media with its data. It is a
// function of the blocks alone, so a log that is read again gives the same.
// What cannot be read (an image that is not base64, say) is named in words.
func Render(blocks []activity.ContentBlock) []model.Part {
	parts := make([]model.Part, 0, len(blocks))
	text := func(s string) {
		if s != "" {
			parts = append(parts, model.Part{Text: valid(s)})
		}
	}
	for _, b := range blocks {
		switch b.Type {
		case "text":
			text(b.Text)
		case "image":
			if media := media(b.MimeType, b.Data); media != nil {
				parts = append(parts, model.Part{Media: media})
			} else {
				text("[an image that could not be read]")
			}
		case "resource_link":
			name := b.Name
			if name == "" {
				name = path.Base(fileName(b.URI))
			}
			text(fmt.Sprintf("%s (%s%s)", name, b.URI, lineRange(", ", b.Range)))
		case "resource":
			if r := b.Resource; r != nil {
				if media := media(r.MimeType, r.Blob); media != nil {
					parts = append(parts, model.Part{Text: valid(fileName(r.URI) + ":")}, model.Part{Media: media})
				} else {
					text(resource(r))
				}
			}
		case "diagnostics":
			text(diagnostics(b.URI, b.Items))
		// A kind that only newer clients know is given as its text, if it has one.
		default:
			if b.Text == "" {
				b.Text = "[content of the kind " + b.Type + ", which cannot be shown]"
			}
			text(b.Text)
		}
	}
	return parts
}

// media returns data that a model may take; nil where there is none.
func media(mime, data string) *model.Media {
	kind, _, _ := strings.Cut(mime, "/")
	if data == "" || (kind != "image" && kind != "audio" && kind != "video" && mime != "application/pdf") {
		return nil
	}
	raw, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		return nil
	}
	return &model.Media{MimeType: valid(mime), Data: raw}
}

// resource returns a file's name, lines and text in a fence that is longer than
// any in the text, so that the text cannot end it.
func resource(r *activity.Resource) string {
	name := fileName(r.URI)
	if r.Blob != "" && r.Text == "" {
		return fmt.Sprintf("[the binary file %s, %s]", name, r.MimeType)
	}
	run, longest := 0, 0 // of backticks
	for i := range len(r.Text) {
		if run++; r.Text[i] != '`' {
			run = 0
		}
		longest = max(longest, run)
	}
	fence := strings.Repeat("`", max(3, longest+1))
	end := "\n"
	if strings.HasSuffix(r.Text, "\n") {
		end = ""
	}
	language := strings.TrimPrefix(path.Ext(name), ".")
	if strings.Contains(language, "`") { // it would make the fence longer
		language = ""
	}
	return name + lineRange(", ", r.Range) + ":\n" + fence + language + "\n" + r.Text + end + fence
}

// diagnostics lists LSP diagnostics, one a line.
// Lines and columns count from 1, as people and compilers do. What is no list
// of diagnostics is given as it is.
func diagnostics(uri string, items json.RawMessage) string {
	var list []struct {
		Range    definition.Range `json:"range"`
		Severity int              `json:"severity"`
		Code     any              `json:"code"`
		Source   string           `json:"source"`
		Message  string           `json:"message"`
	}
	name := fileName(uri)
	if err := json.Unmarshal(items, &list); err != nil {
		return "Diagnostics of " + name + ": " + string(items)
	}
	severity := func(n int) string {
		if n >= 1 && n <= 4 {
			return []string{"error", "warning", "info", "hint"}[n-1]
		}
		return "error" // what LSP leaves to the client
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Diagnostics of %s:", name)
	for _, d := range list {
		fmt.Fprintf(&b, "\n- line %d, column %d: %s: %s", d.Range.Start.Line+1, d.Range.Start.Character+1,
			severity(d.Severity), d.Message)
		switch {
		case d.Source != "" && d.Code != nil:
			fmt.Fprintf(&b, " (%s %v)", d.Source, d.Code)
		case d.Source != "":
			fmt.Fprintf(&b, " (%s)", d.Source)
		}
	}
	if len(list) == 0 {
		b.WriteString(" none")
	}
	return b.String()
}

// lineRange returns the lines that a range touches, counted from 1, after sep;
// "" without a range.
func lineRange(sep string, r *definition.Range) string {
	if r == nil {
		return ""
	}
	first, last := r.Start.Line+1, r.End.Line+1
	if r.End.Character == 0 && last > first {
		last-- // the range ends before this line's first character
	}
	if first == last {
		return fmt.Sprintf("%sline %d", sep, first)
	}
	return fmt.Sprintf("%slines %d-%d", sep, first, last)
}

// fileName returns the path of a file URI, any other URI as it is, on one line.
func fileName(uri string) string {
	if u, err := url.Parse(uri); err == nil && u.Scheme == "file" {
		uri = u.Path
	}
	return strings.Map(oneLineOnly, uri)
}
