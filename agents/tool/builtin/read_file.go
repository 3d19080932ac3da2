package builtin

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/agents/tool"
)

// The limits of what read_file returns (spec 4.1). A result that the run would
// cut in its middle ends at a line instead, so that reading on works.
const (
	defaultLines = 2_000
	maxLineRunes = 2_000
	maxReadRunes = tool.MaxResult - 500
	maxBlob      = 64 << 20
)

// readArgs are the arguments of read_file. Offset and Limit are lines; Limit 0 = the
// default.
type readArgs struct {
	FilePath    string `json:"file_path"`
	Offset      int    `json:"offset"`
	Limit       int    `json:"limit"`
	LineNumbers bool   `json:"line_numbers"`
}

// readFile returns the tool that reads one file.
func readFile() tool.Tool {
	return define("read_file", tool.Safe, `{
	"type": "object",
	"properties": {
		"file_path": {"type": "string", "minLength": 1, "description": "The file, relative to the workspace folder or absolute inside it."},
		"offset": {"type": "integer", "minimum": 0, "description": "How many lines to skip. Default 0."},
		"limit": {"type": "integer", "minimum": 1, "maximum": 100000, "description": "How many lines to return at most. Default 2000."},
		"line_numbers": {"type": "boolean", "description": "Put the number of each line before it."}
	},
	"required": ["file_path"],
	"additionalProperties": false
}`, fileAliases, planRead)
}

// planRead plans to read a file. It is safe, unless the name has characters that are
// not seen.
func planRead(_ context.Context, env *tool.Env, args readArgs) (*tool.Plan, error) {
	p, err := readable(env, args.FilePath)
	if err != nil {
		return nil, err
	}
	plan := &tool.Plan{
		Risk: tool.Safe, Why: "reads a file", Title: "read_file " + tool.Name(p.Rel), Path: p.Real,
		Reads: []string{p.Real},
		Do:    func(ctx context.Context, env *tool.Env) (*tool.Result, error) { return doRead(ctx, env, args) },
	}
	if tool.Suspicious(args.FilePath) {
		plan.Risk, plan.Why = plan.Risk.Raise(), "reads a file whose name holds characters that are not seen"
	}
	return plan, nil
}

// readable finds the file that a model names. What it may not read is an *Error:
// a path that leads out of the workspace, a file that holds credentials.
func readable(env *tool.Env, path string) (tool.Place, error) {
	p, err := tool.ResolveReadable(env, path)
	if err != nil {
		return p, err
	}
	return p, unreadable(p)
}

// unreadable is the refusal of a place that holds credentials, nil for any other.
func unreadable(p tool.Place) error {
	if p.Credential && !p.Revealed {
		return tool.Errorf(tool.CodeDenied,
			"%s holds credentials and is not read. The person can allow exactly this file in their own settings.",
			tool.Name(p.Rel))
	}
	return nil
}

// secretive is the refusal of a file in whose text a secret stands, nil for any
// other.
func secretive(env *tool.Env, p tool.Place, text string) error {
	if why := secretIn(env, p.Real, text); why != "" {
		return tool.Errorf(tool.CodeDenied,
			"%s is not read: it holds %s. The person can allow exactly this file in their own settings, or move the secret out of it.", tool.Name(p.Rel), why)
	}
	return nil
}

// secretIn is [tool.SecretIn] of a file that the user's own rules do not name.
// It returns what the secret seems to be, "" for none.
func secretIn(env *tool.Env, real, text string) string {
	if !tool.MayHoldSecret(real) || slices.Contains(env.Reveal, real) {
		return ""
	}
	return tool.SecretIn(real, text)
}

// denied reports whether a rule keeps the tool from a file.
func denied(env *tool.Env, real string) bool { return env.Denied != nil && env.Denied(real) }

// omissionNote says how many files a search did not look at because of a rule; "" for
// none.
func omissionNote(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("[%s left out: a rule of the settings keeps this tool from them]\n",
		tool.Count(n, "file is", "files are"))
}

// fetch reads a file for the model, as the person sees it. Each tool that shows
// files reads them here: links are followed again, so what they lead to is
// checked at the moment of use.
// Errors: CodeOutside for a path out of the workspace, CodeDenied for credentials, secrets
// and rules, and those of read. Credentials are looked for three times: by the path, by
// what the opened file is (a hard link may have a harmless name), and in the text.
func fetch(ctx context.Context, env *tool.Env, path string) (tool.Place, *tool.File, error) {
	env = tool.Together(env)
	p, err := readable(env, path)
	if err != nil {
		return p, nil, err
	}
	if denied(env, p.Real) {
		return p, nil, tool.Errorf(tool.CodeDenied, "%s is not read: a rule of the settings forbids it.",
			tool.Name(p.Rel))
	}
	var f *tool.File
	if p.Blob {
		f, err = readBlob(p)
	} else if f, err = read(ctx, env, p); err == nil {
		if err = unreadable(p.ReadAs(env, f.Info)); err == nil {
			err = secretive(env, p, f.Text)
		}
	}
	if err != nil {
		return p, nil, err
	}
	return p, f, nil
}

// note remembers that the model was shown a file.
// Blobs are not noted: they are never written, so no edit asks for them.
func note(env *tool.Env, p tool.Place, f *tool.File) {
	if !p.Blob && env.Seen != nil {
		env.Seen.Note(p.Real, f.Digest)
	}
}

