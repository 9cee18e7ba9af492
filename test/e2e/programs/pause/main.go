// SPDX-License-Identifier: Apache-2.0

// Command pause keeps a pod's namespaces alive: it sleeps until SIGTERM.
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
