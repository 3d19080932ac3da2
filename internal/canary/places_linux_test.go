package canary_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/agentls/agentls/internal/canary"
	"github.com/agentls/agentls/internal/editortest"
	"github.com/agentls/agentls/internal/modelserver"
)

// TestSEC15ADirectoryInTheTrustedOnesPlace: trust is of a directory, not of its
// path, also for a run without an editor.
func TestSEC15ADirectoryInTheTrustedOnesPlace(t *testing.T) {
	for name, replace := range map[string]string{
		"moved":   "mv $BASE/work $BASE/mine && mv $BASE/evil $BASE/work",
		"a link":  "mv $BASE/work $BASE/mine && ln -s evil $BASE/work",
		"mounted": "mount --bind $BASE/evil $BASE/work",
	} {
		t.Run(name, func(t *testing.T) {
			if name == "mounted" && (os.Geteuid() != 0 || exec.Command("unshare", "-m", "true").Run() != nil) {
				t.Skip("only root can mount")
			}
			try := func(binary string) bool {
				w := canary.Furnish(t, map[string]string{"evil/a.txt": ""})
				trust := exec.Command(canary.Binary(t), "trust", w.Path("work"))
				trust.Env = w.Environ()
				if out, err := trust.CombinedOutput(); err != nil {
					t.Fatalf("trust: %v\n%s", err, out)
				}
				script, err := modelserver.Parse("<call write_file {\"file_path\": \"fired\", \"content\": \"x\"}\n\n>result write_file\n< Done.\n")
				if err != nil {
					t.Fatal(err)
				}
				// The mount is of a namespace of its own, which ends with the run.
				wrapper := w.Path("wrapper")
				text := "#!/bin/sh\nexec unshare -m sh -ec '" + replace + "; cd $BASE/work; exec " + binary + " \"$@\"' sh \"$@\"\n"
				if name != "mounted" {
					text = "#!/bin/sh\n" + replace + " && cd $BASE/work && exec " + binary + " \"$@\"\n"
				}
				if err := os.WriteFile(wrapper, []byte(w.Own(text)), 0o755); err != nil {
					t.Fatal(err)
				}
				said := w.Run(t, wrapper, modelserver.New(modelserver.Config{Script: script}), canary.Task{})
				t.Logf("%s", said)
				return fired(w, "work/fired") || fired(w, "evil/fired")
			}
			if try(canary.Binary(t)) {
				t.Error("an agent changed the directory that nobody trusted")
			}
			if !try(canary.Unguarded(t)) {
				t.Error("control: without the policy it is not changed either")
			}
		})
	}
}

// TestSEC16ASecondFolderIsTrustedByItself: what is trusted is each folder, whether
// it is there at the start or comes later.
func TestSEC16ASecondFolderIsTrustedByItself(t *testing.T) {
	calls := []string{
		`write_file {"file_path": "$BASE/other/new.txt", "content": "x"}`,
		`edit_file {"file_path": "$BASE/other/a.txt", "old_string": "one", "new_string": "two"}`,
		`bash {"command": "echo x > $BASE/other/by-a-command", "access": "write"}`,
		`bash {"command": "touch there", "directory": "$BASE/other", "access": "write"}`,
	}
	for _, later := range []bool{false, true} {
		t.Run(fmt.Sprintf("later %v", later), func(t *testing.T) {
			try := func(binary string) string {
				w := canary.Furnish(t, map[string]string{"work/b.txt": "b\n", "other/a.txt": "one\n"})
				script := "> go\n<call read_file {\"file_path\": \"$BASE/other/a.txt\"}\n\n"
				for _, call := range calls {
					script += "<call " + call + "\n\n"
				}
				config := editortest.Config{Agents: editortest.Native(), Folders: []string{w.Path("other")}}
				if later {
					config.Folders = []string{w.Path("tmp")} // an editor that knows of several
				}
				d := sitAt(t, binary, w, script+"< Done.\n", config)
				d.trust("work")
				if later {
					if err := d.SetFolders(d.ctx, []string{w.Path("other")}, nil); err != nil {
						t.Fatal(err)
					}
				}
				for range calls {
					d.Answer(editortest.Reply{Choice: "once"}) // a person who does not look
				}
				if err := d.run("main", "s"); err != nil {
					t.Fatal(err)
				}
				return canary.Print(t, w.Path("other"))
			}
			untouched := canary.Print(t, canary.Furnish(t, map[string]string{"other/a.txt": "one\n"}).Path("other"))
			if got := try(canary.Binary(t)); got != untouched {
				t.Errorf("the folder that is not trusted is %s, and was %s", got, untouched)
			}
			if try(canary.Unguarded(t)) == untouched {
				t.Error("control: without the policy nothing happens either")
			}
		})
	}
}

