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
	// maxAuditPages bounds how much of the audit log is read at once. The next reading continues where
	// this one has come to.
	maxAuditPages = 4
	// auditFresh is how long a reading of the audit log serves those for whom it is not complete.
	auditFresh = time.Second
	// auditLate is how much later than others an entry may become visible: so far before its end the
	// log is read again.
	auditLate = time.Minute
	// auditStep is what the beginning of a reading is rounded to, so that it serves intents that are
	// somewhat older too.
	auditStep = time.Hour
	// auditRefused is for how long Discord has to refuse the audit log before it counts as one that it
	// does not show the bot: it has been seen to refuse what it permits.
	auditRefused = 5 * time.Second
	// auditAgain is when the log is asked again about a channel or role of which it had no entry.
	auditAgain = 10 * time.Minute
)

var (
	// ErrReading says that the audit log of a guild is being read for another caller.
	ErrReading = errors.New("the audit log is being read for another caller")
	// ErrRefused says that Discord refuses the audit log, maybe for a moment: ask again after five
	// seconds.
	ErrRefused = errors.New("the audit log is refused, maybe for a moment")
)

// createsKey is which creates of a guild were read: those of channels, or those of roles.
type createsKey struct {
	guildID string
	action  discordgo.AuditLogAction
}

// createsRead is what was read of a guild's audit log: the bot's own creates of one kind, oldest
// first, and others where the log cannot be filtered.
type createsRead struct {
	mu sync.Mutex // held while it is read

	from, read time.Time // the log is known from one moment to the other
	cursor     string    // where the next reading begins
	entries    []discordclient.AuditEntry

	refused atomic.Pointer[time.Time] // since when Discord refuses the log; nil for a log that it shows
	asked   asked
	unshown atomic.Bool // it counts as an empty one
}

// OwnCreates returns the bot's own creates of channels, or of roles, as the action says, that the
// guild's audit log has since a moment, oldest first, and what the log is newer than. Since after a
// crash many intents ask at once, a reading that is newer than complete is not repeated, and none
// begins anew: it continues where the last one has come to. A log that Discord does not show the bot is
// an empty one. The error is [ErrReading] while another caller's reading is under way, [ErrRefused]
// when it may be shown later.
func (c *Client) OwnCreates(
	ctx context.Context, guildID string, action discordgo.AuditLogAction, from, complete, now time.Time,
) (entries []discordclient.AuditEntry, read time.Time, err error) {
	of := createsKey{guildID, action}
	last := c.createsOf(of)
	if !last.mu.TryLock() {
		return nil, time.Time{}, ErrReading
	}
	defer last.mu.Unlock()
	if last.unshown.Load() && c.mayViewLog(guildID) && now.Sub(last.read) >= auditFresh {
		last.cursor = "" // what was not shown then may be now
	}
	if last.cursor == "" || from.Before(last.from) {
		last.from, last.read = from.Truncate(auditStep), time.Time{}
		last.cursor = discordclient.SnowflakeAt(last.from)
	}
	// Before it is complete a reading can only prove what is there, and is repeated in any case.
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
		last.cursor = discordclient.SnowflakeAt(now.Add(-auditLate))
	} else {
		last.read = discordclient.CreatedAt(end)
		last.cursor = end
	}
	return last.entries, last.read, nil
}

func (c *Client) createsOf(of createsKey) *createsRead {
	entry, _ := c.creates.LoadOrStore(of, &createsRead{})
	return entry.(*createsRead)
}

