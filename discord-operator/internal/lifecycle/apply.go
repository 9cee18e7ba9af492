// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/issues"
	"jutsu.com/operators/discord-operator/internal/order"
	"jutsu.com/operators/discord-operator/internal/overwrites"
	"jutsu.com/operators/discord-operator/internal/status"
	"jutsu.com/operators/discord-operator/internal/tags"
	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/guildcache"
)

// turnRetry is when to look again at siblings that another reconcile puts into order.
const turnRetry = 200 * time.Millisecond

// Results are what came of a plan.
type Results struct {
	// Channel or Role is the resource as it is now; nil for none.
	Channel *discordclient.Channel
	Role    *discordclient.Role
	// Created says that it was created just now, Changed that something was changed on Discord,
	// which the status reports in any case.
	Created, Changed bool
	// Blocked says that the resource cannot be used yet, so that nothing else may be created for
	// it.
	Blocked bool
	// Deleted says that a deleted object is gone.
	Deleted bool
	// Differences are what would be changed for an object that is only observed.
	Differences []Difference
	// Issues are those of the plan and of what failed.
	Issues []conditions.Issue
	// Stale says that the cache lags behind, so that there is nothing to report: reconcile again
	// after apply.StaleRetry.
	Stale bool
}

// Fail adds the issues of an error and reports whether there was one.
func (r *Results) Fail(err error, now time.Time) bool {
	if errors.Is(err, apply.ErrStale) || conditions.Conflict(err) {
		r.Stale = true
	} else {
		r.Issues = append(r.Issues, issues.Of(err, now)...)
	}
	return err != nil
}

// Apply carries out the plan of an object that is not deleted.
func (r *Resources) Apply(ctx context.Context, api *guildcache.Client, b Binding, plan Plan) Results {
	now := r.Status.Clock.Now()
	results := Results{Channel: b.Channel, Role: b.Role, Issues: slices.Clone(plan.Issues)}
	if plan.Create == nil && plan.CreateRole == nil && b.live() == nil {
		results.Blocked = true
		return results
	}
	if results.Blocked = results.Fail(r.ensureFinalizer(ctx, api, b, plan), now); results.Blocked {
		return results
	}
	if results.Blocked = results.Fail(r.recordRoles(ctx, b, plan), now); results.Blocked {
		return results
	}
	if r.Kind.Roles {
		r.applyRole(ctx, api, b, plan, &results)
		return results
	}
	edit, fields := plan.Edit, plan.Fields
	if plan.Create != nil {
		err := r.createChannel(ctx, api, b, *plan.Create, &results)
		if results.Blocked = results.Fail(err, now); results.Blocked {
			return results
		}
		r.recordCreate(ctx, b, results.live())
		edit, fields = r.leftOver(api, b, plan.Create, results.Channel)
	} else if b.Inherits && len(plan.Issues) == 0 && edit.Overwrites.IsZero() {
		r.Records.SetInherits(b.Object.GetUID(), false)
	}
	r.recordAdoption(b, &results)
	if len(fields) > 0 {
		results.Fail(r.edit(ctx, api, b, edit, fields, &results), now)
	}
	if plan.Position != nil {
		results.Fail(r.order(ctx, api, b, *plan.Position, results.live()), now)
	}
	return results
}

// ensureFinalizer stores the finalizer before anything exists for the object. While Discord would
// refuse a create now, it is not stored: after a crash, every finalizer without an id costs a
// search.
func (r *Resources) ensureFinalizer(ctx context.Context, api *guildcache.Client, b Binding, plan Plan) error {
	if status.Finalized(b.Object) {
		return nil
	}
	may := func(context.Context, string) error { return nil }
	switch {
	case plan.CreateRole != nil:
		may = api.MayCreateRole
	case plan.Create != nil:
		may = api.MayCreateChannel
	}
	if err := may(ctx, b.GuildID); err != nil {
		return err
	}
	err := r.Status.EnsureFinalizer(ctx, b.Object)
	if (err == nil || errors.Is(err, apply.ErrStale)) && b.live() == nil {
		r.Records.Absent(b.Object.GetUID()) // the finalizer is ours: no other process has got as far as a create
	}
	return err
}

// channel returns the call that creates a channel.
func (r *Resources) channel(
	ctx context.Context, api *guildcache.Client, b Binding, in discordclient.ChannelCreate,
) func() (onDiscord, error) {
	return func() (onDiscord, error) {
		ch, err := api.CreateChannel(ctx, b.GuildID, in, Reason(r.Kind.Name, b.Object))
		return ofChannel(ch), err
	}
}

