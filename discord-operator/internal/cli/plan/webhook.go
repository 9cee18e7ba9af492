// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/controller/webhook"
	"jutsu.com/operators/discord-operator/internal/discord/lifecycle"
	"jutsu.com/operators/discord-operator/internal/discord/resource"
	"jutsu.com/operators/discord-operator/internal/kube/status"
	"jutsu.com/operators/libs/conditions"
)

func webhooks(o *objects) bool {
	for _, c := range of[*v1alpha1.DiscordChannel](o) {
		if hasWebhook(c) {
			return true
		}
	}
	return false
}

func hasWebhook(c *v1alpha1.DiscordChannel) bool {
	return c.Spec.Webhook != nil || c.Status.Webhook != nil
}

// webhook returns the state of a channel's webhook, without the Secret: a plan reads no cluster.
func (w *world) webhook(s *step, c *v1alpha1.DiscordChannel) webhook.State {
	state := webhook.State{
		Guild: s.guild, Channel: resource.Channel(s.binding.Live), Application: w.application.ID, Complete: true,
		Record: lifecycle.Record{Known: true},
	}
	for _, hook := range w.hooks {
		if state.Channel != nil && hook.ChannelID == state.Channel.ID {
			state.Hooks = append(state.Hooks, hook)
		}
	}
	if hasWebhook(c) || w.hadWebhook(c) {
		state.Err = w.hooksErr
	}
	return state
}

func (w *world) hadWebhook(c *v1alpha1.DiscordChannel) bool {
	if w.before == nil {
		return false
	}
	was, ok := w.before.all[keyOf(c)].(*v1alpha1.DiscordChannel)
	return ok && hasWebhook(was)
}

// assignWebhook finds the webhook of a channel in --before, so that the plan can show its deletion.
func (w *world) assignWebhook(s *step) {
	was, ok := s.object.(*v1alpha1.DiscordChannel)
	if !ok || s.binding.Live == nil || was.Spec.Webhook == nil || was.Status.Webhook != nil || status.Observed(was) {
		return
	}
	if w.hooksErr != nil && s.removed && s.kind.Identity(was).Retained() { // else the channel's own plan has the error
		s.issues = append(s.issues, conditions.Of(w.hooksErr)...)
	}
	hook := webhook.Own(was, w.webhook(s, was))
	if hook == nil {
		return
	}
	was.Status.Webhook = &v1alpha1.WebhookStatus{ID: hook.ID}
	if is, ok := w.after.all[keyOf(was)].(*v1alpha1.DiscordChannel); ok && is.Status.Webhook == nil &&
		is.Status.ChannelID == was.Status.ChannelID {
		is.Status.Webhook = was.Status.Webhook
	}
}

// ifYounger marks the deletion of a webhook as uncertain if the age of the object is unknown: the
// operator keeps the webhook of an adopted channel if the webhook is older than the object.
func ifYounger(c *v1alpha1.DiscordChannel, all []resource.Difference) []resource.Difference {
	if c.Spec.Adopt == nil || !c.CreationTimestamp.IsZero() {
		return all
	}
	for i, d := range all {
		if d.Action == resource.ActionDelete {
			all[i].To = d.To + " (only if it is younger than the object)"
		}
	}
	return all
}
