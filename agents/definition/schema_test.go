package definition

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/agentls/agentls/internal/pattern"
)

// numbered repeats an entry with the numbers from 0.
func numbered(n int, entry string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, entry, i)
	}
	return b.String()
}

// properties is an output whose properties all have one schema; %d in it is the
// property's number.
func properties(n int, schema string) string {
	return "output:\n  schema:\n    type: object\n    properties:\n" + numbered(n, "      field_%[1]d: "+schema+"\n")
}

// TestHonestSchemasAreRead: what people write is not taken for what is made to cost
// time: fields by the dozen with one pattern, or with one each, fields by the
// hundred, and values of any size.
func TestHonestSchemasAreRead(t *testing.T) {
	values := func(key string, n int, entry string) string {
		return "output:\n  schema:\n    " + key + ":\n" + strings.Repeat("    - "+entry+"\n", n)
	}
	for name, yaml := range map[string]string{
		"no markup":            properties(49, `{type: string, pattern: '^[^<>]{1,1000}$'}`),
		"no markup, each own":  properties(49, `{type: string, pattern: '^[^<>]{1,1000}%[1]d$'}`),
		"short text":           properties(90, `{type: string, pattern: '^.{1,500}$'}`),
		"ids":                  properties(190, `{type: string, pattern: '^[A-Za-z0-9_-]{1,255}$'}`),
		"ids, each own":        properties(180, `{type: string, pattern: '^[A-Za-z0-9_-]{1,255}%[1]d$'}`),
		"names":                properties(700, `{type: string, pattern: '^[a-z0-9-]{1,63}$'}`),
		"Chinese names":        properties(700, `{type: string, pattern: '^[一-龥]{2,20}$'}`),
		"Chinese, each own":    properties(400, `{type: string, pattern: '^[一-龥]{2,20}%[1]d$'}`),
		"bounded by length":    properties(700, `{type: string, pattern: '^[^<>]+$', maxLength: 1000}`),
		"plain":                properties(1000, `{type: string, description: It is %[1]d}`),
		"lists":                properties(600, `{type: array, items: {type: string}}`),
		"references":           properties(500, `{$ref: '#/$defs/text'}`) + "    $defs: {text: {type: string}}\n",
		"an id at the root":    properties(10, `{$ref: '#/$defs/text'}`) + "    $id: https://example.com/a\n    $defs: {text: {type: string}}\n" + "    examples:\n" + strings.Repeat("    - {a: {b: c}}\n", 1000),
		"examples":             values("examples", 500, "{a: true, b: x}"),
		"more examples":        values("examples", 1500, "{a: true, b: x}"),
		"enum":                 values("enum", 2000, "{a: 1}"),
		"default":              values("default", 2000, "{a: 1}"),
		"const":                values("const", 2000, "{a: 1}"),
		"patterns of values":   values("default", 1500, `{pattern: 'a{1000}'}`),
		"an id in a part":      properties(500, `{$ref: '#/$defs/a'}`) + "    $defs: {a: {$id: a, type: string}}\n    examples:\n" + strings.Repeat("    - {a: {b: x}}\n", 800),
		"ids in parts":         "output:\n  schema:\n    $defs: {a: {$id: a, $ref: '#/$defs/c', $defs: {c: {}}}, b: {$id: b, $ref: '#/$defs/d', $defs: {d: {}}}}\n    examples:\n" + strings.Repeat("    - {a: {b: x}}\n", 800),
		"an older draft":       properties(500, `{$ref: '#/definitions/text'}`) + "    $schema: http://json-schema.org/draft-07/schema#\n    definitions: {text: {type: string}}\n",
		"a newer key":          properties(500, `{$ref: '#/$defs/text'}`) + "    $schema: http://json-schema.org/draft-07/schema#\n    $defs: {text: {type: string}}\n",
		"properties in digits": "output: {schema: {properties: {'01': {type: string}, '+1': {$ref: '#/properties/01'}}}}\n",
		"one value is meant":   values("examples", 1500, "{a: 1}") + "    $ref: '#/examples/3'\n",
	} {
		d := parse(ownPath, own(yaml))
		if ok, _ := d.Usable(); !ok || len(d.Problems) > 0 {
			t.Errorf("%s, %d bytes: %v", name, len(yaml), d.Problems[0].Message)
		}
	}
}

