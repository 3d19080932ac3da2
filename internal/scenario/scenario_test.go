package scenario_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"go.lsp.dev/uri"
	"go.uber.org/goleak"

	"github.com/agentls/agentls/internal/daemon"
	"github.com/agentls/agentls/internal/editortest"
	"github.com/agentls/agentls/internal/modelserver"
	"github.com/agentls/agentls/internal/sandbox"
	"github.com/agentls/agentls/internal/testrun"
	"github.com/agentls/agentls/internal/wire"
	"github.com/agentls/agentls/workspace"
)

// TestScenario plays every story of testdata. Run with UPDATE=1 to accept what
// is seen now.
func TestScenario(t *testing.T) {
	// The worker is started by a library that the Gemini client links, for good.
	t.Cleanup(func() { goleak.VerifyNone(t, goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start")) })
	t.Cleanup(func() { checkVerified(t) })
	testscript.Run(t, stories(t, "testdata"))
}

// stories are how the stories of a folder are played.
func stories(t *testing.T, dir string) testscript.Params {
	return testscript.Params{
		Dir:           dir,
		UpdateScripts: os.Getenv("UPDATE") != "",
		Setup: func(env *testscript.Env) error {
			name := strings.TrimPrefix(filepath.Base(env.WorkDir), "script-")
			env.Values[key{}] = &story{dir: env.WorkDir, wrong: func(err error) { t.Errorf("%s: %v", name, err) }}
			return nil
		},
		Condition: func(condition string) (bool, error) {
			if condition == "redis" {
				_, err := exec.LookPath("redis-server")
				return err == nil || os.Getenv("CI") != "", nil
			}
			if condition != "bubblewrap" {
				return false, fmt.Errorf("unknown condition %q", condition)
			}
			if runtime.GOOS == "linux" && os.Getenv("CI") != "" {
				return true, nil // it is needed there, not left out
			}
			box := sandbox.New(sandbox.Config{Home: t.TempDir(), State: t.TempDir(), Environ: os.Environ()})
			return box.CanLimitHosts(), nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"editor": cmdEditor,
			"open":   step(1, func(ctx context.Context, s *story, a []string) error { return s.editor.Open(ctx, a[0]) }),
			"restore": step(2, func(ctx context.Context, s *story, a []string) error {
				return s.typeFile(ctx, s.editor.Restore, a[0], a[1])
			}),
			"type": step(2, func(ctx context.Context, s *story, a []string) error {
				return s.typeFile(ctx, s.editor.Type, a[0], a[1])
			}),
			"undo":        step(1, func(ctx context.Context, s *story, a []string) error { return s.editor.Undo(ctx, a[0]) }),
			"save":        step(1, func(ctx context.Context, s *story, a []string) error { return s.editor.Save(ctx, a[0]) }),
			"save-closed": step(1, func(ctx context.Context, s *story, a []string) error { return s.editor.SaveClosed(ctx, a[0]) }),
			"close":       step(1, func(ctx context.Context, s *story, a []string) error { return s.editor.CloseFile(ctx, a[0]) }),
			"buffer":      show(func(s *story, a []string) (string, error) { return s.editor.Buffer(a[0]) }),
			"focus":       step(2, func(ctx context.Context, s *story, a []string) error { return s.focus(ctx, a[0], a[1]) }),
			"reply":       cmdReply,
			"write":       step(1, func(_ context.Context, s *story, a []string) error { s.editor.Write(a[0]); return nil }),
			"run":         cmdRun,
			"start":       cmdStart,
			"await":       cmdAwait,
			"steer":       step(2, func(ctx context.Context, s *story, a []string) error { return s.steer(ctx, a[0], a[1]) }),
			"cancel":      step(1, func(ctx context.Context, s *story, a []string) error { return s.cancel(ctx, a[0]) }),
			"folders":     step(2, func(ctx context.Context, s *story, a []string) error { return s.changeFolders(ctx, a[0], a[1]) }),
			"subscribe":   show(func(s *story, a []string) (string, error) { return s.subscribe(a) }),
			"unsubscribe": step(1, func(ctx context.Context, s *story, a []string) error { return s.editor.Unsubscribe(ctx, a[0]) }),
			"sessions":    show(func(s *story, _ []string) (string, error) { return s.sessions() }),
			"context":     show(func(s *story, a []string) (string, error) { return s.context(a) }),
			"clear":       cmdClear,
			"disk":        step(1, func(_ context.Context, s *story, a []string) error { return s.onDisk(a[0]) }),
			"old":         step(1, func(_ context.Context, s *story, a []string) error { return s.old(a[0]) }),
			"command":     cmdCommand,
			"request":     cmdRequest,
			"completion":  show(func(s *story, a []string) (string, error) { return s.completion(a) }),
			"hover":       show(func(s *story, a []string) (string, error) { return s.hover(a) }),
			"about":       show(func(s *story, a []string) (string, error) { return s.about(a) }),
			"findings":    show(func(s *story, a []string) (string, error) { return s.findings(a) }),
			"respond":     cmdRespond,
			"permissions": show(func(s *story, _ []string) (string, error) { return s.permissions() }),
			"forget":      step(1, func(ctx context.Context, s *story, a []string) error { return s.forget(ctx, a[0]) }),
			"trust":       step(1, func(ctx context.Context, s *story, a []string) error { return s.trust(ctx, a[0]) }),
			"elsewhere":   step(1, func(ctx context.Context, s *story, a []string) error { return s.trustElsewhere(ctx, a[0]) }),
			"extension":   step(2, func(ctx context.Context, s *story, a []string) error { return s.extension(ctx, a[0], a[1]) }),
			"gate":        step(1, func(_ context.Context, s *story, a []string) error { s.model.Open(a[0]); return nil }),
			"activity":    show(func(s *story, a []string) (string, error) { return s.activity(a), nil }),
			"asked":       show(func(s *story, _ []string) (string, error) { return s.asked(), nil }),
			"dialogs":     show(func(s *story, _ []string) (string, error) { return lines(s.editor.Seen().Dialogs), nil }),
			"messages":    show(func(s *story, _ []string) (string, error) { return lines(s.editor.Seen().Messages), nil }),
			"progress":    show(func(s *story, _ []string) (string, error) { return lines(s.editor.Seen().Progress), nil }),
			"shown":       show(func(s *story, _ []string) (string, error) { return s.shown() }),
			"agents":      show(func(s *story, _ []string) (string, error) { return s.agents() }),
			"log":         show(func(s *story, a []string) (string, error) { return s.log(a) }),
			"goto":        show(func(s *story, a []string) (string, error) { return s.goTo(a) }),
			"rename":      show(func(s *story, a []string) (string, error) { return s.rename(a) }),
			"move":        show(func(s *story, a []string) (string, error) { return s.moveFile(a) }),
			"actions":     show(func(s *story, a []string) (string, error) { return s.offered(a) }),
			"act":         show(func(s *story, a []string) (string, error) { return s.act(a) }),
			"format":      show(func(s *story, a []string) (string, error) { return s.format(a) }),
			"registered":  show(func(s *story, _ []string) (string, error) { return s.registered() }),
			"symbols":     show(func(s *story, a []string) (string, error) { return s.symbols(a) }),
			"rewind":      cmdRewind,
			"fork":        cmdFork,
			"begin":       cmdBegin,
			"changes":     show(func(s *story, a []string) (string, error) { return s.changes(a) }),
			"resolve":     cmdResolve,
			"resume":      cmdResume,
			"session":     step(2, func(ctx context.Context, s *story, a []string) error { return s.session(ctx, a[0], a[1]) }),
			"crash":       step(0, func(_ context.Context, s *story, _ []string) error { return s.kill() }),
			"stall":       step(0, func(_ context.Context, s *story, _ []string) error { s.editor.Stall(); return nil }),
			"read":        step(0, func(_ context.Context, s *story, _ []string) error { s.editor.Read(); return nil }),
			"die":         step(0, func(_ context.Context, s *story, _ []string) error { s.editor.Die(); return s.hangUp() }),
			"hangup":      step(0, func(_ context.Context, s *story, _ []string) error { return s.hangUp() }),
			"shutdown":    step(0, func(ctx context.Context, s *story, _ []string) error { return s.shutDown(ctx) }),
			"model":       step(1, func(_ context.Context, s *story, a []string) error { return s.play(a[0]) }),
			"web":         cmdWeb,
			"redis":       cmdRedis,
			"visited":     show(func(s *story, _ []string) (string, error) { return s.visited(), nil }),
			"played":      step(0, func(context.Context, *story, []string) error { return nil }),
		},
	}
}

type key struct{}

// patience bounds each step; a story that needs it has failed.
const patience = 2 * time.Minute

// story is one script's world.
type story struct {
	dir    string
	editor *editortest.Editor
	model  *modelserver.Server
	door   *modelserver.Local
	done   chan error   // the daemon's end
	killed func() error // ends the daemon's process at once; nil where it is none of its own
	runs   map[string]chan result
	wrong  func(error) // what is found when the story is over
	over   bool        // its sessions were run again

	revision int                 // of the catalog that was seen last
	hunks    map[string][]string // their ids, by URI, as changes has shown them last
	web      web
	redis    redis
	proxied  bool // the person's proxy is the server of pages, for a daemon of another process
}

type result struct {
	result *wire.RunResult
	err    error
}

func of(ts *testscript.TestScript) *story { return ts.Value(key{}).(*story) }

// step makes a verb that takes n arguments and may be expected to fail.
func step(n int, do func(context.Context, *story, []string) error) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		if len(args) != n {
			ts.Fatalf("takes %d arguments", n)
		}
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		expect(ts, neg, do(ctx, of(ts), args))
	}
}

// show makes a verb that prints what is seen.
func show(do func(*story, []string) (string, error)) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		s := of(ts)
		text, err := do(s, args)
		expect(ts, neg, err)
		fmt.Fprint(ts.Stdout(), s.plain(text))
	}
}

