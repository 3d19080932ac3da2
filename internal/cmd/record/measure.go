//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// How much is measured.
const (
	starts  = 21
	answers = 21
	chunks  = 20_000
	// The work of an hour: a turn each six seconds, ten to a request, each of which reads
	// a file or changes one, and says something.
	requests, turns = 60, 10
)

// measure prints how long the chat takes from its start to the prompt, what it adds to
// the model's time until the first character of an answer, how far it is behind at the
// end of a long stream, and how much memory it takes after the work of an hour.
func measure(ctx context.Context, binary string) error {
	for _, m := range []struct {
		what string
		of   func(ctx context.Context, binary string) (string, error)
	}{
		{"start → prompt", measureStart},
		{"Enter → first character, over the model's", measureAnswer},
		{fmt.Sprintf("behind at the end of %d chunks", chunks), measureStream},
		{fmt.Sprintf("memory after %d requests of %d turns", requests, turns), measureMemory},
	} {
		result, err := m.of(ctx, binary)
		if err != nil {
			return fmt.Errorf("%s: %w", m.what, err)
		}
		fmt.Printf("%-46s %s\n", m.what, result)
	}
	return nil
}

// session begins a scene of a script, has the prompt shown, and ends it afterwards.
func session(ctx context.Context, binary, script string, files map[string]string, do func(p *player) error) error {
	p, end, err := begin(ctx, scene{cols: 100, rows: 30, files: files, trusted: true, script: script}, binary)
	if err != nil {
		return err
	}
	return errors.Join(do(p), end())
}

// median shows the middle of some durations, the shortest and the longest.
func median(all []time.Duration) string {
	slices.Sort(all)
	ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
	return fmt.Sprintf("%.1f ms (%.1f to %.1f)", ms(all[len(all)/2]), ms(all[0]), ms(all[len(all)-1]))
}

func measureStart(ctx context.Context, binary string) (string, error) {
	var all, used []time.Duration
	for range starts {
		err := session(ctx, binary, "> nothing\n< nothing\n", project, func(p *player) error {
			err := sees("›")(p)
			all = append(all, time.Since(p.started))
			used = append(used, p.cpu())
			return err
		})
		if err != nil {
			return "", err
		}
	}
	return median(all) + "; of the processor " + median(used), nil
}

func measureAnswer(ctx context.Context, binary string) (string, error) {
	var all []time.Duration
	script := strings.Builder{}
	for n := range answers {
		fmt.Fprintf(&script, "> question%d\n< answer%d\n\n", n, n)
	}
	err := session(ctx, binary, script.String(), project, func(p *player) error {
		if err := sees("main ·")(p); err != nil {
			return err
		}
		for n := range answers {
			if err := types(fmt.Sprintf("question%d", n))(p); err != nil {
				return err
			}
			began := time.Now()
			if _, err := p.tty.WriteString(enter); err != nil {
				return err
			}
			if err := sees(fmt.Sprintf("answer%d", n))(p); err != nil {
				return err
			}
			took := time.Since(began)
			if err := idle(p); err != nil {
				return err
			}
			r := p.model.Requests()[n]
			all = append(all, took-(r.Answered-r.Received))
		}
		return nil
	})
	return median(all), err
}

func measureStream(ctx context.Context, binary string) (result string, err error) {
	script := fmt.Sprintf("> begin\n<repeat %d word {} of it,\\s\n< and the end\n", chunks)
	err = session(ctx, binary, script, project, func(p *player) error {
		if err := errors.Join(sees("main ·")(p), types("begin")(p)); err != nil {
			return err
		}
		used := p.cpu()
		if err := errors.Join(presses(enter)(p), sees("and the end")(p)); err != nil {
			return err
		}
		shown := time.Since(p.began)
		used = p.cpu() - used
		if err := idle(p); err != nil {
			return err
		}
		r := p.model.Requests()[0]
		result = fmt.Sprintf("%.1f ms; the model took %.0f ms, the chat %.0f ms of the processor",
			float64(shown-r.Answered)/1e6, float64(r.Answered-r.Received)/1e6, float64(used)/1e6)
		return nil
	})
	return result, err
}

func measureMemory(ctx context.Context, binary string) (result string, err error) {
	var script strings.Builder
	for n := range requests {
		fmt.Fprintf(&script, "> request%d\n", n)
		for turn := range turns - 1 {
			fmt.Fprintf(&script, "< %s\\n\\n```go\\nfunc f%d() int { return %d }\\n```\\n\\n",
				words(n*turns+turn), turn, n)
			if turn%3 == 2 {
				notes := fmt.Sprintf("request %d, turn %d\n", n, turn) + strings.Repeat("A line.\n", 40)
				fmt.Fprintf(&script, "\n<call write_file {\"file_path\": \"notes.md\", \"content\": %q}\n", notes)
				script.WriteString("\n>result write_file\n")
			} else {
				fmt.Fprintf(&script, "\n<call read_file {\"file_path\": \"part%d.go\"}\n\n>result read_file\n",
					n*turns+turn)
			}
		}
		fmt.Fprintf(&script, "< done%d\n\n", n)
	}
	files := make(map[string]string)
	for n := range requests * turns {
		head := fmt.Sprintf("package stats\n\n// F%d is a part.\n", n)
		files[fmt.Sprintf("part%d.go", n)] = head + strings.Repeat("// A line that is read.\n", 120)
	}
	err = session(ctx, binary, script.String(), files, func(p *player) error {
		if err := errors.Join(sees("main ·")(p), types("/mode auto")(p), presses(enter)(p),
			sees("mode auto")(p)); err != nil {
			return err
		}
		for n := range requests {
			ask, done := fmt.Sprintf("request%d", n), fmt.Sprintf("done%d", n)
			if err := errors.Join(types(ask)(p), presses(enter)(p), sees(done)(p), idle(p)); err != nil {
				return err
			}
			p.events = nil
		}
		result, err = memoryOf(p.program.Process.Pid)
		return err
	})
	return result, err
}

// words is a text of some lines, another one for each number: who repeats itself is
// stopped.
func words(n int) string {
	var b strings.Builder
	some := []string{"read", "loop", "value", "**case**", "`field`", "test", "range"}
	for i := range 40 {
		fmt.Fprintf(&b, "%s%d ", some[(n*7+i*i)%len(some)], n*40+i)
	}
	return b.String()
}

// cpu is how long the program has used the processor: unlike the time on a clock, it
// says the same on a busy machine.
func (p *player) cpu() time.Duration {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.program.Process.Pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(data), ") ")
	var ticks int
	for _, field := range strings.Fields(rest)[11:13] { // in user and in kernel mode
		n, _ := strconv.Atoi(field)
		ticks += n
	}
	return time.Duration(ticks) * time.Second / 100
}

// memoryOf reads how much memory a process takes, and took at most.
func memoryOf(pid int) (string, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return "", err
	}
	sizes := make(map[string]float64)
	for line := range strings.Lines(string(data)) {
		name, value, _ := strings.Cut(line, ":")
		if kib, err := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(value), " kB")); err == nil {
			sizes[name] = float64(kib) / 1024
		}
	}
	const form = "%.1f MiB resident (%.1f of them its own, %.1f at most)"
	return fmt.Sprintf(form, sizes["VmRSS"], sizes["RssAnon"], sizes["VmHWM"]), nil
}
