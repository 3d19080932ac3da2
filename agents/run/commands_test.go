package run_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/guard"
	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/agents/run"
	snapshots "github.com/agentls/agentls/agents/snapshot"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/agents/tool/tooltest"
	"github.com/agentls/agentls/internal/mask"
	"github.com/agentls/agentls/internal/sandbox"
)

// inFolder gives a run a folder on disk, and the tool sh, a command of an access
// that writes the files of its arguments.
func inFolder(t *testing.T, environ []string) (*world, string) {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w, folder := newWorld(t), filepath.Join(top, "work")
	s := w.onShelf()
	s.files = map[string]string{}
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	w.config.Env.Folder = folder
	w.config.Snapshots = snapshots.New(snapshots.Config{Dir: filepath.Join(top, "snapshots"), Environ: environ, Now: time.Now})
	w.tool("sh", tool.Medium, nil).plan = func(_ context.Context, _ *tool.Env, args map[string]any) (*tool.Plan, error) {
		write := func(name, text string) {
			if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
				t.Error(err)
			}
		}
		return &tool.Plan{Risk: tool.Medium, Access: sandbox.Access(args["access"].(string)), Do: func(_ context.Context, env *tool.Env) (*tool.Result, error) {
			for name, text := range args["files"].(map[string]any) {
				write(name, text.(string))
			}
			if late, ok := args["late"].(string); ok {
				env.Background(func(ctx context.Context) []string {
					write(late, "while the run went on")
					<-ctx.Done()
					if last, ok := args["last"].(string); ok {
						write(last, "when the run was over")
						return []string{"a note about " + last}
					}
					return nil
				})
				for _, err := os.Stat(filepath.Join(folder, late)); err != nil; _, err = os.Stat(filepath.Join(folder, late)) {
				}
			}
			if args["panic"] != nil {
				panic("after the command")
			}
			return &tool.Result{Content: "ran", Failed: args["fails"] != nil}, nil
		}}, nil
	}
	return w, folder
}

func sh(access, rest string) string { return fmt.Sprintf(`{"access":%q,%s}`, access, rest) }

// TestWhatCommandsChangedIsTold: whatever becomes of the call, also of what it
// started and left; and once.
func TestWhatCommandsChangedIsTold(t *testing.T) {
	tooltest.Program(t, "git")
	w, folder := inFolder(t, os.Environ())
	if err := os.WriteFile(filepath.Join(folder, "a"), []byte("before"), 0o644); err != nil {
		t.Fatal(err)
	}
	w.says(
		asks(calls("sh", sh("write", `"files":{"a":"after"}`))),
		asks(calls("sh", sh("full", `"files":{"b":"new"},"fails":true`))),
		asks(calls("sh", sh("network", `"files":{"c":"new"},"panic":true`))),
		asks(calls("sh", sh("write", `"files":{"d":"new"},"late":"e"`))),
		says("done"))
	end := w.do()
	w.ended(end, activity.Goal)
	var told []string
	for _, c := range of[activity.FileChanged](w) {
		told = append(told, fmt.Sprintf("%s %s %s %s→%s", filepath.Base(tool.PathOf(c.URI)), c.Kind, c.By, w.log.blobs[c.Before], w.log.blobs[c.After]))
	}
	want := "a edit command before→after; b create command →new; c create command →new; d create command →new; e create command →while the run went on"
	if got := strings.Join(told, "; "); got != want && got != strings.Replace(want, "d create command →new; e create command →while the run went on", "e create command →while the run went on; d create command →new", 1) {
		t.Errorf("%s\nwant %s", got, want)
	}
	if len(end.Changes) != 5 {
		t.Errorf("the result has %d changes", len(end.Changes))
	}
}

// TestSEC38AChangeThatNobodySawTheEndOf is told with the values of credential files
// masked, and without its patch where those are not known.
func TestSEC38AChangeThatNobodySawTheEndOf(t *testing.T) {
	tooltest.Program(t, "git")
	const secret = "a-known-5ecret"
	known := func(context.Context, *tool.Env) (*mask.Masker, error) {
		return mask.NewOutput(map[string]string{"KEY in .env": secret}), nil
	}
	unknown := func(context.Context, *tool.Env) (*mask.Masker, error) { return nil, errDisk }
	for name, c := range map[string]struct {
		output func(context.Context, *tool.Env) (*mask.Masker, error)
		want   string
	}{"known": {known, "[masked:KEY in .env]"}, "unknown": {unknown, ""}} {
		w, folder := inFolder(t, os.Environ())
		w.config.Output = c.output
		if _, err := w.config.Snapshots.Begin(t.Context(), []string{folder}, sessionID+"/c1"); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, "a"), []byte("is "+secret), 0o644); err != nil {
			t.Fatal(err)
		}
		w.says(says("done"))
		w.config.Tools = tool.NewSet(tool.SetConfig{Tools: w.tools, Canonical: definition.CanonicalTool})
		r := run.New(w.config)
		call := model.Call{ID: "c1", Name: "sh", Args: []byte("{}")}
		r.Continue(run.Past{
			State: activity.Interrupted, Turn: 1, ModelCalls: 1, ToolCalls: 1,
			Open: []run.Open{{Call: call, State: activity.Executing, Risk: tool.Medium.String()}},
		})
		r.Do(t.Context())
		w.left.Wait()
		told := of[activity.FileChanged](w)
		if len(told) != 1 {
			t.Fatalf("%s: %d changes are told", name, len(told))
		}
		if patch := told[0].Patch; strings.Contains(patch, secret) || !strings.Contains(patch, c.want) || (c.want == "" && patch != "") {
			t.Errorf("%s: the patch is %q", name, patch)
		}
	}
}

