package clienttest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentls/agentls/agents/definition"
)

// mistakes are the codes of spec 1.5 but agent/graph, agent/subagent-unknown and
// agent/overlap, which scenarios have. It is all that is wrong with the files of testdata/language: the code of
// each finding, its severity and its exact range; in bytes, too, where that is
// another. all.md has one mistake of each code that can stand beside the others;
// those that exclude one another, or need a second file, have files of their own.
const mistakes = `
all.md
  agent/missing-field    hint     2:6-2:8
  agent/file-name        warning  2:6-2:8
  agent/yaml-repaired    warning  3:13-3:52    3:13-3:56
  agent/dialect          hint     4:7-4:11
  agent/model-unknown    warning  5:7-5:12
  agent/model-retired    warning  6:25-6:41
  agent/tool-unknown     error    7:33-7:41
  agent/tool-unverified  hint     7:43-7:61
  agent/tool-conflict    warning  7:63-7:65
  agent/mcp-unknown      error    8:32-8:37    8:35-8:40
  agent/regex            error    9:46-9:56    9:49-9:60
  agent/handoff-target   error    11:37-11:47  11:41-11:51
  agent/handoff-cycle    info     12:35-12:40  12:37-12:42
  agent/expression       error    13:77-13:87  13:80-13:90
  agent/validator        error    15:41-15:60  15:44-15:63
  agent/schema           error    18:54-18:67  18:58-18:71
  agent/type             error    19:75-19:77  19:79-19:81
  agent/unknown-field    error    20:18-20:26
  agent/yaml-feature     error    21:8-21:29
  agent/prompt-twice     warning  22:14-22:32  22:14-22:35
  agent/placeholder      error    24:38-24:47  24:40-24:49
  agent/secret           warning  25:13-25:33  25:16-25:36
  agent/hidden-text      warning  26:13-26:14  26:16-26:19
round.md
  agent/handoff-cycle    info     4:40-4:42    4:43-4:45
copy.md
  agent/duplicate-name   error    2:6-2:14
  agent/file-name        warning  2:6-2:14
original.md
  agent/duplicate-name   error    2:6-2:14
named.md
  agent/name             error    1:39-1:50    1:43-1:54
nameless.md
  agent/missing-field    error    0:0-0:3
  agent/missing-field    hint     0:0-0:3
  agent/prompt-empty     error    2:0-2:3
open.md
  agent/yaml             error    0:0-0:3
claude.md
  agent/authority        warning  4:0-4:9
dead.md
  agent/dead             info     2:6-2:10
large.md
  agent/too-large        error    0:0-0:0
broad.md
  agent/too-large        error    0:0-0:3
`

// mended is what only a person can make right: what they mean is not known.
type mended struct {
	File string `json:"file"`
	Code string `json:"code"`
	From string `json:"from"`
	To   string `json:"to"`
}

var byHand = []mended{
	{"all.md", "agent/tool-unverified", "mcp.tracker.search", "write_file"},
	{"all.md", "agent/regex", "(geprüft", "geprüft"},
	{"all.md", "agent/expression", "state ==", "state == 1"},
	{"all.md", "agent/schema", "strin}", "string}"},
	{"all.md", "agent/secret", "AKIAIOSFODNN7EXAMPL3", "im Bund"},
	{"nameless.md", "agent/prompt-empty", "title: Nameless\n---\n", "title: Nameless\n---\nYou have a prompt now.\n"},
	{"dead.md", "agent/dead", "user_invocable: false\n", ""},
	{"large.md", "agent/too-large", filler, ""},
	{"broad.md", "agent/too-large", filler[:definition.MaxFrontMatter], ""},
}

// filler makes a file too large.
var filler = strings.Repeat("too much ", definition.MaxFile/9)

// finding is one line of mistakes, as the client shows it.
type finding struct{ shown, inBytes string }

// wanted returns the findings of each file, and the files in their order.
func wanted(t *testing.T) (files []string, of map[string][]finding) {
	t.Helper()
	of = make(map[string][]finding)
	for line := range strings.Lines(mistakes) {
		words := strings.Fields(line)
		switch {
		case len(words) == 0:
		case len(words) == 1:
			files = append(files, words[0])
		case len(words) > 4 || len(words) < 3:
			t.Fatalf("not a finding: %q", line)
		default:
			file := files[len(files)-1]
			of[file] = append(of[file], finding{words[2] + " " + words[1] + " " + words[0], words[len(words)-1] + " " + words[1] + " " + words[0]})
		}
	}
	return files, of
}

