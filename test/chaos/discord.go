// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"jutsu.com/operators/test/discordtest"
)

// errGone means that the channel or role disappeared between a user's read and edit.
var errGone = errors.New("it has just gone")

// byHand recovers from the panic of discordtest if the channel or role does not exist.
func byHand(do func()) (err error) {
	defer func() {
		if recover() != nil {
			err = errGone
		}
	}()
	do()
	return nil
}

// The caller of recordUserChannel must lock r.mu.
func (r *run) recordUserChannel(id string) {
	c, _ := r.discord.Channel(id)
	category, _ := r.discord.Channel(c.ParentID)
	synced := category.ID != "" && slices.Equal(c.Overwrites, category.Overwrites)
	r.userChannels[id] = userChannel{Channel: c, synced: synced}
}

func (r *run) anyUserChannel(random *rand.Rand) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.userChannels) == 0 {
		return ""
	}
	return pick(random, slices.Sorted(maps.Keys(r.userChannels)))
}

func (r *run) anyChannel(random *rand.Rand, category bool) (discordtest.Channel, error) {
	channels := slices.DeleteFunc(r.discord.Guild(r.guild).Channels, func(c discordtest.Channel) bool {
		return (c.Type == discordtest.TypeCategory) != category
	})
	if len(channels) == 0 {
		return discordtest.Channel{}, errors.New("there is none")
	}
	slices.SortFunc(channels, func(a, b discordtest.Channel) int { return compareIDs(a.ID, b.ID) })
	return pick(random, channels), nil
}

func (r *run) makeChannel(random *rand.Rand) (made discordtest.Channel, err error) {
	c := discordtest.Channel{Name: pick(random, channelNames), Topic: "made by hand"}
	if category, err := r.anyChannel(random, true); err == nil && !oneIn(random, 3) {
		c.ParentID = category.ID
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := byHand(func() { c.ID = r.discord.CreateChannelByHand(r.guild, c) }); err != nil {
		return c, err
	}
	r.recordUserChannel(c.ID)
	return c, nil
}

func (r *run) handCreateChannel(_ context.Context, a action) (string, error) {
	c, err := r.makeChannel(a.random())
	return fmt.Sprintf("#%s (%s)", c.Name, c.ID), err
}

func (r *run) foreignCreates(ctx context.Context, a action) (string, error) {
	random := a.random()
	entries, while := 50+random.IntN(500), time.Duration(5+random.IntN(15))*time.Second
	r.discord.FillAuditLog(r.guild, entries)
	for range 1 + random.IntN(3) {
		c, err := r.makeChannel(random)
		if err != nil {
			return "", err
		}
		r.later(ctx, while, func(context.Context) { _ = r.deleteOnDiscord(c.ID) })
	}
	return fmt.Sprintf("%d in the audit log, and some for %s", entries, while), nil
}

func (r *run) deleteOnDiscord(id string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.userChannels, id)
	return byHand(func() { r.discord.DeleteChannelByHand(id) })
}

// hideChannel hides one channel at a time. Otherwise a second call could record the hidden state,
// and restore it later.
func (r *run) hideChannel(ctx context.Context, a action) (string, error) {
	random := a.random()
	while := time.Duration(1+random.IntN(15)) * time.Second
	c, err := r.anyChannel(random, oneIn(random, 3))
	if err == nil && !r.hiding.CompareAndSwap(false, true) {
		err = errors.New("one is hidden already")
	}
	if err != nil {
		return "", err
	}
	hidden := []discordtest.Overwrite{{ID: r.guild, Deny: discordtest.PermViewChannel}}
	r.overwrite(c.ID, hidden)
	r.later(ctx, while, func(context.Context) {
		r.overwrite(c.ID, c.Overwrites)
		// If the channel was a category and was deleted, its channels still have the overwrites.
		for _, left := range r.discord.Guild(r.guild).Channels {
			if slices.Equal(left.Overwrites, hidden) {
				r.overwrite(left.ID, nil)
			}
		}
		r.hiding.Store(false)
	})
	return fmt.Sprintf("%q (%s) for %s", c.Name, c.ID, while), nil
}

