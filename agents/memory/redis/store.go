package redis

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"github.com/gomodule/redigo/redis"
	"github.com/google/uuid"

	"github.com/agentls/agentls/agents/memory"
	"github.com/agentls/agentls/internal/fault"
)

// keys returns the parts of a store, as the scripts have them in KEYS: the hash of records by key,
// what the names of blocks of vectors and of sets of keys by word begin with, the keys by time, the
// hash of keys by slot, and the slots that are free. Blocks and words are reached by names that a
// script makes, which a cluster permits only since the braces put them on one server.
func (s *store) keys() []string {
	return []string{s.key("records"), s.key("vectors:"), s.key("word:"), s.key("times"), s.key("slots"), s.key("free")}
}

// parts is how many keys the scripts get.
const parts = 6

// perBlock is how many vectors lie side by side in one value: a query reads few large
// values instead of one for each record. A record says in which slot its vector is.
//
// The scripts have the number, too.
const perBlock = 256

// A record is kept as its id, its slot, its words and its JSON, a line each. remove takes
// the one of a key out of everything, with zeros over its vector of so many bytes, and
// returns its id.
const remove = `
local function write(slot, vector)
	redis.call('SETRANGE', KEYS[2] .. math.floor(slot / 256), (slot % 256) * #vector, vector)
end
local function remove(key, size)
	local old = redis.call('HGET', KEYS[1], key)
	if not old then return false end
	local id, slot, words = string.match(old, '^([^\n]*)\n([^\n]*)\n([^\n]*)\n')
	for word in string.gmatch(words, '%S+') do redis.call('SREM', KEYS[3] .. word, key) end
	if slot ~= '' then
		write(tonumber(slot), string.rep('\0', tonumber(size)))
		redis.call('HDEL', KEYS[5], slot)
		redis.call('SADD', KEYS[6], slot)
	end
	redis.call('HDEL', KEYS[1], key)
	redis.call('ZREM', KEYS[4], key)
	return id
end
`

// put keeps a record: size of a vector, key, id if it is a new one, words, JSON, time,
// vector. It returns the record's id. A vector takes a slot that is free; where none is,
// the n slots in use are 0 to n-1, and it takes slot n.
var put = redis.NewScript(parts, remove+`
local size, key, id, words, json, time, vector = unpack(ARGV)
id = remove(key, size) or id
local slot = ''
if vector ~= '' then
	slot = redis.call('SPOP', KEYS[6]) or tostring(redis.call('HLEN', KEYS[5]))
	write(tonumber(slot), vector)
	redis.call('HSET', KEYS[5], slot, key)
end
redis.call('HSET', KEYS[1], key, id .. '\n' .. slot .. '\n' .. words .. '\n' .. json)
redis.call('ZADD', KEYS[4], time, key)
for word in string.gmatch(words, '%S+') do redis.call('SADD', KEYS[3] .. word, key) end
return id
`)

// erase removes the records of keys, which follow the size of a vector, and returns how
// many there were.
var erase = redis.NewScript(parts, remove+`
local n = 0
for i = 2, #ARGV do
	if remove(ARGV[i], ARGV[1]) then n = n + 1 end
end
return n
`)

// drop removes every record, and what the store says of itself. Blocks have no gaps, so
// they are removed up to the first number without one.
var drop = redis.NewScript(parts, remove+`
for _, key in ipairs(redis.call('HKEYS', KEYS[1])) do remove(key, ARGV[1]) end
local block = 0
while redis.call('DEL', KEYS[2] .. block) == 1 do block = block + 1 end
redis.call('DEL', KEYS[6])
redis.call('HDEL', ARGV[2], ARGV[3])
return 1
`)

// withWords returns keys: up to ARGV[1] of the records with most of the words that follow,
// where a word that more than a thousand records have tells nothing; where no word finds
// any, those of the hundred newest records.
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

// run has the server run a script with the keys of the store. The client sends its
// digest first and the text where the server does not know it. The error is the
// client's.
func (s *store) run(ctx context.Context, script *redis.Script, args ...any) (any, error) {
	c, err := s.pool.GetContext(ctx)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return script.DoContext(ctx, c, redis.Args{}.AddFlat(s.keys()).Add(args...)...)
}

// Put implements [memory.Store]. The same script removes the record that it replaces,
// so no reader sees both or neither.
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
	id, err := redis.String(s.run(ctx, put, s.size(), r.Key, uuid.Must(uuid.NewV7()).String(),
		strings.Join(memory.WordsOf(r), " "), text, r.Time.UnixMilli(), packed))
	return id, s.backend.explain(ctx, err)
}

// size is how many bytes a vector has. The scripts take it as the length of a slot.
func (s *store) size() int { return s.shape.Dimension + 4 }

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

