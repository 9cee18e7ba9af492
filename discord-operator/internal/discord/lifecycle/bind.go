// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/bwmarrin/discordgo"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/discord/issues"
	"jutsu.com/operators/discord-operator/internal/discord/resource"
	"jutsu.com/operators/discord-operator/internal/kube/index"
	"jutsu.com/operators/discord-operator/internal/kube/status"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/libs/discordclient/guildcache"
	"jutsu.com/operators/libs/discordclient/recovery"
)

// transientRetry is when to look again for what the view of a guild does not show yet.
const transientRetry = time.Second

// Kind is a kind of object that stands for a resource on Discord.
type Kind struct {
	// Name is that of the kind, such as DiscordGroup.
	Name string
	// Noun is the resource's, such as category.
	Noun string
	// Title names a resource in an event.
	Title func(name string) string
	// Lost names the parts that cannot be created again after a resource was deleted on Discord.
	Lost string
	// Fields names the fields of the resource.
	Fields resource.Rows
	// Calls find, read, move and delete the resources.
	Calls resource.Calls
	// FromBottom says that siblings are ranked from the bottom, and that a new resource is the lowest.
	FromBottom bool
	// List makes an empty list of objects, ByID is its index by the ids that the objects claim.
	List func() client.ObjectList
	ByID string
	// Identity reads from an object which resource it has.
	Identity func(client.Object) Identity
}

// Identity has the claims of an object on a resource.
type Identity struct {
	// Name is the desired one.
	Name string
	// StatusID is the id in the status, empty for none; Adopt is spec.adopt.
	StatusID string
	Adopt    *v1alpha1.Adoption
	// Position is the desired one; nil for none.
	Position *int32
	// Matched says that what StatusID names was bound without proof that it is the object's.
	Matched bool
	// Adopted says that what StatusID names was there before, and not created for the object.
	Adopted bool
	// Policy decides whether the resource is deleted with the object.
	Policy v1alpha1.DeletionPolicy
	// Observed says that the resource is only observed, so that other objects may manage it.
	Observed bool
}

// Retained reports whether the resource of a deleted object stays. By default an adopted one does,
// but not one that was created in its place after it had been deleted on Discord.
func (i Identity) Retained() bool {
	if i.Observed || i.guessed(i.StatusID) {
		return true
	}
	if i.Policy != "" {
		return i.Policy == v1alpha1.DeletionPolicyRetain
	}
	return i.Adopt != nil && (i.StatusID == "" || i.StatusID == i.Adopt.ID)
}

// guessed reports whether a resource was bound without proof, and no user has named it since.
func (i Identity) guessed(id string) bool {
	return i.Matched && i.StatusID == id && (i.Adopt == nil || i.Adopt.ID != id)
}

// claims are the ids that the object claims.
func (i Identity) claims() []string {
	ids := []string{i.StatusID}
	if i.Adopt != nil {
		ids = append(ids, i.Adopt.ID)
	}
	slices.Sort(ids)
	return slices.DeleteFunc(slices.Compact(ids), func(id string) bool { return id == "" })
}

// Resources are the external resources of the objects of one kind.
type Resources struct {
	Kind    Kind
	Cache   client.Reader
	Status  *status.Recorder
	Records *Records
	// Line is a source of the kind's controller.
	Queue CallQueue

	arranging sync.Map // by the parent: one reconcile at a time sorts its children
	missing   missing
}

// Lookup is where the external resource of an object is to be found or created.
type Lookup struct {
	Object            status.Object
	GuildID, ParentID string
	// Types lists the allowed types of a channel; the first one is created.
	Types []discordgo.ChannelType
	// Foreign says that the object is of another namespace than its server, so that only the audit log
	// proves what is its own.
	Foreign bool
	// NoAdoption is why the object may not adopt what exists; nil where it may.
	NoAdoption *conditions.Issue
	// NoRetention is why a deleted object may not leave its resource on Discord; nil where it may.
	NoRetention *conditions.Issue
}

// Binding is where an object stands with its external resource. With neither Live nor Absent, it is not known.
type Binding struct {
	Lookup
	Identity
	// Live is the resource as it is now.
	Live resource.Resource
	// Stored has the values that Discord stores otherwise than it was asked for.
	Stored resource.StoredForms
	// Inherits says that the channel is new and lacks overwrites of its category, which it is to have.
	Inherits bool
	// Adopted says that it was not the object's before; Recovered, that it is the result of a
	// create whose outcome was not known.
	Adopted, Recovered bool
	// Guessed says that it was recovered, now or before, because nothing else matches, without proof in
	// the audit log.
	Guessed bool
	// Absent says that there is surely none, so one may be created.
	Absent bool
	// HiddenID is the resource that exists and that the bot may not view; empty for none.
	HiddenID string
	// Mismatch is why what a deleted object names is not its own.
	Mismatch *conditions.Issue
	// ClaimedBy is another object that claims the resource and is not deleted; empty for none.
	ClaimedBy string
	// ClaimedHere says that only objects of the same namespace do.
	ClaimedHere bool
}

