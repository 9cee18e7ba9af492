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

// apiVersion is the version of Discord's API that discord-operator speaks.
const apiVersion = "v10"

var anyVersion = regexp.MustCompile(`^v[0-9]+$`)

// WebhookBase returns the beginning of the URLs of webhooks, such as "https://discord.com/api". The
// address of an API is read as discord-operator reads it: "https://discord.com",
// "https://discord.com/api" and "https://discord.com/api/v10" are the same. Errors quote no user and no
// query: they may be secret.
func WebhookBase(api string) (string, error) {
	base, err := url.Parse(strings.TrimRight(api, "/"))
	if err != nil || base.Host == "" || base.Scheme != "https" && base.Scheme != "http" ||
		base.User != nil || base.RawQuery != "" || base.Fragment != "" {
		return "", errors.New("the API's address is not one such as https://discord.com/api/" + apiVersion +
			", without a user or a query")
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

// webhookPath is the path of a webhook below its base. The version is optional, the id is a snowflake, and the
// token has letters that no URL escapes
// (https://discord.com/developers/docs/resources/webhook#execute-webhook).
var webhookPath = regexp.MustCompile(`^(?:/` + apiVersion + `)?/webhooks/[0-9]{1,20}/[A-Za-z0-9_-]{1,256}$`)

// isWebhook reports whether an URL is that of a webhook below the base. It compares letters and does not
// parse: two programs may disagree about what an odd URL means.
func isWebhook(base string, u []byte) bool {
	rest, found := strings.CutPrefix(string(u), base)
	return base != "" && found && webhookPath.MatchString(rest)
}
