package run_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/modelserver"
)

// acting has thoughts, text of runes of several bytes, and calls; as a script.
const acting = "<thought Look: at 世界\n< I will\\s\n< change 🌍.\n<call change {\"note\": \"é\"}\n<call change {\"note\": \"b\"}\n< That is all.\n"

// TestREL55CutAnywhere cuts an answer at every byte (with -short at every fourth,
// and at each of the last ones), three times each: nothing is done before its end
// has come, and it is asked again twice and no more.
func TestREL55CutAnywhere(t *testing.T) {
	scripts := map[string]*modelserver.Script{"ours": scripted(t, acting), "gzip": scripted(t, "<gzip\n"+acting)}
	// Answers of the real API are tried where they are at hand.
	files, _ := filepath.Glob("../../../shared/data/gemini-recorded/*.responses")
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(data) {
			if len(line) > 2000 || !bytes.Contains(line, []byte(`"functionCall"`)) {
				continue // one that says nothing else, or takes too long
			}
			if scripts[filepath.Base(file)], err = modelserver.FromRecording(line); err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(files) == 0 {
		t.Log("the recorded answers are not here: only our own are cut")
	}
	for name, whole := range scripts {
		t.Run(name, func(t *testing.T) {
			size, acted := cutAt(t, whole, -1), 0
			for at := range size + 1 {
				if testing.Short() && at%4 > 0 && at < size-50 {
					continue // the end, where it decides, is cut at every byte
				}
				if cutAt(t, whole, at) > 0 {
					acted++
				}
			}
			// Not needed are the ends of the last line and of what compresses.
			if acted == 0 || (acted > 4 && name != "gzip") || acted > 40 {
				t.Errorf("%d of %d cuts came after the answer", acted, size)
			}
		})
	}
}

// cutAt has a run get the answer cut at a byte, whenever it asks, and returns
// how many bytes came if they were acted on, else 0. At -1 it is not cut.
func cutAt(t *testing.T, whole *modelserver.Script, at int) (sent int) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		script := whole
		if at >= 0 {
			script = whole.Cut(at)
		}
		server := w.plays(t, modelserver.Join(script, script, script))
		w.tool("change", tool.Low, nil)
		w.config.MaxTurns = 1
		got := w.do()
		n := len(server.Requests())
		if ran, asked := len(w.executed()), len(of[activity.ToolState](w)); asked > 0 {
			// The answer was whole: all of it is acted on, once.
			if got.Reason != activity.MaxTurns || n > 3 || ran > got.ToolCalls || got.ToolCalls != of[activity.TurnFinished](w)[0].ToolCalls {
				t.Fatalf("cut at %d: %s after %d requests, %d calls ran", at, got.Reason, n, ran)
			}
			sent = server.Requests()[0].Written
			return
		}
		if w.ended(got, activity.Errored); n != 3 || len(of[activity.Retry](w)) != 2 || got.Error.Kind != "provider" {
			t.Fatalf("cut at %d: %d requests, %+v", at, n, got.Error)
		}
		shown := false // by this try
		for _, e := range w.log.all() {
			switch b := e.Body.(type) {
			case activity.ModelStarted:
				shown = false
			case activity.ContentDelta, activity.ThoughtDelta:
				shown = true
			case activity.Retry:
				if b.Discard != shown {
					t.Fatalf("cut at %d: %+v", at, b)
				}
			}
		}
		w.usable()
	})
	return sent
}

// TestREL55GivenUp: what the last try showed is kept and marked: no retry
// withdraws it, and the run ends with why.
func TestREL55GivenUp(t *testing.T) {
	in(t, func(w *world) {
		w.plays(t, scripted(t, strings.Repeat("< half of it\n<cut\n\n", 3)))
		got := w.do()
		w.ended(got, activity.Errored)
		if shown := w.shown(); shown != "half of it" || len(of[activity.ModelContent](w)) != 0 {
			t.Errorf("a client shows %q", shown)
		}
		w.contains("the error", got.Error.Message, "the answer was cut")
	})
}

