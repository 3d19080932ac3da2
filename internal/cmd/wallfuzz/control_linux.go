package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/agentls/agentls/internal/sandbox"
)

// canary is the name of a file that is to be made nowhere. Another process has another
// name: what its control makes without a wall is no harm here.
var canary = fmt.Sprintf("wallfuzz-target-%d", os.Getpid())

// controls do harm without a wall, each in another way, and only in the world.
var controls = []string{
	"echo x > $OUT/new", "echo x >> ~/.bashrc", "touch up/outside/new", "rm -f out/secret.txt", "ln -s /etc/passwd ~/l",
	"echo x > .git/hooks/pre-commit", "mv .git g; mkdir -p .git/hooks; echo x > .git/hooks/pre-commit",
	"echo {} > .gemini/agents.json",
	"cat ~/.ssh/id_rsa", "cat ssh/../notes.txt", "cat .env", "base64 -w0 $OUT/secret.txt",
	"cat key | od -An -v -tx1 | tr -d ' \\n'",
	"(sleep 0.1; touch $OUT/late) & sleep 0.3", "echo x > /dev/tcp/127.0.0.1/$PORT", "echo x > /dev/udp/127.0.0.1/$UDP",
	`perl -MIO::Socket::UNIX -e 'IO::Socket::UNIX->new("$SOCK")'`,
	`perl -MSocket -e 'socket S,AF_UNIX,SOCK_STREAM,0; connect(S,pack("S a*",1,"\0$ABSTRACT"))'`,
	"touch /var/tmp/" + canary,
}

// control runs what does harm without a wall, and returns how many did. It is an
// error that one is not seen.
func control(ctx context.Context, base string) (int, error) {
	w, err := newWorld(base, false)
	if err != nil {
		return 0, err
	}
	defer w.close()
	w.patience = time.Minute // all of them end, however busy the machine is
	for _, text := range controls {
		found, err := try(ctx, w, unwalled, sandbox.Write, []string{text})
		if err != nil {
			return 0, err
		}
		if len(found) == 0 {
			return 0, fmt.Errorf("without a wall %q does no harm that is seen", text)
		}
	}
	return len(controls), nil
}

// unwalled runs a script without a wall.
func unwalled(ctx context.Context, w *world, _ sandbox.Access, script string) ([]byte, error) {
	c := exec.CommandContext(ctx, "bash", "--noprofile", "--norc", "-c", script)
	c.Dir, c.Env = w.work, w.environ()
	out, err := c.CombinedOutput()
	if _, ended := err.(*exec.ExitError); ended {
		err = nil
	}
	return out, err
}

// hold runs behind a wall what does harm without one, with each access.
func hold(ctx context.Context, base string, wall *wall) ([]violation, error) {
	w, err := newWorld(base, wall.open)
	if err != nil {
		return nil, err
	}
	defer w.close()
	var found []violation
	for _, access := range wall.accesses[:min(len(wall.accesses), 4)] {
		more, err := try(ctx, w, wall.run, access, controls)
		if err != nil {
			return nil, err
		}
		found = append(found, more...)
	}
	return found, nil
}
