package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/wire"
)

// listCommand lists the agents of this folder and the person's own (agents/list), with
// what keeps each from running. It exits with 0 also where files are wrong: validate is
// for that.
func listCommand(std streams) *cobra.Command {
	var scope, format string
	var asJSON bool
	c := &cobra.Command{
		Use: "list", Short: "List the agents of this folder and your own", Args: arguments(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			p := &wire.ListParams{}
			if scope != "all" {
				p.Scope = scope
			}
			return request(c, std, wire.MethodList, p, format == "json" || asJSON, func(r *wire.ListResult) error {
				return printAgents(std.out, *r, scope)
			})
		},
	}
	choose(c, &scope, "scope", "all", "global, project or all", "global", "project", "all")
	choose(c, &format, "format", "table", "table or json", "table", "json")
	c.Flags().BoolVar(&asJSON, "json", false, "the same as --format json")
	return c
}

// headings are the groups of a list, in their order. Agents of another scope are not
// listed.
var headings = []struct{ scope, title string }{
	{"project", "Agents of this folder"}, {"global", "Your agents"}, {"extension", "Agents of extensions"},
	{"system", "Built in"},
}

// printAgents prints a line for each agent, and below it, or its group, an explanation
// with file, line, column and reason for what is wrong with its file. scope is what was
// asked for, "all" or one of headings. The last line is how to run one that can run.
func printAgents(out io.Writer, r wire.ListResult, scope string) error {
	// listed has the problems that were told below an agent, by file and code. The others
	// are of files that are no agents.
	listed := map[string]bool{}
	usable := ""
	for _, group := range headings {
		var t table
		for _, a := range r.Agents {
			if a.Scope != group.scope {
				continue
			}
			state := ""
			switch {
			case a.State == "shadowed":
				state = "shadowed by " + place(a.ShadowedBy)
			case a.State != "ok":
				state = a.State
			}
			t.add(tool.Escape(a.Name), inShort(a), tool.Escape(a.ResolvedModel), state)
			// An agent whose file asks for more than it may have is listed, and not named
			// as one to run.
			runs := a.State == "ok"
			for _, p := range a.Problems {
				runs = runs && p.Code != "agent/authority"
			}
			// main can always run, and is named where no other agent can.
			if runs && usable == "" && a.Scope != "system" {
				usable = a.Name
			}
			for _, p := range a.Problems {
				if p.Severity == "error" || p.Code == "agent/authority" { // which keeps it from running
					listed[p.URI+p.Code] = true
					t.below("    " + explain(p.URI, p.Range.Start.Line, p.Range.Start.Character, p.Message))
				}
			}
		}
		if err := t.print(out, group.title); err != nil {
			return err
		}
	}
	rest := 0
	for _, p := range r.Problems {
		if p.Severity != "error" || listed[p.URI+p.Code] {
			continue
		}
		if rest++; rest == 1 {
			fmt.Fprintln(out, "Files that are no agents")
		}
		fmt.Fprintf(out, "  %s\n", explain(p.URI, p.Range.Start.Line, p.Range.Start.Character, p.Message))
	}
	if rest > 0 {
		fmt.Fprintln(out)
	}
	printWaiting(out, r.Agents)
	if len(r.Agents) == 0 && none[scope] != "" {
		_, err := fmt.Fprintln(out, none[scope])
		return err
	}
	_, err := fmt.Fprintf(out, "Run one: agentls run %s \"your request\"\n", cmp.Or(usable, "main"))
	return err
}

// inShort is an agent's title and what it is for, on one line, cut to 60 columns.
func inShort(a wire.AgentInfo) string {
	what := strings.Join(strings.Fields(a.Description), " ")
	if what == "" {
		return tool.Escape(a.Title)
	}
	return tool.Escape(a.Title) + ": " + fit(tool.Escape(what), 60)
}

// printWaiting says which agents wait for the person's trust or review, and what to do. A
// folder that is not trusted is told alone, since trust comes before a review.
func printWaiting(out io.Writer, agents []wire.AgentInfo) {
	var review []string
	for _, a := range agents {
		switch a.State {
		case "untrusted":
			fmt.Fprintln(out, "This folder is not trusted, so its agents do not run. Look at them, then: agentls trust")
			return
		case "review":
			review = append(review, tool.Escape(a.Name))
		}
	}
	switch n := len(review); {
	case n == 1:
		fmt.Fprintf(out, "1 agent is new or changed since you approved it; review it before it runs: agentls trust %s\n", review[0])
	case n > 1:
		fmt.Fprintf(out, "%d agents are new or changed since you approved them; review each before it runs: agentls trust %s\n", n, review[0])
	}
}

// none says that a scope has no agents.
var none = map[string]string{
	"project": "This folder has no agents. Make one: agentls create",
	"global":  "You have no agents of your own. Make one: agentls create --global",
}

// table is lines of columns that stand below each other; the second is made shorter where
// the lines would be longer than the terminal's. Unlike package tabwriter it counts wide
// characters as two columns, and leaves out columns that are empty in all rows. All rows
// have as many cells.
type table struct {
	// rows have a cell for each column, escaped already.
	rows [][]string
	// more has lines below a row, by the row's index. They are not cut.
	more map[int][]string
}

// add adds a row. Its cells are escaped by the caller.
func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

// below adds a line below the last row, which is of no column.
func (t *table) below(line string) {
	if t.more == nil {
		t.more = map[int][]string{}
	}
	t.more[len(t.rows)-1] = append(t.more[len(t.rows)-1], line)
}

// print prints the rows below a title, and an empty line; nothing if there are none. The
// width is limited on a terminal only: what reads a file or a pipe gets everything.
func (t *table) print(out io.Writer, title string) error {
	const indent, least = 2, 12 // of the second column
	if len(t.rows) == 0 {
		return nil
	}
	widths := make([]int, len(t.rows[0]))
	whole := 0
	for _, row := range t.rows {
		for i, cell := range row {
			widths[i] = max(widths[i], columnsOf(cell))
		}
	}
	for _, w := range widths {
		if w > 0 {
			whole += indent + w
		}
	}
	if f, ok := out.(*os.File); ok {
		if columns, _, err := term.GetSize(int(f.Fd())); err == nil && columns > 0 && whole > columns {
			// The second column gives up the excess, and stays readable.
			widths[1] = max(min(widths[1], least), widths[1]-(whole-columns))
		}
	}
	var b strings.Builder
	fmt.Fprintln(&b, title)
	for n, row := range t.rows {
		line := ""
		for i, cell := range row {
			if i == 1 {
				cell = fit(cell, widths[i])
			}
			if widths[i] > 0 {
				line += strings.Repeat(" ", indent) + cell + strings.Repeat(" ", widths[i]-columnsOf(cell))
			}
		}
		fmt.Fprintln(&b, strings.TrimRight(line, " "))
		for _, text := range t.more[n] {
			fmt.Fprintln(&b, text)
		}
	}
	_, err := fmt.Fprintln(out, b.String())
	return err
}

// columnsOf returns how many columns of a terminal a text without control characters
// takes.
func columnsOf(text string) (n int) {
	for _, r := range text {
		if n++; wide(r) {
			n++
		}
	}
	return n
}

// explain says where and why, as compilers do, so that terminals and editors make a link
// of it: file:line:column: reason. line and character count from 0, as in the protocol.
func explain(uri string, line, character uint32, message string) string {
	return fmt.Sprintf("%s:%d:%d: %s", place(uri), line+1, character+1, tool.Escape(message))
}

// place returns the path of a file URI, as short as it can be named from here.
// messagePath does the same for a path.
func place(uri string) string { return tool.Escape(localName(uri)) }
