package workspace

import "strings"

// AgentFile says whether a file of this name, directly in an agents folder, is
// an agent file (spec 1.1): its name ends in .md, and it is neither hidden nor
// switched off (a leading "." or "_") nor what an editor leaves beside the file
// that it writes ("a.md~", "#a.md#", ".a.md.swp", "4913").
func AgentFile(name string) bool {
	stem, ok := strings.CutSuffix(name, ".md")
	return ok && stem != "" && !strings.ContainsRune("._#", rune(stem[0])) && !strings.ContainsAny(name, "/\\\x00")
}
