package main

import (
	"context"
	"fmt"
	"strings"
	"unicode"

	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/wire"
)

// later are the parts of /agents that people may expect and this version does not have.
var later = map[string]bool{"trace": true, "validate": true}

// obey does a command of a dialogue, with or without its slash. A name that is none of
// ours may be a custom command. errLeave is the answer to /exit and /quit.
func (d *dialogue) obey(ctx context.Context, line string) error {
	word, rest := line, ""
	if n := strings.IndexFunc(line, unicode.IsSpace); n >= 0 {
		word, rest = line[:n], strings.TrimSpace(line[n:])
	}
	switch strings.TrimPrefix(word, "/") {
	case "exit", "quit":
		return errLeave
	case "help":
		d.help()
		return d.listCommands(ctx)
	case "context":
		return showContext(ctx, d.conn, d.std.out, d.session, d.name(), maxShown)
	// Clearing asks nothing, since the log keeps the whole conversation.
	case "clear":
		if err := d.conn.Call(ctx, wire.MethodContextClear, &wire.ContextClearParams{Session: d.session,
			Agent: d.name()}, nil); err != nil {
			return err
		}
		d.t.say("The context of %s is cleared: the next request begins a new one.", tool.Escape(d.name()))
	case "compress":
		var r wire.SessionCompressResult
		p := &wire.SessionCompressParams{Session: d.session, Agent: d.name(), Force: true}
		if err := d.conn.Call(ctx, wire.MethodSessionCompress, p, &r); err != nil {
			return err
		}
		d.t.say("%s", compressionText(r))
	case "agents":
		if rest == "" {
			return d.changeAgent(ctx)
		}
		return d.agents(ctx, rest)
	case "model":
		return d.changeModel(ctx, rest)
	case "mode":
		return d.changeMode(ctx, rest)
	case "sessions":
		return d.changeSession(ctx, rest)
	case "rewind":
		return d.rewind(ctx)
	case "changes":
		return d.changes(ctx, rest)
	default:
		return d.custom(ctx, word, line)
	}
	return nil
}

// help shows what can be typed, and in the chat the keys.
func (d *dialogue) help() {
	d.t.say("  %-28s %s", "TEXT", "asks "+tool.Escape(d.name())+"; typed while it runs, steers it")
	d.t.say("  %-28s %s", "@NAME TEXT", "asks another agent; @auto the one that it is for")
	d.t.say("  %-28s %s", "@FILE in TEXT", "the file rides along")
	for _, c := range chatCommands {
		d.t.say("  %-28s %s", strings.TrimSpace(c.name+" "+c.arguments), c.does)
	}
	if d.chat != nil {
		d.t.say("%s", chatKeys)
	}
}

// chatKeys are the keys of the chat.
const chatKeys = `
  Enter sends · Alt-Enter, Ctrl-J or \ at the end begins a new line · Tab completes
  ↑ ↓ what was typed before · Ctrl-R finds it · Alt-← Alt-→ go by words · Ctrl-W takes one away
  Esc stops a run · Ctrl-C clears the line, stops a run, twice leaves · Ctrl-D leaves
  Ctrl-O shows all that was said and done, with nothing folded`

// compressionText says what came of a compression, in tokens of the context. A status
// that is new to this version is shown as it is.
func compressionText(r wire.SessionCompressResult) string {
	switch r.Status {
	case "COMPRESSED":
		return fmt.Sprintf("The context is shorter: %s → %s tokens.", tool.Tokens(r.Before), tool.Tokens(r.After))
	case "NOOP":
		return fmt.Sprintf("There is nothing to make shorter: %s tokens.", tool.Tokens(r.Before))
	}
	return fmt.Sprintf("The context is as long as before, %s tokens (%s).", tool.Tokens(r.Before), tool.Escape(r.Status))
}

// agents does a command that begins with /agents, by the functions of the commands of the
// same name.
func (d *dialogue) agents(ctx context.Context, rest string) error {
	word, rest, _ := strings.Cut(rest, " ")
	switch {
	case word == "list":
		var list wire.ListResult
		if err := d.conn.Call(ctx, wire.MethodList, &wire.ListParams{}, &list); err != nil {
			return err
		}
		return printAgents(d.std.out, list, "all")
	// /agents run NAME TEXT is the same as @NAME TEXT.
	case word == "run" && strings.TrimSpace(rest) != "":
		return d.request(ctx, "@"+strings.TrimPrefix(strings.TrimSpace(rest), "@"))
	case word == "handoff-chain":
		chain, err := d.conn.chain(ctx, d.session, strings.TrimSpace(rest))
		if err != nil {
			return err
		}
		return printChain(d.std.out, chain)
	case word == "route" && strings.TrimSpace(rest) != "":
		var r wire.RouteResult
		if err := d.conn.Call(ctx, wire.MethodRoute, &wire.RouteParams{Input: strings.TrimSpace(rest)},
			&r); err != nil {
			return err
		}
		return printRoute(d.std.out, &r)
	case word == "config":
		key, value, _ := strings.Cut(strings.TrimSpace(rest), " ")
		if value = strings.TrimSpace(value); value != "" {
			return setConfig(ctx, d.conn, d.std.out, key, value, false, false)
		}
		return showConfig(ctx, d.conn, d.std, key, false)
	case later[word]:
		d.t.say("/agents %s does not exist in this version; /help lists what does.", word)
	default:
		d.t.say("/agents list lists the agents, /agents run NAME TEXT asks one, /agents route TEXT says who would take it, /agents handoff-chain shows who passed control on.")
	}
	return nil
}
