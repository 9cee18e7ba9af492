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
	// route is the template of Discord's documentation, such as "/channels/{channel_id}".
	route string
	// ids maps the placeholders in the route, without braces, to their values in the path.
	ids  map[string]string
	body any // the parsed JSON; nil if there is no body
}

// placeholders maps an element of a path to the placeholder for the id that follows the element.
var placeholders = map[string]string{
	"guilds": "guild_id", "channels": "channel_id", "roles": "role_id", "members": "user_id",
	"webhooks": "webhook_id", "permissions": "overwrite_id", "messages": "message_id",
}

var number = regexp.MustCompile(`^[0-9]+$`)

// newCall returns the call of an HTTP request. path is relative to the API's root. A body that is
// not JSON is ignored.
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

// subject returns the id of the object that the call reads or writes. For a list or a create in a
// channel, it returns the id of the channel. For a list or a create in the server, it returns "".
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
