package language

// Links: what a file names that can be opened.

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/agentls/agentls/agents/definition"
)

// Link is a place that leads somewhere.
type Link struct {
	Range   definition.Range
	Target  string // a URI: http, https or file
	Tooltip string // plain text; "" = none
}

// maxLinks is how many links a file has at most.
const maxLinks = 2000

// memoryFile is the name of memory files (spec 6.2).
const memoryFile = "GEMINI.md"

// Links returns the URLs of a file's front-matter and prompt, the files that the
// prompt mentions as @path, and memory files where it names them or the field
// memory_files has them read. A path is looked for in the workspace folder of a
// project agent, else beside the file; one that leads out of there is none. uri
// makes the URI of a path; nil = definition.FileURI.
// At most 2000 are found, in the order of the text; none overlap.
func Links(w *World, f *File, uri func(path string) string) []Link {
	if uri == nil {
		uri = definition.FileURI
	}
	base := toSlash(f.Folder)
	if base == "" {
		base = path.Dir(toSlash(f.Path))
	}
	type found struct {
		definition.Span
		target, tooltip string
	}
	var all []found
	file := func(s definition.Span, name string) {
		// Join has resolved every .. of the name.
		target := path.Join(base, name)
		if base == "" || base == "." || !strings.HasPrefix(target, strings.TrimSuffix(base, "/")+"/") {
			return
		}
		if (w.Exists != nil && !w.Exists(target)) || (w.Exists == nil && !strings.ContainsAny(name, "./")) {
			return
		}
		all = append(all, found{s, uri(target), name})
	}
	for _, part := range []definition.Span{f.Tree.Front, f.Tree.Body} {
		for s := range f.urls(part) {
			if all = append(all, found{s, f.Text[s.Start:s.End], ""}); len(all) >= maxLinks {
				break
			}
		}
	}
	for s := range f.paths(f.Tree.Body) {
		if len(all) >= maxLinks {
			break
		}
		if f.Text[s.Start] == '@' {
			s.Start++
		}
		file(s, f.Text[s.Start:s.End])
	}
	if v := f.Tree.Root.Get("memory_files"); v != nil && v.Kind == definition.Boolean && f.Definition.MemoryFiles {
		file(v.Span, memoryFile)
	}
	slices.SortFunc(all, func(a, b found) int { return cmp.Or(a.Start-b.Start, b.End-a.End) })
	at := locator{f: f}
	links := make([]Link, 0, len(all))
	end := 0
	for _, l := range all {
		if l.Start >= end {
			end = l.End
			links = append(links, Link{at.span(l.Span), l.target, l.tooltip})
		}
	}
	return links
}

// toSlash is a path with slashes.
func toSlash(p string) string { return strings.ReplaceAll(p, `\`, "/") }

// urls yields the http and https URLs of a part of the text.
// Marks at their ends that belong to the sentence are left out.
// A URL has ASCII alone: text of another script right behind it is not part of it.
func (f *File) urls(s definition.Span) func(yield func(definition.Span) bool) {
	return func(yield func(definition.Span) bool) {
		for at := s.Start; at < s.End; {
			i := strings.Index(f.Text[at:s.End], "://")
			if i < 0 {
				return
			}
			colon := at + i
			at = colon + len("://")
			start := -1
			for _, scheme := range []string{"https", "http"} {
				if strings.HasSuffix(f.Text[s.Start:colon], scheme) {
					start = colon - len(scheme)
					break
				}
			}
			if start < 0 || (start > s.Start && nameByte(f.Text[start-1])) {
				continue
			}
			end := at
			for end < s.End && f.Text[end] > ' ' && f.Text[end] < 0x7F &&
				strings.IndexByte("<>\"'`{}|\\^[]", f.Text[end]) < 0 {
				end++
			}
			end = at + len(trimURL(f.Text[at:end]))
			if end > at && !yield(definition.Span{Start: start, End: end}) {
				return
			}
			at = max(at, end)
		}
	}
}

// trimURL takes from a URL what belongs to the sentence: marks at its end, and a bracket
// that it did not open, as in (see https://example.com).
func trimURL(s string) string {
	open := strings.Count(s, "(") - strings.Count(s, ")")
	for s != "" {
		last := s[len(s)-1]
		switch {
		case strings.IndexByte(".,:;!?*_", last) >= 0:
		case last == ')' && open < 0:
			open++
		default:
			return s
		}
		s = s[:len(s)-1]
	}
	return s
}

// paths yields where a part of the text mentions a file: @path with the @, and
// the names of memory files.
// @ before an absolute path begins none. Whether a file is there is not looked at.
func (f *File) paths(s definition.Span) func(yield func(definition.Span) bool) {
	return func(yield func(definition.Span) bool) {
		for at := s.Start; at < s.End; {
			// Names of memory files, which begin with G, are found without an @.
			i := strings.IndexAny(f.Text[at:s.End], "@G")
			if i < 0 {
				return
			}
			at += i
			if at > s.Start && (pathByte(f.Text[at-1]) || f.Text[at-1] == '@') {
				at++
				continue
			}
			end := at + 1
			for end < s.End && pathByte(f.Text[end]) {
				end++
			}
			for end > at+1 && f.Text[end-1] == '.' {
				end--
			}
			word := f.Text[at:end]
			if (word == memoryFile || (word[0] == '@' && len(word) > 1 && word[1] != '/')) &&
				!yield(definition.Span{Start: at, End: end}) {
				return
			}
			at = end
		}
	}
}

// pathByte reports whether a path of the prompt may have a byte: those of names,
// of folders, and letters beyond ASCII.
func pathByte(c byte) bool { return nameByte(c) || c == '.' || c == '/' || c >= 0x80 }
