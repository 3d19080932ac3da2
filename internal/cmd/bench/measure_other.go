//go:build !linux

package main

import (
	"errors"
	"time"
)

var errSystem = errors.New("memory and processor time are read from Linux's /proc; run it there")

func supported() error                    { return errSystem }
func memory(int, string) (float64, error) { return 0, errSystem }
func cpu(int) (time.Duration, error)      { return 0, errSystem }
func mono() int64                         { return 0 }
