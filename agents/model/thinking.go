package model

import (
	"fmt"
	"slices"
)

// levels are the levels of thinking, least first.
func levels() []string { return []string{"minimal", "low", "medium", "high"} }

// LevelOf returns the level of thinking that a budget stands for: 0 minimal,
// at most 1,024 low, at most 8,192 medium, more high; "" for a negative one,
// which leaves it to the model.
func LevelOf(budget int) string {
	switch {
	case budget < 0:
		return ""
	case budget == 0:
		return "minimal"
	case budget <= 1024:
		return "low"
	case budget <= 8192:
		return "medium"
	default:
		return "high"
	}
}

// Adjust returns o without what the model does not take, so that what is left
// can be sent, and a note for the person for each thing that an agent asks for
// and does not get: a temperature or a top-p that the model refuses (spec 1.2),
// thinking of a model that does not think, and more output than it gives.
func (e Entry) Adjust(o Options) (Options, []string) {
	var notes []string
	drop := func(what string) {
		notes = append(notes, fmt.Sprintf("%s takes no %s; it is not sent", e.ID, what))
	}
	if o.Temperature != nil && !e.Sampling {
		drop("temperature")
		o.Temperature = nil
	}
	if o.TopP != nil && !e.Sampling {
		drop("top_p")
		o.TopP = nil
	}
	asked := (o.ThinkingBudget != nil && *o.ThinkingBudget != 0) || o.ThinkingLevel != ""
	if e.Thinking == "" {
		if asked {
			drop("thinking budget or level")
		}
		o.ThinkingBudget, o.ThinkingLevel = nil, ""
	}
	if e.MaxOutput > 0 && o.MaxOutput > e.MaxOutput {
		notes = append(notes, fmt.Sprintf("%s answers with %d tokens at most, not %d", e.ID, e.MaxOutput, o.MaxOutput))
		o.MaxOutput = e.MaxOutput
	}
	return o, notes
}

// Think returns what is sent to a model so that it thinks as o says: a budget
// or a level, never both, and neither where o says nothing or the model does
// not think. What o says in one way is told in the way that the model takes,
// and what the model refuses becomes the nearest that it takes: a level that
// it lacks, the next higher one. A budget of -1 is sent to models that take
// budgets, as -1, and to no other.
func (e Entry) Think(o Options) (budget *int, level string) {
	switch e.Thinking {
	case Budget:
		n, ok := 0, false
		switch {
		case o.ThinkingBudget != nil:
			n, ok = *o.ThinkingBudget, true
		case o.ThinkingLevel != "":
			n, ok = e.budgetOf(o.ThinkingLevel)
		}
		if !ok {
			return nil, ""
		}
		if n < 0 {
			n = -1
		} else {
			n = max(n, e.MinBudget)
			if e.MaxBudget > 0 {
				n = min(n, e.MaxBudget)
			}
		}
		return &n, ""
	case Level:
		want := o.ThinkingLevel
		if want == "" && o.ThinkingBudget != nil {
			want = LevelOf(*o.ThinkingBudget)
		}
		return nil, e.nearest(want)
	default:
		return nil, ""
	}
}

// budgetOf returns the largest budget of a level.
// -1 is no limit; false is no level.
func (e Entry) budgetOf(level string) (int, bool) {
	switch level {
	case "minimal":
		return 0, true
	case "low":
		return 1024, true
	case "medium":
		return 8192, true
	case "high":
		if e.MaxBudget > 0 {
			return e.MaxBudget, true
		}
		return -1, true
	default:
		return 0, false
	}
}

// nearest returns the level that the model takes for one that is wanted: the
// same, the next higher, else its highest.
func (e Entry) nearest(want string) string {
	all := levels()
	i := slices.Index(all, want)
	if i < 0 || len(e.Levels) == 0 {
		return want
	}
	for _, l := range all[i:] {
		if slices.Contains(e.Levels, l) {
			return l
		}
	}
	return e.Levels[len(e.Levels)-1]
}
