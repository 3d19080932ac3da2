// Package agenttest has tests of agents: files *.agent-test.yaml that say what a person
// asks, what the model answers, and what is to come of it (docs/tests.md).
//
// [Parse] reads a file, [Open] reads one for its author, [Case.Check] holds what a
// session's events tell to what the case expects, [Model] is the model that answers as
// the case says, and [Record] makes a case of a session. Who runs the agent is the
// caller's business.
package agenttest

import "github.com/goccy/go-yaml"

// Suffix is how the name of a file of tests ends.
const Suffix = ".agent-test.yaml"

// maxFile is how large a file may be, in bytes.
const maxFile = 4 << 20

type (
	// File is a file of tests.
	File struct {
		// Agent is who is asked where a test names nobody; auto is who is picked for it.
		Agent string `yaml:"agent,omitempty"`
		// Files of the workspace that each test begins with, by their paths.
		Files map[string]string `yaml:"files,omitempty"`
		// Tests are the tests; each has a workspace of its own.
		Tests []Case `yaml:"tests"`
	}

	// Case is one test.
	Case struct {
		// Name says what the test holds; names differ within a file.
		Name string `yaml:"name"`
		// Agent is who is asked; auto is who is picked for it.
		Agent string `yaml:"agent,omitempty"`
		// Input is what the person says.
		Input string `yaml:"input,omitempty"`
		// Inputs are the agent's inputs.
		Inputs map[string]any `yaml:"inputs,omitempty"`
		// Mode is chat or task; without it, the agent's own.
		Mode string `yaml:"mode,omitempty"`
		// Strategy is how auto picks the agent: rule, llm or hybrid; without it, hybrid.
		Strategy string `yaml:"strategy,omitempty"`
		// Approval is plan, ask, edits or auto; without it, ask.
		Approval string `yaml:"approval,omitempty"`
		// Files of the workspace besides those of the whole file.
		Files map[string]string `yaml:"files,omitempty"`
		// Model is what the model answers, in order.
		Model []Answer `yaml:"model"`
		// Answers are what the person answers when they are asked, in order: once, run, session, always or reject to a call, any text to a question.
		Answers []string `yaml:"answers,omitempty"`
		// Results stand in for tools: a call of the tool does not run, and has the result.
		Results []Result `yaml:"results,omitempty"`
		// Expect is what is to come of it.
		Expect Expect `yaml:"expect"`

		// Line is where the test begins in its file.
		Line int `yaml:"-"`
	}

	// Answer is one answer of the model.
	Answer struct {
		// Text is what it says.
		Text string `yaml:"text,omitempty"`
		// Call is a call of a tool: its name with its arguments.
		Call map[string]map[string]any `yaml:"call,omitempty"`
		// Calls are several calls, in order, each as in call.
		Calls []map[string]map[string]any `yaml:"calls,omitempty"`
		// Agent is who must ask, where several agents work at once; without it, anybody.
		Agent string `yaml:"agent,omitempty"`
		// For is what is asked for besides an agent's turn: route, summary, correction, search or aside.
		For string `yaml:"for,omitempty"`
		// Sees is a text that the newest message to the model must contain.
		Sees string `yaml:"sees,omitempty"`
		// Error is why the provider gives no answer.
		Error string `yaml:"error,omitempty"`
	}

	// Result is what a call of a tool comes to without being run.
	Result struct {
		// Tool is the tool's name.
		Tool string `yaml:"tool"`
		// Args are arguments that the call must have; without them, any.
		Args map[string]any `yaml:"args,omitempty"`
		// Result is what the model gets.
		Result string `yaml:"result,omitempty"`
		// Error is why the call fails.
		Error string `yaml:"error,omitempty"`
	}

	// Expect is what is to come of a test. What is not given is not looked at.
	Expect struct {
		// Route is the agent that is picked.
		Route string `yaml:"route,omitempty"`
		// Reason is how the run ends; without it, GOAL.
		Reason string `yaml:"reason,omitempty"`
		// Tools are all calls of tools, in the order in which they end, without those that end or pass on a run.
		Tools *[]ToolCall `yaml:"tools,omitempty"`
		// NoTools are tools that must not run.
		NoTools []string `yaml:"no_tools,omitempty"`
		// Handoffs are the agents that control passes to, in order.
		Handoffs *[]string `yaml:"handoffs,omitempty"`
		// Confirmations are the questions about calls, in order.
		Confirmations *[]Confirmation `yaml:"confirmations,omitempty"`
		// Output is what the run says at its end.
		Output *Output `yaml:"output,omitempty"`
		// Judge is an agent that says whether the output is right; it is asked with agentls test --judge alone, since its model is a real one.
		Judge *Judge `yaml:"judge,omitempty"`
		// Files are texts that files of the workspace must contain when it has ended; null for a file that must not be there.
		Files map[string]*string `yaml:"files,omitempty"`
	}

	// ToolCall is an expected call of a tool.
	ToolCall struct {
		// Name is the tool's name.
		Name string `yaml:"name"`
		// Args are arguments that it must have; others may be there.
		Args map[string]any `yaml:"args,omitempty"`
		// State is success, error or cancelled; without it, success.
		State string `yaml:"state,omitempty"`
		// Result is a text that its result, or its error, must contain.
		Result string `yaml:"result,omitempty"`
	}

	// Confirmation is an expected question about a call.
	Confirmation struct {
		// Tool is the tool's name.
		Tool string `yaml:"tool"`
		// Outcome is the answer: once, run, session, always, modify, reject or cancel.
		Outcome string `yaml:"outcome,omitempty"`
	}

	// Judge is an agent that judges an output. It needs an output of its own with the schema {pass: boolean, reason: string}.
	Judge struct {
		// Agent is the agent's name.
		Agent string `yaml:"agent"`
		// Asks is what must hold, in a sentence.
		Asks string `yaml:"asks"`
	}

	// Output is what holds for the output of a run.
	Output struct {
		// Equals is the whole text.
		Equals string `yaml:"equals,omitempty"`
		// Contains are texts that the output contains, all of them.
		Contains []string `yaml:"contains,omitempty"`
		// Matches is a regular expression (RE2) that the text matches.
		Matches string `yaml:"matches,omitempty"`
		// Schema is a JSON Schema of the structured output.
		Schema map[string]any `yaml:"schema,omitempty"`
		// Expr is a condition over output, text, reason, turns, tools and agents.
		Expr string `yaml:"expr,omitempty"`
	}
)

// called is a call as a model writes it.
type called struct {
	name string
	args map[string]any
}

// calls returns the calls of an answer.
func (a Answer) calls() (list []called) {
	for _, one := range append([]map[string]map[string]any{a.Call}, a.Calls...) {
		for name, args := range one {
			list = append(list, called{name, args})
		}
	}
	return list
}

// Marshal writes a file. Texts of several lines are written as such.
func Marshal(f *File) ([]byte, error) {
	return yaml.MarshalWithOptions(f, yaml.UseLiteralStyleIfMultiline(true), yaml.IndentSequence(true))
}
