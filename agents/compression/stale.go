package compression

import (
	"encoding/json"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/agentls/agentls/agents/model"
)

// The tools that tell what lies in files, and those that change files.
const (
	readOne  = "read_file"
	readMany = "read_many_files"
)

// changers are the tools after which what was read of a file before is out of date.
var changers = []string{"write_file", "edit_file", "apply_patch", "delete_file", "move_file"}

// The names under which models give a file, or several. Of tools that move, all
// strings count.
var (
	fileArgs  = []string{"file_path", "path", "absolute_path", "filePath", "filename", "file"}
	filesArgs = []string{"paths", "file_paths", "files", "include"}
	moveArgs  = []string{"source", "destination", "from", "to", "old_path", "new_path", "new_file_path"}
)

// access is what one call had to do with files.
type access struct {
	id      string
	files   []string // as one name each
	changes bool
	whole   bool // a read whose result has all of each file
	several bool // a read of several files that is not
	from    int  // the first line of a read of one file; the end is to
	to      int
}

// What the two tools that read say in a result that is not all.
var readOn = regexp.MustCompile(`(?m)^\[lines \d+ to (\d+) of \d+; read on with offset`)

const notWhole = " files are left out, or not whole. "

// defaultLines is how many lines a read gives that does not say.
const defaultLines = 2_000

// outOfDate returns the calls, in order, whose results tell of files that were
// read again or changed later. Calls that failed count for nothing, neither as
// out of date nor as what came later. A result that is no longer than the line for it
// is left in.
func outOfDate(messages []model.Message, c *Config) []string {
	var done []access
	open := map[string]model.Call{}
	at := map[string]int{} // of the message with the result
	size := map[string]*model.Result{}
	for i, m := range messages {
		for _, p := range m.Parts {
			switch {
			case p.Call != nil:
				open[p.Call.ID] = *p.Call
			case p.Result != nil:
				call, ok := open[p.Result.ID]
				if !ok || p.Result.Error {
					continue
				}
				delete(open, p.Result.ID)
				if a, ok := c.access(call, p.Result.Content); ok {
					done = append(done, a)
					at[a.id], size[a.id] = i, p.Result
				}
			}
		}
	}
	var out []string
	lines := newLines(messages)
	for i, a := range done {
		if a.changes {
			continue
		}
		covered := func(file string) bool {
			return slices.ContainsFunc(done[i+1:], func(b access) bool { return b.supersedes(a, file) })
		}
		if !slices.ContainsFunc(a.files, func(file string) bool { return !covered(file) }) &&
			model.EstimateTokens(lines.of(at[a.id], size[a.id])) < model.EstimateTokens(size[a.id].Content) {
			out = append(out, a.id)
		}
	}
	return out
}

// supersedes reports whether what b did leaves nothing in a, an earlier read,
// to know of a file. A later read of a part covers an earlier one of a part inside it.
func (b access) supersedes(a access, file string) bool {
	if !slices.Contains(b.files, file) {
		return false
	}
	if b.changes || b.whole {
		return true
	}
	parts := !b.several && !a.whole && !a.several
	return parts && b.from <= a.from && b.to >= a.to
}

// access returns what a call with a result had to do with files; false when that was
// nothing, or it cannot be told with which. Names of tools are as models write them, also
// of agents from other tools.
func (c *Config) access(call model.Call, result string) (access, bool) {
	name := call.Name
	if c.Canonical != nil {
		if canonical, ok := c.Canonical(name); ok {
			name = canonical
		}
	}
	changes := slices.Contains(changers, name)
	if !changes && name != readOne && name != readMany {
		return access{}, false
	}
	args := arguments(call.Args)
	a := access{id: call.ID, changes: changes, files: filesOf(args)}
	if name == "move_file" {
		for _, key := range moveArgs {
			a.files = append(a.files, texts(args[key])...)
		}
	}
	if name == "apply_patch" {
		for _, v := range args {
			for _, text := range texts(v) {
				a.files = append(a.files, patchFiles(text)...)
			}
		}
	}
	for i, file := range a.files {
		if !changes && strings.ContainsAny(file, "*?[{") {
			return access{}, false // which files a pattern meant is not known any more
		}
		a.files[i] = c.oneName(file)
	}
	if name == readOne {
		var first, count int
		a.whole = json.Unmarshal(args["offset"], &first) != nil || first == 0
		if json.Unmarshal(args["limit"], &count) != nil || count <= 0 {
			count = defaultLines
		} else {
			a.whole = false
		}
		a.from, a.to = first, first+count
		if ends := readOn.FindAllStringSubmatch(result, -1); len(ends) > 0 { // the result had no room for more
			a.whole = false
			a.to, _ = strconv.Atoi(ends[len(ends)-1][1])
		}
	} else if !changes {
		a.several = strings.Contains(result, notWhole)
		a.whole = !a.several
	}
	return a, len(a.files) > 0
}

