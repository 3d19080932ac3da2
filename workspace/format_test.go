//go:build unix

package workspace

import (
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The files in testdata/format1 are what version 0.1 writes. They are never changed:
// a later version that writes another format gets another folder, and reads this one.

// older puts a file of an earlier version where this one looks for it.
func older(t *testing.T, name, to string, replace ...string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "format1", name))
	must(t, err)
	must(t, os.MkdirAll(filepath.Dir(to), 0o700))
	must(t, os.WriteFile(to, []byte(strings.NewReplacer(replace...).Replace(string(text))), 0o600))
}

// REL-106: what a person decided about folders with an earlier version holds, and is
// still there when this one adds to it.
func TestREL106TrustOfAnEarlierVersion(t *testing.T) {
	tr, dir := newTrust(t)
	project, old, refused := mkdir(t, dir, "project"), mkdir(t, dir, "old"), mkdir(t, dir, "refused")
	info, err := os.Stat(project)
	must(t, err)
	of, err := json.Marshal(identityOf(project, info))
	must(t, err)
	var was struct {
		Inode json.Number `json:"inode"`
		Born  string      `json:"born"`
	}
	must(t, json.Unmarshal(of, &was))
	older(t, "trust.json", tr.file, "FOLDER", dir, "4242", was.Inode.String(), "2001-01-01T00:00:00Z", cmp.Or(was.Born, "0001-01-01T00:00:00Z"))
	check := func() {
		t.Helper()
		for folder, want := range map[string]bool{project: true, old: true, refused: false} {
			ok, record, err := tr.Lookup(folder)
			if err != nil || ok != want || record.Folder != folder {
				t.Errorf("%s: %v, %+v, %v", folder, ok, record, err)
			}
		}
		if _, record, _ := tr.Lookup(project); len(record.Items) != 2 {
			t.Errorf("approved are %+v", record.Items)
		}
	}
	check()
	must(t, tr.Set(t.Context(), mkdir(t, dir, "another"), true))
	check()
}

// REL-106: so do the answers for always.
func TestREL106PermissionsOfAnEarlierVersion(t *testing.T) {
	p, _ := newPermissions(t)
	older(t, "permissions.json", p.file)
	if got := holds(t, p, "/w"); got != "1 2" {
		t.Errorf("there are %q", got)
	}
	must(t, p.Keep(t.Context(), "/w", one("3")))
	all, err := p.Of("/w")
	must(t, err)
	if len(all) != 3 || all[0].Shape != "workspace" || all[0].Project != "/w" || !all[1].Prefix || all[1].Access != "write" || strings.Join(all[1].Argv, " ") != "npm run" {
		t.Errorf("%+v", all)
	}
}
