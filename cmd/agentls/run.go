package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"go.lsp.dev/jsonrpc2"
	"golang.org/x/term"

	"github.com/agentls/agentls/agents"
	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/mention"
	"github.com/agentls/agentls/agents/session"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/agents/trace"
	"github.com/agentls/agentls/internal/daemon"
	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/internal/wire"
)

// maxPrompt is how long a prompt from standard input may be, in bytes.
const maxPrompt = 1 << 20

// runOptions are the flags of run. Other commands that show a run use some of its fields.
//
// A run goes from request, which checks the flags and reads the prompt, to follow, which
// has the daemon, the screen and the exit code, and in it to runOnce, which finds out
// session and agent. toItsEnd sends the request, as it does for a run that is resumed.
type runOptions struct {
	// session is as typed: a name, latest or new; "" is main. approve, mode and model are
	// "" where they were not given, and format is text, json or stream-json.
	prompt, session, approve, format, mode, model string
	// inputs is a JSON object as typed; "" is none. input adds to it.
	inputs string
	// input has entries key=value, as typed.
	input []string
	// strategy is how @auto picks an agent; "" is as the settings have it.
	strategy                         string
	interactive, trust, fresh, trace bool
	// plain asks for lines also where the chat could be shown.
	plain bool
	// given says that the prompt came from a pipe. It may be anything, as a diff, so an
	// @name in it names no agent.
	given bool
	// args are the arguments besides the flags, for errors that repeat the command.
	args []string
	// method is agents/run, or agents/graph/run for graph run.
	method string
}

// runCommand runs an agent once, or with -i as a conversation.
func runCommand(std streams) *cobra.Command {
	return runCommandOf(std, &runOptions{method: wire.MethodRun})
}

// runCommandOf is the command run, and graph run. It reads the prompt from the command
// line or from standard input where that is no terminal, runs the agent in a daemon of
// this folder, and shows it: the text on standard output, the rest on standard error.
// Questions are asked at the terminal. Without one, calls that need an answer are refused,
// and a run that ends well all the same exits with 3. Other exit codes: 0 where the run
// reached its goal, 130 where it was interrupted, 2 for a command line that is wrong, 1
// else.
func runCommandOf(std streams, o *runOptions) *cobra.Command {
	c := &cobra.Command{
		Use: "run [NAME | @auto] [PROMPT]", Short: "Run an agent; without a name, main",
		Long: `Runs an agent of this folder, or main without a NAME. @auto picks the agent by what
is asked, and so does no NAME where the setting agents.autoRoute is on. The agent's text goes to
standard output, what it does on the way to standard error. Without PROMPT it is
read from standard input, where that is no terminal; an agent with a query of its
own needs none.

Runs of an agent go on in the same context until agentls context clear NAME, or
begin a new one with --new. A session that was begun so with a NAME is that
agent's: without a NAME, --session ID talks to it instead of main.

Where standard output is no terminal, only the final text goes there. The exit code
is 3 where the run ended well, and nobody was there to be asked about something.`,
		Example: `  agentls run "what does this program do?"
  agentls run reviewer "look at src/app.ts"
  git diff | agentls run reviewer --format json
  agentls run --interactive`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 2 {
				return usage{fmt.Errorf("the prompt has to be one argument; quote it, as in agentls run %s or agentls run %s %s",
					shellQuote(strings.Join(args, " ")), tool.Escape(args[0]), shellQuote(strings.Join(args[1:], " ")))}
			}
			return nil
		},
		ValidArgsFunction: completeAgents(1),
		RunE: func(c *cobra.Command, args []string) error {
			p, config, err := o.request(std, args)
			switch {
			case err != nil:
				return err
			case o.interactive:
				return interact(c.Context(), config, std, o, p)
			}
			return runOnce(c.Context(), config, std, o, p)
		},
	}
	f := c.Flags()
	f.StringVarP(&o.prompt, "prompt", "p", "", "what the agent is to do")
	f.BoolVarP(&o.interactive, "interactive", "i", false, "talk to the agent, one request after the other")
	f.BoolVar(&o.plain, "plain", false, "with --interactive: plain lines, for screen readers and recordings")
	f.StringVar(&o.session, "session", "", "the session to go on with, latest, or new; without it, main")
	f.BoolVar(&o.fresh, "new", false, "begin a new session; the same as --session new")
	chooseApproval(c, &o.approve)
	chooseFormat(c, &o.format)
	choose(c, &o.mode, "mode", "", "chat or task; without it, the agent's own", "chat", "task")
	f.StringVar(&o.model, "model", "", "the model, instead of the agent's")
	choose(c, &o.strategy, "strategy", "", "how @auto picks the agent: rule, llm or hybrid; without it, the settings'",
		"rule", "llm", "hybrid")
	f.StringArrayVar(&o.input, "input", nil, "`key=value` of the agent's inputs; can be given again")
	f.StringVar(&o.inputs, "inputs", "", "all inputs of the agent as one `JSON` object")
	f.BoolVar(&o.trace, "trace", false,
		"show each call of a model or a tool, handoff and check on standard error as it ends, with its time")
	f.BoolVar(&o.trust, "trust", false, "trust the folder for this process")
	completeModels(c)
	completeSessionFlag(c, "new")
	return c
}

