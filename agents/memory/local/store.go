package local

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"modernc.org/sqlite"
	_ "modernc.org/sqlite/vec" // registers vec0

	"github.com/agentls/agentls/agents/memory"
	"github.com/agentls/agentls/internal/fault"
)

// idle is how long a connection is kept that nobody uses. The next use opens the file
// again by itself (database/sql).
const idle = 30 * time.Second

// version is that of the tables below, as user_version of the database. A database with
// a higher one is refused: a newer agentls may keep things in it that this one would
// lose.
const version = 1

// tables are made with the store. %s is a table for vectors, if it has some.
const tables = `
CREATE TABLE about (json TEXT NOT NULL);
CREATE TABLE records (
	number   INTEGER PRIMARY KEY,
	id       TEXT NOT NULL,
	key      TEXT NOT NULL UNIQUE,
	content  TEXT NOT NULL,
	agent    TEXT NOT NULL,
	session  TEXT NOT NULL,
	time     INTEGER NOT NULL,
	taint    TEXT NOT NULL,
	metadata TEXT NOT NULL
);
CREATE INDEX records_by_time ON records (time);
CREATE VIRTUAL TABLE words USING fts5 (text, tokenize = 'unicode61 remove_diacritics 0');
INSERT INTO words (words, rank) VALUES ('secure-delete', 1);
%s
PRAGMA user_version = 1;`

// vectors is the table for vectors. Chunks are small: each is as large on disk when it
// holds one vector as when it is full.
const vectors = `CREATE VIRTUAL TABLE vectors USING vec0 (vector float[%d] distance_metric=cosine, chunk_size=64);`

const columns = `records.id, records.key, records.content, records.agent, records.session, records.time, records.taint, records.metadata`

// store is a database. It has one connection: what an agent remembers is little, and one
// writer at a time is all that SQLite lets anyway. Its fields do not change after
// openStore; the database does the locking.
type store struct {
	backend *Backend
	path    string
	// It tells whether path still is that file.
	info  fs.FileInfo // of the file that was opened
	place memory.Place
	shape memory.Shape
	db    *sql.DB
}

// about is what a database says of itself.
type about struct {
	memory.Place
	memory.Shape
}

// openStore opens the database at path. An empty one becomes the store of a place. It
// closes what it opened when it fails. Transactions take the lock for writing at once
// (immediate): one that reads first and then writes could not wait for another process,
// and would fail.
func openStore(ctx context.Context, b *Backend, path string, info fs.FileInfo, p memory.Place,
	make *memory.Shape) (*store, error) {
	dsn := "file:" + (&url.URL{Path: path}).EscapedPath() +
		"?_txlock=immediate&_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=secure_delete(1)"
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		return nil, unavailable("the memory "+path+" cannot be opened", err)
	}
	db.SetMaxOpenConns(1)
	db.SetConnMaxIdleTime(idle)
	s := &store{backend: b, path: path, info: info, place: p, db: db}
	if err := s.read(ctx, make); err != nil {
		err = s.explain(err)
		s.close()
		return nil, err
	}
	return s, nil
}

// read reads what the store is, or makes it. It makes it in the transaction that saw
// that it is empty, so that of two daemons one makes it and the other reads it.
func (s *store) read(ctx context.Context, make *memory.Shape) error {
	return s.within(ctx, func(tx *sql.Tx) error {
		var is int
		if err := tx.QueryRowContext(ctx, "PRAGMA user_version").Scan(&is); err != nil {
			return err
		}
		switch {
		case is > version:
			return fault.New(fault.Invalid, "memory.local",
				"the memory %s was written by a newer agentls; update this one", s.path)
		case is == 0 && make == nil:
			return memory.None(s.place)
		case is == 0:
			s.shape = *make
			return s.make(ctx, tx)
		}
		var text string
		var known about
		if err := tx.QueryRowContext(ctx, "SELECT json FROM about").Scan(&text); err != nil {
			return err
		}
		if err := json.Unmarshal([]byte(text), &known); err != nil {
			return fault.New(fault.Unavailable, "memory.local",
				"the memory %s does not say what it is: %w", s.path, err)
		}
		s.place, s.shape = known.Place, known.Shape
		return nil
	})
}

