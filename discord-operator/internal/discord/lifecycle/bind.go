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

const (
	transientRetry = time.Second
	conflictRetry  = 30 * time.Second // no event shows that another object gives up a resource that its status lacks
)

// Kind is a kind of object with a resource on Discord.
type Kind struct {
	Name         string                   // such as DiscordGroup
	Noun         string                   // noun for the resource, such as category
	Title        func(name string) string // title of a resource for events
	NotRecreated string                   // the parts that a recreated resource lacks
	Fields       resource.Rows
	Calls        resource.Calls
	FromBottom   bool                     // whether ranks count from the bottom, where new siblings appear
	List         func() client.ObjectList // an empty list
	ByID         string                   // index of the ids in the status and in spec.adopt
	Identity     func(client.Object) Identity
}

// Identity has the fields of an object that determine its resource.
type Identity struct {
	Name     string // the desired name
	StatusID string
	Adopt    *v1alpha1.Adoption
	Position *int32 // the desired position; nil for none
	Matched  bool   // whether StatusID was bound without proof in the audit log
	Adopted  bool   // whether the resource StatusID existed before the object
	Policy   v1alpha1.DeletionPolicy
	Observed bool // whether the spec asks only to observe the resource
	Released bool // whether the status says that the resource was only observed; another object may manage it
}

// Retained reports whether a deletion leaves the resource on Discord. Without a deletion policy, an
// adopted resource stays.
func (i Identity) Retained() bool {
	if i.Observed || i.guessed(i.StatusID) {
		return true
	}
	if i.Policy != "" {
		return i.Policy == v1alpha1.DeletionPolicyRetain
	}
	return i.Adopt != nil && (i.StatusID == "" || i.StatusID == i.Adopt.ID)
}

// guessed reports whether id was bound without proof and spec.adopt does not name it.
func (i Identity) guessed(id string) bool {
	return i.Matched && i.StatusID == id && (i.Adopt == nil || i.Adopt.ID != id)
}

func (i Identity) claims() []string {
	ids := []string{i.StatusID}
	if i.Adopt != nil {
		ids = append(ids, i.Adopt.ID)
	}
	slices.Sort(ids)
	return slices.DeleteFunc(slices.Compact(ids), func(id string) bool { return id == "" })
}

// Resources manages the Discord resources of all objects of one kind.
type Resources struct {
	Kind    Kind
	Cache   client.Reader
	Status  *status.Recorder
	Records *Records
	Queue   CallQueue // a source of the kind's controller

	arranging sync.Map // keyed by parent: one reconcile at a time sorts the parent's children
	missing   missing
}

// Lookup says where to find or create the resource of an object.
type Lookup struct {
	Object            status.Object
	GuildID, ParentID string
	Types             []discordgo.ChannelType // the allowed types of a channel; a create uses the first one
	// ServerNamespace is the namespace of the DiscordServer. If the object is in another namespace,
	// only the audit log proves a create.
	ServerNamespace string
	NoAdoption      *conditions.Issue // why the object may not adopt; nil if it may
	NoRetention     *conditions.Issue // why a deleted object may not leave its resource; nil if it may
}

func (l Lookup) foreign() bool { return l.ServerNamespace != l.Object.GetNamespace() }

// Binding relates an object to its resource. If Live is nil and Absent is false, the resource may
// exist.
type Binding struct {
	Lookup
	Identity
	Live     resource.Resource
	Stored   resource.StoredForms // the values that Discord stores in another form
	Inherits bool                 // whether the channel is new and lacks overwrites of its category
	// Adopted: this reconcile adopts Live. Recovered: Live comes from a create without response.
	Adopted, Recovered bool
	ForAnother         bool              // whether the operator created the adopted Live for another object
	Guessed            bool              // whether this or an earlier reconcile recovered Live without proof
	Absent             bool              // whether certainly no resource exists, so that a create is safe
	HiddenID           string            // an existing resource that the bot may not view
	Mismatch           *conditions.Issue // why the resource is not the deleted object's own
	ClaimedBy          string            // another object that names the resource and is not deleted
	ClaimedHere        bool              // whether all other objects that name the resource are in this namespace
}

