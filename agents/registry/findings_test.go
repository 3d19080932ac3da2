package registry

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/agentls/agentls/agents/definition"
)

// with is a file of ours with more fields.
func with(name, fields string) string {
	return "---\nkind: agent\nname: " + name + "\ntitle: T\n" + fields + "---\nYou are " + name + ".\n"
}

// shown lists problems as "code severity line:column-column meant > file:line …".
func shown(problems []definition.Problem) []string {
	var list []string
	for _, p := range problems {
		line := fmt.Sprintf("%s %s %d:%d-%d %s", strings.TrimPrefix(p.Code, "agent/"), p.Severity, p.Range.Start.Line+1, p.Range.Start.Character+1, p.Range.End.Character+1, p.Meant)
		for i, r := range p.Related {
			if i == 0 {
				line += ">"
			}
			line += fmt.Sprintf(" %s:%d:%d-%d", r.URI[strings.LastIndexByte(r.URI, '/')+1:], r.Range.Start.Line+1, r.Range.Start.Character+1, r.Range.End.Character+1)
		}
		list = append(list, line)
	}
	return list
}

// TestFindingsOfFolders: folder:name is the agent of that workspace folder, and no
// other's; a subagent is named alone.
func TestFindingsOfFolders(t *testing.T) {
	w := newWorld(t)
	w.write("one", "a.md", with("a", "handoffs: [{to: two:b}, {to: one:b}, {to: nowhere:b}, {to: two:buildr}, {to: one:a}]\n"))
	w.write("two", "b.md", with("b", "handoffs: [{to: one:a}]\nroutable: false\nuser_invocable: false\n"))
	w.write("two", "builder.md", with("builder", "routable: false\nuser_invocable: false\n"))
	w.write("one", "c.md", with("c", "subagents: [two:builder, 'one:*']\n"))
	w.write("one", "alone.md", with("alone", "routable: false\nuser_invocable: false\nsubagents: [alone, one:alone]\n"))
	s := w.load()
	for file, want := range map[string][]string{
		"one/a.md": {
			"handoff-cycle info 5:17-22 > b.md:5:17-22", "handoff-target error 5:30-35 ", "handoff-target error 5:43-52 ",
			"handoff-target error 5:60-70 two:builder", "handoff-target error 5:78-83 ",
		},
		"two/b.md": {"handoff-cycle info 5:17-22 > a.md:5:17-22"}, "two/builder.md": nil, "one/c.md": {"subagent-unknown error 5:13-24 builder", "subagent-unknown error 5:26-33 "}, "one/alone.md": {"dead info 3:7-12 ", "subagent-unknown error 7:20-29 alone"},
	} {
		place, name, _ := strings.Cut(file, "/")
		if got := shown(s.Findings(find(t, s, w.path(place, name)))); !slices.Equal(got, want) {
			t.Errorf("%s:\ngot  %q\nwant %q", file, got, want)
		}
	}
}

// TestCirclesOfFolders: a circle is told where the handoffs of a run in the file's
// folder close it, of the file on the disk as of its buffer.
func TestCirclesOfFolders(t *testing.T) {
	w := newWorld(t)
	r := rand.New(rand.NewPCG(14, 1))
	texts := make(map[string]string)
	write := func(place, name, handoffs string) {
		texts[w.write(place, name+".md", with(name, "handoffs: ["+handoffs+"]\n"))] = place
	}
	write("one", "a", "{to: two:b}")
	write("two", "b", "{to: a}")
	write("two", "a", "")
	for i := range 8 {
		for _, place := range []string{"one", "two", "home"} {
			var handoffs []string
			for range r.IntN(4) {
				handoffs = append(handoffs, fmt.Sprintf("{to: %sc%d}", []string{"", "", "one:", "two:"}[r.IntN(4)], r.IntN(8)))
			}
			if r.IntN(3) > 0 {
				write(place, fmt.Sprint("c", i), strings.Join(handoffs, ", "))
			}
		}
	}
	s := w.load()
	told := 0
	for path := range texts {
		e := find(t, s, path)
		d := e.Definition
		leads := func(from *Entry) bool { // in plain words: what can be reached from there
			seen := map[*Entry]bool{from: true}
			for way := []*Entry{from}; len(way) > 0; way = way[1:] {
				for _, h := range way[0].Definition.Handoffs {
					next := s.find(d.Folder, h.To)
					if next == e && from != e {
						return true
					}
					if next != nil && !seen[next] {
						seen[next] = true
						way = append(way, next)
					}
				}
			}
			return false
		}
		want := make(map[definition.Range]bool)
		names := make(map[string]bool)
		for _, h := range d.Handoffs {
			if to := s.find(d.Folder, h.To); to != nil && !names[h.To] && leads(to) {
				want[h.Range], names[h.To] = true, true
			}
		}
		for what, problems := range map[string][]definition.Problem{"disk": s.Findings(e), "buffer": s.FindingsIn(d)} {
			got := make(map[definition.Range]bool)
			for _, p := range problems {
				if p.Code == "agent/handoff-cycle" {
					got[p.Range] = true
				}
			}
			if !maps.Equal(got, want) {
				t.Errorf("%s, %s: got %v, want %v", path, what, got, want)
			}
			told += len(got)
		}
		if d.Name == "a" && texts[path] == "one" && len(want) != 1 {
			t.Errorf("%v", want)
		}
	}
	if told < 8 {
		t.Errorf("%d circles", told)
	}
}

