// SPDX-License-Identifier: Apache-2.0

package monitoring

import (
	"strings"
	"testing"
)

func TestWebhookBase(t *testing.T) {
	t.Parallel()
	for api, want := range map[string]string{
		"https://discord.com":               "https://discord.com/api",
		"https://discord.com/":              "https://discord.com/api",
		"https://discord.com/api":           "https://discord.com/api",
		"https://discord.com/api/v10":       "https://discord.com/api",
		"https://discord.com/api/v10/":      "https://discord.com/api",
		"http://127.0.0.1:8080/api/v10":     "http://127.0.0.1:8080/api",
		"https://proxy.example.com/discord": "https://proxy.example.com/discord/api",
		"https://proxy.example.com/v10":     "https://proxy.example.com",
	} {
		if got, err := WebhookBase(api); got != want || err != nil {
			t.Errorf("%s: %s, %v", api, got, err)
		}
	}
	for _, api := range []string{
		"", "discord.com", "ftp://discord.com", "https://", "https://discord.com/api/v9", "https://me:hidden@discord.com",
		"https://discord.com/api?hidden=1", "https://discord.com/api#hidden", "https://me:hidden@discord.com:x/api",
	} {
		if got, err := WebhookBase(api); err == nil || got != "" || strings.Contains(err.Error(), "hidden") {
			t.Errorf("%s: %s, %v", api, got, err)
		}
	}
}

func TestIsWebhook(t *testing.T) {
	t.Parallel()
	const base, id = "https://discord.com/api", "1401681709430341999"
	const token = "Lrt-4Q_zXhUOgXaWnYpO1rUvOaGqGmz8XzD0Vl6lT9FwB1dkRZzO1Yd0gM3o8nVtWq2s"
	for _, url := range []string{
		base + "/webhooks/" + id + "/" + token, base + "/v10/webhooks/" + id + "/" + token, base + "/webhooks/7/a",
	} {
		if !isWebhook(base, []byte(url)) {
			t.Errorf("%s should be a webhook URL", url)
		}
		if isWebhook("", []byte(url)) {
			t.Errorf("without a base, %s should not be a webhook URL", url)
		}
	}
	for name, url := range map[string]string{
		"an empty URL":                               "",
		"a URL of Discord that is no webhook":        base + "/channels/" + id + "/messages",
		"another host":                               "https://attacker.example.com/api/webhooks/7/a",
		"a host that begins with discord.com":        "https://discord.com.example.com/api/webhooks/7/a",
		"another subdomain":                          "https://canary.discord.com/api/webhooks/7/a",
		"capitals in the host":                       "https://Discord.com/api/webhooks/7/a",
		"another scheme":                             "http://discord.com/api/webhooks/7/a",
		"no scheme":                                  "//discord.com/api/webhooks/7/a",
		"Discord's host as the user of another host": "https://discord.com@attacker.example.com/api/webhooks/7/a",
		"a user and a password":                      "https://a:b@discord.com/api/webhooks/7/a",
		"a port":                                     "https://discord.com:443/api/webhooks/7/a",
		"no slash after the base":                    "https://discord.com/api@attacker.example.com/webhooks/7/a",
		"a query":                                    base + "/webhooks/7/a?wait=true",
		"an empty query":                             base + "/webhooks/7/a?",
		"a fragment":                                 base + "/webhooks/7/a#b",
		"dot segments":                               base + "/webhooks/7/../../../login",
		"dot segments in the base":                   base + "/../api/webhooks/7/a",
		"a dot segment as token":                     base + "/webhooks/7/..",
		"escaped dot segments":                       base + "/webhooks/7/%2e%2e",
		"an escaped slash":                           base + "/webhooks/7/a%2Fb",
		"a backslash":                                base + `/webhooks/7/a\b`,
		"a double slash":                             base + "//webhooks/7/a",
		"a slash at the end":                         base + "/webhooks/7/a/",
		"the form of Slack's webhooks":               base + "/webhooks/7/a/slack",
		"another version of the API":                 base + "/v9/webhooks/7/a",
		"no id":                                      base + "/webhooks//a",
		"an id that is no number":                    base + "/webhooks/@me/a",
		"an id in Arabic-Indic digits":               base + "/webhooks/٧/a",
		"no token":                                   base + "/webhooks/7/",
		"a line break at the end":                    base + "/webhooks/7/a\n",
		"a line break and another URL":               base + "/webhooks/7/a\nhttps://attacker.example.com",
		"another URL in the line before":             "https://attacker.example.com\n" + base + "/webhooks/7/a",
		"white space at the start":                   " " + base + "/webhooks/7/a",
		"a zero byte":                                base + "/webhooks/7/a\x00",
		"a template":                                 base + "/webhooks/7/{{ .ExternalURL }}",
		"a token that is too long":                   base + "/webhooks/7/" + strings.Repeat("a", 257),
		"an id that is too long":                     base + "/webhooks/" + strings.Repeat("7", 21) + "/a",
	} {
		if isWebhook(base, []byte(url)) {
			t.Errorf("%s: %q should not be a webhook URL", name, url)
		}
	}
}
