// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/cli/kinds"
	"jutsu.com/operators/dojo-operator/internal/cli/world"
	"jutsu.com/operators/libs/kubectl"
)

// alertmanager is the Service of an Alertmanager, which the API server's proxy reaches.
type alertmanager struct {
	namespace, service string
	// port is its name, or number; prefix that of its paths.
	scheme, port, prefix string
}

func (a alertmanager) String() string { return a.namespace + "/" + a.service }

// alertmanagerOf returns the Service that prometheus-operator makes for an Alertmanager
// (pkg/alertmanager/statefulset.go, governingServiceName).
func alertmanagerOf(o *unstructured.Unstructured) alertmanager {
	text := func(fields ...string) string {
		value, _, _ := unstructured.NestedString(o.Object, append([]string{"spec"}, fields...)...)
		return value
	}
	a := alertmanager{
		namespace: o.GetNamespace(), service: cmp.Or(text("serviceName"), "alertmanager-operated"),
		scheme: "http", port: cmp.Or(text("portName"), "web"), prefix: cmp.Or(text("routePrefix"), "/"),
	}
	if _, tls, _ := unstructured.NestedMap(o.Object, "spec", "web", "tlsConfig"); tls {
		a.scheme = "https"
	}
	return a
}

// parseAlertmanager reads NAMESPACE/SERVICE or NAMESPACE/SERVICE:PORT.
func parseAlertmanager(text string) (a alertmanager, err error) {
	namespace, service, ok := strings.Cut(text, "/")
	service, port, _ := strings.Cut(service, ":")
	if !ok || namespace == "" || service == "" {
		return a, kubectl.Usage("--alertmanager is %q, it must be NAMESPACE/SERVICE or NAMESPACE/SERVICE:PORT", text)
	}
	a = alertmanager{namespace: namespace, service: service, scheme: "http", port: cmp.Or(port, "9093"), prefix: "/"}
	return a, nil
}

// alertmanagers finds those of the cluster.
func (s *session) alertmanagers(ctx context.Context) (all []alertmanager, err error) {
	list := kinds.Alertmanager.List()
	if err := s.List(ctx, list); err != nil {
		return nil, err
	}
	for i := range list.Items {
		all = append(all, alertmanagerOf(&list.Items[i]))
	}
	return all, nil
}

// request returns a request to an Alertmanager through the API server's proxy, which needs get or
// create of services/proxy.
func (s *session) request(a alertmanager, verb, call string) *rest.Request {
	name := a.scheme + ":" + a.service + ":" + a.port
	return s.core().RESTClient().Verb(verb).Namespace(a.namespace).Resource("services").Name(name).
		SubResource("proxy").Suffix(path.Join(a.prefix, "api/v2", call))
}

// gettableAlert is an alert as Alertmanager reports it (api/v2/openapi.yaml).
type gettableAlert struct {
	Labels    map[string]string       `json:"labels"`
	Receivers []struct{ Name string } `json:"receivers"`
}

// alertsOf returns the alerts of a Dojo that fire, of one name or of all.
func (s *session) alertsOf(
	ctx context.Context, a alertmanager, d *corev1api.Dojo, name string,
) (all []gettableAlert, err error) {
	request := s.request(a, "GET", "alerts")
	request.Param("active", "true").Param("silenced", "false").Param("inhibited", "false")
	request.Param("filter", fmt.Sprintf("namespace=%q", d.Namespace)).Param("filter", fmt.Sprintf("dojo=%q", d.Name))
	if name != "" {
		request.Param("filter", fmt.Sprintf("alertname=%q", name))
	}
	text, err := request.DoRaw(ctx)
	if err != nil {
		return nil, err
	}
	err = json.Unmarshal(text, &all)
	return all, err
}

// firingTimeout bounds what a status spends on alerts.
const firingTimeout = 3 * time.Second

// addFiring adds the alerts that fire, where the user may ask Alertmanager; otherwise they stay
// unknown.
func (s *session) addFiring(ctx context.Context, w *world.World) {
	if w.Dojo.Spec.Alerts == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, firingTimeout)
	defer cancel()
	all, err := s.alertmanagers(ctx)
	if err != nil {
		return
	}
	var firing []string
	answered := false
	for _, a := range all {
		alerts, err := s.alertsOf(ctx, a, w.Dojo, "")
		answered = answered || err == nil
		for _, alert := range alerts {
			firing = append(firing, alert.Labels["alertname"])
		}
	}
	if answered {
		slices.Sort(firing)
		w.Firing = append([]string{}, slices.Compact(firing)...)
	}
}

var errNoAlertmanager = errors.New("there is no Alertmanager of prometheus-operator in the cluster; " +
	"name the Service of another with --alertmanager NAMESPACE/SERVICE:PORT")
