package main

import (
	"context"
	_ "embed"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A maker makes commands at random. In its texts $OUT is the folder outside,
// $PORT and $UDP are ports and $SOCK and $ABSTRACT sockets that nobody may
// reach; a world fills them in.
type maker struct {
	rng      *rand.Rand
	programs []program
	corpus   []string // everyday commands
}

// program is an installed program and the flags that its --help names.
type program struct {
	name  string
	flags []string
}

//go:embed paths.txt
var pathList string

//go:embed attacks.txt
var attackList string

var paths, attacks = lines(strings.ReplaceAll(pathList, "wallfuzz-target", canary)), lines(attackList)

// lines returns the lines of a text that are no comments.
func lines(text string) []string {
	return slices.DeleteFunc(strings.Split(strings.TrimSpace(text), "\n"), func(line string) bool {
		return strings.HasPrefix(line, "# ") || line == ""
	})
}

// Next returns the next command.
func (m *maker) Next() string {
	text := m.base()
	for m.rng.IntN(3) == 0 {
		text = m.mutate(text)
	}
	return text
}

func (m *maker) base() string {
	switch n := m.rng.IntN(10); {
	case n < 4:
		return m.fill(pick(m.rng, attacks))
	case n < 5 && len(m.corpus) > 0:
		return pick(m.rng, m.corpus)
	}
	p := pick(m.rng, m.programs)
	words := []string{p.name}
	for range m.rng.IntN(4) {
		if len(p.flags) == 0 || m.rng.IntN(4) == 0 {
			words = append(words, fmt.Sprintf("-%c", 'a'+m.rng.IntN(26)))
			continue
		}
		flag := pick(m.rng, p.flags)
		if strings.HasSuffix(flag, "=") {
			flag += m.path()
		}
		words = append(words, flag)
		if m.rng.IntN(3) == 0 {
			words = append(words, m.path())
		}
	}
	for range 1 + m.rng.IntN(3) {
		words = append(words, m.path())
	}
	return strings.Join(words, " ")
}

func (m *maker) path() string { return pick(m.rng, paths) }

// fill puts a path in each place of an attack.
func (m *maker) fill(text string) string {
	for strings.Contains(text, "@") {
		text = strings.Replace(text, "@", strings.ReplaceAll(m.path(), "@", ""), 1)
	}
	return text
}

// mutate changes a command as somebody would who wants to hide what it does.
func (m *maker) mutate(text string) string {
	switch m.rng.IntN(14) {
	case 0:
		return text + " > " + m.path()
	case 1:
		return text + " >> " + m.path()
	case 2:
		return text + " < " + m.path()
	case 3:
		return "sh -c " + quote(text)
	case 4:
		return "bash -c " + quote(text) + " | cat"
	case 5:
		return "echo $(" + text + ")"
	case 6:
		return text + "; " + m.base()
	case 7:
		return text + " | " + m.base()
	case 8:
		return "cd " + m.path() + " && " + text
	case 9:
		return "(" + text + ") &"
	case 10:
		return "env A=b timeout 1 " + text
	case 11:
		return "echo " + m.path() + " | xargs " + text
	case 12:
		words := strings.Fields(text)
		words[m.rng.IntN(len(words))] = m.path()
		return strings.Join(words, " ")
	}
	return text + " " + m.path()
}

func pick[T any](rng *rand.Rand, all []T) T { return all[rng.IntN(len(all))] }

// quote makes one word of a text for a shell.
func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// installed returns the names of the installed programs, sorted.
func installed() []string {
	found := make(map[string]bool)
	for _, dir := range []string{"/usr/bin", "/bin", "/usr/sbin", "/sbin", "/usr/local/bin"} {
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue // not every system has each of them
		}
		for _, e := range entries {
			info, err := os.Stat(filepath.Join(dir, e.Name()))
			if err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0 {
				found[e.Name()] = true
			}
		}
	}
	names := make([]string, 0, len(found))
	for name := range found {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

var flagWord = regexp.MustCompile(`(?m)(?:^|[\s,|\[])(--?[A-Za-z0-9][-A-Za-z0-9]*=?)`)

// learn returns the programs with the flags that their --help names; ask runs
// commands behind the wall and returns what each printed.
func learn(ctx context.Context, names []string, ask func(context.Context, []string) ([]string,
	error)) ([]program, error) {
	commands := make([]string, len(names))
	for i, name := range names {
		commands[i] = name + " --help"
	}
	outputs, err := ask(ctx, commands)
	if err != nil {
		return nil, err
	}
	all := make([]program, len(names))
	for i, name := range names {
		all[i].name = name
		for _, match := range flagWord.FindAllStringSubmatch(outputs[i], 400) {
			if !slices.Contains(all[i].flags, match[1]) {
				all[i].flags = append(all[i].flags, match[1])
			}
		}
	}
	return all, nil
}

// readCorpus returns the lines of a file of commands; none where it is not there.
func readCorpus(name string) []string {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil
	}
	return lines(string(data))
}
