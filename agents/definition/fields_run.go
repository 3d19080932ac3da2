package definition

import (
	"math"
	"time"
)

// runField reads run, the limits of spec 1.2.
// Each value is checked for its range by limit; a spelling of another tool is
// taken, and told where both are there.
func (r *reader) runField(v *node) {
	if !r.shape(v, "run", mapping) {
		return
	}
	for i := range v.keys {
		k, n := &v.keys[i], &v.items[i]
		r.trimSmartQuotes(n)
		if field, ok := FieldAt("run." + k.name); ok && field.Name != "mode" {
			r.reportTwice(field.Name, "run."+k.name, k)
		}
		switch k.name {
		case "max_turns", "max_time", "max_tokens", "max_cost":
			r.limit(k.name, "run."+k.name, n)
		case "maxTurns":
			r.limit("max_turns", "run."+k.name, n)
		case "maxTokens":
			r.limit("max_tokens", "run."+k.name, n)
		case "maxCost":
			r.limit("max_cost", "run."+k.name, n)
		case "max_time_minutes":
			r.limit(k.name, "run."+k.name, n)
		case "mode":
			var mode string
			if r.stringField(n, "run.mode", &mode) {
				if mode != string(Chat) && mode != string(Task) {
					r.oneOf(n, "run.mode", "run.mode must be chat or task.")
					continue
				}
				r.Mode = Mode(mode)
			}
		default:
			r.unknown(k, "run.", "run")
		}
	}
}

// limit reads one limit, by its key under run. Messages call it so in a file of
// ours, and as it is written in another tool's. Of two spellings the smaller number
// counts, so that no limit is lost.
// field is in our spelling, without run; written is the path as it stands in the file.
func (r *reader) limit(field, written string, v *node) {
	shown := "run." + field
	if r.Dialect != Agentls || field == "timeout_mins" { // which ours has not
		shown = written
	}
	switch field {
	case "max_turns":
		if n, ok := r.intField(v, shown, 1, math.MaxInt32); ok {
			r.MaxTurns = least(r.MaxTurns, n)
		}
	case "max_tokens":
		if n, ok := r.intField(v, shown, 1, 1<<52); ok {
			r.MaxTokens = least(r.MaxTokens, n)
		}
	case "max_cost":
		if n := r.floatField(v, shown, 0, math.MaxFloat64); n != nil {
			if *n == 0 {
				r.at(v, "agent/type", Error, "%s must be over 0.", shown)
				return
			}
			r.MaxCost = least(r.MaxCost, *n)
		}
	case "max_time_minutes", "timeout_mins":
		if n := r.floatField(v, shown, 0, 1e6); n != nil {
			r.maxTime(time.Duration(*n*float64(time.Minute)), shown, v)
		}
	case "max_time":
		if d, ok := r.durationField(v, shown); ok {
			r.maxTime(d, shown, v)
		}
	}
}

// maxTime takes a limit of time over; shown names it in the finding.
func (r *reader) maxTime(d time.Duration, shown string, v *node) {
	if d <= 0 {
		r.at(v, "agent/type", Error, "%s must be over 0.", shown)
		return
	}
	r.MaxTime = least(r.MaxTime, d)
}

// least returns the smaller of two limits, where 0 is none.
func least[T int | float64 | time.Duration](a, b T) T {
	if a == 0 || b < a {
		return b
	}
	return a
}
