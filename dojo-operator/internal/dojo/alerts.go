package dojo

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	corev1api "jutsu.com/operators/apis/core/v1"
	discordv1alpha1 "jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/dojo-operator/internal/optional"
	"jutsu.com/operators/libs/conditions"
)

// The way of an alarm: a rule fires (monitoring.go), Alertmanager finds the Dojo's AlertmanagerConfig, and posts through the webhook of a
// DiscordChannel. discord-operator makes that webhook; of it nothing is known here but the status of the DiscordChannel.
var (
	channelKind = optional.Kind{GroupVersionKind: discordv1alpha1.GroupVersion.WithKind("DiscordChannel"), Plural: "discordchannels"}
	routingKind = optional.Kind{
		GroupVersionKind: schema.GroupVersionKind{Group: "monitoring.coreos.com", Version: "v1alpha1", Kind: "AlertmanagerConfig"},
		Plural:           "alertmanagerconfigs",
	}
	alertKinds = []optional.Kind{channelKind, routingKind}
)

const (
	alarmsSuffix = "-alarms"
	// poster is the name under which alarms are posted. Discord refuses some names, so it is not made of the Dojo's.
	poster = "Alertmanager"
)

// seenAlerts is what there is of the way to Discord. What does not exist is nil.
type seenAlerts struct {
	// missing are kinds that the cluster does not have.
	missing []optional.Kind
	// channel is the DiscordChannel that the spec asks for, own the Dojo's own one.
	channel, own *unstructured.Unstructured
	routing      *unstructured.Unstructured
}

func (s seenAlerts) lacks(group string) *optional.Kind {
	for _, kind := range s.missing {
		if kind.Group == group {
			return &kind
		}
	}
	return nil
}

// channelName is the DiscordChannel in which the alarms show; empty where nobody asks for it.
func channelName(d *corev1api.Dojo) string {
	switch {
	case d.Spec.Alerts == nil:
		return ""
	case d.Spec.Alerts.Discord.ChannelRef != nil:
		return d.Spec.Alerts.Discord.ChannelRef.Name
	}
	return ownChannelName(d)
}

func ownChannelName(d *corev1api.Dojo) string { return d.Name + alarmsSuffix }

// hasOwnChannel reports whether the Dojo asks for a channel of its own.
func hasOwnChannel(d *corev1api.Dojo) bool {
	return d.Spec.Alerts != nil && d.Spec.Alerts.Discord.GroupRef != nil
}

// channelFor returns the Dojo's own DiscordChannel. Discord knows no two hyphens in a row.
func channelFor(d *corev1api.Dojo) *unstructured.Unstructured {
	name := ownChannelName(d)
	for strings.Contains(name, "--") {
		name = strings.ReplaceAll(name, "--", "-")
	}
	return owned(d, custom(d, channelKind, ownChannelName(d), map[string]any{
		"groupRef": map[string]any{"name": d.Spec.Alerts.Discord.GroupRef.Name},
		"name":     name,
		"topic":    fmt.Sprintf("Alarms of the Dojo %s/%s", d.Namespace, d.Name),
		"webhook":  map[string]any{"name": poster},
	}))
}

// routingFor returns the AlertmanagerConfig that leads the Dojo's alarms to the webhook whose URL is in the Secret. What it does not say (how long to
// wait, when to repeat) is as the platform's own route has it.
func routingFor(d *corev1api.Dojo, secret string) *unstructured.Unstructured {
	o := owned(d, custom(d, routingKind, d.Name, map[string]any{
		"route": map[string]any{
			"receiver": "discord",
			"groupBy":  []any{"alertname", "namespace", "dojo"},
			"matchers": []any{map[string]any{"name": "dojo", "value": d.Name, "matchType": "="}},
		},
		"receivers": []any{map[string]any{
			"name": "discord",
			"discordConfigs": []any{map[string]any{
				"apiURL":       map[string]any{"name": secret, "key": discordv1alpha1.WebhookSecretKey},
				"sendResolved": true,
				"title":        alarmTitle,
				"message":      alarmMessage,
			}},
		}},
	}))
	o.SetLabels(monitoringLabels(d))
	return o
}

// What people read in Discord, as Alertmanager's templates (https://prometheus.io/docs/alerting/latest/notifications/).
const (
	alarmTitle = `{{ if eq .Status "firing" }}🔥{{ else }}✅ Resolved:{{ end }} {{ .GroupLabels.alertname }} · ` +
		`{{ .GroupLabels.namespace }}/{{ .GroupLabels.dojo }}`
	alarmMessage = `{{ range .Alerts }}**{{ .Annotations.summary }}**` + "\n" +
		`{{ .Annotations.description }}` + "\n" + `_{{ .Labels.severity }}, since {{ .StartsAt.UTC.Format "2006-01-02 15:04:05" }} UTC_` + "\n" + `{{ end }}`
)

// planAlerts lets the alarms find their way, as far as what others provide is there: the pods do not wait for it. It returns what is missing.
func (s *steps) planAlerts(d *corev1api.Dojo, seen *observed, cfg Config) error {
	at := &seen.alerts
	if !hasOwnChannel(d) && at.own != nil && !taken(d, at.own) && at.own.GetDeletionTimestamp() == nil { // it takes a while to go from Discord
		s.add(nil, &leftover{channelKind.Kind, at.own})
	}
	if d.Spec.Alerts == nil {
		if at.routing != nil && !taken(d, at.routing) {
			s.add(nil, &leftover{routingKind.Kind, at.routing})
		}
		return nil
	}
	secret, verdict := s.planChannel(d, seen, cfg)
	return graver(verdict, s.planRouting(d, at, secret))
}

