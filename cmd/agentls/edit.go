package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/internal/wire"
	"github.com/agentls/agentls/workspace"
)

// editCommand opens an agent's file in the person's editor and checks it afterwards. It
// needs VISUAL or EDITOR, and the terminal that the editor needs. It exits with 1 where
// the file is not valid at the end; at a terminal it offers to edit it again first.
func editCommand(std streams) *cobra.Command {
	var scope string
	c := &cobra.Command{
		Use: "edit NAME", Short: "Edit an agent's file with $VISUAL or $EDITOR, and check it",
		Long: "Opens an agent's file in $VISUAL, else $EDITOR, and checks it when that ends; it exits with 1 when it is not valid then.\n" +
			"What you change in a file that was approved counts as approved. The editor is given a copy, which is\n" +
			"taken back when it ends: tell one that ends at once to wait, as in EDITOR=\"code --wait\".",
		Args: arguments(1, 1), ValidArgsFunction: completeFiles(1),
		RunE: func(c *cobra.Command, args []string) error {
			return with(c.Context(), std, func(ctx context.Context, conn *connection) error {
				info, err := agentOf(ctx, conn, args[0], scope)
				if err != nil {
					return err
				}
				if info.URI == "" {
					return fmt.Errorf("%s is built in and has no file to edit; see it with agentls explain %s",
						info.Name, info.Name)
				}
				return editAgent(ctx, conn, std, info)
			})
		},
	}
	choose(c, &scope, "scope", "", "project or global, where both have an agent of that name", "project", "global")
	return c
}

// editAgent has an agent's file edited until it is valid or the person has had enough.
// Each time it prints what is wrong, and whether the file waits for a review. A daemon of
// its own validates, since conn's still has the file as it was.
func editAgent(ctx context.Context, conn *connection, std streams, info wire.AgentInfo) error {
	asks := newTerminal(std)
	if len(asks.editor) == 0 {
		return fmt.Errorf("there is no editor for %s; set VISUAL or EDITOR to yours", place(info.URI))
	}
	for {
		changed, err := change(ctx, conn, asks, info)
		if err != nil {
			return err
		}
		if !changed {
			fmt.Fprintln(std.err, "Nothing was changed.")
		} else if state, err := settledState(ctx, conn, std, info.URI); err != nil {
			return err
		} else if state == "review" {
			fmt.Fprintln(std.err, "It waits for a review, since what you changed in it was not approved: look at it, then agentls trust")
		}
		err = with(ctx, std, func(ctx context.Context, anew *connection) error { // conn's knows the file as it was
			return validate(ctx, anew, std.out, &wire.ValidateParams{URI: info.URI}, false)
		})
		// A file that is not valid may be edited again; any other error ends the command.
		var code exit
		if !errors.As(err, &code) || !asks.there || !asks.yes(ctx, "Edit it again? [Y/n] ", true) {
			return err
		}
	}
}

