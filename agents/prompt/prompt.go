// Package prompt has the words with which an agent's model is told what it is: the
// system prompt of main, in modules that a person can switch off or replace, and the
// frame in which memory files stand behind the prompt of every agent (spec 8.1).
//
// It only writes text: what a run has (tools, a sandbox, a person) is told to it.
//
// Read takes the switches out of the environment once; Config.Main then makes the
// prompt of each run of main from its Facts, and Memory.Text the part that follows the
// prompt of any agent. Nothing is kept between calls, and all of it is safe for
// concurrent use.
package prompt

import (
	"embed"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"text/template"

	"github.com/agentls/agentls/internal/fault"
)

// Facts are what the words for a run depend on. The zero Facts are those of a run
// without tools, without a person and without a repository.
type Facts struct {
	Interactive bool     // somebody can be asked
	Tools       []string // canonical names of what the run is offered
	Repository  bool     // the workspace folder is one of git
	Confined    bool     // commands run in a sandbox of ours
	ShortOutput bool     // agents.prompt.shellOutputEfficiency
	Agents      []Agent  // that delegate_to_agent may call
}

// Agent is one line of the directory of agents.
type Agent struct{ Name, Description string }

// Config is what the person's environment says about the prompt of main. The zero
// Config is the whole of it. [Read] makes it, and nothing changes it.
type Config struct {
	off      map[string]bool // names of modules, as key has them
	seatbelt bool            // SANDBOX: this process is in macOS' own
	confined bool            // SANDBOX: it is in another
	replace  string          // GEMINI_SYSTEM_MD: the file that stands in for all modules
	write    string          // GEMINI_WRITE_SYSTEM_MD: the file that gets the prompt
}

// Read returns what an environment, as KEY=value, says. state is the person's ~/.gemini
// and home their home folder. Names are compared without case and underscores for the
// modules (GEMINI_PROMPT_GIT=0), and exactly for the others. Paths that are not
// absolute are relative to this process' folder.
func Read(environ []string, state, home string) Config {
	c := Config{off: make(map[string]bool)}
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		value = strings.TrimSpace(value)
		module, isModule := strings.CutPrefix(key(name), "GEMINIPROMPT")
		switch {
		case isModule && isOff(value):
			c.off[module] = true
		case name == "SANDBOX" && value == "sandbox-exec":
			c.seatbelt = true
		case name == "SANDBOX" && value != "":
			c.confined = true
		case name == "GEMINI_SYSTEM_MD":
			c.replace = fileOf(value, state, home)
		case name == "GEMINI_WRITE_SYSTEM_MD":
			c.write = fileOf(value, state, home)
		}
	}
	return c
}

// key is a name without case and underscores.
func key(name string) string { return strings.ToUpper(strings.ReplaceAll(name, "_", "")) }

func isOff(value string) bool { return value == "0" || strings.EqualFold(value, "false") }

// fileOf returns the file that a switch names; "" = it is off. 1 and true stand for
// system.md in state; ~ is home.
func fileOf(value, state, home string) string {
	switch {
	case value == "" || isOff(value):
		return ""
	case value == "1" || strings.EqualFold(value, "true"):
		return filepath.Join(state, "system.md")
	case value == "~" || strings.HasPrefix(value, "~/"):
		value = filepath.Join(home, value[1:])
	}
	if absolute, err := filepath.Abs(value); err == nil {
		return absolute
	}
	return value
}

// modules are the parts of the prompt of main, in their order.
var modules = []string{"preamble", "core_mandates", "primary_workflows", "operational_guidelines", "sandbox", "git",
	"final_reminder", "subagents"}

//go:embed main/*.md
var files embed.FS

var parsed = sync.OnceValue(func() *template.Template {
	return template.Must(template.ParseFS(files,
		"main/*.md")) // they are part of the program; a test makes every variant
})

// view is what a module's template sees. Its exported names are the templates' words.
type view struct {
	Facts
	Sandbox             string // seatbelt, container or ""
	Investigator, Todos bool
}

