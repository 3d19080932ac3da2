package language

// Colours of agents (textDocument/documentColor).

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/agentls/agentls/agents/definition"
)

// Color is a colour that a file has.
type Color struct {
	Range definition.Range // without quotes
	Red   float64          // from 0 to 1, as Green and Blue
	Green float64
	Blue  float64
}

// Colors returns the agent's colour, where the file gives one: at most one, also by a name
// that another tool has for it, or written without quotes. In the last case YAML takes
// #RRGGBB for a comment, so the place is found in the text of the line and not in the
// tree. The caller owns the slice.
func Colors(f *File) []Color {
	hex := f.Definition.Color
	v := f.Tree.Root.Get("color")
	if len(hex) != 7 || v == nil {
		return nil
	}
	n, err := strconv.ParseUint(hex[1:], 16, 32)
	if err != nil {
		return nil
	}
	word := scalarSpan(f, v)
	if v.Kind != definition.String {
		key, _ := keyNamed(f.Tree.Root, "color")
		at := strings.IndexByte(f.Text[key.End:f.lineEnd(key.End)], '#')
		if at < 0 {
			return nil
		}
		word, _ = f.bareColor(key.End + at)
	}
	if word.Start >= word.End {
		return nil
	}
	part := func(shift uint) float64 { return float64(n>>shift&0xFF) / 255 }
	return []Color{{f.Index.Range(word), part(16), part(8), part(0)}}
}

// ColorEdit returns the text that makes a range of [Colors] another colour, and that text
// as it is shown: #RRGGBB. Parts of the colour outside of 0 to 1 are moved to the nearest
// end. A range without quotes before it gets them, since the text would be a comment. c
// need not come from Colors of the newest text: its range is taken as it is.
func ColorEdit(f *File, c Color) (label string, edit Edit) {
	part := func(x float64) int { return int(min(max(x, 0), 1)*255 + 0.5) }
	label = fmt.Sprintf("#%02X%02X%02X", part(c.Red), part(c.Green), part(c.Blue))
	edit = Edit{URI: f.URI, Range: c.Range, Text: label}
	if b := f.before(f.Index.Offset(c.Range.Start)); b != '"' && b != '\'' {
		edit.Text = `"` + label + `"`
	}
	return label, edit
}