// expect holds an outcome to what the script says of it; the error is what
// stderr has afterwards.
func expect(ts *testscript.TestScript, neg bool, err error) {
	if err != nil {
		fmt.Fprintln(ts.Stderr(), of(ts).plain(err.Error()))
	}
	if neg != (err != nil) {
		if err == nil {
			ts.Fatalf("it succeeded")
		}
		ts.Fatalf("%v", err)
	}
}

// play makes the file of that name what the model says.
func (s *story) play(name string) error {
	text, err := os.ReadFile(filepath.Join(s.dir, name))
	if err != nil {
		return err
	}
	script, err := modelserver.Parse(strings.NewReplacer("$WORK", s.dir, "$WEB", s.web.host).Replace(string(text)))
	if err != nil {
		return err
	}
	s.model = modelserver.New(modelserver.Config{Script: script})
	s.door = modelserver.Transport(s.model)
	return nil
}

// cmdEditor starts a daemon and connects an editor to it: editor [-plain]
// [-untrusted] [-nokey] [-noapply] [-noversions] [-decides] [-nodialog] [-noshow]
// [-noprogress] [-lies] [-crlf] [-process] [-respond] [-optout TYPES] [-folders A,B…]
// [-approve MODE] [-can CAPABILITIES] [-proxy]. The model plays the file model. Without -folders the workspace
// is the folder work.
func cmdEditor(ts *testscript.TestScript, _ bool, args []string) {
	s := of(ts)
	config := editortest.Config{Dir: filepath.Join(s.dir, "work"), Agents: editortest.Native()}
	ts.Check(os.MkdirAll(config.Dir, 0o755))
	d := daemon.Config{
		Home: filepath.Join(s.dir, "home"), Trust: true, Version: "test", Now: time.Now,
		Environ: []string{"GEMINI_API_KEY=test", "GOOGLE_GEMINI_BASE_URL=http://model.invalid", "PATH=" + os.Getenv("PATH"), "HOME=" + s.dir},
		Log:     slog.New(slog.NewTextHandler(io.Discard, nil)),
	}
	d.RunTest = testrun.With(d)
	process := false
	for i := 0; i < len(args); i++ {
		switch args[i] {
		case "-plain":
			config.Agents = nil
		case "-untrusted":
			d.Trust = false
		case "-nokey":
			d.Environ = d.Environ[2:]
		case "-noapply":
			config.NoApplyEdit = true
		case "-noversions":
			config.NoVersions = true
		case "-decides":
			config.Decides = true
		case "-nodialog":
			config.NoDialog = true
		case "-noshow":
			config.NoShowDocument = true
		case "-noprogress":
			config.NoProgress = true
		case "-noanswer":
			config.NoAnswer = true
		case "-lies":
			config.LiesAboutEdits = true
		case "-crlf":
			config.CRLF = true
		case "-process":
			process = true
		case "-proxy":
			process, s.proxied = true, true
		case "-folders":
			i++
			var dirs []string
			for name := range strings.SplitSeq(args[i], ",") {
				dirs = append(dirs, filepath.Join(s.dir, name))
			}
			config.Dir, config.Folders = dirs[0], dirs[1:]
		case "-can":
			i++
			config.Can = args[i]
		case "-respond":
			config.Agents.Confirm.Respond = true
		case "-optout":
			i++
			config.Agents.Activity.OptOut = strings.Split(args[i], ",")
		case "-approve":
			i++
			switch args[i] {
			case "plan", "ask", "edits", "auto":
				d.Approval = approvals[args[i]]
			default:
				ts.Fatalf("no mode %q", args[i])
			}
		default:
			ts.Fatalf("unknown option %s", args[i])
		}
	}
	if s.model == nil {
		if _, err := os.Stat(filepath.Join(s.dir, "model")); err == nil {
			ts.Check(s.play("model"))
		} else {
			s.model = modelserver.New(modelserver.Config{})
			s.door = modelserver.Transport(s.model)
		}
	}
	s.runs, s.revision = make(map[string]chan result), 0
	var near io.ReadWriteCloser
	var err error
	if process {
		near, err = s.spawn(d)
		ts.Check(err)
	} else {
		d.Transport = s.door
		near = s.serve(d)
	}
	s.editor, err = editortest.Connect(context.Background(), near, config)
	ts.Check(err)
	ts.Defer(func() { // not Fatalf: the story is over
		if err := s.hangUp(); err != nil {
			s.wrong(err)
		}
		s.verify(d)
		if failures := s.model.Failures(); len(failures) > 0 {
			s.wrong(fmt.Errorf("the model was not asked what its script says: %s", strings.Join(failures, "\n")))
		} else if err := s.model.Done(); err != nil {
			s.wrong(err)
		}
	})
}

