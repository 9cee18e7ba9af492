// SPDX-License-Identifier: Apache-2.0

package discordclient_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/bwmarrin/discordgo"
	"github.com/google/go-cmp/cmp"

	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/permissions"
	"jutsu.com/operators/test/discordtest"
)

func TestChannelsFromCreateToDelete(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ctx := t.Context()
	group := r.create(discordclient.ChannelCreate{Name: "Alerts", Type: discordgo.ChannelTypeGuildCategory})
	// Without an overwrite for itself, the bot would lock itself out.
	private := []discordclient.Overwrite{
		{ID: r.bot.UserID, Type: discordgo.PermissionOverwriteTypeMember, Allow: permissions.ViewChannel}, {ID: r.guild, Deny: permissions.ViewChannel},
	}
	made := r.create(discordclient.ChannelCreate{
		Name: "tokyo-alerts", ParentID: group.ID, Overwrites: private, ChannelEdit: discordclient.ChannelEdit{
			Topic: discordclient.Set("fire"), NSFW: discordclient.Set(true), Slowmode: discordclient.Set(60),
			DefaultAutoArchive: discordclient.Set(1440),
		},
	})
	want := &discordclient.Channel{
		ID: made.ID, GuildID: r.guild, Name: "tokyo-alerts", Topic: "fire", ParentID: group.ID, NSFW: true, Slowmode: 60,
		DefaultAutoArchive: 1440, Overwrites: private, Position: made.Position,
	}
	if diff := cmp.Diff(want, made); diff != "" {
		t.Errorf("created (-want +got):\n%s", diff)
	}
	got, err := r.client.GetChannel(ctx, made.ID)
	if diff := cmp.Diff(made, got); err != nil || diff != "" {
		t.Errorf("read %v (-want +got):\n%s", err, diff)
	}
	edited, err := r.client.EditChannel(ctx, made.ID, discordclient.ChannelEdit{
		Topic: discordclient.Set(""), ParentID: discordclient.Set(""), NSFW: discordclient.Set(false),
		Slowmode: discordclient.Set(0), Type: discordclient.Set(discordgo.ChannelTypeGuildNews),
		Overwrites: discordclient.Set[[]discordclient.Overwrite](nil), DefaultAutoArchive: discordclient.Set(60), Position: discordclient.Set(7),
	}, "all of it")
	want = &discordclient.Channel{
		ID: made.ID, GuildID: r.guild, Name: "tokyo-alerts", Type: discordgo.ChannelTypeGuildNews, DefaultAutoArchive: 60, Position: 7,
	}
	if diff := cmp.Diff(want, edited); err != nil || diff != "" {
		t.Errorf("edited %v (-want +got):\n%s", err, diff)
	}
	if err := r.client.DeleteChannel(ctx, made.ID, "over"); err != nil {
		t.Error(err)
	}
	wantClass(t, r.client.DeleteChannel(ctx, made.ID, "over"), discordclient.ClassGone)
	list, err := r.client.ListChannels(ctx, r.guild)
	if diff := cmp.Diff([]*discordclient.Channel{group}, list); err != nil || diff != "" {
		t.Errorf("left over %v (-want +got):\n%s", err, diff)
	}
}

