package git

import (
	"path/filepath"
	"strings"

	"github.com/agentls/agentls/internal/folder"
)

// maxHead is the most that a file of git's with one line may have, in bytes.
const maxHead = 4 << 10

// Head returns the branch that a folder is on, or the commit in hexadecimal where no branch
// is checked out. Both are "" outside of a repository, and where its HEAD says something
// else. The repository may be that of a folder above, and .git may be a file that leads to
// it, as in a worktree and in a submodule. No git is started: that takes milliseconds, and
// a repository's configuration can make it run anything (SEC-48).
func Head(dir string) (branch, commit string) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", ""
	}
	for {
		repository := filepath.Join(dir, ".git")
		if path, ok := strings.CutPrefix(line(repository), "gitdir: "); ok {
			if repository = filepath.FromSlash(path); !filepath.IsAbs(repository) {
				repository = filepath.Join(dir, repository)
			}
		}
		if head := line(filepath.Join(repository, "HEAD")); head != "" {
			branch, ok := strings.CutPrefix(head, "ref: refs/heads/")
			switch {
			case ok:
				return branch, ""
			case len(head) >= 40 && strings.Trim(head, "0123456789abcdef") == "":
				return "", head
			}
			return "", ""
		}
		above := filepath.Dir(dir)
		if above == dir {
			return "", ""
		}
		dir = above
	}
}

// line returns the only line of a file of git's; "" for what is no such file, and for a
// line with control characters, which could end another line where it is shown.
func line(file string) string {
	data, _, err := folder.ReadRegular(file, maxHead)
	text := strings.TrimSpace(string(data))
	if err != nil || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return ""
	}
	return text
}
