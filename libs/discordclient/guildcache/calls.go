// SPDX-License-Identifier: Apache-2.0

package guildcache

import (
	"context"
	"slices"
	"time"

	"jutsu.com/operators/libs/discordclient"
)

func read[T any](do func() (T, error), take func(answer T, since time.Time)) (T, error) {
	since := time.Now()
	answer, err := do()
	if err == nil {
		take(answer, since)
	}
	return answer, err
}

// GetGuild calls [discordclient.Client.GetGuild] and updates the guild's view.
func (c *Client) GetGuild(ctx context.Context, guildID string) (discordclient.Guild, error) {
	return read(func() (discordclient.Guild, error) { return c.Client.GetGuild(ctx, guildID) }, c.store.Read)
}

// EditGuild calls [discordclient.Client.EditGuild] and updates the guild's view.
func (c *Client) EditGuild(
	ctx context.Context, guildID string, edit discordclient.GuildEdit, reason string,
) (discordclient.Guild, error) {
	return c.store.EditGuild(guildID, func() (discordclient.Guild, error) {
		return c.Client.EditGuild(ctx, guildID, edit, reason)
	})
}

// DeleteGuild calls [discordclient.Client.DeleteGuild] and updates the guild's view.
func (c *Client) DeleteGuild(ctx context.Context, guildID string) error {
	err := c.Client.DeleteGuild(ctx, guildID)
	if err == nil {
		c.store.GuildDeleted(guildID)
	}
	return err
}

// ListRoles calls [discordclient.Client.ListRoles] and updates the guild's view.
func (c *Client) ListRoles(ctx context.Context, guildID string) ([]discordclient.Role, error) {
	return read(
		func() ([]discordclient.Role, error) { return c.Client.ListRoles(ctx, guildID) },
		func(roles []discordclient.Role, since time.Time) { c.store.Roles(guildID, roles, since) })
}

// CreateRole calls [discordclient.Client.CreateRole] and updates the guild's view.
func (c *Client) CreateRole(
	ctx context.Context, guildID string, in discordclient.RoleCreate, reason string,
) (role discordclient.Role, err error) {
	err = c.store.WriteRoles(guildID, func() (_ map[string]*discordclient.Role, err error) {
		if role, err = c.Client.CreateRole(ctx, guildID, in, reason); err != nil {
			return nil, err
		}
		return map[string]*discordclient.Role{role.ID: &role}, nil
	})
	return role, err
}

// EditRole calls [discordclient.Client.EditRole] and updates the guild's view.
func (c *Client) EditRole(
	ctx context.Context, guildID, id string, edit discordclient.RoleEdit, reason string,
) (role discordclient.Role, err error) {
	err = c.store.WriteRoles(guildID, func() (_ map[string]*discordclient.Role, err error) {
		if role, err = c.Client.EditRole(ctx, guildID, id, edit, reason); err != nil {
			return nil, err
		}
		return map[string]*discordclient.Role{id: &role}, nil
	}, id)
	return role, err
}

// DeleteRole calls [discordclient.Client.DeleteRole] and updates the guild's view.
func (c *Client) DeleteRole(ctx context.Context, guildID, id, reason string) error {
	return c.store.WriteRoles(guildID, func() (map[string]*discordclient.Role, error) {
		if err := c.Client.DeleteRole(ctx, guildID, id, reason); err != nil {
			return nil, err
		}
		return map[string]*discordclient.Role{id: nil}, nil
	}, id)
}

// MoveRoles calls [discordclient.Client.MoveRoles] and updates the guild's view.
func (c *Client) MoveRoles(ctx context.Context, guildID string, moves []discordclient.Move, reason string) error {
	ids := make([]string, 0, len(moves))
	for _, m := range moves {
		ids = append(ids, m.ID)
	}
	return c.store.WriteRoles(guildID, func() (map[string]*discordclient.Role, error) {
		roles, err := c.Client.MoveRoles(ctx, guildID, moves, reason)
		states := map[string]*discordclient.Role{}
		for _, role := range roles {
			if slices.Contains(ids, role.ID) {
				states[role.ID] = &role
			}
		}
		return states, err
	}, ids...)
}

// CurrentUser calls [discordclient.Client.CurrentUser] and stores the bot's user id in all views.
func (c *Client) CurrentUser(ctx context.Context) (discordclient.User, error) {
	return read(
		func() (discordclient.User, error) { return c.Client.CurrentUser(ctx) },
		func(u discordclient.User, _ time.Time) { c.store.Self(u.ID) })
}

// GetMember calls [discordclient.Client.GetMember]. For the bot, it updates the guild's view.
func (c *Client) GetMember(ctx context.Context, guildID, userID string) (discordclient.Member, error) {
	return read(
		func() (discordclient.Member, error) { return c.Client.GetMember(ctx, guildID, userID) },
		func(m discordclient.Member, since time.Time) {
			if userID == c.Guild(guildID).Snapshot().SelfID() {
				c.store.Member(guildID, m.Roles, since)
			}
		})
}

