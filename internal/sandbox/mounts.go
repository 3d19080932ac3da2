package sandbox

import (
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// mountKind says what stands at a path behind the wall. Of several at one path
// the last counts.
type mountKind int

const (
	systemMount   mountKind = iota // the system's, read-only
	emptyMount                     // a folder of the command's own, empty and writable
	readOnlyMount                  // read-only
	writableMount                  // writable
	fixedMount                     // read-only inside of a folder that is writable
	maskedMount                    // nothing that can be read
)

// mount is one path behind the wall.
type mount struct {
	path string
	kind mountKind
}

// systemFolders are what programs need of the system. Devices, processes, /tmp
// and the home are not among them.
var systemFolders = []string{
	"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix", "/gnu", "/snap",
	"/home/linuxbrew/.linuxbrew", "/var/lib/snapd/snap", "/run/current-system", "/run/systemd/resolve",
	"/sys/devices/system/cpu", "/sys/fs/cgroup",
}

// systemSecrets are files of the system that only root reads. To a command of
// root's they are masked.
var systemSecrets = []string{
	"/etc/shadow*", "/etc/gshadow*", "/etc/sudoers*", "/etc/ssh/ssh_host_*_key", "/etc/ssl/private", "/etc/krb5.keytab",
	"/etc/security/opasswd", "/etc/NetworkManager/system-connections", "/etc/wireguard", "/etc/docker/key.json",
}

// secretsOfSystem returns those of systemSecrets that there are.
func secretsOfSystem() []string {
	var out []string
	for _, pattern := range systemSecrets {
		found, _ := filepath.Glob(pattern) // the patterns are well formed
		out = append(out, found...)
	}
	return out
}

// toolchains are the default of tools.sandbox.read, below the home: programs and
// what they downloaded. What of it holds credentials is toolchainSecrets.
var toolchains = []string{
	"go/bin", "go/pkg/mod", "sdk", ".cargo/bin", ".cargo/registry", ".cargo/git", ".rustup", ".nvm", ".fnm", ".volta",
	".asdf", ".local/share/mise",
	".local/share/fnm", ".pyenv", ".rbenv", ".sdkman/candidates", ".deno/bin", ".bun/bin", ".local/bin",
	".local/share/pnpm", ".local/share/uv", ".local/lib",
	".local/pipx", ".local/share/pipx", ".npm-global", ".juliaup", ".ghcup", ".dotnet", ".yarn/releases",
}

// toolchainSecrets are credentials that toolchains keep among their programs: of
// indexes, and the keys of certificates.
var toolchainSecrets = []string{".local/share/uv/credentials", ".dotnet/corefx"}

// maskedPaths returns what nobody behind the wall reads, without secrets of the system.
func (s *Sandbox) maskedPaths(spec Spec) []string {
	var secrets []string
	for _, name := range toolchainSecrets {
		secrets = append(secrets, filepath.Join(s.Home, name))
	}
	return slices.Concat(spec.Masked, existing(secrets))
}

// readable returns the folders of tools.sandbox.read that exist.
func (s *Sandbox) readable() []string {
	list := s.Read
	if list == nil {
		for _, name := range toolchains {
			list = append(list, filepath.Join(s.Home, name))
		}
	}
	return existing(list)
}

// existing returns the paths that are there, canonical.
func existing(paths []string) []string {
	var out []string
	for _, path := range paths {
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			continue
		}
		out = append(out, path)
		if real != path {
			out = append(out, real)
		}
	}
	return out
}

