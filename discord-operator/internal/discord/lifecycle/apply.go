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
	"jutsu.com/operators/discord-operator/internal/discord/issues"
	"jutsu.com/operators/discord-operator/internal/discord/order"
	"jutsu.com/operators/discord-operator/internal/discord/resource"
	"jutsu.com/operators/discord-operator/internal/kube/status"
	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/guildcache"
)

const arrangeRetry = 200 * time.Millisecond // delay while another reconcile sorts the same siblings

// Results report the effects of a reconcile on a resource.
type Results struct {
	Live             resource.Resource     // the resource after the reconcile; nil for none
	Created, Changed bool                  // whether the reconcile created or changed the resource
	Blocked          bool                  // whether the resource cannot be used yet, so a channel's webhook must wait
	Deleted          bool                  // whether the deletion has ended and the finalizer is removed
	Differences      []resource.Difference // for an observed object
	Issues           []conditions.Issue    // of the plan and of failed calls
	Stale            bool                  // whether the cache lags behind; if so, only reconcile again
}

// Fail adds the issues of an error, or sets Stale if the cache is outdated. It reports err != nil.
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
	results := Results{Live: b.Live, Issues: slices.Clone(plan.Issues)}
	if plan.Create == nil && b.Live == nil {
		results.Blocked = true
		return results
	}
	if results.Blocked = results.Fail(r.ensureFinalizer(ctx, api, b, plan), now); results.Blocked {
		return results
	}
	guards := plan.Create != nil || r.Kind.Fields.Guards(plan.Fields)
	if results.Blocked = guards && results.Fail(r.recordRoles(ctx, b, plan), now); results.Blocked {
		return results
	}
	edit, fields := plan.Edit, plan.Fields
	if plan.Create != nil {
		if results.Blocked = results.Fail(r.create(ctx, api, b, plan.Create, &results), now); results.Blocked {
			return results
		}
		r.recordCreate(ctx, b, results.Live)
		var err error
		edit, fields, err = r.remaining(api, b, plan, results.Live)
		results.Fail(err, now)
	} else if b.Inherits && len(plan.Issues) == 0 && !guards {
		r.Records.SetInherits(b.Object.GetUID(), false)
	}
	r.recordAdoption(b, &results)
	if len(fields) > 0 {
		results.Fail(r.edit(ctx, api, b, edit, fields, &results), now)
	}
	if plan.Bounds != nil {
		ranks := plan.Bounds.Ranks(api.Guild(b.GuildID).Snapshot(), results.Live.GetID())
		results.Fail(r.arrange(ctx, api, b, ranks, results.Live), now)
	}
	if plan.Position != nil && !plan.Position.AwaitsSiblings {
		results.Fail(r.order(ctx, api, b, *plan.Position, results.Live), now)
	}
	return results
}

// ensureFinalizer first checks Discord's limits. At a limit, it adds no finalizer, because each
// retry with a finalizer searches for an earlier create.
func (r *Resources) ensureFinalizer(ctx context.Context, api *guildcache.Client, b Binding, plan Plan) error {
	if status.Finalized(b.Object) {
		return nil
	}
	if plan.Create != nil {
		if err := plan.Create.CheckLimits(ctx, api, b.GuildID); err != nil {
			return err
		}
	}
	err := r.Status.EnsureFinalizer(ctx, b.Object)
	if (err == nil || errors.Is(err, apply.ErrStale)) && b.Live == nil {
		// This process has stored the finalizer, so no other process has sent a create.
		r.Records.Absent(b.Object.GetUID())
	}
	return err
}

func (r *Resources) create(
	ctx context.Context, api *guildcache.Client, b Binding, create resource.Create, results *Results,
) error {
	uid := b.Object.GetUID()
	r.Records.Absent(uid)
	live, err := create.Send(ctx, api, b.GuildID, Reason(r.Kind.Name, b.Object), inheritance{r.Records, uid})
	if discordclient.ClassOf(err) == discordclient.ClassUnknown {
		r.Records.Unknown(uid)
		return conditions.Progressing(v1alpha1.ReasonCreatePending,
			"The result of a create is unknown. The operator looks for the %s before it sends another create.", r.Kind.Noun,
		).After(transientRetry)
	}
	if err != nil {
		return err
	}
	r.Records.Bound(uid, live.GetID())
	results.Live, results.Created, results.Changed = live, true, true
	r.Status.Bound("created")
	return nil
}

func (r *Resources) recordCreate(ctx context.Context, b Binding, live resource.Resource) {
	if b.StatusID != "" {
		what := fmt.Sprintf("the %s %q", r.Kind.Noun, live.GetName())
		r.Status.Recreated(ctx, b.Object, what, b.StatusID, live.GetID(), r.Kind.NotRecreated)
		return
	}
	r.Status.Normal(b.Object, "Created", "Created %s on Discord.", r.Kind.Title(live.GetName()))
}

