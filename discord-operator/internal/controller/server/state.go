// SPDX-License-Identifier: Apache-2.0

package server

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/discord/bot"
	"jutsu.com/operators/discord-operator/internal/discord/issues"
	"jutsu.com/operators/discord-operator/internal/discord/overwrites"
	"jutsu.com/operators/discord-operator/internal/discord/resource"
	"jutsu.com/operators/discord-operator/internal/kube/index"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/guildcache"
	"jutsu.com/operators/libs/discordclient/permissions"
)

// State of a server, as observed.
type State struct {
	// Bot and its Application are nil where the server could not be observed.
	Bot         *bot.Bot
	Application *discordclient.Application
	// InviteURL asks for everything that the operator may ever need, and for what the overwrites
	// mention.
	InviteURL string
	// GuildID is the guild's.
	GuildID  string
	Snapshot *guildcache.Snapshot
	// TooManyGuilds says that the bot is in more guilds than a session of the Gateway may have.
	TooManyGuilds bool
	// Stored has the values that Discord stores otherwise than it was asked for.
	Stored resource.StoredForms
	// Manager is whose guild it is, of all servers that claim it; nil for none.
	Manager *v1alpha1.DiscordServer
	// Claimed says that another server that is not deleted claims the guild.
	Claimed bool
	// Groups and Channels are those of its own namespace that refer to the server: what others ask
	// for must not make the bot of this one ask for permissions.
	Groups   []v1alpha1.DiscordGroup
	Channels []v1alpha1.DiscordChannel
	// Roles says that there are any of its own namespace.
	Roles bool
	// Namespaces is how many have groups, channels or roles in the server.
	Namespaces int
	// Selector is why a selector of the namespaces that it allows is of no use; nil for nothing.
	Selector *conditions.Issue
	// Referenced are the channels that the spec refers to, by their names.
	Referenced map[string]*v1alpha1.DiscordChannel
	// Icon is the image that the spec names.
	Icon Icon
}

func (r *Reconciler) observe(ctx context.Context, server *v1alpha1.DiscordServer) (s State, err error) {
	if s.Bot, err = r.Bots.Of(ctx, server); err != nil {
		return s, err
	}
	app, err := s.Bot.Application(ctx)
	if err != nil {
		return s, err
	}
	s.Application = &app
	if err := r.observeChildren(ctx, server, &s); err != nil {
		return s, err
	}
	s.GuildID = server.Spec.ServerID
	mentioned, _, _ := s.mentioned()
	wanted := discordclient.PermissionsOverwrites | mentioned
	s.InviteURL = discordclient.InviteURL(s.Bot.WebURL(), app.ID, wanted, s.GuildID)
	r.Bots.Follow(client.ObjectKeyFromObject(server), s.GuildID)
	if s.Snapshot, err = s.Bot.Snapshot(ctx, s.GuildID); err != nil {
		return s, err
	}
	if _, exact := s.Snapshot.BotPermissions(); !exact && s.Snapshot.Presence == guildcache.PresencePresent {
		// Without the Gateway, this is how permissions are known.
		if _, err := s.Bot.GetMember(ctx, s.GuildID, s.Snapshot.SelfID()); err != nil {
			return s, err
		}
		s.Snapshot = s.Bot.Guild(s.GuildID).Snapshot()
	}
	if s.Icon, err = r.observeIcon(ctx, server); err != nil {
		return s, err
	}
	s.Stored = r.Records.StoredForms(server).WithFeatures(s.Snapshot.Guild.Features)
	s.TooManyGuilds = s.Bot.Stats().TooManyGuilds
	err = r.observeClaims(ctx, server, s.GuildID, &s)
	return s, err
}

// observeClaims observes which servers claim a guild.
func (r *Reconciler) observeClaims(
	ctx context.Context, server *v1alpha1.DiscordServer, guildID string, s *State,
) error {
	all, err := r.claimants(ctx, guildID)
	s.Manager = manager(all, r.Status.Clock.Now())
	s.Claimed = slices.ContainsFunc(all, func(other v1alpha1.DiscordServer) bool {
		return other.UID != server.UID && other.DeletionTimestamp.IsZero()
	})
	return err
}

// tokenRefused returns the issue of a refused token, which is the server's own, and any other error
// as it is.
func (r *Reconciler) tokenRefused(server *v1alpha1.DiscordServer, err error) error {
	if discordclient.ClassOf(err) == discordclient.ClassBadToken {
		return r.Bots.Refused(server)
	}
	return err
}

// observeChildren reads the groups and channels of the server, which decide what it needs.
func (r *Reconciler) observeChildren(ctx context.Context, server *v1alpha1.DiscordServer, s *State) (err error) {
	groups, channels, err := r.children(ctx, server)
	if err != nil {
		return err
	}
	namespaces := sets.New[string]()
	for i := range groups {
		if namespaces.Insert(groups[i].Namespace); groups[i].Namespace == server.Namespace {
			s.Groups = append(s.Groups, groups[i])
		}
	}
	for i := range channels {
		if namespaces.Insert(channels[i].Namespace); channels[i].Namespace == server.Namespace {
			s.Channels = append(s.Channels, channels[i])
		}
	}
	roles, err := r.roles(ctx, server)
	if err != nil {
		return err
	}
	for i := range roles {
		namespaces.Insert(roles[i].Namespace)
		s.Roles = s.Roles || roles[i].Namespace == server.Namespace
	}
	s.Namespaces = namespaces.Len()
	s.Selector = cmp.Or(r.Grants.SelectorUnusable(server.Spec.AllowedNamespaces), r.Grants.RoleSelectorUnusable(server))
	s.Referenced, err = Referenced(ctx, r.Client, server)
	return err
}