// TestSEC56AnEditThroughTheEditorOfAHardLink: a file that is open in the editor and
// has another name outside is not edited, or is no longer the same file.
func TestSEC56AnEditThroughTheEditorOfAHardLink(t *testing.T) {
	for _, open := range []bool{true, false} {
		t.Run(fmt.Sprintf("open %v", open), func(t *testing.T) {
			try := func(binary string) string {
				w := canary.Furnish(t, map[string]string{"outside/file.txt": "mine\n"})
				w.SetUp(t, []string{"ln $BASE/outside/file.txt hard.txt"})
				d := sitAt(t, binary, w, "> go\n<call read_file {\"file_path\": \"hard.txt\"}\n\n"+
					"<call edit_file {\"file_path\": \"hard.txt\", \"old_string\": \"mine\", \"new_string\": \"yours\"}\n\n< Done.\n",
					editortest.Config{Agents: editortest.Native()})
				d.trust("work")
				if open {
					if err := d.Open(d.ctx, "hard.txt"); err != nil {
						t.Fatal(err)
					}
				}
				d.Answer(editortest.Reply{Choice: "once"})
				if err := d.run("main", "s"); err != nil {
					t.Fatal(err)
				}
				if open {
					if err := d.Save(d.ctx, "hard.txt"); err != nil {
						t.Fatal(err)
					}
				}
				text, err := os.ReadFile(w.Path("outside/file.txt"))
				if err != nil {
					t.Fatal(err)
				}
				return string(text)
			}
			if got := try(canary.Binary(t)); got != "mine\n" {
				t.Errorf("the file outside is %q", got)
			}
			if !open {
				return // a file that is not open is replaced whole, which breaks the link
			}
			if got := try(canary.Unguarded(t)); got == "mine\n" {
				t.Error("control: without the policy the file outside stays as it is too")
			}
		})
	}
}

// TestSEC129AMisspeltKeyGivesNoPower: an agent that meant to restrict its tools does
// not run with all of them because of a letter.
func TestSEC129AMisspeltKeyGivesNoPower(t *testing.T) {
	const head = "---\nkind: agent\nname: NAME\ntitle: T\nmodel: flash\nLINE---\nYou are NAME.\n"
	agent := func(name, line string) string { return strings.NewReplacer("NAME", name, "LINE", line).Replace(head) }
	lines := map[string]string{
		"key":  "tols: [read_file]\n",
		"deep": "tools:\n  alow: [read_file]\n",
	}
	files := map[string]string{"work/.gemini/agents/open.md": agent("open", "")}
	for name, line := range lines {
		files["work/.gemini/agents/"+name+".md"] = agent(name, line)
	}
	w := canary.Furnish(t, files)
	d := sit(t, w, "# when system contains You are open\n\n<call write_file {\"file_path\": \"open.txt\", \"content\": \"x\"}\n\n< Done.\n",
		editortest.Config{Agents: editortest.Native()})
	d.trust("work")
	for name := range lines {
		if err := d.run(name, name); err == nil { // to a run the model would answer that it knows no such agent
			t.Errorf("%s: the agent runs", name)
		}
	}
	if err := d.run("open", "open"); err != nil || !fired(w, "work/open.txt") {
		t.Errorf("control: without the line the same agent does not write: %v", err)
	}
}
