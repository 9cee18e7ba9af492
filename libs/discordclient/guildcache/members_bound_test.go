// SPDX-License-Identifier: Apache-2.0

package guildcache

import (
	"errors"
	"strconv"
	"testing"
	"time"

	"jutsu.com/operators/libs/discordclient"
)

func TestMembersReadAreBounded(t *testing.T) {
	t.Parallel()
	var m membersRead
	begin := time.Now()
	modest := memberKey{"1", "20000"}
	m.put("modest", modest, memberRead{at: begin, member: discordclient.Member{Roles: []string{"5"}}}, time.Hour)
	roles := make([]string, 100)
	for i := range 10_000 {
		read := memberRead{at: begin.Add(time.Second), err: errors.New("unknown")}
		if i%2 == 0 {
			read = memberRead{at: begin.Add(time.Second), member: discordclient.Member{Roles: roles}}
		}
		m.put("greedy", memberKey{"1", strconv.Itoa(i)}, read, time.Hour)
	}
	greedy := m.by["greedy"]
	if greedy.weight > maxMembers || greedy.weight < maxMembers-memberWeight-len(roles) {
		t.Errorf("the weight is %d, the maximum is %d", greedy.weight, maxMembers)
	}
	if m.get("modest", modest).at.IsZero() {
		t.Error("another asker's members were forgotten")
	}
	if !m.get("greedy", modest).at.IsZero() {
		t.Error("an asker gets a member that another asker has read")
	}
	full := len(greedy.last)
	m.change(memberKey{"1", "0"}, func(had []string) []string { return append(had, "6") })
	if greedy.weight > maxMembers || len(greedy.last) < full-1 {
		t.Errorf("after a change, %d of %d members are kept, with the weight %d", len(greedy.last), full, greedy.weight)
	}
	m.put("modest", modest, memberRead{at: begin.Add(2 * time.Hour)}, time.Hour)
	if m.by["greedy"] != nil || len(m.by) != 1 {
		t.Error("a member is kept longer than its lifetime")
	}
	m.forget("1")
	if len(m.by) != 0 {
		t.Error("a guild that was forgotten has members")
	}
}
