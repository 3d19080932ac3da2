package handlers

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sourcegraph/conc/pool"
	"go.lsp.dev/protocol"

	"github.com/agentls/agentls/agents/agenttest"
	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/handlers/language"
	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/internal/wire"
	"github.com/agentls/agentls/server"
	"github.com/agentls/agentls/workspace"
)

// testJob is one test that is to run.
type testJob struct {
	file *language.TestFile
	// The texts of the project's agents, by the names of their files; shared by its jobs
	// and only read.
	agents map[string]string
	index  int // in the file
}

// jobs returns the tests that a request means. The error says why none may run.
// fault.Invalid is a file of tests that has problems, fault.NotFound that there are no
// such tests, and fault.Denied a folder that is not trusted.
// A file with problems keeps all tests from running, unless the tests of one agent were
// asked for and it has none.
func (h *Handlers) jobs(ctx context.Context, a *language.Query, p *wire.TestRunParams) (jobs []testJob, err error) {
	files, agent, err := a.TestsOf(ctx, wire.MethodTestRun, p.URI)
	if err != nil {
		return nil, err
	}
	agents := make(map[string]map[string]string)
	for _, f := range files {
		var of []int
		for i, t := range f.Tests() {
			if (agent == "" || t.Agent == agent) && (p.Name == "" || t.Name == p.Name) {
				of = append(of, i)
			}
		}
		problems := f.Problems(nil)
		if len(problems) > 0 && (len(of) > 0 || agent == "") {
			first := problems[0]
			return nil, fault.New(fault.Invalid, "handlers.tests", "%s:%d: %s The tests did not run.",
				filepath.Base(f.Path), first.Range.Start.Line+1, first.Message).Because(fault.Refused)
		}
		if len(of) == 0 {
			continue
		}
		if agents[f.Folder] == nil {
			if agents[f.Folder], err = h.agentTexts(a, f); err != nil {
				return nil, err
			}
		}
		for _, i := range of {
			jobs = append(jobs, testJob{f, agents[f.Folder], i})
		}
	}
	if len(jobs) == 0 {
		return nil, fault.New(fault.NotFound, "handlers.tests",
			"there are no such tests; their files end in %s, and agents/test/list lists them", agenttest.Suffix)
	}
	return jobs, nil
}

// agentTexts returns the agents of the project that a file of tests is about, by the names
// of their files, as they are in the editor, else on the disk. A test says what is called
// and what the person answers, so the project must be trusted.
// The errors are fault.NotFound (no folder of agents) and fault.Denied with the reason
// Untrusted.
func (h *Handlers) agentTexts(a *language.Query, f *language.TestFile) (map[string]string, error) {
	const op = "handlers.tests"
	if f.Folder == "" {
		return nil, fault.New(fault.NotFound, op,
			"there is no folder .gemini/agents above %s, so there are no agents to test", filepath.Base(f.Path))
	}
	if !h.daemon.Trusted(f.Folder) {
		return nil, fault.New(fault.Denied, op, "%s is not trusted, so its tests do not run: "+
			"they call tools and answer for you; look at them, then trust the folder", f.Folder).
			Because(fault.Untrusted, "folder", tool.URI(f.Folder))
	}
	dir := agenttest.AgentsOf(f.Folder)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	texts := make(map[string]string)
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if !strings.HasSuffix(e.Name(), ".md") || e.IsDir() {
			continue
		}
		if d, open := a.Snapshot.DocumentAt(path); open && !d.Lost {
			texts[e.Name()] = d.Text
		} else if text, ok := language.DiskText(path); ok {
			texts[e.Name()] = text
		}
	}
	return texts, nil
}

// runTests serves agents/test/run.
// As many tests run at once as there are processors. The answer comes when all have ended;
// a request that is cancelled has none.
func (h *Handlers) runTests(ctx context.Context, s *workspace.Snapshot,
	p *wire.TestRunParams) (*wire.TestRunResult, error) {
	if h.daemon.RunTest == nil {
		return nil, fault.New(fault.Unavailable, "handlers.tests", "this daemon runs no tests; use agentls test")
	}
	a := h.language.QueryFiles(s)
	jobs, err := h.jobs(ctx, a, p)
	if err != nil {
		return nil, err
	}
	run, cancel := context.WithCancel(ctx)
	defer cancel()
	shown := h.beginTests(run, cancel, p.WorkDoneToken)
	r := &testRun{
		h: h, a: a, params: p, shown: shown, began: h.Now(),
		results: make([]wire.TestResult, len(jobs)), wrong: make([][]definition.Problem, len(jobs)),
	}
	work := pool.New().WithMaxGoroutines(runtime.GOMAXPROCS(0))
	for i, job := range jobs {
		work.Go(func() { r.run(run, i, job) })
	}
	work.Wait()
	result, err := r.finish(run, jobs)
	line := "cancelled"
	if err == nil {
		line = testTotals(result)
	}
	shown.end(h, line)
	return result, err
}

// testTotals is what came of tests, in one line.
func testTotals(r *wire.TestRunResult) string {
	return fmt.Sprintf("%d passed, %d failed", r.Passed, r.Failed)
}

// testRun is one request that runs tests.
// results and wrong have one place for each job, which only its own goroutine writes until
// all have ended; mu keeps what is told in the order of done.
type testRun struct {
	h      *Handlers
	a      *language.Query
	params *wire.TestRunParams
	shown  *testProgress
	began  time.Time

	mu sync.Mutex
	// How many have ended; guarded by mu.
	done    int
	results []wire.TestResult
	wrong   [][]definition.Problem // of each, as findings
}

