package run_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/guard"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/internal/mask"
)

// shelf is a folder in memory, of which some files are open in an editor.
type shelf struct {
	w    *world
	open map[string]bool

	mu    sync.Mutex
	files map[string]string
}

func (s *shelf) Read(_ context.Context, path string) (*tool.File, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text, ok := s.files[path]
	if !ok {
		return nil, fault.New(fault.NotFound, "shelf", "there is no %s", path)
	}
	sum := sha256.Sum256([]byte(text))
	f := &tool.File{Path: path, Text: text, Digest: hex.EncodeToString(sum[:]), Open: s.open[path]}
	if !f.Open {
		f.Data = []byte(text)
	}
	return f, nil
}

func (s *shelf) Open() []*tool.File { return nil }

func (s *shelf) Write(_ context.Context, path, base, text, _ string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	kept := of[activity.Checkpoint](s.w)
	if len(kept) == 0 || s.w.log.committed < s.w.seqOf(func(b activity.Body) bool { _, ok := b.(activity.Checkpoint); return ok }) {
		s.w.t.Errorf("%s is written before what it was is kept: %+v", path, kept)
	}
	s.files[path] = text
	return nil
}

func (s *shelf) Delete(_ context.Context, path, _, _ string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.files, path)
	return nil
}

func (s *shelf) Move(_ context.Context, from, to, _, _ string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.files[to] = s.files[from]
	delete(s.files, from)
	return nil
}

func (s *shelf) Save(context.Context, string) []string { return nil }

func (s *shelf) Wrote([]string) {}

// onShelf gives a run files, and a tool that writes them.
func (w *world) onShelf() *shelf {
	s := &shelf{w: w, files: map[string]string{"/work/a.txt": "one\n", "/work/b.txt": "two\r\n"}, open: map[string]bool{"/work/b.txt": true}}
	w.approval = guard.Free
	w.config.Env.Folder, w.config.Env.Files, w.config.Env.Edits = "/work", s, s
	w.tool("put", tool.Low, func(ctx context.Context, env *tool.Env, args map[string]any) (*tool.Result, error) {
		path, text := args["path"].(string), args["text"].(string)
		if err := env.Edits.Write(ctx, path, "", text, "put"); err != nil {
			return nil, err
		}
		if args["panic"] != nil {
			panic("after the write")
		}
		return &tool.Result{Content: "put", Changes: []activity.Change{{URI: tool.URI(path), Kind: "edit", Hunks: []activity.Hunk{}}}}, nil
	})
	return s
}

// TestFilesAreKept: what a file was before a call is kept before it is written,
// and what it is then is told, whatever becomes of the call (spec 3.7).
func TestFilesAreKept(t *testing.T) {
	in(t, func(w *world) {
		w.onShelf()
		w.says(asks(
			calls("put", `{"path":"/work/a.txt","text":"ONE\n"}`), calls("put", `{"path":"/work/b.txt","text":"TWO\r\n","panic":true}`), calls("put", `{"path":"/work/c.txt","text":"new"}`),
		), says("done"))
		end := w.do()
		w.ended(end, activity.Goal)
		if len(end.Changes) != 3 {
			t.Errorf("the result has %d changes", len(end.Changes))
		}
		kept := map[string]activity.FileChanged{}
		for _, c := range of[activity.FileChanged](w) {
			kept[c.URI] = c
		}
		for _, c := range []struct {
			uri, before, after, kind string
			buffer                   bool
		}{
			{"file:///work/a.txt", "one\n", "ONE\n", "edit", false}, {"file:///work/b.txt", "two\r\n", "TWO\r\n", "edit", true}, {"file:///work/c.txt", "", "new", "create", false},
		} {
			got, ok := kept[c.uri]
			if !ok || got.Kind != c.kind || got.Buffer != c.buffer || got.Call == "" || string(w.log.blobs[got.Before]) != c.before || string(w.log.blobs[got.After]) != c.after || (got.Before == "") != (c.before == "") {
				t.Errorf("%s: %+v", c.uri, got)
			}
			if len(got.Hunks) != 1 || !strings.Contains(got.Patch, c.uri[len("file:///work/"):]) {
				t.Errorf("%s: %q, %+v", c.uri, got.Patch, got.Hunks)
			}
		}
		w.contains("the result of the panic", w.results(1)[1].Content, "outcome is unknown")
	})
}

// TestREL96NothingIsWrittenUnkept: a file whose content cannot be kept is not
// written.
func TestREL96NothingIsWrittenUnkept(t *testing.T) {
	for name, set := range map[string]func(w *world){
		"no room for the content": func(w *world) { w.log.noBlob = errDisk },
		"no room for the event": func(w *world) {
			w.log.commit = func(_ context.Context, seq uint64) error {
				if w.log.all()[seq-1].Body.Type() == "checkpoint" {
					return errDisk
				}
				return nil
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(w *world) {
				s := w.onShelf()
				set(w)
				w.says(asks(calls("put", `{"path":"/work/a.txt","text":"ONE\n"}`)), says("done"))
				w.ended(w.do(), activity.Goal)
				if s.files["/work/a.txt"] != "one\n" {
					t.Errorf("the file is %q", s.files["/work/a.txt"])
				}
				w.contains("the result", w.results(1)[0].Content, "nothing was written", "no space left")
				if len(of[activity.FileChanged](w)) > 0 {
					t.Error("a change is told that was not made")
				}
			})
		})
	}
}

