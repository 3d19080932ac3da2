package main

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.lsp.dev/protocol"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/internal/wire"
)

const root = "../../.."

func made(t *testing.T) (text, schema []byte) {
	t.Helper()
	documents, err := generate(root)
	if err != nil {
		t.Fatal(err)
	}
	return documents[0].Text, documents[1].Text
}

func TestSameSourceSameBytes(t *testing.T) {
	text, schema := made(t)
	again, schemaAgain := made(t)
	if !bytes.Equal(text, again) || !bytes.Equal(schema, schemaAgain) {
		t.Fatal("two runs wrote different documents")
	}
}

// TestLinks holds that every link within the page has a heading.
func TestLinks(t *testing.T) {
	text, _ := made(t)
	headings := make(map[string]bool)
	for line := range strings.Lines(string(text)) {
		if h := strings.TrimLeft(line, "#"); h != line {
			headings[anchor(strings.TrimSpace(h))] = true
		}
	}
	links := 0
	for _, part := range strings.Split(string(text), "](#")[1:] {
		to, _, _ := strings.Cut(part, ")")
		links++
		if !headings[to] {
			t.Errorf("a link to #%s, which is no heading", to)
		}
	}
	if links == 0 {
		t.Error("the page has no links")
	}
}

// TestNothingOfOursLeaks holds that a reader of the page needs neither Go nor
// the specification's numbers.
func TestNothingOfOursLeaks(t *testing.T) {
	text, schema := made(t)
	for _, no := range []string{"spec 1", "spec 2", "spec 3", "spec 4", "spec 6", "MethodRun", "CommandRun", "*string", "json.RawMessage"} {
		if bytes.Contains(text, []byte(no)) || bytes.Contains(schema, []byte(no)) {
			t.Errorf("the documents say %q", no)
		}
	}
}

// TestStandard holds the names of LSP's methods to the protocol package.
func TestStandard(t *testing.T) {
	standard := maps.Clone(standard)
	for name, method := range map[string]string{
		"MethodInitialize":              protocol.MethodInitialize,
		"MethodInitialized":             protocol.MethodInitialized,
		"MethodShutdown":                protocol.MethodShutdown,
		"MethodExit":                    protocol.MethodExit,
		"MethodCancelRequest":           protocol.MethodCancelRequest,
		"MethodTextDocumentDidOpen":     protocol.MethodTextDocumentDidOpen,
		"MethodTextDocumentDidChange":   protocol.MethodTextDocumentDidChange,
		"MethodTextDocumentDidSave":     protocol.MethodTextDocumentDidSave,
		"MethodTextDocumentDidClose":    protocol.MethodTextDocumentDidClose,
		"MethodWorkspaceExecuteCommand": protocol.MethodWorkspaceExecuteCommand,

		"MethodWorkspaceDidChangeWorkspaceFolders": protocol.MethodWorkspaceDidChangeWorkspaceFolders,

		"MethodWindowWorkDoneProgressCancel": protocol.MethodWindowWorkDoneProgressCancel,

		"MethodTextDocumentDiagnostic":          protocol.MethodTextDocumentDiagnostic,
		"MethodWorkspaceDiagnostic":             protocol.MethodWorkspaceDiagnostic,
		"MethodTextDocumentCompletion":          protocol.MethodTextDocumentCompletion,
		"MethodCompletionItemResolve":           protocol.MethodCompletionItemResolve,
		"MethodTextDocumentHover":               protocol.MethodTextDocumentHover,
		"MethodTextDocumentCodeLens":            protocol.MethodTextDocumentCodeLens,
		"MethodTextDocumentInlayHint":           protocol.MethodTextDocumentInlayHint,
		"MethodTextDocumentDocumentSymbol":      protocol.MethodTextDocumentDocumentSymbol,
		"MethodTextDocumentFoldingRange":        protocol.MethodTextDocumentFoldingRange,
		"MethodTextDocumentDocumentLink":        protocol.MethodTextDocumentDocumentLink,
		"MethodTextDocumentDocumentColor":       protocol.MethodTextDocumentDocumentColor,
		"MethodTextDocumentColorPresentation":   protocol.MethodTextDocumentColorPresentation,
		"MethodTextDocumentSemanticTokensFull":  protocol.MethodTextDocumentSemanticTokensFull,
		"MethodTextDocumentSemanticTokensRange": protocol.MethodTextDocumentSemanticTokensRange,
		"MethodTextDocumentDefinition":          protocol.MethodTextDocumentDefinition,
		"MethodTextDocumentReferences":          protocol.MethodTextDocumentReferences,
		"MethodTextDocumentDocumentHighlight":   protocol.MethodTextDocumentDocumentHighlight,
		"MethodWorkspaceSymbol":                 protocol.MethodWorkspaceSymbol,
		"MethodTextDocumentPrepareRename":       protocol.MethodTextDocumentPrepareRename,
		"MethodTextDocumentRename":              protocol.MethodTextDocumentRename,
		"MethodWorkspaceWillRenameFiles":        protocol.MethodWorkspaceWillRenameFiles,
		"MethodTextDocumentCodeAction":          protocol.MethodTextDocumentCodeAction,
		"MethodTextDocumentFormatting":          protocol.MethodTextDocumentFormatting,
	} {
		if standard[name].method != method {
			t.Errorf("standard has %q for %s, which is %q", standard[name].method, name, method)
		}
		delete(standard, name)
	}
	for name := range standard {
		t.Errorf("this test does not know protocol.%s", name)
	}
}

