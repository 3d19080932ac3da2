package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/agentls/agentls/agents/activity"
	hunks "github.com/agentls/agentls/agents/change"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/chat"
	"github.com/agentls/agentls/internal/wire"
)

// noChanges is the answer to /changes where there is nothing to decide.
const noChanges = "There are no changes of agents that you have not kept or undone."

// changes does /changes, whose arguments are rest. With keep or undo it does that with the
// files named, or with all; else it shows the changes: in the chat as a review, where the
// person decides, and in plain lines as patches.
func (d *dialogue) changes(ctx context.Context, rest string) error {
	words := strings.Fields(rest)
	action := ""
	if len(words) > 0 && (words[0] == "keep" || words[0] == "undo") {
		action, words = words[0], words[1:]
	}
	files, err := urisOf(words)
	if err != nil {
		return err
	}
	if action != "" {
		// What was done before an error is told as well.
		r, err := d.conn.resolve(ctx, d.session, files, action)
		return errors.Join(err, printResolved(d.std.out, r))
	}
	var r wire.ChangesResult
	if err := d.conn.Call(ctx, wire.MethodChanges, &wire.ChangesParams{Session: d.session}, &r); err != nil {
		return err
	}
	all := only(r.Files, files)
	switch {
	case len(all) == 0:
		d.t.say(noChanges)
		return nil
	case d.chat != nil:
		return d.review(ctx, all, len(files) > 0)
	}
	for _, f := range all {
		fmt.Fprintf(d.std.out, "%-6s  %s  %s\n", f.Kind, tool.Escape(localName(f.URI)), extent(f))
		fmt.Fprintln(d.std.out, chat.PlainText(strings.TrimRight(f.Patch, "\n")))
	}
	d.t.say("/changes keep [FILE…] or /changes undo [FILE…]; without files, all")
	return nil
}

// extent says how much of a file was changed.
func extent(f activity.Change) string {
	added, removed := chat.Counts(f.Patch)
	return fmt.Sprintf("+%d −%d  %s", added, removed, statuses(f.Hunks))
}

// review is one pass of a person through changes. It is used by one goroutine.
type review struct {
	*dialogue
	q *chat.Question
	// said is what could not be kept or undone, and was not shown yet. The next question
	// shows it above its part, since the dialog covers what is printed.
	said []string
	// done counts parts by "keep" and "undo", for the line at the end.
	done map[string]int // parts that were kept and undone, by action
	// pending has the parts that were not decided about, by file and id: a file that is
	// kept or undone may have others.
	pending map[string]bool
}

// review has the person keep or undo changes: all, those of a file, or part by part. named
// says that files are some of the session's, so that all means these. Leaving a dialog leaves what is not decided yet as it is. The last line says how many
// parts were kept and undone.
func (d *dialogue) review(ctx context.Context, files []activity.Change, named bool) error {
	r := &review{dialogue: d, q: d.chat.Pick(), done: make(map[string]int), pending: make(map[string]bool)}
	defer func() {
		// First, since messages wait while the question is open.
		r.q.Close()
		if kept, undone := r.done["keep"], r.done["undo"]; kept+undone > 0 {
			r.said = append(r.said, fmt.Sprintf("%s kept, %d undone", count(kept, "part"), undone))
		}
		if len(r.said) > 0 {
			d.t.say("%s", r.news())
		}
	}()
	var list []string
	for _, f := range files {
		for _, id := range pendingHunks(f.Hunks, "") {
			r.pending[f.URI+id] = true
		}
		list = append(list, fmt.Sprintf("%-6s  %s  %s", f.Kind, tool.Escape(localName(f.URI)), extent(f)))
	}
	options := []chat.Option{
		{Key: "r", Label: "Review them part by part"},
		{Key: "f", Label: "Review one file"},
		{Key: "k", Label: "Keep all", Note: "they are not listed any more"},
		{Key: "u", Label: "Undo all", Note: "the files become what they were"},
	}
	// Of one file there is nothing to choose.
	if len(files) == 1 {
		options = slices.Delete(options, 1, 2)
	}
	switch r.q.Choose(ctx, strings.Join(list, "\n"), count(len(files), "file")+" changed. Keep or undo?", options) {
	case "k":
		return r.all(ctx, files, named, "keep")
	case "u":
		return r.all(ctx, files, named, "undo")
	case "f":
		var names []chat.Option
		for _, f := range files {
			names = append(names, chat.Option{Label: localName(f.URI), Note: extent(f)})
		}
		i := r.q.Pick(ctx, "", "Which file?", names)
		if i < 0 {
			return nil
		}
		files = files[i : i+1]
	case "r":
	default:
		return nil
	}
	for _, f := range files {
		if goesOn, err := r.file(ctx, f); err != nil || !goesOn {
			return err
		}
	}
	return nil
}

