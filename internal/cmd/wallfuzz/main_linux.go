// Wallfuzz tries to get through the sandbox: it makes commands of the flags of
// the installed programs, of everyday commands and of what has got round walls
// elsewhere, mutates them, and runs each behind the wall, as the tool bash does,
// in a world with links, planted secrets, a folder outside and sockets that
// nobody may reach. What is checked is the side effect: a write outside the
// access, a secret that is printed, a connection (spec 11.2, SEC-46 and
// SEC-108).
//
//	go run ./internal/cmd/wallfuzz                    # 100,000 commands
//	go run ./internal/cmd/wallfuzz -for 60s -seed 7   # for a minute
//	go run ./internal/cmd/wallfuzz -wall landlock     # another wall than the best
//	go run ./internal/cmd/wallfuzz -show 20           # prints commands and runs none
//
// First it proves that it sees harm: a few commands run without a wall, in a
// throw-away world, and then behind it. The exit code is 0 when nothing got through. Only Linux has
// walls that are tried here.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/sourcegraph/conc/pool"

	"github.com/agentls/agentls/internal/sandbox"
)

func main() {
	var o options
	flag.Int64Var(&o.n, "n", 100_000, "how many commands; 0 = as many as -for allows")
	flag.Uint64Var(&o.seed, "seed", 1, "the same seed, the same commands")
	flag.DurationVar(&o.limit, "for", 0, "how long at most; 0 = until -n are done")
	flag.IntVar(&o.workers, "p", 2*runtime.GOMAXPROCS(0), "how many at once")
	flag.StringVar(&o.wall, "wall", "", "bubblewrap or landlock; the best that works without it")
	flag.StringVar(&o.corpus, "commands", "../shared/data/commands.txt", "a file of everyday commands, one a line")
	flag.IntVar(&o.programs, "programs", 0, "of how many installed programs the flags are used; 0 = all")
	flag.StringVar(&o.try, "try", "", "run this command alone, with each access, and print what came of it")
	show := flag.Int("show", 0, "print so many commands and run none")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if *show > 0 {
		m := o.maker(0)
		for _, name := range installed() {
			m.programs = append(m.programs, program{name: name})
		}
		for range *show {
			fmt.Println(m.Next())
		}
		return
	}
	err := asOrdinaryUser(ctx, func() error { return run(ctx, o, os.Stdout) })
	if err != nil {
		fmt.Fprintln(os.Stderr, "wallfuzz:", err)
		os.Exit(1)
	}
}

// ordinary is a user that nobody is: what gets out harms no process and no file
// of others. Root runs the program again as this one.
const ordinary = 61234

// asOrdinaryUser does something as a user who is not root. Where this process is
// root's, a copy of the program does it.
func asOrdinaryUser(ctx context.Context, do func() error) error {
	if os.Geteuid() != 0 {
		return do()
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	data, err := os.ReadFile(self)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "wallfuzz")
	if err != nil {
		return err
	}
	defer func() { _ = remove(dir) }() // a temporary folder
	program := filepath.Join(dir, "wallfuzz")
	if err := errors.Join(os.WriteFile(program, data, 0o755), os.Chmod(dir, 0o755)); err != nil {
		return err
	}
	own := filepath.Join(dir, "tmp")
	if err := errors.Join(os.Mkdir(own, 0o700), os.Chown(own, ordinary, ordinary)); err != nil {
		return err
	}
	c := exec.CommandContext(ctx, program, os.Args[1:]...)
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
	c.Env = append(os.Environ(), "TMPDIR="+own, "HOME="+own)
	c.Stdout, c.Stderr = os.Stdout, os.Stderr
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: ordinary, Gid: ordinary}}
	return c.Run()
}

// options are the flags.
type options struct {
	n        int64
	seed     uint64
	limit    time.Duration
	workers  int
	wall     string
	corpus   string
	programs int // so many programs are asked for their flags; 0 = all that are installed
	try      string
}

// maker returns the nth maker of commands.
func (o options) maker(nth uint64) *maker {
	return &maker{rng: rand.New(rand.NewPCG(o.seed, nth)), corpus: readCorpus(o.corpus)}
}

// tally is what all workers found.
type tally struct {
	made, ran atomic.Int64
	mu        sync.Mutex
	found     []violation
}

// batch is how many commands share a sandbox.
const batch = 40

