package tool_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/agentls/agentls/agents/tool"
)

// TestSEC89WhatIsFenced: text like a call or a word of the system, wherever it
// begins; nothing else.
func TestSEC89WhatIsFenced(t *testing.T) {
	for text, want := range map[string]bool{
		"": false, "a < b && c[0] == \"d\"": false, "<div class=\"tool\">": false, "[INST": false, "\"call\": 1": false,
		"<tool_call>": true, "x\n</function-results>": true, "< \n antml:invoke name=\"x\">": true, "<<system>": true, "<SYSTEM_PROMPT>": true,
		"a[[/INST]": true, "<<SYS>>": true, "<|im_start|>": true, "<|<|end|>": true, "<start_of_turn>": true, "{\"x\":\"\"functionCall\" : 1": true,
	} {
		if got := tool.Fence(text, "m") != text; got != want {
			t.Errorf("%q is fenced: %v", text, got)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		around := rapid.StringMatching(`[<\["|a-z \n]{0,20}`)
		frame := rapid.SampledFrom([]string{"<tool_use>", "<|end|>", "[INST]", "<<SYS>>", `"toolCalls":`, "</assistant>"}).Draw(t, "frame")
		text := around.Draw(t, "before") + frame + around.Draw(t, "after")
		if got := tool.Fence(text, "m"); got == text {
			t.Fatalf("%q is not fenced", text)
		}
	})
}

func BenchmarkFence(b *testing.B) {
	code := strings.Repeat("\tif x[i] < y && len(z) > 0 { return map[string]string{\"a\": \"b\"} }\n", 300)
	for b.Loop() {
		tool.Fence(code, "m")
	}
}
