package builtin

// What a file is by its first bytes, and which kinds go to a model as data.

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image"
	_ "image/gif"  // for its size
	_ "image/jpeg" // for its size
	_ "image/png"  // for its size
	"slices"

	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/agents/tool"
)

// maxMedia is how many bytes of images and documents one call gives to a model:
// in the text form of a request they take a third more, and providers take
// about 20 MB in one.
const maxMedia = 12 << 20

// attachment is an image or a document as a model takes it.
type attachment struct {
	mime          string
	width, height int // of an image, where it is cheap to know; else 0
}

// sniff returns what data is, if it begins like an image or a document that
// models take. What begins like one and goes on like none is an error that says
// so: a provider would refuse the whole request for it, and each later one that
// holds it.
//
// ok is false for anything else, with a nil error. The extension of the file does not
// count: a provider looks at the bytes too.
// TestReadFileAttachesNothingThatAProviderWouldRefuse holds the errors.
func sniff(data []byte) (a attachment, ok bool, err error) {
	switch {
	case bytes.HasPrefix(data, []byte("\x89PNG\r\n\x1a\n")):
		a.mime = "image/png"
	case bytes.HasPrefix(data, []byte("\xff\xd8\xff")):
		a.mime = "image/jpeg"
	case bytes.HasPrefix(data, []byte("GIF87a")), bytes.HasPrefix(data, []byte("GIF89a")):
		a.mime = "image/gif"
	case len(data) >= 12 && string(data[:4]) == "RIFF" && string(data[8:12]) == "WEBP":
		a.mime = "image/webp"
		if a.width, a.height = sizeOfWebP(data); a.width == 0 || a.height == 0 {
			return a, true, fmt.Errorf("it has no size")
		}
		return a, true, nil
	case bytes.HasPrefix(data, []byte("%PDF-")):
		a.mime = "application/pdf"
		// Anywhere, since bytes may follow the end.
		if !bytes.Contains(data, []byte("%%EOF")) {
			return a, true, fmt.Errorf("it has no end")
		}
		return a, true, nil
	default:
		a.mime = highEfficiency(data)
		return a, a.mime != "", nil
	}
	size, _, err := image.DecodeConfig(bytes.NewReader(data))
	if err == nil && (size.Width <= 0 || size.Height <= 0) {
		err = fmt.Errorf("it has no size")
	}
	a.width, a.height = size.Width, size.Height
	return a, true, err
}

// highEfficiency returns the type of an HEIC or HEIF image, "" for what is none:
// the brands of its first box say (ISO/IEC 23008-12, annex E).
func highEfficiency(data []byte) string {
	if len(data) < 16 || string(data[4:8]) != "ftyp" {
		return ""
	}
	end := min(int(min(binary.BigEndian.Uint32(data), 256)), len(data))
	brands := []string{string(data[8:12])}
	for i := 16; i+4 <= end; i += 4 {
		brands = append(brands, string(data[i:i+4]))
	}
	has := func(names ...string) bool {
		return slices.ContainsFunc(brands, func(b string) bool { return slices.Contains(names, b) })
	}
	switch {
	case has("avif", "avis"):
		return "" // the same box around what models do not take
	case has("heic", "heix", "heim", "heis", "hevc", "hevx"):
		return "image/heic"
	case has("mif1", "msf1"):
		return "image/heif"
	}
	return ""
}

// sizeOfWebP returns the size that a WebP image says, 0 for none (RFC 9649).
//
// The three forms of the format say it at different places, the lossless one in 14 bits
// each and one less than it is.
func sizeOfWebP(data []byte) (width, height int) {
	if len(data) < 30 {
		return 0, 0
	}
	body := data[20:]
	switch string(data[12:16]) {
	case "VP8X":
		u24 := func(b []byte) int { return int(b[0]) | int(b[1])<<8 | int(b[2])<<16 }
		return u24(body[4:]) + 1, u24(body[7:]) + 1
	case "VP8L":
		if body[0] != 0x2f {
			return 0, 0
		}
		bits := binary.LittleEndian.Uint32(body[1:])
		return int(bits&0x3fff) + 1, int(bits>>14&0x3fff) + 1
	case "VP8 ":
		if !bytes.Equal(body[3:6], []byte{0x9d, 0x01, 0x2a}) {
			return 0, 0
		}
		return int(binary.LittleEndian.Uint16(body[6:]) & 0x3fff), int(binary.LittleEndian.Uint16(body[8:]) & 0x3fff)
	}
	return 0, 0
}

// attach returns a file as data for a model and what is said of it, or nil when
// it is not of a kind that goes there as data. What is open in the editor is
// text.
// Errors are CodeBinary for a file that is damaged and CodeTooLarge for one over maxMedia.
func attach(p tool.Place, f *tool.File) (*model.Media, string, error) {
	if f.Open {
		return nil, "", nil
	}
	a, ok, err := sniff(f.Data)
	// The text of a blob is made of its bytes whatever they are, so it does not say that they
	// are text.
	text := !f.Binary && !p.Blob
	if !ok || (text && (err != nil || a.mime != "application/pdf")) {
		return nil, "", nil // a text may begin so; only a document can be text throughout
	}
	name := tool.Name(p.Rel)
	if err != nil {
		return nil, "", tool.Errorf(tool.CodeBinary, "%s begins like %s, but is damaged: %v. It is not shown.", name,
			a.mime, err)
	}
	if len(f.Data) > maxMedia {
		return nil, "", tool.Errorf(tool.CodeTooLarge,
			"%s is %s of %d bytes; at most %d can be looked at. Make a smaller copy of it and read that.", name, a.mime,
			len(f.Data), maxMedia)
	}
	what := fmt.Sprintf("%s, %d bytes", a.mime, len(f.Data))
	if a.width > 0 {
		what += fmt.Sprintf(", %d×%d pixels", a.width, a.height)
	}
	return &model.Media{MimeType: a.mime, Data: f.Data}, what, nil
}
