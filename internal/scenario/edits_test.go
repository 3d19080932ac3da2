package scenario_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"go.lsp.dev/jsonrpc2"
	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/internal/editortest"
	"github.com/agentls/agentls/internal/wire"
	"github.com/agentls/agentls/workspace"
)

// goTo prints where the answers of a request about a cursor are: goto METHOD FILE
// MARK, the method being definition, references, declared (references with the
// declaration), or documentHighlight.
func (s *story) goTo(args []string) (string, error) {
	at, err := s.cursor(args[1], args[2])
	if err != nil {
		return "", err
	}
	method := args[0]
	switch method {
	case "references", "declared":
		at["context"] = map[string]any{"includeDeclaration": method == "declared"}
		method = "references"
	}
	answer, err := s.ask("textDocument/"+method, at)
	if err != nil {
		return "", err
	}
	raw := strings.TrimSpace(string(answer))
	if strings.HasPrefix(raw, "{") {
		raw = "[" + raw + "]"
	}
	var places []struct {
		URI    string         `json:"uri"`
		Range  protocol.Range `json:"range"`
		Target string         `json:"targetUri"`
		Place  protocol.Range `json:"targetSelectionRange"`
		Origin protocol.Range `json:"originSelectionRange"`
	}
	if err := (wire.Codec{}).Unmarshal([]byte(raw), &places); err != nil {
		return "", err
	}
	if raw == "null" {
		return "nothing\n", nil
	}
	var b strings.Builder
	for _, p := range places {
		if p.Target != "" {
			fmt.Fprintf(&b, "%s %s from %s\n", p.Target, span(p.Place), span(p.Origin))
		} else {
			b.WriteString(strings.TrimSpace(p.URI+" "+span(p.Range)) + "\n")
		}
	}
	return b.String(), nil
}

// rename renames what stands at a cursor and makes the edit: rename FILE MARK NEW.
// An editor that prepares renames does so first. It prints what was renamed, and
// what the edit does.
func (s *story) rename(args []string) (string, error) {
	at, err := s.cursor(args[0], args[1])
	if err != nil {
		return "", err
	}
	var b strings.Builder
	if options, ok := s.editor.Caps.RenameProvider.(*protocol.RenameOptions); ok && options.PrepareProvider != nil && *options.PrepareProvider {
		answer, err := s.ask(protocol.MethodTextDocumentPrepareRename, at)
		if err != nil {
			return "", withCode(err)
		}
		var p protocol.PrepareRenamePlaceholder
		if err := (wire.Codec{}).Unmarshal(answer, &p); err != nil || string(answer) == "null" {
			return "nothing\n", err
		}
		fmt.Fprintf(&b, "%s %s\n", p.Placeholder, span(p.Range))
	}
	at["newName"] = args[2]
	return s.change(&b, protocol.MethodTextDocumentRename, at)
}

// change sends a request whose answer is an edit, and makes it.
func (s *story) change(b *strings.Builder, method string, params any) (string, error) {
	answer, err := s.ask(method, params)
	if err != nil {
		return "", withCode(err)
	}
	if string(answer) == "null" {
		return b.String() + "nothing\n", nil
	}
	var edit protocol.WorkspaceEdit
	if err := (wire.Codec{}).Unmarshal(answer, &edit); err != nil {
		return "", err
	}
	b.WriteString(described(&edit))
	return b.String(), s.applyEdit(&edit)
}

// withCode is an error of the daemon with its number.
func withCode(err error) error {
	if e, ok := errors.AsType[*jsonrpc2.Error](err); ok {
		return fmt.Errorf("code %d: %s", e.Code, e.Message)
	}
	return err
}

func (s *story) applyEdit(edit *protocol.WorkspaceEdit) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return s.editor.Apply(ctx, edit)
}

// described prints an edit, a line for each file.
func described(edit *protocol.WorkspaceEdit) string {
	var lines []string
	for u, edits := range edit.Changes {
		lines = append(lines, fmt.Sprintf("change %s: %d", u, len(edits)))
	}
	slices.Sort(lines)
	for _, c := range edit.DocumentChanges {
		switch c := c.(type) {
		case *protocol.TextDocumentEdit:
			version := ""
			if v := c.TextDocument.Version; v != nil {
				version = fmt.Sprintf(" version %d", *v)
			}
			lines = append(lines, fmt.Sprintf("edit %s%s: %d", c.TextDocument.URI, version, len(c.Edits)))
		case *protocol.RenameFile:
			lines = append(lines, fmt.Sprintf("rename %s to %s", c.OldURI, filepath.Base(c.NewURI.FsPath())))
		case *protocol.CreateFile:
			lines = append(lines, fmt.Sprintf("create %s", c.URI))
		}
	}
	return strings.Join(lines, "\n") + "\n"
}

// moveFile gives a file another name in the editor's list of files: move FILE TO.
func (s *story) moveFile(args []string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	edit, err := s.editor.RenameFile(ctx, args[0], args[1])
	if err != nil || edit == nil {
		return "nothing\n", err
	}
	return described(edit), nil
}

