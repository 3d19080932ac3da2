package main

import (
	"errors"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentls/agentls/agents/graph"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/wire"
)

// graphCommand shows and runs graphs of agents. run, resume and replay are the commands of
// the same name elsewhere, with a help of their own.
func graphCommand(std streams) *cobra.Command {
	c := &cobra.Command{Use: "graph", Short: "Show or run the graph of an agent", Args: needsPart,
		// Args refuses before it runs. Without it cobra would print the help, and that
		// would be a success.
		RunE: func(*cobra.Command, []string) error { return nil }}
	run, resume := runCommandOf(std, &runOptions{method: wire.MethodGraphRun}), sessionResumeCommand(std)
	run.Use, run.Short = "run NAME [PROMPT]", "Run an agent that has a graph"
	run.Long = `Runs an agent that has a graph, from node to node, as agentls run does; an agent
without a graph is an error. Nodes that ask the person ask in this terminal.`
	run.Example = "  agentls graph run bug-flow \"the login fails\"\n  agentls graph run bug-flow -p \"the login fails\" --format stream-json"
	resume.Short = "Resume a graph that was interrupted"
	resume.Long = `Resumes the run of a graph that was interrupted, since its agentls ended, or that came
to a limit. Steps that have finished do not run again; what a node asked is asked anew.
RUN is the run, SESSION means its newest run; without an argument it is the newest of all.`
	c.AddCommand(visualizeCommand(std), run, resume, replayCommand(std))
	return c
}

// visualizeCommand prints the graph of an agent, or of a run with --run
// (agents/graph/get). The daemon draws it; text is escaped here, and the other formats are
// printed as they are, since other programs read them.
func visualizeCommand(std streams) *cobra.Command {
	var p wire.GraphParams
	c := &cobra.Command{
		Use: "visualize [NAME]", Short: "Show the graph of an agent as text, Mermaid, DOT or JSON",
		Long: `Shows the graph of an agent: its nodes with what each does, and its edges with the
conditions under which they are taken. Of an agent without a graph it shows who hands
over to whom. With --run it is the graph of a run, with the state of each node.
mermaid is for Markdown files, dot for Graphviz, and json is what LangGraph writes.`,
		Example: "  agentls graph visualize bug-flow\n  agentls graph visualize bug-flow --format dot | dot -Tsvg > flow.svg",
		Args:    arguments(0, 1), ValidArgsFunction: completeAgents(1),
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				p.Name = strings.TrimPrefix(args[0], "@")
			}
			if p.Name == "" && p.Run == "" {
				return usage{errors.New("missing agent; try agentls graph visualize NAME")}
			}
			return request(c, std, wire.MethodGraphGet, &p, false, func(r *wire.GraphResult) error {
				if p.Format == "text" { // names and conditions are a file's
					r.Drawing = tool.EscapeLines(r.Drawing) + "\n"
				}
				_, err := io.WriteString(std.out, r.Drawing)
				return err
			})
		},
	}
	choose(c, &p.Format, "format", "text", joinOr(graph.Formats), graph.Formats...)
	c.Flags().StringVar(&p.Run, "run", "", "the `run` whose nodes' states are shown")
	return c
}
