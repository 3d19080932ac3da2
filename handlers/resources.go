package handlers

import (
	"cmp"
	"context"
	"regexp"
	"slices"
	"strings"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/tool"
)

// resourceForm is a resource of an MCP server in a text, as @server:scheme://path
// (spec 9.1).
var resourceForm = regexp.MustCompile(`(?:^|[\s(])(@([A-Za-z0-9_-]+):([A-Za-z][A-Za-z0-9+.-]*://[^\s"'<>` + "`" + `)\]]+))`)

// resourcesIn returns the resources that a text names, of servers that there are.
func (h *Handlers) resourcesIn(text string) []string {
	if h.daemon.MCP == nil || !strings.Contains(text, "://") {
		return nil
	}
	_, servers := h.daemon.MCP.Seen(h.firstFolder())
	var all []string
	for _, m := range resourceForm.FindAllStringSubmatch(text, -1) {
		ref := strings.TrimRight(m[1], ".,;:!?")
		if _, there := servers[m[2]]; there && !slices.Contains(all, ref) {
			all = append(all, ref)
		}
	}
	return all
}

// resource reads a resource that was named as @server:uri; false for any other
// reference. What cannot be read is named with the reason.
func (h *Handlers) resource(ctx context.Context, folder, ref string) (activity.ContentBlock, bool) {
	rest, is := strings.CutPrefix(ref, "@")
	server, uri, has := strings.Cut(rest, ":")
	if !is || !has || h.daemon.MCP == nil {
		return activity.ContentBlock{}, false
	}
	text, err := h.daemon.MCP.Resource(ctx, cmp.Or(folder, h.firstFolder()), server, uri)
	if err != nil {
		return activity.ContentBlock{Type: "resource_link", URI: ref, Name: ref + ", whose text is not there: " + tool.Escape(err.Error())}, true
	}
	return activity.ContentBlock{Type: "resource", Resource: &activity.Resource{URI: ref, Text: text}}, true
}
