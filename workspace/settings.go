package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/tailscale/hujson"

	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/internal/folder"
)

// Scope is where a setting comes from. A later one wins over an earlier one.
type Scope uint8

// The scopes of settings.
const (
	DefaultScope     Scope = iota // nobody set it
	UserScope                     // the person's own file
	ProjectScope                  // <folder>/.gemini/settings.json, when the folder is trusted
	EnvironmentScope              // a variable of the person's environment
)

// String returns the scope's name: "default", "user", "project" or "environment".
func (s Scope) String() string {
	switch s {
	case UserScope:
		return "user"
	case ProjectScope:
		return "project"
	case EnvironmentScope:
		return "environment"
	}
	return "default"
}

// Origin is where a value comes from.
type Origin struct {
	Scope  Scope
	File   string // "" for a default; of the environment the variable
	Line   int    // from 1; 0 where it is no file
	Column int    // in bytes, from 1; 0 where it is no file
}

// String says it for a person: default, the place in a file, or the variable.
func (o Origin) String() string {
	switch o.Scope {
	case DefaultScope:
		return "default"
	case EnvironmentScope:
		return o.File
	}
	return fmt.Sprintf("%s:%d", o.File, o.Line)
}

// Value is one setting that holds, and where it comes from.
type Value[T any] struct {
	Value  T
	Origin Origin
}

// Settings are the typed settings of one folder, merged from the person's file
// and, where it is trusted, the folder's (spec, Settings). They are read-only.
// Keys that are not here are found by [Settings.Lookup].
type Settings struct {
	Agents   AgentSettings
	Security SecuritySettings
	Model    ModelSettings
	Tools    ToolSettings

	// MCPServers are the configured servers by name, each as it is written in
	// the last scope that has it.
	MCPServers map[string]Raw

	// Problems are the findings about the files, in their order. A key that has
	// one keeps the value of the scope before.
	Problems []SettingsProblem

	// Unclear says why it is not known what the files deny: the person's cannot be
	// read, or a list that denies cannot; "" where it is known (SEC-140).
	Unclear string

	layers []*layer
}

// AgentSettings is the section agents.
type AgentSettings struct {
	DefaultScope        Value[string] // "project" or "global"
	ContextPersistence  Value[bool]
	ConfirmationTimeout Value[int] // seconds; 0 = none
	MaxContextTokens    Value[int] // 0 = none; a project can lower it only
	MaxHandoffDepth     Value[int] // agents in a chain of handoffs; a project can lower it only
	Compression         CompressionSettings
	Inline              InlineSettings
	Limits              LimitSettings
	Routing             RoutingSettings
	AutoRoute           Value[bool] // only the person's own file can set it
	ShellOutput         Value[bool] // agents.prompt.shellOutputEfficiency
	Retention           RetentionSettings
	Tracing             TracingSettings
	FallbackModels      Value[[]string]
	Redis               Value[string] // agents.memory.redis; only the person's own file can set it

	// Overrides are the sections agents.overrides.<agent>, the person's before
	// the project's; they are merged key by key over the definition (spec 8.2).
	Overrides map[string][]Raw
}

// CompressionSettings is the section agents.compression (spec 8.3). Which model
// sums up is the person's to say: it is paid for with their key.
type CompressionSettings struct {
	Enabled   Value[bool]
	Threshold Value[float64] // above 0 to 1; model.compressionThreshold where it is not given
	Preserve  Value[float64] // 0 to below 1
	Model     Value[string]
}

// InlineSettings is the section agents.inline (spec 2.10).
type InlineSettings struct {
	Answer Value[string] // one of [InlineAnswers]
}

// InlineAnswers are the places where the answer to an inline command can go, the
// default first. The caller owns the slice.
func InlineAnswers() []string { return []string{"document", "comment", "edit"} }

// LimitSettings are the limits of a tree of runs (spec 3.3). A project can lower
// them only.
type LimitSettings struct {
	ModelCalls  Value[int]
	Depth       Value[int]
	Live        Value[int]
	Runs        Value[int]
	InputTokens Value[int]
}

