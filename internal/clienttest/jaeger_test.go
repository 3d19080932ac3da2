package clienttest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// jaegerModule is a module whose only purpose is to build Jaeger: it would bring hundreds of
// modules into ours.
const jaegerModule = `module jaeger

go 1.26

require github.com/jaegertracing/jaeger v1.76.0

replace github.com/Shopify/sarama => github.com/Shopify/sarama v1.33.0
`

// jaeger returns the program of Jaeger, all in one: the one of PATH, or it is built, which
// takes minutes the first time.
func jaeger(t *testing.T) string {
	t.Helper()
	if program, err := exec.LookPath("jaeger-all-in-one"); err == nil {
		return program
	}
	if testing.Short() {
		t.Skip("jaeger-all-in-one is not in PATH, and it is built without -short only")
	}
	dir := unfold(t, map[string]string{"go.mod": jaegerModule})
	c := exec.Command("go", "build", "-mod=mod", "-ldflags=-s -w", "-o", "jaeger", "github.com/jaegertracing/jaeger/cmd/all-in-one")
	c.Dir = dir
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("Jaeger cannot be built: %v: %s", err, last(out))
	}
	return filepath.Join(dir, "jaeger")
}

// last is the last line of a program's output.
func last(out []byte) string {
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return lines[len(lines)-1]
}

// startJaeger starts Jaeger on loopback and returns where it takes spans and where it is asked.
func startJaeger(t *testing.T) (collector, query string) {
	t.Helper()
	program := jaeger(t)
	args := []string{"--memory.max-traces=100"}
	address := make(map[string]string)
	var taken []net.Listener
	for _, name := range []string{
		"admin.http", "collector.grpc-server", "collector.http-server", "collector.otlp.grpc", "collector.otlp.http", "query.grpc-server", "query.http-server",
	} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		address[name] = l.Addr().String()
		args = append(args, "--"+name+".host-port="+address[name])
		taken = append(taken, l)
	}
	for _, l := range taken { // each port is another's
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	c := exec.Command(program, args...)
	var out bytes.Buffer
	c.Env, c.Stdout, c.Stderr = append(os.Environ(), "SPAN_STORAGE_TYPE=memory"), &out, &out
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait() // it was killed
		if t.Failed() {
			t.Logf("Jaeger said: %s", last(out.Bytes()))
		}
	})
	return "http://" + address["collector.otlp.http"], "http://" + address["query.http-server"]
}

// jaegerSpan is a span as Jaeger's API tells it.
type jaegerSpan struct {
	TraceID, SpanID, OperationName string
	References                     []struct{ RefType, SpanID string }
	Duration                       int64
	Tags                           []struct {
		Key   string
		Value any
	}
}

func (s jaegerSpan) tag(key string) string {
	for _, tag := range s.Tags {
		if tag.Key == key {
			return fmt.Sprint(tag.Value)
		}
	}
	return ""
}