// TestFindingsOfTheCatalogue: what other files make wrong with one, each with its
// place and the places that it is about.
func TestFindingsOfTheCatalogue(t *testing.T) {
	w := newWorld(t)
	w.write("one", "a.md", with("a", "handoffs:\n  - to: b\n  - to: user\n  - to: nobody-at-all\n  - to: lonly\n"))
	w.write("one", "b.md", with("b", "description: '😀'\nhandoffs: [{to: c}, {to: lonely}]\n"))
	w.write("home", "c.md", with("c", "handoffs: [{description: 😀, to: a}, {to: c2}]\n"))
	w.write("one", "c2.md", with("c2", ""))
	w.write("one", "lonely.md", with("lonely", "routable: false\nuser_invocable: false\n"))
	w.write("one", "dead.md", with("dead", "routable: false\nuser_invocable: false\nhandoffs: [{to: b}]\n"))
	w.write("one", "untold.md", with("untold", "user_invocable: false\n"))
	w.write("one", "told.md", with("told", "user_invocable: false\ntriggers: {keywords: [x]}\n"))
	w.write("one", "helped.md", with("helped", "user_invocable: false\nroutable: false\n"))
	w.write("one", "helper.md", with("helper", "subagents: [helped]\n"))
	w.write("one", "judge.md", with("judge", "user_invocable: false\nroutable: false\n"))
	w.write("one", "judged.md", with("judged", "guardrails:\n  - validator: agent:judge\n  - validator: 'agent:jugde'\n  - validator: agent:Not One\n"))
	w.write("one", "x.md", with("twin", ""))
	w.write("one", "y.md", with("twin", ""))
	w.write("one", "other.md", with("yonder", ""))
	w.write("one", "z.md", with("other", ""))
	s := w.load()
	for file, want := range map[string][]string{
		"a.md":      {"handoff-cycle info 6:9-10 > b.md:6:17-18 c.md:5:34-35", "handoff-target error 8:9-22 ", "handoff-target error 9:9-14 lonely"},
		"b.md":      {"handoff-cycle info 6:17-18 > c.md:5:34-35 a.md:6:9-10"},
		"other.md":  {"file-name warning 3:7-13 > z.md:3:7-12"},
		"c2.md":     nil,
		"lonely.md": nil,
		"dead.md":   {"dead info 3:7-11 "},
		"untold.md": {"dead info 3:7-13 "},
		"told.md":   nil, "helped.md": nil, "helper.md": nil, "judge.md": nil,
		"judged.md": {"validator error 7:23-28 judge", "validator error 8:16-29 "},
		"x.md":      {"duplicate-name error 3:7-11 > y.md:3:7-11", "file-name warning 3:7-11 "},
		"y.md":      {"duplicate-name error 3:7-11 > x.md:3:7-11", "file-name warning 3:7-11 "},
	} {
		e := find(t, s, w.path("one", file))
		got := shown(s.Findings(e))
		if !slices.Equal(got, want) {
			t.Errorf("%s:\ngot  %q\nwant %q", file, got, want)
		}
		if in := shown(s.FindingsIn(e.Definition)); !slices.Equal(sorted(in), sorted(want)) {
			t.Errorf("%s as a text:\ngot  %q\nwant %q", file, in, want)
		}
		own := len(e.Problems)
		if s.Findings(e); len(e.Problems) != own {
			t.Errorf("%s: its entry was changed", file)
		}
	}
	if main := find(t, s, ""); len(s.Findings(main)) != 0 {
		t.Error(s.Findings(main))
	}
	if got := (&Snapshot{}).FindingsIn(find(t, s, w.path("one", "a.md")).Definition); len(got) != 3 {
		t.Errorf("in no catalogue: %v", shown(got))
	}
}

func sorted(list []string) []string { return slices.Sorted(slices.Values(list)) }

