package model

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agentls/agentls/internal/settings"
)

// Auto is the name of a model that is chosen for each run by the rules of the
// settings (spec 3.3).
const Auto = "auto"

// Route is one rule of the setting model.routes: a run of which When is true is
// answered by Model.
type Route struct {
	Model string `json:"model"` // an entry of the table, an alias or an id; never [Auto]
	When  When   `json:"when"`

	Origin settings.Origin `json:"-"` // where it is written
}

// When is a condition on a run. All that is given must hold; the zero value
// holds always.
type When struct {
	MinTokens int      `json:"minTokens,omitempty"` // the context has at least so many tokens; 0 = any
	MaxTokens int      `json:"maxTokens,omitempty"` // and at most so many; 0 = any
	Images    *bool    `json:"images,omitempty"`    // whether there are images in the context
	Mode      string   `json:"mode,omitempty"`      // chat or task
	Tools     []string `json:"tools,omitempty"`     // all of them are offered to the agent
}

// Facts are what a rule may ask about a run.
// They are taken once, when the run begins: a run does not change its model
// because its context grew.
type Facts struct {
	Tokens int      // of the context, the new input counted
	Images bool     // whether there are images in it
	Mode   string   // chat or task
	Tools  []string // that the agent is offered, by their canonical names
}

// Choose returns the model of the first rule that f satisfies; ok is false if
// none does, and the run has the default model then.
func Choose(routes []Route, f Facts) (model string, ok bool) {
	for _, r := range routes {
		if r.When.holds(f) {
			return r.Model, true
		}
	}
	return "", false
}

// holds reports whether all that is given holds of f.
func (w When) holds(f Facts) bool {
	if f.Tokens < w.MinTokens || (w.MaxTokens > 0 && f.Tokens > w.MaxTokens) ||
		(w.Images != nil && *w.Images != f.Images) || (w.Mode != "" && w.Mode != f.Mode) {
		return false
	}
	for _, t := range w.Tools {
		if !slices.Contains(f.Tools, t) {
			return false
		}
	}
	return true
}

// ParseRoute reads a rule of the setting model.routes. The error says what is
// wrong with it, unknown fields too: a condition that is not understood must
// not count as one that holds.
func ParseRoute(rule []byte) (Route, error) {
	var r Route
	if err := decodeStrictly(rule, &r); err != nil {
		return Route{}, fmt.Errorf("a rule cannot be read: %w", err)
	}
	return r, r.Check()
}

// Check reports what is wrong with a rule of a person's settings, nil if
// nothing is. Whether the model exists is not looked at: any id may.
func (r Route) Check() error {
	w := r.When
	switch {
	case strings.TrimSpace(r.Model) == "":
		return fmt.Errorf("a rule names no model")
	case r.Model == Auto || r.Model == "inherit":
		return fmt.Errorf("a rule leads to %q; name a model of the table, an alias or an id", r.Model)
	case w.MinTokens < 0 || w.MaxTokens < 0:
		return fmt.Errorf("the rule for %s has a negative number of tokens", r.Model)
	case w.MaxTokens > 0 && w.MinTokens > w.MaxTokens:
		return fmt.Errorf("the rule for %s holds never: minTokens %d is above maxTokens %d", r.Model,
			w.MinTokens, w.MaxTokens)
	case w.Mode != "" && w.Mode != "chat" && w.Mode != "task":
		return fmt.Errorf("the rule for %s has the mode %q; it is chat or task", r.Model, w.Mode)
	case slices.Contains(w.Tools, ""):
		return fmt.Errorf("the rule for %s needs a tool without a name", r.Model)
	}
	return nil
}
