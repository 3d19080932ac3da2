package builtin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/agentls/agentls/agents/tool"
)

// maxEdited is how many bytes a file may have that an edit made larger. What is
// larger no tool reads again; and one text for many places may be anything.
const maxEdited = 16 << 20

// editArgs are the arguments of edit_file. Expected 0 means 1.
type editArgs struct {
	FilePath  string `json:"file_path"`
	OldString string `json:"old_string"`
	NewString string `json:"new_string"`
	Expected  int    `json:"expected_replacements"`
}

// editFile returns the tool that replaces a text in a file.
func editFile() tool.Tool {
	return define("edit_file", tool.Low, `{
	"type": "object",
	"properties": {
		"file_path": {"type": "string", "minLength": 1, "description": "The file, relative to the workspace folder or absolute inside it."},
		"old_string": {"type": "string", "description": "The exact text to replace. Empty: make a new file."},
		"new_string": {"type": "string", "description": "What stands there instead."},
		"expected_replacements": {"type": "integer", "minimum": 1, "maximum": 10000, "description": "How many places are replaced. Default 1."}
	},
	"required": ["file_path", "old_string", "new_string"],
	"additionalProperties": false
}`, join(fileAliases, map[string]string{"old_str": "old_string", "oldString": "old_string", "new_str": "new_string",
		"newString": "new_string"}), planEdit)
}

// planEdit plans an edit: it makes the new text already, so that the person sees
// the difference and a call that matches nothing never asks. Where nothing matches
// a model may be asked once to correct the snippets (correct).
// Errors: CodeArgs for arguments that contradict each other, CodeNotFound for a text to
// replace in a file that does not exist, CodeTooLarge past maxEdited, and CodeFailed where
// the text does not occur the expected number of times.
func planEdit(ctx context.Context, env *tool.Env, args editArgs) (*tool.Plan, error) {
	if args.OldString == args.NewString && args.OldString != "" {
		return nil, tool.Errorf(tool.CodeArgs, "old_string and new_string are the same: there is nothing to change.")
	}
	if args.Expected == 0 {
		args.Expected = 1
	}
	c, err := newChange(ctx, env, "edit_file", args.FilePath)
	if err != nil {
		return nil, err
	}
	// An empty old_string makes a file and never replaces one.
	switch {
	case c.old == nil && args.OldString == "":
		return c.plan(args.NewString), nil
	case c.old == nil:
		return nil, tool.Errorf(tool.CodeNotFound, "%s does not exist. An empty old_string makes it.",
			tool.Name(c.at.Rel))
	case args.OldString == "":
		return nil, tool.Errorf(tool.CodeArgs, "%s exists: old_string must be the text to replace.",
			tool.Name(c.at.Rel))
	}
	if err := ctx.Err(); err != nil { // what follows takes as long as the file
		return nil, err
	}
	text, err := replace(c.old.Text, args.OldString, args.NewString, args.Expected)
	// The model is asked while the call is planned, so that the person is asked about what
	// will be written.
	if errors.Is(err, errNoMatch) {
		if fixed, ok := correct(ctx, env, c.old.Text, args); ok {
			p := c.plan(fixed)
			p.Preview.Notes = append(p.Preview.Notes,
				"old_string did not occur in the file; a model corrected the white space or the escaping in it")
			return p, nil
		}
	}
	if large := errTooLarge(0); errors.As(err, &large) {
		return nil, tool.Errorf(tool.CodeTooLarge, "%s was not changed: %v", tool.Name(c.at.Rel), err)
	}
	if err != nil {
		return nil, tool.Errorf(tool.CodeFailed, "%s was not changed: %v", tool.Name(c.at.Rel), err)
	}
	return c.plan(text), nil
}

// errNoMatch says that the text to replace does not occur; the only error after
// which a correction is tried.
var errNoMatch = errors.New("old_string was not found, neither exactly nor with another indentation. Read the file again and give the text as it stands there")