// Claim records that another object (by) claims the resource. here means that by is in the same
// namespace. An object of another namespace takes precedence.
func (b *Binding) Claim(by string, here bool) {
	if b.ClaimedBy == "" || b.ClaimedHere {
		b.ClaimedBy, b.ClaimedHere = by, here
	}
}

// Reason returns the reason of a call for the audit log. Bind searches the audit log for the UID in
// the reason, to find creates without response.
func Reason(kind string, o client.Object) string {
	return fmt.Sprintf("%s %s %s", kind, o.GetUID(), client.ObjectKeyFromObject(o))
}

// Bind finds the resource of an object. It sends no call if the guild cache has the resource.
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
			adopted := b.Adopt != nil && b.Adopt.ID == id
			b.Guessed = !adopted && (b.guessed(id) || r.Records.Guessed(uid, id))
			b.Adopted = record.Adopted && b.StatusID == "" // the status of the adoption was not written
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
	// If this process has a record, a missing finalizer proves nothing: a user may have removed it
	// while the answer to a create was unknown.
	if record.Known || !status.Finalized(l.Object) && !r.Records.Has(uid) {
		b.Absent = true
		return b, nil
	}
	return r.recover(ctx, api, b, record)
}

// BindDeleted is like Bind for a deleted object, but puts a Degraded issue into Mismatch, except
// the issue of a hidden resource.
func (r *Resources) BindDeleted(ctx context.Context, api *guildcache.Client, l Lookup) (Binding, error) {
	b, err := r.Bind(ctx, api, l)
	if issue, _ := errors.AsType[*conditions.Issue](err); issue.IsDegraded() && !issues.IsHidden(err) {
		b.Mismatch, err = issue, nil
	}
	return b, err
}

// Owns reports whether the object may have a resource. It uses only the status and the records,
// because users can write the spec.
func (r *Resources) Owns(o status.Object) bool {
	return r.Kind.Identity(o).StatusID != "" || r.Records.Has(o.GetUID())
}

// Position returns the desired place of an object; nil if the spec has none. It ignores siblings in
// other namespaces, so that no namespace can move the resources of another.
func (r *Resources) Position(ctx context.Context, o client.Object, by, value string) (*Position, error) {
	if r.Kind.Identity(o).Position == nil {
		return nil, nil
	}
	siblings, err := r.Listed(ctx, o.GetNamespace(), by, value)
	return r.Kind.PositionAmong(o, siblings), err
}

// Listed returns the objects with a value in the index by; an empty by means all objects. An empty
// namespace means all namespaces.
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

func (r *Resources) take(ctx context.Context, b Binding, live resource.Resource) (Binding, error) {
	unbound := Binding{Lookup: b.Lookup, Identity: b.Identity, Stored: b.Stored, Inherits: b.Inherits}
	if mismatch := r.Kind.Calls.Mismatch(live, b.GuildID, b.Types); mismatch != nil {
		return unbound, mismatch
	}
	claims, err := r.claims(ctx, b.Object.GetNamespace(), live.GetID())
	if err != nil {
		return unbound, err
	}
	uid := b.Object.GetUID()
	if len(claims) > 0 {
		// An observed object shares a resource only with an owner in its own namespace: it must not
		// learn which resources other namespaces manage.
		shared := func(owner claim) bool { return b.Observed && owner.name.Namespace == b.Object.GetNamespace() }
		if owner := winner(claims); owner.uid != uid && !shared(owner) {
			return unbound, conflict(live, owner.nameFor(b.Object.GetNamespace()))
		}
	}
	if b.ForAnother, err = r.createdForAnother(ctx, b, live.GetID()); err != nil {
		return unbound, err
	}
	if b.Observed {
		b.Live = live
		return b, nil
	}
	for _, c := range claims {
		if c.uid != uid && !c.deleted {
			b.Claim(c.nameFor(b.Object.GetNamespace()), c.name.Namespace == b.Object.GetNamespace())
		}
	}
	if err := r.boundToAnother(ctx, b, live); err != nil {
		return unbound, err
	}
	if !r.record(b, live.GetID()) {
		return unbound, issues.Transient(transientRetry) // another object has just taken the resource
	}
	b.Live = live
	return b, nil
}

