// SPDX-License-Identifier: Apache-2.0

package discordclient_test

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"jutsu.com/operators/libs/discordclient"
)

func TestMetricsCountAnAnswerThatCannotBeRead(t *testing.T) {
	t.Parallel()
	m := discordclient.NewMetrics()
	registry := prometheus.NewRegistry()
	registry.MustRegister(m)
	bodies := []string{"[]", "no JSON"}
	c, err := discordclient.New(discordclient.Options{Token: discordclient.NewSecret("token"), Metrics: m, Transport: roundTrip(func(*http.Request) (*http.Response, error) {
		body := bodies[0]
		bodies = bodies[1:]
		return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(body))}, nil
	})})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.ListChannels(t.Context(), "1"); err != nil {
		t.Fatal(err)
	}
	if got := value(t, registry, "discord_requests_total", ""); got != 1 {
		t.Errorf("%v requests are counted for one", got)
	}
	_, err = c.CreateChannel(t.Context(), "1", discordclient.ChannelCreate{Name: "a"}, "")
	wantClass(t, err, discordclient.ClassUnknown)
	if got := value(t, registry, "discord_requests_total", "none"); got != -1 {
		t.Errorf("%v requests count as unanswered", got)
	}
}

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
