// SPDX-License-Identifier: Apache-2.0

package monitoring

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"regexp"
	"strings"
)

// apiVersion is the version of Discord's API that discord-operator uses.
const apiVersion = "v10"

var anyVersion = regexp.MustCompile(`^v[0-9]+$`)

// WebhookBase returns the prefix of webhook URLs, such as "https://discord.com/api". It accepts the
// same URLs as discord-operator. Its errors do not quote the URL, which may contain a secret.
func WebhookBase(api string) (string, error) {
	base, err := url.Parse(strings.TrimRight(api, "/"))
	if err != nil || base.Host == "" || base.Scheme != "https" && base.Scheme != "http" ||
		base.User != nil || base.RawQuery != "" || base.Fragment != "" {
		return "", errors.New("the API's address must have the form of https://discord.com/api/" + apiVersion +
			", without a user, a query and a fragment")
	}
	switch version := path.Base(base.Path); {
	case version == apiVersion:
		base.Path = strings.TrimSuffix(base.Path, "/"+apiVersion)
	case anyVersion.MatchString(version):
		return "", fmt.Errorf("the API's address ends with %s, but discord-operator speaks only %s of Discord's API: "+
			"give the address without a version", version, apiVersion)
	case version != "api":
		base.Path += "/api"
	}
	return base.String(), nil
}

// webhookPath allows no escapes, because a token needs none:
// https://discord.com/developers/docs/resources/webhook#execute-webhook
var webhookPath = regexp.MustCompile(`^(?:/` + apiVersion + `)?/webhooks/[0-9]{1,20}/[A-Za-z0-9_-]{1,256}$`)

// isWebhook compares text, because Alertmanager might parse an unusual URL differently.
func isWebhook(base string, u []byte) bool {
	rest, found := strings.CutPrefix(string(u), base)
	return base != "" && found && webhookPath.MatchString(rest)
}
