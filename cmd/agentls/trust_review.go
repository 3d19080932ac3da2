package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/aymanbagabas/go-udiff"
	"golang.org/x/term"

	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/wire"
)

// approveAgent approves one agent file of a trusted folder: it shows what is new in it,
// and asks where there is somebody to ask. What was shown is what is approved: the digest
// of that text goes along, and the daemon refuses where the file has another by then.
// Without a terminal the command itself is the approval. A no is exit code 0, Ctrl-C at
// the question 130.
func approveAgent(ctx context.Context, std streams, conn *connection, file string) error {
	r, err := conn.trustIn(ctx, file, true, true)
	folder := tool.Escape(tool.PathOf(r.Folder))
	switch {
	case err != nil:
		return err
	case !r.Trusted:
		return fmt.Errorf("%s is not trusted, so none of its agents runs; trust it first: agentls trust %s", folder, folder)
	case len(r.Items) == 0:
		return fmt.Errorf("%s cannot be read as an agent file; look at it with agentls validate %s",
			tool.Escape(file), tool.Escape(file))
	}
	item := r.Items[0]
	name := tool.Escape(item.Name)
	if item.State == "" {
		_, err := fmt.Fprintf(std.out, "%s is approved as it is.\n", name)
		return err
	}
	if err := page(ctx, std.out, difference(item)); err != nil {
		return err
	}
	if asks := newTerminal(std); asks.there && !asks.yes(ctx, fmt.Sprintf("Approve %s? [y/N] ", name), false) {
		if ctx.Err() != nil {
			return exit{exitInterrupted}
		}
		_, err := fmt.Fprintln(std.out, "Nothing was approved.")
		return err
	}
	if err := conn.setTrust(ctx, file, wire.TrustParams{Trusted: new(true), Digest: item.Digest}); err != nil {
		return err
	}
	_, err = fmt.Fprintf(std.out, "%s is approved.\n", name)
	return err
}

// difference returns what is new in an item since it was approved: a diff, or the whole
// text where no earlier one was kept. It is escaped, as the text is somebody else's.
func difference(item wire.TrustItem) string {
	heading, text := "new", item.Text
	if item.State == "changed" {
		heading = "changed since you approved it"
		if item.Before != "" {
			text = udiff.Unified(item.Name+" (approved)", item.Name, item.Before, text)
		}
	}
	return fmt.Sprintf("==== %s (%s)\n%s\n", tool.Escape(item.Name), heading,
		tool.EscapeLines(text))
}

// printDifferences shows what of a folder is new or changed since it was trusted; where it
// is not trusted, all. Instructions are left out: trusting a folder does not record what
// they said, so it is not known what is new in them.
func printDifferences(ctx context.Context, out io.Writer, conn *connection, folder string) error {
	r, err := conn.trustIn(ctx, folder, true, true)
	if err != nil {
		return err
	}
	var all strings.Builder
	for _, item := range r.Items {
		if item.Kind != "instructions" && (item.State != "" || !r.Trusted) {
			all.WriteString(difference(item))
		}
	}
	return page(ctx, out, cmp.Or(all.String(), "Nothing is new or changed.\n"))
}

// page shows a text that the caller has escaped: on a terminal by PAGER, else by less,
// which ends at once where the text fits on the screen. Without a terminal or a pager it
// prints it.
func page(ctx context.Context, out io.Writer, text string) error {
	f, isFile := out.(*os.File)
	pager := strings.Fields(os.Getenv("PAGER"))
	if len(pager) == 0 {
		pager = []string{"less", "-FRX"}
	}
	// Looked up first, so that without a pager the text is printed all the same.
	program, err := exec.LookPath(pager[0])
	if !isFile || !term.IsTerminal(int(f.Fd())) || err != nil {
		_, err := io.WriteString(out, text)
		return err
	}
	c := exec.CommandContext(ctx, program, pager[1:]...)
	c.Stdin, c.Stdout, c.Stderr = strings.NewReader(text), f, os.Stderr
	return c.Run()
}
