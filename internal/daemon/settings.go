package daemon

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/agentls/agentls/agents"
	"github.com/agentls/agentls/agents/authority"
	"github.com/agentls/agentls/agents/explanation"
	"github.com/agentls/agentls/agents/language"
	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/agents/session"
	"github.com/agentls/agentls/extensions/bundle"
	"github.com/agentls/agentls/internal/settings"
	"github.com/agentls/agentls/workspace"
)

// folderSettings is what the settings say for one folder.
// Nobody changes it once settingsOf has returned it.
type folderSettings struct {
	runs      agents.Settings
	table     []model.Entry     // rows that the person adds to the table of models
	env       map[string]string // the person's variables for models; see [modelVariables]
	vertex    bool              // the person signs in at Vertex AI
	retention session.Retention // of sessions; the zero one keeps all
	servers   []language.Server // of mcpServers, by name
	described []language.Server // those of the folder, where it is not trusted
	hooks     []describedHook   // in the order in which they are run
	noHooks   bool              // the person has switched all hooks off
	hooksOff  []string          // names of hooks that the person has switched off
	// As they are written, with defaults and origins.
	values  *workspace.Settings
	bundles []*bundle.Bundle  // that took effect when this was read
	bundled map[string]string // the folders of bundles, by the MCP server that each brings
	// What is wrong, each with its place, masked.
	problems []string
	notes    []string // what has no effect, though nothing is wrong with it
}

// settingsCache keeps what was read until a file changes.
// mu guards of and last. last has what could be read the last time, for a file that is
// broken now.
type settingsCache struct {
	mu sync.Mutex
	// By folder, "" for none; nil after forget.
	of   map[string]*folderSettings
	last workspace.LastSettings // is not forgotten

	generation atomic.Uint64 // grows with each forget
}

// forget has the settings read again when they are next asked for. Who has some keeps them.
func (c *settingsCache) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.of = nil
	c.generation.Add(1)
}

// settingsOf returns the settings that hold in a folder, "" for none: the
// person's, and the folder's own where it is trusted.
// It reads files the first time after a change, under a lock that all others wait for. What cannot be read is
// among its problems.
//
// The order matters: secrets are learnt first, so that problems which quote a file can be
// masked, and bundles add their servers before translate names them, and their hooks
// after it.
func (b *daemon) settingsOf(folder string) *folderSettings {
	b.settings.mu.Lock()
	defer b.settings.mu.Unlock()
	if s := b.settings.of[folder]; s != nil {
		return s
	}
	trusted := b.trusted(folder)
	all := b.settings.last.Load(b.ctx, workspace.SettingsFiles{User: b.userSettings(), Folder: folder,
		Trusted: trusted, Env: b.env})
	if b.Secrets != nil { // not so where only the access to models is checked
		b.Secrets.read(all)
	}
	if b.Apart {
		clear(all.MCPServers)
		all.Tracing = settings.Tracing{}
	}
	bundles := b.activeBundles(b.ctx, folder)
	// Before translate, which names all servers to agents.
	bundled := b.addBundles(all, bundles, folder)
	s := b.translate(all, folder)
	s.bundles, s.bundled = bundles, bundled
	b.addHooks(s, bundles, folder)
	s.excludeTools(bundles, places{home: b.env("HOME"), folder: folder, workspace: append(b.folders.paths(), folder)})
	if !trusted && folder != "" {
		s.describe(b.ctx, folder)
	}
	if b.settings.of == nil {
		b.settings.of = make(map[string]*folderSettings)
	}
	b.settings.of[folder] = s
	return s
}

// describe notes the names of the MCP servers that the settings of a folder describe
// which is not trusted: its agent files are checked there (spec 4.4), and what they
// name is not unknown. For the person's own agents they are. Nothing else is read of these settings, and no server starts.
func (s *folderSettings) describe(ctx context.Context, folder string) {
	own := workspace.LoadSettings(ctx, workspace.SettingsFiles{Folder: folder, Trusted: true})
	for _, name := range slices.Sorted(maps.Keys(own.MCPServers)) {
		if !slices.ContainsFunc(s.servers, func(other language.Server) bool { return other.Name == name }) {
			s.described = append(s.described, language.Server{Name: name,
				State: "not used until the folder is trusted"})
		}
	}
}

// userSettings is the person's own settings file.
func (b *daemon) userSettings() string { return filepath.Join(b.Home, "settings.json") }