// Reason returns the reason in the audit log of all calls for an object. It has the UID, by which a lost create is
// found.
func Reason(kind string, o client.Object) string {
	return fmt.Sprintf("%s %s %s", kind, o.GetUID(), client.ObjectKeyFromObject(o))
}

// Bind looks for the external resource of an object, in memory wherever that is enough. An error
// leaves the Binding without resource.
func (r *Resources) Bind(ctx context.Context, api *guildcache.Client, l Lookup) (Binding, error) {
	uid := l.Object.GetUID()
	if status.Finalized(l.Object) {
		r.Records.Finalized(uid)
	}
	record := r.Records.Of(uid)
	b := Binding{Lookup: l, Identity: r.Kind.Identity(l.Object), Stored: r.Records.StoredForms(l.Object)}
	b.Inherits = r.Records.Inherits(uid)
	known := slices.DeleteFunc(slices.Compact([]string{record.ID, b.StatusID}), func(id string) bool { return id == "" })
	snap := api.Guild(l.GuildID).Snapshot()
	for _, id := range known {
		if live := r.Kind.Calls.Find(snap, id); live != nil {
			r.missing.End(id)
			named := b.Adopt != nil && b.Adopt.ID == id
			b.Guessed = !named && (b.guessed(id) || r.Records.Guessed(uid, id))
			return r.take(ctx, b, live)
		}
	}
	for _, id := range known {
		if err := r.confirmGone(ctx, api, &b, id); err != nil {
			return b, err
		}
	}
	if b.Adopt != nil && len(known) == 0 {
		live, err := r.Kind.adoptee(snap, l, b.Adopt.ID)
		if err != nil {
			return b, err
		}
		b.Adopted = true
		return r.take(ctx, b, live)
	}
	if !status.Finalized(l.Object) || record.Known {
		b.Absent = true
		return b, nil
	}
	return r.recover(ctx, api, b, record)
}

// BindDeleted is Bind for a deleted object: what it names and is not its own is none of its
// concern. What is hidden from the bot is its own, and cannot be deleted.
func (r *Resources) BindDeleted(ctx context.Context, api *guildcache.Client, l Lookup) (Binding, error) {
	b, err := r.Bind(ctx, api, l)
	if issue, _ := errors.AsType[*conditions.Issue](err); issue.IsDegraded() && !issues.IsHidden(err) {
		b.Mismatch, err = issue, nil
	}
	return b, err
}

// Owns reports whether the object has, or may have, a resource, as far as the status and this process
// know. Finalizer and spec are what a user may have written.
func (r *Resources) Owns(o status.Object) bool {
	return r.Kind.Identity(o).StatusID != "" || r.Records.Has(o.GetUID())
}

// Position is the desired place of an object among those of its namespace that an index names; nil for
// none. The objects of other namespaces count as unmanaged, so that none can move them.
func (r *Resources) Position(ctx context.Context, o client.Object, by, value string) (*Position, error) {
	if r.Kind.Identity(o).Position == nil {
		return nil, nil
	}
	siblings, err := r.Listed(ctx, o.GetNamespace(), by, value)
	return r.Kind.PositionAmong(o, siblings), err
}

// Listed returns the objects of the kind that an index names, of a namespace or of all.
func (r *Resources) Listed(ctx context.Context, namespace, by, value string) (all []status.Object, err error) {
	list := r.Kind.List()
	if err := index.List(ctx, r.Cache, list, namespace, by, value); err != nil {
		return nil, err
	}
	return all, meta.EachListItem(list, func(item runtime.Object) error {
		all = append(all, item.(status.Object))
		return nil
	})
}