// actions returns what can be done at a cursor, where MARK may have two ^ for a
// selection. The editor passes on the findings that it has there.
func (s *story) actions(name, mark, only string, automatic bool) ([]protocol.CommandOrCodeAction, error) {
	first, second, two := mark, "", false
	if i, j := strings.Index(mark, "^"), strings.LastIndex(mark, "^"); i != j {
		first, second, two = mark[:j]+mark[j+1:], mark[:i]+mark[i+1:], true
	}
	from, err := s.cursor(name, first)
	if err != nil {
		return nil, err
	}
	start, end := from["position"], from["position"]
	if two {
		to, err := s.cursor(name, second)
		if err != nil {
			return nil, err
		}
		end = to["position"]
	}
	given := map[string]any{"diagnostics": []protocol.Diagnostic{}}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if s.editor.Caps.DiagnosticProvider != nil {
		f, _, err := s.editor.Ask(ctx, name)
		if err != nil {
			return nil, err
		}
		sent, err := protocol.Marshal(f.Items)
		if err != nil {
			return nil, err
		}
		given["diagnostics"] = json.RawMessage(sent)
	}
	if only != "" {
		given["only"] = strings.Split(only, ",")
	}
	if automatic {
		given["triggerKind"] = protocol.CodeActionTriggerKindAutomatic
	}
	answer, err := s.ask(protocol.MethodTextDocumentCodeAction, map[string]any{
		"textDocument": from["textDocument"], "range": map[string]any{"start": start, "end": end}, "context": given,
	})
	if err != nil {
		return nil, err
	}
	var list []protocol.CommandOrCodeAction
	return list, (wire.Codec{}).Unmarshal(answer, &list)
}

// offered prints what can be done at a cursor, a line each: actions [-only KINDS]
// [-auto] FILE MARK.
func (s *story) offered(args []string) (string, error) {
	only, automatic := "", false
	for len(args) > 2 {
		switch args[0] {
		case "-only":
			only, args = args[1], args[2:]
		case "-auto":
			automatic, args = true, args[1:]
		default:
			return "", fmt.Errorf("there is no %s", args[0])
		}
	}
	list, err := s.actions(args[0], args[1], only, automatic)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, any := range list {
		switch a := any.(type) {
		case *protocol.Command:
			fmt.Fprintf(&b, "command %s: %s\n", a.Command, a.Title)
		case *protocol.CodeAction:
			fmt.Fprintf(&b, "%s: %s", *a.Kind, a.Title)
			for _, d := range a.Diagnostics {
				code, _ := d.Code.(protocol.String)
				fmt.Fprintf(&b, " · %s", code)
			}
			if a.IsPreferred != nil && *a.IsPreferred {
				b.WriteString(" · preferred")
			}
			b.WriteString("\n")
		}
	}
	return b.String(), nil
}

// act makes the edit of an action: act FILE MARK TITLE.
func (s *story) act(args []string) (string, error) {
	list, err := s.actions(args[0], args[1], "", false)
	if err != nil {
		return "", err
	}
	var titles []string
	for _, any := range list {
		a, ok := any.(*protocol.CodeAction)
		if !ok {
			continue
		}
		if titles = append(titles, a.Title); a.Title == args[2] && a.Edit != nil {
			return described(a.Edit), s.applyEdit(a.Edit)
		}
	}
	return "", fmt.Errorf("there is no %q; there are %q", args[2], titles)
}

// format formats a buffer: format FILE.
func (s *story) format(args []string) (string, error) {
	name := uri.File(filepath.Join(s.dir, "work", args[0]))
	answer, err := s.ask(protocol.MethodTextDocumentFormatting, map[string]any{
		"textDocument": map[string]any{"uri": name}, "options": map[string]any{"tabSize": 8, "insertSpaces": false},
	})
	if err != nil {
		return "", err
	}
	var edits []protocol.TextEdit
	if err := (wire.Codec{}).Unmarshal(answer, &edits); err != nil || string(answer) == "null" {
		return "nothing\n", err
	}
	return fmt.Sprintf("%d edits\n", len(edits)), s.applyText(args[0], edits)
}

// applyText makes edits of a buffer.
func (s *story) applyText(name string, edits []protocol.TextEdit) error {
	if len(edits) == 0 {
		return nil
	}
	text, err := s.editor.Buffer(name)
	if err != nil {
		return err
	}
	if text, err = editortest.Edited(text, edits, workspace.Negotiate([]string{string(s.editor.Caps.PositionEncoding)})); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return s.editor.Type(ctx, name, text)
}

// symbols prints the agents that a search over the workspace finds: symbols QUERY.
func (s *story) symbols(args []string) (string, error) {
	answer, err := s.ask(protocol.MethodWorkspaceSymbol, map[string]any{"query": args[0]})
	if err != nil {
		return "", err
	}
	var list []protocol.SymbolInformation
	if err := (wire.Codec{}).Unmarshal(answer, &list); err != nil {
		return "", err
	}
	var b strings.Builder
	for _, symbol := range list {
		container := ""
		if symbol.ContainerName != nil {
			container = *symbol.ContainerName
		}
		fmt.Fprintf(&b, "%s (%s) %s %s\n", symbol.Name, container, symbol.Location.URI, span(symbol.Location.Range))
	}
	return b.String(), nil
}

// awaitSound waits until there is an agent that runs, and nothing is wrong with any.
func (s *story) awaitSound(ctx context.Context, name string) error {
	for {
		var r wire.ListResult
		if err := s.editor.Call(ctx, wire.MethodList, &wire.ListParams{}, &r); err != nil {
			return err
		}
		s.revision = max(s.revision, r.Revision)
		bad := func(p definition.Problem) bool { return p.Code != "agent/no-effect" }
		if !slices.ContainsFunc(r.Problems, bad) && slices.ContainsFunc(r.Agents, func(a wire.AgentInfo) bool { return a.Name == name && a.State == "ok" }) {
			return nil
		}
		if err := s.editor.Await(ctx, func(v editortest.Seen) bool { return v.Revision > r.Revision }); err != nil {
			return err
		}
	}
}

// registered prints what the daemon has registered with the editor.
func (s *story) registered() (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	list, err := s.editor.Registered(ctx)
	return lines(list), err
}
