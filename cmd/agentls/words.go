package main

// Numbers and times as people say them.

import (
	"fmt"
	"time"
)

// count says how many there are: "1 message", "12 messages". what is the singular of a
// word whose plural ends in s.
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// ago says how long ago something was, in its largest whole unit: "2 hours ago". A month
// has 30 days and a year 365. What was less than a minute ago, or is in the future, is
// just now.
func ago(d time.Duration) string {
	for _, unit := range []struct {
		name string
		size time.Duration
	}{{"year", 365 * 24 * time.Hour}, {"month", 30 * 24 * time.Hour}, {"day", 24 * time.Hour}, {"hour", time.Hour},
		{"minute", time.Minute}} {
		if n := int(d / unit.size); n > 0 {
			return count(n, unit.name) + " ago"
		}
	}
	return "just now"
}
