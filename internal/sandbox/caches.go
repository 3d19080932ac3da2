package sandbox

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/agentls/agentls/internal/process"
	"github.com/agentls/agentls/internal/proxy/relay"
)

// MaxCache is how large the caches of commands may become, in bytes.
const MaxCache = 10 << 30

// cacheFolder holds the caches of commands, for all trusted workspaces. Nothing
// that a command leaves there is used outside of the wall.
func (s *Sandbox) cacheFolder() string { return filepath.Join(s.State, "cache") }

// configFolder holds what commands get of the person's configuration, without
// secrets.
func (s *Sandbox) configFolder() string { return filepath.Join(s.State, "command-config") }

// cache returns the folder of one cache.
func (s *Sandbox) cache(name string) string { return filepath.Join(s.cacheFolder(), name) }

// makeState makes the folders of commands. A command writes among the caches: what
// it put in the place of one, such as a link, is removed. A link to a folder of
// the setting write stays: commands write there anyway.
func (s *Sandbox) makeState() error {
	if err := os.MkdirAll(s.cacheFolder(), 0o700); err != nil {
		return err
	}
	// By handle: what a command left here may be a link that leads out.
	root, err := os.OpenRoot(s.cacheFolder())
	if err != nil {
		return err
	}
	defer root.Close()
	for _, name := range []string{"go-build", "npm", "pip", "xdg", "pnpm", "yarn", "gradle"} {
		if target, err := root.Readlink(name); err == nil && slices.Contains(s.Write, target) {
			continue
		}
		if info, err := root.Lstat(name); err == nil && !info.IsDir() {
			if err := root.Remove(name); err != nil {
				return err
			}
		}
		if err := root.MkdirAll(name, 0o700); err != nil {
			return err
		}
	}
	return s.writeConfig()
}

// replaced are the variables that a command gets of the sandbox's, or not at all.
var replaced = []string{
	"TMPDIR", "TMP", "TEMP", "GOCACHE", "GOENV", "XDG_CACHE_HOME", "npm_config_cache", "npm_config_userconfig",
	"npm_config_store_dir",
	"PIP_CACHE_DIR", "PIP_CONFIG_FILE", "YARN_CACHE_FOLDER", "GRADLE_USER_HOME", "GIT_CONFIG_GLOBAL", "XDG_RUNTIME_DIR",
}

// environ returns the environment of a command, made of the one that it would
// have without a wall: caches, configuration and the proxy.
func (s *Sandbox) environ(own []string, spec Spec) []string {
	out := slices.DeleteFunc(slices.Clone(own), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.Contains(replaced, name)
	})
	config := s.configFolder()
	out = append(out, "TMPDIR=/tmp", "GOCACHE="+s.cache("go-build"), "npm_config_cache="+s.cache("npm"),
		"npm_config_update_notifier=false",
		"PIP_CACHE_DIR="+s.cache("pip"), "PIP_DISABLE_PIP_VERSION_CHECK=1", "YARN_CACHE_FOLDER="+s.cache("yarn"),
		"GIT_CONFIG_GLOBAL="+filepath.Join(config, "gitconfig"),
		"npm_config_userconfig="+filepath.Join(config, "npmrc"),
		"PIP_CONFIG_FILE="+filepath.Join(config, "pip.conf"), "GOENV="+filepath.Join(config, "goenv"))
	if spec.Access.Writes() {
		out = append(out, "XDG_CACHE_HOME="+s.cache("xdg"), "npm_config_store_dir="+s.cache("pnpm"),
			"GRADLE_USER_HOME="+s.cache("gradle"))
	}
	out = s.modules(out, spec)
	if spec.Access == Network && spec.Proxy != "" {
		at := relay.Environ("127.0.0.1:" + relayPort)
		out = append(out, at...)
		out = append(out, "npm_config_proxy=http://127.0.0.1:"+relayPort,
			"npm_config_https_proxy=http://127.0.0.1:"+relayPort)
	}
	return out
}

