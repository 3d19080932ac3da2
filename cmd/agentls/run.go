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
	"time"

	"github.com/spf13/cobra"
	"go.lsp.dev/jsonrpc2"
	"golang.org/x/term"

	"github.com/agentls/agentls/agents"
	"github.com/agentls/agentls/agents/mention"
	"github.com/agentls/agentls/agents/session"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/daemon"
	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/internal/wire"
)

// maxPrompt is how long a prompt from standard input may be, in bytes.
const maxPrompt = 1 << 20

// runOptions are the flags of run.
type runOptions struct {
	prompt, session, approve, format, mode, model string
	inputs                                        string   // JSON, whole
	input                                         []string // key=value
	strategy                                      string   // of routing
	interactive, trust                            bool
	given                                         bool     // the prompt came from a pipe: what is in it names nobody
	args                                          []string // besides the flags
}

func runCommand(std streams) *cobra.Command {
	var o runOptions
	c := &cobra.Command{
		Use: "run [NAME | @auto] [PROMPT]", Short: "Run an agent; without a name, main",
		Long: `Runs an agent of this folder, or main without a NAME. @auto picks the agent by what
is asked, and so does no NAME where the setting agents.autoRoute is on. The agent's text goes to
standard output, what it does on the way to standard error. Without PROMPT it is
read from standard input, where that is no terminal; an agent with a query of its
own needs none.

Runs of an agent go on in the same context until agentls context clear NAME, or
begin a new one with --session new.`,
		Example: `  agentls run "what does this program do?"
  agentls run reviewer "look at src/app.ts"
  git diff | agentls run reviewer --format json
  agentls run --interactive`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 2 {
				return usage{fmt.Errorf("the prompt has to be one argument: quote it, as in agentls run %s or agentls run %s %s",
					quoted(strings.Join(args, " ")), tool.Escape(args[0]), quoted(strings.Join(args[1:], " ")))}
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
				return interact(c.Context(), config, std, &o, p)
			}
			return runOnce(c.Context(), config, std, &o, p)
		},
	}
	f := c.Flags()
	f.StringVarP(&o.prompt, "prompt", "p", "", "what the agent is to do")
	f.BoolVarP(&o.interactive, "interactive", "i", false, "talk to the agent, one request after the other")
	f.StringVar(&o.session, "session", "", "the session to go on with, or new; without it, main")
	f.StringVar(&o.approve, "approve", "", approveHelp)
	f.StringVar(&o.format, "format", "text", "text, json (the result at the end) or stream-json (each event as it comes)")
	f.StringVar(&o.mode, "mode", "", "chat or task; without it, the agent's own")
	f.StringVar(&o.model, "model", "", "the model, instead of the agent's")
	f.StringVar(&o.strategy, "strategy", "", "how @auto picks the agent: rule, llm or hybrid; without it, the settings'")
	f.StringArrayVar(&o.input, "input", nil, "`key=value` of the agent's inputs; can be given again")
	f.StringVar(&o.inputs, "inputs", "", "all inputs of the agent as one `JSON` object")
	f.BoolVar(&o.trust, "trust", false, "trust the folder for this process")
	complete(c, "approve", "plan", "ask", "edits", "auto")
	complete(c, "format", formats...)
	complete(c, "mode", "chat", "task")
	complete(c, "strategy", "rule", "llm", "hybrid")
	completeSessionFlag(c, "new")
	return c
}

