package main

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
)

// exitCodes is the page of exit codes, made of the constants exit… of the
// command line and the comments behind them.
func exitCodes(root string) ([]byte, error) {
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, "cmd", "agentls", "main.go"),
		nil, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	var rows [][]string
	for _, d := range file.Decls {
		declared, ok := d.(*ast.GenDecl)
		if !ok || declared.Tok != token.CONST {
			continue
		}
		for _, s := range declared.Specs {
			constant := s.(*ast.ValueSpec)
			if !strings.HasPrefix(constant.Names[0].Name, "exit") {
				continue
			}
			number, ok := constant.Values[0].(*ast.BasicLit)
			if !ok || constant.Comment == nil {
				return nil, errors.New(constant.Names[0].Name +
					" of cmd/agentls/main.go needs a number and a comment that says when it is given")
			}
			rows = append(rows, []string{number.Value, strings.TrimSpace(constant.Comment.Text())})
		}
	}
	if len(rows) == 0 {
		return nil, errors.New("cmd/agentls/main.go has no exit codes")
	}
	p := newPage("Exit codes")
	p.say("Each command of `agentls` ends with one of these.")
	p.table([]string{"code", "meaning"}, rows)
	p.say("`agentls run --format json` also says why a run ended, in the field `reason` ([protocol](../protocol.md)).")
	return p.text(), nil
}
