package discordclient

import (
	"context"
	"net/http"

	"github.com/bwmarrin/discordgo"
)

// webhook makes a call that answers with a webhook.
func (r *rest) webhook(ctx context.Context, c call, in any, id string) (Webhook, error) {
	w, err := object(ctx, r, c, in, func(w *wireWebhook) string { return w.ID }, id)
	if err != nil {
		return Webhook{}, err
	}
	return r.webhookOf(&w), nil
}

// webhooks makes a call that answers with a list of webhooks.
func (r *rest) webhooks(ctx context.Context, c call, id string) ([]Webhook, error) {
	var w []*wireWebhook
	if err := r.do(ctx, c, nil, &w, id); err != nil {
		return nil, err
	}
	hooks := make([]Webhook, 0, len(w))
	for _, hook := range w {
		if hook != nil {
			hooks = append(hooks, r.webhookOf(hook))
		}
	}
	return hooks, nil
}

func (r *rest) CreateWebhook(ctx context.Context, channelID string, in WebhookCreate, reason string) (Webhook, error) {
	return r.webhook(ctx, call{
		op: "create webhook", method: http.MethodPost, route: "/channels/{channel_id}/webhooks",
		url: discordgo.EndpointChannelWebhooks(channelID), urgent: true, reason: reason,
	}, in, channelID)
}

func (r *rest) ListChannelWebhooks(ctx context.Context, channelID string) ([]Webhook, error) {
	return r.webhooks(ctx, call{
		op: "list webhooks", method: http.MethodGet, route: "/channels/{channel_id}/webhooks",
		url: discordgo.EndpointChannelWebhooks(channelID),
	}, channelID)
}

func (r *rest) ListGuildWebhooks(ctx context.Context, guildID string) ([]Webhook, error) {
	return r.webhooks(ctx, call{
		op: "list webhooks of guild", method: http.MethodGet, route: "/guilds/{guild_id}/webhooks",
		url: discordgo.EndpointGuildWebhooks(guildID),
	}, guildID)
}

func (r *rest) GetWebhook(ctx context.Context, webhookID string) (Webhook, error) {
	return r.webhook(ctx, call{
		op: "get webhook", method: http.MethodGet, route: "/webhooks/{webhook_id}",
		url: discordgo.EndpointWebhook(webhookID),
	}, nil, webhookID)
}

func (r *rest) EditWebhook(ctx context.Context, webhookID string, edit WebhookEdit, reason string) (Webhook, error) {
	return r.webhook(ctx, call{
		op: "edit webhook", method: http.MethodPatch, route: "/webhooks/{webhook_id}",
		url: discordgo.EndpointWebhook(webhookID), reason: reason,
	}, edit, webhookID)
}

func (r *rest) DeleteWebhook(ctx context.Context, webhookID, reason string) error {
	return r.do(ctx, call{
		op: "delete webhook", method: http.MethodDelete, route: "/webhooks/{webhook_id}",
		url: discordgo.EndpointWebhook(webhookID), urgent: true, reason: reason,
	}, nil, nil, webhookID)
}

func (r *rest) ExecuteWebhook(ctx context.Context, hook Webhook, m WebhookMessage) (Message, error) {
	const op = "execute webhook"
	if !webhookChars.MatchString(hook.Token.Reveal()) {
		return Message{}, &Error{Class: ClassInvalid, Op: op, Message: "the webhook has no usable token", unsent: true}
	}
	in := struct {
		Content         string                           `json:"content"`
		Username        string                           `json:"username,omitempty"`
		AllowedMentions discordgo.MessageAllowedMentions `json:"allowed_mentions"`
	}{m.Content, m.Username, discordgo.MessageAllowedMentions{Parse: []discordgo.AllowedMentionType{}}}
	type message struct {
		ID        string `json:"id"`
		ChannelID string `json:"channel_id"`
	}
	w, err := object(ctx, r, call{
		op: op, method: http.MethodPost, route: "/webhooks/{webhook_id}/{webhook_token}",
		url: discordgo.EndpointWebhookToken(hook.ID, hook.Token.Reveal()) + "?wait=true", public: true, secret: hook.Token,
	}, in, func(m *message) string { return m.ID }, hook.ID)
	return Message(w), err
}