// request checks the flags, and returns what they and the arguments ask for.
func (o *runOptions) request(std streams, args []string) (*wire.RunParams, daemon.Config, error) {
	mode, err := approval(o.approve)
	if err != nil {
		return nil, daemon.Config{}, err
	}
	switch {
	case o.checkFormat() != nil:
		return nil, daemon.Config{}, o.checkFormat()
	case o.interactive && o.format != "text":
		err = fmt.Errorf("--interactive and --format %s do not go together: leave one out", o.format)
	case o.strategy != "" && o.strategy != "rule" && o.strategy != "llm" && o.strategy != "hybrid":
		err = fmt.Errorf("invalid --strategy %q: use rule, llm or hybrid", o.strategy)
	case o.mode != "" && o.mode != "chat" && o.mode != "task":
		err = fmt.Errorf("--mode is %q, want chat or task", o.mode)
	}
	if err != nil {
		return nil, daemon.Config{}, usage{err}
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
		return nil, daemon.Config{}, usage{errors.New("the prompt is given twice: leave out --prompt or the second argument")}
	case len(args) == 1 && (prompt != "" || !strings.ContainsAny(args[0], " \n")):
		p.Agent = args[0]
	case len(args) == 1:
		prompt = args[0]
	}
	p.Agent = strings.TrimPrefix(p.Agent, "@")
	p.Strategy = o.strategy
	if p.Agent == mention.Auto && o.interactive {
		return nil, daemon.Config{}, usage{errors.New("an interactive conversation is with one agent: name it, and write @auto before a request that is for another")}
	}
	if prompt == "" && !o.interactive && !term.IsTerminal(int(std.in.Fd())) {
		data, err := io.ReadAll(io.LimitReader(std.in, maxPrompt+1))
		switch {
		case err != nil:
			return nil, daemon.Config{}, err
		case len(data) > maxPrompt:
			return nil, daemon.Config{}, usage{fmt.Errorf("the prompt on standard input is longer than %d bytes: put it into a file, and name that in a shorter prompt", maxPrompt)}
		}
		prompt, o.given = strings.TrimSpace(string(data)), true
	}
	if prompt != "" {
		p.Input = wire.InputBlocks{{Type: "text", Text: prompt}}
	}
	if o.session == "new" {
		// The form of a time has no dash before the milliseconds, and the id
		// of a session does not end in a dot and a number.
		p.Session = strings.Replace(time.Now().UTC().Format("run-20060102-150405.000"), ".", "-", 1)
	}
	config, err := base(std)
	config.Trust = config.Trust || o.trust
	config.Approval = mode
	return p, config, err
}

// approveHelp explains the flag --approve of run and serve.
const approveHelp = "what runs without asking: plan, ask, edits or auto; never high or critical calls"

// approval returns the mode that --approve names; "" is the default.
func approval(mode string) (agents.Approval, error) {
	if a := agents.Approval(mode); mode == "" || a.Valid() {
		return a, nil
	}
	return "", usage{fmt.Errorf("--approve is %q, want plan, ask, edits or auto", mode)}
}

// errOutputClosed ends a run whose text nobody reads any more.
var errOutputClosed = errors.New("standard output is closed, so this ends")

// outlet is standard output while a run goes on. Who reads it may go, and then
// there is no more use in running.
type outlet struct {
	io.Writer
	gone func(error) // told of the first failure
}

// Write never fails: who writes goes on to the end.
func (o *outlet) Write(b []byte) (int, error) {
	if _, err := o.Writer.Write(b); err != nil {
		o.gone(fmt.Errorf("%w (%w)", errOutputClosed, err))
	}
	return len(b), nil
}

// runOnce runs an agent once, and shows it in the format that was asked for.
func runOnce(ctx context.Context, config daemon.Config, std streams, o *runOptions, p *wire.RunParams) error {
	return o.follow(ctx, config, std, func(ctx context.Context, conn *connection, t *timeline) (*wire.RunResult, error) {
		if !o.given {
			if err := conn.address(ctx, p); err != nil {
				return nil, err
			}
		}
		if err := conn.prepare(ctx, o, p, t); err != nil {
			return nil, misread(err, o.args, p.Agent)
		}
		result, err := conn.run(ctx, p, t)
		if err != nil {
			err = misread(err, o.args, p.Agent)
		}
		return result, err
	})
}

// follow shows a run to its end in the format that was asked for; run has it done
// by a daemon of this folder.
func (o *runOptions) follow(ctx context.Context, config daemon.Config, std streams, run func(context.Context, *connection, *timeline) (*wire.RunResult, error)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	out := &outlet{std.out, cancel}
	t := newTimeline(streams{std.in, out, std.err}, newTerminal(std))
	t.status = newStatus(std.err, false)
	if o.format != "text" {
		t.out = io.Discard
	}
	if o.format == "stream-json" {
		t.raw = func(event []byte) { writeLine(out, event) }
	}
	result, err := func() (*wire.RunResult, error) {
		config.Brief = true
		conn, err := connect(ctx, config, ".", t.handlers())
		if err != nil {
			return nil, err
		}
		defer conn.Close()
		return run(ctx, conn, t)
	}()
	if err := o.report(out, result, err); err != nil {
		return err
	}
	if cause := context.Cause(ctx); errors.Is(cause, errOutputClosed) {
		return cause
	}
	return verdict(ctx, result)
}

