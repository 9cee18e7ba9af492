// SPDX-License-Identifier: Apache-2.0

package monitoring

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
	discordv1alpha1 "jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/dojo-operator/internal/optionalkinds"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/libs/apply"
)

// See https://prometheus-operator.dev/docs/api-reference/api/.
var (
	serviceMonitorKind = prometheusKind("v1", "ServiceMonitor", "servicemonitors")
	ruleKind           = prometheusKind("v1", "PrometheusRule", "prometheusrules")
	routeKind          = prometheusKind("v1alpha1", "AlertmanagerConfig", "alertmanagerconfigs")
	channelKind        = optionalkinds.Kind{
		GroupVersionKind: discordv1alpha1.GroupVersion.WithKind("DiscordChannel"), Plural: "discordchannels",
	}
)

func prometheusKind(version, kind, plural string) optionalkinds.Kind {
	group := schema.GroupVersion{Group: "monitoring.coreos.com", Version: version}
	return optionalkinds.Kind{GroupVersionKind: group.WithKind(kind), Plural: plural}
}

// Kinds lists the kinds that this package uses and the cluster may lack.
func Kinds() []optionalkinds.Kind {
	return []optionalkinds.Kind{serviceMonitorKind, ruleKind, routeKind, channelKind}
}

// Config has the operator's flags. Alerts link to DashboardURL and DocsURL, if set.
type Config struct {
	// ProgressDeadline limits the wait for a DiscordChannel. After a move of the alerts, the Dojo's own
	// former DiscordChannel stays for this time, so that Alertmanager can read its new configuration.
	ProgressDeadline time.Duration
	DashboardURL     *url.URL
	// DocsURL has no slash at its end.
	DocsURL string
	// Alertmanager posts only to URLs with the prefix WebhookBase.
	WebhookBase string
}

// State has the observed objects. A missing object is nil.
type State struct {
	Now time.Time
	// Missing lists the kinds that the cluster lacks, or forbids the operator to read.
	Missing []optionalkinds.Kind

	ServiceMonitor, Rule, Route *unstructured.Unstructured
	// Channel gets the alerts. OwnChannel has the suffix "-alerts", and may be obsolete.
	Channel, OwnChannel *discordv1alpha1.DiscordChannel
	// Secret is the metadata of the Secret that Alertmanager reads. OwnSecret is the same Secret
	// with data; nil if the Dojo does not control it.
	Secret    *metav1.PartialObjectMetadata
	OwnSecret *corev1.Secret
	// ChannelSecret has the webhook URL that discord-operator has written.
	ChannelSecret *corev1.Secret
	Unchanged     apply.Unchanged
}

// Observe reads the Secrets, and the objects of each optional kind that the cluster has.
func Observe(
	ctx context.Context, r apply.Reader, dojo *corev1api.Dojo, has func(optionalkinds.Kind) bool, now time.Time,
) (s State, err error) {
	s = State{Now: now, Unchanged: r.Unchanged}
	s.Missing = slices.DeleteFunc(Kinds(), has)
	child := func(kind optionalkinds.Kind, into **unstructured.Unstructured) (err error) {
		if s.has(kind) {
			*into, err = apply.Get(ctx, r, kind.Kind, client.ObjectKeyFromObject(dojo), kind.Object())
		}
		return err
	}
	channel := func(name string, into **discordv1alpha1.DiscordChannel) (err error) {
		if name != "" && s.has(channelKind) {
			key := client.ObjectKey{Namespace: dojo.Namespace, Name: name}
			*into, err = apply.Get(ctx, r, channelKind.Kind, key, &discordv1alpha1.DiscordChannel{})
		}
		return err
	}
	err = errors.Join(child(serviceMonitorKind, &s.ServiceMonitor), child(ruleKind, &s.Rule), child(routeKind, &s.Route),
		channel(ownChannelName(dojo), &s.OwnChannel), channel(ChannelName(dojo), &s.Channel))
	if err != nil {
		return s, err
	}
	err = s.observeSecrets(ctx, r, dojo)
	return s, err
}

// observeSecrets reads the Secrets with their data, because metadata does not show a change by a
// client with the operator's field manager.
func (s *State) observeSecrets(ctx context.Context, r apply.Reader, dojo *corev1api.Dojo) (err error) {
	secret := func(name string) (client.ObjectKey, *metav1.PartialObjectMetadata, error) {
		key := client.ObjectKey{Namespace: dojo.Namespace, Name: name}
		o, err := apply.Get(ctx, r, "Secret", key, apply.Metadata("v1", "Secret"))
		return key, o, err
	}
	own, o, err := secret(SecretName(dojo))
	if s.Secret = o; err != nil || dojo.Spec.Alerts == nil && s.Route == nil {
		return err
	}
	if s.Secret != nil && !ownership.Conflicts(dojo, s.Secret) {
		if s.OwnSecret, err = r.ReadSecret(ctx, own); err != nil {
			return err
		}
	}
	name := s.channelSecretName(dojo)
	if name == "" {
		return nil
	}
	source, o, err := secret(name)
	if err != nil || o == nil {
		return err
	}
	s.ChannelSecret, err = r.ReadSecret(ctx, source)
	return err
}

func (s *State) channelSecretName(dojo *corev1api.Dojo) string {
	if s.Channel == nil || hasOwnChannel(dojo) && ownership.Conflicts(dojo, s.Channel) ||
		s.Channel.Status.Webhook == nil || s.Channel.Status.Webhook.SecretRef == nil {
		return ""
	}
	return s.Channel.Status.Webhook.SecretRef.Name
}

func (s *State) has(kind optionalkinds.Kind) bool { return !slices.Contains(s.Missing, kind) }

func (s *State) missing(group string) *optionalkinds.Kind {
	i := slices.IndexFunc(s.Missing, func(kind optionalkinds.Kind) bool { return kind.Group == group })
	if i < 0 {
		return nil
	}
	return &s.Missing[i]
}

// Strip keeps only the identity, webhook and a part of the status of another owner's channel.
func Strip(c *discordv1alpha1.DiscordChannel) {
	webhook, was := c.Spec.Webhook, c.Status
	ownership.Strip(c)
	c.Spec.Webhook = webhook
	c.Status = discordv1alpha1.DiscordChannelStatus{
		ChannelID: was.ChannelID, ChannelURL: was.ChannelURL, Webhook: was.Webhook, Conditions: was.Conditions,
	}
}
