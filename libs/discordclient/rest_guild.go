package discordclient

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"

	"github.com/bwmarrin/discordgo"
)

func idOfGuild(w *wireGuild) string { return w.ID }

func (r *rest) GetGuild(ctx context.Context, guildID string) (Guild, error) {
	w, err := object(ctx, r, call{
		op: "get guild", method: http.MethodGet, route: "/guilds/{guild_id}", url: discordgo.EndpointGuild(guildID),
	}, nil, idOfGuild, guildID)
	return guildOf(&w), err
}

func (r *rest) CreateGuild(ctx context.Context, in GuildCreate) (Guild, error) {
	w, err := object(ctx, r, call{
		op: "create guild", method: http.MethodPost, route: "/guilds", url: discordgo.EndpointGuildCreate, urgent: true,
	}, in, idOfGuild)
	return guildOf(&w), withdrawn(err)
}

func (r *rest) DeleteGuild(ctx context.Context, guildID string) error {
	return withdrawn(r.do(ctx, call{
		op: "delete guild", method: http.MethodDelete, route: "/guilds/{guild_id}",
		url: discordgo.EndpointGuild(guildID), urgent: true,
	}, nil, nil, guildID))
}

// withdrawn corrects the class of an error of a route that is gone from Discord: it may be answered as if it had never
// been there (404 or 405 without a code), which is a refusal to bots and not a mistake in the request.
func withdrawn(err error) error {
	if e, ok := errors.AsType[*Error](err); ok && e.Class == ClassInvalid && e.Code == 0 && !e.unsent {
		e.Class = ClassDenied
	}
	return err
}

func (r *rest) EditGuild(ctx context.Context, guildID string, edit GuildEdit, reason string) (Guild, error) {
	if list, ok := edit.Features.Get(); ok && list == nil {
		edit.Features = Set([]string{}) // an empty list: null is not one
	}
	for _, id := range []*Change[string]{
		&edit.AFKChannelID, &edit.SystemChannelID, &edit.RulesChannelID, &edit.PublicUpdatesChannelID, &edit.SafetyAlertsChannelID,
	} {
		*id = orNull(*id)
	}
	w, err := object(ctx, r, call{
		op: "edit guild", method: http.MethodPatch, route: "/guilds/{guild_id}",
		url: discordgo.EndpointGuild(guildID), reason: reason,
	}, edit, idOfGuild, guildID)
	return guildOf(&w), err
}

func (r *rest) ListRoles(ctx context.Context, guildID string) ([]Role, error) {
	var w []wireRole
	err := r.do(ctx, call{
		op: "list roles", method: http.MethodGet, route: "/guilds/{guild_id}/roles",
		url: discordgo.EndpointGuildRoles(guildID),
	}, nil, &w, guildID)
	if err != nil {
		return nil, err
	}
	return rolesOf(w), nil
}

func (r *rest) ListAuditLog(ctx context.Context, guildID string, q AuditQuery) ([]AuditEntry, error) {
	query := url.Values{}
	for key, value := range map[string]string{
		"user_id": q.UserID, "after": q.After, "before": q.Before, "action_type": number(int(q.Action)), "limit": number(q.Limit),
	} {
		if value != "" {
			query.Set(key, value)
		}
	}
	var w struct {
		Entries []*wireAuditEntry `json:"audit_log_entries"`
	}
	err := r.do(ctx, call{
		op: "read audit log", method: http.MethodGet, route: "/guilds/{guild_id}/audit-logs",
		url: discordgo.EndpointGuildAuditLogs(guildID) + "?" + query.Encode(),
	}, nil, &w, guildID)
	if err != nil {
		return nil, err
	}
	entries := make([]AuditEntry, 0, len(w.Entries))
	for _, e := range w.Entries {
		if e != nil {
			entries = append(entries, AuditEntry{ID: e.ID, Action: e.ActionType, TargetID: e.TargetID, UserID: e.UserID, Reason: e.Reason})
		}
	}
	return entries, nil
}

// number writes a number for a query, and nothing for 0.
func number(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}
