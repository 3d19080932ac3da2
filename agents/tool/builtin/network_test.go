package builtin_test

import (
	"context"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/agents/tool/tooltest"
	"github.com/agentls/agentls/internal/sandbox"
)

// behindBubblewrap gives a call's Env a sandbox that limits hosts, or skips the
// test where there is none.
func behindBubblewrap(t *testing.T, env *tool.Env) {
	t.Helper()
	state := filepath.Join(t.TempDir(), "state")
	env.Sandbox = sandbox.New(sandbox.Config{Home: env.Home, State: state, Environ: env.Environ, Walls: []sandbox.Wall{sandbox.Bubblewrap}})
	_, err := exec.LookPath("curl")
	if env.Sandbox.CanLimitHosts() && err == nil {
		return
	}
	if runtime.GOOS == "linux" && os.Getenv("CI") != "" {
		t.Fatal("there is no bubblewrap or no curl")
	}
	t.Skip("there is no bubblewrap or no curl")
}

// TestSEC44And108HostsOfCommands has commands in the sandbox reach the hosts that are
// allowed, ask about others once, and reach nothing else.
func TestSEC44And108HostsOfCommands(t *testing.T) {
	var reached atomic.Int32
	s, env := web(t, func(w http.ResponseWriter, _ *http.Request) {
		reached.Add(1)
		_, _ = w.Write([]byte("here"))
	})
	behindBubblewrap(t, env)
	var mu sync.Mutex
	var asked []string
	env.Reach = func(_ context.Context, host string, _ int) error {
		mu.Lock()
		defer mu.Unlock()
		asked = append(asked, host)
		return errors.New("the person refused")
	}
	const quiet = "NO_PROXY= no_proxy= curl -sS --max-time 20 " // loopback is the sandbox's own, but where a test asks for it
	for _, c := range []struct {
		command, access string
		says            []string
		reached         bool
		asked           string
	}{
		{quiet + s.URL, "network", []string{"here", "hosts reached: 127.0.0.1:"}, true, ""},
		{quiet + "--proxy '' --socks5-hostname 127.0.0.1:3128 " + s.URL, "network", []string{"hosts reached"}, true, ""},
		{quiet + "--noproxy '*' " + s.URL, "network", []string{"Exit code: 7"}, false, ""},                                         // there is no other way …
		{quiet + "--noproxy '*' " + s.URL + "; touch made; cat ~/.bashrc", "any_host", []string{"here", "Exit code: 1"}, true, ""}, // … but by this access
		{quiet + s.URL, "write", []string{"Exit code: 7"}, false, ""},
		{quiet + s.URL, "read", []string{"Exit code: 7"}, false, ""},
		{quiet + "http://one.example https://one.example http://two.example/; " + quiet + "http://one.example/again", "network",
			[]string{"the person refused", "hosts not reached: one.example (the person refused); two.example (the person refused)"}, false, "one.example two.example"},
		{quiet + "http://localhost:1/ http://169.254.169.254/ http://10.0.0.1/ http://0x7f.1/", "network", []string{"a link-local address", "a private or reserved address"}, false, ""},
	} {
		before := reached.Load()
		asked = nil
		r, err := tooltest.Run(t.Context(), named(t, "bash"), env, args(t, "command", c.command, "access", c.access))
		if err != nil {
			t.Errorf("%s: %v", c.command, err)
			continue
		}
		for _, text := range c.says {
			if !strings.Contains(r.Content, text) {
				t.Errorf("%s (%s) does not say %q:\n%s", c.command, c.access, text, r.Content)
			}
		}
		slices.Sort(asked)
		if (reached.Load() > before) != c.reached || strings.Join(asked, " ") != c.asked {
			t.Errorf("%s (%s): reached %v, asked %q", c.command, c.access, reached.Load() > before, asked)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "agentls-*", "proxy")); len(left) > 0 {
		t.Errorf("sockets stay: %q", left)
	}
}

// TestTheTimeOfAQuestionIsNotTheCommands has a person think for longer than the
// command may take.
func TestTheTimeOfAQuestionIsNotTheCommands(t *testing.T) {
	env := tooltest.New(t, nil).Env()
	behindBubblewrap(t, env)
	env.Reach = func(ctx context.Context, _ string, _ int) error {
		select {
		case <-time.After(3500 * time.Millisecond): // what is measured is this
			return errors.New("no")
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	r := call(t, env, "bash", "command", "curl -sS http://one.example/; echo over", "access", "network", "timeout", 3)
	if !strings.Contains(r.Content, "over") {
		t.Errorf("%s", r.Content)
	}
	// What is asked in vain ends with the command.
	env.Reach = func(ctx context.Context, _ string, _ int) error {
		<-ctx.Done()
		return ctx.Err()
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, _ = tooltest.Run(ctx, named(t, "bash"), env, args(t, "command", "curl -sS http://one.example/", "access", "network"))
}
