//go:build linux

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/agentls/agentls/internal/cmd/documents"
)

// TestScenes: what a person does in each scene is answered as the scene says, by the
// binary of this checkout, and the README's picture shows what the chat shows.
func TestScenes(t *testing.T) {
	if _, err := os.Stat("/dev/ptmx"); err != nil {
		t.Skip("there are no pseudo-terminals here")
	}
	root, err := documents.FindRoot()
	if err != nil {
		t.Fatal(err)
	}
	binary, err := build(t.Context(), root, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for n, s := range scenes() {
		t.Run(s.name, func(t *testing.T) {
			r, err := record(t.Context(), s, binary)
			if err != nil {
				t.Fatal(err)
			}
			if len(r.cast()) < 1000 || len(r.stills) == 0 {
				t.Errorf("nothing was recorded: %s", r.cast())
			}
			if n != readmeScene {
				return
			}
			have, err := os.ReadFile(filepath.Join(root, picture))
			if err != nil {
				t.Fatal(err)
			}
			got, want := framesOf(have), framesOf(r.film())
			same := len(got) == len(want)
			for n := 0; same && n < len(got); n++ {
				same = endsAlike(got[n], want[n])
			}
			if !same {
				t.Errorf("%s is stale: go run ./internal/cmd/record -readme\n%q\nis:\n%q", picture, want, got)
			}
		})
	}
}

// text is a text in a picture.
var text = regexp.MustCompile(`<text[^>]*>([^<]*)</text>`)

// framesOf are the texts of a picture's frames without what differs between two
// recordings: the status, how long things took, and what turns.
func framesOf(svg []byte) (frames [][]string) {
	for frame := range bytes.SplitSeq(svg, []byte("<g ")) {
		var lines []string
		for _, m := range text.FindAllSubmatch(frame, -1) {
			line := strings.TrimSpace(without(string(m[1])))
			if !slices.Contains([]string{"", "s", ".s", "ms"}, line) && !strings.Contains(line, "sandbox") {
				lines = append(lines, line)
			}
		}
		frames = append(frames, lines)
	}
	return frames
}

// endsAlike reports whether two screens differ by no more than a few lines at the top:
// how many lines have left it depends on what stood there for a moment.
func endsAlike(a, b []string) bool {
	n := min(len(a), len(b))
	return max(len(a), len(b))-n < 12 && slices.Equal(a[len(a)-n:], b[len(b)-n:])
}

// TestTheScreen: what the emulation does not know does not disturb what it shows.
func TestTheScreen(t *testing.T) {
	s := newScreen(20, 3)
	for _, data := range []string{"\x1b[?u\x1b[>4;2m\x1b[?2026$pfirst\r\n", "\x1b[2mdim\x1b", "[22m plain ", "\xe2\x80", "\xba\x1b[38;5;2mgreen"} {
		s.write([]byte(data))
	}
	if got := s.text(); got != "first\ndim plain ›green\n\n" {
		t.Errorf("shown: %q", got)
	}
	cells := s.cells()
	if cells[1][0].Mode&blink == 0 || cells[1][4].Mode&blink != 0 || cells[1][11].FG != 2 {
		t.Errorf("styles: %v %v %v", cells[1][0], cells[1][4], cells[1][11])
	}
}

// without drops what differs between two recordings of one scene: how long things took
// and what turns.
func without(text string) string {
	return strings.Map(func(r rune) rune {
		if (r >= '0' && r <= '9') || (r >= '⠀' && r <= '⣿') {
			return -1
		}
		return r
	}, text)
}
