package main

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sourcegraph/conc/pool"
	"github.com/spf13/cobra"

	"github.com/agentls/agentls/agents/agenttest"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/agents/trace/export"
	"github.com/agentls/agentls/internal/daemon"
	"github.com/agentls/agentls/internal/testrun"
)

// testOptions are the flags of test.
type testOptions struct {
	// junit and output are files, record is a session, and only a part of the names of
	// tests; "" is none.
	junit, record, output, only string
	parallel                    int
	trust, watch, judge         bool
}

// testCommand runs tests of agents from files *.agent-test.yaml, without a model, each in
// a workspace and a daemon of its own. It prints a table to standard output, and exits
// with 1 where a test fails or a folder is not trusted. It asks nothing. With --watch it
// goes on until Ctrl-C, which is exit code 0 then. With --record it writes a test of a
// session instead, for which it asks a daemon of this folder.
func testCommand(std streams) *cobra.Command {
	var o testOptions
	c := &cobra.Command{
		Use: "test [PATHS]", Short: "Run tests of agents (*.agent-test.yaml), without a model",
		Long: `Runs the tests in files *.agent-test.yaml: those of PATHS, or all in this folder. Each
test has a workspace of its own with the agents of the project, and a model that
answers what the test says; no key is needed, and nothing is sent. Tools run as the
test has it, commands in the sandbox only, so the folder must be trusted (agentls
trust, or --trust for this once). It exits with 1 when a test fails.

With --record SESSION it writes a test of that session instead, to standard output
or to --output FILE.`,
		Example: `  agentls test
  agentls test --watch
  agentls test .gemini/agents/reviewer.agent-test.yaml --junit report.xml
  agentls test --record latest --output .gemini/agents/reviewer.agent-test.yaml`,
		RunE: func(c *cobra.Command, args []string) error {
			if o.record != "" && o.watch {
				return usage{errors.New("--record and --watch exclude each other; leave one out")}
			}
			if o.record != "" {
				return recordTest(c.Context(), std, &o)
			}
			return runTests(c.Context(), std, &o, args)
		},
	}
	f := c.Flags()
	f.StringVar(&o.junit, "junit", "", "also write the results to this `file`, as JUnit has them")
	f.StringVar(&o.only, "run", "", "only tests whose name contains this `text`")
	f.StringVar(&o.record, "record", "", "write a test of this `session`")
	f.StringVarP(&o.output, "output", "o", "", "with --record: the `file` to write")
	f.BoolVar(&o.trust, "trust", false, "run the tests of folders that are not trusted, this once")
	f.BoolVar(&o.judge, "judge", false, "also ask agents that judge (judge: of a test), with your model and key")
	f.BoolVar(&o.watch, "watch", false, "run tests again when they or their agents change, until Ctrl-C")
	f.IntVar(&o.parallel, "parallel", 2*runtime.GOMAXPROCS(0), "how many tests run at once")
	return c
}

// testResult is what became of one test. One goroutine fills it in; it is read when all
// have ended.
type testResult struct {
	file string
	name string
	line int
	// wrong is what failed, a text each; none is a test that passed.
	wrong []string
	// lines has for each of wrong the line of what the test expects, from 1; none where
	// the file cannot be read.
	lines []int
	took  time.Duration

	unjudged bool // it names an agent that judges, which was not asked
}

// runTests runs the tests of files and prints a table; with --watch again and again.
func runTests(ctx context.Context, std streams, o *testOptions, paths []string) error {
	config, err := base(std)
	if err != nil {
		return err
	}
	config.Trust = config.Trust || o.trust
	p := &testPass{std, o, config, paths}
	if o.watch {
		return p.watch(ctx)
	}
	files, err := testFiles(ctx, paths)
	if err != nil {
		return err
	}
	return p.run(ctx, files)
}

// testPass runs tests, once or with watch several times.
type testPass struct {
	std    streams
	o      *testOptions
	config daemon.Config
	// paths are the files and folders that the person named; none is the current folder.
	paths []string
}

// run runs the tests of files, --parallel of them at once, and tells what came of them.
// The error is an exit where one failed; nothing is printed where ctx ended first.
func (p *testPass) run(ctx context.Context, files []string) error {
	began := time.Now()
	results, tests, err := p.read(ctx, files)
	if err != nil {
		return err
	}
	work := pool.New().WithMaxGoroutines(max(p.o.parallel, 1))
	for _, test := range tests {
		work.Go(test)
	}
	work.Wait()
	// A test that was cut off has not failed.
	if ctx.Err() != nil {
		return exit{exitInterrupted}
	}
	if err := printTests(p.std, results, time.Since(began)); err != nil {
		return err
	}
	if p.o.junit != "" {
		if err := writeJUnit(p.o.junit, results); err != nil {
			return err
		}
	}
	if slices.ContainsFunc(results, func(r *testResult) bool { return len(r.wrong) > 0 }) {
		return exit{exitFailed}
	}
	return nil
}

