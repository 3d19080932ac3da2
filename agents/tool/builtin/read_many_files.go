package builtin

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/agents/tool"
)

// The limits of what read_many_files returns. With the notes on what is left
// out it is less than what the run would cut in its middle, so that a file that
// counts as seen was shown.
const (
	maxManyFiles = 200
	maxManyRunes = 32_000   // of text, over all files
	maxManyRead  = 64 << 20 // bytes that are read for it
	maxManyOne   = 1 << 20  // bytes of a file that is read for it, but for images and documents
	maxManyMedia = 16       // images and documents
	minManyPart  = 2_500    // characters that are worth the beginning of a file
	maxManyPart  = 8_000    // characters of a file that is not shown whole
)

// manyArgs are the arguments of read_many_files.
type manyArgs struct {
	Include []string `json:"include"`
	Exclude []string `json:"exclude"`
}

// readManyFiles returns the tool that reads all files that globs name.
func readManyFiles() tool.Tool {
	return define("read_many_files", tool.Safe, `{
	"type": "object",
	"properties": {
		"include": {"type": "array", "minItems": 1, "maxItems": 100, "items": {"type": "string", "minLength": 1, "maxLength": 1024}, "description": "Globs, folders or files: src/**/*.go, docs, README.md."},
		"exclude": {"type": "array", "maxItems": 100, "items": {"type": "string", "minLength": 1, "maxLength": 1024}, "description": "Globs of what to leave out."}
	},
	"required": ["include"],
	"additionalProperties": false
}`, map[string]string{"paths": "include", "patterns": "include", "files": "include", "file_paths": "include"}, planMany)
}

// wish is one entry of include: a file that is named, or a pattern below a
// folder.
type wish struct {
	path    string // of the file or the folder, as it is named
	pattern string // "" = a file
	at      tool.Place
}

