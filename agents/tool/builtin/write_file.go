package builtin

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/agentls/agentls/agents/activity"
	diff "github.com/agentls/agentls/agents/change"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/fault"
)

// writeArgs are the arguments of write_file.
type writeArgs struct {
	FilePath string `json:"file_path"`
	Content  string `json:"content"`
}

// writeFile returns the tool that writes a whole file.
func writeFile() tool.Tool {
	return define("write_file", tool.Low, `{
	"type": "object",
	"properties": {
		"file_path": {"type": "string", "minLength": 1, "description": "The file, relative to the workspace folder or absolute inside it."},
		"content": {"type": "string", "description": "The whole new content."}
	},
	"required": ["file_path", "content"],
	"additionalProperties": false
}`, join(fileAliases, map[string]string{"contents": "content", "text": "content"}), planWrite)
}

// planWrite plans to write a file. One that exists must have been read as it is
// now.
func planWrite(ctx context.Context, env *tool.Env, args writeArgs) (*tool.Plan, error) {
	c, err := newChange(ctx, env, "write_file", args.FilePath)
	if err != nil {
		return nil, err
	}
	text := args.Content
	if c.old != nil {
		text = likeOld(c.old.Text, text)
	}
	return c.plan(text), nil
}

// likeOld gives a whole new text the line ends and the final newline of the old
// one.
// A model writes line feeds, and often no last one: without this each write would change
// every line of a file from Windows.
func likeOld(old, text string) string {
	text = withEnds(text, endOf(old))
	if strings.HasSuffix(old, "\n") && text != "" && !strings.HasSuffix(text, "\n") {
		text += endOf(old)
	}
	return text
}

// endOf returns the line end that most lines of a text have: "\n" where there
// are none.
func endOf(text string) string {
	if crlf := strings.Count(text, "\r\n"); crlf > 0 && 2*crlf >= strings.Count(text, "\n") {
		return "\r\n"
	}
	return "\n"
}

// withEnds returns text with the line end. A text that has the other one only
// in part says what it wants, and stays.
func withEnds(text, end string) string {
	crlf, all := strings.Count(text, "\r\n"), strings.Count(text, "\n")
	switch {
	case end == "\r\n" && crlf == 0:
		return strings.ReplaceAll(text, "\n", "\r\n")
	case end == "\n" && crlf == all && all > 0:
		return strings.ReplaceAll(text, "\r\n", "\n")
	}
	return text
}

// change is one file about to be changed by a call.
//
// write_file, edit_file, apply_patch and save_memory make one each for a file; it
// is used for one call and by one goroutine.
type change struct {
	env *tool.Env
	// The name of the tool, for labels and titles.
	tool string
	path string // as the model named it
	at   tool.Place
	old  *tool.File // nil for a new file
}

// newChange finds the file and what forbids to change it: also that the model has
// not read it, or not as it is now.
// Both are CodeStale. What was seen is kept by digest, so a file that changed and changed
// back may be written. TestWriteFileNeedsToHaveSeenWhatItReplaces holds it.
func newChange(ctx context.Context, env *tool.Env, name, path string) (*change, error) {
	c, err := findChange(ctx, env, name, path)
	if err != nil || c.old == nil {
		return c, err
	}
	switch seen := env.Seen.Digest(c.at.Real); {
	case seen == "":
		return nil, tool.Errorf(tool.CodeStale, "%s exists, and you have not read it. Read it with read_file first.",
			tool.Name(c.at.Rel))
	case seen != c.old.Digest:
		return nil, tool.Errorf(tool.CodeStale,
			"%s changed since you read it (it is now %s). Read it again with read_file.",
			tool.Name(c.at.Rel), short(c.old.Digest))
	}
	return c, nil
}

