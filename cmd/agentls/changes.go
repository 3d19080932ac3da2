package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentls/agentls/agents/activity"
	hunks "github.com/agentls/agentls/agents/change"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/chat"
	"github.com/agentls/agentls/internal/wire"
)

// changesOptions are the flags of changes. Its Args function makes sure that keep, undo
// and asks exclude each other, and that hunks come with keep or undo.
type changesOptions struct {
	// session and run are as typed; "" is any. run may be latestRun.
	session, run string
	// hunks are the beginnings of ids, as --patch shows them; none is all hunks.
	hunks []string
	// patch shows the changes themselves; asks goes through their parts with the person.
	keep, undo, patch, asks bool
	// whole is set by the command where neither files nor hunks are named: then all of a
	// session is kept or undone in one request.
	asJSON, whole bool
}

// changesCommand shows what agents changed, and keeps or undoes it. It asks for the
// changes of each session of the folder, or of one, leaves out those that were not named,
// and then prints them, resolves them, or asks about each part on a terminal. A file that
// somebody else has changed since is listed as left; that is no failure. Without a
// terminal -i is a usage error.
func changesCommand(std streams) *cobra.Command {
	var o changesOptions
	c := &cobra.Command{
		Use: "changes [FILE…]", Short: "Show what agents changed in files; keep or undo it",
		Long: `Shows what agents changed in files and what you have neither kept nor undone yet: in
all sessions of this folder, with --session in one, with --run by one run; --run latest
is the newest that changed something. With --keep or --undo it is kept or undone, in the
files or the parts that are named, or in all. --interactive asks about each part. What
somebody else has changed since is left, and said.`,
		Example: "  agentls changes -p\n  agentls changes --undo --run latest\n  agentls changes --undo --hunk 3fa2\n  agentls changes -i app.go",
		Args: func(*cobra.Command, []string) error {
			switch {
			case o.keep && o.undo:
				return usage{errors.New("--keep and --undo do not go together; leave one out")}
			case o.asks && (o.keep || o.undo || o.asJSON):
				return usage{errors.New("--interactive asks what to do; leave out --keep, --undo and --json")}
			case len(o.hunks) > 0 && !o.keep && !o.undo:
				return usage{errors.New("--hunk names what to keep or undo; add --keep or --undo")}
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			files, err := urisOf(args)
			if err != nil {
				return err
			}
			return with(c.Context(), std, func(ctx context.Context, conn *connection) error {
				all, err := conn.listChanges(ctx, std, o.session, o.run)
				if err != nil {
					return err
				}
				if all, err = chooseChanges(all, files, o.hunks); err != nil {
					return err
				}
				o.whole = len(files)+len(o.hunks) == 0
				return o.do(ctx, conn, std, all)
			})
		},
	}
	f := c.Flags()
	f.StringVar(&o.session, "session", "", "the session; without it, all")
	f.StringVar(&o.run, "run", "", "what this run changed, or latest")
	f.StringSliceVar(&o.hunks, "hunk", nil, "the part with this `ID`, which --patch shows; can be given again")
	f.BoolVar(&o.keep, "keep", false, "keep the changes: they are not listed any more")
	f.BoolVar(&o.undo, "undo", false, "undo the changes")
	f.BoolVarP(&o.asks, "interactive", "i", false, "ask about each part")
	f.BoolVarP(&o.patch, "patch", "p", false, "show the changes themselves")
	f.BoolVar(&o.asJSON, "json", false, "print JSON")
	completeSessionFlag(c)
	complete(c, "run", "latest")
	_ = c.RegisterFlagCompletionFunc("hunk", completeHunks(std))
	return c
}

// do does what the flags say with the changes that were chosen: asks about each part,
// prints them, or keeps or undoes them. After an error half way it prints what was done
// before, and returns the error.
func (o *changesOptions) do(ctx context.Context, conn *connection, std streams, all []changed) error {
	switch {
	case o.asks:
		return askAboutHunks(ctx, conn, std, o.run, all)
	case !o.keep && !o.undo && o.asJSON:
		return printJSON(std.out, map[string]any{"files": all})
	case !o.keep && !o.undo:
		return printChanges(ctx, std.out, all, o.patch)
	}
	// With no name of a file or hunk the daemon gets one request for each session, not one
	// a file.
	if o.whole {
		all = bySession(all)
	}
	r, err := conn.resolveAll(ctx, all, o.run, map[bool]string{true: "undo", false: "keep"}[o.undo])
	if err != nil && len(r.Files)+len(r.Conflicts) == 0 {
		return err
	}
	// Where it failed half way, what was done before is told as well.
	show := printResolved
	if o.asJSON {
		show = func(out io.Writer, r *wire.ChangesResolveResult) error { return printJSON(out, r) }
	}
	if shown := show(std.out, r); err == nil {
		err = shown
	}
	return err
}

// changed is what agents changed in a file in one session. A change without a URI stands
// for all files of its session, see bySession.
type changed struct {
	Session string `json:"session"`
	// Run is set only where --run was given; it then limits what is kept or undone.
	Run string `json:"run,omitempty"`
	// title is the session's, for the heading where several sessions are listed.
	title string
	// hunks are the whole ids of the hunks that were named; none is all of the file.
	hunks []string
	activity.Change
}

// latestRun names the newest run that changed something.
const latestRun = "latest"

// listChanges returns what agents changed and nobody has kept or undone: in a session, ""
// for all, and by a run, "" for any. For latestRun it tries the runs from the newest on
// and returns the changes of the first one that has any. A session that another agentls
// has is left out and named on standard error; one that cannot be read is left out.
func (c *connection) listChanges(ctx context.Context, std streams, session, run string) ([]changed, error) {
	// The newest session is first, and so latestRun ends with the newest run that changed
	// something.
	sessions, err := c.sessions(ctx)
	if err != nil {
		return nil, err
	}
	if session != "" {
		if session, err = c.sessionNamed(ctx, session); err != nil {
			return nil, err
		}
		// Runs only says that the session is not empty: whether it is, the daemon knows.
		sessions = []wire.Session{{Session: session, Runs: 1}}
	}
	all := []changed{}
	for _, s := range sessions {
		switch {
		case s.Locked:
			fmt.Fprintf(std.err, "left out: session %s is in use by another agentls\n", tool.Escape(s.Session))
			continue
		case s.Runs == 0 || s.Problem != "":
			continue
		}
		// "" stands for all runs at once.
		runs := []string{run}
		if run == latestRun {
			if runs, err = c.runsOf(ctx, s.Session); err != nil {
				return nil, err
			}
		}
		for _, one := range runs {
			var r wire.ChangesResult
			if err := c.Call(ctx, wire.MethodChanges, &wire.ChangesParams{Session: s.Session,
				Run: one}, &r); err != nil {
				return nil, err
			}
			for _, change := range r.Files {
				all = append(all, changed{Session: s.Session, Run: one, title: s.Title, Change: change})
			}
			if run == latestRun && len(r.Files) > 0 {
				return all, nil
			}
		}
	}
	return all, nil
}

// runsOf returns the ids of a session's runs, the newest first. With an error it returns
// none.
func (c *connection) runsOf(ctx context.Context, session string) (runs []string, err error) {
	var s wire.SessionGetResult
	err = c.Call(ctx, wire.MethodSessionGet, &wire.SessionParams{Session: session}, &s)
	for _, r := range slices.Backward(s.Runs) {
		runs = append(runs, r.Run)
	}
	return runs, err
}

// chooseChanges returns the changes of the files that are named, and of these the hunks
// whose ids begin as those that are named; without names all. A file that no agent changed
// is an error, and so is the beginning of an id that fits no hunk or several.
func chooseChanges(all []changed, files, hunks []string) (some []changed, err error) {
	// All names are checked before anything is chosen, so that one that is mistyped
	// changes nothing.
	for _, file := range files {
		if !slices.ContainsFunc(all, func(c changed) bool { return tool.PathOf(c.URI) == tool.PathOf(file) }) {
			return nil, fmt.Errorf("no agent changed %s, or it was kept or undone since; see `agentls changes`",
				tool.Escape(localName(file)))
		}
	}
	for _, id := range hunks {
		found := 0
		for _, c := range all {
			found += len(pendingHunks(c.Hunks, id))
		}
		if found != 1 {
			return nil, usage{fmt.Errorf("%d hunks have an id that begins with %s; see `agentls changes -p`",
				found, tool.Escape(id))}
		}
	}
	for _, c := range all {
		for _, id := range hunks {
			c.hunks = append(c.hunks, pendingHunks(c.Hunks, id)...)
		}
		named := len(files) == 0 || slices.ContainsFunc(files,
			func(u string) bool { return tool.PathOf(c.URI) == tool.PathOf(u) })
		if named && (len(hunks) == 0 || len(c.hunks) > 0) {
			some = append(some, c)
		}
	}
	// Never nil, so that JSON has a list also where nothing was chosen.
	return append([]changed{}, some...), nil
}

// pendingHunks returns the ids of the pending hunks that begin so. "" is the beginning of
// all.
func pendingHunks(hunks []activity.Hunk, begin string) (ids []string) {
	for _, h := range hunks {
		if h.Status == "pending" && strings.HasPrefix(h.ID, begin) {
			ids = append(ids, h.ID)
		}
	}
	return ids
}

// bySession returns one change for each session, which stands for all of its files: these
// are undone together, since a file may have taken a folder's place. all has the changes
// of a session next to each other. The daemon then sorts out in which order the files go
// back.
func bySession(all []changed) (some []changed) {
	for _, c := range all {
		if len(some) == 0 || some[len(some)-1].Session != c.Session {
			some = append(some, changed{Session: c.Session, Run: c.Run})
		}
	}
	return some
}

// resolveAll keeps or undoes changes, action being "keep" or "undo", with one request for
// each. It stops at the first error and returns with it what was done before; the result
// is never nil.
func (c *connection) resolveAll(ctx context.Context, all []changed, run,
	action string) (*wire.ChangesResolveResult, error) {
	done := &wire.ChangesResolveResult{Files: []activity.Change{}, Conflicts: []wire.Conflict{}}
	for _, change := range all {
		p := &wire.ChangesResolveParams{Session: change.Session, URI: change.URI, Hunks: change.hunks, Action: action}
		// Without --run the change has no run, and the daemon takes those of all.
		if run != "" {
			p.Run = change.Run
		}
		var r wire.ChangesResolveResult
		if err := c.Call(ctx, wire.MethodChangesResolve, p, &r); err != nil {
			return done, err
		}
		done.Files, done.Conflicts = append(done.Files, r.Files...), append(done.Conflicts, r.Conflicts...)
	}
	return done, nil
}

// urisOf returns file names as the URIs of the protocol. Names are relative to the current
// folder; whether there is such a file is not checked.
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

// resolve keeps or undoes all changes of files in one session; without files, all of the
// session. With an error it returns what was done before; the result is never nil.
// /changes of a conversation uses it; the command changes goes over sessions and hunks by
// resolveAll.
func (c *connection) resolve(ctx context.Context, session string, files []string,
	action string) (*wire.ChangesResolveResult, error) {
	all := &wire.ChangesResolveResult{Files: []activity.Change{}, Conflicts: []wire.Conflict{}}
	// Without a file the daemon takes all files of the session.
	if len(files) == 0 {
		files = []string{""}
	}
	for _, file := range files {
		var r wire.ChangesResolveResult
		if err := c.Call(ctx, wire.MethodChangesResolve, &wire.ChangesResolveParams{Session: session, URI: file,
			Action: action}, &r); err != nil {
			return all, err
		}
		all.Files, all.Conflicts = append(all.Files, r.Files...), append(all.Conflicts, r.Conflicts...)
	}
	return all, nil
}

// printChanges prints a line for each file, and with patches what was changed in it, by
// the pager of a terminal. Sessions get headings only where there are several.
func printChanges(ctx context.Context, out io.Writer, all []changed, patches bool) error {
	if len(all) == 0 {
		_, err := fmt.Fprintln(out, "There are no changes of agents that you have not kept or undone.")
		return err
	}
	var b strings.Builder
	session := ""
	for _, f := range all {
		// Changes of one session stand next to each other: where there are several
		// sessions, the first change or the last is another's.
		if several := f.Session != all[0].Session || f.Session != all[len(all)-1].Session; several &&
			f.Session != session {
			session = f.Session
			fmt.Fprintf(&b, "%s (%s)\n", tool.Escape(session), fit(tool.Escape(f.title), 60))
		}
		fmt.Fprintf(&b, "%-6s  %s  %s\n", f.Kind, tool.Escape(localName(f.URI)), statuses(f.Hunks))
		if patches {
			b.WriteString(chat.PlainText(withHunks(f.Change)) + "\n")
		}
	}
	b.WriteString("\nKeep or undo: agentls changes --keep [FILE…], agentls changes --undo [FILE…]")
	if patches {
		return page(ctx, out, b.String()+"; parts: --hunk ID\n")
	}
	_, err := fmt.Fprintln(out, b.String()+"; see them whole: agentls changes -p")
	return err
}

// part is a hunk that is pending, with its lines and those beside it. A person decides
// about one part at a time.
type part struct {
	// hunk has no id where the part stands for the whole file.
	hunk activity.Hunk
	text string
}

// partsOf returns the pending hunks of a change. The patch has the pending hunks only, in
// order, so the two are paired by their place. A file that is no text, and an empty one,
// is one part.
func partsOf(c activity.Change) (parts []part) {
	texts := hunks.Parts(c.Patch)
	for _, h := range c.Hunks {
		if h.Status == hunks.Pending && len(parts) < len(texts) {
			parts = append(parts, part{h, texts[len(parts)]})
		}
	}
	if len(parts) != len(texts) || len(texts) == 0 {
		return []part{{text: strings.TrimRight(c.Patch, "\n")}}
	}
	return parts
}

// withHunks returns the patch of a change, with the ids of its hunks above it. Where only
// one is pending it has no id above it.
func withHunks(c activity.Change) string {
	var b strings.Builder
	ids := pendingHunks(c.Hunks, "")
	for _, h := range c.Hunks {
		// One hunk needs no id: the name of the file says as much.
		if h.Status == "pending" && len(ids) > 1 {
			fmt.Fprintf(&b, "  hunk %s  from line %d\n", h.ID, h.Range.Start.Line+1)
		}
	}
	return b.String() + strings.TrimRight(c.Patch, "\n")
}

// askAboutHunks asks about each part of the changes whether it is kept or undone, with the
// part on standard error and what became of it on standard output. q, the end of the input
// and Ctrl-C stop; what was decided until then stays. Any other answer leaves the part.
func askAboutHunks(ctx context.Context, conn *connection, std streams, run string, all []changed) error {
	asks := newTerminal(std)
	if !asks.there {
		return usage{errors.New("there is no terminal to ask on; use --keep or --undo, with --hunk ID for a part")}
	}
	for _, c := range all {
		for _, p := range partsOf(c.Change) {
			fmt.Fprintf(std.err, "\n%s\n%s\n", tool.Escape(localName(c.URI)), chat.PlainText(p.text))
			answer := asks.listen()
			fmt.Fprint(std.err, "Keep or undo it? k = keep, u = undo, n = decide later, q = stop: ")
			line, ok := asks.await(ctx, answer)
			action := map[string]string{"k": "keep", "u": "undo"}[strings.ToLower(line)]
			switch {
			case !ok || strings.EqualFold(line, "q"):
				return ctx.Err()
			case action == "":
				continue
			}
			// No ids mean the whole file: so does a part that is one.
			if c.hunks = nil; p.hunk.ID != "" {
				c.hunks = []string{p.hunk.ID}
			}
			r, err := conn.resolveAll(ctx, []changed{c}, run, action)
			if err != nil {
				return err
			}
			if err := printResolved(std.out, r); err != nil {
				return err
			}
		}
	}
	return nil
}

// statuses counts the parts of a change by what became of them. A status that no part has
// is left out.
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

// printResolved prints a line for each file, and for what was left. Where there is
// neither it says that nothing was to be done.
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
