// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	"jutsu.com/operators/libs/discordclient/discordtest"
)

// What follows is done by one user after another: the operators may delete a channel between a
// read and the edit, for which discordtest panics.
var errGone = errors.New("it has just gone")

// byHand does something in the Discord app.
func byHand(do func()) (err error) {
	defer func() {
		if recover() != nil { // discordtest says so where there is nothing to do it to
			err = errGone
		}
	}()
	do()
	return nil
}

// noteMade notes how users have left a channel; the lock is held.
func (r *run) noteMade(id string) {
	c, _ := r.discord.Channel(id)
	category, _ := r.discord.Channel(c.ParentID)
	r.made[id] = made{Channel: c, synced: category.ID != "" && slices.Equal(c.Overwrites, category.Overwrites)}
}

// anyMade is the id of some channel that users have made; empty where there is none.
func (r *run) anyMade(random *rand.Rand) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.made) == 0 {
		return ""
	}
	return pick(random, slices.Sorted(maps.Keys(r.made)))
}

// anyChannel is some channel or category of the guild.
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

// handCreateChannel makes a channel by a name that objects ask for too, where they may be.
func (r *run) handCreateChannel(_ context.Context, a action) (string, error) {
	random := a.random()
	c := discordtest.Channel{Name: pick(random, channelNames), Topic: "made by hand"}
	if category, err := r.anyChannel(random, true); err == nil && !chance(random, 3) {
		c.ParentID = category.ID
	}
	id := ""
	r.mu.Lock()
	defer r.mu.Unlock()
	err := byHand(func() { id = r.discord.CreateChannelByHand(r.guild, c) })
	if err != nil {
		return "", err
	}
	r.noteMade(id)
	return fmt.Sprintf("#%s (%s)", c.Name, id), nil
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
		func(c *discordtest.Channel) { c.Topic, what = "by hand "+word(random)[:4], "topic" },
		func(c *discordtest.Channel) { c.NSFW, what = !c.NSFW, "nsfw" },
		func(c *discordtest.Channel) { c.RateLimitPerUser, what = 7, "slowmode" },
		func(c *discordtest.Channel) { c.Position, what = random.IntN(9), "position" },
		func(c *discordtest.Channel) {
			everyone := discordtest.Overwrite{ID: r.guild, Deny: discordtest.PermSendMessages}
			c.Overwrites, what = []discordtest.Overwrite{everyone}, "overwrites"
		},
		func(c *discordtest.Channel) { c.ParentID, what = "", "out of its category" },
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := byHand(func() { r.discord.EditChannelByHand(c.ID, edit) }); err != nil {
		return "", err
	}
	if _, made := r.made[c.ID]; made {
		r.noteMade(c.ID)
	}
	return fmt.Sprintf("%s of #%s (%s)", what, c.Name, c.ID), nil
}

func (r *run) handDeleteChannel(_ context.Context, a action) (string, error) {
	c, err := r.anyChannel(a.random(), false)
	if err != nil {
		return "", err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.made, c.ID)
	return fmt.Sprintf("#%s (%s)", c.Name, c.ID), byHand(func() { r.discord.DeleteChannelByHand(c.ID) })
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
