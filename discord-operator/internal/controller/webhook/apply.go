// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"cmp"
	"context"
	"time"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/discord/lifecycle"
	"jutsu.com/operators/discord-operator/internal/kube/status"
	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/guildcache"
)

const lostRetry = time.Second

// Results reports the webhook and the Secret after Apply.
type Results struct {
	Hook    *discordclient.Webhook // nil if unknown
	Secret  string                 // name of the Secret with the URL; empty for none
	Changed bool
	Dropped bool // whether the spec requests no webhook, and the operator has no more to delete
}

// Apply carries out the plan for an existing channel: the webhook first, then its Secret.
func (w *Webhooks) Apply(
	ctx context.Context, c *v1alpha1.DiscordChannel, api *guildcache.Client, channelID string, p Plan,
) (results Results, err error) {
	if p.Err != nil {
		return results, p.Err
	}
	if p.Remove != "" {
		err := api.DeleteWebhook(ctx, p.Remove, w.reason(c))
		if err != nil && discordclient.ClassOf(err) != discordclient.ClassGone {
			return results, err
		}
		w.Status.Normal(c, "WebhookDeleted", "Deleted the webhook, because the spec no longer has one.")
	}
	if c.Spec.Webhook != nil {
		if err := w.provide(ctx, c, api, channelID, p, &results); err != nil {
			return results, err
		}
	}
	var obsolete apply.Plan
	for i := range p.Obsolete {
		obsolete.Abandon = append(obsolete.Abandon, apply.Delete("Secret", &p.Obsolete[i]))
	}
	err = w.write(ctx, c, obsolete)
	if results.Dropped = err == nil && c.Spec.Webhook == nil; results.Dropped && p.Forget {
		w.Records.Absent(c.UID)
	}
	return results, err
}

func (w *Webhooks) provide(
	ctx context.Context, c *v1alpha1.DiscordChannel, api *guildcache.Client, channelID string, p Plan, results *Results,
) (err error) {
	hook := p.Use
	switch {
	case p.Create:
		if hook, err = w.create(ctx, c, api, channelID); err != nil {
			return err
		}
		results.Changed = true
	case p.Rename:
		renamed, err := api.RenameWebhook(ctx, hook.ID, c.Spec.Webhook.Name, w.reason(c))
		if err != nil {
			return err
		}
		if renamed.URL.IsZero() { // the response lacks the token
			renamed.URL = hook.URL
		}
		if hook = &renamed; status.Reconciled(c) {
			w.Status.DriftCorrected(c, "webhook.name")
		}
	}
	w.Records.Bound(c.UID, hook.ID)
	results.Hook = hook
	if p.Write {
		secret := apply.Write(FieldOwner, p.Live, apply.Typed(secretFor(c, hook)))
		if err := w.write(ctx, c, apply.Plan{Apply: []*apply.Object{secret}}); err != nil {
			return err
		}
		results.Changed = true
	}
	results.Secret = c.WebhookSecretName()
	return w.deleteDuplicates(ctx, c, api, p, results)
}

// deleteDuplicates runs after the Secret has the URL of the remaining webhook, because the former
// URL in the Secret may be the URL of a duplicate.
func (w *Webhooks) deleteDuplicates(
	ctx context.Context, c *v1alpha1.DiscordChannel, api *guildcache.Client, p Plan, results *Results,
) error {
	for _, id := range p.Duplicates {
		err := api.DeleteWebhook(ctx, id, w.reason(c))
		if err != nil && discordclient.ClassOf(err) != discordclient.ClassGone {
			return err
		}
		results.Changed = true
		w.Status.Normal(c, "WebhookDeleted", "Deleted a duplicate webhook, which an earlier create for this object had made.")
	}
	return nil
}

func (w *Webhooks) create(
	ctx context.Context, c *v1alpha1.DiscordChannel, api *guildcache.Client, channelID string,
) (*discordclient.Webhook, error) {
	w.Records.Absent(c.UID)
	made, err := api.CreateWebhook(ctx, channelID, c.Spec.Webhook.Name, w.reason(c))
	if discordclient.ClassOf(err) == discordclient.ClassUnknown {
		w.Records.Unknown(c.UID)
		return nil, conditions.Progressing(v1alpha1.ReasonCreatePending,
			"Discord's answer to the create of the webhook was lost. The operator looks for the webhook before it sends "+
				"another create.",
		).After(lostRetry)
	}
	if err != nil {
		return nil, err
	}
	if statusID(c) != "" {
		w.Status.DriftCorrected(c, "webhook")
	} else {
		w.Status.Normal(c, "WebhookCreated", "Created the webhook %q.", made.Name)
	}
	return &made, nil
}

func (w *Webhooks) write(ctx context.Context, c *v1alpha1.DiscordChannel, plan apply.Plan) error {
	results := w.Applier.Run(ctx, c, plan)
	if results.Stale {
		return apply.ErrStale
	}
	if worst := conditions.Worst(results.Issues); worst != nil {
		return cmp.Or(worst.Err, error(worst))
	}
	return nil
}

func (w *Webhooks) reason(c *v1alpha1.DiscordChannel) string {
	return lifecycle.Reason(w.Status.Kind, c)
}

// Status returns the status of the webhook. It returns the old status if the webhook is unknown, or
// if the spec no longer requests the webhook and the operator has not deleted it yet.
func Status(c *v1alpha1.DiscordChannel, results Results) *v1alpha1.WebhookStatus {
	switch {
	case results.Hook != nil && results.Secret != "":
		secret := &v1alpha1.LocalSecretReference{Name: results.Secret}
		return &v1alpha1.WebhookStatus{ID: results.Hook.ID, SecretRef: secret}
	case results.Hook != nil:
		return &v1alpha1.WebhookStatus{ID: results.Hook.ID}
	case results.Dropped:
		return nil
	}
	return c.Status.Webhook
}

// Deleter implements resource.Deleter for webhooks.
type Deleter struct{}

// Delete implements resource.Deleter.
func (Deleter) Delete(ctx context.Context, api *guildcache.Client, _, id, reason string) error {
	return api.DeleteWebhook(ctx, id, reason)
}
