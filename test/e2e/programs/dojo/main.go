// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

const grace = 10 * time.Second

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	var err error
	if len(os.Args) == 4 && os.Args[1] == "release" {
		err = release(ctx, os.Args[2], os.Args[3])
	} else {
		err = run(ctx)
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "dojo:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	if err := os.WriteFile("traces.json", []byte("[]\n"), 0o600); err != nil {
		return err
	}
	pool, err := connect(ctx)
	if err != nil {
		return err
	}
	defer pool.Close()
	app := &app{db: pool, title: os.Getenv("DOJO_TITLE"), owner: os.Getenv("DOJO_ACCOUNT_ID")}
	server := &http.Server{Addr: ":8080", Handler: app.handler(), ReadHeaderTimeout: 5 * time.Second}
	ended := make(chan error, 1)
	go func() { ended <- server.ListenAndServe() }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	end, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	return server.Shutdown(end)
}

func connect(ctx context.Context) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig("sslmode=prefer connect_timeout=5 pool_max_conns=4")
	if err != nil {
		return nil, err
	}
	to := config.ConnConfig
	to.Host, to.Database, to.User, to.Password = os.Getenv("DB_ENDPOINT"), os.Getenv("DB_NAME"), os.Getenv("DB_USER"),
		os.Getenv("DB_PASS")
	port, err := net.DefaultResolver.LookupPort(ctx, "tcp", os.Getenv("DB_PORT"))
	if err != nil {
		return nil, fmt.Errorf("DB_PORT: %w", err)
	}
	to.Port = uint16(port) //nolint:gosec // G115: LookupPort returns no larger number
	for _, fallback := range to.Fallbacks {
		fallback.Host, fallback.Port = to.Host, to.Port
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	if err := pool.Ping(ctx); err != nil {
		pool.Close()
		return nil, errors.Join(errors.New("the database does not let us in"), err)
	}
	return pool, nil
}
