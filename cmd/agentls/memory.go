package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/wire"
)

// memoryCommand lists, searches and deletes what agents remember across sessions
// (agents/memory/…). Stores that cannot be read are named on standard error and do not
// change the exit code. A search that finds nothing is exit code 0.
func memoryCommand(std streams) *cobra.Command {
	var asJSON, all bool
	var store, cursor string
	c := &cobra.Command{
		Use: "memory", Short: "What agents remember across sessions: list, search, delete",
		Long: `Lists, searches and deletes what agents with memory.enabled have stored with
store_memory: their own, what the agents of this workspace share, and what all
your agents share. --all shows what belongs to other workspaces too.`,
		Args: cobra.ArbitraryArgs, RunE: needsPart,
	}
	list := &cobra.Command{
		Use: "list", Short: "List stores and their newest records", Args: arguments(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			p := &wire.MemoryListParams{Store: store, All: all, Cursor: cursor}
			return request(c, std, wire.MethodMemoryList, p, asJSON, func(r *wire.MemoryListResult) error {
				printProblems(std.err, r.Problems)
				return printMemory(std.out, r)
			})
		},
	}
	list.Flags().StringVar(&cursor, "after", "", "the next page, as the page before says")
	var limit int
	search := &cobra.Command{
		Use: "search QUERY", Short: "Find records by their words", Args: arguments(1, maxWords),
		RunE: func(c *cobra.Command, args []string) error {
			p := &wire.MemorySearchParams{Query: strings.Join(args, " "), Store: store, All: all, Limit: limit}
			return request(c, std, wire.MethodMemorySearch, p, asJSON, func(r *wire.MemorySearchResult) error {
				printProblems(std.err, r.Problems)
				if len(r.Records) == 0 {
					_, err := fmt.Fprintln(std.out, "Nothing found.")
					return err
				}
				return printRecords(std.out, r.Records)
			})
		},
	}
	search.Flags().IntVar(&limit, "limit", 0, "how many records at most (10)")
	// The flags have no values yet, so they are handed over by their addresses.
	erase := deleteMemoryCommand(std, &store, &asJSON)
	for _, part := range []*cobra.Command{list, search} {
		part.Flags().BoolVar(&all, "all", false, "also what belongs to other workspaces")
	}
	c.PersistentFlags().StringVar(&store, "store", "", "one store, as list names it")
	c.PersistentFlags().BoolVar(&asJSON, "json", false, "print JSON")
	c.AddCommand(list, search, erase)
	return c
}

// deleteMemoryCommand is the command that deletes records of a store. It asks nothing:
// which records go is on the command line, and a whole store needs --all. Keys that are
// not there are an error where nothing was deleted at all. store and asJSON are flags of
// its parent.
func deleteMemoryCommand(std streams, store *string, asJSON *bool) *cobra.Command {
	var whole bool
	erase := &cobra.Command{
		Use: "delete --store STORE KEY…", Short: "Delete records, or with --all a whole store",
		Long: `Deletes records by their keys, or with --all a whole store. Nothing of them stays
in the files of local stores; of a Redis server the answer says what may. The logs of
sessions keep what was said in them.`,
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case *store == "":
				return usage{errors.New("missing --store; `agentls memory list` names the stores")}
			case whole && len(args) > 0:
				return usage{errors.New("keys and --all do not go together; leave one out")}
			case !whole && len(args) == 0:
				return usage{errors.New("missing KEY; name one, or give --all for the whole store")}
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			p := &wire.MemoryDeleteParams{Store: *store, Keys: args, All: whole}
			return request(c, std, wire.MethodMemoryDelete, p, *asJSON, func(r *wire.MemoryDeleteResult) error {
				if r.Deleted == 0 && !whole {
					return fmt.Errorf("nothing is stored under %s in %s; see `agentls memory list`",
						tool.Escape(strings.Join(args, ", ")), tool.Escape(*store))
				}
				_, err := fmt.Fprintf(std.out, "Deleted %s. %s\n", count(r.Deleted, "record"), r.Note)
				return err
			})
		},
	}
	erase.Flags().BoolVar(&whole, "all", false, "the whole store")
	return erase
}

// maxWords is how many words may stand in a command line for one text: more than anybody
// types, so that the text need not be quoted.
const maxWords = 1000

// printProblems prints what could not be read, a line each.
func printProblems(out io.Writer, problems []string) {
	for _, p := range problems {
		fmt.Fprintln(out, "! "+tool.Escape(p))
	}
}

// printMemory prints a line for each store, then the records of this page, and how to get
// the next page where there is one.
func printMemory(out io.Writer, r *wire.MemoryListResult) error {
	if len(r.Stores) == 0 {
		_, err := fmt.Fprintln(out,
			"Nothing is remembered here. Agents with `memory: {enabled: true}` store records with store_memory.")
		return err
	}
	w := tabwriter.NewWriter(out, 2, 4, 2, ' ', 0)
	fmt.Fprintln(w, "STORE\tRECORDS\tKIND\tOF")
	for _, s := range r.Stores {
		if s.Problem != "" {
			fmt.Fprintf(w, "%s\t–\t%s\t%s\n", tool.Escape(s.ID), s.Backend, tool.Escape(s.Problem))
			continue
		}
		kind := s.Backend + ", " + s.Type
		if s.Embedder != "" {
			kind = fmt.Sprintf("%s, %s %d", s.Backend, tool.Escape(s.Embedder), s.Dimension)
		}
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\n", tool.Escape(s.ID), s.Records, kind, tool.Escape(s.Whose))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if len(r.Records) > 0 {
		fmt.Fprintln(out)
		if err := printRecords(out, r.Records); err != nil {
			return err
		}
	}
	if r.Cursor != "" {
		fmt.Fprintf(out, "\nMore: agentls memory list --after %s\n", r.Cursor)
	}
	return nil
}

// printRecords prints what is remembered, with who stored it, where and when, and whether
// that was after reading what others wrote.
func printRecords(out io.Writer, records []wire.MemoryRecord) error {
	var b strings.Builder
	for i, r := range records {
		if i > 0 {
			b.WriteString("\n")
		}
		when := r.Time
		if at, err := time.Parse(time.RFC3339, r.Time); err == nil {
			when = ago(time.Since(at))
		}
		fmt.Fprintf(&b, "%s · %s · by %s, session %s, %s", tool.Escape(r.Key), tool.Escape(r.Store),
			tool.Escape(r.Agent), tool.Escape(cmp.Or(r.Session, "main")), when)
		if r.Taint != "" {
			fmt.Fprintf(&b, " · after reading what others wrote (%s)", tool.Escape(r.Taint))
		}
		b.WriteString("\n")
		for line := range strings.Lines(r.Content) {
			fmt.Fprintf(&b, "  %s\n", tool.Escape(strings.TrimRight(line, "\r\n")))
		}
	}
	_, err := io.WriteString(out, b.String())
	return err
}
