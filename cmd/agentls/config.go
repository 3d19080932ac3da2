package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/wire"
)

// configCommand shows settings with where each comes from, or changes one. Without
// arguments it asks for all settings (agents/config/get), with KEY for those below it, and
// with KEY VALUE it has the daemon write the file of the folder, or with --global the
// person's (agents/config/set). Problems of the files go to standard error and do not
// change the exit code; a key or value that there is not is an error, exit code 1.
func configCommand(std streams) *cobra.Command {
	var global, asJSON bool
	c := &cobra.Command{
		Use: "config [KEY [VALUE]]", Short: "Show settings with where each comes from, or change one",
		Long: `Shows the settings that hold in this folder and where each comes from, or those of
one KEY, or gives KEY a VALUE in the folder's .gemini/settings.json; with --global
in your own. Comments in the file stay. "agents." may be left out of KEY. The value
null takes KEY out of the file.`,
		Example: `  agentls config routing
  agentls config routing.strategy llm
  agentls config --global autoRoute true`,
		Args: arguments(0, 2),
		RunE: func(c *cobra.Command, args []string) error {
			return with(c.Context(), std, func(ctx context.Context, conn *connection) error {
				if len(args) == 2 {
					return setConfig(ctx, conn, std.out, args[0], args[1], global, asJSON)
				}
				return showConfig(ctx, conn, std, strings.Join(args, ""), asJSON)
			})
		},
	}
	c.Flags().BoolVar(&global, "global", false, "change your own settings, not the folder's")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

// showConfig prints the settings below a key, "" for all, in words or as JSON. It also
// does /agents config in a conversation.
func showConfig(ctx context.Context, conn *connection, std streams, key string, asJSON bool) error {
	var r wire.ConfigGetResult
	if err := conn.Call(ctx, wire.MethodConfigGet, &wire.ConfigGetParams{Key: key}, &r); err != nil {
		return err
	}
	if asJSON {
		return printJSON(std.out, r)
	}
	for _, problem := range r.Problems {
		fmt.Fprintln(std.err, tool.Escape(problem))
	}
	return printConfig(std.out, r.Values)
}

// setConfig gives a key a value. The text is sent as a JSON string, and the daemon reads
// it by the key's type; only null is sent as such, since it removes the key. Where another
// file or the environment wins over the one that was changed, it says so.
func setConfig(ctx context.Context, conn *connection, out io.Writer, key, text string, global, asJSON bool) error {
	p := wire.ConfigSetParams{Key: key, Scope: "project"}
	if global {
		p.Scope = "global"
	}
	var err error
	if p.Value, err = json.Marshal(text); err != nil {
		return err
	}
	if text == "null" {
		p.Value = json.RawMessage("null")
	}
	var r wire.ConfigSetResult
	if err := conn.Call(ctx, wire.MethodConfigSet, &p, &r); err != nil {
		return err
	}
	if asJSON {
		return printJSON(out, r)
	}
	_, err = fmt.Fprintf(out, "Updated %s config: %s = %s\n", p.Scope, r.Value.Key, tool.Escape(text))
	// The value that holds comes from another place than the file that was written.
	if err == nil && r.Value.URI != r.URI && text != "null" {
		_, err = fmt.Fprintf(out, "It does not count here: %s, from %s, wins.\n", valueOf(r.Value), originOf(r.Value))
	}
	return err
}

// printConfig prints a line for each setting. agents.routing.default_agent is left out of
// a list where it is not set and no fallback refers to it.
func printConfig(out io.Writer, values []wire.ConfigValue) error {
	fallback := ""
	for _, v := range values {
		if v.Key == "agents.routing.fallback" {
			fallback = valueOf(v)
		}
	}
	w := tabwriter.NewWriter(out, 2, 4, 2, ' ', 0)
	for _, v := range values {
		if v.Key == "agents.routing.default_agent" && len(values) > 1 && v.Scope == "default" &&
			fallback != "default_agent" {
			continue
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", v.Key, valueOf(v), originOf(v))
	}
	return w.Flush()
}

// valueOf returns a setting's value as it is printed: a string without quotes, anything
// else as JSON.
func valueOf(v wire.ConfigValue) string {
	var text string
	if json.Unmarshal(v.Value, &text) != nil {
		text = string(v.Value)
	}
	return tool.Escape(text)
}

// originOf says where a setting comes from: default, the name of a variable, or scope,
// file and line. The scope user is called global, as the flag is.
func originOf(v wire.ConfigValue) string {
	switch v.Scope {
	case "default":
		return v.Scope
	case "environment":
		return v.Variable
	}
	return tool.Escape(fmt.Sprintf("%s (%s:%d)", strings.Replace(v.Scope, "user", "global", 1),
		localName(v.URI), v.Line))
}
