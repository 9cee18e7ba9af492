// SPDX-License-Identifier: Apache-2.0

package discordclient_test

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"jutsu.com/operators/libs/discordclient"
)

// An answer that cannot be read came all the same, and each page of a list is a request.
func TestMetricsCountRequests(t *testing.T) {
	t.Parallel()
	m := discordclient.NewMetrics()
	registry := prometheus.NewRegistry()
	registry.MustRegister(m)
	pages := []string{page(1, 200), page(201, 200), page(401, 7), "what is no JSON"}
	c, err := discordclient.New(discordclient.Options{Token: discordclient.NewSecret("token"), Metrics: m, Transport: roundTrip(func(*http.Request) (*http.Response, error) {
		body := pages[0]
		pages = pages[1:]
		return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(body))}, nil
	})})
	if err != nil {
		t.Fatal(err)
	}
	if list, err := c.ListMemberships(t.Context()); err != nil || len(list) != 407 {
		t.Fatalf("%d memberships, %v", len(list), err)
	}
	if got := value(t, registry, "discord_requests_total", ""); got != 3 {
		t.Errorf("%v requests are counted for three pages", got)
	}
	_, err = c.CreateChannel(t.Context(), "1", discordclient.ChannelCreate{Name: "a"}, "")
	wantClass(t, err, discordclient.ClassUnknown)
	if got := value(t, registry, "discord_requests_total", "none"); got != -1 {
		t.Errorf("%v requests count as unanswered", got)
	}
}

// page is a page of memberships.
func page(first, n int) string {
	var guilds []string
	for i := range n {
		guilds = append(guilds, fmt.Sprintf(`{"id":"%d","permissions":"8"}`, first+i))
	}
	return "[" + strings.Join(guilds, ",") + "]"
}

// value reads one series of a registry, with a label's value where it has any; -1 where there is
// none.
func value(t *testing.T, registry prometheus.Gatherer, name, label string) float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			labelled := slices.ContainsFunc(m.GetLabel(), func(l *dto.LabelPair) bool { return l.GetValue() == label })
			if f.GetName() == name && (label == "" || labelled) {
				return m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	return -1
}
