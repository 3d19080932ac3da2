package gemini

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strings"
	"sync"
	"time"

	"cloud.google.com/go/auth"
	"cloud.google.com/go/auth/credentials"

	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/internal/fault"
)

// Vertex says how the models are reached on Vertex AI.
type Vertex struct {
	// Project is the Google Cloud project that pays. "" is express mode, in
	// which Config.APIKey says it; with a project the key is not used.
	Project string
	// Location is where the models run; "" = global.
	Location string
	// Credentials is the path of the application default credentials: a service
	// account's file, or what gcloud wrote for a person. It is read again for
	// each token, about once an hour. "" = those of the Google Cloud machine on
	// which the process runs.
	Credentials string
}

// Login is the command that makes application default credentials. It is in every error
// that it would fix.
const Login = "gcloud auth application-default login"

const (
	cloudScope = "https://www.googleapis.com/auth/cloud-platform"
	// early is how long before its end a token is replaced.
	early = 4 * time.Minute
	// signIn is how long getting a token may take.
	signIn = 30 * time.Second
)

var (
	projectChars  = regexp.MustCompile(`^[a-z0-9][a-z0-9.:-]*$`)
	locationChars = regexp.MustCompile(`^[a-z0-9][a-z0-9-]*$`)
)

// check reports what is wrong with v, and fills in the location. It is told the
// API key for express mode. Errors are faults of kind Invalid with a reason. Project
// and location become parts of a URL, so what they may consist of is checked.
func (v *Vertex) check(key string) error {
	if v.Location == "" {
		v.Location = "global"
	}
	switch {
	case v.Project == "" && key == "":
		return fault.New(fault.Invalid, "gemini.new",
			"Vertex AI needs a project or an API key; set GOOGLE_CLOUD_PROJECT, or GOOGLE_API_KEY").
			Because(fault.AuthRequired)
	case v.Project != "" && !projectChars.MatchString(v.Project):
		return fault.New(fault.Invalid, "gemini.new",
			"%q is not the id of a Google Cloud project; correct GOOGLE_CLOUD_PROJECT", v.Project).
			Because(fault.Config)
	case !locationChars.MatchString(v.Location):
		return fault.New(fault.Invalid, "gemini.new",
			"%q is not a location of Google Cloud; correct GOOGLE_CLOUD_LOCATION", v.Location).
			Because(fault.Config)
	}
	return nil
}

// url returns where a location is reached. An API key is of no location.
func (v *Vertex) url() string {
	switch {
	case v.Project == "" || v.Location == "global":
		return "https://aiplatform.googleapis.com/"
	case v.Location == "us" || v.Location == "eu":
		return "https://aiplatform." + v.Location + ".rep.googleapis.com/"
	}
	return "https://" + v.Location + "-aiplatform.googleapis.com/"
}

// tokens keeps the token that requests to Vertex AI carry. One goroutine at a
// time signs in; the others wait for what it gets (REL-67). It is safe for concurrent
// use.
type tokens struct {
	file string
	http *http.Client
	now  func() time.Time
	turn chan struct{} // capacity 1: who has put something in signs in

	// mu guards what follows. It is not turn, so that hide does not wait while somebody
	// signs in.
	mu     sync.Mutex
	newest token
	// That may still be in a text. The last two that were replaced.
	old []string
}

// token is what a request carries; the zero token is none.
type token struct {
	value string
	quota string // the project whose quota counts; "" = the token's
	// Zero = not known, and then it is used until it is refused.
	expires time.Time
}

