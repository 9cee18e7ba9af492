package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// metricReconciles is how controller-runtime counts them, by controller and result.
const metricReconciles = "controller_runtime_reconcile_total"

// scraped are the metrics of a process, by name.
type scraped map[string]*dto.MetricFamily

// total adds up what a metric is in all its series, or in those that have the label.
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

// scrape asks the operator for its metrics, as the ServiceAccount of a Prometheus would.
func (s *stage) scrape(ctx context.Context, p *process) (scraped, error) {
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "bench-metrics"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: s.operator.Name + "-metrics-reader"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: "default"}},
	}
	if err := s.admin.Create(ctx, binding); err != nil && !apierrors.IsAlreadyExists(err) {
		return nil, err
	}
	config, err := s.cluster.ServiceAccountConfig(ctx, namespace, "default")
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.MetricsURL(), nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+config.BearerToken)
	selfSigned := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // our own process
	defer selfSigned.CloseIdleConnections()
	response, err := (&http.Client{Transport: selfSigned, Timeout: 10 * time.Second}).Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", p.MetricsURL(), response.Status)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(response.Body)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.MetricsURL(), err)
	}
	return families, nil
}
