package server

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/index"
	"jutsu.com/operators/discord-operator/internal/issues"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/libs/discordclient"
)

// finish lets a deleted object go once its groups and channels are gone and the guild is what the deletion policy says.
func (r *Reconciler) finish(ctx context.Context, s *v1alpha1.DiscordServer) (reconcile.Result, error) {
	if !controllerutil.ContainsFinalizer(s, v1alpha1.CleanupFinalizer) {
		return reconcile.Result{}, nil
	}
	how, err := r.dispose(ctx, s)
	if issues.Stuck(err) && s.Annotations[v1alpha1.ForceDeleteAnnotation] == "true" {
		r.Status.Event(s, corev1.EventTypeWarning, "Abandoned", "Left on Discord, as the annotation requests: "+err.Error())
		how, err = "abandoned", nil
	}
	if err != nil {
		return r.conclude(ctx, s, nil, state{}, issues.Of(err, r.Clock.Now()))
	}
	if err := r.Status.RemoveFinalizer(ctx, s); err != nil {
		return conditions.Result(conditions.Of(err))
	}
	r.Metrics.Deleted(Kind, how)
	r.Records.Forget(s.UID)
	r.Bots.Release(client.ObjectKeyFromObject(s))
	return reconcile.Result{}, nil
}

// dispose does to the guild what the deletion policy says, and returns what became of it.
func (r *Reconciler) dispose(ctx context.Context, s *v1alpha1.DiscordServer) (how string, err error) {
	if err := r.childless(ctx, s); err != nil {
		return "", err
	}
	if s.Spec.DeletionPolicy != v1alpha1.DeletionPolicyDelete || s.Status.ServerID == "" {
		return "retained", nil
	}
	if owner := manager(r.list(ctx, "", index.ServerByGuild, s.Status.ServerID)); owner != nil && owner.UID != s.UID {
		return "retained", nil // it is another object's
	}
	b, err := r.Bots.ToDelete(ctx, s)
	if err != nil {
		return "", err
	}
	switch err := b.DeleteGuild(ctx, s.Status.ServerID); discordclient.ClassOf(err) {
	case discordclient.ClassNone:
		return "deleted", nil
	case discordclient.ClassGone:
		return "gone", nil
	default:
		return "", issues.OfDeletion(err)
	}
}

// childless returns which groups and channels still refer to the server.
func (r *Reconciler) childless(ctx context.Context, s *v1alpha1.DiscordServer) error {
	groups, channels, err := r.children(ctx, s)
	if err != nil || len(groups)+len(channels) == 0 {
		return err
	}
	var names []string
	for i := range groups {
		names = append(names, "DiscordGroup "+groups[i].Name)
	}
	for i := range channels {
		names = append(names, "DiscordChannel "+channels[i].Name)
	}
	return conditions.Progressing(v1alpha1.ReasonWaitingForDependents,
		"Objects still refer to the server: %s. Delete them.", issues.Some(names))
}
