package faults

import (
	"errors"
	"fmt"
	"syscall"
)

// Op names a call that changes what a file system holds, or what of it is safe.
type Op string

// The calls that count.
const (
	Create   Op = "create"   // Open that makes a file or empties one
	Write    Op = "write"    // of at least one byte
	Sync     Op = "sync"     // of a file's content
	Truncate Op = "truncate" // of an open file
	Rename   Op = "rename"
	Remove   Op = "remove"
	SyncDir  Op = "syncdir" // of a folder's names
)

// Call is one call that counts.
type Call struct {
	N    int    // from 1, of the Disk's calls
	Op   Op     // what it does
	Name string // the file or folder; of a Rename the new name
	Size int    // of a Write, in bytes
}

// String is the call as a test's message has it.
func (c Call) String() string { return fmt.Sprintf("call %d, %s %s", c.N, c.Op, c.Name) }

// Fault decides about a call before it is done. Nil lets it be done; an error is
// what the caller gets, and nothing is done, but for what [Torn] says. It is
// asked under the Disk's lock: it must not use the Disk.
type Fault func(Call) error

// ErrEnded is what every call gets when the machine has ended. A Fault that
// returns it, alone or wrapped, ends the machine.
var ErrEnded = errors.New("the machine has ended")

// Errors of disks, as the kernel gives them.
const (
	ErrIO    = syscall.EIO
	ErrSpace = syscall.ENOSPC
)

// Torn is the error of a Write that is done in part: the first N bytes arrive,
// then it fails with Err. Other calls fail with Err. N is bounded by the bytes
// that there are.
type Torn struct {
	N   int
	Err error
}

// Error is Err's.
func (t Torn) Error() string { return t.Err.Error() }

// Unwrap returns Err.
func (t Torn) Unwrap() error { return t.Err }

// At fails the k-th call, counted from 1, with err.
func At(k int, err error) Fault {
	return func(c Call) error {
		if c.N == k {
			return err
		}
		return nil
	}
}

// EndAt ends the machine at the k-th call, which is not done.
func EndAt(k int) Fault { return At(k, ErrEnded) }

// Each fails the calls of one kind from the first-th to the last-th, counted
// from 1 among those of the kind; 0 for last is for ever.
func Each(op Op, first, last int, err error) Fault {
	seen := 0
	return func(c Call) error {
		if c.Op != op {
			return nil
		}
		if seen++; seen >= first && (last == 0 || seen <= last) {
			return err
		}
		return nil
	}
}

// Either asks one fault after the other, and fails with the first error.
func Either(faults ...Fault) Fault {
	return func(c Call) error {
		for _, f := range faults {
			if f == nil {
				continue
			}
			if err := f(c); err != nil {
				return err
			}
		}
		return nil
	}
}

// Tearing makes the writes that a fault fails arrive by half.
func Tearing(f Fault) Fault {
	return func(c Call) error {
		err := f(c)
		if err != nil && c.Op == Write {
			return Torn{c.Size / 2, err}
		}
		return err
	}
}
