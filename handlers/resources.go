package handlers

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sourcegraph/conc"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/wire"
	"github.com/agentls/agentls/server"
)

// resourceForm is a resource of an MCP server in a text, as @server:scheme://path
// (spec 9.1).
var resourceForm = regexp.MustCompile(`(?:^|[\s(])(@([A-Za-z0-9_-]+):([A-Za-z][A-Za-z0-9+.-]*://[^\s"'<>` + "`" +
	`)\]]+))`)

// resourcesIn returns the resources that a text names, of servers that there are.
// Each is named once, with its @, in the order of the text.
// Marks at the end of a sentence are no part of one. A server that there is not makes no
// resource: the text stays as it is.
func (h *Handlers) resourcesIn(text string) []string {
	if h.daemon.MCP == nil || !strings.Contains(text, "://") {
		return nil
	}
	_, servers := h.daemon.MCP.Overview(h.Workspace.Snapshot().FirstFolder())
	var all []string
	for _, m := range resourceForm.FindAllStringSubmatch(text, -1) {
		ref := strings.TrimRight(m[1], ".,;:!?")
		if _, there := servers[m[2]]; there && !slices.Contains(all, ref) {
			all = append(all, ref)
		}
	}
	return all
}

// The limits of the resources of one request.
const (
	maxResources  = 10
	resourcesWait = 20 * time.Second // for all of them
)

// resourcesOf is resources with the time that they have.
func (h *Handlers) resourcesOf(ctx context.Context, folder string,
	references []string) (map[string]activity.ContentBlock, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, resourcesWait,
		fmt.Errorf("the resources of the request were not there after %v", resourcesWait))
	defer cancel()
	return h.resources(ctx, folder, references)
}

// resources reads the resources among references, all at once; others are left out.
// What cannot be read until ctx ends is named with the reason.
// The blocks are by reference. The only error is bad params, for too many.
// The text of a server is foreign: start taints the run for it.
func (h *Handlers) resources(ctx context.Context, folder string,
	references []string) (map[string]activity.ContentBlock, error) {
	var refs []string
	for _, ref := range references {
		if rest, is := strings.CutPrefix(ref, "@"); is && h.daemon.MCP != nil && strings.Contains(rest, ":") &&
			!slices.Contains(refs, ref) {
			refs = append(refs, ref)
		}
	}
	if len(refs) > maxResources {
		return nil, server.BadParams(wire.MethodRun, "references", "has %d resources of MCP servers; name %d at most",
			len(refs), maxResources)
	}
	var mu sync.Mutex
	blocks := make(map[string]activity.ContentBlock)
	var reading conc.WaitGroup
	for _, ref := range refs {
		reading.Go(func() {
			of, uri, _ := strings.Cut(ref[1:], ":")
			block := activity.ContentBlock{Type: "resource", Resource: &activity.Resource{URI: ref}}
			text, err := h.daemon.MCP.Resource(ctx, cmp.Or(folder, h.Workspace.Snapshot().FirstFolder()), of, uri)
			if block.Resource.Text = text; err != nil {
				block = activity.ContentBlock{Type: "resource_link", URI: ref,
					Name: ref + ", whose text is not there: " + tool.Escape(err.Error())}
			}
			mu.Lock()
			defer mu.Unlock()
			blocks[ref] = block
		})
	}
	reading.Wait()
	return blocks, nil
}
