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

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/cli/kinds"
	"jutsu.com/operators/dojo-operator/internal/cli/world"
	"jutsu.com/operators/libs/kubectl"
)

const testAlertName = "DojoTest"

// postableAlert is an alert in a POST to Alertmanager (api/v2/openapi.yaml).
type postableAlert struct {
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
	StartsAt    time.Time         `json:"startsAt"`
	EndsAt      time.Time         `json:"endsAt"`
}

func testAlert(d *corev1api.Dojo, severity string, now time.Time) postableAlert {
	return postableAlert{
		Labels: map[string]string{
			"alertname": testAlertName, "namespace": d.Namespace, "dojo": d.Name, "severity": severity,
		},
		Annotations: map[string]string{
			"summary":     fmt.Sprintf("Test of the alerts of %s/%s", d.Namespace, d.Name),
			"description": "Someone has run kubectl dojo test-alert. Nothing is wrong.",
		},
		StartsAt: now.UTC().Truncate(time.Second), EndsAt: now.UTC().Truncate(time.Second).Add(2 * time.Minute),
	}
}

func (s *session) newTestAlert() *cobra.Command {
	var ask kubectl.Asking
	var severity, at string
	cmd := s.forDojo("test-alert", "Post a test alert to Alertmanager, for the channel of a Dojo",
		`Posts an alert DojoTest with the labels of the Dojo to Alertmanager, through the API server, and reports to which
receivers Alertmanager sends it. The alert is resolved after two minutes. The command needs the rights to create and
get services/proxy in the namespace of Alertmanager. Without --alertmanager, it also needs the right to list
alertmanagers in all namespaces.`,
		func(ctx context.Context, name string) error {
			d, err := s.dojo(ctx, name)
			if err != nil {
				return err
			}
			return s.testAlert(ctx, d, severity, at, &ask)
		})
	cmd.Flags().StringVar(&severity, "severity", "info",
		"severity `label` of the alert; critical and warning can mention people on Discord")
	cmd.Flags().StringVar(&at, "alertmanager", "",
		"`NAMESPACE/SERVICE` or NAMESPACE/SERVICE:PORT; by default each Alertmanager of prometheus-operator")
	ask.Bind(cmd)
	return cmd
}

func (s *session) testAlert(ctx context.Context, d *corev1api.Dojo, severity, at string, ask *kubectl.Asking) error {
	if d.Spec.Alerts == nil {
		return fmt.Errorf("%s has no channel for alerts: set spec.alerts", d.Name)
	}
	if ready := meta.FindStatusCondition(d.Status.Conditions, corev1api.ConditionAlertsReady); ready == nil ||
		ready.Status != metav1.ConditionTrue {
		s.Note("The alerts of %s are not ready: see kubectl dojo status %s -n %s\n", d.Name, d.Name, d.Namespace)
	}
	all, err := s.chosenAlertmanagers(ctx, at)
	if err != nil {
		return err
	}
	alert := testAlert(d, severity, s.Now())
	text, err := yaml.Marshal([]postableAlert{alert})
	if err != nil {
		return err
	}
	for _, a := range all {
		s.Print("Posts to Alertmanager %s:\n%s", a, text)
	}
	if err := ask.Confirm(ctx, s.Plugin, string(text)); err != nil {
		return err
	}
	reached := false
	for _, a := range all {
		here, err := s.post(ctx, a, d, alert)
		if err != nil {
			return fmt.Errorf("post the alert to Alertmanager %s and read it back: %w", a, err)
		}
		reached = reached || here
	}
	if !reached {
		return kubectl.ErrIll
	}
	return nil
}

func (s *session) chosenAlertmanagers(ctx context.Context, at string) (all []alertmanager, err error) {
	if at != "" {
		a, err := parseAlertmanager(at)
		return []alertmanager{a}, err
	}
	switch all, err = s.alertmanagers(ctx); {
	case apierrors.IsNotFound(err) || err == nil && len(all) == 0:
		return nil, errNoAlertmanager
	case apierrors.IsForbidden(err):
		return nil, errors.New("you may not list alertmanagers.monitoring.coreos.com in all namespaces: " +
			"name the Service of Alertmanager with --alertmanager NAMESPACE/SERVICE:PORT")
	}
	return all, err
}

const shownWithin = 30 * time.Second

