package tool

// Risk is the tier of a call (spec 4.1, 4.2), decided from its canonical
// arguments. The zero Risk is Unclassified, which nothing allows.
type Risk uint8

// The tiers, mildest first but for the zero value. Protected and Catastrophic
// are the two kinds of tier critical.
const (
	Unclassified Risk = iota
	Safe
	Low
	Medium
	High
	Protected
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
