package gemini_test

import (
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/agents/model/gemini"
	"github.com/agentls/agentls/internal/fault"
)

func TestREL51REL53Errors(t *testing.T) {
	quota := func(id string, more ...string) string {
		return `{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"You exceeded your current quota, please check your plan and billing details.","details":[` +
			strings.Join(append(more, `{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaMetric":"generate_content_free_tier_requests","quotaId":"`+id+`"}]}`), ",") + `]}}`
	}
	retry := func(d string) string {
		return `{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"` + d + `"}`
	}
	reason := func(code int, reason, message string) string {
		return fmt.Sprintf(`{"error":{"code":%d,"message":%q,"details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":%q}]}}`, code, message, reason)
	}
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for name, tt := range map[string]struct {
		status  int
		body    string
		after   string
		class   model.Class
		wait    time.Duration
		message string
	}{
		"RetryInfo":              {429, quota("GenerateRequestsPerMinutePerProjectPerModel", retry("7s")), "", model.Busy, 7 * time.Second, "You exceeded your current quota"},
		"RetryInfo in fractions": {429, quota("GenerateRequestsPerMinutePerProjectPerModel", retry("11.5s")), "", model.Busy, 11500 * time.Millisecond, ""},
		"the longer wait":        {429, quota("PerMinute", retry("2s")), "9", model.Busy, 9 * time.Second, ""},
		"a date":                 {503, "", "Fri, 20 Nov 2026 12:00:30 GMT", model.Busy, 30 * time.Second, "503 Service Unavailable"},
		"a date gone by":         {503, "", "Fri, 20 Nov 2026 11:00:00 GMT", model.Busy, 0, ""},
		"a wait that is none":    {503, "", "soon", model.Busy, 0, ""},
		"a wait in words":        {429, `{"error":{"code":429,"message":"Quota exceeded. Please retry in 21.2s."}}`, "", model.Busy, 21200 * time.Millisecond, ""},
		"hours in words":         {429, `{"error":{"code":429,"message":"You exceeded your current quota, check your plan and billing details. limit: 20, model: y. Please retry in 2h47m56.5s."}}`, "", model.Fatal, 2*time.Hour + 47*time.Minute + 56500*time.Millisecond, "asked again for 2h47m57s: You exceeded"},
		"quota of a day":         {429, quota("GenerateRequestsPerDayPerProjectPerModel-FreeTier", retry("7s")), "", model.Fatal, 7 * time.Second, "the quota of the day is used up: You exceeded"},
		"as long as we wait":     {429, quota("PerMinute", retry("180s")), "", model.Busy, 3 * time.Minute, ""},
		"longer than we wait":    {429, quota("PerMinute", retry("180.5s")), "", model.Fatal, 180500 * time.Millisecond, "asked again for 3m1s: You exceeded"},
		"a header that is long":  {429, "", "3600", model.Fatal, time.Hour, "asked again for 1h0m0s: "},
		"a day in words":         {429, `{"error":{"code":429,"message":"Daily limit reached."}}`, "", model.Fatal, 0, "the quota of the day is used up: Daily"},
		"limit 0":                {429, `{"error":{"code":429,"message":"Quota exceeded for metric: x, limit: 0, model: y. Please retry in 5s."}}`, "", model.Fatal, 5 * time.Second, "no credit: Quota exceeded for metric: x, limit: 0"},
		"limit 20 is not 0":      {429, `{"error":{"code":429,"message":"Quota exceeded, limit: 20. Please retry in 5s."}}`, "", model.Busy, 5 * time.Second, ""},
		"billing":                {429, `{"error":{"code":429,"message":"Check your plan and billing details."}}`, "", model.Fatal, 0, "billing"},
		"credits":                {429, reason(429, "CREDITS_EXHAUSTED", "Your prepayment credits are depleted."), "", model.Fatal, 0, ""},
		"limited":                {429, `{"error":{"code":429,"message":"Resource has been exhausted"}}`, "", model.Busy, 0, ""},
		"408":                    {408, "", "", model.Busy, 0, "408 Request Timeout"},
		"500":                    {500, `{"error":{"code":500,"message":"Internal error"}}`, "", model.Busy, 0, "Internal error"},
		"502 of a proxy":         {502, "<html>Bad gateway</html>", "", model.Busy, 0, "502 Bad Gateway"},
		"504":                    {504, `{"error":{"code":504,"message":"Deadline","status":"DEADLINE_EXCEEDED"}}`, "", model.Busy, 0, "Deadline"},
		"401":                    {401, `{"error":{"code":401,"message":"Request had invalid authentication credentials."}}`, "", model.Unauthorized, 0, ""},
		"key not valid":          {400, reason(400, "API_KEY_INVALID", "API key not valid."), "", model.Unauthorized, 0, ""},
		"key expired":            {400, `{"error":{"code":400,"message":"API key expired. Please renew the API key."}}`, "", model.Unauthorized, 0, ""},
		"key blocked":            {403, reason(403, "API_KEY_SERVICE_BLOCKED", "Requests are blocked."), "", model.Unauthorized, 0, ""},
		"key leaked":             {403, `{"error":{"code":403,"message":"Your API key was reported as leaked.","status":"PERMISSION_DENIED"}}`, "", model.Unauthorized, 0, ""},
		"no key":                 {403, `{"error":{"code":403,"message":"Method doesn't allow unregistered callers."}}`, "", model.Unauthorized, 0, ""},
		"service off":            {403, reason(403, "SERVICE_DISABLED", "The API has not been used in project 1."), "", model.Fatal, 0, ""},
		"400":                    {400, `{"error":{"code":400,"message":"Function call is missing a thought_signature","status":"INVALID_ARGUMENT"}}`, "", model.Fatal, 0, "thought_signature"},
		"404":                    {404, `{"error":{"code":404,"message":"models/x is not found"}}`, "", model.Fatal, 0, "models/x"},
		"413":                    {413, "", "", model.Fatal, 0, ""},
		"499":                    {499, `{"error":{"code":499,"message":"cancelled"}}`, "", model.Fatal, 0, ""},
		"an array":               {429, `[{"error":{"code":429,"message":"in an array","details":[` + retry("3s") + `]}}]`, "", model.Busy, 3 * time.Second, "in an array"},
		"a redirect":             {302, "", "", model.Fatal, 0, "302"},
	} {
		c, err := gemini.New(gemini.Config{APIKey: key, Table: model.NewTable(nil), Now: func() time.Time { return now },
			Transport: roundTripper(func(q *http.Request) (*http.Response, error) {
				h := http.Header{"Location": {"https://elsewhere.test/"}}
				if tt.after != "" {
					h.Set("Retry-After", tt.after)
				}
				return &http.Response{StatusCode: tt.status, Status: fmt.Sprintf("%d %s", tt.status, http.StatusText(tt.status)),
					Header: h, Body: io.NopCloser(strings.NewReader(tt.body)), Request: q}, nil
			})})
		if err != nil {
			t.Fatal(err)
		}
		_, _, _, err = listen(t, c, hello())
		var e *model.Error
		if !errors.As(err, &e) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if e.Class != tt.class || e.RetryAfter != tt.wait || e.Status != tt.status || !strings.Contains(e.Message, tt.message) || e.Message == "" {
			t.Errorf("%s: %+v", name, e)
		}
	}
}

