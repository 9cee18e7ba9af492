package group

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/external"
	"jutsu.com/operators/discord-operator/internal/index"
	"jutsu.com/operators/discord-operator/internal/issues"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/libs/discordclient"
)

// finish lets a deleted object go once its counterpart is what the deletion policy says.
func (r *Reconciler) finish(ctx context.Context, g *v1alpha1.DiscordGroup) (reconcile.Result, error) {
	if !controllerutil.ContainsFinalizer(g, v1alpha1.CleanupFinalizer) {
		return reconcile.Result{}, nil
	}
	how, err := r.dispose(ctx, g)
	if issues.Stuck(err) && g.Annotations[v1alpha1.ForceDeleteAnnotation] == "true" {
		r.Status.Event(g, corev1.EventTypeWarning, "Abandoned", "Left on Discord, as the annotation requests: "+err.Error())
		how, err = "abandoned", nil
	}
	if err != nil {
		return r.conclude(ctx, g, nil, state{}, issues.Of(err, r.Clock.Now()))
	}
	if err := r.Status.RemoveFinalizer(ctx, g); err != nil {
		return conditions.Result(conditions.Of(err))
	}
	r.Metrics.Deleted(Kind, how)
	r.Finder.Records.Forget(g.UID)
	return reconcile.Result{}, nil
}

// dispose does to the counterpart what the deletion policy says, and returns what became of it.
func (r *Reconciler) dispose(ctx context.Context, g *v1alpha1.DiscordGroup) (how string, err error) {
	if err := r.childless(ctx, g); err != nil {
		return "", err
	}
	if external.Retained(g.Spec.DeletionPolicy, g.Spec.Adopt, g.Status.GroupID) {
		r.Status.Normal(g, "Retained", "Retained the category on Discord.")
		return "retained", nil
	}
	a, err := r.Bots.GuildToDelete(ctx, types.NamespacedName{Namespace: g.Namespace, Name: g.Spec.ServerRef.Name}, g.Status.ServerID)
	if err != nil {
		return "", err
	}
	sought := r.sought(ctx, g, a.ID)
	found, err := r.Finder.Locate(ctx, a.Bot.Client, a.Snapshot, sought)
	if issue, _ := errors.AsType[*conditions.Issue](err); issue.IsDegraded() { // what it names is another object's, of another kind, or not there
		r.Status.Normal(g, "Retained", "Nothing is deleted on Discord: %s", issue.Message)
		return "gone", nil
	}
	if err != nil {
		return "", err
	}
	if found.Channel == nil {
		return "gone", nil
	}
	if found.Guessed {
		r.Status.Normal(g, "Retained", "Retained %s on Discord: it may be the result of an interrupted create, or belong to another user.", found.Channel.ID)
		return "retained", nil
	}
	if err := a.Bot.DeleteChannel(ctx, found.Channel.ID, sought.Reason); err != nil && discordclient.ClassOf(err) != discordclient.ClassGone {
		return "", issues.OfDeletion(err)
	}
	return "deleted", nil
}

// childless returns which channels still refer to the group.
func (r *Reconciler) childless(ctx context.Context, g *v1alpha1.DiscordGroup) error {
	var channels v1alpha1.DiscordChannelList
	if err := r.Client.List(ctx, &channels, client.InNamespace(g.Namespace), client.MatchingFields{index.ChannelByGroup: g.Name},
		client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list the channels of the group: %w", err)
	}
	if len(channels.Items) == 0 {
		return nil
	}
	names := make([]string, 0, len(channels.Items))
	for i := range channels.Items {
		names = append(names, channels.Items[i].Name)
	}
	return conditions.Progressing(v1alpha1.ReasonWaitingForDependents,
		"DiscordChannels still refer to the group: %s. Delete or move them.", issues.Some(names))
}
