// Package template has what an agent's file can be made from (spec 1.6): the
// templates in the binary, and the person's own.
//
// A template is an agent file, read by the same parser as any other, so what it
// makes is valid whenever the template is. The person's templates lie in the
// folder templates below their agents, one *.md file each; one that has the name
// of a built-in one takes its place. Its name is that of its file.
//
// It reads the folder anew each time: it is asked when a person makes an agent.
//
// [List] and [Find] are for the commands and editors that make an agent: they show a
// template's name, title and description, put the wanted name into Text, and write it
// where the person wants it. Nothing here writes.
package template

import (
	"bytes"
	"embed"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/internal/folder"
	"github.com/agentls/agentls/internal/spelling"
)

//go:embed builtin/*.md builtin/*.yaml
var files embed.FS

// builtin are the names of the built-in templates, as lists show them.
var builtin = []string{"debugging", "code-review", "documentation", "test-generator", "security", "blank"}

// aliases are other names of built-in templates (spec 1.6).
var aliases = map[string]string{
	"debug": "debugging", "review": "code-review", "docs": "documentation", "test": "test-generator",
	"testing": "test-generator",
}

// Folder is where the person's templates lie, below their folder of agents.
const Folder = "templates"

// Template is what an agent's file can be made from. It is made by [List], and the
// caller's.
type Template struct {
	Name        string
	Title       string
	Description string
	Path        string // of the person's own, absolute; "" for a built-in one
	Text        []byte // the file; the caller owns it. nil where Problem is set
	Problem     string // why the person's own cannot be used; "" when it can
}

// Builtin returns the names of the templates in the binary, in the order of [List].
func Builtin() []string { return slices.Clone(builtin) }

// List returns the templates: the built-in ones, then the person's own by name,
// which lie in dir; "" is none. A file that cannot be used is listed with its
// Problem. The error is fault.Unavailable, when the folder cannot be read; one
// that is not there is empty.
func List(dir string) ([]Template, error) {
	own, err := read(dir)
	if err != nil {
		return nil, err
	}
	var list []Template
	for _, name := range builtin {
		if i := slices.IndexFunc(own, func(t Template) bool { return t.Name == name }); i >= 0 {
			list = append(list, own[i])
			own = slices.Delete(own, i, i+1)
			continue
		}
		text, err := files.ReadFile("builtin/" + name + ".md")
		if err != nil {
			return nil, fault.New(fault.Internal, "template.list", "the template %s is not in the binary", name)
		}
		list = append(list, describe(Template{Name: name, Text: text}))
	}
	return append(list, own...), nil
}

// Find returns the template of a name or an alias; a template of that very name
// comes before an alias. Errors: fault.NotFound, with the one that may be meant, or the names there are;
// fault.Invalid for one that cannot be used; those of List. The case of the name counts, but not
// for what may be meant.
func Find(dir, name string) (Template, error) {
	list, err := List(dir)
	if err != nil {
		return Template{}, err
	}
	var names []string
	for _, wanted := range []string{name, aliases[name]} {
		names = names[:0]
		for _, t := range list {
			if names = append(names, t.Name); t.Name != wanted || wanted == "" {
				continue
			}
			if t.Problem != "" {
				return Template{}, fault.New(fault.Invalid, "template.find", "the template %s (%s) is not valid: %s",
					t.Name, t.Path, t.Problem)
			}
			return t, nil
		}
	}
	far := func(other string) int { return spelling.Distance(strings.ToLower(name), strings.ToLower(other)) }
	near := slices.MinFunc(append(slices.Sorted(maps.Keys(aliases)), names...),
		func(a, b string) int { return far(a) - far(b) })
	if far(near) <= 2 {
		return Template{}, fault.New(fault.NotFound, "template.find",
			"there is no template %s; did you mean %s?", name, near)
	}
	return Template{}, fault.New(fault.NotFound, "template.find", "there is no template %s; there are %s", name,
		strings.Join(names, ", "))
}

// Test returns a file of tests for an agent that is made from a template, by its name or
// an alias; of one that has none, what such a file begins with. The name of the agent is
// put in as it is. The result is the caller's.
func Test(name, agent string) []byte {
	for _, wanted := range []string{name, aliases[name], "blank"} {
		if text, err := files.ReadFile("builtin/" + wanted + ".agent-test.yaml"); err == nil {
			return bytes.Replace(text, []byte("agent: NAME"), []byte("agent: "+agent), 1)
		}
	}
	return nil // blank is in the binary
}

// read returns the templates in a folder, by name. Files that begin with . or _ are
// none, as in folders of agents.
func read(dir string) ([]Template, error) {
	if dir == "" {
		return nil, nil
	}
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fault.New(fault.Unavailable, "template.list", "the templates in %s cannot be read: %w", dir, err)
	}
	var list []Template
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".md")
		if !ok || name == "" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || e.IsDir() {
			continue
		}
		t := Template{Name: name, Path: filepath.Join(dir, e.Name())}
		text, err := folder.ReadStart(t.Path, definition.MaxFile+1) // the byte more shows that it is too large
		if err != nil {
			t.Title, t.Problem = name, err.Error()
		} else {
			t.Text = text
			t = describe(t)
		}
		list = append(list, t)
	}
	return list, nil // ReadDir sorts
}

// describe takes what lists show from a template's text. A template that would make no
// usable agent gets a Problem and no text.
func describe(t Template) Template {
	d := definition.Parse(definition.Source{Path: t.Path, Scope: definition.Global, Data: t.Text})
	t.Title, t.Description = d.Title, d.Description
	if ok, why := d.Usable(); !ok {
		t.Problem, t.Text = why.Message, nil
	}
	return t
}
