package clienttest

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

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