// change has an agent's file changed once, in a copy that nobody else writes: what another
// program makes of the file meanwhile is neither replaced nor approved. The write names
// the digest of what was read, and fails where the file has another by then; the person's
// text is kept in that case. The daemon hears of it as of an editor's document, with open,
// change, save and close, and so approves what the person made of a text that was
// approved. A file that is no text is written without telling the daemon. changed is false
// where the editor left the text as it was.
func change(ctx context.Context, conn *connection, asks *terminal, info wire.AgentInfo) (changed bool, err error) {
	u, err := uri.Parse(info.URI)
	if err != nil {
		return false, err
	}
	folder, name, err := target(definition.Scope(info.Scope), u.FsPath())
	if err != nil {
		return false, err
	}
	disk, err := workspace.OpenDisk(folder)
	if err != nil {
		return false, err
	}
	defer disk.Close()
	// target has followed all links; Direct refuses one that has come since.
	disk = disk.Direct()
	before, err := disk.Read(ctx, name, 0)
	if err != nil {
		return false, err
	}
	was := string(before.Bytes)
	now, err := asks.inEditor(ctx, draft{name: filepath.Base(u.FsPath()), text: was})
	// An editor that did not end well may have saved something: that text is kept, and
	// the file left as it is.
	switch {
	case err != nil && now != "" && now != was:
		return false, keep(name, now, err)
	case err != nil || now == was:
		return false, err
	}
	// tell does nothing once something has failed.
	tell := func(method string, params any) {
		if err == nil {
			err = conn.Notify(ctx, method, params)
		}
	}
	doc := protocol.TextDocumentIdentifier{URI: u}
	old, noText := before.Text()
	text, noTextNow := workspace.DecodeText([]byte(now))
	document := noText == nil && noTextNow == nil
	if document {
		tell(protocol.MethodTextDocumentDidOpen,
			&protocol.DidOpenTextDocumentParams{TextDocument: protocol.TextDocumentItem{URI: u, LanguageID: "markdown",
				Version: 1, Text: old.Text}})
		p := &protocol.DidChangeTextDocumentParams{ContentChanges: []protocol.TextDocumentContentChangeEvent{&protocol.TextDocumentContentChangeWholeDocument{Text: text.Text}}}
		p.TextDocument.URI, p.TextDocument.Version = u, 2
		tell(protocol.MethodTextDocumentDidChange, p)
		if err == nil { // until it has read the change, what the disk has is another program's
			_, err = stateOf(ctx, conn, info.URI)
		}
	}
	// Exact: the bytes are the editor's, with charset, mark and line ends.
	_, failed := disk.Write(ctx, workspace.Write{Name: name, Text: now, Seen: before.Digest, Exact: true})
	if document {
		if failed == nil {
			tell(protocol.MethodTextDocumentDidSave, &protocol.DidSaveTextDocumentParams{TextDocument: doc})
		}
		tell(protocol.MethodTextDocumentDidClose, &protocol.DidCloseTextDocumentParams{TextDocument: doc})
	}
	if failed != nil {
		return false, keep(name, now, failed)
	}
	return true, err
}

// target returns where an agent's file really lies: a folder, and its name in there. Links
// are followed as the catalog follows them: a project's file not out of its workspace
// folder, since a repository could have the person edit any file of theirs.
func target(scope definition.Scope, path string) (folder, name string, err error) {
	real, err := workspace.Canonical(path)
	if err != nil {
		return "", "", err
	}
	folder, name = filepath.Dir(real), filepath.Base(real)
	if scope != definition.Project {
		return folder, name, nil
	}
	// An agent of a project lies in .gemini/agents of its workspace folder.
	if folder, err = workspace.Canonical(filepath.Dir(filepath.Dir(filepath.Dir(path)))); err != nil {
		return "", "", err
	}
	name, ok := workspace.Below(folder, real)
	if !ok {
		return "", "", fmt.Errorf("%s leads out of its workspace folder, so it is not followed; copy the file, or see to %s itself", place(tool.URI(path)), tool.Escape(real))
	}
	return folder, name, nil
}

// keep writes the text of a person that could not be saved to a temporary file that only
// they can read, and returns the error with the name of that file.
func keep(name, text string, why error) error {
	reason := fault.Message(why)
	if fault.KindOf(why) == fault.Stale {
		reason = tool.Escape(name) + " was changed by another program while you edited it"
	}
	f, err := os.CreateTemp("", "agentls-*-"+filepath.Base(name)) // 0600
	if err != nil {
		return fmt.Errorf("%s, and your text could not be kept: %w", reason, err)
	}
	_, err = f.WriteString(text)
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("%s, and your text could not be kept: %w", reason, err)
	}
	return fmt.Errorf("%s; your text is not lost: it is in %s", reason, f.Name())
}

// settledState returns the state of the agent of a file once the daemon has done all that
// it was told, "" where there is none. The list on conn is asked for only to wait: it is
// answered behind what was saved. The state itself comes from a daemon of its own, which
// reads the file and the records anew.
func settledState(ctx context.Context, conn *connection, std streams, file string) (state string, err error) {
	if _, err := stateOf(ctx, conn, file); err != nil { // it answers when what was saved is approved, or is not
		return "", err
	}
	err = with(ctx, std, func(ctx context.Context, anew *connection) error {
		state, err = stateOf(ctx, anew, file)
		return err
	})
	return state, err
}

// stateOf returns the state of the agent of a file as a daemon has it, "" where there is
// none.
func stateOf(ctx context.Context, conn *connection, file string) (string, error) {
	var r wire.ListResult
	if err := conn.Call(ctx, wire.MethodList, &wire.ListParams{}, &r); err != nil {
		return "", err
	}
	for _, a := range r.Agents {
		if a.URI == file {
			return a.State, nil
		}
	}
	return "", nil
}
