package local_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentls/agentls/agents/memory"
	"github.com/agentls/agentls/agents/memory/local"
	"github.com/agentls/agentls/agents/memory/memorytest"
	"github.com/agentls/agentls/internal/fault"
)

// lies returns the files below dir that hold a text, in whatever case.
func lies(t *testing.T, dir, text string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var in []string
	for _, entry := range entries {
		data, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(bytes.ToLower(data), []byte(strings.ToLower(text))) {
			in = append(in, entry.Name())
		}
	}
	return in
}

// TestDeletedIsInNoFile: what was deleted stands in no table, index, free page or
// write-ahead file of the store, also while it is open, and whatever it was replaced by;
// neither do its words nor its vector. What was not deleted does.
func TestDeletedIsInNoFile(t *testing.T) {
	dir := t.TempDir()
	b := local.New(local.Config{Dir: dir, Now: now})
	defer b.Close()
	s, err := b.Open(t.Context(), memorytest.Place("local", "forgetful"), &memory.Shape{Kind: memory.Vector, Embedder: "e", Dimension: 16})
	if err != nil {
		t.Fatal(err)
	}
	put := func(key, content string, vector []float32) {
		t.Helper()
		if _, err := s.Put(t.Context(), memorytest.Record(key, content, 1), vector); err != nil {
			t.Fatal(err)
		}
	}
	// So many words that the index has many pages, and the secret ones stand between them.
	for i := range 300 {
		put(fmt.Sprintf("key%d", i), fmt.Sprintf("aardvark%d xanthippe%d zebra%d %s", i, i, i, strings.Repeat(fmt.Sprintf("filler%d ", i), 40)), make([]float32, 16))
	}
	vector := make([]float32, 16)
	for i := range vector {
		vector[i] = 0.7310585786 + float32(i)/977
	}
	secrets := []string{"xylophonesecretone", "mnemosynesecrettwo", "qwertysecretthree", "secretkeyfour"}
	put("secretkeyfour", "an older value: "+secrets[0], vector)
	put("secretkeyfour", "a value: "+secrets[1]+" "+strings.Repeat("long enough for pages of its own. ", 400)+secrets[2], vector)
	part := string(rawBytes(vector)[8:32])
	if in := lies(t, dir, secrets[1]); len(in) == 0 {
		t.Fatal("the test does not see what is stored")
	}
	if in := lies(t, dir, part); len(in) == 0 {
		t.Fatal("the test does not see vectors")
	}
	if n, err := s.Delete(t.Context(), "secretkeyfour"); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	for _, text := range append(secrets, part, "xylophone", "mnemosyn", "qwertys", "long enough for pages") {
		if in := lies(t, dir, text); len(in) > 0 {
			t.Errorf("%q lies in %s", text, in)
		}
	}
	if in := lies(t, dir, "xanthippe200"); len(in) == 0 {
		t.Error("what was not deleted is gone too")
	}
	found, err := s.Find(t.Context(), memory.Query{Words: []string{"xanthippe200"}, Limit: 2})
	if err != nil || len(found) != 1 {
		t.Errorf("%v, %v", found, err)
	}
	if err := s.Drop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("left of a store that was dropped: %v", left)
	}
}

func rawBytes(vector []float32) []byte {
	var data bytes.Buffer
	for _, x := range vector {
		data.Write(local.LittleEndian(x))
	}
	return data.Bytes()
}

