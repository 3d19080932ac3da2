package faults

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Patch is a change of source code: what a mistake would look like. It is a
// unified diff of one or more files; lines before the first file that begin with
// "# key: value" are its header.
//
// It is applied by content and not by number: the lines that a hunk has or takes
// must be there, exactly once, in the file or, where they are not unique alone,
// below the function that the hunk names behind its second @@.
type Patch struct {
	Header map[string][]string // the values of a key, in order
	Files  []FilePatch
}

// FilePatch is what changes in one file.
type FilePatch struct {
	Name  string // below the module's root, with slashes
	Hunks []Hunk
}

// Hunk is one place that changes.
type Hunk struct {
	In       string // what stands behind the second @@; "" = nothing
	Old, New string // whole lines
}

// ParsePatch reads a patch.
func ParsePatch(text string) (*Patch, error) {
	p := &Patch{Header: make(map[string][]string)}
	var file *FilePatch
	var hunk *Hunk
	for i, line := range strings.SplitAfter(text, "\n") {
		bare := strings.TrimSuffix(line, "\n")
		wrong := func(why string) error { return fmt.Errorf("line %d: %s: %q", i+1, why, bare) }
		switch {
		case line == "":
		case file == nil && strings.HasPrefix(bare, "#"):
			if key, value, ok := strings.Cut(strings.TrimPrefix(bare, "#"), ":"); ok {
				key = strings.TrimSpace(key)
				p.Header[key] = append(p.Header[key], strings.TrimSpace(value))
			}
		case strings.HasPrefix(bare, "--- "):
			p.Files = append(p.Files, FilePatch{})
			file, hunk = &p.Files[len(p.Files)-1], nil
		case file == nil:
			if strings.TrimSpace(bare) != "" {
				return nil, wrong("neither a header nor a file")
			}
		case file.Name == "":
			name, ok := strings.CutPrefix(bare, "+++ ")
			if !ok {
				return nil, wrong("a file has its new name in the next line")
			}
			name, _, _ = strings.Cut(name, "\t")
			file.Name = strings.TrimPrefix(name, "b/")
			if !filepath.IsLocal(filepath.FromSlash(file.Name)) {
				return nil, wrong("the file is not below the root")
			}
		case strings.HasPrefix(bare, "@@"):
			_, in, ok := strings.Cut(bare[2:], "@@")
			if !ok {
				return nil, wrong("a hunk begins with two @@")
			}
			file.Hunks = append(file.Hunks, Hunk{In: strings.TrimSpace(in)})
			hunk = &file.Hunks[len(file.Hunks)-1]
		case hunk == nil:
			return nil, wrong("no hunk has begun")
		case bare == "" || line[0] == ' ':
			same := strings.TrimPrefix(line, " ")
			hunk.Old, hunk.New = hunk.Old+same, hunk.New+same
		case line[0] == '-':
			hunk.Old += line[1:]
		case line[0] == '+':
			hunk.New += line[1:]
		default:
			return nil, wrong("a line of a hunk begins with a space, - or +")
		}
	}
	if len(p.Files) == 0 {
		return nil, errors.New("it changes no file")
	}
	for _, f := range p.Files {
		if f.Name == "" || len(f.Hunks) == 0 {
			return nil, fmt.Errorf("%q has no change", f.Name)
		}
		for _, h := range f.Hunks {
			if h.Old == "" || h.Old == h.New {
				return nil, fmt.Errorf("%s: a hunk that names no line, or changes none", f.Name)
			}
		}
	}
	return p, nil
}

// Apply returns a file's text with the changes. The error says which lines are
// not there, or not once.
func (f FilePatch) Apply(text string) (string, error) {
	for _, h := range f.Hunks {
		from := 0
		if h.In != "" && count(text, h.Old) != 1 {
			if from = strings.Index(text, h.In); from < 0 {
				return "", fmt.Errorf("%s has no %q", f.Name, h.In)
			}
			// Below it up to the next thing that is declared.
			end := len(text)
			if i := strings.Index(text[from:], "\n}\n"); i >= 0 {
				end = from + i + len("\n}\n")
			}
			part := text[from:end]
			if n := count(part, h.Old); n != 1 {
				return "", fmt.Errorf("%s has these lines %d times in %q, not once:\n%s", f.Name, n, h.In, h.Old)
			}
			text = text[:from] + replace(part, h) + text[end:]
			continue
		}
		if n := count(text, h.Old); n != 1 {
			return "", fmt.Errorf("%s has these lines %d times, not once:\n%s", f.Name, n, h.Old)
		}
		text = replace(text, h)
	}
	return text, nil
}

// count returns how often whole lines stand in a text.
func count(text, lines string) int { return strings.Count("\n"+text, "\n"+lines) }

func replace(text string, h Hunk) string {
	return strings.TrimPrefix(strings.Replace("\n"+text, "\n"+h.Old, "\n"+h.New, 1), "\n")
}

// Overlay writes the changed files into dir, which is made, and returns the file
// that go's flag -overlay takes: the source below root stays as it is.
func (p *Patch) Overlay(root, dir string) (string, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	var overlay struct{ Replace map[string]string }
	overlay.Replace = make(map[string]string)
	for i, f := range p.Files {
		name := filepath.Join(root, filepath.FromSlash(f.Name))
		text, err := os.ReadFile(name)
		if err != nil {
			return "", err
		}
		changed, err := f.Apply(string(text))
		if err != nil {
			return "", err
		}
		to := filepath.Join(dir, fmt.Sprintf("%d_%s", i, filepath.Base(name)))
		if err := os.WriteFile(to, []byte(changed), 0o600); err != nil {
			return "", err
		}
		overlay.Replace[name] = to
	}
	text, err := json.Marshal(overlay)
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, "overlay.json")
	return file, os.WriteFile(file, text, 0o600)
}