// request checks the flags, and returns what they and the arguments ask for, with the
// configuration of the daemon. One argument is a name, or the prompt where it has a blank
// or begins with a slash. It reads standard input where that is no terminal and no prompt
// was given; what is longer than maxPrompt is refused, not cut.
func (o *runOptions) request(std streams, args []string) (*wire.RunParams, daemon.Config, error) {
	if o.interactive && o.format != "text" {
		return nil, daemon.Config{},
			usage{fmt.Errorf("--interactive and --format %s do not go together; leave one out", o.format)}
	}
	o.args = args
	// With the request: what is said for this process counts more than the mode
	// that the session was given.
	p := &wire.RunParams{Session: o.session, Mode: o.mode, Model: o.model, Approval: o.approve}
	prompt := o.prompt
	switch {
	case len(args) == 2 && prompt == "":
		p.Agent, prompt = args[0], args[1]
	case len(args) == 2:
		return nil, daemon.Config{},
			usage{errors.New("the prompt is given twice; leave out --prompt or the second argument")}
	case len(args) == 1 && (prompt != "" || (!strings.ContainsAny(args[0], " \n") && !strings.HasPrefix(args[0], "/"))):
		p.Agent = args[0]
	case len(args) == 1:
		prompt = args[0]
	}
	// A name may be typed as in a prompt, with its @.
	p.Agent = strings.TrimPrefix(p.Agent, "@")
	p.Strategy = o.strategy
	if p.Agent == mention.Auto && o.interactive {
		return nil, daemon.Config{},
			usage{errors.New("an interactive conversation is with one agent; name it, and write @auto before a request that is for another")}
	}
	if prompt == "" && !o.interactive && !term.IsTerminal(int(std.in.Fd())) {
		data, err := io.ReadAll(io.LimitReader(std.in, maxPrompt+1))
		switch {
		case err != nil:
			return nil, daemon.Config{}, err
		case len(data) > maxPrompt:
			return nil, daemon.Config{},
				usage{fmt.Errorf("the prompt on standard input is longer than %d bytes; put it into a file, and name that in a shorter prompt", maxPrompt)}
		}
		prompt, o.given = strings.TrimSpace(string(data)), true
	}
	if prompt != "" {
		p.Input = wire.InputBlocks{{Type: "text", Text: prompt}}
	}
	if o.fresh && o.session != "" && o.session != "new" {
		return nil, daemon.Config{}, usage{errors.New("--new and --session NAME exclude each other; leave one out")}
	}
	if o.fresh {
		o.session = "new"
	}
	if o.session == "new" {
		p.Session = session.NewID()
	}
	// After the checks: a wrong command line is told before a home that cannot be found.
	config, err := base(std)
	config.Trust = config.Trust || o.trust
	// For a session that the run begins; the request has the mode for one that there is.
	config.Approval = agents.Approval(o.approve)
	return p, config, err
}

// chooseApproval adds the flag --approve of run and serve; without it the value is "",
// which leaves the mode to the session or the settings.
func chooseApproval(c *cobra.Command, value *string) {
	choose(c, value, "approve", "",
		"plan (read only), ask, edits (files change without a question) or auto (medium risks, too)",
		"plan", "ask", "edits", "auto")
}

// chooseFormat adds the flag --format of what runs agents.
func chooseFormat(c *cobra.Command, value *string) {
	choose(c, value, "format", "text", "text, json (the result at the end) or stream-json (each event as it comes)",
		"text", "json", "stream-json")
}

