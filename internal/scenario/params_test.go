package scenario_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.lsp.dev/jsonrpc2"

	"github.com/agentls/agentls/internal/modelserver"
	"github.com/agentls/agentls/internal/wire"
)

// shape is what a test needs of a JSON Schema.
type shape struct {
	Ref        string           `json:"$ref"`
	Type       string           `json:"type"`
	Properties map[string]shape `json:"properties"`
	Required   []string         `json:"required"`
}

// TestREL19ParamsOfEveryMethod sends to each method that the schema has what its
// parameters are not: each is answered -32602 with the path of the member, and
// none of them changes anything.
func TestREL19ParamsOfEveryMethod(t *testing.T) {
	text, err := os.ReadFile("../../docs/protocol.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Methods map[string]struct {
			Direction string `json:"direction"`
			Params    shape  `json:"params"`
		} `json:"x-methods"`
		Defs map[string]shape `json:"$defs"`
	}
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	resolve := func(s shape) shape {
		for s.Ref != "" {
			s = schema.Defs[strings.TrimPrefix(s.Ref, "#/$defs/")]
		}
		return s
	}
	dir := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	editor, leave := edit(ctx, t, dir, modelserver.New(modelserver.Config{}), "")
	// refused sends params, and holds the answer to one of the paths.
	refused := func(method, params string, paths ...string) {
		t.Helper()
		err := editor.Call(ctx, method, rawParams([]byte(params)), nil)
		var data struct {
			Kind string `json:"kind"`
			Path string `json:"path"`
		}
		_ = json.Unmarshal([]byte(dataOf(err)), &data) // without data there is no path, which is told below
		e, ok := errors.AsType[*jsonrpc2.Error](err)
		if !ok || e.Code != jsonrpc2.InvalidParams || data.Kind != "invalid" || !slices.Contains(paths, data.Path) {
			t.Errorf("%s %s: %v %+v, want -32602 with a path of %q", method, params, err, data, paths)
		}
	}
	methods, members := 0, 0
	for method, m := range schema.Methods {
		if m.Direction != "requests from the client" {
			continue
		}
		methods++
		params := resolve(m.Params)
		for _, none := range []string{`[]`, `[1]`} {
			refused(method, none, "")
		}
		if len(params.Required) > 0 {
			refused(method, `{}`, params.Required...)
			refused(method, `{"somethingElse": 1}`, params.Required...)
		}
		for name, member := range params.Properties {
			wrong := map[string][]string{
				"string": {`5`, `[]`, `{}`}, "integer": {`"x"`, `[]`, `1.5`, `true`}, "number": {`"x"`}, "boolean": {`"x"`, `1`},
				"array": {`5`, `{}`, `"x"`}, "object": {`5`, `"x"`, `[]`},
			}[resolve(member).Type]
			for _, value := range wrong {
				members++
				refused(method, `{"`+name+`": `+value+`}`, name)
			}
			if slices.Contains(params.Required, name) && wrong != nil {
				refused(method, `{"`+name+`": null}`, params.Required...)
			}
			refused(method, `{"`+name+`": 1, "`+name+`": 1}`, name)
		}
	}
	if methods < 20 || members < 60 {
		t.Errorf("only %d methods and %d wrong members were tried: the schema has another form", methods, members)
	}
	// What is not known is ignored, and nothing that came before has left a trace.
	var sessions wire.SessionListResult
	if err := editor.Call(ctx, wire.MethodSessionList, rawParams([]byte(`{"somethingElse": {"a": [1]}}`)), &sessions); err != nil || len(sessions.Sessions) != 0 {
		t.Errorf("%+v, %v", sessions, err)
	}
	leave()
	if logs, err := filepath.Glob(filepath.Join(dir, "home", "agentls", "sessions", "*", "*")); err != nil || len(logs) > 0 {
		t.Errorf("left: %q, %v", logs, err)
	}
}
