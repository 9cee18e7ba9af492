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

// Webhooks are the webhooks of all channels.
type Webhooks struct {
	// Client reads from the cache.
	Client client.Client
	// Applier writes the Secrets.
	Applier *apply.Applier
	// Records are what this process knows of its creates.
	Records *lifecycle.Records
	// Status records what becomes of a channel.
	Status *status.Recorder

	// missing are when Discord first did not know webhooks, doubts when it first showed one by its id
	// that the list of its channel lacked.
	missing, doubts lifecycle.Missing
}

// State is what was observed of the webhook of a channel.
type State struct {
	Guild *bot.Guild
	// Channel is the one on Discord; nil while it is to be created.
	Channel *discordclient.Channel
	// Secrets are those that the channel owns, Secret is the one that has the desired name, no
	// matter who owns it.
	Secrets []metav1.PartialObjectMetadata
	Secret  *metav1.PartialObjectMetadata
	// Application is the bot's own, Hooks are all webhooks of the channel.
	Application string
	Hooks       []discordclient.Webhook
	// Record is what this process knows, Complete that what was created before would be listed, and
	// that the audit log would show it.
	Record   lifecycle.Record
	Complete bool
	// Ours are the webhooks that the audit log proves to have been created for the object, Others those
	// that this bot has created for something else.
	Ours, Others map[string]bool
	// Again is when to read the audit log again, 0 for never: it may not show yet who has created one
	// of the Hooks.
	Again time.Duration
	// Err is why Discord could not be read. It keeps nothing else from being reconciled.
	Err error
}

// Observe observes the webhook of a channel and its Secret, where one is desired or exists.
func (w *Webhooks) Observe(
	ctx context.Context, c *v1alpha1.DiscordChannel, guild *bot.Guild, ch *discordclient.Channel,
) (s State, err error) {
	// The records begin with the first channel that is reconciled, with or without a webhook:
	// nothing that is asked for later can be the result of another process's create.
	s = State{Guild: guild, Channel: ch, Record: w.Records.Of(c.UID)}
	if c.Spec.Webhook == nil && c.Status.Webhook == nil {
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

// ownSecrets returns the metadata of the Secrets that the channel owns.
func (w *Webhooks) ownSecrets(ctx context.Context, c *v1alpha1.DiscordChannel) ([]metav1.PartialObjectMetadata, error) {
	list := &metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "SecretList"}}
	owned := client.MatchingFields{index.SecretByOwner: string(c.UID)}
	if err := w.Client.List(ctx, list, client.InNamespace(c.Namespace), owned); err != nil {
		return nil, fmt.Errorf("list Secrets: %w", err)
	}
	deleted := func(s metav1.PartialObjectMetadata) bool { return !s.DeletionTimestamp.IsZero() }
	return slices.DeleteFunc(list.Items, deleted), nil
}
