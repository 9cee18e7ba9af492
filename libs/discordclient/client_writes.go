package discordclient

import (
	"context"
	"time"
)

// The calls whose answers the views take over at once. What is not here goes straight to REST.

// GetGuild implements REST.
func (c *client) GetGuild(ctx context.Context, guildID string) (Guild, error) {
	since := time.Now()
	guild, err := c.REST.GetGuild(ctx, guildID)
	if err == nil {
		c.hub.read(guild, since)
	}
	return guild, err
}

// EditGuild implements REST.
func (c *client) EditGuild(ctx context.Context, guildID string, edit GuildEdit, reason string) (Guild, error) {
	return c.hub.guildEdit(guildID, func() (Guild, error) { return c.REST.EditGuild(ctx, guildID, edit, reason) })
}

// DeleteGuild implements REST.
func (c *client) DeleteGuild(ctx context.Context, guildID string) error {
	err := c.REST.DeleteGuild(ctx, guildID)
	if err == nil {
		c.hub.left(guildID)
	}
	return err
}

// LeaveGuild implements REST.
func (c *client) LeaveGuild(ctx context.Context, guildID string) error {
	err := c.REST.LeaveGuild(ctx, guildID)
	if err == nil {
		c.hub.left(guildID)
	}
	return err
}

// ListRoles implements REST.
func (c *client) ListRoles(ctx context.Context, guildID string) ([]Role, error) {
	since := time.Now()
	roles, err := c.REST.ListRoles(ctx, guildID)
	if err == nil {
		c.hub.roles(guildID, roles, since)
	}
	return roles, err
}

// CurrentUser implements REST.
func (c *client) CurrentUser(ctx context.Context) (User, error) {
	u, err := c.REST.CurrentUser(ctx)
	if err == nil {
		c.hub.self(u.ID)
	}
	return u, err
}

// ListMemberships implements REST.
func (c *client) ListMemberships(ctx context.Context) ([]Membership, error) {
	since := time.Now()
	list, err := c.REST.ListMemberships(ctx)
	if err == nil {
		c.hub.memberships(list, since)
	}
	return list, err
}

// ListChannels implements REST.
func (c *client) ListChannels(ctx context.Context, guildID string) ([]*Channel, error) {
	since := time.Now()
	list, err := c.REST.ListChannels(ctx, guildID)
	if err == nil {
		c.hub.listed(guildID, list, since)
	}
	return list, err
}

// CreateChannel implements REST.
func (c *client) CreateChannel(ctx context.Context, guildID string, in ChannelCreate, reason string) (*Channel, error) {
	ch, err := c.REST.CreateChannel(ctx, guildID, in, reason)
	if err == nil {
		c.hub.created(guildID, ch)
	}
	return ch, err
}

// EditChannel implements REST.
func (c *client) EditChannel(ctx context.Context, channelID string, edit ChannelEdit, reason string) (*Channel, error) {
	var ch *Channel
	err := c.hub.write(func() (map[string]*Channel, error) {
		var err error
		ch, err = c.REST.EditChannel(ctx, channelID, edit, reason)
		return map[string]*Channel{channelID: ch}, err
	}, channelID)
	return ch, err
}

// DeleteChannel implements REST.
func (c *client) DeleteChannel(ctx context.Context, channelID, reason string) error {
	return c.hub.write(func() (map[string]*Channel, error) {
		err := c.REST.DeleteChannel(ctx, channelID, reason)
		if err == nil {
			c.hub.deleted(channelID)
		}
		return nil, err
	}, channelID)
}

// MoveChannels implements REST. Discord answers without the new state, which is therefore worked out here.
func (c *client) MoveChannels(ctx context.Context, guildID string, moves []ChannelMove) error {
	ids := make([]string, 0, len(moves))
	for _, m := range moves {
		ids = append(ids, m.ID)
	}
	return c.hub.write(func() (map[string]*Channel, error) {
		if err := c.REST.MoveChannels(ctx, guildID, moves); err != nil {
			return nil, err
		}
		states := map[string]*Channel{}
		for _, m := range moves {
			if ch, ok := c.moved(m); ok {
				states[m.ID] = &ch
			}
		}
		return states, nil
	}, ids...)
}

