package git

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/agentls/agentls/internal/fault"
)

// Program is the git of this machine. It is safe for concurrent use; make one
// with [Find].
type Program struct {
	path    string
	environ []string // what each process gets
}

// The oldest git that takes all of the settings that this package gives.
const (
	oldestMajor = 2
	oldestMinor = 30
)

// inherited are the variables that git gets of the daemon's environment: what
// the system's own libraries need, and nothing that says where or how git works.
var inherited = []string{"TMPDIR", "TMP", "TEMP", "SYSTEMROOT", "SystemRoot", "COMSPEC", "PATHEXT", "TZ"}

// Find returns the git that environ, as os.Environ has it, names on its PATH,
// of which only absolute folders count. The error is fault.NotFound, for
// people, where there is none or it is too old. It runs git once, for ten seconds at
// most. A git that is found stays the same for the Program's life, whatever becomes of
// PATH.
func Find(ctx context.Context, environ []string) (*Program, error) {
	const op = "git.find"
	path := ""
	for _, folder := range filepath.SplitList(variable(environ, "PATH")) {
		if name := filepath.Join(folder, executableName); path == "" && filepath.IsAbs(folder) && executable(name) {
			path = name
		}
	}
	if path == "" {
		return nil, fault.New(fault.NotFound, op, "git is not installed")
	}
	p := &Program{path: path, environ: environment(environ, path)}
	out, err := p.run(ctx, nil, nil, Command{Args: []string{"version"}, Timeout: 10 * time.Second})
	if err != nil {
		return nil, err
	}
	if !recent(string(out)) {
		return nil, fault.New(fault.NotFound, op, "%s is too old: git %d.%d or newer is needed", path,
			oldestMajor, oldestMinor)
	}
	return p, nil
}

// versionPattern is the first two numbers of what git says of its version.
var versionPattern = regexp.MustCompile(`(\d+)\.(\d+)`)

// recent reports whether a git is new enough.
func recent(version string) bool {
	m := versionPattern.FindStringSubmatch(version)
	if m == nil {
		return false
	}
	major, _ := strconv.Atoi(m[1])
	minor, _ := strconv.Atoi(m[2])
	return major > oldestMajor || (major == oldestMajor && minor >= oldestMinor)
}

// variable returns the value of a variable; "" for none.
func variable(environ []string, name string) string {
	value := ""
	for _, entry := range environ {
		if key, v, ok := strings.Cut(entry, "="); ok && key == name {
			value = v // the last one counts
		}
	}
	return value
}

// executable reports a file that can be run.
func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && (runtime.GOOS == "windows" || info.Mode()&0o111 != 0)
}

// environment returns what a process of git gets: no home, so that no file of
// the person's is read, nobody to ask, and messages in English. Nothing is fetched: no
// protocol is allowed, and objects that are missing stay so.
func environment(environ []string, path string) []string {
	folders := []string{filepath.Dir(path), "/usr/bin", "/bin"}
	env := []string{
		"PATH=" + strings.Join(folders, string(filepath.ListSeparator)), "LC_ALL=C",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_SYSTEM=" + os.DevNull, "GIT_CONFIG_GLOBAL=" + os.DevNull,
		"GIT_ATTR_NOSYSTEM=1",
		"GIT_NO_REPLACE_OBJECTS=1", "GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=",
		"GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=false", "SSH_ASKPASS=false", "GIT_EDITOR=false",
		"GIT_SEQUENCE_EDITOR=false", "GIT_PAGER=cat",
	}
	for _, name := range inherited {
		if value := variable(environ, name); value != "" {
			env = append(env, name+"="+value)
		}
	}
	return env
}
