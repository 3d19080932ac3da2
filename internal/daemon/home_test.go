package daemon

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/agentls/agentls/agents/session"
	"github.com/agentls/agentls/internal/editortest"
	"github.com/agentls/agentls/internal/filelock"
	"github.com/agentls/agentls/internal/wire"
)

// TestREL98HomeThatCannotBeWritten: the daemon starts, says so as long as it
// lives, and keeps sessions in memory; nothing is left anywhere.
func TestREL98HomeThatCannotBeWritten(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	write(t, file, "")
	sealed := filepath.Join(t.TempDir(), "sealed")
	if err := os.Mkdir(sealed, 0o500); err != nil {
		t.Fatal(err)
	}
	homes := map[string]string{"below a file": filepath.Join(file, "home"), "no home": t.TempDir()}
	if _, err := os.Stat("/proc/self"); err == nil {
		homes["read-only"] = "/proc/self/home"
	}
	if os.Geteuid() > 0 {
		homes["sealed"] = sealed
	}
	for name, home := range homes {
		t.Run(name, func(t *testing.T) {
			b := newBed(t)
			b.config.Home = home
			b.config.Exit = func(int) { t.Error("it ends") }
			want := "cannot write to " + home
			if name == "no home" {
				b.config.Homeless, want = "HOME is not set", "has no home folder (HOME is not set)"
			}
			for range 3 { // and again, which is no crash loop
				d := b.serve(folder(t, "", "one"), "> say it\n< Said.\n")
				d.says("say it", "Said.")
				told := func(all []string) bool {
					return slices.ContainsFunc(all, func(m string) bool { return strings.Contains(m, want) && strings.Contains(m, "only kept in memory") })
				}
				if err := d.Await(t.Context(), func(s editortest.Seen) bool { return told([]string{s.Status.Message}) }); err != nil {
					t.Fatal(err)
				}
				if seen := d.Seen(); !told(seen.Messages) || (len(seen.Messages) != 1 && name != "below a file") || seen.Status.Health != "warning" {
					t.Errorf("told %q, %+v", seen.Messages, seen.Status)
				}
				if _, err := d.Subscribe(t.Context(), "main", 1); err != nil {
					t.Errorf("the session in memory: %v", err)
				}
				d.end()
			}
			if left, _ := os.ReadDir(home); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
		})
	}
}

// TestSEC116FoldersThatOthersCanChange: where another user owns the daemon's
// folders or can write to them, nothing is kept there, and the person is told.
func TestSEC116FoldersThatOthersCanChange(t *testing.T) {
	for _, name := range []string{"agentls", "agentls/sessions", "agentls/shown"} {
		for _, mine := range []bool{true, false} {
			b := newBed(t)
			dir := filepath.Join(b.config.Home, filepath.FromSlash(name))
			if err := os.MkdirAll(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			want := "others can write to it"
			if mine {
				if err := os.Chmod(dir, 0o770); err != nil { // whatever the umask is
					t.Fatal(err)
				}
			} else if os.Geteuid() != 0 {
				continue // only root can give a folder away
			} else if want = "belongs to the user with the number 4242"; os.Chown(dir, 4242, 4242) != nil {
				t.Fatal("it cannot be given away")
			}
			for _, private := range []bool{false, true} {
				if private {
					if err := errors.Join(os.Chown(dir, os.Geteuid(), os.Getegid()), os.Chmod(dir, 0o700)); err != nil {
						t.Fatal(err)
					}
				}
				d := b.serve(folder(t, "", "one"), "> say it\n< Said.\n")
				d.says("say it", "Said.")
				told := slices.ContainsFunc(d.Seen().Messages, func(m string) bool { return strings.Contains(m, want) && strings.Contains(m, "only kept in memory") })
				d.end()
				kept, err := filepath.Glob(filepath.Join(b.config.Home, "agentls", "sessions", "*", "*.jsonl"))
				if err != nil || told == private || (len(kept) > 0) != private {
					t.Errorf("%s, mine %v, private %v: told %v, kept %v, %v", name, mine, private, told, kept, err)
				}
			}
		}
	}
	t.Log("positive control: in the same folder, once it is private, the session is kept")
}

// TestHomeWithoutLocks: where the file system has no locks, runs are kept on
// disk all the same, under the locks of the one daemon, and the person is told.
func TestHomeWithoutLocks(t *testing.T) {
	filelock.Fault = func(string) error { return syscall.ENOLCK }
	defer func() { filelock.Fault = nil }()
	b := newBed(t)
	work := folder(t, "", "one")
	d := b.serve(work, "> say it\n< Said.\n")
	d.says("say it", "Said.")
	told := func(s editortest.Seen) bool {
		return strings.Contains(s.Status.Message, "cannot be locked (no locks available)")
	}
	if err := d.Await(t.Context(), told); err != nil {
		t.Fatal(err)
	}
	if seen := d.Seen(); len(seen.Messages) != 1 {
		t.Errorf("told %q", seen.Messages)
	}
	if _, err := os.Stat(filepath.Join(b.config.Home, "agentls", "sessions", session.Key(work.Canonical), "main.jsonl")); err != nil {
		t.Error(err)
	}
	d.end()
}

// TestTrustThatCannotBeRead: where the records of trust cannot be read, a run is
// refused with what is wrong with them, and not with the advice to trust the
// folder.
func TestTrustThatCannotBeRead(t *testing.T) {
	b := newBed(t)
	b.config.Trust = false
	write(t, b.config.trustFile(), "}{")
	if err := os.Chmod(filepath.Dir(b.config.trustFile()), 0o700); err != nil {
		t.Fatal(err)
	}
	d := b.serve(folder(t, "", "one"), "> look\n<call bash {\"command\": \"true\"}\n\n>result-error bash contains it cannot be told whether this folder is trusted\n< Refused.\n")
	_, err := d.Run(t.Context(), &wire.RunParams{Agent: "one", Input: wire.InputBlocks{{Type: "text", Text: "x"}}})
	if err == nil || strings.Contains(err.Error(), "agentls trust") || !strings.Contains(err.Error(), "trust.json") {
		t.Errorf("an agent of the folder: %v", err)
	}
	result, err := d.Run(t.Context(), &wire.RunParams{Agent: "main", Model: "flash", Input: wire.InputBlocks{{Type: "text", Text: "look"}}})
	if err != nil || result.Text != "Refused." {
		t.Errorf("%+v, %v", result, err)
	}
	d.end()
}
