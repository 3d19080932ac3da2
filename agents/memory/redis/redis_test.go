package redis_test

import (
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/agentls/agentls/agents/memory"
	"github.com/agentls/agentls/agents/memory/memorytest"
	"github.com/agentls/agentls/agents/memory/redis"
	"github.com/agentls/agentls/internal/fault"
)

// server is a redis-server of a test's own, on a socket in a folder of its own.
type server struct {
	t       testing.TB
	dir     string
	process *exec.Cmd
}

// serve starts one. Without redis-server the test is left out, but never in CI.
func serve(t testing.TB) *server {
	t.Helper()
	if _, err := exec.LookPath("redis-server"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("there is no redis-server, and CI leaves nothing out")
		}
		t.Skip("left out: memory in Redis: there is no redis-server")
	}
	dir, err := os.MkdirTemp("", "redis") // the path of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	s := &server{t: t, dir: dir}
	s.start()
	t.Cleanup(func() {
		s.kill()
		_ = os.RemoveAll(dir)
	})
	return s
}

func (s *server) socket() string  { return filepath.Join(s.dir, "s") }
func (s *server) address() string { return "unix://" + s.socket() }

// start returns when the server answers; what it kept before is there again.
func (s *server) start() {
	s.t.Helper()
	s.process = exec.Command("redis-server", "--port", "0", "--unixsocket", s.socket(), "--dir", s.dir, "--appendonly", "yes", "--appendfsync", "always", "--save", "")
	if err := s.process.Start(); err != nil {
		s.t.Fatal(err)
	}
	for range 200 { // until it listens, and has read what it kept
		out, err := exec.CommandContext(s.t.Context(), "redis-cli", "-s", s.socket(), "PING").Output()
		if err == nil && strings.TrimSpace(string(out)) == "PONG" {
			return
		}
		<-time.After(10 * time.Millisecond)
	}
	s.t.Fatal("redis-server does not come to answer")
}

func (s *server) kill() {
	_ = s.process.Process.Kill()
	_ = s.process.Wait()
}

func (s *server) backend() *redis.Backend { return redis.New(s.address) }

// TestStore holds the backend to what every one must do.
func TestStore(t *testing.T) {
	s := serve(t)
	memorytest.Test(t, "redis", func(t *testing.T) memory.Backend { return s.backend() })
}

// TestServerDiesAndComesBack: while the server is gone each call fails within seconds and
// says where it was; when it is back, what was acknowledged is there and the same backend
// goes on.
func TestServerDiesAndComesBack(t *testing.T) {
	s := serve(t)
	b := s.backend()
	defer b.Close()
	place, text := memorytest.Place("redis", "back"), memory.Shape{Kind: memory.KeyValue}
	store, err := b.Open(t.Context(), place, &text)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Put(t.Context(), memorytest.Record("k", "kept", 1), nil); err != nil {
		t.Fatal(err)
	}
	s.kill()
	_, err = store.Put(t.Context(), memorytest.Record("l", "lost", 1), nil)
	_, also := b.Open(t.Context(), place, nil)
	for _, err := range []error{err, also} {
		if fault.KindOf(err) != fault.Unavailable || !strings.Contains(err.Error(), "the Redis server at "+s.address()) {
			t.Errorf("without a server: %v", err)
		}
	}
	s.start()
	if _, err := store.Put(t.Context(), memorytest.Record("m", "more", 2), nil); err != nil {
		t.Error("a server that is back: ", err)
	}
	all, n, err := store.List(t.Context(), 0, 5)
	if err != nil || n != 2 || all[0].Key != "m" || all[1].Key != "k" {
		t.Errorf("%v, %d, %v", all, n, err)
	}
}

// TestKilledInTheMiddle: a server that is killed in the middle of 1,000 writes, and writes
// each to its append-only file at once, has lost none that was acknowledged.
func TestKilledInTheMiddle(t *testing.T) {
	s := serve(t)
	b := s.backend()
	defer b.Close()
	store, err := b.Open(t.Context(), memorytest.Place("redis", "killed"), &memory.Shape{Kind: memory.KeyValue})
	if err != nil {
		t.Fatal(err)
	}
	const writes, killedAfter = 1000, 137
	acknowledged := 0
	killed := make(chan struct{})
	for i := range writes {
		if i == killedAfter {
			go func() {
				s.kill()
				close(killed)
			}()
		}
		if _, err := store.Put(t.Context(), memorytest.Record(strconv.Itoa(i), "content", i), nil); err != nil {
			break
		}
		acknowledged++
	}
	<-killed
	if acknowledged < killedAfter {
		t.Fatalf("only %d writes came to the server", acknowledged)
	}
	s.start()
	all, _, err := store.List(t.Context(), 0, writes)
	if err != nil {
		t.Fatal(err)
	}
	there := make(map[string]bool)
	for _, r := range all {
		there[r.Key] = true
	}
	for i := range acknowledged {
		if !there[strconv.Itoa(i)] {
			t.Errorf("%d was acknowledged and is lost", i)
		}
	}
}

