package exchange

import (
	"strings"
	"testing"

	"github.com/agentls/agentls/agents/definition"
)

// FuzzExchange: any bytes as any tool's file are imported or refused, without a
// panic; what is imported loads, may do no more, and returns; what is exported
// loads there, may do no more, and has no key that nobody wrote; what it may do there
// and means nothing here is told. The seeds in testdata have the oddities of public
// agent files.
func FuzzExchange(f *testing.F) {
	const ours, theirs = "---\nkind: agent\nname: a\ntitle: A\n", "---\nname: a\ndescription: d\n"
	for pick := range uint8(len(dialects) + 1) {
		f.Add(pick, []byte("---\nname: mine\nisolation: a: b # c\n---\nx\n")) // read after a repair
		f.Add(pick, []byte(ours+"description: b: c\nhooks: x\n---\nx\n"))
		for _, tools := range [...]string{"", ", deny: ['read_m*']", ", confirmation: {require_confirmation: [grep]}"} { // what others can do is no more
			f.Add(pick, []byte(ours+"tools: {allow: [read_file, ls, glob, grep]"+tools+"}\n---\nx\n"))
		}
		for _, value := range [...]string{"True", "TRUE", "1e3", "1e5", "1e308", "1e-400", ".inf", "-.inf", ".nan", "~", "0x1F", "1_000", "12:30"} {
			f.Add(pick, []byte(ours+"hooks: "+value+"\n---\nx\n"))
			f.Add(pick, []byte(ours+"hooks: ["+value+", {a: "+value+"}]\n---\nx\n"))
			f.Add(pick, []byte(ours+"hooks: [{"+value+": x}]\n---\nx\n"))
			f.Add(pick, []byte(theirs+"hooks: ["+value+", a]\n---\nx\n"))
		}
		f.Add(pick, []byte(theirs+"memory: 1e3\n---\nx\n"))
		f.Add(pick, []byte("---\nname: mine\npermissions: x\npermission: y\n---\nx\n")) // two with one reason
		f.Add(pick, []byte("---\ndescription: d\ntools: {\"*\": False, Nonsense: True}\n---\nx\n"))
		for _, value := range [...]string{"[{}]", `["map[x"]`, "[{}, {x: {}}]", "{}", "{x: }", "[[{x: {command: y}}]]"} {
			f.Add(pick, []byte(theirs+"mcpServers: "+value+"\n---\nx\n"))
		}
	}
	f.Fuzz(func(t *testing.T, pick uint8, data []byte) { exchanges(t, pick, data) })
}

// exchanges fails where a file that pick says the tool of is not exchanged as
// FuzzExchange promises.
func exchanges(t fataler, pick uint8, data []byte) {
	all := append([]definition.Dialect{""}, dialects...)
	if len(data) > 8<<10 {
		data = data[:8<<10]
	}
	from := all[int(pick)%len(all)]
	text := data
	im, err := Import("some.md", data, Options{From: from})
	if err != nil && im != nil {
		t.Fatalf("an import that failed has a result")
	}
	if err == nil {
		original := definition.Parse(definition.Source{Path: "some.md", Scope: definition.Project, Data: data, Dialect: im.From})
		ours := definition.Parse(definition.Source{Path: im.Name + ".md", Data: im.Text})
		if ok, why := ours.Usable(); !ok || ours.Dialect != definition.Agentls {
			t.Fatalf("%v\n%s", why, im.Text)
		}
		if gained := gains(original, ours); gained != "" {
			t.Fatalf("import gains %s\n%s", gained, im.Text)
		}
		if ours.Prompt != original.Prompt {
			t.Fatalf("prompt %q became %q", original.Prompt, ours.Prompt)
		}
		back, err := Export(im.Name+".md", im.Text, im.From, Options{})
		if err != nil {
			t.Fatalf("%v\n%s", err, im.Text)
		}
		tree, _ := definition.ReadTree("", string(data))
		if !strings.Contains(string(back.Data), tree.Text[tree.Front.Start:tree.Front.End]) {
			t.Fatalf("front-matter %q became %q", tree.Text[tree.Front.Start:tree.Front.End], back.Data)
		}
		text = im.Text
	}
	for _, to := range dialects {
		out, err := Export("some.md", text, to, Options{})
		if err != nil {
			continue
		}
		allTold(t, out, to)
		if im != nil && im.From == to {
			continue
		}
		ours := definition.Parse(definition.Source{Path: "some.md", Data: text})
		theirs := definition.Parse(source(out.File, string(out.Data), to))
		if ok, why := theirs.Usable(); !ok && ours.Dialect == definition.Agentls {
			t.Fatalf("to %s: %v\n%s", to, why, out.Data)
		}
		if tree, ok := definition.ReadTree("", string(text)); ours.Dialect != definition.Agentls || !ok || (originalOf(tree) != nil && originalOf(tree).from == to) {
			continue // it is, or may be, the original
		}
		if gained := exceeds(ours, theirs); gained != "" {
			t.Fatalf("export to %s gains %s\n%s", to, gained, out.Data)
		}
		onlyWritten(t, string(text), out, to)
	}
}

// BenchmarkImportLargest imports a file of the largest size.
func BenchmarkImportLargest(b *testing.B) {
	text := "---\nname: Some Agent\ndescription: " + strings.Repeat("it is long ", 2000) + "end\ntools: Read, Bash\n---\n" + strings.Repeat("Do it well.\n", 17<<10)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := Import("a.md", []byte(text), Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkThereAndBack imports a usual file and exports it to each tool.
func BenchmarkThereAndBack(b *testing.B) {
	text := []byte("---\nname: Some Agent\ndescription: Does it\ntools: Read, Bash, Grep\nvibe: calm\n---\n" + strings.Repeat("Do it well.\n", 200))
	for b.Loop() {
		im, err := Import("a.md", text, Options{})
		if err != nil {
			b.Fatal(err)
		}
		for _, to := range dialects {
			if _, err := Export(im.Name+".md", im.Text, to, Options{}); err != nil {
				b.Fatal(err)
			}
		}
	}
}
