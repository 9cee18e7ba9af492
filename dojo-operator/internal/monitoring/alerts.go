// SPDX-License-Identifier: Apache-2.0

package monitoring

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	corev1api "jutsu.com/operators/apis/core/v1"
	discordv1alpha1 "jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/conditions"
)

const (
	alertsSuffix = "-alerts"
	// webhookName does not contain the Dojo's name, because Discord refuses some names.
	webhookName = "Alertmanager"
)

// ChannelName returns the name of the DiscordChannel that gets the Dojo's alerts, or "".
func ChannelName(dojo *corev1api.Dojo) string {
	switch {
	case dojo.Spec.Alerts == nil:
		return ""
	case dojo.Spec.Alerts.Discord.ChannelRef != nil:
		return dojo.Spec.Alerts.Discord.ChannelRef.Name
	}
	return ownChannelName(dojo)
}

func ownChannelName(dojo *corev1api.Dojo) string { return dojo.Name + alertsSuffix }

func hasOwnChannel(dojo *corev1api.Dojo) bool {
	return dojo.Spec.Alerts != nil && dojo.Spec.Alerts.Discord.GroupRef != nil
}

// channelFor shortens two hyphens in a row to one, because Discord would not store both.
func channelFor(dojo *corev1api.Dojo) *unstructured.Unstructured {
	name := ownChannelName(dojo)
	for strings.Contains(name, "--") {
		name = strings.ReplaceAll(name, "--", "-")
	}
	group := map[string]any{"name": dojo.Spec.Alerts.Discord.GroupRef.Name}
	if namespace := dojo.Spec.Alerts.Discord.GroupRef.Namespace; namespace != "" {
		group["namespace"] = namespace
	}
	return ownership.Child(dojo, channelKind.GroupVersionKind, ownChannelName(dojo), map[string]any{
		"groupRef": group,
		"name":     name,
		"topic":    fmt.Sprintf("Alerts of the Dojo %s/%s", dojo.Namespace, dojo.Name),
		"webhook":  map[string]any{"name": webhookName},
	})
}

// routeFor omits fields that the route of the platform's Alertmanager already sets.
func routeFor(dojo *corev1api.Dojo) *unstructured.Unstructured {
	message := map[string]any{
		"apiURL":       map[string]any{"name": SecretName(dojo), "key": discordv1alpha1.WebhookSecretKey},
		"sendResolved": true,
		"title":        alertTitle,
		"message":      alertMessage,
	}
	if content := mentions(dojo.Spec.Alerts.Discord.Mentions); content != "" {
		message["content"] = content
	}
	return addLabels(dojo, ownership.Child(dojo, routeKind.GroupVersionKind, dojo.Name, map[string]any{
		"route": map[string]any{
			"receiver": "discord",
			"groupBy":  []any{"alertname", "namespace", "dojo"},
			// Dojos in two namespaces may have the same name, and alertmanagerConfigMatcherStrategy
			// may disable the matcher that prometheus-operator adds for the namespace.
			"matchers": []any{
				map[string]any{"name": "namespace", "value": dojo.Namespace, "matchType": "="},
				map[string]any{"name": "dojo", "value": dojo.Name, "matchType": "="},
			},
		},
		"receivers": []any{map[string]any{
			"name":           "discord",
			"discordConfigs": []any{message},
		}},
	}))
}

// mentions returns the content of the Discord message. The text of an alert is in an embed, which
// notifies nobody (https://discord.com/developers/docs/reference#message-formatting).
func mentions(all []corev1api.AlertMention) string {
	if len(all) == 0 {
		return ""
	}
	var content strings.Builder
	content.WriteString(`{{ $severities := "" }}` +
		`{{ range .Alerts.Firing }}{{ $severities = print $severities " " .Labels.severity " " }}{{ end }}`)
	for _, m := range all {
		mention := "<@" + m.UserID + ">"
		if m.RoleID != "" {
			mention = "<@&" + m.RoleID + ">"
		}
		var severities []string
		for _, s := range m.Severities {
			severities = append(severities, string(s))
		}
		fmt.Fprintf(&content, `{{ if match " (%s) " $severities }}%s {{ end }}`, strings.Join(severities, "|"), mention)
	}
	return content.String()
}

