package tool

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Visible returns one line as a person may be shown it who is to agree to it:
// as [Escape] does, and besides runs of more than most blanks, and all blanks at
// its end, as "␠×2000" (spaces) and "\t×9", and other blanks than spaces and
// tabs as U+00A0. Nothing can be pushed out of sight so (SEC-71). Where keep is
// true, single tabs and runs of up to most of them stay, as in a diff. A run in
// which several kinds take turns is one: "␠\t×2000 (mixed blanks)".
func Visible(line string, most int, keep bool) string {
	end := len(strings.TrimRight(line, " \t"))
	if plainly(line, most, end) {
		return line
	}
	var b strings.Builder
	mixed, pieces, until := 0, 0, 0 // blanks of all kinds from here to until, and in how many runs
	for i := 0; i < len(line); {
		if i >= until {
			mixed, pieces, until = blanks(line, i)
		}
		if pieces > maxPieces && (mixed > most || until == len(line)) {
			fmt.Fprintf(&b, `␠\t×%d (mixed blanks)`, mixed)
			i = until
			continue
		}
		r, size := utf8.DecodeRuneInString(line[i:])
		n := 1
		for n*size+i < len(line) && unicode.IsSpace(r) && strings.HasPrefix(line[i+n*size:], string(r)) {
			n++
		}
		shown := n > most || i >= end || mixed > most
		mark := ""
		switch {
		case r == ' ' && shown:
			mark = "␠"
		case r == ' ':
			b.WriteString(line[i : i+n])
		case r == '\t' && keep && !shown:
			b.WriteString(line[i : i+n])
		case r == '\t':
			mark = `\t`
		case r != '\n' && r != '\r' && unicode.Is(unicode.Zs, r):
			mark = fmt.Sprintf("U+%04X", r)
		default:
			n = 1
			b.WriteString(Escape(line[i : i+size]))
		}
		if mark != "" {
			b.WriteString(mark)
			if n > 1 {
				fmt.Fprintf(&b, "×%d", n)
			}
		}
		i += n * size
	}
	return b.String()
}

// maxPieces is how many runs of one kind are shown each by itself.
const maxPieces = 4

// blanks returns how many blanks other than line ends begin at i, of how many
// runs of one kind, and where they end: at least behind the character at i.
func blanks(line string, i int) (n, pieces, until int) {
	last := rune(-1)
	for until = i; until < len(line); {
		r, size := utf8.DecodeRuneInString(line[until:])
		if r != ' ' && r != '\t' && !unicode.Is(unicode.Zs, r) {
			break
		}
		if r != last {
			pieces++
		}
		n, last, until = n+1, r, until+size
	}
	if until == i {
		_, size := utf8.DecodeRuneInString(line[i:])
		until += size
	}
	return n, pieces, until
}

// plainly reports whether a line is shown as it is: printable ASCII without long
// runs of blanks, and without any at its end.
func plainly(line string, most, end int) bool {
	if end != len(line) {
		return false
	}
	run := 0
	for i := range len(line) {
		c := line[i]
		if c < 0x20 || c >= 0x7f {
			return false
		}
		if run++; c != ' ' {
			run = 0
		}
		if run > most {
			return false
		}
	}
	return true
}

// Lines returns a text of several lines as [Visible] shows each, with ⏎ where
// one ends: whatever breaks a line is marked. More than two blank lines in a row
// are one that counts them.
func Lines(text string, most int, keep bool) []string {
	parts := strings.Split(text, "\n")
	var lines []string
	for i := 0; i < len(parts); i++ {
		last := i == len(parts)-1
		if last && parts[i] == "" && i > 0 {
			break // the mark of the line before says it
		}
		blank := 0
		for i+blank < len(parts)-1 && strings.Trim(parts[i+blank], " \t") == "" {
			blank++
		}
		if blank > 2 {
			lines = append(lines, fmt.Sprintf("⏎×%d (blank lines)", blank))
			i += blank - 1
			continue
		}
		line := Visible(parts[i], most, keep)
		if !last {
			line += "⏎"
		}
		lines = append(lines, line)
	}
	return lines
}