func (r *run) overwrite(id string, overwrites []discordtest.Overwrite) {
	r.mu.Lock()
	defer r.mu.Unlock()
	err := byHand(func() {
		r.discord.EditChannelByHand(id, func(c *discordtest.Channel) { c.Overwrites = overwrites })
	})
	if _, made := r.userChannels[id]; made && err == nil {
		r.recordUserChannel(id)
	}
}

func (r *run) handEditChannel(_ context.Context, a action) (string, error) {
	random := a.random()
	c, err := r.anyChannel(random, false)
	if err != nil {
		return "", err
	}
	what := ""
	edit := pick(random, []func(*discordtest.Channel){
		func(c *discordtest.Channel) { c.Name, what = pick(random, channelNames), "name" },
		func(c *discordtest.Channel) { c.Topic, what = "by hand "+uniqueWord(random)[:4], "topic" },
		func(c *discordtest.Channel) { c.NSFW, what = !c.NSFW, "nsfw" },
		func(c *discordtest.Channel) { c.RateLimitPerUser, what = 7, "slowmode" },
		func(c *discordtest.Channel) { c.Position, what = random.IntN(9), "position" },
		func(c *discordtest.Channel) {
			everyone := discordtest.Overwrite{ID: r.guild, Deny: discordtest.PermSendMessages}
			c.Overwrites, what = []discordtest.Overwrite{everyone}, "overwrites"
		},
		func(c *discordtest.Channel) { c.ParentID, what = "", "out of its category" },
		func(c *discordtest.Channel) {
			if what = "nothing"; len(c.Tags) > 0 {
				c.Tags, what = c.Tags[1:], "tag"
			}
		},
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := byHand(func() { r.discord.EditChannelByHand(c.ID, edit) }); err != nil {
		return "", err
	}
	if _, made := r.userChannels[c.ID]; made {
		r.recordUserChannel(c.ID)
	}
	return fmt.Sprintf("%s of #%s (%s)", what, c.Name, c.ID), nil
}

func (r *run) handDeleteChannel(_ context.Context, a action) (string, error) {
	c, err := r.anyChannel(a.random(), false)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("#%s (%s)", c.Name, c.ID), r.deleteOnDiscord(c.ID)
}

func (r *run) handDeleteCategory(_ context.Context, a action) (string, error) {
	c, err := r.anyChannel(a.random(), true)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%q (%s)", c.Name, c.ID), byHand(func() { r.discord.DeleteChannelByHand(c.ID) })
}

func (r *run) handCreateWebhook(_ context.Context, a action) (string, error) {
	random := a.random()
	c, err := r.anyChannel(random, false)
	if err != nil {
		return "", err
	}
	name := pick(random, hookNames)
	return fmt.Sprintf("%q in #%s (%s)", name, c.Name, c.ID), byHand(func() { r.discord.CreateWebhookByHand(c.ID, name) })
}

func (r *run) handDeleteWebhook(_ context.Context, a action) (string, error) {
	hooks := r.discord.Guild(r.guild).Webhooks
	if len(hooks) == 0 {
		return "", errors.New("there is none")
	}
	hook := pick(a.random(), hooks)
	return fmt.Sprintf("%q of %s", hook.Name, hook.ChannelID), byHand(func() { r.discord.DeleteWebhookByHand(hook.ID) })
}

func (r *run) handEditServer(_ context.Context, a action) (string, error) {
	random, what := a.random(), ""
	edit := pick(random, []func(*discordtest.Guild){
		func(g *discordtest.Guild) { g.Name, what = "Another user's server", "name" },
		func(g *discordtest.Guild) { g.Description, what = "by hand", "description" },
		func(g *discordtest.Guild) { g.VerificationLevel, what = 0, "verification level" },
	})
	r.discord.EditGuildByHand(r.guild, edit)
	return what, nil
}