// make writes the tables, and what the store is.
func (s *store) make(ctx context.Context, tx *sql.Tx) error {
	ofVectors := ""
	if s.shape.Kind == memory.Vector {
		ofVectors = fmt.Sprintf(vectors, s.shape.Dimension)
	}
	if _, err := tx.ExecContext(ctx, fmt.Sprintf(tables, ofVectors)); err != nil {
		return err
	}
	text, err := json.Marshal(about{s.place, s.shape})
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, "INSERT INTO about (json) VALUES (?)", string(text))
	return err
}

func (s *store) close() { _ = s.db.Close() } // what was acknowledged is on disk

// within does something in a transaction. What do returns comes back as it is; explain
// turns it into a fault.
func (s *store) within(ctx context.Context, do func(*sql.Tx) error) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := do(tx); err != nil {
		_ = tx.Rollback() // the first error says more
		return err
	}
	return tx.Commit()
}

// SQLite's primary result codes that say what a person can do.
const (
	codeBusy    = 5
	codeCorrupt = 11
	codeFull    = 13
	codeNotADB  = 26
)

// explain returns an error of the database as a fault. A damaged database is put aside.
// Errors of the context and faults stay what they are.
func (s *store) explain(err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if _, is := errors.AsType[*fault.Error](err); is {
		return err
	}
	e, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return unavailable("the memory "+s.path+" failed", err)
	}
	switch e.Code() & 0xff {
	case codeBusy:
		return unavailable("the memory is used by another process for too long; try again", err)
	case codeFull:
		return unavailable("nothing was changed in the memory, since the disk is full: free some space and try again",
			err)
	case codeCorrupt, codeNotADB:
		s.close() // where files that are open cannot be renamed; Open sees that it has gone
		to := s.backend.aside(s)
		if to == "" {
			return unavailable("the memory "+s.path+" is damaged", err)
		}
		return unavailable(fmt.Sprintf("the memory of %s is damaged and is kept aside as %s; what is stored from now on begins a new one", s.place, to), err)
	}
	return unavailable("the memory "+s.path+" failed", err)
}

// Shape implements [memory.Store].
func (s *store) Shape() memory.Shape { return s.shape }

// Put implements [memory.Store]. A record that is replaced keeps its number, and with
// it its place among those with equal words.
func (s *store) Put(ctx context.Context, r memory.Record, vector []float32) (string, error) {
	if err := s.shape.Check(vector); err != nil {
		return "", err
	}
	id := uuid.Must(uuid.NewV7()).String()
	err := s.within(ctx, func(tx *sql.Tx) error {
		var number int64
		err := tx.QueryRowContext(ctx,
			`INSERT INTO records (id, key, content, agent, session, time, taint, metadata) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (key) DO UPDATE SET content = excluded.content, agent = excluded.agent, session = excluded.session,
				time = excluded.time, taint = excluded.taint, metadata = excluded.metadata
			RETURNING number, id`,
			id, r.Key, r.Content, r.Agent, r.Session, r.Time.UnixMilli(), r.Taint,
			string(r.Metadata)).Scan(&number, &id)
		if err != nil {
			return err
		}
		if err := forget(ctx, tx, s.shape, number); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, "INSERT INTO words (rowid, text) VALUES (?, ?)", number,
			strings.Join(memory.WordsOf(r), " ")); err != nil {
			return err
		}
		// Nothing is like a vector of zeros, and sqlite-vec would take it for the nearest.
		if s.shape.Kind == memory.Vector && slices.ContainsFunc(vector, func(x float32) bool { return x != 0 }) {
			_, err = tx.ExecContext(ctx, "INSERT INTO vectors (rowid, vector) VALUES (?, ?)", number, encode(vector))
		}
		return err
	})
	return id, s.explain(err)
}

// forget takes a record out of the indexes. Put does so before it adds the record's own
// words and vector anew.
func forget(ctx context.Context, tx *sql.Tx, shape memory.Shape, number int64) error {
	if _, err := tx.ExecContext(ctx, "DELETE FROM words WHERE rowid = ?", number); err != nil {
		return err
	}
	if shape.Kind != memory.Vector {
		return nil
	}
	_, err := tx.ExecContext(ctx, "DELETE FROM vectors WHERE rowid = ?", number)
	return err
}

