package daemon

import (
	"context"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sourcegraph/conc"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/model/gemini"
	"github.com/agentls/agentls/internal/editortest"
	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/internal/modelserver"
	"github.com/agentls/agentls/internal/wire"
	"github.com/agentls/agentls/workspace"
)

// TestHowModelsAreReached is the table of what a person may set, and where.
func TestHowModelsAreReached(t *testing.T) {
	credentials := filepath.Join(t.TempDir(), "c.json")
	write(t, credentials, "{}")
	vertex := func(location string) gemini.Vertex {
		return gemini.Vertex{Project: "p", Location: location, Credentials: credentials}
	}
	adc := "GOOGLE_APPLICATION_CREDENTIALS=" + credentials
	for name, c := range map[string]struct {
		environ       []string
		user, project string
		want          account
		command, says string
	}{
		"a key":             {environ: []string{"GEMINI_API_KEY=k", "GOOGLE_GEMINI_BASE_URL=http://x"}, want: account{key: "k", url: "http://x"}},
		"two keys":          {environ: []string{"GEMINI_API_KEY=k", "GOOGLE_API_KEY=g"}, want: account{key: "g"}},
		"no key":            {command: "export GEMINI_API_KEY=…", says: "export GEMINI_API_KEY"},
		"a key in settings": {user: `{"env": {"GEMINI_API_KEY": "s", "OTHER": 5}}`, want: account{key: "s"}},
		"both":              {environ: []string{"GEMINI_API_KEY=k"}, user: `{"env": {"GEMINI_API_KEY": "s"}}`, want: account{key: "k"}},
		"SEC-04 a project":  {project: `{"env": {"GEMINI_API_KEY": "evil"}}`, command: "export GEMINI_API_KEY=…", says: "export GEMINI_API_KEY"},
		"SEC-04 a project's URL": {environ: []string{"GEMINI_API_KEY=k"}, want: account{key: "k"},
			project: `{"env": {"GOOGLE_GEMINI_BASE_URL": "http://evil", "GOOGLE_GENAI_USE_VERTEXAI": "1"}, "security": {"auth": {"selectedType": "vertex-ai"}}}`},
		"Vertex AI": {environ: []string{"GOOGLE_GENAI_USE_VERTEXAI=TRUE", "GOOGLE_CLOUD_PROJECT=p", "GOOGLE_CLOUD_LOCATION=eu", adc, "GOOGLE_VERTEX_BASE_URL=http://v", "GOOGLE_GEMINI_BASE_URL=http://x"},
			want: account{onVertex: true, url: "http://v", vertex: vertex("eu")}},
		"a region":               {environ: []string{"GOOGLE_GENAI_USE_VERTEXAI=1", "GOOGLE_CLOUD_PROJECT=p", "GOOGLE_CLOUD_REGION=r", adc}, want: account{onVertex: true, vertex: vertex("r")}},
		"the project wins":       {environ: []string{"GOOGLE_GENAI_USE_VERTEXAI=1", "GOOGLE_CLOUD_PROJECT=p", "GOOGLE_API_KEY=g", adc}, want: account{onVertex: true, vertex: vertex("")}},
		"the newer switch wins":  {environ: []string{"GOOGLE_GENAI_USE_ENTERPRISE=false", "GOOGLE_GENAI_USE_VERTEXAI=1", "GEMINI_API_KEY=k"}, want: account{key: "k"}},
		"express mode":           {environ: []string{"GOOGLE_GENAI_USE_VERTEXAI=1", "GOOGLE_API_KEY=g", "GOOGLE_CLOUD_LOCATION=eu"}, want: account{onVertex: true, key: "g"}},
		"Vertex AI in settings":  {user: `{"security": {"auth": {"selectedType": "vertex-ai"}}, "env": {"GOOGLE_CLOUD_PROJECT": "p"}}`, environ: []string{adc}, want: account{onVertex: true, vertex: vertex("")}},
		"the environment wins":   {user: `{"security": {"auth": {"selectedType": "vertex-ai"}}}`, environ: []string{"GOOGLE_GENAI_USE_VERTEXAI=0", "GEMINI_API_KEY=k"}, want: account{key: "k"}},
		"another way to sign in": {user: `{"security": {"auth": {"selectedType": "gemini-api-key"}}}`, environ: []string{"GEMINI_API_KEY=k"}, want: account{key: "k"}},
		"no project":             {environ: []string{"GOOGLE_GENAI_USE_VERTEXAI=1", adc}, command: "export GOOGLE_CLOUD_PROJECT=…", says: "set GOOGLE_CLOUD_PROJECT"},
		"no credentials":         {environ: []string{"GOOGLE_GENAI_USE_VERTEXAI=1", "GOOGLE_CLOUD_PROJECT=p"}, command: gemini.Login, says: "no credentials"},
		"credentials that are not there": {environ: []string{"GOOGLE_GENAI_USE_VERTEXAI=1", "GOOGLE_CLOUD_PROJECT=p", "GOOGLE_APPLICATION_CREDENTIALS=" + credentials + "x"},
			command: gemini.Login, says: credentials + "x"},
	} {
		b := newBed(t, c.environ...)
		if c.user != "" {
			write(t, filepath.Join(b.config.Home, "settings.json"), c.user)
		}
		h := &daemon{Config: b.config, ctx: t.Context(), trust: workspace.NewTrust(b.config.trustFile(), time.Now), first: folder(t, c.project).Canonical}
		got, err := h.account()
		if c.says == "" {
			if got != c.want || err != nil {
				t.Errorf("%s: %+v, %v; want %+v", name, got, err, c.want)
			}
			continue
		}
		reason, data := fault.ReasonOf(err)
		if reason != fault.AuthRequired || data["command"] != c.command || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v %v %v", name, err, reason, data)
		}
	}
}

