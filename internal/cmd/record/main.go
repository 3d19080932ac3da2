//go:build linux

// Record plays scenes in the chat and records what the terminal shows: the real
// binary at a real pseudo-terminal, before a scripted model on loopback.
//
//	go run ./internal/cmd/record                # all scenes, into the folder recordings
//	go run ./internal/cmd/record -only task     # those whose names contain it
//	go run ./internal/cmd/record -readme        # writes docs/terminal.svg
//	go run ./internal/cmd/record -measure       # how quick the chat is, and how large
//
// Of each scene it writes NAME.cast, which `asciinema play` shows, and an SVG of each
// moment that the scene marks. The time in a recording is not the machine's: keys are
// typed, and texts stand long enough to be read, at a person's pace.
//
// The exit code is 0 when all scenes were played, 1 when one was not: what it waited
// for was not shown.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"

	"github.com/agentls/agentls/internal/cmd/documents"
)

// picture is the picture of the README, from the module's folder.
const picture = "docs/terminal.svg"

func main() {
	out := flag.String("out", "recordings", "the folder for the recordings")
	only := flag.String("only", "", "a part of the names of the scenes to play")
	readme := flag.Bool("readme", false, "write the README's picture, "+picture)
	measures := flag.Bool("measure", false, "measure instead: prompt, first character, a long stream, memory")
	binary := flag.String("binary", "", "a built agentls; without it, this checkout's")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, options{*out, *only, *binary, *readme, *measures})
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "record:", err)
		os.Exit(1)
	}
}

// options are the flags.
type options struct {
	out, only, binary string
	readme, measures  bool
}

func run(ctx context.Context, o options) error {
	root, err := documents.FindRoot()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "agentls-record-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if o.binary == "" {
		if o.binary, err = build(ctx, root, dir); err != nil {
			return err
		}
	}
	if o.measures {
		return measure(ctx, o.binary)
	}
	if o.readme {
		r, err := record(ctx, scenes()[readmeScene], o.binary)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(root, picture), r.film(), 0o644)
	}
	if err := os.MkdirAll(o.out, 0o755); err != nil {
		return err
	}
	for _, s := range scenes() {
		if !strings.Contains(s.name, o.only) {
			continue
		}
		r, err := record(ctx, s, o.binary)
		if err == nil {
			err = r.write(o.out)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		fmt.Printf("%s: %d stills, %.0f s\n", s.name, len(r.stills), r.clock.Seconds())
	}
	return nil
}

// build builds the binary of a checkout, as it is shipped.
func build(ctx context.Context, root, dir string) (string, error) {
	binary := filepath.Join(dir, "agentls")
	c := exec.CommandContext(ctx, "go", "build", "-ldflags=-s -w", "-o", binary, "./cmd/agentls")
	c.Dir, c.Stderr = root, os.Stderr
	return binary, c.Run()
}

// write writes a recording and its stills.
func (r *recording) write(dir string) error {
	if err := os.WriteFile(filepath.Join(dir, r.scene.name+".cast"), r.cast(), 0o644); err != nil {
		return err
	}
	for n, s := range r.stills {
		name := fmt.Sprintf("%s-%d-%s.svg", r.scene.name, n+1, s.name)
		if err := os.WriteFile(filepath.Join(dir, name), s.svg(r.scene.light), 0o644); err != nil {
			return err
		}
	}
	return nil
}
