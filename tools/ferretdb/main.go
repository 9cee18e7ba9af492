// SPDX-License-Identifier: Apache-2.0

// Command ferretdb runs FerretDB for test/e2e. It serves the protocol of MongoDB on port 27017, and
// stores the data in a Postgres. The module's own command cannot be used, because it does not start
// when it is built outside of its repository.
//
// A client logs in with the mechanism PLAIN, and with a user and password of Postgres. POSTGRES_URL
// names the database without user and password.
package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/FerretDB/FerretDB/ferretdb"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "ferretdb:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	address := os.Getenv("LISTEN")
	if address == "" {
		address = ":27017"
	}
	server, err := ferretdb.New(&ferretdb.Config{
		Listener: ferretdb.ListenerConfig{TCP: address}, Handler: "postgresql", PostgreSQLURL: os.Getenv("POSTGRES_URL"),
		Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	if err != nil {
		return err
	}
	return server.Run(ctx)
}