// translate puts the settings of a folder into the words of agents.
// It starts nothing. Texts that quote what is written are masked before anybody sees them.
func (b *daemon) translate(all *workspace.Settings, folder string) *folderSettings {
	s := &folderSettings{
		runs:   agents.Settings{Values: all.Values, Sandbox: b.boxes.of(b.Config, all)},
		values: all,
	}
	s.readTools(all, places{home: b.env("HOME"), folder: folder, workspace: append(b.folders.paths(), folder)})
	for _, path := range all.Security.AdditionalFolders {
		if canonical, err := workspace.Canonical(expandHome(path, b.env("HOME"))); err == nil {
			s.runs.AdditionalFolders = append(s.runs.AdditionalFolders, canonical)
		} else {
			s.problems = append(s.problems, fmt.Sprintf("security.additionalFolders: %v", err))
		}
	}
	// An element that cannot be read is told, and the others count, here and below.
	for _, raw := range all.Model.Routes {
		if route, err := model.ParseRoute(raw.JSON); err == nil {
			route.Origin = raw.Origin
			s.runs.Routes = append(s.runs.Routes, route)
		} else {
			s.ignore(raw.Origin, "model.routes", err)
		}
	}
	for _, raw := range all.Model.Table {
		if row, err := model.ParseEntry(raw.JSON); err == nil {
			s.table = append(s.table, row)
		} else {
			s.ignore(raw.Origin, "model.table", err)
		}
	}
	s.retention = session.Retention{Days: all.Retention.Days, MaxSessions: all.Retention.MaxSessions,
		Pinned: all.Retention.Pinned}
	if slices.ContainsFunc(all.Problems, func(p workspace.SettingsProblem) bool {
		return strings.HasPrefix(p.Key, "agents.retention") && p.File == b.userSettings()
	}) {
		s.retention = session.Retention{} // what was meant is not known, and what is erased is gone
	}
	for _, name := range slices.Sorted(maps.Keys(all.MCPServers)) {
		raw := all.MCPServers[name]
		s.servers = append(s.servers, language.Server{Name: name, Summary: serverSummary(raw.JSON)})
		s.runs.Servers = append(s.runs.Servers, authority.Server{Name: name,
			Origin: explanation.OriginOf("mcpServers."+name, raw.Origin)})
	}
	s.readProvider(all)
	if !b.Apart {
		b.readHooks(s, all)
	}
	for _, p := range all.Problems {
		s.problems = append(s.problems, p.String())
	}
	if b.Secrets != nil {
		for _, list := range [][]string{s.problems, s.notes} { // they quote what is written there
			for i, p := range list {
				list[i] = string(b.Secrets.MaskAll([]byte(p)))
			}
		}
		for i := range s.runs.Deny {
			s.runs.Deny[i].Text = string(b.Secrets.MaskAll([]byte(s.runs.Deny[i].Text)))
		}
	}
	return s
}

// serverSummary says what an MCP server is: its description, its command or its
// address. Arguments, headers and what of an address may hold keys are not shown.
func serverSummary(raw []byte) string {
	var server struct {
		Description, Command, URL, HTTPURL string
	}
	if json.Unmarshal(raw, &server) != nil {
		return "" // it has a problem already
	}
	return cmp.Or(server.Description, server.Command, publicAddress(server.HTTPURL), publicAddress(server.URL))
}

// publicAddress is an address without a name, a password, a query and a fragment;
// "" for one in which these cannot be told from the rest.
func publicAddress(address string) string {
	u, err := url.Parse(address)
	if err != nil || (u.Host == "" && strings.Contains(address, "@")) {
		return ""
	}
	u.User, u.RawQuery, u.ForceQuery, u.Fragment, u.RawFragment = nil, "", false, "", ""
	return u.String()
}

// expandHome returns a path of the person's settings with ~ or ~/ replaced by their
// home.
//
// Without a home the path stays as it is.
func expandHome(path, home string) string {
	if path == "~" && home != "" {
		return home
	}
	if rest, ok := strings.CutPrefix(path, "~/"); ok && home != "" {
		return filepath.Join(home, rest)
	}
	return path
}

// ignore notes that an element of a list does not count.
// key names the list in the problem.
func (s *folderSettings) ignore(origin settings.Origin, key string, err error) {
	s.problems = append(s.problems, at(origin, fmt.Sprintf("%s: %v; it is ignored", key, err)))
}

// at puts the place before a problem.
func at(o settings.Origin, text string) string {
	return fmt.Sprintf("%s:%d:%d: %s", o.File, o.Line, o.Column, text)
}