// relayPort is where a command finds the daemon's proxy on loopback, which is its
// own.
const relayPort = "3128"

// modules says where Go and cargo find and put what they download. That is the
// person's folder, read-only, until a command that may download has made ours;
// Go then takes from the person's what ours does not have.
func (s *Sandbox) modules(env []string, spec Spec) []string {
	if cargo := s.cache("cargo"); spec.Access.Connects() || exists(filepath.Join(cargo, "registry")) {
		env = append(env, "CARGO_HOME="+cargo)
	}
	ours, theirs := s.cache("go-mod"), s.goModules(env)
	// Nothing of ours is needed: what is there is in the person's folder.
	if !spec.Access.Connects() && (!exists(ours) || (spec.Access == Read && exists(theirs))) {
		return env
	}
	source := "file://" + filepath.ToSlash(filepath.Join(theirs, "cache", "download"))
	if from := lookup(env, "GOPROXY"); !spec.Access.Connects() {
		env = append(env, "GOPROXY="+source)
	} else if from != "" {
		env = append(env, "GOPROXY="+source+","+from)
	}
	// Modules that Go keeps read-only could not be removed by CleanCache.
	return append(env, "GOMODCACHE="+ours, "GOFLAGS="+strings.TrimSpace(lookup(env, "GOFLAGS")+" -modcacherw"))
}

// goModules returns the person's module cache.
func (s *Sandbox) goModules(env []string) string {
	if at := lookup(env, "GOMODCACHE"); at != "" {
		return at
	}
	at := filepath.SplitList(lookup(env, "GOPATH"))
	if len(at) == 0 {
		at = []string{filepath.Join(s.Home, "go")}
	}
	return filepath.Join(at[0], "pkg", "mod")
}

