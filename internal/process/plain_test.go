package process_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/agentls/agentls/internal/process"
)

func TestSEC73PlainDropsTerminalSequences(t *testing.T) {
	for in, want := range map[string]string{
		"\x1b[31mred\x1b[0m": "red", "a\x1b]0;title\x07b": "ab", "a\x1b]8;;http://x\x1b\\b": "ab", "\x1bPq#\x1b\\x": "x", "a\r\nb\rc": "a\nb\nc", "50%\r100%\n": "50%\n100%\n",
		"a\bb": "ab", "\u009b31mx": "x", "a\xffb": "a\ufffdb", "é日": "é日", "a\x1b]0;never ended\nb": "a\nb", "\x1b(Bx": "x", "tab\there": "tab\there",
	} {
		var p process.Plain
		if got := p.Convert([]byte(in)) + p.Flush(); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
		var bytewise process.Plain
		var b strings.Builder
		for i := range len(in) {
			b.WriteString(bytewise.Convert([]byte{in[i]}))
		}
		if got := b.String() + bytewise.Flush(); got != want {
			t.Errorf("%q byte by byte: %q, want %q", in, got, want)
		}
	}
}

func FuzzPlain(f *testing.F) {
	f.Add([]byte("\x1b[31mx\x1b]0;a\x07\xff"), 3)
	f.Fuzz(func(t *testing.T, data []byte, at int) {
		var p, q process.Plain
		whole := p.Convert(data) + p.Flush()
		at = max(0, min(at, len(data)))
		parts := q.Convert(data[:at]) + q.Convert(data[at:]) + q.Flush()
		if whole != parts || !utf8.ValidString(whole) {
			t.Errorf("%q: %q whole, %q in parts", data, whole, parts)
		}
		if strings.ContainsFunc(whole, func(r rune) bool { return (r < 0x20 && r != '\n' && r != '\t') || (r >= 0x7f && r <= 0x9f) }) {
			t.Errorf("%q leaves %q", data, whole)
		}
	})
}
