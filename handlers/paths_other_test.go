//go:build !unix

package handlers

import "errors"

func mkfifo(string) error { return errors.ErrUnsupported }
