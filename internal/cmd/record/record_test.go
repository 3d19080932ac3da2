//go:build linux

package main

import (
	"html"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/agentls/agentls/internal/cmd/documents"
)

// builtBinary is this checkout's program.
func builtBinary(t *testing.T) string {
	t.Helper()
	root, err := documents.FindRoot()
	if err != nil {
		t.Fatal(err)
	}
	binary, err := build(t.Context(), root, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return binary
}

// TestScenes: what a person does in each scene is answered as the scene says, by the
// binary of this checkout, and the README's picture has nothing that the chat does not
// show.
func TestScenes(t *testing.T) {
	root, err := documents.FindRoot()
	if err != nil {
		t.Fatal(err)
	}
	binary := builtBinary(t)
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
			for _, m := range text.FindAllSubmatch(have, -1) {
				if words := without(html.UnescapeString(string(m[1]))); !strings.Contains(all(r.lines), words) {
					t.Errorf("%s has %q, which the chat does not show: go run ./internal/cmd/record -readme", picture, words)
				}
			}
		})
	}
}

// TestACtrlCIsNoTrust: Ctrl-C refuses the question whether a folder is trusted, and a
// key that comes later is typed.
func TestACtrlCIsNoTrust(t *testing.T) {
	s := scenes()[0]
	s.steps = []step{
		sees("Trust the folder"), sees(armed), presses(ctrlC), misses(armed), sees("read-only"), types("3"), sees("› 3"),
	}
	r, err := record(t.Context(), s, builtBinary(t))
	if err != nil {
		t.Fatal(err)
	}
	for line := range r.lines {
		if strings.Contains(line, "→ Trust this folder") {
			t.Errorf("a late key trusts the folder: %s", line)
		}
	}
}

// text is a text in a picture.
var text = regexp.MustCompile(`<text[^>]*>([^<]*)</text>`)

// all are lines that were shown, without what differs between two recordings.
func all(lines map[string]bool) string {
	var b strings.Builder
	for line := range lines {
		b.WriteString(without(line) + "\n")
	}
	return b.String()
}

// TestTheScreen: what the emulation does not know does not disturb what it shows.
func TestTheScreen(t *testing.T) {
	s := newScreen(20, 3)
	for _, data := range []string{
		"\x1b[?u\x1b[>4;2m\x1b[?2026$pfirst\r\n", "\x1b[2mdim\x1b", "[22m plain ", "\xe2\x80", "\xba\x1b[38;5;2mgreen",
	} {
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
		if strings.ContainsRune("0123456789.ms", r) || (r >= '⠀' && r <= '⣿') {
			return -1
		}
		return r
	}, text)
}
