package builtin

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/bluekeyes/go-gitdiff/gitdiff"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/tool"
)

// maxPatched is how many files a patch may change: a person has to read it.
const maxPatched = 100

// patchArgs are the arguments of apply_patch.
type patchArgs struct {
	Patch string `json:"patch"`
}

// applyPatch returns the tool that changes several files by one unified diff, all
// of them or none.
func applyPatch() tool.Tool {
	return define("apply_patch", tool.Low, `{
	"type": "object",
	"properties": {
		"patch": {"type": "string", "minLength": 1, "description": "The unified diff."}
	},
	"required": ["patch"],
	"additionalProperties": false
}`, map[string]string{"diff": "patch", "input": "patch", "content": "patch"}, planPatch)
}

// patched is one file of a patch: changed or made, or, with gone, deleted.
//
// Exactly one of change and gone is set. text is the whole new content of a changed file,
// and means nothing for a deletion.
type patched struct {
	*change
	text string
	gone *removedFile
}

// planPatch reads the patch against the files as they are now. Whether the model
// has read them does not matter: a hunk proves that it knows the lines that it
// changes, since they must stand in the file, at one place.
// An error about one file of several is collected, so that the model can fix all
// of them at once.
// Refused are a text that is no diff or names no file (CodeArgs), more than maxPatched
// files (CodeTooLarge), and a file that appears twice, since the second part was written
// against a text that the first one changes.
func planPatch(ctx context.Context, env *tool.Env, args patchArgs) (*tool.Plan, error) {
	files, _, err := gitdiff.Parse(strings.NewReader(normalizePatch(args.Patch)))
	switch {
	case err != nil:
		return nil, tool.Errorf(tool.CodeArgs, "/patch: it is no unified diff: %s.",
			tool.Escape(strings.TrimPrefix(err.Error(), "gitdiff: ")))
	case len(files) == 0:
		return nil, tool.Errorf(tool.CodeArgs,
			"/patch: it changes no file. Begin each file with the lines --- a/path and +++ b/path.")
	case len(files) > maxPatched:
		return nil, tool.Errorf(tool.CodeTooLarge, "The patch changes %d files, more than %d. Give it in parts.",
			len(files), maxPatched)
	}
	env = tool.Together(env)
	var all []patched
	var wrong []string
	seen := make(map[string]bool)
	for _, f := range files {
		one, err := patchFile(ctx, env, f)
		var refusal *tool.Error
		switch {
		// Only a tool's own refusal is collected: what ends the call, as a cancelled context, ends
		// it here.
		case errors.As(err, &refusal) && len(files) > 1:
			wrong = append(wrong, refusal.Message)
			continue
		case err != nil:
			return nil, err
		}
		if real := one.place().Real; seen[real] {
			wrong = append(wrong, tool.Name(one.place().Rel)+" is in the patch twice; give all its hunks together.")
		} else {
			seen[real] = true
		}
		all = append(all, one)
	}
	if len(wrong) > 0 {
		return nil, tool.Errorf(tool.CodeFailed, "Nothing was changed:\n%s", strings.Join(wrong, "\n"))
	}
	// What goes, goes last: a file that is gone cannot be put back as exactly as
	// one that was written.
	slices.SortStableFunc(all, func(a, b patched) int { return deletes(a) - deletes(b) })
	return describePatch(all), nil
}

// deletes is the sort key that puts deletions last.
func deletes(p patched) int {
	if p.gone != nil {
		return 1
	}
	return 0
}

// place returns where the file lies.
func (p patched) place() tool.Place {
	if p.gone != nil {
		return p.gone.at
	}
	return p.at
}

// effect returns what the patch does to the file, for the person and the log.
func (p patched) effect() activity.Change {
	if p.gone != nil {
		return p.gone.removal()
	}
	return p.changeTo(p.text)
}

