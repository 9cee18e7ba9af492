// SPDX-License-Identifier: Apache-2.0

package server

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/discord/bot"
	"jutsu.com/operators/discord-operator/internal/discord/issues"
	"jutsu.com/operators/discord-operator/internal/discord/lifecycle"
	"jutsu.com/operators/discord-operator/internal/discord/overwrites"
	"jutsu.com/operators/discord-operator/internal/discord/resource"
	"jutsu.com/operators/discord-operator/internal/kube/index"
	"jutsu.com/operators/discord-operator/internal/kube/status"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/guildcache"
	"jutsu.com/operators/libs/discordclient/permissions"
)

// State is the observed state of a server.
type State struct {
	Bot           *bot.Bot // nil if the server could not be observed
	Application   *discordclient.Application
	InviteURL     string // asks for all permissions of invited; empty while the bot's role is unknown
	GuildID       string
	Snapshot      *guildcache.Snapshot
	TooManyGuilds bool                    // whether the bot is in more guilds than one Gateway session may have
	Stored        resource.StoredForms    // the values that Discord stores in another form
	Manager       *v1alpha1.DiscordServer // the server that manages the guild; nil for none
	Claimed       bool                    // whether another DiscordServer that is not being deleted names the guild
	// Groups, Channels and Roles have the objects that Include accepts.
	Groups     []v1alpha1.DiscordGroup
	Channels   []v1alpha1.DiscordChannel
	Roles      []v1alpha1.DiscordRole
	Namespaces int                                 // number of namespaces that use the server
	Selector   *conditions.Issue                   // why a namespace selector is unusable; nil if all are usable
	Referenced map[string]*v1alpha1.DiscordChannel // the channels that fields refer to; the keys are object names
	Icon       Icon
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
	if server.Status.InviteURL == "" {
		s.InviteURL = s.invitation()
	}
	r.Bots.Follow(client.ObjectKeyFromObject(server), s.GuildID)
	if s.Snapshot, err = s.Bot.Snapshot(ctx, s.GuildID); err != nil {
		return s, err
	}
	if _, exact := s.Snapshot.BotPermissions(); !exact && s.Snapshot.Presence == guildcache.PresencePresent {
		// Without the Gateway, only this call shows the bot's permissions.
		if _, err := s.Bot.GetMember(ctx, s.GuildID, s.Snapshot.SelfID()); err != nil {
			return s, err
		}
		s.Snapshot = s.Bot.Guild(s.GuildID).Snapshot()
	}
	if _, exact := s.Snapshot.BotPermissions(); exact || s.Snapshot.Presence == guildcache.PresenceAbsent {
		s.InviteURL = s.invitation()
	}
	if s.Icon, err = r.observeIcon(ctx, server); err != nil {
		return s, err
	}
	s.Stored = r.Records.StoredForms(server).WithFeatures(s.Snapshot.Guild.Features)
	s.TooManyGuilds = s.Bot.Stats().TooManyGuilds
	err = r.observeClaims(ctx, server, s.GuildID, &s)
	return s, err
}

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

func (r *Reconciler) tokenRefused(server *v1alpha1.DiscordServer, err error) error {
	if discordclient.ClassOf(err) == discordclient.ClassBadToken {
		return r.Bots.Refused(server)
	}
	return err
}

func (r *Reconciler) observeChildren(ctx context.Context, server *v1alpha1.DiscordServer, s *State) (err error) {
	groups, channels, err := r.children(ctx, server)
	if err != nil {
		return err
	}
	namespaces := sets.New[string]()
	for i := range groups {
		namespaces.Insert(groups[i].Namespace)
		s.Include(server, &groups[i])
	}
	for i := range channels {
		namespaces.Insert(channels[i].Namespace)
		s.Include(server, &channels[i])
	}
	roles, err := r.roles(ctx, server)
	if err != nil {
		return err
	}
	for i := range roles {
		namespaces.Insert(roles[i].Namespace)
		s.Include(server, &roles[i])
	}
	s.Namespaces = namespaces.Len()
	s.Selector = cmp.Or(r.Grants.SelectorUnusable(server.Spec.AllowedNamespaces), r.Grants.RoleSelectorUnusable(server))
	s.Referenced, err = Referenced(ctx, r.Client, server)
	return err
}

