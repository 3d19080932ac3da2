package agents

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/agentls/agentls/agents/authority"
	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/explanation"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/settings"
)

// effective is an agent with what settings say of it. It is made for each use, from the
// settings of that moment, and not changed afterwards.
type effective struct {
	*definition.Definition // the agent's own where nothing is other

	Off      authority.Origin // where the agent is switched off; zero = it is not
	Only     []authority.List // each takes away all tools that it does not name
	Problems []string         // what does not count of the settings, each with file:line
}

// override merges the sections agents.overrides.<agent> over an agent, in their
// order (spec 8.2). A project's section can only take away: it denies tools,
// names those that are left, lowers limits and switches off. What it says beyond
// that is ignored with a problem, as is what cannot be read. d stays as it is. It never
// fails. Later sections win, so the project's, which comes last, is held to what was
// before it.
func override(d *definition.Definition, list []settings.Raw) effective {
	if len(list) == 0 {
		return effective{Definition: d}
	}
	// A copy of what sections write: the definition is the catalog's. Deny is the one list
	// that they add to; the others they replace.
	own := *d
	own.Tools.Deny = slices.Clone(d.Tools.Deny)
	t := effective{Definition: &own}
	for _, o := range list {
		(&overriding{tuned: &t, from: o, key: "agents.overrides." + d.Name}).section()
	}
	return t
}

// tools returns those of all that the settings leave. Patterns are read as in agent
// files.
func (t *effective) tools(all []tool.Tool) []tool.Tool {
	for _, only := range t.Only {
		all = slices.DeleteFunc(slices.Clone(all), func(one tool.Tool) bool {
			return !slices.ContainsFunc(only.Names, func(pattern string) bool {
				if canonical, ok := definition.CanonicalTool(pattern); ok {
					pattern = canonical
				}
				return tool.Pattern(pattern).Gives(one.Spec().Name)
			})
		})
	}
	return all
}

// overriding merges one section.
type overriding struct {
	tuned *effective
	from  settings.Raw
	key   string // agents.overrides.<agent>
}

// problem notes what does not count, with the place of the section.
func (o *overriding) problem(key, format string, args ...any) {
	o.tuned.Problems = append(o.tuned.Problems,
		fmt.Sprintf("%s: %s %s; it is ignored", o.from.Origin, strings.TrimSuffix(o.key+"."+key, "."),
			fmt.Sprintf(format, args...)))
}

// persons reports whether a key counts that only the person may set, and notes
// it where it does not.
func (o *overriding) persons(key string) bool {
	if o.project() {
		o.problem(key, "can be set by your own settings only")
	}
	return !o.project()
}

// project reports whether the section is one of a project's settings, which can take
// power away only.
func (o *overriding) project() bool { return o.from.Origin.Scope == settings.ProjectScope }

// origin is where the section is written that has a key.
func (o *overriding) origin(key string) authority.Origin {
	return explanation.OriginOf(o.key+"."+key, o.from.Origin)
}

// section merges all keys of the section, in the order of their names.
//
// A key that is wrong is a problem and changes nothing.
func (o *overriding) section() {
	d := o.tuned.Definition
	fields := o.object(o.from.JSON, "")
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		raw := fields[key]
		switch key {
		case "enabled":
			if on, ok := value[bool](o, key, raw); ok {
				o.enable(on)
			}
		case "model":
			if name, ok := value[string](o, key, raw); ok && o.persons(key) && name != "" {
				d.Model = name
			}
		case "temperature":
			o.number(key, raw, 2, &d.Temperature)
		case "top_p":
			o.number(key, raw, 1, &d.TopP)
		case "thinking_budget":
			switch n, ok := value[int](o, key, raw); {
			case !ok:
			case n < -1 || n > math.MaxInt32:
				o.problem(key, "must be a number of tokens, or -1")
			default:
				d.ThinkingBudget, d.ThinkingLevel = &n, ""
			}
		case "run":
			o.run(o.object(raw, key))
		case "tools":
			o.tools(o.object(raw, key))
		default:
			o.problem(key, "is not a key of an override")
		}
	}
}

// enable switches the agent off, or, for the person only, on again.
func (o *overriding) enable(on bool) {
	switch {
	// Each section may switch off, and the last that does is the one that is named.
	case !on:
		o.tuned.Off = o.origin("enabled")
	case o.tuned.Off != (authority.Origin{}) && o.persons("enabled"):
		o.tuned.Off = authority.Origin{}
	}
}

