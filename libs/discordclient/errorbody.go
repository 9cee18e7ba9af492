// SPDX-License-Identifier: Apache-2.0

package discordclient

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// These limits keep an error short enough for a Kubernetes condition's message (32768 characters).
const (
	maxFields     = 20
	maxFieldDepth = 16
	maxTextRunes  = 300
)

type errorBody struct {
	Code       int             `json:"code"`
	Message    string          `json:"message"`
	Errors     json.RawMessage `json:"errors"`
	RetryAfter float64         `json:"retry_after"`
	Global     bool            `json:"global"`
}

// parseErrorBody reads Discord's JSON error body; ok is false for any other body. It removes
// secrets before it cuts long texts, so that no part of a secret remains.
func parseErrorBody(body []byte, secrets ...Secret) (code int, message string, fields []Field, ok bool) {
	var b errorBody
	if err := json.Unmarshal(body, &b); err != nil || b.Code == 0 && b.Message == "" {
		return 0, "", nil, false
	}
	collector{secrets, &fields}.walk(b.Errors, "", 0)
	slices.SortStableFunc(fields, func(a, b Field) int { return strings.Compare(a.Path, b.Path) })
	return b.Code, clean(b.Message, secrets...), fields, true
}

type collector struct {
	secrets []Secret
	fields  *[]Field
}

// walk collects the rejected fields of Discord's tree of errors. The tree mirrors the request's
// JSON and has a field's errors under "_errors".
func (c collector) walk(raw json.RawMessage, path string, depth int) {
	var node map[string]json.RawMessage
	if depth > maxFieldDepth || len(raw) == 0 || json.Unmarshal(raw, &node) != nil {
		return
	}
	keys := make([]string, 0, len(node))
	for key := range node {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		if len(*c.fields) >= maxFields {
			return
		}
		if key == "_errors" {
			c.leaves(node[key], path)
			continue
		}
		c.walk(node[key], c.join(path, key), depth+1)
	}
}

// leaves collects the errors of one field. It reads codes of any JSON type: Discord sends strings,
// although its OpenAPI description says integer.
func (c collector) leaves(raw json.RawMessage, path string) {
	var leaves []struct {
		Code    json.RawMessage `json:"code"`
		Message string          `json:"message"`
	}
	if json.Unmarshal(raw, &leaves) != nil {
		return
	}
	for _, leaf := range leaves {
		if len(*c.fields) >= maxFields {
			return
		}
		*c.fields = append(*c.fields, Field{
			Path: path, Code: clean(strings.Trim(string(leaf.Code), `"`), c.secrets...),
			Message: clean(leaf.Message, c.secrets...),
		})
	}
}

func (c collector) join(path, key string) string {
	if _, err := strconv.Atoi(key); err == nil {
		return cutText(path + "[" + key + "]")
	}
	if path == "" {
		return clean(key, c.secrets...)
	}
	return cutText(path + "." + clean(key, c.secrets...))
}

func cutText(text string) string {
	if runes := []rune(text); len(runes) > maxTextRunes {
		return string(runes[:maxTextRunes]) + "…"
	}
	return text
}

func clean(text string, secrets ...Secret) string {
	runes := []rune(cutText(redact(text, secrets...)))
	for i, r := range runes {
		if !unicode.IsPrint(r) {
			runes[i] = ' '
		}
	}
	return strings.TrimSpace(string(runes))
}
