package discordclient

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"
)

// Instrument returns api with each call counted and timed in m. [New] does this by itself when [Options] has Metrics.
func Instrument(api REST, m *Metrics) REST { return &instrumented{api, m} }

type instrumented struct {
	next REST
	m    *Metrics
}

// timed makes a call and counts it by how it ended.
func timed[T any](m *Metrics, method, route string, do func() (T, error)) (T, error) {
	start := time.Now()
	result, err := do()
	status := "2xx"
	if limited, ok := errors.AsType[*RateLimited](err); ok {
		m.limitedWait.WithLabelValues(limited.Scope).Observe(limited.After.Seconds())
		if limited.Local {
			m.limited.WithLabelValues(limited.Scope, "local").Inc()
			return result, err
		}
		m.limited.WithLabelValues(limited.Scope, "discord").Inc()
		status = "4xx"
	} else if e, ok := errors.AsType[*Error](err); ok {
		if e.unsent {
			return result, err
		}
		status = "none"
		if e.Status != 0 {
			status = strconv.Itoa(e.Status/100) + "xx"
		}
	}
	m.requests.WithLabelValues(method, route, status).Inc()
	m.duration.WithLabelValues(method, route).Observe(time.Since(start).Seconds())
	return result, err
}

// done adapts a call without a result to timed.
func done(do func() error) func() (struct{}, error) {
	return func() (struct{}, error) { return struct{}{}, do() }
}

func (i *instrumented) GetGuild(ctx context.Context, guildID string) (Guild, error) {
	return timed(i.m, http.MethodGet, "/guilds/{guild_id}", func() (Guild, error) { return i.next.GetGuild(ctx, guildID) })
}

func (i *instrumented) CreateGuild(ctx context.Context, in GuildCreate) (Guild, error) {
	return timed(i.m, http.MethodPost, "/guilds", func() (Guild, error) { return i.next.CreateGuild(ctx, in) })
}

func (i *instrumented) EditGuild(ctx context.Context, guildID string, edit GuildEdit, reason string) (Guild, error) {
	return timed(i.m, http.MethodPatch, "/guilds/{guild_id}", func() (Guild, error) { return i.next.EditGuild(ctx, guildID, edit, reason) })
}

func (i *instrumented) DeleteGuild(ctx context.Context, guildID string) error {
	_, err := timed(i.m, http.MethodDelete, "/guilds/{guild_id}", done(func() error { return i.next.DeleteGuild(ctx, guildID) }))
	return err
}

func (i *instrumented) LeaveGuild(ctx context.Context, guildID string) error {
	_, err := timed(i.m, http.MethodDelete, "/users/@me/guilds/{guild_id}", done(func() error { return i.next.LeaveGuild(ctx, guildID) }))
	return err
}

func (i *instrumented) ListRoles(ctx context.Context, guildID string) ([]Role, error) {
	return timed(i.m, http.MethodGet, "/guilds/{guild_id}/roles", func() ([]Role, error) { return i.next.ListRoles(ctx, guildID) })
}

func (i *instrumented) ListMemberships(ctx context.Context) ([]Membership, error) {
	const route = "/users/@me/guilds"
	list, err := timed(i.m, http.MethodGet, route, func() ([]Membership, error) { return i.next.ListMemberships(ctx) })
	if full := len(list) / membershipPage; full > 0 { // each full page was followed by another one
		i.m.requests.WithLabelValues(http.MethodGet, route, "2xx").Add(float64(full))
	}
	return list, err
}

func (i *instrumented) ListChannels(ctx context.Context, guildID string) ([]*Channel, error) {
	return timed(i.m, http.MethodGet, "/guilds/{guild_id}/channels", func() ([]*Channel, error) { return i.next.ListChannels(ctx, guildID) })
}

func (i *instrumented) GetChannel(ctx context.Context, channelID string) (*Channel, error) {
	return timed(i.m, http.MethodGet, "/channels/{channel_id}", func() (*Channel, error) { return i.next.GetChannel(ctx, channelID) })
}

func (i *instrumented) CreateChannel(ctx context.Context, guildID string, in ChannelCreate, reason string) (*Channel, error) {
	return timed(i.m, http.MethodPost, "/guilds/{guild_id}/channels", func() (*Channel, error) { return i.next.CreateChannel(ctx, guildID, in, reason) })
}

func (i *instrumented) EditChannel(ctx context.Context, channelID string, edit ChannelEdit, reason string) (*Channel, error) {
	return timed(i.m, http.MethodPatch, "/channels/{channel_id}", func() (*Channel, error) { return i.next.EditChannel(ctx, channelID, edit, reason) })
}

