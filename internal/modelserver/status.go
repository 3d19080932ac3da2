package modelserver

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// parseStatus reads a <status line: an error as the real API writes it.
func parseStatus(rest string) (*status, error) {
	code, rest, _ := strings.Cut(rest, " ")
	st := &status{}
	var err error
	if st.code, err = strconv.Atoi(code); err != nil || st.code < 300 || st.code > 599 {
		return nil, fmt.Errorf("want <status CODE with a code from 300 to 599")
	}
	if at := strings.LastIndex(rest, "retry-after="); at >= 0 {
		st.retryAfter = strings.TrimSpace(rest[at+len("retry-after="):])
		if q, err := strconv.Unquote(st.retryAfter); err == nil {
			st.retryAfter = q
		}
		rest = rest[:at]
	}
	rest = strings.TrimSpace(rest)
	e := map[string]any{"code": st.code, "message": http.StatusText(st.code), "status": statusName(st.code)}
	if strings.HasPrefix(rest, "{") {
		var given map[string]json.RawMessage
		if err := json.Unmarshal([]byte(rest), &given); err != nil {
			return nil, fmt.Errorf("the error is not JSON: %w", err)
		}
		if given["error"] != nil {
			st.body = json.RawMessage(rest)
			return st, nil
		}
		for k, v := range given {
			e[k] = v
		}
	} else if rest != "" {
		e["message"] = rest
	}
	st.body = marshal(map[string]any{"error": e})
	return st, nil
}

// statusName is google.rpc's name for a status of HTTP.
func statusName(code int) string {
	switch code {
	case 400, 413:
		return "INVALID_ARGUMENT"
	case 401:
		return "UNAUTHENTICATED"
	case 403:
		return "PERMISSION_DENIED"
	case 404:
		return "NOT_FOUND"
	case 408, 504:
		return "DEADLINE_EXCEEDED"
	case 429:
		return "RESOURCE_EXHAUSTED"
	case 499:
		return "CANCELLED"
	case 500:
		return "INTERNAL"
	case 503:
		return "UNAVAILABLE"
	default:
		return "UNKNOWN"
	}
}