// RoutingSettings is the section agents.routing (spec 5.1). Which model is asked is the
// person's to say: it is paid for with their key.
type RoutingSettings struct {
	Enabled      Value[bool]
	Strategy     Value[string] // one of [Strategies]
	Threshold    Value[int]    // 0 to 100
	Model        Value[string]
	Timeout      Value[int]    // ms
	Fallback     Value[string] // one of [Fallbacks]
	DefaultAgent Value[string]
}

// Strategies are the ways to pick an agent. The caller owns the slice.
func Strategies() []string { return []string{"rule", "llm", "hybrid"} }

// Fallbacks are what happens when no agent is picked. The caller owns the slice.
func Fallbacks() []string { return []string{"none", "prompt_user", "default_agent"} }

// RetentionSettings is the section agents.retention, which only the person's own
// file can set: a project must not erase what is theirs.
type RetentionSettings struct {
	Days        Value[int]      // since the last event of a session; 0 = any
	MaxSessions Value[int]      // of a workspace, the newest; 0 = any number
	Pinned      Value[[]string] // ids of sessions that are kept
}

// TracingSettings is the section agents.tracing (spec 7.2), which only the person's own
// file can set: traces may be sent elsewhere.
type TracingSettings struct {
	Enabled        Value[bool]
	Backend        Value[string]   // one of [TraceBackends]
	Events         Value[[]string] // some of [TraceEvents]
	SampleRate     Value[float64]  // the share of sessions, 0 to 1
	CaptureContent Value[bool]     // of no origin: files have content, what is sent has none
}

// TraceBackends are where traces can go, the default first. The caller owns the slice.
func TraceBackends() []string { return []string{"file", "console", "otlp", "langsmith"} }

// TraceEvents are what can be in a trace. The caller owns the slice.
func TraceEvents() []string { return []string{"llm", "tool", "handoff", "guardrail", "route"} }

// SecuritySettings is the section security, which only the person's own file
// can set.
type SecuritySettings struct {
	Critical          Value[string]   // "refuse" or "ask" (spec 4.2)
	AdditionalFolders Value[[]string] // as written: "~" is not expanded (spec 4.1)
}

// ModelSettings is the section model.
type ModelSettings struct {
	Name                 Value[string]  // "" when nobody named one
	CompressionThreshold Value[float64] // gemini-cli's; see [CompressionSettings]
	DisableLoopDetection Value[bool]    // a project can set it to false only

	// Routes are the rules of the model "auto", Table the rows that are added to
	// the table of models: the elements of the lists, which only the person's own
	// file can set.
	Routes []Raw
	Table  []Raw
}

// ToolSettings is the section tools.
type ToolSettings struct {
	Allowed Value[[]string] // only the person's own file can set it
	Core    Value[[]string] // the last file's; each file's narrows, see [Settings.Lists]
	Exclude Value[[]string] // both files' together: what one takes away the other cannot give back
	Sandbox SandboxSettings // only the person's own file can set it
}

// SandboxSettings are about what confines commands (spec 4.5).
type SandboxSettings struct {
	Mode         Value[string]
	Read         Value[[]string] // nil = the usual toolchains
	Write        Value[[]string]
	AllowedHosts Value[[]string]
}

// Raw is a value as it is written in a settings file.
type Raw struct {
	JSON   []byte // standard JSON: without comments and trailing commas
	Origin Origin
}

// SettingsProblem is something in a settings file that does not count.
type SettingsProblem struct {
	File    string
	Line    int    // from 1; 0 for a variable, which File names then
	Column  int    // in bytes, from 1
	Key     string // with dots; "" when it is about the whole file
	Message string // one sentence for a person
}

// String returns the place and the message.
func (p SettingsProblem) String() string {
	if p.Line == 0 {
		return p.File + ": " + p.Message
	}
	return fmt.Sprintf("%s:%d:%d: %s", p.File, p.Line, p.Column, p.Message)
}

