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

// fields maps the path of each field in a response to its value.
type fields map[string]string

// key identifies a response. The same call of a step has the same key in the recordings of both
// runs.
type key struct {
	step, caller, call, subject string
}

type recording map[key]fields

const statusField = "(status)"

var (
	snowflake = regexp.MustCompile(`\b[0-9]{16,20}\b`)
	moment    = regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+(Z|[+-][0-9:]+)$`)
	// A field is secret if the last element of its path is in secret. Its value differs between two
	// runs if the last element is in varying.
	secret  = []string{"token", "url"}
	varying = []string{"position", "version", "last_message_id", "avatar", "retry_after"}
)

// The values of these headers change with every call, so a recording has only their presence.
var rateLimitHeaders = []string{"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset",
	"X-RateLimit-Reset-After", "X-RateLimit-Bucket"}

// answerFields returns the comparable fields of a response. It includes values only of the run's
// own objects and of errors. Other values may be private, so it includes only their types.
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

// auditFields adds the fields of audit log entries about the run's objects. A path contains the
// action and the changed field. The recorded value is only the type of the real value.
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

// flatten adds a value and all values inside it to f, under paths that begin with path. If the
// parameter values is false, it adds the types of the values instead.
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

// index returns the text that identifies an element of a list in a path: the text with which scrub
// replaces the element's id, because the order of many lists has no meaning. For an element without
// an id, it returns the index.
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

// scrub replaces texts that differ between two runs, such as ids, names and times, by fixed texts.
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
