package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"go.lsp.dev/uri"

	"github.com/agentls/agentls/agents/agenttest"
	"github.com/agentls/agentls/agents/template"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/daemon"
	"github.com/agentls/agentls/internal/wire"
)

// wanted is what a person said of a new agent: by flags, and then by answers to the
// wizard. What was said ends up in CreateParams, whose Fields has only the fields that
// were given.
type wanted struct {
	wire.CreateParams
	// These are as typed; take puts those that were given into Fields.
	title, description, model string
	tools, mcp                []string
	// extended asks more questions; tested also makes a file of tests (--with-test).
	global, extended, tested bool
}

// createCommand makes an agent's file. It asks a person at a terminal for what no flag
// says, has the daemon make the file (agents/create), and prints its path and what to do
// next. Without a terminal a missing name is a usage error, and everything else has a
// default. The daemon refuses a file that is there and one that would not be valid; that
// is exit code 1, and nothing was written.
func createCommand(std streams) *cobra.Command {
	var w wanted
	c := &cobra.Command{
		Use: "create [NAME]", Short: "Make an agent: asked for, by flags, or from a template",
		Long: `Makes an agent's file. Where no name, or neither a template nor a prompt is given,
it asks on a terminal for what no flag says. Without a terminal it takes the template
blank where no other is given. An empty prompt is as if none was given. It never
writes over a file (--force does), and writes none that would not be valid.

Templates: ` + strings.Join(template.Builtin(), ", ") + `, and your own,
which are the *.md files in ~/.gemini/agents/templates.`,
		Example: "  agentls create\n  agentls create reviewer --template code-review\n" +
			"  agentls create fixer --tools read_file,edit_file --prompt \"You fix what is broken.\" --global",
		Args: arguments(0, 1), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 1 {
				w.Name = args[0]
			}
			if err := w.take(c); err != nil {
				return err
			}
			asks := newTerminal(std)
			// An agent needs a name, and a template or a prompt.
			partial := w.Name == "" || (w.Template == "" && w.Prompt == "")
			asking := asks.there && (w.extended || partial)
			switch {
			case asking:
			case w.Name == "":
				return usage{errors.New("there is no terminal to ask on; give at least a name, as in agentls create NAME --template code-review")}
			case w.extended:
				return usage{errors.New("--extended asks, and there is no terminal to ask on; write the fields into the file with agentls edit")}
			}
			return with(c.Context(), std, func(ctx context.Context, conn *connection) error {
				if asking {
					if err := (&wizard{&w, conn, asks}).ask(ctx); err != nil {
						return err
					}
				}
				return create(ctx, conn, std, &w.CreateParams, w.tested)
			})
		},
	}
	flags := c.Flags()
	flags.StringVar(&w.Template, "template", "", "template name")
	flags.StringVar(&w.title, "title", "", "the name that people see")
	flags.StringVar(&w.description, "description", "",
		"what it is for, in a sentence: people, routers and other agents decide by it")
	flags.StringVar(&w.model, "model", "", "its model: an alias, an id, auto or inherit")
	flags.StringSliceVar(&w.tools, "tools", nil, "the tools that it may use, by commas")
	flags.StringSliceVar(&w.mcp, "mcp", nil, "the MCP servers that it may use, by commas")
	flags.StringVar(&w.Prompt, "prompt", "", "its system prompt (default: the template's)")
	choose(c, &w.Scope, "scope", "", "project or global (default: the setting agents.defaultScope)", "project", "global")
	flags.BoolVar(&w.global, "global", false, "the same as --scope global")
	flags.BoolVar(&w.extended, "extended", false, "also ask for title, model, scope, keywords and handoffs")
	flags.BoolVar(&w.tested, "with-test", false, "also make a file of tests beside it, for agentls test")
	flags.BoolVar(&w.Force, "force", false, "replace a file that is there")
	// Registering fails only for a flag that does not exist.
	_ = c.RegisterFlagCompletionFunc("template", completeTemplates)
	_ = c.RegisterFlagCompletionFunc("tools", completeTools)
	completeModels(c)
	complete(c, "mcp")
	// Without this a shell offers files as values.
	for _, text := range []string{"title", "description", "prompt"} {
		complete(c, text)
	}
	return c
}

