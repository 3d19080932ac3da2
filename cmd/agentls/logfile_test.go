package main

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/sourcegraph/conc"

	"github.com/agentls/agentls/internal/daemon"
)

// read returns what is in the files of a log, the oldest one first.
func (l *logFile) read(t *testing.T) (files int, lines []string) {
	t.Helper()
	for n := 10; n >= 0; n-- {
		path := l.path
		if n > 0 {
			path = fmt.Sprintf("%s.%d", l.path, n)
		}
		text, err := os.ReadFile(path)
		if errors.Is(err, os.ErrNotExist) {
			continue
		} else if err != nil {
			t.Fatal(err)
		}
		if l.size > 0 && int64(len(text)) > l.size {
			t.Errorf("%s has %d bytes, more than %d", path, len(text), l.size)
		}
		files++
		lines = append(lines, strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")...)
	}
	return files, lines
}

// TestREL49LogIsRotated: three files of a size at most, the newest lines in
// order, whoever writes: here as many as would do with files of their own.
func TestREL49LogIsRotated(t *testing.T) {
	path := filepath.Join(t.TempDir(), "logs", "agentls.log")
	const size, writers, each = 1024, 4, 500
	all := make([]*logFile, writers)
	var work conc.WaitGroup
	for w := range all {
		all[w] = &logFile{path: path, size: size}
		if w > 0 {
			continue
		}
		for n := range each {
			if _, err := fmt.Fprintf(all[w], "line %04d\n", n); err != nil {
				t.Fatal(err)
			}
		}
	}
	files, lines := all[0].read(t)
	if files != logFiles {
		t.Errorf("%d files", files)
	}
	for i, line := range lines {
		if want := fmt.Sprintf("line %04d", each-len(lines)+i); line != want {
			t.Fatalf("line %d of %d is %q, want %q", i, len(lines), line, want)
		}
	}
	if info, err := os.Stat(path); err != nil || (runtime.GOOS != "windows" && info.Mode().Perm() != 0o600) {
		t.Errorf("%v, %v", info, err)
	}
	for w := range all {
		work.Go(func() {
			for n := range each {
				_, _ = fmt.Fprintf(all[w], "of %d line %04d\n", w, n) // it never fails
			}
		})
	}
	work.Wait()
	all[0].size = 0 // several processes may write one line each beyond it
	files, lines = all[0].read(t)
	if files > logFiles {
		t.Errorf("%d files", files)
	}
	for _, line := range lines {
		var w, n int
		if _, err := fmt.Sscanf(line, "of %d line %04d", &w, &n); err != nil && !strings.HasPrefix(line, "line ") {
			t.Errorf("torn: %q", line)
		}
	}
	for _, l := range all {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestREL49FullLogDropsAndCounts: what cannot be written is dropped and never in
// the way, and the first line after it says how many were.
func TestREL49FullLogDropsAndCounts(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("this system has no full device")
	}
	dir := t.TempDir()
	l := &logFile{path: filepath.Join(dir, "agentls.log")}
	if err := os.Symlink("/dev/full", l.path); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if n, err := l.Write([]byte("lost\n")); n != 5 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
	}
	if err := os.Remove(l.path); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"first\n", "second\n"} {
		if _, err := l.Write([]byte(line)); err != nil {
			t.Fatal(err)
		}
	}
	_, lines := l.read(t)
	if len(lines) != 3 || !strings.Contains(lines[0], "lines=3") || !strings.Contains(lines[0], "no space") || lines[1] != "first" || lines[2] != "second" {
		t.Errorf("%q", lines)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

// TestREL49NoFileIsNoHindrance: a folder, or a pipe that nobody reads, in the
// place of the log or of its folder.
func TestREL49NoFileIsNoHindrance(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	paths := []string{filepath.Join(dir, "folder"), filepath.Join(dir, "file", "agentls.log")}
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if exec.Command("mkfifo", filepath.Join(dir, "pipe")).Run() == nil {
		paths = append(paths, filepath.Join(dir, "pipe"))
	}
	for _, path := range paths {
		l := &logFile{path: path}
		if _, err := l.Write([]byte("lost\n")); err != nil || l.dropped != 1 {
			t.Errorf("%s: %v, %d dropped", path, err, l.dropped)
		}
	}
}

// TestTheLogHasNoSecrets: neither what the environment holds nor what looks like
// a credential, wherever in a record it is.
func TestTheLogHasNoSecrets(t *testing.T) {
	secrets := daemon.NewSecrets([]string{"GEMINI_API_KEY=my \"quoted\" key"})
	var out strings.Builder
	log := slog.New(slog.NewTextHandler(masked{&out, secrets.MaskAll}, nil)).With("with", "my \"quoted\" key")
	log.Error("Authorization: Bearer abcdefgh12345", "err", fmt.Errorf("a %q b", "my \"quoted\" key"), "group", slog.GroupValue(slog.String("key", "DB_PASSWORD=hunter22")))
	for _, secret := range []string{"quoted", "abcdefgh", "hunter22"} {
		if strings.Contains(out.String(), secret) {
			t.Errorf("%q is in %s", secret, &out)
		}
	}
	if strings.Count(out.String(), "[masked:GEMINI_API_KEY]") != 2 {
		t.Error(&out)
	}
}
