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

// SecretName returns the name of the Dojo's own Secret, from which Alertmanager reads the URL of
// the webhook.
func SecretName(dojo *corev1api.Dojo) string { return dojo.Name + "-alertmanager" }

func secretFor(dojo *corev1api.Dojo, url []byte) *unstructured.Unstructured {
	return apply.Typed(corev1ac.Secret(SecretName(dojo), dojo.Namespace).
		WithLabels(ownership.Labels(dojo, ownership.Application)).
		WithOwnerReferences(ownership.Reference(dojo)).
		WithType(corev1.SecretTypeOpaque).
		WithData(map[string][]byte{discordv1alpha1.WebhookSecretKey: url}))
}

type delivery struct {
	url    []byte
	issues []*conditions.Issue
	// liveValid is true if the Dojo's own Secret already contains a valid URL.
	liveValid bool
	// safe is true if Alertmanager may use the Dojo's own Secret, after a planned write of it.
	safe bool
	// secret is the planned write of the Dojo's own Secret, or nil.
	secret *apply.Object
}

// deliver plans the Dojo's own Secret. The Secret keeps its last valid URL while the DiscordChannel
// has none.
func deliver(dojo *corev1api.Dojo, s State, cfg Config) (to delivery) {
	var invalid *conditions.Issue
	to.url, invalid = channelURL(dojo, s, cfg)
	conflict := s.secretConflict(dojo)
	to.issues = []*conditions.Issue{invalid, conflict}
	if conflict != nil {
		return to
	}
	immutable := false
	if own := s.OwnSecret; own != nil {
		live := own.Data[discordv1alpha1.WebhookSecretKey]
		to.liveValid = isWebhook(cfg.WebhookBase, live)
		immutable = own.Immutable != nil && *own.Immutable && !bytes.Equal(live, to.url)
	}
	switch {
	case to.url == nil:
		to.safe = to.liveValid
	case !immutable:
		to.safe, to.secret = true, apply.Sync(ownership.FieldOwner, s.OwnSecret, secretFor(dojo, to.url), s.Unchanged)
	}
	return to
}

func (s *State) secretConflict(dojo *corev1api.Dojo) *conditions.Issue {
	if s.OwnSecret != nil { // OwnSecret is from the API server, so it is newer than Secret, which is from the cache
		return ownership.NameConflict(dojo, "Secret", s.OwnSecret)
	}
	return ownership.NameConflict(dojo, "Secret", s.Secret)
}

// channelURL returns the URL that discord-operator has written, or an issue if the URL is missing
// or invalid. The issue does not quote the URL, because the URL is secret.
func channelURL(dojo *corev1api.Dojo, s State, cfg Config) ([]byte, *conditions.Issue) {
	name := s.channelSecretName(dojo)
	if name == "" {
		return nil, nil // planChannel reports why there is no name
	}
	object := "Secret " + dojo.Namespace + "/" + name
	if s.ChannelSecret == nil {
		return nil, waitForChannel(dojo, s, cfg, conditions.Progressing(corev1api.ReasonWaitingForChannel,
			"Waiting for the %s of the DiscordChannel %s.", object, s.Channel.Name).For(object),
			conditions.Degraded(corev1api.ReasonWebhookInvalid,
				"The %s with the URL of the webhook does not exist. discord-operator writes this Secret, unless the "+
					"DiscordChannel is paused or only observed. See `%s`.", object, describe(s.Channel)).For(object))
	}
	if url := s.ChannelSecret.Data[discordv1alpha1.WebhookSecretKey]; isWebhook(cfg.WebhookBase, url) {
		return url, nil
	}
	return nil, conditions.Degraded(corev1api.ReasonWebhookInvalid,
		"The key %q of the %s does not contain a webhook URL that begins with %s, so the operator does not use its value. "+
			"If the two operators have different URLs in the flag --discord-api-url, give dojo-operator the URL of "+
			"discord-operator. If the URLs are the same, delete the Secret: `kubectl delete secret %s -n %s`. discord-operator "+
			"then writes the Secret again, unless the DiscordChannel %s is paused or only observed.",
		discordv1alpha1.WebhookSecretKey, object, cfg.WebhookBase, name, dojo.Namespace, s.Channel.Name)
}

// planDelivery plans the AlertmanagerConfig and its Secret. moved is true if both already exist and
// lead to the channel of the spec.
func planDelivery(dojo *corev1api.Dojo, s State, cfg Config, p *apply.Plan) (moved bool) {
	if dojo.Spec.Alerts == nil {
		ownership.PlanOption(dojo, p, routeKind.Kind, s.Route, false, nil, s.Unchanged)
		if s.Secret != nil && !ownership.Conflicts(dojo, s.Secret) {
			p.Abandon = append(p.Abandon, apply.Delete("Secret", s.Secret))
		}
		return false
	}
	to := deliver(dojo, s, cfg)
	for _, issue := range to.issues {
		p.Report(issue)
	}
	if !to.safe {
		ownership.PlanOption(dojo, p, routeKind.Kind, s.Route, true, nil, s.Unchanged)
		disconnect(dojo, s, p)
		return false
	}
	p.Add(to.secret)
	route := ownership.PlanOption(dojo, p, routeKind.Kind, s.Route, true, routeFor(dojo), s.Unchanged)
	if route != nil {
		route.After = []expectations.Key{expectations.KeyOf("Secret", dojo.Namespace, SecretName(dojo))}
	}
	return to.url != nil && to.secret == nil && route == nil && !ownership.Conflicts(dojo, s.Route)
}

// disconnect deletes the AlertmanagerConfig and its Secret, unless another client owns them. Call it
// if Alertmanager must not use the Secret: its URL is not valid, or the operator cannot replace the
// URL because the Secret is immutable.
func disconnect(dojo *corev1api.Dojo, s State, p *apply.Plan) {
	if s.Route != nil && !ownership.Conflicts(dojo, s.Route) {
		p.Delete = append(p.Delete, apply.Delete(routeKind.Kind, s.Route))
	}
	if s.OwnSecret != nil && !ownership.Conflicts(dojo, s.OwnSecret) {
		p.Abandon = append(p.Abandon, apply.Delete("Secret", s.OwnSecret))
	}
}

// Safeguards keeps Alertmanager from posting to an unchecked URL, even if the Dojo is paused,
// blocked by a name conflict, or being deleted.
func Safeguards(dojo *corev1api.Dojo, s State, cfg Config) (p apply.Plan) {
	if s.Route == nil || ownership.Conflicts(dojo, s.Route) {
		return p // without its AlertmanagerConfig, Alertmanager posts nothing for the Dojo
	}
	to := deliver(dojo, s, cfg)
	if dojo.DeletionTimestamp != nil && s.OwnSecret == nil {
		to.safe = false // a Dojo that is being deleted creates no Secret
	}
	if !to.safe {
		disconnect(dojo, s, &p)
		return p.ForPart(corev1api.ConditionAlertsReady)
	}
	if !to.liveValid {
		p.Add(to.secret)
	}
	if !namesOnly(s.Route, SecretName(dojo)) {
		p.Add(apply.Sync(ownership.FieldOwner, s.Route, routeFor(dojo), s.Unchanged))
	}
	return p.ForPart(corev1api.ConditionAlertsReady)
}

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
