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

// What Discord answers about webhooks may be wrong for a moment: a list may lack one that exists, or
// have one that is gone, and 404 is answered for one that exists.

// observeHooks reads the channel's webhooks. Where one would be created after another create, only a
// list and an audit log count that must show the result of that one.
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
	var shown time.Time
	if knownWebhook(c, *s) == nil && !s.Record.Known && status.Finalized(c) {
		shown = s.Record.LastAttempt.Add(w.Records.Wait)
		if s.Complete = w.Status.Clock.Now().After(shown); s.Complete {
			s.Hooks, err = s.Guild.Bot.Webhooks(ctx, s.Guild.ID, s.Channel.ID, shown)
		}
	}
	if err != nil {
		return err
	}
	return w.observeAudit(ctx, c, s, shown)
}

// source is what names a webhook of a channel.
type source struct {
	id string
	// claimed says that only the Secret does, which a user may have edited.
	claimed bool
}

// known returns the webhooks that this process, the status and the Secret name, the most certain first.
// One that is older than the channel was in another one, which is gone.
func (s *State) known(c *v1alpha1.DiscordChannel) (all []source) {
	named := []source{{id: s.Record.ID}, {id: statusID(c)}, {id: s.secretID(c), claimed: true}}
	for _, n := range named {
		there := slices.ContainsFunc(all, func(k source) bool { return k.id == n.id })
		if n.id != "" && !there && discordclient.CompareIDs(n.id, s.Channel.ID) > 0 {
			all = append(all, n)
		}
	}
	return all
}

// secretID is the webhook that the channel's own Secret names; empty for none, and where this process
// knows all that it has created.
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

// listSince is the moment that a list has to be newer than: a webhook that the last one lacks and that
// Discord shows by its id may have been late in either.
func (w *Webhooks) listSince(known []source) (since time.Time) {
	for _, k := range known {
		if at := w.doubts.ConfirmAt(k.id); at.After(since) && !at.After(w.Status.Clock.Now()) {
			since = at
		}
	}
	return since
}

// findKnown asks Discord for the webhooks that are known and not listed, up to the first that is there.
func (w *Webhooks) findKnown(ctx context.Context, s *State, known []source) (undecided error) {
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

// find reports whether a webhook is in the channel. It is gone when Discord does not know it twice, five
// seconds apart.
func (w *Webhooks) find(ctx context.Context, s *State, k source) (there bool, err error) {
	if slices.ContainsFunc(s.Hooks, func(h discordclient.Webhook) bool { return h.ID == k.id }) {
		w.missing.End(k.id)
		w.doubts.End(k.id)
		return true, nil
	}
	now := w.Status.Clock.Now()
	for _, at := range []time.Time{w.missing.ConfirmAt(k.id), w.doubts.ConfirmAt(k.id)} {
		if left := at.Sub(now); left > 0 {
			return false, issues.Transient(left)
		}
	}
	hook, err := s.Guild.Bot.GetWebhook(ctx, k.id)
	class := discordclient.ClassOf(err)
	switch {
	case class == discordclient.ClassGone, class == discordclient.ClassDenied && k.claimed: // its own a bot may read
		w.doubts.End(k.id)
		return false, confirm(&w.missing, k.id, now)
	case err != nil:
		return false, err
	case hook.ChannelID != s.Channel.ID, k.claimed && hook.ApplicationID != s.Application:
		return false, nil // it is none of this channel's
	}
	w.missing.End(k.id)
	if err := confirm(&w.doubts, k.id, now); err != nil {
		return false, err
	}
	w.doubts.End(k.id)
	s.Guild.Bot.KeepWebhook(hook)
	s.Hooks = append(slices.Clone(s.Hooks), hook)
	return true, nil
}

// confirm returns the issue that Discord has to repeat what it says of a webhook; nil where it has. The first
// answer is kept, since a webhook may be asked for again before another one is created.
func confirm(first *lifecycle.Missing, id string, now time.Time) error {
	first.Begin(id, now)
	if left := first.ConfirmAt(id).Sub(now); left > 0 {
		return issues.Transient(left)
	}
	return nil
}
