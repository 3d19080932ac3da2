package sandbox_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/agentls/agentls/internal/sandbox"
)

// repository makes the world's workspace a git repository.
func (w *world) repository(t testing.TB) {
	t.Helper()
	for _, args := range [][]string{
		{"init", "-q", "-b", "main"}, {"config", "user.email", "a@example.org"}, {"config", "user.name", "a"},
		{"add", "a.txt"}, {"commit", "-qm", "one"},
	} {
		cmd := exec.Command("git", args...)
		cmd.Dir = w.folder
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	if err := os.RemoveAll(filepath.Join(w.folder, ".git", "info")); err != nil {
		t.Fatal(err)
	}
}

// found returns the protected places of the world's workspace, as a survey would.
func (w *world) found(t testing.TB) []string {
	t.Helper()
	out := []string{}
	err := filepath.WalkDir(w.folder, func(path string, d os.DirEntry, err error) error {
		if name := d.Name(); err == nil && (name == ".git" || name == ".vscode" || name == ".gemini") {
			out = append(out, path)
			if d.IsDir() {
				return filepath.SkipDir
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestSEC49GitExecutes: a command can commit and cannot make git run anything:
// whatever it tries, what git runs is afterwards as it was.
func TestSEC49GitExecutes(t *testing.T) {
	eachWall(t, func(t *testing.T, w *world) {
		w.repository(t)
		evil := exec.Command("cp", "-r", ".git", "../kept")
		evil.Dir = w.folder
		if err := evil.Run(); err != nil {
			t.Fatal(err)
		}
		after := func() []string { return w.found(t) }
		if r := w.runThen(t, w.spec("write"), "echo two >> a.txt && git commit -qam two && git log --oneline | wc -l", after); r.code != 0 || !strings.HasPrefix(r.out, "2") || len(r.quarantined) > 0 {
			t.Fatalf("a commit: %+v", r)
		}
		config := read(filepath.Join(w.folder, ".git", "config"))
		hooks := names(filepath.Join(w.folder, ".git", "hooks"))
		canary := filepath.Join(w.home, "CANARY")
		for _, text := range []string{
			"git config core.fsmonitor 'touch " + canary + "'",
			"printf '[core]\\nfsmonitor = touch " + canary + "\\n' >> .git/config",
			"printf '#!/bin/sh\\ntouch " + canary + "\\n' > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit",
			"rm -rf .git/hooks; mkdir .git/hooks; printf '#!/bin/sh\\ntouch " + canary + "\\n' > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit",
			"mv .git .git2; cp -r .git2 .git; printf '[core]\\nfsmonitor = touch " + canary + "\\n' >> .git/config",
			"mkdir -p .git/info && echo '* filter=x' > .git/info/attributes",
			"mkdir evil && cp -r .git/. evil/ && printf '[core]\\nfsmonitor = touch " + canary + "\\n' > evil/config; echo ../evil > .git/commondir",
			"printf '[core]\\nfsmonitor = touch " + canary + "\\n' > .git/config.worktree",
			"mkdir sub && cd sub && git init -q . && git config core.fsmonitor 'touch " + canary + "'",
			"rm -rf .git; ln -s evil .git", "rm -rf .git; echo x > .git",
		} {
			r := w.runThen(t, w.spec("write"), text, after)
			if now := filepath.Join(w.folder, ".git"); (exists(now) && (read(filepath.Join(now, "config")) != config || names(filepath.Join(now, "hooks")) != hooks)) ||
				exists(w.folder, ".git/info") || exists(w.folder, ".git/commondir") || exists(w.folder, ".git/config.worktree") || exists(w.folder, "sub/.git") {
				t.Fatalf("%s: git's own files changed: %+v", text, r)
			}
			cmd := exec.Command("git", "commit", "-q", "--allow-empty", "-m", "x")
			cmd.Dir = w.folder
			_ = cmd.Run() // some of them break the repository: what changed can be undone elsewhere
			if exists(canary) {
				t.Fatalf("%s: git ran it: %+v", text, r)
			}
		}
		w.run(t, w.spec("full"), "rm -rf .git; cp -r ../kept .git; printf '[core]\\nfsmonitor = touch "+canary+"\\n' >> .git/config; git status")
		if !exists(canary) {
			t.Error("control: without a wall nothing happens")
		}
	})
}

func exists(parts ...string) bool {
	_, err := os.Lstat(filepath.Join(parts...))
	return err == nil
}

// names returns the names in a folder.
func names(folder string) string {
	var all []string
	entries, _ := os.ReadDir(folder)
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return strings.Join(all, " ")
}

// TestSEC19NewProtectedPlace: a protected place that a command makes is moved
// away and reported, one that was there is not changed, and nothing is left in
// the workspace of how that is done.
func TestSEC19NewProtectedPlace(t *testing.T) {
	eachWall(t, func(t *testing.T, w *world) {
		after := func() []string { return w.found(t) }
		before := names(w.folder)
		for text, place := range map[string]string{
			"mkdir -p .gemini && echo '{\"hooks\":1}' > .gemini/settings.json":     ".gemini",
			"mkdir -p a/b/.vscode && echo '{}' > a/b/.vscode/tasks.json && rm a/x": "a/b/.vscode",
			"touch x; ln -s x .gemini": ".gemini",
			// A new folder gets the number of one that is gone.
			"rm -rf .vscode; mkdir .gemini && echo x > .gemini/x": ".gemini",
		} {
			r := w.runThen(t, w.spec("write"), text, after)
			r.quarantined = slices.DeleteFunc(r.quarantined, func(q sandbox.Quarantined) bool { return q.Back })
			if len(r.quarantined) != 1 || r.quarantined[0].Path != filepath.Join(w.folder, place) || !exists(r.quarantined[0].To) || exists(w.folder, place) {
				t.Errorf("%s: %+v", text, r)
			}
			if err := os.RemoveAll(filepath.Join(w.folder, "a")); err != nil {
				t.Error(err)
			}
			_ = os.Remove(filepath.Join(w.folder, "x"))
		}
		w.runThen(t, w.spec("write"), "echo evil > .vscode/tasks.json; rm -rf .vscode; touch .vscode/more", after)
		if got := read(filepath.Join(w.folder, ".vscode", "tasks.json")); got != "{}" || exists(w.folder, ".vscode/more") {
			t.Errorf("the tasks are %q", got)
		}
		if got := names(w.folder); got != before {
			t.Errorf("left in the workspace: %q, before %q", got, before)
		}
		// A place that only moves is none that is new, where nothing in it can have been
		// changed on the way: not behind Landlock.
		put(t, filepath.Join(w.folder, "deep", ".vscode", "x"), "x")
		spec := w.spec("write")
		spec.Protected = append(spec.Protected, filepath.Join(w.folder, "deep", ".vscode"))
		wall, _ := w.box.Wall()
		r := w.runThen(t, spec, "mv deep deeper", after)
		place := filepath.Join(w.folder, "deeper", ".vscode")
		if wall == sandbox.Landlock && (len(r.quarantined) != 1 || r.quarantined[0].Path != place || exists(place) || !exists(w.folder, "deep/.vscode/x")) {
			t.Errorf("moved: %+v", r)
		}
		if wall != sandbox.Landlock && (len(r.quarantined) > 0 || (!exists(place, "x") && !exists(w.folder, "deep/.vscode/x"))) {
			t.Errorf("moved: %+v", r)
		}
		w.run(t, w.spec("full"), "mkdir .gemini")
		if !exists(w.folder, ".gemini") {
			t.Error("control: without a wall nothing happens")
		}
	})
}

// TestSEC19MovedProtectedPlace: a protected place that a command moves to the name of
// another, or elsewhere, and then writes is as new as any.
func TestSEC19MovedProtectedPlace(t *testing.T) {
	for _, text := range []string{
		"mv .git/hooks .gemini; echo evil > .gemini/settings.json",
		"mkdir d; mv .git/hooks d/.vscode; echo evil > d/.vscode/tasks.json",
		"mkdir d; mv .vscode d/.vscode; echo evil > d/.vscode/tasks.json",
		"mv .git .gemini; echo evil > .gemini/settings.json",
		"mv .vscode .gemini; echo evil > .gemini/settings.json",
	} {
		eachWall(t, func(t *testing.T, w *world) {
			w.repository(t)
			put(t, filepath.Join(w.folder, ".git", "hooks", "pre-push.sample"), "x")
			w.runThen(t, w.spec("write"), text, func() []string { return w.found(t) })
			for _, place := range []string{".gemini/settings.json", "d/.vscode/tasks.json"} {
				if strings.Contains(read(filepath.Join(w.folder, place)), "evil") {
					t.Errorf("%s: %s is there", text, place)
				}
			}
			if read(filepath.Join(w.folder, ".vscode", "tasks.json")) != "{}" || !exists(w.folder, ".git/hooks/pre-push.sample") {
				t.Errorf("%s: what was there is gone", text)
			}
		})
	}
}

// TestSEC14UntrustedFolderInATrustedOne: nothing in it is written, not its repository
// either; where the wall cannot hold that, no command that writes runs.
func TestSEC14UntrustedFolderInATrustedOne(t *testing.T) {
	eachWall(t, func(t *testing.T, w *world) {
		w.repository(t)
		inner := filepath.Join(w.folder, "inner")
		put(t, filepath.Join(inner, "trusted", "a.txt"), "one\n")
		w.git(t, inner, "init", "-q")
		w.git(t, inner, "add", ".")
		w.git(t, inner, "commit", "-qm", "one")
		if r := w.run(t, w.spec("write"), "touch inner/.git/CONTROL"); !exists(inner, ".git/CONTROL") {
			t.Fatalf("control: it is written where it is trusted: %+v", r)
		}
		spec := w.spec("write")
		spec.ReadOnly = []string{inner}
		spec.Protected = append(spec.Protected, filepath.Join(inner, ".git"))
		if w.box.Walls[0] == sandbox.Landlock {
			_, err := w.box.Confine(exec.Command("/bin/true"), spec)
			if err == nil || !strings.Contains(err.Error(), "not trusted") {
				t.Errorf("a command that writes: %v", err)
			}
			spec.Access = "read"
			if r := w.run(t, spec, "cat inner/trusted/a.txt"); r.code != 0 {
				t.Errorf("a command that reads: %+v", r)
			}
			return
		}
		r := w.run(t, spec, "cd inner; touch .git/CANARY .git/objects/CANARY CANARY; echo x > .git/HEAD; git branch CANARY; mv ../inner ../other; echo x > ../b.txt")
		if exists(inner, ".git/CANARY") || exists(inner, ".git/objects/CANARY") || exists(inner, "CANARY") || exists(inner, ".git/refs/heads/CANARY") {
			t.Errorf("something was written: %+v", r)
		}
		if strings.HasPrefix(read(filepath.Join(inner, ".git", "HEAD")), "x") || !exists(w.folder, "b.txt") {
			t.Errorf("the head was written, or nothing beside: %+v", r)
		}
		// A trusted one in it is written again.
		spec.Folders = append(spec.Folders, filepath.Join(inner, "trusted"))
		if r := w.run(t, spec, "touch inner/trusted/b.txt inner/CANARY"); !exists(inner, "trusted/b.txt") || exists(inner, "CANARY") {
			t.Errorf("a trusted folder in it: %+v", r)
		}
	})
}

// TestGitLeavesHiddenFoldersAlone: a folder that the wall hides is no folder whose
// files somebody deleted: git commits no such thing.
func TestGitLeavesHiddenFoldersAlone(t *testing.T) {
	w := newWorld(t, sandbox.Bubblewrap)
	w.repository(t)
	for _, name := range []string{".kube/config", "secret/a", "secret/deep/b"} {
		put(t, filepath.Join(w.folder, name), "planted")
	}
	w.git(t, w.folder, "add", "-f", ".kube", "secret")
	w.git(t, w.folder, "commit", "-qm", "two")
	spec := w.spec("write")
	spec.Masked = append(spec.Masked, filepath.Join(w.folder, ".kube"), filepath.Join(w.folder, "secret"))
	for _, text := range []string{
		"git commit -qam x", "git add -u && git commit -qm x", "git add -A . ':!.env' ':!.vscode' && git commit -qm x",
		"git add .kube secret && git commit -qm x", "git stash",
	} {
		r := w.run(t, spec, "echo "+quote(text)+" >> a.txt; "+text)
		cmd := exec.Command("git", "ls-tree", "-r", "--name-only", "HEAD")
		cmd.Dir = w.folder
		out, err := cmd.CombinedOutput()
		if err != nil || strings.Join(strings.Fields(string(out)), " ") != ".kube/config a.txt secret/a secret/deep/b" {
			t.Errorf("%s: there is %s, %v: %+v", text, out, err, r)
		}
		if !strings.Contains(r.out, "Permission denied") || strings.Contains(r.out, "planted") {
			t.Errorf("%s: it is not told: %+v", text, r)
		}
		if got := read(filepath.Join(w.folder, "secret", "deep", "b")); got != "planted" {
			t.Errorf("%s: a hidden file is %q", text, got)
		}
	}
	// To who looks around, the folders are empty and no obstacle.
	if r := w.run(t, spec, "ls -A secret .kube && find . -name .git -prune -o -print"); r.code != 0 || strings.Contains(r.out, "config") || strings.Contains(r.out, "deep") {
		t.Errorf("a look around: %+v", r)
	}
	if r := w.run(t, spec, "cat secret/a; ls secret/deep; grep -rs planted .; chmod 700 secret; touch secret/c; rm -rf secret"); strings.Contains(r.out, "planted") {
		t.Errorf("it is seen: %+v", r)
	}
	if read(filepath.Join(w.folder, "secret", "a")) != "planted" || exists(w.folder, "secret/c") {
		t.Error("it was written")
	}
}

// TestSEC108NoWayOut: no network, no Unix socket of the machine, by path or by
// abstract name, and no other family of sockets.
func TestSEC108NoWayOut(t *testing.T) {
	eachWall(t, func(t *testing.T, w *world) {
		answer := func(network, address string) net.Listener {
			l, err := net.Listen(network, address)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { l.Close() })
			go func() {
				for {
					c, err := l.Accept()
					if err != nil {
						return
					}
					io.WriteString(c, "canary")
					c.Close()
				}
			}()
			return l
		}
		short, err := os.MkdirTemp("", "s")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(short)
		answer("unix", filepath.Join(short, "docker.sock"))
		answer("unix", "@agentls-canary-"+filepath.Base(short))
		connect := func(family, address string) string {
			return fmt.Sprintf("/usr/bin/python3 -c 'import socket; s=socket.socket(socket.%s, socket.SOCK_STREAM); s.connect(%s); print(s.recv(9))'", family, address)
		}
		host, port, _ := net.SplitHostPort(answer("tcp", "127.0.0.1:0").Addr().String())
		for _, c := range []struct{ text, access string }{
			{"exec 3<>/dev/tcp/" + host + "/" + port + " && cat <&3", "read"},
			{connect("AF_INET", fmt.Sprintf("(%q, %s)", host, port)), "write"},
			{connect("AF_UNIX", fmt.Sprintf("%q", filepath.Join(short, "docker.sock"))), "write"},
			{connect("AF_UNIX", fmt.Sprintf("%q", filepath.Join(short, "docker.sock"))), "network"},
			{connect("AF_UNIX", fmt.Sprintf("\"\\0agentls-canary-%s\"", filepath.Base(short))), "write"},
			{connect("AF_UNIX", fmt.Sprintf("\"\\0agentls-canary-%s\"", filepath.Base(short))), "network"},
			{"/usr/bin/python3 -c 'import socket; socket.socket(socket.AF_INET, socket.SOCK_RAW, 1); print(\"canary\")'", "network"},
			{"/usr/bin/python3 -c 'import socket; socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0); print(\"canary\")'", "network"},
			{"/usr/bin/python3 -c 'import socket; socket.socket(40, socket.SOCK_STREAM, 0); print(\"canary\")'", "network"},
			{"/usr/bin/python3 -c 'import ctypes; l=ctypes.CDLL(None); print(\"canary\" if l.syscall(41, ctypes.c_long((1<<32)|40), 1, 0) >= 0 else 0)'", "network"},
		} {
			if r := w.run(t, w.spec(sandbox.Access(c.access)), c.text); strings.Contains(r.out, "canary") {
				t.Errorf("%s: %s: %+v", c.access, c.text, r)
			}
			if strings.Contains(c.text, "AF_PACKET") || strings.Contains(c.text, "40") || strings.Contains(c.text, "RAW") {
				continue // not everywhere there, nor for everybody
			}
			if r := w.run(t, w.spec("full"), c.text); !strings.Contains(r.out, "canary") {
				t.Errorf("control: without a wall: %s: %+v", c.text, r)
			}
		}
		if r := w.run(t, w.spec("network"), "exec 3<>/dev/tcp/"+host+"/"+port+" && cat <&3"); !strings.Contains(r.out, "canary") {
			t.Errorf("any host: %+v", r)
		}
	})
}

// TestSEC110NoEscape: a command that traces, mounts, takes namespaces, looks at
// other processes or at what the daemon has open gets nowhere.
func TestSEC110NoEscape(t *testing.T) {
	secret, err := os.CreateTemp(t.TempDir(), "inherited")
	if err != nil {
		t.Fatal(err)
	}
	defer secret.Close()
	if _, err := unix.FcntlInt(secret.Fd(), unix.F_SETFD, 0); err != nil { // as a parent of the daemon leaves it
		t.Fatal(err)
	}
	t.Setenv("PLANTED_TOKEN", "planted-env-of-the-daemon")
	eachWall(t, func(t *testing.T, w *world) {
		call := func(number string, args string) string {
			return "/usr/bin/python3 -c 'import ctypes; l=ctypes.CDLL(None, use_errno=True); r=l.syscall(" + number + args + "); print(\"did\" if r >= 0 else ctypes.get_errno())'"
		}
		if runtime.GOARCH != "amd64" {
			t.Skip("the numbers of system calls are of another processor")
		}
		for text, bad := range map[string]string{
			"mount -t tmpfs none /mnt && echo did":                               "did",
			"umount " + quote(filepath.Join(w.folder, ".env")) + " && cat .env":  "planted",
			"unshare -Ur cat /proc/self/uid_map && echo did":                     "did",
			"cat /proc/" + fmt.Sprint(os.Getpid()) + "/environ | tr '\\0' '\\n'": "planted",
			"cat /proc/1/environ | tr '\\0' '\\n'":                               "planted",
			"ls /proc/1/root" + quote(w.home) + "/.ssh && echo did":              "did",
			"ls -l /proc/self/fd | grep -c inherited":                            "1\n",
			"cat /proc/[0-9]*/environ 2>/dev/null | grep -ao planted":            "planted",
			"kill -9 " + fmt.Sprint(os.Getpid()) + " && echo did":                "did",
			"sudo -n true && echo did":                                           "did",
			"echo x > /proc/sysrq-trigger && echo did":                           "did",
			"hostname canary && cat /proc/sys/kernel/hostname":                   "canary",
			"chroot / true && echo did":                                          "did",
			"echo x > /etc/canary && echo did":                                   "did",
			"echo x > /proc/sys/kernel/hostname && echo did":                     "did",
			"grep -c . /etc/shadow":                                              "1",
			call("101", ",0,0,0,0"):                                              "did", // ptrace(TRACEME)
			call("250", ",0,0,0,0"):                                              "did", // keyctl
			call("248", ",b\"user\",b\"x\",b\"x\",1,-3"):                         "did", // add_key
			call("321", ",0,0,0"):                                                "did", // bpf
			call("298", ",0,0,0,0,0"):                                            "did", // perf_event_open
			call("323", ",0"):                                                    "did", // userfaultfd
			call("425", ",1,ctypes.create_string_buffer(256)"):                   "did", // io_uring_setup
			call("272", ",0x10000000"):                                           "did", // unshare(CLONE_NEWUSER)
			call("16", ",0,0x5412,b\"x\""):                                       "did", // ioctl(TIOCSTI)
			call("16", ",0,ctypes.c_long(0x100005412),b\"x\""):                   "did", // the same, dressed up
			call("0x40000000+101", ",0,0,0,0"):                                   "did", // ptrace of x32
		} {
			for _, access := range []sandbox.Access{"write", "network"} {
				if r := w.run(t, w.spec(access), text); strings.Contains(r.out, bad) {
					t.Errorf("%s: %s: %+v", access, text, r)
				}
			}
		}
		r := w.run(t, w.spec("write"), "ls /proc/self/fd | wc -l; grep NoNewPrivs /proc/self/status; tty; cat /proc/self/status | grep -E 'Cap(Eff|Prm):'")
		if !strings.HasPrefix(r.out, "4\n") || !strings.Contains(r.out, "NoNewPrivs:\t1") || !strings.Contains(r.out, "not a tty") {
			t.Errorf("its own process: %+v", r)
		}
		if r := w.run(t, w.spec("full"), call("101", ",0,0,0,0")); !strings.Contains(r.out, "did") {
			t.Errorf("control: without a wall: %+v", r)
		}
	})
}

// TestSEC110SharedMemory: where a command has no IPC namespace of its own, it does
// not reach the shared memory, semaphores and queues of others.
func TestSEC110SharedMemory(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the numbers of system calls are of another processor")
	}
	const perl = "/usr/bin/perl" // another one may lie where no command behind a wall reads
	if _, err := os.Stat(perl); err != nil {
		t.Skip(err)
	}
	w := newWorld(t, sandbox.Landlock)
	id, err := unix.SysvShmGet(unix.IPC_PRIVATE, 4096, 0o600|unix.IPC_CREAT)
	if err != nil {
		t.Skip(err)
	}
	defer func() { _, _ = unix.SysvShmCtl(id, unix.IPC_RMID, nil) }()
	for _, args := range []string{
		"31, 0, 14, $b",                 // shmctl(SHM_INFO)
		"66, 0, 0, 19, $b",              // semctl(SEM_INFO)
		"71, 0, 12, $b",                 // msgctl(MSG_INFO)
		fmt.Sprintf("30, %d, 0, 0", id), // shmat
	} {
		text := perl + ` -e 'my $b = "\0" x 4096; print syscall(` + args + `) != -1 ? "did\n" : ($! + 0) . "\n"'`
		for _, access := range []sandbox.Access{"read", "write", "network"} {
			if r := w.run(t, w.spec(access), text); r.out != "1\n" { // EPERM
				t.Errorf("%s: %s: %+v", access, args, r)
			}
		}
		if r := w.run(t, w.spec("full"), text); r.out != "did\n" {
			t.Errorf("control: without a wall: %s: %+v", args, r)
		}
	}
}

// TestSEC110CredentialsOfToolchainsAreHidden: what toolchains keep among their
// programs, and the settings of go, of which commands get a copy without secrets.
func TestSEC110CredentialsOfToolchainsAreHidden(t *testing.T) {
	eachWall(t, func(t *testing.T, w *world) {
		for _, name := range []string{".local/share/uv/credentials/c.toml", ".dotnet/corefx/cryptography/x509stores/my/k.pfx", ".config/go/env"} {
			put(t, filepath.Join(w.home, name), "planted")
		}
		put(t, filepath.Join(w.home, ".local/share/uv/tools/tool"), "a tool")
		put(t, filepath.Join(w.home, ".dotnet/dotnet"), "a program")
		for _, access := range []sandbox.Access{"read", "write", "network"} {
			r := w.run(t, w.spec(access), "cd "+quote(w.home)+"; cat .local/share/uv/credentials/* .dotnet/corefx/*/*/*/* .config/go/env; cat .local/share/uv/tools/tool .dotnet/dotnet")
			if strings.Contains(r.out, "planted") || !strings.Contains(r.out, "a toola program") {
				t.Errorf("%s: %+v", access, r)
			}
		}
	})
}

func quote(path string) string { return "'" + path + "'" }

// TestSEC43NothingIsLeft: listeners, background jobs and daemons end with the
// command, and at and crontab do not reach theirs.
func TestSEC43NothingIsLeft(t *testing.T) {
	eachWall(t, func(t *testing.T, w *world) {
		nap := fmt.Sprintf("43.%d", os.Getpid())
		for _, text := range []string{
			"sleep " + nap + " & disown; nohup sleep " + nap + " >/dev/null 2>&1 & setsid sleep " + nap + " & true",
			"setsid setsid env -i /bin/sleep " + nap + " & sleep 0.1",
			"/usr/bin/python3 -m http.server 18099 >/dev/null 2>&1 & sleep " + nap + " & sleep 0.1",
			"echo 'touch x' | at now; (echo '* * * * * touch x') | crontab -; true",
		} {
			w.run(t, w.spec("write"), text)
			out, _ := exec.Command("pgrep", "-f", "sleep "+nap).Output()
			if len(out) > 0 {
				t.Errorf("%s: left: %s", text, out)
			}
		}
		if r := w.run(t, w.spec("write"), "read x; echo got $?"); !strings.Contains(r.out, "got 1") {
			t.Errorf("input: %+v", r)
		}
	})
}

// TestNetworkByTheProxy: with a proxy a command reaches what stands behind its
// socket, and nothing else.
func TestNetworkByTheProxy(t *testing.T) {
	w := newWorld(t, sandbox.Bubblewrap)
	origin := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) { io.WriteString(rw, "direct") }))
	defer origin.Close()
	socket := filepath.Join(w.home, "p.sock")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Skip(err) // the name of the test's folder is too long for a socket
	}
	proxy := &http.Server{Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { io.WriteString(rw, "by the proxy: "+r.Host) })}
	go proxy.Serve(l)
	defer proxy.Close()
	spec := w.spec("network")
	spec.Proxy = socket
	r := w.run(t, spec, "curl -s http://example.test/x; echo; curl -s --noproxy '*' "+origin.URL+" || echo none; ls -l /proc/self/fd | wc -l; echo x > made; exit 3")
	if !strings.HasPrefix(r.out, "by the proxy: example.test\nnone\n5\n") || r.code != 3 || !exists(w.folder, "made") {
		t.Errorf("%+v", r)
	}
	if r := w.run(t, spec, "kill -9 $$"); r.code != 137 {
		t.Errorf("a signal: %+v", r)
	}
}
