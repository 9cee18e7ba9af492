// SPDX-License-Identifier: Apache-2.0

package monitoring

import (
	"bytes"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	corev1api "jutsu.com/operators/apis/core/v1"
	discordv1alpha1 "jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/apply/expectations"
	"jutsu.com/operators/libs/conditions"
)

// SecretName is the name of the Secret with the URL to which Alertmanager posts the Dojo's alerts.
func SecretName(d *corev1api.Dojo) string { return d.Name + "-alertmanager" }

// secretFor is that Secret.
func secretFor(d *corev1api.Dojo, url []byte) *unstructured.Unstructured {
	return apply.Typed(corev1ac.Secret(SecretName(d), d.Namespace).
		WithLabels(ownership.Labels(d, ownership.Application)).
		WithOwnerReferences(ownership.Reference(d)).
		WithType(corev1.SecretTypeOpaque).
		WithData(map[string][]byte{discordv1alpha1.WebhookSecretKey: url}))
}

// delivery is how the alerts come to Discord.
type delivery struct {
	// url is that of the channel's webhook, nil while there is none that alerts may be posted to.
	url []byte
	// issues are about the Secrets.
	issues []*conditions.Issue
	// kept is whether the Dojo's own Secret has a URL that alerts may be posted to.
	kept bool
	// safe is whether it has one once secret is written: an AlertmanagerConfig may name it.
	safe bool
	// secret is the Dojo's own Secret to be written, nil where it is in sync or url is nil.
	secret *apply.Object
}

// deliver decides whether Alertmanager may read the Dojo's own Secret. While the channel has no URL that
// alerts may be posted to, the last one that had been checked stays.
func deliver(d *corev1api.Dojo, s State, cfg Config) (to delivery) {
	var invalid *conditions.Issue
	to.url, invalid = channelURL(d, s, cfg)
	conflict := s.secretConflict(d)
	to.issues = []*conditions.Issue{invalid, conflict}
	if conflict != nil {
		return to
	}
	immutable := false
	if own := s.OwnSecret; own != nil {
		live := own.Data[discordv1alpha1.WebhookSecretKey]
		to.kept = isWebhook(cfg.WebhookBase, live)
		immutable = own.Immutable != nil && *own.Immutable && !bytes.Equal(live, to.url)
	}
	switch {
	case to.url == nil:
		to.safe = to.kept
	case !immutable:
		to.safe, to.secret = true, apply.Sync(ownership.FieldOwner, s.OwnSecret, secretFor(d, to.url), s.Unchanged)
	}
	return to
}

// secretConflict is the issue with a foreign Secret that has the name of the Dojo's own.
func (s *State) secretConflict(d *corev1api.Dojo) *conditions.Issue {
	if s.OwnSecret != nil { // newer than the cache
		return ownership.NameConflict(d, "Secret", s.OwnSecret)
	}
	return ownership.NameConflict(d, "Secret", s.Secret)
}

// channelURL is the URL of the channel's webhook, where alerts may be posted to it. It never quotes one.
func channelURL(d *corev1api.Dojo, s State, cfg Config) ([]byte, *conditions.Issue) {
	name := s.channelSecretName(d)
	if name == "" {
		return nil, nil // which is the channel's affair
	}
	object := "Secret " + d.Namespace + "/" + name
	if s.ChannelSecret == nil {
		return nil, waitForChannel(d, s, cfg, conditions.Progressing(corev1api.ReasonWaitingForChannel,
			"Waiting for the %s of the DiscordChannel %s.", object, s.Channel.Name).For(object),
			conditions.Degraded(corev1api.ReasonWebhookInvalid,
				"The %s with the URL of the webhook does not exist, and discord-operator does not write it. "+
					"See `kubectl describe discordchannel %s`; one that is paused gets none.", object, s.Channel.Name).For(object))
	}
	if url := s.ChannelSecret.Data[discordv1alpha1.WebhookSecretKey]; isWebhook(cfg.WebhookBase, url) {
		return url, nil
	}
	return nil, conditions.Degraded(corev1api.ReasonWebhookInvalid,
		"The key %q of the %s holds no URL of a webhook below %s, so no alert is posted to it. "+
			"Delete the Secret: discord-operator writes it again, unless the DiscordChannel %s is paused. "+
			"If discord-operator has the flag --discord-api-url, dojo-operator needs the same.",
		discordv1alpha1.WebhookSecretKey, object, cfg.WebhookBase, s.Channel.Name)
}