// all keeps or undoes what files have: in one request where they are all of the session,
// since a file may have taken a folder's place.
func (r *review) all(ctx context.Context, files []activity.Change, named bool, action string) error {
	if !named {
		return r.resolve(ctx, "", action)
	}
	for _, f := range files {
		if err := r.resolve(ctx, f.URI, action); err != nil {
			return err
		}
	}
	return nil
}

// file goes through the parts of a file, and reports whether the person wants to see the
// next file. Esc ends the review as a whole.
func (r *review) file(ctx context.Context, f activity.Change) (goesOn bool, err error) {
	name := localName(f.URI)
	parts := partsOf(f)
	for i, p := range parts {
		where, title := tool.Escape(name), fmt.Sprintf("Part %d of %d in %s", i+1, len(parts), name)
		if len(parts) == 1 {
			title = "The change in " + name
		}
		if p.hunk.ID != "" {
			where += fmt.Sprintf("\n@@ line %d @@", p.hunk.Range.Start.Line+1)
		}
		options := []chat.Option{{Key: "k", Label: "Keep"}, {Key: "u", Label: "Undo"},
			{Key: "n", Label: "Next, decide later"}}
		// Capital letters are for all parts from here on.
		if rest := len(parts) - i; rest > 1 {
			options = append(options, chat.Option{Key: "K", Label: fmt.Sprintf("Keep the %d that are left in this file",
				rest)},
				chat.Option{Key: "U", Label: fmt.Sprintf("Undo the %d that are left in this file", rest)})
		}
		body := strings.TrimLeft(r.news()+"\n"+where+"\n"+p.text, "\n")
		chosen := r.q.Choose(ctx, body, title, options)
		var ids []string
		switch chosen {
		case "n":
			continue
		case "k", "u":
			ids = idsOf(parts[i : i+1])
		case "K", "U":
			ids = idsOf(parts[i:])
		default:
			return false, nil
		}
		action := map[string]string{"k": "keep", "u": "undo"}[strings.ToLower(string(chosen))]
		if err := r.resolve(ctx, f.URI, action, ids...); err != nil {
			return false, err
		}
		if chosen == "K" || chosen == "U" {
			break
		}
	}
	return true, nil
}

// idsOf are the ids of parts; none stands for the whole file.
func idsOf(parts []part) (ids []string) {
	for _, p := range parts {
		if p.hunk.ID != "" {
			ids = append(ids, p.hunk.ID)
		}
	}
	return ids
}

// resolve keeps or undoes changes, action being "keep" or "undo": without a URI all of the
// session, without ids all of a file. It counts what was done, and notes what was left.
func (r *review) resolve(ctx context.Context, uri, action string, ids ...string) error {
	var done wire.ChangesResolveResult
	p := &wire.ChangesResolveParams{Session: r.session, URI: uri, Hunks: ids, Action: action}
	if err := r.conn.Call(ctx, wire.MethodChangesResolve, p, &done); err != nil {
		return err
	}
	for _, f := range done.Files {
		for _, h := range f.Hunks {
			if h.Status != hunks.Pending && r.pending[f.URI+h.ID] {
				delete(r.pending, f.URI+h.ID)
				r.done[action]++
			}
		}
	}
	for _, c := range done.Conflicts {
		r.said = append(r.said, tool.Escape(fmt.Sprintf("left: %s: %s", localName(c.URI), c.Why)))
	}
	return nil
}

// news returns what became of changes since the last call, and forgets it.
func (r *review) news() string {
	text := strings.Join(r.said, "\n")
	r.said = nil
	return text
}
