package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/agentls/agentls/agents/session"
	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/internal/filelock"
	"github.com/agentls/agentls/workspace"
)

// HomeOf returns the person's folder: $GEMINI_HOME, or ~/.gemini.
// The error is of kind fault.Unavailable: nothing says where the person's home is. The
// folder need not exist.
func HomeOf(getenv func(string) string) (string, error) {
	if home := getenv("GEMINI_HOME"); home != "" {
		return filepath.Abs(home)
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fault.New(fault.Unavailable, "daemon.home", "no home folder: set HOME or GEMINI_HOME (%w)", err)
	}
	return filepath.Join(home, ".gemini"), nil
}

// state is the folder of what the daemon itself keeps.
func (c Config) state() string { return filepath.Join(c.Home, "agentls") }

// trustFile is where it is recorded which folders are trusted (spec 4.4).
func (c Config) trustFile() string { return filepath.Join(c.state(), "trust.json") }

// loginsFile is where logins at MCP servers are kept, or which of them are in a keyring.
func (c Config) loginsFile() string { return filepath.Join(c.state(), "logins.json") }

// writable says why nothing can be kept in the daemon's own folder, nil where it
// can. It leaves nothing there, nor makes the folder: there is the one that is
// there already, the same or above.
// there is the folder in which the attempt was made, for the check of locks.
func (c Config) writable() (there string, err error) {
	dir := c.state()
	for {
		info, err := os.Stat(dir)
		if err == nil && !info.IsDir() {
			return "", fmt.Errorf("%s is not a folder", dir)
		}
		if err == nil {
			break
		}
		if up := filepath.Dir(dir); !errors.Is(err, fs.ErrNotExist) || up == dir {
			return "", err
		}
		dir = filepath.Dir(dir)
	}
	f, err := os.CreateTemp(dir, ".agentls-*")
	if err != nil {
		return "", err
	}
	_, err = f.WriteString("a full disk, or a quota, is found only by writing\n")
	if closed := f.Close(); err == nil {
		err = closed
	}
	_ = os.Remove(f.Name()) // it is small
	return dir, err
}

// lookAtHome finds out what can be kept, and how the starts before this one went.
// What the person has to know becomes a banner. It reports whether sessions are
// to be kept in memory only (REL-98).
// It is called once, before anything else is kept.
func (b *daemon) lookAtHome() (inMemory bool) {
	const lost = "sessions are only kept in memory, and gone when it ends"
	if b.Homeless != "" {
		b.banners = append(b.banners,
			fmt.Sprintf("agentls has no home folder (%s), so %s. Set HOME or GEMINI_HOME and start it again.",
				b.Homeless, lost))
		return true
	}
	there, err := b.writable()
	if err != nil {
		b.banners = append(b.banners,
			fmt.Sprintf("agentls cannot write to %s (%v), so %s. Make the folder writable, or set GEMINI_HOME to another one, and start it again.", b.state(), err, lost))
		return true
	}
	if err := b.private(); err != nil {
		b.banners = append(b.banners,
			fmt.Sprintf("agentls keeps nothing where others can change it (%v), so %s. See who did that, fix it, and start it again.", err, lost))
		return true
	}
	// Sessions are kept all the same: a single daemon does without locks.
	if err := filelock.Works(there); err != nil {
		b.banners = append(b.banners,
			fmt.Sprintf("Files in %s cannot be locked (%v): two agentls at once could write the same session. "+
				"Use one at a time, or set GEMINI_HOME to a folder on a local disk and start it again.", there, err))
	}
	if b.Exit == nil {
		return false // no editor starts it again
	}
	key := session.Key(b.first)
	b.starts = &starts{file: filepath.Join(b.state(), "starts", key+".json"), now: b.Now,
		worked: func() { b.forgetReturn(key) }}
	if b.starts.begin() {
		return b.enterSafeMode(key)
	}
	if told := b.bringBack(key); told != "" {
		b.banners = append(b.banners, told)
	}
	return false
}

// enterSafeMode sets the workspace's state aside and loads no agents. It reports
// whether sessions are to be kept in memory only.
func (b *daemon) enterSafeMode(key string) (inMemory bool) {
	b.safe = true
	told := "agentls crashed twice within a minute before it was ready, so it runs in safe mode: no agents are loaded"
	next := "Start it again to leave safe mode. If it crashes again, look for what is wrong with the agents' files; the files *" + crashSuffix + " in " +
		filepath.Join(b.state(), "starts") + " say why it crashed."
	aside, err := b.setAside(key)
	switch {
	case err != nil:
		told += fmt.Sprintf(", and sessions are only kept in memory, since those of this workspace could not be set aside (%s). %s", fault.Message(err), next)
	case aside == "":
		told += ". " + next
	default:
		told += fmt.Sprintf(", and the sessions of this workspace were moved to %s. %s", aside, next)
		if strings.HasSuffix(aside, staysSuffix) {
			told += fmt.Sprintf(" The sessions had been brought back once already. To have them back again, end agentls and move them to %s.", filepath.Join(b.state(), "sessions", key))
		} else {
			told += " The sessions are brought back then."
		}
	}
	b.banners = append(b.banners, told)
	return err != nil
}

// private says which of the folders of what the daemon keeps another user owns or
// can write to (SEC-116); nil where there is none.
// A folder that others can change would let them change what is trusted or
// approved.
func (b *daemon) private() error {
	sessions := filepath.Join(b.state(), "sessions")
	for _, dir := range []string{b.state(), sessions, filepath.Join(sessions, session.Key(b.first)),
		filepath.Join(b.state(), "shown"), filepath.Join(b.state(), "starts")} {
		info, err := os.Stat(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue // it will be made so
		}
		if err == nil {
			err = workspace.Private(info)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", dir, err)
		}
	}
	return nil
}

// record returns what is recorded in a session. A daemon that has come to this
// works, and whatever ends it later is no crash on start: an editor may kill it.
func (b *daemon) record(data []byte) []byte {
	if b.starts != nil {
		b.starts.ready()
	}
	return b.Secrets.MaskKnown(data)
}

// becomeReady records that this start is no crash, once initialize was answered
// and some time has passed.
func (b *daemon) becomeReady(ctx context.Context, answered <-chan struct{}) {
	if b.starts == nil {
		return
	}
	select {
	case <-answered:
	case <-ctx.Done():
		return
	}
	timer := time.NewTimer(readyAfter)
	defer timer.Stop()
	select {
	case <-timer.C:
		b.starts.ready()
	case <-ctx.Done():
	}
}
