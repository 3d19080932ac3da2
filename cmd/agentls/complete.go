package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/daemon"
)

// here returns the folder that the command was started in, canonical.
func here() (string, error) {
	folder, err := filepath.Abs(".")
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(folder)
}

// complete offers the values of a flag to the shell.
func complete(c *cobra.Command, flag string, values ...string) {
	completeBy(c, flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}

// choice is the value of a flag that is one of some.
type choice struct {
	value *string
	first string // without the flag
	of    []string
}

// String implements [pflag.Value]; of the zero value it is asked, too.
func (c choice) String() string { return c.first }

// Type implements [pflag.Value].
func (c choice) Type() string { return "string" }

// Set implements [pflag.Value].
func (c choice) Set(value string) error {
	if value != c.first && !slices.Contains(c.of, value) {
		return fmt.Errorf("use %s", joinOr(c.of))
	}
	*c.value = value
	return nil
}

// choose adds a flag that is one of some values, which are offered to the shell.
func choose(c *cobra.Command, value *string, flag, first, help string, of ...string) {
	*value = first
	c.Flags().Var(choice{value, first, of}, flag, help)
	complete(c, flag, of...)
}

// flagError is what a person is told of flags that cannot be read.
func flagError(_ *cobra.Command, err error) error {
	if bad, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		if _, ok := bad.GetFlag().Value.(choice); ok {
			err = fmt.Errorf("invalid --%s %q; %w", bad.GetFlag().Name, bad.GetValue(), bad.Unwrap())
		}
	}
	return usage{err}
}

// completeBy offers what offer returns when the shell asks.
func completeBy(c *cobra.Command, flag string, offer cobra.CompletionFunc) {
	// It fails for a flag that is not there or has values already.
	if err := c.RegisterFlagCompletionFunc(flag, offer); err != nil {
		panic(err)
	}
}

// completeModels offers the models to --model.
func completeModels(c *cobra.Command) {
	completeBy(c, "model", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return models(), cobra.ShellCompDirectiveNoFileComp
	})
}

// completeTools offers the built-in tools, also behind those that are there
// already and a comma.
func completeTools(_ *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
	before := begun[:strings.LastIndex(begun, ",")+1]
	var names []string
	for _, t := range definition.ToolNames() {
		if !slices.Contains(strings.Split(before, ","), t.Name) {
			names = append(names, before+t.Name)
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// completeFiles offers the names of agents that have a file.
func completeFiles(most int) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		names, directive := completeAgents(most)(c, args, begun)
		return slices.DeleteFunc(names, func(name string) bool { return name == "main" }), directive
	}
}

// completeAgents offers the names of agents for the first most arguments.
func completeAgents(most int) cobra.CompletionFunc {
	return completeRead(most, daemon.Config.OfferAgents)
}

// completeRead offers what is read for the first most arguments.
func completeRead(most int, read func(daemon.Config, context.Context, string) []daemon.Offer) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, _ string) (values []string, _ cobra.ShellCompDirective) {
		home, err := daemon.HomeOf(os.Getenv)
		if err != nil || len(args) >= most {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		folder, _ := here() // "" = none
		for _, o := range read(daemon.Config{Home: home, Now: time.Now}, c.Context(), folder) {
			if o.About != "" {
				o.Value += "\t" + tool.Escape(o.About)
			}
			values = append(values, o.Value)
		}
		return values, cobra.ShellCompDirectiveNoFileComp
	}
}

// completeSessionFlag offers the names of this folder's sessions, and what else it may
// be, for --session.
func completeSessionFlag(c *cobra.Command, more ...string) {
	completeBy(c, "session", func(c *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
		names, directive := completeSessions(c, nil, begun)
		return append(names, more...), directive
	})
}

// completePermissions offers what is allowed always in this folder, by its id, and
// completeSessions the names of this folder's sessions.
var (
	completePermissions = completeRead(1, daemon.Config.OfferAnswers)
	completeSessions    = completeRead(1, daemon.Config.OfferSessions)
)

// completeHunks offers the parts of what agents changed, by their ids.
func completeHunks(std streams) cobra.CompletionFunc {
	return func(c *cobra.Command, _ []string, _ string) (ids []string, _ cobra.ShellCompDirective) {
		std.err = io.Discard
		_ = with(c.Context(), std,
			func(ctx context.Context, conn *connection) error { // what cannot be read offers nothing
				session, _ := c.Flags().GetString("session")
				all, err := conn.listChanges(ctx, std, session, "")
				for _, change := range all {
					for _, h := range change.Hunks {
						if h.Status == "pending" {
							ids = append(ids, fmt.Sprintf("%s\t%s:%d", h.ID, tool.Escape(localName(change.URI)),
								h.Range.Start.Line+1))
						}
					}
				}
				return err
			})
		return ids, cobra.ShellCompDirectiveNoFileComp
	}
}
