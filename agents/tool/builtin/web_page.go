package builtin

import (
	"bytes"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"
	"golang.org/x/net/html/charset"

	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/dial"
)

// pageText returns the type of what was fetched, and its text: HTML as Markdown,
// other text as it is. The error is for the model.
func pageText(data []byte, contentType string, u *dial.URL) (kind, text string, err error) {
	// A header that is missing or cannot be parsed is replaced by a look at the bytes.
	kind, _, err = mime.ParseMediaType(contentType)
	if err != nil {
		contentType = http.DetectContentType(data)
		kind, _, _ = mime.ParseMediaType(contentType)
	}
	isHTML := kind == "text/html" || kind == "application/xhtml+xml"
	if !isHTML && !isText(kind) {
		return "", "", tool.Errorf(tool.CodeBinary, "%s is %s, which web_fetch does not read.", u, tool.Escape(kind))
	}
	if len(data) == 0 {
		return kind, "(empty)", nil
	}
	// Of a page that says nothing the library takes windows-1252 where its first KiB is ASCII.
	if _, name, sure := charset.DetermineEncoding(data, contentType); !sure && name == "windows-1252" && utf8.Valid(data) {
		contentType = kind + "; charset=utf-8"
	}
	reader, err := charset.NewReader(bytes.NewReader(data), contentType)
	if err == nil {
		data, err = io.ReadAll(reader)
	}
	// Text in UTF-16 has zero bytes as well, and is UTF-8 by now.
	if err != nil || bytes.IndexByte(data, 0) >= 0 {
		return "", "", tool.Errorf(tool.CodeBinary, "%s says that it is %s, and is no text.", u, tool.Escape(kind))
	}
	data = bytes.ToValidUTF8(data, []byte("\ufffd"))
	if isHTML {
		var whole bool
		data, whole = trimHTML(data)
		if data, err = newConverter().ConvertReader(bytes.NewReader(data),
			converter.WithDomain(u.String())); err != nil {
			return "", "", tool.Errorf(tool.CodeFailed, "%s cannot be read as HTML: %s.", u, err)
		}
		if !whole {
			data = append(data, "\n\n[the rest of the page is left out: it has too much markup]"...)
		}
	}
	return kind, string(data), nil
}

// isText reports whether a type that is not HTML is text.
func isText(kind string) bool {
	if strings.HasPrefix(kind, "text/") || strings.HasSuffix(kind, "+json") ||
		(strings.HasSuffix(kind, "+xml") && kind != "image/svg+xml") {
		return true
	}
	return slices.Contains([]string{
		"application/json", "application/xml", "application/yaml", "application/x-yaml", "application/toml",
		"application/javascript", "application/ecmascript", "application/x-ndjson", "application/sql",
	}, kind)
}

// maxTags bounds the markup of a page, and maxWork its tags times the bytes of its
// text: a parser of HTML puts each text after the one before it, and so
// takes the square of the time where tags mean nothing.
const (
	maxTags = 100_000
	maxWork = 1 << 33
)

// trimHTML returns HTML without scripts, styles, drawings and comments, cut where
// it would take seconds to parse, and whether it is whole.
// The parser's time grows with tags times text, hence the bound on their product.
//
// It works on tokens and builds no tree, so its own time is linear. A script that is not
// closed takes the rest of the page with it.
func trimHTML(data []byte) (trimmed []byte, whole bool) {
	var b bytes.Buffer
	z := html.NewTokenizer(bytes.NewReader(data))
	tags, text, dropped := 0, 0, ""
	// Where a bound is met the rest of the page is left out.
	for tags < maxTags && tags*text < maxWork {
		kind := z.Next()
		raw := z.Raw() // before TagName, which changes it
		switch kind {
		case html.ErrorToken:
			return b.Bytes(), true
		case html.CommentToken:
			continue
		case html.TextToken:
			if dropped == "" {
				text += len(raw)
			}
		default:
			tags++
			raw = bytes.Clone(raw)
			name, _ := z.TagName()
			drops := slices.Contains([]string{"script", "style", "svg"}, string(name))
			if drops && kind == html.StartTagToken && dropped == "" {
				dropped = string(name)
				continue
			}
			if kind == html.EndTagToken && dropped == string(name) {
				dropped = ""
				continue
			}
		}
		if dropped == "" {
			b.Write(raw)
		}
	}
	return b.Bytes(), false
}

// newConverter returns what makes Markdown of HTML. Of images the alternative
// text stays: an address to load one from is a way to send something (SEC-103).
func newConverter() *converter.Converter {
	c := converter.NewConverter(converter.WithEscapeMode(converter.EscapeModeDisabled),
		converter.WithPlugins(base.NewBasePlugin(), commonmark.NewCommonmarkPlugin(), table.NewTablePlugin()))
	c.Register.RendererFor("img", converter.TagTypeInline, func(_ converter.Context, w converter.Writer,
		n *html.Node) converter.RenderStatus {
		for _, a := range n.Attr {
			if a.Key == "alt" && strings.TrimSpace(a.Val) != "" {
				_, _ = w.WriteString("(image: " + strings.Join(strings.Fields(a.Val), " ") + ")")
			}
		}
		return converter.RenderSuccess
	}, converter.PriorityEarly)
	return c
}
