package main

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/internal/cmd/documents"
	"github.com/agentls/agentls/internal/settings"
	"github.com/agentls/agentls/workspace"
)

const root = "../../.."

// TestPagesAreUpToDate: the pages in the checkout are what the program's tables
// give.
func TestPagesAreUpToDate(t *testing.T) {
	all, err := generate(root)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := documents.Write(root, all, true, "go run ./internal/cmd/referencedoc", &out); err != nil {
		t.Errorf("%v\n%s", err, &out)
	}
}

// TestExamples: each example is an agent file without a finding, and they show
// each field of our format.
func TestExamples(t *testing.T) {
	var shown strings.Builder
	for top, text := range examples {
		for _, example := range strings.Split(text, "---or---") {
			file := strings.TrimSpace(example) + "\n"
			shown.WriteString(file)
			for key, line := range map[string]string{"kind": "kind: agent\n", "name": "name: code-reviewer\n", "title": "title: Code Reviewer\n"} {
				if top != key {
					file = line + file
				}
			}
			body := "Review it.\n"
			if top == "systemPrompt" {
				body = ""
			}
			d := definition.Parse(definition.Source{Path: "/w/.gemini/agents/code-reviewer.md", Folder: "/w", Scope: definition.Project, Data: []byte("---\n" + file + "---\n" + body)})
			for _, p := range d.Problems {
				t.Errorf("%s: %s: %s\n%s", top, p.Code, p.Message, file)
			}
		}
	}
	for _, f := range definition.Fields() {
		if len(f.Dialects) > 0 || f.Name == "*" {
			continue
		}
		if !regexp.MustCompile(`\b` + regexp.QuoteMeta(f.Name) + `:`).MatchString(shown.String()) {
			t.Errorf("no example shows %s", f.Path)
		}
	}
}

// TestSettings: the schema is one, the example of the page is without a finding
// and fits it, and so do the defaults.
func TestSettings(t *testing.T) {
	text, err := settingsSchema()
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("settings.json", document); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("settings.json")
	if err != nil {
		t.Fatal(err)
	}
	source := workspace.SettingsSource{File: "settings.json", Scope: settings.UserScope, Content: []byte(settingsExample)}
	findings, err := workspace.DiagnoseSettings(t.Context(), source, workspace.SettingsNames{})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range findings {
		t.Errorf("the example: %s: %s", f.Code, f.Message)
	}
	fits := func(text string) error {
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
		if err != nil {
			t.Fatal(err, text)
		}
		return schema.Validate(value)
	}
	plain := regexp.MustCompile(` +// .*`).ReplaceAllString(settingsExample, "")
	if err := fits(plain); err != nil {
		t.Errorf("the example: %v", err)
	}
	for _, r := range workspace.SettingsReference() {
		if r.Default == nil {
			continue
		}
		value, err := json.Marshal(r.Default)
		if err != nil {
			t.Fatal(err)
		}
		if err := fits(nested(r.Key, string(value))); err != nil {
			t.Errorf("the default of %s: %v", r.Key, err)
		}
	}
	for _, wrong := range []string{`{"agents": {"autoRoute": "yes"}}`, `{"agents": {"limits": {"depth": 99}}}`, `{"hooks": {"Never": []}}`, `{"mcpServers": {"x": {"args": "one"}}}`} {
		if fits(wrong) == nil {
			t.Errorf("%s fits the schema", wrong)
		}
	}
}

// nested is an object with one key in it, which has dots.
func nested(key, value string) string {
	words := strings.Split(key, ".")
	for i := len(words) - 1; i >= 0; i-- {
		value = "{" + strconv.Quote(words[i]) + ": " + value + "}"
	}
	return value
}

// ours are names of variables that can be no other words.
var ours = regexp.MustCompile(`^(AGENTLS|GEMINI|GOOGLE|OTEL|LANGSMITH|LANGCHAIN)(_[A-Z0-9]+)+$`)

// inside are variables that are the program's own affair.
var inside = map[string]string{
	"AGENTLS_CALL":     "marks the processes of a call",
	"AGENTLS_SOAK":     "of a test",
	"AGENTLS_KILLS":    "of a test",
	"GOOGLE_CLOUD_KEY": "no variable that is read",
}

// TestEnvironment: the page has each variable that the program reads, and no
// other.
func TestEnvironment(t *testing.T) {
	read := variablesOf(t)
	shown := make(map[string]bool)
	for _, g := range environment {
		for _, v := range g.all {
			if shown[v.name] {
				t.Errorf("%s stands on the page twice", v.name)
			}
			shown[v.name] = true
		}
	}
	for name, where := range read {
		if !shown[name] && inside[name] == "" {
			t.Errorf("%s reads %s, which environment.go has no row for", where, name)
		}
	}
	elsewhere := []string{"AGENTLS", "GOMEMLIMIT", "HTTPS_PROXY", "GEMINI_PROMPT_*", "SANDBOX", "NO_COLOR", "TERM", "ACCESSIBLE", "VISUAL", "EDITOR", "CLAUDE_PROJECT_DIR"}
	for name := range shown {
		if read[name] == "" && !slices.Contains(elsewhere, name) {
			t.Errorf("environment.go has a row for %s, which nothing reads", name)
		}
	}
}

// variablesOf returns the names of variables in the texts of the product, each
// with a file that has it.
func variablesOf(t *testing.T) map[string]string {
	found := make(map[string]string)
	for _, folder := range []string{"agents", "cmd", "extensions", "handlers", "internal", "server", "workspace"} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(name string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && slices.Contains([]string{"testdata", "node_modules", "canary", "clienttest", "cmd"}, d.Name()) && d.Name() != folder:
				return fs.SkipDir
			case d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
				return nil
			}
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				literal, ok := n.(*ast.BasicLit)
				if !ok || literal.Kind != token.STRING {
					return true
				}
				text, err := strconv.Unquote(literal.Value)
				if text = strings.TrimSuffix(text, "="); err == nil && ours.MatchString(text) {
					found[text] = name
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(found) < 20 {
		t.Fatalf("only %d variables were found", len(found))
	}
	return found
}

// TestLinks: what the pages of docs and README link to is there.
func TestLinks(t *testing.T) {
	pages, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	more, err := filepath.Glob(filepath.Join(root, "docs", "reference", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	pages = append(append(pages, more...), filepath.Join(root, "README.md"))
	link := regexp.MustCompile(`\]\(([^)#:\s]+)(#[^)]*)?\)`)
	links := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			links++
			if _, err := os.Stat(filepath.Join(filepath.Dir(page), filepath.FromSlash(m[1]))); err != nil {
				t.Errorf("%s links to %s, which is not there", page, m[1])
			}
		}
	}
	if links < 50 {
		t.Errorf("only %d links were found", links)
	}
}

// TestToolsOfTheTable: what tools.go says of tools is about tools that there are.
func TestToolsOfTheTable(t *testing.T) {
	names := make(map[string]bool)
	for _, one := range definition.ToolNames() {
		names[one.Name] = true
	}
	for _, table := range []map[string]string{added, more} {
		for name := range maps.Keys(table) {
			if !names[name] {
				t.Errorf("there is no tool %s", name)
			}
		}
	}
}
