// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

func release(ctx context.Context, name, takes string) error {
	pool, err := connect(ctx)
	if err != nil {
		return err
	}
	defer pool.Close()
	if err := mark(ctx, pool, name+" begun"); err != nil {
		return err
	}
	wait, err := time.ParseDuration(takes)
	if err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(wait):
	}
	return mark(ctx, pool, name+" completed")
}

func mark(ctx context.Context, pool *pgxpool.Pool, name string) error {
	_, err := pool.Exec(ctx, "INSERT INTO weapons (id, name) VALUES ($1, $2)",
		name+" "+time.Now().Format(time.RFC3339Nano), name)
	return err
}
