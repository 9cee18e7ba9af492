// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
)

type call struct {
	method string
	// route is a template of Discord's documentation, such as "/channels/{channel_id}".
	route string
	// ids maps the placeholders of route, without braces, to their values.
	ids  map[string]string
	body any // the parsed JSON; nil if there is no body
}

// placeholders maps a path element to the placeholder for the id that follows it.
var placeholders = map[string]string{
	"guilds": "guild_id", "channels": "channel_id", "roles": "role_id", "members": "user_id",
	"webhooks": "webhook_id", "permissions": "overwrite_id", "messages": "message_id",
}

var number = regexp.MustCompile(`^[0-9]+$`)

// newCall ignores a body that is not JSON. path is relative to the API's root.
func newCall(method, path string, body []byte) call {
	c := call{method: method, ids: map[string]string{}}
	elements := strings.Split(strings.Trim(path, "/"), "/")
	for i, element := range elements {
		name := ""
		switch {
		case i > 0 && number.MatchString(element):
			name = placeholders[elements[i-1]]
		case i == 2 && elements[0] == "webhooks":
			name = "webhook_token"
		}
		if name != "" {
			c.ids[name] = element
			element = "{" + name + "}"
		}
		c.route += "/" + element
	}
	if json.Unmarshal(body, &c.body) != nil {
		c.body = nil
	}
	return c
}

func (c call) String() string { return c.method + " " + c.route }

func (c call) reads() bool { return c.method == http.MethodGet || c.method == http.MethodHead }

// subject returns the id of the called object, or else of its channel, or else "".
func (c call) subject() string {
	if !strings.HasSuffix(c.route, "}") {
		return c.ids["channel_id"]
	}
	for _, name := range []string{"webhook_id", "channel_id", "role_id", "user_id", "guild_id"} {
		if c.ids[name] != "" {
			return c.ids[name]
		}
	}
	return ""
}