// SettingsFiles says where settings are read from.
type SettingsFiles struct {
	User    string // path of the person's file; "" = none
	Folder  string // workspace folder of the project's; "" = none
	Trusted bool   // whether the folder's file counts (spec 4.4); it is not even read otherwise
	// Env returns a variable of the person's environment, "" for none. What it says
	// wins over the files; nil = nothing.
	Env func(name string) string
}

// ProjectSettings is the name of a project's settings file in its folder.
const ProjectSettings = ".gemini/settings.json"

// maxSettings is how large a settings file may be, in bytes.
const maxSettings = 1 << 20

// LoadSettings returns the settings of files. It always returns settings: a
// file that is missing counts as empty, and one that cannot be read as empty
// with a problem. See [Settings.Unclear] for what follows of that.
func LoadSettings(ctx context.Context, files SettingsFiles) *Settings {
	return new(LastSettings).Load(ctx, files)
}

// LastSettings remembers the last content of each file of settings that could be
// read, so that a slip of the pen does not take the rules away that hold
// (SEC-140). The zero value knows none. It is not safe for concurrent use.
type LastSettings struct{ good map[string]exposable }

// Load is [LoadSettings], but that a file that cannot be read any more counts as
// it was when it could, with a problem.
func (last *LastSettings) Load(ctx context.Context, files SettingsFiles) *Settings {
	if last.good == nil {
		last.good = make(map[string]exposable)
	}
	var sources []exposable
	var found []SettingsProblem
	unclear := ""
	add := func(source exposable, err error) {
		var why []SettingsProblem
		switch {
		case err == nil:
			l, problems := parseLayer(source)
			if lost := l.denials(); l != nil && len(lost) == 0 {
				last.good[source.File] = source
				sources = append(sources, source)
				return
			} else if l != nil {
				problems = lost
			}
			why = problems
		case errors.Is(err, fs.ErrNotExist) || fault.KindOf(err) == fault.NotFound:
			delete(last.good, source.File)
			return
		default:
			why = []SettingsProblem{{File: source.File, Line: 1, Column: 1,
				Message: "the file is ignored: " + fault.Message(err)}}
		}
		if good, ok := last.good[source.File]; ok {
			found = append(found, why...)
			found = append(found, SettingsProblem{File: source.File, Line: 1, Column: 1,
				Message: "until it can be read again, the file counts as it was before"})
			sources = append(sources, good)
			return
		}
		if err == nil {
			sources = append(sources, source)
			return
		}
		found = append(found, why...)
		if source.Scope == UserScope {
			unclear = why[0].String()
		}
	}
	if files.User != "" {
		content, info, err := folder.ReadRegular(files.User, maxSettings)
		source := exposable{SettingsSource: SettingsSource{Scope: UserScope, File: files.User, Content: content}}
		if err == nil {
			if why := Private(info); why != nil {
				source.exposed = why.Error()
			}
		}
		add(source, err)
	}
	if files.Folder != "" && files.Trusted {
		// Through the folder's handle: a link that leads out must not show what
		// lies there in a problem's text.
		content, err := projectFile(ctx, files.Folder)
		add(exposable{SettingsSource: SettingsSource{Scope: ProjectScope,
			File: filepath.Join(files.Folder, ProjectSettings), Content: content}}, err)
	}
	s := mergeSettings(sources)
	s.Problems = append(found, s.Problems...)
	s.Unclear = cmp.Or(unclear, s.Unclear)
	if files.Env != nil {
		s.readEnvironment(files.Env)
	}
	return s
}

func projectFile(ctx context.Context, folder string) ([]byte, error) {
	disk, err := OpenDisk(folder)
	if err != nil {
		return nil, err
	}
	defer disk.Close()
	f, err := disk.Read(ctx, ProjectSettings, maxSettings)
	if err != nil {
		return nil, err
	}
	return f.Bytes, nil
}

// SettingsSource is the content of one settings file.
type SettingsSource struct {
	Scope   Scope // UserScope or ProjectScope
	File    string
	Content []byte
}

// exposable is a source with why others can change it: a file of the person's
// that they can gives no power. "" = they cannot.
type exposable struct {
	SettingsSource
	exposed string

	root    *hujson.Value // of Content, where it was parsed already; it stays as it is
	checked bool          // only what is wrong with it is wanted
}