// encode returns a vector as sqlite-vec takes it: float32, little endian.
func encode(vector []float32) []byte {
	data := make([]byte, 0, 4*len(vector))
	for _, x := range vector {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(x))
	}
	return data
}

// Find implements [memory.Store].
func (s *store) Find(ctx context.Context, q memory.Query) ([]memory.Match, error) {
	if q.Limit <= 0 || len(q.Words)+len(q.Vector) == 0 {
		return nil, nil
	}
	var found []memory.Match
	var err error
	if q.Vector != nil {
		found, err = s.nearest(ctx, q)
	} else {
		found, err = s.withWords(ctx, q)
	}
	if err != nil {
		return nil, s.explain(err)
	}
	return memory.Best(found, q), nil
}

// nearest returns the records whose vectors have the least cosine distance. It is exact: sqlite-vec
// compares with each.
func (s *store) nearest(ctx context.Context, q memory.Query) ([]memory.Match, error) {
	if s.shape.Kind != memory.Vector {
		return nil, fault.New(fault.Invalid, "memory.local", "this memory has no vectors; search it by text")
	}
	if err := s.shape.Check(q.Vector); err != nil {
		return nil, err
	}
	rows, err := s.db.QueryContext(ctx, `SELECT `+columns+`, near.distance
		FROM (SELECT rowid, distance FROM vectors WHERE vector MATCH ? AND k = ?) AS near JOIN records ON records.number = near.rowid`, encode(q.Vector), q.Limit)
	if err != nil {
		return nil, err
	}
	var found []memory.Match
	err = each(rows, func() error {
		var distance sql.NullFloat64 // a vector of zeros has none
		r, err := scan(rows, &distance)
		if err == nil && distance.Valid {
			found = append(found, memory.Match{Record: r, Score: min(1-distance.Float64, 1)})
		}
		return err
	})
	return found, err
}

// perWord is how many records are looked at for each word of a query that no record
// answers whole: the newest. So a word that each record has costs no more than another.
const perWord = 300

// withWords looks for records with all the words first, of which the newest are as good as
// any, and then for those with most of them. Words go in as quoted phrases, so that
// nothing in them is an operator of FTS5.
func (s *store) withWords(ctx context.Context, q memory.Query) ([]memory.Match, error) {
	phrases := make([]string, len(q.Words))
	for i, word := range q.Words {
		phrases[i] = `"` + strings.ReplaceAll(word, `"`, ``) + `"`
	}
	numbers, err := s.match(ctx, strings.Join(phrases, " AND "), q.Limit)
	if err == nil && len(numbers) < q.Limit && len(phrases) > 1 {
		has := make(map[int64]int)
		for _, phrase := range phrases {
			some, err := s.match(ctx, phrase, perWord)
			if err != nil {
				return nil, err
			}
			for _, number := range some {
				has[number]++
			}
		}
		for _, number := range numbers { // they may be older than those of each word
			has[number] = len(phrases)
		}
		numbers = slices.SortedFunc(maps.Keys(has), func(a, b int64) int { return cmp.Or(has[b]-has[a], int(b-a)) })
		numbers = numbers[:min(len(numbers), 2*q.Limit)]
	}
	if err != nil || len(numbers) == 0 {
		return nil, err
	}
	list, err := json.Marshal(numbers)
	if err != nil {
		return nil, err
	}
	rows, err := s.db.QueryContext(ctx,
		"SELECT "+columns+" FROM records WHERE number IN (SELECT value FROM json_each(?))", string(list))
	if err != nil {
		return nil, err
	}
	var found []memory.Match
	err = each(rows, func() error {
		r, err := scan(rows)
		if err == nil {
			found = append(found, memory.Match{Record: r, Score: memory.WordScore(q.Words, r)})
		}
		return err
	})
	return found, err
}

