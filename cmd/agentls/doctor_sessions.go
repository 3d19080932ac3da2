package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/agentls/agentls/internal/fault"
)

// low is how much room on the disk is little, in bytes.
const low = 100 << 20

// checkSessions tries whether sessions can be written: in their folder, or in the nearest
// one above it that exists, where it would be made. It writes a file and removes it again.
func checkSessions(dir string) finding {
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Stat(at); err == nil || at == filepath.Dir(at) {
			dir = at
			break
		}
	}
	f, err := os.CreateTemp(dir, ".doctor-")
	if err != nil {
		return finding{"sessions", broken, "sessions: " + err.Error(),
			"make it writable, or set GEMINI_HOME to a folder that is"}
	}
	_, err = f.WriteString("can this be written?\n")
	// A full disk or a quota may show only with Sync.
	if err = errors.Join(err, f.Sync(), f.Close(), os.Remove(f.Name())); err != nil {
		return finding{"sessions", broken, "sessions: " + oneLine(err),
			"make room on the disk, or set GEMINI_HOME to a folder on another"}
	}
	free, err := freeSpace(dir)
	switch {
	case err != nil:
		return finding{"sessions", fine, "sessions: " + dir + " can be written", ""}
	case free < low:
		return finding{"sessions", odd, fmt.Sprintf("sessions: %s has only %s free", dir, bytesOf(free)),
			"make room: a run stops when its log cannot be written"}
	}
	return finding{"sessions", fine, fmt.Sprintf("sessions: %s can be written, %s free", dir, bytesOf(free)), ""}
}

// bytesOf says how much n bytes are, in GiB or MiB where there are ten of them at least,
// else in KiB.
func bytesOf(n uint64) string {
	switch {
	case n >= 10<<30:
		return fmt.Sprintf("%d GiB", n>>30)
	case n >= 10<<20:
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%d KiB", n>>10)
}

// checkLocks names the sessions that cannot be read, and those that other daemons have.
// Who has a lock its file says; that is only for people, the lock itself is the system's.
func checkLocks(ctx context.Context, conn *connection, dir string) []finding {
	sessions, err := conn.sessions(ctx)
	if err != nil {
		return []finding{{"locks", broken, "locks: the sessions cannot be listed: " + fault.Message(err), ""}}
	}
	var found []finding
	for _, s := range sessions {
		switch {
		case s.Problem != "":
			found = append(found, finding{"locks", odd, fmt.Sprintf("sessions: %s cannot be read: %s",
				s.Session, s.Problem), ""})
		case s.Locked:
			var holder struct{ Owner, Since string }
			// The file of the lock names its owner; without it nobody is named.
			if data, err := os.ReadFile(filepath.Join(dir, s.Session+".lock")); err == nil {
				_ = json.Unmarshal(data, &holder)
			}
			who := cmp.Or(holder.Owner, "another agentls")
			if holder.Since != "" {
				who += " since " + holder.Since
			}
			found = append(found, finding{"locks", odd, fmt.Sprintf("locks: session %s is in use by %s", s.Session,
				who), "end that one, or use another: agentls run --session new"})
		}
	}
	if len(found) == 0 {
		found = []finding{{"locks", fine, fmt.Sprintf("locks: %s, none in use by another agentls",
			count(len(sessions), "session")), ""}}
	}
	return found
}