func TestCredentialsOfGcloudAreFound(t *testing.T) {
	for _, c := range []struct{ variable, dir, file string }{
		{"HOME", "", ".config/gcloud/application_default_credentials.json"},
		{"CLOUDSDK_CONFIG", "", "application_default_credentials.json"},
		{"APPDATA", "", "gcloud/application_default_credentials.json"},
	} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, c.file), "{}")
		h := &daemon{Config: Config{Environ: []string{c.variable + "=" + dir, "HOME=/nowhere"}}}
		if got, err := h.credentials(""); got != filepath.Join(dir, c.file) || err != nil {
			t.Errorf("%s: %q, %v", c.variable, got, err)
		}
	}
	h := &daemon{Config: Config{Environ: []string{"HOME=/nowhere", "GCE_METADATA_HOST=127.0.0.1:1"}}}
	if got, err := h.credentials(""); got != "" || err != nil {
		t.Errorf("on Google Cloud: %q, %v", got, err)
	}
}

func TestTheClientIsAnotherWhenTheAccountIs(t *testing.T) {
	b := newBed(t)
	h := &daemon{Config: b.config, ctx: t.Context(), trust: workspace.NewTrust(b.config.trustFile(), time.Now), table: b.build().Agents.Table}
	if _, _, err := h.provider("flash"); err == nil {
		t.Fatal("there is a client without a key")
	}
	user := filepath.Join(b.config.Home, "settings.json")
	write(t, user, `{"env": {"GEMINI_API_KEY": "one"}}`)
	h.settings.forget()
	first, retries, err := h.provider("flash")
	if err != nil {
		t.Fatal(err)
	}
	if again, same, err := h.provider("models/pro"); again != first || same != retries || err != nil {
		t.Errorf("the same account has two clients: %v", err)
	}
	write(t, user, `{"env": {"GEMINI_API_KEY": "two"}}`)
	h.settings.forget()
	if second, others, err := h.provider("flash"); second == first || others == retries || err != nil {
		t.Errorf("another key has the same client: %v", err)
	}
	for _, id := range []string{"openai/x", "claude-x", "gpt-x"} {
		if _, _, err := h.provider(id); fault.KindOf(err) != fault.NotFound {
			t.Errorf("%s: %v", id, err)
		}
	}
	h.closeClient()
}

// TestARunOnVertexAI is a whole run through the daemon. The models are scripted
// ones that answer by Vertex AI's paths; the real ones are never called.
func TestARunOnVertexAI(t *testing.T) {
	script, err := modelserver.Parse("> Say hello\n<call ls {\"path\": \".\"}\n\n>result ls\n< Hello from Vertex.\n")
	if err != nil {
		t.Fatal(err)
	}
	server := modelserver.New(modelserver.Config{Script: script})
	work := folder(t, "", "one")
	b := newBed(t, "GOOGLE_GENAI_USE_VERTEXAI=true", "GOOGLE_CLOUD_PROJECT=my-project", "GOOGLE_CLOUD_LOCATION=europe-west4", "GEMINI_API_KEY=not-this-one")
	write(t, filepath.Join(b.config.Home, "nobody", ".config", "gcloud", "application_default_credentials.json"),
		`{"type": "authorized_user", "client_id": "id", "client_secret": "s", "refresh_token": "r"}`)
	b.config.Transport = revoking{modelserver.Transport(server), server}
	near, far := net.Pipe()
	var daemon conc.WaitGroup
	daemon.Go(func() {
		if _, err := Serve(context.WithoutCancel(t.Context()), far, b.config); err != nil {
			t.Error(err)
		}
	})
	editor, err := editortest.Connect(t.Context(), near, editortest.Config{Dir: work.Path, Agents: editortest.Native()})
	if err != nil {
		t.Fatal(err)
	}
	result, err := editor.Run(t.Context(), &wire.RunParams{Agent: "one", Model: "flash", Input: []activity.ContentBlock{{Type: "text", Text: "Say hello"}}})
	if err != nil || result.Text != "Hello from Vertex." {
		t.Errorf("%+v, %v", result, err)
	}
	if err := editor.Close(); err != nil {
		t.Error(err)
	}
	daemon.Wait()
	if err := server.Done(); err != nil {
		t.Error(err)
	}
	for _, r := range server.Requests() {
		if !r.Vertex || r.Project != "my-project" || r.Location != "europe-west4" {
			t.Errorf("%+v", r)
		}
	}
	if n := len(server.Grants()); n != 2 {
		t.Errorf("signed in %d times: once, and once more after the token was refused", n)
	}
}

// revoking refuses the first token after the first answer.
type revoking struct {
	http.RoundTripper
	server *modelserver.Server
}

func (r revoking) RoundTrip(q *http.Request) (*http.Response, error) {
	if len(r.server.Requests()) == 1 && len(r.server.Grants()) == 1 {
		r.server.Revoke()
	}
	return r.RoundTripper.RoundTrip(q)
}
