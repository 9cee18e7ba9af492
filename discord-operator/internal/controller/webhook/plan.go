// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"cmp"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/discord/issues"
	"jutsu.com/operators/discord-operator/internal/discord/resource"
	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/permissions"
)

// FieldOwner is the field manager of server-side apply for the Secrets.
const FieldOwner = "discord-operator"

// webhookAnnotation has the id of the webhook, so that the operator needs only a Secret's metadata.
const webhookAnnotation = "discord.jutsu.com/webhook-id"

// maxWebhooks is Discord's limit of webhooks in a channel (error code 30007).
const maxWebhooks = 15

var secretLabels = map[string]string{
	"app.kubernetes.io/managed-by": "discord-operator", "app.kubernetes.io/component": "webhook",
}

// Plan lists the changes of a channel's webhook. A zero field changes nothing.
type Plan struct {
	Create, Rename bool
	Use            *discordclient.Webhook // the existing webhook
	Write          bool                   // whether to write the Secret; Live is the existing Secret or nil
	Live           *metav1.PartialObjectMetadata
	Remove         string                         // id of the webhook that the spec no longer requests
	Duplicates     []string                       // ids of further webhooks that were created for the object
	Obsolete       []metav1.PartialObjectMetadata // Secrets that the garbage collector deletes for the operator
	Err            error                          // why the webhook does not match the spec, or could not be observed
	Forget         bool                           // whether the record has a webhook that the spec no longer requests
}

// Pending reports whether the plan changes anything.
func (p *Plan) Pending() bool {
	return p.Create || p.Rename || p.Write || p.Remove != "" || len(p.Obsolete)+len(p.Duplicates) > 0
}

// Differences returns the planned changes on Discord in a form for users. It omits changes of
// Secrets.
func (p *Plan) Differences(c *v1alpha1.DiscordChannel) (all []resource.Difference) {
	switch {
	case p.Remove != "":
		all = append(all, resource.Difference{Action: resource.ActionDelete, Field: "webhook", To: p.Remove})
	case p.Create:
		all = append(all, resource.Difference{
			Action: resource.ActionCreate, Field: "webhook", To: strconv.Quote(c.Spec.Webhook.Name),
		})
	case p.Rename:
		name := resource.Change{Field: "webhook.name", From: p.Use.Name, To: c.Spec.Webhook.Name}
		all = resource.Changes([]resource.Change{name}, nil)
	}
	for _, id := range p.Duplicates {
		all = append(all, resource.Difference{Action: resource.ActionDelete, Field: "webhook", To: id})
	}
	return all
}

// NewPlan plans the changes to a channel's webhook and to the webhook's Secret.
func NewPlan(c *v1alpha1.DiscordChannel, s State) (p Plan) {
	if s.Err != nil {
		return Plan{Err: s.Err}
	}
	if c.Spec.Webhook == nil {
		p.Remove, p.Obsolete = removable(c, s), s.Secrets
		p.Forget = s.Record.ID != "" && (p.Remove == "" || p.Remove == s.Record.ID)
		return p
	}
	name := c.WebhookSecretName()
	p.Live = s.Secret
	if p.Live != nil && !metav1.IsControlledBy(p.Live, c) {
		p.Err = conditions.Degraded(v1alpha1.ReasonNameConflict, "Secret %s exists and is not owned by this "+
			"DiscordChannel. Name another Secret in spec.webhook.secretName; or, if nobody needs this Secret, delete it.", name)
		return p
	}
	if p.Live != nil && apply.TooLarge(p.Live) {
		p.Err = conditions.Degraded(v1alpha1.ReasonNameConflict, "The metadata of Secret %s is larger than %d KiB in "+
			"memory, the limit for an object that the operator manages, so the operator does not update the Secret. "+
			"Delete the Secret: the operator creates it again.", name, apply.MaxKept>>10)
		return p
	}
	p.Use = Own(c, s)
	p.Create = p.Use == nil
	if p.Create {
		if issue := refusedCreate(s); issue != nil {
			return Plan{Err: issue}
		}
	} else {
		p.Rename, p.Duplicates = p.Use.Name != c.Spec.Webhook.Name, duplicates(s, p.Use)
	}
	p.Write = p.Create || !secretInSync(p.Live, p.Use.ID)
	desired := func(m metav1.PartialObjectMetadata) bool { return m.Name == name }
	p.Obsolete = slices.DeleteFunc(slices.Clone(s.Secrets), desired)
	return p
}

// removable returns the webhook that the operator has created and that the spec no longer requests.
// After a failed write, the status lacks the webhook.
func removable(c *v1alpha1.DiscordChannel, s State) string {
	for _, id := range []string{statusID(c), s.Record.ID} {
		is := func(w discordclient.Webhook) bool { return w.ID == id }
		if id != "" && younger(c, id) && slices.ContainsFunc(s.Hooks, is) {
			return id
		}
	}
	return ""
}

// Created reports whether the webhook in the status is younger than the object. The operator deletes
// an older webhook only together with its channel, because users may have the webhook's URL.
func Created(c *v1alpha1.DiscordChannel) bool {
	return statusID(c) != "" && younger(c, statusID(c))
}

func statusID(c *v1alpha1.DiscordChannel) string {
	if c.Status.Webhook == nil {
		return ""
	}
	return c.Status.Webhook.ID
}

func refusedCreate(s State) *conditions.Issue {
	const forWhat = "which a webhook requires"
	lacks := s.Guild.Lacks(permissions.ManageWebhooks, forWhat)
	switch {
	case s.Channel == nil: // this reconcile will create the channel, which has no webhooks yet
		return lacks
	case !s.Complete:
		return conditions.Progressing(v1alpha1.ReasonCreatePending,
			"An earlier create of the webhook may have succeeded, or another program with the same bot may have created a "+
				"webhook. The operator waits until Discord's audit log shows whether this object has a webhook. If the object has "+
				"none, the operator creates a webhook.",
		).After(min(cmp.Or(s.RetryAfter, issues.MaxTransient), issues.MaxTransient))
	case len(s.Hooks) >= maxWebhooks:
		return issues.Full("The channel has %d webhooks, the most that Discord allows. Delete one.", maxWebhooks)
	}
	here := s.Guild.LacksIn(s.Channel, permissions.ManageWebhooks, "which a webhook requires in its channel")
	if here == nil {
		return nil
	}
	return cmp.Or(lacks, here)
}

// secretInSync reads only metadata: managedFields show whether another client has changed the URL.
func secretInSync(secret *metav1.PartialObjectMetadata, webhookID string) bool {
	return secret != nil && webhookID != "" && secret.Annotations[webhookAnnotation] == webhookID &&
		apply.SecretInSync(FieldOwner, secret, secretLabels, []string{v1alpha1.WebhookSecretKey})
}

func secretFor(c *v1alpha1.DiscordChannel, hook *discordclient.Webhook) *corev1ac.SecretApplyConfiguration {
	return corev1ac.Secret(c.WebhookSecretName(), c.Namespace).
		WithLabels(secretLabels).
		WithAnnotations(map[string]string{webhookAnnotation: hook.ID}).
		WithOwnerReferences(metav1ac.OwnerReference().
			WithAPIVersion(v1alpha1.GroupVersion.String()).WithKind("DiscordChannel").WithName(c.Name).WithUID(c.UID).
			WithController(true).WithBlockOwnerDeletion(true)).
		WithType(corev1.SecretTypeOpaque).
		WithData(map[string][]byte{v1alpha1.WebhookSecretKey: []byte(hook.URL.Reveal())})
}
