package scenario_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"

	"github.com/agentls/agentls/internal/daemon"
	"github.com/agentls/agentls/internal/editortest"
	"github.com/agentls/agentls/internal/modelserver"
	"github.com/agentls/agentls/internal/wire"
	"github.com/agentls/agentls/workspace"
)

// TestScenario plays every story of testdata. Run with UPDATE=1 to accept what
// is seen now.
func TestScenario(t *testing.T) {
	// The worker is started by a library that the Gemini client links, for good.
	t.Cleanup(func() { goleak.VerifyNone(t, goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start")) })
	testscript.Run(t, testscript.Params{
		Dir:           "testdata",
		UpdateScripts: os.Getenv("UPDATE") != "",
		Setup: func(env *testscript.Env) error {
			name := strings.TrimPrefix(filepath.Base(env.WorkDir), "script-")
			env.Values[key{}] = &story{dir: env.WorkDir, wrong: func(err error) { t.Errorf("%s: %v", name, err) }}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"editor":      cmdEditor,
			"open":        step(1, func(ctx context.Context, s *story, a []string) error { return s.editor.Open(ctx, a[0]) }),
			"type":        step(2, func(ctx context.Context, s *story, a []string) error { return s.typeFile(ctx, a[0], a[1]) }),
			"undo":        step(1, func(ctx context.Context, s *story, a []string) error { return s.editor.Undo(ctx, a[0]) }),
			"save":        step(1, func(ctx context.Context, s *story, a []string) error { return s.editor.Save(ctx, a[0]) }),
			"close":       step(1, func(ctx context.Context, s *story, a []string) error { return s.editor.CloseFile(ctx, a[0]) }),
			"buffer":      show(func(s *story, a []string) (string, error) { return s.editor.Buffer(a[0]) }),
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
			"command":     cmdCommand,
			"request":     cmdRequest,
			"respond":     cmdRespond,
			"trust":       step(1, func(ctx context.Context, s *story, a []string) error { return s.trust(ctx, a[0]) }),
			"elsewhere":   step(1, func(ctx context.Context, s *story, a []string) error { return s.trustElsewhere(ctx, a[0]) }),
			"gate":        step(1, func(_ context.Context, s *story, a []string) error { s.model.Open(a[0]); return nil }),
			"activity":    show(func(s *story, a []string) (string, error) { return s.activity(a), nil }),
			"asked":       show(func(s *story, _ []string) (string, error) { return s.asked(), nil }),
			"dialogs":     show(func(s *story, _ []string) (string, error) { return lines(s.editor.Seen().Dialogs), nil }),
			"messages":    show(func(s *story, _ []string) (string, error) { return lines(s.editor.Seen().Messages), nil }),
			"progress":    show(func(s *story, _ []string) (string, error) { return lines(s.editor.Seen().Progress), nil }),
			"shown":       show(func(s *story, _ []string) (string, error) { return s.shown() }),
			"agents":      show(func(s *story, _ []string) (string, error) { return s.agents() }),
			"log":         show(func(s *story, a []string) (string, error) { return s.log(a) }),
			"hangup":      step(0, func(_ context.Context, s *story, _ []string) error { return s.hangUp() }),
			"shutdown":    step(0, func(ctx context.Context, s *story, _ []string) error { return s.shutDown(ctx) }),
			"model":       step(1, func(_ context.Context, s *story, a []string) error { return s.play(a[0]) }),
			"played":      step(0, func(context.Context, *story, []string) error { return nil }),
		},
	})
}

type key struct{}

// patience bounds each step; a story that needs it has failed.
const patience = 20 * time.Second

// story is one script's world.
type story struct {
	dir    string
	editor *editortest.Editor
	model  *modelserver.Server
	door   *modelserver.Local
	done   chan error // the daemon's end
	runs   map[string]chan result
	wrong  func(error) // what is found when the story is over

	revision int // of the catalog that was seen last
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
	script, err := modelserver.Parse(strings.ReplaceAll(string(text), "$WORK", s.dir))
	if err != nil {
		return err
	}
	s.model = modelserver.New(modelserver.Config{Script: script})
	s.door = modelserver.Transport(s.model)
	return nil
}

// cmdEditor starts a daemon and connects an editor to it: editor [-plain]
// [-untrusted] [-nokey] [-noapply] [-noversions] [-nodialog] [-noshow]
// [-noprogress] [-respond] [-optout TYPES] [-folders A,B…] [-approve MODE]. The
// model plays the file model. Without -folders the workspace is the folder work.
func cmdEditor(ts *testscript.TestScript, _ bool, args []string) {
	s := of(ts)
	config := editortest.Config{Dir: filepath.Join(s.dir, "work"), Agents: editortest.Native()}
	ts.Check(os.MkdirAll(config.Dir, 0o755))
	d := daemon.Config{
		Home: filepath.Join(s.dir, "home"), Trust: true, Version: "test", Now: time.Now,
		Environ: []string{"GEMINI_API_KEY=test", "GOOGLE_GEMINI_BASE_URL=http://model.invalid", "PATH=" + os.Getenv("PATH"), "HOME=" + s.dir},
		Log:     slog.New(slog.NewTextHandler(io.Discard, nil)),
	}
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
		case "-nodialog":
			config.NoDialog = true
		case "-noshow":
			config.NoShowDocument = true
		case "-noprogress":
			config.NoProgress = true
		case "-folders":
			i++
			var dirs []string
			for name := range strings.SplitSeq(args[i], ",") {
				dirs = append(dirs, filepath.Join(s.dir, name))
			}
			config.Dir, config.Folders = dirs[0], dirs[1:]
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
	d.Transport = s.door
	near, far := net.Pipe()
	s.done, s.runs = make(chan error, 1), make(map[string]chan result)
	go func() {
		_, err := daemon.Serve(context.Background(), far, d)
		s.done <- err
	}()
	var err error
	s.editor, err = editortest.Connect(context.Background(), near, config)
	ts.Check(err)
	ts.Defer(func() { // not Fatalf: the story is over
		if err := s.hangUp(); err != nil {
			s.wrong(err)
		}
		if failures := s.model.Failures(); len(failures) > 0 {
			s.wrong(fmt.Errorf("the model was not asked what its script says: %s", strings.Join(failures, "\n")))
		} else if err := s.model.Done(); err != nil {
			s.wrong(err)
		}
	})
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

// typeFile replaces a buffer's text by that of a file of the story.
func (s *story) typeFile(ctx context.Context, name, from string) error {
	text, err := os.ReadFile(filepath.Join(s.dir, from))
	if err != nil {
		return err
	}
	return s.editor.Type(ctx, name, string(text))
}

// cmdReply queues what the person does: reply CHOICE [FEEDBACK], or reply
// modify ARGS, or reply later, or reply nothing.
func cmdReply(ts *testscript.TestScript, _ bool, args []string) {
	r := editortest.Reply{Choice: args[0]}
	switch {
	case args[0] == "nothing":
		r.Choice = ""
	case args[0] == "modify":
		r.Modified = &wire.Modified{Args: json.RawMessage(args[1])}
	case args[0] == "newtext":
		text := ts.ReadFile(args[1])
		r.Choice, r.Modified = "modify", &wire.Modified{NewText: &text}
	case len(args) == 2:
		r.Feedback = args[1]
	}
	of(ts).editor.Answer(r)
}

// params are those of a run: [-session S] [-approval A] [-run ID] [-about FILE]
// [-mode M] [-inputs JSON] [-context FILE] [-queue] AGENT PROMPT.
func params(ts *testscript.TestScript, args []string) *wire.RunParams {
	p := &wire.RunParams{}
	for len(args) > 2 && args[0][0] == '-' {
		switch args[0] {
		case "-queue":
			p.Queue = true
			args = args[1:]
			continue
		case "-mode":
			p.Mode = args[1]
		case "-inputs":
			p.Inputs = json.RawMessage(args[1])
		case "-context":
			text := strings.ReplaceAll(ts.ReadFile(args[1]), "$WORK", of(ts).dir)
			ts.Check(json.Unmarshal([]byte(text), &p.Context))
		case "-session":
			p.Session = args[1]
		case "-approval":
			p.Approval = args[1]
		case "-run":
			p.Run = args[1]
		case "-about":
			p.References = append(p.References, "file://"+filepath.Join(of(ts).dir, "work", args[1]))
		default:
			ts.Fatalf("unknown option %s", args[0])
		}
		args = args[2:]
	}
	if len(args) != 2 {
		ts.Fatalf("takes an agent and a prompt")
	}
	p.Agent, p.Input = args[0], wire.InputBlocks{{Type: "text", Text: args[1]}}
	return p
}

// cmdRun runs an agent to its end and prints reason and text.
func cmdRun(ts *testscript.TestScript, neg bool, args []string) {
	s := of(ts)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	r, err := s.editor.Run(ctx, params(ts, args))
	s.print(ts, neg, r, err)
}

func (s *story) print(ts *testscript.TestScript, neg bool, r *wire.RunResult, err error) {
	expect(ts, neg, err)
	if err != nil {
		return
	}
	text := fmt.Sprintf("%s: %s\n", r.Reason, r.Text)
	if r.Error != nil {
		text += fmt.Sprintf("error %s: %s\n", r.Error.Kind, r.Error.Message)
	}
	for _, c := range r.Changes {
		text += fmt.Sprintf("%s %s\n", c.Kind, c.URI)
	}
	fmt.Fprint(ts.Stdout(), s.plain(text))
}

// cmdStart starts a run and does not wait: start -run ID AGENT PROMPT. Its end
// is awaited with await ID.
func cmdStart(ts *testscript.TestScript, _ bool, args []string) {
	s := of(ts)
	p := params(ts, args)
	end := make(chan result, 1)
	s.runs[p.Run] = end
	editor := s.editor
	go func() { // ends with the run, or with the connection
		r, err := editor.Run(context.Background(), p)
		end <- result{r, err}
	}()
}

// cmdAwait waits until something was seen: await question [N], await event TYPE
// [TEXT], await dialog, await catalog, await revision (of agents/didChange, beyond
// the one that was awaited or listed last), await status HEALTH [TEXT], await
// messages N, await gate NAME, await run ID.
func cmdAwait(ts *testscript.TestScript, neg bool, args []string) {
	s := of(ts)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var err error
	switch args[0] {
	case "question":
		err = s.editor.Await(ctx, func(v editortest.Seen) bool { return len(v.Questions) > 0 })
	case "dialog":
		err = s.editor.Await(ctx, func(v editortest.Seen) bool { return len(v.Dialogs) > 0 })
	case "status":
		err = s.editor.Await(ctx, func(v editortest.Seen) bool {
			return v.Status.Health == args[1] && strings.Contains(v.Status.Message, strings.Join(args[2:], " "))
		})
	case "messages":
		var n int
		n, err = strconv.Atoi(args[1])
		ts.Check(err)
		err = s.editor.Await(ctx, func(v editortest.Seen) bool { return len(v.Messages) >= n })
	case "revision":
		before := s.revision
		err = s.editor.Await(ctx, func(v editortest.Seen) bool { s.revision = v.Revision; return v.Revision > before })
	case "catalog":
		err = s.editor.Await(ctx, func(v editortest.Seen) bool { return v.Catalog > 0 })
	case "resolved":
		err = s.editor.Await(ctx, func(v editortest.Seen) bool { return len(v.Resolved) > 0 })
	case "event":
		err = s.editor.Await(ctx, func(v editortest.Seen) bool {
			return slices.ContainsFunc(v.Events, func(e wire.ActivityParams) bool {
				return e.Type == args[1] && (len(args) < 3 || strings.Contains(string(e.Data), args[2]))
			})
		})
	case "gate":
		select {
		case <-s.model.Reached(args[1]):
		case <-ctx.Done():
			err = ctx.Err()
		}
	case "run":
		select {
		case r := <-s.runs[args[1]]:
			s.print(ts, neg, r.result, r.err)
			return
		case <-ctx.Done():
			err = ctx.Err()
		}
	default:
		ts.Fatalf("await what?")
	}
	expect(ts, neg, err)
}

// steer adds what the person says to a run: steer RUN TEXT.
func (s *story) steer(ctx context.Context, run, text string) error {
	p := &wire.SteerParams{Run: run, Input: wire.InputBlocks{{Type: "text", Text: text}}}
	return s.editor.Call(ctx, wire.MethodSteer, p, new(wire.SteerResult))
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

// sessions prints the sessions that agents/session/list has, all pages of it,
// two on each.
func (s *story) sessions() (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var b strings.Builder
	for cursor := ""; ; {
		var r wire.SessionListResult
		if err := s.editor.Call(ctx, wire.MethodSessionList, &wire.SessionListParams{Cursor: cursor, Limit: 2}, &r); err != nil {
			return "", err
		}
		for _, one := range r.Sessions {
			fmt.Fprintf(&b, "%s %s runs=%d agents=%s title=%q", one.Session, one.State, one.Runs, strings.Join(one.Agents, ","), one.Title)
			if one.Locked {
				b.WriteString(" locked")
			}
			b.WriteString("\n")
		}
		if cursor = r.Cursor; cursor == "" {
			return b.String(), nil
		}
	}
}

// context prints an agent's context: context AGENT [SESSION].
func (s *story) context(args []string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	p := &wire.ContextParams{Agent: args[0]}
	if len(args) == 2 {
		p.Session = args[1]
	}
	var r wire.ContextGetResult
	if err := s.editor.Call(ctx, wire.MethodContextGet, p, &r); err != nil {
		return "", err
	}
	var b strings.Builder
	for _, m := range r.Messages {
		for _, part := range m.Parts {
			text, err := json.Marshal(part)
			if err != nil {
				return "", err
			}
			fmt.Fprintf(&b, "%s %s\n", m.Role, text)
		}
	}
	return b.String(), nil
}

// cmdClear ends an agent's context: clear AGENT [purge].
func cmdClear(ts *testscript.TestScript, neg bool, args []string) {
	call(ts, neg, wire.MethodContextClear, &wire.ContextClearParams{Agent: args[0], Purge: len(args) == 2 && args[1] == "purge"})
}

// onDisk fails when no file of the daemon's has a text.
func (s *story) onDisk(text string) error {
	found := fmt.Errorf("%q is in no file", text)
	err := filepath.WalkDir(filepath.Join(s.dir, "home/agentls"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte(text)) {
			found = nil
		}
		return err
	})
	return errors.Join(err, found)
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
	return records.Set(ctx, filepath.Join(s.dir, "work"), word == "yes")
}

// cmdCommand executes a command of the daemon's: command NAME [JSON…].
func cmdCommand(ts *testscript.TestScript, neg bool, args []string) {
	list := []json.RawMessage{}
	for _, a := range args[1:] {
		list = append(list, json.RawMessage(a))
	}
	call(ts, neg, "workspace/executeCommand", map[string]any{"command": args[0], "arguments": list})
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

// activity prints the events seen, one a line; with arguments, those types only.
func (s *story) activity(types []string) string {
	var b strings.Builder
	for _, e := range s.editor.Seen().Events {
		if len(types) == 0 && strings.HasSuffix(e.Type, ".delta") || len(types) > 0 && !slices.Contains(types, e.Type) {
			continue
		}
		fmt.Fprintf(&b, "%s %s\n", e.Type, e.Data)
	}
	return b.String()
}

// asked prints the questions seen.
func (s *story) asked() string {
	var b strings.Builder
	for _, q := range s.editor.Seen().Questions {
		var options []string
		for _, o := range q.Options {
			options = append(options, o.Kind)
		}
		fmt.Fprintf(&b, "%s %s (%s: %s) %s\n%s", q.Agent, q.Tool, q.Risk, q.Why, strings.Join(options, " "), q.Message)
	}
	return b.String()
}

func (s *story) shown() (string, error) {
	var b strings.Builder
	for _, path := range s.editor.Seen().Shown {
		text, err := os.ReadFile(path)
		if err != nil {
			return "", err
		}
		b.Write(text)
	}
	return b.String(), nil
}

// agents prints the agents that agents/list has, and the problems.
func (s *story) agents() (string, error) {
	var r wire.ListResult
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := s.editor.Call(ctx, wire.MethodList, &wire.ListParams{}, &r); err != nil {
		return "", err
	}
	if r.Revision < s.revision {
		return "", fmt.Errorf("the list has revision %d, told was %d", r.Revision, s.revision)
	}
	s.revision = r.Revision
	var b strings.Builder
	for _, a := range r.Agents {
		fmt.Fprintf(&b, "%s %s %s %s\n", a.Scope, a.Name, a.State, strings.Join(a.Tools, ","))
	}
	for _, p := range r.Problems {
		fmt.Fprintf(&b, "%s:%d:%d %s %s: %s\n", p.URI, p.Range.Start.Line+1, p.Range.Start.Character+1, p.Severity, p.Code, p.Message)
	}
	return b.String(), nil
}

// log prints the events of a session as they lie on disk: log SESSION [TYPE…].
func (s *story) log(args []string) (string, error) {
	files, err := filepath.Glob(filepath.Join(s.dir, "home/agentls/sessions/*", args[0]+".jsonl"))
	if err != nil || len(files) != 1 {
		return "", fmt.Errorf("logs of %s: %v %v", args[0], files, err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for i, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		if i == 0 {
			continue
		}
		var e struct {
			Seq  int             `json:"seq"`
			Type string          `json:"type"`
			Data json.RawMessage `json:"data"`
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			return "", err
		}
		if e.Seq != i {
			return "", fmt.Errorf("line %d has seq %d", i, e.Seq)
		}
		if strings.HasSuffix(e.Type, ".delta") || len(args) > 1 && !slices.Contains(args[1:], e.Type) {
			continue
		}
		fmt.Fprintf(&b, "%s %s\n", e.Type, e.Data)
	}
	return b.String(), nil
}

var (
	ids     = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	hex     = regexp.MustCompile(`\b[0-9a-f]{32,64}\b`)
	times   = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)
	elapsed = regexp.MustCompile(`"(durationMs|firstTokenMs|waitMs|tokens)":\d+`)
	dates   = regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d`)
)

// plain takes out of a text what is another one each time.
func (s *story) plain(text string) string {
	text = strings.ReplaceAll(text, s.dir, "$WORK")
	text = ids.ReplaceAllString(text, "ID")
	text = hex.ReplaceAllString(text, "HEX")
	text = times.ReplaceAllString(text, "TIME")
	text = dates.ReplaceAllString(text, "TIME")
	return elapsed.ReplaceAllString(text, `"$1":0`)
}

func lines(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return strings.Join(list, "\n") + "\n"
}