// TestFindingsInABuffer: a text takes the place of its file.
func TestFindingsInABuffer(t *testing.T) {
	w := newWorld(t)
	w.write("one", "a.md", with("a", "user_invocable: false\nroutable: false\nhandoffs: [{to: a2}]\n"))
	w.agent("one", "a2")
	w.write("one", "b.md", with("b", "handoffs: [{to: a}]\n"))
	w.write("two", "a.md", with("c", ""))
	s := w.load()
	parse := func(place, file, text string) *definition.Definition {
		return definition.Parse(definition.Source{Path: w.path(place, file), Folder: filepath.Join(w.root, place), Scope: definition.Project, Data: []byte(text)})
	}
	for _, test := range []struct {
		place, file, text string
		want              []string
	}{
		{"one", "a.md", with("a", "handoffs: [{to: b}]\n"), []string{"handoff-cycle info 5:17-18 > b.md:5:17-18"}},
		{"one", "a.md", with("a2", ""), []string{"file-name warning 3:7-9 ", "duplicate-name error 3:7-9 > a2.md:3:7-9"}},
		{"two", "a.md", with("a2", ""), []string{"file-name warning 3:7-9 "}},
		{"one", "new.md", with("new", "handoffs: [{to: new}, {to: a}, {to: c}]\n"), []string{"handoff-target error 5:17-20 "}},
		{"one", "new.md", with("new", "user_invocable: false\nroutable: false\n"), []string{"dead info 3:7-10 "}},
		{"one", "a.md", with("a", "user_invocable: false\nroutable: false\n"), nil},
		{"one", "b.md", with("b", "user_invocable: false\nroutable: false\nsubagents: ['*']\n"), []string{"dead info 3:7-8 "}},
	} {
		d := parse(test.place, test.file, test.text)
		if got := shown(s.FindingsIn(d)); !slices.Equal(sorted(got), sorted(test.want)) {
			t.Errorf("%s/%s %q:\ngot  %q\nwant %q", test.place, test.file, test.text, got, test.want)
		}
	}
	// main's * does not count, another agent's does.
	w.write("one", "all.md", with("all", "subagents: ['*']\n"))
	if got := w.load().FindingsIn(parse("one", "new.md", with("new", "user_invocable: false\nroutable: false\n"))); len(got) != 0 {
		t.Errorf("%v", shown(got))
	}
}

// TestFindingsOfALongCircle: one of sixteen handoffs is told, of a longer one
// nothing, since no run goes that far.
func TestFindingsOfALongCircle(t *testing.T) {
	for n, told := range map[int]bool{2: true, 16: true, 17: false, 400: false} {
		w := newWorld(t)
		for i := range n {
			w.write("one", fmt.Sprintf("a%d.md", i), with(fmt.Sprintf("a%d", i), fmt.Sprintf("handoffs: [{to: a%d}]\n", (i+1)%n)))
		}
		s := w.load()
		for _, e := range s.Entries() {
			if e.Definition.Scope == definition.System {
				continue
			}
			problems := s.Findings(e)
			if (told && (len(problems) != 1 || problems[0].Code != "agent/handoff-cycle" || len(problems[0].Related) != n-1)) || (!told && len(problems) > 0) {
				t.Errorf("%s in a circle of %d: %q", e.Definition.Name, n, shown(problems))
			}
		}
	}
}

// TestReparseAsksTheSettingsAgain: what the installation has is found again.
func TestReparseAsksTheSettingsAgain(t *testing.T) {
	w := newWorld(t)
	path := w.write("one", "a.md", with("a", "mcp: {servers: [github]}\n"))
	var servers []string
	var folders []string
	w.r.config.Installed.Servers = func(folder string) []string { folders = append(folders, folder); return servers }
	s := w.load()
	if got := shown(s.Findings(find(t, s, path))); !slices.Equal(got, []string{"mcp-unknown error 5:17-23 "}) || folders[0] != filepath.Join(w.root, "one") {
		t.Fatalf("%q %q", got, folders)
	}
	servers = []string{"github"}
	s, err := w.r.Reparse(t.Context())
	if err != nil || len(s.Findings(find(t, s, path))) != 0 {
		t.Errorf("%v %v", err, shown(s.Findings(find(t, s, path))))
	}
}

// BenchmarkFindings10k finds what is wrong with each of 10,000 files, whose
// handoffs are one long way that comes back to its beginning.
func BenchmarkFindings10k(b *testing.B) {
	r := New(generate(b, 10000))
	s, err := r.Load(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		s.graph = new(graph)
		found := 0
		for _, e := range s.Entries() {
			found += len(s.Findings(e))
		}
		if found == 0 {
			b.Fatal("nothing was found")
		}
	}
}

