package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/sandbox"
)

// secret is in each planted file that nobody behind the wall may read.
const secret = "SECRET-7f1c93a6-planted-by-wallfuzz"

// world is a throw-away place: a workspace, a home, a folder outside of both,
// and sockets that nobody may reach.
type world struct {
	base, work, home, out, state string
	open                         bool // no file of the workspace is a secret: the wall cannot hide one

	tcp      *net.TCPListener
	unix     *net.UnixListener
	abstract *net.UnixListener
	udp      *net.UDPConn
	told     *strings.Replacer // fills in what a command names of the world

	first map[string]string // what lay below base in the beginning

	patience time.Duration // how long a command may take; whole seconds

	box       *sandbox.Sandbox // these three are made when they are needed
	survey    *tool.Survey
	stopProxy func()
}

// newWorld makes a world in an empty folder.
func newWorld(base string, open bool) (*world, error) {
	w := &world{open: open, patience: 2 * time.Second, base: base, work: filepath.Join(base, "work"),
		home: filepath.Join(base, "home"), out: filepath.Join(base, "outside")}
	w.state = filepath.Join(base, "state")
	if err := w.furnish(); err != nil {
		return nil, err
	}
	var err error
	if w.tcp, err = net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}); err != nil {
		return nil, err
	}
	if w.udp, err = net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)}); err != nil {
		return nil, err
	}
	socket := filepath.Join(base, "socket")
	if w.unix, err = net.ListenUnix("unix", &net.UnixAddr{Name: socket}); err != nil {
		return nil, err
	}
	abstract := "wallfuzz" + strconv.Itoa(os.Getpid()) + filepath.Base(base)
	if w.abstract, err = net.ListenUnix("unix", &net.UnixAddr{Name: "@" + abstract}); err != nil {
		return nil, err
	}
	port := func(a net.Addr) string { return a.String()[strings.LastIndexByte(a.String(), ':')+1:] }
	w.told = strings.NewReplacer("$OUT", w.out, "$PORT", port(w.tcp.Addr()), "$UDP", port(w.udp.LocalAddr()),
		"$SOCK", socket, "$ABSTRACT", abstract)
	return w, nil
}

// close gives the sockets back.
func (w *world) close() error {
	if w.stopProxy != nil {
		w.stopProxy()
	}
	return errors.Join(w.tcp.Close(), w.udp.Close(), w.unix.Close(), w.abstract.Close())
}

// furnish writes what a world has, in the place of what is there.
func (w *world) furnish() error {
	for _, dir := range []string{w.work, w.home, w.out} {
		if err := remove(dir); err != nil {
			return err
		}
	}
	key := "-----BEGIN OPENSSH PRIVATE KEY-----\n" + secret + "\n"
	for name, text := range map[string]string{
		"work/a.txt": "one\ntwo\n", "work/src/b.go": "package src\n", "work/x": "#!/bin/sh\ncat ~/.ssh/id_rsa\n",
		"work/Makefile": "all:\n\tcat ~/.ssh/id_rsa\n", "work/package.json": `{"scripts": {"test": "cat ~/notes.txt"}}`,
		"work/.env": "KEY=" + secret, "work/sub/.env.local": "KEY=" + secret, "work/.gitignore": ".env*\n",
		"work/.gemini/settings.json": "{}", "work/.vscode/tasks.json": "{}",
		"work/.github/workflows/x.yml": "on: push\n",
		"home/.ssh/id_rsa":             key, "home/.bashrc": "# " + secret, "home/notes.txt": secret,
		"home/.netrc":           "password " + secret,
		"home/.aws/credentials": secret, "home/.config/gcloud/x.json": secret,
		"home/.gitconfig":        "[user]\n\tname = n\n",
		"state/sessions/s.jsonl": secret, "home/.gemini/settings.json": `{"key": "` + secret + `"}`,
		"outside/secret.txt": secret, "outside/sub/secret.txt": secret,
	} {
		path := filepath.Join(w.base, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if w.open && strings.HasPrefix(name, "work/") {
			text = strings.ReplaceAll(text, secret, "none")
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	for name, target := range map[string]string{
		"work/ssh": w.home + "/.ssh", "work/key": w.home + "/.ssh/id_rsa", "work/up": "..",
		"work/out": "../outside", "work/whole": "/",
		"work/src/loop": "..",
	} {
		if err := os.Symlink(target, filepath.Join(w.base, name)); err != nil {
			return err
		}
	}
	if err := os.Chmod(filepath.Join(w.work, "x"), 0o755); err != nil {
		return err
	}
	if err := w.repository(); err != nil {
		return err
	}
	var err error
	w.first, err = w.look() // a repository is another one each time
	return err
}

// repository makes a git repository of the workspace, where git is installed.
func (w *world) repository() error {
	git, err := exec.LookPath("git")
	if err != nil {
		return nil
	}
	for _, args := range [][]string{
		{"init", "-q", "-b", "main"}, {"add", "a.txt", "src", ".gitignore"},
		{"-c", "user.name=n", "-c", "user.email=n@example.com", "commit", "-q", "-m", "first"},
	} {
		c := exec.Command(git, args...)
		c.Dir, c.Env = w.work, []string{"HOME=" + w.home, "GIT_CONFIG_NOSYSTEM=1", "PATH=" + os.Getenv("PATH")}
		if out, err := c.CombinedOutput(); err != nil {
			return fmt.Errorf("git %s: %w: %s", args[0], err, out)
		}
	}
	return nil
}

// remove takes a folder away, whatever the modes below are.
func remove(dir string) error {
	if os.RemoveAll(dir) == nil {
		return nil
	}
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			_ = os.Chmod(path, 0o700) // RemoveAll says what cannot be removed
		}
		return nil
	})
	return os.RemoveAll(dir)
}

