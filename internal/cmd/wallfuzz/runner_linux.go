package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/sourcegraph/conc"

	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/dial"
	"github.com/agentls/agentls/internal/process"
	"github.com/agentls/agentls/internal/proxy"
	"github.com/agentls/agentls/internal/sandbox"
)

// newWall finds the wall of a name, "" for the best one.
func newWall(name string) (*wall, error) {
	c := sandbox.Config{Environ: os.Environ()}
	if name != "" {
		c.Walls = []sandbox.Wall{sandbox.Wall(name)}
	}
	box := sandbox.New(c)
	found, why := box.Wall()
	if found == sandbox.None {
		return nil, fmt.Errorf("there is no wall %s here: %s", name, why)
	}
	w := &wall{Wall: found, open: !box.CanMask(sandbox.Write), accesses: []sandbox.Access{sandbox.Read, sandbox.Write}}
	w.run = func(ctx context.Context, world *world, access sandbox.Access, script string) ([]byte, error) {
		return world.runBehind(ctx, []sandbox.Wall{found}, access, script)
	}
	if box.CanLimitHosts() {
		w.accesses = append(w.accesses, sandbox.Read, sandbox.Network, sandbox.Write)
	}
	return w, nil
}

// wall is what is tried.
type wall struct {
	sandbox.Wall
	run      runner
	open     bool             // it hides no single files of the workspace
	accesses []sandbox.Access // that mean something behind it, one a batch
}

// runBehind runs a script as the tool bash does: what the survey of the workspace
// finds is masked or protected, and afterwards what is new is quarantined.
func (w *world) runBehind(ctx context.Context, walls []sandbox.Wall, access sandbox.Access,
	script string) ([]byte, error) {
	if w.box == nil {
		w.box = sandbox.New(sandbox.Config{Home: w.home, State: w.state, Environ: w.environ(), Walls: walls})
		w.survey = tool.NewSurvey(time.Now)
		// What the sandbox makes for itself at the first command is no command's doing.
		if _, err := w.runBehind(ctx, walls, sandbox.Read, "true"); err != nil {
			return nil, err
		}
		var err error
		if w.first, err = w.look(); err != nil {
			return nil, err
		}
	}
	places, err := w.survey.Look(ctx, w.work, nil)
	if err != nil {
		return nil, err
	}
	spec := sandbox.Spec{Access: access, Folders: []string{w.work}, Masked: places.Credentials,
		Protected: places.Protected}
	if access == sandbox.Network {
		if spec.Proxy, err = w.serveProxy(); err != nil {
			return nil, err
		}
	}
	scratch := filepath.Join(w.base, "scratch")
	if err := os.MkdirAll(scratch, 0o700); err != nil {
		return nil, err
	}
	j := process.NewJob(process.Options{Dir: w.work, Environ: w.environ(), Scratch: scratch, Now: time.Now})
	defer j.Output.Close()
	cmd := j.Command("/bin/bash", []string{"bash", "--noprofile", "--norc", "-c", script}, nil)
	output, err := os.CreateTemp(scratch, "output")
	if err != nil {
		return nil, err
	}
	defer os.Remove(output.Name())
	defer output.Close()
	cmd.Stdout, cmd.Stderr = output, output
	box, err := w.box.Confine(cmd, spec)
	if err != nil {
		return nil, err
	}
	err = j.Run(ctx, func(string) {}, func() error {
		child, err := box.Start(j)
		if err != nil {
			return err
		}
		_, err = j.Wait(child)
		return err
	})
	j.Kill()
	j.Release()
	if err != nil && ctx.Err() == nil {
		return nil, err
	}
	after, err := w.survey.Look(ctx, w.work, nil)
	if err != nil {
		return nil, err
	}
	if _, err := box.Release(after.Protected); err != nil {
		return nil, err
	}
	return os.ReadFile(output.Name())
}

// serveProxy starts the world's proxy, which allows this machine by its names and
// nothing else, and returns its socket: that it reaches no address inside is the
// dialer's work.
func (w *world) serveProxy() (string, error) {
	socket := filepath.Join(w.base, "proxy")
	if w.stopProxy != nil {
		return socket, nil
	}
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithCancel(context.Background())
	policy := proxy.Policy{Dialer: &dial.Dialer{}, Allow: func(_ context.Context, host string, _ int) error {
		if ip := net.ParseIP(host); host == "localhost" || (ip != nil && ip.IsLoopback()) {
			return nil
		}
		return errors.New("no other host is tried")
	}}
	var serving conc.WaitGroup
	serving.Go(func() { _ = proxy.Serve(ctx, listener, policy) }) // until the world ends
	w.stopProxy = func() {
		cancel()
		serving.Wait()
	}
	return socket, nil
}
