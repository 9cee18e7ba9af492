// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/discord/issues"
	"jutsu.com/operators/discord-operator/internal/discord/lifecycle"
	"jutsu.com/operators/discord-operator/internal/kube/status"
	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/libs/discordclient"
)

// observeHooks reads the channel's webhooks. If it leaves s.Complete false, Discord may not show yet
// the webhook of a create that was sent before, so the operator sends no second create.
func (w *Webhooks) observeHooks(ctx context.Context, c *v1alpha1.DiscordChannel, s *State) (err error) {
	if s.Complete = true; s.Channel == nil {
		return nil
	}
	known := s.known(c)
	if s.Hooks, err = s.Guild.Bot.Webhooks(ctx, s.Guild.ID, s.Channel.ID, w.listSince(known)); err != nil {
		return err
	}
	if err = w.findKnown(ctx, s, known); err != nil || c.Spec.Webhook == nil {
		return err
	}
	var visibleAt time.Time
	if knownWebhook(c, *s) == nil && !s.Record.Known && status.Finalized(c) {
		visibleAt = s.Record.LastAttempt.Add(w.Records.Wait)
		if s.Complete = w.Status.Clock.Now().After(visibleAt); s.Complete {
			s.Hooks, err = s.Guild.Bot.Webhooks(ctx, s.Guild.ID, s.Channel.ID, visibleAt)
		}
	}
	if err != nil {
		return err
	}
	return w.observeAudit(ctx, c, s, visibleAt)
}

type candidate struct {
	id         string
	fromSecret bool // whether only the Secret names the webhook; a user may have edited it
}

func (s *State) known(c *v1alpha1.DiscordChannel) (all []candidate) {
	candidates := []candidate{{id: s.Record.ID}, {id: statusID(c)}, {id: s.secretID(c), fromSecret: true}}
	for _, n := range candidates {
		there := slices.ContainsFunc(all, func(k candidate) bool { return k.id == n.id })
		if n.id != "" && !there && discordclient.CompareIDs(n.id, s.Channel.ID) > 0 {
			all = append(all, n)
		}
	}
	return all
}

// secretID returns the webhook's id in the Secret. The id is empty if the Secret is unusable, or if
// this process knows the results of all creates for the object.
func (s *State) secretID(c *v1alpha1.DiscordChannel) string {
	if s.Secret == nil || s.Record.Known || !metav1.IsControlledBy(s.Secret, c) || apply.TooLarge(s.Secret) {
		return ""
	}
	id := s.Secret.Annotations[webhookAnnotation]
	if discordclient.CreatedAt(id).IsZero() {
		return ""
	}
	return id
}

// listSince returns the time before which a cached list is too old. The time is zero unless a list
// lacked a known webhook that Discord returned by id.
func (w *Webhooks) listSince(known []candidate) (since time.Time) {
	for _, k := range known {
		if at := w.inconsistent.ConfirmAt(k.id); at.After(since) && !at.After(w.Status.Clock.Now()) {
			since = at
		}
	}
	return since
}

func (w *Webhooks) findKnown(ctx context.Context, s *State, known []candidate) (undecided error) {
	for _, k := range known {
		there, err := w.find(ctx, s, k)
		issue, _ := errors.AsType[*conditions.Issue](err)
		switch {
		case issues.IsTransient(issue):
			undecided = cmp.Or(undecided, err)
		case err != nil:
			return err
		case there:
			return undecided
		}
	}
	return undecided
}

// Discord may briefly give wrong answers about webhooks, in lists and in reads by id. So find
// trusts a surprising answer only after Discord has repeated it.
func (w *Webhooks) find(ctx context.Context, s *State, k candidate) (there bool, err error) {
	if slices.ContainsFunc(s.Hooks, func(h discordclient.Webhook) bool { return h.ID == k.id }) {
		w.missing.End(k.id)
		w.inconsistent.End(k.id)
		return true, nil
	}
	now := w.Status.Clock.Now()
	for _, at := range []time.Time{w.missing.ConfirmAt(k.id), w.inconsistent.ConfirmAt(k.id)} {
		if wait := at.Sub(now); wait > 0 {
			return false, issues.Transient(wait)
		}
	}
	hook, err := s.Guild.Bot.GetWebhook(ctx, k.id)
	class := discordclient.ClassOf(err)
	switch {
	// Discord lets a bot read its own webhooks. If Discord denies the read, the webhook is not
	// the bot's.
	case class == discordclient.ClassGone, class == discordclient.ClassDenied && k.fromSecret:
		w.inconsistent.End(k.id)
		return false, confirm(&w.missing, k.id, now)
	case err != nil:
		return false, err
	case hook.ChannelID != s.Channel.ID, k.fromSecret && hook.ApplicationID != s.Application:
		return false, nil // the webhook belongs to another channel or bot
	}
	w.missing.End(k.id)
	if err := confirm(&w.inconsistent, k.id, now); err != nil {
		return false, err
	}
	w.inconsistent.End(k.id)
	s.Guild.Bot.KeepWebhook(hook)
	s.Hooks = append(slices.Clone(s.Hooks), hook)
	return true, nil
}

// confirm returns a transient issue until Discord has repeated an answer some seconds later.
func confirm(answers *lifecycle.Missing, id string, now time.Time) error {
	answers.Begin(id, now)
	if wait := answers.ConfirmAt(id).Sub(now); wait > 0 {
		return issues.Transient(wait)
	}
	return nil
}
