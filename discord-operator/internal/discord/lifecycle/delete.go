// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"cmp"
	"context"

	corev1 "k8s.io/api/core/v1"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/discord/issues"
	"jutsu.com/operators/discord-operator/internal/discord/resource"
	"jutsu.com/operators/discord-operator/internal/kube/status"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/guildcache"
)

// Delete carries out the planned deletion, then removes the finalizer. If the deletion fails, it
// removes the finalizer only if the object has the force-delete annotation and plan.NoRetention is
// nil.
func Delete(
	ctx context.Context, api *guildcache.Client, recorder *status.Recorder, o status.Object, plan Plan,
) Results {
	if status.Paused(o) {
		return Results{Issues: []conditions.Issue{status.PausedDeletion(o)}}
	}
	forced := plan.NoRetention == nil && o.GetAnnotations()[v1alpha1.ForceDeleteAnnotation] == "true"
	how, note, why := abandoned, "", status.DeletionFailure(o)
	if !forced || why == "" { // otherwise a user has decided to leave the resource on Discord
		var worst *conditions.Issue
		how, note, worst = attempt(ctx, api, recorder, o, plan)
		if worst != nil && (!forced || !issues.Abandonable(worst)) {
			return Results{Issues: []conditions.Issue{*worst}}
		}
		if worst != nil {
			how, note, why = abandoned, "", worst.Message
		}
	}
	if how == abandoned {
		recorder.Event(o, corev1.EventTypeWarning, "Abandoned", "Deleted only the object, because the annotation "+
			v1alpha1.ForceDeleteAnnotation+" requests this. The operator did not delete the resource on Discord: "+why)
	}
	if note != "" {
		recorder.Normal(o, "Retained", "%s", note)
	}
	var results Results
	if results.Fail(recorder.RemoveFinalizer(ctx, o), recorder.Clock.Now()) {
		return results
	}
	recorder.Deleted(how)
	return Results{Deleted: true}
}

func attempt(
	ctx context.Context, api *guildcache.Client, recorder *status.Recorder, o status.Object, plan Plan,
) (how, note string, worst *conditions.Issue) {
	list := plan.Issues
	if d := plan.Delete; d != nil {
		err := d.send(ctx, api, Reason(recorder.Kind, o))
		how, note = cmp.Or(d.How, deleted), d.Note
		if discordclient.ClassOf(err) == discordclient.ClassGone {
			how, err = cmp.Or(d.How, gone), nil
			if _, bound := d.By.(resource.Calls); bound {
				err = issues.Transient(transientRetry) // one 404 proves nothing, so Bind must look again
			}
		}
		list = append(list, issues.Of(err, recorder.Clock.Now())...)
	}
	if worst = issues.Worst(list); worst == nil {
		return how, note, nil
	}
	worst = issues.OfDeletion(o, worst, status.DeletionFailing(o, recorder.Clock.Now()))
	if plan.NoRetention != nil && worst.Reason == v1alpha1.ReasonDeletionFailed {
		worst.Message += " This annotation has no effect yet: " + plan.NoRetention.Message
	}
	return how, note, worst
}

func (d *Deletion) send(ctx context.Context, api *guildcache.Client, reason string) error {
	if d.By == nil {
		return nil
	}
	return d.By.Delete(ctx, api, d.GuildID, d.ID, reason)
}