// TestMistakesHaveAllCodes holds the table against the codes of spec 1.5.
func TestMistakesHaveAllCodes(t *testing.T) {
	_, of := wanted(t)
	var have []string
	for _, list := range of {
		for _, f := range list {
			have = append(have, f.shown[strings.LastIndexByte(f.shown, '/')+1:])
		}
	}
	slices.Sort(have)
	want := strings.Fields("yaml missing-field type name duplicate-name file-name model-unknown model-retired tool-unknown tool-unverified tool-conflict mcp-unknown prompt-empty prompt-twice " +
		"placeholder regex handoff-target handoff-cycle schema validator expression secret hidden-text too-large yaml-feature yaml-repaired dialect dead authority unknown-field")
	slices.Sort(want)
	if diff := cmp.Diff(want, slices.Compact(have)); diff != "" {
		t.Errorf("codes (-want +got):\n%s", diff)
	}
}

// author is the workspace of the session.
func author(t *testing.T) string {
	t.Helper()
	files := map[string]string{
		".gemini/settings.json":   "{\n  // It helps for a while.\n  \"agents\": {\n    \"overrides\": {\"helper\": {\"run\": {\"max_turns\": 5}}}\n  }\n}\n",
		"note.md":                 "# 😀\n\n@helper Räume hier auf.\n",
		".gemini/agents/large.md": "---\nkind: agent\nname: large\ntitle: Large\n---\nYou are " + filler + "large.\n",
		".gemini/agents/broad.md": "---\nkind: agent\nname: broad\ntitle: Broad\n# " + filler[:definition.MaxFrontMatter] + "\n---\nYou are broad.\n",
	}
	for _, pattern := range []string{"testdata/language/*.md", "testdata/language/team/*.md"} {
		names, err := filepath.Glob(pattern)
		if err != nil || len(names) == 0 {
			t.Fatal(pattern, err)
		}
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			files[".gemini/agents/"+filepath.Base(name)] = strings.ReplaceAll(string(text), "<U+202E>", "\u202e")
		}
	}
	return unfold(t, files)
}

// TestNPMLanguage has vscode-languageserver-protocol write agent files (issue 6):
// each mistake that a file can have is found at its exact place, and ends by its
// quick fix, or by hand where only a person knows; a tool and a handoff are
// completed; an agent that five files name is renamed. It is the same for a client
// that pulls findings, one that is sent them, and one that counts bytes.
func TestNPMLanguage(t *testing.T) {
	drive := npm(t, "testdata/language.cjs")
	files, of := wanted(t)
	for _, c := range []struct {
		name, encoding string
		push           bool
	}{{"pull", "utf-16", false}, {"push", "utf-16", true}, {"bytes", "utf-8", false}} {
		t.Run(c.name, func(t *testing.T) {
			_, env := perform(t, "", own)
			want := make(map[string][]string)
			for file, list := range of {
				for _, f := range list {
					if c.encoding == "utf-8" {
						want[file] = append(want[file], f.inBytes)
					} else {
						want[file] = append(want[file], f.shown)
					}
				}
			}
			var got bytes.Buffer
			asked := 0
			for _, s := range drive(t, env, author(t), map[string]any{
				"push": c.push, "encoding": c.encoding, "files": files, "mends": byHand, "draft": draft,
			}) {
				if s.What != "open" && s.What != "on the disk" {
					got.WriteString(s.What + " " + string(s.Value) + "\n")
					continue
				}
				found := make(map[string][]string)
				if err := json.Unmarshal(s.Value, &found); err != nil {
					t.Fatal(err)
				}
				asked++
				if diff := cmp.Diff(want, found); diff != "" {
					t.Errorf("findings, %s (-want +got):\n%s", s.What, diff)
				}
			}
			if asked != 2 {
				t.Errorf("findings were seen %d times", asked)
			}
			golden(t, "testdata/language.want", strings.Replace(got.String(), fmt.Sprintf("encoding %q\n", c.encoding), "", 1))
		})
	}
}

// own are the person's settings: two servers, of which none is connected, and a
// model that was retired long ago.
const own = `{
  "mcpServers": {"tracker": {"command": "tracker-mcp"}, "schlüssel 😀": {"command": "keys-mcp"}},
  "model": {"table": [{"id": "gemini-1990-lite", "retired": "2020-01-01", "successor": "gemini-2020-lite"}, {"id": "gemini-2020-lite"}]}
}`

// draft is a file in which two names are begun.
const draft = `---
kind: agent
name: draft
title: Draft
description: A file that is being written.
tools: {confirmation: {prompt_template: Größe 😀}, allow: [grep, read_f]}
handoffs: [{description: Für 😀, to: rou}]
---
You are a draft.
`
