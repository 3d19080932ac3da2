package scenario_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/internal/editortest"
	"github.com/agentls/agentls/internal/modelserver"
	"github.com/agentls/agentls/internal/wire"
)

// asks is a model that asks to write x.txt once, and is told what came of it.
const asks = "> write\n<call write_file {\"file_path\": \"x.txt\", \"content\": \"x\"}\n\n"

// TestREL126AndSEC69AnswersOfABadClient: the first valid answer counts, once,
// under the id that was asked; whatever else comes changes nothing, and stopping
// works meanwhile.
func TestREL126AndSEC69AnswersOfABadClient(t *testing.T) {
	for name, c := range map[string]struct {
		reply   editortest.Reply
		stop    bool   // the run waits for an answer that never counts, and is stopped
		model   string // after the question
		written bool
		later   string // an answer of agents/respond, in the end
	}{
		"no, then yes":             {reply: editortest.Reply{Choice: "reject", Fault: editortest.Twice, Then: "once"}, model: ">result-error write_file contains denied by user\n< No.\n"},
		"yes, then no":             {reply: editortest.Reply{Choice: "once", Fault: editortest.Twice, Then: "reject"}, model: ">result write_file\n< Yes.\n", written: true},
		"nonsense, then yes":       {reply: editortest.Reply{Choice: "sure", Fault: editortest.Twice, Then: "once"}, model: ">result-error write_file contains denied\n< No.\n"},
		"what was not offered":     {reply: editortest.Reply{Choice: "forever"}, model: ">result-error write_file contains denied\n< No.\n"},
		"null":                     {reply: editortest.Reply{}, model: ">result-error write_file contains denied\n< No.\n"},
		"under another id":         {reply: editortest.Reply{Choice: "once", Fault: editortest.Other}, stop: true},
		"lost":                     {reply: editortest.Reply{Choice: "once", Fault: editortest.Lost}, stop: true},
		"after it was withdrawn":   {reply: editortest.Reply{Choice: "once", Late: true}, stop: true},
		"by agents/respond, twice": {reply: editortest.Reply{Choice: "reject"}, model: ">result-error write_file contains denied by user\n< No.\n", later: `{"outcome":"once"}`},
	} {
		t.Run(name, func(t *testing.T) {
			script, err := modelserver.Parse(asks + c.model + "\n> still there\n>history write_file\n< Yes.\n")
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			model := modelserver.New(modelserver.Config{Script: script})
			config := editortest.Config{Agents: editortest.Native()}
			config.Agents.Confirm.Respond = c.later != ""
			editor, leave := editAs(ctx, t, dir, model, "", config)
			editor.Answer(c.reply)
			stopped := make(chan error, 1)
			go func() {
				stopped <- func() error {
					if !c.stop {
						return nil
					}
					if err := editor.Await(ctx, func(v editortest.Seen) bool { return len(v.Questions) > 0 }); err != nil {
						return err
					}
					return editor.Call(ctx, wire.MethodCancel, &wire.CancelParams{Run: "r"}, new(wire.CancelResult))
				}()
			}()
			result, err := editor.Run(ctx, &wire.RunParams{Run: "r", Input: wire.InputBlocks{{Type: "text", Text: "write"}}})
			if err != nil {
				t.Fatal(err)
			}
			if err := <-stopped; err != nil {
				t.Fatal(err)
			}
			want := activity.Goal
			if c.stop {
				want = activity.Aborted
			}
			if result.Reason != want {
				t.Errorf("the run ended %+v", result)
			}
			if c.later != "" {
				q := editor.Seen().Questions[0]
				err := editor.Call(ctx, wire.MethodRespond, &wire.RespondParams{ID: q.ID, Nonce: q.Nonce, Answer: json.RawMessage(c.later)}, nil)
				if !strings.Contains(dataOf(err), `"kind":"stale"`) {
					t.Errorf("a second answer: %v %s", err, dataOf(err))
				}
			}
			next, err := editor.Run(ctx, &wire.RunParams{Input: wire.InputBlocks{{Type: "text", Text: "still there"}}})
			if err != nil || next.Reason != activity.Goal {
				t.Errorf("the next run: %+v, %v", next, err)
			}
			if _, err := os.Stat(filepath.Join(dir, "work", "x.txt")); (err == nil) != c.written {
				t.Errorf("the file: %v, want it written: %v", err, c.written)
			}
			answers := 0
			for _, e := range editor.Seen().Events {
				if e.Type == "confirmation.answered" {
					answers++
				}
			}
			if answers > 1 {
				t.Errorf("%d answers count", answers)
			}
			leave()
			if failures := model.Failures(); len(failures) > 0 {
				t.Errorf("the model was not asked what its script says: %s", strings.Join(failures, "\n"))
			}
		})
	}
}

