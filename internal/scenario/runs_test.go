package scenario_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/agentls/agentls/internal/editortest"
	"github.com/agentls/agentls/internal/wire"
)

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
// [-mode M] [-inputs JSON] [-context FILE] [-command NAME] [-queue] AGENT PROMPT.
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
		case "-command":
			p.Command = &wire.CommandCall{Name: args[1]}
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
	s.begin(p.Run, func(ctx context.Context, editor *editortest.Editor) (*wire.RunResult, error) {
		return editor.Run(ctx, p)
	})
}

// begin has the editor ask for a run, which ends with it or with the connection.
func (s *story) begin(run string, ask func(context.Context, *editortest.Editor) (*wire.RunResult, error)) {
	end := make(chan result, 1)
	s.runs[run] = end
	editor := s.editor
	go func() {
		r, err := ask(context.Background(), editor)
		end <- result{r, err}
	}()
}

// cmdAwait waits until something was seen: await question [N], await event TYPE
// [TEXT], await dialog, await catalog, await revision (of agents/didChange, beyond
// the one that was awaited or listed last), await status HEALTH [TEXT], await
// messages N, await gate NAME, await run ID,
// await findings FILE [CODE|none], await shows METHOD FILE TEXT.
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
	case "agent": // await agent NAME STATE
		for err == nil {
			before := s.editor.Seen().Revision
			var listed string
			if listed, err = s.agents(); strings.Contains(listed, " "+args[1]+" "+args[2]+" ") {
				break
			}
			if e := s.editor.Await(ctx, func(v editortest.Seen) bool { return v.Revision > before }); e != nil {
				err = errors.Join(err, fmt.Errorf("at revision %d there are\n%s%w", before, listed, e))
			}
		}
	case "shows":
		err = s.shows(ctx, args[1:])
	case "findings": // await findings FILE [CODE|none]
		err = s.awaitFindings(ctx, args[1:])
	case "sound": // await sound AGENT
		err = s.awaitSound(ctx, args[1])
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
		case <-s.model.GateReached(args[1]):
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
