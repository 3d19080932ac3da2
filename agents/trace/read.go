package trace

import (
	"strings"

	"github.com/agentls/agentls/agents/activity"
)

// pageSize is how many events are read from a log at once.
const pageSize = 500

// Read returns the events of a log without deltas, each masked. What cannot be read
// back, as of a newer version, is left out. mask may be nil.
// All events of the session are in memory then. mask gets the JSON of each event and returns it
// without what is secret; it may change what it is given. The error is the log's, with the events
// that were read before it.
func Read(log *activity.Log, session string, mask func([]byte) []byte) ([]activity.Event, error) {
	var events []activity.Event
	for after := uint64(0); ; {
		page, err := log.Read(after, pageSize)
		if err != nil || len(page) == 0 {
			return events, err
		}
		for _, entry := range page {
			after = entry.Seq
			if e, ok := Decode(entry, session, mask); ok {
				events = append(events, e)
			}
		}
	}
}

// Decode returns the event of a log's entry, masked; false for a delta and for what
// cannot be read back.
// mask may be nil.
func Decode(entry activity.Entry, session string, mask func([]byte) []byte) (activity.Event, bool) {
	if strings.HasSuffix(entry.Type, ".delta") {
		return activity.Event{}, false
	}
	e, err := entry.EventWith(session, mask)
	return e, err == nil
}