// MergeSettings returns the defaults with each source over the one before.
func MergeSettings(sources ...SettingsSource) *Settings {
	all := make([]exposable, len(sources))
	for i, source := range sources {
		all[i].SettingsSource = source
	}
	return mergeSettings(all)
}

func mergeSettings(sources []exposable) *Settings {
	s := defaultSettings()
	for _, source := range sources {
		l, problems := parseLayer(source)
		s.Problems = append(s.Problems, problems...)
		lost := l.denials()
		if l == nil && source.Scope == UserScope {
			lost = problems
		}
		for _, p := range lost {
			s.Unclear = cmp.Or(s.Unclear, p.String())
		}
		if l == nil {
			continue
		}
		s.layers = append(s.layers, l)
		for _, k := range settingKeys() {
			s.read(l, k)
		}
		s.readMaps(l)
		s.readLists(l)
	}
	if t := &s.Agents.Compression.Threshold; t.Origin.Scope == DefaultScope {
		*t = s.Model.CompressionThreshold
	}
	return s
}

func defaultSettings() *Settings {
	s := &Settings{MCPServers: map[string]Raw{}}
	s.Agents.Overrides = map[string][]Raw{}
	s.Agents.DefaultScope.Value = "project"
	s.Agents.ContextPersistence.Value = true
	s.Agents.ConfirmationTimeout.Value = 300
	s.Agents.Compression.Enabled.Value = true
	s.Agents.Compression.Threshold.Value = 0.5
	s.Agents.Compression.Preserve.Value = 0.3
	s.Agents.Compression.Model.Value = "flash"
	s.Agents.Inline.Answer.Value = InlineAnswers()[0]
	s.Agents.MaxHandoffDepth.Value = 5
	s.Agents.Limits.ModelCalls.Value = 200
	s.Agents.Limits.Depth.Value = 2
	s.Agents.Limits.Live.Value = 8
	s.Agents.Limits.Runs.Value = 32
	s.Agents.Limits.InputTokens.Value = 1_000_000
	s.Agents.Routing.Enabled.Value = true
	s.Agents.Routing.Strategy.Value = "hybrid"
	s.Agents.Routing.Threshold.Value = 80
	s.Agents.Routing.Model.Value = "flash-lite"
	s.Agents.Routing.Timeout.Value = 5000
	s.Agents.Routing.Fallback.Value = "prompt_user"
	s.Agents.Routing.DefaultAgent.Value = "main"
	s.Agents.Tracing.Backend.Value = TraceBackends()[0]
	s.Agents.Tracing.Events.Value = TraceEvents()
	s.Agents.Tracing.SampleRate.Value = 1
	s.Model.CompressionThreshold.Value = 0.5
	s.Security.Critical.Value = "refuse"
	s.Tools.Sandbox.Mode.Value = "auto"
	return s
}

// Lookup returns the values at a path of keys, the person's before the
// project's, without those that a project may not set. It is how sections are
// read that have no field in [Settings].
func (s *Settings) Lookup(path ...string) []Raw {
	var found []Raw
	for _, l := range s.layers {
		if v := l.find(path); v != nil {
			found = append(found, l.raw(v))
		}
	}
	return found
}

// Lists returns the elements of the lists at a path of keys, one list for each
// file that has one, in the order of [Settings.Lookup]. A string that stands
// where a list should is a list of it alone. Of a key that is given twice in one
// file the last one counts; of one that takes something away each does.
func (s *Settings) Lists(path ...string) [][]Raw {
	var found [][]Raw
	for _, l := range s.layers {
		for _, v := range l.valuesAt(path) {
			list := []Raw{}
			if array, ok := v.Value.(*hujson.Array); ok {
				for i := range array.Elements {
					list = append(list, l.raw(&array.Elements[i]))
				}
			} else if _, err := text(v); err == nil {
				list = append(list, l.raw(v))
			} else {
				continue
			}
			found = append(found, list)
		}
	}
	return found
}