// moved works out what a move does to a channel.
func (c *client) moved(m ChannelMove) (Channel, bool) {
	ch, ok := c.hub.channel(m.ID)
	if position, change := m.Position.Get(); change {
		ch.Position = position
	}
	if parentID, change := m.ParentID.Get(); change {
		ch.ParentID = parentID
		if parent, found := c.hub.channel(parentID); found && m.LockPermissions {
			ch.Overwrites = parent.Overwrites
		}
	}
	return ch, ok
}

// SetOverwrite implements REST.
func (c *client) SetOverwrite(ctx context.Context, channelID string, o Overwrite, reason string) error {
	return c.overwrite(channelID, o.ID, &o, func() error { return c.REST.SetOverwrite(ctx, channelID, o, reason) })
}

// DeleteOverwrite implements REST.
func (c *client) DeleteOverwrite(ctx context.Context, channelID, overwriteID, reason string) error {
	return c.overwrite(channelID, overwriteID, nil, func() error { return c.REST.DeleteOverwrite(ctx, channelID, overwriteID, reason) })
}

// overwrite works out what replacing (nil: removing) one overwrite does to a channel.
func (c *client) overwrite(channelID, id string, o *Overwrite, do func() error) error {
	return c.hub.write(func() (map[string]*Channel, error) {
		if err := do(); err != nil {
			return nil, err
		}
		ch, ok := c.hub.channel(channelID)
		if !ok {
			return nil, nil
		}
		var list []Overwrite
		for _, have := range ch.Overwrites {
			if have.ID != id {
				list = append(list, have)
			}
		}
		if o != nil {
			list = append(list, *o)
			sortOverwrites(list)
		}
		ch.Overwrites = list
		return map[string]*Channel{channelID: &ch}, nil
	}, channelID)
}

// CreateWebhook implements REST.
func (c *client) CreateWebhook(ctx context.Context, channelID string, in WebhookCreate, reason string) (Webhook, error) {
	var hook Webhook
	err := c.hub.hookWrite(channelID, func() (err error) {
		hook, err = c.REST.CreateWebhook(ctx, channelID, in, reason)
		return err
	})
	if err == nil {
		c.hub.hookWritten(hook.ID, &hook)
	}
	return hook, err
}

// EditWebhook implements REST.
func (c *client) EditWebhook(ctx context.Context, webhookID string, edit WebhookEdit, reason string) (Webhook, error) {
	var hook Webhook
	err := c.hub.hookWrite(c.hub.hookChannel(webhookID), func() (err error) {
		hook, err = c.REST.EditWebhook(ctx, webhookID, edit, reason)
		return err
	})
	if err == nil {
		c.hub.hookWritten(webhookID, &hook)
	}
	return hook, err
}

// DeleteWebhook implements REST.
func (c *client) DeleteWebhook(ctx context.Context, webhookID, reason string) error {
	err := c.hub.hookWrite(c.hub.hookChannel(webhookID), func() error { return c.REST.DeleteWebhook(ctx, webhookID, reason) })
	if err == nil || ClassOf(err) == ClassGone {
		c.hub.hookWritten(webhookID, nil)
	}
	return err
}

// ListChannelWebhooks implements REST.
func (c *client) ListChannelWebhooks(ctx context.Context, channelID string) ([]Webhook, error) {
	since := time.Now()
	hooks, err := c.REST.ListChannelWebhooks(ctx, channelID)
	if ch, ok := c.hub.channel(channelID); ok && err == nil {
		c.hub.hooksListed(ch.GuildID, hooks, []string{channelID}, since)
	}
	return hooks, err
}

// ListGuildWebhooks implements REST.
func (c *client) ListGuildWebhooks(ctx context.Context, guildID string) ([]Webhook, error) {
	since, ids := time.Now(), c.hub.channelIDs(guildID)
	hooks, err := c.REST.ListGuildWebhooks(ctx, guildID)
	if err == nil {
		c.hub.hooksListed(guildID, hooks, ids, since)
	}
	return hooks, err
}
