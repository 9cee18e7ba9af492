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
	// Verb is create, patch or delete.
	Verb    string
	Desired *object
	// Apply makes the verb patch a server-side apply of Desired. Otherwise the verb sends Patch.
	Apply bool
	Patch client.Patch
	Owner string
	// OfMetadata is true if Patch changes only metadata.
	OfMetadata bool
}

// Checker sends writes to the API server as dry runs.
type Checker interface {
	// Check sends a dry run. asked is false if the user lacks a right for it. answer is the result
	// of an accepted patch. refusal is the API server's error.
	Check(ctx context.Context, r Request) (asked bool, answer *object, refusal error)
	// Defaults returns the object with the API server's defaults, or nil if a dry run cannot create
	// the object.
	Defaults(ctx context.Context, desired *object) *object
}

// check sends a write as a dry run, unless the plan has already created the object or changed its
// content. It never sends a Dojo, or the values of a Secret. answer may be nil.
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

// checkApply returns the object after a dry run, which an admission policy may have changed.
// Without a dry run, it returns the parameter after.
func (m *Model) checkApply(ctx context.Context, k key, live, after *object, r Request) (*object, error) {
	if m.written[k] || k.Kind == kinds.Secret.Kind {
		// Send a patch, not the apply: the API server does not know that an earlier write has moved
		// fields to this field manager, and an apply of a Secret would send its values.
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

// sameContent ignores the status, managed fields, resource version and generation.
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
	// The admission plugin OwnerReferencesPermissionEnforcement, if enabled, requires this right.
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

// Defaults implements [Checker]. It uses a random name, because the object may exist.
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
