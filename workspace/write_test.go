//go:build unix

package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/agentls/agentls/internal/fault"
)

func TestSEC59AtomicWrite(t *testing.T) {
	d, _ := openDisk(t)
	put(t, d, "run.sh", "old\n")
	must(t, os.Chmod(filepath.Join(d.Path(), "run.sh"), 0o751))
	before, err := os.Stat(filepath.Join(d.Path(), "run.sh"))
	must(t, err)
	text, err := d.Write(t.Context(), Write{Name: "run.sh", Text: "new\n", Seen: DigestOf("old\n")})
	must(t, err)
	info, err := os.Stat(filepath.Join(d.Path(), "run.sh"))
	must(t, err)
	if info.Mode().Perm() != 0o751 || text.Mode != 0o751 || os.SameFile(before, info) || get(t, d, "run.sh") != "new\n" || text.Digest != DigestOf("new\n") {
		t.Errorf("%v, %+v", info.Mode(), text)
	}
	onlyFiles(t, d.Path(), "run.sh")

	// What fails leaves the old file and nothing else.
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := d.Write(ctx, Write{Name: "run.sh", Text: "x", Seen: text.Digest}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	dir, err := os.OpenRoot(d.Path())
	must(t, err)
	defer dir.Close()
	refused := errors.New("refused")
	if err := putFile(dir, "run.sh", putting{content: []byte("x"), before: func() error { return refused }}); !errors.Is(err, refused) {
		t.Error(err)
	}
	if err := putFile(dir, "run.sh", putting{content: []byte("x"), fresh: true}); !errors.Is(err, fs.ErrExist) {
		t.Error(err)
	}
	onlyFiles(t, d.Path(), "run.sh")
	if get(t, d, "run.sh") != "new\n" {
		t.Error("the old file is gone")
	}
}

// TestSEC59NobodyKnowsTheNameOfTheNewFile: whoever may write in the folder puts
// links where a save might go first, and reads what names it has used.
func TestSEC59NobodyKnowsTheNameOfTheNewFile(t *testing.T) {
	d, dir := openDisk(t)
	secret := filepath.Join(dir, "secret")
	must(t, os.WriteFile(secret, []byte("secret"), 0o600))
	put(t, d, "f", "one\n")
	guesses := []string{"f.tmp", "f~", ".f.swp", ".f.tmp", "f.new", ".agentls-.tmp", ".agentls.tmp", "#f#", "f.bak"}
	for _, guess := range guesses {
		must(t, os.Symlink(secret, filepath.Join(d.Path(), guess)))
	}
	dirOf, err := os.OpenRoot(d.Path())
	must(t, err)
	defer dirOf.Close()
	used := make(map[string]bool)
	for i := range 20 {
		// Where the new file is looked at, it lies in the folder, is nobody else's to
		// read, and has another name each time.
		must(t, putNamed(dirOf, "f", putting{content: []byte("one\n"), mode: 0o644, before: func() error {
			all, err := os.ReadDir(d.Path())
			must(t, err)
			for _, e := range all {
				if strings.HasPrefix(e.Name(), ".agentls-") && e.Type().IsRegular() {
					used[e.Name()] = true
					if len(e.Name()) < len(".agentls-.tmp")+20 {
						t.Errorf("%s can be guessed", e.Name())
					}
					// A file of that name is not taken over.
					if f, err := dirOf.OpenFile(e.Name(), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600); err == nil {
						_ = f.Close()
						t.Errorf("%s was not there", e.Name())
					}
				}
			}
			return nil
		}}))
		if len(used) != i+1 {
			t.Fatalf("after %d saves %d names", i+1, len(used))
		}
	}
	if _, err := d.Write(t.Context(), Write{Name: "f", Text: "two\n", Seen: DigestOf("one\n")}); err != nil || get(t, d, "f") != "two\n" {
		t.Error(err)
	}
	if content, err := os.ReadFile(secret); err != nil || string(content) != "secret" {
		t.Errorf("the file outside is %q, %v", content, err)
	}
	onlyFiles(t, d.Path(), slices.Sorted(slices.Values(append([]string{"f"}, guesses...)))...)
	must(t, os.WriteFile(filepath.Join(d.Path(), "f.tmp"), []byte("escaped"), 0o600))
	if content, err := os.ReadFile(secret); err != nil || string(content) != "escaped" {
		t.Errorf("positive control: %q, %v", content, err)
	}
	t.Log("positive control: a save by way of f.tmp writes the file outside")
}

func TestSEC66WritesOfWhatChangedAreStale(t *testing.T) {
	d, _ := openDisk(t)
	put(t, d, "f", "two")
	digestOf := func(err error) any {
		_, data := fault.ReasonOf(err)
		return data["digest"]
	}
	_, err := d.Write(t.Context(), Write{Name: "f", Text: "x", Seen: DigestOf("one")})
	if fault.KindOf(err) != fault.Stale || digestOf(err) != string(DigestOf("two")) {
		t.Errorf("changed: %v", err)
	}
	_, err = d.Write(t.Context(), Write{Name: "f", Text: "x"})
	if fault.KindOf(err) != fault.Stale || digestOf(err) != string(DigestOf("two")) {
		t.Errorf("there already: %v", err)
	}
	for _, name := range []string{"gone", "gone/too"} {
		if _, err = d.Write(t.Context(), Write{Name: name, Text: "x", Seen: DigestOf("one")}); fault.KindOf(err) != fault.Stale || digestOf(err) != "" {
			t.Errorf("gone: %v", err)
		}
	}
	if err := d.Delete(t.Context(), "f", DigestOf("one")); fault.KindOf(err) != fault.Stale {
		t.Errorf("delete: %v", err)
	}
	if err := d.Delete(t.Context(), "gone", DigestOf("one")); fault.KindOf(err) != fault.NotFound {
		t.Errorf("delete: %v", err)
	}
	if get(t, d, "f") != "two" {
		t.Error("it was overwritten")
	}
	must(t, d.Delete(t.Context(), "f", DigestOf("two")))
	onlyFiles(t, d.Path())
}

// Somebody writes between the read and the rename: seen by the second look.
func TestSEC66ChangeDuringTheWrite(t *testing.T) {
	d, _ := openDisk(t)
	put(t, d, "f", "one")
	p, err := (&walk{op: "test", disk: d, name: "f"}).locate()
	must(t, err)
	defer p.close()
	_, err = d.readSeen(t.Context(), "test", p, DigestOf("one"))
	must(t, err)
	must(t, d.still(t.Context(), "test", p, DigestOf("one")))
	put(t, d, "f", "other")
	if err := d.still(t.Context(), "test", p, DigestOf("one")); fault.KindOf(err) != fault.Stale {
		t.Error(err)
	}
	must(t, os.Remove(filepath.Join(d.Path(), "f")))
	if err := d.still(t.Context(), "test", p, DigestOf("one")); fault.KindOf(err) != fault.Stale {
		t.Error(err)
	}
	// Touched, but the same: no reason to refuse.
	put(t, d, "f", "one")
	if err := d.still(t.Context(), "test", p, DigestOf("one")); err != nil {
		t.Error(err)
	}
}

func TestNewFilesMakeTheirFolders(t *testing.T) {
	d, _ := openDisk(t)
	if _, err := d.Write(t.Context(), Write{Name: "a/b/c.txt", Text: "x", Mode: 0o755}); err != nil || get(t, d, "a/b/c.txt") != "x" {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(d.Path(), "a/b"))
	if err != nil || info.Mode().Perm()&^0o755 != 0 || !info.IsDir() {
		t.Error(info.Mode(), err)
	}
	onlyFiles(t, filepath.Join(d.Path(), "a/b"), "c.txt")
	// Of several at once one wins, the others are told.
	var won, stale sync.Map
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			_, err := d.Write(t.Context(), Write{Name: "race/file", Text: fmt.Sprint(i)})
			switch {
			case err == nil:
				won.Store(i, true)
			case fault.KindOf(err) == fault.Stale:
				stale.Store(i, true)
			default:
				t.Error(err)
			}
		})
	}
	wg.Wait()
	count := func(m *sync.Map) (n int) {
		m.Range(func(any, any) bool { n++; return true })
		return n
	}
	if count(&won) != 1 || count(&stale) != 15 {
		t.Errorf("%d won, %d were stale", count(&won), count(&stale))
	}
}
