package dojo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/libs/conditions"
)

// refusedRetry is when a child that the API server has refused is tried again: no watch tells of a quota or a policy that changed.
const refusedRetry = 15 * time.Second

// act carries out the steps and returns how the pass ended. One child that is refused does not keep the others from being put
// right, except that pods never get a revision of credentials that could not be written.
func (r *Reconciler) act(ctx context.Context, d *corev1api.Dojo, s *steps) error {
	if err := r.hold(ctx, d, s.finalizers); err != nil {
		return err
	}
	var failed error
	verdict := s.verdict
	for _, c := range s.apply {
		if c.chained && failed != nil {
			continue
		}
		changed, err := r.apply(ctx, d, s, c)
		failed = graver(failed, err)
		if c.kind == kindDeployment && !changed {
			verdict = s.unmoved
		}
	}
	for _, old := range s.remove {
		failed = graver(failed, r.remove(ctx, old))
	}
	if failed != nil {
		return failed
	}
	return verdict
}

// apply writes a child and reports whether that has changed anything.
func (r *Reconciler) apply(ctx context.Context, d *corev1api.Dojo, s *steps, c *child) (changed bool, err error) {
	var options []client.ApplyOption
	// Without force, an object that somebody else has made under this name a moment ago is a conflict where it has other values than
	// ours. With force, the UID makes sure that it is still the object that was seen.
	if c.exists {
		options = append(options, client.ForceOwnership)
		c.meta.pin(c.uid)
	}
	err = r.Client.Apply(ctx, c.config, options...)
	if apierrors.IsInvalid(err) && c.exists {
		if err = r.clear(ctx, d, s, c, err); err == nil {
			err = r.Client.Apply(ctx, c.config, options...)
		}
	}
	changed = err == nil && c.moved()
	r.Metrics.applied(c, changed, err)
	if err != nil {
		c.failed = refusal(d, c, err)
		return false, c.failed
	}
	r.written.Wrote(keyOf(c.kind, d.Namespace, c.name), c.meta.version())
	switch {
	case c.rotation:
		r.tell(d, corev1.EventTypeNormal, "CredentialsRotated", "The database credentials have changed; the pods are rolled.")
	case changed && s.corrects(d, c):
		r.tell(d, corev1.EventTypeNormal, "Corrected", fmt.Sprintf("%s %s differed from what the operator wants and was put right.", c.kind, c.name))
	}
	return changed, nil
}

// clear replaces the spec of a child by ours alone. An apply leaves the fields of others, and somebody may have set one that
// excludes ours: a value beside our valueFrom, another kind of probe or of volume, minAvailable beside maxUnavailable.
func (r *Reconciler) clear(ctx context.Context, d *corev1api.Dojo, s *steps, c *child, refused error) error {
	if c.kind != kindDeployment && c.kind != kindBudget {
		return refused
	}
	want, err := runtime.DefaultUnstructuredConverter.ToUnstructured(c.config)
	if err != nil {
		return fmt.Errorf("convert %s %s: %w", c.kind, c.name, err)
	}
	spec := want["spec"].(map[string]any)
	if c.kind == kindDeployment {
		spec["replicas"] = s.replicas // also where an autoscaler has decided
	}
	patch, err := json.Marshal([]map[string]any{
		{"op": "test", "path": "/metadata/uid", "value": c.uid},
		{"op": "replace", "path": "/spec", "value": spec},
	})
	if err != nil {
		return fmt.Errorf("encode %s %s: %w", c.kind, c.name, err)
	}
	target := &unstructured.Unstructured{}
	target.SetAPIVersion(want["apiVersion"].(string))
	target.SetKind(c.kind)
	target.SetNamespace(d.Namespace)
	target.SetName(c.name)
	return r.Client.Patch(ctx, target, client.RawPatch(types.JSONPatchType, patch))
}

// remove deletes an object, and in the background what belongs to it. One that others hold back with a finalizer stays for now.
func (r *Reconciler) remove(ctx context.Context, old *leftover) error {
	o := old.object
	uid := o.GetUID()
	err := r.Client.Delete(ctx, o, client.Preconditions{UID: &uid}, client.PropagationPolicy(metav1.DeletePropagationBackground))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete %s %s: %w", old.kind, o.GetName(), err)
	}
	if len(o.GetFinalizers()) == 0 {
		r.written.Deleted(keyOf(old.kind, o.GetNamespace(), o.GetName()), uid)
	}
	return nil
}

// hold writes the Dojo's finalizers where they have to change (not nil). Whoever has written the Dojo meanwhile wins.
func (r *Reconciler) hold(ctx context.Context, d *corev1api.Dojo, finalizers []string) error {
	if finalizers == nil {
		return nil
	}
	after := d.DeepCopy()
	after.Finalizers = finalizers
	if err := r.Client.Patch(ctx, after, client.MergeFromWithOptions(d.DeepCopy(), client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("write the finalizers: %w", err)
	}
	d.Finalizers, d.ResourceVersion = after.Finalizers, after.ResourceVersion
	if len(finalizers) > 0 || d.DeletionTimestamp == nil {
		r.written.Wrote(keyOf("Dojo", d.Namespace, d.Name), after.ResourceVersion)
	}
	return nil
}

// refusal decides what an error of the API server means for the Dojo.
func refusal(d *corev1api.Dojo, c *child, err error) error {
	switch {
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return &conditions.Waiting{
			Reason:  corev1api.ReasonNamespaceTerminating,
			Message: fmt.Sprintf("The namespace %s is being deleted.", d.Namespace),
		}
	case !c.exists && apierrors.HasStatusCause(err, metav1.CauseTypeFieldManagerConflict):
		return nameTaken(d, c.kind, c.name)
	case apierrors.IsForbidden(err), apierrors.IsInvalid(err):
		return &conditions.Terminal{
			Reason:  corev1api.ReasonChildRefused,
			Message: fmt.Sprintf("The API server refuses the %s %s: %s", c.kind, c.name, told(c, err)),
			Retry:   refusedRetry,
		}
	}
	return fmt.Errorf("apply %s %s: %w", c.kind, c.name, told(c, err))
}

// told is an error without what nobody may read: an admission webhook may quote the Secret that it refuses. A conflict quotes
// nothing, and has to stay one to be retried quietly.
func told(c *child, err error) error {
	reason := apierrors.ReasonForError(err)
	if c.kind != kindSecret || reason == metav1.StatusReasonUnknown || reason == metav1.StatusReasonConflict {
		return err
	}
	if reason == metav1.StatusReasonInvalid && c.exists {
		return fmt.Errorf("%s. If somebody has made it immutable, delete it: it is made again", reason)
	}
	return errors.New(string(reason))
}