func (i *instrumented) DeleteChannel(ctx context.Context, channelID, reason string) error {
	_, err := timed(i.m, http.MethodDelete, "/channels/{channel_id}", done(func() error { return i.next.DeleteChannel(ctx, channelID, reason) }))
	return err
}

func (i *instrumented) MoveChannels(ctx context.Context, guildID string, moves []ChannelMove) error {
	_, err := timed(i.m, http.MethodPatch, "/guilds/{guild_id}/channels", done(func() error { return i.next.MoveChannels(ctx, guildID, moves) }))
	return err
}

func (i *instrumented) SetOverwrite(ctx context.Context, channelID string, o Overwrite, reason string) error {
	_, err := timed(i.m, http.MethodPut, "/channels/{channel_id}/permissions/{overwrite_id}",
		done(func() error { return i.next.SetOverwrite(ctx, channelID, o, reason) }))
	return err
}

func (i *instrumented) DeleteOverwrite(ctx context.Context, channelID, overwriteID, reason string) error {
	_, err := timed(i.m, http.MethodDelete, "/channels/{channel_id}/permissions/{overwrite_id}",
		done(func() error { return i.next.DeleteOverwrite(ctx, channelID, overwriteID, reason) }))
	return err
}

func (i *instrumented) CreateWebhook(ctx context.Context, channelID string, in WebhookCreate, reason string) (Webhook, error) {
	return timed(i.m, http.MethodPost, "/channels/{channel_id}/webhooks", func() (Webhook, error) { return i.next.CreateWebhook(ctx, channelID, in, reason) })
}

func (i *instrumented) ListChannelWebhooks(ctx context.Context, channelID string) ([]Webhook, error) {
	return timed(i.m, http.MethodGet, "/channels/{channel_id}/webhooks", func() ([]Webhook, error) { return i.next.ListChannelWebhooks(ctx, channelID) })
}

func (i *instrumented) ListGuildWebhooks(ctx context.Context, guildID string) ([]Webhook, error) {
	return timed(i.m, http.MethodGet, "/guilds/{guild_id}/webhooks", func() ([]Webhook, error) { return i.next.ListGuildWebhooks(ctx, guildID) })
}

func (i *instrumented) GetWebhook(ctx context.Context, webhookID string) (Webhook, error) {
	return timed(i.m, http.MethodGet, "/webhooks/{webhook_id}", func() (Webhook, error) { return i.next.GetWebhook(ctx, webhookID) })
}

func (i *instrumented) EditWebhook(ctx context.Context, webhookID string, edit WebhookEdit, reason string) (Webhook, error) {
	return timed(i.m, http.MethodPatch, "/webhooks/{webhook_id}", func() (Webhook, error) { return i.next.EditWebhook(ctx, webhookID, edit, reason) })
}

func (i *instrumented) DeleteWebhook(ctx context.Context, webhookID, reason string) error {
	_, err := timed(i.m, http.MethodDelete, "/webhooks/{webhook_id}", done(func() error { return i.next.DeleteWebhook(ctx, webhookID, reason) }))
	return err
}

func (i *instrumented) ExecuteWebhook(ctx context.Context, hook Webhook, msg WebhookMessage) (Message, error) {
	return timed(i.m, http.MethodPost, "/webhooks/{webhook_id}/{webhook_token}", func() (Message, error) { return i.next.ExecuteWebhook(ctx, hook, msg) })
}

func (i *instrumented) ListAuditLog(ctx context.Context, guildID string, q AuditQuery) ([]AuditEntry, error) {
	return timed(i.m, http.MethodGet, "/guilds/{guild_id}/audit-logs", func() ([]AuditEntry, error) { return i.next.ListAuditLog(ctx, guildID, q) })
}

func (i *instrumented) CurrentUser(ctx context.Context) (User, error) {
	return timed(i.m, http.MethodGet, "/users/@me", func() (User, error) { return i.next.CurrentUser(ctx) })
}

func (i *instrumented) CurrentApplication(ctx context.Context) (Application, error) {
	return timed(i.m, http.MethodGet, "/applications/@me", func() (Application, error) { return i.next.CurrentApplication(ctx) })
}

func (i *instrumented) GatewayStart(ctx context.Context) (GatewayStart, error) {
	return timed(i.m, http.MethodGet, "/gateway/bot", func() (GatewayStart, error) { return i.next.GatewayStart(ctx) })
}
