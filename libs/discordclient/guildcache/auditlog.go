// SPDX-License-Identifier: Apache-2.0

package guildcache

import (
	"context"
	"time"

	"github.com/bwmarrin/discordgo"

	"jutsu.com/operators/libs/discordclient"
)

const (
	// maxAuditPages bounds how much of the audit log is read at once; what is beyond is as if it
	// were not written yet.
	maxAuditPages = 20
	// auditFresh is how long a reading of the audit log serves those for whom it is not complete.
	auditFresh = time.Second
)

// createsRead is what was read of a guild's audit log.
type createsRead struct {
	from, read time.Time
	entries    []discordclient.AuditEntry
}

// ChannelCreates returns the creates of channels that the guild's audit log has since a moment,
// oldest first, and what the log is newer than. A reading that is newer than complete is not
// repeated, since after a crash many intents ask at once. A log that Discord does not show the bot
// is an empty one.
func (c *Client) ChannelCreates(
	ctx context.Context, guildID string, from, complete, now time.Time,
) (entries []discordclient.AuditEntry, read time.Time, err error) {
	if last, ok := c.creates.Load(guildID); ok && !last.(*createsRead).from.After(from) {
		last := last.(*createsRead)
		// Before it is complete a reading can only prove what is there, and is repeated in any
		// case.
		recent := now.Before(complete) && now.Sub(last.read) < auditFresh
		if recent || !last.read.Before(complete) {
			return last.entries, last.read, nil
		}
	}
	entries, end, err := c.readCreates(ctx, guildID, from)
	if err != nil {
		return nil, time.Time{}, err
	}
	if read = now; end != "" {
		read = discordclient.CreatedAt(end)
	}
	c.creates.Store(guildID, &createsRead{from, read, entries})
	return entries, read, nil
}

// readCreates reads page after page; end is the entry up to which, empty for all there are.
func (c *Client) readCreates(
	ctx context.Context, guildID string, from time.Time,
) (entries []discordclient.AuditEntry, end string, err error) {
	after := discordclient.SnowflakeAt(from)
	for range maxAuditPages {
		page, err := c.ListAuditLog(ctx, guildID, discordclient.AuditQuery{
			Action: discordgo.AuditLogActionChannelCreate, After: after, Limit: 100,
		})
		if discordclient.ClassOf(err) == discordclient.ClassDenied && discordclient.CodeOf(err) != 0 {
			return nil, "", nil // what a proxy refuses may be there to be read a moment later
		}
		if err != nil {
			return nil, "", err
		}
		entries = append(entries, page...)
		last := after
		for _, e := range page {
			if discordclient.CompareIDs(e.ID, last) > 0 {
				last = e.ID
			}
		}
		if len(page) < 100 || last == after {
			return entries, "", nil
		}
		after = last
	}
	return entries, after, nil
}
