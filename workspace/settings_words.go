package workspace

import "strings"

func upperFirst(s string) string {
	if s == "" || s[0] < 'a' || s[0] > 'z' || strings.Contains(strings.SplitN(s, " ", 2)[0], ".") {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// nearestKey returns the one of known that a misspelt name meant, or "": at most
// two characters were left out, added or changed, and fewer than half.
func nearestKey(name string, known []string) string {
	best, least := "", min(3, (len(name)+1)/2)
	for _, k := range known {
		if d := editDistance(strings.ToLower(name), strings.ToLower(k)); d < least && (d > 0 || name != k) {
			best, least = k, d
		}
	}
	return best
}

// editDistance returns how many bytes must be inserted, removed or replaced.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
