// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

const metricReconciles = "controller_runtime_reconcile_total"

type scraped map[string]*dto.MetricFamily

func (s scraped) total(name string, label ...string) float64 {
	sum := 0.0
	for _, m := range s[name].GetMetric() {
		if len(label) == 0 || has(m, label[0], label[1]) {
			sum += m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
	}
	return sum
}

func has(m *dto.Metric, label, value string) bool {
	for _, pair := range m.GetLabel() {
		if pair.GetName() == label && pair.GetValue() == value {
			return true
		}
	}
	return false
}

func (s *stage) scrape(ctx context.Context, p *process) scraped {
	text := must(s.Metrics(ctx, s.operator, p.Process))
	parser := expfmt.NewTextParser(model.UTF8Validation)
	return must(parser.TextToMetricFamilies(strings.NewReader(text)))
}
