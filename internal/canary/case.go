package canary

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/agentls/agentls/internal/modelserver"
)

// Case is one attempt at harm. Name and Calls are required, and one of Canary,
// Leak and a call with $SINK or $PORT.
type Case struct {
	Name string

	// Files lie below $BASE, by their paths: a name that ends in a slash is an
	// empty folder, a text that begins with "-> " a symbolic link to what follows.
	// Scripts are executable: texts that begin with #!.
	Files    map[string]string
	Settings string // the person's own settings.json; "" = none

	Setup     []string                             // commands that sh runs in the workspace before, in its order
	Meanwhile func(w *World, done <-chan struct{}) // goes on while agentls runs, until done is closed; may be nil
	Args      []string                             // further arguments of agentls run
	Env       []string                             // more of its environment, as KEY=value
	Untrusted bool                                 // the folder is not trusted; the control's always is

	// Calls are what the model asks for, one a turn. Then it says that it is done.
	Calls []Call

	Canary []string // paths below $BASE that must not come to be, change or go
	Leak   string   // a text that the model must not be told; no call may hold it
	Want   string   // must be in the results that the model is told, with the policy

	// Refused says that commands are refused, whatever the wall. Behind bubblewrap
	// the others of HoldBehind run: it is the wall that holds them.
	Refused bool
}

// Call is a tool call.
type Call struct {
	Tool string
	Args Args
}

// Args are the arguments of a call.
type Args = map[string]any

// Shell is the call of bash with a command.
func Shell(command string) Call { return Call{Tool: "bash", Args: Args{"command": command}} }

// Command is the call of bash with a command and what it asks to be let do.
func Command(access, command string) Call {
	return Call{Tool: "bash", Args: Args{"command": command, "access": access}}
}

// Hold runs a case, as a parallel test of its name: with the policy no canary
// fires and nothing leaks; without it something does. Without a wall named it is the
// best that the machine has, as for a person.
func Hold(t *testing.T, c Case) { hold(t, c, "") }

// HoldBehind is [Hold] with the policy and each wall that a machine may have, one
// after the other. A wall that the machine has not is left out, so what a test has
// tried depends on the machine.
func HoldBehind(t *testing.T, c Case) { hold(t, c, Walls()...) }

// hold runs a case with the policy once for each wall, and once without the policy as the control.
func hold(t *testing.T, c Case, walls ...Wall) {
	t.Helper()
	t.Run(c.Name, func(t *testing.T) {
		t.Parallel()
		for _, wall := range walls {
			with := c.run(t, Binary(t), wall, !c.Untrusted)
			for _, harm := range with.harm {
				t.Errorf("%s %s\nthe model was told:\n%s", wall, harm, with.told)
			}
			if c.Want != "" && !strings.Contains(with.told, with.world.Own(c.Want)) {
				t.Errorf("%s the model was not told %q but\n%s", wall, c.Want, with.told)
			}
			if ran := strings.Count(with.told, "bash: Exit code: "); wall == Bubblewrap &&
				!c.Refused && ran != c.commands() {
				t.Errorf("behind bubblewrap %d of %d commands ran; the model was told\n%s", ran,
					c.commands(), with.told)
			}
		}
		without := c.run(t, Unguarded(t), "", true)
		if len(without.harm) == 0 {
			t.Errorf("without the policy nothing happens either: the case proves nothing. The model was told:\n%s",
				without.told)
			return
		}
		t.Logf("control: without the policy %s", strings.Join(without.harm, "; "))
	})
}

// commands is how many calls run one.
func (c Case) commands() (n int) {
	for _, call := range c.Calls {
		if call.Tool == "bash" {
			n++
		}
	}
	return n
}

// outcome is what came of a run.
type outcome struct {
	world *World
	harm  []string // what must not be
	told  string   // the results that the model got
}

// run plays a case with a binary. The world is made anew for it. Before and after are
// looked at by this process, never by the binary.
func (c Case) run(t *testing.T, binary string, wall Wall, trusted bool) outcome {
	t.Helper()
	if len(c.Calls) == 0 || (len(c.Canary) == 0 && c.Leak == "" && !strings.Contains(fmt.Sprint(c.Calls), "$SINK") &&
		!strings.Contains(fmt.Sprint(c.Calls), "$PORT")) {
		t.Fatal("a case has calls, and a canary, what must not leak, or $SINK or $PORT")
	}
	w := Furnish(t, c.Files)
	w.SetUp(t, c.Setup)
	if settings := wall.Settings(t, c.Settings); settings != "" {
		w.write(t, "home/.gemini/settings.json", settings)
	}
	model := modelserver.New(modelserver.Config{Script: c.script(t, w)})
	before := w.prints(t, c.Canary)
	env := slices.Clone(c.Env)
	if trusted {
		env = append(env, "AGENTLS_TRUST=1")
	}
	env = append(env, wall.Environ(t)...)
	said := w.runBeside(t, c.Meanwhile, func() string { return w.Run(t, binary, model, Task{Args: c.Args, Env: env}) })
	if err := model.Done(); err != nil {
		t.Fatalf("the model was not asked for all: %v\nagentls said:\n%s", err, said)
	}
	out := outcome{world: w, told: Told(model.Requests())}
	for i, after := range w.prints(t, c.Canary) {
		if after != before[i] {
			out.harm = append(out.harm, fmt.Sprintf("%s was %s and is %s", c.Canary[i], clip(before[i]), clip(after)))
		}
	}
	if c.Leak != "" && slices.ContainsFunc(model.Requests(), func(r modelserver.Request) bool {
		return tells(r,
			c.Leak)
	}) {
		out.harm = append(out.harm, fmt.Sprintf("the model was told %q", c.Leak))
	}
	if sunk := w.Sunk(); len(sunk) > 0 {
		out.harm = append(out.harm, fmt.Sprintf("the canary socket was told %q", sunk))
	}
	return out
}

// tells reports whether a request holds a text, as it is or as JSON has it.
func tells(r modelserver.Request, text string) bool {
	for _, m := range r.Messages {
		for _, p := range m.Parts {
			if strings.Contains(p.Text, text) || (p.Result != nil && strings.Contains(p.Result.Text, text)) {
				return true
			}
		}
	}
	return bytes.Contains(r.Body, []byte(text))
}

// Told returns the results of tools that requests have. They are those of the last
// request, which has the whole conversation; a run whose context was made shorter has
// lost the others.
func Told(requests []modelserver.Request) string {
	if len(requests) == 0 {
		return ""
	}
	var b strings.Builder
	for _, m := range requests[len(requests)-1].Messages {
		for _, p := range m.Parts {
			if p.Result != nil {
				fmt.Fprintf(&b, "%s: %s\n", p.Result.Name, p.Result.Text)
			}
		}
	}
	return b.String()
}

// script is what the model says. It has no expectations: what the model is told is
// looked at afterwards.
func (c Case) script(t *testing.T, w *World) *modelserver.Script {
	t.Helper()
	var b strings.Builder
	for _, call := range c.Calls {
		args, err := json.Marshal(call.Args)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "<call %s %s\n\n", call.Tool, w.Own(string(args)))
	}
	b.WriteString("< Done.\n")
	script, err := modelserver.Parse(b.String())
	if err != nil {
		t.Fatal(err)
	}
	return script
}
