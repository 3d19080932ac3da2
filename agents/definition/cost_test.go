package definition

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/agentls/agentls/internal/pattern"
)

// zeros are n times n references to one place, each with its indexes in a spelling
// of its own.
func zeros(n int) string {
	var b strings.Builder
	for i := range n * n {
		fmt.Fprintf(&b, "{$ref: '#/allOf/%0*d/allOf/%0*d'},", i/n+1, 0, i%n+1, 0)
	}
	return b.String()
}

// costly are front-matters that ask for more than they are worth.
func costly() map[string]string {
	fill := func(head, entry string) string {
		return head + strings.Repeat(entry, (60<<10-len(head))/len(entry))
	}
	some := func(head, entry string, n int) string { return head + strings.Repeat(entry, n) }
	return map[string]string{
		"conditions that repeat":  "handoffs:\n" + strings.Repeat("- {to: b, when: conditional, condition: 'input matches \""+strings.Repeat(".{1000}", 1100)+"\"'}\n", 7),
		"conditions in a row":     fill("handoffs:\n", "- {to: b, when: 'input matches \".{900}\"'}\n"),
		"small conditions":        some("handoffs:\n", "- {to: b, when: 'x'}\n", 1500),
		"classes in conditions":   fill("handoffs:\n", "- {to: b, when: 'x matches \"[^\\\\PL]\"'}\n"),
		"computed ranges":         fill("handoffs:\n", "- {to: b, when: '1..900000 == 1..900000'}\n"),
		"classes":                 fill("triggers:\n  patterns:\n", "  - '[\\p{L}\\p{N}]{900}'\n"),
		"wide ranges":             fill("triggers:\n  patterns:\n", "  - '(?i)[B-\\x{1E942}]'\n"),
		"ranges with zeros":       fill("triggers:\n  patterns:\n", "  - '(?i)[!-\\x{0000001E942}]'\n"),
		"ranges after a brace":    fill("triggers:\n  patterns:\n", "  - '(?i)[\\\\x{1E942}-\\x{1E942}]'\n"),
		"nested repeats":          fill("triggers:\n  patterns:\n", "  - '(x{500}){2}'\n"),
		"classes of schemas":      "output:\n  schema:\n" + fill("    allOf:\n", "    - {pattern: '\\p{L}\\p{N}'}\n"),
		"repeats of schemas":      fill("output:\n  schema:\n    patternProperties:\n      '"+strings.Repeat(".{1000}", 100)+"': {}\n    anyOf:\n", "    - {pattern: '(x{500}){2}.{1000}'}\n"),
		"escaped conditions":      fill("handoffs:\n", "- {to: b, when: 'x matches \"(?i)[!-\\u{1E942}]\"'}\n"),
		"long conditions":         "handoffs:\n" + strings.Repeat("- {to: b, when: '"+strings.Repeat("x matches \"(?i)[!-\\U0001E942]\"||", 3)+"y'}\n", 400),
		"doubling conditions":     fill("handoffs:\n", "- {to: b, when: 'x"+strings.Repeat("|trim(y)", 9)+"==z'}\n"),
		"schemas in a row":        some("handoffs:\n", "- {to: b, payload: {schema: {}}}\n", 1000),
		"classes of many":         fill("guardrails:\n", "- {schema: {pattern: '(?i)[!-\\x{1E942}]'}}\n"),
		"parts of schemas":        "output:\n  schema:\n" + some("    anyOf:\n", "    - {}\n", 5000),
		"truths of schemas":       "output:\n  schema:\n    anyOf: [" + strings.Repeat("true,", 7900) + "true]\n",
		"steps of schemas":        "output:\n  schema:\n" + fill("    anyOf:\n", "    - {pattern: 'a{1000}'}\n"),
		"schemas of values":       "output:\n  schema:\n    $ref: '#/default'\n    default:\n" + some("      anyOf:\n", "      - {}\n", 5000),
		"references to values":    "output: {schema: {anyOf: [" + numbered(1000, "{$ref: '#/examples/%d'},") + "{}], examples: [" + strings.Repeat("{},", 1000) + "{}]}}\n",
		"schemas with ids":        "output: {schema: {anyOf: [" + numbered(2000, "{$id: a%d},") + "{}]}}\n",
		"dynamic anchors":         "output: {schema: {anyOf: [" + numbered(1600, "{$dynamicAnchor: a%d},") + "{}]}}\n",
		"indexes written anew":    "output: {schema: {allOf: [{allOf: [{anyOf: [" + strings.Repeat("{},", 300) + "{}]}]}], anyOf: [" + zeros(14) + "{}]}}\n",
		"indexes of values":       "output: {schema: {default: [{allOf: [{anyOf: [" + strings.Repeat("{},", 300) + "{}]}]}], anyOf: [" + strings.ReplaceAll(zeros(14), "/allOf/0", "/default/0") + "{}]}}\n",
		"indexes below an id":     "output: {schema: {allOf: [{allOf: [{anyOf: [" + strings.Repeat("{},", 300) + "{$id: a}]}]}], anyOf: [" + zeros(14) + "{}]}}\n",
		"keys of later drafts":    "output: {schema: {$schema: 'http://json-schema.org/draft-07/schema#', anyOf: [" + numbered(500, "{$ref: '#/$defs/a%d'},") + "{}], $defs: {" + numbered(500, "a%d: {},") + "}}}\n",
		"entries of no list":      "output: {schema: {anyOf: [" + numbered(500, "{$ref: '#/additionalItems/%d'},") + "{}], additionalItems: [" + strings.Repeat("{},", 500) + "{}]}}\n",
		"parts of no list":        "output: {schema: {$schema: 'https://json-schema.org/draft/2020-12/meta/core', $defs: {" + numbered(500, "a%[1]d: {$ref: '#/anyOf/not/$defs/a%[1]d'},") + "}, anyOf: {not: {$defs: {" + numbered(500, "a%d: {},") + "}}}, $ref: '#/$defs/a1'}}\n",
		"references below ids":    "output: {schema: {anyOf: [" + numbered(300, "{$id: a%d, $ref: '#/x', x: {}},") + "{}]}}\n",
		"schemas of a long key":   "output:\n  schema:\n    properties:\n      " + strings.Repeat("k", 3000) + ": {anyOf: [" + strings.Repeat("true,", 1000) + "true]}\n",
		"yaml: keys twice":        fill("", "a: b\n"),
		"yaml: keys in a mapping": fill("x:\n", " 'a': b\n"),
		"yaml: keys in brackets":  fill("x: [\n", "a: b\n"),
		"yaml: keys without":      fill("", "a:\n"),
		"yaml: keys with anchors": fill("", "&a b: c\n&ab b: c\n&abc b: c\n"),
		"yaml: keys with names":   fill("", "&1 b: c\n&11 b: c\n!a &111 b: c\n"),
		"yaml: comments in lists": fill("x:\n", "- #\n"),
		"yaml: keys with ?":       fill("", "? a\n"),
		"yaml: keys mended":       fill("", "a: b: c\n"),
		"yaml: keys of one line":  fill("x:\n", "- {a: {}}\n"),
		"yaml: texts":             fill("", "a: |\n"),
		"yaml: list":              fill("x: [", "a,") + "a]",
		"yaml: brackets":          fill("x: [", "{},") + "a]",
		"yaml: aliases":           fill("x: [", "*a,") + "a]",
		"yaml: nothing in lists":  fill("x:\n", "-\n"),
		"yaml: documents":         fill("", "--- x\n"),
		"yaml: long key":          fill(strings.Repeat("k", 30<<10)+":\n", " a: &a b\n"),
		"yaml: long keys":         fill(strings.Repeat(strings.Repeat("k", 3<<10)+": {", 3)+"x: [", "a,") + "a]}}}",
		"yaml: empty lines":       fill("x: |\n  a\n", "\n"),
		"yaml: empty lines below": fill("x: |\n  a\n", "\n") + "z: b\n",
		"yaml: empty lines often": fill("", "x: >\n  a\n"+strings.Repeat("\n", 300)),
		"yaml: tabs":              fill("x: \"", "\t") + "a\"",
		"yaml: <":                 fill("x: a", "<"),
		"patterns of classes":     fill("triggers:\n  patterns:\n", "  - '"+strings.Repeat(`\pL`, 60)+"'\n"),
	}
}

