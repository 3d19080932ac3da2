package helper

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// relay runs a command and, for as long as it lives, passes each connection to a
// port of 127.0.0.1 on to a Unix socket: the way from a network namespace to the
// daemon's proxy. It ends as the command does. It uses system calls because
// package net is not ready yet (see the package's comment).
func relay(port, socket, path string, args, environ []string) int {
	fail := func(err error) int {
		fmt.Fprintln(os.Stderr, "agentls: the way to the network cannot be opened:", err)
		return 126
	}
	// What bubblewrap left open is not the command's.
	_ = unix.CloseRange(3, ^uint(0), unix.CLOSE_RANGE_CLOEXEC)
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return fail(err)
	}
	listener, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err == nil {
		err = unix.Bind(listener, &unix.SockaddrInet4{Port: int(number), Addr: [4]byte{127, 0, 0, 1}})
	}
	if err == nil {
		err = unix.Listen(listener, 128)
	}
	if err != nil {
		return fail(err)
	}
	command, err := syscall.ForkExec(path, args, &syscall.ProcAttr{
		Env: environ, Files: []uintptr{0, 1, 2}, Sys: &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL},
	})
	if err != nil {
		return fail(&os.PathError{Op: "fork/exec", Path: path, Err: err})
	}
	ignoreSignals()
	go accept(listener, socket) // ends with the process
	for {
		var s syscall.WaitStatus
		_, err := syscall.Wait4(command, &s, 0, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return fail(err)
		case s.Signaled():
			return 128 + int(s.Signal())
		default:
			return s.ExitStatus()
		}
	}
}

// accept passes the connections of a listener on.
func accept(listener int, socket string) {
	for {
		from, _, err := unix.Accept4(listener, unix.SOCK_CLOEXEC)
		if errors.Is(err, unix.EINTR) || errors.Is(err, unix.ECONNABORTED) {
			continue
		}
		if err != nil {
			return
		}
		go func() {
			defer unix.Close(from)
			to, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
			if err != nil {
				return
			}
			defer unix.Close(to)
			if err := unix.Connect(to, &unix.SockaddrUnix{Name: socket}); err != nil {
				return
			}
			done := make(chan struct{})
			go func() {
				defer close(done)
				pass(from, to)
			}()
			pass(to, from)
			<-done
		}()
	}
}

// pass passes bytes on until one side ends, and ends that direction.
func pass(to, from int) {
	buf := make([]byte, 32<<10)
	for {
		n, err := unix.Read(from, buf)
		if err == unix.EINTR {
			continue
		}
		if n <= 0 || err != nil {
			break
		}
		for rest := buf[:n]; len(rest) > 0; {
			n, err := unix.Write(to, rest)
			if err == unix.EINTR {
				continue
			}
			if err != nil {
				_ = unix.Shutdown(from, unix.SHUT_RDWR) // nobody wants the rest
				return
			}
			rest = rest[n:]
		}
	}
	_ = unix.Shutdown(to, unix.SHUT_WR)
}
