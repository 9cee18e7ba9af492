// SPDX-License-Identifier: Apache-2.0

package observability

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/gin-gonic/gin"
	. "github.com/onsi/gomega"
	"github.com/prometheus/common/model"
	ginprometheus "github.com/zsais/go-gin-prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"jutsu.com/operators/test/environment"
	"jutsu.com/operators/test/testcluster"
	"jutsu.com/operators/test/testcluster/binaries"
	"jutsu.com/operators/test/testcluster/process"
	"jutsu.com/operators/test/testcluster/project"
)

var (
	serviceMonitor = schema.GroupVersionKind{Group: "monitoring.coreos.com", Version: "v1", Kind: "ServiceMonitor"}
	prometheusRule = serviceMonitor.GroupVersion().WithKind("PrometheusRule")
)

type prometheus struct {
	url    string
	config map[string]any
	file   string // configuration file
}

func (p *prometheus) scrape(t *testing.T, target map[string]any) {
	t.Helper()
	p.config["scrape_configs"] = append(p.config["scrape_configs"].([]any), target)
	write(t, p.file, p.config)
	answer, err := http.Post(p.url+"/-/reload", "", nil)
	must(t, err)
	check(t, answer.Body.Close())
	if answer.StatusCode != http.StatusOK {
		t.Fatalf("the configuration with %v: %s", target, answer.Status)
	}
}

func promtool(t *testing.T) string {
	t.Helper()
	path, err := project.Path("bin", "promtool")
	must(t, err)
	if _, err := os.Stat(path); err != nil {
		t.Fatal("bin/promtool is not there yet: run `make bin/promtool` first (`make integration` does)")
	}
	return path
}

func startPrometheus(t *testing.T, s *stage) *prometheus {
	t.Helper()
	folder := t.TempDir()
	config := map[string]any{
		"global":     map[string]any{"scrape_interval": "1s", "evaluation_interval": "1s"},
		"rule_files": []string{"rules.yaml"},
	}
	var groups []any
	scrape := []any{s.application(t)}
	for _, o := range environment.All {
		scrape = append(scrape, s.scrapeConfig(t, o))
		groups = append(groups, s.ruleGroups(t, o.Namespace, o.Name)...)
	}
	config["scrape_configs"] = scrape
	p := &prometheus{config: config, file: filepath.Join(folder, "prometheus.yaml")}
	write(t, p.file, config)
	write(t, filepath.Join(folder, "rules.yaml"), map[string]any{"groups": groups})

	address, err := testcluster.FreeAddress(t.Context())
	must(t, err)
	paths, err := binaries.Locate(t.Context(), os.Stderr, binaries.Prometheus)
	must(t, err)
	p.url = "http://" + address
	reaper, err := process.NewReaper(folder)
	must(t, err)
	running, err := process.Start("Prometheus", filepath.Join(t.TempDir(), "prometheus.log"),
		exec.Command(paths[binaries.Prometheus],
			"--config.file="+p.file, "--storage.tsdb.path="+filepath.Join(folder, "data"),
			"--web.listen-address="+address, "--web.enable-lifecycle", "--log.level=warn"), reaper)
	must(t, err)
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(running.Tail())
		}
		check(t, running.Stop(waitLimit))
		check(t, reaper.Clean())
	})
	NewWithT(t).Eventually(func(g Gomega) {
		g.Expect(p.query(t.Context(), "up")).To(HaveLen(len(environment.All)+1), "targets")
		g.Expect(p.query(t.Context(), "up == 0")).To(BeEmpty(), "targets that cannot be scraped")
	}).WithTimeout(waitLimit).Should(Succeed())
	return p
}

func decode(t *testing.T, object map[string]any, into any) {
	t.Helper()
	text, err := json.Marshal(object)
	must(t, err)
	must(t, json.Unmarshal(text, into))
}

func write(t *testing.T, path string, content any) {
	t.Helper()
	text, err := yaml.Marshal(content)
	must(t, err)
	must(t, os.WriteFile(path, text, 0o600))
}

type monitorSpec struct {
	Spec struct {
		Selector  struct{ MatchLabels map[string]string }
		Endpoints []struct {
			Port, Path, Scheme string
			HonorLabels        bool
			Relabelings        []struct{ TargetLabel, Replacement string }
			Authorization      struct {
				Type        string
				Credentials corev1.SecretKeySelector
			}
			TLSConfig struct {
				InsecureSkipVerify bool
				ServerName         string
			}
		}
	}
}

func (s *stage) monitor(t *testing.T, o environment.Operator) monitorSpec {
	t.Helper()
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(serviceMonitor)
	must(t, s.Admin.Get(t.Context(), client.ObjectKey{Namespace: o.Namespace, Name: o.Name}, live))
	var as monitorSpec
	decode(t, live.Object, &as)
	return as
}

func (s *stage) token(t *testing.T, o environment.Operator) (token string) {
	t.Helper()
	credentials := s.monitor(t, o).Spec.Endpoints[0].Authorization.Credentials
	NewWithT(t).Eventually(func(g Gomega) {
		var secret corev1.Secret
		g.Expect(s.Admin.Get(t.Context(), client.ObjectKey{Namespace: o.Namespace, Name: credentials.Name}, &secret)).
			To(Succeed())
		token = string(secret.Data[credentials.Key])
		g.Expect(token).NotTo(BeEmpty(), "the token in Secret %s", secret.Name)
	}).WithTimeout(waitLimit).Should(Succeed())
	return token
}

