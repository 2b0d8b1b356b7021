//go:build !linux

package main

import "os"

// exitNow ends an adapter or its guard.
func exitNow(code int) { os.Exit(code) }
