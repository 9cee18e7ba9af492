// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/discord/bot"
	"jutsu.com/operators/discord-operator/internal/discord/lifecycle"
	"jutsu.com/operators/discord-operator/internal/kube/index"
	"jutsu.com/operators/discord-operator/internal/kube/status"
	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/discordclient"
)

// Webhooks manages the webhooks of all channels.
type Webhooks struct {
	Client  client.Client      // reads from the cache
	Applier *apply.Applier     // writes the Secrets
	Records *lifecycle.Records // the creates that this process has sent
	Status  *status.Recorder

	// missing has webhooks that Discord reported as unknown. inconsistent has webhooks that Discord
	// returned by id, but not in a list.
	missing, inconsistent lifecycle.Missing
}

// State is the observed state of a channel's webhook.
type State struct {
	Guild        *bot.Guild
	Channel      *discordclient.Channel         // nil until the channel is created
	Secrets      []metav1.PartialObjectMetadata // owned by the channel
	Secret       *metav1.PartialObjectMetadata  // the Secret with the desired name, with any owner
	Application  string                         // id of the bot's application
	Hooks        []discordclient.Webhook        // all webhooks of the channel
	Record       lifecycle.Record
	Complete     bool            // whether the list and the audit log show all earlier creates
	Ours, Others map[string]bool // webhooks that the audit log attributes to this object, and to other objects
	RetryAfter   time.Duration   // delay until the audit log may show more; 0 for never
	Err          error           // why Discord could not be read; it does not block the channel
}

// Observe returns the state of a channel's webhook and of the webhook's Secret.
func (w *Webhooks) Observe(
	ctx context.Context, c *v1alpha1.DiscordChannel, guild *bot.Guild, ch *discordclient.Channel,
) (s State, err error) {
	// The first call of Records.Of sets the time until which another process may have sent creates.
	// So Observe calls it even without a webhook: a webhook that a user adds later need not wait.
	s = State{Guild: guild, Channel: ch, Record: w.Records.Of(c.UID)}
	if c.Spec.Webhook == nil && c.Status.Webhook == nil && s.Record.ID == "" {
		return s, nil
	}
	if s.Secrets, err = w.ownSecrets(ctx, c); err != nil {
		return s, err
	}
	if c.Spec.Webhook != nil {
		reader := apply.Reader{Cache: w.Client, Expectations: w.Applier.Expectations}
		name := types.NamespacedName{Namespace: c.Namespace, Name: c.WebhookSecretName()}
		if s.Secret, err = apply.Get(ctx, reader, "Secret", name, apply.Metadata("v1", "Secret")); err != nil {
			return s, err
		}
		var app discordclient.Application
		app, s.Err = guild.Bot.Application(ctx)
		s.Application = app.ID
	}
	if s.Err == nil {
		s.Err = w.observeHooks(ctx, c, &s)
	}
	return s, nil
}

func (w *Webhooks) ownSecrets(ctx context.Context, c *v1alpha1.DiscordChannel) ([]metav1.PartialObjectMetadata, error) {
	list := &metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "SecretList"}}
	owned := client.MatchingFields{index.SecretByOwner: string(c.UID)}
	if err := w.Client.List(ctx, list, client.InNamespace(c.Namespace), owned); err != nil {
		return nil, fmt.Errorf("list Secrets: %w", err)
	}
	deleted := func(s metav1.PartialObjectMetadata) bool { return !s.DeletionTimestamp.IsZero() }
	return slices.DeleteFunc(list.Items, deleted), nil
}
