package agenttest

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

const published = "../../docs/agent-test.schema.json"

// TestSchema holds the published JSON Schema to the types, and the examples of the page to
// the schema. Run with UPDATE=1 to write it.
func TestSchema(t *testing.T) {
	want, err := generate()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{published, "agent-test.schema.json"} {
		if os.Getenv("UPDATE") != "" {
			if err := os.WriteFile(name, want, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(name)
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%s is not what the types say (%v): UPDATE=1 go test ./agents/agenttest -run TestSchema", name, err)
		}
	}
	page, err := os.ReadFile("../../docs/tests.md")
	if err != nil {
		t.Fatal(err)
	}
	schema, err := jsonschema.NewCompiler().Compile(published)
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(page), "```yaml\n")
	text, _, _ = strings.Cut(text, "```")
	if _, err := Parse("tests.md", []byte(text)); err != nil {
		t.Error(err)
	}
	for text, fits := range map[string]bool{
		text: true, "tests: [{name: a, model: [], expect: {}}]": true, "tests: [{name: a, modell: [], expect: {}}]": false, "tests: [{name: a, model: [], expect: {tools: [1]}}]": false,
	} {
		var value any
		data, err := yaml.YAMLToJSON([]byte(text))
		if err == nil {
			value, err = jsonschema.UnmarshalJSON(bytes.NewReader(data))
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(value); (err == nil) != fits {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// generate makes the schema from the types of file.go and their comments.
func generate() ([]byte, error) {
	f, err := parser.ParseFile(token.NewFileSet(), "file.go", nil, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	docs := make(map[string]string) // of Type.Field
	ast.Inspect(f, func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok {
			return true
		}
		if s, ok := spec.Type.(*ast.StructType); ok {
			for _, field := range s.Fields.List {
				for _, name := range field.Names {
					docs[spec.Name.Name+"."+name.Name] = strings.Join(strings.Fields(field.Doc.Text()), " ")
				}
			}
		}
		return true
	})
	root := schemaOf(reflect.TypeFor[File](), docs, "")
	root["$schema"], root["title"] = "https://json-schema.org/draft/2020-12/schema", "Tests of an agent (*"+Suffix+")"
	data, err := json.MarshalIndent(root, "", "  ")
	return append(data, '\n'), err
}

func schemaOf(t reflect.Type, docs map[string]string, path string) map[string]any {
	switch t.Kind() {
	case reflect.Pointer:
		inner := schemaOf(t.Elem(), docs, path)
		if t.Elem().Kind() == reflect.String {
			inner["type"] = []string{"string", "null"}
		}
		return inner
	case reflect.String:
		one := map[string]any{"type": "string"}
		if values := choices[path]; values != nil {
			one["enum"] = values
		}
		return one
	case reflect.Slice:
		return map[string]any{"type": "array", "items": schemaOf(t.Elem(), docs, path+"[]")}
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": schemaOf(t.Elem(), docs, path+".*")}
	case reflect.Struct:
		properties, required := map[string]any{}, []string{}
		for i := range t.NumField() {
			field := t.Field(i)
			name, options, _ := strings.Cut(field.Tag.Get("yaml"), ",")
			if name == "-" {
				continue
			}
			one := schemaOf(field.Type, docs, strings.TrimPrefix(path+"."+name, "."))
			one["description"] = docs[t.Name()+"."+field.Name]
			properties[name] = one
			if options == "" {
				required = append(required, name)
			}
		}
		object := map[string]any{"type": "object", "additionalProperties": false, "properties": properties}
		if len(required) > 0 {
			object["required"] = required
		}
		return object
	}
	return map[string]any{} // any value
}
