//go:build unix

package workspace

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/agentls/agentls/internal/fault"
)

func TestWritesKeepTheFilesForm(t *testing.T) {
	utf16le := "\xff\xfeh\x00i\x00\r\x00\n\x00"
	utf16be := "\xfe\xff\x00h\x00i\x00\n"
	for _, c := range []struct{ name, old, text, want string }{
		{"crlf", "a\r\nb\r\n", "x\ny\r\nz\n", "x\r\ny\r\nz\r\n"},
		{"lf", "a\nb\n", "x\r\ny\n", "x\ny\n"},
		{"mixed", "a\r\nb\n", "x\ny\r\n", "x\ny\r\n"},
		{"final newline", "a\n", "x", "x\n"},
		{"final crlf", "a\r\nb\r\n", "x\ny", "x\r\ny\r\n"},
		{"no final newline", "a\nb", "x\ny", "x\ny"},
		{"one added", "a\nb", "x\ny\n", "x\ny\n"},
		{"emptied", "a\n", "", ""},
		{"bom", "\xef\xbb\xbfa\n", "\ufeffx\n", "\xef\xbb\xbfx\n"},
		{"bom, text without", "\xef\xbb\xbfa\n", "x\n", "\xef\xbb\xbfx\n"},
		{"utf-16le", utf16le, "h😀\n", "\xff\xfeh\x00\x3d\xd8\x00\xde\r\x00\n\x00"},
		{"utf-16be", utf16be, "hi\nho", "\xfe\xff\x00h\x00i\x00\n\x00h\x00o\x00\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, _ := openDisk(t)
			put(t, d, "f", c.old)
			read, err := d.ReadText(t.Context(), "f", 0)
			must(t, err)
			text, err := d.Write(t.Context(), Write{Name: "f", Text: c.text, Seen: read.Digest})
			if err != nil || get(t, d, "f") != c.want || text.Digest != DigestOf(c.want) {
				t.Errorf("%v: %q, want %q", err, get(t, d, "f"), c.want)
			}
			if _, err := d.Write(t.Context(), Write{Name: "f", Text: c.old, Seen: text.Digest, Exact: true}); err != nil || get(t, d, "f") != c.old {
				t.Errorf("brought back: %v, %q, want %q", err, get(t, d, "f"), c.old)
			}
		})
	}
}

func TestDecodeText(t *testing.T) {
	for _, c := range []struct {
		content string
		want    Text
	}{
		{"", Text{}},
		{"a", Text{Text: "a"}},
		{"a\n", Text{Text: "a\n", EOL: EOLLF, FinalNewline: true}},
		{"a\rb\r", Text{Text: "a\rb\r", EOL: EOLCR, FinalNewline: true}},
		{"a\r\nb", Text{Text: "a\r\nb", EOL: EOLCRLF}},
		{"a\r\nb\n", Text{Text: "a\r\nb\n", EOL: EOLMixed, FinalNewline: true}},
		{"a\r\r\n", Text{Text: "a\r\r\n", EOL: EOLMixed, FinalNewline: true}},
		{"\xef\xbb\xbf", Text{BOM: true}},
		{"\xff\xfe=\xd8\x00\xde", Text{Text: "😀", BOM: true, Encoding: CharsetUTF16LE}},
	} {
		got, err := DecodeText([]byte(c.content))
		if err != nil {
			t.Errorf("%q: %v", c.content, err)
			continue
		}
		c.want.Digest = DigestOf(c.content)
		if *got != c.want {
			t.Errorf("%q is %+v, want %+v", c.content, *got, c.want)
		}
	}
	for _, binary := range []string{"\x00", "a\xff", "\xff\xfea", "\xff\xfe\x00\xd8", "\xff\xfe\x00\xdca\x00", "\xff\xfe\x00\x00a\x00\x00\x00", "\xff\xfe\x00\xd8a\x00", "\x89PNG\r\n\x1a\n"} {
		if _, err := DecodeText([]byte(binary)); fault.KindOf(err) != fault.Invalid {
			t.Errorf("%q: %v", binary, err)
		}
	}
	d, _ := openDisk(t)
	put(t, d, "a.png", "\x89PNG\x00")
	if _, err := d.ReadText(t.Context(), "a.png", 0); fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), `"a.png"`) {
		t.Error(err)
	}
	if _, err := d.Write(t.Context(), Write{Name: "a.png", Text: "x", Seen: DigestOf("\x89PNG\x00")}); fault.KindOf(err) != fault.Invalid {
		t.Error(err)
	}
}

func TestTextRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strings.ToValidUTF8(texts.Draw(t, "text"), "?")
		form := &Text{Encoding: rapid.SampledFrom([]Charset{CharsetUTF8, CharsetUTF16LE, CharsetUTF16BE}).Draw(t, "charset"), BOM: true}
		got, err := DecodeText(form.Encode(text))
		if err != nil || got.Text != text || got.Encoding != form.Encoding || !got.BOM {
			t.Fatalf("%q came back as %+v, %v", text, got, err)
		}
	})
}

func FuzzDecodeText(f *testing.F) {
	for _, s := range []string{"", "a\r\n", "\xef\xbb\xbfa", "\xff\xfea\x00", "\xfe\xff\x00a", "\xff\xfe\x00\xd8"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		text, err := DecodeText(content)
		if err == nil && string(text.Encode(text.Text)) != string(content) {
			t.Fatalf("%q came back as %q", content, text.Encode(text.Text))
		}
	})
}