// TestCostlySchemasSayWhatCosts: the reason is what is too much, and the advice what
// makes it less.
func TestCostlySchemasSayWhatCosts(t *testing.T) {
	for yaml, want := range map[string]string{
		properties(60, `{pattern: '^[^<>]{1,1000}$'}`):                                                        "repeat too much together, up to this one; write * or + for {…}, and how long a text may be as maxLength.",
		properties(60, `{pattern: '(?i)[!-\x{1E942}]%[1]d'}`):                                                 "fewer of \\p{…} and, after (?i), of wide ranges.",
		"output: {schema: {anyOf: [" + strings.Repeat("{},", 3000) + "{}]}}\n":                                "output.schema has 3002 schemas in it, which is more than can be checked quickly; describe fewer",
		properties(131, `{pattern: '\p{L}%[1]d'}`):                                                            "longer to read than is left for this file",
		"output: {schema: {$ref: '#/defs/a', examples: [" + strings.Repeat("{a: {b: x}},", 800) + "{}]}}\n":   "a $ref leads to #/defs/a, which is not there; correct it, or add that",
		"output: {schema: {$ref: '#/%64efs/a', examples: [" + strings.Repeat("{a: {b: x}},", 800) + "{}]}}\n": "a $ref leads to #/defs/a, which is not there; correct it, or add that",
		costly()["references to values"]:                                                                      "has many references to what is not under $defs",
		costly()["schemas with ids"]:                                                                          "many parts with an $id or anchor",
		costly()["schemas of a long key"]:                                                                     "shorten the keys.",
	} {
		d := parse(ownPath, own(yaml))
		if ok, reason := d.Usable(); ok || reason.Code != "agent/schema" || !strings.Contains(reason.Message, want) {
			t.Errorf("%.60q: %v %q, want %q", yaml, ok, reason.Message, want)
		}
	}
}

// TestSchemasInValuesCountWhereReferencesLead: a value is no place to hide a schema
// that a reference brings to be compiled.
func TestSchemasInValuesCountWhereReferencesLead(t *testing.T) {
	many := "{anyOf: [" + strings.Repeat("{},", 3000) + "{}]}"
	steps := "{anyOf: [" + strings.Repeat("{pattern: 'a{1000}'},", 51) + "{}]}"
	classes := "{pattern: '[\\p{L}\\p{N}]{900}'}"
	for _, dear := range []string{many, steps, classes} {
		for _, schema := range []string{
			"{$ref: '#/default', default: DEAR}",
			"{$dynamicRef: '#/default', default: DEAR}",
			"{$ref: '#/examples/1', examples: [a, DEAR]}",
			"{$ref: '#/enum/0/const/a~1b', enum: [{const: {a/b: DEAR}}]}",
			"{$ref: '#/%64efault', default: DEAR}",
			"{$ref: '#%2Fdefault', default: DEAR}",
			"{$ref: '#/x-own', x-own: DEAR}",
			"{$ref: '#/x-own/default', x-own: {default: DEAR}}",
			"{$ref: '#/default/0', default: [{$ref: '#/examples/0'}], examples: [DEAR]}",
			"{$ref: '#/default/0', default: [{$ref: 'schema.json#/examples/0'}], examples: [DEAR]}",
			"{allOf: [{$ref: '#/properties'}], properties: {properties: {default: DEAR}}}",
			"{properties: {a: {$id: b, $ref: '#/default', default: DEAR}}}",
			"{properties: {a: {$ref: '#/properties/b/default'}, b: {default: DEAR}}}",
			"{dependencies: {default: DEAR}}",
		} {
			d := parse(ownPath, own("output: {schema: "+strings.ReplaceAll(schema, "DEAR", dear)+"}\n"))
			if ok, reason := d.Usable(); ok || reason.Code != "agent/schema" || strings.Contains(reason.Message, "valid") {
				t.Errorf("%s with %.20s: %v", schema, dear, reason.Message)
			}
			d = parse(ownPath, own("output: {schema: "+strings.ReplaceAll(schema, "DEAR", "{type: string}")+"}\n"))
			if ok, reason := d.Usable(); !ok {
				t.Errorf("%s: %v", schema, reason.Message)
			}
		}
	}
}

// schemasOf counts the schemas that a compiled one leads to, itself among them.
func schemasOf(s *jsonschema.Schema) int {
	seen := map[*jsonschema.Schema]bool{}
	var look func(v reflect.Value)
	look = func(v reflect.Value) {
		switch v.Kind() {
		case reflect.Pointer:
			if s, ok := v.Interface().(*jsonschema.Schema); ok {
				if s == nil || seen[s] {
					return
				}
				seen[s] = true
			} else if _, ok := v.Interface().(*jsonschema.DynamicRef); !ok || v.IsNil() {
				return
			}
			for i := range v.Elem().NumField() {
				if v.Elem().Type().Field(i).IsExported() {
					look(v.Elem().Field(i))
				}
			}
		case reflect.Interface:
			look(v.Elem())
		case reflect.Slice:
			for i := range v.Len() {
				look(v.Index(i))
			}
		case reflect.Map:
			for _, entry := range v.Seq2() {
				look(entry)
			}
		}
	}
	look(reflect.ValueOf(s))
	return len(seen)
}

