package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSeatbeltProfile: what sandbox-exec is told, for each access. Of several rules
// for a path the last counts, so their order matters. UPDATE=1 writes the files; no
// Mac has judged them.
func TestSeatbeltProfile(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(base, filepath.FromSlash(name)) }
	for _, dir := range []string{`a "quoted"\work/.git/hooks`, `a "quoted"\work/.vscode`, "second", "tools", "out", "home/.cargo"} {
		if err := os.MkdirAll(at(dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	work := at(`a "quoted"\work`)
	s := New(Config{Home: at("home"), State: at("state"), Read: []string{at("tools"), at("missing")}, Write: []string{at("out")}})
	for _, access := range []Access{Read, Write, Network} {
		spec := Spec{
			Access: access, Folders: []string{work}, ReadOnly: []string{at("second")}, Masked: []string{filepath.Join(work, ".env")},
			Protected: []string{filepath.Join(work, ".git"), filepath.Join(work, ".vscode")},
		}
		got := strings.ReplaceAll(s.profile(spec, at("temp")), base, "$BASE")
		golden := filepath.Join("testdata", "seatbelt-"+string(access)+".sb")
		if os.Getenv("UPDATE") != "" {
			if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s: the profile is\n%s\nwant\n%s", access, got, want)
		}
		if strings.Count(got, "(")-strings.Count(got, ")") != 0 {
			t.Errorf("%s: parentheses do not match:\n%s", access, got)
		}
	}
}
