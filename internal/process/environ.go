package process

import (
	"path/filepath"
	"slices"
	"strings"
)

// passed are the variables that child processes get of the daemon's own
// environment (SEC-113): where things are, and how to speak. There are no keys
// among them, no proxies (their addresses hold passwords), no sockets of
// agents, and nothing that makes a shell, a loader or git run something
// (SEC-40).
var passed = map[string]bool{
	"PATH": true, "HOME": true, "USER": true, "LOGNAME": true, "LANG": true, "LANGUAGE": true, "TZ": true,
	"TERM": true, "COLORTERM": true,
	"TMPDIR": true, "TMP": true, "TEMP": true, "CI": true,
	"XDG_CACHE_HOME": true, "XDG_CONFIG_HOME": true, "XDG_DATA_HOME": true, "XDG_STATE_HOME": true,
	"GOPATH": true, "GOROOT": true, "GOBIN": true, "GOCACHE": true, "GOMODCACHE": true,
	"GOFLAGS": true, "GOTOOLCHAIN": true,
	"GOPROXY": true, "GOSUMDB": true, "GOPRIVATE": true, "GONOPROXY": true, "GONOSUMDB": true, "GOOS": true,
	"GOARCH": true, "CGO_ENABLED": true,
	"CARGO_HOME": true, "RUSTUP_HOME": true, "JAVA_HOME": true, "NVM_DIR": true, "PYENV_ROOT": true,
	"VIRTUAL_ENV": true, "CONDA_PREFIX": true,
	"SYSTEMROOT": true, "SystemRoot": true, "COMSPEC": true, "PATHEXT": true, "USERPROFILE": true,
	"APPDATA": true, "LOCALAPPDATA": true,
}

// fixed are the variables that every child process gets, so that no program
// waits for a person (SEC-45).
var fixed = []string{
	"GIT_EDITOR=false", "GIT_SEQUENCE_EDITOR=false", "EDITOR=false", "VISUAL=false", "PAGER=cat", "GIT_PAGER=cat",
	"MANPAGER=cat", "SYSTEMD_PAGER=cat",
	"GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=false", "SSH_ASKPASS=false", "DEBIAN_FRONTEND=noninteractive", "AGENTLS=1",
}

// Environ returns the environment of child processes, made of the daemon's own
// as os.Environ has it: the variables of an allow-list, without those whose
// value holds a password in an address, and fixed ones that keep programs from
// waiting for a person. Of PATH only absolute folders stay.
func Environ(own []string) []string {
	out := make([]string, 0, len(fixed)+16)
	for _, entry := range own {
		name, value, ok := strings.Cut(entry, "=")
		// A value that begins with () { is a function of bash's, which a shell would take
		// over.
		if !ok || (!passed[name] && !strings.HasPrefix(name, "LC_")) || secret(value) ||
			strings.HasPrefix(value, "() {") {
			continue
		}
		if name == "PATH" {
			value = cleanPath(value)
		}
		out = append(out, name+"="+value)
	}
	return append(out, fixed...)
}

// secret reports whether a value holds an address with a password.
func secret(value string) bool {
	_, rest, ok := strings.Cut(value, "://")
	if !ok {
		return false
	}
	host, _, _ := strings.Cut(rest, "/")
	return strings.Contains(host, "@")
}

// cleanPath returns the absolute folders of a PATH: a relative one would be of
// whatever folder a command runs in.
func cleanPath(value string) string {
	folders := slices.DeleteFunc(filepath.SplitList(value), func(f string) bool { return !filepath.IsAbs(f) })
	return strings.Join(folders, string(filepath.ListSeparator))
}

// SystemPath returns the folders in which programs are looked for when the
// environment names none.
func SystemPath() []string { return []string{"/usr/local/bin", "/usr/bin", "/bin"} }

// SearchPath returns the folders in which programs are looked for: the absolute
// ones of PATH in own, which is as os.Environ returns it.
func SearchPath(own []string) []string {
	for _, entry := range own {
		if value, ok := strings.CutPrefix(entry, "PATH="); ok {
			return filepath.SplitList(cleanPath(value))
		}
	}
	return SystemPath()
}
