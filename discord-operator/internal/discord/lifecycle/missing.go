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
	// Discord sometimes reports existing channels as unknown, so a second report must follow after
	// goneDelay: https://github.com/discord/discord-api-docs/issues/8445
	goneDelay = issues.MaxTransient
	// hiddenRetry is the delay before the next check of a resource that the Gateway hides. After
	// refused reads, the delay starts at refusedRetry and doubles up to hiddenRetry.
	hiddenRetry  = time.Hour
	refusedRetry = time.Minute
)

// Missing records when Discord first reported resources as unknown. It is safe for concurrent use.
type Missing struct {
	mu    sync.Mutex
	since map[string]time.Time
}

const maxKept, keptFor = 64, time.Hour

// Begin records a report of an unknown resource, and returns the time of the first report.
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

// ConfirmAt returns the time from which a second report can confirm the first one; zero if there
// was no first report.
func (m *Missing) ConfirmAt(id string) time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	if since, ok := m.since[id]; ok {
		return since.Add(goneDelay)
	}
	return time.Time{}
}

// End removes the record of a missing resource.
func (m *Missing) End(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.since, id)
}

type missing struct {
	Missing
	refused map[string]refusal
}

type refusal struct {
	at   time.Time
	wait time.Duration
}

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
	if len(m.refused) > maxKept {
		maps.DeleteFunc(m.refused, func(_ string, r refusal) bool { return now.Sub(r.at) > 2*hiddenRetry })
	}
	m.refused[id] = next
}

func (m *missing) untilRetry(id string, now time.Time) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	last := m.refused[id]
	return last.wait - now.Sub(last.at)
}

// confirmGone returns nil only if the Gateway reported a deletion, or if two reads and a list after
// the first read lack the resource. A hidden or temporarily unknown resource must not be created
// again.
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
		return r.confirmUnknown(ctx, api, b.GuildID, id)
	case discordclient.ClassNone:
		r.missing.End(id)
		// The cache is outdated, or the resource is in another guild.
		return errors.Join(api.Refresh(ctx, b.GuildID), conditions.Progressing(v1alpha1.ReasonWaitingForDiscord,
			"The %s %s exists, but Discord does not list it in this server. The operator reads the server again.",
			r.Kind.Noun, id).After(issues.MaxTransient))
	default:
		return err
	}
}

func (r *Resources) confirmUnknown(ctx context.Context, api *guildcache.Client, guildID, id string) error {
	now := r.Status.Clock.Now()
	since := r.missing.Begin(id, now)
	if wait := goneDelay - now.Sub(since); wait > 0 {
		return issues.Transient(wait)
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

func (r *Resources) hidden(b *Binding, snap *guildcache.Snapshot, id string) *conditions.Issue {
	r.missing.End(id)
	b.HiddenID = id
	retry := hiddenRetry
	if !snap.Hidden(id) { // Discord refused a call, but no event has hidden the resource
		retry = max(r.missing.untilRetry(id, r.Status.Clock.Now()), refusedRetry)
	}
	return issues.Hidden(r.Kind.Noun, id, retry)
}