// describePatch returns the plan of a patch.
// The risk is that of its riskiest file, which the reason names.
// An answer for longer is offered only where every file of the patch is an ordinary one of
// the same folder.
func describePatch(all []patched) *tool.Plan {
	p := &tool.Plan{Risk: tool.Low, Why: "changes files", Preview: tool.Preview{Kind: "patch"}}
	ordinary := true
	var names, folders []string
	for _, one := range all {
		v := verdict{risk: tool.High, why: "deletes a file"}
		if one.gone == nil {
			v = one.judge(one.text)
		} else if one.gone.at.Protected {
			v = verdict{risk: tool.Protected, why: "deletes in a protected place: " + one.gone.at.ProtectedBy}
		}
		at := one.place()
		if v.risk > p.Risk {
			p.Risk, p.Why = v.risk, v.why+" ("+tool.Name(at.Rel)+")"
		}
		ordinary = ordinary && v.ordinary
		names, folders = append(names, tool.Name(at.Rel)), append(folders, at.Folder)
		p.Writes = append(p.Writes, at.Real)
		p.Preview.Patch += one.effect().Patch
		p.Preview.Notes = append(p.Preview.Notes, v.notes...)
	}
	p.Title = "apply_patch " + strings.Join(names, ", ")
	if len(names) > 3 {
		p.Title = fmt.Sprintf("apply_patch %s and %s", strings.Join(names[:3], ", "),
			tool.Count(len(names)-3, "other file", "other files"))
	}
	if ordinary && p.Risk <= tool.Medium {
		p.Shape, p.Covers = ordinaryFiles(folders...)
	}
	p.Do = func(ctx context.Context, env *tool.Env) (*tool.Result, error) { return doPatch(ctx, env, all) }
	return p
}

// patchFile finds one file of a patch and what becomes of it.
// The errors say what to do instead, since the model reads them: nothing was
// changed yet.
func patchFile(ctx context.Context, env *tool.Env, f *gitdiff.File) (patched, error) {
	name := f.NewName
	if f.IsDelete {
		name = f.OldName
	}
	shown := tool.Name(name)
	switch {
	case f.IsRename || f.IsCopy || (!f.IsNew && !f.IsDelete && f.OldName != f.NewName):
		return patched{}, tool.Errorf(tool.CodeArgs,
			"%s: a patch does not rename or copy files. Use move_file, then patch the file at its new path.", shown)
	case f.IsBinary:
		return patched{}, tool.Errorf(tool.CodeBinary, "%s: a patch changes text only.", shown)
	case !f.IsDelete && changesMode(f):
		return patched{}, tool.Errorf(tool.CodeArgs, "%s: a patch does not change modes. Leave the mode lines out.",
			shown)
	case len(f.TextFragments) == 0 && !f.IsNew && !f.IsDelete:
		return patched{}, tool.Errorf(tool.CodeArgs, "%s: there is no hunk.", shown)
	}
	if f.IsDelete {
		l, err := newLeaving(ctx, env, name)
		if err != nil {
			return patched{}, err
		}
		if l.file.Binary {
			return patched{}, refuseBinary(l.at, l.file)
		}
		if left, err := applyHunks(wholeText(l.file), f.TextFragments); err != nil || left != "" {
			return patched{}, tool.Errorf(tool.CodeFailed,
				"%s: to delete it the patch must hold its whole content; or use delete_file.", shown)
		}
		return patched{gone: l}, nil
	}
	c, err := findChange(ctx, env, "apply_patch", name)
	if err != nil {
		return patched{}, err
	}
	switch {
	case f.IsNew && c.old != nil:
		return patched{}, tool.Errorf(tool.CodeFailed, "%s exists already, and the patch makes it anew.", shown)
	case !f.IsNew && c.old == nil:
		return patched{}, tool.Errorf(tool.CodeNotFound, "%s does not exist. A new file begins with --- /dev/null.",
			shown)
	}
	text, err := applyHunks(c.text(), f.TextFragments)
	if err == nil {
		err = checkGrowth(len(c.text()), len(text))
	}
	if err != nil {
		return patched{}, tool.Errorf(tool.CodeFailed, "%s: %v.", shown, err)
	}
	return patched{change: c, text: text}, nil
}

// changesMode reports whether a patch gives a file a mode that is not the usual
// one of a new file, or another one.
func changesMode(f *gitdiff.File) bool {
	if f.IsNew {
		return f.NewMode != 0 && f.NewMode != 0o100644 // as git writes it
	}
	return f.NewMode != 0 && f.NewMode != f.OldMode
}