func TestOverwritesAndPositions(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ctx := t.Context()
	group := r.create(discordclient.ChannelCreate{Name: "Alerts", Type: discordgo.ChannelTypeGuildCategory, Overwrites: []discordclient.Overwrite{{ID: r.guild, Deny: permissions.SendMessages}}})
	a, b := r.create(discordclient.ChannelCreate{Name: "a"}), r.create(discordclient.ChannelCreate{Name: "b"})
	err := r.client.MoveChannels(ctx, r.guild, []discordclient.Move{
		{ID: a.ID, Position: 5}, {ID: b.ID, Position: 4},
	})
	if err != nil {
		t.Fatal(err)
	}
	after, err := r.client.GetChannel(ctx, b.ID)
	if err != nil || after.Position != 4 {
		t.Errorf("moved to %+v, %v", after, err)
	}
	into, err := r.client.EditChannel(ctx, b.ID, discordclient.ChannelEdit{ParentID: discordclient.Set(group.ID)}, "")
	if err != nil || into.ParentID != group.ID {
		t.Errorf("into the category: %+v, %v", into, err)
	}
	own := discordclient.Overwrite{
		ID: r.bot.UserID, Type: discordgo.PermissionOverwriteTypeMember, Allow: permissions.ViewChannel, Deny: permissions.AddReactions,
	}
	for _, want := range [][]discordclient.Overwrite{{own}, nil} {
		if _, err := r.client.EditChannel(ctx, a.ID, discordclient.ChannelEdit{Overwrites: discordclient.Set(want)}, "let me in"); err != nil {
			t.Fatal(err)
		}
		if after, err = r.client.GetChannel(ctx, a.ID); err != nil || !cmp.Equal(after.Overwrites, want) {
			t.Errorf("overwritten %+v, %v", after, err)
		}
	}
	if _, err := r.client.EditChannel(ctx, b.ID, discordclient.ChannelEdit{ParentID: discordclient.Set("")}, ""); err != nil {
		t.Errorf("out of the category: %v", err)
	}
	if after, err = r.client.GetChannel(ctx, b.ID); err != nil || after.ParentID != "" {
		t.Errorf("moved to %+v, %v", after, err)
	}
	if err := r.client.MoveChannels(ctx, r.guild, nil); err != nil {
		t.Errorf("moving nothing: %v", err)
	}
}

func TestWebhooks(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ctx := t.Context()
	c := r.create(discordclient.ChannelCreate{Name: "a"})
	hook, err := r.client.CreateWebhook(ctx, c.ID, "alertmanager", "alerts")
	if err != nil {
		t.Fatal(err)
	}
	if want := r.srv.URL() + "/api/webhooks/" + hook.ID + "/" + hook.Token.Reveal(); hook.URL.Reveal() != want || hook.ApplicationID != r.bot.ApplicationID {
		t.Errorf("URL is %s, want %s", hook.URL.Reveal(), want)
	}
	r.srv.CreateWebhookByHand(c.ID, "by hand")
	for name, list := range map[string]func() ([]discordclient.Webhook, error){
		"of the channel": func() ([]discordclient.Webhook, error) { return r.client.ListChannelWebhooks(ctx, c.ID) },
		"of the guild":   func() ([]discordclient.Webhook, error) { return r.client.ListGuildWebhooks(ctx, r.guild) },
	} {
		hooks, err := list()
		if err != nil || len(hooks) != 2 {
			t.Errorf("webhooks %s: %v, %v", name, hooks, err)
		}
	}
	if got := post(t, hook); got != http.StatusOK {
		t.Errorf("posting is answered by %d", got)
	}
	renamed, err := r.client.RenameWebhook(ctx, hook.ID, "prometheus", "")
	if err != nil || renamed.Name != "prometheus" || renamed.ChannelID != c.ID {
		t.Errorf("renamed %v, %v", renamed, err)
	}
	hooks, err := r.client.ListChannelWebhooks(ctx, c.ID)
	hooks = slices.DeleteFunc(hooks, func(w discordclient.Webhook) bool { return w.Name == "by hand" })
	if diff := cmp.Diff([]discordclient.Webhook{renamed}, hooks, cmp.Comparer(discordclient.Secret.Equal)); err != nil || diff != "" {
		t.Errorf("read %v (-want +got):\n%s", err, diff)
	}
	if err := r.client.DeleteWebhook(ctx, hook.ID, ""); err != nil {
		t.Error(err)
	}
	wantClass(t, r.client.DeleteWebhook(ctx, hook.ID, ""), discordclient.ClassGone)
	if got := post(t, hook); got != http.StatusNotFound {
		t.Errorf("posting to what was deleted is answered by %d", got)
	}
}

func post(t *testing.T, hook discordclient.Webhook) int {
	t.Helper()
	body := strings.NewReader(`{"content":"fire","username":"Alertmanager"}`)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, hook.URL.Reveal()+"?wait=true", body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}