// report writes the result, or the error, where a machine reads it. It returns
// the error.
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

// writeLine writes JSON as one line. Line ends of JSON are outside its strings.
func writeLine(out io.Writer, data []byte) {
	line := bytes.ReplaceAll(bytes.TrimSpace(data), []byte("\n"), nil)
	_, _ = out.Write(append(line, '\n')) // an outlet does not fail
}

// kindOf returns the kind of an error that the daemon answered, or of one of
// ours.
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

// runAgent runs an agent of a folder to its end, and shows it on the way.
func runAgent(ctx context.Context, config daemon.Config, folder string, p *wire.RunParams, t *timeline) (*wire.RunResult, error) {
	config.Brief = true
	conn, err := connect(ctx, config, folder, t.handlers())
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if err := conn.prepare(ctx, &runOptions{session: "new"}, p, t); err != nil {
		return nil, err
	}
	return conn.run(ctx, p, t)
}

// address finds out for whom a request is that names somebody, as in
// "@reviewer look at this". One that was given to an agent stays its.
func (c *connection) address(ctx context.Context, p *wire.RunParams) error {
	if p.Agent != "" || len(p.Input) == 0 || !strings.Contains(p.Input[0].Text, "@") {
		return nil
	}
	var said wire.ParseResult
	if err := c.Call(ctx, wire.MethodParse, &wire.ParseParams{Text: new(p.Input[0].Text)}, &said); err != nil {
		return err
	}
	switch {
	case said.Auto && said.Prompt == "":
		return usage{errors.New("there is nothing to do: say what, as in @auto your request")}
	case said.Auto:
		p.Agent, p.Strategy = mention.Auto, cmp.Or(said.Strategy, p.Strategy)
		p.Input = wire.InputBlocks{{Type: "text", Text: said.Prompt}}
		return nil
	case said.Agent == "":
		return nil
	case said.Prompt == "":
		return usage{fmt.Errorf("there is nothing to do for %s: say what, as in @%s your request", said.Agent, said.Agent)}
	}
	p.Agent, p.Input = said.Agent, wire.InputBlocks{{Type: "text", Text: said.Prompt}}
	return nil
}

// prepare tells the timeline who is about to run and in what context, and gives
// the agent's inputs the types that it wants.
func (c *connection) prepare(ctx context.Context, o *runOptions, p *wire.RunParams, t *timeline) error {
	// Who an agent is, is told by another method than what it does. Without an
	// answer its name is as good: the run itself says what is wrong.
	agent := new(wire.GetResult)
	name := cmp.Or(p.Agent, "main")
	if name == mention.Auto {
		if len(o.inputs)+len(o.input) > 0 {
			return usage{errors.New("inputs belong to an agent: name it, or leave them out with @auto")}
		}
		return c.introduceAll(ctx, t) // who it is, is told when it begins
	}
	_ = c.Call(ctx, wire.MethodGet, &wire.GetParams{Name: name}, agent)
	var err error
	if p.Inputs, err = inputsOf(o.inputs, o.input, agent.Inputs); err != nil {
		return usage{err}
	}
	var goesOn continuation
	if p.Agent == "" {
		if err := c.introduceAll(ctx, t); err != nil { // it may be routed
			return err
		}
	}
	if o.session != "new" {
		goesOn = c.continues(ctx, p.Session, name)
	}
	t.introduce(name, agent.Title, goesOn)
	return nil
}

// introduceAll gives the titles of all agents: it is not known yet who is about to run.
func (c *connection) introduceAll(ctx context.Context, t *timeline) error {
	var list wire.ListResult
	if err := c.Call(ctx, wire.MethodList, &wire.ListParams{}, &list); err != nil {
		return err
	}
	for _, a := range list.Agents {
		if a.State == "ok" {
			t.introduce(a.Name, a.Title, continuation{})
		}
	}
	return nil
}