// Templates of Alertmanager (https://prometheus.io/docs/alerting/latest/notifications/).
const (
	alertTitle = `{{ if eq .Status "firing" }}🔥{{ else }}✅ Resolved:{{ end }} {{ .GroupLabels.alertname }} · ` +
		`{{ .GroupLabels.namespace }}/{{ .GroupLabels.dojo }}`
	alertMessage = `{{ range .Alerts }}**{{ .Annotations.summary }}**` + "\n" +
		`{{ .Annotations.description }}` + "\n" +
		`_{{ .Labels.severity }}, since {{ .StartsAt.UTC.Format "2006-01-02 15:04:05" }} UTC_` + "\n" + `{{ end }}` +
		`{{ $dot := "" }}{{ if eq .Status "firing" }}[Silence it]({{ .ExternalURL }}/#/silences/new?filter=` +
		`{{ printf "{alertname=%q,namespace=%q,dojo=%q}" .GroupLabels.alertname .GroupLabels.namespace .GroupLabels.dojo ` +
		`| urlquery }}){{ $dot = " · " }}{{ end }}` +
		`{{ with index .CommonAnnotations "` + dashboardAnnotation + `" }}{{ $dot }}[Dashboard]({{ . }})` +
		`{{ $dot = " · " }}{{ end }}` +
		`{{ with index .CommonAnnotations "` + runbookAnnotation + `" }}{{ $dot }}[Runbook]({{ . }}){{ end }}`
)

func planAlerts(dojo *corev1api.Dojo, s State, cfg Config, p *apply.Plan) {
	if dojo.Spec.Alerts != nil {
		p.Report(planChannel(dojo, s, cfg, p))
		if kind := s.missing(routeKind.Group); kind != nil {
			p.Report(notInstalled(corev1api.ReasonPrometheusOperatorNotInstalled, "spec.alerts",
				"prometheus-operator (https://prometheus-operator.dev)", kind))
			if !s.has(routeKind) {
				return
			}
		}
	}
	moved := planDelivery(dojo, s, cfg, p)
	planObsoleteChannel(dojo, s, cfg, moved, p)
}

// planObsoleteChannel deletes the Dojo's own DiscordChannel if spec.alerts does not select it. If
// the alerts move to another DiscordChannel, Alertmanager first gets time to read its new
// configuration.
func planObsoleteChannel(dojo *corev1api.Dojo, s State, cfg Config, moved bool, p *apply.Plan) {
	own := s.OwnChannel
	if own == nil || own.Name == ChannelName(dojo) || ownership.Conflicts(dojo, own) || own.DeletionTimestamp != nil {
		// A DiscordChannel that is being deleted needs no second deletion. It exists until its
		// channel on Discord is deleted.
		return
	}
	switch {
	case dojo.Spec.Alerts == nil:
	case !moved:
		return
	default:
		if remaining := cfg.ProgressDeadline - s.Now.Sub(lastWritten(s.Route, s.OwnSecret)); remaining > 0 {
			p.Report(conditions.Progressing(corev1api.ReasonMovingAlerts,
				"The alerts move to the DiscordChannel %s. The DiscordChannel %s is deleted once Alertmanager has its new "+
					"configuration.",
				ChannelName(dojo), own.Name).After(min(remaining, cfg.ProgressDeadline)))
			return
		}
	}
	p.Delete = append(p.Delete, apply.Delete(channelKind.Kind, own))
}

func lastWritten(objects ...metav1.Object) (at time.Time) {
	for _, o := range objects {
		if created := o.GetCreationTimestamp().Time; created.After(at) {
			at = created
		}
		for _, entry := range o.GetManagedFields() {
			if entry.Manager == ownership.FieldOwner && entry.Time != nil && entry.Time.After(at) {
				at = entry.Time.Time
			}
		}
	}
	return at
}