// readCreates reads page after page; end is the entry up to which, empty for all there are.
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
		if shown, err := c.shown(of, err, now); err != nil || !shown {
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

// add keeps an entry once, unless it is another user's: a log may ignore the filter.
func (r *createsRead) add(e discordclient.AuditEntry, self string) {
	if e.UserID != "" && e.UserID != self {
		return
	}
	i, there := slices.BinarySearchFunc(r.entries, e.ID, func(e discordclient.AuditEntry, id string) int {
		return discordclient.CompareIDs(e.ID, id)
	})
	if !there {
		r.entries = slices.Insert(slices.Clone(r.entries), i, e) // those of before were handed out
	}
}

// self is the bot's own user id.
func (c *Client) self(ctx context.Context, guildID string) (string, error) {
	if id := c.Guild(guildID).Snapshot().SelfID(); id != "" {
		return id, nil
	}
	user, err := c.CurrentUser(ctx)
	return user.ID, err
}

// shown reports whether Discord shows the bot the audit log of a guild, from the error of a call. What a
// proxy refuses, and what Discord refuses although the bot's permissions allow it, may be shown a
// moment later.
func (c *Client) shown(of createsKey, err error, now time.Time) (bool, error) {
	log := c.createsOf(of)
	if discordclient.ClassOf(err) != discordclient.ClassDenied || discordclient.CodeOf(err) == 0 {
		if err == nil {
			log.refused.Store(nil)
			log.unshown.Store(false)
		}
		return true, err
	}
	if !c.mayViewLog(of.guildID) {
		log.unshown.Store(true)
		return false, nil
	}
	log.refused.CompareAndSwap(nil, &now)
	if since := log.refused.Load(); since == nil || now.Sub(*since) < auditRefused {
		return false, ErrRefused
	}
	log.unshown.Store(true)
	return false, nil
}

// mayViewLog reports whether the bot's permissions allow it to view the audit log, as far as they are known.
func (c *Client) mayViewLog(guildID string) bool {
	have, exact := c.Guild(guildID).Snapshot().BotPermissions()
	return !exact || have&discordgo.PermissionViewAuditLogs != 0
}

// ShowsCreates reports whether the last reading of the audit log of a guild was shown to the bot, so that
// what it does not have is more than unknown.
func (c *Client) ShowsCreates(guildID string, action discordgo.AuditLogAction) bool {
	return !c.createsOf(createsKey{guildID, action}).unshown.Load()
}

// CreateOf returns the entry of the audit log that the create of a channel or role has, as the action
// says, and whether there is one. The log is asked for entries about it; where it ignores that, it is
// read from that id on, since the entry is written afterwards. A log that Discord does not show the bot
// has none. The answer is remembered, see [Client.KnownCreate]: until complete the entry may still be on
// its way. The error is [ErrReading] while another caller asks about the same id, [ErrRefused] when the
// log may be shown later.
func (c *Client) CreateOf(
	ctx context.Context, guildID string, action discordgo.AuditLogAction, id string, complete, now time.Time,
) (discordclient.AuditEntry, bool, error) {
	memory := &c.createsOf(createsKey{guildID, action}).asked
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
	if _, err := c.shown(createsKey{guildID, action}, err, now); err != nil {
		return discordclient.AuditEntry{}, false, err
	}
	if i := slices.IndexFunc(page, about); i >= 0 {
		memory.add(id, answer{entry: page[i], found: true})
		return page[i], true, nil
	}
	again := complete
	if !now.Before(complete) {
		again = now.Add(auditAgain)
	}
	memory.add(id, answer{again: again})
	return discordclient.AuditEntry{}, false, nil
}

// KnownCreate returns what [Client.CreateOf] has answered, without a call. An entry never changes, so it
// is known for good. That there is none is known for ten minutes, since entries come late. known is
// false where it is not remembered.
func (c *Client) KnownCreate(
	guildID string, action discordgo.AuditLogAction, id string, now time.Time,
) (entry discordclient.AuditEntry, found, known bool) {
	a, known := c.createsOf(createsKey{guildID, action}).asked.get(id)
	if !known || a.gone || !a.found && !now.Before(a.again) {
		return discordclient.AuditEntry{}, false, false
	}
	return a.entry, a.found, true
}

// RememberGone remembers that a channel or role, which the audit log says was created, is deleted. Ids are
// not used again, so that is known for good.
func (c *Client) RememberGone(guildID string, action discordgo.AuditLogAction, id string) {
	c.createsOf(createsKey{guildID, action}).asked.add(id, answer{gone: true})
}

// KnownGone reports whether a channel or role is remembered as deleted.
func (c *Client) KnownGone(guildID string, action discordgo.AuditLogAction, id string) bool {
	a, known := c.createsOf(createsKey{guildID, action}).asked.get(id)
	return known && a.gone
}
