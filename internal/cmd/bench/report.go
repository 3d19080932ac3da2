package main

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"unicode/utf8"
)

// report is what was measured.
type report struct {
	Go    string    `json:"go"`
	Cores int       `json:"cores"`
	Quick bool      `json:"quick"`
	Disk  diskTimes `json:"disk"`
	Rows  []result  `json:"rows"`
}

// diskTimes are in milliseconds.
type diskTimes struct {
	Create float64 `json:"create"` // of a file
	Sync   float64 `json:"sync"`
}

// String is the table, and what it was measured on.
func (r report) String() string {
	return fmt.Sprintf("%s\n%s, %d cores; a file is made in %s ms and synced in %s ms\n",
		r.table(), r.Go, r.Cores, number(&r.Disk.Create), number(&r.Disk.Sync))
}

// The lines of a document between which the table stands.
const (
	tableBegin = "<!-- bench -->"
	tableEnd   = "<!-- /bench -->"
)

// writeTo puts the table into a document, in the place of the one before.
func (r report) writeTo(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	before, rest, began := strings.Cut(string(text), tableBegin+"\n")
	_, after, ended := strings.Cut(rest, tableEnd)
	if !began || !ended {
		return fmt.Errorf("%s has no lines %s and %s", file, tableBegin, tableEnd)
	}
	made := before + tableBegin + "\n" + r.String() + tableEnd + after
	return os.WriteFile(file, []byte(made), 0o644)
}

// result is one row of the table. A number is absent where there is none.
type result struct {
	Probe   string   `json:"probe"`
	What    string   `json:"what"`
	Unit    string   `json:"unit"`
	Agentls *float64 `json:"agentls,omitempty"`
	Limit   *float64 `json:"limit,omitempty"`
	Ratio   *float64 `json:"ratio,omitempty"` // of the two
	Goal    float64  `json:"goal,omitempty"`
	Times   float64  `json:"times,omitempty"` // the goal in limits
	Met     string   `json:"met"`
	Samples int      `json:"samples"` // of agentls
}

// judge compares a result with its goal: "yes" when the number is reached,
// "by the ratio" when only the ratio is, which tells on a machine that is slow
// or busy.
func (r *result) judge() {
	if r.Agentls != nil && r.Limit != nil && *r.Limit > 0 {
		r.Ratio = new(*r.Agentls / *r.Limit)
	}
	ratio := r.Times > 0 && r.Ratio != nil && *r.Ratio <= r.Times
	switch {
	case r.Agentls == nil:
		r.Met = "not measured"
	case r.Goal == 0 && r.Times == 0:
		r.Met = ""
	case r.Goal > 0 && *r.Agentls <= r.Goal, r.Goal == 0 && ratio:
		r.Met = "yes"
	case ratio:
		r.Met = "by the ratio"
	default:
		r.Met = "NO"
	}
}

// String is the row in one line.
func (r result) String() string {
	return fmt.Sprintf("%s: %s %s, limit %s, goal %s %s", r.What, number(r.Agentls), r.Unit,
		number(r.Limit), goal(r), r.Met)
}

// table returns the table in Markdown, its columns aligned.
func (r report) table() string {
	lines := [][]string{{"what", "agentls", "limit", "×", "goal", "met"}}
	for _, row := range r.Rows {
		lines = append(lines, []string{row.What + ", " + row.Unit, number(row.Agentls), number(row.Limit),
			number(row.Ratio), goal(row), row.Met})
	}
	width := make([]int, len(lines[0]))
	for _, l := range lines {
		for i, cell := range l {
			width[i] = max(width[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	for n, l := range lines {
		for i, cell := range l {
			fill := strings.Repeat(" ", width[i]-utf8.RuneCountInString(cell))
			if i == 0 || i == len(l)-1 {
				fmt.Fprintf(&b, "| %s%s ", cell, fill)
			} else {
				fmt.Fprintf(&b, "| %s%s ", fill, cell)
			}
		}
		b.WriteString("|\n")
		if n == 0 {
			for i := range l {
				rule := strings.Repeat("-", width[i]+2)
				if i > 0 && i < len(l)-1 {
					rule = rule[1:] + ":"
				}
				b.WriteString("|" + rule)
			}
			b.WriteString("|\n")
		}
	}
	return b.String()
}

func goal(r result) string {
	switch {
	case r.Goal > 0 && r.Times > 0:
		return fmt.Sprintf("%g (%g ×)", r.Goal, r.Times)
	case r.Goal > 0:
		return fmt.Sprintf("%g", r.Goal)
	case r.Times > 0:
		return fmt.Sprintf("%g ×", r.Times)
	}
	return "–"
}

// number writes three digits that count.
func number(v *float64) string {
	switch {
	case v == nil:
		return "–"
	case *v == 0:
		return "0"
	}
	digits := 2 - int(math.Floor(math.Log10(math.Abs(*v))))
	return fmt.Sprintf("%.*f", min(max(digits, 0), 6), *v)
}

// median returns the middle of samples.
func median(samples []float64) float64 { return percentile(samples, 50) }

// p99 returns what 99 of 100 samples do not exceed.
func p99(samples []float64) float64 { return percentile(samples, 99) }

func percentile(samples []float64, p int) float64 {
	slices.Sort(samples)
	return samples[min(len(samples)*p/100, len(samples)-1)]
}
