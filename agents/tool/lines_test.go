package tool

import "testing"

func TestSameLines(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"a\nb\n", "a\r\nb\r\n", true}, {"a\rb", "a\r\nb", true}, {"a\nb\r\n", "a\r\nb\n", true}, {"", "", true},
		{"a\n", "a", false}, {"a\n\nb", "a\r\nb", false}, {"a\nb", "a b", false}, {"a\nb", "a\u2028b", false}, {"a\n\rb", "a\r\nb", false},
	} {
		if SameLines(c.a, c.b) != c.same || SameLines(c.b, c.a) != c.same {
			t.Errorf("%q and %q: %v", c.a, c.b, !c.same)
		}
	}
}