// TestWhatACommandDoesAtTheRunsEndIsTold: what goes on in the background is ended, and
// waited for, before the run says what it changed.
func TestWhatACommandDoesAtTheRunsEndIsTold(t *testing.T) {
	tooltest.Program(t, "git")
	w, _ := inFolder(t, os.Environ())
	w.says(asks(calls("sh", sh("write", `"files":{},"late":"e","last":"f"`))), says("done"))
	end := w.do()
	w.ended(end, activity.Goal)
	if len(end.Changes) != 2 {
		t.Errorf("changes: %+v", end.Changes)
	}
	var notes []string
	for _, n := range of[activity.Note](w) {
		notes = append(notes, n.Message)
	}
	if got := strings.Join(notes, "; "); got != "After a command: a note about f." {
		t.Errorf("told %q", got)
	}
	if types := w.types(); types[len(types)-1] != (activity.RunFinished{}).Type() {
		t.Errorf("the last event is %s", types[len(types)-1])
	}
}

// TestWithoutSnapshotsThePersonIsAsked: and a command does not run when it turns out
// only then that it could not be undone.
func TestWithoutSnapshotsThePersonIsAsked(t *testing.T) {
	w, folder := inFolder(t, nil)
	w.approval = guard.Edits
	w.says(asks(calls("sh", sh("write", `"files":{"a":"x"}`))), says("done"))
	w.ended(w.do(), activity.Goal)
	if len(w.person.asked) != 1 || !strings.Contains(w.person.asked[0].Why, "git is not installed") {
		t.Errorf("asked: %+v", w.person.asked)
	}
	if _, err := os.Stat(filepath.Join(folder, "a")); err != nil {
		t.Error("what the person allowed did not run")
	}
	if len(of[activity.FileChanged](w)) > 0 {
		t.Error("a change is told that nobody saw")
	}
}

// TestQuestionsNameTheFoldersThatTheWallLetsWrite: of the workspace those that are
// trusted, and what the settings add.
func TestQuestionsNameTheFoldersThatTheWallLetsWrite(t *testing.T) {
	w := newWorld(t)
	home := t.TempDir()
	w.config.Env.Sandbox = sandbox.New(sandbox.Config{Home: home, State: filepath.Join(home, "state"), Environ: os.Environ(), Write: []string{"/extra", "/w"}})
	if wall, why := w.config.Env.Sandbox.Wall(); wall == sandbox.None {
		t.Skip(why)
	}
	w.config.Env.Folder, w.config.Env.Folders, w.config.Env.Strange = "/w", []string{"/v", "/w", "/strange"}, []string{"/strange"}
	w.tool("sh", tool.Medium, nil).plan = func(context.Context, *tool.Env, map[string]any) (*tool.Plan, error) {
		return &tool.Plan{Risk: tool.Medium, Access: sandbox.Write, Do: func(context.Context, *tool.Env) (*tool.Result, error) {
			return &tool.Result{Content: "ran"}, nil
		}}, nil
	}
	w.says(asks(calls("sh", `{}`)), says("done"))
	w.ended(w.do(), activity.Goal)
	if len(w.person.asked) != 1 || !strings.HasPrefix(w.person.asked[0].Why, "may change files in /w, /v and /extra;") {
		t.Errorf("asked: %+v", w.person.asked)
	}
}

// TestREL30WhatNothingConfinesIsNotSafe: without a wall a command that asks for
// access read may write all the same, so its start is on stable storage first, and
// after a crash it counts as one whose outcome is unknown.
func TestREL30WhatNothingConfinesIsNotSafe(t *testing.T) {
	w := newWorld(t)
	w.tool("sh", tool.Safe, nil).plan = func(context.Context, *tool.Env, map[string]any) (*tool.Plan, error) {
		return &tool.Plan{Risk: tool.Safe, Access: sandbox.Read, Do: func(context.Context, *tool.Env) (*tool.Result, error) {
			return &tool.Result{Content: "ran"}, nil
		}}, nil
	}
	w.says(asks(calls("sh", "{}")), says("done"))
	w.ended(w.do(), activity.Goal)
	for _, s := range of[activity.ToolState](w) {
		if s.State == activity.Executing && (s.Risk != "medium" || !activity.Synced(s)) {
			t.Errorf("it runs as %s", s.Risk)
		}
	}
}
