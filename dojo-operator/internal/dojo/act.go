package dojo

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/libs/conditions"
)

// refusedRetry is when a child that the API server has refused is tried again: no watch tells of a quota or a policy that changed.
const refusedRetry = 15 * time.Second

// act carries out the steps and returns how the pass ended. One child that is refused does not keep the others from being put
// right, except those that come after it in its chain: pods never get a revision of credentials that could not be written.
func (r *Reconciler) act(ctx context.Context, d *corev1api.Dojo, s *steps) error {
	if err := r.hold(ctx, d, s.finalizers); err != nil {
		return err
	}
	var failed error
	verdict, broken := s.verdict, map[chain]bool{}
	for _, c := range s.apply {
		if broken[c.chain] {
			continue
		}
		changed, err := r.apply(ctx, d, s, c)
		failed, broken[c.chain] = graver(failed, err), err != nil && c.chain != unchained
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
	if err = r.write(ctx, s, c); replaced(err) {
		err = errStale
	}
	changed = err == nil && c.moved()
	logf.FromContext(ctx).V(1).Info("applied", "kind", c.kind, "child", c.name, "result", r.Metrics.applied(c, changed, err))
	if err != nil {
		c.failed = refusal(d, c, err)
		return false, c.failed
	}
	r.written.Wrote(keyOf(c.kind, d.Namespace, c.name), c.meta.version())
	switch {
	case c.rotation:
		r.tell(d, corev1.EventTypeNormal, "CredentialsRotated", "The database credentials have changed; the pods are rolled.")
	case changed && corrects(d, c):
		r.tell(d, corev1.EventTypeNormal, "Corrected", fmt.Sprintf("%s %s differed from what the operator wants and was put right.", c.kind, c.name))
	}
	return changed, nil
}

// write applies a child, so that the API server's answer lands in it.
func (r *Reconciler) write(ctx context.Context, s *steps, c *child) error {
	// Without force, an object that somebody else has made under this name a moment ago is a conflict where it has other values than
	// ours. One that has none becomes ours: a server-side apply cannot be told to create only.
	if !c.exists {
		return r.Client.Apply(ctx, c.config)
	}
	// With force, the UID makes sure that it is still the object that was seen.
	c.meta.pin(c.uid)
	if c.merge != nil {
		if err := r.merge(ctx, c); err != nil {
			return err
		}
	}
	err := r.Client.Apply(ctx, c.config, client.ForceOwnership)
	if apierrors.IsInvalid(err) {
		if err = r.clear(ctx, s, c, err); err == nil {
			err = r.Client.Apply(ctx, c.config, client.ForceOwnership)
		}
	}
	return err
}

// clear replaces the spec of a child by ours alone. An apply leaves the fields of others, and somebody may have set one that
// excludes ours: a value beside our valueFrom, another kind of probe or of volume, minAvailable beside maxUnavailable. The next pass
// merges what is ours by that.
func (r *Reconciler) clear(ctx context.Context, s *steps, c *child, refused error) error {
	if c.kind != kindDeployment && c.kind != kindBudget {
		return refused
	}
	want, err := c.wanted()
	if err != nil {
		return err
	}
	spec := want.Object["spec"].(map[string]any)
	if c.kind == kindDeployment {
		spec["replicas"] = s.replicas // also where an autoscaler has decided
	}
	patch, err := json.Marshal([]map[string]any{
		{"op": "replace", "path": "/metadata/uid", "value": c.uid}, // as in an apply, another object refuses it,
		{"op": "replace", "path": "/spec", "value": spec},
	})
	if err != nil {
		return fmt.Errorf("encode %s %s: %w", c.kind, c.name, err)
	}
	return r.Client.Patch(ctx, want, client.RawPatch(types.JSONPatchType, patch))
}

// merge makes ours by apply what is ours by update.
func (r *Reconciler) merge(ctx context.Context, c *child) error {
	want, err := c.wanted()
	if err != nil {
		return err
	}
	return r.Client.Patch(ctx, want, client.RawPatch(types.JSONPatchType, c.merge))
}

// remove deletes an object, and in the background what belongs to it. One that others hold back with a finalizer stays for now.
func (r *Reconciler) remove(ctx context.Context, old *leftover) error {
	o := old.object
	uid := o.GetUID()
	err := r.Client.Delete(ctx, o, client.Preconditions{UID: &uid}, client.PropagationPolicy(metav1.DeletePropagationBackground))
	switch {
	case conditions.Refused(err):
		return childRefused(fmt.Sprintf("the deletion of the %s %s", old.kind, o.GetName()), err)
	case client.IgnoreNotFound(err) != nil:
		return fmt.Errorf("delete %s %s: %w", old.kind, o.GetName(), err)
	}
	logf.FromContext(ctx).V(1).Info("removed", "kind", old.kind, "child", o.GetName())
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
	err := r.Client.Patch(ctx, after, client.MergeFromWithOptions(d.DeepCopy(), client.MergeFromWithOptimisticLock{}))
	switch {
	case conditions.Refused(err):
		return childRefused("the finalizers of the Dojo", err)
	case err != nil:
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
	case conditions.Refused(err):
		return childRefused(fmt.Sprintf("the %s %s", c.kind, c.name), told(c, err))
	}
	return fmt.Errorf("apply %s %s: %w", c.kind, c.name, told(c, err))
}

func childRefused(what string, err error) error {
	return &conditions.Terminal{
		Reason:  corev1api.ReasonChildRefused,
		Message: fmt.Sprintf("The API server refuses %s: %s", what, err),
		Retry:   refusedRetry,
	}
}

// replaced reports whether there was another object than the one that was seen: its UID cannot be changed to that.
func replaced(err error) bool {
	return slices.ContainsFunc(conditions.StatusDetails(err).Causes, func(c metav1.StatusCause) bool { return c.Field == "metadata.uid" })
}

// told is an error without what nobody may read. A lost race has to stay one to be retried quietly, and is told to nobody.
func told(c *child, err error) error {
	if c.kind != kindSecret || conditions.LostRace(err) {
		return err
	}
	wordless := conditions.Wordless(err)
	if conditions.StatusCode(err) == http.StatusUnprocessableEntity && c.exists {
		return fmt.Errorf("%w. If somebody has made it immutable, delete it: it is made again", wordless)
	}
	return wordless
}
