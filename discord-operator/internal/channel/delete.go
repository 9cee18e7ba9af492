package channel

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/external"
	"jutsu.com/operators/discord-operator/internal/issues"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/libs/discordclient"
)

// finish lets a deleted object go once its counterpart is what the deletion policy says.
func (r *Reconciler) finish(ctx context.Context, c *v1alpha1.DiscordChannel) (reconcile.Result, error) {
	if !controllerutil.ContainsFinalizer(c, v1alpha1.CleanupFinalizer) {
		return reconcile.Result{}, nil
	}
	how, err := r.dispose(ctx, c)
	if issues.Stuck(err) && c.Annotations[v1alpha1.ForceDeleteAnnotation] == "true" {
		r.Status.Event(c, corev1.EventTypeWarning, "Abandoned", "Left on Discord, as the annotation requests: "+err.Error())
		how, err = "abandoned", nil
	}
	if err != nil {
		return r.conclude(ctx, c, nil, state{}, issues.Of(err, r.Clock.Now()))
	}
	if err := r.Status.RemoveFinalizer(ctx, c); err != nil {
		return conditions.Result(conditions.Of(err))
	}
	r.Metrics.Deleted(Kind, how)
	r.Finder.Records.Forget(c.UID)
	r.Hooks.Forget(c.UID)
	return reconcile.Result{}, nil
}

// dispose does to the counterpart what the deletion policy says, and returns what became of it.
func (r *Reconciler) dispose(ctx context.Context, c *v1alpha1.DiscordChannel) (how string, err error) {
	// A webhook that is older than the object was taken over like the channel, and stays with it.
	ownsHook := c.Spec.DeletionPolicy == "" && c.Status.Webhook != nil &&
		discordclient.CreatedAt(c.Status.Webhook.ID).After(c.CreationTimestamp.Add(-time.Minute))
	if retained(c) && !ownsHook {
		r.Status.Normal(c, "Retained", "Retained the channel on Discord.")
		return "retained", nil
	}
	server, parentID, err := r.parents(ctx, c)
	if err != nil {
		return "", err
	}
	a, err := r.Bots.GuildToDelete(ctx, server, c.Status.ServerID)
	if err != nil {
		return "", err
	}
	sought := r.sought(ctx, c, a.ID, parentID)
	if retained(c) {
		if err := a.Bot.DeleteWebhook(ctx, c.Status.Webhook.ID, sought.Reason); err != nil && discordclient.ClassOf(err) != discordclient.ClassGone {
			return "", issues.OfDeletion(err)
		}
		return "retained", nil
	}
	found, err := r.Finder.Locate(ctx, a.Bot.Client, a.Snapshot, sought)
	if issue, _ := errors.AsType[*conditions.Issue](err); issue.IsDegraded() { // what it names is another object's, of another kind, or not there
		r.Status.Normal(c, "Retained", "Nothing is deleted on Discord: %s", issue.Message)
		return "gone", nil
	}
	if err != nil {
		return "", err
	}
	if found.Channel == nil {
		return "gone", nil
	}
	if found.Guessed {
		r.Status.Normal(c, "Retained", "Retained %s on Discord: it may be the result of an interrupted create, or belong to another user.", found.Channel.ID)
		return "retained", nil
	}
	if err := a.Bot.DeleteChannel(ctx, found.Channel.ID, sought.Reason); err != nil && discordclient.ClassOf(err) != discordclient.ClassGone {
		return "", issues.OfDeletion(err)
	}
	return "deleted", nil
}

// retained reports whether the channel stays.
func retained(c *v1alpha1.DiscordChannel) bool {
	return external.Retained(c.Spec.DeletionPolicy, c.Spec.Adopt, c.Status.ChannelID)
}

// parents names the server that the channel is in, and the category in which it is or would have been created. Both objects may be gone already.
func (r *Reconciler) parents(ctx context.Context, c *v1alpha1.DiscordChannel) (server types.NamespacedName, categoryID string, err error) {
	server.Namespace = c.Namespace
	if c.Spec.ServerRef != nil {
		server.Name = c.Spec.ServerRef.Name
	}
	if c.Spec.GroupRef != nil {
		var group v1alpha1.DiscordGroup
		err = r.Client.Get(ctx, types.NamespacedName{Namespace: c.Namespace, Name: c.Spec.GroupRef.Name}, &group)
		server.Name, categoryID = group.Spec.ServerRef.Name, group.Status.GroupID
	}
	if c.Status.ServerRef != nil {
		server.Name, categoryID, err = c.Status.ServerRef.Name, cmp.Or(c.Status.GroupID, categoryID), client.IgnoreNotFound(err)
	}
	if apierrors.IsNotFound(err) {
		return server, "", issues.DeletionFailed(fmt.Sprintf("DiscordGroup %s no longer exists.", c.Spec.GroupRef.Name))
	}
	return server, categoryID, err
}
