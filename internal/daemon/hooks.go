package daemon

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/agentls/agentls/agents/explanation"
	"github.com/agentls/agentls/extensions/bundle"
	"github.com/agentls/agentls/extensions/hook"
	"github.com/agentls/agentls/internal/process"
	"github.com/agentls/agentls/internal/sandbox"
	"github.com/agentls/agentls/internal/settings"
	"github.com/agentls/agentls/workspace"
)

// describedHook is a hook of the settings with what the person approves of it.
type describedHook struct {
	hook.Described
	raw    []byte // the hooks of its event, as they are written
	origin settings.Origin
	bundle string // the folder of the extension that it comes with; "" = none
}

// newHooks returns the hooks of this daemon.
//
// Everything is asked anew each time a hook is looked for, so a change of settings or
// trust counts from the next event on.
func (b *daemon) newHooks() *hook.Hooks {
	walls := b.newWalls()
	return hook.New(hook.Config{
		Described: b.hooksOf, Compiled: b.Hooks, Trusted: b.trusted,
		Has: func(folder, event string) bool {
			return slices.ContainsFunc(b.settingsOf(folder).hooks,
				func(h describedHook) bool { return h.Event == event })
		},
		Environ: process.Environ(b.Environ), Home: workspace.CanonicalPath(b.env("HOME")),
		Sandbox: walls.sandbox, Places: walls.places,
		Mask: b.Secrets.MaskKnown, Now: b.Now, Log: b.Log,
	})
}

// readHooks reads the hooks of all settings, a project's first, as gemini-cli runs them. A
// project switches off its own only.
// What switches hooks off must be known before the first is taken, so the person's section
// comes first.
func (b *daemon) readHooks(s *folderSettings, all *workspace.Settings) {
	sections := all.Lookup("hooks")
	kept := slices.Repeat([][]describedHook{nil}, len(sections))
	for i, raw := range sections { // the person's are first
		project := raw.Origin.Scope == settings.ProjectScope
		list, names := hook.Parse(raw.JSON, project, b.lookup(project))
		if !project {
			s.hooksOff = append(s.hooksOff, names...)
			s.noHooks = s.noHooks || !hook.Enabled(raw.JSON)
		}
		var keys map[string]json.RawMessage
		_ = json.Unmarshal(raw.JSON, &keys) // else there are none in the list
		for _, d := range list {
			if s.noHooks || slices.Contains(s.hooksOff, d.Name) || slices.Contains(names, d.Name) {
				continue
			}
			origin := raw.Origin
			// The place of the event within the file, rather than that of the section.
			for _, at := range all.Lookup("hooks", d.Key) {
				if at.Origin.File == origin.File {
					origin = at.Origin
				}
			}
			kept[i] = append(kept[i], describedHook{Described: d, raw: keys[d.Key], origin: origin})
			if d.Problem != "" {
				s.ignoreHook(origin, d)
			}
		}
	}
	// Settings give the person's section first; a project's are run first.
	for _, list := range slices.Backward(kept) {
		for _, h := range list {
			if i := slices.IndexFunc(s.hooks, h.same); i >= 0 {
				s.hooks[i] = h // of two that are the same the person's own is run, once
				continue
			}
			s.hooks = append(s.hooks, h)
		}
	}
}

// same reports whether a hook of the person and one of a project do the same. A project's
// default sandbox is no difference.
func (h describedHook) same(other describedHook) bool {
	access := func(d hook.Described) sandbox.Access {
		if d.Project && d.Sandbox == sandbox.Write {
			return ""
		}
		return d.Sandbox
	}
	// Two hooks of one file are both run, also where they are alike.
	return other.Project != h.Project && other.Event == h.Event && other.Name == h.Name && other.Matcher == h.Matcher &&
		other.Command == h.Command && slices.Equal(other.Args, h.Args) && slices.Equal(other.Env, h.Env) &&
		access(other.Described) == access(h.Described)
}

