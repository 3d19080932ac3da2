// Package guardrail judges what goes in and out of an agent (spec 6.1): by a JSON
// Schema, and by validators. A guard that cannot judge lets nothing pass: an error of a
// validator is a finding of its own.
//
// # Use
//
// A run makes a [Guard] of each entry of its agent's file with [New] and asks them in
// the order of the file ([Guard.Judge]). What follows from a finding (reject, repair,
// warn) is the run's business; see run/guards.go. The validators that need more than a
// text (executables, other agents, what is secret) are functions of [Config], which
// package agents fills in.
package guardrail

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/condition"
	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/fault"
)

// Subject is what a guard judges. Guards only read it.
type Subject struct {
	Text   string          // what the agent was asked, or what it said
	Output json.RawMessage // its structured result; nil without
	Values map[string]any  // what conditions know besides output (spec 5.2); may be nil
}

// Validator judges a result, or a text as JSON. Without findings it passes. The error
// says why it could not be judged. It should return soon after ctx ends; it may be
// called from several goroutines.
type Validator func(ctx context.Context, output json.RawMessage) ([]activity.GuardError, error)

// Config is what guards need of the program. Functions that are nil are validators that
// there are not. They are called with the context of Judge, and may block.
type Config struct {
	// Command runs an executable that was found with arguments, input on its standard
	// input. It must end what it started when ctx ends, and print no more than
	// MaxOutput counts.
	Command func(ctx context.Context, path string, args []string, input []byte) (tool.Ended, error)
	// Find returns the path of an executable: of command: as it was written there, of a
	// bare name (bare) the one in a folder of validators; "" for none.
	Find func(name string, bare bool) string
	// Agent has another agent judge. It is a run of its own, below the one that is
	// judged.
	Agent func(ctx context.Context, name string, output json.RawMessage) ([]activity.GuardError, error)
	// Secret says what a text holds that must not leave the machine; "" for nothing.
	// The answer names a kind of secret and not the secret.
	Secret func(ctx context.Context, text string) (string, error)
	// Disaster says why a shell command would destroy something; "" for one that would not.
	Disaster func(command string) string
	// Registered are validators in Go, by name.
	Registered map[string]Validator
}

// Guard is a guard of an agent, ready to judge. It is safe for concurrent use.
type Guard struct {
	definition.Guard
	config Config
	schema func() (*jsonschema.Schema, error) // compiled at the first use
	judge  func(ctx context.Context, s Subject) ([]activity.GuardError, error)
}

// New returns a guard. One whose validator there is not fails each time. Nothing is
// compiled or looked up on disk but the executable of a bare name.
func New(g definition.Guard, c Config) *Guard {
	guard := &Guard{Guard: g, config: c}
	// Once for all: a guard judges again after each repair.
	guard.schema = sync.OnceValues(func() (*jsonschema.Schema, error) { return tool.CompileSchema(g.Schema, true) })
	if g.Validator != "" {
		guard.judge = guard.validator(g.Validator)
	}
	return guard
}

// Judge returns what is wrong with a subject: nothing where it passes. A subject that
// could not be judged has failed, for that reason: broken is true then, and no other
// output would help. It blocks for its validator: Patience for an executable, as long
// as ctx for an agent. A schema is judged first, and a validator only where that has
// found nothing.
func (g *Guard) Judge(ctx context.Context, s Subject) (found []activity.GuardError, broken bool) {
	if g.Schema != nil {
		value, err := s.value()
		if err != nil {
			// Not broken: the model can answer again, with JSON.
			return []activity.GuardError{{Message: err.Error()}}, false
		}
		schema, err := g.schema()
		if err != nil {
			return []activity.GuardError{{Message: "the guard's schema cannot be used: " + err.Error()}}, true
		}
		found = misfits(schema.Validate(value))
	}
	if g.judge == nil || len(found) > 0 { // a validator need not expect what the schema refuses
		return found, false
	}
	found, err := g.judge(ctx, s)
	if err != nil {
		return []activity.GuardError{{Message: fmt.Sprintf("the validator %s could not judge: %v", g.Validator, err)}},
			true
	}
	return found, false
}

// validator returns a guard's validator (spec 6.1).
//
// One that is not there is a validator that always fails: a guard which cannot judge must
// not let anything pass.
func (g *Guard) validator(name string) func(context.Context, Subject) ([]activity.GuardError, error) {
	kind, rest, prefixed := strings.Cut(name, ":")
	switch {
	case prefixed && kind == "builtin":
		return g.builtin(rest)
	case prefixed && kind == "expr":
		return expression(rest)
	case prefixed && kind == "agent":
		return asJSON(func(ctx context.Context, output json.RawMessage) ([]activity.GuardError, error) {
			if g.config.Agent == nil {
				return nil, fmt.Errorf("no agents can be asked here")
			}
			return g.config.Agent(ctx, rest, output)
		})
	case prefixed && kind == "command":
		return asJSON(g.command(rest, false))
	}
	// A bare name: built in, else an executable, else registered in Go.
	if definition.BuiltinValidator(name) {
		return g.builtin(name)
	}
	if g.config.Find != nil && g.config.Find(name, true) != "" {
		return asJSON(g.command(name, true))
	}
	if v := g.config.Registered[name]; v != nil {
		return asJSON(v)
	}
	return func(context.Context, Subject) ([]activity.GuardError, error) {
		return nil, fmt.Errorf("there is no such validator")
	}
}

// asJSON has a validator judge the result, or the text where there is none, as JSON: a
// text that is JSON itself as what it is. It is what an executable reads on its
// standard input, too.
func asJSON(v Validator) func(context.Context, Subject) ([]activity.GuardError, error) {
	return func(ctx context.Context, s Subject) ([]activity.GuardError, error) { return v(ctx, s.json()) }
}

// expression is the validator expr:. It knows the values of conditions and output. It
// is compiled at its first use.
func expression(text string) func(context.Context, Subject) ([]activity.GuardError, error) {
	compile := sync.OnceValues(func() (*condition.Condition, error) { return condition.Compile(text, definition.ConditionNames...) })
	return func(_ context.Context, s Subject) ([]activity.GuardError, error) {
		c, err := compile()
		if err != nil {
			return nil, fmt.Errorf("%s", fault.Message(err))
		}
		// A copy, since output is added and the subject is the caller's.
		values := map[string]any{}
		maps.Copy(values, s.Values)
		var output any
		if err := json.Unmarshal(s.json(), &output); err != nil {
			return nil, err
		}
		values["output"] = output
		holds, err := c.Holds(values)
		if err != nil || holds {
			return nil, err
		}
		return []activity.GuardError{{Message: "does not hold: " + text}}, nil
	}
}
