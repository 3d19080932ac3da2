package canary_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSEC116FilesAreTheOwnersAlone: whatever the umask, all that the daemon keeps
// is 0600 and its folders 0700, also what it shows and what it logs.
func TestSEC116FilesAreTheOwnersAlone(t *testing.T) {
	for _, umask := range []int{0, 0o022, 0o277, 0o777} {
		t.Run(fmt.Sprintf("umask %03o", umask), func(t *testing.T) {
			script := "<call write_file {\"file_path\": \"made.txt\", \"content\": \"one\"}\n\n>result write_file\n" +
				"<call write_file {\"file_path\": \"made.txt\", \"content\": \"" + strings.Repeat("two ", 100) + "\"}\n\n>result write_file\n" +
				bashOf("touch by-a-command; seq 1 200000")
			s := strange(t, setting{script: script, umask: umask, environ: []string{"AGENTLS_DEBUG=1"}})
			s.runs("write it")
			s.leave()
			found := map[string]int{}
			err := filepath.WalkDir(filepath.Join(s.home, ".gemini"), func(path string, d fs.DirEntry, err error) error {
				if err != nil {
					return err
				}
				info, err := d.Info()
				if err != nil {
					return err
				}
				want := fs.FileMode(0o600)
				if d.IsDir() {
					want = 0o700
				}
				rel, _ := filepath.Rel(s.home, path)      // it is below
				if strings.Contains(rel, "/snapshots/") { // git makes objects that nobody writes
					want = info.Mode().Perm() & 0o700
				}
				if info.Mode().Perm() != want {
					t.Errorf("%s has %v, want %v", rel, info.Mode(), want)
				}
				found[filepath.Ext(path)]++
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			t.Log(found)
			if found[".jsonl"] == 0 || found[".log"] == 0 {
				t.Errorf("there is little to see: %v", found)
			}
			info, err := os.Stat(filepath.Join(s.dir, "by-a-command"))
			if err != nil {
				t.Fatal(err)
			}
			if want := 0o666 &^ fs.FileMode(umask&0o077); info.Mode().Perm() != want {
				t.Errorf("a command's file has %v, want %v: its umask is the person's for others", info.Mode(), want)
			}
			t.Logf("positive control: what a command makes has %v", info.Mode().Perm())
		})
	}
}
