package builtin

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/agentls/agentls/agents/activity"
	diff "github.com/agentls/agentls/agents/change"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/fault"
)

// deleteArgs are the arguments of delete_file.
type deleteArgs struct {
	FilePath string `json:"file_path"`
}

// deleteFile returns the tool that deletes one file.
func deleteFile() tool.Tool {
	return define("delete_file", tool.High, `{
	"type": "object",
	"properties": {
		"file_path": {"type": "string", "minLength": 1, "description": "The file, relative to the workspace folder or absolute inside it."}
	},
	"required": ["file_path"],
	"additionalProperties": false
}`, fileAliases, planDelete)
}

// moveArgs are the arguments of move_file.
type moveArgs struct {
	FilePath string `json:"file_path"`
	NewPath  string `json:"new_path"`
}

// moveFile returns the tool that gives one file another path.
func moveFile() tool.Tool {
	return define("move_file", tool.Low, `{
	"type": "object",
	"properties": {
		"file_path": {"type": "string", "minLength": 1, "description": "The file, relative to the workspace folder or absolute inside it."},
		"new_path": {"type": "string", "minLength": 1, "description": "Its new path, where nothing may lie yet."}
	},
	"required": ["file_path", "new_path"],
	"additionalProperties": false
}`, join(fileAliases, map[string]string{
		"source": "file_path", "from": "file_path", "old_path": "file_path", "source_path": "file_path",
		"destination": "new_path", "to": "new_path", "target": "new_path", "destination_path": "new_path",
		"newPath": "new_path",
	}), planMove)
}

// removedFile is a file that a call takes away from its place.
//
// It is made when the call is planned. file is the content at that time, whose digest a
// deletion or a move must still find.
type removedFile struct {
	path string // as the model named it
	at   tool.Place
	file *tool.File
}

// newLeaving finds the file and what forbids to take it away.
// Refused are links and folders (CodeFailed) and sealed places (CodeDenied). A place is
// judged twice: by its path, and by the file that was read there (ReadAs), which may be a
// hard link to a sealed one.
func newLeaving(ctx context.Context, env *tool.Env, path string) (*removedFile, error) {
	p, err := tool.Resolve(env, path)
	if err != nil {
		return nil, err
	}
	name := tool.Name(p.Rel)
	// What is meant, the link or the file, a person could not tell from the name.
	if info, err := os.Lstat(p.Abs); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return nil, tool.Errorf(tool.CodeFailed, "%s is a link to %s. Name the file itself; a link stays.",
			tool.Name(path), name)
	}
	if p.IsDir() {
		return nil, tool.Errorf(tool.CodeFailed, "%s is a folder. Give one file at a time.", name)
	}
	if err := sealError(p); err != nil {
		return nil, err
	}
	f, err := read(ctx, env, p)
	if err != nil {
		return nil, err
	}
	// By its other names, if it has some: they are known only now.
	if p = p.ReadAs(env, f.Info); p.Sealed != "" {
		return nil, sealError(p)
	}
	return &removedFile{path, p, f}, nil
}

// again returns an error if the file is not any more where the person was told.
func (l *removedFile) again(env *tool.Env) error { return sameWay(env, l.path, l.at) }

// removal is the change of the file's going.
// The patch has the whole content, so that the person sees what is lost.
func (l *removedFile) removal() activity.Change {
	text := wholeText(l.file)
	return diff.Of(tool.URI(l.at.Real), l.at.Rel, &text, nil)
}

// wholeText is what package change compares: of what is no text, the bytes.
func wholeText(f *tool.File) string {
	if f.Binary {
		return string(f.Data)
	}
	return f.Text
}

// sameWay returns an error if a path leads elsewhere than when its call was
// decided about.
// Compared are the resolved path and whether the place is protected or sealed. The error
// is CodeStale, or that of resolving the path.
func sameWay(env *tool.Env, path string, was tool.Place) error {
	now, err := tool.Resolve(env, path)
	if err != nil {
		return err
	}
	if now.Real != was.Real || now.Sealed != "" || now.Protected != was.Protected {
		return tool.Errorf(tool.CodeStale, "%s leads elsewhere than when the call was decided about. Repeat the call.",
			tool.Name(path))
	}
	return nil
}

// planDelete plans a deletion; the person is shown what the file holds.
// A file that is another, or elsewhere, when the call is done is not deleted.
func planDelete(ctx context.Context, env *tool.Env, args deleteArgs) (*tool.Plan, error) {
	l, err := newLeaving(ctx, tool.Together(env), args.FilePath)
	if err != nil {
		return nil, err
	}
	name, change := tool.Name(l.at.Rel), l.removal()
	p := &tool.Plan{
		Risk: tool.High, Why: "deletes a file", Title: "delete_file " + name, Path: l.at.Real,
		Writes:  []string{l.at.Real},
		Preview: tool.Preview{Kind: "diff", OldText: l.file.Text, Patch: change.Patch},
	}
	if l.at.Protected {
		p.Risk, p.Why = tool.Protected, "deletes in a protected place: "+l.at.ProtectedBy
	}
	if tool.Suspicious(l.path) || tool.Suspicious(l.at.Rel) {
		p.Risk = p.Risk.Raise()
		p.Why += "; its name holds characters that are not seen"
	}
	p.Do = func(ctx context.Context, env *tool.Env) (*tool.Result, error) {
		if err := l.again(env); err != nil {
			return nil, err
		}
		if err := env.Edits.Delete(ctx, l.at.Real, l.file.Digest, "delete_file "+name); err != nil {
			return nil, unchangedError(err, l.at)
		}
		return &tool.Result{Content: "Deleted " + name + ".", Display: "Deleted " + name,
			Changes: []activity.Change{change}}, nil
	}
	return p, nil
}

