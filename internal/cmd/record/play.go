//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"time"

	"github.com/sourcegraph/conc"
	"golang.org/x/sys/unix"

	"github.com/agentls/agentls/internal/modelserver"
)

// scene is something that a person does at a terminal.
type scene struct {
	name       string
	cols, rows int
	light      bool // the terminal's theme
	files      map[string]string
	trusted    bool   // the folder is, before the scene begins
	script     string // of the model
	steps      []step
}

// step is one thing that happens in a scene.
type step func(p *player) error

// recording is a scene that was played.
type recording struct {
	scene  scene
	events []event
	stills []still
	lines  map[string]bool // that stood on the screen at some time
	clock  time.Duration
}

// event is what the terminal was sent at a moment.
type event struct {
	at   time.Duration
	data []byte
}

// player plays a scene.
type player struct {
	recording
	ctx    context.Context
	tty    *os.File
	output chan []byte // what the program writes; closed when it has ended
	screen *screen
	model  *modelserver.Server
	folder string

	work    conc.WaitGroup
	over    chan struct{} // closed when nobody takes the output any more
	program *exec.Cmd
	began   time.Time // when the model's clock was 0
	started time.Time // when the program was
}

// How long things take in a recording.
const (
	keyTime  = 55 * time.Millisecond
	readTime = 1400 * time.Millisecond
	most     = 250 * time.Millisecond // that passes between two outputs at most
	patience = time.Minute            // for what a scene waits for, on a busy machine
)

// record plays a scene with a built binary.
func record(ctx context.Context, s scene, binary string) (*recording, error) {
	p, end, err := begin(ctx, s, binary)
	if err != nil {
		return nil, err
	}
	err = p.play()
	return &p.recording, errors.Join(err, end())
}

// begin starts a built binary and the model for a scene. end ends both, and says
// whether the model was asked what its script says.
func begin(ctx context.Context, s scene, binary string) (p *player, end func() error, err error) {
	script, err := modelserver.Parse(s.script)
	if err != nil {
		return nil, nil, err
	}
	home, err := makeHome()
	if err != nil {
		return nil, nil, err
	}
	folder := filepath.Join(home, "shop")
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	p = &player{
		recording: recording{scene: s, lines: make(map[string]bool)}, ctx: ctx, folder: folder,
		screen: newScreen(s.cols, s.rows), began: time.Now(),
		output: make(chan []byte, 64), over: make(chan struct{}),
	}
	p.model = modelserver.New(modelserver.Config{Script: script, Now: time.Now})
	web := &http.Server{Handler: p.model}
	p.work.Go(func() { _ = web.Serve(listener) }) // until it is closed
	end = func() error {
		if p.program != nil {
			_ = p.program.Process.Kill() // where it has not ended
			_ = p.tty.Close()
			_ = p.program.Wait() // how it was ended is no error
		}
		_, _ = web.Close(), os.RemoveAll(home)
		close(p.over)
		p.work.Wait()
		if failures := p.model.Failures(); len(failures) > 0 {
			return fmt.Errorf("the model was not asked what its script says: %s", strings.Join(failures, "\n"))
		}
		return nil
	}
	env := []string{
		"HOME=" + home, "PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8", "GEMINI_API_KEY=scripted",
		"TERM=screen-256color", // it repeats no characters by number, which the emulation does not know
		"GOOGLE_GEMINI_BASE_URL=http://" + listener.Addr().String(),
	}
	if err = lay(ctx, folder, s.files); err == nil && s.trusted {
		c := exec.CommandContext(ctx, binary, "trust")
		c.Dir, c.Env = folder, env
		var out []byte
		if out, err = c.CombinedOutput(); err != nil {
			err = fmt.Errorf("%w\n%s", err, out)
		}
	}
	if err == nil {
		c := exec.Command(binary)
		c.Dir, c.Env = folder, env
		err = p.start(c)
	}
	if err != nil {
		return nil, nil, errors.Join(err, end())
	}
	return p, end, nil
}

// makeHome makes a home. Its name is as long each time, since the chat shows it and
// breaks lines by it.
func makeHome() (string, error) {
	for {
		home := fmt.Sprintf("/tmp/ada-%04d", rand.IntN(10_000))
		if err := os.Mkdir(home, 0o700); !errors.Is(err, os.ErrExist) {
			return home, err
		}
	}
}

