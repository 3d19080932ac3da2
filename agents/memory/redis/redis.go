// Package redis keeps memory in a Redis server of version 7 or newer, over
// github.com/gomodule/redigo.
//
// All keys of a store begin with agentls:memory:{ID}: a hash of records, blocks of vectors,
// and a set of keys for each word. They are changed by scripts, so that two daemons see
// each change whole or not at all. Text is matched in the server; cosines are computed
// here, since no Redis of version 7 can without a module.
//
// A write is as durable as the server's own configuration has it (appendonly,
// appendfsync). What is deleted is gone from the server's memory at once, and from its
// append-only file when it has written that anew, which it is asked to.
//
// # Connections
//
// The address comes from the settings at each use, so that a change of them needs no new
// daemon. Connections are pooled, four idle ones at most, and asked with PING before they
// are used again, since the server may have been started anew. Nothing is kept here but
// that: a store has no state but its shape.
//
// Errors never have the password: what a person is told names the address without it.
// TestServerDiesAndComesBack holds that a daemon outlives its server, TestKilledInTheMiddle
// that scripts are whole or not at all, TestDeletedIsInNoKey and
// TestDeletedLeavesTheAppendOnlyFile what is left of a deletion.
package redis

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/agentls/agentls/agents/memory"
	"github.com/agentls/agentls/internal/fault"
)

// prefix begins the names of all keys.
const prefix = "agentls:memory:"

// stores is the hash of what stores there are: by id, what each says of itself.
const stores = prefix + "stores"

// How long the server may take: to connect, and for one answer.
const (
	dialTimeout = 2 * time.Second
	answerIn    = 5 * time.Second
)

// Backend opens the stores of a server. It is a [memory.Backend].
type Backend struct {
	// Asked without mu; "" = no server is configured.
	address func() string

	mu   sync.Mutex
	of   string      // the address that the pool connects to; guarded by mu
	pool *redis.Pool // nil until it is needed; guarded by mu
}

var _ memory.Backend = (*Backend)(nil)

// New returns a backend of the server at an address, which is asked for whenever a store
// is opened: redis://[user:password@]host:port/database, rediss:// for TLS, or
// unix:///path/of/socket. It connects to nothing. address must be safe for concurrent
// use.
func New(address func() string) *Backend { return &Backend{address: address} }

// DisplayAddress returns an address without user and password. It is for messages and
// lists. Options after ? go too, since they may have a password.
func DisplayAddress(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "redis" // what is wrong with it may be in the password
	}
	u.User, u.RawQuery = nil, ""
	return u.String()
}

// connections returns those to the server that the settings name now. Where they name
// another server the connections to the old one are closed. Without a server, or with
// an address that is none, the error is Invalid, with the reason config.
func (b *Backend) connections() (*redis.Pool, error) {
	// Without the lock, since it reads settings.
	address := b.address()
	if address == "" {
		return nil, fault.New(fault.Invalid, "memory.redis",
			"no Redis server is configured: `agentls config agents.memory.redis redis://localhost:6379 --global`").Because(fault.Config)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.pool != nil && b.of == address {
		return b.pool, nil
	}
	dial := dialer(address)
	if dial == nil {
		return nil, fault.New(fault.Invalid, "memory.redis",
			"the setting agents.memory.redis is no address of a Redis server: use redis://host:port, rediss://host:port or unix:///path").Because(fault.Config)
	}
	if b.pool != nil {
		_ = b.pool.Close()
	}
	b.pool, b.of = &redis.Pool{
		DialContext: dial, MaxIdle: 4, IdleTimeout: time.Minute,
		TestOnBorrowContext: func(ctx context.Context, c redis.Conn, _ time.Time) error {
			_, err := redis.DoContext(c, ctx, "PING") // the server may have begun anew
			return err
		},
	}, address
	return b.pool, nil
}

// dialer returns what connects to an address, nil for one that cannot be used.
func dialer(address string) func(context.Context) (redis.Conn, error) {
	options := []redis.DialOption{
		redis.DialConnectTimeout(dialTimeout), redis.DialReadTimeout(answerIn), redis.DialWriteTimeout(answerIn),
		redis.DialClientName("agentls"),
	}
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return nil
	case u.Scheme == "unix" && u.Path != "":
		password, _ := u.User.Password()
		options = append(options, redis.DialUsername(u.User.Username()), redis.DialPassword(password))
		return func(ctx context.Context) (redis.Conn, error) {
			return redis.DialContext(ctx, "unix", u.Path, options...)
		}
	case (u.Scheme == "redis" || u.Scheme == "rediss") && u.Hostname() != "":
		return func(ctx context.Context) (redis.Conn, error) { return redis.DialURLContext(ctx, address, options...) }
	}
	return nil
}

