package change

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestPartsAreTheHunks(t *testing.T) {
	old := "1\n2\n3\n4\n5\n6\n7\n8\n9"
	c := Of("file:///w/a", "a", &old, file("1\ntwo\n3\n4\n5\nfive\n6\n7\n8\n9\n"))
	want := []string{" 1\n-2\n+two\n 3\n 4\n 5", " 3\n 4\n 5\n+five\n 6\n 7\n 8", " 6\n 7\n 8\n-9\n\\ No newline at end of file\n+9"}
	if got := Parts(c.Patch); !slices.Equal(got, want) {
		t.Errorf("parts %q, want %q", got, want)
	}
	w := world{rand.New(rand.NewPCG(3, 4))}
	for range 5_000 {
		old := w.text()
		text := w.edit(old)
		c := Of("file:///w/a", "a", old, text)
		if parts := Parts(c.Patch); len(parts) != len(c.Hunks) && (c.Kind == "edit" || len(parts) > 0) {
			t.Fatalf("%s, %s: %d parts of %d hunks: %q", shown(old), shown(text), len(parts), len(c.Hunks), parts)
		}
	}
}
