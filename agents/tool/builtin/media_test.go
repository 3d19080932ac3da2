package builtin_test

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"strings"
	"testing"

	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/agents/tool/tooltest"
)

// picture returns an image of 5×3 pixels as an encoder writes it.
func picture(t testing.TB, encode func(*bytes.Buffer, image.Image) error) string {
	t.Helper()
	img := image.NewPaletted(image.Rect(0, 0, 5, 3), color.Palette{color.Black, color.White})
	var b bytes.Buffer
	if err := encode(&b, img); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func pngFile(t testing.TB) string {
	return picture(t, func(b *bytes.Buffer, i image.Image) error { return png.Encode(b, i) })
}

// webp returns the beginning of a WebP image.
func webp(chunk string, body []byte) string {
	body = append(body, make([]byte, 32)...)
	size := binary.LittleEndian.AppendUint32(nil, uint32(12+len(body)))
	return "RIFF" + string(size) + "WEBP" + chunk + string(binary.LittleEndian.AppendUint32(nil, uint32(len(body)))) + string(body)
}

// box returns the first box of an HEIF file with its brands.
func box(major string, compatible ...string) string {
	body := "ftyp" + major + "\x00\x00\x00\x00" + strings.Join(compatible, "")
	return string(binary.BigEndian.AppendUint32(nil, uint32(4+len(body)))) + body + strings.Repeat("\x00\xff", 20)
}

const pdf = "%PDF-1.4\n1 0 obj\n<<>>\nendobj\ntrailer\n<<>>\n%%EOF\n"

func TestReadFileAttachesImagesAndDocuments(t *testing.T) {
	for what, c := range map[string]struct{ data, mime, says string }{
		"png":          {pngFile(t), "image/png", "5×3 pixels"},
		"jpeg":         {picture(t, func(b *bytes.Buffer, i image.Image) error { return jpeg.Encode(b, i, nil) }), "image/jpeg", "5×3 pixels"},
		"gif":          {picture(t, func(b *bytes.Buffer, i image.Image) error { return gif.Encode(b, i, nil) }), "image/gif", "5×3 pixels"},
		"webp":         {webp("VP8 ", []byte{0, 0, 0, 0x9d, 0x01, 0x2a, 5, 0, 3, 0}), "image/webp", "5×3 pixels"},
		"webp, exact":  {webp("VP8L", []byte{0x2f, 4, 2 << 6, 0, 0}), "image/webp", "5×3 pixels"},
		"webp, larger": {webp("VP8X", []byte{0, 0, 0, 0, 4, 0, 0, 2, 0, 0}), "image/webp", "5×3 pixels"},
		"heic":         {box("heic", "mif1", "heic"), "image/heic", "image/heic, "},
		"heic, second": {box("mif1", "mif1", "heic"), "image/heic", "image/heic, "},
		"heif":         {box("mif1", "mif1", "miaf"), "image/heif", "image/heif, "},
		"pdf":          {pdf, "application/pdf", "application/pdf, 48 bytes"},
		"binary pdf":   {"%PDF-1.7\n\x00\xff\x00\n%%EOF", "application/pdf", "application/pdf, "},
	} {
		// What it is called says nothing.
		w := tooltest.New(t, map[string]string{"file.txt": c.data})
		env := w.Env()
		r := call(t, env, "read_file", "file_path", "file.txt")
		if len(r.Media) != 1 || r.Media[0].MimeType != c.mime || string(r.Media[0].Data) != c.data {
			t.Errorf("%s: %d media, %q", what, len(r.Media), r.Content)
			continue
		}
		if !strings.HasPrefix(r.Content, "file.txt is attached: "+c.mime+", ") || !strings.Contains(r.Content, c.says) || !strings.Contains(r.Display, c.says) {
			t.Errorf("%s: %q, %q", what, r.Content, r.Display)
		}
		if env.Seen.Digest(w.Path("file.txt")) == "" {
			t.Errorf("%s: not noted as seen", what)
		}
	}
}

func TestReadFileAttachesNothingThatAProviderWouldRefuse(t *testing.T) {
	image := pngFile(t)
	for what, c := range map[string]struct{ data, code, says string }{
		"a cut png":         {image[:20], tool.CodeBinary, "begins like image/png, but is damaged"},
		"a png of no size":  {strings.Replace(image, "\x00\x00\x00\x05\x00\x00\x00\x03", "\x00\x00\x00\x00\x00\x00\x00\x03", 1), tool.CodeBinary, "damaged"},
		"a cut jpeg":        {"\xff\xd8\xff\xe0\x00\x10JFIF", tool.CodeBinary, "damaged"},
		"a cut gif":         {"GIF89a\x01\x00", tool.CodeBinary, "damaged"},
		"a webp of nothing": {webp("VP8 ", nil), tool.CodeBinary, "it has no size"},
		"an unknown webp":   {webp("XXXX", []byte{1, 2, 3}), tool.CodeBinary, "it has no size"},
		"a cut pdf":         {"%PDF-1.7\n\x00\xff\x00\n", tool.CodeBinary, "it has no end"},
		"avif":              {box("avif", "mif1", "avif"), tool.CodeBinary, "is not text"},
		"mp4":               {box("isom", "mp42"), tool.CodeBinary, "is not text"},
		"a large png":       {image + strings.Repeat("\x00", 12<<20), tool.CodeTooLarge, "Make a smaller copy"},
	} {
		w := tooltest.New(t, map[string]string{"f.png": c.data})
		if err := refused(t, w.Env(), c.code, "read_file", "file_path", "f.png"); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", what, err)
		}
	}
	// Texts that begin so are texts, and so is what the editor has open.
	w := tooltest.New(t, map[string]string{"a": "GIF89a is a format\n", "b": "%PDF-1.4 is a version\n", "c": pdf})
	w.Edit("c", "%PDF-1.4\n%%EOF\n")
	for name, want := range map[string]string{"a": "GIF89a is a format\n", "b": "%PDF-1.4 is a version\n", "c": "%PDF-1.4\n%%EOF\n"} {
		if r := call(t, w.Env(), "read_file", "file_path", name); r.Content != want || r.Media != nil {
			t.Errorf("%s: %q", name, r.Content)
		}
	}
}

func FuzzMedia(f *testing.F) {
	for _, seed := range []string{pngFile(f), pdf, box("heic", "mif1"), box("mif1"), webp("VP8 ", nil), webp("VP8X", nil), webp("VP8L", []byte{0x2f}), "GIF89a", "\xff\xd8\xff", "RIFF\x00\x00\x00\x00WEBP", "\xff\xff\xff\xffftypmif1\x00\x00\x00\x00he"} {
		f.Add([]byte(seed))
	}
	w := tooltest.New(f, nil)
	f.Fuzz(func(t *testing.T, data []byte) {
		w.Put(t, "f", string(data))
		r, err := tooltest.Run(t.Context(), named(t, "read_file"), w.Env(), `{"file_path":"f"}`)
		if err != nil {
			if tooltest.Code(err) != tool.CodeBinary {
				t.Errorf("%q: %v", data, err)
			}
			return
		}
		if len(r.Media) > 1 || (len(r.Media) == 1 && !bytes.Equal(r.Media[0].Data, data)) {
			t.Errorf("%q: %d media", data, len(r.Media))
		}
	})
}
