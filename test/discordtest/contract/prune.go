// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"encoding/json"
	"regexp"
	"strings"

	"jutsu.com/operators/test/discordtest"
)

var carriesMessages = regexp.MustCompile(`/messages|/webhooks/[^/]+/[^/]+`)

func prune(raw []byte, messages bool) ([]byte, error) {
	var doc, paths, components, schemas map[string]json.RawMessage
	for _, step := range []struct {
		from func() json.RawMessage
		to   *map[string]json.RawMessage
	}{
		{func() json.RawMessage { return raw }, &doc},
		{func() json.RawMessage { return doc["paths"] }, &paths},
		{func() json.RawMessage { return doc["components"] }, &components},
		{func() json.RawMessage { return components["schemas"] }, &schemas},
	} {
		if err := json.Unmarshal(step.from(), step.to); err != nil {
			return nil, err
		}
	}
	kept := map[string]json.RawMessage{}
	for _, route := range discordtest.Routes() {
		_, template, _ := strings.Cut(route, " ")
		if p, ok := paths[template]; ok && carriesMessages.MatchString(template) == messages {
			kept[template] = p
		}
	}
	used := map[string]json.RawMessage{}
	for _, p := range kept {
		reach(schemas, p, used)
	}
	reach(schemas, components["responses"], used)
	components["schemas"] = encode(used)
	doc["paths"], doc["components"] = encode(kept), encode(components)
	return encode(doc), nil
}

var reference = regexp.MustCompile(`"#/components/schemas/([^"/]+)"`)

func reach(schemas map[string]json.RawMessage, piece json.RawMessage, used map[string]json.RawMessage) {
	for _, m := range reference.FindAllSubmatch(piece, -1) {
		name := string(m[1])
		if _, ok := used[name]; !ok {
			used[name] = schemas[name]
			reach(schemas, schemas[name], used)
		}
	}
}

func encode(m map[string]json.RawMessage) json.RawMessage {
	b, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	return b
}
