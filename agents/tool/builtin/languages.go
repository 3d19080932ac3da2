package builtin

// The tools that the editor's language servers answer (spec 4.1). Whatever they
// say is text of somebody else's: places are shown by the rules of reading, and
// count as read.

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/fault"
)

const (
	maxPlaces  = 200 // of one answer that are shown
	maxMessage = 500 // characters of a message, a name or a line
)

// fileProperty is the argument that names a file, in the schemas of these tools.
const fileProperty = `"file_path": {"type": "string", "minLength": 1, "description": "The file, relative to the workspace folder or absolute inside it."}`

// diagnosticsArgs are the arguments of diagnostics; no file means the workspace.
type diagnosticsArgs struct {
	FilePath string `json:"file_path"`
}

// diagnostics returns the tool that asks what is wrong in a file or the workspace.
func diagnostics() tool.Tool {
	return define("diagnostics", tool.Safe,
		`{"type": "object", "properties": {`+fileProperty+`}, "additionalProperties": false}`, fileAliases,
		func(_ context.Context, env *tool.Env, args diagnosticsArgs) (*tool.Plan, error) {
			return planQuery(env, tool.LanguageQuery{Kind: tool.Diagnostics,
				Fresh: args.FilePath != ""}, args.FilePath, "")
		})
}

// symbolsArgs are the arguments of symbols.
type symbolsArgs struct {
	FilePath string `json:"file_path"`
	Query    string `json:"query"`
}

// symbols returns the tool that lists what is declared in a file, or looks for
// names in the workspace.
func symbols() tool.Tool {
	return define("symbols", tool.Safe, `{
	"type": "object",
	"properties": {
		`+fileProperty+`,
		"query": {"type": "string", "minLength": 1, "maxLength": 200, "description": "A part of the symbols' names."}
	},
	"additionalProperties": false
}`, join(fileAliases, map[string]string{"name": "query"}), func(_ context.Context, env *tool.Env,
		args symbolsArgs) (*tool.Plan, error) {
		if args.FilePath == "" && args.Query == "" {
			return nil, tool.Errorf(tool.CodeArgs,
				"Give file_path for the symbols of a file, or query for those of the workspace.")
		}
		return planQuery(env, tool.LanguageQuery{Kind: tool.Symbols, Name: args.Query}, args.FilePath, "")
	})
}

// navigateArgs are the arguments of definition and references. Line is from 1; 0 =
// the first line that has the symbol.
type navigateArgs struct {
	FilePath string `json:"file_path"`
	Symbol   string `json:"symbol"`
	Line     uint32 `json:"line"`
}

// definition returns the tool that finds where a symbol is declared.
func definition() tool.Tool { return navigating(tool.Definition) }

// references returns the tool that finds where a symbol is used.
func references() tool.Tool { return navigating(tool.References) }

// navigating returns one of the two, which differ in what they ask.
func navigating(kind string) tool.Tool {
	return define(kind, tool.Safe, `{
	"type": "object",
	"properties": {
		`+fileProperty+`,
		"symbol": {"type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[^\\n]+$", "description": "The name, as it stands in the file."},
		"line": {"type": "integer", "minimum": 1, "description": "The line where it stands, from 1. Default: the first one."}
	},
	"required": ["file_path", "symbol"],
	"additionalProperties": false
}`, join(fileAliases, map[string]string{"name": "symbol"}), func(_ context.Context, env *tool.Env,
		args navigateArgs) (*tool.Plan, error) {
		return planQuery(env, tool.LanguageQuery{Kind: kind, Line: args.Line}, args.FilePath, args.Symbol)
	})
}