func (r *Resources) remaining(
	api *guildcache.Client, b Binding, plan Plan, made resource.Resource,
) (resource.Edit, []string, error) {
	answered, before := plan.Create.Answered(made, plan.Fields)
	_, ignored := r.Records.Answered(b.Object, r.Kind.Fields, answered, plan.Create, before, made)
	edit, fields := plan.Create.Remaining(api.Guild(b.GuildID).Snapshot(), made, r.Records.StoredForms(b.Object),
		inheritance{r.Records, b.Object.GetUID()})
	return edit, fields, resource.NotApplied(ignored)
}

func (r *Resources) recordAdoption(b Binding, results *Results) {
	title, id := r.Kind.Title(results.Live.GetName()), results.Live.GetID()
	switch {
	case b.Adopted:
		r.Status.Bound("adopted")
		r.Status.Normal(b.Object, "Adopted", "Adopted %s (%s) on Discord.", title, id)
	case b.Recovered && b.Guessed:
		r.Status.Bound("recovered")
		r.Status.Normal(b.Object, "Recovered", "Found %[1]s (%[2]s) on Discord, the only match for an interrupted create. "+
			"Nothing proves that the create made it, so a deletion of this object leaves %[1]s on Discord. To delete it with "+
			"the object, set spec.adopt.id to %[2]s and spec.deletionPolicy to Delete.", title, id)
	case b.Recovered:
		r.Status.Bound("recovered")
		r.Status.Normal(b.Object, "Recovered", "Found %s (%s) on Discord, the result of an interrupted create.", title, id)
	default:
		return
	}
	results.Changed = true
}

// edit sends an edit, and then resends it without refused fields, so that these do not block the
// permission overwrites.
func (r *Resources) edit(
	ctx context.Context, api *guildcache.Client, b Binding, edit resource.Edit, fields []string, results *Results,
) error {
	id, reason, rows := results.Live.GetID(), Reason(r.Kind.Name, b.Object), r.Kind.Fields
	live, err := edit.Send(ctx, api, b.GuildID, id, reason)
	for range maxResends {
		omitted := refusedFields(rows, err, fields)
		if len(omitted) == 0 || len(omitted) == len(fields) {
			break
		}
		results.Fail(err, r.Status.Clock.Now())
		edit, fields = edit.Without(rows.Wires(omitted)...), without(fields, omitted...)
		live, err = edit.Send(ctx, api, b.GuildID, id, reason)
	}
	if err != nil {
		return err
	}
	changed, ignored := r.Records.Answered(b.Object, rows, fields, edit, results.Live, live)
	if rows.Guards(fields) && !rows.Guards(ignored) {
		r.Records.SetInherits(b.Object.GetUID(), false)
	}
	results.Live, results.Changed = live, true
	if len(changed) > 0 && status.Reconciled(b.Object) && !b.Adopted {
		r.Status.DriftCorrected(b.Object, changed...)
	}
	return resource.NotApplied(ignored)
}

func without(list []string, drop ...string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return slices.Contains(drop, s) })
}

func (r *Resources) order(
	ctx context.Context, api *guildcache.Client, b Binding, position Position, live resource.Resource,
) error {
	return r.arrange(ctx, api, b, r.Kind.ranks(api.Guild(b.GuildID).Snapshot(), position, live), live)
}

func (k *Kind) ranks(snap *guildcache.Snapshot, position Position, live resource.Resource) order.Ranks {
	ranks := maps.Clone(position.Ranks)
	ranks[live.GetID()] = position.Rank
	return k.Calls.Ranks(snap, ranks)
}

func (r *Resources) arrange(
	ctx context.Context, api *guildcache.Client, b Binding, ranks order.Ranks, live resource.Resource,
) error {
	siblings := func() []order.Sibling { return r.Kind.Calls.Siblings(api.Guild(b.GuildID).Snapshot(), live) }
	if order.InOrder(siblings(), ranks) {
		return nil
	}
	parent := b.GuildID + "/" + live.GetParentID()
	if _, taken := r.arranging.LoadOrStore(parent, true); taken {
		return issues.Transient(arrangeRetry)
	}
	defer r.arranging.Delete(parent)
	moves := order.Moves(siblings(), ranks)
	if moves == nil {
		return nil
	}
	if err := r.Kind.Calls.Move(ctx, api, b.GuildID, moves, Reason(r.Kind.Name, b.Object)); err != nil {
		return err
	}
	if status.Reconciled(b.Object) {
		r.Status.DriftCorrected(b.Object, "position")
	}
	return nil
}
