package scenario_test

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// cmdRedis starts a redis-server, or ends it: redis start, redis kill. What it held is there
// again when it is started once more. $REDIS in the person's settings becomes its address.
func cmdRedis(ts *testscript.TestScript, _ bool, args []string) {
	s := of(ts)
	if s.redis.dir == "" {
		dir, err := os.MkdirTemp("", "redis") // the path of a socket is short
		ts.Check(err)
		s.redis.dir = dir
		ts.Defer(func() { s.redis.kill(); _ = os.RemoveAll(dir) })
		settings := filepath.Join(s.dir, "home", "settings.json")
		text, err := os.ReadFile(settings)
		ts.Check(err)
		ts.Check(os.WriteFile(settings, []byte(strings.ReplaceAll(string(text), "$REDIS", "unix://"+filepath.Join(dir, "s"))), 0o600))
	}
	switch strings.Join(args, " ") {
	case "kill":
		s.redis.kill()
	case "start":
		ts.Check(s.redis.start())
	default:
		ts.Fatalf("takes start or kill")
	}
}

// redis is a server of a story's own.
type redis struct {
	dir     string
	process *exec.Cmd
}

// start returns when the server answers.
func (r *redis) start() error {
	socket := filepath.Join(r.dir, "s")
	r.process = exec.Command("redis-server", "--port", "0", "--unixsocket", socket, "--dir", r.dir, "--appendonly", "yes", "--appendfsync", "always", "--save", "")
	if err := r.process.Start(); err != nil {
		return err
	}
	within, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	for {
		conn, err := net.Dial("unix", socket)
		if err == nil {
			answer := make([]byte, 7)
			_, err = conn.Write([]byte("PING\r\n"))
			if err == nil {
				_, err = conn.Read(answer)
			}
			_ = conn.Close()
			if err == nil && strings.HasPrefix(string(answer), "+PONG") {
				return nil
			}
		}
		select {
		case <-within.Done():
			return within.Err()
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func (r *redis) kill() {
	if r.process != nil {
		_ = r.process.Process.Kill()
		_ = r.process.Wait()
		r.process = nil
	}
}
