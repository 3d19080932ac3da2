package sandbox

import (
	"os/exec"

	"github.com/agentls/agentls/internal/process"
)

// try returns why a wall does not work here; "" if it does.
func (s *Sandbox) try(w Wall) string {
	if w != Seatbelt {
		return notHere
	}
	cmd := exec.Command(seatbelt, "-p", "(version 1)(allow default)", "/usr/bin/true")
	cmd.Env = process.Environ(s.Environ)
	if _, err := output(cmd); err != nil {
		return "sandbox-exec does not work: " + err.Error()
	}
	return ""
}