func conflict(live resource.Resource, owner string) *conditions.Issue {
	return conditions.Degraded(v1alpha1.ReasonConflict,
		"%q (%s) on Discord is already managed by %s. Delete this object; its deletion changes nothing on Discord.",
		live.GetName(), live.GetID(), owner)
}

// record records the binding. It returns false if another object has taken a recovered resource.
func (r *Resources) record(b Binding, id string) bool {
	uid := b.Object.GetUID()
	switch {
	case b.Recovered:
		return r.Records.Claim(uid, id)
	case b.Adopted && status.Paused(b.Object): // the object adopts nothing yet, so others may adopt the resource
	case b.Adopted && !b.ForAnother:
		r.Records.Adopted(uid, id)
	default:
		r.Records.Bound(uid, id)
	}
	return true
}

// boundToAnother returns an issue if the resource to adopt is bound to another object whose status
// lacks it. The issue is transient unless the operator never writes the id into that status.
func (r *Resources) boundToAnother(ctx context.Context, b Binding, live resource.Resource) error {
	holder := r.Records.Holder(live.GetID())
	if !b.Adopted || holder == "" || holder == b.Object.GetUID() {
		return nil
	}
	all, err := r.Listed(ctx, "", "", "")
	i := slices.IndexFunc(all, func(o status.Object) bool { return o.GetUID() == holder && !Ended(o) })
	switch {
	case err != nil || i < 0:
		return err
	case status.Paused(all[i]) || !all[i].GetDeletionTimestamp().IsZero():
		owner := claim{name: client.ObjectKeyFromObject(all[i])}
		return conflict(live, owner.nameFor(b.Object.GetNamespace())).After(conflictRetry)
	}
	return issues.Transient(transientRetry) // the cache does not show the other object's status yet
}

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
		ProofOnly: b.foreign(), Propagation: r.Records.Wait, Now: r.Status.Clock.Now,
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
			return b, issues.Transient(transientRetry) // the guild cache lags behind the list
		}
		b.Recovered, b.Guessed = true, result.Proof != recovery.ProofAuditLog
		if b.Guessed && status.Paused(b.Object) {
			return Binding{Lookup: b.Lookup, Identity: b.Identity}, conditions.Progressing(v1alpha1.ReasonPaused,
				"The result of the create for this object is unknown, and the create may have made %[1]q (%[2]s). The object "+
					"is paused, so the operator does not manage %[1]q. Set spec.adopt.id to %[2]s, or resume the object: `%[3]s`.",
				live.GetName(), live.GetID(), issues.Annotate(b.Object, v1alpha1.PausedAnnotation+"-"))
		}
		if b.Guessed {
			r.Records.Guess(uid, result.ID) // the cached status may not show the guess yet
		}
		return r.take(ctx, b, live)
	case recovery.Hidden:
		if !r.Records.Claim(uid, result.ID) {
			return b, issues.Transient(transientRetry) // another object has just taken the resource
		}
		hidden := r.hidden(&b, api.Guild(b.GuildID).Snapshot(), result.ID)
		return b, hidden
	case recovery.Absent:
		r.Records.Absent(uid)
		b.Absent = true
		return b, nil
	case recovery.Unproven:
		return b, conditions.Degraded(v1alpha1.ReasonCreateUnproven,
			"An earlier request to create the %[1]s of this object may have succeeded: %[2]s. So the operator neither uses "+
				"that %[1]s nor creates another. Change spec.name, or ask the owner of the DiscordServer to give the bot the "+
				"permission ViewAuditLog.", r.Kind.Noun, result.Why).After(result.After)
	default:
		return b, conditions.Progressing(v1alpha1.ReasonCreatePending,
			"The result of an earlier create is unknown, and the create may have succeeded. The operator looks for the "+
				"%s before it sends another create: %s.", r.Kind.Noun, result.Why).After(result.After)
	}
}
