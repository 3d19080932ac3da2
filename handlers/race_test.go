package handlers

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sourcegraph/conc"

	"github.com/agentls/agentls/agents"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/agents/tool/builtin"
)

// raceFor is a variable of the environment: how long TestSEC55 races, as "10s".
// Without it, long enough that a check by path is passed by hundreds of times.
const raceFor = "AGENTLS_RACE"

// race is a workspace in which somebody puts links in the place of files and
// folders, to what is not to be read or written, and takes them away again:
//
//	read    a file, or a link to the secret outside, or to the secret in .env
//	write   a file, or a link to its twin outside, or in .git: the same bytes, so
//	        that nothing but the place of a write can be wrong with it
//	rdir    a folder with a file, or a link to the folder outside
//	wdir    the same, of the twins
type race struct {
	*room
	out   string // the folder outside
	flips atomic.Int64
	stop  atomic.Bool
}

const (
	racing  = "inside\n"
	edited  = "inside, edited\n"
	canary  = "canary inside\n"
	ordered = "ordinary\n"
)

func newRace(t *testing.T) *race {
	r := &race{room: enter(t), out: t.TempDir()}
	for name, text := range map[string]string{
		"read": racing, "write": racing, "rdir/f": racing, "wdir/f": racing, ".env": canary, ".git/config": racing, "other/f": ordered,
	} {
		r.has(name, text)
	}
	r.outside("secret", canary)
	r.outside("twin", racing)
	r.outside("r/f", canary)
	r.outside("w/f", racing)
	return r
}