// TestREL56StalledAnswer: a person hears of silence after 20 s; after 120 s it is
// asked again, also where heartbeats come.
func TestREL56StalledAnswer(t *testing.T) {
	for name, stalls := range map[string]string{"silence": "< half\n<hang\n", "heartbeats": "< half\n<heartbeat 10s\n", "after some bytes": "<stall at 40\n< half\n"} {
		t.Run(name, func(t *testing.T) {
			in(t, func(w *world) {
				w.plays(t, scripted(t, stalls+"\n< whole\n"))
				got := w.do()
				w.ended(got, activity.Goal)
				began := of1(w)
				for _, e := range w.log.all() {
					switch b := e.Body.(type) {
					case activity.Note:
						if at := e.Time.Sub(began); at != 20*time.Second || !strings.Contains(b.Message, "has sent nothing for 20s") {
							t.Errorf("told after %s: %s", at, b.Message)
						}
					case activity.Retry:
						if at := e.Time.Sub(began); at != 120*time.Second || !strings.Contains(b.Cause, "nothing came for 2m0s") {
							t.Errorf("asked again after %s: %+v", at, b)
						}
					}
				}
				if len(of[activity.Note](w)) != 1 || len(of[activity.Retry](w)) != 1 || w.shown() != "whole" {
					t.Errorf("%+v, %+v, shown is %q", of[activity.Note](w), of[activity.Retry](w), w.shown())
				}
			})
		})
	}
}

// TestREL57NoAnswer: what is no answer is asked again twice, then of the next
// model, then a person decides; no run ends with it in silence.
func TestREL57NoAnswer(t *testing.T) {
	for name, c := range map[string]struct{ answer, says string }{
		"no finish reason":   {"< half\n<finish none\n", "without saying why"},
		"nothing at all":     {`<bytes ""`, "without saying why"},
		"empty candidates":   {`<raw {"candidates":[]}`, "without saying why"},
		"no candidates":      {`<raw {"usageMetadata":{"promptTokenCount":5}}`, "without saying why"},
		"a null candidate":   {`<raw {"candidates":[null]}`, "cannot be read"},
		"empty parts":        {`<raw {"candidates":[{"content":{"role":"model","parts":[]},"finishReason":"STOP"}]}`, "answer is empty"},
		"no content":         {`<raw {"candidates":[{"finishReason":"STOP"}]}`, "answer is empty"},
		"an empty part":      {`<raw {"candidates":[{"content":{"role":"model","parts":[{"text":""}]},"finishReason":"STOP"}]}`, "answer is empty"},
		"spaces only":        {"< \\s\\n\\s", "answer is empty"},
		"a thought only":     {"<thought Hm: I think", "answer is empty"},
		"a malformed call":   {"<finish MALFORMED_FUNCTION_CALL Malformed function call: look(", "tool call that cannot be read (Malformed function call: look()"},
		"an unknown reason":  {"<finish SOMETHING_NEW", "unknown reason (SOMETHING_NEW)"},
		"not of this API":    {`<bytes "<html>Log in</html>\n"`, "<html>Log in"},
		"a call in bad JSON": {`<bytes "data: {\"candidates\":[{\"content\":{\"parts\":[{\"functionCall\":{\"name\":\"look\",\"args\":{\"a\":}}}]},\"finishReason\":\"STOP\"}]}\n\n"`, "cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(w *world) {
				messages := w.pauses(1)
				script := c.answer
				if strings.HasPrefix(script, "<bytes") { // all that comes
					script = "<headers\n" + script + "\n<cut clean"
				}
				server := w.plays(t, scripted(t, strings.Repeat(script+"\n\n", 6)), pro)
				w.tool("look", tool.Safe, nil)
				got := w.do()
				w.ended(got, activity.Errored)
				w.contains("the error", got.Error.Message, c.says)
				models, _ := received(server)
				if want := strings.Repeat(flash+" ", 3) + strings.Repeat(pro+" ", 3); strings.Join(models, " ")+" " != want {
					t.Errorf("asked %v", models)
				}
				if len(*messages) != 1 || !strings.Contains((*messages)[0], c.says) || len(w.executed()) != 0 || len(of[activity.ErrorSeen](w)) == 0 {
					t.Errorf("asked %q, executed %v", *messages, w.executed())
				}
				w.usable()
			})
		})
	}
}

