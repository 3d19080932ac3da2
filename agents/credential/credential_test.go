package credential_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/agentls/agentls/agents/credential"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/agents/tool/tooltest"
	"github.com/agentls/agentls/internal/fault"
)

// project is a workspace folder with a reader of its credential files.
type project struct {
	t      *testing.T
	reader *credential.Reader
	env    *tool.Env
	deny   []tool.Rule
}

func newProject(t *testing.T, files map[string]string) *project {
	folder, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	survey := tool.NewSurvey(time.Now)
	p := &project{t: t, reader: credential.NewReader(os.Environ(), time.Now), env: &tool.Env{
		Folder: folder, Folders: []string{folder}, Trusted: true,
	}}
	p.env.Survey = func(ctx context.Context, folder string) (tool.Places, error) { return survey.Look(ctx, folder, p.deny) }
	for name, text := range files {
		p.put(name, text)
	}
	return p
}

func (p *project) path(name string) string {
	return filepath.Join(p.env.Folder, filepath.FromSlash(name))
}

func (p *project) put(name, text string) {
	p.t.Helper()
	path := p.path(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

func (p *project) git(args ...string) {
	p.t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=n", "-c", "user.email=n@example.com", "-c", "commit.gpgsign=false"}, args...)...)
	cmd.Dir = p.env.Folder
	if out, err := cmd.CombinedOutput(); err != nil {
		p.t.Fatalf("git %v: %v %s", args, err, out)
	}
}

// prints checks what becomes of a command's output.
func (p *project) prints(text, want string) {
	p.t.Helper()
	m, err := p.reader.Masker(p.t.Context(), p.env)
	if err != nil {
		p.t.Fatal(err)
	}
	if got := string(m.MaskKnown([]byte(text))); got != want {
		p.t.Errorf("%q becomes %q, not %q", text, got, want)
	}
}

// TestSEC38ValuesOfTheWorkTreeAndOfHead, as they are at each call.
func TestSEC38ValuesOfTheWorkTreeAndOfHead(t *testing.T) {
	tooltest.Program(t, "git")
	p := newProject(t, map[string]string{".env": "A_KEY=first-5ecret\n", "sub/.ssh/notes": "keep this-5ecret-0\n", "a.txt": "B_KEY=other-5ecret\n", ".env.example": "A_KEY=sample-5ecret\n"})
	const text = "first-5ecret second-5ecret third-5ecret this-5ecret-0 other-5ecret sample-5ecret"
	p.prints(text, "[masked:A_KEY in .env] second-5ecret third-5ecret [masked:keep in sub/.ssh/notes] other-5ecret sample-5ecret")
	p.git("init", "-q")
	p.prints("first-5ecret", "[masked:A_KEY in .env]") // there is no commit yet
	p.git("add", ".")
	p.git("commit", "-qm", "one")
	p.put(".env", "A_KEY=2econd-5ecret\n") // of the same length
	p.prints("first-5ecret 2econd-5ecret", "[masked:A_KEY in HEAD:.env] [masked:A_KEY in .env]")
	p.git("commit", "-qam", "two")
	p.git("pack-refs", "--all")
	p.put(".env", "A_KEY=third-5ecret\n")
	p.prints("first-5ecret 2econd-5ecret third-5ecret", "first-5ecret [masked:A_KEY in HEAD:.env] [masked:A_KEY in .env]")
	if err := os.Remove(p.path(".env")); err != nil {
		t.Fatal(err)
	}
	p.prints("2econd-5ecret third-5ecret", "[masked:A_KEY in HEAD:.env] third-5ecret")
	p.git("rm", "-q", "--cached", ".env")
	p.git("commit", "-qm", "three")
	p.prints("2econd-5ecret", "2econd-5ecret")

	p.put(".env", "A_KEY=fourth-5ecret\n")
	p.env.Reveal = []string{p.path(".env")} // the person's rule lets agents read it
	p.prints("fourth-5ecret", "fourth-5ecret")
}

// TestSEC38FilesOfOneNameInTwoFolders: each folder's value is masked, by a marker of
// its own.
func TestSEC38FilesOfOneNameInTwoFolders(t *testing.T) {
	one := newProject(t, map[string]string{".env": "A_KEY=first-5ecret\n"})
	two := newProject(t, map[string]string{".env": "A_KEY=second-5ecret\n"})
	one.env.Folders = append(one.env.Folders, two.env.Folder)
	one.prints("first-5ecret second-5ecret", "[masked:A_KEY in .env] [masked:A_KEY in .env-2]")
	two.put(".env", "A_KEY=first-5ecret\n")
	one.prints("first-5ecret", "[masked:A_KEY in .env]")
}

// TestSEC38FilesThatARuleDenies are masked where they are credential files: without a
// sandbox a command can read them.
func TestSEC38FilesThatARuleDenies(t *testing.T) {
	p := newProject(t, map[string]string{
		".env": "A_KEY=first-5ecret\n", "private/.env": "B_KEY=second-5ecret\n", "private/notes.txt": "C_KEY=third-5ecret\n",
	})
	for _, text := range []string{"read_file(.env)", "read_file(private)"} {
		rule, err := tool.ParseRule(text, nil)
		if err != nil {
			t.Fatal(err)
		}
		p.deny = append(p.deny, rule)
	}
	places, err := p.env.Survey(t.Context(), p.env.Folder)
	if err != nil || len(places.Credentials) > 0 || len(places.Denied) != 2 {
		t.Fatalf("the survey lists %v, %v", places, err)
	}
	p.prints("first-5ecret second-5ecret third-5ecret", "[masked:A_KEY in .env] [masked:B_KEY in private/.env] third-5ecret")
}

// TestSEC38StatesOfTerraform: what a word of its name calls a secret is masked, and no
// name of a thing.
func TestSEC38StatesOfTerraform(t *testing.T) {
	p := newProject(t, map[string]string{"terraform.tfstate": `{"resources": [{"instances": [{"attributes": {
		"id": "vpc-0a1b2c3d4e5f", "private_key_pem": "pem-5ecret", "secret_string": "str1ng-5ecret", "master-password": "m4ster-5ecret",
		"availability_zone": "eu-west-1a-zone"}}]}]}`})
	p.prints("vpc-0a1b2c3d4e5f eu-west-1a-zone", "vpc-0a1b2c3d4e5f eu-west-1a-zone")
	p.prints("pem-5ecret", "[masked:private_key_pem in terraform.tfstate]")
	p.prints("str1ng-5ecret", "[masked:secret_string in terraform.tfstate]")
	p.prints("m4ster-5ecret", "[masked:master-password in terraform.tfstate]")
}

// TestSEC48HeadOfAFolderThatNobodyTrusts is not read: git does what its files say.
func TestSEC48HeadOfAFolderThatNobodyTrusts(t *testing.T) {
	tooltest.Program(t, "git")
	p := newProject(t, map[string]string{".env": "A_KEY=first-5ecret\n"})
	p.git("init", "-q")
	p.git("add", ".")
	p.git("commit", "-qm", "one")
	p.put(".env", "A_KEY=second-5ecret\n")
	p.env.Strange = p.env.Folders
	p.prints("first-5ecret second-5ecret", "first-5ecret [masked:A_KEY in .env]")
}

// TestSEC38WithoutHead: a git that cannot read HEAD leaves its values unknown, and then
// no command runs; one that says there is no commit, or that there is no git, does not.
func TestSEC38WithoutHead(t *testing.T) {
	tooltest.Program(t, "git")
	if runtime.GOOS == "windows" {
		t.Skip("no scripts stand for programs")
	}
	p := newProject(t, map[string]string{".env": "A_KEY=first-5ecret\n"})
	p.git("init", "-q")
	dir := t.TempDir()
	program := filepath.Join(dir, "git")
	is := func(list, read string) {
		t.Helper()
		text := "#!/bin/sh\ncase \"$*\" in *' version') echo git version 2.50.0;; *ls-tree*) " + list + ";; *cat-file*) " + read + ";; esac\n"
		if err := os.WriteFile(program, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
		p.reader = credential.NewReader([]string{"PATH=" + dir}, time.Now)
	}
	const one = `printf '100644 blob 0123\t.env\0'`
	for _, how := range [][2]string{{"kill -9 $$", ""}, {one, "kill -9 $$"}, {one, "exit 0"}} {
		is(how[0], how[1])
		if _, err := p.reader.Masker(t.Context(), p.env); fault.KindOf(err) != fault.Unavailable || !strings.Contains(err.Error(), "HEAD") {
			t.Errorf("%s: %v", how, err)
		}
	}
	is("exit 128", "")
	p.prints("first-5ecret", "[masked:A_KEY in .env]")
	is(one, "echo 0123 missing")
	p.prints("first-5ecret", "[masked:A_KEY in .env]")
	p.reader = credential.NewReader(nil, time.Now)
	p.prints("first-5ecret", "[masked:A_KEY in .env]")
}

// TestACallThatIsCancelledDoesNotWait for another one that goes on.
func TestACallThatIsCancelledDoesNotWait(t *testing.T) {
	p := newProject(t, nil)
	looks, release, ended := make(chan bool), make(chan bool), make(chan bool)
	p.env.Survey = func(context.Context, string) (tool.Places, error) {
		close(looks)
		<-release
		return tool.Places{Complete: true}, nil
	}
	go func() {
		defer close(ended)
		if _, err := p.reader.Masker(context.Background(), p.env); err != nil {
			t.Error(err)
		}
	}()
	<-looks
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.reader.Masker(ctx, p.env); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	close(release)
	<-ended
}

// TestSEC57CredentialFilesThatAreNone: nothing waits for one that is no regular file,
// and one that is too large is left out.
func TestSEC57CredentialFilesThatAreNone(t *testing.T) {
	p := newProject(t, map[string]string{".env": "A_KEY=first-5ecret\n", ".env.large": strings.Repeat("A_KEY=large-5ecret\n", 100_000)})
	if err := exec.Command("mkfifo", p.path(".env.pipe")).Run(); err != nil {
		t.Fatal(err)
	}
	p.prints("first-5ecret large-5ecret", "[masked:A_KEY in .env] large-5ecret")
}
