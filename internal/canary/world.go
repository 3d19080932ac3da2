package canary

import (
	"cmp"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sourcegraph/conc"
)

// World is the folder of a case, and its canary socket. It is of one test, which cleans
// it up at its end. Files are written by the process of the test; only the socket is
// used from other goroutines.
type World struct {
	// Absolute, without links, so that it can be compared with what the program says.
	Base string
	sink *httptest.Server

	mu   sync.Mutex
	sunk []string // requests that came to the socket
}

// Furnish makes a world with these files, as [Case] has them, and with a
// workspace and a home. Each connection to the socket counts, also one that sends
// nothing.
func Furnish(t testing.TB, files map[string]string) *World {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &World{Base: base}
	w.sink = httptest.NewUnstartedServer(http.HandlerFunc(w.sinks))
	w.sink.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			w.note("a connection")
		}
	}
	w.sink.Start()
	t.Cleanup(w.sink.Close)
	for _, folder := range []string{"work/", "home/.gemini/", "tmp/"} {
		w.write(t, folder, "")
	}
	for name, text := range files {
		w.write(t, name, text)
	}
	return w
}

// Path returns the path of a name below the base.
func (w *World) Path(name string) string { return filepath.Join(w.Base, filepath.FromSlash(name)) }

// Own returns a text with what is the world's own: $BASE, and $SINK and $PORT,
// the address of the canary socket.
func (w *World) Own(text string) string {
	address := w.sink.Listener.Addr().(*net.TCPAddr)
	return strings.NewReplacer("$BASE", w.Base, "$SINK", address.String(), "$PORT",
		strconv.Itoa(address.Port)).Replace(text)
}

// sinks takes what somebody sends.
func (w *World) sinks(_ http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(io.LimitReader(r.Body, 1<<16)) // what came of it
	w.note(r.Method + " " + r.RequestURI + " " + string(body))
}

// note adds to what came to the socket.
func (w *World) note(what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sunk = append(w.sunk, what)
}

// Sunk returns what came to the canary socket. An agentls that has ended has sent all
// it could; what a process that it left behind sends later is not there.
func (w *World) Sunk() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.sunk)
}

// write makes a file, folder or link as [Case.Files] has them, with the folders above.
func (w *World) write(t testing.TB, name, text string) {
	t.Helper()
	path, text := w.Path(name), w.Own(text)
	folder := filepath.Dir(path)
	if strings.HasSuffix(name, "/") {
		folder = path
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	if folder == path {
		return
	}
	if target, ok := strings.CutPrefix(text, "-> "); ok {
		if err := os.Symlink(target, path); err != nil {
			t.Fatal(err)
		}
		return
	}
	mode := os.FileMode(0o644)
	if strings.HasPrefix(text, "#!") {
		mode = 0o755
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

// SetUp runs commands in the workspace, as the person. The first that fails ends the
// test. git does not read the machine's configuration there.
func (w *World) SetUp(t testing.TB, commands []string) {
	t.Helper()
	for _, command := range commands {
		c := exec.Command("sh", "-c", w.Own(command))
		c.Dir, c.Env = w.Path("work"), append(w.Environ(), "GIT_CONFIG_NOSYSTEM=1")
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", command, err, out)
		}
	}
}

// runBeside runs something while something else goes on. It returns when both have
// ended, so other must heed done.
func (w *World) runBeside(t testing.TB, other func(*World, <-chan struct{}), run func() string) string {
	t.Helper()
	if other == nil {
		return run()
	}
	done := make(chan struct{})
	var beside conc.WaitGroup
	beside.Go(func() { other(w, done) })
	defer beside.Wait()
	defer close(done)
	return run()
}

// patience is how long a run may take; only one that hangs takes so long.
const patience = 2 * time.Minute

// Task is what agentls run is given.
type Task struct {
	Prompt string   // "" = some prompt
	Args   []string // further arguments
	Env    []string // beyond the person's own, as KEY=value
}

// Run has a binary run the agent main in the workspace, headless and with
// everything allowed that can be (--approve auto), until the model has no more to
// ask. It returns what agentls printed. Its exit code does not count, as a run that was
// refused something may have any; one that takes longer than patience is killed, and
// fails the test.
func (w *World) Run(t testing.TB, binary string, model http.Handler, task Task) string {
	t.Helper()
	listener := httptest.NewServer(model)
	defer listener.Close()
	defer listener.CloseClientConnections()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	all := []string{"run", "main", w.Own(cmp.Or(task.Prompt, "Do as you are told.")), "--approve", "auto"}
	for _, arg := range task.Args {
		all = append(all, w.Own(arg))
	}
	cmd := exec.CommandContext(ctx, binary, all...)
	cmd.Dir = w.Path("work")
	cmd.Env = append(w.Environ(), "GEMINI_API_KEY=test-key", "GOOGLE_GEMINI_BASE_URL="+listener.URL)
	for _, kv := range task.Env {
		cmd.Env = append(cmd.Env, w.Own(kv))
	}
	cmd.WaitDelay = time.Second // for who holds its output
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		t.Errorf("agentls did not end in %v: %v\n%s", patience, err, out)
	}
	return string(out)
}

// Environ is the person's environment, without a model. Nothing of this process'
// environment is in it but PATH, so no key or setting of the machine's gets in.
func (w *World) Environ() []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + w.Path("home"), "GEMINI_HOME=" + w.Path("home/.gemini"),
		"TMPDIR=" + w.Path("tmp"),
		"XDG_RUNTIME_DIR=" + w.Path("tmp"), "LANG=C.UTF-8",
	}
}