// scrapeConfig converts the operator's ServiceMonitor to a scrape config of Prometheus. The target
// is the local process of the operator instead of a pod.
func (s *stage) scrapeConfig(t *testing.T, o environment.Operator) map[string]any {
	t.Helper()
	g := NewWithT(t)
	as := s.monitor(t, o)
	endpoint := as.Spec.Endpoints[0]

	var services corev1.ServiceList
	must(t, s.Admin.List(t.Context(), &services, client.InNamespace(o.Namespace),
		client.MatchingLabels(as.Spec.Selector.MatchLabels)))
	g.Expect(services.Items).To(HaveLen(1), "Services that the ServiceMonitor selects")
	g.Expect(services.Items[0].Spec.Ports).To(ContainElement(HaveField("Name", endpoint.Port)))
	address, err := url.Parse(s.processes[o.Name].MetricsURL())
	must(t, err)
	service := services.Items[0].Name
	var relabelings []any
	for _, r := range endpoint.Relabelings {
		relabelings = append(relabelings, map[string]any{"target_label": r.TargetLabel, "replacement": r.Replacement})
	}
	return map[string]any{
		"job_name": service, "metrics_path": endpoint.Path, "scheme": endpoint.Scheme, "honor_labels": endpoint.HonorLabels,
		"authorization":   map[string]any{"type": endpoint.Authorization.Type, "credentials": s.token(t, o)},
		"tls_config":      map[string]any{"insecure_skip_verify": endpoint.TLSConfig.InsecureSkipVerify},
		"relabel_configs": relabelings,
		"static_configs": []any{map[string]any{
			"targets": []string{address.Host},
			"labels": map[string]string{"namespace": o.Namespace, "service": service, "pod": o.Name + "-0",
				"container": "operator", "endpoint": endpoint.Port},
		}},
	}
}

func (s *stage) ruleGroups(t *testing.T, namespace, name string) []any {
	t.Helper()
	rule := &unstructured.Unstructured{}
	rule.SetGroupVersionKind(prometheusRule)
	must(t, s.Admin.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, rule))
	groups, _, err := unstructured.NestedSlice(rule.Object, "spec", "groups")
	must(t, err)
	return groups
}

// application starts a server with the metrics library of the real application
// (https://github.com/zsais/go-gin-prometheus).
func (s *stage) application(t *testing.T) map[string]any {
	t.Helper()
	gin.SetMode(gin.ReleaseMode)
	engine := gin.New()
	ginprometheus.NewPrometheus("gin").Use(engine)
	engine.GET("/weapons", func(c *gin.Context) { c.String(http.StatusOK, "katana") })
	engine.GET("/broken", func(c *gin.Context) { c.Status(http.StatusInternalServerError) })
	server := httptest.NewServer(engine)
	t.Cleanup(server.Close)
	for _, path := range []string{"/weapons", "/broken"} {
		answer, err := http.Get(server.URL + path)
		must(t, err)
		check(t, answer.Body.Close())
	}
	s.ask = func() { // a rate needs an increase of series that Prometheus has already scraped
		for _, path := range []string{"/weapons", "/weapons", "/broken"} {
			if answer, err := http.Get(server.URL + path); err == nil {
				_ = answer.Body.Close()
			}
		}
	}
	const dojo = "tokyo-jujutsu-high"
	return map[string]any{"job_name": dojo, "static_configs": []any{map[string]any{
		"targets": []string{server.Listener.Addr().String()},
		"labels":  map[string]string{"namespace": "default", "service": dojo, "pod": dojo + "-0", "endpoint": "http"},
	}}}
}

// See https://prometheus.io/docs/prometheus/latest/querying/api/.
func (p *prometheus) api(ctx context.Context, path string, parameters url.Values, into any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url+"/api/v1/"+path+"?"+parameters.Encode(), nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	var envelope struct {
		Status, Error string
		Data          json.RawMessage
	}
	if err := json.Unmarshal(body, &envelope); err != nil {
		return fmt.Errorf("%s: %s: %w", path, answer.Status, err)
	}
	if envelope.Status != "success" {
		return fmt.Errorf("%s: %s", path, envelope.Error)
	}
	return json.Unmarshal(envelope.Data, into)
}

func (p *prometheus) query(ctx context.Context, expr string) (model.Vector, error) {
	var data struct {
		ResultType string
		Result     json.RawMessage
	}
	if err := p.api(ctx, "query", url.Values{"query": {expr}}, &data); err != nil {
		return nil, err
	}
	if data.ResultType == "scalar" {
		var one model.Scalar
		err := json.Unmarshal(data.Result, &one)
		return model.Vector{{Value: one.Value}}, err
	}
	var found model.Vector
	err := json.Unmarshal(data.Result, &found)
	return found, err
}

func (p *prometheus) series(ctx context.Context, selector string) (found []model.LabelSet, err error) {
	err = p.api(ctx, "series", url.Values{"match[]": {selector}}, &found)
	return found, err
}