// findChange finds the file and what forbids to change it, whoever has read it.
// A file that is not there is no error: c.old is nil. The errors are a tool's,
// for the model.
// Errors: CodeOutside for a path out of the workspace, CodeDenied for a sealed or
// read-only file, CodeArgs for a folder, CodeBinary for what is no text.
func findChange(ctx context.Context, env *tool.Env, name, path string) (*change, error) {
	env = tool.Together(env)
	p, err := tool.Resolve(env, path)
	if err != nil {
		return nil, err
	}
	if err := sealError(p); err != nil {
		return nil, err
	}
	if p.Rel == "." || strings.HasSuffix(path, "/") {
		return nil, tool.Errorf(tool.CodeArgs, "/file_path: %s is a folder.", tool.Name(path))
	}
	c := &change{env: env, tool: name, path: path, at: p}
	f, err := read(ctx, env, p)
	if e, ok := err.(*tool.Error); ok && e.Code == tool.CodeNotFound {
		return c, nil
	}
	if err != nil {
		return nil, err
	}
	// The file that was read may be another than the one that was resolved: what was opened
	// counts.
	if p = p.ReadAs(env, f.Info); p.Sealed != "" {
		return nil, sealError(p)
	}
	c.at = p
	if f.Binary {
		return nil, refuseBinary(p, f)
	}
	// An open document is written by the editor, which has its own say about such files.
	if p.Info != nil && p.Info.Mode().IsRegular() && p.Info.Mode()&0o222 == 0 && !f.Open {
		return nil, tool.Errorf(tool.CodeDenied, "%s is read-only. Ask the person to make it writable.",
			tool.Name(p.Rel))
	}
	c.old = f
	return c, nil
}

// sealError is the refusal of a place that is never written, nil for any other.
func sealError(p tool.Place) error {
	if p.Sealed == "" {
		return nil
	}
	return tool.Errorf(tool.CodeDenied, "%s is never written by an agent: %s.", tool.Name(p.Rel), p.Sealed)
}

// short returns the beginning of a digest, enough to tell two apart.
func short(digest string) string { return digest[:min(len(digest), 12)] }

// text returns what the file holds now, "" for a new one.
func (c *change) text() string {
	if c.old == nil {
		return ""
	}
	return c.old.Text
}

// plan returns the plan to make the file's text new.
//
// The preview and the write have the same text; an answer for longer is offered for
// ordinary files only.
func (c *change) plan(text string) *tool.Plan {
	rel := filepath.ToSlash(c.at.Rel)
	v := c.judge(text)
	p := &tool.Plan{
		Risk: v.risk, Why: v.why, Title: c.tool + " " + tool.Name(rel), Path: c.at.Real,
		Reads: []string{c.at.Real}, Writes: []string{c.at.Real},
		Preview: tool.Preview{Kind: "diff", OldText: c.text(), NewText: text,
			Patch: c.changeTo(text).Patch, Notes: v.notes},
		Do: func(ctx context.Context, env *tool.Env) (*tool.Result, error) { return c.do(ctx, env, text) },
	}
	if v.ordinary {
		p.Shape, p.Covers = ordinaryFiles(c.at.Folder)
	}
	return p
}

// verdict is how risky a change of one file is.
type verdict struct {
	risk tool.Risk
	// For the person, as the continuation of "it".
	why      string
	notes    []string // what a person should look at
	ordinary bool     // an answer may hold for the next change too
}

// judge says how risky it is to make the file's text new.
// What the file had already is not held against the change.
// The cases are in the order of their risk: a protected place counts before all others.
// Characters that are not seen raise whatever came out.
func (c *change) judge(text string) verdict {
	v := verdict{risk: tool.Low, why: "changes a file", ordinary: true}
	if c.old == nil {
		v.why = "makes a file"
	}
	remote := newRemoteSchemas(c.at.Real, c.text(), text)
	switch {
	case c.at.Protected:
		v = verdict{risk: tool.Protected, why: "changes a protected place: " + c.at.ProtectedBy}
	case scriptsChange(c.at.Real, c.text(), text):
		v = verdict{risk: tool.High, why: "changes what package managers run"}
	case len(remote) > 0:
		v = verdict{risk: tool.High, why: "adds an address that editors and other programs fetch by themselves"}
	}
	// Told in any case, also where a protected place outweighs it.
	for _, address := range remote {
		v.notes = append(v.notes, "it refers to "+address)
	}
	if tool.Suspicious(c.path) || tool.Suspicious(c.at.Rel) || deceives(c.text(), text) {
		v.risk, v.ordinary = v.risk.Raise(), false
		v.why += "; it holds characters that are not seen"
	}
	return v
}

