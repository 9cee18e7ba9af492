// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	utilrand "k8s.io/apimachinery/pkg/util/rand"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/dojo-operator/internal/cli/kinds"
	"jutsu.com/operators/libs/kubectl"
)

// Request is a write to try.
type Request struct {
	// Verb is that of RBAC: create, patch or delete.
	Verb    string
	Desired *object
	// Apply makes a patch a server-side apply of Desired; else Patch is sent.
	Apply bool
	Patch client.Patch
	Owner string
}

// Checker asks the API server whether it would accept a write.
type Checker interface {
	// Check returns the refusal, and whether the user has the rights to ask.
	Check(ctx context.Context, r Request) (asked bool, refusal error)
	// Defaults returns an object as the API server would create it, with defaults; nil if the user
	// has not the rights to ask.
	Defaults(ctx context.Context, desired *object) *object
}

// check tries a write by a dry run. An object that exists in the model alone, or that was changed
// there, is not tried: the API server knows another one. Nor is a Secret: its values stay here.
func (m *Model) check(ctx context.Context, k key, r Request) error {
	if m.checker == nil || m.made[k] || m.written[k] || k.Kind == kinds.Secret.Kind ||
		k.Kind == kinds.Dojo.Kind {
		return nil
	}
	asked, refusal := m.checker.Check(ctx, r)
	if !asked {
		m.unchecked[resourceOf(k).String()] = true
	}
	return refusal
}

// DryRun sends writes as dry runs.
type DryRun struct {
	*kubectl.Plugin

	known map[namespacedRight]bool
}

type namespacedRight struct {
	namespace string
	kubectl.Right
}

// Check implements Checker.
func (d *DryRun) Check(ctx context.Context, r Request) (asked bool, refusal error) {
	k := keyOf(r.Desired)
	rights := kubectl.To(r.Verb, kinds.Of(k.GroupVersionKind))
	if len(r.Desired.GetOwnerReferences()) > 0 && r.Verb != "delete" { // OwnerReferencesPermissionEnforcement
		rights = append(rights, kubectl.Right{Verb: "update", Kind: kinds.Dojo, Subresource: "finalizers"})
	}
	for _, needed := range rights {
		if may, err := d.may(ctx, k.Namespace, needed); err != nil || !may {
			return false, err
		}
	}
	return true, d.try(ctx, r)
}

// Defaults implements Checker. The object gets another name, which is free.
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

func (d *DryRun) try(ctx context.Context, r Request) error {
	o := r.Desired.DeepCopy()
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
