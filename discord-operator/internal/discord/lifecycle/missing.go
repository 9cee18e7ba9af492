// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/discord/issues"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/guildcache"
)

const (
	// settling is how long after Discord has first not known a resource it has to say so again: it has
	// been seen to say so for a moment of channels that existed
	// (https://github.com/discord/discord-api-docs/issues/8445).
	settling = issues.MaxTransient
	// How soon what is hidden from the bot is looked at again, should no event report that it is no
	// longer: what the Gateway reports as hidden, and what only one refused call does.
	hiddenRetry  = time.Hour
	refusedRetry = time.Minute
)

// Missing records when Discord first did not know a resource that an object names, by its id. The zero value is
// empty. It is safe for concurrent use.
type Missing struct {
	mu    sync.Mutex
	since map[string]time.Time
}

// Above maxKept missing resources, those that nobody has asked for in keptFor are forgotten.
const maxKept, keptFor = 64, time.Hour

// Begin returns since when Discord does not know a resource: now, if it is the first time.
func (m *Missing) Begin(id string, now time.Time) time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.since == nil {
		m.since = map[string]time.Time{}
	}
	if len(m.since) > maxKept {
		maps.DeleteFunc(m.since, func(_ string, at time.Time) bool { return now.Sub(at) > keptFor })
	}
	if _, ok := m.since[id]; !ok {
		m.since[id] = now
	}
	return m.since[id]
}

// ConfirmAt returns when Discord has to say again that it does not know a resource, the zero time for
// one that it has always known.
func (m *Missing) ConfirmAt(id string) time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	if since, ok := m.since[id]; ok {
		return since.Add(settling)
	}
	return time.Time{}
}

// End forgets that Discord did not know a resource.
func (m *Missing) End(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.since, id)
}

// missing is Missing of channels, categories and roles, and records when Discord has refused to show one.
type missing struct {
	Missing
	refused map[string]refusal
}

// refusal is when Discord has refused to show a resource, and how long it is not asked again: an event
// or the next list has what the bot may view.
type refusal struct {
	at   time.Time
	wait time.Duration
}

// refuse takes note of a refusal; the first one may be a mistake of a moment.
func (m *missing) refuse(id string, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	next := refusal{now, refusedRetry}
	if last := m.refused[id]; now.Sub(last.at) < 2*last.wait {
		next.wait = min(2*last.wait, hiddenRetry)
	}
	if m.refused == nil {
		m.refused = map[string]refusal{}
	}
	m.refused[id] = next
}

// untilRetry returns the time until a refused resource is asked for again.
func (m *missing) untilRetry(id string, now time.Time) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	last := m.refused[id]
	return last.wait - now.Sub(last.at)
}

// confirmGone asks Discord itself about a resource that the view does not have, since one that is
// hidden from the bot, or not known to Discord for a moment, would be created a second time. It is
// gone when the Gateway has reported its deletion, or Discord does not know it twice, and a list
// that is newer than the first time lacks it too.
func (r *Resources) confirmGone(ctx context.Context, api *guildcache.Client, b *Binding, id string) error {
	view, now := api.Guild(b.GuildID), r.Status.Clock.Now()
	switch snap := view.Snapshot(); {
	case snap.Hidden(id):
		return r.hidden(b, snap, id)
	case view.Deleted(id):
		r.missing.End(id)
		return nil
	case r.missing.untilRetry(id, now) > 0:
		return r.hidden(b, snap, id)
	}
	err := r.Kind.Calls.Get(ctx, api, b.GuildID, id)
	if r.Kind.Calls.Hidden(err) {
		r.missing.refuse(id, now)
		return r.hidden(b, view.Snapshot(), id)
	}
	switch discordclient.ClassOf(err) {
	case discordclient.ClassGone:
		return r.lost(ctx, api, b.GuildID, id)
	case discordclient.ClassNone:
		r.missing.End(id)
		// The view lags behind, or it is in another guild: either shows once the guild was read.
		return errors.Join(api.Refresh(ctx, b.GuildID), conditions.Progressing(v1alpha1.ReasonWaitingForDiscord,
			"The %s %s exists, but Discord does not list it in this server.", r.Kind.Noun, id).After(issues.MaxTransient))
	default:
		return err
	}
}

// lost decides whether a resource that Discord does not know is gone.
func (r *Resources) lost(ctx context.Context, api *guildcache.Client, guildID, id string) error {
	now := r.Status.Clock.Now()
	since := r.missing.Begin(id, now)
	if left := settling - now.Sub(since); left > 0 {
		return issues.Transient(left)
	}
	if r.Kind.Calls.ListedAt(api.Guild(guildID).Snapshot()).Before(since) {
		if err := r.Kind.Calls.List(ctx, api, guildID); err != nil {
			return err
		}
		if r.Kind.Calls.Find(api.Guild(guildID).Snapshot(), id) != nil {
			r.missing.End(id)
			return issues.Transient(transientRetry)
		}
	}
	r.missing.End(id)
	return nil
}

// hidden is the issue that the resource with an id exists and that the bot may not view it.
func (r *Resources) hidden(b *Binding, snap *guildcache.Snapshot, id string) *conditions.Issue {
	r.missing.End(id)
	b.HiddenID = id
	retry := hiddenRetry
	if !snap.Hidden(id) { // a call has said so, and no event
		retry = max(r.missing.untilRetry(id, r.Status.Clock.Now()), refusedRetry)
	}
	return issues.Hidden(r.Kind.Noun, id, retry)
}
