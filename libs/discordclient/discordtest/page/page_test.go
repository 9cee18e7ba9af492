// SPDX-License-Identifier: Apache-2.0

package page_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/google/go-cmp/cmp"

	"jutsu.com/operators/libs/discordclient/discordtest"
	"jutsu.com/operators/libs/discordclient/discordtest/internal/rig"
)

// screenshots is where pictures of the page go: the repository's ignored out folder.
const screenshots = "../../../../out/discordtest"

// browser starts a headless Chromium, or skips the test when the machine has none; it fails where
// REQUIRE_BROWSER is set.
func browser(t *testing.T) context.Context {
	t.Helper()
	var path string
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome"} {
		if p, err := exec.LookPath(name); err == nil {
			path = p
			break
		}
	}
	without := t.Skip
	if os.Getenv("REQUIRE_BROWSER") != "" {
		without = t.Fatal
	}
	if path == "" {
		without("no chromium on this machine (Debian: apt-get install chromium): the page is not tested")
	}
	opts := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-dev-shm-usage", true), chromedp.WSURLReadTimeout(time.Minute))
	ctx, stop := context.WithTimeout(t.Context(), 3*time.Minute)
	t.Cleanup(stop)
	ctx, stop = chromedp.NewExecAllocator(ctx, opts...)
	t.Cleanup(stop)
	ctx, stop = chromedp.NewContext(ctx)
	t.Cleanup(stop)
	return ctx
}

// school fills a guild with what the page is to show; returns the channel with the alerts.
func school(r *rig.Rig) (alerts string) {
	group := r.Channel(obj{"name": "Alerts", "type": 4, "position": 1})
	r.Channel(obj{"name": "Staff", "type": 4, "position": 0, "permission_overwrites": []obj{{"id": r.Guild, "type": 0, "deny": "1024"}, {"id": r.Bot.UserID, "type": 1, "allow": "1024"}}})
	r.Channel(obj{"name": "welcome", "type": 0, "topic": "Start here"})
	r.Channel(obj{"name": "Voice", "type": 2, "parent_id": group, "position": 0})
	r.Channel(obj{"name": "kyoto-alerts", "type": 0, "parent_id": group, "position": 2})
	alerts = r.Channel(obj{"name": "tokyo-alerts", "type": 0, "parent_id": group, "position": 1, "topic": "Alerts of the Tokyo Dojo", "rate_limit_per_user": 30})
	hook := r.Must(200, "POST", "/channels/"+alerts+"/webhooks", obj{"name": "alertmanager"}).JSON
	r.Must(204, "POST", "/webhooks/"+hook["id"].(string)+"/"+hook["token"].(string), obj{
		"username": "Alertmanager", "content": "<script>document.title='hacked'</script> **look** at `dojo`",
		"embeds": []obj{{"title": "[FIRING:1] DojoDown (tokyo-jujutsu-high)", "url": "https://example.com/alert", "color": 0xed4245,
			"description": "**No replica is ready** for 5 minutes.\nSee [the runbook](https://example.com/runbook).",
			"fields":      []obj{{"name": "Severity", "value": "critical", "inline": true}, {"name": "Namespace", "value": "default", "inline": true}},
			"footer":      obj{"text": "prometheus"}, "timestamp": "2026-08-01T12:00:00Z"}}})
	return alerts
}

