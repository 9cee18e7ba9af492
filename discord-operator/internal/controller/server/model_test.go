// SPDX-License-Identifier: Apache-2.0

package server

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/guildcache"
)

// history applies random events to a DiscordServer and its guild: changes of the spec, edits by
// users, edits that Discord does not carry out, and a second DiscordServer of the guild.
type history struct {
	server *v1alpha1.DiscordServer
	rival  *v1alpha1.DiscordServer // a second DiscordServer, older or younger; nil for none
	guild  discordclient.Guild
	// byHand has the settings as users on Discord last set them.
	byHand  discordclient.Guild
	managed map[string]bool // fields that the spec has ever named
}

var (
	drawText = rapid.SampledFrom([]string{"Jujutsu High", "Kyoto", "Tokyo"})
	drawMay  = rapid.Ptr(rapid.SampledFrom([]string{"", "a school", "another school"}), true)
)

func (h *history) Spec(t *rapid.T) {
	h.server.Generation++
	spec := &h.server.Spec
	spec.Name = rapid.SampledFrom([]string{"", "Jujutsu High", "Kyoto"}).Draw(t, "name")
	spec.Description = drawMay.Draw(t, "description")
	spec.VerificationLevel = rapid.SampledFrom([]v1alpha1.VerificationLevel{"", "None", "Low", "VeryHigh"}).Draw(t, "verificationLevel")
	spec.DefaultNotifications = rapid.SampledFrom([]v1alpha1.DefaultNotifications{"", "AllMessages", "OnlyMentions"}).Draw(t, "defaultNotifications")
	spec.ExplicitContentFilter = rapid.SampledFrom([]v1alpha1.ExplicitContentFilter{"", "Disabled", "AllMembers"}).Draw(t, "explicitContentFilter")
	spec.PreferredLocale = rapid.SampledFrom([]string{"", "de", "ja"}).Draw(t, "preferredLocale")
	spec.AFKTimeout = rapid.SampledFrom([]v1alpha1.AFKTimeout{"", "1m", "1h"}).Draw(t, "afkTimeout")
	for field, named := range map[string]bool{
		"name": spec.Name != "", "description": spec.Description != nil, "verificationLevel": spec.VerificationLevel != "",
		"defaultNotifications": spec.DefaultNotifications != "", "explicitContentFilter": spec.ExplicitContentFilter != "",
		"preferredLocale": spec.PreferredLocale != "", "afkTimeout": spec.AFKTimeout != "",
	} {
		h.managed[field] = h.managed[field] || named
	}
}

func (h *history) Hand(t *rapid.T) {
	g := discordclient.Guild{
		ID: h.guild.ID, Name: drawText.Draw(t, "name"), Description: drawText.Draw(t, "description"), VerificationLevel: rapid.IntRange(0, 4).Draw(t, "level"),
		DefaultNotifications: rapid.IntRange(0, 1).Draw(t, "notifications"), ExplicitContentFilter: rapid.IntRange(0, 2).Draw(t, "filter"),
		PreferredLocale: rapid.SampledFrom([]string{"de", "fr"}).Draw(t, "locale"), AFKTimeout: rapid.SampledFrom([]int{60, 300}).Draw(t, "timeout"),
	}
	h.guild, h.byHand = g, g
}

func (h *history) Rival(t *rapid.T) {
	if h.rival != nil {
		h.rival = nil
		return
	}
	h.rival = &v1alpha1.DiscordServer{ObjectMeta: metav1.ObjectMeta{
		Name: "rival", UID: "rival", CreationTimestamp: metav1.NewTime(h.server.CreationTimestamp.Add(time.Duration(rapid.IntRange(-1, 1).Draw(t, "age")) * time.Hour)),
	}}
}

// A lost response is no separate case: the next reconcile observes the edit that Discord applied.
func (h *history) Reconcile(t *rapid.T) { h.reconcile(rapid.Bool().Draw(t, "carried out")) }

func (h *history) reconcile(carriedOut bool) Plan {
	p := NewPlan(h.server, h.observe())
	if !p.Manageable {
		return p
	}
	conditions.Set(&h.server.Status.Conditions, h.server.Generation, conditions.Usable("OnDiscord", ""), conditions.Worst(p.Issues))
	if carriedOut {
		edit := p.Edit
		set(&h.guild.Name, edit.Name)
		set(&h.guild.Description, edit.Description)
		set(&h.guild.VerificationLevel, edit.VerificationLevel)
		set(&h.guild.DefaultNotifications, edit.DefaultNotifications)
		set(&h.guild.ExplicitContentFilter, edit.ExplicitContentFilter)
		set(&h.guild.PreferredLocale, edit.PreferredLocale)
		set(&h.guild.AFKTimeout, edit.AFKTimeout)
	}
	return p
}

func set[T any](field *T, change discordclient.Change[T]) {
	if value, changes := change.Get(); changes {
		*field = value
	}
}

func (h *history) observe() State {
	claims := []v1alpha1.DiscordServer{*h.server}
	if h.rival != nil {
		claims = append(claims, *h.rival)
	}
	return State{
		Application: &discordclient.Application{}, GuildID: h.guild.ID, Manager: manager(claims, time.Now()),
		Snapshot: &guildcache.Snapshot{Presence: guildcache.PresencePresent, Guild: h.guild},
	}
}

func (h *history) Check(t *rapid.T) {
	now, was := h.guild, h.byHand
	for field, values := range map[string][2]any{
		"name": {was.Name, now.Name}, "description": {was.Description, now.Description}, "verificationLevel": {was.VerificationLevel, now.VerificationLevel},
		"defaultNotifications": {was.DefaultNotifications, now.DefaultNotifications}, "preferredLocale": {was.PreferredLocale, now.PreferredLocale},
		"explicitContentFilter": {was.ExplicitContentFilter, now.ExplicitContentFilter}, "afkTimeout": {was.AFKTimeout, now.AFKTimeout},
	} {
		if !h.managed[field] && values[0] != values[1] {
			t.Fatalf("%s was %v, the spec does not name it, and it is %v", field, values[0], values[1])
		}
	}
}

// After any history, one reconcile makes the guild match the spec, and a second changes nothing.
func TestAnyHistoryOfAServerEndsWell(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		h := &history{
			server:  &v1alpha1.DiscordServer{ObjectMeta: metav1.ObjectMeta{Name: "jujutsu", UID: "uid", CreationTimestamp: metav1.NewTime(time.Unix(1_700_000_000, 0))}},
			managed: map[string]bool{},
		}
		h.Hand(t)
		t.Repeat(rapid.StateMachineActions(h))
		managed := h.reconcile(true).Manageable
		before := h.guild
		again := h.reconcile(true)
		if again.Manageable != managed || len(again.Fields) > 0 {
			t.Fatalf("managed %t, then %t; still differs: %v", managed, again.Manageable, again.Fields)
		}
		if diff := cmp.Diff(before, h.guild); diff != "" {
			t.Fatal(diff)
		}
		if managed && h.server.Spec.Name != "" && h.guild.Name != h.server.Spec.Name {
			t.Fatalf("it is called %q", h.guild.Name)
		}
		if !managed && (h.rival == nil || h.observe().Manager.UID != h.rival.UID) {
			t.Fatal("no object manages it")
		}
	})
}
