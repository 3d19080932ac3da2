package daemon

import (
	"context"
	"maps"
	"slices"

	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/agents/model/gemini"
	"github.com/agentls/agentls/workspace"
)

// Access is what a first run would find before it reaches the network. Nothing
// in it is a secret but BaseURL, which may have a password or a key.
type Access struct {
	Account    string        // how models are reached, in words; "" with Err
	Err        error         // why they are not, and what fixes it; see [fault.ReasonOf]
	BaseURL    string        // "" = the provider's own
	Variable   string        // that says BaseURL
	BaseURLErr error         // what is wrong with it
	Problems   []string      // of the settings, each with its place, as a run notices them
	Notes      []string      // what in the settings has no effect, though nothing is wrong with it
	Overridden []string      // the agents of agents.overrides, sorted
	Models     []model.Entry // that are known, those of the settings first
}

// Check does what a first run in folder does, short of the network: it reads the
// settings, and makes the client of the model's provider. folder is canonical.
// Nothing is written, started or asked for over the network, and no error ends
// it: each is in the Access. ctx ends the reading of files.
func (c Config) Check(ctx context.Context, folder string) Access {
	b, settings := c.reader(ctx, folder)
	a := Access{Problems: settings.problems, Notes: settings.notes,
		Overridden: slices.Sorted(maps.Keys(settings.runs.Overrides))}
	a.Models = b.table.Entries()
	want, err := b.account()
	a.BaseURL, a.Variable = want.url, "GOOGLE_GEMINI_BASE_URL"
	if want.onVertex {
		a.Variable = "GOOGLE_VERTEX_BASE_URL"
	}
	// A base URL that is wrong is told by itself, so the account is tried without it.
	if err == nil {
		a.Err = b.try(want, "")
	} else {
		a.Err = err
	}
	if a.Err == nil {
		variable, _ := keyOf(settings.variables(b.env))
		a.Account = want.words(variable)
		a.BaseURLErr = b.try(want, want.url)
	}
	return a
}

// reader returns what reads settings and serves nobody, with the settings that
// hold in a folder.
// Most parts of it are nil: only what settings need is there.
func (c Config) reader(ctx context.Context, folder string) (*daemon, *folderSettings) {
	b := &daemon{
		Config: c, ctx: ctx, first: folder, trust: workspace.NewTrust(c.trustFile(), c.Now),
		table: model.NewTable(c.Now),
	}
	settings := b.settingsOf(folder)
	b.setTable(settings.table)
	return b, settings
}

// Models returns what a model's name in an agent's file means in a folder, by the
// table and the settings, as for definition.Source.Model. folder is canonical.
// The settings are read once, now. The function is safe for concurrent use.
func (c Config) Models(ctx context.Context, folder string) func(name string) (string, bool) {
	b, _ := c.reader(ctx, folder)
	return b.knows
}

// Trusts says whether the person trusts a folder, or this process does.
func (c Config) Trusts(folder string) (bool, error) {
	if c.Trust {
		return true, nil
	}
	trusted, _, err := workspace.NewTrust(c.trustFile(), c.Now).Lookup(folder)
	return trusted, err
}

// try makes a client and checks what it would sign in with.
// url is "" for the provider's own address. The error says what fixes it.
func (b *daemon) try(want account, url string) error {
	client, err := gemini.New(b.clientConfig(want, url))
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }() // it has nothing to save
	return client.Check()
}

// words say what an account is, without its secrets. keyIn is the variable that
// says the key.
func (a account) words(keyIn string) string {
	switch {
	case !a.onVertex:
		return "key in " + keyIn
	case a.vertex.Project == "":
		return "Vertex AI, key in " + keyIn
	}
	location := a.vertex.Location
	if location == "" {
		location = "the global location"
	}
	from := a.vertex.Credentials
	if from == "" {
		from = "this machine"
	}
	return "Vertex AI, project " + a.vertex.Project + ", " + location + ", credentials of " + from
}
