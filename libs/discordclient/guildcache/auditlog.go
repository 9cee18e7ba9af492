// SPDX-License-Identifier: Apache-2.0

package guildcache

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bwmarrin/discordgo"

	"jutsu.com/operators/libs/discordclient"
)

const (
	// maxAuditPages limits one call of OwnCreates. The next call continues.
	maxAuditPages = 4
	auditFresh    = time.Second
	// auditLate is the longest delay of an entry. Readings overlap by auditLate plus ClockSkew.
	auditLate = time.Minute
	// auditStep rounds the start of a reading down, so that a caller with a slightly earlier start
	// needs no new reading.
	auditStep = time.Hour
	// auditRefused is the time after which a refused log counts as denied although the bot seems to
	// have the permission. Discord may refuse the log briefly.
	auditRefused = 5 * time.Second
	auditRetry   = 10 * time.Minute
)

var (
	// ErrReading means that another caller is reading the audit log of the guild.
	ErrReading = errors.New("the audit log is being read for another caller")
	// ErrRefused means that Discord refuses the audit log, perhaps briefly. Retry after 5 s.
	ErrRefused = errors.New("access to the audit log is refused, maybe only briefly")
)

type createsKey struct {
	guildID string
	action  discordgo.AuditLogAction
}

// createsRead caches the audit log entries of own creates (channels or roles) in a guild.
type createsRead struct {
	mu sync.Mutex // held while reading

	from, read time.Time // the entries between these times are known
	cursor     string    // id in the log after which the next reading starts; empty to start again
	entries    []discordclient.AuditEntry

	refusedSince atomic.Pointer[time.Time] // when Discord began to refuse the log; nil if it does not
	lookups      lookups
	denied       atomic.Bool // whether Discord hides the log from the bot; the log then counts as empty
}

// OwnCreates returns the audit log entries of the channels or roles that the bot created after the
// time from, oldest first, perhaps with older entries. It reads the log unless the cached entries
// reach up to the time complete. While now is before complete, it reads the log at most once a
// second. read is the time up to which the log was read. A log that the bot may not view counts as
// empty. Errors: [ErrReading], [ErrRefused].
func (c *Client) OwnCreates(
	ctx context.Context, guildID string, action discordgo.AuditLogAction, from, complete, now time.Time,
) (entries []discordclient.AuditEntry, read time.Time, err error) {
	of := createsKey{guildID, action}
	last := c.createsOf(of)
	if !last.mu.TryLock() {
		return nil, time.Time{}, ErrReading
	}
	defer last.mu.Unlock()
	if last.denied.Load() && c.mayViewLog(guildID) && now.Sub(last.read) >= auditFresh {
		last.cursor = "" // the log may be visible now
	}
	if last.cursor == "" || from.Before(last.from) {
		last.from, last.read = from.Truncate(auditStep), time.Time{}
		last.cursor = discordclient.SnowflakeAt(last.from)
	}
	recent := now.Before(complete) && now.Sub(last.read) < auditFresh
	if recent || !last.read.Before(complete) {
		return last.entries, last.read, nil
	}
	end, err := c.readCreates(ctx, of, last, now)
	if err != nil {
		return nil, time.Time{}, err
	}
	if end == "" {
		last.read = now
		last.cursor = discordclient.SnowflakeAt(now.Add(-auditLate - discordclient.ClockSkew))
	} else {
		last.read = discordclient.CreatedAt(end).Add(-discordclient.ClockSkew)
		last.cursor = end
	}
	return last.entries, last.read, nil
}

func (c *Client) createsOf(of createsKey) *createsRead {
	entry, _ := c.creates.LoadOrStore(of, &createsRead{})
	return entry.(*createsRead)
}

// readCreates reads own creates. end is the id after which the next reading continues; empty if the
// log was read to its end or is denied.
func (c *Client) readCreates(
	ctx context.Context, of createsKey, to *createsRead, now time.Time,
) (end string, err error) {
	self, err := c.self(ctx, of.guildID)
	if err != nil {
		return "", err
	}
	after := to.cursor
	for range maxAuditPages {
		page, err := c.ListAuditLog(ctx, of.guildID, discordclient.AuditQuery{
			UserID: self, Action: of.action, After: after, Limit: 100,
		})
		if shown, err := c.visible(of, err, now); err != nil || !shown {
			return "", err
		}
		last := after
		for _, e := range page {
			to.add(e, self)
			if discordclient.CompareIDs(e.ID, last) > 0 {
				last = e.ID
			}
		}
		if len(page) < 100 || last == after {
			return "", nil
		}
		after = last
	}
	return after, nil
}

