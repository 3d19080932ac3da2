package definition

// What is checked when all fields are read: name, title, prompt, placeholders.

import (
	"fmt"
	"strings"
)

// finish settles what depends on several fields.
// The order matters: tools that only read are chosen before conflicts are looked
// for, and the prompt is settled before its placeholders are.
func (r *reader) finish() {
	r.finishName()
	if r.Dialect != Agentls {
		r.subagentsAndServers()
	}
	r.onlySafe()
	r.conflicts()
	r.finishPrompt()
	r.placeholders()
	r.doubts()
	r.secrets()
	r.checkHiddenText()
}

// finishName settles name and title.
// An agent without a name is called after its file, so that findings and lists
// can name it; Guessed says so. What is only missing by our format is told of our
// files alone.
func (r *reader) finishName() {
	opening := &node{start: r.open[0], end: r.open[1]}
	written := ""
	switch {
	case r.nameNode != nil && r.nameNode.text != "":
		written = strings.TrimSpace(r.nameNode.text)
		r.NameRange = r.text.span(r.nameNode.start, r.nameNode.end)
		r.Name = written
		r.checkName(written)
	case (r.Dialect == Copilot || r.Dialect == OpenCode) && !r.nameKey && slug(stem(r.Path)) != "":
		// Their files are named by their place.
		r.NameRange = r.text.span(opening.start, opening.end)
		r.Name = stem(r.Path)
		if !validName(r.Name) {
			r.Name = slug(r.Name)
		}
		r.at(opening, "agent/dialect", Hint, "The file has no name and is called %s after itself.", r.Name)
		if reservedName(r.Name) {
			r.at(opening, "agent/name", Error, "The name %s is reserved; give the agent another.", r.Name)
		}
	default:
		// A name that is no string has a finding already. Lists and findings call the
		// agent after its file.
		if r.nameNode == nil || r.nameNode.kind == str {
			r.at(opening, "agent/missing-field", Error, "The field name is missing; write name: with the agent's name.")
		}
		r.Guessed = true
		r.Name = slug(stem(r.Path))
		r.NameRange = r.text.span(opening.start, opening.end)
	}
	if strings.TrimSpace(r.Title) == "" {
		// Another tool shows the name as it is written, so that is the title.
		if r.Title = titleOf(r.Name); r.Dialect != Agentls && written != "" && written != r.Name {
			r.Title = written
		}
	}
	if r.Dialect != Agentls || r.Scope == System {
		return
	}
	if !r.kinded {
		r.at(opening, "agent/missing-field", Hint, "The field kind is missing; write kind: agent.")
	}
	if r.nameNode != nil {
		opening = r.nameNode
	}
	if !r.titled {
		r.at(opening, "agent/missing-field", Hint,
			"The field title is missing, so %q is shown; write title: to choose.", r.Title)
	}
	if s := stem(r.Path); r.nameNode != nil && r.Path != "" && validName(r.Name) && s != r.Name {
		r.at(opening, "agent/file-name", Warning, "The agent is called %s but its file %s; rename either.", r.Name, s)
	}
}

// checkName checks a written name; one of another tool's becomes a slug.
// In our format that is an error with a name to use; the name stays as written then. In
// another tool's it is a hint.
func (r *reader) checkName(written string) {
	if !validName(written) {
		if r.Dialect == Agentls {
			message := nameFault(written)
			if s := slug(written); s != "" && !reservedName(s) {
				message += "; use " + s
			} else {
				message += "; write one such as code-fixer"
			}
			r.at(r.nameNode, "agent/name", Error, "%s.", message)
			if reservedName(written) {
				r.at(r.nameNode, "agent/name", Error, "The name %s is reserved; choose another.", written)
			}
			return
		}
		if r.Name = slug(written); r.Name == "" {
			r.Name = slug(stem(r.Path))
		}
		if r.Name == "" {
			r.Name = written
			r.at(r.nameNode, "agent/name", Error, "No name can be made of %q; give one in letters of ASCII.", written)
			return
		}
		r.at(r.nameNode, "agent/dialect", Hint, "The name %q is read as %s, by which the agent is called.", written,
			r.Name)
	}
	if reservedName(r.Name) && r.Scope != System {
		r.at(r.nameNode, "agent/name", Error, "The name %s is reserved; choose another.", r.Name)
	}
}

