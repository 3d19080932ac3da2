package builtin

import (
	"context"
	"fmt"
	"strings"

	"github.com/agentls/agentls/agents/tool"
)

type editArgs struct {
	FilePath  string `json:"file_path"`
	OldString string `json:"old_string"`
	NewString string `json:"new_string"`
	Expected  int    `json:"expected_replacements"`
}

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
}`, join(fileAliases, map[string]string{"old_str": "old_string", "oldString": "old_string", "new_str": "new_string", "newString": "new_string"}), planEdit)
}

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
	switch {
	case c.old == nil && args.OldString == "":
		return c.plan(args.NewString), nil
	case c.old == nil:
		return nil, tool.Errorf(tool.CodeNotFound, "%s does not exist. An empty old_string makes it.", tool.Name(c.at.Rel))
	case args.OldString == "":
		return nil, tool.Errorf(tool.CodeArgs, "%s exists: old_string must be the text to replace.", tool.Name(c.at.Rel))
	}
	text, err := replace(c.old.Text, args.OldString, args.NewString, args.Expected)
	if err != nil {
		return nil, tool.Errorf(tool.CodeFailed, "%s was not changed: %v", tool.Name(c.at.Rel), err)
	}
	return c.plan(text), nil
}

// replace returns text with old replaced at the expected number of places:
// where it stands exactly; else with the text's own line ends; else line by
// line without regard to indentation. It never chooses between more places.
func replace(text, old, fresh string, expected int) (string, error) {
	end := endOf(text)
	for _, try := range [][2]string{{old, withEnds(fresh, end)}, {withEnds(old, end), withEnds(fresh, end)}} {
		if n := strings.Count(text, try[0]); n > 0 {
			if n != expected {
				return "", wrongCount(n, expected)
			}
			return strings.ReplaceAll(text, try[0], try[1]), nil
		}
	}
	lines := strings.SplitAfter(text, "\n")
	found := windows(lines, splitLines(old))
	if len(found) == 0 {
		return "", fmt.Errorf("old_string was not found, neither exactly nor with another indentation. Read the file again and give the text as it stands there")
	}
	if len(found) != expected {
		return "", wrongCount(len(found), expected)
	}
	return splice(lines, found, splitLines(old), withEnds(fresh, "\n"), end), nil
}

func wrongCount(n, expected int) error {
	if n == 1 {
		return fmt.Errorf("old_string matches at 1 place, not at %d. Set expected_replacements to 1 if that is meant", expected)
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
func windows(lines, old []string) []int {
	blank := true
	for _, l := range old {
		blank = blank && strings.TrimSpace(l) == ""
	}
	if blank {
		return nil
	}
	var found []int
	for i := 0; i+len(old) <= len(lines); {
		match := true
		for k, l := range old {
			if strings.TrimSpace(lines[i+k]) != strings.TrimSpace(l) {
				match = false
				break
			}
		}
		if match {
			found = append(found, i)
			i += len(old)
		} else {
			i++
		}
	}
	return found
}

// splice puts fresh in place of the windows, indented as what stands there.
func splice(lines []string, at []int, old []string, fresh, end string) string {
	var b strings.Builder
	next := 0
	for _, i := range at {
		for ; next < i; next++ {
			b.WriteString(lines[next])
		}
		window := lines[i : i+len(old)]
		if fresh != "" {
			text := reindent(fresh, old, window)
			text = strings.TrimSuffix(text, "\n")
			b.WriteString(withEnds(text, end))
			// The last line keeps the end that it has, which the end of a file may
			// lack.
			last := window[len(window)-1]
			b.WriteString(last[len(strings.TrimRight(last, "\r\n")):])
		}
		next = i + len(old)
	}
	for ; next < len(lines); next++ {
		b.WriteString(lines[next])
	}
	return b.String()
}

// reindent returns fresh with the indentation of old exchanged for that of the
// lines that it stands for.
func reindent(fresh string, old, window []string) string {
	from, to := "", ""
	for k, l := range old {
		if strings.TrimSpace(l) != "" {
			from, to = indentation(l), indentation(window[k])
			break
		}
	}
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

func indentation(l string) string { return l[:len(l)-len(strings.TrimLeft(l, " \t"))] }
