// Package command reads the custom commands of a person, a project and extensions:
// TOML files with a prompt, as gemini-cli has them (spec 9.3).
//
//	description = "Reviews a file"
//	prompt = "Review @{docs/style.md} and !{git diff {{args}}}: {{args}}"
//
// A file commands/git/commit.toml is the command git:commit. {{args}} stands for what
// follows the name, inside !{…} quoted for the shell; @{path} for a file, and
// !{command} for the output of a command of the shell. A prompt without {{args}} is
// followed by what was typed.
//
// The package reads files and takes prompts apart. It runs nothing: what a command
// of the shell may do is decided where it runs.
//
// [Read] gives a list that nothing changes afterwards, so it may be used by several
// goroutines; who wants a file's newest text reads again. What a person types is taken
// apart by [Parse], found by [Find] and made into parts by [Command.Expand]; the caller
// reads the files of the parts and runs their commands, each with the questions that
// such a call has. A file that is wrong is in the list with its Problem, so that a
// person is told instead of finding nothing.
package command

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/internal/folder"
)

// The bounds of what is read.
const (
	maxFile  = 256 << 10
	maxFiles = 1000 // of one place
)

// Place is a folder of commands. Places are given to [Read] in the order of their
// precedence.
type Place struct {
	Dir       string
	Within    string // a folder above Dir that links must not lead out of; "" = Dir
	Scope     string // project, global or extension
	Extension string // the extension's name; "" for none
}

// Command is one custom command. Expand is the only use of one; a Command that Read did
// not make has no parts.
type Command struct {
	Name        string // as it is typed behind the slash
	Description string
	Path        string
	Scope       string
	Extension   string
	// Why it cannot be used; "" = it can. It is a clause for a person, and says what to do where
	// that is known.
	Problem string

	parts []Part
}

// PartKind is what a part of a prompt stands for.
type PartKind int

// The kinds of parts.
const (
	Text  PartKind = iota
	Args           // what was typed behind the name
	File           // a file's content
	Shell          // the output of a command of the shell
)

// Part is a part of a prompt.
type Part struct {
	Kind PartKind
	Text string // the text, the path or the command
}

// Read returns the commands of places, by name. Of two with one name the earlier
// place's counts; an extension's that another one hides is called extension.name. It
// reads the files anew with each call, and reports nothing: a folder that is not there
// has no commands, and a file that is wrong is a command with a Problem. Such a one
// hides those of later places too. Of a folder 1000 files count, and of each file at
// most 256 KiB.
func Read(places []Place) []Command {
	var all []Command
	taken := make(map[string]bool)
	for _, place := range places {
		for _, c := range readPlace(place) {
			if taken[c.Name] && c.Extension != "" {
				c.Name = c.Extension + "." + c.Name
			}
			if !taken[c.Name] {
				taken[c.Name] = true
				all = append(all, c)
			}
		}
	}
	slices.SortFunc(all, func(a, b Command) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// maxName is in characters.
const maxName = 128

// isName reports whether a command can be called so: a person has to be able to type it
// behind a slash. It has a : for each folder.
func isName(name string) bool { return folder.IsName(name, "_.:-", maxName) }

// readPlace returns the commands of one folder, in the order of their paths. Links
// that lead out of the folder are not followed.
func readPlace(place Place) []Command {
	root, err := folder.Open(place.Within, place.Dir)
	if err != nil {
		return nil // most folders have no commands
	}
	defer root.Close()
	var all []Command
	_ = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil && name == ".":
			return err
		case err != nil: // the others count
			return nil
		case strings.HasPrefix(d.Name(), ".") && name != ".":
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case d.IsDir() || path.Ext(name) != ".toml":
			return nil
		case len(all) == maxFiles:
			return fs.SkipAll
		}
		c := Command{
			Name:  strings.ReplaceAll(strings.TrimSuffix(name, ".toml"), "/", ":"),
			Path:  filepath.Join(place.Dir, filepath.FromSlash(name)),
			Scope: place.Scope, Extension: place.Extension,
		}
		if !isName(c.Name) {
			return nil // nobody could type it
		}
		if err := c.read(root, name); err != nil {
			c.Problem = err.Error()
		}
		all = append(all, c)
		return nil
	})
	return all
}

// read takes over the content of a file. The error is for Problem, without the path.
func (c *Command) read(root *os.Root, name string) error {
	data, err := folder.ReadFile(root, name, maxFile)
	if err != nil {
		return err
	}
	var file struct {
		Prompt      string `toml:"prompt"`
		Description string `toml:"description"`
	}
	if err := toml.Unmarshal(data, &file); err != nil {
		if bad, ok := errors.AsType[toml.ParseError](err); ok {
			return fmt.Errorf("line %d is not TOML: %s", bad.Position.Line, bad.Message)
		}
		return fmt.Errorf("the file cannot be read: %w", err)
	}
	c.Description = file.Description
	if strings.TrimSpace(file.Prompt) == "" {
		return errors.New("it has no prompt; write prompt = \"…\"")
	}
	c.parts, err = parse(file.Prompt)
	return err
}

// marks begin what stands for something else.
var marks = []struct {
	open string
	kind PartKind
}{{"{{args}}", Args}, {"@{", File}, {"!{", Shell}}

