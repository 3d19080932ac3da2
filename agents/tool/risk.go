package tool

// Risk is the tier of a call (spec 4.1, 4.2), decided from its canonical
// arguments. The zero Risk is Unclassified, which nothing allows.
//
// It orders calls by what they may do to the person; what a tier means in a
// mode (asked, allowed, refused) is in the table of package guard.
type Risk uint8

// The tiers, mildest first but for the zero value. Protected and Catastrophic
// are the two kinds of tier critical.
const (
	Unclassified Risk = iota
	// Reads within the workspace, and changes nothing.
	Safe
	// Changes what only the session has, or what is easily had back.
	Low
	// Changes files of the workspace.
	Medium
	// Does what cannot be taken back, or reaches outside of the workspace.
	High
	// Writes a place that decides what runs (SEC-17): a person is asked each
	// time.
	Protected
	// Is refused in every mode; asked where the person's settings say
	// security.critical: ask.
	Catastrophic
)

// Risks is how many there are; a table indexed by Risk is complete if it is
// this long.
const Risks = int(Catastrophic) + 1

var riskNames = [Risks]string{
	Unclassified: "catastrophic", // what nobody classified is shown as the worst
	Safe:         "safe", Low: "low", Medium: "medium", High: "high",
	Protected: "protected", Catastrophic: "catastrophic",
}

// String returns the name of the tier on the wire (Risk of spec 2.2).
func (r Risk) String() string { return riskNames[r] }

// Max returns the stricter of r and s; Unclassified is the strictest.
func (r Risk) Max(s Risk) Risk {
	if r == Unclassified || s == Unclassified {
		return Unclassified
	}
	return max(r, s)
}

// Raise returns the tier above r; the critical ones and Unclassified stay.
func (r Risk) Raise() Risk {
	if r == Unclassified || r >= Protected {
		return r
	}
	return r + 1
}
