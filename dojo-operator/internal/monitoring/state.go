// SPDX-License-Identifier: Apache-2.0

package monitoring

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
	discordv1alpha1 "jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/dojo-operator/internal/optional"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/libs/apply"
)

// The kinds of prometheus-operator (https://prometheus-operator.dev/docs/api-reference/api/) and of
// discord-operator.
var (
	serviceMonitorKind = prometheusKind("v1", "ServiceMonitor", "servicemonitors")
	ruleKind           = prometheusKind("v1", "PrometheusRule", "prometheusrules")
	routeKind          = prometheusKind("v1alpha1", "AlertmanagerConfig", "alertmanagerconfigs")
	channelKind        = optional.Kind{
		GroupVersionKind: discordv1alpha1.GroupVersion.WithKind("DiscordChannel"), Plural: "discordchannels",
	}
)

func prometheusKind(version, kind, plural string) optional.Kind {
	group := schema.GroupVersion{Group: "monitoring.coreos.com", Version: version}
	return optional.Kind{GroupVersionKind: group.WithKind(kind), Plural: plural}
}

// Kinds are those that are watched while the cluster has them.
func Kinds() []optional.Kind {
	return []optional.Kind{serviceMonitorKind, ruleKind, routeKind, channelKind}
}

// Config is what the operator's flags say.
type Config struct {
	// ProgressDeadline is how long a channel may be missing before the Dojo is Degraded.
	ProgressDeadline time.Duration
	// DashboardURL is that of the dashboard to which alerts link, with the Dojo as the values of its
	// variables; nil for no link.
	DashboardURL *url.URL
	// RunbookURL is that of the page about the alerts, to which they link; empty for no link.
	RunbookURL string
}

// State is what there is of a Dojo's monitoring. What does not exist is nil.
type State struct {
	Now time.Time
	// Missing are kinds that the cluster does not have.
	Missing []optional.Kind

	ServiceMonitor, Rule, Route *unstructured.Unstructured
	// Channel is the DiscordChannel that the spec asks for, OwnChannel the Dojo's own one.
	Channel, OwnChannel *discordv1alpha1.DiscordChannel
	// Unchanged are the objects whose last apply changed nothing.
	Unchanged apply.Unchanged
}

// Observe reads the monitoring. has reports which kinds the cluster has.
func Observe(
	ctx context.Context, r apply.Reader, d *corev1api.Dojo, has func(optional.Kind) bool, now time.Time,
) (s State, err error) {
	s = State{Now: now, Unchanged: r.Unchanged}
	s.Missing = slices.DeleteFunc(Kinds(), has)
	child := func(kind optional.Kind, into **unstructured.Unstructured) (err error) {
		if s.has(kind) {
			*into, err = apply.Get(ctx, r, kind.Kind, client.ObjectKeyFromObject(d), kind.Object())
		}
		return err
	}
	channel := func(name string, into **discordv1alpha1.DiscordChannel) (err error) {
		if name != "" && s.has(channelKind) {
			key := client.ObjectKey{Namespace: d.Namespace, Name: name}
			*into, err = apply.Get(ctx, r, channelKind.Kind, key, &discordv1alpha1.DiscordChannel{})
		}
		return err
	}
	err = errors.Join(child(serviceMonitorKind, &s.ServiceMonitor), child(ruleKind, &s.Rule), child(routeKind, &s.Route),
		channel(ownChannelName(d), &s.OwnChannel), channel(ChannelName(d), &s.Channel))
	return s, err
}

// has reports whether the cluster has a kind.
func (s *State) has(kind optional.Kind) bool { return !slices.Contains(s.Missing, kind) }

// missing is a kind of a group that the cluster does not have, nil where it has all.
func (s *State) missing(group string) *optional.Kind {
	i := slices.IndexFunc(s.Missing, func(kind optional.Kind) bool { return kind.Group == group })
	if i < 0 {
		return nil
	}
	return &s.Missing[i]
}

// Strip leaves of a foreign DiscordChannel its identity, and what a Dojo whose alerts show in it
// has to know.
func Strip(c *discordv1alpha1.DiscordChannel) {
	webhook, was := c.Spec.Webhook, c.Status
	ownership.Strip(c)
	c.Spec.Webhook = webhook
	c.Status = discordv1alpha1.DiscordChannelStatus{
		ChannelID: was.ChannelID, ChannelURL: was.ChannelURL, Webhook: was.Webhook, Conditions: was.Conditions,
	}
}
