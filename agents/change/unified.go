package change

import (
	"fmt"
	"strings"
)

// around is how many lines a patch shows before and after what changed.
const around = 3

// unifiedDiff returns a difference as a patch. It is what git apply takes.
func unifiedDiff(from, to string, d difference) string {
	var b strings.Builder
	fmt.Fprintf(&b, "--- %s\n+++ %s\n", from, to)
	if len(d.a)+len(d.b) == 0 {
		return b.String() // an empty file came or went
	}
	for i := 0; i < len(d.spans); {
		end := i + 1
		for end < len(d.spans) && d.spans[end].a0-d.spans[end-1].a1 <= 2*around {
			end++
		}
		section(&b, d, d.spans[i:end])
		i = end
	}
	return b.String()
}

// section writes spans that stand together. Spans with up to twice around lines between
// them share one section.
func section(b *strings.Builder, d difference, spans []span) {
	first, last := spans[0], spans[len(spans)-1]
	lead := min(around, first.a0)
	trail := min(around, len(d.a)-last.a1)
	b.WriteString("@@ -")
	extent(b, first.a0-lead, last.a1+trail)
	b.WriteString(" +")
	extent(b, first.b0-lead, last.b1+trail)
	b.WriteString(" @@\n")
	put(b, ' ', d.a[first.a0-lead:first.a0])
	for i, s := range spans {
		if i > 0 {
			put(b, ' ', d.a[spans[i-1].a1:s.a0])
		}
		put(b, '-', d.a[s.a0:s.a1])
		put(b, '+', d.b[s.b0:s.b1])
	}
	put(b, ' ', d.a[last.a1:last.a1+trail])
}

// extent writes where a section lies: its first line, counted from 1, or the line
// before it where it is empty; and how many there are, if not one.
func extent(b *strings.Builder, from, to int) {
	switch to - from {
	case 0:
		fmt.Fprintf(b, "%d,0", from)
	case 1:
		fmt.Fprintf(b, "%d", from+1)
	default:
		fmt.Fprintf(b, "%d,%d", from+1, to-from)
	}
}

// put writes lines with a sign each; one without an end has git's note about that.
func put(b *strings.Builder, sign byte, list []string) {
	for _, l := range list {
		b.WriteByte(sign)
		b.WriteString(l)
		if !strings.HasSuffix(l, "\n") {
			b.WriteString("\n\\ No newline at end of file\n")
		}
	}
}