// TestSEC115SecretsOfTools: what the daemon holds is in nothing that a tool's call
// leaves, also where a piece of its output cuts it in two (spec 7.2).
func TestSEC115SecretsOfTools(t *testing.T) {
	const secret = "hold-this-1234567"
	in(t, func(w *world) {
		w.config.Mask = mask.New(map[string]string{"KEY": secret})
		w.tool("look", tool.Safe, func(_ context.Context, env *tool.Env, _ map[string]any) (*tool.Result, error) {
			env.Progress("it is " + secret[:5])
			env.Progress(secret[5:] + " and ho")
			return &tool.Result{Content: "long", Whole: io.NopCloser(strings.NewReader("whole " + secret))}, nil
		})
		w.says(asks(calls("look", `{}`)), says("done"))
		w.ended(w.do(), activity.Goal)
		said := ""
		for _, d := range of[activity.ToolDelta](w) {
			said += d.Text
		}
		if said != "it is [masked:KEY] and ho" {
			t.Errorf("the output is told as %q", said)
		}
		for name, blob := range w.log.blobs {
			if strings.Contains(string(blob), secret) || !strings.Contains(string(blob), "[masked:KEY]") {
				t.Errorf("%s is %q", name, blob)
			}
		}
	})
}

// printer is a tool that runs a command.
type printer struct {
	print func(env *tool.Env) (*tool.Result, error)
}

func (printer) Spec() tool.Spec {
	return tool.Spec{Name: "bash", Risk: tool.Safe, Parameters: json.RawMessage(`{"type":"object"}`)}
}

func (p printer) Plan(_ context.Context, _ *tool.Env, args json.RawMessage) (*tool.Plan, error) {
	return &tool.Plan{Tool: "bash", Args: args, Risk: tool.Safe, Title: "bash", Spawns: true,
		Do: func(_ context.Context, env *tool.Env) (*tool.Result, error) { return p.print(env) }}, nil
}

// TestSEC38OutputOfCommands: what masks a command's output masks all that comes of the
// call: pieces, the result, what people see, the whole, and an error.
func TestSEC38OutputOfCommands(t *testing.T) {
	const secret, masked = "a-known-5ecret", "[masked:KEY in .env]"
	output := func(context.Context, *tool.Env) (*mask.Masker, error) {
		return mask.NewOutput(map[string]string{"KEY in .env": secret}), nil
	}
	in(t, func(w *world) {
		w.config.Output = output
		w.tools = append(w.tools, printer{func(env *tool.Env) (*tool.Result, error) {
			env.Progress("it is " + secret[:5])
			env.Progress(secret[5:] + " at https://ann:p4")
			env.Progress("ss@x")
			return &tool.Result{Content: "is " + secret, Display: "shows " + secret, Whole: io.NopCloser(strings.NewReader("whole " + secret))}, nil
		}})
		w.says(asks(calls("bash", `{}`)), says("done"))
		w.ended(w.do(), activity.Goal)
		said := ""
		for _, d := range of[activity.ToolDelta](w) {
			said += d.Text
		}
		if want := "it is " + masked + " at https://[masked:credential]@x"; said != want {
			t.Errorf("the output is told as %q", said)
		}
		w.contains("the result", w.results(1)[0].Content, "is "+masked)
		for name, blob := range w.log.blobs {
			if string(blob) != "whole "+masked {
				t.Errorf("%s is %q", name, blob)
			}
		}
		for _, e := range w.log.all() {
			if text, err := json.Marshal(e.Body); err != nil || strings.Contains(string(text), secret) {
				t.Errorf("%s, %v", text, err)
			}
		}
	})
	in(t, func(w *world) {
		w.config.Output = output
		w.tools = append(w.tools, printer{func(*tool.Env) (*tool.Result, error) { return nil, tool.Errorf(tool.CodeFailed, "no %s", secret) }})
		w.says(asks(calls("bash", `{}`)), says("done"))
		w.ended(w.do(), activity.Goal)
		if got := w.results(1)[0].Content; got != "no "+masked {
			t.Errorf("the error is %q", got)
		}
	})
	in(t, func(w *world) {
		ran := false
		w.config.Output = func(context.Context, *tool.Env) (*mask.Masker, error) { return nil, errDisk }
		w.tools = append(w.tools, printer{func(*tool.Env) (*tool.Result, error) { ran = true; return &tool.Result{}, nil }})
		w.says(asks(calls("bash", `{}`)), says("done"))
		w.ended(w.do(), activity.Goal)
		if ran {
			t.Error("a command ran whose output could not be masked")
		}
	})
}
