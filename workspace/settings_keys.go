package workspace

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/tailscale/hujson"

	"github.com/agentls/agentls/internal/settings"
)

// settingKey is one key with a type: where its value is, what it means and what it
// may be.
type settingKey struct {
	key string // with dots
	doc string
	at  any // points to the value: bool, *bool, int, float64, string, []string or time.Duration

	values       []string      // all that it, or an element of its list, may be; nil = any
	least, most  float64       // of a number, both included
	over, under  bool          // least, most is not included
	unit         time.Duration // of a number that is a duration
	restrictive  bool          // a project may lower the number, or make it false, only
	zeroIsNone   bool          // 0 is no limit, so the highest
	joined       bool          // a list is added to the scope before; what can be read of a wrong one counts
	insteadOfBad string        // what a value that cannot be read counts as; "" = it does not count
}

const million = 1_000_000

// settingKeys is the table of typed keys with the values of v, in alphabetical order.
// Its rows point into v, so a row's set changes v.
func settingKeys(v *settings.Values) []settingKey {
	return slices.Concat(runKeys(v), sessionKeys(v), otherKeys(v))
}

// runKeys are those of how agents run.
func runKeys(v *settings.Values) []settingKey {
	return []settingKey{
		{key: "agents.autoRoute", at: &v.AutoRoute,
			doc: "Whether input that names no agent is routed, which may cost a model call; the person's own settings only."},
		{key: "agents.compression.enabled", at: &v.Compression.Enabled,
			doc: "Whether long contexts are summed up by a model."},
		{key: "agents.compression.model", at: &v.Compression.Model,
			doc: "The model that sums contexts up; the person's own settings only."},
		{key: "agents.compression.preserve", at: &v.Compression.Preserve, most: 1, under: true,
			doc: "Part of a context, its newest, that is kept as it is."},
		{key: "agents.compression.threshold", at: &v.Compression.Threshold, most: 1, over: true,
			doc: "Part of the model's window from which a context is summed up."},
		{key: "agents.confirmationTimeout", at: &v.ConfirmationTimeout, unit: time.Second, most: 86_400,
			doc: "Seconds until a question counts as answered with no; 0 = never."},
		{key: "agents.contextPersistence", at: &v.ContextPersistence, doc: "Whether sessions are kept on disk."},
		{key: "agents.defaultScope", at: &v.DefaultScope, values: []string{"project", "global"},
			doc: "Where a new agent is written."},
		{key: "agents.fallbackModels", at: &v.FallbackModels,
			doc: "Models that are tried in order when an agent's own fails."},
		{key: "agents.inline.answer", at: &v.InlineAnswer, values: settings.InlineAnswers(),
			doc: "Where the answer to an inline command goes: a document beside, a comment below its line, or an edit for review."},
		{key: "agents.limits.depth", at: &v.Limits.Depth, most: 16, restrictive: true,
			doc: "How deep a delegated run may lie below the first."},
		{key: "agents.limits.inputTokens", at: &v.Limits.InputTokens, least: 1, most: math.MaxInt32, restrictive: true,
			doc: "Input tokens of a tree of runs before the person is asked."},
		{key: "agents.limits.live", at: &v.Limits.Live, least: 1, most: 256, restrictive: true,
			doc: "Runs of a tree at the same time."},
		{key: "agents.limits.modelCalls", at: &v.Limits.ModelCalls, least: 1, most: million, restrictive: true,
			doc: "Model calls of a tree of runs."},
		{key: "agents.limits.runs", at: &v.Limits.Runs, least: 1, most: 10_000, restrictive: true,
			doc: "Runs of a tree in all."},
		{key: "agents.maxContextTokens", at: &v.MaxContextTokens, most: 100 * million, restrictive: true,
			zeroIsNone: true, doc: "Caps the context window that thresholds use; 0 = the model's own."},
		{key: "agents.maxHandoffDepth", at: &v.MaxHandoffDepth, least: 1, most: 100, restrictive: true,
			doc: "Agents in a chain of handoffs."},
		{key: "agents.memory.redis", at: &v.Redis,
			doc: "The Redis server of agents whose memory has the backend redis: redis://host:port, rediss://host:port or unix:///path; the person's own settings only."},
		{key: "agents.prompt.shellOutputEfficiency", at: &v.ShortOutput,
			doc: "Whether main is told to run commands that print little."},
	}
}