// read returns a result for each test of files, and what fills them in, in the same order.
// A file that cannot be read is a result that failed. A project that is not trusted is an
// error: none of the tests runs then. All files are read first, so that such an error
// comes before any test has run.
func (p *testPass) read(ctx context.Context, files []string) (results []*testResult, tests []func(), err error) {
	run := testrun.Run
	if p.o.judge {
		run = testrun.RunAndJudge
	}
	for _, path := range files {
		shown := messagePath(path)
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, nil, err
		}
		suite, err := agenttest.Parse(shown, text)
		if err != nil {
			r := &testResult{file: shown, name: "cannot be read", line: 1, wrong: []string{err.Error()}}
			if at, ok := errors.AsType[*agenttest.Error](err); ok {
				r.line, r.wrong[0] = at.Line, at.Message
			}
			results = append(results, r)
			continue
		}
		project, err := projectOf(path)
		if err != nil {
			return nil, nil, err
		}
		if err := checkTestTrust(p.config, project); err != nil {
			return nil, nil, err
		}
		texts, err := testrun.Agents(agenttest.AgentsOf(project))
		if err != nil {
			return nil, nil, err
		}
		// The document is read anew for its places, and only where a test fails.
		author := sync.OnceValue(func() *agenttest.Document { return agenttest.Open(shown, string(text)) })
		place := func(test int, f agenttest.Failure) int { return int(author().At(test, f.Path).Start.Line) + 1 }
		for i := range suite.Tests {
			one := &suite.Tests[i]
			if !strings.Contains(one.Name, p.o.only) {
				continue
			}
			// The result is there before its test has run, so that the table has the order
			// of the files.
			r := &testResult{file: shown, name: one.Name, line: one.Line,
				unjudged: one.Expect.Judge != nil && !p.o.judge}
			results = append(results, r)
			tests = append(tests, func() {
				began := time.Now()
				for _, failure := range run(ctx, p.config, texts, one) {
					r.wrong, r.lines = append(r.wrong, failure.Text), append(r.lines, place(i, failure))
				}
				r.took = time.Since(began)
			})
		}
	}
	if len(results) == 0 {
		return nil, nil, fmt.Errorf("no test has %q in its name; run agentls test without --run to see them", p.o.only)
	}
	return results, tests, nil
}

// testFiles returns the files of tests that paths name: files, and folders with all below
// them. That there are none is an error, since a check that checked nothing should not
// pass.
func testFiles(ctx context.Context, paths []string) (files []string, err error) {
	if len(paths) == 0 {
		paths = []string{"."}
	}
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return nil, usage{fmt.Errorf("there is no file or folder %s; name files of tests or their folders",
				shellQuote(path))}
		}
		if !info.IsDir() {
			if !strings.HasSuffix(path, agenttest.Suffix) {
				return nil, usage{fmt.Errorf("%s is no file of tests; their names end in %s",
					shellQuote(path), agenttest.Suffix)}
			}
			files = append(files, path)
			continue
		}
		found, err := agenttest.Find(ctx, path)
		if err != nil {
			return nil, exit{exitInterrupted} // somebody cancelled it
		}
		files = append(files, found...)
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("no tests found: their files end in %s; write one with agentls test --record SESSION, or agentls create NAME --with-test", agenttest.Suffix)
	}
	return files, nil
}

// projectOf returns the folder whose agents a file of tests is about: the nearest above it
// that has .gemini/agents.
func projectOf(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	project, ok := agenttest.Project(abs)
	if !ok {
		return "", fmt.Errorf("%s: there is no folder .gemini/agents above it, so there are no agents to test; move it into a project", messagePath(path))
	}
	return project, nil
}

// checkTestTrust returns an error where a project's tests must not run: a test says what
// the model calls and what the person answers, so it decides what runs.
func checkTestTrust(config daemon.Config, root string) error {
	trusted, err := config.Trusts(root)
	switch shown := messagePath(root); {
	case err != nil:
		return fmt.Errorf("it cannot be told whether %s is trusted, so its tests do not run: %w", shown, err)
	case !trusted:
		return fmt.Errorf("%s is not trusted, so its tests do not run: they call tools and answer for you; look at them, then run agentls trust, or agentls test --trust for this once", shown)
	}
	return nil
}

