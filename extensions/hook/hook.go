package hook

import (
	"context"
	"encoding/json"
	"regexp"
	"strings"
)

// The events at which hooks are run.
const (
	SessionStart        = "SessionStart"
	SessionEnd          = "SessionEnd"
	BeforeAgent         = "BeforeAgent"
	AfterAgent          = "AfterAgent"
	BeforeModel         = "BeforeModel"
	AfterModel          = "AfterModel"
	BeforeToolSelection = "BeforeToolSelection"
	BeforeTool          = "BeforeTool"
	AfterTool           = "AfterTool"
	PreCompress         = "PreCompress"
	Notification        = "Notification"
)

// Events returns all of them. The caller owns the slice.
func Events() []string {
	return []string{SessionStart, SessionEnd, BeforeAgent, AfterAgent, BeforeModel, AfterModel, BeforeToolSelection,
		BeforeTool, AfterTool, PreCompress, Notification}
}

// gates reports whether hooks of an event guard something: their failure blocks it.
func gates(event string) bool { return strings.HasPrefix(event, "Before") }

// A Hook is run at events. It must be safe for concurrent use.
type Hook interface {
	// Run decides about an event; input is the JSON object that a command reads. It
	// returns soon after ctx has ended. The error says that it failed, for the person.
	Run(ctx context.Context, input []byte) (Output, error)
}

// Compiled is a hook that an installation is built with. It is run before those of the
// settings, in every folder.
type Compiled struct {
	Event   string
	Name    string
	Matcher string // as in settings
	Hook    Hook
}

// Output is what a hook says. The zero Output lets everything be as it is.
type Output struct {
	Decision       string   `json:"decision"` // allow, ask, deny or block; "" = allow
	Reason         string   `json:"reason"`
	SystemMessage  string   `json:"systemMessage"` // for the person
	Continue       *bool    `json:"continue"`      // false: the run ends
	StopReason     string   `json:"stopReason"`
	SuppressOutput bool     `json:"suppressOutput"` // the person is shown none of it
	Proceed        *bool    `json:"proceed"`        // false: deny
	Specific       Specific `json:"hookSpecificOutput"`
}

// Specific is what a hook of one event says besides. What another event has is ignored.
type Specific struct {
	AdditionalContext string          `json:"additionalContext"`
	ToolInput         json.RawMessage `json:"tool_input"`   // BeforeTool: an object of the arguments that are to be others
	UpdatedInput      json.RawMessage `json:"updatedInput"` // the same
	ToolOutput        json.RawMessage `json:"tool_output"`  // AfterTool: a text in place of the result
	LLMRequest        json.RawMessage `json:"llm_request"`  // BeforeModel: an object of what is to be otherwise
	LLMResponse       json.RawMessage `json:"llm_response"` // BeforeModel: the answer; AfterModel: another one
	ToolConfig        json.RawMessage `json:"toolConfig"`   // BeforeToolSelection
}

// matches reports which of the names of an event a matcher takes; the first where it
// takes several. One that is empty or * takes all. One that is no regular expression
// takes all as well: the hook is run more often than was meant, and never less.
func matches(matcher string, names []string) (name string, ok bool) {
	if matcher == "" || matcher == "*" || len(names) == 0 {
		return first(names), true
	}
	re, err := regexp.Compile(matcher)
	if err != nil {
		return first(names), true
	}
	for _, name := range names {
		if re.MatchString(name) {
			return name, true
		}
	}
	return "", false
}

func first(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return names[0]
}
