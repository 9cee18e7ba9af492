// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"bytes"
	"encoding/json"
	"net/http"
	"regexp"
	"strconv"
)

// Divergence is a known difference between Discord and its OpenAPI description. Its rewrite makes
// a body conform to the description, or its excuse selects the violations to ignore.
type Divergence struct {
	Name string

	Reason string

	rewrite func(side string, body any) any
	excuse  func(v Violation) bool
}

// Divergences lists all known divergences.
var Divergences = []Divergence{
	{
		Name: "codes of nested errors are text",
		Reason: `Leaves of "errors" carry codes such as BASE_TYPE_REQUIRED (Discord's reference, "Error messages"); ` +
			`the description says integer.`,
		rewrite: func(side string, body any) any { return onlyIf(side == "response", body, numberCodes) },
	},
	{
		Name: "permission bits are text",
		Reason: "Discord's reference writes permissions as decimal strings, since they outgrow 53 bits; " +
			"for requests the description says integer. Both are accepted.",
		rewrite: func(side string, body any) any { return onlyIf(side == "request", body, numberBits) },
	},
	{
		Name: "media channels have a type",
		Reason: "Discord's reference has GUILD_MEDIA (16) since 2023; the description's lists of types end with " +
			"forums (15), which have all fields of media channels.",
		rewrite: func(_ string, body any) any { return mediaAsForums(body) },
	},
	{
		Name: "guilds cannot be made or deleted",
		Reason: "POST /guilds and DELETE /guilds/{guild_id} were removed from the description in 2025; " +
			"Discord still answers them (20001).",
		excuse: func(v Violation) bool {
			return v.Method == http.MethodPost && v.Path == "/api/v10/guilds" ||
				v.Method == http.MethodDelete && guildPath.MatchString(v.Path)
		},
	},
	{
		Name:   "unknown routes and methods",
		Reason: "Discord answers routes and methods that the description lacks: with 404 and 405, and code 0.",
		excuse: func(v Violation) bool {
			return v.unrouted && (v.Status == http.StatusNotFound || v.Status == http.StatusMethodNotAllowed)
		},
	},
	{
		Name: "5xx",
		Reason: "The description knows 4XX and 429 only; " +
			"Discord and the proxies in front of it answer 500, 502, 503 and 504 too.",
		excuse: func(v Violation) bool { return v.Status >= 500 },
	},
	{
		Name: "bans are HTML",
		Reason: "An address with too many invalid requests gets a 429 in HTML from Cloudflare; " +
			"the description knows JSON only.",
		excuse: func(v Violation) bool { return v.Status == http.StatusTooManyRequests && v.html },
	},
}

var guildPath = regexp.MustCompile(`^/api/v10/guilds/\d+$`)

func rewritten(side string, body []byte) ([]byte, bool) {
	var v any
	if json.Unmarshal(body, &v) != nil {
		return nil, false
	}
	before, _ := json.Marshal(v)
	for _, d := range Divergences {
		if d.rewrite != nil {
			v = d.rewrite(side, v)
		}
	}
	after, err := json.Marshal(v)
	return after, err == nil && !bytes.Equal(after, before)
}

func excused(found []Violation) (rest []Violation) {
	for _, v := range found {
		ok := false
		for _, d := range Divergences {
			ok = ok || d.excuse != nil && d.excuse(v)
		}
		if !ok {
			rest = append(rest, v)
		}
	}
	return rest
}

func onlyIf(ok bool, body any, change func(any) any) any {
	if !ok {
		return body
	}
	return change(body)
}

func numberCodes(body any) any {
	if m, ok := body.(map[string]any); ok && m["errors"] != nil {
		eachObject(m["errors"], func(leaf map[string]any) {
			if _, text := leaf["code"].(string); text && leaf["message"] != nil {
				leaf["code"] = 0
			}
		})
	}
	return body
}

func numberBits(body any) any {
	eachObject(body, func(o map[string]any) {
		for _, key := range []string{"allow", "deny", "permissions"} {
			if s, ok := o[key].(string); ok {
				if _, err := strconv.ParseUint(s, 10, 64); err == nil {
					o[key] = json.Number(s)
				}
			}
		}
	})
	return body
}

// mediaAsForums replaces type 16 by 15 in objects with a name: these are channels.
func mediaAsForums(body any) any {
	const forum, media = "15", "16"
	eachObject(body, func(o map[string]any) {
		if kind, err := json.Marshal(o["type"]); err == nil && string(kind) == media && o["name"] != nil {
			o["type"] = json.Number(forum)
		}
	})
	return body
}

func eachObject(v any, visit func(map[string]any)) {
	switch x := v.(type) {
	case map[string]any:
		visit(x)
		for _, inner := range x {
			eachObject(inner, visit)
		}
	case []any:
		for _, inner := range x {
			eachObject(inner, visit)
		}
	}
}
