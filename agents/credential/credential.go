package credential

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/internal/folder"
	"github.com/agentls/agentls/internal/git"
	"github.com/agentls/agentls/internal/mask"
)

// The bounds of what is read. What goes beyond is not masked.
const (
	maxFile    = 1 << 20         // bytes of a file
	maxFiles   = 500             // of a folder, and as many of its HEAD
	maxEntries = 20_000          // files and folders that are looked at to find those of a folder
	settleTime = 2 * time.Second // two changes of a file within it may leave the same time stamp
)

// Reader reads credential files, each again only when it has changed. It is safe for
// concurrent use; there is one for a daemon, made with [NewReader]. One call after
// another uses what busy guards: all fields below it.
type Reader struct {
	environ []string
	now     func() time.Time

	busy chan struct{} // full while a call has the rest: it can take as long as git does

	program *git.Program // nil until it is found
	files   map[string]readFile
	heads   map[string]head

	secrets map[string]string // of masker
	masker  *mask.Masker      // the newest; most calls want the same
}

// readFile is a credential file as it was read.
type readFile struct {
	size    int64
	changed time.Time
	values  map[string][]string // by name
}

// NewReader returns a reader that has read nothing. environ says where git is. now is
// the daemon's clock, against which the times of files are held.
func NewReader(environ []string, now func() time.Time) *Reader {
	return &Reader{
		environ: environ, now: now, busy: make(chan struct{}, 1),
		files: make(map[string]readFile), heads: make(map[string]head),
	}
}

// Masker returns what masks the values of the credential files of env's folders, and
// the users and passwords of URLs. The error says, for the model, why their values
// are not known. It waits until other calls have ended, or for ctx. env.Reveal are the
// files that the person lets agents read. The masker is safe for concurrent use and
// stays as it is; a later call may give another one. Errors are fault.Unavailable, or
// that of ctx: the caller then must not show the output as masked.
func (r *Reader) Masker(ctx context.Context, env *tool.Env) (*mask.Masker, error) {
	select {
	case r.busy <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	defer func() { <-r.busy }()
	secrets := make(map[string]string)
	add := func(path, shown string, values map[string][]string) {
		if !slices.Contains(env.Reveal, path) {
			addAll(secrets, shown, values)
		}
	}
	for _, folder := range env.Folders {
		places, err := env.Survey(ctx, folder)
		if err != nil {
			return nil, fault.New(fault.Unavailable, "credential.masker",
				"the credential files of the workspace cannot be looked up: %w", err)
		}
		for _, path := range list(folder, places) {
			add(path, tool.Name(relative(folder, path)), r.file(path))
		}
		if slices.Contains(env.Strange, folder) || (folder == env.Folder && !env.Trusted) {
			continue // no git runs there
		}
		head, err := r.head(ctx, folder)
		if err != nil {
			return nil, err
		}
		for name, values := range head {
			add(filepath.Join(folder, filepath.FromSlash(name)), "HEAD:"+tool.Name(name), values)
		}
	}
	if r.masker == nil || !maps.Equal(secrets, r.secrets) {
		r.secrets, r.masker = secrets, mask.NewOutput(secrets)
	}
	return r.masker, nil
}

// addAll adds the values of a file by the names that markers have. The file of another
// folder may have the same name, and then its values get numbers. Markers are shown to
// the model, so a name has to mean one value only.
func addAll(secrets map[string]string, file string, values map[string][]string) {
	for name, all := range values {
		shown := file
		if name != "" {
			shown = name + " in " + file
		}
		key, n := shown, 1
		for _, value := range all {
			for other, taken := secrets[key]; taken && other != value; other, taken = secrets[key] {
				n++
				key = fmt.Sprintf("%s-%d", shown, n)
			}
			secrets[key] = value
		}
	}
}

// relative returns a path below a folder, with slashes; where it is not below it, as it is.
func relative(folder, path string) string {
	if rel, err := filepath.Rel(folder, path); err == nil {
		return filepath.ToSlash(rel)
	}
	return path
}

// list returns the credential files of a folder: the files at the places of them, and
// those that rules hide, which a command can read where no sandbox confines it. What is
// beyond maxFiles or maxEntries is not looked at.
func list(folder string, places tool.Places) (files []string) {
	entries := 0
	find := func(place string, isWanted func(path string) bool) {
		_ = filepath.WalkDir(place, func(path string, entry fs.DirEntry, err error) error {
			entries++
			switch {
			case len(files) == maxFiles || entries > maxEntries:
				return fs.SkipAll
			case err != nil:
				return nil //nolint:nilerr // a command, of the same user, cannot read it either
			case entry.Type().IsRegular() && isWanted(path):
				files = append(files, path)
			}
			return nil
		})
	}
	for _, place := range places.Credentials {
		find(place, func(string) bool { return true }) // a link may have led to it
	}
	for _, place := range places.Denied {
		find(place, func(path string) bool { return tool.IsCredential(relative(folder, path)) })
	}
	return files
}

// file returns the values of a file on disk. nil where it cannot be read or is too
// large. A file that changed within settleTime is read again the next time: its time
// would not tell of another change right after.
func (r *Reader) file(path string) map[string][]string {
	f, info, err := folder.OpenRegular(path)
	if err != nil {
		delete(r.files, path)
		return nil
	}
	defer f.Close()
	if info.Size() > maxFile {
		delete(r.files, path)
		return nil
	}
	known, ok := r.files[path]
	isRacy := info.ModTime().After(r.now().Add(-settleTime))
	if ok && !isRacy && known.size == info.Size() && known.changed.Equal(info.ModTime()) {
		return known.values
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFile))
	if err != nil {
		return nil
	}
	values := secretsOf(path, data)
	if !isRacy {
		r.files[path] = readFile{info.Size(), info.ModTime(), values}
	}
	return values
}

// secretsOf returns the secrets of a file by their names. Most strings of a state of
// Terraform are names of things: there only those count that some word of their name
// calls secret, as in private_key_pem.
func secretsOf(path string, data []byte) map[string][]string {
	values := mask.SecretsOfFile(data)
	if filepath.Ext(path) == ".tfstate" {
		maps.DeleteFunc(values, func(name string, _ []string) bool { return !hasSecretWord(name) })
	}
	return values
}

// hasSecretWord reports whether a name, or the part of it before one of its _ or -, says that it is
// a secret's.
func hasSecretWord(name string) bool {
	for i, c := range name {
		if (c == '_' || c == '-') && mask.SaysSecret(name[:i], "") {
			return true
		}
	}
	return mask.SaysSecret(name, "")
}