// mounts returns what there is behind the wall for a command, parents before
// what lies in them. It is for walls that mount.
//
// It reads the disk: what is not there is left out, and links are resolved, as the wall
// can only mount what exists.
func (s *Sandbox) mounts(spec Spec) []mount {
	var all []mount
	add := func(kind mountKind, paths ...string) {
		for _, path := range paths {
			all = append(all, mount{path, kind})
		}
	}
	add(emptyMount, "/tmp", "/var/tmp")
	if s.Home != "" && s.Home != "/" {
		add(emptyMount, s.Home)
	}
	add(readOnlyMount, s.readable()...)
	add(fixedMount, spec.ReadOnly...)
	if spec.Access.Writes() {
		// An untrusted folder inside of one of these stays fixed: it is mounted after it.
		add(writableMount, spec.Folders...)
		add(writableMount, existing(s.Write)...)
		for _, path := range spec.Protected {
			if filepath.Base(path) != ".git" || !isFolder(path) || spec.onlyReads(path) {
				add(fixedMount, path)
				continue
			}
			add(writableMount, path) // bound onto itself it cannot be renamed
			add(fixedMount, gitExecutables(path)...)
		}
		add(fixedMount, spec.gitTargets()...)
	} else {
		add(readOnlyMount, spec.Folders...)
		add(readOnlyMount, existing(s.Write)...)
	}
	// A person who lets commands write there has said what they want.
	if !withinAny(s.Write, s.State) {
		add(maskedMount, s.State)
	}
	if caches := s.cacheFolder(); spec.Access.Writes() {
		add(writableMount, caches)
	} else {
		add(readOnlyMount, caches)
	}
	add(readOnlyMount, s.configFolder())
	add(maskedMount, s.maskedPaths(spec)...)
	if os.Geteuid() == 0 {
		add(maskedMount, secretsOfSystem()...)
	}
	// By the parts of the paths, so that what lies in a folder comes right after it, and of one
	// path the strictest kind last.
	slices.SortStableFunc(all, func(a, b mount) int {
		return cmp.Or(slices.Compare(strings.Split(a.path, "/"), strings.Split(b.path, "/")),
			cmp.Compare(a.kind, b.kind))
	})
	// Of several at one path the last, which is the strictest, is left; and none
	// below what is masked, but for our own folders in the daemon's.
	var out []mount
	for i, m := range all {
		if i+1 < len(all) && all[i+1].path == m.path {
			continue
		}
		out = append(out, m)
	}
	return s.dropHidden(out)
}

// dropHidden leaves out what lies below a masked place. The daemon's own folder
// is masked, but for the caches in it.
func (s *Sandbox) dropHidden(sorted []mount) []mount {
	var out []mount
	masked := ""
	for _, m := range sorted {
		own := m.path == s.cacheFolder() || m.path == s.configFolder()
		if masked != "" && within(masked, m.path) && !own {
			continue
		}
		if m.kind == maskedMount && m.path != s.State {
			masked = m.path
		}
		out = append(out, m)
	}
	return out
}

// gitExecutables returns what there is in a .git folder that makes git run
// programs: a command must not write it.
// Only what exists: a place that a command makes is found after it (quarantine).
func gitExecutables(dir string) []string {
	var out []string
	for _, name := range gitNames(dir) {
		if _, err := os.Lstat(name); err == nil {
			out = append(out, name)
		}
	}
	return out
}

// gitTargets returns what the links among gitExecutables lead to, as of hooks that a
// project shares, where that lies in a folder of the workspace.
func (s Spec) gitTargets() []string {
	var out []string
	for _, dir := range s.Protected {
		if filepath.Base(dir) != ".git" || !isFolder(dir) {
			continue
		}
		for _, path := range gitExecutables(dir) {
			real, err := filepath.EvalSymlinks(path)
			if err == nil && real != path && withinAny(s.Folders, real) && !within(real, dir) {
				out = append(out, real)
			}
		}
	}
	return out
}

// gitNames returns the places in a .git folder, and in those of its submodules
// and work trees, that make git run programs or read another folder's
// configuration, whether they exist or not.
func gitNames(dir string) []string {
	out := gitNamesAt(dir)
	for _, sub := range gitFolders(filepath.Join(dir, "modules"), 0) {
		out = append(out, gitNamesAt(sub)...)
	}
	trees, _ := os.ReadDir(filepath.Join(dir, "worktrees")) // none is as good
	for _, tree := range trees {
		for _, name := range []string{"config.worktree", "commondir"} {
			if path := filepath.Join(dir, "worktrees", tree.Name(), name); name != "commondir" || exists(path) {
				out = append(out, path)
			}
		}
	}
	return out
}

// gitNamesAt returns those of one repository: hooks and configuration, and what leads
// git to another repository's.
func gitNamesAt(dir string) []string {
	var out []string
	for _, name := range []string{"hooks", "config", "config.worktree", "info", "commondir",
		"objects/info/alternates"} {
		out = append(out, filepath.Join(dir, name))
	}
	return out
}

// gitFolders returns the repositories below .git/modules: the names of submodules
// may have slashes.
func gitFolders(dir string, depth int) []string {
	// A tree of folders that somebody made is not followed without end.
	if depth > 8 {
		return nil
	}
	var out []string
	entries, _ := os.ReadDir(dir) // none is as good
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		switch {
		case !e.IsDir():
		case exists(filepath.Join(path, "HEAD")):
			out = append(out, path)
			out = append(out, gitFolders(filepath.Join(path, "modules"), depth+1)...)
		default:
			out = append(out, gitFolders(path, depth+1)...)
		}
	}
	return out
}

// exists reports whether something is at a path, a link that leads nowhere too.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// isFolder reports whether a folder is at a path; a link to one is none.
func isFolder(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode()&fs.ModeType == fs.ModeDir
}