func (s *session) post(ctx context.Context, a alertmanager, d *corev1api.Dojo, alert postableAlert) (bool, error) {
	body, err := json.Marshal([]postableAlert{alert})
	if err != nil {
		return false, err
	}
	request := s.request(a, "POST", "alerts").SetHeader("Content-Type", "application/json").Body(body)
	if err := request.Do(ctx).Error(); err != nil {
		return false, err
	}
	var shown []gettableAlert
	err = s.poll(ctx, shownWithin, func(ctx context.Context) (_ string, ok bool, err error) {
		shown, err = s.alertsOf(ctx, a, d, alert.Labels)
		return "", len(shown) > 0, err
	})
	if err != nil {
		return false, err
	}
	if shown[0].Status.State == "suppressed" {
		s.Print("%s: Alertmanager %s does not send the alert, because a silence or an inhibition rule matches it.\n",
			s.Style.Bad("suppressed"), a)
		return false, nil
	}
	var receivers []string
	for _, r := range shown[0].Receivers {
		receivers = append(receivers, r.Name)
	}
	return s.reportReceivers(a, d, receivers), nil
}

// reportReceivers prints and returns whether a receiver belongs to the Dojo. prometheus-operator
// names a receiver NAMESPACE/NAME/RECEIVER (pkg/alertmanager/amcfg.go).
func (s *session) reportReceivers(a alertmanager, d *corev1api.Dojo, receivers []string) bool {
	own := d.Namespace + "/" + d.Name + "/"
	if slices.ContainsFunc(receivers, func(r string) bool { return strings.HasPrefix(r, own) }) {
		s.Print("%s: Alertmanager %s sends the alert to %s. The alert arrives in the channel within the "+
			"group_wait of the route in Alertmanager, usually 30 seconds.\n",
			s.Style.Good("ok"), a, strings.Join(receivers, ", "))
		if alerts := d.Status.Alerts; alerts != nil && alerts.ChannelURL != "" {
			s.Print("    %s\n", alerts.ChannelURL)
		}
		return true
	}
	s.Print("%s: Alertmanager %s sends the alert to %s, but not to the channel of %s. Find out whether "+
		"Alertmanager selects the AlertmanagerConfig of the Dojo: kubectl dojo check -n %s\n",
		s.Style.Bad("lost"), a, strings.Join(receivers, ", "), d.Name, d.Namespace)
	return false
}

// alertmanager is the Service of an Alertmanager, for requests through the API server's proxy.
type alertmanager struct {
	namespace, service string
	// port is a name or number. prefix is the path prefix of the API.
	scheme, port, prefix string
}

func (a alertmanager) String() string { return a.namespace + "/" + a.service }

// alertmanagerOf returns prometheus-operator's governing Service (pkg/alertmanager/statefulset.go).
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

func parseAlertmanager(text string) (a alertmanager, err error) {
	namespace, service, ok := strings.Cut(text, "/")
	service, port, _ := strings.Cut(service, ":")
	if !ok || namespace == "" || service == "" {
		return a, kubectl.Usage("--alertmanager is %q, it must be NAMESPACE/SERVICE or NAMESPACE/SERVICE:PORT", text)
	}
	a = alertmanager{namespace: namespace, service: service, scheme: "http", port: cmp.Or(port, "9093"), prefix: "/"}
	return a, nil
}

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

// request needs the right to get services/proxy for a GET, and to create services/proxy for a POST.
func (s *session) request(a alertmanager, verb, call string) *rest.Request {
	name := a.scheme + ":" + a.service + ":" + a.port
	return s.core().RESTClient().Verb(verb).Namespace(a.namespace).Resource("services").Name(name).
		SubResource("proxy").Suffix(path.Join(a.prefix, "api/v2", call))
}

// gettableAlert is an alert in the answer to a GET (api/v2/openapi.yaml).
type gettableAlert struct {
	Labels    map[string]string       `json:"labels"`
	Receivers []struct{ Name string } `json:"receivers"`
	Status    struct {
		State string `json:"state"` // "unprocessed", "active" or "suppressed"
	} `json:"status"`
}

// alertsOf returns the Dojo's alerts with the given labels. Without labels, it returns all that are
// neither silenced nor inhibited.
func (s *session) alertsOf(
	ctx context.Context, a alertmanager, d *corev1api.Dojo, labels map[string]string,
) (all []gettableAlert, err error) {
	request := s.request(a, "GET", "alerts")
	request.Param("filter", fmt.Sprintf("namespace=%q", d.Namespace)).Param("filter", fmt.Sprintf("dojo=%q", d.Name))
	if len(labels) == 0 {
		request.Param("silenced", "false").Param("inhibited", "false")
	}
	for name, value := range labels {
		request.Param("filter", fmt.Sprintf("%s=%q", name, value))
	}
	text, err := request.DoRaw(ctx)
	if err != nil {
		return nil, err
	}
	err = json.Unmarshal(text, &all)
	return all, err
}

const firingTimeout = 3 * time.Second

// addFiring sets w.Firing, which stays nil if no Alertmanager answers.
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
		alerts, err := s.alertsOf(ctx, a, w.Dojo, nil)
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
	"name the Service of another Alertmanager with --alertmanager NAMESPACE/SERVICE:PORT")
