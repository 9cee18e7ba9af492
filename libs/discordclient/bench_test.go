// SPDX-License-Identifier: Apache-2.0

package discordclient_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"jutsu.com/operators/libs/discordclient"
)

func answeringOne(b *testing.B) *discordclient.Client {
	b.Helper()
	body := []byte(`{"id":"175928847299117063","type":0,"guild_id":"175928847299117000","name":"tokyo-alerts","position":3,"flags":0,"topic":"fire",` +
		`"parent_id":"175928847299117001","nsfw":false,"rate_limit_per_user":0,"permission_overwrites":[{"id":"175928847299117000","type":0,"allow":"0","deny":"1024"}]}`)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(body) }))
	b.Cleanup(srv.Close)
	c, err := discordclient.New(discordclient.Options{Token: discordclient.NewSecret("token"), APIURL: srv.URL, GlobalPerSecond: 1_000_000})
	if err != nil {
		b.Fatal(err)
	}
	if _, err := c.GetChannel(b.Context(), "1"); err != nil { // a route's first call delays its other calls
		b.Fatal(err)
	}
	return c
}

func BenchmarkCall(b *testing.B) {
	c := answeringOne(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.GetChannel(b.Context(), "1"); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
}

func BenchmarkCallParallel(b *testing.B) {
	c := answeringOne(b)
	b.SetParallelism(8)
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := c.GetChannel(b.Context(), "1"); err != nil {
				b.Error(err)
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
}

func BenchmarkCallWithoutNetwork(b *testing.B) {
	c, err := discordclient.New(discordclient.Options{
		Token: discordclient.NewSecret("token"), GlobalPerSecond: 1_000_000,
		Transport: roundTrip(func(*http.Request) (*http.Response, error) {
			rec := httptest.NewRecorder()
			_, _ = rec.WriteString(`{"id":"1","type":0,"guild_id":"2","name":"a"}`)
			return rec.Result(), nil
		}),
	})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.GetChannel(b.Context(), "1"); err != nil {
			b.Fatal(err)
		}
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func BenchmarkRefusedByOurselves(b *testing.B) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "3600")
		w.WriteHeader(http.StatusTooManyRequests)
		_, _ = w.Write([]byte(`{"retry_after":3600}`))
	}))
	defer srv.Close()
	c, err := discordclient.New(discordclient.Options{Token: discordclient.NewSecret("token"), APIURL: srv.URL})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.GetChannel(b.Context(), "1"); err == nil {
			b.Fatal("it went through")
		}
	}
}
