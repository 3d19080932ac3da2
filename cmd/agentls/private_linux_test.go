package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// TestDoctorOnWhatIsGuarded: doctor says whether others can look into the
// process, that there is no sandbox, and whether the answers that were given for
// always count.
func TestDoctorOnWhatIsGuarded(t *testing.T) {
	home := filepath.Join(t.TempDir(), "home")
	t.Setenv("GEMINI_HOME", home)
	t.Setenv("GEMINI_API_KEY", "test")
	answers := filepath.Join(home, "agentls", "permissions.json")
	if err := os.MkdirAll(filepath.Dir(answers), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		content string
		mode    os.FileMode
		want    health
	}{{"", 0, fine}, {"{", 0o600, broken}, {`{"version": 1}`, 0o622, broken}, {`{"version": 1}`, 0o600, fine}} {
		if c.content != "" {
			if err := os.WriteFile(answers, []byte(c.content), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(answers, c.mode); err != nil { // whatever the umask is
				t.Fatal(err)
			}
		}
		_, out, errs := command(t, t.TempDir(), "doctor", "--json")
		var all struct{ Checks []finding }
		if err := json.Unmarshal([]byte(out), &all); err != nil {
			t.Fatalf("%v: %s%s", err, out, errs)
		}
		found := map[string]health{}
		for _, f := range all.Checks {
			found[f.Check] = f.Status
		}
		// The test's own process does not hide: main does that.
		if found["answers"] != c.want || found["process"] != odd {
			t.Errorf("%q, %v: %v", c.content, c.mode, found)
		}
	}
}

// TestSEC116LogThatOthersCanWrite: a log that others can write to, or that is
// another user's, gets no line.
func TestSEC116LogThatOthersCanWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.log")
	for _, c := range []struct {
		mode   os.FileMode
		owner  int
		writes bool
	}{{0o600, os.Geteuid(), true}, {0o640, os.Geteuid(), true}, {0o620, os.Geteuid(), false}, {0o602, os.Geteuid(), false}, {0o600, 4242, false}} {
		if c.owner != os.Geteuid() && os.Geteuid() != 0 {
			continue // only root can give a file away
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, c.mode); err != nil { // whatever the umask is
			t.Fatal(err)
		}
		if err := os.Chown(path, c.owner, -1); err != nil {
			t.Fatal(err)
		}
		l := &logFile{path: path}
		if _, err := l.Write([]byte("canary\n")); err != nil {
			t.Error(err)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		got, err := os.ReadFile(path)
		if err != nil || (string(got) == "canary\n") != c.writes {
			t.Errorf("%v of %d: %q, %v", c.mode, c.owner, got, err)
		}
	}
	t.Log("positive control: one that is its owner's alone gets the line")
}
