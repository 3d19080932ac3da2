package daemon

import (
	"cmp"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/agents/model/gemini"
	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/workspace"
)

// modelVariables are the variables that say how models are reached, as in
// Google's SDKs. They come from the person's environment or else from the
// section env of the person's own settings, never from a project (spec README).
func modelVariables() []string {
	return []string{
		"GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_CLOUD_LOCATION",
		"GOOGLE_CLOUD_PROJECT",
		"GOOGLE_CLOUD_REGION", "GOOGLE_GEMINI_BASE_URL", "GOOGLE_GENAI_USE_ENTERPRISE", "GOOGLE_GENAI_USE_VERTEXAI",
		"GOOGLE_VERTEX_BASE_URL",
	}
}

// readProvider takes what the person's settings say of it. A project's have
// neither of the two sections any more.
func (s *folderSettings) readProvider(all *workspace.Settings) {
	s.env = make(map[string]string)
	for _, raw := range all.Lookup("env") {
		var env map[string]json.RawMessage
		if err := json.Unmarshal(raw.JSON, &env); err != nil {
			s.problems = append(s.problems, at(raw.Origin, "env must be an object of variables; it is ignored"))
			continue
		}
		for _, name := range modelVariables() {
			var value string
			if v, ok := env[name]; ok && json.Unmarshal(v, &value) != nil {
				s.problems = append(s.problems, at(raw.Origin, "env."+name+" must be a string; it is ignored"))
			} else if ok {
				s.env[name] = value
			}
		}
	}
	for _, raw := range all.Lookup("security", "auth", "selectedType") { // gemini-cli's
		s.vertex = string(raw.JSON) == `"vertex-ai"`
	}
}

// account is how the Gemini API is reached: the client is another when it is.
//
// It is compared with ==. key is empty on Vertex AI with a project; url is "" for the
// provider's own address.
type account struct {
	key, url string
	// Requests go to Vertex AI, with a project or in express mode.
	onVertex bool
	vertex   gemini.Vertex
}

// payer is what providers count requests by: a key at an endpoint, or a project
// of Vertex AI.
type payer struct{ key, url, project string }

// payer is whom the provider counts requests for by this account.
func (a account) payer() payer {
	if a.vertex.Project != "" {
		return payer{project: a.vertex.Project}
	}
	return payer{key: a.key, url: a.url}
}

// provider is the client of the Gemini API, made when a model is first asked.
//
// mu guards all of it. client is nil until a model is asked for; of says which account it
// was made for.
type provider struct {
	mu      sync.Mutex
	of      account
	client  *gemini.Client
	retries map[payer]*model.Retries // of each that was asked with
}

// provider returns who answers for a model, and what all runs share that ask
// with the same key.
// It is asked for each run, so a key that was changed counts from the next run
// on. Runs go on with the client that they got. The retries are nil for
// Config.Model alone. The error is of kind fault.NotFound for a model that
// nobody serves, and of kind fault.Denied with the reason fault.AuthRequired and
// the command that helps, where a key or a login is missing.
func (b *daemon) provider(id string) (model.Model, *model.Retries, error) {
	foreign := fault.New(fault.NotFound, "daemon.provider",
		"no provider is configured for the model %q; use a Gemini model", id).Because(fault.Config)
	if vendor, _, ok := strings.Cut(id, "/"); (ok && vendor != "gemini" && vendor != "models") ||
		strings.HasPrefix(id, "claude-") {
		return nil, nil, foreign
	}
	if b.Model != nil {
		return b.Model, nil, nil
	}
	want, err := b.account()
	// A missing key is told afterwards: getting one would not help with this model.
	if want.url == "" && b.table.Describe(id).Window == 0 {
		return nil, nil, foreign // who serves at an address of their own may call models otherwise
	}
	if err != nil {
		return nil, nil, err
	}
	g := &b.gemini
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.client == nil || g.of != want {
		client, err := gemini.New(b.clientConfig(want, want.url))
		if err != nil {
			return nil, nil, err
		}
		if g.client != nil {
			_ = g.client.Close() // runs that have it go on
		}
		g.of, g.client = want, client
	}
	retries := g.retries[want.payer()]
	if retries == nil {
		if retries = model.NewRetries(b.Now); g.retries == nil {
			g.retries = make(map[payer]*model.Retries)
		}
		g.retries[want.payer()] = retries
	}
	return g.client, retries, nil
}

// clientConfig is what the client for an account is made of.
//
// url is given by itself since a check asks without the person's own address first.
func (b *daemon) clientConfig(want account, url string) gemini.Config {
	config := gemini.Config{
		APIKey: want.key, BaseURL: url, Transport: b.Transport, Proxy: http.ProxyFromEnvironment,
		Table: b.table, Now: b.Now,
	}
	if want.onVertex {
		config.Vertex = &want.vertex
	}
	return config
}

// closeClient gives the connections to the model back.
func (b *daemon) closeClient() {
	b.gemini.mu.Lock()
	defer b.gemini.mu.Unlock()
	if b.gemini.client != nil {
		_ = b.gemini.client.Close() // it has nothing to save
	}
}

