package workspace

import (
	"encoding/binary"
	"io/fs"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/agentls/agentls/internal/fault"
)

// Charset is how the characters of a file are stored.
type Charset uint8

// The charsets that are read and written.
const (
	CharsetUTF8    Charset = iota
	CharsetUTF16LE         // only with a byte order mark
	CharsetUTF16BE         // only with a byte order mark
)

// String returns the charset's name: "utf-16le".
func (c Charset) String() string {
	switch c {
	case CharsetUTF16LE:
		return "utf-16le"
	case CharsetUTF16BE:
		return "utf-16be"
	}
	return "utf-8"
}

// EOL is how the lines of a file end.
type EOL uint8

// The line ends of a file.
const (
	EOLNone  EOL = iota // a single line
	EOLLF               // all \n
	EOLCRLF             // all \r\n
	EOLCR               // all \r
	EOLMixed            // several of them
)

// String returns the line end as it is written, "\n" where there is no one.
func (e EOL) String() string {
	switch e {
	case EOLCRLF:
		return "\r\n"
	case EOLCR:
		return "\r"
	}
	return "\n"
}

// Text is a text file as it lies on disk.
type Text struct {
	Name         string // relative to the Disk's folder, links resolved; "" from DecodeText
	Text         string // valid UTF-8, without byte order mark, with the file's own line ends
	BOM          bool   // the file begins with a byte order mark
	Encoding     Charset
	EOL          EOL
	FinalNewline bool        // Text ends with a line end
	Mode         fs.FileMode // permissions; 0 from DecodeText
	Digest       Digest      // of the file's bytes
}

// DecodeText returns the text in content: UTF-8, or UTF-16 with a byte order
// mark. The error is [fault.Invalid] for anything else, a NUL included: writing
// it back would not give the same bytes.
func DecodeText(content []byte) (*Text, error) {
	t := &Text{Digest: DigestOf(content)}
	switch {
	case len(content) >= 2 && content[0] == 0xFF && content[1] == 0xFE:
		t.Encoding, t.BOM = CharsetUTF16LE, true
	case len(content) >= 2 && content[0] == 0xFE && content[1] == 0xFF:
		t.Encoding, t.BOM = CharsetUTF16BE, true
	case strings.HasPrefix(string(content[:min(3, len(content))]), "\uFEFF"):
		t.BOM = true
	}
	var ok bool
	if t.Encoding == CharsetUTF8 {
		if t.BOM {
			content = content[3:]
		}
		t.Text, ok = string(content), utf8.Valid(content)
	} else {
		t.Text, ok = decode16(content[2:], t.Encoding)
	}
	if !ok || strings.IndexByte(t.Text, 0) >= 0 {
		return nil, fault.New(fault.Invalid, "workspace.text", "the content is not text in UTF-8 or UTF-16")
	}
	t.EOL = eolOf(t.Text)
	t.FinalNewline = endsLine(t.Text)
	return t, nil
}

// Encode returns text as the bytes of a file with t's charset and byte order
// mark.
// It does not look at line ends; see [Text.Conform].
func (t *Text) Encode(text string) []byte {
	if t.Encoding != CharsetUTF8 {
		return encode16(text, t.Encoding)
	}
	if t.BOM {
		return append([]byte("\uFEFF"), text...)
	}
	return []byte(text)
}

// Conform returns replacement text with the line ends of t, when all of its are
// \n or all are \r\n, and with a final line end where t has one. A byte order
// mark at its beginning is dropped: [Text.Encode] writes the file's own.
// Mixed line ends and \r are left as they are given.
func (t *Text) Conform(text string) string {
	text = strings.TrimPrefix(text, "\uFEFF")
	switch t.EOL {
	case EOLLF:
		text = strings.ReplaceAll(text, "\r\n", "\n")
	case EOLCRLF:
		text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\n", "\r\n")
	}
	if t.FinalNewline && text != "" && !endsLine(text) {
		text += t.EOL.String()
	}
	return text
}

// endsLine reports whether text ends with a line end.
func endsLine(text string) bool {
	return strings.HasSuffix(text, "\n") || strings.HasSuffix(text, "\r")
}

// eolOf looks at every line end of text.
// A text with no line end is EOLNone, one with several kinds EOLMixed.
func eolOf(text string) EOL {
	crlf := strings.Count(text, "\r\n")
	lf := strings.Count(text, "\n") - crlf
	cr := strings.Count(text, "\r") - crlf
	switch {
	case crlf+lf+cr == 0:
		return EOLNone
	case lf+cr == 0:
		return EOLCRLF
	case crlf+cr == 0:
		return EOLLF
	case crlf+lf == 0:
		return EOLCR
	}
	return EOLMixed
}

// order is the order of the two bytes of a unit.
func order(c Charset) binary.ByteOrder {
	if c == CharsetUTF16BE {
		return binary.BigEndian
	}
	return binary.LittleEndian
}

// decode16 returns the text of UTF-16 units; ok is false for half a unit and for
// half a surrogate pair.
func decode16(content []byte, c Charset) (text string, ok bool) {
	if len(content)%2 != 0 {
		return "", false
	}
	var b strings.Builder
	b.Grow(len(content) / 2)
	for i := 0; i < len(content); i += 2 {
		r := rune(order(c).Uint16(content[i:]))
		if utf16.IsSurrogate(r) {
			if i += 2; i >= len(content) {
				return "", false
			}
			if r = utf16.DecodeRune(r, rune(order(c).Uint16(content[i:]))); r == utf8.RuneError {
				return "", false
			}
		}
		b.WriteRune(r)
	}
	return b.String(), true
}

// encode16 returns text as UTF-16 with its byte order mark.
func encode16(text string, c Charset) []byte {
	units := utf16.Encode([]rune("\uFEFF" + text))
	content := make([]byte, 0, 2*len(units))
	for _, u := range units {
		if c == CharsetUTF16BE {
			content = binary.BigEndian.AppendUint16(content, u)
		} else {
			content = binary.LittleEndian.AppendUint16(content, u)
		}
	}
	return content
}
