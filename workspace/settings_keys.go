package workspace

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// settingKey is one typed key: what it means and how it is read.
type settingKey struct {
	key string // with dots
	doc string
	// set takes the value from a file; the error is for a person and leaves s as it is.
	set func(s *Settings, v *hujson.Value, origin Origin) error
	get func(s *Settings) (any, Origin)

	values []string    // all that it, or an element of its list, may be; nil = any
	bounds *[2]float64 // of a number, both included; nil = any
}

// settingKeys is the table of typed keys, in alphabetical order.
func settingKeys() []settingKey { return slices.Concat(runKeys(), sessionKeys(), otherKeys()) }

const million = 1_000_000

// runKeys are those of how agents run.
func runKeys() []settingKey {
	return []settingKey{
		boolKey("agents.autoRoute",
			"Whether input that names no agent is routed, which may cost a model call; the person's own settings only.",
			func(s *Settings) *Value[bool] { return &s.Agents.AutoRoute }),
		boolKey("agents.compression.enabled", "Whether long contexts are summed up by a model.",
			func(s *Settings) *Value[bool] { return &s.Agents.Compression.Enabled }),
		textKey("agents.compression.model", "The model that sums contexts up; the person's own settings only.",
			func(s *Settings) *Value[string] { return &s.Agents.Compression.Model }),
		shareKey("agents.compression.preserve", "Part of a context, its newest, that is kept as it is.",
			0, math.Nextafter(1, 0),
			func(s *Settings) *Value[float64] { return &s.Agents.Compression.Preserve }),
		shareKey("agents.compression.threshold", "Part of the model's window from which a context is summed up.",
			math.SmallestNonzeroFloat64, 1,
			func(s *Settings) *Value[float64] { return &s.Agents.Compression.Threshold }),
		intKey("agents.confirmationTimeout", "Seconds until a question counts as answered with no; 0 = never.",
			bounds{0, 86_400, false, false},
			func(s *Settings) *Value[int] { return &s.Agents.ConfirmationTimeout }),
		boolKey("agents.contextPersistence", "Whether sessions are kept on disk.",
			func(s *Settings) *Value[bool] { return &s.Agents.ContextPersistence }),
		enumKey("agents.defaultScope", "Where a new agent is written.", []string{"project", "global"},
			func(s *Settings) *Value[string] { return &s.Agents.DefaultScope }),
		listKey("agents.fallbackModels", "Models that are tried in order when an agent's own fails.", false,
			func(s *Settings) *Value[[]string] { return &s.Agents.FallbackModels }),
		enumKey("agents.inline.answer",
			"Where the answer to an inline command goes: a document beside, a comment below its line, or an edit for review.", InlineAnswers(),
			func(s *Settings) *Value[string] { return &s.Agents.Inline.Answer }),
		intKey("agents.limits.depth", "How deep a delegated run may lie below the first.", bounds{0, 16, true, false},
			func(s *Settings) *Value[int] { return &s.Agents.Limits.Depth }),
		intKey("agents.limits.inputTokens", "Input tokens of a tree of runs before the person is asked.",
			bounds{1, math.MaxInt32, true, false},
			func(s *Settings) *Value[int] { return &s.Agents.Limits.InputTokens }),
		intKey("agents.limits.live", "Runs of a tree at the same time.", bounds{1, 256, true, false},
			func(s *Settings) *Value[int] { return &s.Agents.Limits.Live }),
		intKey("agents.limits.modelCalls", "Model calls of a tree of runs.", bounds{1, million, true, false},
			func(s *Settings) *Value[int] { return &s.Agents.Limits.ModelCalls }),
		intKey("agents.limits.runs", "Runs of a tree in all.", bounds{1, 10_000, true, false},
			func(s *Settings) *Value[int] { return &s.Agents.Limits.Runs }),
		intKey("agents.maxContextTokens", "Caps the context window that thresholds use; 0 = the model's own.",
			bounds{0, 100 * million, true, true},
			func(s *Settings) *Value[int] { return &s.Agents.MaxContextTokens }),
		intKey("agents.maxHandoffDepth", "Agents in a chain of handoffs.", bounds{1, 100, true, false},
			func(s *Settings) *Value[int] { return &s.Agents.MaxHandoffDepth }),
		textKey("agents.memory.redis",
			"The Redis server of agents whose memory has the backend redis: redis://host:port, rediss://host:port or unix:///path; the person's own settings only.",
			func(s *Settings) *Value[string] { return &s.Agents.Redis }),
		boolKey("agents.prompt.shellOutputEfficiency", "Whether main is told to run commands that print little.",
			func(s *Settings) *Value[bool] { return &s.Agents.ShellOutput }),
	}
}

