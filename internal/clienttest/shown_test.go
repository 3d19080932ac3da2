package clienttest

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// asked returns the environment in which a model is asked that has a script.
func asked(t *testing.T, script string) []string {
	t.Helper()
	_, env := perform(t, script, "")
	return slices.DeleteFunc(env, func(kv string) bool {
		return !strings.HasPrefix(kv, "GEMINI_API_KEY=") && !strings.HasPrefix(kv, "GOOGLE_GEMINI_BASE_URL=")
	})
}

// TestNeovimShowsAnAnswer: an answer of several lines opens beside what the person
// looks at, and no second server is started for it. Neovim 0.7, which shows no
// documents, is told where it is.
func TestNeovimShowsAnAnswer(t *testing.T) {
	inNeovims(t, func(t *testing.T, n neovimOf) {
		env, dir := desk(t)
		_, model := perform(t, "> explain it\n< # The answer\\n\\nIt has\\nsome lines.\n", "")
		env = append(env, slices.DeleteFunc(model, func(kv string) bool {
			return !strings.HasPrefix(kv, "GEMINI_API_KEY=") && !strings.HasPrefix(kv, "GOOGLE_")
		})...)
		unfoldIn(t, dir, map[string]string{"src/x.txt": ""})
		s := n.start(t, env, filepath.Join(dir, "src"))
		s.send(":edit ../.gemini/agents/broken.md", "Enter")
		s.await("did you mean read_file")
		s.send(":lua Agent('code-fixer', 'explain it')", "Enter")
		if now := s.await("some lines.", "All of it is in "); strings.Contains(now, "All of it is in ") {
			t.Logf("where the answer is:\n%s", now)
			_, path, _ := strings.Cut(now, "All of it is in ")
			path = path[:strings.Index(path, ".md")+len(".md")]
			s.send("Enter", ":edit "+strings.ReplaceAll(path, "\n", ""), "Enter")
			s.await("some lines.")
		} else {
			t.Logf("the answer:\n%s", now)
			if !strings.Contains(now, "You are broken.") {
				t.Error("it is in the place of what the person looks at")
			}
			s.send("C-w", "k") // new windows are above
		}
		s.send(":lua get = vim.lsp.get_clients or vim.lsp.get_active_clients", "Enter")
		s.send(":lua vim.wait(60000, function() return next(vim.lsp.buf_get_clients and vim.lsp.buf_get_clients() or get({ bufnr = 0 })) end) print('servers:', #get())", "Enter")
		s.await("servers: 1")
		s.send(":qall!", "Enter")
	})
}

// TestNeovimAsksForText: free text is written into a file that opens where it is to be
// written; to save it answers.
func TestNeovimAsksForText(t *testing.T) {
	inNeovims(t, func(t *testing.T, n neovimOf) {
		if len(n.environ) == 0 {
			return // Neovim 0.7 shows no documents: it declines
		}
		env, dir := desk(t)
		env = append(env, asked(t, "> set it\n<call ask_user {\"question\": \"Which port?\"}\n\n>result ask_user contains port 8080\n< Port 8080 then.\n")...)
		s := n.start(t, env, dir)
		s.send(":edit .gemini/agents/broken.md", "Enter")
		s.await("did you mean read_file")
		s.send(":lua Agent('main', 'set it')", "Enter")
		t.Logf("the question:\n%s", s.await("write below this line"))
		s.send("iport 8080", "Escape", ":write", "Enter")
		t.Logf("answered:\n%s", s.await("Port 8080 then."))
		s.send(":qall!", "Enter")
	})
}