// newWish finds out what an entry of include means, now. What lies outside of
// the workspace is refused, and so is a file that is named and holds
// credentials.
// It is asked when the call is planned and again when it runs. The order of the cases
// matters: a file that exists under the very text counts before the text is read as a
// pattern.
func newWish(env *tool.Env, i int, text string) (wish, error) {
	pattern := strings.TrimSuffix(filepath.ToSlash(text), "/")
	wild := strings.ContainsAny(pattern, `*?[{\`)
	at, err := readable(env, text)
	switch {
	case err == nil && at.IsDir():
		at, err = tool.Resolve(env, text)
		return wish{text, "**", at}, err
	case err == nil && (at.Exists() || !wild): // a file may be called [id].ts
		return wish{text, "", at}, nil
	// A pattern is not refused for what its text would be as a path.
	case err != nil && (!wild || at.Exists()):
		return wish{}, err
	}
	if !tool.ValidGlob(pattern) {
		return wish{}, tool.Errorf(tool.CodeArgs, "/include/%d: %q is no glob, or one of too many alternatives.", i, text)
	}
	base, below := doublestar.SplitPattern(pattern)
	if slices.Contains(strings.Split(below, "/"), "..") {
		return wish{}, tool.Errorf(tool.CodeOutside,
			"/include/%d: a pattern cannot lead upwards with .. behind a wildcard.", i)
	}
	at, err = tool.Resolve(env, base)
	return wish{base, below, at}, err
}

// planMany plans to read files. Which ones they are is found out when it runs;
// a file that is named and must not be read is refused here, one that a pattern
// finds is left out there.
func planMany(_ context.Context, env *tool.Env, args manyArgs) (*tool.Plan, error) {
	env = tool.Together(env)
	for i, g := range args.Exclude {
		if !tool.ValidGlob(filepath.ToSlash(g)) {
			return nil, tool.Errorf(tool.CodeArgs, "/exclude/%d: %q is no glob, or one of too many alternatives.", i, g)
		}
	}
	plan := &tool.Plan{
		Risk: tool.Safe, Why: "reads files", Skips: true,
		Do: func(ctx context.Context, env *tool.Env) (*tool.Result, error) { return doMany(ctx, env, args) },
	}
	names := make([]string, len(args.Include))
	for i, text := range args.Include {
		w, err := newWish(env, i, text)
		if err != nil {
			return nil, err
		}
		names[i] = tool.Name(text)
		// Of a pattern that is the folder in which it begins.
		plan.Reads = append(plan.Reads, w.at.Real)
		if tool.Suspicious(text) && plan.Risk == tool.Safe {
			plan.Risk, plan.Why = plan.Risk.Raise(), "reads files whose names hold characters that are not seen"
		}
	}
	title, all := tool.CutLine("read_many_files "+strings.Join(names, ", "), 200)
	if !all {
		title += "…"
	}
	plan.Title = title
	return plan, nil
}

// match is a file that is wanted.
type match struct {
	path  string // as it is asked for: absolute, or as the model named it
	shown string
	named bool // by its own name or its extension: images are looked at
}

// gather returns the files that the wishes mean, by path, each once, and those
// that a rule keeps the tool from.
// The search has searchTime; partial is true when it did not see everything.
// err is one of a wish that cannot be read, or ctx's.
// A file that several wishes mean is named if one of them names it, which decides whether
// an image is looked at.
func gather(ctx context.Context, env *tool.Env, args manyArgs) (all []*match, out map[string]bool,
	partial bool, err error) {
	limited, cancel := context.WithTimeout(ctx, searchTime)
	defer cancel()
	known := make(map[string]*match)
	out = make(map[string]bool)
	add := func(real string, m match, inFolder string) {
		// Before the rules: what the call does not want is not counted as denied.
		if excluded(args.Exclude, m.shown, inFolder, filepath.ToSlash(real)) {
			return
		}
		if denied(env, real) {
			out[real] = true
			return
		}
		if old := known[real]; old != nil {
			old.named = old.named || m.named
			return
		}
		known[real] = &m
		all = append(all, &m)
	}
	for i, text := range args.Include {
		w, err := newWish(env, i, text)
		if err != nil {
			return nil, nil, false, err
		}
		if w.pattern == "" {
			add(w.at.Real, match{w.path, tool.Name(w.at.Rel), true}, w.at.Rel)
			continue
		}
		if !w.at.IsDir() {
			continue
		}
		more, err := w.below(limited, env, add)
		if err != nil {
			return nil, nil, false, err
		}
		partial = partial || more
	}
	slices.SortFunc(all, func(a, b *match) int { return strings.Compare(a.shown, b.shown) })
	return all, out, partial, ctx.Err()
}

// below adds the files below a folder that the pattern matches, and documents
// that are only in the editor yet. It reports whether it was stopped early.
func (w wish) below(ctx context.Context, env *tool.Env, add func(real string, m match,
	inFolder string)) (partial bool, err error) {
	dir, err := open(w.at)
	if err != nil {
		return false, err
	}
	defer dir.close()
	start := slashRel(dir, w.at)
	name := strings.ToLower(path.Base(w.pattern))
	count := 0
	visit := func(rel string) bool {
		inside := rel
		if start != "." {
			inside = strings.TrimPrefix(rel, start+"/")
		}
		if ok, err := doublestar.Match(w.pattern, inside); err != nil || !ok {
			return true
		}
		// *.png means images: who writes the extension wants to look at them.
		ext := strings.ToLower(strings.TrimPrefix(path.Ext(rel), "."))
		real := filepath.Join(dir.folder, filepath.FromSlash(rel))
		add(real, match{real, tool.Name(displayPath(env, dir, rel)), ext != "" && strings.Contains(name, ext)}, rel)
		count++
		return count < maxHits
	}
	hidden := newIgnores(dir, start)
	walk := &walker{ctx: ctx, dir: dir, hidden: hidden, visit: visit}
	walk.walk(start)
	// A document that is new in the editor is on no disk, and the walk did not see it. One
	// that is on both is added twice and counts once.
	for _, f := range env.Files.Open() {
		if f.Dirty && tool.Within(w.at.Real, f.Path) {
			if rel := filepath.ToSlash(dir.rel(f.Path)); !hidden.hides(rel, false) {
				visit(rel)
			}
		}
	}
	return walk.partial || count >= maxHits, nil
}

// excluded reports whether a pattern means a file, by one of its names, or a
// folder above it.
//
// A pattern without a slash is compared with each part of a path, as .gitignore has it;
// one with a slash with the whole path.
func excluded(patterns []string, names ...string) bool {
	for _, p := range patterns {
		p = strings.TrimSuffix(strings.TrimPrefix(filepath.ToSlash(p), "./"), "/")
		for _, name := range names {
			parts := []string{name}
			if !strings.Contains(p, "/") {
				parts = strings.Split(name, "/")
			}
			for _, part := range parts {
				ok, _ := doublestar.Match(p, part) // a bad pattern was refused in the plan
				below, _ := doublestar.Match(p+"/**", part)
				if ok || below {
					return true
				}
			}
		}
	}
	return false
}

// many is a result of read_many_files as it grows.
//
// One goroutine fills it. runes and bytes are what is left of and what was used of the
// limits above.
type many struct {
	env   *tool.Env
	text  strings.Builder
	runes int // of text that may still be shown
	read  int // bytes that were read
	files int // that are shown, whole or in part
	media []model.Media
	bytes int // of media
	// The worst of the files that were read, shown or not.
	taint tool.Taint
	left  []string // what is not shown, or not whole: why, and how to get it
}

// doMany reads the files in the order of their paths until there is no room,
// and says of each that it left out why. A file counts as seen only where it
// was shown whole.
func doMany(ctx context.Context, env *tool.Env, args manyArgs) (*tool.Result, error) {
	env = tool.Together(env)
	all, out, partial, err := gather(ctx, env, args)
	if err != nil {
		return nil, err
	}
	r := &many{env: env, runes: maxManyRunes}
	for _, m := range all {
		if err := ctx.Err(); err != nil {
			return nil, context.Cause(ctx)
		}
		if why, err := r.add(ctx, m); err != nil {
			return nil, err
		} else if why != "" {
			r.left = append(r.left, why)
		}
	}
	if len(all) == 0 {
		r.text.WriteString("No file matches.\n")
	}
	r.list()
	r.text.WriteString(omissionNote(len(out)))
	if partial {
		r.text.WriteString("[partial: the search was stopped after 5 seconds or 10,000 files]\n")
	}
	display := "Read " + tool.Count(r.files, "file", "files")
	if n := len(r.left); n > 0 {
		display += fmt.Sprintf(", %d more not or not whole", n)
	}
	return &tool.Result{Content: r.text.String(), Display: display, Media: r.media, Taint: r.taint}, nil
}

// add shows one file, or says why not.
// It looks at the size before it reads, because the room is for all files of
// the call. why is "" for a file that was shown whole; err is only what ends
// the call.
func (r *many) add(ctx context.Context, m *match) (why string, err error) {
	if r.files == maxManyFiles {
		return fmt.Sprintf("%s: there are more than %d files", m.shown, maxManyFiles), nil
	}
	at, err := readable(r.env, m.path)
	// A file that is only in the editor has no size on disk, and is read.
	if err == nil && at.Exists() {
		switch size := at.Info.Size(); {
		case size > maxManyOne && !m.named:
			return fmt.Sprintf("%s: it is long (%d bytes)", m.shown, size), nil
		case r.read+int(min(size, maxManyRead)) > maxManyRead:
			return fmt.Sprintf("%s: enough was read in one call (%d bytes)", m.shown, r.read), nil
		case r.runes < minManyPart && size > int64(4*max(0, r.runes)) && !m.named: // a character has at most four bytes
			return fmt.Sprintf("%s: there is no room left (%d bytes)", m.shown, size), nil
		}
	}
	var f *tool.File
	if err == nil {
		at, f, err = fetch(ctx, r.env, m.path)
	}
	if e, ok := errors.AsType[*tool.Error](err); ok {
		return e.Message, nil
	}
	if err != nil {
		return "", err
	}
	r.read += len(f.Data) + len(f.Text)
	r.taint = r.taint.Max(r.env.TaintOf(at.Real))
	media, what, err := attach(at, f)
	if e, ok := errors.AsType[*tool.Error](err); ok {
		return e.Message, nil
	}
	switch {
	case media != nil:
		return r.attach(m, at, f, media, what), nil
	case f.Binary:
		return refuseBinary(at, f).Error(), nil
	}
	return r.show(m, at, f), nil
}

// attach adds an image or a document.
func (r *many) attach(m *match, at tool.Place, f *tool.File, media *model.Media, what string) (why string) {
	switch {
	case !m.named:
		return fmt.Sprintf("%s: %s; give its name, or a pattern with its extension, to look at it", m.shown, what)
	case len(r.media) == maxManyMedia, r.bytes+len(media.Data) > maxMedia:
		return fmt.Sprintf("%s: %s; there is no room for more images and documents", m.shown, what)
	}
	r.media = append(r.media, *media)
	r.bytes += len(media.Data)
	note(r.env, at, f)
	r.write(m, fmt.Sprintf("[attached: %s]\n", what))
	return ""
}

// show adds a text, or its beginning.
// Only a file that was shown whole counts as read (note).
func (r *many) show(m *match, at tool.Place, f *tool.File) (why string) {
	all := readArgs{Limit: len(f.Text) + 1}
	e, err := extract(f.Text, all, r.runes)
	if err != nil {
		return err.Error()
	}
	// The beginning of a file is shown where there is room for one worth reading; the rest is
	// read with read_file.
	if !e.whole || e.runes > r.runes {
		if r.runes < minManyPart {
			return fmt.Sprintf("%s: there is no room left (%d bytes)", m.shown, len(f.Text))
		}
		if e, err = extract(f.Text, all, min(r.runes, maxManyPart)); err != nil {
			return err.Error()
		}
		why = fmt.Sprintf("%s: %d lines of it are above, and not the whole of it", m.shown, e.lines)
	} else {
		note(r.env, at, f)
	}
	r.write(m, strings.TrimSuffix(e.content, "\n")+"\n")
	return why
}

// write adds a file under its name.
func (r *many) write(m *match, content string) {
	section := fmt.Sprintf("--- %s ---\n%s\n", m.shown, content)
	r.text.WriteString(section)
	r.runes -= utf8.RuneCountInString(section)
	r.files++
}

// list says what was left out, as far as there is room.
func (r *many) list() {
	if len(r.left) == 0 {
		return
	}
	fmt.Fprintf(&r.text, "[%d files are left out, or not whole. Read them with read_file, or narrow include and exclude:]\n", len(r.left))
	room := tool.MaxResult - 500 - utf8.RuneCountInString(r.text.String())
	for i, why := range r.left {
		if room -= utf8.RuneCountInString(why) + 3; room < 0 {
			fmt.Fprintf(&r.text, "[and %d more, which are behind these by path; glob lists them]\n", len(r.left)-i)
			return
		}
		r.text.WriteString("- " + why + "\n")
	}
}