func planChannel(dojo *corev1api.Dojo, s State, cfg Config, p *apply.Plan) *conditions.Issue {
	if kind := s.missing(channelKind.Group); kind != nil {
		return notInstalled(corev1api.ReasonDiscordOperatorNotInstalled, "spec.alerts.discord", "discord-operator", kind)
	}
	if hasOwnChannel(dojo) {
		if issue := ownership.NameConflict(dojo, channelKind.Kind, s.Channel); issue != nil {
			return issue
		}
		p.Add(apply.Sync(ownership.FieldOwner, s.Channel, channelFor(dojo), s.Unchanged))
	}
	if s.Channel == nil {
		return channelMissing(dojo, s, cfg)
	}
	return channelIssue(dojo, s, cfg)
}

func channelMissing(dojo *corev1api.Dojo, s State, cfg Config) *conditions.Issue {
	object := "DiscordChannel " + dojo.Namespace + "/" + ChannelName(dojo)
	waiting := conditions.Progressing(corev1api.ReasonWaitingForChannel, "Waiting for the %s.", object)
	if hasOwnChannel(dojo) {
		return waiting // this plan creates the channel
	}
	return waitForChannel(dojo, s, cfg, waiting.For(object), conditions.Degraded(corev1api.ReasonChannelNotFound,
		"The %s does not exist. Create it, or name another in spec.alerts.discord.channelRef.", object).For(object))
}

func channelIssue(dojo *corev1api.Dojo, s State, cfg Config) *conditions.Issue {
	c := s.Channel
	object := "DiscordChannel " + dojo.Namespace + "/" + c.Name
	if c.Spec.Webhook == nil {
		return conditions.Degraded(corev1api.ReasonChannelWithoutWebhook,
			"The %s has no spec.webhook, so Alertmanager cannot post to it. Add one, such as {name: %s}.", object, webhookName)
	}
	available := meta.IsStatusConditionTrue(c.Status.Conditions, conditions.TypeAvailable)
	if c.Status.Webhook != nil && c.Status.Webhook.SecretRef != nil && available {
		return nil
	}
	fact, message, reason := "is not Ready", "discord-operator has not reconciled it", ""
	if ready := meta.FindStatusCondition(c.Status.Conditions, conditions.TypeReady); ready != nil {
		message, reason = ready.Message, " ("+ready.Reason+")"
		if ready.Status == metav1.ConditionTrue {
			fact = "has no webhook yet"
		}
	}
	why := fmt.Sprintf("the %s %s%s: %s.", object, fact, reason, strings.TrimSuffix(message, "."))
	notReady := conditions.Degraded(corev1api.ReasonChannelNotReady,
		"Alerts cannot be posted, because %s See `%s`.", why, describe(c)).For(object)
	if meta.IsStatusConditionTrue(c.Status.Conditions, conditions.TypeDegraded) {
		return notReady
	}
	waiting := conditions.Progressing(corev1api.ReasonWaitingForChannel, "Alerts are not posted yet, because %s", why)
	return waitForChannel(dojo, s, cfg, waiting.For(object), notReady)
}

func describe(channel *discordv1alpha1.DiscordChannel) string {
	return fmt.Sprintf("kubectl describe discordchannels.discord.jutsu.com %s -n %s", channel.Name, channel.Namespace)
}

func waitForChannel(dojo *corev1api.Dojo, s State, cfg Config, waiting, exceeded *conditions.Issue) *conditions.Issue {
	since := dojo.WaitingSince(waiting.WaitingFor, s.Now)
	return conditions.WaitUntil(s.Now, since, cfg.ProgressDeadline, waiting, exceeded)
}

// Status returns the field alerts of the Dojo's status, or nil.
func Status(dojo *corev1api.Dojo, s State) *corev1api.AlertsStatus {
	if dojo.Spec.Alerts == nil {
		return nil
	}
	status := &corev1api.AlertsStatus{ChannelName: ChannelName(dojo)}
	if s.Channel != nil {
		status.ChannelID, status.ChannelURL = s.Channel.Status.ChannelID, s.Channel.Status.ChannelURL
	}
	return status
}
