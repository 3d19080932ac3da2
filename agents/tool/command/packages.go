package command

import (
	"strings"

	"github.com/agentls/agentls/agents/tool"
)

var (
	scripted = set("npm pnpm yarn bun deno composer mvn gradle poetry")
	goWrites = set("exec toolexec vettool overlay modfile C o ldflags gccgoflags gcflags asmflags pkgdir cpuprofile memprofile blockprofile mutexprofile trace outputdir coverprofile w u")
	cargoOwn = set("build test check clippy fmt run bench doc tree")
)

// packages judges a package manager: what the project has is its own affair,
// what is fetched is not (SEC-44).
func (j *judge) packages(name string, words []word) {
	if scripted[name] && len(words) > 1 && projectRuns[words[1].text] {
		j.raise(tool.Medium, "runs a script of the project (%s %s)", name, words[1].text)
		return
	}
	j.raise(tool.High, "%s fetches and runs what others wrote", name)
}

// golang judges the go command.
func (j *judge) golang(words []word) {
	sub := ""
	if len(words) > 1 {
		sub = words[1].text
	}
	for _, w := range words[1:] {
		flag, _, _ := strings.Cut(strings.TrimLeft(w.text, "-"), "=")
		if strings.HasPrefix(w.text, "-") && goWrites[flag] {
			j.raise(tool.High, "go -%s writes or runs what it names", tool.Escape(flag))
		}
	}
	switch sub {
	case "build", "test", "vet", "list", "doc", "fmt", "version", "env":
		j.raise(tool.Medium, "runs go %s", sub)
	case "run":
		j.raise(tool.Medium, "runs a program of the project")
		for _, w := range words[2:] {
			if strings.Contains(w.text, "@") {
				j.raise(tool.High, "go run fetches and runs what others wrote")
			}
		}
	default:
		j.raise(tool.High, "go %s changes more than the build", tool.Escape(sub))
	}
}

// cargo judges Rust's package manager.
func (j *judge) cargo(words []word) {
	if len(words) > 1 && cargoOwn[words[1].text] {
		j.raise(tool.Medium, "runs cargo %s", words[1].text)
		return
	}
	j.raise(tool.High, "cargo fetches and runs what others wrote")
}
