package main

import "os"

func main() {
	c := newConsole()
	os.Exit(c.end(run(c, os.Args[1:])))
}
