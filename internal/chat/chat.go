// Package chat is the terminal in which a person talks to agents (spec 10): what
// was said and done scrolls by as on any terminal, and below it stand what goes on
// now, the question that is open or else the line that is typed, and the status.
//
// It knows neither daemon nor protocol: [Chat] is told what happens, by methods
// that never block and that any goroutine may call, and it tells what the person
// does by the functions of [Config].
//
// # Order
//
// Everything is shown in the order in which it was told. While a question is open
// nothing else is: it waits until the question has its answer.
//
// # Goroutines
//
// [Chat.Run] has bubbletea's loop, which alone touches the screen (model.go): it
// changes by messages, and tests send it these without a terminal. Everything that a
// chat is told goes into one queue, which the loop takes at most every frame, so a
// stream of small pieces costs a few redrawings; the teller never waits for the
// terminal. Questions are the exception: whoever asks one waits for the person.
//
// # What scrolls by
//
// What was said or done is an item. While it goes on it is drawn anew below; when it is
// whole it is printed once, above, and belongs to the terminal's own scrollback, where
// nothing changes it any more. An item that is whole overtakes those that go on.
//
// TestSEC80AQuestionHasTheScreen holds what a question owns, TestWhatIsRenderedIsSafe
// that no text of a model reaches the terminal as anything but text, TestALongStream
// what a stream costs, and TestItFitsTheScreen that the live part never exceeds the
// screen.
package chat

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/agentls/agentls/agents/activity"
)

// Config says what a chat is told about the world. Its functions must return at
// once: they are called while keys are read.
type Config struct {
	// Where keys are read. For [Chat.Suspend] In and Out must be files.
	In  io.Reader
	Out io.Writer
	// Env is the environment, as os.Environ has it, of which the terminal's abilities
	// are read.
	Env []string
	// Submit takes what the person typed. It has no blanks at its ends and is not
	// empty.
	Submit func(text string)
	// Interrupt is called for Ctrl-C, and for Esc while a run goes on. It is called
	// again for each further Ctrl-C.
	Interrupt func()
	// Leave is called for Ctrl-D on an empty line.
	Leave func()
	// Complete returns what can stand in place of a word that begins with / or @.
	// It is called beside the reading of keys, and may take its time.
	Complete func(word string) []Completion
	// History is what was typed before, the oldest first. Remember keeps what is typed
	// now; nil keeps nothing. The chat does not change it and shows no more of it than
	// it is asked for.
	History  []string
	Remember func(text string)
}

// Completion is what a word can become.
type Completion struct {
	// In place of the word. It ends with / where more may follow, as the path of a folder.
	Text string
	Note string // what it is, in a few words
}

// Status is the line at the bottom. What is empty is left out. All of it is shown as
// text.
type Status struct {
	// Mode is the approval mode, Branch the one that git has checked out, and Sandbox
	// says in words which wall commands run behind.
	Agent, Model, Mode, Branch, Sandbox string
	Trust                               string // of the folder, where it is not trusted
}

// merge takes what is not empty.
func (s *Status) merge(of Status) {
	s.Agent, s.Model, s.Mode = cmp.Or(of.Agent, s.Agent), cmp.Or(of.Model, s.Model), cmp.Or(of.Mode, s.Mode)
	s.Branch, s.Sandbox, s.Trust = cmp.Or(of.Branch, s.Branch), cmp.Or(of.Sandbox, s.Sandbox), cmp.Or(of.Trust, s.Trust)
}

// Event is something that happened in a run.
type Event struct {
	// The id of the run.
	Run string
	// In a run that another one started. Such events change the status and the calls that are
	// shown, and not the conversation.
	Below bool
	Agent string // who it is about
	Body  activity.Body
}

// Chat is one conversation on a terminal. Make it with [New]. Its methods may be called
// from any goroutine, before Run and after it has ended; what comes after is dropped.
type Chat struct {
	config  Config
	program *tea.Program

	mu    sync.Mutex
	queue []tea.Msg     // guarded by mu
	wake  chan struct{} // holds one when there is something in the queue
	done  chan struct{} // closed when the chat has ended

	asking sync.Mutex // held by the question that is open
	// behind is not asking, which stays locked as long as a question is open.
	behind sync.Mutex
	waits  int // questions that wait for asking; guarded by behind
}

// New returns a chat, which [Chat.Run] starts. What it is told before is shown then.
func New(config Config) *Chat {
	c := &Chat{config: config, wake: make(chan struct{}, 1), done: make(chan struct{})}
	return c
}

