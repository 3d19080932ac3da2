package local_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/agentls/agentls/agents/memory"
	"github.com/agentls/agentls/agents/memory/local"
	"github.com/agentls/agentls/agents/memory/memorytest"
)

// writes is how many records the process that is killed would store.
const writes = 1000

var killed = memory.Shape{Kind: memory.Vector, Embedder: "e", Dimension: 8}

// TestMain is also the process that is killed: it says each record that is acknowledged.
func TestMain(m *testing.M) {
	if dir := os.Getenv("AGENTLS_TEST_MEMORY"); dir != "" {
		s, err := local.New(local.Config{Dir: dir, Now: now}).Open(context.Background(), memorytest.Place("local", "killed"), &killed)
		for i := 0; i < writes && err == nil; i++ {
			_, err = s.Put(context.Background(), memorytest.Record(strconv.Itoa(i), fmt.Sprintf("content number%d", i), i), make([]float32, 8))
			fmt.Println(i)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// TestKilledInTheMiddle: a process that is killed in the middle of 1,000 writes has lost
// none that it acknowledged, and what is there is whole: found by its words as well.
func TestKilledInTheMiddle(t *testing.T) {
	for _, after := range []int{1, 137, 500} {
		t.Run(strconv.Itoa(after), func(t *testing.T) {
			dir := t.TempDir()
			writer := exec.Command(os.Args[0])
			writer.Env = append(os.Environ(), "AGENTLS_TEST_MEMORY="+dir)
			out, err := writer.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := writer.Start(); err != nil {
				t.Fatal(err)
			}
			acknowledged := 0
			for lines := bufio.NewScanner(out); lines.Scan(); {
				if acknowledged++; acknowledged == after {
					_ = writer.Process.Kill()
				}
			}
			_ = writer.Wait()
			if acknowledged < after || acknowledged == writes {
				t.Fatalf("%d were acknowledged: it was not killed in the middle", acknowledged)
			}
			b := local.New(local.Config{Dir: dir, Now: now})
			defer b.Close()
			s, err := b.Open(t.Context(), memorytest.Place("local", "killed"), nil)
			if err != nil {
				t.Fatal(err)
			}
			all, n, err := s.List(t.Context(), 0, writes)
			if err != nil || n < acknowledged || n > acknowledged+1 {
				t.Fatalf("%d of %d acknowledged records, %v", n, acknowledged, err)
			}
			for _, r := range all {
				found, err := s.Find(t.Context(), memory.Query{Words: memory.QueryWords("number" + r.Key), Limit: 1})
				if err != nil || len(found) != 1 || found[0].Key != r.Key {
					t.Fatalf("record %s is not found by its words: %v, %v", r.Key, found, err)
				}
			}
		})
	}
}