// cosine compares two vectors of [quantize]; false for one of zeros. Both must be of
// one length. Four sums let the processor work on several products at once.
func cosine(a, b []byte) (float64, bool) {
	lengths := lengthOf(a) * lengthOf(b)
	n := len(a) - 4
	a, b = a[:n], b[:n]
	var sums [4]int32 // in all 127² × the 8,192 numbers that a vector has at most
	i := 0
	for ; i+8 <= n; i += 8 { // slices of a known length are not checked again
		x, y := a[i:i+8], b[i:i+8]
		sums[0] += product(x[0], y[0]) + product(x[4], y[4])
		sums[1] += product(x[1], y[1]) + product(x[5], y[5])
		sums[2] += product(x[2], y[2]) + product(x[6], y[6])
		sums[3] += product(x[3], y[3]) + product(x[7], y[7])
	}
	for ; i < n; i++ {
		sums[0] += product(a[i], b[i])
	}
	return float64(sums[0]+sums[1]+sums[2]+sums[3]) / lengths, lengths > 0
}

// product multiplies two numbers of quantized vectors, which are signed.
func product(x, y byte) int32 { return int32(int8(x)) * int32(int8(y)) }

// lengthOf returns the length that stands at the end of a quantized vector.
func lengthOf(data []byte) float64 {
	return float64(math.Float32frombits(binary.LittleEndian.Uint32(data[len(data)-4:])))
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

// withWords has the server choose the records, four times as many as are asked for, and scores them
// here by what they say: the sets of keys know only that a record has a word.
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

// nearest reads all blocks and compares here. What is added or deleted between the reads may be
// missed; a slot whose owner changed meanwhile scores as its old vector.
func (s *store) nearest(ctx context.Context, q memory.Query) ([]memory.Match, error) {
	if s.shape.Kind != memory.Vector {
		return nil, fault.New(fault.Invalid, "memory.redis", "this memory has no vectors; search it by text")
	}
	if err := s.shape.Check(q.Vector); err != nil {
		return nil, err
	}
	used, err := redis.Int(do(ctx, s.pool, "HLEN", s.key("slots")))
	if err != nil {
		return nil, err
	}
	free, err := redis.Int(do(ctx, s.pool, "SCARD", s.key("free")))
	if err != nil || used == 0 {
		return nil, err
	}
	var names []string
	// Slots that are free keep their places, so both together say how far the blocks go.
	for block := range (used + free + perBlock - 1) / perBlock {
		names = append(names, s.key("vectors:")+strconv.Itoa(block))
	}
	blocks, err := redis.ByteSlices(do(ctx, s.pool, "MGET", redis.Args{}.AddFlat(names)...))
	if err != nil {
		return nil, err
	}
	query := quantize(q.Vector)
	var best []memory.Match // with their slots as ids
	for n, block := range blocks {
		for i := 0; len(block) >= len(query); i++ {
			if score, ok := cosine(query, block[:len(query)]); ok && score >= q.Threshold {
				best = append(best, memory.Match{Record: memory.Record{ID: strconv.Itoa(n*perBlock + i)}, Score: score})
			}
			block = block[len(query):]
		}
	}
	if best = memory.Best(best, q); len(best) == 0 {
		return nil, nil
	}
	var slots []string
	for _, m := range best {
		slots = append(slots, m.ID)
	}
	owners, err := redis.Strings(do(ctx, s.pool, "HMGET", redis.Args{s.key("slots")}.AddFlat(slots)...))
	if err != nil {
		return nil, err
	}
	scores := make(map[string]float64, len(best))
	for i, key := range owners { // "" of one that was deleted meanwhile
		scores[key] = best[i].Score
	}
	records, err := s.records(ctx, owners)
	found := make([]memory.Match, len(records))
	for i, r := range records {
		found[i] = memory.Match{Record: r, Score: scores[r.Key]}
	}
	return found, err
}

// records returns the records of keys. What was deleted meanwhile is left out. They
// come in the order of keys.
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
		parts := strings.SplitN(text, "\n", 4) // id, slot, words, JSON
		var r memory.Record
		if len(parts) == 4 && json.Unmarshal([]byte(parts[3]), &r) == nil { // else another program's
			r.ID = parts[0]
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
	args := []any{s.size()}
	for _, key := range keys {
		args = append(args, key)
	}
	n, err := redis.Int(s.run(ctx, erase, args...))
	return n, s.backend.explain(ctx, err)
}

// Drop implements [memory.Store].
func (s *store) Drop(ctx context.Context) error {
	_, err := s.run(ctx, drop, s.size(), stores, s.id)
	return s.backend.explain(ctx, err)
}
