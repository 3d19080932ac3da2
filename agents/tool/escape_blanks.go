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
// true, single tabs and runs of up to most of them stay, as in a diff.
func Visible(line string, most int, keep bool) string {
	end := len(strings.TrimRight(line, " \t"))
	if plainly(line, most, end) {
		return line
	}
	var b strings.Builder
	for i := 0; i < len(line); {
		r, size := utf8.DecodeRuneInString(line[i:])
		n := 1
		for n*size+i < len(line) && unicode.IsSpace(r) && strings.HasPrefix(line[i+n*size:], string(r)) {
			n++
		}
		shown := n > most || i >= end
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
