package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/internal/wire"
)

// deleteCommand deletes an agent's file, and what the agent remembers in sessions unless
// --keep-context. It finds the agent, asks at the terminal with the file's path, and has
// the daemon delete it (agents/delete). Without a terminal --yes is needed; else it is a
// usage error. A no prints that nothing was deleted and is exit code 0; Ctrl-C at the
// question is 130. At the end it names the agents that still hand over to the one that is
// gone.
func deleteCommand(std streams) *cobra.Command {
	var scope string
	var yes, keep bool
	c := &cobra.Command{
		Use: "delete NAME", Short: "Delete an agent's file, and what the agent remembers",
		Args: arguments(1, 1), ValidArgsFunction: completeFiles(1),
		RunE: func(c *cobra.Command, args []string) error {
			asks := newTerminal(std)
			return with(c.Context(), std, func(ctx context.Context, conn *connection) error {
				info, err := agentOf(ctx, conn, args[0], scope)
				if err != nil {
					return err
				}
				if scope == "" && (info.Scope == "project" || info.Scope == "global") {
					scope = info.Scope // of what is asked about, and nothing else
				}
				if !yes {
					if !asks.there {
						return usage{fmt.Errorf("there is no terminal to ask on; to delete it without a question: agentls delete %s --yes", tool.Escape(args[0]))}
					}
					what := "what " + info.Name + " remembers"
					if keep {
						what = "not what " + info.Name + " remembers"
					}
					// What is built in has no file; the daemon says so.
					if info.URI != "" && !asks.yes(ctx, fmt.Sprintf("Delete %s, and %s? [y/N] ",
						place(info.URI), what), false) {
						if ctx.Err() != nil {
							return exit{exitInterrupted}
						}
						_, err := fmt.Fprintln(std.out, "Nothing was deleted.")
						return err
					}
				}
				var r wire.DeleteResult
				p := &wire.DeleteParams{Name: args[0], Scope: scope, KeepContext: keep}
				if err := conn.Call(ctx, wire.MethodDelete, p, &r); err != nil {
					if aboutOf(err).Kind == string(fault.Busy) {
						return fmt.Errorf("%w (--keep-context)", err)
					}
					return err
				}
				also := ""
				if len(r.Cleared) > 0 {
					also = ", and its context is cleared in " + strings.Join(r.Cleared, ", ")
				}
				if _, err := fmt.Fprintf(std.out, "%s is deleted%s.\n", place(r.URI), also); err != nil {
					return err
				}
				for _, note := range r.Notes {
					fmt.Fprintln(std.err, tool.Escape(note))
				}
				// The list is asked for last, when the deleted file has left the catalog.
				left, err := stillNaming(ctx, conn, args[0])
				if err == nil && len(left) > 0 {
					fmt.Fprintf(std.err, "%s is still handed over to by %s: change that with agentls edit\n",
						tool.Escape(args[0]), tool.Escape(strings.Join(left, ", ")))
				}
				return err
			})
		},
	}
	choose(c, &scope, "scope", "", "project or global, where both have an agent of that name", "project", "global")
	c.Flags().BoolVar(&yes, "yes", false, "do not ask")
	c.Flags().BoolVar(&keep, "keep-context", false, "leave what the agent has seen and said in its sessions")
	return c
}

// stillNaming returns the agents that hand over or delegate to an agent that was deleted.
// It returns none where another file has an agent of that name, which takes its place.
func stillNaming(ctx context.Context, conn *connection, name string) (list []string, err error) {
	var r wire.ListResult
	if err := conn.Call(ctx, wire.MethodList, &wire.ListParams{}, &r); err != nil {
		return nil, err
	}
	for _, a := range r.Agents {
		if a.Name == name {
			return nil, nil // another one takes its place
		}
		if slices.Contains(a.Handoffs, name) || slices.Contains(a.Subagents, name) {
			list = append(list, a.Name)
		}
	}
	return list, nil
}

// scopeOf returns the scope that --scope and --global mean together, "" for neither. Two
// that differ are a usage error.
func scopeOf(scope string, global bool) (string, error) {
	switch {
	case global && scope == "project":
		return "", usage{errors.New("--global and --scope project do not go together; leave one out")}
	case global:
		return "global", nil
	}
	return scope, nil
}

// agentOf returns the agent of a name, and of a scope if one is given, for what is done to
// its file: edit and delete. A file that has the name of a built-in agent is meant before
// that agent: it is invalid, and can be fixed or deleted. With scope "" an agent without a
// file is returned with an empty URI; the caller says what that means.
func agentOf(ctx context.Context, conn *connection, name, scope string) (wire.AgentInfo, error) {
	var is wire.GetResult
	if scope == "" {
		if err := conn.Call(ctx, wire.MethodGet, &wire.GetParams{Name: name}, &is); err != nil || is.URI != "" {
			return is.AgentInfo, err
		}
		name = is.Name
	}
	var r wire.ListResult
	if err := conn.Call(ctx, wire.MethodList, &wire.ListParams{Scope: scope}, &r); err != nil {
		return wire.AgentInfo{}, err
	}
	for _, info := range r.Agents {
		if info.Name == name && (scope != "" || info.URI != "") {
			return info, nil
		}
	}
	if scope == "" {
		return is.AgentInfo, nil
	}
	return wire.AgentInfo{}, fmt.Errorf("there is no %s agent %s; see `agentls list`", scope, tool.Escape(name))
}

// yes asks a question that is answered with yes or no; other is what an empty answer
// means. Any other answer is no, and so are the end of the input and the end of ctx. Call
// it only where t.there. For a command that has --yes there is the function confirm,
// which also says that nothing was done.
func (t *terminal) yes(ctx context.Context, question string, other bool) bool {
	answer := t.listen()
	fmt.Fprint(t.out, question)
	line, ok := t.await(ctx, answer)
	if !ok {
		fmt.Fprintln(t.out)
		return false
	}
	switch strings.ToLower(line) {
	case "y", "yes":
		return true
	case "":
		return other
	}
	return false
}
