package process

import (
	"bytes"
	"unicode/utf8"
)

// Plain makes plain text of what a program writes to a terminal: it drops
// escape sequences (CSI, OSC, DCS and the like, SEC-73), backspaces and other
// control characters, makes line ends \n, and replaces what is no UTF-8. It
// keeps what a write cut in the middle for the next. The zero Plain is ready;
// it is not safe for concurrent use.
type Plain struct {
	state byte   // where in a sequence: 0 outside
	kept  []byte // an incomplete rune
	cr    bool   // the last character was a carriage return
}

// The states within escape sequences.
const (
	stText   = iota
	stEscape // after ESC
	stCSI    // until a byte 0x40..0x7e
	stString // OSC, DCS, SOS, PM, APC: until BEL or ESC \
	stStringEscape
)

// Convert returns the plain text of p, which follows what was given before.
// The result is valid UTF-8.
func (t *Plain) Convert(p []byte) string {
	if len(t.kept) > 0 {
		p = append(t.kept, p...)
		t.kept = nil
	}
	var b bytes.Buffer
	b.Grow(len(p))
	for i := 0; i < len(p); {
		if t.state == stText && !t.cr {
			// Most of what comes is text as it is, and is copied at once.
			if n := ordinary(p[i:]); n > 0 {
				b.Write(p[i : i+n])
				i += n
				continue
			}
		}
		if !utf8.FullRune(p[i:]) {
			t.kept = bytes.Clone(p[i:])
			break
		}
		r, size := utf8.DecodeRune(p[i:])
		i += size
		t.step(&b, r)
	}
	return b.String()
}

// ordinary returns how many bytes at the start of p are text as it is.
func ordinary(p []byte) int {
	for i, c := range p {
		if c >= 0x7f || (c < 0x20 && c != '\n' && c != '\t') {
			return i
		}
	}
	return len(p)
}

// Flush returns what is left when nothing follows. An incomplete rune is U+FFFD, a
// sequence that was not ended is dropped, and t is as new.
func (t *Plain) Flush() string {
	left := len(t.kept) > 0
	*t = Plain{}
	if left {
		return string(utf8.RuneError)
	}
	return ""
}

// step takes one character in.
//
// Sequences of a terminal are dropped, line ends become \n, and other control characters
// go. A sequence that is never ended stops at the next line end.
func (t *Plain) step(b *bytes.Buffer, r rune) {
	switch t.state {
	case stEscape:
		switch r {
		case '[':
			t.state = stCSI
		case ']', 'P', 'X', '^', '_':
			t.state = stString
		default:
			if r >= 0x20 && r <= 0x2f {
				return // an intermediate: the final byte is still to come
			}
			t.state = stText
		}
		return
	case stCSI:
		if r >= 0x40 && r <= 0x7e {
			t.state = stText
			return
		}
		if r >= 0x20 && r < 0x40 {
			return
		}
		t.state = stText // malformed: what follows is text
	case stString:
		switch r {
		case 0x07, 0x9c:
			t.state = stText
		case 0x1b:
			t.state = stStringEscape
		case '\n': // never ended: a program that prints an ESC by accident must not swallow the rest
			t.state = stText
			b.WriteByte('\n')
		}
		return
	case stStringEscape:
		t.state = stText
		if r == '\\' {
			return
		}
	}
	if t.cr {
		t.cr = false
		if r == '\n' {
			return // the line end is written already
		}
	}
	switch {
	case r == 0x1b:
		t.state = stEscape
	case r == 0x9b:
		t.state = stCSI
	case r == 0x90 || r == 0x98 || (r >= 0x9d && r <= 0x9f):
		t.state = stString
	case r == '\r':
		t.cr = true
		b.WriteByte('\n')
	case r == '\n' || r == '\t':
		b.WriteRune(r)
	case r < 0x20, r >= 0x7f && r <= 0x9f:
	default:
		b.WriteRune(r)
	}
}
