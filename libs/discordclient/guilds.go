// SPDX-License-Identifier: Apache-2.0

package discordclient

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/bwmarrin/discordgo"
)

func guildID(g *Guild) string { return g.ID }

// orZero returns what a pointer points to, the zero value for nil.
func orZero[T any](p *T, err error) (T, error) {
	var v T
	if p != nil {
		v = *p
	}
	return v, err
}

// GetGuild returns a guild with its roles.
func (c *Client) GetGuild(ctx context.Context, id string) (Guild, error) {
	return orZero(object(ctx, c, get("get guild", "/guilds/{guild_id}", discordgo.EndpointGuild(id)), nil, guildID, id))
}

// EditGuild changes settings of a guild.
func (c *Client) EditGuild(ctx context.Context, id string, edit GuildEdit, reason string) (Guild, error) {
	if list, ok := edit.Features.Get(); ok && list == nil {
		edit.Features = Set([]string{}) // an empty list: null is not one
	}
	for _, id := range []*Change[string]{
		&edit.AFKChannelID, &edit.SystemChannelID, &edit.RulesChannelID, &edit.PublicUpdatesChannelID,
		&edit.SafetyAlertsChannelID,
	} {
		*id = orNull(*id)
	}
	return orZero(object(ctx, c, call{
		op: "edit guild", method: http.MethodPatch, route: "/guilds/{guild_id}",
		url: discordgo.EndpointGuild(id), reason: reason,
	}, edit, guildID, id))
}

// ListRoles returns the roles of a guild in the order of their ids.
func (c *Client) ListRoles(ctx context.Context, guildID string) ([]Role, error) {
	var roles []Role
	cl := get("list roles", "/guilds/{guild_id}/roles", discordgo.EndpointGuildRoles(guildID))
	if err := c.do(ctx, cl, nil, &roles, guildID); err != nil {
		return nil, err
	}
	sortRoles(roles)
	return roles, nil
}

// ListAuditLog returns entries of a guild's audit log.
func (c *Client) ListAuditLog(ctx context.Context, guildID string, q AuditQuery) ([]AuditEntry, error) {
	query := url.Values{}
	for key, value := range map[string]string{
		"user_id": q.UserID, "after": q.After, "before": q.Before,
		"action_type": strconv.Itoa(int(q.Action)), "limit": strconv.Itoa(q.Limit),
	} {
		if value != "" && value != "0" {
			query.Set(key, value)
		}
	}
	var log struct {
		Entries []AuditEntry `json:"audit_log_entries"`
	}
	endpoint := discordgo.EndpointGuildAuditLogs(guildID) + "?" + query.Encode()
	cl := get("read audit log", "/guilds/{guild_id}/audit-logs", endpoint)
	if err := c.do(ctx, cl, nil, &log, guildID); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(log.Entries, func(e AuditEntry) bool { return e.ID == "" }), nil
}