// correct returns the text with the edit made as a model corrects it, once. What
// the model changes beside white space and escaping does not count: the person
// and the rules go by what the agent's model wrote.
// It fails closed: without a model, on any error and where letters differ, the model's own
// edit is reported as not found. TestACorrectionChangesWhiteSpaceAndEscapingOnly holds it.
func correct(ctx context.Context, env *tool.Env, text string, args editArgs) (string, bool) {
	if env.Correct == nil {
		return "", false
	}
	fixed, err := env.Correct(ctx, text, tool.Snippets{Old: args.OldString, New: args.NewString})
	if err != nil || letters(fixed.Old) != letters(args.OldString) || letters(fixed.New) != letters(args.NewString) {
		return "", false
	}
	// The corrected snippets must match as the agent's own would have to.
	result, err := replace(text, fixed.Old, fixed.New, args.Expected)
	return result, err == nil && result != text
}

// letters returns a snippet without white space, line ends and what escapes.
// Two snippets with the same letters differ in white space and escaping alone.
func letters(snippet string) string {
	snippet = escapes.Replace(snippet)
	return strings.Map(func(r rune) rune {
		if r == '\\' || unicode.IsSpace(r) {
			return -1
		}
		return r
	}, snippet)
}

// escapes are the escapes of white space. A backslash before anything else, itself
// included, goes alone.
var escapes = strings.NewReplacer(`\n`, "", `\t`, "", `\r`, "")

// errTooLarge is the number of bytes that a file would have.
type errTooLarge int

// Error says how large the file would be.
func (n errTooLarge) Error() string {
	return fmt.Sprintf("it would have %d bytes, more than the %d that are taken", int(n), maxEdited)
}

// checkGrowth returns an errTooLarge where a text of size bytes became larger than
// maxEdited; one that was so before may stay so.
func checkGrowth(before, size int) error {
	if size > before && size > maxEdited {
		return errTooLarge(size)
	}
	return nil
}

// replace returns text with old replaced at the expected number of places:
// where it stands exactly; else with the text's own line ends; else line by
// line without regard to indentation. It never chooses between more places, and
// takes about as long as the texts are. A text that would be larger than
// maxEdited is an errTooLarge, before it is made.
// The order is from exact to loose: a looser match is tried only where the stricter one
// occurs nowhere, so that an exact match at the wrong number of places is reported and not
// evaded.
func replace(text, old, fresh string, expected int) (string, error) {
	end := endOf(text)
	for _, try := range [][2]string{{old, withEnds(fresh, end)}, {withEnds(old, end), withEnds(fresh, end)}} {
		if n := strings.Count(text, try[0]); n > 0 {
			if n != expected {
				return "", wrongCount(n, expected)
			}
			if err := checkGrowth(len(text), len(text)+n*(len(try[1])-len(try[0]))); err != nil {
				return "", err
			}
			return strings.ReplaceAll(text, try[0], try[1]), nil
		}
	}
	// Models give another indentation than the file has.
	lines := strings.SplitAfter(text, "\n")
	found := windows(lines, splitLines(old))
	if len(found) == 0 {
		return "", errNoMatch
	}
	if len(found) != expected {
		return "", wrongCount(len(found), expected)
	}
	return splice(lines, found, splitLines(old), withEnds(fresh, "\n"), end)
}

// wrongCount is the error of a text that occurs at another number of places than
// was expected.
func wrongCount(n, expected int) error {
	if n == 1 {
		return fmt.Errorf("old_string matches at 1 place, not at %d. Set expected_replacements to 1 if that is meant",
			expected)
	}
	return fmt.Errorf("old_string matches at %d places, not at %d. Give more lines around the change so that it is unambiguous, or set expected_replacements to %d if all are meant", n, expected, n)
}

// splitLines returns the lines of a snippet without their ends.
func splitLines(s string) []string {
	return strings.Split(strings.TrimSuffix(strings.ReplaceAll(s, "\r\n", "\n"), "\n"), "\n")
}

// windows returns where the lines of old stand in lines, apart from the blanks
// at both ends of each line; places do not overlap. Blank lines alone match
// nowhere: they would match everywhere.
// The result is in ascending order. TestEditFileTakesAsLongAsTheFile holds that the time
// does not grow with the product of both.
func windows(lines, old []string) []int {
	blank := true
	for _, l := range old {
		blank = blank && strings.TrimSpace(l) == ""
	}
	if blank {
		return nil
	}
	return sequences(lines, old, strings.TrimSpace, false)
}