// sessionKeys are those of what is kept, routed and traced.
func sessionKeys(v *settings.Values) []settingKey {
	return []settingKey{
		{key: "agents.retention.days", at: &v.Retention.Days, most: 36_500,
			doc: "Days after which a session is removed in which nothing happens; 0 = never; the person's own settings only."},
		{key: "agents.retention.maxSessions", at: &v.Retention.MaxSessions, most: million,
			doc: "Sessions of a workspace that are kept, the newest; 0 = all; the person's own settings only."},
		{key: "agents.retention.pinned", at: &v.Retention.Pinned,
			doc: "Sessions that are never removed; the person's own settings only."},
		{key: "agents.routing.default_agent", at: &v.Routing.DefaultAgent,
			doc: "The agent that takes what no other is picked for, where fallback is default_agent."},
		{key: "agents.routing.enabled", at: &v.Routing.Enabled, doc: "Whether @auto picks an agent."},
		{key: "agents.routing.fallback", at: &v.Routing.Fallback, values: settings.Fallbacks(),
			doc: "What happens when no agent is picked: an error, a question to the person, or default_agent."},
		{key: "agents.routing.llm.model", at: &v.Routing.Model,
			doc: "The model that picks an agent; the person's own settings only."},
		{key: "agents.routing.llm.timeout", at: &v.Routing.Timeout, unit: time.Millisecond, least: 1, most: 300_000,
			doc: "Milliseconds that the model has to pick an agent."},
		{key: "agents.routing.rule.confidence_threshold", at: &v.Routing.Threshold, most: 100,
			doc: "From which confidence, 0 to 100, the hybrid strategy asks no model."},
		{key: "agents.routing.strategy", at: &v.Routing.Strategy, values: settings.Strategies(),
			doc: "How an agent is picked: rule by triggers and examples on this machine, llm by a model, hybrid by a model only where rules are not sure."},
		{key: "agents.tracing.backend", at: &v.Tracing.Backend, values: settings.TraceBackends(),
			doc: "Where traces go: files in the folder traces beside these settings, the console (standard error), an OpenTelemetry collector or LangSmith, as the variables OTEL_EXPORTER_OTLP_ENDPOINT and LANGSMITH_API_KEY say; the person's own settings only."},
		{key: "agents.tracing.captureContent", at: &v.Tracing.CaptureContent,
			doc: "Whether traces have prompts, answers, arguments and results; where it is not given, files have them, and what is sent has not."},
		{key: "agents.tracing.enabled", at: &v.Tracing.Enabled, doc: "Whether runs are traced."},
		{key: "agents.tracing.events", at: &v.Tracing.Events, values: settings.TraceEvents(),
			doc: "What traces have, besides the runs."},
		{key: "agents.tracing.sample_rate", at: &v.Tracing.SampleRate, most: 1,
			doc: "The share of sessions that is traced."},
	}
}

