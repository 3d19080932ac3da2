package agents

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// systemPrompt is what an agent's model is told first: the agent's own words,
// then the facts of the environment in an order that never changes, so that a
// provider's cache of prefixes holds from turn to turn (spec 8.1).
func systemPrompt(own, folder string, now time.Time) string {
	var b strings.Builder
	b.WriteString(strings.TrimSpace(own))
	b.WriteString("\n\n# Environment\n\n")
	fmt.Fprintf(&b, "- Operating system: %s\n", runtime.GOOS)
	if folder != "" {
		fmt.Fprintf(&b, "- Workspace folder: %s (relative paths start here)\n", folder)
		if branch := gitBranch(folder); branch != "" {
			fmt.Fprintf(&b, "- Git branch: %s\n", branch)
		}
	}
	fmt.Fprintf(&b, "- Date: %s\n", now.Format("2006-01-02"))
	return b.String()
}

// gitBranch reads the branch from .git/HEAD. No git is started: a repository's
// configuration can make git run anything (SEC-48).
func gitBranch(folder string) string {
	head, err := os.ReadFile(filepath.Join(folder, ".git", "HEAD"))
	if err != nil || len(head) > 512 {
		return ""
	}
	branch, ok := strings.CutPrefix(strings.TrimSpace(string(head)), "ref: refs/heads/")
	if !ok || strings.ContainsFunc(branch, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return ""
	}
	return branch
}
