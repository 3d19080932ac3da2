package local

import (
	"encoding/binary"
	"fmt"
	"math"
	"testing"

	"github.com/agentls/agentls/agents/memory"
)

// LimitPages gives the database of a store no page more than it has and some, as a full
// disk does; SQLite says the same of both. room undoes it.
func LimitPages(t *testing.T, s memory.Store, more int) (room func()) {
	t.Helper()
	db := s.(*store).db
	var pages int
	if err := db.QueryRow("PRAGMA page_count").Scan(&pages); err != nil {
		t.Fatal(err)
	}
	set := func(n int) {
		if _, err := db.Exec(fmt.Sprintf("PRAGMA max_page_count = %d", n)); err != nil {
			t.Fatal(err)
		}
	}
	set(pages + more)
	return func() { set(1 << 30) }
}

// LittleEndian returns a number as stores keep it.
func LittleEndian(x float32) []byte {
	return binary.LittleEndian.AppendUint32(nil, math.Float32bits(x))
}
