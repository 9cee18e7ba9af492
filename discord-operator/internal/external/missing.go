// SPDX-License-Identifier: Apache-2.0

package external

import (
	"context"
	"errors"
	"sync"
	"time"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/issues"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/guildcache"
)

const (
	// settling is how long after Discord has first not known a resource it has to say so again: it has
	// been seen to say so for a moment of channels that existed
	// (https://github.com/discord/discord-api-docs/issues/8445).
	settling = issues.MaxBrief
	// How soon what is hidden from the bot is looked at again, should no event report that it is no
	// longer: what the Gateway reports as hidden, and what only one refused call does.
	hiddenRetry  = time.Hour
	refusedRetry = time.Minute
)

// losses are when Discord first did not know the resources that objects name, by their ids.
type losses struct {
	mu    sync.Mutex
	since map[string]time.Time
}

// begin returns since when Discord does not know a resource: now, if it is the first time.
func (l *losses) begin(id string, now time.Time) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.since == nil {
		l.since = map[string]time.Time{}
	}
	if _, ok := l.since[id]; !ok {
		l.since[id] = now
	}
	return l.since[id]
}

func (l *losses) end(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.since, id)
}

// confirmGone asks Discord itself about a resource that the view does not have, since one that is
// hidden from the bot, or not known to Discord for a moment, would be created a second time. It is
// gone when the Gateway has reported its deletion, or Discord does not know it twice, and a list
// that is newer than the first time lacks it too.
func (r *Resources) confirmGone(ctx context.Context, api *guildcache.Client, b *Binding, id string) error {
	view := api.Guild(b.GuildID)
	if view.Snapshot().Hidden(id) {
		return r.hidden(b, view.Snapshot(), id)
	}
	if view.Deleted(id) {
		r.losses.end(id)
		return nil
	}
	_, err := api.GetChannel(ctx, id)
	if discordclient.IsHidden(err) {
		return r.hidden(b, view.Snapshot(), id)
	}
	switch discordclient.ClassOf(err) {
	case discordclient.ClassGone:
		return r.lost(ctx, api, b.GuildID, id)
	case discordclient.ClassNone:
		r.losses.end(id)
		// The view lags behind, or it is in another guild: either shows once the guild was read.
		return errors.Join(api.Refresh(ctx, b.GuildID), conditions.Progressing(v1alpha1.ReasonWaitingForDiscord,
			"Channel %s exists, but Discord does not list it in this server.", id).After(issues.MaxBrief))
	default:
		return err
	}
}

// lost decides whether a resource that Discord does not know is gone.
func (r *Resources) lost(ctx context.Context, api *guildcache.Client, guildID, id string) error {
	now := r.Status.Clock.Now()
	since := r.losses.begin(id, now)
	if left := settling - now.Sub(since); left > 0 {
		return issues.Brief(left)
	}
	if api.Guild(guildID).Snapshot().CompleteAt.Before(since) {
		if _, err := api.ListChannels(ctx, guildID); err != nil {
			return err
		}
		if _, there := api.Guild(guildID).Snapshot().Channel(id); there {
			r.losses.end(id)
			return issues.Brief(briefRetry)
		}
	}
	r.losses.end(id)
	return nil
}

// hidden is the issue that the resource with an id exists and that the bot may not view it.
func (r *Resources) hidden(b *Binding, snap *guildcache.Snapshot, id string) *conditions.Issue {
	r.losses.end(id)
	b.HiddenID = id
	if snap.Mode == guildcache.ModeLive && !snap.Hidden(id) { // one call has said so, and no event
		return issues.Hidden(r.Kind.Noun, id, refusedRetry)
	}
	return issues.Hidden(r.Kind.Noun, id, hiddenRetry)
}