// ignoreHook notes that a hook cannot be run. A hook that gates blocks until it is
// corrected, since nobody knows what it would have said.
func (s *folderSettings) ignoreHook(origin settings.Origin, d hook.Described) {
	what := "it is not run"
	if d.Gates() {
		what = "until it is corrected, it blocks what it is to check"
	}
	s.problems = append(s.problems, at(origin, fmt.Sprintf("hooks.%s: the hook %s cannot be run: %s; %s", d.Key,
		d.Name, d.Problem, what)))
}

// hooksOf returns the hooks of an event that hold in a folder. A project's are run
// only as the person approved them (spec 4.4); those that changed since are not, and block
// what they checked.
// A hook that may not run but was approved in another form is returned with a Problem,
// which blocks; one that was never approved is left out, as if the folder did not have it.
func (b *daemon) hooksOf(ctx context.Context, folder, event string) []hook.Described {
	var list []hook.Described
	var brings []workspace.TrustItem
	var active []*bundle.Bundle
	hooks := b.settingsOf(folder).hooks
	// Bundles are read from disk, so only where one of them has a hook of this event.
	if slices.ContainsFunc(hooks, func(h describedHook) bool { return h.Event == event && h.bundle != "" }) {
		active = b.activeBundles(ctx, folder)
	}
	for _, h := range hooks {
		if h.Event != event {
			continue
		}
		if h.bundle != "" {
			if !slices.ContainsFunc(active, func(of *bundle.Bundle) bool { return of.Folder == h.bundle }) {
				h.Problem = "its extension brings something else than you approved (" + h.bundle +
					"); look at it, then approve it with `agentls extensions enable`"
			}
			list = append(list, h.Described)
			continue
		}
		if !h.Project {
			list = append(list, h.Described)
			continue
		}
		// What the folder brings is read from disk, and only where a hook of its own has
		// this event.
		if brings == nil {
			brings = workspace.ReadHooks(ctx, folder)
		}
		waits, known := b.waits(folder, h, brings)
		if !waits {
			list = append(list, h.Described)
		} else if known {
			h.Problem = hookNotice(folder)
			list = append(list, h.Described)
		}
	}
	return list
}

// explainHooks returns the hooks of a folder for explanations.
// A hook that cannot be run, or that waits for an approval, is among them as not known,
// with why.
func (b *daemon) explainHooks(folder string) []explanation.Reference {
	var list []explanation.Reference
	for _, c := range b.Hooks {
		list = append(list, explanation.Reference{Name: c.Name, Known: true, Text: c.Event + ", built in",
			Origin: explanation.Origin{What: "this installation"}})
	}
	hooks := b.settingsOf(folder).hooks
	var brings []workspace.TrustItem
	if slices.ContainsFunc(hooks, func(h describedHook) bool { return h.Project }) {
		brings = workspace.ReadHooks(b.ctx, folder)
	}
	for _, h := range hooks {
		r := explanation.Reference{Name: h.Name, Known: h.Problem == "", Text: h.Summary(),
			Origin: explanation.OriginOf("hooks."+h.Key, h.origin)}
		if h.Problem != "" {
			r.Text += "; cannot be run: " + h.Problem
		} else if h.Project && h.bundle == "" { // an extension is approved whole
			if waits, _ := b.waits(folder, h, brings); waits {
				r.Known = false
				r.Text += "; waits for your approval"
			}
		}
		list = append(list, r)
	}
	return list
}

// hookNotice says that a hook waits for the person.
func hookNotice(folder string) string {
	return fmt.Sprintf("it comes with the folder %s, and changed since you approved what the folder brings; look at it, then approve it with the command agentls.trustWorkspace of your editor (agents/trust) or `agentls trust %s`", folder, folder)
}

// waits reports whether a project's hook is not as the person approved it; known says that
// they have approved another one in its place.
func (b *daemon) waits(folder string, h describedHook, brings []workspace.TrustItem) (waits, known bool) {
	item := workspace.TrustItem{Name: workspace.HooksItem(h.Key)}
	if i := slices.IndexFunc(brings, func(other workspace.TrustItem) bool { return other.Name == item.Name }); i >= 0 {
		item = brings[i]
	}
	if b.trusted(folder) && b.approvesItem(folder, item, h.raw) {
		return false, true
	}
	basis := b.basis(folder)
	return true, basis.items[item.Under(basis.rel).Name] != ""
}
