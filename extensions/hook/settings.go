package hook

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/agentls/agentls/internal/pattern"
	"github.com/agentls/agentls/internal/sandbox"
	"github.com/agentls/agentls/internal/settings"
)

// The time that a hook has by default and at most.
const (
	defaultTimeout = time.Minute
	maxTimeout     = 10 * time.Minute
)

// Described is a hook as the settings describe it.
// It is not changed once [Parse] has returned it.
type Described struct {
	// One of the events of this package.
	Event   string
	Key     string // under which it is written: the event, or its older name
	Name    string // its command where it has none
	Matcher string
	// With Args a program by name or path, ~/ for the person's home; without them a line
	// for bash.
	Command string
	Args    []string // nil = Command is a line for bash
	Env     []string // NAME=value
	// From 1 ms to 10 min, one minute where none is given.
	Timeout time.Duration
	// Whether all hooks of an event run one after another because of it.
	Sequential bool
	Project    bool           // it is a project's, and not the person's own
	Sandbox    sandbox.Access // "" = no wall

	// Problem says why it cannot be run, for the person; "" = it can be. A guard that
	// cannot be run blocks.
	Problem string
}

// written are the hooks of one event as settings have them.
// Only what is read is named: see spec 9.2.
type written []struct {
	Matcher    string `json:"matcher"`
	Sequential bool   `json:"sequential"`
	Hooks      []struct {
		Type       string            `json:"type"`
		Command    string            `json:"command"`
		Name       string            `json:"name"`
		Sandbox    string            `json:"sandbox"`
		Args       *[]string         `json:"args"`
		Env        map[string]string `json:"env"`
		Timeout    float64           `json:"timeout"`
		Sequential bool              `json:"sequential"`
	} `json:"hooks"`
}

// Parse reads the section hooks of one settings file. What cannot be used is returned
// with its Problem. off are names of hooks that are switched off. lookup returns the
// variables that $NAME and ${NAME} stand for in env. Names of members are taken exactly
// as they are written, since the person was shown these, and none may be there twice.
// It reads no files. The hooks are in the order of the names of their events, and in one
// event as they are written. A section that cannot be read has none; a single event that
// cannot be is one hook with a Problem, so that a guard in it still blocks. The caller
// owns both slices. What is off is not taken out here, as it may be another file's.
func Parse(raw []byte, project bool, lookup func(string) (string, bool)) (list []Described, off []string) {
	section := sectionOf(raw) // the settings say where it is none
	_ = json.Unmarshal(section["disabled"],
		&off) // anything else is as if it was not there: hooks are run rather than not
	if !Enabled(raw) {
		return nil, off
	}
	for _, key := range slices.Sorted(maps.Keys(section)) {
		event := key
		if key == "ToolNotification" {
			event = Notification
		}
		if !slices.Contains(settings.HookEvents(), event) {
			continue
		}
		var groups written
		if err := json.Unmarshal(section[key], &groups); err != nil {
			list = append(list, Described{Event: event, Key: key, Name: key, Project: project,
				Problem: fmt.Sprintf("its description in the settings cannot be read: %v", err)})
			continue
		}
		for _, g := range groups {
			for _, h := range g.Hooks {
				d := Described{
					Event: event, Key: key, Name: cmp.Or(h.Name, h.Command, "unnamed"),
					Matcher: g.Matcher, Command: h.Command,
					Timeout: time.Duration(h.Timeout * float64(time.Millisecond)), Sequential: g.Sequential ||
						h.Sequential, Project: project, Sandbox: sandbox.Access(h.Sandbox),
				}
				if h.Args != nil {
					d.Args = append([]string{}, *h.Args...)
				}
				if key != event && d.Matcher == "" {
					d.Matcher = "ToolPermission"
				}
				if err := d.complete(h.Type, h.Env, lookup); err != nil {
					d.Problem = err.Error()
				}
				list = append(list, d)
			}
		}
	}
	return list, off
}

// Enabled reports whether a section hooks leaves hooks switched on.
// It is true in doubt: a guard must not be switched off by a typing error.
func Enabled(raw []byte) bool {
	on := true
	_ = json.Unmarshal(sectionOf(raw)["enabled"], &on) // anything else is as if it was not there
	return on
}

// sectionOf returns the members of a section hooks. One that is there twice is the last;
// in it, a member that is there twice is an error of that event alone.
func sectionOf(raw []byte) (section map[string]jsontext.Value) {
	if json.Unmarshal(raw, &section, jsontext.AllowDuplicateNames(true)) != nil {
		return nil
	}
	return section
}

// complete checks a description, and fills in what it leaves out.
// The error is the Problem: it says what is wrong with the hook, in words that follow
// its name.
func (d *Described) complete(kind string, env map[string]string, lookup func(string) (string, bool)) error {
	if d.Timeout == 0 {
		d.Timeout = defaultTimeout
	}
	if d.Sandbox == "" && d.Project {
		d.Sandbox = sandbox.Write
	}
	switch {
	case kind != "command" && kind != "":
		return fmt.Errorf("its type is %q; only command is supported", kind)
	case strings.TrimSpace(d.Command) == "":
		return errors.New("it has no command")
	case d.Timeout < time.Millisecond || d.Timeout > maxTimeout:
		return errors.New("its timeout is in milliseconds, from 1 to 600000")
	case d.Sandbox.Connects():
		return fmt.Errorf("sandbox: %s is not supported for hooks yet; use read, write or full", d.Sandbox)
	case d.Sandbox != "" && !d.Sandbox.Valid():
		return fmt.Errorf("its sandbox is %q; use read, write or full", d.Sandbox)
	}
	for _, name := range slices.Sorted(maps.Keys(env)) {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			return fmt.Errorf("env has the name %q, which no variable can have", name)
		}
		missing := ""
		value := variable.ReplaceAllStringFunc(env[name], func(whole string) string {
			m := variable.FindStringSubmatch(whole)
			value, ok := lookup(m[1] + m[2])
			if !ok {
				missing = m[1] + m[2]
			}
			return value
		})
		if missing != "" {
			return fmt.Errorf("the variable %s is not set, or is none that a project's hook gets", missing)
		}
		d.Env = append(d.Env, name+"="+value)
	}
	if _, bad := pattern.Check(d.Matcher); bad != nil && d.Matcher != "*" {
		return fmt.Errorf("its matcher is no regular expression that is taken (%v)", bad)
	}
	return nil
}

// variable is $NAME or ${NAME}.
var variable = regexp.MustCompile(`\$(?:\{([A-Za-z_][A-Za-z0-9_]*)\}|([A-Za-z_][A-Za-z0-9_]*))`)

// Summary says for a person what the hook does.
// It is one line, for the question whether a project's hook may run. Of variables it has
// the names alone, since values may be secret.
func (d *Described) Summary() string {
	text := d.Event
	if d.Matcher != "" && d.Matcher != "*" {
		text += " " + d.Matcher
	}
	text += ": " + strings.Join(append([]string{d.Command}, d.Args...), " ")
	if d.Sandbox != "" {
		text += fmt.Sprintf(" (sandbox: %s)", d.Sandbox)
	}
	for i, variable := range d.Env {
		name, _, _ := strings.Cut(variable, "=")
		text += []string{" with ", ", "}[min(i, 1)] + name
	}
	return text
}

// Gates reports whether the hook guards something: its failure blocks it.
func (d *Described) Gates() bool { return gates(d.Event) }
