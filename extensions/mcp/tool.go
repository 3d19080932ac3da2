package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/sandbox"
)

// maxDescription is how many characters of a description go to a model (SEC-83).
const maxDescription = 2_000

// description returns a text of a server as a model is told it: without what is
// not seen, and cut.
func description(text string) string {
	text, whole := tool.CutLine(tool.Escape(text), maxDescription)
	if !whole {
		text += " […]"
	}
	return text
}

// serverTool is a tool of a server, as it is offered in a folder.
// It is valid as long as the description and the tool's digest are those with which it
// was made: entry.call checks both before each call. It is not changed once setNames has
// named it.
type serverTool struct {
	owner  *entry
	server Server
	name   string // as the server has it
	spec   tool.Spec
	check  *tool.Schema
}

var _ tool.Tool = (*serverTool)(nil)

// newTool returns a listed tool as agents are offered it. Its name for models may still
// be that of another: see [setNames].
func newTool(owner *entry, server Server, l listed) *serverTool {
	text := "A tool of the MCP server " + server.Name + "."
	if l.Description != "" {
		text += " The server describes it so: " + l.Description
	}
	return &serverTool{
		owner: owner, server: server, name: l.Name,
		spec: tool.Spec{
			Name: canonicalName(server.Name, l.Name), Model: modelName(server.Name, l.Name),
			Risk:        riskOf(server, l.Name),
			Description: text, Parameters: json.RawMessage(l.Schema),
		},
		// What fits is the server's own business: it has the schema as it wrote it.
		check: tool.NewSchema(json.RawMessage(`{"type": "object"}`), nil),
	}
}

// riskOf is the tier of a tool: what the server says of it counts for nothing
// (SEC-91).
func riskOf(s Server, name string) tool.Risk {
	switch {
	case slices.Contains(s.SafeTools, name):
		return tool.Safe
	case s.Trust:
		return tool.Low
	}
	return tool.Medium
}

// Spec implements [tool.Tool].
func (t *serverTool) Spec() tool.Spec { return t.spec }

// Plan implements [tool.Tool].
// Any arguments that are an object fit. An error is a *tool.Error for the model; a call
// whose arguments hold a secret is CodeDenied, whatever the policy says.
func (t *serverTool) Plan(_ context.Context, env *tool.Env, args json.RawMessage) (*tool.Plan, error) {
	args, err := t.check.Check(args)
	if err != nil {
		return nil, err
	}
	// Before anybody is asked: a yes does not send a secret either.
	if env.Secret != nil && env.Secret(string(args)) {
		return nil, tool.Errorf(tool.CodeDenied,
			"The arguments hold a key or password that agentls keeps secret, as it is or encoded. It is never sent.")
	}
	s := t.server
	plan := &tool.Plan{
		Tool: t.spec.Name, Args: args, Risk: t.spec.Risk, Why: "calls the MCP server " + s.Name, Title: t.spec.Name,
		Preview: tool.Preview{Kind: "mcp", Server: s.Name},
		Spawns:  true,
		// A wall without a network keeps what it is told on this machine; of a safe tool
		// the person has said that it only reads.
		Leaves: t.spec.Risk != tool.Safe && !t.owner.offline(s),
		Shape:  "call of " + s.Digest, Covers: fmt.Sprintf("any call of %s of the MCP server %s", t.name, s.Name),
		Do: func(ctx context.Context, env *tool.Env) (*tool.Result, error) {
			return t.call(ctx, env, args)
		},
	}
	if tool.Suspicious(string(args)) {
		plan.Risk, plan.Why = plan.Risk.Raise(), plan.Why+"; its arguments hold characters that are not seen"
	}
	risk, why := placesIn(env, args)
	if plan.Risk = plan.Risk.Max(risk); why != "" {
		plan.Why += "; " + why
	}
	return plan, nil
}

