package collector

import (
	"runtime"
	"runtime/debug"
	"testing"
)

// TestFit: the collector works more often beside a large heap, and as usual again after it.
func TestFit(t *testing.T) {
	percent := func() int {
		runtime.GC()
		Fit()
		now := debug.SetGCPercent(100)
		debug.SetGCPercent(now)
		return now
	}
	if now := debug.SetGCPercent(startPercent); now != startPercent {
		t.Errorf("a program starts with %d %%", now)
	}
	Restore()
	if now := percent(); now != int(usual.Load()) {
		t.Errorf("%d %% where little is in use", now)
	}
	much := make([]byte, 2*large)
	if now := percent(); now != largePercent {
		t.Errorf("%d %% where much is in use", now)
	}
	runtime.KeepAlive(much)
	much = nil
	if now := percent(); now != int(usual.Load()) {
		t.Errorf("%d %% where little is in use again", now)
	}
	SetUsual(20)
	much = make([]byte, 2*large)
	if now := percent(); now != 20 {
		t.Errorf("%d %% where less is usual", now)
	}
	runtime.KeepAlive(much)
}
