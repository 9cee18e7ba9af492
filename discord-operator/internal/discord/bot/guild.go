// SPDX-License-Identifier: Apache-2.0

package bot

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bwmarrin/discordgo"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/discord/issues"
	"jutsu.com/operators/discord-operator/internal/discord/overwrites"
	"jutsu.com/operators/discord-operator/internal/kube/grant"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/guildcache"
	"jutsu.com/operators/libs/discordclient/permissions"
)

const (
	// arrival is the longest unreported wait for a guild's first state. The Gateway usually takes
	// 1 s, and polling 5 s.
	arrival = 10 * time.Second
	// arrivalRetry is short, because an object waits only for a guild's first state or for a call of
	// another reconcile.
	arrivalRetry = 500 * time.Millisecond
)

// Guild is the part of a DiscordServer that an object may use.
type Guild struct {
	Server *v1alpha1.DiscordServer
	Bot    *Bot
	ID     string
	// By is the namespace of the object that uses the guild.
	By string
	// InviteURL gives the bot its missing permissions; empty for objects of other namespaces and
	// for deletions.
	InviteURL string
	// URL is the guild's web page; empty for deletions.
	URL      string
	Snapshot *guildcache.Snapshot
}

// Guild returns the guild of a server. If the server is not Available, the error is an issue.
func (b *Bots) Guild(ctx context.Context, server *v1alpha1.DiscordServer, by string) (*Guild, error) {
	if !Available(server) || server.Status.ServerID == "" {
		return nil, unavailable(server, by, meta.FindStatusCondition(server.Status.Conditions, conditions.TypeReady))
	}
	g := &Guild{Server: server, ID: server.Status.ServerID, By: by}
	if by == server.Namespace {
		g.InviteURL = server.Status.InviteURL
	}
	var err error
	if g.Bot, err = b.Of(ctx, server); err == nil {
		g.URL = g.Bot.WebURL() + "/channels/" + g.ID
		g.Snapshot, err = g.Bot.Snapshot(ctx, g.ID)
	}
	if issue, _ := errors.AsType[*conditions.Issue](err); issue.IsDegraded() { // the server reports this issue too
		return nil, unavailable(server, by, &metav1.Condition{Reason: issue.Reason, Message: issue.Message})
	}
	if err == nil && g.Snapshot.Presence == guildcache.PresenceAbsent {
		return nil, unavailable(server, by, &metav1.Condition{Reason: v1alpha1.ReasonBotNotInServer,
			Message: fmt.Sprintf("The bot is not a member of the Discord server. Invite the bot: "+
				"`kubectl discord invite %s -n %s` prints the link.", server.Name, server.Namespace)})
	}
	return g, err
}

// Referred is like Guild, but fails if the object already has a resource in another guild (hasIn).
func (b *Bots) Referred(ctx context.Context, server *v1alpha1.DiscordServer, by, hasIn string) (*Guild, error) {
	guild, err := b.Guild(ctx, server, by)
	if err == nil && hasIn != "" && hasIn != guild.ID {
		return nil, conditions.Degraded(v1alpha1.ReasonServerMismatch,
			"The category or role of this object is in server %s, but DiscordServer %s now manages server %s. "+
				"Create a new object.",
			hasIn, server.Name, guild.ID)
	}
	return guild, err
}

func unavailable(server *v1alpha1.DiscordServer, by string, cause *metav1.Condition) *conditions.Issue {
	return issues.Parent{Kind: "DiscordServer", Object: server}.
		WaitFor(v1alpha1.ReasonWaitingForServer, by, "is not available", cause)
}

// GuildToDelete returns the guild of a deleted object's resource. The server need not be Available.
func (b *Bots) GuildToDelete(ctx context.Context, name types.NamespacedName, guildID, by string) (*Guild, error) {
	var server v1alpha1.DiscordServer
	if err := b.cached.Get(ctx, name, &server); apierrors.IsNotFound(err) {
		return nil, issues.DeletionFailed(fmt.Sprintf("DiscordServer %s no longer exists.", name.Name))
	} else if err != nil {
		return nil, fmt.Errorf("get DiscordServer %s: %w", name, err)
	}
	g := &Guild{Server: &server, By: by, ID: cmp.Or(guildID, server.Status.ServerID, server.Spec.ServerID)}
	var err error
	if g.Bot, err = b.toDelete(ctx, &server, g.ID, by); err != nil {
		return nil, err
	}
	g.Snapshot, err = g.Bot.Snapshot(ctx, g.ID)
	if err == nil && g.Snapshot.Presence == guildcache.PresenceAbsent {
		return nil, issues.DeletionFailed("The bot is no longer a member of the server, or the server no longer exists.")
	}
	return g, err
}

// ToDelete returns the bot for deletions. If the token's Secret is gone or malformed, it returns
// the last used bot, if there is one and the Secret allowed that bot for this guild.
func (b *Bots) ToDelete(ctx context.Context, server *v1alpha1.DiscordServer) (*Bot, error) {
	return b.toDelete(ctx, server, server.Status.ServerID, server.Namespace)
}

