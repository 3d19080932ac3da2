package builtin

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/sourcegraph/conc"

	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/dial"
	"github.com/agentls/agentls/internal/proxy"
)

// network is the proxy of one command with access network.
//
// It lives from startNetwork to end, longer than the command where that left
// something behind. report may be called from any of its connections.
//
// mu guards reached and refused. end reads them without it, since no connection is left by
// then.
type network struct {
	dir string // the daemon's alone, with the socket
	// The path of the Unix socket at which the proxy listens.
	socket string
	stop   context.CancelFunc
	work   conc.WaitGroup

	mu sync.Mutex
	// Each once, maxHosts at most.
	reached []string
	refused []string // with the reasons
}

// startNetwork starts a proxy that lets through the hosts that the call's Env
// allows. It goes on when ctx ends: what the command left behind may use it, until
// end.
// The caller must call end, which removes the socket.
func startNetwork(ctx context.Context, env *tool.Env) (*network, error) {
	dir, err := os.MkdirTemp("", "agentls-") // 0700; a path of the state's folder may be too long for a socket
	if err != nil {
		return nil, err
	}
	n := &network{dir: dir, socket: filepath.Join(dir, "proxy")}
	listener, err := net.Listen("unix", n.socket)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	// ctx is the call's, and what the command leaves behind may go on until the run ends.
	own, stop := context.WithCancel(context.WithoutCancel(ctx))
	n.stop = stop
	n.work.Go(func() {
		_ = proxy.Serve(own, listener, proxy.Policy{
			Dialer: &dial.Dialer{Hosts: env.Hosts, Proxy: env.Proxy}, Allow: allowHost(env), Report: n.report,
		})
	})
	return n, nil
}

// allowHost returns what a proxy asks about hosts.
// Hosts of the settings pass without a question; for any other the command's connection
// waits for the person's answer. Without somebody to ask it is refused.
func allowHost(env *tool.Env) func(context.Context, string, int) error {
	return func(ctx context.Context, host string, port int) error {
		if env.Hosts.Allow(host, port) {
			return nil
		}
		if env.Reach == nil {
			return errors.New("nobody can be asked about it here; tools.sandbox.allowedHosts of the person's settings can name it")
		}
		return env.Reach(ctx, host, port)
	}
}

// report notes what became of a connection, each host once.
// Usual ports are left out of the names. What comes beyond maxHosts is dropped.
func (n *network) report(host string, port int, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if port != 80 && port != 443 {
		host = net.JoinHostPort(host, strconv.Itoa(port))
	}
	list, text := &n.reached, tool.Escape(host)
	if err != nil {
		list, text = &n.refused, tool.Escape(strings.TrimPrefix(err.Error(), dial.ErrRefused.Error()+": "))
		// The reason names the host or not, depending on who refused.
		if !strings.Contains(text, host) {
			text = host + " (" + text + ")"
		}
	}
	if len(*list) < maxHosts && !slices.Contains(*list, text) {
		*list = append(*list, text)
	}
}

// maxHosts is how many hosts a result names at most, of those that were reached
// and of those that were not.
const maxHosts = 20

// end ends the proxy and its connections, and says what was reached, for the
// model and the person.
func (n *network) end() (notes []string) {
	if n == nil {
		return nil
	}
	n.stop()
	// From here on no connection reports any more.
	n.work.Wait()
	if err := os.RemoveAll(n.dir); err != nil {
		notes = append(notes, "the folder of the proxy stays: "+err.Error())
	}
	if len(n.reached) > 0 {
		notes = append(notes, "hosts reached: "+strings.Join(n.reached, ", "))
	}
	if len(n.refused) > 0 {
		notes = append(notes, "hosts not reached: "+strings.Join(n.refused, "; "))
	}
	return notes
}

// allowance is the time that a command may take, without that in which a person
// is asked about a host.
//
// mu guards all but now and timer, which are set once. left is over 0 only while the time
// is paused.
type allowance struct {
	mu    sync.Mutex
	now   func() time.Time
	timer *time.Timer
	over  time.Time // when it is used up, unless it is paused
	left  time.Duration
	open  int // questions
}

// newAllowance returns one that calls end when limit is used up.
func newAllowance(limit time.Duration, now func() time.Time, end func()) *allowance {
	return &allowance{now: now, timer: time.AfterFunc(limit, end), over: now().Add(limit)}
}

// pause stops the time until resume is called.
// It may be called by several at once; the time goes on when the last of them has
// resumed. resume is called once.
// A timer that has run out already is not set again, since Stop reports false then: a
// question does not bring back a command that was ended.
// TestTheTimeOfAQuestionIsNotTheCommands holds it.
func (a *allowance) pause() (resume func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.open++; a.open == 1 && a.timer.Stop() {
		a.left = max(a.over.Sub(a.now()), time.Millisecond)
	}
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.open--; a.open == 0 && a.left > 0 {
			a.over = a.now().Add(a.left)
			a.timer.Reset(a.left)
			a.left = 0
		}
	}
}

// end releases the timer.
func (a *allowance) end() { a.timer.Stop() }

// waiting returns an Env whose questions about hosts pause a command's time.
func (a *allowance) waiting(env *tool.Env) *tool.Env {
	if env.Reach == nil {
		return env
	}
	own := *env
	own.Reach = func(ctx context.Context, host string, port int) error {
		defer a.pause()()
		return env.Reach(ctx, host, port)
	}
	return &own
}

// errNetwork says that a command has no proxy to reach the network by.
func errNetwork(err error) error {
	return tool.Errorf(tool.CodeFailed, "The command was not run: the proxy for its network could not be started: %s.",
		fmt.Sprint(err))
}