// TestPage opens the page in a browser, on a desktop and on a phone.
func TestPage(t *testing.T) {
	t.Parallel()
	ctx := browser(t)
	r := rig.New(t, rig.Usual|discordtest.PermAdministrator)
	alerts := school(r)
	names := `[...document.querySelectorAll("#channel-list h3, #channel-list .name")].map(e => e.textContent)`
	rig.Check(t, chromedp.Do(ctx, chromedp.EmulateViewport(1280, 800), chromedp.Navigate(r.Srv.URL()+"/#/"+r.Guild+"/"+alerts), chromedp.WaitVisible(".embed")))
	order := ask(ctx, t, chromedp.Evaluate[[]string](names))
	text := ask(ctx, t, chromedp.Text("#messages"))
	title := ask(ctx, t, chromedp.Title())
	color := ask(ctx, t, chromedp.Evaluate[string](`document.querySelector(".embed").style.borderLeftColor`))
	snap(ctx, t, "desktop.png")
	if d := cmp.Diff([]string{"welcome", "Staff", "Alerts", "tokyo-alerts", "kyoto-alerts", "Voice"}, order); d != "" {
		t.Errorf("order of channels (-want +got):\n%s", d)
	}
	for _, want := range []string{"<script>", "look at dojo", "[FIRING:1] DojoDown", "No replica is ready for 5 minutes.", "the runbook", "Severity", "critical", "prometheus", "Alertmanager"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q; it says:\n%s", want, text)
		}
	}
	if title != "Simulated Discord" || color != "rgb(237, 66, 69)" {
		t.Errorf("title %q, colour of the embed %q", title, color)
	}

	// Without a reload: what happens on Discord shows, and what goes goes.
	r.Srv.EditChannelByHand(alerts, func(c *discordtest.Channel) { c.Topic = "drifted" })
	ask(ctx, t, chromedp.Poll[bool](`document.querySelector("#channel-topic").textContent === "drifted"`))
	r.Srv.PostByHand(alerts, r.Srv.AddUser("gojo"), "on my way")
	ask(ctx, t, chromedp.Poll[bool](`document.querySelector("#messages").textContent.includes("on my way")`))

	// What does not change is not drawn again: a button that goes between press and release gets no
	// click.
	ask(ctx, t, chromedp.Evaluate[bool](`document.querySelector(".channel").focus(), document.querySelector("article").dataset.seen = "yes", true`))
	r.Srv.AddGuild(discordtest.GuildSpec{Name: "Kyoto"})
	r.Must(200, "GET", "/users/@me", nil)
	ask(ctx, t, chromedp.Poll[bool](`document.querySelectorAll("#servers button").length === 2`))
	if !ask(ctx, t, chromedp.Evaluate[bool](`document.activeElement.matches(".channel") && document.querySelector("article").dataset.seen === "yes"`)) {
		t.Error("channels or messages were drawn again though nothing about them has changed")
	}

	// A phone: first the channels, then, after a tap, the messages, then back.
	rig.Check(t, chromedp.Do(ctx, chromedp.EmulateViewport(390, 844, chromedp.EmulateMobile, chromedp.EmulateScale(2)), chromedp.Click("#back"),
		chromedp.WaitVisible("#channel-list"), chromedp.WaitNotVisible("#messages")))
	snap(ctx, t, "phone-channels.png")
	rig.Check(t, chromedp.Do(ctx, chromedp.Click(`[data-id="`+alerts+`"]`), chromedp.WaitVisible(".embed")))
	snap(ctx, t, "phone-messages.png")
	wide := ask(ctx, t, chromedp.Evaluate[bool](`document.documentElement.scrollWidth > innerWidth`))
	if wide {
		t.Error("on a phone the page is wider than the screen")
	}
	r.Srv.DeleteChannelByHand(alerts)
	ask(ctx, t, chromedp.Poll[bool](`!document.querySelector('[data-id="`+alerts+`"]')`))
}

// ask evaluates something in the browser.
func ask[T any](ctx context.Context, t *testing.T, a chromedp.Action[T]) T {
	t.Helper()
	got, err := chromedp.Run(ctx, a)
	rig.Check(t, err)
	return got
}

// snap writes a picture of what the browser shows.
func snap(ctx context.Context, t *testing.T, name string) {
	t.Helper()
	rig.Check(t, os.MkdirAll(screenshots, 0o755))
	rig.Check(t, os.WriteFile(filepath.Join(screenshots, name), ask(ctx, t, chromedp.CaptureScreenshot()), 0o644))
}
