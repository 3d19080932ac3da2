package spelling

import "testing"

// TestDistance: edits, with a swap as one.
func TestDistance(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"a", "", 1}, {"abc", "acb", 1}, {"kitten", "sitting", 3}, {"model", "modle", 1}} {
		if got := Distance(test.a, test.b); got != test.want || Distance(test.b, test.a) != got {
			t.Errorf("%q %q: %d", test.a, test.b, got)
		}
	}
}