// planMove plans a move. It reads and writes at both places, so rules and
// protected places of either count. Moving a file into a place where programs run
// it is as risky as writing it there.
// The text is judged as if it were written anew at the target and removed from the source:
// a package.json that moves changes what package managers run, and a text that becomes a
// .json file may bring an address that editors fetch.
func planMove(ctx context.Context, env *tool.Env, args moveArgs) (*tool.Plan, error) {
	env = tool.Together(env)
	l, err := newLeaving(ctx, env, args.FilePath)
	if err != nil {
		return nil, err
	}
	to, err := newTarget(env, args.NewPath)
	if err != nil {
		return nil, err
	}
	name, target := tool.Name(l.at.Rel), tool.Name(to.Rel)
	p := &tool.Plan{
		Risk: tool.Low, Why: "moves a file", Title: "move_file " + name + " to " + target, Path: l.at.Real,
		Reads: []string{l.at.Real}, Writes: []string{l.at.Real, to.Real},
	}
	text := wholeText(l.file)
	remote := newRemoteSchemas(to.Real, "", text)
	switch {
	case l.at.Protected:
		p.Risk, p.Why = tool.Protected, "moves a file out of a protected place: "+l.at.ProtectedBy
	case to.Protected:
		p.Risk, p.Why = tool.Protected, "moves a file into a protected place: "+to.ProtectedBy
	case scriptsChange(l.at.Real, text, ""), scriptsChange(to.Real, "", text):
		p.Risk, p.Why = tool.High, "changes what package managers run"
	// An address that editors fetch at the old place already is nothing new.
	case len(remote) > 0 && len(newRemoteSchemas(l.at.Real, "", text)) == 0:
		p.Risk, p.Why = tool.High,
			"makes a file with an address that editors and other programs fetch by themselves: "+strings.Join(remote,
				", ")
	default:
		p.Shape, p.Covers = ordinaryFiles(l.at.Folder, to.Folder)
	}
	if tool.Suspicious(args.FilePath) || tool.Suspicious(args.NewPath) || tool.Suspicious(l.at.Rel) ||
		tool.Suspicious(to.Rel) {
		p.Risk = p.Risk.Raise()
		p.Why += "; a name holds characters that are not seen"
		p.Shape, p.Covers = "", ""
	}
	p.Do = func(ctx context.Context, env *tool.Env) (*tool.Result, error) {
		if err := l.again(env); err != nil {
			return nil, err
		}
		if err := sameWay(env, args.NewPath, to); err != nil {
			return nil, err
		}
		if err := env.Edits.Move(ctx, l.at.Real, to.Real, l.file.Digest, "move_file "+name); err != nil {
			return nil, unchangedError(err, l.at)
		}
		// What the model had read it has read at the new place too.
		if env.Seen.Digest(l.at.Real) == l.file.Digest {
			if now, err := env.Files.Read(ctx, to.Real); err == nil && wholeText(now) == text {
				env.Seen.Note(to.Real, now.Digest)
			}
		}
		return &tool.Result{
			Content: fmt.Sprintf("Moved %s to %s.", name, target), Display: fmt.Sprintf("Moved %s to %s", name, target),
			Changes: []activity.Change{l.removal(), diff.Of(tool.URI(to.Real), to.Rel, nil, &text)},
		}, nil
	}
	return p, nil
}

// newTarget resolves the path of a file that is to be made, and finds what
// forbids it.
// Errors: CodeArgs for a folder, CodeFailed for a file that exists, CodeDenied for a
// sealed place.
func newTarget(env *tool.Env, path string) (tool.Place, error) {
	p, err := tool.Resolve(env, path)
	switch {
	case err != nil:
		return p, err
	case p.IsDir() || p.Rel == "." || strings.HasSuffix(path, "/"):
		return p, tool.Errorf(tool.CodeArgs, "/new_path: %s is a folder; give the whole path of the file.",
			tool.Name(path))
	// The move itself checks again that nothing lies there ([tool.Edits]).
	case p.Exists():
		return p, tool.Errorf(tool.CodeFailed, "%s exists already, and nothing is overwritten.", tool.Name(p.Rel))
	}
	return p, sealError(p)
}

// ordinaryFiles returns what an answer for changes of ordinary files is remembered
// for, and in words what that covers; nothing where they lie in several folders.
//
// folders must not be empty. shape is the key of the remembered answer, covers what the
// person reads.
func ordinaryFiles(folders ...string) (shape, covers string) {
	for _, folder := range folders[1:] {
		if folder != folders[0] {
			return "", ""
		}
	}
	return "files in " + folders[0], "changes of ordinary files in " + tool.Name(folders[0])
}

// unchangedError explains why a file was not changed.
// It says it for the model: denied, or what explain makes of it.
func unchangedError(err error, p tool.Place) error {
	if fault.KindOf(err) == fault.Denied {
		return tool.Errorf(tool.CodeDenied, "%s was not changed: %s", tool.Name(p.Rel), fault.Message(err))
	}
	return explain(err, p)
}
