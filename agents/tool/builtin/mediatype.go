package builtin

import "errors"

// MediaType returns the MIME type of data that a model takes beside text: an image
// or a document. The error says why it takes none of it, in a few words.
func MediaType(data []byte) (string, error) {
	a, ok, err := sniff(data)
	switch {
	case !ok:
		return "", errors.New("it is no image or document that models take")
	case err != nil:
		return "", err
	}
	return a.mime, nil
}