func (b *Bots) toDelete(ctx context.Context, server *v1alpha1.DiscordServer, guildID, by string) (*Bot, error) {
	found, err := b.Of(ctx, server)
	key := client.ObjectKeyFromObject(server)
	b.mu.Lock()
	refused := grant.TokenRefused(server, b.uses[key].allowed, guildID)
	b.mu.Unlock()
	if err == nil && refused != nil {
		err = refused
	}
	issue, _ := errors.AsType[*conditions.Issue](err)
	if !issue.IsDegraded() {
		return found, err
	}
	if last := b.last(key); last != nil && refused == nil && issue.Reason != v1alpha1.ReasonNotAllowed {
		return last, nil
	}
	if by != server.Namespace {
		return nil, issues.DeletionFailed(unavailable(server, by, &metav1.Condition{Reason: issue.Reason}).Message)
	}
	return nil, issues.DeletionFailed(issue.Message)
}

// Snapshot returns the last known state of a guild. If the state is unknown, the error is an issue.
func (b *Bot) Snapshot(ctx context.Context, guildID string) (*guildcache.Snapshot, error) {
	view := b.Guild(guildID)
	snap := view.Snapshot()
	switch {
	case snap.Presence == guildcache.PresenceUnknown,
		snap.Presence == guildcache.PresenceUnavailable && len(snap.All()) == 0:
		if time.Since(b.started) < arrival {
			return nil, issues.Transient(arrivalRetry)
		}
		why := cmp.Or(b.Stats().GatewayError, "no response yet")
		return nil, issues.Unverified(v1alpha1.ReasonWaitingForDiscord,
			"The state of the server on Discord is not known yet: %s.", why)
	case snap.SelfID() == "" && snap.Presence == guildcache.PresencePresent:
		// Without the Gateway, the snapshot lacks the bot's user id, so a call reads it.
		if _, err := b.CurrentUser(ctx); err != nil {
			return nil, err
		}
		return view.Snapshot(), nil
	}
	return snap, nil
}

// ServerChanged selects creates, deletes, and updates that affect the objects of a server.
var ServerChanged = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	before, after := e.ObjectOld.(*v1alpha1.DiscordServer), e.ObjectNew.(*v1alpha1.DiscordServer)
	return before.Status.ServerID != after.Status.ServerID || Available(before) != Available(after) ||
		before.Spec.TokenSecretRef != after.Spec.TokenSecretRef || before.Spec.AllowAdoption != after.Spec.AllowAdoption ||
		before.Spec.AllowRetention != after.Spec.AllowRetention ||
		!equality.Semantic.DeepEqual(before.Spec.AllowedRoles, after.Spec.AllowedRoles) ||
		!equality.Semantic.DeepEqual(before.Spec.AllowedNamespaces, after.Spec.AllowedNamespaces)
}}

// Available reports whether the groups, channels and roles of a server can be managed.
func Available(server *v1alpha1.DiscordServer) bool {
	return meta.IsStatusConditionTrue(server.Status.Conditions, conditions.TypeAvailable)
}

// Refresh takes a new snapshot from the guild cache. It sends no call.
func (g *Guild) Refresh() { g.Snapshot = g.Bot.Guild(g.ID).Snapshot() }

// OrNone returns the client of the guild's bot; nil if g is nil.
func (g *Guild) OrNone() *guildcache.Client {
	if g == nil {
		return nil
	}
	return g.Bot.Client
}

// MaxChannels is Discord's limit of channels and categories in a server: code 30013.
const MaxChannels = 500

// MaxRoles is Discord's limit of roles in a server: code 30005.
const MaxRoles = 250

// Full is the issue of a guild without room for another channel or category; nil if there is room.
func (g *Guild) Full() *conditions.Issue {
	if len(g.Snapshot.All()) < MaxChannels {
		return nil
	}
	return issues.Full("The server has %d channels and categories, the most that Discord allows. Delete some.",
		MaxChannels)
}

// Categories counts the guild's categories, including hidden categories.
func (g *Guild) Categories() int {
	n := 0
	for _, c := range g.Snapshot.All() {
		if c.Type == discordgo.ChannelTypeGuildCategory {
			n++
		}
	}
	return n
}

// Lacks is the issue of permissions that the bot lacks in the guild; nil if none or unknown.
func (g *Guild) Lacks(needed permissions.Bits, forWhat string) *conditions.Issue {
	return Lacks(g.Snapshot, needed, forWhat, g.InviteURL)
}

// Lacks is the issue of permissions that the bot lacks in the guild; nil if none or unknown.
// The issue's link also asks for the permissions that the bot's role has, because an invitation may
// replace them.
func Lacks(snap *guildcache.Snapshot, needed permissions.Bits, forWhat, inviteURL string) *conditions.Issue {
	have, exact := snap.BotPermissions()
	if !exact || have.Has(needed) {
		return nil
	}
	link := ""
	if inviteURL != "" && !needed.Has(permissions.Administrator) {
		link, _ = discordclient.ChangeInvite(inviteURL, func(asked permissions.Bits) permissions.Bits {
			return (asked | needed | snap.Invited()) &^ permissions.Administrator
		})
	}
	return issues.Lacking(have, exact, needed, forWhat, link)
}