// sessionKeys are those of what is kept, routed and traced.
func sessionKeys() []settingKey {
	return []settingKey{
		intKey("agents.retention.days",
			"Days after which a session is removed in which nothing happens; 0 = never; the person's own settings only.", bounds{0, 36_500, false, false},
			func(s *Settings) *Value[int] { return &s.Agents.Retention.Days }),
		intKey("agents.retention.maxSessions",
			"Sessions of a workspace that are kept, the newest; 0 = all; the person's own settings only.",
			bounds{0, million, false, false},
			func(s *Settings) *Value[int] { return &s.Agents.Retention.MaxSessions }),
		listKey("agents.retention.pinned", "Sessions that are never removed; the person's own settings only.", false,
			func(s *Settings) *Value[[]string] { return &s.Agents.Retention.Pinned }),
		textKey("agents.routing.default_agent",
			"The agent that takes what no other is picked for, where fallback is default_agent.",
			func(s *Settings) *Value[string] { return &s.Agents.Routing.DefaultAgent }),
		boolKey("agents.routing.enabled", "Whether @auto picks an agent.",
			func(s *Settings) *Value[bool] { return &s.Agents.Routing.Enabled }),
		enumKey("agents.routing.fallback",
			"What happens when no agent is picked: an error, a question to the person, or default_agent.", Fallbacks(),
			func(s *Settings) *Value[string] { return &s.Agents.Routing.Fallback }),
		textKey("agents.routing.llm.model", "The model that picks an agent; the person's own settings only.",
			func(s *Settings) *Value[string] { return &s.Agents.Routing.Model }),
		intKey("agents.routing.llm.timeout", "Milliseconds that the model has to pick an agent.",
			bounds{1, 300_000, false, false},
			func(s *Settings) *Value[int] { return &s.Agents.Routing.Timeout }),
		intKey("agents.routing.rule.confidence_threshold",
			"From which confidence, 0 to 100, the hybrid strategy asks no model.", bounds{0, 100, false, false},
			func(s *Settings) *Value[int] { return &s.Agents.Routing.Threshold }),
		enumKey("agents.routing.strategy",
			"How an agent is picked: rule by triggers and examples on this machine, llm by a model, hybrid by a model only where rules are not sure.", Strategies(),
			func(s *Settings) *Value[string] { return &s.Agents.Routing.Strategy }),
		enumKey("agents.tracing.backend",
			"Where traces go: files in the folder traces beside these settings, the console (standard error), an OpenTelemetry collector or LangSmith, as the variables OTEL_EXPORTER_OTLP_ENDPOINT and LANGSMITH_API_KEY say; the person's own settings only.", TraceBackends(),
			func(s *Settings) *Value[string] { return &s.Agents.Tracing.Backend }),
		boolKey("agents.tracing.captureContent",
			"Whether traces have prompts, answers, arguments and results; where it is not given, files have them, and what is sent has not.",
			func(s *Settings) *Value[bool] { return &s.Agents.Tracing.CaptureContent }),
		boolKey("agents.tracing.enabled", "Whether runs are traced.",
			func(s *Settings) *Value[bool] { return &s.Agents.Tracing.Enabled }),
		someKey("agents.tracing.events", "What traces have, besides the runs.", TraceEvents(),
			func(s *Settings) *Value[[]string] { return &s.Agents.Tracing.Events }),
		shareKey("agents.tracing.sample_rate", "The share of sessions that is traced.", 0, 1,
			func(s *Settings) *Value[float64] { return &s.Agents.Tracing.SampleRate }),
	}
}

