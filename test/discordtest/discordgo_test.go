// SPDX-License-Identifier: Apache-2.0

package discordtest_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bwmarrin/discordgo"

	"jutsu.com/operators/test/discordtest"
	"jutsu.com/operators/test/discordtest/internal/rig"
)

// toSimulator sends requests for discord.com to the simulator, because discordgo's URLs are fixed.
type toSimulator struct{ base string }

func (s toSimulator) RoundTrip(r *http.Request) (*http.Response, error) {
	to, err := url.Parse(s.base)
	if err != nil {
		return nil, err
	}
	if r.URL.Host != "discord.com" {
		return nil, fmt.Errorf("call to %s", r.URL.Host)
	}
	r = r.Clone(r.Context())
	r.URL.Scheme, r.URL.Host, r.Host = to.Scheme, to.Host, to.Host
	return http.DefaultTransport.RoundTrip(r)
}

func discordgoSession(t *testing.T, r *rig.Rig) *discordgo.Session {
	t.Helper()
	dg, err := discordgo.New("Bot " + r.Bot.Token)
	if err != nil {
		t.Fatal(err)
	}
	dg.Client = &http.Client{Transport: toSimulator{r.Srv.URL()}, Timeout: 20 * time.Second}
	return dg
}

func TestDiscordgoREST(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Usual)
	dg := discordgoSession(t, r)

	group, err := dg.GuildChannelCreateComplex(r.Guild, discordgo.GuildChannelCreateData{Name: "Alerts", Type: discordgo.ChannelTypeGuildCategory})
	rig.Check(t, err)
	ch, err := dg.GuildChannelCreateComplex(r.Guild, discordgo.GuildChannelCreateData{
		Name: "tokyo", ParentID: group.ID, Topic: "fire", RateLimitPerUser: 5,
		PermissionOverwrites: []*discordgo.PermissionOverwrite{{ID: r.Guild, Type: discordgo.PermissionOverwriteTypeRole, Deny: discordgo.PermissionSendMessages}},
	}, discordgo.WithAuditLogReason("uid-1"))
	rig.Check(t, err)
	if ch.ParentID != group.ID || ch.Topic != "fire" || ch.RateLimitPerUser != 5 || ch.PermissionOverwrites[0].Deny != discordgo.PermissionSendMessages {
		t.Errorf("created %+v", ch)
	}
	ch, err = dg.ChannelEdit(ch.ID, &discordgo.ChannelEdit{Name: "kyoto"})
	rig.Check(t, err)
	list, err := dg.GuildChannels(r.Guild)
	rig.Check(t, err)
	if ch.Name != "kyoto" || len(list) != 2 {
		t.Errorf("name %q, %d channels", ch.Name, len(list))
	}
	rig.Check(t, dg.ChannelPermissionSet(ch.ID, r.Guild, discordgo.PermissionOverwriteTypeRole, discordgo.PermissionViewChannel, 0))
	rig.Check(t, dg.GuildChannelsReorder(r.Guild, []*discordgo.Channel{{ID: ch.ID, Position: 7}}))
	hook, err := dg.WebhookCreate(ch.ID, "alertmanager", "")
	rig.Check(t, err)
	msg, err := dg.WebhookExecute(hook.ID, hook.Token, true, &discordgo.WebhookParams{Content: "hello", Embeds: []*discordgo.MessageEmbed{{Title: "[FIRING:1]", Color: 0xff0000}}})
	rig.Check(t, err)
	msgs, err := dg.ChannelMessages(ch.ID, 10, "", "", "")
	rig.Check(t, err)
	if len(msgs) != 1 || msgs[0].ID != msg.ID || msgs[0].Embeds[0].Title != "[FIRING:1]" {
		t.Errorf("messages %+v", msgs)
	}
	log, err := dg.GuildAuditLog(r.Guild, r.Bot.UserID, "", int(discordgo.AuditLogActionChannelCreate), 10)
	rig.Check(t, err)
	if log.AuditLogEntries[0].Reason != "uid-1" || log.AuditLogEntries[0].TargetID != ch.ID {
		t.Errorf("newest entry %+v", log.AuditLogEntries[0])
	}
	roles, err := dg.GuildRoles(r.Guild)
	rig.Check(t, err)
	if len(roles) != 2 || roles[0].Name != "@everyone" {
		t.Errorf("roles %+v", roles)
	}
	_, err = dg.GuildEdit(r.Guild, &discordgo.GuildParams{Name: "Kyoto Jujutsu High"})
	rig.Check(t, err)
	_, err = dg.ChannelDelete(group.ID)
	rig.Check(t, err)
	if c, _ := r.Srv.Channel(ch.ID); c.ParentID != "" || c.Position != 7 {
		t.Errorf("after its category went: %+v", c)
	}
	rig.Check(t, dg.WebhookDelete(hook.ID))
	_, err = dg.Channel("1")
	if rest, ok := errors.AsType[*discordgo.RESTError](err); !ok || rest.Message.Code != discordgo.ErrCodeUnknownChannel {
		t.Errorf("unknown channel: %v", err)
	}
	for _, q := range r.Srv.Requests() {
		if !strings.HasPrefix(q.Path, "/api/v9/") {
			t.Errorf("%s is not API v9", q.Path)
		}
	}
}

