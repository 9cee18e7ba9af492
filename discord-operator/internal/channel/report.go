package channel

import (
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/libs/conditions"
)

const (
	// arrangeRetry is when siblings are looked at again that another pass puts into order.
	arrangeRetry = 200 * time.Millisecond
	// groupRetry is when a category that is missed is looked for again.
	groupRetry = 5 * time.Second
	// lostHookRetry is when the result of a lost create of a webhook is looked for.
	lostHookRetry = time.Second
)

// statusOf says how the channel is. When it could not be looked at (nil), the last known facts stand.
func statusOf(c *v1alpha1.DiscordChannel, seen *observed, now state, end error) v1alpha1.DiscordChannelStatus {
	s := *c.Status.DeepCopy()
	if seen != nil && seen.Guild != nil {
		s.ServerRef = &v1alpha1.ServerReference{Name: seen.serverName}
	}
	if now.channel != nil {
		s.ChannelID, s.ServerID, s.GroupID = now.channel.ID, seen.Guild.ID, now.channel.ParentID
		s.ChannelURL = "https://discord.com/channels/" + seen.Guild.ID + "/" + now.channel.ID
		s.Webhook = webhookStatus(c, now, end)
	}
	s.ObservedGeneration = c.Generation
	conditions.Set(&s.Conditions, c.Generation, availability(c, seen, now), conditions.Worst(conditions.Of(end)))
	return s
}

func webhookStatus(c *v1alpha1.DiscordChannel, now state, end error) *v1alpha1.WebhookStatus {
	switch {
	case now.hook != nil && now.secret != "":
		return &v1alpha1.WebhookStatus{ID: now.hook.ID, SecretRef: &v1alpha1.LocalSecretReference{Name: now.secret}}
	case now.hook != nil:
		return &v1alpha1.WebhookStatus{ID: now.hook.ID}
	case c.Spec.Webhook == nil && end == nil:
		return nil
	}
	return c.Status.Webhook
}

// availability says whether the channel can be used now: people need neither the bot nor the operator for that.
func availability(c *v1alpha1.DiscordChannel, seen *observed, now state) conditions.Availability {
	if now.channel != nil {
		return conditions.Usable(v1alpha1.ReasonOnDiscord, "The channel exists on Discord.")
	}
	if was := meta.FindStatusCondition(c.Status.Conditions, conditions.TypeAvailable); seen == nil && was != nil {
		if was.Status == metav1.ConditionTrue {
			return conditions.Usable(was.Reason, was.Message)
		}
		return conditions.Unusable(was.Reason, was.Message)
	}
	return conditions.Unusable(v1alpha1.ReasonNotOnDiscord, "The channel does not exist on Discord.")
}

// report writes the status where it differs.
func (r *Reconciler) report(ctx context.Context, c *v1alpha1.DiscordChannel, now v1alpha1.DiscordChannelStatus) error {
	if equality.Semantic.DeepEqual(c.Status, now) {
		return nil
	}
	after := c.DeepCopy()
	after.Status = now
	return r.Status.Write(ctx, c, after, c.Status.Conditions, now.Conditions)
}

// settled reports whether the object was Ready for this very spec.
func settled(conds []metav1.Condition, generation int64) bool {
	ready := meta.FindStatusCondition(conds, conditions.TypeReady)
	return ready != nil && ready.Status == metav1.ConditionTrue && ready.ObservedGeneration == generation
}

func without(list []string, drop ...string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return slices.Contains(drop, s) })
}
