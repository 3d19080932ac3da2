package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentls/agentls/agents"
	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/wire"
)

// sessionResumeCommand resumes a run that was interrupted or came to a limit
// (agents/resume), and shows it as run does, with the same exit codes. Without an argument
// it asks at the terminal which run, and without a terminal takes the newest. No run to
// resume is an error, exit code 1, with the command that continues the session instead.
func sessionResumeCommand(std streams) *cobra.Command {
	var o runOptions
	var p wire.ResumeParams
	var more wire.Extend
	c := &cobra.Command{
		Use: "resume [RUN|SESSION]", Short: "Resume a run that was interrupted, paused or ended at a limit",
		Long: `Resumes a run that was interrupted, since its agentls ended, that is paused, or that
ended at its limit of turns or time, from its last checkpoint. SESSION is its newest
such run; without an argument it asks which, and without a terminal it is the newest of
all sessions. What it has used counts
on; the flags give it more, and without them it has as much again of what it came to.`,
		Args: arguments(0, 1), ValidArgsFunction: completeSessions,
		RunE: func(c *cobra.Command, args []string) error {
			config, err := base(std)
			if err != nil {
				return err
			}
			config.Trust = config.Trust || o.trust
			// Without flags the daemon gives as much again of what the run came to.
			if more != (wire.Extend{}) {
				p.Extend = &more
			}
			return o.follow(c.Context(), config, std, func(ctx context.Context, conn *connection,
				t *timeline) (*wire.RunResult, error) {
				agent, err := conn.resumable(ctx, args, &p, t.terminal)
				if err != nil {
					return nil, err
				}
				t.introduce(agent, conn.titleOf(ctx, agent), continuation{})
				return conn.toItsEnd(ctx, wire.MethodResume, &p, p.Run, agent, t)
			})
		},
	}
	f := c.Flags()
	f.StringVar(&p.Session, "session", "", "the session that the run is in; without it, it is looked for")
	f.IntVar(&more.Turns, "turns", 0, "turns that it may take more")
	f.IntVar(&more.Seconds, "seconds", 0, "seconds that it may go on longer")
	f.IntVar(&more.Tokens, "tokens", 0, "tokens that it may use more")
	f.Float64Var(&more.USD, "usd", 0, "dollars that it may cost more")
	chooseFormat(c, &o.format)
	f.BoolVar(&o.trust, "trust", false, "trust the folder for this process")
	completeSessionFlag(c)
	return c
}

// resumable finds out which run a person means to resume, and returns its agent; p gets
// the run and its session. Without an argument these are the runs of all sessions that can
// be resumed, one for each session. Sessions that another agentls has are left out.
func (c *connection) resumable(ctx context.Context, args []string, p *wire.ResumeParams,
	asks *terminal) (agent string, err error) {
	if len(args) == 1 {
		name, err := c.sessionNamed(ctx, args[0])
		if err != nil {
			return "", err
		}
		return c.findRun(ctx, name, p)
	}
	sessions, err := c.sessions(ctx)
	if err != nil {
		return "", err
	}
	var cancelled error
	var left []leftBehind
	for _, s := range sessions {
		if s.Locked || s.Problem != "" || (p.Session != "" && p.Session != s.Session) {
			continue
		}
		// findRun fills one in. p gets the values of the run that is picked.
		one := wire.ResumeParams{Extend: p.Extend}
		if agent, err = c.findRun(ctx, s.Session, &one); err == nil {
			left = append(left, leftBehind{s, one, agent})
		}
		// Of several the newest session is named, where no run can be resumed.
		if _, is := errors.AsType[*wasCancelled](err); is && cancelled == nil {
			cancelled = err
		}
	}
	switch {
	case len(left) == 0 && cancelled != nil:
		return "", cancelled
	case len(left) == 0:
		return "", errors.New("there is no run to resume, since all have ended; see `agentls sessions`")
	}
	picked, err := pick(ctx, asks, left)
	*p = picked.params
	return picked.agent, err
}

// leftBehind is a run that can be resumed: its session, how it is resumed, and its agent.
type leftBehind struct {
	session wire.Session
	params  wire.ResumeParams
	agent   string
}

