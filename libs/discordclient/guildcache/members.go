// SPDX-License-Identifier: Apache-2.0

package guildcache

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/bwmarrin/discordgo"

	"jutsu.com/operators/libs/discordclient"
)

const (
	// A cached member weighs memberWeight plus 1 per role, and the members of an asker at most
	// maxMembers. So 2,500 members with ten roles fit, about 2 MB.
	maxMembers, memberWeight = 45_000, 8
	membersSwept             = time.Minute
)

// membersRead caches members per asker, such as a namespace, so that an asker cannot displace the
// members of another asker. It misses changes by other clients, because Discord reports them only
// with a privileged intent.
type membersRead struct {
	mu    sync.Mutex
	by    map[string]*memberSet
	swept time.Time
}

type memberSet struct {
	last   map[memberKey]memberRead
	weight int
}

type memberKey struct{ guildID, userID string }

type memberRead struct {
	at     time.Time
	member discordclient.Member
	err    error
}

func (m memberRead) weight() int { return memberWeight + len(m.member.Roles) }

func (s *memberSet) drop(key memberKey) {
	if was, ok := s.last[key]; ok {
		s.weight -= was.weight()
		delete(s.last, key)
	}
}

func (s *memberSet) set(key memberKey, now memberRead) {
	s.drop(key)
	if s.weight+now.weight() > maxMembers {
		return
	}
	s.last[key] = now
	s.weight += now.weight()
}

func (m *membersRead) get(asker string, key memberKey) memberRead {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s := m.by[asker]; s != nil {
		return s.last[key]
	}
	return memberRead{}
}

func (m *membersRead) put(asker string, key memberKey, now memberRead, life time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if now.at.Sub(m.swept) >= membersSwept {
		m.swept = now.at
		m.dropIf(func(_ memberKey, was memberRead) bool { return now.at.Sub(was.at) > life })
	}
	if m.by == nil {
		m.by = map[string]*memberSet{}
	}
	if m.by[asker] == nil {
		m.by[asker] = &memberSet{last: map[memberKey]memberRead{}}
	}
	m.by[asker].set(key, now)
}

func (m *membersRead) change(key memberKey, change func(roles []string) []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.by {
		if was, ok := s.last[key]; ok && was.err == nil {
			now := was
			now.member.Roles = change(slices.Clone(was.member.Roles)) // callers hold the old slice
			s.set(key, now)
		}
	}
}

func (m *membersRead) forget(guildID string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.dropIf(func(key memberKey, _ memberRead) bool { return key.guildID == guildID })
}

func (m *membersRead) forgetMember(member memberKey) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.dropIf(func(key memberKey, _ memberRead) bool { return key == member })
}

func (m *membersRead) dropIf(drop func(memberKey, memberRead) bool) {
	for asker, s := range m.by {
		for key, was := range s.last {
			if drop(key, was) {
				s.drop(key)
			}
		}
		if len(s.last) == 0 {
			delete(m.by, asker)
		}
	}
}

// MemberSince returns a member as of the time since or later. It caches the result, also ClassGone
// (the user is not in the guild), for the asker and for about Options.ResyncLive.
func (c *Client) MemberSince(
	ctx context.Context, asker, guildID, userID string, since time.Time,
) (discordclient.Member, error) {
	key := memberKey{guildID, userID}
	if known := c.members.get(asker, key); !known.at.IsZero() && !known.at.Before(since) {
		return known.member, known.err
	}
	at := time.Now()
	member, err := c.GetMember(ctx, guildID, userID)
	if err == nil || discordclient.ClassOf(err) == discordclient.ClassGone {
		c.members.put(asker, key, memberRead{at, member, err}, c.opts.ResyncLive)
	}
	return member, err
}

// IsUnknownMember reports whether Discord says that the user is not in the guild.
func IsUnknownMember(err error) bool {
	code := discordclient.CodeOf(err)
	return code == discordgo.ErrCodeUnknownMember || code == discordgo.ErrCodeUnknownUser
}

// AddMemberRole gives a member a role, also in the cache of [Client.MemberSince]. If the user has
// left, the cache forgets the member.
func (c *Client) AddMemberRole(ctx context.Context, guildID, userID, roleID, reason string) error {
	err := c.Client.AddMemberRole(ctx, guildID, userID, roleID, reason)
	switch {
	case IsUnknownMember(err):
		c.members.forgetMember(memberKey{guildID, userID})
	case err == nil:
		c.members.change(memberKey{guildID, userID}, func(roles []string) []string {
			if slices.Contains(roles, roleID) {
				return roles
			}
			return append(roles, roleID)
		})
	}
	return err
}

// RemoveMemberRole takes a role from a member, also in the cache of [Client.MemberSince].
func (c *Client) RemoveMemberRole(ctx context.Context, guildID, userID, roleID, reason string) error {
	err := c.Client.RemoveMemberRole(ctx, guildID, userID, roleID, reason)
	if err == nil {
		c.members.change(memberKey{guildID, userID}, func(roles []string) []string {
			return slices.DeleteFunc(roles, func(id string) bool { return id == roleID })
		})
	}
	return err
}