// planQuery plans a question about a file, "" for the workspace folder. symbol is
// what stands in the file at the place that it is about.
//
// The plan reads the file or the workspace folder, so rules and trust are judged as for
// read_file. What the answer shows besides is judged file by file in showFound.
func planQuery(env *tool.Env, q tool.LanguageQuery, file, symbol string) (*tool.Plan, error) {
	p, err := readable(env, cmp.Or(file, "."))
	if err != nil {
		return nil, err
	}
	plan := &tool.Plan{
		Risk: tool.Safe, Why: "asks the editor's language servers", Path: p.Real, Reads: []string{p.Real}, Skips: true,
		Title: strings.TrimSpace(q.Kind + " " + title(cmp.Or(symbol, q.Name, file))),
		Do: func(ctx context.Context, env *tool.Env) (*tool.Result, error) {
			return queryLanguages(ctx, env, q, file, symbol)
		},
	}
	if tool.Suspicious(file) {
		plan.Risk, plan.Why = plan.Risk.Raise(), "reads a file whose name holds characters that are not seen"
	}
	return plan, nil
}

// queryLanguages asks and shows what was found.
// It waits for the editor. What the editor cannot answer is an error of the tool
// that names other ways.
// Errors: CodeFailed where there is no editor or it cannot answer, CodeNotFound where the
// symbol does not stand in the file, and those of reading the file. It ends with ctx.
func queryLanguages(ctx context.Context, env *tool.Env, q tool.LanguageQuery, file,
	symbol string) (*tool.Result, error) {
	if env.Languages == nil {
		return nil, tool.Errorf(tool.CodeFailed,
			"There is no editor here that answers questions about code. Use grep and read_file, or the project's own compiler or linter.")
	}
	env = tool.Together(env)
	if file != "" {
		p, f, err := fetch(ctx, env, file)
		if err != nil {
			return nil, err
		}
		// The place is looked up in the text as the person sees it, which is what the servers
		// have.
		if q.Path = p.Real; symbol != "" {
			if q.Line, q.Before, err = locate(f.Text, symbol, q.Line); err != nil {
				return nil, err
			}
		}
	}
	found, err := env.Languages.Query(ctx, q)
	if err != nil && ctx.Err() == nil {
		return nil, tool.Errorf(tool.CodeFailed,
			"The editor's language servers cannot be asked: %s. Use grep and read_file, or the project's own compiler or linter.", tool.Escape(fault.Message(err)))
	}
	if err != nil {
		return nil, err
	}
	if q.Kind == tool.Symbols && file != "" && q.Name != "" { // editors do not look for names in one file
		found = slices.DeleteFunc(found, func(f tool.Found) bool {
			return !strings.Contains(strings.ToLower(f.Text), strings.ToLower(q.Name))
		})
	}
	return showFound(ctx, env, q.Kind, found), nil
}

// locate finds a name in a text, as a whole word if there is one: on a line from 1,
// or on the first that has it. It returns the line from 0, and its text before the
// name.
//
// A symbol that begins or ends with a letter must not go on there, so that "id" is not
// found in "width".
func locate(text, symbol string, line uint32) (uint32, string, error) {
	word := regexp.QuoteMeta(symbol)
	first, _ := utf8.DecodeRuneInString(symbol)
	last, _ := utf8.DecodeLastRuneInString(symbol)
	if letter(first) {
		word = `(?:^|[^\pL\pN_])(` + word + `)`
	} else {
		word = `(` + word + `)`
	}
	if letter(last) {
		word += `(?:$|[^\pL\pN_])`
	}
	// The group is the name itself: what stands before it on its line may be one character of
	// the match.
	re := regexp.MustCompile(word)
	lines := strings.Split(tool.LineFeeds(text), "\n")
	for i, content := range lines {
		if line > 0 && i+1 != int(line) {
			continue
		}
		if at := re.FindStringSubmatchIndex(content); at != nil {
			return uint32(i), content[:at[2]], nil
		}
	}
	if line > 0 {
		return 0, "", tool.Errorf(tool.CodeNotFound,
			"%s does not stand on line %d. Read the file again, or leave line out.", tool.Name(symbol), line)
	}
	return 0, "", tool.Errorf(tool.CodeNotFound,
		"%s does not stand in the file as a word. Read the file, and give the name as it stands there.",
		tool.Name(symbol))
}

// letter reports whether a character is part of a name.
func letter(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r) }

