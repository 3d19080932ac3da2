package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentls/agentls/agents/agenttest"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/workspace"
)

// watch runs tests, and again those that a change concerns: of a file of tests its own, of
// an agent all of its project, since agents call each other. It ends with ctx, without an
// error. Only the first pass ends it for what is wrong with files: later they may be gone
// for a moment, while somebody edits.
func (p *testPass) watch(ctx context.Context) error {
	watched, err := p.find(ctx)
	if err != nil {
		return err
	}
	w, err := workspace.NewWatcher(workspace.WatchConfig{Dirs: watched.dirs, Files: watched.files, Now: p.config.Now})
	if err != nil {
		return err
	}
	defer w.Close()
	run := watched.tests
	for first := true; ; first = false {
		err := p.run(ctx, run)
		if ctx.Err() != nil {
			return nil
		}
		if failed, ok := errors.AsType[exit](err); err != nil && (!ok || failed.code != exitFailed) {
			if first {
				return err
			}
			fmt.Fprintln(p.std.err, fault.Message(err)) // files may be gone for the moment
		}
		fmt.Fprintf(p.std.err, "\nWatching %s; Ctrl-C ends.\n", tool.Count(len(watched.tests), "file", "files"))
		if run, err = p.await(ctx, w, &watched); len(run) == 0 {
			return err
		}
	}
}

// await waits until something changes that tests depend on, and returns the files of tests
// that it concerns; none when ctx has ended. It looks for tests anew, since some may have
// come or gone, and replaces *watched.
func (p *testPass) await(ctx context.Context, w *workspace.Watcher, watched **watchedTests) ([]string, error) {
	for {
		var changed []string
		select {
		case b, open := <-w.Batches():
			if !open {
				return nil, errors.New("files are not watched any more; start again")
			}
			changed = slices.Concat(b.Created, b.Changed, b.Removed)
		case <-ctx.Done():
			return nil, nil
		}
		for _, path := range changed {
			fmt.Fprintln(p.std.err, "changed:", messagePath(path))
		}
		now, err := p.find(ctx)
		if err != nil {
			fmt.Fprintln(p.std.err, fault.Message(err)) // they may come back
			continue
		}
		*watched = now
		if err := w.Set(now.dirs, now.files); err != nil {
			return nil, err
		}
		if run := now.testsFor(changed); len(run) > 0 {
			return run, nil
		}
	}
}

// watchedTests are files of tests, and what they depend on, as absolute paths.
type watchedTests struct {
	tests []string // that there are
	files []string // of tests, and where one may come beside an agent
	dirs  []string // of agents
}

// find looks for the tests that the person named, and for what they depend on. That there
// are no tests is an error, as it is without --watch.
func (p *testPass) find(ctx context.Context) (*watchedTests, error) {
	files, err := testFiles(ctx, p.paths)
	if err != nil {
		return nil, err
	}
	w, dirs := new(watchedTests), make(map[string]bool)
	for _, path := range files {
		abs, err := filepath.Abs(path)
		if err != nil {
			return nil, err
		}
		project, err := projectOf(path)
		if err != nil {
			return nil, err
		}
		w.tests = append(w.tests, abs)
		dirs[agenttest.AgentsOf(project)] = true
	}
	w.files, w.dirs = slices.Clone(w.tests), slices.Sorted(maps.Keys(dirs))
	for _, dir := range w.dirs {
		agents, err := filepath.Glob(filepath.Join(dir, "*.md"))
		if err != nil {
			return nil, err
		}
		// An agent without tests may get some while this watches.
		for _, agent := range agents {
			if beside := strings.TrimSuffix(agent, ".md") + agenttest.Suffix; !slices.Contains(w.files, beside) {
				w.files = append(w.files, beside)
			}
		}
	}
	return w, nil
}

// testsFor returns the files of tests that changes of files concern. A change of an
// agent, or of any other file in the folder of agents, concerns all tests of the project.
func (w *watchedTests) testsFor(changed []string) (files []string) {
	for _, path := range w.tests {
		project, _ := agenttest.Project(path)
		if slices.ContainsFunc(changed, func(c string) bool {
			return c == path || (!strings.HasSuffix(c, agenttest.Suffix) &&
				filepath.Dir(c) == agenttest.AgentsOf(project))
		}) {
			files = append(files, path)
		}
	}
	return files
}