// deceives reports whether a text brings invisible characters that the old one
// does not have, those of emoji aside.
//
// A byte order mark at the start and variation selectors and joiners of emoji do not
// count.
func deceives(old, text string) bool {
	// Line ends of Windows and form feeds are control characters that files have lawfully.
	emoji := strings.NewReplacer("\ufe0e", "", "\ufe0f", "", "\u200d", "", "\r\n", "\n", "\f", "")
	lawful := func(text string) string { return emoji.Replace(strings.TrimPrefix(text, "\ufeff")) }
	old, text = lawful(old), lawful(text)
	if !tool.Suspicious(text) {
		return false
	}
	had := make(map[rune]bool)
	for _, r := range old {
		had[r] = true
	}
	return strings.ContainsFunc(text, func(r rune) bool { return !had[r] && tool.Suspicious(string(r)) })
}

// scriptsChange reports whether a package.json runs something else after a
// change (SEC-17). One that cannot be read may run anything.
// Compared are the values of the keys by which npm, its relatives and hook managers run
// programs, parsed, so that another layout of the same JSON does not ask.
func scriptsChange(path, old, text string) bool {
	if !strings.EqualFold(filepath.Base(path), "package.json") {
		return false
	}
	runs := func(text string) (map[string]any, bool) {
		var all map[string]any
		// No file, or an empty one, runs nothing.
		if strings.TrimSpace(text) == "" {
			return map[string]any{}, true
		}
		if json.Unmarshal([]byte(text), &all) != nil {
			return nil, false
		}
		out := make(map[string]any)
		for _, key := range []string{"scripts", "bin", "husky", "lint-staged", "simple-git-hooks", "pre-commit",
			"packageManager", "config", "gitHooks"} {
			if v, ok := all[key]; ok {
				out[key] = v
			}
		}
		return out, true
	}
	before, okBefore := runs(old)
	after, okAfter := runs(text)
	return !okBefore || !okAfter || !reflect.DeepEqual(before, after)
}

// do writes the file.
// A path that leads elsewhere by now is CodeStale, and so is a file that changed since
// (explainRefusal). A text that is there already is no error and writes nothing.
func (c *change) do(ctx context.Context, env *tool.Env, text string) (*tool.Result, error) {
	// Links are followed again: the write goes where the person was told.
	if err := sameWay(env, c.path, c.at); err != nil {
		return nil, err
	}
	rel := filepath.ToSlash(c.at.Rel)
	if c.old != nil && c.old.Text == text {
		return &tool.Result{Content: fmt.Sprintf("%s has this content already; nothing was changed.",
			tool.Name(rel))}, nil
	}
	base := ""
	if c.old != nil {
		base = c.old.Digest
	}
	if err := env.Edits.Write(ctx, c.at.Real, base, text, c.tool+" "+tool.Escape(rel)); err != nil {
		return nil, c.explainRefusal(ctx, env, err)
	}
	// An editor may have formatted the text as it saved: then the model has not seen it.
	if after, err := env.Files.Read(ctx, c.at.Real); err == nil && tool.SameLines(after.Text, text) {
		env.Seen.Note(c.at.Real, after.Digest) // what it wrote it has seen
	}
	done, said := c.changeTo(text), "Changed"
	if c.old == nil {
		said = "Made"
	}
	return &tool.Result{
		Content: fmt.Sprintf("%s %s.\n%s", said, tool.Name(rel), done.Patch),
		Display: fmt.Sprintf("%s %s", said, tool.Name(rel)),
		Changes: []activity.Change{done},
	}, nil
}

// changeTo returns what it does to the file to make its text new.
func (c *change) changeTo(text string) activity.Change {
	var old *string
	if c.old != nil {
		old = &c.old.Text
	}
	return diff.Of(tool.URI(c.at.Real), filepath.ToSlash(c.at.Rel), old, &text)
}

// explainRefusal explains a write that was not made.
//
// A file that changed meanwhile is CodeStale with its new digest; everything else is as
// unchangedError has it.
func (c *change) explainRefusal(ctx context.Context, env *tool.Env, err error) error {
	switch fault.KindOf(err) {
	case fault.Stale:
	default:
		return unchangedError(err, c.at)
	}
	now := "it is gone"
	if f, err := env.Files.Read(ctx, c.at.Real); err == nil {
		now = "it is now " + short(f.Digest)
	}
	return tool.Errorf(tool.CodeStale,
		"%s changed while the call was decided about (%s). Read it again with read_file and repeat the call.",
		tool.Name(c.at.Rel), now)
}