// take makes parameters of the flags that were given. A flag that was given empty counts
// as given: it sets the field to nothing, where the template may have something.
func (w *wanted) take(c *cobra.Command) error {
	scope, err := scopeOf(w.Scope, w.global)
	if err != nil {
		return err
	}
	w.Scope, w.Fields = scope, map[string]any{}
	w.title, w.description, w.model = strings.TrimSpace(w.title), strings.TrimSpace(w.description),
		strings.TrimSpace(w.model)
	// Each sets a field of its own, so the order of the map does not matter.
	for flag, set := range map[string]func(){
		"title": func() {
			if w.title != "" { // else it is made from the name
				w.Fields["title"] = w.title
			}
		},
		// nil is null in the request, which takes the template's description away.
		"description": func() {
			if w.Fields["description"] = nil; w.description != "" {
				w.Fields["description"] = w.description
			}
		},
		// An empty model is main's; an empty list of tools or servers allows none.
		"model": func() { w.Fields["model"] = cmp.Or(w.model, "inherit") },
		"tools": func() { w.Fields["tools"] = map[string]any{"allow": nonBlank(w.tools)} },
		"mcp":   func() { w.Fields["mcp"] = map[string]any{"servers": nonBlank(w.mcp)} },
	} {
		if c.Flags().Changed(flag) {
			set()
		}
	}
	return nil
}

// nonBlank returns the texts of a list without blanks at their ends, and without those
// that are empty then. It never returns nil, which would be null in JSON.
func nonBlank(list []string) []string {
	texts := []string{}
	for _, s := range list {
		if s = strings.TrimSpace(s); s != "" {
			texts = append(texts, s)
		}
	}
	return texts
}

// create makes the file and says what to do next. With force it first asks the daemon
// where the file would be, without writing it, so that it can say Replaced where it was
// there. Warnings about the new file go to standard error.
func create(ctx context.Context, conn *connection, std streams, p *wire.CreateParams, tested bool) error {
	var r wire.CreateResult
	done := "Created"
	if p.Force {
		asked := *p
		asked.DryRun = true
		var would wire.CreateResult
		if err := conn.Call(ctx, wire.MethodCreate, &asked, &would); err != nil {
			return err
		}
		if u, err := uri.Parse(would.URI); err == nil {
			if info, err := os.Lstat(u.FsPath()); err == nil && info.Size() > 0 {
				done = "Replaced"
			}
		}
	}
	if err := conn.Call(ctx, wire.MethodCreate, p, &r); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(std.out, "%s %s\n", done, place(r.URI)); err != nil {
		return err
	}
	for _, problem := range r.Problems {
		if problem.Severity != "hint" {
			fmt.Fprintln(std.err, explain(r.URI, problem.Range.Start.Line,
				problem.Range.Start.Character, problem.Message))
		}
	}
	for _, note := range r.Notes {
		fmt.Fprintln(std.err, tool.Escape(withoutEditor(note)))
	}
	next := ""
	if tested {
		path, err := createTest(r.URI, p)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(std.out, "Created %s\n", path); err != nil {
			return err
		}
		next = fmt.Sprintf("  agentls test %s\n", path)
	}
	_, err := fmt.Fprintf(std.out, "\n  agentls validate %s\n%s  agentls run %s \"your request\"\n", p.Name, next,
		p.Name)
	return err
}

// createTest makes a file of tests beside an agent's and returns its path, as it is shown.
// It fails for a file that is there, unless with force. The command line writes this file
// itself, since the protocol has no request for it.
func createTest(agent string, p *wire.CreateParams) (string, error) {
	u, err := uri.Parse(agent)
	if err != nil {
		return "", err
	}
	path := strings.TrimSuffix(u.FsPath(), ".md") + agenttest.Suffix
	flags := os.O_WRONLY | os.O_CREATE | os.O_EXCL
	if p.Force {
		flags = os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	}
	f, err := os.OpenFile(path, flags, 0o644)
	if err != nil {
		return "", fmt.Errorf("the tests cannot be written: %w", err)
	}
	_, err = f.Write(template.Test(p.Template, p.Name))
	return messagePath(path), errors.Join(err, f.Close())
}

// templatesOf is where the person's own templates lie.
func templatesOf(home string) string { return filepath.Join(home, "agents", template.Folder) }

// namesOf returns the names of the templates that can be used. One with a problem would
// make no valid agent.
func namesOf(list []template.Template) (names []string) {
	for _, t := range list {
		if t.Problem == "" {
			names = append(names, t.Name)
		}
	}
	return names
}

// completeTemplates offers the templates to the shell, read without a daemon: the built-in
// ones where the person's own cannot be read.
func completeTemplates(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	names := template.Builtin()
	if home, err := daemon.HomeOf(os.Getenv); err == nil {
		if list, err := template.List(templatesOf(home)); err == nil {
			names = namesOf(list)
		}
	}
	slices.Sort(names)
	return names, cobra.ShellCompDirectiveNoFileComp
}
