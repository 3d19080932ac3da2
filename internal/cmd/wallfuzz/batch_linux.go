package main

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/agentls/agentls/internal/sandbox"
)

// runner runs a script of bash in a world, with an access, and returns what it
// printed. The exit code does not matter.
type runner func(ctx context.Context, w *world, access sandbox.Access, script string) ([]byte, error)

// sample is a command that was run.
type sample struct {
	text   string
	output []byte
	done   bool // it ended, or its time did
}

// mark stands in a line of its own before the output of each command, with the
// command's number, and once at the end.
const mark = "=== wallfuzz "

// script runs commands one after the other, each for as long as the world lets it, and
// prints the beginning of what each printed.
func script(w *world, samples []sample) string {
	var b strings.Builder
	b.WriteString("ulimit -c 0 -f 4096 -u 400 2>/dev/null\no=$(mktemp)\n")
	for i, s := range samples {
		fmt.Fprintf(&b, "echo; echo '%s%d'\n", mark, i)
		fmt.Fprintf(&b, "timeout -s KILL %d bash --noprofile --norc -c %s >$o 2>&1 </dev/null\nhead -c 65536 $o\n",
			int(w.patience.Seconds()), quote(w.told.Replace(s.text)))
	}
	fmt.Fprintf(&b, "echo; echo '%send'\n", mark)
	return b.String()
}

// runAll runs commands with one access, many in one sandbox. A command that ends
// the script that runs it costs those after it another sandbox.
func runAll(ctx context.Context, w *world, run runner, access sandbox.Access, samples []sample) error {
	for rest := samples; len(rest) > 0; {
		output, err := run(ctx, w, access, script(w, rest))
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return err
		}
		n := split(output, rest)
		if n == 0 {
			return fmt.Errorf("the sandbox ran nothing of %q and said %.500q", rest[0].text, output)
		}
		rest = rest[n:]
	}
	return nil
}

// split gives each command what it printed, and returns how many were started.
func split(output []byte, samples []sample) int {
	started := 0
	for part := range bytes.SplitSeq(output, []byte("\n"+mark)) {
		number, text, _ := bytes.Cut(part, []byte("\n"))
		i, err := strconv.Atoi(string(number))
		if err != nil || i != started || i >= len(samples) {
			continue
		}
		samples[i].output, samples[i].done = text, true
		started++
	}
	return started
}

// violation is a command that did what its access does not let it do.
type violation struct {
	access sandbox.Access
	texts  []string // one, or those of which one did it
	harm   []string
}

func (v violation) String() string {
	return fmt.Sprintf("VIOLATION with access %s:\n  %s\n%s\n", v.access, strings.Join(v.harm, "\n  "),
		strings.Join(v.texts, "\n"))
}

// try runs commands and returns what they did that they may not do.
func try(ctx context.Context, w *world, run runner, access sandbox.Access, texts []string) ([]violation, error) {
	samples := make([]sample, len(texts))
	for i, text := range texts {
		samples[i].text = text
	}
	if err := runAll(ctx, w, run, access, samples); err != nil {
		return nil, err
	}
	var found []violation
	for _, s := range samples {
		if tells(s.output) {
			found = append(found, violation{access, []string{s.text},
				[]string{fmt.Sprintf("it printed a secret: %.2000q", s.output)}})
		}
	}
	harm, err := w.touched(access != sandbox.Read)
	if err != nil {
		return nil, err
	}
	harm = append(harm, w.reached()...)
	if access != sandbox.Read || len(harm) > 0 {
		if err := w.furnish(); err != nil {
			return nil, err
		}
	}
	if len(harm) == 0 {
		return found, nil
	}
	if len(texts) == 1 {
		return append(found, violation{access, texts, harm}), nil
	}
	alone := len(found)
	for _, text := range texts { // which of them was it?
		more, err := try(ctx, w, run, access, []string{text})
		if err != nil {
			return nil, err
		}
		found = append(found, more...)
	}
	if len(found) == alone {
		found = append(found, violation{access, slices.Clone(texts), harm})
	}
	return found, nil
}
