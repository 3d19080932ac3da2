package daemon

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/agentls/agentls/agents"
	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/agents/registry"
	"github.com/agentls/agentls/agents/run"
	"github.com/agentls/agentls/agents/session"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/handlers"
	"github.com/agentls/agentls/internal/modelserver"
	"github.com/agentls/agentls/internal/wire"
	"github.com/agentls/agentls/server"
)

// bug is what the test's panics say; it is for the log alone.
const bug = "kaboom of the test"

// TestREL20Panics: a panic in a handler, a tool, the stream of a model, what a
// run asks of the editor's side and the watcher of files ends what it happened
// in and nothing else: who asked is told, the stack is in the log, the next
// request is served, and the session is whole.
func TestREL20Panics(t *testing.T) {
	const script = "> say it\n< Said.\n"
	panicked := make(chan struct{})
	for _, c := range []struct {
		name      string
		script    string
		testHooks func(*testHooks)
		broken    func(*testing.T, *frontend)
	}{
		{"handler", script, func(s *testHooks) {
			s.routes = func(all []server.Route) []server.Route {
				return append(all, server.Query("debug/panic", func(*struct{}) int { return 0 }, func(context.Context, int, *struct{}) (any, error) { panic(bug) }))
			}
		}, func(t *testing.T, d *frontend) {
			err := d.Call(t.Context(), "debug/panic", struct{}{}, nil)
			if e := answered(t, err); e.Code != -32603 || len(e.Data.Bug) != 8 || !strings.Contains(d.log.String(), "bug="+e.Data.Bug) {
				t.Errorf("answered %v with %+v", err, e)
			}
		}},
		{"tool", "> break\n<call ls {\"path\": \".\"}\n\n>result ls\n< It broke.\n" + script, func(s *testHooks) {
			s.agents = func(c *agents.Config) {
				for i, t := range c.Tools {
					if t.Spec().Name == "ls" {
						c.Tools[i] = brokenTool{t}
					}
				}
			}
		}, func(t *testing.T, d *frontend) {
			d.says("break", "It broke.")
		}},
		{"stream", script, func(s *testHooks) {
			s.agents = func(c *agents.Config) {
				provider, once := c.Provider, new(sync.Once)
				c.Provider = func(id string) (model.Model, *model.Retries, error) {
					m, retries, err := provider(id)
					return brokenModel{m, once}, retries, err
				}
			}
		}, func(t *testing.T, d *frontend) {
			result, err := d.ask("break")
			if err != nil || result.Reason != "ERROR" || result.Error == nil || result.Error.Kind != "internal" {
				t.Errorf("%+v, %+v, %v", result, result.Error, err)
			}
		}},
		{"watcher", script, func(s *testHooks) {
			s.site = func(site *handlers.Site) {
				told := site.Changed
				first := true
				site.Changed = func(before, after *registry.Snapshot) {
					if first {
						first = false
						close(panicked)
						panic(bug)
					}
					told(before, after)
				}
			}
		}, func(t *testing.T, d *frontend) {
			if _, err := d.catalog(); err != nil { // so that it watches
				t.Fatal(err)
			}
			agent(t, d.work.Path, "two") // the watcher is told
			<-panicked
			for list := ""; !strings.Contains(list, "three"); { // by the one that began anew
				var err error
				agent(t, d.work.Path, "three")
				if list, err = d.catalog(); err != nil {
					t.Fatal(err)
				}
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBed(t)
			c.testHooks(&b.config.testHooks)
			d := b.serve(folder(t, "", "one"), c.script)
			c.broken(t, d)
			if log := d.log.String(); strings.Contains(log, bug) || !strings.Contains(log, "panic_test.go") {
				t.Errorf("the log has no stack, or what was said:\n%s", log)
			}
			d.says("say it", "Said.")
			d.end()
			b.whole(d.work.Path)
		})
	}
	t.Run("hook", func(t *testing.T) {
		parsed, err := modelserver.Parse("> break\n<call bash {\"command\": \"touch x\", \"access\": \"write\"}\n\n>result bash\n< It broke.\n" + script)
		if err != nil {
			t.Fatal(err)
		}
		played := modelserver.New(modelserver.Config{Script: parsed})
		b := newBed(t, "GEMINI_API_KEY=key")
		b.config.Transport = modelserver.Transport(played)
		log := new(logged)
		b.config.Log = slog.New(slog.NewTextHandler(log, nil))
		work := folder(t, "", "one")
		service := b.build(work).Agents
		b.answer()
		if len(b.projects()) != 1 {
			t.Fatal("the agent is not there")
		}
		for _, say := range []struct{ text, want string }{{"break", "It broke."}, {"say it", "Said."}} {
			live, err := service.Start(t.Context(), agents.Start{
				Agent: "one", Model: "flash", Folder: work.Canonical, Input: []activity.ContentBlock{{Type: "text", Text: say.text}}, Frontend: brokenDesk{}, Client: t.Context(),
			})
			if err != nil {
				t.Fatal(err)
			}
			<-live.Done()
			if got := live.Result(); got.Text != say.want {
				t.Errorf("%s: %+v", say.text, got)
			}
		}
		if strings.Contains(log.String(), bug) || !strings.Contains(log.String(), "panic_test.go") {
			t.Errorf("the log has no stack, or what was said:\n%s", log)
		}
		if err := b.daemon.Close(); err != nil {
			t.Error(err)
		}
		b.whole(work.Path)
		if err := played.Done(); err != nil {
			t.Error(err)
		}
	})
}

// TestREL31WorkOfTheDaemonsOwn: a goroutine that panics whenever it is begun anew
// ends neither the process nor what others wait for, and the person is told.
func TestREL31WorkOfTheDaemonsOwn(t *testing.T) {
	b := newBed(t)
	b.config.testHooks.site = func(site *handlers.Site) {
		site.Changed = func(_, _ *registry.Snapshot) { panic(bug) }
	}
	d := b.serve(folder(t, "", "one"), "> say it\n< Said.\n")
	for n := 0; ; n++ {
		if _, err := d.catalog(); err != nil { // so that it watches
			t.Fatal(err)
		}
		agent(t, d.work.Path, fmt.Sprintf("a%d", n))
		if slices.ContainsFunc(d.Seen().Messages, func(m string) bool {
			return strings.Contains(m, "does not see changes of files any more because of a bug") && !strings.Contains(m, bug)
		}) {
			break
		}
	}
	if n := strings.Count(d.log.String(), "level=ERROR msg=panic"); n != restarts+1 {
		t.Errorf("%d panics are in the log", n)
	}
	if err := d.SetFolders(t.Context(), []string{t.TempDir()}, nil); err != nil {
		t.Fatal(err)
	}
	if list, err := d.catalog(); err != nil || !strings.Contains(list, `"one"`) {
		t.Errorf("the catalog: %s, %v", list, err)
	}
	d.says("say it", "Said.")
}

// whole checks that the session of a folder is as it should be: nothing in it is
// damaged, and every run and call of it has an end.
func (b *bed) whole(folder string) {
	b.t.Helper()
	damage := new(logged)
	store := session.New(session.Config{
		Dir: filepath.Join(b.config.Home, "agentls", "sessions", session.Key(folder)), Folder: folder, Now: b.config.Now, Log: slog.New(slog.NewTextHandler(damage, nil)),
	})
	_, runs, err := store.Peek("main")
	if err != nil || len(runs) == 0 || damage.String() != "" {
		b.t.Fatalf("%d runs, %v\n%s", len(runs), err, damage)
	}
	for _, r := range runs {
		if r.State != activity.Finished {
			b.t.Errorf("the run %s is %s", r.Run, r.State)
		}
	}
	kept, err := store.Get("main")
	if err != nil {
		b.t.Fatal(err)
	}
	all, err := kept.Log.Read(0, 10000)
	if err != nil || damage.String() != "" {
		b.t.Errorf("%v\n%s", err, damage)
	}
	calls := make(map[string]bool) // whether it has ended
	for i, e := range all {
		event, err := e.Event("main")
		if err != nil || event.Seq != uint64(i+1) {
			b.t.Errorf("event %d is %d, %v", i+1, event.Seq, err)
		}
		if s, ok := event.Body.(activity.ToolState); ok {
			calls[s.Call] = s.State.Terminal()
		}
	}
	for call, ended := range calls {
		if !ended {
			b.t.Errorf("the call %s has no end", call)
		}
	}
	if err := store.Close(); err != nil {
		b.t.Error(err)
	}
}

// catalog returns the agents that the daemon lists, as JSON.
func (d *frontend) catalog() (string, error) {
	var list json.RawMessage
	err := d.Call(d.t.Context(), wire.MethodList, &wire.ListParams{}, &list)
	return string(list), err
}

// brokenTool panics when it runs.
type brokenTool struct{ tool.Tool }

func (b brokenTool) Plan(ctx context.Context, env *tool.Env, args json.RawMessage) (*tool.Plan, error) {
	p, err := b.Tool.Plan(ctx, env, args)
	if err == nil {
		p.Do = func(context.Context, *tool.Env) (*tool.Result, error) { panic(bug) }
	}
	return p, err
}

// brokenModel panics after the first chunk of its first answer.
type brokenModel struct {
	model.Model
	once *sync.Once
}

func (b brokenModel) Generate(ctx context.Context, q *model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		b.once.Do(func() {
			yield(model.Chunk{Text: "Half"}, nil)
			panic(bug)
		})
		b.Model.Generate(ctx, q)(yield)
	}
}

// brokenDesk panics when the person is to be asked.
type brokenDesk struct{ agents.Frontend }

func (brokenDesk) CanConfirm() bool                                 { return true }
func (brokenDesk) Confirm(context.Context, run.Question) run.Answer { panic(bug) }
func (brokenDesk) Open() []*tool.File                               { return nil }
func (brokenDesk) Edits(string) tool.Edits                          { return nil }
func (brokenDesk) Languages() tool.Languages                        { return nil }
func (brokenDesk) Ask(string, string, string) tool.Ask              { return nil }