// TestREL59Blocked: the run ends with the category, calls are not made, and the
// history stays one.
func TestREL59Blocked(t *testing.T) {
	safety := `<raw {"candidates":[{"content":{"role":"model","parts":[{"text":"I"},{"functionCall":{"name":"change","args":{}}}]},"finishReason":"SAFETY","safetyRatings":[{"category":"HARM_CATEGORY_HARASSMENT","probability":"HIGH","blocked":true}]}]}`
	for answer, category := range map[string]string{
		"< I\n<call change {}\n<finish SAFETY":             "SAFETY",
		"< I\n<call change {}\n<finish RECITATION":         "RECITATION",
		"< I\n<call change {}\n<finish PROHIBITED_CONTENT": "PROHIBITED_CONTENT",
		"<finish BLOCKLIST":                                "BLOCKLIST",
		"<finish SPII":                                     "SPII",
		"<block SAFETY":                                    "SAFETY",
		"<block OTHER":                                     "OTHER",
		safety:                                             "HARM_CATEGORY_HARASSMENT",
		safety + "\n<finish none":                          "HARM_CATEGORY_HARASSMENT",
		"<block PROHIBITED_CONTENT":                        "PROHIBITED_CONTENT",
	} {
		t.Run(answer, func(t *testing.T) {
			in(t, func(w *world) {
				server := w.plays(t, scripted(t, answer+"\n"), pro)
				w.tool("change", tool.Low, nil)
				got := w.do()
				w.ended(got, activity.Errored)
				if got.Error.Kind != "blocked" || !strings.Contains(got.Error.Message, category) || len(w.executed()) != 0 || len(server.Requests()) != 1 {
					t.Errorf("%+v, executed %v, %d requests", got.Error, w.executed(), len(server.Requests()))
				}
				w.usable()
			})
		})
	}
}

// TestREL60MaxTokens: a call of an answer that was cut is not made; the answer
// goes on once.
func TestREL60MaxTokens(t *testing.T) {
	for name, c := range map[string]struct {
		script, text, kind string
		requests           int
	}{
		"text":                {"< One \n<finish MAX_TOKENS\n\n>history Go on\n< and two.\n", "One and two.", "", 2},
		"text, twice":         {"< One \n<finish MAX_TOKENS\n\n< and \n<finish MAX_TOKENS\n", "One and ", "truncated", 2},
		"a call":              {"< I act.\n<call change {}\n<finish MAX_TOKENS\n\n>!history I act\n< done\n", "done", "", 2},
		"a call, twice":       {"<call change {}\n<finish MAX_TOKENS\n\n<call change {}\n<finish MAX_TOKENS\n", "", "truncated", 2},
		"thoughts only":       {"<thought Hm: long\n<finish MAX_TOKENS\n\n< done\n", "done", "", 2},
		"nothing, then again": {"<finish MAX_TOKENS\n\n<finish MAX_TOKENS\n", "", "truncated", 2},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(w *world) {
				server := w.plays(t, scripted(t, strings.ReplaceAll(c.script, " \n<finish", "\\s\n<finish")), pro)
				w.tool("change", tool.Low, nil)
				got := w.do()
				kind := ""
				if got.Error != nil {
					kind = got.Error.Kind
				}
				if kind != c.kind || got.Text != c.text || len(w.executed()) != 0 || len(server.Requests()) != c.requests || server.Failures() != nil {
					t.Errorf("%+v, %q, executed %v, %d requests, %q", got.Error, got.Text, w.executed(), len(server.Requests()), server.Failures())
				}
			})
		})
	}
}

// TestREL66LostResponse: a request that succeeded is sent again when its answer
// was lost; each call is made once, in whatever place the connection broke.
func TestREL66LostResponse(t *testing.T) {
	calls := "<call change {\"note\": \"a\"}\n<call change {\"note\": \"b\"}\n"
	for name, c := range map[string]struct {
		script string
		ran    int
	}{
		"after the calls":            {calls + "<cut\n\n" + calls + "\n>result change\n< done\n", 2},
		"at the end of the calls":    {calls + "<finish none\n<cut clean\n\n" + calls + "\n>result change\n< done\n", 2},
		"before any answer":          {"<cut\n\n" + calls + "\n>result change\n< done\n", 2},
		"the answer to the results":  {calls + "\n>result change\n<cut\n\n>result change\n< do\n<cut\n\n>result change\n< done\n", 2},
		"more calls after them":      {calls + "\n>result change\n" + calls + "<cut\n\n>result change\n<call change {}\n\n>messages 5\n< done\n", 3},
		"after the end of an answer": {calls + "<usage in=1\n<finish STOP\n<cut\n\n>result change\n< done\n", 2},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(w *world) {
				server := w.plays(t, scripted(t, c.script))
				w.tool("change", tool.Low, nil) // it fails the test if a call executes twice
				got := w.do()
				w.ended(got, activity.Goal)
				if err := server.Done(); got.Text != "done" || len(w.executed()) != c.ran || err != nil {
					t.Errorf("%q, executed %v, %v", got.Text, w.executed(), err)
				}
			})
		})
	}
}