// TestAllThatIsCompiledIsCounted: whatever a schema looks like and wherever its
// references lead, each pattern that the library asks for was looked at before, and
// each schema was counted.
func TestAllThatIsCompiledIsCounted(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 1))
	keys := []string{
		"properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies", "const", "default", "enum", "examples", "x-own",
		"allOf", "anyOf", "oneOf", "not", "if", "then", "else", "items", "additionalItems", "prefixItems", "contains", "contentSchema", "additionalProperties", "propertyNames",
		"unevaluatedItems", "unevaluatedProperties",
	}
	lists := map[string]bool{"allOf": true, "anyOf": true, "oneOf": true, "prefixItems": true, "enum": true, "examples": true}
	maps := map[string]bool{"properties": true, "patternProperties": true, "$defs": true, "definitions": true, "dependentSchemas": true, "dependencies": true}
	var places []string
	patterns := 0
	var schema func(at string, depth int) string
	schema = func(at string, depth int) string {
		places = append(places, at)
		patterns++
		members := fmt.Sprintf("pattern: p%d", patterns)
		if r.IntN(3) == 0 {
			members += ", $ref: REF"
		}
		if r.IntN(40) == 0 {
			members += fmt.Sprintf(", $id: i%d", patterns)
		}
		for _, k := range r.Perm(len(keys))[:min(depth, r.IntN(4))] {
			key := keys[k]
			below := at + "/" + key
			switch {
			case lists[key]:
				members += fmt.Sprintf(", %s: [%s]", key, schema(below+"/0", depth-1))
			case maps[key]:
				names := append([]string{"a", "b"}, keys...)
				name := names[r.IntN(len(names))]
				members += fmt.Sprintf(", %s: {%s: %s}", key, name, schema(below+"/"+name, depth-1))
				places = append(places, below)
			default:
				members += fmt.Sprintf(", %s: %s", key, schema(below, depth-1))
			}
		}
		return "{" + members + "}"
	}
	compiled, anywhere := 0, 0
	for range 1500 {
		places, patterns = places[:0], 0
		text := schema("#", 5)
		for strings.Contains(text, "REF") {
			place := places[r.IntN(len(places))]
			if r.IntN(20) == 0 {
				place = strings.Replace(place, "/0", "/"+[]string{"00", "+0", "-0", "%30", "%2B0"}[r.IntN(5)], 1)
			}
			text = strings.Replace(text, "REF", "'"+place+"'", 1)
		}
		if r.IntN(8) == 0 {
			text = "{$schema: '" + []string{"http://json-schema.org/draft-04/schema#", "http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft/2019-09/schema"}[r.IntN(3)] + "', " + text[1:]
		}
		root, findings := plainSource(text, 0, len(text)).read()
		if len(findings) > 0 {
			t.Fatalf("%s: %v", text, findings)
		}
		p := partsOf(begin(Source{}), &root)
		if !p.fits("it") {
			continue
		}
		document, err := jsonschema.UnmarshalJSON(strings.NewReader(encode(&root)))
		if err != nil {
			t.Fatal(err)
		}
		asked := map[string]bool{}
		err = compile(document, func(text string) (jsonschema.Regexp, error) {
			asked[text] = true
			if _, ok := p.patterns[text]; !ok {
				t.Errorf("%s\nthe pattern %s was not looked at", encode(&root), text)
			}
			return p.regexp(text)
		})
		again := len(p.refs) * (p.ids + 1) // an entry's number may be spelt in many ways
		if len(asked) > p.schemas+strings.Count(text, "patternProperties") {
			t.Errorf("%s\n%d schemas are counted, %d patterns compiled", text, p.schemas, len(asked))
		}
		if err == nil {
			compiled++
			c := jsonschema.NewCompiler()
			if err := c.AddResource(schemaURL, document); err != nil {
				t.Fatal(err)
			}
			if n := schemasOf(c.MustCompile(schemaURL)); n > p.schemas+again {
				t.Errorf("%s\n%d schemas are counted, %d compiled", text, p.schemas, n)
			}
		}
		if p.anywhere {
			anywhere++
		}
	}
	if compiled < 400 || anywhere < 50 {
		t.Errorf("only %d compile, and %d lead anywhere", compiled, anywhere)
	}
}

// TestPatternsAreJudgedWithoutCompiling: what stands in for a pattern is refused as
// the pattern would be.
func TestPatternsAreJudgedWithoutCompiling(t *testing.T) {
	p := parts{patterns: map[string]parsed{}}
	for _, text := range []string{"", "a{1000}", `\p{Han}+`} {
		re, err := p.regexp(text)
		if err != nil || re.String() != text || re.MatchString(text) {
			t.Errorf("%q: %v, %v", text, re, err)
		}
	}
	for _, text := range []string{"(", "a{1001}", strings.Repeat("a", pattern.Longest+1)} {
		if _, err := p.regexp(text); err == nil {
			t.Errorf("%q is none", text)
		}
	}
}
