package builtin

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/agentls/agentls/agents/tool"
)

// maxGlobShown is how many paths glob shows.
const maxGlobShown = 1_000

// globArgs are the arguments of glob.
type globArgs struct {
	Pattern string `json:"pattern"`
	DirPath string `json:"dir_path"`
}

// glob returns the tool that finds files by their names.
func glob() tool.Tool {
	return define("glob", tool.Safe, `{
	"type": "object",
	"properties": {
		"pattern": {"type": "string", "minLength": 1, "maxLength": 1024, "description": "The glob, relative to dir_path: **/*.go, src/**/*.{ts,tsx}."},
		"dir_path": {"type": "string", "description": "The folder to search in. Default: the workspace folder."}
	},
	"required": ["pattern"],
	"additionalProperties": false
}`, folderAliases, planGlob)
}

// planGlob plans a search by names. It is safe; files that a rule denies are left out of what it
// finds, and counted.
// A pattern that does not compile is CodeArgs, one with .. is CodeOutside: the folder is
// checked by resolveFolder, and a pattern must not lead out of it afterwards.
func planGlob(_ context.Context, env *tool.Env, args globArgs) (*tool.Plan, error) {
	pattern, dirPath := args.Pattern, args.DirPath
	if filepath.IsAbs(pattern) {
		// An absolute pattern is one below the folder before its first wildcard.
		base, rest := doublestar.SplitPattern(filepath.ToSlash(pattern))
		pattern, dirPath = rest, base
	}
	pattern = strings.TrimPrefix(pattern, "./")
	if !tool.ValidGlob(pattern) {
		return nil, tool.Errorf(tool.CodeArgs, "/pattern: %q is no glob, or one of too many alternatives.", args.Pattern)
	}
	if slices.Contains(strings.Split(pattern, "/"), "..") {
		return nil, tool.Errorf(tool.CodeOutside, "A pattern cannot lead upwards with ..; give the folder as dir_path.")
	}
	p, err := resolveFolder(env, dirPath)
	if err != nil {
		return nil, err
	}
	if !p.IsDir() {
		return nil, tool.Errorf(tool.CodeArgs, "/dir_path: %s is no folder.", tool.Name(p.Rel))
	}
	return &tool.Plan{
		Risk: tool.Safe, Why: "lists files", Title: "glob " + tool.Name(args.Pattern), Path: p.Real,
		Reads: []string{p.Real}, Skips: true,
		Do: func(ctx context.Context, env *tool.Env) (*tool.Result, error) {
			return doGlob(ctx, env, pattern, dirPath)
		},
	}, nil
}

// globHit is a file that matches.
type globHit struct {
	rel string
	at  time.Time // it was changed
}

// sortHits puts what was changed within a day first, the newest before all; the rest by name.
//
// Of many matches only the first are shown, and what was worked on last is among them. TestGlobOrder holds it.
func sortHits(all []globHit, now time.Time) {
	day := now.Add(-24 * time.Hour)
	slices.SortFunc(all, func(a, b globHit) int {
		recentA, recentB := a.at.After(day), b.at.After(day)
		switch {
		case recentA && recentB && !a.at.Equal(b.at):
			return b.at.Compare(a.at)
		case recentA != recentB:
			if recentA {
				return -1
			}
			return 1
		}
		return strings.Compare(a.rel, b.rel)
	})
}

// doGlob walks the folder, five seconds at most, without what ignore files hide, and shows the
// newest files first. What it did not come to is said in the result.
func doGlob(ctx context.Context, env *tool.Env, pattern, dirPath string) (*tool.Result, error) {
	env = tool.Together(env)
	p, err := resolveFolder(env, dirPath)
	if err != nil {
		return nil, err
	}
	dir, err := open(p)
	if err != nil {
		return nil, err
	}
	defer dir.close()
	ctx, cancel := context.WithTimeout(ctx, searchTime)
	defer cancel()
	start := slashRel(dir, p)
	var all []globHit
	out := 0 // because of a rule
	w := &walker{ctx: ctx, dir: dir, hidden: newIgnores(dir, start)}
	w.visit = func(rel string) bool {
		inside := rel
		if start != "." {
			inside = strings.TrimPrefix(rel, start+"/")
		}
		// Patterns are compared with paths below the folder that was named, as they were written.
		if ok, err := doublestar.Match(pattern, inside); err == nil && ok {
			if denied(env, filepath.Join(dir.folder, filepath.FromSlash(rel))) {
				out++
				return true
			}
			if len(all) == maxHits {
				w.partial = true
				return false
			}
			all = append(all, globHit{rel, dir.modificationTime(rel)})
		}
		return true
	}
	w.walk(start)
	// The search's own time is no error: what was found until then is shown.
	if err := context.Cause(ctx); err != nil && ctx.Err() == context.Canceled {
		return nil, err
	}
	sortHits(all, env.Now())
	// Of a walk that was stopped nobody can say that nothing matches.
	if len(all) == 0 && !w.partial {
		text := fmt.Sprintf("No file matches %s in %s.", tool.Name(pattern), tool.Name(path.Clean(p.Rel)))
		if out > 0 {
			text += "\n" + omissionNote(out)
		}
		return &tool.Result{Content: text}, nil
	}
	var b strings.Builder
	taint := tool.Clean
	for _, f := range all[:min(len(all), maxGlobShown)] {
		taint = taint.Max(env.TaintOf(filepath.Join(dir.folder, filepath.FromSlash(f.rel)))) // a name is text too
		b.WriteString(tool.Name(displayPath(env, dir, f.rel)))
		b.WriteByte('\n')
	}
	if more := len(all) - maxGlobShown; more > 0 {
		fmt.Fprintf(&b, "[%d more are left out: narrow the pattern]\n", more)
	}
	if w.partial {
		b.WriteString("[partial: the search was stopped after 5 seconds or 10,000 results]\n")
	}
	b.WriteString(omissionNote(out))
	return &tool.Result{Taint: taint, Content: b.String(), Display: fmt.Sprintf("Found %s for %s",
		tool.Count(len(all), "file", "files"), tool.Name(pattern))}, nil
}
