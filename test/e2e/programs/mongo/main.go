// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

const (
	grace     = 10 * time.Second
	dbTimeout = 5 * time.Second
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mongo:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	client, err := mongo.Connect(options.Client().ApplyURI(os.Getenv("DB_URI")).SetServerSelectionTimeout(dbTimeout))
	if err != nil {
		return err
	}
	defer func() { _ = client.Disconnect(context.WithoutCancel(ctx)) }()
	app := &app{client: client, weapons: client.Database(os.Getenv("DB_NAME")).Collection("weapons")}
	// A ping would succeed without a login.
	if _, err := app.all(ctx); err != nil {
		return errors.Join(errors.New("the database does not let us in"), err)
	}
	server := &http.Server{Addr: address(), Handler: app.handler(), ReadHeaderTimeout: dbTimeout}
	ended := make(chan error, 1)
	go func() { ended <- server.ListenAndServe() }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	return server.Shutdown(end)
}

func address() string {
	if address := os.Getenv("LISTEN"); address != "" {
		return address
	}
	return ":8080"
}
