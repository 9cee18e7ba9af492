// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/libs/kubectl"
)

// testAlertName is the alertname of a test.
const testAlertName = "DojoTest"

// postableAlert is an alert as Alertmanager takes it (api/v2/openapi.yaml).
type postableAlert struct {
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
	StartsAt    time.Time         `json:"startsAt"`
	EndsAt      time.Time         `json:"endsAt"`
}

// testAlert returns an alert that resolves itself after two minutes.
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
	cmd := s.forDojo("test-alert", "Post one alert of a Dojo to Alertmanager, which must reach its channel",
		`Posts an alert DojoTest with the labels of the Dojo to Alertmanager, through the API server, and reports to which
receivers Alertmanager sends it. It is resolved after two minutes. It needs the right to create services/proxy in the
namespace of Alertmanager.`,
		func(ctx context.Context, name string) error {
			d, err := s.dojo(ctx, name)
			if err != nil {
				return err
			}
			return s.testAlert(ctx, d, severity, at, &ask)
		})
	cmd.Flags().StringVar(&severity, "severity", "info", "the `label` severity; critical and warning may mention people")
	cmd.Flags().StringVar(&at, "alertmanager", "",
		"`NAMESPACE/SERVICE` of Alertmanager; by default those of prometheus-operator")
	ask.Bind(cmd)
	return cmd
}

func (s *session) testAlert(ctx context.Context, d *corev1api.Dojo, severity, at string, ask *kubectl.Asking) error {
	if d.Spec.Alerts == nil {
		return fmt.Errorf("%s has no spec.alerts, so that no alert has a channel", d.Name)
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
			return fmt.Errorf("post to Alertmanager %s: %w", a, err)
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

// shownWithin bounds the wait until Alertmanager shows an alert that it has accepted.
const shownWithin = 30 * time.Second

// post posts an alert and reports whether Alertmanager sends it to the Dojo's receiver.
func (s *session) post(ctx context.Context, a alertmanager, d *corev1api.Dojo, alert postableAlert) (bool, error) {
	body, err := json.Marshal([]postableAlert{alert})
	if err != nil {
		return false, err
	}
	request := s.request(a, "POST", "alerts").SetHeader("Content-Type", "application/json").Body(body)
	if err := request.Do(ctx).Error(); err != nil {
		return false, err
	}
	var receivers []string
	err = s.poll(ctx, shownWithin, func(ctx context.Context) (string, bool, error) {
		alerts, err := s.alertsOf(ctx, a, d, testAlertName)
		for _, alert := range alerts {
			for _, r := range alert.Receivers {
				receivers = append(receivers, r.Name)
			}
		}
		return "", len(alerts) > 0, err
	})
	if err != nil {
		return false, err
	}
	return s.reportReceivers(a, d, receivers), nil
}

// reportReceivers says to whom Alertmanager sends an alert. prometheus-operator names the receivers
// of an AlertmanagerConfig NAMESPACE/NAME/RECEIVER (pkg/alertmanager/amcfg.go).
func (s *session) reportReceivers(a alertmanager, d *corev1api.Dojo, receivers []string) bool {
	own := d.Namespace + "/" + d.Name + "/"
	if slices.ContainsFunc(receivers, func(r string) bool { return strings.HasPrefix(r, own) }) {
		s.Print("%s: Alertmanager %s sends it to %s. It is in the channel within the group_wait of its route, "+
			"usually 30 seconds.\n", s.Style.Good("ok"), a, strings.Join(receivers, ", "))
		if alerts := d.Status.Alerts; alerts != nil && alerts.ChannelURL != "" {
			s.Print("    %s\n", alerts.ChannelURL)
		}
		return true
	}
	s.Print("%s: Alertmanager %s sends it to %s, and not to the channel of %s: does it select the AlertmanagerConfig? "+
		"See kubectl dojo check -n %s\n", s.Style.Bad("lost"), a, strings.Join(receivers, ", "), d.Name, d.Namespace)
	return false
}
