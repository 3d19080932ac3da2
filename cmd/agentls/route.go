package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/wire"
)

// routeCommand explains which agent an input is routed to (agents/route), without running
// it. A model may be asked, which costs something. That no agent was picked is exit code
// 0: it is an answer too.
func routeCommand(std streams) *cobra.Command {
	var p wire.RouteParams
	var asJSON bool
	c := &cobra.Command{
		Use: "route INPUT", Short: "Explain which agent an input is routed to, without running it",
		Long: `Says which agent would take an input that names none, and why: what speaks for each
agent, how sure that is, which settings counted, and why a model was asked or not.
Nothing runs. The model is asked where the strategy needs it.`,
		Example: `  agentls route "why does this panic: index out of range"
  agentls route --strategy rule "write a test for the parser"`,
		Args: arguments(1, 1),
		RunE: func(c *cobra.Command, args []string) error {
			p.Input = args[0]
			// The daemon makes the same check, but only once it has started.
			if _, err := p.Check(); err != nil {
				return usage{fmt.Errorf("INPUT %w", err)}
			}
			return request(c, std, wire.MethodRoute, &p, asJSON,
				func(r *wire.RouteResult) error { return printRoute(std.out, r) })
		},
	}
	choose(c, &p.Strategy, "strategy", "", "rule, llm or hybrid; without it, the settings'", "rule", "llm", "hybrid")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

// shownCandidates is how many candidates are listed for people.
const shownCandidates = 8

// printRoute explains a decision: the agent and why, what the model said where one was
// asked, the settings that counted, and the candidates. r.Settings begins with whether
// routing is on.
func printRoute(out io.Writer, r *wire.RouteResult) error {
	fmt.Fprintln(out, tool.Escape(r.Text))
	if string(r.Settings[0].Value) == "false" {
		fmt.Fprintln(out, "Routing is disabled in config: a run has to name its agent, @<name> \"<prompt>\".")
	}
	fmt.Fprintf(out, "\n%s\n", tool.Escape(r.Why))
	if m := r.Model; m != nil {
		fmt.Fprintf(out, "Model: %s, %d ms, %d tokens in, %d out\n", tool.Escape(m.ID), m.DurationMs,
			m.Usage.InputTokens, m.Usage.OutputTokens)
		if said := strings.TrimSpace(m.Error + r.Reason); said != "" {
			fmt.Fprintln(out, "It says:", tool.Escape(said))
		}
	}
	if r.Fallback != "" {
		fmt.Fprintf(out, "No agent was picked, so the fallback counts: %s\n", r.Fallback)
	}
	w := tabwriter.NewWriter(out, 2, 4, 2, ' ', 0)
	fmt.Fprintf(w, "\nSETTING\tVALUE\tFROM\n")
	for _, s := range r.Settings {
		fmt.Fprintf(w, "%s\t%s\t%s\n", s.Key, tool.Escape(strings.Trim(string(s.Value), `"`)), tool.Escape(s.Origin))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return printCandidates(out, r)
}

// printCandidates prints the candidates with the most points, shownCandidates at most, and
// what speaks for each. Candidates have the best first.
func printCandidates(out io.Writer, r *wire.RouteResult) error {
	fmt.Fprintf(out, "\n%s looked at, something speaks for %d", count(r.Considered, "agent"), len(r.Candidates))
	if len(r.Candidates) > 1 {
		fmt.Fprintf(out, "; the first leads by %d points", r.Margin)
	}
	if r.Partial {
		fmt.Fprint(out, "; not all patterns were tried, which took too long")
	}
	fmt.Fprintln(out)
	if len(r.Candidates) == 0 {
		return nil
	}
	w := tabwriter.NewWriter(out, 2, 4, 2, ' ', 0)
	fmt.Fprintf(w, "\nAGENT\tSCORE\tCONFIDENCE\tBY\n")
	for _, c := range r.Candidates[:min(len(r.Candidates), shownCandidates)] {
		fmt.Fprintf(w, "%s\t%d\t%d %%\t%s\n", tool.Escape(c.Agent), c.Score, c.Confidence, matches(c.Matches))
	}
	return w.Flush()
}

// matches says what speaks for an agent, with the points of each.
func matches(all []activity.RouteMatch) string {
	var list []string
	for _, m := range all {
		text := fmt.Sprintf("%s %q %+.1f", m.Kind, m.Text, m.Points)
		if m.Intent != "" {
			text += " (" + m.Intent + ")"
		}
		list = append(list, tool.Escape(text))
	}
	return strings.Join(list, ", ")
}