// run merges the keys below run.
//
// Limits go through limit, by which a project can only lower them.
func (o *overriding) run(fields map[string]json.RawMessage) {
	d := o.tuned.Definition
	task := d.Mode == definition.Task || d.Output != nil
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		key, raw := "run."+name, fields[name]
		switch name {
		case "max_turns":
			// A project must not exceed the default either, where the file says nothing.
			standard := definition.DefaultChatTurns
			if task {
				standard = definition.DefaultTaskTurns
			}
			if n, ok := value[int](o, key, raw); ok {
				limit(o, key, n, standard, &d.MaxTurns)
			}
		case "max_time":
			standard := time.Duration(0)
			if task {
				standard = definition.DefaultTaskTime
			}
			if n, ok := o.duration(key, raw); ok {
				limit(o, key, n, standard, &d.MaxTime)
			}
		case "max_tokens":
			if n, ok := value[int](o, key, raw); ok {
				limit(o, key, n, 0, &d.MaxTokens)
			}
		case "max_cost":
			if n, ok := value[float64](o, key, raw); ok {
				limit(o, key, n, 0, &d.MaxCost)
			}
		case "mode":
			mode, ok := value[definition.Mode](o, key, raw)
			if ok && mode != definition.Chat && mode != definition.Task {
				o.problem(key, "must be chat or task")
			} else if ok && o.persons(key) {
				d.Mode = mode
			}
		default:
			o.problem(key, "is not a key of an override")
		}
	}
}

// tools merges allow and deny: lists of the person replace, those of a project take away.
func (o *overriding) tools(fields map[string]json.RawMessage) {
	d := o.tuned.Definition
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		key := "tools." + name
		if name != "allow" && name != "deny" {
			o.problem(key, "is not a key of an override")
			continue
		}
		list, ok := value[[]string](o, key, fields[name])
		switch {
		case !ok:
		// Deny only takes away, so anybody's counts, and they add up.
		case name == "deny":
			d.Tools.Deny = append(d.Tools.Deny, list...)
		// A project's list does not replace the file's: it could name tools that the file leaves
		// out.
		case o.project():
			o.tuned.Only = append(o.tuned.Only, authority.List{Names: list, Origin: o.origin(key)})
		default:
			d.Tools.Allow, d.Tools.Given = list, true
		}
	}
}

// limit sets a limit, of which 0 is none or the mode's own, standard. A project may
// lower it only. A value of 0 or less is a problem.
func limit[N int | float64 | time.Duration](o *overriding, key string, n, standard N, into *N) {
	before := *into
	if before == 0 {
		before = standard
	}
	switch {
	case n <= 0:
		o.problem(key, "must be over 0")
	case o.project() && before != 0 && n > before:
		o.problem(key, "is raised by a project, which can lower it only, from %v", before)
	default:
		*into = n
	}
}

// number reads a number from 0 to most. It is set anew and not shared with the file's.
func (o *overriding) number(key string, raw json.RawMessage, most float64, into **float64) {
	switch n, ok := value[float64](o, key, raw); {
	case !ok:
	case n < 0 || n > most:
		o.problem(key, "must be a number from 0 to %v", most)
	default:
		*into = &n
	}
}

// duration reads seconds, or a duration as Go writes it. false where it is neither.
func (o *overriding) duration(key string, raw json.RawMessage) (time.Duration, bool) {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		d, err := time.ParseDuration(text)
		if err != nil {
			o.problem(key, "must be seconds, or a duration such as 5m")
		}
		return d, err == nil
	}
	n, ok := value[float64](o, key, raw)
	if ok && n > 1e9 {
		o.problem(key, "is too long")
		return 0, false
	}
	return time.Duration(n * float64(time.Second)), ok
}

// object reads the members of an object; null ones are not given.
func (o *overriding) object(raw json.RawMessage, key string) map[string]json.RawMessage {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil {
		o.problem(key, "must be an object")
	}
	maps.DeleteFunc(fields, func(_ string, v json.RawMessage) bool { return string(v) == "null" })
	return fields
}

// value reads one value, or notes that it is of another type.
func value[T any](o *overriding, key string, raw json.RawMessage) (T, bool) {
	var v T
	if err := json.Unmarshal(raw, &v); err != nil {
		o.problem(key, "must be %s", kindOf(v))
		return v, false
	}
	return v, true
}

// kindOf says what a value of a type is, for a person.
func kindOf(v any) string {
	switch v.(type) {
	case bool:
		return "true or false"
	case int:
		return "a whole number"
	case float64:
		return "a number"
	case []string:
		return "a list of strings"
	}
	return "a string"
}