func TestGuildSettings(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ctx := t.Context()
	c := r.create(discordclient.ChannelCreate{Name: "general"})
	edited, err := r.client.EditGuild(ctx, r.guild, discordclient.GuildEdit{
		Name: discordclient.Set("Kyoto Jujutsu High"), Description: discordclient.Set("school"), VerificationLevel: discordclient.Set(2),
		DefaultNotifications: discordclient.Set(1), ExplicitContentFilter: discordclient.Set(2), PreferredLocale: discordclient.Set("de"),
		AFKTimeout: discordclient.Set(900), SystemChannelID: discordclient.Set(c.ID),
	}, "new term")
	if err != nil {
		t.Fatal(err)
	}
	if edited.Name != "Kyoto Jujutsu High" || edited.VerificationLevel != 2 || edited.SystemChannelID != c.ID {
		t.Errorf("edited %+v", edited)
	}
	cleared, err := r.client.EditGuild(ctx, r.guild, discordclient.GuildEdit{
		Description: discordclient.Set(""), SystemChannelID: discordclient.Set(""),
		DefaultNotifications: discordclient.Set(0), ExplicitContentFilter: discordclient.Set(0),
	}, "")
	if err != nil || cleared.Description != "" || cleared.SystemChannelID != "" || cleared.DefaultNotifications != 0 {
		t.Errorf("cleared %+v, %v", cleared, err)
	}
	got, err := r.client.GetGuild(ctx, r.guild)
	if diff := cmp.Diff(cleared, got); err != nil || diff != "" {
		t.Errorf("read %v (-want +got):\n%s", err, diff)
	}
	roles, err := r.client.ListRoles(ctx, r.guild)
	if diff := cmp.Diff(got.Roles, roles); err != nil || diff != "" || len(roles) < 2 {
		t.Errorf("roles %v (-want +got):\n%s", err, diff)
	}
	_, err = r.client.GetGuild(ctx, "1")
	wantClass(t, err, discordclient.ClassGone)
}

func TestDeletingGuilds(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(o *discordtest.Options, _ *discordclient.Options) { o.AllowGuildDeletion = true })
	ctx := t.Context()
	own := r.srv.AddGuild(discordtest.GuildSpec{Name: "Kyoto", OwnerID: r.bot.UserID})
	wantClass(t, r.client.DeleteGuild(ctx, r.guild), discordclient.ClassDenied) // a user owns the guild
	if err := r.client.DeleteGuild(ctx, own.ID); err != nil {
		t.Error(err)
	}
	wantClass(t, r.client.DeleteGuild(ctx, own.ID), discordclient.ClassGone)
	if _, err := r.client.GetGuild(ctx, r.guild); err != nil {
		t.Errorf("the other guild after the deletion: %v", err)
	}
	wantClass(t, newRig(t).client.DeleteGuild(ctx, r.guild), discordclient.ClassGone)
	closed := newRig(t)
	wantClass(t, closed.client.DeleteGuild(ctx, closed.guild), discordclient.ClassDenied)
}

func TestTheBotItself(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ctx := t.Context()
	u, err := r.client.CurrentUser(ctx)
	if err != nil || u.ID != r.bot.UserID || u.Name != "operator" {
		t.Errorf("user %+v, %v", u, err)
	}
	app, err := r.client.CurrentApplication(ctx)
	if err != nil || app.ID != r.bot.ApplicationID {
		t.Errorf("application %+v, %v", app, err)
	}
	r.create(discordclient.ChannelCreate{Name: "a"})
	entries, err := r.client.ListAuditLog(ctx, r.guild, discordclient.AuditQuery{Action: discordgo.AuditLogActionChannelCreate, UserID: r.bot.UserID, After: "1", Limit: 10})
	if err != nil || len(entries) != 1 || entries[0].Reason != "test" || entries[0].UserID != r.bot.UserID {
		t.Errorf("audit log %+v, %v", entries, err)
	}
}

func TestOnlyIdsGetIntoURLs(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, id := range []string{"", "../users/@me", "1/../2", "1?x=2", "１２", "123456789012345678901"} {
		_, err := r.client.GetChannel(t.Context(), id)
		wantClass(t, err, discordclient.ClassInvalid)
		wantClass(t, r.client.DeleteChannel(t.Context(), id, ""), discordclient.ClassInvalid)
	}
	if got := r.calls(); got != 0 {
		t.Errorf("%d calls reached Discord, want none", got)
	}
}
