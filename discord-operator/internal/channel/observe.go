package channel

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/bwmarrin/discordgo"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/bot"
	"jutsu.com/operators/discord-operator/internal/external"
	"jutsu.com/operators/discord-operator/internal/index"
	"jutsu.com/operators/discord-operator/internal/order"
	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/apply/expectations"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/libs/discordclient"
)

// observed is everything that a decision about a channel rests on.
type observed struct {
	*bot.Guild
	serverName string
	parentID   string // of the category; empty for none
	sought     external.Lookup
	external.Binding
	ranks order.Ranks // of the siblings, read only where the spec has a position

	// application and hooks are read only where a webhook is asked for or to be removed.
	application string
	hooks       []discordclient.Webhook
	hookErr     error // Discord did not tell; that keeps nothing else from being put right
	hookEntry   external.Record
	hookSettled bool // what a create of another process could have made would show
	secrets     []metav1.PartialObjectMetadata
	namesake    *metav1.PartialObjectMetadata // the Secret that has the wanted name, whoever it belongs to
}

// observe returns nil where the channel could not be looked at, and what was seen together with an error where there is no channel to decide about.
func (r *Reconciler) observe(ctx context.Context, c *v1alpha1.DiscordChannel) (*observed, error) {
	seen := &observed{}
	if err := r.observeParents(ctx, c, seen); err != nil {
		return nil, err
	}
	seen.sought = r.sought(ctx, c, seen.Guild.ID, seen.parentID)
	var err error
	if seen.Binding, err = r.Finder.Locate(ctx, seen.Bot.Client, seen.Snapshot, seen.sought); err != nil {
		return seen, err
	}
	seen.Snapshot = seen.Bot.Guild(seen.Guild.ID).Snapshot() // looking may have brought it up to date
	if c.Spec.Position != nil {
		seen.ranks = r.ranks(ctx, c)
	}
	return seen, r.observeWebhook(ctx, c, seen)
}

// observeParents resolves the group and the server.
func (r *Reconciler) observeParents(ctx context.Context, c *v1alpha1.DiscordChannel, seen *observed) error {
	var group *v1alpha1.DiscordGroup
	if ref := c.Spec.GroupRef; ref != nil {
		group = &v1alpha1.DiscordGroup{}
		name := types.NamespacedName{Namespace: c.Namespace, Name: ref.Name}
		if err := r.Client.Get(ctx, name, group); apierrors.IsNotFound(err) {
			return waitingForGroup("DiscordGroup %s does not exist. Create it, or name another one in spec.groupRef.", ref.Name)
		} else if err != nil {
			return fmt.Errorf("get DiscordGroup %s: %w", name, err)
		}
		seen.serverName = group.Spec.ServerRef.Name
	} else {
		seen.serverName = c.Spec.ServerRef.Name
	}
	var err error
	if seen.Guild, err = r.Bots.Guild(ctx, types.NamespacedName{Namespace: c.Namespace, Name: seen.serverName}); err != nil {
		return err
	}
	if c.Status.ServerID != "" && c.Status.ServerID != seen.Guild.ID {
		return conditions.Degraded(v1alpha1.ReasonServerMismatch,
			"The channel is in server %s and cannot be moved to %s, that of DiscordServer %s. Name a group of the same server, or create a new DiscordChannel.",
			c.Status.ServerID, seen.Guild.ID, seen.serverName)
	}
	if group == nil {
		return nil
	}
	seen.parentID = group.Status.GroupID
	if category, ok := seen.Snapshot.Channel(seen.parentID); !ok || category.Type != discordgo.ChannelTypeGuildCategory {
		return noCategory(group)
	}
	return nil
}

// noCategory says that a group is not on Discord. One that is being deleted never will be again, and waits for its channels.
func noCategory(group *v1alpha1.DiscordGroup) error {
	message := "DiscordGroup %s does not exist on Discord yet."
	if !group.DeletionTimestamp.IsZero() {
		message = "DiscordGroup %s is being deleted and no longer exists on Discord. Name another one, or delete this channel too."
	}
	// It may come back under the same id, of which nothing tells this channel.
	return conditions.Progressing(v1alpha1.ReasonWaitingForGroup, message, group.Name).After(groupRetry)
}

func waitingForGroup(format string, args ...any) error {
	return conditions.Progressing(v1alpha1.ReasonWaitingForGroup, format, args...)
}

// sought is what the channel knows of its external.
func (r *Reconciler) sought(ctx context.Context, c *v1alpha1.DiscordChannel, guildID, parentID string) external.Lookup {
	s := external.Lookup{
		Name: client.ObjectKeyFromObject(c), UID: c.UID, Created: c.CreationTimestamp.Time,
		Intended: controllerutil.ContainsFinalizer(c, v1alpha1.CleanupFinalizer),
		StatusID: c.Status.ChannelID,
		GuildID:  guildID, ParentID: parentID, DiscordName: c.Spec.Name, StoredName: r.Finder.Records.Stored(c.UID, c.Spec.Name),
		Types:  kinds(c.Spec.Type),
		Reason: external.Reason(Kind, client.ObjectKeyFromObject(c), c.UID),
		Claims: func(id string) ([]external.Claim, error) { return r.claims(ctx, c.Namespace, id) },
	}
	if c.Spec.Adopt != nil {
		s.AdoptID = c.Spec.Adopt.ID
	}
	return s
}