// pick asks which of several runs is to be resumed, until the answer is one of the
// numbers. Without a terminal it is the newest, which is the first. left is not empty.
func pick(ctx context.Context, asks *terminal, left []leftBehind) (leftBehind, error) {
	if len(left) == 1 || !asks.there {
		return left[0], nil
	}
	for i, l := range left {
		fmt.Fprintf(asks.out, "%3d  %s  %s  %s\n", i+1, tool.Escape(l.session.Session), tool.Escape(l.agent),
			fit(tool.Escape(l.session.Title), 60))
	}
	for {
		answer := asks.listen()
		fmt.Fprint(asks.out, "Resume which? [1] ")
		line, ok := asks.await(ctx, answer)
		n, err := strconv.Atoi(cmp.Or(line, "1"))
		switch {
		case !ok:
			return leftBehind{}, exit{exitInterrupted}
		case err == nil && n >= 1 && n <= len(left):
			return left[n-1], nil
		}
	}
}

// findRun finds out which run is meant by the name of a run or of a session, and returns
// its agent. For a session that is its newest run that was interrupted or paused, or its
// last one where that ended early. With agent "" and no error the daemon is to look for
// the run.
func (c *connection) findRun(ctx context.Context, name string, p *wire.ResumeParams) (agent string, err error) {
	p.Run = name
	var s wire.SessionGetResult
	// A name that is no session's is a run's. The session main is looked through here,
	// others by the daemon.
	if p.Session == "" {
		if c.Call(ctx, wire.MethodSessionGet, &wire.SessionParams{Session: name}, &s) == nil {
			p.Run = ""
		} else if c.Call(ctx, wire.MethodSessionGet, &wire.SessionParams{}, &s) != nil {
			return "", nil // the run is looked for by the daemon, in other sessions too
		}
	} else if err := c.Call(ctx, wire.MethodSessionGet, &wire.SessionParams{Session: p.Session}, &s); err != nil {
		return "", err
	}
	for i := len(s.Runs) - 1; i >= 0; i-- {
		switch r := s.Runs[i]; {
		case p.Run == r.Run:
			return r.Agent, nil
		case p.Run == "" && (r.State == "interrupted" || r.State == "paused" ||
			(i == len(s.Runs)-1 && endedEarly(r.Reason, s.State))):
			p.Run, p.Session = r.Run, s.Session.Session
			return r.Agent, nil
		}
	}
	if n := len(s.Runs); p.Run == "" && n > 0 && s.Runs[n-1].Reason == string(activity.Aborted) {
		return "", &wasCancelled{s.Session.Session}
	}
	if p.Run == "" {
		return "", fmt.Errorf("session %s has no run to resume, since all have ended; continue it: agentls run --session %s \"your request\"", tool.Escape(name), tool.Escape(name))
	}
	return "", nil
}

// wasCancelled is the error for a session whose last run a person cancelled: that has
// ended, and what they say next goes on with it.
type wasCancelled struct{ session string }

// Error implements error.
func (e *wasCancelled) Error() string {
	return fmt.Sprintf("you cancelled the last run of session %s; to continue: %s",
		tool.Escape(e.session), goOn(e.session))
}

// goOn is the command with which a person goes on where they cancelled a run.
func goOn(session string) string {
	return fmt.Sprintf("agentls run --session %s \"go on\"", tool.Escape(session))
}

// endedEarly reports whether the newest run of a session, with a state, ended with
// more to do: at a limit, or passing control on to a run that has not begun.
func endedEarly(reason, state string) bool {
	switch reason {
	case "TIMEOUT", "MAX_TURNS":
		return true
	case "HANDOFF":
		return state == "interrupted"
	}
	return false
}

// titleOf returns an agent's title; "" for one that is not known.
func (c *connection) titleOf(ctx context.Context, agent string) string {
	got := new(wire.GetResult)
	_ = c.Call(ctx, wire.MethodGet, &wire.GetParams{Name: agent}, got) // the run itself says what is wrong
	return got.Title
}

