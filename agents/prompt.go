package agents

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/guard"
	"github.com/agentls/agentls/agents/prompt"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/git"
)

// instruct replaces the prompt of main by the one for a run with these tools, and
// adds the memory files to an agent's prompt. The error is of the person's environment
// (package prompt). It is called before the run is made, since the prompt of main
// depends on the tools that it gets. Memory files are read anew for each run.
func (s *Service) instruct(r *planned, p Start) error {
	if r.def.Scope == definition.System && r.def.Name == mainAgent {
		own, err := s.Prompt.Main(s.facts(r, p))
		if err != nil {
			return err
		}
		r.task.prompt = own
	}
	if r.def.MemoryFiles && s.Memory != nil {
		r.memory = s.Memory(r.folder, fileAtHand(p)).Text()
	}
	return nil
}

// facts are what the prompt of main depends on in a run. They look at the folder.
func (s *Service) facts(r *planned, p Start) prompt.Facts {
	// As the servers were seen last: the prompt is made before servers are started for the
	// run.
	tools, delegate := s.toolsOfRun(r, p.from, p.from.treeOf(r.settings), s.toolsOf(r.def, r.folder))
	f := prompt.Facts{
		Interactive: p.Frontend.CanConfirm() && !s.Headless, Tools: tools.Names(),
		Confined: guard.SandboxOf(r.settings.Sandbox).Confines(), ShortOutput: r.settings.ShortOutput,
	}
	if delegate != nil {
		for _, a := range delegate.agents {
			f.Agents = append(f.Agents, prompt.Agent{Name: a.Name, Description: oneLine(a.Description)})
		}
	}
	if r.folder != "" {
		_, err := os.Lstat(filepath.Join(r.folder, ".git"))
		f.Repository = err == nil
	}
	return f
}

// fileAtHand returns the path of the document that a request is about: what the person
// has before them, else the first that the input names; "" = none.
func fileAtHand(p Start) string {
	if p.Context != nil && p.Context.URI != "" {
		return tool.PathOf(p.Context.URI)
	}
	for _, b := range p.Input {
		if b.Resource != nil && b.Resource.URI != "" {
			return tool.PathOf(b.Resource.URI)
		}
		if b.URI != "" {
			return tool.PathOf(b.URI)
		}
	}
	return ""
}

// systemPrompt is what an agent's model is told first: the agent's own words, the
// memory files, then the facts of the environment in an order that never changes, so
// that a provider's cache of prefixes holds from turn to turn (spec 8.1). The date and
// the branch are those of the run's beginning; nothing in it changes while the run goes
// on.
func systemPrompt(own, memory, folder string, now time.Time) string {
	var b strings.Builder
	b.WriteString(strings.TrimSpace(own))
	if memory != "" {
		b.WriteString("\n\n" + memory)
	}
	b.WriteString("\n\n# Environment\n\n")
	fmt.Fprintf(&b, "- Operating system: %s\n", runtime.GOOS)
	if folder != "" {
		fmt.Fprintf(&b, "- Workspace folder: %s (relative paths start here)\n", folder)
		if branch, _ := git.Head(folder); branch != "" {
			fmt.Fprintf(&b, "- Git branch: %s\n", branch)
		}
	}
	fmt.Fprintf(&b, "- Date: %s\n", now.Format("2006-01-02"))
	return b.String()
}