// BenchmarkFindingsOfAKeystroke finds what the catalogue of 1,000 makes wrong
// with one text, as after each key in an open file.
func BenchmarkFindingsOfAKeystroke(b *testing.B) {
	config := generate(b, 1000)
	s, err := New(config).Load(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	src := definition.Source{Path: filepath.Join(config.Places[0].Dir, "agent-0.md"), Folder: config.Places[0].Folder, Scope: definition.Project, Data: []byte(strings.Replace(agentText(0), "to: agent-1", "to: agnt-1", 1))}
	for b.Loop() {
		if found := s.FindingsIn(definition.Parse(src)); len(found) != 1 || found[0].Code != "agent/handoff-target" {
			b.Fatal(found)
		}
	}
}

// handingOver loads a catalogue where each agent hands over to several of its folder, or
// only to those after it.
func handingOver(t testing.TB, folders, agents, handoffs int, circles bool) *Snapshot {
	root := t.TempDir()
	r := rand.New(rand.NewPCG(85, 2))
	var config Config
	for f := range folders {
		folder := filepath.Join(root, fmt.Sprint(f))
		dir := filepath.Join(folder, ".gemini", "agents")
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		config.Places = append(config.Places, Place{Scope: definition.Project, Folder: folder, Dir: dir})
		for i := range agents {
			var fields strings.Builder
			for n := range handoffs {
				to := r.IntN(agents)
				if !circles {
					to = i + 1 + to%max(1, agents-1-i)
				}
				if to == agents {
					break
				}
				if n == 0 {
					fields.WriteString("handoffs:\n")
				}
				fmt.Fprintf(&fields, "- to: agent-%d\n", to)
			}
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("agent-%d.md", i)), []byte(with(fmt.Sprint("agent-", i), fields.String())), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	s, err := New(config).Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestNoSearchWithoutCircles: an agent that is on no circle is not searched for one,
// and a folder's circles are looked for in what its agents come to.
func TestNoSearchWithoutCircles(t *testing.T) {
	for _, folders := range []int{1, 20} {
		s := handingOver(t, folders, 400/folders, 10, false)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for _, e := range s.Entries() {
			if found := s.Findings(e); len(found) > 0 {
				t.Errorf("%s: %v", e.Definition.Name, shown(found))
			}
		}
		runtime.ReadMemStats(&after)
		if n := (after.TotalAlloc - before.TotalAlloc) / 400; n > 4<<10 {
			t.Errorf("%d folders: %d bytes for an agent", folders, n)
		}
	}
}

// BenchmarkFindingsOfMany finds what is wrong with each file of a catalogue where
// each agent hands over to several: without a circle, in one folder and in many, and
// with circles. On two cores: 40, 30 and 300 ms, where a search for each agent took
// 0.9, 0.9 and 2.4 s.
func BenchmarkFindingsOfMany(b *testing.B) {
	for _, c := range []struct {
		name                      string
		folders, agents, handoffs int
		circles                   bool
	}{
		{"dag", 1, 3000, 10, false}, {"dags", 30, 100, 5, false}, {"circles", 30, 100, 5, true},
	} {
		b.Run(c.name, func(b *testing.B) {
			s := handingOver(b, c.folders, c.agents, c.handoffs, c.circles)
			for b.Loop() {
				s.graph = new(graph)
				for _, e := range s.Entries() {
					s.Findings(e)
				}
			}
		})
	}
}

// BenchmarkFindingsOfHandoffs finds what the catalogue of 1,000 makes wrong with
// one text of 50 handoffs, where each agent hands over to ten others: 4 ms,
// where a search for each handoff took 100 to 1,500.
func BenchmarkFindingsOfHandoffs(b *testing.B) {
	w := newWorld(b)
	r := rand.New(rand.NewPCG(1, 1))
	text := func(name string, n int) string {
		var handoffs strings.Builder
		for range n {
			fmt.Fprintf(&handoffs, "- to: agent-%d\n", r.IntN(1000))
		}
		return with(name, "handoffs:\n"+handoffs.String())
	}
	for i := range 1000 {
		w.write("one", fmt.Sprintf("agent-%d.md", i), text(fmt.Sprint("agent-", i), 10))
	}
	s := w.load()
	for name, agent := range map[string]string{"back": "agent-7", "nowhere": "nobody-hands-over-here"} {
		d := definition.Parse(definition.Source{Path: w.path("one", agent+".md"), Folder: filepath.Join(w.root, "one"), Scope: definition.Project, Data: []byte(text(agent, 50))})
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				s.FindingsIn(d)
			}
		})
	}
}
