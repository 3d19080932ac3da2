package activity

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// golden are the logs of versions that were released, as they wrote them. They are
// never changed: UPDATE=format1-NAME go test -run REL106 ./agents/activity writes
// one more.
func golden(t *testing.T) []string {
	t.Helper()
	if name := os.Getenv("UPDATE"); strings.HasPrefix(name, "format") {
		writeGolden(t, filepath.Join("testdata", name+".jsonl"))
	}
	paths, err := filepath.Glob("testdata/format1*.jsonl")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no golden logs, %v", err)
	}
	return paths
}

// writeGolden writes a log with an event of every type, in which every field has a
// value, and what a newer version may add.
func writeGolden(t *testing.T, path string) {
	t.Helper()
	if _, err := os.Stat(path); err == nil {
		t.Fatalf("%s is there already", path)
	}
	l, _ := must(t, Config{Path: path, Session: "golden", Workspace: "0123456789abcdef", Version: "golden", Title: "A golden log", Now: clock})
	names := make([]string, 0, len(bodies))
	for name := range bodies {
		names = append(names, name)
	}
	slices.Sort(names)
	for i, name := range names {
		b, err := Decode(name, []byte("{}"))
		if err != nil {
			t.Fatal(err)
		}
		v := reflect.New(reflect.TypeOf(b)).Elem()
		fillGolden(v, name)
		l.Append(Origin{Run: "run", ParentRun: "parent", Turn: 1, Agent: []string{"a", "b"}[i%2], CorrelationID: "run"}, v.Interface().(Body), 7_000_000)
	}
	l.Append(Origin{Agent: "b"}, Unknown{Name: "graph.later", Data: json.RawMessage(`{"node":"n","x":[1,{"y":null}]}`)}, 0)
	seq := l.Last()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	var enc encoder
	line := enc.line(nil, seq+1, clock(), Origin{Agent: "b"}, Unknown{Name: "note", Data: json.RawMessage(`{"level":"info","message":"m","x_more":{"a":[1]}}`)}, []byte(`{"level":"info","message":"m","x_more":{"a":[1]}}`), 0)
	line = seal(append(line[:len(line)-crcSize-1:len(line)-crcSize-1], `,"x_color":"\u00e9"`...), 0)
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write(line); err != nil {
		t.Fatal(err)
	}
}

// fillGolden gives every field that v reaches a value.
func fillGolden(v reflect.Value, way string) {
	switch v.Kind() {
	case reflect.String:
		v.SetString("of " + way)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(7)
	case reflect.Uint32, reflect.Uint64:
		v.SetUint(7)
	case reflect.Float64:
		v.SetFloat(0.5)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fillGolden(v.Elem(), way)
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && f.Tag.Get("json") != "-" {
				fillGolden(v.Field(i), f.Name)
			}
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes([]byte(`{"raw":"` + way + `"}`))
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fillGolden(v.Index(0), way)
	}
}

// REL-106: logs of older versions are read as they were meant: every type is
// known, every field that they have is one that this version has, and no line is
// changed by reading it, by a purge of somebody else's, or by going on.
func TestREL106LogsOfOlderVersions(t *testing.T) {
	seen := map[string]bool{}
	for _, path := range golden(t) {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "golden.jsonl")
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		l, found := must(t, Config{Path: file, Session: "golden", Now: clock})
		if found.Damaged() || found.Cut > 0 {
			t.Errorf("%s: %+v", path, found)
		}
		lines := bytes.SplitAfter(bytes.TrimSuffix(data, []byte("\n")), []byte("\n"))[1:]
		entries, err := l.Read(0, 1_000)
		if err != nil || len(entries) != len(lines) {
			t.Fatalf("%s: %d events of %d, %v", path, len(entries), len(lines), err)
		}
		var ofA []uint64
		for _, e := range entries {
			event, err := e.Event("")
			if err != nil {
				t.Errorf("%s: %v", path, err)
				continue
			}
			if event.Agent == "a" {
				ofA = append(ofA, e.Seq)
			}
			if _, unknown := event.Body.(Unknown); unknown {
				continue
			}
			seen[e.Type] = true
			again, err := encodeBody(event.Body)
			if err != nil {
				t.Fatal(err)
			}
			if lost := missing(t, e.rest[e.data:e.dataEnd], again); lost != "" {
				t.Errorf("%s: this version does not know of %s: %s", path, e.Type, lost)
			}
		}
		l.Append(Origin{Agent: "c"}, Note{Level: "info", Message: "on"}, 0)
		if _, err := l.Purge("a", l.Last()); err != nil {
			t.Fatal(err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		after, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		now := bytes.SplitAfter(after, []byte("\n"))[1:]
		for i, line := range lines {
			if changed := !bytes.Equal(bytes.TrimSpace(now[i]), bytes.TrimSpace(line)); changed && !slices.Contains(ofA, uint64(i+1)) {
				t.Errorf("%s: line %d is %s, was %s", path, i+2, now[i], line)
			}
		}
	}
	for name := range bodies {
		if !seen[name] {
			t.Errorf("no golden log has a %s: write one more (see golden)", name)
		}
	}
}

// missing returns what of one JSON object another one does not have, but for
// members that only a newer version knows.
func missing(t *testing.T, of, in []byte) string {
	t.Helper()
	var want, got map[string]any
	if err := json.Unmarshal(of, &want); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(in, &got); err != nil {
		t.Fatal(err)
	}
	for name := range want {
		if strings.HasPrefix(name, "x_") {
			delete(want, name)
		}
	}
	for name := range got {
		if _, had := want[name]; !had {
			delete(got, name) // is new
		}
	}
	return cmp.Diff(want, got)
}
