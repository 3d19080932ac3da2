package canary_test

import (
	"os"
	"testing"

	"github.com/agentls/agentls/internal/canary"
)

func TestMain(m *testing.M) { os.Exit(canary.Main(m)) }

// TestSEC17ThroughTheBinary: the example of how the kit is used.
func TestSEC17ThroughTheBinary(t *testing.T) {
	for name, path := range map[string]string{"settings": ".gemini/settings.json", "a hook": ".git/hooks/pre-commit", "CI": ".github/workflows/x.yml"} {
		canary.Hold(t, canary.Case{
			Name:   name,
			Files:  map[string]string{"work/.git/": ""},
			Calls:  []canary.Call{{Tool: "write_file", Args: canary.Args{"file_path": path, "content": "{}"}}},
			Canary: []string{"work/" + path},
			Want:   "denied",
		})
	}
}

// TestSEC20ThroughTheBinary: a secret is not read, whatever asks for it.
func TestSEC20ThroughTheBinary(t *testing.T) {
	const secret = "PRIVATE-TEXT-OF-A-KEY"
	files := map[string]string{"home/.ssh/id_rsa": secret, "work/key": "-> $BASE/home/.ssh/id_rsa"}
	for name, call := range map[string]canary.Call{
		"read":         {Tool: "read_file", Args: canary.Args{"file_path": "$BASE/home/.ssh/id_rsa"}},
		"through link": {Tool: "read_file", Args: canary.Args{"file_path": "key"}},
		"cat":          canary.Shell("cat ~/.ssh/id_rsa"),
	} {
		canary.Hold(t, canary.Case{Name: name, Files: files, Calls: []canary.Call{call}, Leak: secret})
	}
}

// TestSEC31RedirectToASocket: a redirection is no way off the machine.
func TestSEC31RedirectToASocket(t *testing.T) {
	canary.Hold(t, canary.Case{Name: "a socket of the shell", Calls: []canary.Call{canary.Shell("echo secret > /dev/tcp/127.0.0.1/$PORT")}})
}

// TestSEC02NoTrustHeadless: in a folder that nobody has trusted, agents only
// read, whatever the mode.
func TestSEC02NoTrustHeadless(t *testing.T) {
	for name, call := range map[string]canary.Call{
		"writes":    {Tool: "write_file", Args: canary.Args{"file_path": "new.txt", "content": "x"}},
		"a command": canary.Shell("touch new.txt"),
	} {
		canary.Hold(t, canary.Case{Name: name, Untrusted: true, Calls: []canary.Call{call}, Canary: []string{"work/new.txt"}, Want: "not trusted"})
	}
}
