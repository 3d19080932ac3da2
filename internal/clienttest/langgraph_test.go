package clienttest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestLangGraphReadsOurGraphs: what graph visualize --format json prints is read into the
// Graph of @langchain/core, which draws the same nodes and edges as our Mermaid.
func TestLangGraphReadsOurGraphs(t *testing.T) {
	node := needPackages(t, ".", "@langchain/core")
	modules, err := filepath.Abs("node_modules")
	if err != nil {
		t.Fatal(err)
	}
	program := build(t)
	dir := unfold(t, map[string]string{
		".gemini/agents/analyzer.md": "---\nkind: agent\nname: analyzer\ntitle: A\nhandoffs: [{to: fixer, when: conditional, condition: \"task.status == 'done'\"}, {to: user}]\n---\nYou analyse.\n",
		".gemini/agents/fixer.md":    "---\nkind: agent\nname: fixer\ntitle: F\n---\nYou fix.\n",
		".gemini/agents/bug-flow.md": `---
kind: agent
name: bug-flow
title: Bug Flow
graph:
  entry: analyzer
  nodes:
    - {name: analyzer, agent: analyzer}
    - {name: code-fixer, agent: fixer}
    - {name: ask, human: "Fix it?"}
    - {name: look_1, tool: ls}
    - {name: reviewer, agent: fixer}
  edges:
    - {from: analyzer, to: code-fixer, condition: "analysis.can_auto_fix && analysis.n < 3"}
    - {from: analyzer, to: ask, else: true}
    - {from: ask, to: code-fixer}
    - {from: code-fixer, to: look_1}
    - {from: code-fixer, to: reviewer}
    - {from: look_1, to: reviewer}
    - {from: reviewer, to: analyzer, condition: 'reviewer == "again"'}
    - {from: reviewer, to: END, else: true}
  state: {analysis: {}}
---
`,
	})
	home := t.TempDir()
	for _, agent := range []string{"bug-flow", "analyzer"} {
		t.Run(agent, func(t *testing.T) {
			draw := func(format string) []byte {
				c := exec.Command(program, "graph", "visualize", agent, "--format", format)
				c.Dir, c.Env = dir, append(os.Environ(), "GEMINI_HOME="+home, "HOME="+home)
				out, err := c.Output()
				if err != nil {
					t.Fatal(err, string(err.(*exec.ExitError).Stderr))
				}
				return out
			}
			c := exec.Command(node, "testdata/langgraph.cjs")
			c.Env, c.Stdin = append(os.Environ(), "CLIENT_MODULES="+modules), bytes.NewReader(draw("json"))
			theirs, err := c.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, theirs)
			}
			ours := draw("mermaid")
			if a, b := parts(string(ours)), parts(string(theirs)); len(a) < 5 || !slices.Equal(a, b) {
				t.Errorf("ours\n%s\ntheirs\n%s", strings.Join(a, "\n"), strings.Join(b, "\n"))
			}
		})
	}
}

// parts are the nodes and edges of a Mermaid flowchart, sorted, without what is only how
// it looks.
func parts(mermaid string) (all []string) {
	node, edge := regexp.MustCompile(`^\t([\w-]+)\((.*)\)(?:::\w+)?$`), regexp.MustCompile(`^\t([\w-]+) (?:-->|-\. (.*) \.->|-\.->\|"(.*)"\|) ([\w-]+);$`)
	plain := strings.NewReplacer("&nbsp;", " ", "#quot;", `"`, "#lt;", "<", "#gt;", ">", "#amp;", "&", "#35;", "#", "#59;", ";")
	for line := range strings.Lines(mermaid) {
		line = strings.TrimSuffix(line, "\n")
		if m := node.FindStringSubmatch(line); m != nil {
			all = append(all, "node "+m[1]+" "+m[2])
		} else if m := edge.FindStringSubmatch(line); m != nil {
			// Ours is quoted, so that a condition means nothing.
			all = append(all, "edge "+m[1]+" "+m[4]+" "+strings.TrimSpace(plain.Replace(m[2]+m[3])))
		}
	}
	slices.Sort(all)
	return all
}