// TestDamagedIsKeptAside: a file that is no database any more, or one of which pages are
// overwritten, is an error that says so, and lies beside under another name with all its
// bytes; only then a new store begins.
func TestDamagedIsKeptAside(t *testing.T) {
	for name, damage := range map[string]func(data []byte) []byte{
		"no database": func([]byte) []byte {
			return []byte("Not a database at all, and long enough to be looked at: " + strings.Repeat("x", 200))
		},
		"overwritten": func(data []byte) []byte {
			for i := 4096; i < len(data); i++ {
				data[i] = 0xa5
			}
			return data
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			place := memorytest.Place("local", "damaged")
			path := filepath.Join(dir, place.ID()+".db")
			text := memory.Shape{Kind: memory.KeyValue}
			b := local.New(local.Config{Dir: dir, Now: now})
			s, err := b.Open(t.Context(), place, &text)
			if err != nil {
				t.Fatal(err)
			}
			for i := range 50 {
				if _, err := s.Put(t.Context(), memorytest.Record(fmt.Sprint(i), "valuable", i), nil); err != nil {
					t.Fatal(err)
				}
			}
			_ = b.Close()
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			data = damage(data)
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
			b = local.New(local.Config{Dir: dir, Now: now})
			defer b.Close()
			s, err = b.Open(t.Context(), place, &text)
			if err == nil {
				_, err = s.Put(t.Context(), memorytest.Record("new", "must not be stored", 1), nil)
			}
			aside := strings.TrimSuffix(path, ".db") + ".damaged-20261124-023000.db"
			if fault.KindOf(err) != fault.Unavailable || !strings.Contains(err.Error(), "damaged and is kept aside as "+aside) {
				t.Fatalf("the damage is not told: %v", err)
			}
			if kept, err := os.ReadFile(aside); err != nil || !bytes.Equal(kept, data) {
				t.Errorf("what was damaged is not kept: %d of %d bytes, %v", len(kept), len(data), err)
			}
			all, err := b.Stores(t.Context())
			if err != nil || len(all) != 1 || !strings.Contains(all[0].Problem, aside) {
				t.Errorf("%+v, %v", all, err)
			}
			if s, err = b.Open(t.Context(), place, &text); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Put(t.Context(), memorytest.Record("new", "is stored", 1), nil); err != nil {
				t.Error("the next store:", err)
			}
		})
	}
}

// TestFullDisk: where the disk is full nothing is acknowledged, the error says what to do,
// and what was there before can be read; with room again it goes on.
func TestFullDisk(t *testing.T) {
	b := local.New(local.Config{Dir: t.TempDir(), Now: now})
	defer b.Close()
	s, err := b.Open(t.Context(), memorytest.Place("local", "full"), &memory.Shape{Kind: memory.KeyValue})
	if err != nil {
		t.Fatal(err)
	}
	put := func(key, content string) error {
		_, err := s.Put(t.Context(), memorytest.Record(key, content, 1), nil)
		return err
	}
	if err := put("before", "there was room"); err != nil {
		t.Fatal(err)
	}
	room := local.LimitPages(t, s, 0)
	if err := put("large", strings.Repeat("no room for it ", 10_000)); fault.KindOf(err) != fault.Unavailable || !strings.Contains(err.Error(), "the disk is full: free some space") {
		t.Errorf("a full disk: %v", err)
	}
	all, n, err := s.List(t.Context(), 0, 5)
	if err != nil || n != 1 || all[0].Key != "before" {
		t.Errorf("%v, %v", all, err)
	}
	room()
	if err := put("large", "room again"); err != nil {
		t.Error(err)
	}
}

// TestLazyAndPrivate: a backend that nobody asks makes no file, one that is asked about
// what is not there neither, and what it makes only this user can read (SEC-116).
func TestLazyAndPrivateSEC116(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "memory")
	b := local.New(local.Config{Dir: dir, Now: now})
	defer b.Close()
	if _, err := b.Open(t.Context(), memorytest.Place("local", "a"), nil); fault.KindOf(err) != fault.NotFound {
		t.Error(err)
	}
	if all, err := b.Stores(t.Context()); err != nil || len(all) > 0 {
		t.Error(all, err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the folder is there: %v", err)
	}
	s, err := b.Open(t.Context(), memorytest.Place("local", "a"), &memory.Shape{Kind: memory.KeyValue})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Put(t.Context(), memorytest.Record("k", "c", 1), nil); err != nil {
		t.Fatal(err)
	}
	entries, _ := os.ReadDir(dir)
	var names []string
	for _, entry := range entries {
		names = append(names, filepath.Ext(entry.Name()))
		if info, err := entry.Info(); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", entry.Name(), info.Mode(), err)
		}
	}
	if want := []string{".db", ".db-shm", ".db-wal"}; !slices.Equal(names, want) {
		t.Errorf("files %q", names)
	}
}
