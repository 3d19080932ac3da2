package change

import (
	"strings"

	"github.com/aymanbagabas/go-udiff/lcs"
)

// span is a hunk by lines: those from A0 to A1 of one text became those from B0
// to B1 of another. One of the two may be empty, not both. Between two spans of a
// difference there is at least one line.
type span struct{ a0, a1, b0, b1 int }

// maxEdits is how many lines may be deleted and inserted for the shortest
// difference to be looked for; it bounds time and memory (some 35 MB).
const maxEdits = 4096

// lines returns the lines of a text with their ends. A last line without an end is a
// line, too.
func lines(text string) []string {
	if text == "" {
		return nil
	}
	list := strings.SplitAfter(text, "\n")
	if list[len(list)-1] == "" {
		list = list[:len(list)-1]
	}
	return list
}

// diff returns the shortest difference of two texts: of those that are equally
// short the one that goes on with an equal line wherever it can, and deletes
// before it inserts.
//
// That one choice is what makes hunks independent of each other: when one of
// them is taken back on one side, or made on the other, the difference of the
// new pair is the old one without it. (If there were a better one, then with the
// hunk put in again it would be better for the old pair, too.)
//
// Where more than maxEdits lines differ the difference is a good one, not the
// shortest, and that does not hold.
func diff(a, b []string) []span {
	x, y := intern(a, b)
	start := 0
	for start < len(x) && start < len(y) && x[start] == y[start] {
		start++
	}
	spans, ok := shortest(x[start:], y[start:])
	if !ok {
		spans = near(a[start:], b[start:])
	}
	for i := range spans {
		spans[i] = span{spans[i].a0 + start, spans[i].a1 + start, spans[i].b0 + start, spans[i].b1 + start}
	}
	return spans
}

// intern gives equal lines equal numbers. Comparing numbers is what makes the search
// fast.
func intern(a, b []string) (x, y []int32) {
	numbers := make(map[string]int32, len(a))
	number := func(list []string) []int32 {
		out := make([]int32, len(list))
		for i, l := range list {
			n, ok := numbers[l]
			if !ok {
				n = int32(len(numbers))
				numbers[l] = n
			}
			out[i] = n
		}
		return out
	}
	return number(a), number(b)
}

// shortest returns the difference that diff promises; false where it is longer
// than maxEdits.
//
// reach[d] says, for each diagonal, from how far before the ends d edits suffice
// (Myers 1986, from the ends). With it the way from the beginning is walked, and
// at each step it is known which ones still lead to the ends with what is left.
func shortest(a, b []int32) ([]span, bool) {
	if apart(a, b) > maxEdits {
		return nil, false
	}
	n, m := len(a), len(b)
	var reach [][]int32
	for d := 0; ; d++ {
		if d > maxEdits {
			return nil, false
		}
		layer := make([]int32, d+1) // of the diagonals -d, -d+2, …, d
		for i := range layer {
			k := 2*i - d
			at := 0
			switch {
			case d == 0:
			case i == 0 || (i < d && reach[d-1][i-1] < reach[d-1][i]):
				at = int(reach[d-1][i]) // one more of b, from the diagonal k+1
			default:
				at = int(reach[d-1][i-1]) + 1 // one more of a, from k-1
			}
			for at < n && at-k < m && a[n-1-at] == b[m-1-at+k] {
				at++
			}
			layer[i] = int32(at)
		}
		reach = append(reach, layer)
		if i := n - m + d; i >= 0 && i%2 == 0 && i/2 <= d && int(layer[i/2]) >= n {
			break
		}
	}
	// suffices reports whether d edits lead from a[i:] and b[j:] to the ends.
	suffices := func(i, j, d int) bool {
		at, k := n-i, (n-i)-(m-j)
		return k >= -d && k <= d && int(reach[d][(k+d)/2]) >= at
	}
	var spans []span
	i, j := 0, 0
	for left := len(reach) - 1; left > 0; {
		if i < n && j < m && a[i] == b[j] {
			i, j = i+1, j+1
			continue
		}
		s := span{i, i, j, j}
		for left > 0 && (i == n || j == m || a[i] != b[j]) {
			if left--; i < n && suffices(i+1, j, left) {
				i++
			} else {
				j++
			}
		}
		s.a1, s.b1 = i, j
		spans = append(spans, s)
	}
	return spans, true
}

// apart returns how many lines stand in one of the texts only: there are at
// least as many edits.
func apart(a, b []int32) int {
	count := make(map[int32]int)
	for _, l := range a {
		count[l]++
	}
	for _, l := range b {
		count[l]--
	}
	n := 0
	for _, c := range count {
		n += max(c, -c)
	}
	return n
}

// near returns some difference, soon. It needs little time and memory, whatever the
// texts are.
func near(a, b []string) []span {
	var spans []span
	for _, d := range lcs.DiffLines(a, b) {
		s := span{d.Start, d.End, d.ReplStart, d.ReplEnd}
		if last := len(spans) - 1; last >= 0 && spans[last].a1 == s.a0 && spans[last].b1 == s.b0 {
			spans[last].a1, spans[last].b1 = s.a1, s.b1
			continue
		}
		spans = append(spans, s)
	}
	return spans
}
