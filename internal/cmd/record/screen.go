//go:build linux

package main

import (
	"bytes"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/hinshun/vt10x"
)

// screen is what a terminal shows.
type screen struct {
	term vt10x.Terminal
	rest []byte // the beginning of a sequence or of a rune
}

func newScreen(cols, rows int) *screen { return &screen{term: vt10x.New(vt10x.WithSize(cols, rows))} }

// The attributes of cells, as the emulation numbers them.
const (
	reverse = 1 << iota
	underline
	bold
	_
	italic
	blink
)

var (
	sequence = regexp.MustCompile(`\x1b\[([<=>?]?)([0-9;:]*)([ -/]*)([@-~])`)
	begun    = regexp.MustCompile(`\x1b(\[[<=>?]?[0-9;:]*[ -/]*|\][^\x07\x1b]*)?$`)
)

// write takes what the terminal is sent. The emulation knows neither dim text, for
// which it gets blinking, that nobody here uses, nor what is asked of newer
// terminals, which it would take for something else.
func (s *screen) write(data []byte) {
	data = append(s.rest, data...)
	data, s.rest = cutRunes(data)
	if at := begun.FindIndex(data); at != nil {
		s.rest = append(bytes.Clone(data[at[0]:]), s.rest...)
		data = data[:at[0]]
	}
	data = sequence.ReplaceAllFunc(data, func(seq []byte) []byte {
		part := sequence.FindSubmatch(seq)
		private, args, between, final := string(part[1]), string(part[2]), string(part[3]), string(part[4])
		switch {
		case between != "" || (private != "" && !strings.Contains("hl", final)):
			return nil
		case private == "" && final == "m":
			all := strings.Split(args, ";")
			for n, arg := range all {
				if n > 0 && (all[n-1] == "5" || all[n-1] == "2") && n > 1 && (all[n-2] == "38" || all[n-2] == "48") {
					continue // a part of a colour
				}
				switch arg {
				case "2":
					all[n] = "5"
				case "22":
					all[n] = "22;25"
				}
			}
			return []byte("\x1b[" + strings.Join(all, ";") + "m")
		}
		return seq
	})
	_, _ = s.term.Write(data) // an emulation has no errors
}

// cutRunes cuts off the beginning of a rune at the end.
func cutRunes(data []byte) (whole, rest []byte) {
	for n := 1; n <= min(len(data), utf8.UTFMax-1); n++ {
		if c := data[len(data)-n]; utf8.RuneStart(c) {
			if !utf8.FullRune(data[len(data)-n:]) {
				return data[:len(data)-n], bytes.Clone(data[len(data)-n:])
			}
			break
		}
	}
	return data, nil
}

// text is what stands on the screen.
func (s *screen) text() string {
	var b strings.Builder
	for _, row := range s.cells() {
		line := make([]rune, len(row))
		for x, c := range row {
			line[x] = c.Char
		}
		b.WriteString(strings.TrimRight(string(line), " ") + "\n")
	}
	return b.String()
}

func (s *screen) cells() [][]vt10x.Glyph {
	s.term.Lock()
	defer s.term.Unlock()
	cols, rows := s.term.Size()
	all := make([][]vt10x.Glyph, rows)
	for y := range rows {
		all[y] = make([]vt10x.Glyph, cols)
		for x := range cols {
			c := s.term.Cell(x, y)
			if c.Char == 0 {
				c.Char = ' '
			}
			all[y][x] = c
		}
	}
	return all
}

// still is a screen that is kept.
type still struct {
	name   string
	at     time.Duration
	cells  [][]vt10x.Glyph
	cx, cy int // where the cursor is; -1 where it is not shown
}

func (s *screen) still(name string, at time.Duration) still {
	k := still{name: name, at: at, cells: s.cells(), cx: -1, cy: -1}
	s.term.Lock()
	defer s.term.Unlock()
	if c := s.term.Cursor(); s.term.CursorVisible() {
		k.cx, k.cy = c.X, c.Y
	}
	return k
}
