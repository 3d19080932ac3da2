package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/language"
	"github.com/agentls/agentls/agents/registry"
	"github.com/agentls/agentls/agents/session"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/daemon"
	"github.com/agentls/agentls/workspace"
)

// here returns the folder that the command was started in, canonical.
func here() (string, error) {
	folder, err := filepath.Abs(".")
	if err != nil {
		return "", err
	}
	return workspace.Canonical(folder)
}

// complete offers the values of a flag to the shell.
func complete(c *cobra.Command, flag string, values ...string) {
	completeBy(c, flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
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

// completeAgents offers the names of agents for the first most arguments. The
// files are read here, without a daemon: a shell waits for the answer.
func completeAgents(most int) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		home, err := daemon.HomeOf(os.Getenv)
		if err != nil || len(args) >= most {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		places := []registry.Place{{Scope: definition.Global, Dir: filepath.Join(home, "agents")}}
		if folder, err := here(); err == nil {
			places = append(places, registry.Place{Scope: definition.Project,
				Dir: filepath.Join(folder, ".gemini", "agents"), Folder: folder})
		}
		snapshot, err := registry.New(registry.Config{Places: places}).Load(c.Context())
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		offered, seen := []string{"main"}, map[string]bool{"main": true}
		for _, e := range snapshot.Entries() {
			if d := e.Definition; !seen[d.Name] && language.CheckName(d.Name) == nil {
				seen[d.Name] = true
				offered = append(offered, d.Name+"\t"+tool.Escape(d.Title))
			}
		}
		return offered, cobra.ShellCompDirectiveNoFileComp
	}
}

// completePermissions offers what is allowed always in this folder, by its id.
func completePermissions(_ *cobra.Command, args []string, _ string) (ids []string, _ cobra.ShellCompDirective) {
	home, err := daemon.HomeOf(os.Getenv)
	if err != nil || len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	folder, err := here()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	all, _ := workspace.NewPermissions(filepath.Join(home, "agentls", "permissions.json"),
		time.Now).Of(folder) // what cannot be read offers nothing
	for _, p := range all {
		ids = append(ids, p.ID+"\t"+tool.Escape(p.Agent+": "+p.Covers))
	}
	return ids, cobra.ShellCompDirectiveNoFileComp
}

// completeSessions offers the names of this folder's sessions.
func completeSessions(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return sessionNames(), cobra.ShellCompDirectiveNoFileComp
}

// completeSessionFlag offers them, and what else it may be, for --session.
func completeSessionFlag(c *cobra.Command, more ...string) {
	_ = c.RegisterFlagCompletionFunc("session", func(*cobra.Command, []string, string) ([]string,
		cobra.ShellCompDirective) {
		return append(sessionNames(), more...), cobra.ShellCompDirectiveNoFileComp
	})
}

// sessionNames returns the names of this folder's sessions, from the files of
// their logs: reading those would take longer than a shell should wait.
func sessionNames() (names []string) {
	home, err := daemon.HomeOf(os.Getenv)
	if err != nil {
		return nil
	}
	folder, err := here()
	if err != nil {
		return nil
	}
	logs, _ := filepath.Glob(filepath.Join(home, "agentls", "sessions", session.Key(folder),
		"*.jsonl")) // a pattern of ours is none that is bad
	for _, log := range logs {
		name := strings.TrimSuffix(filepath.Base(log), ".jsonl")
		if session.CheckID(name) == nil { // what ends in a number is a later part of a log
			names = append(names, name)
		}
	}
	return names
}

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