func TestDiscordgoGateway(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Usual)
	for range 40 { // makes GUILD_CREATE large enough to be compressed
		r.Srv.CreateChannelByHand(r.Guild, discordtest.Channel{Name: "hall"})
	}
	dg := discordgoSession(t, r)
	dg.Identify.Intents = discordgo.IntentsGuilds | discordgo.IntentGuildWebhooks | discordgo.IntentGuildModeration
	dg.SyncEvents = true
	events := make(chan any, 100)
	dg.AddHandler(func(_ *discordgo.Session, e *discordgo.GuildCreate) { events <- e })
	dg.AddHandler(func(_ *discordgo.Session, e *discordgo.ChannelCreate) { events <- e })
	dg.AddHandler(func(_ *discordgo.Session, e *discordgo.ChannelUpdate) { events <- e })
	dg.AddHandler(func(_ *discordgo.Session, e *discordgo.ChannelDelete) { events <- e })
	dg.AddHandler(func(_ *discordgo.Session, e *discordgo.WebhooksUpdate) { events <- e })
	dg.AddHandler(func(_ *discordgo.Session, e *discordgo.GuildAuditLogEntryCreate) { events <- e })
	dg.AddHandler(func(_ *discordgo.Session, e *discordgo.GuildDelete) { events <- e })
	rig.Check(t, dg.Open())
	defer func() { _ = dg.Close() }()

	if g := next[*discordgo.GuildCreate](t, events); g.ID != r.Guild || len(g.Channels) != 40 || g.Name != "Jujutsu High" {
		t.Errorf("GUILD_CREATE %s with %d channels", g.ID, len(g.Channels))
	}
	id := r.Channel(obj{"name": "tokyo"})
	if c := next[*discordgo.ChannelCreate](t, events); c.ID != id || c.GuildID != r.Guild {
		t.Errorf("CHANNEL_CREATE %+v", c)
	}
	if e := next[*discordgo.GuildAuditLogEntryCreate](t, events); e.TargetID != id || *e.ActionType != discordgo.AuditLogActionChannelCreate {
		t.Errorf("GUILD_AUDIT_LOG_ENTRY_CREATE %+v", e)
	}
	r.Srv.EditChannelByHand(id, func(c *discordtest.Channel) { c.Topic = "fire" })
	if c := next[*discordgo.ChannelUpdate](t, events); c.Topic != "fire" {
		t.Errorf("CHANNEL_UPDATE %+v", c)
	}
	r.Must(200, "POST", "/channels/"+id+"/webhooks", obj{"name": "alertmanager"})
	if w := next[*discordgo.WebhooksUpdate](t, events); w.ChannelID != id {
		t.Errorf("WEBHOOKS_UPDATE %+v", w)
	}
	r.Srv.DeleteChannelByHand(id)
	if c := next[*discordgo.ChannelDelete](t, events); c.ID != id {
		t.Errorf("CHANNEL_DELETE %+v", c)
	}
	r.Srv.RemoveMember(r.Guild, r.Bot.UserID)
	if g := next[*discordgo.GuildDelete](t, events); g.ID != r.Guild || g.Unavailable {
		t.Errorf("GUILD_DELETE %+v", g)
	}
	if s := r.Srv.Gateway().Stats(); s.Identifies != 1 || s.Open != 1 {
		t.Errorf("stats %+v", s)
	}
}

func next[E any](t *testing.T, events chan any) E {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var seen []string
	for {
		select {
		case e := <-events:
			if want, ok := e.(E); ok {
				return want
			}
			seen = append(seen, fmt.Sprintf("%T", e))
		case <-ctx.Done():
			t.Fatalf("no %T; others: %v", *new(E), slices.Compact(seen))
		}
	}
}

type obj = rig.Obj
