package redis

import (
	"context"
	"strings"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/agentls/agentls/agents/memory"
)

var _ memory.Cleaner = (*Backend)(nil)

// cleanIn bounds how long the server is asked about its files after a deletion.
const cleanIn = 3 * time.Second

// rewritePause is how often a rewrite is asked for anew while another one goes on, which may
// have begun before the deletion.
const rewritePause = 50 * time.Millisecond

// CleanFiles implements [memory.Cleaner]. A server that keeps an append-only file is asked to
// write it anew (BGREWRITEAOF), which it does in the background; a snapshot stays as it is
// until the server saves the next one, when and if its configuration says so.
func (b *Backend) CleanFiles(ctx context.Context) (note string) {
	const snapshots = " A snapshot that it saved before (dump.rdb) has it until the next one: BGSAVE."
	ctx, cancel := context.WithTimeout(ctx, cleanIn)
	defer cancel()
	pool, err := b.connections()
	if err != nil {
		return "What the Redis server's files on disk still have of it is not known: run BGREWRITEAOF and BGSAVE there."
	}
	about, err := redis.String(do(ctx, pool, "INFO", "persistence"))
	if err != nil {
		return "The Redis server does not say which files it keeps; they may have it until BGREWRITEAOF and BGSAVE."
	}
	if !strings.Contains(about, "aof_enabled:1") {
		return strings.TrimSpace(snapshots)
	}
	for {
		_, err = do(ctx, pool, "BGREWRITEAOF")
		if err == nil || !strings.Contains(err.Error(), "in progress") {
			break
		}
		select {
		case <-time.After(rewritePause):
			continue
		case <-ctx.Done():
		}
		break
	}
	if err != nil {
		return "The Redis server's append-only file has it until it is written anew, which it refused now: run BGREWRITEAOF there." + snapshots
	}
	return "The Redis server writes its append-only file anew, without it." + snapshots
}
