// SPDX-License-Identifier: Apache-2.0

// Command ferretdb runs FerretDB (the protocol of MongoDB on port 27017, with data in Postgres) for
// test/e2e. FerretDB's own command does not start if it is built outside of its repository.
// POSTGRES_URL is the database. Clients log in by PLAIN with a Postgres user and password.
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
