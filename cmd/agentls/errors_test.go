package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"testing"

	"github.com/agentls/agentls/internal/fault"
)

// TestErrorsOnTheirLines: errors that were joined have a line each; an end of line
// that a name has begins none.
func TestErrorsOnTheirLines(t *testing.T) {
	named := &fs.PathError{Op: "open", Path: "a\nagentls: all is well", Err: errors.New("gone\x1b[2m")}
	const shown = `open a\nagentls: all is well: gone\x1b[2m`
	one, two := errors.New("one"), fault.New(fault.Internal, "x.y", "two")
	for want, err := range map[string]error{
		"one":                       one,
		"two":                       two,
		shown:                       named,
		"one\ntwo":                  errors.Join(nil, one, two),
		"two\n" + shown + "\none":   errors.Join(two, errors.Join(named, one)),
		"not kept: one\n" + shown:   fmt.Errorf("not kept: %w", errors.Join(one, named)),
		"not kept: twice: one\none": fault.New(fault.Internal, "x.y", "not kept: %w", fmt.Errorf("twice: %w", errors.Join(one, one))),
		"one\\none is so":           fmt.Errorf("%w is so", errors.Join(one, one)),
		"one, one":                  fmt.Errorf("%w, %w", one, one),
		"one in x.y: two":           fmt.Errorf("one in %w", two),
		"the folder that you are in was removed or moved\n  Change to another one": os.NewSyscallError("getwd", syscall.ENOENT),
	} {
		if got := errorText(err); got != want {
			t.Errorf("%#v is shown as %q, want %q", err, got, want)
		}
	}
}
