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

	"jutsu.com/operators/test/discordtest"
	"jutsu.com/operators/test/discordtest/internal/rig"
)

const screenshots = "../../../out/discordtest"

// browser starts headless Chromium. Tests with a browser are not parallel: several browsers would
// starve each other on a machine with two busy cores. If Chromium is not installed, browser skips the test, or fails
// the test if REQUIRE_BROWSER is set.
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
		chromedp.Flag("disable-dev-shm-usage", true), chromedp.WSURLReadTimeout(2*time.Minute),
		chromedp.Flag("disable-gpu-watchdog", true)) // on a busy machine, it would end the process that draws the page
	ctx, stop := context.WithTimeout(t.Context(), 8*time.Minute)
	t.Cleanup(stop)
	ctx, stop = chromedp.NewExecAllocator(ctx, opts...)
	t.Cleanup(stop)
	ctx, stop = chromedp.NewContext(ctx)
	t.Cleanup(stop)
	return ctx
}

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

func TestPage(t *testing.T) {
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

	r.Srv.EditChannelByHand(alerts, func(c *discordtest.Channel) { c.Topic = "drifted" })
	ask(ctx, t, chromedp.Poll[bool](`document.querySelector("#channel-topic").textContent === "drifted"`))
	r.Srv.PostByHand(alerts, r.Srv.AddUser("gojo"), "on my way")
	ask(ctx, t, chromedp.Poll[bool](`document.querySelector("#messages").textContent.includes("on my way")`))

	// An update must not replace unchanged elements: a click on a replaced button would be lost.
	ask(ctx, t, chromedp.Evaluate[bool](`document.querySelector(".channel").focus(), document.querySelector("article").dataset.seen = "yes", true`))
	r.Srv.AddGuild(discordtest.GuildSpec{Name: "Kyoto"})
	r.Must(200, "GET", "/users/@me", nil)
	ask(ctx, t, chromedp.Poll[bool](`document.querySelectorAll("#servers button").length === 2`))
	if !ask(ctx, t, chromedp.Evaluate[bool](`document.activeElement.matches(".channel") && document.querySelector("article").dataset.seen === "yes"`)) {
		t.Error("channels or messages were drawn again though nothing about them has changed")
	}

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

func TestPageShowsEachType(t *testing.T) {
	ctx := browser(t)
	r := rig.New(t, rig.Usual|discordtest.PermAdministrator, rig.Community)
	group := r.Channel(obj{"name": "Community", "type": 4})
	in := func(kind int, name string, more obj) string {
		more["type"], more["name"], more["parent_id"] = kind, name, group
		return r.Channel(more)
	}
	hall := in(2, "Great Hall", obj{"user_limit": 5, "bitrate": 96000, "rtc_region": "rotterdam", "video_quality_mode": 2})
	stage := in(13, "Main Stage", obj{})
	in(16, "pictures", obj{})
	in(5, "news", obj{})
	ideas := in(15, "ideas", obj{"topic": "Be **kind**.", "default_sort_order": 1, "default_forum_layout": 2,
		"default_thread_rate_limit_per_user": 5, "default_reaction_emoji": obj{"emoji_name": "✅"},
		"available_tags": []obj{{"name": "bug", "emoji_name": "🐛"}, {"name": "solved", "moderated": true}}})
	r.Must(200, "PATCH", "/channels/"+ideas, obj{"flags": discordtest.FlagRequireTag})
	open := func(id string) {
		t.Helper()
		rig.Check(t, chromedp.Do(ctx, chromedp.EmulateViewport(1280, 800), chromedp.Navigate(r.Srv.URL()+"/#/"+r.Guild+"/"+id),
			chromedp.WaitVisible(`.channel[data-id="`+id+`"][aria-current]`)))
		ask(ctx, t, chromedp.Poll[bool](`document.querySelector("#state.live") !== null`))
	}
	open(ideas)
	names := ask(ctx, t, chromedp.Evaluate[[]string](`[...document.querySelectorAll(".channel .name")].map(e => e.textContent)`))
	if d := cmp.Diff([]string{"pictures", "news", "ideas", "Great Hall", "Main Stage"}, names); d != "" {
		t.Errorf("order of channels (-want +got):\n%s", d)
	}
	signs := ask(ctx, t, chromedp.Evaluate[int](`new Set([...document.querySelectorAll(".channel .sign path")].map(e => e.getAttribute("d"))).size`))
	if signs != 5 {
		t.Errorf("%d different signs of five types", signs)
	}
	text := ask(ctx, t, chromedp.Text("#messages"))
	for _, want := range []string{"Guidelines", "Be kind.", "🐛 bug", "solved", "Sort by Date Posted", "Gallery View", "Reaction ✅", "A tag is required", "slow mode 5 s in posts", "No posts in ideas yet."} {
		if !strings.Contains(text, want) {
			t.Errorf("the forum lacks %q; it says:\n%s", want, text)
		}
	}
	snap(ctx, t, "forum.png")
	r.Srv.EditChannelByHand(ideas, func(c *discordtest.Channel) { c.Tags[0].Name = "defect" })
	ask(ctx, t, chromedp.Poll[bool](`document.querySelector(".tag").textContent === "🐛 defect"`))

	open(hall)
	marks := ask(ctx, t, chromedp.Text("#marks"))
	for _, want := range []string{"96 kbps", "up to 5", "rotterdam", "720p video"} {
		if !strings.Contains(marks, want) {
			t.Errorf("the voice channel lacks %q; it says %s", want, marks)
		}
	}
	if list := ask(ctx, t, chromedp.Text("#channel-list")); !strings.Contains(list, "00 / 05") {
		t.Errorf("the list lacks the user limit:\n%s", list)
	}
	snap(ctx, t, "voice.png")
	open(stage)
	if text := ask(ctx, t, chromedp.Text("#messages")); !strings.Contains(text, "No one is on stage.") {
		t.Errorf("the stage says:\n%s", text)
	}
}

func ask[T any](ctx context.Context, t *testing.T, a chromedp.Action[T]) T {
	t.Helper()
	got, err := chromedp.Run(ctx, a)
	rig.Check(t, err)
	return got
}

func snap(ctx context.Context, t *testing.T, name string) {
	t.Helper()
	rig.Check(t, os.MkdirAll(screenshots, 0o755))
	rig.Check(t, os.WriteFile(filepath.Join(screenshots, name), ask(ctx, t, chromedp.CaptureScreenshot()), 0o644))
}
