package condition

import (
	"slices"
	"strings"
	"testing"
)

func TestNames(t *testing.T) {
	for text, want := range map[string]string{
		"analysis.can_auto_fix":        "analysis.can_auto_fix",
		"a.b > 3 && a?.b < 9 or not c": "a.b c", `any(output.items, #.n > limit)`: "output.items limit", `a["b"].c == nil`: "a.b.c",
		"a[b].c == 1": "a b", "0 < a < b < 9": "a b", "1 +": "", "true": "",
	} {
		if got := strings.Join(Names(text), " "); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	if names := Names("a || a"); !slices.Equal(names, []string{"a"}) {
		t.Error(names)
	}
}
