package change

import "strings"

// Parts takes apart a patch that [Of] made of a text file: the lines of each of its
// pending hunks, in their order, with those that stand beside it. A file that is no
// text, and an empty one, has none. They have the order of the hunks that Of returned
// with the patch, so the n-th part is of the n-th hunk.
func Parts(patch string) []string {
	lines := strings.Split(strings.TrimSuffix(patch, "\n"), "\n")
	var parts []string
	for n := 2; n < len(lines); n++ { // behind the two names
		if !resolvable(lines[n]) || lines[n][0] == '\\' { // that note is about the line above it
			continue
		}
		end := n
		for end < len(lines) && resolvable(lines[end]) {
			end++
		}
		from, to := n, end
		for n-from < around && strings.HasPrefix(lines[from-1], " ") {
			from--
		}
		for to < len(lines) && to-end < around && strings.HasPrefix(lines[to], " ") {
			to++
		}
		parts = append(parts, strings.Join(lines[from:to], "\n"))
		n = end
	}
	return parts
}

// resolvable reports whether a line of a patch is one of a hunk: taken away, added,
// or the note that it has no line end.
func resolvable(line string) bool { return line != "" && strings.ContainsRune(`-+\`, rune(line[0])) }
