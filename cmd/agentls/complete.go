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

// here returns the folder that the command was started in, with symbolic links resolved:
// the daemon names files so, and their paths are compared.
func here() (string, error) {
	folder, err := filepath.Abs(".")
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(folder)
}

// complete offers fixed values of a flag to the shell; without values it offers nothing,
// also no files.
func complete(c *cobra.Command, flag string, values ...string) {
	completeBy(c, flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}

// choice is the value of a flag that is one of some. The default counts as valid also
// where it is not one of them, as "" for a flag that was not given.
type choice struct {
	// value is where the flag's value goes.
	value *string
	// first is the value without the flag.
	first string
	// of are the values that can be typed, in the order of help and errors.
	of []string
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

// choose adds a flag that is one of some values, which are offered to the shell. It sets
// *value to first. Help and errors come from the same list, so they cannot differ.
func choose(c *cobra.Command, value *string, flag, first, help string, of ...string) {
	*value = first
	c.Flags().Var(choice{value, first, of}, flag, help)
	complete(c, flag, of...)
}

// flagError turns cobra's error about flags into a usage error. For a flag of choose it
// says which value is invalid, and names those that are valid.
func flagError(_ *cobra.Command, err error) error {
	if bad, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		if _, ok := bad.GetFlag().Value.(choice); ok {
			err = fmt.Errorf("invalid --%s %q; %w", bad.GetFlag().Name, bad.GetValue(), bad.Unwrap())
		}
	}
	return usage{err}
}

// completeBy offers what offer returns when the shell asks. It panics for a flag that is
// not there or has values already, which any run of the program would show.
func completeBy(c *cobra.Command, flag string, offer cobra.CompletionFunc) {
	// It fails for a flag that is not there or has values already.
	if err := c.RegisterFlagCompletionFunc(flag, offer); err != nil {
		panic(err)
	}
}

// completeModels offers the program's models to --model, by id and alias. Those that
// settings add are not offered, since settings are not read here.
func completeModels(c *cobra.Command) {
	completeBy(c, "model", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return models(), cobra.ShellCompDirectiveNoFileComp
	})
}

// completeTools offers the built-in tools, also behind those that are there already and a
// comma. It adds no space, since a comma may follow.
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

// completeFiles offers the names of agents that may have a file, for the first most
// arguments: all but main.
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

// completeRead offers what read returns for the first most arguments. It starts no daemon,
// since a person waits at each key. What cannot be read is not offered: a shell has no
// place for an error.
func completeRead(most int, read func(daemon.Config, context.Context, string) []daemon.Offer) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, _ string) (values []string, _ cobra.ShellCompDirective) {
		home, err := daemon.HomeOf(os.Getenv)
		if err != nil || len(args) >= most {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		folder, _ := here() // "" = none
		// The readers need no more of the configuration than the home folder and the
		// clock.
		for _, o := range read(daemon.Config{Home: home, Now: time.Now}, c.Context(), folder) {
			if o.About != "" {
				o.Value += "\t" + tool.Escape(o.About)
			}
			values = append(values, o.Value)
		}
		return values, cobra.ShellCompDirectiveNoFileComp
	}
}

// completeSessionFlag offers the names of this folder's sessions, and the words in more,
// for --session.
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

// completeHunks offers the parts of what agents changed, by their ids. Unlike the others
// it starts a daemon, since only that can tell which parts are still pending. It prints
// nothing.
func completeHunks(std streams) cobra.CompletionFunc {
	return func(c *cobra.Command, _ []string, _ string) (ids []string, _ cobra.ShellCompDirective) {
		// What is printed now would stand in the middle of the line that is being typed.
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