// run runs one test and tells what came of it.
// A test that the end of ctx cut short has no result.
// Failures are masked before anybody is told, and become findings in finish.
func (r *testRun) run(ctx context.Context, i int, job testJob) {
	if ctx.Err() != nil {
		return
	}
	c, test := r.a.Columns(job.file.Text), job.file.Tests()[job.index]
	began := r.h.Now()
	failures := r.h.daemon.RunTest(ctx, job.agents, &job.file.File.Tests[job.index])
	if ctx.Err() != nil {
		return // what it came to says nothing
	}
	result := wire.TestResult{
		TestCase: language.NewTestCase(c, test), URI: string(job.file.URI), Passed: len(failures) == 0,
		Failures:   []wire.TestFailure{},
		DurationMs: r.h.Now().Sub(began).Milliseconds(),
	}
	for _, f := range failures {
		at := job.file.At(job.index, f.Path)
		text := string(r.h.daemon.MaskText([]byte(f.Text))) // it quotes what tools gave
		result.Failures = append(result.Failures, wire.TestFailure{Message: text, Range: c.Encode(at)})
		r.wrong[i] = append(r.wrong[i], definition.Problem{
			Range: at, Severity: definition.Error, Code: agenttest.CodeFailed, Message: text,
		})
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.results[i] = result
	r.done++
	if !r.h.plain {
		r.h.notify(wire.MethodTestResult, &wire.TestResultParams{
			Run: r.params.Run, Done: r.done, Total: len(r.results), Result: result,
		})
	}
	r.shown.report(test.Name, r.done, len(r.results))
}

// finish adds the results up, and shows what failed as findings.
//
// Tests that were cancelled leave the findings as they were, and are fault.Canceled.
func (r *testRun) finish(ctx context.Context, jobs []testJob) (*wire.TestRunResult, error) {
	if ctx.Err() != nil {
		return nil, fault.New(fault.Canceled, "handlers.tests", "the tests were cancelled")
	}
	result := &wire.TestRunResult{Results: r.results, DurationMs: r.h.Now().Sub(r.began).Milliseconds()}
	for i, job := range jobs {
		if r.results[i].Passed {
			result.Passed++
		} else {
			result.Failed++
		}
		r.h.language.NoteTest(job.file, r.results[i].Name, r.wrong[i])
	}
	r.h.language.Refresh()
	return result, nil
}

// testProgress shows how far tests are; one that shows nothing takes everything as well.
type testProgress struct {
	on *server.Progress
	// Of the token, in Handlers.testing.
	key string
}

// beginTests begins to show tests: under the token that the request brought, else under
// one of ours where the client knows only LSP. The person may cancel them there.
// Where nothing is shown, the methods of the result do nothing.
func (h *Handlers) beginTests(ctx context.Context, cancel context.CancelFunc, raw []byte) *testProgress {
	token := tokenOf(raw)
	if token == nil && (!h.plain || !h.edits.progress) {
		return &testProgress{}
	}
	on, err := h.Peer.BeginProgress(ctx, server.ProgressStart{Token: token, Title: "Agent tests", Cancellable: true})
	if err != nil {
		h.Log.Warn("the progress of tests is not shown", "err", err)
		return &testProgress{}
	}
	p := &testProgress{on, tokenKey(on.Token())}
	h.mu.Lock()
	h.testing[p.key] = cancel
	h.mu.Unlock()
	return p
}

// report shows that a test has ended; total is not 0.
func (p *testProgress) report(name string, done, total int) {
	if p.on != nil {
		p.on.Report(fmt.Sprintf("%d/%d %s", done, total, tool.Escape(name)), 100*done/total)
	}
}

// end shows what came of all tests. It is called once.
func (p *testProgress) end(h *Handlers, line string) {
	if p.on != nil {
		p.on.End(line)
		h.mu.Lock()
		delete(h.testing, p.key)
		h.mu.Unlock()
	}
}

// commandRunTests takes [uri?, name?].
func (h *Handlers) commandRunTests(ctx context.Context, s *workspace.Snapshot,
	p *protocol.ExecuteCommandParams) (any, error) {
	params := new(wire.TestRunParams)
	var err error
	if params.URI, err = textArgument(p, 0); err == nil {
		params.Name, err = textArgument(p, 1)
	}
	if err != nil {
		return nil, invalidArguments(err)
	}
	if p.WorkDoneToken != nil {
		params.WorkDoneToken, _ = protocol.Marshal(p.WorkDoneToken) // a token came as JSON
	}
	result, err := h.runTests(ctx, s, params)
	if err != nil {
		return nil, h.showError(err)
	}
	if h.plain {
		h.showTests(result)
	}
	return result, nil
}

// showTests tells the person what came of tests, and why the first failed.
func (h *Handlers) showTests(r *wire.TestRunResult) {
	level, said := infoMessage, "Agent tests: "+testTotals(r)
	if i := slices.IndexFunc(r.Results, func(one wire.TestResult) bool { return !one.Passed }); i >= 0 {
		level = errorMessage
		said += fmt.Sprintf(". %s: %s", r.Results[i].Name, tool.Clip(r.Results[i].Failures[0].Message, summaryWidth))
	}
	h.tell(level, tool.Escape(said))
}
