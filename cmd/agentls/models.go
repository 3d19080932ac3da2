package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/agents/tool"
)

// modelsCommand lists the models that an agent can have, with their prices: the program's,
// and those of the settings that hold in this folder. It reads settings without a daemon
// and sends nothing.
func modelsCommand(std streams) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "models", Short: "List the models that an agent can have, with their prices", Args: arguments(0, 0),
		Long: `Lists the models that an agent can have: the field model of its file and --model take
the id or an alias. Prices are in USD for a million tokens. The setting model.table
adds models and corrects those of the program; it comes first.`,
		RunE: func(c *cobra.Command, _ []string) error {
			config, err := base(std)
			if err != nil {
				return err
			}
			folder, err := here()
			if err != nil {
				return err
			}
			// Check reads the settings, and sends nothing.
			all := slices.DeleteFunc(config.Check(c.Context(), folder).Models, writesNothing)
			if asJSON {
				return printJSON(std.out, map[string]any{"models": all})
			}
			return printModels(std.out, all, time.Now())
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

// printModels prints a line for each model. now decides which are retired. The order is
// that of the table: rows of the settings first.
func printModels(out io.Writer, all []model.Entry, now time.Time) error {
	builtin := writers()
	w := tabwriter.NewWriter(out, 2, 4, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tALIAS\tWINDOW\tINPUT\tOUTPUT\tTHINKING\t")
	for _, e := range all {
		input, output := pricesOf(e.Prices)
		note := ""
		// A day that is to come is told too, so that agents get another model in time.
		switch day, err := time.Parse(time.DateOnly, e.Retired); {
		case err == nil && !now.Before(day):
			note = "retired: " + cmp.Or(e.Successor, "no successor")
		case e.Retired != "":
			note = "until " + e.Retired
		}
		if !slices.ContainsFunc(builtin, func(b model.Entry) bool { return sameModel(b, e) }) {
			note = strings.TrimPrefix(note+", from the settings", ", ")
		}
		window := "?"
		if e.Window > 0 {
			window = tool.Tokens(e.Window)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", tool.Escape(e.ID), tool.Escape(strings.Join(e.Aliases, ", ")),
			window, input, output,
			thinkingOf(e), tool.Escape(note))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(out, "\nUse one: agentls run --model ALIAS \"your request\", or the field model of an agent's file")
	return err
}

// sameModel reports whether two rows say the same. They are compared as text, since a row
// has slices.
func sameModel(a, b model.Entry) bool {
	return fmt.Sprintf("%v", a) == fmt.Sprintf("%v", b)
}

// pricesOf returns what a million tokens cost in USD; what a larger request costs stands
// behind a dash, and "?" is a price that is not known.
func pricesOf(prices []model.Price) (input, output string) {
	if len(prices) == 0 {
		return "?", "?"
	}
	first, last := prices[0], prices[len(prices)-1]
	input, output = "$"+dollars(first.Input), "$"+dollars(first.Output)
	if len(prices) > 1 {
		input, output = input+"–"+dollars(last.Input), output+"–"+dollars(last.Output)
	}
	return input, output
}

// dollars writes a price with its cents, and with more places where it has them.
func dollars(price float64) string {
	text := strconv.FormatFloat(price, 'f', -1, 64)
	if exact := fmt.Sprintf("%.2f", price); len(exact) > len(text) {
		return exact
	}
	return text
}

// thinkingOf says how a model is told how much to think: by words, by a number of tokens,
// or not at all.
func thinkingOf(e model.Entry) string {
	switch e.Thinking {
	case model.Level:
		return strings.Join(e.Levels, ", ")
	case model.Budget:
		return fmt.Sprintf("%d–%d tokens", e.MinBudget, e.MaxBudget)
	}
	return "no"
}

// models returns what can be typed as a model: words, aliases and ids.
func models() []string {
	names := []string{"inherit", model.Auto}
	for _, e := range writers() {
		names = append(append(names, e.Aliases...), e.ID)
	}
	return names
}

// writers returns the models of the binary that an agent can have. Those of settings are
// not among them.
func writers() []model.Entry {
	return slices.DeleteFunc(slices.Clone(model.NewTable(time.Now).Entries()), writesNothing)
}

// writesNothing reports whether a model only embeds. A model of which neither is known
// may write.
func writesNothing(e model.Entry) bool { return e.MaxOutput == 0 && e.Window > 0 }
