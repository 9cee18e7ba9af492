// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"context"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	utilrand "k8s.io/apimachinery/pkg/util/rand"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/dojo-operator/internal/cli/kinds"
	"jutsu.com/operators/libs/kubectl"
)

// Request is a write to send as a dry run.
type Request struct {
	// Verb is an RBAC verb: create, patch or delete.
	Verb    string
	Desired *object
	// If Apply is true, the request is a server-side apply of Desired. Otherwise a request with the
	// verb patch sends Patch.
	Apply bool
	Patch client.Patch
	Owner string
	// OfMetadata reports whether Patch changes only metadata.
	OfMetadata bool
}

// Checker asks the API server, by a dry run, whether it would accept a write.
type Checker interface {
	// Check returns the API server's refusal, if any. For an accepted patch, answer is the object
	// that the API server would store. asked reports whether the user has the right to send the dry
	// run.
	Check(ctx context.Context, r Request) (asked bool, answer *object, refusal error)
	// Defaults returns the object as the API server would create it, with its defaults. It returns
	// nil if the user may not create the object or the API server refuses it.
	Defaults(ctx context.Context, desired *object) *object
}

// check sends a write as a dry run, and returns the API server's answer, or nil. It sends no write
// to an object that only the model has created or changed: the API server does not have this
// version. It never sends the values of a Secret.
func (m *Model) check(ctx context.Context, k key, r Request) (answer *object, refusal error) {
	if m.checker == nil || m.made[k] || k.Kind == kinds.Dojo.Kind || k.Kind == kinds.Secret.Kind && !r.OfMetadata ||
		m.written[k] && !sameContent(m.original[k], m.objects[k]) {
		return nil, nil
	}
	asked, answer, refusal := m.checker.Check(ctx, r)
	if !asked && k.Kind != kinds.Secret.Kind {
		m.unchecked[resourceOf(k).String()] = true
	}
	if apierrors.IsConflict(refusal) && strings.HasPrefix(m.objects[k].GetResourceVersion(), plannedVersion) {
		return nil, nil // the conflict is over the model's own resource version, which the API server does not know
	}
	return answer, refusal
}

// checkApply sends a server-side apply as a dry run. The object after is the result that the model
// expects. The API server's result may differ, because an admission policy may change fields back.
func (m *Model) checkApply(ctx context.Context, k key, live, after *object, r Request) (*object, error) {
	if m.written[k] || k.Kind == kinds.Secret.Kind {
		// Here the dry run sends a patch instead of an apply, for one of two reasons: the API server
		// does not know that an earlier write of the plan has moved fields to the apply's field
		// manager, or an apply of a Secret would send the Secret's values.
		patch := client.MergeFrom(bare(live))
		data, err := patch.Data(bare(after))
		if err != nil {
			return nil, err
		}
		r.Apply, r.Patch = false, client.RawPatch(patch.Type(), data)
		r.OfMetadata = sameContent(withoutMetadata(live), withoutMetadata(after))
	}
	answer, err := m.check(ctx, k, r)
	if err != nil || answer == nil {
		return after, err
	}
	next := answer.DeepCopy()
	next.SetManagedFields(after.GetManagedFields())
	next.SetResourceVersion(live.GetResourceVersion())
	next.SetGeneration(live.GetGeneration())
	return next, nil
}

// sameContent reports whether two objects are equal, apart from the status, managed fields,
// resource version and generation.
func sameContent(a, b *object) bool {
	return a != nil && b != nil && equality.Semantic.DeepEqual(bare(a).Object, bare(b).Object)
}

func bare(o *object) *object {
	o = o.DeepCopy()
	delete(o.Object, statusOf)
	o.SetManagedFields(nil)
	o.SetResourceVersion("")
	o.SetGeneration(0)
	return o
}

func withoutMetadata(o *object) *object {
	o = o.DeepCopy()
	delete(o.Object, "metadata")
	return o
}

// DryRun is a [Checker] that sends dry runs to the API server.
type DryRun struct {
	*kubectl.Plugin

	known map[namespacedRight]bool
}

type namespacedRight struct {
	namespace string
	kubectl.Right
}

// Check implements [Checker].
func (d *DryRun) Check(ctx context.Context, r Request) (asked bool, answer *object, refusal error) {
	k := keyOf(r.Desired)
	rights := kubectl.To(r.Verb, kinds.Of(k.GroupVersionKind))
	// The admission plugin OwnerReferencesPermissionEnforcement requires this right, if it is
	// enabled.
	if len(r.Desired.GetOwnerReferences()) > 0 && r.Verb != "delete" {
		rights = append(rights, kubectl.Right{Verb: "update", Kind: kinds.Dojo, Subresource: "finalizers"})
	}
	for _, needed := range rights {
		if may, err := d.may(ctx, k.Namespace, needed); err != nil || !may {
			return false, nil, err
		}
	}
	answer = r.Desired.DeepCopy()
	if refusal = d.try(ctx, answer, r); refusal != nil || r.Verb != "patch" {
		answer = nil
	}
	return true, answer, refusal
}

// Defaults implements [Checker]. The dry run creates the object under a random name, because an
// object with the real name may exist.
func (d *DryRun) Defaults(ctx context.Context, desired *object) *object {
	kind := kinds.Of(desired.GroupVersionKind())
	may, err := d.may(ctx, desired.GetNamespace(), kubectl.Right{Verb: "create", Kind: kind})
	if err != nil || !may {
		return nil
	}
	o := kind.Named(desired.GetNamespace(), "plan-"+utilrand.String(8))
	o.Object["spec"] = desired.DeepCopy().Object["spec"]
	o.SetLabels(desired.GetLabels())
	if d.Create(ctx, o, client.DryRunAll) != nil {
		return nil
	}
	return o
}

func (d *DryRun) may(ctx context.Context, namespace string, r kubectl.Right) (bool, error) {
	of := namespacedRight{namespace, r}
	if may, known := d.known[of]; known {
		return may, nil
	}
	may, err := d.May(ctx, namespace, r)
	if err != nil {
		return false, err
	}
	if d.known == nil {
		d.known = map[namespacedRight]bool{}
	}
	d.known[of] = may
	return may, nil
}

func (d *DryRun) try(ctx context.Context, o *object, r Request) error {
	owner := client.FieldOwner(r.Owner)
	switch {
	case r.Verb == "create":
		return d.Create(ctx, o, client.DryRunAll, owner)
	case r.Verb == "delete":
		return client.IgnoreNotFound(d.Delete(ctx, o, client.DryRunAll))
	case r.Apply:
		o.SetManagedFields(nil)
		return d.Apply(ctx, client.ApplyConfigurationFromUnstructured(o), client.DryRunAll, owner,
			client.ForceOwnership)
	case r.Patch.Type() == types.MergePatchType, r.Patch.Type() == types.JSONPatchType:
		return d.Patch(ctx, o, r.Patch, client.DryRunAll, owner)
	}
	return nil
}
