package spine_test

import (
	"encoding/json"
	"fmt"
	"net"
	"testing"

	"github.com/agentls/agentls/internal/wire"
	"github.com/agentls/agentls/server/servertest"
)

// TestREL03Shutdown: when shutdown is answered, the client has had every event of
// the runs that went on, to their last; later requests are refused.
func TestREL03Shutdown(t *testing.T) {
	leaks(t)
	w := newWorld(t, "<repeat 500 w{} \n<gate never\n\n<repeat 500 w{} \n<gate never too\n")
	near, far := net.Pipe()
	h := w.serve(far)
	c := h.bare(near)
	told := map[string][]wire.ActivityParams{}
	until := func(done func(m *servertest.Message) bool) {
		t.Helper()
		for {
			m, err := c.Next()
			if err != nil {
				t.Fatalf("%v\n%s", err, h.said.String())
			}
			if m.Method == wire.MethodActivity {
				var a wire.ActivityParams
				if err := json.Unmarshal(m.Params, &a); err != nil {
					t.Fatal(err)
				}
				told[a.Session] = append(told[a.Session], a)
			}
			if done(m) {
				return
			}
		}
	}
	for i, session := range []string{"one", "two"} {
		c.request(fmt.Sprint(i+1), wire.MethodRun, `{"agent":"worker","session":"`+session+`","input":"go"}`)
		until(func(*servertest.Message) bool { return len(told[session]) > 3 })
	}
	c.request("3", "shutdown", "null")
	until(func(m *servertest.Message) bool {
		if m.Method == "" && string(m.ID) == "3" && m.Error != nil {
			t.Error(m.Raw)
		}
		return m.Method == "" && string(m.ID) == "3"
	})
	for i, method := range []string{wire.MethodList, wire.MethodRun, "shutdown", "initialize", "nobody/knows"} {
		id := fmt.Sprint(10 + i)
		c.request(id, method, `{}`)
		if m, err := c.Answer(id); err != nil || m.Code() != -32600 {
			t.Errorf("%s: %v, %v", method, m, err)
		}
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	h.wait()
	for _, session := range []string{"one", "two"} {
		log := mustLog(t, w.log(session))
		if err := check(told[session], log); err != nil {
			t.Error(err)
		}
		if got := told[session]; len(got) == 0 || got[len(got)-1].Seq != uint64(len(log)) {
			t.Errorf("before shutdown was answered, the client had %d events of %s; the log ends with %d", len(got), session, len(log))
		}
	}
}
