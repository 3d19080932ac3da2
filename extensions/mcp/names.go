package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"

	"github.com/agentls/agentls/agents/tool"
)

// maxName is how many characters a name has that models are told.
const maxName = 64

// notInNames matches a character that some provider refuses in the name of a tool.
var notInNames = regexp.MustCompile(`[^A-Za-z0-9_-]`)

// canonicalName is the name of a tool in settings, agent files and events.
func canonicalName(server, tool string) string { return "mcp." + server + "." + tool }

// modelName is the name that models are told: one that every provider takes.
// It need not be the only such name: see [setNames].
func modelName(server, tool string) string {
	name := notInNames.ReplaceAllString("mcp_"+server+"_"+tool, "_")
	if len(name) > maxName {
		return hashName(name, server, tool)
	}
	return name
}

// hashName makes a name that no other server and tool have.
func hashName(name, server, tool string) string {
	// Server and tool apart, since either may hold what joins them in the name.
	sum := sha256.Sum256([]byte(server + "\x00" + tool))
	suffix := "_" + hex.EncodeToString(sum[:4])
	return name[:min(len(name), maxName-len(suffix))] + suffix
}

// setNames gives tools the names that models are told: of those that would have
// the same, each gets a suffix of its own (SEC-85).
// The name of a tool depends on which others are offered with it, so tools must be
// named together, and those of an earlier offer may have had other names.
func setNames(tools []*serverTool) {
	count := make(map[string]int, len(tools))
	for _, t := range tools {
		count[modelName(t.server.Name, t.name)]++
	}
	for _, t := range tools {
		name := modelName(t.server.Name, t.name)
		if count[name] > 1 {
			name = hashName(name, t.server.Name, t.name)
		}
		t.spec.Model = name
	}
}

// nameable reports whether a tool's name can be used: one that cannot be written in
// settings and agent files as it is, or that shows as something else, is left out.
func nameable(name string) bool {
	return name != "" && len(name) <= 256 && !tool.Suspicious(name) && !glob.MatchString(name)
}

// glob matches what a list of tools would not take for a name.
var glob = regexp.MustCompile(`[*?\[\]\\{}\s/]`)