// kinds are the kinds of channel that the object can manage, that which is created first.
func kinds(t v1alpha1.ChannelType) []discordgo.ChannelType {
	if t == v1alpha1.ChannelTypeAnnouncement {
		return []discordgo.ChannelType{discordgo.ChannelTypeGuildNews, discordgo.ChannelTypeGuildText}
	}
	return []discordgo.ChannelType{discordgo.ChannelTypeGuildText, discordgo.ChannelTypeGuildNews}
}

// claims returns who says that a channel of Discord is theirs. Of other namespaces only those count that have it: one server manages a guild,
// so who merely wishes to adopt something from elsewhere never can, and must not keep others from it.
func (r *Reconciler) claims(ctx context.Context, namespace, id string) ([]external.Claim, error) {
	var channels v1alpha1.DiscordChannelList
	if err := r.Client.List(ctx, &channels, client.MatchingFields{index.ChannelByID: id}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list the channels that claim %s: %w", id, err)
	}
	claims := make([]external.Claim, 0, len(channels.Items))
	for i := range channels.Items {
		c := &channels.Items[i]
		if holds := c.Status.ChannelID == id; holds || c.Namespace == namespace {
			claims = append(claims, external.Claim{Name: client.ObjectKeyFromObject(c), UID: c.UID, Created: c.CreationTimestamp.Time, Holds: holds})
		}
	}
	return claims, nil
}

// ranks are the wanted positions of all channels with the same parent that have one.
func (r *Reconciler) ranks(ctx context.Context, c *v1alpha1.DiscordChannel) order.Ranks {
	var siblings []v1alpha1.DiscordChannel
	if c.Spec.GroupRef != nil {
		siblings = r.list(ctx, c.Namespace, index.ChannelByGroup, c.Spec.GroupRef.Name)
	} else {
		siblings = r.list(ctx, c.Namespace, index.ChannelByServer, c.Spec.ServerRef.Name)
	}
	ranks := order.Ranks{}
	for i := range siblings {
		if s := &siblings[i]; s.Spec.Position != nil && s.Status.ChannelID != "" {
			ranks[s.Status.ChannelID] = *s.Spec.Position
		}
	}
	return ranks
}

// observeWebhook reads what a decision about the webhook and its Secret needs.
func (r *Reconciler) observeWebhook(ctx context.Context, c *v1alpha1.DiscordChannel, seen *observed) error {
	secrets, err := r.ownSecrets(ctx, c)
	if err != nil {
		return err
	}
	seen.secrets = secrets
	if c.Spec.Webhook != nil {
		if seen.namesake, err = r.secret(ctx, types.NamespacedName{Namespace: c.Namespace, Name: c.WebhookSecretName()}); err != nil {
			return err
		}
		var app discordclient.Application
		app, seen.hookErr = seen.Bot.Application(ctx)
		seen.application = app.ID
	}
	if seen.hookErr == nil {
		seen.hookErr = r.observeHooks(ctx, c, seen)
	}
	return nil
}

// observeHooks reads the channel's webhooks. Where none is the channel's own and one more would be made, after a create that may have been
// carried out, what was listed before that must have shown does not count.
func (r *Reconciler) observeHooks(ctx context.Context, c *v1alpha1.DiscordChannel, seen *observed) (err error) {
	seen.hookEntry = r.Hooks.Entry(c.UID)
	shows := seen.hookEntry.LastAttempt.Add(r.Finder.Settle)
	doubted := !seen.hookEntry.Known && seen.sought.Intended
	seen.hookSettled = !doubted || r.Clock.Now().After(shows)
	if seen.Channel == nil || c.Spec.Webhook == nil && c.Status.Webhook == nil {
		return nil
	}
	seen.hooks, err = seen.Bot.Webhooks(ctx, seen.Guild.ID, seen.Channel.ID, time.Time{})
	if err == nil && doubted && seen.hookSettled && c.Spec.Webhook != nil && planWebhook(c, seen).create {
		seen.hooks, err = seen.Bot.Webhooks(ctx, seen.Guild.ID, seen.Channel.ID, shows)
	}
	return err
}

// ownSecrets returns the metadata of the Secrets that the channel owns.
func (r *Reconciler) ownSecrets(ctx context.Context, c *v1alpha1.DiscordChannel) ([]metav1.PartialObjectMetadata, error) {
	if c.Spec.Webhook == nil && c.Status.Webhook == nil {
		return nil, nil
	}
	list := &metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "SecretList"}}
	if err := r.Client.List(ctx, list, client.InNamespace(c.Namespace), client.MatchingFields{index.SecretByOwner: string(c.UID)}); err != nil {
		return nil, fmt.Errorf("list Secrets: %w", err)
	}
	return slices.DeleteFunc(list.Items, func(s metav1.PartialObjectMetadata) bool { return !s.DeletionTimestamp.IsZero() }), nil
}

// secret returns the metadata of a Secret, nil where there is none.
func (r *Reconciler) secret(ctx context.Context, name types.NamespacedName) (*metav1.PartialObjectMetadata, error) {
	meta := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}}
	err := r.Client.Get(ctx, name, meta)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("get Secret %s: %w", name, err)
	}
	if err != nil {
		meta = nil
	}
	if !r.showsSecret(name, meta) {
		return nil, apply.ErrStale
	}
	return meta, nil
}

func (r *Reconciler) showsSecret(name types.NamespacedName, meta *metav1.PartialObjectMetadata) bool {
	key := expectations.Key{Kind: "Secret", NamespacedName: name}
	if meta == nil {
		return r.Status.Expectations.Satisfied(key, nil)
	}
	return r.Status.Expectations.Satisfied(key, meta)
}
