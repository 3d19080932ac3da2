package hook

import (
	"context"
	"encoding/json"
	"regexp"
	"strings"

	"github.com/agentls/agentls/internal/pattern"
)

// The events at which hooks are run: [settings.HookEvents].
const (
	// The first run of a session that begins, or is begun again after its end, is
	// about to start; matched by the source.
	SessionStart = "SessionStart"
	// A session ends whose SessionStart was fired; matched by the reason.
	SessionEnd = "SessionEnd"
	// A run is about to begin with what the person wrote.
	BeforeAgent = "BeforeAgent"
	// A run has its answer; a hook that denies has it answer again.
	AfterAgent = "AfterAgent"
	// A model is about to be asked; the request may be another, or be answered by the
	// hook.
	BeforeModel = "BeforeModel"
	// A model answered; the answer may be another.
	AfterModel = "AfterModel"
	// The tools of a turn are about to be chosen.
	BeforeToolSelection = "BeforeToolSelection"
	// A call is about to be planned; its arguments may be others. It is the only event
	// at which a hook may have the person asked.
	BeforeTool = "BeforeTool"
	// A call has its result; the text of that may be another.
	AfterTool = "AfterTool"
	// A conversation is about to be shortened.
	PreCompress = "PreCompress"
	// The person is asked for a permission (ToolPermission), or a run has finished
	// (RunFinished) or failed (Error); matched by that word.
	Notification = "Notification"
)

// gates reports whether hooks of an event guard something: their failure blocks it.
func gates(event string) bool { return strings.HasPrefix(event, "Before") }

// A Hook is run at events. It must be safe for concurrent use.
// What it returns belongs to the caller.
type Hook interface {
	// Run decides about an event; input is the JSON object that a command reads, which
	// it must not change. It returns soon after ctx has ended, and leaves nothing
	// running: [Hooks.Close] waits for it. A panic in it is caught, logged and told as
	// a failure. The error says that it failed, for the person; the Output counts for
	// nothing then.
	Run(ctx context.Context, input []byte) (Output, error)
}

// Compiled is a hook that an installation is built with. It is run before those of the
// settings, in every folder.
// It has no timeout but the event's own context, and no approval: who built agentls
// trusts it.
type Compiled struct {
	// One of the events above; with any other it is never run.
	Event string
	// For the person and the log.
	Name string
	// As in settings: a regular expression for what the event is about, such as the
	// name of a tool; "" and * match all.
	Matcher string
	Hook    Hook
}

// Output is what a hook says. The zero Output lets everything be as it is.
// The names in JSON are those of gemini-cli. Members that are not known are ignored.
type Output struct {
	Decision string `json:"decision"` // allow, ask, deny or block; "" = allow
	// Why, for the person and, where a call is denied, for the model.
	Reason string `json:"reason"`
	// A message to the person; it may have several lines.
	SystemMessage string `json:"systemMessage"`
	Continue      *bool  `json:"continue"` // false: the run ends
	// In place of Reason where Continue is false.
	StopReason     string   `json:"stopReason"`
	SuppressOutput bool     `json:"suppressOutput"` // the person is shown none of it
	Proceed        *bool    `json:"proceed"`        // false: deny
	Specific       Specific `json:"hookSpecificOutput"`
}

// Specific is what a hook of one event says besides. What another event has is ignored.
// A member that is absent or null changes nothing.
type Specific struct {
	// Text for the model, which is told that it is a hook's; "" = none.
	AdditionalContext string          `json:"additionalContext"`
	ToolInput         json.RawMessage `json:"tool_input"`   // BeforeTool: an object of the arguments that are to be others
	UpdatedInput      json.RawMessage `json:"updatedInput"` // the same
	ToolOutput        json.RawMessage `json:"tool_output"`  // AfterTool: a text in place of the result
	LLMRequest        json.RawMessage `json:"llm_request"`  // BeforeModel: an object of what is to be otherwise
	LLMResponse       json.RawMessage `json:"llm_response"` // BeforeModel: the answer; AfterModel: another one
	ToolConfig        json.RawMessage `json:"toolConfig"`   // BeforeToolSelection
}

// matches reports which of the names of an event a matcher takes; the first where it
// takes several. One that is empty or * takes all. One that is no regular expression,
// or would take long to make, takes all as well: the hook is run more often than was meant, and never less.
// An event that is about nothing, as AfterAgent is, matches whatever the matcher.
func matches(matcher string, names []string) (name string, ok bool) {
	if matcher == "" || matcher == "*" || len(names) == 0 {
		return first(names), true
	}
	if _, bad := pattern.Check(matcher); bad != nil {
		return first(names), true
	}
	re := regexp.MustCompile(matcher)
	for _, name := range names {
		if re.MatchString(name) {
			return name, true
		}
	}
	return "", false
}

// first returns the first of the names, "" where there is none.
func first(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return names[0]
}