// parse takes a prompt apart. Braces inside @{…} and !{…} have to pair. The error is
// for Problem. A mark inside of what another one holds is a part of its text, but
// {{args}}, which Expand puts in.
func parse(prompt string) ([]Part, error) {
	var parts []Part
	text := func(s string) {
		if s != "" {
			parts = append(parts, Part{Text, s})
		}
	}
	for {
		at, mark := -1, 0
		for i, m := range marks {
			if n := strings.Index(prompt, m.open); n >= 0 && (at < 0 || n < at) {
				at, mark = n, i
			}
		}
		if at < 0 {
			text(prompt)
			return parts, nil
		}
		text(prompt[:at])
		m := marks[mark]
		rest := prompt[at+len(m.open):]
		if m.kind == Args {
			parts, prompt = append(parts, Part{Kind: Args}), rest
			continue
		}
		end := closing(rest)
		if end < 0 {
			return nil, fmt.Errorf("%s has no closing brace: %q", m.open, rest[:min(len(rest), 40)])
		}
		inside := strings.TrimSpace(rest[:end])
		if inside == "" {
			return nil, fmt.Errorf("%s} is empty", m.open)
		}
		if m.kind == Shell && quotesArgs(inside) {
			return nil, fmt.Errorf("{{args}} is inside quotes or behind a $: %q; leave out the quotes and the $, it is quoted already",
				inside[:min(len(inside), 40)])
		}
		parts, prompt = append(parts, Part{m.kind, inside}), rest[end+1:]
	}
}

// quotesArgs reports whether a command of the shell may have {{args}} inside quotes, where
// quoting it once more would let what is typed run. A quote or a backslash before it that
// does not end before it counts, a $ right before it, with which a quote begins in which
// backslashes count, and whatever has a syntax of its own.
func quotesArgs(command string) bool {
	var open rune
	escaped := false
	for i, c := range command {
		unsure := open != 0 || escaped || strings.HasSuffix(command[:i], "$")
		if unsure && strings.HasPrefix(command[i:], "{{args}}") {
			return true
		}
		switch {
		case escaped:
			escaped = false
		case c == '\\' && open != '\'':
			escaped = true
		case c == open:
			open = 0
		case open == 0 && strings.ContainsRune("'\"`", c):
			open = c
		}
	}
	return strings.Contains(command, "{{args}}") && strings.Contains(command, "<<")
}

// closing returns the index of the brace that ends a text, -1 if there is none. The
// text begins behind the opening brace.
func closing(text string) int {
	depth := 0
	for i, c := range text {
		switch c {
		case '{':
			depth++
		case '}':
			if depth == 0 {
				return i
			}
			depth--
		}
	}
	return -1
}

// Expand returns the parts of the prompt for what was typed behind the name: texts,
// files and commands of the shell, none of them to be expanded again. args and the
// parts may hold anything, marks too: what a person typed is never taken for one. The
// text of a Shell part has args quoted as one word for a POSIX shell, since parse
// refuses {{args}} where such quoting would not hold (quotesArgs). A File part may be
// any path: the reader decides whether it may be read. Errors: fault.Invalid for a
// command with a Problem.
func (c *Command) Expand(args string) ([]Part, error) {
	if c.Problem != "" {
		return nil, fault.New(fault.Invalid, "command.expand", "the command /%s cannot be used: %s (%s)",
			c.Name, c.Problem, c.Path)
	}
	args = strings.TrimSpace(args)
	used := false
	var out []Part
	add := func(p Part) {
		if n := len(out); p.Kind == Text && n > 0 && out[n-1].Kind == Text {
			out[n-1].Text += p.Text
			return
		}
		out = append(out, p)
	}
	for _, p := range c.parts {
		switch p.Kind {
		case Args:
			used, p = true, Part{Text, args}
		case Shell:
			used = used || strings.Contains(p.Text, "{{args}}")
			p.Text = strings.ReplaceAll(p.Text, "{{args}}", quote(args))
		case File:
			used = used || strings.Contains(p.Text, "{{args}}")
			p.Text = strings.ReplaceAll(p.Text, "{{args}}", args)
		}
		add(p)
	}
	if !used && args != "" {
		add(Part{Text, fmt.Sprintf("\n\n/%s %s", c.Name, args)})
	}
	return out, nil
}

// quote returns a text as one word of the shell. It holds for POSIX shells: a quote
// inside ends the word, stands escaped, and begins it again.
func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// Parse takes apart a text that calls a command, as "/git:commit now"; false for
// any other. Which commands there are is for has to say: a path is a text. args is what
// follows the name, without the blanks around it; it may have several lines.
func Parse(text string, has func(name string) bool) (name, args string, ok bool) {
	rest, slash := strings.CutPrefix(strings.TrimSpace(text), "/")
	end := strings.IndexAny(rest, " \t\r\n")
	if end < 0 {
		end = len(rest)
	}
	name = rest[:end]
	if !slash || !isName(name) || !has(name) {
		return "", "", false
	}
	return name, strings.TrimSpace(rest[end:]), true
}

// Find returns the command of a name; the result points into all. The error is
// fault.NotFound and names the first 20 that there are.
func Find(all []Command, name string) (*Command, error) {
	var names []string
	for i := range all {
		if all[i].Name == name {
			return &all[i], nil
		}
		names = append(names, "/"+all[i].Name)
	}
	have := "there are none"
	if len(names) > 0 {
		have = "there are " + strings.Join(names[:min(len(names), 20)], ", ")
	}
	return nil, fault.New(fault.NotFound, "command.find", "there is no command /%s; %s", name, have)
}
