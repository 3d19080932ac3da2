package workspace

import (
	"os"
	"testing"
)

// TestNoNameBeforeItIsComplete: a daemon that is killed while it writes a file,
// new or not, leaves nothing beside it.
func TestNoNameBeforeItIsComplete(t *testing.T) {
	folder := t.TempDir()
	dir, err := os.OpenRoot(folder)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	for _, put := range []putting{
		{content: []byte("one"), mode: 0o640, fresh: true},
		{content: []byte("two"), mode: 0o750},
	} {
		before, err := os.ReadDir(folder)
		if err != nil {
			t.Fatal(err)
		}
		put.before = func() error {
			now, err := os.ReadDir(folder)
			if len(now) != len(before) {
				t.Errorf("%s: the folder holds %v", put.content, now)
			}
			return err
		}
		if err := putFile(dir, "f", put); err != nil {
			t.Fatal(err)
		}
		info, err := dir.Stat("f")
		text, other := dir.ReadFile("f")
		if err != nil || other != nil || string(text) != string(put.content) || (!put.fresh && info.Mode().Perm() != put.mode) {
			t.Errorf("%q with %v: %v, %v", text, info.Mode(), err, other)
		}
	}
	if left, err := os.ReadDir(folder); len(left) != 1 {
		t.Errorf("left: %v, %v", left, err)
	}
}