// applyHunks returns a text with hunks applied: each where its context and removed
// lines stand, which must be one place. Lines that stay keep their line ends;
// those that are added get the text's.
//
// The numbers in the hunks' heads do not count: models get them wrong. Hunks may
// come in any order, but must not overlap.
// The result is what is previewed and what is written; nothing is applied a second time.
func applyHunks(text string, hunks []*gitdiff.TextFragment) (string, error) {
	lines := strings.SplitAfter(text, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	end, next := endOf(text), 0
	var b strings.Builder
	write := func(line string) {
		if s := b.String(); b.Len() > 0 && s[len(s)-1] != '\n' {
			b.WriteString(end) // what was the last line is not any more
		}
		b.WriteString(line)
	}
	type place struct {
		at   int
		hunk *gitdiff.TextFragment
	}
	var places []place
	for n, h := range hunks {
		at, err := findHunk(lines, h)
		if err != nil {
			return "", fmt.Errorf("hunk %d %w", n+1, err)
		}
		places = append(places, place{at, h})
	}
	slices.SortStableFunc(places, func(a, b place) int { return a.at - b.at })
	for _, p := range places {
		if p.at < next {
			return "", errors.New("two hunks change the same lines; join them")
		}
		for ; next < p.at; next++ {
			write(lines[next])
		}
		for _, l := range p.hunk.Lines {
			switch l.Op {
			case gitdiff.OpContext:
				write(lines[next])
				next++
			case gitdiff.OpDelete:
				next++
			case gitdiff.OpAdd:
				added := strings.TrimRight(l.Line, "\r\n")
				if strings.HasSuffix(l.Line, "\n") {
					added += end
				}
				write(added)
			}
		}
	}
	for ; next < len(lines); next++ {
		write(lines[next])
	}
	return b.String(), nil
}

// findHunk returns the line at which a hunk's context and removed lines stand.
// The line numbers of the hunk do not count, nor do line ends: its text has to
// stand at one place of the file and no other.
func findHunk(lines []string, h *gitdiff.TextFragment) (int, error) {
	var old []string
	for _, l := range h.Lines {
		if l.Op != gitdiff.OpAdd {
			old = append(old, strings.TrimRight(l.Line, "\r\n"))
		}
	}
	// Lines that are only added could stand anywhere. In an empty file there is one place.
	if len(old) == 0 {
		if len(lines) > 0 {
			return 0, errors.New("has no context: give the lines around what it adds")
		}
		return 0, nil
	}
	trim := func(line string) string { return strings.TrimRight(line, "\r\n") }
	switch found := sequences(lines, old, trim, true); len(found) {
	case 1:
		return found[0], nil
	case 0:
		return 0, errors.New("does not match: its context and removed lines do not stand in the file so. Read the file again")
	default:
		return 0, fmt.Errorf("matches at %d places. Give more lines of context", len(found))
	}
}

// doPatch makes all changes of a patch, or puts back those that it made.
// All paths are looked at before the first file is written, so that a link that
// changed since costs nothing.
// TestPatchesAreAppliedExactlyOrNotAtAll and TestPatchIsPutBackWhereItCannotBeMadeWhole
// hold this.
func doPatch(ctx context.Context, env *tool.Env, all []patched) (*tool.Result, error) {
	for _, one := range all {
		path, at := one.way()
		if err := sameWay(env, path, at); err != nil {
			return nil, err
		}
	}
	result := &tool.Result{}
	var said []string
	for i, one := range all {
		r, err := one.apply(ctx, env)
		if err != nil {
			return nil, putBack(context.WithoutCancel(ctx), env, all[:i], err)
		}
		said = append(said, r.Content)
		result.Changes = append(result.Changes, r.Changes...)
	}
	result.Content = strings.Join(said, "\n")
	result.Display = "Patched " + tool.Count(len(all), "file", "files")
	return result, nil
}

// way returns how the model named the file, and where that led.
func (p patched) way() (string, tool.Place) {
	if p.gone != nil {
		return p.gone.path, p.gone.at
	}
	return p.path, p.at
}

// apply makes the change of one file. The error is for the model.
func (p patched) apply(ctx context.Context, env *tool.Env) (*tool.Result, error) {
	if p.gone == nil {
		return p.do(ctx, env, p.text)
	}
	name := tool.Name(p.gone.at.Rel)
	if err := env.Edits.Delete(ctx, p.gone.at.Real, p.gone.file.Digest, "apply_patch "+name); err != nil {
		return nil, unchangedError(err, p.gone.at)
	}
	return &tool.Result{Content: "Deleted " + name + ".", Changes: []activity.Change{p.gone.removal()}}, nil
}

// putBack gives files what they held before a patch that could not be made whole.
// A file that somebody changed meanwhile stays as they have it, and the model is
// told. The context must not be the call's, which may have ended. The result is
// the error for the model.
// It goes backwards, so that files are restored in the opposite order of the changes.
func putBack(ctx context.Context, env *tool.Env, made []patched, cause error) error {
	var stay []string
	for _, one := range slices.Backward(made) {
		at := one.place()
		err := func() error {
			if one.gone != nil {
				return env.Edits.Write(ctx, at.Real, "", one.gone.file.Text, "undo apply_patch")
			}
			now, err := env.Files.Read(ctx, at.Real)
			switch {
			case err != nil:
				return err
			case !tool.SameLines(now.Text, one.text):
				return errors.New("somebody changed it meanwhile")
			case one.old == nil:
				return env.Edits.Delete(ctx, at.Real, now.Digest, "undo apply_patch")
			}
			if err := env.Edits.Write(ctx, at.Real, now.Digest, one.old.Text, "undo apply_patch"); err != nil {
				return err
			}
			if now, err = env.Files.Read(ctx, at.Real); err == nil && env.Seen.Digest(at.Real) != "" {
				env.Seen.Note(at.Real, now.Digest)
			}
			return nil
		}()
		if err != nil {
			stay = append(stay, fmt.Sprintf("%s stays changed: %v.", tool.Name(at.Rel), err))
		}
	}
	code, message := tool.CodeFailed, cause.Error()
	if e, ok := errors.AsType[*tool.Error](cause); ok {
		code = e.Code
	}
	if len(stay) > 0 {
		return tool.Errorf(code, "The patch was made in part: %s\n%s", message, strings.Join(stay, "\n"))
	}
	return tool.Errorf(code, "Nothing was changed: %s", message)
}

var hunkHead = regexp.MustCompile(`^@@(?:[^@]*@@)?`)

// normalizePatch returns a patch as git writes it. Models count lines wrong, leave
// the numbers out and mix the two kinds of heads; that says nothing of what they
// mean. The hunk's own lines say how many there are, and its numbers do not count.
func normalizePatch(patch string) string {
	lines := strings.Split(strings.TrimSuffix(tool.LineFeeds(patch), "\n"), "\n")
	// A removed line that begins with "-- " looks like the first line of a head, so the line
	// after it and the hunk that follows are looked at as well.
	head := func(i int) bool { // of a file, or of what comes before it
		return i >= len(lines) || strings.HasPrefix(lines[i], "diff --git ") ||
			(i+1 < len(lines) && strings.HasPrefix(lines[i], "--- ") && strings.HasPrefix(lines[i+1], "+++ ") &&
				(i+2 >= len(lines) || strings.HasPrefix(lines[i+2], "@@")))
	}
	var b strings.Builder
	git, fresh := false, false // the head is one of git's; the file is a new one
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		switch {
		case strings.HasPrefix(line, "diff --git "):
			git, fresh = true, false
		case strings.HasPrefix(line, "--- ") && head(i):
			before, after := strings.TrimSpace(line[4:]), strings.TrimSpace(lines[i+1][4:])
			fresh = strings.HasPrefix(before, "/dev/null")
			i++
			if !git {
				before, after = withoutPrefix(before, after)
			}
			line, git = "--- "+before+"\n+++ "+after, false
		case strings.HasPrefix(line, "@@"):
			last := i + 1
			for !head(last) && !strings.HasPrefix(lines[last], "@@") &&
				(lines[last] == "" || strings.ContainsRune(` +-\`, rune(lines[last][0]))) {
				last++
			}
			for last > i+1 && lines[last-1] == "" { // blank lines between hunks are no context
				last--
			}
			line, git = countHunk(lines[i], lines[i+1:last], fresh), false
			for _, l := range lines[i+1 : last] {
				line += "\n" + l
			}
			i = last - 1
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}

// withoutPrefix returns the names of a head that is not git's without a/ and b/.
func withoutPrefix(before, after string) (string, string) {
	before, _, _ = strings.Cut(before, "\t") // a time
	after, _, _ = strings.Cut(after, "\t")
	// Both must have their prefix, or there may be a folder that is called a.
	old, ok := strings.CutPrefix(before, "a/")
	fresh, also := strings.CutPrefix(after, "b/")
	if (ok || before == "/dev/null") && (also || after == "/dev/null") {
		return old, fresh
	}
	return before, after
}

// countHunk returns the head of a hunk for its lines.
//
// The starts are 1 or 0 and mean nothing: findHunk looks for the place.
func countHunk(head string, lines []string, fresh bool) string {
	old, added := 0, 0
	for _, l := range lines {
		switch {
		case l == "" || l[0] == ' ':
			old++
			added++
		case l[0] == '-':
			old++
		case l[0] == '+':
			added++
		}
	}
	start := 1
	if fresh || old == 0 {
		start = 0
	}
	return fmt.Sprintf("@@ -%d,%d +1,%d @@%s", start, old, added, hunkHead.ReplaceAllString(head, ""))
}
