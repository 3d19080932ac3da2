// Package skill reads skills: folders with a SKILL.md, whose name and description a
// model is offered, and whose text it loads when it needs it (spec 9.3).
//
//	---
//	name: release-notes
//	description: How release notes are written here.
//	---
//	The instructions, and what they name of the folder's files.
//
// The text is instructions of whoever keeps the folder: the person, a project that
// they trust, or an extension that they approved.
//
// [Read] finds the skills and reads their heads; [Tools] makes of them the one tool
// activate_skill, whose description lists them for the model. A skill's text and files
// are read when the model asks for them, so they may have changed since, or be gone:
// that is an error for the model and no failure of the run. Nothing of a skill is run
// here; its scripts are run by bash like any other command, with the same questions.
package skill

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agentls/agentls/internal/folder"
	"github.com/goccy/go-yaml"
)

// The bounds of what is read.
const (
	maxFile        = 256 << 10
	maxSkills      = 200  // of one place
	maxListed      = 200  // files of a skill
	maxDescription = 1024 // characters
)

// fileName is the file that makes a folder a skill.
const fileName = "SKILL.md"

// Place is a folder whose folders are skills. Places are given to [Read] in the order
// of their precedence.
type Place struct {
	Dir       string
	Within    string // a folder above Dir that links must not lead out of; "" = Dir
	Scope     string // project, global or extension
	Extension string // the extension's name; "" for none
}

// Skill is one skill. One with a Problem is for lists that people see.
type Skill struct {
	Name        string
	Description string
	Dir         string
	Scope       string
	Extension   string
	// Why it is not offered; "" = it is. It is a clause, for a person.
	Problem string

	place Place
	rel   string // below the place
}

// Read returns the skills of places, by name. Of two with one name the earlier
// place's counts. It reads nothing but the heads, and reports no errors: a folder that
// is not there has no skills, and a skill that is wrong has a Problem. One with a
// Problem hides those of its name in later places too. Of a place 200 skills count, in
// the order of their folders' names.
func Read(places []Place) []Skill {
	var all []Skill
	for _, place := range places {
		for _, s := range readPlace(place) {
			if !slices.ContainsFunc(all, func(other Skill) bool { return other.Name == s.Name }) {
				all = append(all, s)
			}
		}
	}
	slices.SortFunc(all, func(a, b Skill) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// readPlace returns the skills of one folder. Links that lead out of it are not
// followed.
func readPlace(place Place) []Skill {
	root, err := folder.Open(place.Within, place.Dir)
	if err != nil {
		return nil // most folders have no skills
	}
	defer root.Close()
	entries, _ := fs.ReadDir(root.FS(), ".")
	var all []Skill
	for _, e := range entries {
		rel := e.Name()
		if _, err := root.Lstat(path.Join(rel, fileName)); err != nil || strings.HasPrefix(rel, ".") ||
			len(all) == maxSkills {
			continue
		}
		s := Skill{Name: rel, Dir: filepath.Join(place.Dir, rel), Scope: place.Scope, Extension: place.Extension,
			place: place, rel: rel}
		if err := s.readHead(root); err != nil {
			s.Problem = err.Error()
		}
		all = append(all, s)
	}
	return all
}

// maxName is in characters.
const maxName = 64

// isName reports whether one can be called so.
func isName(name string) bool { return folder.IsName(name, "_.-", maxName) }

// readHead takes over name and description. The name in the file counts, and without
// one that of the folder. The error is for Problem.
func (s *Skill) readHead(root *os.Root) error {
	data, err := readFile(root, path.Join(s.rel, fileName))
	if err != nil {
		return err
	}
	head, _, ok := split(data)
	if !ok {
		return errors.New("SKILL.md has no front matter; begin it with ---, name, description, ---")
	}
	var meta struct {
		Name        string `yaml:"name"`
		Description string `yaml:"description"`
	}
	if err := yaml.Unmarshal(head, &meta); err != nil {
		return fmt.Errorf("the front matter of SKILL.md is not YAML: %s", yaml.FormatError(err, false, false))
	}
	s.Name = cmp.Or(strings.TrimSpace(meta.Name), s.Name)
	s.Description = strings.Join(strings.Fields(meta.Description), " ")
	switch {
	case !isName(s.Name):
		return fmt.Errorf("its name %q cannot be that of a skill: use letters, digits, dots, - and _", s.Name)
	case s.Description == "":
		return errors.New("SKILL.md has no description, so no model would know when to use it")
	case utf8.RuneCountInString(s.Description) > maxDescription:
		return fmt.Errorf("its description is longer than %d characters", maxDescription)
	}
	return nil
}

// split takes a file apart into front matter and text. Without front matter ok is false
// and body is all of it.
func split(data []byte) (head, body []byte, ok bool) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	line, rest, found := bytes.Cut(data, []byte("\n"))
	if !found || strings.TrimSpace(string(line)) != "---" {
		return nil, data, false
	}
	for at := 0; at < len(rest); {
		line, _, _ := bytes.Cut(rest[at:], []byte("\n"))
		end := min(at+len(line)+1, len(rest))
		if strings.TrimSpace(string(line)) == "---" {
			return rest[:at], rest[end:], true
		}
		at = end
	}
	return nil, data, false
}

// readFile returns a text file beneath a folder. The file has at most 256 KiB, and is
// no link that leads out of root.
func readFile(root *os.Root, name string) ([]byte, error) {
	data, err := folder.ReadFile(root, name, maxFile)
	if err == nil && !utf8.Valid(data) {
		return nil, errors.New("it is not text")
	}
	return data, err
}

// file returns the text of one of a skill's files; "" is its instructions, followed by
// the names of the others. name has slashes and may be anything that a model wrote:
// what leads out of the skill's folder, by .. or by a link, is not opened. The place is
// opened anew with each call.
func (s *Skill) file(name string) (string, error) {
	place, err := folder.Open(s.place.Within, s.place.Dir)
	if err != nil {
		return "", err
	}
	defer place.Close()
	root, err := place.OpenRoot(s.rel)
	if err != nil {
		return "", err
	}
	defer root.Close()
	if name != "" {
		data, err := readFile(root, filepath.FromSlash(name))
		return string(data), err
	}
	data, err := readFile(root, fileName)
	if err != nil {
		return "", err
	}
	_, body, _ := split(data)
	var names []string
	_ = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || len(names) > maxListed:
			return fs.SkipAll
		case !d.IsDir() && name != fileName:
			names = append(names, name)
		}
		return nil
	})
	text := strings.TrimSpace(string(body))
	if len(names) > 0 {
		text += "\n\nFiles of this skill, in " + s.Dir + ":\n- " + strings.Join(names, "\n- ")
	}
	return text, nil
}
