// SPDX-License-Identifier: Apache-2.0

package page_test

import (
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/google/go-cmp/cmp"

	"jutsu.com/operators/test/discordtest"
	"jutsu.com/operators/test/discordtest/internal/rig"
)

// TestPicture takes a screenshot for the docs. `make screenshots` runs this test.
func TestPicture(t *testing.T) {
	ctx := browser(t)
	r := rig.New(t, rig.Usual|discordtest.PermAdministrator)
	r.Channel(obj{"name": "welcome", "type": 0})
	group := r.Channel(obj{"name": "Alerts", "type": 4, "position": 0})
	staff := r.Channel(obj{"name": "Staff room", "type": 4, "position": 1})
	alerts := r.Channel(obj{"name": "tokyo-alerts", "type": 0, "parent_id": group, "position": 0,
		"topic": "What is wrong at Tokyo Jujutsu High"})
	r.Channel(obj{"name": "kyoto-alerts", "type": 0, "parent_id": group, "position": 1})
	r.Channel(obj{"name": "sendai-jujutsu-high-alerts", "type": 0, "parent_id": group, "position": 2})
	r.Channel(obj{"name": "principals", "type": 0, "parent_id": staff, "permission_overwrites": []obj{
		{"id": r.Guild, "type": 0, "deny": "1024"}, {"id": r.Bot.UserID, "type": 1, "allow": "1024"}}})
	hook := r.Must(200, "POST", "/channels/"+alerts+"/webhooks", obj{"name": "Alertmanager"}).JSON
	onCall := r.Must(200, "POST", "/guilds/"+r.Guild+"/roles", obj{"name": "on-call", "color": 0xe67e22}).JSON["id"].(string)
	links := "[Dashboard](https://grafana.example/d/dojo) · [Runbook](https://runbooks.example/dojo)"
	post := func(content, title string, color int, links string) {
		r.Must(204, "POST", "/webhooks/"+hook["id"].(string)+"/"+hook["token"].(string), obj{"content": content, "embeds": []obj{{
			"title": title + " DojoDegraded · default/tokyo-jujutsu-high", "color": color,
			"description": "**Dojo default/tokyo-jujutsu-high is degraded: CredentialsIncomplete**\n" +
				"A user must act: `kubectl describe dojo` shows what to do.\n_warning, since 2026-08-01 12:00:00 UTC_\n" + links,
		}}})
	}
	r.Srv.Advance(time.Minute)
	post("<@&"+onCall+"> ", "🔥", 0x992d22, "[Silence it](https://alertmanager.example/#/silences/new) · "+links)
	r.Srv.Advance(4 * time.Minute)
	post("", "✅ Resolved:", 0x2ecc71, links)

	rig.Check(t, chromedp.Do(ctx, chromedp.EmulateViewport(1040, 520, chromedp.EmulateScale(2)),
		chromedp.Navigate(r.Srv.URL()+"/#/"+r.Guild+"/"+alerts), chromedp.WaitVisible("article + article .embed")))
	ask(ctx, t, chromedp.Poll[bool](`document.querySelector("#state.live") !== null`))
	emphasised := ask(ctx, t, chromedp.Evaluate[[]string](`[...document.querySelectorAll("article em")].map(e => e.textContent)`))
	since := "warning, since 2026-08-01 12:00:00 UTC"
	if d := cmp.Diff([]string{since, since}, emphasised); d != "" {
		t.Errorf("in italics (-want +got):\n%s", d)
	}
	type mention struct{ Text, Color string }
	got := ask(ctx, t, chromedp.Evaluate[[]mention](
		`[...document.querySelectorAll("article .mention")].map(e => ({Text: e.textContent, Color: getComputedStyle(e).color}))`))
	if d := cmp.Diff([]mention{{"@on-call", "rgb(230, 126, 34)"}}, got); d != "" {
		t.Errorf("mentions (-want +got):\n%s", d)
	}
	snap(ctx, t, "playground.png")
}
