package builtin

// The engine of grep that is ripgrep, where it is installed.
//
// What it reports is the built-in engine's result: the expression is rewritten
// so that the classes which Rust takes as Unicode are Go's ASCII ones, and what
// ripgrep judges differently (nested .geminiignore, filters) is judged again.
// What Rust's syntax or its limits refuse goes to the built-in engine. One
// difference is left: a byte that is no UTF-8 is a character to Go (the dot
// matches it), and none to Rust.

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"regexp/syntax"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/process"
)

// errEngine says that ripgrep cannot do the search: the built-in engine does.
var errEngine = errors.New("ripgrep cannot search for this")

// maxRecord is how long a line of ripgrep's output may be; a longer one is of a
// file with very long lines, which is searched by the built-in engine.
const maxRecord = 4 << 20

// record is a message of rg --json.
type record struct {
	Type string `json:"type"`
	Data struct {
		Path   jsonText `json:"path"`
		Lines  jsonText `json:"lines"`
		Number int      `json:"line_number"`
		Binary *int64   `json:"binary_offset"`
	} `json:"data"`
}

// jsonText is text, or bytes that are none.
type jsonText struct {
	Text  string `json:"text"`
	Bytes string `json:"bytes"`
}

// String returns the text, or the bytes as they are.
func (t jsonText) String() string {
	if t.Bytes == "" {
		return t.Text
	}
	raw, err := base64.StdEncoding.DecodeString(t.Bytes)
	if err != nil {
		return ""
	}
	return string(raw)
}

