package spine_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentls/agentls/internal/wire"
)

// schema is what is read of docs/protocol.schema.json.
type schema struct {
	Ref        string            `json:"$ref"`
	Type       string            `json:"type"`
	AnyOf      []schema          `json:"anyOf"`
	Enum       []json.RawMessage `json:"enum"`
	Required   []string          `json:"required"`
	Properties map[string]schema `json:"properties"`

	Defs    map[string]schema `json:"$defs"`
	Methods map[string]struct {
		Direction string `json:"direction"`
		Params    schema `json:"params"`
	} `json:"x-methods"`
}

// examples has a value of each kind of JSON.
var examples = map[string]string{"string": `"x"`, "number": `1.5`, "boolean": `true`, "array": `[]`, "object": `{}`}

// kinds adds the kinds of JSON that fit a schema; any says that all may.
func (s schema) kinds(root schema, to map[string]bool) (any bool) {
	switch {
	case s.Ref != "":
		return root.Defs[s.Ref[strings.LastIndexByte(s.Ref, '/')+1:]].kinds(root, to)
	case len(s.AnyOf) > 0:
		for _, one := range s.AnyOf {
			any = one.kinds(root, to) || any
		}
		return any
	case s.Type == "":
		return true
	}
	to[s.Type] = true
	return false
}

// wrong returns values that do not fit a schema.
func (s schema) wrong(root schema) (list []string) {
	fit := map[string]bool{}
	if s.kinds(root, fit) {
		return nil
	}
	for _, kind := range slices.Sorted(maps.Keys(examples)) {
		if !fit[kind] { // 1.5 is no integer
			list = append(list, examples[kind])
		}
	}
	return list
}

// right returns a value that may fit a schema.
func (s schema) right(root schema) string {
	fit := map[string]bool{}
	switch {
	case s.kinds(root, fit):
		return `{}`
	case len(s.Enum) > 0:
		return string(s.Enum[0])
	case fit["integer"]:
		return "1"
	}
	for _, kind := range slices.Sorted(maps.Keys(examples)) {
		if fit[kind] {
			return examples[kind]
		}
	}
	return "null"
}

// TestREL19ParamsOfEveryMethod is made from docs/protocol.schema.json: for each
// method of the daemon's, params that are missing, null, of a wrong type or with
// a wrong member are refused by the member's name, also beside members that
// nobody knows, and nothing changes.
func TestREL19ParamsOfEveryMethod(t *testing.T) {
	leaks(t)
	raw, err := os.ReadFile("../../docs/protocol.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var root schema
	if err := json.Unmarshal(raw, &root); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, "< Hello.\n")
	near, far := net.Pipe()
	h := w.serve(far)
	c := h.bare(near)
	asked := 0
	ask := func(method, params string) (code int, path string, raw string) {
		t.Helper()
		asked++
		body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q`, asked, method)
		if params != "" {
			body += `,"params":` + params
		}
		c.send(body + "}")
		m, err := c.Answer(fmt.Sprint(asked))
		if err != nil {
			t.Fatalf("%s %s: %v\n%s", method, params, err, h.said.String())
		}
		if m.Error != nil {
			var data struct{ Path string }
			if err := json.Unmarshal(m.Error.Data, &data); err != nil {
				t.Fatalf("%s %s: %s", method, params, m.Raw)
			}
			path = data.Path
		}
		return m.Code(), path, m.Raw
	}
	refused := func(method, params string, paths ...string) {
		t.Helper()
		code, path, raw := ask(method, params)
		fits := slices.ContainsFunc(paths, func(p string) bool { return path == p || (p != "" && strings.HasPrefix(path, p+".")) })
		if code != -32602 || !fits {
			t.Errorf("%s %s is answered %.300s, want -32602 for one of %q", method, params, raw, paths)
		}
	}
	_, _, sessions := ask(wire.MethodSessionList, `{}`)
	before := tree(t, w)
	methods := 0
	for _, method := range slices.Sorted(maps.Keys(root.Methods)) {
		m := root.Methods[method]
		if m.Direction != "requests from the client" || m.Params.Ref == "" {
			continue
		}
		methods++
		params := root.Defs[strings.TrimPrefix(m.Params.Ref, "#/$defs/")]
		for _, bad := range []string{`5`, `"x"`, `true`, `[]`} {
			refused(method, bad, "")
		}
		if len(params.Required) > 0 {
			for _, none := range []string{"", `null`, `{}`, `{"nobody":{"knows":[1]}}`} {
				refused(method, none, params.Required...)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(params.Properties)) {
			for _, bad := range params.Properties[name].wrong(root) {
				members := map[string]json.RawMessage{"nobody-knows": json.RawMessage(`[{}]`)}
				for _, other := range params.Required {
					members[other] = json.RawMessage(params.Properties[other].right(root))
				}
				members[name] = json.RawMessage(bad)
				all, err := json.Marshal(members)
				if err != nil {
					t.Fatal(err)
				}
				refused(method, string(all), name)
			}
		}
	}
	if methods < 15 || asked < 10*methods {
		t.Errorf("%d methods were asked %d times: the schema is not what this test reads", methods, asked)
	}
	if after := tree(t, w); !maps.Equal(before, after) {
		t.Errorf("the files were %v and are %v", before, after)
	}
	asked = 0 // so that the answer is the same
	if _, _, after := ask(wire.MethodSessionList, `{"nobody":"knows"}`); after != sessions {
		t.Errorf("the sessions were %s and are %s", sessions, after)
	}
	if got := w.model.Failures(); len(got) > 0 {
		t.Error(got)
	}
}

// tree returns what is in the workspace and the person's folder.
func tree(t testing.TB, w *world) map[string]string {
	t.Helper()
	all := make(map[string]string)
	err := filepath.WalkDir(filepath.Dir(w.dir), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		all[path] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