// planDelivery plans the Dojo's own Secret and the AlertmanagerConfig that names it. It reports whether
// both say that the alerts go to the channel.
func planDelivery(d *corev1api.Dojo, s State, cfg Config, p *apply.Plan) (moved bool) {
	if d.Spec.Alerts == nil {
		ownership.PlanOption(d, p, routeKind.Kind, s.Route, false, nil, s.Unchanged)
		if s.Secret != nil && !ownership.Conflicts(d, s.Secret) {
			p.Abandon = append(p.Abandon, apply.Delete("Secret", s.Secret))
		}
		return false
	}
	to := deliver(d, s, cfg)
	for _, issue := range to.issues {
		p.Report(issue)
	}
	if !to.safe {
		ownership.PlanOption(d, p, routeKind.Kind, s.Route, true, nil, s.Unchanged)
		disconnect(d, s, p)
		return false
	}
	p.Add(to.secret)
	route := ownership.PlanOption(d, p, routeKind.Kind, s.Route, true, routeFor(d), s.Unchanged)
	if route != nil {
		route.After = []expectations.Key{expectations.KeyOf("Secret", d.Namespace, SecretName(d))}
	}
	return to.url != nil && to.secret == nil && route == nil && !ownership.Conflicts(d, s.Route)
}

// disconnect takes away the AlertmanagerConfig, and the Dojo's own Secret, whose URL a client has changed
// and which cannot be written: for lack of another URL, or since that client has made it immutable.
func disconnect(d *corev1api.Dojo, s State, p *apply.Plan) {
	if s.Route != nil && !ownership.Conflicts(d, s.Route) {
		p.Delete = append(p.Delete, apply.Delete(routeKind.Kind, s.Route))
	}
	if s.OwnSecret != nil && !ownership.Conflicts(d, s.OwnSecret) {
		p.Abandon = append(p.Abandon, apply.Delete("Secret", s.OwnSecret))
	}
}

// Safeguards are the steps of [Plan] that keep Alertmanager from posting to an URL that was not checked.
// They are carried out also while nothing else is: of a Dojo that is paused, blocked or being deleted.
func Safeguards(d *corev1api.Dojo, s State, cfg Config) (p apply.Plan) {
	if s.Route == nil || ownership.Conflicts(d, s.Route) {
		return p // nothing of the Dojo's posts
	}
	to := deliver(d, s, cfg)
	if d.DeletionTimestamp != nil && s.OwnSecret == nil {
		to.safe = false // nothing is created any more
	}
	if !to.safe {
		disconnect(d, s, &p)
		return p.ForPart(corev1api.ConditionAlertsReady)
	}
	if !to.kept {
		p.Add(to.secret)
	}
	if !namesOnly(s.Route, SecretName(d)) {
		p.Add(apply.Sync(ownership.FieldOwner, s.Route, routeFor(d), s.Unchanged))
	}
	return p.ForPart(corev1api.ConditionAlertsReady)
}

// namesOnly reports whether an AlertmanagerConfig names this Secret and no other.
func namesOnly(route *unstructured.Unstructured, secret string) bool {
	receivers, _, _ := unstructured.NestedSlice(route.Object, "spec", "receivers")
	for _, receiver := range receivers {
		fields, _ := receiver.(map[string]any)
		messages, _ := fields["discordConfigs"].([]any)
		for _, message := range messages {
			fields, _ := message.(map[string]any)
			if name, _, _ := unstructured.NestedString(fields, "apiURL", "name"); name != secret {
				return false
			}
		}
	}
	return true
}
