package tool

import (
	"context"
	"errors"
	"fmt"
	"os/exec"

	"github.com/agentls/agentls/internal/process"
	"github.com/agentls/agentls/internal/sandbox"
)

// Enclosure is the wall of a process that settings describe: an MCP server, a hook, a guard's
// validator. The zero Enclosure is no wall.
type Enclosure struct {
	// What makes the wall; nil = none is put around the process.
	Sandbox *sandbox.Sandbox
	// What the process is let do; "" and Full = no wall.
	Access sandbox.Access
	// The workspace folder, which the wall shows to the process. Absolute, links resolved.
	Folder string
	// Returns what the wall hides and keeps from being written; it is asked before the start and
	// once more at the end. Required where there is a wall.
	Places func(ctx context.Context, folder string) (Places, error)
}

// Confine puts a process of the settings behind its wall. The caller starts it by start
// and calls release when nothing of it is left: release returns the protected places
// that are new or changed since, whoever did it. The error says, after "it", why there
// is no wall.
//
// cmd must not have been started; Confine changes it. Where there is to be a wall and none works,
// or credentials of the folder cannot be hidden, the process is not started: an error, and never a
// process without its wall. release must be called once also where start failed.
func Confine(ctx context.Context, job *process.Job, cmd *exec.Cmd, e Enclosure) (start func() (*process.Child, error),
	release func() ([]string, error), err error) {
	none := func() ([]string, error) { return nil, nil }
	if e.Access == "" || e.Access == sandbox.Full || e.Sandbox == nil {
		return func() (*process.Child, error) { return job.StartReaped(cmd) }, none, nil
	}
	spec := sandbox.Spec{Access: e.Access, Folders: []string{e.Folder}}
	places, err := e.Places(ctx, e.Folder)
	if err != nil {
		return nil, none, err
	}
	for _, list := range [][]string{places.Credentials, places.Denied} {
		spec.Masked = append(spec.Masked, list...)
	}
	spec.Protected = places.Protected
	if wall, why := e.Sandbox.Wall(); wall == sandbox.None {
		return nil, none, fmt.Errorf("it is to run in a sandbox, and none works here (%s); describe it in your own settings to start it without one", why)
	}
	if (len(spec.Masked) > 0 && !e.Sandbox.CanMask(e.Access)) || !places.Complete {
		return nil, none, errors.New("the sandbox of this machine cannot hide the credential files of the workspace from it; describe it in your own settings to start it without one")
	}
	confined, err := e.Sandbox.Confine(cmd, spec)
	if err != nil {
		return nil, none, err
	}
	return func() (*process.Child, error) { return confined.Start(job) }, func() ([]string, error) {
		var protected []string
		if after, err := e.Places(context.WithoutCancel(ctx), e.Folder); err == nil && after.Complete {
			protected = append([]string{}, after.Protected...)
		} else {
			protected = append(append([]string{}, spec.Protected...), ProtectedPlaces(e.Folder)...)
		}
		return confined.ReleaseShared(protected)
	}, nil
}