func (r *race) outside(name, text string) {
	path := filepath.Join(r.out, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

// flip puts links and files in each other's place until it is stopped.
func (r *race) flip() {
	file := func(name, target string) {
		spare := r.path("." + name + ".spare")
		_ = os.Remove(spare)
		_ = os.Symlink(target, spare)
		_ = os.Rename(spare, r.path(name))
		_ = os.WriteFile(spare, []byte(racing), 0o644)
		_ = os.Rename(spare, r.path(name))
	}
	folder := func(name, target string) {
		away := r.path("." + name + ".away")
		_ = os.Rename(r.path(name), away)
		_ = os.Symlink(target, r.path(name))
		_ = os.Remove(r.path(name))
		_ = os.Rename(away, r.path(name))
		_ = os.WriteFile(filepath.Join(r.path(name), "f"), []byte(racing), 0o644)
	}
	for !r.stop.Load() {
		file("read", filepath.Join(r.out, "secret"))
		file("write", filepath.Join(r.out, "twin"))
		folder("rdir", filepath.Join(r.out, "r"))
		folder("wdir", filepath.Join(r.out, "w"))
		file("read", ".env")
		file("write", ".git/config")
		r.flips.Add(6)
	}
}

// during flips while work is done again and again, until the time is over or
// work says that it is enough.
func (r *race) during(long time.Duration, work func() (enough bool)) (rounds int) {
	r.stop.Store(false)
	var flipper conc.WaitGroup
	flipper.Go(r.flip)
	defer flipper.Wait()
	defer r.stop.Store(true)
	for until := time.Now().Add(long); time.Now().Before(until); rounds++ {
		if work() {
			break
		}
	}
	return rounds
}

// written returns what was written where nothing may be.
func (r *race) written() (list []string) {
	for name, want := range map[string]string{"secret": canary, "twin": racing, "r/f": canary, "w/f": racing} {
		if data, err := os.ReadFile(filepath.Join(r.out, name)); err != nil || string(data) != want {
			list = append(list, fmt.Sprintf("outside %s: %q, %v", name, data, err))
		}
	}
	for name, want := range map[string]string{".env": canary, ".git/config": racing} {
		if data, err := os.ReadFile(r.path(name)); err != nil || string(data) != want {
			list = append(list, fmt.Sprintf("%s: %q, %v", name, data, err))
		}
	}
	for folder, want := range map[string]int{r.out: 4, filepath.Join(r.out, "r"): 1, filepath.Join(r.out, "w"): 1, r.path(".git"): 1} {
		if all, err := os.ReadDir(folder); err != nil || len(all) != want {
			list = append(list, fmt.Sprintf("%s: %v, %v", folder, all, err))
		}
	}
	slices.Sort(list)
	return list
}

// env is the environment of one call in the room, which has read what it edits.
func (r *room) env() *tool.Env {
	return &tool.Env{
		Session: "s", Run: "r", Call: "c", Agent: "a", Folder: r.folder, Folders: []string{r.folder}, Home: r.path("home"), Trusted: true,
		Files: r.person, Edits: r.person.Edits("r"), Seen: tool.NewSeen(), Now: time.Now, Progress: func(string) {}, Slots: make(chan struct{}, 2),
	}
}

// plan plans a call.
func (r *room) plan(env *tool.Env, name string, args map[string]any) (*tool.Plan, error) {
	r.t.Helper()
	all := builtin.Tools()
	made := all[slices.IndexFunc(all, func(t tool.Tool) bool { return t.Spec().Name == name })]
	raw, err := json.Marshal(args)
	if err != nil {
		r.t.Fatal(err)
	}
	return made.Plan(r.t.Context(), env, raw)
}

// call plans and runs a call as a run would that needs no permission.
func (r *room) call(env *tool.Env, name string, args map[string]any) (*tool.Result, error) {
	r.t.Helper()
	return r.callBetween(env, name, args, func() {})
}

// callBetween is call with something that happens between plan and run.
func (r *room) callBetween(env *tool.Env, name string, args map[string]any, between func()) (*tool.Result, error) {
	r.t.Helper()
	plan, err := r.plan(env, name, args)
	if err != nil {
		return nil, err
	}
	between()
	return plan.Run(r.t.Context(), env, tool.Mint(r.t.Context(), plan.Digest(tool.Identity{Session: "s", Run: "r", Call: "c", Agent: "a"})))
}

// TestSEC55RaceOfFilesAndLinks: whatever takes the place of a file or a folder
// while the tools and a restore work on it, nothing outside of the workspace is
// read or written, and inside it no credentials are read, and no protected place
// is written that nobody was asked about.
func TestSEC55RaceOfFilesAndLinks(t *testing.T) {
	long := 1500 * time.Millisecond
	if text := os.Getenv(raceFor); text != "" {
		var err error
		if long, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
	}
	control := newRace(t)
	plain, checked, began := 0, 0, time.Now()
	// On a busy machine nothing has escaped within long.
	control.during(20*long, func() bool {
		if data, err := os.ReadFile(control.path("read")); err == nil && string(data) == canary {
			plain++
		}
		if p, err := tool.Resolve(control.env(), "read"); err == nil && !p.Credential {
			if data, err := os.ReadFile(p.Abs); err == nil && string(data) == canary {
				checked++
			}
		}
		_ = os.WriteFile(control.path("write"), []byte(edited), 0o644)
		enough := (plain > 100 && checked > 10) || (plain > 0 && time.Since(began) > long)
		return enough && len(control.written()) > 0
	})
	wrote := control.written()
	t.Logf("positive control, by path: %d reads escaped (%d that were checked before), written: %d places, %d flips", plain, checked, len(wrote), control.flips.Load())
	if plain == 0 || len(wrote) == 0 {
		t.Fatal("a plain open by path does not escape: the race shows nothing")
	}

	r := newRace(t)
	done := make(map[string]int)
	look := func(what, content string, err error) {
		if err != nil {
			return
		}
		done[what]++
		if strings.Contains(content, "canary") {
			t.Errorf("%s reached what it must not: %q", what, content)
		}
	}
	tried := []string{"read_file", "read_many_files", "write_file", "edit_file", "grep", "ls", "glob", "restore"}
	missing := func(what string) bool { return done[what] == 0 }
	began = time.Now()
	// On a busy machine some of them have not got through once within long. Then only
	// those are tried.
	wanted := func(what string) bool { return time.Since(began) <= long || missing(what) }
	read := func(env *tool.Env, name string, args map[string]any) {
		if !wanted(name) {
			return
		}
		result, err := r.call(env, name, args)
		content := ""
		if result != nil {
			content = result.Content
		}
		look(name, content, err)
	}
	round := 0
	r.during(20*long, func() bool {
		round++
		for _, name := range []string{"read", "rdir/f"} {
			read(r.env(), "read_file", map[string]any{"file_path": name})
		}
		for _, name := range []string{"write", "wdir/f"} {
			for _, call := range []struct {
				tool string
				args map[string]any
			}{
				{"write_file", map[string]any{"file_path": name, "content": edited}},
				{"edit_file", map[string]any{"file_path": name, "old_string": "inside", "new_string": "inside, edited"}},
			} {
				env := r.env()
				env.Seen.Note(r.path(name), digest(racing))
				read(env, call.tool, call.args)
			}
			if wanted("restore") {
				err := r.restore(name, digest(racing), &agents.Content{Text: edited, Data: []byte(edited)})
				look("restore", "", err)
			}
		}
		if wanted("write_file") {
			read(r.env(), "write_file", map[string]any{"file_path": fmt.Sprintf("wdir/new%d", round), "content": racing})
			if err := r.restore(fmt.Sprintf("wdir/new%d", round), digest(racing), nil); err == nil {
				done["restore to nothing"]++
			}
		}
		if round%4 == 0 {
			read(r.env(), "read_many_files", map[string]any{"include": []string{"read", "rdir/*", "rdir/f"}})
			read(r.env(), "ls", map[string]any{"dir_path": "rdir"})
			read(r.env(), "glob", map[string]any{"pattern": "**/f"})
			env := r.env()
			env.Trusted = round%16 == 0 // with ripgrep too, where there is one
			if env.Trusted {
				env.Environ = []string{"PATH=" + os.Getenv("PATH")}
			}
			read(env, "grep", map[string]any{"pattern": "c[a]nary|inside"})
		}
		return t.Failed() || (time.Since(began) > long && !slices.ContainsFunc(tried, missing))
	})
	for _, line := range r.written() {
		t.Error("escaped: ", line)
	}
	for _, what := range tried {
		if missing(what) {
			t.Errorf("%s never got through: it was not raced", what)
		}
	}
	t.Logf("0 escapes looked for in %d rounds, %d flips; calls that got through: %v", round, r.flips.Load(), done)
}