// account returns how the person wants models reached, which with an error is
// not whole. The error has reason authRequired, and the command that fixes it.
// On Vertex AI a project counts before a key, and a key alone is express mode.
func (b *daemon) account() (account, error) {
	s := b.settingsOf(b.first)
	of := s.variables(b.env)
	_, key := keyOf(of)
	var a account
	if !wantsVertex(of, s.vertex) {
		a.url = of("GOOGLE_GEMINI_BASE_URL")
		if key == "" {
			return a, needs("export GEMINI_API_KEY=…",
				"no key for the Gemini API; get one at https://aistudio.google.com/apikey and `export GEMINI_API_KEY=…`, or try `agentls demo`, which needs none")
		}
		a.key = key
		return a, nil
	}
	a.onVertex, a.url = true, of("GOOGLE_VERTEX_BASE_URL")
	a.vertex.Project = of("GOOGLE_CLOUD_PROJECT")
	if a.vertex.Project == "" {
		if key == "" {
			return a, needs("export GOOGLE_CLOUD_PROJECT=…",
				"Vertex AI needs a project; set GOOGLE_CLOUD_PROJECT and GOOGLE_CLOUD_LOCATION, or GOOGLE_API_KEY for express mode, or unset GOOGLE_GENAI_USE_VERTEXAI and use GEMINI_API_KEY")
		}
		a.key = key
		return a, nil
	}
	a.vertex.Location = cmp.Or(of("GOOGLE_CLOUD_LOCATION"), of("GOOGLE_CLOUD_REGION"))
	file, err := b.credentials(of("GOOGLE_APPLICATION_CREDENTIALS"))
	a.vertex.Credentials = file
	return a, err
}

// variables returns what says the variables of models: the environment, else the
// person's settings.
func (s *folderSettings) variables(env func(name string) string) (of func(name string) string) {
	return func(name string) string { return cmp.Or(env(name), s.env[name]) }
}

// keyOf returns the API key and the variable that says it: as in Google's SDKs,
// the first one wins.
func keyOf(of func(name string) string) (variable, key string) {
	variable = "GOOGLE_API_KEY"
	if of(variable) == "" {
		variable = "GEMINI_API_KEY"
	}
	return variable, of(variable)
}

// wantsVertex reads the switches of Google's SDKs, of which the first counts
// that is set; without them the person's way of signing in.
func wantsVertex(of func(name string) string, settings bool) bool {
	set := cmp.Or(of("GOOGLE_GENAI_USE_ENTERPRISE"), of("GOOGLE_GENAI_USE_VERTEXAI"))
	if set == "" {
		return settings
	}
	return slices.Contains([]string{"1", "true"}, strings.ToLower(set))
}

// credentials returns the file of the application default credentials: the one
// that is named, else what gcloud wrote; "" are those of the machine, where it
// is one of Google Cloud.
// A file that is named and not there is an error; it is not read here.
func (b *daemon) credentials(named string) (string, error) {
	if named != "" {
		if _, err := os.Stat(named); err != nil {
			return "", needs(gemini.Login,
				"GOOGLE_APPLICATION_CREDENTIALS names a file that cannot be read (%v): correct it, or unset it and run `%s`", err, gemini.Login)
		}
		return named, nil
	}
	dir := b.env("CLOUDSDK_CONFIG")
	if dir == "" {
		dir = filepath.Join(b.env("HOME"), ".config", "gcloud")
		if data := b.env("APPDATA"); data != "" {
			dir = filepath.Join(data, "gcloud")
		}
	}
	file := filepath.Join(dir, "application_default_credentials.json")
	if _, err := os.Stat(file); err == nil {
		return file, nil
	}
	// Where a metadata server may answer: one that is named, and those of Cloud Run, of
	// Kubernetes and of Google's machines.
	if b.env("GCE_METADATA_HOST") != "" || b.env("K_SERVICE") != "" ||
		b.env("KUBERNETES_SERVICE_HOST") != "" || onGoogle() {
		return "", nil
	}
	return "", needs(gemini.Login,
		"no credentials for Vertex AI: run `%s`, or set GOOGLE_APPLICATION_CREDENTIALS to the file of a service account", gemini.Login)
}

// onGoogle reports whether this is a machine of Google's cloud, without asking
// the network, where nobody may answer.
func onGoogle() bool {
	product, err := os.ReadFile("/sys/class/dmi/id/product_name")
	return err == nil && strings.HasPrefix(string(product), "Google")
}

// needs is the error of credentials that are missing.
func needs(command, format string, args ...any) error {
	return fault.New(fault.Denied, "daemon.provider", format, args...).Because(fault.AuthRequired, "command", command)
}

// knows reports whether a model's name in an agent's file means one that can
// run; it is called from several goroutines.
// A name that begins with gemini- counts also where the table does not have it: models are
// newer than the table.
func (b *daemon) knows(name string) (string, bool) {
	_, named := b.table.Lookup(name)
	return name, named || name == "demo" || strings.HasPrefix(strings.TrimPrefix(strings.TrimPrefix(name, "models/"),
		"gemini/"), "gemini-")
}
