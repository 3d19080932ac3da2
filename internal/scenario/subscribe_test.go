package scenario_test

import (
	"context"
	"strings"
	"testing"

	"github.com/agentls/agentls/internal/modelserver"
	"github.com/agentls/agentls/internal/wire"
)

// TestSubscribeDuringRuns subscribes and unsubscribes, from the beginning and
// from where it was, while runs begin and end in the session: the editor finds
// every event that is told twice or left out.
func TestSubscribeDuringRuns(t *testing.T) {
	const runs = 40
	script, err := modelserver.Parse(strings.Repeat("> go\n< a\n< b\n< c\n\n", runs))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 3*patience)
	defer cancel()
	editor, leave := edit(ctx, t, t.TempDir(), modelserver.New(modelserver.Config{Script: script}), "")
	ran := make(chan error, 1)
	first := make(chan struct{})
	go func() {
		for i := range runs {
			if _, err := editor.Run(ctx, &wire.RunParams{Input: wire.InputBlocks{{Type: "text", Text: "go"}}}); err != nil {
				ran <- err
				return
			}
			if i == 0 {
				close(first)
			}
		}
		ran <- nil
	}()
	<-first
	rounds := 0
	for over := false; !over; rounds++ {
		select {
		case err := <-ran:
			if err != nil {
				t.Fatal(err)
			}
			over = true
		default:
		}
		// Twice: the second time nothing has been missed.
		for _, from := range []uint64{0, 1} {
			past, err := editor.Subscribe(ctx, "main", from)
			if err != nil {
				t.Fatal(err)
			}
			if from == 1 && rounds == 0 && len(past) > 0 && past[0].Seq != 1 {
				t.Errorf("from 1 on: %d", past[0].Seq)
			}
		}
		if rounds%2 == 1 {
			if err := editor.Unsubscribe(ctx, "main"); err != nil {
				t.Fatal(err)
			}
		}
	}
	if rounds < 3 {
		t.Errorf("only %d rounds", rounds)
	}
	leave()
}