// errOutputClosed ends a run whose text nobody reads any more, as behind a pipe to head.
var errOutputClosed = errors.New("standard output is closed, so this ends")

// outlet is standard output while a run goes on. Who reads it may go, and then there is no
// more use in running.
type outlet struct {
	io.Writer
	// gone is told of each write that failed, and ends the run; it must bear to be called
	// again.
	gone func(error)
}

// Write never fails: who writes goes on to the end.
func (o *outlet) Write(b []byte) (int, error) {
	if _, err := o.Writer.Write(b); err != nil {
		o.gone(fmt.Errorf("%w (%w)", errOutputClosed, err))
	}
	return len(b), nil
}

// runOnce runs an agent once, and shows it in the format that was asked for. Before the
// run it finds out the session, the agent that the prompt names, and the agent of the
// session where none is named. A folder that nobody has decided about is asked about for
// main, which would otherwise only read there.
func runOnce(ctx context.Context, config daemon.Config, std streams, o *runOptions, p *wire.RunParams) error {
	return o.follow(ctx, config, std, func(ctx context.Context, conn *connection,
		t *timeline) (*wire.RunResult, error) {
		if err := conn.latest(ctx, p); err != nil {
			return nil, err
		}
		// Only an agent that was named apart from the prompt gets the session that is
		// begun: @name in it is for one request.
		named := p.Agent != ""
		if !o.given {
			if err := conn.address(ctx, p); err != nil {
				return nil, err
			}
		}
		if p.Agent == "" {
			p.Agent = conn.agentOf(ctx, p.Session)
		}
		if p.Agent == "" || p.Agent == "main" {
			if err := askTrustOnce(ctx, conn, std, t.terminal, p.Approval); err != nil {
				return nil, err
			}
		}
		if err := conn.prepare(ctx, o, p, t); err != nil {
			return nil, misread(err, o.args, p.Agent)
		}
		if named { // last, so that nothing is left of a request that cannot run
			if err := conn.begin(ctx, o, p); err != nil {
				return nil, misread(err, o.args, p.Agent)
			}
		}
		result, err := conn.run(ctx, o.method, p, t)
		if err != nil {
			err = misread(err, o.args, p.Agent)
		}
		return result, err
	})
}

// follow shows a run to its end in the format that was asked for: with text the agents'
// words on standard output, with stream-json each event as a line, and with both JSON
// formats the result as the last line. run has the run done by a daemon of this folder,
// which follow starts and ends. The error is the exit code of the run, or why there was
// none.
func (o *runOptions) follow(ctx context.Context, config daemon.Config, std streams,
	run func(context.Context, *connection, *timeline) (*wire.RunResult, error)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	out := &outlet{std.out, cancel}
	t := newTimeline(streams{std.in, out, std.err}, newTerminal(std))
	// Nobody types while a single run goes on, so the status may be drawn again and
	// again.
	t.status = newStatus(std.err, false)
	if o.trace {
		t.trace = new(trace.Builder)
	}
	f, isFile := std.out.(*os.File)
	t.final = o.format == "text" && !(isFile && term.IsTerminal(int(f.Fd())))
	// Standard output is for JSON then, and the rest goes to standard error as always.
	if o.format != "text" {
		t.out = io.Discard
	}
	if o.format == "stream-json" {
		t.raw = func(event []byte) { writeLine(out, event) }
	}
	// The daemon ends before the result is told: its log is complete then.
	result, err := func() (*wire.RunResult, error) {
		// Headless makes the daemon tell main that nobody can answer.
		config.Brief, config.Headless = true, !t.terminal.there
		conn, err := connect(ctx, config, ".", t.handlers())
		if err != nil {
			return nil, err
		}
		defer conn.Close()
		return run(ctx, conn, t)
	}()
	if t.final {
		t.finish(result)
	}
	if err := o.report(out, result, err); err != nil {
		return err
	}
	// The run was cancelled since nobody reads its text any more.
	if cause := context.Cause(ctx); errors.Is(cause, errOutputClosed) {
		return cause
	}
	if ctx.Err() != nil && result.Reason == activity.Aborted {
		t.say("To continue: %s", goOn(result.Session))
	}
	return verdict(ctx, result, t.terminal.unanswered.Load())
}

