package main

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"path/filepath"
	"sync"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"github.com/agentls/agentls/internal/client"
	"github.com/agentls/agentls/internal/daemon"
	"github.com/agentls/agentls/internal/wire"
)

// connection is a daemon in this process and a client of it: the command line speaks the
// same protocol as an editor, so that it can do nothing that an editor cannot. Methods on
// it are requests that several commands share.
type connection struct {
	*client.Client
	// done gets the error with which the daemon ended, once. It has room for it, so that
	// the daemon's goroutine ends also where nobody receives.
	done chan error
	// end is close, done once however often Close is called.
	end func() error
}

// connect starts a daemon for a folder and shakes hands with it. Close it. handler gets
// what the daemon sends; the zero value drops notifications and refuses questions. It
// declares the capabilities of a client that shows events and asks the person. The daemon
// and the client do not end with ctx: an interrupted command still has to cancel its run
// and have the log written, which Close does. ctx ends only the wait for the handshake.
func connect(ctx context.Context, config daemon.Config, folder string, handler client.Config) (*connection, error) {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return nil, err
	}
	// net.Pipe has no buffer, so no side is ahead of the other; the daemon's outbox sees
	// to it that nobody who sends waits.
	near, far := net.Pipe()
	c := &connection{done: make(chan error, 1)}
	c.end = sync.OnceValue(c.close)
	go func() { // ends with Close
		_, err := daemon.Serve(context.WithoutCancel(ctx), far, config)
		c.done <- err
	}()
	c.Client = client.New(context.WithoutCancel(ctx), near, handler)
	ours, err := json.Marshal(map[string]any{"agents": wire.ClientCapabilities{
		Version: wire.Version, Activity: &wire.ActivityCapability{},
		Confirm: &wire.ConfirmCapability{Feedback: true, Modify: true}, Ask: true,
	}})
	if err != nil {
		return nil, err
	}
	root := uri.File(folder)
	p := &protocol.InitializeParams{RootURI: &root}
	p.Capabilities.Experimental = ours
	if _, err := c.Initialize(ctx, p); err != nil {
		closed := c.Close()
		if ctx.Err() != nil { // a daemon that was not waited for cannot end well
			return nil, ctx.Err()
		}
		return nil, errors.Join(err, closed)
	}
	return c, nil
}

// Close ends the daemon and waits until its log is written. It may be called
// again.
func (c *connection) Close() error { return c.end() }

// close asks the daemon to shut down, hangs up, and waits for the daemon's end. The
// request has no limit of time: shutting down has its own in the daemon.
func (c *connection) close() error {
	err := c.Shutdown(context.Background())
	closed := c.Client.Close()
	return errors.Join(err, <-c.done, closed)
}