// printTests prints a table by files, failures with place and reason, and the totals.
// Failures are printed as compilers do, so that editors make links of them.
func printTests(std streams, results []*testResult, took time.Duration) error {
	var b strings.Builder
	passed, unjudged, file, wide := 0, 0, "", 0
	for _, r := range results {
		if r.unjudged {
			unjudged++
		}
		wide = max(wide, columnsOf(tool.Escape(r.name)))
	}
	// Mark, blanks and time take 14 columns.
	wide = min(wide, columnsFor(std.out)-14)
	for _, r := range results {
		if r.file != file {
			file = r.file
			fmt.Fprintln(&b, tool.Escape(file))
		}
		mark := "✓"
		if len(r.wrong) > 0 {
			mark = "✗"
		} else {
			passed++
		}
		name := fit(tool.Escape(r.name), wide)
		fmt.Fprintf(&b, "  %s %s%s  %s\n", mark, name, strings.Repeat(" ", max(wide-columnsOf(name), 0)),
			export.ShortTime(r.took))
		for i, line := range r.wrong {
			// A failure is shown at the line of its expectation where that is known, else
			// at the test.
			at := r.line
			if i < len(r.lines) {
				at = max(at, r.lines[i])
			}
			fmt.Fprintf(&b, "      %s:%d: %s\n", tool.Escape(r.file), at, tool.Escape(line))
		}
	}
	fmt.Fprintf(&b, "\n%d passed, %d failed, %s\n", passed, len(results)-passed, export.ShortTime(took))
	if unjudged > 0 {
		fmt.Fprintf(&b, "%s not judged; --judge asks the agents that judge, with your model\n",
			tool.Count(unjudged, "test was", "tests were"))
	}
	_, err := std.out.Write([]byte(b.String()))
	return err
}

// The elements of a JUnit report.
type (
	junitSuites struct {
		XMLName xml.Name     `xml:"testsuites"`
		Suites  []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Class   string        `xml:"classname,attr"`
		Name    string        `xml:"name,attr"`
		File    string        `xml:"file,attr"`
		Line    int           `xml:"line,attr"`
		Seconds string        `xml:"time,attr"`
		Failure *junitFailure `xml:"failure,omitempty"`
	}
	junitFailure struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// writeJUnit writes a report as JUnit has them, a suite for each file. results are in the
// order of files. A file that is there is replaced.
func writeJUnit(path string, results []*testResult) error {
	var all junitSuites
	for _, r := range results {
		if n := len(all.Suites); n == 0 || all.Suites[n-1].Name != r.file {
			all.Suites = append(all.Suites, junitSuite{Name: r.file})
		}
		s := &all.Suites[len(all.Suites)-1]
		c := junitCase{Class: r.file, Name: r.name, File: r.file, Line: r.line,
			Seconds: fmt.Sprintf("%.3f", r.took.Seconds())}
		if s.Tests++; len(r.wrong) > 0 {
			s.Failures++
			c.Failure = &junitFailure{r.wrong[0], strings.Join(r.wrong, "\n")}
		}
		s.Cases = append(s.Cases, c)
	}
	data, err := xml.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append([]byte(xml.Header), append(data, '\n')...), 0o644)
}

// recordTest writes a test of a session: what the person asked, what the model answered,
// and what came of it. It never writes over a file.
func recordTest(ctx context.Context, std streams, o *testOptions) error {
	return with(ctx, std, func(ctx context.Context, conn *connection) error {
		id, err := conn.sessionNamed(ctx, o.record)
		if err != nil {
			return err
		}
		events, err := conn.log(ctx, id)
		if err != nil {
			return err
		}
		suite := agenttest.Record(events)
		if len(suite.Tests) == 0 {
			return errors.New("no run of this session has ended, so there is nothing to record; see `agentls sessions`")
		}
		text, err := agenttest.Marshal(suite)
		if err != nil {
			return err
		}
		if o.output == "" {
			_, err = std.out.Write(text)
			return err
		}
		// Under another name agentls test would not find it.
		if !strings.HasSuffix(o.output, agenttest.Suffix) {
			return usage{fmt.Errorf("the name of a file of tests ends in %s, not as in %s", agenttest.Suffix,
				shellQuote(o.output))}
		}
		f, err := os.OpenFile(o.output, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if err != nil {
			return err
		}
		_, err = f.Write(text)
		return errors.Join(err, f.Close())
	})
}

// messagePath is a path as messages show it: relative to the current folder where it lies
// below, and escaped.
func messagePath(path string) string {
	abs, err := filepath.Abs(path)
	if err != nil {
		return tool.Escape(path)
	}
	return place(tool.URI(abs))
}
