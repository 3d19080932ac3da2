package credential

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/internal/folder"
	"github.com/agentls/agentls/internal/git"
)

// headTimeout bounds one git that reads HEAD.
const headTimeout = 30 * time.Second

// head is what the commit HEAD of a repository has.
type head struct {
	stamp string
	files map[string]map[string][]string // values by path, with slashes, and name
}

// head returns the values of the credential files that HEAD has in the repository of
// a folder: none where there is no repository, no commit or no git, or our own git
// refuses it. The error says that git could not read it, or is that of ctx. An answer
// is kept with the stamp of its commit, also that there is nothing; what failed for
// another reason is tried again with the next call.
func (r *Reader) head(ctx context.Context, folder string) (map[string]map[string][]string, error) {
	stamp := headStamp(filepath.Join(folder, ".git"))
	if stamp == "" {
		delete(r.heads, folder)
		return nil, nil
	}
	if known, ok := r.heads[folder]; ok && known.stamp == stamp {
		return known.files, nil
	}
	files, err := r.readHead(ctx, folder)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil && !isAnswer(err) {
		return nil, fault.New(fault.Unavailable, "credential.head",
			"the credential files of the commit HEAD cannot be read: %w", err)
	}
	r.heads[folder] = head{stamp, files}
	return files, nil
}

// isAnswer reports whether an error says that there is nothing to read: no git, no
// commit, a repository that our git refuses. Else HEAD may have what is not known.
func isAnswer(err error) bool {
	if exit, ok := errors.AsType[*git.ExitError](err); ok {
		return exit.Code >= 0 // else it was killed
	}
	kind := fault.KindOf(err)
	return kind == fault.NotFound || kind == fault.Denied
}

// headStamp returns a text that changes when HEAD is another commit, "" where there
// is no repository.
func headStamp(dir string) string {
	read := func(name string) string {
		data, _, _ := folder.ReadPlain(filepath.Join(dir, filepath.FromSlash(name)), 1000) // what cannot be read is as if it were not there
		return strings.TrimSpace(string(data))
	}
	stamp := read("HEAD")
	if stamp == "" {
		return ""
	}
	if ref, ok := strings.CutPrefix(stamp, "ref: "); ok && filepath.IsLocal(filepath.FromSlash(ref)) {
		stamp += " " + read(ref)
	}
	for _, name := range []string{"packed-refs", "reftable/tables.list"} {
		if info, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(name))); err == nil {
			stamp += fmt.Sprintf(" %d %d", info.Size(), info.ModTime().UnixNano())
		}
	}
	return stamp
}

// readHead lists the tree of HEAD and reads the credential files in it, at most maxFiles, with two
// calls of git however many files there are.
func (r *Reader) readHead(ctx context.Context, folder string) (map[string]map[string][]string, error) {
	if r.program == nil {
		program, err := git.Find(ctx, r.environ)
		if err != nil {
			return nil, err
		}
		r.program = program
	}
	repository, err := r.program.Open(ctx, folder)
	if err != nil {
		return nil, err
	}
	var paths []string
	var objects bytes.Buffer
	list := func(out io.Reader) error {
		return scanEntries(out, func(object, path string) {
			if tool.IsCredential(path) && len(paths) < maxFiles {
				paths = append(paths, path)
				objects.WriteString(object + "\n")
			}
		})
	}
	_, err = repository.Run(ctx, git.Command{Args: []string{"ls-tree", "-r", "-z", "--full-tree", "HEAD"}, Output: list,
		Timeout: headTimeout})
	if err != nil || len(paths) == 0 {
		return nil, err
	}
	files := make(map[string]map[string][]string)
	read := func(out io.Reader) error {
		in := bufio.NewReader(out)
		for _, path := range paths {
			data, err := readObject(in)
			if err != nil {
				return err
			}
			files[path] = secretsOf(path, data)
		}
		return nil
	}
	_, err = repository.Run(ctx, git.Command{
		Args: []string{"cat-file", "--batch"}, Input: objects.Bytes(), Output: read, Timeout: headTimeout,
		Environ: []string{"GIT_NO_LAZY_FETCH=1"}, // an object that was never fetched is missing, which is no failure
	})
	return files, err
}

// scanEntries calls do for each file of what ls-tree prints. Only regular files count:
// links and submodules have other modes.
func scanEntries(out io.Reader, do func(object, path string)) error {
	in := bufio.NewReader(out)
	for {
		entry, err := in.ReadString(0)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		about, path, _ := strings.Cut(strings.TrimSuffix(entry, "\x00"), "\t") // mode, type, object
		if words := strings.Fields(about); len(words) == 3 && strings.HasPrefix(words[0], "100") {
			do(words[2], path)
		}
	}
}

// readObject reads one object of what cat-file --batch prints; of one that is larger
// than a file may be it returns nothing.
func readObject(in *bufio.Reader) ([]byte, error) {
	about, err := in.ReadString('\n') // object, type, size
	if err != nil {
		return nil, err
	}
	var object, kind string
	var size int64
	if _, err := fmt.Sscan(about, &object, &kind, &size); err != nil {
		return nil, nil //nolint:nilerr // it says that the object is missing
	}
	if size > maxFile {
		_, err := io.CopyN(io.Discard, in, size+1)
		return nil, err
	}
	data := make([]byte, size+1) // and a line's end
	_, err = io.ReadFull(in, data)
	return data[:size], err
}
