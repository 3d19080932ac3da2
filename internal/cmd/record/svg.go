//go:build linux

package main

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strings"

	"github.com/hinshun/vt10x"
)

// theme is the colours of a terminal: the background, the text, then the sixteen.
type theme struct {
	ground, text string
	colours      [16]string
}

var dark = theme{"#16181d", "#d5d8df", [16]string{
	"#3b4048", "#f07178", "#98c379", "#e5c07b", "#6aa8f7", "#c792ea", "#5cc5d6", "#d5d8df",
	"#6b7280", "#ff8b92", "#b3e08f", "#ffd68a", "#8bbdff", "#d9aaf5", "#7fdbe8", "#ffffff",
}}

var light = theme{"#fbfbfa", "#2b2f36", [16]string{
	"#2b2f36", "#c0303b", "#2f7d32", "#946200", "#1f5fc4", "#8a3fb0", "#0f7285", "#6b7280",
	"#6b7280", "#d64550", "#3f9142", "#a87400", "#3474d8", "#9d55c2", "#1b8599", "#2b2f36",
}}

// The sizes of a cell and of the margin.
const (
	cellWidth, cellHeight, margin = 8.4, 18.0, 14.0
)

// svg draws a still.
func (s still) svg(bright bool) []byte {
	var b bytes.Buffer
	t := themeOf(bright)
	t.open(&b, s, "")
	t.draw(&b, s)
	b.WriteString("</svg>\n")
	return b.Bytes()
}

// film draws the stills of a recording one after the other, each as long as a person
// takes to read it, and begins again. Who wants no motion sees the one that is named
// after the picture.
func (r *recording) film() []byte {
	const seconds = 3.5 // a still
	var b, style bytes.Buffer
	t := themeOf(r.scene.light)
	n := len(r.stills)
	for i := range n {
		from, to := 100*float64(i)/float64(n), 100*float64(i+1)/float64(n)
		fmt.Fprintf(&style, "@keyframes f%d{0%%,%.2f%%{visibility:hidden}", i, max(from-0.01, 0))
		fmt.Fprintf(&style, "%.2f%%,%.2f%%{visibility:visible}%.2f%%,100%%{visibility:hidden}}\n", from, to-0.01, to)
		fmt.Fprintf(&style, "#f%d{visibility:hidden;animation:f%d %.1fs step-end infinite}\n", i, i, seconds*float64(n))
	}
	fmt.Fprintf(&style, "@media(prefers-reduced-motion){[id^=f]{animation:none}#f%d{visibility:visible}}\n", n/2)
	t.open(&b, r.stills[0], style.String())
	for i, s := range r.stills {
		fmt.Fprintf(&b, "<g id=\"f%d\">\n", i)
		t.draw(&b, s)
		b.WriteString("</g>\n")
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}

func themeOf(bright bool) theme {
	if bright {
		return light
	}
	return dark
}

func (t theme) open(b *bytes.Buffer, s still, style string) {
	width := 2*margin + cellWidth*float64(len(s.cells[0]))
	height := 2*margin + cellHeight*float64(len(s.cells))
	fmt.Fprintf(b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" `, width, height)
	fmt.Fprintf(b, `width="%.0f" height="%.0f">`+"\n", width, height)
	const font = "14px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace"
	fmt.Fprintf(b, "<style>text{font:%s;white-space:pre;fill:%s}\n", font, t.text)
	fmt.Fprintf(b, ".b{font-weight:bold}.i{font-style:italic}.u{text-decoration:underline}.d{opacity:.62}\n%s", style)
	for n, c := range t.colours {
		fmt.Fprintf(b, ".c%d{fill:%s}", n, c)
	}
	fmt.Fprintf(b, "</style>\n"+`<rect width="100%%" height="100%%" rx="8" fill="%s"/>`+"\n", t.ground)
}

// draw draws the rows of a still, the cells of one look together.
func (t theme) draw(b *bytes.Buffer, s still) {
	for y, row := range s.cells {
		for x := 0; x < len(row); {
			end := x + 1
			for end < len(row) && alike(row[x], row[end]) {
				end++
			}
			t.run(b, x, y, row[x:end])
			x = end
		}
	}
	if s.cx >= 0 {
		fmt.Fprintf(b, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s" opacity=".5"/>`+"\n",
			margin+cellWidth*float64(s.cx), margin+cellHeight*float64(s.cy), cellWidth, cellHeight, t.text)
	}
}

func alike(a, b vt10x.Glyph) bool {
	const looks = reverse | underline | bold | italic | blink
	return a.FG == b.FG && a.BG == b.BG && a.Mode&looks == b.Mode&looks
}

// run draws cells of one look.
func (t theme) run(b *bytes.Buffer, x, y int, cells []vt10x.Glyph) {
	left, top := margin+cellWidth*float64(x), margin+cellHeight*float64(y)
	look := cells[0]
	if look.BG < 16 || look.Mode&reverse != 0 { // the emulation has swapped the colours
		fill := t.text
		if look.BG < 16 {
			fill = t.colours[look.BG]
		}
		fmt.Fprintf(b, `<rect x="%.1f" y="%.1f" width="%.1f" `, left, top, cellWidth*float64(len(cells)))
		fmt.Fprintf(b, `height="%.0f" fill="%s"/>`+"\n", cellHeight, fill)
	}
	var text strings.Builder
	for _, c := range cells {
		text.WriteRune(c.Char)
	}
	line := strings.TrimRight(text.String(), " ")
	blanks := len(line) - len(strings.TrimLeft(line, " "))
	if line = strings.TrimLeft(line, " "); line == "" {
		return
	}
	var class []string
	for mode, name := range map[int16]string{bold: "b", italic: "i", underline: "u", blink: "d"} {
		if look.Mode&mode != 0 {
			class = append(class, name)
		}
	}
	style := ""
	switch {
	case look.Mode&reverse != 0 && look.FG >= 16:
		style = fmt.Sprintf(` style="fill:%s"`, t.ground)
	case look.FG < 16:
		class = append(class, fmt.Sprintf("c%d", look.FG))
	}
	fmt.Fprintf(b, `<text x="%.1f" y="%.1f" `, left+cellWidth*float64(blanks), top+0.75*cellHeight)
	fmt.Fprintf(b, `textLength="%.1f"`, cellWidth*float64(len([]rune(line))))
	if len(class) > 0 {
		fmt.Fprintf(b, ` class="%s"`, strings.Join(class, " "))
	}
	b.WriteString(style + ">")
	_ = xml.EscapeText(b, []byte(line)) // of a buffer
	b.WriteString("</text>\n")
}
