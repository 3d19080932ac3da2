package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/extensions/bundle"
)

// extensionsCommand lists, installs and switches extensions. It starts no daemon: package
// bundle changes the person's folder. All that lets an extension take effect shows what it
// brings and asks, on standard error; without a terminal it needs --yes, and else fails
// with exit code 1. disable only takes away, so it does not ask.
func extensionsCommand(std streams) *cobra.Command {
	c := &cobra.Command{
		Use: "extensions", Short: "Install and switch extensions: agents, MCP servers, commands, hooks and skills in one",
		Long: `Extensions of gemini-cli bring agents, MCP servers, custom commands, context files,
hooks and skills along. You are shown all that one brings before it takes effect, and
again when it brings something else.`,
		Args: cobra.ArbitraryArgs, RunE: needsPart,
	}
	c.AddCommand(listExtensions(std), installCommand(std), linkCommand(std), newExtensionCommand(std))
	one := func(use, short string, do func(context.Context, *bundle.Store, bundle.Listed, bool) error) {
		var yes bool
		sub := &cobra.Command{
			Use: use + " NAME", Short: short, Args: arguments(1, 1),
			RunE: func(c *cobra.Command, args []string) error {
				store, project, err := extensionsOf(std)
				if err != nil {
					return err
				}
				l, err := store.Find(c.Context(), project, args[0])
				if err != nil {
					return err
				}
				return do(c.Context(), store, l, yes)
			},
		}
		if use != "disable" {
			sub.Flags().BoolVar(&yes, "yes", false, "do not ask")
		}
		c.AddCommand(sub)
	}
	one("enable", "Show what an extension brings, and let it take effect",
		func(ctx context.Context, store *bundle.Store, l bundle.Listed, yes bool) error {
			if l.Problem != "" {
				return fmt.Errorf("%s cannot be used: %s", tool.Escape(l.Name), tool.Escape(l.Problem))
			}
			if l.Project != "" {
				fmt.Fprintf(std.err, "%s comes with this folder. It takes effect while the folder is trusted.\n",
					tool.Escape(l.Name))
			}
			// An extension that is approved as it is needs no question; it is only
			// switched on.
			if len(l.News) > 0 {
				// Where some items are approved there was a version before this one.
				if err := consent(ctx, std, l.Bundle, l.News, l.Gone, len(l.News) < len(l.Items), yes); err != nil {
					return err
				}
			}
			if err := store.Approve(ctx, l.Bundle); err != nil {
				return err
			}
			_, err := fmt.Fprintf(std.out, "%s is enabled.\n", tool.Escape(l.Name))
			return err
		})
	one("disable", "Keep an extension from taking effect", func(ctx context.Context, store *bundle.Store,
		l bundle.Listed, _ bool) error {
		if err := store.Disable(ctx, l.Bundle); err != nil {
			return err
		}
		_, err := fmt.Fprintf(std.out, "%s is disabled.\n", tool.Escape(l.Name))
		return err
	})
	one("uninstall", "Remove an extension", func(ctx context.Context, store *bundle.Store,
		l bundle.Listed, yes bool) error {
		if t := newTerminal(std); !yes && (!t.there || !t.yes(ctx,
			fmt.Sprintf("Remove %s? [y/N] ", tool.Escape(l.Folder)), false)) {
			return errors.New("nothing was removed; confirm with y on a terminal, or use --yes")
		}
		if err := store.Remove(ctx, l.Bundle); err != nil {
			return err
		}
		_, err := fmt.Fprintf(std.out, "%s is removed.\n", tool.Escape(l.Name))
		return err
	})
	return c
}

// listExtensions is the command that lists them. A list that cannot be read in part is
// printed as far as it goes, with the error on standard error.
func listExtensions(std streams) *cobra.Command {
	var asJSON bool
	list := &cobra.Command{
		Use: "list", Short: "List the extensions, and what each brings", Args: arguments(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			store, project, err := extensionsOf(std)
			if err != nil {
				return err
			}
			all, err := store.List(c.Context(), project)
			if err != nil {
				fmt.Fprintln(std.err, "agentls:", errorText(err)) // they are listed all the same
			}
			if asJSON {
				return printJSON(std.out, extensionsJSON(all))
			}
			return printExtensions(std.out, all)
		},
	}
	list.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return list
}

