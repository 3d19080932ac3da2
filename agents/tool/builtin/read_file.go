package builtin

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"unicode/utf8"

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

type readArgs struct {
	FilePath    string `json:"file_path"`
	Offset      int    `json:"offset"`
	Limit       int    `json:"limit"`
	LineNumbers bool   `json:"line_numbers"`
}

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

func planRead(_ context.Context, env *tool.Env, args readArgs) (*tool.Plan, error) {
	p, err := tool.ResolveReadable(env, args.FilePath)
	if err != nil {
		return nil, err
	}
	if p.Credential && !p.Revealed {
		return nil, tool.Errorf(tool.CodeDenied, "%s holds credentials and is not read. The person can allow exactly this file in their own settings.", tool.Name(p.Rel))
	}
	plan := &tool.Plan{
		Risk: tool.Safe, Why: "reads a file", Title: "read_file " + tool.Name(p.Rel), Path: p.Real, Reads: []string{p.Real},
		Do: func(ctx context.Context, env *tool.Env) (*tool.Result, error) { return doRead(ctx, env, args) },
	}
	if tool.Suspicious(args.FilePath) {
		plan.Risk, plan.Why = plan.Risk.Raise(), "reads a file whose name holds characters that are not seen"
	}
	return plan, nil
}

func doRead(ctx context.Context, env *tool.Env, args readArgs) (*tool.Result, error) {
	// Links are followed again: what they lead to is checked at the moment of use.
	p, err := tool.ResolveReadable(env, args.FilePath)
	if err != nil {
		return nil, err
	}
	if p.Credential && !p.Revealed {
		return nil, tool.Errorf(tool.CodeDenied, "%s holds credentials and is not read.", tool.Name(p.Rel))
	}
	var f *tool.File
	if p.Blob {
		f, err = readBlob(p)
	} else {
		f, err = read(ctx, env, p)
	}
	if err != nil {
		return nil, err
	}
	if f.Binary {
		return nil, refuseBinary(p, f)
	}
	content, shown, err := extract(f.Text, args)
	if err != nil {
		return nil, err
	}
	if !p.Blob && env.Seen != nil {
		env.Seen.Note(p.Real, f.Digest)
	}
	return &tool.Result{Content: content, Display: fmt.Sprintf("Read %s from %s", shown, tool.Name(filepath.ToSlash(p.Rel)))}, nil
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
func readBlob(p tool.Place) (*tool.File, error) {
	dir, err := open(p)
	if err != nil {
		return nil, err
	}
	defer dir.close()
	data, err := dir.file(p.Real, maxBlob)
	if err != nil {
		return nil, tool.Errorf(tool.CodeNotFound, "%s cannot be read: %v.", tool.Name(p.Real), err)
	}
	return &tool.File{Path: p.Real, Text: strings.ToValidUTF8(string(data), string(utf8.RuneError))}, nil
}

// extract returns the lines that were asked for, and how many they are in
// words.
func extract(text string, args readArgs) (content, shown string, err error) {
	total := strings.Count(text, "\n")
	if text != "" && !strings.HasSuffix(text, "\n") {
		total++
	}
	if total == 0 {
		return "The file is empty.", "0 lines", nil
	}
	if args.Offset >= total {
		return "", "", tool.Errorf(tool.CodeArgs, "The file has %d lines, so there is nothing after offset %d.", total, args.Offset)
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
		if runes+count > maxReadRunes && n > 0 {
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
	return b.String(), fmt.Sprintf("%d lines", n), nil
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
