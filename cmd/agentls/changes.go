package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/chat"
	"github.com/agentls/agentls/internal/wire"
)

// changesCommand shows what agents changed, and keeps or undoes it.
func changesCommand(std streams) *cobra.Command {
	var p wire.ChangesParams
	var keep, undo, patches, asJSON bool
	c := &cobra.Command{
		Use: "changes [FILE…]", Short: "Show what agents changed in files; keep or undo it",
		Long: `Shows what the agents of a session changed in files and what you have neither kept
nor undone yet; with --run, what one run changed. With --keep or --undo it is kept
or undone, in the files that are named or in all. What somebody else has changed
since is left, and told.`,
		RunE: func(c *cobra.Command, args []string) error {
			if keep && undo {
				return usage{errors.New("--keep and --undo do not go together: leave one out")}
			}
			if (keep || undo) && p.Run != "" {
				return usage{errors.New("--run is for showing: name the files to keep or undo")}
			}
			files, err := urisOf(args)
			if err != nil {
				return err
			}
			return with(c.Context(), std, func(ctx context.Context, conn *connection) error {
				if keep || undo {
					r, err := conn.resolve(ctx, p.Session, files, map[bool]string{true: "undo", false: "keep"}[undo])
					if err != nil && len(r.Files)+len(r.Conflicts) == 0 {
						return err
					}
					// Where it failed half way, what was done before is told as well.
					show := printResolved
					if asJSON {
						show = func(out io.Writer, r *wire.ChangesResolveResult) error { return printJSON(out, r) }
					}
					if shown := show(std.out, r); err == nil {
						err = shown
					}
					return err
				}
				var r wire.ChangesResult
				if err := conn.Call(ctx, wire.MethodChanges, &p, &r); err != nil {
					return err
				}
				r.Files = only(r.Files, files)
				if asJSON {
					return printJSON(std.out, r)
				}
				return printChanges(std.out, r.Files, patches)
			})
		},
	}
	f := c.Flags()
	f.StringVar(&p.Session, "session", "", "the session; without it, main")
	f.StringVar(&p.Run, "run", "", "show what this run changed")
	f.BoolVar(&keep, "keep", false, "keep the changes: they are not listed any more")
	f.BoolVar(&undo, "undo", false, "undo the changes")
	f.BoolVarP(&patches, "patch", "p", false, "show the changes themselves")
	f.BoolVar(&asJSON, "json", false, "print JSON")
	completeSessionFlag(c)
	return c
}

// urisOf names files as the protocol does.
func urisOf(names []string) (uris []string, err error) {
	folder, err := here()
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if !filepath.IsAbs(name) {
			name = filepath.Join(folder, name)
		}
		uris = append(uris, tool.URI(filepath.Clean(name)))
	}
	return uris, nil
}

// only leaves out the changes of files that are not named; without names it
// leaves out none.
func only(all []activity.Change, uris []string) []activity.Change {
	if len(uris) == 0 {
		return all
	}
	named := []activity.Change{}
	for _, change := range all {
		for _, u := range uris {
			if tool.PathOf(change.URI) == tool.PathOf(u) {
				named = append(named, change)
			}
		}
	}
	return named
}

// resolve keeps or undoes the changes of files; without files, all. With an error
// it returns what was done before.
func (c *connection) resolve(ctx context.Context, session string, files []string, action string) (*wire.ChangesResolveResult, error) {
	all := &wire.ChangesResolveResult{Files: []activity.Change{}, Conflicts: []wire.Conflict{}}
	if len(files) == 0 {
		files = []string{""}
	}
	for _, file := range files {
		var r wire.ChangesResolveResult
		if err := c.Call(ctx, wire.MethodChangesResolve, &wire.ChangesResolveParams{Session: session, URI: file, Action: action}, &r); err != nil {
			return all, err
		}
		all.Files, all.Conflicts = append(all.Files, r.Files...), append(all.Conflicts, r.Conflicts...)
	}
	return all, nil
}

// printChanges prints a line for each file.
func printChanges(out io.Writer, files []activity.Change, patches bool) error {
	if len(files) == 0 {
		_, err := fmt.Fprintln(out, "There are no changes of agents that you have not kept or undone.")
		return err
	}
	var b strings.Builder
	for _, f := range files {
		fmt.Fprintf(&b, "%-6s  %s  %s\n", f.Kind, tool.Escape(localName(f.URI)), statuses(f.Hunks))
		if patches {
			b.WriteString(chat.PlainText(strings.TrimRight(f.Patch, "\n")) + "\n")
		}
	}
	b.WriteString("\nKeep or undo: agentls changes --keep [FILE…], agentls changes --undo [FILE…]")
	if !patches {
		b.WriteString("; see them whole: agentls changes -p")
	}
	_, err := fmt.Fprintln(out, b.String())
	return err
}

// statuses counts the parts of a change by what became of them.
func statuses(hunks []activity.Hunk) string {
	var parts []string
	for _, status := range []string{"pending", "kept", "undone"} {
		n := 0
		for _, h := range hunks {
			if h.Status == status {
				n++
			}
		}
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, status))
		}
	}
	return strings.Join(parts, ", ")
}

// printResolved prints a line for each file, and for what was left.
func printResolved(out io.Writer, r *wire.ChangesResolveResult) error {
	var b strings.Builder
	for _, f := range r.Files {
		fmt.Fprintf(&b, "%s  %s\n", tool.Escape(localName(f.URI)), statuses(f.Hunks))
	}
	for _, c := range r.Conflicts {
		fmt.Fprintf(&b, "left: %s: %s\n", tool.Escape(localName(c.URI)), tool.Escape(c.Why))
	}
	if b.Len() == 0 {
		b.WriteString("There is nothing to keep or undo.\n")
	}
	_, err := io.WriteString(out, b.String())
	return err
}