// otherKeys are those that gemini-cli has, too.
func otherKeys(v *settings.Values) []settingKey {
	return []settingKey{
		{key: "model.compressionThreshold", at: &v.Model.CompressionThreshold, most: 1, over: true,
			doc: "What agents.compression.threshold is where nobody sets it; gemini-cli's name."},
		{key: "model.disableLoopDetection", at: &v.Model.DisableLoopDetection, restrictive: true,
			doc: "Whether runs go on that repeat themselves."},
		{key: "model.name", at: &v.Model.Name, doc: "The model of agents that inherit one."},
		{key: "security.additionalFolders", at: &v.Security.AdditionalFolders,
			doc: "Folders outside the workspace that file tools may use; the person's own settings only."},
		{key: "security.critical", at: &v.Security.Critical, values: []string{"refuse", "ask"},
			doc: "What happens to a catastrophic call; the person's own settings only."},
		{key: "tools.allowed", at: &v.Tools.Allowed,
			doc: "Calls that need no question, as read_file or bash(git status); what is critical asks all the same. read_file(/a/path) of a credential file lets agents read it; the person's own settings only."},
		{key: "tools.core", at: &v.Tools.Core,
			doc: "The only built-in tools that agents are offered; a project's list takes away from the person's."},
		{key: "tools.exclude", at: &v.Tools.Exclude, joined: true,
			doc: "Tools that no agent is offered, and calls that are refused, as bash(git push) or write_file(docs/**)."},
		{key: "tools.sandbox.allowedHosts", at: &v.Tools.Sandbox.AllowedHosts,
			doc: "Hosts that web_fetch and commands reach without a question, as example.com, *.example.com or localhost:8080; one that is named so may have a private address. The person's own settings only."},
		// Nobody writes a mode to have less of a sandbox than without.
		{key: "tools.sandbox.mode", at: &v.Tools.Sandbox.Mode, values: []string{"auto", "require", "off"},
			insteadOfBad: "require",
			doc:          "auto confines commands where a sandbox works, require refuses them where none does, off confines none; the person's own settings only."},
		{key: "tools.sandbox.read", at: &v.Tools.Sandbox.Read,
			doc: "Files and folders outside the workspace that commands in the sandbox may read, in place of the usual toolchains in the home; the person's own settings only."},
		{key: "tools.sandbox.write", at: &v.Tools.Sandbox.Write,
			doc: "Files and folders outside the workspace that commands in the sandbox may change; the person's own settings only."},
	}
}

// keyOf returns the row of a typed key, nil for none.
// key is canonical, as the table has it.
func keyOf(v *settings.Values, key string) *settingKey {
	keys := settingKeys(v)
	if i := slices.IndexFunc(keys, func(k settingKey) bool { return k.key == key }); i >= 0 {
		return &keys[i]
	}
	return nil
}

// set takes a value of a key from a file. The error is for a person; the value is as
// it was then, or as the row says.
func (k *settingKey) set(v *hujson.Value, origin settings.Origin, origins map[string]settings.Origin) error {
	err := k.decode(v, origin.Scope == settings.ProjectScope)
	switch at := k.at.(type) {
	case *string:
		if err != nil && k.insteadOfBad != "" {
			*at, origins[k.key] = k.insteadOfBad, origin
		}
	case *[]string:
		// A list that denies still denies what can be read of it (SEC-140).
		if readable := stringsIn(v); err != nil && k.joined && len(readable) > 0 {
			*at, origins[k.key] = union(*at, readable), origin
		}
	}
	if err == nil {
		origins[k.key] = origin
	}
	return err
}

// decode sets the value of a key.
//
// An error leaves the value as it was. A project's value that would give more than there
// is is an error too.
func (k *settingKey) decode(v *hujson.Value, project bool) error {
	// A project may only take away: what it finds is the person's value, or the default.
	narrow := project && k.restrictive
	switch at := k.at.(type) {
	case *bool:
		kind := v.Value.Kind()
		switch {
		case kind != 't' && kind != 'f':
			return fmt.Errorf("must be true or false, not %s", kindName(v))
		case kind == 't' && narrow && !*at:
			return errors.New("can be switched on by your own settings only")
		}
		*at = kind == 't'
	case **bool:
		// The pointer stays nil where no file has the key, which is another thing than false.
		given := settingKey{at: new(bool)}
		err := given.decode(v, project)
		return assign(at, given.at.(*bool), err)
	case *int:
		n, err := k.whole(v)
		endless := func(n int) bool { return k.zeroIsNone && n == 0 }
		if err == nil && narrow && !endless(*at) && (n > *at || endless(n)) {
			err = fmt.Errorf("is raised by a project, which can lower this limit only, from %d", *at)
		}
		return assign(at, n, err)
	case *time.Duration:
		n, err := k.whole(v)
		return assign(at, time.Duration(n)*k.unit, err)
	case *float64:
		n, err := k.share(v)
		return assign(at, n, err)
	case *string:
		value, err := text(v)
		if err == nil && k.values != nil && !slices.Contains(k.values, value) {
			err = fmt.Errorf("must be one of %s, not %q", strings.Join(k.values, ", "), value)
		}
		return assign(at, value, err)
	case *[]string:
		list, err := k.list(v)
		if k.joined {
			list = union(*at, list)
		}
		return assign(at, list, err)
	}
	return nil
}