// finishPrompt takes the body, or systemPrompt.
// The body counts before the field. Line ends become \n. Without either the file is in
// error, unless the agent is a graph.
func (r *reader) finishPrompt() {
	body := strings.TrimRight(r.text.src[r.body:], " \t\r\n")
	// Empty lines before the text go; spaces before its first word may be a list.
	for {
		end := lineEnd(body, 0)
		if end == len(body) || strings.TrimSpace(body[:end]) != "" {
			break
		}
		body = body[nextLine(body, end):]
	}
	if strings.IndexByte(body, '\r') >= 0 {
		body = strings.ReplaceAll(strings.ReplaceAll(body, "\r\n", "\n"), "\r", "\n")
	}
	given := r.prompt != nil && strings.TrimSpace(r.prompt.text) != ""
	switch {
	case strings.TrimSpace(body) != "":
		r.Prompt = body
		if given {
			r.at(r.prompt, "agent/prompt-twice", Warning,
				"The body is the prompt, so this one has no effect; remove one.")
		}
	case given:
		r.Prompt = r.prompt.text
	case r.Graph == nil: // the nodes of a graph have prompts of their own
		r.report("agent/prompt-empty", Error, r.shut[0], r.shut[1],
			"The system prompt is empty; write it below the front-matter.")
	}
}

// geminiPlaceholders are gemini-cli's own (spec 1.7).
var geminiPlaceholders = []string{"query", "cliVersion", "activeModel", "today"}

// placeholders reports each ${x} without an input x, the first of each name.
// Without inputs a placeholder is a text, and only a hint; with inputs it is an
// error, since it is most likely a slip.
func (r *reader) placeholders() {
	told := make(map[string]bool)
	check := func(s string, at func(start, end int) (int, int)) {
		for start, name := range placeholdersOf(s) {
			if told[name] || r.inputs[name] || len(told) >= maxRepeats || (r.Dialect == GeminiCLI && isGemini(name)) {
				continue
			}
			told[name] = true
			from, to := at(start, start+len(name)+3)
			if r.inputs != nil {
				r.report("agent/placeholder", Error, from, to,
					fmt.Sprintf("There is no input %s; add it to inputs, or write $${%s} for the text itself.", name,
						name))
			} else {
				r.report("agent/placeholder", Hint, from, to,
					fmt.Sprintf("${%s} stays as it is, since the file has no inputs.", name))
			}
		}
	}
	for _, q := range r.queries {
		offset := strings.Index(r.text.src[q.start:max(q.start, q.end)], q.text)
		check(q.text, func(start, end int) (int, int) {
			if offset < 0 {
				return q.start, q.end
			}
			return q.start + offset + start, q.start + offset + end
		})
	}
	if r.prompt != nil && r.Prompt == r.prompt.text {
		check(r.Prompt, func(int, int) (int, int) { return r.prompt.start, r.prompt.end })
		return
	}
	check(r.text.src[r.body:], func(start, end int) (int, int) { return r.body + start, r.body + end })
}

// isGemini reports whether a placeholder is one of gemini-cli's own.
func isGemini(name string) bool {
	for _, g := range geminiPlaceholders {
		if g == name {
			return true
		}
	}
	return false
}

// placeholdersOf yields the offset and the name of each ${name} of s that is not
// $${name}.
//
// The offset is that of the dollar sign.
func placeholdersOf(s string) func(yield func(int, string) bool) {
	return func(yield func(int, string) bool) {
		for from := 0; ; {
			i := strings.Index(s[from:], "${")
			if i < 0 {
				return
			}
			i += from
			end := placeholderEnd(s, i+2)
			if end == i+2 || end >= len(s) || s[end] != '}' {
				from = i + 2
				continue
			}
			if literal := i > 0 && s[i-1] == '$'; !literal && !yield(i, s[i+2:end]) {
				return
			}
			from = end + 1
		}
	}
}

// placeholderEnd returns where the letters, digits and _ that start at from end.
// It is from where none stands there.
func placeholderEnd(s string, from int) int {
	for from < len(s) {
		c := s[from]
		if c != '_' && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') {
			break
		}
		from++
	}
	return from
}
