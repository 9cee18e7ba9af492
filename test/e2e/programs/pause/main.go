// SPDX-License-Identifier: Apache-2.0

// Command pause holds a pod's namespaces: it sleeps until SIGTERM.
package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGINT, syscall.SIGTERM)
	<-end
}
