// SPDX-License-Identifier: Apache-2.0

package external

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/issues"
	"jutsu.com/operators/discord-operator/internal/order"
	"jutsu.com/operators/discord-operator/internal/overwrites"
	"jutsu.com/operators/discord-operator/internal/status"
	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/guildcache"
)

// turnRetry is when to look again at siblings that another reconcile puts into order.
const turnRetry = 200 * time.Millisecond

// Results are what came of a plan.
type Results struct {
	// Channel is the resource as it is now; nil for none.
	Channel *discordclient.Channel
	// Created says that it was created just now, Changed that something was changed on Discord,
	// which the status reports in any case.
	Created, Changed bool
	// Blocked says that the resource cannot be used yet, so that nothing else may be created for
	// it.
	Blocked bool
	// Deleted says that a deleted object is gone.
	Deleted bool
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
	results := Results{Channel: b.Channel, Issues: slices.Clone(plan.Issues)}
	if plan.Create == nil && b.Channel == nil {
		results.Blocked = true
		return results
	}
	if results.Blocked = results.Fail(r.ensureFinalizer(ctx, api, b, plan), now); results.Blocked {
		return results
	}
	edit, fields := plan.Edit, plan.Fields
	if plan.Create != nil {
		if results.Blocked = results.Fail(r.create(ctx, api, b, plan.Create, &results), now); results.Blocked {
			return results
		}
		edit, fields = r.leftOver(api, b, plan.Create, results.Channel)
	} else if b.Inherits && len(plan.Issues) == 0 && edit.Overwrites.IsZero() {
		r.Records.SetInherits(b.Object.GetUID(), false)
	}
	r.recordAdoption(b, &results)
	if len(fields) > 0 {
		results.Fail(r.edit(ctx, api, b, edit, fields, &results), now)
	}
	if plan.Position != nil {
		results.Fail(r.order(ctx, api, b, *plan.Position, results.Channel), now)
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
	if plan.Create != nil {
		if err := api.MayCreateChannel(b.GuildID); err != nil {
			return err
		}
	}
	return r.Status.EnsureFinalizer(ctx, b.Object)
}

// create creates the resource. It must only be called when Bind has found none, and after the
// finalizer was stored.
func (r *Resources) create(
	ctx context.Context, api *guildcache.Client, b Binding, in *discordclient.ChannelCreate, results *Results,
) error {
	uid := b.Object.GetUID()
	r.Records.Absent(uid)
	ch, err := api.CreateChannel(ctx, b.GuildID, *in, Reason(r.Kind.Name, b.Object))
	if discordclient.ClassOf(err) == discordclient.ClassUnknown {
		r.Records.Unknown(uid)
		return conditions.Progressing(v1alpha1.ReasonCreatePending,
			"Discord's response to a create was lost. The operator looks for its result before it creates another one.",
		).After(briefRetry)
	}
	if err != nil {
		return err
	}
	r.Records.Bound(uid, ch.ID)
	results.Channel, results.Created, results.Changed = ch, true, true
	r.Status.Bound("created")
	if b.StatusID != "" {
		r.Status.DriftCorrected(b.Object, "existence")
	} else {
		r.Status.Normal(b.Object, "Created", "Created %s on Discord.", r.Kind.Title(ch))
	}
	return nil
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

// asked is a field of a create; nil where it is left out.
func asked[T comparable](v T) *T {
	if v == *new(T) {
		return nil
	}
	return &v
}

// recordAdoption records that the object has a resource that it has not had before.
func (r *Resources) recordAdoption(b Binding, results *Results) {
	title, id := r.Kind.Title(results.Channel), results.Channel.ID
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

// edit changes all fields by one call. Where the limit of names and topics holds it back, the
// others go first, and the limit remains the issue.
func (r *Resources) edit(
	ctx context.Context, api *guildcache.Client, b Binding,
	edit discordclient.ChannelEdit, fields []string, results *Results,
) error {
	id, reason := results.Channel.ID, Reason(r.Kind.Name, b.Object)
	ch, err := api.EditChannel(ctx, id, edit, reason)
	limited, ok := errors.AsType[*discordclient.RateLimited](err)
	switch held := !edit.Name.IsZero() || !edit.Topic.IsZero(); {
	case ok && held && limited.After > issues.MaxBrief:
		edit.Name, edit.Topic = discordclient.Change[string]{}, discordclient.Change[string]{}
		if fields = without(fields, "name", "topic"); len(fields) == 0 {
			return err
		}
		var failed error
		if ch, failed = api.EditChannel(ctx, id, edit, reason); failed != nil {
			return failed
		}
	case err != nil:
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
	return errors.Join(err, NotApplied(ignored))
}

func without(list []string, drop ...string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return slices.Contains(drop, s) })
}

// order puts the resource and its siblings into the order of their ranks: the first reconcile that
// finds them out of order moves all, by one call.
func (r *Resources) order(
	ctx context.Context, api *guildcache.Client, b Binding, position Position, ch *discordclient.Channel,
) error {
	ranks := maps.Clone(position.Ranks)
	ranks[ch.ID] = position.Rank
	siblings := func() []*discordclient.Channel {
		return r.Kind.Siblings(api.Guild(b.GuildID).Snapshot(), ch.ParentID)
	}
	if order.Right(siblings(), ranks) {
		return nil
	}
	parent := b.GuildID + "/" + ch.ParentID
	if _, taken := r.turns.LoadOrStore(parent, true); taken {
		return issues.Brief(turnRetry)
	}
	defer r.turns.Delete(parent)
	moves := order.Moves(siblings(), ranks)
	if moves == nil {
		return nil
	}
	if err := api.MoveChannels(ctx, b.GuildID, moves); err != nil {
		return err
	}
	if status.Reconciled(b.Object) {
		r.Status.DriftCorrected(b.Object, "position")
	}
	return nil
}
