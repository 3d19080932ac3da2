package builtin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/agentls/agentls/agents/tool"
)

// How many matches are shown where the call does not say, and how many lines around
// each at most.
const (
	defaultHits = 200
	maxContext  = 20
)

// grepArgs are the arguments of grep; 0 means the default of a number.
type grepArgs struct {
	Pattern string `json:"pattern"`
	DirPath string `json:"dir_path"`
	Include string `json:"include"`
	Context int    `json:"context"`
	Limit   int    `json:"limit"`
}

// grep returns the tool that searches the contents of files.
func grep() tool.Tool {
	return define("grep", tool.Safe, `{
	"type": "object",
	"properties": {
		"pattern": {"type": "string", "minLength": 1, "maxLength": 1024, "description": "The regular expression (RE2)."},
		"dir_path": {"type": "string", "description": "The folder or file to search. Default: the workspace folder."},
		"include": {"type": "string", "minLength": 1, "maxLength": 1024, "description": "Glob of the files to search."},
		"context": {"type": "integer", "minimum": 0, "maximum": 20, "description": "Lines shown before and after each match. Default 0."},
		"limit": {"type": "integer", "minimum": 1, "maximum": 2000, "description": "Matches shown at most. Default 200."}
	},
	"required": ["pattern"],
	"additionalProperties": false
}`, folderAliases, planGrep)
}

// line is a line that matched, or one of its neighbours.
type line struct {
	number int // from 1
	// Without its line feed; a carriage return at the end stays.
	text string
	// False for a line of context.
	hit bool
}

// hits are the lines of one file, by number.
type hits struct {
	rel   string // relative to the folder of the search's handle, with slashes
	lines []line
}

// query is a search made exact.
//
// Two engines answer it, ripgrep where it may run and the built-in one, with the
// same result; [query.report] writes it for both.
//
// Workers share it: they read what newQuery set. Only the goroutine that walks changes
// something, the caches of hidden and, by wanted, denied.
type query struct {
	ctx    context.Context // the search's time
	env    *tool.Env
	dir    *opened
	start  string // a folder or a file, relative to dir
	isFile bool
	re     *regexp.Regexp
	whole  *regexp.Regexp // re where a whole file may be asked first, else nil
	needs  literal        // what each match holds
	// A glob over paths below start, or over names alone if it has no slash; "" = all.
	include string
	// Lines before and after each match, maxContext at most.
	context int
	hidden  *ignores
	denied  map[string]bool // files that a rule keeps the tool from
}

// compile returns the expression as both engines take it.
func compile(pattern string) (*regexp.Regexp, error) {
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, tool.Errorf(tool.CodeArgs, "/pattern: it is no regular expression (RE2): %v.", err)
	}
	return re, nil
}

// planGrep plans a search. It is safe; what must not be read is left out by wanted
// and secret, file by file.
func planGrep(_ context.Context, env *tool.Env, args grepArgs) (*tool.Plan, error) {
	if _, err := compile(args.Pattern); err != nil {
		return nil, err
	}
	if args.Include != "" && !tool.ValidGlob(args.Include) {
		return nil, tool.Errorf(tool.CodeArgs, "/include: %q is no glob, or one of too many alternatives.", args.Include)
	}
	p, err := searchable(env, args.DirPath)
	if err != nil {
		return nil, err
	}
	return &tool.Plan{
		Risk: tool.Safe, Why: "searches files", Title: "grep " + tool.Name(args.Pattern), Path: p.Real,
		Reads: []string{p.Real}, Skips: true,
		Do: func(ctx context.Context, env *tool.Env) (*tool.Result, error) { return doGrep(ctx, env, args) },
	}, nil
}

// searchable resolves what is to be searched: a folder or a regular file, and
// none that holds credentials. Of a pipe or a device the end never comes.
func searchable(env *tool.Env, path string) (tool.Place, error) {
	p, err := resolveFolder(env, path)
	switch {
	case err != nil:
		return p, err
	case p.Credential && !p.Revealed:
		return p, tool.Errorf(tool.CodeDenied, "%s holds credentials and is not searched.", tool.Name(p.Rel))
	case !p.IsDir() && !p.Info.Mode().IsRegular():
		return p, tool.Errorf(tool.CodeFailed, "%s is neither a folder nor a regular file; it cannot be searched.",
			tool.Name(p.Rel))
	}
	return p, nil
}

