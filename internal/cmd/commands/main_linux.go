// Commands counts how often a person is asked about everyday commands: each is
// run once without a wall, in a throw-away world, to learn what it needs (it
// reads, writes, reaches the network, or needs more), and then by a scripted
// model that asks for just that access, through the real binary and an editor
// that counts the questions.
//
//	go run ./internal/cmd/commands                                # every mode and wall
//	go run ./internal/cmd/commands -modes edits -walls landlock   # some
//	go run ./internal/cmd/commands -needs                         # only what each needs
//
// It prints a table of silent, asked and refused commands, of those whose effect
// was the one without a wall; the others are listed with what was different. The
// exit code is 1 where a command was asked about that need not be: with a wall,
// in edits and auto one that needs no network, in ask one that only reads.
//
// A program that is not installed, or would reach the real network, is a stub
// (stubs.txt). Only Linux has walls that are tried here.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"
)

func main() {
	var o options
	flag.StringVar(&o.file, "commands", "../shared/data/commands.txt", "the commands, one a line")
	modes := flag.String("modes", "ask,edits,auto", "modes of the session")
	walls := flag.String("walls", "bubblewrap,landlock,none", "walls")
	flag.BoolVar(&o.needs, "needs", false, "print what each command needs, and try none")
	flag.StringVar(&o.binary, "binary", "", "agentls; built from the source without it")
	flag.Parse()
	o.modes, o.walls = strings.Split(*modes, ","), strings.Split(*walls, ",")
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "commands:", err)
		stop()
		os.Exit(1)
	}
}

// options are the flags.
type options struct {
	file, binary string
	modes, walls []string
	needs        bool
}

// command is one of the list and what it does without a wall.
type command struct {
	text   string
	effect effect
	prints bool // the same each time
}

func run(ctx context.Context, o options, out io.Writer) error {
	data, err := os.ReadFile(o.file)
	if err != nil {
		return err
	}
	tmp, err := os.MkdirTemp("", "commands")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(tmp) }() // a temporary folder
	if tmp, err = filepath.EvalSymlinks(tmp); err != nil {
		return err
	}
	w, err := newWorld(filepath.Join(tmp, "world"))
	if err != nil {
		return err
	}
	defer w.close()
	commands, err := w.learn(ctx, strings.Split(strings.TrimSpace(string(data)), "\n"))
	if err != nil {
		return err
	}
	if o.needs {
		for _, c := range commands {
			fmt.Fprintf(out, "%-8s %d %s\n", c.effect.need(), c.effect.code, c.text)
		}
		return nil
	}
	if o.binary == "" {
		o.binary = filepath.Join(tmp, "agentls")
		build := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-o", o.binary, "./cmd/agentls")
		if said, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("go build: %w\n%s", err, said)
		}
	}
	var all []result
	for _, wall := range o.walls {
		for _, mode := range o.modes {
			results, err := w.ask(ctx, o.binary, wall, mode, commands)
			if err != nil {
				return fmt.Errorf("%s, %s: %w", wall, mode, err)
			}
			all = append(all, results...)
		}
	}
	return print(out, o, all)
}

// learn runs each command twice without a wall.
func (w *world) learn(ctx context.Context, texts []string) ([]command, error) {
	all := make([]command, len(texts))
	for i, text := range texts {
		first, err := w.bare(ctx, text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", text, err)
		}
		second, err := w.bare(ctx, text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", text, err)
		}
		all[i] = command{text, first, first.output == second.output && len(first.output) < 4<<10}
	}
	return all, nil
}

// result is what came of a command with a wall and a mode.
type result struct {
	wall, mode, need, text string
	outcome                string // silent, asked, refused
	differs                string // from the effect without a wall; "" = it does not
}

// unneeded reports whether a person was asked, or the command refused, where it
// should have run.
func (r result) unneeded() bool {
	if r.wall == "none" || r.outcome == "silent" {
		return false
	}
	return r.need == "read" || (r.need == "write" && r.mode != "ask")
}

// print prints the table, and what was different.
func print(out io.Writer, o options, all []result) error {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	head := "wall\tneeds\tcommands"
	for _, mode := range o.modes {
		head += "\t" + mode + ": silent\tasked\trefused\tdifferent"
	}
	fmt.Fprintln(t, head+"\t")
	unneeded := 0
	for _, wall := range o.walls {
		for _, need := range []string{"read", "write", "network", "full"} {
			line, commands := "", 0
			for _, mode := range o.modes {
				counts := make(map[string]int)
				for _, r := range all {
					switch {
					case r.wall != wall || r.mode != mode || r.need != need:
						continue
					case r.differs != "":
						counts["different"]++
					default:
						counts[r.outcome]++
					}
					counts["all"]++
				}
				commands = counts["all"]
				line += fmt.Sprintf("\t%d\t%d\t%d\t%d", counts["silent"], counts["asked"],
					counts["refused"], counts["different"])
			}
			fmt.Fprintf(t, "%s\t%s\t%d%s\t\n", wall, need, commands, line)
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, r := range slices.DeleteFunc(slices.Clone(all), func(r result) bool { return r.differs == "" }) {
		fmt.Fprintf(out, "different: %s, %s, %s: %s: %s\n", r.wall, r.mode, r.need, r.text, r.differs)
	}
	for _, r := range all {
		if r.unneeded() {
			fmt.Fprintf(out, "%s, but only needs %s: %s, %s: %s\n", r.outcome, r.need, r.wall, r.mode, r.text)
			unneeded++
		}
	}
	if unneeded > 0 {
		return errors.New("some commands were not silent that should be")
	}
	return nil
}
