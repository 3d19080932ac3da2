// Protocoldoc writes docs/protocol.md, docs/protocol.schema.json and the types of
// the VS Code extension (editors/vscode/src/protocol.ts) from the Go source: the methods and types of internal/wire, the bodies of
// agents/activity, the kinds and reasons of internal/fault with their codes in
// server, and the route table of handlers. What the source does not say (which
// types belong to a method, what a client without a capability gets instead) is
// one table, in table.go.
//
//	go run ./internal/cmd/protocoldoc           # writes them
//	go run ./internal/cmd/protocoldoc -check    # exits with 1 when they are stale
//
// It reads source and imports nothing of the product, so it works while other
// packages do not compile.
package main

import (
	"github.com/agentls/agentls/internal/cmd/documents"
)

func main() { documents.Main("protocoldoc", generate) }

// generate returns the documents of the source below root. The same source
// gives the same bytes.
func generate(root string) ([]documents.Document, error) {
	s, err := load(root)
	if err != nil {
		return nil, err
	}
	text, err := s.markdown()
	if err != nil {
		return nil, err
	}
	schema, err := s.schema()
	if err != nil {
		return nil, err
	}
	return []documents.Document{
		{Name: "docs/protocol.md", Text: text},
		{Name: "docs/protocol.schema.json", Text: schema},
		{Name: "editors/vscode/src/protocol.ts", Text: s.typescript()},
	}, nil
}
