package activity

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// fillWith gives every string that v reaches a value that names its way there.
func fillWith(v reflect.Value, way string) {
	switch v.Kind() {
	case reflect.String:
		v.SetString("secret " + way)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fillWith(v.Elem(), way)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				if v.Type().Field(i).Anonymous {
					fillWith(v.Field(i), way)
					continue
				}
				fillWith(v.Field(i), way+"."+v.Type().Field(i).Name)
			}
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes([]byte(`"secret ` + way + `"`))
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fillWith(v.Index(0), way)
	}
}

// What is left of a body is on this list, and nothing else: a field that is new
// is erased until somebody has thought about it.
func TestPurgedKeepsNoWords(t *testing.T) {
	keeps := map[string]bool{}
	for _, name := range strings.Fields(`
		run.started.Mode run.started.Approval run.started.Model run.started.Tools run.started.Chain run.started.Definition run.started.Taint run.started.Call
		run.state.From run.state.To run.state.Limit
		route.decided.Strategy route.decided.Agent route.decided.By route.decided.Fallback route.decided.Model.ID route.decided.Model.Cost.Currency
		run.finished.Reason run.finished.Recovered run.finished.Cost.Currency run.finished.Chain.Run run.finished.Chain.Agent run.finished.Chain.From
		run.finished.Guardrails.Name run.finished.Guardrails.Policy run.finished.Guardrails.Outcome run.finished.Error.Kind
		model.started.Model model.started.Purpose model.started.Call model.finished.Model model.finished.Finish model.finished.Purpose model.finished.Call
		tool.state.Call tool.state.Name tool.state.State tool.state.Risk tool.state.Taint tool.state.Error.Code tool.delta.Call
		confirmation.asked.ID confirmation.asked.Call confirmation.asked.Tool confirmation.asked.Risk confirmation.asked.ExpiresAt
		confirmation.answered.ID confirmation.answered.Outcome confirmation.answered.By
		approval.changed.From approval.changed.To file.changed.Kind change.resolved.Action forked.Session retry.Of loop.detected.Kind loop.detected.Action
		context.compressed.Agent context.compressed.Status context.cleared.Agent error.Code note.Level
		handoff.started.From handoff.started.To handoff.started.Chain handoff.started.Run handoff.started.Taint
		handoff.rejected.From handoff.rejected.To handoff.rejected.Code mcp.state.Server mcp.state.State
		hook.ran.Event hook.ran.Name hook.ran.Decision hook.ran.Call graph.node.Node graph.node.State graph.node.Step graph.node.Taint state.changed.Key state.changed.Run memory.changed.Store memory.changed.Key
		guardrail.checked.Name guardrail.checked.Policy guardrail.checked.Outcome`) {
		keeps[name] = true
	}
	for name := range bodies {
		b, err := Decode(name, []byte("{}"))
		if err != nil {
			t.Fatal(err)
		}
		v := reflect.New(reflect.TypeOf(b)).Elem()
		fillWith(v, name)
		whole := v.Interface().(Body)
		left := Purge(whole)
		if left.Type() != name {
			t.Errorf("%s becomes a %s", name, left.Type())
		}
		data, err := encodeBody(left)
		if err != nil {
			t.Fatal(err)
		}
		for part := range strings.SplitSeq(string(data), "secret ") {
			if way, _, ok := strings.Cut(part, `"`); ok && strings.HasPrefix(way, name+".") && !keeps[way] {
				t.Errorf("%s is kept", way)
			}
		}
		again, err := encodeBody(Purge(left))
		if err != nil || string(again) != string(data) {
			t.Errorf("purged again, %s is %s", data, again)
		}
	}
	if left := Purge(Unknown{Name: "later", Data: json.RawMessage(`{"text":"secret"}`)}); left.Type() != "later" || left.(Unknown).Data != nil {
		t.Errorf("left of an unknown one: %+v", left)
	}
}
