package hook

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/agentls/agentls/internal/sandbox"
)

// The time that a hook has by default and at most.
const (
	defaultTimeout = time.Minute
	maxTimeout     = 10 * time.Minute
)

// Described is a hook as the settings describe it.
type Described struct {
	Event      string
	Key        string // under which it is written: the event, or its older name
	Name       string // its command where it has none
	Matcher    string
	Command    string
	Args       []string // nil = Command is a line for bash
	Env        []string // NAME=value
	Timeout    time.Duration
	Sequential bool
	Project    bool           // it is a project's, and not the person's own
	Sandbox    sandbox.Access // "" = no wall

	// Problem says why it cannot be run, for the person; "" = it can be. A guard that
	// cannot be run blocks.
	Problem string
}

// written are the hooks of one event as settings have them.
type written []struct {
	Matcher    string
	Sequential bool
	Hooks      []struct {
		Type, Command, Name, Sandbox string
		Args                         *[]string
		Env                          map[string]string
		Timeout                      float64
		Sequential                   bool
	}
}

// Parse reads the section hooks of one settings file. What cannot be used is returned
// with its Problem. off are names of hooks that are switched off. lookup returns the
// variables that $NAME and ${NAME} stand for in env.
func Parse(raw []byte, project bool, lookup func(string) (string, bool)) (list []Described, off []string) {
	var section map[string]json.RawMessage
	if json.Unmarshal(raw, &section) != nil {
		return nil, nil // the settings say so
	}
	on := true
	_ = json.Unmarshal(section["enabled"], &on)   // anything else is as if it was not there:
	_ = json.Unmarshal(section["disabled"], &off) // hooks are run rather than not
	if !on {
		return nil, off
	}
	for _, key := range slices.Sorted(maps.Keys(section)) {
		event := key
		if key == "ToolNotification" {
			event = Notification
		}
		if !slices.Contains(Events(), event) {
			continue
		}
		var groups written
		if err := json.Unmarshal(section[key], &groups); err != nil {
			list = append(list, Described{Event: event, Key: key, Name: key, Project: project, Problem: fmt.Sprintf("its description in the settings cannot be read: %v", err)})
			continue
		}
		for _, g := range groups {
			for _, h := range g.Hooks {
				d := Described{
					Event: event, Key: key, Name: cmp.Or(h.Name, h.Command, "unnamed"), Matcher: g.Matcher, Command: h.Command,
					Timeout: time.Duration(h.Timeout * float64(time.Millisecond)), Sequential: g.Sequential || h.Sequential, Project: project, Sandbox: sandbox.Access(h.Sandbox),
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

// complete checks a description, and fills in what it leaves out.
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
	case d.Sandbox == sandbox.Network:
		return errors.New("sandbox: network is not supported for hooks yet; use read, write or full")
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
	if _, err := regexp.Compile(d.Matcher); err != nil && d.Matcher != "*" {
		return fmt.Errorf("its matcher is no regular expression (%v)", err)
	}
	return nil
}

// variable is $NAME or ${NAME}.
var variable = regexp.MustCompile(`\$(?:\{([A-Za-z_][A-Za-z0-9_]*)\}|([A-Za-z_][A-Za-z0-9_]*))`)

// Summary says for a person what the hook does.
func (d *Described) Summary() string {
	text := d.Event
	if d.Matcher != "" && d.Matcher != "*" {
		text += " " + d.Matcher
	}
	text += ": " + strings.Join(append([]string{d.Command}, d.Args...), " ")
	if d.Sandbox != "" {
		text += fmt.Sprintf(" (sandbox: %s)", d.Sandbox)
	}
	return text
}

// Gates reports whether the hook guards something: its failure blocks it.
func (d *Described) Gates() bool { return gates(d.Event) }