// match returns the numbers of the newest records that an expression fits. Numbers grow
// with time, so the order needs no sorting.
func (s *store) match(ctx context.Context, expression string, limit int) ([]int64, error) {
	rows, err := s.db.QueryContext(ctx, "SELECT rowid FROM words WHERE words MATCH ? ORDER BY rowid DESC LIMIT ?",
		expression, limit)
	if err != nil {
		return nil, err
	}
	var numbers []int64
	err = each(rows, func() error {
		var number int64
		err := rows.Scan(&number)
		numbers = append(numbers, number)
		return err
	})
	return numbers, err
}

// each calls do for each row. It closes rows; with the store's one connection, rows
// that stay open would block everything else.
func each(rows *sql.Rows, do func() error) error {
	defer rows.Close()
	for rows.Next() {
		if err := do(); err != nil {
			return err
		}
	}
	return rows.Err()
}

// scan reads a row of columns, and what follows them.
func scan(rows *sql.Rows, more ...any) (memory.Record, error) {
	var r memory.Record
	var at int64
	var metadata string
	err := rows.Scan(append([]any{&r.ID, &r.Key, &r.Content, &r.Agent, &r.Session, &at, &r.Taint,
		&metadata}, more...)...)
	r.Time = time.UnixMilli(at).UTC()
	if metadata != "" {
		r.Metadata = json.RawMessage(metadata)
	}
	return r, err
}

// List implements [memory.Store].
func (s *store) List(ctx context.Context, skip, limit int) ([]memory.Record, int, error) {
	var all []memory.Record
	count := 0
	err := s.db.QueryRowContext(ctx, "SELECT count(*) FROM records").Scan(&count)
	if err != nil {
		return nil, 0, s.explain(err)
	}
	rows, err := s.db.QueryContext(ctx,
		"SELECT "+columns+" FROM records ORDER BY time DESC, number DESC LIMIT ? OFFSET ?", limit, skip)
	if err != nil {
		return nil, 0, s.explain(err)
	}
	err = each(rows, func() error {
		r, err := scan(rows)
		all = append(all, r)
		return err
	})
	return all, count, s.explain(err)
}

// Delete implements [memory.Store]. The write-ahead log is emptied after the deletion:
// where another process reads at that moment the error says that a copy may remain,
// with the number of records that are deleted.
func (s *store) Delete(ctx context.Context, keys ...string) (int, error) {
	n := 0
	err := s.within(ctx, func(tx *sql.Tx) error {
		for _, key := range keys {
			var number int64
			err := tx.QueryRowContext(ctx, "DELETE FROM records WHERE key = ? RETURNING number", key).Scan(&number)
			if errors.Is(err, sql.ErrNoRows) {
				continue
			}
			if err == nil {
				err = forget(ctx, tx, s.shape, number)
			}
			if err != nil {
				return err
			}
			n++
		}
		if n == 0 {
			return nil
		}
		// Words of what was deleted may still separate pages of the index.
		_, err := tx.ExecContext(ctx, "INSERT INTO words (words) VALUES ('rebuild')")
		return err
	})
	if err != nil {
		return 0, s.explain(err)
	}
	if n == 0 {
		return 0, nil
	}
	return n, s.explain(s.emptyLog(ctx))
}

// emptyLog brings the write-ahead log into the file and truncates it.
func (s *store) emptyLog(ctx context.Context) error {
	var busy, log, done int
	if err := s.db.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &log, &done); err != nil {
		return err
	}
	if busy != 0 {
		return fault.New(fault.Unavailable, "memory.local",
			"it is deleted, but another process reads the memory, so a copy may stay in %s-wal; delete it once more to erase that", s.path)
	}
	return nil
}

// Drop implements [memory.Store]. The file goes last: without it the rest belongs to
// nothing, and with it the store would still be there.
func (s *store) Drop(context.Context) error {
	if info, err := os.Stat(s.path); err != nil || !os.SameFile(info, s.info) {
		return nil // it has gone already
	}
	s.backend.forget(s)
	for _, beside := range []string{"-wal", "-shm", ""} {
		if err := os.Remove(s.path + beside); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return unavailable("the memory could not be removed", err)
		}
	}
	return nil
}