// assign sets a value that could be read.
func assign[T any](at *T, value T, err error) error {
	if err == nil {
		*at = value
	}
	return err
}

// whole reads a whole number within the bounds.
func (k *settingKey) whole(v *hujson.Value) (int, error) {
	n, lit, ok := number(v)
	if !ok {
		return 0, fmt.Errorf("must be a whole number, not %s", kindName(v))
	}
	// Written so that NaN, a number too large to be read, is out of bounds as well.
	if n != math.Trunc(n) || !(n >= k.least && n <= k.most) {
		return 0, fmt.Errorf("must be a whole number from %.0f to %.0f, not %s", k.least, k.most, lit)
	}
	return int(n), nil
}

// share reads a number from 0 to 1 within the bounds.
// over and under say that the bound itself is not taken.
func (k *settingKey) share(v *hujson.Value) (float64, error) {
	n, lit, ok := number(v)
	if !ok {
		return 0, fmt.Errorf("must be a number from 0 to 1, not %s", kindName(v))
	}
	if n >= k.least && n <= k.most && !(k.over && n == k.least) && !(k.under && n == k.most) {
		return n, nil
	}
	except := ""
	switch {
	case k.over:
		except = ", the 0 excepted"
	case k.under:
		except = ", the 1 excepted"
	}
	return 0, fmt.Errorf("must be a number from 0 to 1%s, not %s", except, lit)
}

// number reads a number; one that is too large is not a number.
func number(v *hujson.Value) (n float64, lit hujson.Literal, ok bool) {
	if lit, ok = v.Value.(hujson.Literal); !ok || lit.Kind() != '0' {
		return 0, lit, false
	}
	if json.Unmarshal(lit, &n) != nil {
		n = math.NaN()
	}
	return n, lit, true
}

// list reads a list of strings, of those that may be.
// The first element that is wrong is told; a list that is empty is not nil.
func (k *settingKey) list(v *hujson.Value) ([]string, error) {
	array, ok := v.Value.(*hujson.Array)
	if !ok {
		return nil, fmt.Errorf("must be a list of strings, not %s", kindName(v))
	}
	list := stringsIn(v)
	if len(list) < len(array.Elements) {
		i := slices.IndexFunc(array.Elements, func(e hujson.Value) bool { return e.Value.Kind() != '"' })
		return nil, fmt.Errorf("must be a list of strings; element %d is %s", i+1, kindName(&array.Elements[i]))
	}
	for _, item := range list {
		if k.values != nil && !slices.Contains(k.values, item) {
			return nil, fmt.Errorf("must be some of %s, not %q", strings.Join(k.values, ", "), item)
		}
	}
	return list, nil
}

// stringsIn returns the strings in a list, or the string that stands in its place.
func stringsIn(v *hujson.Value) []string {
	list := []string{}
	elements := []hujson.Value{*v}
	if array, ok := v.Value.(*hujson.Array); ok {
		elements = array.Elements
	}
	for i := range elements {
		if item, err := text(&elements[i]); err == nil {
			list = append(list, item)
		}
	}
	return list
}

// union returns a list with what another one adds to it.
func union(list, more []string) []string {
	list = slices.Clone(list)
	for _, item := range more {
		if !slices.Contains(list, item) {
			list = append(list, item)
		}
	}
	return list
}

// value returns the value as JSON has it: a string, a bool, a number or strings.
func (k *settingKey) value() any {
	switch at := k.at.(type) {
	case *time.Duration:
		return int(*at / k.unit)
	case *bool:
		return *at
	case **bool:
		return *at != nil && **at
	case *int:
		return *at
	case *float64:
		return *at
	case *[]string:
		return *at
	}
	return *k.at.(*string)
}

// kind says what the key takes.
func (k *settingKey) kind() string {
	switch k.at.(type) {
	case *bool, **bool:
		return boolKind
	case *int, *time.Duration:
		return wholeKind
	case *float64:
		return numberKind
	case *[]string:
		return textsKind
	}
	return textKind
}

// text returns the string that a value is. The error is for a person and begins behind
// the key's name.
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
