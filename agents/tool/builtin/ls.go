package builtin

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/agentls/agentls/agents/tool"
)

// maxEntries is how many entries ls shows.
const maxEntries = 2_000

// lsArgs are the arguments of ls.
type lsArgs struct {
	DirPath string   `json:"dir_path"`
	Ignore  []string `json:"ignore"`
}

// list returns the tool that lists one folder.
func list() tool.Tool {
	return define("ls", tool.Safe, `{
	"type": "object",
	"properties": {
		"dir_path": {"type": "string", "description": "The folder, relative to the workspace folder or absolute inside it. Default: the workspace folder."},
		"ignore": {"type": "array", "maxItems": 100, "items": {"type": "string", "minLength": 1, "maxLength": 1024}, "description": "Globs over names to leave out."}
	},
	"additionalProperties": false
}`, folderAliases, planList)
}

// resolveFolder resolves the folder of a search; "" is the workspace folder.
// The result may be a file: callers that need a folder check IsDir. It is called when a
// call is planned and once more when it runs.
func resolveFolder(env *tool.Env, path string) (tool.Place, error) {
	if path == "" {
		path = "."
	}
	p, err := tool.Resolve(env, path)
	if err != nil {
		return p, err
	}
	if !p.Exists() {
		return p, tool.Errorf(tool.CodeNotFound, "%s does not exist.", tool.Name(path))
	}
	return p, nil
}

// planList plans a listing.
// A folder is resolved again when the call is done: it may lead elsewhere by then.
func planList(_ context.Context, env *tool.Env, args lsArgs) (*tool.Plan, error) {
	p, err := resolveFolder(env, args.DirPath)
	if err != nil {
		return nil, err
	}
	if !p.IsDir() {
		return nil, tool.Errorf(tool.CodeFailed, "%s is no folder; read it with read_file.", tool.Name(p.Rel))
	}
	for _, g := range args.Ignore {
		if !tool.ValidGlob(g) {
			return nil, tool.Errorf(tool.CodeArgs, "/ignore: %q is no glob, or one of too many alternatives.", g)
		}
	}
	return &tool.Plan{
		Risk: tool.Safe, Why: "lists a folder", Title: "ls " + tool.Name(p.Rel), Path: p.Real,
		Reads: []string{p.Real}, Skips: true,
		Do: func(_ context.Context, env *tool.Env) (*tool.Result, error) { return doList(env, args) },
	}, nil
}

// doList lists a folder, folders first. Names are shown escaped, and links with where they say that
// they lead.
// Files of which agents get no text are listed by name all the same.
func doList(env *tool.Env, args lsArgs) (*tool.Result, error) {
	p, err := resolveFolder(env, args.DirPath)
	if err != nil {
		return nil, err
	}
	entries, dir, err := entriesOf(p)
	if err != nil {
		return nil, tool.Errorf(tool.CodeFailed, "%s cannot be listed: %v.", tool.Name(p.Rel), err)
	}
	defer dir.close()
	nothing := tool.Name(p.Rel) + " is empty."
	if len(entries) > 0 {
		nothing = "Nothing in " + tool.Name(p.Rel) + " but what ignore leaves out."
	}
	// One folder is listed, so globs are compared with names.
	entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool {
		return slices.ContainsFunc(args.Ignore, func(g string) bool {
			ok, err := doublestar.Match(g, e.Name())
			return ok && err == nil
		})
	})
	slices.SortFunc(entries, func(a, b fs.DirEntry) int {
		if a.IsDir() != b.IsDir() {
			if a.IsDir() {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.Name(), b.Name())
	})
	if len(entries) == 0 {
		return &tool.Result{Content: nothing}, nil
	}
	var b strings.Builder
	for _, e := range entries[:min(len(entries), maxEntries)] {
		b.WriteString(tool.Name(e.Name()))
		switch {
		case e.IsDir():
			b.WriteByte('/')
		case e.Type()&fs.ModeSymlink != 0:
			// The target is only shown: nothing follows it.
			if target, err := dir.root.Readlink(e.Name()); err == nil {
				b.WriteString(" -> " + tool.Name(target))
			}
		case !e.Type().IsRegular():
			b.WriteString(" (not a regular file)")
		}
		b.WriteByte('\n')
	}
	if more := len(entries) - maxEntries; more > 0 {
		fmt.Fprintf(&b, "[%d more are left out: narrow it with ignore, or search with glob]\n", more)
	}
	return &tool.Result{Content: b.String(), Display: fmt.Sprintf("Listed %s of %s",
		tool.Count(len(entries), "entry", "entries"), tool.Name(p.Rel))}, nil
}

// entriesOf returns what is in a folder, and its handle, which the caller closes.
// The folder is opened from the workspace's root down, a step at a time, so that a link
// put in its way after the path was resolved is not followed.
func entriesOf(p tool.Place) ([]fs.DirEntry, *opened, error) {
	root, err := open(p)
	if err != nil {
		return nil, nil, err
	}
	defer root.close()
	dir, err := root.sub(root.rel(p.Real))
	if err != nil {
		return nil, nil, err
	}
	// That there are more than maxWalked is not told: maxEntries at most are shown anyway.
	entries, _, err := dir.entries(maxWalked)
	if err != nil {
		dir.close()
		return nil, nil, err
	}
	return entries, dir, nil
}
