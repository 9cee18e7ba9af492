// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

const (
	dbTimeout = 10 * time.Second
	patience  = 20 * time.Second
	pause     = 100 * time.Millisecond
)

type weapon struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

type app struct {
	db           *pgxpool.Pool
	title, owner string
}

func (a *app) handler() http.Handler {
	counted := http.NewServeMux()
	counted.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, map[string]string{"title": a.title, "owner": a.owner})
	})
	counted.HandleFunc("GET /probe/liveness",
		func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	counted.HandleFunc("GET /probe/readiness", a.readiness)
	counted.HandleFunc("GET /weapon", a.list)
	counted.HandleFunc("POST /weapon", a.add)
	all := http.NewServeMux()
	all.Handle("/", count(counted))
	all.Handle("GET /metrics", promhttp.Handler())
	return all
}

func (a *app) readiness(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), time.Second) // a probe times out after two seconds
	defer cancel()
	if err := a.db.Ping(ctx); err != nil {
		refuse(w, http.StatusServiceUnavailable, err)
		return
	}
	w.WriteHeader(http.StatusOK)
}

func (a *app) list(w http.ResponseWriter, r *http.Request) {
	weapons, err := a.weapons(r.Context())
	if r.URL.Query().Has("retry") {
		ctx, cancel := context.WithTimeout(r.Context(), patience)
		defer cancel()
		for err != nil && ctx.Err() == nil {
			select {
			case <-ctx.Done():
			case <-time.After(pause):
				weapons, err = a.weapons(ctx)
			}
		}
	}
	if err != nil {
		refuse(w, http.StatusInternalServerError, err)
		return
	}
	answer(w, http.StatusOK, weapons)
}

func (a *app) weapons(ctx context.Context) ([]weapon, error) {
	ctx, cancel := context.WithTimeout(ctx, dbTimeout)
	defer cancel()
	rows, err := a.db.Query(ctx, "SELECT id, name FROM weapons ORDER BY id")
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[weapon])
}

func (a *app) add(w http.ResponseWriter, r *http.Request) {
	var made weapon
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(&made); err != nil || made.ID == "" ||
		made.Name == "" {
		refuse(w, http.StatusBadRequest, errors.New(`send {"id": "...", "name": "..."}`))
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), dbTimeout)
	defer cancel()
	_, err := a.db.Exec(ctx, "INSERT INTO weapons (id, name) VALUES ($1, $2)", made.ID, made.Name)
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok && refused.Code == "23505" { // unique_violation
		refuse(w, http.StatusConflict, fmt.Errorf("there is a weapon %q already", made.ID))
		return
	}
	if err != nil {
		refuse(w, http.StatusInternalServerError, err)
		return
	}
	answer(w, http.StatusCreated, made)
}

func answer(w http.ResponseWriter, code int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(value) // fails if the client has disconnected
}

func refuse(w http.ResponseWriter, code int, err error) {
	answer(w, code, map[string]string{"error": err.Error()})
}
