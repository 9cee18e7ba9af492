// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"encoding/json"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// tables maps each Discord object to the page of docs/reference that lists its fields.
var tables = map[string]string{
	"server": "discordserver.md", "role": "discordrole.md", "channel": "discordchannel.md",
	"overwrite": "discordchannel.md", "webhook": "discordchannel.md",
}

var writable = map[string][]string{
	"server": {"patch /guilds/{guild_id}"},
	"role": {
		"post /guilds/{guild_id}/roles", "patch /guilds/{guild_id}/roles", "patch /guilds/{guild_id}/roles/{role_id}",
	},
	"channel":   {"post /guilds/{guild_id}/channels", "patch /channels/{channel_id}"},
	"overwrite": {"put /channels/{channel_id}/permissions/{overwrite_id}"},
	"webhook":   {"post /channels/{channel_id}/webhooks", "patch /webhooks/{webhook_id}"},
}

// docs/reference has every field that is writable according to Discord's OpenAPI description.
func TestPagesHaveEveryFieldOfDiscord(t *testing.T) {
	t.Parallel()
	described := os.Getenv("DISCORD_OPENAPI")
	if described == "" {
		without := t.Skip
		if os.Getenv("REQUIRE_CONTRACT") != "" {
			without = t.Fatal
		}
		without("set DISCORD_OPENAPI to the path of Discord's OpenAPI description (JSON)")
	}
	raw, err := os.ReadFile(described)
	if err != nil {
		t.Fatal(err)
	}
	var description map[string]any
	if err := json.Unmarshal(raw, &description); err != nil {
		t.Fatal(err)
	}
	for of, calls := range writable {
		fields := map[string]bool{}
		for _, call := range calls {
			method, path, _ := strings.Cut(call, " ")
			body := at(description, "paths", path, method, "requestBody")
			if body == nil {
				t.Fatalf("Discord's description has no body of %s", call)
			}
			addFields(fields, description, body)
		}
		if of == "overwrite" {
			fields["id"] = true // the id is in the path of the call
		}
		page := "docs/reference/" + tables[of]
		if diff := cmp.Diff(slices.Sorted(maps.Keys(fields)), tabled(text(t, page), of)); diff != "" {
			t.Errorf("the table of a %s (-Discord +%s):\n%s", of, page, diff)
		}
	}
}

func at(o map[string]any, keys ...string) map[string]any {
	for _, key := range keys {
		o, _ = o[key].(map[string]any)
	}
	return o
}

func addFields(fields map[string]bool, description, schema map[string]any) {
	if ref, ok := schema["$ref"].(string); ok {
		addFields(fields, description, at(description, strings.Split(strings.TrimPrefix(ref, "#/"), "/")...))
	}
	for name := range at(schema, "properties") {
		fields[name] = true
	}
	for _, key := range []string{"schema", "items"} {
		addNested(fields, description, schema[key])
	}
	for _, alternative := range at(schema, "content") {
		addNested(fields, description, alternative)
	}
	for _, key := range []string{"oneOf", "anyOf", "allOf"} {
		alternatives, _ := schema[key].([]any)
		for _, alternative := range alternatives {
			addNested(fields, description, alternative)
		}
	}
}

func addNested(fields map[string]bool, description map[string]any, schema any) {
	if schema, ok := schema.(map[string]any); ok {
		addFields(fields, description, schema)
	}
}

var code = regexp.MustCompile("`([a-z_]+)`")

func tabled(page, of string) (fields []string) {
	_, table, _ := strings.Cut(page, "| field of a"+map[bool]string{true: "n"}[of == "overwrite"]+" "+of+" in Discord's description |")
	table, _, _ = strings.Cut(table, "\n\n")
	for row := range strings.Lines(table) {
		if columns := strings.SplitN(row, "|", 3); len(columns) == 3 {
			for _, name := range code.FindAllStringSubmatch(columns[1], -1) {
				fields = append(fields, name[1])
			}
		}
	}
	slices.Sort(fields)
	return fields
}