// doRead reads the file as the person sees it: the editor's text where it is open.
// Images and documents go to the model as data. The model has seen the file then
// (Env.Seen), which is what an edit asks for.
func doRead(ctx context.Context, env *tool.Env, args readArgs) (*tool.Result, error) {
	p, f, err := fetch(ctx, env, args.FilePath)
	if err != nil {
		return nil, err
	}
	media, what, err := attach(p, f)
	if err != nil {
		return nil, err
	}
	if media != nil {
		note(env, p, f)
		return &tool.Result{
			Content: fmt.Sprintf("%s is attached: %s.", tool.Name(p.Rel), what),
			Display: fmt.Sprintf("Read %s (%s)", tool.Name(p.Rel), what), Media: []model.Media{*media},
		}, nil
	}
	if f.Binary {
		return nil, refuseBinary(p, f)
	}
	e, err := extract(f.Text, args, maxReadRunes)
	if err != nil {
		return nil, err
	}
	note(env, p, f)
	return &tool.Result{Content: e.content, Display: fmt.Sprintf("Read %s from %s",
		tool.Count(e.lines, "line", "lines"), tool.Name(p.Rel))}, nil
}

// refuseBinary says what a file is that is no text.
func refuseBinary(p tool.Place, f *tool.File) error {
	kind := f.Type
	if kind == "" {
		kind = "of an unknown type"
	}
	return tool.Errorf(tool.CodeBinary, "%s is not text: it is %s, %d bytes.", tool.Name(p.Rel), kind, len(f.Data))
}

// readBlob reads what an earlier result was cut from.
// It lies in the session's folder, which the model has the path of. There is no digest:
// nobody writes it.
func readBlob(p tool.Place) (*tool.File, error) {
	dir, err := open(p)
	if err != nil {
		return nil, err
	}
	defer dir.close()
	data, _, err := dir.file(p.Real, maxBlob)
	if err != nil {
		return nil, tool.Errorf(tool.CodeNotFound, "%s cannot be read: %v.", tool.Name(p.Real), err)
	}
	return &tool.File{Path: p.Real, Data: data, Text: strings.ToValidUTF8(string(data), string(utf8.RuneError))}, nil
}

// excerpt is part of a text as a model gets it.
type excerpt struct {
	content string // with a note at its end where it is not all
	lines   int
	runes   int  // of content, but for the note
	whole   bool // nothing is left out
}

// extract returns the lines that were asked for, as far as they have not more
// than so many characters, but at least one.
// An offset behind the last line is an error of the arguments. Lines are cut at
// maxLineRunes, and a last line in brackets says what is missing and how to read on.
func extract(text string, args readArgs, maxRunes int) (excerpt, error) {
	total := strings.Count(text, "\n")
	if text != "" && !strings.HasSuffix(text, "\n") {
		total++
	}
	if total == 0 {
		return excerpt{content: "The file is empty.", whole: true}, nil
	}
	if args.Offset >= total {
		return excerpt{}, tool.Errorf(tool.CodeArgs, "The file has %d lines, so there is nothing after offset %d.",
			total, args.Offset)
	}
	limit := args.Limit
	if limit == 0 {
		limit = defaultLines
	}
	for range args.Offset {
		text = text[strings.IndexByte(text, '\n')+1:]
	}
	var b strings.Builder
	n, cutLines, runes := 0, 0, 0
	for n < limit && text != "" {
		line, rest, _ := strings.Cut(text, "\n")
		line = strings.TrimSuffix(line, "\r")
		if args.LineNumbers {
			line = fmt.Sprintf("%6d\t%s", args.Offset+n+1, line)
		}
		line, cut := cutLine(line)
		count := utf8.RuneCountInString(line) + 1
		// The first line is shown in any case, or reading on would never get past it.
		if runes+count > maxRunes && n > 0 {
			break
		}
		if cut {
			cutLines++
		}
		runes += count
		b.WriteString(line)
		b.WriteByte('\n')
		text = rest
		n++
	}
	last := args.Offset + n
	var notes []string
	if args.Offset > 0 || last < total {
		notes = append(notes, fmt.Sprintf("lines %d to %d of %d", args.Offset+1, last, total))
	}
	if last < total {
		notes = append(notes, fmt.Sprintf("read on with offset %d", last))
	}
	if cutLines > 0 {
		notes = append(notes, fmt.Sprintf("%d lines are longer than %d characters and cut", cutLines, maxLineRunes))
	}
	if len(notes) > 0 {
		b.WriteString("[" + strings.Join(notes, "; ") + "]\n")
	}
	return excerpt{b.String(), n, runes, len(notes) == 0}, nil
}

// cutLine returns the beginning of a line that is too long, and whether it was.
func cutLine(line string) (string, bool) {
	if len(line) <= maxLineRunes || utf8.RuneCountInString(line) <= maxLineRunes {
		return line, false
	}
	i := 0
	for range maxLineRunes {
		_, size := utf8.DecodeRuneInString(line[i:])
		i += size
	}
	return fmt.Sprintf("%s… [%d more characters]", line[:i], utf8.RuneCountInString(line[i:])), true
}
