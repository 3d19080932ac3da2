package guard

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/sandbox"
)

// Sandbox says what confines the command of a call. The zero Sandbox is none.
type Sandbox struct {
	// The wall of this machine; "" is none.
	Wall     sandbox.Wall
	Required bool // the person's settings: commands are refused where there is no wall
	Exposed  bool // the workspace has credential files that this wall cannot hide
}

// SandboxOf returns what a sandbox is to the gate; nil is none.
//
// It looks at the machine at the first call, which runs commands; later ones are
// cheap.
func SandboxOf(s *sandbox.Sandbox) Sandbox {
	if s == nil {
		return Sandbox{}
	}
	wall, _ := s.Wall()
	return Sandbox{Wall: wall, Required: s.Mode == sandbox.Require}
}

// Confines reports whether commands run behind a wall.
func (s Sandbox) Confines() bool { return s.Wall != "" && s.Wall != sandbox.None }

// command is what the gate knows of a call that runs a command, besides its plan.
// The zero command is of a call that runs none.
type command struct {
	runs   bool
	walled bool   // the wall keeps it to its access
	lets   string // what the command may do, in words
	asks   bool   // it asks in every mode in which it is not refused
	leaves bool   // it may send something off this machine
	each   string // why answers that hold longer do not count; "" = they do
}

// command looks at the command of a request.
// It is the zero command for a call that runs none. Where no wall stands, the
// call asks whatever its access says: access is what a wall enforces.
func (r Request) command() command {
	p := r.Plan
	if p.Access == "" {
		return command{}
	}
	c := command{runs: true, walled: r.Sandbox.Confines() && p.Access != sandbox.Full}
	c.leaves = !c.walled || p.Access.Connects()
	switch {
	case !r.Sandbox.Confines():
		c.lets, c.asks = "no sandbox here: it can do what you can", true
	case p.Access == sandbox.Full:
		c.lets = "runs without a sandbox"
	case p.Access == sandbox.Network:
		c.lets = fmt.Sprintf("may change files in %s and reach the network", r.writable())
	case p.Access == sandbox.AnyHost:
		c.lets = fmt.Sprintf("may change files in %s and reach any host, also this machine and its network", r.writable())
	case p.Access == sandbox.Write:
		c.lets = fmt.Sprintf("may change files in %s", r.writable())
	default:
		c.lets = "reads files"
	}
	if c.walled && r.Sandbox.Exposed {
		c.asks = true
		c.lets += "; this sandbox cannot hide the credential files of the workspace"
	}
	if r.NoUndo != "" && p.Access == sandbox.Write {
		c.asks, c.each = true, "what it changes cannot be undone here: "+r.NoUndo
		c.lets += "; " + c.each
	}
	return c
}

// maxNamed is how many folders a question names; of more it says how many.
const maxNamed = 4

// writable names the folders that a command may change with access write.
func (r Request) writable() string {
	if len(r.Writable) < 2 {
		return tool.Name(r.Folder)
	}
	var names []string
	for _, folder := range r.Writable[:min(len(r.Writable), maxNamed)] {
		names = append(names, tool.Name(folder))
	}
	last := len(names) - 1
	if more := len(r.Writable) - maxNamed; more > 0 {
		return fmt.Sprintf("%s and %s", strings.Join(names, ", "), tool.Count(more, "more folder", "more folders"))
	}
	return fmt.Sprintf("%s and %s", strings.Join(names[:last], ", "), names[last])
}

// Risk returns the tier of a plan here. A command that nothing confines is taken
// as one that writes, whatever access it asks for, so that what raises a tier
// raises this one; of its own result it changes nothing.
// So the same command has the same tier for the gate, the question and the log.
func (s Sandbox) Risk(p *tool.Plan) tool.Risk {
	unconfined := p.Access != "" && (!s.Confines() || p.Access == sandbox.Full)
	if unconfined && (p.Risk == tool.Safe || p.Risk == tool.Low) {
		return p.Risk + tool.Medium - tool.Safe
	}
	return p.Risk
}

// verdict looks the mode's table up. Mode edits also runs commands that may do no
// more than change files of the workspace, which can be undone (spec 4.2).
func (c command) verdict(mode Approval, access sandbox.Access, risk tool.Risk) Verdict {
	if mode == Edits && c.walled && access == sandbox.Write && risk == tool.Medium {
		return Auto
	}
	return policy[mode][risk]
}

// includes reports whether what one access lets a command do, the other lets it
// do as well.
func includes(wide, narrow sandbox.Access) bool {
	all := sandbox.Accesses()
	return slices.Index(all, wide) >= slices.Index(all, narrow)
}