// TestREL69Usage: counts that are none are no counts: limits go by an estimate,
// and the cost says that it is one.
func TestREL69Usage(t *testing.T) {
	long := strings.Repeat("word ", 400) // 500 tokens
	for name, usage := range map[string]string{
		"missing": "<usage none", "negative": "<usage in=-5 out=-7", "huge": "<usage in=9223372036854775807 out=1", "absurd": "<usage in=1 out=4611686018427387904",
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(w *world) {
				server := w.plays(t, scripted(t, strings.Repeat("< "+long+"\n<call look {}\n"+usage+"\n\n", 9)))
				w.config.Models[0].Entry = priced
				w.tool("look", tool.Safe, nil)
				w.config.Limits.Tokens = 2000
				got := w.do()
				w.ended(got, activity.Budget)
				if n := len(server.Requests()); n != 2 { // 500 out, 500 in and 500 out, and then 1,000 in
					t.Errorf("%d requests", n)
				}
				if u := got.Usage; u.InputTokens < 500 || u.InputTokens > 600 || u.OutputTokens != 1000 {
					t.Errorf("the usage is %+v", u)
				}
				if got.Cost == nil || !got.Cost.Estimated {
					t.Errorf("the cost is %+v", got.Cost)
				}
				for _, f := range of[activity.ModelFinished](w) {
					if f.Usage != (model.Usage{}) {
						t.Errorf("told of an answer: %+v", f.Usage)
					}
				}
			})
		})
	}
}

// TestREL62Overflow: a conversation that the provider finds too long loses what
// tools said long ago, and nothing that the person did; once.
func TestREL62Overflow(t *testing.T) {
	const tooLong = "<status 400 The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).\n\n"
	said := strings.Repeat("out of a tool ", 200)
	for name, c := range map[string]struct {
		then     string
		want     activity.Reason
		requests int
	}{
		"it fits then":    {">!history out of a tool 1\n>history out of a tool 2\n> please\n>messages 5\n< done\n", activity.Goal, 4},
		"it does not":     {tooLong, activity.Errored, 4},
		"another refusal": {"<status 503 busy\n\n>!history out of a tool 1\n< done\n", activity.Goal, 5},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(w *world) {
				server := w.plays(t, scripted(t, "<call look {\"n\": 1}\n\n<call look {\"n\": 2}\n\n"+tooLong+c.then), pro)
				w.tool("look", tool.Safe, func(_ context.Context, _ *tool.Env, args map[string]any) (*tool.Result, error) {
					return &tool.Result{Content: fmt.Sprint("out of a tool ", args["n"], said)}, nil
				})
				w.log.tokens = 1000
				got := w.do()
				w.ended(got, c.want)
				if err := server.Done(); err != nil || len(server.Requests()) != c.requests {
					t.Errorf("%d requests, %v", len(server.Requests()), err)
				}
				if events := of[activity.ContextCompressed](w); len(events) != 1 || len(events[0].Reduced) != 1 || events[0].Reduced[0] != id(1, 0) {
					t.Errorf("compressed: %+v", events)
				}
				if told := of[activity.Retry](w); len(told) == 0 || !strings.Contains(told[0].Cause, "without the oldest results of tools") {
					t.Errorf("told: %+v", told)
				}
			})
		})
	}
	// Without anything that can go, it is a refusal.
	in(t, func(w *world) {
		server := w.plays(t, scripted(t, tooLong), pro)
		got := w.do()
		w.ended(got, activity.Errored)
		if w.contains("the error", got.Error.Message, "exceeds the maximum"); len(server.Requests()) != 1 {
			t.Errorf("%d requests", len(server.Requests()))
		}
	})
}

// TestREL62EmptySummary: a summary that fails or is empty changes nothing that
// the model is sent: the person's words are all there.
func TestREL62EmptySummary(t *testing.T) {
	for name, answer := range map[string]string{
		"empty": "<finish STOP\n\n<finish STOP\n\n<finish STOP\n", "refused": "<status 400 no\n", "cut": strings.Repeat("< <state_snapshot>\n<cut\n\n", 3), "prose": "< no\n\n< no\n",
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(w *world) {
				w.compressing()
				server := w.plays(t, scripted(t, "# when model contains pro\n"+answer+"\n# when model contains flash\n> please\n>history an old request\n>history an old answer\n>messages 3\n< done\n"), pro)
				w.config.Models[0].Entry.Window = 1000
				w.config.Compression.By, w.config.Models = w.config.Models[1], w.config.Models[:1]
				w.ended(w.do(), activity.Goal)
				if err := server.Failures(); err != nil {
					t.Errorf("%q", err)
				}
				if events := of[activity.ContextCompressed](w); len(events) != 1 || events[0].Snapshot != "" || events[0].Cut != 0 {
					t.Errorf("compressed: %+v", events)
				}
			})
		})
	}
}
