package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"
	"golang.org/x/term"

	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/daemon"
	"github.com/agentls/agentls/workspace"
)

// agentFileOf returns the agent file that an argument of trust names: by its path,
// or by the agent's name in the folder where the command runs. "" = it names none.
func agentFileOf(arg string) string {
	path, err := filepath.Abs(arg)
	if err != nil {
		return ""
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return ""
	}
	for _, file := range []string{path, filepath.Join(filepath.Dir(path), ".gemini", "agents",
		filepath.Base(path)+".md")} {
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() &&
			filepath.Base(filepath.Dir(file)) == "agents" {
			return file
		}
	}
	return ""
}

// approveAgent approves one agent file of a trusted folder, as it is now: it shows
// what is new in it, and asks where there is somebody to ask.
func approveAgent(ctx context.Context, std streams, config daemon.Config, file string) error {
	file, err := workspace.Canonical(file)
	if err != nil {
		return err
	}
	folder := filepath.Dir(filepath.Dir(filepath.Dir(file)))
	rel, err := filepath.Rel(folder, file)
	if err != nil {
		return err
	}
	records := trustOf(config)
	trusted, record, err := records.Lookup(folder)
	switch {
	case err != nil:
		return err
	case !trusted:
		return fmt.Errorf("%s is not trusted, so none of its agents runs; trust it first: agentls trust %s",
			tool.Escape(folder), tool.Escape(folder))
	}
	item, ok := workspace.ReadAgent(ctx, folder, filepath.ToSlash(rel))
	if !ok {
		return fmt.Errorf("%s cannot be read as an agent file; look at it with agentls validate %s",
			tool.Escape(file), tool.Escape(file))
	}
	changed := difference(records, record, folder, item)
	if changed == "" {
		_, err := fmt.Fprintf(std.out, "%s is approved as it is.\n", tool.Escape(rel))
		return err
	}
	if err := page(ctx, std.out, changed); err != nil {
		return err
	}
	if asks := newTerminal(std); asks.there && !asks.yes(ctx, fmt.Sprintf("Approve %s? [y/N] ",
		tool.Escape(rel)), false) {
		if ctx.Err() != nil {
			return exit{exitInterrupted}
		}
		_, err := fmt.Fprintln(std.out, "Nothing was approved.")
		return err
	}
	// What was shown is what is approved, whatever the file is by now.
	below, _ := workspace.Below(record.Folder, folder)
	if err := records.Approve(ctx, record.Folder, item.Under(below)); err != nil {
		return err
	}
	_, err = fmt.Fprintf(std.out, "%s is approved.\n", tool.Escape(rel))
	return err
}

// difference returns what is new in an item since a record approved it: a diff, or
// the whole text where no earlier one was kept; "" where it is approved as it is.
func difference(records *workspace.Trust, record workspace.TrustRecord, folder string,
	item workspace.TrustItem) string {
	below, _ := workspace.Below(record.Folder, folder)
	name := item.Under(below).Name
	i := slices.IndexFunc(record.Items, func(one workspace.TrustItem) bool { return one.Name == name })
	var text, heading string
	switch {
	case i >= 0 && record.Items[i].Digest == item.Digest:
		return ""
	case i < 0:
		heading, text = "new", string(item.Text)
	default:
		before, kept := records.Text(record.Items[i].Digest)
		heading, text = "changed since you approved it", string(item.Text)
		if kept {
			text = udiff.Unified(item.Name+" (approved)", item.Name, string(before), string(item.Text))
		}
	}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for n, line := range lines {
		lines[n] = tool.Escape(line)
	}
	return fmt.Sprintf("==== %s (%s)\n%s\n", tool.Escape(item.Name), heading, strings.Join(lines, "\n"))
}

// printDifferences shows what of a folder is new or changed since it was trusted.
func printDifferences(ctx context.Context, out io.Writer, records *workspace.Trust, folder string) error {
	folder, err := workspace.Canonical(folder)
	if err != nil {
		return err
	}
	_, record, err := records.Lookup(folder)
	if err != nil {
		return err
	}
	active, err := workspace.ReadActive(ctx, folder)
	if err != nil {
		return err
	}
	var all strings.Builder
	for _, item := range active.Items {
		all.WriteString(difference(records, record, folder, item))
	}
	if all.Len() == 0 {
		_, err := fmt.Fprintln(out, "Nothing is new or changed.")
		return err
	}
	return page(ctx, out, all.String())
}

// page shows a text: on a terminal by PAGER, else by less, which ends at once where the
// text fits on the screen.
func page(ctx context.Context, out io.Writer, text string) error {
	f, isFile := out.(*os.File)
	pager := strings.Fields(os.Getenv("PAGER"))
	if len(pager) == 0 {
		pager = []string{"less", "-FRX"}
	}
	program, err := exec.LookPath(pager[0])
	if !isFile || !term.IsTerminal(int(f.Fd())) || err != nil {
		_, err := io.WriteString(out, text)
		return err
	}
	c := exec.CommandContext(ctx, program, pager[1:]...)
	c.Stdin, c.Stdout, c.Stderr = strings.NewReader(text), f, os.Stderr
	return c.Run()
}