// otherKeys are those that gemini-cli has, too.
func otherKeys() []settingKey {
	return []settingKey{
		shareKey("model.compressionThreshold",
			"What agents.compression.threshold is where nobody sets it; gemini-cli's name.",
			math.SmallestNonzeroFloat64, 1,
			func(s *Settings) *Value[float64] { return &s.Model.CompressionThreshold }),
		guardKey("model.disableLoopDetection", "Whether runs go on that repeat themselves.",
			func(s *Settings) *Value[bool] { return &s.Model.DisableLoopDetection }),
		textKey("model.name", "The model of agents that inherit one.",
			func(s *Settings) *Value[string] { return &s.Model.Name }),
		listKey("security.additionalFolders",
			"Folders outside the workspace that file tools may use; the person's own settings only.", false,
			func(s *Settings) *Value[[]string] { return &s.Security.AdditionalFolders }),
		enumKey("security.critical", "What happens to a catastrophic call; the person's own settings only.",
			[]string{"refuse", "ask"},
			func(s *Settings) *Value[string] { return &s.Security.Critical }),
		listKey("tools.allowed", "Calls that need no question, as read_file or bash(git status); what is critical asks all the same. read_file(/a/path) of a credential file lets agents read it; the person's own settings only.", false,
			func(s *Settings) *Value[[]string] { return &s.Tools.Allowed }),
		listKey("tools.core", "The only built-in tools that agents are offered; a project's list takes away from the person's.", false,
			func(s *Settings) *Value[[]string] { return &s.Tools.Core }),
		strictListKey("tools.exclude",
			"Tools that no agent is offered, and calls that are refused, as bash(git push) or write_file(docs/**).",
			func(s *Settings) *Value[[]string] { return &s.Tools.Exclude }),
		listKey("tools.sandbox.allowedHosts",
			"Hosts that web_fetch and commands reach without a question, as example.com, *.example.com or localhost:8080; one that is named so may have a private address. The person's own settings only.", false,
			func(s *Settings) *Value[[]string] { return &s.Tools.Sandbox.AllowedHosts }),
		sandboxModeKey("tools.sandbox.mode",
			"auto confines commands where a sandbox works, require refuses them where none does, off confines none; the person's own settings only."),
		listKey("tools.sandbox.read",
			"Files and folders outside the workspace that commands in the sandbox may read, in place of the usual toolchains in the home; the person's own settings only.", false,
			func(s *Settings) *Value[[]string] { return &s.Tools.Sandbox.Read }),
		listKey("tools.sandbox.write",
			"Files and folders outside the workspace that commands in the sandbox may change; the person's own settings only.", false,
			func(s *Settings) *Value[[]string] { return &s.Tools.Sandbox.Write }),
	}
}

// newTypedKey makes a key whose value is decoded by decode.
func newTypedKey[T any](key, doc string, field func(*Settings) *Value[T],
	decode func(*hujson.Value) (T, error)) settingKey {
	return settingKey{
		key: key, doc: doc,
		set: func(s *Settings, v *hujson.Value, origin Origin) error {
			value, err := decode(v)
			if err == nil {
				*field(s) = Value[T]{value, origin}
			}
			return err
		},
		get: func(s *Settings) (any, Origin) { return field(s).Value, field(s).Origin },
	}
}

func boolKey(key, doc string, field func(*Settings) *Value[bool]) settingKey {
	return newTypedKey(key, doc, field, func(v *hujson.Value) (bool, error) {
		if k := v.Value.Kind(); k != 't' && k != 'f' {
			return false, fmt.Errorf("must be true or false, not %s", kindName(v))
		}
		return v.Value.Kind() == 't', nil
	})
}

// guardKey makes a key that takes a protection away when it is true: a project
// cannot.
func guardKey(key, doc string, field func(*Settings) *Value[bool]) settingKey {
	k := boolKey(key, doc, field)
	set := k.set
	k.set = func(s *Settings, v *hujson.Value, origin Origin) error {
		before := *field(s)
		err := set(s, v, origin)
		if err == nil && origin.Scope == ProjectScope && field(s).Value && !before.Value {
			*field(s) = before
			err = errors.New("can be switched on by your own settings only")
		}
		return err
	}
	return k
}

// shareKey makes a key of a number between two others, both included.
func shareKey(key, doc string, least, most float64, field func(*Settings) *Value[float64]) settingKey {
	k := newTypedKey(key, doc, field, func(v *hujson.Value) (float64, error) {
		lit, ok := v.Value.(hujson.Literal)
		if !ok || lit.Kind() != '0' {
			return 0, fmt.Errorf("must be a number from 0 to 1, not %s", kindName(v))
		}
		var n float64
		if err := json.Unmarshal(lit, &n); err != nil || !(n >= least && n <= most) {
			return 0, fmt.Errorf("must be a number from 0 to 1, the %s excepted, not %s",
				map[bool]string{true: "0", false: "1"}[least > 0], lit)
		}
		return n, nil
	})
	k.bounds = &[2]float64{math.Round(least), math.Round(most)}
	return k
}

