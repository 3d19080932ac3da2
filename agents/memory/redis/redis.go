// Package redis keeps memory in a Redis server of version 7 or newer, over
// github.com/redis/go-redis.
//
// All keys of a store begin with agentls:memory:{ID}: a hash of records, one of vectors,
// and a set of keys for each word. They are changed by scripts, so that two daemons see
// each change whole or not at all. Text is matched in the server; cosines are computed
// here, since no Redis of version 7 can without a module.
//
// A write is as durable as the server's own configuration has it (appendonly,
// appendfsync). What is deleted is gone from the server's memory at once, and from its
// files when it writes them next.
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

	"github.com/redis/go-redis/v9"

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
	address func() string

	mu     sync.Mutex
	of     string // the address that client is connected to
	client *redis.Client
}

var _ memory.Backend = (*Backend)(nil)

// New returns a backend of the server at an address, which is asked for whenever a store
// is opened: redis://[user:password@]host:port/database, rediss:// for TLS, or
// unix:///path/of/socket. It connects to nothing.
func New(address func() string) *Backend { return &Backend{address: address} }

// Shown returns an address without user and password.
func Shown(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "redis" // what is wrong with it may be in the password
	}
	u.User, u.RawQuery = nil, ""
	return u.String()
}

// connect returns the client of the server that the settings name now.
func (b *Backend) connect() (*redis.Client, error) {
	address := b.address()
	if address == "" {
		return nil, fault.New(fault.Invalid, "memory.redis", "no Redis server is configured: `agentls config agents.memory.redis redis://localhost:6379 --global`").Because(fault.Config)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.client != nil && b.of == address {
		return b.client, nil
	}
	options, err := redis.ParseURL(address)
	if err != nil {
		return nil, fault.New(fault.Invalid, "memory.redis", "the setting agents.memory.redis is no address of a Redis server: use redis://host:port, rediss://host:port or unix:///path").Because(fault.Config)
	}
	options.DialTimeout, options.ReadTimeout, options.WriteTimeout = dialTimeout, answerIn, answerIn
	options.DialerRetries = 1
	options.MaxRetries = 1 // a connection that died meanwhile; a server that is gone is told at once
	options.ContextTimeoutEnabled = true
	options.ClientName = "agentls"
	if b.client != nil {
		_ = b.client.Close()
	}
	silence()
	b.client, b.of = redis.NewClient(options), address
	return b.client, nil
}

// silence keeps the library from writing to stderr: errors are returned.
var silence = sync.OnceFunc(func() { redis.SetLogger(silent{}) })

// silent is a logger of the library's that says nothing.
type silent struct{}

// Printf implements the library's interface.
func (silent) Printf(context.Context, string, ...any) {}

// explain returns an error of the client as a fault, with no password in it.
func (b *Backend) explain(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if _, is := errors.AsType[*fault.Error](err); is {
		return err
	}
	b.mu.Lock()
	at := Shown(b.of)
	b.mu.Unlock()
	switch {
	case redis.HasErrorPrefix(err, "OOM"):
		return fault.New(fault.Unavailable, "memory.redis", "nothing was changed, since the Redis server at %s has no memory left", at)
	case redis.HasErrorPrefix(err, "NOAUTH"), redis.HasErrorPrefix(err, "WRONGPASS"), redis.HasErrorPrefix(err, "NOPERM"):
		return fault.New(fault.Unavailable, "memory.redis", "the Redis server at %s refuses: correct user and password in agents.memory.redis", at).Because(fault.Config)
	}
	return fault.New(fault.Unavailable, "memory.redis", "the Redis server at %s does not answer as it should: %w", at, err)
}

// about is what a store says of itself.
type about struct {
	memory.Place
	memory.Shape
}

// Open implements [memory.Backend].
func (b *Backend) Open(ctx context.Context, p memory.Place, make *memory.Shape) (memory.Store, error) {
	client, err := b.connect()
	if err != nil {
		return nil, err
	}
	s := &store{backend: b, client: client, id: p.ID()}
	if make != nil {
		text, err := json.Marshal(about{p, *make})
		if err != nil {
			return nil, err
		}
		if err := client.HSetNX(ctx, stores, s.id, text).Err(); err != nil {
			return nil, b.explain(ctx, err)
		}
	}
	text, err := client.HGet(ctx, stores, s.id).Result()
	switch {
	case errors.Is(err, redis.Nil):
		return nil, memory.None(p)
	case err != nil:
		return nil, b.explain(ctx, err)
	}
	var known about
	if err := json.Unmarshal([]byte(text), &known); err != nil || known.Kind == "" {
		return nil, fault.New(fault.Unavailable, "memory.redis", "%s in %s cannot be read: another program changed it", s.id, stores)
	}
	s.shape = known.Shape
	return s, nil
}

// Stores implements [memory.Backend]. Where no server is configured there are none.
func (b *Backend) Stores(ctx context.Context) ([]memory.Stored, error) {
	if b.address() == "" {
		return nil, nil
	}
	client, err := b.connect()
	if err != nil {
		return nil, err
	}
	texts, err := client.HGetAll(ctx, stores).Result()
	if err != nil {
		return nil, b.explain(ctx, err)
	}
	var all []memory.Stored
	for id, text := range texts {
		stored := memory.Stored{ID: id}
		var known about
		if json.Unmarshal([]byte(text), &known) != nil || known.Kind == "" {
			stored.Problem = "it cannot be read: another program changed " + stores
		} else if n, err := client.HLen(ctx, (&store{id: id}).key("records")).Result(); err != nil {
			return nil, b.explain(ctx, err)
		} else {
			stored.Place, stored.Shape, stored.Records = known.Place, known.Shape, int(n)
		}
		all = append(all, stored)
	}
	slices.SortFunc(all, func(x, y memory.Stored) int { return strings.Compare(x.ID, y.ID) })
	return all, nil
}

// Close implements [memory.Backend].
func (b *Backend) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.client == nil {
		return nil
	}
	err := b.client.Close()
	b.client = nil
	return err
}

// store is the records of one place. It has no state but its shape.
type store struct {
	backend *Backend
	client  *redis.Client
	id      string
	shape   memory.Shape
}

// key names a part of the store. The braces keep all of them on one server of a cluster.
func (s *store) key(part string) string { return prefix + "{" + s.id + "}:" + part }

// Shape implements [memory.Store].
func (s *store) Shape() memory.Shape { return s.shape }
