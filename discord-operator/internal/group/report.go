package group

import (
	"context"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/libs/conditions"
)

// statusOf says how the group is. When it could not be looked at (nil), the last known facts stand.
func statusOf(g *v1alpha1.DiscordGroup, seen *observed, now state, end error) v1alpha1.DiscordGroupStatus {
	s := *g.Status.DeepCopy()
	if now.category != nil {
		s.GroupID, s.ServerID = now.category.ID, seen.Guild.ID
	}
	s.ObservedGeneration = g.Generation
	conditions.Set(&s.Conditions, g.Generation, availability(g, seen, now), conditions.Worst(conditions.Of(end)))
	return s
}

// availability says whether the category can be used now: people need neither the bot nor the operator for that.
func availability(g *v1alpha1.DiscordGroup, seen *observed, now state) conditions.Availability {
	if now.category != nil {
		return conditions.Usable(v1alpha1.ReasonOnDiscord, "The category exists on Discord.")
	}
	if was := meta.FindStatusCondition(g.Status.Conditions, conditions.TypeAvailable); seen == nil && was != nil {
		if was.Status == metav1.ConditionTrue {
			return conditions.Usable(was.Reason, was.Message)
		}
		return conditions.Unusable(was.Reason, was.Message)
	}
	return conditions.Unusable(v1alpha1.ReasonNotOnDiscord, "The category does not exist on Discord.")
}

// report writes the status where it differs.
func (r *Reconciler) report(ctx context.Context, g *v1alpha1.DiscordGroup, now v1alpha1.DiscordGroupStatus) error {
	if equality.Semantic.DeepEqual(g.Status, now) {
		return nil
	}
	after := g.DeepCopy()
	after.Status = now
	return r.Status.Write(ctx, g, after, g.Status.Conditions, now.Conditions)
}

// settled reports whether the object was Ready for this very spec.
func settled(conds []metav1.Condition, generation int64) bool {
	ready := meta.FindStatusCondition(conds, conditions.TypeReady)
	return ready != nil && ready.Status == metav1.ConditionTrue && ready.ObservedGeneration == generation
}