// TestREL62TooLong: which refusals say that the conversation is too long.
func TestREL62TooLong(t *testing.T) {
	for message, want := range map[string]bool{
		"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).":                                 true,
		"Unable to submit request because the input token count is 32769 but model only supports up to 32768. Reduce the prompt.": true,
		"Request contains an invalid argument.":                        false,
		"max_output_tokens must be from 1 to 65536.":                   false,
		"Invalid value at 'contents[0]': the number of tokens is odd.": false,
	} {
		for code, may := range map[int]bool{400: true, 403: false} {
			_, _, _, err := listen(t, serve(t, strings.NewReader(fmt.Sprintf("data: {\"error\":{\"code\":%d,\"message\":%q}}\n\n", code, message))), hello())
			var e *model.Error
			if !errors.As(err, &e) || (e.Class != model.Fatal && code == 400) || e.TooLong != (want && may) {
				t.Errorf("%d, %s: %+v", code, message, err)
			}
		}
	}
}

// TestREL54WhoseLimitItIs: a limit that names a model is no other model's.
func TestREL54WhoseLimitItIs(t *testing.T) {
	for details, want := range map[string]bool{
		``: false,
		`{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"7s"}`:                                                                        false,
		`{"violations":[{"quotaId":"GenerateRequestsPerMinutePerProjectPerModel"}]}`:                                                                    true,
		`{"violations":[{"quotaId":"GenerateRequestsPerMinutePerProjectPerModel"},{"quotaId":"RequestsPerMinutePerProject"}]}`:                          false,
		`{"violations":[{"quotaId":"RequestsPerMinutePerProject"},{"quotaId":"GenerateRequestsPerMinutePerProjectPerModel"}]}`:                          false,
		`{"reason":"RATE_LIMIT_EXCEEDED","metadata":{"quota_limit":"RequestsPerMinutePerProjectPerBaseModel"}}`:                                         false,
		`{"reason":"RATE_LIMIT_EXCEEDED","metadata":{"quota_limit":"RequestsPerMinutePerProjectPerModel"}},{"violations":[{"quotaMetric":"requests"}]}`: true,
	} {
		_, _, _, err := listen(t, serve(t, strings.NewReader("data: {\"error\":{\"code\":429,\"message\":\"slow down\",\"details\":["+details+"]}}\n\n")), hello())
		var e *model.Error
		if !errors.As(err, &e) || e.Class != model.Busy || e.PerModel != want {
			t.Errorf("%s: %+v", details, err)
		}
	}
}