// create creates the resource by a call. It must only be called when Bind has found none, and after
// the finalizer was stored.
func (r *Resources) create(b Binding, results *Results, call func() (onDiscord, error)) error {
	uid := b.Object.GetUID()
	r.Records.Absent(uid)
	live, err := call()
	if discordclient.ClassOf(err) == discordclient.ClassUnknown {
		r.Records.Unknown(uid)
		return conditions.Progressing(v1alpha1.ReasonCreatePending,
			"Discord's response to a create was lost. The operator looks for its result before it creates another one.",
		).After(transientRetry)
	}
	if err != nil {
		return err
	}
	r.Records.Bound(uid, live.id)
	results.Channel, results.Role, results.Created, results.Changed = live.channel, live.role, true, true
	r.Status.Bound("created")
	return nil
}

// recordCreate records a create, or that it has replaced what was deleted on Discord.
func (r *Resources) recordCreate(ctx context.Context, b Binding, live *onDiscord) {
	if b.StatusID != "" {
		what := fmt.Sprintf("the %s %q", r.Kind.Noun, live.name)
		r.Status.Recreated(ctx, b.Object, what, b.StatusID, live.id, r.Kind.lost())
		return
	}
	r.Status.Normal(b.Object, "Created", "Created %s on Discord.", r.title(live))
}

// leftOver is what a create has not done, by its answer. Discord gives a channel that asks for no
// overwrites at all those of its category; where it has not, the channel is open to more users than
// its group.
func (r *Resources) leftOver(
	api *guildcache.Client, b Binding, in *discordclient.ChannelCreate, made *discordclient.Channel,
) (edit discordclient.ChannelEdit, fields []string) {
	texts := []string{"name"}
	if made.Topic != "" {
		texts = append(texts, "topic")
	}
	r.Records.Answered(b.Object, texts, in, discordclient.Channel{}, made)
	d := Differences{Stored: r.Records.Stored(b.Object)}
	Differ(&d, "topic", asked(in.Topic), made.Topic, &edit.Topic)
	Differ(&d, "group", asked(in.ParentID), made.ParentID, &edit.ParentID)
	Differ(&d, "nsfw", asked(in.NSFW), made.NSFW, &edit.NSFW)
	Differ(&d, "slowmode", asked(in.Slowmode), made.Slowmode, &edit.Slowmode)
	Differ(&d, "defaultAutoArchive", asked(in.DefaultAutoArchive), made.DefaultAutoArchive, &edit.DefaultAutoArchive)
	leftOverOfType(&d, in, made, &edit)
	want := in.Overwrites
	if category, ok := api.Guild(b.GuildID).Snapshot().Channel(in.ParentID); want == nil && ok &&
		overwrites.Exposes(made.Overwrites, category.Overwrites) {
		want = category.Overwrites
		r.Records.SetInherits(b.Object.GetUID(), true)
	}
	if want != nil && !overwrites.Same(want, made.Overwrites) {
		Differ(&d, "permissionOverwrites", &want, made.Overwrites, &edit.Overwrites)
	}
	return edit, d.Fields
}

// leftOverOfType is the same for what only channels of some types have. Of all these, no create takes flags.
func leftOverOfType(
	d *Differences, in *discordclient.ChannelCreate, made *discordclient.Channel, edit *discordclient.ChannelEdit,
) {
	Differ(d, "bitrate", asked(in.Bitrate), made.Bitrate, &edit.Bitrate)
	Differ(d, "userLimit", asked(in.UserLimit), made.UserLimit, &edit.UserLimit)
	Differ(d, "region", asked(in.Region), made.Region, &edit.Region)
	Differ(d, "videoQuality", asked(in.VideoQuality), made.VideoQuality, &edit.VideoQuality)
	if in.Tags != nil && !tags.Same(in.Tags, made.Tags) {
		want := tags.Identify(in.Tags, made.Tags, nil)
		Differ(d, "tags", &want, made.Tags, &edit.Tags)
	}
	DifferFlags(d, made.Flags|in.Flags, made.Flags, &edit.Flags)
	Differ(d, "defaultReaction", asked(in.DefaultReaction), made.DefaultReaction, &edit.DefaultReaction)
	Differ(d, "sortOrder", asked(in.SortOrder), made.SortOrder, &edit.SortOrder)
	Differ(d, "layout", asked(in.Layout), made.Layout, &edit.Layout)
	Differ(d, "threadSlowmode", asked(in.ThreadSlowmode), made.ThreadSlowmode, &edit.ThreadSlowmode)
}

