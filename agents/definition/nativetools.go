package definition

// Other tools' own names for tools, as a person writes them.

import (
	"fmt"
	"slices"
	"strings"
)

// NativeTools returns another tool's own names for tools, in the order in which
// they are written; sets come before what is in them. nil for our own.
// The caller owns the slice.
func NativeTools(d Dialect) []string {
	switch d {
	case Claude:
		return []string{"Read", "Write", "Edit", "Bash", "Glob", "Grep", "LS", "LSP", "WebFetch", "WebSearch",
			"TodoWrite", "AskUserQuestion", "Task"}
	case Copilot:
		return []string{
			"read", "search", "edit", "execute", "web", "todo", "agent", "vscode/askQuestions",
			"read/readFile", "read/problems", "search/fileSearch", "search/textSearch",
			"search/listDirectory", "search/usages",
			"edit/editFiles", "edit/createFile", "edit/rename", "web/fetch",
		}
	case OpenCode:
		return []string{"read", "write", "edit", "bash", "glob", "grep", "list", "patch", "lsp", "webfetch",
			"websearch", "todowrite", "question", "task"}
	case GeminiCLI:
		return []string{
			"read_file", "read_many_files", "list_directory", "glob", "grep_search", "write_file",
			"replace", "run_shell_command",
			"web_fetch", "google_web_search", "save_memory", "write_todos", "ask_user",
		}
	}
	return nil
}

// foreignUnknown reports a name in another tool's list of tools that nobody knows,
// and what may have been meant, in that tool's spelling.
// outcome is what becomes of the entry, as "left out". In a file of ours that is an error,
// since the list was written for us.
func (r *reader) foreignUnknown(name listed, outcome string) {
	var names []string
	// The list is made only while a guess is left.
	if r.guesses < maxGuesses {
		names = NativeTools(r.Dialect)
		for _, t := range toolNames {
			if names = append(names, t.Name); r.Dialect == GeminiCLI {
				names = append(names, t.Aliases...)
			}
		}
	}
	message := fmt.Sprintf("The tool %s is not known here; ", name.name)
	meant := r.nearest(name.name, names)
	if meant != "" {
		message += "did you mean " + meant + "?"
	} else {
		message += "correct it, or remove it."
	}
	message += " It is " + outcome + "." // last: an editor may cut a long line
	severity := Hint
	if r.Dialect == Agentls {
		severity = Error
	}
	r.suggest("agent/tool-unknown", severity, name.start, name.end, meant, message)
}

// foreignServerTools checks what another tool's list names of an MCP server, where
// the file itself does not describe that.
func (r *reader) foreignServerTools(t translation, name listed) {
	if t.server == "" {
		return
	}
	r.servers = add(r.servers, t.server)
	if !slices.Contains(r.declared, t.server) {
		r.checkServerTool(t.allow[0], name)
	}
}

// respell puts another server or tool into an entry, as its dialect writes it;
// "" where nothing else is known, or it cannot be told where.
// last says that part is the tool, which stands behind the server.
func respell(entry, part, meant string, last bool) string {
	if meant == "" {
		return ""
	}
	from := 0
	// Behind the prefix, in case the part is also in it.
	for _, prefix := range []string{"mcp__", "mcp_", "mcp."} {
		if rest, ok := strings.CutPrefix(entry, prefix); ok && strings.Contains(rest, part) {
			from = len(prefix)
			break
		}
	}
	i := strings.Index(entry[from:], part)
	if last {
		i = strings.LastIndex(entry[from:], part)
	}
	if i < 0 || part == "" {
		return ""
	}
	return entry[:from+i] + meant + entry[from+i+len(part):]
}

// removeWord offers to take a word out of a text of words with commas.
//
// It reports whether it offered that. A word that is all there is stays: without it the
// list would be empty.
func (f *fixer) removeWord() bool {
	for _, name := range []string{"tools", "disallowedTools"} {
		v := f.Root.Get(name)
		if v == nil || v.Kind != String || f.span.Start < v.Start || f.span.End > v.End || f.span == v.Span {
			continue
		}
		s := f.span
		text := f.Text[v.Start:v.End]
		after := strings.TrimLeft(text[s.End-v.Start:], " ")
		before := strings.TrimRight(text[:s.Start-v.Start], " ")
		switch {
		case strings.HasPrefix(after, ","):
			s.End = v.End - len(strings.TrimLeft(after[1:], " "))
		case strings.HasSuffix(before, ","):
			s.Start = v.Start + len(before) - 1
		default:
			return false
		}
		f.add(Fix{Title: "Remove " + f.text(), Edits: []Edit{f.edit(s, "")}})
		return true
	}
	return false
}