// TestDeletedIsInNoKey: what was deleted stands in no key, field or value of the server.
func TestDeletedIsInNoKey(t *testing.T) {
	s := serve(t)
	b := s.backend()
	defer b.Close()
	store, err := b.Open(t.Context(), memorytest.Place("redis", "forgetful"), &memory.Shape{Kind: memory.Vector, Embedder: "e", Dimension: 4})
	if err != nil {
		t.Fatal(err)
	}
	for key, r := range map[string]struct {
		content string
		vector  []float32
	}{"stays": {"kept words", []float32{1, 2, 3, 4}}, "secretkey": {"mnemosyne confidential", []float32{4, 3, 2, 1}}} {
		if _, err := store.Put(t.Context(), memorytest.Record(key, r.content, 1), r.vector); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := store.Delete(t.Context(), "secretkey"); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	all := s.dump(t.Context())
	for _, text := range []string{"secretkey", "mnemosyne", "confidential", "\x7f_@ "} {
		if strings.Contains(all, text) {
			t.Errorf("%q is still there:\n%s", text, all)
		}
	}
	if !strings.Contains(all, "kept words") || !strings.Contains(all, " @_\x7f") {
		t.Errorf("the test does not see what is kept:\n%s", all)
	}
	if err := store.Drop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if all := s.dump(t.Context()); all != "" {
		t.Errorf("left of a store that was dropped:\n%s", all)
	}
}

// TestDeletedLeavesTheAppendOnlyFile: after a deletion the server writes its append-only file
// anew, and the value is in none of its files; a server that may not be asked for that has
// deleted it nevertheless, and it is said.
func TestDeletedLeavesTheAppendOnlyFile(t *testing.T) {
	s := serve(t)
	if out, err := exec.CommandContext(t.Context(), "redis-cli", "-s", s.socket(), "ACL", "SETUSER", "limited", "on", ">pw", "~*", "+@all", "-bgrewriteaof").CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	for user, want := range map[string]string{"": "writes its append-only file anew, without it", "limited:pw@": "it refused now: run BGREWRITEAOF there"} {
		b := redis.New(func() string { return "unix://" + user + s.socket() })
		store, err := b.Open(t.Context(), memorytest.Place("redis", "file"), &memory.Shape{Kind: memory.KeyValue})
		if err != nil {
			t.Fatal(err)
		}
		secret := "mnemosyne" + strings.TrimSuffix(user, ":pw@")
		if _, err := store.Put(t.Context(), memorytest.Record("k", secret, 1), nil); err != nil {
			t.Fatal(err)
		}
		if !s.onDisk(secret) {
			t.Fatal("the test does not see what the files have")
		}
		if n, err := store.Delete(t.Context(), "k"); n != 1 || err != nil {
			t.Fatal(n, err)
		}
		if note := b.CleanFiles(t.Context()); !strings.Contains(note, want) {
			t.Errorf("%q: %s", user, note)
		}
		for deadline := time.Now().Add(30 * time.Second); user == "" && s.onDisk(secret); <-time.After(10 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("the files still have what was deleted")
			}
		}
		_ = b.Close()
	}
}

// onDisk reports whether a file of the server has a text.
func (s *server) onDisk(text string) (found bool) {
	_ = filepath.WalkDir(s.dir, func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			data, _ := os.ReadFile(name) // one that the server removes meanwhile has nothing
			found = found || strings.Contains(string(data), text)
		}
		return nil
	})
	return found
}

// dump returns all that the server holds.
func (s *server) dump(ctx context.Context) string {
	out, err := exec.CommandContext(ctx, "redis-cli", "-s", s.socket(), "EVAL", `
		local all = ''
		for _, key in ipairs(redis.call('KEYS', '*')) do
			local kind, values = redis.call('TYPE', key).ok, {}
			if kind == 'hash' then values = redis.call('HGETALL', key) elseif kind == 'string' then values = {redis.call('GET', key)} elseif kind == 'set' then values = redis.call('SMEMBERS', key)
			else values = redis.call('ZRANGE', key, 0, -1) end
			all = all .. key .. ' ' .. table.concat(values, ' ') .. ';'
		end
		return all`, "0").Output()
	if err != nil {
		s.t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// TestAddresses: what is wrong with an address is told without the password in it.
func TestAddresses(t *testing.T) {
	for address, want := range map[string]string{
		"":                                     "no Redis server is configured: `agentls config agents.memory.redis",
		"http://ada:topsecret@example.com":     "is no address of a Redis server",
		"redis://ada:topsecret@%zz":            "is no address of a Redis server",
		"redis://ada:topsecret@127.0.0.1:1/0":  "the Redis server at redis://127.0.0.1:1/0 does not answer",
		"unix://ada:topsecret@/nowhere/socket": "the Redis server at unix:///nowhere/socket does not answer",
	} {
		b := redis.New(func() string { return address })
		_, err := b.Open(t.Context(), memorytest.Place("redis", "a"), &memory.Shape{Kind: memory.KeyValue})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "topsecret") {
			t.Errorf("%s: %v", address, err)
		}
		_ = b.Close()
	}
}

func BenchmarkRedis(b *testing.B) {
	backend := serve(b).backend()
	defer backend.Close()
	s, err := backend.Open(b.Context(), memorytest.Place("redis", "bench"), &memory.Shape{Kind: memory.Vector, Embedder: "e", Dimension: memorytest.Dimension})
	if err != nil {
		b.Fatal(err)
	}
	memorytest.Bench(b, s)
}