// asked is a field of a create; nil where it is left out.
func asked[T comparable](v T) *T {
	if v == *new(T) {
		return nil
	}
	return &v
}

// recordAdoption records that the object has a resource that it has not had before.
func (r *Resources) recordAdoption(b Binding, results *Results) {
	live := results.live()
	title, id := r.title(live), live.id
	switch {
	case b.Adopted:
		r.Status.Bound("adopted")
		r.Status.Normal(b.Object, "Adopted", "Adopted %s (%s) on Discord.", title, id)
	case b.Recovered && b.Guessed:
		r.Status.Bound("recovered")
		r.Status.Normal(b.Object, "Recovered", "Found %s (%s) on Discord, which alone matches an interrupted create. "+
			"Nothing proves that it is its result, so it is retained when the object is deleted. "+
			"Name it in spec.adopt to have the deletion policy apply.", title, id)
	case b.Recovered:
		r.Status.Bound("recovered")
		r.Status.Normal(b.Object, "Recovered", "Found %s (%s) on Discord, the result of an interrupted create.", title, id)
	default:
		return
	}
	results.Changed = true
}

// edit changes all fields by one call. Discord refuses it as a whole: what it refuses is left out then, so
// that the others, overwrites above all, get through, and the refusal remains as an issue.
func (r *Resources) edit(
	ctx context.Context, api *guildcache.Client, b Binding,
	edit discordclient.ChannelEdit, fields []string, results *Results,
) error {
	id, reason := results.Channel.ID, Reason(r.Kind.Name, b.Object)
	ch, err := api.EditChannel(ctx, id, edit, reason)
	for range maxLess {
		less := leftOut(err, edit, fields)
		if len(less) == 0 || len(less) == len(fields) {
			break
		}
		results.Fail(err, r.Status.Clock.Now())
		edit, fields = edit.Without(wireNames(less)...), without(fields, less...)
		ch, err = api.EditChannel(ctx, id, edit, reason)
	}
	if err != nil {
		return err
	}
	changed, ignored := r.Records.Answered(b.Object, fields, edit, results.Channel, ch)
	if !edit.Overwrites.IsZero() && !slices.Contains(ignored, "permissionOverwrites") {
		r.Records.SetInherits(b.Object.GetUID(), false)
	}
	results.Channel, results.Changed = ch, true
	if len(changed) > 0 && status.Reconciled(b.Object) && !b.Adopted {
		r.Status.DriftCorrected(b.Object, changed...)
	}
	return NotApplied(ignored)
}

func without(list []string, drop ...string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return slices.Contains(drop, s) })
}

// order puts the resource and its siblings into the order of their ranks: the first reconcile that
// finds them out of order moves all, by one call.
func (r *Resources) order(
	ctx context.Context, api *guildcache.Client, b Binding, position Position, live *onDiscord,
) error {
	ranks := maps.Clone(position.Ranks)
	ranks[live.id] = position.Rank
	if live.role != nil {
		ranks = belowBot(api.Guild(b.GuildID).Snapshot(), ranks)
	}
	return r.arrange(ctx, api, b, ranks, live)
}

// arrange sorts a resource and its siblings by ranks, by one call.
func (r *Resources) arrange(
	ctx context.Context, api *guildcache.Client, b Binding, ranks order.Ranks, live *onDiscord,
) error {
	parentID, move := "", api.MoveChannels
	if live.channel != nil {
		parentID = live.channel.ParentID
	} else {
		move = func(ctx context.Context, guildID string, moves []discordclient.Move) error {
			return api.MoveRoles(ctx, guildID, moves, Reason(r.Kind.Name, b.Object))
		}
	}
	siblings := func() []order.Sibling { return r.Kind.siblings(api.Guild(b.GuildID).Snapshot(), live) }
	if order.Right(siblings(), ranks) {
		return nil
	}
	parent := b.GuildID + "/" + parentID
	if _, taken := r.turns.LoadOrStore(parent, true); taken {
		return issues.Transient(turnRetry)
	}
	defer r.turns.Delete(parent)
	moves := order.Moves(siblings(), ranks)
	if moves == nil {
		return nil
	}
	if err := move(ctx, b.GuildID, moves); err != nil {
		return err
	}
	if status.Reconciled(b.Object) {
		r.Status.DriftCorrected(b.Object, "position")
	}
	return nil
}
