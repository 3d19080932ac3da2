package gemini

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"google.golang.org/genai"

	"github.com/agentls/agentls/agents/model"
)

// maxMessage is the longest message that is passed on, in bytes.
const maxMessage = 2000

// minSecret is how long a text is at least that is hidden, in bytes: to hide
// shorter ones would spoil every message, and protect nothing.
const minSecret = 6

// secrets returns a replacer of the key, and of what a base URL may hold of the sort (a
// password, values of its query). In URLs values are escaped, so both forms are replaced.
func secrets(key string, base *url.URL) *strings.Replacer {
	var pairs []string
	if len(key) >= minSecret {
		pairs = append(pairs, key, "[key]")
	}
	if q := url.QueryEscape(key); q != key && len(key) >= minSecret {
		pairs = append(pairs, q, "[key]")
	}
	if base.User != nil {
		if p, ok := base.User.Password(); ok && len(p) >= minSecret {
			pairs = append(pairs, p, "[password]", url.QueryEscape(p), "[password]")
		}
	}
	for _, values := range base.Query() {
		for _, v := range values {
			if len(v) >= minSecret {
				pairs = append(pairs, v, "[value]", url.QueryEscape(v), "[value]")
			}
		}
	}
	return strings.NewReplacer(pairs...)
}

// clean returns a text without secrets, cut to what a person reads. Every text of a
// provider, a proxy or a library goes through it before it is an error's.
func (c *Client) clean(text string) string {
	text = strings.TrimSpace(c.hide(text))
	if len(text) > maxMessage {
		text = strings.ToValidUTF8(text[:maxMessage], "") + " …"
	}
	return text
}

// below returns an error to unwrap to, or a copy of its text where that has
// secrets in it. So errors.Is and errors.As work wherever that gives nothing away.
func (c *Client) below(err error) error {
	if err == nil {
		return nil
	}
	if text := err.Error(); c.hide(text) != text {
		return errors.New(c.hide(text))
	}
	return err
}

// hide returns a text without secrets.
func (c *Client) hide(text string) string {
	text = c.secret.Replace(text)
	if c.tokens != nil {
		text = c.tokens.hide(text)
	}
	return text
}

// failure sorts what ended a call without an answer. Err is what the reader or
// genai says, nil at an orderly end; cause, why the call's context ended.
//
// The order matters: the watchdog's reason is the cause of whatever the reader then
// says, what the API says is better than what the transport does, and what is only a
// form that genai cannot read comes last. A request that failed before an answer began
// may be Busy and retried as it is; after that it is Cut.
func (c *Client) failure(k *call, err, cause error) *model.Error {
	switch {
	case errors.Is(cause, errNoHeaders):
		return &model.Error{Class: model.Busy, Message: fmt.Sprintf("the model did not begin to answer within %s",
			c.config.HeaderTimeout), Err: cause}
	case errors.Is(cause, errIdle):
		return &model.Error{Class: model.Cut, Status: k.errorStatus(),
			Message: fmt.Sprintf("the answer stopped: nothing came for %s", c.config.IdleTimeout), Err: cause}
	case errors.Is(cause, errTooLong):
		class := model.Cut
		if k.status == 0 {
			class = model.Busy
		}
		return &model.Error{Class: class, Message: fmt.Sprintf("the answer took longer than %s",
			c.config.MaxCall), Err: cause}
	}
	// It is an APIError as a value; genai never returns a pointer.
	if api, ok := errors.AsType[genai.APIError](err); ok {
		return c.refusal(k, api)
	}
	if login, ok := errors.AsType[*model.Error](k.transport); ok {
		// There is no token. What the library says of it may hold anything.
		return &model.Error{Class: login.Class, Status: login.Status, Message: c.clean(login.Message),
			Err: c.below(login.Err)}
	}
	switch {
	case k.bodyErr != nil:
		return &model.Error{Class: model.Fatal, Message: c.clean(k.bodyErr.Error()), Err: c.below(k.bodyErr)}
	case k.transport != nil:
		return c.connectionError(k.transport)
	// No connection failed and no status came: genai refused the request by itself.
	case k.status == 0 && err != nil:
		return &model.Error{Class: model.Fatal, Message: "the request cannot be made: " +
			c.clean(err.Error()), Err: c.below(err)}
	case err != nil:
		return &model.Error{Class: model.Cut, Message: "the answer was cut: " + c.clean(err.Error()), Err: c.below(err)}
	case k.incomplete:
		return &model.Error{Class: model.Cut, Message: "the answer was cut in the middle of a chunk"}
	// A login page of a proxy, for example: its first line says more than that the answer
	// was cut.
	case !k.began && k.stray != "":
		return &model.Error{Class: model.Cut, Message: "the answer is not one of the Gemini API; it begins: " +
			c.clean(k.stray)}
	default:
		return &model.Error{Class: model.Cut, Message: "the answer was cut: it ended without saying why"}
	}
}

