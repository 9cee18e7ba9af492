// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/bwmarrin/discordgo"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/discord/issues"
	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/guildcache"
	"jutsu.com/operators/libs/discordclient/permissions"
)

// The audit log says for which object a webhook was created, by the reason. An entry is proof; that
// there is none proves nothing, since Discord writes it late or never.

const (
	// clockSkew is by how much the clocks of Discord and of the API server may differ.
	clockSkew = time.Minute
	// readingRetry is when to read an audit log that is being read for another object.
	readingRetry = time.Second
	// maxAsked is how many webhooks of the audit log Discord is asked for that its list lacks: the
	// newest. A status or a Secret named the older ones before another one was created.
	maxAsked = 3
)

// observeAudit reads who has created the webhooks of the channel that may be the object's, and what
// else was created for it; shown is when everything that may have been created before shows, the zero
// time where nothing may have been. It makes no call where nothing is in question.
func (w *Webhooks) observeAudit(ctx context.Context, c *v1alpha1.DiscordChannel, s *State, shown time.Time) error {
	now, complete := w.Status.Clock.Now(), shown
	for _, hook := range s.suspects(c) {
		if at := discordclient.CreatedAt(hook.ID).Add(w.Records.Wait); at.After(complete) {
			complete = at
		}
	}
	if now.Before(complete) {
		s.Complete, s.Again = false, max(complete.Sub(now), readingRetry)
	}
	if complete.IsZero() || s.hidesAudit() {
		return nil
	}
	from := c.CreationTimestamp.Add(-clockSkew)
	const created = discordgo.AuditLogActionWebhookCreate
	entries, read, err := s.Guild.Bot.OwnCreates(ctx, s.Guild.ID, created, from, complete, now)
	if err != nil {
		return s.unread(c, err)
	}
	if read.Before(complete) {
		s.Complete, s.Again = false, max(complete.Sub(now), readingRetry)
	}
	s.attribute(entries, discordclient.CutReason(w.reason(c)))
	if shown.IsZero() || ownWebhook(c, *s) != nil {
		return nil
	}
	return w.findKnown(ctx, s, s.unlisted())
}

// suspects are the webhooks of this bot that may have been created for the object, besides the one that
// is known.
func (s *State) suspects(c *v1alpha1.DiscordChannel) (all []discordclient.Webhook) {
	known := knownWebhook(c, *s)
	for _, hook := range s.Hooks {
		if s.own(&hook) && younger(c, hook.ID) && (known == nil || hook.ID != known.ID) {
			all = append(all, hook)
		}
	}
	return all
}

// own reports whether this bot has created a webhook.
func (s *State) own(hook *discordclient.Webhook) bool {
	return hook.Type == discordgo.WebhookTypeIncoming && hook.ApplicationID == s.Application
}

// younger reports whether a webhook may have been created for the object, by its age.
func younger(c *v1alpha1.DiscordChannel, id string) bool {
	return discordclient.CreatedAt(id).After(c.CreationTimestamp.Add(-clockSkew))
}

// hidesAudit reports whether the bot is known to lack the permission for the audit log, so that it is
// not asked for.
func (s *State) hidesAudit() bool {
	have, exact := s.Guild.Snapshot.BotPermissions()
	return exact && have.Missing(permissions.ViewAuditLog) != 0
}

// unread returns the error of a reading of the audit log where that matters: not where the webhook is known.
func (s *State) unread(c *v1alpha1.DiscordChannel, err error) error {
	s.Complete, s.Again = false, issues.MaxTransient
	switch {
	case errors.Is(err, guildcache.ErrReading):
		s.Again = readingRetry
		return nil
	case errors.Is(err, guildcache.ErrRefused), knownWebhook(c, *s) != nil:
		return nil
	}
	return err
}

// attribute sorts out what this bot has created, by the reason.
func (s *State) attribute(entries []discordclient.AuditEntry, reason string) {
	s.Ours, s.Others = map[string]bool{}, map[string]bool{}
	for _, e := range entries {
		switch {
		case e.Action != discordgo.AuditLogActionWebhookCreate:
		case e.Reason == reason:
			s.Ours[e.TargetID] = true
		default:
			s.Others[e.TargetID] = true
		}
	}
}

// unlisted are the newest webhooks that were created for the object and that the list lacks. One that
// is older than the channel was in another one.
func (s *State) unlisted() (all []source) {
	for id := range s.Ours {
		listed := slices.ContainsFunc(s.Hooks, func(h discordclient.Webhook) bool { return h.ID == id })
		if !listed && discordclient.CompareIDs(id, s.Channel.ID) > 0 {
			all = append(all, source{id: id})
		}
	}
	slices.SortFunc(all, func(a, b source) int { return discordclient.CompareIDs(b.id, a.id) })
	return all[:min(len(all), maxAsked)]
}

// knownWebhook is the webhook that this process, the status or the Secret names, in this order. One
// that only the Secret names has to be this bot's, since a user may have edited that.
func knownWebhook(c *v1alpha1.DiscordChannel, s State) *discordclient.Webhook {
	stands := holds(s.Secret, statusID(c))
	for _, id := range []string{s.Record.ID, statusID(c), s.secretID(c)} {
		i := slices.IndexFunc(s.Hooks, func(h discordclient.Webhook) bool { return id != "" && h.ID == id })
		if i < 0 {
			continue
		}
		certain := id == s.Record.ID || id == statusID(c)
		if hook := &s.Hooks[i]; !hook.Token.IsZero() && (certain || s.own(hook)) || certain && stands {
			return hook
		}
	}
	return nil
}

// ownWebhook finds the channel's webhook: the one that is known, otherwise the oldest that the audit
// log proves to be its own, otherwise the oldest of this bot's with the right name. That one came with an
// adopted channel, or is older than the object, or nothing says by now that it was created for anything else.
func ownWebhook(c *v1alpha1.DiscordChannel, s State) *discordclient.Webhook {
	if known := knownWebhook(c, s); known != nil {
		return known
	}
	var ours, named *discordclient.Webhook
	oldest := func(a *discordclient.Webhook, b *discordclient.Webhook) *discordclient.Webhook {
		if a != nil && discordclient.CompareIDs(a.ID, b.ID) < 0 {
			return a
		}
		return b
	}
	for i := range s.Hooks {
		switch hook := &s.Hooks[i]; {
		case !s.own(hook) || hook.Token.IsZero():
		case s.Ours[hook.ID]:
			ours = oldest(ours, hook)
		case hook.Name == c.Spec.Webhook.Name &&
			(adopted(c) || !s.Others[hook.ID] && (s.Complete || !younger(c, hook.ID))):
			named = oldest(named, hook)
		}
	}
	return cmp.Or(ours, named)
}

// adopted reports whether the object has the channel that it adopts.
func adopted(c *v1alpha1.DiscordChannel) bool {
	return c.Spec.Adopt != nil && (c.Status.ChannelID == "" || c.Status.ChannelID == c.Spec.Adopt.ID)
}

// duplicates are the other webhooks that the audit log proves to have been created for the object.
func duplicates(s State, use *discordclient.Webhook) (ids []string) {
	for i := range s.Hooks {
		if hook := &s.Hooks[i]; s.own(hook) && s.Ours[hook.ID] && hook.ID != use.ID {
			ids = append(ids, hook.ID)
		}
	}
	return ids
}
