package agents

import (
	"slices"

	"github.com/agentls/agentls/agents/change"
	"github.com/agentls/agentls/agents/session"
)

// folded is what the steps of a file add up to. Texts are as package change has
// them: nil for no file. It is of one moment, and the caller's.
type folded struct {
	original *string  // what it was before the first step
	baseline *string  // with what a person accepted since
	newest   *string  // as the last step left it
	before   *Content // original, as it was kept
}

// fold adds up what was done to a file: by a run, or by all for "".
//
// What changed it between two steps was the person, and what another run did is
// nothing of this one's: both are moved into the original and the baseline, so
// that they are never shown, or undone, as the run's. A step of which nobody
// knows how it ended is passed over; if it wrote the file, that counts as the
// person's. The error is that of a blob which is lost. Only contents that are compared
// are read.
func (b *fileHistory) fold(h session.FileHistory, run string) (*folded, error) {
	f := &folding{b: b, run: run, h: h, accepted: !h.HasBaseline}
	for _, st := range h.Steps {
		if !st.Complete {
			continue
		}
		if st.Seq > h.BaselineSeq {
			if err := f.accept(); err != nil {
				return nil, err
			}
		}
		if err := f.step(st); err != nil {
			return nil, err
		}
	}
	if err := f.accept(); err != nil {
		return nil, err
	}
	_, err := f.latest()
	return &f.folded, err
}

// folding is a fold on its way. The baseline that a person accepted belongs to a moment
// of the log, BaselineSeq: steps before it led to it.
type folding struct {
	folded
	b        *fileHistory
	run      string // "" for all
	h        session.FileHistory
	begun    bool
	accepted bool // the baseline of h is taken over
	at       side // newest, as it was kept
	read     bool // newest is what at is: only some are ever read
	// What rewinds go back to, the oldest first.
	past []moment
}

// moment is what a fold had come to after a step.
type moment struct {
	original, baseline *string
	at                 side
}

// accept takes over what a person accepted, when the fold has come there.
func (f *folding) accept() error {
	if f.accepted {
		return nil
	}
	f.accepted = true
	content, err := f.b.content(side{sha: f.h.Baseline, buffer: true})
	if err != nil {
		return err
	}
	// What was accepted is of the whole file, and so is this fold: it is taken over as it is.
	if f.run == "" || !f.begun {
		f.baseline = content.text()
	} else {
		newest, err := f.latest()
		if err != nil {
			return err
		}
		// What was not accepted of all may be this run's.
		f.baseline = change.Merge(f.baseline, content.text(), newest)
	}
	if n := len(f.past); n > 0 { // who comes back to this moment finds it accepted
		f.past[n-1].baseline = f.baseline
	}
	return nil
}

// note keeps what the fold has come to.
func (f *folding) note() { f.past = append(f.past, moment{f.original, f.baseline, f.at}) }

// step goes on with one step. Steps come in the order of the log. Where a step does not
// begin with what the one before left, somebody wrote between them.
func (f *folding) step(st session.FileStep) error {
	before, after := before(st.Kept), after(st.Kept)
	if !f.begun {
		content, err := f.b.content(before)
		if err != nil {
			return err
		}
		text := content.text()
		if f.begun = true; !f.accepted || !f.h.HasBaseline {
			f.baseline = text
		}
		f.original, f.newest, f.before, f.at, f.read = text, text, content, before, true
		f.note()
	} else if f.at != before {
		if err := f.foreign(before); err != nil {
			return err
		}
		f.note() // a rewind that this step is may itself be taken back
	}
	switch {
	case st.By == byRewind:
		if err := f.rewind(after); err != nil {
			return err
		}
	case f.run != "" && st.Run != f.run:
		if err := f.foreign(after); err != nil {
			return err
		}
	default:
		f.move(after)
	}
	f.note()
	return nil
}

// byRewind is the step that a rewind made.
const byRewind = "rewind"

// move goes on to what a step left.
// Whether the content has to be read is decided by latest: a fold reads few of the many.
func (f *folding) move(to side) { f.at, f.read = to, f.read && to == f.at }

// latest returns the newest content. It reads the blob the first time.
func (f *folding) latest() (*string, error) {
	if !f.read && f.begun {
		content, err := f.b.content(f.at)
		if err != nil {
			return nil, err
		}
		f.newest, f.read = content.text(), true
	}
	return f.newest, nil
}

// foreign goes on to what somebody else left. Their change is moved into both sides,
// and so is shown as nobody's.
func (f *folding) foreign(to side) error {
	if same, err := f.b.alike(f.at, to); err != nil || same {
		f.move(to)
		return err
	}
	before, err := f.latest()
	if err != nil {
		return err
	}
	f.move(to)
	after, err := f.latest()
	if err != nil {
		return err
	}
	f.original, f.baseline = change.Rebase(f.original, before, after), change.Rebase(f.baseline, before, after)
	return nil
}

// rewind goes back to when the file was the same. The newest moment counts.
func (f *folding) rewind(to side) error {
	for _, m := range slices.Backward(f.past) {
		same, err := f.b.alike(m.at, to)
		if err != nil {
			return err
		}
		if same {
			f.original, f.baseline = m.original, m.baseline
			f.move(to)
			return nil
		}
	}
	// It was never like that: nothing of it is an agent's.
	f.move(to)
	newest, err := f.latest()
	f.original, f.baseline = newest, newest
	return err
}