// lookup returns the value of a variable; the last counts.
func lookup(env []string, name string) string {
	for _, entry := range slices.Backward(env) {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}

// writeConfig writes what commands get of the person's configuration: names and
// addresses of git, and the settings of package managers without secrets.
func (s *Sandbox) writeConfig() error {
	if err := os.MkdirAll(s.configFolder(), 0o700); err != nil {
		return err
	}
	var failed error
	for name, text := range map[string][]byte{
		"gitconfig": s.gitConfig(),
		"npmrc":     withoutSecrets(s.readHome(".npmrc")),
		"pip.conf":  withoutSecrets(s.readHome(".config/pip/pip.conf"), s.readHome(".pip/pip.conf")),
		"goenv":     withoutSecrets(s.readHome(".config/go/env")),
	} {
		failed = errors.Join(failed, os.WriteFile(filepath.Join(s.configFolder(), name), text, 0o600))
	}
	return failed
}

// readHome returns a file of the person's home; nil for one that cannot be read.
func (s *Sandbox) readHome(name string) []byte {
	data, err := os.ReadFile(filepath.Join(s.Home, filepath.FromSlash(name)))
	if err != nil {
		return nil
	}
	return data
}

// withoutSecrets returns the first text that is not empty, without the lines that
// can hold a secret: of a key that says so, of a host, or with an address that
// has a user.
func withoutSecrets(texts ...[]byte) []byte {
	var out []byte
	for _, text := range texts {
		for line := range bytes.Lines(text) {
			key, _, _ := bytes.Cut(bytes.ToLower(bytes.TrimSpace(line)), []byte("="))
			secret := bytes.HasPrefix(key, []byte("//")) || (bytes.ContainsRune(line, '@') &&
				!bytes.HasPrefix(key, []byte("@")))
			for _, word := range []string{"auth", "token", "password", "secret", "username", "key", "cert"} {
				secret = secret || bytes.Contains(key, []byte(word))
			}
			if !secret {
				out = append(out, line...)
			}
		}
		if len(out) > 0 {
			return out
		}
	}
	return out
}

// gitKeys are the settings of git that commands get of the person's.
var gitKeys = []string{"user.name", "user.email", "init.defaultbranch", "core.autocrlf", "core.eol"}

// gitConfig asks git for the person's settings, which may include other files.
func (s *Sandbox) gitConfig() []byte {
	var out []byte
	for _, key := range gitKeys {
		cmd := exec.Command("git", "config", "--global", "--includes", "--get", key)
		cmd.Env = append(process.Environ(s.Environ), "HOME="+s.Home, "GIT_DIR="+os.DevNull)
		cmd.Dir = "/"
		value, err := output(cmd)
		value = bytes.TrimSuffix(value, []byte("\n"))
		// A value with a line end could begin another section.
		if err != nil || len(value) == 0 || bytes.ContainsAny(value, "\n\x00") {
			continue
		}
		section, name, _ := strings.Cut(key, ".")
		quoted := strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(string(value))
		out = append(out, "["+section+"]\n\t"+name+" = \""+quoted+"\"\n"...)
	}
	return out
}

// output runs a short command of our own and returns what it printed, its errors
// too. One that hangs is killed.
func output(cmd *exec.Cmd) ([]byte, error) {
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &out, &out, time.Second
	process.Isolate(cmd)
	process.Seal()
	runtime.LockOSThread() // the kernel kills the process with the thread that started it
	defer runtime.UnlockOSThread()
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	late := time.AfterFunc(10*time.Second, func() { _ = cmd.Process.Kill() }) // gone already is as good
	defer late.Stop()
	err := cmd.Wait()
	return out.Bytes(), err
}

// CleanCache removes from the caches what was used the longest ago until they are
// small enough. It may run beside commands: what they miss they make again.
//
// It walks all caches, which takes seconds for full ones; ctx ends it between two
// folders.
func (s *Sandbox) CleanCache(ctx context.Context) error { return s.cleanCache(ctx, MaxCache) }

// cleanCache is CleanCache to a size. Go's build cache goes by its folders of
// entries; of the others one without some of its files may not work.
func (s *Sandbox) cleanCache(ctx context.Context, limit int64) error {
	root, err := os.OpenRoot(s.cacheFolder())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	// Commands write here: by the handle a link that one left leads nowhere.
	defer root.Close()
	type unit struct {
		path string
		size int64
		used time.Time
	}
	var units []unit
	var total int64
	for _, path := range cacheParts(root) {
		u := unit{path: path}
		_ = fs.WalkDir(root.FS(), path, func(_ string, d fs.DirEntry, err error) error {
			switch {
			case ctx.Err() != nil:
				return fs.SkipAll
			case err != nil:
				return nil // it went just now, or cannot be read
			}
			if info, err := d.Info(); err == nil {
				u.size += info.Size()
				if t := info.ModTime(); t.After(u.used) {
					u.used = t
				}
			}
			return nil
		})
		units = append(units, u)
		total += u.size
	}
	// By the newest file in each, since one that is used gets new files.
	slices.SortFunc(units, func(a, b unit) int { return cmp.Or(a.used.Compare(b.used), cmp.Compare(a.path, b.path)) })
	var failed error
	for _, u := range units {
		if total <= limit || ctx.Err() != nil {
			break
		}
		failed = errors.Join(failed, root.RemoveAll(u.path))
		total -= u.size
	}
	return failed
}

// cacheParts returns the folders that are removed whole, relative to the cache
// folder. A link or a file in the place of a cache is one, too.
func cacheParts(root *os.Root) []string {
	var out []string
	caches, _ := fs.ReadDir(root.FS(), ".") // none is as good
	for _, e := range caches {
		if e.Name() != "go-build" || !e.IsDir() {
			out = append(out, e.Name())
			continue
		}
		parts, _ := fs.ReadDir(root.FS(), e.Name()) // none is as good
		for _, part := range parts {
			out = append(out, path.Join(e.Name(), part.Name()))
		}
	}
	return out
}