// extensionsOf returns where extensions are, and the folder that may have its own: the
// current one.
func extensionsOf(std streams) (*bundle.Store, string, error) {
	config, err := base(std)
	if err != nil {
		return nil, "", err
	}
	folder, err := here()
	return config.Bundles(), folder, err
}

// installCommand installs an extension from a folder, an archive or a git repository.
// What it brings is shown, and takes effect only after a yes.
func installCommand(std streams) *cobra.Command {
	var yes bool
	c := &cobra.Command{
		Use: "install FOLDER|ARCHIVE|GIT-URL", Short: "Install an extension, after showing all that it brings",
		Args: arguments(1, 1),
		Long: `Installs an extension from a folder, a .zip, .tar or .tar.gz archive, or a git
repository. Nothing of it runs while it is installed. One that is installed already is
replaced, after showing what is new in it.`,
		Example: `  agentls extensions install https://github.com/gemini-cli-extensions/security
  agentls extensions install ./my-extension`,
		RunE: func(c *cobra.Command, args []string) error {
			return install(c.Context(), std, yes, func(ctx context.Context,
				store *bundle.Store) (*bundle.Staged, error) {
				return store.Stage(ctx, args[0])
			})
		},
	}
	c.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return c
}

// linkCommand has an extension used where it lies, so that changes count without
// installing it again.
func linkCommand(std streams) *cobra.Command {
	var yes bool
	c := &cobra.Command{
		Use: "link FOLDER", Short: "Use an extension where it lies, while you develop it", Args: arguments(1, 1),
		RunE: func(c *cobra.Command, args []string) error {
			return install(c.Context(), std, yes, func(ctx context.Context,
				store *bundle.Store) (*bundle.Staged, error) {
				return store.Link(ctx, args[0])
			})
		},
	}
	c.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return c
}

// newExtensionCommand writes the files of a new extension into a folder. It installs
// nothing.
func newExtensionCommand(std streams) *cobra.Command {
	var server bool
	c := &cobra.Command{
		Use: "new FOLDER", Short: "Begin an extension of your own", Args: arguments(1, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			folder, err := filepath.Abs(args[0])
			if err != nil {
				return err
			}
			if err := bundle.New(folder, server); err != nil {
				return err
			}
			_, err = fmt.Fprintf(std.out, "%s is made. Try it with: agentls extensions link %s\n",
				tool.Escape(args[0]), shellQuote(args[0]))
			return err
		},
	}
	c.Flags().BoolVar(&server, "mcp", false, "with the skeleton of an MCP server")
	return c
}

// install brings an extension in, shows what it brings, and asks. stage puts it beside the
// installed ones, where it has no effect yet; a no removes it again. One that replaces
// another shows what is new only.
func install(ctx context.Context, std streams, yes bool, stage func(context.Context,
	*bundle.Store) (*bundle.Staged, error)) error {
	store, _, err := extensionsOf(std)
	if err != nil {
		return err
	}
	staged, err := stage(ctx, store)
	if err != nil {
		return err
	}
	news, gone := staged.Items, []bundle.Item(nil)
	before, replaces := staged.Before()
	if replaces {
		news, gone = before.News, before.Gone
	}
	if err := consent(ctx, std, staged.Bundle, news, gone, replaces, yes); err != nil {
		return errors.Join(err, staged.Discard())
	}
	b, err := staged.Commit(ctx)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(std.out, "%s is installed and enabled.\n", tool.Escape(b.Name))
	return err
}

