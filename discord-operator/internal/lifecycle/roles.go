// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"slices"
	"strconv"
	"time"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/order"
	"jutsu.com/operators/discord-operator/internal/status"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/guildcache"
)

// onDiscord is what an object stands for: a channel or category, or a role.
type onDiscord struct {
	id, name string
	channel  *discordclient.Channel
	role     *discordclient.Role
}

func ofChannel(c *discordclient.Channel) onDiscord {
	if c == nil {
		return onDiscord{}
	}
	return onDiscord{id: c.ID, name: c.Name, channel: c}
}

func ofRole(r discordclient.Role) onDiscord { return onDiscord{id: r.ID, name: r.Name, role: &r} }

// live is the resource as it is now; nil for none.
func (b *Binding) live() *onDiscord {
	return (&Results{Channel: b.Channel, Role: b.Role}).live()
}

func (r *Results) live() *onDiscord {
	switch {
	case r.Channel != nil:
		return new(ofChannel(r.Channel))
	case r.Role != nil:
		return new(ofRole(*r.Role))
	}
	return nil
}

// find returns a resource by its id; nil where the view does not have it.
func (k *Kind) find(snap *guildcache.Snapshot, id string) *onDiscord {
	if !k.Roles {
		ch, _ := snap.Channel(id)
		return (&Results{Channel: ch}).live()
	}
	if role, ok := snap.Role(id); ok {
		return new(ofRole(role))
	}
	return nil
}

// get asks Discord itself for a resource.
func (r *Resources) get(ctx context.Context, api *guildcache.Client, guildID, id string) (err error) {
	if r.Kind.Roles {
		_, err = api.GetRole(ctx, guildID, id)
	} else {
		_, err = api.GetChannel(ctx, id)
	}
	return err
}

// list brings all resources of a guild into the view.
func (r *Resources) list(ctx context.Context, api *guildcache.Client, guildID string) (err error) {
	if r.Kind.Roles {
		_, err = api.ListRoles(ctx, guildID)
	} else {
		_, err = api.ListChannels(ctx, guildID)
	}
	return err
}

// listedAt is a moment that the last list in a view is surely newer than.
func (r *Resources) listedAt(snap *guildcache.Snapshot) time.Time {
	if r.Kind.Roles {
		return snap.RolesAt
	}
	return snap.CompleteAt
}

// title is how an event names a resource.
func (r *Resources) title(live *onDiscord) string {
	if live.role != nil {
		return "the role " + strconv.Quote(live.name)
	}
	return r.Kind.Title(live.channel)
}

// lost is what is not there any more once a resource was deleted on Discord, and cannot be created again.
func (k *Kind) lost() string {
	switch {
	case k.Roles:
		return "its members but for those of spec.members, and the permission overwrites that name it by its id"
	case k.Noun == "category":
		return "its permission overwrites but for those of the spec, and its place"
	}
	return "its messages, threads and invites, and the URLs of its webhooks"
}

func (k *Kind) adoptNotFound(id string) *conditions.Issue {
	if k.Roles {
		return conditions.Degraded(v1alpha1.ReasonAdoptNotFound,
			"The server has no role with the id %s of spec.adopt. Check the id.", id)
	}
	return conditions.Degraded(v1alpha1.ReasonAdoptNotFound, "The server has no channel or category "+
		"with the id %s of spec.adopt, or the bot cannot see it. Check the id and the bot's permissions.", id)
}

// mismatch is why the kind cannot manage what was found; nil where it can.
func (l *onDiscord) mismatch(want Lookup) *conditions.Issue {
	if l.channel != nil {
		if slices.Contains(want.Types, l.channel.Type) {
			return nil
		}
		return conditions.Degraded(v1alpha1.ReasonAdoptMismatch,
			"Channel %s on Discord has the type %s, and this object is for the type %s. Adopt another one.",
			l.id, l.channel.TypeName(), (&discordclient.Channel{Type: want.Types[0]}).TypeName())
	}
	if l.id != want.GuildID && !l.role.Managed && !l.role.Tags.Booster {
		return nil
	}
	return conditions.Degraded(v1alpha1.ReasonAdoptMismatch, "The role %q (%s) belongs to a bot, to an integration or to "+
		"all who boost the server, or is that of every member: Discord assigns it. Adopt another one.", l.name, l.id)
}

// applyRole is Apply for a role.
func (r *Resources) applyRole(
	ctx context.Context, api *guildcache.Client, b Binding, plan Plan, results *Results,
) {
	now, reason := r.Status.Clock.Now(), Reason(r.Kind.Name, b.Object)
	if plan.CreateRole != nil {
		err := r.create(b, results, func() (onDiscord, error) {
			role, err := api.CreateRole(ctx, b.GuildID, *plan.CreateRole, reason)
			return ofRole(role), err
		})
		if results.Blocked = results.Fail(err, now); results.Blocked {
			return
		}
		r.recordCreate(ctx, b, results.live())
		_, ignored := r.Records.Answered(b.Object, plan.Fields, plan.CreateRole, discordclient.Role{}, results.Role)
		results.Fail(NotApplied(ignored), now)
	}
	r.recordAdoption(b, results)
	if plan.CreateRole == nil && len(plan.Fields) > 0 {
		results.Fail(r.editRole(ctx, api, b, plan, results), now)
	}
	if plan.Low != nil {
		low := plan.Low.ranks(api.Guild(b.GuildID).Snapshot(), results.Role.ID)
		results.Fail(r.arrange(ctx, api, b, low, results.live()), now)
	}
	if plan.Position != nil && !plan.Position.Early {
		results.Fail(r.order(ctx, api, b, *plan.Position, results.live()), now)
	}
}

// editRole changes all fields by one call.
func (r *Resources) editRole(
	ctx context.Context, api *guildcache.Client, b Binding, plan Plan, results *Results,
) error {
	role, err := api.EditRole(ctx, b.GuildID, results.Role.ID, plan.EditRole, Reason(r.Kind.Name, b.Object))
	if err != nil {
		return err
	}
	changed, ignored := r.Records.Answered(b.Object, plan.Fields, plan.EditRole, results.Role, role)
	results.Role, results.Changed = &role, true
	if len(changed) > 0 && status.Reconciled(b.Object) && !b.Adopted {
		r.Status.DriftCorrected(b.Object, changed...)
	}
	return NotApplied(ignored)
}

// siblings are those among which a resource has its place, by rising positions: channels and categories
// from top to bottom, roles from bottom to top, those of others too.
func (k *Kind) siblings(snap *guildcache.Snapshot, live *onDiscord) (all []order.Sibling) {
	if ch := live.channel; ch != nil {
		return places(k.Siblings(snap, ch.ParentID, ch.Type))
	}
	return ranked(snap)
}

// ranked are all roles but @everyone, the lowest first.
func ranked(snap *guildcache.Snapshot) (all []order.Sibling) {
	for _, role := range snap.RankedRoles() {
		if role.ID != snap.Guild.ID {
			all = append(all, order.Sibling{ID: role.ID, Position: role.Position})
		}
	}
	return all
}

func places(channels []*discordclient.Channel) (all []order.Sibling) {
	for _, c := range channels {
		all = append(all, order.Sibling{ID: c.ID, Position: c.Position, Unknown: c.PositionUnknown})
	}
	return all
}

// belowBot are the ranks of those roles that the bot may move. They are negative, since Discord counts
// from the bottom.
func belowBot(snap *guildcache.Snapshot, ranks order.Ranks) order.Ranks {
	below := order.Ranks{}
	for id, rank := range ranks {
		if snap.BelowBot(id) {
			below[id] = -rank
		}
	}
	return below
}
