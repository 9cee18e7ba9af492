// SPDX-License-Identifier: Apache-2.0

package discordclient

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/bwmarrin/discordgo"
)

// GetGuild returns a guild with its roles.
func (c *Client) GetGuild(ctx context.Context, id string) (Guild, error) {
	return result[Guild](ctx, c, get("get guild", "/guilds/{guild_id}", discordgo.EndpointGuild(id)), nil, id)
}

// EditGuild changes settings of a guild.
func (c *Client) EditGuild(ctx context.Context, id string, edit GuildEdit, reason string) (Guild, error) {
	cl := write(http.MethodPatch, "edit guild", "/guilds/{guild_id}", discordgo.EndpointGuild(id), reason)
	return result[Guild](ctx, c, cl, edit, id)
}

// DeleteGuild deletes a guild that the bot owns. Discord withdrew this call in July 2025, so it
// fails with ClassDenied. Discord-compatible servers still have it.
func (c *Client) DeleteGuild(ctx context.Context, id string) error {
	cl := write(http.MethodDelete, "delete guild", "/guilds/{guild_id}", discordgo.EndpointGuild(id), "")
	return withdrawn(c.do(ctx, cl, nil, nil, id))
}

// withdrawn turns ClassInvalid into ClassDenied if the response has no code of Discord, such as the
// 404 or 405 of a removed route.
func withdrawn(err error) error {
	if e, ok := errors.AsType[*Error](err); ok && e.Class == ClassInvalid && e.Code == 0 && !e.unsent {
		e.Class = ClassDenied
	}
	return err
}

// ListAuditLog returns entries of a guild's audit log.
func (c *Client) ListAuditLog(ctx context.Context, guildID string, q AuditQuery) ([]AuditEntry, error) {
	query := url.Values{}
	for key, value := range map[string]string{
		"user_id": q.UserID, "target_id": q.TargetID, "after": q.After, "before": q.Before,
		"action_type": strconv.Itoa(int(q.Action)), "limit": strconv.Itoa(q.Limit),
	} {
		if value != "" && value != "0" {
			query.Set(key, value)
		}
	}
	type auditLog struct {
		Entries []AuditEntry `json:"audit_log_entries"`
	}
	endpoint := discordgo.EndpointGuildAuditLogs(guildID) + "?" + query.Encode()
	cl := get("read audit log", "/guilds/{guild_id}/audit-logs", endpoint)
	log, err := result[auditLog](ctx, c, cl, nil, guildID)
	return slices.DeleteFunc(log.Entries, func(e AuditEntry) bool { return e.ID == "" }), err
}