// children returns the groups and channels of all namespaces that use the server: those that refer to
// it and may, and those that no longer may and still have something in the guild.
func (r *Reconciler) children(
	ctx context.Context, server *v1alpha1.DiscordServer,
) (groups []v1alpha1.DiscordGroup, channels []v1alpha1.DiscordChannel, err error) {
	name := client.ObjectKeyFromObject(server).String()
	var named v1alpha1.DiscordGroupList
	if err := index.List(ctx, r.Client, &named, "", index.GroupByServer, name); err != nil {
		return nil, nil, err
	}
	if channels, err = r.channels(ctx, server, nil, index.ChannelByServer, name); err != nil {
		return nil, nil, err
	}
	for i := range named.Items {
		group := &named.Items[i]
		uses, err := r.Grants.Uses(ctx, server, nil, group.Namespace)
		if err != nil {
			return nil, nil, err
		}
		if uses || group.Status.GroupID != "" && group.Status.ServerID == server.Status.ServerID {
			groups = append(groups, *group)
		}
		of := client.ObjectKeyFromObject(group).String()
		inGroup, err := r.channels(ctx, server, group, index.ChannelByGroup, of)
		if err != nil {
			return nil, nil, err
		}
		channels = append(channels, inGroup...)
	}
	return groups, channels, nil
}

// channels returns the channels that use the server, of those that an index names.
func (r *Reconciler) channels(
	ctx context.Context, server *v1alpha1.DiscordServer, group *v1alpha1.DiscordGroup, by, value string,
) (using []v1alpha1.DiscordChannel, err error) {
	var named v1alpha1.DiscordChannelList
	if err := index.List(ctx, r.Client, &named, "", by, value); err != nil {
		return nil, err
	}
	for i := range named.Items {
		c := &named.Items[i]
		uses, err := r.Grants.Uses(ctx, server, group, c.Namespace)
		if err != nil {
			return nil, err
		}
		if uses || c.Status.ChannelID != "" && c.Status.ServerID == server.Status.ServerID {
			using = append(using, *c)
		}
	}
	return using, nil
}

// roles returns the roles that use the server, as children does groups and channels.
func (r *Reconciler) roles(
	ctx context.Context, server *v1alpha1.DiscordServer,
) (using []v1alpha1.DiscordRole, err error) {
	var named v1alpha1.DiscordRoleList
	err = index.List(ctx, r.Client, &named, "", index.RoleByServer, client.ObjectKeyFromObject(server).String())
	for i := range named.Items {
		uses, unclear := r.Grants.UsesRoles(ctx, server, named.Items[i].Namespace)
		of := named.Items[i].Status
		if err = errors.Join(err, unclear); uses || of.RoleID != "" && of.ServerID == server.Status.ServerID {
			using = append(using, named.Items[i])
		}
	}
	return using, err
}

// mentioned are the permissions in the overwrites of its groups and channels, and whether there are
// overwrites and webhooks at all.
func (s *State) mentioned() (bits permissions.Bits, overwritten, webhooks bool) {
	add := func(spec []v1alpha1.PermissionOverwrite) {
		bits |= overwrites.Mentioned(spec)
		overwritten = overwritten || spec != nil
	}
	for i := range s.Groups {
		add(s.Groups[i].Spec.PermissionOverwrites)
	}
	for i := range s.Channels {
		add(s.Channels[i].Spec.PermissionOverwrites)
		webhooks = webhooks || s.Channels[i].Spec.Webhook != nil
	}
	return bits, overwritten, webhooks
}

// observeDeletion observes what a deleted server has on Discord, once nothing depends on it.
func (r *Reconciler) observeDeletion(ctx context.Context, server *v1alpha1.DiscordServer) (s State, err error) {
	if err := r.dependents(ctx, server); err != nil || retained(server) {
		return s, err
	}
	if err := r.observeClaims(ctx, server, server.Status.ServerID, &s); err != nil || foreign(server, s) || s.Claimed {
		return s, err
	}
	s.Bot, err = r.Bots.ToDelete(ctx, server)
	return s, err
}

// dependents returns, as an issue, the groups, channels and roles that still refer to the server.
func (r *Reconciler) dependents(ctx context.Context, server *v1alpha1.DiscordServer) error {
	groups, channels, err := r.children(ctx, server)
	if err != nil {
		return err
	}
	roles, err := r.roles(ctx, server)
	if err != nil || len(groups)+len(channels)+len(roles) == 0 {
		return err
	}
	var names []string
	for i := range groups {
		names = append(names, "DiscordGroup "+issues.Name(&groups[i], server.Namespace))
	}
	for i := range channels {
		names = append(names, "DiscordChannel "+issues.Name(&channels[i], server.Namespace))
	}
	for i := range roles {
		names = append(names, "DiscordRole "+issues.Name(&roles[i], server.Namespace))
	}
	return waitingFor(names)
}

// waitingFor is the issue that a deleted server waits for the objects that refer to it. Who has deleted the server
// by mistake must not be led to delete the rest.
func waitingFor(names []string) *conditions.Issue {
	return conditions.Progressing(v1alpha1.ReasonWaitingForDependents,
		"The server is being deleted and waits for the objects that refer to it: %s. Nothing is deleted on Discord yet, and "+
			"they are still managed. Kubernetes cannot undo the deletion. To keep what they have on Discord, set their "+
			"spec.deletionPolicy to Retain before you delete them; a new DiscordServer, and new objects that name it in "+
			"spec.adopt, then manage it again. Without Retain, what the operator created for them is lost with them.",
		issues.JoinUpToTen(names))
}