// readFiles reads the files of an answer, each once.
//
// It is made for one answer and used by one goroutine.
type readFiles struct {
	env *tool.Env
	// By the path as the editor named it.
	read map[string]*readOnce
}

// readOnce is a file of an answer; rel is "" where it may not be shown.
type readOnce struct {
	rel string
	// Without their ends; nil of a binary file.
	lines []string
	taint tool.Taint
}

// file returns the file at a path that the editor named.
// It goes through fetch, so a path outside of the workspace, a file with credentials and
// one that a rule denies have the rel "". The result is never nil.
func (r *readFiles) file(ctx context.Context, path string) *readOnce {
	if f := r.read[path]; f != nil {
		return f
	}
	// Kept before it is read: a file that may not be shown is not read again for its next
	// place.
	once := new(readOnce)
	r.read[path] = once
	if path == "" || tool.Suspicious(path) {
		return once
	}
	if p, f, err := fetch(ctx, r.env, path); err == nil && !p.Blob {
		once.rel, once.taint = tool.Name(p.Rel), r.env.TaintOf(p.Real)
		if !f.Binary {
			once.lines = strings.Split(tool.LineFeeds(f.Text), "\n")
		}
	}
	return once
}

// showFound writes what was found, a line each with the line of code below. What
// may not be read is counted.
// It ends before the result would be cut, so that the lines about what is left out
// are in it.
func showFound(ctx context.Context, env *tool.Env, kind string, found []tool.Found) *tool.Result {
	slices.SortStableFunc(found, func(a, b tool.Found) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line))
	})
	known := make(map[tool.Found]bool) // several servers may report the same
	found = slices.DeleteFunc(found, func(f tool.Found) bool {
		again := known[f]
		known[f] = true
		return again
	})
	files := readFiles{env, make(map[string]*readOnce)}
	var b strings.Builder
	taint := tool.Clean
	shown, hidden, more := 0, 0, 0
	for _, f := range found {
		if shown == maxPlaces || b.Len() > tool.MaxResult*3/4 {
			more++
			continue
		}
		file := files.file(ctx, f.Path)
		if file.rel == "" {
			hidden++
			continue
		}
		shown++
		taint = taint.Max(file.taint)
		fmt.Fprintf(&b, "%s:%d%s\n", file.rel, f.Line, describeFound(f))
		// The server may know another version of the file than is read here.
		if f.Line >= 1 && f.Line <= len(file.lines) && kind != tool.Symbols {
			if line := strings.TrimSpace(file.lines[f.Line-1]); line != "" {
				fmt.Fprintf(&b, "    %s\n", oneLine(line))
			}
		}
	}
	summary := tool.Count(shown, "place", "places")
	switch kind {
	case tool.Diagnostics:
		summary = tool.Count(shown, "diagnostic", "diagnostics")
	case tool.Symbols:
		summary = tool.Count(shown, "symbol", "symbols")
	}
	if shown+hidden+more == 0 {
		b.WriteString("The editor's language servers report nothing here.\n")
	}
	if more > 0 {
		fmt.Fprintf(&b, "[%d more are left out: ask about one file]\n", more)
	}
	if hidden > 0 {
		fmt.Fprintf(&b, "[%d more in files outside of the workspace, or that agents do not read]\n", hidden)
	}
	return &tool.Result{Content: b.String(), Taint: taint, Display: "The editor's language servers know " + summary}
}

// describeFound is what a language server says, behind the place.
func describeFound(f tool.Found) string {
	text := ""
	if f.Kind != "" {
		text = " " + f.Kind
	}
	if f.Note != "" {
		text += " (" + oneLine(f.Note) + ")"
	}
	if f.Text != "" {
		text += ": " + oneLine(f.Text)
	}
	return text
}

// oneLine is a text of somebody else's as one short line.
func oneLine(text string) string {
	cut, whole := tool.CutLine(tool.Escape(strings.Join(strings.Fields(text), " ")), maxMessage)
	if !whole {
		cut += "…"
	}
	return cut
}