// lay makes the folder of a scene, a repository of git.
func lay(ctx context.Context, folder string, files map[string]string) error {
	for name, text := range files {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return exec.CommandContext(ctx, "git", "init", "-q", "-b", "main", folder).Run()
}

// start starts a program at a terminal of its own.
func (p *player) start(c *exec.Cmd) error {
	tty, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return err
	}
	p.tty = tty
	fd := int(tty.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		return err
	}
	size := unix.Winsize{Row: uint16(p.scene.rows), Col: uint16(p.scene.cols)}
	if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &size); err != nil {
		return err
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		return err
	}
	side, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return err
	}
	defer side.Close()
	c.Stdin, c.Stdout, c.Stderr = side, side, side
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	p.started = time.Now()
	if err := c.Start(); err != nil {
		return err
	}
	p.program = c
	p.work.Go(func() {
		defer close(p.output)
		for {
			data := make([]byte, 64<<10)
			n, err := p.tty.Read(data)
			if err != nil {
				return // the program has ended
			}
			select {
			case p.output <- data[:n]:
			case <-p.over:
				return
			}
		}
	})
	return nil
}

func (p *player) play() error {
	p.show([]byte("\x1b[1;32m$\x1b[m agentls\r\n"))
	for n, do := range p.scene.steps {
		if err := do(p); err != nil {
			return fmt.Errorf("step %d: %w", n+1, err)
		}
	}
	return nil
}

// show takes what the terminal is sent.
func (p *player) show(data []byte) {
	p.events = append(p.events, event{p.clock, data})
	p.screen.write(data)
	for line := range strings.Lines(p.screen.text()) {
		p.lines[line] = true
	}
}

// next takes what the program writes next, and reports whether something came.
func (p *player) next(timeout <-chan time.Time) error {
	began := time.Now()
	select {
	case data, ok := <-p.output:
		if !ok {
			return errEnded
		}
		p.clock += min(time.Since(began), most)
		p.show(data)
		return nil
	case <-timeout:
		return errors.New("nothing came")
	case <-p.ctx.Done():
		return p.ctx.Err()
	}
}

// until waits for a screen.
func (p *player) until(what string, holds func(text string) bool) error {
	timeout := time.After(patience)
	for !holds(p.screen.text()) {
		if err := p.next(timeout); err != nil {
			return fmt.Errorf("%w while this was awaited: %s\n%s", err, what, p.screen.text())
		}
	}
	return nil
}

// sees waits until a text stands on the screen.
func sees(text string) step {
	return func(p *player) error {
		return p.until(text, func(screen string) bool { return strings.Contains(screen, text) })
	}
}

// misses waits until a text does not stand on the screen any more.
func misses(text string) step {
	return func(p *player) error {
		return p.until("no "+text, func(screen string) bool { return !strings.Contains(screen, text) })
	}
}

// idle waits until no run goes on.
var idle = misses("Esc stops it")

// ends waits until the program has ended.
func ends(p *player) error {
	for timeout := time.After(patience); ; {
		if err := p.next(timeout); errors.Is(err, errEnded) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

var errEnded = errors.New("the program has ended")

// types types a text, and waits for each letter to be shown.
func types(text string) step {
	return func(p *player) error {
		for _, r := range text {
			before := p.screen.cells()
			if _, err := p.tty.WriteString(string(r)); err != nil {
				return err
			}
			p.clock += keyTime
			changed := func(string) bool {
				return !reflect.DeepEqual(p.screen.cells(),
					before)
			} // a blank moves the cursor
			if err := p.until("what was typed", changed); err != nil {
				return err
			}
		}
		return nil
	}
}

// The keys that have no letter.
const (
	enter  = "\r"
	escape = "\x1b"
	down   = "\x1b[B"
	ctrlC  = "\x03"
	ctrlD  = "\x04"
)

// presses sends keys at once, after the person has thought.
func presses(keys string) step {
	return func(p *player) error {
		p.clock += 4 * keyTime
		_, err := p.tty.WriteString(keys)
		return err
	}
}

// finds looks whether a file has a text, or has it not.
func finds(name, text string, want bool) step {
	return func(p *player) error {
		data, err := os.ReadFile(filepath.Join(p.folder, name))
		if err == nil && strings.Contains(string(data), text) != want {
			err = fmt.Errorf("%q in %s: not %v\n%s", text, name, want, data)
		}
		return err
	}
}

// opens lets the model say more.
func opens(gate string) step {
	return func(p *player) error {
		p.model.Open(gate)
		return nil
	}
}

// reads lets the person read, and keeps the screen as a still.
func reads(name string) step {
	return func(p *player) error {
		p.stills = append(p.stills, p.screen.still(name, p.clock))
		p.clock += readTime
		return nil
	}
}

// cast is a recording as asciinema keeps it (asciicast v2).
func (r *recording) cast() []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(map[string]any{ // of a buffer
		"version": 2, "width": r.scene.cols, "height": r.scene.rows, "title": "agentls: " + r.scene.name,
		"env": map[string]string{"TERM": "screen-256color"},
	})
	var rest []byte
	for _, one := range r.events {
		whole, tail := cutRunes(append(rest, one.data...))
		rest = tail
		_ = e.Encode([]any{one.at.Round(time.Millisecond).Seconds(), "o", string(whole)})
	}
	return b.Bytes()
}