// LacksIn is like Lacks for a channel or category, but without a link to an invitation.
func (g *Guild) LacksIn(ch *discordclient.Channel, needed permissions.Bits, forWhat string) *conditions.Issue {
	return lacksIn(g.Snapshot, ch, needed, forWhat)
}

func lacksIn(
	snap *guildcache.Snapshot, ch *discordclient.Channel, needed permissions.Bits, forWhat string,
) *conditions.Issue {
	have, exact := snap.BotPermissionsIn(ch)
	missing := have.Missing(needed)
	if everywhere, _ := snap.BotPermissions(); exact && missing != 0 && everywhere.Has(missing) {
		return issues.Denied(missing, forWhat)
	}
	return issues.Lacking(have, exact, needed, forWhat, "")
}

// LacksToOverwrite says why the bot may not change permission overwrites; nil if it may.
func (g *Guild) LacksToOverwrite(from, to []discordclient.Overwrite) *conditions.Issue {
	if reserved := g.Reserved(from, to); reserved != nil {
		return reserved
	}
	return g.Lacks(overwrites.Changed(from, to), "which it needs for the permission overwrites")
}

// Reserved is the issue of changed overwrites that need an administrator; nil if none or unknown.
// Source for ManageRoles: https://discord.com/developers/docs/resources/guild#create-guild-channel
// Source for Administrator: https://docs.discord.com/developers/topics/permissions
func (g *Guild) Reserved(from, to []discordclient.Overwrite) *conditions.Issue {
	changed := overwrites.Changed(from, to)
	have, exact := g.Snapshot.BotPermissions()
	const remove = "Remove %[1]s from spec.permissionOverwrites; or, if a user set %[1]s on Discord, remove it there."
	switch {
	case !exact || have.Has(permissions.Administrator):
		return nil
	case changed.Has(permissions.Administrator):
		return issues.Unpermitted(fmt.Sprintf("%[1]s applies to the whole server and has no effect in permission "+
			"overwrites. "+remove, permissions.Administrator))
	case changed.Has(permissions.ManageRoles):
		return issues.Unpermitted(fmt.Sprintf("Discord lets only administrators set %[1]s in permission overwrites, and "+
			"the bot is no administrator. "+remove, permissions.ManageRoles))
	}
	return nil
}

// LacksInCategory says why the bot may not put a channel into a category; nil if it may or if the
// category or the bot's permissions are unknown.
func (g *Guild) LacksInCategory(id string) *conditions.Issue {
	category, ok := g.Snapshot.Channel(id)
	if !ok {
		return nil
	}
	const forWhat = "which it needs in the category of spec.groupRef"
	return g.LacksIn(category, permissions.ViewChannel|permissions.ManageChannels, forWhat)
}

// required returns an issue if Discord refuses to delete a channel (code 50074), because a
// community server requires it. Otherwise, it returns nil.
func (g *Guild) required(live *discordclient.Channel) *conditions.Issue {
	guild := &g.Snapshot.Guild
	role, field := "", ""
	switch live.ID {
	case guild.RulesChannelID:
		role, field = "the rules channel of a community server", "rulesChannelRef"
	case guild.PublicUpdatesChannelID:
		role, field = "the channel in which Discord notifies the moderators of a community server", "publicUpdatesChannelRef"
	}
	if role == "" || !guild.IsCommunity() {
		return nil
	}
	other := "Choose another channel for this purpose, or disable Community in the server's settings on Discord."
	if g.Server.DeletionTimestamp.IsZero() && g.Server.GetManagementPolicy() != v1alpha1.ManagementPolicyObserve {
		other = "Name another DiscordChannel in spec." + field + " of DiscordServer " + issues.Name(g.Server, g.By) +
			", or remove spec." + field + " and spec.community there, and disable Community in the server's settings on Discord."
	}
	return issues.DeletionFailed(fmt.Sprintf("#%s is %s, and Discord does not let anyone delete such a channel. %s",
		live.Name, role, other))
}

// LacksToDelete says why the bot may not delete a channel or category; nil if it may.
func (g *Guild) LacksToDelete(live *discordclient.Channel, noun string) *conditions.Issue {
	if required := g.required(live); required != nil {
		return required
	}
	return g.LacksIn(live, discordclient.ToManage(live.Type), "which it needs to delete this "+noun)
}

// LacksForEdit says why the bot may not edit a channel or category; nil if it may.
func (g *Guild) LacksForEdit(
	live *discordclient.Channel, edit discordclient.ChannelEdit, noun string,
) *conditions.Issue {
	needed := discordclient.ToManage(live.Type)
	if want, ok := edit.Overwrites.Get(); ok {
		needed |= permissions.ManageRoles
		if lacks := g.LacksToOverwrite(live.Overwrites, want); lacks != nil {
			return lacks
		}
	}
	return g.LacksIn(live, needed, "which it needs in this "+noun)
}
