package builtin

import (
	"strings"
	"testing"
)

// TestRemember: a fact goes to the end of its own section and nowhere else.
func TestRemember(t *testing.T) {
	const head = "## Remembered by agents"
	for _, test := range []struct{ text, want string }{
		{"", head + "\n\n- F\n"},
		{"Use tabs.", "Use tabs.\n\n" + head + "\n\n- F\n"},
		{"Use tabs.\r\n\r\n\r\n", "Use tabs.\r\n\r\n" + head + "\r\n\r\n- F\r\n"},
		{head, head + "\n\n- F\n"},
		{head + "\n\n- A\n", head + "\n\n- A\n- F\n"},
		{head + "\n- A\n\n## More\n\n- F\n", head + "\n- A\n- F\n\n## More\n\n- F\n"},
		{head + "\n\n- F\n- A\n", head + "\n\n- F\n- A\n"},
		{"# Top\n" + head + "\n### Sub\n- A", "# Top\n" + head + "\n### Sub\n- A\n- F\n"},
	} {
		if got := remember(test.text, "F"); got != test.want {
			t.Errorf("%q:\n got %q\nwant %q", test.text, got, test.want)
		}
	}
	if got := remember(remember("", "F"), "F"); strings.Count(got, "- F") != 1 {
		t.Errorf("kept twice: %q", got)
	}
}
