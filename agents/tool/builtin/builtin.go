package builtin

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/fault"
)

//go:embed *.md
var descriptions embed.FS

// Config is what the tools need from the program that they are part of. The
// zero Config is one that gives nothing.
type Config struct {
	// Reaper has commands of bash run under a reaper, where there are some (see
	// package process). With it, nothing that a command has started outlives the
	// daemon, however that ends (REL-76); without it, only what is not a child of
	// a child of the daemon's.
	Reaper bool
	// Web has the limits of web_fetch.
	Web Web
}

// Tools returns the built-in tools, in the order in which they are documented.
// They are made anew with each call, share nothing, and are safe for concurrent
// use.
func (c Config) Tools() []tool.Tool {
	return []tool.Tool{readFile(), readManyFiles(), list(), glob(), grep(), diagnostics(), symbols(), definition(),
		references(), writeFile(), editFile(), applyPatch(), deleteFile(), moveFile(), bash(c.Reaper),
		gitCommit(c.Reaper), webFetch(c.Web), webSearch(), saveMemory(), storeMemory(), recallMemory(), writeTodos(),
		getState(), setState(), askUser()}
}

// Tools returns the built-in tools of the zero Config.
func Tools() []tool.Tool { return Config{}.Tools() }

// builtin is a tool as this package makes them: planning starts with arguments
// that fit the schema.
//
// What all tools of the package have in common is here: arguments are checked and
// brought to their canonical form before plan sees them, and the plan gets tool,
// arguments and at least the tool's own risk after.
type builtin[A any] struct {
	// As models and people are told it, with the least risk.
	spec tool.Spec
	// Checks arguments and brings them to their canonical form.
	schema *tool.Schema
	plan   func(ctx context.Context, env *tool.Env, args A) (*tool.Plan, error)
}

// define returns a tool. The description is NAME.md of this package.
// aliases maps other spellings of an argument to the one of the schema; nil = none. A
// missing description is a mistake in the program and panics.
func define[A any](name string, risk tool.Risk, parameters string, aliases map[string]string,
	plan func(context.Context, *tool.Env, A) (*tool.Plan, error)) *builtin[A] {
	text, err := descriptions.ReadFile(name + ".md")
	if err != nil {
		panic("builtin: no description: " + err.Error()) // the file is part of the program; a test makes every tool
	}
	return &builtin[A]{
		spec: tool.Spec{Name: name, Risk: risk, Description: strings.TrimSpace(string(text)),
			Parameters: json.RawMessage(parameters)},
		schema: tool.NewSchema(json.RawMessage(parameters), aliases),
		plan:   plan,
	}
}

// Spec implements [tool.Tool].
func (b *builtin[A]) Spec() tool.Spec { return b.spec }

// Plan implements [tool.Tool].
// Refused with CodeArgs are arguments that do not fit the schema, and numbers that fit it
// but not the Go type, as 1e300 for a line. A plan that is riskier than the tool stays so;
// one that claims less is raised to the tool's risk.
func (b *builtin[A]) Plan(ctx context.Context, env *tool.Env, raw json.RawMessage) (*tool.Plan, error) {
	canonical, err := b.schema.Check(raw)
	if err != nil {
		return nil, err
	}
	var args A
	if err := json.Unmarshal(canonical, &args); err != nil {
		var misfit *json.UnmarshalTypeError
		if errors.As(err, &misfit) && strings.HasPrefix(misfit.Value,
			"number ") { // an integer to the schema, which knows no sizes
			return nil, tool.Errorf(tool.CodeArgs, "The arguments do not fit the tool:\n/%s: the %s is out of range",
				strings.ReplaceAll(misfit.Field, ".", "/"), misfit.Value)
		}
		return nil, fmt.Errorf("arguments that fit their schema do not fit %s: %w", b.spec.Name, err)
	}
	p, err := b.plan(ctx, env, args)
	if err != nil {
		return nil, err
	}
	// Set here and not by the tools, so that what the person is shown and the token is for are
	// the arguments as they were checked.
	p.Tool, p.Args = b.spec.Name, canonical
	p.Risk = p.Risk.Max(b.spec.Risk)
	return p, nil
}

// fileAliases are the other spellings of a file's argument, folderAliases those
// of a folder's (spec 4.1).
var (
	fileAliases = map[string]string{"path": "file_path", "absolute_path": "file_path", "filePath": "file_path",
		"filename": "file_path", "file": "file_path"}
	folderAliases = map[string]string{"path": "dir_path", "absolute_path": "dir_path", "dirPath": "dir_path",
		"directory": "dir_path", "dir": "dir_path"}
)

// join returns the entries of several alias tables in one.
// A later table wins.
func join(tables ...map[string]string) map[string]string {
	all := make(map[string]string)
	for _, t := range tables {
		for k, v := range t {
			all[k] = v
		}
	}
	return all
}

// read returns the file at a place, as the person sees it. What is wrong with
// it is an *Error that the model can act on.
// It does not check credentials or rules: tools that show content call fetch.
// An open document comes from memory, as the person sees it.
func read(ctx context.Context, env *tool.Env, p tool.Place) (*tool.File, error) {
	if p.IsDir() {
		return nil, tool.Errorf(tool.CodeFailed, "%s is a folder, not a file; list it with ls.", tool.Name(p.Rel))
	}
	f, err := env.Files.Read(ctx, p.Real)
	if err != nil {
		return nil, explain(err, p)
	}
	return f, nil
}

// explain turns what the editor's side says about a file into an *Error.
// A kind that is not listed, such as a cancelled context, is returned as it is, so that
// the run ends and the model does not try again.
func explain(err error, p tool.Place) error {
	if err == nil {
		return nil
	}
	name := tool.Name(p.Rel)
	switch fault.KindOf(err) {
	case fault.NotFound:
		return tool.Errorf(tool.CodeNotFound, "%s does not exist.", name)
	case fault.Denied:
		return tool.Errorf(tool.CodeOutside, "%s: %s", name, fault.Message(err))
	// Invalid is how [tool.Files] refuses a file that is too large.
	case fault.Invalid:
		return tool.Errorf(tool.CodeTooLarge, "%s: %s", name, fault.Message(err))
	case fault.Stale:
		return tool.Errorf(tool.CodeStale,
			"%s changed while it was worked on. Read it again and repeat the call with what it holds now.", name)
	case fault.Unavailable:
		return tool.Errorf(tool.CodeFailed, "%s: %s", name, fault.Message(err))
	}
	return err
}
