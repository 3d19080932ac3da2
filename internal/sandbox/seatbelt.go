package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// seatbelt is the program that runs a command in the sandbox of macOS.
const seatbelt = "/usr/bin/sandbox-exec"

// useSeatbelt has the box's command started by sandbox-exec. It was never tried
// on a Mac.
func (b *Box) useSeatbelt() error {
	var err error
	if b.temp, err = os.MkdirTemp("", "agentls-"); err != nil {
		return err
	}
	temp, err := filepath.EvalSymlinks(b.temp) // the system's is behind a link
	if err != nil {
		return err
	}
	for _, folder := range b.spec.Folders {
		if !isFolder(folder) {
			return fmt.Errorf("the workspace folder %s is gone", folder)
		}
		if folder == string(filepath.Separator) {
			return errors.New("the whole system cannot be a workspace of sandboxed commands: open a folder in it")
		}
	}
	b.cmd.Env = append(b.cmd.Env, "TMPDIR="+temp)
	command := append([]string{"sandbox-exec", "-p", b.sandbox.profile(b.spec, temp), b.cmd.Path}, b.cmd.Args[1:]...)
	b.cmd.Path, b.cmd.Args = seatbelt, command
	return nil
}

// profile returns what sandbox-exec holds a command to, in its own language. Of
// several rules for a path the last counts.
// So what is denied comes behind what it is an exception of, and the masks come
// last of the files.
func (s *Sandbox) profile(spec Spec, temp string) string {
	var b strings.Builder
	rule := func(text string, paths ...string) {
		if len(paths) == 0 {
			return
		}
		fmt.Fprintf(&b, "(%s", text)
		for _, path := range paths {
			fmt.Fprintf(&b, "\n  (subpath %s)", quoteScheme(path))
		}
		b.WriteString(")\n")
	}
	b.WriteString(`(version 1)
(deny default)
(import "system.sb")
(allow process-exec process-fork)
(allow signal (target same-sandbox))
(allow sysctl-read)
(allow file-read-metadata)
(allow file-read* file-write* (literal "/dev/null") (literal "/dev/zero") (literal "/dev/random") (literal "/dev/urandom"))
`)
	rule("allow file-read*", "/usr", "/bin", "/sbin", "/opt", "/System", "/Library", "/private/etc",
		"/Applications/Xcode.app", "/nix")
	rule("allow file-read*", s.readable()...)
	rule("allow file-read* file-write*", temp)
	own := []string{s.cacheFolder()}
	if spec.Access.Writes() {
		rule("allow file-read* file-write*", spec.Folders...)
		rule("allow file-read* file-write*", existing(s.Write)...)
		rule("deny file-write*", spec.ReadOnly...)
		for _, path := range spec.Protected {
			if filepath.Base(path) != ".git" || !isFolder(path) {
				rule("deny file-write*", path)
				continue
			}
			// The folder itself can then not be renamed, and what is in it is written as git needs it.
			fmt.Fprintf(&b, "(deny file-write-unlink (literal %s))\n", quoteScheme(path))
			rule("deny file-write*", gitNames(path)...)
		}
	} else {
		rule("allow file-read*", spec.Folders...)
		rule("allow file-read*", existing(s.Write)...)
	}
	rule("allow file-read*", spec.ReadOnly...)
	// The caches and the configuration lie in State, so they are allowed again behind this.
	rule("deny file-read* file-write*", s.State)
	if spec.Access.Writes() {
		rule("allow file-read* file-write*", own...)
	} else {
		rule("allow file-read*", own...)
	}
	rule("allow file-read*", s.configFolder())
	rule("deny file-read* file-write*", s.maskedPaths(spec)...)
	if spec.Access.Connects() { // any host: loopback is the machine's, so that no relay can stand there
		b.WriteString("(allow network*)\n(deny network* (remote unix-socket))\n(allow system-socket)\n")
	}
	return b.String()
}

// quoteScheme returns a string of the profile's language.
func quoteScheme(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}
