package wire

import (
	"encoding/json"

	"github.com/agentls/agentls/agents/definition"
)

type (
	// TestListParams asks for the tests of agents.
	TestListParams struct {
		URI string `json:"uri,omitempty"` // of a file of tests, or of an agent, whose tests are meant; absent = all of the workspace folders
	}

	// TestListResult is the tests, by file.
	TestListResult struct {
		Files []TestFile `json:"files"`
	}

	// TestFile is a file of tests, *.agent-test.yaml, as it is in the editor, else on the disk.
	TestFile struct {
		// The file.
		URI string `json:"uri"`
		// In the order of the file.
		Tests   []TestCase `json:"tests"`
		Problem string     `json:"problem,omitempty"` // why its tests cannot run
	}

	// TestCase is a test.
	TestCase struct {
		// Unique in its file.
		Name  string           `json:"name"`
		Agent string           `json:"agent"` // auto where the test is about who is picked
		Range definition.Range `json:"range"` // of its name in the file
	}

	// TestRunParams says which tests to run.
	TestRunParams struct {
		URI           string          `json:"uri,omitempty"`           // as of agents/test/list
		Name          string          `json:"name,omitempty"`          // of the one test; absent = all
		Run           string          `json:"run,omitempty"`           // sent back in agents/test/result, so that a client can tell its requests apart
		WorkDoneToken json.RawMessage `json:"workDoneToken,omitempty"` // progress is reported under it
	}

	// TestRunResult is what came of tests.
	TestRunResult struct {
		// How many tests passed.
		Passed int `json:"passed"`
		// How many did not.
		Failed int `json:"failed"`
		// Of all of them together.
		DurationMs int64        `json:"durationMs"`
		Results    []TestResult `json:"results"` // in the order of the files
	}

	// TestResult is what came of one test.
	TestResult struct {
		TestCase
		// The file that the test is in.
		URI string `json:"uri"`
		// Whether everything came as the test expects it.
		Passed bool `json:"passed"`
		// What did not; empty where it passed.
		Failures []TestFailure `json:"failures"`
		// Of this test.
		DurationMs int64 `json:"durationMs"`
	}

	// TestFailure is what did not come as a test expects it.
	TestFailure struct {
		Message string           `json:"message"` // what was expected, what came, and where in the session
		Range   definition.Range `json:"range"`   // of what the test says of it
	}

	// TestResultParams is one test's result as soon as it is known.
	TestResultParams struct {
		Run  string `json:"run,omitempty"` // of the request
		Done int    `json:"done"`          // how many have ended, with this one
		// How many there are.
		Total int `json:"total"`
		// The test that has ended.
		Result TestResult `json:"result"`
	}
)