// report writes the result, or the error, as JSON where a machine reads it, so that a
// script need not read standard error. It returns the error that it was given, which
// decides the exit code.
func (o *runOptions) report(out io.Writer, result *wire.RunResult, failed error) error {
	if o.format == "text" {
		return failed
	}
	type failure struct {
		Kind    string `json:"kind"`
		Message string `json:"message"`
	}
	var typed struct {
		Type string `json:"type,omitempty"`
		*wire.RunResult
		// Error hides that of RunResult, so that both kinds of failure have one form.
		Error *failure `json:"error,omitempty"`
	}
	if o.format == "stream-json" {
		typed.Type = "result"
	}
	typed.RunResult = result
	switch {
	case failed != nil:
		typed.Error = &failure{kindOf(failed), fault.Message(failed)}
	case result.Error != nil:
		typed.Error = &failure{result.Error.Kind, result.Error.Message}
	}
	data, err := json.Marshal(typed)
	if err != nil {
		return err
	}
	writeLine(out, data)
	return failed
}

// writeLine writes JSON as one line. It may take line ends out, since within strings JSON
// has them escaped.
func writeLine(out io.Writer, data []byte) {
	line := bytes.ReplaceAll(bytes.TrimSpace(data), []byte("\n"), nil)
	_, _ = out.Write(append(line, '\n')) // an outlet does not fail
}

// kindOf returns the kind of an error that the daemon answered, or of one of ours, as JSON
// output and comparisons have it. An error without a kind is internal.
func kindOf(err error) string {
	if _, ok := errors.AsType[usage](err); ok {
		return fault.Invalid.String()
	}
	if e, ok := errors.AsType[*jsonrpc2.Error](err); ok {
		data := aboutOf(err) // what has no kind is told by its code
		if data.Kind == "" && e.Code == jsonrpc2.InvalidParams {
			data.Kind = fault.Invalid.String()
		}
		return cmp.Or(data.Kind, fault.Internal.String())
	}
	if reason, _ := fault.ReasonOf(err); reason != "" {
		return string(reason)
	}
	return fault.KindOf(err).String()
}

// inputsOf returns the inputs of an agent as a JSON object, nil where none were given:
// those of whole, then those that were given as key=value, which win. A value is JSON
// where the schema has another type than string for it and it is such JSON; else it is a
// string, and the run says what is wrong with it.
func inputsOf(whole string, given []string, schema json.RawMessage) (json.RawMessage, error) {
	if whole == "" && len(given) == 0 {
		return nil, nil
	}
	values := map[string]json.RawMessage{}
	if whole != "" {
		// null is no object.
		if err := json.Unmarshal([]byte(whole), &values); err != nil || values == nil {
			return nil, errors.New(`invalid --inputs; use a JSON object, as in --inputs '{"path": "app.ts"}'`)
		}
	}
	var form struct {
		Properties map[string]struct {
			Type any `json:"type"` // a string, or a list of them
		} `json:"properties"`
	}
	_ = json.Unmarshal(schema, &form) // without a form everything is a string
	for _, pair := range given {
		key, text, ok := strings.Cut(pair, "=")
		if !ok || key == "" {
			return nil, fmt.Errorf("invalid --input %q; use key=value", pair)
		}
		var types []string
		switch t := form.Properties[key].Type.(type) {
		case string:
			types = []string{t}
		case []any:
			for _, one := range t {
				types = append(types, fmt.Sprint(one))
			}
		}
		var value any
		if json.Unmarshal([]byte(text), &value) == nil && slices.ContainsFunc(types,
			func(t string) bool { return isA(value, t) }) {
			values[key] = json.RawMessage(text)
			continue
		}
		quoted, err := json.Marshal(text)
		if err != nil {
			return nil, err
		}
		values[key] = quoted
	}
	return json.Marshal(values)
}

// isA reports whether a JSON value has a type of JSON Schema other than string:
// for a string the quotes would have to be typed.
func isA(value any, kind string) bool {
	switch v := value.(type) {
	case float64:
		return kind == "number" || (kind == "integer" && v == float64(int64(v)))
	case bool:
		return kind == "boolean"
	case []any:
		return kind == "array"
	case map[string]any:
		return kind == "object"
	case nil:
		return kind == "null"
	}
	return false
}