// planChannel makes the Dojo's own channel where it asks for one. It returns the Secret with the webhook's URL as soon as there is one, and what
// keeps the channel from being posted to.
func (s *steps) planChannel(d *corev1api.Dojo, seen *observed, cfg Config) (secret string, verdict error) {
	live := seen.alerts.channel
	if kind := seen.alerts.lacks(channelKind.Group); kind != nil {
		return "", &conditions.Terminal{
			Reason: corev1api.ReasonDiscordOperatorNotInstalled,
			Message: fmt.Sprintf("spec.alerts.discord needs discord-operator, and this cluster does not have its kind %s. Install it; the Dojo then goes on by itself.",
				kind.Kind),
		}
	}
	if hasOwnChannel(d) {
		if taken(d, live) {
			return "", inTheWay(d, channelKind.Kind, live)
		}
		s.add(planCustom(live, channelFor(d)), nil)
	}
	if live == nil {
		return "", noChannel(d, seen, cfg)
	}
	channel := generic[discordv1alpha1.DiscordChannel](live.Object)
	if webhook := channel.Status.Webhook; webhook != nil && webhook.SecretRef != nil {
		secret = webhook.SecretRef.Name
	}
	return secret, channelUsable(d, seen, cfg, &channel)
}

func noChannel(d *corev1api.Dojo, seen *observed, cfg Config) error {
	waiting := &conditions.Waiting{
		Reason:  corev1api.ReasonWaitingForChannel,
		Message: fmt.Sprintf("Waiting for the DiscordChannel %s/%s.", d.Namespace, channelName(d)),
	}
	if hasOwnChannel(d) {
		return waiting // it is about to be made
	}
	return alarmless(d, seen, cfg, waiting, &conditions.Terminal{
		Reason: corev1api.ReasonChannelNotFound,
		Message: fmt.Sprintf("The DiscordChannel %s/%s does not exist. Create it, or name another in spec.alerts.discord.channelRef.",
			d.Namespace, channelName(d)),
	})
}

// channelUsable says whether Alertmanager can post to a channel. Whatever else the channel lacks is its own affair.
func channelUsable(d *corev1api.Dojo, seen *observed, cfg Config, c *discordv1alpha1.DiscordChannel) error {
	if c.Spec.Webhook == nil {
		return &conditions.Terminal{
			Reason: corev1api.ReasonChannelWithoutWebhook,
			Message: fmt.Sprintf("The DiscordChannel %s/%s has no spec.webhook, so Alertmanager cannot post there. "+
				"Add one, such as {name: %s}.", d.Namespace, c.Name, poster),
		}
	}
	if c.Status.Webhook != nil && c.Status.Webhook.SecretRef != nil && meta.IsStatusConditionTrue(c.Status.Conditions, conditions.Available) {
		return nil
	}
	says, since := "discord-operator has not looked at it", ""
	if ready := meta.FindStatusCondition(c.Status.Conditions, conditions.Ready); ready != nil {
		says, since = ready.Message, " ("+ready.Reason+")"
	}
	terminal := &conditions.Terminal{
		Reason: corev1api.ReasonChannelNotReady,
		Message: fmt.Sprintf("Nothing can be posted to the DiscordChannel %s/%s: %s. See `kubectl describe discordchannel %s`.",
			d.Namespace, c.Name, strings.TrimSuffix(says, "."), c.Name),
	}
	if meta.IsStatusConditionTrue(c.Status.Conditions, conditions.Degraded) {
		return terminal
	}
	return alarmless(d, seen, cfg, &conditions.Waiting{
		Reason:  corev1api.ReasonWaitingForChannel,
		Message: fmt.Sprintf("Waiting for the DiscordChannel %s/%s%s.", d.Namespace, c.Name, since),
	}, terminal)
}

// alarmless is impatient with a channel since the Dojo's condition has first said that its alarms show nowhere.
func alarmless(d *corev1api.Dojo, seen *observed, cfg Config, waiting *conditions.Waiting, terminal *conditions.Terminal) error {
	since := seen.now
	if c := meta.FindStatusCondition(d.Status.Conditions, corev1api.ConditionAlertsReady); c != nil && c.Status == metav1.ConditionFalse {
		since = c.LastTransitionTime.Time
	}
	return impatient(seen.now, since, cfg.ProgressDeadline, waiting, terminal)
}

// planRouting leads the alarms to the webhook. While there is none, those of a former channel go on.
func (s *steps) planRouting(d *corev1api.Dojo, at *seenAlerts, secret string) error {
	if kind := at.lacks(routingKind.Group); kind != nil {
		return &conditions.Terminal{
			Reason: corev1api.ReasonPrometheusOperatorNotInstalled,
			Message: fmt.Sprintf("spec.alerts needs prometheus-operator, and this cluster does not have its kind %s. "+
				"Install it (https://prometheus-operator.dev); the Dojo then goes on by itself.", kind.Kind),
		}
	}
	if taken(d, at.routing) {
		return inTheWay(d, routingKind.Kind, at.routing)
	}
	if secret != "" {
		s.add(planCustom(at.routing, routingFor(d, secret)), nil)
	}
	return nil
}

// alertsStatus is where the alarms show.
func alertsStatus(d *corev1api.Dojo, seen *observed) *corev1api.AlertsStatus {
	if d.Spec.Alerts == nil {
		return nil
	}
	s := &corev1api.AlertsStatus{ChannelName: channelName(d)}
	if live := seen.alerts.channel; live != nil {
		s.ChannelID, _, _ = unstructured.NestedString(live.Object, "status", "channelId")
		s.ChannelURL, _, _ = unstructured.NestedString(live.Object, "status", "channelURL")
	}
	return s
}