// take binds what was found, if it is of the right type and no other object's.
func (r *Resources) take(ctx context.Context, b Binding, live resource.Resource) (Binding, error) {
	none := Binding{Lookup: b.Lookup, Identity: b.Identity, Stored: b.Stored, Inherits: b.Inherits}
	if mismatch := r.Kind.Calls.Mismatch(live, b.GuildID, b.Types); mismatch != nil {
		return none, mismatch
	}
	claims, err := r.claims(ctx, b.Object.GetNamespace(), live.GetID())
	if err != nil {
		return none, err
	}
	uid := b.Object.GetUID()
	if len(claims) > 0 {
		// What one of its own namespace manages, an object may observe. It learns nothing of others'.
		shared := func(owner claim) bool { return b.Observed && owner.name.Namespace == b.Object.GetNamespace() }
		if owner := winner(claims); owner.uid != uid && !shared(owner) {
			return none, conditions.Degraded(v1alpha1.ReasonConflict,
				"%q (%s) on Discord is already managed by %s. Delete this object, which deletes nothing on Discord.",
				live.GetName(), live.GetID(), owner.from(b.Object.GetNamespace()))
		}
	}
	if b.Observed {
		b.Live = live
		return b, nil
	}
	for _, c := range claims {
		if c.uid != uid && !c.deleted && (b.ClaimedBy == "" || b.ClaimedHere) {
			b.ClaimedBy, b.ClaimedHere = c.from(b.Object.GetNamespace()), c.name.Namespace == b.Object.GetNamespace()
		}
	}
	if held, err := r.heldByAnother(ctx, b, live.GetID()); err != nil {
		return none, err
	} else if held {
		return none, issues.Transient(transientRetry) // its status is about to show it
	}
	if !b.Recovered {
		r.Records.Bound(uid, live.GetID())
	} else if !r.Records.Claim(uid, live.GetID()) {
		return none, issues.Transient(transientRetry) // another object has just taken it
	}
	b.Live = live
	return b, nil
}

// heldByAnother reports whether this process has given what an object adopts to another one, the status
// of which does not show it yet.
func (r *Resources) heldByAnother(ctx context.Context, b Binding, id string) (held bool, err error) {
	holder := r.Records.Holder(id)
	if !b.Adopted || holder == "" || holder == b.Object.GetUID() {
		return false, nil
	}
	all, err := r.Listed(ctx, "", "", "")
	// A holder that is gone holds nothing.
	return slices.ContainsFunc(all, func(o status.Object) bool { return o.GetUID() == holder }), err
}

// recover looks for the result of a create that may have been carried out.
func (r *Resources) recover(ctx context.Context, api *guildcache.Client, b Binding, record Record) (Binding, error) {
	uid := b.Object.GetUID()
	var unclear error
	kind := discordgo.ChannelType(0)
	if len(b.Types) > 0 {
		kind = b.Types[0]
	}
	result, err := r.Kind.Calls.Recover(ctx, api, recovery.Intent{
		GuildID: b.GuildID, Type: kind, ParentID: b.ParentID, Name: b.Name, Reason: Reason(r.Kind.Name, b.Object),
		NotBefore: b.Object.GetCreationTimestamp().Time, LastAttempt: record.LastAttempt,
		ProofOnly: b.Foreign, Propagation: r.Records.Wait, Now: r.Status.Clock.Now,
		Claimed: func(id string) bool {
			if holder := r.Records.Holder(id); holder != "" && holder != uid {
				return true
			}
			claims, err := r.claims(ctx, b.Object.GetNamespace(), id)
			unclear = errors.Join(unclear, err)
			return slices.ContainsFunc(claims, func(c claim) bool { return c.uid != uid })
		},
	})
	if err := errors.Join(err, unclear); err != nil {
		return b, err
	}
	switch result.Outcome {
	case recovery.Found:
		live := r.Kind.Calls.Find(api.Guild(b.GuildID).Snapshot(), result.ID)
		if live == nil {
			return b, issues.Transient(transientRetry) // the view lags behind the list that named it
		}
		b.Recovered, b.Guessed = true, result.Proof != recovery.ProofAuditLog
		if b.Guessed && status.Paused(b.Object) {
			return Binding{Lookup: b.Lookup, Identity: b.Identity}, conditions.Progressing(v1alpha1.ReasonPaused,
				"%q (%s) on Discord matches an interrupted create, and nothing proves that it is its result. The object is "+
					"paused, so it is not bound. Name it in spec.adopt, or remove the annotation %s to bind it.",
				live.GetName(), live.GetID(), v1alpha1.PausedAnnotation)
		}
		if b.Guessed {
			r.Records.Guess(uid, result.ID) // also while no status shows it
		}
		return r.take(ctx, b, live)
	case recovery.Hidden:
		if !r.Records.Claim(uid, result.ID) {
			return b, issues.Transient(transientRetry) // another object has just taken it
		}
		hidden := r.hidden(&b, api.Guild(b.GuildID).Snapshot(), result.ID)
		return b, hidden
	case recovery.Absent:
		r.Records.Absent(uid)
		b.Absent = true
		return b, nil
	case recovery.Unproven:
		return b, conditions.Degraded(v1alpha1.ReasonCreateUnproven,
			"An earlier create may have succeeded: %s. Nothing is bound or created. Change spec.name, or ask the owner of "+
				"the DiscordServer to give the bot ViewAuditLog, or to delete the %s.", result.Why, r.Kind.Noun).After(result.After)
	default:
		return b, conditions.Progressing(v1alpha1.ReasonCreatePending,
			"An earlier create may have succeeded. The operator looks for its result before it creates another one: %s.",
			result.Why).After(result.After)
	}
}
