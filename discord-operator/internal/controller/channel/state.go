// SPDX-License-Identifier: Apache-2.0

package channel

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/bwmarrin/discordgo"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/controller/webhook"
	"jutsu.com/operators/discord-operator/internal/discord/bot"
	"jutsu.com/operators/discord-operator/internal/discord/issues"
	"jutsu.com/operators/discord-operator/internal/discord/lifecycle"
	"jutsu.com/operators/discord-operator/internal/discord/overwrites"
	"jutsu.com/operators/discord-operator/internal/discord/resource"
	"jutsu.com/operators/discord-operator/internal/kube/grant"
	"jutsu.com/operators/discord-operator/internal/kube/index"
	"jutsu.com/operators/discord-operator/internal/kube/status"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/libs/discordclient"
)

// groupRetry is the delay before a channel looks for its category again. Usually, an event of the
// category or the group starts a reconcile earlier.
const groupRetry = 5 * time.Second

// State is the observed state of a channel.
type State struct {
	Guild    *bot.Guild // nil if the channel could not be observed
	Binding  lifecycle.Binding
	Position *lifecycle.Position // nil if the spec has none
	Roles    map[string]string   // ids of the DiscordRoles in the overwrites; the keys are object names
	Names    overwrites.Names
	Webhook  webhook.State
	// WebhookShared reports whether the status of another object names the webhook. It ignores
	// objects that are being deleted.
	WebhookShared bool
}

func (s *State) live() *discordclient.Channel { return resource.Channel(s.Binding.Live) }

func (r *Reconciler) observe(ctx context.Context, c *v1alpha1.DiscordChannel) (s State, err error) {
	guild, parentID, err := r.observeParents(ctx, c)
	if err != nil {
		return s, err
	}
	by, parent := SiblingsBy(c)
	if s.Position, err = r.Resources.Position(ctx, c, by, parent); err != nil {
		return s, err
	}
	if s.Roles, err = r.Grants.Roles(ctx, c.Namespace, guild.Snapshot, c.Spec.PermissionOverwrites); err != nil {
		return s, err
	}
	s.Guild = guild
	if s.Binding, err = r.Resources.Bind(ctx, guild.Bot.Client, Lookup(c, guild, parentID)); err != nil {
		return s, err
	}
	guild.Refresh() // Bind may have read the guild again
	s.Names, err = r.RoleNames.Observe(
		ctx, c, c.Spec.PermissionOverwrites, client.ObjectKeyFromObject(guild.Server), guild.Snapshot)
	if err != nil {
		return s, err
	}
	s.Webhook, err = r.Webhooks.Observe(ctx, c, guild, s.live())
	return s, err
}

// SiblingsBy returns the cache index of the channels with the same parent, and the parent's key.
func SiblingsBy(c *v1alpha1.DiscordChannel) (by, parent string) {
	if ref := c.Spec.GroupRef; ref != nil {
		return index.ChannelByGroup, ref.In(c.Namespace).String()
	}
	return index.ChannelByServer, c.Spec.ServerRef.In(c.Namespace).String()
}

// Parents returns the server and the group (nil for none) of a channel. The error may be an issue.
func Parents(
	ctx context.Context, grants *grant.Reader, c *v1alpha1.DiscordChannel,
) (server *v1alpha1.DiscordServer, group *v1alpha1.DiscordGroup, err error) {
	var name types.NamespacedName
	if c.Spec.GroupRef == nil {
		name = c.Spec.ServerRef.In(c.Namespace)
	} else {
		if group, err = grants.Group(ctx, c.Spec.GroupRef.In(c.Namespace), c.Namespace); err != nil {
			return nil, nil, err
		}
		name = group.Spec.ServerRef.In(group.Namespace)
	}
	server, err = grants.Server(ctx, name, group, c.Namespace)
	return server, group, err
}

func (r *Reconciler) observeParents(ctx context.Context, c *v1alpha1.DiscordChannel) (*bot.Guild, string, error) {
	server, group, err := Parents(ctx, r.Grants, c)
	if err != nil {
		return nil, "", err
	}
	guild, err := r.Bots.Guild(ctx, server, c.Namespace)
	if err != nil {
		return nil, "", err
	}
	if c.Status.ServerID != "" && c.Status.ServerID != guild.ID {
		return nil, "", conditions.Degraded(v1alpha1.ReasonServerMismatch,
			"The channel is in server %[1]s and cannot be moved to %[2]s, the server of DiscordServer %[3]s. "+
				"Name a DiscordGroup of server %[1]s in spec.groupRef (instead of spec.serverRef, if set), or create a new "+
				"DiscordChannel.",
			c.Status.ServerID, guild.ID, server.Name)
	}
	id, err := Category(guild, group, c.Namespace)
	if err != nil {
		return nil, "", err
	}
	return guild, id, nil
}

// Category returns the id of a group's category; empty without a group. The error is an issue.
func Category(guild *bot.Guild, group *v1alpha1.DiscordGroup, by string) (string, error) {
	if group == nil {
		return "", nil
	}
	id := group.Status.GroupID
	if guild.Snapshot.Hidden(id) {
		hidden := &metav1.Condition{Reason: v1alpha1.ReasonHiddenFromBot,
			Message: "See `" + issues.Describe("DiscordGroup", group) + "`."}
		return "", issues.Parent{Kind: "DiscordGroup", Object: group}.
			WaitFor(v1alpha1.ReasonWaitingForGroup, by, "has a category that is hidden from the bot", hidden).After(groupRetry)
	}
	if category, ok := guild.Snapshot.Channel(id); !ok || category.Type != discordgo.ChannelTypeGuildCategory {
		return "", noCategory(group, by)
	}
	return id, nil
}