// Include ignores other namespaces: their objects must not make the bot ask for more permissions.
func (s *State) Include(server *v1alpha1.DiscordServer, o status.Object) {
	if o.GetNamespace() != server.Namespace || status.Observed(o) {
		return
	}
	switch o := o.(type) {
	case *v1alpha1.DiscordGroup:
		s.Groups = append(s.Groups, *o)
	case *v1alpha1.DiscordChannel:
		s.Channels = append(s.Channels, *o)
	case *v1alpha1.DiscordRole:
		s.Roles = append(s.Roles, *o)
	}
}

// children returns groups and channels that may use the server or still have a resource in it. It
// ignores objects whose deletion has ended, but not the other channels of an ignored group.
func (r *Reconciler) children(
	ctx context.Context, server *v1alpha1.DiscordServer,
) (groups []v1alpha1.DiscordGroup, channels []v1alpha1.DiscordChannel, err error) {
	name := client.ObjectKeyFromObject(server).String()
	var referring v1alpha1.DiscordGroupList
	if err := index.List(ctx, r.Client, &referring, "", index.GroupByServer, name); err != nil {
		return nil, nil, err
	}
	if channels, err = r.channels(ctx, server, nil, index.ChannelByServer, name); err != nil {
		return nil, nil, err
	}
	for i := range referring.Items {
		group := &referring.Items[i]
		uses, err := r.Grants.Uses(ctx, server, nil, group.Namespace)
		if err != nil {
			return nil, nil, err
		}
		has := group.Status.GroupID != "" && group.Status.ServerID == server.Status.ServerID
		if !lifecycle.Ended(group) && (uses || has) {
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

// includeMoved adds channels that are still in the server, although their objects now refer to
// another server, or to a group that does not exist.
func (r *Reconciler) includeMoved(
	ctx context.Context, server *v1alpha1.DiscordServer, channels []v1alpha1.DiscordChannel,
) ([]v1alpha1.DiscordChannel, error) {
	known := map[types.NamespacedName]bool{}
	for i := range channels {
		known[client.ObjectKeyFromObject(&channels[i])] = true
	}
	var inside v1alpha1.DiscordChannelList
	err := index.List(ctx, r.Client, &inside, "", index.ChannelInServer, client.ObjectKeyFromObject(server).String())
	for i := range inside.Items {
		c := &inside.Items[i]
		if hasChannel(server, c) && !lifecycle.Ended(c) && !known[client.ObjectKeyFromObject(c)] {
			channels = append(channels, *c)
		}
	}
	return channels, err
}

func hasChannel(server *v1alpha1.DiscordServer, c *v1alpha1.DiscordChannel) bool {
	return c.Status.ChannelID != "" && c.Status.ServerID == server.Status.ServerID
}

func (r *Reconciler) channels(
	ctx context.Context, server *v1alpha1.DiscordServer, group *v1alpha1.DiscordGroup, by, value string,
) (using []v1alpha1.DiscordChannel, err error) {
	var referring v1alpha1.DiscordChannelList
	if err := index.List(ctx, r.Client, &referring, "", by, value); err != nil {
		return nil, err
	}
	for i := range referring.Items {
		c := &referring.Items[i]
		uses, err := r.Grants.Uses(ctx, server, group, c.Namespace)
		if err != nil {
			return nil, err
		}
		if !lifecycle.Ended(c) && (uses || hasChannel(server, c)) {
			using = append(using, *c)
		}
	}
	return using, nil
}

func (r *Reconciler) roles(
	ctx context.Context, server *v1alpha1.DiscordServer,
) (using []v1alpha1.DiscordRole, err error) {
	var referring v1alpha1.DiscordRoleList
	err = index.List(ctx, r.Client, &referring, "", index.RoleByServer, client.ObjectKeyFromObject(server).String())
	for i := range referring.Items {
		role := &referring.Items[i]
		uses, unclear := r.Grants.UsesRoles(ctx, server, role.Namespace)
		has := role.Status.RoleID != "" && role.Status.ServerID == server.Status.ServerID
		if err = errors.Join(err, unclear); !lifecycle.Ended(role) && (uses || has) {
			using = append(using, *role)
		}
	}
	return using, err
}

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

func (s *State) invitation() string {
	return discordclient.InviteURL(s.Bot.WebURL(), s.Application.ID, s.invited(), s.GuildID)
}

// invited includes the permissions of the bot's own role: a new invitation may replace them.
func (s *State) invited() permissions.Bits {
	bits, _, _ := s.mentioned()
	for i := range s.Channels {
		if s.Channels[i].Spec.Type.IsVoiceLike() {
			bits |= permissions.Connect
		}
	}
	for i := range s.Roles {
		bits |= overwrites.Bits(s.Roles[i].Spec.Permissions)
	}
	if s.Snapshot != nil {
		bits |= s.Snapshot.Invited()
	}
	return (bits | discordclient.PermissionsOverwrites) &^ permissions.Administrator
}

func (r *Reconciler) observeDeletion(ctx context.Context, server *v1alpha1.DiscordServer) (s State, err error) {
	if err := r.observeClaims(ctx, server, server.Status.ServerID, &s); err != nil {
		return s, err
	}
	err = r.dependents(ctx, server, s.Claimed)
	if err != nil || retained(server) || managedByAnother(server, s) || s.Claimed {
		return s, err
	}
	s.Bot, err = r.Bots.ToDelete(ctx, server)
	return s, err
}

// dependents returns an issue if objects need the server. It ignores moved channels if another
// DiscordServer claims the guild, because that DiscordServer will manage them.
func (r *Reconciler) dependents(ctx context.Context, server *v1alpha1.DiscordServer, claimed bool) error {
	groups, channels, err := r.children(ctx, server)
	if err == nil && !claimed {
		channels, err = r.includeMoved(ctx, server, channels)
	}
	if err != nil {
		return err
	}
	roles, err := r.roles(ctx, server)
	if err != nil || len(groups)+len(channels)+len(roles) == 0 {
		return err
	}
	var names []string
	deleted := false
	add := func(kind string, o client.Object) {
		names = append(names, kind+" "+issues.Name(o, server.Namespace))
		deleted = deleted || !o.GetDeletionTimestamp().IsZero()
	}
	for i := range groups {
		add("DiscordGroup", &groups[i])
	}
	for i := range channels {
		add("DiscordChannel", &channels[i])
	}
	for i := range roles {
		add("DiscordRole", &roles[i])
	}
	return waitingFor(server, names, deleted)
}

// The message says how to undo the deletion before it says how to continue, because users may delete
// the named objects by mistake.
func waitingFor(server *v1alpha1.DiscordServer, names []string, deleted bool) *conditions.Issue {
	so := "Nothing is deleted on Discord yet."
	if deleted {
		so = "Some of these objects are being deleted too, and the operator may delete their categories, channels and " +
			"roles on Discord now. To stop the deletions in this namespace: `kubectl annotate " +
			"discordgroups.discord.jutsu.com,discordchannels.discord.jutsu.com,discordroles.discord.jutsu.com " +
			"--all -n " + server.Namespace + " " + v1alpha1.PausedAnnotation + "=true`."
	}
	return conditions.Progressing(v1alpha1.ReasonWaitingForDependents,
		"The DiscordServer is being deleted and waits for: %s. %s To undo the deletion: `kubectl discord undelete server "+
			"%s -n %s`. To continue the deletion, delete these objects. The operator then also deletes their "+
			"categories, channels and roles on Discord, except resources that spec.deletionPolicy retains.",
		issues.JoinUpToTen(names), so, server.Name, server.Namespace)
}