// sequences returns where the lines of old stand in lines one after the other, in ascending
// order. trim takes off what does not count of a line. Places overlap only where
// overlapping says so.
func sequences(lines, old []string, trim func(string) string, overlapping bool) []int {
	// Lines become numbers, those that are not in old -1, and then one pass finds
	// all (Knuth, Morris and Pratt): back[k] is how many lines of old are both the
	// beginning and the end of its first k+1.
	numbers := make(map[string]int, len(old))
	wanted := make([]int, len(old))
	for k, l := range old {
		l = trim(l)
		if _, known := numbers[l]; !known {
			numbers[l] = k
		}
		wanted[k] = numbers[l]
	}
	back := make([]int, len(old))
	for k, n := 1, 0; k < len(old); k++ {
		for n > 0 && wanted[k] != wanted[n] {
			n = back[n-1]
		}
		if wanted[k] == wanted[n] {
			n++
		}
		back[k] = n
	}
	var found []int
	n := 0
	for i, l := range lines {
		number, known := numbers[trim(l)]
		if !known {
			number = -1
		}
		for n > 0 && number != wanted[n] {
			n = back[n-1]
		}
		if number == wanted[n] {
			n++
		}
		if n == len(old) {
			found = append(found, i+1-n)
			if n = 0; overlapping {
				n = back[len(old)-1]
			}
		}
	}
	return found
}

// splice puts fresh in place of the windows, indented as what stands there.
// at is ascending, as windows returns it. old has a line that is not blank, since windows
// finds nothing otherwise. An empty fresh removes the lines with their ends.
func splice(lines []string, at []int, old []string, fresh, end string) (string, error) {
	first := slices.IndexFunc(old, func(l string) bool { return strings.TrimSpace(l) != "" })
	from := indentation(old[first])
	if err := checkGrowth(sizes(lines, at, old, first, from, fresh, end)); err != nil {
		return "", err
	}
	var b strings.Builder
	next := 0
	for _, i := range at {
		for ; next < i; next++ {
			b.WriteString(lines[next])
		}
		if fresh != "" {
			text := reindent(fresh, from, indentation(lines[i+first]))
			text = strings.TrimSuffix(text, "\n")
			b.WriteString(withEnds(text, end))
			// The last line keeps the end that it has, which the end of a file may
			// lack.
			last := lines[i+len(old)-1]
			b.WriteString(last[len(strings.TrimRight(last, "\r\n")):])
		}
		next = i + len(old)
	}
	for ; next < len(lines); next++ {
		b.WriteString(lines[next])
	}
	return b.String(), nil
}

// sizes returns how many bytes the lines have, and how many at most with fresh in
// place of the windows. first is the line of old that has the indentation from.
// It counts the indentation that grows and not what shrinks, so the result is an upper
// bound.
func sizes(lines []string, at []int, old []string, first int, from, fresh, end string) (before, after int) {
	for _, l := range lines {
		before += len(l)
	}
	each, moved := 0, 0
	if fresh != "" {
		// Each line feed may become two bytes, and the last line keeps the end that it has.
		each = len(fresh) + (len(end)-1)*strings.Count(fresh, "\n") + len(end)
		for l := range strings.SplitSeq(fresh, "\n") {
			if strings.TrimSpace(l) != "" && strings.HasPrefix(l, from) {
				moved++
			}
		}
	}
	after = before
	for _, i := range at {
		after += each + moved*max(0, len(indentation(lines[i+first]))-len(from))
		for _, l := range lines[i : i+len(old)] {
			after -= len(l)
		}
	}
	return before, after
}

// reindent returns fresh with the indentation from of its lines exchanged for to.
// Lines that do not begin with from, as those that are indented less, stay as they are.
func reindent(fresh, from, to string) string {
	lines := strings.Split(fresh, "\n")
	for i, l := range lines {
		if strings.TrimSpace(l) == "" {
			continue
		}
		if rest, ok := strings.CutPrefix(l, from); ok {
			lines[i] = to + rest
		}
	}
	return strings.Join(lines, "\n")
}

// indentation returns the spaces and tabs that a line begins with.
func indentation(l string) string { return l[:len(l)-len(strings.TrimLeft(l, " \t"))] }
