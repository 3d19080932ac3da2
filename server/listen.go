package server

import (
	"errors"
	"io"
	"os"
)

// Stdio returns the process's standard streams as a connection for [Serve], and
// keeps the real standard output to itself: afterwards the descriptor of out is
// a second one for errs, so that a stray print lands in the log of the editor
// and not between two frames, and children that inherit it cannot write to the
// client. It is called once, with os.Stdin, os.Stdout and os.Stderr, before
// anything is started that prints. errs stays the caller's.
//
// A client that has closed its end is an error of Write and ends the connection
// (REL-27), since the private descriptor is neither 1 nor 2: the Go runtime lets
// the process die of SIGPIPE for those two only. Standard error is one of them,
// so cmd still has to call signal.Notify for SIGPIPE, or the first log line
// after the editor has gone ends the process before anything is saved.
//
// Close does not end a Read of a pipe that blocks; see [Serve].
//
// Outside Unix the descriptor stays what it is, and nothing guards against
// stray prints.
//
// The error says which stream could not be taken over; then nothing has been
// changed but perhaps the descriptor of out, and the process should end.
func Stdio(in, out, errs *os.File) (io.ReadWriteCloser, error) {
	private, err := takeOver(out, errs)
	if err != nil {
		return nil, err
	}
	return &stdio{in, private}, nil
}

// stdio joins the two streams to one connection. Closing closes both, and
// neither close may wait for the other side.
type stdio struct{ in, out *os.File }

func (s *stdio) Read(p []byte) (int, error)  { return s.in.Read(p) }
func (s *stdio) Write(p []byte) (int, error) { return s.out.Write(p) }
func (s *stdio) Close() error                { return errors.Join(s.out.Close(), s.in.Close()) }
