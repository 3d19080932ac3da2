package handlers

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentls/agentls/agents"
	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/extensions/command"
	"github.com/agentls/agentls/extensions/mcp"
	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/internal/wire"
	"github.com/agentls/agentls/server"
)

// listCommands serves agents/commands.
// Prompts of MCP servers are among them, with the scope "server". They are sorted by
// name.
func (h *Handlers) listCommands(_ context.Context, _ struct{}, p *wire.CommandsParams) (*wire.CommandsResult, error) {
	folder, err := h.serverFolder(p.Folder)
	if err != nil {
		return nil, err
	}
	result := &wire.CommandsResult{Commands: []wire.CustomCommand{}}
	for _, c := range h.commandsIn(folder) {
		result.Commands = append(result.Commands, wire.CustomCommand{
			Name: c.Name, Description: c.Description, Scope: c.Scope, Extension: c.Extension,
			URI: tool.URI(c.Path), Problem: c.Problem,
		})
	}
	for name, p := range h.promptsIn(folder) {
		result.Commands = append(result.Commands, wire.CustomCommand{Name: name,
			Description: p.Description, Scope: "server"})
	}
	slices.SortStableFunc(result.Commands, func(a, b wire.CustomCommand) int { return strings.Compare(a.Name, b.Name) })
	return result, nil
}

// commandsIn returns the custom commands of a folder, as [Daemon.Commands] does; none
// where that is nil.
func (h *Handlers) commandsIn(folder string) []command.Command {
	if h.daemon.Commands == nil {
		return nil
	}
	return h.daemon.Commands(folder)
}

// promptsIn returns the prompts of the MCP servers of a folder by the names that they
// are called by: server:prompt, unless a custom command has that name.
//
// Prompts whose names could not be typed as a command are left out.
func (h *Handlers) promptsIn(folder string) map[string]mcp.Prompt {
	all := make(map[string]mcp.Prompt)
	if h.daemon.MCP == nil {
		return all
	}
	custom := h.commandsIn(folder)
	for _, p := range h.daemon.MCP.Prompts(folder) {
		name := p.Server + ":" + p.Name
		typed, _, ok := command.Parse("/"+name, func(string) bool { return true })
		if _, err := command.Find(custom, name); err != nil && ok && typed == name {
			all[name] = p
		}
	}
	return all
}

// commands returns the custom commands of a folder, then those that only others have.
//
// Of two folders that have a name the given folder's command counts.
func (h *Handlers) commands(folder string) []command.Command {
	if folder == "" {
		folder = h.Workspace.Snapshot().FirstFolder()
	}
	all := h.commandsIn(folder)
	for _, f := range h.Workspace.Snapshot().Folders() {
		if f.Canonical == folder {
			continue
		}
		for _, c := range h.commandsIn(f.Canonical) {
			if _, err := command.Find(all, c.Name); err != nil {
				all = append(all, c)
			}
		}
	}
	return all
}

// commandOf returns the custom command that a text calls, nil for none.
//
// A text that does not begin with a slash reads nothing from the disk.
func (h *Handlers) commandOf(text string) *wire.CommandCall {
	if !strings.HasPrefix(strings.TrimSpace(text), "/") {
		return nil // the folders are not looked at for it
	}
	all := h.commands("")
	prompts := h.promptsIn(h.Workspace.Snapshot().FirstFolder())
	name, args, ok := command.Parse(text, func(name string) bool {
		_, err := command.Find(all, name)
		_, prompt := prompts[name]
		return err == nil || prompt
	})
	if !ok {
		return nil
	}
	return &wire.CommandCall{Name: name, Args: args}
}

// expandCommand puts the prompt of a custom command before the input of a run: its
// files with their text, as far as agents are given it by a name, and its commands of
// the shell as what the run has to do first.
// What the command brings in raises st.Taint: a prompt of a server is foreign, and a
// file has the taint of its place. An unknown command is bad params; a server that
// does not give its prompt is fault.Invalid.
// Files are given by the rules of references (reference). Commands of the shell are only
// named here: the run asks for them and runs them.
func (h *Handlers) expandCommand(ctx context.Context, call *wire.CommandCall, st *agents.Start) error {
	folder := cmp.Or(st.Folder, h.Workspace.Snapshot().FirstFolder())
	if p, ok := h.promptsIn(folder)[call.Name]; ok {
		text, err := h.daemon.MCP.Prompt(ctx, folder, p, call.Args)
		if err != nil {
			return fault.New(fault.Invalid, "handlers.prompt", "%v", err)
		}
		st.Taint = st.Taint.Max(tool.Foreign)
		st.Input = append([]activity.ContentBlock{{Type: "text", Text: text}}, st.Input...)
		return nil
	}
	c, err := command.Find(h.commands(st.Folder), call.Name)
	if err != nil {
		return server.BadParams(wire.MethodRun, "command.name", "names no command: %s", fault.Message(err))
	}
	parts, err := c.Expand(call.Args)
	if err != nil {
		return err
	}
	env := h.lookingFrom(st.Folder)
	var blocks []activity.ContentBlock
	var text strings.Builder
	flush := func() {
		if text.Len() > 0 {
			blocks = append(blocks, activity.ContentBlock{Type: "text", Text: text.String()})
			text.Reset()
		}
	}
	for _, p := range parts {
		switch p.Kind {
		case command.File:
			flush()
			path := p.Text
			if !filepath.IsAbs(path) {
				path = filepath.Join(env.Folder, filepath.FromSlash(path))
			}
			block, taint := h.reference(ctx, env, st.Frontend, tool.URI(path))
			blocks, st.Taint = append(blocks, block), st.Taint.Max(taint)
		case command.Shell:
			st.Shell = append(st.Shell, p.Text)
			text.WriteString("[the output of the command " + p.Text + ", which follows this message]")
		default:
			text.WriteString(p.Text)
		}
	}
	flush()
	st.Input = append(blocks, st.Input...)
	return nil
}
