package redis

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"math"
	"strings"

	"github.com/gomodule/redigo/redis"
	"github.com/google/uuid"

	"github.com/agentls/agentls/agents/memory"
	"github.com/agentls/agentls/internal/fault"
)

// The parts of a store: hashes of records and of vectors by key, what the names of sets of
// keys by word begin with, and the keys by time.
func (s *store) keys() []string {
	return []string{s.key("records"), s.key("vectors"), s.key("word:"), s.key("times")}
}

// parts is how many keys the scripts get.
const parts = 4

// A record is kept as its id, its words and its JSON, a line each. remove takes the one of
// a key out of everything and returns its id.
const remove = `
local function remove(key)
	local old = redis.call('HGET', KEYS[1], key)
	if not old then return false end
	local id, words = string.match(old, '^([^\n]*)\n([^\n]*)\n')
	for word in string.gmatch(words, '%S+') do redis.call('SREM', KEYS[3] .. word, key) end
	redis.call('HDEL', KEYS[1], key)
	redis.call('HDEL', KEYS[2], key)
	redis.call('ZREM', KEYS[4], key)
	return id
end
`

// put keeps a record: key, id if it is a new one, words, JSON, time, vector. It returns the
// record's id.
var put = redis.NewScript(parts, remove+`
local key, id, words, json, time, vector = unpack(ARGV)
id = remove(key) or id
redis.call('HSET', KEYS[1], key, id .. '\n' .. words .. '\n' .. json)
if vector ~= '' then redis.call('HSET', KEYS[2], key, vector) end
redis.call('ZADD', KEYS[4], time, key)
for word in string.gmatch(words, '%S+') do redis.call('SADD', KEYS[3] .. word, key) end
return id
`)

// erase removes the records of keys and returns how many there were.
var erase = redis.NewScript(parts, remove+`
local n = 0
for _, key in ipairs(ARGV) do
	if remove(key) then n = n + 1 end
end
return n
`)

// drop removes every record, and what the store says of itself.
var drop = redis.NewScript(parts, remove+`
for _, key in ipairs(redis.call('HKEYS', KEYS[1])) do remove(key) end
redis.call('HDEL', ARGV[1], ARGV[2])
return 1
`)

// withWords returns up to ARGV[1] keys: of the records with most of the words that follow,
// where a word that a thousand records have tells nothing, and else the newest.
var withWords = redis.NewScript(parts, `
local has, keys = {}, {}
for i = 2, #ARGV do
	local set = KEYS[3] .. ARGV[i]
	if redis.call('SCARD', set) <= 1000 then
		for _, key in ipairs(redis.call('SMEMBERS', set)) do
			if not has[key] then has[key] = 0; keys[#keys + 1] = key end
			has[key] = has[key] + 1
		end
	end
end
if #keys == 0 then return redis.call('ZREVRANGE', KEYS[4], 0, 99) end
table.sort(keys, function(a, b) if has[a] ~= has[b] then return has[a] > has[b] end return a > b end)
return {unpack(keys, 1, math.min(#keys, tonumber(ARGV[1])))}
`)

// run has the server run a script with the keys of the store.
func (s *store) run(ctx context.Context, script *redis.Script, args ...any) (any, error) {
	c, err := s.pool.GetContext(ctx)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return script.DoContext(ctx, c, redis.Args{}.AddFlat(s.keys()).Add(args...)...)
}

// Put implements [memory.Store].
func (s *store) Put(ctx context.Context, r memory.Record, vector []float32) (string, error) {
	if err := s.shape.Check(vector); err != nil {
		return "", err
	}
	r.ID = "" // stands beside
	text, err := json.Marshal(r)
	if err != nil {
		return "", err
	}
	var packed []byte
	if s.shape.Kind == memory.Vector {
		packed = quantize(vector)
	}
	id, err := redis.String(s.run(ctx, put, r.Key, uuid.Must(uuid.NewV7()).String(),
		strings.Join(memory.WordsOf(r), " "), text, r.Time.UnixMilli(), packed))
	return id, s.backend.explain(ctx, err)
}

// quantize returns a vector in bytes, one for each number and four for its length after
// that: a quarter of what would go over the connection for each query, and cosines that
// differ in the third place.
func quantize(vector []float32) []byte {
	var most float32
	for _, x := range vector {
		most = max(most, x, -x)
	}
	data := make([]byte, len(vector), len(vector)+4)
	var squares float64
	for i, x := range vector {
		if most > 0 {
			x = float32(math.Round(float64(x / most * 127)))
		}
		data[i] = byte(int8(x))
		squares += float64(x) * float64(x)
	}
	return binary.LittleEndian.AppendUint32(data, math.Float32bits(float32(math.Sqrt(squares))))
}

