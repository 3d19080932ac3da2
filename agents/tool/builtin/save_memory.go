package builtin

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/prompt"
	"github.com/agentls/agentls/agents/tool"
)

// maxFact is how long a fact may be, in characters.
const maxFact = 1000

// memoryFile is the file that facts are kept in, in the person's ~/.gemini and in a
// workspace folder.
const memoryFile = "GEMINI.md"

// memoryArgs are the arguments of save_memory; Scope "" = global.
type memoryArgs struct {
	Fact  string `json:"fact"`
	Scope string `json:"scope"`
}

// saveMemory returns the tool that writes a fact into a memory file, which every
// agent is told.
func saveMemory() tool.Tool {
	return define("save_memory", tool.Low, fmt.Sprintf(`{
	"type": "object",
	"properties": {
		"fact": {"type": "string", "minLength": 1, "maxLength": %d, "description": "The fact, as one sentence that makes sense by itself."},
		"scope": {"type": "string", "enum": ["global", "project"], "description": "global (the default): for all projects; project: for this one."}
	},
	"required": ["fact"],
	"additionalProperties": false
}`, maxFact), map[string]string{"memory": "fact", "text": "fact"}, planMemory)
}

// planMemory plans to keep a fact. It Lasts, and secrets of the daemon's are refused.
// The file may be one that agents must not write otherwise: only this line goes into
// it.
func planMemory(ctx context.Context, env *tool.Env, args memoryArgs) (*tool.Plan, error) {
	fact := strings.TrimLeft(strings.Join(strings.Fields(args.Fact), " "), "-*# ") // one line, and no heading
	switch {
	case fact == "":
		return nil, tool.Errorf(tool.CodeArgs, "/fact: it is blank.")
	case env.Secret != nil && env.Secret(fact):
		return nil, tool.Errorf(tool.CodeDenied, "The fact holds a secret. Secrets are not kept.")
	}
	c, whose, err := memoryTarget(ctx, env, args.Scope)
	if err != nil {
		return nil, err
	}
	// Worked out now, since the person is shown the change; the digest of the file keeps it
	// from being written over anything else.
	text := remember(c.text(), fact)
	if c.old == nil {
		text = remember("", fact)
	}
	done := c.changeTo(text)
	p := &tool.Plan{
		Risk: tool.Low, Why: "keeps a fact that every agent is told from now on, in " + whose,
		Title: "save_memory " + tool.Name(fact), Path: c.at.Real, Lasts: true,
		Reads: []string{c.at.Real}, Writes: []string{c.at.Real},
		Preview: tool.Preview{Kind: "diff", OldText: c.text(), NewText: text, Patch: done.Patch},
		Shape:   "facts in " + c.at.Real, Covers: "facts that are kept in " + whose,
		Do: func(ctx context.Context, env *tool.Env) (*tool.Result, error) {
			return c.remember(ctx, env, fact, text, whose, done)
		},
	}
	if tool.Suspicious(fact) {
		p.Risk, p.Shape, p.Covers = p.Risk.Raise(), "", ""
		p.Why += "; it holds characters that are not seen"
	}
	return p, nil
}

// memoryTarget returns the file that a fact goes to, and whose it is in words. It is
// looked up by its place alone: where a link leads elsewhere nothing is written.
// The global file is in the daemon's own folder, which tools do not write otherwise; that
// is why it does not go through findChange.
func memoryTarget(ctx context.Context, env *tool.Env, scope string) (*change, string, error) {
	if scope == "project" {
		if env.Folder == "" {
			return nil, "", tool.Errorf(tool.CodeArgs, "/scope: there is no project here; use global.")
		}
		c, err := findChange(ctx, env, "save_memory", memoryFile)
		if err == nil && c.at.Real != filepath.Join(env.Folder, memoryFile) {
			err = tool.Errorf(tool.CodeDenied,
				"%s is a link, so no facts are kept in it. Ask the user to write the fact down.", memoryFile)
		}
		return c, "the project's " + memoryFile, err
	}
	if env.State == "" {
		return nil, "", tool.Errorf(tool.CodeFailed,
			"There is no folder for facts of all projects; use the scope project.")
	}
	// Not resolved: the place is protected for tools, and the path is ours and no model's.
	c := &change{env: env, tool: "save_memory", path: filepath.Join(env.State, memoryFile)}
	c.at = tool.Place{Real: c.path, Rel: c.path}
	f, err := read(ctx, env, c.at)
	if e, ok := err.(*tool.Error); ok && e.Code == tool.CodeNotFound {
		return c, "your " + memoryFile, nil
	}
	if err == nil && f.Binary {
		err = refuseBinary(c.at, f)
	}
	c.old = f
	return c, "your " + memoryFile, err
}

// remember returns a memory file's text with one fact more, at the end of the section
// of facts.
// A fact that is there already changes nothing. A file without the section gets one
// at its end; line ends are those of the file.
// TestRemember holds where the line goes.
func remember(text, fact string) string {
	end := endOf(text)
	entry := "- " + fact + end
	lines := strings.SplitAfter(text, "\n")
	section, last := false, -1 // the last line of the section that is not blank
	for i, line := range lines {
		trimmed := strings.TrimSpace(line)
		// A heading of the first two levels begins the section or ends it; deeper ones are in it.
		if strings.HasPrefix(line, "# ") || strings.HasPrefix(line, "## ") {
			if section = trimmed == prompt.Remembered; section {
				last = i
			}
		}
		if !section || trimmed == "" {
			continue
		}
		if trimmed == "- "+fact {
			return text
		}
		last = i
	}
	if last < 0 {
		if text != "" {
			text = strings.TrimRight(text, "\r\n") + end + end
		}
		return text + prompt.Remembered + end + end + entry
	}
	if !strings.HasSuffix(lines[last], "\n") {
		lines[last] += end
	}
	// A blank line stands between the heading and the first fact.
	if strings.TrimSpace(lines[last]) == prompt.Remembered {
		entry = end + entry
	}
	return strings.Join(lines[:last+1], "") + entry + strings.Join(lines[last+1:], "")
}

// remember writes a file with its new fact.
// A file that changed meanwhile is not written (the digest), and the call says so.
func (c *change) remember(ctx context.Context, env *tool.Env, fact, text, whose string,
	done activity.Change) (*tool.Result, error) {
	base := ""
	if c.old != nil {
		base = c.old.Digest
		if c.old.Text == text {
			return &tool.Result{Content: "This is remembered already: " + fact,
				Display: "Remembered already: " + tool.Escape(fact)}, nil
		}
	}
	if err := env.Edits.Write(ctx, c.at.Real, base, text, "save_memory"); err != nil {
		return nil, c.explainRefusal(ctx, env, err)
	}
	return &tool.Result{
		Content: fmt.Sprintf("Remembered in %s: %s", whose, fact), Display: "Remembered: " + tool.Escape(fact),
		Changes: []activity.Change{done},
	}, nil
}
