package server

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/bot"
	"jutsu.com/operators/discord-operator/internal/index"
	"jutsu.com/operators/discord-operator/internal/overwrites"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/guildcache"
	"jutsu.com/operators/libs/discordclient/permissions"
)

// observed is everything that a decision about a server rests on.
type observed struct {
	bot         *bot.Bot
	application discordclient.Application
	intended    bool // the finalizer was stored before this pass
	guildID     string
	// recovered says that the guild is the result of a create whose outcome was not known; create that there is surely none.
	recovered, create bool
	snap              *guildcache.Snapshot // nil where there is no guild yet

	manager       *v1alpha1.DiscordServer // whose guild it is, of all that claim it
	groups        []v1alpha1.DiscordGroup
	channels      []v1alpha1.DiscordChannel
	systemChannel *v1alpha1.DiscordChannel // of spec.systemChannelRef, nil where there is none
}

// observe returns what was seen, also together with an error where there is nothing to decide.
func (r *Reconciler) observe(ctx context.Context, s *v1alpha1.DiscordServer) (*observed, error) {
	seen := &observed{intended: controllerutil.ContainsFinalizer(s, v1alpha1.CleanupFinalizer)}
	var err error
	if seen.bot, err = r.Bots.Of(ctx, s); err != nil {
		return nil, err
	}
	if seen.application, err = seen.bot.Application(ctx); err != nil {
		return nil, err
	}
	if err := r.observeChildren(ctx, s, seen); err != nil {
		return seen, err
	}
	if seen.guildID, err = r.guild(ctx, s, seen); err != nil || seen.create {
		return seen, err
	}
	r.Bots.Follow(client.ObjectKeyFromObject(s), seen.guildID)
	if seen.snap, err = seen.bot.Snapshot(ctx, seen.guildID); err != nil {
		return seen, err
	}
	if _, exact := seen.snap.BotPermissions(); !exact && seen.snap.Presence == guildcache.PresencePresent {
		if _, err := seen.bot.ListMemberships(ctx); err != nil { // without the Gateway, this is how permissions are known
			return seen, err
		}
		seen.snap = seen.bot.Guild(seen.guildID).Snapshot()
	}
	seen.manager = manager(r.list(ctx, "", index.ServerByGuild, seen.guildID))
	return seen, nil
}

// tokenRefused tells of a refused token where it belongs: at the server.
func tokenRefused(s *v1alpha1.DiscordServer, err error) error {
	if discordclient.ClassOf(err) != discordclient.ClassBadToken {
		return err
	}
	return bot.TokenRefused(s)
}

// guild returns the id of the server's guild: what the spec or the status says, otherwise what an earlier create has left.
func (r *Reconciler) guild(ctx context.Context, s *v1alpha1.DiscordServer, seen *observed) (string, error) {
	entry := r.Records.Entry(s.UID)
	for _, id := range []string{s.Spec.ServerID, s.Status.ServerID, entry.ID} {
		if id != "" {
			return id, nil
		}
	}
	if !seen.intended || entry.Known || refusedBefore(s) {
		seen.create = true
		return "", nil
	}
	memberships, err := seen.bot.ListMemberships(ctx)
	if err != nil {
		return "", err
	}
	for _, m := range memberships {
		since := s.CreationTimestamp.Add(-time.Minute) // clocks differ
		if m.Owner && m.Name == guildName(s) && discordclient.CreatedAt(m.ID).After(since) && len(r.list(ctx, "", index.ServerByGuild, m.ID)) == 0 {
			seen.recovered = true
			return m.ID, nil
		}
	}
	if wait := r.Settle - r.Clock.Since(entry.LastAttempt); wait > 0 {
		return "", conditions.Progressing(v1alpha1.ReasonCreatePending,
			"An earlier create of the server may have succeeded. The operator looks for it before it creates another one.",
		).After(wait)
	}
	r.Records.Nothing(s.UID)
	seen.create = true
	return "", nil
}

// guildName is what a new server is called.
func guildName(s *v1alpha1.DiscordServer) string {
	if s.Spec.Name != "" {
		return s.Spec.Name
	}
	return s.Name
}

// observeChildren reads the groups and channels of the server, which decide what it needs.
func (r *Reconciler) observeChildren(ctx context.Context, s *v1alpha1.DiscordServer, seen *observed) error {
	var err error
	if seen.groups, seen.channels, err = r.children(ctx, s); err != nil {
		return err
	}
	if ref := s.Spec.SystemChannelRef; ref != nil {
		var c v1alpha1.DiscordChannel
		err := r.Client.Get(ctx, types.NamespacedName{Namespace: s.Namespace, Name: ref.Name}, &c)
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("get DiscordChannel %s: %w", ref.Name, err)
		}
		if err == nil {
			seen.systemChannel = &c
		}
	}
	return nil
}

func (r *Reconciler) children(ctx context.Context, s *v1alpha1.DiscordServer) ([]v1alpha1.DiscordGroup, []v1alpha1.DiscordChannel, error) {
	list := func(into client.ObjectList, by, name string) error {
		return r.Client.List(ctx, into, client.InNamespace(s.Namespace), client.MatchingFields{by: name}, client.UnsafeDisableDeepCopy)
	}
	var groups v1alpha1.DiscordGroupList
	var channels v1alpha1.DiscordChannelList
	if err := errors.Join(list(&groups, index.GroupByServer, s.Name), list(&channels, index.ChannelByServer, s.Name)); err != nil {
		return nil, nil, fmt.Errorf("list the groups and channels of the server: %w", err)
	}
	all := slices.Clone(channels.Items)
	for i := range groups.Items {
		var inGroup v1alpha1.DiscordChannelList
		if err := list(&inGroup, index.ChannelByGroup, groups.Items[i].Name); err != nil {
			return nil, nil, fmt.Errorf("list the channels of group %s: %w", groups.Items[i].Name, err)
		}
		all = append(all, inGroup.Items...)
	}
	return groups.Items, all, nil
}

// mentioned are the permissions in the overwrites of all groups and channels, and whether there are overwrites and webhooks at all.
func (seen *observed) mentioned() (bits permissions.Bits, overwritten, hooks bool) {
	add := func(spec []v1alpha1.PermissionOverwrite) {
		bits |= overwrites.Mentioned(spec)
		overwritten = overwritten || spec != nil
	}
	for i := range seen.groups {
		add(seen.groups[i].Spec.PermissionOverwrites)
	}
	for i := range seen.channels {
		add(seen.channels[i].Spec.PermissionOverwrites)
		hooks = hooks || seen.channels[i].Spec.Webhook != nil
	}
	return bits, overwritten, hooks
}