// serve starts a daemon in this process.
func (s *story) serve(d daemon.Config) io.ReadWriteCloser {
	near, far := net.Pipe()
	done := make(chan error, 1)
	s.done, s.killed = done, nil
	go func() {
		_, err := daemon.Serve(context.Background(), far, d)
		done <- err
	}()
	return near
}

// hangUp closes the editor without shutting the daemon down, and waits for the
// daemon's end.
func (s *story) hangUp() error {
	if s.editor == nil {
		return nil
	}
	err := s.editor.Close()
	s.editor = nil
	select {
	case ended := <-s.done:
		if ended != nil {
			return ended
		}
	case <-time.After(patience):
		return fmt.Errorf("the daemon does not end")
	}
	s.door.Wait()
	return err
}

func (s *story) shutDown(ctx context.Context) error {
	if err := s.editor.Shutdown(ctx); err != nil {
		return err
	}
	return s.hangUp()
}

// typeFile gives the text of a file of the story to a buffer.
func (s *story) typeFile(ctx context.Context, do func(ctx context.Context, name, text string) error, name, from string) error {
	text, err := os.ReadFile(filepath.Join(s.dir, from))
	if err != nil {
		return err
	}
	return do(ctx, name, string(text))
}

// focus says where the person is. The range is JSON, "" for nothing said of it.
func (s *story) focus(ctx context.Context, name, selection string) error {
	p := &wire.FocusParams{TextDocument: wire.FocusDocument{URI: string(uri.File(filepath.Join(s.dir, "work", name)))}}
	if selection != "" {
		if err := json.Unmarshal([]byte(selection), &p.Selection); err != nil {
			return err
		}
	}
	return s.editor.Notify(ctx, wire.MethodFocus, p)
}