// cosine compares two vectors of [quantize]; false for one of zeros.
func cosine(a, b string) (float64, bool) {
	lengths := lengthOf(a) * lengthOf(b)
	n := len(a) - 4
	a, b = a[:n], b[:n]
	var even, odd int32 // 127² × the 8,192 numbers that a vector has at most
	i := 0
	for ; i+1 < n; i += 2 {
		even += int32(int8(a[i])) * int32(int8(b[i]))
		odd += int32(int8(a[i+1])) * int32(int8(b[i+1]))
	}
	if i < n {
		even += int32(int8(a[i])) * int32(int8(b[i]))
	}
	return float64(even+odd) / lengths, lengths > 0
}

func lengthOf(data string) float64 {
	return float64(math.Float32frombits(binary.LittleEndian.Uint32([]byte(data[len(data)-4:]))))
}

// Find implements [memory.Store].
func (s *store) Find(ctx context.Context, q memory.Query) ([]memory.Match, error) {
	if q.Limit <= 0 || len(q.Words)+len(q.Vector) == 0 {
		return nil, ctx.Err()
	}
	find := s.withWords
	if q.Vector != nil {
		find = s.nearest
	}
	found, err := find(ctx, q)
	if err != nil {
		return nil, s.backend.explain(ctx, err)
	}
	return memory.Best(found, q), nil
}

func (s *store) withWords(ctx context.Context, q memory.Query) ([]memory.Match, error) {
	args := []any{4 * q.Limit}
	for _, word := range q.Words {
		args = append(args, word)
	}
	keys, err := redis.Strings(s.run(ctx, withWords, args...))
	if err != nil {
		return nil, err
	}
	records, err := s.records(ctx, keys)
	var found []memory.Match
	for _, r := range records {
		found = append(found, memory.Match{Record: r, Score: memory.WordScore(q.Words, r)})
	}
	return found, err
}

func (s *store) nearest(ctx context.Context, q memory.Query) ([]memory.Match, error) {
	if s.shape.Kind != memory.Vector {
		return nil, fault.New(fault.Invalid, "memory.redis", "this memory has no vectors; search it by text")
	}
	if err := s.shape.Check(q.Vector); err != nil {
		return nil, err
	}
	all, err := redis.StringMap(do(ctx, s.pool, "HGETALL", s.key("vectors")))
	if err != nil {
		return nil, err
	}
	query := string(quantize(q.Vector))
	best := make([]memory.Match, 0, len(all))
	for key, vector := range all {
		if len(vector) != len(query) {
			continue // another program's
		}
		if score, ok := cosine(query, vector); ok {
			best = append(best, memory.Match{Record: memory.Record{Key: key}, Score: score})
		}
	}
	best = memory.Best(best, q)
	keys, scores := make([]string, len(best)), make(map[string]float64, len(best))
	for i, m := range best {
		keys[i], scores[m.Key] = m.Key, m.Score
	}
	records, err := s.records(ctx, keys)
	found := make([]memory.Match, len(records))
	for i, r := range records {
		found[i] = memory.Match{Record: r, Score: scores[r.Key]}
	}
	return found, err
}

// records returns the records of keys. What was deleted meanwhile is left out.
func (s *store) records(ctx context.Context, keys []string) ([]memory.Record, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	values, err := redis.Strings(do(ctx, s.pool, "HMGET", redis.Args{s.key("records")}.AddFlat(keys)...))
	if err != nil {
		return nil, err
	}
	var all []memory.Record
	for _, text := range values {
		id, rest, _ := strings.Cut(text, "\n")
		_, text, _ = strings.Cut(rest, "\n")
		var r memory.Record
		if json.Unmarshal([]byte(text), &r) == nil { // else another program's
			r.ID = id
			all = append(all, r)
		}
	}
	return all, nil
}

// List implements [memory.Store].
func (s *store) List(ctx context.Context, skip, limit int) ([]memory.Record, int, error) {
	n, err := redis.Int(do(ctx, s.pool, "ZCARD", s.key("times")))
	var keys []string
	if err == nil && limit > 0 {
		keys, err = redis.Strings(do(ctx, s.pool, "ZREVRANGE", s.key("times"), skip, skip+limit-1))
	}
	var all []memory.Record
	if err == nil {
		all, err = s.records(ctx, keys)
	}
	return all, n, s.backend.explain(ctx, err)
}

// Delete implements [memory.Store].
func (s *store) Delete(ctx context.Context, keys ...string) (int, error) {
	args := make([]any, len(keys))
	for i, key := range keys {
		args[i] = key
	}
	n, err := redis.Int(s.run(ctx, erase, args...))
	return n, s.backend.explain(ctx, err)
}

// Drop implements [memory.Store].
func (s *store) Drop(ctx context.Context) error {
	_, err := s.run(ctx, drop, stores, s.id)
	return s.backend.explain(ctx, err)
}
