// SPDX-License-Identifier: Apache-2.0

package guildcache

import (
	"context"
	"slices"
	"sync"
	"time"

	"jutsu.com/operators/libs/discordclient"
)

// membersRead are members of guilds as they were read, or changed by this Client, last. Discord reports
// changes of members to privileged bots only. The zero value has none.
type membersRead struct {
	mu   sync.Mutex
	last map[memberKey]memberRead
}

type memberKey struct{ guildID, userID string }

// memberRead is what was read of a member; err says that the user is not in the guild.
type memberRead struct {
	at     time.Time
	member discordclient.Member
	err    error
}

func (m *membersRead) get(key memberKey) memberRead {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.last[key]
}

func (m *membersRead) put(key memberKey, now memberRead) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.last == nil {
		m.last = map[memberKey]memberRead{}
	}
	m.last[key] = now
}

// change brings an own change of a member's roles into what was read of it, if anything was.
func (m *membersRead) change(key memberKey, change func(roles []string) []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if was, ok := m.last[key]; ok && was.err == nil {
		was.member.Roles = change(slices.Clone(was.member.Roles)) // those of before were handed out
		m.last[key] = was
	}
}

// forget drops the members of a guild.
func (m *membersRead) forget(guildID string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for key := range m.last {
		if key.guildID == guildID {
			delete(m.last, key)
		}
	}
}

// MemberSince returns a member of a guild as it was at a moment or later, from memory where it was read
// since. That a user is not in the guild is an error of ClassGone, and remembered too.
func (c *Client) MemberSince(
	ctx context.Context, guildID, userID string, since time.Time,
) (discordclient.Member, error) {
	key := memberKey{guildID, userID}
	if known := c.members.get(key); !known.at.IsZero() && !known.at.Before(since) {
		return known.member, known.err
	}
	at := time.Now()
	member, err := c.GetMember(ctx, guildID, userID)
	if err == nil || discordclient.ClassOf(err) == discordclient.ClassGone {
		c.members.put(key, memberRead{at, member, err})
	}
	return member, err
}

// AddMemberRole makes the call of [discordclient.Client].
func (c *Client) AddMemberRole(ctx context.Context, guildID, userID, roleID, reason string) error {
	err := c.Client.AddMemberRole(ctx, guildID, userID, roleID, reason)
	if err == nil {
		c.members.change(memberKey{guildID, userID}, func(roles []string) []string { return append(roles, roleID) })
	}
	return err
}

// RemoveMemberRole makes the call of [discordclient.Client].
func (c *Client) RemoveMemberRole(ctx context.Context, guildID, userID, roleID, reason string) error {
	err := c.Client.RemoveMemberRole(ctx, guildID, userID, roleID, reason)
	if err == nil {
		c.members.change(memberKey{guildID, userID}, func(roles []string) []string {
			return slices.DeleteFunc(roles, func(id string) bool { return id == roleID })
		})
	}
	return err
}