func textKey(key, doc string, field func(*Settings) *Value[string]) settingKey {
	return newTypedKey(key, doc, field, text)
}

func enumKey(key, doc string, allowed []string, field func(*Settings) *Value[string]) settingKey {
	k := newTypedKey(key, doc, field, func(v *hujson.Value) (string, error) {
		value, err := text(v)
		if err == nil && !slices.Contains(allowed, value) {
			err = fmt.Errorf("must be one of %s, not %q", strings.Join(allowed, ", "), value)
		}
		return value, err
	})
	k.values = allowed
	return k
}

// sandboxModeKey makes the key of the sandbox's mode. One that cannot be read is
// the strict one: nobody writes a mode to have less of a sandbox than without.
func sandboxModeKey(key, doc string) settingKey {
	k := enumKey(key, doc, []string{"auto", "require", "off"},
		func(s *Settings) *Value[string] { return &s.Tools.Sandbox.Mode })
	set := k.set
	k.set = func(s *Settings, v *hujson.Value, origin Origin) error {
		err := set(s, v, origin)
		if err != nil {
			s.Tools.Sandbox.Mode = Value[string]{"require", origin}
			err = fmt.Errorf("%w; until then it is require", err)
		}
		return err
	}
	return k
}

// bounds are those of a whole number.
type bounds struct {
	least, most int
	narrow      bool // a project may lower it only
	none        bool // 0 is no limit, so the highest
}

func intKey(key, doc string, b bounds, field func(*Settings) *Value[int]) settingKey {
	k := newTypedKey(key, doc, field, func(v *hujson.Value) (int, error) {
		lit, ok := v.Value.(hujson.Literal)
		if !ok || lit.Kind() != '0' {
			return 0, fmt.Errorf("must be a whole number, not %s", kindName(v))
		}
		var n float64
		if err := json.Unmarshal(lit, &n); err != nil || n != math.Trunc(n) ||
			n < float64(b.least) || n > float64(b.most) {
			return 0, fmt.Errorf("must be a whole number from %d to %d, not %s", b.least, b.most, lit)
		}
		return int(n), nil
	})
	k.bounds = &[2]float64{float64(b.least), float64(b.most)}
	if !b.narrow {
		return k
	}
	set := k.set
	k.set = func(s *Settings, v *hujson.Value, origin Origin) error {
		before := *field(s)
		err := set(s, v, origin)
		if err != nil || origin.Scope != ProjectScope {
			return err
		}
		old, now := before.Value, field(s).Value
		if endless := func(n int) bool { return b.none && n == 0 }; endless(old) || (now <= old && !endless(now)) {
			return nil
		}
		*field(s) = before
		return fmt.Errorf("is raised by a project, which can lower this limit only, from %d", old)
	}
	return k
}

// listKey makes a key of strings. A joined one adds to the scope before.
func listKey(key, doc string, joined bool, field func(*Settings) *Value[[]string]) settingKey {
	k := newTypedKey(key, doc, field, func(v *hujson.Value) ([]string, error) {
		array, ok := v.Value.(*hujson.Array)
		if !ok {
			return nil, fmt.Errorf("must be a list of strings, not %s", kindName(v))
		}
		list := make([]string, 0, len(array.Elements))
		for i := range array.Elements {
			item, err := text(&array.Elements[i])
			if err != nil {
				return nil, fmt.Errorf("must be a list of strings; element %d is %s", i+1, kindName(&array.Elements[i]))
			}
			list = append(list, item)
		}
		return list, nil
	})
	if !joined {
		return k
	}
	set := k.set
	k.set = func(s *Settings, v *hujson.Value, origin Origin) error {
		before := field(s).Value
		if err := set(s, v, origin); err != nil {
			return err
		}
		all := slices.Clone(before)
		for _, item := range field(s).Value {
			if !slices.Contains(all, item) {
				all = append(all, item)
			}
		}
		field(s).Value = all
		return nil
	}
	return k
}

// someKey makes a key of a list of words that are allowed.
func someKey(key, doc string, allowed []string, field func(*Settings) *Value[[]string]) settingKey {
	k := listKey(key, doc, false, field)
	k.values = allowed
	set := k.set
	k.set = func(s *Settings, v *hujson.Value, origin Origin) error {
		before := *field(s)
		if err := set(s, v, origin); err != nil {
			return err
		}
		for _, item := range field(s).Value {
			if !slices.Contains(allowed, item) {
				*field(s) = before
				return fmt.Errorf("must be some of %s, not %q", strings.Join(allowed, ", "), item)
			}
		}
		return nil
	}
	return k
}

