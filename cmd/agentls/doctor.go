package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/client"
	"github.com/agentls/agentls/internal/daemon"
	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/internal/sandbox"
	"github.com/agentls/agentls/internal/wire"
)

// health is what a check found. The values are those of --json.
type health string

// The outcomes of a check, from the best to the worst.
const (
	fine   health = "ok"
	odd    health = "warning" // it works, not as well as it could
	broken health = "error"
)

// marks stand before each finding in text.
var marks = map[health]string{fine: "✓", odd: "!", broken: "✗"}

// finding is one line of doctor.
type finding struct {
	// Check is what was looked at: key, baseURL, settings, agents, trust, answers,
	// sessions, locks, process, sandbox, watches, ripgrep, git, terminal, model, or daemon
	// where that did not start or end. Several findings may have the same.
	Check string `json:"check"`
	// Status decides the mark, and whether doctor fails: only broken does.
	Status health `json:"status"`
	// Text is for people, in one line. It is escaped when it is printed.
	Text string `json:"text"`
	// Fix is what to do; "" where there is nothing to fix, or nobody knows how.
	Fix string `json:"fix,omitempty"`
}

// doctorCommand checks what a run needs, and prints a line for each check with how to fix
// it. It reads keys and settings itself, so that it can tell why a daemon does not start,
// and asks a daemon for the rest. Only --live sends something over the network. It exits
// with 1 where a check found an error; warnings are exit code 0.
func doctorCommand(std streams) *cobra.Command {
	var asJSON, live bool
	c := &cobra.Command{
		Use: "doctor", Short: "Check keys, settings, agents and what else a run needs, and say how to fix it",
		Long: `Checks what a run needs: one line each, ✓ as it should be, ! works less well than
it could, ✗ does not work, with how to fix it. Nothing is sent over the network
but with --live.`,
		Args: arguments(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			config, err := base(std)
			if err != nil {
				return err
			}
			found, err := examine(c.Context(), config, std, live)
			if err != nil {
				return err
			}
			if asJSON {
				err = printJSON(std.out, map[string]any{"checks": found})
			} else {
				err = printFindings(std.out, found)
			}
			if err != nil {
				return err
			}
			if slices.ContainsFunc(found, func(f finding) bool { return f.Status == broken }) {
				return exit{exitFailed}
			}
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.Flags().BoolVar(&live, "live", false, "ask the model once, over the network")
	return c
}

// oneLine is an error in the one line that a finding has, which is escaped when it
// is printed.
func oneLine(err error) string { return strings.Join(textsOf(err), "; ") }

// printFindings prints each finding with its fix below it, and how many there are. The
// last line says whether agentls works.
func printFindings(out io.Writer, found []finding) error {
	var b strings.Builder
	number := map[health]int{}
	for _, f := range found {
		number[f.Status]++
		fmt.Fprintf(&b, "%s %s\n", marks[f.Status], tool.Escape(f.Text))
		if f.Fix != "" {
			fmt.Fprintf(&b, "    → %s\n", tool.Escape(f.Fix))
		}
	}
	switch errors, warnings := number[broken], number[odd]; {
	case errors+warnings == 0:
		b.WriteString("\nAll is well.\n")
	case errors == 0:
		fmt.Fprintf(&b, "\nNo errors, %s (!). agentls works.\n", count(warnings, "warning"))
	default:
		fmt.Fprintf(&b, "\n%s (✗), %s (!).\n", count(errors, "error"), count(warnings, "warning"))
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// examine makes all checks, in the order in which a run needs what they are about. Where
// the daemon does not start, the checks that need it are left out, and that is a finding.
// The error is only for a current folder that cannot be found out. A new check is a
// function that returns a finding; it is called here, and named in finding.Check.
func examine(ctx context.Context, config daemon.Config, std streams, live bool) ([]finding, error) {
	folder, err := here()
	if err != nil {
		return nil, err
	}
	env := func(name string) string {
		for _, kv := range config.Environ { // the first counts, as in the daemon
			if value, ok := strings.CutPrefix(kv, name+"="); ok {
				return value
			}
		}
		return ""
	}
	access := config.Check(ctx, folder)
	dir := config.SessionsOf(folder)
	// These two checks need no daemon, and may explain why none starts.
	found := []finding{checkKey(access), checkBaseURL(access)}
	conn, err := connect(ctx, config, folder, client.Config{})
	if err != nil {
		found = append(found, checkSettings(config, folder, false, access)...)
		return append(found, checkSessions(dir), finding{"daemon", broken, "the daemon does not start: " + oneLine(err),
			"see what is wrong above; AGENTLS_DEBUG=1 says more"}), nil
	}
	trusted, trust := checkTrust(ctx, conn, config, folder)
	found = append(found, checkSettings(config, folder, trusted, access, checkOverrides(ctx, conn, access.Overridden)...)...)
	found = append(found, trust, checkAnswers(ctx, conn, config), checkSessions(dir))
	found = append(found, checkAgents(ctx, conn)...)
	found = append(found, checkLocks(ctx, conn, dir)...)
	// Close is not deferred, since its error is a finding.
	if err := conn.Close(); err != nil {
		found = append(found, finding{"daemon", odd, "the daemon did not end well: " + oneLine(err), ""})
	}
	found = append(found, checkProcess(), checkSandbox(ctx, config), checkWatches(),
		checkProgram("rg", "ripgrep", "searches are slower without it; install ripgrep"),
		checkProgram("git", "git", "git_commit and the demo's repository need it; install git"),
		checkTerminal(std, env))
	if live {
		found = append(found, checkModel(ctx, config))
	}
	return found, nil
}

// checkKey says how models are reached, and never shows a key. The key is not tried, since
// that would cost something.
func checkKey(a daemon.Access) finding {
	if a.Err == nil {
		return finding{"key", fine, "models: " + a.Account + " (not tried: that would cost)", ""}
	}
	what, fix := advice(fault.Message(a.Err))
	f := finding{"key", broken, "models: " + what, fix}
	_, data := fault.ReasonOf(a.Err)
	// The reason has the command that fixes it, which the text need not have.
	if command, ok := data["command"].(string); ok && !strings.Contains(fix, strings.TrimSuffix(command, "…")) {
		f.Fix = command
	}
	return f
}

// checkBaseURL shows of a base URL the scheme and the host, and no more: user, path and
// query may be secret. It warns of a host over plain HTTP, other than this machine.
func checkBaseURL(a daemon.Access) finding {
	if a.BaseURLErr != nil {
		return finding{"baseURL", broken, "base URL: " + fault.Message(a.BaseURLErr),
			"unset it, or set it to one, as in https://example.com"}
	}
	if a.BaseURL == "" {
		return finding{"baseURL", fine, "base URL: the provider's own", ""}
	}
	u, err := url.Parse(a.BaseURL)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") ||
		u.Host == "" { // without an account nobody has tried it
		return finding{"baseURL", broken, "base URL: " + a.Variable + " is no http(s) URL",
			"unset it, or set it to one, as in https://example.com"}
	}
	shown := u.Scheme + "://" + u.Host
	if u.User != nil {
		shown += ", with credentials"
	}
	if u.RawQuery != "" {
		shown += ", with a query"
	}
	if host := u.Hostname(); u.Scheme == "http" && host != "localhost" && host != "127.0.0.1" && host != "::1" {
		return finding{"baseURL", odd, "base URL: " + shown + ", is not encrypted, and the key goes there", "use https"}
	}
	return finding{"baseURL", fine, "base URL: " + shown, ""}
}

// checkTrust says whether the folder is trusted, and why not. The first result is what the
// other checks need: whether the folder's settings count.
func checkTrust(ctx context.Context, conn *connection, config daemon.Config, folder string) (bool, finding) {
	r, err := conn.trustIn(ctx, folder, false, false)
	decided := tool.PathOf(r.Decided)
	switch {
	case err != nil:
		return false, finding{"trust", broken, "folder: trust cannot be read, so nothing is trusted: " +
			err.Error(), "fix or remove " + filepath.Join(config.Home, "agentls", "trust.json")}
	case r.Process:
		return true, finding{"trust", fine, "folder: " + folder + " is trusted by AGENTLS_TRUST=1", ""}
	case r.Replaced:
		return false, finding{"trust", odd, "folder: " + decided +
			" is not trusted any more: another folder has taken its place since you trusted it",
			"look at it, then: agentls trust"}
	case !r.Trusted:
		return false, finding{"trust", odd, "folder: " + folder +
			" is not trusted, so its agents and settings do not count", "look at them, then: agentls trust"}
	}
	since, _ := time.Parse(time.RFC3339, r.Since) // it is the daemon's
	return true, finding{"trust", fine, fmt.Sprintf("folder: %s is trusted since %s", decided,
		since.Local().Format(time.DateOnly)), ""}
}

// checkAnswers says whether the answers that were given for always can be read. While they
// cannot, every call asks.
func checkAnswers(ctx context.Context, conn *connection, config daemon.Config) finding {
	var r wire.PermissionsListResult
	if err := conn.Call(ctx, wire.MethodPermissionsList, &wire.PermissionsListParams{}, &r); err != nil {
		return finding{"answers", broken, "answers for always: " + err.Error(),
			"until then everything asks; fix or remove " + filepath.Join(config.Home, "agentls", "permissions.json")}
	}
	return finding{"answers", fine, "answers for always: " + count(len(r.Permissions), "rule") + " in this folder", ""}
}

// checkSettings tells what a run finds wrong with the settings, with the findings of
// overrides; where nothing is wrong, which files it reads. The folder's file is read only
// where the folder is trusted.
func checkSettings(config daemon.Config, folder string, trusted bool, access daemon.Access,
	overrides ...finding) []finding {
	user := filepath.Join(config.Home, "settings.json")
	var found []finding
	for _, p := range access.Problems {
		found = append(found, finding{"settings", broken, "settings: " + p, "fix it: what is wrong does not count"})
	}
	for _, n := range access.Notes {
		found = append(found, finding{"settings", odd, "settings: " + n, ""})
	}
	if found = append(found, overrides...); len(found) > 0 {
		return found
	}
	var read []string
	for _, path := range []string{user, filepath.Join(folder, settingsFile)} {
		if _, err := os.Stat(path); err == nil && (path == user || trusted) {
			read = append(read, path)
		}
	}
	return []finding{{"settings", fine, "settings: " + cmp.Or(strings.Join(read, ", "),
		"no settings file; using defaults"), ""}}
}

// checkOverrides tells what of agents.overrides does not count for the agents that there
// are. An agent that this folder does not have is skipped: the person's settings are for
// all folders.
func checkOverrides(ctx context.Context, conn *connection, agents []string) []finding {
	var found []finding
	for _, name := range agents {
		e, err := explanationOf(ctx, conn, wire.ExplainParams{Name: name})
		if err != nil {
			continue // another folder has it
		}
		for _, p := range e.Ignored {
			found = append(found, finding{"settings", broken, "settings: " + p, "fix it: what is wrong does not count"})
		}
	}
	return found
}

// checkAgents counts the agents of each folder, and names the files that are no agents or
// have errors. Such files are warnings: runs of other agents work.
func checkAgents(ctx context.Context, conn *connection) []finding {
	var list wire.ListResult
	if err := conn.Call(ctx, wire.MethodList, &wire.ListParams{}, &list); err != nil {
		return []finding{{"agents", broken, "agents: " + fault.Message(err), ""}}
	}
	type tally struct{ found, usable, waiting int }
	folders := map[string]*tally{}
	for _, a := range list.Agents {
		if a.URI == "" {
			continue
		}
		dir := filepath.Dir(place(a.URI))
		if folders[dir] == nil {
			folders[dir] = &tally{}
		}
		folders[dir].found++
		switch a.State {
		case "ok":
			folders[dir].usable++
		case "review":
			folders[dir].waiting++
		}
	}
	// agents says of each file whether an agent was made of it. Such an agent runs
	// without the part that has a problem.
	agents := make(map[string]bool)
	for _, a := range list.Agents {
		agents[a.URI] = a.State != "invalid"
	}
	var found []finding
	for _, dir := range slices.Sorted(maps.Keys(folders)) {
		n := folders[dir]
		f := finding{"agents", fine, fmt.Sprintf("agents: %d in %s, %d usable", n.found, dir, n.usable), ""}
		if n.waiting > 0 {
			f.Status, f.Fix = odd, "look at what is new: agentls trust --list --patch, then agentls trust NAME"
			f.Text += fmt.Sprintf("; %d changed or new since you trusted the folder", n.waiting)
		}
		found = append(found, f)
	}
	if len(found) == 0 {
		found = []finding{{"agents", fine, "agents: main only; an agent is a Markdown file in .gemini/agents", ""}}
	}
	for _, p := range list.Problems {
		if p.Severity == "error" {
			fix := "fix it; the agent runs without that until then"
			if !agents[p.URI] {
				fix = "fix it: it is no agent until then"
			}
			found = append(found, finding{"agents", odd, "agents: " +
				explain(p.URI, p.Range.Start.Line, p.Range.Start.Character, p.Message), fix})
		}
	}
	return found
}

// checkProgram looks for a program in PATH; without says what works less well without it.
func checkProgram(name, title, without string) finding {
	path, err := exec.LookPath(name)
	if err != nil {
		return finding{title, odd, title + ": not found", without}
	}
	return finding{title, fine, title + ": " + path, ""}
}

// checkSandbox says what confines commands, and why nothing better does. Landlock and no
// sandbox are warnings, since agents work with both.
func checkSandbox(ctx context.Context, config daemon.Config) finding {
	wall, why := config.Wall(ctx)
	if why != "" {
		why = " (" + oneLine(errors.New(why)) + ")"
	}
	const install = "install bubblewrap"
	switch wall {
	case sandbox.None:
		return finding{"sandbox", odd, "sandbox: none, so each command asks and runs with your own rights" + why,
			install}
	case sandbox.Landlock:
		return finding{"sandbox", odd,
			"sandbox: Landlock, which hides no processes and cannot limit the hosts that a command reaches" + why,
			install}
	}
	return finding{"sandbox", fine, "sandbox: " + string(wall) + why, ""}
}

// checkTerminal says how questions are asked here. It looks at standard input only, which
// is where answers come from.
func checkTerminal(std streams, env func(string) string) finding {
	if !term.IsTerminal(int(std.in.Fd())) {
		return finding{"terminal", odd,
			"terminal: standard input is no terminal, so nobody can be asked and what asks is refused",
			"--approve edits or auto lets more run without a question"}
	}
	// The C library looks for the locale in this order.
	locale := strings.ToUpper(cmp.Or(env("LC_ALL"), env("LC_CTYPE"), env("LANG")))
	if runtime.GOOS != "windows" && !strings.Contains(locale, "UTF-8") && !strings.Contains(locale, "UTF8") {
		return finding{"terminal", odd, "terminal: the locale is not UTF-8, so some characters may not show",
			"export LC_ALL=C.UTF-8"}
	}
	return finding{"terminal", fine, "terminal: " + cmp.Or(env("TERM"), "yes"), ""}
}

// checkModel asks the model something, with the person's own settings and in a folder of
// its own, so that nothing is left of it. It runs in the mode plan, in which nothing is
// changed. It costs one short answer.
func checkModel(ctx context.Context, config daemon.Config) (f finding) {
	fail := func(err error) finding {
		return finding{"model", broken, "model: " + oneLine(err), "see the key and the base URL above, and the network"}
	}
	root, err := os.MkdirTemp("", "agentls-doctor-")
	if err != nil {
		return fail(err)
	}
	defer os.RemoveAll(root)
	home, folder := filepath.Join(root, "home"), filepath.Join(root, "folder")
	if err := errors.Join(os.Mkdir(home, 0o700), os.Mkdir(folder, 0o700)); err != nil {
		return fail(err)
	}
	// Only the settings are taken along: models and keys may be in them.
	if settings, err := os.ReadFile(filepath.Join(config.Home, "settings.json")); err == nil {
		if err := os.WriteFile(filepath.Join(home, "settings.json"), settings, 0o600); err != nil {
			return fail(err)
		}
	}
	config.Home, config.Approval = home, "plan"
	conn, err := connect(ctx, config, folder, client.Config{})
	if err != nil {
		return fail(err)
	}
	defer conn.Close()
	began := time.Now()
	var result wire.RunResult
	p := &wire.RunParams{Input: wire.InputBlocks{{Type: "text", Text: "say ok"}}}
	if err := conn.Call(ctx, wire.MethodRun, p, &result); err != nil {
		return fail(err)
	}
	if result.Error != nil {
		return fail(errors.New(result.Error.Message))
	}
	if result.Reason != "GOAL" {
		return fail(fmt.Errorf("the run ended %s", result.Reason))
	}
	return finding{"model", fine, fmt.Sprintf("model: answered %q in %s, %d tokens",
		fit(strings.TrimSpace(result.Text), 40),
		time.Since(began).Round(time.Millisecond), result.Usage.TotalTokens), ""}
}
