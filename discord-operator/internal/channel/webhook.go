package channel

import (
	"fmt"
	"slices"

	"github.com/bwmarrin/discordgo"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/issues"
	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/permissions"
)

// webhookAnnotation on a Secret names the webhook whose URL it holds, so that metadata alone tells whether it is the right one.
const webhookAnnotation = "discord.jutsu.com/webhook-id"

// secretLabels are on every Secret that the operator makes.
var secretLabels = map[string]string{"app.kubernetes.io/managed-by": "discord-operator", "app.kubernetes.io/component": "webhook"}

// hookSteps are what has to be done about the webhook of a channel; a zero field is nothing to do.
type hookSteps struct {
	create bool
	rename bool
	use    *discordclient.Webhook        // the one that stands, or that is renamed
	write  bool                          // the Secret
	live   *metav1.PartialObjectMetadata // of the Secret, nil where there is none
	remove string                        // id of a webhook that is not asked for any more
	strays []metav1.PartialObjectMetadata
	// verdict keeps the webhook from being as the spec says.
	verdict error
}

// planWebhook decides about the webhook and its Secret.
func planWebhook(c *v1alpha1.DiscordChannel, seen *observed) (s hookSteps) {
	if seen.hookErr != nil {
		return hookSteps{verdict: seen.hookErr}
	}
	if c.Spec.Webhook == nil {
		if c.Status.Webhook != nil && slices.ContainsFunc(seen.hooks, func(w discordclient.Webhook) bool { return w.ID == c.Status.Webhook.ID }) {
			s.remove = c.Status.Webhook.ID
		}
		s.strays = seen.secrets
		return s
	}
	name := c.WebhookSecretName()
	s.live = seen.namesake
	if s.live != nil && !metav1.IsControlledBy(seen.namesake, c) {
		s.verdict = conditions.Degraded(v1alpha1.ReasonNameConflict,
			"Secret %s exists and is not owned by this DiscordChannel. Name another one in spec.webhook.secretName, or delete it.", name)
		return s
	}
	s.use = ownHook(c, seen, s.live != nil && holds(seen.namesake, statusHook(c)))
	s.create = s.use == nil
	if s.create {
		if s.verdict = mayCreateHook(seen); s.verdict != nil {
			return hookSteps{verdict: s.verdict}
		}
	} else {
		s.rename = s.use.Name != c.Spec.Webhook.Name
	}
	s.write = s.create || seen.namesake == nil || !holds(seen.namesake, s.use.ID)
	s.strays = slices.DeleteFunc(slices.Clone(seen.secrets), func(m metav1.PartialObjectMetadata) bool { return m.Name == name })
	return s
}

func statusHook(c *v1alpha1.DiscordChannel) string {
	if c.Status.Webhook == nil {
		return ""
	}
	return c.Status.Webhook.ID
}

// ownHook finds the channel's webhook: the one that the status or this process knows, otherwise one of this bot's with the right name, which
// is what a create whose answer was lost has left. One whose URL nobody can know (it was made with another bot's token) counts only as long as
// its Secret stands.
func ownHook(c *v1alpha1.DiscordChannel, seen *observed, secretStands bool) *discordclient.Webhook {
	var oldest *discordclient.Webhook
	for i, w := range seen.hooks {
		known := w.ID == seen.hookEntry.ID || w.ID == statusHook(c)
		if known && (!w.Token.IsZero() || secretStands) {
			return &seen.hooks[i]
		}
		fits := w.Type == discordgo.WebhookTypeIncoming && w.Name == c.Spec.Webhook.Name && w.ApplicationID == seen.application && !w.Token.IsZero()
		if fits && (oldest == nil || discordclient.CompareIDs(w.ID, oldest.ID) < 0) {
			oldest = &seen.hooks[i]
		}
	}
	return oldest
}

// mayCreateHook says what stands against one more webhook.
func mayCreateHook(seen *observed) error {
	switch {
	case seen.Channel == nil: // the channel is created in this very pass, and so has none
		return lacking(seen, permissions.ManageWebhooks, "which a webhook requires")
	case !seen.hookSettled:
		return conditions.Progressing(v1alpha1.ReasonCreatePending,
			"An earlier create of the webhook may have succeeded. The operator looks for it before it creates another one.",
		).After(issues.MaxBrief)
	case len(seen.hooks) >= maxWebhooks:
		return issues.Full(fmt.Sprintf("The channel has %d webhooks, the most that Discord allows. Delete one.", maxWebhooks))
	}
	if here, exact := seen.Snapshot.BotPermissionsIn(seen.Channel); exact && !here.Has(permissions.ManageWebhooks) {
		return issues.Lacking([]string{"ManageWebhooks"}, "which a webhook requires", seen.Server.Status.InviteURL)
	}
	return nil
}

// holds reports, from metadata alone, whether a Secret of ours is unaltered and for this webhook: whoever changes a value takes its ownership.
func holds(secret *metav1.PartialObjectMetadata, webhookID string) bool {
	return webhookID != "" && secret.Annotations[webhookAnnotation] == webhookID &&
		apply.SecretInSync(FieldOwner, secret, secretLabels, []string{v1alpha1.WebhookSecretKey})
}

// secretFor holds the URL of a webhook.
func secretFor(c *v1alpha1.DiscordChannel, hook *discordclient.Webhook) *corev1ac.SecretApplyConfiguration {
	return corev1ac.Secret(c.WebhookSecretName(), c.Namespace).
		WithLabels(secretLabels).
		WithAnnotations(map[string]string{webhookAnnotation: hook.ID}).
		WithOwnerReferences(metav1ac.OwnerReference().
			WithAPIVersion(v1alpha1.GroupVersion.String()).WithKind(Kind).WithName(c.Name).WithUID(c.UID).
			WithController(true).WithBlockOwnerDeletion(true)).
		WithType(corev1.SecretTypeOpaque).
		WithData(map[string][]byte{v1alpha1.WebhookSecretKey: []byte(hook.URL.Reveal())})
}
