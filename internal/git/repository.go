package git

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentls/agentls/internal/fault"
)

// Repository is a git folder with its work tree. It is not changed once it was opened,
// and safe for concurrent use. What was looked at may change afterwards: it is opened
// again for each operation.
type Repository struct {
	Dir      string   // the git folder, absolute
	WorkTree string   // absolute
	Filters  []string // names of the filters that the configuration defines and that do not run

	program *Program
	config  []string          // settings that make its own ones harmless
	user    map[string]string // user.name and user.email of its configuration
}

// Own returns a repository of the daemon's own, which nobody else writes:
// nothing in it is looked at. It need not exist yet.
func (p *Program) Own(dir, workTree string) *Repository {
	private := []string{"core.sharedRepository=0600"} // whatever the umask is (SEC-116)
	return &Repository{Dir: dir, WorkTree: workTree, program: p, config: private}
}

// maxEntries is how many files of a git folder are looked at, objects aside.
const maxEntries = 200_000

// Open returns the repository of a workspace folder, which has to be trusted. The
// error is fault.NotFound where the folder has none of its own, and fault.Denied,
// with the reason for people, for one that reaches out of its folder: a worktree
// or a submodule, a link inside of .git, alternates, commondir, core.worktree,
// included configuration. It reads every name in .git but those of loose objects, which
// takes a moment in a large repository; it does not heed ctx while it does.
func (p *Program) Open(ctx context.Context, folder string) (*Repository, error) {
	const op = "git.open"
	refuse := func(why string) error {
		return fault.New(fault.Denied, op, "git is not used in %s: %s", folder, why)
	}
	dir := filepath.Join(folder, ".git")
	if rel, err := filepath.Rel(folder, p.path); err == nil && filepath.IsLocal(rel) {
		return nil, refuse("the program git itself lies in the folder")
	}
	info, err := os.Lstat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fault.New(fault.NotFound, op, "%s is not the top folder of a git repository", folder)
	case err != nil:
		return nil, fault.New(fault.Unavailable, op, "%w", err)
	case info.Mode().IsRegular():
		return nil, refuse("its .git is a file, as in a worktree or a submodule, and leads to another place")
	case !info.IsDir():
		return nil, refuse("its .git is a link, and leads to another place")
	}
	if why := reachesOut(dir); why != "" {
		return nil, refuse(why)
	}
	r := &Repository{Dir: dir, WorkTree: folder, program: p, user: make(map[string]string)}
	for _, name := range []string{"config", "config.worktree"} {
		if err := r.readConfig(ctx, filepath.Join(dir, name)); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// reachesOut says what in a git folder leads out of it, "" where nothing does. What
// cannot be looked at counts as reaching out.
func reachesOut(dir string) (why string) {
	for _, name := range []string{"commondir", "objects/info/alternates", "objects/info/http-alternates"} {
		if _, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(name))); !errors.Is(err, fs.ErrNotExist) {
			return ".git/" + name + " makes it use the objects of another repository"
		}
	}
	objects, seen := filepath.Join(dir, "objects"), 0
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if seen++; seen > maxEntries {
			return errors.New("too many files to look through")
		}
		rel, _ := filepath.Rel(dir, path)
		switch {
		case entry.Type()&fs.ModeSymlink != 0:
			return errors.New("a link: " + filepath.ToSlash(rel))
		case entry.IsDir() && filepath.Dir(path) == objects && len(entry.Name()) == 2:
			return fs.SkipDir // an object is checked by its name when it is read
		}
		return nil
	})
	if err != nil {
		return "its .git holds " + err.Error()
	}
	return ""
}