// ListChannels calls [discordclient.Client.ListChannels] and updates the guild's view.
func (c *Client) ListChannels(ctx context.Context, guildID string) ([]*discordclient.Channel, error) {
	return read(
		func() ([]*discordclient.Channel, error) { return c.Client.ListChannels(ctx, guildID) },
		func(list []*discordclient.Channel, since time.Time) { c.store.Listed(guildID, list, since) })
}

// CreateChannel calls [discordclient.Client.CreateChannel] and updates the guild's view.
func (c *Client) CreateChannel(
	ctx context.Context, guildID string, in discordclient.ChannelCreate, reason string,
) (*discordclient.Channel, error) {
	channel, err := c.Client.CreateChannel(ctx, guildID, in, reason)
	if err == nil {
		c.store.Created(guildID, channel)
	}
	return channel, err
}

// EditChannel calls [discordclient.Client.EditChannel] and updates the guild's view.
func (c *Client) EditChannel(
	ctx context.Context, channelID string, edit discordclient.ChannelEdit, reason string,
) (*discordclient.Channel, error) {
	var channel *discordclient.Channel
	err := c.store.Write(func() (_ map[string]*discordclient.Channel, err error) {
		channel, err = c.Client.EditChannel(ctx, channelID, edit, reason)
		return map[string]*discordclient.Channel{channelID: channel}, err
	}, channelID)
	return channel, err
}

// DeleteChannel calls [discordclient.Client.DeleteChannel] and updates the guild's view.
func (c *Client) DeleteChannel(ctx context.Context, channelID, reason string) error {
	return c.store.Write(func() (map[string]*discordclient.Channel, error) {
		return map[string]*discordclient.Channel{channelID: nil}, c.Client.DeleteChannel(ctx, channelID, reason)
	}, channelID)
}

// MoveChannels calls [discordclient.Client.MoveChannels] and updates the view from moves.
func (c *Client) MoveChannels(ctx context.Context, guildID string, moves []discordclient.Move) error {
	ids := make([]string, 0, len(moves))
	for _, m := range moves {
		ids = append(ids, m.ID)
	}
	return c.store.Write(func() (map[string]*discordclient.Channel, error) {
		if err := c.Client.MoveChannels(ctx, guildID, moves); err != nil {
			return nil, err
		}
		states := map[string]*discordclient.Channel{}
		for _, m := range moves {
			if channel, ok := c.store.Channel(m.ID); ok {
				channel.Position = m.Position
				states[m.ID] = &channel
			}
		}
		return states, nil
	}, ids...)
}

// CreateWebhook calls [discordclient.Client.CreateWebhook] and updates the guild's view.
func (c *Client) CreateWebhook(ctx context.Context, channelID, name, reason string) (discordclient.Webhook, error) {
	return c.store.WriteWebhook(channelID, "", func() (discordclient.Webhook, error) {
		return c.Client.CreateWebhook(ctx, channelID, name, reason)
	})
}

// KeepWebhook adds a webhook to the view. Call it if Discord returns the webhook by id, but omits
// the webhook from its channel's list.
func (c *Client) KeepWebhook(hook discordclient.Webhook) { c.store.KeepWebhook(hook) }

// RenameWebhook calls [discordclient.Client.RenameWebhook] and updates the guild's view.
func (c *Client) RenameWebhook(ctx context.Context, webhookID, name, reason string) (discordclient.Webhook, error) {
	return c.store.WriteWebhook("", webhookID, func() (discordclient.Webhook, error) {
		return c.Client.RenameWebhook(ctx, webhookID, name, reason)
	})
}

// DeleteWebhook calls [discordclient.Client.DeleteWebhook] and updates the guild's view.
func (c *Client) DeleteWebhook(ctx context.Context, webhookID, reason string) error {
	_, err := c.store.WriteWebhook("", webhookID, func() (discordclient.Webhook, error) {
		return discordclient.Webhook{}, c.Client.DeleteWebhook(ctx, webhookID, reason)
	})
	return err
}

// ListChannelWebhooks calls [discordclient.Client.ListChannelWebhooks] and updates the view.
func (c *Client) ListChannelWebhooks(ctx context.Context, channelID string) ([]discordclient.Webhook, error) {
	return read(
		func() ([]discordclient.Webhook, error) { return c.Client.ListChannelWebhooks(ctx, channelID) },
		func(hooks []discordclient.Webhook, since time.Time) {
			if channel, ok := c.store.Channel(channelID); ok {
				c.store.WebhooksListed(channel.GuildID, hooks, []string{channelID}, since)
			}
		})
}

// ListGuildWebhooks calls [discordclient.Client.ListGuildWebhooks] and updates the guild's view.
func (c *Client) ListGuildWebhooks(ctx context.Context, guildID string) ([]discordclient.Webhook, error) {
	known := c.store.ChannelIDs(guildID)
	return read(
		func() ([]discordclient.Webhook, error) { return c.Client.ListGuildWebhooks(ctx, guildID) },
		func(hooks []discordclient.Webhook, since time.Time) {
			c.store.WebhooksListed(guildID, hooks, known, since)
		})
}