func (r *createsRead) add(e discordclient.AuditEntry, self string) {
	if e.UserID != "" && e.UserID != self {
		return
	}
	i, there := slices.BinarySearchFunc(r.entries, e.ID, func(e discordclient.AuditEntry, id string) int {
		return discordclient.CompareIDs(e.ID, id)
	})
	if !there {
		r.entries = slices.Insert(slices.Clone(r.entries), i, e) // callers hold the old slice
	}
}

func (c *Client) self(ctx context.Context, guildID string) (string, error) {
	if id := c.Guild(guildID).Snapshot().SelfID(); id != "" {
		return id, nil
	}
	user, err := c.CurrentUser(ctx)
	return user.ID, err
}

// visible reports whether the bot may view the audit log. err is the error of a call for the log.
func (c *Client) visible(of createsKey, err error, now time.Time) (bool, error) {
	log := c.createsOf(of)
	if discordclient.ClassOf(err) != discordclient.ClassDenied || discordclient.CodeOf(err) == 0 {
		if err == nil {
			log.refusedSince.Store(nil)
			log.denied.Store(false)
		}
		return true, err
	}
	if !c.mayViewLog(of.guildID) {
		log.denied.Store(true)
		return false, nil
	}
	log.refusedSince.CompareAndSwap(nil, &now)
	if since := log.refusedSince.Load(); since == nil || now.Sub(*since) < auditRefused {
		return false, ErrRefused
	}
	log.denied.Store(true)
	return false, nil
}

func (c *Client) mayViewLog(guildID string) bool {
	have, exact := c.Guild(guildID).Snapshot().BotPermissions()
	return !exact || have&discordgo.PermissionViewAuditLogs != 0
}

// ShowsCreates reports whether Discord showed the bot the audit log at the last reading; true
// before the first reading.
func (c *Client) ShowsCreates(guildID string, action discordgo.AuditLogAction) bool {
	return !c.createsOf(createsKey{guildID, action}).denied.Load()
}

// CreateOf returns the audit log entry of a channel's or role's create. Call it only once the log
// surely has the entry, because it caches "no entry" for ten minutes. If the server ignores the
// filter by id, CreateOf reads the log from this id on. A log that the bot may not view counts as
// empty. Errors: [ErrReading], [ErrRefused].
func (c *Client) CreateOf(
	ctx context.Context, guildID string, action discordgo.AuditLogAction, id string, now time.Time,
) (discordclient.AuditEntry, bool, error) {
	memory := &c.createsOf(createsKey{guildID, action}).lookups
	if !memory.begin(id) {
		return discordclient.AuditEntry{}, false, ErrReading
	}
	defer memory.end(id)
	query := discordclient.AuditQuery{TargetID: id, Action: action, Limit: 100}
	page, err := c.ListAuditLog(ctx, guildID, query)
	about := func(e discordclient.AuditEntry) bool { return e.TargetID == id && e.Action == query.Action }
	if err == nil && len(page) > 0 && !slices.ContainsFunc(page, about) {
		query.After = id
		page, err = c.ListAuditLog(ctx, guildID, query)
	}
	shown, err := c.visible(createsKey{guildID, action}, err, now)
	if err != nil || !shown {
		return discordclient.AuditEntry{}, false, err
	}
	if i := slices.IndexFunc(page, about); i >= 0 {
		memory.add(id, answer{entry: page[i], found: true})
		return page[i], true, nil
	}
	memory.add(id, answer{retryAt: now.Add(auditRetry)})
	return discordclient.AuditEntry{}, false, nil
}

// KnownCreate returns the cached result of [Client.CreateOf]. "No entry" expires after ten minutes.
func (c *Client) KnownCreate(
	guildID string, action discordgo.AuditLogAction, id string, now time.Time,
) (entry discordclient.AuditEntry, found, known bool) {
	a, known := c.createsOf(createsKey{guildID, action}).lookups.get(id)
	if !known || a.gone || !a.found && !now.Before(a.retryAt) {
		return discordclient.AuditEntry{}, false, false
	}
	return a.entry, a.found, true
}

// RememberGone caches that a channel or role is deleted. Discord does not reuse ids.
func (c *Client) RememberGone(guildID string, action discordgo.AuditLogAction, id string) {
	c.createsOf(createsKey{guildID, action}).lookups.add(id, answer{gone: true})
}

// KnownGone reports whether [Client.RememberGone] has cached that the channel or role is deleted.
func (c *Client) KnownGone(guildID string, action discordgo.AuditLogAction, id string) bool {
	a, known := c.createsOf(createsKey{guildID, action}).lookups.get(id)
	return known && a.gone
}
