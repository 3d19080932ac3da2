package workspace

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/agentls/agentls/internal/fault"
)

var encodings = []Encoding{UTF8, UTF16, UTF32}

func TestNegotiate(t *testing.T) {
	for _, c := range []struct {
		offered []string
		want    Encoding
	}{
		{nil, UTF16}, {[]string{"utf-32", "utf-8"}, UTF32}, {[]string{"utf-7", "utf-8", "utf-16"}, UTF8}, {[]string{"UTF-8"}, UTF16},
	} {
		if got := Negotiate(c.offered); got != c.want {
			t.Errorf("Negotiate(%v) = %s, want %s", c.offered, got, c.want)
		}
	}
}

func TestOffset(t *testing.T) {
	const text = "né\r\n😀x\rz\n"
	for _, c := range []struct {
		p    Position
		e    Encoding
		want int
	}{
		{Position{0, 0}, UTF16, 0}, {Position{0, 1}, UTF16, 1}, {Position{0, 2}, UTF16, 3},
		{Position{0, 99}, UTF16, 3},                            // a line's end is before its \r\n
		{Position{1, 0}, UTF16, 5}, {Position{1, 1}, UTF16, 5}, // half of a pair is its beginning
		{Position{1, 2}, UTF16, 9}, {Position{1, 3}, UTF16, 10},
		{Position{1, 1}, UTF32, 9}, {Position{1, 3}, UTF8, 5}, {Position{1, 4}, UTF8, 9},
		{Position{0, 2}, UTF8, 1}, {Position{2, 0}, UTF16, 11}, {Position{2, 7}, UTF16, 12},
		{Position{3, 0}, UTF16, 13}, {Position{3, 5}, UTF16, 13}, {Position{4, 0}, UTF16, 13},
	} {
		got, err := Offset(text, c.p, c.e)
		indexed, errIndexed := NewLines(text).Offset(c.p, c.e)
		if err != nil || errIndexed != nil || got != c.want || indexed != c.want {
			t.Errorf("Offset(%v, %s) = %d, %v and %d, %v, want %d", c.p, c.e, got, err, indexed, errIndexed, c.want)
		}
	}
	for _, line := range []uint32{5, 1 << 31} {
		if _, err := Offset(text, Position{Line: line}, UTF16); fault.KindOf(err) != fault.Stale {
			t.Errorf("line %d: %v", line, err)
		}
		if _, err := NewLines(text).Offset(Position{Line: line}, UTF16); fault.KindOf(err) != fault.Stale {
			t.Errorf("line %d of Lines: %v", line, err)
		}
	}
	for _, offset := range []int{-1, len(text) + 1} {
		if _, err := PositionAt(text, offset, UTF8); fault.KindOf(err) != fault.Invalid {
			t.Errorf("offset %d: %v", offset, err)
		}
	}
}

// naiveLines splits text at line ends, one rune at a time.
func naiveLines(text string) (starts, ends []int) {
	starts = []int{0}
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '\r' && i+1 < len(text) && text[i+1] == '\n':
			ends, starts = append(ends, i), append(starts, i+2)
			i++
		case text[i] == '\r' || text[i] == '\n':
			ends, starts = append(ends, i), append(starts, i+1)
		}
	}
	return starts, append(ends, len(text))
}

// naiveOffset counts units from the beginning of the line on.
func naiveOffset(text string, p Position, e Encoding) (int, bool) {
	starts, ends := naiveLines(text)
	if int(p.Line) == len(starts) {
		return len(text), true
	}
	if int(p.Line) > len(starts) {
		return 0, false
	}
	line := text[starts[p.Line]:ends[p.Line]]
	at, units := 0, 0
	for at < len(line) {
		r, size := utf8.DecodeRuneInString(line[at:])
		w := 1
		switch {
		case e == UTF8:
			w = size
		case e == UTF16 && r > 0xFFFF:
			w = 2
		}
		if units+w > int(p.Character) {
			break
		}
		units += w
		at += size
	}
	return starts[p.Line] + at, true
}

var texts = rapid.Custom(func(t *rapid.T) string {
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{
		"a", "é", "漢", "😀", "\n", "\r\n", "\r", " ", "\u2028", "\xff", "\xe2\x82", "word",
	}), 0, 40).Draw(t, "parts"), "")
})