// TestREL23AndSEC81WhatAClientLacks: a client that lacks something is served by what it
// has, is never sent what it did not advertise, which the fake editor holds the
// daemon to, and where nobody can be asked the answer is no.
func TestREL23AndSEC81WhatAClientLacks(t *testing.T) {
	const low = ">result write_file\n< Done.\n"
	const no = ">result-error write_file contains denied\n< Refused.\n"
	native := func(change func(*wire.ClientCapabilities)) *wire.ClientCapabilities {
		c := editortest.Native()
		change(c)
		return c
	}
	for name, c := range map[string]struct {
		config editortest.Config
		reply  editortest.Reply
		model  string
		events bool // it is sent the events of its runs
	}{
		"everything":          {editortest.Config{Agents: editortest.Native()}, editortest.Reply{Choice: "once"}, low, true},
		"no confirm":          {editortest.Config{Agents: native(func(c *wire.ClientCapabilities) { c.Confirm = nil })}, editortest.Reply{Choice: "Allow once"}, low, true},
		"no confirm, dialogs": {editortest.Config{Agents: native(func(c *wire.ClientCapabilities) { c.Confirm = nil }), NoDialog: true}, editortest.Reply{}, no, true},
		"no activity":         {editortest.Config{Agents: native(func(c *wire.ClientCapabilities) { c.Activity = nil })}, editortest.Reply{Choice: "once"}, low, false},
		"no status, files":    {editortest.Config{Agents: native(func(c *wire.ClientCapabilities) { c.Status, c.FilesWritten, c.SaveDocuments = false, false, false })}, editortest.Reply{Choice: "once"}, low, true},
		"only a version":      {editortest.Config{Agents: &wire.ClientCapabilities{Version: 1}}, editortest.Reply{Choice: "Allow once"}, low, false},
		"plain":               {editortest.Config{}, editortest.Reply{Choice: "Allow once"}, low, false},
		"plain, no progress":  {editortest.Config{NoProgress: true}, editortest.Reply{Choice: "Allow once"}, low, false},
		"plain, no documents": {editortest.Config{NoShowDocument: true}, editortest.Reply{Choice: "Allow once"}, low, false},
		"plain, no dialogs":   {editortest.Config{NoDialog: true}, editortest.Reply{}, no, false},
		"plain, no edits":     {editortest.Config{NoApplyEdit: true, NoVersions: true}, editortest.Reply{Choice: "Allow once"}, low, false},
		"nothing at all":      {editortest.Config{NoDialog: true, NoProgress: true, NoShowDocument: true, NoApplyEdit: true, NoVersions: true}, editortest.Reply{}, no, false},
	} {
		t.Run(name, func(t *testing.T) {
			script, err := modelserver.Parse(asks + c.model)
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			model := modelserver.New(modelserver.Config{Script: script})
			editor, leave := editAs(ctx, t, dir, model, "", c.config)
			editor.Answer(c.reply)
			var result wire.RunResult
			p := json.RawMessage(`{"command":"agentls.run","arguments":["main","write"]}`)
			if err := editor.Call(ctx, "workspace/executeCommand", rawParams(p), &result); err != nil || result.Reason != activity.Goal {
				t.Fatalf("the run: %+v, %v", result, err)
			}
			if _, err := os.Stat(filepath.Join(dir, "work", "x.txt")); (err == nil) != (c.model == low) {
				t.Errorf("the file: %v", err)
			}
			if got := len(editor.Seen().Events) > 0; got != c.events {
				t.Errorf("it was sent events: %v, want %v", got, c.events)
			}
			leave()
			if failures := model.Failures(); len(failures) > 0 {
				t.Errorf("the model was not asked what its script says: %s", strings.Join(failures, "\n"))
			}
			if err := model.Done(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestREL126AndSEC81AClientThatDiesOverAQuestion: the run is left interrupted, its call
// neither allowed nor refused by anybody; when the run is resumed the next client
// is asked anew.
func TestREL126AndSEC81AClientThatDiesOverAQuestion(t *testing.T) {
	script, err := modelserver.Parse(asks + ">result write_file\n< Written.\n")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	model := modelserver.New(modelserver.Config{Script: script})
	editor, leave := edit(ctx, t, dir, model, "")
	editor.Answer(editortest.Reply{Choice: "once", Fault: editortest.Dies})
	if _, err := editor.Run(ctx, &wire.RunParams{Run: "r", Input: wire.InputBlocks{{Type: "text", Text: "write"}}}); err == nil {
		t.Error("the run was answered over a connection that is cut")
	}
	leave()
	file := filepath.Join(dir, "work", "x.txt")
	if _, err := os.Stat(file); err == nil {
		t.Fatal("an answer counts that was never sent")
	}
	editor, leave = edit(ctx, t, dir, model, "")
	editor.Answer(editortest.Reply{Choice: "once"})
	result, err := editor.Resume(ctx, &wire.ResumeParams{Run: "r"})
	if err != nil || result.Reason != activity.Goal || result.Text != "Written." {
		t.Errorf("the resumed run: %+v, %v", result, err)
	}
	if n := len(editor.Seen().Questions); n != 1 {
		t.Errorf("%d questions were asked anew, want 1", n)
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "x" {
		t.Errorf("the file: %q, %v", text, err)
	}
	leave()
	if failures := model.Failures(); len(failures) > 0 {
		t.Errorf("the model was not asked what its script says: %s", strings.Join(failures, "\n"))
	}
}