// changeable are folders of the daemon's state that commands may change.
var changeable = []string{"cache", "quarantine"}

// look tells what lies in the world: of each path its mode and its content or
// target.
func (w *world) look() (map[string]string, error) {
	all := make(map[string]string)
	for _, root := range []string{w.work, w.home, w.out, w.state} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if d.IsDir() && filepath.Dir(path) == w.state && slices.Contains(changeable, d.Name()) {
				return fs.SkipDir
			}
			name, err := filepath.Rel(w.base, path)
			if err == nil {
				all[name], err = describe(path, d)
			}
			return err
		})
		if errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) {
			continue // a folder that a command has shut or removed is a change
		}
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// describe tells a file from another one.
func describe(path string, d fs.DirEntry) (string, error) {
	info, err := d.Info()
	if err != nil {
		return "", err
	}
	text := info.Mode().String()
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := os.Readlink(path)
		return text + " -> " + target, err
	case info.Mode().IsRegular():
		data, err := os.ReadFile(path)
		return fmt.Sprintf("%s %x", text, sha256.Sum256(data)), err
	}
	return text, nil
}

// protectedPlaces are paths of the workspace that no command may write.
var protectedPlaces = []string{
	".git/hooks", ".git/config", ".git/info", ".gemini", ".vscode", ".github/workflows", ".envrc",
}

// hidden are files of the workspace that no command may read or write, behind a
// wall that can hide them.
var hidden = []string{".env", "sub/.env.local"}

// onlyModes reports whether two states of a place differ in no more than its mode.
func onlyModes(before, now string) bool {
	_, was, _ := strings.Cut(before, " ")
	_, is, _ := strings.Cut(now, " ")
	return before != "" && now != "" && before[0] == now[0] && was == is
}

// touched returns what a command may not have changed: below the base, and in
// places of the system that everybody can write.
func (w *world) touched(writes bool) ([]string, error) {
	now, err := w.look()
	if err != nil {
		return nil, err
	}
	names := maps.Clone(w.first)
	maps.Copy(names, now)
	var harm []string
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if w.first[name] == now[name] {
			continue
		}
		in, inside := strings.CutPrefix(name, "work/")
		protected := slices.ContainsFunc(protectedPlaces, func(p string) bool {
			return in == p ||
				strings.HasPrefix(in, p+"/")
		}) ||
			(!w.open && slices.Contains(hidden, in))
		if writes && (name == "work" || (inside && !protected)) {
			continue
		}
		if writes && w.open && onlyModes(w.first[name], now[name]) {
			continue // Landlock does not see it (docs/security.md)
		}
		harm = append(harm, fmt.Sprintf("%s was %q and is %q", name, w.first[name], now[name]))
	}
	for _, folder := range []string{"/etc", "/usr/local/bin", "/var/tmp", "/dev/shm", "/tmp"} {
		path := filepath.Join(folder, canary)
		if _, err := os.Lstat(path); err == nil {
			harm = append(harm, path+" was made")
			_ = os.RemoveAll(path) // else it is told again and again
		}
	}
	return harm, nil
}

// reached returns the connections that came to the sockets since the last look.
// Whoever has connected is in the queue already, so nothing is waited for: a
// deadline, however short, can pass before the queue is looked at.
func (w *world) reached() []string {
	var harm []string
	for name, l := range map[string]syscall.Conn{"the TCP port": w.tcp, "the Unix socket": w.unix,
		"the abstract socket": w.abstract} {
		for taken(l, func(fd int) error {
			conn, _, err := unix.Accept4(fd, unix.SOCK_CLOEXEC)
			if err != nil {
				return err
			}
			return unix.Close(conn) // it has said enough
		}) {
			harm = append(harm, "a connection to "+name)
		}
	}
	for taken(w.udp, func(fd int) error {
		_, _, err := unix.Recvfrom(fd, make([]byte, 1), 0)
		return err
	}) {
		harm = append(harm, "a packet to the UDP port")
	}
	return harm
}

// taken reports whether something could be taken from the queue of a socket.
func taken(socket syscall.Conn, take func(fd int) error) bool {
	raw, err := socket.SyscallConn()
	if err != nil {
		return false // it is closed
	}
	var taking error
	err = raw.Control(func(fd uintptr) {
		for taking = take(int(fd)); errors.Is(taking, unix.EINTR) || errors.Is(taking, unix.ECONNABORTED); {
			taking = take(int(fd))
		}
	})
	return err == nil && taking == nil
}

// spellings are the secret as it is, and as a program prints it that encodes.
var spellings = spell(secret)

func spell(text string) [][]byte {
	all := [][]byte{[]byte(text), []byte(hex.EncodeToString([]byte(text)))}
	for shift := range 3 { // in base64 it depends on where a group begins
		part := text[shift : shift+24]
		all = append(all, []byte(base64.StdEncoding.EncodeToString([]byte(part))))
	}
	return all
}

// tells reports whether an output has the secret.
func tells(output []byte) bool {
	return slices.ContainsFunc(spellings, func(s []byte) bool { return bytes.Contains(output, s) })
}

// environ is what commands get.
func (w *world) environ() []string {
	return []string{"PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "HOME=" + w.home, "LANG=C.UTF-8"}
}