// TestExample holds the example of the page to the Go types.
func TestExample(t *testing.T) {
	var said struct {
		Capabilities struct {
			Experimental struct{ Agents wire.ClientCapabilities }
		}
	}
	d := json.NewDecoder(strings.NewReader(example))
	d.DisallowUnknownFields()
	if err := d.Decode(&said); err != nil {
		t.Fatal(err)
	}
	c := said.Capabilities.Experimental.Agents
	if c.Version != wire.Version || c.Activity == nil || c.Confirm == nil || !c.Ask || !c.Status || !c.SaveDocuments || !c.FilesWritten || !c.EditorQueries {
		t.Errorf("the example does not say everything: %+v", c)
	}
}

// TestSchema holds that the schema is one, that it takes what the codec writes,
// and that it refuses what is no message of ours.
func TestSchema(t *testing.T) {
	_, text := made(t)
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("protocol.schema.json", document); err != nil {
		t.Fatal(err)
	}
	check := func(name string, data []byte) error {
		t.Helper()
		schema, err := compiler.Compile("protocol.schema.json#/$defs/" + name)
		if err != nil {
			t.Fatal(err)
		}
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		return schema.Validate(value)
	}
	for name := range document.(map[string]any)["$defs"].(map[string]any) {
		if _, err := compiler.Compile("protocol.schema.json#/$defs/" + name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	patch := "new"
	for name, value := range map[string]any{
		"ListParams": wire.ListParams{},
		"ListResult": wire.ListResult{
			Revision: 3, Agents: []wire.AgentInfo{{Name: "a", State: "ok"}},
			Problems: []definition.Problem{{URI: "file:///a.md", Code: "agent/yaml", Severity: definition.Warning, Message: "Mend it."}},
		},
		"GetResult":          wire.GetResult{AgentInfo: wire.AgentInfo{Name: "a"}, FrontMatter: map[string]any{"name": "a"}},
		"RunParams":          wire.RunParams{Input: wire.InputBlocks{{Type: "text", Text: "hi"}}, WorkDoneToken: json.RawMessage(`7`)},
		"RunResult":          wire.RunResult{Session: "s", Run: "r", Agent: "a", RunFinished: activity.RunFinished{Reason: activity.Goal}},
		"SubscribeResult":    wire.SubscribeResult{Events: []wire.ActivityParams{}, NextSeq: 7},
		"Session":            wire.Session{Session: "s", Agents: []string{}, AgentChain: []string{}, Runs: 2, State: "idle"},
		"SessionGetResult":   wire.SessionGetResult{Session: wire.Session{Session: "s", Agents: []string{}, AgentChain: []string{}, State: "idle"}, Runs: []wire.SessionRun{{Run: "r"}}},
		"ContextGetResult":   wire.ContextGetResult{Messages: []wire.Message{{Role: "user", Parts: []model.Part{{Text: "hi"}}}}},
		"ParseResult":        wire.ParseResult{Agent: "a", Mentions: []wire.Mention{{Name: "b", Start: 1, End: 3}}},
		"Empty":              wire.Empty{},
		"ConfirmParams":      wire.ConfirmParams{ID: "1", Args: json.RawMessage(`{"a":1}`), Options: []wire.Option{{ID: "once", Kind: "once"}}},
		"ConfirmResult":      wire.ConfirmResult{Outcome: "modify", Modified: &wire.Modified{NewText: &patch}},
		"ClientCapabilities": wire.ClientCapabilities{Version: 1, Confirm: &wire.ConfirmCapability{Modify: true}},
		"ToolState":          activity.ToolState{Call: "c", Args: json.RawMessage(`{}`), State: activity.Executing, Risk: "low"},
	} {
		data, err := wire.Codec{}.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		if err := check(name, data); err != nil {
			t.Errorf("%s refuses %s: %v", name, data, err)
		}
	}
	for _, c := range []struct {
		name, data string
		ok         bool
	}{
		{"RunParams", `{"input":"hi"}`, true},
		{"RunParams", `{"input":7}`, false},
		{"SteerParams", `{"run":"r","input":"hi"}`, true},
		{"SteerParams", `{}`, false},
		{"GetParams", `{"name":"a","more":1}`, true},
		{"GetParams", `{"Name":"a"}`, false},
		{"ActivityParams", `{"seq":1,"time":"t","session":"s","type":"content.delta","data":{"text":"hi"}}`, true},
		{"ActivityParams", `{"seq":1,"time":"t","session":"s","type":"content.delta","data":{"words":"hi"}}`, false},
		{"ActivityParams", `{"seq":1,"time":"t","session":"s","type":"of.a.newer.daemon","data":{"words":"hi"}}`, true},
		{"ActivityParams", `{"seq":-1,"time":"t","session":"s","type":"note","data":{"level":"info","message":"hi"}}`, false},
		{"SessionGetResult", `{"session":"s","title":"","folder":"","agents":[],"agentChain":[],"handoffCount":0,"runs":1,"state":"idle","usage":{"inputTokens":0,"outputTokens":0,"cachedTokens":0,"thoughtTokens":0,"totalTokens":0}}`, false},
		{"RunState", `{"from":"running","to":"waiting"}`, true},
		{"RunState", `{"from":"running","to":"asleep"}`, false},
	} {
		if err := check(c.name, []byte(c.data)); (err == nil) != c.ok {
			t.Errorf("%s of %s: %v, want it taken: %t", c.name, c.data, err, c.ok)
		}
	}
}

// TestWhatIsMissingIsSaid holds that the generator refuses source that its
// tables do not fit, with the name of what is missing.
func TestWhatIsMissingIsSaid(t *testing.T) {
	for _, c := range []struct{ file, old, new, want string }{
		{"internal/wire/methods.go", `MethodGet = "agents/get"`, "MethodGet = \"agents/get\"\n\tMethodNew = \"agents/new\"", "wire.MethodNew has no row"},
		{"internal/wire/methods.go", `MethodGet = `, `MethodGot = `, "wire.MethodGot has no row"},
		{"internal/wire/methods.go", "\tMethodFilesWritten = \"agents/filesWritten\"\n", "", "a row for wire.MethodFilesWritten, which does not exist"},
		{"internal/wire/agents.go", "GetParams struct", "FetchParams struct", "there is no type internal/wire.GetParams"},
		{"internal/wire/agents.go", "type (\n", "type (\n\t// Lost is said by nobody.\n\tLost struct{}\n\n", "wire.Lost is reached from no method"},
		{"internal/wire/agents.go", "\t\tName string `json:\"name\"`", "\t\tName string", "the field Name has no json name"},
		{"handlers/handlers.go", "wire.MethodGet,", "wire.MethodList,", "wire.MethodGet is a request from the client and has no route"},
		{"handlers/handlers.go", "wire.MethodGet,", "wire.MethodStatus,", "has no route"},
		{"handlers/language/handlers.go", "wire.MethodExplain,", "wire.MethodValidate,", "wire.MethodExplain is a request from the client and has no route"},
		{"handlers/handlers.go", "protocol.MethodShutdown,", "protocol.MethodSurprise,", "protocol.MethodSurprise, which has no row"},
	} {
		dir := t.TempDir()
		for _, folder := range []string{"internal/wire", "internal/fault", "agents/activity", "agents/definition", "agents/explanation", "agents/model", "agents/trace", "handlers", "server"} {
			if err := os.CopyFS(filepath.Join(dir, folder), os.DirFS(filepath.Join(root, folder))); err != nil {
				t.Fatal(err)
			}
		}
		mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, c.file)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), c.old) {
			t.Fatalf("%s does not have %q: this test no longer knows it", c.file, c.old)
		}
		for name, data := range map[string][]byte{
			filepath.Join(dir, "go.mod"): mod,
			path:                         []byte(strings.Replace(string(text), c.old, c.new, 1)),
		} {
			if err := os.WriteFile(name, data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := generate(dir); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s with %q: %v, want %q", c.file, c.new, err, c.want)
		}
	}
}
