package command_test

import (
	"testing"

	"github.com/agentls/agentls/agents/tool/command"
)

// twoHundred are commands of about 200 bytes: the goal for a decision is 100 µs.
var twoHundred = map[string]string{
	"plain":  "git diff HEAD~1 -- src/main.go | head -20 && go test -run 'TestParse|TestPrint' ./src/... 2>&1 | tail -40 && npm run build -- --mode production --outdir docs/out && git commit -m 'Parse and print what was said'",
	"many":   "git log --oneline -20 -- src/main.go | head -5 && cat a.txt b.txt | sort | uniq -c | sort -rn | head -10; grep -n 'package main' src/main.go; find . -name '*.go' -type f -maxdepth 3 | wc -l; sed -n '1,20p' a.txt; ls",
	"script": "for f in src/*.go; do if grep -q \"$PATTERN\" \"$f\"; then sed -i \"s/$OLD/$NEW/g\" \"$f\" && echo \"changed $f\" >> changed.txt; fi; done; cd docs && npx prettier --write x.md > /tmp/out.log 2>&1 || exit 1 # done",
}

func BenchmarkAnalyze(b *testing.B) {
	for name, text := range twoHundred {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := command.Analyze(text, here); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