// frames is how often in a second the screen is drawn at most. The queue is taken about
// as often (frame).
const frames = 120

// Run shows the chat until Quit is called or ctx ends. It may be called once. It
// blocks. The terminal is as before when it returns; the error is ctx's where that
// ended, else the terminal's. Signals are the caller's.
func (c *Chat) Run(ctx context.Context) error {
	defer close(c.done)
	c.program = tea.NewProgram(newModel(c), tea.WithContext(ctx), tea.WithInput(c.config.In),
		tea.WithOutput(c.config.Out),
		tea.WithEnvironment(c.config.Env), tea.WithoutSignalHandler(), tea.WithFPS(frames))
	_, err := c.program.Run()
	if ctx.Err() != nil && errors.Is(err, tea.ErrProgramKilled) {
		return ctx.Err()
	}
	return err
}

// The messages that a chat is told, in the order in which they are taken. noteMsg is a
// line of the chat's own, saidMsg words of the person's, outputMsg what a command
// printed, and fillMsg a text for the input. holdMsg to execMsg are taken also while a
// question has the screen.
type (
	eventMsg  Event
	noteMsg   string
	saidMsg   string
	outputMsg string
	fillMsg   string
	statusMsg Status
	busyMsg   bool
	quitMsg   struct{ last string }
	holdMsg   int // +1 = a question takes the screen, -1 = it gives it back
	openMsg   struct{ d *dialog }
	closeMsg  struct {
		d   *dialog
		how string
	}
	execMsg struct {
		run  func(in, out *os.File) error
		done chan error
	}
	drainMsg struct{ all []tea.Msg } // what has come since the last one
)

// tell queues something. It never blocks.
//
// wake has room for one, which is enough: next takes the whole queue.
func (c *Chat) tell(m tea.Msg) {
	c.mu.Lock()
	c.queue = append(c.queue, m)
	c.mu.Unlock()
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// frame is how often what comes is taken at most: a stream of small pieces is drawn about 120 times
// a second, not once for each.
const frame = 8 * time.Millisecond

// next waits for what comes, and returns it. last is when the queue was taken last. It
// is a command of bubbletea's and runs beside the loop.
// It gives nil when the chat has ended, which bubbletea ignores.
func (c *Chat) next(last time.Time) tea.Cmd {
	return func() tea.Msg {
		select {
		case <-c.wake:
		case <-c.done:
			return nil
		}
		if rest := frame - time.Since(last); rest > 0 {
			time.Sleep(rest)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		all := c.queue
		c.queue = nil
		return drainMsg{all}
	}
}

// Event shows what happened in a run. Those for which [Shows] is false change the
// status only.
func (c *Chat) Event(e Event) { c.tell(eventMsg(e)) }

// Note shows a line about what goes on. One that begins with ERROR or error: is
// coloured as such.
func (c *Chat) Note(text string) { c.tell(noteMsg(text)) }

// Output shows what a command printed, as it stands.
func (c *Chat) Output(text string) { c.tell(outputMsg(text)) }

// ShowInput shows words of the person's that were not typed here.
func (c *Chat) ShowInput(text string) { c.tell(saidMsg(text)) }

// Fill puts a text where the person types.
func (c *Chat) Fill(text string) { c.tell(fillMsg(text)) }

// SetStatus changes the line at the bottom: what is empty stays as it is.
func (c *Chat) SetStatus(s Status) { c.tell(statusMsg(s)) }

// SetBusy says whether a run goes on. The time that is shown counts from then; with
// false everything that went on is whole.
func (c *Chat) SetBusy(on bool) { c.tell(busyMsg(on)) }

// Quit ends the chat when everything is shown; last, if there is any, is its last
// line. Run returns afterwards.
func (c *Chat) Quit(last string) { c.tell(quitMsg{last}) }

// Suspend leaves the terminal to a program, such as the person's editor, until it
// has ended. It waits for the program, which reads and writes the terminal itself, and
// returns its error. It must not be called on the goroutine of Config's functions. run
// gets Config's In and Out; nil for one that is no file.
func (c *Chat) Suspend(run func(in, out *os.File) error) error {
	done := make(chan error, 1)
	c.tell(execMsg{run, done})
	select {
	case err := <-done:
		return err
	case <-c.done:
		return errors.New("the chat has ended")
	}
}
