package language

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"go.lsp.dev/uri"

	"github.com/agentls/agentls/agents/agenttest"
	"github.com/agentls/agentls/internal/wire"
	"github.com/agentls/agentls/server"
	"github.com/agentls/agentls/workspace"
)

// listTests serves agents/test/list.
// A file that has something wrong is listed with what that is, unless the tests of one agent are
// asked for.
func (h *Handlers) listTests(ctx context.Context, s *workspace.Snapshot,
	p *wire.TestListParams) (*wire.TestListResult, error) {
	a := h.QueryFiles(s)
	files, agent, err := a.TestsOf(ctx, wire.MethodTestList, p.URI)
	if err != nil {
		return nil, err
	}
	result := &wire.TestListResult{Files: []wire.TestFile{}}
	for _, f := range files {
		one := wire.TestFile{URI: string(f.URI), Tests: []wire.TestCase{}}
		// The agents are not waited for, so no test is found to name one that is missing.
		if problems := f.Problems(nil); len(problems) > 0 {
			one.Problem = fmt.Sprintf("line %d: %s", problems[0].Range.Start.Line+1, problems[0].Message)
		}
		c := a.Columns(f.Text)
		for _, t := range f.Tests() {
			if agent == "" || t.Agent == agent {
				one.Tests = append(one.Tests, NewTestCase(c, t))
			}
		}
		if len(one.Tests) > 0 || (agent == "" && one.Problem != "") {
			result.Files = append(result.Files, one)
		}
	}
	return result, nil
}

// NewTestCase is a test in the client's words.
func NewTestCase(c Columns, t agenttest.Test) wire.TestCase {
	return wire.TestCase{Name: t.Name, Agent: t.Agent, Range: c.Encode(t.Range)}
}

// TestsOf returns the files of tests that a URI means: itself, those in the folder of an
// agent, whose name is agent then, or with "" all in the workspace.
// The person's own agents have no tests, which is no error. Any other URI is bad params of method.
func (a *Query) TestsOf(ctx context.Context, method, name string) (files []*TestFile, agent string, err error) {
	if name == "" {
		files, err := a.allTests(ctx)
		return files, "", err
	}
	parsed, err := uri.Parse(name)
	if err != nil {
		return nil, "", server.BadParams(method, "uri", "is %q, which is no URI", name)
	}
	if f, ok := a.testFile(parsed); ok {
		return []*TestFile{f}, "", nil
	}
	f, ok := a.file(parsed)
	if !ok {
		return nil, "", server.BadParams(method, "uri",
			"is %q, which is neither a file of tests (*%s) nor an agent's file that can be read",
			name, agenttest.Suffix)
	}
	if f.Folder == "" || f.Definition.Name == "" {
		return nil, "", nil // the person's own agents have no tests
	}
	return a.testFiles(workspace.CanonicalPath(f.Folder)), f.Definition.Name, nil
}

// allTests returns all files of tests in the workspace folders, and those that are open.
// Unlike testFiles it looks for them in whole folders, each file once by its canonical
// path. The error is ctx's.
func (a *Query) allTests(ctx context.Context) (files []*TestFile, err error) {
	seen := make(map[string]bool)
	add := func(f *TestFile, ok bool) {
		if ok && !seen[f.Path] {
			seen[f.Path] = true
			files = append(files, f)
		}
	}
	for _, folder := range a.folders() {
		paths, err := agenttest.Find(ctx, folder)
		if err != nil {
			return nil, err
		}
		for _, path := range paths {
			add(a.testFile(uri.URI(a.URI(path))))
		}
	}
	for _, f := range a.testFiles(a.folders()...) {
		add(f, true)
	}
	slices.SortFunc(files, func(x, y *TestFile) int { return cmp.Compare(x.URI, y.URI) })
	return files, nil
}