// run fuzzes and prints the numbers. The error says that something got through,
// or what kept it from trying.
func run(ctx context.Context, o options, out io.Writer) error {
	if o.n == 0 && o.limit == 0 {
		return errors.New("give -n or -for")
	}
	if o.n == 0 {
		o.n = math.MaxInt64
	}
	tmp, err := os.MkdirTemp("", "wallfuzz")
	if err != nil {
		return err
	}
	defer func() { _ = remove(tmp) }() // a temporary folder
	if tmp, err = filepath.EvalSymlinks(tmp); err != nil {
		return err
	}
	seen, err := control(ctx, filepath.Join(tmp, "control"))
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "control: without a wall %d commands of %d did harm\n", seen, len(controls))
	wall, err := newWall(o.wall)
	if err != nil {
		return err
	}
	if o.try != "" {
		return tryOne(ctx, filepath.Join(tmp, "try"), wall, o.try, out)
	}
	held, err := hold(ctx, filepath.Join(tmp, "held"), wall)
	if err != nil {
		return err
	}
	programs, err := o.learn(ctx, filepath.Join(tmp, "learn"), wall)
	if err != nil {
		return err
	}
	began := time.Now()
	if o.limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.limit)
		defer cancel()
	}
	t := tally{found: held}
	workers := pool.New().WithErrors()
	for i := range max(o.workers, 1) {
		workers.Go(func() error {
			m := o.maker(uint64(i))
			m.programs = programs
			return t.work(ctx, o, m, filepath.Join(tmp, strconv.Itoa(i)), wall)
		})
	}
	err = workers.Wait()
	for _, v := range t.found {
		fmt.Fprint(out, v)
	}
	fmt.Fprintf(out, "%s: %d commands of %d programs: %d violations (seed %d, %s)\n",
		wall.Wall, t.ran.Load(), len(programs), len(t.found), o.seed, time.Since(began).Round(time.Second))
	if len(t.found) > 0 {
		err = errors.Join(err, fmt.Errorf("%d violations", len(t.found)))
	}
	return err
}

// learn asks the installed programs for their flags, behind the wall.
func (o options) learn(ctx context.Context, base string, wall *wall) ([]program, error) {
	w, err := newWorld(base, wall.open)
	if err != nil {
		return nil, err
	}
	defer w.close()
	names := installed()
	if o.programs > 0 {
		rng := rand.New(rand.NewPCG(o.seed, math.MaxUint64))
		rng.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		names = names[:min(o.programs, len(names))]
	}
	return learn(ctx, names, func(ctx context.Context, commands []string) ([]string, error) {
		outputs := make([]string, len(commands))
		workers := pool.New().WithErrors().WithMaxGoroutines(o.workers)
		for start := 0; start < len(commands); start += batch {
			workers.Go(func() error {
				part := commands[start:min(start+batch, len(commands))]
				samples := make([]sample, len(part))
				for i, text := range part {
					samples[i].text = text
				}
				err := runAll(ctx, w, wall.run, sandbox.Read, samples)
				for i, s := range samples {
					outputs[start+i] = string(s.output)
				}
				return err
			})
		}
		return outputs, workers.Wait()
	})
}

// work tries commands until there are enough, or the time is over.
func (t *tally) work(ctx context.Context, o options, m *maker, base string, wall *wall) error {
	w, err := newWorld(base, wall.open)
	if err != nil {
		return err
	}
	defer w.close()
	for i := 0; ctx.Err() == nil; i++ {
		first := t.made.Add(batch) - batch
		texts := make([]string, min(batch, max(o.n-first, 0)))
		if len(texts) == 0 {
			return nil
		}
		for i := range texts {
			texts[i] = m.Next()
		}
		found, err := try(ctx, w, wall.run, wall.accesses[i%len(wall.accesses)], texts)
		if ctx.Err() != nil {
			return nil // what was under way when the time was over says nothing
		}
		if err != nil {
			return err
		}
		t.ran.Add(int64(len(texts)))
		t.mu.Lock()
		t.found = append(t.found, found...)
		t.mu.Unlock()
	}
	return nil
}

// tryOne prints what a command does with each access.
func tryOne(ctx context.Context, base string, wall *wall, text string, out io.Writer) error {
	w, err := newWorld(base, wall.open)
	if err != nil {
		return err
	}
	defer w.close()
	for _, access := range wall.accesses[:min(len(wall.accesses), 4)] {
		samples := []sample{{text: text}}
		if err := runAll(ctx, w, wall.run, access, samples); err != nil {
			return err
		}
		fmt.Fprintf(out, "%s:\n%s", access, samples[0].output)
		found, err := try(ctx, w, wall.run, access, []string{text})
		if err != nil {
			return err
		}
		fmt.Fprintln(out, found)
	}
	return nil
}
