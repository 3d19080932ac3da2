package canary_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentls/agentls/internal/wire"
)

// planted are 30 secrets: twenty that the daemon holds, and ten that only look
// like credentials. None is spelled out, so that no scanner of this repository
// takes them for real ones.
func planted() (held, likely []string) {
	for n := range 20 {
		held = append(held, fmt.Sprintf("held-%02d-0f1e2d3c", n))
	}
	word := strings.Repeat("aB3dE6gH", 5)
	for n, form := range []string{
		"AI" + "za%.35s", "gh" + "p_%s", "sk" + "-%s", "np" + "m_%s", "x-api-key: %s", "Bearer %s", "DB_PASSWORD=%s", "glp" + "at-%s", "ya" + "29.%s", "xox" + "b-%s",
	} {
		likely = append(likely, fmt.Sprintf(form, fmt.Sprintf("%02d", n)+word[:36]))
	}
	return held, likely
}

// TestSEC119AndSEC115NothingPlantedIsLogged: with the log at its most, a session
// in which tools, models, errors and settings say 30 secrets leaves none of them
// in the log, on standard error, in a notification or in what is shown later; and
// the person who is asked sees the command as it is.
func TestSEC119AndSEC115NothingPlantedIsLogged(t *testing.T) {
	held, likely := planted()
	all := slices.Concat(held, likely)
	environ := []string{"AGENTLS_DEBUG=1"}
	for n, secret := range held[:10] {
		environ = append(environ, fmt.Sprintf("CANARY_%c_TOKEN=%s", 'A'+n, secret))
	}
	env, servers := map[string]string{}, map[string]any{}
	for n, secret := range held[10:] {
		if n < 5 {
			env[fmt.Sprintf("CANARY_%c_SECRET", 'A'+n)] = secret
		} else {
			servers[fmt.Sprintf("s%d", n)] = map[string]any{"command": "none", "headers": map[string]string{"Authorization": "Bearer " + secret}}
		}
	}
	settings, err := json.Marshal(map[string]any{"env": env, "mcpServers": servers,
		"tools": map[string]any{"exclude": []string{"web_fetch(" + held[3], "x(" + likely[0]}, "sandbox": map[string]any{"mode": "off"}}, held[4]: 1})
	if err != nil {
		t.Fatal(err)
	}
	quote := func(v any) string {
		text, _ := json.Marshal(v) // a string
		return string(text)
	}
	command := "cat planted planted >&2; cat planted; echo " + likely[6] + "; exit 3"
	cut := held[7]
	script := "<thought Looking: " + held[5] + " and " + likely[2] + "\n< It begins with " + cut[:9] + "\n<" + " " + cut[9:] + " and more.\n" +
		"<call bash {\"command\": " + quote(command) + "}\n\n" +
		">result bash\n<call read_file {\"path\": \"planted\"}\n<call read_file {\"path\": " + quote("none/"+held[8]) + "}\n<call grep {\"pattern\": \"held|aB3\"}\n\n" +
		">result read_file\n<call bash {\"command\": " + quote("cat planted no-such-file-"+held[9]) + "}\n\n" +
		">result bash\n<status 503 the key " + held[0] + " and " + likely[1] + " in https://x/?key=" + held[1] + " retry-after=1\n\n" +
		">result bash\n< Done: " + held[2] + " " + likely[0] + "\n"
	s := strange(t, setting{script: script, environ: environ, files: map[string]string{
		"work/planted": strings.Join(all, "\n") + "\n", "home/.gemini/settings.json": string(settings),
	}})
	for _, name := range []string{held[6], likely[1], "x " + likely[4]} { // what was asked for is in the error, which is logged
		p := &wire.RunParams{Agent: name, Input: wire.InputBlocks{{Type: "text", Text: "go"}}}
		if err := s.Call(t.Context(), wire.MethodRun, p, new(wire.RunResult)); err == nil {
			t.Fatalf("%q runs", name)
		}
	}
	s.runs("look at " + likely[3])
	if _, err := s.Subscribe(t.Context(), "main", 1); err != nil {
		t.Fatal(err)
	}
	seen := s.Seen()
	s.leave()

	hits := func(where, text string, of []string) (n int) {
		for _, secret := range of {
			bare := secret[strings.LastIndexAny(secret, " =")+1:]
			if i := strings.Index(text, bare); i >= 0 {
				n++
				if where != "" {
					t.Errorf("%s has %s: …%s", where, bare, text[max(0, i-160):min(len(text), i+60)])
				}
			}
		}
		return n
	}
	log := ""
	var kept []string
	err = filepath.WalkDir(filepath.Join(s.home, ".gemini"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == "settings.json" {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		switch filepath.Ext(path) {
		case ".log":
			log += string(data)
		case ".jsonl":
			for line := range strings.Lines(string(data)) {
				if !strings.Contains(line, `"type":"model.content"`) { // what a model said goes back to it unchanged
					kept = append(kept, line)
				}
			}
		default:
			hits(path, string(data), held)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(log, "level=DEBUG") {
		t.Fatalf("the log is not at its most: %s", log)
	}
	hits("the log", log, all)
	hits("standard error", s.errors.String(), all)
	for _, m := range slices.Concat(seen.Messages, []string{seen.Status.Message}) {
		hits("a message", m, all)
	}
	for _, e := range seen.Events {
		if e.Type == "confirmation.asked" {
			continue
		}
		text, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		hits("the notification "+e.Type, string(text), all)
	}
	hits("the record", withoutCalls(kept), held)
	asked, err := json.Marshal(seen.Questions)
	if err != nil {
		t.Fatal(err)
	}
	if len(seen.Questions) == 0 || !strings.Contains(string(asked), likely[6]) {
		t.Errorf("the person does not see the command that would run: %s", asked)
	}
	if n := hits("", s.file("planted"), all); n != 30 {
		t.Fatalf("the control does not fire: %d of 30", n)
	}
	t.Log("positive control: the same search finds all 30 in the file that the tools printed")
}

// withoutCalls returns the lines of a session that are not about a call: a call
// is kept as the model made it.
func withoutCalls(lines []string) string {
	var rest []string
	for _, line := range lines {
		if !strings.Contains(line, `"args":`) {
			rest = append(rest, line)
		}
	}
	return strings.Join(rest, "")
}