func TestREL55ErrorsInTheStream(t *testing.T) {
	broken := func(code int) string {
		return fmt.Sprintf(`{"error":{"code":%d,"message":"broken","status":"X","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"7s"}]}}`, code)
	}
	one := "data: " + chunkOf("one") + "\n\n"
	for name, tt := range map[string]struct {
		body  string
		class model.Class
	}{
		"first":            {"data: " + broken(503) + "\n\n", model.Busy},
		"first, refused":   {"data: " + broken(400) + "\n\n", model.Fatal},
		"later":            {one + "data: " + broken(503) + "\n\n", model.Cut},
		"later, refused":   {one + "data: " + broken(401) + "\n\n", model.Unauthorized},
		"bare":             {broken(503), model.Busy},
		"bare, pretty":     {strings.ReplaceAll(broken(503), ",", ",\n  "), model.Busy},
		"bare in an array": {"[" + broken(429) + "]", model.Busy},
	} {
		_, _, _, err := listen(t, serve(t, strings.NewReader(tt.body)), hello())
		var e *model.Error
		if !errors.As(err, &e) || e.Class != tt.class || e.Message != "broken" || e.RetryAfter != 7*time.Second || e.Code != "X" {
			t.Errorf("%s: %+v", name, err)
		}
	}
}

func TestREL52Unreached(t *testing.T) {
	for _, tt := range []struct {
		err   error
		class model.Class
	}{
		{errors.New("dial tcp: lookup nowhere: no such host, asked with " + key), model.Busy},
		{x509.UnknownAuthorityError{}, model.Fatal},
		{fmt.Errorf("tls: %w", x509.HostnameError{Certificate: &x509.Certificate{}, Host: "h"}), model.Fatal},
	} {
		c := client(t, gemini.Config{Transport: roundTripper(func(*http.Request) (*http.Response, error) { return nil, tt.err })})
		_, _, _, err := listen(t, c, hello())
		var e *model.Error
		if !errors.As(err, &e) || e.Class != tt.class || e.Status != 0 || !strings.HasPrefix(e.Message, "the model cannot be reached: ") {
			t.Errorf("%v: %+v", tt.err, err)
		}
		noKey(t, err)
	}
}

