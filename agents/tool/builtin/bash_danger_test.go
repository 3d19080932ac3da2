package builtin_test

// SEC-41: what no command may do, with any access.

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/agentls/agentls/agents/guard"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/sandbox"
)

// standIns puts programs in the place of those that must not run even as a
// control: each leaves a canary.
func (y *yard) standIns(t testing.TB, names ...string) {
	t.Helper()
	y.canary = filepath.Join(t.TempDir(), "FIRED")
	for _, name := range names {
		y.Put(t, "../stand/"+name, "#!/bin/sh\n: > "+y.canary+"\n")
		if err := os.Chmod(filepath.Join(y.base, "stand", name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	y.extra = []string{"PATH=" + filepath.Join(y.base, "stand")}
}

func (y *yard) fired() bool {
	fired := fileExists(y.canary)
	_ = os.Remove(y.canary) // where there is one
	return fired
}

func TestSEC41CatastrophesAreRefusedInEveryMode(t *testing.T) {
	y := newYard(t, false)
	y.standIns(t, "rm", "mkfs", "mkfs.ext4", "dd", "shutdown", "reboot", "poweroff", "halt", "systemctl", "init", "find", "sudo", "env", "sh", "nice")
	before := y.tree(t)
	fired := 0
	texts := []string{
		"rm -rf /", "rm -rf ~", "rm -rf $HOME", "rm -rf \"${HOME}\"", "rm -rf .", "rm -rf ..", "rm -rf /*", "rm -r -f /", "rm --recursive --force /", "rm -fR /", "rm --rec -f -- /", "rm / -rf", "rm -rf ./", "rm -rf //", "rm -rf /./", "rm -rf ~/*", "rm -rf {/,x}", "rm -rf $PWD", "sudo rm -rf /", "env rm -rf /", "nice rm -rf /", "sh -c 'rm -rf /'", "ls; rm -rf /", "r''m -rf /",
		"find / -delete", "find ~ -exec rm {} +", "mkfs.ext4 /dev/sda1", "mkfs /dev/sda1", "dd if=a.txt of=/dev/sda", "shutdown -h now", "sudo shutdown now", "reboot", "poweroff", "halt", "systemctl poweroff",
	}
	for _, text := range texts {
		for _, mode := range []guard.Approval{guard.Asks, guard.Edits, guard.Free} {
			if v := y.try(t, text, func(r *guard.Request) { r.Approval, r.Sandbox = mode, guard.Sandbox{Wall: sandbox.Bubblewrap} }); v.is != guard.Refuse || v.risk != tool.Catastrophic {
				t.Errorf("%q in mode %s is %v, %v (%s)", text, mode, v.is, v.risk, v.why)
			}
		}
		v := y.try(t, text, func(r *guard.Request) { r.Critical = true })
		if v.is != guard.Ask || slices.Contains(v.outcomes, guard.Session) || slices.Contains(v.outcomes, guard.Always) {
			t.Errorf("%q where the user's settings say ask is %v with %v", text, v.is, v.outcomes)
		}
		if y.fired() || y.tree(t) != before {
			t.Fatalf("%q ran", text)
		}
		if y.control(t, text); y.fired() {
			fired++
		}
	}
	// These are not tried even with stand-ins: they name files of the machine.
	for _, text := range []string{"/sbin/reboot", "/bin/rm -rf /"} {
		if v := y.try(t, text); v.is != guard.Refuse || v.risk != tool.Catastrophic {
			t.Errorf("%q is %v (%s)", text, v.is, v.why)
		}
	}
	t.Logf("positive control: with stand-ins for rm, dd and the like, bash without the gate fires the canary for %d of %d", fired, len(texts))
	if fired < 30 {
		t.Errorf("only %d of %d fire", fired, len(texts))
	}
}
