package builtin

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/fault"
)

//go:embed *.md
var descriptions embed.FS

// Config is what the tools need from the program that they are part of. The
// zero Config is one that gives nothing.
type Config struct {
	// Reaper is the first argument with which this very program, started again,
	// calls [Reap] with those that follow; "" where it does not. With it, nothing
	// that a command of bash has started outlives the daemon, however that ends
	// (REL-76); without it, only what is not a child of a child of the daemon's.
	Reaper string
}

// Tools returns the built-in tools, in the order in which they are documented.
func (c Config) Tools() []tool.Tool {
	return []tool.Tool{readFile(), readManyFiles(), list(), glob(), grep(), writeFile(), editFile(), bash(c.Reaper), writeTodos(), askUser()}
}

// Tools returns the built-in tools of the zero Config.
func Tools() []tool.Tool { return Config{}.Tools() }

// builtin is a tool as this package makes them: planning starts with arguments
// that fit the schema.
type builtin[A any] struct {
	spec   tool.Spec
	schema *tool.Schema
	plan   func(ctx context.Context, env *tool.Env, args A) (*tool.Plan, error)
}

// define returns a tool. The description is NAME.md of this package.
func define[A any](name string, risk tool.Risk, parameters string, aliases map[string]string,
	plan func(context.Context, *tool.Env, A) (*tool.Plan, error)) *builtin[A] {
	text, err := descriptions.ReadFile(name + ".md")
	if err != nil {
		panic("builtin: no description: " + err.Error()) // the file is part of the program; a test makes every tool
	}
	return &builtin[A]{
		spec:   tool.Spec{Name: name, Risk: risk, Description: strings.TrimSpace(string(text)), Parameters: json.RawMessage(parameters)},
		schema: tool.NewSchema(json.RawMessage(parameters), aliases),
		plan:   plan,
	}
}

// Spec implements [tool.Tool].
func (b *builtin[A]) Spec() tool.Spec { return b.spec }

// Plan implements [tool.Tool].
func (b *builtin[A]) Plan(ctx context.Context, env *tool.Env, raw json.RawMessage) (*tool.Plan, error) {
	canonical, err := b.schema.Check(raw)
	if err != nil {
		return nil, err
	}
	var args A
	if err := json.Unmarshal(canonical, &args); err != nil {
		return nil, fmt.Errorf("arguments that fit their schema do not fit %s: %w", b.spec.Name, err)
	}
	p, err := b.plan(ctx, env, args)
	if err != nil {
		return nil, err
	}
	p.Tool, p.Args = b.spec.Name, canonical
	p.Risk = p.Risk.Max(b.spec.Risk)
	return p, nil
}

// fileAliases are the other spellings of a file's argument, folderAliases those
// of a folder's (spec 4.1).
var (
	fileAliases   = map[string]string{"path": "file_path", "absolute_path": "file_path", "filePath": "file_path", "filename": "file_path", "file": "file_path"}
	folderAliases = map[string]string{"path": "dir_path", "absolute_path": "dir_path", "dirPath": "dir_path", "directory": "dir_path", "dir": "dir_path"}
)

// join returns the entries of several alias tables in one.
func join(tables ...map[string]string) map[string]string {
	all := make(map[string]string)
	for _, t := range tables {
		for k, v := range t {
			all[k] = v
		}
	}
	return all
}

// read returns the file at a place, as the person sees it. What is wrong with
// it is an *Error that the model can act on.
func read(ctx context.Context, env *tool.Env, p tool.Place) (*tool.File, error) {
	if p.IsDir() {
		return nil, tool.Errorf(tool.CodeFailed, "%s is a folder, not a file; list it with ls.", tool.Name(p.Rel))
	}
	f, err := env.Files.Read(ctx, p.Real)
	return f, explain(err, p)
}

// explain turns what the editor's side says about a file into an *Error.
func explain(err error, p tool.Place) error {
	if err == nil {
		return nil
	}
	name := tool.Name(p.Rel)
	switch fault.KindOf(err) {
	case fault.NotFound:
		return tool.Errorf(tool.CodeNotFound, "%s does not exist.", name)
	case fault.Denied:
		return tool.Errorf(tool.CodeOutside, "%s: %s", name, fault.Message(err))
	case fault.Invalid:
		return tool.Errorf(tool.CodeTooLarge, "%s: %s", name, fault.Message(err))
	case fault.Stale:
		return tool.Errorf(tool.CodeStale, "%s changed while it was worked on. Read it again and repeat the call with what it holds now.", name)
	case fault.Unavailable:
		return tool.Errorf(tool.CodeFailed, "%s: %s", name, fault.Message(err))
	}
	return err
}

// opened is a folder of the workspace as a handle that nothing leads out of.
type opened struct {
	root   *os.Root
	folder string // what root is of, absolute
}

// open returns the handle of the folder that holds p. The caller closes it.
func open(p tool.Place) (*opened, error) {
	root, err := os.OpenRoot(p.Folder)
	if err != nil {
		return nil, fmt.Errorf("opening the workspace folder: %w", err)
	}
	return &opened{root: root, folder: p.Folder}, nil
}

func (o *opened) close() { _ = o.root.Close() } // it was only read

// rel returns a path of the folder relative to it.
func (o *opened) rel(abs string) string {
	r, err := filepath.Rel(o.folder, abs)
	if err != nil {
		return abs
	}
	return r
}

var errSpecial = errors.New("not a regular file")

// file reads at most limit bytes of a regular file. It never waits: a pipe or a
// device is errSpecial, a longer file errLarge.
func (o *opened) file(abs string, limit int64) ([]byte, error) {
	f, err := o.root.OpenFile(o.rel(abs), os.O_RDONLY|openFlags, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errSpecial
	}
	if info.Size() > limit {
		return nil, errLarge
	}
	data := make([]byte, 0, info.Size()+1)
	for {
		if len(data) == cap(data) {
			data = append(data, 0)[:len(data)]
		}
		n, err := f.Read(data[len(data):min(cap(data), int(limit)+1)])
		data = data[:len(data)+n]
		switch {
		case int64(len(data)) > limit:
			return nil, errLarge
		case errors.Is(err, io.EOF), err == nil && n > 0 && int64(len(data)) == info.Size():
			return data, nil // at its size as it was: nobody has to ask for the end
		case err != nil:
			return nil, err
		}
	}
}

var errLarge = errors.New("too large")

// folder lists a folder, by name.
func (o *opened) list(abs string) ([]fs.DirEntry, error) {
	f, err := o.root.OpenFile(o.rel(abs), os.O_RDONLY|openFlags, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.ReadDir(-1)
}
