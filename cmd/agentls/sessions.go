package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/client"
	"github.com/agentls/agentls/internal/wire"
)

// sessionsCommand lists the sessions of this folder (agents/session/list), and has the
// commands that act on one. show reads a session's events (agents/subscribe) and prints
// them as the person saw them, or with --json as they are. All work on what is stored:
// nothing runs but with resume and replay --verify.
func sessionsCommand(std streams) *cobra.Command {
	var listJSON bool
	list := &cobra.Command{
		Use: "list", Short: "List the sessions of this folder, newest first", Args: arguments(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			return with(c.Context(), std, func(ctx context.Context, conn *connection) error {
				sessions, err := conn.sessions(ctx)
				if err != nil {
					return err
				}
				if listJSON {
					return printJSON(std.out, wire.SessionListResult{Sessions: sessions})
				}
				return printSessions(std.out, sessions)
			})
		},
	}
	c := &cobra.Command{
		Use: "sessions", Short: "List the sessions of this folder, show one, resume, rewind",
		Long: `Lists the sessions of this folder, newest first. A SESSION is named by its id, by
the beginning of it, by words of its title, or as latest.`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(c, args[0])
			}
			return nil
		},
		// People type these as commands of their own.
		SuggestFor: []string{"resume", "rewind", "fork", "history"},
		RunE:       list.RunE,
	}
	for _, part := range []*cobra.Command{c, list} {
		part.Flags().BoolVar(&listJSON, "json", false, "print JSON")
	}
	var showJSON bool
	show := &cobra.Command{
		Use: "show [ID]", Short: "Show a session as you saw it; without an ID, main",
		Long: `Shows a session as you saw it: what you said, what the agents said and did, and
how each run ended. A number in brackets is a place that rewind and fork take. With
--json its events, one a line.`,
		Args: arguments(0, 1), ValidArgsFunction: completeSessions,
		RunE: func(c *cobra.Command, args []string) error {
			return with(c.Context(), std, func(ctx context.Context, conn *connection) error {
				id, err := conn.sessionNamed(ctx, append(args, "main")[0])
				if err != nil {
					return err
				}
				return showSession(ctx, conn, std.out, id, showJSON)
			})
		},
	}
	show.Flags().BoolVar(&showJSON, "json", false, "print the events as lines of JSON")
	c.AddCommand(list, show, replayCommand(std), sessionResumeCommand(std), sessionForkCommand(std),
		sessionRewindCommand(std), sessionDeleteCommand(std))
	return c
}

// needsPart is the error for a command that is called without a subcommand, or with one
// that there is not. It suggests list, which most such commands have and which changes
// nothing.
func needsPart(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return unknownCommand(c, args[0])
	}
	first := c.Commands()[0]
	for _, sub := range c.Commands() {
		if sub.Name() == "list" {
			first = sub
		}
	}
	return usage{fmt.Errorf("missing subcommand; try `%s`", first.CommandPath())}
}

// with does something with a daemon of this folder, which it starts before and ends after.
// It is for requests and not for runs: what the daemon sends meanwhile is dropped, and
// questions are refused.
func with(ctx context.Context, std streams, do func(context.Context, *connection) error) error {
	return withClient(ctx, std, client.Config{}, do)
}

// withClient is with for a client that also takes what the daemon sends. An error of the
// daemon's end is dropped, since what was asked for has been answered by then.
func withClient(ctx context.Context, std streams, handler client.Config,
	do func(context.Context, *connection) error) error {
	config, err := base(std)
	if err != nil {
		return err
	}
	config.Brief = true
	conn, err := connect(ctx, config, ".", handler)
	if err != nil {
		return err
	}
	defer conn.Close()
	return do(ctx, conn)
}

// request asks a daemon of this folder, and prints its result: as JSON, or by show. R is
// the type of the answer. show is not called for JSON, so what it checks does not fail
// there.
func request[R any](c *cobra.Command, std streams, method string, params any, asJSON bool, show func(*R) error) error {
	return with(c.Context(), std, func(ctx context.Context, conn *connection) error {
		r := new(R)
		if err := conn.Call(ctx, method, params, r); err != nil {
			return err
		}
		if asJSON {
			return printJSON(std.out, r)
		}
		return show(r)
	})
}

// printJSON prints a value for machines, in a form that people can read.
func printJSON(out io.Writer, value any) error {
	enc := json.NewEncoder(out)
	enc.SetIndent("", "  ")
	return enc.Encode(value)
}

// sessions returns all sessions of the folder, the newest first, and never nil without an
// error.
func (c *connection) sessions(ctx context.Context) ([]wire.Session, error) {
	all := []wire.Session{}
	for cursor := ""; ; {
		var page wire.SessionListResult
		if err := c.Call(ctx, wire.MethodSessionList, &wire.SessionListParams{Cursor: cursor,
			Limit: 1000}, &page); err != nil {
			return nil, err
		}
		all = append(all, page.Sessions...)
		if cursor = page.Cursor; cursor == "" {
			return all, nil
		}
	}
}

// latestSession names the newest session, where none has this id.
const latestSession = "latest"

