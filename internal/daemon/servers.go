package daemon

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentls/agentls/agents"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/extensions/mcp"
	"github.com/agentls/agentls/internal/dial"
	"github.com/agentls/agentls/internal/process"
	"github.com/agentls/agentls/internal/sandbox"
	"github.com/agentls/agentls/internal/settings"
	"github.com/agentls/agentls/workspace"
)

// newServers returns the MCP servers of this daemon; none runs.
// What it is given asks for settings and trust each time, so that a change of them
// holds at once.
func (b *daemon) newServers() *mcp.Servers {
	walls := b.newWalls()
	return mcp.New(b.ctx, mcp.Config{
		Described: b.serversOf, Environ: process.Environ(b.Environ), Home: workspace.CanonicalPath(b.env("HOME")),
		Roots: func() []string {
			return slices.DeleteFunc(b.folders.paths(), func(folder string) bool { return !b.trusted(folder) })
		},
		Sandbox: walls.sandbox, Places: walls.places,
		Hosts:  func(folder string) dial.Hosts { return b.settingsOf(folder).runs.Hosts },
		Proxy:  http.ProxyFromEnvironment,
		Logins: b.newLogins(), Hide: func(name string,
			values ...string) {
			b.Secrets.add(map[string][]string{name: values})
		},
		Dir: filepath.Join(b.state(), "mcp"), Version: b.Version, Now: b.Now, Log: b.Log,
		Changed: func(folder string, s mcp.State) {
			if service := b.service.Load(); service != nil {
				service.ServerChanged(folder, s.Name, s.State, s.Why)
			}
		},
	})
}

// walls say what confines the processes that settings describe.
// It has one survey, so that a folder is not looked through for each process.
type walls struct {
	b      *daemon
	survey *tool.Survey
}

// newWalls returns them with a survey of their own.
func (b *daemon) newWalls() walls { return walls{b, tool.NewSurvey(b.Now)} }

// sandbox returns what confines the processes of a folder.
func (w walls) sandbox(folder string) *sandbox.Sandbox { return w.b.settingsOf(folder).runs.Sandbox }

// places returns what a wall hides and protects there, by the settings as they are now.
func (w walls) places(ctx context.Context, folder string) (tool.Places, error) {
	return w.survey.Look(ctx, folder, w.b.settingsOf(folder).runs.Deny)
}

// serversOf returns the MCP servers of the settings of a folder. A project's
// is started only as the person approved it (spec 4.4), and nothing is in a folder
// that is not trusted.
// It is asked before each use of a server, so that what the person takes back counts at
// once.
// A server that may not start is returned with a Problem which says what to do, so that it
// can be shown; nothing for a folder that is not of the workspace.
func (b *daemon) serversOf(folder string) []mcp.Server {
	if folder != "" && !slices.Contains(b.folders.paths(), folder) {
		return nil
	}
	held := b.settingsOf(folder)
	all := held.values.MCPServers
	if len(all) == 0 {
		return nil
	}
	trusted := b.trusted(folder)
	active := make(map[string]bool) // bundles by now, by folder
	if len(held.bundled) > 0 {
		for _, of := range b.activeBundles(b.ctx, folder) {
			active[of.Folder] = true
		}
	}
	var brings []workspace.TrustItem
	// What the folder brings is read from disk, and only where a server is the folder's
	// own.
	if slices.ContainsFunc(slices.Collect(maps.Values(all)),
		func(r settings.Raw) bool { return r.Origin.Scope == settings.ProjectScope }) {
		brings = workspace.ReadServers(b.ctx, folder)
	}
	var list []mcp.Server
	for _, name := range slices.Sorted(maps.Keys(all)) {
		raw := all[name]
		from, bundled := held.bundled[name]
		project := raw.Origin.Scope == settings.ProjectScope
		var item workspace.TrustItem
		if i := slices.IndexFunc(brings,
			func(item workspace.TrustItem) bool { return item.Name == workspace.ServerItem(name) }); project && i >= 0 {
			item = brings[i]
		}
		s := mcp.Parse(name, project, raw.JSON, string(item.Digest), b.lookup(project))
		switch {
		case !trusted:
			s.Problem = fmt.Sprintf("the folder %s is not trusted, so nothing is started in it; trust it with `agentls trust`", folder)
		case bundled && !active[from]:
			s.Problem = fmt.Sprintf("its extension brings something else than you approved (%s); look at it, then approve it with `agentls extensions enable`", from)
		case project && !bundled && !b.approvesItem(folder, item, raw.JSON):
			s.Problem = fmt.Sprintf("it comes with the folder %s, and is new or changed since you approved what the folder brings; look at it, then approve it with the command agentls.trustWorkspace of your editor (agents/trust) or `agentls trust %s`", folder, folder)
		}
		list = append(list, s)
	}
	return list
}

// approvesItem reports whether the person has approved a server, or the hooks of an
// event, of a project as they were read: their description, and the files of the folder
// that this names (SEC-10, SEC-11).
// raw is what the settings had when they were read and item what the folder has now; both
// must agree with the approval.
func (b *daemon) approvesItem(folder string, item workspace.TrustItem, raw []byte) bool {
	basis := b.basis(folder)
	if !basis.reviewed {
		return b.Trust // for this process, in which nothing is reviewed
	}
	var value any
	if item.Digest == "" || json.Unmarshal(raw, &value) != nil {
		return false
	}
	// The settings may have been read at another time than what was approved.
	shown, _ := json.MarshalIndent(value, "", "  ")
	return bytes.HasPrefix(item.Text, append(shown, '\n')) && basis.items[item.Under(basis.rel).Name] == item.Digest
}

// lookup returns what ${NAME} stands for in the description of a server: in a
// project's only what processes get anyway (SEC-114).
//
// Of a variable that is set twice the last one counts, as for processes.
func (b *daemon) lookup(project bool) func(string) (string, bool) {
	environ := b.Environ
	if project {
		environ = process.Environ(environ)
	}
	return func(name string) (string, bool) {
		for _, entry := range slices.Backward(environ) {
			if value, ok := strings.CutPrefix(entry, name+"="); ok {
				return value, true
			}
		}
		return "", false
	}
}

// offers is what runs ask servers for.
type offers struct{ *mcp.Servers }

var _ agents.Servers = offers{}

// Offer implements [agents.Servers].
func (o offers) Offer(ctx context.Context, folder string, names []string) agents.ServerTools {
	offer := o.Servers.Offer(ctx, folder, names)
	all := agents.ServerTools{Tools: offer.Tools, Problems: offer.Problems}
	for _, change := range offer.Changes {
		one := agents.ServerChange{Server: change.Server, Approve: change.Approve, Again: change.Again}
		for _, t := range change.Tools {
			one.Tools = append(one.Tools, fmt.Sprintf("%s: %s", t.Name, t.Description))
		}
		all.Changes = append(all.Changes, one)
	}
	return all
}
