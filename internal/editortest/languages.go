package editortest

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"go.lsp.dev/jsonrpc2"
	"go.lsp.dev/uri"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/internal/wire"
	"github.com/agentls/agentls/workspace"
)

// The editor has a language server of its own, for any file: "error: TEXT" and
// "warning: TEXT" on a line are its diagnostics, "func NAME" is a symbol and the
// definition of NAME, and NAME is used wherever it is a word. The word elsewhere is
// defined in a file outside of the workspace.
var (
	wrong    = regexp.MustCompile(`\b(error|warning): (.*)`)
	function = regexp.MustCompile(`\bfunc (\w+)`)
	words    = regexp.MustCompile(`\w+`)
)

// query answers agents/editorQuery: from buffers where files are open.
func (e *Editor) query(p wire.EditorQueryParams) (any, error) {
	texts, err := e.texts()
	if err != nil {
		return nil, err
	}
	encoding := workspace.Negotiate([]string{string(e.Caps.PositionEncoding)})
	symbols, locations, diagnostics := wire.EditorSymbols{}, wire.EditorLocations{},
		wire.EditorDiagnostics{Items: []wire.EditorFileDiagnostics{}}
	asked := ""
	if p.Position != nil {
		text, ok := texts[uri.URI(p.URI)]
		at, err := workspace.Offset(text, workspace.Position(*p.Position), encoding)
		if !ok || err != nil {
			return nil, jsonrpc2.Errorf(jsonrpc2.InvalidParams, "no such place")
		}
		if asked = words.FindString(text[at:]); asked == "" || !strings.HasPrefix(text[at:], asked) {
			return nil, jsonrpc2.Errorf(jsonrpc2.InvalidParams, "nothing stands there")
		}
	}
	names := make([]string, 0, len(texts))
	for name := range texts {
		names = append(names, string(name))
	}
	slices.Sort(names)
	for _, name := range names {
		file := wire.EditorFileDiagnostics{URI: name, Diagnostics: []wire.EditorDiagnostic{}}
		for i, line := range strings.Split(texts[uri.URI(name)], "\n") {
			at := func(found []int) wire.EditorLocation {
				start := definition.Position{Line: uint32(i),
					Character: uint32(utf8.RuneCountInString(line[:found[0]]))}
				return wire.EditorLocation{URI: name, Range: definition.Range{Start: start, End: start}}
			}
			if found := wrong.FindStringSubmatchIndex(line); found != nil {
				severity := map[string]int{"error": 1, "warning": 2}[line[found[2]:found[3]]]
				file.Diagnostics = append(file.Diagnostics, wire.EditorDiagnostic{
					Range: at(found).Range, Severity: severity, Source: "fake", Message: line[found[4]:found[5]],
				})
			}
			for _, found := range function.FindAllStringSubmatchIndex(line, -1) {
				symbol := line[found[2]:found[3]]
				if p.Kind == "definition" && symbol == asked {
					locations = append(locations, at(found[2:]))
				}
				if p.URI == name || (p.URI == "" && strings.Contains(symbol, p.Query)) {
					symbols = append(symbols, wire.EditorSymbol{Name: symbol, Kind: 12, Location: at(found[2:])})
				}
			}
			for _, found := range words.FindAllStringIndex(line, -1) {
				if p.Kind == "references" && line[found[0]:found[1]] == asked {
					locations = append(locations, at(found))
				}
			}
		}
		if p.URI == name || (p.URI == "" && len(file.Diagnostics) > 0) {
			diagnostics.Items = append(diagnostics.Items, file)
		}
	}
	if p.Kind == "definition" && asked == "elsewhere" {
		locations = append(locations, wire.EditorLocation{URI: "file:///etc/passwd"},
			wire.EditorLocation{URI: "untitled:1"})
	}
	switch p.Kind {
	case "diagnostics":
		return diagnostics, nil
	case "symbols":
		return symbols, nil
	}
	return locations, nil
}

// texts returns the files of the folder, as the person sees them.
func (e *Editor) texts() (map[uri.URI]string, error) {
	texts := make(map[uri.URI]string)
	err := filepath.WalkDir(e.config.Dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == ".git" || d.Name() == ".gemini") {
			return fs.SkipDir
		}
		if d.Type().IsRegular() {
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			texts[uri.File(path)] = string(text)
		}
		return nil
	})
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, b := range e.buffers {
		texts[b.uri] = b.text
	}
	return texts, err
}
