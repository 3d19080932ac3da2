package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// manCommand writes the manual pages into a folder, one for each command. It asks no
// daemon and replaces pages that are there. Releases have what it writes.
func manCommand(std streams) *cobra.Command {
	return &cobra.Command{
		Use: "man [DIR]", Short: "Write the manual pages into a folder", Args: arguments(0, 1),
		Long: "Writes a manual page for each command, agentls.1 and agentls-COMMAND.1, into a folder,\n" +
			"without one into the one where you are.",
		Example: "  agentls man ~/.local/share/man/man1",
		RunE: func(c *cobra.Command, args []string) error {
			dir := "."
			if len(args) == 1 {
				dir = args[0]
			}
			if err := os.MkdirAll(dir, 0o755); err != nil {
				return err
			}
			pages := 0
			err := eachCommand(c.Root(), func(c *cobra.Command) error {
				pages++
				return os.WriteFile(filepath.Join(dir, manName(c)+".1"), manPage(c), 0o644)
			})
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(std.out, "Wrote %s to %s.\n", count(pages, "page"), dir)
			return err
		},
	}
}

// eachCommand calls f for a command and for those below it that people are shown, parents
// first. It stops at the first error.
func eachCommand(c *cobra.Command, f func(*cobra.Command) error) error {
	if err := f(c); err != nil {
		return err
	}
	for _, sub := range c.Commands() {
		if !sub.IsAvailableCommand() || sub.Name() == "help" {
			continue
		}
		if err := eachCommand(sub, f); err != nil {
			return err
		}
	}
	return nil
}

// manName is what the page of a command is called: agentls-sessions-show.
func manName(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

// manPage is the page of a command in the macros of man(7), made from what --help shows.
// Hidden flags and commands are not in it.
func manPage(c *cobra.Command) []byte {
	// cobra adds --help when it executes a command, and not before.
	c.InitDefaultHelpFlag()
	var b bytes.Buffer
	fmt.Fprintf(&b, ".TH %q 1 \"\" \"agentls %s\"\n", strings.ToUpper(manName(c)), version)
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", roff(manName(c)), roff(c.Short))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.B %s\n", roff(c.UseLine()))
	about := c.Long
	if about == "" {
		about = c.Short + "."
	}
	// The lines of the text are as they are to be, so roff must not fill them.
	fmt.Fprintf(&b, ".SH DESCRIPTION\n.nf\n%s\n.fi\n", roff(about))
	if c.HasAvailableLocalFlags() {
		b.WriteString(".SH OPTIONS\n")
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if f.Hidden {
				return
			}
			name, usage := pflag.UnquoteUsage(f)
			flag := "--" + f.Name
			if f.Shorthand != "" {
				flag = "-" + f.Shorthand + ", " + flag
			}
			fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", roff(strings.TrimSpace(flag+" "+name)), roff(usage))
		})
	}
	if c.Example != "" {
		fmt.Fprintf(&b, ".SH EXAMPLES\n.nf\n%s\n.fi\n", roff(c.Example))
	}
	var others []string
	if c.HasParent() {
		others = append(others, manName(c.Parent()))
	}
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() && sub.Name() != "help" {
			others = append(others, manName(sub))
		}
	}
	if len(others) > 0 {
		fmt.Fprintf(&b, ".SH SEE ALSO\n%s(1)\n", roff(strings.Join(others, "(1), ")))
	}
	return b.Bytes()
}

// roff escapes a text, so that each of its lines is one of the page and none is read as a
// request to roff.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(strings.TrimRight(text, "\n"))
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	var b strings.Builder
	for _, r := range strings.Join(lines, "\n") {
		if r < utf8.RuneSelf {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, `\[u%04X]`, r) // which every roff takes, whatever the locale
		}
	}
	return b.String()
}
