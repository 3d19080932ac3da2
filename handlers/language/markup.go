package language

import (
	"strings"

	"go.lsp.dev/protocol"
)

// textCaps returns what the client said of documents; all of it may be absent.
func (h *Handlers) textCaps() protocol.TextDocumentClientCapabilities {
	if h.client.TextDocument == nil {
		return protocol.TextDocumentClientCapabilities{}
	}
	return *h.client.TextDocument
}

// on reports whether a capability is there and on.
func on(capability *bool) bool { return capability != nil && *capability }

// markup is a text in Markdown in the format that a client prefers: Markdown where
// it names that first, else without marks.
// No formats mean plain text, as does a client that says nothing.
func markup(formats []protocol.MarkupKind, markdown string) *protocol.MarkupContent {
	for _, f := range formats {
		if f == protocol.MarkupKindMarkdown {
			return &protocol.MarkupContent{Kind: f, Value: markdown}
		}
		if f == protocol.MarkupKindPlainText {
			break
		}
	}
	return &protocol.MarkupContent{Kind: protocol.MarkupKindPlainText, Value: plainText(markdown)}
}

// plainText takes the marks out of the Markdown that we write: bold, code, and the
// backslashes that keep names as they are.
// It knows nothing else of Markdown: lists, headings and links stay as they are written.
func plainText(markdown string) string {
	var b strings.Builder
	for s := markdown; s != ""; {
		switch {
		case s[0] == '\\' && len(s) > 1 && s[1] < 0x80 && strings.IndexByte(punctuation, s[1]) >= 0:
			b.WriteByte(s[1])
			s = s[2:]
		case s[0] == '`':
			rest := strings.TrimLeft(s, "`")
			fence := s[:len(s)-len(rest)]
			if code, after, ok := cutCode(rest, fence); ok {
				b.WriteString(code)
				s = after
				continue
			}
			b.WriteString(fence)
			s = rest
		case strings.HasPrefix(s, "**"):
			s = s[2:]
		default:
			b.WriteByte(s[0])
			s = s[1:]
		}
	}
	return b.String()
}

// punctuation is what a backslash stands before.
const punctuation = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"

// cutCode returns the code before a fence of its own length, without the one
// space that may be on both sides of it, and what follows the fence.
func cutCode(s, fence string) (code, after string, ok bool) {
	for i := 0; i < len(s); i++ {
		if s[i] != '`' {
			continue
		}
		n := len(s[i:]) - len(strings.TrimLeft(s[i:], "`"))
		if n == len(fence) {
			code = s[:i]
			if len(code) > 1 && code[0] == ' ' && code[len(code)-1] == ' ' && strings.Trim(code, " ") != "" {
				code = code[1 : len(code)-1]
			}
			return code, s[i+n:], true
		}
		i += n - 1
	}
	return "", s, false
}