// doGrep searches, five seconds at most. ripgrep is used in trusted folders only,
// since a folder's own files may make it do more than search, and not where rules
// deny files. Unsaved documents of the editor are laid over what was found on disk.
func doGrep(ctx context.Context, env *tool.Env, args grepArgs) (*tool.Result, error) {
	env = tool.Together(env)
	p, err := searchable(env, args.DirPath)
	if err != nil {
		return nil, err
	}
	dir, err := open(p)
	if err != nil {
		return nil, err
	}
	defer dir.close()
	// Both engines share the time: where ripgrep gives up, the other one has what is left.
	limited, cancel := context.WithTimeout(ctx, searchTime)
	defer cancel()
	q, err := newQuery(limited, env, dir, p, args)
	if err != nil {
		return nil, err
	}
	var found []hits
	partial, searched := false, false
	// How many files a rule leaves out must not tell what is in them: ripgrep names
	// those alone that match.
	trusted, _ := env.Trusts(&tool.Plan{Path: p.Real})
	if program := lookup(env, "rg"); program != "" && trusted && env.Denied == nil {
		found, partial, err = q.ripgrep(limited, program)
		searched = err == nil
		if err != nil && !errors.Is(err, errEngine) {
			return nil, err
		}
	}
	if !searched {
		found, partial = q.search(limited)
	}
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	found = q.overlay(found)
	// One file or document may have as many as are taken of all.
	many := slices.ContainsFunc(found, func(h hits) bool { return h.count() >= maxHits })
	partial = partial || many || limited.Err() != nil
	return q.report(found, args, partial), nil
}

// newQuery makes a search of the arguments exact.
// whole is the expression with (?m), where ^ and $ mean the ends of a line. Patterns with
// \A or \z are not asked so, since these mean the ends of the whole text.
func newQuery(ctx context.Context, env *tool.Env, dir *opened, p tool.Place, args grepArgs) (*query, error) {
	re, err := compile(args.Pattern)
	if err != nil {
		return nil, err
	}
	q := &query{
		ctx: ctx, env: env, dir: dir, start: slashRel(dir, p), isFile: !p.IsDir(), re: re, include: args.Include,
		context: min(args.Context, maxContext), needs: requiredText(args.Pattern),
		denied: make(map[string]bool),
	}
	// What is asked for by name is searched although an ignore file hides it.
	q.hidden = newIgnores(dir, q.start)
	if !strings.Contains(args.Pattern, `\A`) && !strings.Contains(args.Pattern, `\z`) {
		q.whole, _ = regexp.Compile("(?m:" + args.Pattern + ")") // nil on error: then each line is asked
	}
	return q, nil
}

// wanted reports whether a file may be searched: by the filter, because it holds
// no credentials, and because no rule keeps the tool from it. It is called by
// one goroutine at a time.
func (q *query) wanted(rel string) bool {
	real := filepath.Join(q.dir.folder, filepath.FromSlash(rel))
	if !q.included(rel) || (tool.IsCredential(real) && !slices.Contains(q.env.Reveal, real)) {
		return false
	}
	if denied(q.env, real) {
		q.denied[rel] = true
		return false
	}
	return true
}

// included reports whether the filter lets a file through.
func (q *query) included(rel string) bool {
	if q.include == "" || q.isFile {
		return true
	}
	inside := rel
	if q.start != "." {
		inside = strings.TrimPrefix(rel, q.start+"/")
	}
	// A filter without a slash is about names, in whatever folder.
	if !strings.Contains(q.include, "/") {
		inside = path.Base(rel)
	}
	ok, err := doublestar.Match(strings.TrimPrefix(q.include, "./"), inside)
	return err == nil && ok
}

// secret reports whether a file that is one of the wanted ones must not be shown
// all the same: by another of its names it holds credentials, or a secret stands in
// its text.
func (q *query) secret(rel string, info fs.FileInfo, text string) bool {
	real := filepath.Join(q.dir.folder, filepath.FromSlash(rel))
	if secretIn(q.env, real, text) != "" {
		return true
	}
	p := tool.Place{Real: real}.ReadAs(q.env, info)
	return p.Credential && !slices.Contains(q.env.Reveal, real)
}

// overlay replaces what the disk says about documents that are not saved by
// what the person sees.
// A buffer is judged by the same rules as the file on disk: ignored, filtered, denied and
// secret ones are left out. TestGrepSeesUnsavedBuffers holds it.
func (q *query) overlay(found []hits) []hits {
	if q.env.Files == nil {
		return found
	}
	for _, f := range q.env.Files.Open() {
		if !f.Dirty || !tool.Within(q.dir.folder, f.Path) {
			continue
		}
		rel := filepath.ToSlash(q.dir.rel(f.Path))
		below := rel == q.start || q.start == "." || strings.HasPrefix(rel, q.start+"/")
		if !below || (!q.isFile && q.hidden.hides(rel, false)) || !q.wanted(rel) {
			continue
		}
		// What the disk has of the file goes in any case, also where the buffer has no match.
		found = slices.DeleteFunc(found, func(h hits) bool { return h.rel == rel })
		info, err := q.dir.root.Lstat(filepath.FromSlash(rel))
		if err != nil {
			info = nil // it is only in the editor yet
		}
		if f.Binary || q.secret(rel, info, f.Text) {
			continue
		}
		if lines := q.match(f.Text); len(lines) > 0 {
			found = append(found, hits{rel, lines})
		}
	}
	return found
}

