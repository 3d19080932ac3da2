package builtin

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
)

// TestREL77InTheOrderOfTheQueue: who waits longest is next, and one that gives up
// is passed over.
func TestREL77InTheOrderOfTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slots := make(chan struct{}, 4)
		var leave []func()
		for range cap(slots) {
			done, err := enter(t.Context(), slots)
			if err != nil {
				t.Fatal(err)
			}
			leave = append(leave, done)
		}
		const n = 46
		var order []int
		var waiting sync.WaitGroup
		ended := make([]chan struct{}, n)
		cancels := make([]context.CancelFunc, n)
		for i := range n {
			ended[i] = make(chan struct{})
			var ctx context.Context
			ctx, cancels[i] = context.WithCancel(t.Context())
			defer cancels[i]()
			waiting.Go(func() {
				done, err := enter(ctx, slots)
				if err != nil {
					return
				}
				order = append(order, i) // one at a time: only one place is given back at once
				<-ended[i]
				done()
			})
			synctest.Wait()
		}
		cancels[3]()
		cancels[40]()
		synctest.Wait()
		var want []int
		for i := range n {
			if i != 3 && i != 40 {
				want = append(want, i)
			}
		}
		for i := range want {
			if i < len(leave) {
				leave[i]()
			} else {
				close(ended[order[i-len(leave)]])
			}
			synctest.Wait()
		}
		for _, i := range order[len(order)-len(leave):] {
			close(ended[i])
		}
		waiting.Wait()
		if fmt.Sprint(order) != fmt.Sprint(want) {
			t.Errorf("the order is %v\nwant %v", order, want)
		}
	})
}

// TestREL80AWalkEndsWithItsTime: what is found until then is kept, and flagged.
func TestREL80AWalkEndsWithItsTime(t *testing.T) {
	base := t.TempDir()
	for i := range 10 {
		if err := os.WriteFile(filepath.Join(base, fmt.Sprint(i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Join(base, "d", fmt.Sprint(i)), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(base)
	if err != nil {
		t.Fatal(err)
	}
	dir := &opened{root: root, folder: base}
	defer dir.close()
	over, cancel := context.WithCancel(t.Context())
	defer cancel()
	found := 0
	w := &walker{ctx: over, dir: dir, hidden: newIgnores(dir, "."), visit: func(string) bool {
		if found++; found == 3 {
			cancel()
		}
		return true
	}}
	w.walk(".")
	if !w.partial || found < 3 || found > 10 {
		t.Errorf("%d files, partial %v", found, w.partial)
	}
}