// rust returns the expression in the syntax and with the meaning that both
// engines share.
//
// Go's printer writes \d, \w and \s as the ASCII classes that they mean in RE2; only \b
// and \B are left, which Rust would take as Unicode.
func rust(pattern string) (string, error) {
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return "", err
	}
	text := tree.String()
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' || i+1 == len(text) {
			b.WriteByte(text[i])
			continue
		}
		i++
		switch text[i] {
		case 'b', 'B':
			b.WriteString(`(?-u:\` + text[i:i+1] + `)`)
		default:
			b.WriteString(text[i-1 : i+1])
		}
	}
	return b.String(), nil
}

// ripgrep searches with rg. The error is errEngine where it cannot.
// partial says that there was more than is taken, or that ctx ended. A search
// that cannot be put into Rust's syntax is no failure: the caller has the other
// engine.
func (q *query) ripgrep(ctx context.Context, program string) ([]hits, bool, error) {
	pattern, err := rust(q.re.String())
	if err != nil || q.waits() {
		return nil, false, errEngine
	}
	// No configuration, which could name a program that ripgrep runs for each file. Of ignore
	// files only .gitignore, with or without a repository; what .geminiignore files and those
	// above the start say is judged by take.
	args := []string{
		"--no-config", "--json", "--hidden", "--no-messages", "--no-ignore-dot",
		"--no-ignore-exclude", "--no-ignore-global",
		"--no-ignore-parent", "--no-require-git", "--max-filesize", strconv.Itoa(maxSearched), "--context",
		strconv.Itoa(q.context),
	}
	for name := range skipped {
		args = append(args, "--glob", "!"+name)
	}
	// A filter of names is given to ripgrep to save work. One with a slash means something
	// else there; wanted judges each file anyway.
	if q.include != "" && !strings.ContainsAny(q.include, `/\!`) && !q.isFile {
		args = append(args, "--type-add", "agentls:"+q.include, "--type", "agentls")
	}
	args = append(args, "--regexp", pattern, "--", "./"+q.start)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = q.dir.folder
	cmd.Env = process.Environ(q.env.Environ)
	cmd.WaitDelay = 200 * time.Millisecond
	process.Isolate(cmd)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, false, fmt.Errorf("a pipe for ripgrep: %w", err)
	}
	process.Seal()
	runtime.LockOSThread() // the kernel ends the process with the thread that forked
	defer runtime.UnlockOSThread()
	if err := cmd.Start(); err != nil {
		return nil, false, errEngine
	}
	c := &collector{query: q, files: make(map[string]*hits)}
	full := c.read(out)
	// Enough was found: ripgrep is ended, and what it still writes is not read.
	if full {
		cancel()
	}
	err = cmd.Wait()
	// 2 is an error, as of an expression that Rust refuses. With matches it is a file that
	// could not be read, and the matches count. One that crashed did not see everything.
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && ctx.Err() == nil {
		code := exit.ExitCode()
		crashed, nothing := code < 0 || code > 2, code == 2 && len(c.files) == 0
		if crashed || nothing {
			return nil, false, errEngine
		}
	}
	found := make([]hits, 0, len(c.files))
	for _, h := range c.files {
		if h != nil && len(h.lines) > 0 {
			found = append(found, *h)
		}
	}
	return q.confirm(found), full || (ctx.Err() != nil && !full), nil
}

// waits reports whether ripgrep would wait for a pipe before it finds anything:
// for one that is called .gitignore. One further down costs the search's time.
func (q *query) waits() bool {
	info, err := q.dir.root.Lstat(filepath.Join(filepath.FromSlash(q.start), ".gitignore"))
	return err == nil && !info.Mode().IsRegular()
}

// collector gathers the hits that ripgrep writes.
//
// One goroutine uses it. files has an entry for each file that ripgrep has begun; total
// counts matches, not lines of context.
type collector struct {
	*query
	files map[string]*hits // nil for a file that is not wanted
	total int
}

// read takes ripgrep's output. It returns true when there is more than is
// taken.
func (c *collector) read(r io.Reader) bool {
	in := bufio.NewReaderSize(r, 128<<10)
	for {
		raw, long, err := readRecord(in)
		if len(raw) > 0 {
			if long {
				c.again(raw)
			} else {
				c.take(raw)
			}
		}
		// The end of the output, or of the pipe: what ripgrep came to is told by Wait.
		if err != nil {
			return false
		}
		if c.total >= maxHits {
			return true
		}
	}
}

// readRecord returns the next line, or the beginning of one that is too long.
func readRecord(in *bufio.Reader) (raw []byte, long bool, err error) {
	for {
		part, err := in.ReadSlice('\n')
		if len(raw) < maxRecord {
			raw = append(raw, part...)
		} else {
			long = true
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return raw, long, err
		}
	}
}

// take reads one record. What cannot be read is passed over: a newer ripgrep
// may write more kinds.
// A file that turns out to be binary loses its hits again.
func (c *collector) take(raw []byte) {
	var r record
	if json.Unmarshal(raw, &r) != nil {
		return
	}
	// Twice, since the start is given as ./ and may be "." itself.
	rel := strings.TrimPrefix(r.Data.Path.String(), "./")
	rel = strings.TrimPrefix(rel, "./")
	switch r.Type {
	case "begin":
		if c.wanted(rel) && (c.isFile || !c.hidden.hides(rel, false)) {
			c.files[rel] = &hits{rel: rel}
		} else {
			c.files[rel] = nil
		}
	case "match", "context":
		h := c.files[rel]
		if h == nil {
			return
		}
		text := strings.TrimSuffix(r.Data.Lines.String(), "\n")
		h.lines = append(h.lines, line{r.Data.Number, text, r.Type == "match"})
		if r.Type == "match" {
			c.total++
		}
	case "end":
		if h := c.files[rel]; r.Data.Binary != nil && h != nil {
			c.total -= h.count()
			delete(c.files, rel)
		}
	}
}

// again searches a file by the built-in engine, of which ripgrep wrote a line
// that is too long to be taken.
func (c *collector) again(raw []byte) {
	const key = `"path":{"text":`
	_, rest, ok := bytes.Cut(raw, []byte(key))
	if !ok {
		return
	}
	var name string
	if json.NewDecoder(bytes.NewReader(rest)).Decode(&name) != nil {
		return
	}
	rel := strings.TrimPrefix(name, "./")
	rel = strings.TrimPrefix(rel, "./")
	h := c.files[rel]
	if h == nil {
		return
	}
	c.total -= h.count() // what ripgrep said of it does not count any more
	lines, err := c.query.file(c.query.dir, rel)
	if err != nil {
		delete(c.files, rel)
		return
	}
	c.files[rel] = nil // what else ripgrep says of it is known
	// No file has such a name, so nothing that ripgrep writes reaches these hits.
	h = &hits{rel, lines}
	c.files["\x00"+rel] = h
	c.total += h.count()
}

// confirm drops what is not in the workspace: ripgrep opens files by their
// paths, and a link may have been put there after it had listed them (SEC-55).
// Each file that matched is read through the handle, and must hold the lines.
// The file may also have changed in between: hits that no longer stand at their lines are
// dropped, so that nothing is shown which the handle does not have.
func (q *query) confirm(found []hits) []hits {
	return slices.DeleteFunc(found, func(h hits) bool {
		data, info, err := q.dir.file(filepath.Join(q.dir.folder, filepath.FromSlash(h.rel)), maxSearched)
		if err != nil {
			return true
		}
		text, ok := decode(data)
		if !ok || q.secret(h.rel, info, text) {
			return true
		}
		return !holds(text, h.lines)
	})
}

// holds reports whether a text has the lines at their numbers.
func holds(text string, lines []line) bool {
	number := 1
	for _, l := range lines {
		for number < l.number {
			i := strings.IndexByte(text, '\n')
			if i < 0 {
				return false
			}
			text, number = text[i+1:], number+1
		}
		rest, ok := strings.CutPrefix(text, l.text)
		whole := ok && (rest == "" || rest[0] == '\n')
		// ripgrep replaces bytes that are not UTF-8.
		if !whole && valid(firstLine(text)) != valid(l.text) {
			return false
		}
	}
	return true
}

// firstLine returns a text up to its first line feed.
func firstLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	return s
}

// lookup returns the absolute path of a program, or "" if it is not installed
// where a project cannot put it: only absolute folders of the path outside of
// the workspace count, and so does where a link leads (SEC-06).
func lookup(env *tool.Env, name string) string {
	for _, folder := range process.SearchPath(env.Environ) {
		file := filepath.Join(folder, name)
		real, err := filepath.EvalSymlinks(file)
		if err != nil || inWorkspace(env, file) || inWorkspace(env, real) || !executable(real) {
			continue
		}
		return file
	}
	return ""
}