func checkPositions(t interface{ Fatalf(string, ...any) }, text string, p Position, e Encoding) {
	want, ok := naiveOffset(text, p, e)
	got, err := Offset(text, p, e)
	if ok != (err == nil) || (ok && got != want) {
		t.Fatalf("Offset(%q, %v, %s) = %d, %v, want %d, %v", text, p, e, got, err, want, ok)
	}
	lines := NewLines(text)
	if indexed, err2 := lines.Offset(p, e); (err == nil) != (err2 == nil) || indexed != got {
		t.Fatalf("Lines.Offset(%q, %v, %s) = %d, %v, want %d, %v", text, p, e, indexed, err2, got, err)
	}
	if err != nil {
		return
	}
	back, err := PositionAt(text, got, e)
	if err != nil {
		t.Fatalf("PositionAt(%q, %d): %v", text, got, err)
	}
	if indexed, err := lines.Position(got, e); err != nil || indexed != back {
		t.Fatalf("Lines.Position(%q, %d, %s) = %v, %v, want %v", text, got, e, indexed, err, back)
	}
	if again, err := Offset(text, back, e); err != nil || again != got {
		t.Fatalf("%q: %d -> %v -> %d, %v (%s)", text, got, back, again, err, e)
	}
}

func TestPositionsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := texts.Draw(t, "text")
		p := Position{uint32(rapid.IntRange(0, 12).Draw(t, "line")), uint32(rapid.IntRange(0, 12).Draw(t, "character"))}
		checkPositions(t, text, p, rapid.SampledFrom(encodings).Draw(t, "encoding"))
	})
}

func TestPositionAtIsInItsLine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := texts.Draw(t, "text")
		e := rapid.SampledFrom(encodings).Draw(t, "encoding")
		offset := rapid.IntRange(0, len(text)).Draw(t, "offset")
		starts, ends := naiveLines(text)
		p, err := PositionAt(text, offset, e)
		if err != nil || offset < starts[p.Line] || (int(p.Line)+1 < len(starts) && offset >= starts[p.Line+1]) {
			t.Fatalf("PositionAt(%q, %d) = %v, %v", text, offset, p, err)
		}
		if at, _ := Offset(text, p, e); at > min(offset, ends[p.Line]) {
			t.Fatalf("PositionAt(%q, %d) = %v lies behind it", text, offset, p)
		}
	})
}

func TestLines(t *testing.T) {
	l := NewLines("a\r\n\rb\n")
	if got := []string{l.Line(0), l.Line(1), l.Line(2), l.Line(3), l.Line(4), l.Line(-1)}; strings.Join(got, "|") != "a||b|||" || l.Count() != 4 {
		t.Errorf("%q, %d lines", got, l.Count())
	}
}

// Old Mac line ends must not make a lookup quadratic: 2 MB of them take
// milliseconds, or minutes.
func TestCarriageReturnsAreLinear(t *testing.T) {
	text := strings.Repeat("\r", 2<<20)
	if at, err := Offset(text, Position{Line: 2 << 20}, UTF16); err != nil || at != len(text) {
		t.Fatal(at, err)
	}
}

func FuzzOffset(f *testing.F) {
	f.Add("né\r\n😀x\n", uint32(1), uint32(1), byte(0))
	f.Add("\r\r\n\xf0\x9f", uint32(2), uint32(9), byte(1))
	f.Fuzz(func(t *testing.T, text string, line, character uint32, e byte) {
		checkPositions(t, text, Position{line % 64, character % 1024}, encodings[int(e)%len(encodings)])
	})
}

func megabyte() string {
	return strings.Repeat("func f() { return \"é😀\" } // 64 bytes or so of a line of code\n", 1<<14)
}

func BenchmarkOffset(b *testing.B) {
	text := megabyte()
	p := Position{1 << 13, 30}
	b.Run("text", func(b *testing.B) {
		for b.Loop() {
			if _, err := Offset(text, p, UTF16); err != nil {
				b.Fatal(err)
			}
		}
	})
	lines := NewLines(text)
	b.Run("lines", func(b *testing.B) {
		for b.Loop() {
			if _, err := lines.Offset(p, UTF16); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkPosition(b *testing.B) {
	text := megabyte()
	b.Run("text", func(b *testing.B) {
		for b.Loop() {
			if _, err := PositionAt(text, len(text)/2, UTF16); err != nil {
				b.Fatal(err)
			}
		}
	})
	lines := NewLines(text)
	b.Run("lines", func(b *testing.B) {
		for b.Loop() {
			if _, err := lines.Position(len(text)/2, UTF16); err != nil {
				b.Fatal(err)
			}
		}
	})
}
