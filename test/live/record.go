// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

type fields map[string]string

// key identifies a response. Equal calls of both runs have equal keys.
type key struct {
	step, caller, call, subject string
}

type recording map[key]fields

const statusField = "(status)"

var (
	snowflake = regexp.MustCompile(`\b[0-9]{16,20}\b`)
	moment    = regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+(Z|[+-][0-9:]+)$`)
	// Fields with these last path elements are secret, or vary between two runs.
	secret  = []string{"token", "url"}
	varying = []string{"position", "version", "last_message_id", "avatar", "retry_after"}
)

// These values may differ between equal calls, so a recording shows only whether they are present.
var rateLimitHeaders = []string{"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset",
	"X-RateLimit-Reset-After", "X-RateLimit-Bucket"}

// answerFields omits values of objects outside the run, which may be private.
func (t *territory) answerFields(c call, status int, header http.Header, body any) fields {
	f := fields{statusField: strconv.Itoa(status)}
	f["(header Content-Type)"] = header.Get("Content-Type")
	for _, name := range rateLimitHeaders {
		f["(header "+name+")"] = presence(header.Get(name) != "")
	}
	_, own := t.own(text(asObject(body), "id"))
	switch list, isList := body.([]any); {
	case isList:
		t.flatten(f, "", t.ownElements(list), true)
	case c.route == "/guilds/{guild_id}/audit-logs" && status < http.StatusBadRequest:
		t.auditFields(f, asObject(body))
	case body != nil:
		t.flatten(f, "", body, own || status >= http.StatusBadRequest)
	}
	return f
}

func presence(ok bool) string {
	if ok {
		return present
	}
	return absent
}

func asObject(value any) map[string]any {
	object, _ := value.(map[string]any)
	return object
}

func (t *territory) ownElements(list []any) []any {
	own := []any{}
	for _, element := range list {
		if _, ok := t.own(text(asObject(element), "id")); ok {
			own = append(own, element)
		}
	}
	return own
}

func (t *territory) auditFields(f fields, log map[string]any) {
	for _, name := range keys(log) {
		f[name] = kind(log[name])
	}
	entries, _ := log["audit_log_entries"].([]any)
	for _, element := range entries {
		entry := asObject(element)
		if _, ok := t.own(text(entry, "target_id")); !ok {
			continue
		}
		path := fmt.Sprintf("audit_log_entries[action %v]", entry["action_type"])
		f[path] = presence(true)
		changes, _ := entry["changes"].([]any)
		for _, name := range keys(entry) {
			f[path+"."+name] = kind(entry[name])
		}
		for _, change := range changes {
			changed := asObject(change)
			for _, name := range []string{"old_value", "new_value"} {
				if value, ok := changed[name]; ok {
					f[path+".changes["+text(changed, "key")+"]."+name] = kind(value)
				}
			}
		}
	}
}

// flatten adds value and everything inside it to f; if values is false, it adds only types.
func (t *territory) flatten(f fields, path string, value any, values bool) {
	switch v := value.(type) {
	case map[string]any:
		if len(v) == 0 {
			f[path] = "{}"
		}
		for _, name := range keys(v) {
			t.flatten(f, join(path, name), v[name], values && name != "user")
		}
	case []any:
		switch {
		case !values:
			f[path] = kind(v)
		case len(v) == 0:
			f[path] = "[]"
		}
		for i, element := range v {
			if values {
				t.flatten(f, path+"["+t.index(i, element)+"]", element, values)
			}
		}
	default:
		f[path] = t.scalar(path, v, values)
	}
}

func join(path, name string) string { return strings.TrimPrefix(path+"."+name, ".") }

// The order of many lists has no meaning, so index identifies an element by its id if possible.
func (t *territory) index(i int, element any) string {
	if id := text(asObject(element), "id"); id != "" {
		return t.scrub(id)
	}
	return strconv.Itoa(i)
}

func (t *territory) scalar(path string, value any, values bool) string {
	last := path[strings.LastIndex(path, ".")+1:]
	s, isText := value.(string)
	switch {
	case isText && slices.Contains(secret, last):
		return "<secret>"
	case !values || slices.Contains(varying, last):
		return kind(value)
	case isText:
		return strconv.Quote(t.scrub(s))
	}
	written, err := json.Marshal(value)
	if err != nil {
		return kind(value)
	}
	return string(written)
}

// scrub replaces texts that differ between two runs, such as ids, names and times.
func (t *territory) scrub(s string) string {
	if moment.MatchString(s) {
		return "<time>"
	}
	s = snowflake.ReplaceAllStringFunc(s, func(id string) string {
		name, own := t.own(id)
		switch {
		case id == t.guild:
			return "<server>"
		case own:
			return "<" + name + ">"
		case t.isBot(id):
			return "<bot>"
		}
		return "<id>"
	})
	return strings.ReplaceAll(s, t.prefix, "live")
}

func kind(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case string:
		return "string"
	case bool:
		return "boolean"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	}
	return "number"
}