// consent shows what an extension brings, and asks whether it may take effect. news is
// what is not approved, gone what a former version brought; changes says that there was
// one. yes skips the question, not what is shown. An error is no.
func consent(ctx context.Context, std streams, b *bundle.Bundle, news, gone []bundle.Item, changes, yes bool) error {
	title := tool.Escape(b.Name + " " + b.Version)
	if changes && len(news) > 0 {
		fmt.Fprintf(std.err, "%s brings what you have not approved:\n", title)
	} else if len(news) == 0 {
		fmt.Fprintf(std.err, "%s brings nothing that you have not approved.\n", title)
	} else {
		fmt.Fprintf(std.err, "%s brings:\n", title)
	}
	if err := printItems(std.err, news, "  "); err != nil {
		return err
	}
	for _, item := range gone {
		fmt.Fprintf(std.err, "  no longer: %s %s\n", item.Kind, tool.Escape(item.Name))
	}
	for _, why := range b.LeftOut {
		fmt.Fprintf(std.err, "  without effect: %s\n", why)
	}
	if slices.ContainsFunc(news, func(i bundle.Item) bool {
		return i.Kind == bundle.ServerItem ||
			i.Kind == bundle.HookItem
	}) {
		fmt.Fprintln(std.err, "MCP servers and hooks are programs: they run as you, on this machine.")
	}
	if yes {
		return nil
	}
	t := newTerminal(std)
	if !t.there {
		return errors.New("nobody can be asked, so nothing was changed; run it on a terminal, or with --yes when you have read what it brings")
	}
	if !t.yes(ctx, "Let it take effect? [y/N] ", false) {
		return errors.New("nothing was changed")
	}
	return nil
}

// printItems prints a line for each item, whole: what is approved is not cut.
func printItems(out io.Writer, items []bundle.Item, indent string) error {
	w := tabwriter.NewWriter(out, 2, 4, 2, ' ', 0)
	for _, item := range items {
		fmt.Fprintf(w, "%s%s\t%s\t%s\n", indent, item.Kind, tool.Escape(item.Name), tool.Escape(item.Detail))
	}
	return w.Flush()
}

// printExtensions prints the extensions with what they bring. Texts of extensions are
// escaped: anybody may have written them.
func printExtensions(out io.Writer, all []bundle.Listed) error {
	if len(all) == 0 {
		_, err := fmt.Fprintln(out,
			"No extensions are installed. Install one: agentls extensions install FOLDER|ARCHIVE|GIT-URL")
		return err
	}
	for i, l := range all {
		if i > 0 {
			fmt.Fprintln(out)
		}
		where := tool.Escape(l.Folder)
		if l.Linked {
			where += " → " + tool.Escape(l.Dir)
		}
		fmt.Fprintf(out, "%s %s  %s  %s\n", tool.Escape(l.Name), tool.Escape(l.Version), l.State, where)
		switch l.State {
		case bundle.Broken:
			fmt.Fprintf(out, "  %s\n", tool.Escape(l.Problem))
		case bundle.Unapproved:
			fmt.Fprintf(out, "  It brings what you have not approved. Look at it: agentls extensions enable %s\n",
				tool.Escape(l.Name))
		}
		if err := printItems(out, l.Items, "  "); err != nil {
			return err
		}
		for _, why := range l.LeftOut {
			fmt.Fprintf(out, "  without effect: %s\n", why)
		}
	}
	return nil
}

// extensionsJSON is the list for machines. Brings is never null. Scripts rely on its
// members.
func extensionsJSON(all []bundle.Listed) any {
	type item struct {
		Kind   string `json:"kind"`
		Name   string `json:"name"`
		Detail string `json:"detail,omitempty"`
	}
	type extension struct {
		Name    string   `json:"name"`
		Version string   `json:"version,omitempty"`
		State   string   `json:"state"`
		Scope   string   `json:"scope"`
		Folder  string   `json:"folder"`
		Source  string   `json:"source,omitempty"`
		Problem string   `json:"problem,omitempty"`
		Brings  []item   `json:"brings"`
		LeftOut []string `json:"leftOut,omitempty"`
	}
	list := []extension{}
	for _, l := range all {
		e := extension{
			Name: l.Name, Version: l.Version, State: string(l.State),
			Scope:  cmp.Or(map[bool]string{true: "project"}[l.Project != ""], "global"),
			Folder: l.Folder, Source: l.Source, Problem: l.Problem, Brings: []item{}, LeftOut: l.LeftOut,
		}
		for _, i := range l.Items {
			e.Brings = append(e.Brings, item{i.Kind, i.Name, i.Detail})
		}
		list = append(list, e)
	}
	return map[string]any{"extensions": list}
}
