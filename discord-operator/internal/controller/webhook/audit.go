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

// An entry of the audit log proves for which object a webhook was created. A missing entry proves
// nothing, because Discord writes entries late or never.

const (
	readingRetry = time.Second
	// maxUnlisted limits reads of webhooks that only the audit log shows. The newest suffice: the
	// status or the Secret names each webhook before the operator creates the next.
	maxUnlisted = 3
)

// observeAudit finds out from the audit log which object each webhook was created for. From
// visibleAt on, lists and the audit log show every create that was sent for this object so far;
// visibleAt is zero if the operator need not wait for a create with an unknown result.
func (w *Webhooks) observeAudit(ctx context.Context, c *v1alpha1.DiscordChannel, s *State, visibleAt time.Time) error {
	now, complete, known := w.Status.Clock.Now(), visibleAt, knownWebhook(c, *s)
	for _, hook := range s.possiblyOwn(c, known) {
		if at := w.loggedAt(hook.ID, known != nil); at.After(complete) {
			complete = at
		}
	}
	if now.Before(complete) {
		s.Complete, s.RetryAfter = false, max(complete.Sub(now), readingRetry)
	}
	if complete.IsZero() || s.auditHidden() {
		return nil
	}
	from := c.CreationTimestamp.Add(-discordclient.ClockSkew)
	const created = discordgo.AuditLogActionWebhookCreate
	entries, read, err := s.Guild.Bot.OwnCreates(ctx, s.Guild.ID, created, from, complete, now)
	if err != nil {
		return s.auditError(c, err)
	}
	if read.Before(complete) {
		s.Complete, s.RetryAfter = false, max(complete.Sub(now), readingRetry)
	}
	s.attribute(entries, discordclient.CutReason(w.reason(c)))
	if visibleAt.IsZero() || Own(c, *s) != nil {
		return nil
	}
	return w.findKnown(ctx, s, s.unlisted())
}

// loggedAt returns the time from which the audit log should show the create of a webhook. If the
// object's webhook is known, loggedAt ignores clock skew: at worst, a duplicate webhook remains.
func (w *Webhooks) loggedAt(id string, ownKnown bool) time.Time {
	if ownKnown {
		return discordclient.CreatedAt(id).Add(w.Records.Wait)
	}
	return w.Records.LoggedAt(id)
}

func (s *State) possiblyOwn(c *v1alpha1.DiscordChannel, known *discordclient.Webhook) (all []discordclient.Webhook) {
	for _, hook := range s.Hooks {
		if s.own(&hook) && younger(c, hook.ID) && (known == nil || hook.ID != known.ID) {
			all = append(all, hook)
		}
	}
	return all
}

func (s *State) own(hook *discordclient.Webhook) bool {
	return hook.Type == discordgo.WebhookTypeIncoming && hook.ApplicationID == s.Application
}

func younger(c *v1alpha1.DiscordChannel, id string) bool {
	return discordclient.CreatedAt(id).After(c.CreationTimestamp.Add(-discordclient.ClockSkew))
}

func (s *State) auditHidden() bool {
	have, exact := s.Guild.Snapshot.BotPermissions()
	return exact && have.Missing(permissions.ViewAuditLog) != 0
}

// auditError returns nil if another caller is reading the audit log, if Discord refuses the read, or
// if the object's webhook is already known.
func (s *State) auditError(c *v1alpha1.DiscordChannel, err error) error {
	s.Complete, s.RetryAfter = false, issues.MaxTransient
	switch {
	case errors.Is(err, guildcache.ErrReading):
		s.RetryAfter = readingRetry
		return nil
	case errors.Is(err, guildcache.ErrRefused), knownWebhook(c, *s) != nil:
		return nil
	}
	return err
}

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

// unlisted returns the newest webhooks that the audit log attributes to the object, but that
// Discord's list lacks. It omits webhooks older than the channel: they belonged to a former channel.
func (s *State) unlisted() (all []candidate) {
	for id := range s.Ours {
		listed := slices.ContainsFunc(s.Hooks, func(h discordclient.Webhook) bool { return h.ID == id })
		if !listed && discordclient.CompareIDs(id, s.Channel.ID) > 0 {
			all = append(all, candidate{id: id})
		}
	}
	slices.SortFunc(all, func(a, b candidate) int { return discordclient.CompareIDs(b.id, a.id) })
	return all[:min(len(all), maxUnlisted)]
}

// knownWebhook returns the webhook that the record, the status or the Secret names. A user may have
// edited the Secret, so a webhook that only the Secret names must be the bot's. If Discord's
// response lacks the webhook's URL, the Secret must have the URL already.
func knownWebhook(c *v1alpha1.DiscordChannel, s State) *discordclient.Webhook {
	for _, id := range []string{s.Record.ID, statusID(c), s.secretID(c)} {
		i := slices.IndexFunc(s.Hooks, func(h discordclient.Webhook) bool { return id != "" && h.ID == id })
		if i < 0 {
			continue
		}
		certain := id == s.Record.ID || id == statusID(c)
		hook := &s.Hooks[i]
		if !hook.Token.IsZero() && (certain || s.own(hook)) || certain && secretInSync(s.Secret, id) {
			return hook
		}
	}
	return nil
}

// Own returns the known webhook, or the oldest webhook that the audit log attributes to the object.
// Otherwise it returns the bot's oldest webhook with the right name. It skips webhooks that belong,
// or may belong, to another object according to the audit log, except in an adopted channel.
func Own(c *v1alpha1.DiscordChannel, s State) *discordclient.Webhook {
	if known := knownWebhook(c, s); known != nil {
		return known
	}
	var ours, byName *discordclient.Webhook
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
			byName = oldest(byName, hook)
		}
	}
	return cmp.Or(ours, byName)
}

func adopted(c *v1alpha1.DiscordChannel) bool {
	return c.Spec.Adopt != nil && (c.Status.ChannelID == "" || c.Status.ChannelID == c.Spec.Adopt.ID)
}

func duplicates(s State, use *discordclient.Webhook) (ids []string) {
	for i := range s.Hooks {
		if hook := &s.Hooks[i]; s.own(hook) && s.Ours[hook.ID] && hook.ID != use.ID {
			ids = append(ids, hook.ID)
		}
	}
	return ids
}
