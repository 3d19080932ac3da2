package agents

import (
	"fmt"

	"github.com/agentls/agentls/internal/fault"
)

// BadParam is wrapped by the errors of [Service.Start] that one member of the
// request is to blame for, so that a client can be told which (spec 2.2). Path is
// as in "inputs.topic"; Err says what is wrong with it, as in "is required". It is
// found with errors.As below a fault of kind Invalid.
type BadParam struct {
	Path string
	Err  error
}

// Error returns the path and what is wrong with it.
func (e *BadParam) Error() string { return e.Path + " " + e.Err.Error() }

// Unwrap returns what is wrong.
func (e *BadParam) Unwrap() error { return e.Err }

// badParam returns a fault.Invalid that wraps a [BadParam].
func badParam(path, format string, args ...any) error {
	return fault.New(fault.Invalid, "agents.start", "%w", &BadParam{path, fmt.Errorf(format, args...)})
}