// get returns a token that is good for some minutes and is not the refused one.
// The error is an *[model.Error] or ctx's. It blocks for whoever signs in, and for
// signIn at most itself. One that still works is used when getting another fails.
func (t *tokens) get(ctx context.Context, refused string) (token, error) {
	select {
	case t.turn <- struct{}{}:
		defer func() { <-t.turn }()
	case <-ctx.Done():
		return token{}, ctx.Err()
	}
	t.mu.Lock()
	have := t.newest
	t.mu.Unlock()
	left := have.expires.Sub(t.now())
	usable := have.value != "" && have.value != refused && (have.expires.IsZero() || left > 0)
	if usable && (have.expires.IsZero() || left > early) {
		return have, nil
	}
	// A token is replaced some minutes (early) before its end, while it still works: a
	// failure here need not fail the call.
	fresh, err := t.fetch(ctx)
	if ctx.Err() != nil {
		return token{}, ctx.Err()
	}
	if err != nil {
		if usable {
			return have, nil // the next call tries again
		}
		return token{}, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if have.value != "" && have.value != fresh.value {
		t.old = append(t.old[max(0, len(t.old)-1):], have.value)
	}
	t.newest = fresh
	return fresh, nil
}

// Check reads the credentials that the client would sign in with at Vertex AI,
// without the network, and reports what is wrong with them: a *[model.Error].
// Those of a Google Cloud machine are not looked at.
func (c *Client) Check() error {
	if c.tokens == nil || c.tokens.file == "" {
		return nil
	}
	_, err := c.tokens.detect()
	return err
}

// fetch signs in. The credentials are made anew each time: the library's own
// cache cannot be told that a token was refused, and refreshes on a goroutine
// that nobody waits for. It sends requests, and takes signIn at most.
func (t *tokens) fetch(ctx context.Context) (token, error) {
	found, err := t.detect()
	if err != nil {
		return token{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, signIn)
	defer cancel()
	got, err := found.Token(ctx)
	if err != nil {
		return token{}, signInFailed(err)
	}
	quota, err := found.QuotaProjectID(ctx)
	if err != nil {
		quota = "" // Google says so where it is needed
	}
	return token{value: got.Value, quota: quota, expires: got.Expiry}, nil
}

// detect reads the credentials. The error is a *[model.Error].
func (t *tokens) detect() (*auth.Credentials, error) {
	options := &credentials.DetectOptions{Scopes: []string{cloudScope}, Client: t.http}
	if t.file != "" {
		data, err := os.ReadFile(t.file)
		if err != nil {
			return nil, loginError(0, fmt.Sprintf("the credentials for Vertex AI cannot be read: %v", err))
		}
		options.CredentialsJSON = data
	}
	found, err := credentials.DetectDefault(options)
	if err != nil {
		// The library's text may quote the file.
		return nil, loginError(0, "the credentials for Vertex AI cannot be used: "+where(t.file)+" holds none that Google's library takes")
	}
	return found, nil
}

// where says for people where credentials come from.
func where(file string) string {
	if file == "" {
		return "the machine"
	}
	return file
}

// signInFailed sorts why there is no token. Nobody there and busy servers are Busy; a
// refusal is Unauthorized, and says how to log in.
func signInFailed(err error) *model.Error {
	refusal, ok := errors.AsType[*auth.Error](err)
	// No server has answered.
	if !ok || refusal.Response == nil {
		// The library has no type for this one, and a wait would not fix the file.
		if strings.Contains(err.Error(), "private key") {
			return loginError(0, "the credentials for Vertex AI hold a private key that cannot be read")
		}
		return &model.Error{Class: model.Busy, Message: "signing in at Google Cloud failed: " + err.Error(), Err: err}
	}
	status := refusal.Response.StatusCode
	if status == http.StatusTooManyRequests || status == http.StatusRequestTimeout || status >= 500 {
		return &model.Error{Class: model.Busy, Status: status,
			Message: "signing in at Google Cloud failed: " + err.Error(), Err: err}
	}
	return loginError(status, "Google Cloud refuses the credentials for Vertex AI: "+err.Error())
}

// loginError is an Unauthorized error with the command that fixes it.
func loginError(status int, why string) *model.Error {
	return &model.Error{Class: model.Unauthorized, Status: status, Message: why + "; run `" + Login + "`"}
}

// hide returns a text without the tokens.
func (t *tokens) hide(text string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, v := range append([]string{t.newest.value}, t.old...) {
		if v != "" {
			text = strings.ReplaceAll(text, v, "[token]")
		}
	}
	return text
}
