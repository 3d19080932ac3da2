package gemini_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sourcegraph/conc"

	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/agents/model/gemini"
	"github.com/agentls/agentls/agents/model/modeltest"
	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/internal/modelserver"
)

// person are the credentials that gcloud writes for a person.
const person = `{"type": "authorized_user", "client_id": "id.apps.example", "client_secret": "the-client-secret",
 "refresh_token": "the-refresh-token", "quota_project_id": "who-pays"}`

// robot returns the file of a service account that signs in at url.
var robot = sync.OnceValue(func() func(url string) string {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		panic(err)
	}
	private := string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	return func(url string) string {
		return mustJSON(map[string]string{"type": "service_account", "project_id": "from-the-file", "client_email": "robot@example.com",
			"private_key_id": "1", "private_key": private, "token_uri": url})
	}
})

// credentials writes a file of credentials.
func credentials(t testing.TB, content string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "credentials.json")
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// vertex returns a client of Vertex AI with the credentials of a file.
func vertex(t testing.TB, file string, transport http.RoundTripper) *gemini.Client {
	t.Helper()
	c, err := gemini.New(gemini.Config{
		Vertex: &gemini.Vertex{Project: "my-project", Location: "europe-west4", Credentials: file},
		Table:  model.NewTable(nil), Now: time.Now, Transport: transport,
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// says returns a server whose answers are texts, some at first errors.
func says(t testing.TB, script string) *modelserver.Server {
	t.Helper()
	s, err := modelserver.Parse(script)
	if err != nil {
		t.Fatal(err)
	}
	return modelserver.New(modelserver.Config{Script: s})
}

func TestConformanceVertexLocal(t *testing.T) {
	file := credentials(t, person)
	modeltest.Run(t, modeltest.Harness{ID: "gemini-3.8-flash", Bubble: true,
		IdleTimeout: gemini.IdleTimeout, HeaderTimeout: gemini.HeaderTimeout,
		New: func(t testing.TB, answers ...modeltest.Answer) modeltest.Subject {
			server := modelserver.New(modelserver.Config{Script: write(t, answers)})
			local := modelserver.Transport(server)
			var transport http.RoundTripper = local
			if len(answers) > 0 && answers[0].Fault == modeltest.Unreachable {
				transport = roundTripper(func(*http.Request) (*http.Response, error) {
					return nil, fmt.Errorf("dial tcp: connection refused")
				})
			}
			return modeltest.Subject{Model: vertex(t, file, transport), Sent: sent(server), Idle: local.Wait}
		}})
}

func TestConformanceVertexLoopback(t *testing.T) {
	modeltest.Run(t, modeltest.Harness{ID: "gemini-2.5-flash",
		New: func(t testing.TB, answers ...modeltest.Answer) modeltest.Subject {
			server := modelserver.New(modelserver.Config{Script: write(t, answers)})
			h := httptest.NewServer(server)
			c, err := gemini.New(gemini.Config{BaseURL: h.URL, Table: model.NewTable(nil), Now: time.Now,
				Vertex: &gemini.Vertex{Project: "my-project", Credentials: credentials(t, robot()(h.URL+"/token"))}})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(h.Close)
			t.Cleanup(func() { _ = c.Close() })
			if len(answers) > 0 && answers[0].Fault == modeltest.Unreachable {
				h.Close()
			}
			return modeltest.Subject{Model: c, Sent: sent(server), Idle: func() { _ = c.Close(); h.Close() }}
		}})
}

func TestVertexRequests(t *testing.T) {
	for name, c := range map[string]struct {
		file, grant, quota string
	}{
		"person": {person, "refresh_token", "who-pays"},
		"robot":  {robot()("https://oauth.example/token"), "urn:ietf:params:oauth:grant-type:jwt-bearer", ""},
	} {
		server := says(t, "< one\n\n< two\n\n< three\n")
		local := modelserver.Transport(server)
		var seen []*http.Request
		client := vertex(t, credentials(t, c.file), roundTripper(func(q *http.Request) (*http.Response, error) {
			seen = append(seen, q)
			return local.RoundTrip(q)
		}))
		for _, want := range []string{"one", "two", "three"} {
			if text, _, _, err := listen(t, client, hello()); text != want || err != nil {
				t.Fatalf("%s: %q, %v", name, text, err)
			}
		}
		if len(seen) != 4 || len(server.Grants()) != 1 || server.Grants()[0].Get("grant_type") != c.grant {
			t.Errorf("%s: %d requests, %v", name, len(seen), server.Grants())
		}
		for _, q := range seen[1:] {
			if q.URL.Host != "europe-west4-aiplatform.googleapis.com" ||
				q.URL.Path != "/v1beta1/projects/my-project/locations/europe-west4/publishers/google/models/gemini-3.8-flash:streamGenerateContent" {
				t.Errorf("%s: %s", name, q.URL)
			}
			if q.Header.Get("Authorization") != "Bearer token-1-of-the-script" || q.Header.Get("X-Goog-Api-Key") != "" || q.Header.Get("X-Goog-User-Project") != c.quota {
				t.Errorf("%s: %v", name, q.Header)
			}
		}
		for _, r := range server.Requests() {
			if !r.Vertex || r.Project != "my-project" || r.Location != "europe-west4" || r.Model != "gemini-3.8-flash" {
				t.Errorf("%s: %+v", name, r)
			}
		}
	}
}

func TestVertexHosts(t *testing.T) {
	for _, c := range []struct {
		vertex    gemini.Vertex
		key, host string
		project   bool
	}{
		{gemini.Vertex{Project: "p"}, "", "aiplatform.googleapis.com", true},
		{gemini.Vertex{Project: "p", Location: "global"}, "", "aiplatform.googleapis.com", true},
		{gemini.Vertex{Project: "p", Location: "eu"}, "", "aiplatform.eu.rep.googleapis.com", true},
		{gemini.Vertex{Project: "example.com:p", Location: "us-central1"}, key, "us-central1-aiplatform.googleapis.com", true},
		{gemini.Vertex{}, key, "aiplatform.googleapis.com", false},
		{gemini.Vertex{Location: "us-central1"}, key, "aiplatform.googleapis.com", false},
	} {
		server := says(t, "< hello\n")
		c.vertex.Credentials = credentials(t, person)
		var last *http.Request
		client, err := gemini.New(gemini.Config{Vertex: &c.vertex, APIKey: c.key, Table: model.NewTable(nil), Now: time.Now,
			Transport: roundTripper(func(q *http.Request) (*http.Response, error) {
				last = q
				return modelserver.Transport(server).RoundTrip(q)
			})})
		if err != nil {
			t.Fatal(err)
		}
		if text, _, _, err := listen(t, client, hello()); text != "hello" || err != nil {
			t.Errorf("%+v: %q %v", c.vertex, text, err)
		}
		r := server.Requests()[0]
		if last.URL.Host != c.host || (r.Project != "") != c.project || !r.Vertex || (last.Header.Get("X-Goog-Api-Key") == key) == c.project ||
			(last.Header.Get("Authorization") != "") != c.project {
			t.Errorf("%+v: %s %v", c.vertex, last.URL, last.Header)
		}
	}
}

func TestNewRefusesVertexWithout(t *testing.T) {
	for _, c := range []struct {
		vertex gemini.Vertex
		key    string
		url    string
		reason fault.Reason
		says   string
	}{
		{gemini.Vertex{}, "", "", fault.AuthRequired, "GOOGLE_CLOUD_PROJECT"},
		{gemini.Vertex{Location: "global"}, " ", "", fault.AuthRequired, "GOOGLE_CLOUD_PROJECT"},
		{gemini.Vertex{Project: "../x"}, "", "", fault.Config, "GOOGLE_CLOUD_PROJECT"},
		{gemini.Vertex{Project: "p", Location: "evil.example/"}, "", "", fault.Config, "GOOGLE_CLOUD_LOCATION"},
		{gemini.Vertex{Project: "p"}, "", "ftp://x", fault.Config, "GOOGLE_VERTEX_BASE_URL"},
	} {
		_, err := gemini.New(gemini.Config{Vertex: &c.vertex, APIKey: c.key, BaseURL: c.url, Table: model.NewTable(nil), Now: time.Now})
		if reason, _ := fault.ReasonOf(err); err == nil || reason != c.reason || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%+v: %v", c.vertex, err)
		}
	}
}

// TestREL67TokenIsRefreshedOnceForAll has the server refuse what it gave: all
// calls that go on get one new token between them.
func TestREL67TokenIsRefreshedOnceForAll(t *testing.T) {
	server := says(t, strings.Repeat("< hello\n\n", 21))
	client := vertex(t, credentials(t, person), modelserver.Transport(server))
	if _, _, _, err := listen(t, client, hello()); err != nil {
		t.Fatal(err)
	}
	server.Revoke()
	var work conc.WaitGroup
	for range 20 {
		work.Go(func() {
			if text, _, _, err := listen(t, client, hello()); text != "hello" || err != nil {
				t.Errorf("%q, %v", text, err)
			}
		})
	}
	work.Wait()
	if n := len(server.Grants()); n != 2 {
		t.Errorf("signed in %d times, want 2", n)
	}
	if err := server.Done(); err != nil {
		t.Error(err)
	}
}

// TestREL53RefusedAgainAfterARefresh has a token refused that is new.
func TestREL53RefusedAgainAfterARefresh(t *testing.T) {
	server := says(t, "<status 401 Request had invalid authentication credentials.\n\n<status 401 Request had invalid authentication credentials.\n\n< late\n")
	client := vertex(t, credentials(t, person), modelserver.Transport(server))
	_, _, _, err := listen(t, client, hello())
	e, ok := errors.AsType[*model.Error](err)
	if !ok || e.Class != model.Unauthorized || e.Status != 401 || len(server.Grants()) != 2 || len(server.Requests()) != 2 {
		t.Errorf("%v %+v, %d grants, %d requests", err, e, len(server.Grants()), len(server.Requests()))
	}
	// The session is usable.
	if text, _, _, err := listen(t, client, hello()); text != "late" || err != nil {
		t.Errorf("%q %v", text, err)
	}
}

func TestVertexTokenIsRenewedBeforeItEnds(t *testing.T) {
	file := credentials(t, person)
	synctest.Test(t, func(t *testing.T) {
		server := says(t, strings.Repeat("< hello\n\n", 4))
		client := vertex(t, file, modelserver.Transport(server))
		for _, c := range []struct {
			wait   time.Duration
			grants int
		}{{0, 1}, {55 * time.Minute, 1}, {2 * time.Minute, 2}, {2 * time.Hour, 3}} {
			time.Sleep(c.wait)
			if _, _, _, err := listen(t, client, hello()); err != nil || len(server.Grants()) != c.grants {
				t.Errorf("after %s: %d tokens, want %d; %v", c.wait, len(server.Grants()), c.grants, err)
			}
		}
	})
}

// TestREL70CredentialsBreakDuringARun takes the file away, breaks it, and puts
// it back: what fails says how to mend it, and nothing has to be restarted.
func TestREL70CredentialsBreakDuringARun(t *testing.T) {
	script := strings.Repeat("< hello\n\n", 2)
	server := says(t, script)
	file := credentials(t, person)
	client := vertex(t, file, modelserver.Transport(server))
	if _, _, _, err := listen(t, client, hello()); err != nil {
		t.Fatal(err)
	}
	broken := strings.Replace(robot()("https://x.example/token"), "MII", "!!!", 1)
	for what, content := range map[string]string{
		"gone": "", "not JSON": "secret-of-mine", "another kind": `{"type": "magic", "note": "secret-of-mine"}`, "no key": broken,
	} {
		server.Revoke()
		err := os.WriteFile(file, []byte(content), 0o600)
		if what == "gone" {
			err = os.Remove(file)
		}
		if err != nil {
			t.Fatal(err)
		}
		_, _, _, err = listen(t, client, hello())
		e, ok := errors.AsType[*model.Error](err)
		if !ok || e.Class != model.Unauthorized || !strings.Contains(e.Message, gemini.Login) || strings.Contains(fmt.Sprintf("%+v", e), "secret-of-mine") {
			t.Errorf("%s: %+v", what, err)
		}
	}
	if err := os.WriteFile(file, []byte(person), 0o600); err != nil {
		t.Fatal(err)
	}
	if text, _, _, err := listen(t, client, hello()); text != "hello" || err != nil {
		t.Errorf("%q %v", text, err)
	}
}

func TestREL70SignInFails(t *testing.T) {
	for what, c := range map[string]struct {
		answer func(*http.Request) (*http.Response, error)
		class  model.Class
		says   string
	}{
		"refused":     {answerWith(400, `{"error": "invalid_grant", "error_description": "Token has been expired or revoked."}`), model.Unauthorized, "expired or revoked"},
		"overloaded":  {answerWith(503, "later"), model.Busy, "signing in at Google Cloud failed"},
		"no JSON":     {answerWith(200, "<html>"), model.Busy, "signing in at Google Cloud failed"},
		"unreachable": {func(*http.Request) (*http.Response, error) { return nil, errors.New("no route to host") }, model.Busy, "no route to host"},
	} {
		asked := 0
		client := vertex(t, credentials(t, person), roundTripper(func(q *http.Request) (*http.Response, error) {
			asked++
			return c.answer(q)
		}))
		_, _, _, err := listen(t, client, hello())
		e, ok := errors.AsType[*model.Error](err)
		if !ok || e.Class != c.class || !strings.Contains(e.Message, c.says) || asked != 1 {
			t.Errorf("%s: %v %+v, asked %d times", what, err, e, asked)
		}
		if text := fmt.Sprintf("%v %+v", err, e); strings.Contains(text, "the-refresh-token") || strings.Contains(text, "the-client-secret") {
			t.Errorf("%s: %s", what, text)
		}
	}
}

func answerWith(status int, body string) func(*http.Request) (*http.Response, error) {
	return func(q *http.Request) (*http.Response, error) {
		w := httptest.NewRecorder()
		w.WriteHeader(status)
		_, _ = w.WriteString(body)
		r := w.Result()
		r.Request = q
		return r, nil
	}
}

// TestTokenIsInNoText has a server say the token in its error.
func TestTokenIsInNoText(t *testing.T) {
	server := says(t, "< never\n")
	local := modelserver.Transport(server)
	client := vertex(t, credentials(t, person), roundTripper(func(q *http.Request) (*http.Response, error) {
		if sent := q.Header.Get("Authorization"); sent != "" {
			body, _ := json.Marshal(map[string]any{"error": map[string]any{"code": 400, "message": "no " + sent, "status": "INVALID_ARGUMENT"}})
			return answerWith(400, string(body))(q)
		}
		return local.RoundTrip(q)
	}))
	_, _, _, err := listen(t, client, hello())
	if err == nil || strings.Contains(err.Error(), "token-1") || !strings.Contains(err.Error(), "[token]") {
		t.Error(err)
	}
}