// sessionForkCommand begins a session with a part of another (agents/session/fork), which
// stays as it is. Without --at it takes all of it.
func sessionForkCommand(std streams) *cobra.Command {
	var at uint64
	var asJSON bool
	c := &cobra.Command{
		Use: "fork SESSION", Short: "Begin a session with what was said in another, up to a place",
		Args: arguments(1, 1), ValidArgsFunction: completeSessions,
		RunE: func(c *cobra.Command, args []string) error {
			return with(c.Context(), std, func(ctx context.Context, conn *connection) error {
				var err error
				if args[0], err = conn.sessionNamed(ctx, args[0]); err != nil {
					return err
				}
				if !c.Flags().Changed("at") {
					if at, err = conn.lastEvent(ctx, args[0]); err != nil {
						return err
					}
				}
				var r wire.SessionNewResult
				if err := conn.Call(ctx, wire.MethodSessionFork,
					&wire.SessionForkParams{Session: args[0], AtSeq: at}, &r); err != nil {
					return err
				}
				if asJSON {
					return printJSON(std.out, r)
				}
				_, err = fmt.Fprintf(std.out,
					"Session %s begins with %s up to %d. Go on there: agentls run --session %s \"your request\"\n",
					r.Session, tool.Escape(args[0]), at, r.Session)
				return err
			})
		},
	}
	c.Flags().Uint64Var(&at, "at", 0, "the place, a number in brackets of agentls sessions show; without it, the end")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

// lastEvent returns the number of a session's newest event. It reads all of them, since
// only the last page says how many there are.
func (c *connection) lastEvent(ctx context.Context, session string) (uint64, error) {
	for from := uint64(1); ; {
		var page wire.SubscribeResult
		if err := c.Call(ctx, wire.MethodSubscribe, &wire.SubscribeParams{Session: session,
			FromSeq: from}, &page); err != nil {
			return 0, err
		}
		if from = page.NextSeq; !page.More {
			return from - 1, nil
		}
	}
}

// sessionRewindCommand goes back in a session (agents/session/rewind), with --files also
// in its files. It asks nothing, since going back can be undone by going forward again;
// the command for that is printed. It takes a whole id only. Files that were left are
// listed and do not change the exit code.
func sessionRewindCommand(std streams) *cobra.Command {
	p := &wire.SessionRewindParams{}
	var asJSON bool
	c := &cobra.Command{
		Use: "rewind SESSION --to N", Short: "Go back in a session, with its files if you like",
		Long: `Goes back to a place in a session: the agents remember what was said until then.
With --files their changes to files since are taken back too; a file that somebody
else has changed is left, unless --force. Going back can be undone in the same way;
only runs that had not finished, and began after the place, are ended for good.`,
		Args: arguments(1, 1), ValidArgsFunction: completeSessions,
		RunE: func(c *cobra.Command, args []string) error {
			if !c.Flags().Changed("to") {
				return usage{errors.New("--to is missing; agentls sessions show " + tool.Escape(args[0]) +
					" has the places, as numbers in brackets")}
			}
			if p.Force && !p.Files {
				return usage{errors.New("--force is about files; add --files, or leave it out")}
			}
			return with(c.Context(), std, func(ctx context.Context, conn *connection) error {
				p.Session = args[0]
				if err := conn.exactSession(ctx, p.Session); err != nil {
					return err
				}
				// before is for the command that undoes the rewind.
				before, err := conn.lastEvent(ctx, p.Session)
				if err != nil {
					return err
				}
				// Compared afterwards: the answer to the request does not say which runs
				// it ended.
				unfinished, err := conn.unfinishedRuns(ctx, p.Session)
				if err != nil {
					return err
				}
				var r wire.SessionRewindResult
				if err := conn.Call(ctx, wire.MethodSessionRewind, p, &r); err != nil {
					return err
				}
				if asJSON {
					return printJSON(std.out, r)
				}
				var ended []wire.SessionRun
				if still, err := conn.unfinishedRuns(ctx,
					p.Session); err == nil { // it went back, whatever comes of this
					ended = slices.DeleteFunc(unfinished, func(run wire.SessionRun) bool {
						return slices.Contains(still,
							run)
					})
				}
				return printRewound(std.out, p, before, &r, ended)
			})
		},
	}
	f := c.Flags()
	f.Uint64Var(&p.ToSeq, "to", 0, "the place, a number in brackets of agentls sessions show")
	f.BoolVar(&p.Files, "files", false, "take the changes to files back, too")
	f.BoolVar(&p.Force, "force", false, "also of files that somebody else has changed since")
	f.BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

// unfinishedRuns returns the runs of a session that have not finished.
func (c *connection) unfinishedRuns(ctx context.Context, session string) ([]wire.SessionRun, error) {
	var s wire.SessionGetResult
	if err := c.Call(ctx, wire.MethodSessionGet, &wire.SessionParams{Session: session}, &s); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(s.Runs, func(r wire.SessionRun) bool { return r.State == "finished" }), nil
}

// printRewound says what became of a session that was at the event before, and
// of the runs that had to end for it.
func printRewound(out io.Writer, p *wire.SessionRewindParams, before uint64, r *wire.SessionRewindResult,
	ended []wire.SessionRun) error {
	var b strings.Builder
	for _, run := range ended {
		fmt.Fprintf(&b, "ended         run %s of %s: it began after that and had not finished; this is not undone\n",
			run.Run, tool.Escape(run.Agent))
	}
	for _, u := range r.Files {
		fmt.Fprintf(&b, "brought back  %s\n", tool.Escape(localName(u)))
	}
	for _, left := range r.Left {
		fmt.Fprintf(&b, "left          %s: %s\n", tool.Escape(localName(left.URI)), tool.Escape(left.Why))
	}
	files := ""
	if p.Files {
		files = " --files"
	}
	fmt.Fprintf(&b, "Session %s is at %d again. Undo this: agentls sessions rewind %s --to %d%s\n",
		tool.Escape(p.Session), p.ToSeq, tool.Escape(p.Session), before, files)
	// Not everything that was left can be taken back by force.
	if !p.Force && slices.ContainsFunc(r.Left, func(left wire.LeftFile) bool { return agents.Forcible(left.Why) }) {
		fmt.Fprintf(&b, "Take back what was left as well: agentls sessions rewind %s --to %d --files --force\n",
			tool.Escape(p.Session), p.ToSeq)
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// sessionDeleteCommand erases a session from the disk (agents/session/delete). It takes a
// whole id only, and asks at the terminal; without one it needs --yes, else it is a usage
// error. A no is exit code 0.
func sessionDeleteCommand(std streams) *cobra.Command {
	var yes bool
	c := &cobra.Command{
		Use: "delete SESSION", Short: "Erase a session from the disk",
		Args: arguments(1, 1), ValidArgsFunction: completeSessions,
		RunE: func(c *cobra.Command, args []string) error {
			return with(c.Context(), std, func(ctx context.Context, conn *connection) error {
				if err := conn.exactSession(ctx, args[0]); err != nil {
					return err
				}
				var s wire.SessionGetResult
				if err := conn.Call(ctx, wire.MethodSessionGet, &wire.SessionParams{Session: args[0]}, &s); err != nil {
					return err
				}
				if !yes {
					ok, err := confirm(ctx, std, fmt.Sprintf("Erase session %s (%s, %q)? It cannot be brought back.",
						tool.Escape(args[0]), count(len(s.Runs), "run"), fit(tool.Escape(s.Title), 50)))
					if err != nil || !ok {
						return err
					}
				}
				if err := conn.Call(ctx, wire.MethodSessionDelete,
					&wire.SessionDeleteParams{Session: args[0]}, nil); err != nil {
					return err
				}
				_, err := fmt.Fprintf(std.out, "Session %s is erased.\n", tool.Escape(args[0]))
				return err
			})
		},
	}
	c.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return c
}

// confirm asks at the terminal, and reports whether the answer was a clear yes. After any
// other answer it says that nothing was done. Without a terminal it returns a usage error
// that names --yes, which its callers must have.
func confirm(ctx context.Context, std streams, question string) (bool, error) {
	t := newTerminal(std)
	if !t.there {
		return false, usage{errors.New("there is no terminal to ask on; to do it without a question, add --yes")}
	}
	answer := t.listen()
	fmt.Fprintf(std.err, "%s [y/N] ", question)
	line, _ := t.await(ctx, answer)
	if strings.EqualFold(line, "y") || strings.EqualFold(line, "yes") {
		return true, nil
	}
	fmt.Fprintln(std.err, "Nothing was done.")
	return false, ctx.Err()
}

// localName is the path of a file URI, relative where it lies below the current folder.
// Other URIs are returned as they are. It is not escaped; place is.
func localName(u string) string {
	path := tool.PathOf(u)
	if path == "" {
		return u
	}
	if folder, err := here(); err == nil {
		if rel, err := filepath.Rel(folder, path); err == nil && filepath.IsLocal(rel) {
			return rel
		}
	}
	return path
}
