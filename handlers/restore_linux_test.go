package handlers

import (
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"github.com/agentls/agentls/agents"
)

// small is the folder of a disk of 64 KiB, in a process that has one.
const small = "AGENTLS_TEST_SMALL_DISK"

// TestREL79ADiskThatIsFull: an edit for which there is no room leaves the whole
// old file. The disk is one of 64 KiB, in a process of its own.
func TestREL79ADiskThatIsFull(t *testing.T) {
	if os.Getenv(small) != "" {
		onSmallDisk(t)
		return
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "-test.run=^TestREL79ADiskThatIsFull$", "-test.v")
	dir := t.TempDir()
	cmd.Env = append(os.Environ(), small+"="+dir, "TMPDIR="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	out, err := cmd.CombinedOutput()
	if _, ran := err.(*exec.ExitError); err != nil && !ran {
		t.Skip("no namespaces here: ", err)
	}
	switch {
	case strings.Contains(string(out), "--- SKIP"):
		t.Skipf("%s", out)
	case err != nil || !strings.Contains(string(out), "--- PASS"):
		t.Errorf("%v\n%s", err, out)
	}
}

func onSmallDisk(t *testing.T) {
	if err := syscall.Mount("tmpfs", os.Getenv(small), "tmpfs", 0, "size=64k"); err != nil {
		t.Skip(err)
	}
	r := enter(t)
	old := "one\n" + strings.Repeat("x", 40<<10) + "\n"
	r.has("f", old)
	_, err := r.edit("f", "one", "two", func() {})
	if err == nil || !strings.Contains(err.Error(), "no space left on device") {
		t.Error(err)
	}
	r.intact("f", old)
	if err := r.restore("f", digest(old), &agents.Content{Text: strings.Repeat("y", 40<<10)}); err == nil || !strings.Contains(err.Error(), "no space left on device") {
		t.Error(err)
	}
	r.intact("f", old)
}

const limited = "AGENTLS_TEST_LIMITED"

// TestREL79AWriteThatEndsHalfWay: the system takes some of the bytes and no more.
// The limit is of a process of its own: the test log of this one may be longer.
func TestREL79AWriteThatEndsHalfWay(t *testing.T) {
	if os.Getenv(limited) == "" {
		exe, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(exe, "-test.run=^TestREL79AWriteThatEndsHalfWay$", "-test.v")
		cmd.Env = append(os.Environ(), limited+"=1")
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS") {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	r := enter(t)
	old := "one\n" + strings.Repeat("x", 40<<10) + "\n"
	r.has("f", old)
	signal.Ignore(syscall.SIGXFSZ)
	defer signal.Reset(syscall.SIGXFSZ)
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &before); err != nil {
		t.Fatal(err)
	}
	_, err := r.edit("f", "one", "two", func() {
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 4 << 10, Max: before.Max}); err != nil {
			t.Fatal(err)
		}
	})
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &before); err != nil {
		t.Fatal(err)
	}
	if err == nil || !strings.Contains(err.Error(), "file too large") {
		t.Error(err)
	}
	r.intact("f", old)
}
