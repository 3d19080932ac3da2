package run

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/change"
	"github.com/agentls/agentls/agents/snapshot"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/internal/mask"
	"github.com/agentls/agentls/internal/sandbox"
)

// The values of activity.FileChanged.By.
const (
	byCommand = "command"
	byUnknown = "unknown"
)

// maxPatches is how many bytes of patches the changes of one command are told with;
// those of further files are told without.
const maxPatches = 1 << 20

// changesFiles reports whether a call runs a command that can change files: also
// one that says it only reads, where no wall keeps it from more.
func (b *batch) changesFiles(t *task) bool {
	if b.Snapshots == nil || t.plan.Access == "" {
		return false
	}
	wall := sandbox.None
	if s := b.env(t).Sandbox; s != nil {
		wall, _ = s.Wall()
	}
	return t.plan.Access != sandbox.Read || wall == sandbox.None
}

// noUndo says why what a call's command changes could not be undone, "" where it
// can be, or where it changes nothing.
// It also notes the answer in the task: watch runs a command whose changes cannot be seen
// only where the gate, and so the person, had been told that.
func (b *batch) noUndo(t *task) string {
	if !b.changesFiles(t) {
		return ""
	}
	t.noUndo = ""
	for _, folder := range b.workspace(t) {
		if ok, why := b.Snapshots.Available(t.ctx, folder); !ok {
			t.noUndo = why
		}
	}
	return t.noUndo
}

// workspace returns the folders in which a command can change files: those that
// are trusted.
func (b *batch) workspace(t *task) []string {
	env := b.env(t)
	var folders []string
	for _, folder := range append([]string{env.Folder}, env.Folders...) {
		if folder != "" && !slices.Contains(folders, folder) && !slices.Contains(env.Strange, folder) {
			folders = append(folders, folder)
		}
	}
	return folders
}

// watch looks at the workspace before a command. The error says why the command is
// not run: what it changes could not be undone, and nobody was told that.
//
// It has the editor save first, so that what the command finds on disk is what the
// person sees and the editor's own writes are not taken for the command's.
func (b *batch) watch(ctx context.Context, t *task) error {
	if !b.changesFiles(t) {
		return nil
	}
	// What the editor writes now is not the command's.
	t.unsaved = b.Env.Edits.Save(ctx, "a command is about to run")
	t.saved = true
	w, err := b.Snapshots.Begin(ctx, b.workspace(t), b.windowOf(t.call.ID))
	switch {
	case err == nil:
		t.window = w
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case t.noUndo == "":
		return tool.Errorf(tool.CodeFailed,
			"The command was not run, since what it changes could not be undone: %s. Repeat the call: the person is asked then.", fault.Message(err))
	}
	return nil
}

// windowOf is the id of the time of one call, for all sessions.
func (r *runner) windowOf(call string) string { return r.Env.Session + "/" + call }

// settleWindow tells what a command changed. One that goes on, since it was started
// in the background or was not ended yet, is looked at again when the run ends.
func (b *batch) settleWindow(t *task, goesOn bool) {
	if t.window == nil {
		return
	}
	w := t.window
	t.window = nil
	if goesOn {
		b.mu.Lock()
		b.windows = append(b.windows, openWindow{w, t.call.ID, t.output})
		b.mu.Unlock()
		return
	}
	b.tellWindow(t.ctx, openWindow{w, t.call.ID, t.output})
}

// openWindow is the time of a command, which may go on.
type openWindow struct {
	*snapshot.Window
	call   string
	output *mask.Masker // of what the command printed; may be nil
}

// closeWindows tells what commands changed that went on until now.
func (r *runner) closeWindows(ctx context.Context) {
	r.mu.Lock()
	windows := r.windows
	r.windows = nil
	r.mu.Unlock()
	for _, w := range windows {
		r.tellWindow(ctx, w)
	}
}

// tellWindow ends a window and writes what it saw to the log.
// It looks to the end also when ctx has ended: what a cancelled command changed is told.
func (r *runner) tellWindow(ctx context.Context, w openWindow) {
	told := teller{r: r, call: w.call, by: byCommand, patches: maxPatches, output: w.output}
	notes, err := w.End(context.WithoutCancel(ctx), told.file)
	if err != nil {
		notes = append(notes, "what the command changed is not known, and cannot be undone: "+fault.Message(err))
	}
	told.finish(notes)
}

// recover tells what changed since a command began whose end no daemon saw.
func (r *runner) recover(ctx context.Context, call string) {
	if r.Snapshots == nil {
		return
	}
	env := r.Env
	if r.Locate != nil {
		r.Locate(&env)
	}
	told := teller{r: r, call: call, by: byUnknown, patches: maxPatches}
	// What was printed is gone with the earlier daemon, but a patch may show a value of a
	// credential file all the same.
	if r.Output != nil {
		var err error
		if told.output, err = r.Output(ctx, &env); err != nil {
			told.patches = 0 // they may hold what cannot be masked
		}
	}
	folders := append([]string{env.Folder}, env.Folders...)
	if err := r.Snapshots.Recover(ctx, folders, r.windowOf(call), told.file); err != nil && r.Log != nil {
		r.Log.Warn("what a command changed is not known", "run", r.ID, "call", call, "err", err)
	}
	var notes []string
	if len(told.paths) > 0 {
		notes = append(notes, fmt.Sprintf("%s changed while a command ran whose end nobody saw, or since: by the command or by somebody else", tool.Count(len(told.paths), "file", "files")))
	}
	told.finish(notes)
}