// Has reports whether the run is offered a tool.
func (v view) Has(tool string) bool { return slices.Contains(v.Tools, tool) }

// Main returns the system prompt of main, without memory files and the facts of the
// environment. The error says which file cannot be read or written, and what to do.
// With GEMINI_SYSTEM_MD the file's text, whole, stands in place of all modules; it is
// read with each call. With GEMINI_WRITE_SYSTEM_MD the prompt is written too, unless
// the file has it already or is the one that was read. Errors are fault.Unavailable
// because of fault.Config: the run does not begin, since it would not do what the
// person asked for.
func (c Config) Main(f Facts) (string, error) {
	text := c.modules(f)
	if c.replace != "" {
		own, err := os.ReadFile(c.replace)
		if err != nil {
			return "", fault.New(fault.Unavailable, "prompt.main",
				"GEMINI_SYSTEM_MD names the file %s, which cannot be read: make it, or unset the variable (%w)",
				c.replace, err).Because(fault.Config)
		}
		text = strings.TrimSpace(string(own))
	}
	if c.write == "" {
		return text, nil
	}
	now, err := os.Stat(c.write)
	if read, missing := os.Stat(c.replace); err == nil && missing == nil && os.SameFile(now, read) {
		return text, nil // it is the person's own, and the one that is in use
	}
	if old, err := os.ReadFile(c.write); err == nil && string(old) == text+"\n" {
		return text, nil
	}
	if err := c.writeWhole(text + "\n"); err != nil {
		return "", c.unwritten(err)
	}
	return text, nil
}

// writeWhole writes the prompt so that nobody reads a part of it. A link at the path
// stays, and what it leads to is replaced.
func (c Config) writeWhole(text string) error {
	if err := os.MkdirAll(filepath.Dir(c.write), 0o700); err != nil {
		return err
	}
	path := c.write
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real // a link stays one
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*") // 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // it is renamed, mostly
	_, err = f.WriteString(text)
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	return err
}

func (c Config) unwritten(err error) error {
	return fault.New(fault.Unavailable, "prompt.main",
		"GEMINI_WRITE_SYSTEM_MD names the file %s, which cannot be written: name another one, or unset the variable (%w)", c.write, err).Because(fault.Config)
}

// modules returns those that are switched on. The rules by which some are off besides:
// git without a repository, sandbox without bash, subagents without an agent to
// delegate to.
func (c Config) modules(f Facts) string {
	v := view{Facts: f}
	if !v.Has("delegate_to_agent") {
		v.Agents = nil
	}
	v.Todos = v.Has("write_todos")
	v.Investigator = slices.ContainsFunc(v.Agents, func(a Agent) bool { return a.Name == Investigator })
	switch {
	case c.seatbelt:
		v.Sandbox = "seatbelt"
	case c.confined || f.Confined:
		v.Sandbox = "container"
	}
	var parts []string
	for _, name := range modules {
		off := c.off[key(name)]
		switch name {
		case "primary_workflows":
			off = off || c.off[v.workflows()]
		case "git":
			off = off || !f.Repository
		case "sandbox":
			off = off || !v.Has("bash")
		case "subagents":
			off = len(v.Agents) == 0
		}
		if off {
			continue
		}
		var b strings.Builder
		if err := parsed().ExecuteTemplate(&b, name+".md", v); err != nil {
			panic("prompt: " + err.Error()) // as in parsed
		}
		parts = append(parts, strings.TrimSpace(b.String()))
	}
	return strings.Join(parts, "\n\n")
}

// Investigator is the name of the built-in agent that reads code for others.
const Investigator = "codebase_investigator"

// workflows is the name of the variant of primary_workflows, as key has it.
func (v view) workflows() string {
	switch {
	case v.Investigator && v.Todos:
		return "PRIMARYWORKFLOWSPREFIXCITODO"
	case v.Investigator:
		return "PRIMARYWORKFLOWSPREFIXCI"
	case v.Todos:
		return "PRIMARYWORKFLOWSTODO"
	}
	return "PRIMARYWORKFLOWSPREFIX"
}
