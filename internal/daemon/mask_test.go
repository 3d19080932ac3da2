package daemon

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentls/agentls/internal/editortest"
)

// TestSEC115SecretsAreTakenOut: what the daemon holds is neither on disk nor sent; what
// looks like a credential is in the record and not in what is sent; what a person
// is asked is as it is.
func TestSEC115SecretsAreTakenOut(t *testing.T) {
	const held, likely = "held-by-us-12345", "DB_PASSWORD=hunter2-hunter"
	b := newBed(t, "MY_TOKEN="+held)
	work := folder(t, "", "one")
	write(t, filepath.Join(work.Path, "notes.txt"), "the token is "+held+" and "+likely+"\n")
	d := b.serve(work, "> look at it\n<call read_file {\"path\": \"notes.txt\"}\n\n>result read_file\n"+
		"<call bash {\"command\": \"touch "+likely+"\", \"access\": \"write\"}\n\n>result bash\n< It says "+held+" and "+likely+".\n")
	d.Answer(editortest.Reply{Choice: "once"})
	if result, err := d.ask("look at it"); err != nil || result.Text != "It says [masked:MY_TOKEN] and "+likely+"." {
		t.Fatalf("%+v, %v", result, err)
	}
	asked := d.Seen().Questions
	if len(asked) != 1 || !strings.Contains(string(raw(t, asked)), "hunter2-hunter") {
		t.Errorf("asked: %s", raw(t, asked))
	}
	sent := ""
	for _, e := range d.Seen().Events {
		if e.Type != "confirmation.asked" {
			sent += string(raw(t, e))
		}
	}
	past, err := d.Subscribe(t.Context(), "main", 1)
	if err != nil || len(past) == 0 {
		t.Fatalf("%d events, %v", len(past), err)
	}
	for _, e := range past {
		if e.Type != "confirmation.asked" {
			sent += string(raw(t, e))
		}
	}
	if strings.Contains(sent, held) || !strings.Contains(sent, "[masked:MY_TOKEN]") {
		t.Error("what is sent has the token")
	}
	if strings.Contains(sent, "hunter2") || !strings.Contains(sent, "DB_PASSWORD=[masked:credential]") {
		t.Error("what is sent has the password")
	}
	d.end()
	kept := b.sessionLogs()["main"]
	lines := slices.DeleteFunc(strings.Split(kept, "\n"), func(line string) bool {
		return strings.Contains(line, `"type":"model.content"`) // what a model said goes back to it unchanged
	})
	if strings.Contains(strings.Join(lines, "\n"), held) || !strings.Contains(kept, "[masked:MY_TOKEN]") {
		t.Error("the log has the token")
	}
	if !strings.Contains(kept, likely) {
		t.Error("the log, of which a context is made, does not have what only looks like a credential")
	}
}

func raw(t *testing.T, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
