// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

type weapon struct {
	ID   string `bson:"_id"  json:"id"`
	Name string `bson:"name" json:"name"`
}

type app struct {
	client  *mongo.Client
	weapons *mongo.Collection
}

func (a *app) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	mux.HandleFunc("GET /probe/liveness", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	mux.HandleFunc("GET /probe/readiness", a.readiness)
	mux.HandleFunc("GET /weapon", a.list)
	mux.HandleFunc("POST /weapon", a.add)
	mux.Handle("GET /metrics", promhttp.Handler())
	return mux
}

func (a *app) readiness(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), time.Second) // a probe times out after two seconds
	defer cancel()
	if err := a.client.Ping(ctx, nil); err != nil {
		refuse(w, http.StatusServiceUnavailable, err)
		return
	}
	w.WriteHeader(http.StatusOK)
}

func (a *app) all(ctx context.Context) ([]weapon, error) {
	ctx, cancel := context.WithTimeout(ctx, dbTimeout)
	defer cancel()
	found, err := a.weapons.Find(ctx, bson.D{}, options.Find().SetSort(bson.D{{Key: "_id", Value: 1}}))
	if err != nil {
		return nil, err
	}
	weapons := []weapon{}
	err = found.All(ctx, &weapons)
	return weapons, err
}

func (a *app) list(w http.ResponseWriter, r *http.Request) {
	weapons, err := a.all(r.Context())
	if err != nil {
		refuse(w, http.StatusInternalServerError, err)
		return
	}
	answer(w, http.StatusOK, weapons)
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
	switch _, err := a.weapons.InsertOne(ctx, made); {
	case mongo.IsDuplicateKeyError(err):
		refuse(w, http.StatusConflict, fmt.Errorf("there is a weapon %q already", made.ID))
	case err != nil:
		refuse(w, http.StatusInternalServerError, err)
	default:
		answer(w, http.StatusCreated, made)
	}
}

func answer(w http.ResponseWriter, code int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(value) // fails if the client has disconnected
}

func refuse(w http.ResponseWriter, code int, err error) {
	answer(w, code, map[string]string{"error": err.Error()})
}