// TestJaegerShowsASession: a session that is traced by otlp is one trace in Jaeger, a tree of
// agents, turns, models and tools with the GenAI attributes.
func TestJaegerShowsASession(t *testing.T) {
	collector, query := startJaeger(t)
	_, env := perform(t, `# when system contains You debug

> it fails
<call ls {"dir_path": "."}
<usage in=1200 out=30 cached=1000 thoughts=12

>result ls
<call delegate_to_agent {"agent_name": "scout", "query": "look"}

>result delegate_to_agent
<call transfer_to_fixer {"reason": "it needs a fix"}

# when system contains You scout

> look
<call complete_task {"result": "seen"}

# when system contains You fix

> it fails
< Fixed.
`, `{"agents": {"tracing": {"enabled": true, "backend": "otlp", "captureContent": true}}}`)
	agent := func(name, more, says string) string {
		return "---\nkind: agent\nname: " + name + "\ntitle: " + name + "\ndescription: Works.\nmodel: flash\n" + more + "---\n" + says + "\n"
	}
	dir := unfold(t, map[string]string{
		".gemini/agents/debugger.md": agent("debugger", "handoffs: [{to: fixer}]\nsubagents: [scout]\n", "You debug."),
		".gemini/agents/scout.md":    agent("scout", "", "You scout."),
		".gemini/agents/fixer.md":    agent("fixer", "", "You fix."),
	})
	deadline := time.Now().Add(time.Minute)
	for { // it listens
		r, err := http.Get(query + "/api/services")
		if err == nil {
			_ = r.Body.Close()
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
		<-time.After(50 * time.Millisecond) // Jaeger tells nobody
	}
	c := exec.Command(build(t), "run", "debugger", "it fails")
	c.Dir, c.Env = dir, append(env, "AGENTLS_TRUST=1", "OTEL_EXPORTER_OTLP_ENDPOINT="+collector)
	if out, err := c.CombinedOutput(); err != nil || bytes.Contains(out, []byte("traces are lost")) {
		t.Fatalf("%v\n%s", err, out)
	}
	spans := askJaeger(t, query, deadline)
	byID := make(map[string]jaegerSpan)
	for _, s := range spans {
		byID[s.SpanID] = s
	}
	var paths []string
	for _, s := range spans {
		path := s.OperationName
		for p := s; len(p.References) == 1 && p.References[0].RefType == "CHILD_OF"; {
			p = byID[p.References[0].SpanID]
			path = p.OperationName + " > " + path
		}
		if s.TraceID != spans[0].TraceID {
			t.Errorf("%s is of another trace", path)
		}
		if s.tag("gen_ai.conversation.id") != "main" {
			t.Errorf("%s: %v", path, s.Tags)
		}
		paths = append(paths, path)
	}
	model := byOperation(t, spans, "chat ").OperationName
	handed := "invoke_agent debugger > handoff debugger → fixer > invoke_agent fixer"
	for _, want := range []string{
		"invoke_agent debugger > turn turn > " + model, "invoke_agent debugger > turn turn > execute_tool ls",
		"invoke_agent debugger > turn turn > execute_tool delegate_to_agent > invoke_agent scout > turn turn > " + model,
		handed + " > turn turn > " + model,
	} {
		if !slices.Contains(paths, want) {
			t.Errorf("%q is not among\n%s", want, strings.Join(paths, "\n"))
		}
	}
	first := byOperation(t, spans, "chat ")
	for key, want := range map[string]string{
		"gen_ai.operation.name": "chat", "gen_ai.provider.name": "gcp.gen_ai", "gen_ai.agent.name": "debugger", "gen_ai.usage.input_tokens": "1200",
		"gen_ai.usage.output_tokens": "30", "gen_ai.request.model": strings.TrimPrefix(model, "chat "), "span.kind": "client",
	} {
		if got := first.tag(key); got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
	if got := byOperation(t, spans, "execute_tool ls"); got.tag("gen_ai.tool.name") != "ls" || !strings.Contains(got.tag("gen_ai.tool.call.arguments"), "dir_path") {
		t.Errorf("%v", got.Tags)
	}
}

// byOperation is the first span whose name begins so, and whose usage is known where it is a model's.
func byOperation(t *testing.T, spans []jaegerSpan, prefix string) jaegerSpan {
	t.Helper()
	i := slices.IndexFunc(spans, func(s jaegerSpan) bool {
		return strings.HasPrefix(s.OperationName, prefix) && (prefix != "chat " || s.tag("gen_ai.usage.input_tokens") == "1200")
	})
	if i < 0 {
		t.Fatalf("there is no span %s…", prefix)
	}
	return spans[i]
}

// askJaeger asks for the one trace, until its last span is there.
func askJaeger(t *testing.T, query string, deadline time.Time) []jaegerSpan {
	t.Helper()
	for {
		var found struct {
			Data []struct{ Spans []jaegerSpan }
		}
		r, err := http.Get(query + "/api/traces?service=agentls")
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r.Body)
		_ = r.Body.Close()
		if err == nil {
			err = json.Unmarshal(data, &found)
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, data)
		}
		if len(found.Data) == 1 && slices.ContainsFunc(found.Data[0].Spans, func(s jaegerSpan) bool { return s.OperationName == "invoke_agent fixer" }) &&
			slices.ContainsFunc(found.Data[0].Spans, func(s jaegerSpan) bool { return s.OperationName == "invoke_agent debugger" }) {
			return found.Data[0].Spans
		}
		if time.Now().After(deadline) {
			t.Fatalf("not all spans came: %s", data)
		}
		<-time.After(50 * time.Millisecond) // Jaeger tells nobody
	}
}
