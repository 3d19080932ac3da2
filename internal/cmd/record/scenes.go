//go:build linux

package main

import (
	"embed"
	"io/fs"
	"path"
)

// scripts are what the model says in the scenes.
//
//go:embed scenes
var scripts embed.FS

func script(name string) string {
	data, err := fs.ReadFile(scripts, path.Join("scenes", name+".txt"))
	if err != nil {
		panic(err) // it is part of the program
	}
	return string(data)
}

// readmeScene is the scene whose stills are the README's picture.
const readmeScene = 3

// project is a small program with a bug.
var project = map[string]string{
	"average.go": `package stats

// Average returns the mean of readings.
func Average(readings []float64) float64 {
	sum := 0.0
	for i := 0; i <= len(readings); i++ {
		sum += readings[i]
	}
	return sum / float64(len(readings))
}
`,
	"median.go": `package stats

import "slices"

// Median returns the middle of readings.
func Median(readings []float64) float64 {
	slices.Sort(readings)
	return readings[len(readings)/2]
}
`,
	"test.sh": `echo "=== RUN   TestAverage"
echo "--- PASS: TestAverage (0.00s)"
echo "=== RUN   TestMedian"
echo "--- PASS: TestMedian (0.00s)"
echo PASS
`,
	".gemini/agents/reviewer.md": agent("reviewer", "Reads a change and says what is wrong with it.",
		"read_file, grep, ls"),
}

// agent is the text of an agent file.
func agent(name, description, tools string) string {
	head := "---\nkind: agent\nname: " + name + "\ndescription: " + description + "\n"
	return head + "tools:\n  allow: [" + tools + "]\n---\nYou are the " + name + ".\n"
}

// with is the project with files more.
func with(more map[string]string) map[string]string {
	all := make(map[string]string)
	for _, files := range []map[string]string{project, more} {
		for name, text := range files {
			all[name] = text
		}
	}
	return all
}

// armed is what stands on the screen when keys answer a question.
const armed = "a key, or ↑ ↓"

func scenes() []scene {
	first := []step{
		sees("Trust the folder"), sees(armed), reads("asked"), presses("3"), sees("→ Trust this folder"), misses(armed),
		types("What does this program do?"), presses(enter), sees("Neither handles"), idle, reads("answered"),
		types("/"), sees("/changes"), reads("commands"), presses(escape),
	}
	return []scene{
		{name: "first", cols: 100, rows: 30, files: project, script: script("first"), steps: first},
		{name: "first-small", cols: 60, rows: 20, files: project, script: script("first"), steps: first},
		{name: "first-light", cols: 100, rows: 30, light: true, files: project, script: script("first"), steps: first},
		{name: "task", cols: 100, rows: 30, files: project, trusted: true, script: script("task"), steps: []step{
			sees("main ·"), types("The tests fail. Please fix the average."), reads("typed"), presses(enter),
			sees("Allow this?"), sees(armed), reads("question"),
			presses("t"), sees("Tell the agent why not"), types("use range"), reads("reason"), presses(enter),
			sees("for _, reading"), sees(armed), reads("again"), presses("y"),
			sees("The average is right now"), idle, reads("done"), finds("average.go", "range readings", true),
		}},
		{name: "steering", cols: 100, rows: 30, files: project, trusted: true,
			script: script("steering"), steps: []step{
				sees("main ·"), types("Explain both functions"), presses(enter), sees("thinking"), reads("thinking"),
				types("only the median"), presses(enter), sees("queued"), reads("queued"), opens("steered"),
				sees("Only the median, then"), idle, reads("answered"),
			}},
		{name: "questions", cols: 100, rows: 30, trusted: true, script: script("questions"),
			files: with(map[string]string{
				".gemini/agents/lead.md": "---\nkind: agent\nname: lead\ndescription: Leads the writers.\n" +
					"subagents: [writer]\n---\nYou lead.\n",
				".gemini/agents/writer.md": agent("writer", "Writes one page.", "read_file, write_file"),
			}), steps: []step{
				sees("main ·"), types("@lead Have the three pages written"), presses(enter),
				sees("2 more waiting"), sees(armed), reads("first"), presses("y"),
				sees("1 more waiting"), sees(armed), reads("second"), presses("y"),
				misses("more waiting"), sees(armed), reads("third"), presses("n"),
				sees("The pages are there"), idle, reads("done"),
			}},
		{name: "interrupt", cols: 100, rows: 30, files: project, trusted: true,
			script: script("interrupt"), steps: []step{
				sees("main ·"), types("Look at all of it"), presses(enter), sees("I begin with"), reads("answering"),
				presses(escape), sees("Cancelled"), misses("stopping"), idle, reads("stopped"),
				types("go on, but only with the median"), presses(enter), sees("Where I was"), idle, reads("went-on"),
				presses(ctrlD), ends, reads("left"),
			}},
		{name: "changes", cols: 100, rows: 30, files: project, trusted: true, script: script("changes"), steps: []step{
			sees("main ·"), types("/mode edits"), presses(enter), sees("mode edits"),
			types("Clean up the package"), presses(enter),
			sees("Both files are clean"), idle, reads("changed"),
			types("/changes"), presses(escape), misses("goes through"), presses(enter),
			sees("2 files changed."), sees(armed), reads("files"),
			presses("r"), sees("Part 1 of 2"), sees(armed), reads("part"), presses("k"),
			sees("Part 2 of 2"), presses("u"),
			sees("The change in median.go"), reads("next"), presses("k"), sees("2 parts kept, 1 undone"), reads("done"),
			finds("average.go", "NaN of none", true), finds("average.go", "func Sum", false),
			finds("median.go", "slices.Clone", true),
			types("/changes"), presses(escape), misses("goes through"), presses(enter), sees("There are no changes"),
		}},
	}
}
