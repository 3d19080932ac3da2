package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestFirstAgentGuide follows docs/first-agent.md: its commands, in its order, in
// a folder of its own.
func TestFirstAgentGuide(t *testing.T) {
	text, err := os.ReadFile("../../docs/first-agent.md")
	if err != nil {
		t.Fatal(err)
	}
	model := "> what does this program do\n< It says hello.\n\n" +
		"> look at the newest file\n>system You review\n< It is fine.\n\n" +
		"> fix the first thing\n>system You review\n<call read_file {\"file_path\": \"hello.txt\"}\n\n" +
		">result read_file contains helo\n<call edit_file {\"file_path\": \"hello.txt\", \"old_string\": \"helo\", \"new_string\": \"hello\"}\n\n" +
		">result edit_file\n< Fixed.\n\n> and the second\n< There is none.\n"
	play(t, model)
	dir := t.TempDir()
	put := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, filepath.FromSlash(name)), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	put("hello.txt", "helo\n")
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	for _, m := range indented.FindAllStringSubmatch(string(text), -1) {
		line, _, _ := strings.Cut(m[1], "  #")
		args := word.FindAllString(line, -1)[1:]
		for i, arg := range args {
			args[i] = strings.Trim(arg, `"`)
		}
		if strings.Contains(line, "fix the first") {
			// What the guide says to do in an editor, and the answer that the person gives.
			const agent = ".gemini/agents/reviewer.md"
			put(agent, strings.Replace(read(agent), "allow: [", "allow: [edit_file, ", 1))
			if code, _, errs := command(t, dir, "trust"); code != 0 {
				t.Fatal(errs)
			}
			args = append(args, "--approve", "edits")
		}
		if code, out, errs := command(t, dir, args...); code != 0 {
			t.Fatalf("%s: exit %d\n%s%s", line, code, out, errs)
		}
		switch {
		case strings.Contains(line, "fix the first") && read("hello.txt") != "hello\n":
			t.Errorf("%s: nothing was fixed", line)
		case strings.Contains(line, "--undo") && read("hello.txt") != "helo\n":
			t.Errorf("%s: nothing was undone", line)
		}
	}
}

// TestClientOfTheGuide runs the client that docs/writing-a-client.md shows, and
// answers its question.
func TestClientOfTheGuide(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil && os.Getenv("CI") == "" {
		t.Skip("there is no python3")
	}
	if err != nil {
		t.Fatal(err) // .ci/run installs it
	}
	text, err := os.ReadFile("../../docs/writing-a-client.md")
	if err != nil {
		t.Fatal(err)
	}
	program := regexp.MustCompile("(?s)```python\n(.*?)```").FindSubmatch(text)
	if program == nil {
		t.Fatal("the guide shows no program")
	}
	play(t, "> say it\n< I write.\n<call write_file {\"file_path\": \"a.txt\", \"content\": \"said\\n\"}\n\n>result write_file\n< Done.\n")
	dir, bin := writer(t), t.TempDir()
	if code, _, errs := command(t, dir, "trust"); code != 0 {
		t.Fatal(errs)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(bin, "agentls")); err != nil {
		t.Fatal(err)
	}
	client := filepath.Join(bin, "client.py")
	if err := os.WriteFile(client, program[1], 0o644); err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), python, client, "writer", "say it")
	c.Dir, c.Stdin = dir, strings.NewReader("y\n")
	c.Env = append(os.Environ(), asCommand+"=1", "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	var errs bytes.Buffer
	c.Stderr = &errs
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%v\n%s%s", err, out, &errs)
	}
	for _, want := range []string{"I write.", "wants to run write_file", "Allow? [y/N]", "Done.", "\nGOAL\n"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("it does not print %q:\n%s%s", want, out, &errs)
		}
	}
	if written, err := os.ReadFile(filepath.Join(dir, "a.txt")); err != nil || string(written) != "said\n" {
		t.Errorf("%q, %v", written, err)
	}
}