// placesIn returns how much the paths in arguments raise a call, and why: one
// outside of the workspace, and one that file tools protect (spec 4.2, 11.1).
func placesIn(env *tool.Env, args json.RawMessage) (worst tool.Risk, why string) {
	worst = tool.Safe
	env = tool.Together(env)
	var value any
	if json.Unmarshal(args, &value) != nil {
		return tool.Unclassified, "its arguments cannot be read"
	}
	// What an argument means only the server knows, so each text is judged as the path that it
	// could be.
	for _, text := range texts(value, nil) {
		path, ok := pathIn(env, text)
		if !ok {
			continue
		}
		risk, what := tool.Safe, ""
		place, err := tool.Resolve(env, path)
		var bad *tool.Error
		switch {
		case errors.As(err, &bad) && bad.Code == tool.CodeOutside:
			risk, what = tool.High, "outside of the workspace"
		case err != nil: // no path that there could be
		case place.Credential:
			risk, what = tool.Protected, "a file that holds credentials"
		case place.Protected:
			risk, what = tool.Protected, "a protected place ("+place.ProtectedBy+")"
		}
		if risk > worst {
			worst, why = risk, tool.Name(text)+" is "+what
		}
	}
	return worst, why
}

// pathIn returns the path that a text of the arguments is, if it looks like one.
// A relative path is as it was written; [tool.Resolve] knows what it is relative to.
func pathIn(env *tool.Env, text string) (string, bool) {
	if len(text) > 4096 || strings.ContainsAny(text, "\n\x00") {
		return "", false
	}
	if rest, ok := strings.CutPrefix(text, "file:"); ok {
		if u, err := url.Parse("file:" + rest); err == nil && u.Path != "" {
			return u.Path, true
		}
		return rest, true
	}
	if text == "~" || strings.HasPrefix(text, "~/") {
		return filepath.Join(env.HomeFolder(), strings.TrimPrefix(text, "~")), true
	}
	// An address of any other scheme is no path.
	if strings.Contains(text, "://") {
		return "", false
	}
	// A word that is no path resolves to a file that is not there, and harms nothing.
	return text, strings.ContainsAny(text, `/\`) || (text != "" && len(text) <= 255 &&
		!strings.ContainsAny(text, " \t\r"))
}

// texts returns every text in a value, names too.
// They are appended to all, in no order.
func texts(value any, all []string) []string {
	switch v := value.(type) {
	case string:
		all = append(all, v)
	case []any:
		for _, one := range v {
			all = texts(one, all)
		}
	case map[string]any:
		for name, one := range v {
			all = texts(one, append(all, name))
		}
	}
	return all
}

// call does a call. What goes wrong is for the model.
// The error is a *tool.Error, or that of ctx where it has ended.
func (t *serverTool) call(ctx context.Context, env *tool.Env, args json.RawMessage) (*tool.Result, error) {
	raw, err := t.owner.call(ctx, t.server, t.name, args, env)
	var refused *tool.Error
	switch {
	case errors.As(err, &refused), ctx.Err() != nil:
		return nil, err
	case err != nil:
		return nil, tool.Errorf(tool.CodeFailed, "The MCP server %s did not do it: %s.", t.server.Name, errorText(err))
	}
	result, err := readResult(raw)
	if err != nil {
		return nil, tool.Errorf(tool.CodeFailed, "The MCP server %s answered, but %s.", t.server.Name, errorText(err))
	}
	return result, nil
}

// errorText is an error of a server, as it is told: not long, and without what is not
// seen.
func errorText(err error) string {
	text, whole := tool.CutLine(tool.Escape(strings.TrimRight(err.Error(), ".\n ")), 500)
	if !whole || !utf8.ValidString(text) {
		text += " […]"
	}
	return text
}

// offline reports whether a server behind its wall reaches no network.
// It is false where in doubt.
func (e *entry) offline(s Server) bool {
	if s.Sandbox != sandbox.Read && s.Sandbox != sandbox.Write {
		return false
	}
	box := e.all.Sandbox(e.folder)
	if box == nil {
		return false
	}
	wall, _ := box.Wall()
	return wall != sandbox.None
}

// Server returns the name of the server that the tool is of.
func (t *serverTool) Server() string { return t.server.Name }