// noCategory returns the issue of a group without a category on Discord. It quotes the group's Ready
// condition, unless the group is being deleted or the condition soon changes by itself.
func noCategory(group *v1alpha1.DiscordGroup, by string) *conditions.Issue {
	if !group.DeletionTimestamp.IsZero() {
		return conditions.Progressing(v1alpha1.ReasonWaitingForGroup, "DiscordGroup %s is being deleted, and has no "+
			"category on Discord. Name another DiscordGroup in spec.groupRef. Do not delete this DiscordChannel "+
			"instead: its channel on Discord could be deleted with all messages.", issues.Name(group, by)).After(groupRetry)
	}
	cause := meta.FindStatusCondition(group.Status.Conditions, conditions.TypeReady)
	if cause != nil && !meta.IsStatusConditionTrue(group.Status.Conditions, conditions.TypeDegraded) && !lasting(cause) {
		cause = nil
	}
	return issues.Parent{Kind: "DiscordGroup", Object: group}.
		WaitFor(v1alpha1.ReasonWaitingForGroup, by, "does not exist on Discord", cause).After(groupRetry)
}

func lasting(c *metav1.Condition) bool {
	switch c.Reason {
	case v1alpha1.ReasonWaitingForServer, v1alpha1.ReasonWaitingForRole, v1alpha1.ReasonPaused:
		return c.Status == metav1.ConditionFalse
	}
	return false
}

// Lookup describes the channel for package lifecycle.
func Lookup(c *v1alpha1.DiscordChannel, guild *bot.Guild, parentID string) lifecycle.Lookup {
	return lifecycle.Lookup{
		Object: c, GuildID: guild.ID, ParentID: parentID, Types: channelTypes(c.Spec.Type),
		NoAdoption:      grant.AdoptionRefused(guild.Server, c.Namespace),
		ServerNamespace: guild.Server.Namespace,
	}
}

func (r *Reconciler) observeDeletion(ctx context.Context, c *v1alpha1.DiscordChannel) (s State, err error) {
	server, categoryID, unknown := r.parentsOf(ctx, c)
	if unknown == nil {
		if s.Binding.NoRetention, err = r.NoRetention(ctx, c, server); err != nil {
			return s, err
		}
	}
	stays := retained(c) && s.Binding.NoRetention == nil
	if stays && ownsWebhook(c) {
		if s.WebhookShared, err = r.sharesWebhook(ctx, c); err != nil {
			return s, err
		}
	}
	if stays && (s.WebhookShared || !ownsWebhook(c)) {
		return s, nil
	}
	_, _, err = Parents(ctx, r.Grants, c)
	if refused := grant.Refused(err); refused != nil && !r.Resources.Owns(c) {
		s.Binding.Mismatch = refused
		return s, nil
	}
	if unknown != nil {
		return s, unknown
	}
	s.Guild, err = r.Bots.GuildToDelete(ctx, server, c.Status.ServerID, c.Namespace)
	if err != nil || stays {
		return s, err
	}
	lookup := Lookup(c, s.Guild, categoryID)
	lookup.NoRetention = s.Binding.NoRetention
	s.Binding, err = r.Resources.BindDeleted(ctx, s.Guild.Bot.Client, lookup)
	return s, err
}

func retained(c *v1alpha1.DiscordChannel) bool { return Kind.Identity(c).Retained() }

// ownsWebhook excludes objects that only observe the channel, because another object may own the
// webhook. It excludes objects with a deletion policy, because Retain also applies to the webhook.
func ownsWebhook(c *v1alpha1.DiscordChannel) bool {
	return c.Spec.DeletionPolicy == "" && !status.Observed(c) && !c.Status.Observed && webhook.Created(c)
}

func (r *Reconciler) sharesWebhook(ctx context.Context, c *v1alpha1.DiscordChannel) (bool, error) {
	others, err := r.Resources.Listed(ctx, "", index.ChannelByID, c.Status.ChannelID)
	return slices.ContainsFunc(others, func(o status.Object) bool {
		other := o.(*v1alpha1.DiscordChannel)
		return other.UID != c.UID && other.DeletionTimestamp.IsZero() && other.Status.Webhook != nil &&
			other.Status.Webhook.ID == c.Status.Webhook.ID
	}), err
}

// parentsOf works even if the DiscordServer and the DiscordGroup no longer exist, provided that the
// status has a serverRef.
func (r *Reconciler) parentsOf(
	ctx context.Context, c *v1alpha1.DiscordChannel,
) (server types.NamespacedName, categoryID string, err error) {
	if c.Spec.ServerRef != nil {
		server = c.Spec.ServerRef.In(c.Namespace)
	}
	if c.Spec.GroupRef != nil {
		var group v1alpha1.DiscordGroup
		err = r.Grants.Objects.Get(ctx, c.Spec.GroupRef.In(c.Namespace), &group)
		server, categoryID = group.Spec.ServerRef.In(group.Namespace), group.Status.GroupID
	}
	if c.Status.ServerRef != nil {
		server, err = c.Status.ServerRef.In(c.Namespace), client.IgnoreNotFound(err)
		categoryID = cmp.Or(c.Status.GroupID, categoryID)
	}
	if apierrors.IsNotFound(err) {
		return server, "", issues.DeletionFailed(fmt.Sprintf("DiscordGroup %s no longer exists.", c.Spec.GroupRef.Name))
	}
	return server, categoryID, err
}
