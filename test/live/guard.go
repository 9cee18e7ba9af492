// SPDX-License-Identifier: Apache-2.0

package main

import (
	"maps"
	"slices"
	"strings"
	"sync"
)

// territory lists the objects that the run has created. The run may write no other objects.
type territory struct {
	guild string
	// prefix is the name of the run's category and the beginning of its other names.
	prefix string

	mu    sync.Mutex
	names map[string]string // maps ids to names without the prefix
	order []string          // ids, the oldest first
	bot   string            // the bot's user id
}

const categoryName = "category"

func newTerritory(guild, prefix string) *territory {
	return &territory{guild: guild, prefix: prefix, names: map[string]string{}}
}

// own returns the name, without the prefix, of an object that the run has created.
func (t *territory) own(id string) (name string, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	name, ok = t.names[id]
	return name, ok
}

func (t *territory) setBot(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.bot = id
}

func (t *territory) isBot(id string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return id == t.bot
}

func (t *territory) find(name string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, id := range slices.Backward(t.order) {
		if t.names[id] == name {
			return id
		}
	}
	return ""
}

func (t *territory) all() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	ids := slices.Clone(t.order)
	slices.Reverse(ids)
	return ids
}

func (t *territory) add(id, name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, known := t.names[id]; known || id == "" {
		return
	}
	t.names[id] = name
	t.order = append(t.order, id)
}

func (t *territory) short(name string) (string, bool) {
	if name == t.prefix {
		return categoryName, true
	}
	return strings.CutPrefix(name, t.prefix+"-")
}

// learn adds channels and roles with the prefix, and webhooks of the run's channels.
func (t *territory) learn(c call, answer any) {
	list, isList := answer.([]any)
	if !isList {
		list = []any{answer}
	}
	for _, element := range list {
		object, _ := element.(map[string]any)
		id, name := text(object, "id"), text(object, "name")
		switch c.route {
		case "/guilds/{guild_id}/channels", "/guilds/{guild_id}/roles":
			if short, ok := t.short(name); ok {
				t.add(id, short)
			}
		case "/channels/{channel_id}/webhooks":
			if _, ok := t.own(c.ids["channel_id"]); ok {
				t.add(id, "webhook")
			}
		}
	}
}

// refusal returns the reason to refuse a call, or "".
func (t *territory) refusal(c call) string {
	if c.reads() {
		return ""
	}
	if guild := c.ids["guild_id"]; guild != "" && guild != t.guild {
		return "another server"
	}
	body, _ := c.body.(map[string]any)
	switch c.String() {
	case "POST /guilds/{guild_id}/channels":
		return firstOf(t.refuseName(body), t.refuseParent(body, text(body, "name") == t.prefix))
	case "POST /guilds/{guild_id}/roles":
		return t.refuseName(body)
	case "PATCH /guilds/{guild_id}/channels", "PATCH /guilds/{guild_id}/roles":
		return t.refuseMoves(c.body)
	case "PATCH /channels/{channel_id}":
		return firstOf(t.refuseID(c.ids["channel_id"]), t.refuseParent(body, !slices.Contains(keys(body), "parent_id")))
	case "DELETE /channels/{channel_id}", "POST /channels/{channel_id}/webhooks",
		"PUT /channels/{channel_id}/permissions/{overwrite_id}",
		"DELETE /channels/{channel_id}/permissions/{overwrite_id}":
		return t.refuseID(c.ids["channel_id"])
	case "PATCH /guilds/{guild_id}/roles/{role_id}", "DELETE /guilds/{guild_id}/roles/{role_id}":
		return t.refuseID(c.ids["role_id"])
	case "PATCH /webhooks/{webhook_id}", "DELETE /webhooks/{webhook_id}":
		return t.refuseID(c.ids["webhook_id"])
	}
	return "no call of this program"
}

func (t *territory) refuseID(id string) string {
	if _, ok := t.own(id); !ok {
		return "an object of others"
	}
	return ""
}

func (t *territory) refuseName(body map[string]any) string {
	if _, ok := t.short(text(body, "name")); !ok {
		return "a name without the prefix " + t.prefix
	}
	return ""
}

func (t *territory) refuseParent(body map[string]any, none bool) string {
	if parent := text(body, "parent_id"); parent != "" {
		return t.refuseID(parent)
	}
	if !none {
		return "a channel outside of the category"
	}
	return ""
}

func (t *territory) refuseMoves(body any) string {
	moves, isList := body.([]any)
	if !isList {
		return "a move without a list"
	}
	for _, element := range moves {
		move, _ := element.(map[string]any)
		why := firstOf(t.refuseID(text(move, "id")),
			t.refuseParent(move, !slices.Contains(keys(move), "parent_id")))
		if why != "" {
			return why
		}
	}
	return ""
}

func firstOf(reasons ...string) string {
	for _, reason := range reasons {
		if reason != "" {
			return reason
		}
	}
	return ""
}

func text(object map[string]any, key string) string {
	value, _ := object[key].(string)
	return value
}

func keys(object map[string]any) []string { return slices.Sorted(maps.Keys(object)) }