// errorStatus returns the status of an answer that is an error.
func (k *call) errorStatus() int {
	if k.status >= 200 && k.status <= 299 {
		return 0
	}
	return k.status
}

// connectionError sorts why there was no answer at all. Everything may be gone in a
// moment (Busy), but for a certificate that is wrong.
func (c *Client) connectionError(err error) *model.Error {
	e := &model.Error{Class: model.Busy, Err: c.below(err)}
	if ue, ok := errors.AsType[*url.Error](err); ok {
		// The text of a url.Error begins with the method and the whole URL, which no
		// person needs.
		err = ue.Err
	}
	e.Message = "the model cannot be reached: " + c.clean(err.Error())
	_, authority := errors.AsType[x509.UnknownAuthorityError](err)
	_, name := errors.AsType[x509.HostnameError](err)
	_, certificate := errors.AsType[x509.CertificateInvalidError](err)
	_, verification := errors.AsType[*tls.CertificateVerificationError](err)
	if authority || name || certificate || verification {
		// It will not be another certificate in a second.
		e.Class = model.Fatal
	}
	return e
}

// detail is one of the details of an error of the API. It has the members of
// google.rpc.ErrorInfo, RetryInfo and QuotaFailure at once.
type detail struct {
	Type     string            `json:"@type"`
	Reason   string            `json:"reason"`
	Metadata map[string]string `json:"metadata"`
	// As Go writes durations, "34s"; "" = nothing is said.
	RetryDelay string `json:"retryDelay"`
	Violations []struct {
		QuotaID     string `json:"quotaId"`
		QuotaMetric string `json:"quotaMetric"`
		QuotaValue  any    `json:"quotaValue"`
		Description string `json:"description"`
	} `json:"violations"`
}

// refusal sorts an error that the API tells. What came before it in the stream makes a
// Busy error Cut: the run has shown some of the answer.
func (c *Client) refusal(k *call, api genai.APIError) *model.Error {
	api = errorFromList(api, k.errorBody)
	status := k.errorStatus()
	if status == 0 {
		status = api.Code
	}
	details := detailsOf(api.Details)
	e := &model.Error{Status: status, Code: c.clean(api.Status), Message: c.clean(api.Message)}
	if e.Message == "" || strings.HasPrefix(e.Message, "<") {
		// A page of a proxy says less than the status.
		e.Message = "the model's server answered " + strings.TrimSpace(strconv.Itoa(status)+" "+http.StatusText(status))
	}
	if strings.HasPrefix(e.Code, strconv.Itoa(status)) {
		e.Code = "" // genai puts HTTP's own line where the API has no name
	}
	e.RetryAfter = c.retryAfter(k.header, details, api.Message)
	e.Class = classOf(status, api.Message, details)
	e.PerModel = perModel(details)
	e.TooLong = status == http.StatusBadRequest && tooLong.MatchString(api.Message)
	if status == http.StatusTooManyRequests {
		if why := exhaustedQuota(api.Message, details, e.RetryAfter); why != "" {
			e.Class, e.Message = model.Fatal, why+": "+e.Message
		}
	}
	if e.Class == model.Busy && k.passed > 0 {
		e.Class = model.Cut
	}
	return e
}

// errorFromList reads an error that came in an array, as it does without events. Any
// other error is returned as genai read it.
func errorFromList(api genai.APIError, body []byte) genai.APIError {
	var list []struct {
		Error *genai.APIError `json:"error"`
	}
	if json.Unmarshal(body, &list) == nil && len(list) > 0 && list[0].Error != nil {
		return *list[0].Error
	}
	return api
}

// detailsOf reads the details that have the form of [detail]; others are left out.
func detailsOf(raw []map[string]any) []detail {
	var all []detail
	for _, r := range raw {
		data, err := json.Marshal(r)
		var d detail
		if err == nil && json.Unmarshal(data, &d) == nil {
			all = append(all, d)
		}
	}
	return all
}

var (
	// limitZero is a quota of 0, which no wait changes.
	limitZero = regexp.MustCompile(`(?i)\blimit: 0\b`)
	// retryIn is how long to wait, in the words of a message.
	retryIn = regexp.MustCompile(`(?i)retry in ((?:\d+h)?(?:\d+m)?[0-9.]+ ?m?s)\b`)
	// tooLong is an input that does not fit into the model's window.
	tooLong = regexp.MustCompile(`(?i)\binput token count\b|exceeds the maximum number of tokens`)
	// keyWords are in errors about the key. They count where no detail says better.
	keyWords = regexp.MustCompile(`(?i)api[ _-]?key|unregistered callers|credential|authentication`)
)