// noKey fails if the key is in any form of an error.
func noKey(t *testing.T, err error) {
	t.Helper()
	for e := err; e != nil; e = errors.Unwrap(e) {
		data, _ := json.Marshal(e)
		for _, text := range []string{e.Error(), fmt.Sprintf("%+v", e), fmt.Sprintf("%#v", e), string(data)} {
			if strings.Contains(text, "secret") || strings.Contains(text, "hidden") {
				t.Errorf("the key is in %q", text)
			}
		}
	}
}

func TestKeyIsInNoError(t *testing.T) {
	// A server that repeats what it was sent.
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		w.WriteHeader(400)
		fmt.Fprintf(w, `{"error":{"code":400,"status":%q,"message":"bad key %s at %s?key=%s"}}`, key, key, q.URL, "AIza-secret%2Bkey%2F0123")
	}))
	defer h.Close()
	base := strings.Replace(h.URL, "http://", "http://me:hidden-word@", 1)
	for _, url := range []string{base, "http://me:hidden-word@127.0.0.1:1/?token=hidden-token"} {
		c := client(t, gemini.Config{BaseURL: url})
		defer c.Close()
		_, _, _, err := listen(t, c, hello())
		if err == nil {
			t.Fatal("no error")
		}
		noKey(t, err)
	}
	for _, config := range []gemini.Config{
		{APIKey: key, BaseURL: "ftp://me:hidden@x"}, {APIKey: key, BaseURL: ":hidden"}, {APIKey: "AIza secret\n"}, {},
	} {
		config.Table, config.Now = model.NewTable(nil), time.Now
		_, err := gemini.New(config)
		if fault.KindOf(err) != fault.Invalid {
			t.Errorf("%+v", err)
		}
		noKey(t, err)
	}
	if _, err := gemini.New(gemini.Config{APIKey: key}); fault.KindOf(err) != fault.Internal {
		t.Error(err)
	}
}

func TestEnvironmentIsIgnored(t *testing.T) {
	t.Setenv("GOOGLE_API_KEY", "other")
	t.Setenv("GEMINI_API_KEY", "another")
	t.Setenv("GOOGLE_GENAI_USE_VERTEXAI", "true")
	t.Setenv("GOOGLE_GENAI_USE_ENTERPRISE", "true")
	t.Setenv("GOOGLE_CLOUD_PROJECT", "p")
	t.Setenv("GOOGLE_GEMINI_BASE_URL", "http://elsewhere.test/")
	var got *http.Request
	c := client(t, gemini.Config{Transport: roundTripper(func(q *http.Request) (*http.Response, error) {
		got = q
		return nil, errors.New("no")
	})})
	_, _, _, _ = listen(t, c, hello())
	if got == nil || got.URL.String() != "https://generativelanguage.googleapis.com/v1beta/models/gemini-3.8-flash:streamGenerateContent?alt=sse" ||
		got.Header.Get("x-goog-api-key") != key {
		t.Errorf("%+v", got)
	}
}

func TestKeyDoesNotFollowARedirect(t *testing.T) {
	elsewhere := 0
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere++ }))
	defer other.Close()
	h := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	defer h.Close()
	c := client(t, gemini.Config{BaseURL: h.URL})
	defer c.Close()
	_, _, _, err := listen(t, c, hello())
	var e *model.Error
	if !errors.As(err, &e) || e.Status != 307 || elsewhere != 0 {
		t.Errorf("%v; %d requests elsewhere", err, elsewhere)
	}
}
