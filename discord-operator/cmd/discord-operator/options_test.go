// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// These tests are not parallel, because controller-runtime keeps --kubeconfig in a global variable.

func TestFlags(t *testing.T) {
	cases := map[string]struct {
		args []string
		want map[string]any
	}{
		"by default": {nil, map[string]any{
			"api": "https://discord.com/api/v10", "calls": 50, "resync": 5 * time.Minute, "recovery": 15 * time.Second,
			"workers": 16, "unverified": 5 * time.Minute, "live": time.Hour, "event": 15 * time.Second,
			"namespaces": "", "selectors": false,
		}},
		"all changed": {[]string{
			"--discord-api-url=http://discord.example/api", "--resync-period=1s", "--recovery-wait=2s", "--concurrency=1",
			"--watch-namespaces=a, b", "--unverified-period=0s", "--namespace-selectors",
			"--live-resync-period=1m", "--event-timeout=1s", "--discord-calls-per-second=20",
		}, map[string]any{
			"api": "http://discord.example/api", "calls": 20, "resync": time.Second, "recovery": 2 * time.Second, "workers": 1,
			"unverified": time.Duration(0), "live": time.Minute, "event": time.Second, "namespaces": "a b", "selectors": true,
		}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			o, err := parse(c.args, io.Discard)
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]any{
				"api": o.apiURL, "calls": o.perSecond, "resync": o.resync, "recovery": o.recoveryWait, "workers": o.workers,
				"unverified": o.unverified, "selectors": o.selectors, "live": o.resyncLive, "event": o.eventTimeout,
				"namespaces": strings.Join(o.manager.Namespaces, " "),
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWrongFlags(t *testing.T) {
	cases := map[string]struct {
		args []string
		want string // empty if the flags are valid
	}{
		"an API without a scheme": {[]string{"--discord-api-url=discord.com/api"},
			"--discord-api-url: the API's address must have the form of https://discord.com/api/v10"},
		"an API of another version": {[]string{"--discord-api-url=https://discord.com/api/v9"},
			"ends with v9, but only v10 of Discord's API is supported"},
		"a password in the API's address": {[]string{"--discord-api-url=https://me:secret@discord.com"}, "without a user"},
		"resync too often":                {[]string{"--resync-period=999ms"}, "--resync-period is 999ms, it must be at least 1s"},
		"resync too seldom":               {[]string{"--resync-period=25h"}, "must be at least 1s and at most 24h"},
		"the longest resync period":       {[]string{"--resync-period=24h"}, ""},
		"too short a recovery wait":       {[]string{"--recovery-wait=0s"}, "--recovery-wait is 0s, it must be at least 1s"},
		"too long a recovery wait":        {[]string{"--recovery-wait=11m"}, "must be at least 1s and at most 10m"},
		"too long an unverified period":   {[]string{"--unverified-period=25h"}, "must be at least 0s and at most 24h"},
		"live resync too seldom":          {[]string{"--live-resync-period=25h"}, "must be at least 1s and at most 24h"},
		"too short an event timeout":      {[]string{"--event-timeout=0s"}, "--event-timeout is 0s, it must be at least 1s"},
		"no worker":                       {[]string{"--concurrency=0"}, "--concurrency is 0"},
		"no calls":                        {[]string{"--discord-calls-per-second=0"}, "it must be at least 1 and at most 50"},
		"more calls than Discord allows":  {[]string{"--discord-calls-per-second=51"}, "must be at least 1 and at most 50"},
		"a token as a flag":               {[]string{"--token=secret"}, "flag provided but not defined: -token; see --help"},
		"a word that is no flag":          {[]string{"import"}, `unexpected argument "import"; see --help`},
		"a shared flag out of range":      {[]string{"--lease-duration=10s"}, "must be longer than --lease-renew-deadline"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := parse(c.args, io.Discard)
			if c.want == "" && err != nil {
				t.Errorf("got %v", err)
			}
			if c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestHelp(t *testing.T) {
	var out bytes.Buffer
	if _, err := parse([]string{"--help"}, &out); !errors.Is(err, flag.ErrHelp) {
		t.Fatal(err)
	}
	for _, want := range []string{"Usage: discord-operator [flags]",
		"-discord-api-url URL", "-recovery-wait", "-zap-log-level"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("--help does not say %q", want)
		}
	}
}