// strictListKey makes a joined list that takes something away: what can be read
// of one that is wrong in part counts, and so does a string that is no list.
func strictListKey(key, doc string, field func(*Settings) *Value[[]string]) settingKey {
	k := listKey(key, doc, true, field)
	set := k.set
	k.set = func(s *Settings, v *hujson.Value, origin Origin) error {
		err := set(s, v, origin)
		if err == nil {
			return nil
		}
		var readable hujson.Array
		if array, ok := v.Value.(*hujson.Array); ok {
			for _, element := range array.Elements {
				if _, err := text(&element); err == nil {
					readable.Elements = append(readable.Elements, element)
				}
			}
		} else if _, err := text(v); err == nil {
			readable.Elements = []hujson.Value{*v}
		}
		if len(readable.Elements) > 0 {
			_ = set(s, &hujson.Value{Value: &readable}, origin) // strings only
		}
		return err
	}
	return k
}

func text(v *hujson.Value) (string, error) {
	if lit, ok := v.Value.(hujson.Literal); ok && lit.Kind() == '"' {
		return lit.String(), nil
	}
	return "", fmt.Errorf("must be a string, not %s", kindName(v))
}

// kindName says what a value is, for a person.
func kindName(v *hujson.Value) string {
	switch v.Value.Kind() {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "a string"
	case '0':
		return "a number"
	case 't', 'f':
		return "true or false"
	}
	return "null"
}

// read takes one key from a layer.
func (s *Settings) read(l *layer, k settingKey) {
	path := strings.Split(k.key, ".")
	for n := 1; n < len(path); n++ {
		v := l.find(path[:n])
		if v == nil {
			break
		}
		if _, ok := v.Value.(*hujson.Object); !ok {
			s.section(l, strings.Join(path[:n], "."), v)
			break
		}
	}
	for _, v := range l.valuesAt(path) {
		if err := k.set(s, v, l.origin(v)); err != nil {
			s.Problems = append(s.Problems, l.problem(v.StartOffset, k.key, "%s %s; it is ignored", k.key, err))
		}
	}
}

// section reports, once, a section that is no object.
func (s *Settings) section(l *layer, key string, v *hujson.Value) {
	p := l.problem(v.StartOffset, key, "%s must be an object, not %s; it is ignored", key, kindName(v))
	if !slices.Contains(s.Problems, p) {
		s.Problems = append(s.Problems, p)
	}
}

// readMaps takes what is named by the person: servers and overrides.
func (s *Settings) readMaps(l *layer) {
	for name, v := range s.objects(l, "mcpServers") {
		s.MCPServers[name] = l.raw(v)
	}
	for name, v := range s.objects(l, "agents", "overrides") {
		s.Agents.Overrides[name] = append(s.Agents.Overrides[name], l.raw(v))
	}
}

// readLists takes the lists of rules and rows, which projects do not have.
func (s *Settings) readLists(l *layer) {
	s.readList(l, "routes", &s.Model.Routes)
	s.readList(l, "table", &s.Model.Table)
}

func (s *Settings) readList(l *layer, key string, list *[]Raw) {
	v := l.find([]string{"model", key})
	if v == nil {
		return
	}
	array, ok := v.Value.(*hujson.Array)
	if !ok {
		s.Problems = append(s.Problems, l.problem(v.StartOffset, "model."+key,
			"model.%s must be a list, not %s; it is ignored", key, kindName(v)))
		return
	}
	*list = make([]Raw, 0, len(array.Elements))
	for i := range array.Elements {
		*list = append(*list, l.raw(&array.Elements[i]))
	}
}

// objects returns the members of the object at path that are objects.
func (s *Settings) objects(l *layer, path ...string) map[string]*hujson.Value {
	v := l.find(path)
	if v == nil {
		return nil
	}
	key := strings.Join(path, ".")
	object, ok := v.Value.(*hujson.Object)
	if !ok {
		s.section(l, key, v)
		return nil
	}
	found := make(map[string]*hujson.Value, len(object.Members))
	for i := range object.Members {
		name := memberName(&object.Members[i])
		value := &object.Members[i].Value
		switch value.Value.(type) {
		case *hujson.Object:
			found[name] = value
		default:
			if value.Value.Kind() != 'n' {
				s.section(l, key+"."+name, value)
			}
			delete(found, name)
		}
	}
	return found
}