// report writes the result. Both engines' hits look the same.
// Files are sorted by path. Of more hits than the limit only the number is told,
// and files that a rule hides are counted and not named.
func (q *query) report(found []hits, args grepArgs, partial bool) *tool.Result {
	slices.SortFunc(found, func(a, b hits) int { return cmp.Compare(a.rel, b.rel) })
	limit := args.Limit
	if limit == 0 {
		limit = defaultHits
	}
	total, shown := 0, 0
	var b strings.Builder
	for _, h := range found {
		total += h.count()
		// Counted to the end, so that the model knows how much it does not see.
		if shown >= limit {
			continue
		}
		fmt.Fprintf(&b, "---\nFile: %s\n", tool.Name(displayPath(q.env, q.dir, h.rel)))
		shown += h.write(&b, limit-shown)
	}
	where := tool.Name(path.Clean(displayPath(q.env, q.dir, q.start)))
	if total == 0 {
		text := fmt.Sprintf("No match for %s in %s.", tool.Name(args.Pattern), where)
		if partial {
			text = fmt.Sprintf("No match for %s in the part of %s that was searched in %v.", tool.Name(args.Pattern),
				where, searchTime/time.Second*time.Second)
		}
		if out := omissionNote(len(q.denied)); out != "" {
			text += "\n" + out
		}
		return &tool.Result{Content: text}
	}
	files := "files"
	if len(found) == 1 {
		files = "file"
	}
	head := fmt.Sprintf("%d matches for %s in %d %s of %s:\n", total, tool.Name(args.Pattern), len(found), files, where)
	b.WriteString("---\n")
	if shown < total {
		fmt.Fprintf(&b, "[%d more matches are left out: narrow the search or raise limit]\n", total-shown)
	}
	if partial {
		b.WriteString("[partial: the search was stopped after 5 seconds or 10,000 matches]\n")
	}
	b.WriteString(omissionNote(len(q.denied)))
	return &tool.Result{Taint: q.taint(found), Content: head + b.String(),
		Display: fmt.Sprintf("Found %s for %s", tool.Count(total, "match", "matches"), tool.Name(args.Pattern))}
}

// taint returns the worst taint of the files that matched: also how many do
// tells what is in them.
func (q *query) taint(found []hits) tool.Taint {
	worst := tool.Clean
	for _, h := range found {
		worst = worst.Max(q.env.TaintOf(filepath.Join(q.dir.folder, filepath.FromSlash(h.rel))))
	}
	return worst
}

// count returns how many lines matched.
func (h hits) count() int {
	n := 0
	for _, l := range h.lines {
		if l.hit {
			n++
		}
	}
	return n
}

// write writes at most limit matches with their context, and returns how many.
//
// "--" separates groups that do not touch, and only where context was asked for.
func (h hits) write(b *strings.Builder, limit int) int {
	shown, last := 0, 0
	for _, l := range h.lines {
		if l.hit && shown == limit {
			break
		}
		if last > 0 && l.number > last+1 && slices.ContainsFunc(h.lines, func(l line) bool { return !l.hit }) {
			b.WriteString("--\n")
		}
		mark := byte('-')
		if l.hit {
			mark = ':'
			shown++
		}
		fmt.Fprintf(b, "L%d%c %s\n", l.number, mark, shorten(l.text))
		last = l.number
	}
	return shown
}

// shorten returns a line as it is shown: without its end, cut where it is long,
// control characters escaped so that it stays one line.
func shorten(text string) string {
	text = strings.TrimSuffix(text, "\r")
	cut, all := tool.CutLine(text, longestMatch)
	if !all {
		return plain(cut) + "…"
	}
	return plain(cut)
}

// plain escapes what would make more than one line, or none, of a line.
// Tabs are kept, by way of a character of the private use area that stands for them
// meanwhile.
func plain(text string) string {
	return strings.ReplaceAll(tool.Escape(strings.ReplaceAll(text, "\t", "\uf8ff")), "\uf8ff", "\t")
}
