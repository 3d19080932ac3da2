package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/sourcegraph/conc"
	"go.lsp.dev/protocol"

	"github.com/agentls/agentls/internal/chat"
	"github.com/agentls/agentls/internal/wire"
)

// askTrust has a person at a terminal decide about a folder that nobody has decided about,
// before an agent spends turns in it on what it may not do. The daemon asks, as in an
// editor; a goroutine cancels the question on Ctrl-C, which leaves, and ends with the
// question. In a folder that is not trusted it says so and goes on: agents may read
// there. For a single run there is askTrustOnce, which asks by itself.
func (d *dialogue) askTrust(ctx context.Context) error {
	folder, err := here()
	if err != nil || !d.terminal {
		return err
	}
	r, err := d.conn.trustIn(ctx, folder, false, false)
	trusted := r.Trusted
	if err == nil && !trusted && (r.Decided == "" || r.Replaced) {
		p := &protocol.ExecuteCommandParams{Command: wire.CommandTrustWorkspace}
		var given struct {
			Trusted []string `json:"trusted"`
		}
		asked, cancel := context.WithCancel(ctx)
		var work conc.WaitGroup
		// The last deferred call runs first: cancel ends the goroutine, and then Wait
		// waits for it.
		defer work.Wait()
		defer cancel()
		work.Go(func() {
			select {
			case <-d.keys: // Ctrl-C is no answer, and whoever gives none leaves
				cancel()
			case <-asked.Done():
			}
		})
		if err := d.conn.Call(asked, protocol.MethodWorkspaceExecuteCommand, p, &given); err != nil {
			if asked.Err() != nil {
				return exit{exitInterrupted}
			}
			return err
		}
		trusted = len(given.Trusted) > 0
	}
	if err != nil || trusted {
		return nil // what is wrong with the records is told by the daemon
	}
	d.setStatus(chat.Status{Trust: "read-only"})
	d.t.say("This folder is not trusted (read-only). Run `agentls trust` to let agents ask for more.")
	return nil
}

// homely shows a folder below the person's home as shells do, with ~.
func homely(folder string) string {
	home, err := os.UserHomeDir()
	if rest, ok := strings.CutPrefix(folder, home+string(filepath.Separator)); ok && err == nil && home != "" {
		return "~" + string(filepath.Separator) + rest
	}
	return folder
}
