package dojo

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/libs/conditions"
)

// refusedRetry is when a child that the API server has refused is tried again: no watch tells of a quota or a policy that changed.
const refusedRetry = 15 * time.Second

// act carries out the steps in order, first error wins, and returns how the pass ended.
func (r *Reconciler) act(ctx context.Context, d *corev1api.Dojo, s *steps) error {
	for _, c := range s.apply {
		if err := r.apply(ctx, d, s, c); err != nil {
			return err
		}
	}
	if s.remove != nil {
		if err := r.remove(ctx, s.remove); err != nil {
			return err
		}
	}
	return s.verdict
}

func (r *Reconciler) apply(ctx context.Context, d *corev1api.Dojo, s *steps, c *child) error {
	var options []client.ApplyOption
	if c.exists {
		options = append(options, client.ForceOwnership)
	}
	// Without force, an object that somebody else has made under this name a moment ago is a conflict, unless it has no field in
	// common with ours; older ones were seen and are not applied to.
	err := r.Client.Apply(ctx, c.config, options...)
	r.Metrics.applied(c, err)
	if err != nil {
		return refusal(d, c, err)
	}
	r.written.Wrote(keyOf(c.kind, d.Namespace, c.name), ptr.Deref(c.meta.ResourceVersion, ""))
	switch {
	case c.rotation:
		r.tell(d, corev1.EventTypeNormal, "CredentialsRotated", "The database credentials have changed; the pods are rolled.")
	case s.corrects(d, c):
		r.tell(d, corev1.EventTypeNormal, "Corrected", fmt.Sprintf("%s %s differed from what the operator wants and was put right.", c.kind, c.name))
	}
	return nil
}

func (r *Reconciler) remove(ctx context.Context, budget *policyv1.PodDisruptionBudget) error {
	err := r.Client.Delete(ctx, budget, client.Preconditions{UID: &budget.UID})
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete %s %s: %w", kindBudget, budget.Name, err)
	}
	r.written.Deleted(keyOf(kindBudget, budget.Namespace, budget.Name), budget.UID)
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
	case apierrors.IsConflict(err) && !c.exists:
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

// told is an error without what nobody may read: an admission webhook may quote the Secret that it refuses.
func told(c *child, err error) error {
	if reason := apierrors.ReasonForError(err); c.kind == kindSecret && reason != metav1.StatusReasonUnknown {
		return errors.New(string(reason))
	}
	return err
}
