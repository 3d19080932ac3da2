package scenario_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"go.lsp.dev/jsonrpc2"
	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"github.com/agentls/agentls/internal/editortest"
	"github.com/agentls/agentls/internal/wire"
	"github.com/agentls/agentls/workspace"
)

// cursor returns a file of the workspace and the place in it that a mark has: a
// part of its text, which is there once, with ^ where the cursor is; ^ alone is the
// beginning. An open file is looked at as the editor has it.
func (s *story) cursor(name, mark string) (map[string]any, error) {
	path := filepath.Join(s.dir, "work", name)
	text, err := s.editor.Buffer(name)
	if err != nil {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		text = string(data)
	}
	mark = strings.ReplaceAll(mark, `\n`, "\n")
	before, after, ok := strings.Cut(mark, "^")
	if n := strings.Count(text, before+after); !ok || (n != 1 && mark != "^") {
		return nil, fmt.Errorf("%q is %d times in %s, and is to be there once, with ^ for the cursor", mark, n, name)
	}
	encoding := workspace.Negotiate([]string{string(s.editor.Caps.PositionEncoding)})
	at, err := workspace.PositionAt(text, strings.Index(text, before+after)+len(before), encoding)
	return map[string]any{
		"textDocument": map[string]any{"uri": uri.File(path)}, "position": map[string]any{"line": at.Line, "character": at.Character},
	}, err
}

// ask sends a request and returns the answer as it came.
func (s *story) ask(method string, params any) (json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	raw, err := json.Marshal(params)
	if err != nil {
		return nil, err
	}
	var answer jsonrpc2.RawMessage
	err = s.editor.Call(ctx, method, rawParams(raw), &answer)
	return json.RawMessage(answer), err
}

// completion prints what may stand at a cursor, a line each, or all that is said
// of one item, when it is looked at as well: completion FILE MARK [LABEL].
func (s *story) completion(args []string) (string, error) {
	at, err := s.cursor(args[0], args[1])
	if err != nil {
		return "", err
	}
	answer, err := s.ask(protocol.MethodTextDocumentCompletion, at)
	if err != nil {
		return "", err
	}
	var list protocol.CompletionList
	if err := (wire.Codec{}).Unmarshal(answer, &list); err != nil || string(answer) == "null" {
		return "nothing\n", err
	}
	if list.IsIncomplete {
		return "", fmt.Errorf("the list is incomplete")
	}
	var b strings.Builder
	for _, i := range list.Items {
		if len(args) == 3 && i.Label == args[2] {
			sent, err := protocol.Marshal(i)
			if err != nil {
				return "", err
			}
			resolved, err := s.ask(protocol.MethodCompletionItemResolve, json.RawMessage(sent))
			return string(sent) + "\n" + string(resolved) + "\n", err
		}
		detail, _ := i.Detail.Get()
		edit, ok := i.TextEdit.(*protocol.TextEdit)
		if !ok {
			return "", fmt.Errorf("%s has no text", i.Label)
		}
		fmt.Fprintf(&b, "%s · %d · %s · %s %q", i.Label, i.Kind, detail, span(edit.Range), edit.NewText)
		if i.InsertTextFormat == protocol.InsertTextFormatSnippet {
			b.WriteString(" snippet")
		}
		if i.InsertTextMode != 0 {
			fmt.Fprintf(&b, " mode %d", i.InsertTextMode)
		}
		b.WriteString("\n")
	}
	if len(args) == 3 {
		return "", fmt.Errorf("there is no %s", args[2])
	}
	return b.String(), nil
}

// hover prints what is told at a cursor: hover FILE MARK.
func (s *story) hover(args []string) (string, error) {
	at, err := s.cursor(args[0], args[1])
	if err != nil {
		return "", err
	}
	answer, err := s.ask(protocol.MethodTextDocumentHover, at)
	if err != nil {
		return "", err
	}
	var h struct {
		Contents protocol.MarkupContent `json:"contents"`
		Range    protocol.Range         `json:"range"`
	}
	if err := (wire.Codec{}).Unmarshal(answer, &h); err != nil || string(answer) == "null" {
		return "nothing\n", err
	}
	return fmt.Sprintf("%s %s\n%s\n", h.Contents.Kind, span(h.Range), h.Contents.Value), nil
}

// about prints what a request about a file is answered: about METHOD FILE [MORE],
// where MORE is a JSON object of further parameters. The method is that of
// textDocument.
func (s *story) about(args []string) (string, error) {
	params := map[string]any{}
	if len(args) == 3 {
		if err := json.Unmarshal([]byte(args[2]), &params); err != nil {
			return "", err
		}
	}
	params["textDocument"] = map[string]any{"uri": uri.File(filepath.Join(s.dir, "work", args[1]))}
	answer, err := s.ask("textDocument/"+args[0], params)
	return string(answer) + "\n", err
}

// shows asks about the whole of a file as an editor does, again whenever it is
// told to, until the answer has a text: await shows METHOD FILE TEXT.
func (s *story) shows(ctx context.Context, args []string) error {
	for {
		told := len(s.editor.Seen().Refreshed)
		answer, err := s.about([]string{args[0], args[1], `{"range": {"start": {"line": 0, "character": 0}, "end": {"line": 9999, "character": 0}}}`})
		if err != nil || strings.Contains(answer, args[2]) {
			return err
		}
		if err := s.editor.Await(ctx, func(v editortest.Seen) bool { return len(v.Refreshed) > told }); err != nil {
			return fmt.Errorf("%w: %s", err, answer)
		}
	}
}

// span prints a range.
func span(r protocol.Range) string {
	return fmt.Sprintf("%d:%d-%d:%d", r.Start.Line, r.Start.Character, r.End.Line, r.End.Character)
}
