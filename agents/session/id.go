package session

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strconv"
	"strings"

	"github.com/agentls/agentls/internal/fault"
)

// Key returns the name of a workspace's folder of sessions: the first 16 hex
// digits of the SHA-256 of the canonical path of its first folder.
//
// The path is to be canonical (absolute, links resolved): two spellings of one
// folder would have two sets of sessions.
func Key(folder string) string {
	sum := sha256.Sum256([]byte(folder))
	return hex.EncodeToString(sum[:8])
}

// NewID returns an id that a person can type: eight letters and digits, which are random
// enough for one folder.
func NewID() string { return strings.ToLower(rand.Text()[:8]) }

// NewID returns an id that no session has.
func (s *Store) NewID() string { return s.cfg.NewID() }

var (
	idForm  = regexp.MustCompile(`^[A-Za-z0-9._-]+$`) // and maxID: a count in the pattern costs every start of the process
	segment = regexp.MustCompile(`\.[0-9]+$`)
)

// maxID bounds a session's id, in bytes.
const maxID = 64

// segmentName returns the name of the file of a log's segment, counted from 1.
func segmentName(id string, number int) string {
	if number > 1 {
		id += "." + strconv.Itoa(number)
	}
	return id + ".jsonl"
}

// cutSegment takes the name of a later segment's file apart, without its suffix.
func cutSegment(name string) (id string, number int, ok bool) {
	end := segment.FindString(name)
	if end == "" {
		return name, 1, false
	}
	number, err := strconv.Atoi(end[1:])
	return strings.TrimSuffix(name, end), number, err == nil && number > 1
}

// CheckID reports whether an id can name a session: 1 to 64 letters, digits,
// dots, dashes and underscores, not beginning with a dot, and not ending in a
// dot and a number, as the files of a log's later segments do. The error is
// fault.Invalid.
func CheckID(id string) error {
	if len(id) > maxID || !idForm.MatchString(id) || id[0] == '.' || segment.MatchString(id) {
		return fault.New(fault.Invalid, "session.id",
			"%q cannot name a session; use 1 to 64 letters, digits, dots, dashes and underscores, no dot at the start and no .NUMBER at the end.", id)
	}
	return nil
}
