package run

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agentls/agentls/agents/tool"
)

const (
	baselineIn     = time.Second     // for what was wrong before an edit
	diagnosedIn    = 4 * time.Second // for what is wrong after it: servers have to look first
	maxDiagnosed   = 20              // new diagnostics of one call that are told
	maxDiagnosedIn = 5               // files of one call that are asked about
)

// diagnosed is what a run knows of the errors and warnings of files that it
// writes: it is told each new one once. The zero
// value knows nothing.
//
// Safe for concurrent use. It knows nothing of a file that the run has not edited.
type diagnosed struct {
	mu    sync.Mutex
	known map[string]map[tool.Found]int // by file, as often as each is there; guarded by mu
	gone  bool                          // the editor does not answer in time, and is not asked any more; guarded by mu
}

// before learns what is wrong with a file before the run's first edit of it. An
// editor that does not answer costs a second once.
func (d *diagnosed) before(ctx context.Context, servers tool.Languages, path string) {
	d.mu.Lock()
	_, asked := d.known[path]
	skip := asked || d.gone || servers == nil
	d.mu.Unlock()
	if !skip {
		d.ask(ctx, servers, path, false, baselineIn)
	}
}

// after returns the errors and warnings of a file that are new since the run knew
// them last.
func (d *diagnosed) after(ctx context.Context, servers tool.Languages, path string) []tool.Found {
	d.mu.Lock()
	known, asked := d.known[path]
	skip := !asked || d.gone
	d.mu.Unlock()
	if skip {
		return nil
	}
	// A diagnostic that was there n times is new from the n+1st on.
	left := make(map[tool.Found]int, len(known))
	maps.Copy(left, known)
	return slices.DeleteFunc(d.ask(ctx, servers, path, true, diagnosedIn), func(f tool.Found) bool {
		left[withoutLine(f)]--
		return left[withoutLine(f)] >= 0
	})
}

// ask asks for the errors and warnings of one file, and remembers them: also those that
// come too late for one edit are told with the next.
func (d *diagnosed) ask(ctx context.Context, servers tool.Languages, path string, fresh bool,
	within time.Duration) []tool.Found {
	asking, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	all, err := servers.Query(asking, tool.LanguageQuery{Kind: tool.Diagnostics, Path: path, Fresh: fresh})
	d.mu.Lock()
	defer d.mu.Unlock()
	// An editor that fails or is late is not asked again in this run, unless the call itself
	// was cancelled.
	if err != nil {
		d.gone = d.gone || ctx.Err() == nil
		return nil
	}
	all = slices.DeleteFunc(all, func(f tool.Found) bool { return f.Kind != "error" && f.Kind != "warning" })
	if d.known == nil {
		d.known = make(map[string]map[tool.Found]int)
	}
	d.known[path] = make(map[tool.Found]int)
	for _, f := range all {
		d.known[path][withoutLine(f)]++
	}
	return all
}

// withoutLine is a diagnostic wherever it stands: an edit moves those below it.
func withoutLine(f tool.Found) tool.Found {
	f.Line = 0
	return f
}

// tellDiagnostics adds to the result of a call which errors and warnings its edits
// brought. What the editor says is somebody else's text about the file.
func (b *batch) tellDiagnostics(ctx context.Context, env *tool.Env, t *task, result *tool.Result) {
	if env.Languages == nil {
		return
	}
	b.mu.Lock()
	uris := slices.Compact(slices.Sorted(slices.Values(t.told)))
	b.mu.Unlock()
	uris = uris[:min(len(uris), maxDiagnosedIn)]
	found := make([][]tool.Found, len(uris)) // side by side: an editor waits for servers that may say nothing
	var all sync.WaitGroup
	for i, uri := range uris {
		all.Go(func() { found[i] = b.diagnosed.after(ctx, env.Languages, tool.PathOf(uri)) })
	}
	all.Wait()
	var text strings.Builder
	told := 0
	for i, uri := range uris {
		path := tool.PathOf(uri)
		for _, f := range found[i] {
			if told++; told > maxDiagnosed {
				continue
			}
			message, _ := tool.CutLine(tool.Escape(strings.Join(strings.Fields(f.Text), " ")), 500)
			name := tool.Name(keeping{b: b, t: t}.relative(path))
			fmt.Fprintf(&text, "\n%s:%d %s: %s", name, f.Line, f.Kind, cmp.Or(message, "(no message)"))
			result.Taint = result.Taint.Max(env.TaintOf(path))
		}
	}
	if told == 0 {
		return
	}
	if told > maxDiagnosed {
		fmt.Fprintf(&text, "\n[%d more: ask diagnostics]", told-maxDiagnosed)
	}
	result.Content = strings.TrimRight(result.Content, "\n") +
		"\n\nNew diagnostics of the editor's language servers after this edit:" + text.String()
}