// classOf sorts an error by its status, words and details (spec 3.3). What a 429 is more closely,
// exhaustedQuota says. A 403 about the key is Unauthorized, any other (a model that the project may
// not use) Fatal.
func classOf(status int, message string, details []detail) model.Class {
	reason := func(parts ...string) bool {
		for _, d := range details {
			for _, p := range parts {
				if strings.Contains(d.Reason, p) {
					return true
				}
			}
		}
		return false
	}
	switch {
	case status == http.StatusUnauthorized:
		return model.Unauthorized
	// The API answers a wrong key with 400.
	case status == http.StatusBadRequest && (reason("API_KEY_INVALID", "API_KEY_EXPIRED") || keyRefused(message)):
		return model.Unauthorized
	// Without details only the words say whether the key is refused, or the model.
	case status == http.StatusForbidden && (reason("API_KEY_", "CONSUMER_INVALID", "ACCESS_TOKEN") ||
		(len(details) == 0 && keyWords.MatchString(message)) || keyRefused(message)):
		return model.Unauthorized
	case status == http.StatusTooManyRequests || status == http.StatusRequestTimeout || status >= 500:
		return model.Busy
	default:
		return model.Fatal
	}
}

// keyRefused reports words about a key that the API has used with status 400.
func keyRefused(message string) bool {
	m := strings.ToLower(message)
	return strings.Contains(m, "api key") &&
		(strings.Contains(m, "not valid") || strings.Contains(m, "invalid") || strings.Contains(m, "expired") ||
			strings.Contains(m, "leaked") || strings.Contains(m, "not found"))
}

// Why a 429 is not one that a wait of minutes fixes.
const (
	noDay    = "the quota of the day is used up"
	noCredit = "the quota is 0, or there is no credit"
)

// exhaustedQuota says which quota a 429 is of that a wait of minutes does not bring
// back: that of a day, one of 0, or money; "" for none. The provider's usual
// message speaks of billing for a quota of a minute too, so it counts only where
// no detail says better. It is "" too where the API asks to wait, unless for longer
// than a run waits (model.RetryWithin).
func exhaustedQuota(message string, details []detail, wait time.Duration) string {
	if limitZero.MatchString(message) {
		return noCredit
	}
	// told says that a detail names a time to ask again, or a quota of one minute.
	told := false
	for _, d := range details {
		if strings.Contains(d.Reason, "BILLING") || strings.Contains(d.Reason, "CREDITS") ||
			d.Metadata["quota_limit_value"] == "0" {
			return noCredit
		}
		if strings.HasSuffix(d.Type, "google.rpc.RetryInfo") && d.RetryDelay != "" {
			told = true
		}
		for _, id := range d.limits() {
			if strings.Contains(id, "PerDay") {
				return noDay
			}
			told = told || strings.Contains(id, "PerMinute")
		}
		for _, v := range d.Violations {
			if fmt.Sprint(v.QuotaValue) == "0" || limitZero.MatchString(v.Description) {
				return noCredit
			}
		}
	}
	if wait > model.RetryWithin {
		return fmt.Sprintf("the provider does not want to be asked again for %s", wait.Round(time.Second))
	}
	if told || retryIn.MatchString(message) {
		return ""
	}
	switch m := strings.ToLower(message); {
	case strings.Contains(m, "per day") || strings.Contains(m, "daily"):
		return noDay
	case strings.Contains(m, "billing") || strings.Contains(m, "credits"):
		return noCredit
	}
	return ""
}

// limits returns the names of the quotas that a detail is about.
func (d *detail) limits() []string {
	names := []string{d.Metadata["quota_limit"]}
	for _, v := range d.Violations {
		names = append(names, v.QuotaID)
	}
	return names
}

// perModel reports whether all quotas of which an error tells are of one model. Then
// another model may be asked at once. It is false where an error names no quota.
func perModel(details []detail) bool {
	all := false
	for _, d := range details {
		for _, id := range d.limits() {
			if id == "" {
				continue
			}
			if all = strings.Contains(id, "PerModel"); !all {
				return false
			}
		}
	}
	return all
}

// retryAfter returns the longest wait that the answer asks for. It reads details, the
// header as seconds or a date, and else the message. It is 0 where none says, and never
// negative.
func (c *Client) retryAfter(header http.Header, details []detail, message string) time.Duration {
	var wait time.Duration
	for _, d := range details {
		if n, err := time.ParseDuration(d.RetryDelay); err == nil {
			wait = max(wait, n)
		}
	}
	if v := strings.TrimSpace(header.Get("Retry-After")); v != "" {
		if n, err := strconv.ParseFloat(v, 64); err == nil && n > 0 && n < 1e6 {
			wait = max(wait, time.Duration(n*float64(time.Second)))
		} else if at, err := http.ParseTime(v); err == nil {
			wait = max(wait, at.Sub(c.config.Now()))
		}
	}
	if m := retryIn.FindStringSubmatch(message); wait == 0 && m != nil {
		if n, err := time.ParseDuration(strings.ReplaceAll(m[1], " ", "")); err == nil {
			wait = n
		}
	}
	return max(wait, 0)
}
