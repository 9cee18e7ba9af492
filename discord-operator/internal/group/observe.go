package group

import (
	"context"
	"fmt"

	"github.com/bwmarrin/discordgo"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/bot"
	"jutsu.com/operators/discord-operator/internal/external"
	"jutsu.com/operators/discord-operator/internal/index"
	"jutsu.com/operators/discord-operator/internal/order"
	"jutsu.com/operators/libs/conditions"
)

// observed is everything that a decision about a group rests on.
type observed struct {
	*bot.Guild
	sought external.Lookup
	external.Binding
	ranks order.Ranks // of the siblings, read only where the spec has a position
}

// observe returns nil where the group could not be looked at, and what was seen together with an error where there is no category to decide about.
func (r *Reconciler) observe(ctx context.Context, g *v1alpha1.DiscordGroup) (*observed, error) {
	a, err := r.Bots.Guild(ctx, types.NamespacedName{Namespace: g.Namespace, Name: g.Spec.ServerRef.Name})
	if err != nil {
		return nil, err
	}
	if g.Status.ServerID != "" && g.Status.ServerID != a.ID {
		return nil, conditions.Degraded(v1alpha1.ReasonServerMismatch,
			"The category is in server %s, but DiscordServer %s now manages server %s. Create a new DiscordGroup.",
			g.Status.ServerID, g.Spec.ServerRef.Name, a.ID)
	}
	seen := &observed{Guild: a, sought: r.sought(ctx, g, a.ID)}
	if seen.Binding, err = r.Finder.Locate(ctx, a.Bot.Client, a.Snapshot, seen.sought); err != nil {
		return seen, err
	}
	seen.Snapshot = a.Bot.Guild(a.ID).Snapshot() // looking may have brought it up to date
	if g.Spec.Position != nil {
		seen.ranks = r.ranks(ctx, g)
	}
	return seen, nil
}

// sought is what the group knows of its external.
func (r *Reconciler) sought(ctx context.Context, g *v1alpha1.DiscordGroup, guildID string) external.Lookup {
	s := external.Lookup{
		Name: client.ObjectKeyFromObject(g), UID: g.UID, Created: g.CreationTimestamp.Time,
		Intended: controllerutil.ContainsFinalizer(g, v1alpha1.CleanupFinalizer),
		StatusID: g.Status.GroupID,
		GuildID:  guildID, DiscordName: g.Spec.Name, StoredName: r.Finder.Records.Stored(g.UID, g.Spec.Name),
		Types:  []discordgo.ChannelType{discordgo.ChannelTypeGuildCategory},
		Reason: external.Reason(Kind, client.ObjectKeyFromObject(g), g.UID),
		Claims: func(id string) ([]external.Claim, error) { return r.claims(ctx, g.Namespace, id) },
	}
	if g.Spec.Adopt != nil {
		s.AdoptID = g.Spec.Adopt.ID
	}
	return s
}

// claims returns who says that a category of Discord is theirs. Of other namespaces only those count that have it: one server manages a guild,
// so who merely wishes to adopt something from elsewhere never can, and must not keep others from it.
func (r *Reconciler) claims(ctx context.Context, namespace, id string) ([]external.Claim, error) {
	var groups v1alpha1.DiscordGroupList
	if err := r.Client.List(ctx, &groups, client.MatchingFields{index.GroupByID: id}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list the groups that claim %s: %w", id, err)
	}
	claims := make([]external.Claim, 0, len(groups.Items))
	for i := range groups.Items {
		g := &groups.Items[i]
		if holds := g.Status.GroupID == id; holds || g.Namespace == namespace {
			claims = append(claims, external.Claim{Name: client.ObjectKeyFromObject(g), UID: g.UID, Created: g.CreationTimestamp.Time, Holds: holds})
		}
	}
	return claims, nil
}

// ranks are the wanted positions of all groups of the server that have one.
func (r *Reconciler) ranks(ctx context.Context, g *v1alpha1.DiscordGroup) order.Ranks {
	ranks := order.Ranks{}
	for _, s := range r.list(ctx, g.Namespace, index.GroupByServer, g.Spec.ServerRef.Name) {
		if s.Spec.Position != nil && s.Status.GroupID != "" {
			ranks[s.Status.GroupID] = *s.Spec.Position
		}
	}
	return ranks
}