// teller writes what a command changed to the log.
//
// It serves one window, on one goroutine. Patches count together, so a command that
// rewrites a whole tree is told by names.
type teller struct {
	r       *runner
	call    string
	by      string
	patches int // bytes that are left for patches
	output  *mask.Masker
	paths   []string
	lost    []string // why contents are not kept, and of which files
}

// file tells one change. What a file was and is are kept first.
// If it cannot be kept, the change is told as lost: it is then known that it
// happened, and that it cannot be undone. Patches share one bound for the whole
// command; beyond it only names are told.
func (t *teller) file(c snapshot.Change) {
	r := t.r
	event := activity.FileChanged{Call: t.call, By: t.by}
	event.Modes = modesOf(c)
	before, after := textOfSide(c.Before), textOfSide(c.After)
	// Both sides are kept, or none: an undo needs the content before, and a rewind compares
	// the file with the content after.
	if c.Lost == "" {
		var err error
		if event.Before, err = r.putSide(c.Before); err == nil {
			event.After, err = r.putSide(c.After)
		}
		if err != nil {
			c.Lost, event.Before, event.After = fault.Message(err), "", ""
		}
	}
	name := keeping{b: &batch{runner: r}}.relative(c.Path)
	if c.Lost != "" {
		t.lost = append(t.lost, name+" ("+c.Lost+")")
		before, after = nil, nil
	}
	if tool.IsCredential(c.Path) { // what is in it is told to nobody
		before, after = nil, nil
	}
	event.Change = change.Of(tool.URI(c.Path), name, before, after)
	event.Patch = string(t.output.MaskKnown([]byte(event.Patch)))
	switch {
	case c.Before.Mode == snapshot.None:
		event.Kind = "create"
	case c.After.Mode == snapshot.None:
		event.Kind = "delete"
	}
	if t.patches -= len(event.Patch); t.patches < 0 {
		event.Patch, event.Hunks = "", []activity.Hunk{}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.say(event)
	r.changes = append(r.changes, event.Change)
	t.paths = append(t.paths, c.Path)
}

// putSide keeps what a file was or is.
// The name is "" for no file. One that the snapshot has kept already comes with its digest.
func (r *runner) putSide(s snapshot.Side) (string, error) {
	if s.Mode == snapshot.None || s.Digest != "" {
		return s.Digest, nil
	}
	return r.Session.PutBlob(s.Data)
}

// textOfSide is a file as package change has it.
func textOfSide(s snapshot.Side) *string {
	text := string(s.Data)
	switch s.Mode {
	case snapshot.None:
		return nil
	case snapshot.Link:
		text = change.Link(text)
	}
	return &text
}

// modesOf says what is to be brought back besides contents.
func modesOf(c snapshot.Change) (m activity.Modes) {
	const plain, executable fs.FileMode = 0o644, 0o755
	m.WasLink, m.IsLink = c.Before.Mode == snapshot.Link, c.After.Mode == snapshot.Link
	if c.Before.Mode != snapshot.Executable && c.After.Mode != snapshot.Executable {
		return m
	}
	of := func(mode snapshot.Mode) uint32 {
		switch mode {
		case snapshot.Executable:
			return uint32(executable)
		case snapshot.File:
			return uint32(plain)
		}
		return 0
	}
	m.Mode, m.AfterMode = of(c.Before.Mode), of(c.After.Mode)
	return m
}

// maxNotes is how many files a note names.
const maxNotes = 10

// finish tells editors, and the person what cannot be undone.
func (t *teller) finish(notes []string) {
	// Editors read these files anew. The person is told only what they cannot undo.
	if len(t.paths) > 0 {
		t.r.Env.Edits.Wrote(t.paths)
	}
	if n := len(t.lost); n > 0 {
		notes = append(notes, fmt.Sprintf("%s cannot be undone: %s", tool.Count(n, "file", "files"),
			strings.Join(t.lost[:min(n, maxNotes)], ", ")))
	}
	t.r.mu.Lock()
	defer t.r.mu.Unlock()
	t.r.note(notes)
}

// note tells a person what came of a command, each note once. The caller holds mu.
func (r *runner) note(notes []string) {
	for _, note := range notes {
		note = string(r.Mask.MaskKnown([]byte(note)))
		if r.noted[note] {
			continue
		}
		if r.noted == nil {
			r.noted = make(map[string]bool)
		}
		r.noted[note] = true
		r.say(activity.Note{Level: "info", Message: "After a command: " + tool.Escape(note) + "."})
	}
}