// readConfig looks at one file of the configuration. Git itself reads it, as a
// file that belongs to no repository, so that nobody parses it otherwise. A section
// that is repeated counts each time, as for git.
func (r *Repository) readConfig(ctx context.Context, path string) error {
	const op = "git.config"
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	out, err := r.program.run(ctx, []string{"GIT_DIR=" + os.DevNull}, nil,
		Command{Args: []string{"config", "--file", path, "--no-includes", "--null", "--list"}})
	if err != nil {
		return err
	}
	for entry := range bytes.SplitSeq(out, []byte{0}) {
		key, value, _ := strings.Cut(string(entry), "\n")
		section, rest, _ := strings.Cut(key, ".")
		switch {
		case section == "include" || section == "includeif":
			return fault.New(fault.Denied, op, "git is not used in %s: its configuration includes other files",
				r.WorkTree)
		case key == "core.worktree" && value != r.WorkTree:
			return fault.New(fault.Denied, op, "git is not used in %s: core.worktree leads elsewhere, to %s",
				r.WorkTree, value)
		case key == "core.bare" && !strings.EqualFold(value, "false"):
			return fault.New(fault.Denied, op, "git is not used in %s: the repository is bare", r.WorkTree)
		case key == "user.name" || key == "user.email":
			r.user[key] = value
		case section == "filter":
			name := rest[:max(0, strings.LastIndexByte(rest, '.'))]
			if strings.ContainsAny(name, "=\n") {
				return fault.New(fault.Denied, op,
					"git is not used in %s: a filter has a name that cannot be overridden", r.WorkTree)
			}
			r.blank(name)
		}
	}
	return nil
}

// blank makes a filter one that does nothing. Files that need it are then stored as
// they are on disk, which is why the caller is told.
func (r *Repository) blank(name string) {
	if name == "" || slices.Contains(r.Filters, name) {
		return
	}
	r.Filters = append(r.Filters, name)
	for _, part := range []string{"clean=", "smudge=", "process=", "required=false"} {
		r.config = append(r.config, "filter."+name+"."+part)
	}
}

// Identity returns the variables that make a commit the person's: by the name and
// the address of the repository's configuration, else of the person's own, which
// lies in home. The error is fault.NotFound where one is missing. They are for
// [Command.Environ]. Configuration that the person's own includes counts, for it is the
// person's.
func (r *Repository) Identity(ctx context.Context, home string) (environ []string, err error) {
	own := filepath.Join(home, ".gitconfig")
	if _, err := os.Stat(own); err != nil {
		own = filepath.Join(home, ".config", "git", "config")
	}
	for _, key := range []string{"user.name", "user.email"} {
		value := r.user[key]
		if _, err := os.Stat(own); value == "" && home != "" && err == nil {
			out, err := r.program.run(ctx, []string{"GIT_DIR=" + r.Dir, "HOME=" + home}, nil,
				Command{Args: []string{"config", "--file", own, "--includes", "--get", key}})
			if exit, ok := errors.AsType[*ExitError](err); err != nil && !(ok && exit.Code == 1) { // 1: it is not set
				return nil, err
			}
			value = strings.TrimSpace(string(out))
		}
		if value == "" {
			return nil, fault.New(fault.NotFound, "git.identity",
				"git does not know the person's %s; they can set it with: git config --global %s …",
				strings.TrimPrefix(key, "user."), key)
		}
		name := strings.ToUpper(strings.TrimPrefix(key, "user."))
		environ = append(environ, "GIT_AUTHOR_"+name+"="+value, "GIT_COMMITTER_"+name+"="+value)
	}
	return environ, nil
}

// Run runs git in the repository and returns its output. The error is
// fault.Unavailable, and unwraps to an [ExitError] where git ran and failed; it is
// the cause of ctx where that ended. It blocks until git has ended, and may be called
// at the same time as others; git itself locks its index.
func (r *Repository) Run(ctx context.Context, c Command) ([]byte, error) {
	return r.program.run(ctx, []string{"GIT_DIR=" + r.Dir, "GIT_COMMON_DIR=" + r.Dir,
		"GIT_WORK_TREE=" + r.WorkTree}, r.config, c)
}
