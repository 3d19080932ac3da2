package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/wire"
)

// settingsFile is where a project has its settings.
var settingsFile = filepath.Join(".gemini", "settings.json")

// firstSettings is the settings file of a new project: by the schema, editors complete
// it.
const firstSettings = `{
  // Settings of this project; yours for all projects are in ~/.gemini/settings.json.
  "$schema": "https://raw.githubusercontent.com/agentls/agentls/main/docs/settings.schema.json"
}
`

// initCommand sets up a folder: an agent where it has none (agents/create), a settings
// file where there is none, and on a terminal the folder's trust (agents/trust). What is
// there is left, so it can be run again. No .gitignore is needed: sessions and what they
// keep lie in the person's home.
func initCommand(std streams) *cobra.Command {
	p := wire.CreateParams{Name: "reviewer", Scope: "project"}
	c := &cobra.Command{
		Use: "init [NAME]", Short: "Set up this folder: a first agent and a settings file",
		Long: `Sets up this folder: a first agent in .gemini/agents, reviewer where no NAME is given,
and .gemini/settings.json. What is there already is left as it is. On a terminal it
asks whether to trust the folder, so that the agent runs.`,
		Example: "  agentls init\n  agentls init fixer --template debugging",
		Args:    arguments(0, 1), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 1 {
				p.Name = args[0]
			}
			return with(c.Context(), std, func(ctx context.Context, conn *connection) error {
				return setUp(ctx, conn, std, p)
			})
		},
	}
	c.Flags().StringVar(&p.Template, "template", "code-review", "template of the agent")
	_ = c.RegisterFlagCompletionFunc("template", completeTemplates)
	return c
}

// setUp makes what is missing of a project's folder, and says what to do next. The
// question about trust comes last, since the agent that was just made is a part of what is
// trusted.
func setUp(ctx context.Context, conn *connection, std streams, p wire.CreateParams) error {
	folder, err := here()
	if err != nil {
		return err
	}
	agents, err := conn.projectAgents(ctx)
	if err != nil {
		return err
	}
	if len(agents) == 0 {
		var made wire.CreateResult
		if err := conn.Call(ctx, wire.MethodCreate, &p, &made); err != nil {
			return err
		}
		fmt.Fprintln(std.out, "Created "+place(made.URI))
		// The list is read again for the state of the new agent: whether the folder has
		// to be trusted first.
		if agents, err = conn.projectAgents(ctx); err != nil {
			return err
		}
	} else {
		fmt.Fprintf(std.out, "This folder has %s already\n", count(len(agents), "agent"))
	}
	if err := writeSettings(std, folder); err != nil {
		return err
	}
	untrusted := slices.ContainsFunc(agents, func(a wire.AgentInfo) bool { return a.State == "untrusted" })
	asks := newTerminal(std)
	question := fmt.Sprintf("Trust %s, so that its agents run? They ask before they change something. [Y/n] ",
		tool.Escape(folder))
	if untrusted && asks.there && asks.yes(ctx, question, true) {
		if err := conn.setTrust(ctx, folder, wire.TrustParams{Trusted: new(true)}); err != nil {
			return err
		}
		untrusted = false
	}
	next := ""
	if untrusted {
		next = "  agentls trust\n"
	}
	name := p.Name
	if len(agents) > 0 {
		name = tool.Escape(agents[0].Name)
	}
	_, err = fmt.Fprintf(std.out, "\nNext:\n%s  agentls run %s \"your request\"\n", next, name)
	return err
}

// projectAgents returns the agents of this folder.
func (c *connection) projectAgents(ctx context.Context) ([]wire.AgentInfo, error) {
	var list wire.ListResult
	err := c.Call(ctx, wire.MethodList, &wire.ListParams{}, &list)
	return slices.DeleteFunc(list.Agents, func(a wire.AgentInfo) bool { return a.Scope != "project" }), err
}

// writeSettings makes a settings file where there is none. It opens the folder as a root,
// so that a symbolic link in a repository cannot have it write elsewhere.
func writeSettings(std streams, folder string) error {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := root.MkdirAll(filepath.Dir(settingsFile), 0o755); err != nil {
		return err
	}
	f, err := root.OpenFile(settingsFile, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	switch {
	case errors.Is(err, fs.ErrExist):
		fmt.Fprintln(std.out, "Left "+settingsFile+" as it is")
		return nil
	case err != nil:
		return err
	}
	_, err = f.WriteString(firstSettings)
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	_, err = fmt.Fprintln(std.out, "Created "+settingsFile)
	return err
}