// oneName returns one spelling of a file's name. It is cheap and no judgement of paths:
// links are not followed, and two names that differ only leave a result in.
func (c *Config) oneName(file string) string {
	file = path.Clean(strings.ReplaceAll(file, "\\", "/"))
	if folder := strings.TrimSuffix(strings.ReplaceAll(c.Folder, "\\", "/"), "/"); folder != "" {
		if rel, ok := strings.CutPrefix(file, folder+"/"); ok {
			return rel
		}
	}
	return file
}

// arguments returns the members of a call's arguments.
func arguments(raw json.RawMessage) map[string]json.RawMessage {
	var args map[string]json.RawMessage
	_ = json.Unmarshal(raw, &args) // not an object: none
	return args
}

// filesOf returns the files that arguments name.
func filesOf(args map[string]json.RawMessage) []string {
	var out []string
	for _, key := range fileArgs {
		if found := texts(args[key]); len(found) > 0 {
			out = append(out, found[0])
			break
		}
	}
	for _, key := range filesArgs {
		out = append(out, texts(args[key])...)
	}
	return out
}

// texts returns a string, or the strings of a list.
func texts(raw json.RawMessage) []string {
	var one string
	if json.Unmarshal(raw, &one) == nil {
		if one == "" {
			return nil
		}
		return []string{one}
	}
	var many []string
	_ = json.Unmarshal(raw, &many) // anything else: none
	return slices.DeleteFunc(many, func(s string) bool { return s == "" })
}

// patchFiles returns the files that a patch names in its headers.
func patchFiles(patch string) []string {
	var out []string
	for line := range strings.Lines(patch) {
		line = strings.TrimRight(line, "\r\n")
		for _, head := range []string{"*** Update File: ", "*** Add File: ", "*** Delete File: ",
			"*** Move to: ", "+++ ", "--- "} {
			file, ok := strings.CutPrefix(line, head)
			if !ok {
				continue
			}
			file, _, _ = strings.Cut(file, "\t")
			if rest, ok := strings.CutPrefix(file, "b/"); ok {
				file = rest
			} else if rest, ok := strings.CutPrefix(file, "a/"); ok {
				file = rest
			}
			if file != "" && file != "/dev/null" {
				out = append(out, file)
			}
		}
	}
	return out
}

// lines makes the lines that stand for results of a conversation.
type lines struct {
	messages []model.Message
	last     map[string]int // by the last part of a file's name: the last message that calls something with it
}

// newLines looks once where each file is named.
func newLines(messages []model.Message) *lines {
	l := &lines{messages: messages, last: make(map[string]int)}
	for i, m := range messages {
		for _, p := range m.Parts {
			if p.Call == nil {
				continue
			}
			for _, file := range filesOf(arguments(p.Call.Args)) {
				l.last[path.Base(file)] = i
			}
		}
	}
	return l
}

// of returns the line that stands for a result in the n-th message. It depends on the
// messages before and at n only, and never on what was taken out, so that it comes out
// the same when a log is folded again.
func (l *lines) of(n int, r *model.Result) string {
	var files []string
	if n > 0 {
		for _, p := range l.messages[n-1].Parts {
			if p.Call != nil && p.Call.ID == r.ID {
				files = filesOf(arguments(p.Call.Args))
			}
		}
	}
	what := plain(r.Name, 100)
	if len(files) > 0 {
		what += " " + plain(strings.Join(files, ", "), 300)
		if !slices.ContainsFunc(files, func(file string) bool { return l.last[path.Base(file)] < n }) {
			return "[" + what + ": left out, since it was read again or changed later]"
		}
	}
	return "[" + what + ": left out to make room; call it again if you need it]"
}

// reduce puts the line that stands for it in the place of each wanted result of
// m, the n-th message. The parts are copied first: the caller's message shares them.
func (l *lines) reduce(m *model.Message, n int, wanted map[string]bool) {
	copied := false
	for i, p := range m.Parts {
		if p.Result == nil || !wanted[p.Result.ID] {
			continue
		}
		if !copied {
			m.Parts, copied = slices.Clone(m.Parts), true
		}
		m.Parts[i].Result = &model.Result{ID: p.Result.ID, Name: p.Result.Name, Content: l.of(n, p.Result),
			Error: p.Result.Error}
	}
}

// plain returns a name on one line, with at most n characters.
func plain(s string, n int) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, s)
	if utf8.RuneCountInString(s) > n {
		s = string([]rune(s)[:n-1]) + "…"
	}
	return s
}