// TestNoFileIsCostly: what the YAML, the patterns and the conditions of one file may
// take is bounded. What a condition really takes is agents/condition's to tell.
func TestNoFileIsCostly(t *testing.T) {
	for name, yaml := range costly() {
		src := Source{Path: ownPath, Scope: Project, Data: []byte("---\nname: a\n" + yaml + "\n---\nx\n")}
		conditions, spent := 0, 0
		src.Installed.Expression = func(text string, _ ...string) (int, error) {
			conditions, spent = conditions+1, spent+60
			return 60, nil
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		d := Parse(src)
		runtime.ReadMemStats(&after)
		checkProblems(t, string(src.Data), d)
		if len(d.Problems) > 1000 && strings.HasPrefix(name, "yaml: ") {
			t.Errorf("%s: %d problems", name, len(d.Problems))
		}
		if n := after.TotalAlloc - before.TotalAlloc; n > 64<<20 { // a quarter of it is the race detector's
			t.Errorf("%s: takes %d bytes", name, n)
		}
		if conditions > 1000 {
			t.Errorf("%s: %d conditions are looked at", name, conditions)
		}
		if spent > 2*pattern.PerFile {
			t.Errorf("%s: the conditions cost %d", name, spent)
		}
		refused := false
		for _, p := range d.Problems {
			if strings.HasPrefix(name, "yaml: ") {
				refused = refused || (p.Code == "agent/too-large" && p.Range.Start.Line > 1)
				continue
			}
			refused = refused || p.Code == "agent/regex" || p.Code == "agent/schema" || p.Code == "agent/expression"
		}
		if !refused && name != "conditions that repeat" {
			t.Errorf("%s: nothing is refused", name)
		}
	}
}

// TestLongListsAreCheap: what is long and right is compared with itself once.
func TestLongListsAreCheap(t *testing.T) {
	for name, yaml := range map[string]string{
		"values":         "inputs:\n  x:\n    type: string[]\n    default: [" + strings.Repeat("b,", 3990) + "b]\n    enum: [" + strings.Repeat("a,", 3900) + "b]\n",
		"guards by name": "guardrails:\n" + strings.Repeat("- name: a\n  validator: no-secrets\n", 1800),
	} {
		src := Source{Path: ownPath, Scope: Project, Data: []byte("---\nkind: agent\nname: a\ntitle: A\n" + yaml + "---\nx\n")}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		d := Parse(src)
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > 32<<20 {
			t.Errorf("%s: takes %d bytes", name, n)
		}
		for _, p := range d.Problems {
			if p.Code != "agent/file-name" {
				t.Errorf("%s: %s", name, p.Message)
			}
		}
	}
}

// TestLargeFilesAreRead: what is only long is read, by both readers alike, and
// each refuses what the other does.
func TestLargeFilesAreRead(t *testing.T) {
	lines := strings.Repeat("  - key: value, <a href='x'>\t\"a: b\"\n\n", 1400)
	keys := func(n int, line string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, line, i)
		}
		return b.String()
	}
	for name, row := range map[string]struct {
		yaml string
		read bool
	}{
		"prompt":          {"x: |\n" + lines + "y: z\n", true},
		"folded prompt":   {"x: >-\n" + lines + strings.Repeat("\n", 20) + "y: z\n", true},
		"quoted prompt":   {"x: '" + strings.Repeat("  a: b, c: d - e\n", 3000) + "'\n", true},
		"prompts":         {"x:\n" + strings.Repeat("  - p: |\n      a: b\n\n\n\n", 1000), true},
		"wide line":       {"x: a" + strings.Repeat(" d", 30000) + "\n", true},
		"comments":        {strings.Repeat("# a: b, c\n", 5000) + "x: y\n", true},
		"some keys":       {keys(600, "k%d: v\n"), true},
		"keys":            {keys(1440, "k%d: v\n"), true},
		"keys below":      {"x:\n" + keys(1440, "  k%d: v\n"), true},
		"too many keys":   {keys(1460, "k%d: v\n"), false},
		"too many below":  {"x:\n" + keys(1460, "  k%d: v\n"), false},
		"mappings":        {keys(200, "k%d:\n  a: b\n  c: d\n  e: f\n"), true},
		"list of objects": {"x:\n" + keys(1000, "  - a: b\n    c: d%d\n"), true},
		"flat list":       {"x:\n" + keys(5000, "  - v%d\n"), true},
		"too long a list": {"x:\n" + keys(8000, "- v%d\n"), false},
		"list in a line":  {"x: [" + keys(7000, "v%d, ") + "z]\n", true},
		"objects":         {"x:\n" + keys(1000, "- {to: b%d, when: c, a: d}\n"), true},
		"long keys":       {keys(300, strings.Repeat("k", 150)+"%d: v\n"), true},
		"light lists":     {"x:\n" + keys(200, "  k%d: [a, b, c]\n") + "y:\n" + keys(3500, "  - v%d\n"), true},
		"long path":       {strings.Repeat("k", 3000) + ":\n" + keys(900, " k%d: v\n"), true},
		"too long a path": {strings.Repeat("k", 20000) + ":\n" + keys(900, " k%d: v\n"), false},
	} {
		if len(row.yaml) > MaxFrontMatter {
			t.Errorf("%s: %d bytes", name, len(row.yaml))
		}
		_, findings := plainSource(row.yaml, 0, len(row.yaml)).read()
		if read := len(findings) == 0; read != row.read {
			t.Errorf("%s: read %v: %v", name, read, findings)
		}
		if _, ok := new(quick).read(row.yaml, 0, len(row.yaml)); ok && !row.read {
			t.Errorf("%s: the quick reader reads it", name)
		}
	}
}

// TestFindingsOfYAMLAreFew: of one mistake that is made over and over a hundred are
// told, and all are mended.
func TestFindingsOfYAMLAreFew(t *testing.T) {
	told := func(src, code string) (n int) {
		for _, p := range parse(ownPath, src).Problems {
			if p.Code == code {
				n++
			}
		}
		return n
	}
	if n := told(own("x: ["+strings.Repeat("*a, ", 2000)+"b]\n"), "agent/yaml-feature"); n != maxFeatures {
		t.Errorf("%d findings of aliases", n)
	}
	var lines strings.Builder
	for i := range 300 {
		fmt.Fprintf(&lines, "k%d: v: w\n", i)
	}
	src := Source{Path: ownPath, Scope: Project, Data: []byte(own(lines.String()))}
	if n := told(string(src.Data), "agent/yaml-repaired"); n != maxFeatures {
		t.Errorf("%d findings of repairs", n)
	}
	if n := told(string(FixAll(src)), "agent/yaml-repaired"); n != 0 {
		t.Errorf("%d repairs are left", n)
	}
}
