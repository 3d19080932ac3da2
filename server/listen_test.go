package server_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentls/agentls/server"
)

func pipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close() })
	return r, w
}

func TestStdioKeepsStdoutPrivate(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there is no descriptor that could be pointed elsewhere on Windows")
	}
	inR, inW := pipe(t)
	outR, outW := pipe(t)
	errR, errW := pipe(t)
	rwc, err := server.Stdio(inR, outW, errW)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(outW, "a stray print") // as fmt.Println does with os.Stdout
	fmt.Fprint(rwc, "a frame")
	fmt.Fprint(inW, "asks")
	if got, _ := bufio.NewReader(errR).ReadString('\n'); got != "a stray print\n" {
		t.Errorf("standard error has %q", got)
	}
	buf := make([]byte, 100)
	if n, _ := outR.Read(buf); string(buf[:n]) != "a frame" {
		t.Errorf("the client got %q", buf[:n])
	}
	if n, _ := rwc.Read(buf); string(buf[:n]) != "asks" {
		t.Errorf("we got %q", buf[:n])
	}

	// A child that inherits every descriptor it may does not hold the client's pipe.
	sleeper := exec.Command("sleep", "60")
	sleeper.Stdout, sleeper.Stderr = outW, errW
	if err := sleeper.Start(); err != nil {
		t.Skip("no sleep here: ", err)
	}
	defer func() { sleeper.Process.Kill(); sleeper.Wait() }()
	if err := rwc.Close(); err != nil {
		t.Error(err)
	}
	outR.SetReadDeadline(time.Now().Add(time.Minute))
	if _, err := outR.Read(buf); err != io.EOF {
		t.Errorf("the client's pipe is still open: %v", err)
	}
	if _, err := server.Stdio(inR, inR, errW); err == nil {
		t.Error("a closed file was taken over")
	}
}

// TestREL27PrivateStdoutSurvivesSIGPIPE fails by dying.
func TestREL27PrivateStdoutSurvivesSIGPIPE(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there is no SIGPIPE on Windows")
	}
	inR, _ := pipe(t)
	outR, outW := pipe(t)
	_, errW := pipe(t)
	rwc, err := server.Stdio(inR, outW, errW)
	if err != nil {
		t.Fatal(err)
	}
	outR.Close()
	if _, err := rwc.Write([]byte("x")); err == nil {
		t.Error("written to nobody")
	}
	rwc.Close()
}

func TestREL26TheParentIsLookedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var gone atomic.Bool
		near, far := io.Pipe() // never written, never closed: a grandchild holds it
		defer near.Close()
		watched := 0
		r := serveOn(t, rwc{near, io.Discard}, rwc{near, io.Discard}, server.Config{Watch: func(pid int) func() bool {
			watched = pid
			return func() bool { return !gone.Load() }
		}}, echo)
		defer far.Close()
		r.peer.WatchParent(0)
		r.peer.WatchParent(-1)
		r.peer.WatchParent(4711)
		r.peer.WatchParent(4712)
		time.Sleep(time.Hour)
		select {
		case <-r.done:
			t.Fatal("it ended with its parent alive")
		default:
		}
		died := time.Now()
		gone.Store(true)
		<-r.done
		if took := time.Since(died); took > 6*time.Second || r.outcome.Ending != server.Orphaned || r.outcome.Code() != 1 || watched != 4711 {
			t.Errorf("%v after %v, watched %d", r.outcome.Ending, took, watched)
		}
	})
}

// TestREL26AParentOfAnotherNamespace: a client in a container or a Flatpak says
// what its process is called in there. Nobody of that id runs here, so that only
// the end of what the client sends ends the connection.
func TestREL26AParentOfAnotherNamespace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := io.Pipe()
		r := serveOn(t, rwc{near, io.Discard}, rwc{near, io.Discard}, server.Config{Watch: func(int) func() bool {
			return func() bool { return false }
		}}, echo)
		r.peer.WatchParent(4711)
		time.Sleep(time.Hour)
		select {
		case <-r.done:
			t.Fatalf("it ended as %v", r.outcome.Ending)
		default:
		}
		far.Close()
		<-r.done
		if r.outcome.Ending != server.HungUp {
			t.Errorf("it ended as %v", r.outcome.Ending)
		}
	})
}

type rwc struct {
	io.ReadCloser
	io.Writer
}

func TestREL26ARealProcess(t *testing.T) {
	child := exec.Command("sleep", "60")
	if err := child.Start(); err != nil {
		t.Skip("no sleep here: ", err)
	}
	alive := server.WatchProcess(child.Process.Pid)
	if !alive() {
		t.Error("a running process is gone")
	}
	child.Process.Kill()
	if runtime.GOOS == "linux" {
		for deadline := time.Now().Add(time.Minute); alive(); runtime.Gosched() { // a zombie until it is waited for
			if time.Now().After(deadline) {
				t.Fatal("a zombie is alive")
			}
		}
	}
	child.Wait()
	if alive() {
		t.Error("a process that was waited for is alive")
	}
	if server.WatchProcess(child.Process.Pid)() {
		t.Error("a process that is gone from the start is alive")
	}
	if !server.WatchProcess(os.Getpid())() {
		t.Error("we are gone")
	}
}
