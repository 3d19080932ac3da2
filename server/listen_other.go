//go:build !unix

package server

import "os"

// takeOver returns out: there is no descriptor that could be pointed elsewhere.
func takeOver(out, _ *os.File) (*os.File, error) { return out, nil }
