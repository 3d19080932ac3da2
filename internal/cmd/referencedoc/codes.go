package main

import "github.com/agentls/agentls/agents/definition"

// codesPage is the page of the codes of findings.
func codesPage() []byte {
	var rows [][]string
	for _, c := range definition.Codes {
		rows = append(rows, []string{"`" + c.Name + "`", c.Meaning})
	}
	p := newPage("Codes of findings")
	p.say("What editors and `agentls validate` say about a file has one of these codes. Each finding says in its message what to do; most have a fix.")
	p.table([]string{"code", "meaning"}, rows)
	return p.text()
}