// inputsOf returns the inputs of an agent: those of a JSON object, then those
// that were given as key=value. A value is JSON where the schema has another
// type than string for it and it is such JSON; else it is a string, and the run
// says what is wrong with it.
func inputsOf(whole string, given []string, schema json.RawMessage) (json.RawMessage, error) {
	if whole == "" && len(given) == 0 {
		return nil, nil
	}
	values := map[string]json.RawMessage{}
	if whole != "" {
		if err := json.Unmarshal([]byte(whole), &values); err != nil || values == nil {
			return nil, errors.New(`--inputs is no JSON object, want one as in --inputs '{"path": "app.ts"}'`)
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
			return nil, fmt.Errorf("--input is %q, want key=value", pair)
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
		if json.Unmarshal([]byte(text), &value) == nil && slices.ContainsFunc(types, func(t string) bool { return isA(value, t) }) {
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
		return kind == "number" || kind == "integer" && v == float64(int64(v))
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

// continues says in what old context a run of an agent goes on. session is the
// one that was asked for, "" for main.
func (c *connection) continues(ctx context.Context, session, agent string) continuation {
	if session == "" {
		session = c.standard(ctx)
	}
	var old wire.ContextGetResult
	// What is wrong with a session the run says, and better.
	if c.Call(ctx, wire.MethodContextGet, &wire.ContextParams{Session: session, Agent: agent}, &old) != nil || len(old.Messages) == 0 {
		return continuation{}
	}
	when := ""
	if last, err := time.Parse(time.RFC3339, old.LastActiveAt); err == nil {
		when = ", " + ago(time.Since(last))
	}
	return continuation{session, fmt.Sprintf("continues %s: %s%s", session, count(len(old.Messages), "message"), when)}
}

// standard returns the session that a run gets which names none: main, or
// main-2 and so on where others have those before it. When the run begins, the
// daemon decides anew.
func (c *connection) standard(ctx context.Context) string {
	const most = 100
	for n := 1; n <= most; n++ {
		name := session.Default
		if n > 1 {
			name = fmt.Sprintf("%s-%d", session.Default, n)
		}
		var s wire.SessionGetResult
		if err := c.Call(ctx, wire.MethodSessionGet, &wire.SessionParams{Session: name}, &s); err != nil || !s.Locked {
			return name // one that is not there yet is begun
		}
	}
	return session.Default
}

// run runs an agent to its end. When ctx ends, the run is cancelled.
func (c *connection) run(ctx context.Context, p *wire.RunParams, t *timeline) (*wire.RunResult, error) {
	if p.Run == "" {
		p.Run = runID()
	}
	return c.toItsEnd(ctx, wire.MethodRun, p, p.Run, cmp.Or(p.Agent, "main"), t)
}

// toItsEnd sends a request that is answered when a run has ended, and shows the
// run. When ctx ends, the run is cancelled.
func (c *connection) toItsEnd(ctx context.Context, method string, params any, run, agent string, t *timeline) (*wire.RunResult, error) {
	result := new(wire.RunResult)
	// The run ends by itself when ctx is done: the request is cancelled, and is
	// answered with the result all the same.
	call := context.WithoutCancel(ctx)
	stop := context.AfterFunc(ctx, func() {
		_ = c.Call(call, wire.MethodCancel, &wire.CancelParams{Run: run}, nil) // the answer to the run says how it ended
	})
	defer stop()
	end := t.watch(agent)
	err := c.Call(call, method, params, result)
	end()
	if err != nil {
		return nil, err
	}
	t.end(&result.RunFinished)
	if result.Reason == "TIMEOUT" || result.Reason == "MAX_TURNS" {
		t.say("To give it more: agentls sessions resume %s", tool.Escape(result.Session))
	}
	return result, nil
}

// runID returns an id for a run, which is no other run's of this process.
func runID() string {
	return fmt.Sprintf("cli-%s-%d", time.Now().UTC().Format("20060102T150405.000000000"), os.Getpid())
}

// verdict turns a run's end into the process's.
func verdict(ctx context.Context, r *wire.RunResult) error {
	switch {
	case r.Reason == "GOAL":
		return nil
	case ctx.Err() != nil:
		return exit{exitInterrupted}
	}
	return exit{exitFailed}
}
