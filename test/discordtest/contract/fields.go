// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"jutsu.com/operators/test/discordtest"
)

// The schemas allow unknown fields, so validation misses misspelt fields. This file reports
// each field that no branch of a union (anyOf, oneOf, allOf) declares. The validator's strict mode
// checks only the first branch, which is wrong for users, channels and the audit log.

type schema = map[string]any

type fields struct {
	schemas, responses schema
	routes             []fieldsOf
}

type fieldsOf struct {
	method    string
	path      *regexp.Regexp
	operation schema
}

var placeholder = regexp.MustCompile(`\\\{[a-z_]+\\\}`)

func readFields(raw []byte) (*fields, error) {
	var doc schema
	if err := json.Unmarshal(raw, &doc); err != nil {
		return nil, fmt.Errorf("read Discord's OpenAPI description: %w", err)
	}
	f := &fields{schemas: at(doc, "components", "schemas"), responses: at(doc, "components", "responses")}
	for _, route := range discordtest.Routes() {
		method, template, _ := strings.Cut(route, " ")
		pattern := "^/api/v10" + placeholder.ReplaceAllString(regexp.QuoteMeta(template), "[^/]+") + "$"
		if op := at(doc, "paths", template, strings.ToLower(method)); op != nil {
			f.routes = append(f.routes, fieldsOf{method, regexp.MustCompile(pattern), op})
		}
	}
	return f, nil
}

func at(s schema, keys ...string) schema {
	for _, key := range keys {
		s, _ = s[key].(schema)
	}
	return s
}

// unknown returns the paths of undeclared fields. Status 0 means that the body is a request.
func (f *fields) unknown(r *http.Request, status int, body []byte) (paths []string) {
	i := slices.IndexFunc(f.routes, func(o fieldsOf) bool {
		return o.method == r.Method && o.path.MatchString(r.URL.Path)
	})
	var value any
	if i < 0 || json.Unmarshal(body, &value) != nil {
		return nil
	}
	described := at(f.routes[i].operation, "requestBody")
	if status != 0 {
		described = f.response(f.routes[i].operation, status)
	}
	f.visit("$", []schema{at(described, "content", "application/json", "schema")}, value, &paths)
	slices.Sort(paths)
	return paths
}

func (f *fields) response(op schema, status int) schema {
	all := at(op, "responses")
	for _, key := range []string{strconv.Itoa(status), strconv.Itoa(status/100) + "XX"} {
		if s := at(all, key); s != nil {
			if ref, ok := s["$ref"].(string); ok {
				return at(f.responses, ref[strings.LastIndex(ref, "/")+1:])
			}
			return s
		}
	}
	return nil
}

func (f *fields) visit(path string, may []schema, value any, unknown *[]string) {
	var branches []schema
	for _, s := range may {
		branches = f.branches(s, branches)
	}
	switch v := value.(type) {
	case []any:
		for i, item := range v {
			f.visit(fmt.Sprintf("%s[%d]", path, i), inner(branches, "items"), item, unknown)
		}
	case schema:
		open := inner(branches, "additionalProperties")
		free := len(open) > 0 || !slices.ContainsFunc(branches, func(s schema) bool { return s["properties"] != nil })
		for _, key := range slices.Sorted(maps.Keys(v)) {
			var declared []schema
			for _, s := range branches {
				if p := at(s, "properties", key); p != nil {
					declared = append(declared, p)
				}
			}
			if len(declared) == 0 && !free {
				*unknown = append(*unknown, path+"."+key)
			}
			f.visit(path+"."+key, append(declared, open...), v[key], unknown)
		}
	}
}

func (f *fields) branches(s schema, out []schema) []schema {
	if ref, ok := s["$ref"].(string); ok {
		return f.branches(at(f.schemas, ref[strings.LastIndex(ref, "/")+1:]), out)
	}
	if s == nil {
		return out
	}
	out = append(out, s)
	for _, union := range []string{"allOf", "anyOf", "oneOf"} {
		list, _ := s[union].([]any)
		for _, one := range list {
			if b, ok := one.(schema); ok {
				out = f.branches(b, out)
			}
		}
	}
	return out
}

// inner returns the schemas under a keyword. The value true equals an empty schema.
func inner(branches []schema, keyword string) (out []schema) {
	for _, s := range branches {
		switch x := s[keyword].(type) {
		case schema:
			out = append(out, x)
		case bool:
			if x {
				out = append(out, schema{})
			}
		}
	}
	return out
}
