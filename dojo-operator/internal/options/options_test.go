// SPDX-License-Identifier: Apache-2.0

package options

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jutsu.com/operators/dojo-operator/internal/credentials"
	"jutsu.com/operators/dojo-operator/internal/dojo"
	"jutsu.com/operators/dojo-operator/internal/exposure"
	"jutsu.com/operators/dojo-operator/internal/monitoring"
	"jutsu.com/operators/dojo-operator/internal/pods"
	"jutsu.com/operators/dojo-operator/internal/postgres"
	"jutsu.com/operators/dojo-operator/internal/release"
	"jutsu.com/operators/dojo-operator/internal/workload"
)

// These tests are not parallel: controller-runtime stores --kubeconfig in a global variable.

func TestFlags(t *testing.T) {
	cases := map[string]struct {
		args    []string
		want    dojo.Config
		workers int
	}{
		"by default": {nil, dojo.Config{
			Postgres: postgres.Config{
				Deadline: 15 * time.Minute, ProgressDeadline: 2 * time.Minute,
			},
			Credentials: credentials.Config{ProgressDeadline: 2 * time.Minute},
			Release:     release.Config{ProgressDeadline: 2 * time.Minute},
			Workload:    workload.Config{Image: "danijelradakovic/dojo:0.1.0-alpine", ProgressDeadline: 2 * time.Minute},
			Exposure:    exposure.Config{ProgressDeadline: 2 * time.Minute},
			Monitoring: monitoring.Config{
				ProgressDeadline: 2 * time.Minute, WebhookBase: "https://discord.com/api",
			},
		}, 16},
		"with flags": {[]string{
			"--dojo-image=dojo:9", "--migrate-image=migrate:9", "--database-deadline=20s", "--postgres-image=pg", "--progress-deadline=10s",
			"--concurrency=1", "--watch-namespaces=team-b, team-a", "--postgres-catalog=/etc/catalog",
			"--platform-users", "--dashboard-url=https://grafana.example.org/d/x",
			"--docs-url=https://wiki.example.org/dojos/", "--discord-api-url=http://discord.example.com:8080",
		}, dojo.Config{
			Postgres: postgres.Config{
				Deadline: 20 * time.Second, ProgressDeadline: 10 * time.Second,
				Users: pods.Users{ByPlatform: true},
			},
			Credentials: credentials.Config{
				ProgressDeadline: 10 * time.Second, Namespaces: []string{"team-a", "team-b"},
			},
			Release: release.Config{
				MigrateImage: "migrate:9", ProgressDeadline: 10 * time.Second, Users: pods.Users{ByPlatform: true},
			},
			Workload: workload.Config{
				Image: "dojo:9", ProgressDeadline: 10 * time.Second, Users: pods.Users{ByPlatform: true},
			},
			Exposure: exposure.Config{ProgressDeadline: 10 * time.Second},
			Monitoring: monitoring.Config{
				ProgressDeadline: 10 * time.Second, DocsURL: "https://wiki.example.org/dojos",
				DashboardURL: &url.URL{Scheme: "https", Host: "grafana.example.org", Path: "/d/x"},
				WebhookBase:  "http://discord.example.com:8080/api",
			},
		}, 1},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			o, err := Parse("dev", c.args, io.Discard)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, o.Config()); diff != "" {
				t.Error(diff)
			}
			if o.Workers != c.workers {
				t.Errorf("%d workers", o.Workers)
			}
		})
	}
}

func TestWrongFlags(t *testing.T) {
	cases := map[string]struct {
		arg  string
		want string // "" for a valid command line
	}{
		"no image of the application":    {"--dojo-image=", "--dojo-image must not be empty"},
		"no image of Postgres":           {"--postgres-image=", `--postgres-image is "", it must be an image without tag and digest`},
		"image of Postgres with a tag":   {"--postgres-image=r:5000/pg:17", `--postgres-image is "r:5000/pg:17", it must be`},
		"deadline of less than a second": {"--progress-deadline=999ms", "--progress-deadline is 999ms, it must be at least 1s"},
		"deadline of more than a day": {
			"--progress-deadline=25h", "--progress-deadline is 25h0m0s, it must be at least 1s and at most 24h",
		},
		"a dashboard URL without a host":        {"--dashboard-url=/d/x", `--dashboard-url is "/d/x", it must be empty, or an http or https URL`},
		"a dashboard URL with a template":       {"--dashboard-url=https://g/{{ $x }}", "--dashboard-url is"},
		"a docs URL with the scheme javascript": {"--docs-url=javascript:x", `--docs-url is "javascript:x", it must be empty, or an http or https URL`},
		"a docs URL with an anchor":             {"--docs-url=https://x.example.org#a", "--docs-url is"},
		"another version of Discord's API":      {"--discord-api-url=https://discord.com/api/v9", "--discord-api-url: the API's address"},
		"no URL of Discord's API":               {"--discord-api-url=", "--discord-api-url: the API's address"},
		"no docs URL":                           {"--docs-url=", ""},
		"longest deadline":                      {"--progress-deadline=24h", ""},
		"shortest deadline":                     {"--progress-deadline=1s", ""},
		"deadline of zero for the database":     {"--database-deadline=0s", "--database-deadline is 0s, it must be at least 1s"},
		"no workers":                            {"--concurrency=0", "--concurrency is 0, it must be at least 1"},
		"a flag that libs/manager refuses": {
			"--lease-duration=10s", "--lease-duration (10s) must be longer than --lease-renew-deadline (10s)",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := Parse("dev", []string{c.arg}, io.Discard)
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
	if _, err := Parse("dev", []string{"--help"}, &out); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("got %v", err)
	}
	for _, want := range []string{
		"dojo-operator dev turns Dojo objects into running applications.", "Usage: dojo-operator [flags]",
		"-progress-deadline duration", "(default 2m0s)", "-dojo-image image", "-lease-duration duration",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("--help does not say %q", want)
		}
	}
}