// do has the server execute a command. It waits for a connection and the answer, five
// seconds at most for each answer, and ends with ctx. The error is the client's:
// callers have it explained.
func do(ctx context.Context, pool *redis.Pool, command string, args ...any) (any, error) {
	c, err := pool.GetContext(ctx)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return redis.DoContext(c, ctx, command, args...)
}

// explain returns an error of the client as a fault, with no password in it. All are
// Unavailable; a refusal of the login has the reason config.
func (b *Backend) explain(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	// Who gave up, or had no more time, hears that, and not that the server failed.
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if _, is := errors.AsType[*fault.Error](err); is {
		return err
	}
	b.mu.Lock()
	at := DisplayAddress(b.of)
	b.mu.Unlock()
	kind, _, _ := strings.Cut(err.Error(), " ")
	switch kind {
	case "OOM":
		return fault.New(fault.Unavailable, "memory.redis",
			"nothing was changed, since the Redis server at %s has no memory left", at)
	case "NOAUTH", "WRONGPASS", "NOPERM":
		return fault.New(fault.Unavailable, "memory.redis",
			"the Redis server at %s refuses: correct user and password in agents.memory.redis",
			at).Because(fault.Config)
	}
	return fault.New(fault.Unavailable, "memory.redis", "the Redis server at %s does not answer as it should: %w", at,
		err)
}

// about is what a store says of itself.
type about struct {
	memory.Place
	memory.Shape
}

// Open implements [memory.Backend]. HSETNX makes the store only where there is none, so
// that of two daemons the first settles the shape.
func (b *Backend) Open(ctx context.Context, p memory.Place, make *memory.Shape) (memory.Store, error) {
	pool, err := b.connections()
	if err != nil {
		return nil, err
	}
	s := &store{backend: b, pool: pool, id: p.ID()}
	if make != nil {
		text, err := json.Marshal(about{p, *make})
		if err != nil {
			return nil, err
		}
		if _, err := do(ctx, pool, "HSETNX", stores, s.id, text); err != nil {
			return nil, b.explain(ctx, err)
		}
	}
	text, err := redis.Bytes(do(ctx, pool, "HGET", stores, s.id))
	switch {
	case errors.Is(err, redis.ErrNil):
		return nil, memory.None(p)
	case err != nil:
		return nil, b.explain(ctx, err)
	}
	var known about
	if err := json.Unmarshal(text, &known); err != nil || known.Kind == "" {
		return nil, fault.New(fault.Unavailable, "memory.redis",
			"%s in %s cannot be read: another program changed it", s.id, stores)
	}
	s.shape = known.Shape
	return s, nil
}

// Stores implements [memory.Backend]. Where no server is configured there are none.
func (b *Backend) Stores(ctx context.Context) ([]memory.Stored, error) {
	if b.address() == "" {
		return nil, nil
	}
	pool, err := b.connections()
	if err != nil {
		return nil, err
	}
	texts, err := redis.StringMap(do(ctx, pool, "HGETALL", stores))
	if err != nil {
		return nil, b.explain(ctx, err)
	}
	var all []memory.Stored
	for id, text := range texts {
		stored := memory.Stored{ID: id}
		var known about
		// One that cannot be read is listed all the same, so that a person can see to it.
		if json.Unmarshal([]byte(text), &known) != nil || known.Kind == "" {
			stored.Problem = "it cannot be read: another program changed " + stores
		} else if n, err := redis.Int(do(ctx, pool, "HLEN", (&store{id: id}).key("records"))); err != nil {
			return nil, b.explain(ctx, err)
		} else {
			stored.Place, stored.Shape, stored.Records = known.Place, known.Shape, n
		}
		all = append(all, stored)
	}
	slices.SortFunc(all, func(x, y memory.Stored) int { return strings.Compare(x.ID, y.ID) })
	return all, nil
}

// Close implements [memory.Backend]. The next Open connects anew.
func (b *Backend) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.pool == nil {
		return nil
	}
	err := b.pool.Close()
	b.pool = nil
	return err
}

// store is the records of one place. It has no state but its shape. Stores are made for
// each Open, and are as cheap as that.
type store struct {
	backend *Backend
	pool    *redis.Pool
	// [memory.Place.ID].
	id    string
	shape memory.Shape
}

// key names a part of the store. The braces keep all of them on one server of a cluster.
func (s *store) key(part string) string { return prefix + "{" + s.id + "}:" + part }

// Shape implements [memory.Store].
func (s *store) Shape() memory.Shape { return s.shape }