// changeFolders adds or removes a workspace folder: folders add B, folders
// remove A.
func (s *story) changeFolders(ctx context.Context, verb, name string) error {
	dir := []string{filepath.Join(s.dir, name)}
	switch verb {
	case "add":
		return s.editor.SetFolders(ctx, dir, nil)
	case "remove":
		return s.editor.SetFolders(ctx, nil, dir)
	}
	return fmt.Errorf("folders add or remove, not %s", verb)
}

// subscribe subscribes to a session and prints what is past, but for deltas:
// subscribe SESSION [FROM].
func (s *story) subscribe(args []string) (string, error) {
	from := uint64(0)
	if len(args) == 2 {
		var err error
		if from, err = strconv.ParseUint(args[1], 10, 64); err != nil {
			return "", err
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	past, err := s.editor.Subscribe(ctx, args[0], from)
	var b strings.Builder
	for _, e := range past {
		if !strings.HasSuffix(e.Type, ".delta") {
			fmt.Fprintf(&b, "%d %s %s\n", e.Seq, e.Type, e.Data)
		}
	}
	return b.String(), err
}

// cmdClear ends an agent's context: clear AGENT [purge].
func cmdClear(ts *testscript.TestScript, neg bool, args []string) {
	call(ts, neg, wire.MethodContextClear, &wire.ContextClearParams{Agent: args[0], Purge: len(args) == 2 && args[1] == "purge"})
}

func (s *story) cancel(ctx context.Context, run string) error {
	return s.editor.Call(ctx, wire.MethodCancel, &wire.CancelParams{Run: run}, nil)
}

func (s *story) trust(ctx context.Context, word string) error {
	return s.editor.Call(ctx, wire.MethodTrust, &wire.TrustParams{URI: "file://" + filepath.Join(s.dir, "work"), Trusted: new(word == "yes")}, nil)
}

// trustElsewhere records trust as another process does: elsewhere yes.
func (s *story) trustElsewhere(ctx context.Context, word string) error {
	records := workspace.NewTrust(filepath.Join(s.dir, "home/agentls/trust.json"), time.Now)
	active, err := workspace.ReadActive(ctx, filepath.Join(s.dir, "work"))
	if err != nil {
		return err
	}
	return records.Set(ctx, filepath.Join(s.dir, "work"), word == "yes", active.Items...)
}

// cmdCommand executes a command of the daemon's: command [-run ID] NAME [JSON…].
// With an id it is one that runs an agent, and goes on until it is awaited.
func cmdCommand(ts *testscript.TestScript, neg bool, args []string) {
	id := ""
	if len(args) > 2 && args[0] == "-run" {
		id, args = args[1], args[2:]
	}
	list := []json.RawMessage{}
	for _, a := range args[1:] {
		list = append(list, json.RawMessage(a))
	}
	params := map[string]any{"command": args[0], "arguments": list}
	if id == "" {
		call(ts, neg, "workspace/executeCommand", params)
		return
	}
	raw, err := json.Marshal(params)
	ts.Check(err)
	s, end := of(ts), make(chan result, 1)
	s.runs[id] = end
	editor := s.editor
	go func() { // ends with the run, or with the connection
		r := new(wire.RunResult)
		err := editor.Call(context.Background(), "workspace/executeCommand", rawParams(raw), r)
		end <- result{r, err}
	}()
}

// cmdRequest sends any request: request METHOD JSON.
func cmdRequest(ts *testscript.TestScript, neg bool, args []string) {
	call(ts, neg, args[0], json.RawMessage(args[1]))
}

// cmdRespond answers the last question by agents/respond: respond JSON.
func cmdRespond(ts *testscript.TestScript, neg bool, args []string) {
	asked := of(ts).editor.Seen().Questions
	if len(args) != 1 || len(asked) == 0 {
		ts.Fatalf("takes an answer to a question that was asked")
	}
	q := asked[len(asked)-1]
	call(ts, neg, wire.MethodRespond, &wire.RespondParams{ID: q.ID, Nonce: q.Nonce, Answer: json.RawMessage(args[0])})
}

func call(ts *testscript.TestScript, neg bool, method string, params any) {
	s := of(ts)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	raw, err := json.Marshal(params)
	ts.Check(err)
	var out any
	err = s.editor.Call(ctx, method, rawParams(raw), &out)
	if data := dataOf(err); data != "" {
		err = fmt.Errorf("%w %s", err, data)
	}
	expect(ts, neg, err)
	if err == nil {
		text, _ := json.Marshal(out)
		fmt.Fprintln(ts.Stdout(), s.plain(string(text)))
	}
}