// exactSession checks that a name is a session's whole id, for what takes something
// away: a script that names one that is gone must not meet another.
func (c *connection) exactSession(ctx context.Context, name string) error {
	id, err := c.sessionNamed(ctx, name)
	if err == nil && id != name {
		err = fmt.Errorf("there is no session %s; did you mean %s?", tool.Escape(name), id)
	}
	return err
}

// sessionNamed returns the id of the session that a person means, as findSession does. A
// name that none has is returned as it is; the daemon's error says so. It is for commands
// that read. What takes something away uses exactSession, a run uses latest, since its
// name may be that of a session to begin, and where no name means the newest session it
// is connection.findSession.
func (c *connection) sessionNamed(ctx context.Context, name string) (string, error) {
	sessions, err := c.sessions(ctx)
	if err != nil {
		return "", err
	}
	return findSession(sessions, name)
}

// findSession finds a session by its id, by the beginning of it, as latest, or by words of
// its title, which is what was asked first. sessions are the newest first. An id counts
// before its beginning, and that before a title. A name that fits several is an error with
// their ids.
func findSession(sessions []wire.Session, name string) (string, error) {
	var begin, titled []string
	for _, s := range sessions {
		switch {
		case s.Session == name:
			return name, nil
		case strings.HasPrefix(s.Session, name):
			begin = append(begin, s.Session)
		case strings.Contains(strings.ToLower(s.Title), strings.ToLower(name)):
			titled = append(titled, s.Session)
		}
	}
	// After the loop: a session may be called latest.
	if name == latestSession && len(sessions) > 0 {
		return sessions[0].Session, nil
	}
	if len(begin) == 0 {
		begin = titled
	}
	switch len(begin) {
	case 0:
		return name, nil
	case 1:
		return begin[0], nil
	}
	return "", usage{fmt.Errorf("%q means %d sessions; name one of %s", name, len(begin),
		strings.Join(begin[:min(len(begin), 5)], ", "))}
}

// printSessions prints a line for each session, also for those that cannot be read or that
// another agentls has.
func printSessions(out io.Writer, sessions []wire.Session) error {
	if len(sessions) == 0 {
		_, err := fmt.Fprintln(out, "There are no sessions in this folder yet. Begin one: agentls run \"your request\"")
		return err
	}
	w := tabwriter.NewWriter(out, 2, 4, 2, ' ', 0)
	fmt.Fprintln(w, "SESSION\tTITLE\tAGENTS\tRUNS\tSTATE\tUPDATED\tTOKENS")
	for _, s := range sessions {
		state := s.State
		switch {
		case s.Problem != "":
			state = "cannot be read: " + tool.Escape(s.Problem)
		case s.Locked:
			state += ", another agentls has it"
		}
		updated := ""
		if at, err := time.Parse(time.RFC3339, s.UpdatedAt); err == nil {
			updated = ago(time.Since(at))
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%s\t%s\t%s\n", tool.Escape(s.Session), fit(tool.Escape(s.Title), 50),
			tool.Escape(strings.Join(s.Agents, " ")),
			s.Runs, state, updated, tool.Tokens(s.Usage.TotalTokens))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(out, "\nShow one: agentls sessions show SESSION. Resume what was interrupted: agentls sessions resume")
	return err
}

// showSession prints a session: as it was seen, or its events, one a line. The agents'
// titles are those of today. It stops at the first write that fails, as when its reader
// has gone.
func showSession(ctx context.Context, conn *connection, out io.Writer, id string, events bool) error {
	var failed error
	shown := &outlet{out, func(err error) { failed = err }}
	// Everything goes to out: it is one transcript, in the order in which it happened.
	t := newTimeline(streams{out: shown, err: shown}, nil)
	t.past = true
	var list wire.ListResult
	if err := conn.Call(ctx, wire.MethodList, &wire.ListParams{}, &list); err != nil {
		return err
	}
	for _, a := range list.Agents {
		// Of two agents of one name the one that can run gives the title.
		if a.State == "ok" || t.titles[a.Name] == "" {
			t.introduce(a.Name, a.Title, continuation{})
		}
	}
	err := conn.events(ctx, id, func(e wire.ActivityParams) error {
		if !events {
			t.show(e)
			return failed
		}
		line, err := wire.Codec{}.Marshal(e)
		if err == nil {
			_, err = out.Write(append(bytes.TrimSpace(line), '\n'))
		}
		return err
	})
	t.close()
	if err == nil && failed == nil && !events {
		_, failed = fmt.Fprintf(out,
			"\nGo back to a place [N]: agentls sessions rewind %s --to N; go on from it apart: agentls sessions fork %s --at N\n", tool.Escape(id), tool.Escape(id))
	}
	return cmp.Or(err, failed)
}

// events hands the past events of a session to take, in order, until it returns an error,
// which events returns. Pages are asked for as they are needed.
func (c *connection) events(ctx context.Context, session string, take func(wire.ActivityParams) error) error {
	for from := uint64(1); ; {
		var page wire.SubscribeResult
		if err := c.Call(ctx, wire.MethodSubscribe, &wire.SubscribeParams{Session: session,
			FromSeq: from}, &page); err != nil {
			return err
		}
		for _, e := range page.Events {
			if err := take(e); err != nil {
				return err
			}
		}
		if from = page.NextSeq; !page.More {
			return nil
		}
	}
}
